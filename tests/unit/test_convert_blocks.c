// SPDX-License-Identifier: MIT
/*
 * PREPROCESS and dot products of npu/convert.h at every SIMD level: the golden blocks, and plain
 * models of what has no vectors (partial blocks, constant scales, counters, sums).
 */
#include <math.h>

#include "test_convert.h"

enum mode { FIXED27, PACKED, LOW8, EMAX_RNE, EMAX_TRUNC, SYMMETRIC, CONST, MODES };

static const char *const names[MODES] = {
	"pp_fixed.bin", "pp_fixed_packed.bin", "pp_low8.bin", "pp_int8a_round_fixed.bin",
	"pp_int8a_trunc.bin", "pp_int8b_q.bin", "int8_const",
};

static const size_t block_bytes[MODES] = { 128, 108, 32, 32, 32, 32, 32 };

#define SCALES 5
static const uint32_t scale_bits[SCALES] = { 0x3c23d70a, 0x3f800000, 1, 0x7f7fffff, 0x42fe0000 };

static uint16_t *x;			/* pp_x */
static uint8_t *nonfinite, *emax, *want[MODES], *want_const[SCALES];
static uint32_t *want_scales;
static uint64_t saturated[MODES], saturated_const[SCALES];
static size_t count, bad, first_bad;

static void run(enum mode mode, void *dst, float *scales, const void *src, size_t n, float scale,
		struct npu_convert_blocks *b)
{
	switch (mode) {
	case FIXED27:
		npu_convert_bf16_fixed27(dst, src, n, b);
		break;
	case PACKED:
		npu_convert_bf16_fixed27_packed(dst, src, n, b);
		break;
	case LOW8:
		npu_convert_bf16_low8(dst, src, n, b);
		break;
	case EMAX_RNE:
	case EMAX_TRUNC:
		npu_convert_bf16_int8_emax(dst, src, n, mode == EMAX_TRUNC, b);
		break;
	case SYMMETRIC:
		npu_convert_bf16_int8_symmetric(dst, scales, src, n, b);
		break;
	default:
		assert_int_equal(npu_convert_bf16_int8_const(dst, src, n, scale, b), 0);
	}
}

static void check_golden_mode(enum mode mode, const uint8_t *result, float scale, uint64_t clamped)
{
	struct npu_convert_blocks b = NPU_CONVERT_BLOCKS_INIT;
	size_t bytes = count * block_bytes[mode], i;
	uint8_t *got = malloc(bytes + 1), *side = malloc(count), *all = malloc(count * 32);
	uint32_t *scales = malloc(count * 4);

	got[bytes] = CANARY;
	b.emax = side;
	b.exponents = all;
	run(mode, got, (void *)scales, x, count * 32, scale, &b);
	compare(names[mode], got, result, bytes);
	compare("e_max", side, emax, count);
	if (mode == SYMMETRIC)
		compare("scales", scales, want_scales, count * 4);
	for (i = 0; i < count * 32; i++)
		assert_int_equal(all[i], x[i] >> 7 & 0xff);
	assert_int_equal(b.nonfinite, bad);
	assert_int_equal(b.first_nonfinite, first_bad);
	assert_int_equal(b.saturated, clamped);
	/* the same without anything beside the output */
	memset(got, CANARY, bytes);
	run(mode, got, NULL, x, count * 32, scale, NULL);
	compare(names[mode], got, result, bytes);
	compare_canary(names[mode], got + bytes, 1);
	free(got);
	free(side);
	free(all);
	free(scales);
}

static void check_golden(void)
{
	enum mode mode;
	int i;

	for (mode = 0; mode < CONST; mode++)
		check_golden_mode(mode, want[mode], 0, saturated[mode]);
	for (i = 0; i < SCALES; i++)
		check_golden_mode(CONST, want_const[i], float_of(scale_bits[i]),
				  saturated_const[i]);
}

static void test_golden(void **state)
{
	each_level(check_golden);
}

