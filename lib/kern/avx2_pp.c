// SPDX-License-Identifier: MIT
/* PREPROCESS with AVX2 and FMA: eight blocks at a time. */
#include "vec256.h"

#define VECF __m256
#define v_and _mm256_and_si256
#define v_or _mm256_or_si256
#define v_set8 _mm256_set1_epi8
#define v_set32 _mm256_set1_epi32
#define v_set64 _mm256_set1_epi64x
#define v_sll32 _mm256_slli_epi32
#define v_srl16 _mm256_srli_epi16
#define v_srl32 _mm256_srli_epi32
#define v_srl64 _mm256_srli_epi64
#define v_sub32 _mm256_sub_epi32
#define v_max32 _mm256_max_epi32
#define v_max8 _mm256_max_epi8
#define v_round _mm256_cvtps_epi32
#define v_trunc _mm256_cvttps_epi32
#define vf_set _mm256_set1_ps
#define vf_mul _mm256_mul_ps
#define vf_div _mm256_div_ps

static ALWAYS_INLINE __m256i v_words(__m256i e, __m256i o)
{
	return _mm256_blend_epi16(e, _mm256_slli_epi32(o, 16), 0xaa);
}

static ALWAYS_INLINE __m256i v_pack(__m256i a, __m256i b)
{
	return _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8);
}

static ALWAYS_INLINE __m256i v_low8(__m256i a, __m256i b)
{
	const __m256i low = _mm256_set1_epi16(0xff);

	return _mm256_permute4x64_epi64(_mm256_packus_epi16(_mm256_and_si256(a, low),
							    _mm256_and_si256(b, low)), 0xd8);
}

static ALWAYS_INLINE __m256i v_load_high(const uint16_t *src)
{
	return _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)src)), 16);
}

/* Elements 0..3 and 4..7 of each lane come out of the unpacking in their lanes. */
static ALWAYS_INLINE void v_pairs(__m256i *out, __m256i e, __m256i o)
{
	__m256i lo = _mm256_unpacklo_epi32(e, o);
	__m256i hi = _mm256_unpackhi_epi32(e, o);

	out[0] = _mm256_permute2x128_si256(lo, hi, 0x20);
	out[1] = _mm256_permute2x128_si256(lo, hi, 0x31);
}

/* 1 / s moved by one unit, as reciprocal() of pp512.h says; 0 for a block of zeros. */
static ALWAYS_INLINE __m256 v_reciprocal(__m256 largest, __m256 s)
{
	__m256i r = _mm256_castps_si256(_mm256_div_ps(_mm256_set1_ps(1), s));
	__m256 rest = _mm256_fnmadd_ps(_mm256_set1_ps(127), s, largest);
	__m256 limit = _mm256_mul_ps(s, _mm256_set1_ps(-0x1p-18f));
	__m256i below = _mm256_castps_si256(_mm256_cmp_ps(rest, limit, _CMP_LT_OQ));
	__m256i inexact = _mm256_castps_si256(_mm256_cmp_ps(rest, _mm256_setzero_ps(),
							    _CMP_NEQ_OQ));
	/* -1 or 1, or 0 where exact */
	__m256i step = _mm256_and_si256(_mm256_or_si256(below, _mm256_set1_epi32(1)), inexact);
	__m256 valid = _mm256_cmp_ps(largest, _mm256_setzero_ps(), _CMP_NEQ_UQ);

	return _mm256_and_ps(_mm256_castsi256_ps(_mm256_add_epi32(r, step)), valid);
}

/* Of INT8_SYMMETRIC: the product is rounded once, to an integer in the low bits. */
static ALWAYS_INLINE __m256i v_symmetric(__m256 x, __m256 s, __m256 r)
{
	(void)s;
	return _mm256_castps_si256(_mm256_fmadd_ps(x, r, _mm256_set1_ps(0x1.8p23f)));
}

/* Of INT8_CONST: a true division, for any scale. */
static ALWAYS_INLINE __m256i v_const(__m256 x, __m256 s)
{
	__m256 t = _mm256_div_ps(x, s);

	t = _mm256_min_ps(_mm256_max_ps(t, _mm256_set1_ps(-127)), _mm256_set1_ps(127));
	return _mm256_cvtps_epi32(t);
}

static ALWAYS_INLINE __m256i magnitude(const uint16_t *src)
{
	return _mm256_and_si256(vec_load(src), _mm256_set1_epi16(0x7fff));
}

static ALWAYS_INLINE __m256i max_of_block(const uint16_t *src)
{
	return _mm256_max_epu16(magnitude(src), magnitude(src + 16));
}

/* Halves of blocks i and i + 4. */
static ALWAYS_INLINE __m256i max_of_two(const uint16_t *src, int i)
{
	__m256i a = max_of_block(src + NPU_KERN_BLOCK * i);
	__m256i b = max_of_block(src + NPU_KERN_BLOCK * (i + 4));

	return _mm256_max_epu16(_mm256_blend_epi32(a, b, 0xf0),
				_mm256_permute2x128_si256(a, b, 0x21));
}

/* The largest magnitude of each of 8 blocks: pairs are so chosen that they end in order. */
static ALWAYS_INLINE __m256i v_max_of_blocks(const uint16_t *src)
{
	__m256i x[4], y[2];

	UNROLL
	for (int i = 0; i < 4; i++)
		x[i] = max_of_two(src, i);
	UNROLL
	for (int i = 0; i < 2; i++)
		y[i] = _mm256_max_epu16(_mm256_unpacklo_epi64(x[i], x[i + 2]),
					_mm256_unpackhi_epi64(x[i], x[i + 2]));
	x[0] = _mm256_blend_epi32(y[0], _mm256_slli_epi64(y[1], 32), 0xaa);
	x[1] = _mm256_blend_epi32(_mm256_srli_epi64(y[0], 32), y[1], 0xaa);
	x[0] = _mm256_max_epu16(x[0], x[1]);
	return _mm256_srli_epi32(_mm256_max_epu16(x[0], _mm256_slli_epi32(x[0], 16)), 16);
}

#include "pp.h"

void npu_kern_fill_avx2_pp(struct npu_kern *k, bool nt)
{
	fill_pp(k, nt);
}
