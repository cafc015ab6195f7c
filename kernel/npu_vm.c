// SPDX-License-Identifier: GPL-2.0-only
/*
 * Address spaces: which BO is where for a file's jobs.
 */
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "npu_drv.h"
#include "npu_gem.h"
#include "npu_mmu.h"
#include "npu_vm.h"

/**
 * struct npu_mapping - a BO in an address space
 * @hash: in &npu_vm.mappings
 * @range: in &npu_vm.mm
 * @bo: a reference
 * @write: the device may write
 */
struct npu_mapping {
	struct hlist_node hash;
	struct drm_mm_node range;
	struct npu_bo *bo;
	bool write;
};

void npu_vm_init(struct npu_vm *vm, struct npu_device *npu)
{
	vm->npu = npu;
	mutex_init(&vm->lock);
	drm_mm_init(&vm->mm, NPU_ADDRESS_START, NPU_ADDRESS_END - NPU_ADDRESS_START);
	hash_init(vm->mappings);
	atomic_set(&vm->active, 0);

	guard(mutex)(&npu->vms_lock);
	list_add(&vm->node, &npu->vms);
}

/*
 * Makes the device forget what it may have cached. An address space that has
 * run no job since the last time needs no register access, which makes closing
 * a file with many BOs cheap.
 */
static void npu_vm_forget(struct npu_vm *vm)
{
	struct npu_device *npu = vm->npu;
	int idx;

	/* The entries' changes come before; see npu_vm_busy(). */
	smp_mb();
	if (!READ_ONCE(vm->cached))
		return;

	if (!drm_dev_enter(&npu->drm, &idx)) {
		/* Gone, or about to be: soon it can't reach memory any more. */
		wait_for_completion(&npu->quiesced);
		return;
	}
	WRITE_ONCE(vm->cached, false);
	/*
	 * What runs now will walk again, and cache again. The barrier is for a
	 * job in npu_vm_busy(): it counts itself, then sets what we have cleared.
	 */
	smp_mb();
	if (atomic_read(&vm->active))
		WRITE_ONCE(vm->cached, true);
	npu_mmu_invalidate(npu, vm->asid);
	drm_dev_exit(idx);
}

static struct npu_mapping *npu_vm_mapping(struct npu_vm *vm, struct npu_bo *bo)
{
	struct npu_mapping *map;

	lockdep_assert_held(&vm->lock);
	hash_for_each_possible(vm->mappings, map, hash, (unsigned long)bo)
		if (map->bo == bo)
			return map;

	return NULL;
}

/* The first bind makes the top page table and takes an ASID. */
static int npu_vm_start(struct npu_vm *vm)
{
	struct npu_device *npu = vm->npu;
	struct npu_pt *pt;
	int asid;

	lockdep_assert_held(&vm->lock);
	if (vm->pt)
		return 0;

	asid = ida_alloc_max(&npu->asids, npu->caps.asids - 1, GFP_KERNEL);
	if (asid < 0)
		return asid;
	pt = npu_pt_create(npu);
	if (!pt) {
		ida_free(&npu->asids, asid);
		return -ENOMEM;
	}
	vm->pt = pt;
	vm->asid = asid;
	/* Pairs with npu_vm_root(). */
	smp_store_release(&vm->root, npu_pt_address(pt));

	return 0;
}

/* Takes a range out of the page tables; returns when the device doesn't use it. */
static void npu_vm_clear(struct npu_vm *vm, u64 start, u64 size, bool mapped)
{
	LIST_HEAD(unused);

	lockdep_assert_held(&vm->lock);
	if (mapped)
		npu_pt_unmap(vm->pt, start, size);
	npu_pt_prune(vm->pt, start, size, &unused);
	npu_vm_forget(vm);
	npu_pt_free_list(vm->npu, &unused);
}

static int npu_vm_map(struct npu_vm *vm, struct npu_mapping *map)
{
	u64 start = map->range.start, size = map->range.size;
	int ret;

	ret = npu_vm_start(vm);
	if (ret)
		return ret;
	ret = npu_pt_prepare(vm->npu, vm->pt, start, size);
	if (ret) {
		npu_vm_clear(vm, start, size, false);
		return ret;
	}
	npu_pt_map(vm->pt, start, size, map->bo->sgt, map->write);
	drm_gem_object_get(&map->bo->base.base);
	hash_add(vm->mappings, &map->hash, (unsigned long)map->bo);

	return 0;
}

