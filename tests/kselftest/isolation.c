// SPDX-License-Identifier: GPL-2.0-only
/* Files know nothing of each other, and the device keeps them apart. */
#include "npu_foreign.h"
#include "npu_vdev.h"

NPU_FIXTURE(device)

/* Handles, queues, syncobjs and map offsets of one file mean nothing in another. */
TEST_F(device, isolation_names)
{
	int other = npu_open(), queue = 0, i;
	struct drm_npu_queue_get_state state;
	struct drm_npu_bo_info info;
	struct npu_request r;
	struct npu_stream s;
	uint32_t bo, sync;

	ASSERT_LE(0, other);
	/* numbers that the other file has not given out */
	for (i = 0; i < 5; i++) {
		queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
		ASSERT_LT(0, queue);
		ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &bo));
		sync = npu_syncobj(self->fd, DRM_SYNCOBJ_CREATE_SIGNALED);
	}
	EXPECT_EQ(-ENOENT, npu_bo_info(other, bo, &info));
	EXPECT_EQ(-ENOENT, npu_bo_bind(other, bo, NPU_BASE, 0));
	EXPECT_EQ(-ENOENT, npu_bo_unbind(other, bo));
	EXPECT_EQ(-ENOENT, npu_bo_wait(other, bo, 0, 0));
	EXPECT_EQ(-EINVAL, npu_gem_close(other, bo));
	EXPECT_EQ(-ENOENT, npu_queue_state(other, queue, &state));
	EXPECT_EQ(-ENOENT, npu_queue_destroy(other, queue));
	npu_stream_empty(&s);
	EXPECT_EQ(-ENOENT, npu_submit(other, queue, &s, 0, 0));
	npu_request_init(&r, npu_queue(other, NPU_RING_FETCH_MAIN), &s, 0);
	npu_request_bo(&r, bo, DRM_NPU_SUBMIT_BO_READ);
	EXPECT_EQ(-ENOENT, npu_request_submit(other, &r));
	npu_request_init(&r, r.arg.queue, &s, 0);
	npu_request_in(&r, sync, 0);
	EXPECT_EQ(-ENOENT, npu_request_submit(other, &r));
	/* and all of it is still there */
	EXPECT_EQ(0, npu_bo_info(self->fd, bo, &info));
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	close(other);
}

/* The same device address, another memory; what one unmapped another can't reach. */
TEST_F(device, isolation)
{
	int other = npu_open(), queue, theirs;
	struct npu_buf mine, their, secret;
	struct npu_stream s;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_buf_init(self->fd, &mine, 4096, NPU_BASE));
	ASSERT_EQ(0, npu_buf_init(self->fd, &secret, 4096, 2 * NPU_BASE));
	ASSERT_EQ(0, npu_buf_init(other, &their, 4096, NPU_BASE));
	queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	theirs = npu_queue(other, NPU_RING_FETCH_MAIN);
	memset(mine.map, 1, 4096);
	memset(secret.map, 2, 4096);
	memset(their.map, 3, 4096);
	npu_stream_init(&s);
	npu_stream_copy(&s, NPU_BASE, NPU_BASE + 1024, 32);
	((char *)mine.map)[0] = 10;
	((char *)their.map)[0] = 30;
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	EXPECT_EQ(1, npu_run(other, theirs, &s, 0));
	EXPECT_EQ(10, ((char *)mine.map)[1024]);
	EXPECT_EQ(30, ((char *)their.map)[1024]);
	/* an address that only the first file has bound */
	npu_stream_init(&s);
	npu_stream_copy(&s, 2 * NPU_BASE, NPU_BASE + 2048, 32);
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	EXPECT_EQ(-EFAULT, npu_run(other, theirs, &s, 0));
	EXPECT_EQ(3, ((char *)their.map)[2048]);
	/* neither is what was unbound or closed */
	ASSERT_EQ(0, npu_bo_unbind(self->fd, secret.handle));
	EXPECT_EQ(-EFAULT, npu_run(self->fd, queue, &s, 0));
	close(other);
}

/* Pages go to others only when the device has let go of them. */
TEST_F(device, isolation_reuse)
{
	unsigned int round, i;

	for (round = 0; round < 20; round++) {
		int a = npu_open(), b = npu_open();
		struct npu_buf old, fresh;
		struct npu_stream s;
		int queue;

		ASSERT_LE(0, a);
		ASSERT_LE(0, b);
		queue = npu_queue(a, NPU_RING_FETCH_MAIN);
		ASSERT_EQ(0, npu_buf_init(a, &old, 8192, NPU_BASE));
		memset(old.map, 0xaa, 8192);
		npu_stream_init(&s);
		npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 4096);
		EXPECT_EQ(1, npu_run(a, queue, &s, 0));
		ASSERT_EQ(0, npu_buf_fini(a, &old));
		/* the device may have cached where it was */
		ASSERT_EQ(0, npu_buf_init(b, &fresh, 8192, NPU_BASE));
		EXPECT_EQ(-EFAULT, npu_run(a, queue, &s, 0));
		for (i = 0; i < 8192; i++) {
			if (((uint8_t *)fresh.map)[i])
				break;
		}
		EXPECT_EQ(8192, i);
		close(a);
		close(b);
	}
}

