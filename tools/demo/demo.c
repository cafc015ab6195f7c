// SPDX-License-Identifier: MIT
/*
 * npu-demo FOLDER: a real network's tensors through PREPROCESS and Fetch.
 *
 * Prints what became of each tensor and compares it, bit for bit, with results that an
 * independent model has left in FOLDER.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"

struct demo {
	const char *folder;
	struct npu_device *dev;
};

static bool equals(const struct demo *d, const void *data, uint64_t bytes, const char *expected)
{
	struct loaded want = load_raw(d->folder, expected);
	bool same = want.bytes == bytes && !memcmp(want.data, data, bytes);

	free(want.data);
	return same;
}

/* Signal to quantisation noise, in decibels. */
static double snr(const double *x, const double *y, uint64_t n)
{
	double signal = 0, noise = 0;

	for (uint64_t i = 0; i < n; i++) {
		signal += x[i] * x[i];
		noise += (x[i] - y[i]) * (x[i] - y[i]);
	}
	return noise > 0 ? 10 * log10(signal / noise) : INFINITY;
}

/* What the numbers of @v stand for: each block of a row has its own scale. */
static double *rescale(const struct loaded *in, uint32_t mode, const struct outcome *o,
		       const double *v)
{
	uint64_t blocks = (in->cols + NPU_BLOCK_SIZE - 1) / NPU_BLOCK_SIZE;
	double *y = malloc((in->rows * in->cols + 1) * sizeof(*y));

	if (!y)
		die("out of memory");
	for (uint64_t i = 0; i < in->rows * in->cols; i++) {
		uint64_t block = i / in->cols * blocks + i % in->cols / NPU_BLOCK_SIZE;
		int e = o->emax[block] - 127;

		if (mode == NPU_PP_MODE_INT8_SYMMETRIC)
			y[i] = v[i] * (double)o->scales[block];
		else
			y[i] = ldexp(v[i], mode == NPU_PP_MODE_FIXED27 ? e - 19 : e - 6);
	}
	return y;
}

static void preprocess(const struct demo *d, const char *tensor, uint32_t mode,
		       const char *becomes, const char *ending)
{
	struct loaded in = load_tensor(d->folder, tensor, NPU_TYPE_NONE);
	struct outcome o = job_preprocess(d->dev, &in, mode);
	uint64_t n = in.rows * in.cols;
	double *x = to_numbers(NPU_TYPE_BF16, in.data, n);
	double *v = to_numbers(mode == NPU_PP_MODE_FIXED27 ? NPU_TYPE_I32 : NPU_TYPE_I8, o.out, n);
	double *y = rescale(&in, mode, &o, v);
	char expected[128], side[128];
	struct row row = { tensor, becomes, in.rows, in.cols, &o, v, n, snr(x, y, n), false };

	snprintf(expected, sizeof(expected), "%s.%s", tensor, ending);
	snprintf(side, sizeof(side), "%s.emax.u8", tensor);
	row.exact = equals(d, o.out, o.bytes, expected) &&
		    equals(d, o.emax, in.rows * ((in.cols + 31) / 32), side);
	show_row(&row);
	free(x);
	free(v);
	free(y);
	free(in.data);
	outcome_free(&o);
}

/* NVFP4's scales are the application's: an f8e4m3 for 16 elements, and one f32 for all. */
static double nvfp4_snr(const struct demo *d, const double *v, uint64_t n)
{
	struct loaded w = load_tensor(d->folder, "lstm.weight_ih.bf16", NPU_TYPE_NONE);
	struct loaded s = load_tensor(d->folder, "lstm.weight_ih.nvfp4_scale", NPU_TYPE_NONE);
	struct loaded g = load_tensor(d->folder, "lstm.weight_ih.nvfp4_global_scale", NPU_TYPE_NONE);
	double *x = to_numbers(w.type, w.data, n);
	double *scale = to_numbers(s.type, s.data, n / 16);
	double *global = to_numbers(g.type, g.data, 1);
	double *y = malloc((n + 1) * sizeof(*y));
	double result;

	if (!y)
		die("out of memory");
	for (uint64_t i = 0; i < n; i++)
		y[i] = v[i] * scale[i / 16] * *global;
	result = snr(x, y, n);
	free(x);
	free(y);
	free(scale);
	free(global);
	free(w.data);
	free(s.data);
	free(g.data);
	return result;
}

