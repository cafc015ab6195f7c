/* SPDX-License-Identifier: MIT */
/*
 * What the files of the executor share: the state of a running job, memory
 * access, and work split over threads.
 */
#ifndef NPU_ENGINE_EXEC_H
#define NPU_ENGINE_EXEC_H

#include "check.h"
#include "kern/kern.h"

#define NPU_MAX_WORKERS 64

/* npu_exec.stop */
enum { NPU_STOP_NONE, NPU_STOP_CANCELLED, NPU_STOP_FAULT };

struct npu_scratch {
	void *buf;
	size_t size;
};

/* One job. The caches are filled before they are read, as the checker sees to: never cleared. */
struct npu_exec {
	const struct npu_engine_job *job;
	const struct npu_kern *kern;
	struct npu_result *result;
	struct npu_check check;
	atomic_uint stop;
	uint32_t rule;				/* written by the one who set stop */
	uint64_t fault_address;
	struct npu_scratch scratch[NPU_MAX_WORKERS];
	void *lut[NPU_LUT_SLOTS];
	uint32_t constant[NPU_CONST_SLOTS];
	int32_t fmap[NPU_FMAP_BLOCKS * NPU_BLOCK_SIZE];
	uint8_t emax[NPU_EMAX_BLOCKS];
	uint8_t exponents[NPU_EMAX_BLOCKS * NPU_BLOCK_SIZE];
};

/* Stops the job with a fault; the first one counts. Any thread. */
void npu_exec_fault(struct npu_exec *x, uint32_t rule, uint64_t address);

/* Whether the job is stopped; looks at the cancel flag. Any thread, after each small piece. */
bool npu_exec_stopped(struct npu_exec *x);

/* At least @size bytes for @worker until its next call; NULL after a fault: no memory. */
void *npu_exec_scratch(struct npu_exec *x, unsigned int worker, size_t size);

typedef void npu_tile_fn(struct npu_exec *x, unsigned int worker, uint64_t tile, void *ctx);

/* Calls @fn for tiles 0 to @n - 1 on the job's threads, until the job is stopped. */
void npu_exec_tiles(struct npu_exec *x, uint64_t n, npu_tile_fn *fn, void *ctx);

/*
 * A view of one operand through a translation that is kept until another one
 * is needed. Its owner closes it after each tile, so that unmapping waits little.
 */
struct npu_window {
	struct npu_exec *x;
	uint64_t start;			/* of the operand */
	uint64_t end;
	uint64_t want;			/* bytes in ascending order; 0: anywhere */
	enum npu_access access;
	bool scattered;			/* what is around an address is not contiguous */
	uint8_t *ptr;			/* NULL: nothing translated */
	uint64_t addr;
	uint64_t len;
};

/*
 * @want: bytes that will be used in ascending order, 0 where any may be. A host
 * that walks page tables pays for each page that a translation is asked for.
 */
void npu_window_open(struct npu_window *w, struct npu_exec *x, const struct npu_operand *op,
		     uint64_t want);

/* Pointer to @addr, and how many bytes (>= 1) are contiguous from there; NULL after a fault. */
uint8_t *npu_window_at(struct npu_window *w, uint64_t addr, uint64_t *len);
bool npu_window_read(struct npu_window *w, uint64_t addr, void *buf, uint64_t len);
bool npu_window_write(struct npu_window *w, uint64_t addr, const void *buf, uint64_t len);
bool npu_window_zero(struct npu_window *w, uint64_t addr, uint64_t len);
void npu_window_close(struct npu_window *w);

/* Walks an operand's interval; false after a fault or a cancel. */
bool npu_exec_mapped(struct npu_exec *x, const struct npu_operand *op);

/* The operand of that name; NULL where the command has none. */
const struct npu_operand *npu_operand_find(const struct npu_operand *op, unsigned int n,
					   const char *name);

/* The commands. Rules hold, operands were mapped when it started. */
void npu_exec_fetch(struct npu_exec *x, const struct npu_cmd_fetch *cmd,
		    const struct npu_operand *op, unsigned int n);
void npu_exec_preprocess(struct npu_exec *x, const struct npu_cmd_preprocess *cmd,
			 const struct npu_operand *op, unsigned int n);
void npu_exec_fmap_read(struct npu_exec *x, const struct npu_cmd_fmap_read *cmd,
			const struct npu_operand *op, unsigned int n);

static inline uint64_t npu_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t npu_add_sat(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

#endif
