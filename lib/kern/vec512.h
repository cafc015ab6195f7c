/* SPDX-License-Identifier: MIT */
/* 64-byte vectors for loop.h. */
#ifndef NPU_KERN_VEC512_H
#define NPU_KERN_VEC512_H

#include <immintrin.h>

#define VEC __m512i
#define VEC_BYTES 64u
#define vec_store(p, v) _mm512_storeu_si512((void *)(p), v)
#define vec_stream(p, v) _mm512_stream_si512((void *)(p), v)
#define stream_fence() _mm_sfence()

#include "level.h"

/* The low @n bits, n <= 64. */
static ALWAYS_INLINE __mmask64 first64(size_t n)
{
	return n ? ~0ull >> (64 - n) : 0;
}

static ALWAYS_INLINE void part_load(uint8_t *buf, const uint8_t *src, size_t bytes, size_t size)
{
	for (size_t at = 0; at < size; at += VEC_BYTES) {
		size_t left = bytes > at ? bytes - at : 0;
		__mmask64 mask = first64(left < VEC_BYTES ? left : VEC_BYTES);

		_mm512_store_si512((void *)(buf + at), _mm512_maskz_loadu_epi8(mask, src + at));
	}
}

static ALWAYS_INLINE void part_store(uint8_t *dst, const __m512i *v, size_t bytes)
{
	for (unsigned int i = 0; i < STEP_MAX && bytes; i++) {
		size_t left = bytes < VEC_BYTES ? bytes : VEC_BYTES;

		_mm512_mask_storeu_epi8(dst + i * VEC_BYTES, first64(left), v[i]);
		bytes -= left;
	}
}

#include "loop.h"

/* 32 bytes as 16-bit words. */
static ALWAYS_INLINE __m512i load32_words(const uint8_t *s)
{
	return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)s));
}

/* 64 nibbles of 32 bytes, one per byte; the upper bits are clear. */
static ALWAYS_INLINE __m512i load_nibbles(const uint8_t *s)
{
	__m512i w = load32_words(s);

	/* (w | w << 4) & mask */
	return _mm512_ternarylogic_epi32(w, _mm512_slli_epi16(w, 4), _mm512_set1_epi8(15), 0xa8);
}

/* The sums of 8 vectors of int32, by one transposition. */
static ALWAYS_INLINE void store_sums(void *out, const __m512i *v)
{
	__m512i x[4];

	UNROLL
	for (unsigned int i = 0; i < 4; i++)
		x[i] = _mm512_add_epi32(_mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]),
					_mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
	UNROLL
	for (unsigned int i = 0; i < 2; i++)
		x[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(x[2 * i], x[2 * i + 1]),
					_mm512_unpackhi_epi64(x[2 * i], x[2 * i + 1]));
	/* now 4 sums in each quarter, 4 quarters to add */
	x[0] = _mm512_add_epi32(_mm512_shuffle_i32x4(x[0], x[1], 0x88),
				_mm512_shuffle_i32x4(x[0], x[1], 0xdd));
	x[0] = _mm512_add_epi32(x[0], _mm512_shuffle_i32x4(x[0], x[0], 0xb1));
	x[0] = _mm512_shuffle_i32x4(x[0], x[0], 0x08);
	_mm256_storeu_si256(out, _mm512_castsi512_si256(x[0]));
}

#endif
