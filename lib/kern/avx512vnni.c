// SPDX-License-Identifier: MIT
/*
 * AVX512_VNNI beside VBMI: integer dot products, where its sums wrap as they should. dpbf16 is not
 * used: it adds in another order and flushes subnormals.
 */
#include "vec512.h"

#define VECF __m512
#define DOT_ROWS 8
#define v_zero _mm512_setzero_si512
#define vf_zero _mm512_setzero_ps
#define vf_mul _mm512_mul_ps
#define vf_add _mm512_add_ps
#define vf_fold(v) _mm512_cvtss_f32(*(v))

static ALWAYS_INLINE __m512i mac_s16(__m512i acc, const void *a, const void *w)
{
	return _mm512_dpwssd_epi32(acc, _mm512_loadu_si512(a), _mm512_loadu_si512(w));
}

/*
 * The instruction takes unsigned by signed bytes. With weights as w + 128 and the activations
 * as they are, the sum is 128 times that of the activations too large: it starts that much lower.
 */
static ALWAYS_INLINE __m512i from_bias(const void *a, size_t k)
{
	__m512i ones = _mm512_set1_epi8(1), acc = _mm512_setzero_si512();

	for (size_t j = 0; j < k; j += 64) {
		__mmask64 mask = first64(k - j < 64 ? k - j : 64);

		acc = _mm512_dpbusd_epi32(acc, ones,
					  _mm512_maskz_loadu_epi8(mask, (const int8_t *)a + j));
	}
	return _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(acc, 7));
}

static ALWAYS_INLINE __m512i mac_u8s8(__m512i acc, const void *a, const void *w)
{
	__m512i biased = _mm512_xor_si512(_mm512_loadu_si512(w), _mm512_set1_epi8((char)0x80));

	return _mm512_dpbusd_epi32(acc, biased, _mm512_loadu_si512(a));
}

static ALWAYS_INLINE __m512i part_s16(__m512i acc, const void *a, const void *w, size_t bytes)
{
	__mmask64 mask = first64(bytes);

	return _mm512_dpwssd_epi32(acc, _mm512_maskz_loadu_epi8(mask, a),
				   _mm512_maskz_loadu_epi8(mask, w));
}

static ALWAYS_INLINE __m512i part_u8s8(__m512i acc, const void *a, const void *w, size_t bytes)
{
	__mmask64 mask = first64(bytes);
	__m512i biased = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, w),
					  _mm512_set1_epi8((char)0x80));

	return _mm512_dpbusd_epi32(acc, biased, _mm512_maskz_loadu_epi8(mask, a));
}

static ALWAYS_INLINE int32_t sum32(__m512i x)
{
	return _mm512_reduce_add_epi32(x);
}

#include "dot.h"

DOT_INT(s16, int16_t, 32, from_zero, mac_s16, part_s16)
DOT_INT(s8, int8_t, 64, from_bias, mac_u8s8, part_u8s8)

void npu_kern_fill_avx512vnni(struct npu_kern *k)
{
	k->dot_s8 = dot_s8;
	k->dot_s16 = dot_s16;
}
