// SPDX-License-Identifier: MIT
/* SSE4.1 and SSSE3: casts, lookups, zero points. */
#include "vec128.h"
#include "tables.h"

/* ---- integers ---- */

static ALWAYS_INLINE void i8_i32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = _mm_cvtepi8_epi32(load4(s + 4 * i));
}

static ALWAYS_INLINE void i8_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 16, 8, 4, i8_i32_step }, NULL);
}

static ALWAYS_INLINE void i16_i32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = _mm_cvtepi16_epi32(load8(s + 8 * i));
}

static ALWAYS_INLINE void i16_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 16, 16, 4, i16_i32_step }, NULL);
}

static ALWAYS_INLINE void nibble_byte_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = _mm_shuffle_epi8(*(const __m128i *)ctx, load_nibbles(s + 8 * i));
}

#define NIBBLE_BYTE ((struct shape){ 64, 4, 4, nibble_byte_step })

static ALWAYS_INLINE void i4_i8_any(bool nt, void *dst, const void *src, size_t n)
{
	__m128i table = vec_load(i4_i8_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void zps_i4_any(bool nt, int8_t *dst, const void *src, size_t n,
				     int zero_point)
{
	__m128i table = _mm_sub_epi8(vec_load(i4_i8_codes), _mm_set1_epi8((char)zero_point));

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void zps_i8_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = _mm_sub_epi16(_mm_cvtepi8_epi16(load8(s + 8 * i)), *(const __m128i *)ctx);
}

static ALWAYS_INLINE void zps_i8_any(bool nt, int16_t *dst, const int8_t *src, size_t n,
				     int zero_point)
{
	__m128i zp = _mm_set1_epi16((short)zero_point);

	loop(dst, src, n, nt, (struct shape){ 32, 8, 4, zps_i8_step }, &zp);
}

static ALWAYS_INLINE void i4_i32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m128i codes = *(const __m128i *)ctx;
	__m128i x = _mm_shuffle_epi8(codes, load_nibbles(s));

	v[0] = _mm_cvtepi8_epi32(x);
	v[1] = _mm_cvtepi8_epi32(_mm_srli_si128(x, 4));
	v[2] = _mm_cvtepi8_epi32(_mm_srli_si128(x, 8));
	v[3] = _mm_cvtepi8_epi32(_mm_srli_si128(x, 12));
}

static ALWAYS_INLINE void i4_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	__m128i codes = vec_load(i4_i8_codes);

	loop(dst, src, n, nt, (struct shape){ 16, 4, 4, i4_i32_step }, &codes);
}

/* ---- small floats ---- */

