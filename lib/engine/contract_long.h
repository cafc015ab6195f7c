/* SPDX-License-Identifier: MIT */
/* What the two files of the contraction share: shapes, and sums over groups too long to stage. */
#ifndef NPU_ENGINE_CONTRACT_LONG_H
#define NPU_ENGINE_CONTRACT_LONG_H

#include "adapter.h"

/* Rows and columns whose 16 float sums each are carried from piece to piece. */
#define NPU_LONG_ROWS 16u
#define NPU_LONG_COLS 16u

struct npu_contract {
	const struct npu_stream_source *s;
	struct npu_operand weight;
	struct npu_operand dst;
	struct npu_chain a_chain;
	struct npu_chain w_chain;
	enum npu_lane lane;
	bool is_float;
	unsigned int lane_bytes;
	uint64_t k, m, n;
	uint64_t group;			/* elements of a group along k, <= k */
	uint64_t groups;
	bool long_group;		/* longer than a piece */
	uint64_t piece;			/* elements of k staged at once */
	uint64_t rows;			/* of A, of a tile */
	uint64_t panel;			/* rows of W staged at once */
	uint64_t cols;			/* rows of W of a tile */
	uint64_t row_tiles, col_tiles;
};

/* A worker's memory. */
struct npu_contract_buffers {
	uint8_t *a;			/* lanes [rows][piece] */
	uint8_t *w;			/* lanes [panel][piece] */
	uint8_t *raw;
	uint8_t *tmp;
	uint8_t *out;			/* sums of one row and panel */
	uint8_t *sums;			/* of a long group: [rows][cols], floats times 16 */
};

/* Where a worker is. */
struct npu_contract_tile {
	uint64_t row, rows;
	uint64_t col, cols;
	uint64_t k0, piece;
};

/* Adds a staged piece to the 16 sums of each row and column. */
bool npu_long_piece_float(const struct npu_contract *c, const struct npu_contract_tile *t,
			  const struct npu_contract_buffers *b);

/* Folds them to [rows][cols] in place. */
void npu_long_fold(const struct npu_contract_tile *t, const struct npu_contract_buffers *b);

#endif
