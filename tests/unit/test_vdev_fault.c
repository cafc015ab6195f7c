// SPDX-License-Identifier: MIT
/* The device model's injected faults, one by one. */
#include "test_vdev_driver.h"

static uint32_t queue_nop(struct client *c, unsigned int ring, uint64_t root, uint64_t record)
{
	uint32_t size = stream_nop(c, RAM_STREAMS);
	uint32_t n = queue_stream(c, ring, root, 1, RAM_STREAMS, size, record);

	doorbell(c, ring);
	return n;
}

static void test_hang(void **state)
{
	struct client c;
	uint32_t n, i;

	client_boot(&c, NULL);
	command(&c, "hang ring=1 job=3");
	for (i = 0; i < 5; i++)
		expect_ok(&c, 0, queue_nop(&c, 0, 0, 0));
	expect_ok(&c, 1, queue_nop(&c, 1, 0, 0));
	expect_ok(&c, 1, queue_nop(&c, 1, 0, 0));
	n = queue_nop(&c, 1, 0, 0);
	assert_false(slot_wait(&c, 1, n, 30, NULL));
	assert_true(reg_read(&c, NPU_RING(1, NPU_REG_RING_STATUS)) & NPU_RING_STATUS_BUSY);
	expect_ok(&c, 2, queue_nop(&c, 2, 0, 0));
	assert_true(reset_ring(&c, 1, 5, 5000));
	ring_set_up(&c, 1);
	expect_ok(&c, 1, queue_nop(&c, 1, 0, 0));
	assert_int_equal(stat_value(&c, "cancelled"), 1);

	/* all from the second on, until it is taken back */
	command(&c, "hang ring=any job=2 count=0");
	expect_ok(&c, 1, queue_nop(&c, 1, 0, 0));
	for (i = 0; i < 3; i++) {
		n = queue_nop(&c, 2, 0, 0);
		assert_false(slot_wait(&c, 2, n, 10, NULL));
		assert_true(reset_ring(&c, 2, i + 1, 5000));
		ring_set_up(&c, 2);
	}
	command(&c, "reset-faults");
	expect_ok(&c, 2, queue_nop(&c, 2, 0, 0));
	client_close(&c);
}

static void test_slow(void **state)
{
	struct npu_completion done;
	struct client c;
	uint32_t n;

	client_boot(&c, NULL);
	command(&c, "slow ms=60");
	n = queue_nop(&c, 0, 0, 0);
	assert_true(slot_wait(&c, 0, n, 10000, &done));
	assert_true(done.clock_end - done.clock_start >= 60000000);
	/* a reset does not wait for it */
	command(&c, "slow ms=100000");
	n = queue_nop(&c, 0, 0, 0);
	assert_false(slot_wait(&c, 0, n, 20, NULL));
	assert_true(reset_ring(&c, 0, 1, 5000));
	/* device time at a tenth of the pace, then stopped */
	ring_set_up(&c, 0);
	command(&c, "clock value=0");
	n = reg_read(&c, NPU_REG_TIME_LO);
	nap(5);
	assert_int_equal(reg_read(&c, NPU_REG_TIME_LO), n);
	command(&c, "clock value=100");
	nap(5);
	assert_int_not_equal(reg_read(&c, NPU_REG_TIME_LO), n);
	client_close(&c);
}

