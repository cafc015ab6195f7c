// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every n-th allocation fails, n = 1, 2, 3, ...: each call succeeds or has done
 * nothing. Needs a kernel with fault injection.
 */
#include "npu_foreign.h"
#include "npu_reset.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define FAIL_MOST	500

FIXTURE(nomem) {
	int fd;
	int nth;
	int queue;
	struct npu_buf buf;
	struct npu_stream stream;
};

static void inject_setup(void)
{
	static const char *const attrs[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		char path[128];

		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/verbose", attrs[i]);
		npu_write_file(path, "0");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/ignore-gfp-wait", attrs[i]);
		npu_write_file(path, "N");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/ignore-gfp-highmem", attrs[i]);
		npu_write_file(path, "N");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/min-order", attrs[i]);
		npu_write_file(path, "0");
	}
}

FIXTURE_SETUP(nomem)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no NPU device");
	ASSERT_LE(0, self->fd);
	self->nth = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (self->nth < 0)
		SKIP(return, "this kernel has no fault injection");
	inject_setup();
	self->queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	ASSERT_LT(0, self->queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &self->buf, 8192, NPU_BASE));
	npu_stream_empty(&self->stream);
}

FIXTURE_TEARDOWN(nomem)
{
	EXPECT_EQ(1, npu_run(self->fd, self->queue, &self->stream, 0));
	close(self->fd);
	EXPECT_EQ(1, npu_device_works());
}

/* True while there still is an n-th allocation to fail. */
static bool inject(int nth, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	return pwrite(nth, text, len, 0) == len;
}

static bool injected(int nth)
{
	char text[16] = "";
	bool hit = pread(nth, text, sizeof(text) - 1, 0) > 0 && atoi(text) == 0;

	inject(nth, 0);
	return hit;
}

/* Errors that a lack of memory, or an unreadable argument, may look like. */
static bool is_failure(int ret)
{
	return ret == -ENOMEM || ret == -EFAULT;
}

/*
 * A result that can't be copied out when everything is done is EFAULT for every
 * DRM driver; its object stays until the file closes. What a program can do to
 * make that happen is found before; see ioctl_readonly_result.
 */
static bool is_lost(int ret)
{
	return ret == -EFAULT;
}

TEST_F(nomem, nomem_failnth_bo_create)
{
	struct drm_npu_bo_info info;
	unsigned int n, failed = 0;
	uint32_t next;

	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &next));
	ASSERT_EQ(0, npu_gem_close(self->fd, next));
	for (n = 1; n < FAIL_MOST; n++) {
		struct drm_npu_bo_create arg = { .size = 4096, .handle = NPU_POISON32 };
		int ret;

		ASSERT_TRUE(inject(self->nth, n));
		ret = npu_ioctl(self->fd, DRM_IOCTL_NPU_BO_CREATE, &arg);
		if (!injected(self->nth)) {
			EXPECT_EQ(0, ret);
			break;
		}
		if (!ret) {
			EXPECT_EQ(0, npu_gem_close(self->fd, arg.handle));
			continue;
		}
		failed++;
		/* shmem says ENOSPC if it gets no inode */
		EXPECT_TRUE(is_failure(ret) || ret == -ENOSPC) TH_LOG("allocation %u: %d", n, ret);
		EXPECT_EQ(NPU_POISON32, arg.handle);
		if (is_lost(ret)) {
			npu_gem_close(self->fd, next);
			continue;
		}
		/* nothing is to be found by guessing */
		EXPECT_EQ(-ENOENT, npu_bo_info(self->fd, next, &info)) TH_LOG("allocation %u", n);
	}
	TH_LOG("%u allocations, %u failures", n - 1, failed);
	EXPECT_GT(FAIL_MOST, n);
	EXPECT_LT(0, failed);
}

TEST_F(nomem, nomem_failnth_bind)
{
	struct drm_npu_bo_info info;
	unsigned int n, failed = 0;

	for (n = 1; n < FAIL_MOST; n++) {
		/* each address needs page tables of its own */
		uint64_t address = 16 * NPU_BASE + n * (1ull << 30);
		uint32_t bo;
		int ret;

		ASSERT_EQ(0, npu_bo_create(self->fd, 5 * NPU_PAGE, &bo));
		ASSERT_TRUE(inject(self->nth, n));
		ret = npu_bo_bind(self->fd, bo, address, 0);
		if (!injected(self->nth)) {
			EXPECT_EQ(0, ret);
			break;
		}
		if (ret) {
			failed++;
			EXPECT_TRUE(is_failure(ret)) TH_LOG("allocation %u: %d", n, ret);
			ASSERT_EQ(0, npu_bo_info(self->fd, bo, &info));
			EXPECT_EQ(0, info.address);
			/* nothing is in the way of a second try */
			EXPECT_EQ(0, npu_bo_bind(self->fd, bo, address, 0));
		}
		EXPECT_EQ(0, npu_gem_close(self->fd, bo));
	}
	TH_LOG("%u allocations, %u failures", n - 1, failed);
	EXPECT_GT(FAIL_MOST, n);
	EXPECT_LT(0, failed);
}

