// SPDX-License-Identifier: MIT
/* Commands without stages, and what can be asked about a stream. */
#include <string.h>

#include "stream.h"

static int optional_address(struct npu_stream *stream, const char *what, const char *name,
			    struct npu_ref ref, uint32_t flag, uint32_t *flags, __u64 *address)
{
	if (!ref.bo)
		return 0;
	*flags |= flag;
	return npu_stream_address(stream, what, name, ref, address);
}

static int preprocess_addresses(struct npu_stream *stream, const struct npu_preprocess *p,
				struct npu_cmd_preprocess *cmd)
{
	const char *what = "preprocess";
	int ret;

	ret = npu_stream_address(stream, what, "src", p->src, &cmd->src);
	if (!ret && cmd->sink == NPU_SINK_MEMORY)
		ret = npu_stream_address(stream, what, "dst", p->dst, &cmd->dst);
	if (!ret)
		ret = optional_address(stream, what, "emax", p->emax, NPU_PREPROCESS_EMAX,
				       &cmd->cmd.flags, &cmd->emax);
	if (!ret)
		ret = optional_address(stream, what, "exponents", p->exponents,
				       NPU_PREPROCESS_EXPONENTS, &cmd->cmd.flags, &cmd->exponents);
	if (!ret)
		ret = optional_address(stream, what, "scales", p->scales, NPU_PREPROCESS_SCALES,
				       &cmd->cmd.flags, &cmd->scales);
	return ret;
}

/* What does not fit the command's bytes would be cut to something legal. */
static int preprocess_fields(struct npu_stream *stream, const struct npu_preprocess *p)
{
	if (p->mode > UINT8_MAX || p->rounding > UINT8_MAX || p->sink > UINT8_MAX ||
	    p->const_slot > UINT8_MAX || p->keep_emax > 1 || p->pad)
		return npu_stream_fail(stream, EINVAL, "preprocess",
				       "npu_preprocess: mode %u, rounding %u, sink %u, const_slot %u, keep_emax %u, pad %u: out of range",
				       p->mode, p->rounding, p->sink, p->const_slot, p->keep_emax,
				       p->pad);
	return 0;
}

int npu_preprocess(struct npu_stream *stream, const struct npu_preprocess *user)
{
	struct npu_cmd_preprocess cmd = { .cmd = { NPU_OP_PREPROCESS, sizeof(cmd), 0 } };
	struct npu_preprocess p;
	struct npu_check check;
	int ret;

	ret = npu_stream_ready(stream, "preprocess");
	if (ret)
		return ret;
	ret = npu_take_sized(&p, sizeof(p), user, "npu_preprocess");
	if (ret)
		return npu_stream_fail(stream, -ret, "preprocess", "%s", npu_last_error());
	ret = preprocess_fields(stream, &p);
	if (ret)
		return ret;
	cmd.rows = p.rows;
	cmd.cols = p.cols;
	cmd.mode = (uint8_t)p.mode;
	cmd.rounding = (uint8_t)p.rounding;
	cmd.sink = p.sink ? (uint8_t)p.sink : NPU_SINK_MEMORY;
	cmd.const_slot = (uint8_t)p.const_slot;
	if (p.keep_emax)
		cmd.cmd.flags |= NPU_PREPROCESS_KEEP_EMAX;
	ret = preprocess_addresses(stream, &p, &cmd);
	if (ret)
		return ret;
	/* No elements make no command, but the command must be right. */
	check = stream->check;
	if ((!p.rows || !p.cols) && !npu_check_command(&check, &cmd.cmd))
		return 0;
	return npu_stream_push(stream, &cmd.cmd, (struct npu_operand_bo[]){
		{ "src", p.src.bo }, { "dst", p.dst.bo }, { "emax", p.emax.bo },
		{ "exponents", p.exponents.bo }, { "scales", p.scales.bo }, { 0 },
	});
}

int npu_lut_load(struct npu_stream *stream, uint32_t slot, uint32_t key_type, uint32_t entry_type,
		 struct npu_ref table)
{
	struct npu_cmd_lut_load cmd = { .cmd = { NPU_OP_LUT_LOAD, sizeof(cmd), 0 } };
	int ret;

	ret = npu_stream_ready(stream, "lut-load");
	if (!ret)
		ret = npu_stream_address(stream, "lut-load", "table", table, &cmd.address);
	if (ret)
		return ret;
	if (slot > UINT8_MAX || key_type > UINT8_MAX || entry_type > UINT8_MAX)
		return npu_stream_fail(stream, EINVAL, "lut-load",
				       "slot %u, key type %u, entry type %u: out of range", slot,
				       key_type, entry_type);
	cmd.slot = (uint8_t)slot;
	cmd.key_type = (uint8_t)key_type;
	cmd.entry_type = (uint8_t)entry_type;
	return npu_stream_push(stream, &cmd.cmd,
			       (struct npu_operand_bo[]){ { "table", table.bo }, { 0 } });
}

