/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Others that share buffers and fences with the device: udmabuf (memory of a
 * memfd as a dma-buf) and vgem (fences that signal when a test says so).
 */
#ifndef NPU_FOREIGN_H
#define NPU_FOREIGN_H

#include <drm/vgem_drm.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <sys/syscall.h>

#include "npu_stream.h"

/* ---- dma-buf ---- */

static inline int npu_export(int fd, uint32_t handle)
{
	struct drm_prime_handle arg = { .handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR };
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &arg);

	return ret ?: arg.fd;
}

static inline int npu_import(int fd, int dma_buf, uint32_t *handle)
{
	struct drm_prime_handle arg = { .fd = dma_buf };
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &arg);

	*handle = ret ? 0 : arg.handle;
	return ret;
}

static inline int npu_dma_buf_sync(int dma_buf, uint64_t flags)
{
	struct dma_buf_sync arg = { .flags = flags };

	return npu_ioctl(dma_buf, DMA_BUF_IOCTL_SYNC, &arg);
}

/* Sync file of what a user with @flags (DMA_BUF_SYNC_*) would wait for. */
static inline int npu_dma_buf_fence(int dma_buf, uint32_t flags)
{
	struct dma_buf_export_sync_file arg = { .flags = flags, .fd = -1 };
	int ret = npu_ioctl(dma_buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &arg);

	return ret ?: arg.fd;
}

/* ---- udmabuf ---- */

struct npu_udmabuf {
	int memfd;
	int dma_buf;
	uint8_t *map;
};

static inline int npu_udmabuf_init(struct npu_udmabuf *u, uint64_t size)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	if (dev < 0)
		return -errno;
	u->memfd = memfd_create("npu-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (u->memfd < 0 || ftruncate(u->memfd, size) ||
	    fcntl(u->memfd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		close(dev);
		return -errno;
	}
	u->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, u->memfd, 0);
	create.memfd = u->memfd;
	u->dma_buf = ioctl(dev, UDMABUF_CREATE, &create);
	close(dev);
	return u->dma_buf < 0 || u->map == MAP_FAILED ? -errno : 0;
}

static inline void npu_udmabuf_fini(struct npu_udmabuf *u, uint64_t size)
{
	munmap(u->map, size);
	close(u->dma_buf);
	close(u->memfd);
}

/* ---- vgem ---- */

struct npu_vgem {
	int fd;
	int dma_buf;
	uint32_t handle;
	uint32_t fence;
};

static inline int npu_vgem_node(void)
{
	unsigned int i;

	for (i = 0; i < 16; i++) {
		char path[32], name[16] = "";
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%u", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!npu_ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "vgem"))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

/* In the test's virtual machine the module lies in /mod. */
static inline int npu_vgem_open(void)
{
	int fd = npu_vgem_node(), module;

	if (fd >= 0 || !getenv("NPU_VM"))
		return fd;
	module = open("/mod/vgem.ko", O_RDONLY | O_CLOEXEC);
	if (module < 0)
		return fd;
	syscall(SYS_finit_module, module, "", 0);
	close(module);
	return npu_vgem_node();
}

/* A buffer of vgem's with a fence that has not signalled, as if it were written to. */
static inline int npu_vgem_init(struct npu_vgem *v)
{
	struct drm_mode_create_dumb dumb = { .width = 1024, .height = 4, .bpp = 32 };
	struct drm_vgem_fence_attach attach = { .flags = VGEM_FENCE_WRITE };
	int ret;

	v->fd = npu_vgem_open();
	if (v->fd < 0)
		return v->fd;
	ret = npu_ioctl(v->fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb);
	if (ret)
		return ret;
	v->handle = dumb.handle;
	v->dma_buf = npu_export(v->fd, v->handle);
	if (v->dma_buf < 0)
		return v->dma_buf;
	attach.handle = v->handle;
	ret = npu_ioctl(v->fd, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach);
	v->fence = attach.out_fence;
	return ret;
}

static inline int npu_vgem_signal(struct npu_vgem *v)
{
	struct drm_vgem_fence_signal arg = { .fence = v->fence };

	return npu_ioctl(v->fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, &arg);
}

static inline void npu_vgem_fini(struct npu_vgem *v)
{
	close(v->dma_buf);
	close(v->fd);
}

/* A syncobj of @fd with vgem's fence; 0 on failure. */
static inline uint32_t npu_vgem_syncobj(struct npu_vgem *v, int fd)
{
	int file = npu_dma_buf_fence(v->dma_buf, DMA_BUF_SYNC_RW);
	uint32_t handle;

	if (file < 0)
		return 0;
	handle = npu_syncobj_import(fd, file);
	close(file);
	return handle;
}

#endif
