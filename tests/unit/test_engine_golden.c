// SPDX-License-Identifier: MIT
/*
 * Every golden vector that the contract keeps, through npu_engine_run(), in
 * contiguous and in scattered memory, at aligned and odd addresses.
 */
#include "test_engine.h"

static void check_fetch(const char *what, struct npu_cmd_fetch cmd, const void *in, size_t in_size,
			const void *want, size_t out_size)
{
	unsigned int shape;

	for (shape = 0; shape < 4; shape++) {
		struct space s;
		uint64_t odd = shape & 1 ? 4093 : 0;

		space_init(&s, 2048, shape & 2);
		cmd.src = space_alloc(&s, in_size + odd) + odd;
		cmd.dst = space_alloc(&s, out_size + odd) + odd;
		space_set(&s, cmd.src, in, in_size);
		fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
		run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, what);
		space_expect(&s, cmd.dst, want, out_size, what);
		space_free(&s);
	}
}

struct golden {
	const char *in;			/* NULL: every code in ascending order */
	const char *out;
	uint8_t type, lookup, cast;
};

#define T(x) NPU_TYPE_##x
static const struct golden goldens[] = {
	{ NULL, "fetch_cast_i4_i32", T(I4), 0, T(I32) },
	{ NULL, "fetch_cast_i8_i32", T(I8), 0, T(I32) },
	{ NULL, "fetch_cast_i16_i32", T(I16), 0, T(I32) },
	{ NULL, "fetch_cast_f8e4m3_f32", T(F8E4M3), 0, T(F32) },
	{ NULL, "fetch_cast_f8e5m2_f32", T(F8E5M2), 0, T(F32) },
	{ NULL, "fetch_cast_bf16_f32", T(BF16), 0, T(F32) },
	{ "fetch_cast_f32_bf16_in", "fetch_cast_f32_bf16_out", T(F32), 0, T(BF16) },
	{ NULL, "fetch_lut_f4e2m1_f8e4m3", T(F4E2M1), T(F8E4M3), 0 },
	{ NULL, "fetch_lut_f4e2m1_f8e5m2", T(F4E2M1), T(F8E5M2), 0 },
	{ NULL, "fetch_lut_f8e4m3_bf16", T(F8E4M3), T(BF16), 0 },
	{ NULL, "fetch_lut_f8e5m2_bf16", T(F8E5M2), T(BF16), 0 },
	{ NULL, "fetch_chain_f4e2m1_f8e4m3_f32", T(F4E2M1), T(F8E4M3), T(F32) },
	{ NULL, "fetch_chain_f4e2m1_f8e5m2_f32", T(F4E2M1), T(F8E5M2), T(F32) },
	{ NULL, "fetch_chain_f8e4m3_bf16_f32", T(F8E4M3), T(BF16), T(F32) },
	{ NULL, "fetch_chain_f8e5m2_bf16_f32", T(F8E5M2), T(BF16), T(F32) },
	{ "fetch_stream_in", "fetch_stream_cast_i4_i32", T(I4), 0, T(I32) },
	{ "fetch_stream_in", "fetch_stream_cast_i8_i32", T(I8), 0, T(I32) },
	{ "fetch_stream_in", "fetch_stream_cast_i16_i32", T(I16), 0, T(I32) },
	{ "fetch_stream_in", "fetch_stream_cast_f8e4m3_f32", T(F8E4M3), 0, T(F32) },
	{ "fetch_stream_in", "fetch_stream_cast_f8e5m2_f32", T(F8E5M2), 0, T(F32) },
	{ "fetch_stream_in", "fetch_stream_cast_bf16_f32", T(BF16), 0, T(F32) },
	{ "fetch_stream_in", "fetch_stream_cast_f32_bf16", T(F32), 0, T(BF16) },
	{ "fetch_stream_in", "fetch_stream_lut_f4e2m1_f8e4m3", T(F4E2M1), T(F8E4M3), 0 },
	{ "fetch_stream_in", "fetch_stream_lut_f4e2m1_f8e5m2", T(F4E2M1), T(F8E5M2), 0 },
	{ "fetch_stream_in", "fetch_stream_lut_f8e4m3_bf16", T(F8E4M3), T(BF16), 0 },
	{ "fetch_stream_in", "fetch_stream_lut_f8e5m2_bf16", T(F8E5M2), T(BF16), 0 },
};

