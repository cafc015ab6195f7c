// SPDX-License-Identifier: MIT
/* PREPROCESS: every element under every largest exponent, every maximum, every scale. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exhaustive.h"

#define BLOCK NPU_KERN_BLOCK
/* Blocks of a batch: more than any level takes at a time, and a rest. */
#define BATCH 2200

static uint16_t in[BATCH * BLOCK];
static uint8_t out[BATCH * BLOCK * 4], want[BATCH * BLOCK * 4];
static uint8_t emax_out[BATCH], emax_want[BATCH];
static uint32_t scales_out[BATCH], scales_want[BATCH];

/* The bits of @blocks blocks' fixed27 words, one after the other. */
static void pack(uint8_t *dst, const int32_t *words, size_t blocks)
{
	uint64_t bits = 0;
	unsigned int have = 0;

	for (size_t i = 0; i < blocks * BLOCK; i++) {
		bits |= ((uint64_t)words[i] & 0x7ffffff) << have;
		for (have += 27; have >= 8; have -= 8, bits >>= 8)
			*dst++ = (uint8_t)bits;
	}
}

/* 2^n, 0 beyond what matters. */
static uint64_t power(unsigned int n)
{
	return n < 60 ? 1ull << n : 0;
}

/* Truncated quotient of the significand, 12 bits up, and 2^(emax - e). */
static int32_t fixed27(uint16_t x, unsigned int emax)
{
	unsigned int e = x >> 7 & 255;
	uint64_t base = ((e ? 128 : 0) + x % 128) * 4096ull, scale = power(emax - e);
	int32_t magnitude = emax - e < 27 ? (int32_t)(base / scale) : 0;

	return x & 0x8000 ? -magnitude : magnitude;
}

/* To the nearest of the multiples of 8192 around, the even one if both are as near. */
static int rounded(int32_t fixed, bool truncate, uint64_t *saturated)
{
	int32_t magnitude = abs(fixed), below = magnitude / 8192;
	int32_t to_below = magnitude - below * 8192, to_above = (below + 1) * 8192 - magnitude;

	if (!truncate && (to_above < to_below || (to_above == to_below && below % 2)))
		below++;
	if (below > 127) {
		(*saturated)++;
		below = 127;
	}
	return fixed < 0 ? -below : below;
}

static size_t expected(enum npu_kern_pp_mode mode, size_t blocks, uint64_t *saturated)
{
	static int32_t words[BATCH * BLOCK];

	*saturated = 0;
	for (size_t i = 0; i < blocks * BLOCK; i++) {
		words[i] = fixed27(in[i], emax_want[i / BLOCK]);
		if (mode == NPU_PP_LOW8)
			want[i] = (uint8_t)(words[i] & 255);
		if (mode == NPU_PP_INT8_EMAX_RNE || mode == NPU_PP_INT8_EMAX_TRUNC)
			want[i] = (uint8_t)rounded(words[i], mode == NPU_PP_INT8_EMAX_TRUNC,
						   saturated);
	}
	if (mode == NPU_PP_FIXED27_WIDE)
		memcpy(want, words, blocks * BLOCK * 4);
	if (mode == NPU_PP_FIXED27_PACKED)
		pack(want, words, blocks);
	return mode == NPU_PP_FIXED27_WIDE ? BLOCK * 4 :
	       mode == NPU_PP_FIXED27_PACKED ? NPU_KERN_BLOCK_PACKED : BLOCK;
}

static bool batch_emax(const struct npu_kern *k, enum npu_kern_pp_mode mode, size_t blocks,
		       size_t block_bytes, uint64_t saturated, bool finite)
{
	static const char *const names[] = { "fixed27", "fixed27 packed", "low8",
					     "int8 emax nearest", "int8 emax truncated" };
	struct npu_pp_run run = { .dst = out, .emax = emax_out, .first_nonfinite = ~0ull };
	bool ok;

	k->pp[mode](&run, in, blocks);
	ok = same_output(k, names[mode], out, want, blocks * block_bytes, block_bytes / BLOCK);
	ok &= same_output(k, "e_max", emax_out, emax_want, blocks, 1);
	if (run.saturated == saturated && run.nonfinite_blocks == (finite ? 0 : blocks) &&
	    run.first_nonfinite == (finite ? ~0ull : 0))
		return ok;
	printf("FAIL %s %s: counters\n", npu_kern_level_name(k->level), names[mode]);
	return false;
}

