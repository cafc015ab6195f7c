/* SPDX-License-Identifier: MIT */
/*
 * libnpu: command streams for the NPU front end, on a device or in emulation.
 *
 * An application opens a device, creates buffer objects (BOs) and queues, builds
 * a stream out of typed stages, submits it, and waits for its fence:
 *
 *	npu_open(NULL, &dev);
 *	npu_bo_create(dev, bytes, 0, &bo);
 *	npu_queue_create(dev, NPU_RING_FETCH_MAIN, NPU_PRIORITY_NORMAL, &queue);
 *	npu_stream_create(dev, NPU_RING_FETCH_MAIN, &stream);
 *	npu_commit(npu_cast(npu_fetch(stream, &view), NPU_TYPE_F32), npu_at(out, 0));
 *	npu_submit(queue, stream, NULL, &fence);
 *	npu_fence_wait(fence, npu_deadline(2000), &result);
 *
 * Errors. Functions return 0 or a negative errno; npu_last_error() then holds a
 * sentence that names the field, its value and the rule. Nothing here prints,
 * exits, aborts or touches signals. Outputs are written only on success.
 *
 * Threads. Everything but a stream under construction may be used by several
 * threads at once; one stream belongs to one thread at a time. Destroying an
 * object while another thread uses that same object is an error of the caller.
 *
 * Ownership. Objects belong to their device; npu_close() destroys what is
 * left. A BO that a running job uses may be destroyed: its memory and its
 * address live until the job's fence has signalled.
 *
 * fork(). The child may only call npu_close(), which frees the child's memory and
 * leaves the parent's objects alone; all else returns -ECHILD there. File descriptors
 * are close-on-exec.
 *
 * Structures whose first member is size may grow: set it to sizeof, as the initialisers
 * NPU_*_INIT do; missing fields count as 0, and a non-zero field that the library does not
 * know gives -E2BIG.
 */
#ifndef NPU_H
#define NPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drm/npu_isa.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define NPU_VERSION_MAJOR	0
#define NPU_VERSION_MINOR	1
#define NPU_VERSION_PATCH	0

#if defined(NPU_BUILD)
#define NPU_API __attribute__((visibility("default")))
#else
#define NPU_API
#endif

#if defined(__cplusplus)
#define NPU_SIZED(type) npu_sized<type>()
#else
#define NPU_SIZED(type) { .size = sizeof(type) }
#endif

struct npu_device;
struct npu_bo;
struct npu_queue;
struct npu_stream;
struct npu_timeline;

/* ---- library ---- */

/* Version of the library that runs: major << 16 | minor << 8 | patch. Any thread. */
NPU_API uint32_t npu_version(void);

/*
 * The sentence for the last call of this thread that failed; never NULL, valid until
 * the thread's next failing call.
 */
NPU_API const char *npu_last_error(void);

/*
 * SIMD level of emulation and npu/convert.h: "scalar", "sse4", "avx2", "avx512",
 * "avx512vbmi" or "neon". Setting can only lower what was detected (and what the
 * environment variable NPU_CPU allowed): -EINVAL for an unknown name, -ENOTSUP for
 * a level that this CPU or build lacks. "auto" restores the detected level. Applies to
 * the process at once.
 */
NPU_API const char *npu_cpu_level(void);
NPU_API int npu_set_cpu_level(const char *name);
/* The i-th level that works here, lowest first; NULL past the last. */
NPU_API const char *npu_cpu_level_name(unsigned int i);

/* Names of the ISA's numbers, for messages; NULL for unknown ones. */
NPU_API const char *npu_rule_name(uint32_t rule);
NPU_API const char *npu_rule_text(uint32_t rule);
NPU_API const char *npu_type_name(uint32_t type);
NPU_API const char *npu_ring_name(uint32_t ring);
/* NPU_TYPE_NONE for an unknown name. */
NPU_API uint32_t npu_type_parse(const char *name);
/* Bits of an element in memory; 0 for an unknown type. */
NPU_API unsigned int npu_type_bits(uint32_t type);
/* Bytes of @n dense elements: ceil(n * bits / 8); UINT64_MAX if that does not fit. */
NPU_API uint64_t npu_type_bytes(uint32_t type, uint64_t n);

/* ---- devices ---- */

#define NPU_DEVICE_NAME_MAX 32
#define NPU_DEVICE_PATH_MAX 64

