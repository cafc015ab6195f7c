// SPDX-License-Identifier: MIT
/*
 * What the sequencer and the adapter make of a FETCH command: element count,
 * contiguous run, read size, stream type, cycles. No memory is touched.
 */
#include <string.h>

#include "check.h"

static const struct {
	uint8_t from, to;
	uint8_t latency;
} casts[] = {
	{ NPU_TYPE_I4, NPU_TYPE_I32, 1 },
	{ NPU_TYPE_I8, NPU_TYPE_I32, 1 },
	{ NPU_TYPE_I16, NPU_TYPE_I32, 1 },
	{ NPU_TYPE_F8E4M3, NPU_TYPE_F32, 2 },
	{ NPU_TYPE_F8E5M2, NPU_TYPE_F32, 2 },
	{ NPU_TYPE_BF16, NPU_TYPE_F32, 2 },
	{ NPU_TYPE_F32, NPU_TYPE_BF16, 2 },
};

static bool builtin_pair(uint32_t from, uint32_t to)
{
	if (from == NPU_TYPE_F4E2M1)
		return to == NPU_TYPE_F8E4M3 || to == NPU_TYPE_F8E5M2;
	return (from == NPU_TYPE_F8E4M3 || from == NPU_TYPE_F8E5M2) && to == NPU_TYPE_BF16;
}

static uint32_t plan_cast(uint32_t from, uint32_t to, struct npu_fetch_plan *plan)
{
	size_t i;

	if (from == to)
		return 0;
	for (i = 0; i < sizeof(casts) / sizeof(casts[0]); i++) {
		if (casts[i].from == from && casts[i].to == to) {
			plan->latency += casts[i].latency;
			return 0;
		}
	}
	return NPU_RULE_CAST_PAIR;
}

/* The element type from stage to stage. */
static uint32_t plan_types(const struct npu_cmd_fetch *cmd, bool sub, struct npu_fetch_plan *plan)
{
	uint32_t type = cmd->src_type;
	uint32_t rule;

	if (cmd->lookup > NPU_LOOKUP_SLOT)
		return NPU_RULE_LOOKUP_KIND;
	if (cmd->lookup && sub)
		return NPU_RULE_LOOKUP_CONTEXT;
	if (cmd->lookup == NPU_LOOKUP_BUILTIN && !builtin_pair(type, cmd->lookup_type))
		return NPU_RULE_LOOKUP_PAIR;
	if (cmd->lookup == NPU_LOOKUP_SLOT && !npu_type_is_entry(cmd->lookup_type))
		return NPU_RULE_LUT_TYPES;
	if (cmd->lookup) {
		type = cmd->lookup_type;
		plan->latency++;
	}
	plan->lookup_type = type;
	if (cmd->cast_type) {
		rule = plan_cast(type, cmd->cast_type, plan);
		if (rule)
			return rule;
		type = cmd->cast_type;
	}
	if (cmd->cmd.flags & NPU_FETCH_ZERO_POINT) {
		if (type != NPU_TYPE_I4 && type != NPU_TYPE_I8)
			return NPU_RULE_ZERO_POINT_TYPE;
		type = type == NPU_TYPE_I4 ? NPU_TYPE_I5 : NPU_TYPE_I9;
		plan->latency++;
	}
	plan->out_type = type;
	return 0;
}

