// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many jobs. NPU_TEST_JOBS and NPU_TEST_SECONDS say how many at most and for how
 * long; the limits in the file are for a machine that is emulated.
 */
#include "npu_vdev.h"

NPU_FIXTURE(device)

#define SOAK_JOBS	10000
#define SOAK_SECONDS	20
#define SOAK_THREADS	4

struct soak {
	pthread_t thread;
	unsigned int index, jobs, bad;
	int64_t deadline;
	int error;
};

/* Four in flight, out of one BO: a copy, a conversion, a PREPROCESS. */
static void soak_stream(struct npu_stream *s, uint32_t ring, uint64_t slot)
{
	npu_stream_init(s);
	if (ring == NPU_RING_PREPROCESS)
		npu_stream_quantise(s, NPU_BASE, slot + 256, 64);
	else if (ring == NPU_RING_FETCH_MAIN)
		npu_stream_widen(s, NPU_BASE, slot + 256, 64);
	else
		npu_stream_copy(s, NPU_BASE, slot + 256, 64);
}

static int soak_submit(int fd, const int *queue, uint32_t out, unsigned int n)
{
	uint32_t ring = n % NPU_RING_COUNT;
	uint64_t slot = NPU_BASE + 4096 + n % 8 * 1024;
	struct npu_request r;
	struct npu_stream s;

	soak_stream(&s, ring, slot);
	npu_request_init(&r, queue[ring], &s, slot);
	npu_request_out(&r, out, 0);
	return npu_request_submit(fd, &r);
}

static void *soak_thread(void *arg)
{
	struct soak *t = arg;
	int queue[NPU_RING_COUNT], fd = npu_open(), i;
	uint32_t out[8];
	struct npu_buf buf;
	unsigned int n;

	if (fd < 0 || npu_buf_init(fd, &buf, 4 * NPU_PAGE, NPU_BASE)) {
		t->error = fd < 0 ? fd : -ENOMEM;
		return NULL;
	}
	for (i = 0; i < NPU_RING_COUNT; i++)
		queue[i] = npu_queue(fd, i);
	for (i = 0; i < 8; i++)
		out[i] = npu_syncobj(fd, DRM_SYNCOBJ_CREATE_SIGNALED);
	for (n = 0; n < t->jobs && npu_now() < t->deadline && !t->error; n++) {
		struct npu_result *r = buf.map + 4096 + n % 8 * 1024;

		t->error = npu_wait(fd, out[n % 8], 0);
		if (n >= 8)
			t->bad += r->status != NPU_STATUS_OK || r->elements_out != 64;
		r->status = NPU_STATUS_PENDING;
		if (!t->error)
			t->error = soak_submit(fd, queue, out[n % 8], n);
	}
	t->jobs = n;
	for (i = 0; i < 8; i++)
		npu_wait(fd, out[i], 0);
	munmap(buf.map, buf.size);
	close(fd);
	return NULL;
}

static unsigned int from_env(const char *name, unsigned int value)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : value;
}

/* "MemAvailable", in KiB */
static long memory_available(void)
{
	char text[8192], *at;

	npu_read_file("/proc/meminfo", text, sizeof(text));
	at = strstr(text, "MemAvailable:");
	return at ? strtol(at + 13, NULL, 10) : 0;
}

TEST_F_TIMEOUT(device, soak, 100)
{
	unsigned int jobs = from_env("NPU_TEST_JOBS", SOAK_JOBS), done = 0, i;
	int64_t deadline = npu_in_ms(1000ll * from_env("NPU_TEST_SECONDS", SOAK_SECONDS));
	struct soak t[SOAK_THREADS] = { };
	int64_t start = npu_now();
	uint64_t model = ~0ull;
	long before, after;
	char text[256];

	/* what is allocated once comes before */
	ASSERT_EQ(1, npu_alive(self->fd));
	if (npu_has_vdev())
		model = npu_vdev_stat("jobs");
	before = memory_available();
	for (i = 0; i < SOAK_THREADS; i++) {
		t[i].index = i;
		t[i].jobs = jobs / SOAK_THREADS;
		t[i].deadline = deadline;
		ASSERT_EQ(0, pthread_create(&t[i].thread, NULL, soak_thread, &t[i]));
	}
	for (i = 0; i < SOAK_THREADS; i++) {
		pthread_join(t[i].thread, NULL);
		EXPECT_EQ(0, t[i].error);
		EXPECT_EQ(0, t[i].bad);
		done += t[i].jobs;
	}
	TH_LOG("%u jobs in %u ms", done, (unsigned int)((npu_now() - start) / 1000000));
	EXPECT_LT(0, done);
	/* the device has run as many as were submitted, none twice */
	if (npu_has_vdev()) {
		EXPECT_EQ(model + done, npu_vdev_stat("jobs"));
	}
	/* and of the memory nothing is missing, but for what caches keep */
	npu_sleep_ms(300);
	after = memory_available();
	EXPECT_GT(16384, before - after) TH_LOG("%ld KiB are gone", before - after);
	/* the module has as many users as files are open: this one */
	close(self->fd);
	self->fd = -1;
	for (i = 0; i < 50; i++) {
		if (npu_read_file("/sys/module/npu/refcnt", text, sizeof(text)) <= 0)
			return;
		if (!atoi(text))
			break;
		npu_sleep_ms(50);
	}
	EXPECT_EQ(0, atoi(text));
}

/* A quick look at what a job costs; no verdict. */
TEST_F(device, latency)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_SUB), i;
	int64_t start, empty, job;
	struct npu_stream s;

	npu_stream_empty(&s);
	start = npu_now();
	for (i = 0; i < 200; i++)
		npu_param(self->fd, DRM_NPU_PARAM_RINGS);
	empty = npu_now() - start;
	start = npu_now();
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(1, npu_run(self->fd, queue, &s, 0));
	}
	job = npu_now() - start;
	TH_LOG("empty ioctl %d us, submit and wait %d us", (int)(empty / 200000),
	       (int)(job / 200000));
}

TEST_HARNESS_MAIN
