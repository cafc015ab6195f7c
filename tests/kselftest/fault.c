// SPDX-License-Identifier: GPL-2.0-only
/* Jobs that fail, and devices that do: who pays, and what is told. */
#include "npu_vdev.h"

NPU_FIXTURE(device)

/* A fault says what, where and why; the queue is dead, its later jobs are cancelled. */
TEST_F(device, fault_record)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), blocker;
	struct drm_npu_queue_get_state state;
	const struct npu_result *r;
	struct npu_stream s, bad;
	struct npu_buf buf;
	uint32_t out[4];
	unsigned int i;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	memset(buf.map, 0, 8192);
	npu_stream_empty(&s);
	npu_stream_init(&bad);
	npu_stream_nop(&bad);
	npu_stream_copy(&bad, NPU_BASE, NPU_BASE + 4096, 32);
	npu_stream_copy(&bad, NPU_BASE + 8192 - 32, NPU_BASE, 64);
	npu_stream_copy(&bad, NPU_BASE, NPU_BASE + 6144, 32);
	((char *)buf.map)[0] = 7;
	blocker = npu_block(NPU_RING_FETCH_MAIN, 200);
	ASSERT_LE(0, blocker);
	for (i = 0; i < 4; i++) {
		out[i] = npu_syncobj(self->fd, 0);
		ASSERT_EQ(0, npu_submit(self->fd, queue, i == 1 ? &bad : &s,
					NPU_BASE + 1024 + i * 128, out[i]));
	}
	EXPECT_EQ(1, npu_fence_end(self->fd, out[0]));
	EXPECT_EQ(-EFAULT, npu_fence_end(self->fd, out[1]));
	EXPECT_EQ(-ECANCELED, npu_fence_end(self->fd, out[2]));
	EXPECT_EQ(-ECANCELED, npu_fence_end(self->fd, out[3]));
	EXPECT_EQ(-EIO, npu_submit(self->fd, queue, &s, 0, 0));

	ASSERT_EQ(0, npu_queue_state(self->fd, queue, &state));
	EXPECT_EQ(DRM_NPU_QUEUE_FAULTED, state.state);
	EXPECT_EQ(NPU_RULE_ADDRESS_UNMAPPED, state.rule);
	EXPECT_EQ(2, state.command);
	EXPECT_EQ(NPU_BASE + 8192, state.fault_address);
	EXPECT_EQ(1, state.job);
	/* the device's record says the same; what came before stands, what after is not done */
	r = buf.map + 1024;
	EXPECT_EQ(NPU_STATUS_OK, r[0].status);
	EXPECT_EQ(NPU_STATUS_FAULT, r[1].status);
	EXPECT_EQ(NPU_RULE_ADDRESS_UNMAPPED, r[1].rule);
	EXPECT_EQ(2, r[1].command);
	EXPECT_EQ(NPU_BASE + 8192, r[1].fault_address);
	EXPECT_EQ(NPU_STATUS_PENDING, r[2].status);
	EXPECT_EQ(7, ((char *)buf.map)[4096]);
	EXPECT_EQ(0, ((char *)buf.map)[6144]);
	/* destroy it and create another */
	EXPECT_EQ(0, npu_queue_destroy(self->fd, queue));
	EXPECT_EQ(1, npu_alive(self->fd));
	close(blocker);
}

/* A record that can't be written is a fault of its own. */
TEST_F(device, fault_bad_record)
{
	static const uint64_t bad[] = { 2 * NPU_BASE, 8, (1ull << 39) - 64, 1ull << 40, ~0ull - 7 };
	struct drm_npu_queue_get_state state;
	struct npu_stream s;
	unsigned int i;

	npu_stream_empty(&s);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);

		EXPECT_EQ(-EFAULT, npu_run(self->fd, queue, &s, bad[i]));
		ASSERT_EQ(0, npu_queue_state(self->fd, queue, &state));
		EXPECT_LE(NPU_RULE_ADDRESS_RANGE, state.rule);
		EXPECT_GE(NPU_RULE_ADDRESS_READONLY, state.rule);
		EXPECT_EQ(bad[i], state.fault_address);
		EXPECT_EQ(1, state.command);
		EXPECT_EQ(0, npu_queue_destroy(self->fd, queue));
	}
}

/* Lines of warning level or worse that name the driver, since @fd was opened. */
static int count_warnings(int fd)
{
	char line[1024];
	int count = 0;
	ssize_t n;

	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		if (n <= 0)
			continue;
		line[n] = '\0';
		if ((atoi(line) & 7) <= 4 && strstr(line, "npu"))
			count++;
	}
	return count;
}

