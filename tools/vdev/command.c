// SPDX-License-Identifier: MIT
/*
 * The control language, for the control socket and for --fault alike: a word,
 * then key=value pairs. Documentation/npu-vdev.rst describes each command.
 */
#include "vdev.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum key {
	KEY_RING, KEY_JOB, KEY_COUNT, KEY_MS, KEY_US, KEY_TIMES, KEY_VALUE, KEY_ADDRESS, KEY_FIELD,
	KEY_KIND, KEYS
};

#define RING	(1u << KEY_RING)
#define JOB	(1u << KEY_JOB)
#define COUNT	(1u << KEY_COUNT)
#define MS	(1u << KEY_MS)
#define US	(1u << KEY_US)
#define TIMES	(1u << KEY_TIMES)
#define VALUE	(1u << KEY_VALUE)
#define ADDRESS	(1u << KEY_ADDRESS)
#define FIELD	(1u << KEY_FIELD)
#define KIND	(1u << KEY_KIND)

/* ~0 as a ring: any */
struct args {
	uint32_t seen;
	uint64_t key[KEYS];
};

struct reply {
	char *text;
	size_t size;
};

static const char *const key_name[KEYS] = {
	"ring", "job", "count", "ms", "us", "times", "value", "address", "field", "kind",
};

static const uint64_t key_max[KEYS] = {
	[KEY_RING] = NPU_RING_COUNT - 1,
	[KEY_JOB] = UINT32_MAX,
	[KEY_COUNT] = UINT32_MAX,
	[KEY_MS] = 3600000,
	[KEY_US] = 3600000000,
	[KEY_TIMES] = 1000000,
	[KEY_VALUE] = UINT64_MAX,
	[KEY_ADDRESS] = UINT64_MAX,
};

static const char *const ring_name[] = { "fetch-main", "fetch-sub", "preprocess", NULL };
static const char *const field_name[] = {
	"all", "sequence", "status", "rule", "command", "address", "cycles", "clock", "reserved",
	NULL
};

static const char *const kind_name[] = {
	"none", "entry", "slot", "stream", "table", "data", "tail", "internal", NULL
};

static void say(struct reply *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct reply *r, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(r->text, r->size, fmt, ap);
	va_end(ap);
	if (n > 0) {
		if ((size_t)n >= r->size)
			n = r->size ? r->size - 1 : 0;
		r->text += n;
		r->size -= n;
	}
}

static bool parse_name(const char *const *names, const char *text, uint64_t *value)
{
	uint64_t n;

	for (n = 0; names && names[n]; n++) {
		if (!strcmp(names[n], text)) {
			*value = n;
			return true;
		}
	}
	return false;
}

static bool parse_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && !*end && *value <= max;
}

static bool parse_key(struct args *a, enum key key, const char *text)
{
	uint64_t *value = &a->key[key];

	switch (key) {
	case KEY_RING:
		if (!strcmp(text, "any")) {
			*value = UINT64_MAX;
			return true;
		}
		if (parse_name(ring_name, text, value))
			return true;
		break;
	case KEY_FIELD:
		return parse_name(field_name, text, value);
	case KEY_KIND:
		return parse_name(kind_name, text, value) && *value;
	default:
		break;
	}
	return parse_number(text, key_max[key], value);
}

/* Takes a line apart, which it changes. False with an error in the reply. */
static bool parse_args(struct args *a, char *rest, uint32_t allowed, struct reply *r)
{
	char *token, *save = NULL;

	memset(a, 0, sizeof(*a));
	a->key[KEY_RING] = UINT64_MAX;
	a->key[KEY_COUNT] = 1;
	a->key[KEY_JOB] = 1;
	a->key[KEY_TIMES] = 1;
	for (token = strtok_r(rest, " \t", &save); token; token = strtok_r(NULL, " \t", &save)) {
		char *text = strchr(token, '=');
		uint64_t key;

		if (text)
			*text++ = '\0';
		for (key = 0; key < KEYS && strcmp(key_name[key], token); key++)
			;
		if (key == KEYS || !text || !(allowed & 1u << key)) {
			say(r, "error: '%s' is no key of this command", token);
			return false;
		}
		if (!parse_key(a, key, text)) {
			say(r, "error: '%s' is no value of %s", text, token);
			return false;
		}
		a->seen |= 1u << key;
	}
	return true;
}

