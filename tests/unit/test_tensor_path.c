// SPDX-License-Identifier: MIT
/* Names on the command line, and --type, --cols, --count against what the file says. */
#include "test_tensor.h"

static void parse(const char *arg, enum tensor_format forced, enum tensor_direction direction,
		  const char *file, const char *tensor, enum tensor_format format)
{
	struct tensor_error err;
	struct tensor_path path;

	if (tensor_path_parse(&path, arg, forced, direction, &err))
		fail_msg("%s", err.text);
	assert_string_equal(path.file, file);
	if (tensor)
		assert_string_equal(path.tensor, tensor);
	else
		assert_null(path.tensor);
	assert_int_equal(path.format, format);
	tensor_path_release(&path);
}

static void paths(void **state)
{
	struct tensor_error err;
	struct tensor_path path;
	FILE *f;

	parse("a.npy", TENSOR_FORMAT_AUTO, TENSOR_IN, "a.npy", NULL, TENSOR_FORMAT_NPY);
	parse("A.NPY", TENSOR_FORMAT_AUTO, TENSOR_IN, "A.NPY", NULL, TENSOR_FORMAT_NPY);
	parse("a.bin", TENSOR_FORMAT_AUTO, TENSOR_OUT, "a.bin", NULL, TENSOR_FORMAT_RAW);
	parse("a:b.bin", TENSOR_FORMAT_AUTO, TENSOR_OUT, "a:b.bin", NULL, TENSOR_FORMAT_RAW);
	parse("-", TENSOR_FORMAT_AUTO, TENSOR_IN, "-", NULL, TENSOR_FORMAT_RAW);
	parse("-", TENSOR_FORMAT_NPY, TENSOR_IN, "-", NULL, TENSOR_FORMAT_NPY);
	parse("d/m.safetensors", TENSOR_FORMAT_AUTO, TENSOR_IN, "d/m.safetensors", NULL,
	      TENSOR_FORMAT_SAFETENSORS);
	parse("d/m.safetensors:a/b:0", TENSOR_FORMAT_AUTO, TENSOR_IN, "d/m.safetensors", "a/b:0",
	      TENSOR_FORMAT_SAFETENSORS);
	parse("m.safetensors:w.npy", TENSOR_FORMAT_AUTO, TENSOR_OUT, "m.safetensors", "w.npy",
	      TENSOR_FORMAT_SAFETENSORS);
	parse("m.safetensors:x", TENSOR_FORMAT_RAW, TENSOR_IN, "m.safetensors:x", NULL,
	      TENSOR_FORMAT_RAW);
	parse("noending", TENSOR_FORMAT_RAW, TENSOR_IN, "noending", NULL, TENSOR_FORMAT_RAW);

	assert_int_equal(tensor_path_parse(&path, "noending", 0, TENSOR_IN, &err), -EINVAL);
	assert_has(&err, "--in-format");
	assert_int_equal(tensor_path_parse(&path, "noending", 0, TENSOR_OUT, &err), -EINVAL);
	assert_has(&err, "--out-format");
	assert_int_equal(tensor_path_parse(&path, "", 0, TENSOR_OUT, &err), -EINVAL);
	assert_int_equal(tensor_path_parse(&path, "m.safetensors:", 0, TENSOR_IN, &err), -EINVAL);
	assert_has(&err, "after the colon");

	/* Files that exist win over colons. */
	f = fopen("/tmp/npu-test-a.safetensors:b.npy", "w");
	assert_non_null(f);
	fclose(f);
	parse("/tmp/npu-test-a.safetensors:b.npy", TENSOR_FORMAT_AUTO, TENSOR_IN,
	      "/tmp/npu-test-a.safetensors:b.npy", NULL, TENSOR_FORMAT_NPY);
	parse("/tmp/npu-test-a.safetensors:b.npy:t:0", TENSOR_FORMAT_SAFETENSORS, TENSOR_IN,
	      "/tmp/npu-test-a.safetensors:b.npy", "t:0", TENSOR_FORMAT_SAFETENSORS);
	unlink("/tmp/npu-test-a.safetensors:b.npy");
}

static void formats(void **state)
{
	struct tensor_error err;
	enum tensor_format format;

	assert_int_equal(tensor_format_parse("safetensors", &format, &err), 0);
	assert_int_equal(format, TENSOR_FORMAT_SAFETENSORS);
	assert_int_equal(tensor_format_parse("auto", &format, &err), -EINVAL);
	assert_int_equal(tensor_format_parse("zip", &format, &err), -EINVAL);
	assert_has(&err, "'zip'");
}

