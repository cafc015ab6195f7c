// SPDX-License-Identifier: GPL-2.0-only
/*
 * The layout of what programs and kernel exchange. Built twice: as a 64-bit and
 * as a 32-bit program, which must agree on everything.
 */
#include <stddef.h>

#include "npu_stream.h"

NPU_FIXTURE(device)

#define SIZE(type, size)						\
	do {								\
		EXPECT_EQ(size, (int)sizeof(struct type));		\
		EXPECT_EQ(0, (int)sizeof(struct type) % 8);		\
	} while (0)

#define AT(type, member, offset, size)					\
	do {								\
		struct type v;						\
		EXPECT_EQ(offset, (int)offsetof(struct type, member))	\
			TH_LOG("offset of %s.%s", #type, #member);	\
		EXPECT_EQ(size, (int)sizeof(v.member))			\
			TH_LOG("size of %s.%s", #type, #member);	\
	} while (0)

TEST(abi_layout)
{
	SIZE(drm_npu_get_param, 16);
	AT(drm_npu_get_param, param, 0, 4);
	AT(drm_npu_get_param, pad, 4, 4);
	AT(drm_npu_get_param, value, 8, 8);
	SIZE(drm_npu_bo_create, 16);
	AT(drm_npu_bo_create, size, 0, 8);
	AT(drm_npu_bo_create, flags, 8, 4);
	AT(drm_npu_bo_create, handle, 12, 4);
	SIZE(drm_npu_bo_bind, 16);
	AT(drm_npu_bo_bind, handle, 0, 4);
	AT(drm_npu_bo_bind, flags, 4, 4);
	AT(drm_npu_bo_bind, address, 8, 8);
	SIZE(drm_npu_bo_unbind, 8);
	SIZE(drm_npu_bo_info, 32);
	AT(drm_npu_bo_info, size, 8, 8);
	AT(drm_npu_bo_info, address, 16, 8);
	AT(drm_npu_bo_info, mmap_offset, 24, 8);
	SIZE(drm_npu_bo_wait, 16);
	AT(drm_npu_bo_wait, timeout_ns, 8, 8);
	SIZE(drm_npu_queue_create, 16);
	AT(drm_npu_queue_create, queue, 12, 4);
	SIZE(drm_npu_queue_destroy, 8);
	SIZE(drm_npu_queue_get_state, 32);
	AT(drm_npu_queue_get_state, command, 12, 4);
	AT(drm_npu_queue_get_state, fault_address, 16, 8);
	AT(drm_npu_queue_get_state, job, 24, 8);
}

TEST(abi_layout_submit)
{
	SIZE(drm_npu_job, 24);
	AT(drm_npu_job, stream, 0, 8);
	AT(drm_npu_job, size, 8, 4);
	AT(drm_npu_job, flags, 12, 4);
	AT(drm_npu_job, record, 16, 8);
	SIZE(drm_npu_submit_bo, 8);
	SIZE(drm_npu_sync, 16);
	AT(drm_npu_sync, point, 8, 8);
	SIZE(drm_npu_submit, 72);
	AT(drm_npu_submit, queue, 0, 4);
	AT(drm_npu_submit, flags, 4, 4);
	AT(drm_npu_submit, jobs, 8, 8);
	AT(drm_npu_submit, job_count, 16, 4);
	AT(drm_npu_submit, job_stride, 20, 4);
	AT(drm_npu_submit, bos, 24, 8);
	AT(drm_npu_submit, bo_count, 32, 4);
	AT(drm_npu_submit, bo_stride, 36, 4);
	AT(drm_npu_submit, in_syncs, 40, 8);
	AT(drm_npu_submit, out_syncs, 48, 8);
	AT(drm_npu_submit, in_sync_count, 56, 4);
	AT(drm_npu_submit, out_sync_count, 60, 4);
	AT(drm_npu_submit, sync_stride, 64, 4);
	AT(drm_npu_submit, pad, 68, 4);
}

TEST(abi_layout_stream)
{
	SIZE(npu_stream_header, 16);
	SIZE(npu_cmd, 8);
	SIZE(npu_cmd_fetch, 208);
	AT(npu_cmd_fetch, src, 8, 8);
	AT(npu_cmd_fetch, packet_size, 48, 4);
	AT(npu_cmd_fetch, src_type, 72, 1);
	AT(npu_cmd_fetch, zero_point, 80, 2);
	AT(npu_cmd_fetch, valid_count, 96, 16);
	AT(npu_cmd_fetch, size, 112, 32);
	AT(npu_cmd_fetch, stride, 144, 64);
	SIZE(npu_cmd_preprocess, 72);
	AT(npu_cmd_preprocess, mode, 64, 1);
	SIZE(npu_cmd_lut_load, 24);
	SIZE(npu_cmd_const_set, 16);
	SIZE(npu_cmd_fmap_read, 48);
	SIZE(npu_result, 128);
	AT(npu_result, status, 0, 4);
	AT(npu_result, fault_address, 16, 8);
	AT(npu_result, clock_end, 80, 8);
	AT(npu_result, reserved, 88, 40);
}

TEST(abi_numbers)
{
	EXPECT_EQ(0xc0106440u, DRM_IOCTL_NPU_GET_PARAM);
	EXPECT_EQ(0xc0106441u, DRM_IOCTL_NPU_BO_CREATE);
	EXPECT_EQ(0x40106442u, DRM_IOCTL_NPU_BO_BIND);
	EXPECT_EQ(0x40086443u, DRM_IOCTL_NPU_BO_UNBIND);
	EXPECT_EQ(0xc0206444u, DRM_IOCTL_NPU_BO_INFO);
	EXPECT_EQ(0x40106445u, DRM_IOCTL_NPU_BO_WAIT);
	EXPECT_EQ(0xc0106446u, DRM_IOCTL_NPU_QUEUE_CREATE);
	EXPECT_EQ(0x40086447u, DRM_IOCTL_NPU_QUEUE_DESTROY);
	EXPECT_EQ(0xc0206448u, DRM_IOCTL_NPU_QUEUE_GET_STATE);
	EXPECT_EQ(0x40486449u, DRM_IOCTL_NPU_SUBMIT);
}

/* An older program's structure ends earlier: the rest is 0 and is not written. */
TEST_F(device, abi_short_struct)
{
	struct drm_npu_bo_create arg;
	struct drm_npu_get_param param;

	memset(&param, NPU_POISON, sizeof(param));
	param.param = DRM_NPU_PARAM_UAPI_MAJOR;
	param.pad = 0;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOWR(0x40, uint64_t), &param));
	EXPECT_EQ(NPU_POISON64, param.value);

	memset(&arg, NPU_POISON, sizeof(arg));
	arg.size = 4096;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOWR(0x41, uint64_t), &arg));
	EXPECT_EQ(NPU_POISON32, arg.flags);
	EXPECT_EQ(NPU_POISON32, arg.handle);
}

