/* SPDX-License-Identifier: MIT */
/*
 * The device model: Documentation/device.rst as a program.
 *
 * Threads: one serves the vfio-user client (and so the registers), one runs
 * each ring, one does what the device does by itself later (invalidations,
 * resets, injected late effects). Everything that the guest or the client
 * supplies is hostile: it is copied once and then checked.
 *
 * Locks, in this order:
 *  - vdev.lock protects registers, ring state, interrupts and fault rules;
 *  - the gate of struct dma protects the table of mappings: it is entered for
 *    each access to guest memory and closed to change what is accessible.
 * Nobody takes vdev.lock inside of the gate, or closes the gate under vdev.lock.
 */
#ifndef VDEV_H
#define VDEV_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../../kernel/npu_regs.h"
#include "../../lib/engine/engine.h"
#include "dma.h"
#include "fault.h"

#define VDEV_ASIDS_DEFAULT	256
#define VDEV_RING_MAX		1024
#define VDEV_CLOCK_HZ		1000000000ull
#define VDEV_CONFIG_SIZE	4096
#define VDEV_TLB_ENTRIES	1024
#define VDEV_MAX_LATER		64

struct vdev_options {
	bool msi;		/* one MSI vector, no MSI-X */
	bool keep_d3;		/* registers survive D3hot */
	unsigned int threads;	/* of the engine, per ring */
	unsigned int asids;
	uint64_t seed;
	FILE *log;		/* NULL: none */
};

/* What a ring's cancel flag holds; the engine stops at any but NONE. */
enum vdev_cancel { CANCEL_NONE, CANCEL_RESET, CANCEL_QUIT };

/*
 * @key is tag ^ value: a torn pair never matches, so the ring's helper threads
 * need no lock here. The tag 0 is page 0 of ASID 0, which is never mapped.
 */
struct tlb_entry {
	_Atomic uint64_t key;
	_Atomic uint64_t value;
};

struct vdev;

/* A write that a broken device does long after it should. */
struct late_write {
	bool armed;
	uint32_t ms;
	uint32_t times;
	uint64_t slot;		/* bus addresses; 0: none */
	uint64_t record;
	uint64_t page;		/* the last output page that was translated */
	struct npu_completion completion;
};

struct ring {
	struct vdev *vdev;
	unsigned int index;
	pthread_t thread;
	struct pool *pool;
	void *stream;			/* NPU_STREAM_MAX bytes, of the ring's thread */
	atomic_uint cancel;
	struct tlb_entry *tlb;

	/* under vdev.lock */
	uint64_t base;
	uint64_t slots;
	uint32_t size;
	uint32_t head;
	uint32_t tail;
	uint32_t reset;
	uint32_t reset_ack;
	bool reset_pending;
	bool enabled;
	bool stopped;
	bool busy;			/* the thread may access memory */
	struct late_write late;
};

/* Something that happens at @due, @times times, @interval ns apart. */
struct later {
	uint64_t due;
	uint64_t interval;
	uint32_t times;
	uint32_t irq;			/* event that sends a message, or 0: */
	struct late_write write;
};

enum vdev_irq_index { IRQ_INTX, IRQ_MSI, IRQ_MSIX, IRQ_ERR, IRQ_REQ, IRQ_INDICES };

struct vdev_stats {
	uint64_t jobs[NPU_RING_COUNT];
	uint64_t faulted;
	uint64_t cancelled;
	uint64_t device_faults;
	uint64_t irqs;
	uint64_t irqs_lost;
	uint64_t ring_resets;
	uint64_t resets;
	uint64_t function_resets;
	uint64_t invalidations;
	uint64_t late_writes;		/* tried */
	uint64_t late_landed;		/* reached guest memory */
};

struct vdev {
	struct vdev_options opt;
	struct dma dma;
	pthread_mutex_t lock;
	pthread_cond_t cond;		/* anything changed */
	pthread_t maintenance;
	struct ring ring[NPU_RING_COUNT];

	/* under lock */
	bool quit;
	bool stopping;			/* a function reset waits for the rings */
	bool gone;			/* fell off the bus */
	bool in_d3;
	bool bus_master;
	bool memory_enabled;
	bool reset_pending;
	uint32_t reset;
	uint32_t reset_ack;
	uint32_t irq_status;
	uint32_t irq_enable;
	uint32_t irq_vector;
	uint32_t mmu_request;
	uint32_t mmu_ack;
	bool mmu_pending;
	uint32_t fault_status;
	uint32_t fault_asid;
	uint64_t fault_address;
	uint32_t time_hi;
	int irq_fd[IRQ_INDICES][NPU_IRQ_VECTORS];
	struct later later[VDEV_MAX_LATER];
	unsigned int later_count;
	bool late_busy;			/* one of them is writing to memory */
	int client;			/* socket being served, -1: none */
	struct faults faults;
	struct vdev_stats stats;

