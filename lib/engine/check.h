/* SPDX-License-Identifier: MIT */
/* What the checker's files and the executor share. */
#ifndef NPU_ENGINE_CHECK_H
#define NPU_ENGINE_CHECK_H

#include "engine.h"

#define NPU_ADDRESS_MIN ((uint64_t)NPU_PAGE_SIZE)
#define NPU_ADDRESS_END ((uint64_t)1 << NPU_ADDRESS_BITS)

static inline bool npu_type_is_source(uint32_t type)
{
	return type >= NPU_TYPE_I4 && type <= NPU_TYPE_F32;
}

/* Entry of a table: whole bytes, and not a staging type. */
static inline bool npu_type_is_entry(uint32_t type)
{
	return type && type <= NPU_TYPE_U32 && npu_type_bits(type) >= 8;
}

/* A contraction over no elements: its stream is empty, its loops are unused. */
static inline bool npu_fetch_is_empty(const struct npu_cmd_fetch *cmd)
{
	return cmd->sink == NPU_SINK_CONTRACT && !cmd->k;
}

/* Groups of a contraction's sums along k. */
static inline uint32_t npu_fetch_groups(const struct npu_cmd_fetch *cmd)
{
	if (!cmd->k_group)
		return 1;
	return cmd->k / cmd->k_group + !!(cmd->k % cmd->k_group);
}

/* Blocks of a PREPROCESS command's row. */
static inline uint64_t npu_row_blocks(uint64_t cols)
{
	return cols / NPU_BLOCK_SIZE + !!(cols % NPU_BLOCK_SIZE);
}

/* Elements of one iteration of loop @loop: the product of the sizes inside it. */
uint64_t npu_fetch_inner(const struct npu_cmd_fetch *cmd, unsigned int loop);

/* Keys of a table: 16, 256 or 65536; 0 for a type that is no key. */
uint32_t npu_lut_entries(uint32_t key_type);

/* As npu_operands(); *address is the one that broke the rule. */
unsigned int npu_operands_at(const struct npu_cmd *cmd, struct npu_operand op[NPU_MAX_OPERANDS],
			     uint32_t *rule, uint64_t *address);

/* As npu_check_command(), but for the memory operands; @check is not changed. */
uint32_t npu_check_static(const struct npu_check *check, const struct npu_cmd *cmd);

/* Notes what a command that broke no rule loads. */
void npu_check_commit(struct npu_check *check, const struct npu_cmd *cmd);

/* Checks a stream's header alone, then where command @pos (bytes) begins. */
uint32_t npu_check_header(const void *stream, uint32_t size);
uint32_t npu_check_next(const void *stream, uint32_t size, uint32_t pos);

#endif
