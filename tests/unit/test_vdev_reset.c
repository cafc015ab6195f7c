// SPDX-License-Identifier: MIT
/* The device model while everything changes: resets, mappings, a hostile guest. */
#include "test_vdev_driver.h"

static void test_ring_reset(void **state)
{
	struct client c;
	uint64_t root, sequence;
	uint32_t n, m, size;

	client_boot(&c, NULL);
	root = space_new(&c);
	n = start_long(&c, root);
	sequence = ring_entry(&c, 0, n)->sequence;
	assert_int_equal(reg_read(&c, NPU_REG_STATUS), NPU_DEVICE_READY | NPU_DEVICE_BUSY);

	/* others do not wait, neither do invalidations, nor mappings */
	size = stream_nop(&c, RAM_STREAMS);
	m = queue_stream(&c, 2, root, 2, RAM_STREAMS, size, 0);
	doorbell(&c, 2);
	expect_ok(&c, 2, m);
	assert_true(invalidate(&c, 1));
	assert_int_equal(map_ram(&c, 0x1000, 0x1000, 0), 0);
	assert_int_equal(unmap(&c, 0x1000, 0x1000), 0);
	assert_false(slot_is(&c, 0, n, sequence));

	/* dropped with it: an entry behind */
	m = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	assert_true(reset_ring(&c, 0, 42, 5000));
	assert_int_equal(reg_read(&c, NPU_RING(0, NPU_REG_RING_STATUS)), 0);
	assert_int_equal(reg_read(&c, NPU_RING(0, NPU_REG_RING_HEAD)), 0);
	assert_int_equal(reg_read(&c, NPU_RING(0, NPU_REG_RING_TAIL)), 0);
	assert_int_equal(reg_read(&c, NPU_RING(0, NPU_REG_RING_SIZE)), RING_SIZE);
	assert_int_equal(reg_read(&c, NPU_RING(2, NPU_REG_RING_HEAD)), 1);
	memset(c.ram + RAM_DATA + 0x10000, 0x5a, 4096);
	nap(50);
	assert_int_equal(c.ram[RAM_DATA + 0x10000], 0x5a);
	assert_false(slot_is(&c, 0, n, sequence));
	assert_false(slot_is(&c, 0, m, ring_entry(&c, 0, m)->sequence));
	assert_int_equal(record_at(&c, RAM_DATA + 0x20000)->status, NPU_STATUS_PENDING);

	ring_set_up(&c, 0);
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, VA_RECORD);
	doorbell(&c, 0);
	expect_ok(&c, 0, n);
	client_close(&c);
}

static void test_full_reset(void **state)
{
	struct client c;
	uint32_t n, size;
	unsigned int ring;

	client_boot(&c, NULL);
	n = start_long(&c, space_new(&c));
	assert_true(reset_all(&c, 9, 5000));
	assert_int_equal(reg_read(&c, NPU_REG_STATUS), NPU_DEVICE_READY);
	assert_int_equal(reg_read(&c, NPU_REG_IRQ_ENABLE), 0);
	assert_int_equal(reg_read(&c, NPU_RING(1, NPU_REG_RING_SIZE)), 0);
	assert_false(slot_wait(&c, 0, n, 20, NULL));
	size = stream_nop(&c, RAM_STREAMS);
	for (ring = 0; ring < NPU_RING_COUNT; ring++) {
		ring_set_up(&c, ring);
		n = queue_stream(&c, ring, 0, 0, RAM_STREAMS, size, 0);
		doorbell(&c, ring);
		expect_ok(&c, ring, n);
	}
	client_close(&c);
}

/* After the write to COMMAND is over, nothing is read or written any more. */
static void test_bus_master(void **state)
{
	struct client c;
	static uint8_t before[RAM_SIZE];
	uint64_t root;
	uint32_t n;

	client_boot(&c, NULL);
	root = space_new(&c);
	n = start_long(&c, root);
	set_command(&c, false);
	memcpy(before, c.ram, RAM_SIZE);
	nap(100);
	assert_memory_equal(before, c.ram, RAM_SIZE);
	assert_false(slot_wait(&c, 0, n, 0, NULL));
	irq_drain(&c);
	/* it is stuck, also when mastering is on again, until it is reset */
	assert_true(stat_value(&c, "refused_reads") + stat_value(&c, "refused_writes"));
	set_command(&c, true);
	nap(20);
	assert_int_equal(reg_read(&c, NPU_REG_FAULT_STATUS), 0);
	assert_true(reg_read(&c, NPU_RING(0, NPU_REG_RING_STATUS)) & NPU_RING_STATUS_BUSY);
	assert_true(reset_ring(&c, 0, 3, 5000));
	/* an entry is not even read with it off, and no message is sent */
	ring_set_up(&c, 0);
	set_command(&c, false);
	n = queue_stream(&c, 0, 0, 0, RAM_STREAMS, stream_nop(&c, RAM_STREAMS), 0);
	doorbell(&c, 0);
	assert_false(slot_wait(&c, 0, n, 20, NULL));
	assert_false(irq_wait(&c, 0, 0) || irq_wait(&c, 3, 0));
	assert_int_equal(reg_read(&c, NPU_REG_FAULT_STATUS), 0);
	client_close(&c);
}

