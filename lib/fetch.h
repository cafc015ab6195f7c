/* SPDX-License-Identifier: MIT */
/* From a finished chain of stages to FETCH commands. */
#ifndef NPU_FETCH_H
#define NPU_FETCH_H

#include "npu.h"

/* Both end the stream's fetch under construction. */
int npu_fetch_commit(struct npu_stream *stream, struct npu_ref dst, bool flits);
int npu_fetch_contract(struct npu_stream *stream, const struct npu_weights *w,
		       struct npu_ref dst);

#endif
