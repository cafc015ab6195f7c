// SPDX-License-Identifier: MIT
/*
 * From a finished chain of stages to FETCH commands. A view with loops is one
 * command. A contiguous one is a single run: packets of 32 input bytes, or fewer where
 * the cast limit asks, then one unpadded command for the rest.
 */
#include <string.h>

#include "fetch.h"
#include "stream.h"

#define READ_BITS	256u		/* of the largest read, and of a flit */
#define SUB_READ_BITS	64u

static int broken(struct npu_stream *stream, const struct npu_cmd_fetch *cmd, uint32_t rule)
{
	char text[NPU_SENTENCE_MAX / 2];

	npu_explain(rule, &cmd->cmd, &stream->check, stream->ring, text, sizeof(text));
	return npu_stream_fail(stream, EINVAL, "fetch", "rule %s: %s", npu_rule_name(rule), text);
}

/* Appends @cmd with the read size that its view asks for, or the largest legal one. */
static int push(struct npu_stream *stream, struct npu_cmd_fetch *cmd,
		const struct npu_operand_bo *bos)
{
	struct npu_fetch_plan plan;
	uint32_t rule;

	rule = npu_fetch_plan(cmd, stream->ring, &plan);
	if (rule)
		return broken(stream, cmd, rule);
	if (!cmd->read_size)
		cmd->read_size = plan.read_size;
	return npu_stream_push(stream, &cmd->cmd, bos);
}

/* Whether the library chooses the nest of this view. */
static bool is_run(const struct npu_view *view)
{
	return !view->loop_count && !(view->count && (view->packet_size || view->read_size));
}

/* Ends the chain: addresses, and the base moved back by the left pad. */
static int take_source(struct npu_stream *stream, struct npu_cmd_fetch *cmd,
		       const struct npu_view *view)
{
	int ret;

	stream->fetch.stage = NPU_STAGE_NONE;
	if (cmd->mask && is_run(view))
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "rule mask-axis: a mask needs a view with loops");
	ret = npu_stream_address(stream, "fetch", "npu_view.base", view->base, &cmd->src);
	if (!ret && view->interleave.bo) {
		ret = npu_stream_address(stream, "fetch", "npu_view.interleave", view->interleave,
					 &cmd->src2);
		cmd->cmd.flags |= NPU_FETCH_INTERLEAVE;
	}
	if (!ret && __builtin_sub_overflow(view->offset, (int64_t)cmd->left_pad, &cmd->offset))
		ret = npu_stream_fail(stream, EINVAL, "fetch",
				      "rule address-range: npu_view.offset is %lld",
				      (long long)view->offset);
	return ret;
}

static int take_loops(struct npu_stream *stream, struct npu_cmd_fetch *cmd,
		      const struct npu_view *view)
{
	uint32_t i;

	cmd->loop_count = (uint8_t)view->loop_count;
	for (i = 0; i < view->loop_count; i++) {
		cmd->size[i] = view->loops[i].size;
		cmd->stride[i] = view->loops[i].stride;
	}
	if (!view->loop_count) {
		/* A contiguous tensor whose packets the caller chose. */
		if (view->count > UINT32_MAX)
			return npu_stream_fail(stream, EINVAL, "fetch",
					       "rule loop-size: %llu elements with npu_view.packet_size or read_size: give loops of at most 4294967295",
					       (unsigned long long)view->count);
		cmd->loop_count = 1;
		cmd->size[0] = (uint32_t)view->count;
		cmd->stride[0] = 1;
	}
	cmd->packet_size = view->packet_size;
	if (!cmd->packet_size)
		cmd->packet_size = cmd->size[cmd->loop_count - 1];
	cmd->read_size = view->read_size;
	if (view->flags & NPU_VIEW_UNPADDED)
		cmd->cmd.flags |= NPU_FETCH_UNPADDED;
	return 0;
}

/* One or two loops of stride 1 over @count elements in packets of @packet. */
static int set_run(struct npu_stream *stream, struct npu_cmd_fetch *cmd, uint64_t count,
		   uint32_t packet)
{
	memset(cmd->size, 0, sizeof(cmd->size));
	memset(cmd->stride, 0, sizeof(cmd->stride));
	cmd->packet_size = packet;
	cmd->read_size = 0;
	if (count <= UINT32_MAX) {
		cmd->loop_count = 1;
		cmd->size[0] = (uint32_t)count;
		cmd->stride[0] = 1;
		return 0;
	}
	if (count / packet > UINT32_MAX)
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "rule loop-size: %llu elements are too many for one fetch: split the tensor",
				       (unsigned long long)count);
	cmd->loop_count = 2;
	cmd->size[0] = (uint32_t)(count / packet);
	cmd->stride[0] = packet;
	cmd->size[1] = packet;
	cmd->stride[1] = 1;
	return 0;
}

