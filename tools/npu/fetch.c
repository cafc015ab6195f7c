// SPDX-License-Identifier: MIT
/* npu fetch: the command line. */
#include <string.h>

#include "fetch.h"

static const char help[] =
	"usage: npu fetch [options] IN -o OUT\n"
	"\n"
	"Takes a tensor through the Fetch engine: loops, mask, table lookup, cast, zero point, and\n"
	"into OUT or through a contraction with WEIGHTS. Every stage may be left out.\n"
	"Block scales (NVFP4's *_scale tensors, MXFP4's E8M0) are not applied by any of them:\n"
	"multiply by them yourself.\n"
	"\n"
	"IN and OUT: NAME.npy, NAME.safetensors[:TENSOR], NAME.bin (raw), - (raw)\n"
	"\n"
	"  --lookup T             built-in table: f4e2m1 to f8e4m3 or f8e5m2, f8e4m3 or f8e5m2 to bf16\n"
	"  --table FILE.npy       16, 256 or 65536 entries; the element's bits are the key\n"
	"  --table-fn F           sigmoid gelu gelu-tanh silu tanh exp, with --table-type\n"
	"  --table-type T         type of the entries;  --table-scale S  of i8 keys and entries\n"
	"  --cast T               i4 i8 i16 to i32, f8e4m3 f8e5m2 bf16 to f32, f32 to bf16\n"
	"  --contract WEIGHTS     IN [M, K] times WEIGHTS [N, K] transposed: OUT [M, N]\n"
	"    --zero-point N         subtract N from IN first;  --weight-zero-point N  from WEIGHTS\n"
	"    --weight-type T        where WEIGHTS' file does not say\n"
	"    --k-group G            sums per G elements of K: OUT [M, ceil(K/G), N]\n"
	"  --context main|sub     sub has no mask, no lookup, no contraction\n"
	"  --loop SIZE:STRIDE     a loop, in elements; repeat, outermost first; OUT is then\n"
	"                         [time steps, packet]\n"
	"  --offset N             elements to start at;  --pad BYTES  zeros around the tensor\n"
	"  --packet N             elements of a packet;  --read-size N  elements of a read\n"
	"  --unpadded             packets need not be multiples of 8 bytes\n"
	"  --flits                each packet padded with zeros to 32 bytes\n"
	"  --interleave FILE2     a second tensor: time steps alternate\n"
	"  --mask LOOP:rightmost|second|iterator=K:C0[,C1...][:left=N]\n"
	"                         zero the slots behind C0 (...) valid ones in the last iteration\n"
	"  --type T               element type where the file does not say: i4 i8 i16 i32 f4e2m1\n"
	"                         f8e4m3 f8e5m2 bf16 f32\n"
	"  --nibble-order high, --unpacked, --count N, --cols N     how 4-bit and raw data lie\n"
	"  --in-format F, --out-format F     npy, safetensors, raw: overrides the ending\n"
	"  --device D             auto (default), emu, /dev/accel/accelN\n"
	"  --cpu L                SIMD level of emulation; --threads N\n"
	"  --stats                what was done: the sequencer's figures, cycles, time\n"
	"  --save-stream FILE     keep the jobs for npu replay\n"
	"  --tile BYTES           size of the pieces that are worked on\n"
	"  --json, -q, -h, --version\n";

enum {
	ARG_LOOKUP = 1,
	ARG_TABLE,
	ARG_TABLE_FN,
	ARG_TABLE_TYPE,
	ARG_TABLE_SCALE,
	ARG_CAST,
	ARG_ZERO_POINT,
	ARG_CONTRACT,
	ARG_WEIGHT_ZERO_POINT,
	ARG_WEIGHT_TYPE,
	ARG_K_GROUP,
	ARG_CONTEXT,
	ARG_LOOP,
	ARG_OFFSET,
	ARG_PAD,
	ARG_PACKET,
	ARG_READ_SIZE,
	ARG_UNPADDED,
	ARG_FLITS,
	ARG_INTERLEAVE,
	ARG_MASK,
};