/* Every length up to three blocks: the last block as if completed with +0. */
static void check_partial_mode(enum mode mode, const uint16_t *src, uint8_t *src_end,
			       uint8_t *dst_end)
{
	uint16_t whole[96];
	uint8_t full[96 * 4], sides[3], full_sides[3], all[96];
	float scales[3], full_scales[3];
	size_t n;

	for (n = 0; n <= 96; n++) {
		struct npu_convert_blocks a = NPU_CONVERT_BLOCKS_INIT, b = a;
		size_t blocks = NPU_CONVERT_BLOCKS(n), size = n * block_bytes[mode] / 32;
		uint8_t *in = src_end - 2 * n - n % 3, *out;

		if (mode == PACKED)
			size = blocks * NPU_CONVERT_BLOCK_PACKED;
		out = dst_end - size;
		memset(whole, 0, sizeof(whole));
		memcpy(whole, src, 2 * n);
		b.emax = full_sides;
		run(mode, full, full_scales, whole, blocks * 32, 0.25f, &b);
		memcpy(in, src, 2 * n);
		memset(out - 64, CANARY, size + 64);
		memset(sides, CANARY, sizeof(sides));
		memset(all, CANARY, sizeof(all));
		a.emax = sides;
		a.exponents = all;
		run(mode, out, scales, in, n, 0.25f, &a);
		compare(names[mode], out, full, size);
		compare_canary(names[mode], out - 64, 64);
		compare("e_max", sides, full_sides, blocks);
		compare_canary("e_max", sides + blocks, 3 - blocks);
		if (mode == SYMMETRIC)
			compare("scales", scales, full_scales, 4 * blocks);
		compare_canary("exponents", all + 32 * blocks, 96 - 32 * blocks);
		while (blocks-- > 0)
			assert_int_equal(all[32 * blocks + 31], whole[32 * blocks + 31] >> 7 & 255);
		assert_int_equal(a.saturated, b.saturated);
		assert_int_equal(a.nonfinite, b.nonfinite);
		assert_int_equal(a.first_nonfinite, b.first_nonfinite);
	}
}

static void check_partial(void)
{
	static uint8_t *src_end, *dst_end;
	enum mode mode;
	size_t i;

	if (!src_end) {
		src_end = guarded(4096) + 4096;
		dst_end = guarded(4096) + 4096;
	}
	for (mode = 0; mode < MODES; mode++) {
		for (i = 0; i + 3 <= count; i += 97)
			check_partial_mode(mode, x + 32 * i, src_end, dst_end);
		check_partial_mode(mode, x + 32 * first_bad, src_end, dst_end);
		run(mode, NULL, NULL, NULL, 0, 1, NULL);
	}
}

static void test_partial(void **state)
{
	each_level(check_partial);
}

/* An Inf in the partial last block counts with its number in the whole row. */
static void check_counters(void)
{
	struct npu_convert_blocks b = NPU_CONVERT_BLOCKS_INIT;
	uint16_t in[32 * 40 + 5];
	int8_t out[COUNT(in)];
	size_t i;

	for (i = 0; i < COUNT(in); i++)
		in[i] = 0x3f80;
	b.saturated = b.nonfinite = b.first_nonfinite = 77;	/* set, not added to */
	npu_convert_bf16_int8_symmetric(out, NULL, in, COUNT(in), &b);
	assert_int_equal(b.saturated, 0);
	assert_int_equal(b.nonfinite, 0);
	assert_true(b.first_nonfinite == UINT64_MAX);
	in[COUNT(in) - 1] = 0xff80;
	npu_convert_bf16_int8_symmetric(out, NULL, in, COUNT(in), &b);
	assert_int_equal(b.nonfinite, 1);
	assert_int_equal(b.first_nonfinite, 40);
	in[32 * 7 + 1] = 0x7fc0;
	npu_convert_bf16_int8_const(out, in, COUNT(in), 0x1p-9f, &b);
	assert_int_equal(b.nonfinite, 2);
	assert_int_equal(b.first_nonfinite, 7);
	assert_int_equal(b.saturated, 39 * 32);
	for (i = 0; i < COUNT(in); i++)
		assert_int_equal(out[i], i / 32 == 7 || i / 32 == 40 ? 0 : 127);
}

static void test_counters(void **state)
{
	each_level(check_counters);
}

