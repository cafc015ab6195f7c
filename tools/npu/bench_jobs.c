// SPDX-License-Identifier: MIT
/* npu bench: what is measured. */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <npu/convert.h>

#include "bench.h"

/* Elements of a row of weights. */
#define DOT_K	1024

#define CONVERT(name, type_in, type_out)					\
static void run_##name(const struct bench_memory *m, size_t n)			\
{										\
	npu_convert_##name((type_out *)(void *)m->dst, (const type_in *)(const void *)m->src, n); \
}

CONVERT(f8e4m3_f32, uint8_t, float)
CONVERT(f8e5m2_f32, uint8_t, float)
CONVERT(f8e4m3_bf16, uint8_t, uint16_t)
CONVERT(f8e5m2_bf16, uint8_t, uint16_t)
CONVERT(f4_f8e4m3, void, uint8_t)
CONVERT(f4_f8e5m2, void, uint8_t)
CONVERT(f4_f32, void, float)
CONVERT(i4_i32, void, int32_t)
CONVERT(i8_i32, int8_t, int32_t)
CONVERT(i16_i32, int16_t, int32_t)
CONVERT(bf16_f32, uint16_t, float)
CONVERT(f32_bf16, float, uint16_t)

static const uint16_t *words(const struct bench_memory *m)
{
	return (const uint16_t *)(const void *)m->src;
}

static void run_bf16_fixed27(const struct bench_memory *m, size_t n)
{
	struct npu_convert_blocks b = { .size = sizeof(b), .emax = m->side };

	npu_convert_bf16_fixed27((int32_t *)(void *)m->dst, words(m), n, &b);
}

static void run_bf16_fixed27_packed(const struct bench_memory *m, size_t n)
{
	struct npu_convert_blocks b = { .size = sizeof(b), .emax = m->side };

	npu_convert_bf16_fixed27_packed(m->dst, words(m), n, &b);
}

static void run_bf16_int8_emax(const struct bench_memory *m, size_t n)
{
	struct npu_convert_blocks b = { .size = sizeof(b), .emax = m->side };

	npu_convert_bf16_int8_emax((int8_t *)m->dst, words(m), n, 0, &b);
}

static void run_bf16_int8_symmetric(const struct bench_memory *m, size_t n)
{
	npu_convert_bf16_int8_symmetric((int8_t *)m->dst, (float *)(void *)m->side, words(m), n,
					NULL);
}

static void run_i8zp_i9(const struct bench_memory *m, size_t n)
{
	npu_convert_i8_i9((int16_t *)(void *)m->dst, (const int8_t *)m->src, n, 5);
}

static void run_i4zp_i5(const struct bench_memory *m, size_t n)
{
	npu_convert_i4_i5((int8_t *)m->dst, m->src, n, 3);
}

static void run_lut8_u8(const struct bench_memory *m, size_t n)
{
	npu_convert_lookup8(m->dst, m->src, n, m->table, 1);
}

static void run_lut8_u16(const struct bench_memory *m, size_t n)
{
	npu_convert_lookup8(m->dst, m->src, n, m->table, 2);
}

static void run_lut8_u32(const struct bench_memory *m, size_t n)
{
	npu_convert_lookup8(m->dst, m->src, n, m->table, 4);
}

static void run_lut16_u16(const struct bench_memory *m, size_t n)
{
	npu_convert_lookup16(m->dst, m->src, n, m->table, 2);
}

/* An element is a multiplication; the activations are the table's memory. */
static void run_i8_dot(const struct bench_memory *m, size_t n)
{
	npu_convert_dot_i8((int32_t *)(void *)m->dst, (const int8_t *)m->table,
			   (const int8_t *)m->src, DOT_K, DOT_K, n / DOT_K);
}

static void run_bf16_dot(const struct bench_memory *m, size_t n)
{
	const uint16_t *row = words(m);

	npu_convert_dot_bf16((float *)(void *)m->dst, row, row, DOT_K, DOT_K, n / DOT_K);
}

