// SPDX-License-Identifier: MIT
/*
 * The stages of a fetch. Each takes the handle of the stage before and gives the
 * next one; types keep the order, the serial keeps a handle from being used twice.
 */
#include <string.h>

#include "fetch.h"
#include "stream.h"

/* Takes a handle; its fetch goes on only where this is true. */
static bool stage_take(struct npu_stream *stream, uint64_t serial, const char *what)
{
	if (npu_stream_error(stream))
		return false;
	if (stream->fetch.stage && stream->fetch.serial == serial)
		return true;
	npu_stream_fail(stream, EINVAL, "fetch",
			"%s was given a handle that was used before or belongs to another fetch",
			what);
	return false;
}

/* The serial of the next handle. */
static uint64_t stage_give(struct npu_stream *stream, enum npu_stage stage)
{
	stream->fetch.stage = stage;
	stream->fetch.serial = ++stream->serial;
	return stream->fetch.serial;
}

static bool known_type(struct npu_stream *stream, const char *what, uint32_t type)
{
	if (npu_type_name(type))
		return true;
	npu_stream_fail(stream, EINVAL, "fetch", "%s: type %u is unknown", what, type);
	return false;
}

static int check_view(struct npu_stream *stream, const struct npu_view *view)
{
	if (view->flags & ~NPU_VIEW_UNPADDED || view->pad)
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "npu_view.flags is 0x%x and pad 0x%x: unknown bits",
				       view->flags, view->pad);
	if (view->loop_count > NPU_MAX_LOOPS)
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "rule loop-count: %u loops, the sequencer has %u",
				       view->loop_count, NPU_MAX_LOOPS);
	if (view->loop_count && view->count)
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "npu_view has both count (%llu) and %u loops: give one of them",
				       (unsigned long long)view->count, view->loop_count);
	if (!view->loop_count && view->interleave.bo)
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "npu_view.interleave needs loops: they say where the tensors alternate");
	return known_type(stream, "npu_view", view->type) ? 0 : stream->error;
}

static uint64_t stage_fetch(struct npu_stream *stream, const struct npu_view *user, uint32_t ring)
{
	struct npu_pending_fetch *fetch;
	int ret;

	if (npu_stream_ready(stream, "fetch"))
		return 0;
	if (stream->ring != ring) {
		npu_stream_fail(stream, EINVAL, "fetch",
				"rule command-ring: %s on a stream of ring %s",
				ring == NPU_RING_FETCH_MAIN ? "npu_fetch()" : "npu_sub_fetch()",
				npu_ring_name(stream->ring));
		return 0;
	}
	fetch = &stream->fetch;
	ret = npu_take_sized(&fetch->view, sizeof(fetch->view), user, "npu_view");
	if (ret) {
		npu_stream_fail(stream, -ret, "fetch", "%s", npu_last_error());
		return 0;
	}
	if (check_view(stream, &fetch->view))
		return 0;
	memset(&fetch->cmd, 0, sizeof(fetch->cmd));
	fetch->cmd.cmd.opcode = NPU_OP_FETCH;
	fetch->cmd.cmd.size = sizeof(fetch->cmd);
	fetch->cmd.src_type = (uint8_t)fetch->view.type;
	return stage_give(stream, NPU_STAGE_FETCHED);
}

struct npu_fetched npu_fetch(struct npu_stream *stream, const struct npu_view *view)
{
	return (struct npu_fetched){ stream, stage_fetch(stream, view, NPU_RING_FETCH_MAIN) };
}

struct npu_sub_fetched npu_sub_fetch(struct npu_stream *stream, const struct npu_view *view)
{
	return (struct npu_sub_fetched){ stream, stage_fetch(stream, view, NPU_RING_FETCH_SUB) };
}

struct npu_masked npu_mask_fetched(struct npu_fetched h, const struct npu_mask *user)
{
	struct npu_masked next = { h.stream, 0 };
	struct npu_cmd_fetch *cmd;
	struct npu_mask mask;
	int ret;

