// SPDX-License-Identifier: MIT
/* Ranges of elements against a plain model: orders, byte orders, nibbles. */
#include "test_tensor.h"

#include <inttypes.h>
#include <time.h>

static uint64_t seed;

static uint32_t pick(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 32) % n;
}

struct array {
	unsigned int ndim;
	uint64_t shape[TENSOR_MAX_DIMS];
	uint64_t elements;
	unsigned int item;
	bool fortran;
	bool big_endian;
};

/* Position in the file of the element with C index @i. */
static uint64_t position(const struct array *a, uint64_t i)
{
	uint64_t at[TENSOR_MAX_DIMS];
	uint64_t p = 0;

	if (!a->fortran)
		return i;
	for (unsigned int k = a->ndim; k-- > 0;) {
		at[k] = i % a->shape[k];
		i /= a->shape[k];
	}
	for (unsigned int k = a->ndim; k-- > 0;)
		p = p * a->shape[k] + at[k];
	return p;
}

/* Byte @b (0 is the lowest) of the element with C index @i. */
static uint8_t value(uint64_t i, unsigned int b)
{
	return (i + 1) * 0x9e3779b97f4a7c15ull >> (24 + 8 * b);
}

static struct tensor_file *make_array(const struct array *a)
{
	static const char *const descr[] = { [1] = "i1", [2] = "i2", [4] = "f4" };
	uint8_t *data = malloc(a->elements * a->item + 1);
	struct tensor_error err;
	struct tensor_file *file;
	char dict[1024];
	uint8_t *bytes;
	size_t size;
	int n;

	assert_non_null(data);
	for (uint64_t i = 0; i < a->elements; i++) {
		for (unsigned int b = 0; b < a->item; b++)
			data[position(a, i) * a->item + (a->big_endian ? a->item - 1 - b : b)] =
				value(i, b);
	}
	n = snprintf(dict, sizeof(dict), "{'descr': '%c%s', 'fortran_order': %s, 'shape': (",
		     a->big_endian ? '>' : '<', descr[a->item], a->fortran ? "True" : "False");
	for (unsigned int k = 0; k < a->ndim; k++)
		n += snprintf(dict + n, sizeof(dict) - n, "%" PRIu64 ",", a->shape[k]);
	snprintf(dict + n, sizeof(dict) - n, ")}");
	bytes = make_npy(1, dict, data, a->elements * a->item, &size);
	if (open_bytes(&file, bytes, size, TENSOR_FORMAT_NPY, &err))
		fail_msg("%s", err.text);
	free(bytes);
	free(data);
	return file;
}

static void check_range(const struct array *a, const struct tensor *t, uint64_t first, uint64_t n)
{
	uint8_t *dst = malloc(n * a->item + 1);
	struct tensor_error err;

	assert_non_null(dst);
	dst[n * a->item] = 0xa5;
	if (tensor_read(t, first, n, dst, &err))
		fail_msg("%s", err.text);
	for (uint64_t i = 0; i < n; i++) {
		for (unsigned int b = 0; b < a->item; b++) {
			if (dst[i * a->item + b] != value(first + i, b))
				fail_msg("element %" PRIu64 " of %" PRIu64 "+%" PRIu64, i, first,
					 n);
		}
	}
	assert_int_equal(dst[n * a->item], 0xa5);
	free(dst);
}

static void check_array(struct array *a)
{
	struct tensor_file *file;
	struct tensor_error err;
	struct tensor t;

	a->elements = 1;
	for (unsigned int k = 0; k < a->ndim; k++)
		a->elements *= a->shape[k];
	file = make_array(a);
	assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), NULL, &err), 0);
	assert_int_equal(t.elements, a->elements);
	check_range(a, &t, 0, a->elements);
	for (uint64_t first = 0, n; first < a->elements; first += n) {
		n = 1 + pick(a->elements / (1 + pick(30)) + 1);
		if (n > a->elements - first)
			n = a->elements - first;
		check_range(a, &t, first, n);
	}
	for (int i = 0; i < 20; i++) {
		uint64_t first = pick(a->elements + 1);

		check_range(a, &t, first, pick(a->elements - first + 1));
	}
	tensor_close(file);
}

