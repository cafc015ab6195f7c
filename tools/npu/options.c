// SPDX-License-Identifier: MIT
/* The command line: options that all commands share, and numbers in them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

/* Ids of the shared options; a command's own ones are below 256. */
enum {
	OPT_DEVICE = 256,
	OPT_CPU,
	OPT_THREADS,
	OPT_STATS,
	OPT_SAVE_STREAM,
	OPT_JSON,
	OPT_IN_FORMAT,
	OPT_OUT_FORMAT,
	OPT_TYPE,
	OPT_NIBBLE_ORDER,
	OPT_UNPACKED,
	OPT_COUNT,
	OPT_COLS,
	OPT_TILE,
	OPT_VERSION,
	OPT_LAST = 999,		/* the letters of short options would be below 256 */
	OPT_HELP,
	OPT_QUIET,
	OPT_OUTPUT,
};

static const struct shared_option {
	unsigned int group;	/* 0: always there */
	struct option option;
} shared_options[] = {
	{ OPTIONS_DEVICE, { "device", required_argument, NULL, OPT_DEVICE } },
	{ OPTIONS_DEVICE, { "cpu", required_argument, NULL, OPT_CPU } },
	{ OPTIONS_DEVICE, { "threads", required_argument, NULL, OPT_THREADS } },
	{ OPTIONS_RUN, { "stats", no_argument, NULL, OPT_STATS } },
	{ OPTIONS_RUN, { "save-stream", required_argument, NULL, OPT_SAVE_STREAM } },
	{ OPTIONS_RUN, { "tile", required_argument, NULL, OPT_TILE } },
	{ OPTIONS_FILES, { "in-format", required_argument, NULL, OPT_IN_FORMAT } },
	{ OPTIONS_FILES, { "out-format", required_argument, NULL, OPT_OUT_FORMAT } },
	{ OPTIONS_FILES, { "type", required_argument, NULL, OPT_TYPE } },
	{ OPTIONS_FILES, { "nibble-order", required_argument, NULL, OPT_NIBBLE_ORDER } },
	{ OPTIONS_FILES, { "unpacked", no_argument, NULL, OPT_UNPACKED } },
	{ OPTIONS_FILES, { "count", required_argument, NULL, OPT_COUNT } },
	{ OPTIONS_FILES, { "cols", required_argument, NULL, OPT_COLS } },
	{ OPTIONS_OUTPUT, { "output", required_argument, NULL, OPT_OUTPUT } },
	{ 0, { "json", no_argument, NULL, OPT_JSON } },
	{ 0, { "quiet", no_argument, NULL, OPT_QUIET } },
	{ 0, { "help", no_argument, NULL, OPT_HELP } },
	{ 0, { "version", no_argument, NULL, OPT_VERSION } },
};

#define MAX_OPTIONS	64

int parse_s64(const char *what, const char *text, int64_t min, int64_t max, int64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoll(text, &end, 0);
	if (end == text || *end || strchr(" \t\n", *text))
		return fail(NPU_EXIT_USAGE, "%s: '%s' is not a whole number", what, text);
	if (errno || *value < min || *value > max)
		return fail(NPU_EXIT_USAGE, "%s: %s is out of range; it may be %lld to %lld", what,
			    text, (long long)min, (long long)max);
	return 0;
}

int parse_u64(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (end == text || *end || *text < '0' || *text > '9')
		return fail(NPU_EXIT_USAGE, "%s: '%s' is not a whole number from %llu on", what,
			    text, (unsigned long long)min);
	if (errno || *value < min || *value > max)
		return fail(NPU_EXIT_USAGE, "%s: %s is out of range; it may be %llu to %llu", what,
			    text, (unsigned long long)min, (unsigned long long)max);
	return 0;
}

int parse_double(const char *what, const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	if (end == text || *end || !isfinite(*value))
		return fail(NPU_EXIT_USAGE, "%s: '%s' is not a finite number", what, text);
	return 0;
}

int parse_type(const char *what, const char *text, uint32_t *type)
{
	*type = npu_type_parse(text);
	if (*type == NPU_TYPE_NONE || *type > NPU_TYPE_F32)
		return fail(NPU_EXIT_USAGE,
			    "%s: '%s' is not an element type; they are i4 i8 i16 i32 f4e2m1 f8e4m3 f8e5m2 bf16 f32",
			    what, text);
	return 0;
}

int parse_name(const char *what, const char *text, const char *const *names, unsigned int count,
	       uint32_t *value)
{
	char list[256] = "";

	for (unsigned int i = 0; i < count; i++) {
		size_t n = strlen(list);

		if (!names[i])
			continue;
		if (!strcmp(names[i], text)) {
			*value = i;
			return 0;
		}
		snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", names[i]);
	}
	return fail(NPU_EXIT_USAGE, "%s: '%s' is none of %s", what, text, list);
}

