/* SPDX-License-Identifier: MIT */
/*
 * Device addresses of one address space. The place of a BO depends on the calls
 * so far and on nothing else, never on when a job ends: streams hold addresses, and the
 * same calls shall give the same streams on every backend.
 */
#ifndef NPU_SPACE_H
#define NPU_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A taken range; part of what takes it. */
struct npu_range {
	uint64_t start;
	uint64_t end;
	bool dying;		/* destroyed, but in use until a job ends */
};

/* Addresses that one kind of allocation comes from. */
struct npu_window {
	uint64_t start;
	uint64_t end;
	uint64_t cursor;
};

struct npu_space {
	struct npu_range **ranges;	/* ascending */
	size_t count, room;
};

void npu_space_free(struct npu_space *space);

/*
 * Takes the first gap of @window from its cursor on, then from its start, with a page
 * free on both sides; a freed range is so not reused before the window wraps. Sets
 * @range. Dying ranges count as gaps: -EBUSY where the gap found has one, and
 * the caller waits until it is gone. -ENOSPC, -ENOMEM.
 */
int npu_space_alloc(struct npu_space *space, struct npu_window *window, uint64_t size,
		    struct npu_range *range);

/* Takes @range where it says; -EEXIST, -EBUSY where only dying ranges are in its way. */
int npu_space_take(struct npu_space *space, struct npu_range *range);

void npu_space_give_back(struct npu_space *space, struct npu_range *range);

/* The range that holds @address, NULL if none does. */
struct npu_range *npu_space_find(const struct npu_space *space, uint64_t address);

#endif
