// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery: ring reset, full reset, wedged. All of it runs on one ordered
 * workqueue, as time-out handlers or as work items, with the schedulers
 * concerned stopped; so no two of these ever meet.
 *
 * A ring reset ends the guilty job. A full reset also ends what the other rings
 * run, which is not run again, as a job may have worked in place. When that
 * fails too the device is cut off from memory and the file's calls end.
 */
#include <linux/iopoll.h>
#include <linux/kobject.h>
#include <drm/drm_managed.h>

#include "npu_coredump.h"
#include "npu_drv.h"
#include "npu_hw.h"
#include "npu_job.h"
#include "npu_reset.h"
#include "npu_trace.h"

#define NPU_RING_RESET_TIMEOUT_US	500000
#define NPU_FULL_RESET_TIMEOUT_US	1000000
#define NPU_RESET_POLL_US		200

/*
 * Requests have numbers, so that a late answer is not mistaken. Nor must be the
 * last answer to a former driver, which has counted from 0 as well.
 */
static u32 npu_reset_next(u32 *seq, u32 ack)
{
	do {
		++*seq;
	} while (!*seq || *seq == ack);

	return *seq;
}

static int npu_reset_ring(struct npu_ring *ring)
{
	struct npu_device *npu = ring->npu;
	u32 ack = npu_read(npu, NPU_RING(ring->id, NPU_REG_RING_RESET_ACK));
	u32 seq = npu_reset_next(&ring->reset_seq, ack);
	int ret;

	npu_write(npu, NPU_RING(ring->id, NPU_REG_RING_RESET), seq);
	ret = readl_poll_timeout(npu->regs + NPU_RING(ring->id, NPU_REG_RING_RESET_ACK), ack,
				 ack == seq, NPU_RESET_POLL_US, NPU_RING_RESET_TIMEOUT_US);
	trace_npu_reset(npu_ring_engine(ring->id), ret);

	return ret;
}

/* Full reset; afterwards the device is as after power-on. */
int npu_reset_device(struct npu_device *npu)
{
	u32 ack = npu_read(npu, NPU_REG_RESET_ACK);
	u32 seq = npu_reset_next(&npu->reset_seq, ack);
	int ret;

	npu_write(npu, NPU_REG_RESET, seq);
	ret = readl_poll_timeout(npu->regs + NPU_REG_RESET_ACK, ack, ack == seq,
				 NPU_RESET_POLL_US, NPU_FULL_RESET_TIMEOUT_US);
	trace_npu_reset("device", ret);

	return ret;
}

/* No write of the device reaches memory after this. */
static void npu_cut_off(struct npu_device *npu)
{
	struct pci_dev *pdev = to_pci_dev(npu->drm.dev);
	u16 command;

	pci_clear_master(pdev);
	pci_read_config_word(pdev, PCI_COMMAND, &command);
}

/* Ends what the rings run. */
static void npu_end_jobs(struct npu_device *npu, int error)
{
	for (unsigned int i = 0; i < NPU_RING_COUNT; i++) {
		struct npu_job *job = npu_ring_take_job(&npu->rings[i]);

		if (job)
			npu_job_end(job, error);
	}
}

static void npu_wedge(struct npu_device *npu)
{
	drm_err(&npu->drm, "device wedged: no reset is acknowledged\n");
	/* Who finds it wedged takes it that memory is safe. */
	npu_cut_off(npu);
	WRITE_ONCE(npu->wedged, true);
	npu_end_jobs(npu, -ENODEV);
	schedule_work(&npu->wedged_work);
}

static void npu_process_rings(struct npu_device *npu)
{
	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		npu_ring_process(&npu->rings[i]);
}

static void npu_stop_scheds(struct npu_device *npu, struct npu_ring *except)
{
	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		if (&npu->rings[i] != except)
			drm_sched_wqueue_stop(&npu->rings[i].sched);
}

static void npu_start_scheds(struct npu_device *npu, struct npu_ring *except)
{
	if (npu->paused)
		return;
	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		if (&npu->rings[i] != except)
			drm_sched_wqueue_start(&npu->rings[i].sched);
}

