// SPDX-License-Identifier: MIT
/* npu bench: the same bytes read and written, and nothing done with them. */
#include "bench.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * One iteration reads @loads and writes @stores vectors of 64 bytes. The widest
 * vectors of the machine bound every level.
 */
#define BOUND(suffix, isa, vec, bytes, load, store, stream_store, set1)		\
static ALWAYS_INLINE __attribute__((target(isa)))				\
void bound_##suffix(uint8_t *d, const uint8_t *s, size_t n, unsigned int loads,	\
		    unsigned int stores, bool stream)				\
{										\
	const vec value = set1(1);						\
										\
	for (; n; n--) {							\
		_Pragma("GCC unroll 32")					\
		for (unsigned int i = 0; i < loads * 64 / bytes; i++) {		\
			vec x = load((const void *)(s + i * bytes));		\
										\
			__asm__ volatile("" : : "v"(x));			\
		}								\
		_Pragma("GCC unroll 64")					\
		for (unsigned int i = 0; i < stores * 64 / bytes; i++) {	\
			if (stream)						\
				stream_store((void *)(d + i * bytes), value);	\
			else							\
				store((void *)(d + i * bytes), value);		\
		}								\
		s += loads * 64;						\
		d += stores * 64;						\
		__asm__ volatile("" : : : "memory");				\
	}									\
	if (stream)								\
		_mm_sfence();							\
}										\
										\
static __attribute__((target(isa)))						\
void run_##suffix(uint8_t *d, const uint8_t *s, size_t n, unsigned int loads,	\
		  unsigned int stores, bool stream)				\
{										\
	/* constants for each shape, as a conversion has them */		\
	SHAPES(suffix)								\
}

#define SHAPE(suffix, l, st)							\
	if (loads == (l) && stores == (st)) {					\
		if (stream)							\
			bound_##suffix(d, s, n, l, st, true);			\
		else								\
			bound_##suffix(d, s, n, l, st, false);			\
		return;								\
	}

#define SHAPES(suffix)								\
	SHAPE(suffix, 1, 8) SHAPE(suffix, 1, 4) SHAPE(suffix, 1, 2) SHAPE(suffix, 1, 1)	\
	SHAPE(suffix, 2, 1) SHAPE(suffix, 16, 27) SHAPE(suffix, 1, 0)

BOUND(avx512, "avx512f", __m512i, 64, _mm512_loadu_si512, _mm512_storeu_si512,
      _mm512_stream_si512, _mm512_set1_epi32)
BOUND(avx2, "avx2", __m256i, 32, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_stream_si256,
      _mm256_set1_epi32)
BOUND(sse2, "sse2", __m128i, 16, _mm_loadu_si128, _mm_storeu_si128, _mm_stream_si128,
      _mm_set1_epi32)

bool bench_bound(const struct bench_job *job, const struct bench_memory *m, size_t n, bool stream)
{
	size_t steps = n * job->in_bits / 8 / (64 * job->loads);

	if (stream && !job->stores)
		return false;
	if (__builtin_cpu_supports("avx512f"))
		run_avx512(m->dst, m->src, steps, job->loads, job->stores, stream);
	else if (__builtin_cpu_supports("avx2"))
		run_avx2(m->dst, m->src, steps, job->loads, job->stores, stream);
	else
		run_sse2(m->dst, m->src, steps, job->loads, job->stores, stream);
	return true;
}
#else
/* The compiler's vectors; no stores past the caches. */
bool bench_bound(const struct bench_job *job, const struct bench_memory *m, size_t n, bool stream)
{
	typedef uint32_t vec __attribute__((vector_size(16), aligned(16), may_alias));
	size_t loads = n * job->in_bits / 8 / sizeof(vec);
	size_t stores = n * job->out_bits / 8 / sizeof(vec);
	const vec *s = (const vec *)(const void *)m->src;
	vec *d = (vec *)(void *)m->dst, value = { 1, 1, 1, 1 }, sum = { 0 };

	if (stream)
		return false;
	for (size_t i = 0, j = 0; i < loads; i++) {
		sum |= s[i];
		for (; j < stores && j * loads < (i + 1) * stores; j++)
			d[j] = value;
	}
	__asm__ volatile("" : : "r"(&sum) : "memory");
	return true;
}
#endif
