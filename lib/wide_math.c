// SPDX-License-Identifier: MIT
/* Functions of neural networks to far more bits than any element type has. */
#include <stddef.h>

#include "wide.h"

#define ONE		npu_wide_make(false, 1, 0)
/* exp() beyond these is 0 or infinity to every type, with the scale's room to spare. */
#define EXP_LIMIT	4096
#define EXP_TERMS	34
#define ERF_TERMS	120
#define ERFC_TERMS	120

static const struct npu_wide ln2 = {
	{ 0x03f2f6af, 0xc9e3b398, 0xd1cf79ab, 0xb17217f7 }, -128, false,
};
static const struct npu_wide inv_sqrt2 = {
	{ 0x754abe9f, 0x597d89b3, 0xf9de6484, 0xb504f333 }, -128, false,
};
static const struct npu_wide sqrt_2_pi = {
	{ 0x5d5c7180, 0x7e59e280, 0xa1b28468, 0xcc42299e }, -128, false,
};
static const struct npu_wide inv_sqrt_pi = {
	{ 0x6bfec344, 0x71d48a7f, 0x14db688d, 0x906eba82 }, -128, false,
};
static const struct npu_wide gelu_cubic = {	/* 0.044715 */
	{ 0x63497b74, 0x26aa8eb4, 0x400fba88, 0xb727136a }, -132, false,
};

static struct npu_wide integer(int64_t n)
{
	return npu_wide_make(n < 0, (uint64_t)(n < 0 ? -n : n), 0);
}

static struct npu_wide scaled(struct npu_wide a, int32_t log2)
{
	if (!npu_wide_zero(&a))
		a.exp += log2;
	return a;
}

static struct npu_wide negated(struct npu_wide a)
{
	a.neg = !a.neg;
	return a;
}

/* x = k ln 2 + r, |r| <= ln 2 / 2 + a little: 2^k times the series of exp(r). */
struct npu_wide npu_wide_exp(struct npu_wide x)
{
	struct npu_wide r, sum = ONE, quotient;
	int64_t k;
	int n;

	if (npu_wide_zero(&x))
		return ONE;
	if (npu_wide_log2(&x) >= 12)
		return npu_wide_make(false, 1, x.neg ? -2 * EXP_LIMIT : 2 * EXP_LIMIT);
	/* Too small for anything but 1 and a hint of the side. */
	if (npu_wide_log2(&x) < -200)
		return npu_wide_add(ONE, x);
	quotient = npu_wide_div(x, ln2);
	k = (int64_t)npu_wide_round(&quotient, 0);
	if (x.neg)
		k = -k;
	r = npu_wide_sub(x, npu_wide_mul(integer(k), ln2));
	for (n = EXP_TERMS; n > 0; n--)
		sum = npu_wide_add(ONE, npu_wide_div_u32(npu_wide_mul(r, sum), (uint32_t)n));
	return scaled(sum, (int32_t)k);
}

/* sum of 2^n x^(2n+1) / (2n+1)!!: all terms are positive. */
static struct npu_wide erf_series(struct npu_wide x, struct npu_wide x2)
{
	struct npu_wide sum = x, term = x;
	uint32_t n;

	for (n = 1; n < ERF_TERMS && npu_wide_log2(&term) > npu_wide_log2(&sum) - 130; n++) {
		term = npu_wide_div_u32(npu_wide_mul(term, scaled(x2, 1)), 2 * n + 1);
		sum = npu_wide_add(sum, term);
	}
	return sum;
}

struct npu_wide npu_wide_erfc(struct npu_wide x)
{
	struct npu_wide x2 = npu_wide_mul(x, x);
	struct npu_wide scale, t;
	int n;

	if (npu_wide_zero(&x))
		return ONE;
	/* Below 2^-1400: a number above 0, and no type or scale can tell more. */
	if (npu_wide_log2(&x) >= 5)
		return npu_wide_make(false, 1, -2 * EXP_LIMIT);
	scale = npu_wide_mul(npu_wide_exp(negated(x2)), inv_sqrt_pi);
	if (npu_wide_log2(&x) < 1) {
		t = npu_wide_mul(erf_series(x, x2), scaled(scale, 1));
		return npu_wide_sub(ONE, t);
	}
	/* x + (1/2) / (x + (2/2) / (x + (3/2) / ...)), which converges fast from 2 on. */
	t = x;
	for (n = ERFC_TERMS; n > 0; n--)
		t = npu_wide_add(x, npu_wide_div(scaled(integer(n), -1), t));
	return npu_wide_div(scale, t);
}

struct npu_wide npu_wide_tanh(struct npu_wide x)
{
	struct npu_wide e;
	bool neg = x.neg;

	if (npu_wide_zero(&x))
		return x;
	if (npu_wide_log2(&x) < -40) {
		/* x - x^3 / 3 */
		e = npu_wide_div_u32(npu_wide_mul(npu_wide_mul(x, x), x), 3);
		return npu_wide_sub(x, e);
	}
	x.neg = true;
	e = npu_wide_exp(scaled(x, 1));
	e = npu_wide_div(npu_wide_sub(ONE, e), npu_wide_add(ONE, e));
	e.neg = neg;
	return e;
}

struct npu_wide npu_wide_sigmoid(struct npu_wide x)
{
	return npu_wide_div(ONE, npu_wide_add(ONE, npu_wide_exp(negated(x))));
}

/* x times the normal distribution's integral up to x. */
struct npu_wide npu_wide_gelu(struct npu_wide x)
{
	struct npu_wide z = npu_wide_mul(x, inv_sqrt2);
	struct npu_wide tail;

	z.neg = false;
	tail = scaled(npu_wide_erfc(z), -1);
	return npu_wide_mul(x, x.neg ? tail : npu_wide_sub(ONE, tail));
}

/* (1 + tanh u) / 2 is sigmoid(2u). */
struct npu_wide npu_wide_gelu_tanh(struct npu_wide x)
{
	struct npu_wide cube = npu_wide_mul(npu_wide_mul(x, x), x);
	struct npu_wide u = npu_wide_add(x, npu_wide_mul(gelu_cubic, cube));

	return npu_wide_mul(x, npu_wide_sigmoid(scaled(npu_wide_mul(u, sqrt_2_pi), 1)));
}
