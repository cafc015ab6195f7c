// SPDX-License-Identifier: MIT
/* npu bench: every conversion at every SIMD level, beside what the memory allows. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"

static const char help[] =
	"usage: npu bench [options]\n"
	"\n"
	"Elements per second of each conversion at each SIMD level, one thread, for working\n"
	"sets (input and output together) of 16 KiB, 256 KiB and 256 MiB. The bound is a loop\n"
	"that reads and writes the same bytes and does nothing with them, the better of plain\n"
	"and non-temporal stores; memcpy counts bytes read plus bytes written. All are\n"
	"measured in turns, in CPU time; the best repetition counts. Then what a job costs\n"
	"to submit.\n"
	"\n"
	"  --job NAME             only this one\n"
	"  --level LEVEL          only this one (default: all that work here)\n"
	"  --set L1|L2|DRAM       only this one\n"
	"  --quick                less than 20 s: the best level only, fewer repetitions\n"
	"  --csv                  a line per result\n"
	"  --no-submit            conversions only\n"
	"  --submit-only          submit cost only\n"
	"  --device D             for the submit cost: emu (default), /dev/accel/accelN, auto\n"
	"  --cpu L, --threads N   of emulation, for the submit cost\n"
	"  --json, -h, --version\n";

enum { OPT_JOB = 1, OPT_LEVEL, OPT_SET, OPT_QUICK, OPT_CSV, OPT_NO_SUBMIT, OPT_SUBMIT_ONLY };

static const struct option own_options[] = {
	{ "job", required_argument, NULL, OPT_JOB },
	{ "level", required_argument, NULL, OPT_LEVEL },
	{ "set", required_argument, NULL, OPT_SET },
	{ "quick", no_argument, NULL, OPT_QUICK },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "no-submit", no_argument, NULL, OPT_NO_SUBMIT },
	{ "submit-only", no_argument, NULL, OPT_SUBMIT_ONLY },
	{ 0 },
};

static const struct {
	const char *name;
	size_t bytes;
} sets[] = { { "L1", 16 << 10 }, { "L2", 256 << 10 }, { "DRAM", 256 << 20 } };

struct bench {
	struct options opts;
	const char *job;
	const char *level;
	const char *set;
	bool quick;
	bool csv;
	bool no_submit;
	bool submit_only;
	struct bench_memory memory;
	json_t *results;
};

static int handle(void *ctx, int id, const char *arg)
{
	struct bench *b = ctx;

	switch (id) {
	case OPT_JOB:
		b->job = arg;
		for (unsigned int i = 0; i < bench_job_count; i++)
			if (!strcmp(bench_jobs[i].name, arg))
				return 0;
		return fail(NPU_EXIT_USAGE, "--job: there is no job \"%s\"", arg);
	case OPT_LEVEL:
		b->level = arg;
		if (npu_set_cpu_level(arg))
			return fail(NPU_EXIT_USAGE, "--level: %s", npu_last_error());
		/* "auto" is the best */
		b->level = npu_cpu_level();
		npu_set_cpu_level("auto");
		return 0;
	case OPT_SET:
		b->set = arg;
		for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
			if (!strcmp(sets[i].name, arg))
				return 0;
		return fail(NPU_EXIT_USAGE, "--set: \"%s\" is none of L1, L2, DRAM", arg);
	case OPT_QUICK:
		b->quick = true;
		return 0;
	case OPT_CSV:
		b->csv = true;
		return 0;
	case OPT_NO_SUBMIT:
		b->no_submit = true;
		return 0;
	default:
		b->submit_only = true;
		return 0;
	}
}

/* Who takes turns: the levels, then the bounds. */
#define MAX_LEVELS 8
enum { PLAIN = MAX_LEVELS, STREAM, MEMCPY, CONTENDERS };

struct turns {
	const struct bench_job *job;
	size_t n;
	unsigned int calls;		/* of one repetition */
	const char *levels[MAX_LEVELS];
	double best[CONTENDERS];	/* seconds of a call; 0: not measured */
};

