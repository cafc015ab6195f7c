// SPDX-License-Identifier: MIT
/* npu inspect: the tensors of a file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmd.h"

static const char help[] =
	"usage: npu inspect [options] FILE\n"
	"\n"
	"Lists the tensors of a .npy, .safetensors or raw file: name, type, shape, bytes.\n"
	"\n"
	"  --in-format F          npy, safetensors, raw: overrides the ending\n"
	"  --json, -q, -h, --version\n";

static json_t *tensor_json(const struct tensor_info *info)
{
	json_t *shape = json_array();

	for (unsigned int i = 0; i < info->ndim; i++)
		json_array_append_new(shape, json_integer((json_int_t)info->shape[i]));
	return json_pack("{s:s,s:s,s:s,s:o,s:I,s:I}", "name", info->name, "type", info->type_name,
			 "dtype", info->dtype, "shape", shape, "bytes", (json_int_t)info->bytes,
			 "offset", (json_int_t)info->offset);
}

static int print_json(const struct tensor_file *file)
{
	json_t *list = json_array(), *o;
	char *text;

	for (size_t i = 0; i < tensor_file_count(file); i++)
		json_array_append_new(list, tensor_json(tensor_file_info(file, i)));
	o = json_pack("{s:s,s:s,s:o}", "file", tensor_file_name(file), "format",
		      tensor_format_name(tensor_file_format(file)), "tensors", list);
	text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	if (!text)
		return fail(NPU_EXIT_FAILED, "%s: its name is no UTF-8, which JSON needs",
			    tensor_file_name(file));
	puts(text);
	free(text);
	return 0;
}

/* "177 x 129"; what does not fit is cut. */
static void shape_text(const struct tensor_info *info, char *text, size_t size)
{
	size_t n = 0;

	snprintf(text, size, "%s", info->ndim ? "" : "scalar");
	for (unsigned int i = 0; i < info->ndim && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%" PRIu64, i ? " x " : "",
				      info->shape[i]);
}

static void print_bytes(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double n = (double)bytes;
	unsigned int u = 0;

	for (; n >= 1024 && u + 1 < ARRAY_SIZE(units); u++)
		n /= 1024;
	printf(u ? "%8.1f %s" : "%8.0f %s", n, units[u]);
}

static void print_text(const struct tensor_file *file)
{
	size_t count = tensor_file_count(file);
	int width = 4;

	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(tensor_file_info(file, i)->name);

		width = (int)(n > 60 ? 60 : n) > width ? (int)(n > 60 ? 60 : n) : width;
	}
	printf("%s: %s, %zu tensor%s\n", tensor_file_name(file),
	       tensor_format_name(tensor_file_format(file)), count, count == 1 ? "" : "s");
	printf("  %-*s  %-7s  %-20s  %12s\n", width, "name", "type", "shape", "bytes");
	for (size_t i = 0; i < count; i++) {
		const struct tensor_info *info = tensor_file_info(file, i);
		char shape[256];

		shape_text(info, shape, sizeof(shape));
		printf("  ");
		/* Names come out of files: none may move the cursor. */
		for (const char *p = info->name; *p; p++)
			putchar((unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p);
		printf("%*s  %-7s  %-20s  ", width > (int)strlen(info->name) ?
		       width - (int)strlen(info->name) : 0, "", info->type_name, shape);
		print_bytes(info->bytes);
		printf("%s%s\n", info->fortran ? ", Fortran order" : "",
		       info->big_endian ? ", big-endian" : "");
	}
}

int npu_cmd_inspect(int argc, char **argv)
{
	struct options opts;
	struct command_line line = {
		.help = help, .groups = OPTIONS_FILES, .min = 1, .max = 1, .operands = "FILE",
	};
	struct tensor_error err;
	struct tensor_path path;
	struct tensor_file *file;
	bool done;
	int ret;

	ret = options_parse(&line, argc, argv, &opts, &done);
	if (ret || done)
		return ret;
	ret = tensor_path_parse(&path, argv[optind], opts.in_format, TENSOR_IN, &err);
	if (ret)
		return fail_tensor(ret, &err, TENSOR_IN);
	ret = tensor_open(&file, path.file, path.format, &err);
	tensor_path_release(&path);
	if (ret)
		return fail_tensor(ret, &err, TENSOR_IN);
	if (opts.json)
		ret = print_json(file);
	else
		print_text(file);
	tensor_close(file);
	return ret;
}