/* New memory is zeroed, whoever had it before. */
TEST_F(device, scratch_clear)
{
	unsigned int round, i;

	for (round = 0; round < 4; round++) {
		int fd = npu_open();
		struct npu_buf buf;

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, npu_buf_init(fd, &buf, 1 << 20, NPU_BASE));
		for (i = 0; i < 1 << 18; i++) {
			if (((uint32_t *)buf.map)[i])
				break;
		}
		EXPECT_EQ(1 << 18, i);
		memset(buf.map, 0xee, 1 << 20);
		munmap(buf.map, buf.size);
		close(fd);
	}
}

/* Tables and caches of a job end with it: the next finds them empty. */
TEST_F(device, scratch_caches)
{
	struct drm_npu_queue_get_state state;
	struct npu_cmd_lut_load *load;
	struct npu_cmd_fmap_read *read;
	struct npu_cmd_preprocess *pp;
	struct npu_cmd_const_set *set;
	struct npu_cmd_fetch *fetch;
	struct npu_stream s;
	struct npu_buf buf;
	int queue;

	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	npu_stream_init(&s);
	load = npu_stream_add(&s, NPU_OP_LUT_LOAD, sizeof(*load));
	load->address = NPU_BASE;
	load->key_type = NPU_TYPE_I8;
	load->entry_type = NPU_TYPE_U8;
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	npu_stream_init(&s);
	fetch = npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 32);
	fetch->lookup = NPU_LOOKUP_SLOT;
	fetch->lookup_type = NPU_TYPE_U8;
	EXPECT_EQ(-EFAULT, npu_run(self->fd, queue, &s, 0));
	ASSERT_EQ(0, npu_queue_state(self->fd, queue, &state));
	EXPECT_EQ(NPU_RULE_LUT_EMPTY, state.rule);

	queue = npu_queue(self->fd, NPU_RING_PREPROCESS);
	npu_stream_init(&s);
	set = npu_stream_add(&s, NPU_OP_CONST_SET, sizeof(*set));
	set->value = 0x3f800000;
	pp = npu_stream_quantise(&s, NPU_BASE, 0, 32);
	pp->mode = NPU_PP_MODE_FIXED27;
	pp->sink = NPU_SINK_FMAP_CACHE;
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	npu_stream_init(&s);
	read = npu_stream_add(&s, NPU_OP_FMAP_READ, sizeof(*read));
	read->dst = NPU_BASE;
	read->count = 1;
	read->lanes = 1;
	EXPECT_EQ(-EFAULT, npu_run(self->fd, queue, &s, 0));
	ASSERT_EQ(0, npu_queue_state(self->fd, queue, &state));
	EXPECT_EQ(NPU_RULE_FMAP_RANGE, state.rule);

	queue = npu_queue(self->fd, NPU_RING_PREPROCESS);
	npu_stream_init(&s);
	pp = npu_stream_quantise(&s, NPU_BASE, NPU_BASE + 4096, 32);
	pp->mode = NPU_PP_MODE_INT8_CONST;
	EXPECT_EQ(-EFAULT, npu_run(self->fd, queue, &s, 0));
	ASSERT_EQ(0, npu_queue_state(self->fd, queue, &state));
	EXPECT_EQ(NPU_RULE_CONST_EMPTY, state.rule);
}

/* A fault of one file is not the other's, nor that of its own other queue. */
TEST_F(device, isolation_fault)
{
	int bad, good, other = npu_open(), theirs;
	struct npu_stream s, broken;

	ASSERT_LE(0, other);
	bad = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	good = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	theirs = npu_queue(other, NPU_RING_FETCH_MAIN);
	npu_stream_empty(&s);
	npu_stream_init(&broken);
	npu_stream_copy(&broken, NPU_BASE, 2 * NPU_BASE, 32);
	EXPECT_EQ(-EFAULT, npu_run(self->fd, bad, &broken, 0));
	EXPECT_EQ(-EIO, npu_submit(self->fd, bad, &s, 0, 0));
	EXPECT_EQ(1, npu_run(self->fd, good, &s, 0));
	EXPECT_EQ(1, npu_run(other, theirs, &s, 0));
	EXPECT_EQ(0, npu_queue_destroy(self->fd, bad));
	EXPECT_EQ(1, npu_alive(self->fd));
	close(other);
}