static bool run_once(struct turns *t, const struct bench_memory *m, unsigned int who)
{
	size_t half = t->n * (t->job->in_bits + t->job->out_bits) / 16;

	switch (who) {
	case PLAIN:
		return bench_bound(t->job, m, t->n, false);
	case STREAM:
		return bench_bound(t->job, m, t->n, true);
	case MEMCPY:
		memcpy(m->dst, m->src, half);
		/* so that it is not left out */
		__asm__ volatile("" : : "r"(m->dst) : "memory");
		return true;
	default:
		t->job->run(m, t->n);
		return true;
	}
}

static void take_turn(struct turns *t, const struct bench_memory *m, unsigned int who)
{
	unsigned int calls = t->calls;
	double start, seconds;

	if (who < MAX_LEVELS && (!t->levels[who] || npu_set_cpu_level(t->levels[who])))
		return;
	/* one call to warm up what the contender before has left */
	if (calls > 1 && !run_once(t, m, who))
		return;
	start = bench_cpu_now();
	for (unsigned int i = 0; i < calls; i++)
		if (!run_once(t, m, who))
			return;
	seconds = (bench_cpu_now() - start) / calls;
	if (t->best[who] == 0 || seconds < t->best[who])
		t->best[who] = seconds;
}

static void measure(struct bench *b, struct turns *t, size_t bytes)
{
	const struct bench_memory *m = &b->memory;
	unsigned int repetitions = bytes > 1 << 20 ? (b->quick ? 3 : 7) : (b->quick ? 7 : 15);
	size_t n = bytes * 8 / (t->job->in_bits + t->job->out_bits);

	t->n = n / t->job->unit * t->job->unit;
	/* about 4 MiB of data a repetition */
	t->calls = bytes >= 4 << 20 ? 1 : (unsigned int)((4 << 20) / bytes);
	for (unsigned int r = 0; r < repetitions; r++) {
		for (unsigned int who = 0; who < CONTENDERS; who++) {
			/* the slowest levels need no more precision */
			if (r > 1 && t->best[who] * t->calls > 0.2)
				continue;
			take_turn(t, m, who);
		}
	}
	npu_set_cpu_level("auto");
}

static void print_bar(double fraction)
{
	unsigned int filled = (unsigned int)(fraction * 20 + 0.5);

	for (unsigned int i = 0; i < 20; i++)
		fputs(i < filled ? "#" : ".", stdout);
}

static void report(struct bench *b, const struct turns *t, const char *set)
{
	double bound = t->best[PLAIN];
	double bytes = (double)t->n * (t->job->in_bits + t->job->out_bits) / 8;
	double n = (double)t->n;

	if (t->best[STREAM] > 0 && t->best[STREAM] < bound)
		bound = t->best[STREAM];
	for (unsigned int i = 0; i < MAX_LEVELS && t->levels[i]; i++) {
		double rate = n / t->best[i], fraction = bound / t->best[i];

		if (b->opts.json) {
			json_array_append_new(b->results, json_pack(
				"{s:s,s:s,s:s,s:f,s:f,s:f,s:f}", "job", t->job->name, "level",
				t->levels[i], "set", set, "elements_per_second", rate,
				"bound_elements_per_second", n / bound, "fraction", fraction,
				"memcpy_bytes_per_second", bytes / t->best[MEMCPY]));
		} else if (b->csv) {
			printf("%s,%s,%s,%.6g,%.6g,%.4f,%.6g\n", t->job->name, t->levels[i], set,
			       rate, n / bound, fraction, bytes / t->best[MEMCPY]);
		} else {
			printf("%-20s %-11s %-5s %8.2f %8.2f  ", i ? "" : t->job->name,
			       t->levels[i], set, rate / 1e9, n / bound / 1e9);
			print_bar(fraction);
			printf(" %3.0f %%\n", fraction * 100);
		}
	}
	fflush(stdout);
}

/* The levels to measure, lowest first. */
static void choose_levels(const struct bench *b, struct turns *t)
{
	const char *name;
	unsigned int count = 0;

	if (b->level || b->quick) {
		t->levels[0] = b->level ? b->level : npu_cpu_level();
		return;
	}
	for (unsigned int i = 0; (name = npu_cpu_level_name(i)) && count < MAX_LEVELS; i++)
		t->levels[count++] = name;
}

