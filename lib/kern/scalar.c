// SPDX-License-Identifier: MIT
/*
 * The specification: every conversion as the documented numerics say it, one
 * element at a time. The SIMD files are tested against this one.
 */
#include <stdbool.h>
#include <string.h>

#include "level.h"
#include "tables.h"

static uint32_t load(const void *src, size_t i, unsigned int bytes)
{
	uint32_t v = 0;

	memcpy(&v, (const uint8_t *)src + i * bytes, bytes);
	return v;
}

static void store(void *dst, size_t i, unsigned int bytes, uint32_t v)
{
	memcpy((uint8_t *)dst + i * bytes, &v, bytes);
}

static unsigned int load4(const void *src, size_t i)
{
	return (((const uint8_t *)src)[i / 2] >> (i % 2 * 4)) & 15;
}

static int32_t sign_extend(uint32_t v, unsigned int bits)
{
	uint32_t sign = 1u << (bits - 1);

	v &= (sign << 1) - 1;
	return (int32_t)(v ^ sign) - (int32_t)sign;
}

/* A float with @mbits of mantissa and exponents biased by @bias, as f32 bits; no Inf, no NaN. */
static uint32_t widen(uint32_t code, unsigned int ebits, unsigned int mbits, int bias)
{
	uint32_t sign = code >> (ebits + mbits) & 1;
	int exponent = (int)(code >> mbits & ((1u << ebits) - 1));
	uint32_t mantissa = code & ((1u << mbits) - 1);

	if (exponent == 0) {
		if (mantissa == 0)
			return sign << 31;
		/* a subnormal of the small type is a normal f32 */
		for (exponent = 1; !(mantissa >> mbits); exponent--)
			mantissa <<= 1;
		mantissa &= (1u << mbits) - 1;
	}
	return sign << 31 | (uint32_t)(exponent - bias + 127) << 23 | mantissa << (23 - mbits);
}

static uint32_t f8e4m3_f32(uint32_t code)
{
	if ((code & 0x7f) == 0x7f)
		return 0x7fc00000;
	return widen(code, 4, 3, 7);
}

static uint32_t f8e5m2_f32(uint32_t code)
{
	uint32_t magnitude = code & 0x7f;

	if (magnitude > 0x7c)
		return (code & 0x80) << 24 | 0x7fc00000;
	if (magnitude == 0x7c)
		return (code & 0x80) << 24 | 0x7f800000;
	return widen(code, 5, 2, 15);
}

static uint32_t bf16_f32(uint32_t code)
{
	if ((code & 0x7fff) > 0x7f80)
		return 0x7fc00000;
	if ((code & 0x7f80) == 0)
		return (code & 0x8000) << 16;
	return code << 16;
}

static uint32_t f32_bf16(uint32_t bits)
{
	if ((bits & 0x7fffffff) > 0x7f800000)
		return 0x7fc0;
	if ((bits & 0x7f800000) == 0)
		return bits >> 16 & 0x8000;
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

#define CONV(name, from, to, expr)						\
static void conv_##name(void *dst, const void *src, size_t n)			\
{										\
	for (size_t i = 0; i < n; i++) {					\
		uint32_t v = from;						\
										\
		store(dst, i, to, (uint32_t)(expr));				\
	}									\
}

CONV(i4_i32, load4(src, i), 4, sign_extend(v, 4))
CONV(i8_i32, load(src, i, 1), 4, sign_extend(v, 8))
CONV(i16_i32, load(src, i, 2), 4, sign_extend(v, 16))
CONV(f8e4m3_f32, load(src, i, 1), 4, f8e4m3_f32(v))
CONV(f8e5m2_f32, load(src, i, 1), 4, f8e5m2_f32(v))
CONV(bf16_f32, load(src, i, 2), 4, bf16_f32(v))
CONV(f32_bf16, load(src, i, 4), 2, f32_bf16(v))
CONV(f4_f8e4m3, load4(src, i), 1, f4_f8e4m3_codes[v])
CONV(f4_f8e5m2, load4(src, i), 1, f4_f8e5m2_codes[v])
CONV(f8e4m3_bf16, load(src, i, 1), 2, f8e4m3_f32(v) >> 16)
CONV(f8e5m2_bf16, load(src, i, 1), 2, f8e5m2_f32(v) >> 16)
CONV(f4_f32, load4(src, i), 4, f8e4m3_f32(f4_f8e4m3_codes[v]))
CONV(f8e4m3_bf16_f32, load(src, i, 1), 4, bf16_f32(f8e4m3_f32(v) >> 16))
CONV(f8e5m2_bf16_f32, load(src, i, 1), 4, bf16_f32(f8e5m2_f32(v) >> 16))
CONV(i4_i8, load4(src, i), 1, i4_i8_codes[v])

#define LUT(key, entry, from)							\
static void lut_##key##_##entry(void *dst, const void *src, size_t n,		\
				const void *table)				\
{										\
	for (size_t i = 0; i < n; i++)						\
		store(dst, i, entry, load(table, from, entry));			\
}

