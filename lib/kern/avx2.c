// SPDX-License-Identifier: MIT
/* AVX2 with F16C: casts, lookups, zero points. */
#include "vec256.h"
#include "tables.h"

/* ---- integers ---- */

static ALWAYS_INLINE void i8_i32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(s + 8 * i)));
}

static ALWAYS_INLINE void i8_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 32, 8, 4, i8_i32_step }, NULL);
}

static ALWAYS_INLINE void i16_i32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	v[0] = _mm256_cvtepi16_epi32(load16(s));
	v[1] = _mm256_cvtepi16_epi32(load16(s + 16));
}

static ALWAYS_INLINE void i16_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 16, 16, 2, i16_i32_step }, NULL);
}

static ALWAYS_INLINE __m256i bytes16(const void *table)
{
	return _mm256_broadcastsi128_si256(load16(table));
}

/* A table of 16 bytes, one in each lane. */
static ALWAYS_INLINE void nibble_byte_step(VEC *v, const uint8_t *s, const void *ctx)
{
	v[0] = _mm256_shuffle_epi8(*(const __m256i *)ctx, load_nibbles(s));
	v[1] = _mm256_shuffle_epi8(*(const __m256i *)ctx, load_nibbles(s + 16));
}

#define NIBBLE_BYTE ((struct shape){ 64, 4, 2, nibble_byte_step })

static ALWAYS_INLINE void i4_i8_any(bool nt, void *dst, const void *src, size_t n)
{
	__m256i table = bytes16(i4_i8_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void zps_i4_any(bool nt, int8_t *dst, const void *src, size_t n,
				     int zero_point)
{
	__m256i table = _mm256_sub_epi8(bytes16(i4_i8_codes), _mm256_set1_epi8((char)zero_point));

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void zps_i8_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 2; i++)
		v[i] = _mm256_sub_epi16(_mm256_cvtepi8_epi16(load16(s + 16 * i)),
					*(const __m256i *)ctx);
}

static ALWAYS_INLINE void zps_i8_any(bool nt, int16_t *dst, const int8_t *src, size_t n,
				     int zero_point)
{
	__m256i zp = _mm256_set1_epi16((short)zero_point);

	loop(dst, src, n, nt, (struct shape){ 32, 8, 2, zps_i8_step }, &zp);
}

/* 8 nibbles of 4 bytes in the low bits of double words; other bits are anything. */
static ALWAYS_INLINE __m256i load_nibble_dwords(const uint8_t *s)
{
	int bytes;
	__m256i x;

	memcpy(&bytes, s, sizeof(bytes));
	x = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(bytes));
	return _mm256_or_si256(x, _mm256_slli_epi64(x, 28));
}

static ALWAYS_INLINE void i4_i32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = _mm256_srai_epi32(_mm256_slli_epi32(load_nibble_dwords(s + 4 * i), 28), 28);
}

static ALWAYS_INLINE void i4_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 32, 4, 4, i4_i32_step }, NULL);
}

/* ---- small floats ---- */

static ALWAYS_INLINE void f4_f8e4m3_any(bool nt, void *dst, const void *src, size_t n)
{
	__m256i table = bytes16(f4_f8e4m3_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void f4_f8e5m2_any(bool nt, void *dst, const void *src, size_t n)
{
	__m256i table = bytes16(f4_f8e5m2_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

/* Eight magnitudes, and the code's bit 3 as the sign. */
static ALWAYS_INLINE void f4_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 4; i++) {
		__m256i code = load_nibble_dwords(s + 4 * i);
		__m256i sign = _mm256_and_si256(_mm256_slli_epi32(code, 28),
						_mm256_set1_epi32((int)0x80000000));

		v[i] = _mm256_or_si256(sign, _mm256_permutevar8x32_epi32(*(const __m256i *)ctx,
									 code));
	}
}

static ALWAYS_INLINE void f4_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	__m256i table = _mm256_castps_si256(_mm256_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6));

	loop(dst, src, n, nt, (struct shape){ 32, 4, 4, f4_f32_step }, &table);
}

