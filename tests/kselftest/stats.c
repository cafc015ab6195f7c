// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel tells about the device's use: fdinfo, sysfs, traces, debugfs. */
#include "npu_vdev.h"

NPU_FIXTURE(device)

static int read_fdinfo(int fd, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return npu_read_file(path, text, size);
}

/* The number behind a key, in bytes if it has a unit; 0 without the key. */
static uint64_t fdinfo_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	char *end;
	uint64_t v;

	if (!at || at[strlen(key)] != ':')
		return 0;
	v = strtoull(at + strlen(key) + 1, &end, 10);
	if (!strncmp(end, " KiB", 4))
		v <<= 10;
	else if (!strncmp(end, " MiB", 4))
		v <<= 20;
	return v;
}

static const char *const engines[NPU_RING_COUNT] = {
	"drm-engine-fetch-main", "drm-engine-fetch-sub", "drm-engine-preprocess",
};

TEST_F(device, fdinfo)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), blocker;
	struct npu_request r;
	struct npu_stream s;
	struct npu_buf buf;
	char text[4096];
	unsigned int i;
	uint32_t big;

	ASSERT_LT(0, read_fdinfo(self->fd, text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, "drm-driver:\tnpu\n"));
	EXPECT_NE(NULL, strstr(text, "drm-client-id:"));
	for (i = 0; i < NPU_RING_COUNT; i++) {
		EXPECT_NE(NULL, strstr(text, engines[i])) TH_LOG("%s", engines[i]);
		EXPECT_EQ(0, fdinfo_value(text, engines[i]));
	}
	/* created but without pages, and bound */
	ASSERT_EQ(0, npu_bo_create(self->fd, 4 << 20, &big));
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 1 << 20, NPU_BASE));
	ASSERT_LT(0, read_fdinfo(self->fd, text, sizeof(text)));
	EXPECT_EQ(5 << 20, fdinfo_value(text, "drm-total-memory"));
	EXPECT_EQ(1 << 20, fdinfo_value(text, "drm-resident-memory"));
	EXPECT_EQ(0, fdinfo_value(text, "drm-active-memory"));

	blocker = npu_block(NPU_RING_FETCH_MAIN, 600);
	ASSERT_LE(0, blocker);
	npu_stream_init(&s);
	for (i = 0; i < 8; i++)
		npu_stream_copy(&s, NPU_BASE, NPU_BASE + (1 << 19), 1 << 19);
	npu_request_init(&r, queue, &s, 0);
	npu_request_bo(&r, buf.handle, DRM_NPU_SUBMIT_BO_WRITE);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	ASSERT_LT(0, read_fdinfo(self->fd, text, sizeof(text)));
	EXPECT_EQ(1 << 20, fdinfo_value(text, "drm-active-memory"));
	EXPECT_EQ(0, npu_bo_wait(self->fd, buf.handle, 0, npu_in_ms(NPU_LONG_MS)));
	ASSERT_LT(0, read_fdinfo(self->fd, text, sizeof(text)));
	EXPECT_LT(0, fdinfo_value(text, engines[NPU_RING_FETCH_MAIN]));
	EXPECT_GT(10000000000ull, fdinfo_value(text, engines[NPU_RING_FETCH_MAIN]));
	EXPECT_EQ(0, fdinfo_value(text, engines[NPU_RING_FETCH_SUB]));
	/* whose time is whose: the blocker's is not ours */
	if (npu_has_vdev()) {
		ASSERT_LT(0, read_fdinfo(blocker, text, sizeof(text)));
		EXPECT_LE(300000000ull, fdinfo_value(text, engines[NPU_RING_FETCH_MAIN]));
	}
	close(blocker);
}

static const char *const busy_files[NPU_RING_COUNT] = {
	"fetch_main_busy_us", "fetch_sub_busy_us", "preprocess_busy_us",
};

static uint64_t busy_us(unsigned int ring)
{
	char path[PATH_MAX], text[64];

	if (npu_sysfs(path, sizeof(path), busy_files[ring]) ||
	    npu_read_file(path, text, sizeof(text)) <= 0)
		return ~0ull;
	return strtoull(text, NULL, 10);
}