TEST_F(nomem, nomem_failnth_queue)
{
	unsigned int n, failed = 0;

	for (n = 1; n < FAIL_MOST; n++) {
		struct drm_npu_queue_create arg = { .queue = NPU_POISON32 };
		int ret;

		ASSERT_TRUE(inject(self->nth, n));
		ret = npu_ioctl(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &arg);
		if (!injected(self->nth)) {
			EXPECT_EQ(0, ret);
			break;
		}
		if (!ret) {
			EXPECT_EQ(0, npu_queue_destroy(self->fd, arg.queue));
			continue;
		}
		failed++;
		EXPECT_TRUE(is_failure(ret)) TH_LOG("allocation %u: %d", n, ret);
		EXPECT_EQ(NPU_POISON32, arg.queue);
		if (is_lost(ret)) {
			npu_queue_destroy(self->fd, self->queue + 1);
			continue;
		}
		EXPECT_EQ(-ENOENT, npu_queue_destroy(self->fd, self->queue + 1));
	}
	TH_LOG("%u allocations, %u failures", n - 1, failed);
	EXPECT_GT(FAIL_MOST, n);
	EXPECT_LT(0, failed);
}

/* Two jobs, two BOs, an in-sync, a binary and a timeline out-sync. */
struct full_request {
	struct npu_request r;
	struct drm_npu_job jobs[2];
	struct drm_npu_submit_bo bos[2];
	struct drm_npu_sync out[2];
};

static void full_request_init(struct full_request *f, int fd, int queue,
			      const struct npu_stream *s, uint32_t a, uint32_t b)
{
	npu_request_init(&f->r, queue, s, 0);
	f->jobs[0] = f->jobs[1] = f->r.job;
	f->bos[0] = (struct drm_npu_submit_bo){ a, DRM_NPU_SUBMIT_BO_WRITE };
	f->bos[1] = (struct drm_npu_submit_bo){ b, DRM_NPU_SUBMIT_BO_READ };
	f->out[0] = (struct drm_npu_sync){ .handle = npu_syncobj(fd, 0) };
	f->out[1] = (struct drm_npu_sync){ npu_syncobj(fd, 0), DRM_NPU_SYNC_TIMELINE, 7 };
	npu_request_in(&f->r, npu_syncobj(fd, DRM_SYNCOBJ_CREATE_SIGNALED), 0);
	f->r.arg.jobs = npu_ptr(f->jobs);
	f->r.arg.job_count = 2;
	f->r.arg.bos = npu_ptr(f->bos);
	f->r.arg.bo_count = 2;
	f->r.arg.bo_stride = sizeof(f->bos[0]);
	f->r.arg.out_syncs = npu_ptr(f->out);
	f->r.arg.out_sync_count = 2;
}

TEST_F(nomem, nomem_failnth_submit)
{
	unsigned int n, failed = 0;
	struct full_request f;
	uint32_t bo;

	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &bo));
	for (n = 1; n < FAIL_MOST; n++) {
		int ret;

		full_request_init(&f, self->fd, self->queue, &self->stream, bo,
				  self->buf.handle);
		ASSERT_TRUE(inject(self->nth, n));
		ret = npu_request_submit(self->fd, &f.r);
		if (!injected(self->nth)) {
			EXPECT_EQ(0, ret);
			break;
		}
		if (ret) {
			failed++;
			EXPECT_TRUE(is_failure(ret)) TH_LOG("allocation %u: %d", n, ret);
			EXPECT_EQ(NPU_NO_FENCE, npu_fence_status(self->fd, f.out[0].handle));
			EXPECT_EQ(-EINVAL, npu_wait_until(self->fd, f.out[1].handle, 7, 0));
			EXPECT_EQ(0, npu_bo_wait(self->fd, bo, 0, npu_in_ms(NPU_LONG_MS)));
		} else {
			EXPECT_EQ(1, npu_fence_end(self->fd, f.out[0].handle));
			EXPECT_EQ(0, npu_wait(self->fd, f.out[1].handle, 7));
		}
		npu_syncobj_destroy(self->fd, f.out[0].handle);
		npu_syncobj_destroy(self->fd, f.out[1].handle);
		npu_syncobj_destroy(self->fd, f.r.in.handle);
	}
	TH_LOG("%u allocations, %u failures", n - 1, failed);
	EXPECT_GT(FAIL_MOST, n);
	EXPECT_LT(5, failed);
}

