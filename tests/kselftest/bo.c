// SPDX-License-Identifier: GPL-2.0-only
/* Buffer objects and the address space that they are bound into. */
#include "npu_vdev.h"

NPU_FIXTURE(device)

TEST_F(device, bo_create)
{
	static const uint64_t sizes[] = { 1, 4095, 4096, 4097, 65536, 1000001 };
	struct drm_npu_bo_info info;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t pages = (sizes[i] + 4095) / 4096;
		uint32_t handle;
		uint8_t *map;

		ASSERT_EQ(0, npu_bo_create(self->fd, sizes[i], &handle));
		ASSERT_EQ(0, npu_bo_info(self->fd, handle, &info));
		EXPECT_EQ(pages * 4096, info.size);
		EXPECT_EQ(0, info.address);
		EXPECT_EQ(0, info.flags);
		ASSERT_EQ(0, npu_bo_map(self->fd, handle, info.size, (void **)&map));
		for (j = 0; j < info.size; j++)
			if (map[j])
				break;
		EXPECT_EQ(info.size, j) TH_LOG("not zeroed");
		map[0] = map[info.size - 1] = 1;
		munmap(map, info.size);
		EXPECT_EQ(0, npu_gem_close(self->fd, handle));
		EXPECT_EQ(-ENOENT, npu_bo_info(self->fd, handle, &info));
	}
}

TEST_F(device, bo_limits)
{
	uint64_t max = npu_param(self->fd, DRM_NPU_PARAM_MAX_BO_SIZE);
	uint64_t bad[] = {
		0, max + 1, max + 4096, 1ull << 40, INT64_MAX, 1ull << 63, ~0ull - 4095,
		~0ull - 4094, ~0ull,
	};
	uint32_t handle;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct drm_npu_bo_create arg = { .size = bad[i], .handle = NPU_POISON32 };

		EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPU_BO_CREATE, &arg))
			TH_LOG("size %#llx", (unsigned long long)bad[i]);
		EXPECT_EQ(NPU_POISON32, arg.handle);
		EXPECT_EQ(bad[i], arg.size);
	}
	/* The largest may be created: that takes no memory yet. */
	EXPECT_EQ(0, npu_bo_create(self->fd, max, &handle));
	EXPECT_EQ(0, npu_gem_close(self->fd, handle));
}

/* Several mappings are one memory, also after fork, and end with the file alone. */
TEST_F(device, bo_mmap)
{
	uint64_t size = 3 * NPU_PAGE;
	uint8_t *a, *b, *private;
	struct drm_npu_bo_info info;
	uint32_t handle;
	int status;
	pid_t pid;

	ASSERT_EQ(0, npu_bo_create(self->fd, size, &handle));
	ASSERT_EQ(0, npu_bo_map(self->fd, handle, size, (void **)&a));
	ASSERT_EQ(0, npu_bo_map(self->fd, handle, size, (void **)&b));
	a[5000] = 77;
	EXPECT_EQ(77, b[5000]);

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		b[8192] = 78;
		_exit(a[5000] == 77 ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(78, a[8192]);

	ASSERT_EQ(0, npu_bo_info(self->fd, handle, &info));
	private = mmap(NULL, size, PROT_READ, MAP_SHARED, self->fd, info.mmap_offset);
	EXPECT_NE(MAP_FAILED, private);
	EXPECT_EQ(77, private[5000]);

	/* A mapping outlives handle and file. */
	EXPECT_EQ(0, npu_gem_close(self->fd, handle));
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(77, a[5000]);
	a[0] = 1;
	munmap(a, size);
	munmap(b, size);
	munmap(private, size);
}

TEST_F(device, bo_mmap_bad)
{
	struct drm_npu_bo_info info;
	uint32_t handle;
	int other;

	ASSERT_EQ(0, npu_bo_create(self->fd, NPU_PAGE, &handle));
	ASSERT_EQ(0, npu_bo_info(self->fd, handle, &info));
	/* longer than the object, behind it, at no object */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * NPU_PAGE, PROT_READ, MAP_SHARED, self->fd,
				   info.mmap_offset));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, NPU_PAGE, PROT_READ, MAP_SHARED, self->fd,
				   info.mmap_offset + (1ull << 40)));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, NPU_PAGE, PROT_READ, MAP_SHARED, self->fd, 0));
	/* somebody else's */
	other = npu_open();
	ASSERT_LE(0, other);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, NPU_PAGE, PROT_READ, MAP_SHARED, other, info.mmap_offset));
	EXPECT_EQ(EACCES, errno);
	close(other);
}

