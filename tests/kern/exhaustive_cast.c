// SPDX-License-Identifier: MIT
/* Casts, lookups and zero points. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exhaustive.h"

static uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* A finite small float by its formula, in long double, and exact as f32. */
static uint32_t decode(unsigned int code, int ebits, int mbits, int bias)
{
	int e = (int)(code >> mbits) & ((1 << ebits) - 1);
	long double m = code & ((1u << mbits) - 1);
	long double value = e ? ldexpl(m + ldexpl(1, mbits), e - bias - mbits) :
				ldexpl(m, 1 - bias - mbits);

	return bits_of((float)(code >> (ebits + mbits) & 1 ? -value : value));
}

static uint32_t f8e4m3_f32(unsigned int code)
{
	return code == 0x7f || code == 0xff ? 0x7fc00000 : decode(code, 4, 3, 7);
}

static uint32_t f8e5m2_f32(unsigned int code)
{
	uint32_t sign = code >= 0x80 ? 0x80000000 : 0;

	if ((code & 0x7c) == 0x7c)
		return sign + (code & 3 ? 0x7fc00000 : 0x7f800000);
	return decode(code, 5, 2, 15);
}

static uint32_t bf16_f32(unsigned int code)
{
	unsigned int e = code >> 7 & 0xff;

	if (e == 255 && code & 0x7f)
		return 0x7fc00000;
	return e ? code * 65536u : code / 32768 * 0x80000000u;
}

/* The bf16 of an f32 that has one. */
static uint32_t upper(uint32_t f32)
{
	return f32 / 65536;
}

static int32_t signed_of(unsigned int code, unsigned int bits)
{
	return code >= 1u << (bits - 1) ? (int32_t)code - (1 << bits) : (int32_t)code;
}

/* f4e2m1 and its code in an 8-bit float: found among all of that type's values. */
static uint32_t f4_f32(unsigned int code)
{
	return decode(code, 2, 1, 1);
}

static uint32_t f4_f8(unsigned int code, uint32_t (*f8)(unsigned int))
{
	for (uint32_t c = 0; c < 256; c++)
		if (f8(c) == f4_f32(code))
			return c;
	abort();
}

static uint32_t oracle(enum npu_kern_conv conv, unsigned int v)
{
	switch (conv) {
	case NPU_CONV_I4_I8:
	case NPU_CONV_I4_I32:
		return (uint32_t)signed_of(v, 4);
	case NPU_CONV_I8_I32:
		return (uint32_t)signed_of(v, 8);
	case NPU_CONV_I16_I32:
		return (uint32_t)signed_of(v, 16);
	case NPU_CONV_F8E4M3_F32:
		return f8e4m3_f32(v);
	case NPU_CONV_F8E5M2_F32:
		return f8e5m2_f32(v);
	case NPU_CONV_BF16_F32:
		return bf16_f32(v);
	case NPU_CONV_F4_F8E4M3:
		return f4_f8(v, f8e4m3_f32);
	case NPU_CONV_F4_F8E5M2:
		return f4_f8(v, f8e5m2_f32);
	case NPU_CONV_F8E4M3_BF16:
		return upper(f8e4m3_f32(v));
	case NPU_CONV_F8E5M2_BF16:
		return upper(f8e5m2_f32(v));
	case NPU_CONV_F4_F32:
		return f4_f32(v);
	case NPU_CONV_F8E4M3_BF16_F32:
		return bf16_f32(upper(f8e4m3_f32(v)));
	case NPU_CONV_F8E5M2_BF16_F32:
		return bf16_f32(upper(f8e5m2_f32(v)));
	default:
		abort();
	}
}

static const struct {
	const char *name;
	unsigned int in_bits, out_bytes;
} shapes[NPU_CONVS] = {
	[NPU_CONV_I4_I32] = { "i4 -> i32", 4, 4 },
	[NPU_CONV_I8_I32] = { "i8 -> i32", 8, 4 },
	[NPU_CONV_I16_I32] = { "i16 -> i32", 16, 4 },
	[NPU_CONV_F8E4M3_F32] = { "f8e4m3 -> f32", 8, 4 },
	[NPU_CONV_F8E5M2_F32] = { "f8e5m2 -> f32", 8, 4 },
	[NPU_CONV_BF16_F32] = { "bf16 -> f32", 16, 4 },
	[NPU_CONV_F32_BF16] = { "f32 -> bf16", 32, 2 },
	[NPU_CONV_F4_F8E4M3] = { "f4 -> f8e4m3", 4, 1 },
	[NPU_CONV_F4_F8E5M2] = { "f4 -> f8e5m2", 4, 1 },
	[NPU_CONV_F8E4M3_BF16] = { "f8e4m3 -> bf16", 8, 2 },
	[NPU_CONV_F8E5M2_BF16] = { "f8e5m2 -> bf16", 8, 2 },
	[NPU_CONV_F4_F32] = { "f4 -> f32", 4, 4 },
	[NPU_CONV_F8E4M3_BF16_F32] = { "f8e4m3 -> bf16 -> f32", 8, 4 },
	[NPU_CONV_F8E5M2_BF16_F32] = { "f8e5m2 -> bf16 -> f32", 8, 4 },
	[NPU_CONV_I4_I8] = { "i4 -> i8", 4, 1 },
};