/* The scheduler of @guilty, if there is one, is stopped and its job taken. */
static void npu_reset_all(struct npu_device *npu, struct npu_ring *guilty)
{
	npu_stop_scheds(npu, guilty);
	if (npu_reset_device(npu)) {
		npu_wedge(npu);
	} else {
		/* What has completed before has completed. */
		npu_process_rings(npu);
		npu_end_jobs(npu, -ECANCELED);
		npu_hw_start(npu);
		WRITE_ONCE(npu->resets, npu->resets + 1);
		drm_info(&npu->drm, "full reset\n");
	}
	npu_start_scheds(npu, guilty);
}

/*
 * Is there a job over its time, or did the time-out come to one that just began?
 */
static bool npu_ring_overdue(struct npu_ring *ring, unsigned int limit_ms)
{
	s64 ms;

	scoped_guard(spinlock_irq, &ring->lock) {
		if (!ring->job || ring->broken)
			return ring->broken;
		ms = ktime_ms_delta(ktime_get(), ring->start);
	}

	return ms >= limit_ms;
}

/* What counts is what the ring has. Its scheduler is stopped. */
static void npu_reset_if_hung(struct npu_ring *ring, unsigned int limit_ms)
{
	struct npu_device *npu = ring->npu;
	u32 rule = NPU_RULE_HANG;
	struct npu_job *job;

	/* An interrupt may have been lost, or may be late. */
	npu_ring_process(ring);
	if (npu->stopped || npu->wedged || !npu_ring_overdue(ring, limit_ms))
		return;

	if (ring->broken)
		rule = NPU_RULE_DEVICE;
	/* From here on a completion comes too late. */
	job = npu_ring_take_job(ring);
	if (job)
		npu_coredump_take(ring, job, rule);
	if (!npu_reset_ring(ring)) {
		npu_ring_enable(ring);
	} else {
		drm_err(&npu->drm, "%s: reset is not acknowledged\n", npu_ring_name(ring->id));
		npu_reset_all(npu, ring);
	}

	/* Broken while it was idle? */
	if (!job)
		return;
	drm_dbg_driver(&npu->drm, "%s: job %llu of its queue hung\n", npu_ring_name(ring->id),
		       job->number);
	if (npu->wedged)
		npu_job_end(job, -ENODEV);
	else
		npu_job_hang(job, rule);
}

/*
 * On behalf of the time-out handler. Which job the scheduler means is of no
 * interest: it may be one that has ended and is yet to be freed, while a later
 * one hangs. There is no drm_sched_stop(), which takes whatever has not
 * signalled for lost: when the scheduler goes on, nothing is left unsignalled.
 */
void npu_reset_hung(struct npu_ring *ring)
{
	struct npu_device *npu = ring->npu;

	if (npu->paused)
		return;

	drm_sched_wqueue_stop(&ring->sched);
	/*
	 * The scheduler's clock starts earlier than ours and ticks otherwise, so
	 * don't be exact: the next time-out would be as long again.
	 */
	npu_reset_if_hung(ring, npu->timeout_ms / 2);
	drm_sched_wqueue_start(&ring->sched);
}

void npu_reset_broken_work(struct work_struct *work)
{
	npu_reset_hung(container_of(work, struct npu_ring, broken_work));
}

static void npu_reset_work(struct work_struct *work)
{
	struct npu_device *npu = container_of(work, struct npu_device, reset_work);

	if (!npu->stopped && !npu->wedged && npu->resets == npu->reset_gen)
		npu_reset_all(npu, NULL);
}

/*
 * Full reset, unless there was one since @resets was read. Returns when the
 * device has been reset or is cut off. Under &npu_device.mmu_lock.
 */
void npu_reset_request(struct npu_device *npu, unsigned int resets)
{
	lockdep_assert_held(&npu->mmu_lock);
	npu->reset_gen = resets;
	queue_work(npu->reset_wq, &npu->reset_work);
	flush_work(&npu->reset_work);
}

static void npu_stop_work(struct work_struct *work)
{
	struct npu_device *npu = container_of(work, struct npu_device, stop_work);

	npu_stop_scheds(npu, NULL);
	/* A device that won't be reset is cut off all the same. */
	if (!npu->wedged)
		npu_reset_device(npu);
	npu_cut_off(npu);
	npu->stopped = true;
	npu_process_rings(npu);
	npu_end_jobs(npu, -ENODEV);
	complete_all(&npu->quiesced);
	/* What waits ends with ENODEV when its turn comes. */
	npu_start_scheds(npu, NULL);
}