/* Elements of a run's packets: 32 bytes, what a cast makes of them 32 bytes too. */
static uint32_t run_packet(const struct npu_stream *stream, const struct npu_cmd_fetch *cmd)
{
	uint32_t bits = npu_type_bits(cmd->src_type);
	uint32_t packet = READ_BITS / bits;

	if (cmd->cast_type && READ_BITS / npu_type_bits(cmd->cast_type) < packet)
		packet = READ_BITS / npu_type_bits(cmd->cast_type);
	/* Below its read size the sub context would complain of that and not of the cast. */
	if (stream->ring == NPU_RING_FETCH_SUB && packet < SUB_READ_BITS / bits)
		packet = SUB_READ_BITS / bits;
	return packet;
}

/* The bytes of a run's source, seen from its BO. */
static int check_run_bounds(struct npu_stream *stream, const struct npu_cmd_fetch *cmd,
			    uint64_t count)
{
	const struct npu_ref *base = &stream->fetch.view.base;
	int64_t low = cmd->offset, high, width = npu_type_bits(cmd->src_type) / 8;
	bool fits;

	fits = !__builtin_add_overflow(low, count - 1, &high);
	if (width) {
		fits = fits && !__builtin_mul_overflow(low, width, &low) &&
		       !__builtin_mul_overflow(high, width, &high) &&
		       !__builtin_add_overflow(high, width - 1, &high);
	} else {
		low = low / 2 - (low % 2 < 0);
		high = high / 2 - (high % 2 < 0);
	}
	fits = fits && !__builtin_add_overflow(low, base->offset, &low) &&
	       !__builtin_add_overflow(high, base->offset, &high);
	if (!fits)
		return broken(stream, cmd, NPU_RULE_ADDRESS_RANGE);
	if (low < 0 || high >= (int64_t)base->bo->size)
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "rule address-unmapped: src takes bytes %lld to %lld of a BO that has bytes 0 to %llu",
				       (long long)low, (long long)high,
				       (unsigned long long)base->bo->size - 1);
	return 0;
}

/*
 * The run is one tensor to the caller: it must not overlap its own output,
 * even where each of the two commands by itself does not.
 */
static int check_run(struct npu_stream *stream, const struct npu_cmd_fetch *cmd, uint64_t count,
		     uint64_t out_bytes)
{
	struct npu_operand op[NPU_MAX_OPERANDS];
	struct npu_cmd_fetch whole = *cmd;
	uint32_t rule;

	if (check_run_bounds(stream, cmd, count))
		return stream->error;
	if (set_run(stream, &whole, count, count <= UINT32_MAX ? 1 : run_packet(stream, cmd)))
		return stream->error;
	whole.cmd.flags = NPU_FETCH_UNPADDED;
	if (!npu_operands(&whole.cmd, op, &rule) && rule)
		return broken(stream, &whole, rule);
	if (op[0].address < cmd->dst + out_bytes && cmd->dst < op[0].address + op[0].size)
		return broken(stream, &whole, NPU_RULE_OVERLAP);
	return 0;
}

static int commit_run(struct npu_stream *stream, struct npu_cmd_fetch *cmd,
		      const struct npu_operand_bo *bos)
{
	uint64_t count = stream->fetch.view.count;
	uint32_t packet = run_packet(stream, cmd);
	uint64_t rest = count % packet;
	struct npu_fetch_plan plan;
	struct npu_cmd_fetch tail;
	uint64_t main_bytes, tail_bytes = 0;
	uint32_t rule;
	int ret;

	/* Of no elements the stages must be right nevertheless. */
	ret = set_run(stream, cmd, count > rest ? count - rest : packet, packet);
	if (ret)
		return ret;
	rule = npu_fetch_plan(cmd, stream->ring, &plan);
	if (rule)
		return broken(stream, cmd, rule);
	if (!count)
		return 0;
	main_bytes = count > rest ? plan.out_bytes : 0;
	tail = *cmd;
	if (rest) {
		tail.offset += count - rest;
		tail.dst += main_bytes;
		if (!(tail.cmd.flags & NPU_FETCH_FLITS))
			tail.cmd.flags |= NPU_FETCH_UNPADDED;
		set_run(stream, &tail, rest, (uint32_t)rest);
		rule = npu_fetch_plan(&tail, stream->ring, &plan);
		if (rule)
			return broken(stream, &tail, rule);
		tail_bytes = plan.out_bytes;
	}
	ret = check_run(stream, cmd, count, main_bytes + tail_bytes);
	if (!ret && main_bytes)
		ret = push(stream, cmd, bos);
	if (!ret && rest)
		ret = push(stream, &tail, bos);
	return ret;
}

int npu_fetch_commit(struct npu_stream *stream, struct npu_ref dst, bool flits)
{
	struct npu_view *view = &stream->fetch.view;
	struct npu_cmd_fetch *cmd = &stream->fetch.cmd;
	const struct npu_operand_bo bos[] = {
		{ "src", view->base.bo }, { "src2", view->interleave.bo }, { "dst", dst.bo }, { 0 },
	};
	int ret;

	cmd->sink = NPU_SINK_MEMORY;
	if (flits)
		cmd->cmd.flags |= NPU_FETCH_FLITS;
	ret = take_source(stream, cmd, view);
	if (!ret)
		ret = npu_stream_address(stream, "fetch", "dst", dst, &cmd->dst);
	if (ret)
		return ret;
	if (is_run(view))
		return commit_run(stream, cmd, bos);
	ret = take_loops(stream, cmd, view);
	return ret ? ret : push(stream, cmd, bos);
}

