// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/accel/N: what the driver knows, and what the registers say.
 * Everything that is looked at is held by a lock meanwhile.
 */
#include <linux/seq_file.h>
#include <drm/drm_debugfs.h>

#include "npu_debugfs.h"
#include "npu_drv.h"
#include "npu_job.h"

static struct npu_device *npu_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_npu_device(entry->dev);
}

static void npu_show_ring(struct seq_file *m, struct npu_ring *ring)
{
	s64 running_us = -1;
	u64 sequence, job = 0, queue = 0;
	bool broken;
	u32 tail;

	scoped_guard(spinlock_irq, &ring->lock) {
		sequence = ring->sequence;
		tail = ring->tail;
		broken = ring->broken;
		if (ring->job) {
			running_us = ktime_us_delta(ktime_get(), ring->start);
			job = ring->job->number;
			queue = ring->job->queue->entity.fence_context;
		}
	}

	seq_printf(m, "%s: sequence %llu tail %u credits %d%s", npu_ring_engine(ring->id), sequence,
		   tail, atomic_read(&ring->sched.credit_count), broken ? " broken" : "");
	if (running_us >= 0)
		seq_printf(m, " running: queue %llu job %llu for %lld us", queue, job, running_us);
	seq_putc(m, '\n');
}

static int npu_show_rings(struct seq_file *m, void *unused)
{
	struct npu_device *npu = npu_debugfs_device(m);

	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		npu_show_ring(m, &npu->rings[i]);
	seq_printf(m, "full resets: %u%s\n", READ_ONCE(npu->resets),
		   npu_wedged(npu) ? ", wedged" : "");

	return 0;
}

static int npu_show_spaces(struct seq_file *m, void *unused)
{
	struct npu_device *npu = npu_debugfs_device(m);
	struct npu_vm *vm;

	guard(mutex)(&npu->vms_lock);
	list_for_each_entry(vm, &npu->vms, node)
		npu_vm_show(vm, m);

	return 0;
}

static const struct {
	const char *name;
	u32 reg;
} npu_debugfs_regs[] = {
	{ "id", NPU_REG_ID },
	{ "version", NPU_REG_VERSION },
	{ "isa", NPU_REG_ISA },
	{ "caps", NPU_REG_CAPS },
	{ "status", NPU_REG_STATUS },
	{ "irq-status", NPU_REG_IRQ_STATUS },
	{ "irq-enable", NPU_REG_IRQ_ENABLE },
	{ "irq-vector", NPU_REG_IRQ_VECTOR },
	{ "mmu-invalidate", NPU_REG_MMU_INVALIDATE },
	{ "mmu-ack", NPU_REG_MMU_ACK },
	{ "fault-status", NPU_REG_FAULT_STATUS },
	{ "reset-ack", NPU_REG_RESET_ACK },
};

static int npu_show_regs(struct seq_file *m, void *unused)
{
	struct npu_device *npu = npu_debugfs_device(m);
	int idx;

	if (!drm_dev_enter(&npu->drm, &idx))
		return -ENODEV;

	for (unsigned int i = 0; i < ARRAY_SIZE(npu_debugfs_regs); i++)
		seq_printf(m, "%s %#010x\n", npu_debugfs_regs[i].name,
			   npu_read(npu, npu_debugfs_regs[i].reg));
	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		seq_printf(m, "%s head %u tail %u status %#x\n", npu_ring_engine(i),
			   npu_read(npu, NPU_RING(i, NPU_REG_RING_HEAD)),
			   npu_read(npu, NPU_RING(i, NPU_REG_RING_TAIL)),
			   npu_read(npu, NPU_RING(i, NPU_REG_RING_STATUS)));
	drm_dev_exit(idx);

	return 0;
}

static const struct drm_debugfs_info npu_debugfs_files[] = {
	{ "rings", npu_show_rings },
	{ "spaces", npu_show_spaces },
	{ "regs", npu_show_regs },
};

void npu_debugfs_init(struct npu_device *npu)
{
	drm_debugfs_add_files(&npu->drm, npu_debugfs_files, ARRAY_SIZE(npu_debugfs_files));
}