static void fetch(const struct demo *d, const char *tensor, uint32_t type, uint32_t lookup,
		  uint32_t cast, const char *becomes, const char *expected)
{
	struct loaded in = load_tensor(d->folder, tensor, type);
	struct outcome o = job_fetch(d->dev, &in, lookup, cast);
	uint64_t n = in.rows * in.cols;
	double *v = to_numbers(cast ? cast : lookup, o.out, n);
	struct row row = { tensor, becomes, in.rows, in.cols, &o, v, n, INFINITY, false };

	if (in.type == NPU_TYPE_F4E2M1)
		row.snr = nvfp4_snr(d, v, n);
	row.exact = equals(d, o.out, o.bytes, expected);
	show_row(&row);
	free(v);
	free(in.data);
	outcome_free(&o);
}

static void contract(const struct demo *d)
{
	struct loaded act = load_tensor(d->folder, "act.encoder0_relu", NPU_TYPE_NONE);
	struct loaded w = load_tensor(d->folder, "lstm.weight_ih.i4_packed", NPU_TYPE_I4);
	struct outcome q = job_preprocess(d->dev, &act, NPU_PP_MODE_INT8_EMAX);
	struct loaded in = { NPU_TYPE_I8, act.rows, act.cols, q.out, q.bytes };
	struct outcome o = job_contract(d->dev, &in, &w);
	double *v = to_numbers(NPU_TYPE_I32, o.out, o.bytes / 4);
	struct row row = { "int8 x i4 weights (W4A8)", "i32 sums", act.rows, w.rows, &o, v,
			   o.bytes / 4, NAN, equals(d, o.out, o.bytes, "w4a8.i32") };

	show_row(&row);
	free(v);
	free(act.data);
	free(w.data);
	outcome_free(&q);
	outcome_free(&o);
}

static void show_preprocess(const struct demo *d)
{
	static const char *const tensors[] = { "act.stft_magnitude", "act.encoder0_relu" };

	show_head("PREPROCESS: bf16 activations in blocks of 32");
	for (int i = 0; i < 2; i++) {
		preprocess(d, tensors[i], NPU_PP_MODE_FIXED27, "fixed27", "fixed27.i32");
		preprocess(d, tensors[i], NPU_PP_MODE_INT8_EMAX, "int8, 2^e_max", "int8_emax.i8");
		preprocess(d, tensors[i], NPU_PP_MODE_INT8_SYMMETRIC, "int8, max/127",
			   "int8_symmetric.i8");
	}
}

static void show_fetch(const struct demo *d)
{
	show_head("Fetch: weights through tables and casts");
	fetch(d, "lstm.weight_ih.nvfp4", NPU_TYPE_NONE, NPU_TYPE_F8E4M3, NPU_TYPE_NONE, "f8e4m3",
	      "nvfp4.f8e4m3.u8");
	fetch(d, "lstm.weight_ih.nvfp4", NPU_TYPE_NONE, NPU_TYPE_F8E4M3, NPU_TYPE_F32,
	      "f8e4m3, f32", "nvfp4.f32");
	fetch(d, "lstm.weight_hh.f8e4m3", NPU_TYPE_NONE, NPU_TYPE_NONE, NPU_TYPE_F32, "f32",
	      "lstm.weight_hh.f8e4m3.f32");
	fetch(d, "lstm.weight_hh.f8e5m2", NPU_TYPE_NONE, NPU_TYPE_BF16, NPU_TYPE_NONE, "bf16",
	      "lstm.weight_hh.f8e5m2.bf16");
	fetch(d, "lstm.weight_ih.i4_packed", NPU_TYPE_I4, NPU_TYPE_NONE, NPU_TYPE_I32, "i32",
	      "i4.i32");
	show_head("Contraction: both together");
	contract(d);
}

int main(int argc, char **argv)
{
	struct npu_device_info info = NPU_DEVICE_INFO_INIT;
	struct demo d = { .folder = argc > 1 ? argv[1] : "tests/data/real" };

	if (npu_open(NULL, &d.dev) || npu_get_info(d.dev, &info))
		die("%s", npu_last_error());
	show_begin(&info);
	show_preprocess(&d);
	show_fetch(&d);
	npu_close(d.dev);
	return show_end(d.folder);
}
