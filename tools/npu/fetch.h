/* SPDX-License-Identifier: MIT */
/* npu fetch: a run's parts. */
#ifndef NPU_TOOLS_FETCH_H
#define NPU_TOOLS_FETCH_H

#include "run.h"

#define NO_FUNCTION	UINT32_MAX

/* What the command line asks for; 0, NULL and false: not asked for. */
struct fetch_args {
	bool sub;
	/* the nest */
	struct npu_loop loops[NPU_MAX_LOOPS];
	uint32_t loop_count;
	int64_t offset;
	uint64_t pad;
	uint32_t packet;
	uint32_t read_size;
	bool unpadded;
	bool flits;
	const char *interleave;
	/* the stages */
	bool has_mask;
	struct npu_mask mask;
	uint32_t lookup;		/* NPU_TYPE_* of a built-in table */
	const char *table;
	uint32_t table_function;	/* NPU_TABLE_* or NO_FUNCTION */
	uint32_t table_type;
	bool has_table_scale;
	double table_scale;
	uint32_t cast;
	bool has_zero_point;
	int32_t zero_point;
	/* the sink */
	const char *contract;
	uint32_t weight_type;
	bool has_weight_zero_point;
	int32_t weight_zero_point;
	uint32_t k_group;
};

/* ---- fetch_parse.c ---- */

/* "SIZE:STRIDE" */
int parse_loop(const char *text, struct npu_loop *loop);
/* "LOOP:rightmost|second|iterator=K:C0[,C1...][:left=N]" */
int parse_mask(const char *text, struct npu_mask *mask);

/* ---- fetch_table.c ---- */

/* The table of --table or --table-fn. */
struct fetch_table {
	uint32_t entry_type;
	void *data;			/* NULL: none was asked for */
	uint64_t bytes;
};

int fetch_table_make(const struct fetch_args *args, uint32_t key_type, struct fetch_table *table);
void fetch_table_free(struct fetch_table *table);

/* ---- fetch_stages.c ---- */

/* Adds mask, lookup, cast, zero point and sink. @weights NULL: to memory. */
void fetch_add(const struct fetch_args *args, struct npu_stream *stream,
	       const struct npu_view *view, const struct npu_weights *weights, struct npu_ref dst);
/* Type of the elements that leave the last stage; I5 and I9 are I4 and I8 here. */
uint32_t fetch_stream_type(const struct fetch_args *args, uint32_t type,
			   const struct fetch_table *table);

/* ---- fetch_nest.c ---- */

struct nest {
	struct npu_loop loops[NPU_MAX_LOOPS];
	uint32_t loop_count;
	uint32_t packet;
	uint64_t elements;		/* of one tensor */
	uint64_t time_steps;		/* of both, where two are interleaved */
	uint64_t front;			/* zero bytes before the tensor */
	uint64_t room;			/* bytes of its BO */
};

/* True if an option asks for the sequencer rather than for the tensor as it lies there. */
bool fetch_has_nest(const struct fetch_args *args);
/* Checks the nest against @t and --pad. */
int fetch_nest_plan(const struct fetch_args *args, const struct tensor *t, struct nest *nest);

/* ---- fetch_contract.c ---- */

struct contraction {
	struct input w;
	struct npu_weights weights;	/* without base */
	uint64_t groups;
	uint64_t m;
};

/* Opens WEIGHTS and finds the shapes. @elements: of the stream, @cols: IN's last axis. */
int fetch_contract_open(const struct fetch_args *args, const struct options *opts,
			const struct input *in, struct contraction *c);
/* @elements make c->m rows. */
int fetch_contract_rows(struct contraction *c, uint64_t elements);
/* Bytes of @rows rows of the output, UINT64_MAX if there are too many. */
uint64_t fetch_contract_bytes(const struct contraction *c, uint64_t rows);

/* ---- fetch_run.c ---- */

int fetch_run(const struct fetch_args *args, const struct options *opts, struct npu_device *dev,
	      const struct input *in, struct stats *stats);

#endif
