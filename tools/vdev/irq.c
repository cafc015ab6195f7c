// SPDX-License-Identifier: MIT
/* Events, their mask, and messages: the client's eventfds. */
#include "vdev.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <string.h>
#include <unistd.h>

void irq_init(struct vdev *v)
{
	memset(v->irq_fd, 0xff, sizeof(v->irq_fd));
}

unsigned int irq_count(const struct vdev *v, unsigned int index)
{
	switch (index) {
	case IRQ_MSI:
	case IRQ_ERR:	/* never sent; QEMU complains of devices without */
		return 1;
	case IRQ_MSIX:
		return v->opt.msi ? 0 : NPU_IRQ_VECTORS;
	default:
		return 0;
	}
}

static unsigned int event_vector(const struct vdev *v, uint32_t event)
{
	unsigned int n;

	if (event == NPU_IRQ_FAULT)
		return v->irq_vector >> 28;
	for (n = 0; n < NPU_RING_COUNT; n++) {
		if (event == NPU_IRQ_RING(n))
			break;
	}
	return v->irq_vector >> 4 * n & 0xf;
}

static bool msix_in_use(const struct vdev *v)
{
	unsigned int n;

	for (n = 0; n < NPU_IRQ_VECTORS; n++) {
		if (v->irq_fd[IRQ_MSIX][n] >= 0)
			return true;
	}
	return false;
}

static bool signal_fd(int fd)
{
	const uint64_t one = 1;

	return fd >= 0 && write(fd, &one, sizeof(one)) == sizeof(one);
}

void irq_send(struct vdev *v, uint32_t event)
{
	unsigned int vector = 0;
	int fd = v->irq_fd[IRQ_MSI][0];

	if (msix_in_use(v)) {
		vector = event_vector(v, event);
		fd = vector < NPU_IRQ_VECTORS ? v->irq_fd[IRQ_MSIX][vector] : -1;
	}
	/* a message is a write to memory, and so needs bus mastering */
	if (v->gone || !atomic_load(&v->dma.enabled) || !signal_fd(fd)) {
		v->stats.irqs_lost++;
		vdev_log(v, "irq event %#x lost", event);
		return;
	}
	v->stats.irqs++;
}

void irq_raise(struct vdev *v, uint32_t event, bool send)
{
	v->irq_status |= event;
	if (!(v->irq_enable & event))
		return;
	if (send)
		irq_send(v, event);
	else
		v->stats.irqs_lost++;
}

void irq_clear_index(struct vdev *v, unsigned int index)
{
	unsigned int n;

	for (n = 0; n < NPU_IRQ_VECTORS; n++) {
		if (v->irq_fd[index][n] >= 0)
			close(v->irq_fd[index][n]);
		v->irq_fd[index][n] = -1;
	}
}

static int irq_assign(struct vdev *v, const struct vfio_irq_set *set, int *fds, unsigned int nfds)
{
	unsigned int n;

	/* all of a batch have a file, or none has */
	if (nfds && nfds != set->count)
		return -EINVAL;
	for (n = 0; n < set->count; n++) {
		int *slot = &v->irq_fd[set->index][set->start + n];

		if (*slot >= 0)
			close(*slot);
		*slot = -1;
		if (nfds) {
			int mode = fcntl(fds[n], F_GETFL);

			/* whatever this file is, a full one must not block the device */
			fcntl(fds[n], F_SETFL, mode | O_NONBLOCK);
			*slot = fds[n];
			fds[n] = -1;
		}
	}
	return 0;
}

static int irq_trigger(struct vdev *v, const struct vfio_irq_set *set, const uint8_t *data)
{
	unsigned int n;

	for (n = 0; n < set->count; n++) {
		if (!data || data[n])
			signal_fd(v->irq_fd[set->index][set->start + n]);
	}
	return 0;
}

int irq_set(struct vdev *v, const void *msg, size_t size, int *fds, unsigned int nfds)
{
	struct vfio_irq_set set;
	const uint8_t *data;
	int ret = -EINVAL;

	if (size < sizeof(set))
		return -EINVAL;
	memcpy(&set, msg, sizeof(set));
	data = (const uint8_t *)msg + sizeof(set);
	size -= sizeof(set);
	if (set.index >= IRQ_INDICES)
		return -EINVAL;
	if ((set.flags & VFIO_IRQ_SET_ACTION_TYPE_MASK) != VFIO_IRQ_SET_ACTION_TRIGGER)
		return -EINVAL;
	if (set.start > irq_count(v, set.index) || set.count > irq_count(v, set.index) - set.start)
		return -EINVAL;

	pthread_mutex_lock(&v->lock);
	switch (set.flags & VFIO_IRQ_SET_DATA_TYPE_MASK) {
	case VFIO_IRQ_SET_DATA_NONE:
		ret = 0;
		if (!set.count)
			irq_clear_index(v, set.index);
		else
			irq_trigger(v, &set, NULL);
		break;
	case VFIO_IRQ_SET_DATA_BOOL:
		if (size >= set.count)
			ret = irq_trigger(v, &set, data);
		break;
	case VFIO_IRQ_SET_DATA_EVENTFD:
		ret = irq_assign(v, &set, fds, nfds);
		break;
	}
	pthread_mutex_unlock(&v->lock);
	return ret;
}
