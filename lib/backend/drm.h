/* SPDX-License-Identifier: MIT */
/*
 * The device, by the kernel driver's ioctls. bo->handle is the GEM handle, queue->handle the
 * queue's id, timeline->handle a syncobj.
 */
#ifndef NPU_DRM_H
#define NPU_DRM_H

#include "backend.h"

/* An ioctl, restarted after signals: 0 or the negative errno. */
int drm_call(const struct npu_device *dev, unsigned long request, void *arg);
/* The sentence for a failed ioctl that gives no better one. */
int drm_failed(const struct npu_device *dev, int ret, const char *what);

/* drm_bo.c */
int drm_bo_create(struct npu_bo *bo);
int drm_bo_import(struct npu_bo *bo, int fd);
bool drm_bo_same(const struct npu_bo *known, const struct npu_bo *import);
int drm_bo_bind(struct npu_bo *bo);
void drm_bo_free(struct npu_bo *bo, bool bound);
int drm_bo_map(struct npu_bo *bo, void **map);
int drm_bo_export(struct npu_bo *bo, int *fd);

/* drm_queue.c */
int drm_queue_create(struct npu_queue *queue);
void drm_queue_end(struct npu_queue *queue);
void drm_queue_free(struct npu_queue *queue);
int drm_queue_state(struct npu_queue *queue, struct npu_queue_state *state);
int drm_job_status(struct npu_queue *queue, uint64_t point);
int drm_submit(const struct npu_submission *submission);

/* drm_timeline.c */
int drm_timeline_create(struct npu_timeline *timeline);
void drm_timeline_free(struct npu_timeline *timeline);
int drm_timeline_query(struct npu_timeline *timeline, uint64_t *point);
int drm_timeline_wait(struct npu_timeline *timeline, uint64_t point, int64_t deadline);
int drm_timeline_fd(struct npu_timeline *timeline, uint64_t point, int *fd);

#endif
