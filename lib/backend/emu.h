/* SPDX-License-Identifier: MIT */
/*
 * The emulation: three ring threads run streams with the engine and behave as
 * driver and device together do.
 *
 * Locks: emu.start makes the start of threads one step and is taken before emu.lock, which holds
 * queues, jobs and timelines; emu_space.lock holds the mappings, emu_pool.lock the pool's
 * tasks. These three are never held together.
 */
#ifndef NPU_EMU_H
#define NPU_EMU_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend.h"
#include "engine/engine.h"

/* ---- address space ---- */

/*
 * One BO. @base is where the engine finds it: all of it in a row, or, scattered, page i at
 * base + slots[i] * EMU_SLOT with nothing mapped between.
 */
struct emu_mapping {
	uint64_t start, end;
	uint8_t *base;
	const uint32_t *slots;
	bool rdonly;
	atomic_bool live;
};

#define EMU_SLOT (2 * (size_t)NPU_PAGE_SIZE)

/* Never changes but for mappings that die; a bind makes a new one. */
struct emu_map {
	struct emu_map *retired;	/* next of those that a reader may still look at */
	size_t count;
	struct emu_mapping mappings[];	/* ascending */
};

/* A thread that translates: @seq is odd while it holds a translation. */
struct emu_reader {
	_Alignas(64) atomic_ulong seq;
	unsigned int depth;
	struct emu_reader *next;
};

struct emu_space {
	pthread_mutex_t lock;		/* of those who change it */
	_Atomic(struct emu_map *) map;
	struct emu_map *retired;
	unsigned int retired_count;
	struct emu_reader *readers;
};

int emu_space_init(struct emu_space *space);
void emu_space_free(struct emu_space *space);
/* Lets the calling thread translate; -ENOMEM. */
int emu_space_join(struct emu_space *space);
int emu_space_bind(struct emu_space *space, const struct emu_mapping *mapping);
/* On return no translation of it is left. */
void emu_space_unbind(struct emu_space *space, uint64_t start);
/* struct npu_memory's two, @ctx is the space. */
void *emu_translate(void *ctx, uint64_t addr, uint64_t *len, enum npu_access access,
		    uint32_t *rule);
void emu_put(void *ctx);

/* ---- threads that share the work of one command ---- */

struct emu_pool {
	pthread_mutex_t lock;
	pthread_cond_t work;		/* a task has indices left, or @stop */
	pthread_cond_t done;		/* a task has finished */
	struct npu_list tasks;
	pthread_t *threads;
	unsigned int count;
	bool stop;
	struct emu_space *space;
};

int emu_pool_init(struct emu_pool *pool, struct emu_space *space);
int emu_pool_start(struct emu_pool *pool, unsigned int threads);
void emu_pool_free(struct emu_pool *pool, bool forked);
/* struct npu_engine_job's parallel, @ctx is the pool. */
void emu_parallel(void *ctx, unsigned int n, void (*fn)(void *arg, unsigned int i), void *arg);

/* ---- queues ---- */

/* Why a running job is told to stop. */
enum emu_stop { EMU_RUN, EMU_STOP_CLOSE, EMU_STOP_TIMEOUT };

struct emu_point {
	struct npu_list link;
	uint64_t point;
	bool done;
};

struct emu_watch {
	struct emu_watch *next;
	uint64_t point;
	int fd;
};

struct emu_timeline {
	uint64_t signalled;
	struct npu_list points;		/* submitted, not signalled; own timelines only */
	struct emu_watch *watches;
	pthread_cond_t cond;
};

struct emu_job {
	struct npu_list link;
	uint64_t seq;
	uint64_t point;
	uint64_t record;
	const struct npu_fence *waits;
	uint32_t wait_count;
	struct emu_timeline **signals;
	struct emu_point **points;
	uint32_t signal_count;
	uint32_t size;
	uint64_t stream[];
};

struct emu_queue {
	struct npu_list link;
	struct emu_timeline *timeline;
	uint32_t ring;
	uint32_t priority;
	uint32_t slot_count;
	int *status;			/* of finished jobs, by point % slot_count */
	struct npu_list jobs;		/* unstarted */
	struct emu_job *running;
	bool ended;			/* being destroyed */
	struct npu_queue_state state;
};

struct emu_ring {
	struct emu *emu;
	uint32_t number;
	pthread_t thread;
	bool started;
	bool busy;
	pthread_cond_t wake;
	struct npu_list queues;
	uint64_t deadline;		/* of the running job */
	atomic_uint stop;		/* enum emu_stop, the engine's cancel flag */
};

struct emu {
	struct npu_device *dev;
	pthread_mutex_t start;
	pthread_mutex_t lock;
	struct emu_ring rings[NPU_RING_COUNT];
	bool closing;
	uint64_t seq;
	uint32_t waiting;		/* jobs that have waits */
	pthread_t watchdog;
	bool watchdog_started, watchdog_idle;
	pthread_cond_t watchdog_wake;
	bool pool_started;
	uint64_t timeout_ns;
	struct emu_space space;
	struct emu_pool pool;
};

static inline struct emu *emu_of(const struct npu_device *dev)
{
	return dev->priv;
}

uint64_t emu_now(void);
int emu_cond_init(pthread_cond_t *cond);
/* Starts @thread with all signals blocked: they are the application's. */
int emu_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg);

/* emu_ring.c */
int emu_ring_start(struct emu_ring *ring);
void emu_rings_stop(struct emu *emu);
/* With emu->lock held. */
void emu_wake_rings(struct emu *emu);
/* Ends all unstarted jobs of a queue whose running job has ended. */
void emu_queue_flush(struct emu *emu, struct emu_queue *queue, int status);

/* emu_timeline.c; the first three want emu->lock held. */
void emu_timeline_signal(struct emu *emu, struct emu_timeline *timeline, uint64_t point);
void emu_point_done(struct emu *emu, struct emu_timeline *timeline, struct emu_point *point);
bool emu_job_ready(const struct emu_job *job);
int emu_timeline_create(struct npu_timeline *timeline);
void emu_timeline_free(struct npu_timeline *timeline);
int emu_timeline_query(struct npu_timeline *timeline, uint64_t *point);
int emu_timeline_wait(struct npu_timeline *timeline, uint64_t point, int64_t deadline);
int emu_timeline_fd(struct npu_timeline *timeline, uint64_t point, int *fd);

/* emu_queue.c */
int emu_queue_create(struct npu_queue *queue);
void emu_queue_end(struct npu_queue *queue);
void emu_queue_free(struct npu_queue *queue);
int emu_queue_state(struct npu_queue *queue, struct npu_queue_state *state);
int emu_job_status(struct npu_queue *queue, uint64_t point);
int emu_submit(const struct npu_submission *submission);
void emu_job_free(struct emu_job *job);

/* emu_bo.c */
int emu_bo_create(struct npu_bo *bo);
int emu_bo_import(struct npu_bo *bo, int fd);
bool emu_bo_same(const struct npu_bo *known, const struct npu_bo *import);
int emu_bo_bind(struct npu_bo *bo);
void emu_bo_free(struct npu_bo *bo, bool bound);
int emu_bo_map(struct npu_bo *bo, void **map);
int emu_bo_export(struct npu_bo *bo, int *fd);

#endif
