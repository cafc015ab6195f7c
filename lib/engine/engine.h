/* SPDX-License-Identifier: MIT */
/*
 * The engine: checks and executes command streams. Hosts are libnpu's
 * emulation and the device model; it knows neither BOs nor registers and
 * reaches memory through one callback only.
 */
#ifndef NPU_ENGINE_H
#define NPU_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drm/npu_isa.h"

enum npu_access {
	NPU_ACCESS_READ = 1,
	NPU_ACCESS_WRITE = 2,
};

/*
 * struct npu_memory - one address space
 * @translate: pointer to device address @addr for @access. @len is the bytes
 *	wanted, on return how many are contiguous there (1..wanted). NULL where the address is
 *	not mapped or not writable: *rule is then NPU_RULE_ADDRESS_UNMAPPED or
 *	NPU_RULE_ADDRESS_READONLY.
 * @put: ends one successful translate; the pointer is dead afterwards
 * Both are called from any thread that @parallel uses. No translation is held
 * for longer than a few milliseconds.
 */
struct npu_memory {
	void *(*translate)(void *ctx, uint64_t addr, uint64_t *len, enum npu_access access,
			   uint32_t *rule);
	void (*put)(void *ctx);
	void *ctx;
};

/*
 * struct npu_engine_job - one stream to run
 * @stream: 8-byte aligned copy that nobody changes meanwhile
 * @size: its bytes as submitted
 * @ring: NPU_RING_*
 * @cancel: polled at least every 10 ms; not 0 ends the job as CANCELLED
 * @clock: device clock in nanoseconds
 * @parallel: calls fn(arg, 0) .. fn(arg, n - 1) on up to @threads threads
 *	and returns when all have; NULL with @threads 1
 */
struct npu_engine_job {
	const void *stream;
	uint32_t size;
	uint32_t ring;
	const struct npu_memory *memory;
	const atomic_uint *cancel;
	uint64_t (*clock)(void *ctx);
	void *clock_ctx;
	void (*parallel)(void *ctx, unsigned int n, void (*fn)(void *arg, unsigned int i),
			 void *arg);
	void *parallel_ctx;
	unsigned int threads;
};

/* Runs a stream. Never fails: @result says how it ended (it is written in full). */
void npu_engine_run(const struct npu_engine_job *job, struct npu_result *result);

/* State that rules look at across the commands of a stream. */
struct npu_check {
	uint32_t ring;
	uint64_t const_set;			/* bit per constant slot */
	uint8_t lut_key[NPU_LUT_SLOTS];		/* NPU_TYPE_NONE: empty */
	uint8_t lut_entry[NPU_LUT_SLOTS];
	uint32_t fmap_blocks;
	uint32_t emax_blocks;
	uint8_t emax_sink;			/* NPU_SINK_* that fills the e_max cache, or 0 */
};

void npu_check_init(struct npu_check *check, uint32_t ring);

/*
 * Checks one command of the right size for everything but mapped memory and
 * notes what it loads. Returns the first rule it breaks, 0 if none; @check is then unchanged.
 */
uint32_t npu_check_command(struct npu_check *check, const struct npu_cmd *cmd);

/* Checks a stream's frame only: header, opcodes, sizes. *@command: index where it breaks. */
uint32_t npu_check_frame(const void *stream, uint32_t size, uint32_t *command);

/* Checks a whole stream, frame first. */
uint32_t npu_check_stream(const void *stream, uint32_t size, uint32_t ring, uint32_t *command);

/* Bytes of a command with this opcode, 0 if there is none. */
uint32_t npu_op_size(uint32_t opcode);

/* One memory operand of a command: bytes [address, address + size). */
struct npu_operand {
	const char *name;	/* "src", "dst", "weight", ... */
	uint64_t address;
	uint64_t size;		/* 0: touches nothing */
	enum npu_access access;
};

#define NPU_MAX_OPERANDS 6

/*
 * Fills in the memory operands of a command whose other rules hold: the whole
 * interval between the lowest and highest byte it may touch, masked slots
 * included. Returns their number, or sets *rule (ADDRESS_RANGE, OVERLAP) and returns 0.
 */
unsigned int npu_operands(const struct npu_cmd *cmd, struct npu_operand op[NPU_MAX_OPERANDS],
			  uint32_t *rule);

/* What the sequencer makes of a FETCH command (engines.md's terms). */
struct npu_fetch_plan {
	uint64_t elements;		/* of one operand's nest */
	uint64_t time_steps;		/* doubled when interleaved */
	uint64_t contiguous_run;
	uint32_t packet_size;
	uint32_t max_access_size;
	uint32_t read_size;		/* the largest legal one */
	uint32_t reads_per_packet;	/* with that */
	uint64_t cycles;		/* with the command's read_size, adapter latency left out */
	uint32_t latency;		/* of the adapter */
	uint8_t lookup_type;		/* after the lookup */
	uint8_t out_type;		/* of the stream that leaves the adapter */
	uint64_t packet_bytes;		/* of a packet as it leaves, without flit padding */
	uint64_t out_bytes;		/* MEMORY: with flit padding */
};

/* Returns the rule that keeps a plan from existing, else 0. @cmd->read_size 0: derive only. */
uint32_t npu_fetch_plan(const struct npu_cmd_fetch *cmd, uint32_t ring,
			struct npu_fetch_plan *plan);

/* What follows is libnpu's as well (npu.h), so that it leaves the shared object. */
#pragma GCC visibility push(default)

/* "packet-align"; NULL for an unknown rule. */
const char *npu_rule_name(uint32_t rule);
/* One sentence: what the rule asks for. */
const char *npu_rule_text(uint32_t rule);

/* Bits of an element in memory (I5: 8, I9: 16 as staged); 0 for an unknown type. */
unsigned int npu_type_bits(uint32_t type);
/* "f8e4m3"; NULL for an unknown type. */
const char *npu_type_name(uint32_t type);
/* NPU_TYPE_NONE for an unknown name. */
uint32_t npu_type_parse(const char *name);

#pragma GCC visibility pop

#endif
