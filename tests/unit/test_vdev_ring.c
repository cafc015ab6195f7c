// SPDX-License-Identifier: MIT
/* The device model's rings and MMU, with real streams. */
#include "test_vdev_driver.h"

static void test_nop(void **state)
{
	struct client c;
	struct npu_completion done;
	const struct npu_result *rec;
	uint64_t root;
	uint32_t n, size;
	unsigned int ring;

	client_boot(&c, NULL);
	root = space_new(&c);
	space_map(&c, root, VA_RECORD, RAM_DATA, 1, true);
	size = stream_nop(&c, RAM_STREAMS);
	for (ring = 0; ring < NPU_RING_COUNT; ring++) {
		memset(c.ram + RAM_DATA, 0xff, 2 * sizeof(*rec));
		n = queue_stream(&c, ring, root, 1, RAM_STREAMS, size, VA_RECORD);
		doorbell(&c, ring);
		assert_true(slot_wait(&c, ring, n, 10000, &done));
		assert_true(irq_wait(&c, ring, 10000));
		assert_int_equal(done.status, NPU_STATUS_OK);
		assert_int_equal(done.rule | done.command | done.pad | done.reserved, 0);
		assert_true(done.clock_start && done.clock_end >= done.clock_start);
		rec = record_at(&c, RAM_DATA);
		assert_int_equal(rec->status, NPU_STATUS_OK);
		assert_int_equal(rec->first_nonfinite_block, NPU_NO_BLOCK);
		assert_int_equal(rec->reserved[4], 0);
		assert_int_equal(rec[1].status, 0xffffffff);
		assert_true(reg_wait(&c, NPU_RING(ring, NPU_REG_RING_HEAD), ~0u, 1, 1000));
		assert_int_equal(reg_read(&c, NPU_REG_IRQ_STATUS), NPU_IRQ_RING(ring));
		reg_write(&c, NPU_REG_IRQ_STATUS, NPU_IRQ_RING(ring));
		assert_int_equal(reg_read(&c, NPU_REG_IRQ_STATUS), 0);
	}
	client_close(&c);
}

