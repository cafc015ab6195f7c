// SPDX-License-Identifier: MIT
/*
 * Gathering a nest's elements. Neighbours are copied as runs; strided
 * elements are read through the window's pointer as far as it reaches, so that
 * scattered memory costs one translation a page and not one an element.
 */
#include <string.h>

#include "nest.h"

/* Elements between two looks at the cancel flag. */
#define GATHER_POLL 65536
/* Longest column that is gathered along with its neighbours, and bytes of a row of them. */
#define COLUMN_MAX 65536u
#define COLUMNS 64u
#define ROWS 64u

void npu_nest_init(struct npu_nest *nest, const struct npu_cmd_fetch *cmd)
{
	struct npu_nest n = { .bits = npu_type_bits(cmd->src_type) };
	unsigned int j = NPU_MAX_LOOPS;		/* filled from the end */
	unsigned int i;
	int64_t span;

	for (i = cmd->loop_count; i-- > 0;) {
		if (cmd->size[i] == 1)
			continue;
		if (j < NPU_MAX_LOOPS && !__builtin_mul_overflow(n.stride[j], n.size[j], &span) &&
		    span == cmd->stride[i]) {
			n.size[j] *= cmd->size[i];
			continue;
		}
		n.size[--j] = cmd->size[i];
		n.stride[j] = cmd->stride[i];
	}
	if (j == NPU_MAX_LOOPS) {
		n.size[--j] = 1;
		n.stride[j] = 1;
	}
	*nest = n;
	nest->count = NPU_MAX_LOOPS - j;
	memmove(nest->size, &nest->size[j], nest->count * sizeof(nest->size[0]));
	memmove(nest->stride, &nest->stride[j], nest->count * sizeof(nest->stride[0]));
}

/* Columns of a dense tensor: the innermost loop strides, the next one has neighbours. */
static bool reads_columns(const struct npu_nest *nest)
{
	unsigned int last = nest->count - 1;

	return nest->count > 1 && nest->bits >= 8 && nest->stride[last - 1] == 1 &&
	       nest->stride[last] != 0 && nest->size[last] <= COLUMN_MAX;
}

uint64_t npu_nest_chunk(const struct npu_nest *nest, uint64_t chunk)
{
	unsigned int last = nest->count - 1;
	uint64_t columns;

	if (!reads_columns(nest))
		return chunk;
	columns = npu_min(COLUMNS / (nest->bits / 8), nest->size[last - 1]) * nest->size[last];
	columns += columns % 2;
	return columns > chunk ? columns : chunk;
}

void npu_cursor_seek(struct npu_cursor *c, uint64_t element)
{
	unsigned int i;

	c->element = element;
	c->pos = c->offset;
	for (i = c->nest->count; i-- > 0;) {
		c->index[i] = i ? element % c->nest->size[i] : element;
		element /= c->nest->size[i];
		/* At the very end it may be out of range, and is not used. */
		c->pos = (int64_t)((uint64_t)c->pos +
				   c->index[i] * (uint64_t)c->nest->stride[i]);
	}
}

uint64_t npu_cursor_run(const struct npu_cursor *c)
{
	unsigned int last = c->nest->count - 1;

	return c->nest->stride[last] == 1 ? c->nest->size[last] - c->index[last] : 0;
}

static void cursor_advance(struct npu_cursor *c, uint64_t n)
{
	const struct npu_nest *nest = c->nest;
	unsigned int i = nest->count - 1;
	uint64_t pos = (uint64_t)c->pos + n * (uint64_t)nest->stride[i];

	c->element += n;
	c->index[i] += n;
	while (i && c->index[i] == nest->size[i]) {
		pos -= nest->size[i] * (uint64_t)nest->stride[i];
		c->index[i] = 0;
		pos += (uint64_t)nest->stride[--i];
		c->index[i]++;
	}
	c->pos = (int64_t)pos;
}

static uint64_t element_address(const struct npu_cursor *c, int64_t pos)
{
	/* Towards minus infinity: element -1 is the high nibble of byte -1. */
	if (c->nest->bits < 8)
		return c->base + (uint64_t)(pos / 2 - (pos % 2 < 0));
	return c->base + (uint64_t)pos * (c->nest->bits / 8);
}