/*
 * struct npu_device_info - what a device is
 * @size: sizeof(struct npu_device_info)
 * @emulated: 1 in emulation
 * @name: "emu" or "accel0"
 * @path: "" or "/dev/accel/accel0"
 * @driver: "emulation" or the kernel driver's name
 * @driver_major, @driver_minor: uAPI version of the driver
 * @isa_major, @isa_minor: stream version
 * @device_id: PCI vendor << 16 | device, 0 in emulation
 * @device_revision: PCI revision
 * @rings: bit mask of NPU_RING_*
 * @capabilities: DRM_NPU_CAP_* bits
 * @clock_hz: engine clock: cycles / clock_hz is the time by the cycle model
 * @address_start, @address_end: device addresses that may be mapped
 * @page_size: mapping granularity in bytes
 * @max_stream, @max_bo_size: bytes
 * @max_jobs, @max_bos, @max_syncs: of one submit
 * @max_queues: of one open device
 * @max_in_flight: unfinished jobs of one queue
 * @timeout_ms: time limit of a job on its ring
 * @threads: worker threads that emulation splits large commands over
 */
struct npu_device_info {
	size_t size;
	uint32_t emulated;
	char name[NPU_DEVICE_NAME_MAX];
	char path[NPU_DEVICE_PATH_MAX];
	char driver[NPU_DEVICE_NAME_MAX];
	uint32_t driver_major;
	uint32_t driver_minor;
	uint32_t isa_major;
	uint32_t isa_minor;
	uint32_t device_id;
	uint32_t device_revision;
	uint32_t rings;
	uint32_t capabilities;
	uint64_t clock_hz;
	uint64_t address_start;
	uint64_t address_end;
	uint64_t max_stream;
	uint64_t max_bo_size;
	uint32_t page_size;
	uint32_t max_jobs;
	uint32_t max_bos;
	uint32_t max_syncs;
	uint32_t max_queues;
	uint32_t max_in_flight;
	uint32_t timeout_ms;
	uint32_t threads;
};
#define NPU_DEVICE_INFO_INIT NPU_SIZED(struct npu_device_info)

/*
 * Paths of the accel nodes of the driver "npu" ("/dev/accel/accel1", ...) in order of
 * their number, found by driver name in sysfs, whether or not they may be opened.
 * Writes up to @count paths of NPU_DEVICE_PATH_MAX bytes; returns how many there are.
 */
NPU_API int npu_enumerate(char (*paths)[NPU_DEVICE_PATH_MAX], unsigned int count);

/*
 * Opens a device. @name: "emu" for emulation, a path for that device, NULL for the first device
 * that npu_enumerate() finds, or emulation where there is none (npu_get_info() says which).
 * -ENODEV no such device or its driver is unbound, -EACCES it exists and may not be opened
 * (also for NULL: emulation never stands in silently for a device that is there), -ENOTSUP
 * another driver's node or another uAPI major, -ENOMEM, -EMFILE.
 */
NPU_API int npu_open(const char *name, struct npu_device **dev);

/* Called with one sentence without newline; @level is a syslog level (3 error .. 7 debug). */
typedef void npu_log_fn(void *data, int level, const char *text);

#define NPU_OPEN_SCATTER	(1u << 0)	/* emulation: back each 4 KiB page elsewhere (tests) */

/*
 * struct npu_open_options - for npu_open_with()
 * @size: sizeof(struct npu_open_options)
 * @flags: NPU_OPEN_*
 * @threads: of emulation: 0 is NPU_THREADS of the environment, else the online CPUs
 * @log, @log_data: called for warnings and, at level 7, each submit; from any thread
 * @timeout_ms: of emulation, 0 is 2000: a job that runs longer ends with -ETIMEDOUT
 */
struct npu_open_options {
	size_t size;
	uint32_t flags;
	uint32_t threads;
	npu_log_fn *log;
	void *log_data;
	uint32_t timeout_ms;
	uint32_t pad;
};
#define NPU_OPEN_OPTIONS_INIT NPU_SIZED(struct npu_open_options)

NPU_API int npu_open_with(const char *name, const struct npu_open_options *options,
			  struct npu_device **dev);

/*
 * Cancels unstarted jobs (their fences end with -ESRCH), waits for running ones, which
 * emulation cancels within 10 ms, and frees everything of the device. NULL is allowed.
 */
NPU_API void npu_close(struct npu_device *dev);

/* @info->size set by the caller. */
NPU_API int npu_get_info(struct npu_device *dev, struct npu_device_info *info);

/* The device's file descriptor (-1 in emulation), still owned by the library. */
NPU_API int npu_device_fd(struct npu_device *dev);

/* ---- buffer objects ---- */

