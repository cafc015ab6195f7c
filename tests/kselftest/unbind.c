// SPDX-License-Identifier: GPL-2.0-only
/* The driver goes while it is in use: unbind, unload, suspend. */
#include "npu_foreign.h"
#include "npu_reset.h"

FIXTURE(unbind) {
	int fd;
	char pci[NAME_MAX + 1];
};

FIXTURE_SETUP(unbind)
{
	if (npu_pci_name(self->pci, sizeof(self->pci)) || access(NPU_DRIVER, F_OK))
		SKIP(return, "no NPU device");
	if (geteuid())
		SKIP(return, "needs root");
	self->fd = npu_open_bound(self->pci);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(unbind)
{
	char name[NAME_MAX + 1];

	if (self->fd >= 0)
		close(self->fd);
	if (!npu_find(name, sizeof(name))) {
		EXPECT_EQ(0, npu_bind(self->pci));
	}
	EXPECT_EQ(1, npu_device_works());
}

struct waiter {
	pthread_t thread;
	int fd, ret;
	uint32_t bo;
};

static void *wait_bo(void *arg)
{
	struct waiter *w = arg;

	w->ret = npu_bo_wait(w->fd, w->bo, 0, npu_in_ms(NPU_LONG_MS));
	return NULL;
}

/* Every call says that there is no device, and writes nothing. */
static void check_gone(struct __test_metadata *_metadata, int fd, int queue)
{
	struct drm_npu_get_param param = { .value = NPU_POISON64 };
	struct npu_stream s;
	uint32_t handle;

	npu_stream_empty(&s);
	EXPECT_EQ(-ENODEV, npu_ioctl(fd, DRM_IOCTL_NPU_GET_PARAM, &param));
	EXPECT_EQ(NPU_POISON64, param.value);
	EXPECT_EQ(-ENODEV, npu_bo_create(fd, 4096, &handle));
	EXPECT_EQ(-ENODEV, npu_submit(fd, queue, &s, 0, 0));
	EXPECT_EQ(-ENODEV, npu_queue(fd, 0));
	EXPECT_EQ(-ENODEV, npu_bo_wait(fd, 1, 0, 0));
}

/* Jobs run and wait, a thread waits, memory is mapped, buffers are shared. */
TEST_F(unbind, unbind_busy)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), dma_buf, file[2], i;
	struct npu_request r;
	struct npu_stream s;
	struct npu_buf buf;
	struct waiter w;
	uint32_t out[2], handle;
	uint8_t *map;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, NPU_ENDLESS_SIZE, NPU_BASE));
	memset(buf.map, 0x21, buf.size);
	dma_buf = npu_export(self->fd, buf.handle);
	ASSERT_LE(0, dma_buf);
	npu_stream_init(&s);
	npu_stream_endless(&s, NPU_BASE);
	for (i = 0; i < 2; i++) {
		out[i] = npu_syncobj(self->fd, 0);
		npu_request_init(&r, queue, &s, 0);
		npu_request_bo(&r, buf.handle, DRM_NPU_SUBMIT_BO_WRITE);
		npu_request_out(&r, out[i], 0);
		ASSERT_EQ(0, npu_request_submit(self->fd, &r));
		file[i] = npu_sync_file(self->fd, out[i]);
		ASSERT_LE(0, file[i]);
	}
	w = (struct waiter){ .fd = self->fd, .bo = buf.handle };
	ASSERT_EQ(0, pthread_create(&w.thread, NULL, wait_bo, &w));
	npu_sleep_ms(100);

	ASSERT_EQ(0, npu_unbind(self->pci));
	EXPECT_EQ(-ENODEV, npu_sync_file_status(file[0]));
	pthread_join(w.thread, NULL);
	EXPECT_TRUE(w.ret == 0 || w.ret == -ENODEV);
	EXPECT_EQ(-ENODEV, npu_sync_file_status(file[1]));
	check_gone(_metadata, self->fd, queue);
	/* no SIGBUS, by either mapping, touched before or not */
	EXPECT_EQ(0x21, ((uint8_t *)buf.map)[123]);
	memset(buf.map, 0x22, buf.size);
	map = mmap(NULL, buf.size, PROT_READ | PROT_WRITE, MAP_SHARED, dma_buf, 0);
	EXPECT_NE(MAP_FAILED, map);
	if (map != MAP_FAILED) {
		EXPECT_EQ(0x22, map[4096]);
		munmap(map, buf.size);
	}

	/* another instance beside what is left of the old one */
	ASSERT_EQ(0, npu_bind(self->pci));
	EXPECT_EQ(1, npu_device_works());
	i = npu_open();
	EXPECT_EQ(0, npu_import(i, dma_buf, &handle));
	close(i);
	munmap(buf.map, buf.size);
	close(self->fd);
	self->fd = -1;
	close(file[0]);
	close(file[1]);
	close(dma_buf);
	EXPECT_EQ(1, npu_device_works());
}

