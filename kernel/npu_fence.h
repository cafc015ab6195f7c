/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_FENCE_H_
#define _NPU_FENCE_H_

#include <linux/dma-fence.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct npu_device;

/**
 * struct npu_fence - hardware fence of one job
 * @base: signalled when the job is over, in whatever way
 * @lock: @base's
 * @npu: a reference: schedulers, and with them the names that fences print,
 *	live as long as any fence does
 * @release_work: drops that reference and the module's where sleeping is allowed
 */
struct npu_fence {
	struct dma_fence base;
	spinlock_t lock;	/* base's */
	struct npu_device *npu;
	struct work_struct release_work;
};

struct npu_fence *npu_fence_create(struct npu_device *npu);
void npu_fence_signal(struct npu_fence *fence, int error);

#endif