#define NPU_BO_DEVICE_RDONLY	(1u << 0)	/* the device may not write to it */

/*
 * Creates a zeroed BO of @bytes, rounded up to 4 KiB, at a device address that the library
 * chooses: the same for the same calls on every backend. -EINVAL for 0, -ENOMEM, -ENOSPC when
 * the address space is full.
 */
NPU_API int npu_bo_create(struct npu_device *dev, uint64_t bytes, uint32_t flags,
			  struct npu_bo **bo);
/* The same at a given address (page aligned, for replaying streams); -EEXIST if taken. */
NPU_API int npu_bo_create_at(struct npu_device *dev, uint64_t bytes, uint32_t flags,
			     uint64_t address, struct npu_bo **bo);
/* Drops the caller's BO; jobs in flight keep its memory and address. NULL is allowed. */
NPU_API void npu_bo_destroy(struct npu_bo *bo);
/*
 * CPU pointer to the whole BO, valid until it is destroyed; the same at each call. The caller
 * orders its accesses with jobs by fences. -EIO for imports that cannot be mapped.
 */
NPU_API int npu_bo_map(struct npu_bo *bo, void **ptr);
NPU_API uint64_t npu_bo_size(const struct npu_bo *bo);	/* bytes, rounded */
NPU_API uint64_t npu_bo_address(const struct npu_bo *bo);	/* device address */
/* A dma-buf (a memfd in emulation) of the BO; the caller closes it. */
NPU_API int npu_bo_export(struct npu_bo *bo, int *fd);
/*
 * Imports a dma-buf (in emulation also a memfd that is, or can be, sealed against shrinking);
 * @fd stays the caller's. A buffer that the device has already, an own export or an earlier import,
 * is the same BO once more: each one wants its own npu_bo_destroy(). -EEXIST if that one was made
 * with other flags.
 */
NPU_API int npu_bo_import(struct npu_device *dev, int fd, uint32_t flags, struct npu_bo **bo);
/* Until no job of this device uses the BO; -ETIMEDOUT at @deadline. */
NPU_API int npu_bo_wait(struct npu_bo *bo, int64_t deadline);

/* A place in a BO: byte offset. */
struct npu_ref {
	struct npu_bo *bo;
	uint64_t offset;
};

static inline struct npu_ref npu_at(struct npu_bo *bo, uint64_t offset)
{
	struct npu_ref ref = { bo, offset };

	return ref;
}

/* ---- streams ---- */

/*
 * Builder errors are sticky: the first one is kept, later calls do nothing, and
 * npu_stream_error() or npu_submit() report it with the command's index.
 */
NPU_API int npu_stream_create(struct npu_device *dev, uint32_t ring, struct npu_stream **stream);
NPU_API void npu_stream_destroy(struct npu_stream *stream);
/* Empties the stream and forgets its error, for building the next one. */
NPU_API void npu_stream_reset(struct npu_stream *stream);
/* 0 or the sticky error; npu_last_error() has the sentence. */
NPU_API int npu_stream_error(struct npu_stream *stream);
/* Commands so far. */
NPU_API uint32_t npu_stream_count(const struct npu_stream *stream);
/*
 * The binary stream (npu_isa.h), valid until the next call on @stream. Fails with the sticky
 * error, or if a fetch has no sink yet.
 */
NPU_API int npu_stream_data(struct npu_stream *stream, const void **data, uint32_t *bytes);
/*
 * Appends the commands of a finished binary stream. Its addresses must lie in BOs
 * of the device. -EINVAL with the rule's name where it breaks one.
 */
NPU_API int npu_stream_append(struct npu_stream *stream, const void *data, uint32_t bytes);
/*
 * Lets npu_stream_append() and npu_submit() take a stream as it is, unchecked, with @bos as its
 * BOs: for tests of the device's own checks.
 */
NPU_API int npu_stream_raw(struct npu_stream *stream, const void *data, uint32_t bytes,
			   struct npu_bo *const *bos, uint32_t bo_count);

struct npu_loop {
	uint32_t size;		/* iterations, >= 1 */
	int64_t stride;		/* elements, may be negative or 0 */
};

#define NPU_VIEW_UNPADDED	(1u << 0)	/* packets need not be multiples of 8 bytes */

