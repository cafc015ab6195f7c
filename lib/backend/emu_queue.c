// SPDX-License-Identifier: MIT
/* Queues of the emulation, with the driver's rules for taking jobs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>

#include "emu.h"
#include "error.h"

/* As the driver asks before it gives a queue precedence over other users'. */
static bool may_be_high(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		return false;
	return data[CAP_TO_INDEX(CAP_SYS_NICE)].effective & CAP_TO_MASK(CAP_SYS_NICE);
}

int emu_queue_create(struct npu_queue *queue)
{
	struct emu *emu = emu_of(queue->dev);
	struct emu_queue *eq;
	int ret;

	if (queue->priority == NPU_PRIORITY_HIGH && !may_be_high())
		return npu_fail(EACCES, "npu_queue_create: priority HIGH needs CAP_SYS_NICE");
	eq = calloc(1, sizeof(*eq) + queue->slot_count * sizeof(int));
	if (!eq)
		return npu_fail(ENOMEM, "no memory for a queue");
	eq->status = (int *)(eq + 1);
	eq->slot_count = queue->slot_count;
	eq->ring = queue->ring;
	eq->priority = queue->priority;
	eq->timeline = queue->timeline->priv;
	npu_list_init(&eq->jobs);
	pthread_mutex_lock(&emu->start);
	ret = emu_ring_start(&emu->rings[queue->ring]);
	pthread_mutex_unlock(&emu->start);
	if (ret) {
		free(eq);
		return npu_fail(ENOMEM, "no thread for a queue: %s", strerror(-ret));
	}
	pthread_mutex_lock(&emu->lock);
	npu_list_add_tail(&emu->rings[queue->ring].queues, &eq->link);
	pthread_mutex_unlock(&emu->lock);
	queue->priv = eq;
	return 0;
}

void emu_queue_end(struct npu_queue *queue)
{
	struct emu *emu = emu_of(queue->dev);
	struct emu_queue *eq = queue->priv;

	pthread_mutex_lock(&emu->lock);
	eq->ended = true;
	/* Otherwise the ring thread does it, in order, when the running one is done. */
	if (!eq->running)
		emu_queue_flush(emu, eq, -ESRCH);
	pthread_mutex_unlock(&emu->lock);
}

void emu_queue_free(struct npu_queue *queue)
{
	struct emu *emu = emu_of(queue->dev);
	struct emu_queue *eq = queue->priv;
	struct npu_list *pos, *tmp;

	if (queue->dev->forked) {
		npu_list_for_safe(pos, tmp, &eq->jobs)
			emu_job_free(npu_container(pos, struct emu_job, link));
	} else {
		pthread_mutex_lock(&emu->lock);
		npu_list_del(&eq->link);
		pthread_mutex_unlock(&emu->lock);
	}
	free(eq);
}

int emu_queue_state(struct npu_queue *queue, struct npu_queue_state *state)
{
	struct emu *emu = emu_of(queue->dev);
	struct emu_queue *eq = queue->priv;
	size_t size = state->size;

	pthread_mutex_lock(&emu->lock);
	*state = eq->state;
	pthread_mutex_unlock(&emu->lock);
	state->size = size;
	return 0;
}

int emu_job_status(struct npu_queue *queue, uint64_t point)
{
	struct emu *emu = emu_of(queue->dev);
	struct emu_queue *eq = queue->priv;
	int status;

	pthread_mutex_lock(&emu->lock);
	status = eq->status[point % eq->slot_count];
	pthread_mutex_unlock(&emu->lock);
	return status;
}

void emu_job_free(struct emu_job *job)
{
	free(job->signals);
	free(job);
}

