/* SPDX-License-Identifier: MIT */
/* Faults that tests inject: rules that wait for their job. */
#ifndef VDEV_FAULT_H
#define VDEV_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
	FAULT_HANG,		/* the job never ends */
	FAULT_SLOW,		/* it takes ms longer */
	FAULT_DROP_IRQ,
	FAULT_DELAY_IRQ,
	FAULT_LATE_COMPLETION,	/* the slot is written ms later */
	FAULT_CORRUPT_SLOT,
	FAULT_CORRUPT_WALK,
	FAULT_REPORT,		/* a device fault instead of the job */
	FAULT_LATE_WRITE,	/* it hangs, and writes ms after a reset was requested */
	FAULT_REFUSE_RING_RESET,
	FAULT_REFUSE_RESET,
	FAULT_KINDS
};

/* Fields of a completion slot, for FAULT_CORRUPT_SLOT. */
enum fault_field {
	FIELD_ALL, FIELD_SEQUENCE, FIELD_STATUS, FIELD_RULE, FIELD_COMMAND, FIELD_ADDRESS,
	FIELD_CYCLES, FIELD_CLOCK, FIELD_RESERVED, FIELDS
};

#define FAULT_RULES	32

struct fault_rule {
	enum fault_kind kind;
	int ring;		/* -1: any */
	uint32_t skip;		/* matching jobs to let pass */
	uint32_t count;		/* then so many are hit; 0: all */
	uint32_t ms;
	uint32_t times;
	uint32_t value;		/* field or kind */
	uint64_t address;
};

/* Under vdev.lock. */
struct faults {
	struct fault_rule rule[FAULT_RULES];
	unsigned int count;
	uint64_t random;
	/* identification that a probe must refuse: replaces the register if set */
	uint32_t id, version, isa, rings;
	bool has_id, has_version, has_isa, has_rings;
	bool not_ready;
};

/* false: no room */
bool fault_add(struct faults *f, const struct fault_rule *rule);
/* Counts one matching event; true if it is hit, with the rule that hit it. */
bool fault_take(struct faults *f, enum fault_kind kind, unsigned int ring,
		struct fault_rule *hit);
void fault_clear(struct faults *f);
uint64_t fault_random(struct faults *f);

#endif