/* Bytes to words, between pages that lie about in memory. */
static void test_cast(void **state)
{
	const struct vdev_options opt = { .threads = 3 };
	enum { N = 5 * NPU_PAGE_SIZE };
	struct client c;
	unsigned int i, page;
	uint64_t root;
	uint32_t n, size;

	client_boot(&c, &opt);
	root = space_new(&c);
	for (page = 0; page < 5; page++)
		space_map(&c, root, VA_SRC + page * NPU_PAGE_SIZE,
			  RAM_DATA + page * 7 % 5 * NPU_PAGE_SIZE, 1, false);
	/* the output's pages run backwards, but for a run of four */
	for (page = 0; page < 20; page++)
		space_map(&c, root, VA_DST + page * NPU_PAGE_SIZE,
			  RAM_DATA + (page / 4 == 2 ? 100 + page : 90 - page) * NPU_PAGE_SIZE, 1,
			  true);
	for (i = 0; i < N; i++)
		c.ram[RAM_DATA + i / 4096 * 7 % 5 * 4096 + i % 4096] = i * 37 + i / 4096;
	size = stream_cast(&c, RAM_STREAMS, VA_SRC, VA_DST, N);
	n = queue_stream(&c, 0, root, 3, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_ok(&c, 0, n);
	for (i = 0; i < N; i++) {
		int32_t got;

		page = i / 1024;
		memcpy(&got, c.ram + RAM_DATA +
		       (page / 4 == 2 ? 100 + page : 90 - page) * NPU_PAGE_SIZE + i % 1024 * 4, 4);
		assert_int_equal(got, (int8_t)(i * 37 + i / 4096));
	}
	assert_int_equal(stat_value(&c, "unmapped"), 0);
	client_close(&c);
}

static void test_order(void **state)
{
	struct client c;
	uint32_t n, size, ring;
	unsigned int round;

	client_boot(&c, NULL);
	size = stream_nop(&c, RAM_STREAMS);
	/* both counters run through 32 bits; here they run around the ring */
	for (round = 0; round < 40; round++) {
		for (ring = 0; ring < NPU_RING_COUNT; ring++) {
			for (n = 0; n < RING_SIZE; n++)
				queue_stream(&c, ring, 0, 0, RAM_STREAMS, size, 0);
			doorbell(&c, ring);
		}
		for (ring = 0; ring < NPU_RING_COUNT; ring++) {
			expect_ok(&c, ring, c.tail[ring] - 1);
			for (n = 1; n <= RING_SIZE; n++)
				expect_ok(&c, ring, c.tail[ring] - n);
			assert_true(reg_wait(&c, NPU_RING(ring, NPU_REG_RING_HEAD), ~0u,
					     c.tail[ring], 1000));
		}
	}
	assert_int_equal(stat_value(&c, "jobs"), 40 * 3 * RING_SIZE);
	/* without ENABLE nothing starts */
	reg_write(&c, NPU_RING(0, NPU_REG_RING_CONTROL), 0);
	n = queue_stream(&c, 0, 0, 0, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	assert_false(slot_wait(&c, 0, n, 50, NULL));
	client_close(&c);
}

/* What streams do wrong ends in their completion, not in the fault registers. */
static void test_stream_faults(void **state)
{
	struct client c;
	struct npu_completion done;
	uint64_t root;
	uint32_t n, size;

	client_boot(&c, NULL);
	root = space_new(&c);
	space_map(&c, root, VA_SRC, RAM_DATA, 1, false);
	space_map(&c, root, VA_DST, RAM_DATA + 0x10000, 4, true);
	space_map(&c, root, 0, RAM_DATA, 1, true);

	/* not there: the page after the source's, the page of address 0, everything */
	size = stream_cast(&c, RAM_STREAMS, VA_SRC + 4096 - 8, VA_DST, 16);
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	assert_true(slot_wait(&c, 0, n, 10000, &done));
	assert_int_equal(done.rule, NPU_RULE_ADDRESS_UNMAPPED);
	assert_int_equal(done.status, NPU_STATUS_FAULT);
	assert_true(done.fault_address >> 12 == (VA_SRC >> 12) + 1);

	size = stream_cast(&c, RAM_STREAMS, VA_SRC, VA_DST, 16);
	n = queue_stream(&c, 0, 0, 2, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_slot(&c, 0, n, NPU_STATUS_FAULT, NPU_RULE_ADDRESS_UNMAPPED);

	/* output to the read-only page */
	size = stream_cast(&c, RAM_STREAMS, VA_DST, VA_SRC, 16);
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_slot(&c, 0, n, NPU_STATUS_FAULT, NPU_RULE_ADDRESS_READONLY);

	/* an unknown opcode, a PREPROCESS command on the wrong ring, no stream at all */
	size = stream_nop(&c, RAM_STREAMS);
	c.ram[RAM_STREAMS + 16] = 0xee;
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_slot(&c, 0, n, NPU_STATUS_FAULT, NPU_RULE_COMMAND_OPCODE);
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, 0, 0);
	doorbell(&c, 0);
	expect_slot(&c, 0, n, NPU_STATUS_FAULT, NPU_RULE_STREAM_SIZE);

	/* records: not mapped, read-only, page 0, beyond the last address, not aligned */
	size = stream_nop(&c, RAM_STREAMS);
	for (n = 0; n < 5; n++) {
		static const uint64_t at[] = { 0x5000, VA_SRC, 0x100, 1ull << 39, VA_DST + 4 };
		static const uint32_t rule[] = {
			NPU_RULE_ADDRESS_UNMAPPED, NPU_RULE_ADDRESS_READONLY,
			NPU_RULE_ADDRESS_UNMAPPED, NPU_RULE_ADDRESS_RANGE, NPU_RULE_ADDRESS_RANGE,
		};
		uint32_t job = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, at[n]);

		doorbell(&c, 0);
		assert_true(slot_wait(&c, 0, job, 10000, &done));
		assert_int_equal(done.rule, rule[n]);
		assert_int_equal(done.command, 1);
		assert_true(done.fault_address >> 12 == at[n] >> 12);
	}
	/* a record across two pages */
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, VA_DST + 4096 - 64);
	doorbell(&c, 0);
	expect_ok(&c, 0, n);
	assert_int_equal(record_at(&c, RAM_DATA + 0x10000 + 4096 - 64)->status, NPU_STATUS_OK);
	assert_int_equal(reg_read(&c, NPU_REG_FAULT_STATUS), 0);
	client_close(&c);
}

