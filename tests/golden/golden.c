// SPDX-License-Identifier: MIT
/*
 * Every golden vector through libnpu's API, bit for bit, on the device that
 * NPU_DEVICE names (default: emulation). NPU_TEST_DATA in the environment
 * moves the data folder.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <npu.h>

static struct npu_device *dev;
static struct npu_queue *queue[NPU_RING_COUNT];

/* The whole file golden/@name; the caller frees it. */
static void *load(const char *name, size_t *bytes)
{
	const char *top = getenv("NPU_TEST_DATA");
	char path[512];
	void *data;
	FILE *f;
	long n;

	snprintf(path, sizeof(path), "%s/golden/%s", top ? top : NPU_TEST_DATA, name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("%s: cannot open", path);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	data = malloc(n ? n : 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, n, f), n);
	fclose(f);
	*bytes = n;
	return data;
}

static void check(int ret)
{
	if (ret)
		fail_msg("%s (%d)", npu_last_error(), ret);
}

static struct npu_bo *bo_with(const void *data, size_t bytes)
{
	struct npu_bo *bo;
	void *p;

	check(npu_bo_create(dev, bytes ? bytes : 1, 0, &bo));
	check(npu_bo_map(bo, &p));
	if (data)
		memcpy(p, data, bytes);
	else
		memset(p, 0xa5, npu_bo_size(bo));
	return bo;
}

static void *bo_data(struct npu_bo *bo)
{
	void *p;

	check(npu_bo_map(bo, &p));
	return p;
}

static void run(struct npu_stream *s, uint32_t ring, struct npu_result *result)
{
	struct npu_fence fence;

	check(npu_submit(queue[ring], s, NULL, &fence));
	check(npu_fence_wait(fence, npu_deadline(10000), result));
	assert_int_equal(result->status, NPU_STATUS_OK);
	npu_stream_destroy(s);
}

static void compare(const char *what, const void *got, const void *want, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++) {
		const uint8_t *g = got, *w = want;

		if (g[i] != w[i])
			fail_msg("%s: byte %zu is %02x, should be %02x", what, i, g[i], w[i]);
	}
}

/* Input of a domain file: every value of @bits bits in order, 4-bit ones as all bytes. */
static void *domain(uint32_t bits, size_t *bytes)
{
	size_t i, n = bits == 16 ? 65536 : 256;
	uint16_t *wide = malloc(n * 2);
	uint8_t *narrow = (uint8_t *)wide;

	assert_non_null(wide);
	for (i = 0; i < n; i++) {
		if (bits == 16)
			wide[i] = i;
		else
			narrow[i] = i;
	}
	*bytes = bits == 16 ? n * 2 : n;
	return wide;
}

struct conversion {
	const char *want;
	const char *in;		/* NULL: the whole domain of the type */
	uint32_t type, lookup, cast;
};

