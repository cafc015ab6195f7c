// SPDX-License-Identifier: MIT
/* npu replay: saved jobs once more, on a device or in emulation, and the comparison. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "run.h"
#include "save.h"

static const char help[] =
	"usage: npu replay [options] STREAM\n"
	"\n"
	"Runs a file of --save-stream again: its buffers at the same addresses with the same\n"
	"contents, its streams bit for bit, unchecked by the library, and compares what comes out\n"
	"with what the file says came out when it was saved. A difference is exit status 1, a fault\n"
	"of the device is 6.\n"
	"A bare command stream, as npu encode makes it, needs its ring and its buffers named.\n"
	"\n"
	"  -o FILE                what the jobs left in their output buffers, one after another\n"
	"  --ring RING            fetch-main, fetch-sub or preprocess, of a bare stream\n"
	"  --buffer ADDRESS:BYTES[:FILE]\n"
	"                         a buffer of a bare stream and what it holds at first; repeat\n"
	"  --device D             auto (default), emu, /dev/accel/accelN\n"
	"  --cpu L                SIMD level of emulation; --threads N\n"
	"  --json                 the result records\n"
	"  -q, -h, --version\n";

enum { ARG_RING = 1, ARG_BUFFER };

static const struct option own_options[] = {
	{ "ring", required_argument, NULL, ARG_RING },
	{ "buffer", required_argument, NULL, ARG_BUFFER },
	{ 0 },
};

#define MAX_BUFFERS	1024

struct buffer {
	uint64_t address, size;
	bool used;			/* by a job: no longer all zeros */
	struct npu_bo *bo;
	uint8_t *map;
};

struct replay {
	struct npu_device *dev;
	struct npu_queue *queues[NPU_RING_COUNT];
	struct buffer buffers[MAX_BUFFERS];
	unsigned int buffer_count;
	/* of a bare stream */
	int ring;			/* -1: not given */
	const char *files[SAVE_MAX_BOS];
	struct saved_bo bos[SAVE_MAX_BOS];
	unsigned int bo_count;
	/* what came of it */
	FILE *out;
	uint64_t jobs, different;
	json_t *results;
};

static int parse_ring(const char *text, int *ring)
{
	const char *names[NPU_RING_COUNT];
	uint32_t value = 0;
	int ret;

	for (uint32_t i = 0; i < NPU_RING_COUNT; i++)
		names[i] = npu_ring_name(i);
	ret = parse_name("--ring", text, names, NPU_RING_COUNT, &value);
	*ring = (int)value;
	return ret;
}

/* ADDRESS:BYTES[:FILE] */
static int parse_buffer(struct replay *r, const char *text)
{
	struct saved_bo *b = &r->bos[r->bo_count];
	char *end;

	if (r->bo_count == SAVE_MAX_BOS)
		return fail(NPU_EXIT_USAGE, "--buffer: more than %d", SAVE_MAX_BOS);
	b->address = strtoull(text, &end, 0);
	if (*end == ':')
		b->size = strtoull(end + 1, &end, 0);
	if (!b->size || (*end && *end != ':') || b->address % NPU_PAGE_SIZE)
		return fail(NPU_EXIT_USAGE,
			    "--buffer: '%s' is not ADDRESS:BYTES[:FILE] with an address of whole pages",
			    text);
	r->files[r->bo_count++] = *end ? end + 1 : NULL;
	return 0;
}

static int handle(void *ctx, int id, const char *arg)
{
	struct replay *r = ctx;

	return id == ARG_RING ? parse_ring(arg, &r->ring) : parse_buffer(r, arg);
}

static struct buffer *find_buffer(struct replay *r, uint64_t address, uint64_t size)
{
	for (unsigned int i = 0; i < r->buffer_count; i++) {
		if (r->buffers[i].address == address && r->buffers[i].size == size)
			return &r->buffers[i];
	}
	return NULL;
}

/* All buffers before any queue: what the library makes for itself goes where they are not. */
static int create_buffer(struct replay *r, const struct saved_bo *saved)
{
	bool rdonly = saved->flags & SAVED_BO_RDONLY;
	struct buffer *b = find_buffer(r, saved->address, saved->size);
	void *map;
	int ret;

	if (b)
		return 0;
	if (r->buffer_count == MAX_BUFFERS)
		return fail(NPU_EXIT_INPUT, "more than %d buffers", MAX_BUFFERS);
	b = &r->buffers[r->buffer_count];
	*b = (struct buffer){ .address = saved->address, .size = saved->size };
	ret = npu_bo_create_at(r->dev, saved->size, rdonly ? NPU_BO_DEVICE_RDONLY : 0,
			       saved->address, &b->bo);
	if (!ret)
		ret = npu_bo_map(b->bo, &map);
	if (ret) {
		npu_bo_destroy(b->bo);
		return fail(NPU_EXIT_INPUT, "buffer 0x%" PRIx64 ": %s", saved->address,
			    npu_last_error());
	}
	b->map = map;
	r->buffer_count++;
	return 0;
}

