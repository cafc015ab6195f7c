// SPDX-License-Identifier: MIT
/* Tables of functions: every key's value, rounded once. */
#include <math.h>
#include <string.h>

#include "engine/engine.h"
#include "error.h"
#include "npu.h"
#include "wide.h"

/* Binary floating-point types, and how their words are put together. */
struct format {
	uint32_t bits;			/* of a word */
	uint32_t precision;		/* of the mantissa, hidden bit included */
	int32_t emin;			/* of the least normal number */
	uint32_t infinity;		/* first word beyond the finite ones */
	uint32_t overflow;		/* what a value too large becomes */
	uint32_t nan;
};

static const struct format *type_format(uint32_t type)
{
	static const struct format f8e4m3 = { 8, 4, -6, 0x7f, 0x7f, 0x7f };
	static const struct format f8e5m2 = { 8, 3, -14, 0x7c, 0x7c, 0x7e };
	static const struct format bf16 = { 16, 8, -126, 0x7f80, 0x7f80, 0x7fc0 };
	static const struct format f32 = { 32, 24, -126, 0x7f800000, 0x7f800000, 0x7fc00000 };

	switch (type) {
	case NPU_TYPE_F8E4M3:
		return &f8e4m3;
	case NPU_TYPE_F8E5M2:
		return &f8e5m2;
	case NPU_TYPE_BF16:
		return &bf16;
	case NPU_TYPE_F32:
		return &f32;
	default:
		return NULL;
	}
}

static uint32_t format_round(const struct format *f, const struct npu_wide *v)
{
	uint32_t sign = v->neg ? 1u << (f->bits - 1) : 0;
	int32_t exp, quantum;
	uint64_t word;

	if (npu_wide_zero(v))
		return sign;
	exp = npu_wide_log2(v);
	if (exp > 4 * 128)
		return sign | f->overflow;
	if (exp < f->emin)
		exp = f->emin;
	quantum = exp - (int32_t)f->precision + 1;
	/* A mantissa that rounds up to the next power of two carries into the exponent. */
	word = npu_wide_round(v, quantum) +
	       ((uint64_t)(uint32_t)(exp - f->emin) << (f->precision - 1));
	return sign | (word >= f->infinity ? f->overflow : (uint32_t)word);
}

enum key_kind { KEY_FINITE, KEY_INFINITE, KEY_NAN };

static enum key_kind decode_float(const struct format *f, uint32_t word, struct npu_wide *v)
{
	uint32_t sign = 1u << (f->bits - 1);
	uint32_t magnitude = word & (sign - 1);
	uint32_t hidden = 1u << (f->precision - 1);
	uint32_t exp = magnitude >> (f->precision - 1);
	uint32_t mantissa = magnitude & (hidden - 1);

	v->neg = word & sign;
	if (magnitude >= f->infinity)
		return magnitude == f->infinity && f->infinity != f->nan ? KEY_INFINITE : KEY_NAN;
	if (exp)
		mantissa |= hidden;
	else
		exp = 1;
	*v = npu_wide_make(v->neg, mantissa, (int32_t)exp - 1 + f->emin -
			   ((int32_t)f->precision - 1));
	return KEY_FINITE;
}

static struct npu_wide function_value(uint32_t function, struct npu_wide x)
{
	switch (function) {
	case NPU_TABLE_SIGMOID:
		return npu_wide_sigmoid(x);
	case NPU_TABLE_GELU:
		return npu_wide_gelu(x);
	case NPU_TABLE_GELU_TANH:
		return npu_wide_gelu_tanh(x);
	case NPU_TABLE_SILU:
		return npu_wide_mul(x, npu_wide_sigmoid(x));
	case NPU_TABLE_TANH:
		return npu_wide_tanh(x);
	default:
		return npu_wide_exp(x);
	}
}

/* The limit at an infinity; false where that is positive infinity itself. */
static bool function_limit(uint32_t function, bool neg, struct npu_wide *v)
{
	bool zero = neg && function != NPU_TABLE_TANH;

	if (!neg && function != NPU_TABLE_SIGMOID && function != NPU_TABLE_TANH)
		return false;
	/* Products with x come to 0 from below. */
	*v = npu_wide_make(neg && function != NPU_TABLE_SIGMOID && function != NPU_TABLE_EXP,
			   !zero, 0);
	return true;
}

