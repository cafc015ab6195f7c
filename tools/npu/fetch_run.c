// SPDX-License-Identifier: MIT
/*
 * npu fetch: the tensor through the queue.
 *
 * A tensor as it lies there goes in tiles of any length, a contraction in tiles of whole rows. A
 * loop nest may go anywhere, so its tensors lie in one buffer as a whole: one tile.
 */
#include <string.h>

#include "fetch.h"

enum { BO_SRC, BO_SRC2, BO_DST, BO_WEIGHTS, BO_TABLE };

/* What a tile of a contraction multiplies at most: well within a device's time limit. */
#define MAX_PRODUCTS	(1ull << 28)

struct work {
	const struct fetch_args *args;
	const struct options *opts;
	struct npu_device *dev;
	const struct tensor *t;
	struct tensor some;		/* stands in for a tensor without elements */
	struct stats *stats;
	struct fetch_table table;
	struct slot_bo table_bo;
	struct nest nest;
	bool has_nest;
	struct input second;		/* of --interleave */
	struct contraction c;		/* of --contract */
	struct slot_bo weights_bo;
	uint32_t type;			/* of the stream's elements */
	uint32_t out_type;
	struct shape shape;		/* of OUT */
	uint64_t out_bytes;
	uint64_t tile;			/* elements of a tile, or rows of a contraction's */
	uint64_t tiles;
	struct sink out;
};

