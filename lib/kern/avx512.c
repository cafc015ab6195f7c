// SPDX-License-Identifier: MIT
/* The avx512 level: nothing of its own yet. */
#include "level.h"

void npu_kern_fill_avx512(struct npu_kern *k, bool nt)
{
	(void)k;
	(void)nt;
}
