// SPDX-License-Identifier: MIT
/* The stream builder: what it makes, what it refuses, and in which words. */
#include "device.h"

static struct npu_device *dev;
static struct npu_bo *src, *dst;

static int setup(void **state)
{
	dev = open_device();
	src = make_bo(dev, 1 << 16, NULL);
	dst = make_bo(dev, 1 << 20, NULL);
	return 0;
}

static int teardown(void **state)
{
	npu_close(dev);
	return 0;
}

static const struct npu_cmd_fetch *command(struct npu_stream *s, uint32_t index)
{
	const struct npu_cmd *cmd;
	const uint8_t *data;
	uint32_t size;

	must(npu_stream_data(s, (const void **)&data, &size));
	assert_true(index < npu_stream_count(s));
	for (cmd = (const void *)(data + 16); index--; cmd = (const void *)data)
		data = (const uint8_t *)cmd + cmd->size;
	return (const void *)cmd;
}

/* A run is packets of 32 input bytes or what the cast makes a flit of, then the rest. */
static void test_runs(void **state)
{
	static const struct {
		uint32_t type, cast, count, packet, rest;
	} cases[] = {
		{ NPU_TYPE_I8, NPU_TYPE_I32, 37, 8, 5 },
		{ NPU_TYPE_I8, NPU_TYPE_I32, 40, 8, 0 },
		{ NPU_TYPE_I8, NPU_TYPE_I32, 3, 8, 3 },
		{ NPU_TYPE_I8, 0, 100, 32, 4 },
		{ NPU_TYPE_I4, NPU_TYPE_I32, 21, 8, 5 },
		{ NPU_TYPE_I4, 0, 129, 64, 1 },
		{ NPU_TYPE_F32, NPU_TYPE_BF16, 17, 8, 1 },
		{ NPU_TYPE_BF16, NPU_TYPE_F32, 16, 8, 0 },
		{ NPU_TYPE_I16, 0, 35, 16, 3 },
	};
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct npu_view view = run_view(src, 3, cases[i].type, cases[i].count);
		uint32_t whole = cases[i].count - cases[i].rest, n = 0;

		npu_stream_reset(s);
		if (cases[i].cast)
			must(npu_commit(npu_cast(npu_fetch(s, &view), cases[i].cast),
					npu_at(dst, 1)));
		else
			must(npu_commit(npu_fetch(s, &view), npu_at(dst, 1)));
		if (whole) {
			assert_int_equal(command(s, n)->packet_size, cases[i].packet);
			assert_int_equal(command(s, n)->size[0], whole);
			assert_int_equal(command(s, n)->cmd.flags, 0);
			assert_int_equal(command(s, n++)->src, npu_bo_address(src) + 3);
		}
		if (cases[i].rest) {
			assert_int_equal(command(s, n)->packet_size, cases[i].rest);
			assert_int_equal(command(s, n)->cmd.flags, NPU_FETCH_UNPADDED);
			assert_int_equal(command(s, n)->offset, whole);
			assert_int_equal(command(s, n++)->dst, npu_bo_address(dst) + 1 +
					 npu_type_bytes(cases[i].cast ? cases[i].cast :
							cases[i].type, whole));
		}
		assert_int_equal(npu_stream_count(s), n);
	}
	npu_stream_destroy(s);
}

