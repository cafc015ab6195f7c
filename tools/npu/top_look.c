// SPDX-License-Identifier: MIT
/* npu top: sysfs and fdinfo. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "top.h"

static bool read_text(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return false;
	n = fread(text, 1, size - 1, f);
	fclose(f);
	text[n] = '\0';
	return n;
}

/* The sysfs attribute of a ring: "fetch_main_busy_us". */
static void look_at_device(struct top_look *look, const char *path)
{
	struct top_device *d = &look->devices[look->device_count++];
	const char *base = strrchr(path, '/');

	memset(d, 0, sizeof(*d));
	snprintf(d->name, sizeof(d->name), "%.31s", base ? base + 1 : path);
	for (unsigned int e = 0; e < NPU_RING_COUNT; e++) {
		char attribute[512], ring[32], text[32];

		snprintf(ring, sizeof(ring), "%s", npu_ring_name(e));
		for (char *p = ring; *p; p++)
			*p = *p == '-' ? '_' : *p;
		snprintf(attribute, sizeof(attribute), "/sys/class/accel/%s/device/%s_busy_us",
			 d->name, ring);
		if (read_text(attribute, text, sizeof(text)))
			d->busy_ns[e] = strtoull(text, NULL, 10) * 1000;
	}
}

/* The number behind "key:" in the text of an fdinfo file; 0 if it is not there. */
static uint64_t value_of(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, n) && line[n] == ':') {
			char *unit;
			uint64_t value = strtoull(line + n + 1, &unit, 10);

			return !strncmp(unit, " KiB", 4) ? value << 10 :
			       !strncmp(unit, " MiB", 4) ? value << 20 : value;
		}
		if (!*line)
			break;
	}
	return 0;
}

static bool is_ours(const char *text)
{
	const char *driver = strstr(text, "drm-driver:");

	if (!driver)
		return false;
	driver += strlen("drm-driver:");
	driver += strspn(driver, " \t");
	return !strncmp(driver, "npu\n", 4);
}

static void look_at_fd(struct top_look *look, pid_t pid, const char *path)
{
	struct top_client c = { .pid = pid };
	char text[4096], comm[64], key[64];

	if (look->client_count == TOP_CLIENTS || !read_text(path, text, sizeof(text)) ||
	    !is_ours(text))
		return;
	c.id = value_of(text, "drm-client-id");
	for (unsigned int i = 0; i < look->client_count; i++) {
		if (look->clients[i].pid == pid && look->clients[i].id == c.id)
			return;
	}
	for (unsigned int e = 0; e < NPU_RING_COUNT; e++) {
		snprintf(key, sizeof(key), "drm-engine-%s", npu_ring_name(e));
		c.busy_ns[e] = value_of(text, key);
	}
	c.memory = value_of(text, "drm-total-memory");
	if (!c.memory)
		c.memory = value_of(text, "drm-total-system");
	snprintf(comm, sizeof(comm), "/proc/%d/comm", pid);
	if (read_text(comm, text, sizeof(text))) {
		text[strcspn(text, "\n")] = '\0';
		snprintf(c.command, sizeof(c.command), "%.16s", text);
	}
	look->clients[look->client_count++] = c;
}

static bool is_device(const char *path)
{
	char target[64];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return false;
	target[n] = '\0';
	return !strncmp(target, "/dev/accel/", strlen("/dev/accel/"));
}

static void look_at_process(struct top_look *look, pid_t pid)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		char file[384];

		snprintf(file, sizeof(file), "/proc/%d/fd/%s", pid, e->d_name);
		if (!is_device(file))
			continue;
		snprintf(file, sizeof(file), "/proc/%d/fdinfo/%s", pid, e->d_name);
		look_at_fd(look, pid, file);
	}
	if (dir)
		closedir(dir);
}

void top_look(struct top_look *look)
{
	char paths[TOP_DEVICES][NPU_DEVICE_PATH_MAX];
	int count = npu_enumerate(paths, TOP_DEVICES);
	struct timespec ts;
	struct dirent *e;
	DIR *dir;

	look->device_count = 0;
	look->client_count = 0;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	look->seconds = (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
	for (int i = 0; i < count && i < TOP_DEVICES; i++)
		look_at_device(look, paths[i]);
	dir = opendir("/proc");
	while (look->device_count && dir && (e = readdir(dir))) {
		if (isdigit((unsigned char)e->d_name[0]))
			look_at_process(look, (pid_t)atoi(e->d_name));
	}
	if (dir)
		closedir(dir);
}
