/* SPDX-License-Identifier: MIT */
/*
 * PREPROCESS with vectors of 16 or 32 bytes, as pp512.h does it with 64: as many blocks at a time
 * as a vector has double words. The including file defines the vector operations it uses:
 *	VEC, VECF, VEC_BYTES, vec_load, vec_store, vec_stream
 *	v_and v_or v_set8 v_set32 v_set64 v_sll32 v_srl16 v_srl32 v_srl64 v_sub32 v_max32
 *	v_max8			signed bytes
 *	v_words(e, o)		low words in turn
 *	v_pack(a, b)		words to bytes with saturation, in order
 *	v_low8(a, b)		low bytes of words, in order
 *	v_round(f), v_trunc(f)	to int32
 *	vf_set vf_mul vf_div	f32
 *	v_reciprocal(largest, s)	what v_symmetric takes
 *	v_symmetric(x, s, r)	x / s rounded to f32, then to int32
 *	v_const(x, s)		the same, clamped to -127..127
 *	v_max_of_blocks(src)	the largest magnitude of each block, in double words
 *	v_load_high(src)	words to the upper halves of double words
 *	v_pairs(out, e, o)	qwords of each even and odd element, in order
 */
#ifndef NPU_KERN_PP_H
#define NPU_KERN_PP_H

#include <string.h>

#define GROUP (VEC_BYTES / 4)
#define BLOCK_VECS (NPU_KERN_BLOCK * 2 / VEC_BYTES)

/* Kinds of output. */
enum pp_out { OUT_WIDE, OUT_PACKED, OUT_LOW8, OUT_ROUND, OUT_TRUNC, OUT_SYMMETRIC, OUT_CONST };

struct group {
	struct npu_pp_run *run;
	const uint16_t *src;
	uint8_t *dst;
	size_t block;
	uint32_t largest[GROUP] __attribute__((aligned(VEC_BYTES)));
	float scale[GROUP] __attribute__((aligned(VEC_BYTES)));
	float reciprocal[GROUP] __attribute__((aligned(VEC_BYTES)));
};

static ALWAYS_INLINE VEC load_part(const uint16_t *src, unsigned int block, unsigned int part)
{
	return vec_load(src + block * NPU_KERN_BLOCK + part * VEC_BYTES / 2);
}

static ALWAYS_INLINE VECF even(VEC x)
{
	return (VECF)v_sll32(x, 16);
}

static ALWAYS_INLINE VECF odd(VEC x)
{
	return (VECF)v_and(x, v_set32((int)0xffff0000));
}

/* The exponent from which a block is computed here; see pp512.h. */
static ALWAYS_INLINE unsigned int lowest_exponent(enum npu_kern_pp_mode mode)
{
	if (mode == NPU_PP_INT8_EMAX_RNE || mode == NPU_PP_INT8_EMAX_TRUNC)
		return 10;
	return mode == NPU_PP_INT8_SYMMETRIC ? 48 : 21;
}

static ALWAYS_INLINE void group_scales(struct group *g, enum npu_kern_pp_mode mode)
{
	VEC largest = vec_load(g->largest);
	VECF scale = vf_set(1);

	if (mode == NPU_PP_INT8_SYMMETRIC) {
		VECF max = (VECF)v_sll32(largest, 16);

		scale = vf_div(max, vf_set(127));
		if (g->run->scales)
			vec_store(g->run->scales + g->block, (VEC)scale);
		vec_store(g->reciprocal, (VEC)v_reciprocal(max, scale));
	} else if (mode == NPU_PP_INT8_CONST) {
		scale = (VECF)v_set32((int)g->run->scale);
	} else {
		/* 2^(133 - emax) or 2^(146 - emax) */
		int bias = mode == NPU_PP_INT8_EMAX_RNE || mode == NPU_PP_INT8_EMAX_TRUNC ?
			   133 + 127 : 146 + 127;
		VEC e = v_max32(v_srl32(largest, 7), v_set32((int)lowest_exponent(mode)));

		scale = (VECF)v_sll32(v_sub32(v_set32(bias), e), 23);
	}
	vec_store(g->scale, (VEC)scale);
}

