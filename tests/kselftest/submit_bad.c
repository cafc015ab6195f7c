// SPDX-License-Identifier: GPL-2.0-only
/* SUBMIT and queues with everything that can be wrong: all or nothing. */
#include "npu_vdev.h"

NPU_FIXTURE(device)

static const uint32_t huge_counts[] = { 65536, 0x7fffffff, 0x80000000, 0xffffffff };

TEST_F(device, submit_badptr)
{
	static const uint64_t bad[] = {
		0, 8, 0xdead0000, 1ull << 47, 1ull << 63, ~0ull - 4095, ~0ull - 7, ~0ull,
	};
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	uint32_t out = npu_syncobj(self->fd, 0);
	struct npu_request r, good;
	struct npu_stream s;
	unsigned int i;
	uint32_t bo;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &bo));
	npu_stream_empty(&s);
	npu_request_init(&good, queue, &s, 0);
	npu_request_bo(&good, bo, DRM_NPU_SUBMIT_BO_READ);
	npu_request_in(&good, npu_syncobj(self->fd, DRM_SYNCOBJ_CREATE_SIGNALED), 0);
	npu_request_out(&good, out, 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		r = good;
		r.arg.jobs = bad[i];
		EXPECT_EQ(-EFAULT, npu_request_submit(self->fd, &r));
		r = good;
		r.arg.jobs = npu_ptr(&r.job);
		r.job.stream = bad[i];
		EXPECT_EQ(-EFAULT, npu_request_submit(self->fd, &r));
		r = good;
		r.arg.bos = bad[i];
		EXPECT_EQ(-EFAULT, npu_request_submit(self->fd, &r));
		r = good;
		r.arg.in_syncs = bad[i];
		EXPECT_EQ(-EFAULT, npu_request_submit(self->fd, &r));
		r = good;
		r.arg.out_syncs = bad[i];
		EXPECT_EQ(-EFAULT, npu_request_submit(self->fd, &r));
	}
	/* none of these has touched the syncobj or the BO */
	EXPECT_EQ(NPU_NO_FENCE, npu_fence_status(self->fd, out));
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, 0, 0));
	EXPECT_EQ(0, npu_request_submit(self->fd, &good));
	EXPECT_EQ(1, npu_fence_end(self->fd, out));
}

/* A stream whose second page is not there. */
TEST_F(device, submit_half_stream)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct npu_request r;
	struct npu_stream s;
	uint8_t *page;

	ASSERT_LT(0, queue);
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page + 4096, 4096));
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	memcpy(page + 4096 - s.size, s.words, s.size);
	r.job.stream = npu_ptr(page + 4096 - s.size);
	EXPECT_EQ(0, npu_request_submit(self->fd, &r));
	r.job.size += 8;
	EXPECT_EQ(-EFAULT, npu_request_submit(self->fd, &r));
	munmap(page, 4096);
}

TEST_F(device, submit_sizes)
{
	uint32_t max = npu_param(self->fd, DRM_NPU_PARAM_MAX_STREAM);
	uint32_t bad[] = {
		0, 1, 8, 12, 15, 17, 20, 23, max + 8, max + 1, 0x7ffffff8, 0x80000000, 0xfffffff8,
		0xffffffff,
	};
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct npu_stream_header *big = calloc(1, max + 8);
	struct npu_request r;
	struct npu_stream s;
	unsigned int i;

	ASSERT_LT(0, queue);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		r.job.size = bad[i];
		EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r)) TH_LOG("size %#x", bad[i]);
	}
	r.job.size = s.size;
	r.job.flags = 1;
	EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
	r.job.flags = 0;
	r.job.record = NPU_BASE + 4;
	EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));

	/* the longest stream, all of it commands */
	big->magic = NPU_STREAM_MAGIC;
	big->major = NPU_ISA_MAJOR;
	big->size = max;
	big->count = (max - sizeof(*big)) / 8;
	for (i = 0; i < big->count; i++)
		((struct npu_cmd *)(big + 1))[i] = (struct npu_cmd){ NPU_OP_NOP, 8 };
	npu_request_init(&r, queue, &s, 0);
	r.job.stream = npu_ptr(big);
	r.job.size = max;
	npu_request_out(&r, npu_syncobj(self->fd, 0), 0);
	EXPECT_EQ(0, npu_request_submit(self->fd, &r));
	EXPECT_EQ(1, npu_fence_end(self->fd, r.out.handle));
	free(big);
}

