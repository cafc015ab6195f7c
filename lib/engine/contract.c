// SPDX-License-Identifier: MIT
/*
 * The contraction: OUT[i][g][c] = sum over group g of A[i][j] * W[c][j].
 *
 * Rows of A and of W are staged as lanes that the dot kernels take, in blocks
 * that stay in the cache: a tile is @rows rows of A against @cols rows of W, in
 * panels of @panel. The groups of a piece of k are summed by one kernel call
 * a row each. A group longer than a piece goes piece by piece: integer sums
 * wrap, so that partial ones just add up; the 16 float sums are carried on.
 */
#include <string.h>

#include "contract.h"
#include "contract_long.h"

/* Staged bytes of A and of W of one worker. */
#define A_BYTES (512u * 1024)
#define W_BYTES (128u * 1024)
/* Most lanes of a row that are staged at once. */
#define PIECE_INT 4096u
#define PIECE_FLOAT 16384u
/* Columns that small groups are summed for at once: shorter rows of sums are costly to write. */
#define GROUP_PANEL 256u
#define MAX_ROWS 4096u
#define MAX_PANEL 1024u
/* Rows of W that one staging of A serves, where the work is not needed for other threads. */
#define MAX_COLS 4096u

static void contract_lanes(struct npu_contract *c, const struct npu_cmd_fetch *cmd)
{
	uint32_t type = c->s->plan.out_type;
	bool wide = type == NPU_TYPE_I9 || (cmd->weight_type == NPU_TYPE_I8 &&
					    cmd->cmd.flags & NPU_FETCH_WEIGHT_ZERO_POINT);

	if (type == NPU_TYPE_BF16)
		c->lane = NPU_LANE_BF16;
	else if (type == NPU_TYPE_F8E4M3 || type == NPU_TYPE_F8E5M2)
		c->lane = NPU_LANE_F32;
	else
		c->lane = wide ? NPU_LANE_S16 : NPU_LANE_S8;
	c->is_float = c->lane >= NPU_LANE_BF16;
	npu_chain_init(&c->a_chain, c->s->x, cmd);
	npu_chain_to_lanes(&c->a_chain, type, c->lane);
	npu_chain_weight(&c->w_chain, cmd, c->lane);
	c->lane_bytes = c->a_chain.out_bits / 8;
}

static uint64_t clamp(uint64_t v, uint64_t high)
{
	return v < 1 ? 1 : npu_min(v, high);
}

/* Sizes of pieces, panels and tiles. */
static void contract_shape(struct npu_contract *c, const struct npu_cmd_fetch *cmd)
{
	uint64_t limit = c->is_float ? PIECE_FLOAT : PIECE_INT;
	uint64_t threads = clamp(c->s->x->job->threads, NPU_MAX_WORKERS);
	uint64_t piece_bytes;

	c->k = cmd->k;
	c->m = cmd->m;
	c->n = cmd->n;
	c->groups = npu_fetch_groups(cmd);
	c->group = cmd->k_group ? npu_min(cmd->k_group, cmd->k) : cmd->k;
	c->long_group = c->group > limit;
	if (cmd->k_group && !c->long_group)
		limit = W_BYTES / GROUP_PANEL / c->lane_bytes;
	if (c->long_group)
		c->piece = limit;
	else if (c->group > limit)
		c->piece = c->group;
	else
		c->piece = npu_min(limit / c->group * c->group, c->k);
	piece_bytes = c->piece * c->lane_bytes;
	c->rows = clamp(A_BYTES / piece_bytes, npu_min(c->m, MAX_ROWS));
	c->panel = clamp(W_BYTES / piece_bytes, npu_min(c->n, MAX_PANEL));
	if (c->long_group && c->is_float) {
		c->rows = npu_min(c->rows, NPU_LONG_ROWS);
		c->panel = npu_min(c->panel, NPU_LONG_COLS);
	}
	c->cols = c->long_group ? c->panel : npu_min(c->n, MAX_COLS);
	while (c->cols > c->panel && (c->m / c->rows + 1) * (c->n / c->cols + 1) < 2 * threads)
		c->cols /= 2;
	c->col_tiles = c->n / c->cols + !!(c->n % c->cols);
	c->row_tiles = c->m / c->rows + !!(c->m % c->rows);
}

static bool contract_buffers(const struct npu_contract *c, unsigned int worker,
			  struct npu_contract_buffers *b)
{
	size_t a = (size_t)(c->rows * c->piece * c->lane_bytes + 63) & ~(size_t)63;
	size_t w = (size_t)(c->panel * c->piece * c->lane_bytes + 63) & ~(size_t)63;
	size_t raw = (size_t)npu_min(NPU_CHUNK, c->rows * c->piece > c->panel * c->piece ?
				     c->rows * c->piece : c->panel * c->piece) * 4 + 64;
	size_t sums = 0;

