/* SPDX-License-Identifier: MIT */
/* Partial units of loop.h where there are no masks. */
#ifndef NPU_KERN_BUFFER_H
#define NPU_KERN_BUFFER_H

static ALWAYS_INLINE void part_load(uint8_t *buf, const uint8_t *src, size_t bytes, size_t size)
{
	memset(buf, 0, size);
	memcpy(buf, src, bytes);
}

static ALWAYS_INLINE void part_store(uint8_t *dst, const VEC *v, size_t bytes)
{
	memcpy(dst, v, bytes);
}

#endif