/* Two programs at once, each in its own address space, at the same addresses. */
static int two_process_child(unsigned int seed)
{
	int fd = npu_open(), queue = npu_queue(fd, NPU_RING_FETCH_MAIN);
	struct npu_buf buf;
	struct npu_stream s;
	unsigned int i, j;

	if (fd < 0 || queue < 0 || npu_buf_init(fd, &buf, 8192, NPU_BASE))
		return 2;
	for (i = 0; i < 60; i++) {
		uint8_t value = seed * 100 + i;

		memset(buf.map, value, 1024);
		npu_stream_init(&s);
		npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 1024);
		if (npu_run(fd, queue, &s, 0) != 1)
			return 3;
		for (j = 0; j < 1024; j++)
			if (((uint8_t *)buf.map)[4096 + j] != value)
				return 4;
	}
	close(fd);
	return 0;
}

TEST_F(device, two_process)
{
	unsigned int i;
	int status;

	for (i = 0; i < 2; i++) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid)
			_exit(two_process_child(i));
	}
	for (i = 0; i < 2; i++) {
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
}

/* Each file that binds something takes an ASID: there are so many, and they come back. */
TEST_F_TIMEOUT(device, quota_address_spaces, 100)
{
	int *fds = calloc(1024, sizeof(int)), ret = 0;
	struct drm_npu_bo_info info;
	unsigned int n, i;
	uint32_t bo = 0;

	for (n = 0; n < 1024 && !ret; n++) {
		fds[n] = npu_open();
		if (fds[n] < 0)
			break;
		ASSERT_EQ(0, npu_bo_create(fds[n], 4096, &bo));
		ret = npu_bo_bind(fds[n], bo, NPU_BASE, 0);
	}
	if (!ret)
		SKIP(goto out, "%u files are not enough to use up the address spaces", n);
	EXPECT_EQ(-ENOSPC, ret);
	n--;
	TH_LOG("%u address spaces", n);
	EXPECT_EQ(0, npu_bo_info(fds[n], bo, &info));
	EXPECT_EQ(0, info.address);
	/* without memory the file still works */
	EXPECT_EQ(1, npu_alive(fds[n]));
	/* what one gives back another takes */
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-ENOSPC, npu_bo_bind(fds[n], bo, NPU_BASE, 0));
		close(fds[i]);
		EXPECT_EQ(0, npu_bo_bind(fds[n], bo, NPU_BASE, 0));
		fds[i] = fds[n];
		fds[n] = npu_open();
		ASSERT_EQ(0, npu_bo_create(fds[n], 4096, &bo));
	}
	n++;
out:
	for (i = 0; i < n; i++)
		close(fds[i]);
	free(fds);
}

#define CGROUP	"/sys/fs/cgroup/npu-test"

/* Memory of BOs is the program's: beyond its limit it gets none, others do. */
TEST_F(device, quota_memory)
{
	int status = 0, ret;
	pid_t pid;

	NPU_NEED_ROOT();
	if (npu_write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory") ||
	    (mkdir(CGROUP, 0755) && errno != EEXIST))
		SKIP(return, "no memory control group");
	ASSERT_EQ(0, npu_write_file(CGROUP "/memory.max", "12M"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		uint32_t bo;
		int fd;

		if (npu_write_file(CGROUP "/cgroup.procs", "0"))
			_exit(1);
		fd = npu_open();
		if (fd < 0 || npu_bo_create(fd, 64 << 20, &bo))
			_exit(2);
		ret = npu_bo_bind(fd, bo, NPU_BASE, 0);
		_exit(ret == -ENOMEM ? 0 : 3);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	/* the kernel may end it rather than say so */
	EXPECT_TRUE(!status || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		TH_LOG("status %#x", status);
	EXPECT_EQ(0, rmdir(CGROUP));
	EXPECT_EQ(1, npu_device_works());
}

/* Case C33: a child that has the file, too, and ends. */
TEST_F(device, fork_file)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), status, i;
	struct npu_stream s;
	struct npu_buf buf;

	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	memset(buf.map, 0x5a, 1024);
	npu_stream_init(&s);
	npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 1024);
	for (i = 0; i < 4; i++) {
		pid_t pid;

		memset(buf.map + 4096, 0, 1024);
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			if (i == 1)
				close(self->fd);
			if (i == 2)
				_exit(npu_run(self->fd, queue, &s, 0) == 1 ? 0 : 1);
			if (i == 3)
				execl("/proc/self/exe", "npu-exec", "-l", NULL);
			_exit(0);
		}
		EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
		EXPECT_EQ(0, memcmp(buf.map, buf.map + 4096, 1024));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		if (i != 3) {
			EXPECT_EQ(0, status);
		}
	}
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
}

TEST_HARNESS_MAIN
