// SPDX-License-Identifier: MIT
/* PREPROCESS with AVX-512 F, BW, DQ, VL. */
#include "pp512.h"

static ALWAYS_INLINE __m512 scale_of(const struct group *g, int i)
{
	return _mm512_set1_ps(g->scale[i]);
}

static ALWAYS_INLINE __m512i fixed27(__m512 x, __m512 scale)
{
	return _mm512_cvttps_epi32(_mm512_mul_ps(x, scale));
}

/* Half a block in order. */
static ALWAYS_INLINE __m512i fixed27_half(const struct group *g, int i, int half)
{
	const uint16_t *src = g->src + NPU_KERN_BLOCK * i + 16 * half;

	return fixed27(even(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)src))),
		       scale_of(g, i));
}

static ALWAYS_INLINE void fixed27_wide_group(struct group *g, const struct constants *c, bool nt)
{
	(void)c;
	UNROLL
	for (int i = 0; i < GROUP; i++) {
		put(g->dst + 128 * i, fixed27_half(g, i, 0), nt);
		put(g->dst + 128 * i + 64, fixed27_half(g, i, 1), nt);
	}
}

/* The low words of a block's fixed27 elements. */
static ALWAYS_INLINE __m512i fixed27_words(const struct group *g, int i,
					   const struct constants *c)
{
	__m512i x = load_block(g->src, i);
	__m512 scale = scale_of(g, i);

	return words(fixed27(even(x), scale), fixed27(odd(x, c), scale), c);
}

static ALWAYS_INLINE void low8_group(struct group *g, const struct constants *c, bool nt)
{
	const __m512i low = keep(_mm512_set1_epi16(0xff));

	UNROLL
	for (int i = 0; i < GROUP; i += 2) {
		__m512i a = _mm512_and_si512(fixed27_words(g, i, c), low);
		__m512i b = _mm512_and_si512(fixed27_words(g, i + 1, c), low);

		put(g->dst + 32 * i,
		    _mm512_permutexvar_epi64(c->order, _mm512_packus_epi16(a, b)), nt);
	}
}

/* Words of two blocks to bytes; 128 becomes 127, and -128 with @clamp -127. */
static ALWAYS_INLINE void put_pair(struct group *g, int i, __m512i a, __m512i b, bool clamp,
				   const struct constants *c, bool nt)
{
	__m512i bytes = _mm512_packs_epi16(a, b);

	if (clamp)
		bytes = _mm512_max_epi8(bytes, c->lowest);
	put(g->dst + 32 * i, _mm512_permutexvar_epi64(c->order, bytes), nt);
}

/* Scaled and rounded by one instruction: products with the scale are rounded only there. */
static ALWAYS_INLINE __m512i rounded_words(const struct group *g, int i,
					   const struct constants *c)
{
	__m512i x = load_block(g->src, i);
	__m512 scale = scale_of(g, i);
	__m512 e = _mm512_fmadd_ps(even(x), scale, c->magic);
	__m512 o = _mm512_fmadd_ps(odd(x, c), scale, c->magic);

	return words(_mm512_castps_si512(e), _mm512_castps_si512(o), c);
}

static ALWAYS_INLINE void int8_emax_rne_group(struct group *g, const struct constants *c, bool nt)
{
	UNROLL
	for (int i = 0; i < GROUP; i += 2)
		put_pair(g, i, rounded_words(g, i, c), rounded_words(g, i + 1, c), true, c, nt);
}

static ALWAYS_INLINE void int8_symmetric_group(struct group *g, const struct constants *c,
					       bool nt)
{
	UNROLL
	for (int i = 0; i < GROUP; i += 2)
		put_pair(g, i, rounded_words(g, i, c), rounded_words(g, i + 1, c), false, c, nt);
}

static ALWAYS_INLINE void int8_emax_trunc_group(struct group *g, const struct constants *c,
						bool nt)
{
	UNROLL
	for (int i = 0; i < GROUP; i += 2)
		put_pair(g, i, fixed27_words(g, i, c), fixed27_words(g, i + 1, c), false, c,
			 nt);
}

/*
 * x / scale rounded to f32, by a correctly rounded reciprocal and one exact remainder; all
 * significands are checked by tests/kern/exhaustive.c. Then to an integer.
 */
static ALWAYS_INLINE __m512i quotient(__m512 x, __m512 scale, __m512 r, __m512 magic)
{
	__m512 t = _mm512_mul_ps(x, r);

	t = _mm512_fmadd_ps(_mm512_fnmadd_ps(t, scale, x), r, t);
	t = _mm512_min_ps(_mm512_max_ps(t, _mm512_set1_ps(-127)), _mm512_set1_ps(127));
	return _mm512_castps_si512(_mm512_add_ps(t, magic));
}