static ALWAYS_INLINE void f4_f8e4m3_any(bool nt, void *dst, const void *src, size_t n)
{
	__m128i table = vec_load(f4_f8e4m3_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void f4_f8e5m2_any(bool nt, void *dst, const void *src, size_t n)
{
	__m128i table = vec_load(f4_f8e5m2_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

/* Eight words to the upper halves of double words: bf16 to f32. */
static ALWAYS_INLINE void widen(VEC *v, __m128i x)
{
	v[0] = _mm_unpacklo_epi16(_mm_setzero_si128(), x);
	v[1] = _mm_unpackhi_epi16(_mm_setzero_si128(), x);
}

/* By way of bf16, whose two bytes come from two tables. */
static ALWAYS_INLINE void f4_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m128i *t = ctx;
	__m128i code = load_nibbles(s);
	__m128i lo = _mm_shuffle_epi8(t[0], code);
	__m128i hi = _mm_shuffle_epi8(t[1], code);

	widen(v, _mm_unpacklo_epi8(lo, hi));
	widen(v + 2, _mm_unpackhi_epi8(lo, hi));
}

static ALWAYS_INLINE void f4_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	/* 0 .5 1 1.5 2 3 4 6 */
	const __m128i lo = _mm_setr_epi8(0, 0, -128, -64, 0, 64, -128, -64,
					 0, 0, -128, -64, 0, 64, -128, -64);
	const __m128i hi = _mm_setr_epi8(0, 0x3f, 0x3f, 0x3f, 0x40, 0x40, 0x40, 0x40,
					 -128, -65, -65, -65, -64, -64, -64, -64);
	__m128i t[2] = { lo, hi };

	loop(dst, src, n, nt, (struct shape){ 16, 4, 4, f4_f32_step }, t);
}

/* Entry @index < 8 of a table of words. */
static ALWAYS_INLINE __m128i lookup8_words(__m128i table, __m128i index)
{
	__m128i bytes = _mm_add_epi16(_mm_mullo_epi16(index, _mm_set1_epi16(0x0202)),
				      _mm_set1_epi16(0x0100));

	return _mm_shuffle_epi8(table, bytes);
}

/* A normal code needs a shift and the difference of the biases; the subnormals are in a table. */
static ALWAYS_INLINE __m128i f8e4m3_bf16_words(const uint8_t *s, __m128i table)
{
	__m128i code = _mm_cvtepu8_epi16(load8(s));
	__m128i magnitude = _mm_and_si128(code, _mm_set1_epi16(0x7f));
	__m128i small = _mm_cmpgt_epi16(_mm_set1_epi16(8), magnitude);
	__m128i nan = _mm_cmpeq_epi16(magnitude, _mm_set1_epi16(0x7f));
	__m128i sign = _mm_and_si128(_mm_slli_epi16(code, 8), _mm_set1_epi16((short)0x8000));
	__m128i y = _mm_add_epi16(_mm_slli_epi16(magnitude, 4), _mm_set1_epi16(0x3c00));

	y = _mm_blendv_epi8(y, lookup8_words(table, magnitude), small);
	y = _mm_or_si128(y, sign);
	return _mm_blendv_epi8(y, _mm_set1_epi16(0x7fc0), nan);
}

/* Here the table also holds infinity and the NaNs, behind the four subnormals. */
static ALWAYS_INLINE __m128i f8e5m2_bf16_words(const uint8_t *s, __m128i table, bool nan_sign)
{
	__m128i code = _mm_cvtepu8_epi16(load8(s));
	__m128i magnitude = _mm_and_si128(code, _mm_set1_epi16(0x7f));
	__m128i special = _mm_or_si128(_mm_cmpgt_epi16(_mm_set1_epi16(4), magnitude),
				       _mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x7b)));
	__m128i index = _mm_or_si128(_mm_and_si128(code, _mm_set1_epi16(3)),
				     _mm_and_si128(_mm_srli_epi16(code, 4), _mm_set1_epi16(4)));
	__m128i sign = _mm_and_si128(_mm_slli_epi16(code, 8), _mm_set1_epi16((short)0x8000));
	__m128i y = _mm_add_epi16(_mm_slli_epi16(magnitude, 5), _mm_set1_epi16(0x3800));

	if (!nan_sign)
		sign = _mm_andnot_si128(_mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x7c)), sign);
	y = _mm_blendv_epi8(y, lookup8_words(table, index), special);
	return _mm_or_si128(y, sign);
}

static ALWAYS_INLINE void f8e4m3_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = f8e4m3_bf16_words(s + 8 * i, *(const __m128i *)ctx);
}

static ALWAYS_INLINE void f8e5m2_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = f8e5m2_bf16_words(s + 8 * i, *(const __m128i *)ctx, true);
}

static ALWAYS_INLINE void f8e4m3_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	widen(v, f8e4m3_bf16_words(s, *(const __m128i *)ctx));
	widen(v + 2, f8e4m3_bf16_words(s + 8, *(const __m128i *)ctx));
}

static ALWAYS_INLINE void f8e5m2_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	widen(v, f8e5m2_bf16_words(s, *(const __m128i *)ctx, true));
	widen(v + 2, f8e5m2_bf16_words(s + 8, *(const __m128i *)ctx, true));
}

static ALWAYS_INLINE void f8e5m2_bf16_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	widen(v, f8e5m2_bf16_words(s, *(const __m128i *)ctx, false));
	widen(v + 2, f8e5m2_bf16_words(s + 8, *(const __m128i *)ctx, false));
}

static ALWAYS_INLINE void f8e4m3_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	__m128i table = vec_load(f8e4m3_bf16_small);

	loop(dst, src, n, nt, (struct shape){ 32, 8, 4, f8e4m3_bf16_step }, &table);
}

static ALWAYS_INLINE void f8e5m2_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	__m128i table = vec_load(f8e5m2_bf16_special);

	loop(dst, src, n, nt, (struct shape){ 32, 8, 4, f8e5m2_bf16_step }, &table);
}

static ALWAYS_INLINE void f8e4m3_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	__m128i table = vec_load(f8e4m3_bf16_small);

	loop(dst, src, n, nt, (struct shape){ 16, 8, 4, f8e4m3_f32_step }, &table);
}

static ALWAYS_INLINE void f8e5m2_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	__m128i table = vec_load(f8e5m2_bf16_special);

	loop(dst, src, n, nt, (struct shape){ 16, 8, 4, f8e5m2_f32_step }, &table);
}

static ALWAYS_INLINE void f8e5m2_bf16_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	__m128i table = vec_load(f8e5m2_bf16_special);

	loop(dst, src, n, nt, (struct shape){ 16, 8, 4, f8e5m2_bf16_f32_step }, &table);
}

/* ---- bf16 and f32 ---- */