	/* device time: runs at clock_percent of the host's; atomic for the engine */
	_Atomic uint64_t clock_base;
	_Atomic uint64_t clock_offset;
	_Atomic uint32_t clock_percent;

	/* of the serving thread */
	uint8_t config[VDEV_CONFIG_SIZE];
	uint8_t config_mask[VDEV_CONFIG_SIZE];
	uint8_t msix[NPU_BAR_MSIX_SIZE];
};

/* device.c: life, time, function reset */
struct vdev *vdev_new(const struct vdev_options *opt);
void vdev_free(struct vdev *v);
uint64_t vdev_host_ns(void);
uint64_t vdev_clock(void *vdev);
void vdev_clock_rate(struct vdev *v, uint32_t percent);
void vdev_wait_until(struct vdev *v, uint64_t host_ns);
void vdev_function_reset(struct vdev *v);
void vdev_update_dma(struct vdev *v);
void vdev_log(struct vdev *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* regs.c: BAR0; the lock is not held */
uint32_t regs_read(struct vdev *v, uint32_t offset);
void regs_write(struct vdev *v, uint32_t offset, uint32_t value);
/* under lock: the device reports a failure of what the driver has set up */
void regs_fault(struct vdev *v, unsigned int ring, uint32_t kind, uint32_t asid, uint64_t address);

/* irq.c; under lock but for irq_set() */
void irq_init(struct vdev *v);
void irq_raise(struct vdev *v, uint32_t event, bool send);
void irq_send(struct vdev *v, uint32_t event);
void irq_clear_index(struct vdev *v, unsigned int index);
unsigned int irq_count(const struct vdev *v, unsigned int index);
int irq_set(struct vdev *v, const void *msg, size_t size, int *fds, unsigned int nfds);

/* config.c: PCI configuration space; the lock is not held */
void config_init(struct vdev *v);
void config_reset(struct vdev *v);
void config_write(struct vdev *v, uint32_t offset, const uint8_t *data, uint32_t size);

/* mmu.c */
struct mmu_job {
	struct ring *ring;
	uint64_t root;
	uint32_t asid;
	bool corrupt;			/* injected: the next table read is garbage */
	atomic_bool stuck;		/* bus mastering was off */
	_Atomic uint32_t fault;		/* NPU_FAULT_*: first one */
	_Atomic uint64_t fault_address;
	_Atomic uint64_t last_write;	/* bus address of the last page translated to write */
};

void *mmu_translate(void *job, uint64_t addr, uint64_t *len, enum npu_access access,
		    uint32_t *rule);
void mmu_put(void *job);
/* Call with the gate closed. */
void mmu_forget(struct vdev *v, uint32_t asid);

/* ring.c */
int ring_start(struct vdev *v, unsigned int index);
void ring_stop(struct ring *r);
void ring_cancel(struct ring *r, enum vdev_cancel how);
/* job.c: how the entry at the ring's head ended */
enum job_end {
	JOB_DONE,		/* slot written */
	JOB_CANCELLED,
	JOB_STOPPED,		/* fault registers set; ring stopped */
};

struct job_report {
	enum job_end end;
	bool failed;		/* completed with a fault */
	bool drop_irq;
	uint32_t delay_irq_ms;
	uint32_t fault;		/* NPU_FAULT_*, 0: none */
	uint32_t asid;
	uint64_t fault_address;
};

void job_run(struct ring *r, uint64_t entry, uint64_t slot, struct job_report *report);
/* Waits; true once the ring is cancelled. */
bool ring_wait(struct ring *r, uint32_t ms);
#define RING_WAIT_FOREVER 0xffffffffu

/* maintenance.c */
void *maintenance_thread(void *vdev);
/* under lock */
void later_add(struct vdev *v, const struct later *l, uint32_t ms);
void maintenance_reset_regs(struct vdev *v);

/* pool.c: helper threads of a ring's engine */
struct pool *pool_new(unsigned int threads);
void pool_free(struct pool *p);
void pool_run(void *pool, unsigned int n, void (*fn)(void *arg, unsigned int i), void *arg);

/* server.c: vfio-user. Serves one client until it goes away or @stop is readable; closes @sock. */
void vdev_serve(struct vdev *v, int sock, int stop);

/* command.c: one line of the control language; the reply is one line without '\n' */
void vdev_command(struct vdev *v, const char *line, char *reply, size_t size);

/* control.c: serves command lines on a listening socket until @stop is readable */
struct control;
struct control *control_start(struct vdev *v, int listener, int stop);
void control_join(struct control *c);

#endif
