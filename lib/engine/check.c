// SPDX-License-Identifier: MIT
/*
 * The checker: a stream's frame, each command's rules, and what commands load
 * for later ones. FETCH has a file of its own (check_fetch.c).
 */
#include <string.h>

#include "check.h"
#include "check_fetch.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "streams are little-endian");

static const uint16_t op_sizes[] = {
	[NPU_OP_NOP] = sizeof(struct npu_cmd),
	[NPU_OP_BARRIER] = sizeof(struct npu_cmd),
	[NPU_OP_FETCH] = sizeof(struct npu_cmd_fetch),
	[NPU_OP_PREPROCESS] = sizeof(struct npu_cmd_preprocess),
	[NPU_OP_LUT_LOAD] = sizeof(struct npu_cmd_lut_load),
	[NPU_OP_CONST_SET] = sizeof(struct npu_cmd_const_set),
	[NPU_OP_FMAP_READ] = sizeof(struct npu_cmd_fmap_read),
};

uint32_t npu_op_size(uint32_t opcode)
{
	return opcode < sizeof(op_sizes) / sizeof(op_sizes[0]) ? op_sizes[opcode] : 0;
}

uint32_t npu_lut_entries(uint32_t key_type)
{
	switch (key_type) {
	case NPU_TYPE_I4:
	case NPU_TYPE_F4E2M1:
		return 16;
	case NPU_TYPE_I8:
	case NPU_TYPE_F8E4M3:
	case NPU_TYPE_F8E5M2:
		return 256;
	case NPU_TYPE_I16:
	case NPU_TYPE_BF16:
		return 65536;
	default:
		return 0;
	}
}

static bool ring_runs(uint32_t ring, uint32_t opcode)
{
	switch (opcode) {
	case NPU_OP_FETCH:
		return ring == NPU_RING_FETCH_MAIN || ring == NPU_RING_FETCH_SUB;
	case NPU_OP_LUT_LOAD:
		return ring == NPU_RING_FETCH_MAIN;
	case NPU_OP_PREPROCESS:
	case NPU_OP_CONST_SET:
	case NPU_OP_FMAP_READ:
		return ring == NPU_RING_PREPROCESS;
	default:
		return ring < NPU_RING_COUNT;
	}
}

static uint32_t check_lut_load(const struct npu_cmd_lut_load *cmd)
{
	static const uint8_t zero[sizeof(cmd->pad)];

	if (memcmp(cmd->pad, zero, sizeof(zero)))
		return NPU_RULE_COMMAND_RESERVED;
	if (cmd->slot >= NPU_LUT_SLOTS)
		return NPU_RULE_LUT_SLOT;
	if (!npu_lut_entries(cmd->key_type))
		return NPU_RULE_LUT_KEY_TYPE;
	if (!npu_type_is_entry(cmd->entry_type))
		return NPU_RULE_LUT_ENTRY_TYPE;
	return 0;
}

static uint32_t check_const_set(const struct npu_cmd_const_set *cmd)
{
	if (cmd->pad[0] || cmd->pad[1] || cmd->pad[2])
		return NPU_RULE_COMMAND_RESERVED;
	if (cmd->slot >= NPU_CONST_SLOTS)
		return NPU_RULE_CONST_SLOT;
	/* Negative values have bit 31 set and so are above infinity here. */
	if (!cmd->value || cmd->value >= 0x7f800000)
		return NPU_RULE_CONST_VALUE;
	return 0;
}

static uint32_t check_fmap_read(const struct npu_check *check, const struct npu_cmd_fmap_read *cmd)
{
	bool values = !(cmd->cmd.flags & NPU_FMAP_NO_VALUES);
	uint64_t blocks = values ? check->fmap_blocks : check->emax_blocks;

	if (cmd->pad || (!values && (cmd->dst || cmd->lanes)) ||
	    (!(cmd->cmd.flags & NPU_FMAP_EMAX) && cmd->emax) ||
	    (!(cmd->cmd.flags & NPU_FMAP_EXPONENTS) && cmd->exponents))
		return NPU_RULE_COMMAND_RESERVED;
	if (values && (!cmd->lanes || cmd->lanes > NPU_FMAP_LANES))
		return NPU_RULE_FMAP_LANES;
	if ((uint64_t)cmd->start + cmd->count > blocks * NPU_BLOCK_SIZE)
		return NPU_RULE_FMAP_RANGE;
	return 0;
}

static uint32_t check_pp_reserved(const struct npu_cmd_preprocess *cmd)
{
	static const uint8_t zero[sizeof(cmd->pad)];
	uint32_t flags = cmd->cmd.flags;

	if (memcmp(cmd->pad, zero, sizeof(zero)) ||
	    (cmd->sink == NPU_SINK_FMAP_CACHE && cmd->dst) ||
	    (!(flags & NPU_PREPROCESS_EMAX) && cmd->emax) ||
	    (!(flags & NPU_PREPROCESS_EXPONENTS) && cmd->exponents) ||
	    (!(flags & NPU_PREPROCESS_SCALES) && cmd->scales) ||
	    (cmd->mode != NPU_PP_MODE_INT8_CONST && cmd->const_slot))
		return NPU_RULE_COMMAND_RESERVED;
	return 0;
}