struct command {
	const char *name;
	uint32_t keys;
	uint32_t needs;		/* of the keys */
	void (*run)(struct vdev *v, const struct command *c, const struct args *a,
		    struct reply *r);
	int kind;		/* FAULT_* of run_rule */
};

static void run_rule(struct vdev *v, const struct command *c, const struct args *a,
		     struct reply *r)
{
	struct fault_rule rule = {
		.kind = c->kind,
		.ring = a->key[KEY_RING] == UINT64_MAX ? -1 : (int)a->key[KEY_RING],
		.skip = a->key[KEY_JOB] ? a->key[KEY_JOB] - 1 : 0,
		.count = a->key[KEY_COUNT],
		.ms = a->key[KEY_MS],
		.times = a->key[KEY_TIMES],
		.value = c->keys & KIND ? a->key[KEY_KIND] : a->key[KEY_FIELD],
		.address = a->key[KEY_ADDRESS],
	};
	bool added;

	pthread_mutex_lock(&v->lock);
	added = fault_add(&v->faults, &rule);
	pthread_mutex_unlock(&v->lock);
	if (added)
		say(r, "ok");
	else
		say(r, "error: more than %d faults are waiting; say reset-faults", FAULT_RULES);
}

/* Without a job: now. */
static void run_report(struct vdev *v, const struct command *c, const struct args *a,
		       struct reply *r)
{
	uint32_t kind = a->key[KEY_KIND];
	unsigned int ring = a->key[KEY_RING] == UINT64_MAX ? 0 : a->key[KEY_RING];

	if (a->seen & JOB) {
		run_rule(v, c, a, r);
		return;
	}
	pthread_mutex_lock(&v->lock);
	if (kind == NPU_FAULT_ENTRY || kind == NPU_FAULT_SLOT || kind == NPU_FAULT_TAIL ||
	    kind == NPU_FAULT_INTERNAL)
		v->ring[ring].stopped = true;
	regs_fault(v, ring, kind, 0, a->key[KEY_ADDRESS]);
	pthread_mutex_unlock(&v->lock);
	say(r, "ok");
}

static void run_storm(struct vdev *v, const struct command *c, const struct args *a,
		      struct reply *r)
{
	unsigned int ring = a->key[KEY_RING] == UINT64_MAX ? 0 : a->key[KEY_RING];
	struct later l = {
		.irq = NPU_IRQ_RING(ring),
		.times = a->seen & TIMES ? a->key[KEY_TIMES] : 1000,
		.interval = a->key[KEY_US] * 1000,
	};

	(void)c;
	pthread_mutex_lock(&v->lock);
	later_add(v, &l, 0);
	pthread_mutex_unlock(&v->lock);
	say(r, "ok");
}

static void run_ident(struct vdev *v, const struct command *c, const struct args *a,
		      struct reply *r)
{
	struct faults *f = &v->faults;
	uint32_t value = a->key[KEY_VALUE];

	pthread_mutex_lock(&v->lock);
	if (!strcmp(c->name, "id")) {
		f->id = value;
		f->has_id = true;
	} else if (!strcmp(c->name, "version")) {
		f->version = value;
		f->has_version = true;
	} else if (!strcmp(c->name, "isa")) {
		f->isa = value;
		f->has_isa = true;
	} else if (!strcmp(c->name, "rings")) {
		f->rings = value;
		f->has_rings = true;
	} else {
		f->not_ready = true;
	}
	pthread_mutex_unlock(&v->lock);
	say(r, "ok");
}

static void run_gone(struct vdev *v, const struct command *c, const struct args *a,
		     struct reply *r)
{
	(void)a;
	pthread_mutex_lock(&v->lock);
	v->gone = !strcmp(c->name, "gone");
	pthread_mutex_unlock(&v->lock);
	vdev_update_dma(v);
	say(r, "ok");
}

