// SPDX-License-Identifier: GPL-2.0-only
/* Explicit synchronisation: syncobjs in and out, timelines, sync files. */
#include "npu_foreign.h"
#include "npu_vdev.h"

NPU_FIXTURE(device)

/* A chain over all rings by binary syncobjs: each copies what the one before wrote. */
TEST_F(device, syncobj_in_out)
{
	static const uint32_t rings[] = {
		NPU_RING_FETCH_MAIN, NPU_RING_FETCH_SUB, NPU_RING_FETCH_MAIN, NPU_RING_FETCH_SUB,
	};
	uint32_t sync[5];
	struct npu_request r;
	struct npu_stream s;
	struct npu_buf buf;
	unsigned int i;
	int blocker;

	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 4096, NPU_BASE));
	memset(buf.map, 0x3c, 32);
	blocker = npu_block(NPU_RING_FETCH_MAIN, 300);
	ASSERT_LE(0, blocker);
	sync[0] = npu_syncobj(self->fd, DRM_SYNCOBJ_CREATE_SIGNALED);
	for (i = 0; i < 4; i++) {
		sync[i + 1] = npu_syncobj(self->fd, 0);
		npu_stream_init(&s);
		npu_stream_copy(&s, NPU_BASE + i * 512, NPU_BASE + (i + 1) * 512, 32);
		npu_request_init(&r, npu_queue(self->fd, rings[i]), &s, 0);
		npu_request_in(&r, sync[i], 0);
		npu_request_out(&r, sync[i + 1], 0);
		ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	}
	EXPECT_EQ(0, npu_fence_status(self->fd, sync[4]));
	EXPECT_EQ(1, npu_fence_end(self->fd, sync[4]));
	EXPECT_EQ(0, memcmp(buf.map, buf.map + 2048, 32));
	close(blocker);
}

/* One call signals several syncobjs, and waits for several. */
TEST_F(device, syncobj_many)
{
	unsigned int max = npu_param(self->fd, DRM_NPU_PARAM_MAX_SYNCS), i;
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct drm_npu_sync *in = calloc(max, sizeof(*in)), *out = calloc(max, sizeof(*out));
	struct npu_request r;
	struct npu_stream s;

	ASSERT_LT(0, queue);
	ASSERT_GE(4096, max);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	for (i = 0; i < max; i++) {
		in[i].handle = npu_syncobj(self->fd, DRM_SYNCOBJ_CREATE_SIGNALED);
		out[i].handle = npu_syncobj(self->fd, 0);
		out[i].flags = i % 2 ? DRM_NPU_SYNC_TIMELINE : 0;
		out[i].point = i % 2 ? i : 0;
	}
	r.arg.in_syncs = npu_ptr(in);
	r.arg.out_syncs = npu_ptr(out);
	r.arg.in_sync_count = r.arg.out_sync_count = max;
	r.arg.sync_stride = sizeof(*in);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	for (i = 0; i < max; i++) {
		EXPECT_EQ(0, npu_wait(self->fd, out[i].handle, out[i].point));
	}
	free(in);
	free(out);
}

static uint64_t timeline_value(int fd, uint32_t handle)
{
	uint64_t point = NPU_POISON64;
	struct drm_syncobj_timeline_array arg = {
		.handles = npu_ptr(&handle),
		.points = npu_ptr(&point),
		.count_handles = 1,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_QUERY, &arg) ? ~0ull : point;
}

TEST_F(device, timeline)
{
	int main_queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	int sub_queue = npu_queue(self->fd, NPU_RING_FETCH_SUB), blocker;
	uint32_t line = npu_syncobj(self->fd, 0);
	struct npu_request r;
	struct npu_stream s;

	ASSERT_LT(0, main_queue);
	ASSERT_LT(0, sub_queue);
	EXPECT_EQ(0, timeline_value(self->fd, line));
	npu_stream_empty(&s);
	blocker = npu_block(NPU_RING_FETCH_MAIN, 300);
	ASSERT_LE(0, blocker);
	npu_request_init(&r, main_queue, &s, 0);
	npu_request_out(&r, line, 10);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	/* on the other ring, after point 10 */
	npu_request_init(&r, sub_queue, &s, 0);
	npu_request_in(&r, line, 10);
	npu_request_out(&r, line, 20);
	r.arg.in_syncs = npu_ptr(&r.in);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	EXPECT_EQ(0, timeline_value(self->fd, line));
	EXPECT_EQ(-ETIME, npu_wait_until(self->fd, line, 10, 0));
	EXPECT_EQ(-ETIME, npu_wait_until(self->fd, line, 20, npu_in_ms(5)));
	/* a point in between is the next one's */
	EXPECT_EQ(0, npu_wait(self->fd, line, 5));
	EXPECT_LE(10, timeline_value(self->fd, line));
	EXPECT_EQ(0, npu_wait(self->fd, line, 20));
	EXPECT_EQ(20, timeline_value(self->fd, line));
	EXPECT_EQ(0, npu_wait_until(self->fd, line, 20, 0));
	/* nothing was promised for point 21 */
	EXPECT_EQ(-EINVAL, npu_wait_until(self->fd, line, 21, npu_in_ms(5)));
	npu_request_in(&r, line, 21);
	r.arg.out_sync_count = 0;
	EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
	close(blocker);
}

