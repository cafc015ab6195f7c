// SPDX-License-Identifier: MIT
/*
 * Operands in memory. A translation may be as short as one byte and any
 * translation may fail, also after the operand was found to be mapped: other
 * threads of the application map and unmap while a job runs.
 */
#include <string.h>

#include "exec.h"

/* Translations between two looks at the cancel flag, where nothing else is done. */
#define WALK_POLL 4096
/* What one translation spans where a stride may lead anywhere. */
#define WINDOW_BYTES (256u * 1024)

static uint8_t *translate(struct npu_exec *x, uint64_t addr, uint64_t *len, enum npu_access access)
{
	const struct npu_memory *mem = x->job->memory;
	uint32_t rule = NPU_RULE_ADDRESS_UNMAPPED;
	uint8_t *p = mem->translate(mem->ctx, addr, len, access, &rule);

	if (!p)
		npu_exec_fault(x, rule, addr);
	return p;
}

void npu_window_open(struct npu_window *w, struct npu_exec *x, const struct npu_operand *op,
		     uint64_t want)
{
	memset(w, 0, sizeof(*w));
	w->x = x;
	w->start = op->address;
	w->end = op->address + op->size;
	w->want = want;
	w->access = op->access;
}

void npu_window_close(struct npu_window *w)
{
	if (w->ptr)
		w->x->job->memory->put(w->x->job->memory->ctx);
	w->ptr = NULL;
}

/* Translates from @from, which is not above @addr; true if that reaches @addr. */
static bool window_try(struct npu_window *w, uint64_t addr, uint64_t from, uint64_t bytes)
{
	npu_window_close(w);
	w->addr = from < w->start ? w->start : from;
	w->len = npu_min(bytes, w->end - w->addr);
	w->ptr = translate(w->x, w->addr, &w->len, w->access);
	return w->ptr && addr - w->addr < w->len;
}

static bool window_move(struct npu_window *w, uint64_t addr)
{
	if (w->want)
		return window_try(w, addr, addr, w->want);
	/* Strides may go back, so that the view begins below @addr. */
	if (!w->scattered) {
		if (window_try(w, addr, addr & ~(uint64_t)(WINDOW_BYTES - 1), WINDOW_BYTES))
			return true;
		if (!w->ptr)
			return false;
		w->scattered = true;
	}
	return window_try(w, addr, addr & ~(uint64_t)(NPU_PAGE_SIZE - 1), NPU_PAGE_SIZE) ||
	       (w->ptr && window_try(w, addr, addr, NPU_PAGE_SIZE));
}

uint8_t *npu_window_at(struct npu_window *w, uint64_t addr, uint64_t *len)
{
	if (!w->ptr || addr - w->addr >= w->len) {
		if (!window_move(w, addr))
			return NULL;
	}
	*len = w->len - (addr - w->addr);
	return w->ptr + (addr - w->addr);
}

bool npu_window_read(struct npu_window *w, uint64_t addr, void *buf, uint64_t len)
{
	uint8_t *to = buf;

	while (len) {
		uint64_t got;
		const uint8_t *p = npu_window_at(w, addr, &got);

		if (!p)
			return false;
		got = npu_min(got, len);
		memcpy(to, p, (size_t)got);
		to += got;
		addr += got;
		len -= got;
	}
	return true;
}

bool npu_window_write(struct npu_window *w, uint64_t addr, const void *buf, uint64_t len)
{
	const uint8_t *from = buf;

	while (len) {
		uint64_t got;
		uint8_t *p = npu_window_at(w, addr, &got);

		if (!p)
			return false;
		got = npu_min(got, len);
		memcpy(p, from, (size_t)got);
		from += got;
		addr += got;
		len -= got;
	}
	return true;
}

bool npu_window_zero(struct npu_window *w, uint64_t addr, uint64_t len)
{
	while (len) {
		uint64_t got;
		uint8_t *p = npu_window_at(w, addr, &got);

		if (!p)
			return false;
		got = npu_min(got, len);
		memset(p, 0, (size_t)got);
		addr += got;
		len -= got;
	}
	return true;
}

bool npu_exec_mapped(struct npu_exec *x, const struct npu_operand *op)
{
	uint64_t addr = op->address;
	uint64_t left = op->size;
	unsigned int n = 0;

	while (left) {
		uint64_t len = left;

		if (!translate(x, addr, &len, op->access))
			return false;
		x->job->memory->put(x->job->memory->ctx);
		addr += len;
		left -= len;
		if (++n % WALK_POLL == 0 && npu_exec_stopped(x))
			return false;
	}
	return true;
}

const struct npu_operand *npu_operand_find(const struct npu_operand *op, unsigned int n,
					   const char *name)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!strcmp(op[i].name, name))
			return &op[i];
	return NULL;
}
