// SPDX-License-Identifier: MIT
/*
 * PREPROCESS and FMAP_READ. Input is copied to private memory first: kernels
 * look at a block more than once, and the application may change it meanwhile.
 * Rows whose last block is partial are completed with +0 in that copy.
 */
#include <string.h>

#include "exec.h"

/* Blocks of a tile, and of one kernel call. */
#define TILE_BLOCKS 4096u
#define CALL_BLOCKS 256u

struct preprocess {
	struct npu_exec *x;
	const struct npu_cmd_preprocess *cmd;
	struct npu_operand src, dst, emax, exponents, scales;
	uint64_t row_blocks;
	uint64_t blocks;
	enum npu_kern_pp_mode mode;
	unsigned int out_bytes;		/* of an element; 0: packed blocks */
	unsigned int block_bytes;	/* of a whole block */
	bool keep;			/* e_max and exponents go to the cache */
	uint32_t cache_base;		/* its first block there */
	const struct npu_kern *last;
	/* added up over the workers */
	_Atomic uint64_t saturated;
	_Atomic uint64_t nonfinite;
	_Atomic uint64_t first;
};

struct pp_buffers {
	uint16_t *in;			/* [CALL_BLOCKS][32] */
	uint8_t *out;			/* [CALL_BLOCKS][128] */
	uint8_t *exponents;
	uint32_t *scales;
	uint8_t *emax;
};

static bool pp_buffers_get(const struct preprocess *p, unsigned int worker, struct pp_buffers *b)
{
	size_t n = (size_t)npu_min(CALL_BLOCKS, p->blocks);
	uint8_t *buf = npu_exec_scratch(p->x, worker, n * (64 + 128 + 32 + 4 + 1));

	if (!buf)
		return false;
	b->in = (uint16_t *)buf;
	b->out = buf + n * 64;
	b->exponents = b->out + n * 128;
	b->scales = (uint32_t *)(b->exponents + n * 32);
	b->emax = (uint8_t *)(b->scales + n);
	return true;
}

/* Elements before block @block, and in it. */
static uint64_t elements_before(const struct preprocess *p, uint64_t block)
{
	return block / p->row_blocks * p->cmd->cols + block % p->row_blocks * NPU_BLOCK_SIZE;
}

/* Blocks from @block on, at most @n, of which only the last may be partial; their elements. */
static uint64_t row_piece(const struct preprocess *p, uint64_t block, uint64_t n,
			  uint64_t *elements)
{
	uint64_t in_row = block % p->row_blocks;

	if (!(p->cmd->cols % NPU_BLOCK_SIZE)) {
		*elements = n * NPU_BLOCK_SIZE;
		return n;
	}
	n = npu_min(n, p->row_blocks - in_row);
	*elements = npu_min(n * NPU_BLOCK_SIZE, p->cmd->cols - in_row * NPU_BLOCK_SIZE);
	return n;
}

static bool pp_load(const struct preprocess *p, uint64_t block, uint64_t n, uint16_t *in)
{
	uint64_t addr = p->src.address + elements_before(p, block) * 2;
	struct npu_window w;
	bool ok = true;

	npu_window_open(&w, p->x, &p->src, n * NPU_BLOCK_SIZE * 2);
	while (ok && n) {
		uint64_t elements;
		uint64_t here = row_piece(p, block, n, &elements);
		uint64_t pad = here * NPU_BLOCK_SIZE - elements;

		ok = npu_window_read(&w, addr, in, elements * 2);
		memset(in + elements, 0, (size_t)pad * 2);
		in += here * NPU_BLOCK_SIZE;
		addr += elements * 2;
		block += here;
		n -= here;
	}
	npu_window_close(&w);
	return ok;
}

static bool pp_store(const struct preprocess *p, uint64_t block, uint64_t n, const uint8_t *out)
{
	uint64_t addr = p->dst.address + elements_before(p, block) * p->out_bytes;
	struct npu_window w;
	bool ok = true;

	npu_window_open(&w, p->x, &p->dst, n * p->block_bytes);
	if (!p->out_bytes) {
		ok = npu_window_write(&w, p->dst.address + block * p->block_bytes, out,
				      n * p->block_bytes);
		n = 0;
	}
	while (ok && n) {
		uint64_t elements;
		uint64_t here = row_piece(p, block, n, &elements);

		ok = npu_window_write(&w, addr, out, elements * p->out_bytes);
		out += here * p->block_bytes;
		addr += elements * p->out_bytes;
		block += here;
		n -= here;
	}
	npu_window_close(&w);
	return ok;
}

static bool pp_side(const struct npu_exec *x, const struct npu_operand *op, uint64_t offset,
		    const void *buf, uint64_t bytes)
{
	struct npu_window w;
	bool ok;

	if (!op->size)
		return true;
	npu_window_open(&w, (struct npu_exec *)x, op, bytes);
	ok = npu_window_write(&w, op->address + offset, buf, bytes);
	npu_window_close(&w);
	return ok;
}

