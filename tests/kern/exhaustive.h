/* SPDX-License-Identifier: MIT */
/* Every conversion on its whole domain against oracles that share nothing with lib/kern. */
#ifndef EXHAUSTIVE_H
#define EXHAUSTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kern.h"

/* The levels under test. */
extern const struct npu_kern *levels[NPU_KERN_LEVELS];
extern unsigned int level_count;

/* One case in @divisor is enough with --quick; else 1. */
extern unsigned int divisor;

/* Compares a level's output; says which element differs. */
bool same_output(const struct npu_kern *k, const char *what, const void *got, const void *want,
		 size_t bytes, size_t element_bytes);
void count(bool ok);
/* A line about a whole domain; seconds since the last one. */
void done(const char *what, double cases);

void exhaustive_casts(void);
void exhaustive_f32_bf16(void);
void exhaustive_emax(void);
void exhaustive_symmetric(void);
void exhaustive_const(void);

/* |x| / scale rounded to f32 and then to an integer, both to nearest even, by integers. */
struct quotient {
	uint32_t m;		/* 24 bits of the rounded quotient */
	int e;			/* quotient = m * 2^e for x = @significand */
};

/* @significand below 2^8, @s below 2^24, neither 0. */
struct quotient quotient_of(uint32_t significand, uint32_t s);
/* q * 2^shift to the nearest integer, at most 128 (what is more clamps alike). */
int quotient_rint(struct quotient q, int shift);

#endif
