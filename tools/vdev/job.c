// SPDX-License-Identifier: MIT
/* One ring entry: fetch, execute, record, completion slot. */
#include "vdev.h"

#include <endian.h>
#include <string.h>

/* What the fault rules say about one job. */
struct job_injection {
	bool hang;
	bool corrupt_walk;
	uint32_t slow_ms;
	uint32_t late_ms;
	struct fault_rule report, slot, write;
	bool has_report, has_slot, has_write;
};

struct job {
	struct ring *ring;
	struct npu_ring_entry entry;	/* native byte order */
	uint64_t slot;
	struct npu_result result;
	struct mmu_job mmu;
	struct job_injection inject;
	struct job_report *report;
};

static void inject_take(struct job *j)
{
	struct job_injection *in = &j->inject;
	struct ring *r = j->ring;
	struct faults *f = &r->vdev->faults;
	struct fault_rule hit;

	pthread_mutex_lock(&r->vdev->lock);
	in->hang = fault_take(f, FAULT_HANG, r->index, &hit);
	in->corrupt_walk = fault_take(f, FAULT_CORRUPT_WALK, r->index, &hit);
	if (fault_take(f, FAULT_SLOW, r->index, &hit))
		in->slow_ms = hit.ms;
	if (fault_take(f, FAULT_LATE_COMPLETION, r->index, &hit))
		in->late_ms = hit.ms;
	in->has_report = fault_take(f, FAULT_REPORT, r->index, &in->report);
	in->has_slot = fault_take(f, FAULT_CORRUPT_SLOT, r->index, &in->slot);
	in->has_write = fault_take(f, FAULT_LATE_WRITE, r->index, &in->write);
	j->report->drop_irq = fault_take(f, FAULT_DROP_IRQ, r->index, &hit);
	if (fault_take(f, FAULT_DELAY_IRQ, r->index, &hit))
		j->report->delay_irq_ms = hit.ms;
	pthread_mutex_unlock(&r->vdev->lock);
}

static void job_stop(struct job *j, uint32_t kind, uint64_t address)
{
	j->report->end = JOB_STOPPED;
	j->report->fault = kind;
	j->report->asid = j->entry.asid;
	j->report->fault_address = address;
}

/* Nothing of this job reaches memory any more; it ends when the ring is reset. */
static void job_hang(struct job *j)
{
	ring_wait(j->ring, RING_WAIT_FOREVER);
	j->report->end = JOB_CANCELLED;
}

/* Reports a failed access of the ring's own structures. False if all is well. */
static bool job_bus_failed(struct job *j, enum dma_status st, uint32_t kind, uint64_t address)
{
	if (st == DMA_OK)
		return false;
	if (st == DMA_OFF)
		job_hang(j);
	else
		job_stop(j, kind, address);
	return true;
}

static bool entry_read(struct job *j, uint64_t address)
{
	struct npu_ring_entry *e = &j->entry;
	enum dma_status st;
	uint32_t bad;

	st = dma_read(&j->ring->vdev->dma, address, e, sizeof(*e));
	if (job_bus_failed(j, st, NPU_FAULT_ENTRY, address))
		return false;
	e->sequence = le64toh(e->sequence);
	e->stream = le64toh(e->stream);
	e->stream_size = le32toh(e->stream_size);
	e->asid = le32toh(e->asid);
	e->root = le64toh(e->root);
	e->record = le64toh(e->record);
	bad = e->reserved[0] || e->reserved[1] || e->reserved[2] || e->stream % 8 ||
	      e->stream_size > NPU_STREAM_MAX || e->asid >= j->ring->vdev->opt.asids ||
	      e->root % NPU_PAGE_SIZE;
	if (bad) {
		job_stop(j, NPU_FAULT_ENTRY, address);
		return false;
	}
	return true;
}

static void result_device_fault(struct job *j, uint32_t kind, uint64_t address)
{
	j->result.status = NPU_STATUS_FAULT;
	j->result.rule = NPU_RULE_DEVICE;
	j->result.fault_address = 0;
	if (j->report->fault)
		return;
	j->report->fault = kind;
	j->report->asid = j->entry.asid;
	j->report->fault_address = address;
}

static void engine_run(struct job *j)
{
	struct ring *r = j->ring;
	const struct npu_memory memory = { mmu_translate, mmu_put, &j->mmu };
	const struct npu_engine_job run = {
		.stream = r->stream,
		.size = j->entry.stream_size,
		.ring = r->index,
		.memory = &memory,
		.cancel = &r->cancel,
		.clock = vdev_clock,
		.clock_ctx = r->vdev,
		.parallel = pool_run,
		.parallel_ctx = r->pool,
		.threads = r->vdev->opt.threads,
	};

	npu_engine_run(&run, &j->result);
}

