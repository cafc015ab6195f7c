// SPDX-License-Identifier: MIT
/* Element types: widths and names. */
#include <string.h>

#include "engine.h"

static const struct {
	const char *name;
	unsigned int bits;
} types[NPU_TYPE_COUNT] = {
	[NPU_TYPE_I4] = { "i4", 4 },
	[NPU_TYPE_I8] = { "i8", 8 },
	[NPU_TYPE_I16] = { "i16", 16 },
	[NPU_TYPE_I32] = { "i32", 32 },
	[NPU_TYPE_F4E2M1] = { "f4e2m1", 4 },
	[NPU_TYPE_F8E4M3] = { "f8e4m3", 8 },
	[NPU_TYPE_F8E5M2] = { "f8e5m2", 8 },
	[NPU_TYPE_BF16] = { "bf16", 16 },
	[NPU_TYPE_F32] = { "f32", 32 },
	[NPU_TYPE_U8] = { "u8", 8 },
	[NPU_TYPE_U16] = { "u16", 16 },
	[NPU_TYPE_U32] = { "u32", 32 },
	[NPU_TYPE_I5] = { "i5", 8 },
	[NPU_TYPE_I9] = { "i9", 16 },
};

unsigned int npu_type_bits(uint32_t type)
{
	return type < NPU_TYPE_COUNT ? types[type].bits : 0;
}

const char *npu_type_name(uint32_t type)
{
	return type < NPU_TYPE_COUNT ? types[type].name : NULL;
}

uint32_t npu_type_parse(const char *name)
{
	uint32_t i;

	for (i = 1; i < NPU_TYPE_COUNT; i++)
		if (!strcmp(types[i].name, name))
			return i;
	return NPU_TYPE_NONE;
}
