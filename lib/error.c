// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "npu.h"

static _Thread_local char last_error[NPU_SENTENCE_MAX] = "no call of this thread has failed";

const char *npu_last_error(void)
{
	return last_error;
}

uint32_t npu_version(void)
{
	return NPU_VERSION_MAJOR << 16 | NPU_VERSION_MINOR << 8 | NPU_VERSION_PATCH;
}

int npu_fail(int err, const char *fmt, ...)
{
	char sentence[NPU_SENTENCE_MAX];
	va_list args;

	/* An argument may be the sentence before: it is formatted aside. */
	va_start(args, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	memcpy(last_error, sentence, sizeof(sentence));
	return -err;
}

int npu_take_sized(void *dst, size_t known, const void *src, const char *name)
{
	const unsigned char *bytes = src;
	size_t size, i;

	if (!src)
		return npu_fail(EINVAL, "%s is NULL", name);
	memcpy(&size, src, sizeof(size));
	if (size < sizeof(size))
		return npu_fail(EINVAL, "%s.size is %zu: set it to sizeof(struct %s)", name, size,
				name);
	for (i = known; i < size; i++)
		if (bytes[i])
			return npu_fail(E2BIG,
					"%s.size is %zu and byte %zu is not 0: this library knows %zu bytes of it, a newer one is needed",
					name, size, i, known);
	memset(dst, 0, known);
	memcpy(dst, src, size < known ? size : known);
	return 0;
}

int npu_give_sized(void *dst, const void *src, size_t known, const char *name)
{
	size_t size;

	if (!dst)
		return npu_fail(EINVAL, "%s is NULL", name);
	memcpy(&size, dst, sizeof(size));
	if (size < sizeof(size))
		return npu_fail(EINVAL, "%s.size is %zu: set it to sizeof(struct %s)", name, size,
				name);
	memcpy(dst, src, size < known ? size : known);
	if (size > known)
		memset((char *)dst + known, 0, size - known);
	memcpy(dst, &size, sizeof(size));
	return 0;
}
