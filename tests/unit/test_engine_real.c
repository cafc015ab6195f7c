// SPDX-License-Identifier: MIT
/* A real file, with the right answers: tests/data/real, through the engine. */
#include "test_engine.h"

static char *file;
static size_t file_size;

/* Bytes of a tensor: [*begin, *end) of the file. */
static void tensor(const char *name, size_t *begin, size_t *end)
{
	char key[96], *p;
	uint64_t header;

	memcpy(&header, file, 8);
	snprintf(key, sizeof(key), "\"%s\":", name);
	p = strstr(file + 8, key);
	assert_non_null(p);
	p = strstr(p, "\"data_offsets\":");
	assert_int_equal(sscanf(p, "\"data_offsets\": [%zu, %zu]", begin, end), 2);
	*begin += 8 + header;
	*end += 8 + header;
	assert_true(*end <= file_size);
}

static int metadata(const char *name)
{
	char key[96], *p;

	snprintf(key, sizeof(key), "\"%s\":", name);
	p = strstr(file + 8, key);
	assert_non_null(p);
	return atoi(strchr(p + strlen(key), '"') + 1);
}

/* The file itself is the memory that is read, at whatever alignment its tensors have. */
static uint64_t load(struct space *s, bool scattered)
{
	uint64_t addr;

	space_init(s, 1024, scattered);
	addr = space_alloc(s, file_size);
	space_set(s, addr, file, file_size);
	return addr;
}

static void expect_file(struct space *s, uint64_t addr, const char *name)
{
	char path[128];
	size_t size;
	void *want;

	snprintf(path, sizeof(path), "real/%s", name);
	want = read_data(path, &size);
	space_expect(s, addr, want, size, name);
	free(want);
}

static void preprocess(const char *name, uint64_t cols, bool scattered)
{
	char path[128], key[64];
	struct npu_cmd_preprocess cmd = {
		.cmd.opcode = NPU_OP_PREPROCESS, .cmd.flags = NPU_PREPROCESS_EMAX, .rows = 177,
		.cols = cols, .mode = NPU_PP_MODE_FIXED27, .sink = NPU_SINK_MEMORY,
	};
	size_t begin, end;
	struct npu_result r;
	struct space s;

	snprintf(key, sizeof(key), "act.%s", name);
	tensor(key, &begin, &end);
	assert_int_equal(end - begin, 177 * cols * 2);
	cmd.src = load(&s, scattered) + begin;
	cmd.dst = space_alloc(&s, 177 * cols * 4);
	cmd.emax = space_alloc(&s, 177 * 5);
	r = run_one(&s, NPU_RING_PREPROCESS, &cmd, 2, name);
	assert_int_equal(r.cycles, 2 * 177 * ((cols + 31) / 32) + 3);
	assert_int_equal(r.nonfinite_blocks, 0);
	assert_true(r.first_nonfinite_block == NPU_NO_BLOCK);
	snprintf(path, sizeof(path), "act.%s.fixed27.i32", name);
	expect_file(&s, cmd.dst, path);
	snprintf(path, sizeof(path), "act.%s.emax.u8", name);
	expect_file(&s, cmd.emax, path);
	cmd.cmd.flags = 0;
	cmd.emax = 0;
	cmd.mode = NPU_PP_MODE_INT8_EMAX;
	run_one(&s, NPU_RING_PREPROCESS, &cmd, 1, name);
	snprintf(path, sizeof(path), "act.%s.int8_emax.i8", name);
	expect_file(&s, cmd.dst, path);
	cmd.mode = NPU_PP_MODE_INT8_SYMMETRIC;
	cmd.cmd.flags = NPU_PREPROCESS_SCALES;
	cmd.scales = space_alloc(&s, 177 * 5 * 4);
	run_one(&s, NPU_RING_PREPROCESS, &cmd, 3, name);
	snprintf(path, sizeof(path), "act.%s.int8_symmetric.i8", name);
	expect_file(&s, cmd.dst, path);
	snprintf(path, sizeof(path), "act.%s.scales.f32", name);
	expect_file(&s, cmd.scales, path);
	space_free(&s);
}

static void test_preprocess(void **state)
{
	unsigned int scattered;

	for (scattered = 0; scattered < 2; scattered++) {
		preprocess("stft_magnitude", 129, scattered);
		preprocess("encoder0_relu", 128, scattered);
	}
}

