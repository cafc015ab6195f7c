// SPDX-License-Identifier: MIT
/*
 * The vfio-user server: one client, which is QEMU or a test. The protocol's
 * structures are those of <linux/vfio.h> behind a header of its own.
 */
#include "vdev.h"

#include <errno.h>
#include <linux/vfio.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum vfu_command {
	VFU_VERSION = 1,
	VFU_DMA_MAP,
	VFU_DMA_UNMAP,
	VFU_GET_INFO,
	VFU_GET_REGION_INFO,
	VFU_GET_REGION_IO_FDS,
	VFU_GET_IRQ_INFO,
	VFU_SET_IRQS,
	VFU_REGION_READ,
	VFU_REGION_WRITE,
	VFU_DMA_READ,
	VFU_DMA_WRITE,
	VFU_RESET,
};

#define VFU_TYPE	0x0fu
#define VFU_REPLY	0x01u
#define VFU_NO_REPLY	0x10u
#define VFU_ERROR	0x20u

/* No region is larger than a page; the rest is generosity to VERSION's text. */
#define VFU_MAX_DATA	65536
#define VFU_MAX_FDS	16

struct vfu_header {
	uint16_t id;
	uint16_t command;
	uint32_t size;
	uint32_t flags;
	uint32_t error;
};

struct vfu_version {
	uint16_t major;
	uint16_t minor;
};

struct vfu_dma_map {
	uint32_t argsz;
	uint32_t flags;
	uint64_t offset;
	uint64_t iova;
	uint64_t size;
};

struct vfu_dma_unmap {
	uint32_t argsz;
	uint32_t flags;
	uint64_t iova;
	uint64_t size;
};

/* vfio's structure grew; the protocol's did not */
struct vfu_device_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t num_regions;
	uint32_t num_irqs;
};

struct vfu_region_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t cap_offset;
	uint64_t size;
	uint64_t offset;
};

struct vfu_region_access {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
};

struct message {
	struct vfu_header header;
	size_t size;			/* of the body */
	size_t out;			/* of the reply's body */
	int fd[VFU_MAX_FDS];		/* -1: taken */
	unsigned int fds;
	_Alignas(8) uint8_t body[VFU_MAX_DATA];
};

static const char capabilities[] =
	"{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":65536,"
	"\"pgsizes\":4096,\"max_dma_maps\":65535}}";

static void take_fds(struct message *m, struct msghdr *h)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n, count;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (n = 0; n < count; n++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + n * sizeof(fd), sizeof(fd));
			if (m->fds < VFU_MAX_FDS)
				m->fd[m->fds++] = fd;
			else
				close(fd);
		}
	}
}

