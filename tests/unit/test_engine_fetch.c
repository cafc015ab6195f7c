// SPDX-License-Identifier: MIT
/*
 * FETCH into memory against a plain model: nested loops, one element at a
 * time, the mask and the layout of packets as the documentation says them.
 */
#include "test_engine.h"

#define REGION 40000u

static uint32_t host_element(const uint8_t *mem, int64_t pos, unsigned int bits)
{
	uint32_t v = 0;

	if (bits == 4)
		return mem[pos >> 1] >> ((pos & 1) * 4) & 15;
	memcpy(&v, mem + pos * (int64_t)(bits / 8), bits / 8);
	return v;
}

/* Elements of the nest in row-major order, relative to the nest's base. */
static uint32_t walk(const struct npu_cmd_fetch *cmd, int64_t *pos)
{
	uint32_t index[NPU_MAX_LOOPS] = { 0 };
	uint32_t n = 0;
	int i;

	for (;;) {
		int64_t p = cmd->offset;

		for (i = 0; i < cmd->loop_count; i++)
			p += index[i] * cmd->stride[i];
		pos[n++] = p;
		for (i = cmd->loop_count - 1; i >= 0; i--) {
			if (++index[i] < cmd->size[i])
				break;
			index[i] = 0;
		}
		if (i < 0)
			return n;
	}
}

/* Index of loop @loop in time step @step. */
static uint32_t loop_index(const struct npu_cmd_fetch *cmd, unsigned int loop, uint64_t step)
{
	uint64_t element = step * cmd->packet_size;
	unsigned int i;

	for (i = cmd->loop_count - 1; i > loop; i--)
		element /= cmd->size[i];
	return (uint32_t)(element % cmd->size[loop]);
}

static bool slot_masked(const struct npu_cmd_fetch *cmd, uint64_t step, uint32_t slot)
{
	uint32_t n, i;

	if (!cmd->mask)
		return false;
	n = cmd->size[cmd->mask_axis];
	i = loop_index(cmd, cmd->mask_axis, step);
	if (i == 0 && slot < cmd->left_pad)
		return true;
	if (i == n - 1) {
		uint32_t k = cmd->mask == NPU_MASK_ITERATOR ?
			     loop_index(cmd, cmd->mask_iterator, step) : 0;

		return slot >= cmd->valid_count[k];
	}
	return cmd->mask == NPU_MASK_RIGHTMOST_AND_SECOND && i == n - 2 &&
	       slot >= cmd->valid_count[1];
}

static void put_bits(uint8_t *out, uint64_t bit, unsigned int bits, uint32_t v)
{
	if (bits == 4)
		out[bit / 8] |= (uint8_t)((v & 15) << bit % 8);
	else
		memcpy(out + bit / 8, &v, bits / 8);
}

/* The whole output. @table: a user table's entries, or NULL; casts are integer ones, or none. */
static uint64_t model(const struct npu_cmd_fetch *cmd, const uint8_t *a, const uint8_t *b,
		      const uint8_t *table, uint8_t *out)
{
	static int64_t pos[REGION * 8];
	uint32_t n = walk(cmd, pos), i;
	bool pair = cmd->cmd.flags & NPU_FETCH_INTERLEAVE;
	unsigned int bits = npu_type_bits(cmd->src_type);
	unsigned int out_bits = bits;
	uint32_t packet = cmd->packet_size;
	uint64_t stride_bits, total;

	if (table)
		out_bits = npu_type_bits(cmd->lookup_type);
	if (cmd->cast_type)
		out_bits = npu_type_bits(cmd->cast_type);
	stride_bits = (uint64_t)packet * out_bits;
	if (cmd->cmd.flags & NPU_FETCH_FLITS)
		stride_bits = (stride_bits + 255) / 256 * 256;
	total = (n / packet * (pair ? 2 : 1) * stride_bits + 7) / 8;
	memset(out, 0, total);
	for (i = 0; i < n * (pair ? 2 : 1); i++) {
		uint64_t step = i / packet;
		uint32_t slot = i % packet, v;
		const uint8_t *mem = pair && step & 1 ? b : a;

		if (pair)
			step /= 2;
		v = host_element(mem, pos[step * packet + slot], bits);
		if (slot_masked(cmd, step, slot))
			v = 0;
		if (table) {
			unsigned int bytes = npu_type_bits(cmd->lookup_type) / 8;
			uint32_t key = v;

			v = 0;
			memcpy(&v, table + key * bytes, bytes);
		}
		if (cmd->cast_type == NPU_TYPE_I32) {
			uint8_t from = table ? cmd->lookup_type : cmd->src_type;

			v = from == NPU_TYPE_I8 ? (uint32_t)(int8_t)v :
			    from == NPU_TYPE_I16 ? (uint32_t)(int16_t)v :
			    from == NPU_TYPE_I4 ? (uint32_t)((int32_t)(v << 28) >> 28) : v;
		}
		put_bits(out, i / packet * stride_bits + slot * out_bits, out_bits, v);
	}
	return total;
}

