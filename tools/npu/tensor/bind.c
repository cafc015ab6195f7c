// SPDX-License-Identifier: MIT
/* From what the file says and what the command line says to the type and shape of a tensor. */
#include <errno.h>
#include <string.h>

#include "internal.h"

struct binder {
	struct tensor *t;
	const struct tensor_info *info;
	const struct tensor_opts *opts;
	struct tensor_error *err;
	char where[WHERE_SIZE];
};

static bool is_raw(const struct binder *b)
{
	return b->t->file->format == TENSOR_FORMAT_RAW;
}

static int no_type_given(const struct binder *b)
{
	const struct tensor_info *info = b->info;

	if (is_raw(b))
		return tensor_fail(b->err, EINVAL,
				   "%s: raw data does not say what its elements are; name the type with --type",
				   b->where);
	if (info->width_only)
		return tensor_fail(b->err, EINVAL,
				   "%s: the dtype '%.20s' says only that an element has %u bits; name the type with --type",
				   b->where, info->dtype, info->item_bits);
	return tensor_fail(b->err, ENOTSUP,
			   "%s: the dtype '%.40s' is not one that the NPU has, it is not converted",
			   b->where, info->dtype);
}

/* May @want be laid over elements of which the file gives no more than the width? */
static bool refines(const struct binder *b, uint32_t want)
{
	const struct tensor_info *info = b->info;
	unsigned int bits = npu_type_bits(want);

	if (is_raw(b))
		return true;
	if (info->width_only)
		return bits == info->item_bits || (bits == 4 && info->item_bits == 8);
	/* Small integers in a byte each are a common form of i4, and they are signed. */
	return b->opts->unpacked && want == NPU_TYPE_I4 && info->type == NPU_TYPE_I8;
}

static int choose_type(const struct binder *b)
{
	const struct tensor_info *info = b->info;
	uint32_t want = b->opts->type;

	if (want == NPU_TYPE_NONE)
		want = info->type;
	if (want == NPU_TYPE_NONE)
		return no_type_given(b);
	if (!type_in_memory(want))
		return tensor_fail(b->err, EINVAL, "%s: --type %u is not a type of elements",
				   b->where, want);
	if (want != info->type && !refines(b, want)) {
		if (info->type == NPU_TYPE_NONE && !info->width_only)
			return no_type_given(b);
		return tensor_fail(b->err, EINVAL,
				   "%s: --type %s contradicts the file, whose dtype is %s ('%.20s')",
				   b->where, npu_type_name(want), info->type_name, info->dtype);
	}
	b->t->type = want;
	return 0;
}

static int check_nibbles(const struct binder *b)
{
	const struct tensor_opts *opts = b->opts;
	bool four = npu_type_bits(b->t->type) == 4;

	if (!four && (opts->unpacked || opts->nibble_high))
		return tensor_fail(b->err, EINVAL, "%s: %s is for 4-bit types, not for %s", b->where,
				   opts->unpacked ? "--unpacked" : "--nibble-order",
				   npu_type_name(b->t->type));
	if (opts->unpacked && opts->nibble_high)
		return tensor_fail(b->err, EINVAL,
				   "%s: --nibble-order has no meaning with --unpacked", b->where);
	if (opts->unpacked && b->info->item_bits != 8)
		return tensor_fail(b->err, EINVAL,
				   "%s: --unpacked is for one element per byte, but the dtype '%.20s' is packed",
				   b->where, b->info->dtype);
	b->t->unpacked = opts->unpacked;
	b->t->nibble_high = opts->nibble_high;
	return 0;
}

static int raw_elements(const struct binder *b)
{
	struct tensor *t = b->t;
	uint64_t size = b->info->bytes;
	unsigned int item = t->unpacked ? 8 : npu_type_bits(t->type);
	uint64_t count = b->opts->count;

	if (size > INT64_MAX / 8)
		return tensor_fail(b->err, EFBIG, "%s: the file is too large", b->where);
	t->elements = size * 8 / item;
	if (t->elements * item != size * 8)
		return tensor_fail(b->err, EBADMSG,
				   "%s: %llu bytes are not a whole number of %s elements", b->where,
				   (unsigned long long)size, npu_type_name(t->type));
	if (!b->opts->has_count)
		return 0;
	/* Half a byte may be left over, and nothing else. */
	if (count != t->elements && (item != 4 || count + 1 != t->elements || !t->elements))
		return tensor_fail(b->err, EINVAL,
				   "%s: --count %llu does not fit the file's %llu bytes, which hold %llu %s elements",
				   b->where, (unsigned long long)count, (unsigned long long)size,
				   (unsigned long long)t->elements, npu_type_name(t->type));
	t->elements = count;
	return 0;
}

static int raw_shape(const struct binder *b)
{
	uint64_t cols = b->opts->cols;
	struct tensor *t = b->t;
	int ret;

	ret = raw_elements(b);
	if (ret)
		return ret;
	t->ndim = 1;
	t->shape[0] = t->elements;
	if (!cols)
		return 0;
	if (t->elements % cols)
		return tensor_fail(b->err, EINVAL,
				   "%s: %llu elements are not a whole number of rows of --cols %llu",
				   b->where, (unsigned long long)t->elements,
				   (unsigned long long)cols);
	t->ndim = 2;
	t->shape[0] = t->elements / cols;
	t->shape[1] = cols;
	return 0;
}

static int file_shape(const struct binder *b)
{
	const struct tensor_info *info = b->info;
	struct tensor *t = b->t;

	if (b->opts->has_count || b->opts->cols)
		return tensor_fail(b->err, EINVAL,
				   "%s: %s is for raw data; this file has a shape of its own",
				   b->where, b->opts->cols ? "--cols" : "--count");
	t->ndim = info->ndim;
	memcpy(t->shape, info->shape, info->ndim * sizeof(t->shape[0]));
	if (npu_type_bits(t->type) == 4 && info->item_bits == 8 && !t->unpacked) {
		if (!t->ndim)
			return tensor_fail(b->err, EINVAL,
					   "%s: a single byte without an axis cannot hold packed %s elements; --unpacked reads one",
					   b->where, npu_type_name(t->type));
		t->shape[t->ndim - 1] *= 2;
	}
	if (!tensor_shape_product(t->shape, t->ndim, &t->elements))
		return tensor_fail(b->err, EBADMSG, "%s: the shape has more than 2^63 elements",
				   b->where);
	return 0;
}

int tensor_bind(struct tensor *t, const struct tensor_file *file, const struct tensor_info *info,
		const struct tensor_opts *opts, struct tensor_error *err)
{
	static const struct tensor_opts none;
	struct binder b = { .t = t, .info = info, .opts = opts ? opts : &none, .err = err };
	int ret;

	memset(t, 0, sizeof(*t));
	t->file = file;
	t->info = info;
	tensor_where(b.where, file, info);
	ret = choose_type(&b);
	if (!ret)
		ret = check_nibbles(&b);
	if (!ret)
		ret = is_raw(&b) ? raw_shape(&b) : file_shape(&b);
	if (!ret)
		t->bytes = npu_type_bytes(t->type, t->elements);
	return ret;
}
