// SPDX-License-Identifier: MIT
#include <string.h>

#include "wide.h"

#define LIMBS NPU_WIDE_LIMBS

/* Shifts left until the top bit is set. */
static void normalise(struct npu_wide *a)
{
	unsigned int i, shift = 0;

	for (i = LIMBS; i-- > 0 && !a->m[i];)
		shift += 32;
	if (shift == 32 * LIMBS) {
		a->exp = 0;
		return;
	}
	if (shift) {
		memmove(&a->m[shift / 32], &a->m[0], (LIMBS - shift / 32) * sizeof(a->m[0]));
		memset(&a->m[0], 0, shift / 8);
	}
	i = (unsigned int)__builtin_clz(a->m[LIMBS - 1]);
	if (i) {
		unsigned int k;

		for (k = LIMBS - 1; k > 0; k--)
			a->m[k] = a->m[k] << i | a->m[k - 1] >> (32 - i);
		a->m[0] <<= i;
	}
	a->exp -= (int32_t)(shift + i);
}

/* Shifts right by @n bits; the last bit takes note of what is lost. */
static void shift_right(uint32_t m[LIMBS], uint32_t n)
{
	uint32_t lost = 0;
	unsigned int i;

	for (; n >= 32 && n; n -= 32) {
		lost |= m[0];
		memmove(&m[0], &m[1], (LIMBS - 1) * sizeof(m[0]));
		m[LIMBS - 1] = 0;
		if (n > 32 * (LIMBS + 1))
			n = 32 * (LIMBS + 1);
	}
	if (n) {
		lost |= m[0] << (32 - n);
		for (i = 0; i + 1 < LIMBS; i++)
			m[i] = m[i] >> n | m[i + 1] << (32 - n);
		m[LIMBS - 1] >>= n;
	}
	m[0] |= lost != 0;
}

struct npu_wide npu_wide_make(bool neg, uint64_t m, int32_t exp)
{
	struct npu_wide a = { .m = { (uint32_t)m, (uint32_t)(m >> 32) }, .exp = exp, .neg = neg };

	normalise(&a);
	return a;
}

struct npu_wide npu_wide_from_double(double d)
{
	uint64_t bits, mantissa;
	int32_t exp;

	memcpy(&bits, &d, sizeof(bits));
	mantissa = bits & (((uint64_t)1 << 52) - 1);
	exp = (int32_t)(bits >> 52 & 0x7ff);
	if (exp)
		mantissa |= (uint64_t)1 << 52;
	else
		exp = 1;
	return npu_wide_make(bits >> 63, mantissa, exp - 1075);
}

