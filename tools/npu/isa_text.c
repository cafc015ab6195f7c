// SPDX-License-Identifier: MIT
/* The fields of the command stream, for decode and encode. */
#include <stddef.h>
#include <string.h>

#include "isa_text.h"

#define FIELD_OF(cmd, member, k)					\
	.name = #member, .offset = offsetof(struct cmd, member),	\
	.bytes = sizeof(((struct cmd *)0)->member), .count = 1, .kind = k
#define FIELD(cmd, member, k)		{ FIELD_OF(cmd, member, k) }
#define FIELD_NAMES(cmd, member, list)	\
	{ FIELD_OF(cmd, member, ISA_NAME), .names = list, .name_count = ARRAY_SIZE(list) }
#define FIELD_ARRAY(cmd, member, k)						\
	{ .name = #member, .offset = offsetof(struct cmd, member),		\
	  .bytes = sizeof(((struct cmd *)0)->member[0]),			\
	  .count = ARRAY_SIZE(((struct cmd *)0)->member), .kind = k }
#define FIELD_FLAGS(list)							\
	{ .name = "flags", .offset = offsetof(struct npu_cmd, flags), .bytes = 4, .count = 1,	\
	  .kind = ISA_FLAGS, .names = list, .name_count = ARRAY_SIZE(list) }
#define FIELD_NO_FLAGS								\
	{ .name = "flags", .offset = offsetof(struct npu_cmd, flags), .bytes = 4, .count = 1,	\
	  .kind = ISA_FLAGS }

static const char *const fetch_flags[] = {
	"interleave", "flits", "unpadded", "zero-point", "weight-zero-point",
};

static const char *const preprocess_flags[] = { "emax", "exponents", "scales", "keep-emax" };
static const char *const fmap_flags[] = { "emax", "exponents", "no-values" };

static const char *const sinks[] = {
	[NPU_SINK_MEMORY] = "memory",
	[NPU_SINK_CONTRACT] = "contract",
	[NPU_SINK_FMAP_CACHE] = "fmap-cache",
};

static const char *const lookups[] = {
	[NPU_LOOKUP_NONE] = "none",
	[NPU_LOOKUP_BUILTIN] = "builtin",
	[NPU_LOOKUP_SLOT] = "slot",
};

static const char *const masks[] = {
	[NPU_MASK_NONE] = "none",
	[NPU_MASK_RIGHTMOST] = "rightmost",
	[NPU_MASK_RIGHTMOST_AND_SECOND] = "second",
	[NPU_MASK_ITERATOR] = "iterator",
};

static const char *const modes[] = {
	[NPU_PP_MODE_FIXED27] = "fixed27",
	[NPU_PP_MODE_FIXED27_PACKED] = "fixed27-packed",
	[NPU_PP_MODE_LOW8] = "low8",
	[NPU_PP_MODE_INT8_EMAX] = "int8-emax",
	[NPU_PP_MODE_INT8_SYMMETRIC] = "int8-symmetric",
	[NPU_PP_MODE_INT8_CONST] = "int8-const",
};

static const char *const roundings[] = {
	[NPU_ROUND_NEAREST_EVEN] = "nearest-even",
	[NPU_ROUND_TRUNCATE] = "truncate",
};

static const struct isa_field plain_fields[] = { FIELD_NO_FLAGS };

