/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_COREDUMP_H_
#define _NPU_COREDUMP_H_

#include <linux/types.h>

struct npu_device;
struct npu_job;
struct npu_ring;

int npu_coredump_init(struct npu_device *npu);
void npu_coredump_fini(struct npu_device *npu);
void npu_coredump_take(struct npu_ring *ring, struct npu_job *job, u32 rule);

#endif