TEST_F(device, sysfs_busy)
{
	uint64_t before[NPU_RING_COUNT], during, after;
	unsigned int i;
	int blocker;

	for (i = 0; i < NPU_RING_COUNT; i++) {
		before[i] = busy_us(i);
		ASSERT_NE(~0ull, before[i]);
	}
	/* idle time does not count */
	npu_sleep_ms(50);
	for (i = 0; i < NPU_RING_COUNT; i++) {
		EXPECT_EQ(before[i], busy_us(i));
	}
	NPU_NEED_VDEV();
	blocker = npu_block(NPU_RING_PREPROCESS, 400);
	ASSERT_LE(0, blocker);
	npu_sleep_ms(100);
	/* a job counts while it runs */
	during = busy_us(NPU_RING_PREPROCESS);
	EXPECT_LE(before[NPU_RING_PREPROCESS] + 100000, during);
	npu_sleep_ms(500);
	after = busy_us(NPU_RING_PREPROCESS);
	EXPECT_LE(before[NPU_RING_PREPROCESS] + 400000, after);
	EXPECT_EQ(before[NPU_RING_FETCH_MAIN], busy_us(NPU_RING_FETCH_MAIN));
	close(blocker);
}

static uint64_t sysfs_number(const char *file)
{
	char path[PATH_MAX], text[64];

	if (npu_sysfs(path, sizeof(path), file) || npu_read_file(path, text, sizeof(text)) <= 0)
		return ~0ull;
	return strtoull(text, NULL, 10);
}

/* Memory that is pinned for the device, by whichever file. */
TEST_F(device, sysfs_memory)
{
	uint64_t before = sysfs_number("memory_bytes");
	struct npu_buf a, b;
	uint32_t unbound;
	int other = npu_open();

	if (before == ~0ull)
		SKIP(return, "the driver does not tell");
	ASSERT_EQ(0, npu_bo_create(self->fd, 1 << 20, &unbound));
	EXPECT_EQ(before, sysfs_number("memory_bytes"));
	ASSERT_EQ(0, npu_buf_init(self->fd, &a, 1 << 20, NPU_BASE));
	ASSERT_EQ(0, npu_buf_init(other, &b, 4096, NPU_BASE));
	EXPECT_EQ(before + (1 << 20) + 4096, sysfs_number("memory_bytes"));
	EXPECT_EQ(0, npu_buf_fini(self->fd, &a));
	EXPECT_EQ(before + 4096, sysfs_number("memory_bytes"));
	munmap(b.map, b.size);
	close(other);
	EXPECT_EQ(before, sysfs_number("memory_bytes"));
}

#define DEBUGFS	"/sys/kernel/debug/accel"

/* The folder of our device, which kernels name in different ways. */
static bool debugfs_read(const char *file, char *text, size_t size)
{
	DIR *dir = opendir(DEBUGFS);
	struct dirent *e;
	int n = 0;

	while (dir && n <= 0 && (e = readdir(dir))) {
		char path[NAME_MAX + 64];

		snprintf(path, sizeof(path), DEBUGFS "/%s/%s", e->d_name, file);
		n = npu_read_file(path, text, size);
	}
	if (dir)
		closedir(dir);
	return n > 0;
}

/* debugfs names what runs and what is bound. */
TEST_F(device, debugfs)
{
	char text[8192];
	struct npu_buf buf;

	if (!debugfs_read("rings", text, sizeof(text)))
		SKIP(return, "no debugfs files");
	EXPECT_NE(NULL, strstr(text, "fetch-main:"));
	EXPECT_NE(NULL, strstr(text, "preprocess:"));
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 4096, 0x123456000ull));
	EXPECT_TRUE(debugfs_read("spaces", text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, "123456000"));
	EXPECT_TRUE(debugfs_read("regs", text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, "id 0x3155504e"));
}

#define EVENTS	"/sys/kernel/tracing/events/npu"

