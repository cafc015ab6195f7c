// SPDX-License-Identifier: MIT
/* Messages: one line each, on standard error. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"

#define MAX_WARNINGS	32

static struct {
	pthread_mutex_t lock;		/* the reader's and the writer's thread both report */
	const char *command;
	bool quiet;
	bool keep_warnings;
	bool failed;
	char *warnings[MAX_WARNINGS];
	unsigned int warning_count;
	bool bar;			/* a progress bar stands on the line */
	uint64_t total;
	int64_t begun, shown;		/* nanoseconds */
} report = { .lock = PTHREAD_MUTEX_INITIALIZER };

void report_begin(const char *command)
{
	report.command = command;
}

void report_quiet(void)
{
	report.quiet = true;
}

void report_keep_warnings(void)
{
	report.keep_warnings = true;
}

static void wipe_bar(void)
{
	if (report.bar)
		fputs("\r\033[K", stderr);
	report.bar = false;
}

/* Text may hold names out of files and arguments: none may move the cursor or break the line. */
static void print_line(const char *kind, const char *text)
{
	char *line;
	char *p;

	if (asprintf(&line, "npu: %s%s%s%s", report.command ? report.command : "",
		     report.command ? ": " : "", kind, text) < 0)
		return;
	for (p = line; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
	wipe_bar();
	fprintf(stderr, "%s\n", line);
	free(line);
}

static void print_error(const char *fmt, va_list args)
{
	char *text;

	if (vasprintf(&text, fmt, args) < 0)
		return;
	pthread_mutex_lock(&report.lock);
	if (!report.failed)
		print_line("", text);
	report.failed = true;
	pthread_mutex_unlock(&report.lock);
	free(text);
}

int fail(int status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_error(fmt, args);
	va_end(args);
	return status;
}

int fail_rule(uint32_t rule, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return fail(NPU_EXIT_USAGE, "%s; rule %s: %s", text, npu_rule_name(rule),
		    npu_rule_text(rule));
}

int fail_memory(void)
{
	return fail(NPU_EXIT_FAILED, "out of memory");
}

static int status_of(int err)
{
	switch (-err) {
	case EINVAL:
	case ERANGE:
	case E2BIG:
		return NPU_EXIT_USAGE;
	case ENODEV:
	case ENXIO:
	case ENOTSUP:
		return NPU_EXIT_NO_DEVICE;
	case EACCES:
	case EPERM:
		return NPU_EXIT_PERMISSION;
	case EFAULT:
	case ETIME:
	case ETIMEDOUT:
	case ECANCELED:
	case EIO:
		return NPU_EXIT_FAULT;
	default:
		return NPU_EXIT_FAILED;
	}
}

int fail_npu(int err)
{
	return fail(status_of(err), "%s", npu_last_error());
}

int fail_tensor(int err, const struct tensor_error *error, enum tensor_direction direction)
{
	int status = NPU_EXIT_FAILED;

	if (err == -EINVAL)
		status = NPU_EXIT_USAGE;
	else if (err == -EACCES || err == -EPERM || err == -EROFS)
		status = NPU_EXIT_PERMISSION;
	else if (direction == TENSOR_IN && err != -ENOMEM && err != -EMFILE && err != -ENOSPC)
		status = NPU_EXIT_INPUT;
	return fail(status, "%s", error->text);
}

void note(const char *fmt, ...)
{
	va_list args;
	char *text;

	if (report.quiet)
		return;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return;
	pthread_mutex_lock(&report.lock);
	print_line("", text);
	pthread_mutex_unlock(&report.lock);
	free(text);
}

void warn(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return;
	pthread_mutex_lock(&report.lock);
	if (!report.keep_warnings)
		print_line("warning: ", text);
	if (report.warning_count < MAX_WARNINGS)
		report.warnings[report.warning_count++] = text;
	else
		free(text);
	pthread_mutex_unlock(&report.lock);
}

const char *warning_text(unsigned int i)
{
	return i < report.warning_count ? report.warnings[i] : NULL;
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

void progress_begin(uint64_t total_bytes)
{
	report.total = 0;
	if (report.quiet || !isatty(STDERR_FILENO))
		return;
	report.total = total_bytes;
	report.begun = now_ns();
	report.shown = report.begun + 400000000;	/* short work has no bar */
}

void progress_update(uint64_t done_bytes)
{
	static const char full[] = "########################################";
	int64_t now;
	double share, rate;

	if (!report.total)
		return;
	now = now_ns();
	if (now < report.shown)
		return;
	report.shown = now + 100000000;
	share = (double)done_bytes / (double)report.total;
	rate = (double)done_bytes * 1e9 / (double)(now - report.begun);
	pthread_mutex_lock(&report.lock);
	fprintf(stderr, "\r[%-40.*s] %3.0f %%  %.1f MB/s  %.0f s left\033[K", (int)(share * 40),
		full, share * 100, rate / 1e6,
		rate > 0 ? (double)(report.total - done_bytes) / rate : 0);
	report.bar = true;
	pthread_mutex_unlock(&report.lock);
}

void progress_end(void)
{
	pthread_mutex_lock(&report.lock);
	wipe_bar();
	report.total = 0;
	pthread_mutex_unlock(&report.lock);
}