static bool gather_run(struct npu_cursor *c, struct npu_window *w, uint64_t n, void *buf,
		       uint64_t at)
{
	unsigned int bytes = c->nest->bits / 8;
	uint64_t addr = element_address(c, c->pos);
	unsigned int odd = bytes ? 0 : c->pos & 1;

	if (bytes)
		return npu_window_read(w, addr, (uint8_t *)buf + at * bytes, n * bytes);
	while (n) {
		uint64_t len, here;
		const uint8_t *p = npu_window_at(w, addr, &len);

		if (!p)
			return false;
		here = npu_min(n, len * 2 - odd);
		npu_nibble_copy(buf, at, p, odd, here);
		addr += (odd + here) / 2;
		odd = (odd + here) % 2;
		at += here;
		n -= here;
	}
	return true;
}

static void fill(void *buf, uint64_t at, unsigned int bits, uint32_t v, uint64_t n)
{
	uint8_t *p = (uint8_t *)buf + at * bits / 8;
	uint8_t both = (uint8_t)((v & 15) * 0x11);
	uint64_t i;

	switch (bits) {
	case 4:
		if (at % 2) {
			*p = (uint8_t)((*p & 0x0f) | (both & 0xf0));
			p++;
			n--;
		}
		memset(p, both, (size_t)(n / 2));
		if (n % 2)
			p[n / 2] = (uint8_t)((p[n / 2] & 0xf0) | (both & 0x0f));
		break;
	case 8:
		memset(p, (int)v, (size_t)n);
		break;
	case 16:
		for (i = 0; i < n; i++)
			memcpy(p + i * 2, &v, 2);
		break;
	default:
		for (i = 0; i < n; i++)
			memcpy(p + i * 4, &v, 4);
	}
}

/* One element of 8 bits or more, which may straddle translations; a nibble as its byte. */
static bool load_element(struct npu_window *w, uint64_t addr, unsigned int bits, uint32_t *v)
{
	*v = 0;
	return npu_window_read(w, addr, v, bits < 8 ? 1 : bits / 8);
}

static bool gather_broadcast(struct npu_cursor *c, struct npu_window *w, uint64_t n, void *buf,
			     uint64_t at)
{
	uint32_t v;

	if (!load_element(w, element_address(c, c->pos), c->nest->bits, &v))
		return false;
	if (c->nest->bits < 8)
		v = v >> ((c->pos & 1) * 4) & 15;
	fill(buf, at, c->nest->bits, v, n);
	return true;
}

/* Elements @step bytes apart, all of which are behind one pointer. */
static void gather_step(void *dst, const uint8_t *p, int64_t step, unsigned int bits, uint64_t n)
{
	uint8_t *to = dst;

	switch (bits) {
	case 8:
		for (; n; n--, p += step)
			*to++ = *p;
		break;
	case 16:
		for (; n; n--, p += step, to += 2)
			memcpy(to, p, 2);
		break;
	default:
		for (; n; n--, p += step, to += 4)
			memcpy(to, p, 4);
	}
}

/* How many of @n elements, @step bytes apart from @addr on, the window's pointer reaches. */
static uint64_t window_reach(const struct npu_window *w, uint64_t addr, int64_t step,
			     unsigned int bytes, uint64_t n)
{
	uint64_t room;

	if (addr + bytes > w->addr + w->len)
		return 0;
	if (step < 0)
		room = (addr - w->addr) / (0 - (uint64_t)step);
	else
		room = (w->addr + w->len - addr - bytes) / (uint64_t)step;
	return npu_min(n, room + 1);
}

static bool gather_strided(struct npu_cursor *c, struct npu_window *w, int64_t stride, uint64_t n,
			   void *buf, uint64_t at)
{
	unsigned int bytes = c->nest->bits / 8;
	/* With one element left the stride may be anything, and is not used. */
	int64_t step = n > 1 ? stride * (int64_t)bytes : (int64_t)bytes;
	uint8_t *to = (uint8_t *)buf + at * bytes;
	uint64_t addr = element_address(c, c->pos);

	while (n) {
		uint64_t len, here;
		const uint8_t *p = npu_window_at(w, addr, &len);

		if (!p)
			return false;
		here = window_reach(w, addr, step, bytes, n);
		if (here) {
			gather_step(to, p, step, c->nest->bits, here);
		} else {
			here = 1;
			if (!npu_window_read(w, addr, to, bytes))
				return false;
		}
		to += here * bytes;
		addr += here * (uint64_t)step;
		n -= here;
	}
	return true;
}

