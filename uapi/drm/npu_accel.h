/* SPDX-License-Identifier: MIT */
/*
 * uAPI of the NPU front-end accel driver, /dev/accel/accelN (driver "npu").
 *
 * Every open file is a client of its own: its buffer objects, queues and its
 * address space are invisible to others and die with it. The caller chooses
 * the device addresses of its buffer objects; streams hold them as they are.
 * Isolation is the device MMU's and depends on nothing in these calls.
 *
 * Conventions. Unknown flags, unknown enumerators, and padding that is not 0
 * give EINVAL. Structures may grow at the end: the kernel takes missing fields
 * as 0. Arrays carry the stride of their elements, so that these may grow too: strides are at most
 * 4096, and what lies behind the fields that the kernel knows must be 0 (EINVAL).
 * Outputs are written only when a call succeeds, in full. Every call may be
 * restarted after a signal with unchanged arguments. Absolute times are
 * CLOCK_MONOTONIC nanoseconds. All calls return ENODEV once the device is gone
 * or wedged.
 *
 * Syncobjs (DRM_IOCTL_SYNCOBJ_*), PRIME and GEM_CLOSE are the DRM core's.
 */
#ifndef _UAPI_DRM_NPU_ACCEL_H_
#define _UAPI_DRM_NPU_ACCEL_H_

/* Distributions that leave DRM's headers to libdrm have its folder in the search path. */
#if defined(__KERNEL__) || !defined(__has_include)
#include <drm/drm.h>
#elif __has_include("drm/drm.h")
#include <drm/drm.h>
#else
#include <drm.h>
#endif

