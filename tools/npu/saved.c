// SPDX-License-Identifier: MIT
/* The file of saved jobs, see save.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "save.h"

#define CHUNK	(1u << 20)

/* Jobs are collected in a nameless file: a run may be longer than the memory. */
struct save_file {
	FILE *stream;
};

static uint64_t padding(uint64_t bytes)
{
	return -bytes & 7;
}

static void put(struct save_file *file, const void *data, uint64_t bytes)
{
	static const char zeros[8];

	if (bytes)
		fwrite(data, 1, bytes, file->stream);
	fwrite(zeros, 1, padding(bytes), file->stream);
}

struct save_file *save_file_open(void)
{
	struct save_file *file = calloc(1, sizeof(*file));

	if (file)
		file->stream = tmpfile();
	if (!file || !file->stream) {
		free(file);
		return NULL;
	}
	put(file, SAVE_MAGIC, SAVE_MAGIC_SIZE);
	return file;
}

void save_put_job(struct save_file *file, const struct saved_view *view)
{
	put(file, &view->job, sizeof(view->job));
	put(file, view->bos, view->job.bo_count * sizeof(view->bos[0]));
	put(file, view->stream, view->job.stream_bytes);
	for (uint32_t i = 0; i < view->job.bo_count; i++)
		put(file, view->data[i], view->bos[i].data_bytes);
}

uint64_t save_file_bytes(const struct save_file *file)
{
	return ferror(file->stream) ? UINT64_MAX : (uint64_t)ftello(file->stream);
}

static int copy(FILE *from, uint64_t bytes, struct tensor_writer *to)
{
	void *chunk = malloc(CHUNK);
	struct tensor_error err;
	int ret = chunk ? 0 : fail_memory();

	while (!ret && bytes) {
		size_t n = bytes < CHUNK ? bytes : CHUNK;

		if (fread(chunk, 1, n, from) != n)
			ret = fail(NPU_EXIT_FAILED, "the temporary file cannot be read back");
		else if (tensor_write(to, chunk, n, &err))
			ret = fail(NPU_EXIT_FAILED, "%s", err.text);
		bytes -= n;
	}
	free(chunk);
	return ret;
}

static int publish(FILE *stream, const char *path)
{
	uint64_t bytes = (uint64_t)ftello(stream);
	struct tensor_spec spec = { .type = NPU_TYPE_U8, .ndim = 1, .shape = &bytes };
	struct tensor_writer *writer;
	struct tensor_error err;
	int ret;

	if (fflush(stream) || ferror(stream))
		return fail(NPU_EXIT_FAILED, "%s: the temporary file cannot be written", path);
	rewind(stream);
	ret = tensor_create(&writer, path, TENSOR_FORMAT_RAW, &spec, &err);
	if (ret)
		return fail_tensor(ret, &err, TENSOR_OUT);
	ret = copy(stream, bytes, writer);
	if (ret) {
		tensor_abort(writer);
		return ret;
	}
	ret = tensor_commit(writer, &err);
	return ret ? fail_tensor(ret, &err, TENSOR_OUT) : 0;
}

int save_file_close(struct save_file *file, const char *path)
{
	int ret = path ? publish(file->stream, path) : 0;

	fclose(file->stream);
	free(file);
	return ret;
}

int save_is_saved(const void *data, size_t bytes)
{
	return bytes >= SAVE_MAGIC_SIZE && !memcmp(data, SAVE_MAGIC, SAVE_MAGIC_SIZE);
}

int save_damaged(const char *path, size_t offset)
{
	return fail(NPU_EXIT_INPUT, "%s: damaged at byte %zu: no saved job there", path, offset);
}

int save_bo_is_sound(const struct saved_bo *bo)
{
	uint64_t end;

	return bo->size && bo->address % NPU_PAGE_SIZE == 0 && bo->data_bytes <= bo->size &&
	       !__builtin_add_overflow(bo->address, bo->size, &end) &&
	       end <= 1ull << NPU_ADDRESS_BITS;
}

/* @size bytes at *@offset and their padding; NULL if the file ends in them. */
static const void *take(const uint8_t *data, size_t bytes, size_t *offset, uint64_t size)
{
	const void *p = data + *offset;

	if (size > bytes - *offset || padding(size) > bytes - *offset - size)
		return NULL;
	*offset += size + padding(size);
	return p;
}

int save_next(const void *data, size_t bytes, size_t *offset, struct saved_view *view)
{
	const void *p;

	if (!*offset)
		*offset = SAVE_MAGIC_SIZE;
	if (*offset == bytes)
		return 0;
	p = take(data, bytes, offset, sizeof(view->job));
	if (!p)
		return -1;
	memcpy(&view->job, p, sizeof(view->job));
	if (view->job.bytes != sizeof(view->job) || view->job.ring >= NPU_RING_COUNT ||
	    view->job.bo_count > SAVE_MAX_BOS || view->job.stream_bytes > NPU_STREAM_MAX)
		return -1;
	p = take(data, bytes, offset, view->job.bo_count * sizeof(view->bos[0]));
	if (!p)
		return -1;
	memcpy(view->bos, p, view->job.bo_count * sizeof(view->bos[0]));
	view->stream = take(data, bytes, offset, view->job.stream_bytes);
	if (!view->stream)
		return -1;
	for (uint32_t i = 0; i < view->job.bo_count; i++) {
		if (!save_bo_is_sound(&view->bos[i]))
			return -1;
		view->data[i] = take(data, bytes, offset, view->bos[i].data_bytes);
		if (!view->data[i])
			return -1;
	}
	return 1;
}
