// SPDX-License-Identifier: MIT
/* The avx512bf16 level: nothing of its own yet. */
#include "level.h"

void npu_kern_fill_avx512bf16(struct npu_kern *k, bool nt)
{
	(void)k;
	(void)nt;
}
