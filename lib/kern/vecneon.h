/* SPDX-License-Identifier: MIT */
/* 16-byte vectors of AArch64 for loop.h. There is no store past the caches that would pay. */
#ifndef NPU_KERN_VECNEON_H
#define NPU_KERN_VECNEON_H

#include <arm_neon.h>
#include <string.h>

#include "level.h"

#define VEC uint8x16_t
#define VEC_BYTES 16u
#define vec_load(p) vld1q_u8((const void *)(p))
#define vec_store(p, v) vst1q_u8((void *)(p), (uint8x16_t)(v))
#define vec_stream(p, v) vec_store(p, v)
#define stream_fence() do { } while (0)

#include "buffer.h"
#include "loop.h"

#endif
