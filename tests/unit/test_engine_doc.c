// SPDX-License-Identifier: MIT
/*
 * The documentation is executed: every row of the tables in fetch.rst through
 * the engine, and the rules of isa.rst against the engine's own list.
 */
#include "test_engine.h"

#define MAX_CELLS 16

static char *read_doc(const char *name)
{
	char path[96];
	size_t size;
	char *text;

	snprintf(path, sizeof(path), "../../Documentation/%s", name);
	text = read_data(path, &size);
	text[size] = 0;
	return text;
}

typedef void row_fn(char **cell, unsigned int cells);

/* Calls @fn for each row of the csv-table @title; cells are trimmed. */
static unsigned int each_row(const char *title, row_fn *fn)
{
	char *text = read_doc("fetch.rst"), mark[64], *line, *save, *save2;
	unsigned int rows = 0;

	snprintf(mark, sizeof(mark), ".. csv-table:: %s\n", title);
	line = strstr(text, mark);
	assert_non_null(line);
	line = strstr(line, "\n\n") + 2;
	for (line = strtok_r(line, "\n", &save); line && !strncmp(line, "   ", 3);
	     line = strtok_r(NULL, "\n", &save)) {
		char *cell[MAX_CELLS], *p;
		unsigned int n = 0;

		for (p = strtok_r(line, ",", &save2); p; p = strtok_r(NULL, ",", &save2)) {
			assert_true(n < MAX_CELLS);
			cell[n++] = p + strspn(p, " ");
		}
		fn(cell, n);
		rows++;
		/* an empty line ends the table, and strtok does not show it */
		if (save && *save == '\n')
			break;
	}
	free(text);
	return rows;
}

static uint8_t parse_type(const char *name)
{
	uint32_t type = strcmp(name, "-") ? npu_type_parse(name) : NPU_TYPE_NONE;

	if (strcmp(name, "-") && !type)
		fail_msg("no type \"%s\"", name);
	return (uint8_t)type;
}

static void parse_loops(struct npu_cmd_fetch *cmd, const char *text)
{
	long size, stride;
	int used;

	cmd->loop_count = 0;
	while (sscanf(text, " %ld:%ld%n", &size, &stride, &used) == 2) {
		cmd->size[cmd->loop_count] = (uint32_t)size;
		cmd->stride[cmd->loop_count++] = stride;
		text += used;
	}
	assert_true(cmd->loop_count > 0);
}

static unsigned int parse_numbers(const char *text, long *to, unsigned int max)
{
	unsigned int n = 0;
	char *end;

	for (;;) {
		long v = strtol(text, &end, 10);

		if (end == text)
			return n;
		assert_true(n < max);
		to[n++] = v;
		text = end;
	}
}

static void sequencer_row(char **cell, unsigned int cells)
{
	struct npu_cmd_fetch cmd = {
		.cmd.opcode = NPU_OP_FETCH, .sink = NPU_SINK_MEMORY,
		.src_type = parse_type(cell[0]), .cast_type = parse_type(cell[1]),
		.packet_size = (uint32_t)atol(cell[3]),
	};
	struct npu_fetch_plan plan;
	struct npu_result r;
	struct space s;

	assert_int_equal(cells, 9);
	parse_loops(&cmd, cell[2]);
	assert_int_equal(npu_fetch_plan(&cmd, NPU_RING_FETCH_MAIN, &plan), 0);
	assert_int_equal(plan.contiguous_run, atol(cell[4]));
	assert_int_equal(plan.max_access_size, atol(cell[5]));
	assert_int_equal(plan.read_size, atol(cell[6]));
	assert_int_equal(plan.time_steps, atol(cell[7]));
	assert_int_equal(plan.cycles, atol(cell[8]));
	cmd.read_size = plan.read_size;
	space_init(&s, 64, true);
	cmd.src = space_alloc(&s, 32768) + 8192;
	cmd.dst = space_alloc(&s, 16384);
	r = run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, cell[2]);
	assert_int_equal(r.cycles, plan.cycles + plan.latency);
	space_free(&s);
}

static void mask_row(char **cell, unsigned int cells)
{
	static const char *const masks[] = { "none", "rightmost", "rightmost-and-second",
					     "iterator" };
	struct npu_cmd_fetch cmd = {
		.cmd.opcode = NPU_OP_FETCH, .sink = NPU_SINK_MEMORY,
		.src_type = parse_type(cell[0]), .packet_size = (uint32_t)atol(cell[2]),
		.mask_axis = (uint8_t)atoi(cell[4]), .left_pad = (uint16_t)atoi(cell[6]),
	};
	unsigned int bytes = npu_type_bits(cmd.src_type) / 8, i, n;
	long counts[8], valid = 0, zeroed = 0;
	struct npu_fetch_plan plan;
	struct space s;

	assert_int_equal(cells, 10);
	parse_loops(&cmd, cell[1]);
	for (i = 0; i < 4; i++)
		if (!strcmp(cell[3], masks[i]))
			cmd.mask = (uint8_t)i;
	assert_true(cmd.mask);
	if (*cell[5] != '-')
		cmd.mask_iterator = (uint8_t)atoi(cell[5]);
	n = parse_numbers(cell[7], counts, 8);
	for (i = 0; i < n; i++)
		cmd.valid_count[i] = (uint16_t)counts[i];
	assert_int_equal(npu_fetch_plan(&cmd, NPU_RING_FETCH_MAIN, &plan), 0);
	cmd.read_size = plan.read_size;
	space_init(&s, 64, true);
	cmd.src = space_alloc(&s, 32768) + 64;
	cmd.dst = space_alloc(&s, 32768);
	for (i = 0; i < 32768 - 64; i++)
		*space_byte(&s, cmd.src + i) = 1;
	cmd.offset = -(int64_t)cmd.left_pad;
	for (i = 0; i < 64; i++)
		*space_byte(&s, cmd.src - 64 + i) = 1;
	run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, cell[1]);
	for (i = 0; i < plan.elements; i++) {
		if (*space_byte(&s, cmd.dst + i * bytes))
			valid++;
		else
			zeroed++;
	}
	assert_int_equal(valid, atol(cell[8]));
	assert_int_equal(zeroed, atol(cell[9]));
	space_free(&s);
}

