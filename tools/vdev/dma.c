// SPDX-License-Identifier: MIT
/*
 * Mappings of guest memory and the gate around them.
 *
 * Each file that the client sends is mapped once and whole, however many
 * mappings point into it: a vIOMMU makes tens of thousands, more than a process
 * may have VMAs. Mappings are a sorted array, searched by bisection.
 */
#include "vdev.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * How long a newcomer lets a closer go first. It does not wait for ever: the
 * thread that the closer waits for may itself wait for the newcomer.
 */
#define GATE_COURTESY_MS	20

struct dma_file {
	struct dma_file *next;
	dev_t dev;
	ino_t ino;
	uint64_t size;
	uint8_t *base;
	unsigned int refs;
	bool writable;
};

/* Entries of this thread that are open. */
static _Thread_local unsigned int gate_depth;

void dma_init(struct dma *d)
{
	pthread_condattr_t attr;

	memset(d, 0, sizeof(*d));
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->changed, &attr);
	pthread_condattr_destroy(&attr);
}

void dma_fini(struct dma *d)
{
	dma_unmap_all(d);
	free(d->range);
	pthread_cond_destroy(&d->changed);
	pthread_mutex_destroy(&d->lock);
}

static void gate_leave(struct dma *d)
{
	if (atomic_fetch_sub(&d->active, 1) == 1 && atomic_load(&d->closed)) {
		pthread_mutex_lock(&d->lock);
		pthread_cond_broadcast(&d->changed);
		pthread_mutex_unlock(&d->lock);
	}
}

static void gate_wait(struct dma *d)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += GATE_COURTESY_MS * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&d->lock);
	while (atomic_load(&d->closed)) {
		int ret = pthread_cond_timedwait(&d->changed, &d->lock, &until);

		if (d->owned)
			continue;
		if (ret == ETIMEDOUT)
			break;
	}
	/* under the lock no closer can take possession at the same time */
	atomic_fetch_add(&d->active, 1);
	pthread_mutex_unlock(&d->lock);
}

void dma_enter(struct dma *d)
{
	/* either this sees the gate closed, or the closer sees this thread inside */
	atomic_fetch_add(&d->active, 1);
	if (!gate_depth && atomic_load(&d->closed)) {
		gate_leave(d);
		gate_wait(d);
	}
	gate_depth++;
}

void dma_exit(struct dma *d)
{
	/* the engine may end a translation in another thread than it began in */
	if (gate_depth)
		gate_depth--;
	gate_leave(d);
}

void dma_close(struct dma *d)
{
	pthread_mutex_lock(&d->lock);
	while (atomic_load(&d->closed))
		pthread_cond_wait(&d->changed, &d->lock);
	atomic_store(&d->closed, true);
	while (atomic_load(&d->active))
		pthread_cond_wait(&d->changed, &d->lock);
	d->owned = true;
	pthread_mutex_unlock(&d->lock);
}