/* What the driver sets up wrong. */
static void test_device_faults(void **state)
{
	const uint64_t nowhere = 0x7fff00000000ull;
	struct client c;
	uint64_t root, *leaf, *top;
	uint32_t n, size;

	client_boot(&c, NULL);
	root = space_new(&c);
	space_map(&c, root, VA_SRC, RAM_DATA, 1, false);
	space_map(&c, root, VA_DST, RAM_DATA + 0x10000, 4, true);
	size = stream_cast(&c, RAM_STREAMS, VA_SRC, VA_DST, 16);

	/* the stream, a table, and a page outside of memory; reserved bits */
	n = queue_stream(&c, 0, root, 7, nowhere - RAM_BASE, size, 0);
	doorbell(&c, 0);
	expect_slot(&c, 0, n, NPU_STATUS_FAULT, NPU_RULE_DEVICE);
	expect_fault(&c, 0, NPU_FAULT_STREAM, 7, nowhere);

	top = ram64(&c, root) + (VA_DST >> 30);
	*top ^= 0x10;
	n = queue_stream(&c, 0, root, 8, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_slot(&c, 0, n, NPU_STATUS_FAULT, NPU_RULE_DEVICE);
	expect_fault(&c, 0, NPU_FAULT_TABLE, 8, RAM_BASE + root + (VA_DST >> 30) * 8);
	*top ^= 0x10;

	n = queue_stream(&c, 0, nowhere - RAM_BASE, 9, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_slot(&c, 0, n, NPU_STATUS_FAULT, NPU_RULE_DEVICE);
	assert_true(reg_wait(&c, NPU_REG_FAULT_STATUS, NPU_FAULT_KIND, NPU_FAULT_TABLE << 8, 1000));
	irq_drain(&c);
	reg_write(&c, NPU_REG_FAULT_STATUS, NPU_FAULT_VALID);

	leaf = pte_of(&c, root, VA_SRC);
	*leaf = nowhere | NPU_PTE_VALID;
	n = queue_stream(&c, 0, root, 10, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_slot(&c, 0, n, NPU_STATUS_FAULT, NPU_RULE_DEVICE);
	expect_fault(&c, 0, NPU_FAULT_DATA, 10, nowhere);
	assert_true(stat_value(&c, "unmapped") >= 3);
	client_close(&c);
}

static void restart(struct client *c, unsigned int ring)
{
	assert_true(reg_wait(c, NPU_RING(ring, NPU_REG_RING_STATUS), ~0u,
			     NPU_RING_STATUS_ENABLED | NPU_RING_STATUS_STOPPED, 10000));
	assert_true(reset_ring(c, ring, 0x1000 + ++c->resets, 10000));
	assert_int_equal(reg_read(c, NPU_RING(ring, NPU_REG_RING_STATUS)), 0);
	ring_set_up(c, ring);
}

/* Faults that stop the ring. */
static void test_stopping_faults(void **state)
{
	struct client c;
	unsigned int i;
	uint32_t n, size;

	client_boot(&c, NULL);
	size = stream_nop(&c, RAM_STREAMS);
	for (i = 0; i < 6; i++) {
		struct npu_ring_entry *e;

		n = queue_stream(&c, 1, 0, 5, RAM_STREAMS, size, 0);
		e = ring_entry(&c, 1, n);
		if (i == 0)
			e->reserved[2] = 1;
		else if (i == 1)
			e->stream += 4;
		else if (i == 2)
			e->stream_size = NPU_STREAM_MAX + 8;
		else if (i == 3)
			e->asid = VDEV_ASIDS_DEFAULT;
		else if (i == 4)
			e->root = 8;
		else
			e->asid = ~0u;
		doorbell(&c, 1);
		expect_fault(&c, 1, NPU_FAULT_ENTRY, e->asid, RAM_BASE + RAM_ENTRIES + 4096);
		assert_false(slot_wait(&c, 1, n, 5, NULL));
		restart(&c, 1);
	}
	/* the doorbell */
	c.tail[1] = RING_SIZE + 1;
	doorbell(&c, 1);
	expect_fault(&c, 1, NPU_FAULT_TAIL, 0, 0);
	restart(&c, 1);
	c.tail[1] = -1u;
	doorbell(&c, 1);
	expect_fault(&c, 1, NPU_FAULT_TAIL, 0, 0);
	restart(&c, 1);
	/* entries, then slots where no memory is */
	reg_write(&c, NPU_RING(1, NPU_REG_RING_CONTROL), 0);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_BASE_HI), 0x7fff);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_CONTROL), NPU_RING_CONTROL_ENABLE);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_TAIL), 1);
	assert_true(reg_wait(&c, NPU_REG_FAULT_STATUS, NPU_FAULT_KIND, NPU_FAULT_ENTRY << 8, 1000));
	reg_write(&c, NPU_REG_FAULT_STATUS, NPU_FAULT_VALID);
	restart(&c, 1);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_CONTROL), 0);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_SLOTS_HI), 0x7fff);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_CONTROL), NPU_RING_CONTROL_ENABLE);
	queue_stream(&c, 1, 0, 5, RAM_STREAMS, size, 0);
	doorbell(&c, 1);
	assert_true(reg_wait(&c, NPU_REG_FAULT_STATUS, NPU_FAULT_KIND, NPU_FAULT_SLOT << 8, 1000));
	reg_write(&c, NPU_REG_FAULT_STATUS, NPU_FAULT_VALID);
	restart(&c, 1);
	n = queue_stream(&c, 1, 0, 5, RAM_STREAMS, size, 0);
	doorbell(&c, 1);
	expect_ok(&c, 1, n);
	client_close(&c);
}

