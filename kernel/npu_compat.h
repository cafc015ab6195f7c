/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between Linux 6.12 and 7.3, all of them here. Stable kernels take
 * interfaces from later ones, so Kbuild looks into the headers (NPU_HAVE_*)
 * rather than at version numbers.
 */
#ifndef _NPU_COMPAT_H_
#define _NPU_COMPAT_H_

#include <drm/drm_file.h>
#include <drm/gpu_scheduler.h>

#define NPU_SCHED_CREDITS	1

static inline int npu_sched_init(struct drm_gpu_scheduler *sched,
				 const struct drm_sched_backend_ops *ops,
				 struct workqueue_struct *timeout_wq, long timeout,
				 const char *name, struct device *dev)
{
#ifdef NPU_HAVE_SCHED_INIT_ARGS
	const struct drm_sched_init_args args = {
		.ops = ops,
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
		.credit_limit = NPU_SCHED_CREDITS,
		.timeout = timeout,
		.timeout_wq = timeout_wq,
		.name = name,
		.dev = dev,
	};

	return drm_sched_init(sched, &args);
#else
	return drm_sched_init(sched, ops, NULL, DRM_SCHED_PRIORITY_COUNT, NPU_SCHED_CREDITS, 0,
			      timeout, timeout_wq, NULL, name, dev);
#endif
}

static inline int npu_sched_job_init(struct drm_sched_job *job, struct drm_sched_entity *entity,
				     struct drm_file *file)
{
#ifdef NPU_HAVE_SCHED_CLIENT_ID
	return drm_sched_job_init(job, entity, NPU_SCHED_CREDITS, NULL, file->client_id);
#else
	return drm_sched_job_init(job, entity, NPU_SCHED_CREDITS, NULL);
#endif
}

/*
 * Gives a job back from timedout_job() to the scheduler, which frees it when
 * its finished fence has signalled, now or when it is started.
 */
static inline enum drm_gpu_sched_stat npu_sched_job_return(struct drm_sched_job *job)
{
#ifdef NPU_HAVE_SCHED_NO_HANG
	return DRM_GPU_SCHED_STAT_NO_HANG;
#else
	struct drm_gpu_scheduler *sched = job->sched;

	spin_lock(&sched->job_list_lock);
	list_add(&job->list, &sched->pending_list);
	spin_unlock(&sched->job_list_lock);
	/* Nothing else that is exported queues the work that frees jobs. */
	if (!READ_ONCE(sched->pause_submit))
		drm_sched_wqueue_start(sched);

	return DRM_GPU_SCHED_STAT_NOMINAL;
#endif
}

#endif
