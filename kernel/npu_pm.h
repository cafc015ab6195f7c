/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_PM_H_
#define _NPU_PM_H_

#include <linux/pm.h>

struct npu_device;

void npu_pm_init(struct npu_device *npu);
void npu_pm_fini(struct npu_device *npu);
int npu_pm_get(struct npu_device *npu);
void npu_pm_put(struct npu_device *npu);

extern const struct dev_pm_ops npu_pm_ops;

#endif
