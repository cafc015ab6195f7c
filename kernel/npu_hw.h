/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_HW_H_
#define _NPU_HW_H_

struct npu_device;

int npu_hw_probe(struct npu_device *npu);
void npu_hw_start(struct npu_device *npu);
int npu_hw_init_irq(struct npu_device *npu);
void npu_hw_fini_irq(struct npu_device *npu);

#endif
