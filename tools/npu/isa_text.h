/* SPDX-License-Identifier: MIT */
/*
 * The command stream as text: one line a command, "fetch src=0x10000 src_type=i8 ...".
 *
 * One table of fields (isa_text.c) serves both directions, so that what decode writes is what
 * encode reads. A field that is left out is 0; any field takes a plain number where its symbolic
 * names do not do, so that every stream has a text, also one that breaks rules.
 */
#ifndef NPU_TOOLS_ISA_TEXT_H
#define NPU_TOOLS_ISA_TEXT_H

#include <stdio.h>

#include <jansson.h>

#include "cmd.h"
#include "save.h"

enum isa_kind {
	ISA_UINT,
	ISA_SINT,
	ISA_HEX,
	ISA_NAME,		/* one of .names */
	ISA_FLAGS,		/* names of bits, joined by | */
	ISA_TYPE,		/* NPU_TYPE_* */
};

struct isa_field {
	const char *name;
	uint16_t offset;
	uint8_t bytes;		/* of one element */
	uint8_t count;		/* > 1: "name=1,2,3"; missing ones are 0 */
	enum isa_kind kind;
	const char *const *names;
	unsigned int name_count;
};

struct isa_command {
	const char *name;
	uint16_t opcode;
	uint16_t size;
	const struct isa_field *fields;
	unsigned int field_count;
};

extern const struct isa_command isa_commands[];
extern const unsigned int isa_command_count;
/* Lines that are no commands: struct npu_result and struct saved_bo. */
extern const struct isa_command isa_result;
extern const struct isa_command isa_buffer;

const struct isa_command *isa_find_opcode(uint32_t opcode);
const struct isa_command *isa_find_name(const char *name);

/* Element @i of a field, sign-extended where the field is signed. */
int64_t isa_get(const struct isa_field *f, const void *cmd, unsigned int i);
void isa_set(const struct isa_field *f, void *cmd, unsigned int i, uint64_t value);

/* ---- decode_text.c ---- */

/* The stream of @bytes, with a comment before each command; @all: fields that are 0 as well. */
void isa_print(FILE *out, const void *stream, size_t bytes, bool all);
/* One line: @c's name and fields out of @data. */
void isa_print_fields(FILE *out, const struct isa_command *c, const void *data, bool all);
/* Lines of @word and up to 32 bytes in hex; runs of zeros as "zeros N". */
void isa_print_bytes(FILE *out, const char *word, const void *data, size_t bytes);
json_t *isa_json(const void *stream, size_t bytes);

/* ---- describe.c ---- */

/* A command in words, for people only; at most @size bytes. */
void isa_describe(const void *cmd, char *text, size_t size);

/* ---- encode_text.c ---- */

/* A text as jobs; a text without "job" lines is one. */
struct isa_job {
	int ring;		/* NPU_RING_*, or -1 if the text does not say */
	uint8_t *stream;
	size_t bytes;
	struct npu_result result;
	struct saved_bo bos[SAVE_MAX_BOS];
	uint8_t *data[SAVE_MAX_BOS];
	uint32_t bo_count;
};

struct isa_jobs {
	struct isa_job **job;
	size_t count;
};

/* @name is for messages; @text is changed. Returns an exit status. */
int isa_parse(const char *name, char *text, struct isa_jobs *jobs);
void isa_jobs_free(struct isa_jobs *jobs);

/* ---- encode_fields.c: "key=value ..." into the fields of @c ---- */

/* Where a message points to. */
struct isa_place {
	const char *name;
	unsigned int line;
};

int isa_bad(const struct isa_place *at, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool isa_number(const char *text, uint64_t *value);
int isa_set_fields(const struct isa_place *at, const struct isa_command *c, char *text,
		   void *data);
/* Bytes in hex; *@bytes of them are written to @out, at most strlen(@hex) / 2. */
int isa_parse_hex(const struct isa_place *at, const char *hex, uint8_t *out, size_t *bytes);

#endif
