// SPDX-License-Identifier: MIT
/* Case C21, the versions of .npy, and every way in which a header can be wrong. */
#include "test_tensor.h"

static void read_case(const char *path, uint32_t type, unsigned int ndim, const void *want,
		      size_t bytes)
{
	struct tensor_error err;
	struct tensor_file *file;
	uint8_t read[64];
	struct tensor t;

	file = bind_file(&t, path, NULL, NULL);
	assert_int_equal(t.type, type);
	assert_int_equal(t.ndim, ndim);
	assert_int_equal(t.bytes, bytes);
	assert_int_equal(tensor_read(&t, 0, t.elements, read, &err), 0);
	if (bytes)
		assert_memory_equal(read, want, bytes);
	tensor_close(file);
}

static void c21(void **state)
{
	static const int16_t a[] = { 1, 2, 3, 4, 5, 6 };
	static const float b[] = { 1, -2.5f, 0.0078125f };
	static const int16_t f[] = { 1, -2, 256 };
	static const float c[] = { 1.5f };

	read_case(CASES "c21a_fortran_i2_2x3.npy", NPU_TYPE_I16, 2, a, sizeof(a));
	read_case(CASES "c21b_bigendian_f4.npy", NPU_TYPE_F32, 1, b, sizeof(b));
	read_case(CASES "c21c_scalar_f4.npy", NPU_TYPE_F32, 0, c, sizeof(c));
	read_case(CASES "c21d_empty_f4.npy", NPU_TYPE_F32, 1, NULL, 0);
	read_case(CASES "c21e_empty3d_f4.npy", NPU_TYPE_F32, 3, NULL, 0);
	read_case(CASES "c21f_bigendian_i2.npy", NPU_TYPE_I16, 1, f, sizeof(f));
}

#define DICT(descr, fortran, shape) \
	"{'descr': " descr ", 'fortran_order': " fortran ", 'shape': " shape ", }\n"

static int open_npy(struct tensor_file **file, int version, const char *dict, size_t data_bytes,
		    struct tensor_error *err)
{
	uint8_t data[64] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	size_t size;
	uint8_t *bytes = make_npy(version, dict, data, data_bytes, &size);
	int ret;

	err->text[0] = '\0';
	ret = open_bytes(file, bytes, size, TENSOR_FORMAT_NPY, err);
	free(bytes);
	return ret;
}

/* What numpy and its imitators write. */
static void accepted(void **state)
{
	static const struct {
		int version;
		const char *dict;
		size_t data;
		const char *type_name;
		uint32_t type;
	} files[] = {
		{ 1, DICT("'<f4'", "False", "(2,)"), 8, "f32", NPU_TYPE_F32 },
		{ 2, DICT("'<f4'", "False", "(2,)"), 8, "f32", NPU_TYPE_F32 },
		{ 3, DICT("'<f4'", "False", "(2,)"), 8, "f32", NPU_TYPE_F32 },
		{ 1, "{\"shape\":(2L,1L),\"fortran_order\":True,\"descr\":\"=i4\"}", 8, "i32",
		  NPU_TYPE_I32 },
		{ 1, "{'descr':'i1','fortran_order':False,'shape':( 2 , 4 , )}   \n", 8, "i8",
		  NPU_TYPE_I8 },
		{ 1, DICT("'|V2'", "False", "(4,)"), 8, "V2", NPU_TYPE_NONE },
		{ 1, DICT("'|u1'", "False", "(8,)"), 8, "u8", NPU_TYPE_U8 },
		{ 1, DICT("'>u2'", "False", "(4,)"), 8, "u16", NPU_TYPE_U16 },
		{ 1, DICT("'<u4'", "False", "(2,)"), 8, "u32", NPU_TYPE_U32 },
		{ 1, DICT("'<f2'", "False", "(4,)"), 8, "f16", NPU_TYPE_NONE },
		{ 1, DICT("'<f8'", "False", "()"), 8, "f64", NPU_TYPE_NONE },
		{ 1, DICT("'<i8'", "False", "(1,)"), 8, "i64", NPU_TYPE_NONE },
		{ 1, DICT("'<c8'", "False", "(1,)"), 8, "c64", NPU_TYPE_NONE },
		{ 1, DICT("'|b1'", "False", "(8,)"), 8, "bool", NPU_TYPE_NONE },
		{ 1, DICT("'<U1'", "False", "(2,)"), 8, "U1", NPU_TYPE_NONE },
		{ 1, DICT("'|S4'", "False", "(2,)"), 8, "S4", NPU_TYPE_NONE },
		{ 1, DICT("'<M8[ns]'", "False", "(1,)"), 8, "M8[ns]", NPU_TYPE_NONE },
		{ 1, DICT("'|S0'", "False", "(7,)"), 0, "S0", NPU_TYPE_NONE },
	};
	struct tensor_error err;
	struct tensor_file *file;
	struct tensor t;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct tensor_info *info;
		int ret = open_npy(&file, files[i].version, files[i].dict, files[i].data, &err);

		if (ret)
			fail_msg("%s: %s", files[i].dict, err.text);
		info = tensor_file_info(file, 0);
		assert_string_equal(info->type_name, files[i].type_name);
		assert_int_equal(info->type, files[i].type);
		assert_int_equal(info->bytes, files[i].data);
		ret = tensor_bind(&t, file, info, NULL, &err);
		if (files[i].type != NPU_TYPE_NONE)
			assert_int_equal(ret, 0);
		else
			assert_int_equal(ret, info->width_only ? -EINVAL : -ENOTSUP);
		if (ret)
			assert_has(&err, info->dtype);
		tensor_close(file);
	}
}

