// SPDX-License-Identifier: MIT
/*
 * Device addresses to memory. Engine threads translate all the time and must
 * not meet at a lock, so readers look at a map that never changes and say so by a
 * counter of their own; who unmaps waits until each of them has moved on.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "emu.h"

/* Binds that keep their old map before someone waits for the readers. */
#define MOST_RETIRED 64

static _Thread_local struct emu_reader *self;

int emu_space_init(struct emu_space *space)
{
	struct emu_map *map = calloc(1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	if (pthread_mutex_init(&space->lock, NULL)) {
		free(map);
		return -ENOMEM;
	}
	atomic_init(&space->map, map);
	return 0;
}

static void free_retired(struct emu_space *space)
{
	while (space->retired) {
		struct emu_map *map = space->retired;

		space->retired = map->retired;
		free(map);
	}
	space->retired_count = 0;
}

void emu_space_free(struct emu_space *space)
{
	free_retired(space);
	free(atomic_load(&space->map));
	while (space->readers) {
		struct emu_reader *reader = space->readers;

		space->readers = reader->next;
		free(reader);
	}
}

int emu_space_join(struct emu_space *space)
{
	struct emu_reader *reader = aligned_alloc(64, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	memset(reader, 0, sizeof(*reader));
	pthread_mutex_lock(&space->lock);
	reader->next = space->readers;
	space->readers = reader;
	pthread_mutex_unlock(&space->lock);
	self = reader;
	return 0;
}

/* Until every translation that may have seen the state before has ended. */
static void wait_for_readers(struct emu_space *space)
{
	struct emu_reader *reader;

	for (reader = space->readers; reader; reader = reader->next) {
		unsigned long seq = atomic_load(&reader->seq);

		while (seq % 2 && atomic_load(&reader->seq) == seq)
			sched_yield();
	}
	free_retired(space);
}

static void copy_mapping(struct emu_mapping *dst, const struct emu_mapping *src)
{
	dst->start = src->start;
	dst->end = src->end;
	dst->base = src->base;
	dst->slots = src->slots;
	dst->rdonly = src->rdonly;
	atomic_init(&dst->live, true);
}

int emu_space_bind(struct emu_space *space, const struct emu_mapping *mapping)
{
	struct emu_map *old, *map;
	bool placed = false;
	size_t i, n = 0;

	pthread_mutex_lock(&space->lock);
	old = atomic_load(&space->map);
	map = malloc(sizeof(*map) + (old->count + 1) * sizeof(map->mappings[0]));
	if (!map) {
		pthread_mutex_unlock(&space->lock);
		return -ENOMEM;
	}
	for (i = 0; i < old->count; i++) {
		if (!atomic_load(&old->mappings[i].live))
			continue;
		if (!placed && old->mappings[i].start > mapping->start) {
			copy_mapping(&map->mappings[n++], mapping);
			placed = true;
		}
		copy_mapping(&map->mappings[n++], &old->mappings[i]);
	}
	if (!placed)
		copy_mapping(&map->mappings[n++], mapping);
	map->count = n;
	atomic_store(&space->map, map);
	old->retired = space->retired;
	space->retired = old;
	if (++space->retired_count >= MOST_RETIRED)
		wait_for_readers(space);
	pthread_mutex_unlock(&space->lock);
	return 0;
}

static struct emu_mapping *find(struct emu_map *map, uint64_t addr)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (map->mappings[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low < map->count && map->mappings[low].start <= addr ? &map->mappings[low] : NULL;
}

void emu_space_unbind(struct emu_space *space, uint64_t start)
{
	struct emu_mapping *mapping;

	pthread_mutex_lock(&space->lock);
	mapping = find(atomic_load(&space->map), start);
	if (mapping) {
		atomic_store(&mapping->live, false);
		wait_for_readers(space);
	}
	pthread_mutex_unlock(&space->lock);
}

static void reader_enter(struct emu_reader *reader)
{
	if (!reader->depth++)
		atomic_fetch_add(&reader->seq, 1);
}

static void reader_leave(struct emu_reader *reader)
{
	if (!--reader->depth)
		atomic_fetch_add(&reader->seq, 1);
}

void *emu_translate(void *ctx, uint64_t addr, uint64_t *len, enum npu_access access,
		    uint32_t *rule)
{
	struct emu_space *space = ctx;
	struct emu_mapping *mapping;
	uint64_t offset, most;
	uint8_t *ptr;

	reader_enter(self);
	mapping = find(atomic_load(&space->map), addr);
	if (!mapping || !atomic_load(&mapping->live)) {
		*rule = NPU_RULE_ADDRESS_UNMAPPED;
		reader_leave(self);
		return NULL;
	}
	if (access == NPU_ACCESS_WRITE && mapping->rdonly) {
		*rule = NPU_RULE_ADDRESS_READONLY;
		reader_leave(self);
		return NULL;
	}
	offset = addr - mapping->start;
	most = mapping->end - addr;
	ptr = mapping->base + offset;
	if (mapping->slots) {
		ptr = mapping->base + mapping->slots[offset / NPU_PAGE_SIZE] * EMU_SLOT +
		      offset % NPU_PAGE_SIZE;
		most = NPU_PAGE_SIZE - offset % NPU_PAGE_SIZE;
	}
	if (*len > most)
		*len = most;
	return ptr;
}

void emu_put(void *ctx)
{
	reader_leave(self);
}
