// SPDX-License-Identifier: MIT
/* Opening and its errors, enumeration, structures that grow, fork and exec. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "../../lib/device.h"	/* the one below other roots */

static char root[64];

/* Makes @path below the root: a folder for "x/", a link for "x@target", else an empty file. */
static void plant(const char *path)
{
	char full[256], *at, *target;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		mkdir(full, 0755);
		*at = '/';
	}
	target = strchr(full, '@');
	if (target) {
		*target++ = 0;
		assert_int_equal(symlink(target, full), 0);
	} else if (full[strlen(full) - 1] != '/') {
		close(open(full, O_CREAT | O_WRONLY, 0666));
	}
}

static int setup(void **state)
{
	snprintf(root, sizeof(root), "/tmp/npu-test-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* accel0 is another driver's, accel2 and accel10 are ours, accel3 has none (C27). */
static void plant_nodes(void)
{
	plant("sys/class/accel/accel0/device/driver@../../bus/pci/drivers/other");
	plant("sys/class/accel/accel10/device/driver@../../bus/pci/drivers/npu");
	plant("sys/class/accel/accel2/device/driver@../../bus/pci/drivers/npu");
	plant("sys/class/accel/accel3/device/");
	plant("sys/class/accel/accel/device/driver@npu");
	plant("sys/class/accel/accel4x/device/driver@npu");
	plant("dev/accel0");
	plant("dev/accel2");
	plant("dev/accel3");
}

static void test_enumerate(void **state)
{
	char sys[80], devices[80], paths[4][NPU_DEVICE_PATH_MAX];

	snprintf(sys, sizeof(sys), "%s/sys", root);
	snprintf(devices, sizeof(devices), "/dev/accel");
	assert_int_equal(npu_enumerate_in(sys, devices, paths, 4), 0);
	plant_nodes();
	memset(paths, 0, sizeof(paths));
	assert_int_equal(npu_enumerate_in(sys, devices, paths, 4), 2);
	assert_string_equal(paths[0], "/dev/accel/accel2");
	assert_string_equal(paths[1], "/dev/accel/accel10");
	assert_string_equal(paths[2], "");
	memset(paths, 0, sizeof(paths));
	assert_int_equal(npu_enumerate_in(sys, devices, paths, 1), 2);
	assert_string_equal(paths[1], "");
	assert_int_equal(npu_enumerate_in(sys, devices, NULL, 0), 2);
	assert_int_equal(npu_enumerate(NULL, 1), -EINVAL);
}

static void test_open_node(void **state)
{
	char sys[80], path[96];
	int fd = -1;

	plant_nodes();
	snprintf(sys, sizeof(sys), "%s/sys", root);
	snprintf(path, sizeof(path), "%s/dev/accel7", root);
	must_fail(npu_open_node(sys, path, &fd), ENODEV, "there is no ");
	snprintf(path, sizeof(path), "%s/dev/accel0", root);
	must_fail(npu_open_node(sys, path, &fd), ENOTSUP, "belongs to the driver \"other\"");
	snprintf(path, sizeof(path), "%s/dev/accel3", root);
	must_fail(npu_open_node(sys, path, &fd), ENODEV, "no driver is bound");
	assert_int_equal(fd, -1);
	snprintf(path, sizeof(path), "%s/dev/accel2", root);
	must(npu_open_node(sys, path, &fd));
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

/* As somebody who may not: the sentence has the node, its group and its mode. */
static void test_not_allowed(void **state)
{
	char sys[80], path[96];
	int fd, status;
	pid_t pid;

	plant_nodes();
	snprintf(sys, sizeof(sys), "%s/sys", root);
	snprintf(path, sizeof(path), "%s/dev/accel2", root);
	chmod(root, 0755);
	chmod(path, 0660);
	if (geteuid()) {
		chmod(path, 0);
		must_fail(npu_open_node(sys, path, &fd), EACCES, "permission denied");
		return;
	}
	pid = fork();
	if (!pid) {
		/* From inside, as the folders above may be closed to others. */
		if (chdir(root) || setgid(65534) || setuid(65534))
			_exit(2);
		_exit(npu_open_node(sys, "dev/accel2", &fd) != -EACCES ||
		      !strstr(npu_last_error(), "dev/accel2") ||
		      (!strstr(npu_last_error(), "group root") &&
		       !strstr(npu_last_error(), "group 0")) ||
		      !strstr(npu_last_error(), "0660"));
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

static void test_open(void **state)
{
	struct npu_open_options options = NPU_OPEN_OPTIONS_INIT;
	struct npu_device_info info = NPU_DEVICE_INFO_INIT;
	struct npu_device *dev = NULL;
	char big[sizeof(info) + 16];

	must_fail(npu_open("/dev/accel/accel4242", &dev), ENODEV, "/dev/accel/accel4242");
	must_fail(npu_open("/dev/null", &dev), ENOTSUP, "/dev/null");
	must_fail(npu_open("emu", NULL), EINVAL, "NULL");
	must_fail(npu_open_with("emu", NULL, &dev), EINVAL, "NULL");
	options.flags = 2;
	must_fail(npu_open_with("emu", &options, &dev), EINVAL, "0x2");
	options.flags = 0;
	options.threads = 100000;
	must_fail(npu_open_with("emu", &options, &dev), EINVAL, "100000");
	options.threads = 0;
	options.size = sizeof(size_t);
	assert_null(dev);
	setenv("NPU_THREADS", "many", 1);
	must_fail(npu_open("emu", &dev), EINVAL, "NPU_THREADS");
	setenv("NPU_THREADS", "3", 1);
	must(npu_open_with("emu", &options, &dev));
	must(npu_get_info(dev, &info));
	assert_int_equal(info.threads, 3);
	assert_int_equal(info.emulated, 1);
	assert_string_equal(info.name, "emu");
	assert_int_equal(npu_device_fd(dev), -1);
	unsetenv("NPU_THREADS");

	/* A newer program's structure is longer, an older one's shorter. */
	memset(big, 0xa5, sizeof(big));
	*(size_t *)(void *)big = sizeof(big);
	must(npu_get_info(dev, (void *)big));
	assert_int_equal(big[sizeof(info)], 0);
	assert_int_equal(big[sizeof(big) - 1], 0);
	memset(big, 0xa5, sizeof(big));
	*(size_t *)(void *)big = 16;
	must(npu_get_info(dev, (void *)big));
	assert_int_equal((unsigned char)big[16], 0xa5);
	must_fail(npu_get_info(NULL, &info), EINVAL, "NULL");
	npu_close(dev);
	npu_close(NULL);
}

static void test_names(void **state)
{
	uint32_t i;

	assert_int_equal(npu_version(), 1 << 8);
	for (i = 1; i < NPU_TYPE_COUNT; i++)
		assert_int_equal(npu_type_parse(npu_type_name(i)), i);
	assert_int_equal(npu_type_parse("f64"), NPU_TYPE_NONE);
	assert_null(npu_type_name(NPU_TYPE_COUNT));
	assert_int_equal(npu_type_bytes(NPU_TYPE_I4, 3), 2);
	assert_int_equal(npu_type_bytes(NPU_TYPE_F32, UINT64_MAX / 2), UINT64_MAX);
	assert_int_equal(npu_type_bytes(NPU_TYPE_I4, UINT64_MAX), UINT64_MAX / 2 + 1);
	assert_string_equal(npu_ring_name(NPU_RING_PREPROCESS), "preprocess");
	assert_null(npu_ring_name(3));
	assert_non_null(npu_last_error());
}

static int logged;

static void count_log(void *data, int level, const char *text)
{
	assert_ptr_equal(data, &logged);
	assert_null(strchr(text, '\n'));
	logged |= 1 << level;
}

static void test_log(void **state)
{
	struct npu_open_options options = NPU_OPEN_OPTIONS_INIT;
	struct npu_device *dev;
	struct npu_fence fence;

	options.log = count_log;
	options.log_data = &logged;
	must(npu_open_with(device_name(), &options, &dev));
	must(npu_submit(make_queue(dev, 0), make_stream(dev, 0), NULL, &fence));
	must(npu_fence_wait(fence, npu_deadline(5000), NULL));
	assert_int_equal(logged, 1 << 7);
	npu_close(dev);
}

enum child { CHILD_EXITS, CHILD_CLOSES, CHILD_USES, CHILD_EXECS, CHILD_OPENS, CHILDREN };

static int be_child(enum child what, struct npu_device *dev, struct npu_bo *bo,
		    struct npu_queue *queue, struct npu_stream *s, struct npu_fence fence)
{
	struct npu_device *own;
	void *p;

	switch (what) {
	case CHILD_CLOSES:
		npu_close(dev);
		return 0;
	case CHILD_USES:
		if (npu_bo_map(bo, &p) != -ECHILD || npu_submit(queue, s, NULL, NULL) != -ECHILD ||
		    npu_fence_wait(fence, 0, NULL) != -ECHILD || npu_bo_wait(bo, 0) != -ECHILD ||
		    npu_bo_create(dev, 4096, 0, &bo) != -ECHILD ||
		    !strstr(npu_last_error(), "before fork()"))
			return 1;
		npu_bo_destroy(bo);
		npu_queue_destroy(queue);
		npu_stream_destroy(s);
		return 0;
	case CHILD_EXECS:
		/* Descriptors above the three are the library's, if there are any. */
		execl("/bin/sh", "sh", "-c",
		      "for f in /proc/$$/fd/*; do readlink $f; done | grep -q -e npu-bo -e accel && exit 1; exit 0",
		      (char *)NULL);
		return 1;
	case CHILD_OPENS:
		if (npu_open(device_name(), &own) || npu_submit(make_queue(own, 0),
							       make_stream(own, 0), NULL, &fence))
			return 1;
		if (npu_fence_wait(fence, npu_deadline(5000), NULL))
			return 1;
		npu_close(own);
		npu_close(dev);
		return 0;
	default:
		return 0;
	}
}

/* With a BO and a running job (C33). */
static void test_fork(void **state)
{
	enum child what;

	for (what = 0; what < CHILDREN; what++) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
		/* ThreadSanitizer ends a child that starts threads. */
		if (what == CHILD_OPENS)
			continue;
#endif
		struct npu_device *dev = open_device();
		struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
		struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
		struct npu_bo *src, *dst;
		struct npu_fence fence;
		signed char *in;
		int32_t *out;
		int status, i;
		pid_t pid;

		src = make_bo(dev, 1 << 20, &in);
		dst = make_bo(dev, 4 << 20, &out);
		memset(in, 0x21, 1 << 20);
		must(widen(s, src, 0, 1 << 20, dst, 0));
		must(npu_submit(queue, s, NULL, &fence));
		pid = fork();
		if (!pid)
			_exit(be_child(what, dev, src, queue, s, fence));
		waitpid(pid, &status, 0);
		assert_int_equal(status, 0);
		must(npu_fence_wait(fence, npu_deadline(10000), NULL));
		for (i = 0; i < 1 << 20; i += 1021)
			assert_int_equal(out[i], 0x21);
		must(npu_submit(queue, s, NULL, &fence));
		must(npu_fence_wait(fence, npu_deadline(10000), NULL));
		npu_close(dev);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_enumerate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_open_node, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_allowed, setup, teardown),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
