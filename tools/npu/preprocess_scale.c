// SPDX-License-Identifier: MIT
/* npu preprocess --scale const: the scale that the driver computes, over the whole tensor. */
#include <stdlib.h>
#include <string.h>

#include "preprocess.h"

#define CHUNK	(512u << 10)	/* elements */

/*
 * Magnitudes of bf16 order as their bits do. Non-finite ones stay out: their blocks become zeros,
 * whatever the scale is.
 */
static uint16_t largest(const uint16_t *x, size_t n, uint16_t max)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t magnitude = x[i] & 0x7fff;

		magnitude = magnitude >= 0x7f80 ? 0 : magnitude;
		max = magnitude > max ? magnitude : max;
	}
	return max;
}

int preprocess_find_scale(const struct tensor *t, float *scale)
{
	uint16_t *x = malloc(CHUNK * sizeof(*x));
	struct tensor_error err;
	uint16_t max = 0;
	uint32_t bits;
	float value;
	int ret = 0;

	if (!x)
		return fail_memory();
	for (uint64_t first = 0; !ret && first < t->elements; first += CHUNK) {
		uint64_t n = t->elements - first < CHUNK ? t->elements - first : CHUNK;

		ret = tensor_read(t, first, n, x, &err);
		if (!ret)
			max = largest(x, n, max);
	}
	free(x);
	if (ret)
		return fail_tensor(ret, &err, TENSOR_IN);
	bits = (uint32_t)max << 16;
	memcpy(&value, &bits, sizeof(value));
	*scale = max ? value / 127.0f : 1.0f;
	return 0;
}
