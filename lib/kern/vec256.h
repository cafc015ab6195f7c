/* SPDX-License-Identifier: MIT */
/* 32-byte vectors for loop.h. */
#ifndef NPU_KERN_VEC256_H
#define NPU_KERN_VEC256_H

#include <immintrin.h>
#include <string.h>

#include "level.h"

#define VEC __m256i
#define VEC_BYTES 32u
#define vec_load(p) _mm256_loadu_si256((const void *)(p))
#define vec_store(p, v) _mm256_storeu_si256((void *)(p), v)
#define vec_stream(p, v) _mm256_stream_si256((void *)(p), v)
#define stream_fence() _mm_sfence()

#include "buffer.h"
#include "loop.h"

static ALWAYS_INLINE __m128i load16(const uint8_t *s)
{
	return _mm_loadu_si128((const void *)s);
}

static ALWAYS_INLINE __m256i load16_words(const uint8_t *s)
{
	return _mm256_cvtepu8_epi16(load16(s));
}

/* 32 nibbles of 16 bytes, one per byte; the upper bits are clear. */
static ALWAYS_INLINE __m256i load_nibbles(const uint8_t *s)
{
	__m256i w = load16_words(s);

	return _mm256_and_si256(_mm256_or_si256(w, _mm256_slli_epi16(w, 4)), _mm256_set1_epi8(15));
}

#endif
