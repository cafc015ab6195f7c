// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hardware fences. Others may hold them (through the scheduler's fences, whose
 * parents they are) after the device was removed and the last file was closed.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "npu_drv.h"
#include "npu_fence.h"

static struct npu_fence *to_npu_fence(struct dma_fence *fence)
{
	return container_of(fence, struct npu_fence, base);
}

static const char *npu_fence_driver_name(struct dma_fence *fence)
{
	return NPU_NAME;
}

static const char *npu_fence_timeline_name(struct dma_fence *fence)
{
	return NPU_NAME "-hw";
}

static void npu_fence_release_work(struct work_struct *work)
{
	struct npu_fence *fence = container_of(work, struct npu_fence, release_work);
	struct npu_device *npu = fence->npu;

	kfree_rcu(fence, base.rcu);
	drm_dev_put(&npu->drm);
	/* The module's exit waits for this work item. */
	module_put(THIS_MODULE);
}

/* May run anywhere, also in an interrupt handler. */
static void npu_fence_release(struct dma_fence *base)
{
	struct npu_fence *fence = to_npu_fence(base);

	queue_work(npu_release_wq, &fence->release_work);
}

static const struct dma_fence_ops npu_fence_ops = {
	.get_driver_name = npu_fence_driver_name,
	.get_timeline_name = npu_fence_timeline_name,
	.release = npu_fence_release,
};

struct npu_fence *npu_fence_create(struct npu_device *npu)
{
	struct npu_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;

	spin_lock_init(&fence->lock);
	INIT_WORK(&fence->release_work, npu_fence_release_work);
	fence->npu = npu;
	drm_dev_get(&npu->drm);
	__module_get(THIS_MODULE);
	/* Nobody compares these fences, so each may have a context of its own. */
	dma_fence_init(&fence->base, &npu_fence_ops, &fence->lock, dma_fence_context_alloc(1), 1);

	return fence;
}

void npu_fence_signal(struct npu_fence *fence, int error)
{
	bool cookie = dma_fence_begin_signalling();

	if (error)
		dma_fence_set_error(&fence->base, error);
	dma_fence_signal(&fence->base);

	dma_fence_end_signalling(cookie);
}