static void *read_golden(const char *name, size_t *size)
{
	char path[256];

	snprintf(path, sizeof(path), "golden/%s.bin", name);
	return read_data(path, size);
}

/* All codes of a type: bytes 0 to 255, or 16-bit words 0 to 65535. */
static void *all_codes(unsigned int bits, size_t *size)
{
	uint32_t i, n = bits == 16 ? 65536 : 256;
	uint8_t *p = malloc(n * 2);

	for (i = 0; i < n; i++) {
		if (bits == 16) {
			p[i * 2] = (uint8_t)i;
			p[i * 2 + 1] = (uint8_t)(i >> 8);
		} else {
			p[i] = (uint8_t)i;
		}
	}
	*size = bits == 16 ? n * 2 : n;
	return p;
}

static void test_fetch(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
		const struct golden *g = &goldens[i];
		unsigned int bits = npu_type_bits(g->type);
		size_t in_size, out_size;
		void *in = g->in ? read_golden(g->in, &in_size) : all_codes(bits, &in_size);
		void *out = read_golden(g->out, &out_size);
		struct npu_cmd_fetch cmd = fetch_run(g->type, 0, 0, (uint32_t)(in_size * 8 / bits));

		cmd.lookup = g->lookup ? NPU_LOOKUP_BUILTIN : NPU_LOOKUP_NONE;
		cmd.lookup_type = g->lookup;
		cmd.cast_type = g->cast;
		check_fetch(g->out, cmd, in, in_size, out, out_size);
		free(in);
		free(out);
	}
}

/*
 * i5 and i9 leave through the contraction only: a single weight of 1 and k = 1
 * give value - zero_point as i32.
 */
static void check_zero_point(uint8_t type, int zero_point, const void *in, uint32_t n,
			     const void *want, unsigned int want_bytes)
{
	struct npu_cmd_fetch cmd = fetch_run(type, 0, 0, n);
	int32_t got;
	uint8_t one = 1;
	struct space s;
	uint32_t i;

	space_init(&s, 64, true);
	cmd.cmd.flags |= NPU_FETCH_ZERO_POINT;
	cmd.zero_point = (int16_t)zero_point;
	cmd.sink = NPU_SINK_CONTRACT;
	cmd.weight_type = type;
	cmd.k = 1;
	cmd.n = 1;
	cmd.m = n;
	cmd.src = space_alloc(&s, n);
	cmd.weight = space_alloc(&s, 1);
	cmd.dst = space_alloc(&s, n * 4);
	space_set(&s, cmd.weight, &one, 1);
	space_set(&s, cmd.src, in, n * npu_type_bits(type) / 8);
	fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
	run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, "zero point");
	for (i = 0; i < n; i++) {
		int32_t expect = want_bytes == 1 ? ((const int8_t *)want)[i] :
						   ((const int16_t *)want)[i];

		space_get(&s, cmd.dst + i * 4, &got, 4);
		if (got != expect)
			fail_msg("zero point %d, element %u: %d, not %d", zero_point, i, got,
				 expect);
	}
	space_free(&s);
}

static void test_zero_point(void **state)
{
	static const int i4_points[] = { -8, -3, 0, 5, 7 }, i8_points[] = { -128, -77, 0, 1, 127 };
	uint8_t nibbles[8] = { 0x98, 0xba, 0xdc, 0xfe, 0x10, 0x32, 0x54, 0x76 };
	uint8_t bytes[256];
	size_t size, i;
	int8_t *i5 = read_golden("fetch_zps_i4_i5", &size);
	int16_t *i9 = read_golden("fetch_zps_i8_i9", &size);
	uint8_t *in = read_golden("fetch_stream_in", &size);
	int8_t *stream5 = read_golden("fetch_stream_zps_i4_i5", &size);
	int16_t *stream9 = read_golden("fetch_stream_zps_i8_i9", &size);

	for (i = 0; i < 256; i++)
		bytes[i] = (uint8_t)(i - 128);
	for (i = 0; i < 16; i++)
		check_zero_point(NPU_TYPE_I4, (int)i - 8, nibbles, 16, i5 + i * 16, 1);
	for (i = 0; i < 256; i++)
		check_zero_point(NPU_TYPE_I8, (int)i - 128, bytes, 256, i9 + i * 256, 2);
	for (i = 0; i < 5; i++) {
		check_zero_point(NPU_TYPE_I4, i4_points[i], in, 8192, stream5 + i * 8192, 1);
		check_zero_point(NPU_TYPE_I8, i8_points[i], in, 4096, stream9 + i * 4096, 2);
	}
	free(i5);
	free(i9);
	free(in);
	free(stream5);
	free(stream9);
}