static void run_clock(struct vdev *v, const struct command *c, const struct args *a,
		      struct reply *r)
{
	(void)c;
	if (a->key[KEY_VALUE] > 1000) {
		say(r, "error: the clock's rate is 0 to 1000 per cent");
		return;
	}
	vdev_clock_rate(v, a->key[KEY_VALUE]);
	say(r, "ok");
}

static void run_seed(struct vdev *v, const struct command *c, const struct args *a,
		     struct reply *r)
{
	(void)c;
	pthread_mutex_lock(&v->lock);
	v->faults.random = a->key[KEY_VALUE];
	pthread_mutex_unlock(&v->lock);
	say(r, "ok");
}

static void run_reset_faults(struct vdev *v, const struct command *c, const struct args *a,
			     struct reply *r)
{
	pthread_mutex_lock(&v->lock);
	fault_clear(&v->faults);
	v->later_count = 0;
	pthread_mutex_unlock(&v->lock);
	vdev_clock_rate(v, 100);
	run_gone(v, c, a, r);
}

static void run_stats(struct vdev *v, const struct command *c, const struct args *a,
		      struct reply *r)
{
	struct vdev_stats s;
	unsigned int waiting, later;

	(void)c;
	(void)a;
	pthread_mutex_lock(&v->lock);
	s = v->stats;
	waiting = v->faults.count;
	later = v->later_count;
	pthread_mutex_unlock(&v->lock);
	say(r, "ok jobs=%" PRIu64 " jobs0=%" PRIu64 " jobs1=%" PRIu64 " jobs2=%" PRIu64,
	    s.jobs[0] + s.jobs[1] + s.jobs[2], s.jobs[0], s.jobs[1], s.jobs[2]);
	say(r, " faulted=%" PRIu64 " cancelled=%" PRIu64 " device_faults=%" PRIu64, s.faulted,
	    s.cancelled, s.device_faults);
	say(r, " irqs=%" PRIu64 " irqs_lost=%" PRIu64, s.irqs, s.irqs_lost);
	say(r, " ring_resets=%" PRIu64 " resets=%" PRIu64 " function_resets=%" PRIu64
	    " invalidations=%" PRIu64, s.ring_resets, s.resets, s.function_resets,
	    s.invalidations);
	say(r, " dma_read=%" PRIu64 " dma_written=%" PRIu64 " unmapped=%" PRIu64,
	    atomic_load(&v->dma.bytes_read), atomic_load(&v->dma.bytes_written),
	    atomic_load(&v->dma.unmapped));
	say(r, " refused_reads=%" PRIu64 " refused_writes=%" PRIu64,
	    atomic_load(&v->dma.refused_reads), atomic_load(&v->dma.refused_writes));
	say(r, " late_writes=%" PRIu64 " late_landed=%" PRIu64, s.late_writes, s.late_landed);
	say(r, " bus_master=%d faults_waiting=%u later=%u", atomic_load(&v->dma.enabled), waiting,
	    later);
}

static void run_reset_stats(struct vdev *v, const struct command *c, const struct args *a,
			    struct reply *r)
{
	(void)c;
	(void)a;
	pthread_mutex_lock(&v->lock);
	memset(&v->stats, 0, sizeof(v->stats));
	pthread_mutex_unlock(&v->lock);
	atomic_store(&v->dma.bytes_read, 0);
	atomic_store(&v->dma.bytes_written, 0);
	atomic_store(&v->dma.unmapped, 0);
	atomic_store(&v->dma.refused_reads, 0);
	atomic_store(&v->dma.refused_writes, 0);
	say(r, "ok");
}

static void run_disconnect(struct vdev *v, const struct command *c, const struct args *a,
			   struct reply *r)
{
	(void)c;
	(void)a;
	pthread_mutex_lock(&v->lock);
	if (v->client >= 0)
		shutdown(v->client, SHUT_RDWR);
	pthread_mutex_unlock(&v->lock);
	say(r, "ok");
}

static void run_crash(struct vdev *v, const struct command *c, const struct args *a,
		      struct reply *r)
{
	(void)c;
	(void)a;
	(void)r;
	vdev_log(v, "crash, as told");
	_exit(3);
}

static void run_ping(struct vdev *v, const struct command *c, const struct args *a,
		     struct reply *r)
{
	(void)v;
	(void)c;
	(void)a;
	say(r, "ok");
}

