// SPDX-License-Identifier: MIT
/* The published model's and the RTL's own results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kern_test.h"

struct file {
	uint8_t *data;
	size_t bytes;
};

static struct file read_file(const char *dir, const char *name)
{
	struct file f = { NULL, 0 };
	char path[4096];
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s.bin", dir, name);
	in = fopen(path, "rb");
	if (!in || fseek(in, 0, SEEK_END)) {
		perror(path);
		exit(1);
	}
	f.bytes = (size_t)ftell(in);
	rewind(in);
	f.data = malloc(f.bytes);
	if (!f.data || fread(f.data, 1, f.bytes, in) != f.bytes) {
		perror(path);
		exit(1);
	}
	fclose(in);
	return f;
}

static uint8_t out[1 << 20];

static void compare(const char *level, const char *dir, const char *name)
{
	struct file want = read_file(dir, name);

	check(!memcmp(out, want.data, want.bytes), level, name, "golden vector");
	free(want.data);
}

/* Files named after the conversion; input is all codes, or the random stream. */
static const struct {
	const char *name;
	unsigned int conv, in_bits;
} casts[] = {
	{ "cast_i4_i32", NPU_CONV_I4_I32, 4 },
	{ "cast_i8_i32", NPU_CONV_I8_I32, 8 },
	{ "cast_i16_i32", NPU_CONV_I16_I32, 16 },
	{ "cast_f8e4m3_f32", NPU_CONV_F8E4M3_F32, 8 },
	{ "cast_f8e5m2_f32", NPU_CONV_F8E5M2_F32, 8 },
	{ "cast_bf16_f32", NPU_CONV_BF16_F32, 16 },
	{ "lut_f4e2m1_f8e4m3", NPU_CONV_F4_F8E4M3, 4 },
	{ "lut_f4e2m1_f8e5m2", NPU_CONV_F4_F8E5M2, 4 },
	{ "lut_f8e4m3_bf16", NPU_CONV_F8E4M3_BF16, 8 },
	{ "lut_f8e5m2_bf16", NPU_CONV_F8E5M2_BF16, 8 },
	{ "chain_f4e2m1_f8e4m3_f32", NPU_CONV_F4_F32, 4 },
	{ "chain_f4e2m1_f8e5m2_f32", NPU_CONV_F4_F32, 4 },
	{ "chain_f8e4m3_bf16_f32", NPU_CONV_F8E4M3_BF16_F32, 8 },
	{ "chain_f8e5m2_bf16_f32", NPU_CONV_F8E5M2_BF16_F32, 8 },
};

static void test_casts(const struct npu_kern *k, const char *level, const char *dir)
{
	static uint16_t words[65536];
	struct file stream = read_file(dir, "fetch_stream_in");
	struct file in = read_file(dir, "fetch_cast_f32_bf16_in");
	uint8_t bytes[256];
	char name[64];

	for (unsigned int i = 0; i < 65536; i++)
		words[i] = (uint16_t)i;
	for (unsigned int i = 0; i < 256; i++)
		bytes[i] = (uint8_t)i;
	for (unsigned int i = 0; i < sizeof(casts) / sizeof(casts[0]); i++) {
		const void *all = casts[i].in_bits == 16 ? (const void *)words : bytes;
		size_t n = casts[i].in_bits == 16 ? 65536 : 2048 / casts[i].in_bits;

		snprintf(name, sizeof(name), "fetch_%s", casts[i].name);
		k->conv[casts[i].conv](out, all, n);
		compare(level, dir, name);
		if (!strncmp(casts[i].name, "chain", 5))
			continue;
		snprintf(name, sizeof(name), "fetch_stream_%s", casts[i].name);
		k->conv[casts[i].conv](out, stream.data, stream.bytes * 8 / casts[i].in_bits);
		compare(level, dir, name);
	}
	k->conv[NPU_CONV_F32_BF16](out, in.data, in.bytes / 4);
	compare(level, dir, "fetch_cast_f32_bf16_out");
	k->conv[NPU_CONV_F32_BF16](out, stream.data, stream.bytes / 4);
	compare(level, dir, "fetch_stream_cast_f32_bf16");
	free(stream.data);
	free(in.data);
}

