// SPDX-License-Identifier: MIT
/*
 * The sequencer's arithmetic against plain oracles: extents of random nests in
 * 128-bit arithmetic, contiguous runs by walking, read sizes by trying all.
 */
#include "test_engine.h"

typedef __int128 wide;

static int64_t random_stride(void)
{
	switch (rng() % 6) {
	case 0:
		return (int64_t)(rng() % 8);
	case 1:
		return -(int64_t)(rng() % 8);
	case 2:
		return (int64_t)(rng() % 100000) - 50000;
	case 3:
		return (int64_t)(rng() >> (rng() % 40));
	case 4:
		return -(int64_t)(rng() >> (1 + rng() % 40));
	default:
		return rng() % 2 ? INT64_MAX - (int64_t)(rng() % 3) :
				   INT64_MIN + (int64_t)(rng() % 3);
	}
}

static uint32_t random_size(void)
{
	switch (rng() % 4) {
	case 0:
		return 1;
	case 1:
		return 1 + (uint32_t)(rng() % 8);
	case 2:
		return 1 + (uint32_t)(rng() % 1000);
	default:
		return rng() % 8 ? 1 + (uint32_t)(rng() % 100000) :
				   UINT32_MAX - (uint32_t)(rng() % 2);
	}
}

static wide floor_div(wide a, wide b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Offsets and bases that bring an overflowing sum back into range are the interesting ones. */
static void random_nest(struct npu_cmd_fetch *cmd)
{
	static const uint8_t types[] = { NPU_TYPE_I4, NPU_TYPE_I8, NPU_TYPE_BF16, NPU_TYPE_F32 };
	wide low = 0;
	unsigned int i;

	*cmd = fetch_run(types[rng() % 4], 0, 0, 1);
	cmd->loop_count = (uint8_t)(rng() % 9);
	memset(cmd->size, 0, sizeof(cmd->size));
	memset(cmd->stride, 0, sizeof(cmd->stride));
	for (i = 0; i < cmd->loop_count; i++) {
		cmd->size[i] = random_size();
		cmd->stride[i] = random_stride();
		if (cmd->stride[i] < 0)
			low += (wide)(cmd->size[i] - 1) * cmd->stride[i];
	}
	switch (rng() % 4) {
	case 0:
		cmd->offset = (int64_t)rng();
		break;
	case 1:
		cmd->offset = (int64_t)(rng() % 1000);
		break;
	default:
		cmd->offset = (int64_t)(uint64_t)(-low + (wide)(rng() % 5000));
	}
	cmd->src = rng() % 8 ? rng() % (1ull << NPU_ADDRESS_BITS) : rng();
}

static void test_extent(void **state)
{
	unsigned int i, n, valid = 0, refused = 0;

	for (n = 0; n < 100000; n++) {
		struct npu_operand op[NPU_MAX_OPERANDS];
		struct npu_cmd_fetch cmd;
		wide low, high, count = 1;
		uint32_t rule;
		unsigned int bits;
		bool ok;

		random_nest(&cmd);
		bits = npu_type_bits(cmd.src_type);
		low = cmd.offset;
		high = cmd.offset;
		for (i = 0; i < cmd.loop_count; i++) {
			wide span = (wide)(cmd.size[i] - 1) * cmd.stride[i];

			/* never more than 8 * 2^95 */
			if (span < 0)
				low += span;
			else
				high += span;
			if (count <= UINT64_MAX)
				count *= cmd.size[i];
		}
		low = (wide)cmd.src + floor_div(low * bits, 8);
		high = (wide)cmd.src + floor_div(high * bits + bits - 1, 8);
		ok = cmd.src < 1ull << NPU_ADDRESS_BITS && low >= 4096 &&
		     high < (wide)1 << NPU_ADDRESS_BITS;
		/* keep the output out of the question */
		cmd.sink = NPU_SINK_CONTRACT;
		cmd.k = 1;
		npu_operands(&cmd.cmd, op, &rule);
		if (count > UINT64_MAX) {
			assert_int_equal(rule, NPU_RULE_NEST_OVERFLOW);
			continue;
		}
		assert_int_equal(rule, ok ? 0 : NPU_RULE_ADDRESS_RANGE);
		if (ok) {
			assert_true(op[0].address == (uint64_t)low);
			assert_true(op[0].size == (uint64_t)(high - low + 1));
		}
		valid += ok;
		refused += !ok;
	}
	assert_true(valid > 1000 && refused > 1000);
}

/* Elements of the innermost loops that continue each other, in unlimited precision. */
static uint64_t oracle_run(const struct npu_cmd_fetch *cmd)
{
	uint64_t run = 1;
	int i, inner = -1;

	for (i = cmd->loop_count - 1; i >= 0; i--) {
		if (cmd->size[i] == 1)
			continue;
		if (inner < 0) {
			if (cmd->stride[i] != 0 && cmd->stride[i] != 1)
				return 1;
		} else if ((wide)cmd->size[inner] * cmd->stride[inner] != cmd->stride[i]) {
			break;
		}
		run *= cmd->size[i];
		inner = i;
	}
	return run;
}

static bool read_legal(const struct npu_cmd_fetch *cmd, uint64_t max_access, uint64_t n,
		       bool limit)
{
	unsigned int bits = npu_type_bits(cmd->src_type);
	uint64_t bytes = n * bits / 8;

	if (!n || max_access % n || n * bits % 8)
		return false;
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16 && bytes != 32)
		return false;
	return !limit || !cmd->cast_type || n * npu_type_bits(cmd->cast_type) / 8 <= 32;
}