static void opening(void **state)
{
	struct tensor_error err;
	struct tensor_file *file;
	char dir[] = "/tmp/npu-test-XXXXXX";

	assert_int_equal(tensor_open(&file, "/nonexistent/x.npy", 0, &err), -ENOENT);
	assert_has(&err, "/nonexistent/x.npy");
	assert_int_equal(tensor_open(&file, "x.txt", 0, &err), -EINVAL);
	assert_int_equal(tensor_open(&file, "/dev/zero", TENSOR_FORMAT_RAW, &err), -EINVAL);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(tensor_open(&file, dir, TENSOR_FORMAT_NPY, &err), -EISDIR);
	rmdir(dir);
	assert_int_equal(tensor_open_fd(&file, -1, "x", TENSOR_FORMAT_NPY, &err), -EBADF);
}

static void pipes_are_spooled(void **state)
{
	struct tensor_opts opts = { .type = NPU_TYPE_I16, .cols = 2 };
	int saved = dup(STDIN_FILENO);
	struct tensor_error err;
	struct tensor_file *file;
	struct tensor t;
	int16_t v[4];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "\1\0\2\0\3\0\4\0", 8), 8);
	close(fds[1]);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	assert_int_equal(tensor_open(&file, "-", TENSOR_FORMAT_AUTO, &err), 0);
	dup2(saved, STDIN_FILENO);
	close(saved);
	assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), &opts, &err), 0);
	assert_int_equal(t.ndim, 2);
	assert_int_equal(t.shape[0], 2);
	assert_int_equal(tensor_read(&t, 2, 2, v, &err), 0);
	assert_int_equal(v[0], 3);
	assert_int_equal(v[1], 4);
	tensor_close(file);
}

/* What tensor_bind() says of @type over an .npy or .safetensors element. */
static int bind_as(const char *dtype, unsigned int item, const struct tensor_opts *opts,
		   struct tensor *t, struct tensor_error *err)
{
	bool npy = !strpbrk(dtype, "BIFU");
	struct tensor_file *file;
	uint8_t data[64] = { 0 };
	char header[200];
	uint8_t *bytes;
	size_t size;
	int ret;

	err->text[0] = '\0';
	if (npy) {
		snprintf(header, sizeof(header),
			 "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3)}", dtype);
		bytes = make_npy(1, header, data, 6 * item, &size);
	} else {
		snprintf(header, sizeof(header),
			 "{\"x\":{\"dtype\":\"%s\",\"shape\":[2,3],\"data_offsets\":[0,%u]}}", dtype,
			 6 * item);
		bytes = make_safetensors(header, 6 * item, &size);
	}
	ret = open_bytes(&file, bytes, size,
			 npy ? TENSOR_FORMAT_NPY : TENSOR_FORMAT_SAFETENSORS, err);
	free(bytes);
	if (ret)
		fail_msg("%s", err->text);
	ret = tensor_bind(t, file, tensor_file_info(file, 0), opts, err);
	if (!ret)
		assert_int_equal(tensor_read(t, 0, t->elements, data, err), 0);
	tensor_close(file);
	return ret;
}