static void fill_buffers(struct replay *r, const struct saved_view *v)
{
	for (uint32_t i = 0; i < v->job.bo_count; i++) {
		const struct saved_bo *s = &v->bos[i];
		struct buffer *b = find_buffer(r, s->address, s->size);

		if (!b || s->flags & SAVED_BO_KEEP)
			continue;
		/* A new one is zeros, and may be larger than the memory that there is. */
		if (b->used)
			memset(b->map, 0, b->size);
		b->used = true;
		if (!(s->flags & SAVED_BO_OUTPUT))
			memcpy(b->map, v->data[i], s->data_bytes);
	}
}

static int get_queue(struct replay *r, uint32_t ring, struct npu_queue **queue)
{
	int ret = 0;

	if (!r->queues[ring])
		ret = npu_queue_create(r->dev, ring, NPU_PRIORITY_NORMAL, &r->queues[ring]);
	*queue = r->queues[ring];
	return ret ? fail_npu(ret) : 0;
}

static int submit(struct replay *r, const struct saved_view *v, struct npu_result *result)
{
	struct npu_bo *bos[SAVE_MAX_BOS];
	struct npu_stream *stream = NULL;
	struct npu_queue *queue;
	struct npu_fence fence;
	int ret;

	for (uint32_t i = 0; i < v->job.bo_count; i++)
		bos[i] = find_buffer(r, v->bos[i].address, v->bos[i].size)->bo;
	ret = get_queue(r, v->job.ring, &queue);
	if (ret)
		return ret;
	ret = npu_stream_create(r->dev, v->job.ring, &stream);
	if (!ret)
		ret = npu_stream_raw(stream, v->stream, v->job.stream_bytes, bos,
				     v->job.bo_count);
	if (!ret)
		ret = npu_submit(queue, stream, NULL, &fence);
	ret = ret ? fail_npu(ret) : job_wait(fence, result);
	npu_stream_destroy(stream);
	return ret;
}

/* The first difference of job @job is told; the caller counts them. */
static bool compare(struct replay *r, const struct saved_view *v, const struct npu_result *result)
{
	for (uint32_t i = 0; i < v->job.bo_count; i++) {
		const struct saved_bo *s = &v->bos[i];
		const struct buffer *b = find_buffer(r, s->address, s->size);
		uint64_t at = 0;

		if (!(s->flags & SAVED_BO_OUTPUT))
			continue;
		while (at < s->data_bytes && b->map[at] == v->data[i][at])
			at++;
		if (at == s->data_bytes)
			continue;
		warn("job %" PRIu64 ": address 0x%" PRIx64 " holds 0x%02x, the file says 0x%02x",
		     r->jobs, s->address + at, b->map[at], v->data[i][at]);
		return false;
	}
	if (v->job.result.status != NPU_STATUS_OK)
		return true;
	if (result->saturated == v->job.result.saturated &&
	    result->nonfinite_blocks == v->job.result.nonfinite_blocks &&
	    result->cycles == v->job.result.cycles)
		return true;
	warn("job %" PRIu64 ": the result record differs: %" PRIu64 " cycles, the file says %" PRIu64,
	     r->jobs, (uint64_t)result->cycles, (uint64_t)v->job.result.cycles);
	return false;
}

static void keep_output(struct replay *r, const struct saved_view *v)
{
	for (uint32_t i = 0; r->out && i < v->job.bo_count; i++) {
		const struct saved_bo *s = &v->bos[i];
		const struct buffer *b = find_buffer(r, s->address, s->size);
		/* A job that failed when it was saved, or an edited one, has no length to go by. */
		uint64_t bytes = s->data_bytes ? s->data_bytes : s->size;

		if (s->flags & SAVED_BO_OUTPUT)
			fwrite(b->map, 1, bytes, r->out);
	}
}

static void note_result(struct replay *r, const struct npu_result *res)
{
	const char *rule = res->rule ? npu_rule_name(res->rule) : NULL;

	json_array_append_new(r->results,
		json_pack("{s:I,s:s?,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "status",
			  (json_int_t)res->status, "rule", rule, "command",
			  (json_int_t)res->command, "fault_address",
			  (json_int_t)res->fault_address, "cycles", (json_int_t)res->cycles,
			  "elements_in", (json_int_t)res->elements_in, "elements_out",
			  (json_int_t)res->elements_out, "saturated",
			  (json_int_t)res->saturated, "nonfinite_blocks",
			  (json_int_t)res->nonfinite_blocks));
}

static int run_job(struct replay *r, const struct saved_view *v)
{
	struct npu_result result = { 0 };
	int ret;

	fill_buffers(r, v);
	ret = submit(r, v, &result);
	note_result(r, &result);
	if (ret)
		return ret;
	if (!compare(r, v, &result))
		r->different++;
	keep_output(r, v);
	r->jobs++;
	return 0;
}

