/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_JOB_H_
#define _NPU_JOB_H_

#include <linux/workqueue.h>
#include <drm/gpu_scheduler.h>

#include "npu_fence.h"
#include "npu_queue.h"
#include "npu_regs.h"

struct drm_gem_object;
struct npu_client;
struct npu_vm;

/**
 * struct npu_job - one stream on its way through queue and ring
 * @base: scheduler's side
 * @queue: a reference, and by it the address space
 * @fence: hardware fence, a reference
 * @stream: copy of the user's stream
 * @size: bytes of @stream
 * @record: device address of the result record, or 0
 * @number: number in its queue
 * @counted: counts in &npu_queue.in_flight
 * @bos: BOs that the jobs of one SUBMIT list, references; the last job, which
 *	ends last, has them
 * @bo_count: number of @bos
 * @release_work: frees all that where sleeping and locking are allowed
 */
struct npu_job {
	struct drm_sched_job base;
	struct npu_queue *queue;
	struct npu_fence *fence;
	void *stream;
	u32 size;
	u64 record;
	u64 number;
	bool counted;
	struct drm_gem_object **bos;
	u32 bo_count;
	struct work_struct release_work;
};

static inline struct npu_job *to_npu_job(struct drm_sched_job *base)
{
	return container_of(base, struct npu_job, base);
}

struct npu_job *npu_job_create(struct npu_queue *queue, struct drm_file *file);
void npu_job_abort(struct npu_job *job);
struct npu_vm *npu_job_vm(struct npu_job *job);
void npu_job_complete(struct npu_job *job, const struct npu_completion *c, u64 busy_ns);
void npu_job_hang(struct npu_job *job, u32 rule);
void npu_job_end(struct npu_job *job, int error);

extern const struct drm_sched_backend_ops npu_job_sched_ops;

#endif