/* Element count and the innermost run of loops that reads neighbours (or one element). */
static uint32_t plan_nest(const struct npu_cmd_fetch *cmd, struct npu_fetch_plan *plan)
{
	bool interleave = cmd->cmd.flags & NPU_FETCH_INTERLEAVE;
	bool first = true, growing = true;
	int64_t inner = 0;
	int i;

	if (cmd->loop_count > NPU_MAX_LOOPS)
		return NPU_RULE_LOOP_COUNT;
	plan->elements = 1;
	plan->contiguous_run = 1;
	for (i = cmd->loop_count - 1; i >= 0; i--) {
		if (!cmd->size[i])
			return NPU_RULE_LOOP_SIZE;
		if (__builtin_mul_overflow(plan->elements, cmd->size[i], &plan->elements) ||
		    (interleave && plan->elements >> 63))
			return NPU_RULE_NEST_OVERFLOW;
		if (cmd->size[i] == 1)
			continue;
		if (first) {
			inner = cmd->stride[i];
			growing = inner == 0 || inner == 1;
			first = false;
		} else if (growing && inner) {
			growing = cmd->stride[i] > 0 &&
				  (uint64_t)cmd->stride[i] == plan->contiguous_run;
		} else if (growing) {
			growing = cmd->stride[i] == 0;
		}
		if (growing)
			plan->contiguous_run *= cmd->size[i];
	}
	return 0;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* Bits that a type counts for packet alignment: i5 and i9 as i4 and i8. */
static unsigned int aligned_bits(uint32_t type)
{
	if (type == NPU_TYPE_I5)
		return 4;
	if (type == NPU_TYPE_I9)
		return 8;
	return npu_type_bits(type);
}

static uint32_t plan_packet(const struct npu_cmd_fetch *cmd, struct npu_fetch_plan *plan)
{
	uint64_t bits;

	plan->packet_size = cmd->packet_size;
	if (!cmd->packet_size || plan->elements % cmd->packet_size)
		return NPU_RULE_PACKET_SIZE;
	bits = (uint64_t)cmd->packet_size * aligned_bits(plan->out_type);
	if (bits % 64 && !(cmd->cmd.flags & NPU_FETCH_UNPADDED))
		return NPU_RULE_PACKET_ALIGN;
	plan->packet_bytes = (bits + 7) / 8;
	plan->time_steps = plan->elements / cmd->packet_size;
	if (cmd->cmd.flags & NPU_FETCH_INTERLEAVE)
		plan->time_steps *= 2;
	plan->max_access_size = gcd(cmd->packet_size, plan->contiguous_run);
	return 0;
}

/* A read of @n elements is of 1, 2, 4, 8, 16 or 32 whole bytes. */
static bool whole_read(uint32_t n, unsigned int bits)
{
	uint64_t all = (uint64_t)n * bits;

	return all >= 8 && all <= 256 && !(all & (all - 1));
}

static bool fits_flit(const struct npu_cmd_fetch *cmd, uint32_t n)
{
	return !cmd->cast_type || (uint64_t)n * npu_type_bits(cmd->cast_type) <= 256;
}

static uint32_t plan_read_sub(const struct npu_cmd_fetch *cmd, struct npu_fetch_plan *plan)
{
	uint32_t n = 64 / npu_type_bits(cmd->src_type);

	if (plan->max_access_size % n || (cmd->read_size && cmd->read_size != n))
		return NPU_RULE_READ_SIZE_SUB;
	plan->read_size = n;
	return fits_flit(cmd, n) ? 0 : NPU_RULE_READ_SIZE_FLIT;
}

static uint32_t plan_read_main(const struct npu_cmd_fetch *cmd, struct npu_fetch_plan *plan)
{
	unsigned int bits = npu_type_bits(cmd->src_type);
	uint32_t n;

	/* The legal sizes are powers of two, so halving from 32 bytes visits them all. */
	for (n = 256 / bits; n > 1; n /= 2)
		if (!(plan->max_access_size % n) && whole_read(n, bits) && fits_flit(cmd, n))
			break;
	plan->read_size = n;
	if (!cmd->read_size)
		return 0;
	if (plan->max_access_size % cmd->read_size)
		return NPU_RULE_READ_SIZE_DIVISOR;
	/* One element of 4 bits is legal only where it is all there is. */
	if (!whole_read(cmd->read_size, bits) && (cmd->read_size != 1 || plan->read_size != 1))
		return NPU_RULE_READ_SIZE_BYTES;
	return fits_flit(cmd, cmd->read_size) ? 0 : NPU_RULE_READ_SIZE_FLIT;
}

static void plan_out_bytes(const struct npu_cmd_fetch *cmd, struct npu_fetch_plan *plan)
{
	uint64_t n = plan->elements;
	unsigned int bits = npu_type_bits(plan->out_type);

	if (cmd->sink != NPU_SINK_MEMORY)
		return;
	if (cmd->cmd.flags & NPU_FETCH_FLITS) {
		if (__builtin_mul_overflow((plan->packet_bytes + 31) / 32 * 32, plan->time_steps,
					   &plan->out_bytes))
			plan->out_bytes = UINT64_MAX;
		return;
	}
	if (cmd->cmd.flags & NPU_FETCH_INTERLEAVE)
		n *= 2;
	if (bits < 8)
		plan->out_bytes = n / 2 + n % 2;
	else if (__builtin_mul_overflow(n, bits / 8, &plan->out_bytes))
		plan->out_bytes = UINT64_MAX;
}

uint32_t npu_fetch_plan(const struct npu_cmd_fetch *cmd, uint32_t ring,
			struct npu_fetch_plan *plan)
{
	bool sub = ring == NPU_RING_FETCH_SUB;
	uint32_t rule;

	memset(plan, 0, sizeof(*plan));
	if (!npu_type_is_source(cmd->src_type))
		return NPU_RULE_SOURCE_TYPE;
	rule = plan_nest(cmd, plan);
	if (!rule)
		rule = plan_types(cmd, sub, plan);
	if (rule)
		return rule;
	if (npu_fetch_is_empty(cmd)) {
		plan->elements = 0;
		return 0;
	}
	rule = plan_packet(cmd, plan);
	if (!rule)
		rule = sub ? plan_read_sub(cmd, plan) : plan_read_main(cmd, plan);
	if (rule)
		return rule;
	plan->reads_per_packet = cmd->packet_size / plan->read_size;
	plan->cycles = plan->time_steps *
		       (cmd->packet_size / (cmd->read_size ? cmd->read_size : plan->read_size));
	plan_out_bytes(cmd, plan);
	return 0;
}
