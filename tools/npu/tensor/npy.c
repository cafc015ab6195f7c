// SPDX-License-Identifier: MIT
/* Read .npy, versions 1 to 3: magic, version, length of the header, header, data. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Dtypes that this program lists are short; numpy itself stops at 10000 by default. */
#define HEADER_MAX	(1024 * 1024)
#define ITEM_MAX	(16 * 1024 * 1024)

struct npy_dtype {
	char kind;
	bool big_endian;
	unsigned int bytes;
};

static int unknown_dtype(const struct tensor_file *file, const char *descr,
			 struct tensor_error *err)
{
	return tensor_fail(err, EBADMSG, "%s: '%s' is not a dtype of numpy", file->label, descr);
}

/* "<f4": byte order, kind, bytes. */
static int parse_dtype(const struct tensor_file *file, const char *descr, struct npy_dtype *dtype,
		       struct tensor_error *err)
{
	const char *p = descr;
	unsigned long n = 0;

	dtype->big_endian = *p == '>';
	if (*p && strchr("<>|=", *p))
		p++;
	dtype->kind = *p;
	if (*p == 'O')
		return tensor_fail(err, ENOTSUP,
				   "%s: an array of Python objects ('%s') is pickled and never read",
				   file->label, descr);
	if (!*p || !strchr("biufcmMSUV", *p))
		return unknown_dtype(file, descr, err);
	p++;
	if (*p < '0' || *p > '9')
		return unknown_dtype(file, descr, err);
	for (; *p >= '0' && *p <= '9'; p++) {
		n = n * 10 + (*p - '0');
		if (n > ITEM_MAX)
			return unknown_dtype(file, descr, err);
	}
	/* Only times have a unit behind the size: M8[ns]. */
	if (*p && (*p != '[' || (dtype->kind != 'm' && dtype->kind != 'M')))
		return unknown_dtype(file, descr, err);
	dtype->bytes = dtype->kind == 'U' ? n * 4 : n;
	/* Opaque bytes have no order. */
	if (dtype->bytes == 1 || dtype->kind == 'S' || dtype->kind == 'V')
		dtype->big_endian = false;
	return 0;
}

static void set_type(struct tensor_info *info, const struct npy_dtype *d)
{
	unsigned int bits = d->bytes * 8;

	info->type = NPU_TYPE_NONE;
	if (d->kind == 'i')
		info->type = bits == 8 ? NPU_TYPE_I8 : bits == 16 ? NPU_TYPE_I16 :
			     bits == 32 ? NPU_TYPE_I32 : NPU_TYPE_NONE;
	else if (d->kind == 'u')
		info->type = bits == 8 ? NPU_TYPE_U8 : bits == 16 ? NPU_TYPE_U16 :
			     bits == 32 ? NPU_TYPE_U32 : NPU_TYPE_NONE;
	else if (d->kind == 'f' && bits == 32)
		info->type = NPU_TYPE_F32;
	/* What numpy has no type for (bf16, f8) comes as these. */
	info->width_only = (d->kind == 'u' || d->kind == 'V') && (bits == 8 || bits == 16);
}

static void type_name(char *text, size_t size, const char *descr, const struct npy_dtype *d)
{
	if (d->kind == 'b' && d->bytes == 1)
		snprintf(text, size, "bool");
	else if (strchr("iufc", d->kind))
		snprintf(text, size, "%c%u", d->kind, d->bytes * 8);
	else
		snprintf(text, size, "%.*s", NPY_DESCR_SIZE - 1,
			 strchr("<>|=", *descr) ? descr + 1 : descr);
}

static int check_size(struct tensor_file *file, struct tensor_info *info, unsigned int item,
		      struct tensor_error *err)
{
	uint64_t have = file->size - info->offset;

