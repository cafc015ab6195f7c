/* SPDX-License-Identifier: MIT */
/*
 * PREPROCESS with 512-bit vectors, 16 blocks at a time: their maxima are found by a transposition
 * rather than block by block, and scales are computed for all 16 at once.
 *
 * Between a block's largest and smallest exponent that matters everything is exact in f32: an
 * element times a power of two, truncated or rounded. Blocks outside of that range (Inf, NaN,
 * exponents so small that subnormals matter) are left to the scalar code afterwards; blocks of
 * zeros are not among them.
 */
#ifndef NPU_KERN_PP512_H
#define NPU_KERN_PP512_H

#include <string.h>

#include "vec512.h"

#define GROUP 16
/* Elements ahead: two groups. */
#define PREFETCH (4 * GROUP * NPU_KERN_BLOCK)

struct group {
	struct npu_pp_run *run;
	const uint16_t *src;
	uint8_t *dst;
	size_t block;			/* of the run */
	__m512i largest;		/* max |x| as bf16, a double word per block */
	__mmask16 slow;			/* blocks left to the scalar code */
	__mmask16 clamped;		/* blocks that may have saturated lanes */
	float scale[GROUP] __attribute__((aligned(64)));
};

/*
 * Keeps a constant in its register: compilers make it anew at each use, on the port that the
 * permutations need.
 */
static ALWAYS_INLINE __m512i keep(__m512i x)
{
	__asm__("" : "+v"(x));
	return x;
}

static ALWAYS_INLINE __mmask16 keep_mask(__mmask16 k)
{
	__asm__("" : "+k"(k));
	return k;
}

struct constants {
	__mmask16 odd_dwords;
	__mmask16 odd_qwords;	/* 8 bits of it */
	__mmask16 odd_quarters;
	__m512i low15;		/* words: all but the sign */
	__m512i high16;		/* double words: the upper half */
	__m512i odd_even;	/* for max_quarters */
	__m512i to_high;	/* bytes: low words to high words */
	__m512i order;		/* quarters as in_order() takes them */
	__m512i lowest;		/* bytes: -127 */
	__m512 magic;		/* 1.5 * 2^23: rounds what is added to it to an integer */
};

static ALWAYS_INLINE struct constants make_constants(void)
{
	return (struct constants){
		.odd_dwords = keep_mask(0xaaaa),
		.odd_qwords = keep_mask(0xaa),
		.odd_quarters = keep_mask(0xcc),
		.low15 = keep(_mm512_set1_epi16(0x7fff)),
		.high16 = keep(_mm512_set1_epi32((int)0xffff0000)),
		.odd_even = keep(_mm512_setr_epi64(2, 3, 8, 9, 6, 7, 12, 13)),
		.to_high = keep(_mm512_set4_epi32(0x0d0c0d0c, 0x09080908, 0x05040504,
						  0x01000100)),
		.order = keep(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7)),
		.lowest = keep(_mm512_set1_epi8(-127)),
		.magic = _mm512_castsi512_ps(keep(_mm512_set1_epi32(0x4b400000))),
	};
}

static ALWAYS_INLINE __m512i load_block(const uint16_t *src, int i)
{
	return _mm512_loadu_si512(src + NPU_KERN_BLOCK * i);
}

/* [a lower half | b lower half] against the other halves. */
static ALWAYS_INLINE __m512i max_halves(__m512i a, __m512i b)
{
	return _mm512_max_epu16(_mm512_mask_blend_epi64(0xf0, a, b),
				_mm512_shuffle_i64x2(a, b, 0x4e));
}

static ALWAYS_INLINE __m512i max_quarters(__m512i a, __m512i b, const struct constants *c)
{
	return _mm512_max_epu16(_mm512_mask_blend_epi64((__mmask8)c->odd_quarters, a, b),
				_mm512_permutex2var_epi64(a, c->odd_even, b));
}

static ALWAYS_INLINE __m512i max_qwords(__m512i a, __m512i b, const struct constants *c)
{
	__m512d swapped = _mm512_shuffle_pd(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b), 0x55);

	return _mm512_max_epu16(_mm512_mask_blend_epi64((__mmask8)c->odd_qwords, a, b),
				_mm512_castpd_si512(swapped));
}

static ALWAYS_INLINE __m512i max_dwords(__m512i a, __m512i b, const struct constants *c)
{
	__m512i swapped = _mm512_ror_epi64(_mm512_mask_blend_epi32(c->odd_dwords, b, a), 32);

	return _mm512_max_epu16(_mm512_mask_blend_epi32(c->odd_dwords, a, b), swapped);
}

