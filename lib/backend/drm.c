// SPDX-License-Identifier: MIT
/* The device: opening it, and what it says about itself. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>

#include <drm/npu_accel.h>

#include "drm.h"
#include "error.h"

#define UAPI_MAJOR 1

int drm_call(const struct npu_device *dev, unsigned long request, void *arg)
{
	return drmIoctl(dev->fd, request, arg) ? -errno : 0;
}

int drm_failed(const struct npu_device *dev, int ret, const char *what)
{
	if (ret == -ENODEV)
		return npu_fail(ENODEV, "%s: the device %s is gone or wedged", what,
				dev->info.path);
	return npu_fail(-ret, "%s: %s: %s", what, dev->info.path, strerror(-ret));
}

/* EINVAL: a driver older than the parameter. */
static int get_param(const struct npu_device *dev, uint32_t param, uint64_t *value)
{
	struct drm_npu_get_param arg = { .param = param };
	int ret = drm_call(dev, DRM_IOCTL_NPU_GET_PARAM, &arg);

	if (!ret)
		*value = arg.value;
	return ret;
}

static int check_driver(struct npu_device *dev)
{
	drmVersionPtr version = drmGetVersion(dev->fd);
	char name[NPU_DEVICE_NAME_MAX];

	if (!version)
		return npu_fail(ENOTSUP, "%s is no DRM device: %s", dev->info.path,
				strerror(errno));
	snprintf(name, sizeof(name), "%.*s", version->name_len, version->name);
	drmFreeVersion(version);
	if (strcmp(name, "npu"))
		return npu_fail(ENOTSUP, "%s belongs to the driver \"%s\", not to \"npu\"",
				dev->info.path, name);
	memcpy(dev->info.driver, name, sizeof(name));
	return 0;
}

/* Of another major version nothing else is certain. */
static int check_uapi(struct npu_device *dev)
{
	struct npu_device_info *info = &dev->info;
	uint64_t major = 0, minor = 0;
	int ret;

	ret = get_param(dev, DRM_NPU_PARAM_UAPI_MAJOR, &major);
	if (!ret)
		ret = get_param(dev, DRM_NPU_PARAM_UAPI_MINOR, &minor);
	if (ret)
		return drm_failed(dev, ret, "GET_PARAM");
	info->driver_major = (uint32_t)major;
	info->driver_minor = (uint32_t)minor;
	if (info->driver_major != UAPI_MAJOR)
		return npu_fail(ENOTSUP,
				"%s: the driver's interface is version %u.%u, this library (%d.%d.%d) knows %d: update the older one",
				info->path, info->driver_major, info->driver_minor,
				NPU_VERSION_MAJOR, NPU_VERSION_MINOR, NPU_VERSION_PATCH,
				UAPI_MAJOR);
	return 0;
}

static int check_isa(const struct npu_device *dev)
{
	const struct npu_device_info *info = &dev->info;

	if (info->isa_major != NPU_ISA_MAJOR)
		return npu_fail(ENOTSUP,
				"%s: the device runs streams of version %u.%u, this library (%d.%d.%d) makes %d.%d: update the older one",
				info->path, info->isa_major, info->isa_minor, NPU_VERSION_MAJOR,
				NPU_VERSION_MINOR, NPU_VERSION_PATCH, NPU_ISA_MAJOR,
				NPU_ISA_MINOR);
	return 0;
}

/* Every parameter is of the uAPI's first version, so that each must be there. */
static int read_params(struct npu_device *dev)
{
	struct npu_device_info *info = &dev->info;
	const struct {
		uint32_t param;
		uint32_t *to;
		uint64_t *to64;
	} params[] = {
		{ DRM_NPU_PARAM_ISA_MAJOR, &info->isa_major, NULL },
		{ DRM_NPU_PARAM_ISA_MINOR, &info->isa_minor, NULL },
		{ DRM_NPU_PARAM_DEVICE_ID, &info->device_id, NULL },
		{ DRM_NPU_PARAM_DEVICE_REVISION, &info->device_revision, NULL },
		{ DRM_NPU_PARAM_RINGS, &info->rings, NULL },
		{ DRM_NPU_PARAM_CAPABILITIES, &info->capabilities, NULL },
		{ DRM_NPU_PARAM_CLOCK_HZ, NULL, &info->clock_hz },
		{ DRM_NPU_PARAM_ADDRESS_START, NULL, &info->address_start },
		{ DRM_NPU_PARAM_ADDRESS_END, NULL, &info->address_end },
		{ DRM_NPU_PARAM_PAGE_SIZE, &info->page_size, NULL },
		{ DRM_NPU_PARAM_MAX_STREAM, NULL, &info->max_stream },
		{ DRM_NPU_PARAM_MAX_JOBS, &info->max_jobs, NULL },
		{ DRM_NPU_PARAM_MAX_BOS, &info->max_bos, NULL },
		{ DRM_NPU_PARAM_MAX_SYNCS, &info->max_syncs, NULL },
		{ DRM_NPU_PARAM_MAX_QUEUES, &info->max_queues, NULL },
		{ DRM_NPU_PARAM_MAX_IN_FLIGHT, &info->max_in_flight, NULL },
		{ DRM_NPU_PARAM_MAX_BO_SIZE, NULL, &info->max_bo_size },
		{ DRM_NPU_PARAM_TIMEOUT_MS, &info->timeout_ms, NULL },
	};
	uint64_t value = 0;
	size_t i;
	int ret;

	for (i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
		ret = get_param(dev, params[i].param, &value);
		if (ret)
			return drm_failed(dev, ret, "GET_PARAM");
		if (params[i].to)
			*params[i].to = (uint32_t)value;
		else
			*params[i].to64 = value;
	}
	return 0;
}

static int drm_open(struct npu_device *dev, const char *path,
		    const struct npu_open_options *options)
{
	const char *base = strrchr(path, '/');
	int ret;

	ret = npu_open_node("/sys", path, &dev->fd);
	if (ret)
		return ret;
	dev->info.size = sizeof(dev->info);
	snprintf(dev->info.path, sizeof(dev->info.path), "%s", path);
	snprintf(dev->info.name, sizeof(dev->info.name), "%s", base ? base + 1 : path);
	ret = check_driver(dev);
	if (!ret)
		ret = check_uapi(dev);
	if (!ret)
		ret = read_params(dev);
	if (!ret)
		ret = check_isa(dev);
	if (ret)
		close(dev->fd);
	return ret;
}

/* The driver has no such call: what runs finishes or meets its time limit. */
static void drm_cancel(struct npu_device *dev)
{
}

/* A forked child closes its copy of the descriptor, which ends nothing. */
static void drm_close(struct npu_device *dev)
{
	close(dev->fd);
}

const struct npu_backend npu_backend_drm = {
	.open = drm_open,
	.cancel = drm_cancel,
	.close = drm_close,
	.bo_create = drm_bo_create,
	.bo_import = drm_bo_import,
	.bo_same = drm_bo_same,
	.bo_bind = drm_bo_bind,
	.bo_free = drm_bo_free,
	.bo_map = drm_bo_map,
	.bo_export = drm_bo_export,
	.queue_create = drm_queue_create,
	.queue_end = drm_queue_end,
	.queue_free = drm_queue_free,
	.queue_state = drm_queue_state,
	.job_status = drm_job_status,
	.submit = drm_submit,
	.timeline_create = drm_timeline_create,
	.timeline_free = drm_timeline_free,
	.timeline_query = drm_timeline_query,
	.timeline_wait = drm_timeline_wait,
	.timeline_fd = drm_timeline_fd,
};