LUT(4, 1, load4(src, i))
LUT(4, 2, load4(src, i))
LUT(4, 4, load4(src, i))
LUT(8, 1, load(src, i, 1))
LUT(8, 2, load(src, i, 1))
LUT(8, 4, load(src, i, 1))
LUT(16, 1, load(src, i, 2))
LUT(16, 2, load(src, i, 2))
LUT(16, 4, load(src, i, 2))

static void zps_i4(int8_t *dst, const void *src, size_t n, int zero_point)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = (int8_t)(sign_extend(load4(src, i), 4) - zero_point);
}

static void zps_i8(int16_t *dst, const int8_t *src, size_t n, int zero_point)
{
	for (size_t i = 0; i < n; i++)
		store(dst, i, 2, (uint32_t)(src[i] - zero_point));
}

static void zero(void *buf, unsigned int bits, size_t from, size_t to)
{
	uint8_t *byte = buf;

	if (from >= to)
		return;
	if (bits != 4) {
		memset(byte + from * (bits / 8), 0, (to - from) * (bits / 8));
		return;
	}
	if (from % 2) {
		byte[from / 2] &= 0x0f;
		from++;
	}
	if (to % 2 && to > from)
		byte[to / 2] &= 0xf0;
	if (to / 2 > from / 2)
		memset(byte + from / 2, 0, to / 2 - from / 2);
}

static void copy(void *dst, const void *src, size_t bytes)
{
	if (bytes)
		memcpy(dst, src, bytes);
}

static float float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* To the nearest integer, ties to even; clamps to 128, which is enough for who clamps to 127. */
static int rint_128(float t)
{
	const float magic = 12582912.0f;	/* 1.5 * 2^23: what is left has no fraction bits */

	if (t > 128)
		t = 128;
	if (t < -128)
		t = -128;
	return (int)(bits_of(t + magic) - bits_of(magic));
}

/* The 27-bit word of one element as a magnitude; the sign is the element's. */
static uint32_t magnitude27(uint16_t x, unsigned int emax)
{
	unsigned int exponent = x >> 7 & 0xff;
	uint32_t base = ((exponent ? 128u : 0u) + (x & 0x7f)) << 12;
	unsigned int d = emax - exponent;

	return d >= 27 ? 0 : base >> d;
}

static int32_t fixed27(uint16_t x, unsigned int emax)
{
	int32_t magnitude = (int32_t)magnitude27(x, emax);

	return x >> 15 ? -magnitude : magnitude;
}

static void pack27(uint8_t *dst, const uint16_t *x, unsigned int emax)
{
	memset(dst, 0, NPU_KERN_BLOCK_PACKED);
	for (unsigned int i = 0; i < NPU_KERN_BLOCK; i++) {
		uint32_t word = (uint32_t)fixed27(x[i], emax) & 0x7ffffff;

		for (unsigned int bit = 0; bit < 27; bit++) {
			unsigned int at = 27 * i + bit;

			dst[at / 8] |= (uint8_t)((word >> bit & 1) << at % 8);
		}
	}
}

/* Clamps to -127..127 and counts what that changed. */
static int8_t clamp127(struct npu_pp_run *run, int q)
{
	if (q > 127 || q < -127) {
		run->saturated++;
		q = q < 0 ? -127 : 127;
	}
	return (int8_t)q;
}

static int8_t int8_emax(struct npu_pp_run *run, uint16_t x, unsigned int emax, bool truncate)
{
	uint32_t magnitude = magnitude27(x, emax);
	int q = (int)(magnitude >> 13);
	uint32_t rest = magnitude & 0x1fff;

	if (!truncate && (rest > 0x1000 || (rest == 0x1000 && q % 2)))
		q++;
	return clamp127(run, x >> 15 ? -q : q);
}