/* The maxima of blocks i, i + 4, i + 8, i + 12, a quarter of the vector each. */
static ALWAYS_INLINE __m512i max_of_4(const uint16_t *src, int i, const struct constants *c)
{
	__m512i x[4];

	UNROLL
	for (int j = 0; j < 4; j++) {
		x[j] = _mm512_and_si512(load_block(src, i + 4 * j), c->low15);
		_mm_prefetch((const char *)(src + NPU_KERN_BLOCK * (i + 4 * j) + PREFETCH),
			     _MM_HINT_T0);
	}
	return max_quarters(max_halves(x[0], x[2]), max_halves(x[1], x[3]), c);
}

/* The largest magnitude of each of 16 blocks: pairs are so chosen that they end in order. */
static ALWAYS_INLINE __m512i max_of_blocks(const uint16_t *src, const struct constants *c)
{
	__m512i a = max_qwords(max_of_4(src, 0, c), max_of_4(src, 2, c), c);
	__m512i b = max_qwords(max_of_4(src, 1, c), max_of_4(src, 3, c), c);
	__m512i both = max_dwords(a, b, c);

	both = _mm512_max_epu16(both, _mm512_rol_epi32(both, 16));
	return _mm512_srli_epi32(both, 16);
}

/* The even and the odd elements as f32. */
static ALWAYS_INLINE __m512 even(__m512i x)
{
	return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}

static ALWAYS_INLINE __m512 odd(__m512i x, const struct constants *c)
{
	return _mm512_castsi512_ps(_mm512_and_si512(x, c->high16));
}

/* Low words of @e and @o in turn. */
static ALWAYS_INLINE __m512i words(__m512i e, __m512i o, const struct constants *c)
{
	return _mm512_mask_shuffle_epi8(e, 0xcccccccccccccccc, o, c->to_high);
}

/*
 * The exponent from which a block is computed here. Elements below 2^-126 then vanish, so that
 * neither their half weight nor the caller's idea of subnormals matters.
 */
static ALWAYS_INLINE int lowest_exponent(enum npu_kern_pp_mode mode)
{
	if (mode == NPU_PP_INT8_EMAX_RNE || mode == NPU_PP_INT8_EMAX_TRUNC)
		return 10;
	/* INT8_SYMMETRIC: the remainder below is a normal number */
	return mode == NPU_PP_INT8_SYMMETRIC ? 48 : 21;
}

/*
 * 1 / S, moved by one unit in the last place: so that the product, rounded once, to an
 * integer, is the rounded quotient rounded to an integer. They could differ only where
 * x / (max / 127) lies half way between two integers; which way the rounded quotient falls then is
 * the same for all x of a block and shows in the remainder of S. tests/kern/exhaustive.c checks
 * all x and max.
 */
static ALWAYS_INLINE __m512 reciprocal(__m512 largest, __m512 s)
{
	__m512i r = _mm512_castps_si512(_mm512_div_ps(_mm512_set1_ps(1), s));
	__m512 rest = _mm512_fnmadd_ps(_mm512_set1_ps(127), s, largest);
	__m512 limit = _mm512_mul_ps(s, _mm512_set1_ps(-0x1p-18f));
	__mmask16 below = _mm512_cmp_ps_mask(rest, limit, _CMP_LT_OQ);
	__mmask16 inexact = _mm512_cmp_ps_mask(rest, _mm512_setzero_ps(), _CMP_NEQ_OQ);
	__m512i step = _mm512_mask_mov_epi32(_mm512_set1_epi32(1), below, _mm512_set1_epi32(-1));

	return _mm512_castsi512_ps(_mm512_mask_add_epi32(r, inexact, r, step));
}

