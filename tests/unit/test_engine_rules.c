// SPDX-License-Identifier: MIT
/*
 * One table of all rules: for each, a stream that breaks only that one. The
 * checker and the executor must both name it, and nothing may be written.
 */
#include "test_engine.h"

/* Addresses of the space below: readable, readable and writable, read-only, not mapped. */
#define SRC		(SPACE_BASE)
#define DST		(SPACE_BASE + 0x10000)
#define RO		(SPACE_BASE + 0x20000)
#define HOLE		(SPACE_BASE + 0x30000)

/* A stream under construction and the ring it goes to. */
struct trial {
	struct stream st;
	uint32_t ring;
	uint32_t size;			/* submitted; 0: the stream's */
	uint32_t command;		/* where the rule breaks */
};

static struct npu_cmd_fetch fetch(void)
{
	struct npu_cmd_fetch cmd = {
		.cmd.opcode = NPU_OP_FETCH, .cmd.size = sizeof(cmd), .src = SRC, .dst = DST,
		.packet_size = 32, .read_size = 32, .src_type = NPU_TYPE_I8, .loop_count = 2,
		.sink = NPU_SINK_MEMORY, .size = { 4, 32 }, .stride = { 32, 1 },
	};

	return cmd;
}

static struct npu_cmd_fetch contract(void)
{
	struct npu_cmd_fetch cmd = fetch();

	cmd.sink = NPU_SINK_CONTRACT;
	cmd.weight = SRC + 4096;
	cmd.weight_type = NPU_TYPE_I8;
	cmd.m = 4;
	cmd.k = 32;
	cmd.n = 4;
	return cmd;
}

static struct npu_cmd_fetch masked(void)
{
	struct npu_cmd_fetch cmd = fetch();

	cmd.mask = NPU_MASK_RIGHTMOST;
	cmd.valid_count[0] = 20;
	return cmd;
}

static struct npu_cmd_lut_load lut(void)
{
	struct npu_cmd_lut_load cmd = {
		.cmd.opcode = NPU_OP_LUT_LOAD, .cmd.size = sizeof(cmd), .address = SRC,
		.key_type = NPU_TYPE_I8, .entry_type = NPU_TYPE_I8,
	};

	return cmd;
}

static struct npu_cmd_preprocess preprocess(void)
{
	struct npu_cmd_preprocess cmd = {
		.cmd.opcode = NPU_OP_PREPROCESS, .cmd.size = sizeof(cmd), .src = SRC, .dst = DST,
		.rows = 2, .cols = 40, .mode = NPU_PP_MODE_FIXED27, .sink = NPU_SINK_MEMORY,
	};

	return cmd;
}

static struct npu_cmd_preprocess to_fmap(uint64_t rows)
{
	struct npu_cmd_preprocess cmd = preprocess();

	cmd.sink = NPU_SINK_FMAP_CACHE;
	cmd.dst = 0;
	cmd.rows = rows;
	cmd.cols = 32;
	return cmd;
}

static struct npu_cmd_fmap_read fmap_read(void)
{
	struct npu_cmd_fmap_read cmd = {
		.cmd.opcode = NPU_OP_FMAP_READ, .cmd.size = sizeof(cmd), .dst = DST, .count = 32,
		.lanes = 1,
	};

	return cmd;
}

static struct npu_cmd_const_set constant(void)
{
	struct npu_cmd_const_set cmd = {
		.cmd.opcode = NPU_OP_CONST_SET, .cmd.size = sizeof(cmd), .value = 0x3f800000,
	};

	return cmd;
}

#define ADD(trial, cmd) stream_add(&(trial)->st, &(cmd))

