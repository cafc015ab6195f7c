// SPDX-License-Identifier: MIT
/*
 * Fortran order: a range of the C order, read from a file in which the first axis runs fastest.
 *
 * The range is cut into boxes (a partial row, whole rows, whole planes, ..., a partial row).  In
 * a box, what lies together in the file is a run along the first axis.  Runs are visited in the
 * file's order.  Where the holes between them are small, a whole stretch is read at once, since a
 * read of a page costs no more than a system call; where they are not, each run is read by itself.
 *
 * A small range may touch every page of the file.  Where reading a tensor in such pieces would read
 * the whole file many times over, a slab of what comes next is kept as ranges follow one another.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define WINDOW_BYTES	(256 * 1024)
#define SMALL_HOLE	4096
#define SLAB_BYTES	(64 * 1024 * 1024)
#define SLAB_WORTH	8

struct slab {
	pthread_mutex_t lock;
	const struct tensor_info *info;	/* whose items; NULL while there are none */
	uint64_t first;
	uint64_t n;
	uint64_t next;			/* where the last range ended */
	uint8_t *data;
};

struct walk {
	const struct tensor_file *file;
	struct tensor_error *err;
	unsigned int item;			/* bytes */
	unsigned int ndim;
	uint64_t shape[TENSOR_MAX_DIMS];	/* without axes of size 1 */
	uint64_t c_stride[TENSOR_MAX_DIMS];	/* in items */
	uint64_t f_stride[TENSOR_MAX_DIMS];
	uint64_t base;				/* of the tensor, in the file */
	uint64_t first;				/* C index of *dst */
	uint8_t *dst;
	uint8_t *window;
	uint64_t window_start;
	uint64_t window_bytes;
};

struct box {
	uint64_t low[TENSOR_MAX_DIMS];
	uint64_t count[TENSOR_MAX_DIMS];
	unsigned int near;	/* axes 1..near lie close enough to be read together */
	uint64_t extent;	/* bytes from the first to the last of what is read together */
};

static void set_strides(struct walk *w, const struct tensor_info *info)
{
	uint64_t stride = 1;

	for (unsigned int i = 0; i < info->ndim; i++) {
		if (info->shape[i] != 1)
			w->shape[w->ndim++] = info->shape[i];
	}
	for (unsigned int i = 0; i < w->ndim; i++) {
		w->f_stride[i] = stride;
		stride *= w->shape[i];
	}
	stride = 1;
	for (unsigned int i = w->ndim; i-- > 0;) {
		w->c_stride[i] = stride;
		stride *= w->shape[i];
	}
}

/* The largest box that starts at @pos and has at most @left items; returns its items. */
static uint64_t next_box(const struct walk *w, uint64_t pos, uint64_t left, struct box *box)
{
	uint64_t rest = pos;
	unsigned int axis = w->ndim;
	unsigned int i;

	for (i = 0; i < w->ndim; i++) {
		box->low[i] = rest / w->c_stride[i];
		rest -= box->low[i] * w->c_stride[i];
		box->count[i] = 1;
		if (axis == w->ndim && !rest && left >= w->c_stride[i])
			axis = i;
	}
	box->count[axis] = w->shape[axis] - box->low[axis];
	if (box->count[axis] > left / w->c_stride[axis])
		box->count[axis] = left / w->c_stride[axis];
	for (i = axis + 1; i < w->ndim; i++)
		box->count[i] = w->shape[i];
	return box->count[axis] * w->c_stride[axis];
}

static void find_near_axes(const struct walk *w, struct box *box)
{
	box->near = 0;
	box->extent = box->count[0] * w->item;
	for (unsigned int i = 1; i < w->ndim; i++) {
		uint64_t step = w->f_stride[i] * w->item;

		if (box->count[i] > 1) {
			if (step - box->extent > SMALL_HOLE)
				return;
			box->extent += (box->count[i] - 1) * step;
		}
		box->near = i;
	}
}

static void scatter(uint8_t *dst, uint64_t stride, const uint8_t *src, uint64_t n,
		    unsigned int item)
{
	uint64_t i;

	stride *= item;
	switch (item) {
	case 1:
		for (i = 0; i < n; i++)
			dst[i * stride] = src[i];
		break;
	case 2:
		for (i = 0; i < n; i++)
			memcpy(dst + i * stride, src + i * 2, 2);
		break;
	default:
		for (i = 0; i < n; i++)
			memcpy(dst + i * stride, src + i * 4, 4);
	}
}

/* Deliver the run of @n items at file offset @offset; what is read together ends at @end. */
static int read_run(struct walk *w, uint64_t offset, uint64_t end, uint64_t n, uint64_t c_index)
{
	while (n) {
		uint64_t skip = offset - w->window_start;
		uint64_t part;
		int ret;

		if (offset < w->window_start || skip + w->item > w->window_bytes) {
			w->window_start = offset;
			w->window_bytes = 0;
			part = end - offset < WINDOW_BYTES ? end - offset : WINDOW_BYTES;
			ret = tensor_file_pread(w->file, w->window, part, offset, w->err);
			if (ret)
				return ret;
			w->window_bytes = part;
			skip = 0;
		}
		part = (w->window_bytes - skip) / w->item;
		if (part > n)
			part = n;
		scatter(w->dst + (c_index - w->first) * w->item, w->c_stride[0], w->window + skip,
			part, w->item);
		n -= part;
		offset += part * w->item;
		c_index += part * w->c_stride[0];
	}
	return 0;
}