static void test_zero_points(const struct npu_kern *k, const char *level, const char *dir)
{
	static const int zp4[5] = { -8, -3, 0, 5, 7 }, zp8[5] = { -128, -77, 0, 1, 127 };
	struct file stream = read_file(dir, "fetch_stream_in");
	int8_t values[256];
	uint8_t nibbles[8];

	for (int i = 0; i < 5; i++)
		k->zps_i4((int8_t *)out + i * 8192, stream.data, 8192, zp4[i]);
	compare(level, dir, "fetch_stream_zps_i4_i5");
	for (int i = 0; i < 5; i++)
		k->zps_i8((int16_t *)(void *)out + i * 4096, (int8_t *)stream.data, 4096, zp8[i]);
	compare(level, dir, "fetch_stream_zps_i8_i9");
	free(stream.data);

	for (int i = 0; i < 256; i++)
		values[i] = (int8_t)(i - 128);
	for (int i = 0; i < 256; i++)
		k->zps_i8((int16_t *)(void *)out + i * 256, values, 256, i - 128);
	compare(level, dir, "fetch_zps_i8_i9");
	for (int i = 0; i < 8; i++)
		nibbles[i] = (uint8_t)(((2 * i - 8) & 15) | ((2 * i - 7) & 15) << 4);
	for (int i = 0; i < 16; i++)
		k->zps_i4((int8_t *)out + i * 16, nibbles, 16, i - 8);
	compare(level, dir, "fetch_zps_i4_i5");
}

static void test_preprocess(const struct npu_kern *k, const char *level, const char *dir)
{
	static const char *const names[] = { "pp_fixed", "pp_fixed_packed", "pp_low8",
					     "pp_int8a_round_fixed", "pp_int8a_trunc",
					     "pp_int8b_q" };
	static uint32_t scales[4096];
	static uint8_t emax[4096];
	struct file x = read_file(dir, "pp_x"), want_emax = read_file(dir, "pp_emax");
	struct file nonfinite = read_file(dir, "pp_nonfinite");
	struct file want_scales = read_file(dir, "pp_int8b_scale");
	size_t blocks = x.bytes / 64, count = 0, first = ~(size_t)0;

	for (size_t i = 0; i < blocks; i++) {
		uint32_t nan = 0x7fc00000;

		count += nonfinite.data[i];
		if (nonfinite.data[i] && i < first)
			first = i;
		/* the files leave those blocks out */
		if (nonfinite.data[i])
			memcpy(want_scales.data + 4 * i, &nan, sizeof(nan));
	}
	for (unsigned int mode = 0; mode <= NPU_PP_INT8_SYMMETRIC; mode++) {
		struct npu_pp_run run = { .dst = out, .emax = emax, .scales = scales,
					  .first_nonfinite = ~0ull };

		k->pp[mode](&run, (const uint16_t *)(const void *)x.data, blocks);
		compare(level, dir, names[mode]);
		check(!memcmp(emax, want_emax.data, blocks), level, names[mode], "e_max");
		check(run.nonfinite_blocks == count && run.first_nonfinite == first, level,
		      names[mode], "non-finite blocks");
	}
	check(!memcmp(scales, want_scales.data, 4 * blocks), level, "pp_int8b_scale",
	      "golden vector");
	free(x.data);
	free(want_emax.data);
	free(nonfinite.data);
	free(want_scales.data);
}

void test_golden(const struct npu_kern *k, const char *level, const char *path)
{
	test_casts(k, level, path);
	test_zero_points(k, level, path);
	test_preprocess(k, level, path);
}
