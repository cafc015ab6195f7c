/* SPDX-License-Identifier: MIT */
/* Streams under construction. */
#ifndef NPU_STREAM_H
#define NPU_STREAM_H

#include "bo.h"
#include "device.h"
#include "engine/engine.h"
#include "error.h"
#include "list.h"

struct npu_stream_bo {
	struct npu_bo *bo;
	uint32_t access;		/* NPU_ACCESS_* */
};

/* How far the fetch under construction has come. */
enum npu_stage {
	NPU_STAGE_NONE,
	NPU_STAGE_FETCHED,
	NPU_STAGE_MASKED,
	NPU_STAGE_LOOKED_UP,
	NPU_STAGE_CASTED,
	NPU_STAGE_RESIDUAL,
};

/* The fetch under construction: written into the stream by its sink. */
struct npu_pending_fetch {
	enum npu_stage stage;
	uint64_t serial;		/* of the one handle that may go on */
	struct npu_cmd_fetch cmd;
	struct npu_view view;
};

/*
 * struct npu_stream - a binary stream and what is known about it
 * @data, @size, @room: the stream, header included
 * @offsets: where each command begins
 * @raw: set by npu_stream_raw(): nothing is known about it
 * @error, @sentence: the first mistake
 * @bos: every BO in use, each held
 */
struct npu_stream {
	struct npu_list link;
	struct npu_device *dev;
	uint32_t ring;
	uint8_t *data;
	uint32_t size, room;
	uint32_t *offsets;
	uint32_t count, offset_room;
	bool raw;
	int error;
	char sentence[NPU_SENTENCE_MAX];
	struct npu_check check;
	struct npu_pending_fetch fetch;
	uint64_t serial;
	struct npu_stream_bo *bos;
	uint32_t bo_count, bo_room;
	char **warnings;
	uint32_t warning_count;
};

/* Operands by name, as npu_operands() names them: the BO that each must lie in. */
struct npu_operand_bo {
	const char *name;
	struct npu_bo *bo;
};

/* Keeps the first mistake; @fmt's sentence is led by the command's index. Returns it. */
int npu_stream_fail(struct npu_stream *stream, int err, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void npu_stream_warn(struct npu_stream *stream, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether a command can be appended now: NULL, forked, earlier mistakes, a fetch without a sink. */
int npu_stream_ready(struct npu_stream *stream, const char *what);

/*
 * Checks and appends a command. @bos names the BO of each operand, an entry without
 * name ends it; NULL: each operand may lie in any BO of the device.
 */
int npu_stream_push(struct npu_stream *stream, const struct npu_cmd *cmd,
		    const struct npu_operand_bo *bos);

/* Device address of @ref; a mistake is the stream's. */
int npu_stream_address(struct npu_stream *stream, const char *what, const char *name,
		       struct npu_ref ref, __u64 *address);

/* Frees the structure and no more. */
void npu_stream_free(struct npu_stream *stream);

/* "fetch", "preprocess", ...; "command" for an unknown opcode. */
const char *npu_op_name(uint32_t opcode);

/* What is wrong, in the command's numbers; falls back on the rule's own sentence. */
void npu_explain(uint32_t rule, const struct npu_cmd *cmd, const struct npu_check *check,
		 uint32_t ring, char *text, size_t size);

#endif
