// SPDX-License-Identifier: MIT
/* Dot products with SSE4.1. */
#include "vec128.h"

#define VECF __m128
#define DOT_ROWS 2
#define v_zero _mm_setzero_si128
#define vf_zero _mm_setzero_ps
#define vf_mul _mm_mul_ps
#define vf_add _mm_add_ps

static ALWAYS_INLINE __m128i mac_s16(__m128i acc, const void *a, const void *w)
{
	return _mm_add_epi32(acc, _mm_madd_epi16(vec_load(a), vec_load(w)));
}

static ALWAYS_INLINE __m128i mac_s8(__m128i acc, const void *a, const void *w)
{
	return _mm_add_epi32(acc, _mm_madd_epi16(_mm_cvtepi8_epi16(load8(a)),
						 _mm_cvtepi8_epi16(load8(w))));
}

static ALWAYS_INLINE int32_t sum32(__m128i x)
{
	x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4e));
	return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 0xb1)));
}

static ALWAYS_INLINE void store_sums(void *out, const __m128i *v)
{
	__m128i x = _mm_hadd_epi32(v[0], v[1]);

	_mm_storel_epi64(out, _mm_hadd_epi32(x, x));
}

static ALWAYS_INLINE __m128 vf_load(const void *p)
{
	return _mm_loadu_ps(p);
}

static ALWAYS_INLINE __m128 vf_load_bf16(const void *p)
{
	__m128i x = _mm_unpacklo_epi16(_mm_setzero_si128(), load8(p));
	__m128i magnitude = _mm_and_si128(x, _mm_set1_epi32(0x7fffffff));
	__m128i small = _mm_cmpgt_epi32(_mm_set1_epi32(0x00800000), magnitude);

	return (__m128)_mm_sub_epi32(x, _mm_and_si128(magnitude, small));
}

static ALWAYS_INLINE float vf_fold(const __m128 *v)
{
	__m128 x = _mm_add_ps(_mm_add_ps(v[0], v[2]), _mm_add_ps(v[1], v[3]));

	x = _mm_add_ps(x, _mm_movehl_ps(x, x));
	return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
}

#include "dot.h"

DOT_INT(s8, int8_t, 8, from_zero, mac_s8, NULL)
DOT_INT(s16, int16_t, 8, from_zero, mac_s16, NULL)
DOT_FLOAT(f32, float, vf_load)
DOT_FLOAT(bf16, uint16_t, vf_load_bf16)

void npu_kern_fill_sse4_dot(struct npu_kern *k)
{
	k->dot_s8 = dot_s8;
	k->dot_s16 = dot_s16;
	k->dot_f32 = dot_f32;
	k->dot_bf16 = dot_bf16;
}
