/* SPDX-License-Identifier: MIT */
/*
 * A client for the device model: what QEMU and a driver do together, over a
 * socketpair, with a memfd as the machine's memory.
 */
#ifndef TEST_VDEV_H
#define TEST_VDEV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../tools/vdev/vdev.h"

#define RAM_SIZE	(16u << 20)
#define RAM_BASE	0x180000000ull	/* bus address of the memory's first byte */

enum {
	MSG_VERSION = 1, MSG_DMA_MAP, MSG_DMA_UNMAP, MSG_GET_INFO, MSG_REGION_INFO, MSG_IO_FDS,
	MSG_IRQ_INFO, MSG_SET_IRQS, MSG_READ, MSG_WRITE, MSG_DMA_READ, MSG_DMA_WRITE, MSG_RESET
};

struct msg_header {
	uint16_t id;
	uint16_t command;
	uint32_t size;
	uint32_t flags;
	uint32_t error;
};

struct msg_map {
	uint32_t argsz;
	uint32_t flags;
	uint64_t offset;
	uint64_t iova;
	uint64_t size;
};

struct msg_unmap {
	uint32_t argsz;
	uint32_t flags;
	uint64_t iova;
	uint64_t size;
};

struct msg_access {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
	uint8_t data[64];
};

struct client {
	struct vdev *vdev;
	pthread_t server;
	int sock;
	int server_sock;
	int stop[2];
	int memfd;
	uint8_t *ram;
	int irq[NPU_IRQ_VECTORS];
	uint16_t id;
	/* the driver's */
	uint64_t tables;		/* next free table */
	uint64_t sequence;
	uint32_t tail[NPU_RING_COUNT];
	uint32_t invalidations;
	uint32_t resets;
	uint32_t reply_flags;
	uint32_t reply_size;
};

static inline void *client_server(void *arg)
{
	struct client *c = arg;

	vdev_serve(c->vdev, c->server_sock, c->stop[0]);
	return NULL;
}

static inline void send_bytes(struct client *c, const void *buf, size_t size, const int *fds,
			      unsigned int nfds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(16 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)buf, size };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		struct cmsghdr *m;

		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		m = CMSG_FIRSTHDR(&h);
		m->cmsg_level = SOL_SOCKET;
		m->cmsg_type = SCM_RIGHTS;
		m->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(m), fds, nfds * sizeof(int));
	}
	assert_int_equal(sendmsg(c->sock, &h, MSG_NOSIGNAL), size);
}

static inline bool recv_bytes(struct client *c, void *buf, size_t size)
{
	return !size || recv(c->sock, buf, size, MSG_WAITALL) == (ssize_t)size;
}

/* Sends a request and takes the reply's body; returns the reply's error, 0 or positive errno. */
static inline int request(struct client *c, uint16_t command, const void *body, size_t size,
			  const int *fds, unsigned int nfds, void *out, size_t room)
{
	static _Thread_local uint8_t buf[sizeof(struct msg_header) + 8192];
	struct msg_header h = { ++c->id, command, sizeof(h) + size, 0, 0 };
	size_t n;

	assert_true(size <= sizeof(buf) - sizeof(h));
	memcpy(buf, &h, sizeof(h));
	if (size)
		memcpy(buf + sizeof(h), body, size);
	send_bytes(c, buf, sizeof(h) + size, fds, nfds);
	assert_true(recv_bytes(c, &h, sizeof(h)));
	assert_int_equal(h.id, c->id);
	assert_int_equal(h.command, command);
	assert_int_equal(h.flags & 0xf, 1);
	assert_int_equal(!!(h.flags & 0x20), !!h.error);
	n = h.size - sizeof(h);
	assert_true(n <= sizeof(buf));
	assert_true(recv_bytes(c, buf, n));
	c->reply_flags = h.flags;
	c->reply_size = n;
	if (out)
		memcpy(out, buf, n < room ? n : room);
	return h.error;
}

static inline int access_region(struct client *c, bool write, uint32_t region, uint64_t offset,
				void *data, uint32_t count)
{
	struct msg_access a = { offset, region, count, { 0 } };
	int ret;

	if (write)
		memcpy(a.data, data, count);
	ret = request(c, write ? MSG_WRITE : MSG_READ, &a, 16 + (write ? count : 0), NULL, 0, &a,
		      sizeof(a));
	if (!write && !ret)
		memcpy(data, a.data, count);
	return ret;
}

static inline uint32_t reg_read(struct client *c, uint32_t reg)
{
	uint32_t value = 0;

	assert_int_equal(access_region(c, false, 0, reg, &value, 4), 0);
	return value;
}

