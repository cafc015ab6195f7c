/* SPDX-License-Identifier: MIT */
/* What the parts of the kernel test share. */
#ifndef KERN_TEST_H
#define KERN_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kern.h"

/* Memory between two pages that may not be touched. */
struct guarded {
	uint8_t *start;
	uint8_t *end;
};

struct guarded guarded_new(size_t bytes);

/* splitmix64 of the seed that main() prints. */
extern uint64_t test_seed;
uint64_t test_random(void);

/* bf16 blocks of every kind that PREPROCESS treats in its own way. */
void fill_bf16(uint16_t *x, size_t blocks);
void fill_random(void *buf, size_t bytes);

/* One result; prints only failures. */
void check(bool ok, const char *level, const char *function, const char *what);

/* What a caller may have in MXCSR or FPCR. */
#define FP_MODES 6
unsigned long fp_get(void);
void fp_set(unsigned long control);
/* @mode 0 is the default; the others round elsewhere, flush, or both. */
unsigned long fp_mode(unsigned int mode);
/* Without the sticky flags. */
unsigned long fp_control(unsigned long control);

/* A kernel under test, in the one shape that all have here: @n units. */
struct kernel {
	const char *name;
	unsigned int in_bits;		/* of a unit */
	unsigned int out_bytes;		/* of a unit, side bands included */
	unsigned int index;
	bool bf16;			/* input from fill_bf16() */
	void (*run)(const struct npu_kern *k, unsigned int index, uint8_t *dst,
		    const uint8_t *src, size_t n);
};

/* Bytes after the units' own, for counters. */
#define TAIL_BYTES 24

extern const struct kernel kernels[];
extern const unsigned int kernel_count;
extern uint8_t test_table[65536 * 4];

void test_dot(const struct npu_kern *scalar, const struct npu_kern *k, const char *level);
void test_zero(const struct npu_kern *k, const char *level);
/* @path: the directory of the golden vectors. */
void test_golden(const struct npu_kern *k, const char *level, const char *path);

#endif