static void stream_rules(uint32_t rule, struct trial *t)
{
	struct npu_cmd nop = { .opcode = NPU_OP_NOP };
	struct npu_cmd_fetch f = fetch();
	struct npu_cmd *last = (void *)(t->st.bytes + sizeof(struct npu_stream_header));

	ADD(t, nop);
	switch (rule) {
	case NPU_RULE_STREAM_MAGIC:
		t->st.header.magic++;
		break;
	case NPU_RULE_STREAM_VERSION:
		t->st.header.minor++;
		break;
	case NPU_RULE_STREAM_SIZE:
		t->size = t->st.header.size + 8;
		break;
	case NPU_RULE_STREAM_COUNT:
		t->st.header.count++;
		t->command = 1;
		break;
	case NPU_RULE_COMMAND_TRUNCATED:
		ADD(t, f);
		t->st.header.size -= 8;
		t->command = 1;
		break;
	case NPU_RULE_COMMAND_OPCODE:
		last->opcode = NPU_OP_FMAP_READ + 1;
		break;
	case NPU_RULE_COMMAND_SIZE:
		last->size = 16;
		break;
	case NPU_RULE_COMMAND_FLAGS:
		last->flags = 1;
		break;
	case NPU_RULE_COMMAND_RESERVED:
		f.pad2[2] = 1;
		ADD(t, f);
		t->command = 1;
		break;
	case NPU_RULE_COMMAND_RING:
		ADD(t, f);
		t->ring = NPU_RING_PREPROCESS;
		t->command = 1;
		break;
	}
}

static void nest_rules(uint32_t rule, struct trial *t)
{
	struct npu_cmd_fetch f = fetch();

	switch (rule) {
	case NPU_RULE_SOURCE_TYPE:
		f.src_type = NPU_TYPE_U8;
		break;
	case NPU_RULE_LOOP_COUNT:
		f.loop_count = 9;
		break;
	case NPU_RULE_LOOP_SIZE:
		f.size[0] = 0;
		break;
	case NPU_RULE_NEST_OVERFLOW:
		f.loop_count = 4;
		f.size[2] = f.size[1] = f.size[0] = UINT32_MAX;
		f.stride[2] = f.stride[1] = f.stride[0] = 0;
		f.size[3] = 32;
		f.stride[3] = 1;
		break;
	case NPU_RULE_PACKET_SIZE:
		f.packet_size = 24;
		f.read_size = 8;
		break;
	case NPU_RULE_PACKET_ALIGN:
		f.packet_size = 4;
		f.read_size = 4;
		break;
	case NPU_RULE_UNPADDED_SINK:
		f.cmd.flags = NPU_FETCH_UNPADDED | NPU_FETCH_FLITS;
		break;
	case NPU_RULE_READ_SIZE_DIVISOR:
		f.stride[1] = 2;
		f.stride[0] = 64;
		f.read_size = 2;
		break;
	case NPU_RULE_READ_SIZE_BYTES:
		f.src_type = NPU_TYPE_I4;
		f.read_size = 1;
		break;
	case NPU_RULE_READ_SIZE_SUB:
		t->ring = NPU_RING_FETCH_SUB;
		f.read_size = 16;
		break;
	case NPU_RULE_READ_SIZE_FLIT:
		f.cast_type = NPU_TYPE_I32;
		f.read_size = 16;
		break;
	}
	ADD(t, f);
}

static void mask_rules(uint32_t rule, struct trial *t)
{
	struct npu_cmd_fetch f = masked();

	switch (rule) {
	case NPU_RULE_MASK_CONTEXT:
		t->ring = NPU_RING_FETCH_SUB;
		f.read_size = 8;
		break;
	case NPU_RULE_MASK_KIND:
		f.mask = 4;
		break;
	case NPU_RULE_MASK_AXIS:
		f.mask_axis = 1;
		break;
	case NPU_RULE_MASK_SECOND:
		f.mask = NPU_MASK_RIGHTMOST_AND_SECOND;
		f.size[0] = 1;
		break;
	case NPU_RULE_MASK_ITERATOR:
		f.mask = NPU_MASK_ITERATOR;
		f.mask_iterator = 0;
		break;
	case NPU_RULE_MASK_COUNT:
		f.valid_count[0] = 33;
		break;
	}
	ADD(t, f);
}

