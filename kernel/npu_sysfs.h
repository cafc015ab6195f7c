/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_SYSFS_H_
#define _NPU_SYSFS_H_

struct attribute_group;
struct drm_file;
struct drm_printer;

void npu_show_fdinfo(struct drm_printer *p, struct drm_file *file);

extern const struct attribute_group *npu_groups[];

#endif
