/* SPDX-License-Identifier: MIT */
/* A stream for each rule that breaks only that one. */
#ifndef TEST_ENGINE_TRIALS_H
#define TEST_ENGINE_TRIALS_H

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

#endif
