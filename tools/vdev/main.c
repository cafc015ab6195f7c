// SPDX-License-Identifier: MIT
/* npu-vdev: the device model as a program. See npu-vdev(1). */
#include "vdev.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef NPU_TOOL_VERSION
#define NPU_TOOL_VERSION "(unversioned)"
#endif

#define MAX_FAULTS	FAULT_RULES

struct program {
	struct vdev_options vdev;
	const char *socket;
	const char *control;
	const char *log;
	const char *fault[MAX_FAULTS];
	unsigned int faults;
	bool once;
};

static int stop_pipe[2];

static const char usage[] =
	"Usage: npu-vdev --socket PATH [options]\n"
	"An NPU as a PCI device for QEMU: -device vfio-user-pci.\n"
	"\n"
	"  --socket PATH    wait for QEMU here (vfio-user)\n"
	"  --control PATH   take commands here, one a line (\"help\" lists them)\n"
	"  --fault COMMAND  run a command of the control socket first; may be repeated\n"
	"  --msi            one MSI vector, no MSI-X\n"
	"  --keep-d3        registers survive D3hot (default: leaving it is a reset)\n"
	"  --asids N        address spaces, 1 to 65535 (default 256)\n"
	"  --threads N      threads of each ring's engine, 1 to 64 (default 1)\n"
	"  --seed N         of everything random (default 1)\n"
	"  --log FILE       what happens, with times; - is standard error\n"
	"  --once           exit when the client disconnects\n"
	"  --version, -h, --help\n";

static void on_signal(int sig)
{
	int saved = errno;

	(void)sig;
	if (write(stop_pipe[1], "", 1) < 0)
		_exit(1);
	errno = saved;
}

static uint64_t number(const char *option, const char *text, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || *text < '0' || *text > '9' || *end || value < min || value > max) {
		fprintf(stderr, "npu-vdev: --%s is a number from %llu to %llu, not '%s'\n", option,
			(unsigned long long)min, (unsigned long long)max, text);
		exit(2);
	}
	return value;
}

enum option_id {
	OPT_SOCKET = 256, OPT_CONTROL, OPT_FAULT, OPT_MSI, OPT_KEEP_D3, OPT_ASIDS, OPT_THREADS,
	OPT_SEED, OPT_LOG, OPT_ONCE, OPT_VERSION
};

static const struct option options[] = {
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "control", required_argument, NULL, OPT_CONTROL },
	{ "fault", required_argument, NULL, OPT_FAULT },
	{ "msi", no_argument, NULL, OPT_MSI },
	{ "keep-d3", no_argument, NULL, OPT_KEEP_D3 },
	{ "asids", required_argument, NULL, OPT_ASIDS },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void option_set(struct program *p, int c)
{
	switch (c) {
	case OPT_SOCKET:
		p->socket = optarg;
		break;
	case OPT_CONTROL:
		p->control = optarg;
		break;
	case OPT_FAULT:
		if (p->faults == MAX_FAULTS) {
			fprintf(stderr, "npu-vdev: at most %d times --fault\n", MAX_FAULTS);
			exit(2);
		}
		p->fault[p->faults++] = optarg;
		break;
	case OPT_MSI:
		p->vdev.msi = true;
		break;
	case OPT_KEEP_D3:
		p->vdev.keep_d3 = true;
		break;
	case OPT_ASIDS:
		p->vdev.asids = number("asids", optarg, 1, 65535);
		break;
	case OPT_THREADS:
		p->vdev.threads = number("threads", optarg, 1, 64);
		break;
	case OPT_SEED:
		p->vdev.seed = number("seed", optarg, 0, UINT64_MAX);
		break;
	case OPT_LOG:
		p->log = optarg;
		break;
	case OPT_ONCE:
		p->once = true;
		break;
	case OPT_VERSION:
		printf("npu-vdev %s, registers %d.%d, streams %d.%d\n", NPU_TOOL_VERSION,
		       NPU_REGS_MAJOR, NPU_REGS_MINOR, NPU_ISA_MAJOR, NPU_ISA_MINOR);
		exit(0);
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		fputs("npu-vdev: try --help\n", stderr);
		exit(2);
	}
}