/* Fetches and runs the stream. False if the job does not get as far as a completion. */
static bool job_execute(struct job *j)
{
	struct npu_result *res = &j->result;
	struct vdev *v = j->ring->vdev;
	enum dma_status st;

	memset(res, 0, sizeof(*res));
	res->first_nonfinite_block = NPU_NO_BLOCK;
	res->clock_start = vdev_clock(v);
	st = dma_read(&v->dma, j->entry.stream, j->ring->stream, j->entry.stream_size);
	if (st == DMA_OFF) {
		job_hang(j);
		return false;
	}
	if (st == DMA_OK)
		engine_run(j);
	else
		result_device_fault(j, NPU_FAULT_STREAM, j->entry.stream);
	if (j->inject.slow_ms)
		ring_wait(j->ring, j->inject.slow_ms);
	if (atomic_load(&j->ring->cancel)) {
		j->report->end = JOB_CANCELLED;
		return false;
	}
	if (atomic_load(&j->mmu.stuck)) {
		job_hang(j);
		return false;
	}
	if (atomic_load(&j->mmu.fault))
		result_device_fault(j, atomic_load(&j->mmu.fault),
				    atomic_load(&j->mmu.fault_address));
	else if (st == DMA_OK && res->status != NPU_STATUS_OK && res->status != NPU_STATUS_FAULT)
		result_device_fault(j, NPU_FAULT_STREAM, j->entry.stream);
	res->clock_end = vdev_clock(v);
	return true;
}

/* Like the engine's outputs: through the MMU, and it may straddle two pages. */
static uint32_t record_copy(struct job *j, uint64_t address, const void *data, uint64_t size)
{
	const uint8_t *p = data;

	while (size) {
		uint64_t n = size;
		uint32_t rule;
		void *host = mmu_translate(&j->mmu, address, &n, NPU_ACCESS_WRITE, &rule);

		if (!host)
			return rule;
		memcpy(host, p, n);
		mmu_put(&j->mmu);
		address += n;
		p += n;
		size -= n;
	}
	return 0;
}

static uint32_t record_status(struct job *j)
{
	uint64_t n = 4;
	uint32_t rule;
	void *host = mmu_translate(&j->mmu, j->entry.record, &n, NPU_ACCESS_WRITE, &rule);

	if (!host)
		return rule;
	atomic_store_explicit((_Atomic uint32_t *)host, htole32(j->result.status),
			      memory_order_release);
	mmu_put(&j->mmu);
	return 0;
}

static void result_to_le(struct npu_result *le, const struct npu_result *r)
{
	memset(le, 0, sizeof(*le));
	le->status = htole32(r->status);
	le->rule = htole32(r->rule);
	le->command = htole32(r->command);
	le->fault_address = htole64(r->fault_address);
	le->cycles = htole64(r->cycles);
	le->elements_in = htole64(r->elements_in);
	le->elements_out = htole64(r->elements_out);
	le->saturated = htole64(r->saturated);
	le->nonfinite_blocks = htole64(r->nonfinite_blocks);
	le->first_nonfinite_block = htole64(r->first_nonfinite_block);
	le->clock_start = htole64(r->clock_start);
	le->clock_end = htole64(r->clock_end);
}

/* False if the job hangs at it. */
static bool record_write(struct job *j)
{
	uint64_t at = j->entry.record;
	struct npu_result le;
	uint32_t rule = 0;

	if (!at)
		return true;
	result_to_le(&le, &j->result);
	if (at % 8 || at > (1ull << NPU_ADDRESS_BITS) - sizeof(le))
		rule = NPU_RULE_ADDRESS_RANGE;
	if (!rule)
		rule = record_copy(j, at + sizeof(le.status), &le.rule,
				   sizeof(le) - sizeof(le.status));
	if (!rule)
		rule = record_status(j);
	if (atomic_load(&j->mmu.stuck)) {
		job_hang(j);
		return false;
	}
	if (rule && j->result.status == NPU_STATUS_OK) {
		const struct npu_stream_header *h = j->ring->stream;

		j->result.status = NPU_STATUS_FAULT;
		j->result.rule = rule;
		j->result.command = le32toh(h->count);
		j->result.fault_address = at;
		if (atomic_load(&j->mmu.fault))
			result_device_fault(j, atomic_load(&j->mmu.fault),
					    atomic_load(&j->mmu.fault_address));
	}
	return true;
}

