// SPDX-License-Identifier: MIT
/*
 * A file that appears under its name when it is complete, and not before.
 *
 * It has no name at all until then (O_TMPFILE), so that not even SIGKILL leaves it behind.  Where
 * the file system cannot do that, or /proc is not there to name it at last, it has a hidden name.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

static int fail(struct output *out, int error, const char *what, struct tensor_error *err)
{
	return tensor_fail(err, error, "%s: %s: %s", out->label, what, strerror(error));
}

/* A hidden name beside the file, in memory only. */
static int make_temp_name(struct output *out, struct tensor_error *err)
{
	const char *base = strrchr(out->path, '/') + 1;
	uint64_t id;

	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		return fail(out, EIO, "no random number for a temporary name", err);
	if (asprintf(&out->temp, "%.*s.npu-%016llx.tmp", (int)(base - out->path), out->path,
		     (unsigned long long)id) < 0) {
		out->temp = NULL;
		return fail(out, ENOMEM, "cannot be written", err);
	}
	return 0;
}

static void forget_temp(struct output *out)
{
	pending_remove(out->slot);
	free(out->temp);
	out->temp = NULL;
	out->slot = -1;
}

static int open_named(struct output *out, struct tensor_error *err)
{
	int ret = make_temp_name(out, err);

	if (ret)
		return ret;
	out->slot = pending_add(out->temp);
	out->fd = open(out->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (out->fd >= 0)
		return 0;
	ret = fail(out, errno, "cannot be created", err);
	forget_temp(out);
	return ret;
}

static int open_nameless(struct output *out, struct tensor_error *err)
{
	char *dir = strdup(out->path);
	int error;

	if (!dir)
		return fail(out, ENOMEM, "cannot be created", err);
	strrchr(dir, '/')[1] = '\0';
	out->fd = open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	error = errno;
	free(dir);
	if (out->fd >= 0 && access("/proc/self/fd", X_OK)) {
		close(out->fd);
		out->fd = -1;
		error = EOPNOTSUPP;
	}
	if (out->fd >= 0)
		return 0;
	/* The last two are what kernels and file systems say that do not know O_TMPFILE. */
	if (error == EOPNOTSUPP || error == EISDIR || error == EINVAL)
		return open_named(out, err);
	return fail(out, error, "cannot be created", err);
}

/* Full disks show here, before the work is done. */
static int reserve(struct output *out, uint64_t bytes, struct tensor_error *err)
{
	int ret;

	if (!bytes)
		return 0;
	if (bytes > INT64_MAX)
		return fail(out, EFBIG, "cannot be written", err);
	do {
		ret = fallocate(out->fd, 0, 0, (off_t)bytes);
	} while (ret && errno == EINTR);
	if (ret && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
		return tensor_fail(err, errno, "%s: there is no room for its %llu bytes: %s",
				   out->label, (unsigned long long)bytes, strerror(errno));
	return 0;
}

/* An absolute path, through symbolic links: they stay, and their target is replaced. */
static int resolve(struct output *out, const char *path, bool exists, struct tensor_error *err)
{
	const char *slash = strrchr(path, '/');
	char *dir, *real;
	int error;

	if (exists) {
		out->path = realpath(path, NULL);
		return out->path ? 0 : fail(out, errno, "cannot be written", err);
	}
	if (!*path || (slash && !slash[1]))
		return fail(out, EISDIR, "cannot be created", err);
	dir = slash ? strndup(path, slash - path + 1) : strdup(".");
	if (!dir)
		return fail(out, ENOMEM, "cannot be created", err);
	real = realpath(dir, NULL);
	error = errno;
	free(dir);
	if (!real)
		return fail(out, error, "its directory cannot be used", err);
	/* The root directory ends in a slash already. */
	if (asprintf(&out->path, "%s/%s", real[1] ? real : "", slash ? slash + 1 : path) < 0)
		out->path = NULL;
	free(real);
	return out->path ? 0 : fail(out, ENOMEM, "cannot be created", err);
}

static int open_target(struct output *out, const char *path, uint64_t bytes,
		       struct tensor_error *err)
{
	struct stat st;
	bool exists = !stat(path, &st);
	int ret;

	if (!exists && errno != ENOENT)
		return fail(out, errno, "cannot be written", err);
	if (exists && S_ISDIR(st.st_mode))
		return fail(out, EISDIR, "cannot be written", err);
	if (exists && !S_ISREG(st.st_mode)) {
		out->direct = true;
		out->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return out->fd < 0 ? fail(out, errno, "cannot be opened", err) : 0;
	}
	/* Replacing it takes no right to write it; its owner meant something by that all the same. */
	if (exists && access(path, W_OK))
		return fail(out, errno, "cannot be replaced", err);
	ret = resolve(out, path, exists, err);
	if (!ret)
		ret = open_nameless(out, err);
	return ret ? ret : reserve(out, bytes, err);
}

int output_open(struct output *out, const char *path, uint64_t bytes, struct tensor_error *err)
{
	bool is_stdout = !strcmp(path, "-");
	int ret;

	memset(out, 0, sizeof(*out));
	out->slot = -1;
	out->fd = -1;
	tensor_label(out->label, is_stdout ? "standard output" : path);
	if (is_stdout) {
		out->fd = STDOUT_FILENO;
		out->direct = true;
		return 0;
	}
	out->owned = true;
	ret = open_target(out, path, bytes, err);
	if (ret)
		output_discard(out);
	return ret;
}

int output_append(struct output *out, const void *data, size_t bytes, struct tensor_error *err)
{
	const char *p = data;

	while (bytes) {
		ssize_t put = write(out->fd, p, bytes < (1u << 30) ? bytes : (1u << 30));

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return fail(out, errno, "cannot be written", err);
		p += put;
		bytes -= put;
	}
	return 0;
}

static int link_fd(const struct output *out, const char *path)
{
	char proc[40];

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", out->fd);
	return linkat(AT_FDCWD, proc, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* Give the file its name, or, as a link cannot replace a file, a hidden one to rename. */
static int name_it(struct output *out, struct tensor_error *err)
{
	int ret;

	if (!link_fd(out, out->path))
		return 0;
	if (errno != EEXIST)
		return fail(out, errno, "cannot be created", err);
	ret = make_temp_name(out, err);
	if (ret)
		return ret;
	out->slot = pending_add(out->temp);
	if (link_fd(out, out->temp)) {
		ret = fail(out, errno, "cannot be created", err);
		forget_temp(out);
	}
	return ret;
}

int output_commit(struct output *out, struct tensor_error *err)
{
	int ret = 0;

	if (!out->direct && !out->temp)
		ret = name_it(out, err);
	/* Network file systems report a failed write as late as this. */
	if (!ret && out->owned) {
		int fd = out->fd;

		out->fd = -1;
		if (close(fd) && errno != EINTR)
			ret = fail(out, errno, "cannot be written", err);
	}
	if (!ret && out->temp) {
		if (rename(out->temp, out->path))
			ret = fail(out, errno, "cannot be replaced", err);
		else
			forget_temp(out);
	}
	output_discard(out);
	return ret;
}

void output_discard(struct output *out)
{
	if (out->owned && out->fd >= 0)
		close(out->fd);
	if (out->temp) {
		unlink(out->temp);
		forget_temp(out);
	}
	free(out->path);
	out->path = NULL;
	out->fd = -1;
}
