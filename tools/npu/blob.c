// SPDX-License-Identifier: MIT
/* Files that are no tensors: streams and their texts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

/* The raw reader and writer have all that is needed: "-", pipes, atomic appearance. */
static int read_all(struct tensor_file *file, const char *path, uint64_t max, void **data,
		    size_t *bytes)
{
	struct tensor_opts bind = { .type = NPU_TYPE_U8 };
	struct tensor_error err;
	struct tensor t;
	int ret;

	ret = tensor_bind(&t, file, tensor_file_info(file, 0), &bind, &err);
	if (ret)
		return fail_tensor(ret, &err, TENSOR_IN);
	if (t.bytes > max)
		return fail(NPU_EXIT_INPUT, "%s: %llu bytes are more than the %llu such a file may have",
			    path, (unsigned long long)t.bytes, (unsigned long long)max);
	/* One byte more, so that a text can be ended and an empty file is no NULL. */
	*data = malloc(t.bytes + 1);
	if (!*data)
		return fail_memory();
	ret = tensor_read(&t, 0, t.elements, *data, &err);
	if (ret) {
		free(*data);
		return fail_tensor(ret, &err, TENSOR_IN);
	}
	*bytes = t.bytes;
	((char *)*data)[t.bytes] = '\0';
	return 0;
}

int blob_read(const char *path, uint64_t max, void **data, size_t *bytes)
{
	struct tensor_error err;
	struct tensor_file *file;
	int ret;

	ret = tensor_open(&file, path, TENSOR_FORMAT_RAW, &err);
	if (ret)
		return fail_tensor(ret, &err, TENSOR_IN);
	ret = read_all(file, path, max, data, bytes);
	tensor_close(file);
	return ret;
}

int blob_write(const char *path, const void *data, size_t bytes)
{
	uint64_t shape = bytes;
	struct tensor_spec spec = { .type = NPU_TYPE_U8, .ndim = 1, .shape = &shape };
	struct tensor_writer *writer;
	struct tensor_error err;
	int ret;

	ret = tensor_create(&writer, path, TENSOR_FORMAT_RAW, &spec, &err);
	if (ret)
		return fail_tensor(ret, &err, TENSOR_OUT);
	ret = tensor_write(writer, data, bytes, &err);
	if (ret)
		tensor_abort(writer);
	else
		ret = tensor_commit(writer, &err);
	return ret ? fail_tensor(ret, &err, TENSOR_OUT) : 0;
}
