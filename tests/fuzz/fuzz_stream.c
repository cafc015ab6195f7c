// SPDX-License-Identifier: MIT
/*
 * Any bytes as a command stream: decoded, checked and run in a small address
 * space of permuted pages. The first byte chooses the ring and how much is put
 * right before (header and sizes, addresses, nests), so that the fuzzer gets
 * past the first checks and the unrepaired bytes are tried as well.
 *
 * The device must agree with the checker, write nothing but outputs, and end
 * with a whole record; a budget of translations cancels what would run on.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#define PAGES		48u
#define PAGE		NPU_PAGE_SIZE
#define BASE		0x10000ull
#define RO_PAGES	4u		/* the last ones */
#define BUDGET		3000u

#define FIX_FRAME	4u
#define FIX_ADDRESS	8u
#define FIX_NEST	16u
#define THREADS		32u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t pool[PAGES][PAGE] __attribute__((aligned(64)));
static unsigned int budget;
static int held;
static atomic_uint cancel;

static void expect(int truth)
{
	if (!truth)
		abort();
}

static void *translate(void *ctx, uint64_t addr, uint64_t *len, enum npu_access access,
		       uint32_t *rule)
{
	uint64_t page = (addr - BASE) / PAGE;
	uint64_t room = PAGE - addr % PAGE;

	expect(*len > 0 && addr >= PAGE && addr + *len <= 1ull << NPU_ADDRESS_BITS);
	if (budget && !--budget)
		atomic_store(&cancel, 1);
	if (addr < BASE || page >= PAGES || page == PAGES / 2) {
		*rule = NPU_RULE_ADDRESS_UNMAPPED;
		return NULL;
	}
	if (access == NPU_ACCESS_WRITE && page >= PAGES - RO_PAGES) {
		*rule = NPU_RULE_ADDRESS_READONLY;
		return NULL;
	}
	if (*len > room)
		*len = room;
	held++;
	/* neighbours are never neighbours */
	return pool[page * 5 % PAGES] + addr % PAGE;
}

static void put(void *ctx)
{
	expect(--held >= 0);
}

static void serial(void *ctx, unsigned int n, void (*fn)(void *arg, unsigned int i), void *arg)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		fn(arg, i);
}

static void fix_address(__u64 *addr)
{
	if (*addr)
		*addr = BASE + *addr % ((PAGES + 1) * PAGE);
}

/* Small nests with a legal read size. */
static void fix_nest(struct npu_cmd_fetch *f)
{
	struct npu_fetch_plan plan;
	unsigned int i;

	f->loop_count %= NPU_MAX_LOOPS + 1;
	for (i = 0; i < NPU_MAX_LOOPS; i++) {
		if (i >= f->loop_count) {
			f->size[i] = 0;
			f->stride[i] = 0;
			continue;
		}
		f->size[i] = f->size[i] % 40 + 1;
		f->stride[i] %= 512;
	}
	f->offset %= 4096;
	f->packet_size %= 512;
	f->read_size = 0;
	if (!npu_fetch_plan(f, NPU_RING_FETCH_MAIN, &plan)) {
		f->read_size = plan.read_size;
		if (f->sink == NPU_SINK_CONTRACT && f->k)
			f->m = (uint32_t)(plan.elements / f->k);
	}
}

static void fix_command(struct npu_cmd *cmd, unsigned int how)
{
	struct npu_cmd_fetch *f = (void *)cmd;
	struct npu_cmd_preprocess *p = (void *)cmd;
	struct npu_cmd_fmap_read *r = (void *)cmd;

	if (how & FIX_ADDRESS) {
		switch (cmd->opcode) {
		case NPU_OP_FETCH:
			fix_address(&f->src);
			fix_address(&f->src2);
			fix_address(&f->dst);
			fix_address(&f->weight);
			break;
		case NPU_OP_PREPROCESS:
			fix_address(&p->src);
			fix_address(&p->dst);
			fix_address(&p->emax);
			fix_address(&p->exponents);
			fix_address(&p->scales);
			break;
		case NPU_OP_FMAP_READ:
			fix_address(&r->dst);
			fix_address(&r->emax);
			fix_address(&r->exponents);
			break;
		case NPU_OP_LUT_LOAD:
			fix_address(&((struct npu_cmd_lut_load *)cmd)->address);
			break;
		}
	}
	if ((how & FIX_NEST) && cmd->opcode == NPU_OP_FETCH)
		fix_nest(f);
	if ((how & FIX_NEST) && cmd->opcode == NPU_OP_PREPROCESS) {
		p->rows %= 70;
		p->cols %= 300;
	}
}

