// SPDX-License-Identifier: MIT
/* Streams: memory, mistakes, and what every command goes through. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream.h"

static void stream_header(struct npu_stream *stream)
{
	const struct npu_stream_header header = {
		.magic = NPU_STREAM_MAGIC,
		.major = NPU_ISA_MAJOR,
		.minor = 0,
		.size = stream->size,
		.count = stream->count,
	};

	memcpy(stream->data, &header, sizeof(header));
}

static int stream_room(struct npu_stream *stream, uint32_t bytes)
{
	uint32_t room = stream->room ? stream->room : 1024;
	uint8_t *data;

	if (bytes <= stream->room)
		return 0;
	while (room < bytes)
		room *= 2;
	data = realloc(stream->data, room);
	if (!data)
		return -ENOMEM;
	stream->data = data;
	stream->room = room;
	return 0;
}

int npu_stream_create(struct npu_device *dev, uint32_t ring, struct npu_stream **out)
{
	struct npu_stream *stream;
	int ret = npu_device_check(dev, "npu_stream_create");

	if (ret)
		return ret;
	if (!out)
		return npu_fail(EINVAL, "npu_stream_create: stream is NULL");
	if (ring >= NPU_RING_COUNT)
		return npu_fail(EINVAL, "npu_stream_create: ring is %u, not 0 to %u", ring,
				NPU_RING_COUNT - 1);
	stream = calloc(1, sizeof(*stream));
	if (!stream || stream_room(stream, sizeof(struct npu_stream_header))) {
		free(stream);
		return npu_fail(ENOMEM, "no memory for a stream");
	}
	stream->dev = dev;
	stream->ring = ring;
	npu_list_init(&stream->link);
	npu_stream_reset(stream);
	pthread_mutex_lock(&dev->lock);
	npu_list_add_tail(&dev->streams, &stream->link);
	pthread_mutex_unlock(&dev->lock);
	*out = stream;
	return 0;
}

static void free_warnings(struct npu_stream *stream)
{
	while (stream->warning_count)
		free(stream->warnings[--stream->warning_count]);
	free(stream->warnings);
	stream->warnings = NULL;
}

void npu_stream_reset(struct npu_stream *stream)
{
	uint32_t i;

	if (!stream || stream->dev->pid != getpid())
		return;
	if (stream->bo_count) {
		pthread_mutex_lock(&stream->dev->lock);
		for (i = 0; i < stream->bo_count; i++)
			npu_bo_unref_locked(stream->bos[i].bo);
		pthread_mutex_unlock(&stream->dev->lock);
		stream->bo_count = 0;
	}
	free_warnings(stream);
	stream->count = 0;
	stream->raw = false;
	stream->error = 0;
	stream->fetch.stage = NPU_STAGE_NONE;
	stream->size = sizeof(struct npu_stream_header);
	npu_check_init(&stream->check, stream->ring);
}

void npu_stream_free(struct npu_stream *stream)
{
	free_warnings(stream);
	free(stream->bos);
	free(stream->offsets);
	free(stream->data);
	free(stream);
}

void npu_stream_destroy(struct npu_stream *stream)
{
	if (!stream || npu_device_check(stream->dev, "npu_stream_destroy"))
		return;
	npu_stream_reset(stream);
	pthread_mutex_lock(&stream->dev->lock);
	npu_list_del(&stream->link);
	pthread_mutex_unlock(&stream->dev->lock);
	npu_stream_free(stream);
}

int npu_stream_fail(struct npu_stream *stream, int err, const char *what, const char *fmt, ...)
{
	va_list args;
	int led;

	if (!stream->error) {
		stream->error = -err;
		led = snprintf(stream->sentence, sizeof(stream->sentence), "command %u (%s): ",
			       stream->count, what);
		va_start(args, fmt);
		vsnprintf(stream->sentence + led, sizeof(stream->sentence) - (size_t)led, fmt,
			  args);
		va_end(args);
		stream->fetch.stage = NPU_STAGE_NONE;
	}
	return npu_stream_error(stream);
}

int npu_stream_error(struct npu_stream *stream)
{
	if (!stream)
		return npu_fail(EINVAL, "the stream is NULL");
	return stream->error ? npu_fail(-stream->error, "%s", stream->sentence) : 0;
}

uint32_t npu_stream_count(const struct npu_stream *stream)
{
	return stream ? stream->count : 0;
}

void npu_stream_warn(struct npu_stream *stream, const char *fmt, ...)
{
	char text[NPU_SENTENCE_MAX];
	char **warnings;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	npu_log(stream->dev, 4, "command %u: %s", stream->count, text);
	warnings = realloc(stream->warnings, (stream->warning_count + 1) * sizeof(*warnings));
	if (!warnings)
		return;
	stream->warnings = warnings;
	warnings[stream->warning_count] = strdup(text);
	if (warnings[stream->warning_count])
		stream->warning_count++;
}

const char *npu_stream_warning(const struct npu_stream *stream, uint32_t i)
{
	return stream && i < stream->warning_count ? stream->warnings[i] : NULL;
}

int npu_stream_ready(struct npu_stream *stream, const char *what)
{
	int ret = npu_stream_error(stream);

	if (!ret)
		ret = npu_device_check(stream->dev, what);
	if (ret)
		return ret;
	if (stream->raw)
		return npu_stream_fail(stream, EINVAL, what,
				       "the stream was set by npu_stream_raw() and takes no more");
	if (stream->fetch.stage)
		return npu_stream_fail(stream, EINVAL, "fetch",
				       "no sink: %s begins before it was committed or contracted",
				       what);
	return 0;
}

static int no_memory(struct npu_stream *stream, const char *what)
{
	return npu_stream_fail(stream, ENOMEM, what, "no memory");
}

int npu_stream_address(struct npu_stream *stream, const char *what, const char *name,
		       struct npu_ref ref, __u64 *address)
{
	if (!ref.bo)
		return npu_stream_fail(stream, EINVAL, what, "%s.bo is NULL", name);
	if (ref.bo->dev != stream->dev)
		return npu_stream_fail(stream, EINVAL, what, "%s.bo is of another device", name);
	if (ref.offset > ref.bo->size)
		return npu_stream_fail(stream, EINVAL, what,
				       "%s.offset is %llu, but its BO has %llu bytes", name,
				       (unsigned long long)ref.offset,
				       (unsigned long long)ref.bo->size);
	*address = ref.bo->range.start + ref.offset;
	return 0;
}

/* Holds @bo once for the stream and notes how it is used. */
static int use_bo(struct npu_stream *stream, struct npu_bo *bo, uint32_t access)
{
	uint32_t i;

	for (i = stream->bo_count; i--;) {
		if (stream->bos[i].bo == bo) {
			stream->bos[i].access |= access;
			return 0;
		}
	}
	if (stream->bo_count == stream->bo_room) {
		uint32_t room = stream->bo_room ? 2 * stream->bo_room : 8;
		struct npu_stream_bo *bos = realloc(stream->bos, room * sizeof(*bos));

		if (!bos)
			return -ENOMEM;
		stream->bos = bos;
		stream->bo_room = room;
	}
	pthread_mutex_lock(&stream->dev->lock);
	npu_bo_ref_locked(bo);
	pthread_mutex_unlock(&stream->dev->lock);
	stream->bos[stream->bo_count++] = (struct npu_stream_bo){ bo, access };
	return 0;
}

