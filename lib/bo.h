/* SPDX-License-Identifier: MIT */
/* Buffer objects. */
#ifndef NPU_BO_H
#define NPU_BO_H

#include "list.h"
#include "npu.h"
#include "space.h"

/*
 * struct npu_bo - memory and its device addresses
 * @users: how many times the application has it: creation, and imports of the same buffer
 * @refs: who may look at this structure: the application, streams
 * @jobs: unfinished submits that use the memory
 * @released: memory and addresses are gone
 * @stamp, @index: place in the BO list of the submit that is being made
 * All but what never changes is under the device's lock.
 */
struct npu_bo {
	struct npu_range range;
	struct npu_list link;
	struct npu_device *dev;
	uint64_t size;
	uint32_t flags;			/* NPU_BO_* */
	uint32_t users;
	uint32_t refs;
	uint32_t jobs;
	bool imported;
	bool released;
	void *map;			/* CPU view, NULL before npu_bo_map() */
	uint32_t handle;		/* the backend's three */
	int fd;
	void *priv;
	uint64_t stamp;
	uint32_t index;
};

/* The library's own BO, from the window that does not move the application's. */
int npu_bo_create_own(struct npu_device *dev, uint64_t bytes, struct npu_bo **bo);

/* These want the device's lock held. */
void npu_bo_ref_locked(struct npu_bo *bo);
void npu_bo_unref_locked(struct npu_bo *bo);
/* One submit less; the last one of a destroyed BO releases it. */
void npu_bo_job_done_locked(struct npu_bo *bo);
/* Releases memory and addresses whatever uses them: when the device closes. */
void npu_bo_release_locked(struct npu_bo *bo);

#endif
