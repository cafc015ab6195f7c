// SPDX-License-Identifier: GPL-2.0-only
/* Files, queues and programs that go while the device works for them. */
#include "npu_foreign.h"
#include "npu_vdev.h"

NPU_FIXTURE(device)

/* A file with a job running, jobs waiting, BOs bound and mapped. */
static int busy_file(struct npu_buf *buf, unsigned int jobs)
{
	int fd = npu_open(), queue, ret;
	struct npu_stream s;

	if (fd < 0)
		return fd;
	queue = npu_queue(fd, NPU_RING_FETCH_MAIN);
	ret = npu_buf_init(fd, buf, NPU_ENDLESS_SIZE, NPU_BASE);
	npu_stream_init(&s);
	npu_stream_endless(&s, NPU_BASE);
	if (!ret)
		ret = npu_submit(fd, queue, &s, 0, 0);
	npu_stream_init(&s);
	npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 4096);
	while (!ret && jobs--)
		ret = npu_submit(fd, queue, &s, 0, 0);
	if (ret) {
		close(fd);
		return ret;
	}
	npu_sleep_ms(50);
	return fd;
}

/* Nothing of a file is used any more that has closed, and close does not wait. */
TEST_F(device, close_busy)
{
	struct npu_buf buf;
	int64_t start;
	int busy;

	busy = busy_file(&buf, 20);
	ASSERT_LE(0, busy);
	start = npu_now();
	close(busy);
	TH_LOG("close took %d ms", (int)((npu_now() - start) / 1000000));
	EXPECT_GE(5000, (npu_now() - start) / 1000000);
	/* the memory is still mapped here, though its file is gone */
	memset(buf.map, 1, buf.size);
	munmap(buf.map, buf.size);
	EXPECT_EQ(1, npu_alive(self->fd));
}

/* Every handle of a running job is closed before it ends. */
TEST_F(device, close_handles)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), ret, blocker;
	uint32_t out = npu_syncobj(self->fd, 0);
	struct npu_request r;
	struct npu_stream s;
	struct npu_buf buf;
	int file;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	blocker = npu_block(NPU_RING_FETCH_MAIN, 200);
	ASSERT_LE(0, blocker);
	npu_stream_init(&s);
	npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 4096);
	npu_request_init(&r, queue, &s, 0);
	npu_request_bo(&r, buf.handle, DRM_NPU_SUBMIT_BO_WRITE);
	npu_request_out(&r, out, 0);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	file = npu_sync_file(self->fd, out);
	ASSERT_LE(0, file);
	EXPECT_EQ(0, npu_syncobj_destroy(self->fd, out));
	EXPECT_EQ(0, npu_buf_fini(self->fd, &buf));
	/* memory lives, its mapping does not: the job faults */
	out = npu_syncobj_import(self->fd, file);
	ret = npu_fence_end(self->fd, out);
	EXPECT_EQ(-EFAULT, ret);
	close(file);
	EXPECT_EQ(1, npu_alive(self->fd));
	close(blocker);
}

/* Destroying a queue: what has not begun ends with ESRCH, what runs finishes. */
TEST_F(device, queue_destroy_busy)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), i;
	uint32_t out[4], running = npu_syncobj(self->fd, 0);
	struct npu_stream s;
	struct npu_buf buf;

	NPU_NEED_VDEV();
	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 4096, NPU_BASE));
	memset(buf.map, 0, 4096);
	npu_stream_empty(&s);
	NPU_VDEV("slow ring=0 ms=400");
	ASSERT_EQ(0, npu_submit(self->fd, queue, &s, NPU_BASE, running));
	npu_sleep_ms(30);
	for (i = 0; i < 4; i++) {
		out[i] = npu_syncobj(self->fd, 0);
		ASSERT_EQ(0, npu_submit(self->fd, queue, &s, NPU_BASE + 512, out[i]));
	}
	EXPECT_EQ(0, npu_queue_destroy(self->fd, queue));
	EXPECT_EQ(-ENOENT, npu_submit(self->fd, queue, &s, 0, 0));
	EXPECT_EQ(1, npu_fence_end(self->fd, running));
	EXPECT_EQ(NPU_STATUS_OK, *(uint32_t *)buf.map);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(-ESRCH, npu_fence_end(self->fd, out[i]));
	}
	EXPECT_EQ(NPU_STATUS_PENDING, *(uint32_t *)(buf.map + 512));
	EXPECT_EQ(1, npu_alive(self->fd));
}

