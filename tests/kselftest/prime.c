// SPDX-License-Identifier: GPL-2.0-only
/* Buffers shared with others, and with oneself. */
#include "npu_foreign.h"
#include "npu_vdev.h"

NPU_FIXTURE(device)

/* Copies 64 bytes from one bound BO to another and says how it went. */
static int prime_copy(int fd, uint64_t src, uint64_t dst)
{
	int queue = npu_queue(fd, NPU_RING_FETCH_SUB), ret;
	struct npu_stream s;

	npu_stream_init(&s);
	npu_stream_copy(&s, src, dst, 64);
	ret = npu_run(fd, queue, &s, 0);
	npu_queue_destroy(fd, queue);
	return ret;
}

/* Case C31 with two files: each has its own handle of one memory. */
TEST_F(device, prime_self)
{
	int other = npu_open(), dma_buf, again;
	struct drm_npu_bo_info info;
	uint32_t same, theirs;
	struct npu_buf buf;
	void *map;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	dma_buf = npu_export(self->fd, buf.handle);
	ASSERT_LE(0, dma_buf);
	/* its own file gets the handle that it has */
	ASSERT_EQ(0, npu_import(self->fd, dma_buf, &same));
	EXPECT_EQ(buf.handle, same);
	ASSERT_EQ(0, npu_import(other, dma_buf, &theirs));
	again = npu_export(other, theirs);
	ASSERT_LE(0, again);

	ASSERT_EQ(0, npu_bo_info(other, theirs, &info));
	EXPECT_EQ(8192, info.size);
	EXPECT_EQ(0, info.address);
	EXPECT_EQ(0, info.flags);
	ASSERT_EQ(0, npu_bo_bind(other, theirs, 5 * NPU_BASE, 0));
	ASSERT_EQ(0, npu_bo_map(other, theirs, 8192, &map));
	memset(buf.map, 0x42, 64);
	EXPECT_EQ(0x42, *(char *)map);

	/* the first goes, the second stays usable by CPU and device */
	ASSERT_EQ(0, npu_buf_fini(self->fd, &buf));
	EXPECT_EQ(-EINVAL, npu_gem_close(self->fd, same));
	EXPECT_EQ(1, prime_copy(other, 5 * NPU_BASE, 5 * NPU_BASE + 4096));
	EXPECT_EQ(0, memcmp(map, map + 4096, 64));
	EXPECT_EQ(0, npu_gem_close(other, theirs));
	EXPECT_EQ(-EINVAL, npu_gem_close(other, theirs));
	EXPECT_EQ(0x42, *(char *)map);
	munmap(map, 8192);
	close(again);
	close(dma_buf);
	close(other);
}

/* A dma-buf keeps memory and contents when file and handle are gone. */
TEST_F(device, prime_outlives_file)
{
	int dma_buf, other;
	struct npu_buf buf;
	uint32_t handle;
	void *map;

	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 4096, NPU_BASE));
	dma_buf = npu_export(self->fd, buf.handle);
	ASSERT_LE(0, dma_buf);
	memset(buf.map, 0x77, 4096);
	npu_buf_fini(self->fd, &buf);
	close(self->fd);
	self->fd = -1;

	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, dma_buf, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, npu_dma_buf_sync(dma_buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	EXPECT_EQ(0x77, *(char *)map);
	EXPECT_EQ(0, npu_dma_buf_sync(dma_buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
	other = npu_open();
	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_import(other, dma_buf, &handle));
	EXPECT_EQ(0, npu_bo_bind(other, handle, NPU_BASE, 0));
	EXPECT_EQ(1, prime_copy(other, NPU_BASE, NPU_BASE + 1024));
	munmap(map, 4096);
	close(other);
	close(dma_buf);
}

TEST_F(device, prime_bad)
{
	uint32_t handle;
	int file;

	EXPECT_EQ(-ENOENT, npu_export(self->fd, 0));
	EXPECT_EQ(-ENOENT, npu_export(self->fd, ~0u));
	EXPECT_EQ(-EBADF, npu_import(self->fd, -1, &handle));
	file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	EXPECT_EQ(-EINVAL, npu_import(self->fd, file, &handle));
	close(file);
}

TEST_F(device, prime_udmabuf)
{
	const uint64_t size = 16 * NPU_PAGE;
	struct drm_npu_bo_info info;
	struct npu_udmabuf u;
	struct npu_buf buf;
	uint32_t handle;
	unsigned int i;
	int ret;

	ret = npu_udmabuf_init(&u, size);
	if (ret == -ENOENT || ret == -EACCES)
		SKIP(return, "no udmabuf");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_import(self->fd, u.dma_buf, &handle));
	ASSERT_EQ(0, npu_bo_info(self->fd, handle, &info));
	EXPECT_EQ(size, info.size);
	EXPECT_EQ(DRM_NPU_BO_INFO_IMPORTED, info.flags);
	EXPECT_EQ(0, info.mmap_offset);
	ASSERT_EQ(0, npu_bo_bind(self->fd, handle, 3 * NPU_BASE, 0));
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 4096, NPU_BASE));

	/* every page of it, in both directions */
	for (i = 0; i < 16; i++) {
		memset(buf.map, 0x60 + i, 64);
		ASSERT_EQ(1, prime_copy(self->fd, NPU_BASE, 3 * NPU_BASE + i * NPU_PAGE + 96));
		EXPECT_EQ(0x60 + i, u.map[i * NPU_PAGE + 96]);
		EXPECT_EQ(0x60 + i, u.map[i * NPU_PAGE + 96 + 63]);
		EXPECT_EQ(0, u.map[i * NPU_PAGE + 96 + 64]);
		memset(u.map + i * NPU_PAGE, 0x10 + i, 64);
		ASSERT_EQ(1, prime_copy(self->fd, 3 * NPU_BASE + i * NPU_PAGE, NPU_BASE + 512));
		EXPECT_EQ(0x10 + i, ((char *)buf.map)[512 + 63]);
	}
	EXPECT_EQ(0, npu_gem_close(self->fd, handle));
	npu_udmabuf_fini(&u, size);
}