static void test_zero_point_accept(void **state)
{
	size_t size;
	char *csv = read_data("golden/fetch_zps_accept.csv", &size);
	unsigned int rows = 0;
	char *line, *save;

	csv[size] = 0;
	strtok_r(csv, "\n", &save);
	while ((line = strtok_r(NULL, "\n", &save))) {
		struct npu_cmd_fetch cmd = fetch_run(NPU_TYPE_I4, 4096, 8192, 16);
		bool i4 = strstr(line, "i4");
		struct npu_check check;
		long zero_point, accepted;
		uint32_t rule;

		assert_int_equal(sscanf(strchr(line, ','), ",%ld,%ld", &zero_point, &accepted), 2);
		/* the field has 16 bits; what does not fit cannot be written down at all */
		if (zero_point < -32768 || zero_point > 32767) {
			assert_int_equal(accepted, 0);
			continue;
		}
		cmd.cmd.size = sizeof(cmd);
		cmd.cmd.flags |= NPU_FETCH_ZERO_POINT;
		cmd.src_type = i4 ? NPU_TYPE_I4 : NPU_TYPE_I8;
		cmd.weight_type = cmd.src_type;
		cmd.zero_point = (int16_t)zero_point;
		cmd.sink = NPU_SINK_CONTRACT;
		cmd.k = 16;
		cmd.m = 1;
		fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
		npu_check_init(&check, NPU_RING_FETCH_MAIN);
		rule = npu_check_command(&check, &cmd.cmd);
		assert_int_equal(rule, accepted ? 0 : NPU_RULE_ZERO_POINT_RANGE);
		rows++;
	}
	assert_true(rows > 400);
	free(csv);
}

static uint16_t *pp_x;
static size_t pp_blocks;

struct pp_golden {
	const char *out;
	uint8_t mode, rounding;
	unsigned int bytes;		/* of a block */
};

static const struct pp_golden pp_goldens[] = {
	{ "pp_fixed", NPU_PP_MODE_FIXED27, 0, 128 },
	{ "pp_fixed_packed", NPU_PP_MODE_FIXED27_PACKED, 0, 108 },
	{ "pp_low8", NPU_PP_MODE_LOW8, 0, 32 },
	{ "pp_int8a_trunc", NPU_PP_MODE_INT8_EMAX, NPU_ROUND_TRUNCATE, 32 },
	{ "pp_int8a_round_fixed", NPU_PP_MODE_INT8_EMAX, 0, 32 },
};

/* One row of all blocks, or a row each. */
static struct npu_cmd_preprocess pp_setup(struct space *s, bool scattered, uint64_t odd)
{
	struct npu_cmd_preprocess cmd = {
		.cmd.opcode = NPU_OP_PREPROCESS, .rows = odd ? pp_blocks : 1,
		.cols = odd ? 32 : pp_blocks * 32, .sink = NPU_SINK_MEMORY,
	};

	space_init(s, 1024, scattered);
	cmd.src = space_alloc(s, pp_blocks * 64 + odd) + odd;
	cmd.dst = space_alloc(s, pp_blocks * 128 + odd) + odd;
	space_set(s, cmd.src, pp_x, pp_blocks * 64);
	return cmd;
}

