// SPDX-License-Identifier: MIT
/* npu/convert.h: the kernels as exported functions. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <npu/convert.h>

#include "error.h"
#include "kern/kern.h"

#define CONV(name, index, dst_type, src_type)					\
NPU_API void npu_convert_##name(dst_type *dst, src_type *src, size_t n)		\
{										\
	npu_kern_get()->conv[NPU_CONV_##index](dst, src, n);			\
}

CONV(i4_i8, I4_I8, int8_t, const void)
CONV(i4_i32, I4_I32, int32_t, const void)
CONV(i8_i32, I8_I32, int32_t, const int8_t)
CONV(i16_i32, I16_I32, int32_t, const int16_t)
CONV(f8e4m3_f32, F8E4M3_F32, float, const uint8_t)
CONV(f8e5m2_f32, F8E5M2_F32, float, const uint8_t)
CONV(bf16_f32, BF16_F32, float, const uint16_t)
CONV(f32_bf16, F32_BF16, uint16_t, const float)
CONV(f4_f8e4m3, F4_F8E4M3, uint8_t, const void)
CONV(f4_f8e5m2, F4_F8E5M2, uint8_t, const void)
CONV(f4_f32, F4_F32, float, const void)
CONV(f8e4m3_bf16, F8E4M3_BF16, uint16_t, const uint8_t)
CONV(f8e5m2_bf16, F8E5M2_BF16, uint16_t, const uint8_t)
CONV(f8e4m3_bf16_f32, F8E4M3_BF16_F32, float, const uint8_t)
CONV(f8e5m2_bf16_f32, F8E5M2_BF16_F32, float, const uint8_t)

static int lookup(enum npu_kern_key key, void *dst, const void *src, size_t n, const void *table,
		  unsigned int entry_bytes)
{
	enum npu_kern_entry entry;

	if (entry_bytes != 1 && entry_bytes != 2 && entry_bytes != 4)
		return npu_fail(EINVAL, "entry_bytes is %u: entries have 1, 2 or 4 bytes",
				entry_bytes);
	entry = entry_bytes == 4 ? NPU_ENTRY_4 : entry_bytes == 2 ? NPU_ENTRY_2 : NPU_ENTRY_1;
	if (n)
		npu_kern_get()->lut[key][entry](dst, src, n, table);
	return 0;
}

NPU_API int npu_convert_lookup4(void *dst, const void *src, size_t n, const void *table,
				unsigned int entry_bytes)
{
	return lookup(NPU_KEY_4, dst, src, n, table, entry_bytes);
}

NPU_API int npu_convert_lookup8(void *dst, const void *src, size_t n, const void *table,
				unsigned int entry_bytes)
{
	return lookup(NPU_KEY_8, dst, src, n, table, entry_bytes);
}

NPU_API int npu_convert_lookup16(void *dst, const void *src, size_t n, const void *table,
				 unsigned int entry_bytes)
{
	return lookup(NPU_KEY_16, dst, src, n, table, entry_bytes);
}

NPU_API int npu_convert_i4_i5(int8_t *dst, const void *src, size_t n, int zero_point)
{
	if (zero_point < -8 || zero_point > 7)
		return npu_fail(EINVAL, "zero_point is %d: that of i4 lies in -8..7", zero_point);
	npu_kern_get()->zps_i4(dst, src, n, zero_point);
	return 0;
}

NPU_API int npu_convert_i8_i9(int16_t *dst, const int8_t *src, size_t n, int zero_point)
{
	if (zero_point < -128 || zero_point > 127)
		return npu_fail(EINVAL, "zero_point is %d: that of i8 lies in -128..127",
				zero_point);
	npu_kern_get()->zps_i8(dst, src, n, zero_point);
	return 0;
}

NPU_API int npu_convert_zero(void *buf, unsigned int bits, size_t from, size_t to)
{
	if (bits != 4 && bits != 8 && bits != 16 && bits != 32)
		return npu_fail(EINVAL, "bits is %u: elements have 4, 8, 16 or 32 bits", bits);
	npu_kern_get()->zero(buf, bits, from, to);
	return 0;
}

/* Whole blocks in place, the rest through a block that is completed with zeros. */
static void preprocess(enum npu_kern_pp_mode mode, struct npu_pp_run *run, size_t element_bytes,
		       const uint16_t *src, size_t n)
{
	npu_pp_fn *pp = npu_kern_get()->pp[mode];
	size_t blocks = n / NPU_KERN_BLOCK, rest = n % NPU_KERN_BLOCK;
	uint16_t in[NPU_KERN_BLOCK] = { 0 };
	uint8_t out[NPU_KERN_BLOCK * 4];
	uint8_t *dst = run->dst;

	pp(run, src, blocks);
	if (!rest)
		return;
	memcpy(in, (const uint8_t *)src + blocks * sizeof(in), rest * sizeof(*in));
	run->dst = out;
	run->block_base = blocks;
	if (run->emax)
		run->emax += blocks;
	if (run->exponents)
		run->exponents += blocks * NPU_KERN_BLOCK;
	if (run->scales)
		run->scales += blocks;
	pp(run, in, 1);
	if (mode == NPU_PP_FIXED27_PACKED)
		memcpy(dst + blocks * NPU_KERN_BLOCK_PACKED, out, NPU_KERN_BLOCK_PACKED);
	else
		memcpy(dst + blocks * NPU_KERN_BLOCK * element_bytes, out, rest * element_bytes);
}