/*
 * struct npu_view - a tensor in memory and the nest that walks it
 * @size: sizeof(struct npu_view)
 * @base: first byte of the tensor
 * @type: NPU_TYPE_* of its elements
 * @flags: NPU_VIEW_*
 * @count: elements of a contiguous tensor, where @loop_count is 0: the library chooses loops and
 *	packets, in two commands where the last packet is short. 0 elements make no command
 * @offset: elements added to @base, may be negative
 * @loops, @loop_count: outermost first, at most 8
 * @packet_size: elements of a packet; 0 is the innermost loop
 * @read_size: 0: the largest legal one; else it must be legal
 * @interleave: second tensor with the same nest, or .bo NULL
 */
struct npu_view {
	size_t size;
	struct npu_ref base;
	uint32_t type;
	uint32_t flags;
	uint64_t count;
	int64_t offset;
	struct npu_loop loops[NPU_MAX_LOOPS];
	uint32_t loop_count;
	uint32_t packet_size;
	uint32_t read_size;
	uint32_t pad;
	struct npu_ref interleave;
};
#define NPU_VIEW_INIT NPU_SIZED(struct npu_view)

/*
 * struct npu_mask - slots of a packet that read as zeros (npu_isa.h: struct npu_cmd_fetch)
 * @size: sizeof(struct npu_mask)
 * @kind: NPU_MASK_RIGHTMOST, _RIGHTMOST_AND_SECOND or _ITERATOR
 * @axis: loop outside the packet
 * @iterator: loop of NPU_MASK_ITERATOR
 * @left_pad: zeroed slots at the start of the first packet along @axis: the library moves the
 *	base back by as many elements
 * @valid_count: valid slots, left pad included
 */
struct npu_mask {
	size_t size;
	uint32_t kind;
	uint32_t axis;
	uint32_t iterator;
	uint32_t left_pad;
	uint16_t valid_count[NPU_MAX_LOOPS];
};
#define NPU_MASK_INIT NPU_SIZED(struct npu_mask)

/*
 * struct npu_weights - operand W of a contraction, dense [n][k]
 * @size: sizeof(struct npu_weights)
 * @base: first byte
 * @type: NPU_TYPE_*
 * @zero_point, @has_zero_point: subtracted from i4 or i8 weights where has_zero_point is 1
 * @n, @k: rows, and elements of a row
 * @k_group: sums per group of k_group elements: the output is [m][ceil(k / k_group)][n]; 0 means k
 * @m: rows of the stream; needed for k = 0 only, else 0 or elements / k
 */
struct npu_weights {
	size_t size;
	struct npu_ref base;
	uint32_t type;
	uint32_t has_zero_point;
	int32_t zero_point;
	uint32_t n;
	uint32_t k;
	uint32_t k_group;
	uint32_t m;
	uint32_t pad;
};
#define NPU_WEIGHTS_INIT NPU_SIZED(struct npu_weights)

/*
 * Stage handles: small values, used once, each of its own type. A stage takes only what
 * the hardware's order (mask, lookup, cast, zero point, sink) allows, so that an illegal order
 * does not compile. Element types and shapes are checked when the sink is added.
 */
#define NPU_STAGE_TYPE(name)			\
	struct name {				\
		struct npu_stream *stream;	\
		uint64_t serial;		\
	}
NPU_STAGE_TYPE(npu_fetched);		/* main context */
NPU_STAGE_TYPE(npu_masked);
NPU_STAGE_TYPE(npu_looked_up);
NPU_STAGE_TYPE(npu_casted);
NPU_STAGE_TYPE(npu_residual);		/* i5, i9: contraction staging only */
NPU_STAGE_TYPE(npu_sub_fetched);	/* sub context: no mask, no lookup, no contraction */
NPU_STAGE_TYPE(npu_sub_casted);

/* Starts a FETCH on a stream of ring FETCH_MAIN. */
NPU_API struct npu_fetched npu_fetch(struct npu_stream *stream, const struct npu_view *view);
/* Starts a FETCH on a stream of ring FETCH_SUB. */
NPU_API struct npu_sub_fetched npu_sub_fetch(struct npu_stream *stream,
					     const struct npu_view *view);

/* The exported twins of the generic stages below, one for each legal edge. */
NPU_API struct npu_masked npu_mask_fetched(struct npu_fetched h, const struct npu_mask *mask);
NPU_API struct npu_looked_up npu_lookup_fetched(struct npu_fetched h, uint32_t type);
NPU_API struct npu_looked_up npu_lookup_masked(struct npu_masked h, uint32_t type);
NPU_API struct npu_looked_up npu_table_fetched(struct npu_fetched h, uint32_t slot);
NPU_API struct npu_looked_up npu_table_masked(struct npu_masked h, uint32_t slot);
NPU_API struct npu_casted npu_cast_fetched(struct npu_fetched h, uint32_t type);
NPU_API struct npu_casted npu_cast_masked(struct npu_masked h, uint32_t type);
NPU_API struct npu_casted npu_cast_looked_up(struct npu_looked_up h, uint32_t type);
NPU_API struct npu_sub_casted npu_cast_sub_fetched(struct npu_sub_fetched h, uint32_t type);
NPU_API struct npu_residual npu_zero_point_sub_fetched(struct npu_fetched h, int32_t zero_point);
NPU_API struct npu_residual npu_zero_point_sub_masked(struct npu_masked h, int32_t zero_point);
NPU_API struct npu_residual npu_zero_point_sub_looked_up(struct npu_looked_up h,
							 int32_t zero_point);