/* With somebody else's memory bound, which must be given back in time. */
TEST_F(unbind, unbind_import)
{
	struct npu_udmabuf u;
	uint32_t handle;
	int ret;

	ret = npu_udmabuf_init(&u, 16 * NPU_PAGE);
	if (ret == -ENOENT)
		SKIP(return, "no udmabuf");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_import(self->fd, u.dma_buf, &handle));
	ASSERT_EQ(0, npu_bo_bind(self->fd, handle, NPU_BASE, 0));
	ASSERT_EQ(0, npu_unbind(self->pci));
	close(u.dma_buf);
	close(u.memfd);
	u.map[0] = 1;
	close(self->fd);
	self->fd = -1;
	munmap(u.map, 16 * NPU_PAGE);
	ASSERT_EQ(0, npu_bind(self->pci));
}

/* Back and forth while threads open, submit and close. */
static volatile bool churn_stop;

static void *churn(void *arg)
{
	struct npu_stream s;

	npu_stream_empty(&s);
	while (!churn_stop) {
		int fd = npu_open(), queue;
		struct npu_buf buf;

		if (fd < 0) {
			npu_sleep_ms(2);
			continue;
		}
		queue = npu_queue(fd, NPU_RING_FETCH_MAIN);
		npu_buf_init(fd, &buf, 65536, NPU_BASE);
		npu_run(fd, queue, &s, NPU_BASE);
		if (buf.map)
			munmap(buf.map, buf.size);
		close(fd);
	}
	return NULL;
}

TEST_F_TIMEOUT(unbind, unbind_churn, 100)
{
	int64_t deadline = npu_in_ms(8000);
	pthread_t thread[2];
	int i;

	close(self->fd);
	self->fd = -1;
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, churn, NULL));
	}
	for (i = 0; i < 10 && npu_now() < deadline; i++) {
		npu_sleep_ms(20 + i * 7);
		EXPECT_EQ(0, npu_unbind(self->pci));
		EXPECT_EQ(0, npu_bind(self->pci));
	}
	churn_stop = true;
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

/* ---- the module ---- */

/* "timeout_ms=2000 ", as it was loaded. */
static void module_params(char *text, size_t size)
{
	DIR *dir = opendir("/sys/module/npu/parameters");
	struct dirent *e;
	size_t n = 0;

	text[0] = '\0';
	while (dir && (e = readdir(dir))) {
		char path[NAME_MAX + 64], value[128];

		snprintf(path, sizeof(path), "/sys/module/npu/parameters/%s", e->d_name);
		if (e->d_name[0] == '.' || npu_read_file(path, value, sizeof(value)) <= 0)
			continue;
		value[strcspn(value, "\n")] = '\0';
		n += snprintf(text + n, size - n, "%s=%s ", e->d_name, value);
		if (n >= size)
			break;
	}
	if (dir)
		closedir(dir);
}

static int delete_npu(void)
{
	return syscall(SYS_delete_module, "npu", O_NONBLOCK) < 0 ? -errno : 0;
}

/* What lives on keeps the module; with the last of it gone it can be unloaded. */
TEST_F(unbind, unload_leak)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), dma_buf, file, module, ret, i;
	uint32_t out = npu_syncobj(self->fd, 0);
	char params[512];
	struct npu_stream s;
	struct npu_buf buf;

	module = open("/mod/npu.ko", O_RDONLY | O_CLOEXEC);
	if (module < 0 || !getenv("NPU_VM"))
		SKIP(return, "only in the virtual machine");
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	npu_stream_init(&s);
	npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 4096);
	ASSERT_EQ(0, npu_submit(self->fd, queue, &s, 0, out));
	ASSERT_EQ(1, npu_fence_end(self->fd, out));
	file = npu_sync_file(self->fd, out);
	dma_buf = npu_export(self->fd, buf.handle);
	module_params(params, sizeof(params));
	EXPECT_EQ(-EAGAIN, delete_npu());
	munmap(buf.map, buf.size);
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(-EAGAIN, delete_npu());
	close(dma_buf);
	/* the fence's file: it may keep the module, or it may not */
	ret = delete_npu();
	EXPECT_TRUE(ret == 0 || ret == -EAGAIN);
	EXPECT_EQ(1, npu_sync_file_status(file));
	close(file);
	for (i = 0; ret && i < 50; i++) {
		npu_sleep_ms(50);
		ret = delete_npu();
	}
	EXPECT_EQ(0, ret);
	EXPECT_NE(0, access("/sys/module/npu", F_OK));
	ASSERT_EQ(0, syscall(SYS_finit_module, module, params, 0));
	close(module);
	for (i = 0; i < 50 && npu_device_works() != 1; i++)
		npu_sleep_ms(20);
	EXPECT_EQ(1, npu_device_works());
}

