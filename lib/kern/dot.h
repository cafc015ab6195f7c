/* SPDX-License-Identifier: MIT */
/*
 * Dot products: DOT_ROWS rows of weights against one of activations at a time, so that their
 * additions do not wait for each other. The including file defines VEC, VECF, VEC_BYTES, DOT_ROWS,
 *	mac_s8(acc, a, w)	of 16 or more bytes each, into sums of 32 bits
 *	mac_s16(acc, a, w)
 *	sum32(acc)		of the sums
 *	store_sums(out, acc)	sum32() of DOT_ROWS of them, by one transposition
 *	part_s8, part_s16	as mac_*, of fewer bytes, behind which nothing is read; or NULL:
 *				such a tail then goes through a buffer
 *	vf_zero() vf_load(p) vf_mul vf_add
 *	vf_load_bf16(p)		VEC_BYTES / 4 elements, widened as the cast does it
 *	vf_fold(v)		16 sums in vectors, folded +8, +4, +2, +1
 */
#ifndef NPU_KERN_DOT_H
#define NPU_KERN_DOT_H

#include <stdbool.h>
#include <string.h>

#define SUM_VECS (64 / VEC_BYTES)

typedef VEC mac_fn(VEC acc, const void *a, const void *w);
typedef VEC part_fn(VEC acc, const void *a, const void *w, size_t bytes);
typedef VECF load_fn(const void *p);

/*
 * The last elements of @rows rows, @left bytes of each, from @a and @w on; @back bytes before them
 * and they fill what @mac takes. Where the rows go back that far, it takes those again, times 0.
 */
static ALWAYS_INLINE void dot_tail(VEC *acc, const uint8_t *a, const uint8_t *w, size_t left,
				   size_t back, bool reread, size_t stride, unsigned int rows,
				   mac_fn *mac, part_fn *part)
{
	uint8_t last_a[64] = { 0 }, last_w[64] = { 0 };

	if (part) {
		UNROLL
		for (unsigned int r = 0; r < rows; r++)
			acc[r] = part(acc[r], a, w + r * stride, left);
		return;
	}
	memcpy(last_a + (reread ? back : 0), a, left);
	UNROLL
	for (unsigned int r = 0; r < rows; r++) {
		if (!reread)
			memcpy(last_w, w + r * stride, left);
		acc[r] = mac(acc[r], last_a, reread ? w + r * stride - back : last_w);
	}
}

/* @rows rows of integers from @start on; @step elements of @bytes fill what @mac takes. */
static ALWAYS_INLINE void dot_int(int32_t *out, const uint8_t *a, const uint8_t *w, size_t k,
				  size_t ldw, unsigned int rows, unsigned int bytes,
				  unsigned int step, VEC start, mac_fn *mac, part_fn *part)
{
	VEC acc[DOT_ROWS];
	size_t j;

	UNROLL
	for (unsigned int r = 0; r < rows; r++)
		acc[r] = start;
	for (j = 0; k - j >= step; j += step) {
		UNROLL
		for (unsigned int r = 0; r < rows; r++)
			acc[r] = mac(acc[r], a + j * bytes, w + (r * ldw + j) * bytes);
	}
	if (j < k)
		dot_tail(acc, a + j * bytes, w + j * bytes, (k - j) * bytes,
			 (step - (k - j)) * bytes, j > 0, ldw * bytes, rows, mac, part);
	if (rows == DOT_ROWS) {
		store_sums(out, acc);
		return;
	}
	for (unsigned int r = 0; r < rows; r++) {
		int32_t sum = sum32(acc[r]);

		memcpy((uint8_t *)out + 4 * r, &sum, sizeof(sum));
	}
}

/* One of 16 sums to each column of the step; a column of zeros leaves a sum as it is. */
static ALWAYS_INLINE void mac_float(VECF *acc, const uint8_t *a, const uint8_t *w,
				    unsigned int bytes, load_fn *load)
{
	UNROLL
	for (unsigned int i = 0; i < SUM_VECS; i++) {
		size_t at = i * VEC_BYTES / 4 * bytes;

		acc[i] = vf_add(acc[i], vf_mul(load(a + at), load(w + at)));
	}
}

static ALWAYS_INLINE void dot_float(float *out, const uint8_t *a, const uint8_t *w, size_t k,
				    size_t ldw, unsigned int rows, unsigned int bytes,
				    load_fn *load)
{
	uint8_t last_a[64] = { 0 }, last_w[64];
	VECF acc[DOT_ROWS][SUM_VECS];
	size_t j;

	UNROLL
	for (unsigned int r = 0; r < rows; r++) {
		UNROLL
		for (unsigned int i = 0; i < SUM_VECS; i++)
			acc[r][i] = vf_zero();
	}
	for (j = 0; k - j >= 16; j += 16) {
		UNROLL
		for (unsigned int r = 0; r < rows; r++)
			mac_float(acc[r], a + j * bytes, w + (r * ldw + j) * bytes, bytes, load);
	}
	if (j < k) {
		memcpy(last_a, a + j * bytes, (k - j) * bytes);
		memset(last_w, 0, sizeof(last_w));
		UNROLL
		for (unsigned int r = 0; r < rows; r++) {
			memcpy(last_w, w + (r * ldw + j) * bytes, (k - j) * bytes);
			mac_float(acc[r], last_a, last_w, bytes, load);
		}
	}
	UNROLL
	for (unsigned int r = 0; r < rows; r++) {
		float sum = vf_fold(acc[r]);
		uint32_t bits;

		memcpy(&bits, &sum, sizeof(bits));
		if ((bits & 0x7fffffff) > 0x7f800000)
			bits = 0x7fc00000;
		memcpy((uint8_t *)out + 4 * r, &bits, sizeof(bits));
	}
}

/* The sums of integers start from start(a, k). */
static ALWAYS_INLINE VEC from_zero(const void *a, size_t k)
{
	(void)a;
	(void)k;
	return v_zero();
}

#define DOT_INT(name, type, step, start, mac, part)				\
static void dot_##name(int32_t *out, const type *a, const type *w, size_t k, size_t ldw, size_t n) \
{										\
	const void *x = a, *y = w;						\
	VEC first = start(x, k);						\
	size_t c = 0;								\
										\
	for (; n - c >= DOT_ROWS; c += DOT_ROWS)				\
		dot_int(out + c, x, (const uint8_t *)y + c * ldw * sizeof(type), k, ldw,	\
			DOT_ROWS, sizeof(type), step, first, mac, part);			\
	for (; c < n; c++)							\
		dot_int(out + c, x, (const uint8_t *)y + c * ldw * sizeof(type), k, ldw,	\
			1, sizeof(type), step, first, mac, part);				\
}

#define DOT_FLOAT(name, type, load)						\
static void dot_##name(float *out, const type *a, const type *w, size_t k, size_t ldw, size_t n) \
{										\
	const void *x = a, *y = w;						\
	__auto_type fp = npu_fp_enter();					\
	size_t c = 0;								\
										\
	for (; n - c >= DOT_ROWS; c += DOT_ROWS)				\
		dot_float(out + c, x, (const uint8_t *)y + c * ldw * sizeof(type), k, ldw,	\
			  DOT_ROWS, sizeof(type), load);			\
	for (; c < n; c++)							\
		dot_float(out + c, x, (const uint8_t *)y + c * ldw * sizeof(type), k, ldw,	\
			  1, sizeof(type), load);				\
	npu_fp_leave(fp);							\
}

#endif
