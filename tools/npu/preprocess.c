// SPDX-License-Identifier: MIT
/* npu preprocess: the command line. */
#include <float.h>
#include <string.h>

#include "preprocess.h"

static const char help[] =
	"usage: npu preprocess [options] IN -o OUT\n"
	"\n"
	"Takes a bf16 tensor through the PREPROCESS engine: blocks of 32 elements of a row (the\n"
	"last axis; blocks never cross rows) are aligned to their largest exponent.\n"
	"\n"
	"IN and OUT: NAME.npy, NAME.safetensors[:TENSOR], NAME.bin (raw), - (raw)\n"
	"\n"
	"  --to FORM              int8 (default), fixed27 (int32), fixed27-packed (54 bytes per 16\n"
	"                         elements, whole blocks), low8 (the RTL's placeholder path)\n"
	"  --scale KIND           of int8: emax (default; 2^(e_max - 133) per block), symmetric\n"
	"                         (max|x| / 127 per block), const (one scale for all)\n"
	"  --scale-value S        of const; without it max|x| / 127 over the tensor\n"
	"  --rounding HOW         of emax: nearest-even (default) or truncate\n"
	"  --emax FILE            e_max of each block, one byte\n"
	"  --exponents FILE       the 32 exponent fields of each block\n"
	"  --scales FILE          of symmetric: the scale of each block, f32\n"
	"  --flat                 take the tensor as one row\n"
	"  --strict               an infinity or NaN in the input is exit status 1, not a warning\n"
	"  --type bf16            where the file says no more than 16 bits\n"
	"  --cols N               raw input has rows of N elements\n"
	"  --in-format F, --out-format F     npy, safetensors, raw: overrides the ending\n"
	"  --device D             auto (default), emu, /dev/accel/accelN\n"
	"  --cpu L                SIMD level of emulation; --threads N\n"
	"  --stats                what was done: cycles, saturated lanes, non-finite blocks, time\n"
	"  --save-stream FILE     keep the jobs for npu replay\n"
	"  --tile BYTES           size of the pieces that are worked on\n"
	"  --json, -q, -h, --version\n";

enum {
	ARG_TO = 1,
	ARG_SCALE,
	ARG_SCALE_VALUE,
	ARG_ROUNDING,
	ARG_STRICT,
	ARG_EMAX,
	ARG_EXPONENTS,
	ARG_SCALES,
	ARG_FLAT,
};

static const struct option own_options[] = {
	{ "to", required_argument, NULL, ARG_TO },
	{ "scale", required_argument, NULL, ARG_SCALE },
	{ "scale-value", required_argument, NULL, ARG_SCALE_VALUE },
	{ "rounding", required_argument, NULL, ARG_ROUNDING },
	{ "strict", no_argument, NULL, ARG_STRICT },
	{ "emax", required_argument, NULL, ARG_EMAX },
	{ "exponents", required_argument, NULL, ARG_EXPONENTS },
	{ "scales", required_argument, NULL, ARG_SCALES },
	{ "flat", no_argument, NULL, ARG_FLAT },
	{ 0 },
};

/* INT8_* are told apart by --scale. */
#define TO_INT8	NPU_PP_MODE_INT8_EMAX

static const char *const forms[] = {
	[NPU_PP_MODE_FIXED27] = "fixed27",
	[NPU_PP_MODE_FIXED27_PACKED] = "fixed27-packed",
	[NPU_PP_MODE_LOW8] = "low8",
	[TO_INT8] = "int8",
};

static const char *const scales[] = {
	[NPU_PP_MODE_INT8_EMAX] = "emax",
	[NPU_PP_MODE_INT8_SYMMETRIC] = "symmetric",
	[NPU_PP_MODE_INT8_CONST] = "const",
};

static const char *const roundings[] = {
	[NPU_ROUND_NEAREST_EVEN] = "nearest-even",
	[NPU_ROUND_TRUNCATE] = "truncate",
};

struct given {
	struct preprocess_args args;
	uint32_t form;
	uint32_t scale_kind;		/* 0: not given */
	bool rounding;
};

