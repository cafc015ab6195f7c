/* SPDX-License-Identifier: GPL-2.0-only */
/* Streams by hand, straight from npu_isa.h, and their way into the device. */
#ifndef NPU_STREAM_H
#define NPU_STREAM_H

#include "npu_test.h"

struct npu_stream {
	union {
		struct npu_stream_header header;
		uint64_t words[1024];
	};
	uint32_t size;
};

static inline void npu_stream_init(struct npu_stream *s)
{
	memset(s, 0, sizeof(*s));
	s->size = sizeof(s->header);
	s->header.magic = NPU_STREAM_MAGIC;
	s->header.major = NPU_ISA_MAJOR;
	s->header.size = s->size;
}

/* A zeroed command with its header. */
static inline void *npu_stream_add(struct npu_stream *s, uint16_t opcode, uint16_t size)
{
	struct npu_cmd *cmd = (void *)((char *)s->words + s->size);

	cmd->opcode = opcode;
	cmd->size = size;
	s->size += size;
	s->header.size = s->size;
	s->header.count++;
	return cmd;
}

static inline void npu_stream_nop(struct npu_stream *s)
{
	npu_stream_add(s, NPU_OP_NOP, sizeof(struct npu_cmd));
}

/* Copies bytes, a multiple of 32; legal on both contexts. */
static inline struct npu_cmd_fetch *npu_stream_copy(struct npu_stream *s, uint64_t src,
						    uint64_t dst, uint32_t bytes)
{
	struct npu_cmd_fetch *cmd = npu_stream_add(s, NPU_OP_FETCH, sizeof(*cmd));

	cmd->src = src;
	cmd->dst = dst;
	cmd->src_type = NPU_TYPE_I8;
	cmd->sink = NPU_SINK_MEMORY;
	cmd->packet_size = 32;
	cmd->read_size = 8;
	cmd->loop_count = 1;
	cmd->size[0] = bytes;
	cmd->stride[0] = 1;
	return cmd;
}

/* Widens @n int8, a multiple of 8, to int32. */
static inline struct npu_cmd_fetch *npu_stream_widen(struct npu_stream *s, uint64_t src,
						     uint64_t dst, uint32_t n)
{
	struct npu_cmd_fetch *cmd = npu_stream_copy(s, src, dst, n);

	cmd->packet_size = 8;
	cmd->cast_type = NPU_TYPE_I32;
	return cmd;
}

/* One row of bf16 into int8 at a common scale. */
static inline struct npu_cmd_preprocess *npu_stream_quantise(struct npu_stream *s, uint64_t src,
							     uint64_t dst, uint64_t n)
{
	struct npu_cmd_preprocess *cmd = npu_stream_add(s, NPU_OP_PREPROCESS, sizeof(*cmd));

	cmd->src = src;
	cmd->dst = dst;
	cmd->rows = 1;
	cmd->cols = n;
	cmd->mode = NPU_PP_MODE_INT8_EMAX;
	cmd->sink = NPU_SINK_MEMORY;
	return cmd;
}

#define NPU_ENDLESS_SIZE	(8ull << 20)
#define NPU_ENDLESS_K		(1u << 22)
#define NPU_ENDLESS_M		(1u << 20)

/*
 * Legal, and not done before any time limit: 2^42 products out of 4 MiB of
 * weights. The address has NPU_ENDLESS_SIZE bytes. FETCH_MAIN only.
 */
static inline struct npu_cmd_fetch *npu_stream_endless(struct npu_stream *s, uint64_t address)
{
	struct npu_cmd_fetch *cmd = npu_stream_add(s, NPU_OP_FETCH, sizeof(*cmd));

	cmd->src = address;
	cmd->weight = address;
	cmd->dst = address + NPU_ENDLESS_SIZE / 2;
	cmd->src_type = NPU_TYPE_I8;
	cmd->weight_type = NPU_TYPE_I8;
	cmd->sink = NPU_SINK_CONTRACT;
	cmd->packet_size = 32;
	cmd->read_size = 32;
	cmd->k = NPU_ENDLESS_K;
	cmd->n = 1;
	cmd->m = NPU_ENDLESS_M;
	cmd->loop_count = 2;
	cmd->size[0] = NPU_ENDLESS_M;
	cmd->size[1] = NPU_ENDLESS_K;
	return cmd;
}

