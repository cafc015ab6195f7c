// SPDX-License-Identifier: MIT
/*
 * make check-exhaustive: whole domains, a few minutes in all. Oracles are integer arithmetic or
 * long double, written from the documented numerics and not from scalar.c, which is under test here
 * as well.
 *
 *	exhaustive [--quick] [--level NAME]
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "exhaustive.h"

const struct npu_kern *levels[NPU_KERN_LEVELS];
unsigned int level_count;
unsigned int divisor = 1;

static unsigned int passed, failed, skipped;
static double last;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void count(bool ok)
{
	if (ok)
		passed++;
	else
		failed++;
}

bool same_output(const struct npu_kern *k, const char *what, const void *got, const void *want,
		 size_t bytes, size_t element_bytes)
{
	const uint8_t *a = got, *b = want;

	if (!memcmp(a, b, bytes))
		return true;
	for (size_t i = 0; i < bytes; i++) {
		if (a[i] == b[i])
			continue;
		printf("FAIL %s %s: element %zu, byte %zu is %02x, not %02x\n",
		       npu_kern_level_name(k->level), what, i / element_bytes, i % element_bytes,
		       a[i], b[i]);
		break;
	}
	return false;
}

void done(const char *what, double cases)
{
	double t = now();

	printf("%-44s %14.0f cases at %u levels %8.1f s\n", what, cases, level_count, t - last);
	last = t;
}

int main(int argc, char **argv)
{
	const char *only = NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--quick")) {
			divisor = 64;
		} else if (i + 1 < argc && !strcmp(argv[i], "--level")) {
			only = argv[++i];
		} else {
			fprintf(stderr, "%s: unknown argument %s\n", argv[0], argv[i]);
			return 2;
		}
	}
	for (unsigned int i = 0; i < NPU_KERN_LEVELS; i++) {
		const char *name = npu_kern_level_name(i);

		if (only && strcmp(only, name))
			continue;
		if (npu_kern_level(i)) {
			levels[level_count++] = npu_kern_level(i);
		} else {
			printf("SKIP %s: this CPU or build lacks it\n", name);
			skipped++;
		}
	}
	last = now();
	exhaustive_casts();
	exhaustive_f32_bf16();
	exhaustive_emax();
	exhaustive_symmetric();
	exhaustive_const();
	printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
	return failed != 0;
}
