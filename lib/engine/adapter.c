// SPDX-License-Identifier: MIT
/* The packet stream: two tensors in turn where interleaved, and the mask. */
#include "adapter.h"

void npu_stream_source_init(struct npu_stream_source *s, struct npu_exec *x,
			    const struct npu_cmd_fetch *cmd, const struct npu_operand *op,
			    unsigned int n)
{
	const struct npu_operand *src = npu_operand_find(op, n, "src");
	const struct npu_operand *src2 = npu_operand_find(op, n, "src2");

	*s = (struct npu_stream_source){ .x = x, .cmd = cmd };
	npu_fetch_plan(cmd, x->check.ring, &s->plan);
	npu_nest_init(&s->nest, cmd);
	s->elements = s->plan.elements;
	s->interleave = cmd->cmd.flags & NPU_FETCH_INTERLEAVE;
	if (src)
		s->op[0] = *src;
	if (src2)
		s->op[1] = *src2;
	if (s->interleave)
		s->elements *= 2;
	if (cmd->mask)
		s->axis_steps = npu_fetch_inner(cmd, cmd->mask_axis) / cmd->packet_size;
	if (cmd->mask == NPU_MASK_ITERATOR)
		s->iterator_steps = npu_fetch_inner(cmd, cmd->mask_iterator) / cmd->packet_size;
}

/* Slots [0, *left) and [*right, packet_size) of time step @step are padding. */
static void mask_limits(const struct npu_stream_source *s, uint64_t step, uint64_t *left,
			uint64_t *right)
{
	const struct npu_cmd_fetch *cmd = s->cmd;
	uint32_t n = cmd->size[cmd->mask_axis];
	uint64_t i = step / s->axis_steps % n;
	unsigned int k = 0;

	*left = i == 0 ? cmd->left_pad : 0;
	*right = cmd->packet_size;
	if (i == n - 1) {
		if (cmd->mask == NPU_MASK_ITERATOR)
			k = (unsigned int)(step / s->iterator_steps %
					   cmd->size[cmd->mask_iterator]);
		*right = cmd->valid_count[k];
	} else if (cmd->mask == NPU_MASK_RIGHTMOST_AND_SECOND && i == n - 2) {
		*right = cmd->valid_count[1];
	}
}

/* Zeroes padding in slots [@slot, @slot + @n) of a packet, which begin at @buf's element @at. */
static void mask_piece(const struct npu_stream_source *s, uint64_t step, uint64_t slot,
		       uint64_t n, void *buf, uint64_t at)
{
	uint64_t left, right;

	mask_limits(s, step, &left, &right);
	if (left > slot)
		s->x->kern->zero(buf, s->nest.bits, (size_t)at,
				 (size_t)(at + npu_min(left - slot, n)));
	if (right < slot + n)
		s->x->kern->zero(buf, s->nest.bits,
				 (size_t)(at + (right > slot ? right - slot : 0)),
				 (size_t)(at + n));
}

/* Packet by packet: two cursors in turn, one mask each. */
static bool gather_packets(const struct npu_stream_source *s, struct npu_cursor *cursor,
			   struct npu_window *window, uint64_t from, uint64_t n, void *buf)
{
	uint64_t packet = s->cmd->packet_size;
	uint64_t step = from / packet;
	uint64_t slot = from % packet;
	uint64_t at = 0;

	while (at < n) {
		uint64_t here = npu_min(n - at, packet - slot);
		unsigned int which = s->interleave ? step & 1 : 0;

		if (!npu_gather(&cursor[which], &window[which], here, buf, at))
			return false;
		if (s->cmd->mask)
			mask_piece(s, s->interleave ? step / 2 : step, slot, here, buf, at);
		at += here;
		slot = 0;
		step++;
	}
	return true;
}

bool npu_stream_gather(const struct npu_stream_source *s, uint64_t from, uint64_t n, void *buf)
{
	uint64_t packet = s->cmd->packet_size;
	uint64_t base[2] = { s->cmd->src, s->cmd->src2 };
	unsigned int count = s->interleave ? 2 : 1;
	bool in_order = s->nest.count == 1 && s->nest.stride[0] == 1;
	struct npu_window window[2];
	struct npu_cursor cursor[2];
	unsigned int i;
	bool ok;

	for (i = 0; i < count; i++) {
		uint64_t first = from;

		if (s->interleave) {
			uint64_t step = from / packet;
			/* Its packets before that step, and the part of one that is its own. */
			first = (step + !i) / 2 * packet;
			if ((step & 1) == i)
				first = step / 2 * packet + from % packet;
		}
		cursor[i].nest = &s->nest;
		cursor[i].base = base[i];
		cursor[i].offset = s->cmd->offset;
		npu_cursor_seek(&cursor[i], first);
		npu_window_open(&window[i], s->x, &s->op[i],
				in_order ? n * s->nest.bits / 8 + 1 : 0);
	}
	if (s->interleave || s->cmd->mask)
		ok = gather_packets(s, cursor, window, from, n, buf);
	else
		ok = npu_gather(&cursor[0], &window[0], n, buf, 0);
	for (i = 0; i < count; i++)
		npu_window_close(&window[i]);
	return ok;
}