/* ---- power ---- */

/* Suspends all devices and wakes them up again, without leaving the kernel. */
static int suspend_devices(void)
{
	int ret = npu_write_file("/sys/power/pm_test", "devices");

	if (ret)
		return ret;
	npu_write_file("/sys/module/suspend/parameters/pm_test_delay", "1");
	ret = npu_write_file("/sys/power/state", "freeze");
	npu_write_file("/sys/power/pm_test", "none");
	return ret;
}

TEST_F(unbind, suspend_busy)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), i, ret;
	int sub = npu_queue(self->fd, NPU_RING_FETCH_SUB);
	uint32_t out[3], copied = npu_syncobj(self->fd, 0);
	struct npu_stream s;
	struct npu_buf buf;

	if (access("/sys/power/pm_test", W_OK))
		SKIP(return, "this kernel cannot test suspend");
	NPU_NEED_VDEV();
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	memset(buf.map, 0x61, 4096);
	npu_stream_empty(&s);
	NPU_VDEV("slow ring=0 ms=400");
	for (i = 0; i < 3; i++) {
		out[i] = npu_syncobj(self->fd, 0);
		ASSERT_EQ(0, npu_submit(self->fd, queue, &s, 0, out[i]));
	}
	ret = suspend_devices();
	EXPECT_EQ(0, ret);
	/* what ran ended or was cancelled, what waited ran afterwards */
	ret = npu_fence_end(self->fd, out[0]);
	EXPECT_TRUE(ret == 1 || ret == -ECANCELED) TH_LOG("fence: %d", ret);
	EXPECT_EQ(1, npu_fence_end(self->fd, out[1]));
	EXPECT_EQ(1, npu_fence_end(self->fd, out[2]));
	/* address space, queues and memory are as before */
	npu_stream_init(&s);
	npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 4096);
	ASSERT_EQ(0, npu_submit(self->fd, sub, &s, 0, copied));
	EXPECT_EQ(1, npu_fence_end(self->fd, copied));
	EXPECT_EQ(0, memcmp(buf.map, buf.map + 4096, 4096));
}

static bool wait_for_status(const char *path, const char *wanted)
{
	char status[64];
	int i;

	for (i = 0; i < 80; i++) {
		npu_read_file(path, status, sizeof(status));
		if (!strncmp(status, wanted, strlen(wanted)))
			return true;
		npu_sleep_ms(50);
	}
	return false;
}

/* A device that nobody uses sleeps; whoever opens it wakes it. */
TEST_F(unbind, runtime_suspend)
{
	char control[PATH_MAX], path[PATH_MAX];
	struct npu_buf buf;
	uint32_t handle;
	int dma_buf, i;

	ASSERT_EQ(0, npu_sysfs(control, sizeof(control), "power/control"));
	ASSERT_EQ(0, npu_sysfs(path, sizeof(path), "power/runtime_status"));
	if (npu_write_file(control, "auto"))
		SKIP(return, "no runtime power management");
	/* memory that is mapped for the device outlives the file */
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	dma_buf = npu_export(self->fd, buf.handle);
	ASSERT_LE(0, dma_buf);
	/* a mapping keeps the file open */
	munmap(buf.map, buf.size);
	for (i = 0; i < 2; i++) {
		close(self->fd);
		self->fd = -1;
		if (!wait_for_status(path, "suspended")) {
			npu_write_file(control, "on");
			SKIP(return, "the driver keeps the device awake");
		}
		self->fd = npu_open();
		ASSERT_LE(0, self->fd);
		EXPECT_TRUE(wait_for_status(path, "active"));
		EXPECT_EQ(1, npu_alive(self->fd));
		EXPECT_EQ(0, npu_import(self->fd, dma_buf, &handle));
		EXPECT_EQ(0, npu_bo_bind(self->fd, handle, NPU_BASE, 0));
	}
	/* unbound while it sleeps */
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(wait_for_status(path, "suspended"));
	close(dma_buf);
	EXPECT_EQ(0, npu_unbind(self->pci));
	EXPECT_EQ(0, npu_bind(self->pci));
	EXPECT_EQ(1, npu_device_works());
}

TEST_HARNESS_MAIN
