// SPDX-License-Identifier: MIT
/* AArch64: casts, lookups, zero points. */
#include "vecneon.h"
#include "tables.h"

/* ---- integers ---- */

static ALWAYS_INLINE void widen_s8(VEC *v, int8x16_t x)
{
	int16x8_t lo = vmovl_s8(vget_low_s8(x)), hi = vmovl_high_s8(x);

	v[0] = (VEC)vmovl_s16(vget_low_s16(lo));
	v[1] = (VEC)vmovl_high_s16(lo);
	v[2] = (VEC)vmovl_s16(vget_low_s16(hi));
	v[3] = (VEC)vmovl_high_s16(hi);
}

static ALWAYS_INLINE void i8_i32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	widen_s8(v, (int8x16_t)vec_load(s));
}

static ALWAYS_INLINE void i8_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 16, 8, 4, i8_i32_step }, NULL);
}

static ALWAYS_INLINE void i16_i32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 2; i++) {
		int16x8_t x = (int16x8_t)vec_load(s + 16 * i);

		v[2 * i] = (VEC)vmovl_s16(vget_low_s16(x));
		v[2 * i + 1] = (VEC)vmovl_high_s16(x);
	}
}

static ALWAYS_INLINE void i16_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 16, 16, 4, i16_i32_step }, NULL);
}

/* The nibbles of 8 bytes, one per byte. */
static ALWAYS_INLINE uint8x16_t load_nibbles(const uint8_t *s)
{
	uint8x8_t x = vld1_u8(s);
	uint8x8_t lo = vand_u8(x, vdup_n_u8(15)), hi = vshr_n_u8(x, 4);

	return vcombine_u8(vzip1_u8(lo, hi), vzip2_u8(lo, hi));
}

static ALWAYS_INLINE void nibble_byte_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = vqtbl1q_u8(*(const VEC *)ctx, load_nibbles(s + 8 * i));
}

#define NIBBLE_BYTE ((struct shape){ 64, 4, 4, nibble_byte_step })

