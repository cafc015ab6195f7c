// SPDX-License-Identifier: MIT
/*
 * Read .safetensors: the length of the header (8 bytes), the header (JSON), the data.  The header
 * is believed only as far as it adds up: tensors cover the data without a gap, without an overlap
 * and without a rest, and each has the bytes that its shape needs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "internal.h"

/* The limit of the reference implementation. */
#define HEADER_MAX	100000000u

#define METADATA	"__metadata__"

struct loader {
	struct tensor_file *file;
	struct tensor_error *err;
	uint64_t data_start;
	uint64_t data_bytes;
	uint64_t *dims;			/* the next free one */
	char *strings;
};

static int bad(const struct loader *l, const char *tensor, const char *what)
{
	return tensor_fail(l->err, EBADMSG, "%s: tensor '%.100s': %s", l->file->label, tensor,
			   what);
}

static int check_metadata(const struct loader *l, json_t *metadata)
{
	const char *key;
	json_t *value;

	if (!json_is_object(metadata))
		return tensor_fail(l->err, EBADMSG, "%s: " METADATA " is not an object",
				   l->file->label);
	json_object_foreach(metadata, key, value) {
		if (!json_is_string(value))
			return tensor_fail(l->err, EBADMSG,
					   "%s: " METADATA " entry '%.100s' is not a string",
					   l->file->label, key);
	}
	return 0;
}

/* Check the entry's form, and count what its lists need. */
static int survey_entry(const struct loader *l, const char *name, json_t *entry, size_t *dims,
			size_t *string_bytes)
{
	json_t *dtype = json_object_get(entry, "dtype");
	json_t *shape = json_object_get(entry, "shape");

	if (!json_is_object(entry))
		return bad(l, name, "its entry is not an object");
	if (!json_is_string(dtype))
		return bad(l, name, "it has no 'dtype' that is a string");
	if (!json_is_array(shape))
		return bad(l, name, "it has no 'shape' that is an array");
	if (!json_is_array(json_object_get(entry, "data_offsets")))
		return bad(l, name, "it has no 'data_offsets' that is an array");
	if (json_array_size(shape) > TENSOR_MAX_DIMS)
		return tensor_fail(l->err, ENOTSUP, "%s: tensor '%.100s': more than %d dimensions",
				   l->file->label, name, TENSOR_MAX_DIMS);
	*dims += json_array_size(shape);
	*string_bytes += strlen(name) + 1 + json_string_length(dtype) + 1;
	return 0;
}

static int survey(struct loader *l, json_t *root)
{
	size_t string_bytes = 0;
	size_t count = 0;
	size_t dims = 0;
	const char *name;
	json_t *entry;
	int ret;

	json_object_foreach(root, name, entry) {
		if (!strcmp(name, METADATA)) {
			ret = check_metadata(l, entry);
		} else {
			ret = survey_entry(l, name, entry, &dims, &string_bytes);
			count++;
		}
		if (ret)
			return ret;
	}
	ret = tensor_file_alloc(l->file, count, dims, string_bytes, l->err);
	l->dims = l->file->dims;
	l->strings = l->file->strings;
	return ret;
}

static const char *keep_string(struct loader *l, const char *text)
{
	size_t n = strlen(text) + 1;
	char *kept = memcpy(l->strings, text, n);

	l->strings += n;
	return kept;
}

static bool natural(json_t *value, uint64_t *number)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*number = json_integer_value(value);
	return true;
}

static int set_bytes(struct loader *l, struct tensor_info *info)
{
	uint64_t need;

	if (!tensor_shape_product(info->shape, info->ndim, &info->elements))
		return bad(l, info->name, "its shape has more than 2^63 elements");
	if (!info->item_bits)
		return 0;
	if (__builtin_mul_overflow(info->elements, (uint64_t)info->item_bits, &need))
		return bad(l, info->name, "its shape has more than 2^64 bits");
	need = need / 8 + !!(need % 8);
	if (need != info->bytes)
		return tensor_fail(l->err, EBADMSG,
				   "%s: tensor '%.100s': its shape and dtype %.20s need %llu bytes, its data_offsets give %llu",
				   l->file->label, info->name, info->dtype,
				   (unsigned long long)need, (unsigned long long)info->bytes);
	return 0;
}

static int load_offsets(struct loader *l, struct tensor_info *info, json_t *offsets)
{
	uint64_t begin, end;

	if (json_array_size(offsets) != 2 || !natural(json_array_get(offsets, 0), &begin) ||
	    !natural(json_array_get(offsets, 1), &end) || begin > end)
		return bad(l, info->name,
			   "its data_offsets are not two natural numbers in ascending order");
	if (end > l->data_bytes)
		return tensor_fail(l->err, EBADMSG,
				   "%s: tensor '%.100s': it ends at byte %llu of the data, of which the file has %llu",
				   l->file->label, info->name, (unsigned long long)end,
				   (unsigned long long)l->data_bytes);
	info->offset = l->data_start + begin;
	info->bytes = end - begin;
	return 0;
}