/* What programs do wrong is their business: the log stays quiet. */
TEST_F(device, fault_quiet)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC), i;
	struct npu_request r;
	struct npu_stream s;
	uint32_t handle;

	if (log < 0)
		SKIP(return, "the kernel log may not be read");
	ASSERT_LE(0, lseek(log, 0, SEEK_END));
	for (i = 0; i < NPU_RING_COUNT; i++) {
		int queue = npu_queue(self->fd, i);

		npu_stream_init(&s);
		npu_stream_add(&s, 99, 8);
		EXPECT_EQ(-EFAULT, npu_run(self->fd, queue, &s, 0));
		npu_stream_empty(&s);
		EXPECT_EQ(-EFAULT, npu_run(self->fd, npu_queue(self->fd, i), &s, 8));
		EXPECT_EQ(-EIO, npu_submit(self->fd, queue, &s, 0, 0));
		npu_request_init(&r, queue, &s, 0);
		r.arg.job_count = 0xffffffff;
		EXPECT_EQ(-EINVAL, npu_request_submit(self->fd, &r));
	}
	EXPECT_EQ(-EINVAL, npu_bo_create(self->fd, ~0ull, &handle));
	EXPECT_EQ(-ENOENT, npu_bo_bind(self->fd, 12345, NPU_BASE, 0));
	EXPECT_EQ(0, count_warnings(log));
	close(log);
}

/* A job that never ends: within the limit its fence says ETIMEDOUT. */
TEST_F(device, timeout_guilty)
{
	uint64_t limit = npu_param(self->fd, DRM_NPU_PARAM_TIMEOUT_MS);
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	uint32_t out = npu_syncobj(self->fd, 0), later = npu_syncobj(self->fd, 0);
	struct drm_npu_queue_get_state state;
	struct npu_result *r;
	struct npu_stream s;
	struct npu_buf buf;
	int64_t start;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, NPU_ENDLESS_SIZE + 4096, NPU_BASE));
	r = buf.map + NPU_ENDLESS_SIZE;
	memset(r, 0, sizeof(*r));
	npu_stream_init(&s);
	npu_stream_nop(&s);
	npu_stream_endless(&s, NPU_BASE);
	start = npu_now();
	ASSERT_EQ(0, npu_submit(self->fd, queue, &s, NPU_BASE + NPU_ENDLESS_SIZE, out));
	npu_stream_empty(&s);
	ASSERT_EQ(0, npu_submit(self->fd, queue, &s, 0, later));
	EXPECT_EQ(-ETIMEDOUT, npu_fence_end(self->fd, out));
	EXPECT_LE(limit - 20, (npu_now() - start) / 1000000);
	EXPECT_GE(limit + 2000, (npu_now() - start) / 1000000);
	EXPECT_EQ(-ECANCELED, npu_fence_end(self->fd, later));
	EXPECT_EQ(-EIO, npu_submit(self->fd, queue, &s, 0, 0));
	ASSERT_EQ(0, npu_queue_state(self->fd, queue, &state));
	EXPECT_EQ(DRM_NPU_QUEUE_FAULTED, state.state);
	EXPECT_EQ(NPU_RULE_HANG, state.rule);
	EXPECT_EQ(0, state.job);
	/* nobody has written its record, and nobody does */
	EXPECT_EQ(NPU_STATUS_PENDING, r->status);
	EXPECT_EQ(1, npu_alive(self->fd));
	EXPECT_EQ(NPU_STATUS_PENDING, r->status);
}

