// SPDX-License-Identifier: MIT
/* Cases C19 and C23, and every way in which a .safetensors file can be wrong. */
#include "test_tensor.h"

static int bind_case(const char *path, const char *name, struct tensor_error *err)
{
	const struct tensor_info *info;
	struct tensor_file *file;
	struct tensor t;
	int ret;

	ret = tensor_open(&file, path, TENSOR_FORMAT_AUTO, err);
	if (ret)
		return ret;
	ret = tensor_find(file, name, &info, err);
	if (!ret)
		ret = tensor_bind(&t, file, info, NULL, err);
	tensor_close(file);
	return ret;
}

static void c19_f4(void **state)
{
	struct tensor_error err;
	struct tensor_file *file;
	uint8_t bytes[4] = { 0 };
	struct tensor t;

	file = bind_file(&t, CASES "c19a_f4_shape3_2bytes.safetensors", NULL, NULL);
	assert_int_equal(t.type, NPU_TYPE_F4E2M1);
	assert_int_equal(t.elements, 3);
	assert_int_equal(t.bytes, 2);
	assert_int_equal(tensor_read(&t, 0, 3, bytes, &err), 0);
	/* The fourth nibble is in the file, but is no element. */
	assert_memory_equal(bytes, "\x21\x03\0\0", 4);
	tensor_close(file);

	assert_int_equal(bind_case(CASES "c19b_f4_shape3_1byte.safetensors", NULL, &err), -EBADMSG);
	assert_has(&err, "c19b_f4_shape3_1byte.safetensors: tensor 'w'");
	assert_has(&err, "need 2 bytes");

	file = bind_file(&t, CASES "c19c_f4_shape2x3.safetensors", "w", NULL);
	assert_int_equal(t.ndim, 2);
	assert_int_equal(t.shape[1], 3);
	assert_int_equal(tensor_read(&t, 0, 6, bytes, &err), 0);
	assert_memory_equal(bytes, "\x21\x43\x65", 3);
	assert_int_equal(tensor_read(&t, 3, 3, bytes, &err), 0);
	assert_memory_equal(bytes, "\x54\x06", 2);
	tensor_close(file);
}

static void c23_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "c23a_len_all_ones", "runs past the end" },
		{ "c23b_len_past_end", "runs past the end" },
		{ "c23c_len_zero", "length is 0" },
		{ "c23d_seven_bytes", "7 bytes" },
		{ "c23e_trailing_unindexed", "no tensor covers the last 8 bytes" },
		{ "c23h_len_132095296", "132095296" },
		{ "c23i_truncated_data", "ends at byte 4" },
		{ "c23k_len_max_minus7", "runs past the end" },
	};
	struct tensor_error err;
	char path[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(path, sizeof(path), CASES "%s.safetensors", cases[i][0]);
		assert_int_equal(bind_case(path, NULL, &err), -EBADMSG);
		assert_has(&err, cases[i][0]);
		assert_has(&err, cases[i][1]);
	}
}

static void c23_unknown_dtypes(void **state)
{
	struct tensor_error err;

	assert_int_equal(bind_case(CASES "c23g_dtype_unknown.safetensors", "x", &err), -ENOTSUP);
	assert_has(&err, "F8_E4M3FN");
	assert_int_equal(bind_case(CASES "c23j_dtype_f8_e8m0.safetensors", "x", &err), -ENOTSUP);
	assert_has(&err, "F8_E8M0");
}

static void c23f_scalar_and_empty(void **state)
{
	struct tensor_error err;
	struct tensor_file *file;
	uint8_t bytes[2];
	struct tensor t;

	file = bind_file(&t, CASES "c23f_valid_meta_scalar_empty.safetensors", "s", NULL);
	assert_int_equal(tensor_file_count(file), 3);
	assert_int_equal(t.ndim, 0);
	assert_int_equal(t.elements, 1);
	assert_int_equal(tensor_read(&t, 0, 1, bytes, &err), 0);
	assert_memory_equal(bytes, "\xc0\x3f", 2);
	for (size_t i = 0; i < 3; i++) {
		const struct tensor_info *info = tensor_file_info(file, i);

		if (!strcmp(info->name, "s"))
			continue;
		assert_int_equal(tensor_bind(&t, file, info, NULL, &err), 0);
		assert_int_equal(t.elements, 0);
		assert_int_equal(tensor_read(&t, 0, 0, bytes, &err), 0);
		assert_int_equal(tensor_read(&t, 0, 1, bytes, &err), -EINVAL);
	}
	/* Three tensors, none named. */
	assert_int_equal(bind_case(CASES "c23f_valid_meta_scalar_empty.safetensors", NULL, &err),
			 -EINVAL);
	assert_has(&err, "empty");
	assert_int_equal(bind_case(CASES "c23f_valid_meta_scalar_empty.safetensors", "t", &err),
			 -ENOENT);
	assert_has(&err, "'t'");
	tensor_close(file);
}