static ALWAYS_INLINE void f16_f32(VEC *v, __m256i half)
{
	v[0] = _mm256_castps_si256(_mm256_cvtph_ps(_mm256_castsi256_si128(half)));
	v[1] = _mm256_castps_si256(_mm256_cvtph_ps(_mm256_extracti128_si256(half, 1)));
}

/*
 * f8e5m2 is the top byte of an f16. Its NaNs become the quiet one first, so that the conversion
 * gives no other payload; by way of bf16 they lose their sign.
 */
static ALWAYS_INLINE void f8e5m2_words(VEC *v, const uint8_t *s, int nan_sign)
{
	__m256i half = _mm256_slli_epi16(load16_words(s), 8);
	__m256i magnitude = _mm256_and_si256(half, _mm256_set1_epi16(0x7fff));
	__m256i nan = _mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(0x7c00));
	__m256i quiet = _mm256_or_si256(_mm256_and_si256(half, _mm256_set1_epi16((short)nan_sign)),
					_mm256_set1_epi16(0x7e00));

	f16_f32(v, _mm256_blendv_epi8(half, quiet, nan));
}

static ALWAYS_INLINE void f8e5m2_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	f8e5m2_words(v, s, 0x8000);
}

static ALWAYS_INLINE void f8e5m2_bf16_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	f8e5m2_words(v, s, 0);
}

static ALWAYS_INLINE void f8e5m2_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 16, 8, 2, f8e5m2_f32_step }, NULL);
}

static ALWAYS_INLINE void f8e5m2_bf16_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 16, 8, 2, f8e5m2_bf16_f32_step }, NULL);
}

/*
 * f8e4m3 has an f16's exponent less a bit: put there it is 2^8 too small, subnormals
 * included. Both steps are exact, so the caller's MXCSR does not matter.
 */
static ALWAYS_INLINE void f8e4m3_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m256 scale = _mm256_set1_ps(256);
	__m256i code = load16_words(s);
	__m256i magnitude = _mm256_and_si256(code, _mm256_set1_epi16(0x7f));
	__m256i nan = _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x7f));
	__m256i sign = _mm256_and_si256(_mm256_slli_epi16(code, 8),
					_mm256_set1_epi16((short)0x8000));
	__m256i half = _mm256_or_si256(_mm256_slli_epi16(magnitude, 7), sign);

	(void)ctx;
	f16_f32(v, _mm256_blendv_epi8(half, _mm256_set1_epi16(0x7e00), nan));
	UNROLL
	for (int i = 0; i < 2; i++)
		v[i] = _mm256_castps_si256(_mm256_mul_ps(_mm256_castsi256_ps(v[i]), scale));
}

static ALWAYS_INLINE void f8e4m3_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 16, 8, 2, f8e4m3_f32_step }, NULL);
}

/* Entry @index < 8 of a table of words. */
static ALWAYS_INLINE __m256i lookup8_words(__m256i table, __m256i index)
{
	__m256i bytes = _mm256_add_epi16(_mm256_mullo_epi16(index, _mm256_set1_epi16(0x0202)),
					 _mm256_set1_epi16(0x0100));

	return _mm256_shuffle_epi8(table, bytes);
}

/* A normal code needs a shift and the difference of the biases; the subnormals are in a table. */
static ALWAYS_INLINE __m256i f8e4m3_bf16_words(const uint8_t *s, __m256i table)
{
	__m256i code = load16_words(s);
	__m256i magnitude = _mm256_and_si256(code, _mm256_set1_epi16(0x7f));
	__m256i small = _mm256_cmpgt_epi16(_mm256_set1_epi16(8), magnitude);
	__m256i nan = _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x7f));
	__m256i sign = _mm256_and_si256(_mm256_slli_epi16(code, 8),
					_mm256_set1_epi16((short)0x8000));
	__m256i y = _mm256_add_epi16(_mm256_slli_epi16(magnitude, 4), _mm256_set1_epi16(0x3c00));

	y = _mm256_blendv_epi8(y, lookup8_words(table, magnitude), small);
	y = _mm256_or_si256(y, sign);
	return _mm256_blendv_epi8(y, _mm256_set1_epi16(0x7fc0), nan);
}