/* Each wrong syncobj at each place among good ones: nothing is signalled or leaked. */
TEST_F(device, sync_bad)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	uint32_t signalled = npu_syncobj(self->fd, DRM_SYNCOBJ_CREATE_SIGNALED);
	uint32_t empty = npu_syncobj(self->fd, 0);
	struct drm_npu_sync in[4], out[4];
	const struct {
		struct drm_npu_sync sync;
		int in, out;
	} bad[] = {
		{ { 0, 0, 0 }, -ENOENT, -ENOENT },
		{ { 9999, 0, 0 }, -ENOENT, -ENOENT },
		{ { ~0u, 0, 0 }, -ENOENT, -ENOENT },
		{ { ~0u, DRM_NPU_SYNC_TIMELINE, 1 }, -ENOENT, -ENOENT },
		{ { signalled, 2, 0 }, -EINVAL, -EINVAL },
		{ { signalled, 1u << 31, 0 }, -EINVAL, -EINVAL },
		{ { signalled, 0, 1 }, -EINVAL, -EINVAL },
		{ { signalled, DRM_NPU_SYNC_TIMELINE, 0 }, -EINVAL, -EINVAL },
		{ { empty, 0, 0 }, -EINVAL, 0 },
		{ { empty, DRM_NPU_SYNC_TIMELINE, 1 }, -EINVAL, 0 },
	};
	struct npu_request r;
	struct npu_stream s;
	unsigned int i, at;

	ASSERT_LT(0, queue);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	r.arg.in_syncs = npu_ptr(in);
	r.arg.out_syncs = npu_ptr(out);
	r.arg.sync_stride = sizeof(in[0]);
	r.arg.in_sync_count = r.arg.out_sync_count = 4;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (at = 0; at < 8; at++) {
			int expected = at < 4 ? bad[i].in : bad[i].out;
			unsigned int j;

			if (!expected)
				continue;
			for (j = 0; j < 4; j++) {
				in[j] = (struct drm_npu_sync){ .handle = signalled };
				out[j] = (struct drm_npu_sync){ .handle = empty };
			}
			*(at < 4 ? &in[at] : &out[at - 4]) = bad[i].sync;
			EXPECT_EQ(expected, npu_request_submit(self->fd, &r))
				TH_LOG("case %u at %u", i, at);
		}
	}
	EXPECT_EQ(NPU_NO_FENCE, npu_fence_status(self->fd, empty));
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
}

/* A fence as a file: pollable, usable by another file, and it outlives its own. */
TEST_F(device, sync_file)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	uint32_t out = npu_syncobj(self->fd, 0);
	int file, other = npu_open(), blocker;
	struct npu_request r;
	struct npu_stream s;
	struct pollfd pfd;

	ASSERT_LE(0, other);
	ASSERT_LT(0, queue);
	npu_stream_empty(&s);
	blocker = npu_block(NPU_RING_FETCH_MAIN, 300);
	ASSERT_LE(0, blocker);
	ASSERT_EQ(0, npu_submit(self->fd, queue, &s, 0, out));
	file = npu_sync_file(self->fd, out);
	ASSERT_LE(0, file);
	pfd = (struct pollfd){ .fd = file, .events = POLLIN };
	EXPECT_EQ(0, poll(&pfd, 1, 0));

	npu_request_init(&r, npu_queue(other, NPU_RING_PREPROCESS), &s, 0);
	npu_request_in(&r, npu_syncobj_import(other, file), 0);
	npu_request_out(&r, npu_syncobj(other, 0), 0);
	ASSERT_EQ(0, npu_request_submit(other, &r));
	EXPECT_EQ(0, npu_fence_status(other, r.out.handle));

	EXPECT_EQ(1, poll(&pfd, 1, NPU_LONG_MS));
	EXPECT_EQ(1, npu_sync_file_status(file));
	EXPECT_EQ(1, npu_fence_end(other, r.out.handle));
	close(blocker);
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(1, npu_sync_file_status(file));
	close(file);
	close(other);
}

