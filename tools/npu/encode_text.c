// SPDX-License-Identifier: MIT
/* Text to command streams, and to saved jobs where it has their buffers. */
#include <stdlib.h>
#include <string.h>

#include "isa_text.h"

/* Longer than any stream that a device takes: the device's own check can be tried. */
#define MAX_STREAM	(1u << 20)
#define MAX_JOBS	65536

struct parser {
	struct isa_place at;
	struct isa_jobs *jobs;
	struct isa_job *job;		/* NULL before the first line */
	bool has_header;		/* this job has a stream line */
	bool no_header;			/* "stream none": nothing but raw bytes */
	bool fixed_size, fixed_count;	/* the header's fields are given */
	uint32_t count;
};

/* @bytes of @data (NULL: zeros) behind the *@used ones at *@to. */
static int append(struct parser *p, uint8_t **to, size_t *used, uint64_t max, const void *data,
		  uint64_t bytes)
{
	uint8_t *grown;

	if (bytes > max - *used)
		return isa_bad(&p->at, "more than %llu bytes", (unsigned long long)max);
	grown = realloc(*to, *used + bytes + 1);
	if (!grown)
		return fail_memory();
	if (data)
		memcpy(grown + *used, data, bytes);
	else
		memset(grown + *used, 0, bytes);
	*to = grown;
	*used += bytes;
	return 0;
}

static int append_stream(struct parser *p, const void *data, uint64_t bytes)
{
	return append(p, &p->job->stream, &p->job->bytes, MAX_STREAM, data, bytes);
}

/* To the buffer that was named last. */
static int append_buffer(struct parser *p, const void *data, uint64_t bytes)
{
	struct saved_bo *bo;
	size_t used;
	int ret;

	if (!p->job || !p->job->bo_count)
		return isa_bad(&p->at, "data before any 'buffer' line");
	bo = &p->job->bos[p->job->bo_count - 1];
	used = bo->data_bytes;
	ret = append(p, &p->job->data[p->job->bo_count - 1], &used, bo->size, data, bytes);
	bo->data_bytes = used;
	return ret;
}

/* Size and count, where the text leaves them to us. */
static void finish_job(struct parser *p)
{
	struct npu_stream_header h;

	if (!p->job || p->no_header || p->job->bytes < sizeof(h))
		return;
	memcpy(&h, p->job->stream, sizeof(h));
	if (!p->fixed_size)
		h.size = (uint32_t)p->job->bytes;
	if (!p->fixed_count)
		h.count = p->count;
	memcpy(p->job->stream, &h, sizeof(h));
}

/* A job and a header, where the text begins with a command. */
static int need_header(struct parser *p);

static int begin_job(struct parser *p, int ring)
{
	struct isa_jobs *jobs = p->jobs;
	struct isa_job **grown;
	int ret = p->job ? need_header(p) : 0;

	if (ret)
		return ret;
	finish_job(p);
	if (jobs->count == MAX_JOBS)
		return isa_bad(&p->at, "more than %d jobs", MAX_JOBS);
	grown = realloc(jobs->job, (jobs->count + 1) * sizeof(*grown));
	if (!grown)
		return fail_memory();
	jobs->job = grown;
	p->job = calloc(1, sizeof(*p->job));
	if (!p->job)
		return fail_memory();
	jobs->job[jobs->count++] = p->job;
	p->job->ring = ring;
	p->has_header = p->no_header = p->fixed_size = p->fixed_count = false;
	p->count = 0;
	return 0;
}

static int need_header(struct parser *p)
{
	struct npu_stream_header h = { NPU_STREAM_MAGIC, NPU_ISA_MAJOR, NPU_ISA_MINOR, 0, 0 };
	int ret = p->job ? 0 : begin_job(p, -1);

	if (ret || p->has_header)
		return ret;
	p->has_header = true;
	return append_stream(p, &h, sizeof(h));
}

static int command_line(struct parser *p, const struct isa_command *c, char *rest)
{
	uint64_t cmd[512 / 8] = { 0 };
	struct npu_cmd head = { .opcode = c->opcode, .size = c->size };
	int ret;

	ret = need_header(p);
	if (!ret && p->no_header)
		ret = isa_bad(&p->at, "a command behind 'stream none'");
	if (ret)
		return ret;
	memcpy(cmd, &head, sizeof(head));
	ret = isa_set_fields(&p->at, c, rest, cmd);
	p->count++;
	return ret ? ret : append_stream(p, cmd, c->size);
}

static int header_key(struct parser *p, char *key, struct npu_stream_header *h)
{
	char *text = strchr(key, '=');
	unsigned int major, minor;
	uint64_t value = 0;
	char end;

	if (!text)
		return isa_bad(&p->at, "'%s' is not key=value", key);
	*text++ = '\0';
	if (!strcmp(key, "version")) {
		if (sscanf(text, "%u.%u%c", &major, &minor, &end) != 2 || major > UINT16_MAX ||
		    minor > UINT16_MAX)
			return isa_bad(&p->at, "version: '%s' is not MAJOR.MINOR", text);
		h->major = (uint16_t)major;
		h->minor = (uint16_t)minor;
		return 0;
	}
	if (!isa_number(text, &value) || value > UINT32_MAX)
		return isa_bad(&p->at, "%s: '%s' is not a 32-bit number", key, text);
	if (!strcmp(key, "magic")) {
		h->magic = (uint32_t)value;
	} else if (!strcmp(key, "size")) {
		h->size = (uint32_t)value;
		p->fixed_size = true;
	} else if (!strcmp(key, "count")) {
		h->count = (uint32_t)value;
		p->fixed_count = true;
	} else {
		return isa_bad(&p->at,
			       "'%s' is not a field of a stream; they are version magic size count",
			       key);
	}
	return 0;
}

