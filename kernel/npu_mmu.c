// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page tables in the device's format, and the invalidation of what it has
 * cached of them. The caller serialises changes of one tree; the device reads
 * it at any time.
 */
#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "npu_drv.h"
#include "npu_mmu.h"
#include "npu_reset.h"
#include "npu_trace.h"

#define NPU_INVALIDATE_TIMEOUT_US	100000
#define NPU_INVALIDATE_POLL_US		20

/**
 * struct npu_pt - one page table
 * @entries: the table, one page
 * @dma: its bus address; DMA_MAPPING_ERROR after the removal of the device
 * @sub: tables of the next level, NULL in a table of the lowest
 * @used: entries that are valid
 * @node: in a list of tables to be freed
 */
struct npu_pt {
	__le64 *entries;
	dma_addr_t dma;
	struct npu_pt **sub;
	unsigned int used;
	struct list_head node;
};

static unsigned int npu_pt_index(u64 address, unsigned int level)
{
	return (address >> NPU_PT_SHIFT(level)) & (NPU_PT_ENTRIES - 1);
}

static struct npu_pt *npu_pt_alloc(struct npu_device *npu, unsigned int level)
{
	struct npu_pt *pt = kzalloc(sizeof(*pt), GFP_KERNEL_ACCOUNT);
	struct page *page;

	if (!pt)
		return NULL;

	if (level < NPU_PT_LEVELS - 1) {
		pt->sub = kcalloc(NPU_PT_ENTRIES, sizeof(*pt->sub), GFP_KERNEL_ACCOUNT);
		if (!pt->sub)
			goto err_free;
	}
	page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page)
		goto err_free_sub;
	pt->dma = dma_map_page(npu->drm.dev, page, 0, NPU_PAGE_SIZE, DMA_TO_DEVICE);
	if (dma_mapping_error(npu->drm.dev, pt->dma))
		goto err_free_page;
	pt->entries = page_address(page);

	return pt;

err_free_page:
	__free_page(page);
err_free_sub:
	kfree(pt->sub);
err_free:
	kfree(pt);
	return NULL;
}

static void npu_pt_free(struct npu_device *npu, struct npu_pt *pt)
{
	if (pt->dma != DMA_MAPPING_ERROR)
		dma_unmap_page(npu->drm.dev, pt->dma, NPU_PAGE_SIZE, DMA_TO_DEVICE);
	free_page((unsigned long)pt->entries);
	kfree(pt->sub);
	kfree(pt);
}

struct npu_pt *npu_pt_create(struct npu_device *npu)
{
	return npu_pt_alloc(npu, 0);
}

/* Frees a whole tree, of which the device knows nothing any more. */
void npu_pt_destroy(struct npu_device *npu, struct npu_pt *root)
{
	if (root->sub)
		for (unsigned int i = 0; i < NPU_PT_ENTRIES; i++)
			if (root->sub[i])
				npu_pt_destroy(npu, root->sub[i]);
	npu_pt_free(npu, root);
}

/* Ends the DMA mapping of a whole tree, but leaves it to be freed later. */
void npu_pt_unmap_dma(struct npu_device *npu, struct npu_pt *pt)
{
	if (pt->sub)
		for (unsigned int i = 0; i < NPU_PT_ENTRIES; i++)
			if (pt->sub[i])
				npu_pt_unmap_dma(npu, pt->sub[i]);
	dma_unmap_page(npu->drm.dev, pt->dma, NPU_PAGE_SIZE, DMA_TO_DEVICE);
	pt->dma = DMA_MAPPING_ERROR;
}

u64 npu_pt_address(const struct npu_pt *pt)
{
	return pt->dma;
}

/* Entries are whole words to the device as well. */
static void npu_pt_set(struct npu_pt *pt, unsigned int i, u64 entry)
{
	WRITE_ONCE(pt->entries[i], cpu_to_le64(entry));
}

static struct npu_pt *npu_pt_leaf(struct npu_pt *root, u64 address)
{
	struct npu_pt *pt = root;

	for (unsigned int level = 0; pt && level < NPU_PT_LEVELS - 1; level++)
		pt = pt->sub[npu_pt_index(address, level)];

	return pt;
}

/* Start of the next leaf table's range, or the end. */
static u64 npu_pt_next(u64 address, u64 end)
{
	u64 span = 1ull << NPU_PT_SHIFT(NPU_PT_LEVELS - 2);

	return min(round_down(address, span) + span, end);
}

static int npu_pt_make_leaf(struct npu_device *npu, struct npu_pt *root, u64 address)
{
	struct npu_pt *pt = root;

	for (unsigned int level = 0; level < NPU_PT_LEVELS - 1; level++) {
		unsigned int i = npu_pt_index(address, level);

		if (!pt->sub[i]) {
			struct npu_pt *sub = npu_pt_alloc(npu, level + 1);

			if (!sub)
				return -ENOMEM;
			/* The device must find it zeroed. */
			dma_wmb();
			pt->sub[i] = sub;
			pt->used++;
			npu_pt_set(pt, i, sub->dma | NPU_PTE_VALID);
		}
		pt = pt->sub[i];
	}

	return 0;
}

