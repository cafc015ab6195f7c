// SPDX-License-Identifier: MIT
/* PREPROCESS with AArch64 vectors: four blocks at a time, true divisions. */
#include "vecneon.h"

#define VECF float32x4_t
#define v_and vandq_u8
#define v_or vorrq_u8
#define v_set8(x) ((VEC)vdupq_n_s8(x))
#define v_set32(x) ((VEC)vdupq_n_s32(x))
#define v_set64(x) ((VEC)vdupq_n_s64(x))
#define v_sll32(x, n) ((VEC)vshlq_n_u32((uint32x4_t)(x), n))
#define v_srl16(x, n) ((VEC)vshrq_n_u16((uint16x8_t)(x), n))
#define v_srl32(x, n) ((VEC)vshrq_n_u32((uint32x4_t)(x), n))
#define v_srl64(x, n) ((VEC)vshrq_n_u64((uint64x2_t)(x), n))
#define v_sub32(a, b) ((VEC)vsubq_u32((uint32x4_t)(a), (uint32x4_t)(b)))
#define v_max32(a, b) ((VEC)vmaxq_s32((int32x4_t)(a), (int32x4_t)(b)))
#define v_max8(a, b) ((VEC)vmaxq_s8((int8x16_t)(a), (int8x16_t)(b)))
#define v_words(e, o) ((VEC)vtrn1q_u16((uint16x8_t)(e), (uint16x8_t)(o)))
#define v_low8(a, b) vuzp1q_u8(a, b)
#define v_round(f) ((VEC)vcvtnq_s32_f32(f))
#define v_trunc(f) ((VEC)vcvtq_s32_f32(f))
#define vf_set vdupq_n_f32
#define vf_mul vmulq_f32
#define vf_div vdivq_f32
/* the quotient is one: no reciprocal is needed */
#define v_reciprocal(largest, s) (s)

static ALWAYS_INLINE VEC v_pack(VEC a, VEC b)
{
	return (VEC)vcombine_s8(vqmovn_s16((int16x8_t)a), vqmovn_s16((int16x8_t)b));
}

static ALWAYS_INLINE VEC v_const(VECF x, VECF s)
{
	VECF t = vdivq_f32(x, s);

	t = vminq_f32(vmaxq_f32(t, vdupq_n_f32(-127)), vdupq_n_f32(127));
	return v_round(t);
}

/* A block of zeros has s = 0: its quotients are no numbers, which convert to 0. */
static ALWAYS_INLINE VEC v_symmetric(VECF x, VECF s, VECF r)
{
	(void)r;
	return v_round(vdivq_f32(x, s));
}

static ALWAYS_INLINE VEC v_load_high(const uint16_t *src)
{
	return (VEC)vshll_n_u16(vld1_u16(src), 16);
}

static ALWAYS_INLINE void v_pairs(VEC *out, VEC e, VEC o)
{
	out[0] = (VEC)vzip1q_u32((uint32x4_t)e, (uint32x4_t)o);
	out[1] = (VEC)vzip2q_u32((uint32x4_t)e, (uint32x4_t)o);
}

static ALWAYS_INLINE uint16x8_t max_of_block(const uint16_t *src)
{
	uint16x8_t max = vdupq_n_u16(0);

	UNROLL
	for (int i = 0; i < 4; i++)
		max = vmaxq_u16(max, vandq_u16((uint16x8_t)vec_load(src + 8 * i),
					       vdupq_n_u16(0x7fff)));
	return max;
}

/* The maxima of four blocks, in order. */
static ALWAYS_INLINE VEC v_max_of_blocks(const uint16_t *src)
{
	uint16x8_t a = vpmaxq_u16(max_of_block(src), max_of_block(src + 32));
	uint16x8_t b = vpmaxq_u16(max_of_block(src + 64), max_of_block(src + 96));
	uint16x8_t x = vpmaxq_u16(a, b);

	return (VEC)vmovl_u16(vget_low_u16(vpmaxq_u16(x, x)));
}

#include "pp.h"

void npu_kern_fill_neon_pp(struct npu_kern *k)
{
	fill_pp(k, false);
}