static ALWAYS_INLINE void i4_i8_any(bool nt, void *dst, const void *src, size_t n)
{
	VEC table = vec_load(i4_i8_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void zps_i4_any(bool nt, int8_t *dst, const void *src, size_t n,
				     int zero_point)
{
	VEC table = vsubq_u8(vec_load(i4_i8_codes), vdupq_n_u8((uint8_t)zero_point));

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void zps_i8_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const int16x8_t zp = *(const int16x8_t *)ctx;

	UNROLL
	for (int i = 0; i < 2; i++) {
		int8x16_t x = (int8x16_t)vec_load(s + 16 * i);

		v[2 * i] = (VEC)vsubq_s16(vmovl_s8(vget_low_s8(x)), zp);
		v[2 * i + 1] = (VEC)vsubq_s16(vmovl_high_s8(x), zp);
	}
}

static ALWAYS_INLINE void zps_i8_any(bool nt, int16_t *dst, const int8_t *src, size_t n,
				     int zero_point)
{
	int16x8_t zp = vdupq_n_s16((int16_t)zero_point);

	loop(dst, src, n, nt, (struct shape){ 32, 8, 4, zps_i8_step }, &zp);
}

static ALWAYS_INLINE void i4_i32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	widen_s8(v, (int8x16_t)vqtbl1q_u8(*(const VEC *)ctx, load_nibbles(s)));
}

static ALWAYS_INLINE void i4_i32_any(bool nt, void *dst, const void *src, size_t n)
{
	VEC codes = vec_load(i4_i8_codes);

	loop(dst, src, n, nt, (struct shape){ 16, 4, 4, i4_i32_step }, &codes);
}

/* ---- small floats ---- */

static ALWAYS_INLINE void f4_f8e4m3_any(bool nt, void *dst, const void *src, size_t n)
{
	VEC table = vec_load(f4_f8e4m3_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

static ALWAYS_INLINE void f4_f8e5m2_any(bool nt, void *dst, const void *src, size_t n)
{
	VEC table = vec_load(f4_f8e5m2_codes);

	loop(dst, src, n, nt, NIBBLE_BYTE, &table);
}

/* Eight words to the upper halves of double words: bf16 to f32. */
static ALWAYS_INLINE void widen(VEC *v, uint16x8_t x)
{
	v[0] = (VEC)vzip1q_u16(vdupq_n_u16(0), x);
	v[1] = (VEC)vzip2q_u16(vdupq_n_u16(0), x);
}

static ALWAYS_INLINE uint16x8_t load_codes(const uint8_t *s)
{
	return vmovl_u8(vld1_u8(s));
}

/* Entry @index < 8 of a table of words; 0 beyond. */
static ALWAYS_INLINE uint16x8_t lookup8_words(VEC table, uint16x8_t index)
{
	uint16x8_t bytes = vaddq_u16(vmulq_n_u16(index, 0x0202), vdupq_n_u16(0x0100));

	return (uint16x8_t)vqtbl1q_u8(table, (uint8x16_t)bytes);
}

static ALWAYS_INLINE uint16x8_t code_sign(uint16x8_t code)
{
	return vandq_u16(vshlq_n_u16(code, 8), vdupq_n_u16(0x8000));
}

/* A normal code needs a shift and the difference of the biases; the subnormals are in a table. */
static ALWAYS_INLINE uint16x8_t f8e4m3_words(const uint8_t *s, VEC table)
{
	uint16x8_t code = load_codes(s);
	uint16x8_t magnitude = vandq_u16(code, vdupq_n_u16(0x7f));
	uint16x8_t y = vaddq_u16(vshlq_n_u16(magnitude, 4), vdupq_n_u16(0x3c00));

	y = vbslq_u16(vcltq_u16(magnitude, vdupq_n_u16(8)), lookup8_words(table, magnitude), y);
	y = vorrq_u16(y, code_sign(code));
	return vbslq_u16(vceqq_u16(magnitude, vdupq_n_u16(0x7f)), vdupq_n_u16(0x7fc0), y);
}

/* Here the table also holds infinity and the NaNs, behind the four subnormals. */
static ALWAYS_INLINE uint16x8_t f8e5m2_words(const uint8_t *s, VEC table, bool nan_sign)
{
	uint16x8_t code = load_codes(s);
	uint16x8_t magnitude = vandq_u16(code, vdupq_n_u16(0x7f));
	uint16x8_t special = vorrq_u16(vcltq_u16(magnitude, vdupq_n_u16(4)),
				       vcgtq_u16(magnitude, vdupq_n_u16(0x7b)));
	uint16x8_t index = vorrq_u16(vandq_u16(code, vdupq_n_u16(3)),
				     vandq_u16(vshrq_n_u16(code, 4), vdupq_n_u16(4)));
	uint16x8_t sign = code_sign(code);
	uint16x8_t y = vaddq_u16(vshlq_n_u16(magnitude, 5), vdupq_n_u16(0x3800));

	if (!nan_sign)
		sign = vbicq_u16(sign, vcgtq_u16(magnitude, vdupq_n_u16(0x7c)));
	return vorrq_u16(vbslq_u16(special, lookup8_words(table, index), y), sign);
}

static ALWAYS_INLINE void f8e4m3_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = (VEC)f8e4m3_words(s + 8 * i, *(const VEC *)ctx);
}

static ALWAYS_INLINE void f8e5m2_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	UNROLL
	for (int i = 0; i < 4; i++)
		v[i] = (VEC)f8e5m2_words(s + 8 * i, *(const VEC *)ctx, true);
}

static ALWAYS_INLINE void f8e4m3_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	widen(v, f8e4m3_words(s, *(const VEC *)ctx));
	widen(v + 2, f8e4m3_words(s + 8, *(const VEC *)ctx));
}

static ALWAYS_INLINE void f8e5m2_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	widen(v, f8e5m2_words(s, *(const VEC *)ctx, true));
	widen(v + 2, f8e5m2_words(s + 8, *(const VEC *)ctx, true));
}

static ALWAYS_INLINE void f8e5m2_bf16_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	widen(v, f8e5m2_words(s, *(const VEC *)ctx, false));
	widen(v + 2, f8e5m2_words(s + 8, *(const VEC *)ctx, false));
}

static ALWAYS_INLINE void f8e4m3_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	VEC table = vec_load(f8e4m3_bf16_small);

	loop(dst, src, n, nt, (struct shape){ 32, 8, 4, f8e4m3_bf16_step }, &table);
}

static ALWAYS_INLINE void f8e5m2_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	VEC table = vec_load(f8e5m2_bf16_special);

	loop(dst, src, n, nt, (struct shape){ 32, 8, 4, f8e5m2_bf16_step }, &table);
}

static ALWAYS_INLINE void f8e4m3_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	VEC table = vec_load(f8e4m3_bf16_small);

	loop(dst, src, n, nt, (struct shape){ 16, 8, 4, f8e4m3_f32_step }, &table);
}

static ALWAYS_INLINE void f8e5m2_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	VEC table = vec_load(f8e5m2_bf16_special);

	loop(dst, src, n, nt, (struct shape){ 16, 8, 4, f8e5m2_f32_step }, &table);
}

