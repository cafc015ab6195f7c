// SPDX-License-Identifier: MIT
/* The device model as a vfio-user server: protocol, configuration space, mappings. */
#include "test_vdev_driver.h"

static void test_version(void **state)
{
	static const char v1[] = "\1\0\0\0";
	static const char no_end[] = { 0, 0, 1, 0, '{', '}' };
	struct client c;
	char reply[256] = "";
	uint32_t word;

	/* nothing before the greeting: an error, and the line is cut */
	client_open(&c, NULL);
	assert_int_equal(request(&c, MSG_GET_INFO, "0123456789abcdef", 16, NULL, 0, NULL, 0),
			 EINVAL);
	assert_int_equal(recv(c.sock, &word, 1, 0), 0);
	client_close(&c);

	client_open(&c, NULL);
	assert_int_equal(request(&c, MSG_VERSION, v1, sizeof(v1), NULL, 0, NULL, 0), EINVAL);
	client_close(&c);

	client_open(&c, NULL);
	assert_int_equal(request(&c, MSG_VERSION, no_end, sizeof(no_end), NULL, 0, NULL, 0),
			 EINVAL);
	client_close(&c);

	client_open(&c, NULL);
	assert_int_equal(request(&c, MSG_VERSION, "\0\0\1\0{}", 7, NULL, 0, reply,
				 sizeof(reply)), 0);
	assert_int_equal(reply[0] | reply[1], 0);
	assert_int_equal(reply[c.reply_size - 1], 0);
	assert_non_null(strstr(reply + 4, "\"max_dma_maps\":65535"));
	client_close(&c);
}

static void test_info(void **state)
{
	uint32_t info[4] = { sizeof(info) };
	struct vfio_region_info region;
	struct vfio_irq_info irq;
	struct client c;
	unsigned int n;

	client_boot(&c, NULL);
	assert_int_equal(request(&c, MSG_GET_INFO, info, 16, NULL, 0, info, 16), 0);
	assert_int_equal(info[1], VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET);
	assert_int_equal(info[2], VFIO_PCI_NUM_REGIONS);
	assert_int_equal(info[3], VFIO_PCI_NUM_IRQS);
	for (n = 0; n <= VFIO_PCI_NUM_REGIONS; n++) {
		static const uint32_t size[] = {
			[0] = 4096, [4] = 4096, [VFIO_PCI_CONFIG_REGION_INDEX] = 4096,
			[VFIO_PCI_NUM_REGIONS] = 0
		};

		region = (struct vfio_region_info){ .argsz = sizeof(region), .index = n };
		assert_int_equal(request(&c, MSG_REGION_INFO, &region, sizeof(region), NULL, 0,
					 &region, sizeof(region)),
				 n < VFIO_PCI_NUM_REGIONS ? 0 : EINVAL);
		if (n < VFIO_PCI_NUM_REGIONS)
			assert_int_equal(region.size, size[n]);
	}
	for (n = 0; n <= VFIO_PCI_NUM_IRQS; n++) {
		static const uint32_t count[] = { 0, 1, 4, 1, 0, 0 };

		irq = (struct vfio_irq_info){ .argsz = sizeof(irq), .index = n };
		assert_int_equal(request(&c, MSG_IRQ_INFO, &irq, sizeof(irq), NULL, 0, &irq,
					 sizeof(irq)), n < VFIO_PCI_NUM_IRQS ? 0 : EINVAL);
		if (n < VFIO_PCI_NUM_IRQS)
			assert_int_equal(irq.count, count[n]);
	}
	assert_int_equal(request(&c, MSG_IO_FDS, NULL, 0, NULL, 0, NULL, 0), EOPNOTSUPP);
	assert_int_equal(request(&c, MSG_DMA_READ, NULL, 0, NULL, 0, NULL, 0), EOPNOTSUPP);
	assert_int_equal(request(&c, 999, NULL, 0, NULL, 0, NULL, 0), EOPNOTSUPP);
	client_close(&c);
}

