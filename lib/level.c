// SPDX-License-Identifier: MIT
/* The SIMD level by name. */
#include <errno.h>
#include <string.h>

#include <npu.h>

#include "error.h"
#include "kern/kern.h"

NPU_API const char *npu_cpu_level(void)
{
	return npu_kern_level_name(npu_kern_get()->level);
}

NPU_API const char *npu_cpu_level_name(unsigned int i)
{
	for (unsigned int level = 0; level < NPU_KERN_LEVELS; level++) {
		if (npu_kern_level(level) && !i--)
			return npu_kern_level_name(level);
	}
	return NULL;
}

NPU_API int npu_set_cpu_level(const char *name)
{
	if (!name || !strcmp(name, "auto")) {
		npu_kern_reset_level();
		return 0;
	}
	for (unsigned int level = 0; level < NPU_KERN_LEVELS; level++) {
		if (strcmp(name, npu_kern_level_name(level)))
			continue;
		if (!npu_kern_level(level))
			return npu_fail(ENOTSUP, "SIMD level %s: this CPU or build lacks it", name);
		if (npu_kern_set_level(level))
			return npu_fail(ENOTSUP,
					"SIMD level %s: NPU_CPU in the environment is lower", name);
		return 0;
	}
	return npu_fail(EINVAL, "SIMD level \"%s\": there is no such level", name);
}
