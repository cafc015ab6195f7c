/* SPDX-License-Identifier: MIT */
/* npu bench: the parts. */
#ifndef NPU_TOOLS_BENCH_H
#define NPU_TOOLS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "cmd.h"

/* Memory of one measurement, each part as large as the largest working set. */
struct bench_memory {
	uint8_t *src;
	uint8_t *dst;
	uint8_t *side;		/* e_max and scales */
	uint8_t *table;		/* 65536 entries of 4 bytes */
	size_t bytes;
};

/*
 * struct bench_job - a conversion
 * @in_bits, @out_bits: of an element
 * @loads, @stores: vectors in the same proportion, for the bound
 * @unit: elements that a working set is rounded to
 * @bf16: input is N(0,1), not random bits
 */
struct bench_job {
	const char *name;
	unsigned int in_bits;
	unsigned int out_bits;
	unsigned int loads;
	unsigned int stores;
	unsigned int unit;
	bool bf16;
	void (*run)(const struct bench_memory *m, size_t n);
};

extern const struct bench_job bench_jobs[];
extern const unsigned int bench_job_count;

int bench_memory_new(struct bench_memory *m, size_t bytes);
void bench_memory_fill(struct bench_memory *m, bool bf16);

/* Seconds on the clock, and of this thread: work that nobody shares is not charged for others. */
double bench_now(void);
double bench_cpu_now(void);

/*
 * Reads and writes as many bytes as the job does with @n elements, and does nothing else; past
 * the caches with @stream. False where there is no such kernel for this machine.
 */
bool bench_bound(const struct bench_job *job, const struct bench_memory *m, size_t n,
		 bool stream);

/* Submit cost through @device; NULL where it could not be measured, after saying why. */
json_t *bench_submit(const struct options *opts, bool quick, int *status);
void bench_submit_print(const json_t *submit);

#endif
