// SPDX-License-Identifier: MIT
/* Read a range of a tensor's elements into memory, the way libnpu wants them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define UNPACKED_CHUNK	(256 * 1024)

static void swap_bytes(uint8_t *p, uint64_t n, unsigned int item)
{
	if (item == 2) {
		for (uint64_t i = 0; i < n; i++, p += 2) {
			uint16_t v;

			memcpy(&v, p, 2);
			v = __builtin_bswap16(v);
			memcpy(p, &v, 2);
		}
	} else {
		for (uint64_t i = 0; i < n; i++, p += 4) {
			uint32_t v;

			memcpy(&v, p, 4);
			v = __builtin_bswap32(v);
			memcpy(p, &v, 4);
		}
	}
}

/*
 * Items are what the file has: elements, or bytes that hold packed ones.  F4 counts elements, but
 * is bytes all the same.
 */
static int read_items(const struct tensor *t, uint64_t first, uint64_t n, uint8_t *dst,
		      struct tensor_error *err)
{
	const struct tensor_info *info = t->info;
	unsigned int item = info->item_bits == 4 ? 1 : info->item_bits / 8;
	int ret;

	/* Raw files know only bytes. */
	if (t->file->format == TENSOR_FORMAT_RAW && npu_type_bits(t->type) > 8)
		item = npu_type_bits(t->type) / 8;
	if (info->fortran)
		ret = fortran_read(t->file, info, first, n, dst, err);
	else
		ret = tensor_file_pread(t->file, dst, n * item, info->offset + first * item, err);
	if (!ret && info->big_endian && item > 1)
		swap_bytes(dst, n, item);
	return ret;
}

static void swap_nibbles(uint8_t *p, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		p[i] = p[i] << 4 | p[i] >> 4;
}

static int read_even_nibbles(const struct tensor *t, uint64_t first, uint64_t n, uint8_t *dst,
			     struct tensor_error *err)
{
	uint64_t bytes = n / 2 + n % 2;
	int ret = read_items(t, first / 2, bytes, dst, err);

	if (ret)
		return ret;
	if (t->nibble_high)
		swap_nibbles(dst, bytes);
	if (n % 2)
		dst[bytes - 1] &= 0x0f;
	return 0;
}

/* @first is odd: every byte that is delivered is made of two of the file's. */
static int read_odd_nibbles(const struct tensor *t, uint64_t first, uint64_t n, uint8_t *dst,
			    struct tensor_error *err)
{
	uint64_t rest = n / 2;
	uint8_t before;
	int ret;

	ret = read_items(t, first / 2, 1, &before, err);
	if (!ret && rest)
		ret = read_items(t, first / 2 + 1, rest, dst, err);
	if (ret)
		return ret;
	if (t->nibble_high) {
		swap_nibbles(&before, 1);
		swap_nibbles(dst, rest);
	}
	for (uint64_t i = 0; i < rest; i++) {
		uint8_t here = dst[i];

		dst[i] = before >> 4 | here << 4;
		before = here;
	}
	if (n % 2)
		dst[rest] = before >> 4;
	return 0;
}

/* The code alone, or for i4 the number in two's complement: anything else is other data. */
static bool is_nibble(uint32_t type, uint8_t byte)
{
	return byte <= 0x0f || (type == NPU_TYPE_I4 && byte >= 0xf8);
}

static int pack(const struct tensor *t, uint64_t first, const uint8_t *src, size_t n, uint8_t *dst,
		struct tensor_error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_nibble(t->type, src[i])) {
			char where[WHERE_SIZE];

			tensor_where(where, t->file, t->info);
			return tensor_fail(err, EBADMSG,
					   "%s: element %llu is 0x%02x, which is not one %s element in a byte (--unpacked)",
					   where, (unsigned long long)(first + i), src[i],
					   npu_type_name(t->type));
		}
		if (i % 2)
			dst[i / 2] |= src[i] << 4;
		else
			dst[i / 2] = src[i] & 0x0f;
	}
	return 0;
}

static int read_unpacked(const struct tensor *t, uint64_t first, uint64_t n, uint8_t *dst,
			 struct tensor_error *err)
{
	uint8_t *chunk = malloc(n < UNPACKED_CHUNK ? (size_t)n : UNPACKED_CHUNK);
	int ret = 0;

	if (!chunk)
		return tensor_fail(err, ENOMEM, "%s: out of memory", t->file->label);
	while (!ret && n) {
		size_t part = n < UNPACKED_CHUNK ? (size_t)n : UNPACKED_CHUNK;

		ret = read_items(t, first, part, chunk, err);
		if (!ret)
			ret = pack(t, first, chunk, part, dst, err);
		first += part;
		n -= part;
		dst += part / 2;
	}
	free(chunk);
	return ret;
}

int tensor_read(const struct tensor *t, uint64_t first, uint64_t n, void *dst,
		struct tensor_error *err)
{
	if (first > t->elements || n > t->elements - first)
		return tensor_fail(err, EINVAL,
				   "%s: elements %llu to %llu were asked for, the tensor has %llu",
				   t->file->label, (unsigned long long)first,
				   (unsigned long long)(first + n),
				   (unsigned long long)t->elements);
	if (!n)
		return 0;
	if (npu_type_bits(t->type) != 4)
		return read_items(t, first, n, dst, err);
	if (t->unpacked)
		return read_unpacked(t, first, n, dst, err);
	if (first % 2)
		return read_odd_nibbles(t, first, n, dst, err);
	return read_even_nibbles(t, first, n, dst, err);
}
