// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the device is, how it is set up, and its interrupts.
 */
#include <linux/bitfield.h>
#include <linux/interrupt.h>
#include <linux/log2.h>
#include <linux/pci.h>

#include "npu_drv.h"
#include "npu_hw.h"
#include "npu_ring.h"

#define NPU_FAULT_DELAY_MS	10

static u64 npu_read64(struct npu_device *npu, u32 reg)
{
	u64 lo = npu_read(npu, reg);

	return lo | (u64)npu_read(npu, reg + 4) << 32;
}

/* The device's numbers size our memory, so nonsense is refused here. */
static int npu_hw_check(struct npu_device *npu)
{
	const struct npu_caps *caps = &npu->caps;

	if (!(caps->rings & GENMASK(NPU_RING_COUNT - 1, 0)) || !caps->asids ||
	    caps->asids > NPU_MMU_ASID_ALL || caps->ring_max < 2 ||
	    !is_power_of_2(caps->ring_max) ||
	    caps->stream_max < sizeof(struct npu_stream_header) ||
	    npu_read(npu, NPU_REG_ADDRESS_BITS) != NPU_ADDRESS_BITS) {
		drm_err(&npu->drm, "device reports impossible limits\n");
		return -ENODEV;
	}

	return 0;
}

int npu_hw_probe(struct npu_device *npu)
{
	u32 id = npu_read(npu, NPU_REG_ID), version = npu_read(npu, NPU_REG_VERSION);
	struct npu_caps *caps = &npu->caps;

	if (id != NPU_ID_MAGIC) {
		drm_err(&npu->drm, "identification is %#x\n", id);
		return -ENODEV;
	}
	if (FIELD_GET(NPU_VERSION_MAJOR, version) != NPU_REGS_MAJOR) {
		drm_err(&npu->drm, "unknown register interface %#x\n", version);
		return -ENODEV;
	}

	caps->isa = npu_read(npu, NPU_REG_ISA);
	caps->features = npu_read(npu, NPU_REG_CAPS);
	caps->rings = npu_read(npu, NPU_REG_RINGS);
	caps->asids = npu_read(npu, NPU_REG_ASIDS);
	caps->ring_max = npu_read(npu, NPU_REG_RING_MAX);
	caps->stream_max = min_t(u32, npu_read(npu, NPU_REG_STREAM_MAX), NPU_STREAM_MAX);
	caps->clock_hz = npu_read64(npu, NPU_REG_CLOCK_LO);

	return npu_hw_check(npu);
}

/* After a full reset. */
void npu_hw_start(struct npu_device *npu)
{
	u32 vectors = 0;

	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		if (npu->caps.rings & BIT(i))
			npu_ring_enable(&npu->rings[i]);

	/* With a single vector everything is at 0. */
	if (npu->vectors == NPU_IRQ_VECTORS) {
		for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
			vectors |= i << (4 * i);
		vectors |= FIELD_PREP(NPU_IRQ_VECTOR_FAULT, NPU_RING_COUNT);
	}
	npu_write(npu, NPU_REG_IRQ_VECTOR, vectors);
	npu_write(npu, NPU_REG_IRQ_ENABLE, NPU_IRQ_ALL);
}

/*
 * The registers tell of the first fault only. Which rings have stopped they say
 * themselves, and that is what has to be dealt with.
 */
static void npu_handle_fault(struct npu_device *npu, u32 status)
{
	dev_err_ratelimited(npu->drm.dev,
			    "device fault %u on ring %u, ASID %u, bus address %#llx\n",
			    FIELD_GET(NPU_FAULT_KIND, status), FIELD_GET(NPU_FAULT_RING, status),
			    npu_read(npu, NPU_REG_FAULT_ASID),
			    npu_read64(npu, NPU_REG_FAULT_ADDRESS_LO));
	npu_write(npu, NPU_REG_FAULT_STATUS, NPU_FAULT_VALID);

	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		if (npu_read(npu, NPU_RING(i, NPU_REG_RING_STATUS)) & NPU_RING_STATUS_STOPPED)
			npu_ring_break(&npu->rings[i]);
}

