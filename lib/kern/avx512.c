// SPDX-License-Identifier: MIT
/* AVX-512 F, BW, DQ, VL: casts, lookups, zero points. */
#include "vec512.h"
#include "tables.h"

/* ---- integers ---- */

static ALWAYS_INLINE void i8_i32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(s + 16 * i)));
}

static ALWAYS_INLINE void i16_i32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 2; i++)
		v[i] = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const void *)(s + 32 * i)));
}

/* A table of 16 bytes, one in each 128-bit lane. */
static ALWAYS_INLINE void nibble_byte_step(VEC *v, const uint8_t *s, const void *ctx)
{
	v[0] = _mm512_shuffle_epi8(*(const __m512i *)ctx, load_nibbles(s));
}

/* A table of 16 words, twice: the index's fifth bit is the next nibble's. */
static ALWAYS_INLINE void nibble_word_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 2; i++) {
		__m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(s + 16 * i)));

		x = _mm512_or_si512(x, _mm512_slli_epi32(x, 12));
		v[i] = _mm512_permutexvar_epi16(x, *(const __m512i *)ctx);
	}
}

/* A table of 16 double words; an index's upper bits do not matter. */
static ALWAYS_INLINE void nibble_dword_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 4; i++) {
		__m512i x = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)(s + 8 * i)));

		x = _mm512_or_si512(x, _mm512_slli_epi64(x, 28));
		v[i] = _mm512_permutexvar_epi32(x, *(const __m512i *)ctx);
	}
}

#define NIBBLE_BYTE ((struct shape){ 64, 4, 1, nibble_byte_step })
#define NIBBLE_WORD ((struct shape){ 64, 4, 2, nibble_word_step })
#define NIBBLE_DWORD ((struct shape){ 64, 4, 4, nibble_dword_step })

static ALWAYS_INLINE __m512i bytes16(const void *table)
{
	return _mm512_broadcast_i32x4(_mm_loadu_si128(table));
}

static ALWAYS_INLINE void i8_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 64, 8, 4, i8_i32_step }, NULL);
}

static ALWAYS_INLINE void i16_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 32, 16, 2, i16_i32_step }, NULL);
}

static ALWAYS_INLINE void i4_i8_any(bool nt, void *dst, const void *src, size_t n)
{
	__m512i table = bytes16(i4_i8_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void i4_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	__m512i table = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)i4_i8_codes));

	loop(dst, src, n, nt, NIBBLE_DWORD, &table);
}

static ALWAYS_INLINE void zps_i4_any(bool nt, int8_t *dst, const void *src, size_t n,
				     int zero_point)
{
	__m512i table = _mm512_sub_epi8(bytes16(i4_i8_codes), _mm512_set1_epi8((char)zero_point));

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void zps_i8_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 2; i++) {
		__m512i x = _mm512_cvtepi8_epi16(
				_mm256_loadu_si256((const void *)(s + 32 * i)));

		v[i] = _mm512_sub_epi16(x, *(const __m512i *)ctx);
	}
}

static ALWAYS_INLINE void zps_i8_any(bool nt, int16_t *dst, const int8_t *src, size_t n,
				     int zero_point)
{
	__m512i zp = _mm512_set1_epi16((short)zero_point);

	loop(dst, src, n, nt, (struct shape){ 64, 8, 2, zps_i8_step }, &zp);
}

/* ---- small floats ---- */