static bool pp_side_bands(const struct preprocess *p, uint64_t block, uint64_t n,
			  const struct pp_buffers *b)
{
	if (p->keep) {
		memcpy(p->x->emax + p->cache_base + block, b->emax, (size_t)n);
		memcpy(p->x->exponents + (p->cache_base + block) * NPU_BLOCK_SIZE, b->exponents,
		       (size_t)n * NPU_BLOCK_SIZE);
	}
	return pp_side(p->x, &p->emax, block, b->emax, n) &&
	       pp_side(p->x, &p->exponents, block * NPU_BLOCK_SIZE, b->exponents,
		       n * NPU_BLOCK_SIZE) &&
	       pp_side(p->x, &p->scales, block * 4, b->scales, n * 4);
}

/* Where the output of whole blocks is one piece of memory, the kernel writes it there. */
static bool pp_convert(const struct preprocess *p, uint64_t block, uint64_t n,
		       struct npu_pp_run *run, const struct pp_buffers *b)
{
	bool whole = !p->out_bytes || !(p->cmd->cols % NPU_BLOCK_SIZE);
	uint64_t len = 0;
	struct npu_window w;
	uint8_t *to = NULL;

	if (p->cmd->sink == NPU_SINK_FMAP_CACHE) {
		run->dst = p->x->fmap + (p->x->check.fmap_blocks + block) * NPU_BLOCK_SIZE;
		p->x->kern->pp[p->mode](run, b->in, (size_t)n);
		return true;
	}
	if (whole) {
		npu_window_open(&w, p->x, &p->dst, n * p->block_bytes);
		to = npu_window_at(&w, p->dst.address + block * p->block_bytes, &len);
		if (!to)
			return false;
	}
	if (to && len >= n * p->block_bytes) {
		run->dst = to;
		p->last->pp[p->mode](run, b->in, (size_t)n);
		npu_window_close(&w);
		return true;
	}
	if (to)
		npu_window_close(&w);
	run->dst = b->out;
	p->x->kern->pp[p->mode](run, b->in, (size_t)n);
	return pp_store(p, block, n, b->out);
}

static void pp_count(struct preprocess *p, const struct npu_pp_run *run)
{
	uint64_t first = atomic_load(&p->first);

	if (run->saturated)
		atomic_fetch_add(&p->saturated, run->saturated);
	if (run->nonfinite_blocks)
		atomic_fetch_add(&p->nonfinite, run->nonfinite_blocks);
	while (run->first_nonfinite < first)
		if (atomic_compare_exchange_weak(&p->first, &first, run->first_nonfinite))
			break;
}

static void pp_tile(struct npu_exec *x, unsigned int worker, uint64_t tile, void *ctx)
{
	struct preprocess *p = ctx;
	uint64_t block = tile * TILE_BLOCKS;
	uint64_t end = block + npu_min(TILE_BLOCKS, p->blocks - block);
	struct npu_pp_run run = { .first_nonfinite = NPU_NO_BLOCK };
	struct pp_buffers b;

	if (!pp_buffers_get(p, worker, &b))
		return;
	run.emax = p->emax.size || p->keep ? b.emax : NULL;
	run.exponents = p->exponents.size || p->keep ? b.exponents : NULL;
	run.scales = p->scales.size ? b.scales : NULL;
	run.scale = x->constant[p->cmd->const_slot];
	while (block < end && !npu_exec_stopped(x)) {
		uint64_t n = npu_min(CALL_BLOCKS, end - block);

		run.block_base = block;
		if (!pp_load(p, block, n, b.in) || !pp_convert(p, block, n, &run, &b) ||
		    !pp_side_bands(p, block, n, &b))
			return;
		block += n;
	}
	pp_count(p, &run);
}

static void pp_mode(struct preprocess *p, const struct npu_cmd_preprocess *cmd)
{
	static const uint8_t modes[] = {
		[NPU_PP_MODE_FIXED27] = NPU_PP_FIXED27_WIDE,
		[NPU_PP_MODE_FIXED27_PACKED] = NPU_PP_FIXED27_PACKED,
		[NPU_PP_MODE_LOW8] = NPU_PP_LOW8,
		[NPU_PP_MODE_INT8_EMAX] = NPU_PP_INT8_EMAX_RNE,
		[NPU_PP_MODE_INT8_SYMMETRIC] = NPU_PP_INT8_SYMMETRIC,
		[NPU_PP_MODE_INT8_CONST] = NPU_PP_INT8_CONST,
	};

	p->mode = modes[cmd->mode];
	if (cmd->rounding == NPU_ROUND_TRUNCATE)
		p->mode = NPU_PP_INT8_EMAX_TRUNC;
	p->out_bytes = 1;
	if (cmd->mode == NPU_PP_MODE_FIXED27)
		p->out_bytes = 4;
	p->block_bytes = p->out_bytes * NPU_BLOCK_SIZE;
	if (cmd->mode == NPU_PP_MODE_FIXED27_PACKED) {
		p->out_bytes = 0;
		p->block_bytes = NPU_KERN_BLOCK_PACKED;
	}
}