static int file_option(struct options *opts, int id, const char *arg)
{
	static const char *const orders[] = { "low", "high" };
	struct tensor_opts *t = &opts->tensor;
	struct tensor_error err;
	uint32_t order;
	int ret;

	switch (id) {
	case OPT_IN_FORMAT:
	case OPT_OUT_FORMAT:
		ret = tensor_format_parse(arg, id == OPT_IN_FORMAT ? &opts->in_format :
					  &opts->out_format, &err);
		return ret ? fail(NPU_EXIT_USAGE, "--%s-format: %s",
				  id == OPT_IN_FORMAT ? "in" : "out", err.text) : 0;
	case OPT_TYPE:
		return parse_type("--type", arg, &t->type);
	case OPT_NIBBLE_ORDER:
		ret = parse_name("--nibble-order", arg, orders, ARRAY_SIZE(orders), &order);
		t->nibble_high = order == 1;
		return ret;
	case OPT_UNPACKED:
		t->unpacked = true;
		return 0;
	case OPT_COUNT:
		t->has_count = true;
		return parse_u64("--count", arg, 0, INT64_MAX, &t->count);
	default:
		return parse_u64("--cols", arg, 1, INT64_MAX, &t->cols);
	}
}

static int shared_option(struct options *opts, int id, const char *arg)
{
	uint64_t n;
	int ret;

	switch (id) {
	case OPT_DEVICE:
		opts->device = strcmp(arg, "auto") ? arg : NULL;
		return 0;
	case OPT_CPU:
		opts->cpu = strcmp(arg, "auto") ? arg : NULL;
		return 0;
	case OPT_THREADS:
		ret = parse_u64("--threads", arg, 1, 4096, &n);
		opts->threads = ret ? 0 : (unsigned int)n;
		return ret;
	case OPT_STATS:
		opts->stats = true;
		return 0;
	case OPT_SAVE_STREAM:
		opts->save_stream = arg;
		return 0;
	case OPT_TILE:
		return parse_u64("--tile", arg, 1, 1ull << 32, &opts->tile_bytes);
	case OPT_JSON:
		opts->json = true;
		return 0;
	case OPT_QUIET:
		opts->quiet = true;
		return 0;
	case OPT_OUTPUT:
		opts->output = arg;
		return 0;
	default:
		return file_option(opts, id, arg);
	}
}

static void build_table(const struct command_line *line, struct option *table)
{
	unsigned int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(shared_options); i++) {
		unsigned int group = shared_options[i].group;

		if (!group || group & line->groups)
			table[n++] = shared_options[i].option;
	}
	for (const struct option *o = line->own; o && o->name && n < MAX_OPTIONS - 1; o++)
		table[n++] = *o;
	memset(&table[n], 0, sizeof(table[n]));
}

static int bad_option(const struct option *table, int argc, char **argv, int id)
{
	const char *arg = optind > 0 && optind <= argc ? argv[optind - 1] : "";

	if (id == ':' && optopt < 256 && optopt > 0 && strncmp(arg, "--", 2))
		return fail(NPU_EXIT_USAGE, "-%c: an argument is missing; -h explains", optopt);
	if (id == ':')
		return fail(NPU_EXIT_USAGE, "%s: an argument is missing; -h explains", arg);
	for (; optopt && table->name; table++) {
		if (table->val == optopt)
			return fail(NPU_EXIT_USAGE, "--%s: takes no argument; -h explains",
				    table->name);
	}
	if (optopt && optopt < 256)
		return fail(NPU_EXIT_USAGE, "-%c: no such option; -h lists them", optopt);
	return fail(NPU_EXIT_USAGE, "%s: no such option, or short for several; -h lists them", arg);
}

static int check_operands(const struct command_line *line, int count, char **operands)
{
	if (count < line->min)
		return fail(NPU_EXIT_USAGE, "%s: missing; -h explains", line->operands);
	if (count > line->max)
		return fail(NPU_EXIT_USAGE, "'%s': one operand too many; -h explains",
			    operands[line->max]);
	return 0;
}

/* Id of a short option; those of a command are long only, so that letters cannot clash. */
static int option_id(int c)
{
	switch (c) {
	case 'h':
		return OPT_HELP;
	case 'q':
		return OPT_QUIET;
	case 'o':
		return OPT_OUTPUT;
	default:
		return c;
	}
}

int options_parse(const struct command_line *line, int argc, char **argv, struct options *opts,
		  bool *done)
{
	const char *letters = line->groups & OPTIONS_OUTPUT ? ":hqo:" : ":hq";
	struct option table[MAX_OPTIONS];
	int id, ret;

	*done = false;
	memset(opts, 0, sizeof(*opts));
	build_table(line, table);
	opterr = 0;
	optind = 1;
	while ((id = getopt_long(argc, argv, letters, table, NULL)) != -1) {
		if (id == '?' || id == ':')
			return bad_option(table, argc, argv, id);
		id = option_id(id);
		if (id == OPT_HELP || id == OPT_VERSION) {
			uint32_t v = npu_version();

			if (id == OPT_HELP)
				fputs(line->help, stdout);
			else
				printf("npu %u.%u.%u\n", v >> 16, v >> 8 & 0xff, v & 0xff);
			*done = true;
			return 0;
		}
		ret = id < 256 ? line->handle(line->ctx, id, optarg) :
				 shared_option(opts, id, optarg);
		if (ret)
			return ret;
	}
	if (opts->quiet || opts->json)
		report_quiet();
	if (opts->json && opts->stats)
		report_keep_warnings();
	return check_operands(line, argc - optind, argv + optind);
}
