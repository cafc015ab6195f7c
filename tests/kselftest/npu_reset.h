/* SPDX-License-Identifier: GPL-2.0-only */
/* Driver and device taken apart and put together again, by root, through sysfs. */
#ifndef NPU_RESET_H
#define NPU_RESET_H

#include <linux/netlink.h>
#include <sys/socket.h>

#include "npu_vdev.h"

#define NPU_DRIVER	"/sys/bus/pci/drivers/npu"
#define NPU_TIMEOUT	"/sys/module/npu/parameters/timeout_ms"

/* Name of the PCI device, "0000:01:00.0", whether it has a driver or not. */
static inline int npu_pci_name(char *name, size_t size)
{
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *e;
	int ret = -ENODEV;

	while (dir && ret && (e = readdir(dir))) {
		char path[NAME_MAX + 64], alias[64];

		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/modalias", e->d_name);
		if (npu_read_file(path, alias, sizeof(alias)) <= 0 ||
		    strncmp(alias, "pci:v00001234d0000A11E", 22))
			continue;
		snprintf(name, size, "%s", e->d_name);
		ret = 0;
	}
	if (dir)
		closedir(dir);
	return ret;
}

static inline int npu_driver_write(const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), NPU_DRIVER "/%s", file);
	return npu_write_file(path, text);
}

static inline int npu_unbind(const char *pci)
{
	return npu_driver_write("unbind", pci);
}

/* Binds, and waits for the node. */
static inline int npu_bind(const char *pci)
{
	int ret = npu_driver_write("bind", pci), i;

	for (i = 0; !ret && i < 100; i++) {
		int fd = npu_open();

		if (fd >= 0) {
			close(fd);
			return 0;
		}
		npu_sleep_ms(20);
	}
	return ret ?: -ENODEV;
}

/* As npu_open(), but a device that a failed test has left unbound is bound first. */
static inline int npu_open_bound(const char *pci)
{
	int fd = npu_open();

	if (fd == -ENODEV && !npu_bind(pci))
		fd = npu_open();
	return fd;
}

static inline int npu_rebind(const char *pci)
{
	int ret = npu_unbind(pci);

	return ret ?: npu_bind(pci);
}

/* Another time limit for jobs, from the next bind on; the old one is returned. */
static inline int npu_set_timeout(unsigned int ms)
{
	char text[32];
	int old;

	if (npu_read_file(NPU_TIMEOUT, text, sizeof(text)) <= 0)
		return -ENOENT;
	old = atoi(text);
	snprintf(text, sizeof(text), "%u", ms);
	return npu_write_file(NPU_TIMEOUT, text) ?: old;
}

/* ---- uevents ---- */

static inline int npu_uevents_open(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Waits for an event of a subsystem that has a variable; its value. */
static inline bool npu_uevent(int fd, const char *subsystem, const char *key, char *value,
			      size_t size, int ms)
{
	int64_t deadline = npu_in_ms(ms);
	char text[4096], wanted[64];

	snprintf(wanted, sizeof(wanted), "SUBSYSTEM=%s", subsystem);
	for (;;) {
		int64_t left = (deadline - npu_now()) / 1000000;
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		bool right = false, found = false;
		ssize_t n;
		char *p;

		if (left <= 0 || poll(&pfd, 1, left) <= 0)
			return false;
		n = recv(fd, text, sizeof(text) - 1, 0);
		if (n <= 0)
			return false;
		text[n] = '\0';
		for (p = text; p < text + n; p += strlen(p) + 1) {
			right |= !strcmp(p, wanted);
			if (!strncmp(p, key, strlen(key)) && p[strlen(key)] == '=') {
				found = true;
				snprintf(value, size, "%s", p + strlen(key) + 1);
			}
		}
		if (right && found)
			return true;
	}
}

#endif
