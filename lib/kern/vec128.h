/* SPDX-License-Identifier: MIT */
/* 16-byte vectors for loop.h. */
#ifndef NPU_KERN_VEC128_H
#define NPU_KERN_VEC128_H

#include <smmintrin.h>
#include <string.h>
#include <tmmintrin.h>

#include "level.h"

#define VEC __m128i
#define VEC_BYTES 16u
#define vec_load(p) _mm_loadu_si128((const void *)(p))
#define vec_store(p, v) _mm_storeu_si128((void *)(p), v)
#define vec_stream(p, v) _mm_stream_si128((void *)(p), v)
#define stream_fence() _mm_sfence()

#include "buffer.h"
#include "loop.h"

static ALWAYS_INLINE __m128i load4(const uint8_t *s)
{
	int x;

	memcpy(&x, s, sizeof(x));
	return _mm_cvtsi32_si128(x);
}

static ALWAYS_INLINE __m128i load8(const uint8_t *s)
{
	return _mm_loadl_epi64((const void *)s);
}

/* 16 nibbles of 8 bytes, one per byte; the upper bits are clear. */
static ALWAYS_INLINE __m128i load_nibbles(const uint8_t *s)
{
	__m128i w = _mm_cvtepu8_epi16(load8(s));

	return _mm_and_si128(_mm_or_si128(w, _mm_slli_epi16(w, 4)), _mm_set1_epi8(15));
}

#endif
