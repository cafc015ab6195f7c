// SPDX-License-Identifier: MIT
/* Opening the device that the command line asks for. */
#include <errno.h>
#include <string.h>

#include "cmd.h"

/*
 * Emulation has no other user to protect from a long job: whoever is tired of waiting presses
 * Ctrl-C. Milliseconds.
 */
#define EMULATION_TIMEOUT	(60 * 60 * 1000)

static int set_level(const char *name)
{
	int ret = name ? npu_set_cpu_level(name) : 0;

	/* Not that there is no device: the option cannot be. */
	return ret ? fail(NPU_EXIT_USAGE, "--cpu: %s", npu_last_error()) : 0;
}

int device_open(const struct options *opts, struct npu_device **dev,
		struct npu_device_info *info)
{
	struct npu_open_options open = NPU_OPEN_OPTIONS_INIT;
	int ret;

	ret = set_level(opts->cpu);
	if (ret)
		return ret;
	open.threads = opts->threads;
	open.timeout_ms = EMULATION_TIMEOUT;
	ret = npu_open_with(opts->device, &open, dev);
	if (ret == -EINVAL)
		return fail(NPU_EXIT_USAGE, "--device: %s", npu_last_error());
	if (ret)
		return fail_npu(ret);
	*info = (struct npu_device_info)NPU_DEVICE_INFO_INIT;
	ret = npu_get_info(*dev, info);
	if (ret) {
		ret = fail_npu(ret);
		npu_close(*dev);
		*dev = NULL;
		return ret;
	}
	return 0;
}

void device_tell(const struct options *opts, const struct npu_device_info *info)
{
	if (!opts->device && info->emulated)
		note("no device: done in emulation (%s)", npu_cpu_level());
	else if (!opts->device)
		note("done on %s", info->path);
}
