/* SPDX-License-Identifier: MIT */
/* What the tests of npu/convert.h share: golden files, memory with a guard page, levels. */
#ifndef TEST_CONVERT_H
#define TEST_CONVERT_H

#include <errno.h>
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include <npu.h>
#include <npu/convert.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CANARY 0xa5

/* The whole file golden/@name; NPU_TEST_DATA in the environment moves the data folder. */
static inline void *load(const char *name, size_t *bytes)
{
	const char *top = getenv("NPU_TEST_DATA");
	char path[512];
	void *data;
	FILE *f;
	long n;

	snprintf(path, sizeof(path), "%s/golden/%s", top ? top : NPU_TEST_DATA, name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("%s: cannot open", path);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	data = malloc(n + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, n, f), n);
	((char *)data)[n] = 0;
	fclose(f);
	*bytes = n;
	return data;
}

/* @bytes that end where a page without access begins. */
static inline uint8_t *guarded(size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page;
	uint8_t *p = mmap(NULL, size + page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + size, page, PROT_NONE), 0);
	return p + size - bytes;
}

static inline void compare(const char *what, const void *got, const void *want, size_t bytes)
{
	const uint8_t *g = got, *w = want;
	size_t i;

	for (i = 0; i < bytes; i++) {
		if (g[i] != w[i])
			fail_msg("%s (%s): byte %zu of %zu is %02x, should be %02x", what,
				 npu_cpu_level(), i, bytes, g[i], w[i]);
	}
}

static inline void compare_canary(const char *what, const uint8_t *p, size_t bytes)
{
	while (bytes--) {
		if (p[bytes] != CANARY)
			fail_msg("%s (%s): wrote outside of its elements", what, npu_cpu_level());
	}
}

/* The same numbers in each run. */
static inline uint32_t next_random(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 32;
}

static inline float float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* On x86 also FTZ and DAZ, which fenv.h does not know. */
static inline void set_rounding(int rounding, bool flush)
{
	fesetround(rounding);
#if defined(__x86_64__)
	__builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~0x8040u) | (flush ? 0x8040 : 0));
#endif
}

static inline bool is_flushing(void)
{
#if defined(__x86_64__)
	return (__builtin_ia32_stmxcsr() & 0x8040) == 0x8040;
#else
	return true;
#endif
}

/*
 * @check at every level that works here, in the default arithmetic environment and in one that
 * rounds up and flushes; the calls must leave that as it is. @check computes with no float.
 */
static inline void each_level(void (*check)(void))
{
	const char *name;
	unsigned int i;

	for (i = 0; (name = npu_cpu_level_name(i)); i++) {
		if (npu_set_cpu_level(name) == -ENOTSUP)
			continue;		/* NPU_CPU is lower */
		assert_string_equal(npu_cpu_level(), name);
		check();
		set_rounding(FE_UPWARD, true);
		check();
		assert_int_equal(fegetround(), FE_UPWARD);
		assert_true(is_flushing());
		set_rounding(FE_TONEAREST, false);
	}
	assert_true(i > 0);
	assert_int_equal(npu_set_cpu_level("auto"), 0);
}

#endif