TEST_F(device, bo_bind)
{
	uint64_t end = npu_param(self->fd, DRM_NPU_PARAM_ADDRESS_END);
	struct drm_npu_bo_info info;
	uint32_t bo, two;

	ASSERT_EQ(0, npu_bo_create(self->fd, 3 * NPU_PAGE, &bo));
	ASSERT_EQ(0, npu_bo_create(self->fd, NPU_PAGE, &two));
	EXPECT_EQ(-EINVAL, npu_bo_unbind(self->fd, bo));
	ASSERT_EQ(0, npu_bo_bind(self->fd, bo, NPU_BASE, 0));
	ASSERT_EQ(0, npu_bo_info(self->fd, bo, &info));
	EXPECT_EQ(NPU_BASE, info.address);
	/* twice, and in each other's way at each edge */
	EXPECT_EQ(-EEXIST, npu_bo_bind(self->fd, bo, NPU_BASE, 0));
	EXPECT_EQ(-EEXIST, npu_bo_bind(self->fd, bo, 2 * NPU_BASE, 0));
	EXPECT_EQ(-EEXIST, npu_bo_bind(self->fd, two, NPU_BASE, 0));
	EXPECT_EQ(-EEXIST, npu_bo_bind(self->fd, two, NPU_BASE + 2 * NPU_PAGE, 0));
	EXPECT_EQ(0, npu_bo_bind(self->fd, two, NPU_BASE + 3 * NPU_PAGE, 0));
	EXPECT_EQ(0, npu_bo_unbind(self->fd, two));
	EXPECT_EQ(0, npu_bo_bind(self->fd, two, NPU_BASE - NPU_PAGE, 0));
	EXPECT_EQ(0, npu_bo_unbind(self->fd, two));
	/* the edges of the address space */
	EXPECT_EQ(0, npu_bo_bind(self->fd, two, NPU_PAGE, 0));
	EXPECT_EQ(0, npu_bo_unbind(self->fd, two));
	EXPECT_EQ(0, npu_bo_bind(self->fd, two, end - NPU_PAGE, DRM_NPU_BIND_RDONLY));
	ASSERT_EQ(0, npu_bo_info(self->fd, two, &info));
	EXPECT_EQ(end - NPU_PAGE, info.address);
	EXPECT_EQ(DRM_NPU_BO_INFO_RDONLY, info.flags);
	EXPECT_EQ(0, npu_bo_unbind(self->fd, two));
	EXPECT_EQ(0, npu_bo_unbind(self->fd, bo));
	EXPECT_EQ(-EINVAL, npu_bo_unbind(self->fd, bo));
	ASSERT_EQ(0, npu_bo_info(self->fd, bo, &info));
	EXPECT_EQ(0, info.address);
	/* closing the handle takes the binding along */
	ASSERT_EQ(0, npu_bo_bind(self->fd, bo, NPU_BASE, 0));
	ASSERT_EQ(0, npu_gem_close(self->fd, bo));
	EXPECT_EQ(0, npu_bo_bind(self->fd, two, NPU_BASE, 0));
}

TEST_F(device, bo_bind_bad)
{
	uint64_t end = npu_param(self->fd, DRM_NPU_PARAM_ADDRESS_END);
	uint64_t bad[] = {
		0, 1, 4095, NPU_BASE + 1, NPU_BASE + 8, end - 2 * NPU_PAGE, end - NPU_PAGE, end,
		1ull << 40, 1ull << 63, ~0ull - 4095, ~0ull - 3 * NPU_PAGE + 1, ~0ull,
	};
	struct drm_npu_bo_info info;
	unsigned int i;
	uint32_t bo;

	ASSERT_EQ(0, npu_bo_create(self->fd, 3 * NPU_PAGE, &bo));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, npu_bo_bind(self->fd, bo, bad[i], 0))
			TH_LOG("address %#llx", (unsigned long long)bad[i]);
	}
	EXPECT_EQ(-ENOENT, npu_bo_bind(self->fd, 0, NPU_BASE, 0));
	EXPECT_EQ(-ENOENT, npu_bo_bind(self->fd, bo + 1, NPU_BASE, 0));
	EXPECT_EQ(-ENOENT, npu_bo_bind(self->fd, ~0u, NPU_BASE, 0));
	EXPECT_EQ(-ENOENT, npu_bo_unbind(self->fd, 0));
	EXPECT_EQ(-ENOENT, npu_bo_unbind(self->fd, ~0u));
	ASSERT_EQ(0, npu_bo_info(self->fd, bo, &info));
	EXPECT_EQ(0, info.address);
}