/* Here the table also holds infinity and the NaNs, behind the four subnormals. */
static ALWAYS_INLINE __m256i f8e5m2_bf16_words(const uint8_t *s, __m256i table)
{
	__m256i code = load16_words(s);
	__m256i magnitude = _mm256_and_si256(code, _mm256_set1_epi16(0x7f));
	__m256i special = _mm256_or_si256(
			_mm256_cmpgt_epi16(_mm256_set1_epi16(4), magnitude),
			_mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(0x7b)));
	__m256i index = _mm256_or_si256(
			_mm256_and_si256(code, _mm256_set1_epi16(3)),
			_mm256_and_si256(_mm256_srli_epi16(code, 4), _mm256_set1_epi16(4)));
	__m256i sign = _mm256_and_si256(_mm256_slli_epi16(code, 8),
					_mm256_set1_epi16((short)0x8000));
	__m256i y = _mm256_add_epi16(_mm256_slli_epi16(magnitude, 5), _mm256_set1_epi16(0x3800));

	y = _mm256_blendv_epi8(y, lookup8_words(table, index), special);
	return _mm256_or_si256(y, sign);
}

static ALWAYS_INLINE void f8e4m3_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	v[0] = f8e4m3_bf16_words(s, *(const __m256i *)ctx);
	v[1] = f8e4m3_bf16_words(s + 16, *(const __m256i *)ctx);
}

static ALWAYS_INLINE void f8e5m2_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	v[0] = f8e5m2_bf16_words(s, *(const __m256i *)ctx);
	v[1] = f8e5m2_bf16_words(s + 16, *(const __m256i *)ctx);
}

static ALWAYS_INLINE void f8e4m3_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	__m256i table = bytes16(f8e4m3_bf16_small);

	loop(dst, src, n, nt, (struct shape){ 32, 8, 2, f8e4m3_bf16_step }, &table);
}

static ALWAYS_INLINE void f8e5m2_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	__m256i table = bytes16(f8e5m2_bf16_special);

	loop(dst, src, n, nt, (struct shape){ 32, 8, 2, f8e5m2_bf16_step }, &table);
}

/* ---- bf16 and f32 ---- */

/* The loaded quarters are so ordered that the lanes' halves unpack to ascending elements. */
static ALWAYS_INLINE void bf16_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	__m256i x = _mm256_permute4x64_epi64(vec_load(s), 0xd8);
	__m256i magnitude = _mm256_and_si256(x, _mm256_set1_epi16(0x7fff));
	__m256i nan = _mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(0x7f80));
	__m256i small = _mm256_cmpgt_epi16(_mm256_set1_epi16(0x80), magnitude);

	(void)ctx;
	x = _mm256_sub_epi16(x, _mm256_and_si256(magnitude, small));
	x = _mm256_blendv_epi8(x, _mm256_set1_epi16(0x7fc0), nan);
	v[0] = _mm256_unpacklo_epi16(_mm256_setzero_si256(), x);
	v[1] = _mm256_unpackhi_epi16(_mm256_setzero_si256(), x);
}

static ALWAYS_INLINE void bf16_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 16, 16, 2, bf16_f32_step }, NULL);
}

/* The rounded value in the lower half of each double word. */
static ALWAYS_INLINE __m256i round_to_bf16(__m256i x)
{
	__m256i magnitude = _mm256_and_si256(x, _mm256_set1_epi32(0x7fffffff));
	__m256i nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000));
	__m256i small = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x00800000), magnitude);
	__m256i odd = _mm256_and_si256(_mm256_srli_epi32(x, 16), _mm256_set1_epi32(1));
	__m256i y = _mm256_add_epi32(_mm256_add_epi32(x, _mm256_set1_epi32(0x7fff)), odd);

	y = _mm256_blendv_epi8(y, _mm256_set1_epi32(0x7fc00000), nan);
	y = _mm256_blendv_epi8(y, _mm256_sub_epi32(x, magnitude), small);
	return _mm256_srli_epi32(y, 16);
}

static ALWAYS_INLINE void f32_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 2; i++) {
		__m256i lo = round_to_bf16(vec_load(s + 64 * i));
		__m256i hi = round_to_bf16(vec_load(s + 64 * i + 32));

		v[i] = _mm256_permute4x64_epi64(_mm256_packus_epi32(lo, hi), 0xd8);
	}
}

