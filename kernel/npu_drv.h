/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_DRV_H_
#define _NPU_DRV_H_

#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include <uapi/drm/npu_accel.h>
#include <uapi/drm/npu_isa.h>

#include "npu_regs.h"
#include "npu_ring.h"
#include "npu_vm.h"

struct npu_coredump;

#define NPU_NAME		"npu"

/* Limits of the uAPI; published by GET_PARAM. */
#define NPU_MAX_JOBS		64
#define NPU_MAX_BOS		1024
#define NPU_MAX_SYNCS		64
#define NPU_MAX_QUEUES		32
#define NPU_MAX_IN_FLIGHT	256
#define NPU_MAX_STRIDE		4096

#define NPU_ADDRESS_START	((u64)NPU_PAGE_SIZE)
#define NPU_ADDRESS_END		BIT_ULL(NPU_ADDRESS_BITS)

/**
 * struct npu_caps - what the identification registers say
 * @isa: major and minor version of streams, as in NPU_REG_ISA
 * @features: DRM_NPU_CAP_*
 * @rings: bit mask of the rings that exist
 * @asids: number of ASIDs
 * @ring_max: most entries of a ring
 * @stream_max: bytes of the longest stream
 * @clock_hz: engine clock
 */
struct npu_caps {
	u32 isa;
	u32 features;
	u32 rings;
	u32 asids;
	u32 ring_max;
	u32 stream_max;
	u64 clock_hz;
};

/**
 * struct npu_device - one device
 * @drm: base class; lives as long as any file, fence or client
 * @regs: BAR0
 * @caps: see struct npu_caps
 * @max_bo_size: most bytes of a BO
 * @timeout_ms: time limit of a job
 * @vectors: number of interrupt vectors in use, 1 or NPU_IRQ_VECTORS
 * @rings: hardware queues
 * @mmu_lock: one invalidation at a time; protects @mmu_seq and @reset_gen
 * @mmu_seq: number of the last invalidation
 * @asids: ASIDs in use
 * @bos_lock: protects @bos and the end of BOs' DMA mappings. Taken within the DRM
 *	core's lock of object names and outside of any reservation lock
 * @bos: all BOs, for the removal of the device
 * @mapped_bytes: bytes of BOs that are mapped for DMA
 * @vms_lock: protects @vms and the end of page tables' DMA mappings. Taken
 *	outside of any &struct npu_vm.lock
 * @vms: all address spaces, for the removal of the device
 * @reset_wq: ordered: time-outs, resets and the last stop run here, one at a
 *	time, so that they need no lock against each other
 * @reset_work: full reset on request of @reset_gen
 * @reset_gen: value of @resets that the requester saw
 * @reset_seq: number of the last full reset request
 * @resets: full resets so far; written on @reset_wq only
 * @stop_work: stops everything for the removal
 * @pause_work: stops everything for sleep
 * @resume_work: sets the device up after sleep
 * @fault_work: reads the fault registers
 * @wedged_work: sends the uevent
 * @coredump: room for one
 * @wedged: all resets failed; bus mastering is off. Written on @reset_wq only
 * @paused: schedulers are to stay stopped, for sleep. Written on @reset_wq only
 * @asleep: the device has lost all state; set under @mmu_lock
 * @stopped: the device was removed. Written on @reset_wq only
 * @quiesced: completed when a removed device can't reach memory any more
 */
struct npu_device {
	struct drm_device drm;
	void __iomem *regs;
	struct npu_caps caps;
	u64 max_bo_size;
	unsigned int timeout_ms;
	int vectors;
	struct npu_ring rings[NPU_RING_COUNT];

	struct mutex mmu_lock;	/* invalidation, mmu_seq, reset_gen */
	u16 mmu_seq;
	struct ida asids;

	struct mutex bos_lock;	/* bos, end of their DMA mappings */
	struct list_head bos;
	atomic64_t mapped_bytes;
	struct mutex vms_lock;	/* vms, end of their DMA mappings */
	struct list_head vms;

	struct workqueue_struct *reset_wq;
	struct work_struct reset_work;
	unsigned int reset_gen;
	u32 reset_seq;
	unsigned int resets;
	struct work_struct stop_work;
	struct work_struct pause_work;
	struct work_struct resume_work;
	struct delayed_work fault_work;
	struct work_struct wedged_work;
	struct npu_coredump *coredump;
	bool wedged;
	bool paused;
	bool asleep;
	bool stopped;
	struct completion quiesced;
};

/**
 * struct npu_client - what belongs to an open file; outlives it while jobs run
 * @ref: held by the file, its queues, and by them their jobs
 * @npu: device, a reference
 * @vm: address space
 * @queues: struct npu_queue by id
 * @busy_ns: time that jobs ran on each ring, added up when they end; under the
 *	ring's lock
 */
struct npu_client {
	struct kref ref;
	struct npu_device *npu;
	struct npu_vm vm;
	struct xarray queues;
	u64 busy_ns[NPU_RING_COUNT];
};

static inline struct npu_device *to_npu_device(struct drm_device *drm)
{
	return container_of(drm, struct npu_device, drm);
}

static inline struct npu_client *to_npu_client(struct drm_file *file)
{
	return file->driver_priv;
}

static inline struct npu_client *npu_client_get(struct npu_client *client)
{
	kref_get(&client->ref);
	return client;
}

void npu_client_put(struct npu_client *client);

static inline bool npu_wedged(struct npu_device *npu)
{
	return READ_ONCE(npu->wedged);
}

static inline u32 npu_read(struct npu_device *npu, u32 reg)
{
	return readl(npu->regs + reg);
}

static inline void npu_write(struct npu_device *npu, u32 reg, u32 value)
{
	writel(value, npu->regs + reg);
}

/* For what must not be freed in a scheduler's work item or an interrupt handler. */
extern struct workqueue_struct *npu_release_wq;

#endif
