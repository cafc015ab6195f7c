// SPDX-License-Identifier: MIT
/* Jobs: results, order, faults, hangs, and what becomes of the rest. */
#include <pthread.h>
#include <unistd.h>

#include "device.h"

static void fill(signed char *p, size_t n, int seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (signed char)(i * 7 + (size_t)seed);
}

static void check_widened(const signed char *in, const int32_t *out, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		assert_int_equal(out[i], in[i]);
}

static void run_widen(uint32_t flags)
{
	struct npu_device *dev = open_with(flags, 0);
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_bo *src, *dst;
	struct npu_result result;
	struct npu_fence fence;
	signed char *in;
	int32_t *out;
	size_t n;

	src = make_bo(dev, 40000, &in);
	dst = make_bo(dev, 160000, &out);
	fill(in, 40000, 3);
	for (n = 1; n < 39000; n = n * 3 + 1) {
		npu_stream_reset(s);
		must(widen(s, src, n % 5, n, dst, 0));
		must(npu_submit(queue, s, NULL, &fence));
		must(npu_fence_wait(fence, npu_deadline(10000), &result));
		assert_int_equal(result.status, NPU_STATUS_OK);
		assert_int_equal(result.elements_in, n);
		assert_int_equal(result.elements_out, n);
		assert_true(result.cycles >= n / 8);
		assert_true(result.clock_end >= result.clock_start);
		check_widened(in + n % 5, out, n);
		assert_int_equal(out[n], 0);
	}
	npu_close(dev);
}

static void test_result(void **state)
{
	run_widen(0);
}

static void test_scattered(void **state)
{
	run_widen(NPU_OPEN_SCATTER);
}

/* What the builder makes does not depend on where the memory lies. */
static void test_same_streams(void **state)
{
	const void *data[2];
	uint32_t size[2];
	int i;

	for (i = 0; i < 2; i++) {
		struct npu_device *dev = open_with(i ? NPU_OPEN_SCATTER : 0, 0);
		struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
		struct npu_bo *src = make_bo(dev, 10000, NULL), *dst = make_bo(dev, 40000, NULL);

		must(widen(s, src, 1, 9997, dst, 3));
		must(npu_lut_load(s, 1, NPU_TYPE_I8, NPU_TYPE_U16, npu_at(src, 17)));
		must(npu_stream_data(s, &data[i], &size[i]));
		data[i] = memcpy(malloc(size[i]), data[i], size[i]);
		npu_close(dev);
	}
	assert_int_equal(size[0], size[1]);
	assert_memory_equal(data[0], data[1], size[0]);
	free((void *)data[0]);
	free((void *)data[1]);
}

/* The stream is copied: what happens to it afterwards does not matter. */
static void test_stream_copied(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_bo *src, *dst;
	struct npu_fence fence;
	signed char *in;
	int32_t *out;
	int i;

	src = make_bo(dev, 64 * 64, &in);
	dst = make_bo(dev, 64 * 64 * 4, &out);
	fill(in, 64 * 64, 9);
	for (i = 0; i < 64; i++) {
		npu_stream_reset(s);
		must(widen(s, src, 64u * (unsigned int)i, 64, dst, 256u * (unsigned int)i));
		must(npu_submit(queue, s, NULL, &fence));
	}
	npu_stream_destroy(s);
	must(npu_fence_wait(fence, npu_deadline(10000), NULL));
	check_widened(in, out, 64 * 64);
	npu_close(dev);
}

/* Each job reads what the one before it wrote. */
static void test_in_order(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *streams[50];
	struct npu_fence fence;
	struct npu_bo *bo;
	signed char *p;
	int i;

	bo = make_bo(dev, 52 * 4096, &p);
	memset(p, 0x35, 4096);
	for (i = 0; i < 50; i++) {
		streams[i] = make_stream(dev, NPU_RING_FETCH_MAIN);
		must(copy(streams[i], 0, bo, 4096u * (unsigned int)i, 4096, bo,
			  4096u * (unsigned int)(i + 1)));
	}
	must(npu_submit_many(queue, streams, 50, NULL, &fence));
	assert_int_equal(fence.point, 50);
	must(npu_fence_wait(fence, npu_deadline(10000), NULL));
	assert_int_equal(p[50 * 4096 + 4095], 0x35);
	npu_close(dev);
}

