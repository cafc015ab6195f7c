// SPDX-License-Identifier: MIT
/*
 * What the device does by itself: acknowledging invalidations and resets once
 * nothing is on its way any more, and the late effects that tests inject.
 */
#include "vdev.h"

#include <endian.h>
#include <string.h>

static void ring_reset_regs(struct ring *r)
{
	r->head = 0;
	r->tail = 0;
	r->enabled = false;
	r->stopped = false;
	r->reset_pending = false;
	atomic_store(&r->cancel, r->vdev->quit ? CANCEL_QUIT : CANCEL_NONE);
}

void maintenance_reset_regs(struct vdev *v)
{
	unsigned int n;

	for (n = 0; n < NPU_RING_COUNT; n++) {
		struct ring *r = &v->ring[n];

		r->vdev = v;
		ring_reset_regs(r);
		r->base = 0;
		r->slots = 0;
		r->size = 0;
		r->reset = 0;
		r->reset_ack = 0;
	}
	v->reset_pending = false;
	v->reset = 0;
	v->irq_status = 0;
	v->irq_enable = 0;
	v->irq_vector = 0;
	v->mmu_pending = false;
	v->mmu_request = 0;
	v->mmu_ack = 0;
	v->fault_status = 0;
	v->fault_asid = 0;
	v->fault_address = 0;
}

void later_add(struct vdev *v, const struct later *l, uint32_t ms)
{
	if (v->later_count == VDEV_MAX_LATER) {
		vdev_log(v, "too many delayed actions, one is lost");
		return;
	}
	v->later[v->later_count] = *l;
	v->later[v->later_count++].due = vdev_host_ns() + ms * 1000000ull;
	pthread_cond_broadcast(&v->cond);
}

static bool late_copy(struct vdev *v, uint64_t at, const void *data, size_t size)
{
	return at && dma_write(&v->dma, at, data, size) == DMA_OK;
}

/* Drops the lock: it writes to guest memory. */
static void late_write(struct vdev *v, const struct late_write *w)
{
	uint8_t junk[128];
	unsigned int tried, landed;

	memset(junk, 0xee, sizeof(junk));
	tried = !!w->page + !!w->record + !!w->slot;
	v->late_busy = true;
	pthread_mutex_unlock(&v->lock);
	landed = late_copy(v, w->page, junk, sizeof(junk));
	/* within the record's own page: the next one may be anybody's */
	landed += late_copy(v, w->record, junk,
			    w->record % NPU_PAGE_SIZE > NPU_PAGE_SIZE - sizeof(junk) ?
			    8 : sizeof(junk));
	landed += late_copy(v, w->slot, &w->completion, sizeof(w->completion));
	pthread_mutex_lock(&v->lock);
	v->late_busy = false;
	pthread_cond_broadcast(&v->cond);
	v->stats.late_writes += tried;
	v->stats.late_landed += landed;
	vdev_log(v, "late write: %u of %u landed", landed, tried);
}

/* Runs one delayed action that is due. False if none is; *next: when the next one will be. */
static bool later_run(struct vdev *v, uint64_t *next)
{
	uint64_t now = vdev_host_ns();
	unsigned int n;

	*next = UINT64_MAX;
	for (n = 0; n < v->later_count; n++) {
		struct later *l = &v->later[n];
		struct later run = *l;

		if (l->due > now) {
			if (l->due < *next)
				*next = l->due;
			continue;
		}
		l->due = now + l->interval;
		if (!l->times || !--l->times)
			*l = v->later[--v->later_count];
		if (run.irq)
			irq_send(v, run.irq);
		else
			late_write(v, &run.write);
		return true;
	}
	return false;
}

static bool rings_idle(const struct vdev *v)
{
	unsigned int n;

	for (n = 0; n < NPU_RING_COUNT; n++) {
		if (v->ring[n].busy)
			return false;
	}
	return true;
}

static bool ring_resets(struct vdev *v)
{
	bool done = false;
	unsigned int n;

	for (n = 0; n < NPU_RING_COUNT; n++) {
		struct ring *r = &v->ring[n];

		if (!r->reset_pending || r->busy)
			continue;
		ring_reset_regs(r);
		r->reset_ack = r->reset;
		v->stats.ring_resets++;
		vdev_log(v, "ring %u reset %#x", n, r->reset);
		done = true;
	}
	return done;
}

/* Under lock, which is dropped: waits until translations that others hold are over. */
static void forget(struct vdev *v, uint32_t asid)
{
	pthread_mutex_unlock(&v->lock);
	dma_close(&v->dma);
	mmu_forget(v, asid);
	dma_open(&v->dma);
	pthread_mutex_lock(&v->lock);
}

static void full_reset(struct vdev *v)
{
	uint32_t number;

	/* no ring starts meanwhile: the reset is still pending */
	forget(v, NPU_MMU_ASID_ALL);
	if (!v->reset_pending || v->stopping)
		return;
	number = v->reset;
	maintenance_reset_regs(v);
	v->reset_ack = number;
	v->stats.resets++;
	vdev_log(v, "full reset %#x", number);
	pthread_cond_broadcast(&v->cond);
}

static void invalidate(struct vdev *v)
{
	uint32_t request = v->mmu_request;

	v->mmu_pending = false;
	forget(v, request & NPU_MMU_ASID);
	/* a reset in between has forgotten the request, too */
	if (v->mmu_request == request)
		v->mmu_ack = request;
	v->stats.invalidations++;
}

void *maintenance_thread(void *arg)
{
	struct vdev *v = arg;
	uint64_t next;

	pthread_mutex_lock(&v->lock);
	while (!v->quit) {
		if (v->reset_pending && !v->stopping && rings_idle(v))
			full_reset(v);
		else if (!v->reset_pending && ring_resets(v))
			pthread_cond_broadcast(&v->cond);
		else if (v->mmu_pending)
			invalidate(v);
		else if (!later_run(v, &next))
			vdev_wait_until(v, next);
	}
	pthread_mutex_unlock(&v->lock);
	return NULL;
}