static int run_saved(struct replay *r, const char *path, const void *data, size_t bytes)
{
	static struct saved_view v;
	size_t offset = 0;
	int more, ret = 0;

	if (r->ring >= 0 || r->bo_count)
		return fail(NPU_EXIT_USAGE, "--ring, --buffer: %s says itself what they are", path);
	while ((more = save_next(data, bytes, &offset, &v)) > 0) {
		for (uint32_t i = 0; !ret && i < v.job.bo_count; i++)
			ret = create_buffer(r, &v.bos[i]);
		if (ret)
			return ret;
	}
	if (more)
		return save_damaged(path, offset);
	for (offset = 0; !ret && save_next(data, bytes, &offset, &v) > 0;)
		ret = run_job(r, &v);
	return ret;
}

static int load_file(const char *path, struct buffer *b)
{
	size_t bytes;
	void *data;
	int ret = blob_read(path, b->size, &data, &bytes);

	if (ret)
		return ret;
	memcpy(b->map, data, bytes);
	free(data);
	return 0;
}

static int run_bare(struct replay *r, const char *path, const void *data, size_t bytes)
{
	struct saved_view v = { .stream = data };
	int ret = 0;

	if (r->ring < 0)
		return fail(NPU_EXIT_USAGE, "%s: is a bare stream; --ring says where it runs", path);
	v.job.ring = (uint32_t)r->ring;
	v.job.stream_bytes = (uint32_t)bytes;
	v.job.bo_count = r->bo_count;
	memcpy(v.bos, r->bos, sizeof(v.bos));
	for (unsigned int i = 0; !ret && i < r->bo_count; i++) {
		/* Everything is kept: what is filled here, and what the job leaves there. */
		v.bos[i].flags = SAVED_BO_KEEP | (r->files[i] ? 0 : SAVED_BO_OUTPUT);
		ret = create_buffer(r, &v.bos[i]);
		if (!ret && r->files[i])
			ret = load_file(r->files[i], find_buffer(r, v.bos[i].address,
								 v.bos[i].size));
	}
	return ret ? ret : run_job(r, &v);
}

static int conclude(const struct replay *r, const struct npu_device_info *info,
		    const struct options *opts)
{
	device_tell(opts, info);
	if (opts->json) {
		json_t *o = json_pack("{s:s,s:s,s:I,s:I,s:O}", "device", info->name, "level",
				      npu_cpu_level(), "jobs", (json_int_t)r->jobs, "different",
				      (json_int_t)r->different, "results", r->results);
		char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;

		puts(text ? text : "{}");
		free(text);
		json_decref(o);
	} else if (!opts->quiet) {
		printf("%" PRIu64 " jobs on %s, %" PRIu64 " different\n", r->jobs, info->name,
		       r->different);
	}
	if (!r->different)
		return 0;
	return fail(NPU_EXIT_FAILED, "%" PRIu64 " of %" PRIu64 " jobs differ from the file",
		    r->different, r->jobs);
}

static void release(struct replay *r)
{
	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		npu_queue_destroy(r->queues[i]);
	for (unsigned int i = 0; i < r->buffer_count; i++)
		npu_bo_destroy(r->buffers[i].bo);
	npu_close(r->dev);
	json_decref(r->results);
}

static int replay(struct replay *r, const struct options *opts, const char *path)
{
	struct npu_device_info info;
	char *out = NULL;
	size_t bytes, out_bytes = 0;
	void *data;
	int ret;

	ret = blob_read(path, SAVE_MAX, &data, &bytes);
	if (ret)
		return ret;
	r->results = json_array();
	if (opts->output)
		r->out = open_memstream(&out, &out_bytes);
	ret = device_open(opts, &r->dev, &info);
	if (!ret && save_is_saved(data, bytes))
		ret = run_saved(r, path, data, bytes);
	else if (!ret && bytes > NPU_STREAM_MAX)
		ret = fail(NPU_EXIT_INPUT, "%s: %zu bytes are no command stream, and no saved one",
			   path, bytes);
	else if (!ret)
		ret = run_bare(r, path, data, bytes);
	if (r->out && fclose(r->out) && !ret)
		ret = fail_memory();
	if (!ret && opts->output)
		ret = blob_write(opts->output, out, out_bytes);
	/* A fault is told; its record is for programs. */
	if (ret == NPU_EXIT_FAULT && opts->json)
		conclude(r, &info, opts);
	else if (!ret)
		ret = conclude(r, &info, opts);
	free(out);
	free(data);
	release(r);
	return ret;
}

int npu_cmd_replay(int argc, char **argv)
{
	static struct replay r;
	struct options opts;
	struct command_line line = {
		.help = help, .groups = OPTIONS_DEVICE | OPTIONS_OUTPUT, .own = own_options,
		.handle = handle, .ctx = &r, .min = 1, .max = 1, .operands = "STREAM",
	};
	bool done;
	int ret;

	r.ring = -1;
	ret = options_parse(&line, argc, argv, &opts, &done);
	return ret || done ? ret : replay(&r, &opts, argv[optind]);
}
