// SPDX-License-Identifier: MIT
/* Buffer objects: memory, addresses, sharing, and what outlives what. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "../../lib/device.h"	/* for its window of addresses */

static void test_create(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_device_info info = NPU_DEVICE_INFO_INIT;
	struct npu_bo *bo;
	unsigned char *p;
	void *again;
	size_t i;

	must(npu_get_info(dev, &info));
	bo = make_bo(dev, 5000, &p);
	assert_int_equal(npu_bo_size(bo), 8192);
	assert_int_equal(npu_bo_address(bo) % info.page_size, 0);
	for (i = 0; i < 8192; i++)
		assert_int_equal(p[i], 0);
	must(npu_bo_map(bo, &again));
	assert_ptr_equal(again, p);
	npu_bo_destroy(bo);
	npu_bo_destroy(NULL);
	must_fail(npu_bo_create(dev, 0, 0, &bo), EINVAL, "bytes is 0");
	must_fail(npu_bo_create(dev, UINT64_MAX, 0, &bo), EINVAL, "18446744073709551615");
	must_fail(npu_bo_create(dev, info.max_bo_size + 1, 0, &bo), EINVAL, "at most");
	must_fail(npu_bo_create(dev, 4096, 8, &bo), EINVAL, "0x8");
	must_fail(npu_bo_create(NULL, 4096, 0, &bo), EINVAL, "NULL");
	must_fail(npu_bo_create(dev, 4096, 0, NULL), EINVAL, "NULL");
	npu_close(dev);
}

static void test_create_at(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_bo *a, *b, *c;

	must(npu_bo_create_at(dev, 8192, 0, 0x7000000, &a));
	assert_int_equal(npu_bo_address(a), 0x7000000);
	must_fail(npu_bo_create_at(dev, 8192, 0, 0x7001000, &b), EEXIST, "overlap");
	must(npu_bo_create_at(dev, 4096, 0, 0x7002000, &b));
	must_fail(npu_bo_create_at(dev, 4096, 0, 0x7003001, &c), EINVAL, "multiple");
	must_fail(npu_bo_create_at(dev, 4096, 0, 0, &c), EINVAL, "multiple");
	must_fail(npu_bo_create_at(dev, 8192, 0, (1ull << 39) - 4096, &c), EINVAL, "multiple");
	must_fail(npu_bo_create_at(dev, 4096, 0, UINT64_MAX - 4095, &c), EINVAL, "multiple");
	must(npu_bo_create_at(dev, 4096, 0, (1ull << 39) - 4096, &c));
	npu_bo_destroy(a);
	must(npu_bo_create_at(dev, 8192, 0, 0x7000000, &a));
	npu_close(dev);
}

/* The same calls give the same addresses, whatever queues and jobs there are. */
static void test_addresses(void **state)
{
	uint64_t first[40];
	int round, i;

	for (round = 0; round < 2; round++) {
		struct npu_device *dev = open_device();
		struct npu_bo *bos[40] = { NULL };

		for (i = 0; i < 40; i++) {
			if (round && i % 7 == 0)
				make_queue(dev, NPU_RING_PREPROCESS);
			bos[i] = make_bo(dev, 4096u * (unsigned int)(1 + i % 5), NULL);
			if (i % 3 == 2) {
				npu_bo_destroy(bos[i - 1]);
				bos[i - 1] = NULL;
			}
			if (!round)
				first[i] = npu_bo_address(bos[i]);
			else
				assert_int_equal(npu_bo_address(bos[i]), first[i]);
		}
		npu_close(dev);
	}
}

static void test_readonly(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_bo *src = make_bo(dev, 4096, NULL), *ro;

	must(npu_bo_create(dev, 4096, NPU_BO_DEVICE_RDONLY, &ro));
	must_fail(copy(s, 0, src, 0, 64, ro, 0), EINVAL, "address-readonly");
	npu_stream_reset(s);
	must(copy(s, 0, ro, 0, 64, src, 0));
	npu_close(dev);
}

static void test_share(void **state)
{
	struct npu_device *dev = open_device(), *other = open_device();
	struct npu_bo *bo, *mine, *theirs;
	unsigned char *p, *q;
	int fd;

	bo = make_bo(dev, 8192, &p);
	memset(p, 0x5a, 8192);
	must(npu_bo_export(bo, &fd));
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	must(npu_bo_import(other, fd, 0, &theirs));
	must(npu_bo_map(theirs, (void **)&q));
	assert_int_equal(npu_bo_size(theirs), 8192);
	assert_int_equal(q[8191], 0x5a);
	q[0] = 1;
	assert_int_equal(p[0], 1);

	/* The device has it already: the same BO, twice to be destroyed. */
	must(npu_bo_import(dev, fd, 0, &mine));
	assert_ptr_equal(mine, bo);
	must_fail(npu_bo_import(dev, fd, NPU_BO_DEVICE_RDONLY, &mine), EEXIST, "already");
	close(fd);
	npu_bo_destroy(bo);
	p[1] = 2;
	assert_int_equal(q[1], 2);
	npu_bo_destroy(bo);
	assert_int_equal(q[1], 2);
	npu_close(dev);
	q[2] = 3;
	npu_close(other);
}