/* Queues go while the scheduler is about to take the next of their jobs. */
TEST_F(device, queue_destroy_storm)
{
	struct drm_npu_job jobs[8];
	int64_t deadline = npu_in_ms(3000);
	struct npu_request r;
	struct npu_stream s;
	unsigned int i, n;

	npu_stream_empty(&s);
	for (n = 0; n < 400 && npu_now() < deadline; n++) {
		int fd = n % 4 ? self->fd : npu_open();
		int queue = npu_queue(fd, n % NPU_RING_COUNT);

		ASSERT_LT(0, queue);
		npu_request_init(&r, queue, &s, 0);
		for (i = 0; i < ARRAY_SIZE(jobs); i++)
			jobs[i] = r.job;
		r.arg.jobs = npu_ptr(jobs);
		r.arg.job_count = ARRAY_SIZE(jobs);
		EXPECT_EQ(0, npu_request_submit(fd, &r));
		/* before the first, between two of them, behind the last */
		usleep(n % 16 * 100);
		if (fd == self->fd) {
			EXPECT_EQ(0, npu_queue_destroy(fd, queue));
		} else {
			close(fd);
		}
	}
	TH_LOG("%u queues", n);
	for (i = 0; i < NPU_RING_COUNT; i++) {
		EXPECT_EQ(1, npu_run(self->fd, npu_queue(self->fd, i), &s, 0));
	}
}

/* A fence of somebody else that never comes blocks neither close nor destroy. */
TEST_F(device, close_foreign)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), file, ret;
	uint32_t out = npu_syncobj(self->fd, 0);
	struct npu_request r;
	struct npu_stream s;
	struct pollfd pfd;
	struct npu_vgem v;
	int64_t start;

	ret = npu_vgem_init(&v);
	if (ret == -ENODEV)
		SKIP(return, "no vgem");
	ASSERT_EQ(0, ret);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	npu_request_in(&r, npu_vgem_syncobj(&v, self->fd), 0);
	npu_request_out(&r, out, 0);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	file = npu_sync_file(self->fd, out);
	ASSERT_LE(0, file);
	start = npu_now();
	EXPECT_EQ(0, npu_queue_destroy(self->fd, queue));
	r.arg.queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	EXPECT_EQ(0, npu_request_submit(self->fd, &r));
	close(self->fd);
	EXPECT_GT(1500, (npu_now() - start) / 1000000);
	self->fd = npu_open();
	EXPECT_EQ(1, npu_alive(self->fd));
	/* its fence keeps to the order of the fences before it */
	ASSERT_EQ(0, npu_vgem_signal(&v));
	pfd = (struct pollfd){ .fd = file, .events = POLLIN };
	EXPECT_EQ(1, poll(&pfd, 1, NPU_LONG_MS));
	EXPECT_EQ(-ESRCH, npu_sync_file_status(file));
	close(file);
	npu_vgem_fini(&v);
}

/* A program that is killed in the middle of a job leaves nothing behind. */
TEST_F(device, kill_busy)
{
	unsigned int round;

	for (round = 0; round < 2; round++) {
		int pipes[2], status;
		char ready;
		pid_t pid;

		ASSERT_EQ(0, pipe(pipes));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			struct npu_buf buf;

			ready = busy_file(&buf, 50) >= 0;
			if (write(pipes[1], &ready, 1) != 1)
				_exit(1);
			/* in the second round: within a wait */
			while (round)
				npu_bo_wait(self->fd, 1, 0, INT64_MAX);
			pause();
		}
		ASSERT_EQ(1, read(pipes[0], &ready, 1));
		EXPECT_EQ(1, ready);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		close(pipes[0]);
		close(pipes[1]);
		EXPECT_EQ(1, npu_device_works());
	}
}

/* Case C37: descriptors and syncobjs are all given back. */
static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

TEST_F(device, leak_fds)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), i;
	unsigned int before = open_files();
	uint32_t first = npu_syncobj(self->fd, 0);
	struct npu_stream s;

	npu_syncobj_destroy(self->fd, first);
	npu_stream_empty(&s);
	for (i = 0; i < 300; i++) {
		uint32_t out = npu_syncobj(self->fd, 0);
		int ret = npu_submit(self->fd, i % 2 ? queue : 999, &s, 0, out);
		int file = npu_sync_file(self->fd, out);

		EXPECT_EQ(i % 2 ? 0 : -ENOENT, ret);
		EXPECT_EQ(i % 2 ? 0 : -EINVAL, file < 0 ? file : 0);
		npu_wait_until(self->fd, out, 0, 0);
		if (file >= 0)
			close(file);
		EXPECT_EQ(0, npu_syncobj_destroy(self->fd, out));
	}
	EXPECT_EQ(before, open_files());
	EXPECT_EQ(first, npu_syncobj(self->fd, 0));
}

TEST_HARNESS_MAIN