/* The BO that an operand must lie in; NULL with a mistake noted. */
static struct npu_bo *operand_bo(struct npu_stream *stream, const char *what,
				 const struct npu_operand *op, const struct npu_operand_bo *bos)
{
	struct npu_range *range;
	struct npu_bo *bo = NULL;

	for (; bos && bos->name; bos++)
		if (!strcmp(bos->name, op->name))
			return bos->bo;
	pthread_mutex_lock(&stream->dev->lock);
	range = npu_space_find(&stream->dev->space, op->address);
	if (range && !range->dying)
		bo = npu_container(range, struct npu_bo, range);
	pthread_mutex_unlock(&stream->dev->lock);
	if (!bo)
		npu_stream_fail(stream, EINVAL, what,
				"rule address-unmapped: %s begins at 0x%llx, where the device has no BO",
				op->name, (unsigned long long)op->address);
	return bo;
}

static int use_operand(struct npu_stream *stream, const char *what, const struct npu_operand *op,
		       const struct npu_operand_bo *bos)
{
	struct npu_bo *bo = operand_bo(stream, what, op, bos);
	uint64_t start;

	if (!bo)
		return stream->error;
	start = bo->range.start;
	if (op->size && (op->address < start || op->address - start > bo->size ||
			 op->size > bo->size - (op->address - start)))
		return npu_stream_fail(stream, EINVAL, what,
				       "rule address-unmapped: %s takes bytes %lld to %lld of a BO that has bytes 0 to %llu",
				       op->name, (long long)(op->address - start),
				       (long long)(op->address - start + op->size - 1),
				       (unsigned long long)bo->size - 1);
	if (op->access == NPU_ACCESS_WRITE && (bo->flags & NPU_BO_DEVICE_RDONLY))
		return npu_stream_fail(stream, EINVAL, what,
				       "rule address-readonly: %s lies in a BO that was created with NPU_BO_DEVICE_RDONLY",
				       op->name);
	if (use_bo(stream, bo, op->access))
		return no_memory(stream, what);
	return 0;
}

