// SPDX-License-Identifier: MIT
/* "key=value key=value" into the fields of a command. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "isa_text.h"

int isa_bad(const struct isa_place *at, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return fail(NPU_EXIT_INPUT, "%s:%u: %s", at->name, at->line, text);
}

bool isa_number(const char *text, uint64_t *value)
{
	bool minus = *text == '-';
	char *end;

	if (text[minus] < '0' || text[minus] > '9')
		return false;
	errno = 0;
	*value = strtoull(text + minus, &end, 0);
	if (minus)
		*value = -*value;
	return !errno && !*end && (!minus || (int64_t)*value <= 0);
}

static bool fits(const struct isa_field *f, const char *text, uint64_t value)
{
	unsigned int bits = f->bytes * 8u;

	if (f->kind != ISA_SINT)
		return *text != '-' && (bits == 64 || value >> bits == 0);
	if (*text != '-' && value > INT64_MAX)
		return false;
	return bits == 64 || ((int64_t)value >= -(1ll << (bits - 1)) &&
			      (int64_t)value < 1ll << (bits - 1));
}

static bool symbol(const struct isa_field *f, const char *text, uint64_t *value)
{
	if (f->kind == ISA_TYPE) {
		*value = npu_type_parse(text);
		return *value != NPU_TYPE_NONE || !strcmp(text, "none");
	}
	for (unsigned int i = 0; i < f->name_count; i++) {
		if (f->names[i] && !strcmp(f->names[i], text)) {
			*value = f->kind == ISA_FLAGS ? 1ull << i : i;
			return true;
		}
	}
	return false;
}

/* Constants may be written as what they are: value=0.5. */
static bool real(const struct isa_field *f, const char *text, uint64_t *value)
{
	uint32_t bits;
	float x;
	char *end;

	if (strcmp(f->name, "value") || !strpbrk(text, ".") || strpbrk(text, "xX"))
		return false;
	x = strtof(text, &end);
	if (end == text || *end)
		return false;
	memcpy(&bits, &x, sizeof(bits));
	*value = bits;
	return true;
}

static int element(const struct isa_place *at, const struct isa_field *f, const char *text,
		   uint64_t *value)
{
	if (symbol(f, text, value) || real(f, text, value))
		return 0;
	if (!isa_number(text, value))
		return isa_bad(at, "%s: '%s' is neither a number nor one of its names", f->name,
			       text);
	if (!fits(f, text, *value))
		return isa_bad(at, "%s: %s does not fit %u bytes", f->name, text, f->bytes);
	return 0;
}

static int set_field(const struct isa_place *at, const struct isa_field *f, char *text, void *data)
{
	const char *separator = f->kind == ISA_FLAGS ? "|" : ",";
	uint64_t value, flags = 0;
	unsigned int n = 0;
	char *part;
	int ret;

	while ((part = strsep(&text, separator))) {
		ret = element(at, f, part, &value);
		if (ret)
			return ret;
		flags |= value;
		if (f->kind == ISA_FLAGS)
			value = flags;
		else if (n >= f->count)
			return isa_bad(at, "%s: more than %u values", f->name, f->count);
		isa_set(f, data, f->kind == ISA_FLAGS ? 0 : n++, value);
	}
	return 0;
}

/* "32:96,3:32" */
static int set_loops(const struct isa_place *at, char *text, struct npu_cmd_fetch *f)
{
	uint64_t size, stride;
	char *part, *colon;

	while ((part = strsep(&text, ","))) {
		colon = strchr(part, ':');
		if (f->loop_count >= NPU_MAX_LOOPS)
			return isa_bad(at, "loops: more than %d", NPU_MAX_LOOPS);
		if (colon)
			*colon++ = '\0';
		if (!colon || !isa_number(part, &size) || size > UINT32_MAX || *part == '-' ||
		    !isa_number(colon, &stride) || (*colon != '-' && stride > INT64_MAX))
			return isa_bad(at, "loops: '%s' is not SIZE:STRIDE", part);
		f->size[f->loop_count] = (uint32_t)size;
		f->stride[f->loop_count++] = (int64_t)stride;
	}
	return 0;
}

static int set_key(const struct isa_place *at, const struct isa_command *c, char *key, void *data,
		   uint64_t *seen)
{
	char *value = strchr(key, '=');

	if (!value)
		return isa_bad(at, "'%s' is not key=value", key);
	*value++ = '\0';
	if (c->opcode == NPU_OP_FETCH && !strcmp(key, "loops"))
		return set_loops(at, value, data);
	for (unsigned int i = 0; i < c->field_count; i++) {
		if (strcmp(c->fields[i].name, key))
			continue;
		if (*seen >> i & 1)
			return isa_bad(at, "%s: given twice", key);
		*seen |= 1ull << i;
		return set_field(at, &c->fields[i], value, data);
	}
	return isa_bad(at, "'%s' is not a field of %s", key, c->name);
}

int isa_set_fields(const struct isa_place *at, const struct isa_command *c, char *text, void *data)
{
	uint64_t seen = 0;
	char *key;
	int ret = 0;

	while (!ret && (key = strsep(&text, " \t"))) {
		if (*key)
			ret = set_key(at, c, key, data, &seen);
	}
	return ret;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int isa_parse_hex(const struct isa_place *at, const char *hex, uint8_t *out, size_t *bytes)
{
	*bytes = 0;
	while (*hex) {
		int high = digit(hex[0]), low = hex[1] ? digit(hex[1]) : -1;

		if (*hex == ' ') {
			hex++;
			continue;
		}
		if (high < 0 || low < 0)
			return isa_bad(at, "'%.2s' is not a byte in hex", hex);
		out[(*bytes)++] = (uint8_t)(high << 4 | low);
		hex += 2;
	}
	return 0;
}
