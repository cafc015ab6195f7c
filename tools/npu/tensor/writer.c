// SPDX-License-Identifier: MIT
/* Write one tensor: its header, then its data piece by piece. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "internal.h"

struct tensor_writer {
	struct output out;
	uint64_t bytes;		/* of data, in the whole tensor */
	uint64_t written;
};

/* What the header says: packed 4-bit elements that have no dtype of their own become bytes. */
struct header {
	const char *dtype;
	unsigned int ndim;
	uint64_t shape[TENSOR_MAX_DIMS];
	uint64_t bytes;
};

static void shape_in_bytes(struct header *h)
{
	if (h->ndim && h->shape[h->ndim - 1] % 2 == 0) {
		h->shape[h->ndim - 1] /= 2;
		return;
	}
	/* Rows that end in half a byte go on in the same byte: such a tensor is one vector. */
	h->ndim = 1;
	h->shape[0] = h->bytes;
}

static int describe(struct header *h, enum tensor_format format, const struct tensor_spec *spec,
		    const char *label, struct tensor_error *err)
{
	uint64_t elements, bits;

	if (!type_in_memory(spec->type))
		return tensor_fail(err, EINVAL, "%s: element type %u does not lie in memory", label,
				   spec->type);
	if (spec->ndim > TENSOR_MAX_DIMS)
		return tensor_fail(err, EINVAL, "%s: %u dimensions are more than %d", label,
				   spec->ndim, TENSOR_MAX_DIMS);
	if (!tensor_shape_product(spec->shape, spec->ndim, &elements) ||
	    __builtin_mul_overflow(elements, (uint64_t)npu_type_bits(spec->type), &bits))
		return tensor_fail(err, EINVAL, "%s: the shape has more than 2^64 bits", label);
	h->bytes = npu_type_bytes(spec->type, elements);
	h->ndim = spec->ndim;
	if (spec->ndim)
		memcpy(h->shape, spec->shape, spec->ndim * sizeof(h->shape[0]));
	h->dtype = format == TENSOR_FORMAT_NPY ? npy_dtype_of(spec->type) :
						 safetensors_dtype_of(spec->type);
	if (npu_type_bits(spec->type) == 4 && strcmp(h->dtype, "F4"))
		shape_in_bytes(h);
	return 0;
}

static int npy_header(const struct header *h, char **text, size_t *size)
{
	/* A dimension has at most 20 digits, the rest with its padding is shorter than 256. */
	size_t room = 256 + h->ndim * 24;
	char *p = malloc(room);
	size_t n = 10;

	if (!p)
		return -ENOMEM;
	n += snprintf(p + n, room - n, "{'descr': '%s', 'fortran_order': False, 'shape': (",
		      h->dtype);
	for (unsigned int i = 0; i < h->ndim; i++)
		n += snprintf(p + n, room - n, "%s%llu", i ? ", " : "",
			      (unsigned long long)h->shape[i]);
	n += snprintf(p + n, room - n, "%s), }", h->ndim == 1 ? "," : "");
	/* As numpy does: the data is aligned to 64 bytes, the header ends in a newline. */
	while ((n + 1) % 64)
		p[n++] = ' ';
	p[n++] = '\n';
	memcpy(p, "\x93NUMPY\x01\x00", 8);
	p[8] = (n - 10) & 0xff;
	p[9] = (n - 10) >> 8;
	*text = p;
	*size = n;
	return 0;
}

static json_t *safetensors_json(const struct header *h, const char *name)
{
	json_t *shape = json_array();
	json_t *root;

	for (unsigned int i = 0; i < h->ndim; i++)
		json_array_append_new(shape, json_integer((json_int_t)h->shape[i]));
	root = json_pack("{s:{s:s,s:o,s:[I,I]}}", name, "dtype", h->dtype, "shape", shape,
			 "data_offsets", (json_int_t)0, (json_int_t)h->bytes);
	return root;
}

