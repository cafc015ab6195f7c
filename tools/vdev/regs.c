// SPDX-License-Identifier: MIT
/* BAR0. */
#include "vdev.h"

#define LO(x)	((uint32_t)(x))
#define HI(x)	((uint32_t)((x) >> 32))

static void set_lo(uint64_t *x, uint32_t value)
{
	*x = (*x & ~0xffffffffull) | value;
}

static void set_hi(uint64_t *x, uint32_t value)
{
	*x = (*x & 0xffffffffull) | (uint64_t)value << 32;
}

void regs_fault(struct vdev *v, unsigned int ring, uint32_t kind, uint32_t asid, uint64_t address)
{
	if (!(v->fault_status & NPU_FAULT_VALID)) {
		v->fault_status = NPU_FAULT_VALID | (ring << 4 & NPU_FAULT_RING) |
				  (kind << 8 & NPU_FAULT_KIND);
		v->fault_asid = asid;
		v->fault_address = address;
	}
	v->stats.device_faults++;
	vdev_log(v, "fault kind %u ring %u asid %u address %#llx", kind, ring, asid,
		 (unsigned long long)address);
	irq_raise(v, NPU_IRQ_FAULT, true);
}

static uint32_t status_read(struct vdev *v)
{
	uint32_t status = 0;
	unsigned int n;

	if (!v->reset_pending && !v->faults.not_ready)
		status |= NPU_DEVICE_READY;
	for (n = 0; n < NPU_RING_COUNT; n++) {
		if (v->ring[n].busy)
			status |= NPU_DEVICE_BUSY;
	}
	return status;
}

static uint32_t ident_read(struct vdev *v, uint32_t offset)
{
	const struct faults *f = &v->faults;

	switch (offset) {
	case NPU_REG_ID:
		return f->has_id ? f->id : NPU_ID_MAGIC;
	case NPU_REG_VERSION:
		return f->has_version ? f->version : NPU_REGS_MAJOR << 16 | NPU_REGS_MINOR;
	case NPU_REG_ISA:
		return f->has_isa ? f->isa : NPU_ISA_MAJOR << 16 | NPU_ISA_MINOR;
	case NPU_REG_RINGS:
		return f->has_rings ? f->rings : (1u << NPU_RING_COUNT) - 1;
	case NPU_REG_ASIDS:
		return v->opt.asids;
	case NPU_REG_ADDRESS_BITS:
		return NPU_ADDRESS_BITS;
	case NPU_REG_STREAM_MAX:
		return NPU_STREAM_MAX;
	case NPU_REG_RING_MAX:
		return VDEV_RING_MAX;
	case NPU_REG_CLOCK_LO:
		return LO(VDEV_CLOCK_HZ);
	case NPU_REG_CLOCK_HI:
		return HI(VDEV_CLOCK_HZ);
	default:
		return 0;
	}
}

static uint32_t ring_read(struct ring *r, uint32_t reg)
{
	switch (reg) {
	case NPU_REG_RING_BASE_LO:
		return LO(r->base);
	case NPU_REG_RING_BASE_HI:
		return HI(r->base);
	case NPU_REG_RING_SLOTS_LO:
		return LO(r->slots);
	case NPU_REG_RING_SLOTS_HI:
		return HI(r->slots);
	case NPU_REG_RING_SIZE:
		return r->size;
	case NPU_REG_RING_CONTROL:
		return r->enabled ? NPU_RING_CONTROL_ENABLE : 0;
	case NPU_REG_RING_TAIL:
		return r->tail;
	case NPU_REG_RING_HEAD:
		return r->head;
	case NPU_REG_RING_STATUS:
		return (r->enabled ? NPU_RING_STATUS_ENABLED : 0) |
		       (r->busy ? NPU_RING_STATUS_BUSY : 0) |
		       (r->stopped ? NPU_RING_STATUS_STOPPED : 0);
	case NPU_REG_RING_RESET:
		return r->reset;
	case NPU_REG_RING_RESET_ACK:
		return r->reset_ack;
	default:
		return 0;
	}
}

static uint32_t device_read(struct vdev *v, uint32_t offset)
{
	uint64_t now;

	switch (offset) {
	case NPU_REG_TIME_LO:
		now = vdev_clock(v);
		v->time_hi = HI(now);
		return LO(now);
	case NPU_REG_TIME_HI:
		return v->time_hi;
	case NPU_REG_RESET:
		return v->reset;
	case NPU_REG_RESET_ACK:
		return v->reset_ack;
	case NPU_REG_STATUS:
		return status_read(v);
	case NPU_REG_IRQ_STATUS:
		return v->irq_status;
	case NPU_REG_IRQ_ENABLE:
		return v->irq_enable;
	case NPU_REG_IRQ_VECTOR:
		return v->irq_vector;
	case NPU_REG_MMU_INVALIDATE:
		return v->mmu_request;
	case NPU_REG_MMU_ACK:
		return v->mmu_ack;
	case NPU_REG_FAULT_STATUS:
		return v->fault_status;
	case NPU_REG_FAULT_ASID:
		return v->fault_asid;
	case NPU_REG_FAULT_ADDRESS_LO:
		return LO(v->fault_address);
	case NPU_REG_FAULT_ADDRESS_HI:
		return HI(v->fault_address);
	default:
		return ident_read(v, offset);
	}
}

static struct ring *ring_of(struct vdev *v, uint32_t *offset)
{
	uint32_t n;

	if (*offset < NPU_RING_REGS)
		return NULL;
	n = (*offset - NPU_RING_REGS) / NPU_RING_STRIDE;
	if (n >= NPU_RING_COUNT)
		return NULL;
	*offset = (*offset - NPU_RING_REGS) % NPU_RING_STRIDE;
	return &v->ring[n];
}

