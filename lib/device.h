/* SPDX-License-Identifier: MIT */
/*
 * An open device.
 *
 * Locks, outermost first:
 *	device.signals	submits that signal timelines of the application's own: their points
 *			reach the backend in ascending order
 *	queue.submit	one queue's submits: its points reach the backend in ascending order
 *	device.lock	every list, count and table of the objects of this device
 * A backend's own locks come after these.
 */
#ifndef NPU_DEVICE_H
#define NPU_DEVICE_H

#include <pthread.h>
#include <sys/types.h>

#include "list.h"
#include "npu.h"
#include "space.h"

struct npu_backend;

struct npu_device {
	const struct npu_backend *backend;
	void *priv;			/* the backend's */
	int fd;
	pid_t pid;			/* who opened it; anyone else is a forked child */
	bool forked;			/* npu_close() in such a child */
	struct npu_device_info info;
	uint32_t flags;			/* NPU_OPEN_* */
	npu_log_fn *log;
	void *log_data;

	pthread_mutex_t signals;
	pthread_mutex_t lock;
	struct npu_space space;
	struct npu_window window;	/* of the application's BOs */
	struct npu_window own;		/* of the library's: their number must not move those */
	struct npu_list bos;
	struct npu_list queues;
	struct npu_list timelines;
	struct npu_list streams;
	uint64_t stamp;			/* marks the BOs of the submit under way */
	uint32_t queue_count;
	uint32_t queue_serial;		/* names queues in messages */
};

/* 0; -EINVAL for NULL, -ECHILD after fork(). */
int npu_device_check(const struct npu_device *dev, const char *what);

void npu_log(const struct npu_device *dev, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* npu_enumerate() and the start of npu_open() below other roots, for tests. */
int npu_enumerate_in(const char *sysfs, const char *devices,
		     char (*paths)[NPU_DEVICE_PATH_MAX], unsigned int count);
int npu_open_node(const char *sysfs, const char *path, int *fd);

#endif
