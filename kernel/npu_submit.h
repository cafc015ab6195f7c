/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_SUBMIT_H_
#define _NPU_SUBMIT_H_

struct drm_device;
struct drm_file;

int npu_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file);

#endif
