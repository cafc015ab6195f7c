/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_DEBUGFS_H_
#define _NPU_DEBUGFS_H_

struct npu_device;

void npu_debugfs_init(struct npu_device *npu);

#endif
