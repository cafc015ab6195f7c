// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT: everything that may fail comes first, then jobs are armed and pushed.
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_exec.h>
#include <drm/drm_gem.h>
#include <drm/drm_syncobj.h>

#include "npu_drv.h"
#include "npu_job.h"
#include "npu_queue.h"
#include "npu_submit.h"
#include "npu_trace.h"

/**
 * struct npu_out_sync - a syncobj to be signalled
 * @syncobj: a reference
 * @chain: preallocated for a timeline point, else NULL
 * @point: timeline point
 */
struct npu_out_sync {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
};

/**
 * struct npu_submit - a SUBMIT being built
 * @args: its arguments
 * @file: caller's file
 * @queue: a reference
 * @jobs: made so far, none of them armed
 * @job_count: number of @jobs
 * @bo_args: copy of the user's list
 * @bos: references. Kept until the locks are gone: a last reference must not
 *	be dropped under a reservation lock
 * @job_bos: the same, with references of its own, for the last job
 * @bo_count: number of @bos
 * @outs: out-syncs looked up so far
 * @out_count: number of @outs
 * @exec: locks of the BOs
 */
struct npu_submit {
	const struct drm_npu_submit *args;
	struct drm_file *file;
	struct npu_queue *queue;
	struct npu_job **jobs;
	u32 job_count;
	struct drm_npu_submit_bo *bo_args;
	struct drm_gem_object **bos;
	struct drm_gem_object **job_bos;
	u32 bo_count;
	struct npu_out_sync *outs;
	u32 out_count;
	struct drm_exec exec;
};

static bool npu_stride_valid(u32 count, u32 stride, size_t size)
{
	if (!count)
		return !stride;

	return stride >= size && stride <= NPU_MAX_STRIDE && !(stride % 8);
}

static int npu_submit_check(const struct drm_npu_submit *args)
{
	u32 syncs = args->in_sync_count | args->out_sync_count;

	if (args->flags || args->pad)
		return -EINVAL;
	if (!args->job_count || args->job_count > NPU_MAX_JOBS || args->bo_count > NPU_MAX_BOS ||
	    args->in_sync_count > NPU_MAX_SYNCS || args->out_sync_count > NPU_MAX_SYNCS)
		return -EINVAL;
	if (!npu_stride_valid(args->job_count, args->job_stride, sizeof(struct drm_npu_job)) ||
	    !npu_stride_valid(args->bo_count, args->bo_stride, sizeof(struct drm_npu_submit_bo)) ||
	    !npu_stride_valid(syncs, args->sync_stride, sizeof(struct drm_npu_sync)))
		return -EINVAL;

	return 0;
}

/* Copies an array whose elements may be longer than ours, with zeroes there. */
static void *npu_copy_array(u64 address, u32 count, u32 stride, size_t size)
{
	void __user *src = u64_to_user_ptr(address);
	void *dst;
	int ret;

	dst = kvmalloc_array(count, size, GFP_KERNEL_ACCOUNT);
	if (!dst)
		return ERR_PTR(-ENOMEM);

	for (u32 i = 0; i < count; i++) {
		ret = copy_struct_from_user(dst + i * size, size, src + (size_t)i * stride,
					    stride);
		if (ret) {
			kvfree(dst);
			return ERR_PTR(ret == -E2BIG ? -EINVAL : ret);
		}
	}

	return dst;
}

static int npu_submit_job(struct npu_submit *s, const struct drm_npu_job *arg)
{
	struct npu_device *npu = s->queue->client->npu;
	struct npu_job *job;

	if (arg->flags || arg->size < sizeof(struct npu_stream_header) || arg->size % 8 ||
	    arg->size > npu->caps.stream_max || arg->record % 8)
		return -EINVAL;

	job = npu_job_create(s->queue, s->file);
	if (IS_ERR(job))
		return PTR_ERR(job);
	s->jobs[s->job_count++] = job;

	job->size = arg->size;
	job->record = arg->record;
	job->stream = kvmalloc(arg->size, GFP_KERNEL_ACCOUNT);
	if (!job->stream)
		return -ENOMEM;
	if (copy_from_user(job->stream, u64_to_user_ptr(arg->stream), arg->size))
		return -EFAULT;

	return 0;
}

static int npu_submit_jobs(struct npu_submit *s)
{
	const struct drm_npu_submit *args = s->args;
	struct drm_npu_job *jobs;
	int ret = 0;

	s->jobs = kvcalloc(args->job_count, sizeof(*s->jobs), GFP_KERNEL_ACCOUNT);
	if (!s->jobs)
		return -ENOMEM;
	jobs = npu_copy_array(args->jobs, args->job_count, args->job_stride, sizeof(*jobs));
	if (IS_ERR(jobs))
		return PTR_ERR(jobs);

	for (u32 i = 0; i < args->job_count && !ret; i++)
		ret = npu_submit_job(s, &jobs[i]);
	kvfree(jobs);

	return ret;
}

