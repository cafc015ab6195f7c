// SPDX-License-Identifier: MIT
/* The rules of FETCH: unused fields, mask, tables, zero points, contraction. */
#include <string.h>

#include "check.h"
#include "check_fetch.h"

static bool any_set(const void *p, size_t n)
{
	const uint8_t *b = p;

	while (n--)
		if (*b++)
			return true;
	return false;
}

/* Fields that the chosen stages do not use must be 0. */
static uint32_t check_unused(const struct npu_cmd_fetch *cmd)
{
	uint32_t flags = cmd->cmd.flags;
	unsigned int n = cmd->loop_count;

	if (cmd->pad || any_set(cmd->pad2, sizeof(cmd->pad2)) ||
	    any_set(&cmd->size[n], (NPU_MAX_LOOPS - n) * sizeof(cmd->size[0])) ||
	    any_set(&cmd->stride[n], (NPU_MAX_LOOPS - n) * sizeof(cmd->stride[0])))
		return NPU_RULE_COMMAND_RESERVED;
	if ((!(flags & NPU_FETCH_INTERLEAVE) && cmd->src2) ||
	    (!(flags & NPU_FETCH_ZERO_POINT) && cmd->zero_point) ||
	    (!(flags & NPU_FETCH_WEIGHT_ZERO_POINT) && cmd->weight_zero_point))
		return NPU_RULE_COMMAND_RESERVED;
	if ((!cmd->lookup && cmd->lookup_type) ||
	    (cmd->lookup != NPU_LOOKUP_SLOT && cmd->lut_slot))
		return NPU_RULE_COMMAND_RESERVED;
	if (!cmd->mask && (cmd->mask_axis || cmd->left_pad ||
			   any_set(cmd->valid_count, sizeof(cmd->valid_count))))
		return NPU_RULE_COMMAND_RESERVED;
	if (cmd->mask != NPU_MASK_ITERATOR && cmd->mask_iterator)
		return NPU_RULE_COMMAND_RESERVED;
	if (cmd->sink == NPU_SINK_MEMORY &&
	    (cmd->weight || cmd->k || cmd->n || cmd->m || cmd->k_group || cmd->weight_type))
		return NPU_RULE_COMMAND_RESERVED;
	if (npu_fetch_is_empty(cmd) && (cmd->packet_size || cmd->read_size))
		return NPU_RULE_COMMAND_RESERVED;
	return 0;
}

uint64_t npu_fetch_inner(const struct npu_cmd_fetch *cmd, unsigned int loop)
{
	uint64_t inner = 1;
	unsigned int i;

	for (i = loop + 1; i < cmd->loop_count; i++)
		inner *= cmd->size[i];
	return inner;
}

/* A loop whose iterations are whole packets. */
static bool outside_packet(const struct npu_cmd_fetch *cmd, unsigned int loop)
{
	return loop < cmd->loop_count && !(npu_fetch_inner(cmd, loop) % cmd->packet_size);
}

static uint32_t check_mask(const struct npu_cmd_fetch *cmd, bool sub)
{
	unsigned int used = 1;
	unsigned int i;

	if (cmd->mask > NPU_MASK_ITERATOR)
		return NPU_RULE_MASK_KIND;
	if (!cmd->mask)
		return 0;
	if (sub)
		return NPU_RULE_MASK_CONTEXT;
	if (npu_fetch_is_empty(cmd) || !outside_packet(cmd, cmd->mask_axis))
		return NPU_RULE_MASK_AXIS;
	if (cmd->mask == NPU_MASK_RIGHTMOST_AND_SECOND) {
		if (cmd->size[cmd->mask_axis] < 2)
			return NPU_RULE_MASK_SECOND;
		used = 2;
	} else if (cmd->mask == NPU_MASK_ITERATOR) {
		if (cmd->mask_iterator == cmd->mask_axis ||
		    !outside_packet(cmd, cmd->mask_iterator) ||
		    cmd->size[cmd->mask_iterator] > NPU_MAX_LOOPS)
			return NPU_RULE_MASK_ITERATOR;
		used = cmd->size[cmd->mask_iterator];
	}
	if (cmd->left_pad > cmd->packet_size)
		return NPU_RULE_MASK_COUNT;
	for (i = 0; i < NPU_MAX_LOOPS; i++)
		if (cmd->valid_count[i] > (i < used ? cmd->packet_size : 0))
			return NPU_RULE_MASK_COUNT;
	return 0;
}

