/* SPDX-License-Identifier: MIT */
/*
 * The conversions of the NPU as plain functions, for programs that want no device, no streams and
 * no buffer objects. Results are those of the device, bit for bit; the formulas are in
 * Documentation/numerics.rst, whose section each comment names.
 *
 * Rules for all of them:
 *  - Lengths count elements, not bytes; 0 is allowed, and then no pointer is looked at.
 *  - Any alignment works. Destinations aligned to 64 bytes are fastest.
 *  - Source and destination must not overlap, unless the function says that it works in place.
 *  - Exactly the bytes of the elements are read and written. 4-bit elements lie two per byte,
 *    element 0 in the low nibble; the spare nibble of an odd count is ignored.
 *  - The caller's rounding mode, FTZ and DAZ do not matter and are left as they are; sticky
 *    floating-point exception flags may be raised.
 *  - Nothing is allocated, no thread is started, there is no state: each function may be called by
 *    any number of threads at once, also on disjoint parts of one array. Work on large arrays may
 *    be split at any element (4-bit: at an even one; PREPROCESS: at a multiple of 32).
 *  - Large destinations are written past the caches.
 *  - The SIMD level is npu_cpu_level()'s (npu.h).
 *
 * f32 is an IEEE binary32 (float); bf16 its upper half (uint16_t); f8e4m3 and f8e5m2 are OCP 8-bit
 * floats (uint8_t); f4 is OCP e2m1. All are little-endian.
 */
#ifndef NPU_CONVERT_H
#define NPU_CONVERT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#if !defined(NPU_API)
#if defined(NPU_BUILD)
#define NPU_API __attribute__((visibility("default")))
#else
#define NPU_API
#endif
#endif

/* ---- casts ("Cast") ---- */

/* Sign extension of @n elements. */
NPU_API void npu_convert_i4_i8(int8_t *dst, const void *src, size_t n);
NPU_API void npu_convert_i4_i32(int32_t *dst, const void *src, size_t n);
NPU_API void npu_convert_i8_i32(int32_t *dst, const int8_t *src, size_t n);
NPU_API void npu_convert_i16_i32(int32_t *dst, const int16_t *src, size_t n);

/* Exact, subnormals included. Both NaN codes 0x7f and 0xff give 0x7fc00000. */
NPU_API void npu_convert_f8e4m3_f32(float *dst, const uint8_t *src, size_t n);
/* Exact, subnormals and infinities included. NaNs give 0x7fc00000, negative ones 0xffc00000. */
NPU_API void npu_convert_f8e5m2_f32(float *dst, const uint8_t *src, size_t n);
/* Exact; subnormals become a zero of their sign, NaNs 0x7fc00000. */
NPU_API void npu_convert_bf16_f32(float *dst, const uint16_t *src, size_t n);
/*
 * To nearest, ties to even, overflow to infinity; subnormals become a zero of their sign, NaNs
 * 0x7fc0.
 */
NPU_API void npu_convert_f32_bf16(uint16_t *dst, const float *src, size_t n);

/* ---- built-in tables ("Table lookup"), and tables with a cast behind them in one pass ---- */

/* f4 to 8-bit floats: exact. Block scales (NVFP4, MXFP4) are not applied. */
NPU_API void npu_convert_f4_f8e4m3(uint8_t *dst, const void *src, size_t n);
NPU_API void npu_convert_f4_f8e5m2(uint8_t *dst, const void *src, size_t n);
/* f4 by way of either of them to f32: exact, the same values. */
NPU_API void npu_convert_f4_f32(float *dst, const void *src, size_t n);
/* Exact; NaNs 0x7fc0, of negative f8e5m2 0xffc0. */
NPU_API void npu_convert_f8e4m3_bf16(uint16_t *dst, const uint8_t *src, size_t n);
NPU_API void npu_convert_f8e5m2_bf16(uint16_t *dst, const uint8_t *src, size_t n);
/* The table to bf16, then the cast to f32: as the direct cast, but every NaN is 0x7fc00000. */
NPU_API void npu_convert_f8e4m3_bf16_f32(float *dst, const uint8_t *src, size_t n);
NPU_API void npu_convert_f8e5m2_bf16_f32(float *dst, const uint8_t *src, size_t n);

/* ---- user tables ("Table lookup") ---- */

/*
 * dst[i] = table[src[i]]. Keys are the source's raw bits: 4 bits (@table has 16 entries),
 * 8 bits (256) or 16 bits (65536). Entries, and so elements of @dst, have @entry_bytes, 1, 2 or
 * 4: else -EINVAL and nothing is written. @table must not overlap @dst.
 */
NPU_API int npu_convert_lookup4(void *dst, const void *src, size_t n, const void *table,
				unsigned int entry_bytes);
NPU_API int npu_convert_lookup8(void *dst, const void *src, size_t n, const void *table,
				unsigned int entry_bytes);
NPU_API int npu_convert_lookup16(void *dst, const void *src, size_t n, const void *table,
				 unsigned int entry_bytes);

/* ---- zero points ("Zero-point subtraction") ---- */

/*
 * value - zero_point, which needs a bit more than the source. @zero_point must be in the source
 * type's own range (-8..7, -128..127): else -EINVAL and nothing is written.
 */
