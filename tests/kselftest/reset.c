// SPDX-License-Identifier: GPL-2.0-only
/* Recovery, to its end: storms of resets, and a device that can't be recovered. */
#include "npu_reset.h"

/*
 * The time limit of jobs for this file, as far as the driver lets us: short, but
 * not so short that a busy machine takes longer for a job that is well.
 */
#define SHORT_MS	600

FIXTURE(reset) {
	int fd;
	int timeout;
	char pci[NAME_MAX + 1];
};

FIXTURE_SETUP(reset)
{
	self->timeout = -1;
	if (npu_pci_name(self->pci, sizeof(self->pci)) || access(NPU_DRIVER, F_OK))
		SKIP(return, "no NPU device");
	if (geteuid())
		SKIP(return, "needs root");
	if (!npu_has_vdev())
		SKIP(return, "no control line to the device model");
	self->fd = npu_open_bound(self->pci);
	ASSERT_LE(0, self->fd);
	self->timeout = npu_set_timeout(SHORT_MS);
	if (self->timeout >= 0) {
		close(self->fd);
		ASSERT_EQ(0, npu_rebind(self->pci));
		self->fd = npu_open();
		ASSERT_LE(0, self->fd);
	}
}

FIXTURE_TEARDOWN(reset)
{
	char name[NAME_MAX + 1];

	if (self->fd >= 0)
		close(self->fd);
	npu_vdev("reset-faults");
	if (self->timeout >= 0)
		npu_set_timeout(self->timeout);
	if (npu_find(name, sizeof(name)))
		npu_unbind(self->pci);
	EXPECT_EQ(0, npu_bind(self->pci));
	EXPECT_EQ(1, npu_device_works());
}

/* Binds with the driver's own limit. */
static int bind_again(const char *pci, int timeout)
{
	if (timeout >= 0)
		npu_set_timeout(timeout);
	return npu_bind(pci);
}

/* Case C35: one hang after the other; who is innocent never notices. */
TEST_F_TIMEOUT(reset, reset_storm, 60)
{
	unsigned int rounds = self->timeout >= 0 ? 15 : 3, round, i;
	int other = npu_open(), theirs[NPU_RING_COUNT];
	uint32_t out, good, their_out;
	struct npu_stream s;

	ASSERT_LE(0, other);
	out = npu_syncobj(self->fd, 0);
	good = npu_syncobj(self->fd, 0);
	their_out = npu_syncobj(other, 0);
	for (i = 0; i < NPU_RING_COUNT; i++)
		theirs[i] = npu_queue(other, i);
	npu_stream_empty(&s);
	for (round = 0; round < rounds; round++) {
		unsigned int ring = round % NPU_RING_COUNT;
		int bad = npu_queue(self->fd, ring), ok = npu_queue(self->fd, ring);

		ASSERT_LT(0, bad);
		NPU_VDEV("hang ring=%u", ring);
		ASSERT_EQ(0, npu_submit(self->fd, bad, &s, 0, out));
		npu_vdev_wait();
		for (i = 0; i < 10; i++) {
			ASSERT_EQ(0, npu_submit(other, theirs[ring], &s, 0, their_out));
		}
		for (i = 0; i < 3; i++) {
			ASSERT_EQ(0, npu_submit(self->fd, ok, &s, 0, good));
		}
		EXPECT_EQ(1, npu_run(other, theirs[(ring + 1) % NPU_RING_COUNT], &s, 0));
		EXPECT_EQ(-ETIMEDOUT, npu_fence_end(self->fd, out));
		EXPECT_EQ(1, npu_fence_end(self->fd, good));
		EXPECT_EQ(1, npu_fence_end(other, their_out));
		EXPECT_EQ(0, npu_queue_destroy(self->fd, bad));
		EXPECT_EQ(0, npu_queue_destroy(self->fd, ok));
	}
	TH_LOG("%u hangs", rounds);
	close(other);
}