NPU_API struct npu_residual npu_zero_point_sub_casted(struct npu_casted h, int32_t zero_point);
NPU_API int npu_commit_fetched(struct npu_fetched h, struct npu_ref dst);
NPU_API int npu_commit_masked(struct npu_masked h, struct npu_ref dst);
NPU_API int npu_commit_looked_up(struct npu_looked_up h, struct npu_ref dst);
NPU_API int npu_commit_casted(struct npu_casted h, struct npu_ref dst);
NPU_API int npu_commit_sub_fetched(struct npu_sub_fetched h, struct npu_ref dst);
NPU_API int npu_commit_sub_casted(struct npu_sub_casted h, struct npu_ref dst);
NPU_API int npu_commit_flits_fetched(struct npu_fetched h, struct npu_ref dst);
NPU_API int npu_commit_flits_masked(struct npu_masked h, struct npu_ref dst);
NPU_API int npu_commit_flits_looked_up(struct npu_looked_up h, struct npu_ref dst);
NPU_API int npu_commit_flits_casted(struct npu_casted h, struct npu_ref dst);
NPU_API int npu_commit_flits_sub_fetched(struct npu_sub_fetched h, struct npu_ref dst);
NPU_API int npu_commit_flits_sub_casted(struct npu_sub_casted h, struct npu_ref dst);
NPU_API int npu_contract_fetched(struct npu_fetched h, const struct npu_weights *w,
				 struct npu_ref dst);
NPU_API int npu_contract_masked(struct npu_masked h, const struct npu_weights *w,
				struct npu_ref dst);
NPU_API int npu_contract_looked_up(struct npu_looked_up h, const struct npu_weights *w,
				   struct npu_ref dst);
NPU_API int npu_contract_casted(struct npu_casted h, const struct npu_weights *w,
				struct npu_ref dst);
NPU_API int npu_contract_residual(struct npu_residual h, const struct npu_weights *w,
				  struct npu_ref dst);

#if !defined(__cplusplus)

/* Zeroes the padded slots. */
#define npu_mask(h, mask) _Generic((h), \
	struct npu_fetched: npu_mask_fetched)(h, mask)
/* Built-in decode table to @type: f4e2m1 -> f8e4m3, f8e5m2; f8e4m3, f8e5m2 -> bf16. */
#define npu_lookup(h, type) _Generic((h), \
	struct npu_fetched: npu_lookup_fetched, \
	struct npu_masked: npu_lookup_masked)(h, type)
/* Table of npu_lut_load() in @slot. */
#define npu_table(h, slot) _Generic((h), \
	struct npu_fetched: npu_table_fetched, \
	struct npu_masked: npu_table_masked)(h, slot)
/* Cast to @type. */
#define npu_cast(h, type) _Generic((h), \
	struct npu_fetched: npu_cast_fetched, \
	struct npu_masked: npu_cast_masked, \
	struct npu_looked_up: npu_cast_looked_up, \
	struct npu_sub_fetched: npu_cast_sub_fetched)(h, type)
/* i4 -> i5, i8 -> i9: the result goes to npu_contract() only. */
#define npu_zero_point_sub(h, zero_point) _Generic((h), \
	struct npu_fetched: npu_zero_point_sub_fetched, \
	struct npu_masked: npu_zero_point_sub_masked, \
	struct npu_looked_up: npu_zero_point_sub_looked_up, \
	struct npu_casted: npu_zero_point_sub_casted)(h, zero_point)
/* Sink: memory at @dst, packets dense. 0 or the stream's sticky error. */
#define npu_commit(h, dst) _Generic((h), \
	struct npu_fetched: npu_commit_fetched, \
	struct npu_masked: npu_commit_masked, \
	struct npu_looked_up: npu_commit_looked_up, \
	struct npu_casted: npu_commit_casted, \
	struct npu_sub_fetched: npu_commit_sub_fetched, \
	struct npu_sub_casted: npu_commit_sub_casted)(h, dst)
