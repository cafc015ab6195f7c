// SPDX-License-Identifier: MIT
/* Which level this CPU has, and which one is in use. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "level.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "little-endian hosts only"
#endif

/*
 * A last level larger than this is shared, by many cores or many guests, and what is
 * written through it costs a read of each line as well.
 */
#define STREAM_BYTES_MAX ((size_t)8 << 20)

size_t npu_kern_stream_bytes = STREAM_BYTES_MAX;

static const char *const names[NPU_KERN_LEVELS] = {
	[NPU_KERN_SCALAR] = "scalar",
	[NPU_KERN_SSE4] = "sse4",
	[NPU_KERN_AVX2] = "avx2",
	[NPU_KERN_AVX512] = "avx512",
	[NPU_KERN_AVX512VBMI] = "avx512vbmi",
	[NPU_KERN_NEON] = "neon",
};

/* Cached and non-temporal stores. */
static struct npu_kern tables[NPU_KERN_LEVELS][2];
static bool present[NPU_KERN_LEVELS];
/* Of the CPU, and the highest that NPU_CPU allows. */
static enum npu_kern_level best = NPU_KERN_SCALAR, allowed = NPU_KERN_SCALAR;
static atomic_int current;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct npu_kern *add(enum npu_kern_level level, enum npu_kern_level below, bool nt)
{
	struct npu_kern *k = &tables[level][nt];

	if (level == NPU_KERN_SCALAR)
		npu_kern_fill_scalar(k);
	else
		*k = tables[below][nt];
	k->level = level;
	k->nt = &tables[level][1];
	present[level] = true;
	best = level;
	return k;
}

#if defined(__x86_64__)
#include <cpuid.h>

/* XCR0: what the operating system saves. */
static unsigned int xcr0(void)
{
	unsigned int eax, edx;

	__asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
	return eax;
}

static void detect_stores(bool nt)
{
	unsigned int a, b, c = 0, d, b7 = 0, c7 = 0, d7, a71 = 0, os = 0;
	const unsigned int avx2 = bit_AVX2 | bit_BMI | bit_BMI2;
	const unsigned int avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1) || !(c & bit_SSSE3))
		return;
	npu_kern_fill_sse4(add(NPU_KERN_SSE4, NPU_KERN_SCALAR, nt), nt);

	if (c & bit_OSXSAVE)
		os = xcr0();
	if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7))
		return;
	if ((os & 0x06) != 0x06 || !(c & bit_FMA) || !(c & bit_F16C) || (b7 & avx2) != avx2)
		return;
	npu_kern_fill_avx2(add(NPU_KERN_AVX2, NPU_KERN_SSE4, nt), nt);

	if ((os & 0xe6) != 0xe6 || (b7 & avx512) != avx512)
		return;
	npu_kern_fill_avx512(add(NPU_KERN_AVX512, NPU_KERN_AVX2, nt), nt);

	if (!(c7 & bit_AVX512VBMI))
		return;
	npu_kern_fill_avx512vbmi(add(NPU_KERN_AVX512VBMI, NPU_KERN_AVX512, nt), nt);
	if (c7 & bit_AVX512VNNI)
		npu_kern_fill_avx512vnni(&tables[NPU_KERN_AVX512VBMI][nt]);
	if (a >= 1 && __get_cpuid_count(7, 1, &a71, &b, &c, &d) && (a71 & bit_AVX512BF16))
		npu_kern_fill_avx512bf16(&tables[NPU_KERN_AVX512VBMI][nt], nt);
}
#elif defined(__aarch64__)
#include <sys/auxv.h>

#ifndef HWCAP_ASIMD
#define HWCAP_ASIMD (1 << 1)
#endif

static void detect_stores(bool nt)
{
	if (getauxval(AT_HWCAP) & HWCAP_ASIMD)
		npu_kern_fill_neon(add(NPU_KERN_NEON, NPU_KERN_SCALAR, nt));
}
#else
static void detect_stores(bool nt)
{
	(void)nt;
}
#endif

static int level_of(const char *name)
{
	for (int level = 0; level < NPU_KERN_LEVELS; level++)
		if (!strcmp(names[level], name))
			return level;
	return -1;
}

static void detect(void)
{
	const char *wanted = getenv("NPU_CPU");
	long cache = 0;

	for (int nt = 0; nt < 2; nt++) {
		add(NPU_KERN_SCALAR, NPU_KERN_SCALAR, nt);
		detect_stores(nt);
	}
#ifdef _SC_LEVEL3_CACHE_SIZE
	cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
	if (cache <= 0)
		cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
	if (cache > 0)
		npu_kern_stream_bytes = (size_t)cache / 2;
	if (npu_kern_stream_bytes > STREAM_BYTES_MAX)
		npu_kern_stream_bytes = STREAM_BYTES_MAX;

	allowed = best;
	/* a level that is unknown or lacking lowers nothing */
	if (wanted && level_of(wanted) >= 0 && present[level_of(wanted)])
		allowed = (enum npu_kern_level)level_of(wanted);
	atomic_store(&current, allowed);
}

const struct npu_kern *npu_kern_get(void)
{
	pthread_once(&once, detect);
	return &tables[atomic_load_explicit(&current, memory_order_relaxed)][0];
}

const struct npu_kern *npu_kern_level(enum npu_kern_level level)
{
	pthread_once(&once, detect);
	if ((unsigned int)level >= NPU_KERN_LEVELS || !present[level])
		return NULL;
	return &tables[level][0];
}

int npu_kern_set_level(enum npu_kern_level level)
{
	if (!npu_kern_level(level) || level > allowed)
		return -ENOTSUP;
	atomic_store(&current, level);
	return 0;
}

void npu_kern_reset_level(void)
{
	pthread_once(&once, detect);
	atomic_store(&current, allowed);
}

const char *npu_kern_level_name(enum npu_kern_level level)
{
	return (unsigned int)level < NPU_KERN_LEVELS ? names[level] : NULL;
}
