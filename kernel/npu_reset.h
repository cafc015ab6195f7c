/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _NPU_RESET_H_
#define _NPU_RESET_H_

struct drm_sched_entity;
struct npu_device;
struct npu_ring;
struct work_struct;

int npu_reset_init(struct npu_device *npu);
int npu_reset_device(struct npu_device *npu);
void npu_reset_hung(struct npu_ring *ring);
void npu_reset_broken_work(struct work_struct *work);
void npu_reset_request(struct npu_device *npu, unsigned int resets);
void npu_reset_stop(struct npu_device *npu);
void npu_reset_kill_entity(struct npu_ring *ring, struct drm_sched_entity *entity);
void npu_reset_pause(struct npu_device *npu);
void npu_reset_resume(struct npu_device *npu);

#endif
