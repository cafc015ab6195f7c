// SPDX-License-Identifier: MIT
/*
 * The dictionary in the header of a .npy file.  It is a Python literal, of which numpy writes, and
 * this parser reads, only: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

struct cursor {
	const char *start;
	const char *p;
	const char *end;
	const char *label;
	struct tensor_error *err;
};

static int bad(const struct cursor *c, const char *what)
{
	return tensor_fail(c->err, EBADMSG, "%s: .npy header, character %zu: %s", c->label,
			   (size_t)(c->p - c->start), what);
}

static void skip_space(struct cursor *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r'))
		c->p++;
}

/* Skip spaces and take @ch, if it is next. */
static bool take(struct cursor *c, char ch)
{
	skip_space(c);
	if (c->p == c->end || *c->p != ch)
		return false;
	c->p++;
	return true;
}

static int parse_string(struct cursor *c, char *text, size_t size)
{
	size_t n = 0;
	char quote;

	skip_space(c);
	if (c->p == c->end || (*c->p != '\'' && *c->p != '"'))
		return bad(c, "a string was expected");
	quote = *c->p++;
	while (c->p < c->end && *c->p != quote) {
		/* Printable, without escapes: nothing that numpy writes needs more. */
		if (*c->p == '\\' || *c->p < 0x20 || *c->p > 0x7e)
			return bad(c, "a character that does not belong into a dtype or a key");
		if (n + 1 == size)
			return bad(c, "a string that is too long");
		text[n++] = *c->p++;
	}
	if (c->p == c->end)
		return bad(c, "a string without an end");
	c->p++;
	text[n] = '\0';
	return 0;
}

static bool word_char(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       ch == '_';
}

static int parse_bool(struct cursor *c, bool *value)
{
	const char *word;
	size_t n;

	skip_space(c);
	word = c->p;
	while (c->p < c->end && word_char(*c->p))
		c->p++;
	n = c->p - word;
	if (n == 4 && !memcmp(word, "True", 4))
		*value = true;
	else if (n == 5 && !memcmp(word, "False", 5))
		*value = false;
	else
		return bad(c, "'fortran_order' is neither True nor False");
	return 0;
}

static int parse_dimension(struct cursor *c, uint64_t *value)
{
	const char *first;
	uint64_t v = 0;

	skip_space(c);
	first = c->p;
	while (c->p < c->end && *c->p >= '0' && *c->p <= '9') {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*c->p - '0'), &v) || v > INT64_MAX)
			return bad(c, "a dimension of 2^63 or more");
		c->p++;
	}
	if (c->p == first)
		return bad(c, "a dimension was expected");
	if (*first == '0' && c->p - first > 1)
		return bad(c, "a dimension with a leading zero");
	/* Python 2 wrote its long integers so. */
	if (c->p < c->end && *c->p == 'L')
		c->p++;
	*value = v;
	return 0;
}

static int parse_shape(struct cursor *c, struct npy_header *h)
{
	bool comma = false;
	int ret;

	if (!take(c, '('))
		return bad(c, "'shape' is not a tuple");
	while (!take(c, ')')) {
		if (h->ndim && !comma)
			return bad(c, "a comma was expected in 'shape'");
		if (h->ndim == TENSOR_MAX_DIMS)
			return tensor_fail(c->err, ENOTSUP,
					   "%s: the array has more than %d dimensions", c->label,
					   TENSOR_MAX_DIMS);
		ret = parse_dimension(c, &h->shape[h->ndim]);
		if (ret)
			return ret;
		h->ndim++;
		comma = take(c, ',');
	}
	if (h->ndim == 1 && !comma)
		return bad(c, "'shape' is not a tuple, for want of a comma");
	return 0;
}

static int parse_descr(struct cursor *c, struct npy_header *h)
{
	skip_space(c);
	if (c->p < c->end && (*c->p == '[' || *c->p == '(')) {
		int rest = c->end - c->p < 60 ? (int)(c->end - c->p) : 60;

		return tensor_fail(c->err, ENOTSUP,
				   "%s: the array has a structured dtype, which is not converted: %.*s",
				   c->label, rest, c->p);
	}
	return parse_string(c, h->descr, sizeof(h->descr));
}

static int parse_entry(struct cursor *c, struct npy_header *h, unsigned int *seen)
{
	static const char *const keys[] = { "descr", "fortran_order", "shape" };
	char key[16];
	unsigned int i;
	int ret;

	ret = parse_string(c, key, sizeof(key));
	if (ret)
		return ret;
	for (i = 0; i < 3 && strcmp(key, keys[i]); i++)
		;
	if (i == 3)
		return bad(c, "a key other than 'descr', 'fortran_order' and 'shape'");
	if (*seen & 1u << i)
		return bad(c, "a key that is there twice");
	*seen |= 1u << i;
	if (!take(c, ':'))
		return bad(c, "a colon was expected");
	if (i == 0)
		return parse_descr(c, h);
	return i == 1 ? parse_bool(c, &h->fortran) : parse_shape(c, h);
}

int npy_parse_header(struct npy_header *header, const char *text, size_t bytes, const char *label,
		     struct tensor_error *err)
{
	struct cursor c = { .start = text, .p = text, .end = text + bytes, .label = label,
			    .err = err };
	unsigned int seen = 0;
	bool comma = true;
	int ret;

	memset(header, 0, sizeof(*header));
	if (!take(&c, '{'))
		return bad(&c, "a dictionary was expected");
	while (!take(&c, '}')) {
		if (!comma)
			return bad(&c, "a comma was expected");
		ret = parse_entry(&c, header, &seen);
		if (ret)
			return ret;
		comma = take(&c, ',');
	}
	if (seen != 7)
		return bad(&c, "one of 'descr', 'fortran_order' and 'shape' is missing");
	skip_space(&c);
	if (c.p != c.end)
		return bad(&c, "something follows the dictionary");
	return 0;
}
