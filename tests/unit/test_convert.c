// SPDX-License-Identifier: MIT
/*
 * npu/convert.h at every SIMD level, PREPROCESS apart (test_convert_blocks.c): whole outputs bit
 * for bit against the golden vectors and plain models.
 */
#include "test_convert.h"

#define WRAP(name)								\
static void name(void *dst, const void *src, size_t n)				\
{										\
	npu_convert_##name(dst, src, n);					\
}

WRAP(i4_i8)
WRAP(i4_i32)
WRAP(i8_i32)
WRAP(i16_i32)
WRAP(f8e4m3_f32)
WRAP(f8e5m2_f32)
WRAP(bf16_f32)
WRAP(f32_bf16)
WRAP(f4_f8e4m3)
WRAP(f4_f8e5m2)
WRAP(f4_f32)
WRAP(f8e4m3_bf16)
WRAP(f8e5m2_bf16)
WRAP(f8e4m3_bf16_f32)
WRAP(f8e5m2_bf16_f32)

/* Lengths up to here go to the end of a page and to any alignment. */
#define PREFIX 200

struct conversion {
	void (*run)(void *dst, const void *src, size_t n);
	const char *name;	/* of the golden file, after "fetch_" */
	unsigned int in_bits, out_bytes;
	bool stream;		/* there is fetch_stream_<name> too */
};

static const struct conversion conversions[] = {
	{ i4_i32, "cast_i4_i32", 4, 4, true },
	{ i8_i32, "cast_i8_i32", 8, 4, true },
	{ i16_i32, "cast_i16_i32", 16, 4, true },
	{ f8e4m3_f32, "cast_f8e4m3_f32", 8, 4, true },
	{ f8e5m2_f32, "cast_f8e5m2_f32", 8, 4, true },
	{ bf16_f32, "cast_bf16_f32", 16, 4, true },
	{ f32_bf16, "cast_f32_bf16", 32, 2, true },
	{ f4_f8e4m3, "lut_f4e2m1_f8e4m3", 4, 1, true },
	{ f4_f8e5m2, "lut_f4e2m1_f8e5m2", 4, 1, true },
	{ f8e4m3_bf16, "lut_f8e4m3_bf16", 8, 2, true },
	{ f8e5m2_bf16, "lut_f8e5m2_bf16", 8, 2, true },
	{ f4_f32, "chain_f4e2m1_f8e4m3_f32", 4, 4, false },
	{ f4_f32, "chain_f4e2m1_f8e5m2_f32", 4, 4, false },
	{ f8e4m3_bf16_f32, "chain_f8e4m3_bf16_f32", 8, 4, false },
	{ f8e5m2_bf16_f32, "chain_f8e5m2_bf16_f32", 8, 4, false },
};

static uint8_t *src_end, *dst_end;	/* PREFIX elements of 4 bytes, and room, before them */
static uint8_t domain8[256];
static uint16_t domain16[65536];

/* Every length up to PREFIX of what gives @want, at guard pages and misaligned. */
static void prefixes(const struct conversion *c, const uint8_t *in, const uint8_t *want)
{
	size_t n;

	for (n = 0; n <= PREFIX; n++) {
		size_t in_bytes = (n * c->in_bits + 7) / 8, bytes = n * c->out_bytes;
		uint8_t *src = src_end - in_bytes, *dst = dst_end - bytes;

		memcpy(src, in, in_bytes);
		memset(dst - 64, CANARY, bytes + 64);
		c->run(dst, src, n);
		compare(c->name, dst, want, bytes);
		compare_canary(c->name, dst - 64, 64);
		compare(c->name, src, in, in_bytes);
		src = src_end - in_bytes - 1 - n % 61;
		dst = dst_end - bytes - 64 - n % 67;
		memcpy(src, in, in_bytes);
		memset(dst, CANARY, bytes + 64);
		c->run(dst, src, n);
		compare(c->name, dst, want, bytes);
		compare_canary(c->name, dst + bytes, 64);
	}
}

static void check_one(const struct conversion *c, const char *kind, const void *in, size_t n)
{
	char name[64];
	uint8_t *want, *got;
	size_t bytes;

	snprintf(name, sizeof(name), "fetch_%s%s.bin", kind, c->name);
	if (c->in_bits == 32 && !*kind)
		snprintf(name, sizeof(name), "fetch_%s_out.bin", c->name);
	want = load(name, &bytes);
	assert_int_equal(bytes, n * c->out_bytes);
	got = malloc(bytes + 1);
	got[bytes] = CANARY;
	c->run(got, in, n);
	compare(name, got, want, bytes);
	compare_canary(name, got + bytes, 1);
	if (n >= PREFIX)
		prefixes(c, in, want);
	free(got);
	free(want);
}