/* Packets of one read each: the result does not show them, the cycles do. */
static int contract_run(struct npu_stream *stream, struct npu_cmd_fetch *cmd, uint64_t count)
{
	uint32_t packet = run_packet(stream, cmd);

	while (packet > 1 && count % packet)
		packet /= 2;
	cmd->cmd.flags |= NPU_FETCH_UNPADDED;
	return set_run(stream, cmd, count, packet);
}

static int take_weights(struct npu_stream *stream, struct npu_cmd_fetch *cmd,
			const struct npu_weights *w)
{
	int ret;

	if (w->has_zero_point > 1 || w->pad || (w->zero_point && !w->has_zero_point))
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "npu_weights: has_zero_point is %u, zero_point %d and pad %u",
				       w->has_zero_point, w->zero_point, w->pad);
	if (!npu_type_name(w->type))
		return npu_stream_fail(stream, EINVAL, "fetch", "npu_weights: type %u is unknown",
				       w->type);
	if (w->zero_point < INT16_MIN || w->zero_point > INT16_MAX)
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "rule weight-zero-point: %d is outside of every type's range",
				       w->zero_point);
	ret = npu_stream_address(stream, "fetch", "npu_weights.base", w->base, &cmd->weight);
	if (ret)
		return ret;
	cmd->weight_type = (uint8_t)w->type;
	cmd->n = w->n;
	cmd->k = w->k;
	cmd->k_group = w->k_group;
	if (w->has_zero_point) {
		cmd->cmd.flags |= NPU_FETCH_WEIGHT_ZERO_POINT;
		cmd->weight_zero_point = (int16_t)w->zero_point;
	}
	return 0;
}

/* Rows of the stream, from its elements or, where it has none, from the caller. */
static int take_rows(struct npu_stream *stream, struct npu_cmd_fetch *cmd,
		     const struct npu_weights *w, uint64_t elements)
{
	uint64_t m = w->k ? elements / w->k : w->m;

	if (w->k ? elements % w->k || m > UINT32_MAX : elements != 0)
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "rule contract-shape: %llu elements are no whole number of rows of k = %u (at most 4294967295 rows)",
				       (unsigned long long)elements, w->k);
	if (w->m && w->m != m)
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "rule contract-shape: npu_weights.m is %u, but %llu elements are %llu rows of k = %u",
				       w->m, (unsigned long long)elements, (unsigned long long)m,
				       w->k);
	cmd->m = (uint32_t)m;
	return 0;
}

static int contract_shape(struct npu_stream *stream, struct npu_cmd_fetch *cmd,
			  const struct npu_view *view, const struct npu_weights *w)
{
	struct npu_fetch_plan plan;
	uint32_t rule;
	int ret;

	if (is_run(view)) {
		ret = take_rows(stream, cmd, w, view->count);
		return ret || !view->count ? ret : contract_run(stream, cmd, view->count);
	}
	ret = take_loops(stream, cmd, view);
	if (ret)
		return ret;
	/* A k of 0 would make the plan one of no elements. */
	cmd->k += !w->k;
	rule = npu_fetch_plan(cmd, stream->ring, &plan);
	cmd->k -= !w->k;
	if (rule)
		return broken(stream, cmd, rule);
	return take_rows(stream, cmd, w, plan.elements << !!view->interleave.bo);
}

int npu_fetch_contract(struct npu_stream *stream, const struct npu_weights *w, struct npu_ref dst)
{
	struct npu_view *view = &stream->fetch.view;
	struct npu_cmd_fetch *cmd = &stream->fetch.cmd;
	const struct npu_operand_bo bos[] = {
		{ "src", view->base.bo }, { "src2", view->interleave.bo },
		{ "weight", w->base.bo }, { "dst", dst.bo }, { 0 },
	};
	int ret;

	cmd->sink = NPU_SINK_CONTRACT;
	ret = take_source(stream, cmd, view);
	if (!ret)
		ret = npu_stream_address(stream, "fetch", "dst", dst, &cmd->dst);
	if (!ret)
		ret = take_weights(stream, cmd, w);
	if (!ret)
		ret = contract_shape(stream, cmd, view, w);
	if (ret)
		return ret;
	if (is_run(view) && !view->count && w->k) {
		struct npu_check check = stream->check;

		/* No rows: nothing to do, but of the right kind. */
		contract_run(stream, cmd, w->k);
		cmd->read_size = cmd->packet_size;
		cmd->m = 1;
		cmd->n = 0;
		return npu_check_command(&check, &cmd->cmd) ? push(stream, cmd, bos) : 0;
	}
	return push(stream, cmd, bos);
}