static ALWAYS_INLINE void f8e5m2_bf16_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	VEC table = vec_load(f8e5m2_bf16_special);

	loop(dst, src, n, nt, (struct shape){ 16, 8, 4, f8e5m2_bf16_f32_step }, &table);
}

/* ---- bf16 and f32 ---- */

static ALWAYS_INLINE void bf16_f32_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 2; i++) {
		uint16x8_t x = (uint16x8_t)vec_load(s + 16 * i);
		uint16x8_t magnitude = vandq_u16(x, vdupq_n_u16(0x7fff));
		uint16x8_t small = vcltq_u16(magnitude, vdupq_n_u16(0x80));
		uint16x8_t nan = vcgtq_u16(magnitude, vdupq_n_u16(0x7f80));

		x = vsubq_u16(x, vandq_u16(magnitude, small));
		widen(v + 2 * i, vbslq_u16(nan, vdupq_n_u16(0x7fc0), x));
	}
}

static ALWAYS_INLINE void bf16_f32_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 16, 16, 4, bf16_f32_step }, NULL);
}

/* The rounded value in the upper half of each double word. */
static ALWAYS_INLINE uint32x4_t round_to_bf16(uint32x4_t x)
{
	uint32x4_t magnitude = vandq_u32(x, vdupq_n_u32(0x7fffffff));
	uint32x4_t odd = vandq_u32(vshrq_n_u32(x, 16), vdupq_n_u32(1));
	uint32x4_t y = vaddq_u32(vaddq_u32(x, vdupq_n_u32(0x7fff)), odd);

	y = vbslq_u32(vcgtq_u32(magnitude, vdupq_n_u32(0x7f800000)), vdupq_n_u32(0x7fc00000), y);
	return vbslq_u32(vcltq_u32(magnitude, vdupq_n_u32(0x00800000)),
			 vsubq_u32(x, magnitude), y);
}

static ALWAYS_INLINE void f32_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	(void)ctx;
	UNROLL
	for (int i = 0; i < 4; i++) {
		uint32x4_t a = round_to_bf16((uint32x4_t)vec_load(s + 32 * i));
		uint32x4_t b = round_to_bf16((uint32x4_t)vec_load(s + 32 * i + 16));

		v[i] = (VEC)vuzp2q_u16((uint16x8_t)a, (uint16x8_t)b);
	}
}

static ALWAYS_INLINE void f32_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 32, 32, 4, f32_bf16_step }, NULL);
}

/* ---- lookups ---- */

static ALWAYS_INLINE void lut_4_1_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	VEC t = vec_load(table);

	loop(dst, src, n, nt, NIBBLE_BYTE, &t);
}

static ALWAYS_INLINE void lut_4_2_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const uint8x16x2_t *t = ctx;

	UNROLL
	for (int i = 0; i < 2; i++) {
		VEC code = load_nibbles(s + 8 * i);
		VEC lo = vqtbl1q_u8(t->val[0], code), hi = vqtbl1q_u8(t->val[1], code);

		v[2 * i] = vzip1q_u8(lo, hi);
		v[2 * i + 1] = vzip2q_u8(lo, hi);
	}
}

static ALWAYS_INLINE void lut_4_2_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	uint8x16x2_t t = vld2q_u8(table);

	loop(dst, src, n, nt, (struct shape){ 32, 4, 4, lut_4_2_step }, &t);
}

static ALWAYS_INLINE void lut_4_4_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const uint8x16x4_t *t = ctx;
	VEC code = load_nibbles(s);
	VEC b0 = vqtbl1q_u8(t->val[0], code), b1 = vqtbl1q_u8(t->val[1], code);
	VEC b2 = vqtbl1q_u8(t->val[2], code), b3 = vqtbl1q_u8(t->val[3], code);
	uint16x8_t lo = (uint16x8_t)vzip1q_u8(b0, b1), hi = (uint16x8_t)vzip1q_u8(b2, b3);

	v[0] = (VEC)vzip1q_u16(lo, hi);
	v[1] = (VEC)vzip2q_u16(lo, hi);
	lo = (uint16x8_t)vzip2q_u8(b0, b1);
	hi = (uint16x8_t)vzip2q_u8(b2, b3);
	v[2] = (VEC)vzip1q_u16(lo, hi);
	v[3] = (VEC)vzip2q_u16(lo, hi);
}

static ALWAYS_INLINE void lut_4_4_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	uint8x16x4_t t = vld4q_u8(table);

	loop(dst, src, n, nt, (struct shape){ 16, 4, 4, lut_4_4_step }, &t);
}

