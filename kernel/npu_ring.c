// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings: how jobs get to the device and what it says about them.
 */
#include <linux/dma-mapping.h>
#include <drm/drm_managed.h>

#include "npu_compat.h"
#include "npu_drv.h"
#include "npu_job.h"
#include "npu_reset.h"
#include "npu_ring.h"

#define NPU_RING_ENTRIES	64u

/* Also what fences call their timelines, so: never freed. */
static const char * const npu_ring_names[] = {
	[NPU_RING_FETCH_MAIN] = NPU_NAME "-fetch-main",
	[NPU_RING_FETCH_SUB] = NPU_NAME "-fetch-sub",
	[NPU_RING_PREPROCESS] = NPU_NAME "-preprocess",
};

/* Name of scheduler and interrupt. */
const char *npu_ring_name(unsigned int id)
{
	return npu_ring_names[id];
}

/* Name of the engine in fdinfo, sysfs and debugfs: without the driver's. */
const char *npu_ring_engine(unsigned int id)
{
	return npu_ring_names[id] + strlen(NPU_NAME "-");
}

static void npu_ring_write(struct npu_ring *ring, u32 reg, u32 value)
{
	npu_write(ring->npu, NPU_RING(ring->id, reg), value);
}

static void npu_ring_sched_fini(struct drm_device *drm, void *data)
{
	drm_sched_fini(data);
}

int npu_ring_init(struct npu_device *npu, unsigned int id)
{
	struct npu_ring *ring = &npu->rings[id];
	struct device *dev = npu->drm.dev;
	int ret;

	BUILD_BUG_ON(sizeof(struct npu_ring_entry) != NPU_RING_ENTRY_SIZE);
	BUILD_BUG_ON(sizeof(struct npu_completion) != NPU_COMPLETION_SIZE);
	BUILD_BUG_ON(ARRAY_SIZE(npu_ring_names) != NPU_RING_COUNT);

	ring->npu = npu;
	ring->id = id;
	ring->size = min(NPU_RING_ENTRIES, npu->caps.ring_max);
	spin_lock_init(&ring->lock);
	INIT_WORK(&ring->broken_work, npu_reset_broken_work);

	ring->entries = dmam_alloc_coherent(dev, ring->size * sizeof(*ring->entries),
					    &ring->entries_dma, GFP_KERNEL);
	ring->slots = dmam_alloc_coherent(dev, ring->size * sizeof(*ring->slots),
					  &ring->slots_dma, GFP_KERNEL);
	ring->stream = dmam_alloc_coherent(dev, npu->caps.stream_max, &ring->stream_dma,
					   GFP_KERNEL);
	if (!ring->entries || !ring->slots || !ring->stream)
		return -ENOMEM;

	ret = npu_sched_init(&ring->sched, &npu_job_sched_ops, npu->reset_wq,
			     msecs_to_jiffies(npu->timeout_ms), npu_ring_names[id], dev);
	if (ret)
		return ret;

	return drmm_add_action_or_reset(&npu->drm, npu_ring_sched_fini, &ring->sched);
}

/* Tells the device about the ring, which must be empty. */
void npu_ring_enable(struct npu_ring *ring)
{
	scoped_guard(spinlock_irq, &ring->lock) {
		ring->tail = 0;
		ring->broken = false;
	}
	npu_ring_write(ring, NPU_REG_RING_BASE_LO, lower_32_bits(ring->entries_dma));
	npu_ring_write(ring, NPU_REG_RING_BASE_HI, upper_32_bits(ring->entries_dma));
	npu_ring_write(ring, NPU_REG_RING_SLOTS_LO, lower_32_bits(ring->slots_dma));
	npu_ring_write(ring, NPU_REG_RING_SLOTS_HI, upper_32_bits(ring->slots_dma));
	npu_ring_write(ring, NPU_REG_RING_SIZE, ring->size);
	npu_ring_write(ring, NPU_REG_RING_CONTROL, NPU_RING_CONTROL_ENABLE);
}

