// SPDX-License-Identifier: MIT
/*
 * The contraction against plain sums: every operand pair, groups, zero points,
 * odd nibbles, wrapping, the order of float sums, and groups too long to stage.
 */
#include <fenv.h>

#include "test_engine.h"

static int host_i4(const uint8_t *p, uint64_t i)
{
	int v = p[i / 2] >> (i % 2 * 4) & 15;

	return v < 8 ? v : v - 16;
}

static int host_int(const uint8_t *p, uint8_t type, uint64_t i)
{
	return type == NPU_TYPE_I4 ? host_i4(p, i) : (int8_t)p[i];
}

static float bits_float(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

/* Written from the documentation, not from the kernels. */
static float host_float(const uint8_t *p, uint8_t type, uint64_t i)
{
	uint16_t h;
	int e, m;
	float f;

	if (type == NPU_TYPE_BF16) {
		memcpy(&h, p + i * 2, 2);
		if (!(h & 0x7f80))
			return h >> 15 ? -0.0f : 0.0f;
		if ((h & 0x7fff) > 0x7f80)
			return bits_float(0x7fc00000);
		return bits_float((uint32_t)h << 16);
	}
	if (type == NPU_TYPE_F8E4M3) {
		e = p[i] >> 3 & 15;
		m = p[i] & 7;
		if (e == 15 && m == 7)
			return bits_float(0x7fc00000);
		f = e ? __builtin_ldexpf((float)(8 + m), e - 10) : __builtin_ldexpf((float)m, -9);
	} else {
		e = p[i] >> 2 & 31;
		m = p[i] & 3;
		if (e == 31)
			return m ? bits_float(0x7fc00000) :
			       bits_float(p[i] >> 7 ? 0xff800000 : 0x7f800000);
		f = e ? __builtin_ldexpf((float)(4 + m), e - 17) : __builtin_ldexpf((float)m, -16);
	}
	return p[i] >> 7 ? -f : f;
}

/* volatile: no fused or reordered arithmetic, whatever the compiler's flags */
static uint32_t float_sum(const uint8_t *a, const uint8_t *w, uint8_t type, uint64_t a0,
			  uint64_t w0, uint64_t k)
{
	volatile float sum[16] = { 0 }, product;
	uint32_t bits;
	unsigned int half, i;
	float result;
	uint64_t j;

	for (j = 0; j < k; j++) {
		product = host_float(a, type, a0 + j) * host_float(w, type, w0 + j);
		sum[j % 16] = sum[j % 16] + product;
	}
	for (half = 8; half; half /= 2)
		for (i = 0; i < half; i++)
			sum[i] = sum[i] + sum[i + half];
	result = sum[0];
	memcpy(&bits, &result, 4);
	return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : bits;
}

static uint32_t int_sum(const struct npu_cmd_fetch *cmd, const uint8_t *a, const uint8_t *w,
			uint64_t a0, uint64_t w0, uint64_t k)
{
	uint32_t sum = 0;
	uint64_t j;

	for (j = 0; j < k; j++)
		sum += (uint32_t)((host_int(a, cmd->src_type, a0 + j) - cmd->zero_point) *
				  (host_int(w, cmd->weight_type, w0 + j) -
				   cmd->weight_zero_point));
	return sum;
}

static uint64_t type_bytes(uint8_t type, uint64_t n)
{
	return (n * npu_type_bits(type) + 7) / 8;
}

/* A dense [m][k] stream against [n][k] weights. */
static void check(struct npu_cmd_fetch cmd, bool scattered, unsigned int threads, bool finite)
{
	uint64_t elements = (uint64_t)cmd.m * cmd.k, weights = (uint64_t)cmd.n * cmd.k;
	uint64_t a_bytes = type_bytes(cmd.src_type, elements) + 8;
	uint64_t w_bytes = type_bytes(cmd.weight_type, weights) + 8;
	uint32_t group = cmd.k_group ? cmd.k_group : cmd.k;
	uint32_t groups = (cmd.k + group - 1) / group, i, g, c;
	bool is_float = cmd.src_type > NPU_TYPE_F4E2M1;
	uint8_t *a = malloc(a_bytes), *w = malloc(w_bytes);
	struct npu_result r;
	struct space s;

	space_init(&s, (uint32_t)((a_bytes + w_bytes + (uint64_t)cmd.m * groups * cmd.n * 4) /
				  PAGE + 16), scattered);
	cmd.cmd.opcode = NPU_OP_FETCH;
	cmd.cmd.flags |= NPU_FETCH_UNPADDED;
	cmd.sink = NPU_SINK_CONTRACT;
	cmd.src = space_alloc(&s, a_bytes + 3) + 3;
	cmd.weight = space_alloc(&s, w_bytes + 1) + 1;
	cmd.dst = space_alloc(&s, (uint64_t)cmd.m * groups * cmd.n * 4 + 1) + 1;
	for (i = 0; i < a_bytes; i++)
		a[i] = (uint8_t)(finite ? rng() & 0xb7 : rng());
	for (i = 0; i < w_bytes; i++)
		w[i] = (uint8_t)(finite ? rng() & 0xb7 : rng());
	space_set(&s, cmd.src, a, a_bytes);
	space_set(&s, cmd.weight, w, w_bytes);
	cmd.loop_count = 2;
	cmd.size[0] = cmd.m;
	cmd.size[1] = cmd.k;
	cmd.stride[0] = cmd.k;
	cmd.stride[1] = 1;
	cmd.packet_size = cmd.k;
	fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
	r = run_one(&s, NPU_RING_FETCH_MAIN, &cmd, threads, "contract");
	assert_int_equal(r.elements_in, elements);
	assert_int_equal(r.elements_out, (uint64_t)cmd.m * groups * cmd.n);
	for (i = 0; i < cmd.m; i++) {
		for (g = 0; g < groups; g++) {
			uint64_t k = cmd.k - g * group < group ? cmd.k - g * group : group;

			for (c = 0; c < cmd.n; c++) {
				uint64_t a0 = (uint64_t)i * cmd.k + g * group;
				uint64_t w0 = (uint64_t)c * cmd.k + g * group;
				uint32_t want = is_float ?
						float_sum(a, w, cmd.src_type, a0, w0, k) :
						int_sum(&cmd, a, w, a0, w0, k);
				uint64_t at = ((uint64_t)i * groups + g) * cmd.n + c;
				uint32_t got;

				space_get(&s, cmd.dst + at * 4, &got, 4);
				if (got != want)
					fail_msg("%s x %s, n %u k %u/%u: [%u][%u][%u] is %x, not %x",
						 npu_type_name(cmd.src_type),
						 npu_type_name(cmd.weight_type), cmd.n,
						 cmd.k, group, i, g, c, got, want);
			}
		}
	}
	space_free(&s);
	free(a);
	free(w);
}

static const struct {
	uint8_t stream, weight;
	bool zero_point, weight_zero_point;
} pairs[] = {
	{ NPU_TYPE_I4, NPU_TYPE_I4, false, false }, { NPU_TYPE_I4, NPU_TYPE_I4, true, false },
	{ NPU_TYPE_I4, NPU_TYPE_I4, false, true }, { NPU_TYPE_I4, NPU_TYPE_I4, true, true },
	{ NPU_TYPE_I8, NPU_TYPE_I8, false, false }, { NPU_TYPE_I8, NPU_TYPE_I8, true, false },
	{ NPU_TYPE_I8, NPU_TYPE_I8, false, true }, { NPU_TYPE_I8, NPU_TYPE_I8, true, true },
	{ NPU_TYPE_I8, NPU_TYPE_I4, false, false },
	{ NPU_TYPE_BF16, NPU_TYPE_BF16, false, false },
	{ NPU_TYPE_F8E4M3, NPU_TYPE_F8E4M3, false, false },
	{ NPU_TYPE_F8E5M2, NPU_TYPE_F8E5M2, false, false },
};

#define PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static struct npu_cmd_fetch shape(unsigned int pair, uint32_t m, uint32_t n, uint32_t k,
				  uint32_t k_group)
{
	struct npu_cmd_fetch cmd = {
		.m = m, .n = n, .k = k, .k_group = k_group, .src_type = pairs[pair].stream,
		.weight_type = pairs[pair].weight,
	};
	int half = cmd.src_type == NPU_TYPE_I4 ? 8 : 128;

	if (pairs[pair].zero_point) {
		cmd.cmd.flags |= NPU_FETCH_ZERO_POINT;
		cmd.zero_point = (int16_t)((int)(rng() % (unsigned int)(2 * half)) - half);
	}
	if (pairs[pair].weight_zero_point) {
		cmd.cmd.flags |= NPU_FETCH_WEIGHT_ZERO_POINT;
		cmd.weight_zero_point = (int16_t)((int)(rng() % (unsigned int)(2 * half)) - half);
	}
	return cmd;
}