static void table_rules(uint32_t rule, struct trial *t)
{
	struct npu_cmd_lut_load load = lut();
	struct npu_cmd_fetch f = fetch();

	f.lookup = NPU_LOOKUP_SLOT;
	f.lookup_type = NPU_TYPE_I8;
	t->command = 1;
	switch (rule) {
	case NPU_RULE_LOOKUP_CONTEXT:
		t->ring = NPU_RING_FETCH_SUB;
		f.src_type = NPU_TYPE_F8E4M3;
		f.lookup = NPU_LOOKUP_BUILTIN;
		f.lookup_type = NPU_TYPE_BF16;
		f.read_size = 8;
		t->command = 0;
		ADD(t, f);
		return;
	case NPU_RULE_LOOKUP_KIND:
		f.lookup = 3;
		break;
	case NPU_RULE_LOOKUP_PAIR:
		f.lookup = NPU_LOOKUP_BUILTIN;
		f.src_type = NPU_TYPE_F4E2M1;
		f.lookup_type = NPU_TYPE_BF16;
		break;
	case NPU_RULE_LUT_SLOT:
		load.slot = 8;
		t->command = 0;
		break;
	case NPU_RULE_LUT_EMPTY:
		f.lut_slot = 1;
		break;
	case NPU_RULE_LUT_TYPES:
		f.src_type = NPU_TYPE_F8E4M3;
		break;
	case NPU_RULE_LUT_KEY_TYPE:
		load.key_type = NPU_TYPE_F32;
		t->command = 0;
		break;
	case NPU_RULE_LUT_ENTRY_TYPE:
		load.entry_type = NPU_TYPE_I4;
		t->command = 0;
		break;
	}
	ADD(t, load);
	ADD(t, f);
}

static void cast_rules(uint32_t rule, struct trial *t)
{
	struct npu_cmd_fetch f = rule == NPU_RULE_CAST_PAIR || rule == NPU_RULE_ZERO_POINT_SINK ?
				 fetch() : contract();

	if (rule != NPU_RULE_CAST_PAIR)
		f.cmd.flags |= NPU_FETCH_ZERO_POINT;
	switch (rule) {
	case NPU_RULE_CAST_PAIR:
		f.src_type = NPU_TYPE_F8E4M3;
		f.cast_type = NPU_TYPE_BF16;
		f.read_size = 16;
		break;
	case NPU_RULE_ZERO_POINT_TYPE:
		f.src_type = NPU_TYPE_F8E4M3;
		f.weight_type = NPU_TYPE_F8E4M3;
		break;
	case NPU_RULE_ZERO_POINT_RANGE:
		f.zero_point = 128;
		break;
	}
	ADD(t, f);
}

static void sink_rules(uint32_t rule, struct trial *t)
{
	struct npu_cmd_fetch f = contract();

	switch (rule) {
	case NPU_RULE_SINK:
		f = fetch();
		f.sink = NPU_SINK_FMAP_CACHE;
		break;
	case NPU_RULE_CONTRACT_CONTEXT:
		t->ring = NPU_RING_FETCH_SUB;
		f.read_size = 8;
		break;
	case NPU_RULE_CONTRACT_PAIR:
		f.weight_type = NPU_TYPE_I16;
		break;
	case NPU_RULE_CONTRACT_SHAPE:
		f.m = 3;
		break;
	case NPU_RULE_WEIGHT_ZERO_POINT:
		f.cmd.flags |= NPU_FETCH_WEIGHT_ZERO_POINT;
		f.weight_zero_point = -129;
		break;
	}
	ADD(t, f);
}

static void preprocess_rules(uint32_t rule, struct trial *t)
{
	struct npu_cmd_preprocess p = preprocess();

	t->ring = NPU_RING_PREPROCESS;
	switch (rule) {
	case NPU_RULE_PREPROCESS_MODE:
		p.mode = 7;
		break;
	case NPU_RULE_PREPROCESS_ROUNDING:
		p.rounding = NPU_ROUND_TRUNCATE;
		break;
	case NPU_RULE_PREPROCESS_SCALES:
		p.cmd.flags = NPU_PREPROCESS_SCALES;
		p.scales = DST + 4096;
		break;
	case NPU_RULE_PREPROCESS_SHAPE:
		p.rows = 1ull << 37;
		break;
	case NPU_RULE_CONST_EMPTY:
		p.mode = NPU_PP_MODE_INT8_CONST;
		p.const_slot = 5;
		break;
	case NPU_RULE_FMAP_MODE:
		p = to_fmap(1);
		p.mode = NPU_PP_MODE_LOW8;
		break;
	case NPU_RULE_FMAP_FULL:
		p = to_fmap(60);
		ADD(t, p);
		p.rows = 5;
		t->command = 1;
		break;
	case NPU_RULE_EMAX_FULL:
		p.cmd.flags = NPU_PREPROCESS_KEEP_EMAX;
		p.mode = NPU_PP_MODE_INT8_EMAX;
		p.rows = 1000;
		p.cols = 1;
		ADD(t, p);
		p.rows = 25;
		t->command = 1;
		break;
	case NPU_RULE_EMAX_MIXED:
		p = to_fmap(1);
		ADD(t, p);
		p = preprocess();
		p.cmd.flags = NPU_PREPROCESS_KEEP_EMAX;
		t->command = 1;
		break;
	}
	ADD(t, p);
}