/* All elements up to @emax in blocks with that exponent in a lane that moves. */
static size_t fill_emax(unsigned int emax, unsigned int mantissa)
{
	size_t block = 0;
	unsigned int lane = 0;

	for (uint32_t x = 0; x < 65536; x++) {
		if ((x >> 7 & 255) > emax)
			continue;
		if (lane == 0) {
			for (unsigned int i = 0; i < BLOCK; i++)
				in[block * BLOCK + i] = 0;
			in[block * BLOCK + block % BLOCK] = (uint16_t)(emax << 7 | mantissa);
			emax_want[block] = (uint8_t)emax;
		}
		if (lane == block % BLOCK)
			lane++;
		if (lane < BLOCK)
			in[block * BLOCK + lane] = (uint16_t)x;
		else
			x--;
		if (++lane >= BLOCK) {
			lane = 0;
			block++;
		}
	}
	return block + (lane != 0);
}

void exhaustive_emax(void)
{
	double cases = 0;

	for (unsigned int mode = 0; mode <= NPU_PP_INT8_EMAX_TRUNC; mode++) {
		bool ok[NPU_KERN_LEVELS];

		memset(ok, 1, sizeof(ok));
		for (unsigned int emax = 0; emax < 256; emax++) {
			size_t blocks = fill_emax(emax, emax % 2 ? 0x7f : 0), bytes;
			uint64_t saturated;

			bytes = expected(mode, blocks, &saturated);
			cases += (emax + 1) * 256.0;
			for (unsigned int l = 0; l < level_count; l++)
				if (ok[l])
					ok[l] = batch_emax(levels[l], mode, blocks, bytes,
							   saturated, emax < 255);
		}
		for (unsigned int l = 0; l < level_count; l++)
			count(ok[l]);
	}
	done("fixed27, packed, low8, int8 emax: (x, e_max)", cases);
}

static unsigned int bit_length(uint64_t x)
{
	unsigned int n = 0;

	for (; x; x >>= 1)
		n++;
	return n;
}

/* @x and whether something is left below it, to 24 bits: m * 2^e, to nearest even. */
static struct quotient round24(uint64_t x, bool rest)
{
	unsigned int length = bit_length(x), drop = length > 24 ? length - 24 : 0;
	uint64_t m = x >> drop, low = x & ((1ull << drop) - 1);
	uint64_t half = drop ? 1ull << (drop - 1) : 0;

	if (drop && (low > half || (low == half && (rest || m % 2))))
		m++;
	return (struct quotient){ (uint32_t)m, (int)drop };
}

struct quotient quotient_of(uint32_t significand, uint32_t s)
{
	/* below 2^64, and the quotient has 32 bits or more */
	uint64_t n = (uint64_t)significand << 56;
	struct quotient q = round24(n / s, n % s != 0);

	q.e -= 56;
	return q;
}

int quotient_rint(struct quotient q, int shift)
{
	int e = q.e + shift;
	uint32_t whole, rest, half;

	if (!q.m || e < -31)
		return 0;
	if (e >= 0)
		return e > 7 || ((uint64_t)q.m << e) > 128 ? 128 : (int)(q.m << e);
	whole = q.m >> -e;
	rest = q.m & ((1u << -e) - 1);
	half = 1u << (-e - 1);
	whole += rest > half || (rest == half && whole % 2);
	return whole > 128 ? 128 : (int)whole;
}

/* Significand and exponent of a bf16 magnitude, value = m * 2^e. */
static void split(uint32_t x, uint32_t *m, int *e)
{
	*m = x >> 7 ? 128 + x % 128 : x % 128;
	*e = (x >> 7 ? (int)(x >> 7) : 1) - 127 - 7;
}

/* max / 127 as an f32: significand, exponent and bits; subnormal ones have fewer bits. */
static uint32_t scale_of(uint32_t max, uint32_t *m, int *e)
{
	uint32_t significand;
	uint64_t n;
	int exponent, drop = 0;

	split(max, &significand, &exponent);
	n = (uint64_t)significand << 40;
	exponent -= 40;
	/* no more than 24 bits, and none below 2^-149 */
	drop = (int)bit_length(n / 127) - 24;
	if (exponent + drop < -149)
		drop = -149 - exponent;
	*m = (uint32_t)((n / 127) >> drop);
	if (((n / 127) & ((1ull << drop) - 1)) > 1ull << (drop - 1) ||
	    (((n / 127) & ((1ull << drop) - 1)) == 1ull << (drop - 1) && (n % 127 || *m % 2)))
		++*m;
	*e = exponent + drop;
	if (*m == 1u << 24) {
		*m >>= 1;
		++*e;
	}
	return *m < 1u << 23 ? *m : ((uint32_t)(*e + 150) << 23) + (*m - (1u << 23));
}