static void test_config(void **state)
{
	struct client c;
	uint32_t pm, word;

	client_boot(&c, NULL);
	assert_int_equal(config_read16(&c, PCI_VENDOR_ID), NPU_PCI_VENDOR);
	assert_int_equal(config_read16(&c, PCI_DEVICE_ID), NPU_PCI_DEVICE);
	config_write16(&c, PCI_DEVICE_ID, 0);
	assert_int_equal(config_read16(&c, PCI_DEVICE_ID), NPU_PCI_DEVICE);
	assert_int_equal(config_read16(&c, PCI_CLASS_DEVICE), NPU_PCI_CLASS >> 8);
	assert_true(capability(&c, PCI_CAP_ID_MSIX));
	assert_true(capability(&c, PCI_CAP_ID_MSI));
	assert_true(capability(&c, PCI_CAP_ID_EXP));
	/* sizing a BAR */
	word = ~0u;
	access_region(&c, true, VFIO_PCI_CONFIG_REGION_INDEX, PCI_BASE_ADDRESS_0, &word, 4);
	access_region(&c, false, VFIO_PCI_CONFIG_REGION_INDEX, PCI_BASE_ADDRESS_0, &word, 4);
	assert_int_equal(word, 0xfffff000);

	/* without memory decoding nobody answers */
	config_write16(&c, PCI_COMMAND, PCI_COMMAND_MASTER);
	assert_int_equal(reg_read(&c, NPU_REG_ID), NPU_REG_GONE);
	set_command(&c, true);

	/* D1 does not exist; in D3hot the registers are silent; leaving it is a reset */
	pm = capability(&c, PCI_CAP_ID_PM);
	config_write16(&c, pm + PCI_PM_CTRL, 1);
	assert_int_equal(config_read16(&c, pm + PCI_PM_CTRL), 0);
	config_write16(&c, pm + PCI_PM_CTRL, 3);
	assert_int_equal(reg_read(&c, NPU_REG_ID), NPU_REG_GONE);
	reg_write(&c, NPU_REG_IRQ_ENABLE, 0);
	config_write16(&c, pm + PCI_PM_CTRL, 0);
	set_command(&c, true);
	assert_int_equal(reg_read(&c, NPU_REG_IRQ_ENABLE), 0);
	assert_int_equal(reg_read(&c, NPU_RING(0, NPU_REG_RING_CONTROL)), 0);
	client_close(&c);
}

static void test_keep_d3(void **state)
{
	const struct vdev_options opt = { .keep_d3 = true };
	struct client c;
	uint32_t pm;

	client_boot(&c, &opt);
	pm = capability(&c, PCI_CAP_ID_PM);
	assert_int_equal(config_read16(&c, pm + PCI_PM_CTRL), PCI_PM_CTRL_NO_SOFT_RESET);
	config_write16(&c, pm + PCI_PM_CTRL, 3);
	assert_int_equal(stat_value(&c, "bus_master"), 0);
	config_write16(&c, pm + PCI_PM_CTRL, 0);
	assert_int_equal(stat_value(&c, "bus_master"), 1);
	assert_int_equal(reg_read(&c, NPU_REG_IRQ_ENABLE), NPU_IRQ_ALL);
	client_close(&c);
}

static void test_function_reset(void **state)
{
	struct client c;
	uint32_t exp;

	client_boot(&c, NULL);
	exp = capability(&c, PCI_CAP_ID_EXP);
	assert_true(reset_all(&c, 77, 1000));
	reg_write(&c, NPU_REG_IRQ_ENABLE, 1);
	config_write16(&c, exp + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR);
	assert_int_equal(config_read16(&c, PCI_COMMAND), 0);
	assert_int_equal(config_read16(&c, exp + PCI_EXP_DEVCTL) & PCI_EXP_DEVCTL_BCR_FLR, 0);
	assert_int_equal(stat_value(&c, "bus_master"), 0);
	set_command(&c, true);
	assert_int_equal(reg_read(&c, NPU_REG_RESET_ACK), 0);
	assert_int_equal(reg_read(&c, NPU_REG_IRQ_ENABLE), 0);
	assert_int_equal(reg_read(&c, NPU_REG_STATUS), NPU_DEVICE_READY);

	reg_write(&c, NPU_REG_IRQ_ENABLE, 1);
	assert_int_equal(request(&c, MSG_RESET, NULL, 0, NULL, 0, NULL, 0), 0);
	assert_int_equal(reg_read(&c, NPU_REG_ID), NPU_REG_GONE);
	set_command(&c, true);
	assert_int_equal(reg_read(&c, NPU_REG_IRQ_ENABLE), 0);
	client_close(&c);
}

