// SPDX-License-Identifier: MIT
/*
 * One table of all rules: for each, a stream that breaks only that one. The
 * checker and the executor must both name it, and nothing may be written.
 */
#include "test_engine_trials.h"

static void rules_space(struct space *s)
{
	uint32_t i;

	space_init(s, 64, false);
	for (i = 0; i < 47; i++)
		s->map[i] = i + 1;
	for (i = 32; i < 48; i++)
		s->readonly[i] = true;
	memset(s->pool, 0x11, 64 * PAGE);
}

/* What the static checker can see: everything but mappings. */
static uint32_t static_rule(uint32_t rule)
{
	return rule == NPU_RULE_ADDRESS_UNMAPPED || rule == NPU_RULE_ADDRESS_READONLY ? 0 : rule;
}

static void run_trial(struct trial *t, uint32_t rule)
{
	struct npu_engine_job job = {
		.stream = t->st.bytes, .size = t->size, .ring = t->ring, .threads = 1,
	};
	struct npu_result r;
	struct space s;
	uint32_t i;

	rules_space(&s);
	job.memory = &s.memory;
	npu_engine_run(&job, &r);
	assert_int_equal(r.status, NPU_STATUS_FAULT);
	if (r.rule != rule)
		fail_msg("%s: the device says %s", npu_rule_name(rule),
			 r.rule ? npu_rule_name(r.rule) : "nothing");
	assert_int_equal(r.command, t->command);
	if (rule >= NPU_RULE_ADDRESS_RANGE)
		assert_true(r.fault_address > 0);
	else
		assert_int_equal(r.fault_address, 0);
	/* only earlier commands may have written, and those only to their outputs */
	for (i = 0; i < 64 * PAGE; i++)
		if (s.pool[i] != 0x11 &&
		    (i < DST - SPACE_BASE || i >= RO - SPACE_BASE || !t->command))
			fail_msg("%s: byte %x was written", npu_rule_name(rule), i);
	space_free(&s);
}

static void test_each_rule(void **state)
{
	static struct trial t;
	uint32_t rule, walked = 0;

	for (rule = 1; rule < NPU_RULE_HANG; rule++) {
		uint32_t command = ~0u, got;

		if (!npu_rule_name(rule))
			continue;
		walked++;
		assert_true(build(rule, &t));
		got = npu_check_stream(t.st.bytes, t.size, t.ring, &command);
		if (got != static_rule(rule))
			fail_msg("%s: the checker says %s", npu_rule_name(rule),
				 got ? npu_rule_name(got) : "nothing");
		if (got)
			assert_int_equal(command, t.command);
		run_trial(&t, rule);
	}
	assert_int_equal(walked, 61);
}

/* What the trials start from is legal, so that each breaks one rule only. */
static void test_bases(void **state)
{
	struct npu_cmd_fetch f[3] = { fetch(), contract(), masked() };
	struct npu_cmd_lut_load l = lut();
	struct npu_cmd_preprocess p[2] = { preprocess(), to_fmap(1) };
	struct npu_cmd_fmap_read r = fmap_read();
	struct npu_cmd_const_set c = constant();
	struct npu_check check;
	unsigned int i;

	npu_check_init(&check, NPU_RING_FETCH_MAIN);
	for (i = 0; i < 3; i++)
		assert_int_equal(npu_check_command(&check, &f[i].cmd), 0);
	assert_int_equal(npu_check_command(&check, &l.cmd), 0);
	npu_check_init(&check, NPU_RING_PREPROCESS);
	for (i = 0; i < 2; i++)
		assert_int_equal(npu_check_command(&check, &p[i].cmd), 0);
	assert_int_equal(npu_check_command(&check, &r.cmd), 0);
	assert_int_equal(npu_check_command(&check, &c.cmd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_rule),
		cmocka_unit_test(test_bases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