struct rig {
	struct space s;
	uint64_t region[2], dst, table;
	uint8_t host[2][REGION];
};

static void rig_init(struct rig *rig, bool scattered)
{
	unsigned int i;

	space_init(&rig->s, 1024, scattered);
	for (i = 0; i < 2; i++) {
		rig->region[i] = space_alloc(&rig->s, REGION);
		space_random(&rig->s, rig->region[i], REGION);
		space_get(&rig->s, rig->region[i], rig->host[i], REGION);
	}
	rig->dst = space_alloc(&rig->s, 1 << 20);
	rig->table = space_alloc(&rig->s, 65536 * 4);
}

static void random_loops(struct npu_cmd_fetch *cmd)
{
	uint64_t elements = 1;
	unsigned int i, n = (unsigned int)(rng() % 9);

	cmd->loop_count = (uint8_t)n;
	memset(cmd->size, 0, sizeof(cmd->size));
	memset(cmd->stride, 0, sizeof(cmd->stride));
	for (i = n; i-- > 0;) {
		uint32_t max = rng() % 8 ? 6 : 900;

		if (max > 6000 / elements)
			max = 1 + (uint32_t)(6000 / elements);
		cmd->size[i] = 1 + (uint32_t)(rng() % max);
		cmd->stride[i] = rng() % 3 ? (int64_t)elements : (int64_t)(rng() % 41) - 20;
		if (rng() % 8 == 0)
			cmd->stride[i] = (int64_t)(rng() % 2000) - 1000;
		elements *= cmd->size[i];
	}
	do
		cmd->packet_size = 1 + (uint32_t)(rng() % elements);
	while (elements % cmd->packet_size);
}

static void random_mask(struct npu_cmd_fetch *cmd)
{
	unsigned int i, n = 1;

	if (!cmd->loop_count || rng() % 2)
		return;
	cmd->mask = (uint8_t)(1 + rng() % 3);
	cmd->mask_axis = (uint8_t)(rng() % cmd->loop_count);
	if (cmd->mask == NPU_MASK_RIGHTMOST_AND_SECOND)
		n = 2;
	if (cmd->mask == NPU_MASK_ITERATOR) {
		cmd->mask_iterator = (uint8_t)(rng() % cmd->loop_count);
		n = cmd->size[cmd->mask_iterator];
	}
	if (rng() % 3 == 0)
		cmd->left_pad = (uint16_t)(rng() % (cmd->packet_size + 1));
	for (i = 0; i < n && i < 8; i++)
		cmd->valid_count[i] = (uint16_t)(rng() % (cmd->packet_size + 1));
}

static void random_stages(struct npu_cmd_fetch *cmd)
{
	static const uint8_t types[] = { NPU_TYPE_I4, NPU_TYPE_I8, NPU_TYPE_I16, NPU_TYPE_F32,
					 NPU_TYPE_F4E2M1, NPU_TYPE_BF16 };
	static const uint8_t entries[] = { NPU_TYPE_I8, NPU_TYPE_U16, NPU_TYPE_U32, NPU_TYPE_I16 };

	cmd->src_type = types[rng() % sizeof(types)];
	cmd->lookup = 0;
	cmd->lookup_type = 0;
	cmd->cast_type = 0;
	if (rng() % 3 == 0 && cmd->src_type != NPU_TYPE_F32) {
		cmd->lookup = NPU_LOOKUP_SLOT;
		cmd->lookup_type = entries[rng() % 4];
		cmd->lut_slot = (uint8_t)(rng() % 8);
	}
	if (rng() % 2) {
		uint8_t from = cmd->lookup ? cmd->lookup_type : cmd->src_type;

		if (from == NPU_TYPE_I4 || from == NPU_TYPE_I8 || from == NPU_TYPE_I16)
			cmd->cast_type = NPU_TYPE_I32;
	}
	cmd->cmd.flags = (rng() % 3 == 0 ? NPU_FETCH_INTERLEAVE : 0) |
			 (rng() % 2 ? NPU_FETCH_UNPADDED : rng() % 2 ? NPU_FETCH_FLITS : 0);
}