/* Sink: memory at @dst, each packet padded with zeros to 32 bytes. */
#define npu_commit_flits(h, dst) _Generic((h), \
	struct npu_fetched: npu_commit_flits_fetched, \
	struct npu_masked: npu_commit_flits_masked, \
	struct npu_looked_up: npu_commit_flits_looked_up, \
	struct npu_casted: npu_commit_flits_casted, \
	struct npu_sub_fetched: npu_commit_flits_sub_fetched, \
	struct npu_sub_casted: npu_commit_flits_sub_casted)(h, dst)
/* Sink: contraction with @weights into i32 or f32 [m][groups][n] at @dst. */
#define npu_contract(h, weights, dst) _Generic((h), \
	struct npu_fetched: npu_contract_fetched, \
	struct npu_masked: npu_contract_masked, \
	struct npu_looked_up: npu_contract_looked_up, \
	struct npu_casted: npu_contract_casted, \
	struct npu_residual: npu_contract_residual)(h, weights, dst)

#endif

/*
 * struct npu_preprocess - one PREPROCESS command (npu_isa.h: struct npu_cmd_preprocess)
 * @size: sizeof(struct npu_preprocess)
 * @src: bf16 [rows][cols], dense
 * @dst: output; .bo NULL with NPU_SINK_FMAP_CACHE
 * @rows, @cols: 0 elements make no command
 * @mode: NPU_PP_MODE_*
 * @rounding: NPU_ROUND_*, of INT8_EMAX
 * @sink: NPU_SINK_MEMORY (0 too) or NPU_SINK_FMAP_CACHE
 * @const_slot: of INT8_CONST
 * @emax, @exponents, @scales: side bands, written where .bo is not NULL
 * @keep_emax: 1 keeps the blocks' e_max in the e_max cache (MEMORY sink)
 */
struct npu_preprocess {
	size_t size;
	struct npu_ref src;
	struct npu_ref dst;
	struct npu_ref emax;
	struct npu_ref exponents;
	struct npu_ref scales;
	uint64_t rows;
	uint64_t cols;
	uint32_t mode;
	uint32_t rounding;
	uint32_t sink;
	uint32_t const_slot;
	uint32_t keep_emax;
	uint32_t pad;
};
#define NPU_PREPROCESS_INIT NPU_SIZED(struct npu_preprocess)

/* All of these append one command and return 0 or the stream's sticky error. */
NPU_API int npu_preprocess(struct npu_stream *stream, const struct npu_preprocess *cmd);
/* 16, 256 or 65536 entries at @table, dense. */
NPU_API int npu_lut_load(struct npu_stream *stream, uint32_t slot, uint32_t key_type,
			 uint32_t entry_type, struct npu_ref table);
/* @value: finite and > 0. */
NPU_API int npu_const_set(struct npu_stream *stream, uint32_t slot, float value);
/* @emax, @exponents: .bo NULL where not wanted; @dst.bo NULL reads the side band only. */
NPU_API int npu_fmap_read(struct npu_stream *stream, uint32_t start, uint32_t count,
			  uint32_t lanes, struct npu_ref dst, struct npu_ref emax,
			  struct npu_ref exponents);
NPU_API int npu_barrier(struct npu_stream *stream);
NPU_API int npu_nop(struct npu_stream *stream);

/*
 * struct npu_fetch_info - what the sequencer made of a FETCH command
 * Terms are those of Documentation/fetch.rst.
 */
struct npu_fetch_info {
	size_t size;
	uint64_t time_steps;
	uint32_t packet_size;
	uint32_t max_access_size;
	uint32_t read_size;
	uint32_t reads_per_packet;
	uint64_t cycles;	/* without the adapter's latency */
	uint64_t out_bytes;	/* MEMORY sink */
};
#define NPU_FETCH_INFO_INIT NPU_SIZED(struct npu_fetch_info)

/* Of the command with index @command of @stream; -EINVAL if that is no FETCH. */
NPU_API int npu_stream_fetch_info(struct npu_stream *stream, uint32_t command,
				  struct npu_fetch_info *info);

/* ---- table functions ---- */

#define NPU_TABLE_SIGMOID	0
#define NPU_TABLE_GELU		1	/* x/2 (1 + erf(x / sqrt 2)) */
#define NPU_TABLE_GELU_TANH	2	/* the tanh approximation */
#define NPU_TABLE_SILU		3	/* x sigmoid(x) */
#define NPU_TABLE_TANH		4
#define NPU_TABLE_EXP		5

