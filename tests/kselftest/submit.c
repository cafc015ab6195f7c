// SPDX-License-Identifier: GPL-2.0-only
/* Jobs that are right: what they compute, and what their records say. */
#include "npu_vdev.h"

NPU_FIXTURE(device)

/* The record comes with the fence, in full. */
static void check_record(struct __test_metadata *_metadata, const struct npu_result *r)
{
	unsigned int i;

	EXPECT_EQ(NPU_STATUS_OK, r->status);
	EXPECT_EQ(0, r->rule);
	EXPECT_EQ(0, r->command);
	EXPECT_EQ(0, r->pad);
	EXPECT_EQ(0, r->fault_address);
	EXPECT_LE(r->clock_start, r->clock_end);
	for (i = 0; i < ARRAY_SIZE(r->reserved); i++) {
		EXPECT_EQ(0, r->reserved[i]);
	}
}

TEST_F(device, submit_basic)
{
	unsigned int ring;
	struct npu_stream s;

	npu_stream_empty(&s);
	for (ring = 0; ring < NPU_RING_COUNT; ring++) {
		int queue = npu_queue(self->fd, ring);
		struct npu_result *r;
		struct npu_buf buf;

		ASSERT_LT(0, queue);
		ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 4096, NPU_BASE));
		memset(buf.map, NPU_POISON, 4096);
		EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
		EXPECT_EQ(1, npu_run(self->fd, queue, &s, NPU_BASE + 256));
		r = buf.map + 256;
		check_record(_metadata, r);
		EXPECT_EQ(0, r->cycles);
		EXPECT_EQ(0, r->elements_in);
		EXPECT_EQ(NPU_NO_BLOCK, r->first_nonfinite_block);
		/* and not a byte beside it */
		EXPECT_EQ(NPU_POISON, ((uint8_t *)buf.map)[255]);
		EXPECT_EQ(NPU_POISON, ((uint8_t *)buf.map)[256 + 128]);
		EXPECT_EQ(0, npu_buf_fini(self->fd, &buf));
		EXPECT_EQ(0, npu_queue_destroy(self->fd, queue));
		EXPECT_EQ(-ENOENT, npu_queue_destroy(self->fd, queue));
	}
}

TEST_F(device, golden_fetch)
{
	static const int8_t src[16] = { -128, 127, -1, 0, 1, -127, 126, 64, -64 };
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	const struct npu_result *r;
	struct npu_stream s;
	struct npu_buf buf;
	int32_t *out;
	unsigned int i;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	memset(buf.map, NPU_POISON, 8192);
	memcpy(buf.map, src, sizeof(src));
	npu_stream_init(&s);
	npu_stream_widen(&s, NPU_BASE, NPU_BASE + 1024, 16);
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, NPU_BASE + 4096));
	out = buf.map + 1024;
	for (i = 0; i < 16; i++) {
		EXPECT_EQ(src[i], out[i]);
	}
	EXPECT_EQ((int)NPU_POISON32, out[16]);
	r = buf.map + 4096;
	check_record(_metadata, r);
	EXPECT_EQ(16, r->elements_in);
	EXPECT_EQ(16, r->elements_out);
	EXPECT_EQ(3, r->cycles);	/* two reads and the integer cast's latency */
}

/* Case C11: 1 -.5 .25 -0 -1 .75 0 .125 as int8 and as 27 bits. */
TEST_F(device, golden_preprocess)
{
	static const uint16_t block[8] = {
		0x3f80, 0xbf00, 0x3e80, 0x8000, 0xbf80, 0x3f40, 0x0000, 0x3e00
	};
	static const int8_t int8[8] = { 64, -32, 16, 0, -64, 48, 0, 8 };
	static const int32_t fixed[8] = {
		0x80000, -0x40000, 0x20000, 0, -0x80000, 0x60000, 0, 0x10000
	};
	int queue = npu_queue(self->fd, NPU_RING_PREPROCESS);
	struct npu_cmd_preprocess *cmd;
	const struct npu_result *r;
	struct npu_stream s;
	struct npu_buf buf;
	unsigned int i;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	for (i = 0; i < 32; i++)
		((uint16_t *)buf.map)[i] = block[i % 8];
	npu_stream_init(&s);
	cmd = npu_stream_quantise(&s, NPU_BASE, NPU_BASE + 1024, 32);
	cmd->cmd.flags = NPU_PREPROCESS_EMAX;
	cmd->emax = NPU_BASE + 1536;
	cmd = npu_stream_quantise(&s, NPU_BASE, NPU_BASE + 2048, 32);
	cmd->mode = NPU_PP_MODE_FIXED27;
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, NPU_BASE + 4096));
	for (i = 0; i < 32; i++) {
		EXPECT_EQ(int8[i % 8], ((int8_t *)buf.map)[1024 + i]);
		EXPECT_EQ(fixed[i % 8], ((int32_t *)(buf.map + 2048))[i]);
	}
	EXPECT_EQ(127, ((uint8_t *)buf.map)[1536]);
	r = buf.map + 4096;
	check_record(_metadata, r);
	EXPECT_EQ(64, r->elements_in);
	EXPECT_EQ(64, r->elements_out);
	EXPECT_EQ(10, r->cycles);
	EXPECT_EQ(0, r->saturated);
	EXPECT_EQ(0, r->nonfinite_blocks);
}

