// SPDX-License-Identifier: MIT
/*
 * Tables of functions against MPFR: for every key of every key type, in every entry
 * type, the nearest representable value.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <fenv.h>
#include <mpfr.h>
#include <npu.h>

#define PRECISION 256

struct format {
	uint32_t type, bits, precision;
	int emin, emax;
	double largest;
	uint32_t nan;
};

static const struct format formats[] = {
	{ NPU_TYPE_F8E4M3, 8, 4, -6, 8, 448, 0x7f },
	{ NPU_TYPE_F8E5M2, 8, 3, -14, 15, 57344, 0x7e },
	{ NPU_TYPE_BF16, 16, 8, -126, 127, 0, 0x7fc0 },
	{ NPU_TYPE_F32, 32, 24, -126, 127, 0, 0x7fc00000 },
};

static const struct format *find_format(uint32_t type)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].type == type)
			return &formats[i];
	return NULL;
}

/* The value of a word by the book; NAN and INFINITY too. All of them are exact in double. */
static double decode(const struct format *f, uint32_t word)
{
	double sign = word >> (f->bits - 1) ? -1 : 1;
	uint32_t m = word & ((1u << (f->precision - 1)) - 1);
	int e = (int)((word & ((1u << (f->bits - 1)) - 1)) >> (f->precision - 1));
	int top = (1 << (f->bits - f->precision)) - 1;

	if (f->type == NPU_TYPE_F8E4M3 && e == top && m == 7)
		return NAN;
	if (f->type != NPU_TYPE_F8E4M3 && e == top)
		return m ? NAN : sign * INFINITY;
	if (!e)
		return sign * ldexp(m, f->emin - (int)f->precision + 1);
	return sign * ldexp(m + (1u << (f->precision - 1)), e - 1 + f->emin -
			    (int)f->precision + 1);
}

/*
 * Rounding is always to the side of the true value: a saturated function stays next
 * to its limit instead of becoming it, and a value next to a tie is not one.
 */
static void gelu(mpfr_t v, mpfr_t x)
{
	mpfr_t t;

	mpfr_init2(t, PRECISION);
	mpfr_sqrt_ui(t, 2, MPFR_RNDN);
	mpfr_div(t, x, t, MPFR_RNDN);
	mpfr_neg(t, t, MPFR_RNDN);
	mpfr_erfc(t, t, MPFR_RNDZ);
	mpfr_mul(v, x, t, MPFR_RNDZ);
	mpfr_div_ui(v, v, 2, MPFR_RNDN);
	mpfr_clear(t);
}

static void sigmoid(mpfr_t v, mpfr_t x)
{
	mpfr_neg(v, x, MPFR_RNDN);
	mpfr_exp(v, v, MPFR_RNDU);
	mpfr_add_ui(v, v, 1, MPFR_RNDU);
	mpfr_ui_div(v, 1, v, MPFR_RNDZ);
}

static void gelu_tanh(mpfr_t v, mpfr_t x)
{
	mpfr_t t, c;

	mpfr_inits2(PRECISION, t, c, NULL);
	mpfr_pow_ui(t, x, 3, MPFR_RNDN);
	mpfr_set_str(c, "0.044715", 10, MPFR_RNDN);
	mpfr_mul(t, t, c, MPFR_RNDN);
	mpfr_add(t, t, x, MPFR_RNDN);
	mpfr_const_pi(c, MPFR_RNDN);
	mpfr_ui_div(c, 2, c, MPFR_RNDN);
	mpfr_sqrt(c, c, MPFR_RNDN);
	mpfr_mul(t, t, c, MPFR_RNDN);
	mpfr_mul_ui(t, t, 2, MPFR_RNDN);
	sigmoid(c, t);
	mpfr_mul(v, c, x, MPFR_RNDZ);
	mpfr_clears(t, c, NULL);
}

static void function_value(mpfr_t v, uint32_t function, mpfr_t x)
{
	mpfr_t s;

	switch (function) {
	case NPU_TABLE_SIGMOID:
		sigmoid(v, x);
		break;
	case NPU_TABLE_GELU:
		gelu(v, x);
		break;
	case NPU_TABLE_GELU_TANH:
		gelu_tanh(v, x);
		break;
	case NPU_TABLE_SILU:
		mpfr_init2(s, PRECISION);
		sigmoid(s, x);
		mpfr_mul(v, x, s, MPFR_RNDZ);
		mpfr_clear(s);
		break;
	case NPU_TABLE_TANH:
		mpfr_tanh(v, x, MPFR_RNDZ);
		break;
	default:
		mpfr_exp(v, x, MPFR_RNDN);
		break;
	}
}