/*
 * Makes all tables of a range, so that npu_pt_map() can't fail. After an error
 * the caller prunes the range.
 */
int npu_pt_prepare(struct npu_device *npu, struct npu_pt *root, u64 start, u64 size)
{
	u64 end = start + size;

	for (u64 address = start; address < end; address = npu_pt_next(address, end)) {
		int ret = npu_pt_make_leaf(npu, root, address);

		if (ret)
			return ret;
		cond_resched();
	}

	return 0;
}

/* Maps the pages of @sgt into a prepared range. Nothing there was valid. */
void npu_pt_map(struct npu_pt *root, u64 start, u64 size, struct sg_table *sgt, bool write)
{
	u64 flags = NPU_PTE_VALID | (write ? NPU_PTE_WRITE : 0);
	u64 address = start, end = start + size;
	struct sg_dma_page_iter iter;
	struct npu_pt *leaf = NULL;

	/* What the CPU has put into the pages, zeroes at least, comes first. */
	dma_wmb();
	for_each_sgtable_dma_page(sgt, &iter, 0) {
		dma_addr_t dma = sg_page_iter_dma_address(&iter);

		for (u64 i = 0; i < PAGE_SIZE && address < end; i += NPU_PAGE_SIZE) {
			unsigned int index = npu_pt_index(address, NPU_PT_LEVELS - 1);

			if (!leaf || !index) {
				leaf = npu_pt_leaf(root, address);
				cond_resched();
			}
			npu_pt_set(leaf, index, (dma + i) | flags);
			leaf->used++;
			address += NPU_PAGE_SIZE;
		}
	}
}

/* Everything in the range is valid. */
void npu_pt_unmap(struct npu_pt *root, u64 start, u64 size)
{
	u64 end = start + size, next;

	for (u64 address = start; address < end; address = next) {
		struct npu_pt *leaf = npu_pt_leaf(root, address);

		next = npu_pt_next(address, end);
		leaf->used -= (next - address) / NPU_PAGE_SIZE;
		for (u64 page = address; page < next; page += NPU_PAGE_SIZE)
			npu_pt_set(leaf, npu_pt_index(page, NPU_PT_LEVELS - 1), 0);
		cond_resched();
	}
}

static bool npu_pt_prune_one(struct npu_pt *pt, unsigned int level, u64 address,
			     struct list_head *unused)
{
	unsigned int i = npu_pt_index(address, level);
	struct npu_pt *sub;

	if (!pt->sub)
		return !pt->used;

	sub = pt->sub[i];
	if (sub && npu_pt_prune_one(sub, level + 1, address, unused)) {
		npu_pt_set(pt, i, 0);
		pt->sub[i] = NULL;
		pt->used--;
		list_add(&sub->node, unused);
	}

	return !pt->used;
}

/*
 * Takes tables without entries out of the tree. The caller frees them once the
 * device has forgotten them. The top table stays.
 */
void npu_pt_prune(struct npu_pt *root, u64 start, u64 size, struct list_head *unused)
{
	u64 end = start + size;

	for (u64 address = start; address < end; address = npu_pt_next(address, end))
		npu_pt_prune_one(root, 0, address, unused);
}

void npu_pt_free_list(struct npu_device *npu, struct list_head *unused)
{
	struct npu_pt *pt, *tmp;

	list_for_each_entry_safe(pt, tmp, unused, node)
		npu_pt_free(npu, pt);
	INIT_LIST_HEAD(unused);
}

/*
 * Makes the device forget translations of @asid, and waits until it uses none of
 * them. If it won't, it is reset: afterwards it has none, or can't reach memory.
 */
void npu_mmu_invalidate(struct npu_device *npu, unsigned int asid)
{
	ktime_t start = ktime_get();
	unsigned int resets;
	u32 word, ack;
	int ret;

	guard(mutex)(&npu->mmu_lock);
	if (npu_wedged(npu) || npu->asleep)
		return;

	resets = READ_ONCE(npu->resets);
	word = FIELD_PREP(NPU_MMU_SEQ, ++npu->mmu_seq) | FIELD_PREP(NPU_MMU_ASID, asid);
	/* writel() orders the changes of the tables before the request. */
	npu_write(npu, NPU_REG_MMU_INVALIDATE, word);
	ret = readl_poll_timeout(npu->regs + NPU_REG_MMU_ACK, ack, ack == word,
				 NPU_INVALIDATE_POLL_US, NPU_INVALIDATE_TIMEOUT_US);
	trace_npu_invalidate(asid, ktime_us_delta(ktime_get(), start));
	if (!ret || READ_ONCE(npu->resets) != resets)
		return;

	drm_err(&npu->drm, "invalidation of ASID %u is not acknowledged\n", asid);
	npu_reset_request(npu, resets);
}
