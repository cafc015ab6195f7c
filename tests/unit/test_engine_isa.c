// SPDX-License-Identifier: MIT
/* Names, layout, and what means nothing: unknown opcodes, sizes, flags, padding. */
#include "test_engine.h"

static void test_names(void **state)
{
	uint32_t a, b, named = 0;

	for (a = 0; a < NPU_RULE_COUNT; a++) {
		const char *name = npu_rule_name(a);

		assert_int_equal(!name, !npu_rule_text(a));
		if (!name)
			continue;
		named++;
		assert_true(strspn(name, "abcdefghijklmnopqrstuvwxyz-") == strlen(name));
		for (b = 0; b < a; b++)
			assert_true(!npu_rule_name(b) || strcmp(npu_rule_name(b), name));
	}
	assert_int_equal(named, 63);
	assert_null(npu_rule_name(NPU_RULE_COUNT));
	assert_null(npu_rule_name(0));
	assert_null(npu_type_name(NPU_TYPE_COUNT));
	for (a = 1; a < NPU_TYPE_COUNT; a++)
		assert_int_equal(npu_type_parse(npu_type_name(a)), a);
	assert_int_equal(npu_type_parse("i7"), NPU_TYPE_NONE);
}

/* Bytes that a plain FETCH of two loops into memory does not use. */
static bool unused_field(uint32_t at)
{
	static const size_t ranges[][2] = {
		{ offsetof(struct npu_cmd_fetch, weight),
		  offsetof(struct npu_cmd_fetch, packet_size) },
		{ offsetof(struct npu_cmd_fetch, k), offsetof(struct npu_cmd_fetch, src_type) },
		{ offsetof(struct npu_cmd_fetch, pad), offsetof(struct npu_cmd_fetch, size) },
		{ offsetof(struct npu_cmd_fetch, size[2]), offsetof(struct npu_cmd_fetch, stride) },
		{ offsetof(struct npu_cmd_fetch, stride[2]), sizeof(struct npu_cmd_fetch) },
	};
	unsigned int i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (at >= ranges[i][0] && at < ranges[i][1])
			return true;
	return false;
}

/* Every opcode, flag bit and padding byte that means nothing is refused. */
static void test_unknown(void **state)
{
	struct npu_cmd_fetch plain = fetch_run(NPU_TYPE_I8, 4096, 8192, 32), f;
	struct npu_check check;
	uint32_t i;

	plain.cmd.size = sizeof(plain);
	plain.cmd.flags = 0;
	plain.read_size = 32;
	plain.loop_count = 2;
	plain.size[0] = 1;
	plain.size[1] = 32;
	plain.stride[1] = 1;
	f = plain;
	for (i = 0; i < 65536; i++) {
		struct npu_cmd cmd = { .opcode = (uint16_t)i, .size = 8 };

		npu_check_init(&check, NPU_RING_FETCH_MAIN);
		if (i < NPU_OP_NOP || i > NPU_OP_FMAP_READ)
			assert_int_equal(npu_check_command(&check, &cmd), NPU_RULE_COMMAND_OPCODE);
		cmd.opcode = NPU_OP_BARRIER;
		cmd.size = (uint16_t)i;
		assert_int_equal(npu_check_command(&check, &cmd),
				 i == 8 ? 0 : NPU_RULE_COMMAND_SIZE);
	}
	for (i = 5; i < 32; i++) {
		f.cmd.flags = 1u << i;
		assert_int_equal(npu_check_command(&check, &f.cmd), NPU_RULE_COMMAND_FLAGS);
	}
	f = plain;
	for (i = 0; i < sizeof(f); i++) {
		struct npu_cmd_fetch g = f;

		((uint8_t *)&g)[i] ^= 1;
		if (unused_field(i))
			assert_int_equal(npu_check_command(&check, &g.cmd),
					 NPU_RULE_COMMAND_RESERVED);
	}
}

static void test_layout(void **state)
{
	assert_int_equal(sizeof(struct npu_stream_header), 16);
	assert_int_equal(sizeof(struct npu_cmd), 8);
	assert_int_equal(sizeof(struct npu_cmd_fetch), 208);
	assert_int_equal(sizeof(struct npu_cmd_preprocess), 72);
	assert_int_equal(sizeof(struct npu_cmd_lut_load), 24);
	assert_int_equal(sizeof(struct npu_cmd_const_set), 16);
	assert_int_equal(sizeof(struct npu_cmd_fmap_read), 48);
	assert_int_equal(sizeof(struct npu_result), 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
