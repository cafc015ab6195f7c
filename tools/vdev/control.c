// SPDX-License-Identifier: MIT
/*
 * The control socket: lines in, lines out. QEMU may connect a serial port of
 * the guest to it, so that tests inside steer the device: carriage returns
 * are ignored, and so is the echo that a terminal sends of our own replies.
 */
#include "vdev.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONTROL_CLIENTS	8
#define CONTROL_LINE	512
#define CONTROL_REPLY	2048

struct control_client {
	int fd;			/* -1: free */
	unsigned int used;
	bool skip;		/* the line was too long: until its end */
	char line[CONTROL_LINE];
};

struct control {
	struct vdev *vdev;
	pthread_t thread;
	int listener;
	int stop;
	struct control_client client[CONTROL_CLIENTS];
};

static void answer(struct control_client *c, const char *text)
{
	char line[CONTROL_REPLY + 1];
	int n = snprintf(line, sizeof(line), "%s\n", text);

	/* a guest that does not read loses replies; it must not stop the others */
	if (send(c->fd, line, n, MSG_NOSIGNAL | MSG_DONTWAIT) != n)
		return;
}

static bool is_echo(const char *line)
{
	return !strncmp(line, "ok", 2) || !strncmp(line, "error", 5);
}

static void handle_line(struct control *s, struct control_client *c)
{
	char reply[CONTROL_REPLY];

	c->line[c->used] = '\0';
	c->used = 0;
	if (c->skip) {
		c->skip = false;
		answer(c, "error: the line is too long");
		return;
	}
	if (!c->line[0] || is_echo(c->line))
		return;
	vdev_command(s->vdev, c->line, reply, sizeof(reply));
	answer(c, reply);
}

static void handle_bytes(struct control *s, struct control_client *c, const char *p, ssize_t n)
{
	for (; n > 0; n--, p++) {
		if (*p == '\n')
			handle_line(s, c);
		else if (*p == '\r' || *p == '\0')
			continue;
		else if (c->used < sizeof(c->line) - 1)
			c->line[c->used++] = *p;
		else
			c->skip = true;
	}
}

static void handle_client(struct control *s, struct control_client *c)
{
	char buf[512];
	ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n > 0) {
		handle_bytes(s, c, buf, n);
	} else if (!n || (errno != EAGAIN && errno != EINTR)) {
		close(c->fd);
		c->fd = -1;
	}
}

static void handle_connect(struct control *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	unsigned int n;

	if (fd < 0)
		return;
	for (n = 0; n < CONTROL_CLIENTS; n++) {
		struct control_client *c = &s->client[n];

		if (c->fd < 0) {
			memset(c, 0, sizeof(*c));
			c->fd = fd;
			return;
		}
	}
	close(fd);
}

static void *control_thread(void *arg)
{
	struct control *s = arg;
	struct pollfd pfd[CONTROL_CLIENTS + 2];
	unsigned int n;

	for (;;) {
		for (n = 0; n < CONTROL_CLIENTS; n++)
			pfd[n] = (struct pollfd){ s->client[n].fd, POLLIN, 0 };
		pfd[n] = (struct pollfd){ s->listener, POLLIN, 0 };
		pfd[n + 1] = (struct pollfd){ s->stop, POLLIN, 0 };
		if (poll(pfd, CONTROL_CLIENTS + 2, -1) < 0 && errno != EINTR)
			break;
		if (pfd[CONTROL_CLIENTS + 1].revents)
			break;
		for (n = 0; n < CONTROL_CLIENTS; n++) {
			if (pfd[n].fd >= 0 && pfd[n].revents)
				handle_client(s, &s->client[n]);
		}
		if (pfd[CONTROL_CLIENTS].revents)
			handle_connect(s);
	}
	for (n = 0; n < CONTROL_CLIENTS; n++) {
		if (s->client[n].fd >= 0)
			close(s->client[n].fd);
	}
	return NULL;
}

struct control *control_start(struct vdev *v, int listener, int stop)
{
	struct control *s = calloc(1, sizeof(*s));
	unsigned int n;

	if (!s)
		return NULL;
	s->vdev = v;
	s->listener = listener;
	s->stop = stop;
	for (n = 0; n < CONTROL_CLIENTS; n++)
		s->client[n].fd = -1;
	if (pthread_create(&s->thread, NULL, control_thread, s)) {
		free(s);
		return NULL;
	}
	return s;
}

void control_join(struct control *s)
{
	if (!s)
		return;
	pthread_join(s->thread, NULL);
	free(s);
}
