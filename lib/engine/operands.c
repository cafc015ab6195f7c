// SPDX-License-Identifier: MIT
/*
 * Memory operands of commands: the interval of bytes each may touch. Every
 * number comes from the application, so every sum and product is checked. All
 * builtins compute as if in unlimited precision, on 32-bit hosts as well.
 */
#include <string.h>

#include "check.h"

struct operand_list {
	struct npu_operand *op;
	unsigned int count;
	uint32_t rule;
	uint64_t address;		/* that broke @rule */
};

static void list_fail(struct operand_list *list, uint32_t rule, uint64_t address)
{
	if (list->rule)
		return;
	list->rule = rule;
	list->address = address;
}

static void list_add(struct operand_list *list, const char *name, uint64_t address, uint64_t size,
		     enum npu_access access)
{
	if (size && (address < NPU_ADDRESS_MIN || address >= NPU_ADDRESS_END ||
		     size > NPU_ADDRESS_END - address)) {
		list_fail(list, NPU_RULE_ADDRESS_RANGE, address);
		return;
	}
	list->op[list->count++] = (struct npu_operand){
		.name = name, .address = address, .size = size, .access = access,
	};
}

/*
 * Lowest and highest element of a nest, relative to its base address. Starting
 * at the offset, one end only falls and the other only rises, so that an
 * overflow on the way is one of the result.
 */
static bool nest_extent(const struct npu_cmd_fetch *cmd, int64_t *low, int64_t *high)
{
	unsigned int i;

	*low = cmd->offset;
	*high = cmd->offset;
	for (i = 0; i < cmd->loop_count; i++) {
		int64_t stride = cmd->stride[i];
		uint64_t step = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
		uint64_t span;

		if (__builtin_mul_overflow(step, (uint64_t)cmd->size[i] - 1, &span))
			return false;
		if (stride < 0 ? __builtin_sub_overflow(*low, span, low) :
				 __builtin_add_overflow(*high, span, high))
			return false;
	}
	return true;
}

static int64_t floor_half(int64_t v)
{
	return v / 2 - (v % 2 < 0);
}

/* Element numbers to byte offsets of the first and the last byte. */
static bool extent_bytes(unsigned int bits, int64_t *low, int64_t *high)
{
	if (bits < 8) {
		*low = floor_half(*low);
		*high = floor_half(*high);
		return true;
	}
	return !__builtin_mul_overflow(*low, (int64_t)(bits / 8), low) &&
	       !__builtin_mul_overflow(*high, (int64_t)(bits / 8), high) &&
	       !__builtin_add_overflow(*high, (int64_t)(bits / 8 - 1), high);
}

static void list_add_nest(struct operand_list *list, const char *name,
			  const struct npu_cmd_fetch *cmd, uint64_t base)
{
	int64_t low, high;

	if (base >= NPU_ADDRESS_END || !nest_extent(cmd, &low, &high) ||
	    !extent_bytes(npu_type_bits(cmd->src_type), &low, &high) ||
	    __builtin_add_overflow(low, base, &low) || __builtin_add_overflow(high, base, &high) ||
	    low < (int64_t)NPU_ADDRESS_MIN || high >= (int64_t)NPU_ADDRESS_END) {
		list_fail(list, NPU_RULE_ADDRESS_RANGE, base);
		return;
	}
	list_add(list, name, (uint64_t)low, (uint64_t)(high - low) + 1, NPU_ACCESS_READ);
}