TEST_F(device, submit_counts)
{
	uint32_t max_bos = npu_param(self->fd, DRM_NPU_PARAM_MAX_BOS);
	uint32_t max_syncs = npu_param(self->fd, DRM_NPU_PARAM_MAX_SYNCS);
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct npu_request r;
	struct npu_stream s;
	unsigned int i;

	ASSERT_LT(0, queue);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	r.arg.job_count = 0;
	EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
	r.arg.job_stride = 0;
	EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
	for (i = 0; i < ARRAY_SIZE(huge_counts); i++) {
		npu_request_init(&r, queue, &s, 0);
		r.arg.job_count = huge_counts[i];
		EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
		npu_request_init(&r, queue, &s, 0);
		npu_request_bo(&r, 1, DRM_NPU_SUBMIT_BO_READ);
		r.arg.bo_count = i ? huge_counts[i] : max_bos + 1;
		EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
		npu_request_init(&r, queue, &s, 0);
		npu_request_in(&r, 1, 0);
		r.arg.in_sync_count = i ? huge_counts[i] : max_syncs + 1;
		EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
		npu_request_init(&r, queue, &s, 0);
		npu_request_out(&r, 1, 0);
		r.arg.out_sync_count = i ? huge_counts[i] : max_syncs + 1;
		EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
	}
}

TEST_F(device, submit_bad_stride)
{
	static const uint32_t strides[] = {
		1, 4, 7, 12, 20, 23, 25, 28, 0x7ffffff8, 0x80000000, 0xfffffff8, 0xffffffff,
	};
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct npu_request r;
	struct npu_stream s;
	unsigned int i;

	ASSERT_LT(0, queue);
	npu_stream_empty(&s);
	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		npu_request_init(&r, queue, &s, 0);
		r.arg.job_stride = strides[i];
		EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
		npu_request_init(&r, queue, &s, 0);
		npu_request_bo(&r, 1, DRM_NPU_SUBMIT_BO_READ);
		r.arg.bo_stride = strides[i];
		EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
		npu_request_init(&r, queue, &s, 0);
		npu_request_in(&r, 1, 0);
		r.arg.sync_stride = strides[i];
		EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
	}
	/* strides of what there is none of */
	npu_request_init(&r, queue, &s, 0);
	r.arg.bo_stride = 8;
	EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
	npu_request_init(&r, queue, &s, 0);
	r.arg.sync_stride = 16;
	EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
}

TEST_F(device, submit_bad_bo)
{
	static const uint32_t bad_flags[] = { 0, 4, 5, 0x80000001, 0xffffffff };
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct npu_request r;
	struct npu_stream s;
	unsigned int i;
	uint32_t bo;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &bo));
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	for (i = 0; i < ARRAY_SIZE(bad_flags); i++) {
		npu_request_bo(&r, bo, bad_flags[i]);
		EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
	}
	npu_request_bo(&r, 0, DRM_NPU_SUBMIT_BO_READ);
	EXPECT_EQ(-ENOENT, npu_request_submit(self->fd, &r));
	npu_request_bo(&r, bo + 1, DRM_NPU_SUBMIT_BO_READ);
	EXPECT_EQ(-ENOENT, npu_request_submit(self->fd, &r));
	npu_request_bo(&r, ~0u, DRM_NPU_SUBMIT_BO_READ);
	EXPECT_EQ(-ENOENT, npu_request_submit(self->fd, &r));
	npu_request_bo(&r, bo, DRM_NPU_SUBMIT_BO_READ);
	EXPECT_EQ(0, npu_request_submit(self->fd, &r));
}

