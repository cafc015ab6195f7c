// SPDX-License-Identifier: MIT
/* A ring's thread: one entry after the other, from the doorbell to HEAD. */
#include "vdev.h"

#include <errno.h>
#include <stdlib.h>

/* Under lock. The engine looks at the flag by itself; all else waits for the condition. */
void ring_cancel(struct ring *r, enum vdev_cancel how)
{
	atomic_store(&r->cancel, how);
	pthread_cond_broadcast(&r->vdev->cond);
}

bool ring_wait(struct ring *r, uint32_t ms)
{
	struct vdev *v = r->vdev;
	uint64_t until = UINT64_MAX;

	if (ms != RING_WAIT_FOREVER)
		until = vdev_host_ns() + ms * 1000000ull;
	pthread_mutex_lock(&v->lock);
	while (!atomic_load(&r->cancel) && vdev_host_ns() < until)
		vdev_wait_until(v, until);
	pthread_mutex_unlock(&v->lock);
	return atomic_load(&r->cancel);
}

static bool ring_runnable(const struct ring *r)
{
	const struct vdev *v = r->vdev;

	return r->enabled && !r->stopped && r->head != r->tail && !r->reset_pending &&
	       !v->reset_pending && !v->stopping && !atomic_load(&r->cancel);
}

static void ring_finish(struct ring *r, const struct job_report *report)
{
	struct vdev *v = r->vdev;
	struct later l = { .times = 1, .irq = NPU_IRQ_RING(r->index) };

	r->head++;
	v->stats.jobs[r->index]++;
	if (report->failed)
		v->stats.faulted++;
	if (report->delay_irq_ms) {
		irq_raise(v, l.irq, false);
		later_add(v, &l, report->delay_irq_ms);
	} else {
		irq_raise(v, l.irq, !report->drop_irq);
	}
}

static void ring_run_one(struct ring *r)
{
	struct vdev *v = r->vdev;
	uint64_t at = r->head & (r->size - 1);
	uint64_t entry = r->base + at * NPU_RING_ENTRY_SIZE;
	uint64_t slot = r->slots + at * NPU_COMPLETION_SIZE;
	struct job_report report = { .end = JOB_DONE };

	r->busy = true;
	pthread_mutex_unlock(&v->lock);
	job_run(r, entry, slot, &report);
	pthread_mutex_lock(&v->lock);

	r->busy = false;
	r->late.armed = false;
	if (report.fault)
		regs_fault(v, r->index, report.fault, report.asid, report.fault_address);
	switch (report.end) {
	case JOB_DONE:
		ring_finish(r, &report);
		break;
	case JOB_STOPPED:
		r->stopped = true;
		break;
	case JOB_CANCELLED:
		v->stats.cancelled++;
		break;
	}
	pthread_cond_broadcast(&v->cond);
}

static void *ring_thread(void *arg)
{
	struct ring *r = arg;
	struct vdev *v = r->vdev;

	pthread_mutex_lock(&v->lock);
	while (!v->quit) {
		if (ring_runnable(r))
			ring_run_one(r);
		else
			pthread_cond_wait(&v->cond, &v->lock);
	}
	pthread_mutex_unlock(&v->lock);
	return NULL;
}

static void ring_release(struct ring *r)
{
	pool_free(r->pool);
	free(r->stream);
	free(r->tlb);
}

int ring_start(struct vdev *v, unsigned int index)
{
	struct ring *r = &v->ring[index];

	r->vdev = v;
	r->index = index;
	r->tlb = calloc(VDEV_TLB_ENTRIES, sizeof(*r->tlb));
	r->stream = aligned_alloc(64, NPU_STREAM_MAX);
	r->pool = pool_new(v->opt.threads);
	if (r->tlb && r->stream && r->pool && !pthread_create(&r->thread, NULL, ring_thread, r))
		return 0;
	ring_release(r);
	return -ENOMEM;
}

void ring_stop(struct ring *r)
{
	pthread_join(r->thread, NULL);
	ring_release(r);
}