/* The driver's trace points tell of a job from SUBMIT to its end. */
TEST_F(device, trace)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), n;
	struct npu_stream s;
	char *text;

	if (access(EVENTS, F_OK))
		SKIP(return, "no trace events of the driver");
	text = malloc(1 << 20);
	ASSERT_NE(NULL, text);
	ASSERT_EQ(0, npu_write_file("/sys/kernel/tracing/trace", ""));
	ASSERT_EQ(0, npu_write_file(EVENTS "/enable", "1"));
	npu_stream_empty(&s);
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	ASSERT_EQ(0, npu_write_file(EVENTS "/enable", "0"));
	n = npu_read_file("/sys/kernel/tracing/trace", text, 1 << 20);
	ASSERT_LT(0, n);
	EXPECT_NE(NULL, strstr(text, "npu_job_queue: ring=fetch-main"));
	EXPECT_NE(NULL, strstr(text, "npu_job_run: ring=fetch-main"));
	EXPECT_NE(NULL, strstr(text, "npu_job_done: ring=fetch-main"));
	EXPECT_EQ(NULL, strstr(text, "npu_queue_fault")) TH_LOG("%s", text);
	free(text);
}

/* What the scheduler says of our jobs has the ring's name. */
TEST_F(device, trace_scheduler)
{
	static const char events[] = "/sys/kernel/tracing/events/gpu_scheduler";
	int queue = npu_queue(self->fd, NPU_RING_FETCH_SUB);
	struct npu_stream s;
	char path[128], *text;

	if (access(events, F_OK))
		SKIP(return, "no trace events of the scheduler");
	text = malloc(1 << 20);
	ASSERT_NE(NULL, text);
	snprintf(path, sizeof(path), "%s/enable", events);
	ASSERT_EQ(0, npu_write_file("/sys/kernel/tracing/trace", ""));
	ASSERT_EQ(0, npu_write_file(path, "1"));
	npu_stream_empty(&s);
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	ASSERT_EQ(0, npu_write_file(path, "0"));
	ASSERT_LT(0, npu_read_file("/sys/kernel/tracing/trace", text, 1 << 20));
	EXPECT_NE(NULL, strstr(text, "fetch-sub"));
	free(text);
}

/* Reading everything that can be read, all the time, while files come and go. */
static volatile bool read_stop;

static void read_folder(const char *path, unsigned int depth)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char file[PATH_MAX], text[4096];
		struct stat st;

		if (e->d_name[0] == '.')
			continue;
		if (snprintf(file, sizeof(file), "%s/%s", path, e->d_name) >= (int)sizeof(file) ||
		    lstat(file, &st))
			continue;
		if (S_ISDIR(st.st_mode) && depth)
			read_folder(file, depth - 1);
		else if (S_ISREG(st.st_mode) && st.st_mode & 0444)
			npu_read_file(file, text, sizeof(text));
	}
	if (dir)
		closedir(dir);
}

static void *read_all(void *arg)
{
	int fd = *(int *)arg;
	char text[4096];

	while (!read_stop) {
		read_fdinfo(fd, text, sizeof(text));
		read_folder(DEBUGFS, 2);
		busy_us(0);
	}
	return NULL;
}

TEST_F(device, stats_churn)
{
	int64_t deadline = npu_in_ms(2000);
	unsigned int rounds = 0;
	pthread_t thread;
	struct npu_stream s;

	npu_stream_empty(&s);
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_all, &self->fd));
	while (npu_now() < deadline) {
		int other = npu_open(), queue = npu_queue(other, rounds % NPU_RING_COUNT);
		int mine = npu_queue(self->fd, rounds % NPU_RING_COUNT);
		struct npu_buf buf, ours;

		ASSERT_LT(0, queue);
		ASSERT_LT(0, mine);
		ASSERT_EQ(0, npu_buf_init(other, &buf, 65536, NPU_BASE));
		ASSERT_EQ(0, npu_buf_init(self->fd, &ours, 65536, NPU_BASE));
		EXPECT_EQ(0, npu_submit(self->fd, mine, &s, NPU_BASE, 0));
		EXPECT_EQ(1, npu_run(other, queue, &s, 0));
		EXPECT_EQ(0, npu_queue_destroy(self->fd, mine));
		EXPECT_EQ(0, npu_buf_fini(self->fd, &ours));
		munmap(buf.map, buf.size);
		close(other);
		rounds++;
	}
	read_stop = true;
	pthread_join(thread, NULL);
	TH_LOG("%u rounds", rounds);
}

TEST_HARNESS_MAIN