static ALWAYS_INLINE void bf16_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 2; i++) {
		__m128i x = vec_load(s + 16 * i);
		__m128i magnitude = _mm_and_si128(x, _mm_set1_epi16(0x7fff));
		__m128i nan = _mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x7f80));
		__m128i small = _mm_cmpgt_epi16(_mm_set1_epi16(0x80), magnitude);

		x = _mm_sub_epi16(x, _mm_and_si128(magnitude, small));
		widen(v + 2 * i, _mm_blendv_epi8(x, _mm_set1_epi16(0x7fc0), nan));
	}
}

static ALWAYS_INLINE void bf16_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 16, 16, 4, bf16_f32_step }, NULL);
}

/* The rounded value in the lower half of each double word. */
static ALWAYS_INLINE __m128i round_to_bf16(__m128i x)
{
	__m128i magnitude = _mm_and_si128(x, _mm_set1_epi32(0x7fffffff));
	__m128i nan = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7f800000));
	__m128i small = _mm_cmpgt_epi32(_mm_set1_epi32(0x00800000), magnitude);
	__m128i odd = _mm_and_si128(_mm_srli_epi32(x, 16), _mm_set1_epi32(1));
	__m128i y = _mm_add_epi32(_mm_add_epi32(x, _mm_set1_epi32(0x7fff)), odd);

	y = _mm_blendv_epi8(y, _mm_set1_epi32(0x7fc00000), nan);
	y = _mm_blendv_epi8(y, _mm_sub_epi32(x, magnitude), small);
	return _mm_srli_epi32(y, 16);
}

static ALWAYS_INLINE void f32_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = _mm_packus_epi32(round_to_bf16(vec_load(s + 32 * i)),
					round_to_bf16(vec_load(s + 32 * i + 16)));
}

static ALWAYS_INLINE void f32_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 32, 32, 4, f32_bf16_step }, NULL);
}

/* ---- lookups ---- */

static ALWAYS_INLINE void lut_4_1_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m128i t = vec_load(table);

	loop(dst, src, n, nt, NIBBLE_BYTE, &t);
}

/* A table's bytes, one plane for each byte of the entry. */
static ALWAYS_INLINE void split_planes(__m128i *t, const uint8_t *table, unsigned int size)
{
	uint8_t plane[16];

	for (unsigned int p = 0; p < size; p++) {
		for (unsigned int i = 0; i < 16; i++)
			plane[i] = table[i * size + p];
		t[p] = vec_load(plane);
	}
}

static ALWAYS_INLINE void lut_4_2_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m128i *t = ctx;

	UNROLL
	for (int i = 0; i < 2; i++) {
		__m128i code = load_nibbles(s + 8 * i);
		__m128i lo = _mm_shuffle_epi8(t[0], code);
		__m128i hi = _mm_shuffle_epi8(t[1], code);

		v[2 * i] = _mm_unpacklo_epi8(lo, hi);
		v[2 * i + 1] = _mm_unpackhi_epi8(lo, hi);
	}
}

static ALWAYS_INLINE void lut_4_2_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m128i t[2];

	split_planes(t, table, 2);
	loop(dst, src, n, nt, (struct shape){ 32, 4, 4, lut_4_2_step }, t);
}

static ALWAYS_INLINE void lut_4_4_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m128i *t = ctx;
	__m128i code = load_nibbles(s);
	__m128i b0 = _mm_shuffle_epi8(t[0], code), b1 = _mm_shuffle_epi8(t[1], code);
	__m128i b2 = _mm_shuffle_epi8(t[2], code), b3 = _mm_shuffle_epi8(t[3], code);
	__m128i lo = _mm_unpacklo_epi8(b0, b1), hi = _mm_unpacklo_epi8(b2, b3);

	v[0] = _mm_unpacklo_epi16(lo, hi);
	v[1] = _mm_unpackhi_epi16(lo, hi);
	lo = _mm_unpackhi_epi8(b0, b1);
	hi = _mm_unpackhi_epi8(b2, b3);
	v[2] = _mm_unpacklo_epi16(lo, hi);
	v[3] = _mm_unpackhi_epi16(lo, hi);
}

static ALWAYS_INLINE void lut_4_4_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m128i t[4];

	split_planes(t, table, 4);
	loop(dst, src, n, nt, (struct shape){ 16, 4, 4, lut_4_4_step }, t);
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
KERNEL(zps_i4, 1, (int8_t *dst, const void *src, size_t n, int zero_point), dst, src, n,
       zero_point)
KERNEL(zps_i8, 2, (int16_t *dst, const int8_t *src, size_t n, int zero_point), dst, src,
       n, zero_point)

void npu_kern_fill_sse4(struct npu_kern *k, bool nt)
{
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
	k->zps_i4 = PICK(zps_i4);
	k->zps_i8 = PICK(zps_i8);
	npu_kern_fill_sse4_pp(k, nt);
	npu_kern_fill_sse4_dot(k);
}