static void test_pairs(void **state)
{
	unsigned int i, n;

	for (i = 0; i < PAIRS; i++) {
		for (n = 0; n < 40; n++) {
			uint32_t k = 1 + (uint32_t)(rng() % 200);

			check(shape(i, 1 + (uint32_t)(rng() % 9), 1 + (uint32_t)(rng() % 40), k,
				    rng() % 2 ? 0 : 1 + (uint32_t)(rng() % (k + 3))),
			      n & 1, 1 + n % 3, n & 4);
		}
		check(shape(i, 3, 2, 64, 16), true, 1, true);
	}
}

/* Several pieces, panels and tiles; groups that end in a piece and groups of many pieces. */
static void test_blocks(void **state)
{
	static const uint32_t shapes[][4] = {
		{ 200, 70, 96, 32 }, { 3, 1100, 64, 0 }, { 2, 40, 5000, 0 }, { 2, 5, 9001, 1000 },
		{ 3, 40, 9001, 4500 }, { 1, 3, 40000, 0 }, { 2, 3, 40001, 20001 },
		{ 18, 17, 17000, 16390 },
	};
	unsigned int i, j;

	for (i = 0; i < PAIRS; i += i == 0 ? 3 : 1)
		for (j = 0; j < sizeof(shapes) / sizeof(shapes[0]); j++)
			check(shape(i, shapes[j][0], shapes[j][1], shapes[j][2], shapes[j][3]),
			      j & 1, 1 + (i + j) % 3, true);
}