/* A hang leaves a dump for whoever wants to know more. */
TEST_F(reset, coredump)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct dirent *e;
	struct npu_stream s;
	bool found = false;
	DIR *dir;

	npu_stream_empty(&s);
	NPU_VDEV("hang ring=0");
	ASSERT_EQ(-ETIMEDOUT, npu_run(self->fd, queue, &s, 0));
	npu_sleep_ms(200);
	dir = opendir("/sys/class/devcoredump");
	while (dir && (e = readdir(dir))) {
		char path[NAME_MAX + 64], text[4096];

		if (strncmp(e->d_name, "devcd", 5))
			continue;
		snprintf(path, sizeof(path), "/sys/class/devcoredump/%s/data", e->d_name);
		EXPECT_LT(0, npu_read_file(path, text, sizeof(text)));
		EXPECT_EQ(0, npu_write_file(path, "1"));
		found = true;
	}
	if (dir)
		closedir(dir);
	if (!found)
		SKIP(return, "the driver makes no core dump");
}

/* A ring reset is refused, the full one works: again and again. */
TEST_F_TIMEOUT(reset, reset_full_storm, 60)
{
	unsigned int rounds = self->timeout >= 0 ? 3 : 2, round;
	uint64_t resets = npu_vdev_stat("resets");
	struct npu_stream s;

	npu_stream_empty(&s);
	for (round = 0; round < rounds; round++) {
		unsigned int ring = round % NPU_RING_COUNT;
		int queue = npu_queue(self->fd, ring);

		NPU_VDEV("hang ring=%u", ring);
		NPU_VDEV("refuse-ring-reset ring=%u", ring);
		EXPECT_EQ(-ETIMEDOUT, npu_run(self->fd, queue, &s, 0));
		EXPECT_EQ(0, npu_queue_destroy(self->fd, queue));
		EXPECT_EQ(1, npu_alive(self->fd));
	}
	EXPECT_LE(resets + rounds, npu_vdev_stat("resets"));
}

/*
 * No reset is acknowledged: the device is cut off before its memory is given
 * back, everything ends with ENODEV, and a uevent says so. A rebind helps.
 */
TEST_F(reset, wedged_uevent)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), events = npu_uevents_open(), i;
	int waiting = npu_queue(self->fd, NPU_RING_PREPROCESS);
	struct drm_npu_get_param param = { .param = 0, .value = NPU_POISON64 };
	uint32_t out = npu_syncobj(self->fd, 0), next = npu_syncobj(self->fd, 0);
	uint64_t late;
	struct npu_stream s;
	struct npu_buf buf;
	char value[128] = "", path[PATH_MAX];

	ASSERT_LE(0, events);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 16 * NPU_PAGE, NPU_BASE));
	memset(buf.map, 0x11, buf.size);
	NPU_VDEV("reset-stats");
	NPU_VDEV("late-write ring=0 ms=2500 times=20");
	NPU_VDEV("refuse-ring-reset count=0");
	NPU_VDEV("refuse-reset count=0");
	NPU_VDEV("slow ring=2 ms=8000");
	npu_stream_init(&s);
	npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 4096);
	ASSERT_EQ(0, npu_submit(self->fd, queue, &s, NPU_BASE + 8192, out));
	npu_stream_empty(&s);
	npu_sleep_ms(50);
	ASSERT_EQ(0, npu_submit(self->fd, waiting, &s, 0, next));
	EXPECT_TRUE(npu_uevent(events, "accel", "WEDGED", value, sizeof(value), 10000));
	EXPECT_NE(0, strlen(value));
	TH_LOG("WEDGED=%s", value);
	EXPECT_EQ(-ENODEV, npu_fence_end(self->fd, out));
	EXPECT_EQ(-ENODEV, npu_fence_end(self->fd, next));
	EXPECT_EQ(-ENODEV, npu_ioctl(self->fd, DRM_IOCTL_NPU_GET_PARAM, &param));
	EXPECT_EQ(NPU_POISON64, param.value);
	EXPECT_EQ(-ENODEV, npu_submit(self->fd, queue, &s, 0, 0));
	EXPECT_EQ(0, npu_vdev_stat("bus_master"));
	if (!npu_sysfs(path, sizeof(path), "wedged") &&
	    npu_read_file(path, value, sizeof(value)) > 0) {
		EXPECT_STREQ("1\n", value);
	}
	/* the memory is still there; then it is others' */
	EXPECT_EQ(0x11, *(char *)buf.map);
	munmap(buf.map, buf.size);
	close(self->fd);
	self->fd = -1;
	for (i = 0; i < 60 && !npu_vdev_stat("late_writes"); i++)
		npu_sleep_ms(100);
	npu_sleep_ms(100);
	late = npu_vdev_stat("late_writes");
	EXPECT_LT(0, late);
	EXPECT_EQ(0, npu_vdev_stat("late_landed"));
	TH_LOG("%d late writes, none landed", (int)late);
	close(events);
	NPU_VDEV("reset-faults");
	ASSERT_EQ(0, npu_unbind(self->pci));
	ASSERT_EQ(0, bind_again(self->pci, self->timeout));
	EXPECT_EQ(1, npu_device_works());
}