static int safetensors_header(const struct header *h, const char *name, char **text, size_t *size)
{
	json_t *root = safetensors_json(h, name);
	char *json = root ? json_dumps(root, JSON_COMPACT) : NULL;
	size_t length = json ? strlen(json) : 0;
	size_t padded = (length + 7) / 8 * 8;
	char *p = malloc(8 + padded);

	json_decref(root);
	if (!json || !p) {
		free(json);
		free(p);
		return -ENOMEM;
	}
	for (int i = 0; i < 8; i++)
		p[i] = (uint64_t)padded >> 8 * i;
	memset(p + 8, ' ', padded);
	memcpy(p + 8, json, length);
	free(json);
	*text = p;
	*size = 8 + padded;
	return 0;
}

static bool is_utf8(const char *name)
{
	json_t *string = json_string(name);

	json_decref(string);
	return string;
}

static int make_header(const struct header *h, enum tensor_format format, const char *name,
		       const char *label, char **text, size_t *size, struct tensor_error *err)
{
	int ret = 0;

	*text = NULL;
	*size = 0;
	if (!name)
		name = "tensor";
	if (format == TENSOR_FORMAT_SAFETENSORS && (!strcmp(name, "__metadata__") ||
						    !is_utf8(name)))
		return tensor_fail(err, EINVAL, "%s: '%.100s' cannot be the name of a tensor",
				   label, name);
	if (format == TENSOR_FORMAT_NPY)
		ret = npy_header(h, text, size);
	else if (format == TENSOR_FORMAT_SAFETENSORS)
		ret = safetensors_header(h, name, text, size);
	else if (format != TENSOR_FORMAT_RAW)
		return tensor_fail(err, EINVAL,
				   "%s: the ending is none of .npy .safetensors .bin; name the format with --out-format",
				   label);
	return ret ? tensor_fail(err, -ret, "%s: out of memory", label) : 0;
}

int tensor_create(struct tensor_writer **writer, const char *path, enum tensor_format format,
		  const struct tensor_spec *spec, struct tensor_error *err)
{
	char label[LABEL_SIZE];
	struct tensor_writer *w;
	struct header h;
	char *text;
	size_t size;
	int ret;

	*writer = NULL;
	tensor_label(label, path);
	if (format == TENSOR_FORMAT_AUTO)
		format = strcmp(path, "-") ? tensor_format_of(path) : TENSOR_FORMAT_RAW;
	ret = describe(&h, format, spec, label, err);
	if (!ret)
		ret = make_header(&h, format, spec->name, label, &text, &size, err);
	if (ret)
		return ret;
	w = calloc(1, sizeof(*w));
	if (!w) {
		free(text);
		return tensor_fail(err, ENOMEM, "%s: out of memory", label);
	}
	w->bytes = h.bytes;
	ret = output_open(&w->out, path, size + h.bytes, err);
	if (!ret) {
		ret = output_append(&w->out, text, size, err);
		if (ret)
			output_discard(&w->out);
	}
	free(text);
	if (ret)
		free(w);
	else
		*writer = w;
	return ret;
}

int tensor_write(struct tensor_writer *w, const void *data, size_t bytes, struct tensor_error *err)
{
	int ret;

	if (bytes > w->bytes - w->written)
		return tensor_fail(err, EINVAL,
				   "%s: %llu bytes are more than the %llu that the tensor still lacks",
				   w->out.label, (unsigned long long)bytes,
				   (unsigned long long)(w->bytes - w->written));
	ret = output_append(&w->out, data, bytes, err);
	if (!ret)
		w->written += bytes;
	return ret;
}

int tensor_commit(struct tensor_writer *w, struct tensor_error *err)
{
	int ret;

	if (w->written != w->bytes) {
		ret = tensor_fail(err, EINVAL, "%s: only %llu of %llu bytes were written",
				  w->out.label, (unsigned long long)w->written,
				  (unsigned long long)w->bytes);
		output_discard(&w->out);
	} else {
		ret = output_commit(&w->out, err);
	}
	free(w);
	return ret;
}

void tensor_abort(struct tensor_writer *w)
{
	if (!w)
		return;
	output_discard(&w->out);
	free(w);
}
