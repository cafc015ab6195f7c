// SPDX-License-Identifier: MIT
/* npu preprocess: the tensor through the queue, in tiles of whole rows or parts of one row. */
#include <inttypes.h>
#include <string.h>

#include "preprocess.h"

/* BOs of a slot. */
enum { BO_SRC, BO_DST, BO_EMAX, BO_EXPONENTS, BO_SCALES };

/* Sinks in the order in which they are committed: OUT comes last. */
enum { SINK_EMAX, SINK_EXPONENTS, SINK_SCALES, SINK_OUT, SINK_COUNT };

struct work {
	const struct preprocess_args *args;
	struct npu_device *dev;
	const struct tensor *t;
	struct stats *stats;
	struct sink sinks[SINK_COUNT];
	float scale;
	uint64_t rows, cols;
	uint64_t blocks;		/* of a row */
	uint64_t tile_rows, tile_cols;	/* one of them is whole: all of a row, or one row */
	uint64_t col_tiles;		/* tiles of a row, 1 with whole rows */
	uint64_t tiles;
};

struct tile {
	uint64_t rows, cols;
	uint64_t first;			/* element in the tensor */
	uint64_t first_block;
	uint64_t blocks;
};

static uint64_t blocks_of(uint64_t cols)
{
	return cols / NPU_BLOCK_SIZE + (cols % NPU_BLOCK_SIZE != 0);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct tile tile_of(const struct work *w, uint64_t i)
{
	uint64_t row = i / w->col_tiles * w->tile_rows;
	uint64_t col = i % w->col_tiles * w->tile_cols;
	struct tile t = {
		.rows = min_u64(w->tile_rows, w->rows - row),
		.cols = min_u64(w->tile_cols, w->cols - col),
		.first = row * w->cols + col,
		.first_block = row * w->blocks + col / NPU_BLOCK_SIZE,
	};

	t.blocks = t.rows * blocks_of(t.cols);
	return t;
}

static uint64_t out_bytes(const struct work *w, uint64_t rows, uint64_t cols)
{
	switch (w->args->mode) {
	case NPU_PP_MODE_FIXED27:
		return rows * cols * sizeof(int32_t);
	case NPU_PP_MODE_FIXED27_PACKED:
		return rows * blocks_of(cols) * PACKED_BLOCK;
	default:
		return rows * cols;
	}
}

static uint64_t side_bytes(const struct work *w, uint64_t blocks, unsigned int bo)
{
	const struct preprocess_args *args = w->args;

	switch (bo) {
	case BO_EMAX:
		return args->emax ? blocks : 0;
	case BO_EXPONENTS:
		return args->exponents ? blocks * NPU_BLOCK_SIZE : 0;
	default:
		return args->scales ? blocks * sizeof(float) : 0;
	}
}

/* Bytes in and out of @cols elements of a row. */
static uint64_t cost(const struct work *w, uint64_t cols)
{
	uint64_t blocks = blocks_of(cols);

	return cols * 2 + out_bytes(w, 1, cols) + side_bytes(w, blocks, BO_EMAX) +
	       side_bytes(w, blocks, BO_EXPONENTS) + side_bytes(w, blocks, BO_SCALES);
}

static void plan(struct work *w, uint64_t budget)
{
	uint64_t block_cost = cost(w, NPU_BLOCK_SIZE);

	w->blocks = blocks_of(w->cols);
	w->tile_rows = 1;
	w->tile_cols = w->cols;
	w->col_tiles = 1;
	w->tiles = 0;
	if (!w->rows || !w->cols)
		return;
	if (w->blocks > budget / block_cost) {
		uint64_t blocks = budget / block_cost ? budget / block_cost : 1;

		w->tile_cols = min_u64(w->cols, blocks * NPU_BLOCK_SIZE);
		w->col_tiles = (w->cols - 1) / w->tile_cols + 1;
	}
	if (w->col_tiles == 1)
		w->tile_rows = min_u64(w->rows, budget / cost(w, w->cols) + 1);
	w->tiles = ((w->rows - 1) / w->tile_rows + 1) * w->col_tiles;
}

static int setup(void *ctx, struct slot *slot)
{
	struct work *w = ctx;
	struct tile t = tile_of(w, 0);
	int ret;

	ret = slot_bo_create(w->dev, slot, BO_SRC, t.rows * t.cols * 2, false);
	if (!ret)
		ret = slot_bo_create(w->dev, slot, BO_DST, out_bytes(w, t.rows, t.cols), true);
	for (unsigned int i = BO_EMAX; !ret && i <= BO_SCALES; i++)
		ret = slot_bo_create(w->dev, slot, i, side_bytes(w, t.blocks, i), true);
	return ret;
}

static int build(void *ctx, struct slot *slot, uint64_t i)
{
	struct work *w = ctx;
	struct tile t = tile_of(w, i);
	struct npu_preprocess cmd = {
		.size = sizeof(cmd),
		.src = slot_ref(slot, BO_SRC),
		.dst = slot_ref(slot, BO_DST),
		.emax = slot_ref(slot, BO_EMAX),
		.exponents = slot_ref(slot, BO_EXPONENTS),
		.scales = slot_ref(slot, BO_SCALES),
		.rows = t.rows,
		.cols = t.cols,
		.mode = w->args->mode,
		.rounding = w->args->rounding,
		.sink = NPU_SINK_MEMORY,
	};

	/* The builder's errors are sticky; the pipeline asks for them. */
	if (w->args->mode == NPU_PP_MODE_INT8_CONST)
		npu_const_set(slot->stream, 0, w->scale);
	npu_preprocess(slot->stream, &cmd);
	slot->bos[BO_SRC].used = t.rows * t.cols * 2;
	slot->bos[BO_DST].used = out_bytes(w, t.rows, t.cols);
	for (unsigned int j = BO_EMAX; j <= BO_SCALES; j++)
		slot->bos[j].used = side_bytes(w, t.blocks, j);
	return 0;
}

static int fill(void *ctx, struct slot *slot, uint64_t i)
{
	struct work *w = ctx;
	struct tile t = tile_of(w, i);
	struct tensor_error err;
	int ret;

	ret = tensor_read(w->t, t.first, t.rows * t.cols, slot->bos[BO_SRC].map, &err);
	return ret ? fail_tensor(ret, &err, TENSOR_IN) : 0;
}

static int drain(void *ctx, struct slot *slot, uint64_t i, const struct npu_result *result)
{
	static const unsigned int bo_of[SINK_COUNT] = {
		[SINK_EMAX] = BO_EMAX,
		[SINK_EXPONENTS] = BO_EXPONENTS,
		[SINK_SCALES] = BO_SCALES,
		[SINK_OUT] = BO_DST,
	};
	struct work *w = ctx;
	int ret = 0;

	stats_add(w->stats, result, tile_of(w, i).first_block);
	for (unsigned int s = 0; !ret && s < SINK_COUNT; s++) {
		const struct slot_bo *b = &slot->bos[bo_of[s]];

		ret = sink_write(&w->sinks[s], b->map, b->used);
	}
	return ret;
}

/* Shape of what has @per values for each block: the last axis becomes the blocks of a row. */
static struct shape block_shape(const struct work *w, uint64_t per)
{
	struct shape s = { 0 };
	unsigned int lead = w->t->ndim ? w->t->ndim - 1 : 0;

	if (w->args->flat)
		lead = 0;
	for (unsigned int i = 0; i < lead; i++)
		s.dim[s.ndim++] = w->t->shape[i];
	s.dim[s.ndim++] = w->blocks;
	if (per > 1 && s.ndim == TENSOR_MAX_DIMS)
		s.dim[s.ndim - 1] *= per;
	else if (per > 1)
		s.dim[s.ndim++] = per;
	return s;
}

static struct shape out_shape(const struct work *w)
{
	struct shape s = { .ndim = w->t->ndim };

	if (w->args->mode == NPU_PP_MODE_FIXED27_PACKED) {
		s = block_shape(w, 1);
		s.dim[s.ndim - 1] *= PACKED_BLOCK;
		return s;
	}
	memcpy(s.dim, w->t->shape, w->t->ndim * sizeof(s.dim[0]));
	return s;
}

static uint32_t out_type(uint32_t mode)
{
	if (mode == NPU_PP_MODE_FIXED27)
		return NPU_TYPE_I32;
	return mode == NPU_PP_MODE_FIXED27_PACKED ? NPU_TYPE_U8 : NPU_TYPE_I8;
}

static int create_sinks(struct work *w, const struct options *opts)
{
	const struct preprocess_args *args = w->args;
	struct shape out = out_shape(w), blocks = block_shape(w, 1);
	struct shape lanes = block_shape(w, NPU_BLOCK_SIZE);
	int ret;

	ret = sink_create(&w->sinks[SINK_OUT], opts->output, opts->out_format, out_type(args->mode),
			  &out, w->t->info->name);
	if (!ret)
		ret = sink_create(&w->sinks[SINK_EMAX], args->emax, TENSOR_FORMAT_AUTO,
				  NPU_TYPE_U8, &blocks, "emax");
	if (!ret)
		ret = sink_create(&w->sinks[SINK_EXPONENTS], args->exponents, TENSOR_FORMAT_AUTO,
				  NPU_TYPE_U8, &lanes, "exponents");
	if (!ret)
		ret = sink_create(&w->sinks[SINK_SCALES], args->scales, TENSOR_FORMAT_AUTO,
				  NPU_TYPE_F32, &blocks, "scales");
	return ret;
}

/* Never a silent success: infinities and NaNs go through the engine as plain numbers. */
static int judge(const struct work *w)
{
	const struct stats *s = w->stats;
	const char *name = tensor_file_name(w->t->file);

	if (!s->nonfinite_blocks)
		return 0;
	if (w->args->strict)
		return fail(NPU_EXIT_FAILED,
			    "%s: %" PRIu64 " blocks hold an infinity or NaN, the first is block %" PRIu64
			    " (%" PRIu64 " lanes saturated); leave --strict out to convert them all the same",
			    name, s->nonfinite_blocks, s->first_nonfinite_block, s->saturated);
	warn("%s: %" PRIu64 " blocks hold an infinity or NaN, the first is block %" PRIu64
	     "; %" PRIu64 " lanes saturated", name, s->nonfinite_blocks, s->first_nonfinite_block,
	     s->saturated);
	return 0;
}

static int find_scale(struct work *w)
{
	int ret = 0;

	if (w->args->mode != NPU_PP_MODE_INT8_CONST)
		return 0;
	if (w->args->has_scale)
		w->scale = (float)w->args->scale;
	else
		ret = preprocess_find_scale(w->t, &w->scale);
	if (ret)
		return ret;
	if (!w->args->has_scale)
		note("scale %.9g", (double)w->scale);
	w->stats->has_scale = true;
	w->stats->scale = w->scale;
	return 0;
}

int preprocess_run(const struct preprocess_args *args, const struct options *opts,
		   struct npu_device *dev, const struct input *in, struct stats *stats)
{
	struct work w = { .args = args, .dev = dev, .t = &in->t, .stats = stats };
	struct pipeline pipe = {
		.dev = dev, .ring = NPU_RING_PREPROCESS, .ctx = &w,
		.save_stream = opts->save_stream,
		.setup = setup, .build = build, .fill = fill, .drain = drain,
	};
	int ret;

	w.cols = args->flat || !in->t.ndim ? in->t.elements : in->t.shape[in->t.ndim - 1];
	w.rows = w.cols ? in->t.elements / w.cols : 0;
	plan(&w, opts->tile_bytes ? opts->tile_bytes : TILE_BYTES);
	pipe.tiles = w.tiles;
	pipe.bytes_per_tile = w.tile_rows * w.tile_cols * 2;
	ret = find_scale(&w);
	if (!ret)
		ret = create_sinks(&w, opts);
	if (!ret)
		ret = pipeline_run(&pipe);
	if (!ret)
		ret = judge(&w);
	for (unsigned int i = 0; i < SINK_COUNT; i++) {
		if (!ret)
			ret = sink_commit(&w.sinks[i]);
		else
			sink_abort(&w.sinks[i]);
	}
	if (!ret)
		stats_print(stats, opts);
	return ret;
}