/* A late write after a reset that works hits nobody: the ring had drained. */
TEST_F(reset, late_write)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct npu_stream s;

	npu_stream_empty(&s);
	NPU_VDEV("reset-stats");
	NPU_VDEV("late-write ring=0 ms=100");
	EXPECT_EQ(-ETIMEDOUT, npu_run(self->fd, queue, &s, 0));
	EXPECT_EQ(1, npu_alive(self->fd));
	npu_sleep_ms(200);
	EXPECT_EQ(1, npu_alive(self->fd));
}

/* The device falls off the bus: reads give ~0, no interrupts come. */
TEST_F(reset, device_gone)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), ret;
	struct npu_stream s;
	uint32_t bo;

	ASSERT_EQ(0, npu_bo_create(self->fd, 8192, &bo));
	npu_stream_empty(&s);
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	NPU_VDEV("gone");
	ret = npu_run(self->fd, queue, &s, 0);
	EXPECT_TRUE(ret == -ENODEV || ret == -ETIMEDOUT) TH_LOG("fence: %d", ret);
	/* whatever is called, it returns */
	npu_bo_bind(self->fd, bo, NPU_BASE, 0);
	npu_bo_unbind(self->fd, bo);
	npu_alive(self->fd);
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(0, npu_unbind(self->pci));
	NPU_VDEV("reset-faults");
	ASSERT_EQ(0, bind_again(self->pci, self->timeout));
	EXPECT_EQ(1, npu_device_works());
}

/* The driver is unbound while it recovers. */
TEST_F(reset, unbind_during_hang)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	uint32_t out = npu_syncobj(self->fd, 0);
	int limit = npu_param(self->fd, DRM_NPU_PARAM_TIMEOUT_MS), i, file;
	struct npu_stream s;

	npu_stream_empty(&s);
	/* before, while and after the time-out handler works */
	for (i = -1; i <= 1; i++) {
		NPU_VDEV("hang ring=0");
		NPU_VDEV("refuse-ring-reset ring=0");
		queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
		out = npu_syncobj(self->fd, 0);
		ASSERT_EQ(0, npu_submit(self->fd, queue, &s, 0, out));
		file = npu_sync_file(self->fd, out);
		npu_sleep_ms(limit + i * 60 + (i > 0 ? 200 : 0));
		EXPECT_EQ(0, npu_unbind(self->pci));
		close(self->fd);
		NPU_VDEV("reset-faults");
		EXPECT_TRUE(npu_sync_file_status(file) == -ENODEV ||
			    npu_sync_file_status(file) == -ETIMEDOUT)
			TH_LOG("fence: %d", npu_sync_file_status(file));
		close(file);
		ASSERT_EQ(0, npu_bind(self->pci));
		self->fd = npu_open();
		EXPECT_EQ(1, npu_alive(self->fd));
	}
}

/* What is not our device, or not yet, is refused by probe; a later one works. */
TEST_F(reset, probe_refused)
{
	static const char *const lies[] = {
		"id value=0x12345678", "id value=0xffffffff", "version value=0x00020000",
		"rings value=0", "refuse-reset count=0", "not-ready",
	};
	unsigned int i;

	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, npu_unbind(self->pci));
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		int ret;

		NPU_VDEV("%s", lies[i]);
		ret = npu_driver_write("bind", self->pci);
		NPU_VDEV("reset-faults");
		/* READY is what a device may report that answers a reset */
		if (strcmp(lies[i], "not-ready")) {
			EXPECT_GT(0, ret) TH_LOG("%s", lies[i]);
		}
		if (!ret) {
			EXPECT_EQ(0, npu_unbind(self->pci));
		}
	}
	ASSERT_EQ(0, bind_again(self->pci, self->timeout));
	EXPECT_EQ(1, npu_device_works());
}

TEST_HARNESS_MAIN
