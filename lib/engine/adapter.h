/* SPDX-License-Identifier: MIT */
/*
 * The Fetch Adapter: the packet stream of one FETCH command, gathered, masked
 * and passed through the element stages in cache-sized pieces.
 */
#ifndef NPU_ENGINE_ADAPTER_H
#define NPU_ENGINE_ADAPTER_H

#include "nest.h"

/* Elements that are gathered before they pass through the stages; even. */
#define NPU_CHUNK 16384u
/* Elements of a piece that passes through several stages; even. */
#define NPU_STAGE 4096u
/* Bytes between the stages. */
#define NPU_STAGE_SCRATCH (2 * NPU_STAGE * 4)

enum npu_step_kind { NPU_STEP_COPY, NPU_STEP_CONV, NPU_STEP_LUT, NPU_STEP_ZPS4, NPU_STEP_ZPS8 };

/* One pass over the elements. */
struct npu_step {
	enum npu_step_kind kind;
	enum npu_kern_conv conv;
	enum npu_kern_key key;
	enum npu_kern_entry entry;
	const void *table;
	int zero_point;
	unsigned int in_bits;
	unsigned int out_bits;
};

#define NPU_MAX_STEPS 5

struct npu_chain {
	unsigned int count;		/* >= 1 */
	struct npu_step step[NPU_MAX_STEPS];
	unsigned int in_bits;
	unsigned int out_bits;
};

/* Lanes of a contraction. */
enum npu_lane { NPU_LANE_S8, NPU_LANE_S16, NPU_LANE_BF16, NPU_LANE_F32 };

/* The stages of @cmd, up to the type that leaves the adapter. */
void npu_chain_init(struct npu_chain *chain, const struct npu_exec *x,
		    const struct npu_cmd_fetch *cmd);

/* Continues the stages to a contraction's lanes. */
void npu_chain_to_lanes(struct npu_chain *chain, uint32_t type, enum npu_lane lane);

/* Of a weight in memory: zero point, lanes. */
void npu_chain_weight(struct npu_chain *chain, const struct npu_cmd_fetch *cmd,
		      enum npu_lane lane);

/*
 * @n elements from @src to @dst; @last is the table for the stores to @dst.
 * @tmp: NPU_STAGE_SCRATCH bytes, unused by a chain of one step.
 */
void npu_chain_run(const struct npu_chain *chain, const struct npu_kern *kern,
		   const struct npu_kern *last, void *dst, const void *src, uint64_t n, void *tmp);

/* The stream of a FETCH command. Never changed while its tiles run. */
struct npu_stream_source {
	struct npu_exec *x;
	const struct npu_cmd_fetch *cmd;
	struct npu_fetch_plan plan;
	struct npu_nest nest;
	struct npu_operand op[2];	/* src, src2 */
	bool interleave;
	uint64_t elements;		/* of the stream: both operands */
	uint64_t axis_steps;		/* time steps of one iteration of the mask's axis */
	uint64_t iterator_steps;
};

void npu_stream_source_init(struct npu_stream_source *s, struct npu_exec *x,
			    const struct npu_cmd_fetch *cmd, const struct npu_operand *op,
			    unsigned int n);

/* Gathers and masks stream elements [@from, @from + @n) into @buf. */
bool npu_stream_gather(const struct npu_stream_source *s, uint64_t from, uint64_t n, void *buf);

#endif