/* Puts the nest's interval at a random place of the region; false where it is too long. */
static bool place(struct rig *rig, struct npu_cmd_fetch *cmd, int64_t *shift)
{
	unsigned int bits = npu_type_bits(cmd->src_type);
	int64_t low = 0, high = 0, span, at;
	unsigned int i;

	for (i = 0; i < cmd->loop_count; i++) {
		int64_t far = (cmd->size[i] - 1) * cmd->stride[i];

		if (far < 0)
			low += far;
		else
			high += far;
	}
	span = high - low + 1;
	if (span >= REGION * 8 / bits)
		return false;
	/* element @at of the region is the lowest; the nest's element 0 is at -low from it */
	at = (int64_t)(rng() % (uint64_t)(REGION * 8 / bits - span));
	cmd->offset = at - low - (int64_t)(rng() % 16);
	*shift = at - low - cmd->offset;
	if (bits == 4 && *shift % 2) {
		cmd->offset++;
		(*shift)--;
	}
	cmd->src = rig->region[0] + (uint64_t)(*shift * bits / 8);
	cmd->src2 = cmd->cmd.flags & NPU_FETCH_INTERLEAVE ?
		    rig->region[1] + (uint64_t)(*shift * bits / 8) : 0;
	return true;
}

static void run_random(struct rig *rig, unsigned int *done, unsigned int threads)
{
	static uint8_t want[1 << 20], table[65536 * 4];
	static struct stream st;
	struct npu_cmd_fetch cmd = { .cmd.opcode = NPU_OP_FETCH, .sink = NPU_SINK_MEMORY };
	struct npu_cmd_lut_load lut = { .cmd.opcode = NPU_OP_LUT_LOAD, .address = rig->table };
	struct npu_fetch_plan plan;
	struct npu_result r;
	struct npu_check check;
	uint64_t size;
	int64_t shift;
	uint8_t guard[2] = { 0xee, 0xee };

	random_loops(&cmd);
	random_stages(&cmd);
	random_mask(&cmd);
	if (!place(rig, &cmd, &shift) || npu_fetch_plan(&cmd, NPU_RING_FETCH_MAIN, &plan) ||
	    plan.out_bytes > (1 << 20) - 200)
		return;
	cmd.read_size = plan.read_size;
	cmd.dst = rig->dst + 1 + rng() % 100;
	stream_init(&st);
	npu_check_init(&check, NPU_RING_FETCH_MAIN);
	if (cmd.lookup) {
		unsigned int keys = 1u << npu_type_bits(cmd.src_type);

		lut.slot = cmd.lut_slot;
		lut.key_type = cmd.src_type;
		lut.entry_type = cmd.lookup_type;
		size = keys * npu_type_bits(cmd.lookup_type) / 8;
		if (keys == 65536 && rng() % 16)
			return;
		space_random(&rig->s, rig->table, size);
		space_get(&rig->s, rig->table, table, size);
		stream_add(&st, &lut);
		npu_check_command(&check, &lut.cmd);
	}
	stream_add(&st, &cmd);
	cmd.cmd.size = sizeof(cmd);
	/* a random mask may be illegal; that is another test */
	if (npu_check_command(&check, &cmd.cmd))
		return;
	cmd.offset += shift;
	size = model(&cmd, rig->host[0], rig->host[1], cmd.lookup ? table : NULL, want);
	space_set(&rig->s, cmd.dst - 1, guard, 1);
	space_set(&rig->s, cmd.dst + size, guard, 1);
	r = stream_run(&rig->s, NPU_RING_FETCH_MAIN, &st, threads);
	expect_ok(&r, "random nest");
	assert_int_equal(size, plan.out_bytes);
	space_expect(&rig->s, cmd.dst, want, size, "random nest");
	space_expect(&rig->s, cmd.dst - 1, guard, 1, "guard before");
	space_expect(&rig->s, cmd.dst + size, guard, 1, "guard behind");
	assert_int_equal(r.elements_in, plan.elements * (cmd.src2 ? 2 : 1));
	assert_int_equal(r.elements_out, r.elements_in);
	(*done)++;
}

static void test_random(void **state)
{
	static struct rig rig;
	unsigned int shape, n, done = 0;

	for (shape = 0; shape < 2; shape++) {
		rig_init(&rig, shape);
		for (n = 0; n < 8000; n++)
			run_random(&rig, &done, n % 64 ? 1 : 3);
		space_free(&rig.s);
	}
	assert_true(done > 4000);
}