static void test_empty(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *p = make_stream(dev, NPU_RING_PREPROCESS);
	struct npu_view view = run_view(src, 0, NPU_TYPE_I8, 0);
	struct npu_preprocess pp = NPU_PREPROCESS_INIT;
	struct npu_weights w = NPU_WEIGHTS_INIT;
	const struct npu_stream_header *header;
	uint32_t size;

	must(npu_commit(npu_cast(npu_fetch(s, &view), NPU_TYPE_I32), npu_at(dst, 0)));
	assert_int_equal(npu_stream_count(s), 0);
	must(npu_stream_data(s, (const void **)&header, &size));
	assert_int_equal(size, 16);
	assert_int_equal(header->magic, NPU_STREAM_MAGIC);
	w.base = npu_at(src, 0);
	w.type = NPU_TYPE_I8;
	w.n = 4;
	w.k = 8;
	must(npu_contract(npu_fetch(s, &view), &w, npu_at(dst, 0)));
	assert_int_equal(npu_stream_count(s), 0);
	pp.src = npu_at(src, 0);
	pp.dst = npu_at(dst, 0);
	pp.rows = 3;
	pp.mode = NPU_PP_MODE_FIXED27;
	must(npu_preprocess(p, &pp));
	assert_int_equal(npu_stream_count(p), 0);
	/* Nothing to do, but of a kind that does not exist. */
	must_fail(npu_commit(npu_cast(npu_fetch(s, &view), NPU_TYPE_BF16), npu_at(dst, 0)), EINVAL,
		  "cast-pair");
	pp.mode = 9;
	must_fail(npu_preprocess(p, &pp), EINVAL, "preprocess-mode");
	npu_stream_destroy(s);
	npu_stream_destroy(p);
}

/* k = 0 is sums over nothing: one command that writes zeros. */
static void test_contract(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_view view = run_view(src, 0, NPU_TYPE_I8, 0);
	struct npu_weights w = NPU_WEIGHTS_INIT;

	w.base = npu_at(src, 4096);
	w.type = NPU_TYPE_I8;
	w.n = 5;
	w.m = 3;
	must(npu_contract(npu_fetch(s, &view), &w, npu_at(dst, 0)));
	assert_int_equal(npu_stream_count(s), 1);
	assert_int_equal(command(s, 0)->m, 3);
	assert_int_equal(command(s, 0)->loop_count, 0);

	/* A contraction of a run is one unpadded command. */
	view.count = 35;
	w.k = 7;
	w.m = 0;
	must(npu_contract(npu_zero_point_sub(npu_fetch(s, &view), -3), &w, npu_at(dst, 0)));
	assert_int_equal(npu_stream_count(s), 2);
	assert_int_equal(command(s, 1)->m, 5);
	assert_int_equal(command(s, 1)->cmd.flags, NPU_FETCH_UNPADDED | NPU_FETCH_ZERO_POINT);
	w.m = 4;
	must_fail(npu_contract(npu_fetch(s, &view), &w, npu_at(dst, 0)), EINVAL, "contract-shape");
	npu_stream_reset(s);
	w.m = 0;
	w.k = 6;
	must_fail(npu_contract(npu_fetch(s, &view), &w, npu_at(dst, 0)), EINVAL, "contract-shape");
	npu_stream_reset(s);
	w.k = 7;
	w.type = NPU_TYPE_BF16;
	must_fail(npu_contract(npu_fetch(s, &view), &w, npu_at(dst, 0)), EINVAL, "contract-pair");
	npu_stream_destroy(s);
}

/* The worked figures of the sequencer: i4, N=4 C=3 H=4 W=16. */
static void test_fetch_info(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_fetch_info info = NPU_FETCH_INFO_INIT;
	struct npu_view view = NPU_VIEW_INIT;

	view.base = npu_at(src, 0);
	view.type = NPU_TYPE_I4;
	view.loop_count = 4;
	memcpy(view.loops, (struct npu_loop[]){ { 4, 192 }, { 3, 64 }, { 4, 16 }, { 16, 1 } },
	       4 * sizeof(view.loops[0]));
	must(npu_commit(npu_fetch(s, &view), npu_at(dst, 0)));
	must(npu_stream_fetch_info(s, 0, &info));
	assert_int_equal(info.packet_size, 16);
	assert_int_equal(info.time_steps, 48);
	assert_int_equal(info.read_size, 16);
	assert_int_equal(info.cycles, 48);
	assert_int_equal(info.reads_per_packet, 1);
	view.packet_size = 192;
	must(npu_commit(npu_fetch(s, &view), npu_at(dst, 0)));
	must(npu_stream_fetch_info(s, 1, &info));
	assert_int_equal(info.read_size, 64);
	assert_int_equal(info.cycles, 12);
	assert_int_equal(info.out_bytes, 384);
	must(npu_nop(s));
	must_fail(npu_stream_fetch_info(s, 2, &info), EINVAL, "nop");
	must_fail(npu_stream_fetch_info(s, 3, &info), EINVAL, "the stream has 3");
	npu_stream_destroy(s);
}

