// SPDX-License-Identifier: MIT
/* What is written can be read again; what is not finished leaves nothing. */
#include "test_tensor.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char dir[64];
static bool no_tmpfile;

/* Stands in for the C library's, to be a file system that has no nameless files. */
int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (no_tmpfile && flags & __O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static const char *in_dir(const char *name)
{
	static char path[2][400];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static int setup(void **state)
{
	no_tmpfile = false;
	snprintf(dir, sizeof(dir), "/tmp/npu-test-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int setup_named(void **state)
{
	int ret = setup(state);

	no_tmpfile = true;
	return ret;
}

static unsigned int entries(void)
{
	DIR *d = opendir(dir);
	unsigned int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static int teardown(void **state)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while ((e = readdir(d)))
		unlink(in_dir(e->d_name));
	closedir(d);
	return rmdir(dir);
}

static int write_file(const char *path, const struct tensor_spec *spec, const void *data,
		      size_t bytes, struct tensor_error *err)
{
	struct tensor_writer *w;
	int ret = tensor_create(&w, path, TENSOR_FORMAT_AUTO, spec, err);

	if (ret)
		return ret;
	/* In two pieces. */
	ret = tensor_write(w, data, bytes / 2, err);
	if (!ret)
		ret = tensor_write(w, (const uint8_t *)data + bytes / 2, bytes - bytes / 2, err);
	if (!ret)
		return tensor_commit(w, err);
	tensor_abort(w);
	return ret;
}

static const struct {
	uint32_t type;
	const char *npy;
	const char *safetensors;
} types[] = {
	{ NPU_TYPE_I4, "|u1", "U8" },	     { NPU_TYPE_I8, "|i1", "I8" },
	{ NPU_TYPE_I16, "<i2", "I16" },	     { NPU_TYPE_I32, "<i4", "I32" },
	{ NPU_TYPE_U8, "|u1", "U8" },	     { NPU_TYPE_U16, "<u2", "U16" },
	{ NPU_TYPE_U32, "<u4", "U32" },	     { NPU_TYPE_F4E2M1, "|u1", "F4" },
	{ NPU_TYPE_F8E4M3, "|u1", "F8_E4M3" }, { NPU_TYPE_F8E5M2, "|u1", "F8_E5M2" },
	{ NPU_TYPE_BF16, "<u2", "BF16" },    { NPU_TYPE_F32, "<f4", "F32" },
};

static void round_trip(const char *path, uint32_t type, const char *dtype, unsigned int ndim,
		       const uint64_t *shape)
{
	struct tensor_spec spec = { .type = type, .ndim = ndim, .shape = shape,
				    .name = "a \"quoted\" \xc3\xa4/name:0" };
	struct tensor_opts opts = { .type = type };
	uint8_t data[256], read[256];
	struct tensor_error err;
	struct tensor_file *file;
	struct tensor t;
	uint64_t n = 1;
	size_t bytes;

	for (unsigned int i = 0; i < ndim; i++)
		n *= shape[i];
	bytes = npu_type_bytes(type, n);
	for (size_t i = 0; i < bytes; i++)
		data[i] = i * 37 + 1;
	if (write_file(path, &spec, data, bytes, &err))
		fail_msg("%s", err.text);
	file = bind_file(&t, path, NULL, &opts);
	assert_string_equal(t.info->dtype, dtype);
	assert_int_equal(t.ndim, ndim);
	for (unsigned int i = 0; i < ndim; i++)
		assert_int_equal(t.shape[i], shape[i]);
	assert_int_equal(tensor_read(&t, 0, t.elements, read, &err), 0);
	assert_memory_equal(read, data, bytes);
	if (*t.info->name)
		assert_string_equal(t.info->name, spec.name);
	tensor_close(file);
}

static void every_type(void **state)
{
	static const uint64_t shape[] = { 3, 1, 6 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (unsigned int ndim = 1; ndim <= 3; ndim++) {
			const uint64_t *s = shape + 3 - ndim;

			round_trip(in_dir("x.npy"), types[i].type, types[i].npy, ndim, s);
			round_trip(in_dir("x.safetensors"), types[i].type, types[i].safetensors,
				   ndim, s);
		}
	}
	round_trip(in_dir("x.npy"), NPU_TYPE_F32, "<f4", 0, NULL);
	round_trip(in_dir("x.safetensors"), NPU_TYPE_BF16, "BF16", 0, NULL);
	round_trip(in_dir("x.npy"), NPU_TYPE_I8, "|i1", 2, (uint64_t[]){ 0, 3 });
	round_trip(in_dir("x.safetensors"), NPU_TYPE_F4E2M1, "F4", 2, (uint64_t[]){ 3, 5 });
}

/* The bytes of a file, as numpy would write them. */
static void npy_header_bytes(void **state)
{
	struct tensor_spec spec = { .type = NPU_TYPE_F32, .ndim = 1, .shape = (uint64_t[]){ 1 } };
	struct tensor_error err;
	char text[256] = "";
	int fd;

	assert_int_equal(write_file(in_dir("h.npy"), &spec, "abcd", 4, &err), 0);
	fd = open(in_dir("h.npy"), O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text)), 132);
	close(fd);
	assert_memory_equal(text, "\x93NUMPY\x01\x00\x76\x00", 10);
	assert_memory_equal(text + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } ",
			    58);
	assert_int_equal(text[127], '\n');
	assert_memory_equal(text + 128, "abcd", 4);
}

static void odd_rows_of_nibbles(void **state)
{
	struct tensor_spec spec = { .type = NPU_TYPE_I4, .ndim = 2,
				    .shape = (uint64_t[]){ 3, 5 } };
	struct tensor_error err;
	struct tensor_file *file;
	struct tensor t;

	assert_int_equal(write_file(in_dir("o.npy"), &spec, "12345678", 8, &err), 0);
	file = bind_file(&t, in_dir("o.npy"), NULL, NULL);
	assert_int_equal(t.ndim, 1);
	assert_int_equal(t.shape[0], 8);
	tensor_close(file);
}

static void refused_before_anything(void **state)
{
	uint64_t huge[] = { 1ull << 60, 4 };
	struct tensor_spec spec = { .type = NPU_TYPE_I8, .ndim = 1, .shape = huge };
	unsigned int before = entries();
	struct tensor_writer *w;
	struct tensor_error err;

	assert_true(tensor_create(&w, in_dir("no.npy"), TENSOR_FORMAT_AUTO, &spec, &err) < 0);
	assert_has(&err, "no room");
	spec.ndim = 2;
	assert_int_equal(tensor_create(&w, in_dir("no.npy"), TENSOR_FORMAT_AUTO, &spec, &err),
			 -EINVAL);
	spec.ndim = 0;
	assert_int_equal(tensor_create(&w, in_dir("no.txt"), TENSOR_FORMAT_AUTO, &spec, &err),
			 -EINVAL);
	assert_int_equal(tensor_create(&w, dir, TENSOR_FORMAT_NPY, &spec, &err), -EISDIR);
	assert_int_equal(tensor_create(&w, in_dir("none/x.npy"), TENSOR_FORMAT_AUTO, &spec, &err),
			 -ENOENT);
	assert_int_equal(tensor_create(&w, in_dir("no.npy/"), TENSOR_FORMAT_NPY, &spec, &err),
			 -EISDIR);
	spec.name = "__metadata__";
	assert_int_equal(tensor_create(&w, in_dir("no.safetensors"), TENSOR_FORMAT_AUTO, &spec,
				       &err), -EINVAL);
	spec.name = "\xff";
	assert_int_equal(tensor_create(&w, in_dir("no.safetensors"), TENSOR_FORMAT_AUTO, &spec,
				       &err), -EINVAL);
	spec.type = NPU_TYPE_I9;
	assert_int_equal(tensor_create(&w, in_dir("no.npy"), TENSOR_FORMAT_AUTO, &spec, &err),
			 -EINVAL);
	assert_null(w);
	assert_int_equal(entries(), before);
}

static void unfinished_leaves_nothing(void **state)
{
	struct tensor_spec spec = { .type = NPU_TYPE_I8, .ndim = 1, .shape = (uint64_t[]){ 4 } };
	const char *path = in_dir("kept.bin");
	struct tensor_writer *w;
	struct tensor_error err;
	unsigned int before;
	struct stat st;

	assert_int_equal(write_file(path, &spec, "keep", 4, &err), 0);
	before = entries();
	assert_int_equal(tensor_create(&w, path, TENSOR_FORMAT_AUTO, &spec, &err), 0);
	assert_int_equal(tensor_write(w, "lose!", 5, &err), -EINVAL);
	assert_int_equal(tensor_write(w, "los", 3, &err), 0);
	assert_int_equal(tensor_commit(w, &err), -EINVAL);
	assert_has(&err, "only 3 of 4");
	assert_int_equal(tensor_create(&w, path, TENSOR_FORMAT_AUTO, &spec, &err), 0);
	tensor_abort(w);
	tensor_abort(NULL);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(entries(), before);
}

static void killed_leaves_nothing(void **state)
{
	struct tensor_spec spec = { .type = NPU_TYPE_I8, .ndim = 1, .shape = (uint64_t[]){ 4 } };
	static const int how[] = { 0, SIGKILL };

	/* A hidden name survives SIGKILL, but not a signal that can be handled. */
	for (size_t i = 0; i < (no_tmpfile ? 1 : 2); i++) {
		unsigned int before = entries();
		struct tensor_writer *w;
		pid_t child = fork();
		int status;

		if (!child) {
			tensor_create(&w, in_dir("killed.bin"), TENSOR_FORMAT_AUTO, &spec, NULL);
			tensor_write(w, "xx", 2, NULL);
			raise(how[i]);
			tensor_unlink_pending();
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(entries(), before);
	}
}

/* The file that is replaced is the one that is read from. */
static void in_place(void **state)
{
	struct tensor_spec spec = { .type = NPU_TYPE_I8, .ndim = 1, .shape = (uint64_t[]){ 4 } };
	struct tensor_opts opts = { .type = NPU_TYPE_I8 };
	const char *path = in_dir("same.bin");
	struct tensor_error err;
	struct tensor_file *file;
	struct tensor t;
	char bytes[4];

	assert_int_equal(write_file(path, &spec, "abcd", 4, &err), 0);
	file = bind_file(&t, path, NULL, &opts);
	assert_int_equal(write_file(path, &spec, "efgh", 4, &err), 0);
	assert_int_equal(tensor_read(&t, 0, 4, bytes, &err), 0);
	assert_memory_equal(bytes, "abcd", 4);
	tensor_close(file);
}

static void links_and_modes(void **state)
{
	struct tensor_spec spec = { .type = NPU_TYPE_I8, .ndim = 1, .shape = (uint64_t[]){ 4 } };
	mode_t mask = umask(027);
	struct tensor_error err;
	struct stat st;

	assert_int_equal(write_file(in_dir("mode.bin"), &spec, "abcd", 4, &err), 0);
	umask(mask);
	assert_int_equal(stat(in_dir("mode.bin"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(symlink("mode.bin", in_dir("link.bin")), 0);
	assert_int_equal(write_file(in_dir("link.bin"), &spec, "efgh", 4, &err), 0);
	assert_int_equal(lstat(in_dir("link.bin"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(lstat(in_dir("mode.bin"), &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

static void devices_are_written_to(void **state)
{
	struct tensor_spec spec = { .type = NPU_TYPE_I8, .ndim = 1, .shape = (uint64_t[]){ 4 } };
	struct tensor_writer *w;
	struct tensor_error err;
	struct stat st;

	assert_int_equal(tensor_create(&w, "/dev/null", TENSOR_FORMAT_RAW, &spec, &err), 0);
	assert_int_equal(tensor_write(w, "abcd", 4, &err), 0);
	assert_int_equal(tensor_commit(w, &err), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	if (access("/dev/full", W_OK))
		return;
	assert_int_equal(tensor_create(&w, "/dev/full", TENSOR_FORMAT_RAW, &spec, &err), 0);
	assert_int_equal(tensor_write(w, "abcd", 4, &err), -ENOSPC);
	assert_has(&err, "/dev/full");
	tensor_abort(w);
}

static void file_size_limit(void **state)
{
	struct tensor_spec spec = { .type = NPU_TYPE_I8, .ndim = 1,
				    .shape = (uint64_t[]){ 100000 } };
	unsigned int before = entries();
	pid_t child = fork();
	int status;

	if (!child) {
		struct rlimit limit = { 4096, 4096 };
		struct tensor_writer *w;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(tensor_create(&w, in_dir("l.bin"), TENSOR_FORMAT_AUTO, &spec, NULL) ==
		      -EFBIG ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(entries(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type),
		cmocka_unit_test(npy_header_bytes),
		cmocka_unit_test(odd_rows_of_nibbles),
		cmocka_unit_test(refused_before_anything),
		cmocka_unit_test(unfinished_leaves_nothing),
		cmocka_unit_test(killed_leaves_nothing),
		cmocka_unit_test(in_place),
		cmocka_unit_test(links_and_modes),
		cmocka_unit_test(devices_are_written_to),
		cmocka_unit_test(file_size_limit),
	};

	return cmocka_run_group_tests_name("nameless", tests, setup, teardown) +
	       cmocka_run_group_tests_name("named", tests, setup_named, teardown);
}