static inline void reg_write(struct client *c, uint32_t reg, uint32_t value)
{
	assert_int_equal(access_region(c, true, 0, reg, &value, 4), 0);
}

static inline uint16_t config_read16(struct client *c, uint32_t at)
{
	uint16_t value = 0;

	assert_int_equal(access_region(c, false, VFIO_PCI_CONFIG_REGION_INDEX, at, &value, 2), 0);
	return value;
}

static inline void config_write16(struct client *c, uint32_t at, uint16_t value)
{
	assert_int_equal(access_region(c, true, VFIO_PCI_CONFIG_REGION_INDEX, at, &value, 2), 0);
}

/* Offset of a capability, 0 if there is none. */
static inline uint32_t capability(struct client *c, uint8_t id)
{
	uint32_t at = config_read16(c, PCI_CAPABILITY_LIST) & 0xff;

	while (at) {
		uint16_t head = config_read16(c, at);

		if ((head & 0xff) == id)
			return at;
		at = head >> 8;
	}
	return 0;
}

static inline int map_fd(struct client *c, uint64_t iova, uint64_t size, uint64_t offset,
			 uint32_t flags, int fd)
{
	struct msg_map m = { sizeof(m), flags, offset, iova, size };

	return request(c, MSG_DMA_MAP, &m, sizeof(m), &fd, fd >= 0, NULL, 0);
}

static inline int map_ram(struct client *c, uint64_t iova, uint64_t size, uint64_t offset)
{
	return map_fd(c, iova, size, offset, VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		      c->memfd);
}

static inline int unmap(struct client *c, uint64_t iova, uint64_t size)
{
	struct msg_unmap m = { sizeof(m), 0, iova, size };

	return request(c, MSG_DMA_UNMAP, &m, sizeof(m), NULL, 0, NULL, 0);
}

static inline void set_command(struct client *c, bool master)
{
	config_write16(c, PCI_COMMAND, PCI_COMMAND_MEMORY | (master ? PCI_COMMAND_MASTER : 0));
}

static inline int set_irqs(struct client *c, uint32_t index, uint32_t start, uint32_t count,
			   uint32_t flags, const int *fds, unsigned int nfds)
{
	struct vfio_irq_set s = { sizeof(s), flags, index, start, count };

	return request(c, MSG_SET_IRQS, &s, sizeof(s), fds, nfds, NULL, 0);
}

static inline void greet(struct client *c)
{
	static const char hello[] = "\0\0\1\0{\"capabilities\":{\"max_msg_fds\":8}}";

	assert_int_equal(request(c, MSG_VERSION, hello, sizeof(hello), NULL, 0, NULL, 0), 0);
}

/* A device with a client that has said nothing yet. */
static inline void client_open(struct client *c, const struct vdev_options *opt)
{
	static const struct vdev_options none = { .seed = 1 };
	int pair[2], n;

	memset(c, 0, sizeof(*c));
	c->vdev = vdev_new(opt ? opt : &none);
	assert_non_null(c->vdev);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(pipe(c->stop), 0);
	c->sock = pair[0];
	c->server_sock = pair[1];
	c->memfd = memfd_create("ram", MFD_CLOEXEC);
	assert_true(c->memfd >= 0);
	assert_int_equal(ftruncate(c->memfd, RAM_SIZE), 0);
	c->ram = mmap(NULL, RAM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, c->memfd, 0);
	assert_ptr_not_equal(c->ram, MAP_FAILED);
	for (n = 0; n < NPU_IRQ_VECTORS; n++)
		c->irq[n] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(pthread_create(&c->server, NULL, client_server, c), 0);
}

static inline void client_close(struct client *c)
{
	int n;

	close(c->sock);
	pthread_join(c->server, NULL);
	vdev_free(c->vdev);
	munmap(c->ram, RAM_SIZE);
	close(c->memfd);
	close(c->stop[0]);
	close(c->stop[1]);
	for (n = 0; n < NPU_IRQ_VECTORS; n++)
		close(c->irq[n]);
}

static inline void nap(unsigned int ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&ts, NULL);
}

static inline void command(struct client *c, const char *line)
{
	char reply[2048];

	vdev_command(c->vdev, line, reply, sizeof(reply));
	if (strncmp(reply, "ok", 2))
		fail_msg("%s: %s", line, reply);
}

static inline uint64_t stat_value(struct client *c, const char *name)
{
	char reply[2048], key[64];
	const char *p;

	vdev_command(c->vdev, "stats", reply, sizeof(reply));
	snprintf(key, sizeof(key), " %s=", name);
	p = strstr(reply, key);
	assert_non_null(p);
	return strtoull(p + strlen(key), NULL, 10);
}

#endif