static void random_reads(struct npu_cmd_fetch *cmd)
{
	static const uint8_t types[][2] = {
		{ NPU_TYPE_I4, 0 }, { NPU_TYPE_I4, NPU_TYPE_I32 }, { NPU_TYPE_I8, 0 },
		{ NPU_TYPE_I8, NPU_TYPE_I32 }, { NPU_TYPE_I16, NPU_TYPE_I32 },
		{ NPU_TYPE_BF16, NPU_TYPE_F32 }, { NPU_TYPE_F32, 0 },
		{ NPU_TYPE_F32, NPU_TYPE_BF16 }, { NPU_TYPE_F8E4M3, NPU_TYPE_F32 },
		{ NPU_TYPE_I4, NPU_TYPE_I4 },
	};
	uint64_t elements = 1;
	unsigned int i = (unsigned int)(rng() % 10);

	*cmd = fetch_run(types[i][0], 1 << 20, 1 << 30, 1);
	cmd->cast_type = types[i][1];
	cmd->loop_count = (uint8_t)(rng() % 5);
	cmd->size[0] = 0;
	cmd->stride[0] = 0;
	for (i = cmd->loop_count; i-- > 0;) {
		cmd->size[i] = 1 + (uint32_t)(rng() % 12);
		cmd->stride[i] = rng() % 4 ? (int64_t)elements : (int64_t)(rng() % 40) - 20;
		if (i + 1u == cmd->loop_count && rng() % 2)
			cmd->stride[i] = (int64_t)(rng() % 2);
		elements *= cmd->size[i];
	}
	do
		cmd->packet_size = 1 + (uint32_t)(rng() % elements);
	while (elements % cmd->packet_size);
}

static void test_read_size(void **state)
{
	unsigned int n;

	for (n = 0; n < 30000; n++) {
		uint64_t run, max_access, best = 0, size, a, b;
		struct npu_fetch_plan plan;
		struct npu_cmd_fetch cmd;
		uint32_t rule, sub;

		random_reads(&cmd);
		rule = npu_fetch_plan(&cmd, NPU_RING_FETCH_MAIN, &plan);
		assert_int_equal(rule, 0);
		run = oracle_run(&cmd);
		assert_true(plan.contiguous_run == run);
		for (a = run, b = cmd.packet_size; b;) {
			uint64_t t = a % b;

			a = b;
			b = t;
		}
		max_access = a;
		assert_true(plan.max_access_size == max_access);
		for (size = 1; size <= max_access; size++)
			if (read_legal(&cmd, max_access, size, true))
				best = size;
		if (!best)
			best = 1;
		assert_true(plan.read_size == best);
		assert_true(plan.reads_per_packet == cmd.packet_size / best);
		assert_true(plan.cycles == plan.elements / best);
		sub = npu_fetch_plan(&cmd, NPU_RING_FETCH_SUB, &plan);
		size = 64 / npu_type_bits(cmd.src_type);
		if (max_access % size)
			assert_int_equal(sub, NPU_RULE_READ_SIZE_SUB);
		else if (cmd.cast_type && size * npu_type_bits(cmd.cast_type) > 256)
			assert_int_equal(sub, NPU_RULE_READ_SIZE_FLIT);
		else
			assert_int_equal(sub, 0);
		/* a size that is given is taken exactly where it is legal */
		for (size = 1; size <= 70; size++) {
			cmd.read_size = (uint32_t)size;
			rule = npu_fetch_plan(&cmd, NPU_RING_FETCH_MAIN, &plan);
			if (size == best && best == 1)
				assert_int_equal(rule, 0);
			else
				assert_int_equal(!rule, read_legal(&cmd, max_access, size, true));
		}
	}
}

