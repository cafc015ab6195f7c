/* SPDX-License-Identifier: MIT */
/* npu top: one look at the devices and at who uses them. */
#ifndef NPU_TOOLS_TOP_H
#define NPU_TOOLS_TOP_H

#include <sys/types.h>

#include "cmd.h"

#define TOP_DEVICES	16
#define TOP_CLIENTS	256

struct top_device {
	char name[NPU_DEVICE_NAME_MAX];
	uint64_t busy_ns[NPU_RING_COUNT];
};

/* An open file of a device. */
struct top_client {
	pid_t pid;
	uint64_t id;			/* drm-client-id: one for all of its descriptors */
	char command[17];
	uint64_t busy_ns[NPU_RING_COUNT];
	uint64_t memory;		/* bytes */
};

struct top_look {
	double seconds;			/* CLOCK_MONOTONIC */
	struct top_device devices[TOP_DEVICES];
	unsigned int device_count;
	struct top_client clients[TOP_CLIENTS];
	unsigned int client_count;
};

/* Devices from sysfs, clients from the fdinfo of the processes that we may look at. */
void top_look(struct top_look *look);

#endif
