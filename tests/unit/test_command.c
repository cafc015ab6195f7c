// SPDX-License-Identifier: MIT
/* Streams as a whole: overlaps, appending, the end of the room, commands without stages. */
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

/* What overlaps is refused before a byte is written, whichever command would do it (C25). */
static void test_overlap(void **state)
{
	static const int offsets[] = { 0, 1, 32, 36, 111, 147, -36, -1 };
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_view view;
	size_t i;

	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		npu_stream_reset(s);
		must_fail(widen(s, dst, (uint64_t)(1000 + offsets[i]), 37, dst, 1000), EINVAL,
			  "overlap");
	}
	npu_stream_reset(s);
	/* Neighbours do not. */
	must(widen(s, dst, 1000 - 37, 37, dst, 1000));
	must(widen(s, dst, 1148, 37, dst, 1000));
	view = run_view(dst, 0, NPU_TYPE_F32, 35);
	must_fail(npu_commit(npu_cast(npu_fetch(s, &view), NPU_TYPE_BF16), npu_at(dst, 0)), EINVAL,
		  "overlap");
	npu_stream_destroy(s);
}

static void test_append(void **state)
{
	struct npu_stream *a = make_stream(dev, NPU_RING_FETCH_MAIN);
	struct npu_stream *b = make_stream(dev, NPU_RING_FETCH_MAIN);
	const void *one, *two;
	uint32_t size, size2;
	uint8_t odd[2048];

	must(widen(a, src, 0, 37, dst, 0));
	must(npu_barrier(a));
	must(npu_stream_data(a, &one, &size));
	memcpy(odd + 1, one, size);
	must(npu_stream_append(b, odd + 1, size));
	must(npu_stream_data(b, &two, &size2));
	assert_int_equal(size, size2);
	assert_memory_equal(one, two, size);
	must_fail(npu_stream_append(b, odd + 1, size - 8), EINVAL, "stream-size");
	npu_stream_reset(b);
	odd[1] ^= 1;
	must_fail(npu_stream_append(b, odd + 1, size), EINVAL, "stream-magic");
	npu_stream_reset(b);
	odd[1] ^= 1;
	/* The source of the first command, far away. */
	odd[1 + 16 + 8 + 4] = 0x20;
	must_fail(npu_stream_append(b, odd + 1, size), EINVAL, "address-unmapped");
	npu_stream_reset(b);
	must_fail(npu_stream_append(b, NULL, 16), EINVAL, "NULL");
	npu_stream_destroy(a);
	npu_stream_destroy(b);
}

static void test_full(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_FETCH_MAIN);
	uint32_t n = 0;
	int ret;

	while (!(ret = npu_nop(s)))
		n++;
	assert_int_equal(ret, -ENOSPC);
	assert_int_equal(n, (65536 - 16) / 8);
	npu_stream_destroy(s);
}

/* The rest of the commands: fields, optional side bands, ranges. */
static void test_preprocess(void **state)
{
	struct npu_stream *s = make_stream(dev, NPU_RING_PREPROCESS);
	struct npu_preprocess p = NPU_PREPROCESS_INIT;
	struct npu_ref none = { 0 };

	p.src = npu_at(src, 0);
	p.rows = 2;
	p.cols = 40;
	p.mode = NPU_PP_MODE_FIXED27;
	p.sink = NPU_SINK_FMAP_CACHE;
	must(npu_preprocess(s, &p));
	must(npu_fmap_read(s, 0, 128, 4, npu_at(dst, 0), npu_at(dst, 8192), none));
	must_fail(npu_fmap_read(s, 1, 128, 4, npu_at(dst, 0), none, none), EINVAL, "fmap-range");
	npu_stream_reset(s);
	must(npu_preprocess(s, &p));
	must(npu_fmap_read(s, 3, 5, 0, none, npu_at(dst, 0), npu_at(dst, 64)));
	must_fail(npu_const_set(s, 3, 0.0f), EINVAL, "const-value");
	npu_stream_reset(s);
	must_fail(npu_const_set(s, 64, 1.0f), EINVAL, "const-slot");
	npu_stream_reset(s);
	p.sink = 0;
	p.dst = npu_at(dst, 0);
	p.mode = NPU_PP_MODE_INT8_CONST;
	p.const_slot = 7;
	must_fail(npu_preprocess(s, &p), EINVAL, "const-empty");
	npu_stream_reset(s);
	must(npu_const_set(s, 7, 0.5f));
	must(npu_preprocess(s, &p));
	p.const_slot = 300;
	must_fail(npu_preprocess(s, &p), EINVAL, "const_slot 300");
	npu_stream_reset(s);
	p.const_slot = 0;
	p.mode = NPU_PP_MODE_INT8_SYMMETRIC;
	p.scales = npu_at(dst, 1 << 20);
	must_fail(npu_preprocess(s, &p), EINVAL, "scales takes bytes 1048576 to");
	npu_stream_reset(s);
	p.rows = UINT64_MAX;
	must_fail(npu_preprocess(s, &p), EINVAL, "preprocess-shape");
	npu_stream_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_append),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_preprocess),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