static int push_bytes(struct npu_stream *stream, const struct npu_cmd *cmd)
{
	if (stream->count == stream->offset_room) {
		uint32_t room = stream->offset_room ? 2 * stream->offset_room : 16;
		uint32_t *offsets = realloc(stream->offsets, room * sizeof(*offsets));

		if (!offsets)
			return -ENOMEM;
		stream->offsets = offsets;
		stream->offset_room = room;
	}
	if (stream_room(stream, stream->size + cmd->size))
		return -ENOMEM;
	memcpy(stream->data + stream->size, cmd, cmd->size);
	stream->offsets[stream->count++] = stream->size;
	stream->size += cmd->size;
	return 0;
}

int npu_stream_push(struct npu_stream *stream, const struct npu_cmd *cmd,
		    const struct npu_operand_bo *bos)
{
	const char *what = npu_op_name(cmd->opcode);
	struct npu_operand op[NPU_MAX_OPERANDS];
	uint32_t limit = (uint32_t)stream->dev->info.max_stream;
	char text[NPU_SENTENCE_MAX / 2];
	uint32_t rule, ignored;
	unsigned int i, n;
	int ret;

	if (cmd->size > limit - stream->size)
		return npu_stream_fail(stream, ENOSPC, what,
				       "the stream is full: %u bytes and %u more, the device takes %u",
				       stream->size, cmd->size, limit);
	rule = npu_check_command(&stream->check, cmd);
	if (rule) {
		npu_explain(rule, cmd, &stream->check, stream->ring, text, sizeof(text));
		return npu_stream_fail(stream, EINVAL, what, "rule %s: %s", npu_rule_name(rule),
				       text);
	}
	n = npu_operands(cmd, op, &ignored);
	for (i = 0; i < n; i++) {
		ret = use_operand(stream, what, &op[i], bos);
		if (ret)
			return ret;
	}
	return push_bytes(stream, cmd) ? no_memory(stream, what) : 0;
}

int npu_stream_data(struct npu_stream *stream, const void **data, uint32_t *bytes)
{
	int ret = npu_stream_error(stream);

	if (ret)
		return ret;
	if (!data || !bytes)
		return npu_fail(EINVAL, "npu_stream_data: %s is NULL", data ? "bytes" : "data");
	if (stream->fetch.stage)
		return npu_fail(EINVAL,
				"command %u (fetch): no sink: commit or contract it before the stream is used",
				stream->count);
	if (!stream->raw)
		stream_header(stream);
	*data = stream->data;
	*bytes = stream->size;
	return 0;
}

int npu_stream_append(struct npu_stream *stream, const void *data, uint32_t bytes)
{
	uint32_t rule, command, pos = sizeof(struct npu_stream_header);
	uint64_t *copy;
	int ret;

	ret = npu_stream_ready(stream, "append");
	if (ret)
		return ret;
	if (!data || bytes > NPU_STREAM_MAX)
		return npu_stream_fail(stream, EINVAL, "append", "rule stream-size: %u bytes%s",
				       bytes, data ? "" : " at NULL");
	copy = malloc(bytes + 8);
	if (!copy)
		return no_memory(stream, "append");
	memcpy(copy, data, bytes);
	rule = npu_check_frame(copy, bytes, &command);
	if (rule)
		ret = npu_stream_fail(stream, EINVAL, "append",
				      "rule %s: command %u of the given stream: %s",
				      npu_rule_name(rule), command, npu_rule_text(rule));
	while (!ret && pos < bytes) {
		const struct npu_cmd *cmd = (const void *)((const uint8_t *)copy + pos);

		ret = npu_stream_push(stream, cmd, NULL);
		pos += cmd->size;
	}
	free(copy);
	return ret;
}

int npu_stream_raw(struct npu_stream *stream, const void *data, uint32_t bytes,
		   struct npu_bo *const *bos, uint32_t bo_count)
{
	uint32_t i;
	int ret;

	ret = npu_stream_ready(stream, "raw");
	if (ret)
		return ret;
	if ((!data && bytes) || (!bos && bo_count))
		return npu_stream_fail(stream, EINVAL, "raw", "%s is NULL", data ? "bos" : "data");
	npu_stream_reset(stream);
	if (bytes > INT32_MAX / 2 || stream_room(stream, bytes))
		return no_memory(stream, "raw");
	for (i = 0; i < bo_count; i++) {
		if (!bos[i] || bos[i]->dev != stream->dev)
			return npu_stream_fail(stream, EINVAL, "raw",
					       "bos[%u] is no BO of the device", i);
		if (use_bo(stream, bos[i], NPU_ACCESS_READ | NPU_ACCESS_WRITE))
			return no_memory(stream, "raw");
	}
	if (bytes)
		memcpy(stream->data, data, bytes);
	stream->size = bytes;
	stream->raw = true;
	return 0;
}
