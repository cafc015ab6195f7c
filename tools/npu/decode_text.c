// SPDX-License-Identifier: MIT
/* A command stream as text and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "isa_text.h"

/* Where the well-formed commands of a stream end; what follows is printed as bytes. */
static size_t command_bytes(const uint8_t *p, size_t left)
{
	const struct isa_command *c;
	struct npu_cmd cmd;

	if (left < sizeof(cmd))
		return 0;
	memcpy(&cmd, p, sizeof(cmd));
	c = isa_find_opcode(cmd.opcode);
	return c && cmd.size == c->size && cmd.size <= left ? cmd.size : 0;
}

static void print_flags(FILE *out, const struct isa_field *f, uint64_t value)
{
	const char *separator = "";

	for (unsigned int i = 0; i < f->name_count; i++) {
		if (!(value >> i & 1))
			continue;
		fprintf(out, "%s%s", separator, f->names[i]);
		separator = "|";
		value &= ~(1ull << i);
	}
	if (value || !*separator)
		fprintf(out, value ? "%s0x%" PRIx64 : "%s%" PRIu64, separator, value);
}

static const char *symbol(const struct isa_field *f, uint64_t value)
{
	if (f->kind == ISA_TYPE)
		return value ? npu_type_name((uint32_t)value) : "none";
	return f->kind == ISA_NAME && value < f->name_count ? f->names[value] : NULL;
}

static void print_value(FILE *out, const struct isa_field *f, int64_t value)
{
	const char *name = symbol(f, (uint64_t)value);

	if (f->kind == ISA_FLAGS)
		print_flags(out, f, (uint64_t)value);
	else if (name)
		fputs(name, out);
	else if (f->kind == ISA_HEX)
		fprintf(out, value ? "0x%" PRIx64 : "%" PRIu64, (uint64_t)value);
	else if (f->kind == ISA_SINT)
		fprintf(out, "%" PRId64, value);
	else
		fprintf(out, "%" PRIu64, (uint64_t)value);
}

/* Elements of an array field up to the last that is not 0. */
static unsigned int used(const struct isa_field *f, const void *cmd, bool all)
{
	unsigned int n = f->count;

	while (!all && n && !isa_get(f, cmd, n - 1))
		n--;
	return n;
}

static bool is_padding(const struct isa_field *f)
{
	return !strncmp(f->name, "pad", 3);
}

/* Nests read better as "loops=32:96,3:32"; a nest that says more than that is printed as it is. */
static bool print_loops(FILE *out, const struct isa_command *c, const void *cmd)
{
	struct npu_cmd_fetch f;

	if (c->opcode != NPU_OP_FETCH)
		return false;
	memcpy(&f, cmd, sizeof(f));
	if (!f.loop_count || f.loop_count > NPU_MAX_LOOPS)
		return false;
	for (unsigned int i = f.loop_count; i < NPU_MAX_LOOPS; i++) {
		if (f.size[i] || f.stride[i])
			return false;
	}
	for (unsigned int i = 0; i < f.loop_count; i++)
		fprintf(out, "%s%u:%" PRId64, i ? "," : " loops=", f.size[i],
			(int64_t)f.stride[i]);
	return true;
}

static bool is_loop_field(const struct isa_field *f)
{
	return !strcmp(f->name, "loop_count") || !strcmp(f->name, "size") ||
	       !strcmp(f->name, "stride");
}

void isa_print_fields(FILE *out, const struct isa_command *c, const void *cmd, bool all)
{
	bool loops;

	fputs(c->name, out);
	loops = print_loops(out, c, cmd);
	for (unsigned int i = 0; i < c->field_count; i++) {
		const struct isa_field *f = &c->fields[i];
		unsigned int n = used(f, cmd, all && !is_padding(f));

		if (!n || (loops && is_loop_field(f)))
			continue;
		fprintf(out, " %s=", f->name);
		for (unsigned int j = 0; j < n; j++) {
			if (j)
				fputc(',', out);
			print_value(out, f, isa_get(f, cmd, j));
		}
	}
	fputc('\n', out);
}

static size_t zero_run(const uint8_t *p, size_t bytes)
{
	size_t n = 0;

	while (n < bytes && !p[n])
		n++;
	return n;
}

void isa_print_bytes(FILE *out, const char *word, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	while (bytes) {
		size_t n = zero_run(p, bytes);

		if (n >= 64) {
			fprintf(out, "zeros %zu\n", n);
		} else {
			n = bytes < 32 ? bytes : 32;
			fprintf(out, "%s ", word);
			for (size_t i = 0; i < n; i++)
				fprintf(out, "%02x", p[i]);
			fputc('\n', out);
		}
		p += n;
		bytes -= n;
	}
}

