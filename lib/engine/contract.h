/* SPDX-License-Identifier: MIT */
#ifndef NPU_ENGINE_CONTRACT_H
#define NPU_ENGINE_CONTRACT_H

#include "adapter.h"

/* The CONTRACT sink: the whole product of stream @s and the weights. */
void npu_exec_contract(const struct npu_stream_source *s, const struct npu_operand *weight,
		       const struct npu_operand *dst);

#endif
