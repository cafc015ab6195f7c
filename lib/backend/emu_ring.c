// SPDX-License-Identifier: MIT
/* The ring threads: which job is next, how it ran, and the time limit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu.h"

void emu_wake_rings(struct emu *emu)
{
	unsigned int i;

	for (i = 0; i < NPU_RING_COUNT; i++)
		if (!npu_list_empty(&emu->rings[i].queues))
			pthread_cond_signal(&emu->rings[i].wake);
}

static struct emu_job *first_job(const struct emu_queue *queue)
{
	return npu_container(queue->jobs.next, struct emu_job, link);
}

/* Of the ready jobs at the heads of queues: the highest priority, then the oldest. */
static struct emu_queue *next_queue(const struct emu_ring *ring)
{
	struct emu_queue *best = NULL;
	struct npu_list *pos;

	npu_list_for(pos, &ring->queues) {
		struct emu_queue *queue = npu_container(pos, struct emu_queue, link);

		if (npu_list_empty(&queue->jobs) || queue->ended || queue->state.faulted ||
		    !emu_job_ready(first_job(queue)))
			continue;
		if (!best || queue->priority > best->priority ||
		    (queue->priority == best->priority &&
		     first_job(queue)->seq < first_job(best)->seq))
			best = queue;
	}
	return best;
}

/* Its fence signals, and what it held goes. */
static void job_end(struct emu *emu, struct emu_queue *queue, struct emu_job *job, int status)
{
	uint32_t i;

	queue->status[job->point % queue->slot_count] = status;
	if (job->wait_count)
		emu->waiting--;
	emu_timeline_signal(emu, queue->timeline, job->point);
	for (i = 0; i < job->signal_count; i++)
		emu_point_done(emu, job->signals[i], job->points[i]);
	emu_job_free(job);
}

void emu_queue_flush(struct emu *emu, struct emu_queue *queue, int status)
{
	while (!npu_list_empty(&queue->jobs)) {
		struct emu_job *job = first_job(queue);

		npu_list_del(&job->link);
		job_end(emu, queue, job, status);
	}
}

static uint64_t device_clock(void *ctx)
{
	return emu_now();
}

static void job_run(struct emu_ring *ring, const struct emu_job *job, struct npu_result *result)
{
	struct emu *emu = ring->emu;
	const struct npu_memory memory = {
		.translate = emu_translate,
		.put = emu_put,
		.ctx = &emu->space,
	};
	const struct npu_engine_job run = {
		.stream = job->stream,
		.size = job->size,
		.ring = ring->number,
		.memory = &memory,
		.cancel = &ring->stop,
		.clock = device_clock,
		.parallel = emu_parallel,
		.parallel_ctx = &emu->pool,
		.threads = emu->dev->info.threads,
	};

	npu_engine_run(&run, result);
}

/* As the device does before the fence signals; a bad address is the submitter's loss. */
static void write_record(struct emu *emu, uint64_t address, const struct npu_result *result)
{
	uint64_t done = 0;

	while (address && done < sizeof(*result)) {
		uint64_t len = sizeof(*result) - done;
		uint32_t rule;
		void *at = emu_translate(&emu->space, address + done, &len, NPU_ACCESS_WRITE,
					 &rule);

		if (!at)
			return;
		memcpy(at, (const uint8_t *)result + done, (size_t)len);
		emu_put(&emu->space);
		done += len;
	}
}

static void queue_fault(struct emu_queue *queue, const struct emu_job *job,
			const struct npu_result *result, uint32_t rule)
{
	queue->state.faulted = 1;
	queue->state.rule = rule;
	queue->state.command = result->command;
	queue->state.fault_address = result->fault_address;
	queue->state.job = job->point;
}

static int job_status(struct emu_ring *ring, struct emu_queue *queue, const struct emu_job *job,
		      const struct npu_result *result)
{
	switch (result->status) {
	case NPU_STATUS_OK:
		return 0;
	case NPU_STATUS_FAULT:
		queue_fault(queue, job, result, result->rule);
		return -EFAULT;
	default:
		if (atomic_load(&ring->stop) == EMU_STOP_CLOSE)
			return -ECANCELED;
		queue_fault(queue, job, result, NPU_RULE_HANG);
		return -ETIME;
	}
}

static void watchdog_kick(struct emu *emu)
{
	if (emu->watchdog_idle)
		pthread_cond_signal(&emu->watchdog_wake);
	emu->watchdog_idle = false;
}

