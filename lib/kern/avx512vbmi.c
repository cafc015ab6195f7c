// SPDX-License-Identifier: MIT
/* The avx512vbmi level: nothing of its own yet. */
#include "level.h"

void npu_kern_fill_avx512vbmi(struct npu_kern *k, bool nt)
{
	(void)k;
	(void)nt;
}
