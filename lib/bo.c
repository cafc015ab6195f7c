// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "bo.h"
#include "error.h"

void npu_bo_release_locked(struct npu_bo *bo)
{
	if (bo->released)
		return;
	bo->released = true;
	bo->dev->backend->bo_free(bo, true);
	npu_space_give_back(&bo->dev->space, &bo->range);
}

void npu_bo_ref_locked(struct npu_bo *bo)
{
	bo->refs++;
}

static void bo_put_locked(struct npu_bo *bo)
{
	if (bo->refs || bo->jobs)
		return;
	npu_list_del(&bo->link);
	free(bo);
}

void npu_bo_unref_locked(struct npu_bo *bo)
{
	bo->refs--;
	bo_put_locked(bo);
}

void npu_bo_job_done_locked(struct npu_bo *bo)
{
	bo->jobs--;
	if (bo->range.dying && !bo->jobs)
		npu_bo_release_locked(bo);
	bo_put_locked(bo);
}

static struct npu_bo *bo_alloc(struct npu_device *dev, uint64_t bytes, uint32_t flags)
{
	struct npu_bo *bo = calloc(1, sizeof(*bo));

	if (!bo)
		return NULL;
	npu_list_init(&bo->link);
	bo->dev = dev;
	bo->size = bytes;
	bo->flags = flags;
	bo->users = 1;
	bo->refs = 1;
	bo->fd = -1;
	return bo;
}

static int bo_round(struct npu_device *dev, uint64_t bytes, uint32_t flags, uint64_t *size)
{
	uint64_t page = dev->info.page_size;

	if (flags & ~NPU_BO_DEVICE_RDONLY)
		return npu_fail(EINVAL, "npu_bo_create: flags is 0x%x: unknown bits", flags);
	if (!bytes)
		return npu_fail(EINVAL, "npu_bo_create: bytes is 0");
	if (bytes > dev->info.max_bo_size)
		return npu_fail(EINVAL, "npu_bo_create: %llu bytes, the device takes at most %llu",
				(unsigned long long)bytes,
				(unsigned long long)dev->info.max_bo_size);
	*size = (bytes + page - 1) & ~(page - 1);
	return 0;
}

/* Takes the BO's addresses: at @address, or from @window where that is not NULL. */
static int bo_place_locked(struct npu_bo *bo, struct npu_window *window, uint64_t address)
{
	struct npu_device *dev = bo->dev;

	if (window)
		return npu_space_alloc(&dev->space, window, bo->size, &bo->range);
	bo->range.start = address;
	bo->range.end = address + bo->size;
	return npu_space_take(&dev->space, &bo->range);
}

static int bo_place_failed(const struct npu_bo *bo, int err)
{
	if (err == EEXIST)
		return npu_fail(EEXIST,
				"device addresses 0x%llx to 0x%llx overlap those of another BO",
				(unsigned long long)bo->range.start,
				(unsigned long long)bo->range.end - 1);
	if (err == ENOSPC)
		return npu_fail(ENOSPC, "no gap of %llu bytes is left in the device's addresses",
				(unsigned long long)bo->size);
	return npu_fail(err, "no memory for a BO");
}

