// SPDX-License-Identifier: MIT
/* What is wrong with a command, in its own numbers, and what would be right. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "stream.h"

struct text {
	char *at;
	size_t size;
};

static bool say(const struct text *text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool say(const struct text *text, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(text->at, text->size, fmt, args);
	va_end(args);
	return true;
}

const char *npu_op_name(uint32_t opcode)
{
	static const char *const names[] = {
		[NPU_OP_NOP] = "nop",
		[NPU_OP_BARRIER] = "barrier",
		[NPU_OP_FETCH] = "fetch",
		[NPU_OP_PREPROCESS] = "preprocess",
		[NPU_OP_LUT_LOAD] = "lut-load",
		[NPU_OP_CONST_SET] = "const-set",
		[NPU_OP_FMAP_READ] = "fmap-read",
	};

	if (opcode >= sizeof(names) / sizeof(names[0]) || !names[opcode])
		return "command";
	return names[opcode];
}

static const char *type_name(uint32_t type)
{
	const char *name = npu_type_name(type);

	return name ? name : "none";
}

/* The type that leaves the lookup, and the one that leaves the adapter. */
static uint32_t lookup_type(const struct npu_cmd_fetch *cmd)
{
	return cmd->lookup ? cmd->lookup_type : cmd->src_type;
}

static uint32_t cast_type(const struct npu_cmd_fetch *cmd)
{
	return cmd->cast_type ? cmd->cast_type : lookup_type(cmd);
}

/* What the plan says where only the packet or the read size is at fault. */
static struct npu_fetch_plan relaxed_plan(const struct npu_cmd_fetch *cmd)
{
	struct npu_cmd_fetch relaxed = *cmd;
	struct npu_fetch_plan plan;

	relaxed.cmd.flags |= NPU_FETCH_UNPADDED;
	relaxed.read_size = 0;
	npu_fetch_plan(&relaxed, NPU_RING_FETCH_MAIN, &plan);
	return plan;
}

static bool explain_packet(uint32_t rule, const struct npu_cmd_fetch *cmd, const struct text *text)
{
	struct npu_fetch_plan plan = relaxed_plan(cmd);
	unsigned int i;

	switch (rule) {
	case NPU_RULE_LOOP_SIZE:
		for (i = 0; i + 1 < cmd->loop_count && cmd->size[i]; i++)
			;
		return say(text, "loop %u has 0 iterations; every loop runs at least once", i);
	case NPU_RULE_PACKET_SIZE:
		return say(text, "packets of %u elements do not divide the %llu elements of the nest",
			   cmd->packet_size, (unsigned long long)plan.elements);
	case NPU_RULE_PACKET_ALIGN:
		return say(text,
			   "a packet of %u %s leaves as %llu bytes, not a multiple of 8; choose a longer packet or set NPU_VIEW_UNPADDED",
			   cmd->packet_size, type_name(plan.out_type),
			   (unsigned long long)plan.packet_bytes);
	case NPU_RULE_READ_SIZE_DIVISOR:
		return say(text, "read_size %u does not divide max_access_size %u; the largest legal one is %u",
			   cmd->read_size, plan.max_access_size, plan.read_size);
	case NPU_RULE_READ_SIZE_BYTES:
		return say(text,
			   "read_size %u is %llu bits of %s; a read is 1, 2, 4, 8, 16 or 32 bytes, the largest legal one here is %u",
			   cmd->read_size,
			   (unsigned long long)cmd->read_size * npu_type_bits(cmd->src_type),
			   type_name(cmd->src_type), plan.read_size);
	default:
		return false;
	}
}

