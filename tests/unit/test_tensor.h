/* SPDX-License-Identifier: MIT */
/* Tensor files made in memory, for the tests of their readers and writers. */
#ifndef NPU_TEST_TENSOR_H
#define NPU_TEST_TENSOR_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tensor/tensor.h"

#define CASES	NPU_TEST_DATA "/cases/"

static inline int memory_file(const void *data, size_t bytes)
{
	int fd = memfd_create("tensor", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	return fd;
}

/* Opens @bytes at @data as a file; @text gets the message. */
static inline int open_bytes(struct tensor_file **file, const void *data, size_t bytes,
			     enum tensor_format format, struct tensor_error *err)
{
	int fd = memory_file(data, bytes);
	int ret = tensor_open_fd(file, fd, "memory", format, err);

	close(fd);
	return ret;
}

/* A .safetensors file of header @json and @data_bytes bytes 0, 1, 2, ...; malloc'ed. */
static inline uint8_t *make_safetensors(const char *json, size_t data_bytes, size_t *size)
{
	uint64_t length = strlen(json);
	uint8_t *p = malloc(8 + length + data_bytes);

	assert_non_null(p);
	for (int i = 0; i < 8; i++)
		p[i] = length >> 8 * i;
	memcpy(p + 8, json, length);
	for (size_t i = 0; i < data_bytes; i++)
		p[8 + length + i] = i;
	*size = 8 + length + data_bytes;
	return p;
}

/* A .npy file, version @version, of header @dict and the bytes at @data; malloc'ed. */
static inline uint8_t *make_npy(int version, const char *dict, const void *data, size_t data_bytes,
				size_t *size)
{
	size_t length = strlen(dict);
	size_t start = version == 1 ? 10 : 12;
	uint8_t *p = calloc(1, start + length + data_bytes + 1);

	assert_non_null(p);
	memcpy(p, "\x93NUMPY", 6);
	p[6] = version;
	p[8] = length & 0xff;
	p[9] = length >> 8 & 0xff;
	if (version > 1)
		p[10] = length >> 16 & 0xff;
	memcpy(p + start, dict, length);
	if (data_bytes)
		memcpy(p + start + length, data, data_bytes);
	*size = start + length + data_bytes;
	return p;
}

static inline void assert_has(const struct tensor_error *err, const char *part)
{
	if (!strstr(err->text, part))
		fail_msg("'%s' is not in the message: %s", part, err->text);
}

/* Opens, finds and binds; everything must succeed. */
static inline struct tensor_file *bind_file(struct tensor *t, const char *path, const char *name,
					    const struct tensor_opts *opts)
{
	const struct tensor_info *info;
	struct tensor_file *file;
	struct tensor_error err = { "" };

	if (tensor_open(&file, path, TENSOR_FORMAT_AUTO, &err) ||
	    tensor_find(file, name, &info, &err) || tensor_bind(t, file, info, opts, &err))
		fail_msg("%s", err.text);
	return file;
}

#endif