static uint32_t check_slot(const struct npu_check *check, const struct npu_cmd_fetch *cmd)
{
	if (cmd->lookup != NPU_LOOKUP_SLOT)
		return 0;
	if (cmd->lut_slot >= NPU_LUT_SLOTS)
		return NPU_RULE_LUT_SLOT;
	if (!check->lut_key[cmd->lut_slot])
		return NPU_RULE_LUT_EMPTY;
	if (check->lut_key[cmd->lut_slot] != cmd->src_type ||
	    check->lut_entry[cmd->lut_slot] != cmd->lookup_type)
		return NPU_RULE_LUT_TYPES;
	return 0;
}

static bool zero_point_fits(uint32_t type, int zero_point)
{
	int half = type == NPU_TYPE_I4 || type == NPU_TYPE_I5 ? 8 : 128;

	return zero_point >= -half && zero_point < half;
}

static bool is_i4(uint32_t type)
{
	return type == NPU_TYPE_I4 || type == NPU_TYPE_I5;
}

static bool is_i8(uint32_t type)
{
	return type == NPU_TYPE_I8 || type == NPU_TYPE_I9;
}

static bool contract_pair(uint32_t stream, uint32_t weight, bool weight_zero_point)
{
	if (stream == NPU_TYPE_I8 && weight == NPU_TYPE_I4)
		return !weight_zero_point;
	if (is_i4(stream))
		return weight == NPU_TYPE_I4;
	if (is_i8(stream))
		return weight == NPU_TYPE_I8;
	return stream == weight && (stream == NPU_TYPE_BF16 || stream == NPU_TYPE_F8E4M3 ||
				    stream == NPU_TYPE_F8E5M2);
}

static uint32_t check_contract(const struct npu_cmd_fetch *cmd, const struct npu_fetch_plan *plan,
			       bool sub)
{
	bool zero_point = cmd->cmd.flags & NPU_FETCH_WEIGHT_ZERO_POINT;
	uint64_t elements = plan->elements;

	if (sub)
		return NPU_RULE_CONTRACT_CONTEXT;
	if (zero_point && ((cmd->weight_type != NPU_TYPE_I4 && cmd->weight_type != NPU_TYPE_I8) ||
			   !zero_point_fits(cmd->weight_type, cmd->weight_zero_point)))
		return NPU_RULE_WEIGHT_ZERO_POINT;
	if (!contract_pair(plan->out_type, cmd->weight_type, zero_point))
		return NPU_RULE_CONTRACT_PAIR;
	if (cmd->cmd.flags & NPU_FETCH_INTERLEAVE)
		elements *= 2;
	if (elements != (uint64_t)cmd->m * cmd->k || (!cmd->k && cmd->loop_count))
		return NPU_RULE_CONTRACT_SHAPE;
	return 0;
}

static uint32_t check_sink(const struct npu_cmd_fetch *cmd, const struct npu_fetch_plan *plan,
			   bool sub)
{
	uint32_t flags = cmd->cmd.flags;

	if (cmd->sink == NPU_SINK_CONTRACT) {
		if (flags & NPU_FETCH_FLITS)
			return NPU_RULE_COMMAND_FLAGS;
		return check_contract(cmd, plan, sub);
	}
	if (flags & NPU_FETCH_ZERO_POINT)
		return NPU_RULE_ZERO_POINT_SINK;
	if (flags & NPU_FETCH_WEIGHT_ZERO_POINT)
		return NPU_RULE_WEIGHT_ZERO_POINT;
	if ((flags & NPU_FETCH_UNPADDED) && (flags & NPU_FETCH_FLITS))
		return NPU_RULE_UNPADDED_SINK;
	return 0;
}

uint32_t npu_check_fetch(const struct npu_check *check, const struct npu_cmd_fetch *cmd)
{
	bool sub = check->ring == NPU_RING_FETCH_SUB;
	struct npu_fetch_plan plan;
	uint32_t rule;

	if (cmd->loop_count > NPU_MAX_LOOPS)
		return NPU_RULE_LOOP_COUNT;
	if (cmd->sink != NPU_SINK_MEMORY && cmd->sink != NPU_SINK_CONTRACT)
		return NPU_RULE_SINK;
	rule = check_unused(cmd);
	if (!rule)
		rule = npu_fetch_plan(cmd, check->ring, &plan);
	if (rule)
		return rule;
	if (!cmd->read_size && !npu_fetch_is_empty(cmd))
		return NPU_RULE_READ_SIZE_DIVISOR;
	rule = check_mask(cmd, sub);
	if (!rule)
		rule = check_slot(check, cmd);
	if (!rule && (cmd->cmd.flags & NPU_FETCH_ZERO_POINT) &&
	    !zero_point_fits(plan.out_type, cmd->zero_point))
		rule = NPU_RULE_ZERO_POINT_RANGE;
	if (!rule)
		rule = check_sink(cmd, &plan, sub);
	return rule;
}