/* Sums wrap in 32 bits: (-128)^2 * 2^17 + ... passes 2^31. */
static void test_wrap(void **state)
{
	uint32_t k = 1 << 18, want, i;
	struct npu_cmd_fetch cmd = shape(4, 1, 1, k, 0);
	uint8_t byte = 0x80;
	struct space s;

	cmd.cmd.opcode = NPU_OP_FETCH;
	cmd.sink = NPU_SINK_CONTRACT;
	cmd.loop_count = 1;
	cmd.size[0] = k;
	cmd.stride[0] = 0;		/* one element, over and over */
	cmd.packet_size = 32;
	space_init(&s, k / PAGE + 8, true);
	cmd.src = space_alloc(&s, 1);
	cmd.weight = space_alloc(&s, k);
	cmd.dst = space_alloc(&s, 4);
	space_set(&s, cmd.src, &byte, 1);
	for (i = 0; i < k; i++)
		space_set(&s, cmd.weight + i, &byte, 1);
	fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
	run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, "wrap");
	want = (uint32_t)(16384ull * k);
	space_expect(&s, cmd.dst, &want, 4, "wrap");
	space_free(&s);
}

static void test_empty(void **state)
{
	struct npu_cmd_fetch cmd = {
		.cmd.opcode = NPU_OP_FETCH, .src_type = NPU_TYPE_I8, .weight_type = NPU_TYPE_I8,
		.sink = NPU_SINK_CONTRACT, .m = 5, .n = 7, .src = 1, .weight = 2,
	};
	uint8_t zeros[5 * 7 * 4] = { 0 };
	struct npu_result r;
	struct space s;

	space_init(&s, 16, true);
	cmd.dst = space_alloc(&s, 4096);
	space_random(&s, cmd.dst, 4096);
	r = run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, "k = 0");
	space_expect(&s, cmd.dst, zeros, sizeof(zeros), "k = 0");
	assert_int_equal(r.cycles, 0);
	assert_int_equal(r.elements_in, 0);
	assert_int_equal(r.elements_out, 35);
	cmd.k_group = 3;
	r = run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, "k = 0, no group");
	assert_int_equal(r.elements_out, 0);
	cmd.k_group = 0;
	cmd.n = 0;
	run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, "k = 0, n = 0");
	space_free(&s);
}

