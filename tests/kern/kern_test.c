// SPDX-License-Identifier: MIT
/*
 * Every kernel at every level against the scalar specification: exhaustively up to 16 bits, all
 * short lengths, misalignments, guard pages at both ends, and whatever a caller may have in
 * MXCSR. Levels that this CPU lacks are skipped with the reason.
 *
 *	kern_test [--seed N] [--level NAME] [--data DIR] [--runner COMMAND] [--print-level]
 *
 * The runner is what this program runs under, an emulator of another architecture.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kern_test.h"

#define MAX_UNITS 4200
#define GUARDED_BYTES (MAX_UNITS * 256)
#define SHORT_MAX 257
#define CANARY 0xa5

uint64_t test_seed;

static unsigned int passed, failed, skipped;

uint64_t test_random(void)
{
	uint64_t z = test_seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

void fill_random(void *buf, size_t bytes)
{
	uint8_t *p = buf;

	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)test_random();
}

/* Words of exponents from @top down by less than @range. */
static void fill_block(uint16_t *x, unsigned int top, unsigned int range)
{
	for (unsigned int i = 0; i < NPU_KERN_BLOCK; i++) {
		uint64_t r = test_random();
		unsigned int down = (unsigned int)(r >> 32) % range;
		unsigned int e = top > down ? top - down : 0;

		x[i] = (uint16_t)((r & 0x807f) | e << 7);
	}
}

void fill_bf16(uint16_t *x, size_t blocks)
{
	for (size_t b = 0; b < blocks; b++, x += NPU_KERN_BLOCK) {
		uint64_t r = test_random();
		unsigned int top = (unsigned int)(r >> 8) % 255;

		switch (r % 16) {
		case 0:
			fill_random(x, NPU_KERN_BLOCK * 2);
			break;
		case 1:
			memset(x, 0, NPU_KERN_BLOCK * 2);
			x[r >> 32 & 31] = 0x8000;
			break;
		case 2:
			fill_block(x, (unsigned int)(r >> 8) % 64, 40);
			break;
		case 3:
			fill_block(x, 254 - (unsigned int)(r >> 8) % 3, 30);
			break;
		case 4:
			fill_block(x, top, 3);
			x[r >> 32 & 31] = (uint16_t)(0x7f80 | (r >> 40 & 0x80ff));
			break;
		case 5:
			/* half of the largest, and the rails: ties */
			fill_block(x, top, 9);
			for (unsigned int i = 0; i < NPU_KERN_BLOCK; i += 2)
				x[i] = (uint16_t)(x[i] | 0x7f);
			break;
		case 6:
			fill_block(x, 127, 255);
			break;
		default:
			fill_block(x, 120 + (unsigned int)(r >> 8) % 12, 1 + (r >> 16) % 20);
		}
	}
}

void check(bool ok, const char *level, const char *function, const char *what)
{
	if (ok) {
		passed++;
		return;
	}
	failed++;
	printf("FAIL %s %s: %s\n", level, function, what);
}

struct guarded guarded_new(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct guarded g;
	uint8_t *p;

	bytes = (bytes + page - 1) / page * page;
	p = mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || mprotect(p + page, bytes, PROT_READ | PROT_WRITE)) {
		perror("mmap");
		exit(1);
	}
	g.start = p + page;
	g.end = g.start + bytes;
	return g;
}

static size_t in_bytes(const struct kernel *f, size_t n)
{
	return (n * f->in_bits + 7) / 8;
}

/* PREPROCESS kernels: 37 bytes of side bands per block. */
static size_t out_bytes(const struct kernel *f, size_t n)
{
	static const unsigned int pp[NPU_PP_MODES] = { 128, 108, 32, 32, 32, 32, 32 };

	if (f->bf16)
		return n * (pp[f->index % NPU_PP_MODES] + 37) + TAIL_BYTES;
	return n * f->out_bytes;
}

static struct guarded src_mem, dst_mem;
static uint8_t input[GUARDED_BYTES], want[GUARDED_BYTES];

static void new_input(const struct kernel *f, size_t n)
{
	if (f->bf16)
		fill_bf16((uint16_t *)(void *)input, n);
	else
		fill_random(input, in_bytes(f, n));
}

