// SPDX-License-Identifier: MIT
/*
 * PCI configuration space. QEMU keeps the BARs and the message tables by
 * itself and passes every write on; what matters here is bus mastering, the
 * power state and the function-level reset.
 */
#include "vdev.h"

#include <linux/pci_regs.h>
#include <string.h>

#define CAP_PM		0x40
#define CAP_MSI		0x50
#define CAP_MSIX	0x60
#define CAP_EXP		0x70

static void put(struct vdev *v, unsigned int at, unsigned int bytes, uint32_t value, uint32_t mask)
{
	unsigned int n;

	for (n = 0; n < bytes; n++) {
		v->config[at + n] = value >> 8 * n;
		v->config_mask[at + n] = mask >> 8 * n;
	}
}

static uint32_t get(const struct vdev *v, unsigned int at)
{
	return v->config[at] | v->config[at + 1] << 8;
}

static void init_header(struct vdev *v)
{
	put(v, PCI_VENDOR_ID, 2, NPU_PCI_VENDOR, 0);
	put(v, PCI_DEVICE_ID, 2, NPU_PCI_DEVICE, 0);
	put(v, PCI_COMMAND, 2, 0, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY |
				  PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
	put(v, PCI_STATUS, 2, PCI_STATUS_CAP_LIST, 0);
	put(v, PCI_CLASS_REVISION, 4, NPU_PCI_CLASS << 8 | 1, 0);
	put(v, PCI_CACHE_LINE_SIZE, 1, 0, 0xff);
	put(v, PCI_BASE_ADDRESS_0, 4, 0, -NPU_BAR_REGS_SIZE);
	put(v, PCI_BASE_ADDRESS_4, 4, 0, -NPU_BAR_MSIX_SIZE);
	put(v, PCI_SUBSYSTEM_VENDOR_ID, 2, NPU_PCI_VENDOR, 0);
	put(v, PCI_SUBSYSTEM_ID, 2, 1, 0);
	put(v, PCI_INTERRUPT_LINE, 1, 0, 0xff);
	put(v, PCI_CAPABILITY_LIST, 1, CAP_PM, 0);
}

static void init_caps(struct vdev *v)
{
	put(v, CAP_PM, 2, PCI_CAP_ID_PM | CAP_MSI << 8, 0);
	put(v, CAP_PM + PCI_PM_PMC, 2, 3, 0);
	/* without NO_SOFT_RESET, leaving D3hot is a reset */
	put(v, CAP_PM + PCI_PM_CTRL, 2, v->opt.keep_d3 ? PCI_PM_CTRL_NO_SOFT_RESET : 0,
	    PCI_PM_CTRL_STATE_MASK);

	put(v, CAP_MSI, 2, PCI_CAP_ID_MSI | (v->opt.msi ? CAP_EXP : CAP_MSIX) << 8, 0);
	put(v, CAP_MSI + PCI_MSI_FLAGS, 2, PCI_MSI_FLAGS_64BIT, PCI_MSI_FLAGS_ENABLE);
	put(v, CAP_MSI + PCI_MSI_ADDRESS_LO, 4, 0, 0xfffffffc);
	put(v, CAP_MSI + PCI_MSI_ADDRESS_HI, 4, 0, 0xffffffff);
	put(v, CAP_MSI + PCI_MSI_DATA_64, 2, 0, 0xffff);

	if (!v->opt.msi) {
		put(v, CAP_MSIX, 2, PCI_CAP_ID_MSIX | CAP_EXP << 8, 0);
		put(v, CAP_MSIX + PCI_MSIX_FLAGS, 2, NPU_IRQ_VECTORS - 1,
		    PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
		put(v, CAP_MSIX + PCI_MSIX_TABLE, 4, NPU_MSIX_TABLE | NPU_BAR_MSIX, 0);
		put(v, CAP_MSIX + PCI_MSIX_PBA, 4, NPU_MSIX_PBA | NPU_BAR_MSIX, 0);
	}

	put(v, CAP_EXP, 2, PCI_CAP_ID_EXP, 0);
	put(v, CAP_EXP + PCI_EXP_FLAGS, 2, 2 | PCI_EXP_TYPE_ENDPOINT << 4, 0);
	put(v, CAP_EXP + PCI_EXP_DEVCAP, 4, PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR, 0);
	put(v, CAP_EXP + PCI_EXP_DEVCTL, 2, PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN,
	    0xffff);
	put(v, CAP_EXP + PCI_EXP_LNKCAP, 4, PCI_EXP_LNKCAP_SLS_2_5GB | 1 << 4, 0);
	put(v, CAP_EXP + PCI_EXP_LNKSTA, 2, PCI_EXP_LNKSTA_CLS_2_5GB | 1 << 4, 0);
}

void config_init(struct vdev *v)
{
	memset(v->config, 0, sizeof(v->config));
	memset(v->config_mask, 0, sizeof(v->config_mask));
	init_header(v);
	init_caps(v);
}

/* Takes over what the command and power registers say. */
static void config_apply(struct vdev *v)
{
	uint32_t command = get(v, PCI_COMMAND);

	pthread_mutex_lock(&v->lock);
	v->bus_master = command & PCI_COMMAND_MASTER;
	v->memory_enabled = command & PCI_COMMAND_MEMORY;
	v->in_d3 = (get(v, CAP_PM + PCI_PM_CTRL) & PCI_PM_CTRL_STATE_MASK) == 3;
	pthread_mutex_unlock(&v->lock);
	vdev_update_dma(v);
}

void config_reset(struct vdev *v)
{
	/* first the jobs, so that their last accesses are no violation */
	vdev_function_reset(v);
	config_init(v);
	config_apply(v);
}

void config_write(struct vdev *v, uint32_t offset, const uint8_t *data, uint32_t size)
{
	uint32_t state = get(v, CAP_PM + PCI_PM_CTRL) & PCI_PM_CTRL_STATE_MASK, next;
	uint32_t n;

	for (n = 0; n < size; n++) {
		uint8_t mask = v->config_mask[offset + n];

		v->config[offset + n] = (v->config[offset + n] & ~mask) | (data[n] & mask);
	}
	next = get(v, CAP_PM + PCI_PM_CTRL) & PCI_PM_CTRL_STATE_MASK;
	if (next == 1 || next == 2) {
		/* states that there are not: the write is dropped */
		v->config[CAP_PM + PCI_PM_CTRL] &= ~PCI_PM_CTRL_STATE_MASK;
		v->config[CAP_PM + PCI_PM_CTRL] |= state;
		next = state;
	}
	if (get(v, CAP_EXP + PCI_EXP_DEVCTL) & PCI_EXP_DEVCTL_BCR_FLR) {
		vdev_log(v, "function-level reset");
		config_reset(v);
	} else if (state == 3 && next == 0 && !v->opt.keep_d3) {
		vdev_log(v, "D3hot left: reset");
		config_reset(v);
	} else {
		if (state != next)
			vdev_log(v, "power state D%u", next);
		config_apply(v);
	}
}
