// SPDX-License-Identifier: MIT
/* Which accel nodes are ours, and why one cannot be opened. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "error.h"

#define DRIVER "npu"

/* Name of the driver of accel node @number; false if there is none. */
static bool node_driver(const char *sysfs, unsigned int number, char *name, size_t size)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/class/accel/accel%u/device/driver", sysfs, number);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = 0;
	base = strrchr(target, '/');
	snprintf(name, size, "%s", base ? base + 1 : target);
	return true;
}

/* "accel7" is 7. */
static bool node_number(const char *name, unsigned int *number)
{
	char *end;

	if (strncmp(name, "accel", 5) || name[5] < '0' || name[5] > '9')
		return false;
	*number = (unsigned int)strtoul(name + 5, &end, 10);
	return !*end;
}

static int by_number(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

/* Numbers of all our nodes, in the order of the folder; the caller frees them. */
static int list_nodes(const char *sysfs, unsigned int **numbers)
{
	unsigned int number, room = 0;
	struct dirent *entry;
	char path[PATH_MAX], driver[NPU_DEVICE_NAME_MAX];
	int count = 0;
	DIR *dir;

	*numbers = NULL;
	snprintf(path, sizeof(path), "%s/class/accel", sysfs);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		if (!node_number(entry->d_name, &number) ||
		    !node_driver(sysfs, number, driver, sizeof(driver)) ||
		    strcmp(driver, DRIVER))
			continue;
		if ((unsigned int)count == room) {
			unsigned int *more;

			room = room ? 2 * room : 8;
			more = realloc(*numbers, room * sizeof(*more));
			if (!more) {
				count = npu_fail(ENOMEM, "no memory for the list of devices");
				break;
			}
			*numbers = more;
		}
		(*numbers)[count++] = number;
	}
	closedir(dir);
	return count;
}

int npu_enumerate_in(const char *sysfs, const char *devices,
		     char (*paths)[NPU_DEVICE_PATH_MAX], unsigned int count)
{
	unsigned int *numbers;
	int i, found;

	if (!paths && count)
		return npu_fail(EINVAL, "npu_enumerate: paths is NULL");
	found = list_nodes(sysfs, &numbers);
	if (found > 0)
		qsort(numbers, (size_t)found, sizeof(*numbers), by_number);
	for (i = 0; i < found && (unsigned int)i < count; i++)
		snprintf(paths[i], NPU_DEVICE_PATH_MAX, "%.40s/accel%u", devices, numbers[i]);
	free(numbers);
	return found;
}

int npu_enumerate(char (*paths)[NPU_DEVICE_PATH_MAX], unsigned int count)
{
	return npu_enumerate_in("/sys", "/dev/accel", paths, count);
}

static int not_allowed(const char *path)
{
	char group[64] = "?", buffer[1024];
	struct group entry, *found = NULL;
	struct stat st;

	if (stat(path, &st))
		return npu_fail(EACCES, "%s may not be opened: a folder on its path is closed to you",
				path);
	snprintf(group, sizeof(group), "%u", (unsigned int)st.st_gid);
	if (!getgrgid_r(st.st_gid, &entry, buffer, sizeof(buffer), &found) && found)
		snprintf(group, sizeof(group), "%s", found->gr_name);
	return npu_fail(EACCES,
			"permission denied for %s: it belongs to group %s, mode %04o; become a member of that group (or ask for a udev rule) and log in again",
			path, group, (unsigned int)st.st_mode & 07777);
}

static int cannot_open(const char *path, int err)
{
	switch (err) {
	case ENOENT:
	case ENOTDIR:
		return npu_fail(ENODEV, "there is no %s: is the module npu loaded?", path);
	case EACCES:
	case EPERM:
		return not_allowed(path);
	case ENODEV:
	case ENXIO:
		return npu_fail(ENODEV, "%s is there, but no driver is bound to its device", path);
	case EMFILE:
	case ENFILE:
		return npu_fail(err, "no file descriptor is left to open %s", path);
	default:
		return npu_fail(EIO, "%s: %s", path, strerror(err));
	}
}

int npu_open_node(const char *sysfs, const char *path, int *out)
{
	char driver[NPU_DEVICE_NAME_MAX], class[PATH_MAX];
	const char *base = strrchr(path, '/');
	unsigned int number;
	int fd;

	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return cannot_open(path, errno);
	if (node_number(base ? base + 1 : path, &number)) {
		snprintf(class, sizeof(class), "%s/class/accel/accel%u", sysfs, number);
		if (node_driver(sysfs, number, driver, sizeof(driver))) {
			if (strcmp(driver, DRIVER)) {
				close(fd);
				return npu_fail(ENOTSUP,
						"%s belongs to the driver \"%s\", not to \"%s\"",
						path, driver, DRIVER);
			}
		} else if (!access(class, F_OK)) {
			close(fd);
			return cannot_open(path, ENODEV);
		}
	}
	*out = fd;
	return 0;
}