static void check_conversions(void)
{
	size_t i, bytes, f32_bytes;
	uint8_t *stream = load("fetch_stream_in.bin", &bytes);
	uint8_t *f32 = load("fetch_cast_f32_bf16_in.bin", &f32_bytes);

	for (i = 0; i < COUNT(conversions); i++) {
		const struct conversion *c = &conversions[i];

		c->run(NULL, NULL, 0);
		if (c->in_bits == 32)
			check_one(c, "", f32, f32_bytes / 4);
		else if (c->in_bits == 16)
			check_one(c, "", domain16, COUNT(domain16));
		else
			check_one(c, "", domain8, 2048 / c->in_bits);
		if (c->stream)
			check_one(c, "stream_", stream, bytes * 8 / c->in_bits);
	}
	free(stream);
	free(f32);
}

static void test_conversions(void **state)
{
	each_level(check_conversions);
}

/* No vector of its own: the low bytes of the cast to i32. */
static void check_i4_i8(void)
{
	struct conversion c = { i4_i8, "i4_i8", 4, 1, false };
	size_t bytes, i;
	uint8_t *in = load("fetch_stream_in.bin", &bytes);
	int32_t *wide = load("fetch_stream_cast_i4_i32.bin", &bytes);
	int8_t *want = malloc(bytes / 4), *got = malloc(bytes / 4);

	for (i = 0; i < bytes / 4; i++)
		want[i] = wide[i];
	npu_convert_i4_i8(got, in, bytes / 4);
	compare(c.name, got, want, bytes / 4);
	prefixes(&c, in, (uint8_t *)want);
	free(in);
	free(wide);
	free(want);
	free(got);
}

static void test_i4_i8(void **state)
{
	each_level(check_i4_i8);
}

/* Past the caches, at any alignment; also split in two, which gives the same. */
static void check_large(void)
{
	size_t n = 3000001, i, cut = 1000003;
	uint8_t *src = malloc(n + 3), *dst = malloc(4 * n + 64);

	for (i = 0; i < n; i++)
		src[3 + i] = i * 7 + (i >> 11);
	for (i = 0; i < 2; i++) {
		uint8_t *out = dst + 64 - ((uintptr_t)dst & 63) - i;
		size_t j;

		memset(dst, CANARY, 4 * n + 64);
		if (i)
			npu_convert_i8_i32((void *)out, (int8_t *)src + 3, cut);
		npu_convert_i8_i32((void *)(out + 4 * cut * i), (int8_t *)src + 3 + cut * i,
				   n - cut * i);
		for (j = 0; j < n; j++) {
			int32_t v;

			memcpy(&v, out + 4 * j, 4);
			if (v != (int8_t)src[3 + j])
				fail_msg("%s: element %zu", npu_cpu_level(), j);
		}
	}
	free(src);
	free(dst);
}

static void test_large(void **state)
{
	each_level(check_large);
}

static uint8_t table[65536 * 4];

static int lookup(unsigned int key_bits, void *dst, const void *src, size_t n, unsigned int entry)
{
	if (key_bits == 4)
		return npu_convert_lookup4(dst, src, n, table, entry);
	if (key_bits == 8)
		return npu_convert_lookup8(dst, src, n, table, entry);
	return npu_convert_lookup16(dst, src, n, table, entry);
}

static void check_lookup(unsigned int bits, unsigned int entry)
{
	static uint8_t in[65536 * 2 + 1], got[65536 * 4 + 1], want[65536 * 4];
	size_t lengths[] = { 0, 1, 2, 63, 64, 65, 127, 255, 1001, 65536 }, i, l;

	memcpy(in + 1, domain16, sizeof(domain16));
	for (i = 0; i < 65536; i++) {
		uint32_t key = bits == 16 ? domain16[i] : in[1 + i * bits / 8];

		if (bits == 4)
			key = i % 2 ? key >> 4 : key & 15;
		memcpy(want + i * entry, table + key * entry, entry);
	}
	for (l = 0; l < COUNT(lengths); l++) {
		size_t bytes = lengths[l] * entry;

		memset(got, CANARY, sizeof(got));
		assert_int_equal(lookup(bits, got, in + 1, lengths[l], entry), 0);
		compare("lookup", got, want, bytes);
		compare_canary("lookup", got + bytes, sizeof(got) - bytes);
	}
}

static void check_lookups(void)
{
	static const unsigned int entries[] = { 1, 2, 4 }, bad[] = { 0, 3, 5, 8, 16, ~0u };
	unsigned int bits, i;
	uint8_t out[64];

	for (bits = 4; bits <= 16; bits *= 2) {
		for (i = 0; i < COUNT(entries); i++)
			check_lookup(bits, entries[i]);
		for (i = 0; i < COUNT(bad); i++) {
			memset(out, CANARY, sizeof(out));
			assert_int_equal(lookup(bits, out, domain16, 8, bad[i]), -EINVAL);
			assert_non_null(strstr(npu_last_error(), "entry_bytes"));
			compare_canary("refused lookup", out, sizeof(out));
		}
		assert_int_equal(lookup(bits, NULL, NULL, 0, 4), 0);
	}
}

static void test_lookups(void **state)
{
	each_level(check_lookups);
}