static void int8_scaled(struct npu_pp_run *run, int8_t *dst, const uint16_t *x, uint32_t scale)
{
	for (unsigned int i = 0; i < NPU_KERN_BLOCK; i++) {
		float t = float_of((uint32_t)x[i] << 16) / float_of(scale);

		dst[i] = clamp127(run, rint_128(t));
	}
}

static void pp_block(struct npu_pp_run *run, enum npu_kern_pp_mode mode, size_t block,
		     const uint16_t *x)
{
	int8_t *out = (int8_t *)run->dst + block * NPU_KERN_BLOCK;
	unsigned int emax = 0, largest = 0;
	uint32_t scale = run->scale;
	bool finite;

	for (unsigned int i = 0; i < NPU_KERN_BLOCK; i++) {
		if ((x[i] & 0x7fffu) > largest)
			largest = x[i] & 0x7fff;
		if (run->exponents)
			run->exponents[block * NPU_KERN_BLOCK + i] = (uint8_t)(x[i] >> 7);
	}
	emax = largest >> 7;
	finite = emax != 255;
	if (run->emax)
		run->emax[block] = (uint8_t)emax;
	if (!finite) {
		run->nonfinite_blocks++;
		if (run->block_base + block < run->first_nonfinite)
			run->first_nonfinite = run->block_base + block;
	}

	switch (mode) {
	case NPU_PP_FIXED27_WIDE:
		for (unsigned int i = 0; i < NPU_KERN_BLOCK; i++)
			store(run->dst, block * NPU_KERN_BLOCK + i, 4,
			      (uint32_t)fixed27(x[i], emax));
		break;
	case NPU_PP_FIXED27_PACKED:
		pack27((uint8_t *)run->dst + block * NPU_KERN_BLOCK_PACKED, x, emax);
		break;
	case NPU_PP_LOW8:
		for (unsigned int i = 0; i < NPU_KERN_BLOCK; i++)
			out[i] = (int8_t)(uint8_t)fixed27(x[i], emax);
		break;
	case NPU_PP_INT8_EMAX_RNE:
	case NPU_PP_INT8_EMAX_TRUNC:
		for (unsigned int i = 0; i < NPU_KERN_BLOCK; i++)
			out[i] = int8_emax(run, x[i], emax, mode == NPU_PP_INT8_EMAX_TRUNC);
		break;
	case NPU_PP_INT8_SYMMETRIC:
		scale = finite ? bits_of(float_of(largest << 16) / 127.0f) : 0x7fc00000;
		if (run->scales)
			store(run->scales, block, 4, scale);
		/* fall through */
	default:
		if (finite && largest)
			int8_scaled(run, out, x, scale);
		else
			memset(out, 0, NPU_KERN_BLOCK);
	}
}

void npu_kern_pp_scalar(struct npu_pp_run *run, const uint16_t *src, size_t blocks,
			enum npu_kern_pp_mode mode)
{
	__auto_type fp = npu_fp_enter();
	uint16_t x[NPU_KERN_BLOCK];

	for (size_t block = 0; block < blocks; block++) {
		memcpy(x, (const uint8_t *)src + block * sizeof(x), sizeof(x));
		pp_block(run, mode, block, x);
	}
	npu_fp_leave(fp);
}

#define PP(name, mode)								\
static void pp_##name(struct npu_pp_run *run, const uint16_t *src, size_t blocks) \
{										\
	npu_kern_pp_scalar(run, src, blocks, mode);					\
}

PP(fixed27_wide, NPU_PP_FIXED27_WIDE)
PP(fixed27_packed, NPU_PP_FIXED27_PACKED)
PP(low8, NPU_PP_LOW8)
PP(int8_emax_rne, NPU_PP_INT8_EMAX_RNE)
PP(int8_emax_trunc, NPU_PP_INT8_EMAX_TRUNC)
PP(int8_symmetric, NPU_PP_INT8_SYMMETRIC)
PP(int8_const, NPU_PP_INT8_CONST)

static void dot_s8(int32_t *out, const int8_t *a, const int8_t *w, size_t k, size_t ldw, size_t n)
{
	for (size_t c = 0; c < n; c++) {
		uint32_t sum = 0;

		for (size_t j = 0; j < k; j++)
			sum += (uint32_t)(a[j] * w[c * ldw + j]);
		store(out, c, 4, sum);
	}
}

