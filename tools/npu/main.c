// SPDX-License-Identifier: MIT
/* npu: one program, subcommands in the manner of git. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *does;
} commands[] = {
	{ "info", npu_cmd_info, "devices, driver, engines, limits, SIMD level in use" },
	{ "doctor", npu_cmd_doctor, "why there is no device, and what to do about it" },
	{ "inspect", npu_cmd_inspect, "tensors of a file: name, type, shape, bytes" },
	{ "preprocess", npu_cmd_preprocess, "bf16 to fixed point or int8 in blocks of 32" },
	{ "fetch", npu_cmd_fetch, "fetch a tensor: loops, mask, table, cast, contraction" },
	{ "decode", npu_cmd_decode, "a command stream in words" },
	{ "encode", npu_cmd_encode, "and back" },
	{ "replay", npu_cmd_replay, "run a saved stream again and compare" },
	{ "bench", npu_cmd_bench, "measure every conversion beside the memory bound" },
	{ "top", npu_cmd_top, "live utilisation of the devices" },
};

static void print_help(void)
{
	puts("usage: npu COMMAND [options] ...\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  %-12s%s\n", commands[i].name, commands[i].does);
	puts("\n`npu COMMAND -h` explains a command; npu(1) is the manual.\n"
	     "Exit status: 0 done, 1 failed while running, 2 usage, 3 no such device,\n"
	     "4 not allowed, 5 bad input file, 6 the device reported a fault.");
}

static void print_version(void)
{
	uint32_t v = npu_version();

	printf("npu %u.%u.%u\n", v >> 16, v >> 8 & 0xff, v & 0xff);
}

/* Unfinished output files do not outlive the program, whatever ends it. */
static void on_fatal_signal(int sig)
{
	tensor_unlink_pending();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void set_signals(void)
{
	static const int fatal[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU };
	struct sigaction action = { .sa_handler = on_fatal_signal, .sa_flags = SA_NODEFER };

	for (size_t i = 0; i < ARRAY_SIZE(fatal); i++) {
		struct sigaction old;

		/* nohup and shells hand down ignored signals: they stay so. */
		if (!sigaction(fatal[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(fatal[i], &action, NULL);
	}
	/* A reader that goes away is a write error, with its message. */
	signal(SIGPIPE, SIG_IGN);
}

static int flush_output(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return status ? status : fail(NPU_EXIT_FAILED, "standard output: cannot be written");
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	set_signals();
	if (!name) {
		print_help();
		return flush_output(NPU_EXIT_USAGE);
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		print_help();
		return flush_output(NPU_EXIT_OK);
	}
	if (!strcmp(name, "--version")) {
		print_version();
		return flush_output(NPU_EXIT_OK);
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(name, commands[i].name))
			continue;
		report_begin(commands[i].name);
		return flush_output(commands[i].run(argc - 1, argv + 1));
	}
	return fail(NPU_EXIT_USAGE, "'%s' is not a command; `npu -h` lists them", name);
}
