// SPDX-License-Identifier: MIT
/*
 * AVX-512 with VBMI: byte permutations over tables of 128 bytes. Tables of wider
 * entries are split into planes of bytes and the results interleaved again.
 */
#include "vec512.h"

/* A plane: byte @code of 256, by bits 0..6, then bit 7. */
static ALWAYS_INLINE __m512i lookup256(const __m512i *t, __m512i code, __mmask64 upper)
{
	__m512i a = _mm512_permutex2var_epi8(t[0], code, t[1]);
	__m512i b = _mm512_permutex2var_epi8(t[2], code, t[3]);

	return _mm512_mask_mov_epi8(a, upper, b);
}

/* @count vectors of words to half as many of their low bytes, and of their high bytes. */
static ALWAYS_INLINE void split_words(__m512i *lo, __m512i *hi, const __m512i *t, int count)
{
	const __m512i low = _mm512_set1_epi16(0xff);
	const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);

	UNROLL
	for (int i = 0; i < count; i += 2) {
		lo[i / 2] = _mm512_permutexvar_epi64(order, _mm512_packus_epi16(
				_mm512_and_si512(t[i], low), _mm512_and_si512(t[i + 1], low)));
		hi[i / 2] = _mm512_permutexvar_epi64(order, _mm512_packus_epi16(
				_mm512_srli_epi16(t[i], 8), _mm512_srli_epi16(t[i + 1], 8)));
	}
}

/* The same from double words to words. */
static ALWAYS_INLINE void split_dwords(__m512i *lo, __m512i *hi, const __m512i *t, int count)
{
	const __m512i low = _mm512_set1_epi32(0xffff);
	const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);

	UNROLL
	for (int i = 0; i < count; i += 2) {
		lo[i / 2] = _mm512_permutexvar_epi64(order, _mm512_packus_epi32(
				_mm512_and_si512(t[i], low), _mm512_and_si512(t[i + 1], low)));
		hi[i / 2] = _mm512_permutexvar_epi64(order, _mm512_packus_epi32(
				_mm512_srli_epi32(t[i], 16), _mm512_srli_epi32(t[i + 1], 16)));
	}
}

static ALWAYS_INLINE void load_table(__m512i *t, const void *table, int count)
{
	UNROLL
	for (int i = 0; i < count; i++)
		t[i] = _mm512_loadu_si512((const uint8_t *)table + 64 * i);
}

static ALWAYS_INLINE void lut_8_1_step(VEC *v, const uint8_t *s, const void *ctx)
{
	__m512i code = _mm512_loadu_si512(s);

	v[0] = lookup256(ctx, code, _mm512_movepi8_mask(code));
}

static ALWAYS_INLINE void lut_8_1_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m512i t[4];

	load_table(t, table, 4);
	loop(dst, src, n, nt, (struct shape){ 64, 8, 1, lut_8_1_step }, t);
}

/* 64 bytes, ordered so that what is unpacked to words comes out ascending. */
static ALWAYS_INLINE __m512i load_for_words(const uint8_t *s)
{
	return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7),
					_mm512_loadu_si512(s));
}

/* The same for double words. */
static ALWAYS_INLINE __m512i load_for_dwords(const uint8_t *s)
{
	return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14,
							  3, 7, 11, 15), _mm512_loadu_si512(s));
}

static ALWAYS_INLINE void lut_8_2_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m512i *t = ctx;
	__m512i code = load_for_words(s);
	__mmask64 upper = _mm512_movepi8_mask(code);
	__m512i lo = lookup256(t, code, upper);
	__m512i hi = lookup256(t + 4, code, upper);

	v[0] = _mm512_unpacklo_epi8(lo, hi);
	v[1] = _mm512_unpackhi_epi8(lo, hi);
}

static ALWAYS_INLINE void lut_8_2_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m512i words[8], t[8];

	load_table(words, table, 8);
	split_words(t, t + 4, words, 8);
	loop(dst, src, n, nt, (struct shape){ 64, 8, 2, lut_8_2_step }, t);
}

static ALWAYS_INLINE void lut_8_4_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m512i *t = ctx;
	__m512i code = load_for_dwords(s);
	__mmask64 upper = _mm512_movepi8_mask(code);
	__m512i b0 = lookup256(t, code, upper);
	__m512i b1 = lookup256(t + 4, code, upper);
	__m512i b2 = lookup256(t + 8, code, upper);
	__m512i b3 = lookup256(t + 12, code, upper);
	__m512i lo = _mm512_unpacklo_epi8(b0, b1);
	__m512i hi = _mm512_unpacklo_epi8(b2, b3);

	v[0] = _mm512_unpacklo_epi16(lo, hi);
	v[1] = _mm512_unpackhi_epi16(lo, hi);
	lo = _mm512_unpackhi_epi8(b0, b1);
	hi = _mm512_unpackhi_epi8(b2, b3);
	v[2] = _mm512_unpacklo_epi16(lo, hi);
	v[3] = _mm512_unpackhi_epi16(lo, hi);
}