/* @n units from @src to @dst, with canaries around where there is room. */
static bool same(const struct kernel *f, const struct npu_kern *k, uint8_t *dst, uint8_t *src,
		 size_t n, unsigned int mode)
{
	size_t in = in_bytes(f, n), out = out_bytes(f, n);
	size_t before = (size_t)(dst - dst_mem.start), after = (size_t)(dst_mem.end - dst - out);
	unsigned long saved = fp_get(), left;
	bool ok = true;

	before = before < 64 ? before : 64;
	after = after < 64 ? after : 64;
	memcpy(src, input, in);
	memset(dst - before, CANARY, before + out + after);
	fp_set(fp_mode(mode));
	f->run(k, f->index, dst, src, n);
	left = fp_get();
	fp_set(saved);
	if (memcmp(dst, want, out) || fp_control(left) != fp_control(fp_mode(mode)))
		return false;
	for (size_t i = 0; i < before; i++)
		ok &= dst[-(ptrdiff_t)i - 1] == CANARY;
	for (size_t i = 0; i < after; i++)
		ok &= dst[out + i] == CANARY;
	return ok && !memcmp(src, input, in);
}

static void expect(const struct kernel *f, const struct npu_kern *scalar, size_t n)
{
	memset(want, 0, out_bytes(f, n));
	f->run(scalar, f->index, want, input, n);
}

static void test_lengths(const struct kernel *f, const struct npu_kern *scalar,
			 const struct npu_kern *k, const char *level)
{
	bool at_end = true, at_start = true, anywhere = true;
	size_t max = f->bf16 ? 70 : SHORT_MAX;

	for (size_t n = 0; n <= max; n++) {
		new_input(f, n);
		expect(f, scalar, n);
		at_end &= same(f, k, dst_mem.end - out_bytes(f, n), src_mem.end - in_bytes(f, n),
			       n, 0);
		at_start &= same(f, k, dst_mem.start, src_mem.start, n, 0);
		for (unsigned int i = 0; i < 4; i++)
			anywhere &= same(f, k, dst_mem.start + 64 + test_random() % 64,
					 src_mem.start + test_random() % 64, n, 0);
	}
	check(at_end, level, f->name, "lengths, up to the end of a page");
	check(at_start, level, f->name, "lengths, from the start of a page");
	check(anywhere, level, f->name, "lengths, misaligned");
}

static void test_misaligned(const struct kernel *f, const struct npu_kern *scalar,
			    const struct npu_kern *k, const char *level)
{
	size_t n = f->bf16 ? 37 : 333;
	bool ok = true;

	new_input(f, n);
	expect(f, scalar, n);
	for (unsigned int d = 0; d < 64; d++)
		for (unsigned int s = 0; s < 64; s += f->bf16 ? 5 : 1)
			ok &= same(f, k, dst_mem.start + 64 + d, src_mem.start + s, n, 0);
	check(ok, level, f->name, "all misalignments");
}

static void test_long(const struct kernel *f, const struct npu_kern *scalar,
		      const struct npu_kern *k, const char *level)
{
	size_t n = f->bf16 ? 700 : MAX_UNITS;
	bool ok = true;

	for (unsigned int i = 0; i < 4; i++) {
		n -= test_random() % 17;
		new_input(f, n);
		expect(f, scalar, n);
		ok &= same(f, k, dst_mem.start + 64 * (i + 1) + test_random() % 64 * (i & 1),
			   src_mem.start + i, n, 0);
	}
	check(ok, level, f->name, "long input");
}

static void test_modes(const struct kernel *f, const struct npu_kern *scalar,
		       const struct npu_kern *k, const char *level)
{
	size_t n = f->bf16 ? 100 : 999;
	bool ok = true;

	for (unsigned int mode = 0; mode < FP_MODES; mode++) {
		new_input(f, n);
		expect(f, scalar, n);
		ok &= same(f, k, dst_mem.start + 64, src_mem.start, n, mode);
		/* the specification itself */
		ok &= same(f, scalar, dst_mem.start + 64, src_mem.start, n, mode);
	}
	check(ok, level, f->name, "rounding modes, FTZ, DAZ");
}

/* All values of inputs up to 16 bits. */
static void test_exhaustive(const struct kernel *f, const struct npu_kern *scalar,
			    const struct npu_kern *k, const char *level)
{
	static uint16_t all[65536];
	static uint8_t a[65536 * 4], b[65536 * 4];
	size_t n;

	if (f->in_bits > 16)
		return;
	n = f->in_bits == 4 ? 512 : 1u << f->in_bits;
	for (unsigned int i = 0; i < 65536; i++)
		all[i] = (uint16_t)i;
	if (f->in_bits < 16)
		for (unsigned int i = 0; i < 256; i++)
			((uint8_t *)all)[i] = (uint8_t)i;
	f->run(scalar, f->index, a, (const uint8_t *)all, n);
	f->run(k, f->index, b, (const uint8_t *)all, n);
	check(!memcmp(a, b, out_bytes(f, n)), level, f->name, "all values");
}