static bool explain_read(uint32_t rule, const struct npu_cmd_fetch *cmd, uint32_t ring,
			 const struct text *text)
{
	struct npu_fetch_plan plan = relaxed_plan(cmd);
	uint32_t sub = 64 / (npu_type_bits(cmd->src_type) ? npu_type_bits(cmd->src_type) : 64);
	uint32_t read = ring == NPU_RING_FETCH_SUB ? sub : cmd->read_size;

	if (rule == NPU_RULE_READ_SIZE_SUB)
		return say(text,
			   "the sub context reads 8 bytes, %u %s, but max_access_size is %u and read_size %u; take whole groups of %u elements or the main context",
			   sub, type_name(cmd->src_type), plan.max_access_size, cmd->read_size,
			   sub);
	if (rule == NPU_RULE_READ_SIZE_FLIT)
		return say(text, "%u %s a read become %llu bytes of %s, more than a flit of 32",
			   read, type_name(cmd->src_type),
			   (unsigned long long)read * npu_type_bits(cmd->cast_type) / 8,
			   type_name(cmd->cast_type));
	return false;
}

static bool explain_types(uint32_t rule, const struct npu_cmd_fetch *cmd, const struct text *text)
{
	switch (rule) {
	case NPU_RULE_SOURCE_TYPE:
		return say(text, "%s cannot be fetched from memory", type_name(cmd->src_type));
	case NPU_RULE_LOOKUP_PAIR:
		return say(text,
			   "no built-in table from %s to %s; there are f4e2m1 to f8e4m3 or f8e5m2, f8e4m3 or f8e5m2 to bf16",
			   type_name(cmd->src_type), type_name(cmd->lookup_type));
	case NPU_RULE_CAST_PAIR:
		return say(text,
			   "no cast from %s to %s; there are i4, i8, i16 to i32, f8e4m3, f8e5m2, bf16 to f32, f32 to bf16, and identity",
			   type_name(lookup_type(cmd)), type_name(cmd->cast_type));
	case NPU_RULE_ZERO_POINT_TYPE:
		return say(text, "a zero point is subtracted from i4 or i8, not from %s",
			   type_name(cast_type(cmd)));
	case NPU_RULE_ZERO_POINT_RANGE:
		return say(text, "zero point %d of %s is outside of %s", cmd->zero_point,
			   type_name(cast_type(cmd)),
			   cast_type(cmd) == NPU_TYPE_I4 ? "-8..7" : "-128..127");
	default:
		return false;
	}
}

static bool explain_mask(uint32_t rule, const struct npu_cmd_fetch *cmd, const struct text *text)
{
	switch (rule) {
	case NPU_RULE_MASK_AXIS:
		return say(text,
			   "axis %u is no loop outside the packet of %u elements (%u loops)",
			   cmd->mask_axis, cmd->packet_size, cmd->loop_count);
	case NPU_RULE_MASK_ITERATOR:
		return say(text,
			   "iterator %u must be another loop than axis %u, outside the packet, of at most 8 iterations",
			   cmd->mask_iterator, cmd->mask_axis);
	case NPU_RULE_MASK_COUNT:
		return say(text,
			   "left pad %u and each valid count are at most the packet's %u elements, unused counts are 0",
			   cmd->left_pad, cmd->packet_size);
	default:
		return false;
	}
}

static bool explain_sink(uint32_t rule, const struct npu_cmd_fetch *cmd,
			 const struct npu_check *check, const struct text *text)
{
	uint32_t slot = cmd->lut_slot % NPU_LUT_SLOTS;
	uint32_t type = cast_type(cmd);
	bool minus = cmd->cmd.flags & NPU_FETCH_ZERO_POINT;

	switch (rule) {
	case NPU_RULE_LUT_TYPES:
		return say(text, "the table in slot %u is from %s to %s, the fetch is of %s", slot,
			   type_name(check->lut_key[slot]), type_name(check->lut_entry[slot]),
			   type_name(cmd->src_type));
	case NPU_RULE_CONTRACT_PAIR:
		return say(text,
			   "a stream of %s%s cannot meet weights of %s%s; pairs are i4 x i4 and i8 x i8 (each with or without zero point), i8 x i4 without zero points, bf16 x bf16, f8e4m3 x f8e4m3, f8e5m2 x f8e5m2",
			   type_name(type), minus ? " minus a zero point" : "",
			   type_name(cmd->weight_type),
			   cmd->cmd.flags & NPU_FETCH_WEIGHT_ZERO_POINT ? " minus a zero point" : "");
	case NPU_RULE_WEIGHT_ZERO_POINT:
		return say(text,
			   "weight zero point %d of %s weights: it is for i4 (-8..7) and i8 (-128..127)",
			   cmd->weight_zero_point, type_name(cmd->weight_type));
	default:
		return false;
	}
}

