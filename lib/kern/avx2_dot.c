// SPDX-License-Identifier: MIT
/* Dot products with AVX2. */
#include "vec256.h"

#define VECF __m256
#define DOT_ROWS 4
#define v_zero _mm256_setzero_si256
#define vf_zero _mm256_setzero_ps
#define vf_mul _mm256_mul_ps
#define vf_add _mm256_add_ps

static ALWAYS_INLINE __m256i mac_s16(__m256i acc, const void *a, const void *w)
{
	return _mm256_add_epi32(acc, _mm256_madd_epi16(vec_load(a), vec_load(w)));
}

static ALWAYS_INLINE __m256i mac_s8(__m256i acc, const void *a, const void *w)
{
	return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_cvtepi8_epi16(load16(a)),
						       _mm256_cvtepi8_epi16(load16(w))));
}

static ALWAYS_INLINE int32_t sum32(__m256i v)
{
	__m128i x = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

	x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4e));
	return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 0xb1)));
}

static ALWAYS_INLINE void store_sums(void *out, const __m256i *v)
{
	__m256i x = _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));

	_mm_storeu_si128(out, _mm_add_epi32(_mm256_castsi256_si128(x),
					    _mm256_extracti128_si256(x, 1)));
}

static ALWAYS_INLINE __m256 vf_load(const void *p)
{
	return _mm256_loadu_ps(p);
}

static ALWAYS_INLINE __m256 vf_load_bf16(const void *p)
{
	__m256i x = _mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(p)), 16);
	__m256i magnitude = _mm256_and_si256(x, _mm256_set1_epi32(0x7fffffff));
	__m256i small = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x00800000), magnitude);

	return (__m256)_mm256_sub_epi32(x, _mm256_and_si256(magnitude, small));
}

static ALWAYS_INLINE float vf_fold(const __m256 *v)
{
	__m256 y = _mm256_add_ps(v[0], v[1]);
	__m128 x = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));

	x = _mm_add_ps(x, _mm_movehl_ps(x, x));
	return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
}

#include "dot.h"

DOT_INT(s8, int8_t, 16, from_zero, mac_s8, NULL)
DOT_INT(s16, int16_t, 16, from_zero, mac_s16, NULL)
DOT_FLOAT(f32, float, vf_load)
DOT_FLOAT(bf16, uint16_t, vf_load_bf16)

void npu_kern_fill_avx2_dot(struct npu_kern *k)
{
	k->dot_s8 = dot_s8;
	k->dot_s16 = dot_s16;
	k->dot_f32 = dot_f32;
	k->dot_bf16 = dot_bf16;
}
