/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the NPU driver share. Raw ioctls only: nothing of libnpu is
 * between a test and the kernel. Every helper returns 0 or a negative errno.
 */
#ifndef NPU_TEST_H
#define NPU_TEST_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <drm/drm.h>
#include <drm/npu_accel.h>
#include <drm/npu_isa.h>
#include <linux/sync_file.h>

#include "kselftest_harness.h"

#define NPU_PAGE	((uint64_t)NPU_PAGE_SIZE)
#define NPU_POISON	0xa5
#define NPU_POISON32	0xa5a5a5a5u
#define NPU_POISON64	0xa5a5a5a5a5a5a5a5ull
/* Where tests bind things. */
#define NPU_BASE	0x10000000ull
/* Longer than any job may take, and shorter than the harness waits. */
#define NPU_LONG_MS	20000

static inline int npu_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static inline uint64_t npu_ptr(const void *p)
{
	return (uintptr_t)p;
}

static inline int64_t npu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static inline int64_t npu_in_ms(int64_t ms)
{
	return npu_now() + ms * 1000000;
}

static inline void npu_sleep_ms(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* ---- files ---- */

/* The whole of a small file as a string; its length, or a negative errno. */
static inline int npu_read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 0;

	text[0] = '\0';
	if (fd < 0)
		return -errno;
	while (n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0)
		n += got;
	if (got < 0)
		n = -errno;
	else
		text[n] = '\0';
	close(fd);
	return n;
}

static inline int npu_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* ---- the device ---- */

/* Name of the first accel device that our driver has, "accel0"; false if none. */
static inline bool npu_find(char *name, size_t size)
{
	DIR *dir = opendir("/sys/class/accel");
	struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		char path[512], link[256];
		ssize_t n;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/class/accel/%s/device/driver", e->d_name);
		n = readlink(path, link, sizeof(link) - 1);
		if (n < 0)
			continue;
		link[n] = '\0';
		found = strrchr(link, '/') && !strcmp(strrchr(link, '/'), "/npu");
		if (found)
			snprintf(name, size, "%s", e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* File descriptor, -ENODEV without a device. */
static inline int npu_open(void)
{
	char name[NAME_MAX + 1], path[NAME_MAX + 16];
	int fd;

	if (!npu_find(name, sizeof(name)))
		return -ENODEV;
	snprintf(path, sizeof(path), "/dev/accel/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Path of a file below the PCI device's folder in sysfs. */
static inline int npu_sysfs(char *path, size_t size, const char *file)
{
	char name[NAME_MAX + 1], link[NAME_MAX + 32], real[PATH_MAX];

	if (!npu_find(name, sizeof(name)))
		return -ENODEV;
	snprintf(link, sizeof(link), "/sys/class/accel/%s/device", name);
	if (!realpath(link, real))
		return -errno;
	return snprintf(path, size, "%s/%s", real, file) < (int)size ? 0 : -ENAMETOOLONG;
}

/* ~0 for a parameter that there is not. */
static inline uint64_t npu_param(int fd, uint32_t param)
{
	struct drm_npu_get_param arg = { .param = param };

	return npu_ioctl(fd, DRM_IOCTL_NPU_GET_PARAM, &arg) ? ~0ull : arg.value;
}

/* ---- buffer objects ---- */

struct npu_buf {
	uint32_t handle;
	uint64_t size;
	uint64_t address;
	void *map;
};

static inline int npu_bo_create(int fd, uint64_t size, uint32_t *handle)
{
	struct drm_npu_bo_create arg = { .size = size };
	int ret = npu_ioctl(fd, DRM_IOCTL_NPU_BO_CREATE, &arg);

	*handle = ret ? 0 : arg.handle;
	return ret;
}

static inline int npu_bo_bind(int fd, uint32_t handle, uint64_t address, uint32_t flags)
{
	struct drm_npu_bo_bind arg = { .handle = handle, .flags = flags, .address = address };

	return npu_ioctl(fd, DRM_IOCTL_NPU_BO_BIND, &arg);
}

static inline int npu_bo_unbind(int fd, uint32_t handle)
{
	struct drm_npu_bo_unbind arg = { .handle = handle };

	return npu_ioctl(fd, DRM_IOCTL_NPU_BO_UNBIND, &arg);
}

static inline int npu_bo_info(int fd, uint32_t handle, struct drm_npu_bo_info *info)
{
	memset(info, 0, sizeof(*info));
	info->handle = handle;
	return npu_ioctl(fd, DRM_IOCTL_NPU_BO_INFO, info);
}

static inline int npu_bo_wait(int fd, uint32_t handle, uint32_t flags, int64_t timeout_ns)
{
	struct drm_npu_bo_wait arg = { .handle = handle, .flags = flags, .timeout_ns = timeout_ns };

	return npu_ioctl(fd, DRM_IOCTL_NPU_BO_WAIT, &arg);
}

static inline int npu_gem_close(int fd, uint32_t handle)
{
	struct drm_gem_close arg = { .handle = handle };

	return npu_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &arg);
}

static inline int npu_bo_map(int fd, uint32_t handle, uint64_t size, void **map)
{
	struct drm_npu_bo_info info;
	int ret = npu_bo_info(fd, handle, &info);

	if (ret)
		return ret;
	*map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, info.mmap_offset);
	if (*map == MAP_FAILED) {
		*map = NULL;
		return -errno;
	}
	return 0;
}

/* Created, bound at @address and mapped. */
static inline int npu_buf_init(int fd, struct npu_buf *buf, uint64_t size, uint64_t address)
{
	int ret;

	memset(buf, 0, sizeof(*buf));
	buf->size = (size + NPU_PAGE - 1) & ~(NPU_PAGE - 1);
	buf->address = address;
	ret = npu_bo_create(fd, buf->size, &buf->handle);
	if (!ret)
		ret = npu_bo_bind(fd, buf->handle, address, 0);
	if (!ret)
		ret = npu_bo_map(fd, buf->handle, buf->size, &buf->map);
	return ret;
}

static inline int npu_buf_fini(int fd, struct npu_buf *buf)
{
	if (buf->map)
		munmap(buf->map, buf->size);
	return npu_gem_close(fd, buf->handle);
}

/* ---- queues ---- */

/* Id, or a negative errno. */
static inline int npu_queue_create(int fd, uint32_t ring, uint32_t priority)
{
	struct drm_npu_queue_create arg = { .ring = ring, .priority = priority };
	int ret = npu_ioctl(fd, DRM_IOCTL_NPU_QUEUE_CREATE, &arg);

	return ret ?: (int)arg.queue;
}

static inline int npu_queue(int fd, uint32_t ring)
{
	return npu_queue_create(fd, ring, DRM_NPU_PRIORITY_NORMAL);
}

static inline int npu_queue_destroy(int fd, uint32_t queue)
{
	struct drm_npu_queue_destroy arg = { .queue = queue };

	return npu_ioctl(fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &arg);
}

static inline int npu_queue_state(int fd, uint32_t queue, struct drm_npu_queue_get_state *state)
{
	memset(state, NPU_POISON, sizeof(*state));
	state->queue = queue;
	return npu_ioctl(fd, DRM_IOCTL_NPU_QUEUE_GET_STATE, state);
}

/* ---- syncobjs ---- */

static inline uint32_t npu_syncobj(int fd, uint32_t flags)
{
	struct drm_syncobj_create arg = { .flags = flags };

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &arg) ? 0 : arg.handle;
}

static inline int npu_syncobj_destroy(int fd, uint32_t handle)
{
	struct drm_syncobj_destroy arg = { .handle = handle };

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &arg);
}