static int npu_submit_bos(struct npu_submit *s)
{
	const struct drm_npu_submit *args = s->args;
	struct drm_npu_submit_bo *bos;

	if (!args->bo_count)
		return 0;

	s->bos = kvcalloc(args->bo_count, sizeof(*s->bos), GFP_KERNEL_ACCOUNT);
	s->job_bos = kvcalloc(args->bo_count, sizeof(*s->job_bos), GFP_KERNEL_ACCOUNT);
	if (!s->bos || !s->job_bos)
		return -ENOMEM;
	bos = npu_copy_array(args->bos, args->bo_count, args->bo_stride, sizeof(*bos));
	if (IS_ERR(bos))
		return PTR_ERR(bos);
	s->bo_args = bos;

	for (u32 i = 0; i < args->bo_count; i++) {
		if (!bos[i].flags ||
		    bos[i].flags & ~(DRM_NPU_SUBMIT_BO_READ | DRM_NPU_SUBMIT_BO_WRITE))
			return -EINVAL;
		s->bos[i] = drm_gem_object_lookup(s->file, bos[i].handle);
		if (!s->bos[i])
			return -ENOENT;
		s->bo_count++;
	}

	return 0;
}

static bool npu_sync_valid(const struct drm_npu_sync *sync)
{
	if (sync->flags & ~DRM_NPU_SYNC_TIMELINE)
		return false;

	return !(sync->flags & DRM_NPU_SYNC_TIMELINE) == !sync->point;
}

/* The queue runs its jobs in order: what the first waits for all wait for. */
static int npu_submit_in_syncs(struct npu_submit *s)
{
	const struct drm_npu_submit *args = s->args;
	struct drm_npu_sync *syncs;
	struct dma_fence *fence;
	int ret = 0;

	if (!args->in_sync_count)
		return 0;

	syncs = npu_copy_array(args->in_syncs, args->in_sync_count, args->sync_stride,
			       sizeof(*syncs));
	if (IS_ERR(syncs))
		return PTR_ERR(syncs);

	for (u32 i = 0; i < args->in_sync_count && !ret; i++) {
		ret = -EINVAL;
		if (!npu_sync_valid(&syncs[i]))
			break;
		ret = drm_syncobj_find_fence(s->file, syncs[i].handle, syncs[i].point, 0, &fence);
		if (!ret)
			ret = drm_sched_job_add_dependency(&s->jobs[0]->base, fence);
	}
	kvfree(syncs);

	return ret;
}

static int npu_submit_out_sync(struct npu_submit *s, const struct drm_npu_sync *sync)
{
	struct npu_out_sync *out = &s->outs[s->out_count];

	if (!npu_sync_valid(sync))
		return -EINVAL;

	out->syncobj = drm_syncobj_find(s->file, sync->handle);
	if (!out->syncobj)
		return -ENOENT;
	s->out_count++;

	if (sync->flags & DRM_NPU_SYNC_TIMELINE) {
		out->point = sync->point;
		out->chain = dma_fence_chain_alloc();
		if (!out->chain)
			return -ENOMEM;
	}

	return 0;
}

static int npu_submit_out_syncs(struct npu_submit *s)
{
	const struct drm_npu_submit *args = s->args;
	struct drm_npu_sync *syncs;
	int ret = 0;

	if (!args->out_sync_count)
		return 0;

	s->outs = kvcalloc(args->out_sync_count, sizeof(*s->outs), GFP_KERNEL_ACCOUNT);
	if (!s->outs)
		return -ENOMEM;
	syncs = npu_copy_array(args->out_syncs, args->out_sync_count, args->sync_stride,
			       sizeof(*syncs));
	if (IS_ERR(syncs))
		return PTR_ERR(syncs);

	for (u32 i = 0; i < args->out_sync_count && !ret; i++)
		ret = npu_submit_out_sync(s, &syncs[i]);
	kvfree(syncs);

	return ret;
}

/*
 * Two fence slots each: objects may share a reservation, and it may get the
 * fence once as a reader's and once as a writer's.
 */
static int npu_submit_lock(struct npu_submit *s)
{
	drm_exec_until_all_locked(&s->exec) {
		for (u32 i = 0; i < s->bo_count; i++) {
			int ret = drm_exec_prepare_obj(&s->exec, s->bos[i], 2);

			/* Starts again from the first. */
			drm_exec_retry_on_contention(&s->exec);
			if (ret)
				return ret;
		}
	}

	return 0;
}

