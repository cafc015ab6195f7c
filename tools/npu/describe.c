// SPDX-License-Identifier: MIT
/* Commands in words. The text is for people: encode ignores it. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "isa_text.h"

struct words {
	char *text;
	size_t size, used;
};

static void say(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct words *w, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(w->text + w->used, w->size - w->used, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	w->used += (size_t)n < w->size - w->used ? (size_t)n : w->size - w->used - 1;
}

static const char *type(uint32_t t)
{
	const char *name = npu_type_name(t);

	return name ? name : "an unknown type";
}

static void say_nest(struct words *w, const struct npu_cmd_fetch *f)
{
	say(w, "fetch %s at 0x%" PRIx64, type(f->src_type), (uint64_t)f->src);
	if (f->cmd.flags & NPU_FETCH_INTERLEAVE)
		say(w, " and 0x%" PRIx64 " in turn", (uint64_t)f->src2);
	if (f->offset)
		say(w, ", element %" PRId64 " on", (int64_t)f->offset);
	say(w, ", %s", f->loop_count ? "loops" : "one element");
	for (unsigned int i = 0; i < f->loop_count && i < NPU_MAX_LOOPS; i++)
		say(w, " %u:%" PRId64, f->size[i], (int64_t)f->stride[i]);
	say(w, ", packets of %u, %u a read", f->packet_size, f->read_size);
}

static void say_mask(struct words *w, const struct npu_cmd_fetch *f)
{
	if (!f->mask)
		return;
	say(w, "; zeros from slot %u on in the last iteration of loop %u", f->valid_count[0],
	    f->mask_axis);
	if (f->mask == NPU_MASK_RIGHTMOST_AND_SECOND)
		say(w, ", from %u on in the one before", f->valid_count[1]);
	if (f->mask == NPU_MASK_ITERATOR)
		say(w, " (and so on by the index of loop %u)", f->mask_iterator);
	if (f->left_pad)
		say(w, ", %u on the left of the first", f->left_pad);
}

static void say_stages(struct words *w, const struct npu_cmd_fetch *f)
{
	say_mask(w, f);
	if (f->lookup == NPU_LOOKUP_BUILTIN)
		say(w, "; built-in table to %s", type(f->lookup_type));
	else if (f->lookup)
		say(w, "; table %u to %s", f->lut_slot, type(f->lookup_type));
	if (f->cast_type)
		say(w, "; cast to %s", type(f->cast_type));
	if (f->cmd.flags & NPU_FETCH_ZERO_POINT)
		say(w, "; minus %d", f->zero_point);
}

static void say_sink(struct words *w, const struct npu_cmd_fetch *f)
{
	if (f->sink != NPU_SINK_CONTRACT) {
		say(w, "; to 0x%" PRIx64 "%s", (uint64_t)f->dst,
		    f->cmd.flags & NPU_FETCH_FLITS ? " in flits of 32 bytes" : "");
		return;
	}
	say(w, "; as [%u, %u] times %s [%u, %u] at 0x%" PRIx64, f->m, f->k, type(f->weight_type),
	    f->n, f->k, (uint64_t)f->weight);
	if (f->cmd.flags & NPU_FETCH_WEIGHT_ZERO_POINT)
		say(w, " minus %d", f->weight_zero_point);
	if (f->k_group)
		say(w, " in groups of %u", f->k_group);
	say(w, " to 0x%" PRIx64, (uint64_t)f->dst);
}

static void say_preprocess(struct words *w, const struct npu_cmd_preprocess *p)
{
	static const char *const modes[] = {
		"an unknown mode", "fixed27", "packed fixed27", "its low 8 bits",
		"int8 by e_max", "int8 by the block's maximum", "int8 by a constant scale",
	};

	say(w, "preprocess bf16 [%" PRIu64 ", %" PRIu64 "] at 0x%" PRIx64 " to %s",
	    (uint64_t)p->rows, (uint64_t)p->cols, (uint64_t)p->src,
	    modes[p->mode < ARRAY_SIZE(modes) ? p->mode : 0]);
	if (p->rounding == NPU_ROUND_TRUNCATE)
		say(w, ", truncated");
	if (p->mode == NPU_PP_MODE_INT8_CONST)
		say(w, " of slot %u", p->const_slot);
	if (p->sink == NPU_SINK_FMAP_CACHE)
		say(w, ", into the fmap cache");
	else
		say(w, " at 0x%" PRIx64, (uint64_t)p->dst);
	if (p->cmd.flags & NPU_PREPROCESS_EMAX)
		say(w, ", e_max at 0x%" PRIx64, (uint64_t)p->emax);
	if (p->cmd.flags & NPU_PREPROCESS_EXPONENTS)
		say(w, ", exponents at 0x%" PRIx64, (uint64_t)p->exponents);
	if (p->cmd.flags & NPU_PREPROCESS_SCALES)
		say(w, ", scales at 0x%" PRIx64, (uint64_t)p->scales);
}

static void say_fmap_read(struct words *w, const struct npu_cmd_fmap_read *r)
{
	say(w, "read %u elements of the fmap cache from %u on", r->count, r->start);
	if (!(r->cmd.flags & NPU_FMAP_NO_VALUES))
		say(w, " for %u lanes to 0x%" PRIx64, r->lanes, (uint64_t)r->dst);
	if (r->cmd.flags & NPU_FMAP_EMAX)
		say(w, ", e_max to 0x%" PRIx64, (uint64_t)r->emax);
	if (r->cmd.flags & NPU_FMAP_EXPONENTS)
		say(w, ", exponents to 0x%" PRIx64, (uint64_t)r->exponents);
}

static void say_load(struct words *w, const struct npu_cmd_lut_load *l)
{
	say(w, "load table %u: %s keys, %s entries at 0x%" PRIx64, l->slot, type(l->key_type),
	    type(l->entry_type), (uint64_t)l->address);
}

static void say_const(struct words *w, const struct npu_cmd_const_set *c)
{
	uint32_t bits = c->value;
	float value;

	memcpy(&value, &bits, sizeof(value));
	say(w, "constant %u = %.9g", c->slot, (double)value);
}

void isa_describe(const void *cmd, char *text, size_t size)
{
	const struct npu_cmd *c = cmd;
	struct words w = { .text = text, .size = size };

	*text = '\0';
	switch (c->opcode) {
	case NPU_OP_NOP:
		say(&w, "do nothing");
		break;
	case NPU_OP_BARRIER:
		say(&w, "wait for the commands before");
		break;
	case NPU_OP_FETCH:
		say_nest(&w, cmd);
		say_stages(&w, cmd);
		say_sink(&w, cmd);
		break;
	case NPU_OP_PREPROCESS:
		say_preprocess(&w, cmd);
		break;
	case NPU_OP_LUT_LOAD:
		say_load(&w, cmd);
		break;
	case NPU_OP_CONST_SET:
		say_const(&w, cmd);
		break;
	case NPU_OP_FMAP_READ:
		say_fmap_read(&w, cmd);
		break;
	}
}