static int read_box(struct walk *w, const struct box *box)
{
	uint64_t at[TENSOR_MAX_DIMS] = { 0 };
	uint64_t offset = w->base;
	uint64_t c_index = 0;
	uint64_t end;
	unsigned int i;
	int ret;

	for (i = 0; i < w->ndim; i++) {
		offset += box->low[i] * w->f_stride[i] * w->item;
		c_index += box->low[i] * w->c_stride[i];
	}
	end = offset + box->extent;
	for (;;) {
		ret = read_run(w, offset, end, box->count[0], c_index);
		if (ret)
			return ret;
		/* On to the next run: axis 1 is the fastest of those that are left. */
		for (i = 1; i < w->ndim; i++) {
			offset += w->f_stride[i] * w->item;
			c_index += w->c_stride[i];
			if (++at[i] < box->count[i])
				break;
			offset -= box->count[i] * w->f_stride[i] * w->item;
			c_index -= box->count[i] * w->c_stride[i];
			at[i] = 0;
		}
		if (i >= w->ndim)
			return 0;
		if (i > box->near)
			end = offset + box->extent;
	}
}

static int read_range(const struct tensor_file *file, const struct tensor_info *info,
		      uint64_t first, uint64_t n, uint8_t *dst, struct tensor_error *err)
{
	struct walk w = { .file = file, .err = err, .item = info->item_bits / 8, .first = first,
			  .dst = dst, .base = info->offset };
	struct box box;
	uint64_t done;
	int ret = 0;

	if (!n)
		return 0;
	set_strides(&w, info);
	if (w.ndim < 2)
		return tensor_file_pread(file, dst, n * w.item, info->offset + first * w.item, err);
	w.window = malloc(WINDOW_BYTES);
	if (!w.window)
		return tensor_fail(err, ENOMEM, "%s: out of memory", file->label);
	for (uint64_t pos = first; !ret && pos < first + n; pos += done) {
		done = next_box(&w, pos, first + n - pos, &box);
		find_near_axes(&w, &box);
		ret = read_box(&w, &box);
	}
	free(w.window);
	return ret;
}

/* Would @n items take many times their bytes to read, of which the next ones could be made? */
static bool worth_slab(const struct tensor_info *info, uint64_t n)
{
	struct walk w = { .item = info->item_bits / 8 };
	uint64_t run;

	if (n >= SLAB_BYTES / w.item)
		return false;
	set_strides(&w, info);
	if (w.ndim < 2)
		return false;
	run = n / w.c_stride[0] ? n / w.c_stride[0] : 1;
	return (w.shape[0] - run) * w.item <= SMALL_HOLE && w.shape[0] / run >= SLAB_WORTH;
}

static int fill_slab(struct slab *slab, const struct tensor_file *file,
		     const struct tensor_info *info, uint64_t first, struct tensor_error *err)
{
	unsigned int item = info->item_bits / 8;
	uint64_t n = info->elements - first;
	int ret;

	if (n > SLAB_BYTES / item)
		n = SLAB_BYTES / item;
	slab->info = NULL;
	if (!slab->data)
		slab->data = malloc(info->bytes < SLAB_BYTES ? info->bytes : SLAB_BYTES);
	if (!slab->data)
		return tensor_fail(err, ENOMEM, "%s: out of memory", file->label);
	ret = read_range(file, info, first, n, slab->data, err);
	if (ret)
		return ret;
	slab->info = info;
	slab->first = first;
	slab->n = n;
	return 0;
}

static bool in_slab(const struct slab *slab, const struct tensor_info *info, uint64_t first,
		    uint64_t n)
{
	return slab->info == info && first >= slab->first && first - slab->first <= slab->n &&
	       n <= slab->n - (first - slab->first);
}

int fortran_read(const struct tensor_file *file, const struct tensor_info *info, uint64_t first,
		 uint64_t n, uint8_t *dst, struct tensor_error *err)
{
	struct slab *slab = file->slab;
	unsigned int item = info->item_bits / 8;
	bool worth = n && worth_slab(info, n);
	bool in_sequence, hit;
	int ret = 0;

	pthread_mutex_lock(&slab->lock);
	in_sequence = first == slab->next && n < info->elements - first;
	slab->next = first + n;
	hit = in_slab(slab, info, first, n);
	if (!hit && in_sequence && worth) {
		ret = fill_slab(slab, file, info, first, err);
		hit = !ret;
	}
	if (hit)
		memcpy(dst, slab->data + (first - slab->first) * item, n * item);
	pthread_mutex_unlock(&slab->lock);
	return hit || ret ? ret : read_range(file, info, first, n, dst, err);
}

int fortran_prepare(struct tensor_file *file, struct tensor_error *err)
{
	file->slab = calloc(1, sizeof(*file->slab));
	if (!file->slab)
		return tensor_fail(err, ENOMEM, "%s: out of memory", file->label);
	pthread_mutex_init(&file->slab->lock, NULL);
	return 0;
}

void fortran_release(struct tensor_file *file)
{
	if (!file->slab)
		return;
	pthread_mutex_destroy(&file->slab->lock);
	free(file->slab->data);
	free(file->slab);
}
