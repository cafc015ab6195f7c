// SPDX-License-Identifier: GPL-2.0-only
/* Threads that do to each other what should not be done. */
#include "npu_foreign.h"
#include "npu_vdev.h"

NPU_FIXTURE(device)

#define RACE_MS	1500

struct racer {
	pthread_t thread;
	int fd;
	int64_t deadline;
	unsigned int seed, rounds, errors;
};

static uint32_t racer_random(struct racer *r, uint32_t n)
{
	r->seed = r->seed * 1103515245 + 12345;
	return (r->seed >> 16) % n;
}

static void race(struct __test_metadata *_metadata, int fd, void *(*first)(void *),
		 void *(*second)(void *))
{
	struct racer r[4] = { };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		r[i].fd = fd;
		r[i].seed = i + 1;
		r[i].deadline = npu_in_ms(RACE_MS);
		ASSERT_EQ(0, pthread_create(&r[i].thread, NULL, i % 2 ? second : first, &r[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(r[i].thread, NULL);
		EXPECT_LT(0, r[i].rounds);
		EXPECT_EQ(0, r[i].errors) TH_LOG("thread %u of %u rounds", i, r[i].rounds);
	}
	EXPECT_EQ(1, npu_alive(fd));
}

/* ---- queues: destroyed while others use them ---- */

static void *queue_churn(void *arg)
{
	struct racer *r = arg;
	struct npu_stream s;

	npu_stream_empty(&s);
	for (; npu_now() < r->deadline; r->rounds++) {
		int queue = npu_queue(r->fd, racer_random(r, NPU_RING_COUNT));

		if (queue < 0)
			continue;
		npu_submit(r->fd, queue, &s, 0, 0);
		/* another thread may have guessed the id */
		npu_queue_destroy(r->fd, queue);
	}
	return NULL;
}

static void *queue_guess(void *arg)
{
	struct racer *r = arg;
	struct drm_npu_queue_get_state state;
	struct npu_stream s;

	npu_stream_empty(&s);
	for (; npu_now() < r->deadline; r->rounds++) {
		uint32_t id = 1 + racer_random(r, 4);
		int ret = npu_submit(r->fd, id, &s, 0, 0);

		if (ret && ret != -ENOENT && ret != -EAGAIN)
			r->errors++;
		ret = npu_queue_state(r->fd, id, &state);
		if (ret && ret != -ENOENT)
			r->errors++;
		if (!racer_random(r, 8))
			npu_queue_destroy(r->fd, id);
	}
	return NULL;
}

TEST_F(device, race_queue_destroy)
{
	race(_metadata, self->fd, queue_churn, queue_guess);
}

/* ---- BOs: a handle is guessed and closed while it is being made ---- */

static void *bo_churn(void *arg)
{
	struct racer *r = arg;

	for (; npu_now() < r->deadline; r->rounds++) {
		uint64_t address = NPU_BASE + racer_random(r, 16) * 16 * NPU_PAGE;
		uint32_t bo;
		void *map;

		if (npu_bo_create(r->fd, NPU_PAGE * (1 + racer_random(r, 8)), &bo)) {
			r->errors++;
			continue;
		}
		npu_bo_bind(r->fd, bo, address, 0);
		if (!npu_bo_map(r->fd, bo, NPU_PAGE, &map)) {
			*(char *)map = 1;
			munmap(map, NPU_PAGE);
		}
		npu_gem_close(r->fd, bo);
	}
	return NULL;
}

static void *bo_guess(void *arg)
{
	struct racer *r = arg;
	struct drm_npu_bo_info info;
	struct npu_request req;
	struct npu_stream s;
	int queue = npu_queue(r->fd, NPU_RING_FETCH_MAIN);

	npu_stream_empty(&s);
	for (; npu_now() < r->deadline; r->rounds++) {
		uint32_t bo = 1 + racer_random(r, 5);
		int dma_buf;

		switch (racer_random(r, 7)) {
		case 0:
			npu_bo_bind(r->fd, bo, NPU_BASE + racer_random(r, 16) * 16 * NPU_PAGE, 0);
			break;
		case 1:
			npu_bo_unbind(r->fd, bo);
			break;
		case 2:
			npu_gem_close(r->fd, bo);
			break;
		case 3:
			npu_bo_info(r->fd, bo, &info);
			break;
		case 4:
			npu_bo_wait(r->fd, bo, 0, npu_in_ms(1));
			break;
		case 5:
			dma_buf = npu_export(r->fd, bo);
			if (dma_buf >= 0)
				close(dma_buf);
			break;
		default:
			npu_request_init(&req, queue, &s, 0);
			npu_request_bo(&req, bo, DRM_NPU_SUBMIT_BO_WRITE);
			npu_request_submit(r->fd, &req);
		}
	}
	npu_queue_destroy(r->fd, queue);
	return NULL;
}

TEST_F(device, race_bo_close)
{
	race(_metadata, self->fd, bo_churn, bo_guess);
}

/* ---- bindings: taken away from running jobs ---- */

static void *unbind_churn(void *arg)
{
	struct racer *r = arg;
	uint32_t bo;

	if (npu_bo_create(r->fd, 2 * NPU_PAGE, &bo)) {
		r->errors++;
		return NULL;
	}
	for (; npu_now() < r->deadline; r->rounds++) {
		/* two threads, one address: one of them succeeds */
		if (!npu_bo_bind(r->fd, bo, NPU_BASE, 0)) {
			if (racer_random(r, 2))
				usleep(racer_random(r, 3000));
			if (npu_bo_unbind(r->fd, bo))
				r->errors++;
		}
	}
	npu_gem_close(r->fd, bo);
	return NULL;
}

/* Each job ends well or with a fault, and a fault is told of. */
static void *unbind_submit(void *arg)
{
	struct racer *r = arg;
	struct drm_npu_queue_get_state state;
	struct npu_stream s;
	int i;

	npu_stream_init(&s);
	for (i = 0; i < 32; i++)
		npu_stream_copy(&s, NPU_BASE, NPU_BASE + NPU_PAGE, 4096);
	for (; npu_now() < r->deadline; r->rounds++) {
		int queue = npu_queue(r->fd, NPU_RING_FETCH_MAIN), ret;

		if (queue < 0) {
			r->errors++;
			continue;
		}
		ret = npu_run(r->fd, queue, &s, 0);
		if (ret == -EFAULT) {
			if (npu_queue_state(r->fd, queue, &state) ||
			    state.rule != NPU_RULE_ADDRESS_UNMAPPED)
				r->errors++;
		} else if (ret != 1) {
			r->errors++;
		}
		npu_queue_destroy(r->fd, queue);
	}
	return NULL;
}

TEST_F(device, race_unbind)
{
	race(_metadata, self->fd, unbind_churn, unbind_submit);
}

/* ---- locks: BOs listed in opposite orders ---- */

#define LOCK_BOS	24

static uint32_t lock_bos[LOCK_BOS];

static void lock_submit(struct racer *r, bool reverse)
{
	struct drm_npu_submit_bo bos[LOCK_BOS];
	int queue = npu_queue(r->fd, NPU_RING_FETCH_SUB), i;
	struct npu_request req;
	struct npu_stream s;

	npu_stream_empty(&s);
	for (i = 0; i < LOCK_BOS; i++) {
		bos[i].handle = lock_bos[reverse ? LOCK_BOS - 1 - i : i];
		bos[i].flags = DRM_NPU_SUBMIT_BO_WRITE;
	}
	npu_request_init(&req, queue, &s, 0);
	npu_request_bo(&req, 0, 0);
	req.arg.bos = npu_ptr(bos);
	req.arg.bo_count = LOCK_BOS;
	for (; npu_now() < r->deadline; r->rounds++) {
		int ret = npu_request_submit(r->fd, &req);

		if (ret && ret != -EAGAIN)
			r->errors++;
	}
	npu_queue_destroy(r->fd, queue);
}

static void *lock_forwards(void *arg)
{
	lock_submit(arg, false);
	return NULL;
}

static void *lock_backwards(void *arg)
{
	lock_submit(arg, true);
	return NULL;
}

TEST_F(device, race_lock_order)
{
	int i;

	for (i = 0; i < LOCK_BOS; i++) {
		ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &lock_bos[i]));
	}
	race(_metadata, self->fd, lock_forwards, lock_backwards);
}