static const struct conversion conversions[] = {
	{ "fetch_cast_i4_i32", NULL, NPU_TYPE_I4, 0, NPU_TYPE_I32 },
	{ "fetch_cast_i8_i32", NULL, NPU_TYPE_I8, 0, NPU_TYPE_I32 },
	{ "fetch_cast_i16_i32", NULL, NPU_TYPE_I16, 0, NPU_TYPE_I32 },
	{ "fetch_cast_f8e4m3_f32", NULL, NPU_TYPE_F8E4M3, 0, NPU_TYPE_F32 },
	{ "fetch_cast_f8e5m2_f32", NULL, NPU_TYPE_F8E5M2, 0, NPU_TYPE_F32 },
	{ "fetch_cast_bf16_f32", NULL, NPU_TYPE_BF16, 0, NPU_TYPE_F32 },
	{ "fetch_cast_f32_bf16_out", "fetch_cast_f32_bf16_in", NPU_TYPE_F32, 0, NPU_TYPE_BF16 },
	{ "fetch_lut_f4e2m1_f8e4m3", NULL, NPU_TYPE_F4E2M1, NPU_TYPE_F8E4M3, 0 },
	{ "fetch_lut_f4e2m1_f8e5m2", NULL, NPU_TYPE_F4E2M1, NPU_TYPE_F8E5M2, 0 },
	{ "fetch_lut_f8e4m3_bf16", NULL, NPU_TYPE_F8E4M3, NPU_TYPE_BF16, 0 },
	{ "fetch_lut_f8e5m2_bf16", NULL, NPU_TYPE_F8E5M2, NPU_TYPE_BF16, 0 },
	{ "fetch_chain_f4e2m1_f8e4m3_f32", NULL, NPU_TYPE_F4E2M1, NPU_TYPE_F8E4M3, NPU_TYPE_F32 },
	{ "fetch_chain_f4e2m1_f8e5m2_f32", NULL, NPU_TYPE_F4E2M1, NPU_TYPE_F8E5M2, NPU_TYPE_F32 },
	{ "fetch_chain_f8e4m3_bf16_f32", NULL, NPU_TYPE_F8E4M3, NPU_TYPE_BF16, NPU_TYPE_F32 },
	{ "fetch_chain_f8e5m2_bf16_f32", NULL, NPU_TYPE_F8E5M2, NPU_TYPE_BF16, NPU_TYPE_F32 },
	{ "fetch_stream_cast_i4_i32", "fetch_stream_in", NPU_TYPE_I4, 0, NPU_TYPE_I32 },
	{ "fetch_stream_cast_i8_i32", "fetch_stream_in", NPU_TYPE_I8, 0, NPU_TYPE_I32 },
	{ "fetch_stream_cast_i16_i32", "fetch_stream_in", NPU_TYPE_I16, 0, NPU_TYPE_I32 },
	{ "fetch_stream_cast_f8e4m3_f32", "fetch_stream_in", NPU_TYPE_F8E4M3, 0, NPU_TYPE_F32 },
	{ "fetch_stream_cast_f8e5m2_f32", "fetch_stream_in", NPU_TYPE_F8E5M2, 0, NPU_TYPE_F32 },
	{ "fetch_stream_cast_bf16_f32", "fetch_stream_in", NPU_TYPE_BF16, 0, NPU_TYPE_F32 },
	{ "fetch_stream_cast_f32_bf16", "fetch_stream_in", NPU_TYPE_F32, 0, NPU_TYPE_BF16 },
	{ "fetch_stream_lut_f4e2m1_f8e4m3", "fetch_stream_in", NPU_TYPE_F4E2M1, NPU_TYPE_F8E4M3, 0 },
	{ "fetch_stream_lut_f4e2m1_f8e5m2", "fetch_stream_in", NPU_TYPE_F4E2M1, NPU_TYPE_F8E5M2, 0 },
	{ "fetch_stream_lut_f8e4m3_bf16", "fetch_stream_in", NPU_TYPE_F8E4M3, NPU_TYPE_BF16, 0 },
	{ "fetch_stream_lut_f8e5m2_bf16", "fetch_stream_in", NPU_TYPE_F8E5M2, NPU_TYPE_BF16, 0 },
};

static void convert(const struct conversion *c, bool sub)
{
	uint32_t ring = sub ? NPU_RING_FETCH_SUB : NPU_RING_FETCH_MAIN;
	struct npu_view view = NPU_VIEW_INIT;
	struct npu_bo *src, *dst;
	struct npu_result result;
	size_t in_bytes, bytes;
	struct npu_stream *s;
	void *in, *want;
	char name[64];

	snprintf(name, sizeof(name), "%s.bin", c->want);
	want = load(name, &bytes);
	snprintf(name, sizeof(name), "%s.bin", c->in ? c->in : "");
	in = c->in ? load(name, &in_bytes) : domain(npu_type_bits(c->type), &in_bytes);
	src = bo_with(in, in_bytes);
	dst = bo_with(NULL, bytes);
	view.base = npu_at(src, 0);
	view.type = c->type;
	view.count = in_bytes * 8 / npu_type_bits(c->type);
	check(npu_stream_create(dev, ring, &s));
	if (sub)
		check(npu_commit(npu_cast(npu_sub_fetch(s, &view), c->cast), npu_at(dst, 0)));
	else if (c->lookup && c->cast)
		check(npu_commit(npu_cast(npu_lookup(npu_fetch(s, &view), c->lookup), c->cast),
				 npu_at(dst, 0)));
	else if (c->lookup)
		check(npu_commit(npu_lookup(npu_fetch(s, &view), c->lookup), npu_at(dst, 0)));
	else
		check(npu_commit(npu_cast(npu_fetch(s, &view), c->cast), npu_at(dst, 0)));
	run(s, ring, &result);
	assert_int_equal(result.elements_in, view.count);
	compare(c->want, bo_data(dst), want, bytes);
	npu_bo_destroy(src);
	npu_bo_destroy(dst);
	free(in);
	free(want);
}

