/* SPDX-License-Identifier: MIT */
/* What preprocess, fetch and replay share: files, tiles through a queue, the result. */
#ifndef NPU_TOOLS_RUN_H
#define NPU_TOOLS_RUN_H

#include <stdio.h>

#include "cmd.h"

/* Input and output bytes of a tile, unless --tile says otherwise. */
#define TILE_BYTES	(2u << 20)
/* Tensors that have to lie in one BO as a whole. */
#define WHOLE_MAX	(1ull << 32)

/* ---- files.c: tensors in and out ---- */

struct input {
	struct tensor_path path;
	struct tensor_file *file;
	struct tensor t;
};

/* Opens @arg and binds its type; refuses a type that only tables have. */
int input_open(struct input *in, const char *arg, enum tensor_format format,
	       const struct tensor_opts *opts);
/* The same for entries of tables, where u8, u16 and u32 are types. */
int input_open_table(struct input *in, const char *arg);
/* Whether the file leaves the element type, or all but its width, to the command line. */
int input_type_is_open(const char *arg, bool *open);
void input_close(struct input *in);
int input_read_whole(const struct input *in, void *dst);

/* A file that is being written; .writer NULL: none was asked for. */
struct sink {
	struct tensor_writer *writer;
};

struct shape {
	unsigned int ndim;
	uint64_t dim[TENSOR_MAX_DIMS];
};

/* @arg NULL: no file. @name: of the tensor where @arg names none. */
int sink_create(struct sink *sink, const char *arg, enum tensor_format format, uint32_t type,
		const struct shape *shape, const char *name);
int sink_write(struct sink *sink, const void *data, uint64_t bytes);
int sink_commit(struct sink *sink);
void sink_abort(struct sink *sink);

/* ---- stats.c: what a run did ---- */

struct stats {
	const struct npu_device_info *info;
	uint64_t elements_in;
	uint64_t elements_out;
	uint64_t cycles;
	uint64_t saturated;
	uint64_t nonfinite_blocks;
	uint64_t first_nonfinite_block;		/* in the whole tensor */
	int64_t begun;				/* nanoseconds */
	bool has_fetch;
	uint64_t fetches;			/* commands so far */
	struct npu_fetch_info fetch;		/* of the first; time steps and cycles of all */
	bool has_scale;
	float scale;				/* of INT8_CONST */
};

void stats_begin(struct stats *stats, const struct npu_device_info *info);
/* @first_block: index of the job's first block in the tensor. */
void stats_add(struct stats *stats, const struct npu_result *result, uint64_t first_block);
/* The sequencer's figures of each FETCH in @stream. */
void stats_add_fetch(struct stats *stats, struct npu_stream *stream);
void stats_print(const struct stats *stats, const struct options *opts);

/* ---- save.c: --save-stream ---- */

struct save;
struct slot;

int save_open(struct save **save, const char *path);
/* Adds the job of @slot, that ran on @ring and ended with @result. */
int save_job(struct save *save, uint32_t ring, struct slot *slot,
	     const struct npu_result *result);
/* Writes the file. Both free @save, which may be NULL. */
int save_commit(struct save *save);
void save_abort(struct save *save);

/* ---- pipeline.c: tiles through a queue ---- */

#define SLOT_BOS	6
#define PIPELINE_SLOTS	3

/*
 * struct slot_bo - one operand of a tile
 * @bo, @map: NULL: not in use
 * @used: bytes that belong to the tile
 * @output: the job writes it
 * @shared: of all tiles, filled once: tables and weights
 */
struct slot_bo {
	struct npu_bo *bo;
	void *map;
	uint64_t used;
	bool output;
	bool shared;
};

/* A tile in flight: while one is read, another is converted, and a third written. */
struct slot {
	struct npu_stream *stream;
	struct slot_bo bos[SLOT_BOS];
	struct npu_fence fence;
	uint64_t tile;
};

/*
 * struct pipeline - a run
 * @ctx: of the calls below
 * @tiles: how many there are
 * @bytes_per_tile: of input, for the progress bar
 * @save_stream: file for the jobs, or NULL
 * @stats: takes the sequencer's figures; the results are left to @drain
 * @check_only: builds one tile and looks at it, runs nothing
 * @setup: makes a slot's BOs
 * @build: appends the commands of @tile to slot->stream
 * @fill: reads the input of @tile into the slot's BOs
 * @drain: writes the output of @tile; called in order, from another thread than @fill
 */
struct pipeline {
	struct npu_device *dev;
	uint32_t ring;
	void *ctx;
	uint64_t tiles;
	uint64_t bytes_per_tile;
	const char *save_stream;
	struct stats *stats;
	bool check_only;
	int (*setup)(void *ctx, struct slot *slot);
	int (*build)(void *ctx, struct slot *slot, uint64_t tile);
	int (*fill)(void *ctx, struct slot *slot, uint64_t tile);
	int (*drain)(void *ctx, struct slot *slot, uint64_t tile,
		     const struct npu_result *result);
};

int pipeline_run(struct pipeline *pipe);

/* A BO and its mapping in @slot->bos[@i]. 0 bytes: none. */
int slot_bo_create(struct npu_device *dev, struct slot *slot, unsigned int i, uint64_t bytes,
		   bool output);
/* A BO that all slots share: @from's i-th. */
void slot_bo_share(struct slot *slot, unsigned int i, const struct slot_bo *from);
static inline struct npu_ref slot_ref(const struct slot *slot, unsigned int i)
{
	return npu_at(slot->bos[i].bo, 0);
}

/* Waits for a job and puts a fault of it into words. */
int job_wait(struct npu_fence fence, struct npu_result *result);

#endif
