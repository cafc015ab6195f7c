/* SPDX-License-Identifier: MIT */
/* npu preprocess: a run's parts. */
#ifndef NPU_TOOLS_PREPROCESS_H
#define NPU_TOOLS_PREPROCESS_H

#include "run.h"

/* Bytes of a block of FIXED27_PACKED. */
#define PACKED_BLOCK	108

/* What the command line asks for. */
struct preprocess_args {
	uint32_t mode;			/* NPU_PP_MODE_* */
	uint32_t rounding;
	bool has_scale;
	double scale;			/* --scale-value */
	bool strict;
	bool flat;
	const char *emax;		/* files of the side bands, or NULL */
	const char *exponents;
	const char *scales;
};

/* max|x| / 127 over the finite elements of @t, 1 if there are none but zeros. */
int preprocess_find_scale(const struct tensor *t, float *scale);

/* The tensor through the queue, tile by tile. */
int preprocess_run(const struct preprocess_args *args, const struct options *opts,
		   struct npu_device *dev, const struct input *in, struct stats *stats);

#endif
