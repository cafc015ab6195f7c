// SPDX-License-Identifier: MIT
/*
 * 100,000 submits from eight threads: none is lost, none comes twice, and
 * (in a build with ThreadSanitizer) nobody races. Fewer on a device, which may be an
 * emulated one on an emulated machine.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "device.h"

#define THREADS	8

static struct npu_device *dev;
static struct npu_queue *shared[NPU_RING_COUNT];
static atomic_uint done;
static unsigned int total_jobs;

struct worker {
	pthread_t thread;
	unsigned int number;
	unsigned int failed;
	const char *where;
	struct npu_queue *queue;
	struct npu_bo *bo;
	uint32_t *words;
	struct npu_stream *stream;
	unsigned int submitted;
	uint64_t last;
};

#define WANT(cond) do {							\
		if (!(cond) && !w->failed++)				\
			w->where = #cond;				\
	} while (0)

/* Submits; a full queue is waited for. */
static struct npu_fence submit(struct worker *w, struct npu_queue *queue)
{
	struct npu_fence fence = { NULL, 0 };
	int ret;

	while ((ret = npu_submit(queue, w->stream, NULL, &fence)) == -EAGAIN)
		sched_yield();
	WANT(!ret);
	if (!ret) {
		w->submitted++;
		atomic_fetch_add(&done, 1);
	}
	return fence;
}

/* A copy whose result is looked at, every so often with a BO that is destroyed in flight. */
static void checked_job(struct worker *w, unsigned int i)
{
	struct npu_fence fence;
	struct npu_result result;
	struct npu_bo *extra = NULL;

	w->words[0] = i;
	npu_stream_reset(w->stream);
	WANT(!copy(w->stream, 0, w->bo, 0, 64, w->bo, 64));
	if (i % 4 == 0) {
		WANT(!npu_bo_create(dev, 4096, 0, &extra));
		WANT(!copy(w->stream, 0, w->bo, 0, 64, extra, 0));
	}
	fence = submit(w, w->queue);
	npu_bo_destroy(extra);
	WANT(fence.point == w->last + 1 || w->failed);
	w->last = fence.point;
	WANT(!npu_fence_wait(fence, npu_deadline(60000), &result));
	WANT(result.status == NPU_STATUS_OK);
	WANT(w->words[16] == i);
	npu_stream_reset(w->stream);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct npu_queue *queue = shared[NPU_RING_FETCH_MAIN];
	struct npu_fence fence = { NULL, 0 }, before = fence;
	unsigned int i;

	for (i = 0; i < total_jobs / THREADS && !w->failed; i++) {
		if (i % 50 == 0) {
			checked_job(w, i);
			continue;
		}
		before = fence;
		fence = submit(w, i % 3 ? queue : w->queue);
		if (i % 3 == 0)
			w->last = fence.point;
		if (i % 200 == 199)
			WANT(!npu_fence_wait(before, npu_deadline(60000), NULL));
	}
	WANT(!npu_fence_wait(fence, npu_deadline(60000), NULL));
	return NULL;
}

static void test_threads(void **state)
{
	struct worker workers[THREADS];
	struct npu_fence last;
	unsigned int i, total = 0;

	total_jobs = on_emulation() ? 100000 : 8000;
	dev = open_device();
	shared[0] = make_queue(dev, NPU_RING_FETCH_MAIN);
	memset(workers, 0, sizeof(workers));
	for (i = 0; i < THREADS; i++) {
		workers[i].number = i;
		workers[i].queue = make_queue(dev, NPU_RING_FETCH_MAIN);
		workers[i].stream = make_stream(dev, NPU_RING_FETCH_MAIN);
		workers[i].bo = make_bo(dev, 4096, &workers[i].words);
	}
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	for (i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		if (workers[i].failed)
			print_error("thread %u: %s\n", i, workers[i].where);
		assert_int_equal(workers[i].failed, 0);
		total += workers[i].submitted;
	}
	assert_int_equal(total, total_jobs);
	assert_int_equal(atomic_load(&done), total_jobs);
	must(npu_submit(shared[0], workers[0].stream, NULL, &last));
	must(npu_fence_wait(last, npu_deadline(60000), NULL));
	/* Each thread's share of the points, and this one. */
	total = 1;
	for (i = 0; i < total_jobs / THREADS; i++)
		total += i % 50 && i % 3 ? THREADS : 0;
	assert_int_equal(last.point, total);
	npu_close(dev);
}

/* Queues and timelines come and go while others submit. */
static void *churn(void *arg)
{
	struct worker *w = arg;
	unsigned int i;

	for (i = 0; i < total_jobs / 400 && !w->failed; i++) {
		struct npu_submit_options options = NPU_SUBMIT_OPTIONS_INIT;
		struct npu_timeline *timeline;
		struct npu_queue *queue;
		struct npu_fence point;

		WANT(!npu_queue_create(dev, w->number % 3, NPU_PRIORITY_LOW, &queue));
		WANT(!npu_timeline_create(dev, &timeline));
		if (w->failed)
			break;
		point = (struct npu_fence){ timeline, 7 };
		options.signal = &point;
		options.signal_count = 1;
		WANT(!npu_submit(queue, w->stream, &options, NULL));
		if (i % 2)
			WANT(!npu_fence_wait(point, npu_deadline(60000), NULL));
		npu_queue_destroy(queue);
		WANT(npu_fence_wait(point, 0, NULL) != -ETIMEDOUT);
		npu_timeline_destroy(timeline);
	}
	return NULL;
}

static void test_churn(void **state)
{
	struct worker workers[6];
	unsigned int i;

	dev = open_device();
	memset(workers, 0, sizeof(workers));
	for (i = 0; i < 6; i++) {
		workers[i].number = i;
		workers[i].stream = make_stream(dev, i % 3);
		assert_int_equal(pthread_create(&workers[i].thread, NULL, churn, &workers[i]), 0);
	}
	for (i = 0; i < 6; i++) {
		pthread_join(workers[i].thread, NULL);
		if (workers[i].failed)
			print_error("thread %u: %s\n", i, workers[i].where);
		assert_int_equal(workers[i].failed, 0);
	}
	npu_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_churn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