static ALWAYS_INLINE void f4_f8e4m3_any(bool nt, void *dst, const void *src, size_t n)
{
	__m512i table = bytes16(f4_f8e4m3_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void f4_f8e5m2_any(bool nt, void *dst, const void *src, size_t n)
{
	__m512i table = bytes16(f4_f8e5m2_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

/* An f4 code has few values: the top byte and a half of their f32 is that of f8e5m2 as an f16. */
static ALWAYS_INLINE void f4_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	__m256i half = _mm256_slli_epi16(_mm256_cvtepu8_epi16(
				_mm_loadu_si128((const void *)f4_f8e5m2_codes)), 8);
	__m512i table = _mm512_castps_si512(_mm512_cvtph_ps(half));

	loop(dst, src, n, nt, NIBBLE_DWORD, &table);
}

/*
 * f8e5m2 is the top byte of an f16. Its NaNs become the quiet one first, so that the conversion
 * gives no other payload; by way of bf16 they lose their sign.
 */
static ALWAYS_INLINE void f8e5m2_words(VEC *v, const uint8_t *s, bool nan_sign)
{
	const __m512i sign = _mm512_set1_epi16(nan_sign ? (short)0x8000 : 0);

	UNROLL
	for (int i = 0; i < 2; i++) {
		__m512i half = _mm512_slli_epi16(load32_words(s + 32 * i), 8);
		__m512i magnitude = _mm512_and_si512(half, _mm512_set1_epi16(0x7fff));
		__mmask32 nan = _mm512_cmpgt_epu16_mask(magnitude, _mm512_set1_epi16(0x7c00));

		/* (half & sign) | 0x7e00 */
		half = _mm512_mask_mov_epi16(half, nan, _mm512_ternarylogic_epi32(half, sign,
				_mm512_set1_epi16(0x7e00), 0xea));
		v[2 * i] = _mm512_castps_si512(_mm512_cvtph_ps(_mm512_castsi512_si256(half)));
		v[2 * i + 1] = _mm512_castps_si512(_mm512_cvtph_ps(
					_mm512_extracti64x4_epi64(half, 1)));
	}
}

static ALWAYS_INLINE void f8e5m2_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	f8e5m2_words(v, s, true);
}

static ALWAYS_INLINE void f8e5m2_bf16_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	f8e5m2_words(v, s, false);
}

/*
 * f8e4m3 has an f16's exponent less a bit: put there it is 2^8 too small, subnormals
 * included. Both steps are exact, so the caller's MXCSR does not matter.
 */
static ALWAYS_INLINE void f8e4m3_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m512 scale = _mm512_set1_ps(256);

	(void)ctx;
	UNROLL
	for (int i = 0; i < 2; i++) {
		__m512i code = load32_words(s + 32 * i);
		__m512i magnitude = _mm512_and_si512(code, _mm512_set1_epi16(0x7f));
		__mmask32 nan = _mm512_cmpeq_epi16_mask(magnitude, _mm512_set1_epi16(0x7f));
		/* magnitude << 7 | (code << 8 & 0x8000) */
		__m512i half = _mm512_ternarylogic_epi32(_mm512_slli_epi16(magnitude, 7),
				_mm512_slli_epi16(code, 8), _mm512_set1_epi16((short)0x8000), 0xf8);

		half = _mm512_mask_mov_epi16(half, nan, _mm512_set1_epi16(0x7e00));
		v[2 * i] = _mm512_castps_si512(_mm512_mul_ps(scale,
				_mm512_cvtph_ps(_mm512_castsi512_si256(half))));
		v[2 * i + 1] = _mm512_castps_si512(_mm512_mul_ps(scale,
				_mm512_cvtph_ps(_mm512_extracti64x4_epi64(half, 1))));
	}
}

static ALWAYS_INLINE void f8e5m2_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 64, 8, 4, f8e5m2_f32_step }, NULL);
}

static ALWAYS_INLINE void f8e4m3_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 64, 8, 4, f8e4m3_f32_step }, NULL);
}

static ALWAYS_INLINE void f8e5m2_bf16_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 64, 8, 4, f8e5m2_bf16_f32_step }, NULL);
}

/* bf16 of the codes 0..127, made by the scalar functions. */
static uint16_t f8e4m3_table[128], f8e5m2_table[128];

static ALWAYS_INLINE __m512i f8_bf16(const uint8_t *s, const __m512i *t)
{
	__m512i code = load32_words(s);
	__m512i lower = _mm512_permutex2var_epi16(t[0], code, t[1]);
	__m512i upper = _mm512_permutex2var_epi16(t[2], code, t[3]);
	__mmask32 is_upper = _mm512_test_epi16_mask(code, _mm512_set1_epi16(0x40));

	return _mm512_mask_mov_epi16(lower, is_upper, upper);
}

/* A code's sign, shifted into place; code & (code + 1) has none for the f8e4m3 NaN 0xff. */
static ALWAYS_INLINE void f8_bf16_step(VEC *v, const uint8_t *s, const void *ctx, bool e4m3)
{
	UNROLL
	for (int i = 0; i < 2; i++) {
		__m512i code = load32_words(s + 32 * i);

		if (e4m3)
			code = _mm512_and_si512(code, _mm512_add_epi16(code,
						_mm512_set1_epi16(1)));
		/* value | (code << 8 & 0x8000) */
		v[i] = _mm512_ternarylogic_epi32(f8_bf16(s + 32 * i, ctx),
						 _mm512_slli_epi16(code, 8),
						 _mm512_set1_epi16((short)0x8000), 0xf8);
	}
}

