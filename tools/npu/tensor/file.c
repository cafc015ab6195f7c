// SPDX-License-Identifier: MIT
/* Open a tensor file, list its tensors, find one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define SPOOL_CHUNK	(256 * 1024)

int tensor_file_pread(const struct tensor_file *file, void *dst, uint64_t bytes, uint64_t offset,
		      struct tensor_error *err)
{
	uint8_t *p = dst;

	while (bytes) {
		/* The kernel stops at 2 GiB by itself; a size_t may be narrower than that. */
		size_t want = bytes < (1u << 30) ? bytes : (1u << 30);
		ssize_t got = pread(file->fd, p, want, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return tensor_fail(err, errno, "%s: reading at byte %llu: %s", file->label,
					   (unsigned long long)offset, strerror(errno));
		if (!got)
			return tensor_fail(err, EIO,
					   "%s: the file became shorter while it was read: it ends before byte %llu, it had %llu",
					   file->label, (unsigned long long)(offset + bytes),
					   (unsigned long long)file->size);
		p += got;
		offset += got;
		bytes -= got;
	}
	return 0;
}

int tensor_file_alloc(struct tensor_file *file, size_t count, size_t dims, size_t string_bytes,
		      struct tensor_error *err)
{
	file->infos = calloc(count ? count : 1, sizeof(*file->infos));
	file->dims = calloc(dims ? dims : 1, sizeof(*file->dims));
	file->strings = calloc(1, string_bytes ? string_bytes : 1);
	if (!file->infos || !file->dims || !file->strings)
		return tensor_fail(err, ENOMEM, "%s: out of memory for the list of %zu tensors",
				   file->label, count);
	file->count = count;
	return 0;
}

/* Takes @fd over, also on failure. */
static int load(struct tensor_file **result, int fd, const char *name, enum tensor_format format,
		struct tensor_error *err)
{
	struct tensor_file *file = calloc(1, sizeof(*file));
	struct stat st;
	int ret;

	if (!file) {
		close(fd);
		return tensor_fail(err, ENOMEM, "out of memory");
	}
	file->fd = fd;
	file->format = format;
	file->name = strdup(name);
	tensor_label(file->label, name);
	if (!file->name) {
		ret = tensor_fail(err, ENOMEM, "%s: out of memory", file->label);
		goto fail;
	}
	if (fstat(fd, &st)) {
		ret = tensor_fail(err, errno, "%s: %s", file->label, strerror(errno));
		goto fail;
	}
	file->size = st.st_size;
	switch (format) {
	case TENSOR_FORMAT_NPY:
		ret = npy_load(file, err);
		break;
	case TENSOR_FORMAT_SAFETENSORS:
		ret = safetensors_load(file, err);
		break;
	case TENSOR_FORMAT_RAW:
		ret = raw_load(file, err);
		break;
	default:
		ret = tensor_fail(err, EINVAL, "%s: the file's format is not named", file->label);
	}
	if (ret)
		goto fail;
	*result = file;
	return 0;
fail:
	tensor_close(file);
	return ret;
}

static int copy_all(int to, int from, char *chunk, const char *label, struct tensor_error *err)
{
	for (;;) {
		ssize_t got = read(from, chunk, SPOOL_CHUNK);

		if (!got)
			return 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return tensor_fail(err, errno, "%s: %s", label, strerror(errno));
		for (ssize_t done = 0; done < got;) {
			ssize_t put = write(to, chunk + done, got - done);

			if (put < 0 && errno == EINTR)
				continue;
			if (put < 0)
				return tensor_fail(err, errno,
						   "%s: cannot keep the input in a temporary file (see TMPDIR): %s",
						   label, strerror(errno));
			done += put;
		}
	}
}

/* The readers seek, and the size must be known before the first job: pipes go to a file first. */
static int spool(int from, const char *name, struct tensor_error *err)
{
	const char *dir = getenv("TMPDIR");
	char label[LABEL_SIZE];
	char *path = NULL;
	char *chunk;
	int ret;
	int fd;

	tensor_label(label, name);
	if (!dir || !*dir)
		dir = "/tmp";
	chunk = malloc(SPOOL_CHUNK);
	if (!chunk || asprintf(&path, "%s/npu-input-XXXXXX", dir) < 0) {
		free(chunk);
		return tensor_fail(err, ENOMEM, "%s: out of memory", label);
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		ret = tensor_fail(err, errno, "%s: cannot make a temporary file in %.100s: %s",
				  label, dir, strerror(errno));
	} else {
		unlink(path);
		ret = copy_all(fd, from, chunk, label, err);
		if (ret)
			close(fd);
	}
	free(path);
	free(chunk);
	return ret ? ret : fd;
}

