// SPDX-License-Identifier: MIT
/* From streams to jobs: checks, result records, and the order of locks. */
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "error.h"
#include "stream.h"

struct submit {
	struct npu_queue *queue;
	struct npu_device *dev;
	struct npu_stream *const *streams;
	uint32_t count;
	struct npu_submit_options options;
	struct npu_backend_job *jobs;
	struct npu_batch *batch;
};

static int check_streams(struct submit *s)
{
	uint32_t i, size;
	const void *data;
	int ret;

	for (i = 0; i < s->count; i++) {
		struct npu_stream *stream = s->streams[i];

		if (!stream)
			return npu_fail(EINVAL, "npu_submit: stream is NULL");
		if (stream->dev != s->dev)
			return npu_fail(EINVAL, "npu_submit: the stream is of another device");
		if (stream->ring != s->queue->ring)
			return npu_fail(EINVAL,
					"npu_submit: a stream for %s, but the queue is of ring %s",
					npu_ring_name(stream->ring), npu_ring_name(s->queue->ring));
		ret = npu_stream_data(stream, &data, &size);
		if (ret)
			return ret;
		s->jobs[i].stream = data;
		s->jobs[i].size = size;
	}
	return 0;
}

static uint32_t most_bos(const struct submit *s)
{
	uint32_t i, count = 0;

	for (i = 0; i < s->count; i++)
		count += s->streams[i]->bo_count;
	return count;
}

/* The BOs of all streams, each once. */
static int list_bos_locked(struct submit *s)
{
	struct npu_batch *batch = s->batch;
	uint64_t stamp = ++s->dev->stamp;
	uint32_t i, j;

	for (i = 0; i < s->count; i++) {
		for (j = 0; j < s->streams[i]->bo_count; j++) {
			struct npu_stream_bo *use = &s->streams[i]->bos[j];
			struct npu_bo *bo = use->bo;

			if (bo->range.dying)
				return npu_fail(EINVAL,
						"npu_submit: the stream uses the BO at 0x%llx, which was destroyed",
						(unsigned long long)bo->range.start);
			if (bo->stamp != stamp) {
				bo->stamp = stamp;
				bo->index = batch->bo_count;
				batch->bos[batch->bo_count++] = bo;
			}
			batch->bo_flags[bo->index] |= use->access;
		}
	}
	if (batch->bo_count > s->dev->info.max_bos)
		return npu_fail(EINVAL, "npu_submit: %u BOs, the device takes at most %u",
				batch->bo_count, s->dev->info.max_bos);
	return 0;
}

static int check_waits_locked(struct submit *s)
{
	uint32_t i;

	for (i = 0; i < s->options.wait_count; i++) {
		struct npu_fence fence = s->options.wait[i];

		if (!fence.timeline || fence.timeline->dev != s->dev)
			return npu_fail(EINVAL, "npu_submit: wait[%u] is no fence of the device",
					i);
		if (fence.point > fence.timeline->last)
			return npu_fail(EINVAL,
					"npu_submit: wait[%u] is point %llu, the timeline's last submitted one is %llu",
					i, (unsigned long long)fence.point,
					(unsigned long long)fence.timeline->last);
		if (fence.point)
			s->batch->waits[s->batch->wait_count++] = fence;
	}
	return 0;
}

static int check_signals_locked(struct submit *s)
{
	uint32_t i, j;

	for (i = 0; i < s->options.signal_count; i++) {
		struct npu_fence fence = s->options.signal[i];

		if (!fence.timeline || fence.timeline->dev != s->dev || fence.timeline->queue)
			return npu_fail(EINVAL,
					"npu_submit: signal[%u] is no point of a timeline of npu_timeline_create()",
					i);
		if (fence.point <= fence.timeline->last)
			return npu_fail(EINVAL,
					"npu_submit: signal[%u] is point %llu, not above the timeline's last submitted one, %llu",
					i, (unsigned long long)fence.point,
					(unsigned long long)fence.timeline->last);
		for (j = 0; j < i; j++)
			if (s->options.signal[j].timeline == fence.timeline)
				return npu_fail(EINVAL,
						"npu_submit: signal[%u] and signal[%u] are of one timeline",
						j, i);
		s->batch->signals[s->batch->signal_count++] = fence;
	}
	return 0;
}

/* Room among the unfinished jobs; the backend is asked only where it seems that there is none. */
static int check_room_locked(struct submit *s)
{
	struct npu_queue *queue = s->queue;
	uint64_t room = s->dev->info.max_in_flight;
	uint64_t point;

	if (queue->timeline->last + s->count - queue->reaped <= room)
		return 0;
	if (!s->dev->backend->timeline_query(queue->timeline, &point))
		npu_queue_reap_locked(queue, point);
	if (queue->timeline->last + s->count - queue->reaped <= room)
		return 0;
	return npu_fail(EAGAIN, "npu_submit: %llu jobs of the queue are unfinished, its limit is %llu",
			(unsigned long long)(queue->timeline->last - queue->reaped),
			(unsigned long long)room);
}

static void prepare_records(struct submit *s)
{
	uint32_t i;

	s->batch->first = s->queue->timeline->last + 1;
	s->batch->last = s->queue->timeline->last + s->count;
	for (i = 0; i < s->count; i++) {
		struct npu_result *record = npu_queue_record(s->queue, s->batch->first + i);

		memset(record, 0, sizeof(*record));
		record->status = NPU_STATUS_PENDING;
		record->first_nonfinite_block = NPU_NO_BLOCK;
		s->jobs[i].record = npu_queue_record_address(s->queue, s->batch->first + i);
	}
}

