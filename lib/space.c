// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <drm/npu_isa.h>

#include "space.h"

/* Between two BOs, so that an overrun faults instead of hitting the neighbour. */
#define GUARD ((uint64_t)NPU_PAGE_SIZE)

void npu_space_free(struct npu_space *space)
{
	free(space->ranges);
	space->ranges = NULL;
	space->count = 0;
	space->room = 0;
}

/* Index of the first range that ends above @address. */
static size_t first_above(const struct npu_space *space, uint64_t address)
{
	size_t low = 0, high = space->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (space->ranges[mid]->end > address)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

struct npu_range *npu_space_find(const struct npu_space *space, uint64_t address)
{
	size_t i = first_above(space, address);

	if (i == space->count || space->ranges[i]->start > address)
		return NULL;
	return space->ranges[i];
}

/* 0, -EEXIST, or -EBUSY if all that lies in [start, end) is dying. */
static int look(const struct npu_space *space, uint64_t start, uint64_t end)
{
	int ret = 0;
	size_t i;

	for (i = first_above(space, start); i < space->count; i++) {
		if (space->ranges[i]->start >= end)
			break;
		if (!space->ranges[i]->dying)
			return -EEXIST;
		ret = -EBUSY;
	}
	return ret;
}

static int insert(struct npu_space *space, struct npu_range *range)
{
	size_t i;

	if (space->count == space->room) {
		size_t room = space->room ? 2 * space->room : 64;
		struct npu_range **ranges = realloc(space->ranges, room * sizeof(*ranges));

		if (!ranges)
			return -ENOMEM;
		space->ranges = ranges;
		space->room = room;
	}
	i = first_above(space, range->start);
	memmove(&space->ranges[i + 1], &space->ranges[i],
		(space->count - i) * sizeof(*space->ranges));
	space->ranges[i] = range;
	space->count++;
	return 0;
}

int npu_space_take(struct npu_space *space, struct npu_range *range)
{
	int ret = look(space, range->start, range->end);

	return ret ? ret : insert(space, range);
}

void npu_space_give_back(struct npu_space *space, struct npu_range *range)
{
	size_t i = first_above(space, range->start);

	if (i == space->count || space->ranges[i] != range)
		return;
	space->count--;
	memmove(&space->ranges[i], &space->ranges[i + 1],
		(space->count - i) * sizeof(*space->ranges));
}

/* First start >= @from with room for @size and its guards; @end if there is none. */
static uint64_t find_gap(const struct npu_space *space, uint64_t from, uint64_t end, uint64_t size)
{
	uint64_t start = from;
	size_t i;

	for (i = first_above(space, from < GUARD ? 0 : from - GUARD); i < space->count; i++) {
		const struct npu_range *range = space->ranges[i];

		if (range->dying)
			continue;
		if (range->start >= start && range->start - start >= size + GUARD)
			break;
		if (range->end + GUARD > start)
			start = range->end + GUARD;
	}
	return start < end && end - start >= size ? start : end;
}

int npu_space_alloc(struct npu_space *space, struct npu_window *window, uint64_t size,
		    struct npu_range *range)
{
	uint64_t start;
	int ret;

	if (size > window->end - window->start)
		return -ENOSPC;
	start = find_gap(space, window->cursor, window->end, size);
	if (start == window->end)
		start = find_gap(space, window->start, window->end, size);
	if (start == window->end)
		return -ENOSPC;
	ret = look(space, start - GUARD, start + size + GUARD);
	if (ret)
		return ret;
	range->start = start;
	range->end = start + size;
	ret = insert(space, range);
	if (!ret)
		window->cursor = range->end + GUARD;
	return ret;
}
