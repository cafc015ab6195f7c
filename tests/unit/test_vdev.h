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

/* Where the driver's things are in the memory. */
#define RAM_ENTRIES	0x000000	/* a page each, rings 0..2 */
#define RAM_SLOTS	0x010000
#define RAM_TABLES	0x020000	/* page tables, bump allocated */
#define RAM_STREAMS	0x100000
#define RAM_DATA	0x200000	/* pages of the address spaces */

#define RING_SIZE	8

enum { MSG_VERSION = 1, MSG_DMA_MAP, MSG_DMA_UNMAP, MSG_GET_INFO, MSG_REGION_INFO, MSG_IO_FDS,
       MSG_IRQ_INFO, MSG_SET_IRQS, MSG_READ, MSG_WRITE, MSG_DMA_READ, MSG_DMA_WRITE, MSG_RESET };

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
	c->tables = RAM_TABLES;
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

/* The driver's side. */

static inline uint64_t *ram64(struct client *c, uint64_t at)
{
	return (uint64_t *)(void *)(c->ram + at);
}

static inline uint64_t table_new(struct client *c)
{
	uint64_t at = c->tables;

	c->tables += NPU_PAGE_SIZE;
	assert_true(c->tables <= RAM_STREAMS);
	memset(c->ram + at, 0, NPU_PAGE_SIZE);
	return at;
}

/* An empty address space: the offset of its root in memory. */
#define space_new(c)	table_new(c)

/* The leaf entry of @va; tables above it are made as needed. */
static inline uint64_t *pte_of(struct client *c, uint64_t root, uint64_t va)
{
	uint64_t at = root;
	unsigned int level;

	for (level = 0; level < NPU_PT_LEVELS - 1; level++) {
		uint64_t *e = ram64(c, at) + (va >> NPU_PT_SHIFT(level)) % NPU_PT_ENTRIES;

		if (!*e)
			*e = (RAM_BASE + table_new(c)) | NPU_PTE_VALID;
		at = (*e & NPU_PTE_ADDRESS) - RAM_BASE;
	}
	return ram64(c, at) + (va >> 12) % NPU_PT_ENTRIES;
}

/* Maps @pages at device address @va to the memory at @at. */
static inline void space_map(struct client *c, uint64_t root, uint64_t va, uint64_t at,
			     unsigned int pages, bool write)
{
	unsigned int n;

	for (n = 0; n < pages; n++)
		*pte_of(c, root, va + n * NPU_PAGE_SIZE) = (RAM_BASE + at + n * NPU_PAGE_SIZE) |
			NPU_PTE_VALID | (write ? NPU_PTE_WRITE : 0);
}

static inline void ring_set_up(struct client *c, unsigned int n)
{
	memset(c->ram + RAM_SLOTS + n * NPU_PAGE_SIZE, 0, NPU_PAGE_SIZE);
	reg_write(c, NPU_RING(n, NPU_REG_RING_BASE_LO),
		  (uint32_t)(RAM_BASE + RAM_ENTRIES + n * NPU_PAGE_SIZE));
	reg_write(c, NPU_RING(n, NPU_REG_RING_BASE_HI), RAM_BASE >> 32);
	reg_write(c, NPU_RING(n, NPU_REG_RING_SLOTS_LO),
		  (uint32_t)(RAM_BASE + RAM_SLOTS + n * NPU_PAGE_SIZE));
	reg_write(c, NPU_RING(n, NPU_REG_RING_SLOTS_HI), RAM_BASE >> 32);
	reg_write(c, NPU_RING(n, NPU_REG_RING_SIZE), RING_SIZE);
	reg_write(c, NPU_RING(n, NPU_REG_RING_CONTROL), NPU_RING_CONTROL_ENABLE);
	c->tail[n] = 0;
}

/* A machine that has booted and a driver that has probed. */
static inline void client_boot(struct client *c, const struct vdev_options *opt)
{
	unsigned int n;

	client_open(c, opt);
	greet(c);
	assert_int_equal(map_ram(c, RAM_BASE, RAM_SIZE, 0), 0);
	if (opt && opt->msi)
		assert_int_equal(set_irqs(c, VFIO_PCI_MSI_IRQ_INDEX, 0, 1,
					  VFIO_IRQ_SET_DATA_EVENTFD |
					  VFIO_IRQ_SET_ACTION_TRIGGER, c->irq, 1), 0);
	else
		assert_int_equal(set_irqs(c, VFIO_PCI_MSIX_IRQ_INDEX, 0, NPU_IRQ_VECTORS,
					  VFIO_IRQ_SET_DATA_EVENTFD |
					  VFIO_IRQ_SET_ACTION_TRIGGER, c->irq,
					  NPU_IRQ_VECTORS), 0);
	set_command(c, true);
	assert_int_equal(reg_read(c, NPU_REG_ID), NPU_ID_MAGIC);
	for (n = 0; n < NPU_RING_COUNT; n++)
		ring_set_up(c, n);
	reg_write(c, NPU_REG_IRQ_VECTOR, 0x30000210);
	reg_write(c, NPU_REG_IRQ_ENABLE, NPU_IRQ_ALL);
}

static inline struct npu_ring_entry *ring_entry(struct client *c, unsigned int ring, uint32_t n)
{
	return (struct npu_ring_entry *)(void *)(c->ram + RAM_ENTRIES + ring * NPU_PAGE_SIZE) +
	       n % RING_SIZE;
}

static inline struct npu_completion *ring_slot(struct client *c, unsigned int ring, uint32_t n)
{
	return (struct npu_completion *)(void *)(c->ram + RAM_SLOTS + ring * NPU_PAGE_SIZE) +
	       n % RING_SIZE;
}