static const struct isa_field fetch_fields[] = {
	FIELD_FLAGS(fetch_flags),
	FIELD(npu_cmd_fetch, src, ISA_HEX),
	FIELD(npu_cmd_fetch, src2, ISA_HEX),
	FIELD(npu_cmd_fetch, src_type, ISA_TYPE),
	FIELD(npu_cmd_fetch, offset, ISA_SINT),
	FIELD(npu_cmd_fetch, loop_count, ISA_UINT),
	FIELD_ARRAY(npu_cmd_fetch, size, ISA_UINT),
	FIELD_ARRAY(npu_cmd_fetch, stride, ISA_SINT),
	FIELD(npu_cmd_fetch, packet_size, ISA_UINT),
	FIELD(npu_cmd_fetch, read_size, ISA_UINT),
	FIELD_NAMES(npu_cmd_fetch, mask, masks),
	FIELD(npu_cmd_fetch, mask_axis, ISA_UINT),
	FIELD(npu_cmd_fetch, mask_iterator, ISA_UINT),
	FIELD(npu_cmd_fetch, left_pad, ISA_UINT),
	FIELD_ARRAY(npu_cmd_fetch, valid_count, ISA_UINT),
	FIELD_NAMES(npu_cmd_fetch, lookup, lookups),
	FIELD(npu_cmd_fetch, lookup_type, ISA_TYPE),
	FIELD(npu_cmd_fetch, lut_slot, ISA_UINT),
	FIELD(npu_cmd_fetch, cast_type, ISA_TYPE),
	FIELD(npu_cmd_fetch, zero_point, ISA_SINT),
	FIELD_NAMES(npu_cmd_fetch, sink, sinks),
	FIELD(npu_cmd_fetch, dst, ISA_HEX),
	FIELD(npu_cmd_fetch, weight, ISA_HEX),
	FIELD(npu_cmd_fetch, weight_type, ISA_TYPE),
	FIELD(npu_cmd_fetch, weight_zero_point, ISA_SINT),
	FIELD(npu_cmd_fetch, m, ISA_UINT),
	FIELD(npu_cmd_fetch, k, ISA_UINT),
	FIELD(npu_cmd_fetch, n, ISA_UINT),
	FIELD(npu_cmd_fetch, k_group, ISA_UINT),
	FIELD(npu_cmd_fetch, pad, ISA_HEX),
	FIELD_ARRAY(npu_cmd_fetch, pad2, ISA_HEX),
};

static const struct isa_field preprocess_fields[] = {
	FIELD_FLAGS(preprocess_flags),
	FIELD(npu_cmd_preprocess, src, ISA_HEX),
	FIELD(npu_cmd_preprocess, rows, ISA_UINT),
	FIELD(npu_cmd_preprocess, cols, ISA_UINT),
	FIELD_NAMES(npu_cmd_preprocess, mode, modes),
	FIELD_NAMES(npu_cmd_preprocess, rounding, roundings),
	FIELD(npu_cmd_preprocess, const_slot, ISA_UINT),
	FIELD_NAMES(npu_cmd_preprocess, sink, sinks),
	FIELD(npu_cmd_preprocess, dst, ISA_HEX),
	FIELD(npu_cmd_preprocess, emax, ISA_HEX),
	FIELD(npu_cmd_preprocess, exponents, ISA_HEX),
	FIELD(npu_cmd_preprocess, scales, ISA_HEX),
	FIELD_ARRAY(npu_cmd_preprocess, pad, ISA_HEX),
};

static const struct isa_field lut_load_fields[] = {
	FIELD_NO_FLAGS,
	FIELD(npu_cmd_lut_load, slot, ISA_UINT),
	FIELD(npu_cmd_lut_load, key_type, ISA_TYPE),
	FIELD(npu_cmd_lut_load, entry_type, ISA_TYPE),
	FIELD(npu_cmd_lut_load, address, ISA_HEX),
	FIELD_ARRAY(npu_cmd_lut_load, pad, ISA_HEX),
};

static const struct isa_field const_set_fields[] = {
	FIELD_NO_FLAGS,
	FIELD(npu_cmd_const_set, slot, ISA_UINT),
	FIELD(npu_cmd_const_set, value, ISA_HEX),
	FIELD_ARRAY(npu_cmd_const_set, pad, ISA_HEX),
};

static const struct isa_field fmap_read_fields[] = {
	FIELD_FLAGS(fmap_flags),
	FIELD(npu_cmd_fmap_read, start, ISA_UINT),
	FIELD(npu_cmd_fmap_read, count, ISA_UINT),
	FIELD(npu_cmd_fmap_read, lanes, ISA_UINT),
	FIELD(npu_cmd_fmap_read, dst, ISA_HEX),
	FIELD(npu_cmd_fmap_read, emax, ISA_HEX),
	FIELD(npu_cmd_fmap_read, exponents, ISA_HEX),
	FIELD(npu_cmd_fmap_read, pad, ISA_HEX),
};

#define COMMAND(text, op, type, list)						\
	{ .name = text, .opcode = op, .size = sizeof(struct type), .fields = list,	\
	  .field_count = ARRAY_SIZE(list) }