static void test_conversions(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(conversions) / sizeof(*conversions); i++)
		convert(&conversions[i], false);
}

/* The sub context reads 8 bytes: casts whose output then fits a flit. */
static void test_conversions_sub(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(conversions) / sizeof(*conversions); i++) {
		const struct conversion *c = &conversions[i];

		if (!c->lookup && c->type != NPU_TYPE_I4)
			convert(c, true);
	}
}

/* value - zero_point for all of @n values in @src, seen through a contraction with a 1. */
static void residuals(uint32_t type, struct npu_bo *src, uint64_t n, int zero_point, int32_t *got)
{
	static const uint8_t one = 1;
	struct npu_weights w = NPU_WEIGHTS_INIT;
	struct npu_view view = NPU_VIEW_INIT;
	struct npu_bo *dst = bo_with(NULL, n * 4), *weight = bo_with(&one, 1);
	struct npu_result result;
	struct npu_stream *s;

	view.base = npu_at(src, 0);
	view.type = type;
	view.count = n;
	w.base = npu_at(weight, 0);
	w.type = type;
	w.n = w.k = 1;
	check(npu_stream_create(dev, NPU_RING_FETCH_MAIN, &s));
	check(npu_contract(npu_zero_point_sub(npu_fetch(s, &view), zero_point), &w,
			   npu_at(dst, 0)));
	run(s, NPU_RING_FETCH_MAIN, &result);
	memcpy(got, bo_data(dst), n * 4);
	npu_bo_destroy(dst);
	npu_bo_destroy(weight);
}

static void test_zero_point_i8(void **state)
{
	static const int stream_zp[] = { -128, -77, 0, 1, 127 };
	int32_t *got = malloc(4096 * 4);
	size_t bytes, n, i, j;
	int16_t *want = load("fetch_zps_i8_i9.bin", &bytes);
	int8_t all[256];
	struct npu_bo *src;
	void *in;

	for (i = 0; i < 256; i++)
		all[i] = (int)i - 128;
	src = bo_with(all, 256);
	for (i = 0; i < 256; i++) {
		residuals(NPU_TYPE_I8, src, 256, (int)i - 128, got);
		for (j = 0; j < 256; j++)
			assert_int_equal(got[j], want[i * 256 + j]);
	}
	npu_bo_destroy(src);
	free(want);
	want = load("fetch_stream_zps_i8_i9.bin", &bytes);
	in = load("fetch_stream_in.bin", &n);
	src = bo_with(in, n);
	for (i = 0; i < 5; i++) {
		residuals(NPU_TYPE_I8, src, n, stream_zp[i], got);
		for (j = 0; j < n; j++)
			assert_int_equal(got[j], want[i * n + j]);
	}
	npu_bo_destroy(src);
	free(in);
	free(want);
	free(got);
}