static ALWAYS_INLINE void f8e4m3_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	f8_bf16_step(v, s, ctx, true);
}

static ALWAYS_INLINE void f8e5m2_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	f8_bf16_step(v, s, ctx, false);
}

static ALWAYS_INLINE void f8_bf16_any(bool nt, void *dst, const void *src, size_t n,
				      const uint16_t *table, step_fn *step)
{
	__m512i t[4];

	for (int i = 0; i < 4; i++)
		t[i] = _mm512_loadu_si512(table + 32 * i);
	loop(dst, src, n, nt, (struct shape){ 64, 8, 2, step }, t);
}

static ALWAYS_INLINE void f8e4m3_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	f8_bf16_any(nt, dst, src, n, f8e4m3_table, f8e4m3_bf16_step);
}

static ALWAYS_INLINE void f8e5m2_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	f8_bf16_any(nt, dst, src, n, f8e5m2_table, f8e5m2_bf16_step);
}

/* ---- bf16 and f32 ---- */

/* The loaded quarters are so ordered that the lanes' halves unpack to ascending elements. */
static ALWAYS_INLINE void bf16_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
	__m512i x = _mm512_permutexvar_epi64(order, _mm512_loadu_si512((const void *)s));
	__m512i magnitude = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
	__mmask32 nan = _mm512_cmpgt_epu16_mask(magnitude, _mm512_set1_epi16(0x7f80));
	__mmask32 small = _mm512_testn_epi16_mask(x, _mm512_set1_epi16(0x7f80));

	(void)ctx;
	x = _mm512_mask_mov_epi16(x, nan, _mm512_set1_epi16(0x7fc0));
	x = _mm512_mask_sub_epi16(x, small, x, magnitude);
	v[0] = _mm512_unpacklo_epi16(_mm512_setzero_si512(), x);
	v[1] = _mm512_unpackhi_epi16(_mm512_setzero_si512(), x);
}

static ALWAYS_INLINE void bf16_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 32, 16, 2, bf16_f32_step }, NULL);
}

/* The rounded value in the upper half of each double word. */
static ALWAYS_INLINE __m512i round_to_bf16(__m512i x)
{
	const __m512i infinity = _mm512_set1_epi32(0x7f800000);
	__m512i odd = _mm512_and_si512(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(1));
	__m512i y = _mm512_add_epi32(_mm512_add_epi32(x, _mm512_set1_epi32(0x7fff)), odd);
	__m512 f = _mm512_castsi512_ps(x);
	__mmask16 nan = _mm512_cmp_ps_mask(f, f, _CMP_UNORD_Q);
	__mmask16 small = _mm512_testn_epi32_mask(x, infinity);

	y = _mm512_mask_mov_epi32(y, nan, _mm512_set1_epi32(0x7fc00000));
	return _mm512_mask_and_epi32(y, small, x, _mm512_set1_epi32((int)0x80000000));
}

static ALWAYS_INLINE void f32_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	__m512i a = round_to_bf16(_mm512_loadu_si512((const void *)s));
	__m512i b = round_to_bf16(_mm512_loadu_si512((const void *)(s + 64)));

	v[0] = _mm512_permutex2var_epi16(a, *(const __m512i *)ctx, b);
}

static ALWAYS_INLINE void f32_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	/* the odd words of both */
	__m512i odd = _mm512_cvtepu8_epi16(_mm256_setr_epi8(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21,
				23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55,
				57, 59, 61, 63));

	loop(dst, src, n, nt, (struct shape){ 32, 32, 1, f32_bf16_step }, &odd);
}

/* ---- lookups ---- */

static ALWAYS_INLINE void lut_4_1_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m512i t = bytes16(table);

	loop(dst, src, n, nt, NIBBLE_BYTE, &t);
}

static ALWAYS_INLINE void lut_4_2_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m512i t = _mm512_broadcast_i64x4(_mm256_loadu_si256(table));

	loop(dst, src, n, nt, NIBBLE_WORD, &t);
}