static void test_level(const struct npu_kern *k, const char *name, const char *data)
{
	const struct npu_kern *scalar = npu_kern_level(NPU_KERN_SCALAR);
	size_t threshold = npu_kern_stream_bytes;
	char label[32];

	for (unsigned int stores = 0; stores < 3; stores++) {
		const struct npu_kern *table = stores == 1 ? k->nt : k;

		snprintf(label, sizeof(label), "%s%s", name,
			 stores == 0 ? "" : stores == 1 ? " nt" : " past threshold");
		/* so that lengths of the tests are on both sides of it */
		npu_kern_stream_bytes = stores == 2 ? 600 : threshold;
		for (unsigned int i = 0; i < kernel_count; i++) {
			const struct kernel *f = &kernels[i];

			test_exhaustive(f, scalar, table, label);
			test_lengths(f, scalar, table, label);
			test_long(f, scalar, table, label);
			if (stores < 2)
				test_misaligned(f, scalar, table, label);
			test_modes(f, scalar, table, label);
		}
	}
	npu_kern_stream_bytes = threshold;
	test_zero(k, name);
	test_dot(scalar, k, name);
	if (data)
		test_golden(k, name, data);
}

static void skip(const char *what, const char *why)
{
	skipped++;
	printf("SKIP %s: %s\n", what, why);
}

/* NPU_CPU lowers the level in use and nothing else; an unknown name changes nothing. */
static void test_environment(const char *self, const char *runner)
{
	char command[4096], line[64] = "", best[64];

	snprintf(best, sizeof(best), "%s\n", npu_kern_level_name(npu_kern_get()->level));
	for (unsigned int level = 0; level < NPU_KERN_LEVELS; level++) {
		const char *name = npu_kern_level_name(level);
		FILE *f;

		snprintf(command, sizeof(command), "NPU_CPU=%s %s '%s' --print-level", name,
			 runner, self);
		f = popen(command, "r");
		if (!f || !fgets(line, sizeof(line), f))
			line[0] = 0;
		if (f)
			pclose(f);
		snprintf(command, sizeof(command), "%s\n", name);
		check(!strcmp(line, npu_kern_level(level) ? command : best), name, "NPU_CPU",
		      "the level in use");
	}
}

static void test_set_level(void)
{
	enum npu_kern_level best = npu_kern_get()->level;

	for (int level = -1; level <= NPU_KERN_LEVELS; level++) {
		bool there = level >= 0 && npu_kern_level(level);
		int ret = npu_kern_set_level(level);

		check(ret == (there ? 0 : -ENOTSUP), "dispatch", "npu_kern_set_level", "result");
		check(!there || npu_kern_get()->level == (enum npu_kern_level)level, "dispatch",
		      "npu_kern_set_level", "level in use");
	}
	check(!npu_kern_set_level(best), "dispatch", "npu_kern_set_level", "restore");
	check(!npu_kern_level_name(NPU_KERN_LEVELS), "dispatch", "npu_kern_level_name",
	      "unknown level");
}

int main(int argc, char **argv)
{
	const char *only = NULL, *data = NULL, *runner = "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_seed = (uint64_t)time(NULL);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--print-level")) {
			puts(npu_kern_level_name(npu_kern_get()->level));
			return 0;
		}
		if (i + 1 < argc && !strcmp(argv[i], "--seed")) {
			test_seed = strtoull(argv[++i], NULL, 0);
		} else if (i + 1 < argc && !strcmp(argv[i], "--level")) {
			only = argv[++i];
		} else if (i + 1 < argc && !strcmp(argv[i], "--data")) {
			data = argv[++i];
		} else if (i + 1 < argc && !strcmp(argv[i], "--runner")) {
			runner = argv[++i];
		} else {
			fprintf(stderr, "%s: unknown argument %s\n", argv[0], argv[i]);
			return 2;
		}
	}
	printf("seed %llu\n", (unsigned long long)test_seed);
	src_mem = guarded_new(GUARDED_BYTES);
	dst_mem = guarded_new(GUARDED_BYTES);
	fill_random(test_table, sizeof(test_table));

	for (unsigned int level = 0; level < NPU_KERN_LEVELS; level++) {
		const char *name = npu_kern_level_name(level);

		if (only && strcmp(only, name))
			continue;
		if (npu_kern_level(level))
			test_level(npu_kern_level(level), name, data);
		else if (level == NPU_KERN_NEON)
			skip(name, "not an AArch64 CPU");
		else
			skip(name, "this CPU lacks it");
	}
	if (!data)
		skip("golden vectors", "no --data DIR");
	test_set_level();
	if (!only)
		test_environment(argv[0], runner);
	printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
	return failed != 0;
}
