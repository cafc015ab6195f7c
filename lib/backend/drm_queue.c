// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include <drm/npu_accel.h>

#include "drm.h"
#include "engine/engine.h"
#include "error.h"

/* Kept for when the driver's queue is no more. */
struct drm_queue {
	bool ended;
	struct npu_queue_state last;
};

int drm_queue_create(struct npu_queue *queue)
{
	struct drm_npu_queue_create arg = {
		.ring = queue->ring,
		.priority = queue->priority,
	};
	int ret;

	queue->priv = calloc(1, sizeof(struct drm_queue));
	if (!queue->priv)
		return npu_fail(ENOMEM, "no memory for a queue");
	ret = drm_call(queue->dev, DRM_IOCTL_NPU_QUEUE_CREATE, &arg);
	if (!ret) {
		queue->handle = arg.queue;
		return 0;
	}
	free(queue->priv);
	if (ret == -EACCES)
		return npu_fail(EACCES, "npu_queue_create: priority HIGH needs CAP_SYS_NICE");
	return drm_failed(queue->dev, ret, "QUEUE_CREATE");
}

static int get_state(struct npu_queue *queue, struct npu_queue_state *state)
{
	struct drm_npu_queue_get_state arg = { .queue = queue->handle };
	int ret = drm_call(queue->dev, DRM_IOCTL_NPU_QUEUE_GET_STATE, &arg);

	if (ret)
		return ret;
	state->faulted = arg.state != DRM_NPU_QUEUE_HEALTHY;
	state->rule = arg.rule;
	state->command = arg.command;
	state->fault_address = arg.fault_address;
	/* The driver counts jobs from 0, points begin with 1. */
	state->job = state->faulted ? arg.job + 1 : 0;
	return 0;
}

int drm_queue_state(struct npu_queue *queue, struct npu_queue_state *state)
{
	int ret = get_state(queue, state);

	return ret ? drm_failed(queue->dev, ret, "QUEUE_GET_STATE") : 0;
}

void drm_queue_end(struct npu_queue *queue)
{
	struct drm_npu_queue_destroy arg = { .queue = queue->handle };
	struct drm_queue *dq = queue->priv;

	if (get_state(queue, &dq->last))
		dq->last.faulted = 0;
	drm_call(queue->dev, DRM_IOCTL_NPU_QUEUE_DESTROY, &arg);
	dq->ended = true;
}

void drm_queue_free(struct npu_queue *queue)
{
	free(queue->priv);
}

/*
 * A syncobj tells that a fence has signalled, not how; the record would tell of a
 * fault. What is left is a hang, what came behind one, a reset, or the queue's end.
 */
int drm_job_status(struct npu_queue *queue, uint64_t point)
{
	struct drm_queue *dq = queue->priv;
	struct npu_queue_state state = dq->last;
	int ret;

	if (!dq->ended) {
		ret = get_state(queue, &state);
		if (ret)
			return ret;
	}
	if (!state.faulted)
		return dq->ended ? -ESRCH : -ECANCELED;
	if (state.job != point)
		return -ECANCELED;
	return state.rule == NPU_RULE_HANG ? -ETIME : -EFAULT;
}

static void sync_list(struct drm_npu_sync *syncs, const struct npu_fence *fences,
			  uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		syncs[i].handle = fences[i].timeline->handle;
		syncs[i].flags = DRM_NPU_SYNC_TIMELINE;
		syncs[i].point = fences[i].point;
	}
}

/* Arrays of one SUBMIT, in one piece of memory. */
struct arrays {
	struct drm_npu_job *jobs;
	struct drm_npu_sync *in, *out;
	struct drm_npu_submit_bo *bos;
};

static int arrays_alloc(struct arrays *a, const struct npu_submission *s)
{
	const struct npu_batch *batch = s->batch;

	a->jobs = calloc(1, s->count * sizeof(*a->jobs) +
			    (batch->wait_count + batch->signal_count + 1) * sizeof(*a->in) +
			    batch->bo_count * sizeof(*a->bos));
	if (!a->jobs)
		return npu_fail(ENOMEM, "no memory for a submit");
	a->in = (struct drm_npu_sync *)(a->jobs + s->count);
	a->out = a->in + batch->wait_count;
	a->bos = (struct drm_npu_submit_bo *)(a->out + batch->signal_count + 1);
	return 0;
}

static void arrays_fill(struct arrays *a, const struct npu_submission *s)
{
	const struct npu_batch *batch = s->batch;
	const struct npu_fence own = { s->queue->timeline, batch->last };
	uint32_t i;

	for (i = 0; i < s->count; i++) {
		a->jobs[i].stream = (uintptr_t)s->jobs[i].stream;
		a->jobs[i].size = s->jobs[i].size;
		a->jobs[i].record = s->jobs[i].record;
	}
	sync_list(a->in, batch->waits, batch->wait_count);
	sync_list(a->out, batch->signals, batch->signal_count);
	sync_list(a->out + batch->signal_count, &own, 1);
	for (i = 0; i < batch->bo_count; i++) {
		a->bos[i].handle = batch->bos[i]->handle;
		a->bos[i].flags =
			(batch->bo_flags[i] & NPU_ACCESS_READ ? DRM_NPU_SUBMIT_BO_READ : 0) |
			(batch->bo_flags[i] & NPU_ACCESS_WRITE ? DRM_NPU_SUBMIT_BO_WRITE : 0);
	}
}

static int submit_failed(struct npu_queue *queue, int ret)
{
	struct npu_queue_state state = { 0 };

	switch (ret) {
	case -EIO:
		get_state(queue, &state);
		return npu_fail(EIO,
				"npu_submit: the queue is dead since job %llu (rule %s); destroy it and create another",
				(unsigned long long)state.job,
				npu_rule_name(state.rule) ? npu_rule_name(state.rule) : "unknown");
	case -EAGAIN:
		return npu_fail(EAGAIN, "npu_submit: %u jobs of the queue may be unfinished",
				queue->dev->info.max_in_flight);
	default:
		return drm_failed(queue->dev, ret, "SUBMIT");
	}
}

int drm_submit(const struct npu_submission *s)
{
	const struct npu_batch *batch = s->batch;
	struct drm_npu_submit arg = {
		.queue = s->queue->handle,
		.job_count = s->count,
		.job_stride = sizeof(struct drm_npu_job),
		.bo_count = batch->bo_count,
		.bo_stride = batch->bo_count ? sizeof(struct drm_npu_submit_bo) : 0,
		.in_sync_count = batch->wait_count,
		.out_sync_count = batch->signal_count + 1,
		.sync_stride = sizeof(struct drm_npu_sync),
	};
	struct arrays a = { 0 };
	int ret;

	ret = arrays_alloc(&a, s);
	if (ret)
		return ret;
	arrays_fill(&a, s);
	arg.jobs = (uintptr_t)a.jobs;
	arg.bos = batch->bo_count ? (uintptr_t)a.bos : 0;
	arg.in_syncs = batch->wait_count ? (uintptr_t)a.in : 0;
	arg.out_syncs = (uintptr_t)a.out;
	ret = drm_call(s->queue->dev, DRM_IOCTL_NPU_SUBMIT, &arg);
	free(a.jobs);
	return ret ? submit_failed(s->queue, ret) : 0;
}
