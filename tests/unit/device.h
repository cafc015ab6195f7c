/* SPDX-License-Identifier: MIT */
/*
 * What tests of the library share: the device of NPU_DEVICE (emulation without it), so that the
 * same programs run against /dev/accel/accelN, and commands that are easy to judge.
 */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <npu.h>

static inline const char *device_name(void)
{
	const char *name = getenv("NPU_DEVICE");

	return name && *name ? name : "emu";
}

static inline int on_emulation(void)
{
	return !strcmp(device_name(), "emu");
}

/* Success, or the library's own sentence in the test's output. */
#define must(call)								\
	do {									\
		int ret_ = (call);						\
										\
		if (ret_) {							\
			print_error("%s: %d: %s\n", #call, ret_, npu_last_error());	\
			fail();							\
		}								\
	} while (0)

/* Failure with @err and a sentence that has @part in it. */
#define must_fail(call, err, part)						\
	do {									\
		int ret_ = (call);						\
										\
		if (ret_ != -(err) || !strstr(npu_last_error(), part)) {	\
			print_error("%s: %d: %s\n", #call, ret_, npu_last_error());	\
			fail();							\
		}								\
	} while (0)

static inline struct npu_device *open_with(uint32_t flags, uint32_t timeout_ms)
{
	struct npu_open_options options = NPU_OPEN_OPTIONS_INIT;
	struct npu_device *dev;

	options.flags = flags;
	options.timeout_ms = timeout_ms;
	must(npu_open_with(device_name(), &options, &dev));
	return dev;
}

static inline struct npu_device *open_device(void)
{
	return open_with(0, 0);
}

static inline struct npu_bo *make_bo(struct npu_device *dev, uint64_t bytes, void *map)
{
	struct npu_bo *bo;

	must(npu_bo_create(dev, bytes, 0, &bo));
	if (map)
		must(npu_bo_map(bo, map));
	return bo;
}

static inline struct npu_queue *make_queue(struct npu_device *dev, uint32_t ring)
{
	struct npu_queue *queue;

	must(npu_queue_create(dev, ring, NPU_PRIORITY_NORMAL, &queue));
	return queue;
}

static inline struct npu_stream *make_stream(struct npu_device *dev, uint32_t ring)
{
	struct npu_stream *stream;

	must(npu_stream_create(dev, ring, &stream));
	return stream;
}

static inline struct npu_view run_view(struct npu_bo *bo, uint64_t offset, uint32_t type,
				       uint64_t count)
{
	struct npu_view view = NPU_VIEW_INIT;

	view.base = npu_at(bo, offset);
	view.type = type;
	view.count = count;
	return view;
}

/* i8 -> i32 of a contiguous tensor. */
static inline int widen(struct npu_stream *s, struct npu_bo *src, uint64_t at, uint64_t count,
			struct npu_bo *dst, uint64_t to)
{
	struct npu_view view = run_view(src, at, NPU_TYPE_I8, count);

	return npu_commit_casted(npu_cast_fetched(npu_fetch(s, &view), NPU_TYPE_I32),
				 npu_at(dst, to));
}

/* A copy on either fetch ring. */
static inline int copy(struct npu_stream *s, int sub, struct npu_bo *src, uint64_t at,
		       uint64_t count, struct npu_bo *dst, uint64_t to)
{
	struct npu_view view = run_view(src, at, NPU_TYPE_I8, count);

	if (sub)
		return npu_commit_sub_fetched(npu_sub_fetch(s, &view), npu_at(dst, to));
	return npu_commit_fetched(npu_fetch(s, &view), npu_at(dst, to));
}

/*
 * A contraction that takes far longer than any time limit: 2^20 rows of 2^20 elements, all of
 * them one byte, against one row of weights. @bo has ENDLESS_BYTES.
 */
#define ENDLESS_K	(1u << 20)
#define ENDLESS_M	(1u << 20)
#define ENDLESS_BYTES	(4096 + ENDLESS_K + 4ull * ENDLESS_M)

static inline int endless(struct npu_stream *s, struct npu_bo *bo)
{
	struct npu_weights w = NPU_WEIGHTS_INIT;
	struct npu_view view = NPU_VIEW_INIT;

	view.base = npu_at(bo, 0);
	view.type = NPU_TYPE_I8;
	view.loop_count = 2;
	view.loops[0].size = ENDLESS_M;
	view.loops[1].size = ENDLESS_K;
	w.base = npu_at(bo, 4096);
	w.type = NPU_TYPE_I8;
	w.n = 1;
	w.k = ENDLESS_K;
	return npu_contract_fetched(npu_fetch(s, &view), &w, npu_at(bo, 4096 + ENDLESS_K));
}

/* A FETCH that the library would refuse: it reads where nothing is mapped. */
static inline void stray(struct npu_stream *s)
{
	struct {
		struct npu_stream_header header;
		struct npu_cmd_fetch fetch;
	} raw = {
		.header = {
			.magic = NPU_STREAM_MAGIC,
			.major = NPU_ISA_MAJOR,
			.size = sizeof(raw),
			.count = 1,
		},
		.fetch = {
			.cmd = { NPU_OP_FETCH, sizeof(raw.fetch), NPU_FETCH_UNPADDED },
			.src = 0x4000000000ull,
			.dst = 0x4000100000ull,
			.src_type = NPU_TYPE_I8,
			.loop_count = 1,
			.size = { 32 },
			.stride = { 1 },
			.packet_size = 32,
			.read_size = 32,
			.sink = NPU_SINK_MEMORY,
		},
	};

	npu_stream_reset(s);
	must(npu_stream_raw(s, &raw, sizeof(raw), NULL, 0));
}

#endif