/* A newer one's is longer, with zeroes for what it does not use. */
TEST_F(device, abi_long_struct)
{
	struct {
		struct drm_npu_get_param arg;
		uint64_t more[4];
	} param = { .arg.param = DRM_NPU_PARAM_PAGE_SIZE };

	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOWR(0x40, param), &param));
	EXPECT_EQ(4096, param.arg.value);
	EXPECT_EQ(0, param.more[0]);
	EXPECT_EQ(0, param.more[3]);
}

/* Every byte of an output is written, whatever was there. */
TEST_F(device, abi_poison)
{
	struct drm_npu_queue_get_state state;
	struct drm_npu_queue_create queue;
	struct drm_npu_get_param param;
	struct drm_npu_bo_create bo;
	struct drm_npu_bo_info info;

	memset(&param, NPU_POISON, sizeof(param));
	param.param = DRM_NPU_PARAM_UAPI_MAJOR;
	param.pad = 0;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_GET_PARAM, &param));
	EXPECT_EQ(1, param.value);
	EXPECT_EQ(0, param.pad);

	memset(&bo, NPU_POISON, sizeof(bo));
	bo.size = 100;
	bo.flags = 0;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_BO_CREATE, &bo));
	EXPECT_NE(NPU_POISON32, bo.handle);
	EXPECT_NE(0, bo.handle);

	memset(&info, NPU_POISON, sizeof(info));
	info.handle = bo.handle;
	info.flags = 0;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_BO_INFO, &info));
	EXPECT_EQ(0, info.flags);
	EXPECT_EQ(4096, info.size);
	EXPECT_EQ(0, info.address);
	EXPECT_NE(NPU_POISON64, info.mmap_offset);

	memset(&queue, NPU_POISON, sizeof(queue));
	queue.ring = NPU_RING_FETCH_MAIN;
	queue.priority = DRM_NPU_PRIORITY_NORMAL;
	queue.flags = 0;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &queue));
	EXPECT_NE(NPU_POISON32, queue.queue);

	ASSERT_EQ(0, npu_queue_state(self->fd, queue.queue, &state));
	EXPECT_EQ(queue.queue, state.queue);
	EXPECT_EQ(DRM_NPU_QUEUE_HEALTHY, state.state);
	EXPECT_EQ(0, state.rule);
	EXPECT_EQ(0, state.command);
	EXPECT_EQ(0, state.fault_address);
	EXPECT_EQ(0, state.job);
}

/* The upper half of a pointer counts, also for a 32-bit program. */
TEST_F(device, abi_dirty_pointer)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	struct npu_request r;
	struct npu_stream s;

	ASSERT_LT(0, queue);
	npu_stream_empty(&s);
	npu_request_init(&r, queue, &s, 0);
	r.arg.jobs |= 0xdeadbeefull << 32;
	EXPECT_EQ(-EFAULT, npu_request_submit(self->fd, &r));

	npu_request_init(&r, queue, &s, 0);
	r.job.stream |= 0xdeadbeefull << 32;
	EXPECT_EQ(-EFAULT, npu_request_submit(self->fd, &r));

	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
}

/* A map offset and a deadline need all their 64 bits. */
TEST_F(device, abi_wide_values)
{
	struct npu_buf buf;
	uint32_t handle;

	EXPECT_EQ(-EINVAL, npu_bo_create(self->fd, 1ull << 63, &handle));
	EXPECT_EQ(0, handle);
	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 3 * NPU_PAGE, (1ull << 39) - 3 * NPU_PAGE));
	memset(buf.map, 0x5a, buf.size);
	EXPECT_EQ(0, npu_bo_wait(self->fd, buf.handle, 0, INT64_MAX));
	EXPECT_EQ(0, npu_bo_wait(self->fd, buf.handle, 0, INT64_MIN));
	EXPECT_EQ(0, npu_buf_fini(self->fd, &buf));
}

TEST_HARNESS_MAIN
