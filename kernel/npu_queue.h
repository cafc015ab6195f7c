/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_QUEUE_H_
#define _NPU_QUEUE_H_

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <drm/gpu_scheduler.h>

struct drm_device;
struct drm_file;
struct npu_client;
struct npu_ring;

/**
 * struct npu_fault - what killed a queue
 * @rule: NPU_RULE_*
 * @command: index of the command in its stream
 * @address: device address, 0 if the rule is not about one
 * @job: number of the job in its queue
 */
struct npu_fault {
	u32 rule;
	u32 command;
	u64 address;
	u64 job;
};

/**
 * struct npu_queue - jobs in order on one ring
 * @ref: held by the file's table and by each job
 * @rcu: a dependency's callback may still look at @entity when it was removed
 * @client: a reference
 * @ring: hardware queue
 * @entity: scheduler's side
 * @lock: jobs are armed and pushed under it, in one go; protects @closed and
 *	@jobs. Nothing is allocated under it
 * @closed: destroyed, takes no more jobs
 * @jobs: number of the next job
 * @in_flight: jobs that have not ended
 * @fault_lock: protects @fault; taken in interrupt handlers
 * @fault: valid if @faulted
 * @faulted: dead; set once, never cleared
 */
struct npu_queue {
	struct kref ref;
	struct rcu_head rcu;
	struct npu_client *client;
	struct npu_ring *ring;
	struct drm_sched_entity entity;
	struct mutex lock;	/* order of jobs, closed, jobs */
	bool closed;
	u64 jobs;
	atomic_t in_flight;
	spinlock_t fault_lock;	/* fault, faulted */
	struct npu_fault fault;
	bool faulted;
};

struct npu_queue *npu_queue_lookup(struct npu_client *client, u32 id);
void npu_queue_put(struct npu_queue *queue);
void npu_queue_set_fault(struct npu_queue *queue, const struct npu_fault *fault);
void npu_queue_close_all(struct npu_client *client);

static inline struct npu_queue *npu_queue_get(struct npu_queue *queue)
{
	kref_get(&queue->ref);
	return queue;
}

static inline bool npu_queue_faulted(struct npu_queue *queue)
{
	return READ_ONCE(queue->faulted);
}

int npu_ioctl_queue_create(struct drm_device *drm, void *data, struct drm_file *file);
int npu_ioctl_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int npu_ioctl_queue_get_state(struct drm_device *drm, void *data, struct drm_file *file);

#endif