/* Nearest multiple of the quantum at @v's size, ties to even, as a double. */
static double nearest(const struct format *f, mpfr_t v)
{
	mpfr_t q;
	double r;
	long e;

	if (mpfr_zero_p(v))
		return mpfr_signbit(v) ? -0.0 : 0.0;
	e = (long)mpfr_get_exp(v) - 1;
	if (e < f->emin)
		e = f->emin;
	if (e > f->emax + 1)
		return mpfr_signbit(v) ? -INFINITY : INFINITY;
	mpfr_init2(q, PRECISION);
	mpfr_mul_2si(q, v, (long)f->precision - 1 - e, MPFR_RNDN);
	mpfr_rint(q, q, MPFR_RNDN);
	mpfr_mul_2si(q, q, e - (long)f->precision + 1, MPFR_RNDN);
	r = mpfr_get_d(q, MPFR_RNDN);
	mpfr_clear(q);
	if (f->largest ? fabs(r) > f->largest : fabs(r) >= ldexp(1, f->emax + 1))
		r = copysign(INFINITY, r);
	return r;
}

static void check_float(const struct format *f, uint32_t word, mpfr_t v)
{
	double want = nearest(f, v), got = decode(f, word);

	if (isinf(want) && f->type == NPU_TYPE_F8E4M3) {
		assert_int_equal(word & 0x7f, 0x7f);
		return;
	}
	assert_true(got == want);
	assert_int_equal(!!signbit(got), !!signbit(want));
}

static void check_i8(int8_t got, mpfr_t v, double scale)
{
	mpfr_t q, s;
	long want;

	mpfr_inits2(PRECISION, q, s, NULL);
	mpfr_set_d(s, scale, MPFR_RNDN);
	mpfr_div(q, v, s, MPFR_RNDN);
	mpfr_rint(q, q, MPFR_RNDN);
	want = mpfr_cmp_si(q, 127) > 0 ? 127 : mpfr_cmp_si(q, -128) < 0 ? -128 :
						mpfr_get_si(q, MPFR_RNDN);
	mpfr_clears(q, s, NULL);
	assert_int_equal(got, want);
}

static uint32_t load(const uint8_t *table, size_t i, uint32_t bytes)
{
	uint32_t word = 0;

	memcpy(&word, table + i * bytes, bytes);
	return word;
}

static const uint32_t entries[] = {
	NPU_TYPE_I8, NPU_TYPE_F8E4M3, NPU_TYPE_F8E5M2, NPU_TYPE_BF16, NPU_TYPE_F32,
};

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

static uint32_t infinite_entry(uint32_t type)
{
	switch (type) {
	case NPU_TYPE_I8:
		return 127;
	case NPU_TYPE_F8E4M3:
		return 0x7f;
	case NPU_TYPE_F8E5M2:
		return 0x7c;
	case NPU_TYPE_BF16:
		return 0x7f80;
	default:
		return 0x7f800000;
	}
}

static void check_word(uint32_t type, uint32_t word, double key, mpfr_t v, double scale)
{
	const struct format *entry = find_format(type);

	if (isnan(key))
		assert_int_equal(word, entry ? entry->nan : 0);
	else if (mpfr_inf_p(v))
		assert_int_equal(word, infinite_entry(type));
	else if (entry)
		check_float(entry, word, v);
	else
		check_i8((int8_t)word, v, scale);
}

/* The function's value, or its limit at an infinity. */
static void key_value(mpfr_t v, uint32_t function, uint32_t key_type, double d, double scale)
{
	mpfr_t x, s;

	if (isnan(d))
		return;
	if (isinf(d) && (function == NPU_TABLE_GELU || function == NPU_TABLE_GELU_TANH ||
			 function == NPU_TABLE_SILU)) {
		mpfr_set_d(v, d < 0 ? -0.0 : d, MPFR_RNDN);
		return;
	}
	mpfr_inits2(PRECISION, x, s, NULL);
	mpfr_set_d(x, d, MPFR_RNDN);
	if (key_type == NPU_TYPE_I8) {
		mpfr_set_d(s, scale, MPFR_RNDN);
		mpfr_mul(x, x, s, MPFR_RNDN);
	}
	function_value(v, function, x);
	mpfr_clears(x, s, NULL);
}