static void pp_operand(struct npu_operand *to, const struct npu_operand *op, unsigned int n,
		       const char *name)
{
	const struct npu_operand *from = npu_operand_find(op, n, name);

	if (from)
		*to = *from;
}

static void pp_finish(struct preprocess *p)
{
	struct npu_result *r = p->x->result;
	uint64_t nonfinite = atomic_load(&p->nonfinite);

	if (atomic_load(&p->x->stop))
		return;
	if (nonfinite && !r->nonfinite_blocks)
		r->first_nonfinite_block = atomic_load(&p->first);
	r->nonfinite_blocks = npu_add_sat(r->nonfinite_blocks, nonfinite);
	r->saturated = npu_add_sat(r->saturated, atomic_load(&p->saturated));
	r->elements_in = npu_add_sat(r->elements_in, p->cmd->rows * p->cmd->cols);
	r->elements_out = npu_add_sat(r->elements_out, p->cmd->rows * p->cmd->cols);
	r->cycles = npu_add_sat(r->cycles, p->blocks * 2 + 3);
}

void npu_exec_preprocess(struct npu_exec *x, const struct npu_cmd_preprocess *cmd,
			 const struct npu_operand *op, unsigned int n)
{
	struct preprocess p = {
		.x = x, .cmd = cmd, .row_blocks = npu_row_blocks(cmd->cols), .last = x->kern,
		.first = NPU_NO_BLOCK,
	};

	p.blocks = cmd->rows * p.row_blocks;
	if (!p.blocks)
		return;
	pp_operand(&p.src, op, n, "src");
	pp_operand(&p.dst, op, n, "dst");
	pp_operand(&p.emax, op, n, "emax");
	pp_operand(&p.exponents, op, n, "exponents");
	pp_operand(&p.scales, op, n, "scales");
	pp_mode(&p, cmd);
	p.keep = cmd->sink == NPU_SINK_FMAP_CACHE || cmd->cmd.flags & NPU_PREPROCESS_KEEP_EMAX;
	p.cache_base = x->check.emax_blocks;
	if (p.dst.size >= npu_kern_stream_bytes)
		p.last = x->kern->nt;
	npu_exec_tiles(x, p.blocks / TILE_BLOCKS + !!(p.blocks % TILE_BLOCKS), pp_tile, &p);
	pp_finish(&p);
}

/* Elements of FMAP_READ that are written at once. */
#define READ_STEP 64u

void npu_exec_fmap_read(struct npu_exec *x, const struct npu_cmd_fmap_read *cmd,
			const struct npu_operand *op, unsigned int n)
{
	struct npu_operand dst = { 0 }, emax = { 0 }, exponents = { 0 };
	int32_t values[READ_STEP * NPU_FMAP_LANES];
	uint8_t side[READ_STEP * NPU_BLOCK_SIZE];
	uint32_t at, here, i, lane;
	bool ok = true;

	pp_operand(&dst, op, n, "dst");
	pp_operand(&emax, op, n, "emax");
	pp_operand(&exponents, op, n, "exponents");
	for (at = 0; ok && at < cmd->count && !npu_exec_stopped(x); at += here) {
		uint32_t first = cmd->start + at;

		here = (uint32_t)npu_min(READ_STEP, cmd->count - at);
		for (i = 0; dst.size && i < here; i++)
			for (lane = 0; lane < cmd->lanes; lane++)
				values[i * cmd->lanes + lane] = x->fmap[first + i];
		ok = pp_side(x, &dst, (uint64_t)at * cmd->lanes * 4, values,
			     (uint64_t)here * cmd->lanes * 4);
		for (i = 0; i < here; i++)
			side[i] = x->emax[(first + i) / NPU_BLOCK_SIZE];
		ok = ok && pp_side(x, &emax, at, side, here);
		for (i = 0; i < here; i++)
			memcpy(side + i * NPU_BLOCK_SIZE, x->exponents +
			       (first + i) / NPU_BLOCK_SIZE * NPU_BLOCK_SIZE, NPU_BLOCK_SIZE);
		ok = ok && pp_side(x, &exponents, (uint64_t)at * NPU_BLOCK_SIZE, side,
				   (uint64_t)here * NPU_BLOCK_SIZE);
	}
	if (atomic_load(&x->stop))
		return;
	x->result->elements_out = npu_add_sat(x->result->elements_out,
					      (uint64_t)cmd->count * cmd->lanes);
	x->result->cycles = npu_add_sat(x->result->cycles, (uint64_t)cmd->count + 3);
}