#define JOB(name, in, out, loads, stores, unit, bf16) \
	{ #name, in, out, loads, stores, unit, bf16, run_##name }

const struct bench_job bench_jobs[] = {
	JOB(bf16_fixed27, 16, 32, 1, 2, 512, true),
	JOB(bf16_fixed27_packed, 16, 27, 16, 27, 512, true),
	JOB(bf16_int8_emax, 16, 8, 2, 1, 512, true),
	JOB(bf16_int8_symmetric, 16, 8, 2, 1, 512, true),
	JOB(f8e4m3_f32, 8, 32, 1, 4, 512, false),
	JOB(f8e5m2_f32, 8, 32, 1, 4, 512, false),
	JOB(f8e4m3_bf16, 8, 16, 1, 2, 512, false),
	JOB(f8e5m2_bf16, 8, 16, 1, 2, 512, false),
	JOB(f4_f8e4m3, 4, 8, 1, 2, 512, false),
	JOB(f4_f8e5m2, 4, 8, 1, 2, 512, false),
	JOB(f4_f32, 4, 32, 1, 8, 512, false),
	JOB(i4_i32, 4, 32, 1, 8, 512, false),
	JOB(i8_i32, 8, 32, 1, 4, 512, false),
	JOB(i16_i32, 16, 32, 1, 2, 512, false),
	JOB(bf16_f32, 16, 32, 1, 2, 512, true),
	JOB(f32_bf16, 32, 16, 2, 1, 512, false),
	JOB(i8zp_i9, 8, 16, 1, 2, 512, false),
	JOB(i4zp_i5, 4, 8, 1, 2, 512, false),
	JOB(lut8_u8, 8, 8, 1, 1, 512, false),
	JOB(lut8_u16, 8, 16, 1, 2, 512, false),
	JOB(lut8_u32, 8, 32, 1, 4, 512, false),
	JOB(lut16_u16, 16, 16, 1, 1, 512, true),
	JOB(i8_dot, 8, 0, 1, 0, DOT_K, false),
	JOB(bf16_dot, 16, 0, 1, 0, DOT_K, true),
};

const unsigned int bench_job_count = ARRAY_SIZE(bench_jobs);

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_now(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

double bench_cpu_now(void)
{
	return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 1, bytes);
	return p;
}

int bench_memory_new(struct bench_memory *m, size_t bytes)
{
	m->bytes = bytes;
	m->src = map(bytes);
	m->dst = map(bytes);
	m->side = map(bytes / 8);
	m->table = map(65536 * 4);
	return m->src && m->dst && m->side && m->table ? 0 : -1;
}

/* splitmix64: the same numbers in each run. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* N(0,1) as bf16, by the polar method's plainer brother. */
static uint16_t normal(uint64_t *state)
{
	double u = ((double)(next(state) >> 11) + 1) * 0x1p-53;
	double v = (double)(next(state) >> 11) * 0x1p-53;
	float x = (float)(sqrt(-2 * log(u)) * cos(2 * M_PI * v));
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return (uint16_t)(bits >> 16);
}

/* A random piece, repeated: generating all of it would take longer than the measurement. */
void bench_memory_fill(struct bench_memory *m, bool bf16)
{
	const size_t piece = 1 << 20;
	uint64_t state = 1;

	for (size_t i = 0; i < piece / 8; i++) {
		uint64_t v = next(&state);

		if (bf16)
			for (int j = 0; j < 4; j++)
				v = v << 16 | normal(&state);
		memcpy(m->src + 8 * i, &v, sizeof(v));
	}
	for (size_t at = piece; at < m->bytes; at += piece)
		memcpy(m->src + at, m->src, m->bytes - at < piece ? m->bytes - at : piece);
	for (size_t i = 0; i < 65536 * 4; i += 8) {
		uint64_t v = next(&state);

		memcpy(m->table + i, &v, sizeof(v));
	}
}
