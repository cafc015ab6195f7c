// SPDX-License-Identifier: MIT
/* The device model's control language and the socket that takes it. */
#include "test_vdev.h"

#include <sys/un.h>

static void expect_error(struct vdev *v, const char *line, const char *part)
{
	char reply[2048];

	vdev_command(v, line, reply, sizeof(reply));
	if (strncmp(reply, "error: ", 7) || !strstr(reply, part))
		fail_msg("'%s' was answered by '%s', without '%s'", line, reply, part);
}

static void test_errors(void **state)
{
	const struct vdev_options opt = { .seed = 1 };
	struct vdev *v = vdev_new(&opt);
	char reply[2048], line[600];
	unsigned int n;

	assert_non_null(v);
	expect_error(v, "", "no command ''");
	expect_error(v, "jump", "no command 'jump'");
	expect_error(v, "hang up", "'up' is no key");
	expect_error(v, "hang ms=3", "'ms' is no key");
	expect_error(v, "hang ring", "'ring' is no key");
	expect_error(v, "hang ring=3", "'3' is no value of ring");
	expect_error(v, "hang ring=-1", "'-1' is no value of ring");
	expect_error(v, "hang ring=", "'' is no value of ring");
	expect_error(v, "hang job=99999999999999999999", "is no value of job");
	expect_error(v, "hang job=4294967296", "is no value of job");
	expect_error(v, "hang job=1x", "'1x' is no value of job");
	expect_error(v, "slow", "slow needs ms=");
	expect_error(v, "fault", "fault needs kind=");
	expect_error(v, "fault kind=none", "'none' is no value of kind");
	expect_error(v, "corrupt-slot field=colour", "'colour' is no value of field");
	expect_error(v, "clock value=1001", "0 to 1000");
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	expect_error(v, line, "too long");
	for (n = 0; n < FAULT_RULES; n++) {
		vdev_command(v, "hang\tring=preprocess  job=0x10 ", reply, sizeof(reply));
		assert_string_equal(reply, "ok");
	}
	expect_error(v, "hang", "reset-faults");
	vdev_command(v, "  reset-faults", reply, sizeof(reply));
	assert_string_equal(reply, "ok");
	vdev_command(v, "help", reply, sizeof(reply));
	assert_non_null(strstr(reply, "slow [ring=] [job=] [count=] ms="));
	/* a reply that does not fit is cut */
	vdev_command(v, "stats", reply, 10);
	assert_string_equal(reply, "ok jobs=0");
	vdev_free(v);
}

static void test_random_lines(void **state)
{
	static const char *const word[] = {
		"hang", "slow", "fault", "irq-storm", "late-write", "stats", "help", "ring=1",
		"ms=0", "job=", "=", "count=0", "kind=tail", "field=all", "times=3", "us=1", "gone",
		"value=7", "clock", "reset-faults", "\1\2\377", "refuse-reset", "id"
	};
	const struct vdev_options opt = { .seed = 1 };
	struct vdev *v = vdev_new(&opt);
	unsigned int seed = 5, n, i;

	for (n = 0; n < 20000; n++) {
		char line[256] = "", reply[2048];

		for (i = rand_r(&seed) % 6; i; i--) {
			strcat(line, word[rand_r(&seed) % (sizeof(word) / sizeof(word[0]))]);
			strcat(line, rand_r(&seed) % 8 ? " " : "\t");
		}
		vdev_command(v, line, reply, sizeof(reply));
		assert_true(!strncmp(reply, "ok", 2) || !strncmp(reply, "error: ", 7));
		assert_null(strchr(reply, '\n'));
	}
	vdev_free(v);
}

struct server {
	struct vdev *vdev;
	struct control *control;
	struct sockaddr_un addr;
	int listener;
	int stop[2];
};

static void server_start(struct server *s)
{
	static const struct vdev_options opt = { .seed = 1 };
	socklen_t len = sizeof(s->addr.sun_family);

	memset(s, 0, sizeof(*s));
	s->vdev = vdev_new(&opt);
	assert_int_equal(pipe(s->stop), 0);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	s->addr.sun_family = AF_UNIX;
	/* without a name the kernel chooses one that is nobody's */
	assert_int_equal(bind(s->listener, (struct sockaddr *)&s->addr, len), 0);
	assert_int_equal(listen(s->listener, 4), 0);
	s->control = control_start(s->vdev, s->listener, s->stop[0]);
	assert_non_null(s->control);
}

static void server_stop(struct server *s)
{
	assert_int_equal(write(s->stop[1], "", 1), 1);
	control_join(s->control);
	close(s->listener);
	close(s->stop[0]);
	close(s->stop[1]);
	vdev_free(s->vdev);
}

static int dial(struct server *s)
{
	struct sockaddr_un addr;
	socklen_t len = sizeof(addr);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(getsockname(s->listener, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, len), 0);
	return fd;
}

static void tell(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void expect_line(int fd, const char *start)
{
	char line[4096];
	size_t n = 0;

	do
		assert_int_equal(read(fd, &line[n], 1), 1);
	while (line[n] != '\n' && ++n < sizeof(line) - 1);
	line[n] = '\0';
	if (strncmp(line, start, strlen(start)))
		fail_msg("'%s' does not begin with '%s'", line, start);
}

static void test_socket(void **state)
{
	struct server s;
	char x[600];
	int a, b, n;

	server_start(&s);
	a = dial(&s);
	b = dial(&s);
	tell(a, "ping\r\n\r\n\nping\n");
	expect_line(a, "ok");
	expect_line(a, "ok");
	/* the echo of a terminal is not answered, or it would never end */
	tell(a, "ok\nok jobs=3\nerror: no\nhel");
	tell(b, "stats\n");
	expect_line(b, "ok jobs=0 ");
	tell(a, "p\n");
	expect_line(a, "ok hang");
	memset(x, 'x', sizeof(x) - 2);
	x[sizeof(x) - 2] = '\n';
	x[sizeof(x) - 1] = '\0';
	tell(a, x);
	expect_line(a, "error: the line is too long");
	tell(a, "ping\n");
	expect_line(a, "ok");
	close(a);
	for (n = 0; n < 50; n++) {
		a = dial(&s);
		tell(a, "ping\n");
		expect_line(a, "ok");
		close(a);
	}
	/* a client that never reads does not stop the others */
	a = dial(&s);
	for (n = 0; n < 2000; n++)
		if (send(a, "help\n", 5, MSG_DONTWAIT | MSG_NOSIGNAL) != 5)
			break;
	tell(b, "ping\n");
	expect_line(b, "ok");
	close(a);
	close(b);
	server_stop(&s);
}

/* What a guest's test uses to make the device disappear. */
static void test_disconnect(void **state)
{
	struct client c;
	char byte;

	client_open(&c, NULL);
	greet(&c);
	command(&c, "disconnect");
	assert_int_equal(recv(c.sock, &byte, 1, 0), 0);
	client_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_random_lines),
		cmocka_unit_test(test_socket),
		cmocka_unit_test(test_disconnect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
