/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_VM_H_
#define _NPU_VM_H_

#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <drm/drm_mm.h>

struct npu_bo;
struct npu_device;
struct npu_pt;
struct seq_file;

#define NPU_VM_HASH_BITS	8

/**
 * struct npu_vm - device address space of a file
 * @npu: device
 * @node: in &npu_device.vms
 * @lock: protects the mappings and the page tables. Allocations happen under
 *	it, so a job on its way to the device must not take it
 * @mm: ranges in use
 * @mappings: struct npu_mapping by BO
 * @pt: top page table, made at the first bind
 * @root: bus address of @pt, 0 before; set once, after @asid
 * @asid: valid once @root is
 * @active: jobs of this address space that the device has
 * @cached: the device may have translations of this address space
 */
struct npu_vm {
	struct npu_device *npu;
	struct list_head node;
	struct mutex lock;	/* mappings and page tables */
	struct drm_mm mm;
	DECLARE_HASHTABLE(mappings, NPU_VM_HASH_BITS);
	struct npu_pt *pt;
	u64 root;
	int asid;
	atomic_t active;
	bool cached;
};

void npu_vm_init(struct npu_vm *vm, struct npu_device *npu);
void npu_vm_fini(struct npu_vm *vm);
int npu_vm_bind(struct npu_vm *vm, struct npu_bo *bo, u64 address, bool write);
int npu_vm_unbind(struct npu_vm *vm, struct npu_bo *bo);
u64 npu_vm_find(struct npu_vm *vm, struct npu_bo *bo, bool *write);
void npu_vm_show(struct npu_vm *vm, struct seq_file *m);
void npu_vm_unmap_all_dma(struct npu_device *npu);

/* For a job on its way to the device; the counterpart of npu_vm_idle(). */
static inline void npu_vm_busy(struct npu_vm *vm)
{
	atomic_inc(&vm->active);
	/* Either npu_vm_forget() sees the count, or it clears before we set. */
	smp_mb__after_atomic();
	WRITE_ONCE(vm->cached, true);
	/* Either npu_vm_forget() sees the flag, or the device its empty entries. */
	smp_mb();
}

static inline void npu_vm_idle(struct npu_vm *vm)
{
	atomic_dec(&vm->active);
}

/* Bus address of the top page table, with which @vm->asid is valid; or 0. */
static inline u64 npu_vm_root(struct npu_vm *vm)
{
	/* Pairs with npu_vm_start(). */
	return smp_load_acquire(&vm->root);
}

#endif