static int load_entry(struct loader *l, struct tensor_info *info, const char *name, json_t *entry)
{
	json_t *shape = json_object_get(entry, "shape");
	const struct tensor_dtype *dtype;
	int ret;

	info->name = keep_string(l, name);
	info->dtype = keep_string(l, json_string_value(json_object_get(entry, "dtype")));
	dtype = safetensors_dtype(info->dtype);
	info->type_name = dtype ? dtype->type_name : info->dtype;
	info->type = dtype ? dtype->type : NPU_TYPE_NONE;
	info->width_only = dtype && dtype->width_only;
	info->item_bits = dtype ? dtype->bits : 0;
	info->shape = l->dims;
	info->ndim = json_array_size(shape);
	for (unsigned int i = 0; i < info->ndim; i++) {
		if (!natural(json_array_get(shape, i), l->dims++))
			return bad(l, name, "its shape has something else than natural numbers");
	}
	ret = load_offsets(l, info, json_object_get(entry, "data_offsets"));
	return ret ? ret : set_bytes(l, info);
}

static int by_offset(const void *a, const void *b)
{
	const struct tensor_info *x = *(const struct tensor_info *const *)a;
	const struct tensor_info *y = *(const struct tensor_info *const *)b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int check_neighbour(const struct loader *l, const struct tensor_info *info, uint64_t end)
{
	if (info->offset > end)
		return tensor_fail(l->err, EBADMSG,
				   "%s: tensor '%.100s': no tensor covers the %llu bytes before it",
				   l->file->label, info->name,
				   (unsigned long long)(info->offset - end));
	if (info->offset < end)
		return bad(l, info->name, "its data overlaps another tensor's");
	return 0;
}

static int check_cover(const struct loader *l)
{
	const struct tensor_file *file = l->file;
	const struct tensor_info **order = malloc((file->count + 1) * sizeof(*order));
	uint64_t end = l->data_start;
	int ret = 0;

	if (!order)
		return tensor_fail(l->err, ENOMEM, "%s: out of memory", file->label);
	for (size_t i = 0; i < file->count; i++)
		order[i] = &file->infos[i];
	qsort(order, file->count, sizeof(*order), by_offset);
	for (size_t i = 0; !ret && i < file->count; i++) {
		ret = check_neighbour(l, order[i], end);
		end = order[i]->offset + order[i]->bytes;
	}
	free(order);
	if (!ret && end != file->size)
		ret = tensor_fail(l->err, EBADMSG,
				  "%s: no tensor covers the last %llu bytes of the file",
				  file->label, (unsigned long long)(file->size - end));
	return ret;
}

static int load_header(struct loader *l, const char *text, size_t bytes)
{
	struct tensor_info *info;
	json_error_t error;
	const char *name;
	json_t *entry;
	json_t *root;
	int ret;

	if (text[0] != '{')
		return tensor_fail(l->err, EBADMSG, "%s: the header does not start with '{'",
				   l->file->label);
	root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return tensor_fail(l->err, EBADMSG, "%s: the header is not right JSON: %s (byte %d)",
				   l->file->label, error.text, error.position);
	ret = survey(l, root);
	info = l->file->infos;
	json_object_foreach(root, name, entry) {
		if (ret)
			break;
		if (strcmp(name, METADATA))
			ret = load_entry(l, info++, name, entry);
	}
	json_decref(root);
	return ret ? ret : check_cover(l);
}

static int check_length(const struct tensor_file *file, uint64_t bytes, struct tensor_error *err)
{
	if (!bytes)
		return tensor_fail(err, EBADMSG, "%s: the header's length is 0", file->label);
	if (bytes > file->size - 8)
		return tensor_fail(err, EBADMSG,
				   "%s: the header of %llu bytes runs past the end of the file (%llu bytes)",
				   file->label, (unsigned long long)bytes,
				   (unsigned long long)file->size);
	if (bytes > HEADER_MAX)
		return tensor_fail(err, EBADMSG,
				   "%s: the header of %llu bytes is larger than the format's limit of %u",
				   file->label, (unsigned long long)bytes, HEADER_MAX);
	return 0;
}

int safetensors_load(struct tensor_file *file, struct tensor_error *err)
{
	struct loader l = { .file = file, .err = err };
	uint64_t bytes = 0;
	uint8_t head[8];
	char *text;
	int ret;

	if (file->size < 8)
		return tensor_fail(err, EBADMSG,
				   "%s: a .safetensors file starts with an 8-byte length, this one has %llu bytes",
				   file->label, (unsigned long long)file->size);
	ret = tensor_file_pread(file, head, sizeof(head), 0, err);
	if (ret)
		return ret;
	for (int i = 7; i >= 0; i--)
		bytes = bytes << 8 | head[i];
	ret = check_length(file, bytes, err);
	if (ret)
		return ret;
	text = malloc(bytes);
	if (!text)
		return tensor_fail(err, ENOMEM, "%s: out of memory for a header of %llu bytes",
				   file->label, (unsigned long long)bytes);
	l.data_start = 8 + bytes;
	l.data_bytes = file->size - l.data_start;
	ret = tensor_file_pread(file, text, bytes, 8, err);
	if (!ret)
		ret = load_header(&l, text, bytes);
	free(text);
	return ret;
}