static uint8_t got[65536 * 4], want[65536 * 4];
static uint16_t words[65536];
static uint8_t bytes[65536];

static void conversion(enum npu_kern_conv conv)
{
	unsigned int bits = shapes[conv].in_bits, size = shapes[conv].out_bytes;
	/* 4-bit: both nibbles of all bytes */
	size_t n = bits == 4 ? 512 : 1u << bits;

	for (size_t i = 0; i < n; i++) {
		unsigned int v = bits == 4 ? bytes[i / 2] >> i % 2 * 4 & 15 : (unsigned int)i;
		uint32_t value = oracle(conv, v);

		memcpy(want + i * size, &value, size);
	}
	for (unsigned int l = 0; l < level_count; l++) {
		levels[l]->conv[conv](got, bits == 16 ? (void *)words : bytes, n);
		count(same_output(levels[l], shapes[conv].name, got, want, n * size, size));
	}
	done(shapes[conv].name, (double)n);
}

static void zero_points(void)
{
	for (int zp = -128; zp < 128; zp++) {
		for (int i = 0; i < 256; i++) {
			int16_t v = (int16_t)(signed_of((unsigned int)i, 8) - zp);

			memcpy(want + 2 * i, &v, sizeof(v));
		}
		for (unsigned int l = 0; l < level_count; l++) {
			levels[l]->zps_i8((int16_t *)(void *)got, (int8_t *)bytes, 256, zp);
			count(same_output(levels[l], "i8 -> i9", got, want, 512, 2));
		}
	}
	done("i8 -> i9", 65536);
	for (int zp = -8; zp < 8; zp++) {
		for (int i = 0; i < 512; i++)
			want[i] = (uint8_t)(signed_of(bytes[i / 2] >> i % 2 * 4 & 15, 4) - zp);
		for (unsigned int l = 0; l < level_count; l++) {
			levels[l]->zps_i4((int8_t *)got, bytes, 512, zp);
			count(same_output(levels[l], "i4 -> i5", got, want, 512, 1));
		}
	}
	done("i4 -> i5", 512 * 16);
}

static const unsigned int key_bits[NPU_KEYS] = { 4, 8, 16 };
static const unsigned int entry_bytes[NPU_ENTRIES] = { 1, 2, 4 };

static void lookups(void)
{
	static uint8_t table[65536 * 4];
	uint32_t state = 1;

	for (size_t i = 0; i < sizeof(table); i++)
		table[i] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
	for (unsigned int key = 0; key < NPU_KEYS; key++) {
		size_t n = key_bits[key] == 4 ? 512 : 1u << key_bits[key];

		for (unsigned int entry = 0; entry < NPU_ENTRIES; entry++) {
			unsigned int size = entry_bytes[entry];

			for (size_t i = 0; i < n; i++) {
				size_t code = key ? i : bytes[i / 2] >> i % 2 * 4 & 15;

				memcpy(want + i * size, table + code * size, size);
			}
			for (unsigned int l = 0; l < level_count; l++) {
				levels[l]->lut[key][entry](got, key == NPU_KEY_16 ? (void *)words :
							   bytes, n, table);
				count(same_output(levels[l], "user table", got, want, n * size,
						  size));
			}
		}
	}
	done("user tables", 3 * (512 + 256 + 65536));
}

void exhaustive_casts(void)
{
	for (unsigned int i = 0; i < 65536; i++) {
		words[i] = (uint16_t)i;
		bytes[i] = (uint8_t)i;
	}
	for (unsigned int conv = 0; conv < NPU_CONVS; conv++)
		if (conv != NPU_CONV_F32_BF16)
			conversion(conv);
	zero_points();
	lookups();
}

/* The nearer of the two neighbours; of equally near ones the even. */
static uint16_t f32_bf16(uint32_t x)
{
	uint32_t below = x / 65536, rest = x % 65536;
	bool up = rest > 32768 || (rest == 32768 && below % 2);

	if ((x & 0x7f800000) == 0x7f800000 && x & 0x7fffff)
		return 0x7fc0;
	if (!(x & 0x7f800000))
		return (uint16_t)(x / 0x80000000u * 0x8000);
	return (uint16_t)(below + up);
}

#define CHUNK (1u << 18)

void exhaustive_f32_bf16(void)
{
	static uint32_t in[CHUNK];
	static uint16_t out[CHUNK], expected[CHUNK];
	bool ok[NPU_KERN_LEVELS];

	memset(ok, 1, sizeof(ok));
	for (uint64_t base = 0; base < 1ull << 32; base += (uint64_t)CHUNK * divisor) {
		for (uint32_t i = 0; i < CHUNK; i++) {
			in[i] = (uint32_t)base + i;
			expected[i] = f32_bf16(in[i]);
		}
		for (unsigned int l = 0; l < level_count; l++) {
			if (!ok[l])
				continue;
			levels[l]->conv[NPU_CONV_F32_BF16](out, in, CHUNK);
			ok[l] = same_output(levels[l], "f32 -> bf16", out, expected, sizeof(out),
					    2);
		}
	}
	for (unsigned int l = 0; l < level_count; l++)
		count(ok[l]);
	done("f32 -> bf16", 0x1p32 / divisor);
}
