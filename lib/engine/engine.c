// SPDX-License-Identifier: MIT
/* Runs a stream: decodes, checks and executes one command after the other. */
#include <stdlib.h>
#include <string.h>

#include "exec.h"

void npu_exec_fault(struct npu_exec *x, uint32_t rule, uint64_t address)
{
	unsigned int none = NPU_STOP_NONE;

	if (!atomic_compare_exchange_strong(&x->stop, &none, NPU_STOP_FAULT))
		return;
	x->rule = rule;
	x->fault_address = address;
}

bool npu_exec_stopped(struct npu_exec *x)
{
	unsigned int none = NPU_STOP_NONE;

	if (atomic_load_explicit(&x->stop, memory_order_relaxed))
		return true;
	if (!x->job->cancel || !atomic_load_explicit(x->job->cancel, memory_order_relaxed))
		return false;
	atomic_compare_exchange_strong(&x->stop, &none, NPU_STOP_CANCELLED);
	return true;
}

void *npu_exec_scratch(struct npu_exec *x, unsigned int worker, size_t size)
{
	struct npu_scratch *s = &x->scratch[worker];

	if (s->size >= size)
		return s->buf;
	free(s->buf);
	s->size = 0;
	/* Kernels work faster on whole cache lines. */
	s->buf = aligned_alloc(64, (size + 63) & ~(size_t)63);
	if (!s->buf)
		npu_exec_fault(x, NPU_RULE_DEVICE, 0);
	else
		s->size = size;
	return s->buf;
}

struct tile_run {
	struct npu_exec *x;
	_Atomic uint64_t next;
	uint64_t count;
	npu_tile_fn *fn;
	void *ctx;
};

static void tile_worker(void *arg, unsigned int worker)
{
	struct tile_run *run = arg;

	while (!npu_exec_stopped(run->x)) {
		uint64_t tile = atomic_fetch_add(&run->next, 1);

		if (tile >= run->count)
			break;
		run->fn(run->x, worker, tile, run->ctx);
	}
}

void npu_exec_tiles(struct npu_exec *x, uint64_t n, npu_tile_fn *fn, void *ctx)
{
	const struct npu_engine_job *job = x->job;
	struct tile_run run = { .x = x, .count = n, .fn = fn, .ctx = ctx };
	unsigned int workers = (unsigned int)npu_min(npu_min(job->threads, NPU_MAX_WORKERS), n);

	if (workers <= 1 || !job->parallel)
		tile_worker(&run, 0);
	else
		job->parallel(job->parallel_ctx, workers, tile_worker, &run);
}

static void exec_lut_load(struct npu_exec *x, const struct npu_cmd_lut_load *cmd,
			  const struct npu_operand *op)
{
	struct npu_window w;
	void *table = malloc((size_t)op->size);

	if (!table) {
		npu_exec_fault(x, NPU_RULE_DEVICE, 0);
		return;
	}
	npu_window_open(&w, x, op, op->size);
	npu_window_read(&w, op->address, table, op->size);
	npu_window_close(&w);
	free(x->lut[cmd->slot]);
	x->lut[cmd->slot] = table;
}

static void exec_command(struct npu_exec *x, const struct npu_cmd *cmd,
			 const struct npu_operand *op, unsigned int n)
{
	const struct npu_cmd_const_set *set = (const struct npu_cmd_const_set *)cmd;

	switch (cmd->opcode) {
	case NPU_OP_FETCH:
		npu_exec_fetch(x, (const struct npu_cmd_fetch *)cmd, op, n);
		break;
	case NPU_OP_PREPROCESS:
		npu_exec_preprocess(x, (const struct npu_cmd_preprocess *)cmd, op, n);
		break;
	case NPU_OP_LUT_LOAD:
		exec_lut_load(x, (const struct npu_cmd_lut_load *)cmd, op);
		break;
	case NPU_OP_CONST_SET:
		x->constant[set->slot] = set->value;
		break;
	case NPU_OP_FMAP_READ:
		npu_exec_fmap_read(x, (const struct npu_cmd_fmap_read *)cmd, op, n);
		break;
	}
}

/* Commands are complete when the next one is looked at, so that BARRIER has nothing to do. */
static bool run_command(struct npu_exec *x, const struct npu_cmd *cmd)
{
	struct npu_operand op[NPU_MAX_OPERANDS];
	uint64_t address = 0;
	unsigned int i, n;
	uint32_t rule;

	rule = npu_check_static(&x->check, cmd);
	if (rule) {
		npu_exec_fault(x, rule, 0);
		return false;
	}
	n = npu_operands_at(cmd, op, &rule, &address);
	if (rule) {
		npu_exec_fault(x, rule, address);
		return false;
	}
	for (i = 0; i < n; i++)
		if (!npu_exec_mapped(x, &op[i]))
			return false;
	exec_command(x, cmd, op, n);
	if (atomic_load(&x->stop))
		return false;
	npu_check_commit(&x->check, cmd);
	return true;
}

static void run_stream(struct npu_exec *x)
{
	const struct npu_engine_job *job = x->job;
	const struct npu_stream_header *header = job->stream;
	uint32_t pos = sizeof(*header);
	uint32_t rule, i;

	rule = npu_check_header(job->stream, job->size);
	if (rule) {
		npu_exec_fault(x, rule, 0);
		return;
	}
	for (i = 0; i < header->count; i++) {
		const struct npu_cmd *cmd = (const void *)((const uint8_t *)job->stream + pos);

		x->result->command = i;
		if (npu_exec_stopped(x))
			return;
		rule = npu_check_next(job->stream, job->size, pos);
		if (rule) {
			npu_exec_fault(x, rule, 0);
			return;
		}
		if (!run_command(x, cmd))
			return;
		pos += cmd->size;
	}
	x->result->command = i;
	if (pos != job->size)
		npu_exec_fault(x, NPU_RULE_STREAM_COUNT, 0);
}

static uint64_t now(const struct npu_engine_job *job)
{
	return job->clock ? job->clock(job->clock_ctx) : 0;
}

void npu_engine_run(const struct npu_engine_job *job, struct npu_result *result)
{
	struct npu_exec *x = malloc(sizeof(*x));
	unsigned int stop, i;

	memset(result, 0, sizeof(*result));
	result->first_nonfinite_block = NPU_NO_BLOCK;
	result->clock_start = now(job);
	if (!x) {
		result->rule = NPU_RULE_DEVICE;
		result->clock_end = now(job);
		result->status = NPU_STATUS_FAULT;
		return;
	}
	memset(x, 0, offsetof(struct npu_exec, constant));
	x->job = job;
	x->result = result;
	x->kern = npu_kern_get();
	npu_check_init(&x->check, job->ring);
	run_stream(x);

	stop = atomic_load(&x->stop);
	if (stop == NPU_STOP_FAULT) {
		result->rule = x->rule;
		result->fault_address = x->fault_address;
	} else if (stop == NPU_STOP_NONE) {
		result->command = 0;
	}
	for (i = 0; i < NPU_MAX_WORKERS; i++)
		free(x->scratch[i].buf);
	for (i = 0; i < NPU_LUT_SLOTS; i++)
		free(x->lut[i]);
	free(x);
	result->clock_end = now(job);
	result->status = stop == NPU_STOP_FAULT ? NPU_STATUS_FAULT :
			 stop == NPU_STOP_CANCELLED ? NPU_STATUS_CANCELLED : NPU_STATUS_OK;
}