static void test_zero_point_i4(void **state)
{
	static const int stream_zp[] = { -8, -3, 0, 5, 7 };
	int32_t *got = malloc(8192 * 4);
	size_t bytes, n, i, j;
	int8_t *want = load("fetch_zps_i4_i5.bin", &bytes);
	struct npu_bo *src;
	uint8_t all[8];
	void *in;

	for (i = 0; i < 8; i++)		/* -8 .. 7 in order */
		all[i] = ((2 * i + 8) & 15) | ((2 * i + 9) & 15) << 4;
	src = bo_with(all, 8);
	for (i = 0; i < 16; i++) {
		residuals(NPU_TYPE_I4, src, 16, (int)i - 8, got);
		for (j = 0; j < 16; j++)
			assert_int_equal(got[j], want[i * 16 + j]);
	}
	npu_bo_destroy(src);
	free(want);
	want = load("fetch_stream_zps_i4_i5.bin", &bytes);
	in = load("fetch_stream_in.bin", &n);
	src = bo_with(in, n);
	for (i = 0; i < 5; i++) {
		residuals(NPU_TYPE_I4, src, n * 2, stream_zp[i], got);
		for (j = 0; j < n * 2; j++)
			assert_int_equal(got[j], want[i * n * 2 + j]);
	}
	npu_bo_destroy(src);
	free(in);
	free(want);
	free(got);
}

/* The accepted zero points; refusals happen before anything is submitted. */
static void test_zero_point_range(void **state)
{
	struct npu_weights w = NPU_WEIGHTS_INIT;
	struct npu_view view = NPU_VIEW_INIT;
	struct npu_bo *bo = bo_with(NULL, 4096);
	struct npu_stream *s;
	char *text, *line, *save, *pair;
	size_t bytes;
	long zp;

	text = load("fetch_zps_accept.csv", &bytes);
	text = realloc(text, bytes + 1);
	text[bytes] = 0;
	strtok_r(text, "\n", &save);
	check(npu_stream_create(dev, NPU_RING_FETCH_MAIN, &s));
	view.base = npu_at(bo, 0);
	view.count = 8;
	w.base = npu_at(bo, 1024);
	w.n = w.k = 1;
	while ((line = strtok_r(NULL, "\n", &save))) {
		int ret;

		pair = line;
		zp = strtol(strchr(line, ',') + 1, &line, 10);
		view.type = w.type = !strncmp(pair, "i4", 2) ? NPU_TYPE_I4 : NPU_TYPE_I8;
		npu_stream_reset(s);
		ret = npu_contract(npu_zero_point_sub(npu_fetch(s, &view), zp), &w,
				   npu_at(bo, 2048));
		assert_int_equal(ret, line[1] == '1' ? 0 : -EINVAL);
		if (ret)
			assert_non_null(strstr(npu_last_error(), "zero-point-range"));
	}
	npu_stream_destroy(s);
	npu_bo_destroy(bo);
	free(text);
}

struct blocks {
	size_t count;
	struct npu_bo *src;
	uint8_t *nonfinite;
	uint64_t bad, first_bad;
};

static void blocks_load(struct blocks *b)
{
	size_t bytes, i;
	void *x = load("pp_x.bin", &bytes);

	b->src = bo_with(x, bytes);
	b->nonfinite = load("pp_nonfinite.bin", &b->count);
	assert_int_equal(bytes, b->count * 64);
	b->bad = 0;
	b->first_bad = NPU_NO_BLOCK;
	for (i = b->count; i-- > 0;) {
		if (b->nonfinite[i]) {
			b->bad++;
			b->first_bad = i;
		}
	}
	free(x);
}

static void blocks_free(struct blocks *b)
{
	npu_bo_destroy(b->src);
	free(b->nonfinite);
}

struct preprocess_case {
	const char *want;
	uint32_t mode, rounding, block_bytes;
};

static const struct preprocess_case preprocess_cases[] = {
	{ "pp_fixed.bin", NPU_PP_MODE_FIXED27, 0, 128 },
	{ "pp_fixed_packed.bin", NPU_PP_MODE_FIXED27_PACKED, 0, 108 },
	{ "pp_low8.bin", NPU_PP_MODE_LOW8, 0, 32 },
	{ "pp_int8a_trunc.bin", NPU_PP_MODE_INT8_EMAX, NPU_ROUND_TRUNCATE, 32 },
	{ "pp_int8a_round_fixed.bin", NPU_PP_MODE_INT8_EMAX, NPU_ROUND_NEAREST_EVEN, 32 },
	{ "pp_int8b_q.bin", NPU_PP_MODE_INT8_SYMMETRIC, 0, 32 },
};

