// SPDX-License-Identifier: MIT
/* Dot products with AArch64 vectors. */
#include "vecneon.h"

#define VECF float32x4_t
#define DOT_ROWS 4
#define v_zero() vdupq_n_u8(0)
#define vf_zero() vdupq_n_f32(0)
#define vf_mul vmulq_f32
#define vf_add vaddq_f32

static ALWAYS_INLINE VEC mac_s16(VEC acc, const void *a, const void *w)
{
	int16x8_t x = (int16x8_t)vec_load(a), y = (int16x8_t)vec_load(w);
	int32x4_t sum = vmlal_s16((int32x4_t)acc, vget_low_s16(x), vget_low_s16(y));

	return (VEC)vmlal_high_s16(sum, x, y);
}

static ALWAYS_INLINE VEC mac_s8(VEC acc, const void *a, const void *w)
{
	int8x16_t x = (int8x16_t)vec_load(a), y = (int8x16_t)vec_load(w);
	int32x4_t sum = vpadalq_s16((int32x4_t)acc, vmull_s8(vget_low_s8(x), vget_low_s8(y)));

	return (VEC)vpadalq_s16(sum, vmull_high_s8(x, y));
}

static ALWAYS_INLINE int32_t sum32(VEC x)
{
	return (int32_t)vaddvq_u32((uint32x4_t)x);
}

static ALWAYS_INLINE void store_sums(void *out, const VEC *v)
{
	uint32x4_t x = vpaddq_u32((uint32x4_t)v[0], (uint32x4_t)v[1]);
	uint32x4_t y = vpaddq_u32((uint32x4_t)v[2], (uint32x4_t)v[3]);

	vst1q_u8(out, (VEC)vpaddq_u32(x, y));
}

static ALWAYS_INLINE float32x4_t vf_load(const void *p)
{
	return (float32x4_t)vec_load(p);
}

static ALWAYS_INLINE float32x4_t vf_load_bf16(const void *p)
{
	uint32x4_t x = vshll_n_u16((uint16x4_t)vld1_u8(p), 16);
	uint32x4_t magnitude = vandq_u32(x, vdupq_n_u32(0x7fffffff));
	uint32x4_t small = vcltq_u32(magnitude, vdupq_n_u32(0x00800000));

	return (float32x4_t)vsubq_u32(x, vandq_u32(magnitude, small));
}

static ALWAYS_INLINE float vf_fold(const float32x4_t *v)
{
	float32x4_t x = vaddq_f32(vaddq_f32(v[0], v[2]), vaddq_f32(v[1], v[3]));
	float32x2_t y = vadd_f32(vget_low_f32(x), vget_high_f32(x));

	return vget_lane_f32(y, 0) + vget_lane_f32(y, 1);
}

#include "dot.h"

DOT_INT(s8, int8_t, 16, from_zero, mac_s8, NULL)
DOT_INT(s16, int16_t, 8, from_zero, mac_s16, NULL)
DOT_FLOAT(f32, float, vf_load)
DOT_FLOAT(bf16, uint16_t, vf_load_bf16)

void npu_kern_fill_neon_dot(struct npu_kern *k)
{
	k->dot_s8 = dot_s8;
	k->dot_s16 = dot_s16;
	k->dot_f32 = dot_f32;
	k->dot_bf16 = dot_bf16;
}