/* Which blocks are left to the scalar code; the emax side band on the way. */
static ALWAYS_INLINE unsigned int group_slow(struct group *g, enum npu_kern_pp_mode mode)
{
	const unsigned int lowest = lowest_exponent(mode);
	unsigned int slow = 0;

	for (unsigned int i = 0; i < GROUP; i++) {
		uint32_t emax = g->largest[i] >> 7;

		if (g->run->emax)
			g->run->emax[g->block + i] = (uint8_t)emax;
		if (mode == NPU_PP_INT8_CONST)
			slow |= (unsigned int)(emax == 255) << i;
		else
			slow |= (unsigned int)(g->largest[i] && emax - lowest >= 255 - lowest) << i;
	}
	return slow;
}

/* Whether a lane of the block may be changed by the clamp. */
static ALWAYS_INLINE bool may_clamp(const struct group *g, unsigned int i,
				    enum npu_kern_pp_mode mode)
{
	uint32_t bits = g->largest[i] << 16;
	float largest;

	if (mode == NPU_PP_INT8_EMAX_RNE)
		return (g->largest[i] & 0x7f) == 0x7f;
	if (mode != NPU_PP_INT8_CONST)
		return false;
	memcpy(&largest, &bits, sizeof(largest));
	return largest / g->scale[i] >= 127.5f;
}

static void count_clamped(struct group *g, unsigned int i, enum npu_kern_pp_mode mode)
{
	uint16_t src[NPU_KERN_BLOCK];

	memcpy(src, g->src + i * NPU_KERN_BLOCK, sizeof(src));
	for (unsigned int j = 0; j < NPU_KERN_BLOCK; j++) {
		uint32_t magnitude = src[j] & 0x7fff, bits = magnitude << 16;
		float x;

		memcpy(&x, &bits, sizeof(x));
		if (mode == NPU_PP_INT8_EMAX_RNE ? magnitude == g->largest[i] :
						   x / g->scale[i] >= 127.5f)
			g->run->saturated++;
	}
}

/* Four times 54 bits to 27 bytes. */
static ALWAYS_INLINE void pack_pairs(uint8_t *out, const uint64_t *pair)
{
	uint64_t a = pair[0] | pair[1] << 54;
	uint64_t b = pair[1] >> 10 | pair[2] << 44;
	uint64_t c = pair[2] >> 20 | pair[3] << 34;
	uint32_t d = (uint32_t)(pair[3] >> 30);

	memcpy(out, &a, 8);
	memcpy(out + 8, &b, 8);
	memcpy(out + 16, &c, 8);
	memcpy(out + 24, &d, 3);
}

static ALWAYS_INLINE void block_packed(uint8_t *out, const uint16_t *src, unsigned int block,
				       VECF scale)
{
	uint64_t pair[NPU_KERN_BLOCK / 2] __attribute__((aligned(VEC_BYTES)));
	const VEC low = v_set64(0x7ffffff), high = v_set64(0x7ffffffll << 27);

	UNROLL
	for (unsigned int i = 0; i < BLOCK_VECS; i++) {
		VEC x = load_part(src, block, i), q[2];

		v_pairs(q, v_trunc(vf_mul(even(x), scale)), v_trunc(vf_mul(odd(x), scale)));
		UNROLL
		for (unsigned int j = 0; j < 2; j++)
			vec_store(pair + (2 * i + j) * VEC_BYTES / 8,
				  v_or(v_and(q[j], low), v_and(v_srl64(q[j], 5), high)));
	}
	UNROLL
	for (unsigned int i = 0; i < 4; i++)
		pack_pairs(out + 27 * i, pair + 4 * i);
}