static void types_over_files(void **state)
{
	static const struct {
		const char *dtype;
		unsigned int item;
		const char *type;	/* NULL: none given */
		int ret;
	} rows[] = {
		{ "<u2", 2, "bf16", 0 }, { "<u2", 2, "i16", 0 }, { ">u2", 2, "bf16", 0 },
		{ "|V2", 2, "bf16", 0 }, { "|V2", 2, NULL, -EINVAL }, { "<u2", 2, NULL, 0 },
		{ "|u1", 1, "f8e4m3", 0 }, { "|V1", 1, "f8e5m2", 0 }, { "|u1", 1, "i4", 0 },
		{ "|V1", 1, "f4e2m1", 0 }, { "|u1", 1, "i8", 0 }, { "|u1", 1, "bf16", -EINVAL },
		{ "<u2", 2, "f32", -EINVAL }, { "<u2", 2, "i8", -EINVAL },
		{ "<u2", 2, "i4", -EINVAL }, { "<f4", 4, "f32", 0 }, { "<f4", 4, "bf16", -EINVAL },
		{ "<f4", 4, "i32", -EINVAL }, { "<i2", 2, "bf16", -EINVAL },
		{ "|i1", 1, "f8e4m3", -EINVAL }, { "|i1", 1, "i4", -EINVAL },
		{ "<u4", 4, "f32", -EINVAL }, { "<u4", 4, "u32", 0 }, { "<f2", 2, "bf16", -ENOTSUP },
		{ "<f2", 2, NULL, -ENOTSUP }, { "<i8", 8, NULL, -ENOTSUP },
		{ "<f8", 8, "f32", -ENOTSUP }, { "|b1", 1, "i8", -ENOTSUP },
		{ "U8", 1, "f8e4m3", 0 }, { "U8", 1, "i4", 0 }, { "I8", 1, "f8e4m3", 0 },
		{ "I8", 1, "f4e2m1", 0 }, { "I8", 1, NULL, 0 }, { "U16", 2, "bf16", 0 },
		{ "I16", 2, "bf16", -EINVAL }, { "BF16", 2, "bf16", 0 },
		{ "BF16", 2, "i16", -EINVAL }, { "F8_E4M3", 1, "f8e5m2", -EINVAL },
		{ "F8_E8M0", 1, "f8e4m3", -ENOTSUP }, { "F16", 2, "bf16", -ENOTSUP },
		{ "BOOL", 1, "u8", -ENOTSUP }, { "F8_NEW", 1, "f8e4m3", -ENOTSUP },
	};
	struct tensor_error err;
	struct tensor t;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tensor_opts opts = { 0 };
		int ret;

		if (rows[i].type)
			opts.type = npu_type_parse(rows[i].type);
		ret = bind_as(rows[i].dtype, rows[i].item, &opts, &t, &err);
		if (ret != rows[i].ret)
			fail_msg("%s as %s: %d %s", rows[i].dtype, rows[i].type, ret, err.text);
		if (ret)
			assert_has(&err, rows[i].dtype);
		if (ret == -EINVAL && rows[i].type)
			assert_has(&err, rows[i].type);
		if (!ret)
			assert_int_equal(t.shape[1], npu_type_bits(t.type) == 4 ? 6 : 3);
	}
}

static void options_that_cannot_be(void **state)
{
	struct tensor_opts opts = { .type = NPU_TYPE_F32, .unpacked = true };
	struct tensor_error err;
	struct tensor t;

	assert_int_equal(bind_as("<f4", 4, &opts, &t, &err), -EINVAL);
	assert_has(&err, "--unpacked");
	opts = (struct tensor_opts){ .nibble_high = true };
	assert_int_equal(bind_as("<f4", 4, &opts, &t, &err), -EINVAL);
	assert_has(&err, "--nibble-order");
	opts = (struct tensor_opts){ .type = NPU_TYPE_I4, .nibble_high = true, .unpacked = true };
	assert_int_equal(bind_as("|u1", 1, &opts, &t, &err), -EINVAL);
	opts = (struct tensor_opts){ .cols = 3 };
	assert_int_equal(bind_as("<f4", 4, &opts, &t, &err), -EINVAL);
	assert_has(&err, "--cols");
	opts = (struct tensor_opts){ .has_count = true };
	assert_int_equal(bind_as("<f4", 4, &opts, &t, &err), -EINVAL);
	assert_has(&err, "--count");
	opts = (struct tensor_opts){ .type = NPU_TYPE_I9 };
	assert_int_equal(bind_as("|u1", 1, &opts, &t, &err), -EINVAL);
	opts = (struct tensor_opts){ .type = 1000 };
	assert_int_equal(bind_as("|u1", 1, &opts, &t, &err), -EINVAL);
	opts = (struct tensor_opts){ .type = NPU_TYPE_I4, .unpacked = true };
	assert_int_equal(bind_as("|i1", 1, &opts, &t, &err), 0);
	assert_int_equal(t.shape[1], 3);
}

static void raw_shapes(void **state)
{
	struct tensor_opts opts = { 0 };
	struct tensor_error err;
	struct tensor_file *file;
	struct tensor t;
	uint8_t raw[12] = { 0 };

	assert_int_equal(open_bytes(&file, raw, 10, TENSOR_FORMAT_RAW, &err), 0);
	assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), &opts, &err), -EINVAL);
	assert_has(&err, "--type");
	opts.type = NPU_TYPE_F32;
	assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), &opts, &err), -EBADMSG);
	opts.type = NPU_TYPE_BF16;
	opts.cols = 5;
	assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), &opts, &err), 0);
	assert_int_equal(t.shape[0], 1);
	assert_int_equal(t.shape[1], 5);
	opts.cols = 4;
	assert_int_equal(tensor_bind(&t, file, tensor_file_info(file, 0), &opts, &err), -EINVAL);
	assert_has(&err, "rows");
	tensor_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(formats),
		cmocka_unit_test(opening),
		cmocka_unit_test(pipes_are_spooled),
		cmocka_unit_test(types_over_files),
		cmocka_unit_test(options_that_cannot_be),
		cmocka_unit_test(raw_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