static ALWAYS_INLINE void lut_4_4_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m512i t = _mm512_loadu_si512(table);

	loop(dst, src, n, nt, NIBBLE_DWORD, &t);
}

/* Word @code of 256: by bits 0..5, then bit 6, then bit 7. */
static ALWAYS_INLINE __m512i lookup256_words(const __m512i *t, __m512i code)
{
	__mmask32 bit6 = _mm512_test_epi16_mask(code, _mm512_set1_epi16(0x40));
	__mmask32 bit7 = _mm512_test_epi16_mask(code, _mm512_set1_epi16(0x80));
	__m512i a = _mm512_permutex2var_epi16(t[0], code, t[1]);
	__m512i b = _mm512_permutex2var_epi16(t[2], code, t[3]);
	__m512i c = _mm512_permutex2var_epi16(t[4], code, t[5]);
	__m512i d = _mm512_permutex2var_epi16(t[6], code, t[7]);

	a = _mm512_mask_mov_epi16(a, bit6, b);
	c = _mm512_mask_mov_epi16(c, bit6, d);
	return _mm512_mask_mov_epi16(a, bit7, c);
}

static ALWAYS_INLINE void lut_8_2_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 2; i++)
		v[i] = lookup256_words(ctx, load32_words(s + 32 * i));
}

static ALWAYS_INLINE void lut_8_2_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m512i t[8];

	UNROLL
	for (int i = 0; i < 8; i++)
		t[i] = _mm512_loadu_si512((const uint8_t *)table + 64 * i);
	loop(dst, src, n, nt, (struct shape){ 64, 8, 2, lut_8_2_step }, t);
}

/* Pairs of bytes as words: by bits 1..6, then bit 7, then bit 0. */
static ALWAYS_INLINE void lut_8_1_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m512i *t = ctx;
	__m512i code = _mm512_loadu_si512((const void *)s);
	__mmask64 odd = _mm512_test_epi8_mask(code, _mm512_set1_epi8(1));
	__m512i half[2];

	/* even bytes of @code, then odd bytes: each gives a pair in a word */
	UNROLL
	for (int i = 0; i < 2; i++) {
		__m512i word = i ? _mm512_srli_epi16(code, 8) :
			       _mm512_and_si512(code, _mm512_set1_epi16(0xff));
		__m512i index = _mm512_srli_epi16(word, 1);
		__mmask32 bit7 = _mm512_test_epi16_mask(word, _mm512_set1_epi16(0x80));
		__m512i a = _mm512_permutex2var_epi16(t[0], index, t[1]);
		__m512i b = _mm512_permutex2var_epi16(t[2], index, t[3]);

		half[i] = _mm512_mask_mov_epi16(a, bit7, b);
	}
	/* the even member of each pair in its place, and the odd one */
	v[0] = _mm512_mask_mov_epi8(
		_mm512_mask_mov_epi8(half[0], 0xaaaaaaaaaaaaaaaa, _mm512_slli_epi16(half[1], 8)),
		odd,
		_mm512_mask_mov_epi8(_mm512_srli_epi16(half[0], 8), 0xaaaaaaaaaaaaaaaa, half[1]));
}

static ALWAYS_INLINE void lut_8_1_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m512i t[4];

	UNROLL
	for (int i = 0; i < 4; i++)
		t[i] = _mm512_loadu_si512((const uint8_t *)table + 64 * i);
	loop(dst, src, n, nt, (struct shape){ 64, 8, 1, lut_8_1_step }, t);
}

/* Double word @code of 256: by bits 0..4, then bits 5, 6, 7. */
static ALWAYS_INLINE __m512i lookup256_dwords(const __m512i *t, __m512i code)
{
	__m512i r[8];

	UNROLL
	for (int i = 0; i < 8; i++)
		r[i] = _mm512_permutex2var_epi32(t[2 * i], code, t[2 * i + 1]);
	UNROLL
	for (int bit = 5, count = 4; count; bit++, count /= 2) {
		__mmask16 upper = _mm512_test_epi32_mask(code, _mm512_set1_epi32(1 << bit));

		UNROLL
		for (int i = 0; i < count; i++)
			r[i] = _mm512_mask_mov_epi32(r[2 * i], upper, r[2 * i + 1]);
	}
	return r[0];
}

