// SPDX-License-Identifier: MIT
/*
 * Feeds the device model what a hostile guest and a hostile client may say.
 * The input is a list of steps: messages, register and configuration writes,
 * writes to guest memory, commands. The device is the same all the time, as
 * its clients come and go; one step too far shows as a crash or a hang.
 */
#include <errno.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../tools/vdev/vdev.h"

#define RAM_SIZE	(256u << 10)
#define RAM_BASE	0x100000000ull
#define MAX_STEPS	256
#define NO_REPLY	0x10u

struct header {
	uint16_t id;
	uint16_t command;
	uint32_t size;
	uint32_t flags;
	uint32_t error;
};

struct input {
	const uint8_t *p;
	size_t left;
};

static struct vdev *vdev;
static uint8_t *ram, image[RAM_SIZE];
static int memfd, eventfds[NPU_IRQ_VECTORS], stop[2], server_sock;

static uint64_t take(struct input *in, unsigned int bytes)
{
	uint64_t value = 0;

	for (; bytes && in->left; bytes--, in->left--)
		value = value << 8 | *in->p++;
	return value;
}

/* Three rings with eight jobs each, an address space, streams: all of it can run. */
static void image_make(void)
{
	struct npu_stream_header h = { NPU_STREAM_MAGIC, NPU_ISA_MAJOR, NPU_ISA_MINOR, 24, 1 };
	const struct npu_cmd nop = { NPU_OP_NOP, sizeof(nop), 0 };
	uint64_t *root = (void *)(image + 0x10000), *mid = (void *)(image + 0x11000);
	uint64_t *leaf = (void *)(image + 0x12000);
	unsigned int n;

	root[0] = (RAM_BASE + 0x11000) | NPU_PTE_VALID;
	mid[0] = (RAM_BASE + 0x12000) | NPU_PTE_VALID;
	for (n = 1; n < NPU_PT_ENTRIES; n++)
		leaf[n] = (RAM_BASE + 0x20000 + n % 32 * 4096) | NPU_PTE_VALID | NPU_PTE_WRITE;
	memcpy(image + 0x14000, &h, sizeof(h));
	memcpy(image + 0x14000 + sizeof(h), &nop, sizeof(nop));
	for (n = 0; n < 3 * 8; n++) {
		struct npu_ring_entry e = {
			.sequence = n + 1,
			.stream = RAM_BASE + 0x14000,
			.stream_size = h.size,
			.asid = n % 4,
			.root = RAM_BASE + 0x10000,
			.record = 0x2000,
		};

		memcpy(image + n / 8 * 4096 + n % 8 * sizeof(e), &e, sizeof(e));
	}
}

static void drain(int sock)
{
	uint8_t buf[8192];

	while (recv(sock, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

static void message(int sock, uint16_t command, const void *body, size_t size, uint32_t flags,
		    const int *fds, unsigned int nfds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(4 * sizeof(int))];
	} control = { 0 };
	struct header h = { 1, command, sizeof(h) + size, flags, 0 };
	struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)body, size } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	if (nfds) {
		struct cmsghdr *m;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		m = CMSG_FIRSTHDR(&msg);
		m->cmsg_level = SOL_SOCKET;
		m->cmsg_type = SCM_RIGHTS;
		m->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(m), fds, nfds * sizeof(int));
	}
	/* the server may itself wait until its replies are read */
	while (sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EAGAIN)
		drain(sock);
	drain(sock);
}

static void region_write(int sock, uint32_t region, uint64_t offset, uint64_t value, uint32_t count)
{
	struct {
		uint64_t offset;
		uint32_t region;
		uint32_t count;
		uint64_t value;
	} body = { offset, region, count, value };

	message(sock, 10, &body, 16 + count, NO_REPLY, NULL, 0);
}

static void map_ram(int sock)
{
	const struct {
		uint32_t argsz;
		uint32_t flags;
		uint64_t offset;
		uint64_t iova;
		uint64_t size;
	} body = { sizeof(body), 3, 0, RAM_BASE, RAM_SIZE };

	message(sock, 2, &body, sizeof(body), NO_REPLY, &memfd, 1);
}

static void set_irqs(int sock)
{
	const struct vfio_irq_set set = {
		sizeof(set), VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
		VFIO_PCI_MSIX_IRQ_INDEX, 0, NPU_IRQ_VECTORS
	};

	message(sock, 8, &set, sizeof(set), NO_REPLY, eventfds, NPU_IRQ_VECTORS);
}

