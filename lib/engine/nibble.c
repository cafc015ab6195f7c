// SPDX-License-Identifier: MIT
/* Runs of 4-bit elements between places that need not be whole bytes. */
#include <string.h>

#include "nest.h"

static unsigned int nibble_get(const uint8_t *p, uint64_t at)
{
	return p[at / 2] >> (at % 2 * 4) & 15;
}

static void nibble_put(uint8_t *p, uint64_t at, unsigned int v)
{
	p[at / 2] = (uint8_t)(at % 2 ? (p[at / 2] & 0x0f) | v << 4 : (p[at / 2] & 0xf0) | v);
}

/* @bytes whole bytes out of the high nibbles of @src and the low ones behind them. */
static void nibble_shift(uint8_t *dst, const uint8_t *src, uint64_t bytes)
{
	uint64_t lo, hi;

	for (; bytes >= 8; bytes -= 8) {
		memcpy(&lo, src, 8);
		hi = src[8];
		lo = lo >> 4 | hi << 60;
		memcpy(dst, &lo, 8);
		src += 8;
		dst += 8;
	}
	for (; bytes; bytes--, src++)
		*dst++ = (uint8_t)(src[0] >> 4 | src[1] << 4);
}

void npu_nibble_copy(void *dst, uint64_t dst_at, const void *src, uint64_t src_at, uint64_t n)
{
	const uint8_t *from = (const uint8_t *)src + src_at / 2;
	uint8_t *to = (uint8_t *)dst + dst_at / 2;
	uint64_t bytes;

	src_at %= 2;
	if (dst_at % 2 && n) {
		nibble_put(to++, 1, nibble_get(from, src_at));
		from += src_at;
		src_at = !src_at;
		n--;
	}
	bytes = n / 2;
	if (src_at)
		nibble_shift(to, from, bytes);
	else
		memcpy(to, from, (size_t)bytes);
	if (n % 2)
		nibble_put(to + bytes, 0, nibble_get(from + bytes, src_at));
}