static void preprocess_one(const struct blocks *b, const struct preprocess_case *c)
{
	struct npu_preprocess cmd = NPU_PREPROCESS_INIT;
	bool symmetric = c->mode == NPU_PP_MODE_INT8_SYMMETRIC;
	struct npu_bo *dst = bo_with(NULL, b->count * c->block_bytes);
	struct npu_bo *side = bo_with(NULL, b->count * 37);
	uint8_t *want, *emax, *got, *got_side;
	struct npu_result result;
	uint32_t *scale, nan = 0x7fc00000;
	struct npu_stream *s;
	size_t bytes, i, n;

	want = load(c->want, &bytes);
	emax = load("pp_emax.bin", &n);
	scale = load("pp_int8b_scale.bin", &n);
	assert_int_equal(bytes, b->count * c->block_bytes);
	cmd.src = npu_at(b->src, 0);
	cmd.dst = npu_at(dst, 0);
	cmd.rows = 1;
	cmd.cols = b->count * 32;
	cmd.mode = c->mode;
	cmd.rounding = c->rounding;
	cmd.emax = npu_at(side, b->count * 36);
	cmd.exponents = npu_at(side, 0);
	if (symmetric)
		cmd.scales = npu_at(side, b->count * 32);
	check(npu_stream_create(dev, NPU_RING_PREPROCESS, &s));
	check(npu_preprocess(s, &cmd));
	run(s, NPU_RING_PREPROCESS, &result);
	assert_int_equal(result.cycles, 2 * b->count + 3);
	assert_int_equal(result.nonfinite_blocks, b->bad);
	assert_int_equal(result.first_nonfinite_block, b->first_bad);
	got = bo_data(dst);
	got_side = bo_data(side);
	for (i = 0; i < b->count; i++) {
		if (symmetric && b->nonfinite[i]) {	/* defined here, not in the vectors */
			memset(want + i * 32, 0, 32);
			scale[i] = nan;
		}
	}
	compare(c->want, got, want, bytes);
	compare("e_max", got_side + b->count * 36, emax, b->count);
	if (symmetric)
		compare("scales", got_side + b->count * 32, scale, b->count * 4);
	for (i = 0; i < b->count * 32; i++) {
		uint16_t x = ((uint16_t *)bo_data(b->src))[i];

		assert_int_equal(got_side[i], x >> 7 & 0xff);
	}
	npu_bo_destroy(dst);
	npu_bo_destroy(side);
	free(want);
	free(emax);
	free(scale);
}

static void test_preprocess(void **state)
{
	struct blocks b;
	size_t i;

	blocks_load(&b);
	for (i = 0; i < sizeof(preprocess_cases) / sizeof(*preprocess_cases); i++)
		preprocess_one(&b, &preprocess_cases[i]);
	blocks_free(&b);
}

/* 64 blocks into the fmap cache, then one sweep to all 32 lanes. */
static void test_fmap_cache(void **state)
{
	struct npu_bo *dst = bo_with(NULL, 2048 * 32 * 4), *em = bo_with(NULL, 2048);
	uint16_t *index;
	struct npu_result result;
	uint8_t *emax, *got_emax;
	struct npu_stream *s;
	int32_t *want, *got;
	struct blocks b;
	size_t bytes, i;

	blocks_load(&b);
	index = load("pp_cache_blocks.bin", &bytes);
	want = load("pp_cache_rd.bin", &bytes);
	emax = load("pp_emax.bin", &bytes);
	check(npu_stream_create(dev, NPU_RING_PREPROCESS, &s));
	for (i = 0; i < 64; i++) {
		struct npu_preprocess cmd = NPU_PREPROCESS_INIT;

		cmd.src = npu_at(b.src, index[i] * 64);
		cmd.rows = 1;
		cmd.cols = 32;
		cmd.mode = NPU_PP_MODE_FIXED27;
		cmd.sink = NPU_SINK_FMAP_CACHE;
		check(npu_preprocess(s, &cmd));
	}
	check(npu_fmap_read(s, 0, 2048, 32, npu_at(dst, 0), npu_at(em, 0), npu_at(NULL, 0)));
	run(s, NPU_RING_PREPROCESS, &result);
	assert_int_equal(result.cycles, 64 * (2 + 3) + 2048 + 3);
	got = bo_data(dst);
	got_emax = bo_data(em);
	for (i = 0; i < 2048 * 32; i++)
		assert_int_equal(got[i], want[i / 32]);
	for (i = 0; i < 2048; i++)
		assert_int_equal(got_emax[i], emax[index[i / 32]]);
	npu_bo_destroy(dst);
	npu_bo_destroy(em);
	blocks_free(&b);
	free(index);
	free(want);
	free(emax);
}

