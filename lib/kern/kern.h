/* SPDX-License-Identifier: MIT */
/*
 * The conversion kernels: one table of functions, filled level by level.
 *
 * scalar.c is the specification, written plainly from the documented
 * numerics; every other level equals it bit for bit. All functions
 *  - accept any alignment of any pointer and any length, 0 included;
 *  - read and write exactly the bytes of @n elements, never more (guard
 *    pages in the tests), and for an odd count of 4-bit elements ignore the
 *    spare high nibble on input and write it as 0 on output;
 *  - take source and destination that do not overlap, except where noted;
 *  - give the same result whatever MXCSR/FPCR the caller runs with, and leave
 *    it as they found it (sticky exception flags excepted);
 *  - are pure: no allocation, no static state, safe from any thread.
 * 4-bit data starts in the low nibble of the first byte.
 */
#ifndef NPU_KERN_H
#define NPU_KERN_H

#include <stddef.h>
#include <stdint.h>

/* Elements of a PREPROCESS block. */
#define NPU_KERN_BLOCK		32
/* Bytes of a packed fixed27 block: two words of 16 lanes of 27 bits. */
#define NPU_KERN_BLOCK_PACKED	108

enum npu_kern_level {
	NPU_KERN_SCALAR,
	NPU_KERN_SSE4,		/* SSE4.1 + SSSE3 */
	NPU_KERN_AVX2,		/* AVX2 + FMA + F16C + BMI */
	NPU_KERN_AVX512,	/* F, BW, DQ, VL (CD where it helps is not assumed) */
	NPU_KERN_AVX512VBMI,	/* AVX512 + VBMI (+ VNNI, VBMI2, GFNI are detected apart) */
	NPU_KERN_NEON,
	NPU_KERN_LEVELS
};

/* Element-wise conversions without a parameter; fused chains are entries of their own. */
enum npu_kern_conv {
	NPU_CONV_I4_I32,
	NPU_CONV_I8_I32,
	NPU_CONV_I16_I32,
	NPU_CONV_F8E4M3_F32,
	NPU_CONV_F8E5M2_F32,
	NPU_CONV_BF16_F32,
	NPU_CONV_F32_BF16,
	NPU_CONV_F4_F8E4M3,	/* built-in lookups */
	NPU_CONV_F4_F8E5M2,
	NPU_CONV_F8E4M3_BF16,
	NPU_CONV_F8E5M2_BF16,
	NPU_CONV_F4_F32,	/* f4 -> f8e4m3 (or f8e5m2: the same values) -> f32 */
	NPU_CONV_F8E4M3_BF16_F32,	/* lookup to bf16, then cast to f32 */
	NPU_CONV_F8E5M2_BF16_F32,	/* differs from the direct cast in a NaN's sign */
	NPU_CONV_I4_I8,		/* unpack, for staging */
	NPU_CONVS
};

/* @n elements from @src to @dst. */
typedef void npu_conv_fn(void *dst, const void *src, size_t n);

/* User lookups: @table holds 16, 256 or 65536 entries of 1, 2 or 4 bytes. */
typedef void npu_lut_fn(void *dst, const void *src, size_t n, const void *table);

enum npu_kern_key { NPU_KEY_4, NPU_KEY_8, NPU_KEY_16, NPU_KEYS };
enum npu_kern_entry { NPU_ENTRY_1, NPU_ENTRY_2, NPU_ENTRY_4, NPU_ENTRIES };

enum npu_kern_pp_mode {
	NPU_PP_FIXED27_WIDE,	/* dst int32[32] a block */
	NPU_PP_FIXED27_PACKED,	/* dst 108 bytes a block */
	NPU_PP_LOW8,		/* dst int8[32] a block, as all below */
	NPU_PP_INT8_EMAX_RNE,
	NPU_PP_INT8_EMAX_TRUNC,
	NPU_PP_INT8_SYMMETRIC,
	NPU_PP_INT8_CONST,
	NPU_PP_MODES
};