static ALWAYS_INLINE void lut_8_4_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = lookup256_dwords(ctx, _mm512_cvtepu8_epi32(
						_mm_loadu_si128((const void *)(s + 16 * i))));
}

static ALWAYS_INLINE void lut_8_4_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m512i t[16];

	UNROLL
	for (int i = 0; i < 16; i++)
		t[i] = _mm512_loadu_si512((const uint8_t *)table + 64 * i);
	loop(dst, src, n, nt, (struct shape){ 64, 8, 4, lut_8_4_step }, t);
}

/* ---- the table ---- */

CONV(i4_i32, 4)
CONV(i8_i32, 4)
CONV(i16_i32, 4)
CONV(i4_i8, 1)
CONV(f4_f8e4m3, 1)
CONV(f4_f8e5m2, 1)
CONV(f4_f32, 4)
CONV(f8e4m3_f32, 4)
CONV(f8e5m2_f32, 4)
CONV(f8e5m2_bf16_f32, 4)
CONV(f8e4m3_bf16, 2)
CONV(f8e5m2_bf16, 2)
CONV(bf16_f32, 4)
CONV(f32_bf16, 2)
LUT(lut_4_1, 1)
LUT(lut_4_2, 2)
LUT(lut_4_4, 4)
LUT(lut_8_1, 1)
LUT(lut_8_2, 2)
LUT(lut_8_4, 4)
KERNEL(zps_i4, 1, (int8_t *dst, const void *src, size_t n, int zero_point), dst, src, n,
       zero_point)
KERNEL(zps_i8, 2, (int16_t *dst, const int8_t *src, size_t n, int zero_point), dst, src,
       n, zero_point)

void npu_kern_fill_avx512(struct npu_kern *k, bool nt)
{
	uint8_t codes[128];

	for (unsigned int i = 0; i < sizeof(codes); i++)
		codes[i] = (uint8_t)i;
	k->conv[NPU_CONV_F8E4M3_BF16](f8e4m3_table, codes, sizeof(codes));
	k->conv[NPU_CONV_F8E5M2_BF16](f8e5m2_table, codes, sizeof(codes));

	k->conv[NPU_CONV_I4_I32] = PICK(i4_i32);
	k->conv[NPU_CONV_I8_I32] = PICK(i8_i32);
	k->conv[NPU_CONV_I16_I32] = PICK(i16_i32);
	k->conv[NPU_CONV_I4_I8] = PICK(i4_i8);
	k->conv[NPU_CONV_F4_F8E4M3] = PICK(f4_f8e4m3);
	k->conv[NPU_CONV_F4_F8E5M2] = PICK(f4_f8e5m2);
	k->conv[NPU_CONV_F4_F32] = PICK(f4_f32);
	k->conv[NPU_CONV_F8E4M3_F32] = PICK(f8e4m3_f32);
	k->conv[NPU_CONV_F8E4M3_BF16_F32] = PICK(f8e4m3_f32);
	k->conv[NPU_CONV_F8E5M2_F32] = PICK(f8e5m2_f32);
	k->conv[NPU_CONV_F8E5M2_BF16_F32] = PICK(f8e5m2_bf16_f32);
	k->conv[NPU_CONV_F8E4M3_BF16] = PICK(f8e4m3_bf16);
	k->conv[NPU_CONV_F8E5M2_BF16] = PICK(f8e5m2_bf16);
	k->conv[NPU_CONV_BF16_F32] = PICK(bf16_f32);
	k->conv[NPU_CONV_F32_BF16] = PICK(f32_bf16);
	k->lut[NPU_KEY_4][NPU_ENTRY_1] = PICK(lut_4_1);
	k->lut[NPU_KEY_4][NPU_ENTRY_2] = PICK(lut_4_2);
	k->lut[NPU_KEY_4][NPU_ENTRY_4] = PICK(lut_4_4);
	k->lut[NPU_KEY_8][NPU_ENTRY_1] = PICK(lut_8_1);
	k->lut[NPU_KEY_8][NPU_ENTRY_2] = PICK(lut_8_2);
	k->lut[NPU_KEY_8][NPU_ENTRY_4] = PICK(lut_8_4);
	k->zps_i4 = PICK(zps_i4);
	k->zps_i8 = PICK(zps_i8);
	npu_kern_fill_avx512_pp(k, nt);
	npu_kern_fill_avx512_dot(k);
}