	if (!stage_take(h.stream, h.serial, "npu_mask()"))
		return next;
	ret = npu_take_sized(&mask, sizeof(mask), user, "npu_mask");
	if (ret) {
		npu_stream_fail(h.stream, -ret, "fetch", "%s", npu_last_error());
		return next;
	}
	if (!mask.kind || mask.kind > NPU_MASK_ITERATOR) {
		npu_stream_fail(h.stream, EINVAL, "fetch", "rule mask-kind: npu_mask.kind is %u",
				mask.kind);
		return next;
	}
	if (mask.left_pad > UINT16_MAX) {
		npu_stream_fail(h.stream, EINVAL, "fetch",
				"rule mask-count: npu_mask.left_pad is %u, above 65535",
				mask.left_pad);
		return next;
	}
	cmd = &h.stream->fetch.cmd;
	cmd->mask = (uint8_t)mask.kind;
	/* What does not fit eight bits is no loop: any number above 7 says so to the checker. */
	cmd->mask_axis = mask.axis < NPU_MAX_LOOPS ? (uint8_t)mask.axis : UINT8_MAX;
	cmd->mask_iterator = mask.iterator < NPU_MAX_LOOPS ? (uint8_t)mask.iterator : UINT8_MAX;
	cmd->left_pad = (uint16_t)mask.left_pad;
	memcpy(cmd->valid_count, mask.valid_count, sizeof(cmd->valid_count));
	next.serial = stage_give(h.stream, NPU_STAGE_MASKED);
	return next;
}

static uint64_t stage_lookup(struct npu_stream *stream, uint64_t serial, uint32_t type)
{
	if (!stage_take(stream, serial, "npu_lookup()") ||
	    !known_type(stream, "npu_lookup()", type))
		return 0;
	stream->fetch.cmd.lookup = NPU_LOOKUP_BUILTIN;
	stream->fetch.cmd.lookup_type = (uint8_t)type;
	return stage_give(stream, NPU_STAGE_LOOKED_UP);
}

static uint64_t stage_table(struct npu_stream *stream, uint64_t serial, uint32_t slot)
{
	if (!stage_take(stream, serial, "npu_table()"))
		return 0;
	if (slot >= NPU_LUT_SLOTS) {
		npu_stream_fail(stream, EINVAL, "fetch", "rule lut-slot: slot %u, there are %u",
				slot, NPU_LUT_SLOTS);
		return 0;
	}
	if (!stream->check.lut_entry[slot]) {
		npu_stream_fail(stream, EINVAL, "fetch",
				"rule lut-empty: slot %u is not loaded by an npu_lut_load() earlier in this stream",
				slot);
		return 0;
	}
	stream->fetch.cmd.lookup = NPU_LOOKUP_SLOT;
	stream->fetch.cmd.lut_slot = (uint8_t)slot;
	stream->fetch.cmd.lookup_type = stream->check.lut_entry[slot];
	return stage_give(stream, NPU_STAGE_LOOKED_UP);
}

static uint64_t stage_cast(struct npu_stream *stream, uint64_t serial, uint32_t type)
{
	if (!stage_take(stream, serial, "npu_cast()") || !known_type(stream, "npu_cast()", type))
		return 0;
	stream->fetch.cmd.cast_type = (uint8_t)type;
	return stage_give(stream, NPU_STAGE_CASTED);
}

static uint64_t stage_zero_point(struct npu_stream *stream, uint64_t serial, int32_t zero_point)
{
	struct npu_cmd_fetch *cmd;

	if (!stage_take(stream, serial, "npu_zero_point_sub()"))
		return 0;
	cmd = &stream->fetch.cmd;
	if (zero_point < INT16_MIN || zero_point > INT16_MAX) {
		npu_stream_fail(stream, EINVAL, "fetch",
				"rule zero-point-range: zero point %d is outside of every type's range",
				zero_point);
		return 0;
	}
	if (cmd->mask && zero_point)
		npu_stream_warn(stream,
				"masked slots are zeros before the zero point %d is subtracted, so they leave as %d",
				zero_point, -zero_point);
	cmd->cmd.flags |= NPU_FETCH_ZERO_POINT;
	cmd->zero_point = (int16_t)zero_point;
	return stage_give(stream, NPU_STAGE_RESIDUAL);
}