/* An index beyond 63 leaves the byte as it is, or 0 in the first table. */
static ALWAYS_INLINE void lut_8_1_step(VEC *v, const uint8_t *s, const void *ctx)
{
	const uint8x16x4_t *t = ctx;
	const VEC step = vdupq_n_u8(64);

	UNROLL
	for (int i = 0; i < 4; i++) {
		VEC code = vec_load(s + 16 * i), y = vqtbl4q_u8(t[0], code);

		UNROLL
		for (int q = 1; q < 4; q++) {
			code = vsubq_u8(code, step);
			y = vqtbx4q_u8(y, t[q], code);
		}
		v[i] = y;
	}
}

static ALWAYS_INLINE void lut_8_1_any(bool nt, void *dst, const void *src, size_t n,
				      const void *table)
{
	uint8x16x4_t t[4];

	for (int q = 0; q < 4; q++)
		for (int i = 0; i < 4; i++)
			t[q].val[i] = vec_load((const uint8_t *)table + 64 * q + 16 * i);
	loop(dst, src, n, nt, (struct shape){ 64, 8, 4, lut_8_1_step }, t);
}

/* ---- the table ---- */

#define NEON(name, params, ...)							\
static void name params								\
{										\
	name##_any(false, __VA_ARGS__);						\
}
#define NEON_CONV(name) NEON(name, (void *dst, const void *src, size_t n), dst, src, n)
#define NEON_LUT(name) \
	NEON(name, (void *dst, const void *src, size_t n, const void *table), dst, src, n, table)

NEON_CONV(i4_i32)
NEON_CONV(i8_i32)
NEON_CONV(i16_i32)
NEON_CONV(i4_i8)
NEON_CONV(f4_f8e4m3)
NEON_CONV(f4_f8e5m2)
NEON_CONV(f8e4m3_f32)
NEON_CONV(f8e5m2_f32)
NEON_CONV(f8e5m2_bf16_f32)
NEON_CONV(f8e4m3_bf16)
NEON_CONV(f8e5m2_bf16)
NEON_CONV(bf16_f32)
NEON_CONV(f32_bf16)
NEON_LUT(lut_4_1)
NEON_LUT(lut_4_2)
NEON_LUT(lut_4_4)
NEON_LUT(lut_8_1)
NEON(zps_i4, (int8_t *dst, const void *src, size_t n, int zero_point), dst, src, n, zero_point)
NEON(zps_i8, (int16_t *dst, const int8_t *src, size_t n, int zero_point), dst, src, n,
     zero_point)

static void f4_f32(void *dst, const void *src, size_t n)
{
	static const float values[16] = {
		0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6,
	};

	lut_4_4(dst, src, n, values);
}

void npu_kern_fill_neon(struct npu_kern *k)
{
	k->conv[NPU_CONV_I4_I32] = i4_i32;
	k->conv[NPU_CONV_I8_I32] = i8_i32;
	k->conv[NPU_CONV_I16_I32] = i16_i32;
	k->conv[NPU_CONV_I4_I8] = i4_i8;
	k->conv[NPU_CONV_F4_F8E4M3] = f4_f8e4m3;
	k->conv[NPU_CONV_F4_F8E5M2] = f4_f8e5m2;
	k->conv[NPU_CONV_F4_F32] = f4_f32;
	k->conv[NPU_CONV_F8E4M3_F32] = f8e4m3_f32;
	k->conv[NPU_CONV_F8E4M3_BF16_F32] = f8e4m3_f32;
	k->conv[NPU_CONV_F8E5M2_F32] = f8e5m2_f32;
	k->conv[NPU_CONV_F8E5M2_BF16_F32] = f8e5m2_bf16_f32;
	k->conv[NPU_CONV_F8E4M3_BF16] = f8e4m3_bf16;
	k->conv[NPU_CONV_F8E5M2_BF16] = f8e5m2_bf16;
	k->conv[NPU_CONV_BF16_F32] = bf16_f32;
	k->conv[NPU_CONV_F32_BF16] = f32_bf16;
	k->lut[NPU_KEY_4][NPU_ENTRY_1] = lut_4_1;
	k->lut[NPU_KEY_4][NPU_ENTRY_2] = lut_4_2;
	k->lut[NPU_KEY_4][NPU_ENTRY_4] = lut_4_4;
	k->lut[NPU_KEY_8][NPU_ENTRY_1] = lut_8_1;
	k->zps_i4 = zps_i4;
	k->zps_i8 = zps_i8;
	npu_kern_fill_neon_pp(k);
	npu_kern_fill_neon_dot(k);
}