static void random_shapes(void **state)
{
	for (int i = 0; i < 1500; i++) {
		struct array a = { .item = 1u << pick(3), .big_endian = pick(2),
				   .fortran = pick(4) };
		uint64_t left = 4000;

		a.ndim = pick(7);
		for (unsigned int k = 0; k < a.ndim; k++) {
			a.shape[k] = 1 + pick(left < 40 ? left : 40);
			/* An empty one now and then, and many of size 1. */
			if (!pick(50))
				a.shape[k] = pick(2);
			left /= a.shape[k] ? a.shape[k] : 1;
		}
		check_array(&a);
	}
}

/* Holes on both sides of what is read at once, and runs longer than the window. */
static void large_shapes(void **state)
{
	static const uint64_t shapes[][3] = {
		{ 2, 300000, 1 }, { 300000, 2, 1 }, { 700, 3, 500 }, { 3, 700, 400 },
		{ 5000, 10, 7 }, { 9, 11, 5000 }, { 1024, 1024, 1 }, { 1, 1, 1000000 },
		{ 600, 300, 200 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct array a = { .item = 2, .fortran = true, .ndim = 3, .big_endian = i % 2 };

		memcpy(a.shape, shapes[i], sizeof(shapes[i]));
		check_array(&a);
	}
}

static void many_dimensions(void **state)
{
	struct array a = { .item = 4, .fortran = true, .ndim = TENSOR_MAX_DIMS };

	for (unsigned int k = 0; k < a.ndim; k++)
		a.shape[k] = k % 3 ? 1 : 2;
	check_array(&a);
}

static uint8_t nibble(const uint8_t *p, uint64_t i)
{
	return p[i / 2] >> 4 * (i % 2) & 0xf;
}

/* Every range of a small 4-bit tensor against its nibbles one by one. */
static void every_nibble_range(void **state)
{
	static const uint8_t raw[] = { 0x21, 0xf8, 0xa7, 0x5c, 0x03, 0xe9 };
	struct tensor_error err;
	struct tensor_file *file;
	struct tensor t;

	assert_int_equal(open_bytes(&file, raw, sizeof(raw), TENSOR_FORMAT_RAW, &err), 0);
	for (int mode = 0; mode < 2; mode++) {
		struct tensor_opts opts = { .type = NPU_TYPE_I4, .nibble_high = mode };

		assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), &opts, &err), 0);
		assert_int_equal(t.elements, 12);
		for (uint64_t first = 0; first <= 12; first++) {
			for (uint64_t n = 0; first + n <= 12; n++) {
				uint8_t dst[8];

				memset(dst, 0xee, sizeof(dst));
				assert_int_equal(tensor_read(&t, first, n, dst, &err), 0);
				for (uint64_t i = 0; i < n; i++)
					assert_int_equal(nibble(dst, i),
							 nibble(raw, (first + i) ^ mode));
				if (n % 2)
					assert_int_equal(dst[n / 2] >> 4, 0);
				assert_int_equal(dst[n / 2 + n % 2], 0xee);
			}
		}
	}
	tensor_close(file);
}

static void c19d_odd_raw_nibbles(void **state)
{
	struct tensor_opts opts = { .type = NPU_TYPE_I4, .has_count = true, .count = 5 };
	struct tensor_error err;
	struct tensor_file *file;
	uint8_t bytes[3];
	struct tensor t;

	file = bind_file(&t, CASES "c19d_i4_5elements.bin", NULL, &opts);
	assert_int_equal(t.elements, 5);
	assert_int_equal(t.bytes, 3);
	assert_int_equal(tensor_read(&t, 0, 5, bytes, &err), 0);
	assert_memory_equal(bytes, "\x21\xf8\x07", 3);
	for (opts.count = 0; opts.count < 10; opts.count++)
		assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), &opts, &err),
				 opts.count == 5 || opts.count == 6 ? 0 : -EINVAL);
	tensor_close(file);
}