/* A descriptor of a regular file that is read from its start, made of @fd, which is closed. */
static int regular(int fd, const char *name, bool is_stdin, struct tensor_error *err)
{
	char label[LABEL_SIZE];
	struct stat st;
	int ret;

	tensor_label(label, name);
	if (fstat(fd, &st))
		ret = tensor_fail(err, errno, "%s: %s", label, strerror(errno));
	else if (S_ISREG(st.st_mode) && (!is_stdin || !lseek(fd, 0, SEEK_CUR)))
		return fd;
	else if (S_ISDIR(st.st_mode))
		ret = tensor_fail(err, EISDIR, "%s: this is a directory, not a file", label);
	else if (S_ISCHR(st.st_mode) && !is_stdin)
		ret = tensor_fail(err, EINVAL, "%s: this is a device, not a file", label);
	else
		ret = spool(fd, name, err);
	close(fd);
	return ret;
}

int tensor_open(struct tensor_file **file, const char *path, enum tensor_format format,
		struct tensor_error *err)
{
	bool is_stdin = !strcmp(path, "-");
	const char *name = is_stdin ? "standard input" : path;
	char label[LABEL_SIZE];
	int fd;

	*file = NULL;
	tensor_label(label, name);
	if (format == TENSOR_FORMAT_AUTO)
		format = is_stdin ? TENSOR_FORMAT_RAW : tensor_format_of(path);
	if (format == TENSOR_FORMAT_AUTO)
		return tensor_fail(err, EINVAL,
				   "%s: the ending is none of .npy .safetensors .bin; name the format with --in-format",
				   label);
	fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) :
			open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return tensor_fail(err, errno, "%s: cannot be opened: %s", label, strerror(errno));
	fd = regular(fd, name, is_stdin, err);
	return fd < 0 ? fd : load(file, fd, name, format, err);
}

int tensor_open_fd(struct tensor_file **file, int fd, const char *name, enum tensor_format format,
		   struct tensor_error *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	*file = NULL;
	if (copy < 0)
		return tensor_fail(err, errno, "%.160s: %s", name, strerror(errno));
	return load(file, copy, name, format, err);
}

void tensor_close(struct tensor_file *file)
{
	if (!file)
		return;
	fortran_release(file);
	close(file->fd);
	free(file->name);
	free(file->infos);
	free(file->dims);
	free(file->strings);
	free(file);
}

enum tensor_format tensor_file_format(const struct tensor_file *file)
{
	return file->format;
}

const char *tensor_file_name(const struct tensor_file *file)
{
	return file->name;
}

size_t tensor_file_count(const struct tensor_file *file)
{
	return file->count;
}

const struct tensor_info *tensor_file_info(const struct tensor_file *file, size_t i)
{
	return &file->infos[i];
}

static void list_names(const struct tensor_file *file, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < file->count; i++) {
		int n = snprintf(text + used, size - used, "%s%.60s", i ? ", " : "",
				 file->infos[i].name);

		/* Room for the last words is part of @size. */
		if (n < 0 || used + n + sizeof(", ...") > size) {
			snprintf(text + used, size - used, "%s", i ? ", ..." : "...");
			return;
		}
		used += n;
	}
}

int tensor_find(const struct tensor_file *file, const char *name, const struct tensor_info **info,
		struct tensor_error *err)
{
	char names[200];

	*info = NULL;
	if (name && file->format != TENSOR_FORMAT_SAFETENSORS)
		return tensor_fail(err, EINVAL,
				   "%s: tensor '%.80s' was asked for, but a %s file holds one nameless tensor",
				   file->label, name, tensor_format_name(file->format));
	if (!file->count)
		return tensor_fail(err, ENOENT, "%s: there is no tensor in this file", file->label);
	if (!name && file->count == 1) {
		*info = &file->infos[0];
		return 0;
	}
	list_names(file, names, sizeof(names));
	if (!name)
		return tensor_fail(err, EINVAL,
				   "%s: there are %zu tensors in this file, name one as FILE:TENSOR: %s",
				   file->label, file->count, names);
	for (size_t i = 0; i < file->count; i++) {
		if (!strcmp(file->infos[i].name, name)) {
			*info = &file->infos[i];
			return 0;
		}
	}
	return tensor_fail(err, ENOENT, "%s: there is no tensor '%.80s', but: %s", file->label,
			   name, names);
}
