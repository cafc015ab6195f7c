/* SPDX-License-Identifier: MIT */
/* How the library says what went wrong. */
#ifndef NPU_ERROR_H
#define NPU_ERROR_H

#include <errno.h>
#include <stddef.h>

#define NPU_SENTENCE_MAX 640

/* Keeps the sentence for npu_last_error() of this thread and returns -@err. */
int npu_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Takes over a structure of the application whose first member is its size: fields it lacks
 * become 0; -E2BIG where it has more than the library knows and that is not 0.
 */
int npu_take_sized(void *dst, size_t known, const void *src, const char *name);

/* Gives @src to the application's structure, as much as it has room for; its size stays. */
int npu_give_sized(void *dst, const void *src, size_t known, const char *name);

#endif
