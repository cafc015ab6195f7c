/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steering the device model from within the guest: NPU_VM_CONTROL names a serial
 * port on which it takes commands, one a line. Tests that need one are skipped
 * where there is none.
 */
#ifndef NPU_VDEV_H
#define NPU_VDEV_H

#include <stdarg.h>
#include <termios.h>

#include "npu_stream.h"

static char npu_vdev_reply[2048];

static inline int npu_vdev_fd(void)
{
	static int fd = -1;
	const char *path = getenv("NPU_VM_CONTROL");
	struct termios tio;

	if (fd >= 0 || !path || !*path)
		return fd;
	fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && !tcgetattr(fd, &tio)) {
		cfmakeraw(&tio);
		tcsetattr(fd, TCSANOW, &tio);
		tcflush(fd, TCIFLUSH);
	}
	return fd;
}

/* Reads a line; false when none comes in five seconds. */
static inline bool npu_vdev_line(int fd)
{
	int64_t deadline = npu_in_ms(5000);
	size_t n = 0;

	while (n < sizeof(npu_vdev_reply) - 1) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		int64_t left = (deadline - npu_now()) / 1000000;
		char c;

		if (left <= 0 || poll(&pfd, 1, left) < 0)
			return false;
		if (read(fd, &c, 1) != 1)
			continue;
		if (c == '\n') {
			npu_vdev_reply[n] = '\0';
			return true;
		}
		if (c != '\r')
			npu_vdev_reply[n++] = c;
	}
	return false;
}

/* 0 when the device model says ok. */
static inline int __attribute__((format(printf, 1, 2))) npu_vdev(const char *fmt, ...)
{
	int fd = npu_vdev_fd(), n;
	char line[256];
	va_list ap;

	if (fd < 0)
		return -ENODEV;
	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	line[n++] = '\n';
	if (write(fd, line, n) != n || !npu_vdev_line(fd))
		return -ETIMEDOUT;
	return strncmp(npu_vdev_reply, "ok", 2) ? -EINVAL : 0;
}

/* One of the numbers of "stats", ~0 on failure. */
static inline uint64_t npu_vdev_stat(const char *name)
{
	char key[64], *at;

	if (npu_vdev("stats"))
		return ~0ull;
	snprintf(key, sizeof(key), " %s=", name);
	at = strstr(npu_vdev_reply, key);
	return at ? strtoull(at + strlen(key), NULL, 0) : ~0ull;
}

static inline bool npu_has_vdev(void)
{
	static int has = -1;

	if (has < 0)
		has = npu_vdev_fd() >= 0 && !npu_vdev("ping");
	return has;
}

/* Waits until a job has met what was injected; which one is the scheduler's choice. */
static inline void npu_vdev_wait(void)
{
	int i;

	for (i = 0; i < 500 && npu_vdev_stat("faults_waiting"); i++)
		npu_sleep_ms(2);
}

#define NPU_NEED_VDEV()								\
	do {									\
		if (!npu_has_vdev())						\
			SKIP(return, "no control line to the device model");	\
	} while (0)

#define NPU_VDEV(...)	ASSERT_EQ(0, npu_vdev(__VA_ARGS__))

/*
 * Keeps a ring busy, with a file of its own, whose descriptor is returned: for
 * some milliseconds where the device model can be told to, else with a job
 * that the time limit ends.
 */
static inline int npu_block(uint32_t ring, unsigned int ms)
{
	int fd = npu_open(), queue, ret;
	struct npu_stream s;
	struct npu_buf buf;

	if (fd < 0)
		return fd;
	queue = npu_queue_create(fd, ring, geteuid() ? DRM_NPU_PRIORITY_NORMAL :
				 DRM_NPU_PRIORITY_HIGH);
	if (npu_has_vdev()) {
		npu_stream_empty(&s);
		ret = npu_vdev("slow ring=%u ms=%u", ring, ms);
	} else if (ring == NPU_RING_FETCH_MAIN) {
		npu_stream_init(&s);
		npu_stream_endless(&s, NPU_BASE);
		ret = npu_buf_init(fd, &buf, NPU_ENDLESS_SIZE, NPU_BASE);
	} else {
		ret = -EOPNOTSUPP;
	}
	if (queue < 0)
		ret = queue;
	if (!ret)
		ret = npu_submit(fd, queue, &s, 0, 0);
	if (ret) {
		close(fd);
		return ret;
	}
	/* It must have begun before something else comes. */
	if (npu_has_vdev())
		npu_vdev_wait();
	else
		npu_sleep_ms(30);
	return fd;
}

#endif
