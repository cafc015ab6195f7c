// SPDX-License-Identifier: GPL-2.0-only
/* What runs when, and that it is what was submitted. */
#include "npu_vdev.h"

NPU_FIXTURE(device)

/* Jobs of one queue run in the order in which they were submitted. */
TEST_F(device, order)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_SUB);
	uint32_t out = npu_syncobj(self->fd, 0);
	struct npu_stream s;
	struct npu_buf buf;
	unsigned int i;
	uint8_t *p;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 4096, NPU_BASE));
	p = buf.map;
	memset(p, 0x99, 32);
	/* each hands on what the one before has written */
	for (i = 0; i < 100; i++) {
		npu_stream_init(&s);
		npu_stream_copy(&s, NPU_BASE + i * 32, NPU_BASE + i * 32 + 32, 32);
		ASSERT_EQ(0, npu_submit(self->fd, queue, &s, 0, i == 99 ? out : 0));
	}
	EXPECT_EQ(1, npu_fence_end(self->fd, out));
	for (i = 0; i < 101 * 32; i++) {
		if (p[i] != 0x99)
			break;
	}
	EXPECT_EQ(101 * 32, i);
}

/* Also when several threads feed one queue: each thread's own order is kept. */
struct order_thread {
	pthread_t thread;
	int fd, queue;
	uint64_t record;
	int error;
};

static void *order_submit(void *arg)
{
	struct order_thread *t = arg;
	struct npu_stream s;
	unsigned int i;

	npu_stream_empty(&s);
	for (i = 0; i < 30; i++) {
		int ret = npu_submit(t->fd, t->queue, &s, t->record + i * 128, 0);

		if (ret)
			t->error = ret;
	}
	return NULL;
}

TEST_F(device, order_threads)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct order_thread t[4] = { };
	const struct npu_result *r;
	struct npu_stream s;
	struct npu_buf buf;
	unsigned int i, j;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 4 * NPU_PAGE, NPU_BASE));
	for (i = 0; i < 4; i++) {
		t[i].fd = self->fd;
		t[i].queue = queue;
		t[i].record = NPU_BASE + i * NPU_PAGE;
		ASSERT_EQ(0, pthread_create(&t[i].thread, NULL, order_submit, &t[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(t[i].thread, NULL);
		EXPECT_EQ(0, t[i].error);
	}
	npu_stream_empty(&s);
	ASSERT_EQ(1, npu_run(self->fd, queue, &s, 0));
	for (i = 0; i < 4; i++) {
		r = buf.map + i * NPU_PAGE;
		for (j = 0; j < 30; j++) {
			EXPECT_EQ(NPU_STATUS_OK, r[j].status);
			if (j) {
				EXPECT_LE(r[j - 1].clock_end, r[j].clock_start);
			}
		}
	}
}

/* Of what waits, the higher priority runs first; one runs at a time. */
TEST_F(device, priority)
{
	static const uint32_t levels[3] = {
		DRM_NPU_PRIORITY_LOW, DRM_NPU_PRIORITY_NORMAL, DRM_NPU_PRIORITY_HIGH,
	};
	uint64_t first[3], last[3];
	struct npu_result *r;
	struct npu_stream s;
	struct npu_buf buf;
	unsigned int i, j;
	uint32_t out[3];
	int queue[3], blocker;

	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 4096, NPU_BASE));
	for (i = 0; i < 3; i++) {
		queue[i] = npu_queue_create(self->fd, NPU_RING_FETCH_MAIN, levels[i]);
		if (queue[i] == -EACCES)
			SKIP(return, "needs CAP_SYS_NICE");
		ASSERT_LT(0, queue[i]);
		out[i] = npu_syncobj(self->fd, 0);
	}
	blocker = npu_block(NPU_RING_FETCH_MAIN, 500);
	ASSERT_LE(0, blocker);
	npu_stream_empty(&s);
	for (i = 0; i < 3; i++) {
		for (j = 0; j < 4; j++) {
			ASSERT_EQ(0, npu_submit(self->fd, queue[i], &s,
						NPU_BASE + (i * 4 + j) * 128, out[i]));
		}
	}
	r = buf.map;
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(1, npu_fence_end(self->fd, out[i]));
		first[i] = r[i * 4].clock_start;
		last[i] = r[i * 4 + 3].clock_end;
	}
	EXPECT_LE(last[2], first[1]);
	EXPECT_LE(last[1], first[0]);
	close(blocker);
}

