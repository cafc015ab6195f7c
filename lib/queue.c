// SPDX-License-Identifier: MIT
/* Queues, and what becomes of their submits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "error.h"

static const char *const ring_names[NPU_RING_COUNT] = {
	[NPU_RING_FETCH_MAIN] = "fetch-main",
	[NPU_RING_FETCH_SUB] = "fetch-sub",
	[NPU_RING_PREPROCESS] = "preprocess",
};

const char *npu_ring_name(uint32_t ring)
{
	return ring < NPU_RING_COUNT ? ring_names[ring] : NULL;
}

struct npu_result *npu_queue_record(const struct npu_queue *queue, uint64_t point)
{
	return (struct npu_result *)queue->records->map + point % queue->slot_count;
}

uint64_t npu_queue_record_address(const struct npu_queue *queue, uint64_t point)
{
	return queue->records->range.start +
	       point % queue->slot_count * sizeof(struct npu_result);
}

void npu_queue_free(struct npu_queue *queue)
{
	struct npu_list *pos, *tmp;

	if (!queue->dev->forked)
		pthread_mutex_destroy(&queue->submit);
	queue->dev->backend->queue_free(queue);
	npu_list_for_safe(pos, tmp, &queue->batches)
		free(npu_container(pos, struct npu_batch, link));
	free(queue->status);
	free(queue);
}

/* The queue's timeline and its BO of result records. */
static int queue_attach(struct npu_queue *queue)
{
	struct npu_device *dev = queue->dev;
	int ret;

	ret = npu_timeline_new(dev, queue, &queue->timeline);
	if (ret)
		return ret;
	ret = npu_bo_create_own(dev, (uint64_t)queue->slot_count * sizeof(struct npu_result),
				&queue->records);
	if (!ret) {
		ret = dev->backend->bo_map(queue->records, &queue->records->map);
		if (ret)
			npu_bo_destroy(queue->records);
	}
	if (ret) {
		pthread_mutex_lock(&dev->lock);
		npu_timeline_unref_locked(queue->timeline);
		pthread_mutex_unlock(&dev->lock);
	}
	return ret;
}

static void queue_detach(struct npu_queue *queue)
{
	struct npu_device *dev = queue->dev;

	npu_bo_destroy(queue->records);
	pthread_mutex_lock(&dev->lock);
	queue->timeline->queue = NULL;
	npu_timeline_unref_locked(queue->timeline);
	pthread_mutex_unlock(&dev->lock);
}

static struct npu_queue *queue_alloc(struct npu_device *dev, uint32_t ring, uint32_t priority)
{
	struct npu_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return NULL;
	npu_list_init(&queue->link);
	npu_list_init(&queue->batches);
	queue->dev = dev;
	queue->ring = ring;
	queue->priority = priority;
	queue->slot_count = dev->info.max_in_flight + dev->info.max_jobs;
	queue->status = calloc(queue->slot_count, sizeof(*queue->status));
	if (!queue->status || pthread_mutex_init(&queue->submit, NULL)) {
		free(queue->status);
		free(queue);
		return NULL;
	}
	return queue;
}