static ALWAYS_INLINE void block_wide(uint8_t *out, const uint16_t *src, unsigned int block,
				     VECF scale, bool nt)
{
	UNROLL
	for (unsigned int i = 0; i < 2 * BLOCK_VECS; i++) {
		VEC x = v_load_high(src + block * NPU_KERN_BLOCK + i * VEC_BYTES / 4);

		x = v_trunc(vf_mul((VECF)x, scale));
		if (nt)
			vec_stream(out + i * VEC_BYTES, x);
		else
			vec_store(out + i * VEC_BYTES, x);
	}
}

static ALWAYS_INLINE VEC convert(VECF x, VECF scale, VECF reciprocal, enum pp_out kind)
{
	if (kind == OUT_ROUND)
		return v_round(vf_mul(x, scale));
	if (kind == OUT_SYMMETRIC)
		return v_symmetric(x, scale, reciprocal);
	if (kind == OUT_CONST)
		return v_const(x, scale);
	return v_trunc(vf_mul(x, scale));
}

static ALWAYS_INLINE void block_bytes(uint8_t *out, const uint16_t *src, unsigned int block,
				      VECF scale, VECF reciprocal, enum pp_out kind, bool nt)
{
	VEC w[BLOCK_VECS];

	UNROLL
	for (unsigned int i = 0; i < BLOCK_VECS; i++) {
		VEC x = load_part(src, block, i);

		w[i] = v_words(convert(even(x), scale, reciprocal, kind),
			       convert(odd(x), scale, reciprocal, kind));
	}
	UNROLL
	for (unsigned int i = 0; i < BLOCK_VECS / 2; i++) {
		VEC b = kind == OUT_LOW8 ? v_low8(w[2 * i], w[2 * i + 1]) :
			v_max8(v_pack(w[2 * i], w[2 * i + 1]), v_set8(-127));

		if (nt)
			vec_stream(out + i * VEC_BYTES, b);
		else
			vec_store(out + i * VEC_BYTES, b);
	}
}

static ALWAYS_INLINE void group_output(struct group *g, enum npu_kern_pp_mode mode,
				       enum pp_out kind, bool nt)
{
	for (unsigned int i = 0; i < GROUP; i++) {
		uint8_t *out = g->dst + i * npu_pp_block_bytes(mode);
		VECF scale = vf_set(g->scale[i]), reciprocal = vf_set(g->reciprocal[i]);

		if (kind == OUT_WIDE)
			block_wide(out, g->src, i, scale, nt);
		else if (kind == OUT_PACKED)
			block_packed(out, g->src, i, scale);
		else
			block_bytes(out, g->src, i, scale, reciprocal, kind, nt);
	}
}

/* One block by the specification; the side bands that are written already are left out. */
static void block_scalar(struct npu_pp_run *run, const uint16_t *src, size_t block,
			 enum npu_kern_pp_mode mode, bool rest)
{
	struct npu_pp_run one = *run;

	one.dst = (uint8_t *)run->dst + block * npu_pp_block_bytes(mode);
	one.emax = rest && run->emax ? run->emax + block : NULL;
	one.exponents = rest && run->exponents ? run->exponents + block * NPU_KERN_BLOCK : NULL;
	one.scales = run->scales ? run->scales + block : NULL;
	one.block_base = run->block_base + block;
	npu_kern_pp_scalar(&one, src + block * NPU_KERN_BLOCK, 1, mode);
	run->saturated = one.saturated;
	run->nonfinite_blocks = one.nonfinite_blocks;
	run->first_nonfinite = one.first_nonfinite;
}

static ALWAYS_INLINE void group_exponents(const struct group *g)
{
	uint8_t *out = g->run->exponents + g->block * NPU_KERN_BLOCK;

	for (unsigned int i = 0; i < GROUP * BLOCK_VECS / 2; i++)
		vec_store(out + i * VEC_BYTES,
			  v_low8(v_srl16(vec_load(g->src + i * VEC_BYTES), 7),
				 v_srl16(vec_load(g->src + i * VEC_BYTES + VEC_BYTES / 2), 7)));
}