/* A case of the contract: the source is 1, 2, 3, ...; @row: what each time step should hold. */
static void mask_case(const char *what, struct npu_cmd_fetch cmd, uint32_t total, uint32_t valid,
		      uint32_t left)
{
	uint32_t bytes = npu_type_bits(cmd.src_type) / 8;
	struct space s;
	uint32_t i, zeros = 0, seen = 0;

	space_init(&s, 64, true);
	cmd.src = space_alloc(&s, 4096) + 64;
	cmd.dst = space_alloc(&s, 4096);
	for (i = 0; i < 200; i++) {
		uint32_t v = i + 1;

		space_set(&s, cmd.src + i * bytes, &v, bytes);
	}
	cmd.src -= left * bytes;
	fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
	run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1, what);
	for (i = 0; i < total; i++) {
		uint32_t v = 0;

		space_get(&s, cmd.dst + i * bytes, &v, bytes);
		zeros += v == 0;
		/* every valid element once, nothing else */
		if (v) {
			assert_true(v <= valid - left);
			seen++;
		}
	}
	if (seen != valid - left || zeros != total - seen)
		fail_msg("%s: %u valid and %u zero slots", what, seen, zeros);
	space_free(&s);
}

static void test_mask_cases(void **state)
{
	struct npu_cmd_fetch cmd = {
		.cmd.opcode = NPU_OP_FETCH, .src_type = NPU_TYPE_I8, .sink = NPU_SINK_MEMORY,
		.packet_size = 32, .loop_count = 3, .size = { 32, 3, 32 }, .stride = { 96, 32, 1 },
		.mask = NPU_MASK_RIGHTMOST, .mask_axis = 1, .valid_count = { 28 },
	};
	static const uint16_t counts[8] = { 16, 16, 16, 16, 16, 16, 1, 0 };

	cmd.size[0] = 1;		/* one row here: the source is numbered through */
	mask_case("92 of 96, chunks inside", cmd, 96, 92, 0);
	cmd.left_pad = 2;
	mask_case("92 of 96, chunks inside, left pad", cmd, 96, 92, 2);
	cmd.left_pad = 0;
	cmd.size[0] = 3;
	cmd.stride[0] = 32;
	cmd.size[1] = 1;
	cmd.stride[1] = 96;
	cmd.mask_axis = 0;
	mask_case("92 of 96, chunks outside", cmd, 96, 92, 0);
	cmd.left_pad = 2;
	mask_case("92 of 96, chunks outside, left pad", cmd, 96, 92, 2);
	cmd = (struct npu_cmd_fetch){
		.cmd.opcode = NPU_OP_FETCH, .src_type = NPU_TYPE_F32, .sink = NPU_SINK_MEMORY,
		.packet_size = 16, .loop_count = 4, .size = { 1, 8, 1, 16 },
		.stride = { 128, 16, 0, 1 }, .mask = NPU_MASK_ITERATOR, .mask_axis = 2,
		.mask_iterator = 1,
	};
	memcpy(cmd.valid_count, counts, sizeof(counts));
	mask_case("97 of 128, iterator", cmd, 128, 97, 0);
}

/* The cases at full size, against the model. */
static void test_mask_full(void **state)
{
	static struct rig rig;
	static uint8_t want[1 << 20];
	struct npu_cmd_fetch cases[5] = {
		{ .src_type = NPU_TYPE_I8, .packet_size = 32, .size = { 32, 3, 32 },
		  .stride = { 96, 32, 1 }, .mask = NPU_MASK_RIGHTMOST, .mask_axis = 1,
		  .valid_count = { 28 }, .loop_count = 3 },
		{ .src_type = NPU_TYPE_I8, .packet_size = 32, .size = { 3, 32, 32 },
		  .stride = { 32, 96, 1 }, .mask = NPU_MASK_RIGHTMOST, .mask_axis = 0,
		  .valid_count = { 28 }, .loop_count = 3 },
		{ .src_type = NPU_TYPE_F32, .packet_size = 16, .size = { 32, 8, 1, 16 },
		  .stride = { 128, 16, 0, 1 }, .mask = NPU_MASK_ITERATOR, .mask_axis = 2,
		  .mask_iterator = 1, .valid_count = { 16, 16, 16, 16, 16, 16, 1, 0 },
		  .loop_count = 4 },
	};
	unsigned int i;

	cases[3] = cases[0];
	cases[4] = cases[1];
	cases[3].left_pad = 2;
	cases[4].left_pad = 2;
	rig_init(&rig, true);
	for (i = 0; i < 5; i++) {
		struct npu_cmd_fetch cmd = cases[i];
		uint64_t size;

		cmd.cmd.opcode = NPU_OP_FETCH;
		cmd.sink = NPU_SINK_MEMORY;
		cmd.dst = rig.dst;
		cmd.src = rig.region[0] + 64;
		cmd.offset = -(int64_t)cmd.left_pad;
		fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
		run_one(&rig.s, NPU_RING_FETCH_MAIN, &cmd, 1, "mask case");
		size = model(&cmd, rig.host[0] + 64, NULL, NULL, want);
		space_expect(&rig.s, cmd.dst, want, size, "mask case");
	}
	space_free(&rig.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_mask_cases),
		cmocka_unit_test(test_mask_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