static void refused(void **state)
{
	static const struct {
		int version;
		const char *dict;
		size_t data;
		int error;
		const char *message;
	} files[] = {
		{ 4, DICT("'<f4'", "False", "(2,)"), 8, ENOTSUP, "version 4.0" },
		{ 1, "", 0, EBADMSG, "dictionary" },
		{ 1, "[]", 0, EBADMSG, "dictionary" },
		{ 1, "{", 0, EBADMSG, "string was expected" },
		{ 1, "{}", 0, EBADMSG, "missing" },
		{ 1, "{'descr': '<f4', 'shape': (2,)}", 8, EBADMSG, "missing" },
		{ 1, "{'descr': '<f4' 'shape': (2,)}", 8, EBADMSG, "comma" },
		{ 1, "{'descr' '<f4'}", 8, EBADMSG, "colon" },
		{ 1, "{'descr': '<f4', 'descr': '<f4'}", 8, EBADMSG, "twice" },
		{ 1, "{'descr': '<f4', 'colour': 1}", 8, EBADMSG, "a key other than" },
		{ 1, "{'descr': '<f4", 8, EBADMSG, "without an end" },
		{ 1, "{'descr': '<f\\x34'}", 8, EBADMSG, "does not belong" },
		{ 1, "{'descr': 4}", 8, EBADMSG, "string was expected" },
		{ 1, DICT("'<f4'", "false", "(2,)"), 8, EBADMSG, "neither True" },
		{ 1, DICT("'<f4'", "0", "(2,)"), 8, EBADMSG, "neither True" },
		{ 1, DICT("'<f4'", "Falsehood", "(2,)"), 8, EBADMSG, "neither True" },
		{ 1, DICT("'<f4'", "False", "(2)"), 8, EBADMSG, "not a tuple" },
		{ 1, DICT("'<f4'", "False", "[2]"), 8, EBADMSG, "not a tuple" },
		{ 1, DICT("'<f4'", "False", "2"), 8, EBADMSG, "not a tuple" },
		{ 1, DICT("'<f4'", "False", "(,)"), 8, EBADMSG, "dimension was expected" },
		{ 1, DICT("'<f4'", "False", "(2,,1)"), 8, EBADMSG, "dimension was expected" },
		{ 1, DICT("'<f4'", "False", "(2 1)"), 8, EBADMSG, "comma" },
		{ 1, DICT("'<f4'", "False", "(-2,)"), 8, EBADMSG, "dimension was expected" },
		{ 1, DICT("'<f4'", "False", "(02,)"), 8, EBADMSG, "leading zero" },
		{ 1, DICT("'<f4'", "False", "(2.0,)"), 8, EBADMSG, "comma" },
		{ 1, DICT("'<f4'", "False", "(9223372036854775808,)"), 8, EBADMSG, "2^63" },
		{ 1, DICT("'<f4'", "False", "(99999999999999999999,)"), 8, EBADMSG, "2^63" },
		{ 1, DICT("'<f4'", "False", "(4294967296,4294967296)"), 8, EBADMSG, "2^63" },
		{ 1, DICT("'<f4'", "False", "(4294967296,0,4294967296)"), 0, EBADMSG, "2^63" },
		{ 1, DICT("'<f4'", "False", "(9223372036854775807,)"), 8, EBADMSG, "2^63" },
		{ 1, DICT("'<f4'", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
		       "1,1,1,1,1,1,1,1,1)"), 4, ENOTSUP, "32 dimensions" },
		{ 1, DICT("'<f4'", "False", "(2,)") "x", 8, EBADMSG, "follows the dictionary" },
		{ 1, DICT("'<f4'", "False", "(2,)"), 7, EBADMSG, "truncated" },
		{ 1, DICT("'<f4'", "False", "(2,)"), 9, EBADMSG, "1 bytes follow" },
		{ 1, DICT("'<f4'", "False", "(3,)"), 8, EBADMSG, "truncated" },
		{ 1, DICT("'|O'", "False", "(1,)"), 8, ENOTSUP, "objects" },
		{ 1, DICT("'O'", "False", "(1,)"), 8, ENOTSUP, "objects" },
		{ 1, DICT("[('a', '<f4'), ('b', '<i4')]", "False", "(1,)"), 8, ENOTSUP,
		  "structured dtype" },
		{ 1, DICT("'<x4'", "False", "(2,)"), 8, EBADMSG, "'<x4'" },
		{ 1, DICT("''", "False", "(2,)"), 8, EBADMSG, "not a dtype" },
		{ 1, DICT("'<f'", "False", "(2,)"), 8, EBADMSG, "not a dtype" },
		{ 1, DICT("'<f4x'", "False", "(2,)"), 8, EBADMSG, "not a dtype" },
		{ 1, DICT("'<<f4'", "False", "(2,)"), 8, EBADMSG, "not a dtype" },
		{ 1, DICT("'<f99999999999999999999'", "False", "(2,)"), 8, EBADMSG, "not a dtype" },
	};
	struct tensor_error err;
	struct tensor_file *file;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int ret = open_npy(&file, files[i].version, files[i].dict, files[i].data, &err);

		if (ret != -files[i].error)
			fail_msg("%s: %d %s", files[i].dict, ret, err.text);
		assert_has(&err, "memory: ");
		assert_has(&err, files[i].message);
	}
}