static const struct option own_options[] = {
	{ "lookup", required_argument, NULL, ARG_LOOKUP },
	{ "table", required_argument, NULL, ARG_TABLE },
	{ "table-fn", required_argument, NULL, ARG_TABLE_FN },
	{ "table-type", required_argument, NULL, ARG_TABLE_TYPE },
	{ "table-scale", required_argument, NULL, ARG_TABLE_SCALE },
	{ "cast", required_argument, NULL, ARG_CAST },
	{ "zero-point", required_argument, NULL, ARG_ZERO_POINT },
	{ "contract", required_argument, NULL, ARG_CONTRACT },
	{ "weight-zero-point", required_argument, NULL, ARG_WEIGHT_ZERO_POINT },
	{ "weight-type", required_argument, NULL, ARG_WEIGHT_TYPE },
	{ "k-group", required_argument, NULL, ARG_K_GROUP },
	{ "context", required_argument, NULL, ARG_CONTEXT },
	{ "loop", required_argument, NULL, ARG_LOOP },
	{ "offset", required_argument, NULL, ARG_OFFSET },
	{ "pad", required_argument, NULL, ARG_PAD },
	{ "packet", required_argument, NULL, ARG_PACKET },
	{ "read-size", required_argument, NULL, ARG_READ_SIZE },
	{ "unpadded", no_argument, NULL, ARG_UNPADDED },
	{ "flits", no_argument, NULL, ARG_FLITS },
	{ "interleave", required_argument, NULL, ARG_INTERLEAVE },
	{ "mask", required_argument, NULL, ARG_MASK },
	{ 0 },
};

static const char *const functions[] = {
	[NPU_TABLE_SIGMOID] = "sigmoid",
	[NPU_TABLE_GELU] = "gelu",
	[NPU_TABLE_GELU_TANH] = "gelu-tanh",
	[NPU_TABLE_SILU] = "silu",
	[NPU_TABLE_TANH] = "tanh",
	[NPU_TABLE_EXP] = "exp",
};

static int parse_u32(const char *what, const char *text, uint32_t min, uint32_t *value)
{
	uint64_t n;
	int ret = parse_u64(what, text, min, UINT32_MAX, &n);

	*value = ret ? 0 : (uint32_t)n;
	return ret;
}

/* Any 32-bit number: which ones are zero points is the builder's knowledge. */
static int parse_zero_point(const char *what, const char *text, bool *has, int32_t *value)
{
	int64_t n;
	int ret = parse_s64(what, text, INT32_MIN, INT32_MAX, &n);

	*has = true;
	*value = ret ? 0 : (int32_t)n;
	return ret;
}

static int stage_option(struct fetch_args *a, int id, const char *arg)
{
	switch (id) {
	case ARG_LOOKUP:
		return parse_type("--lookup", arg, &a->lookup);
	case ARG_TABLE:
		a->table = arg;
		return 0;
	case ARG_TABLE_FN:
		return parse_name("--table-fn", arg, functions, ARRAY_SIZE(functions),
				  &a->table_function);
	case ARG_TABLE_TYPE:
		return parse_type("--table-type", arg, &a->table_type);
	case ARG_TABLE_SCALE:
		a->has_table_scale = true;
		return parse_double("--table-scale", arg, &a->table_scale);
	case ARG_CAST:
		return parse_type("--cast", arg, &a->cast);
	case ARG_ZERO_POINT:
		return parse_zero_point("--zero-point", arg, &a->has_zero_point, &a->zero_point);
	case ARG_CONTRACT:
		a->contract = arg;
		return 0;
	case ARG_WEIGHT_ZERO_POINT:
		return parse_zero_point("--weight-zero-point", arg, &a->has_weight_zero_point,
					&a->weight_zero_point);
	case ARG_WEIGHT_TYPE:
		return parse_type("--weight-type", arg, &a->weight_type);
	default:
		return parse_u32("--k-group", arg, 1, &a->k_group);
	}
}

static int handle(void *ctx, int id, const char *arg)
{
	static const char *const contexts[] = { "main", "sub" };
	struct fetch_args *a = ctx;
	uint32_t n;
	int ret;

	switch (id) {
	case ARG_CONTEXT:
		ret = parse_name("--context", arg, contexts, ARRAY_SIZE(contexts), &n);
		a->sub = !ret && n == 1;
		return ret;
	case ARG_LOOP:
		if (a->loop_count == NPU_MAX_LOOPS)
			return fail_rule(NPU_RULE_LOOP_COUNT, "--loop: %s is the ninth", arg);
		return parse_loop(arg, &a->loops[a->loop_count++]);
	case ARG_OFFSET:
		return parse_s64("--offset", arg, INT64_MIN, INT64_MAX, &a->offset);
	case ARG_PAD:
		return parse_u64("--pad", arg, 0, WHOLE_MAX / 4, &a->pad);
	case ARG_PACKET:
		return parse_u32("--packet", arg, 1, &a->packet);
	case ARG_READ_SIZE:
		return parse_u32("--read-size", arg, 1, &a->read_size);
	case ARG_UNPADDED:
		a->unpadded = true;
		return 0;
	case ARG_FLITS:
		a->flits = true;
		return 0;
	case ARG_INTERLEAVE:
		a->interleave = arg;
		return 0;
	case ARG_MASK:
		if (a->has_mask)
			return fail(NPU_EXIT_USAGE, "--mask: a fetch has one mask");
		a->has_mask = true;
		return parse_mask(arg, &a->mask);
	default:
		return stage_option(a, id, arg);
	}
}