static void rings_enable(int sock)
{
	unsigned int n;

	for (n = 0; n < NPU_RING_COUNT; n++) {
		region_write(sock, 0, NPU_RING(n, NPU_REG_RING_BASE_HI), RAM_BASE >> 32, 4);
		region_write(sock, 0, NPU_RING(n, NPU_REG_RING_SLOTS_HI), RAM_BASE >> 32, 4);
		region_write(sock, 0, NPU_RING(n, NPU_REG_RING_BASE_LO), n << 12, 4);
		region_write(sock, 0, NPU_RING(n, NPU_REG_RING_SLOTS_LO), 0x8000 + (n << 12), 4);
		region_write(sock, 0, NPU_RING(n, NPU_REG_RING_SIZE), 8, 4);
		region_write(sock, 0, NPU_RING(n, NPU_REG_RING_CONTROL), 1, 4);
	}
}

static void boot(int sock)
{
	message(sock, 1, "\0\0\1\0{}", 7, NO_REPLY, NULL, 0);
	map_ram(sock);
	set_irqs(sock);
	region_write(sock, VFIO_PCI_CONFIG_REGION_INDEX, PCI_COMMAND,
		     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	rings_enable(sock);
	region_write(sock, 0, NPU_REG_IRQ_ENABLE, NPU_IRQ_ALL, 4);
}

static void raw(int sock, struct input *in)
{
	uint16_t command = take(in, 1) % 20;
	uint32_t flags = take(in, 1);
	size_t size = take(in, 1);
	unsigned int fds = flags >> 5 & 3;

	if (size > in->left)
		size = in->left;
	if (flags & 1)
		message(sock, command, in->p, size, flags & NO_REPLY, &memfd, fds > 1 ? 1 : fds);
	else
		message(sock, command, in->p, size, flags & NO_REPLY, eventfds, fds);
	in->p += size;
	in->left -= size;
}

static void memory_write(struct input *in)
{
	size_t at = take(in, 3) % RAM_SIZE, size = take(in, 1);

	if (size > in->left)
		size = in->left;
	if (size > RAM_SIZE - at)
		size = RAM_SIZE - at;
	memcpy(ram + at, in->p, size);
	in->p += size;
	in->left -= size;
}

static void control(struct input *in)
{
	char line[128], reply[2048];
	size_t size = take(in, 1) % sizeof(line);

	if (size > in->left)
		size = in->left;
	memcpy(line, in->p, size);
	line[size] = '\0';
	in->p += size;
	in->left -= size;
	if (!strstr(line, "crash"))
		vdev_command(vdev, line, reply, sizeof(reply));
}

static void step(int sock, struct input *in)
{
	uint8_t op = take(in, 1);
	uint32_t reg;

	switch (op % 8) {
	case 0:
		raw(sock, in);
		break;
	case 1:
		reg = take(in, 2) % NPU_BAR_REGS_SIZE & ~3u;
		region_write(sock, 0, reg, take(in, 4), 4);
		break;
	case 2:
		region_write(sock, 0, NPU_RING(op / 8 % 3, op / 32 * 4 + 0x14), take(in, 1), 4);
		break;
	case 3:
		region_write(sock, 0, NPU_RING(op / 8 % 3, NPU_REG_RING_TAIL), op / 32, 4);
		break;
	case 4:
		memory_write(in);
		break;
	case 5:
		reg = take(in, 1);
		region_write(sock, VFIO_PCI_CONFIG_REGION_INDEX, reg, take(in, 2), 2);
		break;
	case 6:
		if (op & 8)
			map_ram(sock);
		else
			rings_enable(sock);
		break;
	case 7:
		control(in);
		break;
	}
}

static void *server(void *arg)
{
	vdev_serve(vdev, server_sock, stop[0]);
	return arg;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct vdev_options opt = { .threads = 2, .seed = 1 };
	unsigned int n;

	image_make();
	memfd = memfd_create("ram", MFD_CLOEXEC);
	if (memfd < 0 || ftruncate(memfd, RAM_SIZE) || pipe(stop))
		abort();
	ram = mmap(NULL, RAM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	for (n = 0; n < NPU_IRQ_VECTORS; n++)
		eventfds[n] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	vdev = vdev_new(&opt);
	if (ram == MAP_FAILED || !vdev)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	char reply[2048], byte[512];
	unsigned int steps = 0;
	pthread_t thread;
	int pair[2];

	memcpy(ram, image, RAM_SIZE);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	server_sock = pair[1];
	if (pthread_create(&thread, NULL, server, NULL))
		abort();
	boot(pair[0]);
	while (in.left && steps++ < MAX_STEPS)
		step(pair[0], &in);
	shutdown(pair[0], SHUT_WR);
	while (recv(pair[0], byte, sizeof(byte), 0) > 0)
		;
	pthread_join(thread, NULL);
	close(pair[0]);
	vdev_command(vdev, "reset-faults", reply, sizeof(reply));
	return 0;
}