static ALWAYS_INLINE void pp_groups(struct npu_pp_run *run, const uint16_t *src, size_t blocks,
				    enum npu_kern_pp_mode mode, enum pp_out kind, bool nt)
{
	__auto_type fp = npu_fp_enter();
	size_t block;

	for (block = 0; blocks - block >= GROUP; block += GROUP) {
		struct group g = {
			.run = run,
			.src = src + block * NPU_KERN_BLOCK,
			.dst = (uint8_t *)run->dst + block * npu_pp_block_bytes(mode),
			.block = block,
		};
		unsigned int slow;

		vec_store(g.largest, v_max_of_blocks(g.src));
		group_scales(&g, mode);
		slow = group_slow(&g, mode);
		if (run->exponents)
			group_exponents(&g);
		group_output(&g, mode, kind, nt);
		for (unsigned int i = 0; i < GROUP; i++) {
			if (slow >> i & 1)
				block_scalar(run, src, block + i, mode, false);
			else if (may_clamp(&g, i, mode))
				count_clamped(&g, i, mode);
		}
	}
	if (nt)
		stream_fence();
	npu_fp_leave(fp);
	for (; block < blocks; block++)
		block_scalar(run, src, block, mode, true);
}

#define PP(name, mode, kind)							\
static void pp_##name##_nt(struct npu_pp_run *run, const uint16_t *src, size_t blocks)	\
{										\
	pp_groups(run, src, blocks, mode, kind,					\
		  kind != OUT_PACKED && !((uintptr_t)run->dst % LINE_BYTES));	\
}										\
										\
static void pp_##name(struct npu_pp_run *run, const uint16_t *src, size_t blocks)	\
{										\
	if (blocks >= npu_kern_stream_bytes / npu_pp_block_bytes(mode))		\
		pp_##name##_nt(run, src, blocks);				\
	else									\
		pp_groups(run, src, blocks, mode, kind, false);			\
}

PP(fixed27_wide, NPU_PP_FIXED27_WIDE, OUT_WIDE)
PP(fixed27_packed, NPU_PP_FIXED27_PACKED, OUT_PACKED)
PP(low8, NPU_PP_LOW8, OUT_LOW8)
PP(int8_emax_rne, NPU_PP_INT8_EMAX_RNE, OUT_ROUND)
PP(int8_emax_trunc, NPU_PP_INT8_EMAX_TRUNC, OUT_TRUNC)
PP(int8_symmetric, NPU_PP_INT8_SYMMETRIC, OUT_SYMMETRIC)
PP(int8_const, NPU_PP_INT8_CONST, OUT_CONST)

static void fill_pp(struct npu_kern *k, bool nt)
{
	k->pp[NPU_PP_FIXED27_WIDE] = nt ? pp_fixed27_wide_nt : pp_fixed27_wide;
	k->pp[NPU_PP_FIXED27_PACKED] = nt ? pp_fixed27_packed_nt : pp_fixed27_packed;
	k->pp[NPU_PP_LOW8] = nt ? pp_low8_nt : pp_low8;
	k->pp[NPU_PP_INT8_EMAX_RNE] = nt ? pp_int8_emax_rne_nt : pp_int8_emax_rne;
	k->pp[NPU_PP_INT8_EMAX_TRUNC] = nt ? pp_int8_emax_trunc_nt : pp_int8_emax_trunc;
	k->pp[NPU_PP_INT8_SYMMETRIC] = nt ? pp_int8_symmetric_nt : pp_int8_symmetric;
	k->pp[NPU_PP_INT8_CONST] = nt ? pp_int8_const_nt : pp_int8_const;
}

#endif