static void hold_locked(struct npu_batch *batch)
{
	uint32_t i;

	for (i = 0; i < batch->bo_count; i++)
		batch->bos[i]->jobs++;
	for (i = 0; i < batch->wait_count; i++)
		batch->waits[i].timeline->refs++;
	for (i = 0; i < batch->signal_count; i++)
		batch->signals[i].timeline->refs++;
}

static int prepare_locked(struct submit *s)
{
	int ret;

	ret = check_room_locked(s);
	if (!ret)
		ret = list_bos_locked(s);
	if (!ret)
		ret = check_waits_locked(s);
	if (!ret)
		ret = check_signals_locked(s);
	if (ret)
		return ret;
	prepare_records(s);
	hold_locked(s->batch);
	return 0;
}

static void publish_locked(struct submit *s, struct npu_fence *fence)
{
	uint32_t i;

	for (i = 0; i < s->batch->signal_count; i++)
		s->batch->signals[i].timeline->last = s->batch->signals[i].point;
	s->queue->timeline->last = s->batch->last;
	npu_list_add_tail(&s->queue->batches, &s->batch->link);
	if (fence) {
		fence->timeline = s->queue->timeline;
		fence->point = s->batch->last;
	}
	s->batch = NULL;
}

/* With the queue's (and, for signals, the device's) submit lock held. */
static int submit_ordered(struct submit *s, struct npu_fence *fence)
{
	struct npu_submission submission = {
		.queue = s->queue,
		.jobs = s->jobs,
		.count = s->count,
		.batch = s->batch,
	};
	int ret;

	pthread_mutex_lock(&s->dev->lock);
	ret = prepare_locked(s);
	pthread_mutex_unlock(&s->dev->lock);
	if (ret)
		return ret;
	ret = s->dev->backend->submit(&submission);
	pthread_mutex_lock(&s->dev->lock);
	if (ret) {
		npu_batch_release_locked(s->queue, s->batch);
		s->batch = NULL;
	} else {
		publish_locked(s, fence);
	}
	pthread_mutex_unlock(&s->dev->lock);
	return ret;
}

static int submit(struct submit *s, struct npu_fence *fence)
{
	uint64_t first = 0;
	int ret;

	s->jobs = calloc(s->count, sizeof(*s->jobs));
	if (!s->jobs)
		return npu_fail(ENOMEM, "no memory for %u jobs", s->count);
	ret = check_streams(s);
	if (ret)
		goto out;
	s->batch = npu_batch_alloc(most_bos(s), s->options.wait_count, s->options.signal_count);
	if (!s->batch) {
		ret = npu_fail(ENOMEM, "no memory for %u jobs", s->count);
		goto out;
	}
	if (s->options.signal_count)
		pthread_mutex_lock(&s->dev->signals);
	pthread_mutex_lock(&s->queue->submit);
	ret = submit_ordered(s, fence);
	first = s->queue->timeline->last;
	pthread_mutex_unlock(&s->queue->submit);
	if (s->options.signal_count)
		pthread_mutex_unlock(&s->dev->signals);
	if (!ret && s->dev->log)
		npu_log(s->dev, 7, "submitted %u jobs to queue %u (%s), up to point %llu", s->count,
			s->queue->serial, npu_ring_name(s->queue->ring), (unsigned long long)first);
out:
	free(s->batch);
	free(s->jobs);
	return ret;
}

int npu_submit_many(struct npu_queue *queue, struct npu_stream *const *streams, uint32_t count,
		    const struct npu_submit_options *options, struct npu_fence *fence)
{
	struct submit s = { .queue = queue, .streams = streams, .count = count };
	int ret;

	if (!queue || !streams)
		return npu_fail(EINVAL, "npu_submit: %s is NULL", queue ? "streams" : "queue");
	ret = npu_device_check(queue->dev, "npu_submit");
	if (ret)
		return ret;
	s.dev = queue->dev;
	if (options) {
		ret = npu_take_sized(&s.options, sizeof(s.options), options, "npu_submit_options");
		if (ret)
			return ret;
	}
	if (s.options.flags || s.options.pad)
		return npu_fail(EINVAL, "npu_submit_options: flags is 0x%x and pad 0x%x, not 0",
				s.options.flags, s.options.pad);
	if (!count || count > s.dev->info.max_jobs)
		return npu_fail(EINVAL, "npu_submit: %u jobs, the device takes 1 to %u", count,
				s.dev->info.max_jobs);
	if (s.options.wait_count > s.dev->info.max_syncs ||
	    s.options.signal_count >= s.dev->info.max_syncs)
		return npu_fail(EINVAL,
				"npu_submit: %u waits and %u signals, the device takes at most %u and %u",
				s.options.wait_count, s.options.signal_count, s.dev->info.max_syncs,
				s.dev->info.max_syncs - 1);
	if ((s.options.wait_count && !s.options.wait) ||
	    (s.options.signal_count && !s.options.signal))
		return npu_fail(EINVAL, "npu_submit_options: %s is NULL",
				s.options.wait_count && !s.options.wait ? "wait" : "signal");
	return submit(&s, fence);
}

int npu_submit(struct npu_queue *queue, struct npu_stream *stream,
	       const struct npu_submit_options *options, struct npu_fence *fence)
{
	return npu_submit_many(queue, &stream, 1, options, fence);
}