/* The first mistake stays, with its command's index, until the reset. */
static void test_sticky(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	const void *data;
	uint32_t size;

	must(npu_nop(s));
	must(npu_nop(s));
	must_fail(copy(s, 0, src, 0, 1 << 20, dst, 0), EINVAL, "command 2 (fetch): rule address-unmapped: src");
	must_fail(npu_nop(s), EINVAL, "command 2 (fetch)");
	must_fail(npu_stream_data(s, &data, &size), EINVAL, "command 2 (fetch)");
	must_fail(npu_submit(queue, s, NULL, NULL), EINVAL, "command 2 (fetch)");
	assert_int_equal(npu_stream_count(s), 2);
	npu_stream_reset(s);
	must(npu_stream_error(s));
	must(npu_submit(queue, s, NULL, NULL));
	npu_queue_destroy(queue);
	npu_stream_destroy(s);
}

static void test_handles(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_queue *queue = make_queue(dev, NPU_RING_FETCH_MAIN);
	struct npu_view view = run_view(src, 0, NPU_TYPE_I8, 64);
	struct npu_fetched h, none = { NULL, 0 };

	h = npu_fetch(s, &view);
	must(npu_commit(h, npu_at(dst, 0)));
	must_fail(npu_commit(h, npu_at(dst, 64)), EINVAL, "used before");
	npu_stream_reset(s);
	must_fail(npu_commit(h, npu_at(dst, 64)), EINVAL, "used before");
	npu_stream_reset(s);
	h = npu_fetch(s, &view);
	npu_cast(h, NPU_TYPE_I32);
	must_fail(npu_commit(h, npu_at(dst, 0)), EINVAL, "npu_commit() was given a handle");
	npu_stream_reset(s);
	h = npu_fetch(s, &view);
	must_fail(npu_submit(queue, s, NULL, NULL), EINVAL, "no sink");
	must_fail(npu_nop(s), EINVAL, "no sink");
	must_fail(npu_commit(none, npu_at(dst, 0)), EINVAL, "NULL");
	npu_queue_destroy(queue);
	npu_stream_destroy(s);
}

#define REFUSED(part) do {							\
		must_fail(npu_commit(npu_fetch(s, &bad), npu_at(dst, 0)), EINVAL, part);	\
		npu_stream_reset(s);						\
		bad = view;							\
	} while (0)

/* Every mistake of a view that the builder finds before the engine's checker does. */
static void test_refused(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_view view = run_view(src, 0, NPU_TYPE_I8, 64), bad = view;
	struct npu_device *other = open_device();

	bad.flags = 2;
	REFUSED("flags is 0x2");
	bad.type = 77;
	REFUSED("type 77");
	bad.type = NPU_TYPE_U8;
	REFUSED("source-type");
	bad.loop_count = 9;
	REFUSED("loop-count");
	bad.loop_count = 1;
	REFUSED("both count");
	bad.base.bo = NULL;
	REFUSED("npu_view.base.bo is NULL");
	bad.base.bo = make_bo(other, 4096, NULL);
	REFUSED("another device");
	bad.base.offset = UINT64_MAX - 3;
	REFUSED("npu_view.base.offset");
	bad.offset = INT64_MIN;
	REFUSED("address-unmapped: src takes bytes -9223372036854775808");
	bad.offset = -1;
	REFUSED("address-unmapped: src takes bytes -1 to");
	bad.count = UINT64_MAX;
	REFUSED("split");
	bad.count = 1ull << 34;
	REFUSED("address-unmapped");
	bad.packet_size = 6;
	REFUSED("packet-size");
	bad.count = 60;
	bad.packet_size = 6;
	REFUSED("packet-align: a packet of 6 i8 leaves as 6 bytes");
	bad.read_size = 3;
	REFUSED("read-size-divisor");
	bad.size = sizeof(size_t) - 1;
	REFUSED("npu_view.size is");
	npu_close(other);
	npu_stream_destroy(s);
}