/* A stream that the ring runs and that touches no memory. */
static inline void npu_stream_empty(struct npu_stream *s)
{
	npu_stream_init(s);
	npu_stream_nop(s);
}

/* ---- submitting ---- */

/* Arguments that a test may spoil before it gives them to the kernel. */
struct npu_request {
	struct drm_npu_submit arg;
	struct drm_npu_job job;
	struct drm_npu_submit_bo bo;
	struct drm_npu_sync in;
	struct drm_npu_sync out;
};

static inline void npu_request_init(struct npu_request *r, uint32_t queue,
				    const struct npu_stream *s, uint64_t record)
{
	memset(r, 0, sizeof(*r));
	r->job.stream = npu_ptr(s->words);
	r->job.size = s->size;
	r->job.record = record;
	r->arg.queue = queue;
	r->arg.jobs = npu_ptr(&r->job);
	r->arg.job_count = 1;
	r->arg.job_stride = sizeof(r->job);
}

static inline void npu_request_in(struct npu_request *r, uint32_t handle, uint64_t point)
{
	r->in.handle = handle;
	r->in.point = point;
	r->in.flags = point ? DRM_NPU_SYNC_TIMELINE : 0;
	r->arg.in_syncs = npu_ptr(&r->in);
	r->arg.in_sync_count = 1;
	r->arg.sync_stride = sizeof(r->in);
}

static inline void npu_request_out(struct npu_request *r, uint32_t handle, uint64_t point)
{
	r->out.handle = handle;
	r->out.point = point;
	r->out.flags = point ? DRM_NPU_SYNC_TIMELINE : 0;
	r->arg.out_syncs = npu_ptr(&r->out);
	r->arg.out_sync_count = 1;
	r->arg.sync_stride = sizeof(r->out);
}

static inline void npu_request_bo(struct npu_request *r, uint32_t handle, uint32_t flags)
{
	r->bo.handle = handle;
	r->bo.flags = flags;
	r->arg.bos = npu_ptr(&r->bo);
	r->arg.bo_count = 1;
	r->arg.bo_stride = sizeof(r->bo);
}

static inline int npu_request_submit(int fd, struct npu_request *r)
{
	return npu_ioctl(fd, DRM_IOCTL_NPU_SUBMIT, &r->arg);
}

/* One job; @out, if not 0, is a binary syncobj for its end. */
static inline int npu_submit(int fd, uint32_t queue, const struct npu_stream *s, uint64_t record,
			     uint32_t out)
{
	struct npu_request r;

	npu_request_init(&r, queue, s, record);
	if (out)
		npu_request_out(&r, out, 0);
	return npu_request_submit(fd, &r);
}

/* Submits one job and waits: how its fence ended, 1 for well. */
static inline int npu_run(int fd, uint32_t queue, const struct npu_stream *s, uint64_t record)
{
	uint32_t out = npu_syncobj(fd, 0);
	int ret = npu_submit(fd, queue, s, record, out);

	if (!ret)
		ret = npu_fence_end(fd, out);
	npu_syncobj_destroy(fd, out);
	return ret;
}

/* The device works for this file: 1. */
static inline int npu_alive(int fd)
{
	int queue = npu_queue(fd, NPU_RING_FETCH_MAIN), ret;
	struct npu_stream s;

	if (queue < 0)
		return queue;
	npu_stream_empty(&s);
	ret = npu_run(fd, queue, &s, 0);
	npu_queue_destroy(fd, queue);
	return ret;
}

/* The device works for a new file: 1. */
static inline int npu_device_works(void)
{
	int fd = npu_open(), ret;

	if (fd < 0)
		return fd;
	ret = npu_alive(fd);
	close(fd);
	return ret;
}

#endif
