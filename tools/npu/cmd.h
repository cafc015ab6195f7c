/* SPDX-License-Identifier: MIT */
/*
 * What the subcommands of `npu` share: exit statuses, messages, options.
 *
 * Functions that may fail return an exit status, 0 when they succeed. Whoever finds an error
 * says so by fail*(), which prints one line and returns the status to hand on; nobody prints
 * it again. Only the first error of a process is printed: the others are its consequences.
 */
#ifndef NPU_TOOLS_CMD_H
#define NPU_TOOLS_CMD_H

#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <npu.h>

#include "tensor/tensor.h"

enum npu_exit {
	NPU_EXIT_OK = 0,
	NPU_EXIT_FAILED = 1,	/* while running */
	NPU_EXIT_USAGE = 2,
	NPU_EXIT_NO_DEVICE = 3,
	NPU_EXIT_PERMISSION = 4,
	NPU_EXIT_INPUT = 5,	/* bad input file */
	NPU_EXIT_FAULT = 6,	/* the device reported a fault */
};

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* ---- report.c: messages on standard error ---- */

/* @command stands in front of every message. */
void report_begin(const char *command);
/* Notes are left out. */
void report_quiet(void);
/* Warnings are kept for the JSON record instead of being printed. */
void report_keep_warnings(void);

int fail(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with the name of a rule of the ISA and what it asks for: a usage error. */
int fail_rule(uint32_t rule, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* libnpu's last error, @err its negative errno. */
int fail_npu(int err);
/* An error of the tensor files; @direction says whose errno it is. */
int fail_tensor(int err, const struct tensor_error *error, enum tensor_direction direction);
int fail_memory(void);
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The i-th warning so far, NULL past the last. */
const char *warning_text(unsigned int i);

/* A bar for long work, on a terminal only. */
void progress_begin(uint64_t total_bytes);
void progress_update(uint64_t done_bytes);
/* Wipes the bar; also called before each message. */
void progress_end(void);

/* ---- options.c: the command line ---- */

/* Groups of options that a command takes. */
#define OPTIONS_DEVICE	(1u << 0)	/* --device --cpu --threads */
#define OPTIONS_RUN	(1u << 1)	/* --stats --save-stream */
#define OPTIONS_FILES	(1u << 2)	/* --in-format --out-format --type ... */
#define OPTIONS_OUTPUT	(1u << 3)	/* -o */

struct options {
	const char *device;		/* NULL: auto */
	const char *cpu;		/* NULL: auto */
	unsigned int threads;		/* 0: the library's choice */
	bool json;
	bool quiet;
	bool stats;
	const char *save_stream;
	const char *output;		/* -o */
	uint64_t tile_bytes;
	enum tensor_format in_format;
	enum tensor_format out_format;
	struct tensor_opts tensor;
};

/*
 * struct command_line - how to read one
 * @help: text of -h
 * @groups: OPTIONS_*
 * @own: the command's own options, ended by a zero entry; .val is their id, 1..50
 * @handle: called for each of those with its argument; returns an exit status
 * @min, @max: how many operands there may be
 * @operands: what they are, for the message: "IN"
 */
struct command_line {
	const char *help;
	unsigned int groups;
	const struct option *own;
	int (*handle)(void *ctx, int id, const char *arg);
	void *ctx;
	int min, max;
	const char *operands;
};

/*
 * Reads the command line; operands are left in argv[optind] and on. *@done: -h was given and
 * answered, there is nothing more to do.
 */
int options_parse(const struct command_line *line, int argc, char **argv, struct options *opts,
		  bool *done);

/* Numbers in options: whole, in range, nothing behind them. @what is for the message. */
int parse_u64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *value);
int parse_s64(const char *what, const char *text, int64_t min, int64_t max, int64_t *value);
int parse_double(const char *what, const char *text, double *value);
/* A type that may be named on the command line. */
int parse_type(const char *what, const char *text, uint32_t *type);

/* One of @count names; @names may have gaps. */
int parse_name(const char *what, const char *text, const char *const *names, unsigned int count,
	       uint32_t *value);

/* ---- device.c ---- */

/* Opens what --device asks for. */
int device_open(const struct options *opts, struct npu_device **dev,
		struct npu_device_info *info);
/* Says which one it was, where the choice was ours. */
void device_tell(const struct options *opts, const struct npu_device_info *info);

/* ---- blob.c: files that are no tensors ---- */

/* The whole of @path ("-": standard input), at most @max bytes; free() it. */
int blob_read(const char *path, uint64_t max, void **data, size_t *bytes);
/* @path appears when it is complete. */
int blob_write(const char *path, const void *data, size_t bytes);

/* ---- the subcommands: each returns the exit status ---- */

int npu_cmd_info(int argc, char **argv);
int npu_cmd_doctor(int argc, char **argv);
int npu_cmd_inspect(int argc, char **argv);
int npu_cmd_preprocess(int argc, char **argv);
int npu_cmd_fetch(int argc, char **argv);
int npu_cmd_decode(int argc, char **argv);
int npu_cmd_encode(int argc, char **argv);
int npu_cmd_replay(int argc, char **argv);
int npu_cmd_bench(int argc, char **argv);
int npu_cmd_top(int argc, char **argv);

#endif