/* Whether input and outputs each fit 2^39 bytes; the multipliers are what a block writes. */
static bool pp_shape_fits(const struct npu_cmd_preprocess *cmd, uint64_t *blocks)
{
	uint64_t elements;

	if (__builtin_mul_overflow(cmd->rows, cmd->cols, &elements) ||
	    __builtin_mul_overflow(cmd->rows, npu_row_blocks(cmd->cols), blocks))
		return false;
	if (elements > NPU_ADDRESS_END / 2 ||
	    (cmd->mode == NPU_PP_MODE_FIXED27 && cmd->sink == NPU_SINK_MEMORY &&
	     elements > NPU_ADDRESS_END / 4))
		return false;
	if (cmd->mode == NPU_PP_MODE_FIXED27_PACKED && *blocks > NPU_ADDRESS_END / 108)
		return false;
	if ((cmd->cmd.flags & NPU_PREPROCESS_EXPONENTS) && *blocks > NPU_ADDRESS_END / 32)
		return false;
	return *blocks <= NPU_ADDRESS_END / 4;
}

static uint32_t check_pp_caches(const struct npu_check *check,
				const struct npu_cmd_preprocess *cmd, uint64_t blocks)
{
	bool fmap = cmd->sink == NPU_SINK_FMAP_CACHE;

	if (cmd->mode == NPU_PP_MODE_INT8_CONST) {
		if (cmd->const_slot >= NPU_CONST_SLOTS)
			return NPU_RULE_CONST_SLOT;
		if (!(check->const_set >> cmd->const_slot & 1))
			return NPU_RULE_CONST_EMPTY;
	}
	if (!blocks || (!fmap && !(cmd->cmd.flags & NPU_PREPROCESS_KEEP_EMAX)))
		return 0;
	if (check->emax_sink && check->emax_sink != cmd->sink)
		return NPU_RULE_EMAX_MIXED;
	if (fmap && blocks > NPU_FMAP_BLOCKS - check->fmap_blocks)
		return NPU_RULE_FMAP_FULL;
	if (blocks > NPU_EMAX_BLOCKS - check->emax_blocks)
		return NPU_RULE_EMAX_FULL;
	return 0;
}

static uint32_t check_preprocess(const struct npu_check *check,
				 const struct npu_cmd_preprocess *cmd)
{
	uint64_t blocks;
	uint32_t rule;

	if (cmd->mode < NPU_PP_MODE_FIXED27 || cmd->mode > NPU_PP_MODE_INT8_CONST)
		return NPU_RULE_PREPROCESS_MODE;
	if (cmd->sink != NPU_SINK_MEMORY && cmd->sink != NPU_SINK_FMAP_CACHE)
		return NPU_RULE_SINK;
	rule = check_pp_reserved(cmd);
	if (rule)
		return rule;
	if (cmd->rounding > NPU_ROUND_TRUNCATE ||
	    (cmd->rounding && cmd->mode != NPU_PP_MODE_INT8_EMAX))
		return NPU_RULE_PREPROCESS_ROUNDING;
	if ((cmd->cmd.flags & NPU_PREPROCESS_SCALES) && cmd->mode != NPU_PP_MODE_INT8_SYMMETRIC)
		return NPU_RULE_PREPROCESS_SCALES;
	if (cmd->sink == NPU_SINK_FMAP_CACHE) {
		if (cmd->mode != NPU_PP_MODE_FIXED27)
			return NPU_RULE_FMAP_MODE;
		/* That sink keeps e_max anyway. */
		if (cmd->cmd.flags & NPU_PREPROCESS_KEEP_EMAX)
			return NPU_RULE_COMMAND_FLAGS;
	}
	if (!pp_shape_fits(cmd, &blocks))
		return NPU_RULE_PREPROCESS_SHAPE;
	return check_pp_caches(check, cmd, blocks);
}

static uint32_t known_flags(uint32_t opcode)
{
	switch (opcode) {
	case NPU_OP_FETCH:
		return NPU_FETCH_FLAGS;
	case NPU_OP_PREPROCESS:
		return NPU_PREPROCESS_FLAGS;
	case NPU_OP_FMAP_READ:
		return NPU_FMAP_FLAGS;
	default:
		return 0;
	}
}