struct fill {
	uint32_t function;
	const struct format *key, *entry;	/* NULL: I8 */
	struct npu_wide scale;
	void *table;
	uint32_t entry_bytes;
};

static uint32_t round_i8(const struct fill *fill, const struct npu_wide *v)
{
	struct npu_wide q = npu_wide_div(*v, fill->scale);
	int32_t n;

	if (npu_wide_zero(v))
		return 0;
	n = npu_wide_log2(&q) > 8 ? 256 : (int32_t)npu_wide_round(&q, 0);
	if (v->neg)
		n = n > 128 ? -128 : -n;
	else
		n = n > 127 ? 127 : n;
	return (uint8_t)n;
}

static uint32_t entry_of(const struct fill *fill, uint32_t key)
{
	enum key_kind kind = KEY_FINITE;
	struct npu_wide x, v;

	if (fill->key) {
		kind = decode_float(fill->key, key, &x);
	} else {
		int32_t n = (int8_t)key;

		x = npu_wide_mul(npu_wide_make(n < 0, (uint64_t)(n < 0 ? -n : n), 0), fill->scale);
		x.neg = n < 0;
	}
	if (kind == KEY_NAN)
		return fill->entry ? fill->entry->nan : 0;
	if (kind == KEY_FINITE)
		v = function_value(fill->function, x);
	else if (!function_limit(fill->function, x.neg, &v))
		return fill->entry ? fill->entry->overflow : 127;
	return fill->entry ? format_round(fill->entry, &v) : round_i8(fill, &v);
}

static void fill_table(const struct fill *fill, uint32_t keys)
{
	uint8_t *at = fill->table;
	uint32_t key;

	for (key = 0; key < keys; key++) {
		uint32_t word = entry_of(fill, key);

		/* Little-endian on every host. */
		at[0] = (uint8_t)word;
		if (fill->entry_bytes > 1)
			at[1] = (uint8_t)(word >> 8);
		if (fill->entry_bytes > 2) {
			at[2] = (uint8_t)(word >> 16);
			at[3] = (uint8_t)(word >> 24);
		}
		at += fill->entry_bytes;
	}
}

int npu_table_fill(uint32_t function, uint32_t key_type, uint32_t entry_type, double scale,
		   void *table, size_t bytes)
{
	struct fill fill = {
		.function = function,
		.key = type_format(key_type),
		.entry = type_format(entry_type),
		.table = table,
		.entry_bytes = npu_type_bits(entry_type) / 8,
	};
	uint32_t keys = key_type == NPU_TYPE_BF16 ? 65536 : 256;
	bool scaled = key_type == NPU_TYPE_I8 || entry_type == NPU_TYPE_I8;

	if (function > NPU_TABLE_EXP)
		return npu_fail(EINVAL, "npu_table_fill: function is %u, not 0 to %u", function,
				NPU_TABLE_EXP);
	if (key_type == NPU_TYPE_F32 || (!fill.key && key_type != NPU_TYPE_I8))
		return npu_fail(EINVAL,
				"npu_table_fill: keys of %s: they are i8, f8e4m3, f8e5m2 or bf16",
				npu_type_name(key_type) ? npu_type_name(key_type) : "no type");
	if (!fill.entry && entry_type != NPU_TYPE_I8)
		return npu_fail(EINVAL,
				"npu_table_fill: entries of %s: they are i8, f8e4m3, f8e5m2, bf16 or f32",
				npu_type_name(entry_type) ? npu_type_name(entry_type) : "no type");
	if (scaled ? !(isfinite(scale) && scale > 0) : scale != 1)
		return npu_fail(EINVAL, "npu_table_fill: scale is %g: %s", scale,
				scaled ? "it must be finite and > 0" :
					 "only i8 has one, other types take 1");
	if (!table || bytes < (size_t)keys * fill.entry_bytes)
		return npu_fail(ENOSPC, "npu_table_fill: %zu bytes at table, %u entries need %u",
				table ? bytes : 0, keys, keys * fill.entry_bytes);
	fill.scale = npu_wide_from_double(scale);
	fill_table(&fill, keys);
	return 0;
}