const struct isa_command isa_commands[] = {
	COMMAND("nop", NPU_OP_NOP, npu_cmd, plain_fields),
	COMMAND("barrier", NPU_OP_BARRIER, npu_cmd, plain_fields),
	COMMAND("fetch", NPU_OP_FETCH, npu_cmd_fetch, fetch_fields),
	COMMAND("preprocess", NPU_OP_PREPROCESS, npu_cmd_preprocess, preprocess_fields),
	COMMAND("lut-load", NPU_OP_LUT_LOAD, npu_cmd_lut_load, lut_load_fields),
	COMMAND("const-set", NPU_OP_CONST_SET, npu_cmd_const_set, const_set_fields),
	COMMAND("fmap-read", NPU_OP_FMAP_READ, npu_cmd_fmap_read, fmap_read_fields),
};

const unsigned int isa_command_count = ARRAY_SIZE(isa_commands);

static const char *const statuses[] = {
	[NPU_STATUS_PENDING] = "pending",
	[NPU_STATUS_OK] = "ok",
	[NPU_STATUS_FAULT] = "fault",
	[NPU_STATUS_CANCELLED] = "cancelled",
};

static const struct isa_field result_fields[] = {
	FIELD_NAMES(npu_result, status, statuses),
	FIELD(npu_result, rule, ISA_UINT),
	FIELD(npu_result, command, ISA_UINT),
	FIELD(npu_result, pad, ISA_HEX),
	FIELD(npu_result, fault_address, ISA_HEX),
	FIELD(npu_result, cycles, ISA_UINT),
	FIELD(npu_result, elements_in, ISA_UINT),
	FIELD(npu_result, elements_out, ISA_UINT),
	FIELD(npu_result, saturated, ISA_UINT),
	FIELD(npu_result, nonfinite_blocks, ISA_UINT),
	FIELD(npu_result, first_nonfinite_block, ISA_HEX),
	FIELD(npu_result, clock_start, ISA_UINT),
	FIELD(npu_result, clock_end, ISA_UINT),
	FIELD_ARRAY(npu_result, reserved, ISA_HEX),
};

static const char *const buffer_flags[] = { "output", "keep", "rdonly" };

static const struct isa_field buffer_fields[] = {
	FIELD(saved_bo, address, ISA_HEX),
	FIELD(saved_bo, size, ISA_UINT),
	{ FIELD_OF(saved_bo, flags, ISA_FLAGS), .names = buffer_flags,
	  .name_count = ARRAY_SIZE(buffer_flags) },
	FIELD(saved_bo, pad, ISA_HEX),
};

const struct isa_command isa_result = COMMAND("result", 0, npu_result, result_fields);
const struct isa_command isa_buffer = COMMAND("buffer", 0, saved_bo, buffer_fields);

const struct isa_command *isa_find_opcode(uint32_t opcode)
{
	for (unsigned int i = 0; i < isa_command_count; i++) {
		if (isa_commands[i].opcode == opcode)
			return &isa_commands[i];
	}
	return NULL;
}

const struct isa_command *isa_find_name(const char *name)
{
	for (unsigned int i = 0; i < isa_command_count; i++) {
		if (!strcmp(isa_commands[i].name, name))
			return &isa_commands[i];
	}
	return NULL;
}

int64_t isa_get(const struct isa_field *f, const void *cmd, unsigned int i)
{
	const uint8_t *p = (const uint8_t *)cmd + f->offset + (size_t)i * f->bytes;
	unsigned int shift = 64 - f->bytes * 8;
	uint64_t value = 0;

	for (unsigned int b = 0; b < f->bytes; b++)
		value |= (uint64_t)p[b] << 8 * b;
	return f->kind == ISA_SINT ? (int64_t)(value << shift) >> shift : (int64_t)value;
}

void isa_set(const struct isa_field *f, void *cmd, unsigned int i, uint64_t value)
{
	uint8_t *p = (uint8_t *)cmd + f->offset + (size_t)i * f->bytes;

	for (unsigned int b = 0; b < f->bytes; b++)
		p[b] = (uint8_t)(value >> 8 * b);
}
