/* SPDX-License-Identifier: MIT */
/* The driver's side of a test: rings, page tables, streams, registers. */
#ifndef TEST_VDEV_DRIVER_H
#define TEST_VDEV_DRIVER_H

#include "test_vdev.h"

/* Where the driver's things are in the memory. */
#define RAM_ENTRIES	0x000000	/* a page each, rings 0..2 */
#define RAM_SLOTS	0x010000
#define RAM_TABLES	0x020000	/* page tables, bump allocated */
#define RAM_STREAMS	0x100000
#define RAM_DATA	0x200000	/* pages of the address spaces */

#define RING_SIZE	8

/* Device addresses. */
#define VA_SRC		0x40000000ull
#define VA_DST		0x2345600000ull
#define VA_RECORD	0x7ffffff000ull	/* the last page there is */

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
	c->tables = RAM_TABLES;
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

static inline struct npu_result *record_at(struct client *c, uint64_t at)
{
	return (struct npu_result *)(void *)(c->ram + at);
}

/* A job that runs for minutes: 2^20 rows of 2^16 products, all over the same few pages. */
static inline uint32_t stream_long(struct client *c, uint64_t root)
{
	const struct npu_cmd_fetch f = {
		.cmd = { NPU_OP_FETCH, sizeof(f), 0 },
		.src = VA_SRC,
		.dst = VA_DST,
		.weight = VA_SRC + 4096,
		.packet_size = 8,
		.read_size = 8,
		.src_type = NPU_TYPE_I8,
		.weight_type = NPU_TYPE_I8,
		.loop_count = 2,
		.sink = NPU_SINK_CONTRACT,
		.k = 1u << 16,
		.n = 1,
		.m = 1u << 20,
		.size = { 1u << 20, 1u << 16 },
		.stride = { 0, 1 },
	};
	unsigned int n;

	for (n = 0; n < 32; n++)
		space_map(c, root, VA_SRC + n * NPU_PAGE_SIZE, RAM_DATA, 1, false);
	for (n = 0; n < 1024; n++)
		space_map(c, root, VA_DST + n * NPU_PAGE_SIZE, RAM_DATA + 0x10000, 1, true);
	return stream_put(c, RAM_STREAMS + 0x20000, &f, sizeof(f));
}

static inline uint32_t start_long(struct client *c, uint64_t root)
{
	uint32_t size = stream_long(c, root);
	uint32_t n = queue_stream(c, 0, root, 1, RAM_STREAMS + 0x20000, size, VA_RECORD);

	space_map(c, root, VA_RECORD, RAM_DATA + 0x20000, 1, true);
	memset(c->ram + RAM_DATA + 0x20000, 0, 4096);
	doorbell(c, 0);
	assert_true(reg_wait(c, NPU_RING(0, NPU_REG_RING_STATUS), NPU_RING_STATUS_BUSY,
			     NPU_RING_STATUS_BUSY, 10000));
	nap(20);
	if (slot_wait(c, 0, n, 0, NULL))
		fail_msg("the long job ended: rule %u", ring_slot(c, 0, n)->rule);
	return n;
}

static inline void expect_fault(struct client *c, unsigned int ring, uint32_t kind, uint32_t asid,
				uint64_t address)
{
	uint64_t got;

	assert_true(reg_wait(c, NPU_REG_FAULT_STATUS, ~0u,
			     NPU_FAULT_VALID | ring << 4 | kind << 8, 10000));
	got = reg_read(c, NPU_REG_FAULT_ADDRESS_LO);
	got |= (uint64_t)reg_read(c, NPU_REG_FAULT_ADDRESS_HI) << 32;
	assert_int_equal(reg_read(c, NPU_REG_FAULT_ASID), asid);
	assert_true(got == address);
	assert_true(irq_wait(c, 3, 10000));
	reg_write(c, NPU_REG_FAULT_STATUS, NPU_FAULT_VALID);
	assert_int_equal(reg_read(c, NPU_REG_FAULT_STATUS), 0);
}

#endif