/* All entry types at once: MPFR's value is the dear part. */
static void check_tables(uint32_t function, uint32_t key_type, double scale)
{
	const struct format *key = find_format(key_type);
	uint32_t keys = key_type == NPU_TYPE_BF16 ? 65536 : 256, k;
	uint8_t *tables[ENTRIES];
	mpfr_t v;
	size_t e;

	for (e = 0; e < ENTRIES; e++) {
		tables[e] = malloc((size_t)keys * 4);
		assert_non_null(tables[e]);
		assert_int_equal(npu_table_fill(function, key_type, entries[e],
						entries[e] == NPU_TYPE_I8 || !key ? scale : 1,
						tables[e], (size_t)keys * 4), 0);
	}
	mpfr_init2(v, PRECISION);
	for (k = 0; k < keys; k++) {
		double d = key ? decode(key, k) : (int8_t)k;

		key_value(v, function, key_type, d, scale);
		for (e = 0; e < ENTRIES; e++)
			check_word(entries[e], load(tables[e], k, npu_type_bits(entries[e]) / 8),
				   d, v, scale);
	}
	mpfr_clear(v);
	for (e = 0; e < ENTRIES; e++)
		free(tables[e]);
}

static void test_byte_keys(void **state)
{
	static const double scales[] = { 1, 0x1p-7, 0.0123456789, 3.7e-30, 1e30, 0x1.0000002p-60 };
	uint32_t function;
	size_t s;

	for (function = 0; function <= NPU_TABLE_EXP; function++) {
		check_tables(function, NPU_TYPE_F8E4M3, 1);
		check_tables(function, NPU_TYPE_F8E5M2, 0.25);
		for (s = 0; s < sizeof(scales) / sizeof(scales[0]); s++)
			check_tables(function, NPU_TYPE_I8, scales[s]);
	}
}

static void test_bf16_keys(void **state)
{
	uint32_t function;

	for (function = 0; function <= NPU_TABLE_EXP; function++)
		check_tables(function, NPU_TYPE_BF16, 0.03);
}

static void test_rounding_mode(void **state)
{
	uint8_t a[256], b[256];

	assert_int_equal(npu_table_fill(NPU_TABLE_GELU, NPU_TYPE_F8E4M3, NPU_TYPE_F8E5M2, 1, a,
					sizeof(a)), 0);
	fesetround(FE_UPWARD);
	assert_int_equal(npu_table_fill(NPU_TABLE_GELU, NPU_TYPE_F8E4M3, NPU_TYPE_F8E5M2, 1, b,
					sizeof(b)), 0);
	fesetround(FE_TONEAREST);
	assert_memory_equal(a, b, sizeof(a));
}

static void test_refused(void **state)
{
	uint8_t t[256];

	assert_int_equal(npu_table_fill(6, NPU_TYPE_I8, NPU_TYPE_I8, 1, t, 256), -EINVAL);
	assert_int_equal(npu_table_fill(0, NPU_TYPE_I4, NPU_TYPE_I8, 1, t, 256), -EINVAL);
	assert_int_equal(npu_table_fill(0, NPU_TYPE_F32, NPU_TYPE_I8, 1, t, 256), -EINVAL);
	assert_int_equal(npu_table_fill(0, NPU_TYPE_I8, NPU_TYPE_I32, 1, t, 256), -EINVAL);
	assert_int_equal(npu_table_fill(0, NPU_TYPE_I8, NPU_TYPE_I8, 0, t, 256), -EINVAL);
	assert_int_equal(npu_table_fill(0, NPU_TYPE_I8, NPU_TYPE_I8, NAN, t, 256), -EINVAL);
	assert_int_equal(npu_table_fill(0, NPU_TYPE_I8, NPU_TYPE_I8, INFINITY, t, 256), -EINVAL);
	assert_int_equal(npu_table_fill(0, NPU_TYPE_BF16, NPU_TYPE_BF16, 2, t, 256), -EINVAL);
	assert_int_equal(npu_table_fill(0, NPU_TYPE_BF16, NPU_TYPE_BF16, 1, t, 256), -ENOSPC);
	assert_int_equal(npu_table_fill(0, NPU_TYPE_I8, NPU_TYPE_I8, 1, NULL, 256), -ENOSPC);
	assert_non_null(strstr(npu_last_error(), "256"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_byte_keys),
		cmocka_unit_test(test_bf16_keys),
		cmocka_unit_test(test_rounding_mode),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
