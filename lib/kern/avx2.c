// SPDX-License-Identifier: MIT
/* The avx2 level: nothing of its own yet. */
#include "level.h"

void npu_kern_fill_avx2(struct npu_kern *k, bool nt)
{
	(void)k;
	(void)nt;
}