static void npu_submit_publish(struct npu_submit *s, struct dma_fence *fence)
{
	for (u32 i = 0; i < s->bo_count; i++) {
		bool write = s->bo_args[i].flags & DRM_NPU_SUBMIT_BO_WRITE;

		dma_resv_add_fence(s->bos[i]->resv, fence,
				   write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
	}

	for (u32 i = 0; i < s->out_count; i++) {
		struct npu_out_sync *out = &s->outs[i];

		if (out->chain) {
			drm_syncobj_add_point(out->syncobj, out->chain, fence, out->point);
			out->chain = NULL;
		} else {
			drm_syncobj_replace_fence(out->syncobj, fence);
		}
	}
}

static int npu_submit_admit(struct npu_submit *s)
{
	struct npu_queue *queue = s->queue;

	lockdep_assert_held(&queue->lock);
	if (queue->closed)
		return -ENOENT;
	if (npu_wedged(queue->client->npu))
		return -ENODEV;
	if (npu_queue_faulted(queue))
		return -EIO;
	if (atomic_read(&queue->in_flight) + s->job_count > NPU_MAX_IN_FLIGHT)
		return -EAGAIN;

	return 0;
}

/* The point of no return is the first drm_sched_job_arm(). */
static int npu_submit_push(struct npu_submit *s)
{
	struct npu_job *last = s->jobs[s->job_count - 1];
	struct npu_queue *queue = s->queue;
	struct dma_fence *fence;
	bool cookie;
	int ret;

	guard(mutex)(&queue->lock);
	ret = npu_submit_admit(s);
	if (ret)
		return ret;

	cookie = dma_fence_begin_signalling();
	atomic_add(s->job_count, &queue->in_flight);
	for (u32 i = 0; i < s->job_count; i++) {
		s->jobs[i]->number = queue->jobs++;
		s->jobs[i]->counted = true;
		drm_sched_job_arm(&s->jobs[i]->base);
		trace_npu_job_queue(s->jobs[i]);
	}
	fence = dma_fence_get(&last->base.s_fence->finished);
	npu_submit_publish(s, fence);
	for (u32 i = 0; i < s->bo_count; i++) {
		drm_gem_object_get(s->bos[i]);
		s->job_bos[i] = s->bos[i];
	}
	last->bos = s->job_bos;
	last->bo_count = s->bo_count;
	s->job_bos = NULL;
	/* A pushed job may be freed at once. */
	for (u32 i = 0; i < s->job_count; i++)
		drm_sched_entity_push_job(&s->jobs[i]->base);
	s->job_count = 0;
	dma_fence_end_signalling(cookie);
	dma_fence_put(fence);

	return 0;
}

static int npu_submit(struct npu_submit *s)
{
	int ret;

	ret = npu_submit_jobs(s);
	if (ret)
		return ret;
	ret = npu_submit_bos(s);
	if (ret)
		return ret;
	ret = npu_submit_in_syncs(s);
	if (ret)
		return ret;
	ret = npu_submit_out_syncs(s);
	if (ret)
		return ret;

	if (!s->bo_count)
		return npu_submit_push(s);

	drm_exec_init(&s->exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES,
		      s->bo_count);
	ret = npu_submit_lock(s);
	if (!ret)
		ret = npu_submit_push(s);
	drm_exec_fini(&s->exec);

	return ret;
}

/* What was not handed over. */
static void npu_submit_cleanup(struct npu_submit *s)
{
	for (u32 i = 0; i < s->job_count; i++)
		npu_job_abort(s->jobs[i]);
	kvfree(s->jobs);
	for (u32 i = 0; i < s->bo_count; i++)
		drm_gem_object_put(s->bos[i]);
	kvfree(s->bos);
	kvfree(s->job_bos);
	kvfree(s->bo_args);
	for (u32 i = 0; i < s->out_count; i++) {
		dma_fence_chain_free(s->outs[i].chain);
		drm_syncobj_put(s->outs[i].syncobj);
	}
	kvfree(s->outs);
}

int npu_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_submit s = { .args = data, .file = file };
	int ret;

	ret = npu_submit_check(s.args);
	if (ret)
		return ret;

	s.queue = npu_queue_lookup(to_npu_client(file), s.args->queue);
	if (!s.queue)
		return -ENOENT;
	ret = npu_submit(&s);
	npu_submit_cleanup(&s);
	npu_queue_put(s.queue);

	return ret;
}