/* A foreign fence holds a job back, and its error does not become the job's. */
TEST_F(device, sync_foreign)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), ret;
	uint32_t out = npu_syncobj(self->fd, 0);
	struct npu_request r;
	struct npu_stream s;
	struct npu_vgem v;

	ret = npu_vgem_init(&v);
	if (ret == -ENODEV)
		SKIP(return, "no vgem");
	ASSERT_EQ(0, ret);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	npu_request_in(&r, npu_vgem_syncobj(&v, self->fd), 0);
	npu_request_out(&r, out, 0);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	EXPECT_EQ(-ETIME, npu_wait_until(self->fd, out, 0, npu_in_ms(50)));
	/* other queues go on */
	EXPECT_EQ(1, npu_alive(self->fd));
	ASSERT_EQ(0, npu_vgem_signal(&v));
	EXPECT_EQ(1, npu_fence_end(self->fd, out));
	npu_vgem_fini(&v);
}

static void on_signal(int sig)
{
}

struct interrupter {
	pthread_t target;
	unsigned int after_ms;
};

static void *interrupt(void *arg)
{
	struct interrupter *i = arg;

	npu_sleep_ms(i->after_ms);
	pthread_kill(i->target, SIGUSR1);
	return NULL;
}

/* A wait that is interrupted says so, or goes on by itself with the same deadline. */
TEST_F(device, signal_interrupt)
{
	struct drm_npu_bo_wait wait, before;
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), blocker, ret;
	struct interrupter it = { .target = pthread_self(), .after_ms = 50 };
	struct sigaction sa = { .sa_handler = on_signal };
	struct npu_request r;
	struct npu_stream s;
	pthread_t thread;
	uint32_t bo;
	int64_t start;

	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &bo));
	npu_stream_empty(&s);
	blocker = npu_block(NPU_RING_FETCH_MAIN, 700);
	ASSERT_LE(0, blocker);
	npu_request_init(&r, queue, &s, 0);
	npu_request_bo(&r, bo, DRM_NPU_SUBMIT_BO_WRITE);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	wait = (struct drm_npu_bo_wait){ .handle = bo, .timeout_ns = npu_in_ms(NPU_LONG_MS) };
	before = wait;
	ASSERT_EQ(0, pthread_create(&thread, NULL, interrupt, &it));
	ret = npu_ioctl(self->fd, DRM_IOCTL_NPU_BO_WAIT, &wait);
	EXPECT_EQ(-EINTR, ret);
	EXPECT_EQ(0, memcmp(&before, &wait, sizeof(wait)));
	pthread_join(thread, NULL);
	/* with the same arguments again */
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_BO_WAIT, &wait));

	/* SA_RESTART: the kernel does that, and the deadline stays */
	sa.sa_flags = SA_RESTART;
	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	close(blocker);
	blocker = npu_block(NPU_RING_FETCH_MAIN, 1000);
	ASSERT_LE(0, blocker);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	start = npu_now();
	wait.timeout_ns = start + 200 * 1000000ll;
	ASSERT_EQ(0, pthread_create(&thread, NULL, interrupt, &it));
	EXPECT_EQ(-ETIMEDOUT, npu_ioctl(self->fd, DRM_IOCTL_NPU_BO_WAIT, &wait));
	EXPECT_LE(200 * 1000000ll, npu_now() - start);
	EXPECT_GT(900 * 1000000ll, npu_now() - start);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, 0, npu_in_ms(NPU_LONG_MS)));
	close(blocker);
}

/* Signals at random moments: every SUBMIT happens once or not at all. */
static volatile bool storm_stop;

static void *storm(void *arg)
{
	pthread_t target = *(pthread_t *)arg;

	while (!storm_stop) {
		pthread_kill(target, SIGUSR1);
		usleep(200);
	}
	return NULL;
}

TEST_F(device, signal_storm)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct sigaction sa = { .sa_handler = on_signal };
	unsigned int n, done = 0, interrupted = 0;
	pthread_t thread, me = pthread_self();
	struct npu_request r;
	struct npu_stream s;
	struct npu_buf buf;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 200 * 128, NPU_BASE));
	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	npu_stream_empty(&s);
	ASSERT_EQ(0, pthread_create(&thread, NULL, storm, &me));
	for (n = 0; n < 200; n++) {
		int ret;

		npu_request_init(&r, queue, &s, NPU_BASE + n * 128);
		npu_request_bo(&r, buf.handle, DRM_NPU_SUBMIT_BO_WRITE);
		ret = npu_request_submit(self->fd, &r);
		if (!ret) {
			done++;
			continue;
		}
		EXPECT_TRUE(ret == -EINTR || ret == -EAGAIN) TH_LOG("SUBMIT: %d", ret);
		interrupted++;
	}
	storm_stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, npu_bo_wait(self->fd, buf.handle, 0, npu_in_ms(NPU_LONG_MS)));
	for (n = 0; n < 200; n++)
		done -= ((struct npu_result *)buf.map)[n].status == NPU_STATUS_OK;
	EXPECT_EQ(0, done) TH_LOG("%u were interrupted", interrupted);
}

TEST_HARNESS_MAIN
