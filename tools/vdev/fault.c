// SPDX-License-Identifier: MIT
#include "fault.h"

#include <string.h>

bool fault_add(struct faults *f, const struct fault_rule *rule)
{
	if (f->count == FAULT_RULES)
		return false;
	f->rule[f->count++] = *rule;
	return true;
}

bool fault_take(struct faults *f, enum fault_kind kind, unsigned int ring, struct fault_rule *hit)
{
	unsigned int from, to = 0;
	bool taken = false;

	for (from = 0; from < f->count; from++) {
		struct fault_rule *r = &f->rule[from];
		bool keep = true;

		if (r->kind == kind && (r->ring < 0 || r->ring == (int)ring)) {
			if (r->skip) {
				r->skip--;
			} else if (!taken) {
				taken = true;
				*hit = *r;
				keep = !r->count || --r->count;
			}
		}
		if (keep)
			f->rule[to++] = *r;
	}
	f->count = to;
	return taken;
}

void fault_clear(struct faults *f)
{
	uint64_t random = f->random;

	memset(f, 0, sizeof(*f));
	f->random = random;
}

/* splitmix64: any seed will do, and the same seed gives the same run */
uint64_t fault_random(struct faults *f)
{
	uint64_t z = f->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}