/* A file may end anywhere. */
static void every_truncation(void **state)
{
	static const float data[] = { 1, 2 };
	struct tensor_error err;
	struct tensor_file *file;

	for (int version = 1; version <= 3; version++) {
		size_t size;
		uint8_t *bytes = make_npy(version, DICT("'<f4'", "False", "(2,)"), data,
					  sizeof(data), &size);

		for (size_t n = 0; n < size; n++)
			assert_int_equal(open_bytes(&file, bytes, n, TENSOR_FORMAT_NPY, &err),
					 -EBADMSG);
		assert_int_equal(open_bytes(&file, bytes, size, TENSOR_FORMAT_NPY, &err), 0);
		tensor_close(file);
		free(bytes);
	}
}

static void header_limits(void **state)
{
	static const uint8_t huge[16] = "\x93NUMPY\x02\x00\xff\xff\xff\xff{}";
	size_t n = 1024 * 1024 + 1;
	char *dict = malloc(n + 1);
	struct tensor_error err;
	struct tensor_file *file;

	assert_int_equal(open_bytes(&file, huge, sizeof(huge), TENSOR_FORMAT_NPY, &err), -EBADMSG);
	assert_has(&err, "4294967295");
	assert_non_null(dict);
	memset(dict, ' ', n);
	dict[n] = '\0';
	assert_int_equal(open_npy(&file, 2, dict, 0, &err), -EBADMSG);
	assert_has(&err, "limit");
	free(dict);
}

static void one_nameless_tensor(void **state)
{
	const struct tensor_info *info;
	struct tensor_error err;
	struct tensor_file *file;

	assert_int_equal(open_npy(&file, 1, DICT("'<f4'", "False", "(2,)"), 8, &err), 0);
	assert_int_equal(tensor_find(file, NULL, &info, &err), 0);
	assert_int_equal(tensor_find(file, "x", &info, &err), -EINVAL);
	tensor_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c21),
		cmocka_unit_test(accepted),
		cmocka_unit_test(refused),
		cmocka_unit_test(every_truncation),
		cmocka_unit_test(header_limits),
		cmocka_unit_test(one_nameless_tensor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
