// SPDX-License-Identifier: MIT
/*
 * Float sums of groups that are longer than what is staged at once. The order
 * is the kernels' (16 sums by j mod 16, then folded), so pieces are multiples
 * of 16 and the 16 sums are carried from one to the next.
 */
#include <string.h>

#include "contract_long.h"
#include "kern/level.h"

/* Elements between two looks at the cancel flag; a multiple of 16. */
#define LONG_STEP 4096u

static void add_products(float sum[16], const float *a, const float *w, uint64_t n)
{
	uint64_t j;

	for (j = 0; j < n; j++)
		sum[j % 16] += a[j] * w[j];
}

/* bf16 lanes are widened to floats on the way. */
static const float *widen(const struct npu_contract *c, const uint8_t *lanes, uint64_t at,
			  uint64_t n, float *buf)
{
	const uint8_t *p = lanes + at * c->lane_bytes;

	if (c->lane == NPU_LANE_F32)
		return (const float *)p;
	c->s->x->kern->conv[NPU_CONV_BF16_F32](buf, p, (size_t)n);
	return buf;
}

bool npu_long_piece_float(const struct npu_contract *c, const struct npu_contract_tile *t,
			  const struct npu_contract_buffers *b)
{
	float a_buf[LONG_STEP], w_buf[LONG_STEP];
	float (*sums)[16] = (void *)b->sums;
	uint64_t i, j, at;

	for (i = 0; i < t->rows; i++) {
		for (at = 0; at < t->piece; at += LONG_STEP) {
			uint64_t n = npu_min(LONG_STEP, t->piece - at);
			const float *a = widen(c, b->a, i * t->piece + at, n, a_buf);

			if (npu_exec_stopped(c->s->x))
				return false;
			for (j = 0; j < t->cols; j++) {
				const float *w = widen(c, b->w, j * t->piece + at, n, w_buf);
				__auto_type fp = npu_fp_enter();

				add_products(sums[i * t->cols + j], a, w, n);
				npu_fp_leave(fp);
			}
		}
	}
	return true;
}

void npu_long_fold(const struct npu_contract_tile *t, const struct npu_contract_buffers *b)
{
	__auto_type fp = npu_fp_enter();
	uint64_t i;

	for (i = 0; i < t->rows * t->cols; i++) {
		float sum[16];
		uint32_t bits;
		unsigned int half, j;

		memcpy(sum, b->sums + i * sizeof(sum), sizeof(sum));
		for (half = 8; half; half /= 2)
			for (j = 0; j < half; j++)
				sum[j] += sum[j + half];
		memcpy(&bits, &sum[0], 4);
		if ((bits & 0x7fffffff) > 0x7f800000)
			bits = 0x7fc00000;
		memcpy(b->sums + i * 4, &bits, 4);
	}
	npu_fp_leave(fp);
}
