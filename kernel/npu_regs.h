/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Registers, rings, completion slots and page tables of the NPU front end.
 *
 * Shared by the driver and by the device model, so: <linux/types.h> only.
 * Documentation/device.rst says how these work together.
 */
#ifndef _NPU_REGS_H_
#define _NPU_REGS_H_

#include <linux/types.h>

/* PCI identity (provisional), class 0x1200: processing accelerator. */
#define NPU_PCI_VENDOR			0x1234
#define NPU_PCI_DEVICE			0xa11e
#define NPU_PCI_CLASS			0x120000

/* BAR0: registers. BAR4: MSI-X table at 0, pending bits at 0x800. */
#define NPU_BAR_REGS			0
#define NPU_BAR_REGS_SIZE		0x1000
#define NPU_BAR_MSIX			4
#define NPU_BAR_MSIX_SIZE		0x1000
#define NPU_MSIX_TABLE			0x000
#define NPU_MSIX_PBA			0x800
#define NPU_IRQ_VECTORS			4

/* What a register reads when the device is gone. */
#define NPU_REG_GONE			0xffffffffu

/* Identification, read-only. */
#define NPU_REG_ID			0x000
#define   NPU_ID_MAGIC			0x3155504eu	/* "NPU1" */
#define NPU_REG_VERSION			0x004	/* of this interface */
#define   NPU_VERSION_MAJOR		0xffff0000u
#define   NPU_VERSION_MINOR		0x0000ffffu
#define   NPU_REGS_MAJOR		1
#define   NPU_REGS_MINOR		0
#define NPU_REG_ISA			0x008	/* of the streams (npu_isa.h), as VERSION */
#define NPU_REG_CAPS			0x00c	/* DRM_NPU_CAP_* */
#define NPU_REG_RINGS			0x010	/* bit n: ring n is present */
#define NPU_REG_ASIDS			0x014	/* address spaces: ASID 0..n-1, n <= 0xffff */
#define NPU_REG_ADDRESS_BITS		0x018	/* width of a device virtual address */
#define NPU_REG_STREAM_MAX		0x01c	/* bytes of a stream */
#define NPU_REG_RING_MAX		0x020	/* entries of a ring, a power of two */
#define NPU_REG_CLOCK_LO		0x028	/* engine clock, Hz */
#define NPU_REG_CLOCK_HI		0x02c
#define NPU_REG_TIME_LO			0x030	/* device time, ns; reading LO latches HI */
#define NPU_REG_TIME_HI			0x034

/* Full reset: write a number other than 0, wait until ACK reads it. */
#define NPU_REG_RESET			0x040
#define NPU_REG_RESET_ACK		0x044
#define NPU_REG_STATUS			0x048
#define   NPU_DEVICE_READY		0x1u	/* out of reset */
#define   NPU_DEVICE_BUSY		0x2u	/* a ring is executing a job */

/* Interrupts: one bit a source. */
#define NPU_REG_IRQ_STATUS		0x050	/* write 1 to clear */
#define NPU_REG_IRQ_ENABLE		0x054
#define   NPU_IRQ_RING(n)		(1u << (n))
#define   NPU_IRQ_FAULT			0x100u
#define   NPU_IRQ_ALL			0x107u
#define NPU_REG_IRQ_VECTOR		0x058	/* MSI-X vector of each source */
#define   NPU_IRQ_VECTOR_RING(n)	(0xfu << (4 * (n)))
#define   NPU_IRQ_VECTOR_FAULT		(0xfu << 28)

/*
 * MMU: write SEQ and ASID; all translations of the ASID begun before are over
 * and forgotten once ACK reads the same word. One at a time.
 */
#define NPU_REG_MMU_INVALIDATE		0x060
#define   NPU_MMU_SEQ			0xffff0000u
#define   NPU_MMU_ASID			0x0000ffffu
#define   NPU_MMU_ASID_ALL		0xffffu
#define NPU_REG_MMU_ACK			0x064

/* The first device fault since FAULT_STATUS was last cleared (write VALID). */
#define NPU_REG_FAULT_STATUS		0x080
#define   NPU_FAULT_VALID		0x00000001u
#define   NPU_FAULT_RING		0x000000f0u
#define   NPU_FAULT_KIND		0x0000ff00u
#define     NPU_FAULT_NONE		0
#define     NPU_FAULT_ENTRY		1	/* ring entry unreadable or malformed; ring stops */
#define     NPU_FAULT_SLOT		2	/* completion slot unwritable; ring stops */
#define     NPU_FAULT_STREAM		3	/* stream unreadable; the job ends with a fault */
#define     NPU_FAULT_TABLE		4	/* page table unreadable; the job ends so too */
#define     NPU_FAULT_DATA		5	/* page not accessible; the job ends so too */
#define     NPU_FAULT_TAIL		6	/* doorbell beyond the ring; ring stops */
#define     NPU_FAULT_INTERNAL		7	/* ring stops */
#define NPU_REG_FAULT_ASID		0x084
#define NPU_REG_FAULT_ADDRESS_LO	0x088	/* bus address */
#define NPU_REG_FAULT_ADDRESS_HI	0x08c

