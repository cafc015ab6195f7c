// SPDX-License-Identifier: MIT
/* Names of files and tensors on the command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "internal.h"

static const char safetensors_ending[] = ".safetensors";

static const struct {
	const char *ending;
	enum tensor_format format;
} endings[] = {
	{ ".npy", TENSOR_FORMAT_NPY },
	{ safetensors_ending, TENSOR_FORMAT_SAFETENSORS },
	{ ".bin", TENSOR_FORMAT_RAW },
	{ ".raw", TENSOR_FORMAT_RAW },
};

static const char *const format_names[] = {
	[TENSOR_FORMAT_AUTO] = "auto",
	[TENSOR_FORMAT_NPY] = "npy",
	[TENSOR_FORMAT_SAFETENSORS] = "safetensors",
	[TENSOR_FORMAT_RAW] = "raw",
};

int tensor_format_parse(const char *name, enum tensor_format *format, struct tensor_error *err)
{
	for (int i = TENSOR_FORMAT_NPY; i <= TENSOR_FORMAT_RAW; i++) {
		if (!strcmp(name, format_names[i])) {
			*format = i;
			return 0;
		}
	}
	return tensor_fail(err, EINVAL, "'%.60s' is not a file format: npy, safetensors or raw",
			   name);
}

const char *tensor_format_name(enum tensor_format format)
{
	return format_names[format];
}

enum tensor_format tensor_format_of(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t n = strlen(endings[i].ending);

		if (len > n && !strcasecmp(path + len - n, endings[i].ending))
			return endings[i].format;
	}
	return TENSOR_FORMAT_AUTO;
}

static bool ends_in_safetensors(const char *arg, const char *colon)
{
	size_t n = sizeof(safetensors_ending) - 1;

	return (size_t)(colon - arg) > n && !strncasecmp(colon - n, safetensors_ending, n);
}

static bool prefix_exists(const char *arg, const char *colon)
{
	char *prefix = strndup(arg, colon - arg);
	bool exists = prefix && !access(prefix, F_OK);

	free(prefix);
	return exists;
}

/*
 * The colon between file and tensor, or NULL.  Tensor names have colons too ("dense/kernel:0"), so
 * the first one that follows an existing file counts, and if there is none the first one that
 * follows the ending.
 */
static const char *find_colon(const char *arg, enum tensor_format forced,
			      enum tensor_direction direction)
{
	const char *fallback = NULL;
	const char *colon;

	if (forced != TENSOR_FORMAT_AUTO && forced != TENSOR_FORMAT_SAFETENSORS)
		return NULL;
	if (direction == TENSOR_IN && !access(arg, F_OK))
		return NULL;
	for (colon = strchr(arg, ':'); colon; colon = strchr(colon + 1, ':')) {
		bool ending = ends_in_safetensors(arg, colon);

		if (ending && !fallback)
			fallback = colon;
		if (!ending && forced != TENSOR_FORMAT_SAFETENSORS)
			continue;
		if (direction == TENSOR_IN && colon > arg && prefix_exists(arg, colon))
			return colon;
	}
	return fallback;
}

int tensor_path_parse(struct tensor_path *path, const char *arg, enum tensor_format forced,
		      enum tensor_direction direction, struct tensor_error *err)
{
	const char *colon = NULL;
	char label[LABEL_SIZE];

	memset(path, 0, sizeof(*path));
	tensor_label(label, arg);
	if (!*arg)
		return tensor_fail(err, EINVAL, "the name of the %s file is empty",
				   direction == TENSOR_IN ? "input" : "output");
	if (strcmp(arg, "-"))
		colon = find_colon(arg, forced, direction);
	if (colon && !colon[1])
		return tensor_fail(err, EINVAL, "%s: no tensor is named after the colon", label);
	path->file = colon ? strndup(arg, colon - arg) : strdup(arg);
	path->tensor = colon ? strdup(colon + 1) : NULL;
	if (!path->file || (colon && !path->tensor)) {
		tensor_path_release(path);
		return tensor_fail(err, ENOMEM, "%s: out of memory", label);
	}
	path->format = forced;
	if (forced == TENSOR_FORMAT_AUTO)
		path->format = strcmp(arg, "-") ? tensor_format_of(path->file) : TENSOR_FORMAT_RAW;
	if (path->format == TENSOR_FORMAT_AUTO) {
		tensor_path_release(path);
		return tensor_fail(err, EINVAL,
				   "%s: the ending is none of .npy .safetensors .bin; name the format with --%s-format",
				   label, direction == TENSOR_IN ? "in" : "out");
	}
	return 0;
}

void tensor_path_release(struct tensor_path *path)
{
	free(path->file);
	free(path->tensor);
	path->file = NULL;
	path->tensor = NULL;
}