/* One bad job in the middle: none runs, nothing is signalled. */
TEST_F(device, submit_all_or_none)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	uint32_t out = npu_syncobj(self->fd, 0);
	struct drm_npu_job jobs[5];
	struct npu_request r;
	struct npu_stream s;
	struct npu_buf buf;
	unsigned int i;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 4096, NPU_BASE));
	memset(buf.map, NPU_POISON, 4096);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, NPU_BASE);
	npu_request_out(&r, out, 0);
	for (i = 0; i < 5; i++) {
		jobs[i] = r.job;
		jobs[i].record = NPU_BASE + 128 * i;
	}
	r.arg.jobs = npu_ptr(jobs);
	r.arg.job_count = 5;
	for (i = 0; i < 5; i++) {
		struct drm_npu_job good = jobs[i];

		jobs[i].flags = 1;
		EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
		jobs[i] = good;
		jobs[i].stream = 0;
		EXPECT_EQ(-EFAULT, npu_request_submit(self->fd, &r));
		jobs[i] = good;
	}
	EXPECT_EQ(NPU_NO_FENCE, npu_fence_status(self->fd, out));
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	EXPECT_EQ(NPU_POISON32, *(uint32_t *)buf.map);
	EXPECT_EQ(0, npu_request_submit(self->fd, &r));
	EXPECT_EQ(1, npu_fence_end(self->fd, out));
	EXPECT_EQ(NPU_STATUS_OK, *(uint32_t *)(buf.map + 4 * 128));
}

TEST_F(device, queue_bad)
{
	static const uint32_t bad[] = { 0, 1000, 0x7fffffff, 0x80000000, 0xffffffff };
	struct drm_npu_queue_get_state state, before;
	struct npu_stream s;
	unsigned int i;

	npu_stream_empty(&s);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-ENOENT, npu_queue_destroy(self->fd, bad[i]));
		memset(&before, NPU_POISON, sizeof(before));
		before.queue = bad[i];
		EXPECT_EQ(-ENOENT, npu_queue_state(self->fd, bad[i], &state));
		EXPECT_EQ(0, memcmp(&before, &state, sizeof(state)));
		EXPECT_EQ(-ENOENT, npu_submit(self->fd, bad[i], &s, 0, 0));
	}
}

/* Limits are published, and what was given back can be had again. */
TEST_F(device, quota_queues)
{
	unsigned int max = npu_param(self->fd, DRM_NPU_PARAM_MAX_QUEUES), i, round;
	struct drm_npu_queue_create arg = { .queue = NPU_POISON32 };
	int queue[1024];

	ASSERT_GE(1024, max);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < max; i++) {
			queue[i] = npu_queue(self->fd, i % NPU_RING_COUNT);
			ASSERT_LT(0, queue[i]);
		}
		EXPECT_EQ(-ENOSPC, npu_ioctl(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &arg));
		EXPECT_EQ(NPU_POISON32, arg.queue);
		for (i = 0; i < max; i++) {
			EXPECT_EQ(0, npu_queue_destroy(self->fd, queue[i]));
		}
	}
}

TEST_F(device, quota_in_flight)
{
	unsigned int max = npu_param(self->fd, DRM_NPU_PARAM_MAX_IN_FLIGHT), n, i;
	unsigned int most = npu_param(self->fd, DRM_NPU_PARAM_MAX_JOBS);
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	uint32_t out = npu_syncobj(self->fd, 0), untouched = npu_syncobj(self->fd, 0);
	int other = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct drm_npu_job *jobs = calloc(most, sizeof(*jobs));
	struct npu_request r;
	struct npu_stream s;
	int blocker;

	ASSERT_LT(0, queue);
	ASSERT_GE(4096, max);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	npu_request_out(&r, out, 0);
	for (i = 0; i < most; i++)
		jobs[i] = r.job;
	r.arg.jobs = npu_ptr(jobs);
	blocker = npu_block(NPU_RING_FETCH_MAIN, 1500);
	ASSERT_LE(0, blocker);
	/* too many at once are refused as a whole */
	for (n = 0; n < max - 1; n += r.arg.job_count) {
		r.arg.job_count = max - 1 - n < most ? max - 1 - n : most;
		ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	}
	r.arg.job_count = 2;
	EXPECT_EQ(-EAGAIN, npu_request_submit(self->fd, &r));
	EXPECT_EQ(0, npu_submit(self->fd, queue, &s, 0, out));
	EXPECT_EQ(-EAGAIN, npu_submit(self->fd, queue, &s, 0, untouched));
	EXPECT_EQ(NPU_NO_FENCE, npu_fence_status(self->fd, untouched));
	/* a full queue is nobody else's business */
	EXPECT_EQ(0, npu_submit(self->fd, other, &s, 0, 0));
	EXPECT_EQ(1, npu_fence_end(self->fd, out));
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	close(blocker);
	free(jobs);
}

TEST_HARNESS_MAIN