static void test_irq_faults(void **state)
{
	struct client c;
	uint64_t count = 0;
	uint32_t n;

	client_boot(&c, NULL);
	command(&c, "drop-irq");
	expect_ok(&c, 0, queue_nop(&c, 0, 0, 0));
	assert_true(reg_wait(&c, NPU_REG_IRQ_STATUS, ~0u, NPU_IRQ_RING(0), 5000));
	assert_false(irq_wait(&c, 0, 20));
	/* the next one comes, as if nothing were */
	expect_ok(&c, 0, queue_nop(&c, 0, 0, 0));
	assert_true(irq_wait(&c, 0, 5000));

	command(&c, "delay-irq ms=500 ring=2");
	expect_ok(&c, 2, queue_nop(&c, 2, 0, 0));
	assert_false(irq_wait(&c, 2, 10));
	assert_true(irq_wait(&c, 2, 5000));

	command(&c, "irq-storm ring=1 times=50 us=200");
	for (n = 0; count < 50 && n < 5000; n++) {
		uint64_t got;

		nap(1);
		if (read(c.irq[1], &got, sizeof(got)) == sizeof(got))
			count += got;
	}
	assert_int_equal(count, 50);

	/* enabling an event that waits sends a message, masking it sends none */
	reg_write(&c, NPU_REG_IRQ_STATUS, ~0u);
	reg_write(&c, NPU_REG_IRQ_ENABLE, 0);
	irq_drain(&c);
	expect_ok(&c, 0, queue_nop(&c, 0, 0, 0));
	assert_true(reg_wait(&c, NPU_REG_IRQ_STATUS, ~0u, NPU_IRQ_RING(0), 5000));
	assert_false(irq_wait(&c, 0, 10));
	reg_write(&c, NPU_REG_IRQ_ENABLE, NPU_IRQ_ALL);
	assert_true(irq_wait(&c, 0, 0));
	client_close(&c);
}

static void test_msi(void **state)
{
	const struct vdev_options opt = { .msi = true };
	struct client c;
	unsigned int ring;

	client_boot(&c, &opt);
	for (ring = 0; ring < NPU_RING_COUNT; ring++) {
		expect_ok(&c, ring, queue_nop(&c, ring, 0, 0));
		assert_true(irq_wait(&c, 0, 5000));
	}
	command(&c, "fault kind=data ring=1");
	assert_true(irq_wait(&c, 0, 5000));
	client_close(&c);
}

static void test_late_completion(void **state)
{
	struct client c;
	uint32_t n;

	client_boot(&c, NULL);
	command(&c, "late-completion ms=500");
	n = queue_nop(&c, 0, 0, 0);
	assert_false(slot_wait(&c, 0, n, 5, NULL));
	expect_ok(&c, 0, n);
	/* after a reset was acknowledged it never comes */
	command(&c, "late-completion ms=1000");
	n = queue_nop(&c, 0, 0, 0);
	assert_false(slot_wait(&c, 0, n, 10, NULL));
	assert_true(reset_ring(&c, 0, 1, 5000));
	assert_false(slot_wait(&c, 0, n, 1100, NULL));
	client_close(&c);
}

static void test_corrupt_slot(void **state)
{
	static const char *const field[] = {
		"all", "status", "rule", "command", "address", "cycles", "clock", "reserved",
		"sequence"
	};
	struct npu_completion good, bad;
	struct client c;
	unsigned int i;
	char line[64];
	uint32_t n;

	client_boot(&c, NULL);
	n = queue_nop(&c, 0, 0, 0);
	assert_true(slot_wait(&c, 0, n, 10000, &good));
	for (i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
		snprintf(line, sizeof(line), "corrupt-slot field=%s", field[i]);
		command(&c, line);
		n = queue_nop(&c, 0, 0, 0);
		assert_true(reg_wait(&c, NPU_RING(0, NPU_REG_RING_HEAD), ~0u, n + 1, 10000));
		bad = *ring_slot(&c, 0, n);
		assert_int_equal(bad.status != good.status, i == 0 || i == 1);
		assert_int_equal(bad.rule != good.rule, i == 0 || i == 2);
		assert_int_equal(bad.command != good.command, i == 0 || i == 3);
		assert_int_equal(bad.fault_address != good.fault_address, i == 0 || i == 4);
		assert_int_equal(bad.cycles != good.cycles, i == 0 || i == 5);
		assert_int_equal(bad.clock_start >> 63, i == 0 || i == 6);
		assert_int_equal(!!bad.reserved, i == 0 || i == 7);
		assert_int_equal(bad.sequence != c.sequence, i == 0 || i == 8);
	}
	/* the same seed, the same nonsense */
	command(&c, "seed value=7");
	command(&c, "corrupt-slot field=all count=2");
	n = queue_nop(&c, 0, 0, 0);
	assert_true(reg_wait(&c, NPU_RING(0, NPU_REG_RING_HEAD), ~0u, n + 1, 10000));
	good = *ring_slot(&c, 0, n);
	command(&c, "seed value=7");
	n = queue_nop(&c, 0, 0, 0);
	assert_true(reg_wait(&c, NPU_RING(0, NPU_REG_RING_HEAD), ~0u, n + 1, 10000));
	bad = *ring_slot(&c, 0, n);
	assert_memory_equal(&good, &bad, sizeof(good));
	client_close(&c);
}

