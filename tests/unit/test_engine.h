/* SPDX-License-Identifier: MIT */
/*
 * What the engine's tests share: an address space (contiguous, or scattered
 * over randomly permuted pages), streams by hand, threads, golden files.
 */
#ifndef TEST_ENGINE_H
#define TEST_ENGINE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"

#define PAGE NPU_PAGE_SIZE
#define SPACE_BASE 0x100000ull

/* Pages from SPACE_BASE on; 0 in @map: not mapped, else a page of @pool plus 1. */
struct space {
	uint8_t *pool;
	uint32_t *map;
	bool *readonly;
	uint32_t *order;		/* pool pages in the order of use */
	uint32_t pages, used;
	uint64_t next;			/* free device address */
	bool scattered;
	bool pages_only;		/* no run is longer than what is left of a page */
	atomic_int held;
	struct npu_memory memory;
};

static uint64_t rng_state = 0x9e3779b97f4a7c15ull;

static inline uint64_t rng(void)
{
	uint64_t z = (rng_state += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline void *space_translate(void *ctx, uint64_t addr, uint64_t *len,
				    enum npu_access access, uint32_t *rule)
{
	struct space *s = ctx;
	uint64_t page = (addr - SPACE_BASE) / PAGE;
	uint64_t in = addr % PAGE, run;

	if (addr < SPACE_BASE || page >= s->pages || !s->map[page]) {
		*rule = NPU_RULE_ADDRESS_UNMAPPED;
		return NULL;
	}
	if (access == NPU_ACCESS_WRITE && s->readonly[page]) {
		*rule = NPU_RULE_ADDRESS_READONLY;
		return NULL;
	}
	assert_true(*len > 0);
	run = PAGE - in;
	while (!s->pages_only && run < *len && page + 1 < s->pages &&
	       s->map[page + 1] == s->map[page] + 1 &&
	       !(access == NPU_ACCESS_WRITE && s->readonly[page + 1])) {
		run += PAGE;
		page++;
	}
	if (run < *len)
		*len = run;
	atomic_fetch_add(&s->held, 1);
	return s->pool + (uint64_t)(s->map[(addr - SPACE_BASE) / PAGE] - 1) * PAGE + in;
}

static inline void space_put(void *ctx)
{
	struct space *s = ctx;

	assert_true(atomic_fetch_sub(&s->held, 1) > 0);
}

static inline void space_init(struct space *s, uint32_t pages, bool scattered)
{
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->pages = pages;
	s->scattered = scattered;
	s->pages_only = scattered;
	s->pool = aligned_alloc(PAGE, (size_t)pages * PAGE);
	s->map = calloc(pages, sizeof(*s->map));
	s->readonly = calloc(pages, sizeof(*s->readonly));
	s->order = calloc(pages, sizeof(*s->order));
	memset(s->pool, 0xcc, (size_t)pages * PAGE);
	for (i = 0; i < pages; i++)
		s->order[i] = i;
	for (i = pages - 1; scattered && i > 0; i--) {
		uint32_t j = (uint32_t)(rng() % (i + 1));
		uint32_t t = s->order[i];

		s->order[i] = s->order[j];
		s->order[j] = t;
	}
	s->next = SPACE_BASE;
	s->memory = (struct npu_memory){ space_translate, space_put, s };
}

static inline void space_free(struct space *s)
{
	assert_int_equal(atomic_load(&s->held), 0);
	free(s->pool);
	free(s->map);
	free(s->readonly);
	free(s->order);
}

/* Maps zeroed pages for @size bytes, with a hole behind them. */
static inline uint64_t space_alloc(struct space *s, uint64_t size)
{
	uint64_t addr = s->next, page = (addr - SPACE_BASE) / PAGE;
	uint64_t n = (size + PAGE - 1) / PAGE;

	assert_true(page + n < s->pages);
	for (; n; n--, page++) {
		uint32_t pool = s->order[s->used++];

		s->map[page] = pool + 1;
		memset(s->pool + (uint64_t)pool * PAGE, 0, PAGE);
	}
	s->next = SPACE_BASE + (page + 1) * PAGE;
	return addr;
}

static inline uint8_t *space_byte(struct space *s, uint64_t addr)
{
	uint64_t page = (addr - SPACE_BASE) / PAGE;

	assert_true(addr >= SPACE_BASE && page < s->pages && s->map[page]);
	return s->pool + (uint64_t)(s->map[page] - 1) * PAGE + addr % PAGE;
}

static inline void space_set(struct space *s, uint64_t addr, const void *data, uint64_t n)
{
	const uint8_t *p = data;

	while (n--)
		*space_byte(s, addr++) = *p++;
}

static inline void space_get(struct space *s, uint64_t addr, void *data, uint64_t n)
{
	uint8_t *p = data;

	while (n--)
		*p++ = *space_byte(s, addr++);
}

static inline void space_random(struct space *s, uint64_t addr, uint64_t n)
{
	while (n--)
		*space_byte(s, addr++) = (uint8_t)rng();
}

static inline void space_expect(struct space *s, uint64_t addr, const void *data, uint64_t n,
				const char *what)
{
	const uint8_t *p = data;
	uint64_t i;

	for (i = 0; i < n; i++)
		if (*space_byte(s, addr + i) != p[i])
			fail_msg("%s: byte %llu is %02x, not %02x", what, (unsigned long long)i,
				 *space_byte(s, addr + i), p[i]);
}

struct stream {
	union {
		struct npu_stream_header header;
		uint8_t bytes[NPU_STREAM_MAX];
		uint64_t align;
	};
};

static inline void stream_init(struct stream *st)
{
	memset(&st->header, 0, sizeof(st->header));
	st->header.magic = NPU_STREAM_MAGIC;
	st->header.major = NPU_ISA_MAJOR;
	st->header.minor = NPU_ISA_MINOR;
	st->header.size = sizeof(st->header);
}

/* Appends a command; sets its size. */
static inline void stream_add(struct stream *st, void *command)
{
	struct npu_cmd *cmd = command;

	cmd->size = (uint16_t)npu_op_size(cmd->opcode);
	memcpy(st->bytes + st->header.size, command, cmd->size);
	st->header.size += cmd->size;
	st->header.count++;
}

struct worker {
	pthread_t thread;
	void (*fn)(void *arg, unsigned int i);
	void *arg;
	unsigned int i;
};

static inline void *worker_main(void *arg)
{
	struct worker *w = arg;

	w->fn(w->arg, w->i);
	return NULL;
}

static inline void test_parallel(void *ctx, unsigned int n,
				 void (*fn)(void *arg, unsigned int i), void *arg)
{
	struct worker w[8];
	unsigned int i;

	(void)ctx;
	assert_true(n <= 8);
	for (i = 0; i < n; i++) {
		w[i] = (struct worker){ .fn = fn, .arg = arg, .i = i };
		assert_int_equal(pthread_create(&w[i].thread, NULL, worker_main, &w[i]), 0);
	}
	for (i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
}

static inline uint64_t test_clock(void *ctx)
{
	return ++*(uint64_t *)ctx;
}

static inline struct npu_result stream_run(struct space *s, uint32_t ring, struct stream *st,
					   unsigned int threads)
{
	uint64_t ticks = 41;
	struct npu_engine_job job = {
		.stream = st->bytes, .size = st->header.size, .ring = ring, .memory = &s->memory,
		.clock = test_clock, .clock_ctx = &ticks, .parallel = test_parallel,
		.threads = threads,
	};
	struct npu_result result;

	memset(&result, 0xa5, sizeof(result));
	npu_engine_run(&job, &result);
	assert_int_equal(atomic_load(&s->held), 0);
	assert_int_equal(result.clock_start, 42);
	assert_int_equal(result.clock_end, 43);
	assert_int_equal(result.pad, 0);
	assert_int_equal(result.reserved[0] | result.reserved[4], 0);
	return result;
}

static inline void expect_ok(const struct npu_result *r, const char *what)
{
	if (r->status != NPU_STATUS_OK)
		fail_msg("%s: status %u, command %u: %s", what, r->status, r->command,
			 r->rule ? npu_rule_name(r->rule) : "no rule");
}

/* One command, which must succeed. */
static inline struct npu_result run_one(struct space *s, uint32_t ring, void *command,
					unsigned int threads, const char *what)
{
	static struct stream st;
	struct npu_result r;

	stream_init(&st);
	stream_add(&st, command);
	r = stream_run(s, ring, &st, threads);
	expect_ok(&r, what);
	return r;
}

/* A whole file of the test data. */
static inline void *read_data(const char *name, size_t *size)
{
	char path[512];
	FILE *f;
	void *p;
	long n;

	snprintf(path, sizeof(path), "%s/%s", NPU_TEST_DATA, name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("cannot read %s", path);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	p = malloc((size_t)n + 1);
	assert_int_equal(fread(p, 1, (size_t)n, f), (size_t)n);
	fclose(f);
	*size = (size_t)n;
	return p;
}

/* A FETCH of @n elements in one run, as one packet. */
static inline struct npu_cmd_fetch fetch_run(uint32_t type, uint64_t src, uint64_t dst, uint32_t n)
{
	struct npu_cmd_fetch cmd = {
		.cmd.opcode = NPU_OP_FETCH, .cmd.flags = NPU_FETCH_UNPADDED, .src = src, .dst = dst,
		.packet_size = n, .src_type = (uint8_t)type, .sink = NPU_SINK_MEMORY,
		.loop_count = 1, .size = { n }, .stride = { 1 },
	};

	return cmd;
}

/* Fills in the largest legal read size. */
static inline void fetch_plan(struct npu_cmd_fetch *cmd, uint32_t ring)
{
	struct npu_fetch_plan plan;
	uint32_t rule;

	cmd->read_size = 0;
	rule = npu_fetch_plan(cmd, ring, &plan);
	if (rule)
		fail_msg("no plan: %s", npu_rule_name(rule));
	cmd->read_size = plan.read_size;
}

#endif