#define ENTRY(dtype, shape, offsets) \
	"{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const struct malformed {
	const char *json;
	size_t data;
	const char *message;
} malformed[] = {
	{ " {}", 0, "'{'" },
	{ "[]", 0, "'{'" },
	{ "{", 0, "JSON" },
	{ "{}}", 0, "JSON" },
	{ "{\"\\u0000\":1}", 0, "JSON" },
	{ "{\"\xff\":1}", 0, "JSON" },
	{ "{}", 1, "last 1 bytes" },
	{ "{\"x\":1}", 0, "not an object" },
	{ "{\"x\":{}}", 0, "'dtype'" },
	{ "{\"x\":{\"dtype\":1}}", 0, "'dtype'" },
	{ "{\"x\":{\"dtype\":\"I8\",\"shape\":3}}", 0, "'shape'" },
	{ "{\"x\":{\"dtype\":\"I8\",\"shape\":[3]}}", 0, "'data_offsets'" },
	{ "{\"x\":" ENTRY("I8", "[3]", "[0]") "}", 3, "natural" },
	{ "{\"x\":" ENTRY("I8", "[3]", "[0,3,3]") "}", 3, "natural" },
	{ "{\"x\":" ENTRY("I8", "[3]", "[0,3.0]") "}", 3, "natural" },
	{ "{\"x\":" ENTRY("I8", "[3]", "[-1,2]") "}", 3, "natural" },
	{ "{\"x\":" ENTRY("I8", "[3]", "[3,0]") "}", 3, "natural" },
	{ "{\"x\":" ENTRY("I8", "[3]", "[\"0\",3]") "}", 3, "natural" },
	{ "{\"x\":" ENTRY("I8", "[-3]", "[0,3]") "}", 3, "natural" },
	{ "{\"x\":" ENTRY("I8", "[3.0]", "[0,3]") "}", 3, "natural" },
	{ "{\"x\":" ENTRY("I8", "[null]", "[0,3]") "}", 3, "natural" },
	{ "{\"x\":" ENTRY("I8", "[true]", "[0,1]") "}", 1, "natural" },
	{ "{\"x\":" ENTRY("I8", "[4]", "[0,3]") "}", 3, "need 4 bytes" },
	{ "{\"x\":" ENTRY("I8", "[2]", "[0,3]") "}", 3, "need 2 bytes" },
	{ "{\"x\":" ENTRY("F4", "[3]", "[0,3]") "}", 3, "need 2 bytes" },
	{ "{\"x\":" ENTRY("F6_E2M3", "[4]", "[0,4]") "}", 4, "need 3 bytes" },
	{ "{\"x\":" ENTRY("I64", "[1]", "[0,4]") "}", 4, "need 8 bytes" },
	{ "{\"x\":" ENTRY("I8", "[3]", "[1,4]") "}", 4, "no tensor covers the 1 bytes before" },
	{ "{\"x\":" ENTRY("I8", "[18446744073709551616]", "[0,3]") "}", 3, "JSON" },
	{ "{\"x\":" ENTRY("I8", "[9223372036854775807,3]", "[0,3]") "}", 3, "2^63" },
	{ "{\"x\":" ENTRY("I8", "[4294967296,4294967296]", "[0,0]") "}", 0, "2^63" },
	{ "{\"x\":" ENTRY("F32", "[4611686018427387904]", "[0,0]") "}", 0, "2^64 bits" },
	{ "{\"x\":" ENTRY("I8", "[0,4294967296,4294967296]", "[0,0]") "}", 0, "2^63" },
	{ "{\"x\":" ENTRY("I8", "[2]", "[0,2]") ",\"x\":" ENTRY("I8", "[2]", "[0,2]") "}", 2,
	  "duplicate" },
	{ "{\"x\":" ENTRY("I8", "[2]", "[0,2]") ",\"y\":" ENTRY("I8", "[2]", "[0,2]") "}", 2,
	  "overlaps" },
	{ "{\"x\":" ENTRY("I8", "[2]", "[0,2]") ",\"y\":" ENTRY("I8", "[2]", "[1,3]") "}", 3,
	  "overlaps" },
	{ "{\"x\":" ENTRY("I8", "[2]", "[0,2]") ",\"y\":" ENTRY("I8", "[2]", "[3,5]") "}", 5,
	  "no tensor covers the 1 bytes before" },
	{ "{\"x\":" ENTRY("I8", "[2]", "[0,2]") ",\"y\":" ENTRY("I8", "[0]", "[1,1]") "}", 2,
	  "overlaps" },
	{ "{\"x\":{\"dtype\":\"I8\",\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0,
	  "duplicate" },
	{ "{\"__metadata__\":[]}", 0, "__metadata__" },
	{ "{\"__metadata__\":{\"a\":1}}", 0, "__metadata__" },
	{ "{\"a\\u001b[2J\":1}", 0, "'a?[2J'" },
};