static void cache_rules(uint32_t rule, struct trial *t)
{
	struct npu_cmd_const_set c = constant();
	struct npu_cmd_fmap_read r = fmap_read();
	struct npu_cmd_preprocess p = to_fmap(1);

	t->ring = NPU_RING_PREPROCESS;
	switch (rule) {
	case NPU_RULE_CONST_SLOT:
		c.slot = 64;
		break;
	case NPU_RULE_CONST_VALUE:
		c.value = 0x7f800000;
		break;
	case NPU_RULE_FMAP_RANGE:
		r.start = 1;
		t->command = 2;
		break;
	case NPU_RULE_FMAP_LANES:
		r.lanes = 33;
		t->command = 2;
		break;
	}
	ADD(t, c);
	ADD(t, p);
	ADD(t, r);
}

static void address_rules(uint32_t rule, struct trial *t)
{
	struct npu_cmd_fetch f = fetch();

	switch (rule) {
	case NPU_RULE_ADDRESS_RANGE:
		f.src = 4095;
		break;
	case NPU_RULE_ADDRESS_UNMAPPED:
		f.src = HOLE - 32;
		break;
	case NPU_RULE_ADDRESS_READONLY:
		f.dst = RO;
		break;
	case NPU_RULE_OVERLAP:
		f.dst = SRC + 127;
		break;
	}
	ADD(t, f);
}

static bool build(uint32_t rule, struct trial *t)
{
	memset(t, 0, sizeof(*t));
	stream_init(&t->st);
	t->ring = NPU_RING_FETCH_MAIN;
	if (rule <= NPU_RULE_COMMAND_RING)
		stream_rules(rule, t);
	else if (rule <= NPU_RULE_READ_SIZE_FLIT)
		nest_rules(rule, t);
	else if (rule <= NPU_RULE_MASK_COUNT)
		mask_rules(rule, t);
	else if (rule <= NPU_RULE_LUT_ENTRY_TYPE)
		table_rules(rule, t);
	else if (rule <= NPU_RULE_ZERO_POINT_SINK)
		cast_rules(rule, t);
	else if (rule <= NPU_RULE_WEIGHT_ZERO_POINT)
		sink_rules(rule, t);
	else if (rule == NPU_RULE_CONST_SLOT || rule == NPU_RULE_CONST_VALUE ||
		 rule == NPU_RULE_FMAP_RANGE || rule == NPU_RULE_FMAP_LANES)
		cache_rules(rule, t);
	else if (rule <= NPU_RULE_EMAX_MIXED)
		preprocess_rules(rule, t);
	else
		address_rules(rule, t);
	if (!t->size)
		t->size = t->st.header.size;
	return t->st.header.count;
}

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
		if (s.pool[i] != 0x11 && (i < DST - SPACE_BASE || i >= RO - SPACE_BASE || !t->command))
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

/* Every opcode, flag bit and padding byte that means nothing is refused. */
static void test_unknown(void **state)
{
	struct npu_cmd_fetch f = fetch();
	struct npu_check check;
	uint32_t i;

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
	f = fetch();
	for (i = 0; i < sizeof(f); i++) {
		struct npu_cmd_fetch g = f;

		/* fields that plain FETCH into memory does not use */
		((uint8_t *)&g)[i] ^= 1;
		if ((i >= offsetof(struct npu_cmd_fetch, weight) && i < offsetof(struct npu_cmd_fetch, packet_size)) ||
		    (i >= offsetof(struct npu_cmd_fetch, k) && i < offsetof(struct npu_cmd_fetch, src_type)) ||
		    (i >= offsetof(struct npu_cmd_fetch, pad) && i < offsetof(struct npu_cmd_fetch, size)) ||
		    (i >= offsetof(struct npu_cmd_fetch, size[2]) && i < offsetof(struct npu_cmd_fetch, stride)) ||
		    i >= offsetof(struct npu_cmd_fetch, stride[2]))
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
		cmocka_unit_test(test_each_rule),
		cmocka_unit_test(test_bases),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
