// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffer objects: shmem pages, or those of another driver's dma-buf.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <drm/drm_gem.h>
#include <drm/drm_utils.h>

#include "npu_drv.h"
#include "npu_gem.h"
#include "npu_vm.h"

/* Unmapping alone won't do: exporters may keep it until the attachment ends. */
static void npu_bo_detach(struct npu_bo *bo)
{
	struct drm_gem_object *obj = &bo->base.base;
	struct dma_buf_attachment *attach = obj->import_attach;

	bo->detached.dmabuf = attach->dmabuf;
	obj->import_attach = &bo->detached;
	dma_buf_unmap_attachment_unlocked(attach, bo->sgt, DMA_BIDIRECTIONAL);
	dma_buf_detach(attach->dmabuf, attach);
	bo->base.sgt = NULL;
}

/*
 * The scatter table is the driver's, not the shmem helper's: that one would
 * unmap it when the last user goes, which may be long after the device went.
 */
static void npu_bo_unmap_dma(struct npu_bo *bo)
{
	struct drm_gem_object *obj = &bo->base.base;

	if (!bo->sgt)
		return;

	atomic64_sub(obj->size, &to_npu_device(obj->dev)->mapped_bytes);
	if (drm_gem_is_imported(obj)) {
		npu_bo_detach(bo);
	} else {
		dma_unmap_sgtable(obj->dev->dev, bo->sgt, DMA_BIDIRECTIONAL, 0);
		sg_free_table(bo->sgt);
		kfree(bo->sgt);
	}
	bo->sgt = NULL;
}

static int npu_bo_map_pages_locked(struct npu_bo *bo)
{
	struct drm_gem_object *obj = &bo->base.base;
	struct sg_table *sgt;
	int ret;

	dma_resv_assert_held(obj->resv);
	if (bo->sgt)
		return 0;

	ret = drm_gem_shmem_pin_locked(&bo->base);
	if (ret)
		return ret;
	sgt = drm_gem_shmem_get_sg_table(&bo->base);
	if (IS_ERR(sgt)) {
		ret = PTR_ERR(sgt);
		goto err_unpin;
	}
	ret = dma_map_sgtable(obj->dev->dev, sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		goto err_free;
	bo->sgt = sgt;
	atomic64_add(obj->size, &to_npu_device(obj->dev)->mapped_bytes);

	return 0;

err_free:
	sg_free_table(sgt);
	kfree(sgt);
err_unpin:
	drm_gem_shmem_unpin_locked(&bo->base);
	return ret;
}

/* Pages stay pinned and mapped for DMA from the first bind to the end of the BO. */
static int npu_bo_map_dma(struct npu_bo *bo)
{
	struct drm_gem_object *obj = &bo->base.base;
	int idx, ret;

	if (drm_gem_is_imported(obj))
		return 0;

	ret = dma_resv_lock_interruptible(obj->resv, NULL);
	if (ret)
		return ret;
	ret = -ENODEV;
	if (drm_dev_enter(obj->dev, &idx)) {
		ret = npu_bo_map_pages_locked(bo);
		drm_dev_exit(idx);
	}
	dma_resv_unlock(obj->resv);

	return ret;
}

/* The device is gone: ends all DMA mappings. Pages stay, as programs map them. */
void npu_gem_unmap_all_dma(struct npu_device *npu)
{
	struct npu_bo *bo;

	/* Under this one PRIME looks at attachments, and makes imports. */
	guard(mutex)(&npu->drm.object_name_lock);
	guard(mutex)(&npu->bos_lock);
	list_for_each_entry(bo, &npu->bos, node) {
		bool pinned = bo->sgt && !drm_gem_is_imported(&bo->base.base);

		npu_bo_unmap_dma(bo);
		/* npu_gem_free() unpins what has a table. */
		if (pinned)
			drm_gem_shmem_unpin(&bo->base);
	}
}

static void npu_gem_free(struct drm_gem_object *obj)
{
	struct npu_device *npu = to_npu_device(obj->dev);
	struct npu_bo *bo = to_npu_bo(obj);
	struct dma_buf *dma_buf = NULL;

	scoped_guard(mutex, &npu->bos_lock) {
		bool pinned = bo->sgt && !drm_gem_is_imported(obj);

		list_del(&bo->node);
		npu_bo_unmap_dma(bo);
		if (pinned)
			drm_gem_shmem_unpin(&bo->base);
	}
	if (drm_gem_is_imported(obj)) {
		dma_buf = obj->import_attach->dmabuf;
		obj->import_attach = NULL;
	}
	drm_gem_shmem_free(&bo->base);
	/* It has the reservation object. */
	if (dma_buf)
		dma_buf_put(dma_buf);
}

/* A handle goes, and with it the mapping in its file. */
static void npu_gem_close(struct drm_gem_object *obj, struct drm_file *file)
{
	npu_vm_unbind(&to_npu_client(file)->vm, to_npu_bo(obj));
}

static enum drm_gem_object_status npu_gem_status(struct drm_gem_object *obj)
{
	struct npu_bo *bo = to_npu_bo(obj);

	return bo->base.pages || bo->sgt ? DRM_GEM_OBJECT_RESIDENT : 0;
}

static const struct drm_gem_object_funcs npu_gem_funcs = {
	.free = npu_gem_free,
	.close = npu_gem_close,
	.print_info = drm_gem_shmem_object_print_info,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = drm_gem_shmem_object_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = drm_gem_shmem_object_mmap,
	.status = npu_gem_status,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

/* For the shmem helper, which frees the memory itself when it fails later. */
struct drm_gem_object *npu_gem_create_object(struct drm_device *drm, size_t size)
{
	struct npu_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&bo->node);
	bo->base.base.funcs = &npu_gem_funcs;

	return &bo->base.base;
}

static void npu_gem_list(struct npu_device *npu, struct npu_bo *bo)
{
	guard(mutex)(&npu->bos_lock);
	list_add(&bo->node, &npu->bos);
}

/* A mapping that began before the device was unplugged is undone afterwards. */
struct drm_gem_object *npu_gem_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return ERR_PTR(-ENODEV);
	obj = drm_gem_prime_import(drm, dma_buf);
	drm_dev_exit(idx);

	return obj;
}

