// SPDX-License-Identifier: MIT
#include "backend.h"
#include "error.h"

static int drm_open(struct npu_device *dev, const char *path,
		    const struct npu_open_options *options)
{
	return npu_fail(ENODEV, "%s: this build has no device backend", path);
}

const struct npu_backend npu_backend_drm = {
	.open = drm_open,
};