static void npu_fault_work(struct work_struct *work)
{
	struct npu_device *npu = container_of(work, struct npu_device, fault_work.work);
	u32 status;
	int idx;

	if (npu_wedged(npu) || !drm_dev_enter(&npu->drm, &idx))
		return;

	status = npu_read(npu, NPU_REG_FAULT_STATUS);
	if (status & NPU_FAULT_VALID && status != NPU_REG_GONE)
		npu_handle_fault(npu, status);
	drm_dev_exit(idx);
}

static bool npu_irq_rings(struct npu_device *npu)
{
	bool any = false;

	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		any |= npu_ring_process(&npu->rings[i]);

	return any;
}

/*
 * Looks at completion slots in memory only: a register access costs more than a
 * job. A message that tells nothing new is no reason to turn interrupts off, so
 * the answer is always the same.
 */
static irqreturn_t npu_irq_ring(int irq, void *data)
{
	npu_irq_rings(data);

	return IRQ_HANDLED;
}

static irqreturn_t npu_irq_fault(int irq, void *data)
{
	struct npu_device *npu = data;

	schedule_delayed_work(&npu->fault_work, 0);

	return IRQ_HANDLED;
}

static bool npu_any_job(struct npu_device *npu)
{
	bool any = false;

	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		any |= !!READ_ONCE(npu->rings[i].job);

	return any;
}

/*
 * One vector for all: what no ring explains may be a fault. So may half of what
 * one does explain, as messages merge; but a look at the registers for each job
 * would be dear, so there is at most one in a while, and none if all is quiet.
 */
static irqreturn_t npu_irq_any(int irq, void *data)
{
	struct npu_device *npu = data;

	if (!npu_irq_rings(npu))
		schedule_delayed_work(&npu->fault_work, 0);
	else if (npu_any_job(npu))
		schedule_delayed_work(&npu->fault_work, msecs_to_jiffies(NPU_FAULT_DELAY_MS));

	return IRQ_HANDLED;
}

int npu_hw_init_irq(struct npu_device *npu)
{
	struct device *dev = npu->drm.dev;
	struct pci_dev *pdev = to_pci_dev(dev);
	int ret;

	INIT_DELAYED_WORK(&npu->fault_work, npu_fault_work);

	/* All or one: in between there is no use. */
	ret = pci_alloc_irq_vectors(pdev, NPU_IRQ_VECTORS, NPU_IRQ_VECTORS, PCI_IRQ_MSIX);
	if (ret < 0)
		ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (ret < 0)
		return dev_err_probe(dev, ret, "no interrupt vectors\n");
	npu->vectors = ret;

	if (npu->vectors == 1)
		return devm_request_irq(dev, pci_irq_vector(pdev, 0), npu_irq_any, 0, NPU_NAME,
					npu);

	for (unsigned int i = 0; i < NPU_RING_COUNT; i++) {
		ret = devm_request_irq(dev, pci_irq_vector(pdev, i), npu_irq_ring, 0,
				       npu_ring_name(i), npu);
		if (ret)
			return ret;
	}

	return devm_request_irq(dev, pci_irq_vector(pdev, NPU_RING_COUNT), npu_irq_fault, 0,
				NPU_NAME "-fault", npu);
}

/* A removed device sends nothing any more, and nothing is on its way after this. */
void npu_hw_fini_irq(struct npu_device *npu)
{
	struct pci_dev *pdev = to_pci_dev(npu->drm.dev);

	for (int i = 0; i < npu->vectors; i++)
		devm_free_irq(npu->drm.dev, pci_irq_vector(pdev, i), npu);
	cancel_delayed_work_sync(&npu->fault_work);
}