/* What was unbound can be bound elsewhere, and the device follows. */
TEST_F(device, bo_rebind)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct npu_buf a, b;
	struct npu_stream s;
	unsigned int i;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &a, 4096, NPU_BASE));
	ASSERT_EQ(0, npu_buf_init(self->fd, &b, 4096, 2 * NPU_BASE));
	memset(a.map, 0x11, 4096);
	memset(b.map, 0x22, 4096);
	npu_stream_init(&s);
	npu_stream_copy(&s, NPU_BASE, 2 * NPU_BASE, 32);
	for (i = 0; i < 8; i++) {
		struct npu_buf *from = i % 2 ? &b : &a, *to = i % 2 ? &a : &b;

		memset(from->map, 0x30 + i, 64);
		ASSERT_EQ(1, npu_run(self->fd, queue, &s, 0));
		EXPECT_EQ(0, memcmp(from->map, to->map, 32));
		EXPECT_NE(0, memcmp(from->map, to->map, 64));
		memset(to->map, 0, 64);
		/* the two change places */
		ASSERT_EQ(0, npu_bo_unbind(self->fd, a.handle));
		ASSERT_EQ(0, npu_bo_unbind(self->fd, b.handle));
		ASSERT_EQ(0, npu_bo_bind(self->fd, a.handle, i % 2 ? NPU_BASE : 2 * NPU_BASE, 0));
		ASSERT_EQ(0, npu_bo_bind(self->fd, b.handle, i % 2 ? 2 * NPU_BASE : NPU_BASE, 0));
	}
}

TEST_F(device, bo_rdonly)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct drm_npu_queue_get_state state;
	struct npu_buf src, dst;
	struct npu_stream s;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_buf_init(self->fd, &src, 4096, NPU_BASE));
	ASSERT_EQ(0, npu_buf_init(self->fd, &dst, 4096, 2 * NPU_BASE));
	ASSERT_EQ(0, npu_bo_unbind(self->fd, dst.handle));
	ASSERT_EQ(0, npu_bo_bind(self->fd, dst.handle, dst.address, DRM_NPU_BIND_RDONLY));
	memset(src.map, 1, 4096);
	memset(dst.map, 2, 4096);
	/* reading is allowed, writing is not */
	npu_stream_init(&s);
	npu_stream_copy(&s, dst.address, src.address, 32);
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	EXPECT_EQ(2, *(char *)src.map);
	npu_stream_init(&s);
	npu_stream_copy(&s, src.address + 64, dst.address, 32);
	EXPECT_EQ(-EFAULT, npu_run(self->fd, queue, &s, 0));
	EXPECT_EQ(2, *(char *)dst.map);
	ASSERT_EQ(0, npu_queue_state(self->fd, queue, &state));
	EXPECT_EQ(NPU_RULE_ADDRESS_READONLY, state.rule);
	EXPECT_EQ(dst.address, state.fault_address);
}

TEST_F(device, bo_wait)
{
	struct npu_request r;
	struct npu_stream s;
	uint32_t bo, other;
	int queue, blocker;

	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &bo));
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &other));
	queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	ASSERT_LT(0, queue);
	/* never used: idle, whatever the time-out */
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, 0, 0));
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, 0, -1));
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, DRM_NPU_BO_WAIT_WRITE, npu_now()));
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, 0, INT64_MAX));
	EXPECT_EQ(-ENOENT, npu_bo_wait(self->fd, 0, 0, 0));
	EXPECT_EQ(-ENOENT, npu_bo_wait(self->fd, ~0u, 0, 0));

	blocker = npu_block(NPU_RING_FETCH_MAIN, 600);
	ASSERT_LE(0, blocker);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	npu_request_bo(&r, bo, DRM_NPU_SUBMIT_BO_READ);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	/* a reader: those who ask for writers do not wait */
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, DRM_NPU_BO_WAIT_WRITE, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, bo, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, bo, 0, npu_now() - 1));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, bo, 0, npu_in_ms(20)));
	EXPECT_EQ(0, npu_bo_wait(self->fd, other, 0, 0));
	npu_request_bo(&r, bo, DRM_NPU_SUBMIT_BO_WRITE);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, bo, DRM_NPU_BO_WAIT_WRITE, npu_in_ms(5)));
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, 0, npu_in_ms(NPU_LONG_MS)));
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, 0, 0));
	EXPECT_EQ(0, npu_bo_wait(self->fd, bo, DRM_NPU_BO_WAIT_WRITE, 0));
	close(blocker);
}

/* Case C31: dead handles, double frees, and that they hurt nobody. */
TEST_F(device, bo_close_twice)
{
	struct drm_npu_bo_info info;
	uint32_t bo, next;

	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &bo));
	EXPECT_EQ(0, npu_gem_close(self->fd, bo));
	EXPECT_EQ(-EINVAL, npu_gem_close(self->fd, bo));
	EXPECT_EQ(-EINVAL, npu_gem_close(self->fd, 0));
	EXPECT_EQ(-EINVAL, npu_gem_close(self->fd, ~0u));
	ASSERT_EQ(0, npu_bo_create(self->fd, 8192, &next));
	ASSERT_EQ(0, npu_bo_info(self->fd, next, &info));
	EXPECT_EQ(8192, info.size);
}

TEST_HARNESS_MAIN
