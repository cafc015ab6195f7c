// SPDX-License-Identifier: MIT
/* The element stages of the adapter as few passes of kernel functions as possible. */
#include <string.h>

#include "adapter.h"

static const struct {
	uint8_t from, to;
	enum npu_kern_conv conv;
} convs[] = {
	{ NPU_TYPE_I4, NPU_TYPE_I32, NPU_CONV_I4_I32 },
	{ NPU_TYPE_I8, NPU_TYPE_I32, NPU_CONV_I8_I32 },
	{ NPU_TYPE_I16, NPU_TYPE_I32, NPU_CONV_I16_I32 },
	{ NPU_TYPE_F8E4M3, NPU_TYPE_F32, NPU_CONV_F8E4M3_F32 },
	{ NPU_TYPE_F8E5M2, NPU_TYPE_F32, NPU_CONV_F8E5M2_F32 },
	{ NPU_TYPE_BF16, NPU_TYPE_F32, NPU_CONV_BF16_F32 },
	{ NPU_TYPE_F32, NPU_TYPE_BF16, NPU_CONV_F32_BF16 },
	{ NPU_TYPE_F4E2M1, NPU_TYPE_F8E4M3, NPU_CONV_F4_F8E4M3 },
	{ NPU_TYPE_F4E2M1, NPU_TYPE_F8E5M2, NPU_CONV_F4_F8E5M2 },
	{ NPU_TYPE_F8E4M3, NPU_TYPE_BF16, NPU_CONV_F8E4M3_BF16 },
	{ NPU_TYPE_F8E5M2, NPU_TYPE_BF16, NPU_CONV_F8E5M2_BF16 },
	{ NPU_TYPE_I4, NPU_TYPE_I8, NPU_CONV_I4_I8 },
};

/* Two conversions that the kernels do in one pass. */
static const struct {
	enum npu_kern_conv first, second, both;
} fused[] = {
	{ NPU_CONV_F4_F8E4M3, NPU_CONV_F8E4M3_F32, NPU_CONV_F4_F32 },
	{ NPU_CONV_F4_F8E5M2, NPU_CONV_F8E5M2_F32, NPU_CONV_F4_F32 },
	{ NPU_CONV_F8E4M3_BF16, NPU_CONV_BF16_F32, NPU_CONV_F8E4M3_BF16_F32 },
	{ NPU_CONV_F8E5M2_BF16, NPU_CONV_BF16_F32, NPU_CONV_F8E5M2_BF16_F32 },
};

static struct npu_step *chain_add(struct npu_chain *chain, enum npu_step_kind kind,
				  unsigned int out_bits)
{
	struct npu_step *step = &chain->step[chain->count++];

	memset(step, 0, sizeof(*step));
	step->kind = kind;
	step->in_bits = chain->out_bits;
	step->out_bits = out_bits;
	chain->out_bits = out_bits;
	return step;
}

static void chain_convert(struct npu_chain *chain, uint32_t from, uint32_t to)
{
	struct npu_step *prev = chain->count ? &chain->step[chain->count - 1] : NULL;
	enum npu_kern_conv conv = NPU_CONVS;
	size_t i;

	if (from == to)
		return;
	for (i = 0; i < sizeof(convs) / sizeof(convs[0]); i++)
		if (convs[i].from == from && convs[i].to == to)
			conv = convs[i].conv;
	for (i = 0; prev && prev->kind == NPU_STEP_CONV && i < sizeof(fused) / sizeof(fused[0]);
	     i++) {
		if (fused[i].first == prev->conv && fused[i].second == conv) {
			prev->conv = fused[i].both;
			prev->out_bits = npu_type_bits(to);
			chain->out_bits = prev->out_bits;
			return;
		}
	}
	chain_add(chain, NPU_STEP_CONV, npu_type_bits(to))->conv = conv;
}

static void chain_lookup(struct npu_chain *chain, const struct npu_exec *x,
			 const struct npu_cmd_fetch *cmd)
{
	unsigned int bits = npu_type_bits(cmd->lookup_type);
	struct npu_step *step = chain_add(chain, NPU_STEP_LUT, bits);

	step->table = x->lut[cmd->lut_slot];
	step->key = step->in_bits == 4 ? NPU_KEY_4 : step->in_bits == 8 ? NPU_KEY_8 : NPU_KEY_16;
	step->entry = bits == 8 ? NPU_ENTRY_1 : bits == 16 ? NPU_ENTRY_2 : NPU_ENTRY_4;
}

static void chain_zero_point(struct npu_chain *chain, uint32_t type, int zero_point)
{
	if (type == NPU_TYPE_I4)
		chain_add(chain, NPU_STEP_ZPS4, 8)->zero_point = zero_point;
	else
		chain_add(chain, NPU_STEP_ZPS8, 16)->zero_point = zero_point;
}