	raw = (raw + 63) & ~(size_t)63;
	if (c->long_group)
		sums = (size_t)(c->rows * c->panel) * (c->is_float ? 64 : 4);
	b->a = npu_exec_scratch(c->s->x, worker, a + w + raw + NPU_STAGE_SCRATCH +
				MAX_PANEL * 4 + sums);
	if (!b->a)
		return false;
	b->w = b->a + a;
	b->raw = b->w + w;
	b->tmp = b->raw + raw;
	b->out = b->tmp + NPU_STAGE_SCRATCH;
	b->sums = b->out + MAX_PANEL * 4;
	return true;
}

/* Stages stream elements [@from, @from + @n) at @to. */
static bool stage_stream(const struct npu_contract *c, uint64_t from, uint64_t n, uint8_t *to,
			 const struct npu_contract_buffers *b)
{
	const struct npu_kern *kern = c->s->x->kern;

	while (n) {
		uint64_t here = npu_min(n, NPU_CHUNK);

		if (npu_exec_stopped(c->s->x) || !npu_stream_gather(c->s, from, here, b->raw))
			return false;
		npu_chain_run(&c->a_chain, kern, kern, to, b->raw, here, b->tmp);
		to += here * c->lane_bytes;
		from += here;
		n -= here;
	}
	return true;
}

static bool contract_stage_a(const struct npu_contract *c, uint64_t row, uint64_t rows, uint64_t k0,
			  uint64_t piece, const struct npu_contract_buffers *b)
{
	uint64_t i;

	if (piece == c->k)
		return stage_stream(c, row * c->k, rows * c->k, b->a, b);
	for (i = 0; i < rows; i++)
		if (npu_exec_stopped(c->s->x) ||
		    !stage_stream(c, (row + i) * c->k + k0, piece, b->a + i * piece *
				  c->lane_bytes, b))
			return false;
	return true;
}

/* Stages weights [@from, @from + @n) of all rows; a 4-bit row may begin in a high nibble. */
static bool stage_weights(const struct npu_contract *c, struct npu_window *win, uint64_t from,
			  uint64_t n, uint8_t *to, const struct npu_contract_buffers *b)
{
	const struct npu_kern *kern = c->s->x->kern;
	unsigned int bits = c->w_chain.in_bits;

	while (n) {
		uint64_t here = npu_min(n, NPU_CHUNK);
		uint64_t odd = bits < 8 ? from % 2 : 0;
		uint64_t bytes = bits < 8 ? (odd + here + 1) / 2 : here * (bits / 8);

		if (!npu_window_read(win, c->weight.address + from * bits / 8, b->raw, bytes))
			return false;
		if (odd)
			npu_nibble_copy(b->raw, 0, b->raw, 1, here);
		npu_chain_run(&c->w_chain, kern, kern, to, b->raw, here, b->tmp);
		to += here * c->lane_bytes;
		from += here;
		n -= here;
	}
	return true;
}

static bool contract_stage_w(const struct npu_contract *c, uint64_t col, uint64_t cols, uint64_t k0,
			  uint64_t piece, const struct npu_contract_buffers *b)
{
	struct npu_window win;
	bool ok = true;
	uint64_t i;

	npu_window_open(&win, c->s->x, &c->weight,
			npu_min(cols * piece * c->w_chain.in_bits / 8 + 1, NPU_CHUNK));
	if (piece == c->k) {
		ok = stage_weights(c, &win, col * c->k, cols * c->k, b->w, b);
		cols = 0;
	}
	for (i = 0; ok && i < cols; i++)
		ok = stage_weights(c, &win, (col + i) * c->k + k0, piece,
				   b->w + i * piece * c->lane_bytes, b);
	npu_window_close(&win);
	return ok;
}

static void dot(const struct npu_contract *c, void *out, const uint8_t *a, const uint8_t *w,
		uint64_t k, uint64_t ldw, uint64_t n)
{
	const struct npu_kern *kern = c->s->x->kern;

	switch (c->lane) {
	case NPU_LANE_S8:
		kern->dot_s8(out, (const void *)a, (const void *)w, k, ldw, n);
		break;
	case NPU_LANE_S16:
		kern->dot_s16(out, (const void *)a, (const void *)w, k, ldw, n);
		break;
	case NPU_LANE_BF16:
		kern->dot_bf16(out, (const void *)a, (const void *)w, k, ldw, n);
		break;
	case NPU_LANE_F32:
		kern->dot_f32(out, (const void *)a, (const void *)w, k, ldw, n);
		break;
	}
}

static bool contract_write(const struct npu_contract *c, uint64_t row, uint64_t group, uint64_t col,
			uint64_t cols, const void *out)
{
	struct npu_window win;
	bool ok;

	npu_window_open(&win, c->s->x, &c->dst, cols * 4);
	ok = npu_window_write(&win, c->dst.address +
			      ((row * c->groups + group) * c->n + col) * 4, out, cols * 4);
	npu_window_close(&win);
	return ok;
}

