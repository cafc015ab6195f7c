// SPDX-License-Identifier: MIT
/* Opening and closing devices. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"
#include "bo.h"
#include "device.h"
#include "error.h"
#include "queue.h"
#include "stream.h"

/* The application's first BO; a round number makes streams easier to read. */
#define FIRST_ADDRESS	((uint64_t)1 << 20)
/* At the top of the address space, for the library's own BOs. */
#define OWN_BYTES	((uint64_t)1 << 30)

int npu_device_check(const struct npu_device *dev, const char *what)
{
	if (!dev)
		return npu_fail(EINVAL, "%s: the device is NULL", what);
	if (dev->pid != getpid())
		return npu_fail(ECHILD,
				"%s: the device was opened before fork() by process %ld; the child may only close it, and open its own",
				what, (long)dev->pid);
	return 0;
}

void npu_log(const struct npu_device *dev, int level, const char *fmt, ...)
{
	char text[NPU_SENTENCE_MAX];
	va_list args;

	if (!dev->log)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	dev->log(dev->log_data, level, text);
}

static int device_init(struct npu_device *dev, const struct npu_open_options *options)
{
	dev->fd = -1;
	dev->pid = getpid();
	dev->flags = options->flags;
	dev->log = options->log;
	dev->log_data = options->log_data;
	npu_list_init(&dev->bos);
	npu_list_init(&dev->queues);
	npu_list_init(&dev->timelines);
	npu_list_init(&dev->streams);
	if (pthread_mutex_init(&dev->signals, NULL))
		return npu_fail(ENOMEM, "no memory for a device");
	if (pthread_mutex_init(&dev->lock, NULL)) {
		pthread_mutex_destroy(&dev->signals);
		return npu_fail(ENOMEM, "no memory for a device");
	}
	return 0;
}

static void device_free(struct npu_device *dev)
{
	npu_space_free(&dev->space);
	/* A thread of the parent may have held them at fork(). */
	if (!dev->forked) {
		pthread_mutex_destroy(&dev->lock);
		pthread_mutex_destroy(&dev->signals);
	}
	free(dev);
}

static void device_windows(struct npu_device *dev)
{
	uint64_t start = dev->info.address_start;
	uint64_t end = dev->info.address_end;

	if (start < FIRST_ADDRESS && end > 2 * FIRST_ADDRESS)
		start = FIRST_ADDRESS;
	dev->own.end = end;
	dev->own.start = end - start > 2 * OWN_BYTES ? end - OWN_BYTES : start + (end - start) / 2;
	dev->own.cursor = dev->own.start;
	dev->window.start = start;
	dev->window.end = dev->own.start;
	dev->window.cursor = start;
}

static int open_backend(struct npu_device *dev, const char *name,
			const struct npu_open_options *options)
{
	char first[1][NPU_DEVICE_PATH_MAX];
	int found;

	if (!name) {
		found = npu_enumerate(first, 1);
		if (found < 0)
			return found;
		name = found ? first[0] : "emu";
	}
	dev->backend = strcmp(name, "emu") ? &npu_backend_drm : &npu_backend_emu;
	return dev->backend->open(dev, name, options);
}

int npu_open_with(const char *name, const struct npu_open_options *user, struct npu_device **out)
{
	struct npu_open_options options;
	struct npu_device *dev;
	int ret;

	ret = npu_take_sized(&options, sizeof(options), user, "npu_open_options");
	if (ret)
		return ret;
	if (!out)
		return npu_fail(EINVAL, "npu_open_with: dev is NULL");
	if (options.flags & ~NPU_OPEN_SCATTER || options.pad)
		return npu_fail(EINVAL, "npu_open_options.flags is 0x%x and pad 0x%x: unknown bits",
				options.flags, options.pad);
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return npu_fail(ENOMEM, "no memory for a device");
	ret = device_init(dev, &options);
	if (ret) {
		free(dev);
		return ret;
	}
	ret = open_backend(dev, name, &options);
	if (ret) {
		device_free(dev);
		return ret;
	}
	device_windows(dev);
	*out = dev;
	return 0;
}

int npu_open(const char *name, struct npu_device **dev)
{
	struct npu_open_options options = NPU_OPEN_OPTIONS_INIT;

	return npu_open_with(name, &options, dev);
}

/* In a forked child nothing is locked, and only the child's own memory goes. */
static void close_forked(struct npu_device *dev)
{
	struct npu_list *pos, *tmp;

	dev->forked = true;
	npu_list_for_safe(pos, tmp, &dev->streams)
		npu_stream_free(npu_container(pos, struct npu_stream, link));
	npu_list_for_safe(pos, tmp, &dev->queues)
		npu_queue_free(npu_container(pos, struct npu_queue, link));
	npu_list_for_safe(pos, tmp, &dev->timelines) {
		struct npu_timeline *timeline = npu_container(pos, struct npu_timeline, link);

		dev->backend->timeline_free(timeline);
		free(timeline);
	}
	npu_list_for_safe(pos, tmp, &dev->bos) {
		struct npu_bo *bo = npu_container(pos, struct npu_bo, link);

		if (!bo->released)
			dev->backend->bo_free(bo, true);
		free(bo);
	}
	dev->backend->close(dev);
	device_free(dev);
}

static void close_objects(struct npu_device *dev)
{
	struct npu_list *pos, *tmp;

	dev->backend->cancel(dev);
	npu_list_for_safe(pos, tmp, &dev->queues)
		npu_queue_destroy(npu_container(pos, struct npu_queue, link));
	npu_list_for_safe(pos, tmp, &dev->streams)
		npu_stream_destroy(npu_container(pos, struct npu_stream, link));
	npu_list_for_safe(pos, tmp, &dev->timelines)
		npu_timeline_destroy(npu_container(pos, struct npu_timeline, link));
	pthread_mutex_lock(&dev->lock);
	npu_list_for_safe(pos, tmp, &dev->bos) {
		struct npu_bo *bo = npu_container(pos, struct npu_bo, link);

		bo->refs = 1;
		npu_bo_release_locked(bo);
		npu_bo_unref_locked(bo);
	}
	pthread_mutex_unlock(&dev->lock);
}

void npu_close(struct npu_device *dev)
{
	if (!dev)
		return;
	if (dev->pid != getpid()) {
		close_forked(dev);
		return;
	}
	close_objects(dev);
	dev->backend->close(dev);
	device_free(dev);
}

int npu_get_info(struct npu_device *dev, struct npu_device_info *info)
{
	int ret = npu_device_check(dev, "npu_get_info");

	return ret ? ret : npu_give_sized(info, &dev->info, sizeof(dev->info), "npu_device_info");
}

int npu_device_fd(struct npu_device *dev)
{
	int ret = npu_device_check(dev, "npu_device_fd");

	return ret ? ret : dev->fd;
}

int64_t npu_deadline(int64_t ms)
{
	struct timespec now;
	int64_t deadline;

	if (ms < 0)
		return INT64_MAX;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (__builtin_mul_overflow(ms, (int64_t)1000000, &deadline) ||
	    __builtin_add_overflow(deadline, now.tv_sec * (int64_t)1000000000 + now.tv_nsec,
				   &deadline))
		return INT64_MAX;
	return deadline;
}