static void chain_begin(struct npu_chain *chain, uint32_t type)
{
	memset(chain, 0, sizeof(*chain));
	chain->in_bits = npu_type_bits(type);
	chain->out_bits = chain->in_bits;
}

static void chain_end(struct npu_chain *chain)
{
	if (!chain->count)
		chain_add(chain, NPU_STEP_COPY, chain->out_bits);
}

static uint32_t chain_stages(struct npu_chain *chain, const struct npu_exec *x,
			     const struct npu_cmd_fetch *cmd)
{
	uint32_t type = cmd->src_type;

	chain_begin(chain, type);
	if (cmd->lookup == NPU_LOOKUP_BUILTIN)
		chain_convert(chain, type, cmd->lookup_type);
	else if (cmd->lookup == NPU_LOOKUP_SLOT)
		chain_lookup(chain, x, cmd);
	if (cmd->lookup)
		type = cmd->lookup_type;
	if (cmd->cast_type) {
		chain_convert(chain, type, cmd->cast_type);
		type = cmd->cast_type;
	}
	if (cmd->cmd.flags & NPU_FETCH_ZERO_POINT) {
		chain_zero_point(chain, type, cmd->zero_point);
		type = type == NPU_TYPE_I4 ? NPU_TYPE_I5 : NPU_TYPE_I9;
	}
	return type;
}

void npu_chain_init(struct npu_chain *chain, const struct npu_exec *x,
		    const struct npu_cmd_fetch *cmd)
{
	chain_stages(chain, x, cmd);
	chain_end(chain);
}

void npu_chain_to_lanes(struct npu_chain *chain, uint32_t type, enum npu_lane lane)
{
	if (chain->count == 1 && chain->step[0].kind == NPU_STEP_COPY) {
		chain->count = 0;
		chain->out_bits = chain->in_bits;
	}
	if (type == NPU_TYPE_I4)
		chain_convert(chain, NPU_TYPE_I4, NPU_TYPE_I8);
	else if (type == NPU_TYPE_I8 && lane == NPU_LANE_S16)
		chain_zero_point(chain, NPU_TYPE_I8, 0);
	else if (lane == NPU_LANE_F32)
		chain_convert(chain, type, NPU_TYPE_F32);
	chain_end(chain);
}

void npu_chain_weight(struct npu_chain *chain, const struct npu_cmd_fetch *cmd, enum npu_lane lane)
{
	uint32_t type = cmd->weight_type;

	chain_begin(chain, type);
	if (cmd->cmd.flags & NPU_FETCH_WEIGHT_ZERO_POINT) {
		chain_zero_point(chain, type, cmd->weight_zero_point);
		type = type == NPU_TYPE_I4 ? NPU_TYPE_I5 : NPU_TYPE_I9;
	}
	npu_chain_to_lanes(chain, type, lane);
}

static void step_run(const struct npu_step *step, const struct npu_kern *kern, void *dst,
		     const void *src, uint64_t elements)
{
	size_t n = (size_t)elements;

	switch (step->kind) {
	case NPU_STEP_COPY:
		kern->copy(dst, src, (n * step->in_bits + 7) / 8);
		/* The spare nibble of an odd count is 0, whatever the source holds there. */
		if (step->in_bits < 8 && n % 2)
			((uint8_t *)dst)[n / 2] &= 0x0f;
		break;
	case NPU_STEP_CONV:
		kern->conv[step->conv](dst, src, n);
		break;
	case NPU_STEP_LUT:
		kern->lut[step->key][step->entry](dst, src, n, step->table);
		break;
	case NPU_STEP_ZPS4:
		kern->zps_i4(dst, src, n, step->zero_point);
		break;
	case NPU_STEP_ZPS8:
		kern->zps_i8(dst, src, n, step->zero_point);
		break;
	}
}

void npu_chain_run(const struct npu_chain *chain, const struct npu_kern *kern,
		   const struct npu_kern *last, void *dst, const void *src, uint64_t n, void *tmp)
{
	uint8_t *half[2] = { tmp, (uint8_t *)tmp + NPU_STAGE_SCRATCH / 2 };
	const uint8_t *from = src;
	uint8_t *to = dst;
	unsigned int i;

	if (chain->count == 1) {
		step_run(&chain->step[0], last, dst, src, n);
		return;
	}
	while (n) {
		uint64_t here = npu_min(n, NPU_STAGE);
		const void *in = from;

		for (i = 0; i < chain->count - 1; i++) {
			step_run(&chain->step[i], kern, half[i % 2], in, here);
			in = half[i % 2];
		}
		step_run(&chain->step[i], last, to, in, here);
		from += here * chain->in_bits / 8;
		to += here * chain->out_bits / 8;
		n -= here;
	}
}
