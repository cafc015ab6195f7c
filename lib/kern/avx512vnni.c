// SPDX-License-Identifier: MIT
/* The avx512vnni level: nothing of its own yet. */
#include "level.h"

void npu_kern_fill_avx512vnni(struct npu_kern *k)
{
	(void)k;

}
