// SPDX-License-Identifier: GPL-2.0-only
/*
 * Core dump of a hang: what the ring said, and the job with its stream, in text.
 * It is taken where nothing may be allocated, into memory made at probe, and
 * handed out by a work item. While one is on its way others are not taken.
 */
#include <linux/devcoredump.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_managed.h>

#include "npu_coredump.h"
#include "npu_drv.h"
#include "npu_job.h"

/**
 * struct npu_coredump - a snapshot
 * @npu: device
 * @work: hands it out
 * @full: valid and not yet handed out
 * @time: when it was taken
 * @rule: NPU_RULE_HANG or NPU_RULE_DEVICE
 * @ring: NPU_RING_*
 * @head: register
 * @tail: register
 * @status: register
 * @fault: register FAULT_STATUS
 * @asid: of the job's address space
 * @size: bytes of @stream
 * @sequence: number of the job on its ring
 * @queue: fence context of the queue
 * @job: number of the job in the queue
 * @record: device address of the result record
 * @stream: the job's
 */
struct npu_coredump {
	struct npu_device *npu;
	struct work_struct work;
	bool full;
	ktime_t time;
	u32 rule;
	u32 ring;
	u32 head;
	u32 tail;
	u32 status;
	u32 fault;
	u32 asid;
	u32 size;
	u64 sequence;
	u64 queue;
	u64 job;
	u64 record;
	u64 stream[NPU_STREAM_MAX / sizeof(u64)];
};

static void npu_coredump_print(struct npu_coredump *dump, struct drm_printer *p)
{
	drm_printf(p, "npu coredump 1\n");
	drm_printf(p, "time: %lld\n", ktime_to_ns(dump->time));
	drm_printf(p, "rule: %u\n", dump->rule);
	drm_printf(p, "ring: %s head %u tail %u status %#x fault %#x\n",
		   npu_ring_engine(dump->ring), dump->head, dump->tail, dump->status, dump->fault);
	drm_printf(p, "job: %llu of queue %llu, sequence %llu, asid %u, record %#llx\n", dump->job,
		   dump->queue, dump->sequence, dump->asid, dump->record);
	drm_printf(p, "stream: %u bytes\n", dump->size);
	for (u32 i = 0; i < dump->size / sizeof(u64); i++)
		drm_printf(p, "%#06zx: %#018llx\n", i * sizeof(u64), dump->stream[i]);
}

static ssize_t npu_coredump_text(struct npu_coredump *dump, char *text, size_t size)
{
	struct drm_print_iterator iter = { .data = text, .remain = size };
	struct drm_printer p = drm_coredump_printer(&iter);

	npu_coredump_print(dump, &p);

	return size - iter.remain;
}

static void npu_coredump_work(struct work_struct *work)
{
	struct npu_coredump *dump = container_of(work, struct npu_coredump, work);
	/* A line a word, and a few more lines of at most 128. */
	size_t size = dump->size / sizeof(u64) * 32 + 1024;
	char *text = vmalloc(size);

	/* devcoredump frees it, in some minutes or when told so. */
	if (text)
		dev_coredumpv(dump->npu->drm.dev, text, npu_coredump_text(dump, text, size),
			      GFP_KERNEL);
	/* Pairs with npu_coredump_take(). */
	smp_store_release(&dump->full, false);
}

/* On the reset workqueue, before the ring is reset. */
void npu_coredump_take(struct npu_ring *ring, struct npu_job *job, u32 rule)
{
	struct npu_device *npu = ring->npu;
	struct npu_coredump *dump = npu->coredump;

	/* Pairs with the end of npu_coredump_work(). */
	if (smp_load_acquire(&dump->full))
		return;

	dump->time = ktime_get_boottime();
	dump->rule = rule;
	dump->ring = ring->id;
	dump->head = npu_read(npu, NPU_RING(ring->id, NPU_REG_RING_HEAD));
	dump->tail = npu_read(npu, NPU_RING(ring->id, NPU_REG_RING_TAIL));
	dump->status = npu_read(npu, NPU_RING(ring->id, NPU_REG_RING_STATUS));
	dump->fault = npu_read(npu, NPU_REG_FAULT_STATUS);
	dump->asid = npu_vm_root(npu_job_vm(job)) ? npu_job_vm(job)->asid : 0;
	dump->sequence = ring->sequence;
	dump->queue = job->queue->entity.fence_context;
	dump->job = job->number;
	dump->record = job->record;
	dump->size = job->size;
	memcpy(dump->stream, job->stream, job->size);
	dump->full = true;
	schedule_work(&dump->work);
}

static void npu_coredump_free(struct drm_device *drm, void *dump)
{
	vfree(dump);
}

int npu_coredump_init(struct npu_device *npu)
{
	npu->coredump = vzalloc(sizeof(*npu->coredump));
	if (!npu->coredump)
		return -ENOMEM;
	npu->coredump->npu = npu;
	INIT_WORK(&npu->coredump->work, npu_coredump_work);

	return drmm_add_action_or_reset(&npu->drm, npu_coredump_free, npu->coredump);
}

void npu_coredump_fini(struct npu_device *npu)
{
	cancel_work_sync(&npu->coredump->work);
}
