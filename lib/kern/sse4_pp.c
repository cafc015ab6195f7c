// SPDX-License-Identifier: MIT
/* PREPROCESS with SSE4.1: four blocks at a time, true divisions. */
#include "vec128.h"

#define VECF __m128
#define v_and _mm_and_si128
#define v_or _mm_or_si128
#define v_set8 _mm_set1_epi8
#define v_set32 _mm_set1_epi32
#define v_set64 _mm_set1_epi64x
#define v_sll32 _mm_slli_epi32
#define v_srl16 _mm_srli_epi16
#define v_srl32 _mm_srli_epi32
#define v_srl64 _mm_srli_epi64
#define v_sub32 _mm_sub_epi32
#define v_max32 _mm_max_epi32
#define v_max8 _mm_max_epi8
#define v_pack _mm_packs_epi16
#define v_round _mm_cvtps_epi32
#define v_trunc _mm_cvttps_epi32
#define vf_set _mm_set1_ps
#define vf_mul _mm_mul_ps
#define vf_div _mm_div_ps
/* the quotient is one: no reciprocal is needed */
#define v_reciprocal(largest, s) (s)

static ALWAYS_INLINE __m128i v_words(__m128i e, __m128i o)
{
	return _mm_blend_epi16(e, _mm_slli_epi32(o, 16), 0xaa);
}

static ALWAYS_INLINE __m128i v_low8(__m128i a, __m128i b)
{
	const __m128i low = _mm_set1_epi16(0xff);

	return _mm_packus_epi16(_mm_and_si128(a, low), _mm_and_si128(b, low));
}

static ALWAYS_INLINE __m128i v_const(__m128 x, __m128 s)
{
	__m128 t = _mm_div_ps(x, s);

	t = _mm_min_ps(_mm_max_ps(t, _mm_set1_ps(-127)), _mm_set1_ps(127));
	return _mm_cvtps_epi32(t);
}

/* A block of zeros has s = 0: its quotients are no numbers. */
static ALWAYS_INLINE __m128i v_symmetric(__m128 x, __m128 s, __m128 r)
{
	__m128 t = _mm_div_ps(x, s);

	(void)r;
	return _mm_cvtps_epi32(_mm_and_ps(t, _mm_cmpord_ps(t, t)));
}

static ALWAYS_INLINE __m128i v_load_high(const uint16_t *src)
{
	return _mm_unpacklo_epi16(_mm_setzero_si128(), _mm_loadl_epi64((const void *)src));
}

static ALWAYS_INLINE void v_pairs(__m128i *out, __m128i e, __m128i o)
{
	out[0] = _mm_unpacklo_epi32(e, o);
	out[1] = _mm_unpackhi_epi32(e, o);
}

static ALWAYS_INLINE __m128i max_of_block(const uint16_t *src)
{
	__m128i max = _mm_setzero_si128();

	UNROLL
	for (int i = 0; i < 4; i++)
		max = _mm_max_epu16(max, _mm_and_si128(vec_load(src + 8 * i),
						       _mm_set1_epi16(0x7fff)));
	return max;
}

static ALWAYS_INLINE __m128i max_of_pair(__m128i a, __m128i b)
{
	return _mm_max_epu16(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
}

/* [a b a b] of blocks 0, 2 and of 1, 3; then in order, both words of each double word. */
static ALWAYS_INLINE __m128i v_max_of_blocks(const uint16_t *src)
{
	__m128i a = max_of_pair(max_of_block(src), max_of_block(src + 64));
	__m128i b = max_of_pair(max_of_block(src + 32), max_of_block(src + 96));
	__m128i x = max_of_pair(a, b);

	return _mm_srli_epi32(_mm_max_epu16(x, _mm_slli_epi32(x, 16)), 16);
}

#include "pp.h"

void npu_kern_fill_sse4_pp(struct npu_kern *k, bool nt)
{
	fill_pp(k, nt);
}
