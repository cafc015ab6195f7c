/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_MMU_H_
#define _NPU_MMU_H_

#include <linux/list.h>
#include <linux/types.h>

struct npu_device;
struct npu_pt;
struct sg_table;

struct npu_pt *npu_pt_create(struct npu_device *npu);
void npu_pt_destroy(struct npu_device *npu, struct npu_pt *root);
void npu_pt_unmap_dma(struct npu_device *npu, struct npu_pt *pt);
u64 npu_pt_address(const struct npu_pt *pt);

int npu_pt_prepare(struct npu_device *npu, struct npu_pt *root, u64 start, u64 size);
void npu_pt_map(struct npu_pt *root, u64 start, u64 size, struct sg_table *sgt, bool write);
void npu_pt_unmap(struct npu_pt *root, u64 start, u64 size);
void npu_pt_prune(struct npu_pt *root, u64 start, u64 size, struct list_head *unused);
void npu_pt_free_list(struct npu_device *npu, struct list_head *unused);

void npu_mmu_invalidate(struct npu_device *npu, unsigned int asid);

#endif