/*
 * One run of whole PREPROCESS blocks. @dst is written; @emax (a byte a block),
 * @exponents (32 bytes a block) and @scales (an f32 bit pattern a block,
 * INT8_SYMMETRIC only) are written where not NULL. The counters are added to;
 * @first_nonfinite is lowered to the index of a non-finite block (counted
 * from @block_base) if that is smaller: the caller starts it at ~0.
 */
struct npu_pp_run {
	void *dst;
	uint8_t *emax;
	uint8_t *exponents;
	uint32_t *scales;
	uint32_t scale;			/* INT8_CONST: bits of a finite f32 > 0 */
	uint64_t block_base;
	uint64_t saturated;
	uint64_t nonfinite_blocks;
	uint64_t first_nonfinite;
};

typedef void npu_pp_fn(struct npu_pp_run *run, const uint16_t *src, size_t blocks);

/*
 * One row of activations against @n rows of weights, @ldw elements apart:
 * out[c] = sum over j < k of a[j] * w[c * ldw + j].
 * Integer sums wrap in 32 bits. f32 sums follow the hardware's order: the
 * product is rounded, then added to one of 16 sums (j mod 16, j ascending,
 * from +0), folded +8, +4, +2, +1; subnormals kept; a NaN result is 0x7fc00000.
 */
typedef void npu_dot_s8_fn(int32_t *out, const int8_t *a, const int8_t *w, size_t k, size_t ldw,
			   size_t n);
typedef void npu_dot_s16_fn(int32_t *out, const int16_t *a, const int16_t *w, size_t k,
			    size_t ldw, size_t n);
typedef void npu_dot_f32_fn(float *out, const float *a, const float *w, size_t k, size_t ldw,
			    size_t n);
/* As dot_f32 on operands widened by the bf16 -> f32 cast, without a copy of them. */
typedef void npu_dot_bf16_fn(float *out, const uint16_t *a, const uint16_t *w, size_t k,
			     size_t ldw, size_t n);

struct npu_kern {
	npu_conv_fn *conv[NPU_CONVS];
	npu_lut_fn *lut[NPU_KEYS][NPU_ENTRIES];
	/* value - zero_point; the zero point is in the source type's range */
	void (*zps_i4)(int8_t *dst, const void *src, size_t n, int zero_point);
	void (*zps_i8)(int16_t *dst, const int8_t *src, size_t n, int zero_point);
	/* zeroes elements [from, to) of @bits (4, 8, 16, 32) in place: the mask */
	void (*zero)(void *buf, unsigned int bits, size_t from, size_t to);
	npu_pp_fn *pp[NPU_PP_MODES];
	npu_dot_s8_fn *dot_s8;
	npu_dot_s16_fn *dot_s16;
	npu_dot_f32_fn *dot_f32;
	/* memcpy with the store kind that suits the size: identity casts */
	void (*copy)(void *dst, const void *src, size_t bytes);
	enum npu_kern_level level;
	npu_dot_bf16_fn *dot_bf16;
	/*
	 * The same table with stores past the caches in conv, lut, zps, pp and
	 * copy, whatever the size: for a caller who works on something large in
	 * tiles. Each such call ends with a store fence. Never NULL; its own nt
	 * is itself.
	 */
	const struct npu_kern *nt;
};

/*
 * Bytes from which a destination is written past the caches: half the last level, at most 8 MiB.
 * Valid from the first call of npu_kern_get() or npu_kern_level() on.
 */
extern size_t npu_kern_stream_bytes;

/* The table in use: the best of this CPU, or lower as NPU_CPU or npu_kern_set_level() says. */
const struct npu_kern *npu_kern_get(void);

/* The table of one level; NULL where the CPU or the build lacks it. Thread-safe. */
const struct npu_kern *npu_kern_level(enum npu_kern_level level);

/*
 * Lowers (or raises again) the level in use; -ENOTSUP where the CPU lacks it or NPU_CPU is lower.
 * npu_kern_level() gives the tables of all levels regardless.
 */
int npu_kern_set_level(enum npu_kern_level level);

/* Back to the level that npu_kern_get() started with. */
void npu_kern_reset_level(void);

/* "scalar", "sse4", ...; NULL for an unknown level. */
const char *npu_kern_level_name(enum npu_kern_level level);

#endif