/* ---- streams: rewritten while SUBMIT copies them ---- */

static struct npu_stream race_stream;

static void *stream_writer(void *arg)
{
	struct racer *r = arg;

	for (; npu_now() < r->deadline; r->rounds++) {
		unsigned int i;

		for (i = 0; i < 200; i++)
			race_stream.words[racer_random(r, 16)] ^= 1ull << racer_random(r, 64);
		npu_stream_empty(&race_stream);
	}
	return NULL;
}

static void *stream_submitter(void *arg)
{
	struct racer *r = arg;

	for (; npu_now() < r->deadline; r->rounds++) {
		int queue = npu_queue(r->fd, NPU_RING_FETCH_MAIN), ret;
		uint32_t out = npu_syncobj(r->fd, 0);
		struct npu_request req;

		npu_request_init(&req, queue, &race_stream, 0);
		req.job.size = 24;
		npu_request_out(&req, out, 0);
		ret = npu_request_submit(r->fd, &req);
		if (!ret)
			ret = npu_fence_end(r->fd, out);
		if (ret != 1 && ret != -EFAULT)
			r->errors++;
		npu_syncobj_destroy(r->fd, out);
		npu_queue_destroy(r->fd, queue);
	}
	return NULL;
}

TEST_F(device, race_stream)
{
	npu_stream_empty(&race_stream);
	race(_metadata, self->fd, stream_submitter, stream_writer);
}

TEST_HARNESS_MAIN