static bool explain_fetch(uint32_t rule, const struct npu_cmd_fetch *cmd,
			  const struct npu_check *check, uint32_t ring, const struct text *text)
{
	return explain_packet(rule, cmd, text) || explain_read(rule, cmd, ring, text) ||
	       explain_types(rule, cmd, text) || explain_mask(rule, cmd, text) ||
	       explain_sink(rule, cmd, check, text);
}

static bool explain_preprocess(uint32_t rule, const struct npu_cmd_preprocess *cmd,
			       const struct npu_check *check, const struct text *text)
{
	switch (rule) {
	case NPU_RULE_PREPROCESS_MODE:
		return say(text, "mode is %u, not 1 to %u", cmd->mode, NPU_PP_MODE_INT8_CONST);
	case NPU_RULE_CONST_EMPTY:
		return say(text, "constant slot %u is not set by a CONST_SET earlier in this stream",
			   cmd->const_slot);
	case NPU_RULE_FMAP_FULL:
		return say(text,
			   "%llu rows of %llu elements on top of %u blocks: the fmap cache holds %u",
			   (unsigned long long)cmd->rows, (unsigned long long)cmd->cols,
			   check->fmap_blocks, NPU_FMAP_BLOCKS);
	case NPU_RULE_EMAX_FULL:
		return say(text,
			   "%llu rows of %llu elements on top of %u blocks: the e_max cache holds %u",
			   (unsigned long long)cmd->rows, (unsigned long long)cmd->cols,
			   check->emax_blocks, NPU_EMAX_BLOCKS);
	default:
		return false;
	}
}

static bool explain_fmap(uint32_t rule, const struct npu_cmd_fmap_read *cmd,
			 const struct npu_check *check, const struct text *text)
{
	if (rule == NPU_RULE_FMAP_RANGE)
		return say(text, "elements %u to %llu, but this stream fills %u", cmd->start,
			   (unsigned long long)cmd->start + cmd->count - 1,
			   NPU_BLOCK_SIZE * (cmd->cmd.flags & NPU_FMAP_NO_VALUES ?
					     check->emax_blocks : check->fmap_blocks));
	if (rule == NPU_RULE_FMAP_LANES)
		return say(text, "%u lanes, not 1 to %u", cmd->lanes, NPU_FMAP_LANES);
	return false;
}

void npu_explain(uint32_t rule, const struct npu_cmd *cmd, const struct npu_check *check,
		 uint32_t ring, char *at, size_t size)
{
	const struct text text = { at, size };
	bool done = false;

	if (rule == NPU_RULE_COMMAND_RING)
		done = say(&text, "the %s queue does not run %s commands", npu_ring_name(ring),
			   npu_op_name(cmd->opcode));
	else if (cmd->opcode == NPU_OP_FETCH)
		done = explain_fetch(rule, (const struct npu_cmd_fetch *)cmd, check, ring, &text);
	else if (cmd->opcode == NPU_OP_PREPROCESS)
		done = explain_preprocess(rule, (const struct npu_cmd_preprocess *)cmd, check,
					  &text);
	else if (cmd->opcode == NPU_OP_FMAP_READ)
		done = explain_fmap(rule, (const struct npu_cmd_fmap_read *)cmd, check, &text);
	if (!done)
		say(&text, "%s", npu_rule_text(rule));
}