/*
 * Fills @table with f(key) for each key of @key_type (I8, F8E4M3, F8E5M2: 256 entries; BF16: 65536),
 * correctly rounded to nearest even in @entry_type (BF16, F32, F8E4M3, F8E5M2, or I8 with
 * saturation). I8 keys stand for key * @scale (> 0, finite; I8 entries for entry * @scale);
 * others take scale 1. NaN gives the type's canonical NaN (0 in I8), an f8e4m3 overflow NaN.
 * @bytes is the room at @table. -EINVAL, -ENOSPC.
 */
NPU_API int npu_table_fill(uint32_t function, uint32_t key_type, uint32_t entry_type,
			   double scale, void *table, size_t bytes);

/* ---- queues, submission, fences ---- */

#define NPU_PRIORITY_LOW	0
#define NPU_PRIORITY_NORMAL	1
#define NPU_PRIORITY_HIGH	2	/* CAP_SYS_NICE, else -EACCES */

/* Jobs of a queue run in order; queues run side by side. -EINVAL, -ENOSPC, -EACCES. */
NPU_API int npu_queue_create(struct npu_device *dev, uint32_t ring, uint32_t priority,
			     struct npu_queue **queue);
/* Unstarted jobs end with -ESRCH; a running one finishes first. NULL is allowed. */
NPU_API void npu_queue_destroy(struct npu_queue *queue);

/*
 * struct npu_queue_state - health of a queue
 * @faulted: 1: dead, submits return -EIO; destroy it and create another
 * @rule, @command, @fault_address: of the fault that killed it
 * @job: which one: the point of its fence
 */
struct npu_queue_state {
	size_t size;
	uint32_t faulted;
	uint32_t rule;
	uint32_t command;
	uint32_t pad;
	uint64_t fault_address;
	uint64_t job;
};
#define NPU_QUEUE_STATE_INIT NPU_SIZED(struct npu_queue_state)

NPU_API int npu_queue_get_state(struct npu_queue *queue, struct npu_queue_state *state);

/*
 * A point of a timeline: signalled when the job with that point and all before it on the
 * timeline are done. A plain value: copy it freely; it is valid while its timeline lives (that
 * of a queue as long as the queue).
 */
struct npu_fence {
	struct npu_timeline *timeline;
	uint64_t point;
};

/* A timeline of the application's own, for work across queues. */
NPU_API int npu_timeline_create(struct npu_device *dev, struct npu_timeline **timeline);
NPU_API void npu_timeline_destroy(struct npu_timeline *timeline);
/* The highest point that has signalled. */
NPU_API int npu_timeline_query(struct npu_timeline *timeline, uint64_t *point);

/*
 * struct npu_submit_options - for npu_submit()
 * @size: sizeof(struct npu_submit_options)
 * @flags: 0
 * @wait, @wait_count: fences that must signal before the job starts; each must have been
 *	submitted (-EINVAL otherwise: there is no wait-before-signal)
 * @signal, @signal_count: points of own timelines that signal after the job, besides the
 *	queue's; each above the timeline's last submitted point
 */
struct npu_submit_options {
	size_t size;
	uint32_t flags;
	uint32_t wait_count;
	const struct npu_fence *wait;
	const struct npu_fence *signal;
	uint32_t signal_count;
	uint32_t pad;
};
#define NPU_SUBMIT_OPTIONS_INIT NPU_SIZED(struct npu_submit_options)

/*
 * Queues one job with the stream's commands, which are copied: the stream may be reset, changed
 * or submitted again at once. *@fence (may be NULL) is the queue's next point. An empty stream
 * is a job that does nothing. The stream's sticky error is returned here; -EIO on a dead queue,
 * -EAGAIN with max_in_flight jobs unfinished, -EINVAL a stream of another ring or device.
 */
NPU_API int npu_submit(struct npu_queue *queue, struct npu_stream *stream,
		       const struct npu_submit_options *options, struct npu_fence *fence);
/*
 * Queues @count streams as jobs in one call, all or none; waits before the first, signals after
 * the last, whose fence is returned.
 */
NPU_API int npu_submit_many(struct npu_queue *queue, struct npu_stream *const *streams,
			    uint32_t count, const struct npu_submit_options *options,
			    struct npu_fence *fence);

/* Absolute CLOCK_MONOTONIC nanoseconds, @ms from now; negative @ms: never. */
NPU_API int64_t npu_deadline(int64_t ms);