struct drm_gem_object *npu_gem_prime_import_sg_table(struct drm_device *drm,
						     struct dma_buf_attachment *attach,
						     struct sg_table *sgt)
{
	struct npu_device *npu = to_npu_device(drm);
	struct drm_gem_object *obj;
	struct scatterlist *sg;
	u64 size = 0;
	int i;

	/* The MMU's pages can't begin or end within one of the exporter's. */
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!PAGE_ALIGNED(sg_dma_address(sg)) || !PAGE_ALIGNED(sg_dma_len(sg)))
			return ERR_PTR(-EINVAL);
		size += sg_dma_len(sg);
	}
	if (size < PAGE_ALIGN(attach->dmabuf->size) || size > npu->max_bo_size)
		return ERR_PTR(-EINVAL);

	obj = drm_gem_shmem_prime_import_sg_table(drm, attach, sgt);
	if (IS_ERR(obj))
		return obj;
	to_npu_bo(obj)->sgt = sgt;
	atomic64_add(obj->size, &npu->mapped_bytes);
	npu_gem_list(npu, to_npu_bo(obj));

	return obj;
}

int npu_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct npu_device *npu = to_npu_device(drm);
	struct drm_npu_bo_create *args = data;
	struct drm_gem_shmem_object *shmem;
	u32 handle;
	int ret;

	if (args->flags || !args->size || args->size > npu->max_bo_size)
		return -EINVAL;

	shmem = drm_gem_shmem_create(drm, args->size);
	if (IS_ERR(shmem))
		return PTR_ERR(shmem);
	npu_gem_list(npu, to_npu_bo(&shmem->base));

	ret = drm_gem_handle_create(file, &shmem->base, &handle);
	drm_gem_object_put(&shmem->base);
	if (!ret)
		args->handle = handle;

	return ret;
}

static int npu_bo_bind(struct drm_file *file, struct npu_bo *bo,
		       const struct drm_npu_bo_bind *args)
{
	struct npu_client *client = to_npu_client(file);
	struct drm_gem_object *obj = &bo->base.base;
	struct drm_gem_object *still;
	int ret;

	if (args->address > NPU_ADDRESS_END - obj->size)
		return -EINVAL;

	ret = npu_bo_map_dma(bo);
	if (ret)
		return ret;
	ret = npu_vm_bind(&client->vm, bo, args->address, !(args->flags & DRM_NPU_BIND_RDONLY));
	if (ret)
		return ret;

	/* Did the handle go meanwhile? Then its end has found nothing to unbind. */
	still = drm_gem_object_lookup(file, args->handle);
	if (still != obj) {
		npu_vm_unbind(&client->vm, bo);
		ret = -ENOENT;
	}
	drm_gem_object_put(still);

	return ret;
}

int npu_ioctl_bo_bind(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_bo_bind *args = data;
	struct drm_gem_object *obj;
	int ret;

	if (args->flags & ~DRM_NPU_BIND_RDONLY || args->address % NPU_PAGE_SIZE ||
	    args->address < NPU_ADDRESS_START)
		return -EINVAL;

	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;
	ret = npu_bo_bind(file, to_npu_bo(obj), args);
	drm_gem_object_put(obj);

	return ret;
}

int npu_ioctl_bo_unbind(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_bo_unbind *args = data;
	struct drm_gem_object *obj;
	int ret;

	if (args->pad)
		return -EINVAL;

	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;
	ret = npu_vm_unbind(&to_npu_client(file)->vm, to_npu_bo(obj));
	drm_gem_object_put(obj);

	return ret;
}

int npu_ioctl_bo_info(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_bo_info *args = data;
	struct drm_gem_object *obj;
	u64 mmap_offset = 0;
	bool write = true;

	if (args->flags)
		return -EINVAL;

	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;

	args->size = obj->size;
	args->address = npu_vm_find(&to_npu_client(file)->vm, to_npu_bo(obj), &write);
	if (!write)
		args->flags |= DRM_NPU_BO_INFO_RDONLY;
	if (drm_gem_is_imported(obj))
		args->flags |= DRM_NPU_BO_INFO_IMPORTED;
	else
		mmap_offset = drm_vma_node_offset_addr(&obj->vma_node);
	args->mmap_offset = mmap_offset;
	drm_gem_object_put(obj);

	return 0;
}

int npu_ioctl_bo_wait(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_bo_wait *args = data;
	enum dma_resv_usage usage;
	struct drm_gem_object *obj;
	unsigned long timeout;
	long ret;

	if (args->flags & ~DRM_NPU_BO_WAIT_WRITE)
		return -EINVAL;

	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;

	usage = args->flags & DRM_NPU_BO_WAIT_WRITE ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ;
	/* Jiffies may be over before the time is. The wait takes 0 for a short time. */
	do {
		timeout = drm_timeout_abs_to_jiffies(args->timeout_ns);
		if (timeout)
			ret = dma_resv_wait_timeout(obj->resv, usage, true, timeout);
		else
			ret = dma_resv_test_signaled(obj->resv, usage);
	} while (!ret && timeout);
	drm_gem_object_put(obj);

	if (ret < 0)
		return ret;

	return ret ? 0 : -ETIMEDOUT;
}

MODULE_INFO(import_ns, "DMA_BUF");