static void slot_corrupt(struct job *j, struct npu_completion *c)
{
	struct vdev *v = j->ring->vdev;
	uint32_t field = j->inject.slot.value;
	uint64_t x;

	pthread_mutex_lock(&v->lock);
	x = fault_random(&v->faults);
	pthread_mutex_unlock(&v->lock);
	/* the top bit, so that no random value makes sense by accident */
	x |= 1ull << 63 | 1ull << 31;
	if (field == FIELD_ALL || field == FIELD_SEQUENCE)
		c->sequence = x;
	if (field == FIELD_ALL || field == FIELD_STATUS)
		c->status = x;
	if (field == FIELD_ALL || field == FIELD_RULE)
		c->rule = x;
	if (field == FIELD_ALL || field == FIELD_COMMAND)
		c->command = x;
	if (field == FIELD_ALL || field == FIELD_ADDRESS)
		c->fault_address = x;
	if (field == FIELD_ALL || field == FIELD_CYCLES)
		c->cycles = x;
	if (field == FIELD_ALL || field == FIELD_CLOCK) {
		c->clock_start = x;
		c->clock_end = x >> 1;
	}
	if (field == FIELD_ALL || field == FIELD_RESERVED) {
		c->pad = x;
		c->reserved = x;
	}
}

static void slot_fill(const struct job *j, struct npu_completion *c)
{
	const struct npu_result *r = &j->result;

	memset(c, 0, sizeof(*c));
	c->sequence = htole64(j->entry.sequence);
	c->status = htole32(r->status);
	c->rule = htole32(r->rule);
	c->command = htole32(r->command);
	c->fault_address = htole64(r->fault_address);
	c->cycles = htole64(r->cycles);
	c->clock_start = htole64(r->clock_start);
	c->clock_end = htole64(r->clock_end);
}

static void slot_write(struct job *j)
{
	struct dma *dma = &j->ring->vdev->dma;
	struct npu_completion c;
	enum dma_status st;

	slot_fill(j, &c);
	if (j->inject.has_slot)
		slot_corrupt(j, &c);
	st = dma_write(dma, j->slot + sizeof(c.sequence), &c.status,
		       sizeof(c) - sizeof(c.sequence));
	if (st == DMA_OK)
		st = dma_write64(dma, j->slot, le64toh(c.sequence));
	if (!job_bus_failed(j, st, NPU_FAULT_SLOT, j->slot))
		j->report->end = JOB_DONE;
}

/* The job has run, says nothing, and writes after the reset that ends it. */
static void job_late_write(struct job *j)
{
	struct late_write late = {
		.armed = true,
		.ms = j->inject.write.ms,
		.times = j->inject.write.times,
		.slot = j->slot,
		.page = atomic_load(&j->mmu.last_write),
	};
	struct vdev *v = j->ring->vdev;
	uint64_t n = sizeof(struct npu_result);
	uint32_t rule;

	if (j->entry.record && mmu_translate(&j->mmu, j->entry.record, &n, NPU_ACCESS_WRITE,
					     &rule)) {
		mmu_put(&j->mmu);
		late.record = atomic_load(&j->mmu.last_write) + j->entry.record % NPU_PAGE_SIZE;
	}
	slot_fill(j, &late.completion);
	pthread_mutex_lock(&v->lock);
	j->ring->late = late;
	pthread_mutex_unlock(&v->lock);
	job_hang(j);
}

/* True if an injected device fault takes the job's place. */
static bool job_reported(struct job *j)
{
	uint32_t kind = j->inject.report.value;

	if (!j->inject.has_report)
		return false;
	if (kind != NPU_FAULT_STREAM && kind != NPU_FAULT_TABLE && kind != NPU_FAULT_DATA) {
		job_stop(j, kind, j->inject.report.address);
		return true;
	}
	memset(&j->result, 0, sizeof(j->result));
	j->result.first_nonfinite_block = NPU_NO_BLOCK;
	result_device_fault(j, kind, j->inject.report.address);
	return false;
}

void job_run(struct ring *r, uint64_t entry, uint64_t slot, struct job_report *report)
{
	struct job j = { .ring = r, .slot = slot, .report = report };

	if (!entry_read(&j, entry))
		return;
	inject_take(&j);
	j.mmu.ring = r;
	j.mmu.root = j.entry.root;
	j.mmu.asid = j.entry.asid;
	j.mmu.corrupt = j.inject.corrupt_walk;
	if (j.inject.hang) {
		job_hang(&j);
		return;
	}
	if (job_reported(&j))
		return;
	if (!j.inject.has_report && !job_execute(&j))
		return;
	if (j.inject.has_write) {
		job_late_write(&j);
		return;
	}
	if (!record_write(&j))
		return;
	if (j.inject.late_ms && ring_wait(r, j.inject.late_ms)) {
		report->end = JOB_CANCELLED;
		return;
	}
	report->failed = j.result.status != NPU_STATUS_OK;
	slot_write(&j);
}