/* The staged rows against the staged panel: each group of the piece, whole. */
static bool panel_groups(const struct npu_contract *c, const struct npu_contract_tile *t,
			 uint64_t col, uint64_t cols, const struct npu_contract_buffers *b)
{
	uint64_t i, j;

	for (i = 0; i < t->rows; i++) {
		for (j = 0; j < t->piece; j += c->group) {
			if (npu_exec_stopped(c->s->x))
				return false;
			dot(c, b->out, b->a + (i * t->piece + j) * c->lane_bytes,
			    b->w + j * c->lane_bytes, npu_min(c->group, t->piece - j), t->piece,
			    cols);
			if (!contract_write(c, t->row + i, (t->k0 + j) / c->group, col, cols,
						b->out))
				return false;
		}
	}
	return true;
}

/* Groups of a piece or less. */
static void tile_short(const struct npu_contract *c, struct npu_contract_tile *t,
		       const struct npu_contract_buffers *b)
{
	for (t->k0 = 0; t->k0 < c->k; t->k0 += t->piece) {
		uint64_t col, cols;

		t->piece = npu_min(c->piece, c->k - t->k0);
		if (!contract_stage_a(c, t->row, t->rows, t->k0, t->piece, b))
			return;
		for (col = t->col; col < t->col + t->cols; col += cols) {
			cols = npu_min(c->panel, t->col + t->cols - col);
			if (!contract_stage_w(c, col, cols, t->k0, t->piece, b) ||
			    !panel_groups(c, t, col, cols, b))
				return;
		}
	}
}

/* Adds a piece of a long group to its integer sums. */
static bool long_piece_int(const struct npu_contract *c, const struct npu_contract_tile *t,
			   const struct npu_contract_buffers *b)
{
	uint32_t part[MAX_PANEL];
	uint32_t *sums = (uint32_t *)b->sums;
	uint64_t i, j;

	for (i = 0; i < t->rows; i++) {
		if (npu_exec_stopped(c->s->x))
			return false;
		dot(c, part, b->a + i * t->piece * c->lane_bytes, b->w, t->piece, t->piece,
		    t->cols);
		for (j = 0; j < t->cols; j++)
			sums[i * t->cols + j] += part[j];
	}
	return true;
}

static void tile_long(const struct npu_contract *c, struct npu_contract_tile *t,
		      const struct npu_contract_buffers *b)
{
	size_t sums = (size_t)(t->rows * t->cols) * (c->is_float ? 64 : 4);
	uint64_t group, i;

	for (group = 0; group < c->groups; group++) {
		uint64_t end = npu_min((group + 1) * c->group, c->k);

		memset(b->sums, 0, sums);
		for (t->k0 = group * c->group; t->k0 < end; t->k0 += t->piece) {
			t->piece = npu_min(c->piece, end - t->k0);
			if (!contract_stage_a(c, t->row, t->rows, t->k0, t->piece, b) ||
			    !contract_stage_w(c, t->col, t->cols, t->k0, t->piece, b))
				return;
			if (c->is_float ? !npu_long_piece_float(c, t, b) :
					  !long_piece_int(c, t, b))
				return;
		}
		if (c->is_float)
			npu_long_fold(t, b);
		for (i = 0; i < t->rows; i++)
			if (!contract_write(c, t->row + i, group, t->col, t->cols,
						b->sums + i * t->cols * 4))
				return;
	}
}

static void contract_tile(struct npu_exec *x, unsigned int worker, uint64_t tile, void *ctx)
{
	const struct npu_contract *c = ctx;
	struct npu_contract_buffers b;
	struct npu_contract_tile t;

	t.row = tile / c->col_tiles * c->rows;
	t.rows = npu_min(c->rows, c->m - t.row);
	t.col = tile % c->col_tiles * c->cols;
	t.cols = npu_min(c->cols, c->n - t.col);
	if (!contract_buffers(c, worker, &b))
		return;
	if (c->long_group)
		tile_long(c, &t, &b);
	else
		tile_short(c, &t, &b);
}

/* A contraction over nothing: sums of 0. */
static void contract_zero(struct npu_exec *x, const struct npu_operand *dst)
{
	uint64_t at = 0;

	while (at < dst->size && !npu_exec_stopped(x)) {
		uint64_t n = npu_min(dst->size - at, 1 << 20);
		struct npu_window win;
		bool ok;

		npu_window_open(&win, x, dst, n);
		ok = npu_window_zero(&win, dst->address + at, n);
		npu_window_close(&win);
		if (!ok)
			return;
		at += n;
	}
}

void npu_exec_contract(const struct npu_stream_source *s, const struct npu_operand *weight,
		       const struct npu_operand *dst)
{
	struct npu_contract c = { .s = s, .weight = *weight, .dst = *dst };

	if (!dst->size)
		return;
	if (!s->cmd->k) {
		contract_zero(s->x, dst);
		return;
	}
	contract_lanes(&c, s->cmd);
	contract_shape(&c, s->cmd);
	npu_exec_tiles(s->x, c.row_tiles * c.col_tiles, contract_tile, &c);
}
