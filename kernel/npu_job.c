// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs, from the scheduler to their end. Every job that the device got ends by
 * its hardware fence, once; nothing is ever run twice.
 */
#include <linux/slab.h>
#include <drm/drm_gem.h>

#include "npu_compat.h"
#include "npu_drv.h"
#include "npu_job.h"
#include "npu_reset.h"
#include "npu_trace.h"

struct npu_job *npu_job_create(struct npu_queue *queue, struct drm_file *file)
{
	struct npu_job *job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	int ret = -ENOMEM;

	if (!job)
		return ERR_PTR(ret);
	job->fence = npu_fence_create(queue->client->npu);
	if (!job->fence)
		goto err_free;
	ret = npu_sched_job_init(&job->base, &queue->entity, file);
	if (ret)
		goto err_fence;
	job->queue = npu_queue_get(queue);

	return job;

err_fence:
	dma_fence_put(&job->fence->base);
err_free:
	kfree(job);
	return ERR_PTR(ret);
}

static void npu_job_release(struct npu_job *job)
{
	for (u32 i = 0; i < job->bo_count; i++)
		drm_gem_object_put(job->bos[i]);
	kvfree(job->bos);
	kvfree(job->stream);
	npu_queue_put(job->queue);
	/* Last: it keeps the device. */
	dma_fence_put(&job->fence->base);
	kfree(job);
}

static void npu_job_release_work(struct work_struct *work)
{
	npu_job_release(container_of(work, struct npu_job, release_work));
}

/* Undoes npu_job_create() for a job that was not armed. */
void npu_job_abort(struct npu_job *job)
{
	drm_sched_job_cleanup(&job->base);
	npu_job_release(job);
}

struct npu_vm *npu_job_vm(struct npu_job *job)
{
	return &job->queue->client->vm;
}

/* Before the job's fence signals: who has seen it may submit another one. */
static void npu_job_uncount(struct npu_job *job)
{
	if (!job->counted)
		return;
	job->counted = false;
	atomic_dec(&job->queue->in_flight);
}

/* The device is done with the job, and the caller is the only one who ends it. */
void npu_job_end(struct npu_job *job, int error)
{
	struct npu_fence *fence = job->fence;

	dma_fence_get(&fence->base);
	npu_vm_idle(npu_job_vm(job));
	npu_job_uncount(job);
	/* The scheduler may free the job from here on. */
	npu_fence_signal(fence, error);
	dma_fence_put(&fence->base);
}

/* May run in an interrupt handler. */
void npu_job_complete(struct npu_job *job, const struct npu_completion *c, u64 busy_ns)
{
	int error = 0;

	trace_npu_job_done(job, c, busy_ns);
	if (le32_to_cpu(c->status) == NPU_STATUS_FAULT) {
		const struct npu_fault fault = {
			.rule = le32_to_cpu(c->rule),
			.command = le32_to_cpu(c->command),
			.address = le64_to_cpu(c->fault_address),
			.job = job->number,
		};

		npu_queue_set_fault(job->queue, &fault);
		error = -EFAULT;
	}
	npu_job_end(job, error);
}

/* The job was stopped by a reset that it is to blame for. */
void npu_job_hang(struct npu_job *job, u32 rule)
{
	const struct npu_fault fault = { .rule = rule, .job = job->number };

	npu_queue_set_fault(job->queue, &fault);
	npu_job_end(job, -ETIMEDOUT);
}

static struct dma_fence *npu_job_run(struct drm_sched_job *sched_job)
{
	struct npu_job *job = to_npu_job(sched_job);
	struct npu_device *npu = job->queue->client->npu;
	struct dma_fence *fence = NULL;
	bool cookie;
	int error = -ENODEV;
	int idx;

	cookie = dma_fence_begin_signalling();
	if (npu_queue_faulted(job->queue)) {
		error = -ECANCELED;
	} else if (!npu_wedged(npu) && drm_dev_enter(&npu->drm, &idx)) {
		fence = dma_fence_get(&job->fence->base);
		trace_npu_job_run(job);
		npu_vm_busy(npu_job_vm(job));
		npu_ring_run(job->queue->ring, job);
		drm_dev_exit(idx);
	}
	if (!fence)
		npu_job_uncount(job);
	dma_fence_end_signalling(cookie);

	return fence ?: ERR_PTR(error);
}

static enum drm_gpu_sched_stat npu_job_timedout(struct drm_sched_job *sched_job)
{
	npu_reset_hung(to_npu_ring(sched_job->sched));

	return npu_sched_job_return(sched_job);
}

static void npu_job_free(struct drm_sched_job *sched_job)
{
	struct npu_job *job = to_npu_job(sched_job);
	struct drm_sched_fence *s_fence = sched_job->s_fence;

	npu_job_uncount(job);
	/*
	 * Others may keep the scheduler's fence, which points to the scheduler.
	 * A hardware fence as its parent keeps the device, hence the scheduler,
	 * also if this job never got as far as to have one.
	 */
	if (!s_fence->parent) {
		npu_fence_signal(job->fence, -ECANCELED);
		/* As the scheduler would set it, for its set_deadline(). */
		smp_store_release(&s_fence->parent, dma_fence_get(&job->fence->base));
	}
	drm_sched_job_cleanup(sched_job);

	/*
	 * What runs jobs also frees them: taking a lock here that somebody holds
	 * while waiting for a job would be a deadlock.
	 */
	INIT_WORK(&job->release_work, npu_job_release_work);
	queue_work(npu_release_wq, &job->release_work);
}

const struct drm_sched_backend_ops npu_job_sched_ops = {
	.run_job = npu_job_run,
	.timedout_job = npu_job_timedout,
	.free_job = npu_job_free,
};