#if defined(__cplusplus)
extern "C" {
#endif

#define DRM_NPU_GET_PARAM	0x00
#define DRM_NPU_BO_CREATE	0x01
#define DRM_NPU_BO_BIND		0x02
#define DRM_NPU_BO_UNBIND	0x03
#define DRM_NPU_BO_INFO		0x04
#define DRM_NPU_BO_WAIT		0x05
#define DRM_NPU_QUEUE_CREATE	0x06
#define DRM_NPU_QUEUE_DESTROY	0x07
#define DRM_NPU_QUEUE_GET_STATE	0x08
#define DRM_NPU_SUBMIT		0x09

/* struct drm_npu_get_param.param */
#define DRM_NPU_PARAM_UAPI_MAJOR	0	/* 1; another major is another interface */
#define DRM_NPU_PARAM_UAPI_MINOR	1	/* informative: features are asked for by param */
#define DRM_NPU_PARAM_ISA_MAJOR		2	/* stream version of the device (npu_isa.h) */
#define DRM_NPU_PARAM_ISA_MINOR		3
#define DRM_NPU_PARAM_DEVICE_ID		4	/* PCI vendor << 16 | device */
#define DRM_NPU_PARAM_DEVICE_REVISION	5
#define DRM_NPU_PARAM_RINGS		6	/* bit mask of NPU_RING_* present */
#define DRM_NPU_PARAM_CAPABILITIES	7	/* bit mask of device features, see below */
#define DRM_NPU_PARAM_CLOCK_HZ		8	/* engine clock, for cycles to time */
#define DRM_NPU_PARAM_ADDRESS_START	9	/* lowest device address that may be bound */
#define DRM_NPU_PARAM_ADDRESS_END	10	/* first one beyond the highest */
#define DRM_NPU_PARAM_PAGE_SIZE		11	/* mapping granularity, bytes */
#define DRM_NPU_PARAM_MAX_STREAM	12	/* bytes of a stream */
#define DRM_NPU_PARAM_MAX_JOBS		13	/* jobs of one SUBMIT */
#define DRM_NPU_PARAM_MAX_BOS		14	/* BOs listed in one SUBMIT */
#define DRM_NPU_PARAM_MAX_SYNCS		15	/* in-syncs, and out-syncs, of one SUBMIT */
#define DRM_NPU_PARAM_MAX_QUEUES	16	/* queues of one file */
#define DRM_NPU_PARAM_MAX_IN_FLIGHT	17	/* unfinished jobs of one queue */
#define DRM_NPU_PARAM_MAX_BO_SIZE	18	/* bytes of one BO */
#define DRM_NPU_PARAM_TIMEOUT_MS	19	/* time limit of a job from its start */

/* DRM_NPU_PARAM_CAPABILITIES */
#define DRM_NPU_CAP_CAST_V2		(1u << 0)	/* reserved: the later chip's casts */

/**
 * struct drm_npu_get_param - read one property of device or driver
 * @param: DRM_NPU_PARAM_*; EINVAL if unknown
 * @pad: 0
 * @value: out
 */
struct drm_npu_get_param {
	__u32 param;
	__u32 pad;
	__u64 value;
};

/**
 * struct drm_npu_bo_create - allocate a zeroed buffer object
 * @size: bytes, > 0, rounded up to the page size; EINVAL for 0 or above
 *	MAX_BO_SIZE. Pages come at first mmap or bind
 * @flags: 0
 * @handle: out, GEM handle
 */
struct drm_npu_bo_create {
	__u64 size;
	__u32 flags;
	__u32 handle;
};

#define DRM_NPU_BIND_RDONLY	(1u << 0)	/* the device may not write */

/**
 * struct drm_npu_bo_bind - map a whole BO into the file's device address space
 * @handle: GEM handle; ENOENT
 * @flags: DRM_NPU_BIND_*
 * @address: device address, a multiple of the page size, the range within
 *	ADDRESS_START..ADDRESS_END: else EINVAL. EEXIST if the range overlaps another
 *	binding or the BO is bound in this file; ENOSPC if the device has no address
 *	space left; ENOMEM
 */
struct drm_npu_bo_bind {
	__u32 handle;
	__u32 flags;
	__u64 address;
};

/**
 * struct drm_npu_bo_unbind - remove a BO from the file's device address space
 * @handle: GEM handle; ENOENT; EINVAL if it is not bound
 * @pad: 0
 *
 * Acts at once: a job that still uses the range faults.
 */
struct drm_npu_bo_unbind {
	__u32 handle;
	__u32 pad;
};

#define DRM_NPU_BO_INFO_RDONLY		(1u << 0)	/* bound read-only */
#define DRM_NPU_BO_INFO_IMPORTED	(1u << 1)	/* from another driver's dma-buf */

/**
 * struct drm_npu_bo_info - properties of a BO
 * @handle: GEM handle; ENOENT
 * @flags: in: 0. out: DRM_NPU_BO_INFO_*
 * @size: out, bytes
 * @address: out, device address in this file, 0 if not bound
 * @mmap_offset: out, offset for mmap() of the device node; 0 for imported BOs,
 *	which are mapped by their exporter
 */
struct drm_npu_bo_info {
	__u32 handle;
	__u32 flags;
	__u64 size;
	__u64 address;
	__u64 mmap_offset;
};

#define DRM_NPU_BO_WAIT_WRITE	(1u << 0)	/* only for writers, else for all users */

/**
 * struct drm_npu_bo_wait - wait until jobs (and other devices) are done with a BO
 * @handle: GEM handle; ENOENT
 * @flags: DRM_NPU_BO_WAIT_*
 * @timeout_ns: absolute; in the past: just look. ETIMEDOUT when it is not idle by then
 */
struct drm_npu_bo_wait {
	__u32 handle;
	__u32 flags;
	__s64 timeout_ns;
};

#define DRM_NPU_PRIORITY_LOW	0
#define DRM_NPU_PRIORITY_NORMAL	1
#define DRM_NPU_PRIORITY_HIGH	2	/* CAP_SYS_NICE, else EACCES */

/**
 * struct drm_npu_queue_create - create a queue: jobs in order on one ring
 * @ring: NPU_RING_*; EINVAL
 * @priority: DRM_NPU_PRIORITY_*
 * @flags: 0
 * @queue: out, id, > 0. ENOSPC above MAX_QUEUES
 */
struct drm_npu_queue_create {
	__u32 ring;
	__u32 priority;
	__u32 flags;
	__u32 queue;
};

/**
 * struct drm_npu_queue_destroy - destroy a queue
 * @queue: id; ENOENT
 * @pad: 0
 *
 * Jobs that have not started end with ESRCH on their fences; a running one finishes.
 */
struct drm_npu_queue_destroy {
	__u32 queue;
	__u32 pad;
};

#define DRM_NPU_QUEUE_HEALTHY	0
#define DRM_NPU_QUEUE_FAULTED	1	/* dead: SUBMIT gives EIO; destroy it, create another */

/**
 * struct drm_npu_queue_get_state - health of a queue, and the fault that killed it
 * @queue: id; ENOENT
 * @state: out, DRM_NPU_QUEUE_*
 * @rule: out, NPU_RULE_* (HANG after a time-out), 0 while healthy
 * @command: out, index of the command in its stream
 * @fault_address: out, device address, 0 if the rule is not about an address
 * @job: out, number of the faulty job in this queue, counted from 0
 */
struct drm_npu_queue_get_state {
	__u32 queue;
	__u32 state;
	__u32 rule;
	__u32 command;
	__u64 fault_address;
	__u64 job;
};

/**
 * struct drm_npu_job - one stream
 * @stream: user address of the stream; copied during the call
 * @size: bytes: 16..MAX_STREAM, a multiple of 8; EINVAL
 * @flags: 0
 * @record: device address of a 128-byte result record (npu_isa.h), 8-byte
 *	aligned, or 0 for none. The device writes it before the job's fence signals
 */
struct drm_npu_job {
	__u64 stream;
	__u32 size;
	__u32 flags;
	__u64 record;
};

#define DRM_NPU_SUBMIT_BO_READ	(1u << 0)
#define DRM_NPU_SUBMIT_BO_WRITE	(1u << 1)

/**
 * struct drm_npu_submit_bo - a BO that the jobs use
 * @handle: GEM handle; ENOENT
 * @flags: DRM_NPU_SUBMIT_BO_*, at least one
 *
 * Lists what implicit-sync users of its dma-buf and BO_WAIT see. A BO listed twice
 * counts once, as written if either says so.
 */
struct drm_npu_submit_bo {
	__u32 handle;
	__u32 flags;
};

#define DRM_NPU_SYNC_TIMELINE	(1u << 0)

/**
 * struct drm_npu_sync - a syncobj to wait for or to signal
 * @handle: syncobj handle; ENOENT
 * @flags: DRM_NPU_SYNC_*
 * @point: timeline point, > 0; 0 for a binary syncobj. EINVAL otherwise, and for an
 *	in-sync without a fence (there is no wait-before-signal)
 */
struct drm_npu_sync {
	__u32 handle;
	__u32 flags;
	__u64 point;
};

/**
 * struct drm_npu_submit - queue jobs: all of them or, on any error, none
 * @queue: id; ENOENT; EIO if it is dead; EAGAIN if MAX_IN_FLIGHT would be exceeded
 * @flags: 0
 * @jobs: user address of struct drm_npu_job[job_count]
 * @job_count: 1..MAX_JOBS; EINVAL
 * @job_stride: bytes from one to the next, >= 24, a multiple of 8
 * @bos: user address of struct drm_npu_submit_bo[bo_count]
 * @bo_count: 0..MAX_BOS; EINVAL
 * @bo_stride: >= 8, a multiple of 8; 0 if @bo_count is 0
 * @in_syncs: user address of struct drm_npu_sync[in_sync_count]: the first job waits for all
 * @out_syncs: user address of struct drm_npu_sync[out_sync_count]: signalled after the last job;
 *	a fence of a faulted or hung job carries its error
 * @in_sync_count: 0..MAX_SYNCS; EINVAL
 * @out_sync_count: 0..MAX_SYNCS; EINVAL
 * @sync_stride: of both, >= 16, a multiple of 8; 0 if there are none
 * @pad: 0
 *
 * Errors of jobs on their fences: EFAULT a fault (see QUEUE_GET_STATE), ETIMEDOUT a hang,
 * ECANCELED behind a dead queue's fault or a full reset, ESRCH a destroyed queue or closed file,
 * ENODEV no device.
 */
struct drm_npu_submit {
	__u32 queue;
	__u32 flags;
	__u64 jobs;
	__u32 job_count;
	__u32 job_stride;
	__u64 bos;
	__u32 bo_count;
	__u32 bo_stride;
	__u64 in_syncs;
	__u64 out_syncs;
	__u32 in_sync_count;
	__u32 out_sync_count;
	__u32 sync_stride;
	__u32 pad;
};

#define DRM_IOCTL_NPU_GET_PARAM \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_GET_PARAM, struct drm_npu_get_param)
#define DRM_IOCTL_NPU_BO_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_BO_CREATE, struct drm_npu_bo_create)
#define DRM_IOCTL_NPU_BO_BIND \
	DRM_IOW(DRM_COMMAND_BASE + DRM_NPU_BO_BIND, struct drm_npu_bo_bind)
#define DRM_IOCTL_NPU_BO_UNBIND \
	DRM_IOW(DRM_COMMAND_BASE + DRM_NPU_BO_UNBIND, struct drm_npu_bo_unbind)
#define DRM_IOCTL_NPU_BO_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_BO_INFO, struct drm_npu_bo_info)
#define DRM_IOCTL_NPU_BO_WAIT \
	DRM_IOW(DRM_COMMAND_BASE + DRM_NPU_BO_WAIT, struct drm_npu_bo_wait)
#define DRM_IOCTL_NPU_QUEUE_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_QUEUE_CREATE, struct drm_npu_queue_create)
#define DRM_IOCTL_NPU_QUEUE_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_NPU_QUEUE_DESTROY, struct drm_npu_queue_destroy)
#define DRM_IOCTL_NPU_QUEUE_GET_STATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_QUEUE_GET_STATE, struct drm_npu_queue_get_state)
#define DRM_IOCTL_NPU_SUBMIT \
	DRM_IOW(DRM_COMMAND_BASE + DRM_NPU_SUBMIT, struct drm_npu_submit)

#if defined(__cplusplus)
}
#endif

#endif