struct piece {
	uint64_t first, n;		/* elements of IN */
	uint64_t m;			/* rows of a contraction */
	uint64_t bytes;			/* of output */
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct piece piece_of(const struct work *w, uint64_t i)
{
	struct piece p = { .first = i * w->tile };

	if (w->has_nest) {
		p = (struct piece){ .n = w->t->elements, .m = w->c.m, .bytes = w->out_bytes };
	} else if (w->args->contract) {
		p.m = min_u64(w->tile, w->c.m - p.first);
		p.first *= w->c.weights.k;
		p.n = p.m * w->c.weights.k;
		p.bytes = fetch_contract_bytes(&w->c, p.m);
	} else {
		p.n = min_u64(w->tile, w->t->elements - p.first);
		p.bytes = npu_type_bytes(w->out_type, p.n);
	}
	return p;
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

static int setup(void *ctx, struct slot *slot)
{
	struct work *w = ctx;
	struct piece p = piece_of(w, 0);
	uint64_t room = w->has_nest ? w->nest.room : npu_type_bytes(w->t->type, p.n);
	int ret;

	/* Every operand is somewhere, also where it has no bytes. */
	ret = slot_bo_create(w->dev, slot, BO_SRC, at_least_one(room), false);
	if (!ret && w->args->interleave)
		ret = slot_bo_create(w->dev, slot, BO_SRC2, at_least_one(room), false);
	if (!ret)
		ret = slot_bo_create(w->dev, slot, BO_DST, at_least_one(p.bytes), true);
	if (w->weights_bo.bo)
		slot_bo_share(slot, BO_WEIGHTS, &w->weights_bo);
	if (w->table_bo.bo)
		slot_bo_share(slot, BO_TABLE, &w->table_bo);
	return ret;
}

static void set_view(const struct work *w, const struct slot *slot, const struct piece *p,
		     struct npu_view *view)
{
	const struct fetch_args *args = w->args;

	*view = (struct npu_view)NPU_VIEW_INIT;
	view->type = w->t->type;
	view->base = npu_at(slot->bos[BO_SRC].bo, w->nest.front);
	if (!w->has_nest) {
		view->count = p->n;
		return;
	}
	view->flags = args->unpadded ? NPU_VIEW_UNPADDED : 0;
	view->offset = args->offset;
	memcpy(view->loops, w->nest.loops, sizeof(view->loops));
	view->loop_count = w->nest.loop_count;
	view->packet_size = w->nest.packet;
	view->read_size = args->read_size;
	if (args->interleave)
		view->interleave = npu_at(slot->bos[BO_SRC2].bo, w->nest.front);
}

static int build(void *ctx, struct slot *slot, uint64_t i)
{
	struct work *w = ctx;
	struct piece p = piece_of(w, i);
	struct npu_weights weights = w->c.weights;
	struct npu_view view;

	set_view(w, slot, &p, &view);
	if (w->table_bo.bo)
		npu_lut_load(slot->stream, 0, w->t->type, w->table.entry_type,
			     slot_ref(slot, BO_TABLE));
	weights.base = slot_ref(slot, BO_WEIGHTS);
	weights.m = (uint32_t)p.m;
	fetch_add(w->args, slot->stream, &view, w->args->contract ? &weights : NULL,
		  slot_ref(slot, BO_DST));
	slot->bos[BO_SRC].used = w->has_nest ? w->nest.room : npu_type_bytes(w->t->type, p.n);
	slot->bos[BO_SRC2].used = slot->bos[BO_SRC].used;
	slot->bos[BO_DST].used = p.bytes;
	return 0;
}

static int read_piece(const struct tensor *t, const struct piece *p, const struct slot_bo *b,
		      uint64_t front)
{
	struct tensor_error err;
	int ret;

	ret = tensor_read(t, p->first, p->n, (char *)b->map + front, &err);
	return ret ? fail_tensor(ret, &err, TENSOR_IN) : 0;
}

static int fill(void *ctx, struct slot *slot, uint64_t i)
{
	struct work *w = ctx;
	struct piece p = piece_of(w, i);
	int ret;

	ret = read_piece(w->t, &p, &slot->bos[BO_SRC], w->nest.front);
	if (!ret && w->args->interleave)
		ret = read_piece(&w->second.t, &p, &slot->bos[BO_SRC2], w->nest.front);
	return ret;
}

static int drain(void *ctx, struct slot *slot, uint64_t i, const struct npu_result *result)
{
	struct work *w = ctx;

	(void)i;
	stats_add(w->stats, result, 0);
	return sink_write(&w->out, slot->bos[BO_DST].map, slot->bos[BO_DST].used);
}

/* A BO with the same contents for all tiles. */
static int make_shared(struct work *w, struct slot_bo *b, uint64_t bytes)
{
	struct slot slot = { 0 };
	int ret = slot_bo_create(w->dev, &slot, 0, at_least_one(bytes), false);

	*b = slot.bos[0];
	b->used = bytes;
	return ret;
}

static int load_shared(struct work *w)
{
	int ret = 0;

	if (w->table.data) {
		ret = make_shared(w, &w->table_bo, w->table.bytes);
		if (!ret)
			memcpy(w->table_bo.map, w->table.data, w->table.bytes);
	}
	if (!ret && w->args->contract) {
		ret = make_shared(w, &w->weights_bo, w->c.w.t.bytes);
		if (!ret)
			ret = input_read_whole(&w->c.w, w->weights_bo.map);
	}
	return ret;
}

static int open_second(struct work *w)
{
	const struct tensor *a = w->t, *b = &w->second.t;
	int ret;

	ret = input_open(&w->second, w->args->interleave, w->opts->in_format, &w->opts->tensor);
	if (ret)
		return ret;
	if (a->type != b->type || a->elements != b->elements)
		return fail(NPU_EXIT_USAGE,
			    "--interleave: %s has %llu %s elements, the first tensor %llu %s; they must be alike",
			    w->args->interleave, (unsigned long long)b->elements,
			    npu_type_name(b->type), (unsigned long long)a->elements,
			    npu_type_name(a->type));
	return 0;
}

static void plan_flat(struct work *w, uint64_t budget)
{
	unsigned int bits = npu_type_bits(w->t->type) + npu_type_bits(w->out_type);
	uint64_t elements = budget * 8 / bits / 256 * 256;

	w->tile = elements ? elements : 256;
	w->tiles = w->t->elements / w->tile + (w->t->elements % w->tile != 0);
	w->shape.ndim = w->t->ndim;
	memcpy(w->shape.dim, w->t->shape, w->t->ndim * sizeof(w->shape.dim[0]));
}

static int plan_nest(struct work *w)
{
	uint64_t packet_bytes, slots;

	w->tiles = w->nest.elements ? 1 : 0;
	if (w->args->contract)
		return 0;
	packet_bytes = npu_type_bytes(w->out_type, w->nest.packet);
	slots = w->nest.packet;
	if (w->args->flits) {
		packet_bytes = (packet_bytes + 31) / 32 * 32;
		slots = packet_bytes * 8 / npu_type_bits(w->out_type);
	}
	w->shape = (struct shape){ .ndim = 2, .dim = { w->nest.time_steps, slots } };
	if (__builtin_mul_overflow(w->nest.time_steps, slots, &w->out_bytes))
		w->out_bytes = UINT64_MAX;
	w->out_bytes = npu_type_bytes(w->out_type, w->out_bytes);
	return 0;
}

static void plan_rows(struct work *w, uint64_t budget)
{
	const struct npu_weights *weights = &w->c.weights;
	uint64_t row = npu_type_bytes(w->t->type, weights->k) + fetch_contract_bytes(&w->c, 1);
	uint64_t products = at_least_one((uint64_t)weights->k * weights->n);
	uint64_t rows = min_u64(budget / at_least_one(row), MAX_PRODUCTS / products);

	/* A tile starts at a byte: 4-bit rows of odd length go in pairs. */
	w->tile = rows > 2 ? rows / 2 * 2 : 2;
	w->tiles = w->c.m / w->tile + (w->c.m % w->tile != 0);
}

static int plan_contract(struct work *w, uint64_t budget)
{
	struct contraction *c = &w->c;
	const struct tensor *t = w->t;
	uint64_t k = t->ndim ? t->shape[t->ndim - 1] : 1;
	uint64_t n = c->weights.n;
	int ret = 0;

	if (!w->has_nest && k != c->weights.k)
		return fail_rule(NPU_RULE_CONTRACT_SHAPE,
				 "--contract: IN has %llu columns, WEIGHTS has %llu",
				 (unsigned long long)k, (unsigned long long)c->weights.k);
	if (w->has_nest)
		ret = fetch_contract_rows(c, w->nest.time_steps * w->nest.packet);
	else if (k)
		ret = fetch_contract_rows(c, t->elements);
	else
		c->m = t->ndim > 1 ? t->shape[0] : 0;
	if (ret)
		return ret;
	w->out_type = w->type <= NPU_TYPE_I32 ? NPU_TYPE_I32 : NPU_TYPE_F32;
	w->shape = (struct shape){ .ndim = 2, .dim = { c->m, n } };
	if (w->args->k_group)
		w->shape = (struct shape){ .ndim = 3, .dim = { c->m, c->groups, n } };
	w->out_bytes = fetch_contract_bytes(c, c->m);
	if (w->has_nest)
		w->tiles = c->m && n ? 1 : 0;
	else
		plan_rows(w, budget);
	if (!n || !c->groups)
		w->tiles = 0;
	return 0;
}

static int plan(struct work *w, const struct input *in)
{
	uint64_t budget = w->opts->tile_bytes ? w->opts->tile_bytes : TILE_BYTES;
	int ret = 0;

	w->has_nest = fetch_has_nest(w->args);
	w->type = fetch_stream_type(w->args, w->t->type, &w->table);
	w->out_type = w->type;
	if (w->has_nest)
		ret = fetch_nest_plan(w->args, w->t, &w->nest);
	if (!ret && w->args->interleave)
		ret = open_second(w);
	if (!ret && w->args->contract)
		ret = fetch_contract_open(w->args, w->opts, in, &w->c);
	if (ret)
		return ret;
	if (w->has_nest)
		ret = plan_nest(w);
	else if (!w->args->contract)
		plan_flat(w, budget);
	if (!ret && w->args->contract)
		ret = plan_contract(w, budget);
	if (!ret && w->has_nest && w->out_bytes > WHOLE_MAX)
		return fail(NPU_EXIT_USAGE,
			    "--loop: the output would have %llu bytes, more than the %llu of one buffer",
			    (unsigned long long)w->out_bytes, WHOLE_MAX);
	return ret;
}

/* A stream that is only looked at: rules hold for tensors without elements, too. */
static int check_empty(struct work *w, struct pipeline *pipe)
{
	if (w->has_nest || w->args->contract)
		return pipeline_run(pipe);
	w->some = *w->t;
	w->some.elements = 256;
	w->t = &w->some;
	pipe->tiles = 1;
	pipe->check_only = true;
	return pipeline_run(pipe);
}

static int convert(struct work *w, const struct input *in, struct pipeline *pipe)
{
	int ret;

	ret = fetch_table_make(w->args, w->t->type, &w->table);
	if (!ret)
		ret = plan(w, in);
	if (!ret)
		ret = load_shared(w);
	if (!ret)
		ret = sink_create(&w->out, w->opts->output, w->opts->out_format, w->out_type,
				  &w->shape, w->t->info->name);
	if (ret)
		return ret;
	pipe->tiles = w->tiles;
	pipe->bytes_per_tile = npu_type_bytes(w->t->type, piece_of(w, 0).n);
	ret = w->tiles ? pipeline_run(pipe) : check_empty(w, pipe);
	return ret ? ret : sink_commit(&w->out);
}

int fetch_run(const struct fetch_args *args, const struct options *opts, struct npu_device *dev,
	      const struct input *in, struct stats *stats)
{
	struct work w = { .args = args, .opts = opts, .dev = dev, .t = &in->t, .stats = stats };
	struct pipeline pipe = {
		.dev = dev, .ring = args->sub ? NPU_RING_FETCH_SUB : NPU_RING_FETCH_MAIN,
		.ctx = &w, .stats = stats, .save_stream = opts->save_stream,
		.setup = setup, .build = build, .fill = fill, .drain = drain,
	};
	int ret;

	stats->has_fetch = true;
	ret = convert(&w, in, &pipe);
	sink_abort(&w.out);
	input_close(&w.second);
	input_close(&w.c.w);
	fetch_table_free(&w.table);
	npu_bo_destroy(w.table_bo.bo);
	npu_bo_destroy(w.weights_bo.bo);
	if (!ret)
		stats_print(stats, opts);
	return ret;
}