static int measure_all(struct bench *b)
{
	size_t largest = 0;
	int kind = -1;

	for (size_t s = 0; s < ARRAY_SIZE(sets); s++)
		if (!b->set || !strcmp(b->set, sets[s].name))
			largest = sets[s].bytes;
	if (largest < 1 << 20)
		largest = 1 << 20;
	if (bench_memory_new(&b->memory, largest))
		return fail_memory();
	if (b->csv)
		puts("job,level,set,elements_per_second,bound_elements_per_second,fraction,"
		     "memcpy_bytes_per_second");
	else if (!b->opts.json)
		printf("%-20s %-11s %-5s %8s %8s  of the bound\n", "job", "level", "set", "G/s",
		       "bound");
	for (unsigned int i = 0; i < bench_job_count; i++) {
		const struct bench_job *job = &bench_jobs[i];

		if (b->job && strcmp(b->job, job->name))
			continue;
		if (kind != job->bf16)
			bench_memory_fill(&b->memory, job->bf16);
		kind = job->bf16;
		for (size_t s = 0; s < ARRAY_SIZE(sets); s++) {
			struct turns t = { .job = job };

			if (b->set && strcmp(b->set, sets[s].name))
				continue;
			choose_levels(b, &t);
			measure(b, &t, sets[s].bytes);
			report(b, &t, sets[s].name);
		}
	}
	return 0;
}

/* The first line of a file in /proc or /sys that starts with @key, behind its colon. */
static void read_line(const char *path, const char *key, char *value, size_t size)
{
	char line[512];
	FILE *f = fopen(path, "r");

	snprintf(value, size, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		char *text = line;

		if (strncmp(line, key, strlen(key)))
			continue;
		if (*key && strchr(line, ':'))
			text = strchr(line, ':') + 2;
		text[strcspn(text, "\n")] = 0;
		snprintf(value, size, "%.250s", text);
		break;
	}
	if (f)
		fclose(f);
}

static json_t *machine_json(void)
{
	struct utsname uts;
	char cpu[256], caches[3][64];

	uname(&uts);
	read_line("/proc/cpuinfo", "model name", cpu, sizeof(cpu));
	read_line("/sys/devices/system/cpu/cpu0/cache/index0/size", "", caches[0], 64);
	read_line("/sys/devices/system/cpu/cpu0/cache/index2/size", "", caches[1], 64);
	read_line("/sys/devices/system/cpu/cpu0/cache/index3/size", "", caches[2], 64);
	return json_pack("{s:s,s:I,s:s,s:s,s:s,s:s,s:s,s:s}", "cpu", cpu, "cpus",
			 (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "l1d", caches[0], "l2",
			 caches[1], "l3", caches[2], "kernel", uts.release, "architecture",
			 uts.machine, "compiler", __VERSION__);
}

static int finish(struct bench *b)
{
	json_t *submit = NULL, *o;
	int ret = 0;
	char *text;

	if (!b->no_submit)
		submit = bench_submit(&b->opts, b->quick, &ret);
	if (!b->opts.json) {
		if (submit && !b->csv)
			bench_submit_print(submit);
		json_decref(submit);
		return ret;
	}
	o = json_pack("{s:o,s:O,s:o}", "machine", machine_json(), "results", b->results, "submit",
		      submit ? submit : json_object());
	text = o ? json_dumps(o, JSON_INDENT(1)) : NULL;
	puts(text ? text : "{}");
	free(text);
	json_decref(o);
	return ret;
}

int npu_cmd_bench(int argc, char **argv)
{
	struct bench b = { 0 };
	struct command_line line = { .help = help, .groups = OPTIONS_DEVICE, .own = own_options,
				     .handle = handle, .ctx = &b };
	bool done;
	int ret;

	ret = options_parse(&line, argc, argv, &b.opts, &done);
	if (ret || done)
		return ret;
	if (!b.opts.device)
		b.opts.device = "emu";
	b.results = json_array();
	/* one job, level or set is about the conversions */
	if (b.job || b.level || b.set)
		b.no_submit = !b.submit_only;
	if (!b.submit_only)
		ret = measure_all(&b);
	if (!ret)
		ret = finish(&b);
	json_decref(b.results);
	return ret;
}