/* Makes a frame of whatever commands there are. */
static uint32_t fix_stream(uint8_t *stream, uint32_t size, unsigned int how)
{
	struct npu_stream_header *header = (void *)stream;
	uint32_t pos = sizeof(*header);

	if (size < pos)
		return size;
	header->magic = NPU_STREAM_MAGIC;
	header->major = NPU_ISA_MAJOR;
	header->minor = NPU_ISA_MINOR;
	header->count = 0;
	while (pos + sizeof(struct npu_cmd) <= size) {
		struct npu_cmd *cmd = (void *)(stream + pos);

		cmd->opcode = cmd->opcode % NPU_OP_FMAP_READ + 1;
		cmd->size = (uint16_t)npu_op_size(cmd->opcode);
		if (cmd->size > size - pos)
			break;
		fix_command(cmd, how);
		header->count++;
		pos += cmd->size;
	}
	header->size = pos;
	return pos;
}

static void check_result(const struct npu_result *r, uint32_t rule, uint32_t command)
{
	expect(held == 0);
	expect(r->status == NPU_STATUS_OK || r->status == NPU_STATUS_FAULT ||
	       r->status == NPU_STATUS_CANCELLED);
	expect(r->status == NPU_STATUS_FAULT ? npu_rule_name(r->rule) != NULL : !r->rule);
	expect(!r->pad && !r->reserved[0] && !r->reserved[4]);
	expect(r->first_nonfinite_block == NPU_NO_BLOCK || r->nonfinite_blocks);
	if (r->status == NPU_STATUS_OK)
		expect(!rule);
	if (r->rule == NPU_RULE_ADDRESS_UNMAPPED || r->rule == NPU_RULE_ADDRESS_READONLY)
		expect(r->fault_address >= PAGE);
	else if (r->status == NPU_STATUS_FAULT && r->command == command)
		expect(r->rule == rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t buf[(NPU_STREAM_MAX + 64) / 8];
	static uint8_t readonly[RO_PAGES][PAGE];
	struct npu_memory memory = { translate, put, NULL };
	uint32_t stream_size, rule, command = 0, i;
	struct npu_engine_job job = { .stream = buf, .memory = &memory, .cancel = &cancel };
	struct npu_result result;
	unsigned int how;

	if (!size || size > NPU_STREAM_MAX)
		return 0;
	how = data[0];
	stream_size = (uint32_t)size - 1;
	memcpy(buf, data + 1, stream_size);
	if (how & FIX_FRAME)
		stream_size = fix_stream((uint8_t *)buf, stream_size, how);
	for (i = 0; i < PAGES; i++)
		memset(pool[i], (int)(i * 29), PAGE);
	for (i = 0; i < RO_PAGES; i++)
		memcpy(readonly[i], pool[(PAGES - RO_PAGES + i) * 5 % PAGES], PAGE);
	atomic_store(&cancel, 0);
	budget = BUDGET;
	job.ring = how % 4;
	job.size = stream_size;
	job.threads = how & THREADS ? 3 : 1;
	job.parallel = serial;
	rule = npu_check_stream(buf, stream_size, job.ring, &command);
	memset(&result, 0xa5, sizeof(result));
	npu_engine_run(&job, &result);
	check_result(&result, rule, command);
	for (i = 0; i < RO_PAGES; i++)
		expect(!memcmp(readonly[i], pool[(PAGES - RO_PAGES + i) * 5 % PAGES], PAGE));
	return 0;
}
