// SPDX-License-Identifier: MIT
/* Dot products, and the functions that work in place. */
#include <string.h>

#include "kern_test.h"

#define ROWS_MAX 19
#define K_MAX 150
#define OPERAND_BYTES ((K_MAX + 3) * ROWS_MAX * 4 + 64)

typedef void dot_fn(const struct npu_kern *k, void *out, const void *a, const void *w, size_t n_k,
		    size_t ldw, size_t n);

static void run_s8(const struct npu_kern *k, void *out, const void *a, const void *w, size_t n_k,
		   size_t ldw, size_t n)
{
	k->dot_s8(out, a, w, n_k, ldw, n);
}

static void run_s16(const struct npu_kern *k, void *out, const void *a, const void *w, size_t n_k,
		    size_t ldw, size_t n)
{
	k->dot_s16(out, a, w, n_k, ldw, n);
}

static void run_f32(const struct npu_kern *k, void *out, const void *a, const void *w, size_t n_k,
		    size_t ldw, size_t n)
{
	k->dot_f32(out, a, w, n_k, ldw, n);
}

static void run_bf16(const struct npu_kern *k, void *out, const void *a, const void *w, size_t n_k,
		     size_t ldw, size_t n)
{
	k->dot_bf16(out, a, w, n_k, ldw, n);
}

static const struct {
	const char *name;
	unsigned int bytes;
	dot_fn *run;
} dots[] = {
	{ "dot_s8", 1, run_s8 }, { "dot_s16", 2, run_s16 }, { "dot_f32", 4, run_f32 },
	{ "dot_bf16", 2, run_bf16 },
};

/* Ordinary numbers mostly, so that sums are not all NaN; also subnormals and what overflows. */
static void fill_operand(uint8_t *p, size_t count, unsigned int bytes)
{
	uint64_t kind = test_random() % 4;

	for (size_t i = 0; i < count; i++) {
		uint32_t v = (uint32_t)test_random();

		if (bytes == 4 && kind)
			v = (v & 0x807fffff) | (kind == 1 ? 60 + v % 5 : 120 + v % 12) << 23;
		if (bytes == 2 && kind)
			v = (v & 0x807f) | (kind == 1 ? 60 + (v >> 16) % 5 : 120 + (v >> 16) % 12)
			    << 7;
		memcpy(p + i * bytes, &v, bytes);
	}
}

void test_dot(const struct npu_kern *scalar, const struct npu_kern *k, const char *level)
{
	static struct guarded am, wm, om;
	uint8_t want[ROWS_MAX * 4];

	if (!am.start) {
		am = guarded_new(OPERAND_BYTES);
		wm = guarded_new(OPERAND_BYTES);
		om = guarded_new(sizeof(want) + 64);
	}
	for (unsigned int d = 0; d < sizeof(dots) / sizeof(dots[0]); d++) {
		unsigned int b = dots[d].bytes;
		bool ok = true;

		for (unsigned int i = 0; i < 1500; i++) {
			size_t n_k = test_random() % K_MAX, n = test_random() % ROWS_MAX;
			size_t ldw = n_k + test_random() % 3;
			size_t w_bytes = n ? ((n - 1) * ldw + n_k) * b : 0;
			bool end = i % 2;
			uint8_t *a = end ? am.end - n_k * b : am.start + test_random() % 8;
			uint8_t *w = end ? wm.end - w_bytes : wm.start + test_random() % 8;
			uint8_t *out = end ? om.end - n * 4 : om.start + test_random() % 8;
			unsigned long saved = fp_get(), left;

			fill_operand(a, n_k, b);
			fill_operand(w, w_bytes / b, b);
			dots[d].run(scalar, want, a, w, n_k, ldw, n);
			fp_set(fp_mode(i % FP_MODES));
			dots[d].run(k, out, a, w, n_k, ldw, n);
			left = fp_get();
			fp_set(saved);
			ok &= !memcmp(out, want, n * 4);
			ok &= fp_control(left) == fp_control(fp_mode(i % FP_MODES));
		}
		check(ok, level, dots[d].name, "random shapes");
	}
}

/* Against one element at a time. */
void test_zero(const struct npu_kern *k, const char *level)
{
	static const unsigned int widths[] = { 4, 8, 16, 32 };

	for (unsigned int i = 0; i < 4; i++) {
		unsigned int bits = widths[i];
		bool ok = true;

		for (unsigned int from = 0; from < 70; from++) {
			for (unsigned int to = from; to < 70; to++) {
				uint8_t a[300], b[300];

				fill_random(a, sizeof(a));
				memcpy(b, a, sizeof(a));
				for (unsigned int bit = from * bits; bit < to * bits; bit++)
					b[3 + bit / 8] &= (uint8_t)~(1 << bit % 8);
				k->zero(a + 3, bits, from, to);
				ok &= !memcmp(a, b, sizeof(a));
			}
		}
		check(ok, level, "zero", bits == 4 ? "nibbles" : "whole bytes");
	}
}
