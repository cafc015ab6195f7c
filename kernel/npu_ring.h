/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_RING_H_
#define _NPU_RING_H_

#include <linux/ktime.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <drm/gpu_scheduler.h>

#include "npu_regs.h"

struct npu_client;
struct npu_device;
struct npu_job;

/**
 * struct npu_ring - one hardware queue
 * @npu: device
 * @id: NPU_RING_*
 * @sched: runs one job at a time
 * @entries: ring entries, host memory
 * @slots: completion slots, host memory
 * @stream: stream of the running job, host memory that user space never sees.
 *	One is enough because one job runs at a time
 * @entries_dma: bus address of @entries
 * @slots_dma: bus address of @slots
 * @stream_dma: bus address of @stream
 * @size: number of entries and of slots
 * @lock: protects the fields below against the interrupt handler
 * @job: job that the device has
 * @sequence: its number; goes on through resets
 * @tail: entries ever queued, as in the register
 * @broken: the device has said something impossible about @job, or has stopped
 * @start: when @job was given to the device
 * @busy_ns: time that jobs ran, added up when they end
 * @reset_seq: number of the last reset request; used on the reset workqueue only
 * @broken_work: resets the ring when it is @broken, without waiting for the
 *	time limit. drm_sched_fault() won't do: freeing an earlier job undoes it
 */
struct npu_ring {
	struct npu_device *npu;
	unsigned int id;
	struct drm_gpu_scheduler sched;
	struct npu_ring_entry *entries;
	struct npu_completion *slots;
	void *stream;
	dma_addr_t entries_dma;
	dma_addr_t slots_dma;
	dma_addr_t stream_dma;
	u32 size;

	spinlock_t lock;	/* job to busy_ns, against the interrupt handler */
	struct npu_job *job;
	u64 sequence;
	u32 tail;
	bool broken;
	ktime_t start;
	u64 busy_ns;

	u32 reset_seq;
	struct work_struct broken_work;
};

static inline struct npu_ring *to_npu_ring(struct drm_gpu_scheduler *sched)
{
	return container_of(sched, struct npu_ring, sched);
}

int npu_ring_init(struct npu_device *npu, unsigned int id);
void npu_ring_enable(struct npu_ring *ring);
void npu_ring_run(struct npu_ring *ring, struct npu_job *job);
bool npu_ring_process(struct npu_ring *ring);
void npu_ring_break(struct npu_ring *ring);
struct npu_job *npu_ring_take_job(struct npu_ring *ring);

u64 npu_ring_busy_ns(struct npu_ring *ring, struct npu_client *client);

const char *npu_ring_name(unsigned int id);
const char *npu_ring_engine(unsigned int id);

#endif
