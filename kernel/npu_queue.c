// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues: what a file submits jobs to, and what dies by a bad one.
 */
#include <linux/capability.h>
#include <linux/slab.h>

#include "npu_compat.h"
#include "npu_drv.h"
#include "npu_queue.h"
#include "npu_reset.h"
#include "npu_trace.h"

struct npu_queue *npu_queue_lookup(struct npu_client *client, u32 id)
{
	struct npu_queue *queue;

	xa_lock(&client->queues);
	queue = xa_load(&client->queues, id);
	if (queue)
		npu_queue_get(queue);
	xa_unlock(&client->queues);

	return queue;
}

static void npu_queue_release(struct kref *ref)
{
	struct npu_queue *queue = container_of(ref, struct npu_queue, ref);

	npu_client_put(queue->client);
	mutex_destroy(&queue->lock);
	kfree_rcu(queue, rcu);
}

void npu_queue_put(struct npu_queue *queue)
{
	kref_put(&queue->ref, npu_queue_release);
}

/* The first fault is the one that is told. May run in an interrupt handler. */
void npu_queue_set_fault(struct npu_queue *queue, const struct npu_fault *fault)
{
	scoped_guard(spinlock_irqsave, &queue->fault_lock) {
		if (queue->faulted)
			return;
		queue->fault = *fault;
		WRITE_ONCE(queue->faulted, true);
	}
	trace_npu_queue_fault(queue, fault);
}

/* Jobs that have not started end with ESRCH; a running one ends by itself. */
static void npu_queue_close(struct npu_queue *queue)
{
	scoped_guard(mutex, &queue->lock)
		queue->closed = true;
	npu_reset_kill_entity(queue->ring, &queue->entity);
	npu_queue_put(queue);
}

void npu_queue_close_all(struct npu_client *client)
{
	struct npu_queue *queue;
	unsigned long id;

	xa_for_each(&client->queues, id, queue) {
		xa_erase(&client->queues, id);
		npu_queue_close(queue);
	}
}

static int npu_queue_priority(u32 priority, enum drm_sched_priority *out)
{
	switch (priority) {
	case DRM_NPU_PRIORITY_LOW:
		*out = DRM_SCHED_PRIORITY_LOW;
		return 0;
	case DRM_NPU_PRIORITY_NORMAL:
		*out = DRM_SCHED_PRIORITY_NORMAL;
		return 0;
	case DRM_NPU_PRIORITY_HIGH:
		*out = DRM_SCHED_PRIORITY_HIGH;
		return capable(CAP_SYS_NICE) ? 0 : -EACCES;
	default:
		return -EINVAL;
	}
}

static struct npu_queue *npu_queue_create(struct npu_client *client, struct npu_ring *ring,
					  enum drm_sched_priority priority)
{
	struct drm_gpu_scheduler *sched = &ring->sched;
	struct npu_queue *queue;
	int ret;

	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	if (!queue)
		return ERR_PTR(-ENOMEM);
	ret = drm_sched_entity_init(&queue->entity, priority, &sched, 1, NULL);
	if (ret) {
		kfree(queue);
		return ERR_PTR(ret);
	}
	kref_init(&queue->ref);
	queue->client = npu_client_get(client);
	queue->ring = ring;
	mutex_init(&queue->lock);
	spin_lock_init(&queue->fault_lock);

	return queue;
}

int npu_ioctl_queue_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_device *npu = to_npu_device(drm);
	struct npu_client *client = to_npu_client(file);
	struct drm_npu_queue_create *args = data;
	enum drm_sched_priority priority;
	struct npu_queue *queue;
	u32 id;
	int ret;

	if (args->flags || args->ring >= NPU_RING_COUNT || !(npu->caps.rings & BIT(args->ring)))
		return -EINVAL;
	ret = npu_queue_priority(args->priority, &priority);
	if (ret)
		return ret;

	queue = npu_queue_create(client, &npu->rings[args->ring], priority);
	if (IS_ERR(queue))
		return PTR_ERR(queue);

	/* From here on others may find it. */
	ret = xa_alloc(&client->queues, &id, queue, XA_LIMIT(1, NPU_MAX_QUEUES),
		       GFP_KERNEL_ACCOUNT);
	if (ret) {
		npu_queue_close(queue);
		return ret == -EBUSY ? -ENOSPC : ret;
	}
	args->queue = id;

	return 0;
}

int npu_ioctl_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_queue_destroy *args = data;
	struct npu_queue *queue;

	if (args->pad)
		return -EINVAL;

	queue = xa_erase(&to_npu_client(file)->queues, args->queue);
	if (!queue)
		return -ENOENT;
	npu_queue_close(queue);

	return 0;
}

int npu_ioctl_queue_get_state(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_queue_get_state *args = data;
	struct npu_queue *queue;

	queue = npu_queue_lookup(to_npu_client(file), args->queue);
	if (!queue)
		return -ENOENT;

	scoped_guard(spinlock_irq, &queue->fault_lock) {
		args->state = queue->faulted ? DRM_NPU_QUEUE_FAULTED : DRM_NPU_QUEUE_HEALTHY;
		args->rule = queue->fault.rule;
		args->command = queue->fault.command;
		args->fault_address = queue->fault.address;
		args->job = queue->fault.job;
	}
	npu_queue_put(queue);

	return 0;
}
