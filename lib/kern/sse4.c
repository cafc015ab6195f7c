// SPDX-License-Identifier: MIT
/* The sse4 level: nothing of its own yet. */
#include "level.h"

void npu_kern_fill_sse4(struct npu_kern *k, bool nt)
{
	(void)k;
	(void)nt;
}