static void element_row(char **cell, unsigned int cells)
{
	struct npu_cmd_fetch cmd = fetch_run(parse_type(cell[0]), 0, 0, 1);
	uint32_t in = (uint32_t)strtoul(cell[3], NULL, 16);
	uint32_t want = (uint32_t)strtoul(cell[4], NULL, 16), got = 0;
	struct npu_fetch_plan plan;
	struct space s;

	assert_int_equal(cells, 5);
	cmd.lookup_type = parse_type(cell[1]);
	cmd.lookup = cmd.lookup_type ? NPU_LOOKUP_BUILTIN : NPU_LOOKUP_NONE;
	cmd.cast_type = parse_type(cell[2]);
	fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
	npu_fetch_plan(&cmd, NPU_RING_FETCH_MAIN, &plan);
	space_init(&s, 16, true);
	cmd.src = space_alloc(&s, 4);
	cmd.dst = space_alloc(&s, 4);
	space_set(&s, cmd.src, &in, 4);
	run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, cell[0]);
	space_get(&s, cmd.dst, &got, plan.out_bytes);
	if (got != want)
		fail_msg("%s of %s is %08x, not %s", cell[0], cell[3], got, cell[4]);
	space_free(&s);
}

static void put_elements(struct space *s, uint64_t addr, uint8_t type, const long *v,
			 unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint8_t *p = space_byte(s, addr + (type == NPU_TYPE_I4 ? i / 2 : i));

		if (type == NPU_TYPE_I4)
			*p |= (uint8_t)((v[i] & 15) << i % 2 * 4);
		else
			*p = (uint8_t)v[i];
	}
}

static void contract_row(char **cell, unsigned int cells)
{
	char types[2][16], points[2][16];
	long a[64], w[64], out[64];
	unsigned int na, nw, n, i;
	struct npu_cmd_fetch cmd;
	struct space s;

	assert_int_equal(cells, 7);
	assert_int_equal(sscanf(cell[0], "%15s %15s", types[0], types[1]), 2);
	assert_int_equal(sscanf(cell[2], "%15s %15s", points[0], points[1]), 2);
	na = parse_numbers(cell[3], a, 64);
	nw = parse_numbers(cell[4], w, 64);
	n = parse_numbers(cell[6], out, 64);
	cmd = fetch_run(parse_type(types[0]), 0, 0, na);
	cmd.sink = NPU_SINK_CONTRACT;
	cmd.weight_type = parse_type(types[1]);
	cmd.k = (uint32_t)atol(cell[1]);
	cmd.m = na / cmd.k;
	cmd.n = nw / cmd.k;
	cmd.k_group = (uint32_t)atol(cell[5]);
	if (strcmp(points[0], "-")) {
		cmd.cmd.flags |= NPU_FETCH_ZERO_POINT;
		cmd.zero_point = (int16_t)atoi(points[0]);
	}
	if (strcmp(points[1], "-")) {
		cmd.cmd.flags |= NPU_FETCH_WEIGHT_ZERO_POINT;
		cmd.weight_zero_point = (int16_t)atoi(points[1]);
	}
	fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
	space_init(&s, 16, true);
	cmd.src = space_alloc(&s, 64);
	cmd.weight = space_alloc(&s, 64);
	cmd.dst = space_alloc(&s, 256);
	put_elements(&s, cmd.src, cmd.src_type, a, na);
	put_elements(&s, cmd.weight, cmd.weight_type, w, nw);
	run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, cell[0]);
	for (i = 0; i < n; i++) {
		int32_t got;

		space_get(&s, cmd.dst + i * 4, &got, 4);
		if (got != out[i])
			fail_msg("%s: [%u] is %d, not %ld", cell[0], i, got, out[i]);
	}
	space_free(&s);
}

static void test_sequencer(void **state)
{
	assert_int_equal(each_row("Sequencer", sequencer_row), 14);
}

static void test_mask(void **state)
{
	assert_int_equal(each_row("Mask", mask_row), 6);
}

static void test_elements(void **state)
{
	assert_int_equal(each_row("Elements", element_row), 21);
}

static void test_contraction(void **state)
{
	assert_int_equal(each_row("Contraction", contract_row), 9);
}

/* Name, number and sentence of each rule, and no other rule. */
static void test_rules(void **state)
{
	char *isa = read_doc("isa.rst"), want[512], *p;
	unsigned int rules = 0, listed = 0;
	uint32_t rule;

	for (rule = 1; rule < NPU_RULE_COUNT; rule++) {
		if (!npu_rule_name(rule))
			continue;
		snprintf(want, sizeof(want), "\n``%s`` (%u)\n    %s\n", npu_rule_name(rule), rule,
			 npu_rule_text(rule));
		if (!strstr(isa, want))
			fail_msg("isa.rst does not have:%s", want);
		rules++;
	}
	p = strstr(isa, "\nRules\n=====\n");
	assert_non_null(p);
	while ((p = strstr(p, "\n``"))) {
		p += 3;
		listed++;
	}
	assert_int_equal(listed, rules);
	free(isa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequencer),
		cmocka_unit_test(test_mask),
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_contraction),
		cmocka_unit_test(test_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