static int stream_line(struct parser *p, char *rest)
{
	struct npu_stream_header h = { NPU_STREAM_MAGIC, NPU_ISA_MAJOR, NPU_ISA_MINOR, 0, 0 };
	char *key;
	int ret = p->job ? 0 : begin_job(p, -1);

	if (ret)
		return ret;
	if (p->has_header)
		return isa_bad(&p->at, "a second 'stream' line; a 'job' line begins another job");
	p->has_header = true;
	while ((key = strsep(&rest, " \t"))) {
		if (!*key)
			continue;
		if (!strcmp(key, "none"))
			p->no_header = true;
		else
			ret = header_key(p, key, &h);
		if (ret)
			return ret;
	}
	return p->no_header ? 0 : append_stream(p, &h, sizeof(h));
}

/* "raw HEX" is of the stream, "data HEX" of a buffer. */
static int hex_line(struct parser *p, const char *hex, bool raw)
{
	uint8_t *bytes = malloc(strlen(hex) / 2 + 1);
	size_t n;
	int ret = bytes ? raw ? need_header(p) : 0 : fail_memory();

	if (!ret)
		ret = isa_parse_hex(&p->at, hex, bytes, &n);
	if (!ret)
		ret = raw ? append_stream(p, bytes, n) : append_buffer(p, bytes, n);
	free(bytes);
	return ret;
}

/* Of whatever the lines before were about. */
static int zeros_line(struct parser *p, const char *text)
{
	uint64_t n;

	if (!isa_number(text, &n) || *text == '-')
		return isa_bad(&p->at, "zeros: '%s' is not a number of bytes", text);
	return p->job && p->has_header ? append_stream(p, NULL, n) : append_buffer(p, NULL, n);
}

static int buffer_line(struct parser *p, char *rest)
{
	struct saved_bo *bo;

	if (!p->job || p->has_header)
		return isa_bad(&p->at, "a buffer belongs between 'job' and 'stream'");
	if (p->job->bo_count == SAVE_MAX_BOS)
		return isa_bad(&p->at, "more than %d buffers", SAVE_MAX_BOS);
	bo = &p->job->bos[p->job->bo_count++];
	return isa_set_fields(&p->at, &isa_buffer, rest, bo);
}

static int job_line(struct parser *p, const char *rest)
{
	static const char key[] = "ring=";

	for (uint32_t i = 0; !strncmp(rest, key, strlen(key)) && i < NPU_RING_COUNT; i++) {
		if (!strcmp(npu_ring_name(i), rest + strlen(key)))
			return begin_job(p, (int)i);
	}
	return isa_bad(&p->at, "job: needs ring=%s, %s or %s", npu_ring_name(0), npu_ring_name(1),
		       npu_ring_name(2));
}

static int result_line(struct parser *p, char *rest)
{
	if (!p->job)
		return isa_bad(&p->at, "a result belongs behind a 'job' line");
	return isa_set_fields(&p->at, &isa_result, rest, &p->job->result);
}

static int parse_line(struct parser *p, char *line)
{
	const struct isa_command *c;
	char *word, *rest = line;

	line[strcspn(line, "#\r")] = '\0';
	for (size_t n = strlen(line); n && strchr(" \t", line[n - 1]); n--)
		line[n - 1] = '\0';
	rest += strspn(rest, " \t");
	word = strsep(&rest, " \t");
	rest = rest ? rest + strspn(rest, " \t") : word + strlen(word);
	if (!*word)
		return 0;
	if (!strcmp(word, "job"))
		return job_line(p, rest);
	if (!strcmp(word, "result"))
		return result_line(p, rest);
	if (!strcmp(word, "buffer"))
		return buffer_line(p, rest);
	if (!strcmp(word, "stream"))
		return stream_line(p, rest);
	if (!strcmp(word, "zeros"))
		return zeros_line(p, rest);
	if (!strcmp(word, "raw") || !strcmp(word, "data"))
		return hex_line(p, rest, *word == 'r');
	c = isa_find_name(word);
	return c ? command_line(p, c, rest) :
		   isa_bad(&p->at,
			   "'%s' is no command; they are nop barrier fetch preprocess lut-load const-set fmap-read, and the lines job result buffer data stream raw zeros",
			   word);
}

int isa_parse(const char *name, char *text, struct isa_jobs *jobs)
{
	struct parser p = { .at.name = name, .jobs = jobs };
	char *line;
	int ret = 0;

	memset(jobs, 0, sizeof(*jobs));
	while (!ret && (line = strsep(&text, "\n"))) {
		p.at.line++;
		ret = parse_line(&p, line);
	}
	/* A text without a command is a stream that does nothing. */
	if (!ret)
		ret = need_header(&p);
	finish_job(&p);
	if (ret)
		isa_jobs_free(jobs);
	return ret;
}

void isa_jobs_free(struct isa_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		for (uint32_t b = 0; b < jobs->job[i]->bo_count; b++)
			free(jobs->job[i]->data[b]);
		free(jobs->job[i]->stream);
		free(jobs->job[i]);
	}
	free(jobs->job);
	memset(jobs, 0, sizeof(*jobs));
}
