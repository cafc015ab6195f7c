/* SPDX-License-Identifier: MIT */
/*
 * Guest memory: which bus addresses the client has mapped for us, and the gate
 * that everyone passes who touches it.
 */
#ifndef VDEV_DMA_H
#define VDEV_DMA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* As many as the kernel's own vfio allows; a vIOMMU maps page by page. */
#define DMA_MAX_RANGES	65535
#define DMA_PAGE	4096

enum dma_status {
	DMA_OK,
	DMA_OFF,		/* bus mastering is off: nothing was accessed */
	DMA_UNMAPPED,		/* no such memory, or not writable */
};

struct dma_file;

struct dma_range {
	uint64_t first;
	uint64_t last;		/* inclusive: the address space has no end */
	uint8_t *host;		/* NULL: mapped without a file, not accessible */
	struct dma_file *file;
	bool write;
};

struct dma {
	/* changed with the gate closed; sorted, disjoint */
	struct dma_range *range;
	unsigned int count;
	unsigned int room;
	struct dma_file *files;
	atomic_bool enabled;

	pthread_mutex_t lock;	/* of the gate's slow path */
	pthread_cond_t changed;
	atomic_uint active;	/* threads inside, nested entries counted */
	atomic_bool closed;	/* no new ones, please */
	bool owned;		/* closed, and all others are out */

	_Atomic uint64_t bytes_read;
	_Atomic uint64_t bytes_written;
	_Atomic uint64_t refused_reads;		/* bus mastering was off */
	_Atomic uint64_t refused_writes;
	_Atomic uint64_t unmapped;		/* addresses that are nobody's */
};

void dma_init(struct dma *d);
void dma_fini(struct dma *d);

/*
 * Accesses to guest memory happen between enter and exit. Entries nest; a
 * thread that is inside may always enter again.
 */
void dma_enter(struct dma *d);
void dma_exit(struct dma *d);

/* Keeps everyone out; returns when all accesses begun before are over. */
void dma_close(struct dma *d);
void dma_open(struct dma *d);

/* Switches all access on or off; after off returns, nothing is read or written any more. */
void dma_enable(struct dma *d, bool on);

/* @fd stays the caller's. Negative errno. */
int dma_map(struct dma *d, uint64_t iova, uint64_t size, uint32_t flags, int fd, uint64_t offset);
/* Removes whatever lies in [iova, iova + size), parts of mappings too. */
int dma_unmap(struct dma *d, uint64_t iova, uint64_t size);
void dma_unmap_all(struct dma *d);

/* Inside of the gate: *len is cut to what is contiguous. Finding is for an access and counts it. */
enum dma_status dma_find(struct dma *d, uint64_t addr, bool write, uint8_t **host, uint64_t *len);
enum dma_status dma_look(struct dma *d, uint64_t addr, bool write, uint8_t **host, uint64_t *len);
void dma_count(struct dma *d, bool write, uint64_t len);

/* Enter the gate themselves. A write that fails in the middle has written its first part. */
enum dma_status dma_read(struct dma *d, uint64_t addr, void *buf, uint64_t len);
enum dma_status dma_write(struct dma *d, uint64_t addr, const void *buf, uint64_t len);
/* @addr is 8-byte aligned: one store, after everything written before. */
enum dma_status dma_write64(struct dma *d, uint64_t addr, uint64_t value);

#endif
