// SPDX-License-Identifier: MIT
/* Timelines, fences as file descriptors, deadlines, and that nothing of them is left over. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "device.h"

static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 && p.revents & POLLIN;
}

static void test_deadlines(void **state)
{
	struct npu_device *dev = open_with(0, 400);
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_fence fence, bad;

	assert_true(npu_deadline(-1) == INT64_MAX);
	assert_true(npu_deadline(INT64_MAX) == INT64_MAX);
	assert_true(npu_deadline(1000) > npu_deadline(0));
	must(npu_submit(queue, s, NULL, &fence));
	must(npu_fence_wait(fence, npu_deadline(-1), NULL));
	must(npu_fence_wait(fence, 0, NULL));
	must(npu_fence_wait(fence, -5, NULL));
	must(npu_fence_wait(fence, INT64_MIN, NULL));
	fence.point = 0;
	must(npu_fence_wait(fence, 0, NULL));
	fence.point = 2;
	must_fail(npu_fence_wait(fence, 0, NULL), EINVAL, "point 2 was not submitted");
	must_fail(npu_fence_wait((struct npu_fence){ 0 }, 0, NULL), EINVAL, "NULL");
	must(endless(s, make_bo(dev, ENDLESS_BYTES, NULL)));
	must(npu_submit(queue, s, NULL, &bad));
	must_fail(npu_fence_wait(bad, 0, NULL), ETIMEDOUT, "deadline");
	must_fail(npu_fence_wait(bad, INT64_MIN, NULL), ETIMEDOUT, "deadline");
	must_fail(npu_fence_wait(bad, npu_deadline(10), NULL), ETIMEDOUT, "deadline");
	must_fail(npu_fence_wait(bad, npu_deadline(-1), NULL), ETIME, "hung");
	npu_close(dev);
}

static void test_fd(void **state)
{
	struct npu_device *dev = open_with(0, 300);
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_fence done, hang;
	int a, b, c, ends[2];
	char byte;

	must(npu_submit(queue, s, NULL, &done));
	must(npu_fence_fd(done, &a));
	assert_true(fcntl(a, F_GETFD) & FD_CLOEXEC);
	assert_true(readable(a, 5000));
	must(npu_fence_wait(done, 0, NULL));
	must(npu_fence_fd(done, &b));
	assert_true(readable(b, 0));
	must(endless(s, make_bo(dev, ENDLESS_BYTES, NULL)));
	must(npu_submit(queue, s, NULL, &hang));
	must(npu_fence_fd(hang, &c));
	assert_false(readable(c, 20));
	/* It signals whatever became of the job; the wait tells. */
	assert_true(readable(c, 10000));
	assert_int_equal(npu_fence_wait(hang, 0, NULL), -ETIME);
	close(a);
	close(b);
	close(c);
	/* Closed before it signals: somebody else may get the number. */
	npu_queue_destroy(queue);
	queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	must(npu_submit(queue, s, NULL, &hang));
	must(npu_fence_fd(hang, &c));
	close(c);
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(npu_fence_wait(hang, npu_deadline(10000), NULL), -ETIME);
	assert_int_equal(read(ends[0], &byte, 1), -1);
	close(ends[0]);
	close(ends[1]);
	npu_close(dev);
}

static void test_own_timelines(void **state)
{
	struct npu_device *dev = open_device(), *other = open_device();
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_queue *sub = make_queue(dev, NPU_RING_FETCH_SUB);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *t = make_stream(dev, NPU_RING_FETCH_SUB);
	struct npu_submit_options options = NPU_SUBMIT_OPTIONS_INIT;
	struct npu_timeline *timeline, *theirs;
	struct npu_fence fence, wait;
	struct npu_result result;
	uint64_t point;

	must(npu_timeline_create(dev, &timeline));
	must(npu_timeline_create(other, &theirs));
	must(npu_timeline_query(timeline, &point));
	assert_int_equal(point, 0);
	fence = (struct npu_fence){ timeline, 10 };
	options.signal = &fence;
	options.signal_count = 1;
	must(npu_submit(queue, s, &options, NULL));
	must(npu_fence_wait(fence, npu_deadline(5000), &result));
	assert_int_equal(result.status, NPU_STATUS_PENDING);
	/* A point below the last one is signalled with it. */
	must(npu_fence_wait((struct npu_fence){ timeline, 3 }, 0, NULL));
	must_fail(npu_submit(queue, s, &options, NULL), EINVAL, "not above");
	fence.point = 20;
	wait = fence;
	options.wait = &wait;
	options.wait_count = 1;
	must_fail(npu_submit(queue, s, &options, NULL), EINVAL, "wait[0] is point 20");
	wait.point = 10;
	must(npu_submit(sub, t, &options, NULL));
	wait.point = 20;
	options.signal_count = 0;
	must(npu_submit(queue, s, &options, &fence));
	must(npu_fence_wait(fence, npu_deadline(5000), NULL));
	must(npu_timeline_query(timeline, &point));
	assert_int_equal(point, 20);
	wait.timeline = theirs;
	must_fail(npu_submit(queue, s, &options, NULL), EINVAL, "wait[0]");
	options.wait_count = 0;
	options.signal_count = 1;
	options.signal = &fence;
	fence.point = 100;
	must_fail(npu_submit(queue, s, &options, NULL), EINVAL, "npu_timeline_create()");
	options.flags = 1;
	must_fail(npu_submit(queue, s, &options, NULL), EINVAL, "flags is 0x1");
	npu_close(dev);
	npu_close(other);
}