static int stage_commit(struct npu_stream *stream, uint64_t serial, struct npu_ref dst, bool flits)
{
	if (!stage_take(stream, serial, flits ? "npu_commit_flits()" : "npu_commit()"))
		return npu_stream_error(stream);
	return npu_fetch_commit(stream, dst, flits);
}

static int stage_contract(struct npu_stream *stream, uint64_t serial,
			  const struct npu_weights *weights, struct npu_ref dst)
{
	struct npu_weights w;
	int ret;

	if (!stage_take(stream, serial, "npu_contract()"))
		return npu_stream_error(stream);
	ret = npu_take_sized(&w, sizeof(w), weights, "npu_weights");
	if (ret)
		return npu_stream_fail(stream, -ret, "fetch", "%s", npu_last_error());
	return npu_fetch_contract(stream, &w, dst);
}

/* One exported function for each legal edge between two stages. */
#define LOOKUP_FROM(from)								\
	struct npu_looked_up npu_lookup_##from(struct npu_##from h, uint32_t type)	\
	{										\
		return (struct npu_looked_up){ h.stream,				\
					       stage_lookup(h.stream, h.serial, type) };\
	}										\
	struct npu_looked_up npu_table_##from(struct npu_##from h, uint32_t slot)	\
	{										\
		return (struct npu_looked_up){ h.stream,				\
					       stage_table(h.stream, h.serial, slot) };	\
	}

#define CAST_FROM(from, to)								\
	struct npu_##to npu_cast_##from(struct npu_##from h, uint32_t type)		\
	{										\
		return (struct npu_##to){ h.stream,					\
					  stage_cast(h.stream, h.serial, type) };	\
	}

#define ZERO_POINT_FROM(from)								\
	struct npu_residual npu_zero_point_sub_##from(struct npu_##from h,		\
						      int32_t zero_point)		\
	{										\
		return (struct npu_residual){						\
			h.stream, stage_zero_point(h.stream, h.serial, zero_point)	\
		};									\
	}

#define COMMIT_FROM(from)								\
	int npu_commit_##from(struct npu_##from h, struct npu_ref dst)			\
	{										\
		return stage_commit(h.stream, h.serial, dst, false);			\
	}										\
	int npu_commit_flits_##from(struct npu_##from h, struct npu_ref dst)		\
	{										\
		return stage_commit(h.stream, h.serial, dst, true);			\
	}

#define CONTRACT_FROM(from)								\
	int npu_contract_##from(struct npu_##from h, const struct npu_weights *w,	\
				struct npu_ref dst)					\
	{										\
		return stage_contract(h.stream, h.serial, w, dst);			\
	}

LOOKUP_FROM(fetched)
LOOKUP_FROM(masked)
CAST_FROM(fetched, casted)
CAST_FROM(masked, casted)
CAST_FROM(looked_up, casted)
CAST_FROM(sub_fetched, sub_casted)
ZERO_POINT_FROM(fetched)
ZERO_POINT_FROM(masked)
ZERO_POINT_FROM(looked_up)
ZERO_POINT_FROM(casted)
COMMIT_FROM(fetched)
COMMIT_FROM(masked)
COMMIT_FROM(looked_up)
COMMIT_FROM(casted)
COMMIT_FROM(sub_fetched)
COMMIT_FROM(sub_casted)
CONTRACT_FROM(fetched)
CONTRACT_FROM(masked)
CONTRACT_FROM(looked_up)
CONTRACT_FROM(casted)
CONTRACT_FROM(residual)
