// SPDX-License-Identifier: MIT
#define _FILE_OFFSET_BITS 64
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>

#include <drm/npu_accel.h>

#include "drm.h"
#include "error.h"

int drm_bo_create(struct npu_bo *bo)
{
	struct drm_npu_bo_create arg = { .size = bo->size };
	int ret = drm_call(bo->dev, DRM_IOCTL_NPU_BO_CREATE, &arg);

	if (ret)
		return drm_failed(bo->dev, ret, "BO_CREATE");
	bo->handle = arg.handle;
	return 0;
}

static void close_handle(struct npu_bo *bo)
{
	struct drm_gem_close arg = { .handle = bo->handle };

	drm_call(bo->dev, DRM_IOCTL_GEM_CLOSE, &arg);
}

/* Never closes the handle on a failure: the device may have had it before. */
int drm_bo_import(struct npu_bo *bo, int fd)
{
	struct drm_npu_bo_info info = { 0 };
	int ret;

	if (drmPrimeFDToHandle(bo->dev->fd, fd, &bo->handle)) {
		if (errno == EBADF)
			return npu_fail(EBADF, "npu_bo_import: %d is no open file descriptor", fd);
		return npu_fail(errno,
				"npu_bo_import: the device cannot take descriptor %d: %s; it takes dma-bufs in system memory",
				fd, strerror(errno));
	}
	info.handle = bo->handle;
	ret = drm_call(bo->dev, DRM_IOCTL_NPU_BO_INFO, &info);
	if (ret)
		return drm_failed(bo->dev, ret, "BO_INFO");
	bo->size = info.size;
	return 0;
}

bool drm_bo_same(const struct npu_bo *known, const struct npu_bo *import)
{
	return known->handle == import->handle;
}

int drm_bo_bind(struct npu_bo *bo)
{
	struct drm_npu_bo_bind arg = {
		.handle = bo->handle,
		.flags = bo->flags & NPU_BO_DEVICE_RDONLY ? DRM_NPU_BIND_RDONLY : 0,
		.address = bo->range.start,
	};
	int ret = drm_call(bo->dev, DRM_IOCTL_NPU_BO_BIND, &arg);

	return ret ? drm_failed(bo->dev, ret, "BO_BIND") : 0;
}

void drm_bo_free(struct npu_bo *bo, bool bound)
{
	struct drm_npu_bo_unbind arg = { .handle = bo->handle };

	if (bo->map)
		munmap(bo->map, (size_t)bo->size);
	/* Handles are the parent's as well. */
	if (bo->dev->forked)
		return;
	if (bound)
		drm_call(bo->dev, DRM_IOCTL_NPU_BO_UNBIND, &arg);
	close_handle(bo);
}

/* Imports are mapped by their exporter. */
static void *map_import(struct npu_bo *bo)
{
	void *map = MAP_FAILED;
	int fd;

	if (drmPrimeHandleToFD(bo->dev->fd, bo->handle, DRM_CLOEXEC | DRM_RDWR, &fd))
		return MAP_FAILED;
	map = mmap(NULL, (size_t)bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return map;
}

int drm_bo_map(struct npu_bo *bo, void **out)
{
	struct drm_npu_bo_info info = { .handle = bo->handle };
	void *map;
	int ret;

	if (bo->size > SIZE_MAX / 2)
		return npu_fail(ENOMEM, "npu_bo_map: %llu bytes do not fit this process",
				(unsigned long long)bo->size);
	ret = drm_call(bo->dev, DRM_IOCTL_NPU_BO_INFO, &info);
	if (ret)
		return drm_failed(bo->dev, ret, "BO_INFO");
	if (info.mmap_offset)
		map = mmap(NULL, (size_t)bo->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			   bo->dev->fd, (off_t)info.mmap_offset);
	else
		map = map_import(bo);
	if (map == MAP_FAILED)
		return npu_fail(info.mmap_offset && errno == ENOMEM ? ENOMEM : EIO,
				"npu_bo_map: %llu bytes cannot be mapped: %s",
				(unsigned long long)bo->size, strerror(errno));
	*out = map;
	return 0;
}

int drm_bo_export(struct npu_bo *bo, int *fd)
{
	if (drmPrimeHandleToFD(bo->dev->fd, bo->handle, DRM_CLOEXEC | DRM_RDWR, fd))
		return drm_failed(bo->dev, -errno, "npu_bo_export");
	return 0;
}