/* The device is being removed and was unplugged: nothing new gets to it. */
void npu_reset_stop(struct npu_device *npu)
{
	queue_work(npu->reset_wq, &npu->stop_work);
	flush_work(&npu->stop_work);
	cancel_work_sync(&npu->wedged_work);
	npu_coredump_fini(npu);
}

/**
 * struct npu_kill - request to end a scheduler's entity
 * @work: on the reset workqueue
 * @ring: its ring
 * @entity: what to end
 */
struct npu_kill {
	struct work_struct work;
	struct npu_ring *ring;
	struct drm_sched_entity *entity;
};

static void npu_kill_work(struct work_struct *work)
{
	struct npu_kill *kill = container_of(work, struct npu_kill, work);
	struct npu_ring *ring = kill->ring;

	drm_sched_wqueue_stop(&ring->sched);
	drm_sched_entity_fini(kill->entity);
	if (!ring->npu->paused)
		drm_sched_wqueue_start(&ring->sched);
}

/*
 * drm_sched_entity_fini() with the scheduler stopped. Else what is about to run
 * a job of the entity may put it back into the tree of those that have jobs,
 * after it was taken out for good.
 */
void npu_reset_kill_entity(struct npu_ring *ring, struct drm_sched_entity *entity)
{
	struct npu_kill kill = { .ring = ring, .entity = entity };

	INIT_WORK_ONSTACK(&kill.work, npu_kill_work);
	queue_work(ring->npu->reset_wq, &kill.work);
	flush_work(&kill.work);
	destroy_work_on_stack(&kill.work);
}

/* Waits for the end of what the ring runs; there is a limit to that. */
static void npu_drain_ring(struct npu_ring *ring)
{
	npu_ring_process(ring);
	while (READ_ONCE(ring->job) && !ring->npu->wedged) {
		usleep_range(1000, 2000);
		npu_reset_if_hung(ring, ring->npu->timeout_ms);
	}
}

static void npu_pause_work(struct work_struct *work)
{
	struct npu_device *npu = container_of(work, struct npu_device, pause_work);

	npu_stop_scheds(npu, NULL);
	npu->paused = true;
	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		npu_drain_ring(&npu->rings[i]);
}

/* Lets running jobs end and starts no others. */
void npu_reset_pause(struct npu_device *npu)
{
	queue_work(npu->reset_wq, &npu->pause_work);
	flush_work(&npu->pause_work);
}

static void npu_resume_work(struct work_struct *work)
{
	struct npu_device *npu = container_of(work, struct npu_device, resume_work);

	if (!npu->wedged) {
		if (npu_reset_device(npu))
			npu_wedge(npu);
		else
			npu_hw_start(npu);
	}
	/* No job has run meanwhile, so there was nothing to invalidate. */
	WRITE_ONCE(npu->asleep, false);
	npu->paused = false;
	npu_start_scheds(npu, NULL);
}

/* Sets the device up and lets jobs run. */
void npu_reset_resume(struct npu_device *npu)
{
	queue_work(npu->reset_wq, &npu->resume_work);
	flush_work(&npu->resume_work);
}

/*
 * drm_dev_wedged_event() is of no use here: it takes the primary minor, which
 * an accel device does not have.
 */
static void npu_wedged_work(struct work_struct *work)
{
	struct npu_device *npu = container_of(work, struct npu_device, wedged_work);
	char *env[2] = { "WEDGED=rebind,bus-reset", NULL };

	kobject_uevent_env(&npu->drm.accel->kdev->kobj, KOBJ_CHANGE, env);
}

static void npu_reset_wq_fini(struct drm_device *drm, void *wq)
{
	destroy_workqueue(wq);
}

int npu_reset_init(struct npu_device *npu)
{
	INIT_WORK(&npu->reset_work, npu_reset_work);
	INIT_WORK(&npu->stop_work, npu_stop_work);
	INIT_WORK(&npu->pause_work, npu_pause_work);
	INIT_WORK(&npu->resume_work, npu_resume_work);
	INIT_WORK(&npu->wedged_work, npu_wedged_work);
	init_completion(&npu->quiesced);

	npu->reset_wq = alloc_ordered_workqueue("npu-reset", WQ_MEM_RECLAIM);
	if (!npu->reset_wq)
		return -ENOMEM;

	return drmm_add_action_or_reset(&npu->drm, npu_reset_wq_fini, npu->reset_wq);
}