static void test_registers(void **state)
{
	uint8_t bytes[64];
	uint64_t pair = 0;
	struct client c;
	uint32_t lo, hi;

	client_boot(&c, NULL);
	assert_int_equal(reg_read(&c, NPU_REG_VERSION), NPU_REGS_MAJOR << 16 | NPU_REGS_MINOR);
	assert_int_equal(reg_read(&c, NPU_REG_ISA), NPU_ISA_MAJOR << 16 | NPU_ISA_MINOR);
	assert_int_equal(reg_read(&c, NPU_REG_RINGS), 7);
	assert_int_equal(reg_read(&c, NPU_REG_ASIDS), VDEV_ASIDS_DEFAULT);
	assert_int_equal(reg_read(&c, NPU_REG_ADDRESS_BITS), 39);
	assert_int_equal(reg_read(&c, NPU_REG_STREAM_MAX), NPU_STREAM_MAX);
	reg_write(&c, NPU_REG_ID, 5);
	assert_int_equal(reg_read(&c, NPU_REG_ID), NPU_ID_MAGIC);
	assert_int_equal(reg_read(&c, 0xffc), 0);
	lo = reg_read(&c, NPU_REG_TIME_LO);
	hi = reg_read(&c, NPU_REG_TIME_HI);
	assert_true((uint64_t)hi << 32 | lo);
	/* two words at once are two words; odd accesses read zeros */
	assert_int_equal(access_region(&c, false, 0, NPU_REG_ID, &pair, 8), 0);
	assert_true(pair == ((uint64_t)NPU_REGS_MAJOR << 48 | NPU_ID_MAGIC));
	assert_int_equal(access_region(&c, false, 0, 1, bytes, 3), 0);
	assert_int_equal(bytes[0] | bytes[1] | bytes[2], 0);
	/* beyond the end, and where the sum wraps */
	assert_int_equal(access_region(&c, false, 0, 4094, bytes, 4), EINVAL);
	assert_int_equal(access_region(&c, false, 0, ~0ull, bytes, 4), EINVAL);
	assert_int_equal(access_region(&c, false, 1, 0, bytes, 4), EINVAL);
	assert_int_equal(access_region(&c, false, 99, 0, bytes, 4), EINVAL);
	assert_int_equal(access_region(&c, false, 0, 0, bytes, 0), EINVAL);
	/* a ring does not become enabled with a size or an address that is none */
	reg_write(&c, NPU_RING(1, NPU_REG_RING_CONTROL), 0);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_SIZE), 6);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_CONTROL), 1);
	assert_int_equal(reg_read(&c, NPU_RING(1, NPU_REG_RING_STATUS)), 0);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_SIZE), 8);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_BASE_LO), 64);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_CONTROL), 1);
	assert_int_equal(reg_read(&c, NPU_RING(1, NPU_REG_RING_STATUS)), 0);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_BASE_LO), 0x1000);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_CONTROL), 1);
	assert_int_equal(reg_read(&c, NPU_RING(1, NPU_REG_RING_STATUS)), NPU_RING_STATUS_ENABLED);
	reg_write(&c, NPU_RING(1, NPU_REG_RING_BASE_LO), 0x2000);
	assert_int_equal(reg_read(&c, NPU_RING(1, NPU_REG_RING_BASE_LO)), 0x1000);
	client_close(&c);
}