/* Members that the caller's structure lacks stay what they are, and are not looked at. */
static void test_blocks_size(void **state)
{
	static const size_t sizes[] = {
		0, sizeof(size_t), offsetof(struct npu_convert_blocks, exponents),
		offsetof(struct npu_convert_blocks, saturated),
		offsetof(struct npu_convert_blocks, nonfinite),
		offsetof(struct npu_convert_blocks, first_nonfinite),
		sizeof(struct npu_convert_blocks), sizeof(struct npu_convert_blocks) + 8,
	};
	int8_t out[32];
	uint8_t side;
	size_t i;

	for (i = 0; i < COUNT(sizes); i++) {
		struct {
			struct npu_convert_blocks b;
			uint8_t more[8];
		} got, model;

		memset(&got, CANARY, sizeof(got));
		got.b.size = sizes[i];
		if (sizes[i] > offsetof(struct npu_convert_blocks, emax))
			got.b.emax = &side;
		if (sizes[i] > offsetof(struct npu_convert_blocks, exponents))
			got.b.exponents = NULL;
		model = got;
		if (sizes[i] > offsetof(struct npu_convert_blocks, saturated))
			model.b.saturated = 0;
		if (sizes[i] > offsetof(struct npu_convert_blocks, nonfinite))
			model.b.nonfinite = 1;
		if (sizes[i] > offsetof(struct npu_convert_blocks, first_nonfinite))
			model.b.first_nonfinite = 0;
		npu_convert_bf16_int8_symmetric(out, NULL, x + 32 * first_bad, 32, &got.b);
		compare("struct npu_convert_blocks", &got, &model, sizeof(got));
	}
}

static void check_refusals(void)
{
	static const uint32_t refused[] = { 0, 0x80000000, 0xbf800000, 0x7f800000, 0xff800000,
					    0x7fc00000, 0xffc00000, 0x7f800001, 0x80000001 };
	struct npu_convert_blocks b = NPU_CONVERT_BLOCKS_INIT;
	uint8_t out[64], side[2];
	size_t i;

	b.emax = side;
	b.nonfinite = 9;
	memset(out, CANARY, sizeof(out));
	memset(side, CANARY, sizeof(side));
	for (i = 0; i < COUNT(refused); i++) {
		assert_int_equal(npu_convert_bf16_int8_const((int8_t *)out, x, 64,
							     float_of(refused[i]), &b), -EINVAL);
		assert_non_null(strstr(npu_last_error(), "scale"));
		compare_canary("refused scale", out, sizeof(out));
		compare_canary("refused scale", side, sizeof(side));
		assert_int_equal(b.nonfinite, 9);
	}
}

static void test_refusals(void **state)
{
	each_level(check_refusals);
}

/* ---- dot products ---- */

#define K_MAX 131
#define ROWS 19
#define SHAPES 160

static const size_t depths[] = { 0, 1, 3, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 100,
				 127, 128, K_MAX };

struct shape {
	size_t k, n, ldw;
	uint8_t a[K_MAX * 4], w[ROWS * (K_MAX + 3) * 4];
	uint32_t out[4][ROWS];		/* i8, i16, f32, bf16 of the same bytes */
};

static struct shape *shapes;
static uint32_t *widened;		/* bf16 to f32 */

static int32_t integer(const uint8_t *p, size_t i, unsigned int bytes)
{
	return bytes == 1 ? (int8_t)p[i] : (int16_t)(p[2 * i] | p[2 * i + 1] << 8);
}

static float real(const uint8_t *p, size_t i, bool bf16)
{
	uint32_t v;

	if (bf16)
		return float_of(widened[p[2 * i] | p[2 * i + 1] << 8]);
	memcpy(&v, p + 4 * i, 4);
	return float_of(v);
}

static uint32_t float_sum(const struct shape *s, size_t c, bool bf16)
{
	volatile float sum[16] = { 0 }, product;
	size_t j, half;

	for (j = 0; j < s->k; j++) {
		product = real(s->a, j, bf16) * real(s->w, c * s->ldw + j, bf16);
		sum[j % 16] += product;
	}
	for (half = 8; half; half /= 2)
		for (j = 0; j < half; j++)
			sum[j] += sum[j + half];
	return isnan(sum[0]) ? 0x7fc00000 : bits_of(sum[0]);
}

/* Bytes of any kind, or floats whose sums stay finite; the extremes of integers now and then. */
static void fill(uint8_t *p, size_t bytes, unsigned int kind)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		p[i] = kind == 2 ? 0x80 : next_random();
	for (i = 1; kind == 1 && i < bytes; i += 2)
		p[i] = (p[i] & 0x80) | (next_random() % 2 ? 0x3f : 0x40);
}