/* What follows from the maxima: side bands, scales, which blocks are special. */
static ALWAYS_INLINE void group_scales(struct group *g, enum npu_kern_pp_mode mode)
{
	struct npu_pp_run *run = g->run;
	__m512i emax = _mm512_srli_epi32(g->largest, 7);
	__m512 largest = _mm512_castsi512_ps(_mm512_slli_epi32(g->largest, 16));
	__mmask16 zero = _mm512_testn_epi32_mask(g->largest, g->largest);
	__m512 scale = _mm512_castsi512_ps(_mm512_set1_epi32((int)run->scale));
	int lowest = lowest_exponent(mode);

	if (run->emax)
		_mm_storeu_si128((void *)(run->emax + g->block), _mm512_cvtepi32_epi8(emax));
	g->clamped = 0;
	g->slow = _mm512_cmpge_epu32_mask(_mm512_sub_epi32(emax, _mm512_set1_epi32(lowest)),
					  _mm512_set1_epi32(255 - lowest));
	if (mode == NPU_PP_INT8_SYMMETRIC) {
		__m512 s = _mm512_div_ps(largest, _mm512_set1_ps(127));

		if (run->scales)
			_mm512_storeu_ps(run->scales + g->block, s);
		scale = _mm512_maskz_mov_ps((__mmask16)~zero, reciprocal(largest, s));
	} else if (mode == NPU_PP_INT8_CONST) {
		__m512 t = _mm512_mul_ps(largest, _mm512_div_ps(_mm512_set1_ps(1), scale));

		/* far out of range the remainders overflow */
		g->slow = _mm512_cmp_ps_mask(t, _mm512_set1_ps(0x1p20f), _CMP_NLT_UQ);
		g->clamped = _mm512_cmp_ps_mask(t, _mm512_set1_ps(127.25f), _CMP_NLT_UQ);
	} else {
		/* 2^(133 - emax) or 2^(146 - emax) */
		int bias = mode == NPU_PP_INT8_EMAX_RNE || mode == NPU_PP_INT8_EMAX_TRUNC ?
			   133 + 127 : 146 + 127;
		__m512i e = _mm512_max_epi32(emax, _mm512_set1_epi32(lowest));

		scale = _mm512_castsi512_ps(_mm512_slli_epi32(
				_mm512_sub_epi32(_mm512_set1_epi32(bias), e), 23));
	}
	if (mode == NPU_PP_INT8_EMAX_RNE)
		/* only 1.1111111b at the block's own exponent rounds up to 128 */
		g->clamped = _mm512_cmpeq_epi32_mask(_mm512_and_si512(g->largest,
						_mm512_set1_epi32(0x7f)), _mm512_set1_epi32(0x7f));
	if (mode != NPU_PP_INT8_CONST)
		g->slow &= (__mmask16)~zero;
	_mm512_store_ps(g->scale, scale);
	/* to be loaded as broadcasts, not shuffled out of the register */
	__asm__("" : "+m"(g->scale));
}

/* Blocks out of range, by the specification. */
static void group_slow(struct group *g, enum npu_kern_pp_mode mode)
{
	for (unsigned int slow = g->slow; slow; slow &= slow - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(slow);
		struct npu_pp_run one = {
			.dst = g->dst + i * npu_pp_block_bytes(mode),
			.scales = g->run->scales ? g->run->scales + g->block + i : NULL,
			.scale = g->run->scale,
			.block_base = g->run->block_base + g->block + i,
			.first_nonfinite = g->run->first_nonfinite,
		};

		npu_kern_pp_scalar(&one, g->src + i * NPU_KERN_BLOCK, 1, mode);
		g->run->saturated += one.saturated;
		g->run->nonfinite_blocks += one.nonfinite_blocks;
		g->run->first_nonfinite = one.first_nonfinite;
	}
}

/* Counts the lanes that the clamp changed. Rare but for a constant scale that is too small. */
static __attribute__((noinline)) void group_clamped(const struct group *g,
						    enum npu_kern_pp_mode mode)
{
	const __m512i low15 = _mm512_set1_epi16(0x7fff);
	const __m512 limit = _mm512_set1_ps(127.5f), scale = _mm512_set1_ps(g->scale[0]);
	uint32_t largest[GROUP];

	_mm512_storeu_si512(largest, g->largest);
	for (unsigned int rest = g->clamped & ~(unsigned int)g->slow; rest; rest &= rest - 1) {
		int i = __builtin_ctz(rest);
		__m512i x = _mm512_and_si512(load_block(g->src, i), low15);
		unsigned int lanes;

		if (mode == NPU_PP_INT8_EMAX_RNE) {
			lanes = _mm512_cmpeq_epi16_mask(x, _mm512_set1_epi16((short)largest[i]));
		} else {
			__m512 high = _mm512_castsi512_ps(_mm512_andnot_si512(
						_mm512_set1_epi32(0xffff), x));

			lanes = (unsigned int)_mm512_cmp_ps_mask(_mm512_div_ps(even(x), scale),
								 limit, _CMP_GE_OQ) << 16;
			lanes |= _mm512_cmp_ps_mask(_mm512_div_ps(high, scale), limit,
						    _CMP_GE_OQ);
		}
		g->run->saturated += (unsigned int)__builtin_popcount(lanes);
	}
}

static ALWAYS_INLINE void group_exponents(const struct group *g)
{
	uint8_t *out = g->run->exponents + g->block * NPU_KERN_BLOCK;

	for (int i = 0; i < GROUP; i++)
		_mm256_storeu_si256((void *)(out + NPU_KERN_BLOCK * i), _mm512_cvtepi16_epi8(
				_mm512_srli_epi16(load_block(g->src, i), 7)));
}

