// SPDX-License-Identifier: MIT
/* npu-demo: tensors and expected results out of files. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <npu/convert.h>

#include "demo.h"

void die(const char *fmt, ...)
{
	va_list args;

	fputs("npu-demo: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static struct loaded load(const char *path, enum tensor_format format, const char *name,
			  uint32_t type)
{
	struct tensor_opts opts = { .type = type };
	const struct tensor_info *info;
	struct tensor_file *file;
	struct tensor_error err;
	struct loaded l = { 0 };
	struct tensor t;

	if (tensor_open(&file, path, format, &err) || tensor_find(file, name, &info, &err) ||
	    tensor_bind(&t, file, info, &opts, &err))
		die("%s", err.text);
	l.type = t.type;
	l.cols = t.ndim ? t.shape[t.ndim - 1] : 1;
	l.rows = l.cols ? t.elements / l.cols : 0;
	l.bytes = t.bytes;
	l.data = malloc(t.bytes + 1);
	if (!l.data)
		die("out of memory");
	if (tensor_read(&t, 0, t.elements, l.data, &err))
		die("%s", err.text);
	tensor_close(file);
	return l;
}

static char *join(const char *folder, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		die("out of memory");
	return path;
}

struct loaded load_tensor(const char *folder, const char *name, uint32_t type)
{
	char *path = join(folder, MODEL);
	struct loaded l = load(path, TENSOR_FORMAT_SAFETENSORS, name, type);

	free(path);
	return l;
}

struct loaded load_raw(const char *folder, const char *name)
{
	char *path = join(folder, name);
	struct loaded l = load(path, TENSOR_FORMAT_RAW, NULL, NPU_TYPE_U8);

	free(path);
	return l;
}

static void floats(uint32_t type, const void *data, uint64_t n, float *f)
{
	switch (type) {
	case NPU_TYPE_BF16:
		npu_convert_bf16_f32(f, data, n);
		break;
	case NPU_TYPE_F8E4M3:
		npu_convert_f8e4m3_f32(f, data, n);
		break;
	case NPU_TYPE_F8E5M2:
		npu_convert_f8e5m2_f32(f, data, n);
		break;
	default:
		memcpy(f, data, n * sizeof(*f));
	}
}

double *to_numbers(uint32_t type, const void *data, uint64_t n)
{
	double *v = malloc((n + 1) * sizeof(*v));
	float *f = malloc((n + 1) * sizeof(*f));

	if (!v || !f)
		die("out of memory");
	if (type == NPU_TYPE_I8) {
		for (uint64_t i = 0; i < n; i++)
			v[i] = ((const int8_t *)data)[i];
	} else if (type == NPU_TYPE_I32) {
		for (uint64_t i = 0; i < n; i++)
			v[i] = ((const int32_t *)data)[i];
	} else {
		floats(type, data, n, f);
		for (uint64_t i = 0; i < n; i++)
			v[i] = (double)f[i];
	}
	free(f);
	return v;
}