/* All quotients of one maximum: x = 0..max and their negatives. */
static size_t fill_symmetric(uint32_t max, uint32_t s, int s_e, uint32_t bits, size_t block)
{
	struct quotient q[256];
	uint32_t x = 0;
	bool negative = false;

	for (uint32_t m = 1; m < 256; m++)
		q[m] = quotient_of(m, s);
	for (; x <= max; block++) {
		scales_want[block] = bits;
		for (unsigned int lane = 0; lane < BLOCK; lane++) {
			size_t i = block * BLOCK + lane;
			uint32_t v = lane == block % BLOCK || x > max ? max : x, m;
			int e, r;

			split(v, &m, &e);
			r = m ? quotient_rint(q[m], e - s_e) : 0;
			r = r > 127 ? 127 : r;
			in[i] = (uint16_t)(v | (negative ? 0x8000 : 0));
			want[i] = (uint8_t)(negative ? -r : r);
			if (lane == block % BLOCK)
				continue;
			x += negative;
			negative = !negative;
		}
	}
	return block;
}

static void compare_symmetric(bool *ok, size_t blocks)
{
	for (unsigned int l = 0; l < level_count; l++) {
		struct npu_pp_run run = { .dst = out, .scales = scales_out,
					  .first_nonfinite = ~0ull };

		if (!ok[l])
			continue;
		levels[l]->pp[NPU_PP_INT8_SYMMETRIC](&run, in, blocks);
		ok[l] = same_output(levels[l], "int8 symmetric", out, want, blocks * BLOCK, 1) &&
			same_output(levels[l], "scale", scales_out, scales_want, blocks * 4, 4) &&
			!run.saturated && !run.nonfinite_blocks;
	}
}

void exhaustive_symmetric(void)
{
	bool ok[NPU_KERN_LEVELS];
	double cases = 0;

	memset(ok, 1, sizeof(ok));
	for (uint32_t max = 0x7f7f; max; max -= max < divisor ? max : divisor) {
		uint32_t s, bits;
		int s_e;

		/* mantissas matter, and few exponents */
		bits = scale_of(max, &s, &s_e);
		compare_symmetric(ok, fill_symmetric(max, s, s_e, bits, 0));
		cases += 2.0 * max;
	}
	for (unsigned int l = 0; l < level_count; l++)
		count(ok[l]);
	done("int8 symmetric: (x, max)", cases);
}

/*
 * One scale: all significands of x at four exponents at which the quotient is between 1/4 and 256;
 * a quotient's bits depend on the two significands alone.
 */
static uint64_t fill_const(uint32_t s, int s_e, int first)
{
	uint64_t saturated = 0;

	for (uint32_t m = 128; m < 256; m++) {
		struct quotient q = quotient_of(m, s);

		for (int j = 0; j < 4; j++) {
			/* x = m * 2^e, s * 2^s_e: the quotient is about 2^(e - s_e - 16) */
			int e = s_e + 16 + first + j, r, biased = e + 7 + 127;
			size_t i = (m - 128) * 4 + (unsigned int)j;
			bool negative = (m + (uint32_t)j) % 3 == 0;

			if (biased < 1 || biased > 254) {
				in[i] = 0;
				want[i] = 0;
				continue;
			}
			r = quotient_rint(q, e - s_e);
			saturated += r > 127;
			r = r > 127 ? 127 : r;
			in[i] = (uint16_t)((uint32_t)biased << 7 | (m - 128) |
					   (negative ? 0x8000 : 0));
			want[i] = (uint8_t)(negative ? -r : r);
		}
	}
	return saturated;
}

void exhaustive_const(void)
{
	bool ok[NPU_KERN_LEVELS];
	double cases = 0;

	memset(ok, 1, sizeof(ok));
	for (uint32_t mantissa = 0; mantissa < 1u << 23; mantissa += divisor) {
		/* exponents in turn, each with many mantissas; at first those of plain scales */
		uint32_t exponent = mantissa % 4 ? 100 + mantissa % 40 :
				    1 + (mantissa / 4 * 40503u) % 254;
		uint32_t s = 1u << 23 | mantissa;
		uint64_t saturated = fill_const(s, (int)exponent - 150, (int)(mantissa % 7) - 2);

		cases += 512;
		for (unsigned int l = 0; l < level_count; l++) {
			struct npu_pp_run run = { .dst = out, .scale = exponent << 23 | mantissa,
						  .first_nonfinite = ~0ull };

			/* scalar divides: a part of the scales is enough there */
			if (!ok[l] || (levels[l]->level == NPU_KERN_SCALAR && mantissa % 16))
				continue;
			levels[l]->pp[NPU_PP_INT8_CONST](&run, in, 16);
			ok[l] = same_output(levels[l], "int8 const", out, want, 512, 1) &&
				run.saturated == saturated && !run.nonfinite_blocks;
			if (!ok[l])
				printf("FAIL %s int8 const: scale %08x\n",
				       npu_kern_level_name(levels[l]->level), run.scale);
		}
	}
	for (unsigned int l = 0; l < level_count; l++)
		count(ok[l]);
	done("int8 const: (significand, scale)", cases);
}
