// SPDX-License-Identifier: MIT
/*
 * AVX512_BF16 beside VBMI: the conversion instruction rounds to nearest even and flushes
 * subnormals to zeros of their sign whatever MXCSR says, as the cast does. Its NaNs keep sign
 * and payload, the cast's do not.
 */
#include "vec512.h"

static ALWAYS_INLINE void f32_bf16_step(VEC *v, const uint8_t *s, const void *ctx)
{
	__m512 a = _mm512_loadu_ps(s);
	__m512 b = _mm512_loadu_ps(s + 64);
	__m512i y = (__m512i)_mm512_cvtne2ps_pbh(b, a);
	__m512i magnitude = _mm512_and_si512(y, _mm512_set1_epi16(0x7fff));
	__mmask32 nan = _mm512_cmpgt_epu16_mask(magnitude, _mm512_set1_epi16(0x7f80));

	(void)ctx;
	v[0] = _mm512_mask_mov_epi16(y, nan, _mm512_set1_epi16(0x7fc0));
}

static ALWAYS_INLINE void f32_bf16_any(bool nt, void *dst, const void *src, size_t n)
{
	loop(dst, src, n, nt, (struct shape){ 32, 32, 1, f32_bf16_step }, NULL);
}

CONV(f32_bf16, 2)

void npu_kern_fill_avx512bf16(struct npu_kern *k, bool nt)
{
	k->conv[NPU_CONV_F32_BF16] = PICK(f32_bf16);
}