int npu_const_set(struct npu_stream *stream, uint32_t slot, float value)
{
	struct npu_cmd_const_set cmd = { .cmd = { NPU_OP_CONST_SET, sizeof(cmd), 0 } };
	int ret;

	ret = npu_stream_ready(stream, "const-set");
	if (ret)
		return ret;
	if (slot > UINT8_MAX)
		return npu_stream_fail(stream, EINVAL, "const-set",
				       "rule const-slot: slot %u, there are %u", slot,
				       NPU_CONST_SLOTS);
	memcpy(&cmd.value, &value, sizeof(value));
	cmd.slot = (uint8_t)slot;
	return npu_stream_push(stream, &cmd.cmd, NULL);
}

int npu_fmap_read(struct npu_stream *stream, uint32_t start, uint32_t count, uint32_t lanes,
		  struct npu_ref dst, struct npu_ref emax, struct npu_ref exponents)
{
	struct npu_cmd_fmap_read cmd = {
		.cmd = { NPU_OP_FMAP_READ, sizeof(cmd), 0 },
		.start = start,
		.count = count,
		.lanes = dst.bo ? lanes : 0,
	};
	const char *what = "fmap-read";
	int ret;

	ret = npu_stream_ready(stream, what);
	if (ret)
		return ret;
	if (dst.bo)
		ret = npu_stream_address(stream, what, "dst", dst, &cmd.dst);
	else
		cmd.cmd.flags |= NPU_FMAP_NO_VALUES;
	if (!ret)
		ret = optional_address(stream, what, "emax", emax, NPU_FMAP_EMAX, &cmd.cmd.flags,
				       &cmd.emax);
	if (!ret)
		ret = optional_address(stream, what, "exponents", exponents, NPU_FMAP_EXPONENTS,
				       &cmd.cmd.flags, &cmd.exponents);
	if (ret)
		return ret;
	return npu_stream_push(stream, &cmd.cmd, (struct npu_operand_bo[]){
		{ "dst", dst.bo }, { "emax", emax.bo }, { "exponents", exponents.bo }, { 0 },
	});
}

static int push_plain(struct npu_stream *stream, uint16_t opcode)
{
	const struct npu_cmd cmd = { opcode, sizeof(cmd), 0 };
	int ret = npu_stream_ready(stream, npu_op_name(opcode));

	return ret ? ret : npu_stream_push(stream, &cmd, NULL);
}

int npu_barrier(struct npu_stream *stream)
{
	return push_plain(stream, NPU_OP_BARRIER);
}

int npu_nop(struct npu_stream *stream)
{
	return push_plain(stream, NPU_OP_NOP);
}

int npu_stream_fetch_info(struct npu_stream *stream, uint32_t command,
			  struct npu_fetch_info *out)
{
	struct npu_fetch_info info = NPU_FETCH_INFO_INIT;
	const struct npu_cmd_fetch *cmd;
	struct npu_fetch_plan plan;
	int ret = npu_stream_error(stream);

	if (ret)
		return ret;
	if (stream->raw || command >= stream->count)
		return npu_fail(EINVAL, "npu_stream_fetch_info: command is %u, the stream has %u",
				command, stream->count);
	cmd = (const void *)(stream->data + stream->offsets[command]);
	if (cmd->cmd.opcode != NPU_OP_FETCH)
		return npu_fail(EINVAL, "npu_stream_fetch_info: command %u is a %s, not a fetch",
				command, npu_op_name(cmd->cmd.opcode));
	npu_fetch_plan(cmd, stream->ring, &plan);
	info.time_steps = plan.time_steps;
	info.packet_size = plan.packet_size;
	info.max_access_size = plan.max_access_size;
	info.read_size = cmd->read_size;
	info.reads_per_packet = cmd->read_size ? cmd->packet_size / cmd->read_size : 0;
	info.cycles = plan.cycles;
	info.out_bytes = plan.out_bytes;
	return npu_give_sized(out, &info, sizeof(info), "npu_fetch_info");
}

uint64_t npu_type_bytes(uint32_t type, uint64_t n)
{
	unsigned int bits = npu_type_bits(type);
	uint64_t bytes;

	if (bits == 4)
		return n / 2 + n % 2;
	return __builtin_mul_overflow(n, (uint64_t)bits / 8, &bytes) ? UINT64_MAX : bytes;
}
