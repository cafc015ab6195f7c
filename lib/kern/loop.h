/* SPDX-License-Identifier: MIT */
/*
 * The loop around every element-wise kernel of the x86 levels. The including file defines before
 *	VEC, VEC_BYTES			its vector
 *	vec_store(p, v)			unaligned
 *	vec_stream(p, v), stream_fence()	aligned, past the caches
 *	part_load(buf, src, bytes, size)	@bytes into a buffer of @size that is then read whole
 *	part_store(dst, v, bytes)	the first @bytes of an array of vectors
 *
 * Everything here is inlined with constant shapes, so that each kernel becomes a plain loop.
 */
#ifndef NPU_KERN_LOOP_H
#define NPU_KERN_LOOP_H

#include "level.h"

#ifndef PREFETCH_BYTES
#define PREFETCH_BYTES 4096
#endif

/* Fills @v from the bytes at @s; @ctx is the kernel's tables, in registers. */
typedef void step_fn(VEC *v, const uint8_t *s, const void *ctx);

/*
 * What one step converts: @unit elements of @in_bits into @outs vectors, which fill whole
 * lines.
 */
struct shape {
	unsigned int unit;
	unsigned int in_bits;
	unsigned int outs;
	step_fn *step;
};

/* Elements before the first whole line of @dst; @n where that never comes. */
static ALWAYS_INLINE size_t elements_to_line(const void *dst, unsigned int in_bits,
					     unsigned int out_bytes, size_t n)
{
	size_t bytes = -(uintptr_t)dst % LINE_BYTES;
	size_t count = bytes / out_bytes;

	if (bytes % out_bytes || count * in_bits % 8 || count > n)
		return n;
	return count;
}

/* Less than a unit: through a buffer, so that no byte beyond @n elements is touched. */
static ALWAYS_INLINE void loop_part(uint8_t *dst, const uint8_t *src, size_t n, struct shape shape,
				    const void *ctx)
{
	uint8_t buf[LINE_BYTES * 2] __attribute__((aligned(LINE_BYTES)));
	VEC v[STEP_MAX];

	part_load(buf, src, (n * shape.in_bits + 7) / 8, shape.unit * shape.in_bits / 8);
	shape.step(v, buf, ctx);
	part_store(dst, v, n * (shape.outs * VEC_BYTES / shape.unit));
}

/* Whole units; returns how many elements that were. */
static ALWAYS_INLINE size_t loop_units(uint8_t *d, const uint8_t *s, size_t n, bool stream,
				       struct shape shape, const void *ctx)
{
	size_t done;

	for (done = 0; n - done >= shape.unit; done += shape.unit) {
		VEC v[STEP_MAX];

		shape.step(v, s, ctx);
		/* what is streamed comes from memory as well */
		for (unsigned int i = 0; stream && i < shape.unit * shape.in_bits / 8;
		     i += LINE_BYTES)
			__builtin_prefetch(s + i + PREFETCH_BYTES);
		UNROLL
		for (unsigned int i = 0; i < shape.outs; i++) {
			if (stream)
				vec_stream(d + i * VEC_BYTES, v[i]);
			else
				vec_store(d + i * VEC_BYTES, v[i]);
		}
		d += shape.outs * VEC_BYTES;
		s += shape.unit * shape.in_bits / 8;
	}
	return done;
}

/*
 * @n elements. Non-temporal stores want aligned addresses and whole lines: with @nt a partial unit
 * leads up to the line. Where the destination can never be aligned, they are not used.
 */
static ALWAYS_INLINE void loop(void *dst, const void *src, size_t n, bool nt, struct shape shape,
			       const void *ctx)
{
	const unsigned int out_bytes = shape.outs * VEC_BYTES / shape.unit;
	size_t done = nt ? elements_to_line(dst, shape.in_bits, out_bytes, n) : 0;
	uint8_t *d = dst;
	const uint8_t *s = src;

	if (nt && done < n) {
		if (done)
			loop_part(d, s, done, shape, ctx);
		done += loop_units(d + done * out_bytes, s + done * shape.in_bits / 8, n - done,
				   true, shape, ctx);
		stream_fence();
	} else {
		done = loop_units(d, s, n, false, shape, ctx);
	}
	if (done < n)
		loop_part(d + done * out_bytes, s + done * shape.in_bits / 8, n - done, shape,
			  ctx);
}

/*
 * The two functions of a conversion: one picks the kind of stores by the size of its output,
 * the other always streams.
 */
#define KERNEL(name, out_bytes, params, ...)					\
static void name##_nt params							\
{										\
	name##_any(true, __VA_ARGS__);						\
}										\
										\
static void name params								\
{										\
	if (n >= npu_kern_stream_bytes / (out_bytes))				\
		name##_nt(__VA_ARGS__);						\
	else									\
		name##_any(false, __VA_ARGS__);					\
}

#define CONV(name, out_bytes)							\
	KERNEL(name, out_bytes, (void *dst, const void *src, size_t n), dst, src, n)
#define LUT(name, out_bytes)							\
	KERNEL(name, out_bytes, (void *dst, const void *src, size_t n, const void *table),	\
	       dst, src, n, table)

#define PICK(name) (nt ? name##_nt : name)

#endif