/* The client goes away in the middle of a job, and another one comes. */
static void test_disconnect(void **state)
{
	struct client c;
	int pair[2];
	uint32_t n;

	client_boot(&c, NULL);
	start_long(&c, space_new(&c));
	close(c.sock);
	pthread_join(c.server, NULL);
	assert_int_equal(stat_value(&c, "bus_master"), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	c.sock = pair[0];
	c.server_sock = pair[1];
	assert_int_equal(pthread_create(&c.server, NULL, client_server, &c), 0);
	greet(&c);
	assert_int_equal(map_ram(&c, RAM_BASE, RAM_SIZE, 0), 0);
	set_command(&c, true);
	ring_set_up(&c, 0);
	n = queue_stream(&c, 0, 0, 0, RAM_STREAMS, stream_nop(&c, RAM_STREAMS), 0);
	doorbell(&c, 0);
	expect_ok(&c, 0, n);
	client_close(&c);
}

/* Jobs while the client maps page by page, as behind an IOMMU. */
static void test_viommu(void **state)
{
	enum { PAGES = RAM_SIZE / NPU_PAGE_SIZE };
	struct client c;
	uint64_t root, page;
	uint32_t n, size, i, round;

	client_boot(&c, NULL);
	assert_int_equal(unmap(&c, RAM_BASE, RAM_SIZE), 0);
	/* 1021 is prime to the number of pages: every page once, in no order */
	for (i = 0; i < PAGES; i++) {
		page = i * 1021ull % PAGES * NPU_PAGE_SIZE;
		assert_int_equal(map_ram(&c, RAM_BASE + page, NPU_PAGE_SIZE, page), 0);
	}
	root = space_new(&c);
	space_map(&c, root, VA_SRC, RAM_DATA, 16, false);
	space_map(&c, root, VA_DST, RAM_DATA + 0x100000, 64, true);
	size = stream_cast(&c, RAM_STREAMS + 4096 - 64, VA_SRC, VA_DST, 65536);
	for (round = 0; round < 10; round++) {
		int32_t last;

		memset(c.ram + RAM_DATA, round, 65536);
		n = queue_stream(&c, 0, root, 1, RAM_STREAMS + 4096 - 64, size, 0);
		doorbell(&c, 0);
		/* pages that no job uses come and go meanwhile */
		for (i = 0; i < 50; i++) {
			page = RAM_SIZE - (1 + i) * NPU_PAGE_SIZE;
			assert_int_equal(unmap(&c, RAM_BASE + page, NPU_PAGE_SIZE), 0);
			assert_int_equal(map_ram(&c, RAM_BASE + page, NPU_PAGE_SIZE, page), 0);
		}
		expect_ok(&c, 0, n);
		memcpy(&last, c.ram + RAM_DATA + 0x100000 + 4 * 65535, 4);
		assert_int_equal(last, round);
	}
	/* a page of the output that is gone on the bus */
	assert_int_equal(unmap(&c, RAM_BASE + RAM_DATA + 0x120000, 0x1000), 0);
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS + 4096 - 64, size, 0);
	doorbell(&c, 0);
	expect_slot(&c, 0, n, NPU_STATUS_FAULT, NPU_RULE_DEVICE);
	expect_fault(&c, 0, NPU_FAULT_DATA, 1, RAM_BASE + RAM_DATA + 0x120000);
	client_close(&c);
}

struct scribbler {
	struct client *c;
	atomic_bool stop;
};

/* Another CPU of a hostile guest: whatever the device reads changes all the time. */
static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	uint64_t *ram = (uint64_t *)(void *)s->c->ram;
	unsigned int seed = 99;

	while (!atomic_load(&s->stop)) {
		static const uint32_t area[] = { RAM_ENTRIES, RAM_ENTRIES + 4096, RAM_TABLES,
						 RAM_STREAMS };
		uint64_t at = area[rand_r(&seed) % 4] + rand_r(&seed) % 2048 / 8 * 8;
		uint64_t value = (unsigned int)rand_r(&seed) >> rand_r(&seed) % 31;

		if (rand_r(&seed) % 2)
			value = RAM_BASE + RAM_TABLES + (rand_r(&seed) % 64 << 12 | 3);
		__atomic_store_n(&ram[at / 8], value, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test_hostile_guest(void **state)
{
	struct client c;
	struct scribbler s = { .c = &c };
	unsigned int seed = 31, i;
	pthread_t thread;
	uint64_t root;
	uint32_t n, size;

	client_boot(&c, NULL);
	pthread_create(&thread, NULL, scribble, &s);
	for (i = 0; i < 4000; i++) {
		uint32_t ring = rand_r(&seed) % 3, reg = rand_r(&seed) % 0x1c0 & ~3u;

		if (rand_r(&seed) % 4)
			reg = NPU_RING(ring, NPU_REG_RING_TAIL);
		reg_write(&c, reg, (unsigned int)rand_r(&seed) >> rand_r(&seed) % 31);
		if (i % 16 == 0) {
			reset_ring(&c, ring, i + 1, 100);
			ring_set_up(&c, ring);
		}
		if (i % 500 == 0) {
			unmap(&c, RAM_BASE, RAM_SIZE);
			map_ram(&c, RAM_BASE, RAM_SIZE, 0);
		}
	}
	atomic_store(&s.stop, true);
	pthread_join(thread, NULL);

	assert_true(reset_all(&c, 1, 10000));
	ring_set_up(&c, 0);
	c.tables = RAM_TABLES;
	root = space_new(&c);
	space_map(&c, root, VA_SRC, RAM_DATA, 1, false);
	space_map(&c, root, VA_DST, RAM_DATA + 0x10000, 1, true);
	size = stream_cast(&c, RAM_STREAMS, VA_SRC, VA_DST, 16);
	n = queue_stream(&c, 0, root, 1, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_ok(&c, 0, n);
	client_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_reset),
		cmocka_unit_test(test_full_reset),
		cmocka_unit_test(test_bus_master),
		cmocka_unit_test(test_disconnect),
		cmocka_unit_test(test_viommu),
		cmocka_unit_test(test_hostile_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