void dma_open(struct dma *d)
{
	pthread_mutex_lock(&d->lock);
	d->owned = false;
	atomic_store(&d->closed, false);
	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

void dma_enable(struct dma *d, bool on)
{
	dma_close(d);
	atomic_store(&d->enabled, on);
	dma_open(d);
}

static int file_get(struct dma *d, int fd, bool write, struct dma_file **out)
{
	struct dma_file *f;
	struct stat st;
	int mode = fcntl(fd, F_GETFL);
	bool writable;

	if (mode < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return -EINVAL;
	writable = (mode & O_ACCMODE) == O_RDWR;
	if (write && !writable)
		return -EACCES;
	for (f = d->files; f; f = f->next) {
		if (f->dev == st.st_dev && f->ino == st.st_ino && f->writable == writable &&
		    f->size == (uint64_t)st.st_size)
			goto found;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->base = mmap(NULL, st.st_size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		       fd, 0);
	if (f->base == MAP_FAILED) {
		free(f);
		return -ENOMEM;
	}
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->size = st.st_size;
	f->writable = writable;
	f->next = d->files;
	d->files = f;
found:
	f->refs++;
	*out = f;
	return 0;
}

static void file_put(struct dma *d, struct dma_file *f)
{
	struct dma_file **p;

	if (!f || --f->refs)
		return;
	for (p = &d->files; *p != f; p = &(*p)->next)
		;
	*p = f->next;
	munmap(f->base, f->size);
	free(f);
}

/* Index of the first range that ends at or after @addr. */
static unsigned int range_search(const struct dma *d, uint64_t addr)
{
	unsigned int lo = 0, hi = d->count;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (d->range[mid].last < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int range_insert(struct dma *d, unsigned int at, const struct dma_range *r)
{
	if (d->count == DMA_MAX_RANGES)
		return -ENOSPC;
	if (d->count == d->room) {
		unsigned int room = d->room ? 2 * d->room : 64;
		struct dma_range *p = realloc(d->range, room * sizeof(*p));

		if (!p)
			return -ENOMEM;
		d->range = p;
		d->room = room;
	}
	memmove(&d->range[at + 1], &d->range[at], (d->count - at) * sizeof(*r));
	d->range[at] = *r;
	d->count++;
	return 0;
}

static int dma_map_closed(struct dma *d, struct dma_range *r, int fd, uint64_t offset)
{
	unsigned int at = range_search(d, r->first);
	int ret;

	if (at < d->count && d->range[at].first <= r->last)
		return -EEXIST;
	if (fd >= 0) {
		uint64_t size = r->last - r->first + 1;

		ret = file_get(d, fd, r->write, &r->file);
		if (ret)
			return ret;
		/* beyond the end of the file an access would be a SIGBUS */
		if (size > r->file->size || offset > r->file->size - size) {
			file_put(d, r->file);
			return -EINVAL;
		}
		r->host = r->file->base + offset;
	}
	ret = range_insert(d, at, r);
	if (ret)
		file_put(d, r->file);
	return ret;
}

int dma_map(struct dma *d, uint64_t iova, uint64_t size, uint32_t flags, int fd, uint64_t offset)
{
	struct dma_range r = { .first = iova, .last = iova + (size - 1) };
	int ret;

	if (!flags || flags & ~(VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE))
		return -EINVAL;
	if (!size || r.last < iova || (iova | size | offset) % DMA_PAGE)
		return -EINVAL;
	r.write = flags & VFIO_DMA_MAP_FLAG_WRITE;
	dma_close(d);
	ret = dma_map_closed(d, &r, fd, offset);
	dma_open(d);
	return ret;
}

/* Cuts [first, last] out of range @at, which it overlaps. True if the range is gone. */
static bool range_cut(struct dma *d, unsigned int at, uint64_t first, uint64_t last)
{
	struct dma_range *r = &d->range[at];
	struct dma_range right = *r;

	if (last < r->last) {
		if (right.host)
			right.host += last + 1 - right.first;
		right.first = last + 1;
		if (r->first >= first) {
			*r = right;
			return false;
		}
		/* no room for the second half: it is lost, which is safe */
		if (!range_insert(d, at + 1, &right) && right.file)
			right.file->refs++;
		r = &d->range[at];
	}
	if (r->first < first) {
		r->last = first - 1;
		return false;
	}
	file_put(d, r->file);
	return true;
}

static void dma_unmap_closed(struct dma *d, uint64_t first, uint64_t last)
{
	unsigned int from = range_search(d, first), at, gone_from = 0, gone = 0;

	for (at = from; at < d->count && d->range[at].first <= last; at++) {
		if (range_cut(d, at, first, last) && !gone++)
			gone_from = at;
	}
	/* only the outermost ranges survive in part, so what is gone is one run */
	if (gone) {
		memmove(&d->range[gone_from], &d->range[gone_from + gone],
			(d->count - gone_from - gone) * sizeof(*d->range));
		d->count -= gone;
	}
}

int dma_unmap(struct dma *d, uint64_t iova, uint64_t size)
{
	uint64_t last = iova + (size - 1);

	if (!size || last < iova || (iova | size) % DMA_PAGE)
		return -EINVAL;
	dma_close(d);
	dma_unmap_closed(d, iova, last);
	dma_open(d);
	return 0;
}

void dma_unmap_all(struct dma *d)
{
	dma_close(d);
	dma_unmap_closed(d, 0, UINT64_MAX);
	dma_open(d);
}

enum dma_status dma_look(struct dma *d, uint64_t addr, bool write, uint8_t **host, uint64_t *len)
{
	const struct dma_range *r;
	unsigned int at;

	if (!atomic_load_explicit(&d->enabled, memory_order_relaxed))
		return DMA_OFF;
	at = range_search(d, addr);
	r = at < d->count ? &d->range[at] : NULL;
	if (!r || r->first > addr || !r->host || (write && !r->write))
		return DMA_UNMAPPED;
	if (*len - 1 > r->last - addr)
		*len = r->last - addr + 1;
	*host = r->host + (addr - r->first);
	return DMA_OK;
}

void dma_count(struct dma *d, bool write, uint64_t len)
{
	atomic_fetch_add_explicit(write ? &d->bytes_written : &d->bytes_read, len,
				  memory_order_relaxed);
}

enum dma_status dma_find(struct dma *d, uint64_t addr, bool write, uint8_t **host, uint64_t *len)
{
	enum dma_status st = dma_look(d, addr, write, host, len);

	if (st == DMA_OK)
		dma_count(d, write, *len);
	else if (st == DMA_UNMAPPED)
		atomic_fetch_add(&d->unmapped, 1);
	else
		atomic_fetch_add(write ? &d->refused_writes : &d->refused_reads, 1);
	return st;
}

static enum dma_status dma_copy(struct dma *d, uint64_t addr, void *buf, uint64_t len, bool write)
{
	enum dma_status st = DMA_OK;
	uint8_t *host, *p = buf;

	dma_enter(d);
	while (len) {
		uint64_t n = len;

		/* an access that wraps is one beyond the end of memory */
		st = addr + (len - 1) < addr ? DMA_UNMAPPED : dma_find(d, addr, write, &host, &n);
		if (st != DMA_OK)
			break;
		if (write)
			memcpy(host, p, n);
		else
			memcpy(p, host, n);
		addr += n;
		p += n;
		len -= n;
	}
	dma_exit(d);
	return st;
}

enum dma_status dma_read(struct dma *d, uint64_t addr, void *buf, uint64_t len)
{
	return dma_copy(d, addr, buf, len, false);
}

enum dma_status dma_write(struct dma *d, uint64_t addr, const void *buf, uint64_t len)
{
	return dma_copy(d, addr, (void *)buf, len, true);
}

enum dma_status dma_write64(struct dma *d, uint64_t addr, uint64_t value)
{
	enum dma_status st;
	uint64_t n = sizeof(value);
	uint8_t *host;

	if (addr % sizeof(value))
		return DMA_UNMAPPED;
	dma_enter(d);
	st = dma_find(d, addr, true, &host, &n);
	if (st == DMA_OK)
		atomic_store_explicit((_Atomic uint64_t *)(void *)host, htole64(value),
				      memory_order_release);
	dma_exit(d);
	return st;
}