static int compare(const uint32_t a[LIMBS], const uint32_t b[LIMBS])
{
	unsigned int i;

	for (i = LIMBS; i-- > 0;)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static void subtract(uint32_t a[LIMBS], const uint32_t b[LIMBS])
{
	uint64_t borrow = 0;
	unsigned int i;

	for (i = 0; i < LIMBS; i++) {
		uint64_t d = (uint64_t)a[i] - b[i] - borrow;

		a[i] = (uint32_t)d;
		borrow = d >> 63;
	}
}

static void add_magnitude(struct npu_wide *a, const uint32_t b[LIMBS])
{
	uint64_t carry = 0;
	unsigned int i;

	for (i = 0; i < LIMBS; i++) {
		carry += (uint64_t)a->m[i] + b[i];
		a->m[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry) {
		shift_right(a->m, 1);
		a->m[LIMBS - 1] |= 0x80000000u;
		a->exp++;
	}
}

struct npu_wide npu_wide_add(struct npu_wide a, struct npu_wide b)
{
	struct npu_wide t;

	if (npu_wide_zero(&a))
		return b;
	if (npu_wide_zero(&b))
		return a;
	if (a.exp < b.exp || (a.exp == b.exp && compare(a.m, b.m) < 0)) {
		t = a;
		a = b;
		b = t;
	}
	shift_right(b.m, (uint32_t)(a.exp - b.exp));
	if (a.neg == b.neg) {
		add_magnitude(&a, b.m);
		return a;
	}
	subtract(a.m, b.m);
	if (npu_wide_zero(&a) && !a.m[0] && !a.m[1] && !a.m[2])
		a.neg = false;
	normalise(&a);
	return a;
}

struct npu_wide npu_wide_sub(struct npu_wide a, struct npu_wide b)
{
	b.neg = !b.neg;
	return npu_wide_add(a, b);
}

struct npu_wide npu_wide_mul(struct npu_wide a, struct npu_wide b)
{
	uint32_t p[2 * LIMBS] = { 0 };
	unsigned int i, j;
	uint32_t lost;

	if (npu_wide_zero(&a) || npu_wide_zero(&b))
		return npu_wide_make(a.neg != b.neg, 0, 0);
	for (i = 0; i < LIMBS; i++) {
		uint64_t carry = 0;

		for (j = 0; j < LIMBS; j++) {
			carry += (uint64_t)a.m[i] * b.m[j] + p[i + j];
			p[i + j] = (uint32_t)carry;
			carry >>= 32;
		}
		p[i + LIMBS] = (uint32_t)carry;
	}
	/* The product has 255 or 256 bits. */
	a.exp += b.exp + 32 * LIMBS;
	a.neg = a.neg != b.neg;
	lost = p[0] | p[1] | p[2];
	memcpy(a.m, &p[LIMBS], sizeof(a.m));
	if (!(a.m[LIMBS - 1] >> 31)) {
		for (i = LIMBS - 1; i > 0; i--)
			a.m[i] = a.m[i] << 1 | a.m[i - 1] >> 31;
		a.m[0] = a.m[0] << 1 | p[3] >> 31;
		p[3] <<= 1;
		a.exp--;
	}
	a.m[0] |= (lost | p[3]) != 0;
	return a;
}

struct npu_wide npu_wide_div(struct npu_wide a, struct npu_wide b)
{
	struct npu_wide q = { .exp = a.exp - b.exp - 127, .neg = a.neg != b.neg };
	unsigned int i, bit;
	bool above;

	if (npu_wide_zero(&a))
		return npu_wide_make(q.neg, 0, 0);
	/* The first bit of the quotient shall be 1. */
	above = compare(a.m, b.m) < 0;
	if (above)
		q.exp--;
	for (bit = 32 * LIMBS; bit-- > 0;) {
		bool top = false;

		if (above || bit != 32 * LIMBS - 1) {
			top = a.m[LIMBS - 1] >> 31;
			for (i = LIMBS - 1; i > 0; i--)
				a.m[i] = a.m[i] << 1 | a.m[i - 1] >> 31;
			a.m[0] <<= 1;
		}
		if (top || compare(a.m, b.m) >= 0) {
			subtract(a.m, b.m);
			q.m[bit / 32] |= 1u << bit % 32;
		}
	}
	q.m[0] |= (a.m[0] | a.m[1] | a.m[2] | a.m[3]) != 0;
	return q;
}

struct npu_wide npu_wide_div_u32(struct npu_wide a, uint32_t n)
{
	uint32_t q[LIMBS + 1];
	uint64_t r = 0;
	unsigned int i, shift;

	if (npu_wide_zero(&a))
		return a;
	/* One word more than needed, as the first one may become 0. */
	for (i = LIMBS + 1; i-- > 0;) {
		r = r << 32 | (i ? a.m[i - 1] : 0);
		q[i] = (uint32_t)(r / n);
		r %= n;
	}
	a.exp -= 32;
	shift = q[LIMBS] ? 32 - (unsigned int)__builtin_clz(q[LIMBS]) : 0;
	if (shift) {
		r |= q[0] & (shift < 32 ? (1u << shift) - 1 : UINT32_MAX);
		for (i = 0; i < LIMBS; i++)
			q[i] = (uint32_t)(((uint64_t)q[i + 1] << 32 | q[i]) >> shift);
		a.exp += (int32_t)shift;
	}
	memcpy(a.m, q, sizeof(a.m));
	normalise(&a);
	a.m[0] |= r != 0;
	return a;
}

uint64_t npu_wide_round(const struct npu_wide *a, int32_t quantum)
{
	/* Two bits more than the integer: its half, and whether anything lies below that. */
	int32_t shift = quantum - a->exp - 2;
	uint32_t m[LIMBS];
	uint64_t n;

	if (npu_wide_zero(a))
		return 0;
	memcpy(m, a->m, sizeof(m));
	shift_right(m, shift < 0 ? 0 : (uint32_t)shift);
	n = (uint64_t)m[1] << 32 | m[0];
	return (n >> 2) + ((n & 3) == 3 || (n & 7) == 6);
}