/* Gives @job to the device. The scheduler has seen to it that the ring is idle. */
void npu_ring_run(struct npu_ring *ring, struct npu_job *job)
{
	struct npu_ring_entry *entry;
	struct npu_vm *vm = npu_job_vm(job);
	u64 root = npu_vm_root(vm);
	u32 i;

	memcpy(ring->stream, job->stream, job->size);

	spin_lock_irq(&ring->lock);
	i = ring->tail & (ring->size - 1);
	entry = &ring->entries[i];
	entry->sequence = cpu_to_le64(++ring->sequence);
	entry->stream = cpu_to_le64(ring->stream_dma);
	entry->stream_size = cpu_to_le32(job->size);
	entry->asid = cpu_to_le32(root ? vm->asid : 0);
	entry->root = cpu_to_le64(root);
	entry->record = cpu_to_le64(job->record);
	memset(&ring->slots[i], 0, sizeof(ring->slots[i]));

	ring->job = job;
	ring->start = ktime_get();
	ring->tail++;
	spin_unlock_irq(&ring->lock);

	/*
	 * writel() orders all of this before the doorbell. It is outside of the
	 * lock, which an interrupt handler must not wait for that long.
	 */
	npu_ring_write(ring, NPU_REG_RING_TAIL, ring->tail);
}

/* The device may write anything: what it says becomes numbers within bounds. */
static bool npu_completion_valid(const struct npu_job *job, const struct npu_completion *c)
{
	u32 status = le32_to_cpu(c->status);
	u32 rule = le32_to_cpu(c->rule);

	if (status == NPU_STATUS_OK ? rule != NPU_RULE_NONE :
	    status != NPU_STATUS_FAULT || rule == NPU_RULE_NONE)
		return false;

	return rule < NPU_RULE_COUNT && rule != NPU_RULE_HANG &&
	       le32_to_cpu(c->command) <= job->size / sizeof(struct npu_cmd) &&
	       le64_to_cpu(c->clock_end) >= le64_to_cpu(c->clock_start);
}

static u64 npu_ring_elapsed_ns(struct npu_ring *ring)
{
	return ktime_to_ns(ktime_sub(ktime_get(), ring->start));
}

/* The job is no longer the device's. Returns how long it was. */
static u64 npu_ring_clear_job_locked(struct npu_ring *ring)
{
	u64 busy = npu_ring_elapsed_ns(ring);

	lockdep_assert_held(&ring->lock);
	ring->busy_ns += busy;
	ring->job->queue->client->busy_ns[ring->id] += busy;
	ring->job = NULL;

	return busy;
}

/* Time that jobs of a client, or of all, have run until now. */
u64 npu_ring_busy_ns(struct npu_ring *ring, struct npu_client *client)
{
	u64 busy;

	scoped_guard(spinlock_irq, &ring->lock) {
		busy = client ? client->busy_ns[ring->id] : ring->busy_ns;
		if (ring->job && (!client || ring->job->queue->client == client))
			busy += npu_ring_elapsed_ns(ring);
	}

	return busy;
}

/* Has the running job ended? If so, ends it. May run anywhere; true if it has. */
bool npu_ring_process(struct npu_ring *ring)
{
	struct npu_completion c;
	struct npu_job *job;
	u64 busy;

	scoped_guard(spinlock_irqsave, &ring->lock) {
		struct npu_completion *slot = &ring->slots[(ring->tail - 1) & (ring->size - 1)];

		job = ring->job;
		if (!job || ring->broken ||
		    le64_to_cpu(READ_ONCE(slot->sequence)) != ring->sequence)
			return false;
		dma_rmb();
		c = *slot;
		if (!npu_completion_valid(job, &c)) {
			ring->broken = true;
			queue_work(ring->npu->reset_wq, &ring->broken_work);
			return true;
		}
		busy = npu_ring_clear_job_locked(ring);
	}

	npu_job_complete(job, &c, busy);

	return true;
}

/* The device has reported a fault that lets no job end any more. */
void npu_ring_break(struct npu_ring *ring)
{
	scoped_guard(spinlock_irqsave, &ring->lock) {
		ring->broken = true;
		queue_work(ring->npu->reset_wq, &ring->broken_work);
	}
}

/* After a reset: the job that the device had, if it didn't complete. */
struct npu_job *npu_ring_take_job(struct npu_ring *ring)
{
	struct npu_job *job;

	scoped_guard(spinlock_irq, &ring->lock) {
		job = ring->job;
		ring->broken = false;
		if (job)
			npu_ring_clear_job_locked(ring);
	}

	return job;
}