static void test_sizes(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_view view = run_view(src, 0, NPU_TYPE_I8, 64);
	union {
		struct npu_view view;
		char bytes[sizeof(view) + 8];
	} big = { .bytes = { 0 } };

	must_fail(npu_commit(npu_fetch(s, NULL), npu_at(dst, 0)), EINVAL, "npu_view is NULL");
	npu_stream_reset(s);
	big.view = view;
	big.view.size = sizeof(big);
	must(npu_commit(npu_fetch(s, &big.view), npu_at(dst, 0)));
	big.bytes[sizeof(big) - 1] = 1;
	must_fail(npu_commit(npu_fetch(s, &big.view), npu_at(dst, 0)), E2BIG, "newer");
	npu_stream_reset(s);
	/* Up to the type it is a view of no elements. */
	view.size = offsetof(struct npu_view, flags);
	must(npu_commit(npu_fetch(s, &view), npu_at(dst, 0)));
	assert_int_equal(npu_stream_count(s), 0);
	must_fail(npu_commit(npu_fetch(s, &view), npu_at(NULL, 0)), EINVAL, "dst.bo is NULL");
	npu_stream_destroy(s);
}

static void test_sub(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *sub = make_stream(dev, NPU_RING_FETCH_SUB);
	struct npu_view view = run_view(src, 0, NPU_TYPE_I8, 64);

	must_fail(npu_commit(npu_sub_fetch(s, &view), npu_at(dst, 0)), EINVAL, "command-ring");
	must_fail(npu_commit(npu_fetch(sub, &view), npu_at(dst, 0)), EINVAL, "command-ring");
	npu_stream_reset(sub);
	view.count = 63;
	must_fail(npu_commit(npu_sub_fetch(sub, &view), npu_at(dst, 0)), EINVAL, "read-size-sub");
	npu_stream_reset(sub);
	view.type = NPU_TYPE_I4;
	view.count = 64;
	must_fail(npu_commit(npu_cast(npu_sub_fetch(sub, &view), NPU_TYPE_I32), npu_at(dst, 0)),
		  EINVAL, "read-size-flit");
	npu_stream_destroy(s);
	npu_stream_destroy(sub);
}

#define REFUSED_CALL(call, part) do {				\
		must_fail(call, EINVAL, part);			\
		npu_stream_reset(s);				\
	} while (0)