/* The cache is real, it belongs to an ASID, and invalidation empties it. */
static void test_tlb(void **state)
{
	struct client c;
	uint64_t root;
	uint32_t n, size;
	int32_t *a, *b;

	client_boot(&c, NULL);
	root = space_new(&c);
	space_map(&c, root, VA_SRC, RAM_DATA, 1, false);
	space_map(&c, root, VA_DST, RAM_DATA + 0x10000, 1, true);
	a = (void *)(c.ram + RAM_DATA + 0x10000);
	b = (void *)(c.ram + RAM_DATA + 0x20000);
	memset(c.ram + RAM_DATA, 1, 16);
	size = stream_cast(&c, RAM_STREAMS, VA_SRC, VA_DST, 16);
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_ok(&c, 0, n);
	assert_int_equal(a[15], 0x01);

	space_map(&c, root, VA_DST, RAM_DATA + 0x20000, 1, true);
	memset(c.ram + RAM_DATA, 2, 16);
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_ok(&c, 0, n);
	assert_int_equal(a[15], 2);	/* as it was cached */
	assert_int_equal(b[15], 0);

	assert_true(invalidate(&c, 2));
	memset(c.ram + RAM_DATA, 3, 16);
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_ok(&c, 0, n);
	assert_int_equal(a[15], 3);	/* another ASID was invalidated */

	assert_true(invalidate(&c, 1));
	memset(c.ram + RAM_DATA, 4, 16);
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_ok(&c, 0, n);
	assert_int_equal(a[15], 3);
	assert_int_equal(b[15], 4);

	/* unmapped is never cached, all is all */
	*pte_of(&c, root, VA_DST) = 0;
	assert_true(invalidate(&c, NPU_MMU_ASID_ALL));
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_slot(&c, 0, n, NPU_STATUS_FAULT, NPU_RULE_ADDRESS_UNMAPPED);
	space_map(&c, root, VA_DST, RAM_DATA + 0x20000, 1, true);
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_ok(&c, 0, n);
	client_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nop),
		cmocka_unit_test(test_cast),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_stream_faults),
		cmocka_unit_test(test_device_faults),
		cmocka_unit_test(test_stopping_faults),
		cmocka_unit_test(test_tlb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
