// SPDX-License-Identifier: MIT
/* npu-demo: jobs, as an application makes them. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "demo.h"

#define REPEATS	5

static void check(int ret)
{
	if (ret)
		die("%s", npu_last_error());
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static struct npu_bo *make_bo(struct npu_device *dev, uint64_t bytes, const void *data)
{
	struct npu_bo *bo;
	void *map;

	check(npu_bo_create(dev, bytes ? bytes : 1, 0, &bo));
	check(npu_bo_map(bo, &map));
	if (data)
		memcpy(map, data, bytes);
	return bo;
}

static void *take(struct npu_bo *bo, uint64_t bytes)
{
	void *copy = malloc(bytes + 1);
	void *map;

	check(npu_bo_map(bo, &map));
	if (!copy)
		die("out of memory");
	memcpy(copy, map, bytes);
	npu_bo_destroy(bo);
	return copy;
}

/* The same job some times: the first one also pays for memory that was never touched. */
static void run(struct npu_device *dev, struct npu_stream *stream, uint32_t ring,
		struct outcome *o)
{
	struct npu_queue *queue;
	struct npu_fence fence;

	check(npu_queue_create(dev, ring, NPU_PRIORITY_NORMAL, &queue));
	for (int i = 0; i < REPEATS; i++) {
		double start = now(), seconds;

		check(npu_submit(queue, stream, NULL, &fence));
		check(npu_fence_wait(fence, npu_deadline(10000), &o->result));
		seconds = now() - start;
		if (!i || seconds < o->seconds)
			o->seconds = seconds;
	}
	npu_queue_destroy(queue);
	npu_stream_destroy(stream);
}

struct outcome job_preprocess(struct npu_device *dev, const struct loaded *in, uint32_t mode)
{
	uint64_t blocks = in->rows * ((in->cols + NPU_BLOCK_SIZE - 1) / NPU_BLOCK_SIZE);
	struct npu_preprocess cmd = NPU_PREPROCESS_INIT;
	bool symmetric = mode == NPU_PP_MODE_INT8_SYMMETRIC;
	struct outcome o = { 0 };
	struct npu_stream *stream;

	o.bytes = in->rows * in->cols * (mode == NPU_PP_MODE_FIXED27 ? 4 : 1);
	cmd.src = npu_at(make_bo(dev, in->bytes, in->data), 0);
	cmd.dst = npu_at(make_bo(dev, o.bytes, NULL), 0);
	cmd.emax = npu_at(make_bo(dev, blocks, NULL), 0);
	if (symmetric)
		cmd.scales = npu_at(make_bo(dev, blocks * sizeof(float), NULL), 0);
	cmd.rows = in->rows;
	cmd.cols = in->cols;
	cmd.mode = mode;
	check(npu_stream_create(dev, NPU_RING_PREPROCESS, &stream));
	check(npu_preprocess(stream, &cmd));
	run(dev, stream, NPU_RING_PREPROCESS, &o);
	o.out = take(cmd.dst.bo, o.bytes);
	o.emax = take(cmd.emax.bo, blocks);
	if (symmetric)
		o.scales = take(cmd.scales.bo, blocks * sizeof(float));
	npu_bo_destroy(cmd.src.bo);
	return o;
}

static struct npu_view view_of(const struct loaded *in, struct npu_bo *bo)
{
	struct npu_view view = NPU_VIEW_INIT;

	view.base = npu_at(bo, 0);
	view.type = in->type;
	view.count = in->rows * in->cols;
	return view;
}

struct outcome job_fetch(struct npu_device *dev, const struct loaded *in, uint32_t lookup,
			 uint32_t cast)
{
	struct npu_bo *src = make_bo(dev, in->bytes, in->data), *dst;
	struct npu_view view = view_of(in, src);
	struct outcome o = { 0 };
	struct npu_stream *stream;

	o.bytes = npu_type_bytes(cast ? cast : lookup ? lookup : in->type, view.count);
	dst = make_bo(dev, o.bytes, NULL);
	check(npu_stream_create(dev, NPU_RING_FETCH_MAIN, &stream));
	if (lookup && cast)
		npu_commit(npu_cast(npu_lookup(npu_fetch(stream, &view), lookup), cast),
			   npu_at(dst, 0));
	else if (lookup)
		npu_commit(npu_lookup(npu_fetch(stream, &view), lookup), npu_at(dst, 0));
	else
		npu_commit(npu_cast(npu_fetch(stream, &view), cast), npu_at(dst, 0));
	check(npu_stream_error(stream));
	run(dev, stream, NPU_RING_FETCH_MAIN, &o);
	o.out = take(dst, o.bytes);
	npu_bo_destroy(src);
	return o;
}

struct outcome job_contract(struct npu_device *dev, const struct loaded *in,
			    const struct loaded *weights)
{
	struct npu_bo *src = make_bo(dev, in->bytes, in->data), *dst;
	struct npu_view view = view_of(in, src);
	struct npu_weights w = NPU_WEIGHTS_INIT;
	struct outcome o = { 0 };
	struct npu_stream *stream;

	w.base = npu_at(make_bo(dev, weights->bytes, weights->data), 0);
	w.type = weights->type;
	w.n = (uint32_t)weights->rows;
	w.k = (uint32_t)weights->cols;
	o.bytes = in->rows * weights->rows * sizeof(int32_t);
	dst = make_bo(dev, o.bytes, NULL);
	check(npu_stream_create(dev, NPU_RING_FETCH_MAIN, &stream));
	npu_contract(npu_fetch(stream, &view), &w, npu_at(dst, 0));
	check(npu_stream_error(stream));
	run(dev, stream, NPU_RING_FETCH_MAIN, &o);
	o.out = take(dst, o.bytes);
	npu_bo_destroy(src);
	npu_bo_destroy(w.base.bo);
	return o;
}

void outcome_free(struct outcome *o)
{
	free(o->out);
	free(o->emax);
	free(o->scales);
}