static void test_stages(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_view view = run_view(src, 0, NPU_TYPE_I8, 64);
	struct npu_weights w = NPU_WEIGHTS_INIT;
	struct npu_mask mask = NPU_MASK_INIT;

	w.base = npu_at(src, 4096);
	w.type = NPU_TYPE_I8;
	w.n = 1;
	w.k = 64;
	REFUSED_CALL(npu_contract(npu_zero_point_sub(npu_fetch(s, &view), 128), &w, npu_at(dst, 0)),
		"zero-point-range: zero point 128 of i8 is outside of -128..127");
	REFUSED_CALL(npu_contract(npu_zero_point_sub(npu_fetch(s, &view), 1 << 20), &w, npu_at(dst, 0)),
		"zero-point-range");
	REFUSED_CALL(npu_commit(npu_lookup(npu_fetch(s, &view), NPU_TYPE_BF16), npu_at(dst, 0)),
		"lookup-pair");
	REFUSED_CALL(npu_commit(npu_table(npu_fetch(s, &view), 3), npu_at(dst, 0)), "lut-empty");
	REFUSED_CALL(npu_commit(npu_table(npu_fetch(s, &view), 8), npu_at(dst, 0)), "lut-slot");
	REFUSED_CALL(npu_commit(npu_cast(npu_fetch(s, &view), 99), npu_at(dst, 0)), "type 99");
	mask.kind = NPU_MASK_RIGHTMOST;
	REFUSED_CALL(npu_commit(npu_mask(npu_fetch(s, &view), &mask), npu_at(dst, 0)), "mask-axis");
	mask.kind = 7;
	REFUSED_CALL(npu_commit(npu_mask(npu_fetch(s, &view), &mask), npu_at(dst, 0)), "mask-kind");
	mask.kind = NPU_MASK_RIGHTMOST;
	mask.left_pad = 1 << 16;
	REFUSED_CALL(npu_commit(npu_mask(npu_fetch(s, &view), &mask), npu_at(dst, 0)), "mask-count");
	w.has_zero_point = 2;
	REFUSED_CALL(npu_contract(npu_fetch(s, &view), &w, npu_at(dst, 0)), "has_zero_point is 2");
	w.has_zero_point = 1;
	w.zero_point = -129;
	REFUSED_CALL(npu_contract(npu_fetch(s, &view), &w, npu_at(dst, 0)), "weight-zero-point");
	must(npu_lut_load(s, 2, NPU_TYPE_BF16, NPU_TYPE_U8, npu_at(dst, 0)));
	REFUSED_CALL(npu_commit(npu_table(npu_fetch(s, &view), 2), npu_at(dst, 0)), "lut-types: the table in slot 2 is from bf16 to u8");
	REFUSED_CALL(npu_lut_load(s, 256, NPU_TYPE_I8, NPU_TYPE_I8, npu_at(dst, 0)), "slot 256");
	REFUSED_CALL(npu_lut_load(s, 8, NPU_TYPE_I8, NPU_TYPE_I8, npu_at(dst, 0)), "lut-slot");
	npu_stream_destroy(s);
}

/* The base moves back by the left pad; the warning names both numbers. */
static void test_mask(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_mask mask = NPU_MASK_INIT;
	struct npu_weights w = NPU_WEIGHTS_INIT;
	struct npu_view view = NPU_VIEW_INIT;

	view.base = npu_at(src, 8);
	view.type = NPU_TYPE_I8;
	view.loop_count = 2;
	view.loops[0] = (struct npu_loop){ 3, 32 };
	view.loops[1] = (struct npu_loop){ 32, 1 };
	mask.kind = NPU_MASK_RIGHTMOST;
	mask.left_pad = 2;
	mask.valid_count[0] = 28;
	must(npu_commit(npu_mask(npu_fetch(s, &view), &mask), npu_at(dst, 0)));
	assert_int_equal(command(s, 0)->offset, -2);
	assert_int_equal(command(s, 0)->left_pad, 2);
	assert_null(npu_stream_warning(s, 0));
	w.base = npu_at(src, 4096);
	w.type = NPU_TYPE_I8;
	w.n = 1;
	w.k = 32;
	must(npu_contract(npu_zero_point_sub(npu_mask(npu_fetch(s, &view), &mask), 5), &w,
			  npu_at(dst, 0)));
	assert_non_null(npu_stream_warning(s, 0));
	assert_non_null(strstr(npu_stream_warning(s, 0), "-5"));
	assert_null(npu_stream_warning(s, 1));
	view.base.offset = 1;
	must_fail(npu_commit(npu_mask(npu_fetch(s, &view), &mask), npu_at(dst, 0)), EINVAL,
		  "bytes -1 to");
	npu_stream_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_contract),
		cmocka_unit_test(test_fetch_info),
		cmocka_unit_test(test_sticky),
		cmocka_unit_test(test_handles),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_sub),
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_mask),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