/* Rings: registers of ring n are at NPU_RING(n, register). */
#define NPU_RING_REGS			0x100
#define NPU_RING_STRIDE			0x040
#define NPU_RING(n, reg)		(NPU_RING_REGS + (n) * NPU_RING_STRIDE + (reg))
#define NPU_REG_RING_BASE_LO		0x00	/* bus address of the entries, 4 KiB aligned */
#define NPU_REG_RING_BASE_HI		0x04
#define NPU_REG_RING_SLOTS_LO		0x08	/* bus address of the completion slots, as BASE */
#define NPU_REG_RING_SLOTS_HI		0x0c
#define NPU_REG_RING_SIZE		0x10	/* entries, and slots: a power of two <= RING_MAX */
#define NPU_REG_RING_CONTROL		0x14
#define   NPU_RING_CONTROL_ENABLE	0x1u	/* the above are fixed while it is set */
#define NPU_REG_RING_TAIL		0x18	/* doorbell: entries ever queued, free-running */
#define NPU_REG_RING_HEAD		0x1c	/* read-only: entries ever finished */
#define NPU_REG_RING_STATUS		0x20	/* read-only */
#define   NPU_RING_STATUS_ENABLED	0x1u
#define   NPU_RING_STATUS_BUSY		0x2u	/* executing a job */
#define   NPU_RING_STATUS_STOPPED	0x4u	/* after a fault: runs nothing until reset */
#define NPU_REG_RING_RESET		0x24	/* as RESET, for this ring alone */
#define NPU_REG_RING_RESET_ACK		0x28

/**
 * struct npu_ring_entry - one job; written by the driver before the doorbell
 * @sequence: returned in the completion slot; never used twice on a ring
 * @stream: bus address of the stream, contiguous, 8-byte aligned
 * @stream_size: bytes
 * @asid: tag of the address space for the MMU's caches
 * @root: bus address of the top page table, 4 KiB aligned; 0: nothing is mapped
 * @record: device virtual address of the result record, 0: none
 * @reserved: 0
 */
struct npu_ring_entry {
	__le64 sequence;
	__le64 stream;
	__le32 stream_size;
	__le32 asid;
	__le64 root;
	__le64 record;
	__le64 reserved[3];
};

/**
 * struct npu_completion - slot i: what became of entry i; written by the device
 * @sequence: the entry's; written last, as one 64-bit store, everything else
 *	and the job's outputs and record being visible before
 * @status: NPU_STATUS_OK or NPU_STATUS_FAULT (npu_isa.h)
 * @rule: NPU_RULE_*, 0 if OK
 * @command: index of the failing command
 * @pad: 0
 * @fault_address: device virtual address, 0 if the rule is not about one
 * @cycles: as in the result record
 * @clock_start: device time when the job began, ns
 * @clock_end: when it ended
 * @reserved: 0
 */
struct npu_completion {
	__le64 sequence;
	__le32 status;
	__le32 rule;
	__le32 command;
	__le32 pad;
	__le64 fault_address;
	__le64 cycles;
	__le64 clock_start;
	__le64 clock_end;
	__le64 reserved;
};

#define NPU_RING_ENTRY_SIZE		64
#define NPU_COMPLETION_SIZE		64

/*
 * Page tables: 4 KiB of 512 little-endian 64-bit entries, three levels, indexed
 * by address bits 38:30, 29:21, 20:12. In tables of the upper two levels WRITE
 * is 0 and means nothing.
 */
#define NPU_PT_LEVELS			3
#define NPU_PT_BITS			9
#define NPU_PT_ENTRIES			512
#define NPU_PT_SHIFT(level)		(12 + NPU_PT_BITS * (2 - (level)))	/* level 0: top */
#define NPU_PTE_VALID			0x1ull
#define NPU_PTE_WRITE			0x2ull
#define NPU_PTE_RESERVED		0xffcull	/* 0, else the walk fails as unreadable */
#define NPU_PTE_ADDRESS			0xfffffffffffff000ull

#endif
