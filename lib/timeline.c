// SPDX-License-Identifier: MIT
/* Timelines, fences and waiting. */
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "error.h"

int npu_timeline_new(struct npu_device *dev, struct npu_queue *queue, struct npu_timeline **out)
{
	struct npu_timeline *timeline = calloc(1, sizeof(*timeline));
	int ret;

	if (!timeline)
		return npu_fail(ENOMEM, "no memory for a timeline");
	timeline->dev = dev;
	timeline->queue = queue;
	timeline->refs = 1;
	ret = dev->backend->timeline_create(timeline);
	if (ret) {
		free(timeline);
		return ret;
	}
	pthread_mutex_lock(&dev->lock);
	npu_list_add_tail(&dev->timelines, &timeline->link);
	pthread_mutex_unlock(&dev->lock);
	*out = timeline;
	return 0;
}

void npu_timeline_unref_locked(struct npu_timeline *timeline)
{
	if (--timeline->refs)
		return;
	npu_list_del(&timeline->link);
	timeline->dev->backend->timeline_free(timeline);
	free(timeline);
}

int npu_timeline_create(struct npu_device *dev, struct npu_timeline **timeline)
{
	int ret = npu_device_check(dev, "npu_timeline_create");

	if (ret)
		return ret;
	if (!timeline)
		return npu_fail(EINVAL, "npu_timeline_create: timeline is NULL");
	return npu_timeline_new(dev, NULL, timeline);
}

void npu_timeline_destroy(struct npu_timeline *timeline)
{
	struct npu_device *dev;

	if (!timeline || npu_device_check(timeline->dev, "npu_timeline_destroy"))
		return;
	dev = timeline->dev;
	pthread_mutex_lock(&dev->lock);
	npu_timeline_unref_locked(timeline);
	pthread_mutex_unlock(&dev->lock);
}

int npu_timeline_query(struct npu_timeline *timeline, uint64_t *point)
{
	int ret;

	if (!timeline || !point)
		return npu_fail(EINVAL, "npu_timeline_query: %s is NULL",
				timeline ? "point" : "timeline");
	ret = npu_device_check(timeline->dev, "npu_timeline_query");
	return ret ? ret : timeline->dev->backend->timeline_query(timeline, point);
}

/* Holds the fence's timeline; the caller lets go by fence_put(). */
static int fence_get(struct npu_fence fence, const char *what)
{
	struct npu_timeline *timeline = fence.timeline;
	int ret;

	if (!timeline)
		return npu_fail(EINVAL, "%s: the fence's timeline is NULL", what);
	ret = npu_device_check(timeline->dev, what);
	if (ret)
		return ret;
	pthread_mutex_lock(&timeline->dev->lock);
	if (fence.point > timeline->last)
		ret = npu_fail(EINVAL,
			       "%s: point %llu was not submitted, the timeline's last one is %llu",
			       what, (unsigned long long)fence.point,
			       (unsigned long long)timeline->last);
	else
		timeline->refs++;
	pthread_mutex_unlock(&timeline->dev->lock);
	return ret;
}

static void fence_put(struct npu_fence fence)
{
	struct npu_device *dev = fence.timeline->dev;

	pthread_mutex_lock(&dev->lock);
	npu_timeline_unref_locked(fence.timeline);
	pthread_mutex_unlock(&dev->lock);
}

static int timeline_failed_locked(const struct npu_timeline *timeline, uint64_t point)
{
	uint32_t i, count = timeline->failure_count;

	for (i = 0; i < NPU_FAILURES && i < count; i++)
		if (timeline->failures[i].point == point)
			return npu_fail(-timeline->failures[i].status,
					"the job that signals point %llu of the timeline failed: %s",
					(unsigned long long)point,
					strerror(-timeline->failures[i].status));
	return 0;
}

/* How the job of a signalled fence ended. */
static int fence_result_locked(struct npu_fence fence, struct npu_result *result)
{
	struct npu_timeline *timeline = fence.timeline;
	struct npu_device *dev = timeline->dev;
	struct npu_queue *queue = timeline->queue;

	if (timeline->signalled < fence.point)
		timeline->signalled = fence.point;
	if (result) {
		memset(result, 0, sizeof(*result));
		result->first_nonfinite_block = NPU_NO_BLOCK;
	}
	if (!fence.point)
		return 0;
	if (!queue) {
		/* More than the owner and this wait: a submit was not found finished yet. */
		if (timeline->refs > 2)
			npu_device_reap_locked(dev);
		return timeline_failed_locked(timeline, fence.point);
	}
	npu_queue_reap_locked(queue, fence.point);
	if (result && fence.point + dev->info.max_in_flight > timeline->last)
		*result = *npu_queue_record(queue, fence.point);
	return npu_queue_job_failed_locked(queue, fence.point);
}

int npu_fence_wait(struct npu_fence fence, int64_t deadline, struct npu_result *result)
{
	struct npu_device *dev;
	struct npu_result copy;
	int ret;

	ret = fence_get(fence, "npu_fence_wait");
	if (ret)
		return ret;
	dev = fence.timeline->dev;
	ret = dev->backend->timeline_wait(fence.timeline, fence.point, deadline);
	if (!ret) {
		pthread_mutex_lock(&dev->lock);
		ret = fence_result_locked(fence, &copy);
		pthread_mutex_unlock(&dev->lock);
		if (result)
			*result = copy;
	} else if (ret == -ETIMEDOUT) {
		npu_fail(ETIMEDOUT, "npu_fence_wait: point %llu has not signalled by the deadline",
			 (unsigned long long)fence.point);
	}
	fence_put(fence);
	return ret;
}

int npu_fence_fd(struct npu_fence fence, int *fd)
{
	struct npu_timeline *timeline = fence.timeline;
	int ret;

	if (!fd)
		return npu_fail(EINVAL, "npu_fence_fd: fd is NULL");
	ret = fence_get(fence, "npu_fence_fd");
	if (ret)
		return ret;
	ret = timeline->dev->backend->timeline_fd(timeline, fence.point, fd);
	fence_put(fence);
	return ret;
}

/* With the device's lock held: a submit to wait for, its timeline held; NULL if there is none. */
static struct npu_timeline *next_user_locked(struct npu_device *dev, const struct npu_bo *bo,
					     uint64_t *point)
{
	struct npu_list *q, *b;
	uint32_t i;

	npu_list_for(q, &dev->queues) {
		struct npu_queue *queue = npu_container(q, struct npu_queue, link);

		npu_list_for(b, &queue->batches) {
			struct npu_batch *batch = npu_container(b, struct npu_batch, link);

			for (i = 0; i < batch->bo_count; i++) {
				if (bo ? batch->bos[i] != bo : !batch->bos[i]->range.dying)
					continue;
				*point = batch->last;
				queue->timeline->refs++;
				return queue->timeline;
			}
		}
	}
	return NULL;
}

int npu_device_wait_jobs(struct npu_device *dev, const struct npu_bo *bo, int64_t deadline)
{
	struct npu_timeline *timeline;
	uint64_t point;
	int ret = 0;

	pthread_mutex_lock(&dev->lock);
	while (!ret) {
		npu_device_reap_locked(dev);
		timeline = next_user_locked(dev, bo, &point);
		if (!timeline)
			break;
		pthread_mutex_unlock(&dev->lock);
		ret = dev->backend->timeline_wait(timeline, point, deadline);
		pthread_mutex_lock(&dev->lock);
		npu_timeline_unref_locked(timeline);
	}
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

void npu_device_settle(struct npu_device *dev)
{
	npu_device_wait_jobs(dev, NULL, INT64_MAX);
}
