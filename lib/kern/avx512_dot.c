// SPDX-License-Identifier: MIT
/* Dot products with AVX-512 F, BW, DQ, VL. */
#include "vec512.h"

#define VECF __m512
#define DOT_ROWS 8
#define v_zero _mm512_setzero_si512
#define vf_zero _mm512_setzero_ps
#define vf_mul _mm512_mul_ps
#define vf_add _mm512_add_ps

static ALWAYS_INLINE __m512i mac_s16(__m512i acc, const void *a, const void *w)
{
	return _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_loadu_si512(a),
						       _mm512_loadu_si512(w)));
}

static ALWAYS_INLINE __m512i mac_s8(__m512i acc, const void *a, const void *w)
{
	return _mm512_add_epi32(acc, _mm512_madd_epi16(
			_mm512_cvtepi8_epi16(_mm256_loadu_si256(a)),
			_mm512_cvtepi8_epi16(_mm256_loadu_si256(w))));
}

static ALWAYS_INLINE __m512i part_s16(__m512i acc, const void *a, const void *w, size_t bytes)
{
	__mmask64 mask = first64(bytes);

	return _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_maskz_loadu_epi8(mask, a),
						       _mm512_maskz_loadu_epi8(mask, w)));
}

static ALWAYS_INLINE __m512i part_s8(__m512i acc, const void *a, const void *w, size_t bytes)
{
	__mmask32 mask = (__mmask32)first64(bytes);

	return _mm512_add_epi32(acc, _mm512_madd_epi16(
			_mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, a)),
			_mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, w))));
}

static ALWAYS_INLINE int32_t sum32(__m512i x)
{
	return _mm512_reduce_add_epi32(x);
}

static ALWAYS_INLINE __m512 vf_load(const void *p)
{
	return _mm512_loadu_ps(p);
}

static ALWAYS_INLINE __m512 vf_load_bf16(const void *p)
{
	__m512i x = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)), 16);
	__mmask16 small = _mm512_testn_epi32_mask(x, _mm512_set1_epi32(0x7f800000));

	return (__m512)_mm512_mask_and_epi32(x, small, x, _mm512_set1_epi32((int)0x80000000));
}

static ALWAYS_INLINE float vf_fold(const __m512 *v)
{
	__m256 y = _mm256_add_ps(_mm512_castps512_ps256(*v), _mm512_extractf32x8_ps(*v, 1));
	__m128 x = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));

	x = _mm_add_ps(x, _mm_movehl_ps(x, x));
	return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
}

#include "dot.h"

DOT_INT(s8, int8_t, 32, from_zero, mac_s8, part_s8)
DOT_INT(s16, int16_t, 32, from_zero, mac_s16, part_s16)
DOT_FLOAT(f32, float, vf_load)
DOT_FLOAT(bf16, uint16_t, vf_load_bf16)

void npu_kern_fill_avx512_dot(struct npu_kern *k)
{
	k->dot_s8 = dot_s8;
	k->dot_s16 = dot_s16;
	k->dot_f32 = dot_f32;
	k->dot_bf16 = dot_bf16;
}
