/* SPDX-License-Identifier: MIT */
/*
 * What both fuzzers of tensor files do.  Whatever is accepted must hold what tensor.h promises: a
 * tensor lies within the file, and a range read by itself equals that part of the whole.
 */
#ifndef NPU_FUZZ_TENSOR_H
#define NPU_FUZZ_TENSOR_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tensor/tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_MAX_BYTES	(64 * 1024)

static inline void fuzz_expect(int truth)
{
	if (!truth)
		abort();
}

static inline void fuzz_read(const struct tensor *t)
{
	uint64_t bytes = npu_type_bytes(t->type, t->elements);
	struct tensor_error err;
	uint8_t *whole, *part;
	uint64_t first, n;

	fuzz_expect(bytes == t->bytes);
	if (bytes > FUZZ_MAX_BYTES)
		return;
	/* Exact sizes, so that the sanitizer sees one byte too many. */
	whole = malloc(bytes);
	first = t->elements / 3 & ~1ull;
	n = (t->elements - first) / 2;
	part = malloc(npu_type_bytes(t->type, n));
	fuzz_expect(whole && part);
	if (!tensor_read(t, 0, t->elements, whole, &err)) {
		fuzz_expect(!tensor_read(t, first, n, part, &err));
		bytes = npu_type_bytes(t->type, n);
		whole += npu_type_bytes(t->type, first);
		/* The last nibble of an odd part is 0, the whole goes on. */
		if (n % 2 && npu_type_bits(t->type) == 4)
			bytes--;
		fuzz_expect(!memcmp(whole, part, bytes));
		whole -= npu_type_bytes(t->type, first);
	}
	free(whole);
	free(part);
}

static inline void fuzz_bind(const struct tensor_file *file, const struct tensor_info *info)
{
	struct tensor_error err;
	struct tensor t;

	for (uint32_t type = 0; type <= NPU_TYPE_COUNT; type++) {
		for (int mode = 0; mode < 3; mode++) {
			struct tensor_opts opts = { .type = type, .unpacked = mode == 1,
						    .nibble_high = mode == 2 };

			memset(&err, 0, sizeof(err));
			if (!tensor_bind(&t, file, info, &opts, &err))
				fuzz_read(&t);
			else
				fuzz_expect(*err.text);
		}
	}
}

static inline void fuzz_tensor_file(const uint8_t *data, size_t size, enum tensor_format format)
{
	static int fd = -1;
	struct tensor_error err = { "" };
	struct tensor_file *file;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	fuzz_expect(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	if (tensor_open_fd(&file, fd, "fuzz", format, &err)) {
		fuzz_expect(*err.text);
		return;
	}
	for (size_t i = 0; i < tensor_file_count(file) && i < 16; i++) {
		const struct tensor_info *info = tensor_file_info(file, i);

		fuzz_expect(info->offset <= size && info->bytes <= size - info->offset);
		fuzz_bind(file, info);
	}
	tensor_close(file);
}

#endif
