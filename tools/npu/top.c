// SPDX-License-Identifier: MIT
/* npu top: how busy the devices are, and with whose work. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "top.h"

static const char help[] =
	"usage: npu top [options]\n"
	"\n"
	"Live utilisation of the devices: each engine's busy time, and each process's share and\n"
	"memory. On a terminal until it is interrupted, else once.\n"
	"\n"
	"  --interval SECONDS     between two looks, default 1\n"
	"  --count N              looks, then end\n"
	"  --json                 one object a look, one line each\n"
	"  -q, -h, --version\n";

enum { ARG_INTERVAL = 1, ARG_COUNT };

static const struct option own_options[] = {
	{ "interval", required_argument, NULL, ARG_INTERVAL },
	{ "count", required_argument, NULL, ARG_COUNT },
	{ 0 },
};

struct top_args {
	double interval;
	uint64_t count;			/* 0: not given */
};

static int handle(void *ctx, int id, const char *arg)
{
	struct top_args *args = ctx;
	int ret;

	if (id == ARG_COUNT)
		return parse_u64("--count", arg, 1, UINT32_MAX, &args->count);
	ret = parse_double("--interval", arg, &args->interval);
	if (!ret && (args->interval < 0.05 || args->interval > 3600))
		ret = fail(NPU_EXIT_USAGE, "--interval: %s is out of range; 0.05 to 3600", arg);
	return ret;
}

static double share(uint64_t before, uint64_t after, double seconds)
{
	double s = after > before ? (double)(after - before) / seconds / 1e9 : 0;

	return s > 1 ? 1 : s;
}

static const struct top_client *find_client(const struct top_look *look,
					    const struct top_client *c)
{
	for (unsigned int i = 0; i < look->client_count; i++) {
		if (look->clients[i].pid == c->pid && look->clients[i].id == c->id)
			return &look->clients[i];
	}
	return NULL;
}

static void print_bar(double s)
{
	char bar[31];

	memset(bar, ' ', sizeof(bar) - 1);
	memset(bar, '#', (size_t)(s * (sizeof(bar) - 1) + 0.5));
	bar[sizeof(bar) - 1] = '\0';
	printf("[%s] %5.1f %%", bar, s * 100);
}

static void print_text(const struct top_look *was, const struct top_look *is, bool terminal)
{
	double seconds = is->seconds - was->seconds;

	if (terminal)
		fputs("\033[H\033[J", stdout);
	for (unsigned int i = 0; i < is->device_count; i++) {
		const struct top_device *d = &is->devices[i];

		printf("%s\n", d->name);
		for (unsigned int e = 0; e < NPU_RING_COUNT; e++) {
			printf("  %-11s ", npu_ring_name(e));
			print_bar(share(was->devices[i].busy_ns[e], d->busy_ns[e], seconds));
			putchar('\n');
		}
	}
	printf("\n%8s  %-16s", "pid", "process");
	for (unsigned int e = 0; e < NPU_RING_COUNT; e++)
		printf("  %11s", npu_ring_name(e));
	printf("  %10s\n", "memory");
	for (unsigned int i = 0; i < is->client_count; i++) {
		const struct top_client *c = &is->clients[i], *old = find_client(was, c);

		printf("%8d  %-16s", c->pid, c->command);
		for (unsigned int e = 0; e < NPU_RING_COUNT; e++)
			printf("  %9.1f %%", 100 * share(old ? old->busy_ns[e] : c->busy_ns[e],
							 c->busy_ns[e], seconds));
		printf("  %6.1f MiB\n", (double)c->memory / (1 << 20));
	}
	fflush(stdout);
}

static json_t *engines_json(const uint64_t *was, const uint64_t *is, double seconds)
{
	json_t *o = json_object();

	for (unsigned int e = 0; e < NPU_RING_COUNT; e++)
		json_object_set_new(o, npu_ring_name(e), json_real(share(was[e], is[e], seconds)));
	return o;
}

static void print_json(const struct top_look *was, const struct top_look *is)
{
	json_t *devices = json_array(), *clients = json_array(), *o;
	double seconds = is->seconds - was->seconds;
	char *text;

	for (unsigned int i = 0; i < is->device_count; i++)
		json_array_append_new(devices, json_pack("{s:s,s:o}", "name", is->devices[i].name,
			"busy", engines_json(was->devices[i].busy_ns, is->devices[i].busy_ns,
					     seconds)));
	for (unsigned int i = 0; i < is->client_count; i++) {
		const struct top_client *c = &is->clients[i], *old = find_client(was, c);

		json_array_append_new(clients, json_pack("{s:i,s:s,s:o,s:I}", "pid", c->pid,
			"command", c->command, "busy",
			engines_json((old ? old : c)->busy_ns, c->busy_ns, seconds), "memory",
			(json_int_t)c->memory));
	}
	o = json_pack("{s:f,s:o,s:o}", "seconds", seconds, "devices", devices, "clients", clients);
	text = json_dumps(o, JSON_COMPACT);
	puts(text ? text : "{}");
	fflush(stdout);
	free(text);
	json_decref(o);
}

static void sleep_for(double seconds)
{
	struct timespec ts = { .tv_sec = (time_t)seconds };

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	while (nanosleep(&ts, &ts))
		;
}

static int watch(const struct top_args *args, const struct options *opts)
{
	static struct top_look looks[2];
	bool terminal = isatty(STDOUT_FILENO) && !opts->json;
	uint64_t count = args->count ? args->count : terminal ? UINT64_MAX : 1;

	top_look(&looks[0]);
	if (!looks[0].device_count)
		return fail(NPU_EXIT_NO_DEVICE,
			    "/sys/class/accel: no device of the driver npu; npu doctor says why");
	for (uint64_t i = 0; i < count; i++) {
		struct top_look *was = &looks[i % 2], *is = &looks[(i + 1) % 2];

		sleep_for(args->interval);
		top_look(is);
		if (is->device_count != was->device_count)
			return fail(NPU_EXIT_NO_DEVICE, "/sys/class/accel: a device has come or gone");
		if (opts->json)
			print_json(was, is);
		else
			print_text(was, is, terminal);
	}
	return 0;
}

int npu_cmd_top(int argc, char **argv)
{
	struct top_args args = { .interval = 1 };
	struct options opts;
	struct command_line line = {
		.help = help, .own = own_options, .handle = handle, .ctx = &args,
	};
	bool done;
	int ret;

	ret = options_parse(&line, argc, argv, &opts, &done);
	return ret || done ? ret : watch(&args, &opts);
}