static void test_import_refused(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_bo *bo;
	char name[] = "/tmp/npu-test-XXXXXX";
	int fd;

	must_fail(npu_bo_import(dev, -1, 0, &bo), EBADF, "no open file descriptor");
	fd = mkstemp(name);
	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(ftruncate(fd, 8192), 0);
	/* A file may shrink under the mapping. */
	assert_int_equal(npu_bo_import(dev, fd, 0, &bo), -EINVAL);
	close(fd);
	if (on_emulation()) {
		fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		assert_int_equal(ftruncate(fd, 5000), 0);
		must_fail(npu_bo_import(dev, fd, 0, &bo), EINVAL, "5000");
		close(fd);
		fd = memfd_create("test", MFD_CLOEXEC);
		assert_int_equal(ftruncate(fd, 8192), 0);
		must_fail(npu_bo_import(dev, fd, 0, &bo), EINVAL, "sealed");
		close(fd);
	}
	npu_close(dev);
}

/* A BO that a job uses may go; the job reads what it held. */
static void test_destroy_in_use(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_fence fence;
	struct npu_bo *src, *dst;
	signed char *in;
	int32_t *out;
	int i, round;

	dst = make_bo(dev, 4 << 20, &out);
	for (round = 0; round < 20; round++) {
		src = make_bo(dev, 1 << 20, &in);
		memset(in, round + 1, 1 << 20);
		npu_stream_reset(s);
		must(widen(s, src, 0, 1 << 20, dst, 0));
		must(npu_submit(queue, s, NULL, &fence));
		npu_bo_destroy(src);
		must_fail(npu_submit(queue, s, NULL, NULL), EINVAL, "destroyed");
		must(npu_fence_wait(fence, npu_deadline(10000), NULL));
		for (i = 0; i < 1 << 20; i += 4099)
			assert_int_equal(out[i], round + 1);
	}
	must(npu_bo_wait(dst, npu_deadline(1000)));
	npu_close(dev);
}

static void test_wait(void **state)
{
	struct npu_device *dev = open_with(0, 500);
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_bo *bo = make_bo(dev, ENDLESS_BYTES, NULL), *idle = make_bo(dev, 4096, NULL);

	must(npu_bo_wait(bo, 0));
	must(endless(s, bo));
	must(npu_submit(queue, s, NULL, NULL));
	must_fail(npu_bo_wait(bo, 0), ETIMEDOUT, "still uses");
	must_fail(npu_bo_wait(bo, npu_deadline(20)), ETIMEDOUT, "still uses");
	must(npu_bo_wait(idle, 0));
	must(npu_bo_wait(bo, npu_deadline(10000)));
	npu_close(dev);
}

/*
 * When the addresses have gone round, a range is used again only after the jobs that
 * used it have ended: the next BO waits for that instead of going elsewhere.
 */
static void test_wrap(void **state)
{
	struct npu_device *dev = open_with(0, 300);
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_bo *busy = make_bo(dev, ENDLESS_BYTES, NULL), *next;
	struct npu_fence fence;
	uint64_t address = npu_bo_address(busy);

	dev->window.end = address + npu_bo_size(busy) + 3 * 4096;
	must(endless(s, busy));
	must(npu_submit(queue, s, NULL, &fence));
	npu_stream_destroy(s);
	npu_bo_destroy(busy);
	next = make_bo(dev, 4096, NULL);
	assert_int_equal(npu_bo_address(next), address + ENDLESS_BYTES / 4096 * 4096 + 4096);
	assert_int_equal(npu_fence_wait(fence, 0, NULL), -ETIMEDOUT);
	next = make_bo(dev, 4096, NULL);
	assert_int_equal(npu_bo_address(next), address);
	assert_int_equal(npu_fence_wait(fence, 0, NULL), -ETIME);
	must_fail(npu_bo_create(dev, ENDLESS_BYTES, 0, &next), ENOSPC, "no gap");
	npu_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_create_at),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_readonly),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_import_refused),
		cmocka_unit_test(test_destroy_in_use),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