/*
 * Waits until @fence signals. 0 when its job ended well; -ETIMEDOUT at @deadline (in the
 * past: just look); -EFAULT the job faulted, -ETIME it hung, -ECANCELED it was cancelled behind
 * another's fault or reset, -ESRCH its queue was destroyed, -ENODEV the device is gone:
 * npu_last_error() says where and why. @result (may be NULL) is the job's result
 * record where the fence is a queue's; records of the last max_in_flight jobs are kept,
 * older ones and those of own timelines give status PENDING.
 */
NPU_API int npu_fence_wait(struct npu_fence fence, int64_t deadline, struct npu_result *result);
/*
 * A new file descriptor that polls readable once @fence has signalled; the caller closes it.
 */
NPU_API int npu_fence_fd(struct npu_fence fence, int *fd);

/* ---- what a program may ask for on its way to a message ---- */

/*
 * struct npu_warning - what the library found doubtful in a stream (mask before a non-zero zero
 * point); @text lives until the stream is reset. Returns NULL past the last.
 */
NPU_API const char *npu_stream_warning(const struct npu_stream *stream, uint32_t i);

#if defined(__cplusplus)
}

/* Zeroed, with its size: what NPU_*_INIT are in C. */
template <typename T> inline T npu_sized()
{
	T t = T();

	t.size = sizeof(T);
	return t;
}

/* The stages as overloads: a missing one is an illegal order. */
#define NPU_CXX_STAGE1(ret, name, from, T)						\
	inline ret name(struct npu_##from h, T a) { return name##_##from(h, a); }
NPU_CXX_STAGE1(struct npu_masked, npu_mask, fetched, const struct npu_mask *)
NPU_CXX_STAGE1(struct npu_looked_up, npu_lookup, fetched, uint32_t)
NPU_CXX_STAGE1(struct npu_looked_up, npu_lookup, masked, uint32_t)
NPU_CXX_STAGE1(struct npu_looked_up, npu_table, fetched, uint32_t)
NPU_CXX_STAGE1(struct npu_looked_up, npu_table, masked, uint32_t)
NPU_CXX_STAGE1(struct npu_casted, npu_cast, fetched, uint32_t)
NPU_CXX_STAGE1(struct npu_casted, npu_cast, masked, uint32_t)
NPU_CXX_STAGE1(struct npu_casted, npu_cast, looked_up, uint32_t)
NPU_CXX_STAGE1(struct npu_sub_casted, npu_cast, sub_fetched, uint32_t)
NPU_CXX_STAGE1(struct npu_residual, npu_zero_point_sub, fetched, int32_t)
NPU_CXX_STAGE1(struct npu_residual, npu_zero_point_sub, masked, int32_t)
NPU_CXX_STAGE1(struct npu_residual, npu_zero_point_sub, looked_up, int32_t)
NPU_CXX_STAGE1(struct npu_residual, npu_zero_point_sub, casted, int32_t)
NPU_CXX_STAGE1(int, npu_commit, fetched, struct npu_ref)
NPU_CXX_STAGE1(int, npu_commit, masked, struct npu_ref)
NPU_CXX_STAGE1(int, npu_commit, looked_up, struct npu_ref)
NPU_CXX_STAGE1(int, npu_commit, casted, struct npu_ref)
NPU_CXX_STAGE1(int, npu_commit, sub_fetched, struct npu_ref)
NPU_CXX_STAGE1(int, npu_commit, sub_casted, struct npu_ref)
NPU_CXX_STAGE1(int, npu_commit_flits, fetched, struct npu_ref)
NPU_CXX_STAGE1(int, npu_commit_flits, masked, struct npu_ref)
NPU_CXX_STAGE1(int, npu_commit_flits, looked_up, struct npu_ref)
NPU_CXX_STAGE1(int, npu_commit_flits, casted, struct npu_ref)
NPU_CXX_STAGE1(int, npu_commit_flits, sub_fetched, struct npu_ref)
NPU_CXX_STAGE1(int, npu_commit_flits, sub_casted, struct npu_ref)
#undef NPU_CXX_STAGE1
#define NPU_CXX_CONTRACT(from)								\
	inline int npu_contract(struct npu_##from h, const struct npu_weights *w,	\
				struct npu_ref dst)					\
	{										\
		return npu_contract_##from(h, w, dst);					\
	}
NPU_CXX_CONTRACT(fetched)
NPU_CXX_CONTRACT(masked)
NPU_CXX_CONTRACT(looked_up)
NPU_CXX_CONTRACT(casted)
NPU_CXX_CONTRACT(residual)
#undef NPU_CXX_CONTRACT
#endif

#endif