static void test_device_faults(void **state)
{
	struct client c;
	uint64_t root;
	uint32_t n, size;

	client_boot(&c, NULL);
	root = space_new(&c);
	space_map(&c, root, VA_SRC, RAM_DATA, 1, false);
	space_map(&c, root, VA_DST, RAM_DATA + 0x10000, 1, true);
	size = stream_cast(&c, RAM_STREAMS, VA_SRC, VA_DST, 16);
	command(&c, "corrupt-walk job=2");
	n = queue_stream(&c, 0, root, 4, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_ok(&c, 0, n);
	irq_drain(&c);
	n = queue_stream(&c, 0, root, 4, RAM_STREAMS, size, 0);
	doorbell(&c, 0);
	expect_slot(&c, 0, n, NPU_STATUS_FAULT, NPU_RULE_DEVICE);
	expect_fault(&c, 0, NPU_FAULT_TABLE, 4, RAM_BASE + root + (VA_SRC >> 30) * 8);

	/* out of the blue; the ring stops */
	command(&c, "fault kind=internal ring=2 address=0x1234567890");
	expect_fault(&c, 2, NPU_FAULT_INTERNAL, 0, 0x1234567890);
	n = queue_nop(&c, 2, 0, 0);
	assert_false(slot_wait(&c, 2, n, 10, NULL));
	assert_true(reset_ring(&c, 2, 1, 5000));
	ring_set_up(&c, 2);
	/* instead of a job */
	command(&c, "fault kind=stream ring=2 job=1 address=64");
	expect_slot(&c, 2, queue_nop(&c, 2, 0, 0), NPU_STATUS_FAULT, NPU_RULE_DEVICE);
	expect_fault(&c, 2, NPU_FAULT_STREAM, 1, 64);
	command(&c, "fault kind=slot ring=2 job=1 address=128");
	n = queue_nop(&c, 2, 0, 0);
	expect_fault(&c, 2, NPU_FAULT_SLOT, 1, 128);
	assert_false(slot_wait(&c, 2, n, 10, NULL));
	client_close(&c);
}

static void function_level_reset(struct client *c)
{
	config_write16(c, capability(c, PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR);
	set_command(c, true);
}

static void test_refuse(void **state)
{
	struct client c;
	uint32_t n;

	client_boot(&c, NULL);
	command(&c, "hang");
	command(&c, "refuse-ring-reset ring=0");
	command(&c, "refuse-reset");
	n = queue_nop(&c, 0, 0, 0);
	assert_false(slot_wait(&c, 0, n, 10, NULL));
	assert_false(reset_ring(&c, 0, 11, 50));
	assert_int_equal(reg_read(&c, NPU_RING(0, NPU_REG_RING_RESET)), 11);
	assert_false(reset_all(&c, 12, 50));
	assert_true(reg_read(&c, NPU_REG_STATUS) & NPU_DEVICE_BUSY);
	/* what the slot, the bus, does is not refused */
	function_level_reset(&c);
	assert_int_equal(reg_read(&c, NPU_REG_STATUS), NPU_DEVICE_READY);
	ring_set_up(&c, 0);
	expect_ok(&c, 0, queue_nop(&c, 0, 0, 0));
	/* each refusal counts for one */
	assert_true(reset_ring(&c, 0, 13, 5000));
	assert_true(reset_all(&c, 14, 5000));
	client_close(&c);
}

/* A device that writes when it should not, first with success, then without bus mastering. */
static void test_late_write(void **state)
{
	struct client c;
	uint64_t root;
	uint32_t n;

	client_boot(&c, NULL);
	root = space_new(&c);
	space_map(&c, root, VA_RECORD, RAM_DATA, 1, true);
	memset(c.ram + RAM_DATA, 0, 4096);
	command(&c, "late-write ms=50");
	n = queue_nop(&c, 0, root, VA_RECORD);
	assert_false(slot_wait(&c, 0, n, 20, NULL));
	assert_true(reset_ring(&c, 0, 1, 5000));
	expect_ok(&c, 0, n);
	assert_int_equal(record_at(&c, RAM_DATA)->status, 0xeeeeeeee);
	assert_true(stat_value(&c, "late_landed") >= 2);

	command(&c, "reset-stats");
	memset(c.ram + RAM_DATA, 0, 4096);
	ring_set_up(&c, 0);
	command(&c, "late-write ms=700 times=2");
	command(&c, "refuse-ring-reset");
	command(&c, "refuse-reset");
	n = queue_nop(&c, 0, root, VA_RECORD);
	assert_false(slot_wait(&c, 0, n, 20, NULL));
	assert_false(reset_ring(&c, 0, 2, 5));
	assert_false(reset_all(&c, 3, 5));
	set_command(&c, false);
	while (stat_value(&c, "late_writes") < 4)
		nap(5);
	assert_int_equal(stat_value(&c, "late_landed"), 0);
	assert_true(stat_value(&c, "refused_writes") >= 4);
	assert_int_equal(record_at(&c, RAM_DATA)->status, 0);
	assert_false(slot_wait(&c, 0, n, 0, NULL));
	client_close(&c);
}

static void test_identity(void **state)
{
	struct client c;

	client_boot(&c, NULL);
	command(&c, "id value=0x12345678");
	assert_int_equal(reg_read(&c, NPU_REG_ID), 0x12345678);
	command(&c, "version value=0x20000");
	assert_int_equal(reg_read(&c, NPU_REG_VERSION), 0x20000);
	command(&c, "isa value=0x20000");
	assert_int_equal(reg_read(&c, NPU_REG_ISA), 0x20000);
	command(&c, "rings value=3");
	assert_int_equal(reg_read(&c, NPU_REG_RINGS), 3);
	command(&c, "not-ready");
	assert_int_equal(reg_read(&c, NPU_REG_STATUS) & NPU_DEVICE_READY, 0);
	command(&c, "reset-faults");
	assert_int_equal(reg_read(&c, NPU_REG_ID), NPU_ID_MAGIC);
	assert_int_equal(reg_read(&c, NPU_REG_STATUS), NPU_DEVICE_READY);
	client_close(&c);
}

/* Fallen off the bus: all ones, no writes, no messages. */
static void test_gone(void **state)
{
	struct client c;
	uint32_t n;

	client_boot(&c, NULL);
	command(&c, "slow ms=300");
	n = queue_nop(&c, 0, 0, 0);
	command(&c, "gone");
	assert_int_equal(reg_read(&c, NPU_REG_ID), NPU_REG_GONE);
	assert_int_equal(reg_read(&c, NPU_REG_STATUS), NPU_REG_GONE);
	assert_int_equal(config_read16(&c, PCI_VENDOR_ID), 0xffff);
	set_command(&c, false);
	reg_write(&c, NPU_REG_RESET, 1);
	assert_false(slot_wait(&c, 0, n, 400, NULL));
	assert_false(irq_wait(&c, 0, 0));
	command(&c, "reset-faults");
	assert_int_equal(reg_read(&c, NPU_REG_ID), NPU_ID_MAGIC);
	assert_int_equal(reg_read(&c, NPU_REG_RESET_ACK), 0);
	assert_true(reset_all(&c, 1, 5000));
	client_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hang),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_irq_faults),
		cmocka_unit_test(test_msi),
		cmocka_unit_test(test_late_completion),
		cmocka_unit_test(test_corrupt_slot),
		cmocka_unit_test(test_device_faults),
		cmocka_unit_test(test_refuse),
		cmocka_unit_test(test_late_write),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