static void test_irqs(void **state)
{
	const uint32_t trigger = VFIO_IRQ_SET_ACTION_TRIGGER;
	const struct vdev_options msi = { .msi = true };
	struct client c;

	client_boot(&c, NULL);
	/* loopback, then a batch without files, which takes vectors 1 and 2 away */
	assert_int_equal(set_irqs(&c, VFIO_PCI_MSIX_IRQ_INDEX, 0, 4,
				  VFIO_IRQ_SET_DATA_NONE | trigger, NULL, 0), 0);
	assert_true(irq_wait(&c, 0, 0) && irq_wait(&c, 3, 0));
	irq_drain(&c);
	assert_int_equal(set_irqs(&c, VFIO_PCI_MSIX_IRQ_INDEX, 1, 2,
				  VFIO_IRQ_SET_DATA_EVENTFD | trigger, NULL, 0), 0);
	assert_int_equal(set_irqs(&c, VFIO_PCI_MSIX_IRQ_INDEX, 0, 4,
				  VFIO_IRQ_SET_DATA_NONE | trigger, NULL, 0), 0);
	assert_true(irq_wait(&c, 0, 0) && !irq_wait(&c, 1, 0) && !irq_wait(&c, 2, 0));
	/* what makes no sense */
	assert_int_equal(set_irqs(&c, VFIO_PCI_MSIX_IRQ_INDEX, 3, 2,
				  VFIO_IRQ_SET_DATA_NONE | trigger, NULL, 0), EINVAL);
	assert_int_equal(set_irqs(&c, VFIO_PCI_MSIX_IRQ_INDEX, ~0u, 2,
				  VFIO_IRQ_SET_DATA_NONE | trigger, NULL, 0), EINVAL);
	assert_int_equal(set_irqs(&c, 77, 0, 1, VFIO_IRQ_SET_DATA_NONE | trigger, NULL, 0),
			 EINVAL);
	assert_int_equal(set_irqs(&c, VFIO_PCI_MSIX_IRQ_INDEX, 0, 4,
				  VFIO_IRQ_SET_DATA_EVENTFD | trigger, c.irq, 3), EINVAL);
	assert_int_equal(set_irqs(&c, VFIO_PCI_MSIX_IRQ_INDEX, 0, 4,
				  VFIO_IRQ_SET_DATA_BOOL | trigger, NULL, 0), EINVAL);
	assert_int_equal(set_irqs(&c, VFIO_PCI_MSIX_IRQ_INDEX, 0, 1,
				  VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_MASK, NULL, 0),
			 EINVAL);
	assert_int_equal(set_irqs(&c, VFIO_PCI_MSIX_IRQ_INDEX, 0, 0,
				  VFIO_IRQ_SET_DATA_NONE | trigger, NULL, 0), 0);
	client_close(&c);

	client_boot(&c, &msi);
	assert_false(capability(&c, PCI_CAP_ID_MSIX));
	assert_int_equal(set_irqs(&c, VFIO_PCI_MSIX_IRQ_INDEX, 0, 1,
				  VFIO_IRQ_SET_DATA_NONE | trigger, NULL, 0), EINVAL);
	client_close(&c);
}

static void test_map(void **state)
{
	struct client c;
	int ro, pipes[2];
	char path[64];

	client_boot(&c, NULL);
	/* overlap, wrap, alignment, flags, beyond the end of the file */
	assert_int_equal(map_ram(&c, RAM_BASE + 0x1000, 0x1000, 0), EEXIST);
	assert_int_equal(map_ram(&c, RAM_BASE - 0x1000, 0x2000, 0), EEXIST);
	assert_int_equal(map_ram(&c, ~0xfffull, 0x2000, 0), EINVAL);
	assert_int_equal(map_ram(&c, 0x1800, 0x1000, 0), EINVAL);
	assert_int_equal(map_ram(&c, 0x1000, 0x800, 0), EINVAL);
	assert_int_equal(map_ram(&c, 0x1000, 0, 0), EINVAL);
	assert_int_equal(map_ram(&c, 0x1000, 0x1000, RAM_SIZE), EINVAL);
	assert_int_equal(map_ram(&c, 0x1000, 0x1000, ~0xfffull), EINVAL);
	assert_int_equal(map_fd(&c, 0x1000, 0x1000, 0, 0, c.memfd), EINVAL);
	assert_int_equal(map_fd(&c, 0x1000, 0x1000, 0, 0xff, c.memfd), EINVAL);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(map_fd(&c, 0x1000, 0x1000, 0, 1, pipes[0]), EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", c.memfd);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(map_fd(&c, 0x1000, 0x1000, 0, 3, ro), EACCES);
	assert_int_equal(map_fd(&c, 0x1000, 0x1000, 0, 1, ro), 0);
	close(ro);
	/* the last page of the address space, and one without a file */
	assert_int_equal(map_ram(&c, ~0xfffull, 0x1000, 0), 0);
	assert_int_equal(map_fd(&c, 0x10000, 0x1000, 0, 3, -1), 0);
	/* unmapping: nothing, a part, everything */
	assert_int_equal(unmap(&c, 0x700000000, 0x1000), 0);
	assert_int_equal(unmap(&c, 0x700000000, 0), EINVAL);
	assert_int_equal(unmap(&c, RAM_BASE + 0x3000, 0x2000), 0);
	assert_int_equal(map_ram(&c, RAM_BASE + 0x3000, 0x2000, 0x8000), 0);
	assert_int_equal(unmap(&c, 0, 1ull << 63), 0);
	assert_int_equal(unmap(&c, 1ull << 63, 1ull << 63), 0);
	assert_int_equal(map_ram(&c, RAM_BASE, RAM_SIZE, 0), 0);
	client_close(&c);
}

/* Against a plain model: one bool a page. */
static void test_map_random(void **state)
{
	enum { PAGES = 64 };
	bool model[PAGES] = { 0 };
	struct dma d;
	unsigned int n, i, seed = 12345;
	int fd = memfd_create("ram", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, PAGES * DMA_PAGE), 0);
	dma_init(&d);
	dma_enable(&d, true);
	for (n = 0; n < 20000; n++) {
		unsigned int at = rand_r(&seed) % PAGES, count = 1 + rand_r(&seed) % 8;
		bool overlap = false;

		if (at + count > PAGES)
			count = PAGES - at;
		for (i = 0; i < count; i++)
			overlap |= model[at + i];
		if (rand_r(&seed) % 2) {
			assert_int_equal(dma_map(&d, at * DMA_PAGE, count * DMA_PAGE, 3, fd,
						 at * DMA_PAGE), overlap ? -EEXIST : 0);
			for (i = 0; i < count && !overlap; i++)
				model[at + i] = true;
		} else {
			assert_int_equal(dma_unmap(&d, at * DMA_PAGE, count * DMA_PAGE), 0);
			for (i = 0; i < count; i++)
				model[at + i] = false;
		}
		at = rand_r(&seed) % PAGES;
		assert_int_equal(dma_write64(&d, at * DMA_PAGE + 8, at),
				 model[at] ? DMA_OK : DMA_UNMAPPED);
	}
	dma_fini(&d);
	close(fd);
}