/* Lanes and pages have nothing to do with each other. */
TEST_F(device, submit_odd_address)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct npu_stream s;
	struct npu_buf buf;
	unsigned int i;
	uint8_t *p;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 4 * NPU_PAGE, NPU_BASE));
	p = buf.map;
	for (i = 0; i < 8192; i++)
		p[i] = i * 7 + i / 256;
	npu_stream_init(&s);
	npu_stream_copy(&s, NPU_BASE + 4001, NPU_BASE + 8195, 4192 - 96);
	/* the record straddles a page, too */
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, NPU_BASE + 4096 - 8));
	memset(p + 4088, 0, 128);
	for (i = 4001; i < 4088; i++) {
		if (p[8195 + i - 4001] != p[i])
			break;
	}
	EXPECT_EQ(4088, i);
}

/* Many jobs in one call: in order, each with a record of its own. */
TEST_F(device, submit_many_jobs)
{
	unsigned int n = npu_param(self->fd, DRM_NPU_PARAM_MAX_JOBS), i;
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct drm_npu_job *jobs = calloc(n, sizeof(*jobs));
	uint32_t out = npu_syncobj(self->fd, 0);
	const struct npu_result *r;
	struct npu_request req;
	struct npu_stream s;
	struct npu_buf buf;

	ASSERT_LT(0, queue);
	ASSERT_GE(1024, n);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, n * sizeof(*r) + 4096, NPU_BASE));
	npu_stream_empty(&s);
	npu_request_init(&req, queue, &s, 0);
	npu_request_out(&req, out, 0);
	for (i = 0; i < n; i++) {
		jobs[i] = req.job;
		jobs[i].record = NPU_BASE + i * sizeof(*r);
	}
	req.arg.jobs = npu_ptr(jobs);
	req.arg.job_count = n;
	ASSERT_EQ(0, npu_request_submit(self->fd, &req));
	EXPECT_EQ(1, npu_fence_end(self->fd, out));
	r = buf.map;
	for (i = 0; i < n; i++) {
		check_record(_metadata, &r[i]);
		if (i) {
			EXPECT_LE(r[i - 1].clock_end, r[i].clock_start);
		}
	}
	/* one more is too many */
	jobs = realloc(jobs, (n + 1) * sizeof(*jobs));
	jobs[n] = jobs[0];
	req.arg.jobs = npu_ptr(jobs);
	req.arg.job_count = n + 1;
	EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &req));
	free(jobs);
}

/* Rings run side by side: a job on one does not hold up the others. */
TEST_F(device, submit_multiqueue)
{
	uint32_t slow = npu_syncobj(self->fd, 0);
	int queue[NPU_RING_COUNT], second;
	struct npu_stream s;
	unsigned int ring;
	int blocker;

	npu_stream_empty(&s);
	for (ring = 0; ring < NPU_RING_COUNT; ring++) {
		queue[ring] = npu_queue(self->fd, ring);
		ASSERT_LT(0, queue[ring]);
	}
	second = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	blocker = npu_block(NPU_RING_FETCH_MAIN, 700);
	ASSERT_LE(0, blocker);
	ASSERT_EQ(0, npu_submit(self->fd, queue[NPU_RING_FETCH_MAIN], &s, 0, slow));
	EXPECT_EQ(1, npu_run(self->fd, queue[NPU_RING_FETCH_SUB], &s, 0));
	EXPECT_EQ(1, npu_run(self->fd, queue[NPU_RING_PREPROCESS], &s, 0));
	EXPECT_EQ(0, npu_fence_status(self->fd, slow));
	EXPECT_EQ(1, npu_fence_end(self->fd, slow));
	EXPECT_EQ(1, npu_run(self->fd, second, &s, 0));
	close(blocker);
}

/* A BO listed twice counts once, as written if either says so. */
TEST_F(device, submit_dup_bo)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), blocker;
	struct drm_npu_submit_bo list[5];
	struct npu_request r;
	struct npu_stream s;
	uint32_t a, b;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &a));
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &b));
	list[0] = (struct drm_npu_submit_bo){ a, DRM_NPU_SUBMIT_BO_READ };
	list[1] = (struct drm_npu_submit_bo){ b, DRM_NPU_SUBMIT_BO_READ };
	list[2] = (struct drm_npu_submit_bo){ a, DRM_NPU_SUBMIT_BO_WRITE };
	list[3] = list[0];
	list[4] = list[1];
	npu_stream_empty(&s);
	blocker = npu_block(NPU_RING_FETCH_MAIN, 300);
	ASSERT_LE(0, blocker);
	npu_request_init(&r, queue, &s, 0);
	npu_request_bo(&r, a, 0);
	r.arg.bos = npu_ptr(list);
	r.arg.bo_count = ARRAY_SIZE(list);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, a, DRM_NPU_BO_WAIT_WRITE, 0));
	EXPECT_EQ(0, npu_bo_wait(self->fd, b, DRM_NPU_BO_WAIT_WRITE, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, b, 0, 0));
	EXPECT_EQ(0, npu_bo_wait(self->fd, a, 0, npu_in_ms(NPU_LONG_MS)));
	EXPECT_EQ(0, npu_bo_wait(self->fd, b, 0, npu_in_ms(NPU_LONG_MS)));
	close(blocker);
}

/* Elements may be longer than the kernel knows, if the rest is 0. */
TEST_F(device, submit_stride)
{
	struct {
		struct drm_npu_job job;
		uint64_t more[3];
	} jobs[2] = { };
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct npu_request r;
	struct npu_stream s;

	ASSERT_LT(0, queue);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	jobs[0].job = r.job;
	jobs[1].job = r.job;
	r.arg.jobs = npu_ptr(jobs);
	r.arg.job_count = 2;
	r.arg.job_stride = sizeof(jobs[0]);
	EXPECT_EQ(0, npu_request_submit(self->fd, &r));
	jobs[1].more[2] = 1ull << 63;
	EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
	jobs[1].more[2] = 0;
	EXPECT_EQ(0, npu_request_submit(self->fd, &r));
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
}

TEST_HARNESS_MAIN
