// SPDX-License-Identifier: MIT
/*
 * The MMU: three levels of page tables in guest memory, and each ring's cache
 * of what was walked. The cache is real: a driver that forgets to invalidate
 * sees old pages here, as on silicon.
 */
#include "vdev.h"

#include <endian.h>

/* The longest run that one translation hands out; it is held for the time of its use. */
#define MMU_MAX_RUN	(256u << 10)
#define MMU_PAGE_MASK	((uint64_t)NPU_PAGE_SIZE - 1)

enum walk_status {
	WALK_OK,
	WALK_UNMAPPED,
	WALK_READONLY,
	WALK_FAULT,		/* latched in the job */
};

static uint64_t tlb_tag(uint32_t asid, uint64_t addr)
{
	return (uint64_t)asid << 32 | addr >> 12;
}

static struct tlb_entry *tlb_slot(struct ring *r, uint64_t tag)
{
	return &r->tlb[(tag ^ tag >> 32 << 5) % VDEV_TLB_ENTRIES];
}

void mmu_forget(struct vdev *v, uint32_t asid)
{
	unsigned int i, n;

	for (n = 0; n < NPU_RING_COUNT; n++) {
		for (i = 0; i < VDEV_TLB_ENTRIES; i++) {
			struct tlb_entry *e = &v->ring[n].tlb[i];
			uint64_t value = atomic_load(&e->value);
			uint64_t tag = atomic_load(&e->key) ^ value;

			if (asid != NPU_MMU_ASID_ALL && tag >> 32 != asid)
				continue;
			atomic_store(&e->key, 0);
			atomic_store(&e->value, 0);
		}
	}
}

static void job_fault(struct mmu_job *job, uint32_t kind, uint64_t bus)
{
	uint32_t none = NPU_FAULT_NONE;

	if (atomic_compare_exchange_strong(&job->fault, &none, kind))
		atomic_store(&job->fault_address, bus);
}

static enum walk_status bus_failed(struct mmu_job *job, enum dma_status st, uint32_t kind,
				   uint64_t bus)
{
	if (st == DMA_OFF)
		atomic_store(&job->stuck, true);
	else
		job_fault(job, kind, bus);
	return WALK_FAULT;
}

/*
 * Reads the leaf entry of @addr; inside of the gate. Looking ahead reports and
 * counts nothing: nobody has used that address yet.
 */
static enum walk_status walk_tables(struct mmu_job *job, uint64_t addr, bool ahead, uint64_t *pte)
{
	struct dma *dma = &job->ring->vdev->dma;
	uint64_t table = job->root;
	unsigned int level;

	for (level = 0; level < NPU_PT_LEVELS; level++) {
		uint64_t at = table + (addr >> NPU_PT_SHIFT(level)) % NPU_PT_ENTRIES * 8;
		uint64_t n = 8, entry;
		enum dma_status st;
		uint8_t *host;

		if (!table)
			return WALK_UNMAPPED;
		st = ahead ? dma_look(dma, at, false, &host, &n) :
			     dma_find(dma, at, false, &host, &n);
		if (st != DMA_OK)
			return ahead ? WALK_UNMAPPED :
				       bus_failed(job, st, NPU_FAULT_TABLE, at);
		entry = le64toh(atomic_load_explicit((_Atomic uint64_t *)(void *)host,
						     memory_order_acquire));
		if (job->corrupt)
			entry |= NPU_PTE_VALID | NPU_PTE_RESERVED;
		if (!(entry & NPU_PTE_VALID))
			return WALK_UNMAPPED;
		if (entry & NPU_PTE_RESERVED) {
			if (!ahead)
				job_fault(job, NPU_FAULT_TABLE, at);
			return WALK_FAULT;
		}
		table = entry & NPU_PTE_ADDRESS;
		*pte = entry;
	}
	return WALK_OK;
}