static int check_tables(const struct fetch_args *a)
{
	bool function = a->table_function != NO_FUNCTION;

	if ((a->lookup != NPU_TYPE_NONE) + (a->table != NULL) + function > 1)
		return fail(NPU_EXIT_USAGE,
			    "--lookup, --table, --table-fn: a fetch has one lookup; name one of them");
	if (function && !a->table_type)
		return fail(NPU_EXIT_USAGE, "--table-fn: needs --table-type, the type of the entries");
	if (a->table_type && !function && !a->table)
		return fail(NPU_EXIT_USAGE, "--table-type: is for --table or --table-fn");
	if (a->has_table_scale && !function)
		return fail(NPU_EXIT_USAGE, "--table-scale: is for --table-fn");
	return 0;
}

/* What the sub context lacks does not even have a function in libnpu: the rule is told here. */
static int check_context(const struct fetch_args *a)
{
	if (!a->sub)
		return 0;
	if (a->has_mask)
		return fail_rule(NPU_RULE_MASK_CONTEXT, "--mask: with --context sub");
	if (a->lookup || a->table || a->table_function != NO_FUNCTION)
		return fail_rule(NPU_RULE_LOOKUP_CONTEXT, "--%s: with --context sub",
				 a->lookup ? "lookup" : a->table ? "table" : "table-fn");
	if (a->contract)
		return fail_rule(NPU_RULE_CONTRACT_CONTEXT, "--contract: with --context sub");
	return 0;
}

static int check(const struct fetch_args *a, const struct options *opts)
{
	int ret;

	if (!opts->output)
		return fail(NPU_EXIT_USAGE, "-o OUT: missing; -h explains");
	if (opts->save_stream && !strcmp(opts->save_stream, opts->output))
		return fail(NPU_EXIT_USAGE, "%s: named for two outputs", opts->output);
	if (a->has_zero_point && !a->contract)
		return fail_rule(NPU_RULE_ZERO_POINT_SINK, "--zero-point: needs --contract");
	if (!a->contract && (a->has_weight_zero_point || a->weight_type || a->k_group))
		return fail(NPU_EXIT_USAGE, "--%s: is for --contract", a->k_group ? "k-group" :
			    a->weight_type ? "weight-type" : "weight-zero-point");
	if (a->flits && (a->unpadded || a->contract))
		return fail_rule(NPU_RULE_UNPADDED_SINK, "--flits: with %s",
				 a->unpadded ? "--unpadded" : "--contract");
	ret = check_tables(a);
	return ret ? ret : check_context(a);
}

static int run(const struct fetch_args *args, const struct options *opts, const char *arg)
{
	struct npu_device_info info;
	struct npu_device *dev = NULL;
	struct stats stats;
	struct input in;
	int ret;

	ret = input_open(&in, arg, opts->in_format, &opts->tensor);
	if (ret)
		return ret;
	ret = device_open(opts, &dev, &info);
	if (!ret) {
		stats_begin(&stats, &info);
		ret = fetch_run(args, opts, dev, &in, &stats);
	}
	npu_close(dev);
	input_close(&in);
	return ret;
}

int npu_cmd_fetch(int argc, char **argv)
{
	struct fetch_args args = { .table_function = NO_FUNCTION };
	struct options opts;
	struct command_line line = {
		.help = help,
		.groups = OPTIONS_DEVICE | OPTIONS_RUN | OPTIONS_FILES | OPTIONS_OUTPUT,
		.own = own_options,
		.handle = handle,
		.ctx = &args,
		.min = 1,
		.max = 1,
		.operands = "IN",
	};
	bool done;
	int ret;

	ret = options_parse(&line, argc, argv, &opts, &done);
	if (ret || done)
		return ret;
	ret = check(&args, &opts);
	return ret ? ret : run(&args, &opts, argv[optind]);
}
