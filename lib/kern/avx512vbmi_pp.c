// SPDX-License-Identifier: MIT
/* PREPROCESS with VBMI: fixed27 words packed by byte permutations. */
#include "pp512.h"

/*
 * Element i of a block lies at bit 27 i: in byte 27 i / 8, rotated left by 27 i % 8. Rotated
 * so, each of its bits stands at its place in some byte of the output; the bits of a fifth byte are
 * in the first. A byte of the output has bits of one even and of one odd element at most, which
 * come from two vectors.
 */
struct packing {
	__m512i rotate[2];	/* even, odd elements */
	__m512i pick[2][2];	/* even, odd; first 64 bytes, last 44 */
	__m512i is_even[2];	/* bits */
};

static struct packing packing;

static void make_packing(void)
{
	uint8_t pick[2][128] = { 0 }, is_even[128] = { 0 };
	uint32_t rotate[2][16];

	for (unsigned int bit = 0; bit < NPU_KERN_BLOCK * 27; bit++) {
		unsigned int i = bit / 27, byte = bit / 8 - i * 27 / 8;

		rotate[i % 2][i / 2] = i * 27 % 8;
		pick[i % 2][bit / 8] = (uint8_t)(i / 2 * 4 + byte % 4);
		if (i % 2 == 0)
			is_even[bit / 8] |= (uint8_t)(1 << bit % 8);
	}
	for (int i = 0; i < 2; i++) {
		packing.rotate[i] = _mm512_loadu_si512(rotate[i]);
		packing.is_even[i] = _mm512_loadu_si512(is_even + 64 * i);
		for (int half = 0; half < 2; half++)
			packing.pick[i][half] = _mm512_loadu_si512(pick[i] + 64 * half);
	}
}

static ALWAYS_INLINE __m512i packed_bytes(__m512i e, __m512i o, int half, const struct packing *p)
{
	__m512i a = _mm512_permutexvar_epi8(p->pick[0][half], e);
	__m512i b = _mm512_permutexvar_epi8(p->pick[1][half], o);

	/* is_even ? a : b */
	return _mm512_ternarylogic_epi32(p->is_even[half], a, b, 0xca);
}

static ALWAYS_INLINE __m512i rotated(__m512 x, __m512 scale, __m512i count)
{
	return _mm512_rolv_epi32(_mm512_cvttps_epi32(_mm512_mul_ps(x, scale)), count);
}

static ALWAYS_INLINE void fixed27_packed_group(struct group *g, const struct constants *c,
					       bool nt)
{
	const struct packing p = packing;
	uint8_t buf[GROUP * NPU_KERN_BLOCK_PACKED] __attribute__((aligned(64)));
	uint8_t *out = nt ? buf : g->dst;

	UNROLL
	for (int i = 0; i < GROUP; i++) {
		__m512i x = load_block(g->src, i);
		__m512 scale = _mm512_set1_ps(g->scale[i]);
		__m512i e = rotated(even(x), scale, p.rotate[0]);
		__m512i o = rotated(odd(x, c), scale, p.rotate[1]);

		vec_store(out, packed_bytes(e, o, 0, &p));
		_mm512_mask_storeu_epi8(out + 64, first64(NPU_KERN_BLOCK_PACKED - 64),
					packed_bytes(e, o, 1, &p));
		out += NPU_KERN_BLOCK_PACKED;
	}
	if (!nt)
		return;
	UNROLL
	for (int i = 0; i < GROUP * NPU_KERN_BLOCK_PACKED; i += VEC_BYTES)
		vec_stream(g->dst + i, _mm512_load_si512(buf + i));
}

PP(fixed27_packed, NPU_PP_FIXED27_PACKED)

void npu_kern_fill_avx512vbmi_pp(struct npu_kern *k, bool nt)
{
	make_packing();
	k->pp[NPU_PP_FIXED27_PACKED] = PICK_PP(fixed27_packed);
}