/* The caller's rounding mode makes no difference: the same sums, bit for bit. */
static void test_rounding_mode(void **state)
{
	static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
	static const uint32_t lengths[] = { 100, 40000 };
	unsigned int i, l;

	for (l = 0; l < 2; l++) {
		struct npu_cmd_fetch cmd = shape(9, 1, 1, lengths[l], 0);
		uint32_t sum[4];
		struct space s;

		space_init(&s, 128, true);
		cmd.cmd.opcode = NPU_OP_FETCH;
		cmd.cmd.flags = NPU_FETCH_UNPADDED;
		cmd.sink = NPU_SINK_CONTRACT;
		cmd.loop_count = 1;
		cmd.size[0] = cmd.k;
		cmd.stride[0] = 1;
		cmd.packet_size = cmd.k;
		cmd.src = space_alloc(&s, cmd.k * 2);
		cmd.weight = space_alloc(&s, cmd.k * 2);
		cmd.dst = space_alloc(&s, 4);
		for (i = 0; i < cmd.k; i++) {
			uint16_t x = (uint16_t)(0x3f00 | (rng() & 0x80ff));

			space_set(&s, cmd.src + i * 2, &x, 2);
			x = (uint16_t)(0x3f00 | (rng() & 0x80ff));
			space_set(&s, cmd.weight + i * 2, &x, 2);
		}
		fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
		for (i = 0; i < 4; i++) {
			fesetround(modes[i]);
			run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, "rounding mode");
			assert_int_equal(fegetround(), modes[i]);
			fesetround(FE_TONEAREST);
			space_get(&s, cmd.dst, &sum[i], 4);
			assert_int_equal(sum[i], sum[0]);
		}
		space_free(&s);
	}
}

/* A stream through a lookup, a cast and a mask into the sink. */
static void test_stages(void **state)
{
	struct npu_cmd_fetch cmd = {
		.cmd.opcode = NPU_OP_FETCH, .cmd.flags = NPU_FETCH_UNPADDED,
		.src_type = NPU_TYPE_F4E2M1, .lookup = NPU_LOOKUP_BUILTIN,
		.lookup_type = NPU_TYPE_F8E4M3, .weight_type = NPU_TYPE_F8E4M3,
		.sink = NPU_SINK_CONTRACT, .m = 6, .n = 3, .k = 20, .packet_size = 20,
		.loop_count = 3, .size = { 3, 2, 20 }, .stride = { 41, 20, 1 },
		.mask = NPU_MASK_RIGHTMOST, .mask_axis = 1, .valid_count = { 13 },
	};
	static const float f4[] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };
	uint8_t a[200], w[60];
	unsigned int i, j, c;
	struct space s;

	space_init(&s, 16, true);
	cmd.src = space_alloc(&s, 200);
	cmd.weight = space_alloc(&s, 60);
	cmd.dst = space_alloc(&s, 6 * 3 * 4);
	space_random(&s, cmd.src, 200);
	space_get(&s, cmd.src, a, 200);
	for (i = 0; i < 60; i++)
		w[i] = (uint8_t)(rng() & 0xb7);
	space_set(&s, cmd.weight, w, 60);
	fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
	run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 2, "stages");
	for (i = 0; i < 6; i++) {
		for (c = 0; c < 3; c++) {
			float want = 0, got;

			/* small integers times eighths: exact in any order */
			for (j = 0; j < (i % 2 ? 13u : 20u); j++) {
				unsigned int at = i / 2 * 41 + i % 2 * 20 + j;
				unsigned int code = a[at / 2] >> (at % 2 * 4) & 15;
				float x = code & 8 ? -f4[code & 7] : f4[code & 7];

				want += x * host_float(w, NPU_TYPE_F8E4M3, c * 20 + j);
			}
			space_get(&s, cmd.dst + (i * 3 + c) * 4, &got, 4);
			if (got - want > 1e-3f || want - got > 1e-3f)
				fail_msg("stages [%u][%u]: %g, not %g", i, c, got, want);
		}
	}
	space_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_rounding_mode),
		cmocka_unit_test(test_stages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