/* The words written to the fmap cache are the packed words of those blocks. */
static void test_fmap_words(void **state)
{
	size_t bytes, i;
	uint8_t *words = load("pp_cache_wr.bin", &bytes);
	uint8_t *packed = load("pp_fixed_packed.bin", &bytes);
	uint16_t *index = load("pp_cache_blocks.bin", &bytes);

	for (i = 0; i < 64; i++)
		compare("fmap words", packed + index[i] * 108, words + i * 108, 108);
	free(words);
	free(packed);
	free(index);
}

/*
 * The RTL's trace without gaps: the 2n-th output word is seen 2n + 3 edges after the first
 * beat was accepted; the model says the same for n blocks.
 */
static void test_cycles(void **state)
{
	struct npu_preprocess cmd = NPU_PREPROCESS_INIT;
	struct npu_bo *bo = bo_with(NULL, 65536);
	int edge, valid, out, first = -1, words = 0;
	struct npu_result result;
	struct npu_stream *s;
	char *text, *line, *save;
	size_t bytes;

	text = load("pp_trace_back_to_back.csv", &bytes);
	text = realloc(text, bytes + 1);
	text[bytes] = 0;
	strtok_r(text, "\n", &save);
	while ((line = strtok_r(NULL, "\n", &save))) {
		if (sscanf(line, "%d,%d,%*d,%*d,%*d,%*d,%*d,%d", &edge, &valid, &out) != 3)
			continue;
		if (valid && first < 0)
			first = edge;
		if (!out || ++words % 2)
			continue;
		cmd.src = npu_at(bo, 0);
		cmd.dst = npu_at(bo, 32768);
		cmd.rows = 1;
		cmd.cols = words / 2 * 32;
		cmd.mode = NPU_PP_MODE_INT8_EMAX;
		check(npu_stream_create(dev, NPU_RING_PREPROCESS, &s));
		check(npu_preprocess(s, &cmd));
		run(s, NPU_RING_PREPROCESS, &result);
		assert_int_equal(result.cycles, edge - first);
	}
	assert_true(words > 20);
	npu_bo_destroy(bo);
	free(text);
}

static int setup(void **state)
{
	const char *name = getenv("NPU_DEVICE");
	struct npu_open_options opt = NPU_OPEN_OPTIONS_INIT;
	uint32_t ring;

	opt.flags = getenv("NPU_SCATTER") ? NPU_OPEN_SCATTER : 0;
	check(npu_open_with(name ? name : "emu", &opt, &dev));
	for (ring = 0; ring < NPU_RING_COUNT; ring++)
		check(npu_queue_create(dev, ring, NPU_PRIORITY_NORMAL, &queue[ring]));
	return 0;
}

static int teardown(void **state)
{
	npu_close(dev);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversions),
		cmocka_unit_test(test_conversions_sub),
		cmocka_unit_test(test_zero_point_i8),
		cmocka_unit_test(test_zero_point_i4),
		cmocka_unit_test(test_zero_point_range),
		cmocka_unit_test(test_preprocess),
		cmocka_unit_test(test_fmap_cache),
		cmocka_unit_test(test_fmap_words),
		cmocka_unit_test(test_cycles),
	};

	return cmocka_run_group_tests_name("golden", tests, setup, teardown);
}
