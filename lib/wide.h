/* SPDX-License-Identifier: MIT */
/*
 * Numbers with 128 bits of mantissa, in integers: the same on every machine,
 * whatever its floating-point unit or the caller's rounding mode does.
 *
 * Results are rounded towards zero and their last bit is set where they are not exact
 * (jamming), so that a result next to a tie or to a representable number is still known to
 * lie on its side of it.
 */
#ifndef NPU_WIDE_H
#define NPU_WIDE_H

#include <stdbool.h>
#include <stdint.h>

#define NPU_WIDE_LIMBS 4

/* (-1)^neg * m * 2^exp; the top bit of m is set, or all of it is 0. */
struct npu_wide {
	uint32_t m[NPU_WIDE_LIMBS];	/* low word first */
	int32_t exp;
	bool neg;
};

static inline bool npu_wide_zero(const struct npu_wide *a)
{
	return !a->m[NPU_WIDE_LIMBS - 1];
}

/* The power of two of the top bit; a is not 0. */
static inline int32_t npu_wide_log2(const struct npu_wide *a)
{
	return a->exp + 127;
}

/* @m * 2^@exp, exact. */
struct npu_wide npu_wide_make(bool neg, uint64_t m, int32_t exp);
/* A finite double, exact. */
struct npu_wide npu_wide_from_double(double d);
struct npu_wide npu_wide_add(struct npu_wide a, struct npu_wide b);
struct npu_wide npu_wide_sub(struct npu_wide a, struct npu_wide b);
struct npu_wide npu_wide_mul(struct npu_wide a, struct npu_wide b);
/* @b is not 0. */
struct npu_wide npu_wide_div(struct npu_wide a, struct npu_wide b);
/* @n is above 0. */
struct npu_wide npu_wide_div_u32(struct npu_wide a, uint32_t n);
/* |a| / 2^@quantum, to the nearest integer, ties to even; it fits 62 bits. */
uint64_t npu_wide_round(const struct npu_wide *a, int32_t quantum);

/* Relative errors below 2^-80. */
struct npu_wide npu_wide_exp(struct npu_wide x);
/* 1 - erf(x) for x >= 0. */
struct npu_wide npu_wide_erfc(struct npu_wide x);
struct npu_wide npu_wide_tanh(struct npu_wide x);
/* 1 / (1 + exp(-x)) */
struct npu_wide npu_wide_sigmoid(struct npu_wide x);
/* x / 2 (1 + erf(x / sqrt 2)), and its approximation by tanh. */
struct npu_wide npu_wide_gelu(struct npu_wide x);
struct npu_wide npu_wide_gelu_tanh(struct npu_wide x);

#endif
