/* SPDX-License-Identifier: MIT */
/* Queues, timelines, and the submits that are not finished. */
#ifndef NPU_QUEUE_H
#define NPU_QUEUE_H

#include <pthread.h>

#include "list.h"
#include "npu.h"

/*
 * struct npu_timeline - points that signal in ascending order
 * @queue: whose jobs its points are; NULL: the application's own, or a destroyed queue's
 * @last: highest submitted point
 * @signalled: highest point known to have signalled
 * @refs: the owner and unfinished submits
 * @failures: own timelines: points whose jobs failed, the last few of them
 */
#define NPU_FAILURES 64

struct npu_timeline {
	struct npu_list link;
	struct npu_device *dev;
	struct npu_queue *queue;
	uint64_t last;
	uint64_t signalled;
	uint32_t refs;
	uint32_t handle;		/* the backend's two */
	void *priv;
	struct npu_failure {
		uint64_t point;
		int status;
	} failures[NPU_FAILURES];
	uint32_t failure_count;
};

/*
 * struct npu_queue - jobs in order on one ring
 * @submit: makes a submit one step
 * @timeline: point n is job n - 1
 * @records: result records, the job of point p in slot p % slot_count; there are more
 *	slots than jobs in flight, so that the last results outlive a submit that fails
 * @status: of finished jobs, by slot
 * @batches: submits that have not been found finished yet, oldest first
 */
struct npu_queue {
	struct npu_list link;
	struct npu_device *dev;
	uint32_t ring;
	uint32_t priority;
	uint32_t serial;
	pthread_mutex_t submit;
	struct npu_timeline *timeline;
	struct npu_bo *records;
	int *status;
	uint32_t slot_count;
	uint64_t reaped;		/* highest point whose submit was found finished */
	struct npu_list batches;
	uint32_t handle;		/* the backend's two */
	void *priv;
};

/* One submit. */
struct npu_batch {
	struct npu_list link;
	uint64_t first, last;		/* points */
	struct npu_bo **bos;
	uint32_t *bo_flags;
	uint32_t bo_count;
	struct npu_fence *waits;
	uint32_t wait_count;
	struct npu_fence *signals;
	uint32_t signal_count;
};

struct npu_result *npu_queue_record(const struct npu_queue *queue, uint64_t point);
uint64_t npu_queue_record_address(const struct npu_queue *queue, uint64_t point);

/* All of these want the device's lock held. */
void npu_timeline_unref_locked(struct npu_timeline *timeline);
/* Takes note of the submits that end at or below @signalled and lets go of what they used. */
void npu_queue_reap_locked(struct npu_queue *queue, uint64_t signalled);
/* The same for every queue, after asking the backend. */
void npu_device_reap_locked(struct npu_device *dev);
void npu_batch_release_locked(struct npu_queue *queue, struct npu_batch *batch);

struct npu_batch *npu_batch_alloc(uint32_t bos, uint32_t waits, uint32_t signals);
int npu_timeline_new(struct npu_device *dev, struct npu_queue *queue,
		     struct npu_timeline **timeline);
/* Frees the structure and no more. */
void npu_queue_free(struct npu_queue *queue);
/* Status of the finished job of @point, with its sentence if that is not 0. */
int npu_queue_job_failed_locked(struct npu_queue *queue, uint64_t point);

/* Waits until no submit uses a destroyed BO any more. */
void npu_device_settle(struct npu_device *dev);
/* Waits for the submits that use @bo; -ETIMEDOUT. */
int npu_device_wait_jobs(struct npu_device *dev, const struct npu_bo *bo, int64_t deadline);

#endif