/* All three rings at once, one waiting for the others by fences. */
static void test_across_queues(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_queue *main_queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_queue *sub_queue = make_queue(dev, NPU_RING_FETCH_SUB);
	struct npu_queue *pp_queue = make_queue(dev, NPU_RING_PREPROCESS);
	struct npu_stream *m = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_SUB);
	struct npu_stream *p = make_stream(dev, NPU_RING_PREPROCESS);
	struct npu_submit_options options = NPU_SUBMIT_OPTIONS_INIT;
	struct npu_preprocess pp = NPU_PREPROCESS_INIT;
	struct npu_fence fences[2], last;
	struct npu_bo *a, *b, *c;
	uint16_t *in;
	int32_t *out;
	int i, round;

	a = make_bo(dev, 1 << 16, &in);
	b = make_bo(dev, 1 << 16, NULL);
	c = make_bo(dev, 1 << 18, &out);
	for (round = 0; round < 50; round++) {
		for (i = 0; i < 1 << 15; i++)
			in[i] = (uint16_t)(0x3f80 + (round & 7) * 16);
		npu_stream_reset(m);
		npu_stream_reset(s);
		npu_stream_reset(p);
		must(copy(m, 0, a, 0, 1 << 15, b, 0));
		must(copy(s, 1, a, 1 << 15, 1 << 15, b, 1 << 15));
		pp.src = npu_at(b, 0);
		pp.dst = npu_at(c, 0);
		pp.rows = 1;
		pp.cols = 1 << 15;
		pp.mode = NPU_PP_MODE_FIXED27;
		must(npu_preprocess(p, &pp));
		must(npu_submit(main_queue, m, NULL, &fences[0]));
		must(npu_submit(sub_queue, s, NULL, &fences[1]));
		options.wait = fences;
		options.wait_count = 2;
		must(npu_submit(pp_queue, p, &options, &last));
		must(npu_fence_wait(last, npu_deadline(10000), NULL));
		for (i = 0; i < 1 << 15; i += 97)
			assert_int_equal(out[i], (128 + (round & 7) * 16) << 12);
	}
	npu_close(dev);
}

static void test_fault(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN), *other;
	struct npu_stream *streams[3] = {
		make_stream(dev, NPU_RING_FETCH_MAIN), make_stream(dev, NPU_RING_FETCH_MAIN),
		make_stream(dev, NPU_RING_FETCH_MAIN),
	};
	struct npu_queue_state qs = NPU_QUEUE_STATE_INIT;
	struct npu_fence good, bad, after;
	struct npu_result result;

	must(npu_submit(queue, streams[0], NULL, &good));
	stray(streams[1]);
	must(npu_submit_many(queue, streams, 2, NULL, &bad));
	if (npu_submit(queue, streams[2], NULL, &after))
		after.point = 0;
	must(npu_fence_wait(good, npu_deadline(5000), NULL));
	must_fail(npu_fence_wait(bad, npu_deadline(5000), &result), EFAULT, "address-unmapped");
	assert_non_null(strstr(npu_last_error(), "0x4000000000"));
	assert_int_equal(result.status, NPU_STATUS_FAULT);
	assert_int_equal(result.rule, NPU_RULE_ADDRESS_UNMAPPED);
	assert_int_equal(result.command, 0);
	assert_int_equal(result.fault_address, 0x4000000000);
	if (after.point)
		must_fail(npu_fence_wait(after, npu_deadline(5000), &result), ECANCELED,
			  "cancelled");
	must_fail(npu_submit(queue, streams[0], NULL, NULL), EIO, "dead");
	must(npu_queue_get_state(queue, &qs));
	assert_int_equal(qs.faulted, 1);
	assert_int_equal(qs.rule, NPU_RULE_ADDRESS_UNMAPPED);
	assert_int_equal(qs.job, bad.point);
	assert_int_equal(qs.fault_address, 0x4000000000);
	/* Others go on, and the waits' answers stay what they were. */
	other = make_queue(dev, NPU_RING_FETCH_MAIN);
	must(npu_submit(other, streams[0], NULL, &after));
	must(npu_fence_wait(after, npu_deadline(5000), NULL));
	assert_int_equal(npu_fence_wait(bad, 0, NULL), -EFAULT);
	must(npu_fence_wait(good, 0, NULL));
	must(npu_queue_get_state(other, &qs));
	assert_int_equal(qs.faulted, 0);
	npu_close(dev);
}