static void test_preprocess(void **state)
{
	size_t size, i, shape;

	for (i = 0; i < sizeof(pp_goldens) / sizeof(pp_goldens[0]); i++) {
		const struct pp_golden *g = &pp_goldens[i];
		uint8_t *want = read_golden(g->out, &size);
		uint8_t *emax = read_golden("pp_emax", &size);
		uint8_t *nonfinite = read_golden("pp_nonfinite", &size);

		for (shape = 0; shape < 4; shape++) {
			struct space s;
			struct npu_cmd_preprocess cmd = pp_setup(&s, shape & 2,
								 shape & 1 ? 4091 : 0);
			struct npu_result r;
			uint64_t b, first = NPU_NO_BLOCK, count = 0;

			cmd.mode = g->mode;
			cmd.rounding = g->rounding;
			cmd.cmd.flags = NPU_PREPROCESS_EMAX | NPU_PREPROCESS_EXPONENTS;
			cmd.emax = space_alloc(&s, pp_blocks);
			cmd.exponents = space_alloc(&s, pp_blocks * 32);
			r = run_one(&s, NPU_RING_PREPROCESS, &cmd, 1 + shape, g->out);
			space_expect(&s, cmd.dst, want, pp_blocks * g->bytes, g->out);
			space_expect(&s, cmd.emax, emax, pp_blocks, "e_max");
			for (b = 0; b < pp_blocks * 32; b++)
				assert_int_equal(*space_byte(&s, cmd.exponents + b),
						 pp_x[b] >> 7 & 0xff);
			for (b = pp_blocks; b-- > 0;) {
				if (nonfinite[b]) {
					first = b;
					count++;
				}
			}
			assert_int_equal(r.nonfinite_blocks, count);
			assert_int_equal(r.first_nonfinite_block, first);
			assert_int_equal(r.cycles, 2 * pp_blocks + 3);
			assert_int_equal(r.elements_in, pp_blocks * 32);
			assert_int_equal(r.elements_out, pp_blocks * 32);
			space_free(&s);
		}
		free(want);
		free(emax);
		free(nonfinite);
	}
}

static void test_symmetric(void **state)
{
	size_t size, b;
	int8_t *q = read_golden("pp_int8b_q", &size);
	uint32_t *scales = read_golden("pp_int8b_scale", &size);
	uint8_t *nonfinite = read_golden("pp_nonfinite", &size);
	static const uint8_t zeros[32];
	struct space s;
	struct npu_cmd_preprocess cmd = pp_setup(&s, true, 0);

	cmd.mode = NPU_PP_MODE_INT8_SYMMETRIC;
	cmd.cmd.flags = NPU_PREPROCESS_SCALES;
	cmd.scales = space_alloc(&s, pp_blocks * 4 + 1) + 1;
	run_one(&s, NPU_RING_PREPROCESS, &cmd, 1, "symmetric");
	for (b = 0; b < pp_blocks; b++) {
		uint32_t nan = 0x7fc00000;

		space_expect(&s, cmd.dst + b * 32, nonfinite[b] ? (const void *)zeros : q + b * 32,
			     32, "int8b");
		space_expect(&s, cmd.scales + b * 4, nonfinite[b] ? &nan : &scales[b], 4, "scale");
	}
	space_free(&s);
	free(q);
	free(scales);
	free(nonfinite);
}