/* Addresses, mapping and a place in the device's list for a BO that has memory. */
static int bo_publish(struct npu_bo *bo, struct npu_window *window, uint64_t address)
{
	struct npu_device *dev = bo->dev;
	int ret;

	for (;;) {
		pthread_mutex_lock(&dev->lock);
		ret = bo_place_locked(bo, window, address);
		if (ret != -EBUSY)
			break;
		pthread_mutex_unlock(&dev->lock);
		npu_device_settle(dev);
	}
	if (ret) {
		ret = bo_place_failed(bo, -ret);
	} else {
		ret = dev->backend->bo_bind(bo);
		if (ret)
			npu_space_give_back(&dev->space, &bo->range);
		else
			npu_list_add_tail(&dev->bos, &bo->link);
	}
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

static int bo_create(struct npu_device *dev, uint64_t bytes, uint32_t flags,
		     struct npu_window *window, uint64_t address, struct npu_bo **out)
{
	struct npu_bo *bo;
	uint64_t size = 0;
	int ret;

	ret = bo_round(dev, bytes, flags, &size);
	if (ret)
		return ret;
	if (!window && (address % dev->info.page_size || address < dev->info.address_start ||
			address >= dev->info.address_end ||
			size > dev->info.address_end - address))
		return npu_fail(EINVAL,
				"npu_bo_create_at: address 0x%llx for %llu bytes: it must be a multiple of %u between 0x%llx and 0x%llx",
				(unsigned long long)address, (unsigned long long)size,
				dev->info.page_size, (unsigned long long)dev->info.address_start,
				(unsigned long long)dev->info.address_end);
	bo = bo_alloc(dev, size, flags);
	if (!bo)
		return npu_fail(ENOMEM, "no memory for a BO");
	ret = dev->backend->bo_create(bo);
	if (ret)
		goto err_free;
	ret = bo_publish(bo, window, address);
	if (ret)
		goto err_memory;
	*out = bo;
	return 0;

err_memory:
	dev->backend->bo_free(bo, false);
err_free:
	free(bo);
	return ret;
}

int npu_bo_create(struct npu_device *dev, uint64_t bytes, uint32_t flags, struct npu_bo **bo)
{
	int ret = npu_device_check(dev, "npu_bo_create");

	if (ret)
		return ret;
	if (!bo)
		return npu_fail(EINVAL, "npu_bo_create: bo is NULL");
	return bo_create(dev, bytes, flags, &dev->window, 0, bo);
}

int npu_bo_create_at(struct npu_device *dev, uint64_t bytes, uint32_t flags, uint64_t address,
		     struct npu_bo **bo)
{
	int ret = npu_device_check(dev, "npu_bo_create_at");

	if (ret)
		return ret;
	if (!bo)
		return npu_fail(EINVAL, "npu_bo_create_at: bo is NULL");
	return bo_create(dev, bytes, flags, NULL, address, bo);
}

int npu_bo_create_own(struct npu_device *dev, uint64_t bytes, struct npu_bo **bo)
{
	return bo_create(dev, bytes, 0, &dev->own, 0, bo);
}

/* A BO of the device on the same buffer as the import @bo: the application's once more. */
static struct npu_bo *find_same_locked(const struct npu_bo *bo)
{
	struct npu_device *dev = bo->dev;
	struct npu_list *pos;

	npu_list_for(pos, &dev->bos) {
		struct npu_bo *known = npu_container(pos, struct npu_bo, link);

		if (!known->released && dev->backend->bo_same(known, bo))
			return known;
	}
	return NULL;
}

static int use_same_locked(struct npu_bo *known, uint32_t flags)
{
	if (known->flags != flags)
		return npu_fail(EEXIST,
				"npu_bo_import: the device has this buffer already, at 0x%llx and %s",
				(unsigned long long)known->range.start,
				known->flags ? "read-only" : "writable");
	/* Destroyed, but a job kept it: it lives on. */
	if (!known->users++) {
		known->range.dying = false;
		known->refs++;
	}
	return 0;
}

int npu_bo_import(struct npu_device *dev, int fd, uint32_t flags, struct npu_bo **out)
{
	struct npu_bo *bo, *known = NULL;
	int ret;

	ret = npu_device_check(dev, "npu_bo_import");
	if (ret)
		return ret;
	if (!out)
		return npu_fail(EINVAL, "npu_bo_import: bo is NULL");
	if (flags & ~NPU_BO_DEVICE_RDONLY)
		return npu_fail(EINVAL, "npu_bo_import: flags is 0x%x: unknown bits", flags);
	bo = bo_alloc(dev, 0, flags);
	if (!bo)
		return npu_fail(ENOMEM, "no memory for a BO");
	bo->imported = true;
	/* Locked, so that what is found to be the same is not released meanwhile. */
	pthread_mutex_lock(&dev->lock);
	ret = dev->backend->bo_import(bo, fd);
	if (!ret)
		known = find_same_locked(bo);
	if (known)
		ret = use_same_locked(known, flags);
	pthread_mutex_unlock(&dev->lock);
	if (ret || known)
		goto out_free;
	ret = bo_publish(bo, &dev->window, 0);
	if (ret) {
		dev->backend->bo_free(bo, false);
		goto out_free;
	}
	*out = bo;
	return 0;

out_free:
	free(bo);
	if (known && !ret)
		*out = known;
	return ret;
}

void npu_bo_destroy(struct npu_bo *bo)
{
	struct npu_device *dev;

	if (!bo || npu_device_check(bo->dev, "npu_bo_destroy"))
		return;
	dev = bo->dev;
	pthread_mutex_lock(&dev->lock);
	if (!--bo->users) {
		if (bo->jobs)
			npu_device_reap_locked(dev);
		bo->range.dying = true;
		if (!bo->jobs)
			npu_bo_release_locked(bo);
		npu_bo_unref_locked(bo);
	}
	pthread_mutex_unlock(&dev->lock);
}

int npu_bo_map(struct npu_bo *bo, void **ptr)
{
	int ret;

	if (!bo || !ptr)
		return npu_fail(EINVAL, "npu_bo_map: %s is NULL", bo ? "ptr" : "bo");
	ret = npu_device_check(bo->dev, "npu_bo_map");
	if (ret)
		return ret;
	pthread_mutex_lock(&bo->dev->lock);
	if (!bo->map)
		ret = bo->dev->backend->bo_map(bo, &bo->map);
	if (!ret)
		*ptr = bo->map;
	pthread_mutex_unlock(&bo->dev->lock);
	return ret;
}

uint64_t npu_bo_size(const struct npu_bo *bo)
{
	return bo ? bo->size : 0;
}

uint64_t npu_bo_address(const struct npu_bo *bo)
{
	return bo ? bo->range.start : 0;
}

int npu_bo_export(struct npu_bo *bo, int *fd)
{
	int ret;

	if (!bo || !fd)
		return npu_fail(EINVAL, "npu_bo_export: %s is NULL", bo ? "fd" : "bo");
	ret = npu_device_check(bo->dev, "npu_bo_export");
	return ret ? ret : bo->dev->backend->bo_export(bo, fd);
}

int npu_bo_wait(struct npu_bo *bo, int64_t deadline)
{
	int ret;

	if (!bo)
		return npu_fail(EINVAL, "npu_bo_wait: bo is NULL");
	ret = npu_device_check(bo->dev, "npu_bo_wait");
	if (ret)
		return ret;
	ret = npu_device_wait_jobs(bo->dev, bo, deadline);
	if (ret == -ETIMEDOUT)
		return npu_fail(ETIMEDOUT, "npu_bo_wait: a job still uses the BO at 0x%llx",
				(unsigned long long)bo->range.start);
	return ret;
}