TEST_F(nomem, nomem_failnth_open)
{
	char name[NAME_MAX + 1], path[NAME_MAX + 16];
	unsigned int n, failed = 0;

	ASSERT_TRUE(npu_find(name, sizeof(name)));
	snprintf(path, sizeof(path), "/dev/accel/%s", name);
	for (n = 1; n < FAIL_MOST; n++) {
		int fd;

		ASSERT_TRUE(inject(self->nth, n));
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (!injected(self->nth)) {
			EXPECT_LE(0, fd);
			close(fd);
			break;
		}
		if (fd < 0)
			failed++;
		else
			close(fd);
	}
	TH_LOG("%u allocations, %u failures", n - 1, failed);
	EXPECT_GT(FAIL_MOST, n);
	EXPECT_LT(0, failed);
}

TEST_F(nomem, nomem_failnth_prime)
{
	unsigned int n, failed = 0;
	struct npu_udmabuf u;
	uint32_t handle;

	if (npu_udmabuf_init(&u, 4 * NPU_PAGE))
		SKIP(return, "no udmabuf");
	for (n = 1; n < FAIL_MOST; n++) {
		int ret;

		ASSERT_TRUE(inject(self->nth, n));
		ret = npu_import(self->fd, u.dma_buf, &handle);
		if (!injected(self->nth)) {
			EXPECT_EQ(0, ret);
			break;
		}
		if (ret) {
			failed++;
			EXPECT_TRUE(is_failure(ret)) TH_LOG("allocation %u: %d", n, ret);
		} else {
			EXPECT_EQ(0, npu_gem_close(self->fd, handle));
		}
	}
	TH_LOG("%u allocations, %u failures", n - 1, failed);
	EXPECT_GT(FAIL_MOST, n);
	EXPECT_LT(0, failed);
	npu_udmabuf_fini(&u, 4 * NPU_PAGE);
}

/* Exports: no descriptor without a result, no reference left. */
TEST_F(nomem, nomem_failnth_export)
{
	unsigned int n, failed = 0;
	uint32_t bo;

	for (n = 1; n < FAIL_MOST; n++) {
		int fd;

		ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &bo));
		ASSERT_TRUE(inject(self->nth, n));
		fd = npu_export(self->fd, bo);
		if (!injected(self->nth)) {
			EXPECT_LE(0, fd);
			close(fd);
			break;
		}
		if (fd >= 0)
			close(fd);
		else
			failed++;
		EXPECT_EQ(0, npu_gem_close(self->fd, bo));
	}
	TH_LOG("%u allocations, %u failures", n - 1, failed);
	EXPECT_GT(FAIL_MOST, n);
	EXPECT_LT(0, failed);
}

/* Probe gives everything back when it fails, and what it does without works. */
TEST_F_TIMEOUT(nomem, nomem_failnth_probe, 100)
{
	int64_t deadline = npu_in_ms(25000);
	char pci[NAME_MAX + 1];
	unsigned int n, failed = 0, rounds = 0;
	int bind, ret = -1;

	NPU_NEED_ROOT();
	ASSERT_EQ(0, npu_pci_name(pci, sizeof(pci)));
	bind = open(NPU_DRIVER "/bind", O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, bind);
	ASSERT_EQ(0, npu_unbind(pci));
	/* there are many: every one at first, then samples */
	for (n = 1; n < 2000 && npu_now() < deadline; n += 1 + n / 8) {
		bool hit;

		ASSERT_TRUE(inject(self->nth, n));
		ret = pwrite(bind, pci, strlen(pci), 0) < 0 ? -errno : 0;
		hit = injected(self->nth);
		rounds++;
		if (ret) {
			failed++;
			continue;
		}
		EXPECT_EQ(1, npu_device_works()) TH_LOG("allocation %u", n);
		if (!hit)
			break;
		EXPECT_EQ(0, npu_unbind(pci));
		ret = -1;
	}
	TH_LOG("up to %u allocations, %u tries, %u failures", n, rounds, failed);
	EXPECT_LT(0, failed);
	close(bind);
	if (ret) {
		EXPECT_EQ(0, npu_bind(pci));
	}
	/* the teardown's file is one of the new instance */
	munmap(self->buf.map, self->buf.size);
	close(self->fd);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	self->queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
}

TEST_HARNESS_MAIN