static void fetch(const char *name, uint8_t type, uint8_t lookup, uint8_t cast, const char *want)
{
	size_t begin, end;
	struct npu_cmd_fetch cmd;
	unsigned int scattered;

	tensor(name, &begin, &end);
	for (scattered = 0; scattered < 2; scattered++) {
		struct space s;
		uint64_t addr = load(&s, scattered);

		cmd = fetch_run(type, addr + begin, space_alloc(&s, 512 * 128 * 4), 512 * 128);
		cmd.lookup = lookup ? NPU_LOOKUP_BUILTIN : 0;
		cmd.lookup_type = lookup;
		cmd.cast_type = cast;
		fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
		run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 2, want);
		expect_file(&s, cmd.dst, want);
		space_free(&s);
	}
}

static void test_fetch(void **state)
{
	fetch("lstm.weight_ih.nvfp4", NPU_TYPE_F4E2M1, NPU_TYPE_F8E4M3, 0, "nvfp4.f8e4m3.u8");
	fetch("lstm.weight_ih.nvfp4", NPU_TYPE_F4E2M1, NPU_TYPE_F8E4M3, NPU_TYPE_F32, "nvfp4.f32");
	fetch("lstm.weight_hh.f8e4m3", NPU_TYPE_F8E4M3, 0, NPU_TYPE_F32,
	      "lstm.weight_hh.f8e4m3.f32");
	fetch("lstm.weight_hh.f8e4m3", NPU_TYPE_F8E4M3, NPU_TYPE_BF16, 0,
	      "lstm.weight_hh.f8e4m3.bf16");
	fetch("lstm.weight_hh.f8e5m2", NPU_TYPE_F8E5M2, 0, NPU_TYPE_F32,
	      "lstm.weight_hh.f8e5m2.f32");
	fetch("lstm.weight_hh.f8e5m2", NPU_TYPE_F8E5M2, NPU_TYPE_BF16, 0,
	      "lstm.weight_hh.f8e5m2.bf16");
	fetch("lstm.weight_ih.i4_packed", NPU_TYPE_I4, 0, NPU_TYPE_I32, "i4.i32");
}

/* A of m rows times W of n rows, 128 elements each. */
static void contract(uint8_t type, uint64_t src, uint32_t m, uint8_t weight_type, uint64_t weight,
		     uint32_t n, struct space *s, int zero_point, const char *want)
{
	struct npu_cmd_fetch cmd = {
		.cmd.opcode = NPU_OP_FETCH, .src = src, .src_type = type, .packet_size = 128,
		.loop_count = 2, .size = { m, 128 }, .stride = { 128, 1 }, .m = m, .k = 128,
		.n = n, .weight = weight, .weight_type = weight_type, .sink = NPU_SINK_CONTRACT,
	};

	if (zero_point) {
		cmd.cmd.flags = NPU_FETCH_ZERO_POINT;
		cmd.zero_point = (int16_t)zero_point;
	}
	cmd.dst = space_alloc(s, (uint64_t)m * n * 4);
	fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
	run_one(s, NPU_RING_FETCH_MAIN, &cmd, 2, want);
	expect_file(s, cmd.dst, want);
}

static void test_contract(void **state)
{
	size_t i8, i4, end, size;
	void *act = read_data("real/act.encoder0_relu.int8_emax.i8", &size);
	struct space s;
	uint64_t addr = load(&s, true), act_addr = space_alloc(&s, size);

	tensor("lstm.weight_ih.i8", &i8, &end);
	tensor("lstm.weight_ih.i4_packed", &i4, &end);
	space_set(&s, act_addr, act, size);
	contract(NPU_TYPE_I8, addr + i8, 512, NPU_TYPE_I8, act_addr, 177, &s,
		 metadata("i8_zero_point"), "i9_contract.i32");
	contract(NPU_TYPE_I8, act_addr, 177, NPU_TYPE_I4, addr + i4, 512, &s, 0, "w4a8.i32");
	contract(NPU_TYPE_I4, addr + i4, 512, NPU_TYPE_I4, addr + i4, 16, &s,
		 metadata("i4_zero_point"), "i5_contract_i4.i32");
	space_free(&s);
	free(act);
}

static int setup(void **state)
{
	file = read_data("real/silero_vad_v5.safetensors", &file_size);
	return 0;
}

static int teardown(void **state)
{
	free(file);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preprocess),
		cmocka_unit_test(test_fetch),
		cmocka_unit_test(test_contract),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