/* Queues a stream that lies in memory at @stream; returns its number on the ring. */
static inline uint32_t queue_stream(struct client *c, unsigned int ring, uint64_t root,
				    uint32_t asid, uint64_t stream, uint32_t size,
				    uint64_t record)
{
	uint32_t n = c->tail[ring];
	struct npu_ring_entry e = {
		.sequence = ++c->sequence,
		.stream = RAM_BASE + stream,
		.stream_size = size,
		.asid = asid,
		.root = root ? RAM_BASE + root : 0,
		.record = record,
	};

	*ring_entry(c, ring, n) = e;
	c->tail[ring]++;
	return n;
}

static inline void doorbell(struct client *c, unsigned int ring)
{
	reg_write(c, NPU_RING(ring, NPU_REG_RING_TAIL), c->tail[ring]);
}

/* A stream of one command at @at. */
static inline uint32_t stream_put(struct client *c, uint64_t at, const void *cmd, uint32_t size)
{
	struct npu_stream_header h = {
		.magic = NPU_STREAM_MAGIC,
		.major = NPU_ISA_MAJOR,
		.minor = NPU_ISA_MINOR,
		.size = sizeof(h) + size,
		.count = 1,
	};

	memcpy(c->ram + at, &h, sizeof(h));
	memcpy(c->ram + at + sizeof(h), cmd, size);
	return h.size;
}

static inline uint32_t stream_nop(struct client *c, uint64_t at)
{
	const struct npu_cmd nop = { NPU_OP_NOP, sizeof(nop), 0 };

	return stream_put(c, at, &nop, sizeof(nop));
}

/* int8 to int32, @n elements, a multiple of 8 */
static inline uint32_t stream_cast(struct client *c, uint64_t at, uint64_t src, uint64_t dst,
				   uint32_t n)
{
	struct npu_cmd_fetch f = {
		.cmd = { NPU_OP_FETCH, sizeof(f), 0 },
		.src = src,
		.dst = dst,
		.packet_size = 8,
		.read_size = 8,
		.src_type = NPU_TYPE_I8,
		.loop_count = 1,
		.sink = NPU_SINK_MEMORY,
		.cast_type = NPU_TYPE_I32,
		.size = { n },
		.stride = { 1 },
	};

	return stream_put(c, at, &f, sizeof(f));
}

static inline void nap(unsigned int ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&ts, NULL);
}

static inline bool slot_is(struct client *c, unsigned int ring, uint32_t n, uint64_t sequence)
{
	_Atomic uint64_t *p = (_Atomic uint64_t *)(void *)&ring_slot(c, ring, n)->sequence;

	return atomic_load_explicit(p, memory_order_acquire) == sequence;
}

/* Waits at most @ms for the completion of job @n; its copy. */
static inline bool slot_wait(struct client *c, unsigned int ring, uint32_t n, unsigned int ms,
			     struct npu_completion *out)
{
	uint64_t sequence = ring_entry(c, ring, n)->sequence;

	if (out)
		memset(out, 0, sizeof(*out));
	while (!slot_is(c, ring, n, sequence)) {
		if (!ms--)
			return false;
		nap(1);
	}
	if (out)
		*out = *ring_slot(c, ring, n);
	return true;
}

static inline void expect_slot(struct client *c, unsigned int ring, uint32_t n, uint32_t status,
			       uint32_t rule)
{
	struct npu_completion done;

	assert_true(slot_wait(c, ring, n, 10000, &done));
	if (done.rule != rule || done.status != status)
		fail_msg("ring %u job %u: status %u rule %u command %u address %#llx", ring, n,
			 done.status, done.rule, done.command,
			 (unsigned long long)done.fault_address);
}

static inline void expect_ok(struct client *c, unsigned int ring, uint32_t n)
{
	expect_slot(c, ring, n, NPU_STATUS_OK, NPU_RULE_NONE);
}

/* Waits at most @ms for a register to have a value. */
static inline bool reg_wait(struct client *c, uint32_t reg, uint32_t mask, uint32_t value,
			    unsigned int ms)
{
	while ((reg_read(c, reg) & mask) != value) {
		if (!ms--)
			return false;
		nap(1);
	}
	return true;
}

static inline bool irq_wait(struct client *c, unsigned int vector, unsigned int ms)
{
	struct pollfd p = { c->irq[vector], POLLIN, 0 };
	uint64_t n;

	return poll(&p, 1, ms) == 1 && read(c->irq[vector], &n, sizeof(n)) == sizeof(n);
}

static inline void irq_drain(struct client *c)
{
	unsigned int n;

	for (n = 0; n < NPU_IRQ_VECTORS; n++)
		irq_wait(c, n, 0);
}

static inline bool invalidate(struct client *c, uint32_t asid)
{
	uint32_t word = ++c->invalidations << 16 | asid;

	reg_write(c, NPU_REG_MMU_INVALIDATE, word);
	return reg_wait(c, NPU_REG_MMU_ACK, ~0u, word, 1000);
}

static inline bool reset_ring(struct client *c, unsigned int ring, uint32_t number,
			      unsigned int ms)
{
	reg_write(c, NPU_RING(ring, NPU_REG_RING_RESET), number);
	return reg_wait(c, NPU_RING(ring, NPU_REG_RING_RESET_ACK), ~0u, number, ms);
}

static inline bool reset_all(struct client *c, uint32_t number, unsigned int ms)
{
	reg_write(c, NPU_REG_RESET, number);
	return reg_wait(c, NPU_REG_RESET_ACK, ~0u, number, ms);
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
