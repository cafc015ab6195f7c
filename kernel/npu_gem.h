/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_GEM_H_
#define _NPU_GEM_H_

#include <linux/dma-buf.h>
#include <drm/drm_gem_shmem_helper.h>

struct npu_device;

/**
 * struct npu_bo - buffer object
 * @base: shmem object, or an import
 * @node: in &npu_device.bos
 * @sgt: pages mapped for the device's DMA; NULL before the first bind, and again
 *	after the removal of the device. Created under the reservation lock. An
 *	import has it from the start; its exporter owns it
 * @detached: stands for an import's attachment after its end: the object is still
 *	an import, and &dma_buf_attachment.dmabuf a reference
 */
struct npu_bo {
	struct drm_gem_shmem_object base;
	struct list_head node;
	struct sg_table *sgt;
	struct dma_buf_attachment detached;
};

static inline struct npu_bo *to_npu_bo(struct drm_gem_object *obj)
{
	return container_of(to_drm_gem_shmem_obj(obj), struct npu_bo, base);
}

struct drm_gem_object *npu_gem_create_object(struct drm_device *drm, size_t size);
struct drm_gem_object *npu_gem_prime_import(struct drm_device *drm, struct dma_buf *dma_buf);
struct drm_gem_object *npu_gem_prime_import_sg_table(struct drm_device *drm,
						     struct dma_buf_attachment *attach,
						     struct sg_table *sgt);
void npu_gem_unmap_all_dma(struct npu_device *npu);

int npu_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file);
int npu_ioctl_bo_bind(struct drm_device *drm, void *data, struct drm_file *file);
int npu_ioctl_bo_unbind(struct drm_device *drm, void *data, struct drm_file *file);
int npu_ioctl_bo_info(struct drm_device *drm, void *data, struct drm_file *file);
int npu_ioctl_bo_wait(struct drm_device *drm, void *data, struct drm_file *file);

#endif