/* The hang ends in time, its queue dies, everybody else's jobs succeed (C35). */
static void test_hang(void **state)
{
	struct npu_device *a = open_with(0, 150), *b = open_with(0, 150);
	struct npu_stream *bad = make_stream(a, NPU_RING_FETCH_MAIN);
	struct npu_stream *good = make_stream(a, NPU_RING_FETCH_MAIN);
	struct npu_stream *theirs = make_stream(b, NPU_RING_FETCH_MAIN);
	struct npu_queue *theirs_queue = make_queue(b, NPU_RING_FETCH_MAIN);
	struct npu_queue *healthy = make_queue(a, NPU_RING_FETCH_MAIN);
	int round, rounds = on_emulation() ? 5 : 2, i;

	must(endless(bad, make_bo(a, ENDLESS_BYTES, NULL)));
	for (round = 0; round < rounds; round++) {
		struct npu_queue *queue = make_queue(a, NPU_RING_FETCH_MAIN);
		struct npu_queue_state qs = NPU_QUEUE_STATE_INIT;
		struct npu_fence hang, later[3], fences[10], mine;
		struct npu_result result;

		must(npu_submit(queue, bad, NULL, &hang));
		for (i = 0; i < 3; i++)
			must(npu_submit(queue, good, NULL, &later[i]));
		must(npu_submit(healthy, good, NULL, &mine));
		for (i = 0; i < 10; i++)
			must(npu_submit(theirs_queue, theirs, NULL, &fences[i]));
		must_fail(npu_fence_wait(hang, npu_deadline(8000), &result), ETIME, "hung");
		assert_int_equal(result.status, NPU_STATUS_PENDING);
		for (i = 0; i < 3; i++)
			must_fail(npu_fence_wait(later[i], npu_deadline(1000), NULL), ECANCELED,
				  "cancelled");
		for (i = 0; i < 10; i++)
			must(npu_fence_wait(fences[i], npu_deadline(20000), NULL));
		must(npu_fence_wait(mine, npu_deadline(5000), NULL));
		must_fail(npu_submit(queue, good, NULL, NULL), EIO, "hang");
		must(npu_queue_get_state(queue, &qs));
		assert_int_equal(qs.rule, NPU_RULE_HANG);
		npu_queue_destroy(queue);
	}
	npu_close(a);
	npu_close(b);
}

static int64_t now_ms(void)
{
	return npu_deadline(0) / 1000000;
}

/* Closing stops what runs; in emulation at once. */
static void test_close_running(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	int64_t start;
	int i;

	must(endless(s, make_bo(dev, ENDLESS_BYTES, NULL)));
	for (i = 0; i < 5; i++)
		must(npu_submit(queue, s, NULL, NULL));
	usleep(20000);
	start = now_ms();
	npu_close(dev);
	/* The rest is room for a busy machine. */
	assert_true(now_ms() - start < (on_emulation() ? 1000 : 5000));
}

static void test_destroy_queue(void **state)
{
	struct npu_device *dev = open_with(0, 200);
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_submit_options options = NPU_SUBMIT_OPTIONS_INIT;
	struct npu_timeline *timeline;
	struct npu_fence end;
	uint64_t point;

	must(npu_timeline_create(dev, &timeline));
	must(endless(s, make_bo(dev, ENDLESS_BYTES, NULL)));
	must(npu_submit(queue, s, NULL, NULL));
	npu_stream_reset(s);
	end = (struct npu_fence){ timeline, 5 };
	options.signal = &end;
	options.signal_count = 1;
	must(npu_submit(queue, s, &options, NULL));
	npu_queue_destroy(queue);
	must(npu_timeline_query(timeline, &point));
	assert_int_equal(point, 5);
	/* It never started. */
	assert_true(npu_fence_wait(end, 0, NULL) == -ESRCH ||
		    npu_fence_wait(end, 0, NULL) == -ECANCELED);
	queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	must(npu_submit(queue, s, NULL, &end));
	must(npu_fence_wait(end, npu_deadline(5000), NULL));
	npu_close(dev);
}