/* In D3, and without memory decoding, nobody answers. */
static bool answers(const struct vdev *v)
{
	return !v->gone && !v->in_d3 && v->memory_enabled;
}

uint32_t regs_read(struct vdev *v, uint32_t offset)
{
	uint32_t value = NPU_REG_GONE;
	struct ring *r;

	pthread_mutex_lock(&v->lock);
	if (answers(v)) {
		r = ring_of(v, &offset);
		value = r ? ring_read(r, offset) : device_read(v, offset);
	}
	pthread_mutex_unlock(&v->lock);
	return value;
}

static void ring_enable(struct ring *r, bool enable)
{
	if (!enable) {
		r->enabled = false;
		return;
	}
	/* a job of before would count in the new HEAD */
	if (r->enabled || r->busy || r->reset_pending)
		return;
	if (r->base % NPU_PAGE_SIZE || r->slots % NPU_PAGE_SIZE)
		return;
	if (r->size < 2 || r->size > VDEV_RING_MAX || r->size & (r->size - 1))
		return;
	r->head = 0;
	r->tail = 0;
	r->enabled = true;
}

static void ring_doorbell(struct ring *r, uint32_t tail)
{
	if (!r->enabled || r->stopped)
		return;
	if (tail - r->head > r->size) {
		r->stopped = true;
		regs_fault(r->vdev, r->index, NPU_FAULT_TAIL, 0, 0);
		return;
	}
	r->tail = tail;
}

/* A broken device writes some time after it was told to stop, whether it stopped or not. */
static void ring_late_write(struct ring *r)
{
	struct later l = { .times = r->late.times, .interval = r->late.ms * 1000000ull };

	if (!r->late.armed)
		return;
	l.write = r->late;
	later_add(r->vdev, &l, r->late.ms);
	r->late.armed = false;
}

static void ring_reset(struct ring *r, uint32_t number)
{
	struct fault_rule hit;

	if (!number)
		return;
	r->reset = number;
	ring_late_write(r);
	if (fault_take(&r->vdev->faults, FAULT_REFUSE_RING_RESET, r->index, &hit)) {
		vdev_log(r->vdev, "ring %u: reset refused", r->index);
		return;
	}
	r->reset_pending = true;
	ring_cancel(r, CANCEL_RESET);
}

static void device_reset(struct vdev *v, uint32_t number)
{
	struct fault_rule hit;
	unsigned int n;

	if (!number)
		return;
	v->reset = number;
	for (n = 0; n < NPU_RING_COUNT; n++)
		ring_late_write(&v->ring[n]);
	if (fault_take(&v->faults, FAULT_REFUSE_RESET, 0, &hit)) {
		vdev_log(v, "full reset refused");
		return;
	}
	v->reset_pending = true;
	for (n = 0; n < NPU_RING_COUNT; n++)
		ring_cancel(&v->ring[n], CANCEL_RESET);
}

static void ring_write(struct ring *r, uint32_t reg, uint32_t value)
{
	switch (reg) {
	case NPU_REG_RING_CONTROL:
		ring_enable(r, value & NPU_RING_CONTROL_ENABLE);
		return;
	case NPU_REG_RING_TAIL:
		ring_doorbell(r, value);
		return;
	case NPU_REG_RING_RESET:
		ring_reset(r, value);
		return;
	}
	if (r->enabled)
		return;
	switch (reg) {
	case NPU_REG_RING_BASE_LO:
		set_lo(&r->base, value);
		break;
	case NPU_REG_RING_BASE_HI:
		set_hi(&r->base, value);
		break;
	case NPU_REG_RING_SLOTS_LO:
		set_lo(&r->slots, value);
		break;
	case NPU_REG_RING_SLOTS_HI:
		set_hi(&r->slots, value);
		break;
	case NPU_REG_RING_SIZE:
		r->size = value;
		break;
	}
}

static void irq_enable_write(struct vdev *v, uint32_t value)
{
	uint32_t news = value & ~v->irq_enable & v->irq_status & NPU_IRQ_ALL;

	v->irq_enable = value & NPU_IRQ_ALL;
	for (; news; news &= news - 1)
		irq_send(v, news & -news);
}

static void device_write(struct vdev *v, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case NPU_REG_IRQ_STATUS:
		v->irq_status &= ~value;
		break;
	case NPU_REG_IRQ_ENABLE:
		irq_enable_write(v, value);
		break;
	case NPU_REG_IRQ_VECTOR:
		v->irq_vector = value & (NPU_IRQ_VECTOR_FAULT | NPU_IRQ_VECTOR_RING(0) |
					 NPU_IRQ_VECTOR_RING(1) | NPU_IRQ_VECTOR_RING(2));
		break;
	case NPU_REG_MMU_INVALIDATE:
		v->mmu_request = value;
		v->mmu_pending = true;
		break;
	case NPU_REG_FAULT_STATUS:
		if (value & NPU_FAULT_VALID)
			v->fault_status = 0;
		break;
	}
}

void regs_write(struct vdev *v, uint32_t offset, uint32_t value)
{
	struct ring *r;

	pthread_mutex_lock(&v->lock);
	if (!answers(v))
		goto out;
	if (offset == NPU_REG_RESET) {
		device_reset(v, value);
	} else if (!v->reset_pending) {
		r = ring_of(v, &offset);
		if (r)
			ring_write(r, offset, value);
		else
			device_write(v, offset, value);
	}
	pthread_cond_broadcast(&v->cond);
out:
	pthread_mutex_unlock(&v->lock);
}