/* With emu->lock held, which is let go of while the job runs. */
static void ring_run(struct emu_ring *ring, struct emu_queue *queue)
{
	struct emu *emu = ring->emu;
	struct emu_job *job = first_job(queue);
	struct npu_result result;
	int status;

	npu_list_del(&job->link);
	queue->running = job;
	ring->busy = true;
	ring->deadline = emu_now() + emu->timeout_ns;
	atomic_store(&ring->stop, EMU_RUN);
	watchdog_kick(emu);
	pthread_mutex_unlock(&emu->lock);
	job_run(ring, job, &result);
	/* A hung device never gets to write its record. */
	if (result.status != NPU_STATUS_CANCELLED || atomic_load(&ring->stop) == EMU_STOP_CLOSE)
		write_record(emu, job->record, &result);
	pthread_mutex_lock(&emu->lock);
	ring->busy = false;
	queue->running = NULL;
	status = job_status(ring, queue, job, &result);
	job_end(emu, queue, job, status);
	if (queue->ended)
		emu_queue_flush(emu, queue, -ESRCH);
	else if (queue->state.faulted)
		emu_queue_flush(emu, queue, -ECANCELED);
}

static void *ring_thread(void *arg)
{
	struct emu_ring *ring = arg;
	struct emu *emu = ring->emu;
	struct emu_queue *queue;

	pthread_mutex_lock(&emu->lock);
	while (!emu->closing || !npu_list_empty(&ring->queues)) {
		queue = emu->closing ? NULL : next_queue(ring);
		if (queue)
			ring_run(ring, queue);
		else
			pthread_cond_wait(&ring->wake, &emu->lock);
	}
	pthread_mutex_unlock(&emu->lock);
	return NULL;
}

/* The thread joins the space here, where a failure can still be told. */
struct ring_start {
	struct emu_ring *ring;
	pthread_cond_t joined;
	int ret;
	bool done;
};

static void *ring_thread_start(void *arg)
{
	struct ring_start *start = arg;
	struct emu_ring *ring = start->ring;
	int ret = emu_space_join(&ring->emu->space);

	pthread_mutex_lock(&ring->emu->lock);
	start->ret = ret;
	start->done = true;
	pthread_cond_signal(&start->joined);
	pthread_mutex_unlock(&ring->emu->lock);
	return ret ? NULL : ring_thread(ring);
}

/* Ends what runs beyond its time; sleeps for good while nothing runs. */
static void *watchdog_thread(void *arg)
{
	struct emu *emu = arg;

	pthread_mutex_lock(&emu->lock);
	while (!emu->closing) {
		uint64_t now = emu_now(), next = UINT64_MAX;
		struct timespec until;
		unsigned int i;

		for (i = 0; i < NPU_RING_COUNT; i++) {
			struct emu_ring *ring = &emu->rings[i];
			unsigned int run = EMU_RUN;

			if (!ring->busy)
				continue;
			if (ring->deadline <= now)
				atomic_compare_exchange_strong(&ring->stop, &run,
							       EMU_STOP_TIMEOUT);
			else if (ring->deadline < next)
				next = ring->deadline;
		}
		if (next == UINT64_MAX) {
			emu->watchdog_idle = true;
			pthread_cond_wait(&emu->watchdog_wake, &emu->lock);
			continue;
		}
		until.tv_sec = (time_t)(next / 1000000000);
		until.tv_nsec = (long)(next % 1000000000);
		pthread_cond_timedwait(&emu->watchdog_wake, &emu->lock, &until);
	}
	pthread_mutex_unlock(&emu->lock);
	return NULL;
}

/* With emu->start held: starts what a first queue of this ring needs. */
int emu_ring_start(struct emu_ring *ring)
{
	struct emu *emu = ring->emu;
	struct ring_start start = { .ring = ring };
	int ret;

	if (!emu->watchdog_started) {
		ret = emu_thread_start(&emu->watchdog, watchdog_thread, emu);
		if (ret)
			return ret;
		emu->watchdog_started = true;
	}
	if (!emu->pool_started) {
		ret = emu_pool_start(&emu->pool, emu->dev->info.threads - 1);
		if (ret)
			return ret;
		emu->pool_started = true;
	}
	if (ring->started)
		return 0;
	if (emu_cond_init(&start.joined))
		return -ENOMEM;
	ret = emu_thread_start(&ring->thread, ring_thread_start, &start);
	if (!ret) {
		pthread_mutex_lock(&emu->lock);
		while (!start.done)
			pthread_cond_wait(&start.joined, &emu->lock);
		pthread_mutex_unlock(&emu->lock);
		ret = start.ret;
		ring->started = !ret;
		if (ret)
			pthread_join(ring->thread, NULL);
	}
	pthread_cond_destroy(&start.joined);
	return ret;
}

void emu_rings_stop(struct emu *emu)
{
	unsigned int i;

	pthread_mutex_lock(&emu->lock);
	emu->closing = true;
	for (i = 0; i < NPU_RING_COUNT; i++)
		pthread_cond_signal(&emu->rings[i].wake);
	pthread_cond_signal(&emu->watchdog_wake);
	pthread_mutex_unlock(&emu->lock);
	for (i = 0; i < NPU_RING_COUNT; i++)
		if (emu->rings[i].started)
			pthread_join(emu->rings[i].thread, NULL);
	if (emu->watchdog_started)
		pthread_join(emu->watchdog, NULL);
}