static void dot_s16(int32_t *out, const int16_t *a, const int16_t *w, size_t k, size_t ldw,
		    size_t n)
{
	for (size_t c = 0; c < n; c++) {
		uint32_t sum = 0;

		for (size_t j = 0; j < k; j++)
			sum += (uint32_t)(sign_extend(load(a, j, 2), 16) *
					  sign_extend(load(w, c * ldw + j, 2), 16));
		store(out, c, 4, sum);
	}
}

/* @bf16 operands are widened as the cast does it. */
static void dot_float(float *out, const void *a, const void *w, size_t k, size_t ldw, size_t n,
		      bool bf16)
{
	__auto_type fp = npu_fp_enter();

	for (size_t c = 0; c < n; c++) {
		float sum[16] = { 0 };

		for (size_t j = 0; j < k; j++) {
			size_t i = c * ldw + j;
			float x = float_of(bf16 ? bf16_f32(load(a, j, 2)) : load(a, j, 4));
			float y = float_of(bf16 ? bf16_f32(load(w, i, 2)) : load(w, i, 4));

			sum[j % 16] += x * y;
		}
		for (unsigned int half = 8; half; half /= 2)
			for (unsigned int i = 0; i < half; i++)
				sum[i] += sum[i + half];
		store(out, c, 4, sum[0] == sum[0] ? bits_of(sum[0]) : 0x7fc00000);
	}
	npu_fp_leave(fp);
}

static void dot_f32(float *out, const float *a, const float *w, size_t k, size_t ldw, size_t n)
{
	dot_float(out, a, w, k, ldw, n, false);
}

static void dot_bf16(float *out, const uint16_t *a, const uint16_t *w, size_t k, size_t ldw,
		     size_t n)
{
	dot_float(out, a, w, k, ldw, n, true);
}

static const struct npu_kern table = {
	.conv = {
		[NPU_CONV_I4_I32] = conv_i4_i32,
		[NPU_CONV_I8_I32] = conv_i8_i32,
		[NPU_CONV_I16_I32] = conv_i16_i32,
		[NPU_CONV_F8E4M3_F32] = conv_f8e4m3_f32,
		[NPU_CONV_F8E5M2_F32] = conv_f8e5m2_f32,
		[NPU_CONV_BF16_F32] = conv_bf16_f32,
		[NPU_CONV_F32_BF16] = conv_f32_bf16,
		[NPU_CONV_F4_F8E4M3] = conv_f4_f8e4m3,
		[NPU_CONV_F4_F8E5M2] = conv_f4_f8e5m2,
		[NPU_CONV_F8E4M3_BF16] = conv_f8e4m3_bf16,
		[NPU_CONV_F8E5M2_BF16] = conv_f8e5m2_bf16,
		[NPU_CONV_F4_F32] = conv_f4_f32,
		[NPU_CONV_F8E4M3_BF16_F32] = conv_f8e4m3_bf16_f32,
		[NPU_CONV_F8E5M2_BF16_F32] = conv_f8e5m2_bf16_f32,
		[NPU_CONV_I4_I8] = conv_i4_i8,
	},
	.lut = {
		[NPU_KEY_4] = { lut_4_1, lut_4_2, lut_4_4 },
		[NPU_KEY_8] = { lut_8_1, lut_8_2, lut_8_4 },
		[NPU_KEY_16] = { lut_16_1, lut_16_2, lut_16_4 },
	},
	.zps_i4 = zps_i4,
	.zps_i8 = zps_i8,
	.zero = zero,
	.pp = {
		[NPU_PP_FIXED27_WIDE] = pp_fixed27_wide,
		[NPU_PP_FIXED27_PACKED] = pp_fixed27_packed,
		[NPU_PP_LOW8] = pp_low8,
		[NPU_PP_INT8_EMAX_RNE] = pp_int8_emax_rne,
		[NPU_PP_INT8_EMAX_TRUNC] = pp_int8_emax_trunc,
		[NPU_PP_INT8_SYMMETRIC] = pp_int8_symmetric,
		[NPU_PP_INT8_CONST] = pp_int8_const,
	},
	.dot_s8 = dot_s8,
	.dot_s16 = dot_s16,
	.dot_f32 = dot_f32,
	.copy = copy,
	.level = NPU_KERN_SCALAR,
	.dot_bf16 = dot_bf16,
};

void npu_kern_fill_scalar(struct npu_kern *k)
{
	*k = table;
}
