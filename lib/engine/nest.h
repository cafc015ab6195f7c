/* SPDX-License-Identifier: MIT */
/* Loop nests: merged loops, a cursor that walks them, and gathering of elements. */
#ifndef NPU_ENGINE_NEST_H
#define NPU_ENGINE_NEST_H

#include "exec.h"

/* A nest without loops of one iteration, and with loops that continue each other merged. */
struct npu_nest {
	unsigned int count;		/* >= 1 */
	unsigned int bits;		/* of an element */
	uint64_t size[NPU_MAX_LOOPS];	/* outermost first */
	int64_t stride[NPU_MAX_LOOPS];
};

void npu_nest_init(struct npu_nest *nest, const struct npu_cmd_fetch *cmd);

/* Elements to gather at once, at least @chunk, even: more where a nest reads columns. */
uint64_t npu_nest_chunk(const struct npu_nest *nest, uint64_t chunk);

/* A place in a nest over one tensor. */
struct npu_cursor {
	const struct npu_nest *nest;
	uint64_t base;			/* byte address of element 0 */
	int64_t offset;			/* element where the nest begins */
	uint64_t element;		/* in row-major order */
	int64_t pos;			/* where it lies */
	uint64_t index[NPU_MAX_LOOPS];
};

void npu_cursor_seek(struct npu_cursor *c, uint64_t element);

/* Elements from the cursor on that are neighbours; 0 where the innermost stride is not 1. */
uint64_t npu_cursor_run(const struct npu_cursor *c);

/*
 * Copies the next @n elements to @buf from its element @at on, and moves the
 * cursor behind them. False after a fault or where the job was stopped.
 */
bool npu_gather(struct npu_cursor *c, struct npu_window *w, uint64_t n, void *buf, uint64_t at);

/* Copies @n 4-bit elements; only the nibbles of these are written. */
void npu_nibble_copy(void *dst, uint64_t dst_at, const void *src, uint64_t src_at, uint64_t n);

#endif