static void parse_options(struct program *p, int argc, char **argv)
{
	int c;

	p->vdev.seed = 1;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
		option_set(p, c);
	if (optind < argc) {
		fprintf(stderr, "npu-vdev: '%s' is no option\n", argv[optind]);
		exit(2);
	}
	if (!p->socket) {
		fputs("npu-vdev: --socket PATH is missing; try --help\n", stderr);
		exit(2);
	}
}

/* A listening socket, or -1 after a message. A socket that was left behind is replaced. */
static int listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	int fd;

	if (strlen(path) >= sizeof(a.sun_path)) {
		fprintf(stderr, "npu-vdev: %s: a socket's path has at most %zu bytes\n", path,
			sizeof(a.sun_path) - 1);
		return -1;
	}
	strcpy(a.sun_path, path);
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode))
		unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof(a)) && !listen(fd, 4))
		return fd;
	fprintf(stderr, "npu-vdev: %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool run_faults(struct vdev *v, const struct program *p)
{
	char reply[2048];
	unsigned int n;

	for (n = 0; n < p->faults; n++) {
		vdev_command(v, p->fault[n], reply, sizeof(reply));
		if (strncmp(reply, "ok", 2)) {
			fprintf(stderr, "npu-vdev: --fault '%s': %s\n", p->fault[n], reply);
			return false;
		}
	}
	return true;
}

static void serve(struct vdev *v, const struct program *p, int listener)
{
	struct pollfd pfd[2] = { { listener, POLLIN, 0 }, { stop_pipe[0], POLLIN, 0 } };

	for (;;) {
		int sock;

		if (poll(pfd, 2, -1) < 0 && errno != EINTR)
			return;
		if (pfd[1].revents)
			return;
		if (!pfd[0].revents)
			continue;
		sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (sock < 0)
			continue;
		vdev_serve(v, sock, stop_pipe[0]);
		if (p->once)
			return;
	}
}

static int run(const struct program *p, int listener, int control)
{
	struct vdev *v = vdev_new(&p->vdev);
	struct control *c = NULL;
	int ret = 1;

	if (!v) {
		fputs("npu-vdev: out of memory or threads\n", stderr);
		return 1;
	}
	if (!run_faults(v, p)) {
		ret = 2;
		goto out;
	}
	if (control >= 0) {
		c = control_start(v, control, stop_pipe[0]);
		if (!c)
			goto out;
	}
	serve(v, p, listener);
	ret = 0;
out:
	/* the byte stays in the pipe, so everyone sees it */
	on_signal(0);
	control_join(c);
	vdev_free(v);
	return ret;
}

static bool set_up(struct program *p)
{
	struct sigaction sa = { .sa_handler = on_signal };

	if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK)) {
		perror("npu-vdev: pipe");
		return false;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!p->log)
		return true;
	p->vdev.log = strcmp(p->log, "-") ? fopen(p->log, "we") : stderr;
	if (p->vdev.log)
		return true;
	fprintf(stderr, "npu-vdev: %s: %s\n", p->log, strerror(errno));
	return false;
}

int main(int argc, char **argv)
{
	struct program p = { };
	int listener, control = -1, ret = 1;

	parse_options(&p, argc, argv);
	if (!set_up(&p))
		return 1;
	/* the control socket first: whoever sees --socket's may use both */
	if (p.control) {
		control = listen_at(p.control);
		if (control < 0)
			return 1;
	}
	listener = listen_at(p.socket);
	if (listener >= 0) {
		ret = run(&p, listener, control);
		unlink(p.socket);
	}
	if (p.control)
		unlink(p.control);
	return ret;
}