static void test_malformed(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 15, 16 + 65537, 0x7fffffff, 0xffffffff };
	uint8_t zeros[64] = { 0 };
	struct client c;
	unsigned int n, command;
	char byte;

	/* a size that cannot be: the server hangs up, and only that */
	for (n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++) {
		struct msg_header h = { 1, MSG_GET_INFO, sizes[n], 0, 0 };

		client_boot(&c, NULL);
		send_bytes(&c, &h, sizeof(h), NULL, 0);
		assert_int_equal(recv(c.sock, &byte, 1, 0), 0);
		client_close(&c);
	}
	/* bodies of any size, all bits clear */
	client_boot(&c, NULL);
	for (command = 2; command < 20; command++) {
		for (n = 0; n < 48; n++)
			request(&c, command, zeros, n, NULL, 0, NULL, 0);
	}
	assert_int_equal(reg_read(&c, NPU_REG_ID), NPU_REG_GONE);	/* it was reset */
	client_close(&c);
	/* half a header, then nothing more */
	client_boot(&c, NULL);
	send_bytes(&c, zeros, 7, NULL, 0);
	client_close(&c);
}

/* Files where none are expected, and more than fit, must not pile up. */
static void test_fd_leak(void **state)
{
	uint32_t info[4] = { sizeof(info) };
	int fds[16], before, after, n;
	struct client c;

	client_boot(&c, NULL);
	for (n = 0; n < 16; n++)
		fds[n] = c.memfd;
	before = dup(0);
	close(before);
	for (n = 0; n < 200; n++) {
		assert_int_equal(request(&c, MSG_GET_INFO, info, 16, fds, 16, NULL, 0), 0);
		assert_int_equal(set_irqs(&c, VFIO_PCI_MSIX_IRQ_INDEX, 0, NPU_IRQ_VECTORS,
					  VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
					  c.irq, NPU_IRQ_VECTORS), 0);
	}
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
	client_close(&c);
}

static void test_random_messages(void **state)
{
	unsigned int seed = 4711, n, i;
	struct client c;

	client_boot(&c, NULL);
	for (n = 0; n < 5000; n++) {
		uint8_t body[96];
		size_t size = rand_r(&seed) % sizeof(body);

		for (i = 0; i < size; i++)
			body[i] = rand_r(&seed) % 4 ? rand_r(&seed) % 8 : rand_r(&seed);
		request(&c, 2 + rand_r(&seed) % 12, body, size, &c.memfd, rand_r(&seed) % 2,
			NULL, 0);
	}
	client_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_keep_d3),
		cmocka_unit_test(test_function_reset),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_irqs),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_random),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_fd_leak),
		cmocka_unit_test(test_random_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
