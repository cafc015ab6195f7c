/* SPDX-License-Identifier: MIT */
/* npu-demo: a real network's tensors through the engines, for people to look at. */
#ifndef NPU_DEMO_H
#define NPU_DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <npu.h>

#include "tensor/tensor.h"

#define MODEL	"silero_vad_v5.safetensors"

/* ---- load.c: files ---- */

/* A tensor in memory. */
struct loaded {
	uint32_t type;
	uint64_t rows, cols;
	void *data;
	uint64_t bytes;
};

/* Exits with a message where that fails, as all of this program does. */
struct loaded load_tensor(const char *folder, const char *name, uint32_t type);
struct loaded load_raw(const char *folder, const char *name);
/* Values as numbers; free() them. */
double *to_numbers(uint32_t type, const void *data, uint64_t n);
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- job.c: through a queue ---- */

struct outcome {
	void *out;			/* free() it */
	uint64_t bytes;
	uint8_t *emax;			/* of PREPROCESS, a byte a block */
	float *scales;			/* of INT8_SYMMETRIC, one a block */
	struct npu_result result;
	double seconds;			/* submit to fence, the better of some */
};

struct outcome job_preprocess(struct npu_device *dev, const struct loaded *in, uint32_t mode);
/* @lookup, @cast: NPU_TYPE_NONE to leave the stage out. */
struct outcome job_fetch(struct npu_device *dev, const struct loaded *in, uint32_t lookup,
			 uint32_t cast);
struct outcome job_contract(struct npu_device *dev, const struct loaded *in,
			    const struct loaded *weights);
void outcome_free(struct outcome *o);

/* ---- show.c: what is printed ---- */

struct row {
	const char *what;
	const char *becomes;
	uint64_t rows, cols;
	const struct outcome *outcome;
	const double *values;		/* for the histogram */
	uint64_t count;
	double snr;			/* dB; NAN: nothing to compare, INFINITY: no error */
	bool exact;			/* as the expected results have it, bit for bit */
};

void show_begin(const struct npu_device_info *info);
void show_head(const char *title);
void show_row(const struct row *row);
/* Returns the exit status. */
int show_end(const char *folder);

#endif