static ALWAYS_INLINE __m512i quotient_words(const struct group *g, int i, __m512 scale, __m512 r,
					    const struct constants *c)
{
	__m512i x = load_block(g->src, i);

	return words(quotient(even(x), scale, r, c->magic),
		     quotient(odd(x, c), scale, r, c->magic), c);
}

static ALWAYS_INLINE void int8_const_group(struct group *g, const struct constants *c, bool nt)
{
	const __m512 scale = scale_of(g, 0);
	const __m512 r = _mm512_div_ps(_mm512_set1_ps(1), scale);

	for (int i = 0; i < GROUP; i += 2)
		put_pair(g, i, quotient_words(g, i, scale, r, c),
			 quotient_words(g, i + 1, scale, r, c), false, c, nt);
}

/* 16 elements in four pairs of 54 bits a half, shifted together; each half is 27 bytes. */
static ALWAYS_INLINE __m512i pack27(__m512i x)
{
	const __m512i low = _mm512_set1_epi64(0x7ffffff);
	const __m512i high = _mm512_set1_epi64(0x7ffffffll << 27);
	/* (x & low) | (x >> 5 & high) */
	__m512i pair = _mm512_or_si512(_mm512_and_si512(x, low),
				       _mm512_and_si512(_mm512_srli_epi64(x, 5), high));
	__m512i next = _mm512_permutex_epi64(pair, 0xf9);

	return _mm512_or_si512(_mm512_srlv_epi64(pair, _mm512_setr_epi64(0, 10, 20, 30,
									 0, 10, 20, 30)),
			       _mm512_sllv_epi64(next, _mm512_setr_epi64(54, 44, 34, 64,
									 54, 44, 34, 64)));
}

static ALWAYS_INLINE void fixed27_packed_group(struct group *g, const struct constants *c,
					       bool nt)
{
	/* each store covers 5 bytes too many, which the next one overwrites */
	uint8_t buf[GROUP * NPU_KERN_BLOCK_PACKED + 8] __attribute__((aligned(64)));
	uint8_t *out = buf;

	(void)c;
	for (int i = 0; i < GROUP; i++) {
		UNROLL
		for (int half = 0; half < 2; half++) {
			__m512i x = pack27(fixed27_half(g, i, half));

			_mm256_storeu_si256((void *)out, _mm512_castsi512_si256(x));
			_mm256_storeu_si256((void *)(out + 27), _mm512_extracti64x4_epi64(x, 1));
			out += 54;
		}
	}
	UNROLL
	for (int i = 0; i < GROUP * NPU_KERN_BLOCK_PACKED; i += VEC_BYTES)
		put(g->dst + i, _mm512_load_si512(buf + i), nt);
}

PP(fixed27_wide, NPU_PP_FIXED27_WIDE)
PP(fixed27_packed, NPU_PP_FIXED27_PACKED)
PP(low8, NPU_PP_LOW8)
PP(int8_emax_rne, NPU_PP_INT8_EMAX_RNE)
PP(int8_emax_trunc, NPU_PP_INT8_EMAX_TRUNC)
PP(int8_symmetric, NPU_PP_INT8_SYMMETRIC)
PP(int8_const, NPU_PP_INT8_CONST)

/* For scales whose reciprocal is no normal number: AVX2's, which divides. */
static npu_pp_fn *int8_const_divided;

static bool has_reciprocal(uint32_t scale)
{
	unsigned int exponent = scale >> 23;

	return exponent >= 127 - 100 && exponent <= 127 + 100;
}

static void pp_int8_const_checked(struct npu_pp_run *run, const uint16_t *src, size_t blocks)
{
	(has_reciprocal(run->scale) ? pp_int8_const : int8_const_divided)(run, src, blocks);
}

static void pp_int8_const_checked_nt(struct npu_pp_run *run, const uint16_t *src, size_t blocks)
{
	(has_reciprocal(run->scale) ? pp_int8_const_nt : int8_const_divided)(run, src, blocks);
}

void npu_kern_fill_avx512_pp(struct npu_kern *k, bool nt)
{
	if (!nt)
		int8_const_divided = k->pp[NPU_PP_INT8_CONST];
	k->pp[NPU_PP_FIXED27_WIDE] = PICK_PP(fixed27_wide);
	k->pp[NPU_PP_FIXED27_PACKED] = PICK_PP(fixed27_packed);
	k->pp[NPU_PP_LOW8] = PICK_PP(low8);
	k->pp[NPU_PP_INT8_EMAX_RNE] = PICK_PP(int8_emax_rne);
	k->pp[NPU_PP_INT8_EMAX_TRUNC] = PICK_PP(int8_emax_trunc);
	k->pp[NPU_PP_INT8_SYMMETRIC] = PICK_PP(int8_symmetric);
	k->pp[NPU_PP_INT8_CONST] = nt ? pp_int8_const_checked_nt : pp_int8_const_checked;
}