/* Points of two queues: the later one does not signal before the earlier. */
static void test_timeline_order(void **state)
{
	struct npu_device *dev = open_with(0, 200);
	struct npu_queue *slow = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_queue *fast = make_queue(dev, NPU_RING_FETCH_SUB);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *t = make_stream(dev, NPU_RING_FETCH_SUB);
	struct npu_submit_options options = NPU_SUBMIT_OPTIONS_INIT;
	struct npu_timeline *timeline;
	struct npu_fence point, done;

	must(npu_timeline_create(dev, &timeline));
	must(endless(s, make_bo(dev, ENDLESS_BYTES, NULL)));
	options.signal = &point;
	options.signal_count = 1;
	point = (struct npu_fence){ timeline, 1 };
	must(npu_submit(slow, s, &options, NULL));
	point.point = 2;
	must(npu_submit(fast, t, &options, &done));
	must(npu_fence_wait(done, npu_deadline(5000), NULL));
	assert_int_equal(npu_fence_wait(point, 0, NULL), -ETIMEDOUT);
	must(npu_fence_wait(point, npu_deadline(10000), NULL));
	point.point = 1;
	must_fail(npu_fence_wait(point, 0, NULL), ETIME, "point 1");
	npu_close(dev);
}

/* With few descriptors: submit, export, wait, free, in all three ways it can end (C37). */
static void test_descriptors(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *broken = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_bo *bo = make_bo(dev, 4096, NULL);
	struct npu_timeline *timeline;
	struct npu_fence fence;
	struct rlimit before, few;
	unsigned int files;
	int i, fd, way;

	npu_commit_fetched(npu_fetch(broken, NULL), npu_at(bo, 0));
	must(copy(s, 0, bo, 0, 64, bo, 64));
	must(npu_submit(queue, s, NULL, &fence));
	must(npu_fence_wait(fence, npu_deadline(5000), NULL));
	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &few);
	files = open_files();
	for (way = 0; way < 3; way++) {
		for (i = 0; i < 5000; i++) {
			if (way == 1 && i % 2) {
				assert_int_equal(npu_submit(queue, broken, NULL, NULL), -EINVAL);
				continue;
			}
			must(npu_timeline_create(dev, &timeline));
			must(npu_submit(queue, s, NULL, &fence));
			must(npu_fence_fd(fence, &fd));
			if (way == 2)
				npu_fence_wait(fence, 1, NULL);
			else
				must(npu_fence_wait(fence, npu_deadline(5000), NULL));
			close(fd);
			npu_timeline_destroy(timeline);
			if (way == 2 && i % 16 == 15)
				must(npu_fence_wait(fence, npu_deadline(5000), NULL));
		}
		must(npu_fence_wait(fence, npu_deadline(5000), NULL));
		assert_int_equal(open_files(), files);
	}
	setrlimit(RLIMIT_NOFILE, &before);
	npu_close(dev);
}

/* Out of descriptors everything fails in words, and works again afterwards. */
static void test_no_descriptors(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_fence fence;
	struct rlimit before, none;
	struct npu_bo *bo;
	int fd;

	must(npu_submit(queue, s, NULL, &fence));
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	must_fail(npu_fence_fd(fence, &fd), EMFILE, "no file descriptor");
	must(npu_bo_create(dev, 4096, 0, &bo));
	assert_int_equal(npu_bo_export(bo, &fd), -EMFILE);
	must(copy(s, 0, bo, 0, 64, bo, 64));
	must(npu_submit(queue, s, NULL, &fence));
	must(npu_fence_wait(fence, npu_deadline(5000), NULL));
	setrlimit(RLIMIT_NOFILE, &before);
	npu_bo_destroy(bo);
	must(npu_fence_fd(fence, &fd));
	close(fd);
	npu_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_fd),
		cmocka_unit_test(test_own_timelines),
		cmocka_unit_test(test_timeline_order),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_no_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