static ALWAYS_INLINE void f32_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 32, 32, 2, f32_bf16_step }, NULL);
}

/* ---- lookups ---- */

static ALWAYS_INLINE void lut_4_1_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m256i t = bytes16(table);

	loop(dst, src, n, nt, NIBBLE_BYTE, &t);
}

/* Low bytes and high bytes of the entries. */
static ALWAYS_INLINE void lut_4_2_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m256i *t = ctx;
	__m256i code = load_nibbles(s);
	__m256i lo = _mm256_shuffle_epi8(t[0], code);
	__m256i hi = _mm256_shuffle_epi8(t[1], code);
	__m256i even = _mm256_unpacklo_epi8(lo, hi);
	__m256i odd = _mm256_unpackhi_epi8(lo, hi);

	v[0] = _mm256_permute2x128_si256(even, odd, 0x20);
	v[1] = _mm256_permute2x128_si256(even, odd, 0x31);
}

static ALWAYS_INLINE void lut_4_2_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	uint8_t lo[16], hi[16];
	__m256i t[2];

	for (int i = 0; i < 16; i++) {
		lo[i] = ((const uint8_t *)table)[2 * i];
		hi[i] = ((const uint8_t *)table)[2 * i + 1];
	}
	t[0] = bytes16(lo);
	t[1] = bytes16(hi);
	loop(dst, src, n, nt, (struct shape){ 32, 4, 2, lut_4_2_step }, t);
}

/* By bits 0..2, then bit 3. */
static ALWAYS_INLINE void lut_4_4_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m256i *t = ctx;

	UNROLL
	for (int i = 0; i < 4; i++) {
		__m256i code = load_nibble_dwords(s + 4 * i);
		__m256i lo = _mm256_permutevar8x32_epi32(t[0], code);
		__m256i hi = _mm256_permutevar8x32_epi32(t[1], code);

		v[i] = _mm256_castps_si256(_mm256_blendv_ps(
				_mm256_castsi256_ps(lo), _mm256_castsi256_ps(hi),
				_mm256_castsi256_ps(_mm256_slli_epi32(code, 28))));
	}
}

static ALWAYS_INLINE void lut_4_4_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m256i t[2] = { vec_load(table), vec_load((const uint8_t *)table + 32) };

	loop(dst, src, n, nt, (struct shape){ 32, 4, 4, lut_4_4_step }, t);
}

/*
 * 16 rows of 16 bytes: a row's own codes, and no others, lose their upper nibble by the
 * exclusive or; the saturating addition makes the others' indices negative, which gives 0.
 */
static ALWAYS_INLINE void lut_8_1_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const __m256i *t = ctx;

	UNROLL
	for (int i = 0; i < 2; i++) {
		__m256i code = vec_load(s + 32 * i), sum = _mm256_setzero_si256();

		UNROLL
		for (int row = 0; row < 16; row++) {
			__m256i index = _mm256_adds_epu8(
				_mm256_xor_si256(code, _mm256_set1_epi8((char)(row << 4))),
				_mm256_set1_epi8(0x70));

			sum = _mm256_or_si256(sum, _mm256_shuffle_epi8(t[row], index));
		}
		v[i] = sum;
	}
}

static ALWAYS_INLINE void lut_8_1_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	__m256i t[16];

	for (int i = 0; i < 16; i++)
		t[i] = bytes16((const uint8_t *)table + 16 * i);
	loop(dst, src, n, nt, (struct shape){ 64, 8, 2, lut_8_1_step }, t);
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
KERNEL(zps_i4, 1, (int8_t *dst, const void *src, size_t n, int zero_point), dst, src, n,
       zero_point)
KERNEL(zps_i8, 2, (int16_t *dst, const int8_t *src, size_t n, int zero_point), dst, src,
       n, zero_point)

void npu_kern_fill_avx2(struct npu_kern *k, bool nt)
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
	k->lut[NPU_KEY_8][NPU_ENTRY_1] = PICK(lut_8_1);
	k->zps_i4 = PICK(zps_i4);
	k->zps_i8 = PICK(zps_i8);
	npu_kern_fill_avx2_pp(k, nt);
	npu_kern_fill_avx2_dot(k);
}