NPU_API int npu_convert_i4_i5(int8_t *dst, const void *src, size_t n, int zero_point);
NPU_API int npu_convert_i8_i9(int16_t *dst, const int8_t *src, size_t n, int zero_point);

/* ---- mask ("Mask") ---- */

/*
 * In place: zeroes the elements from @from up to, not including, @to, of 4, 8, 16 or
 * 32 bits each; other elements of the same byte stay. -EINVAL for another @bits.
 */
NPU_API int npu_convert_zero(void *buf, unsigned int bits, size_t from, size_t to);

/* ---- PREPROCESS: bf16 to block formats ("PREPROCESS") ---- */

/* Elements of a block, and bytes of a packed one: 27 bits an element, two words of 54 bytes. */
#define NPU_CONVERT_BLOCK		32
#define NPU_CONVERT_BLOCK_PACKED	108
#define NPU_CONVERT_BLOCKS(n)		((n) / 32 + ((n) % 32 != 0))

/*
 * struct npu_convert_blocks - what a PREPROCESS conversion gives beside its output
 * @size: sizeof(struct npu_convert_blocks); members beyond it are left alone
 * @emax: in: NULL, or room for the largest exponent field of each block, a byte each
 * @exponents: in: NULL, or room for all exponent fields, 32 bytes a block
 * @saturated: out: lanes that the clamp to -127..127 changed
 * @nonfinite: out: blocks that hold an Inf or NaN
 * @first_nonfinite: out: the first of them, UINT64_MAX where there is none
 */
struct npu_convert_blocks {
	size_t size;
	uint8_t *emax;
	uint8_t *exponents;
	uint64_t saturated;
	uint64_t nonfinite;
	uint64_t first_nonfinite;
};

#if defined(__cplusplus)
#define NPU_CONVERT_BLOCKS_INIT { sizeof(struct npu_convert_blocks), nullptr, nullptr, 0, 0, 0 }
#else
#define NPU_CONVERT_BLOCKS_INIT { .size = sizeof(struct npu_convert_blocks) }
#endif

/*
 * Each takes one row of @n elements: blocks of 32 from its start, the last completed with +0,
 * and writes @n elements again. Rows of a matrix are calls of their own, or one call where the
 * row length is a multiple of 32. @blocks may be NULL. Infinities and NaNs are an element like
 * any other with exponent field 255 for fixed27, low8 and int8_emax; they make int8_symmetric and
 * int8_const write zeros for their block.
 */

/* Sign-magnitude significands aligned to the block's largest exponent, cut, as int32. */
NPU_API void npu_convert_bf16_fixed27(int32_t *dst, const uint16_t *src, size_t n,
				      struct npu_convert_blocks *blocks);
/* The same in 27 bits each, whole blocks: NPU_CONVERT_BLOCKS(n) * 108 bytes. */
NPU_API void npu_convert_bf16_fixed27_packed(void *dst, const uint16_t *src, size_t n,
					     struct npu_convert_blocks *blocks);
/* Bits 7..0 of fixed27. */
NPU_API void npu_convert_bf16_low8(uint8_t *dst, const uint16_t *src, size_t n,
				   struct npu_convert_blocks *blocks);
/*
 * fixed27 / 2^13, that is x / 2^(emax - 133): to nearest, ties to even, or with @truncate != 0
 * toward 0; clamped to -127..127.
 */
NPU_API void npu_convert_bf16_int8_emax(int8_t *dst, const uint16_t *src, size_t n, int truncate,
					struct npu_convert_blocks *blocks);
/*
 * x / S rounded to f32, then to nearest even, S = max|x| / 127 of the block rounded to f32.
 * @scales: NULL, or room for the S of each block (a NaN where the block is not finite).
 */
NPU_API void npu_convert_bf16_int8_symmetric(int8_t *dst, float *scales, const uint16_t *src,
					     size_t n, struct npu_convert_blocks *blocks);
/* The same with one S, @scale, clamped. -EINVAL if it is not finite or not > 0. */
NPU_API int npu_convert_bf16_int8_const(int8_t *dst, const uint16_t *src, size_t n, float scale,
					struct npu_convert_blocks *blocks);

/* ---- dot products ("Sinks", CONTRACT) ---- */

/*
 * out[c] = sum over j < @k of a[j] * w[c * ldw + j] for c < @n: one row of activations against
 * the rows of a weight matrix, @ldw >= @k elements apart. Integers wrap in 32 bits. Floats are
 * summed as the device does: each product rounded, then added to one of 16 sums (j mod 16), these
 * folded +8, +4, +2, +1; a NaN is 0x7fc00000. @out must not overlap the operands.
 */
NPU_API void npu_convert_dot_i8(int32_t *out, const int8_t *a, const int8_t *w, size_t k,
				size_t ldw, size_t n);
NPU_API void npu_convert_dot_i16(int32_t *out, const int16_t *a, const int16_t *w, size_t k,
				 size_t ldw, size_t n);
NPU_API void npu_convert_dot_f32(float *out, const float *a, const float *w, size_t k, size_t ldw,
				 size_t n);
/* Operands widen as npu_convert_bf16_f32() does it. */
NPU_API void npu_convert_dot_bf16(float *out, const uint16_t *a, const uint16_t *w, size_t k,
				  size_t ldw, size_t n);

#if defined(__cplusplus)
}
#endif

#endif
