// SPDX-License-Identifier: MIT
/* npu encode: text to command streams. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isa_text.h"
#include "run.h"

#define MAX_TEXT	(1ull << 32)

static const char help[] =
	"usage: npu encode [options] TEXT [-o STREAM]\n"
	"\n"
	"Makes a command stream of a text like npu decode's. A text without 'job' lines is one\n"
	"stream; one with them, and any with --into, makes a saved file for npu replay.\n"
	"\n"
	"  -o FILE                instead of standard output\n"
	"  --into SAVED           takes the buffers from this file of --save-stream, and the streams\n"
	"                         of its jobs from TEXT: what was saved, edited\n"
	"  -q, -h, --version\n";

enum { ARG_INTO = 1 };

static const struct option own_options[] = {
	{ "into", required_argument, NULL, ARG_INTO },
	{ 0 },
};

static int handle(void *ctx, int id, const char *arg)
{
	const char **into = ctx;

	*into = arg;
	return 0;
}

static void write_job(struct save_file *out, const struct isa_job *job)
{
	struct saved_view v = {
		.job = { .bytes = sizeof(v.job), .ring = job->ring < 0 ? 0 : (uint32_t)job->ring,
			 .stream_bytes = (uint32_t)job->bytes, .bo_count = job->bo_count,
			 .result = job->result },
		.stream = job->stream,
	};

	memcpy(v.bos, job->bos, sizeof(v.bos));
	for (uint32_t i = 0; i < job->bo_count; i++)
		v.data[i] = job->data[i];
	save_put_job(out, &v);
}

/* The stream of a saved job is another one: what came out is not known any more. */
static void replace_stream(struct saved_view *v, const struct isa_job *job)
{
	bool same = job->bytes == v->job.stream_bytes &&
		    !memcmp(job->stream, v->stream, job->bytes) &&
		    (job->ring < 0 || (uint32_t)job->ring == v->job.ring);

	if (same)
		return;
	if (job->ring >= 0)
		v->job.ring = (uint32_t)job->ring;
	v->stream = job->stream;
	v->job.stream_bytes = (uint32_t)job->bytes;
	memset(&v->job.result, 0, sizeof(v->job.result));
	for (uint32_t i = 0; i < v->job.bo_count; i++) {
		if (v->bos[i].flags & SAVED_BO_OUTPUT)
			v->bos[i].data_bytes = 0;
	}
}

static int write_into(struct save_file *out, const struct isa_jobs *jobs, const char *path,
		      const void *saved, size_t bytes)
{
	static struct saved_view v;
	size_t offset = 0, n = 0;
	int more;

	for (; (more = save_next(saved, bytes, &offset, &v)) > 0 && n < jobs->count; n++) {
		replace_stream(&v, jobs->job[n]);
		save_put_job(out, &v);
	}
	if (more < 0)
		return save_damaged(path, offset);
	if (more || n != jobs->count)
		return fail(NPU_EXIT_INPUT, "--into: %s has %s jobs than the text, which has %zu",
			    path, more ? "more" : "fewer", jobs->count);
	return 0;
}

static int encode_into(struct save_file *out, const struct isa_jobs *jobs, const char *path)
{
	size_t bytes;
	void *saved;
	int ret = blob_read(path, SAVE_MAX, &saved, &bytes);

	if (ret)
		return ret;
	if (save_is_saved(saved, bytes))
		ret = write_into(out, jobs, path, saved, bytes);
	else
		ret = fail(NPU_EXIT_INPUT, "--into: %s: is no file of --save-stream", path);
	free(saved);
	return ret;
}

static int check_jobs(const struct isa_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		const struct isa_job *job = jobs->job[i];

		if (job->bytes > NPU_STREAM_MAX)
			return fail(NPU_EXIT_INPUT,
				    "job %zu: %zu bytes; a saved stream has at most %u", i,
				    job->bytes, NPU_STREAM_MAX);
		for (uint32_t b = 0; b < job->bo_count; b++) {
			if (!save_bo_is_sound(&job->bos[b]))
				return fail(NPU_EXIT_INPUT,
					    "job %zu, buffer %u: the address is no whole page, or the size is 0 or beyond the address space",
					    i, b);
		}
	}
	return 0;
}

static int encode_saved(const struct isa_jobs *jobs, const char *into, const char *output)
{
	struct save_file *out;
	int ret;

	ret = check_jobs(jobs);
	if (ret)
		return ret;
	out = save_file_open();
	if (!out)
		return fail_memory();
	if (into)
		ret = encode_into(out, jobs, into);
	for (size_t i = 0; !into && i < jobs->count; i++)
		write_job(out, jobs->job[i]);
	if (ret) {
		save_file_close(out, NULL);
		return ret;
	}
	return save_file_close(out, output);
}

static int encode(char *text, const char *name, const char *into, const char *output)
{
	struct isa_jobs jobs;
	int ret;

	ret = isa_parse(name, text, &jobs);
	if (ret)
		return ret;
	if (into || jobs.count > 1 || jobs.job[0]->ring >= 0)
		ret = encode_saved(&jobs, into, output);
	else
		ret = blob_write(output, jobs.job[0]->stream, jobs.job[0]->bytes);
	isa_jobs_free(&jobs);
	return ret;
}

int npu_cmd_encode(int argc, char **argv)
{
	const char *into = NULL;
	struct options opts;
	struct command_line line = {
		.help = help, .groups = OPTIONS_OUTPUT, .own = own_options,
		.handle = handle, .ctx = &into, .min = 1, .max = 1, .operands = "TEXT",
	};
	size_t bytes;
	void *text;
	bool done;
	int ret;

	ret = options_parse(&line, argc, argv, &opts, &done);
	if (ret || done)
		return ret;
	if (!opts.output && isatty(STDOUT_FILENO))
		return fail(NPU_EXIT_USAGE, "-o STREAM: missing; a terminal takes no streams");
	ret = blob_read(argv[optind], MAX_TEXT, &text, &bytes);
	if (ret)
		return ret;
	if (memchr(text, 0, bytes))
		ret = fail(NPU_EXIT_INPUT, "%s: is no text: it has a zero byte", argv[optind]);
	else
		ret = encode(text, argv[optind], into, opts.output ? opts.output : "-");
	free(text);
	return ret;
}