/* The last job of a submit carries its signals: timelines, then a point for each. */
static int take_signals(struct emu_job *job, const struct npu_batch *batch)
{
	uint32_t i, n = batch->signal_count;

	if (!n)
		return 0;
	job->signals = calloc(n, sizeof(*job->signals) + sizeof(*job->points));
	if (!job->signals)
		return -ENOMEM;
	job->points = (struct emu_point **)(job->signals + n);
	for (i = 0; i < n; i++) {
		job->points[i] = calloc(1, sizeof(*job->points[i]));
		if (!job->points[i])
			return -ENOMEM;
		job->points[i]->point = batch->signals[i].point;
		job->signals[i] = batch->signals[i].timeline->priv;
		job->signal_count++;
	}
	return 0;
}

static void free_jobs(struct npu_list *jobs)
{
	struct npu_list *pos, *tmp;

	npu_list_for_safe(pos, tmp, jobs) {
		struct emu_job *job = npu_container(pos, struct emu_job, link);

		while (job->signal_count)
			free(job->points[--job->signal_count]);
		emu_job_free(job);
	}
}

static struct emu_job *job_create(const struct npu_backend_job *from, uint64_t point)
{
	struct emu_job *job = malloc(sizeof(*job) + from->size);

	if (!job)
		return NULL;
	memset(job, 0, sizeof(*job));
	job->point = point;
	job->record = from->record;
	job->size = from->size;
	memcpy(job->stream, from->stream, from->size);
	return job;
}

/* Everything that may fail. */
static int build_jobs(const struct npu_submission *s, struct npu_list *jobs)
{
	const struct npu_batch *batch = s->batch;
	uint64_t most = s->queue->dev->info.max_stream;
	struct emu_job *job = NULL;
	uint32_t i;

	for (i = 0; i < s->count; i++) {
		uint32_t size = s->jobs[i].size;

		if (size < sizeof(struct npu_stream_header) || size > most || size % 8)
			return npu_fail(EINVAL,
					"npu_submit: a stream of %u bytes: the device takes 16 to %llu, a multiple of 8",
					size, (unsigned long long)most);
		job = job_create(&s->jobs[i], batch->first + i);
		if (!job)
			return npu_fail(ENOMEM, "no memory for a job");
		npu_list_add_tail(jobs, &job->link);
		if (!i) {
			job->waits = batch->waits;
			job->wait_count = batch->wait_count;
		}
	}
	return take_signals(job, batch) ? npu_fail(ENOMEM, "no memory for a job") : 0;
}

/* With emu->lock held: from here on nothing fails. */
static void push_jobs(struct emu *emu, struct emu_queue *eq, struct npu_list *jobs)
{
	struct npu_list *pos, *tmp;
	uint32_t i;

	npu_list_for_safe(pos, tmp, jobs) {
		struct emu_job *job = npu_container(pos, struct emu_job, link);

		npu_list_del(&job->link);
		job->seq = emu->seq++;
		if (job->wait_count)
			emu->waiting++;
		for (i = 0; i < job->signal_count; i++)
			npu_list_add_tail(&job->signals[i]->points, &job->points[i]->link);
		npu_list_add_tail(&eq->jobs, &job->link);
	}
	pthread_cond_signal(&emu->rings[eq->ring].wake);
}

int emu_submit(const struct npu_submission *s)
{
	struct emu *emu = emu_of(s->queue->dev);
	struct emu_queue *eq = s->queue->priv;
	struct npu_list jobs;
	int ret;

	npu_list_init(&jobs);
	ret = build_jobs(s, &jobs);
	if (ret)
		goto err;
	pthread_mutex_lock(&emu->lock);
	if (eq->state.faulted || eq->ended)
		ret = npu_fail(EIO,
			       "npu_submit: the queue is dead since job %llu (rule %s); destroy it and create another",
			       (unsigned long long)eq->state.job, npu_rule_name(eq->state.rule));
	else
		push_jobs(emu, eq, &jobs);
	pthread_mutex_unlock(&emu->lock);
	if (!ret)
		return 0;
err:
	free_jobs(&jobs);
	return ret;
}