/* Case C35: the others go on, on the same ring and on the other ones. */
TEST_F(device, timeout_innocent)
{
	int other = npu_open(), bad, mine, theirs, sub;
	uint32_t out, mine_out, theirs_out, sub_out;
	struct npu_stream s, endless;
	struct npu_result *r;
	struct npu_buf buf, their;
	unsigned int i;

	ASSERT_LE(0, other);
	bad = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	mine = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	sub = npu_queue(self->fd, NPU_RING_FETCH_SUB);
	theirs = npu_queue(other, NPU_RING_FETCH_MAIN);
	out = npu_syncobj(self->fd, 0);
	mine_out = npu_syncobj(self->fd, 0);
	sub_out = npu_syncobj(self->fd, 0);
	theirs_out = npu_syncobj(other, 0);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, NPU_ENDLESS_SIZE, NPU_BASE));
	ASSERT_EQ(0, npu_buf_init(other, &their, 4096, NPU_BASE));
	npu_stream_init(&endless);
	npu_stream_endless(&endless, NPU_BASE);
	npu_stream_empty(&s);
	ASSERT_EQ(0, npu_submit(self->fd, bad, &endless, 0, out));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, npu_submit(other, theirs, &s, NPU_BASE + i * 128, theirs_out));
		ASSERT_EQ(0, npu_submit(self->fd, mine, &s, 0, mine_out));
		ASSERT_EQ(0, npu_submit(self->fd, sub, &s, 0, sub_out));
	}
	/* the other ring does not wait for the hang */
	EXPECT_EQ(1, npu_fence_end(self->fd, sub_out));
	EXPECT_EQ(0, npu_fence_status(self->fd, out));
	EXPECT_EQ(-ETIMEDOUT, npu_fence_end(self->fd, out));
	EXPECT_EQ(1, npu_fence_end(self->fd, mine_out));
	EXPECT_EQ(1, npu_fence_end(other, theirs_out));
	r = their.map;
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(NPU_STATUS_OK, r[i].status);
	}
	close(other);
}

/* Interrupts that are lost or late cost time, no job. */
TEST_F(device, fault_irq)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_SUB), i;
	struct npu_stream s;

	NPU_NEED_VDEV();
	npu_stream_empty(&s);
	NPU_VDEV("delay-irq ring=1 ms=300");
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	NPU_VDEV("drop-irq ring=1");
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	/* one that tells nothing, many times, among jobs */
	NPU_VDEV("irq-storm ring=1 times=2000 us=20");
	for (i = 0; i < 50; i++) {
		EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	}
	NPU_VDEV("reset-faults");
}

/* Completion after the time limit: it comes to a job that has been given up. */
TEST_F(device, fault_late_completion)
{
	uint64_t limit = npu_param(self->fd, DRM_NPU_PARAM_TIMEOUT_MS);
	int queue = npu_queue(self->fd, NPU_RING_FETCH_SUB);
	struct npu_stream s;

	NPU_NEED_VDEV();
	npu_stream_empty(&s);
	/* the interrupt of a job that the time-out handler has found complete */
	NPU_VDEV("delay-irq ring=1 ms=%u", (unsigned int)limit + 200);
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	npu_sleep_ms(300);
	NPU_VDEV("late-completion ring=1 ms=%u", (unsigned int)limit + 500);
	EXPECT_EQ(-ETIMEDOUT, npu_run(self->fd, queue, &s, 0));
	EXPECT_EQ(-EIO, npu_submit(self->fd, queue, &s, 0, 0));
	EXPECT_EQ(1, npu_alive(self->fd));
	NPU_VDEV("reset-faults");
}

/* A completion that makes no sense is a hang, whichever field it is. */
TEST_F(device, fault_corrupt_completion)
{
	static const char *const fields[] = { "status", "rule", "command", "clock" };
	struct drm_npu_queue_get_state state;
	struct npu_stream s;
	unsigned int i;

	NPU_NEED_VDEV();
	npu_stream_empty(&s);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		int queue = npu_queue(self->fd, NPU_RING_FETCH_SUB), ret;

		NPU_VDEV("corrupt-slot ring=1 field=%s", fields[i]);
		ret = npu_run(self->fd, queue, &s, 0);
		/* the same random clock for start and end is no contradiction */
		if (!strcmp(fields[i], "clock")) {
			EXPECT_TRUE(ret == 1 || ret == -ETIMEDOUT);
			continue;
		}
		EXPECT_EQ(-ETIMEDOUT, ret) TH_LOG("%s", fields[i]);
		ASSERT_EQ(0, npu_queue_state(self->fd, queue, &state));
		EXPECT_EQ(NPU_RULE_DEVICE, state.rule);
		EXPECT_EQ(0, npu_queue_destroy(self->fd, queue));
		EXPECT_EQ(1, npu_alive(self->fd));
	}
	/* what the driver does not use harms nobody */
	NPU_VDEV("corrupt-slot ring=1 field=cycles");
	NPU_VDEV("corrupt-slot ring=1 job=2 field=reserved");
	i = npu_queue(self->fd, NPU_RING_FETCH_SUB);
	EXPECT_EQ(1, npu_run(self->fd, i, &s, 0));
	EXPECT_EQ(1, npu_run(self->fd, i, &s, 0));
	NPU_VDEV("reset-faults");
}