/* Bus address of the page of @addr; inside of the gate. */
static enum walk_status walk(struct mmu_job *job, uint64_t addr, bool write, bool ahead,
			     uint64_t *page)
{
	uint64_t tag = tlb_tag(job->asid, addr), value;
	struct tlb_entry *e = tlb_slot(job->ring, tag);

	/* the first page is nobody's, which also keeps tag 0 out of the cache */
	if (addr < NPU_PAGE_SIZE || addr >> NPU_ADDRESS_BITS)
		return WALK_UNMAPPED;
	value = atomic_load_explicit(&e->value, memory_order_relaxed);
	if ((atomic_load_explicit(&e->key, memory_order_relaxed) ^ value) != tag ||
	    job->corrupt) {
		enum walk_status st = walk_tables(job, addr, ahead, &value);

		if (st != WALK_OK)
			return st;
		atomic_store_explicit(&e->value, value, memory_order_relaxed);
		atomic_store_explicit(&e->key, tag ^ value, memory_order_relaxed);
	}
	if (write && !(value & NPU_PTE_WRITE))
		return WALK_READONLY;
	*page = value & NPU_PTE_ADDRESS;
	return WALK_OK;
}

/* One page: its host address and the bytes from @addr to its end. */
static enum walk_status translate_page(struct mmu_job *job, uint64_t addr, bool write,
				       uint8_t **host, uint64_t *len)
{
	enum walk_status st;
	enum dma_status bus;
	uint64_t page, n = NPU_PAGE_SIZE - (addr & MMU_PAGE_MASK);

	st = walk(job, addr, write, false, &page);
	if (st != WALK_OK)
		return st;
	if (*len > n)
		*len = n;
	bus = dma_find(&job->ring->vdev->dma, page + (addr & MMU_PAGE_MASK), write, host, len);
	if (bus != DMA_OK)
		return bus_failed(job, bus, NPU_FAULT_DATA, page);
	if (write)
		atomic_store_explicit(&job->last_write, page, memory_order_relaxed);
	return WALK_OK;
}

/* Is the page at @addr, after a run, the next one in memory, too? */
static bool next_page_follows(struct mmu_job *job, uint64_t addr, bool write, const uint8_t *end,
			      uint64_t *len)
{
	struct dma *dma = &job->ring->vdev->dma;
	uint64_t page;
	uint8_t *host;

	if (walk(job, addr, write, true, &page) != WALK_OK)
		return false;
	if (dma_look(dma, page, write, &host, len) != DMA_OK || host != end)
		return false;
	dma_count(dma, write, *len);
	if (write)
		atomic_store_explicit(&job->last_write, page, memory_order_relaxed);
	return true;
}

void *mmu_translate(void *arg, uint64_t addr, uint64_t *len, enum npu_access access,
		    uint32_t *rule)
{
	struct mmu_job *job = arg;
	struct dma *dma = &job->ring->vdev->dma;
	bool write = access == NPU_ACCESS_WRITE;
	uint64_t want = *len < MMU_MAX_RUN ? *len : MMU_MAX_RUN, got = want, n;
	enum walk_status st = WALK_UNMAPPED;
	uint8_t *host;

	dma_enter(dma);
	if (want)
		st = translate_page(job, addr, write, &host, &got);
	if (st != WALK_OK) {
		dma_exit(dma);
		*rule = st == WALK_READONLY ? NPU_RULE_ADDRESS_READONLY : NPU_RULE_ADDRESS_UNMAPPED;
		return NULL;
	}
	while (got < want && !((addr + got) & MMU_PAGE_MASK)) {
		n = want - got < NPU_PAGE_SIZE ? want - got : NPU_PAGE_SIZE;
		if (!next_page_follows(job, addr + got, write, host + got, &n))
			break;
		got += n;
	}
	*len = got;
	return host;
}

void mmu_put(void *arg)
{
	struct mmu_job *job = arg;

	dma_exit(&job->ring->vdev->dma);
}
