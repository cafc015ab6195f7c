// SPDX-License-Identifier: MIT
/* Tensors in and out of files, with messages. */
#include <string.h>

#include "run.h"

static int open_tensor(struct input *in, const char *arg, enum tensor_format format,
		       const struct tensor_opts *opts)
{
	const struct tensor_info *info;
	struct tensor_error err;
	int ret;

	memset(in, 0, sizeof(*in));
	ret = tensor_path_parse(&in->path, arg, format, TENSOR_IN, &err);
	if (!ret)
		ret = tensor_open(&in->file, in->path.file, in->path.format, &err);
	if (!ret)
		ret = tensor_find(in->file, in->path.tensor, &info, &err);
	if (!ret)
		ret = tensor_bind(&in->t, in->file, info, opts, &err);
	if (ret)
		ret = fail_tensor(ret, &err, TENSOR_IN);
	if (ret)
		input_close(in);
	return ret;
}

int input_open(struct input *in, const char *arg, enum tensor_format format,
	       const struct tensor_opts *opts)
{
	int ret;

	ret = open_tensor(in, arg, format, opts);
	if (ret)
		return ret;
	if (in->t.type <= NPU_TYPE_F32)
		return 0;
	ret = fail(NPU_EXIT_USAGE,
		   "%s: the file says only %s; name the element type with --type", arg,
		   npu_type_name(in->t.type));
	input_close(in);
	return ret;
}

int input_open_table(struct input *in, const char *arg)
{
	return open_tensor(in, arg, TENSOR_FORMAT_AUTO, NULL);
}

int input_type_is_open(const char *arg, bool *open)
{
	const struct tensor_info *info = NULL;
	struct tensor_file *file = NULL;
	struct tensor_path path;
	struct tensor_error err;
	int ret;

	ret = tensor_path_parse(&path, arg, TENSOR_FORMAT_AUTO, TENSOR_IN, &err);
	if (ret)
		return fail_tensor(ret, &err, TENSOR_IN);
	ret = tensor_open(&file, path.file, path.format, &err);
	if (!ret)
		ret = tensor_find(file, path.tensor, &info, &err);
	*open = !ret && info && (info->width_only || path.format == TENSOR_FORMAT_RAW);
	tensor_close(file);
	tensor_path_release(&path);
	return ret ? fail_tensor(ret, &err, TENSOR_IN) : 0;
}

void input_close(struct input *in)
{
	tensor_close(in->file);
	in->file = NULL;
	tensor_path_release(&in->path);
}

int input_read_whole(const struct input *in, void *dst)
{
	struct tensor_error err;
	int ret;

	ret = tensor_read(&in->t, 0, in->t.elements, dst, &err);
	return ret ? fail_tensor(ret, &err, TENSOR_IN) : 0;
}

int sink_create(struct sink *sink, const char *arg, enum tensor_format format, uint32_t type,
		const struct shape *shape, const char *name)
{
	struct tensor_spec spec = { .type = type, .ndim = shape->ndim, .shape = shape->dim };
	struct tensor_path path;
	struct tensor_error err;
	int ret;

	sink->writer = NULL;
	if (!arg)
		return 0;
	ret = tensor_path_parse(&path, arg, format, TENSOR_OUT, &err);
	if (ret)
		return fail_tensor(ret, &err, TENSOR_OUT);
	spec.name = path.tensor ? path.tensor : name && *name ? name : NULL;
	ret = tensor_create(&sink->writer, path.file, path.format, &spec, &err);
	tensor_path_release(&path);
	return ret ? fail_tensor(ret, &err, TENSOR_OUT) : 0;
}

int sink_write(struct sink *sink, const void *data, uint64_t bytes)
{
	struct tensor_error err;
	int ret;

	if (!sink->writer || !bytes)
		return 0;
	ret = tensor_write(sink->writer, data, bytes, &err);
	return ret ? fail_tensor(ret, &err, TENSOR_OUT) : 0;
}

int sink_commit(struct sink *sink)
{
	struct tensor_writer *writer = sink->writer;
	struct tensor_error err;
	int ret;

	sink->writer = NULL;
	ret = writer ? tensor_commit(writer, &err) : 0;
	return ret ? fail_tensor(ret, &err, TENSOR_OUT) : 0;
}

void sink_abort(struct sink *sink)
{
	if (sink->writer)
		tensor_abort(sink->writer);
	sink->writer = NULL;
}