/* The device reports that something of the driver's is wrong. */
TEST_F(device, fault_device)
{
	static const struct {
		const char *kind;
		int error;
	} cases[] = {
		{ "stream", -EFAULT }, { "table", -EFAULT }, { "data", -EFAULT },
		{ "entry", -ETIMEDOUT }, { "slot", -ETIMEDOUT }, { "internal", -ETIMEDOUT },
	};
	struct drm_npu_queue_get_state state;
	struct npu_stream s;
	unsigned int i;

	NPU_NEED_VDEV();
	npu_stream_empty(&s);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		int queue = npu_queue(self->fd, NPU_RING_PREPROCESS);
		int64_t start = npu_now();

		NPU_VDEV("fault ring=2 job=1 kind=%s address=0x1234000", cases[i].kind);
		EXPECT_EQ(cases[i].error, npu_run(self->fd, queue, &s, 0))
			TH_LOG("%s", cases[i].kind);
		/* a ring that has stopped is not waited for */
		EXPECT_GT(1500, (npu_now() - start) / 1000000) TH_LOG("%s", cases[i].kind);
		ASSERT_EQ(0, npu_queue_state(self->fd, queue, &state));
		EXPECT_EQ(NPU_RULE_DEVICE, state.rule) TH_LOG("%s", cases[i].kind);
		EXPECT_EQ(0, npu_queue_destroy(self->fd, queue));
		EXPECT_EQ(1, npu_alive(self->fd));
	}
	NPU_VDEV("reset-faults");
}

/* A page-table walk that goes wrong ends the job, not the device. */
TEST_F(device, fault_walk)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct npu_stream s;
	struct npu_buf buf;

	NPU_NEED_VDEV();
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, 7 * NPU_BASE));
	memset(buf.map + 4096, 0x44, 4096);
	npu_stream_init(&s);
	npu_stream_copy(&s, 7 * NPU_BASE, 7 * NPU_BASE + 4096, 32);
	NPU_VDEV("corrupt-walk ring=0");
	EXPECT_EQ(-EFAULT, npu_run(self->fd, queue, &s, 0));
	EXPECT_EQ(0x44, ((char *)buf.map)[4096]);
	EXPECT_EQ(0, npu_queue_destroy(self->fd, queue));
	queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	NPU_VDEV("reset-faults");
}

/*
 * A ring that can't be reset alone: the whole device is. What runs on the other
 * rings is cancelled and not run again, what waits there runs afterwards.
 */
TEST_F(device, reset_full)
{
	int bad = npu_queue(self->fd, NPU_RING_FETCH_SUB);
	int victim = npu_queue(self->fd, NPU_RING_PREPROCESS);
	uint32_t bad_out = npu_syncobj(self->fd, 0), out = npu_syncobj(self->fd, 0);
	uint32_t next = npu_syncobj(self->fd, 0);
	struct drm_npu_queue_get_state state;
	uint64_t resets;
	struct npu_stream s;

	NPU_NEED_VDEV();
	resets = npu_vdev_stat("resets");
	npu_stream_empty(&s);
	NPU_VDEV("hang ring=1");
	NPU_VDEV("slow ring=2 ms=8000");
	NPU_VDEV("refuse-ring-reset ring=1");
	ASSERT_EQ(0, npu_submit(self->fd, bad, &s, 0, bad_out));
	/* begins later, so that its own time is not over when the other's is */
	npu_sleep_ms(500);
	ASSERT_EQ(0, npu_submit(self->fd, victim, &s, 0, out));
	ASSERT_EQ(0, npu_submit(self->fd, victim, &s, 0, next));
	EXPECT_EQ(-ETIMEDOUT, npu_fence_end(self->fd, bad_out));
	EXPECT_EQ(-ECANCELED, npu_fence_end(self->fd, out));
	EXPECT_EQ(1, npu_fence_end(self->fd, next));
	EXPECT_LT(resets, npu_vdev_stat("resets"));
	ASSERT_EQ(0, npu_queue_state(self->fd, victim, &state));
	EXPECT_EQ(DRM_NPU_QUEUE_HEALTHY, state.state);
	EXPECT_EQ(1, npu_run(self->fd, victim, &s, 0));
	EXPECT_EQ(1, npu_alive(self->fd));
	NPU_VDEV("reset-faults");
}

TEST_HARNESS_MAIN
