// SPDX-License-Identifier: MIT
/* Every kernel in the shape of struct kernel. */
#include <string.h>

#include "kern_test.h"

uint8_t test_table[65536 * 4];

static void run_conv(const struct npu_kern *k, unsigned int index, uint8_t *dst,
		     const uint8_t *src, size_t n)
{
	k->conv[index](dst, src, n);
}

static void run_lut(const struct npu_kern *k, unsigned int index, uint8_t *dst,
		    const uint8_t *src, size_t n)
{
	k->lut[index / NPU_ENTRIES][index % NPU_ENTRIES](dst, src, n, test_table);
}

static void run_zps4(const struct npu_kern *k, unsigned int index, uint8_t *dst,
		     const uint8_t *src, size_t n)
{
	k->zps_i4((int8_t *)dst, src, n, (int)index - 8);
}

static void run_zps8(const struct npu_kern *k, unsigned int index, uint8_t *dst,
		     const uint8_t *src, size_t n)
{
	k->zps_i8((int16_t *)(void *)dst, (const int8_t *)src, n, (int)index - 128);
}

static void run_copy(const struct npu_kern *k, unsigned int index, uint8_t *dst,
		     const uint8_t *src, size_t n)
{
	(void)index;
	k->copy(dst, src, n);
}

static const unsigned int pp_bytes[NPU_PP_MODES] = { 128, 108, 32, 32, 32, 32, 32 };

/* Scales that make INT8_CONST clamp much, a little, never, and work on subnormals. */
static const uint32_t scales[] = { 0x3c23d70a, 0x3f800000, 0x00000001, 0x7f7fffff, 0x00800000,
				   0x42fe0000, 0x2f000001, 0x3b800000 };

/* Output, then the side bands, then the counters. */
static void run_pp(const struct npu_kern *k, unsigned int index, uint8_t *dst,
		   const uint8_t *src, size_t n)
{
	unsigned int mode = index % NPU_PP_MODES;
	uint8_t *emax = dst + n * pp_bytes[mode];
	uint8_t *side = emax + n + 32 * n;
	struct npu_pp_run run = {
		.dst = dst,
		.emax = emax,
		.exponents = emax + n,
		.scales = mode == NPU_PP_INT8_SYMMETRIC ? (uint32_t *)(void *)side : NULL,
		.scale = scales[index / NPU_PP_MODES],
		.block_base = 1000,
		.saturated = 7,
		.nonfinite_blocks = 5,
		.first_nonfinite = index % 2 ? ~0ull : 1003,
	};

	if (!run.scales)
		memset(side, 0, 4 * n);
	k->pp[mode](&run, (const uint16_t *)(const void *)src, n);
	memcpy(side + 4 * n, &run.saturated, TAIL_BYTES);
}

/* The side bands are optional: the same without them, which another path may serve. */
static void run_pp_bare(const struct npu_kern *k, unsigned int index, uint8_t *dst,
			const uint8_t *src, size_t n)
{
	struct npu_pp_run run = { .dst = dst, .scale = 0x3c800000, .first_nonfinite = ~0ull };
	size_t bytes = n * pp_bytes[index];

	k->pp[index](&run, (const uint16_t *)(const void *)src, n);
	memset(dst + bytes, 0, n * 37);
	memcpy(dst + bytes + n * 37, &run.saturated, TAIL_BYTES);
}

#define CONV(name, in, out) { #name, in, out, NPU_CONV_##name, false, run_conv }
#define LUT(key, entry, in, out) \
	{ "lut" #key "_" #entry, in, out, NPU_KEY_##key * NPU_ENTRIES + NPU_ENTRY_##entry, false, \
	  run_lut }
#define PP(name) \
	{ "pp " #name, 512, 0, NPU_PP_##name, true, run_pp }, \
	{ "pp " #name " bare", 512, 0, NPU_PP_##name, true, run_pp_bare }
#define PP_CONST(i) \
	{ "pp INT8_CONST " #i, 512, 0, NPU_PP_INT8_CONST + NPU_PP_MODES * (i), true, run_pp }

const struct kernel kernels[] = {
	CONV(I4_I32, 4, 4), CONV(I8_I32, 8, 4), CONV(I16_I32, 16, 4), CONV(F8E4M3_F32, 8, 4),
	CONV(F8E5M2_F32, 8, 4), CONV(BF16_F32, 16, 4), CONV(F32_BF16, 32, 2),
	CONV(F4_F8E4M3, 4, 1), CONV(F4_F8E5M2, 4, 1), CONV(F8E4M3_BF16, 8, 2),
	CONV(F8E5M2_BF16, 8, 2), CONV(F4_F32, 4, 4), CONV(F8E4M3_BF16_F32, 8, 4),
	CONV(F8E5M2_BF16_F32, 8, 4), CONV(I4_I8, 4, 1),
	LUT(4, 1, 4, 1), LUT(4, 2, 4, 2), LUT(4, 4, 4, 4),
	LUT(8, 1, 8, 1), LUT(8, 2, 8, 2), LUT(8, 4, 8, 4),
	LUT(16, 1, 16, 1), LUT(16, 2, 16, 2), LUT(16, 4, 16, 4),
	{ "zps_i4 -8", 4, 1, 0, false, run_zps4 },
	{ "zps_i4 -1", 4, 1, 7, false, run_zps4 },
	{ "zps_i4 7", 4, 1, 15, false, run_zps4 },
	{ "zps_i8 -128", 8, 2, 0, false, run_zps8 },
	{ "zps_i8 5", 8, 2, 133, false, run_zps8 },
	{ "zps_i8 127", 8, 2, 255, false, run_zps8 },
	{ "copy", 8, 1, 0, false, run_copy },
	PP(FIXED27_WIDE), PP(FIXED27_PACKED), PP(LOW8), PP(INT8_EMAX_RNE), PP(INT8_EMAX_TRUNC),
	PP(INT8_SYMMETRIC), PP(INT8_CONST),
	PP_CONST(1), PP_CONST(2), PP_CONST(3), PP_CONST(4), PP_CONST(5), PP_CONST(6), PP_CONST(7),
};

const unsigned int kernel_count = sizeof(kernels) / sizeof(kernels[0]);
