// SPDX-License-Identifier: MIT
/* npu decode: command streams as text. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "isa_text.h"
#include "run.h"

static const char help[] =
	"usage: npu decode [options] STREAM [-o TEXT]\n"
	"\n"
	"Prints a command stream, or all jobs of a file of --save-stream, as text: one line a\n"
	"command, key=value, every field. npu encode makes exactly the same\n"
	"stream of it again, also after it was edited.\n"
	"\n"
	"  -o FILE                instead of standard output\n"
	"  --data                 what the buffers of a saved file hold, too: with it npu encode\n"
	"                         makes the whole file again\n"
	"  --brief                leave out fields that are 0\n"
	"  --json                 the streams as JSON\n"
	"  -h, --version\n";

enum { ARG_BRIEF = 1, ARG_DATA };

static const struct option own_options[] = {
	{ "brief", no_argument, NULL, ARG_BRIEF },
	{ "data", no_argument, NULL, ARG_DATA },
	{ 0 },
};

struct decode_args {
	bool brief;
	bool data;
};

static int handle(void *ctx, int id, const char *arg)
{
	struct decode_args *args = ctx;

	if (id == ARG_BRIEF)
		args->brief = true;
	else
		args->data = true;
	return 0;
}

static void print_buffer(FILE *out, const struct saved_view *v, uint32_t i, bool data)
{
	const struct saved_bo *b = &v->bos[i];

	if (!data)
		fputs("# ", out);
	isa_print_fields(out, &isa_buffer, b, false);
	if (data)
		isa_print_bytes(out, "data", v->data[i], b->data_bytes);
}

static void print_job(FILE *out, const struct saved_view *v, const struct decode_args *args)
{
	const struct npu_result *r = &v->job.result;

	fprintf(out, "job ring=%s\n", npu_ring_name(v->job.ring));
	if (r->rule && npu_rule_name(r->rule))
		fprintf(out, "# rule %u is %s: %s\n", r->rule, npu_rule_name(r->rule),
			npu_rule_text(r->rule));
	isa_print_fields(out, &isa_result, r, false);
	for (uint32_t i = 0; i < v->job.bo_count; i++)
		print_buffer(out, v, i, args->data);
	isa_print(out, v->stream, v->job.stream_bytes, !args->brief);
}

static int decode_saved(FILE *out, json_t *list, const char *path, const void *data, size_t bytes,
			const struct decode_args *args)
{
	static struct saved_view v;
	size_t offset = 0;
	int more;

	while ((more = save_next(data, bytes, &offset, &v)) > 0) {
		json_t *o;

		if (!list) {
			print_job(out, &v, args);
			continue;
		}
		o = isa_json(v.stream, v.job.stream_bytes);
		json_object_set_new(o, "ring", json_string(npu_ring_name(v.job.ring)));
		json_array_append_new(list, o);
	}
	return more ? save_damaged(path, offset) : 0;
}

static int decode(FILE *out, const char *path, const void *data, size_t bytes,
		  const struct decode_args *args, bool as_json)
{
	json_t *list = as_json ? json_array() : NULL;
	char *text;
	int ret = 0;

	if (save_is_saved(data, bytes))
		ret = decode_saved(out, list, path, data, bytes, args);
	else if (bytes > NPU_STREAM_MAX * 16)
		ret = fail(NPU_EXIT_INPUT, "%s: %zu bytes are no command stream, and no saved one",
			   path, bytes);
	else if (list)
		json_array_append_new(list, isa_json(data, bytes));
	else
		isa_print(out, data, bytes, !args->brief);
	if (list && !ret) {
		text = json_dumps(list, JSON_INDENT(2));
		fprintf(out, "%s\n", text ? text : "[]");
		free(text);
	}
	json_decref(list);
	return ret;
}

int npu_cmd_decode(int argc, char **argv)
{
	struct decode_args args = { 0 };
	struct options opts;
	struct command_line line = {
		.help = help, .groups = OPTIONS_OUTPUT, .own = own_options,
		.handle = handle, .ctx = &args, .min = 1, .max = 1, .operands = "STREAM",
	};
	size_t bytes, text_bytes = 0;
	char *text = NULL;
	void *data;
	FILE *out;
	bool done;
	int ret;

	ret = options_parse(&line, argc, argv, &opts, &done);
	if (ret || done)
		return ret;
	ret = blob_read(argv[optind], SAVE_MAX, &data, &bytes);
	if (ret)
		return ret;
	out = open_memstream(&text, &text_bytes);
	ret = out ? decode(out, argv[optind], data, bytes, &args, opts.json) : fail_memory();
	if (out && fclose(out) && !ret)
		ret = fail_memory();
	if (!ret && opts.output)
		ret = blob_write(opts.output, text, text_bytes);
	else if (!ret)
		fwrite(text, 1, text_bytes, stdout);
	free(text);
	free(data);
	return ret;
}