uint32_t npu_check_static(const struct npu_check *check, const struct npu_cmd *cmd)
{
	if (!npu_op_size(cmd->opcode))
		return NPU_RULE_COMMAND_OPCODE;
	if (cmd->size != npu_op_size(cmd->opcode))
		return NPU_RULE_COMMAND_SIZE;
	if (!ring_runs(check->ring, cmd->opcode))
		return NPU_RULE_COMMAND_RING;
	if (cmd->flags & ~known_flags(cmd->opcode))
		return NPU_RULE_COMMAND_FLAGS;
	switch (cmd->opcode) {
	case NPU_OP_FETCH:
		return npu_check_fetch(check, (const struct npu_cmd_fetch *)cmd);
	case NPU_OP_PREPROCESS:
		return check_preprocess(check, (const struct npu_cmd_preprocess *)cmd);
	case NPU_OP_LUT_LOAD:
		return check_lut_load((const struct npu_cmd_lut_load *)cmd);
	case NPU_OP_CONST_SET:
		return check_const_set((const struct npu_cmd_const_set *)cmd);
	case NPU_OP_FMAP_READ:
		return check_fmap_read(check, (const struct npu_cmd_fmap_read *)cmd);
	default:
		return 0;
	}
}

static void commit_preprocess(struct npu_check *check, const struct npu_cmd_preprocess *cmd)
{
	uint64_t blocks = cmd->rows * npu_row_blocks(cmd->cols);
	bool fmap = cmd->sink == NPU_SINK_FMAP_CACHE;

	if (!blocks || (!fmap && !(cmd->cmd.flags & NPU_PREPROCESS_KEEP_EMAX)))
		return;
	check->emax_sink = cmd->sink;
	check->emax_blocks += (uint32_t)blocks;
	if (fmap)
		check->fmap_blocks += (uint32_t)blocks;
}

void npu_check_commit(struct npu_check *check, const struct npu_cmd *cmd)
{
	const struct npu_cmd_lut_load *lut = (const struct npu_cmd_lut_load *)cmd;

	switch (cmd->opcode) {
	case NPU_OP_PREPROCESS:
		commit_preprocess(check, (const struct npu_cmd_preprocess *)cmd);
		break;
	case NPU_OP_LUT_LOAD:
		check->lut_key[lut->slot] = lut->key_type;
		check->lut_entry[lut->slot] = lut->entry_type;
		break;
	case NPU_OP_CONST_SET:
		check->const_set |= (uint64_t)1 << ((const struct npu_cmd_const_set *)cmd)->slot;
		break;
	}
}

void npu_check_init(struct npu_check *check, uint32_t ring)
{
	memset(check, 0, sizeof(*check));
	check->ring = ring;
}

uint32_t npu_check_command(struct npu_check *check, const struct npu_cmd *cmd)
{
	struct npu_operand op[NPU_MAX_OPERANDS];
	uint32_t rule = npu_check_static(check, cmd);

	if (rule)
		return rule;
	npu_operands(cmd, op, &rule);
	if (!rule)
		npu_check_commit(check, cmd);
	return rule;
}

uint32_t npu_check_header(const void *stream, uint32_t size)
{
	const struct npu_stream_header *header = stream;

	if (size < sizeof(*header) || size > NPU_STREAM_MAX || size % 8)
		return NPU_RULE_STREAM_SIZE;
	if (header->magic != NPU_STREAM_MAGIC)
		return NPU_RULE_STREAM_MAGIC;
	if (header->major != NPU_ISA_MAJOR || header->minor > NPU_ISA_MINOR)
		return NPU_RULE_STREAM_VERSION;
	if (header->size != size)
		return NPU_RULE_STREAM_SIZE;
	return 0;
}

uint32_t npu_check_next(const void *stream, uint32_t size, uint32_t pos)
{
	const struct npu_cmd *cmd = (const void *)((const uint8_t *)stream + pos);

	if (pos == size)
		return NPU_RULE_STREAM_COUNT;
	/* Streams and commands are multiples of 8 bytes, so a head is always whole. */
	if (!npu_op_size(cmd->opcode))
		return NPU_RULE_COMMAND_OPCODE;
	if (cmd->size != npu_op_size(cmd->opcode))
		return NPU_RULE_COMMAND_SIZE;
	if (cmd->size > size - pos)
		return NPU_RULE_COMMAND_TRUNCATED;
	return 0;
}

static uint32_t walk_stream(const void *stream, uint32_t size, struct npu_check *check,
			    uint32_t *command)
{
	const struct npu_stream_header *header = stream;
	uint32_t pos = sizeof(*header);
	uint32_t rule;

	*command = 0;
	rule = npu_check_header(stream, size);
	if (rule)
		return rule;
	for (; *command < header->count; (*command)++) {
		const struct npu_cmd *cmd = (const void *)((const uint8_t *)stream + pos);

		rule = npu_check_next(stream, size, pos);
		if (!rule && check)
			rule = npu_check_command(check, cmd);
		if (rule)
			return rule;
		pos += cmd->size;
	}
	return pos == size ? 0 : NPU_RULE_STREAM_COUNT;
}

uint32_t npu_check_frame(const void *stream, uint32_t size, uint32_t *command)
{
	return walk_stream(stream, size, NULL, command);
}

uint32_t npu_check_stream(const void *stream, uint32_t size, uint32_t ring, uint32_t *command)
{
	struct npu_check check;
	uint32_t rule;

	rule = npu_check_frame(stream, size, command);
	if (rule)
		return rule;
	npu_check_init(&check, ring);
	return walk_stream(stream, size, &check, command);
}