/* -ETIME when it has not signalled in time, -EINVAL when it has no fence. */
static inline int npu_wait_until(int fd, uint32_t handle, uint64_t point, int64_t deadline)
{
	struct drm_syncobj_timeline_wait arg = {
		.handles = npu_ptr(&handle),
		.points = npu_ptr(&point),
		.timeout_nsec = deadline,
		.count_handles = 1,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &arg);
}

static inline int npu_wait(int fd, uint32_t handle, uint64_t point)
{
	return npu_wait_until(fd, handle, point, npu_in_ms(NPU_LONG_MS));
}

static inline int npu_syncobj_export(int fd, uint32_t handle, uint32_t flags)
{
	struct drm_syncobj_handle arg = { .handle = handle, .flags = flags, .fd = -1 };
	int ret = npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &arg);

	return ret ?: arg.fd;
}

static inline int npu_sync_file(int fd, uint32_t handle)
{
	return npu_syncobj_export(fd, handle, DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE);
}

/* Imports a sync file's fence into a new syncobj; 0 if that fails. */
static inline uint32_t npu_syncobj_import(int fd, int sync_file)
{
	struct drm_syncobj_handle arg = {
		.handle = npu_syncobj(fd, 0),
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
		.fd = sync_file,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &arg) ? 0 : arg.handle;
}

/* 1: signalled, 0: not yet, else the error that the fence carries. */
static inline int npu_sync_file_status(int sync_file)
{
	struct sync_file_info info = { };
	int ret = npu_ioctl(sync_file, SYNC_IOC_FILE_INFO, &info);

	return ret ?: info.status;
}

#define NPU_NO_FENCE	(-100000)

/* Status of a binary syncobj's fence, without waiting. */
static inline int npu_fence_status(int fd, uint32_t handle)
{
	int file = npu_sync_file(fd, handle), status;

	if (file < 0)
		return NPU_NO_FENCE;
	status = npu_sync_file_status(file);
	close(file);
	return status;
}

/* The same after the fence has signalled; 0 means that it has not. */
static inline int npu_fence_end(int fd, uint32_t handle)
{
	npu_wait(fd, handle, 0);
	return npu_fence_status(fd, handle);
}

/* ---- every test has this ---- */

#define NPU_FIXTURE(name)						\
	FIXTURE(name) {							\
		int fd;							\
	};								\
	FIXTURE_SETUP(name)						\
	{								\
		self->fd = npu_open();					\
		if (self->fd == -ENODEV)				\
			SKIP(return, "no NPU device");			\
		if (self->fd == -EACCES)				\
			SKIP(return, "the NPU device may not be opened"); \
		ASSERT_LE(0, self->fd);					\
	}								\
	FIXTURE_TEARDOWN(name)						\
	{								\
		if (self->fd >= 0)					\
			close(self->fd);				\
	}

#define NPU_NEED_ROOT()							\
	do {								\
		if (geteuid())						\
			SKIP(return, "needs root");			\
	} while (0)

#endif