struct figure {
	const char *what;
	uint8_t type;
	uint8_t loops;
	uint32_t size[4];
	int64_t stride[4];
	uint32_t packet;
	uint32_t read, reads;
	uint64_t steps, cycles;
};

#define NCHW { 4, 3, 4, 16 }, { 192, 64, 16, 1 }

/* Documentation/fetch.rst has the same figures, and tells what they are. */
static const struct figure figures[] = {
	{ "packet W", NPU_TYPE_I4, 4, NCHW, 16, 16, 1, 48, 48 },
	{ "packet (H%2, W)", NPU_TYPE_I4, 4, NCHW, 32, 32, 1, 24, 24 },
	{ "packet (H, W)", NPU_TYPE_I4, 4, NCHW, 64, 64, 1, 12, 12 },
	{ "packet (C, H, W)", NPU_TYPE_I4, 4, NCHW, 192, 64, 3, 4, 12 },
	{ "packet C of 2 in 8", NPU_TYPE_F8E4M3, 3, { 3, 5, 8 }, { 10, 2, 1 }, 8, 8, 1, 15, 15 },
	{ "packet (B, C) of 10 in 16", NPU_TYPE_F8E4M3, 2, { 3, 16 }, { 10, 1 }, 16, 16, 1, 3, 3 },
	{ "packet (A, B, C) of 30 in 32", NPU_TYPE_F8E4M3, 1, { 32 }, { 1 }, 32, 32, 1, 1, 1 },
};

static void test_figures(void **state)
{
	unsigned int i;

	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		const struct figure *f = &figures[i];
		struct npu_cmd_fetch cmd = fetch_run(f->type, 4096, 65536, f->packet);
		struct npu_fetch_plan plan;
		struct npu_result r;
		struct space s;

		cmd.cmd.flags = 0;
		cmd.loop_count = f->loops;
		memcpy(cmd.size, f->size, sizeof(f->size));
		memcpy(cmd.stride, f->stride, sizeof(f->stride));
		assert_int_equal(npu_fetch_plan(&cmd, NPU_RING_FETCH_MAIN, &plan), 0);
		assert_int_equal(plan.read_size, f->read);
		assert_int_equal(plan.reads_per_packet, f->reads);
		assert_int_equal(plan.time_steps, f->steps);
		assert_int_equal(plan.cycles, f->cycles);
		assert_int_equal(plan.latency, 0);

		/* the record says the same, and twice that when interleaved */
		space_init(&s, 64, true);
		cmd.read_size = plan.read_size;
		cmd.src = space_alloc(&s, 4096);
		cmd.dst = space_alloc(&s, 4096);
		r = run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, f->what);
		assert_int_equal(r.cycles, f->cycles);
		cmd.cmd.flags = NPU_FETCH_INTERLEAVE;
		cmd.src2 = space_alloc(&s, 4096);
		r = run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, f->what);
		assert_int_equal(r.cycles, 2 * f->cycles);
		space_free(&s);
	}
}

static void test_latency(void **state)
{
	static const struct {
		uint8_t type, lookup, cast, zero_point;
		uint32_t latency;
	} cases[] = {
		{ NPU_TYPE_I8, 0, NPU_TYPE_I8, 0, 0 },
		{ NPU_TYPE_I8, 0, NPU_TYPE_I32, 0, 1 },
		{ NPU_TYPE_I16, 0, NPU_TYPE_I32, 0, 1 },
		{ NPU_TYPE_BF16, 0, NPU_TYPE_F32, 0, 2 },
		{ NPU_TYPE_F32, 0, NPU_TYPE_BF16, 0, 2 },
		{ NPU_TYPE_F4E2M1, NPU_TYPE_F8E4M3, 0, 0, 1 },
		{ NPU_TYPE_F4E2M1, NPU_TYPE_F8E4M3, NPU_TYPE_F32, 0, 3 },
		{ NPU_TYPE_I8, 0, 0, 1, 1 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct npu_cmd_fetch cmd = fetch_run(cases[i].type, 4096, 65536, 64);
		struct npu_fetch_plan plan;

		cmd.lookup = cases[i].lookup ? NPU_LOOKUP_BUILTIN : 0;
		cmd.lookup_type = cases[i].lookup;
		cmd.cast_type = cases[i].cast;
		if (cases[i].zero_point)
			cmd.cmd.flags |= NPU_FETCH_ZERO_POINT;
		assert_int_equal(npu_fetch_plan(&cmd, NPU_RING_FETCH_MAIN, &plan), 0);
		assert_int_equal(plan.latency, cases[i].latency);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_extent),
		cmocka_unit_test(test_read_size),
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_latency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