/* Less than a group at @block: a run of its own, completed with zeros. */
static void pp_rest(struct npu_pp_run *run, const uint16_t *src, size_t block, size_t blocks,
		    enum npu_kern_pp_mode mode, npu_pp_fn *pp)
{
	const size_t bytes = npu_pp_block_bytes(mode), count = blocks - block;
	uint8_t out[GROUP * NPU_KERN_BLOCK * 4] __attribute__((aligned(64)));
	uint8_t emax[GROUP], exponents[GROUP * NPU_KERN_BLOCK];
	uint16_t in[GROUP * NPU_KERN_BLOCK] = { 0 };
	uint32_t scales[GROUP];
	struct npu_pp_run rest = *run;

	rest.dst = out;
	rest.emax = emax;
	rest.exponents = run->exponents ? exponents : NULL;
	rest.scales = scales;
	rest.block_base = run->block_base + block;
	memcpy(in, src + block * NPU_KERN_BLOCK, count * NPU_KERN_BLOCK * sizeof(*in));
	pp(&rest, in, GROUP);

	memcpy((uint8_t *)run->dst + block * bytes, out, count * bytes);
	if (run->emax)
		memcpy(run->emax + block, emax, count);
	if (run->exponents)
		memcpy(run->exponents + block * NPU_KERN_BLOCK, exponents, count * NPU_KERN_BLOCK);
	if (run->scales && mode == NPU_PP_INT8_SYMMETRIC)
		memcpy(run->scales + block, scales, count * sizeof(*scales));
	run->saturated = rest.saturated;
	run->nonfinite_blocks = rest.nonfinite_blocks;
	run->first_nonfinite = rest.first_nonfinite;
}

/* The output of the 16 blocks at g->src to g->dst, which is aligned if @nt. */
typedef void group_fn(struct group *g, const struct constants *c, bool nt);

static ALWAYS_INLINE void group_prepare(struct group *g, struct npu_pp_run *run,
					const uint16_t *src, size_t block,
					enum npu_kern_pp_mode mode, const struct constants *c)
{
	g->run = run;
	g->src = src + block * NPU_KERN_BLOCK;
	g->dst = (uint8_t *)run->dst + block * npu_pp_block_bytes(mode);
	g->block = block;
	g->largest = max_of_blocks(g->src, c);
	group_scales(g, mode);
	if (run->exponents)
		group_exponents(g);
}

/*
 * Whole groups; returns the blocks done. The next group's maxima are computed before this one's
 * output: their long chain of dependencies then runs beside it.
 */
static ALWAYS_INLINE size_t pp_groups(struct npu_pp_run *run, const uint16_t *src, size_t blocks,
				      enum npu_kern_pp_mode mode, bool nt, group_fn *group)
{
	const struct constants c = make_constants();
	__auto_type fp = npu_fp_enter();
	struct group groups[2];
	size_t block;

	if (blocks >= GROUP)
		group_prepare(&groups[0], run, src, 0, mode, &c);
	for (block = 0; blocks - block >= GROUP; block += GROUP) {
		struct group *g = &groups[block / GROUP % 2];

		if (blocks - block >= 2 * GROUP)
			group_prepare(&groups[(block / GROUP + 1) % 2], run, src, block + GROUP,
				      mode, &c);
		group(g, &c, nt);
		if (__builtin_expect(g->clamped, 0))
			group_clamped(g, mode);
		if (__builtin_expect(g->slow, 0))
			group_slow(g, mode);
	}
	if (nt)
		stream_fence();
	npu_fp_leave(fp);
	return block;
}

#define PP(name, mode)								\
static void pp_##name##_nt(struct npu_pp_run *run, const uint16_t *src, size_t blocks);	\
										\
static void pp_##name(struct npu_pp_run *run, const uint16_t *src, size_t blocks)	\
{										\
	size_t done;								\
										\
	if (blocks >= npu_kern_stream_bytes / npu_pp_block_bytes(mode)) {	\
		pp_##name##_nt(run, src, blocks);				\
		return;								\
	}									\
	done = pp_groups(run, src, blocks, mode, false, name##_group);		\
	if (done < blocks)							\
		pp_rest(run, src, done, blocks, mode, pp_##name);		\
}										\
										\
static void pp_##name##_nt(struct npu_pp_run *run, const uint16_t *src, size_t blocks)	\
{										\
	size_t done = 0;							\
										\
	if (!((uintptr_t)run->dst % LINE_BYTES))				\
		done = pp_groups(run, src, blocks, mode, true, name##_group);	\
	else									\
		done = pp_groups(run, src, blocks, mode, false, name##_group);	\
	if (done < blocks)							\
		pp_rest(run, src, done, blocks, mode, pp_##name);		\
}

#define PICK_PP(name) (nt ? pp_##name##_nt : pp_##name)

static ALWAYS_INLINE void put(uint8_t *out, __m512i v, bool nt)
{
	if (nt)
		vec_stream(out, v);
	else
		vec_store(out, v);
}

#endif
