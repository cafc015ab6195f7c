// SPDX-License-Identifier: MIT
/* npu fetch: loops and masks on the command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fetch.h"

/* A number from the front of *@text, which moves on. */
static bool take_number(const char **text, uint64_t max, uint64_t *value)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*value = strtoull(*text, &end, 10);
	*text = end;
	return !errno && *value <= max;
}

static bool take_word(const char **text, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*text, word, n))
		return false;
	*text += n;
	return true;
}

int parse_loop(const char *text, struct npu_loop *loop)
{
	const char *p = text;
	uint64_t size;
	char *end;

	if (!take_number(&p, UINT32_MAX, &size) || *p != ':')
		return fail(NPU_EXIT_USAGE,
			    "--loop: '%s' is not SIZE:STRIDE with a size below 2^32", text);
	p++;
	errno = 0;
	loop->stride = strtoll(p, &end, 10);
	if (errno || end == p || *end || *p == ' ')
		return fail(NPU_EXIT_USAGE, "--loop: the stride in '%s' is not a 64-bit number",
			    text);
	if (!size)
		return fail_rule(NPU_RULE_LOOP_SIZE, "--loop: %s", text);
	loop->size = (uint32_t)size;
	return 0;
}

static bool take_kind(const char **p, struct npu_mask *mask)
{
	uint64_t n = 0;

	if (take_word(p, "rightmost")) {
		mask->kind = NPU_MASK_RIGHTMOST;
	} else if (take_word(p, "second")) {
		mask->kind = NPU_MASK_RIGHTMOST_AND_SECOND;
	} else if (take_word(p, "iterator=")) {
		mask->kind = NPU_MASK_ITERATOR;
		if (!take_number(p, UINT32_MAX, &n))
			return false;
	} else {
		return false;
	}
	mask->iterator = (uint32_t)n;
	return true;
}

static bool take_counts(const char **p, struct npu_mask *mask)
{
	unsigned int i = 0;
	uint64_t n;

	do {
		if (i == NPU_MAX_LOOPS || !take_number(p, UINT16_MAX, &n))
			return false;
		mask->valid_count[i++] = (uint16_t)n;
	} while (take_word(p, ","));
	return true;
}

int parse_mask(const char *text, struct npu_mask *mask)
{
	const char *p = text;
	uint64_t axis, left = 0;

	*mask = (struct npu_mask)NPU_MASK_INIT;
	if (!take_number(&p, UINT32_MAX, &axis) || !take_word(&p, ":") || !take_kind(&p, mask) ||
	    !take_word(&p, ":") || !take_counts(&p, mask) ||
	    (take_word(&p, ":left=") && !take_number(&p, UINT16_MAX, &left)) || *p)
		return fail(NPU_EXIT_USAGE,
			    "--mask: '%s' is not LOOP:rightmost|second|iterator=K:C0[,C1...][:left=N] from '%.40s' on",
			    text, p);
	mask->axis = (uint32_t)axis;
	mask->left_pad = (uint32_t)left;
	return 0;
}