static void unpacked(void **state)
{
	static const uint8_t raw[] = { 0x01, 0x0f, 0xff, 0xf8, 0x07, 0x10 };
	struct tensor_opts opts = { .type = NPU_TYPE_I4, .unpacked = true };
	struct tensor_error err;
	struct tensor_file *file;
	uint8_t bytes[3];
	struct tensor t;

	assert_int_equal(open_bytes(&file, raw, sizeof(raw), TENSOR_FORMAT_RAW, &err), 0);
	assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), &opts, &err), 0);
	assert_int_equal(t.elements, 6);
	assert_int_equal(tensor_read(&t, 0, 5, bytes, &err), 0);
	assert_memory_equal(bytes, "\xf1\x8f\x07", 3);
	assert_int_equal(tensor_read(&t, 1, 3, bytes, &err), 0);
	assert_memory_equal(bytes, "\xff\x08", 2);
	assert_int_equal(tensor_read(&t, 0, 6, bytes, &err), -EBADMSG);
	assert_has(&err, "element 5 is 0x10");
	opts.type = NPU_TYPE_F4E2M1;
	assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), &opts, &err), 0);
	assert_int_equal(tensor_read(&t, 0, 3, bytes, &err), -EBADMSG);
	assert_has(&err, "element 2 is 0xff");
	tensor_close(file);
}

/* Longer than the buffer that unpacked data goes through. */
static void unpacked_large(void **state)
{
	struct tensor_opts opts = { .type = NPU_TYPE_I4, .unpacked = true };
	size_t n = 600001;
	uint8_t *raw = malloc(n), *dst = malloc(n);
	struct tensor_error err;
	struct tensor_file *file;
	struct tensor t;

	assert_true(raw && dst);
	for (size_t i = 0; i < n; i++)
		raw[i] = value(i, 0) & 0xf;
	assert_int_equal(open_bytes(&file, raw, n, TENSOR_FORMAT_RAW, &err), 0);
	assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), &opts, &err), 0);
	assert_int_equal(tensor_read(&t, 3, n - 3, dst, &err), 0);
	for (size_t i = 0; i < n - 3; i++)
		assert_int_equal(nibble(dst, i), raw[i + 3]);
	tensor_close(file);
	free(raw);
	free(dst);
}

static void file_shrinks(void **state)
{
	int fd = memory_file((uint8_t[4096]){ 0 }, 4096);
	struct tensor_opts opts = { .type = NPU_TYPE_I8 };
	struct tensor_error err;
	struct tensor_file *file;
	uint8_t bytes[4096];
	struct tensor t;

	assert_int_equal(tensor_open_fd(&file, fd, "memory", TENSOR_FORMAT_RAW, &err), 0);
	assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), &opts, &err), 0);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(tensor_read(&t, 0, 100, bytes, &err), 0);
	assert_int_equal(tensor_read(&t, 0, 101, bytes, &err), -EIO);
	assert_has(&err, "became shorter");
	assert_int_equal(tensor_read(&t, 0, 4097, bytes, &err), -EINVAL);
	assert_int_equal(tensor_read(&t, 1, UINT64_MAX, bytes, &err), -EINVAL);
	tensor_close(file);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_shapes),
		cmocka_unit_test(large_shapes),
		cmocka_unit_test(many_dimensions),
		cmocka_unit_test(every_nibble_range),
		cmocka_unit_test(c19d_odd_raw_nibbles),
		cmocka_unit_test(unpacked),
		cmocka_unit_test(unpacked_large),
		cmocka_unit_test(file_shrinks),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL) * 0x9e3779b97f4a7c15ull;
	print_message("seed 0x%" PRIx64 "\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