static bool receive(int sock, int stop, struct message *m, void *buf, size_t size)
{
	uint8_t *p = buf;

	while (size) {
		union {
			struct cmsghdr align;
			char space[CMSG_SPACE(VFU_MAX_FDS * sizeof(int))];
		} control;
		struct iovec iov = { p, size };
		struct msghdr h = {
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof(control),
		};
		struct pollfd pfd[2] = { { sock, POLLIN, 0 }, { stop, POLLIN, 0 } };
		ssize_t n;

		if (poll(pfd, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return false;
		}
		if (pfd[1].revents)
			return false;
		n = recvmsg(sock, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return false;
		take_fds(m, &h);
		p += n;
		size -= n;
	}
	return true;
}

/* False: the client is gone, or what it sends makes no sense any more. */
static bool message_read(struct vdev *v, int sock, int stop, struct message *m)
{
	m->fds = 0;
	m->out = 0;
	if (!receive(sock, stop, m, &m->header, sizeof(m->header)))
		return false;
	if (m->header.size < sizeof(m->header) ||
	    m->header.size - sizeof(m->header) > sizeof(m->body)) {
		vdev_log(v, "message of %u bytes: hanging up", m->header.size);
		return false;
	}
	m->size = m->header.size - sizeof(m->header);
	return receive(sock, stop, m, m->body, m->size);
}

static bool message_reply(int sock, struct message *m, int error)
{
	struct iovec iov[2] = {
		{ &m->header, sizeof(m->header) },
		{ m->body, error ? 0 : m->out },
	};
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2 };

	m->header.flags = VFU_REPLY | (error ? VFU_ERROR : 0);
	m->header.error = -error;
	m->header.size = iov[0].iov_len + iov[1].iov_len;
	while (iov[0].iov_len || iov[1].iov_len) {
		ssize_t n = sendmsg(sock, &h, MSG_NOSIGNAL);
		unsigned int i;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		for (i = 0; i < 2; i++) {
			size_t k = (size_t)n < iov[i].iov_len ? (size_t)n : iov[i].iov_len;

			iov[i].iov_base = (uint8_t *)iov[i].iov_base + k;
			iov[i].iov_len -= k;
			n -= k;
		}
	}
	return true;
}

static int do_version(struct message *m)
{
	struct vfu_version *ver = (void *)m->body;

	if (m->size < sizeof(*ver) || ver->major != 0)
		return -EINVAL;
	if (m->size > sizeof(*ver) && m->body[m->size - 1])
		return -EINVAL;
	ver->minor = 0;
	memcpy(m->body + sizeof(*ver), capabilities, sizeof(capabilities));
	m->out = sizeof(*ver) + sizeof(capabilities);
	return 0;
}

static int do_dma_map(struct vdev *v, struct message *m)
{
	struct vfu_dma_map map;

	if (m->size < sizeof(map) || m->fds > 1)
		return -EINVAL;
	memcpy(&map, m->body, sizeof(map));
	return dma_map(&v->dma, map.iova, map.size, map.flags, m->fds ? m->fd[0] : -1, map.offset);
}

static int do_dma_unmap(struct vdev *v, struct message *m)
{
	struct vfu_dma_unmap unmap;

	if (m->size < sizeof(unmap))
		return -EINVAL;
	memcpy(&unmap, m->body, sizeof(unmap));
	m->out = sizeof(unmap);
	if (unmap.flags == VFIO_DMA_UNMAP_FLAG_ALL) {
		dma_unmap_all(&v->dma);
		return 0;
	}
	if (unmap.flags)
		return -EINVAL;
	return dma_unmap(&v->dma, unmap.iova, unmap.size);
}

static int do_get_info(struct message *m)
{
	struct vfu_device_info *info = (void *)m->body;

	if (m->size < sizeof(*info))
		return -EINVAL;
	info->argsz = sizeof(*info);
	info->flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET;
	info->num_regions = VFIO_PCI_NUM_REGIONS;
	info->num_irqs = VFIO_PCI_NUM_IRQS;
	m->out = sizeof(*info);
	return 0;
}

static uint32_t region_size(const struct vdev *v, uint32_t index)
{
	switch (index) {
	case VFIO_PCI_BAR0_REGION_INDEX + NPU_BAR_REGS:
		return NPU_BAR_REGS_SIZE;
	case VFIO_PCI_BAR0_REGION_INDEX + NPU_BAR_MSIX:
		return v->opt.msi ? 0 : NPU_BAR_MSIX_SIZE;
	case VFIO_PCI_CONFIG_REGION_INDEX:
		return VDEV_CONFIG_SIZE;
	default:
		return 0;
	}
}

static int do_get_region_info(struct vdev *v, struct message *m)
{
	struct vfu_region_info *info = (void *)m->body;

	if (m->size < sizeof(*info) || info->argsz < sizeof(*info) ||
	    info->index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	info->argsz = sizeof(*info);
	info->size = region_size(v, info->index);
	info->flags = info->size ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0;
	info->cap_offset = 0;
	info->offset = 0;
	m->out = sizeof(*info);
	return 0;
}

static int do_get_irq_info(struct vdev *v, struct message *m)
{
	struct vfio_irq_info *info = (void *)m->body;

	if (m->size < sizeof(*info) || info->argsz < sizeof(*info) || info->index >= IRQ_INDICES)
		return -EINVAL;
	info->argsz = sizeof(*info);
	info->count = irq_count(v, info->index);
	info->flags = info->count ? VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE : 0;
	m->out = sizeof(*info);
	return 0;
}

/* Registers are aligned words; anything else reads as zeros and writes nothing. */
static void regs_access(struct vdev *v, uint64_t offset, uint8_t *data, uint32_t count, bool write)
{
	uint32_t n, value;

	if (!write)
		memset(data, 0, count);
	if (offset % 4 || count % 4)
		return;
	for (n = 0; n < count; n += 4) {
		if (write) {
			memcpy(&value, data + n, 4);
			regs_write(v, offset + n, value);
		} else {
			value = regs_read(v, offset + n);
			memcpy(data + n, &value, 4);
		}
	}
}

static bool is_gone(struct vdev *v)
{
	bool gone;

	pthread_mutex_lock(&v->lock);
	gone = v->gone;
	pthread_mutex_unlock(&v->lock);
	return gone;
}

static int do_region_access(struct vdev *v, struct message *m, bool write)
{
	struct vfu_region_access a;
	uint8_t *data = m->body + sizeof(a);
	uint8_t *mem = v->msix;
	uint32_t size;

	if (m->size < sizeof(a))
		return -EINVAL;
	memcpy(&a, m->body, sizeof(a));
	size = region_size(v, a.region);
	if (a.count > size || a.offset > size - a.count || !a.count)
		return -EINVAL;
	if (write && m->size - sizeof(a) < a.count)
		return -EINVAL;
	m->out = sizeof(a) + (write ? 0 : a.count);
	if (is_gone(v)) {
		if (!write)
			memset(data, 0xff, a.count);
		return 0;
	}
	if (a.region == VFIO_PCI_BAR0_REGION_INDEX + NPU_BAR_REGS) {
		regs_access(v, a.offset, data, a.count, write);
		return 0;
	}
	if (a.region == VFIO_PCI_CONFIG_REGION_INDEX) {
		if (write) {
			config_write(v, a.offset, data, a.count);
			return 0;
		}
		mem = v->config;
	}
	if (write)
		memcpy(mem + a.offset, data, a.count);
	else
		memcpy(data, mem + a.offset, a.count);
	return 0;
}

static int dispatch(struct vdev *v, struct message *m)
{
	switch (m->header.command) {
	case VFU_VERSION:
		return do_version(m);
	case VFU_DMA_MAP:
		return do_dma_map(v, m);
	case VFU_DMA_UNMAP:
		return do_dma_unmap(v, m);
	case VFU_GET_INFO:
		return do_get_info(m);
	case VFU_GET_REGION_INFO:
		return do_get_region_info(v, m);
	case VFU_GET_IRQ_INFO:
		return do_get_irq_info(v, m);
	case VFU_SET_IRQS:
		return irq_set(v, m->body, m->size, m->fd, m->fds);
	case VFU_REGION_READ:
		return do_region_access(v, m, false);
	case VFU_REGION_WRITE:
		return do_region_access(v, m, true);
	case VFU_RESET:
		vdev_log(v, "bus reset");
		config_reset(v);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static void set_client(struct vdev *v, int sock)
{
	pthread_mutex_lock(&v->lock);
	v->client = sock;
	pthread_mutex_unlock(&v->lock);
}

/* As when the machine is switched off. */
static void client_gone(struct vdev *v)
{
	unsigned int n;

	config_reset(v);
	dma_unmap_all(&v->dma);
	pthread_mutex_lock(&v->lock);
	for (n = 0; n < IRQ_INDICES; n++)
		irq_clear_index(v, n);
	pthread_mutex_unlock(&v->lock);
}

static bool serve_one(struct vdev *v, int sock, int stop, struct message *m, bool *greeted)
{
	unsigned int n;
	bool ok;
	int ret = -EINVAL;

	ok = message_read(v, sock, stop, m);
	if (ok && (m->header.flags & VFU_TYPE) == 0) {
		if (*greeted || m->header.command == VFU_VERSION)
			ret = dispatch(v, m);
		if (m->header.command == VFU_VERSION)
			*greeted = !ret;
		if (!(m->header.flags & VFU_NO_REPLY))
			ok = message_reply(sock, m, ret);
		/* no version in common */
		ok = ok && *greeted;
	}
	for (n = 0; n < m->fds; n++) {
		if (m->fd[n] >= 0)
			close(m->fd[n]);
	}
	return ok;
}

void vdev_serve(struct vdev *v, int sock, int stop)
{
	/* a client that does not read its replies must not hold the device for ever */
	const struct timeval patience = { .tv_sec = 10 };
	struct message m;
	bool greeted = false;

	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	set_client(v, sock);
	vdev_log(v, "client connected");
	while (serve_one(v, sock, stop, &m, &greeted))
		;
	set_client(v, -1);
	close(sock);
	client_gone(v);
	vdev_log(v, "client gone");
}