static void check_zero_points(void)
{
	static const int zp4[] = { -8, -3, 0, 5, 7 }, zp8[] = { -128, -77, 0, 1, 127 };
	size_t bytes, n, i;
	uint8_t *in = load("fetch_stream_in.bin", &n), nibbles[8];
	uint8_t *got = malloc(256 * 512), *want;
	int8_t values[256];

	want = load("fetch_stream_zps_i4_i5.bin", &bytes);
	for (i = 0; i < 5; i++)
		assert_int_equal(npu_convert_i4_i5((int8_t *)got + i * 2 * n, in, 2 * n,
						   zp4[i]), 0);
	compare("i4_i5 stream", got, want, bytes);
	free(want);
	want = load("fetch_stream_zps_i8_i9.bin", &bytes);
	for (i = 0; i < 5; i++)
		assert_int_equal(npu_convert_i8_i9((int16_t *)got + i * n, (int8_t *)in, n,
						   zp8[i]), 0);
	compare("i8_i9 stream", got, want, bytes);
	free(want);
	for (i = 0; i < 256; i++)
		values[i] = (int)i - 128;
	for (i = 0; i < 8; i++)
		nibbles[i] = ((2 * i + 8) & 15) | ((2 * i + 9) & 15) << 4;
	want = load("fetch_zps_i8_i9.bin", &bytes);
	for (i = 0; i < 256; i++)
		npu_convert_i8_i9((int16_t *)got + i * 256, values, 256, (int)i - 128);
	compare("i8_i9", got, want, bytes);
	free(want);
	want = load("fetch_zps_i4_i5.bin", &bytes);
	for (i = 0; i < 16; i++)
		npu_convert_i4_i5((int8_t *)got + i * 16, nibbles, 16, (int)i - 8);
	compare("i4_i5", got, want, bytes);
	free(want);
	free(in);
	free(got);
}

static void test_zero_points(void **state)
{
	each_level(check_zero_points);
}

/* Those the published model accepts, and no others; a refusal writes nothing. */
static void test_zero_point_range(void **state)
{
	size_t bytes, accepted = 0;
	char *text = load("fetch_zps_accept.csv", &bytes), *line, *save;
	static const uint8_t in[8];
	uint8_t out[16];

	strtok_r(text, "\n", &save);
	while ((line = strtok_r(NULL, "\n", &save))) {
		bool i4 = !strncmp(line, "i4", 2);
		char *end;
		int zp = strtol(strchr(line, ',') + 1, &end, 10), ret;

		memset(out, CANARY, sizeof(out));
		ret = i4 ? npu_convert_i4_i5((int8_t *)out, in, 8, zp) :
			   npu_convert_i8_i9((int16_t *)(void *)out, (int8_t *)in, 8, zp);
		assert_int_equal(ret, end[1] == '1' ? 0 : -EINVAL);
		if (ret)
			compare_canary("refused zero point", out, sizeof(out));
		accepted += !ret;
	}
	assert_int_equal(accepted, 16 + 256);
	assert_int_equal(npu_convert_i4_i5(NULL, NULL, 0, 0), 0);
	assert_int_equal(npu_convert_i8_i9(NULL, NULL, 0, 0), 0);
	free(text);
}

/* In place, bit by bit. */
static void check_zero(void)
{
	static const unsigned int widths[] = { 4, 8, 16, 32 }, bad[] = { 0, 1, 5, 12, 64 };
	uint8_t a[301], b[301];
	unsigned int i, from, to, bit;

	for (i = 0; i < COUNT(widths); i++) {
		for (from = 0; from < 70; from++) {
			for (to = from; to < 70; to++) {
				memcpy(a, domain16, sizeof(a));
				for (bit = 0; bit < sizeof(a); bit++)
					a[bit] |= 0x81 + bit;
				memcpy(b, a, sizeof(a));
				for (bit = from * widths[i]; bit < to * widths[i]; bit++)
					b[1 + bit / 8] &= ~(1u << bit % 8);
				assert_int_equal(npu_convert_zero(a + 1, widths[i], from, to), 0);
				compare("zero", a, b, sizeof(a));
			}
		}
	}
	for (i = 0; i < COUNT(bad); i++) {
		assert_int_equal(npu_convert_zero(a, bad[i], 0, 8), -EINVAL);
		compare("refused zero", a, b, sizeof(a));
	}
	assert_int_equal(npu_convert_zero(NULL, 8, 0, 0), 0);
}

static void test_zero(void **state)
{
	each_level(check_zero);
}

static void test_levels(void **state)
{
	const char *before = npu_cpu_level();

	assert_int_equal(npu_set_cpu_level("mmx"), -EINVAL);
	assert_string_equal(npu_cpu_level(), before);
	assert_string_equal(npu_cpu_level_name(0), "scalar");
}

static int setup(void **state)
{
	size_t i;

	for (i = 0; i < COUNT(domain16); i++)
		domain16[i] = i;
	for (i = 0; i < COUNT(domain8); i++)
		domain8[i] = i;
	for (i = 0; i < sizeof(table); i++)
		table[i] = next_random();
	src_end = guarded(4096) + 4096;
	dst_end = guarded(4096) + 4096;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversions),
		cmocka_unit_test(test_i4_i8),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_lookups),
		cmocka_unit_test(test_zero_points),
		cmocka_unit_test(test_zero_point_range),
		cmocka_unit_test(test_zero),
		cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests_name("convert", tests, setup, NULL);
}