	if (!tensor_shape_product(info->shape, info->ndim, &info->elements) ||
	    __builtin_mul_overflow(info->elements, (uint64_t)item, &info->bytes))
		return tensor_fail(err, EBADMSG, "%s: the shape has more than 2^63 elements or bytes",
				   file->label);
	if (have < info->bytes)
		return tensor_fail(err, EBADMSG,
				   "%s: the file is truncated: its shape needs %llu bytes of data, and it has %llu",
				   file->label, (unsigned long long)info->bytes,
				   (unsigned long long)have);
	if (have > info->bytes)
		return tensor_fail(err, EBADMSG,
				   "%s: %llu bytes follow the %llu bytes of data that the shape needs",
				   file->label, (unsigned long long)(have - info->bytes),
				   (unsigned long long)info->bytes);
	return 0;
}

static int fill(struct tensor_file *file, const struct npy_header *h, uint64_t offset,
		struct tensor_error *err)
{
	struct tensor_info *info;
	struct npy_dtype dtype = { 0 };
	int ret;

	ret = parse_dtype(file, h->descr, &dtype, err);
	if (ret)
		return ret;
	ret = tensor_file_alloc(file, 1, h->ndim, 2 * NPY_DESCR_SIZE, err);
	if (ret)
		return ret;
	info = &file->infos[0];
	memcpy(file->strings, h->descr, NPY_DESCR_SIZE);
	type_name(file->strings + NPY_DESCR_SIZE, NPY_DESCR_SIZE, h->descr, &dtype);
	info->name = "";
	info->dtype = file->strings;
	info->type_name = file->strings + NPY_DESCR_SIZE;
	set_type(info, &dtype);
	info->fortran = h->fortran;
	info->big_endian = dtype.big_endian;
	info->item_bits = dtype.bytes * 8;
	info->ndim = h->ndim;
	memcpy(file->dims, h->shape, h->ndim * sizeof(h->shape[0]));
	info->shape = file->dims;
	info->offset = offset;
	ret = check_size(file, info, dtype.bytes, err);
	return ret || !h->fortran ? ret : fortran_prepare(file, err);
}

static int read_header(struct tensor_file *file, uint32_t bytes, unsigned int offset,
		       struct tensor_error *err)
{
	struct npy_header header;
	char *text;
	int ret;

	if (bytes > file->size - offset)
		return tensor_fail(err, EBADMSG,
				   "%s: the .npy header of %u bytes runs past the end of the file (%llu bytes)",
				   file->label, bytes, (unsigned long long)file->size);
	if (bytes > HEADER_MAX)
		return tensor_fail(err, EBADMSG,
				   "%s: the .npy header of %u bytes is larger than the limit of %u",
				   file->label, bytes, HEADER_MAX);
	text = malloc(bytes ? bytes : 1);
	if (!text)
		return tensor_fail(err, ENOMEM, "%s: out of memory", file->label);
	ret = tensor_file_pread(file, text, bytes, offset, err);
	if (!ret)
		ret = npy_parse_header(&header, text, bytes, file->label, err);
	free(text);
	return ret ? ret : fill(file, &header, (uint64_t)offset + bytes, err);
}

int npy_load(struct tensor_file *file, struct tensor_error *err)
{
	uint8_t head[12];
	int ret;

	memset(head, 0, sizeof(head));
	ret = tensor_file_pread(file, head, file->size < 12 ? file->size : 12, 0, err);
	if (ret)
		return ret;
	if (file->size < 10 || memcmp(head, "\x93NUMPY", 6))
		return tensor_fail(err, EBADMSG, "%s: this is not a .npy file: %s", file->label,
				   file->size < 10 ? "it is shorter than 10 bytes" :
						     "it does not start with \\x93NUMPY");
	if (head[6] == 1)
		return read_header(file, head[8] | head[9] << 8, 10, err);
	if (head[6] != 2 && head[6] != 3)
		return tensor_fail(err, ENOTSUP,
				   "%s: .npy version %u.%u is not known, only 1.0, 2.0 and 3.0",
				   file->label, head[6], head[7]);
	if (file->size < 12)
		return tensor_fail(err, EBADMSG,
				   "%s: the file is truncated within its first 12 bytes",
				   file->label);
	return read_header(file, head[8] | head[9] << 8 | head[10] << 16 | (uint32_t)head[11] << 24,
			   12, err);
}