/* Counts the queue, so that the limit holds among threads. */
static int queue_admit(struct npu_device *dev, uint32_t *serial)
{
	int ret = 0;

	pthread_mutex_lock(&dev->lock);
	if (dev->queue_count == dev->info.max_queues) {
		ret = npu_fail(ENOSPC, "npu_queue_create: the device has %u queues, its limit",
			       dev->queue_count);
	} else {
		dev->queue_count++;
		*serial = ++dev->queue_serial;
	}
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

static void queue_dismiss(struct npu_device *dev)
{
	pthread_mutex_lock(&dev->lock);
	dev->queue_count--;
	pthread_mutex_unlock(&dev->lock);
}

static int queue_create(struct npu_device *dev, uint32_t ring, uint32_t priority,
			struct npu_queue **out)
{
	struct npu_queue *queue;
	int ret;

	queue = queue_alloc(dev, ring, priority);
	if (!queue)
		return npu_fail(ENOMEM, "no memory for a queue");
	ret = queue_admit(dev, &queue->serial);
	if (ret)
		goto err_free;
	ret = queue_attach(queue);
	if (ret)
		goto err_dismiss;
	ret = dev->backend->queue_create(queue);
	if (ret)
		goto err_detach;
	pthread_mutex_lock(&dev->lock);
	npu_list_add_tail(&dev->queues, &queue->link);
	pthread_mutex_unlock(&dev->lock);
	*out = queue;
	return 0;

err_detach:
	queue_detach(queue);
err_dismiss:
	queue_dismiss(dev);
err_free:
	pthread_mutex_destroy(&queue->submit);
	free(queue->status);
	free(queue);
	return ret;
}

int npu_queue_create(struct npu_device *dev, uint32_t ring, uint32_t priority,
		     struct npu_queue **queue)
{
	int ret = npu_device_check(dev, "npu_queue_create");

	if (ret)
		return ret;
	if (!queue)
		return npu_fail(EINVAL, "npu_queue_create: queue is NULL");
	if (ring >= NPU_RING_COUNT || !(dev->info.rings & 1u << ring))
		return npu_fail(EINVAL, "npu_queue_create: ring is %u: the device has none such",
				ring);
	if (priority > NPU_PRIORITY_HIGH)
		return npu_fail(EINVAL, "npu_queue_create: priority is %u, not 0 to %u", priority,
				NPU_PRIORITY_HIGH);
	return queue_create(dev, ring, priority, queue);
}

void npu_queue_destroy(struct npu_queue *queue)
{
	struct npu_device *dev;
	uint64_t last;

	if (!queue || npu_device_check(queue->dev, "npu_queue_destroy"))
		return;
	dev = queue->dev;
	dev->backend->queue_end(queue);
	pthread_mutex_lock(&dev->lock);
	last = queue->timeline->last;
	pthread_mutex_unlock(&dev->lock);
	dev->backend->timeline_wait(queue->timeline, last, INT64_MAX);
	pthread_mutex_lock(&dev->lock);
	npu_queue_reap_locked(queue, last);
	npu_list_del(&queue->link);
	dev->queue_count--;
	pthread_mutex_unlock(&dev->lock);
	queue_detach(queue);
	npu_queue_free(queue);
}

int npu_queue_get_state(struct npu_queue *queue, struct npu_queue_state *out)
{
	struct npu_queue_state state = NPU_QUEUE_STATE_INIT;
	int ret;

	if (!queue)
		return npu_fail(EINVAL, "npu_queue_get_state: queue is NULL");
	ret = npu_device_check(queue->dev, "npu_queue_get_state");
	if (!ret)
		ret = queue->dev->backend->queue_state(queue, &state);
	return ret ? ret : npu_give_sized(out, &state, sizeof(state), "npu_queue_state");
}

struct npu_batch *npu_batch_alloc(uint32_t bos, uint32_t waits, uint32_t signals)
{
	struct npu_batch *batch;
	size_t fences = (size_t)waits + signals;

	batch = calloc(1, sizeof(*batch) + fences * sizeof(struct npu_fence) +
			  (size_t)bos * (sizeof(struct npu_bo *) + sizeof(uint32_t)));
	if (!batch)
		return NULL;
	npu_list_init(&batch->link);
	batch->waits = (struct npu_fence *)(batch + 1);
	batch->signals = batch->waits + waits;
	batch->bos = (struct npu_bo **)(batch->signals + signals);
	batch->bo_flags = (uint32_t *)(batch->bos + bos);
	return batch;
}

void npu_batch_release_locked(struct npu_queue *queue, struct npu_batch *batch)
{
	uint32_t i;

	npu_list_del(&batch->link);
	for (i = 0; i < batch->bo_count; i++)
		npu_bo_job_done_locked(batch->bos[i]);
	for (i = 0; i < batch->wait_count; i++)
		npu_timeline_unref_locked(batch->waits[i].timeline);
	for (i = 0; i < batch->signal_count; i++)
		npu_timeline_unref_locked(batch->signals[i].timeline);
	free(batch);
}

static int job_status(struct npu_queue *queue, uint64_t point)
{
	switch (npu_queue_record(queue, point)->status) {
	case NPU_STATUS_OK:
		return 0;
	case NPU_STATUS_FAULT:
		return -EFAULT;
	case NPU_STATUS_CANCELLED:
		return -ECANCELED;
	default:
		return queue->dev->backend->job_status(queue, point);
	}
}

static void note_failure(struct npu_timeline *timeline, uint64_t point, int status)
{
	struct npu_failure *failure;

	failure = &timeline->failures[timeline->failure_count++ % NPU_FAILURES];
	failure->point = point;
	failure->status = status;
}

void npu_queue_reap_locked(struct npu_queue *queue, uint64_t signalled)
{
	while (!npu_list_empty(&queue->batches)) {
		struct npu_batch *batch =
			npu_container(queue->batches.next, struct npu_batch, link);
		int status = 0;
		uint64_t point;
		uint32_t i;

		if (batch->last > signalled)
			break;
		for (point = batch->first; point <= batch->last; point++) {
			status = job_status(queue, point);
			queue->status[point % queue->slot_count] = status;
		}
		for (i = 0; status && i < batch->signal_count; i++)
			note_failure(batch->signals[i].timeline, batch->signals[i].point, status);
		queue->reaped = batch->last;
		npu_batch_release_locked(queue, batch);
	}
}

void npu_device_reap_locked(struct npu_device *dev)
{
	struct npu_list *pos;
	uint64_t point;

	npu_list_for(pos, &dev->queues) {
		struct npu_queue *queue = npu_container(pos, struct npu_queue, link);

		if (!npu_list_empty(&queue->batches) &&
		    !dev->backend->timeline_query(queue->timeline, &point))
			npu_queue_reap_locked(queue, point);
	}
}

int npu_queue_job_failed_locked(struct npu_queue *queue, uint64_t point)
{
	const struct npu_result *record = npu_queue_record(queue, point);
	char job[96];
	int status;

	if (point + queue->dev->info.max_in_flight <= queue->timeline->last)
		return 0;
	/* A point inside a submit of several jobs may signal before its last one. */
	status = point > queue->reaped ? job_status(queue, point) :
					 queue->status[point % queue->slot_count];
	snprintf(job, sizeof(job), "job %llu of queue %u (%s)", (unsigned long long)point,
		 queue->serial, ring_names[queue->ring]);
	switch (status) {
	case 0:
		return 0;
	case -EFAULT:
		if (record->status != NPU_STATUS_FAULT)
			return npu_fail(EFAULT, "%s: the device reported an internal error", job);
		if (!record->fault_address)
			return npu_fail(EFAULT, "%s: fault at command %u: rule %s: %s", job,
					record->command, npu_rule_name(record->rule),
					npu_rule_text(record->rule));
		return npu_fail(EFAULT, "%s: fault at command %u: rule %s: %s; address 0x%llx", job,
				record->command, npu_rule_name(record->rule),
				npu_rule_text(record->rule),
				(unsigned long long)record->fault_address);
	case -ETIME:
		return npu_fail(ETIME, "%s hung: it ran longer than %u ms", job,
				queue->dev->info.timeout_ms);
	case -ECANCELED:
		return npu_fail(ECANCELED,
				"%s was cancelled: a job before it failed, or the device was reset or closed",
				job);
	case -ESRCH:
		return npu_fail(ESRCH, "%s: the queue was destroyed before it started", job);
	default:
		return npu_fail(-status, "%s: %s", job, strerror(-status));
	}
}