static uint64_t mul_sat(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static void fetch_operands(const struct npu_cmd_fetch *cmd, struct operand_list *list)
{
	struct npu_fetch_plan plan;
	uint64_t weights, out;
	uint32_t rule;

	/* The ring matters for read sizes only. */
	rule = npu_fetch_plan(cmd, NPU_RING_FETCH_MAIN, &plan);
	if (rule) {
		list_fail(list, rule, 0);
		return;
	}
	if (!npu_fetch_is_empty(cmd)) {
		list_add_nest(list, "src", cmd, cmd->src);
		if (cmd->cmd.flags & NPU_FETCH_INTERLEAVE)
			list_add_nest(list, "src2", cmd, cmd->src2);
	}
	out = plan.out_bytes;
	if (cmd->sink == NPU_SINK_CONTRACT) {
		weights = (uint64_t)cmd->n * cmd->k;
		if (npu_type_bits(cmd->weight_type) < 8)
			weights = weights / 2 + weights % 2;
		else
			weights = mul_sat(weights, npu_type_bits(cmd->weight_type) / 8);
		list_add(list, "weight", cmd->weight, weights, NPU_ACCESS_READ);
		out = mul_sat(mul_sat((uint64_t)cmd->m * npu_fetch_groups(cmd), cmd->n), 4);
	}
	list_add(list, "dst", cmd->dst, out, NPU_ACCESS_WRITE);
}

static void preprocess_operands(const struct npu_cmd_preprocess *cmd, struct operand_list *list)
{
	uint64_t elements = mul_sat(cmd->rows, cmd->cols);
	uint64_t blocks = mul_sat(cmd->rows, npu_row_blocks(cmd->cols));
	uint64_t out = elements;

	if (cmd->mode == NPU_PP_MODE_FIXED27)
		out = mul_sat(elements, 4);
	else if (cmd->mode == NPU_PP_MODE_FIXED27_PACKED)
		out = mul_sat(blocks, 108);
	list_add(list, "src", cmd->src, mul_sat(elements, 2), NPU_ACCESS_READ);
	if (cmd->sink == NPU_SINK_MEMORY)
		list_add(list, "dst", cmd->dst, out, NPU_ACCESS_WRITE);
	if (cmd->cmd.flags & NPU_PREPROCESS_EMAX)
		list_add(list, "emax", cmd->emax, blocks, NPU_ACCESS_WRITE);
	if (cmd->cmd.flags & NPU_PREPROCESS_EXPONENTS)
		list_add(list, "exponents", cmd->exponents, mul_sat(blocks, NPU_BLOCK_SIZE),
			 NPU_ACCESS_WRITE);
	if (cmd->cmd.flags & NPU_PREPROCESS_SCALES)
		list_add(list, "scales", cmd->scales, mul_sat(blocks, 4), NPU_ACCESS_WRITE);
}

static void fmap_operands(const struct npu_cmd_fmap_read *cmd, struct operand_list *list)
{
	uint64_t count = cmd->count;

	if (!(cmd->cmd.flags & NPU_FMAP_NO_VALUES))
		list_add(list, "dst", cmd->dst, mul_sat(count * cmd->lanes, 4), NPU_ACCESS_WRITE);
	if (cmd->cmd.flags & NPU_FMAP_EMAX)
		list_add(list, "emax", cmd->emax, count, NPU_ACCESS_WRITE);
	if (cmd->cmd.flags & NPU_FMAP_EXPONENTS)
		list_add(list, "exponents", cmd->exponents, count * NPU_BLOCK_SIZE,
			 NPU_ACCESS_WRITE);
}

static void lut_operands(const struct npu_cmd_lut_load *cmd, struct operand_list *list)
{
	uint64_t size = (uint64_t)npu_lut_entries(cmd->key_type) *
			(npu_type_bits(cmd->entry_type) / 8);

	list_add(list, "table", cmd->address, size, NPU_ACCESS_READ);
}

static void list_check_overlap(struct operand_list *list)
{
	unsigned int i, j;

	for (i = 0; i < list->count; i++) {
		const struct npu_operand *a = &list->op[i];

		for (j = 0; j < list->count; j++) {
			const struct npu_operand *b = &list->op[j];

			if (i == j || a->access != NPU_ACCESS_WRITE || !a->size || !b->size)
				continue;
			if (a->address < b->address + b->size && b->address < a->address + a->size)
				list_fail(list, NPU_RULE_OVERLAP, a->address);
		}
	}
}

unsigned int npu_operands_at(const struct npu_cmd *cmd, struct npu_operand op[NPU_MAX_OPERANDS],
			     uint32_t *rule, uint64_t *address)
{
	struct operand_list list = { .op = op };

	switch (cmd->opcode) {
	case NPU_OP_FETCH:
		fetch_operands((const struct npu_cmd_fetch *)cmd, &list);
		break;
	case NPU_OP_PREPROCESS:
		preprocess_operands((const struct npu_cmd_preprocess *)cmd, &list);
		break;
	case NPU_OP_LUT_LOAD:
		lut_operands((const struct npu_cmd_lut_load *)cmd, &list);
		break;
	case NPU_OP_FMAP_READ:
		fmap_operands((const struct npu_cmd_fmap_read *)cmd, &list);
		break;
	}
	list_check_overlap(&list);
	*rule = list.rule;
	*address = list.address;
	return list.rule ? 0 : list.count;
}

unsigned int npu_operands(const struct npu_cmd *cmd, struct npu_operand op[NPU_MAX_OPERANDS],
			  uint32_t *rule)
{
	uint64_t address;

	return npu_operands_at(cmd, op, rule, &address);
}
