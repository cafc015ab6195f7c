// SPDX-License-Identifier: MIT
/*
 * What goes wrong while a job runs: memory unmapped in the middle, a cancel
 * during the most degenerate nests, source data that changes meanwhile. Memory
 * here is one page that answers at every address.
 */
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "test_engine.h"

struct mirror {
	uint8_t page[PAGE];
	atomic_ullong calls;
	uint64_t fail_at;		/* from this translation on; 0: never */
	struct npu_memory memory;
};

static void *mirror_translate(void *ctx, uint64_t addr, uint64_t *len, enum npu_access access,
			      uint32_t *rule)
{
	struct mirror *m = ctx;
	uint64_t n = atomic_fetch_add(&m->calls, 1) + 1;
	uint64_t room = PAGE - addr % PAGE;

	if (m->fail_at && n >= m->fail_at) {
		*rule = NPU_RULE_ADDRESS_UNMAPPED;
		return NULL;
	}
	if (*len > room)
		*len = room;
	return m->page + addr % PAGE;
}

static void mirror_put(void *ctx)
{
}

static void mirror_init(struct mirror *m, uint64_t fail_at)
{
	memset(m, 0, sizeof(*m));
	m->fail_at = fail_at;
	m->memory = (struct npu_memory){ mirror_translate, mirror_put, m };
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void run(struct mirror *m, struct stream *st, uint32_t ring, const atomic_uint *cancel,
		struct npu_result *r)
{
	struct npu_engine_job job = {
		.stream = st->bytes, .size = st->header.size, .ring = ring, .memory = &m->memory,
		.cancel = cancel, .threads = 2, .parallel = test_parallel,
	};

	memset(r, 0xa5, sizeof(*r));
	npu_engine_run(&job, r);
}

#define LOW	0x10000ull
#define MIDDLE	0x2000000000ull		/* 128 GiB */
#define HIGH	0x4000000000ull		/* 256 GiB */

static const struct npu_cmd_fetch endless[] = {
	/* 2^64 elements of one byte into sums */
	{ .src = LOW, .dst = HIGH, .weight = MIDDLE, .packet_size = 1, .read_size = 1,
	  .src_type = NPU_TYPE_I8, .weight_type = NPU_TYPE_I8, .sink = NPU_SINK_CONTRACT,
	  .m = UINT32_MAX, .k = UINT32_MAX, .n = 1, .loop_count = 2,
	  .size = { UINT32_MAX, UINT32_MAX } },
	/* the same in floats, in groups too long to stage */
	{ .src = LOW, .dst = HIGH, .weight = MIDDLE, .packet_size = 1, .read_size = 1,
	  .src_type = NPU_TYPE_BF16, .weight_type = NPU_TYPE_BF16, .sink = NPU_SINK_CONTRACT,
	  .m = 1000000, .k = UINT32_MAX, .n = 16, .k_group = 1u << 30, .loop_count = 2,
	  .size = { 1000000, UINT32_MAX }, .stride = { 0, 1 } },
	/* rows of one element */
	{ .src = LOW, .dst = HIGH, .weight = MIDDLE, .packet_size = 1, .read_size = 1,
	  .src_type = NPU_TYPE_I4, .weight_type = NPU_TYPE_I4, .sink = NPU_SINK_CONTRACT,
	  .m = UINT32_MAX, .k = 1, .n = 10, .loop_count = 1, .size = { UINT32_MAX },
	  .stride = { 3 } },
	/* packets of one element, two tensors in turn, masked */
	{ .cmd.flags = NPU_FETCH_INTERLEAVE, .src = LOW, .src2 = MIDDLE, .dst = HIGH,
	  .packet_size = 1, .read_size = 1, .src_type = NPU_TYPE_I16, .sink = NPU_SINK_MEMORY,
	  .loop_count = 2, .size = { 5, UINT32_MAX }, .stride = { 0, 7 },
	  .mask = NPU_MASK_RIGHTMOST, .mask_axis = 0 },
	/* long strides backwards */
	{ .src = MIDDLE, .dst = HIGH, .packet_size = 1, .read_size = 1, .src_type = NPU_TYPE_I8,
	  .sink = NPU_SINK_MEMORY, .loop_count = 2, .size = { 4096, 33000000 },
	  .stride = { 1, -4096 } },
	/* one packet */
	{ .src = MIDDLE, .dst = HIGH, .packet_size = UINT32_MAX, .read_size = 1,
	  .src_type = NPU_TYPE_I4, .sink = NPU_SINK_MEMORY, .loop_count = 1,
	  .size = { UINT32_MAX }, .stride = { -5 } },
	/* plain */
	{ .src = LOW, .dst = HIGH, .packet_size = 32, .read_size = 8, .src_type = NPU_TYPE_I8,
	  .cast_type = NPU_TYPE_I32, .sink = NPU_SINK_MEMORY, .loop_count = 2,
	  .size = { 1u << 30, 32 }, .stride = { 32, 1 } },
};

static void *cancel_later(void *arg)
{
	usleep(300000);
	atomic_store((atomic_uint *)arg, 1);
	return (void *)(uintptr_t)now_ns();
}

static void cancel_one(struct stream *st, uint32_t ring, const char *what)
{
	struct mirror m;
	atomic_uint cancel = 0;
	struct npu_result r;
	pthread_t thread;
	uint64_t took;
	void *at;

	mirror_init(&m, 0);
	pthread_create(&thread, NULL, cancel_later, &cancel);
	run(&m, st, ring, &cancel, &r);
	took = now_ns();
	pthread_join(thread, &at);
	took -= (uintptr_t)at;
	if (r.status != NPU_STATUS_CANCELLED)
		fail_msg("%s: status %u, %s", what, r.status, r.rule ? npu_rule_name(r.rule) : "-");
	assert_int_equal(r.rule, 0);
	assert_int_equal(r.fault_address, 0);
	assert_true(r.first_nonfinite_block == NPU_NO_BLOCK);
	if (getenv("NPU_TEST_VERBOSE"))
		print_message("%s: %.2f ms\n", what, (double)took / 1e6);
	/* the promise is 10 ms; a loaded machine under a sanitizer is given more */
	if (took > 2000000000)
		fail_msg("%s: cancelled after %.1f ms", what, (double)took / 1e6);
}

static void test_cancel(void **state)
{
	static struct stream st;
	struct npu_cmd_preprocess pp = {
		.cmd.opcode = NPU_OP_PREPROCESS, .src = LOW, .dst = HIGH, .rows = 1ull << 34,
		.cols = 1, .mode = NPU_PP_MODE_FIXED27, .sink = NPU_SINK_MEMORY,
	};
	unsigned int i;

	for (i = 0; i < sizeof(endless) / sizeof(endless[0]); i++) {
		struct npu_cmd_fetch cmd = endless[i];
		char what[32];

		cmd.cmd.opcode = NPU_OP_FETCH;
		cmd.cmd.flags |= cmd.packet_size == 32 ? 0 : NPU_FETCH_UNPADDED;
		stream_init(&st);
		stream_add(&st, &cmd);
		snprintf(what, sizeof(what), "endless %u", i);
		cancel_one(&st, NPU_RING_FETCH_MAIN, what);
	}
	stream_init(&st);
	stream_add(&st, &pp);
	cancel_one(&st, NPU_RING_PREPROCESS, "preprocess");
}

/* Cancelled before it starts: the record is whole all the same. */
static void test_cancel_early(void **state)
{
	static struct stream st;
	struct npu_cmd nop = { .opcode = NPU_OP_NOP };
	atomic_uint cancel = 1;
	struct npu_result r;
	struct mirror m;

	stream_init(&st);
	stream_add(&st, &nop);
	mirror_init(&m, 0);
	run(&m, &st, NPU_RING_FETCH_SUB, &cancel, &r);
	assert_int_equal(r.status, NPU_STATUS_CANCELLED);
	assert_int_equal(r.cycles, 0);
	assert_int_equal(r.reserved[3], 0);
}

/* Small commands of each kind, failing at every single translation in turn. */
static void unmap_each(struct stream *st, uint32_t ring, const char *what)
{
	struct npu_result r;
	struct mirror m;
	uint64_t n, total;

	mirror_init(&m, 0);
	run(&m, st, ring, NULL, &r);
	expect_ok(&r, what);
	total = atomic_load(&m.calls);
	for (n = 1; n <= total; n++) {
		mirror_init(&m, n);
		run(&m, st, ring, NULL, &r);
		/* with two threads the number of translations may differ by a few */
		if (r.status == NPU_STATUS_OK && n + 8 > total)
			continue;
		assert_int_equal(r.status, NPU_STATUS_FAULT);
		assert_int_equal(r.rule, NPU_RULE_ADDRESS_UNMAPPED);
		assert_true(r.fault_address >= LOW);
	}
}

static void test_unmap(void **state)
{
	static struct stream st;
	struct npu_cmd_preprocess pp = {
		.cmd.opcode = NPU_OP_PREPROCESS, .src = LOW, .dst = HIGH, .rows = 100, .cols = 40,
		.cmd.flags = NPU_PREPROCESS_EMAX | NPU_PREPROCESS_EXPONENTS, .emax = MIDDLE,
		.exponents = MIDDLE + (1 << 20), .mode = NPU_PP_MODE_FIXED27,
		.sink = NPU_SINK_MEMORY,
	};
	struct npu_cmd_fmap_read rd = {
		.cmd.opcode = NPU_OP_FMAP_READ, .cmd.flags = NPU_FMAP_EMAX | NPU_FMAP_EXPONENTS,
		.dst = HIGH, .emax = MIDDLE, .exponents = MIDDLE + (1 << 20), .count = 640,
		.lanes = 3,
	};
	struct npu_cmd_lut_load lut = {
		.cmd.opcode = NPU_OP_LUT_LOAD, .address = LOW + 5, .key_type = NPU_TYPE_BF16,
		.entry_type = NPU_TYPE_U16,
	};
	unsigned int i;

	for (i = 0; i < sizeof(endless) / sizeof(endless[0]); i++) {
		struct npu_cmd_fetch cmd = endless[i];
		char what[32];

		cmd.cmd.opcode = NPU_OP_FETCH;
		cmd.cmd.flags |= cmd.packet_size == 32 ? 0 : NPU_FETCH_UNPADDED;
		cmd.size[0] = cmd.size[0] < 500 ? cmd.size[0] : 500;
		if (cmd.loop_count > 1 && cmd.size[1] > 90)
			cmd.size[1] = 90;
		if (cmd.packet_size > 500)
			cmd.packet_size = 500;
		if (cmd.sink == NPU_SINK_CONTRACT) {
			cmd.m = cmd.loop_count > 1 ? 500 : 500 / cmd.k;
			cmd.k = cmd.loop_count > 1 ? cmd.size[1] : cmd.k;
			cmd.k_group = 0;
		}
		stream_init(&st);
		stream_add(&st, &cmd);
		snprintf(what, sizeof(what), "unmap %u", i);
		unmap_each(&st, NPU_RING_FETCH_MAIN, what);
	}
	stream_init(&st);
	stream_add(&st, &lut);
	unmap_each(&st, NPU_RING_FETCH_MAIN, "unmap table");
	stream_init(&st);
	stream_add(&st, &pp);
	pp.sink = NPU_SINK_FMAP_CACHE;
	pp.dst = 0;
	pp.rows = 32;
	stream_add(&st, &pp);
	stream_add(&st, &rd);
	unmap_each(&st, NPU_RING_PREPROCESS, "unmap preprocess");
}

static atomic_uint scribble_stop;

static void *scribble(void *arg)
{
	volatile uint8_t *page = arg;
	uint64_t v = 1;

	while (!atomic_load(&scribble_stop)) {
		v = v * 6364136223846793005ull + 1442695040888963407ull;
		page[v >> 33 & (PAGE - 1)] = (uint8_t)(v >> 50);
	}
	return NULL;
}

/* Nothing is indexed by what is read twice: the results are undefined, and nothing else happens. */
static void test_changing(void **state)
{
	static struct stream st;
	struct npu_cmd_lut_load lut = {
		.cmd.opcode = NPU_OP_LUT_LOAD, .address = LOW, .key_type = NPU_TYPE_BF16,
		.entry_type = NPU_TYPE_U32,
	};
	struct npu_cmd_fetch cmd = fetch_run(NPU_TYPE_BF16, LOW, HIGH, 100000);
	struct npu_result r;
	struct mirror m;
	pthread_t thread;
	unsigned int mode;

	mirror_init(&m, 0);
	atomic_store(&scribble_stop, 0);
	pthread_create(&thread, NULL, scribble, m.page);
	stream_init(&st);
	stream_add(&st, &lut);
	cmd.lookup = NPU_LOOKUP_SLOT;
	cmd.lookup_type = NPU_TYPE_U32;
	fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
	stream_add(&st, &cmd);
	run(&m, &st, NPU_RING_FETCH_MAIN, NULL, &r);
	expect_ok(&r, "changing table");
	for (mode = NPU_PP_MODE_FIXED27; mode <= NPU_PP_MODE_INT8_SYMMETRIC; mode++) {
		struct npu_cmd_preprocess pp = {
			.cmd.opcode = NPU_OP_PREPROCESS, .src = LOW, .dst = HIGH, .rows = 3000,
			.cols = 31, .mode = (uint8_t)mode, .sink = NPU_SINK_MEMORY,
		};

		stream_init(&st);
		stream_add(&st, &pp);
		run(&m, &st, NPU_RING_PREPROCESS, NULL, &r);
		expect_ok(&r, "changing blocks");
	}
	atomic_store(&scribble_stop, 1);
	pthread_join(thread, NULL);
}

/* Earlier commands' results stand, caches die with the job. */
static void test_job_ends(void **state)
{
	static struct stream st;
	struct npu_cmd_fetch ok = fetch_run(NPU_TYPE_I8, 0, 0, 64), bad;
	struct npu_cmd_lut_load lut = {
		.cmd.opcode = NPU_OP_LUT_LOAD, .slot = 3, .key_type = NPU_TYPE_I8,
		.entry_type = NPU_TYPE_I8,
	};
	struct npu_cmd barrier = { .opcode = NPU_OP_BARRIER };
	uint8_t data[256], twice[64];
	struct npu_result r;
	struct space s;
	unsigned int i;

	space_init(&s, 64, true);
	ok.src = space_alloc(&s, 256);
	ok.dst = space_alloc(&s, 256);
	space_random(&s, ok.src, 256);
	space_get(&s, ok.src, data, 256);
	lut.address = ok.src;
	fetch_plan(&ok, NPU_RING_FETCH_MAIN);
	bad = ok;
	bad.dst = 1ull << 38;
	stream_init(&st);
	stream_add(&st, &lut);
	stream_add(&st, &ok);
	stream_add(&st, &barrier);
	stream_add(&st, &bad);
	stream_add(&st, &ok);
	r = stream_run(&s, NPU_RING_FETCH_MAIN, &st, 1);
	assert_int_equal(r.status, NPU_STATUS_FAULT);
	assert_int_equal(r.rule, NPU_RULE_ADDRESS_UNMAPPED);
	assert_int_equal(r.command, 3);
	assert_true(r.fault_address == 1ull << 38);
	assert_int_equal(r.elements_in, 64);
	space_expect(&s, ok.dst, data, 64, "earlier result");

	ok.lookup = NPU_LOOKUP_SLOT;
	ok.lookup_type = NPU_TYPE_I8;
	ok.lut_slot = 3;
	stream_init(&st);
	stream_add(&st, &ok);
	r = stream_run(&s, NPU_RING_FETCH_MAIN, &st, 1);
	assert_int_equal(r.rule, NPU_RULE_LUT_EMPTY);

	/* loading a loaded slot replaces it; the table is copied when it is loaded */
	stream_init(&st);
	lut.address = ok.src + 64;
	stream_add(&st, &lut);
	lut.address = ok.src;
	stream_add(&st, &lut);
	ok.src = ok.dst;
	ok.dst = space_alloc(&s, 256);
	stream_add(&st, &ok);
	s.map[(ok.src + 4096 - SPACE_BASE) / PAGE] = 0;
	space_set(&s, lut.address + 256, data, 64);
	r = stream_run(&s, NPU_RING_FETCH_MAIN, &st, 1);
	expect_ok(&r, "table");
	for (i = 0; i < 64; i++)
		twice[i] = data[data[i]];
	space_expect(&s, ok.dst, twice, 64, "table");
	space_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cancel_early),
		cmocka_unit_test(test_unmap),
		cmocka_unit_test(test_changing),
		cmocka_unit_test(test_job_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