/* Reads what @blocks asks for and writes what it gets, as far as its size reaches. */
static void convert(enum npu_kern_pp_mode mode, void *dst, float *scales, uint32_t scale,
		    const uint16_t *src, size_t n, struct npu_convert_blocks *blocks)
{
	struct npu_convert_blocks b = { 0 };
	struct npu_pp_run run = { .dst = dst, .scales = (uint32_t *)(void *)scales,
				  .scale = scale, .first_nonfinite = UINT64_MAX };
	size_t size = 0;

	if (blocks) {
		size = blocks->size < sizeof(b) ? blocks->size : sizeof(b);
		memcpy(&b, blocks, size);
	}
	run.emax = b.emax;
	run.exponents = b.exponents;
	preprocess(mode, &run, mode == NPU_PP_FIXED27_WIDE ? 4 : 1, src, n);
	b.saturated = run.saturated;
	b.nonfinite = run.nonfinite_blocks;
	b.first_nonfinite = run.first_nonfinite;
	if (size > sizeof(b.size))
		memcpy((uint8_t *)blocks + sizeof(b.size), (uint8_t *)&b + sizeof(b.size),
		       size - sizeof(b.size));
}

NPU_API void npu_convert_bf16_fixed27(int32_t *dst, const uint16_t *src, size_t n,
				      struct npu_convert_blocks *blocks)
{
	convert(NPU_PP_FIXED27_WIDE, dst, NULL, 0, src, n, blocks);
}

NPU_API void npu_convert_bf16_fixed27_packed(void *dst, const uint16_t *src, size_t n,
					     struct npu_convert_blocks *blocks)
{
	convert(NPU_PP_FIXED27_PACKED, dst, NULL, 0, src, n, blocks);
}

NPU_API void npu_convert_bf16_low8(uint8_t *dst, const uint16_t *src, size_t n,
				   struct npu_convert_blocks *blocks)
{
	convert(NPU_PP_LOW8, dst, NULL, 0, src, n, blocks);
}

NPU_API void npu_convert_bf16_int8_emax(int8_t *dst, const uint16_t *src, size_t n, int truncate,
					struct npu_convert_blocks *blocks)
{
	convert(truncate ? NPU_PP_INT8_EMAX_TRUNC : NPU_PP_INT8_EMAX_RNE, dst, NULL, 0, src, n,
		blocks);
}

NPU_API void npu_convert_bf16_int8_symmetric(int8_t *dst, float *scales, const uint16_t *src,
					     size_t n, struct npu_convert_blocks *blocks)
{
	convert(NPU_PP_INT8_SYMMETRIC, dst, scales, 0, src, n, blocks);
}

NPU_API int npu_convert_bf16_int8_const(int8_t *dst, const uint16_t *src, size_t n, float scale,
					struct npu_convert_blocks *blocks)
{
	uint32_t bits;

	memcpy(&bits, &scale, sizeof(bits));
	/* +0, negative numbers, infinity and NaNs, without a comparison that flushes */
	if (bits - 1 >= 0x7f800000 - 1)
		return npu_fail(EINVAL, "scale is %g: it must be finite and greater than 0",
				(double)scale);
	convert(NPU_PP_INT8_CONST, dst, NULL, bits, src, n, blocks);
	return 0;
}

NPU_API void npu_convert_dot_i8(int32_t *out, const int8_t *a, const int8_t *w, size_t k,
				size_t ldw, size_t n)
{
	npu_kern_get()->dot_s8(out, a, w, k, ldw, n);
}

NPU_API void npu_convert_dot_i16(int32_t *out, const int16_t *a, const int16_t *w, size_t k,
				 size_t ldw, size_t n)
{
	npu_kern_get()->dot_s16(out, a, w, k, ldw, n);
}

NPU_API void npu_convert_dot_f32(float *out, const float *a, const float *w, size_t k, size_t ldw,
				 size_t n)
{
	npu_kern_get()->dot_f32(out, a, w, k, ldw, n);
}

NPU_API void npu_convert_dot_bf16(float *out, const uint16_t *a, const uint16_t *w, size_t k,
				  size_t ldw, size_t n)
{
	npu_kern_get()->dot_bf16(out, a, w, k, ldw, n);
}
