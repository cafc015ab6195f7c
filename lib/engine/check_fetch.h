/* SPDX-License-Identifier: MIT */
#ifndef NPU_ENGINE_CHECK_FETCH_H
#define NPU_ENGINE_CHECK_FETCH_H

#include "engine.h"

/* Checks a FETCH command whose size, ring and flags are right, but for its memory operands. */
uint32_t npu_check_fetch(const struct npu_check *check, const struct npu_cmd_fetch *cmd);

#endif