static void model_shape(struct shape *s, unsigned int i)
{
	size_t c, j;

	s->k = depths[i % COUNT(depths)];
	s->n = i * 7 % (ROWS + 1);
	s->ldw = s->k + i % 4;
	fill(s->a, sizeof(s->a), i % 3);
	fill(s->w, sizeof(s->w), i % 3);
	for (c = 0; c < s->n; c++) {
		for (j = 0; j < s->k; j++) {
			s->out[0][c] += (uint32_t)(integer(s->a, j, 1) *
						   integer(s->w, c * s->ldw + j, 1));
			s->out[1][c] += (uint32_t)(integer(s->a, j, 2) *
						   integer(s->w, c * s->ldw + j, 2));
		}
		s->out[2][c] = float_sum(s, c, false);
		s->out[3][c] = float_sum(s, c, true);
	}
}

static void check_dots(void)
{
	static const char *const what[] = { "dot_i8", "dot_i16", "dot_f32", "dot_bf16" };
	static const unsigned int bytes[] = { 1, 2, 4, 2 };
	static uint8_t *a_end, *w_end, *out_end;
	unsigned int i, d;

	if (!a_end) {
		a_end = guarded(4096) + 4096;
		w_end = guarded(16384) + 16384;
		out_end = guarded(4096) + 4096;
	}
	for (i = 0; i < SHAPES * 4; i++) {
		const struct shape *s = &shapes[i / 4];
		size_t k = s->k, ldw = s->ldw, n = s->n;
		size_t size = n ? ((n - 1) * ldw + k) * bytes[i % 4] : 0;
		uint8_t *a, *w, *out = out_end - 4 * n - i % 5;

		d = i % 4;
		a = memcpy(a_end - k * bytes[d], s->a, k * bytes[d]);
		w = memcpy(w_end - size, s->w, size);
		memset(out - 64, CANARY, 4 * n + 64);
		if (d == 0)
			npu_convert_dot_i8((void *)out, (void *)a, (void *)w, k, ldw, n);
		else if (d == 1)
			npu_convert_dot_i16((void *)out, (void *)a, (void *)w, k, ldw, n);
		else if (d == 2)
			npu_convert_dot_f32((void *)out, (void *)a, (void *)w, k, ldw, n);
		else
			npu_convert_dot_bf16((void *)out, (void *)a, (void *)w, k, ldw, n);
		compare(what[d], out, s->out[d], 4 * n);
		compare_canary(what[d], out - 64, 64);
	}
}

static void test_dots(void **state)
{
	each_level(check_dots);
}

/* ---- models, in the default arithmetic environment ---- */

/* What the clamp changed: a 128 before it, of either sign, is the only one that int8_emax knows. */
static void model_emax(void)
{
	const int32_t *fixed = (void *)want[FIXED27];
	size_t i;

	for (i = 0; i < count * 32; i++)
		saturated[EMAX_RNE] += lrint(fixed[i] / 8192.0) > 127 ||
				       lrint(fixed[i] / 8192.0) < -127;
}

static void model_const(unsigned int s)
{
	float scale = float_of(scale_bits[s]);
	size_t i;

	want_const[s] = calloc(count, 32);
	for (i = 0; i < count * 32; i++) {
		volatile float t = float_of((uint32_t)x[i] << 16) / scale;
		float q = nearbyintf(t);

		if (nonfinite[i / 32])
			continue;
		saturated_const[s] += fabsf(q) > 127;
		want_const[s][i] = (int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
	}
}

static int setup(void **state)
{
	size_t bytes, i;
	enum mode mode;

	x = load("pp_x.bin", &bytes);
	nonfinite = load("pp_nonfinite.bin", &count);
	assert_int_equal(bytes, count * 64);
	emax = load("pp_emax.bin", &bytes);
	want_scales = load("pp_int8b_scale.bin", &bytes);
	widened = load("fetch_cast_bf16_f32.bin", &bytes);
	for (mode = 0; mode < CONST; mode++)
		want[mode] = load(names[mode], &bytes);
	first_bad = SIZE_MAX;
	for (i = count; i-- > 0;) {
		if (!nonfinite[i])
			continue;
		/* defined by the device, not in the vectors */
		memset(want[SYMMETRIC] + 32 * i, 0, 32);
		want_scales[i] = 0x7fc00000;
		bad++;
		first_bad = i;
	}
	model_emax();
	for (i = 0; i < SCALES; i++)
		model_const(i);
	shapes = calloc(SHAPES, sizeof(*shapes));
	for (i = 0; i < SHAPES; i++)
		model_shape(&shapes[i], i);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_partial),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_blocks_size),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_dots),
	};

	return cmocka_run_group_tests_name("convert_blocks", tests, setup, NULL);
}