static void malformed_headers(void **state)
{
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		const struct malformed *m = &malformed[i];
		struct tensor_error err = { "" };
		struct tensor_file *file;
		size_t size;
		uint8_t *bytes = make_safetensors(m->json, m->data, &size);
		int ret = open_bytes(&file, bytes, size, TENSOR_FORMAT_SAFETENSORS, &err);

		if (ret != -EBADMSG)
			fail_msg("%s: %d %s", m->json, ret, err.text);
		assert_null(file);
		assert_has(&err, "memory: ");
		assert_has(&err, m->message);
		free(bytes);
	}
}

/* Deep nesting and long names must neither overflow a stack nor a message. */
static void large_headers(void **state)
{
	size_t n = 3 * 1024 * 1024;
	char *json = malloc(n + 1);
	struct tensor_error err;
	struct tensor_file *file;
	uint8_t *bytes;
	size_t size;

	assert_non_null(json);
	memset(json, '[', n);
	memcpy(json, "{\"x\":", 5);
	json[n] = '\0';
	bytes = make_safetensors(json, 0, &size);
	assert_int_equal(open_bytes(&file, bytes, size, TENSOR_FORMAT_SAFETENSORS, &err), -EBADMSG);
	free(bytes);

	memset(json, 'n', n);
	memcpy(json, "{\"", 2);
	memcpy(json + n - 5, "\":{}}", 5);
	bytes = make_safetensors(json, 0, &size);
	assert_int_equal(open_bytes(&file, bytes, size, TENSOR_FORMAT_SAFETENSORS, &err), -EBADMSG);
	assert_has(&err, "'dtype'");
	free(bytes);
	free(json);
}

static void order_of_offsets_is_free(void **state)
{
	static const char json[] =
		"{\"b\":" ENTRY("U8", "[2,1]", "[2,4]") ",\"z\":" ENTRY("I8", "[0]", "[2,2]")
		",\"a\":" ENTRY("I16", "[1]", "[0,2]") ",\"c\":" ENTRY("BOOL", "[]", "[4,5]") "}  ";
	const struct tensor_info *info;
	struct tensor_error err;
	struct tensor_file *file;
	uint8_t *bytes, read[2];
	struct tensor t;
	size_t size;

	bytes = make_safetensors(json, 5, &size);
	assert_int_equal(open_bytes(&file, bytes, size, TENSOR_FORMAT_SAFETENSORS, &err), 0);
	assert_int_equal(tensor_file_count(file), 4);
	assert_string_equal(tensor_file_info(file, 0)->name, "b");
	assert_int_equal(tensor_find(file, "b", &info, &err), 0);
	assert_int_equal(info->offset, 8 + strlen(json) + 2);
	assert_int_equal(tensor_bind(&t, file, info, NULL, &err), 0);
	assert_int_equal(t.type, NPU_TYPE_U8);
	assert_int_equal(tensor_read(&t, 0, 2, read, &err), 0);
	assert_memory_equal(read, "\x02\x03", 2);
	assert_int_equal(tensor_find(file, "c", &info, &err), 0);
	assert_string_equal(info->type_name, "bool");
	assert_int_equal(tensor_bind(&t, file, info, NULL, &err), -ENOTSUP);
	assert_has(&err, "BOOL");
	tensor_close(file);
	free(bytes);
}

static void no_tensors(void **state)
{
	const struct tensor_info *info;
	struct tensor_error err;
	struct tensor_file *file;
	uint8_t *bytes;
	size_t size;

	bytes = make_safetensors("{}", 0, &size);
	assert_int_equal(open_bytes(&file, bytes, size, TENSOR_FORMAT_SAFETENSORS, &err), 0);
	assert_int_equal(tensor_find(file, NULL, &info, &err), -ENOENT);
	tensor_close(file);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c19_f4),
		cmocka_unit_test(c23_refused),
		cmocka_unit_test(c23_unknown_dtypes),
		cmocka_unit_test(c23f_scalar_and_empty),
		cmocka_unit_test(malformed_headers),
		cmocka_unit_test(large_headers),
		cmocka_unit_test(order_of_offsets_is_free),
		cmocka_unit_test(no_tensors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