static int handle(void *ctx, int id, const char *arg)
{
	struct given *g = ctx;

	switch (id) {
	case ARG_TO:
		return parse_name("--to", arg, forms, ARRAY_SIZE(forms), &g->form);
	case ARG_SCALE:
		return parse_name("--scale", arg, scales, ARRAY_SIZE(scales), &g->scale_kind);
	case ARG_SCALE_VALUE:
		g->args.has_scale = true;
		return parse_double("--scale-value", arg, &g->args.scale);
	case ARG_ROUNDING:
		g->rounding = true;
		return parse_name("--rounding", arg, roundings, ARRAY_SIZE(roundings),
				  &g->args.rounding);
	case ARG_STRICT:
		g->args.strict = true;
		return 0;
	case ARG_EMAX:
		g->args.emax = arg;
		return 0;
	case ARG_EXPONENTS:
		g->args.exponents = arg;
		return 0;
	case ARG_SCALES:
		g->args.scales = arg;
		return 0;
	default:
		g->args.flat = true;
		return 0;
	}
}

static int check_scale_value(const struct preprocess_args *args)
{
	if (!args->has_scale)
		return 0;
	if (args->mode != NPU_PP_MODE_INT8_CONST)
		return fail(NPU_EXIT_USAGE, "--scale-value: is for --scale const only");
	/* As an f32, which is what the constant cache holds. */
	if (!(args->scale <= FLT_MAX) || !((float)args->scale > 0))
		return fail_rule(NPU_RULE_CONST_VALUE, "--scale-value: %g as f32 is %g", args->scale,
				 (double)(float)args->scale);
	return 0;
}

/* Combinations that mean nothing. */
static int check(struct given *g)
{
	struct preprocess_args *args = &g->args;
	bool int8 = g->form == TO_INT8;

	if (g->scale_kind && !int8)
		return fail(NPU_EXIT_USAGE, "--scale: is for --to int8, not for %s", forms[g->form]);
	args->mode = int8 && g->scale_kind ? g->scale_kind : g->form;
	if (g->rounding && args->mode != NPU_PP_MODE_INT8_EMAX)
		return fail_rule(NPU_RULE_PREPROCESS_ROUNDING, "--rounding: is for --to int8 --scale emax");
	if (args->scales && args->mode != NPU_PP_MODE_INT8_SYMMETRIC)
		return fail_rule(NPU_RULE_PREPROCESS_SCALES,
				 "--scales: is for --to int8 --scale symmetric");
	return check_scale_value(args);
}

static int check_files(const struct given *g, const struct options *opts)
{
	const char *files[] = { opts->output, g->args.emax, g->args.exponents, g->args.scales,
				opts->save_stream };

	if (!opts->output)
		return fail(NPU_EXIT_USAGE, "-o OUT: missing; -h explains");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		for (size_t j = i + 1; files[i] && j < ARRAY_SIZE(files); j++) {
			if (files[j] && !strcmp(files[i], files[j]))
				return fail(NPU_EXIT_USAGE, "%s: named for two outputs", files[i]);
		}
	}
	return 0;
}

static int run(const struct given *g, const struct options *opts, const char *arg)
{
	struct npu_device_info info;
	struct npu_device *dev = NULL;
	struct stats stats;
	struct input in;
	int ret;

	ret = input_open(&in, arg, opts->in_format, &opts->tensor);
	if (ret)
		return ret;
	if (in.t.type != NPU_TYPE_BF16)
		ret = fail(NPU_EXIT_USAGE,
			   "%s: the elements are %s, PREPROCESS takes bf16; npu fetch --cast bf16 makes them of f32",
			   arg, npu_type_name(in.t.type));
	if (!ret)
		ret = device_open(opts, &dev, &info);
	if (!ret) {
		stats_begin(&stats, &info);
		ret = preprocess_run(&g->args, opts, dev, &in, &stats);
	}
	npu_close(dev);
	input_close(&in);
	return ret;
}

int npu_cmd_preprocess(int argc, char **argv)
{
	struct given g = { .form = TO_INT8 };
	struct options opts;
	struct command_line line = {
		.help = help,
		.groups = OPTIONS_DEVICE | OPTIONS_RUN | OPTIONS_FILES | OPTIONS_OUTPUT,
		.own = own_options,
		.handle = handle,
		.ctx = &g,
		.min = 1,
		.max = 1,
		.operands = "IN",
	};
	bool done;
	int ret;

	ret = options_parse(&line, argc, argv, &opts, &done);
	if (ret || done)
		return ret;
	ret = check(&g);
	if (!ret)
		ret = check_files(&g, &opts);
	return ret ? ret : run(&g, &opts, argv[optind]);
}