static ALWAYS_INLINE void lut_8_4_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m512i entries[16], lo[8], hi[8], t[16];

	load_table(entries, table, 16);
	split_dwords(lo, hi, entries, 16);
	split_words(t, t + 4, lo, 8);
	split_words(t + 8, t + 12, hi, 8);
	loop(dst, src, n, nt, (struct shape){ 64, 8, 4, lut_8_4_step }, t);
}

/* bf16 of the codes 0..127, low bytes and high bytes, made by the level below. */
static __m512i f8e4m3_planes[4], f8e5m2_planes[4];

static ALWAYS_INLINE void f8_bf16_words(VEC *v, __m512i code, const __m512i *t, bool e4m3)
{
	__m512i sign = _mm512_set1_epi8((char)0x80);
	__m512i lo = _mm512_permutex2var_epi8(t[0], code, t[1]);
	__m512i hi = _mm512_permutex2var_epi8(t[2], code, t[3]);

	/* code & (code + 1) & 0x80: the f8e4m3 NaN 0xff has no sign */
	if (e4m3)
		code = _mm512_and_si512(code, _mm512_add_epi8(code, _mm512_set1_epi8(1)));
	hi = _mm512_ternarylogic_epi32(hi, code, sign, 0xf8);
	v[0] = _mm512_unpacklo_epi8(lo, hi);
	v[1] = _mm512_unpackhi_epi8(lo, hi);
}

static ALWAYS_INLINE void f8e4m3_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	f8_bf16_words(v, load_for_words(s), ctx, true);
}

static ALWAYS_INLINE void f8e5m2_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	f8_bf16_words(v, load_for_words(s), ctx, false);
}

static ALWAYS_INLINE void f8e4m3_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	__m512i t[4] = { f8e4m3_planes[0], f8e4m3_planes[1], f8e4m3_planes[2], f8e4m3_planes[3] };

	loop(dst, src, n, nt, (struct shape){ 64, 8, 2, f8e4m3_bf16_step }, t);
}

static ALWAYS_INLINE void f8e5m2_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	__m512i t[4] = { f8e5m2_planes[0], f8e5m2_planes[1], f8e5m2_planes[2], f8e5m2_planes[3] };

	loop(dst, src, n, nt, (struct shape){ 64, 8, 2, f8e5m2_bf16_step }, t);
}

/* bf16 is the upper half of f32, and no 8-bit code becomes a bf16 subnormal. */
static ALWAYS_INLINE void f8e4m3_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	__m512i zero = _mm512_setzero_si512();
	__m512i words[2];

	f8_bf16_words(words, load_for_dwords(s), ctx, true);
	v[0] = _mm512_unpacklo_epi16(zero, words[0]);
	v[1] = _mm512_unpackhi_epi16(zero, words[0]);
	v[2] = _mm512_unpacklo_epi16(zero, words[1]);
	v[3] = _mm512_unpackhi_epi16(zero, words[1]);
}

static ALWAYS_INLINE void f8e4m3_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	__m512i t[4] = { f8e4m3_planes[0], f8e4m3_planes[1], f8e4m3_planes[2], f8e4m3_planes[3] };

	loop(dst, src, n, nt, (struct shape){ 64, 8, 4, f8e4m3_f32_step }, t);
}

LUT(lut_8_1, 1)
LUT(lut_8_2, 2)
LUT(lut_8_4, 4)
CONV(f8e4m3_bf16, 2)
CONV(f8e5m2_bf16, 2)
CONV(f8e4m3_f32, 4)

static void make_planes(__m512i *planes, npu_conv_fn *to_bf16)
{
	uint8_t codes[128], table[256];
	__m512i words[4];

	for (unsigned int i = 0; i < sizeof(codes); i++)
		codes[i] = (uint8_t)i;
	to_bf16(table, codes, sizeof(codes));
	load_table(words, table, 4);
	split_words(planes, planes + 2, words, 4);
}

void npu_kern_fill_avx512vbmi(struct npu_kern *k, bool nt)
{
	make_planes(f8e4m3_planes, k->conv[NPU_CONV_F8E4M3_BF16]);
	make_planes(f8e5m2_planes, k->conv[NPU_CONV_F8E5M2_BF16]);

	k->conv[NPU_CONV_F8E4M3_BF16] = PICK(f8e4m3_bf16);
	k->conv[NPU_CONV_F8E5M2_BF16] = PICK(f8e5m2_bf16);
	k->conv[NPU_CONV_F8E4M3_F32] = PICK(f8e4m3_f32);
	k->conv[NPU_CONV_F8E4M3_BF16_F32] = PICK(f8e4m3_f32);
	k->lut[NPU_KEY_8][NPU_ENTRY_1] = PICK(lut_8_1);
	k->lut[NPU_KEY_8][NPU_ENTRY_2] = PICK(lut_8_2);
	k->lut[NPU_KEY_8][NPU_ENTRY_4] = PICK(lut_8_4);
	npu_kern_fill_avx512vbmi_pp(k, nt);
}
