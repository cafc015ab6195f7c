// SPDX-License-Identifier: MIT
#include <sys/eventfd.h>
#include <unistd.h>
#include <xf86drm.h>

#include "drm.h"
#include "error.h"

/* Linux 6.6; libdrm's copy of drm.h may be older. */
#ifndef DRM_IOCTL_SYNCOBJ_EVENTFD
struct drm_syncobj_eventfd {
	__u32 handle;
	__u32 flags;
	__u64 point;
	__s32 fd;
	__u32 pad;
};
#define DRM_IOCTL_SYNCOBJ_EVENTFD DRM_IOWR(0xcf, struct drm_syncobj_eventfd)
#endif

int drm_timeline_create(struct npu_timeline *timeline)
{
	if (drmSyncobjCreate(timeline->dev->fd, 0, &timeline->handle))
		return drm_failed(timeline->dev, -errno, "SYNCOBJ_CREATE");
	return 0;
}

void drm_timeline_free(struct npu_timeline *timeline)
{
	/* In a forked child the handle is the parent's. */
	if (!timeline->dev->forked)
		drmSyncobjDestroy(timeline->dev->fd, timeline->handle);
}

int drm_timeline_query(struct npu_timeline *timeline, uint64_t *point)
{
	if (drmSyncobjQuery(timeline->dev->fd, &timeline->handle, point, 1))
		return drm_failed(timeline->dev, -errno, "SYNCOBJ_QUERY");
	return 0;
}

int drm_timeline_wait(struct npu_timeline *timeline, uint64_t point, int64_t deadline)
{
	int ret;

	if (!point)
		return 0;
	ret = drmSyncobjTimelineWait(timeline->dev->fd, &timeline->handle, &point, 1,
				     deadline < 0 ? 0 : deadline, 0, NULL);
	if (!ret)
		return 0;
	return ret == -ETIME ? -ETIMEDOUT : drm_failed(timeline->dev, ret, "SYNCOBJ_TIMELINE_WAIT");
}

int drm_timeline_fd(struct npu_timeline *timeline, uint64_t point, int *out)
{
	struct drm_syncobj_eventfd arg = { .handle = timeline->handle, .point = point };
	int ret;

	arg.fd = eventfd(!point, EFD_CLOEXEC | EFD_NONBLOCK);
	if (arg.fd < 0)
		return npu_fail(errno, "no file descriptor for a fence: %m");
	ret = point ? drm_call(timeline->dev, DRM_IOCTL_SYNCOBJ_EVENTFD, &arg) : 0;
	if (ret) {
		close(arg.fd);
		return drm_failed(timeline->dev, ret, "SYNCOBJ_EVENTFD");
	}
	*out = arg.fd;
	return 0;
}
