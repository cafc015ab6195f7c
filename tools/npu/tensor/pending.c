// SPDX-License-Identifier: MIT
/*
 * The hidden files of unfinished writers, so that a fatal signal or exit() takes them away.  A
 * signal handler may run between any two instructions here: a slot is one atomic pointer, and what
 * it points to is freed only after the slot is empty.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define SLOTS	16

static _Atomic(char *) slots[SLOTS];
static atomic_int owner;	/* a forked child must not remove its parent's files */
static atomic_flag registered = ATOMIC_FLAG_INIT;

void tensor_unlink_pending(void)
{
	if (atomic_load(&owner) != getpid())
		return;
	for (int i = 0; i < SLOTS; i++) {
		char *path = atomic_load(&slots[i]);

		if (path)
			unlink(path);
	}
}

int pending_add(const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return -1;
	if (!atomic_flag_test_and_set(&registered))
		atexit(tensor_unlink_pending);
	atomic_store(&owner, getpid());
	for (int i = 0; i < SLOTS; i++) {
		char *empty = NULL;

		if (atomic_compare_exchange_strong(&slots[i], &empty, copy))
			return i;
	}
	free(copy);
	return -1;
}

void pending_remove(int slot)
{
	if (slot >= 0)
		free(atomic_exchange(&slots[slot], NULL));
}