static uint32_t count_commands(const uint8_t *p, size_t left)
{
	uint32_t count = 0;
	size_t n;

	for (; (n = command_bytes(p, left)); p += n, left -= n)
		count++;
	return count;
}

/* Only what differs from what encode would write by itself. */
static void print_header(FILE *out, const struct npu_stream_header *h, size_t bytes,
			 uint32_t commands)
{
	fprintf(out, "stream version=%u.%u", h->major, h->minor);
	if (h->magic != NPU_STREAM_MAGIC)
		fprintf(out, " magic=0x%x", h->magic);
	if (h->size != bytes)
		fprintf(out, " size=%u", h->size);
	if (h->count != commands)
		fprintf(out, " count=%u", h->count);
	fputc('\n', out);
}

void isa_print(FILE *out, const void *stream, size_t bytes, bool all)
{
	struct npu_stream_header header;
	const uint8_t *p = stream;
	size_t left = bytes, n;
	char words[512];

	if (bytes < sizeof(header)) {
		fputs("stream none\n", out);
		isa_print_bytes(out, "raw", p, bytes);
		return;
	}
	memcpy(&header, p, sizeof(header));
	p += sizeof(header);
	left -= sizeof(header);
	print_header(out, &header, bytes, count_commands(p, left));
	for (uint32_t i = 0; (n = command_bytes(p, left)); i++, p += n, left -= n) {
		uint64_t aligned[512 / 8];	/* commands are at most this long */
		struct npu_cmd cmd;

		memcpy(&cmd, p, sizeof(cmd));
		memcpy(aligned, p, n < sizeof(aligned) ? n : sizeof(aligned));
		isa_describe(aligned, words, sizeof(words));
		fprintf(out, "# %u: %s\n", i, words);
		isa_print_fields(out, isa_find_opcode(cmd.opcode), p, all);
	}
	if (left)
		fputs("# no command that fits: bytes as they are\n", out);
	isa_print_bytes(out, "raw", p, left);
}

static json_t *value_json(const struct isa_field *f, int64_t value)
{
	const char *name = symbol(f, (uint64_t)value);

	return name ? json_string(name) : json_integer((json_int_t)value);
}

static json_t *flags_json(const struct isa_field *f, uint64_t value)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < f->bytes * 8u; i++) {
		if (!(value >> i & 1))
			continue;
		if (i < f->name_count)
			json_array_append_new(list, json_string(f->names[i]));
		else
			json_array_append_new(list, json_integer((json_int_t)(1ull << i)));
	}
	return list;
}

static json_t *command_json(const struct isa_command *c, const void *cmd)
{
	json_t *o = json_pack("{s:s}", "command", c->name);

	for (unsigned int i = 0; i < c->field_count; i++) {
		const struct isa_field *f = &c->fields[i];
		json_t *value;

		if (f->kind == ISA_FLAGS) {
			value = flags_json(f, (uint64_t)isa_get(f, cmd, 0));
		} else if (f->count == 1) {
			value = value_json(f, isa_get(f, cmd, 0));
		} else {
			value = json_array();
			for (unsigned int j = 0; j < f->count; j++)
				json_array_append_new(value, value_json(f, isa_get(f, cmd, j)));
		}
		json_object_set_new(o, f->name, value);
	}
	return o;
}

json_t *isa_json(const void *stream, size_t bytes)
{
	struct npu_stream_header h = { 0 };
	const uint8_t *p = stream;
	json_t *list = json_array();
	size_t left = 0, n;

	if (bytes >= sizeof(h)) {
		memcpy(&h, p, sizeof(h));
		p += sizeof(h);
		left = bytes - sizeof(h);
	}
	for (; (n = command_bytes(p, left)); p += n, left -= n) {
		struct npu_cmd cmd;

		memcpy(&cmd, p, sizeof(cmd));
		json_array_append_new(list, command_json(isa_find_opcode(cmd.opcode), p));
	}
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:o,s:I}", "magic", (json_int_t)h.magic, "major",
			 (json_int_t)h.major, "minor", (json_int_t)h.minor, "size",
			 (json_int_t)h.size, "count", (json_int_t)h.count, "commands", list,
			 "undecoded_bytes", (json_int_t)(bytes >= sizeof(h) ? left : bytes));
}