/* HIGH is for those who may; in a child, as the test's own right stays. */
TEST_F(device, priority_rights)
{
	struct drm_npu_queue_create arg = {
		.priority = DRM_NPU_PRIORITY_HIGH, .queue = NPU_POISON32
	};
	int status;
	pid_t pid;

	NPU_NEED_ROOT();
	EXPECT_LT(0, npu_queue_create(self->fd, 0, DRM_NPU_PRIORITY_HIGH));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (setuid(65534))
			_exit(2);
		if (npu_ioctl(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &arg) != -EACCES)
			_exit(3);
		if (arg.queue != NPU_POISON32)
			_exit(4);
		_exit(npu_queue(self->fd, 0) > 0 ? 0 : 5);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* What was submitted runs, whatever becomes of the memory that it came from. */
TEST_F(device, stream_toctou)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), blocker;
	uint32_t out = npu_syncobj(self->fd, 0);
	struct npu_request r;
	struct npu_stream s;
	struct npu_buf buf;
	void *page[3];
	unsigned int i;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	memset(buf.map, 0x77, 32);
	blocker = npu_block(NPU_RING_FETCH_MAIN, 400);
	ASSERT_LE(0, blocker);
	for (i = 0; i < 3; i++) {
		page[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		ASSERT_NE(MAP_FAILED, page[i]);
		npu_stream_init(&s);
		npu_stream_copy(&s, NPU_BASE, NPU_BASE + 1024 + i * 64, 32);
		memcpy(page[i], s.words, s.size);
		npu_request_init(&r, queue, &s, 0);
		r.job.stream = npu_ptr(page[i]);
		npu_request_out(&r, out, 0);
		ASSERT_EQ(0, npu_request_submit(self->fd, &r));
		/* the arguments themselves are the caller's again */
		memset(&r, 0xff, sizeof(r));
	}
	memset(page[0], 0xff, 4096);
	munmap(page[1], 4096);
	mprotect(page[2], 4096, PROT_NONE);
	EXPECT_EQ(0, npu_fence_status(self->fd, out));
	EXPECT_EQ(1, npu_fence_end(self->fd, out));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, memcmp(buf.map, buf.map + 1024 + i * 64, 32));
	}
	munmap(page[0], 4096);
	munmap(page[2], 4096);
	close(blocker);
}

/* A stream that lies where its own job writes. */
TEST_F(device, stream_self_modifying)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	uint32_t out = npu_syncobj(self->fd, 0);
	struct npu_request r;
	struct npu_stream s;
	struct npu_buf buf;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 3 * NPU_PAGE, NPU_BASE));
	memset(buf.map + 4096, 0xee, 4096);
	npu_stream_init(&s);
	npu_stream_copy(&s, NPU_BASE + 4096, NPU_BASE, 1024);
	npu_stream_copy(&s, NPU_BASE + 4096, NPU_BASE + 8192, 1024);
	memcpy(buf.map, s.words, s.size);
	npu_request_init(&r, queue, &s, 0);
	r.job.stream = npu_ptr(buf.map);
	npu_request_out(&r, out, 0);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	EXPECT_EQ(1, npu_fence_end(self->fd, out));
	EXPECT_EQ(0xee, ((uint8_t *)buf.map)[0]);
	EXPECT_EQ(0xee, ((uint8_t *)buf.map)[8192]);
}

TEST_HARNESS_MAIN