static int npu_vm_bind_locked(struct npu_vm *vm, struct npu_mapping *map)
{
	int idx, ret;

	lockdep_assert_held(&vm->lock);
	if (npu_vm_mapping(vm, map->bo) || drm_mm_reserve_node(&vm->mm, &map->range))
		return -EEXIST;

	/* Within the lock: see npu_vm_forget(), which may wait for the removal. */
	ret = -ENODEV;
	if (drm_dev_enter(&vm->npu->drm, &idx)) {
		ret = npu_vm_map(vm, map);
		drm_dev_exit(idx);
	}
	if (ret)
		drm_mm_remove_node(&map->range);

	return ret;
}

/* The BO has been mapped for DMA. */
int npu_vm_bind(struct npu_vm *vm, struct npu_bo *bo, u64 address, bool write)
{
	struct npu_mapping *map;
	int ret;

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return -ENOMEM;
	map->bo = bo;
	map->write = write;
	map->range.start = address;
	map->range.size = bo->base.base.size;

	ret = mutex_lock_interruptible(&vm->lock);
	if (!ret) {
		ret = npu_vm_bind_locked(vm, map);
		mutex_unlock(&vm->lock);
	}
	if (ret)
		kfree(map);

	return ret;
}

static void npu_vm_remove(struct npu_vm *vm, struct npu_mapping *map)
{
	hash_del(&map->hash);
	npu_vm_clear(vm, map->range.start, map->range.size, true);
	drm_mm_remove_node(&map->range);
}

static void npu_mapping_free(struct npu_mapping *map)
{
	drm_gem_object_put(&map->bo->base.base);
	kfree(map);
}

int npu_vm_unbind(struct npu_vm *vm, struct npu_bo *bo)
{
	struct npu_mapping *map;

	scoped_guard(mutex, &vm->lock) {
		map = npu_vm_mapping(vm, bo);
		if (!map)
			return -EINVAL;
		npu_vm_remove(vm, map);
	}
	npu_mapping_free(map);

	return 0;
}

/* Where a BO is bound, 0: nowhere. */
u64 npu_vm_find(struct npu_vm *vm, struct npu_bo *bo, bool *write)
{
	struct npu_mapping *map;

	guard(mutex)(&vm->lock);
	map = npu_vm_mapping(vm, bo);
	if (!map)
		return 0;
	*write = map->write;

	return map->range.start;
}

/*
 * All jobs are over and nobody else knows the address space. The ASID goes back
 * only after the device has forgotten it. The tables need not be cleared, as
 * nothing walks them any more.
 */
void npu_vm_fini(struct npu_vm *vm)
{
	struct npu_device *npu = vm->npu;
	struct npu_mapping *map;
	struct hlist_node *tmp;
	unsigned int i;

	npu_vm_forget(vm);
	scoped_guard(mutex, &npu->vms_lock) {
		list_del(&vm->node);
		if (vm->pt)
			npu_pt_destroy(npu, vm->pt);
	}
	if (vm->pt)
		ida_free(&npu->asids, vm->asid);

	hash_for_each_safe(vm->mappings, i, tmp, map, hash) {
		hash_del(&map->hash);
		drm_mm_remove_node(&map->range);
		npu_mapping_free(map);
	}
	drm_mm_takedown(&vm->mm);
	mutex_destroy(&vm->lock);
}

/* For debugfs, under &npu_device.vms_lock. */
void npu_vm_show(struct npu_vm *vm, struct seq_file *m)
{
	struct npu_mapping *map;
	unsigned int i;

	guard(mutex)(&vm->lock);
	if (vm->pt)
		seq_printf(m, "asid %d root %#llx active %d\n", vm->asid, vm->root,
			   atomic_read(&vm->active));
	else
		seq_puts(m, "no asid\n");
	hash_for_each(vm->mappings, i, map, hash)
		seq_printf(m, "  %#011llx..%#011llx %s\n", map->range.start,
			   map->range.start + map->range.size - 1, map->write ? "rw" : "ro");
}

/* The device is gone: ends the DMA mappings of all page tables. */
void npu_vm_unmap_all_dma(struct npu_device *npu)
{
	struct npu_vm *vm;

	guard(mutex)(&npu->vms_lock);
	list_for_each_entry(vm, &npu->vms, node) {
		guard(mutex)(&vm->lock);
		if (vm->pt)
			npu_pt_unmap_dma(npu, vm->pt);
	}
}