static bool gather_nibbles(struct npu_cursor *c, struct npu_window *w, int64_t stride, uint64_t n,
			   uint8_t *buf, uint64_t at)
{
	int64_t pos = c->pos;

	for (; n; n--, at++) {
		uint64_t len;
		const uint8_t *p = npu_window_at(w, element_address(c, pos), &len);
		unsigned int v;

		if (!p)
			return false;
		v = *p >> ((pos & 1) * 4) & 15;
		if (at % 2)
			buf[at / 2] = (uint8_t)((buf[at / 2] & 0x0f) | v << 4);
		else
			buf[at / 2] = (uint8_t)((buf[at / 2] & 0xf0) | v);
		pos = (int64_t)((uint64_t)pos + (uint64_t)stride);
	}
	return true;
}

/*
 * Whole columns side by side: each row's neighbours go to as many columns, so
 * that a line of memory is fetched once and not once a column. Returns the
 * elements, 0 where the cursor is not at the top of a column or there is but one.
 */
static uint64_t gather_columns(struct npu_cursor *c, struct npu_window *w, uint64_t n,
			       uint8_t *buf, bool *ok)
{
	unsigned int last = c->nest->count - 1, bytes = c->nest->bits / 8;
	uint64_t rows = c->nest->size[last], columns, i, j, here;
	int64_t step = c->nest->stride[last] * (int64_t)bytes;
	uint64_t addr = element_address(c, c->pos);
	uint8_t tile[ROWS * COLUMNS];

	columns = npu_min(n / rows, c->nest->size[last - 1] - c->index[last - 1]);
	columns = npu_min(columns, COLUMNS / bytes);
	if (c->index[last] || columns < 2)
		return 0;
	/* By way of a small tile: columns a power of two apart would evict each other. */
	for (i = 0; i < rows; i += here) {
		here = npu_min(ROWS, rows - i);
		for (j = 0; j < here; j++, addr += (uint64_t)step) {
			*ok = npu_window_read(w, addr, tile + j * columns * bytes, columns * bytes);
			if (!*ok)
				return 0;
		}
		for (j = 0; j < columns; j++)
			gather_step(buf + (j * rows + i) * bytes, tile + j * bytes,
				    (int64_t)(columns * bytes), c->nest->bits, here);
	}
	npu_cursor_seek(c, c->element + rows * columns);
	return rows * columns;
}

bool npu_gather(struct npu_cursor *c, struct npu_window *w, uint64_t n, void *buf, uint64_t at)
{
	unsigned int last = c->nest->count - 1;
	int64_t stride = c->nest->stride[last];
	bool columns = reads_columns(c->nest);
	uint64_t since = 0;

	while (n) {
		uint64_t here = npu_min(n, c->nest->size[last] - c->index[last]);
		uint64_t block = 0;
		bool ok = true;

		if (columns)
			block = gather_columns(c, w, n, (uint8_t *)buf +
					       at * (c->nest->bits / 8), &ok);
		if (!ok)
			return false;
		since += block ? block : here;
		if (since >= GATHER_POLL) {
			since = 0;
			if (npu_exec_stopped(w->x))
				return false;
		}
		if (block) {
			at += block;
			n -= block;
			continue;
		}
		if (stride == 1)
			ok = gather_run(c, w, here, buf, at);
		else if (stride == 0)
			ok = gather_broadcast(c, w, here, buf, at);
		else if (c->nest->bits < 8)
			ok = gather_nibbles(c, w, stride, here, buf, at);
		else
			ok = gather_strided(c, w, stride, here, buf, at);
		if (!ok)
			return false;
		cursor_advance(c, here);
		at += here;
		n -= here;
	}
	return true;
}