/* The 64 blocks of the cache test through the fmap cache, read back on 1 and on 32 lanes. */
static void test_fmap_cache(void **state)
{
	size_t size, i;
	uint16_t *index = read_golden("pp_cache_blocks", &size);
	int32_t *want = read_golden("pp_cache_rd", &size);
	uint8_t *words = read_golden("pp_cache_wr", &size);
	uint8_t *emax = read_golden("pp_emax", &size);
	static struct stream st;
	struct npu_result r;
	struct space s;
	struct npu_cmd_preprocess pp = pp_setup(&s, true, 0);
	struct npu_cmd_fmap_read rd = {
		.cmd.opcode = NPU_OP_FMAP_READ, .cmd.flags = NPU_FMAP_EMAX | NPU_FMAP_EXPONENTS,
		.start = 5, .count = 2043, .lanes = 32,
	};

	stream_init(&st);
	pp.mode = NPU_PP_MODE_FIXED27;
	pp.sink = NPU_SINK_FMAP_CACHE;
	pp.dst = 0;
	pp.rows = 1;
	pp.cols = 32;
	for (i = 0; i < 64; i++) {
		pp.src = SPACE_BASE + index[i] * 64;
		stream_add(&st, &pp);
	}
	rd.dst = space_alloc(&s, 2048 * 32 * 4);
	rd.emax = space_alloc(&s, 2048);
	rd.exponents = space_alloc(&s, 2048 * 32);
	stream_add(&st, &rd);
	r = stream_run(&s, NPU_RING_PREPROCESS, &st, 1);
	expect_ok(&r, "fmap");
	for (i = 0; i < 2043; i++) {
		uint64_t block = index[(i + 5) / 32], lane;

		for (lane = 0; lane < 32; lane++)
			space_expect(&s, rd.dst + (i * 32 + lane) * 4, &want[i + 5], 4, "fmap");
		space_expect(&s, rd.emax + i, &emax[block], 1, "fmap e_max");
		for (lane = 0; lane < 32; lane++)
			assert_int_equal(*space_byte(&s, rd.exponents + i * 32 + lane),
					 pp_x[block * 32 + lane] >> 7 & 0xff);
	}
	assert_int_equal(r.cycles, 64 * 5 + 2043 + 3);
	assert_int_equal(r.elements_out, 64 * 32 + 2043 * 32);

	/* The words that the RTL wrote are the packed form of the same blocks. */
	stream_init(&st);
	pp.mode = NPU_PP_MODE_FIXED27_PACKED;
	pp.sink = NPU_SINK_MEMORY;
	for (i = 0; i < 64; i++) {
		pp.src = SPACE_BASE + index[i] * 64;
		pp.dst = rd.dst + i * 108;
		stream_add(&st, &pp);
	}
	r = stream_run(&s, NPU_RING_PREPROCESS, &st, 1);
	expect_ok(&r, "packed");
	space_expect(&s, rd.dst, words, 64 * 108, "cache words");
	space_free(&s);
	free(index);
	free(want);
	free(words);
	free(emax);
}

/* Edges at which a column of a trace is 1. */
static unsigned int trace_edges(const char *name, const char *want, int edges[64])
{
	unsigned int n = 0, column = 0, index = ~0u;
	char path[96], *csv, *line, *field, *save, *save2;
	size_t size;
	int edge;

	snprintf(path, sizeof(path), "golden/pp_trace_%s.csv", name);
	csv = read_data(path, &size);
	csv[size] = 0;
	line = strtok_r(csv, "\r\n", &save);
	for (field = strtok_r(line, ",", &save2); field; field = strtok_r(NULL, ",", &save2)) {
		if (!strcmp(field, want))
			index = column;
		column++;
	}
	assert_true(index < column);
	for (edge = 0; (line = strtok_r(NULL, "\r\n", &save)) && n < 64; edge++) {
		column = 0;
		for (field = strtok_r(line, ",", &save2); field;
		     field = strtok_r(NULL, ",", &save2))
			if (column++ == index && atoi(field))
				edges[n++] = edge;
	}
	free(csv);
	return n;
}

/*
 * The cycle model against the RTL's traces: a block's words are seen 3 and 4
 * edges after its second beat; without gaps n blocks take 2n + 3 edges.
 */
static void test_traces(void **state)
{
	static const char *const names[] = { "back_to_back", "gap_inside_block",
					     "gap_between_blocks" };
	unsigned int i, b;

	for (i = 0; i < 3; i++) {
		int in[64], out[64];
		unsigned int beats = trace_edges(names[i], "s_tvalid", in);
		unsigned int words = trace_edges(names[i], "m_tvalid", out);

		assert_true(beats >= 6 && words >= 6);
		for (b = 0; 2 * b + 1 < words && 2 * b + 1 < beats; b++) {
			assert_int_equal(out[2 * b], in[2 * b + 1] + 3);
			assert_int_equal(out[2 * b + 1], in[2 * b + 1] + 4);
			if (i == 0)
				assert_int_equal(out[2 * b + 1] - in[0], 2 * (b + 1) + 3);
		}
	}
}

static int setup(void **state)
{
	size_t size;

	pp_x = read_golden("pp_x", &size);
	pp_blocks = size / 64;
	return pp_blocks == 3643 ? 0 : -1;
}

static int teardown(void **state)
{
	free(pp_x);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fetch),
		cmocka_unit_test(test_zero_point),
		cmocka_unit_test(test_zero_point_accept),
		cmocka_unit_test(test_preprocess),
		cmocka_unit_test(test_symmetric),
		cmocka_unit_test(test_fmap_cache),
		cmocka_unit_test(test_traces),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
