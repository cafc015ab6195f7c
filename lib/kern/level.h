/* SPDX-License-Identifier: MIT */
/*
 * What the files of lib/kern share among themselves: who fills the tables,
 * the arithmetic environment, and how a table comes in two kinds of stores.
 */
#ifndef NPU_KERN_LEVEL_H
#define NPU_KERN_LEVEL_H

#include <stdbool.h>

#include "kern.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

#define LINE_BYTES 64u
/* The most vectors that a step of loop.h fills. */
#define STEP_MAX 8

/*
 * Each overwrites the entries that its level does better than the table it is
 * given, which is a copy of the level below. @nt asks for non-temporal stores.
 */
void npu_kern_fill_scalar(struct npu_kern *k);
void npu_kern_fill_sse4(struct npu_kern *k, bool nt);
void npu_kern_fill_avx2(struct npu_kern *k, bool nt);
void npu_kern_fill_avx512(struct npu_kern *k, bool nt);
void npu_kern_fill_avx512vbmi(struct npu_kern *k, bool nt);
void npu_kern_fill_avx512vnni(struct npu_kern *k);
void npu_kern_fill_avx512bf16(struct npu_kern *k, bool nt);
void npu_kern_fill_neon(struct npu_kern *k);
void npu_kern_fill_neon_pp(struct npu_kern *k);
void npu_kern_fill_neon_dot(struct npu_kern *k);

/* The specification of PREPROCESS; also what the levels use for blocks out of their range. */
void npu_kern_pp_scalar(struct npu_pp_run *run, const uint16_t *src, size_t blocks,
			enum npu_kern_pp_mode mode);
void npu_kern_fill_sse4_pp(struct npu_kern *k, bool nt);
void npu_kern_fill_sse4_dot(struct npu_kern *k);
void npu_kern_fill_avx2_pp(struct npu_kern *k, bool nt);
void npu_kern_fill_avx2_dot(struct npu_kern *k);
void npu_kern_fill_avx512_dot(struct npu_kern *k);
void npu_kern_fill_avx512_pp(struct npu_kern *k, bool nt);
void npu_kern_fill_avx512vbmi_pp(struct npu_kern *k, bool nt);

/* Bytes of a block's output. */
static ALWAYS_INLINE size_t npu_pp_block_bytes(enum npu_kern_pp_mode mode)
{
	if (mode == NPU_PP_FIXED27_WIDE)
		return NPU_KERN_BLOCK * 4;
	return mode == NPU_PP_FIXED27_PACKED ? NPU_KERN_BLOCK_PACKED : NPU_KERN_BLOCK;
}

/*
 * Round to nearest even, subnormals kept, exceptions masked, whatever the
 * caller runs with. The barriers keep the arithmetic between the two calls as
 * long as its operands come from memory and its results go there.
 */
#if defined(__x86_64__) || defined(__i386__)
#define NPU_MXCSR_DEFAULT 0x1f80u

static inline unsigned int npu_fp_enter(void)
{
	unsigned int saved, wanted = NPU_MXCSR_DEFAULT;

	__asm__ volatile("stmxcsr %0" : "=m"(saved) : : "memory");
	__asm__ volatile("ldmxcsr %0" : : "m"(wanted) : "memory");
	return saved;
}

static inline void npu_fp_leave(unsigned int saved)
{
	__asm__ volatile("ldmxcsr %0" : : "m"(saved) : "memory");
}
#elif defined(__aarch64__)
static inline unsigned long npu_fp_enter(void)
{
	unsigned long saved;

	__asm__ volatile("mrs %0, fpcr" : "=r"(saved) : : "memory");
	__asm__ volatile("msr fpcr, %0" : : "r"(0ul) : "memory");
	return saved;
}

static inline void npu_fp_leave(unsigned long saved)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(saved) : "memory");
}
#else
#include <fenv.h>

static inline unsigned int npu_fp_enter(void)
{
	unsigned int saved = (unsigned int)fegetround();

	fesetround(FE_TONEAREST);
	__asm__ volatile("" : : : "memory");
	return saved;
}

static inline void npu_fp_leave(unsigned int saved)
{
	__asm__ volatile("" : : : "memory");
	fesetround((int)saved);
}
#endif

#endif