/* What waits on a busy ring: high before normal before low, each kind in order. */
static void test_priority(void **state)
{
	static const uint32_t priorities[] = {
		NPU_PRIORITY_LOW, NPU_PRIORITY_NORMAL, NPU_PRIORITY_LOW, NPU_PRIORITY_HIGH,
	};
	static const unsigned int order[] = { 3, 1, 0, 2 };
	struct npu_device *dev = open_with(0, 200);
	struct npu_queue *first = make_queue(dev, NPU_RING_FETCH_MAIN), *queues[4];
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_result results[4];
	struct npu_fence fences[4];
	unsigned int i;

	must(endless(s, make_bo(dev, ENDLESS_BYTES, NULL)));
	must(npu_submit(first, s, NULL, NULL));
	npu_stream_reset(s);
	for (i = 0; i < 4; i++) {
		int ret = npu_queue_create(dev, NPU_RING_FETCH_MAIN, priorities[i], &queues[i]);

		if (ret == -EACCES && priorities[i] == NPU_PRIORITY_HIGH) {
			assert_non_null(strstr(npu_last_error(), "CAP_SYS_NICE"));
			npu_close(dev);
			skip();
		}
		must(ret);
		must(npu_submit(queues[i], s, NULL, &fences[i]));
	}
	for (i = 0; i < 4; i++)
		must(npu_fence_wait(fences[i], npu_deadline(10000), &results[i]));
	for (i = 0; i < 3; i++)
		assert_true(results[order[i]].clock_start <= results[order[i + 1]].clock_start);
	npu_close(dev);
}

/* A point inside of a submit of several jobs tells of its own job. */
static void test_inner_point(void **state)
{
	struct npu_device *dev = open_device();
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *streams[3] = {
		make_stream(dev, NPU_RING_FETCH_MAIN), make_stream(dev, NPU_RING_FETCH_MAIN),
		make_stream(dev, NPU_RING_FETCH_MAIN),
	};
	struct npu_fence fence;

	stray(streams[1]);
	must(npu_submit_many(queue, streams, 3, NULL, &fence));
	assert_int_equal(fence.point, 3);
	fence.point = 1;
	must(npu_fence_wait(fence, npu_deadline(5000), NULL));
	fence.point = 2;
	must_fail(npu_fence_wait(fence, npu_deadline(5000), NULL), EFAULT, "job 2");
	fence.point = 3;
	must_fail(npu_fence_wait(fence, npu_deadline(5000), NULL), ECANCELED, "job 3");
	npu_close(dev);
}

static void test_limits(void **state)
{
	struct npu_device *dev = open_with(0, 300);
	struct npu_device_info info = NPU_DEVICE_INFO_INIT;
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *empty = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *sub = make_stream(dev, NPU_RING_FETCH_SUB);
	struct npu_stream *many[1];
	struct npu_queue *queue;
	uint32_t i, made = 1;
	int ret;

	must(npu_get_info(dev, &info));
	queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	must(endless(s, make_bo(dev, ENDLESS_BYTES, NULL)));
	must(npu_submit(queue, s, NULL, NULL));
	for (i = 1; i < info.max_in_flight; i++)
		must(npu_submit(queue, empty, NULL, NULL));
	must_fail(npu_submit(queue, empty, NULL, NULL), EAGAIN, "unfinished");
	must_fail(npu_submit(queue, sub, NULL, NULL), EINVAL, "fetch-sub");
	many[0] = empty;
	must_fail(npu_submit_many(queue, many, 0, NULL, NULL), EINVAL, "0 jobs");
	must_fail(npu_submit_many(queue, many, info.max_jobs + 1, NULL, NULL), EINVAL, "jobs");
	must_fail(npu_submit(NULL, empty, NULL, NULL), EINVAL, "queue is NULL");
	must_fail(npu_submit(queue, NULL, NULL, NULL), EINVAL, "stream is NULL");
	do {
		struct npu_queue *more;

		ret = npu_queue_create(dev, i++ % 3, NPU_PRIORITY_LOW, &more);
		made += !ret;
	} while (!ret);
	assert_int_equal(ret, -ENOSPC);
	assert_int_equal(made, info.max_queues);
	must_fail(npu_queue_create(dev, 3, NPU_PRIORITY_LOW, &queue), EINVAL, "ring is 3");
	must_fail(npu_queue_create(dev, 0, 3, &queue), EINVAL, "priority is 3");
	npu_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_result),
		cmocka_unit_test(test_scattered),
		cmocka_unit_test(test_same_streams),
		cmocka_unit_test(test_stream_copied),
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_across_queues),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_hang),
		cmocka_unit_test(test_close_running),
		cmocka_unit_test(test_destroy_queue),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_inner_point),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