static void run_help(struct vdev *v, const struct command *c, const struct args *a,
		     struct reply *r);

#define WHEN	(RING | JOB | COUNT)

static const struct command commands[] = {
	{ "hang", WHEN, 0, run_rule, FAULT_HANG },
	{ "slow", WHEN | MS, MS, run_rule, FAULT_SLOW },
	{ "drop-irq", WHEN, 0, run_rule, FAULT_DROP_IRQ },
	{ "delay-irq", WHEN | MS, MS, run_rule, FAULT_DELAY_IRQ },
	{ "late-completion", WHEN | MS, MS, run_rule, FAULT_LATE_COMPLETION },
	{ "corrupt-slot", WHEN | FIELD, 0, run_rule, FAULT_CORRUPT_SLOT },
	{ "corrupt-walk", WHEN, 0, run_rule, FAULT_CORRUPT_WALK },
	{ "fault", WHEN | KIND | ADDRESS, KIND, run_report, FAULT_REPORT },
	{ "late-write", WHEN | MS | TIMES, MS, run_rule, FAULT_LATE_WRITE },
	{ "refuse-ring-reset", RING | COUNT, 0, run_rule, FAULT_REFUSE_RING_RESET },
	{ "refuse-reset", COUNT, 0, run_rule, FAULT_REFUSE_RESET },
	{ "irq-storm", RING | TIMES | US, 0, run_storm, 0 },
	{ "id", VALUE, VALUE, run_ident, 0 },
	{ "version", VALUE, VALUE, run_ident, 0 },
	{ "isa", VALUE, VALUE, run_ident, 0 },
	{ "rings", VALUE, VALUE, run_ident, 0 },
	{ "not-ready", 0, 0, run_ident, 0 },
	{ "gone", 0, 0, run_gone, 0 },
	{ "clock", VALUE, VALUE, run_clock, 0 },
	{ "seed", VALUE, VALUE, run_seed, 0 },
	{ "reset-faults", 0, 0, run_reset_faults, 0 },
	{ "stats", 0, 0, run_stats, 0 },
	{ "reset-stats", 0, 0, run_reset_stats, 0 },
	{ "disconnect", 0, 0, run_disconnect, 0 },
	{ "crash", 0, 0, run_crash, 0 },
	{ "ping", 0, 0, run_ping, 0 },
	{ "help", 0, 0, run_help, 0 },
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void run_help(struct vdev *v, const struct command *c, const struct args *a,
		     struct reply *r)
{
	unsigned int n, key;

	(void)v;
	(void)c;
	(void)a;
	say(r, "ok");
	for (n = 0; n < COMMANDS; n++) {
		say(r, "%s %s", n ? "," : "", commands[n].name);
		for (key = 0; key < KEYS; key++) {
			if (commands[n].keys & 1u << key)
				say(r, commands[n].needs & 1u << key ? " %s=" : " [%s=]",
				    key_name[key]);
		}
	}
}

void vdev_command(struct vdev *v, const char *line, char *text, size_t size)
{
	char copy[512], *rest;
	struct reply r = { text, size };
	struct args a;
	size_t n, len;

	if (size)
		text[0] = '\0';
	line += strspn(line, " \t");
	if (strlen(line) >= sizeof(copy)) {
		say(&r, "error: the line is too long");
		return;
	}
	strcpy(copy, line);
	len = strcspn(copy, " \t");
	rest = copy + len + (copy[len] ? 1 : 0);
	copy[len] = '\0';
	for (n = 0; n < COMMANDS && strcmp(commands[n].name, copy); n++)
		;
	if (n == COMMANDS) {
		say(&r, "error: there is no command '%s'; say help", copy);
		return;
	}
	if (!parse_args(&a, rest, commands[n].keys, &r))
		return;
	if (commands[n].needs & ~a.seen) {
		say(&r, "error: %s needs %s=", commands[n].name,
		    key_name[__builtin_ctz(commands[n].needs & ~a.seen)]);
		return;
	}
	vdev_log(v, "command: %s", line);
	commands[n].run(v, &commands[n], &a, &r);
}
