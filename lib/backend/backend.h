/* SPDX-License-Identifier: MIT */
/*
 * What a backend does for the library. Everything that can be the same on each of them
 * (addresses, streams, checks, results, messages) is above this line.
 * Functions return 0 or a negative errno with npu_fail()'s sentence.
 */
#ifndef NPU_BACKEND_H
#define NPU_BACKEND_H

#include "bo.h"
#include "device.h"
#include "queue.h"

struct npu_backend_job {
	const void *stream;
	uint32_t size;
	uint64_t record;		/* device address */
};

/*
 * struct npu_submission - one submit to the backend, its arguments checked
 * @jobs: one for each point from @batch->first on
 * @batch: waits come before the first job, signals (and the queue's point) after the last
 */
struct npu_submission {
	struct npu_queue *queue;
	const struct npu_backend_job *jobs;
	uint32_t count;
	const struct npu_batch *batch;
};

struct npu_backend {
	/* Opens @path with options @timeout_ms and @threads; fills in dev->info. */
	int (*open)(struct npu_device *dev, const char *path,
		    const struct npu_open_options *options);
	/* Hurries running jobs to their end, where that is possible. */
	void (*cancel)(struct npu_device *dev);
	/* No queue, timeline or BO is left; or, in a forked child, only this memory matters. */
	void (*close)(struct npu_device *dev);

	/* Memory of bo->size bytes, mapped nowhere yet. */
	int (*bo_create)(struct npu_bo *bo);
	/* Sets bo->size. */
	int (*bo_import)(struct npu_bo *bo, int fd);
	/* Whether the import just made is the buffer of @known, which keeps what they share. */
	bool (*bo_same)(const struct npu_bo *known, const struct npu_bo *import);
	/* At bo->range.start. */
	int (*bo_bind)(struct npu_bo *bo);
	/* Undoes all of it; @bound says whether bo_bind() succeeded. */
	void (*bo_free)(struct npu_bo *bo, bool bound);
	int (*bo_map)(struct npu_bo *bo, void **map);
	int (*bo_export)(struct npu_bo *bo, int *fd);

	int (*queue_create)(struct npu_queue *queue);
	/* Takes no jobs any more, unstarted ones end. */
	void (*queue_end)(struct npu_queue *queue);
	/* All its jobs have ended. */
	void (*queue_free)(struct npu_queue *queue);
	int (*queue_state)(struct npu_queue *queue, struct npu_queue_state *state);
	/* Status of a finished job that left its record PENDING. */
	int (*job_status)(struct npu_queue *queue, uint64_t point);
	int (*submit)(const struct npu_submission *submission);

	int (*timeline_create)(struct npu_timeline *timeline);
	void (*timeline_free)(struct npu_timeline *timeline);
	int (*timeline_query)(struct npu_timeline *timeline, uint64_t *point);
	/* -ETIMEDOUT without a sentence at @deadline. */
	int (*timeline_wait)(struct npu_timeline *timeline, uint64_t point, int64_t deadline);
	int (*timeline_fd)(struct npu_timeline *timeline, uint64_t point, int *fd);
};

extern const struct npu_backend npu_backend_emu;
extern const struct npu_backend npu_backend_drm;

#endif