/* An import is exported as what it is, mapped and synchronised by its owner. */
TEST_F(device, prime_reexport)
{
	const uint64_t size = 2 * NPU_PAGE;
	int other = npu_open(), dma_buf, ret;
	struct npu_udmabuf u;
	uint32_t a, b;
	char *map;

	ret = npu_udmabuf_init(&u, size);
	if (ret == -ENOENT || ret == -EACCES)
		SKIP(return, "no udmabuf");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_import(self->fd, u.dma_buf, &a));
	dma_buf = npu_export(self->fd, a);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, npu_import(other, dma_buf, &b));
	ASSERT_EQ(0, npu_bo_bind(self->fd, a, NPU_BASE, 0));
	ASSERT_EQ(0, npu_bo_bind(other, b, NPU_BASE, 0));
	u.map[0] = 0x31;
	EXPECT_EQ(0, npu_dma_buf_sync(dma_buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, dma_buf, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0x31, map[0]);
	EXPECT_EQ(0, npu_dma_buf_sync(dma_buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
	EXPECT_EQ(0, npu_gem_close(self->fd, a));
	EXPECT_EQ(1, prime_copy(other, NPU_BASE, NPU_BASE + 4096));
	EXPECT_EQ(0x31, map[4096]);
	munmap(map, size);
	close(dma_buf);
	close(other);
	npu_udmabuf_fini(&u, size);
}

/* The fences of jobs are those of the dma-buf, and BO_WAIT sees other drivers'. */
TEST_F(device, prime_implicit)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN), dma_buf, file, blocker;
	struct npu_request r;
	struct npu_stream s;
	struct pollfd pfd;
	uint32_t bo;

	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &bo));
	dma_buf = npu_export(self->fd, bo);
	ASSERT_LE(0, dma_buf);
	blocker = npu_block(NPU_RING_FETCH_MAIN, 300);
	ASSERT_LE(0, blocker);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	npu_request_bo(&r, bo, DRM_NPU_SUBMIT_BO_READ);
	ASSERT_EQ(0, npu_request_submit(self->fd, &r));
	/* one who would read need not wait for a reader, one who would write must */
	file = npu_dma_buf_fence(dma_buf, DMA_BUF_SYNC_READ);
	ASSERT_LE(0, file);
	EXPECT_EQ(1, npu_sync_file_status(file));
	close(file);
	file = npu_dma_buf_fence(dma_buf, DMA_BUF_SYNC_WRITE);
	ASSERT_LE(0, file);
	EXPECT_EQ(0, npu_sync_file_status(file));
	pfd = (struct pollfd){ .fd = dma_buf, .events = POLLOUT };
	EXPECT_EQ(1, poll(&pfd, 1, NPU_LONG_MS));
	EXPECT_EQ(1, npu_sync_file_status(file));
	close(file);
	close(dma_buf);
	close(blocker);
}

TEST_F(device, prime_foreign_fence)
{
	struct npu_vgem v;
	uint32_t handle;
	int ret;

	ret = npu_vgem_init(&v);
	if (ret == -ENODEV)
		SKIP(return, "no vgem");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_import(self->fd, v.dma_buf, &handle));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, handle, DRM_NPU_BO_WAIT_WRITE, 0));
	EXPECT_EQ(-ETIMEDOUT, npu_bo_wait(self->fd, handle, 0, npu_in_ms(10)));
	EXPECT_EQ(0, npu_bo_bind(self->fd, handle, NPU_BASE, 0));
	/* SUBMIT and the device do not wait for it */
	EXPECT_EQ(1, prime_copy(self->fd, NPU_BASE, NPU_BASE + 1024));
	ASSERT_EQ(0, npu_vgem_signal(&v));
	EXPECT_EQ(0, npu_bo_wait(self->fd, handle, 0, 0));
	npu_vgem_fini(&v);
}

TEST_HARNESS_MAIN
