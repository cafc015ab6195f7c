// SPDX-License-Identifier: MIT
/* Element types: their names, and what the file formats call them. */
#include <string.h>

#include "internal.h"

/* What a tensor of that type is written as. */
static const struct type_row {
	uint32_t type;
	const char *npy;
	const char *safetensors;
} types[] = {
	/* Neither format has packed i4; both real files and this program keep it in bytes. */
	{ NPU_TYPE_I4,     "|u1", "U8" },
	{ NPU_TYPE_I8,     "|i1", "I8" },
	{ NPU_TYPE_I16,    "<i2", "I16" },
	{ NPU_TYPE_I32,    "<i4", "I32" },
	{ NPU_TYPE_U8,     "|u1", "U8" },
	{ NPU_TYPE_U16,    "<u2", "U16" },
	{ NPU_TYPE_U32,    "<u4", "U32" },
	{ NPU_TYPE_F4E2M1, "|u1", "F4" },
	{ NPU_TYPE_F8E4M3, "|u1", "F8_E4M3" },
	{ NPU_TYPE_F8E5M2, "|u1", "F8_E5M2" },
	{ NPU_TYPE_BF16,   "<u2", "BF16" },
	{ NPU_TYPE_F32,    "<f4", "F32" },
};

static const struct tensor_dtype dtypes[] = {
	{ "BF16",        "bf16",       16, NPU_TYPE_BF16,    false },
	{ "F32",         "f32",        32, NPU_TYPE_F32,     false },
	{ "F8_E4M3",     "f8e4m3",      8, NPU_TYPE_F8E4M3,  false },
	{ "F8_E5M2",     "f8e5m2",      8, NPU_TYPE_F8E5M2,  false },
	{ "F4",          "f4e2m1",      4, NPU_TYPE_F4E2M1,  false },
	{ "I8",          "i8",          8, NPU_TYPE_I8,      true },
	{ "I16",         "i16",        16, NPU_TYPE_I16,     false },
	{ "I32",         "i32",        32, NPU_TYPE_I32,     false },
	{ "U8",          "u8",          8, NPU_TYPE_U8,      true },
	{ "U16",         "u16",        16, NPU_TYPE_U16,     true },
	{ "U32",         "u32",        32, NPU_TYPE_U32,     false },
	{ "BOOL",        "bool",        8, NPU_TYPE_NONE, false },
	{ "F6_E2M3",     "f6e2m3",      6, NPU_TYPE_NONE, false },
	{ "F6_E3M2",     "f6e3m2",      6, NPU_TYPE_NONE, false },
	{ "F8_E8M0",     "f8e8m0",      8, NPU_TYPE_NONE, false },
	{ "F8_E4M3FNUZ", "f8e4m3fnuz",  8, NPU_TYPE_NONE, false },
	{ "F8_E5M2FNUZ", "f8e5m2fnuz",  8, NPU_TYPE_NONE, false },
	{ "F16",         "f16",        16, NPU_TYPE_NONE, false },
	{ "F64",         "f64",        64, NPU_TYPE_NONE, false },
	{ "I64",         "i64",        64, NPU_TYPE_NONE, false },
	{ "U64",         "u64",        64, NPU_TYPE_NONE, false },
	{ "C64",         "c64",        64, NPU_TYPE_NONE, false },
};

#define ROWS(a)	(sizeof(a) / sizeof((a)[0]))

static const struct type_row *find_type(uint32_t type)
{
	for (size_t i = 0; i < ROWS(types); i++) {
		if (types[i].type == type)
			return &types[i];
	}
	return NULL;
}

bool type_in_memory(uint32_t type)
{
	return find_type(type);
}

const char *npy_dtype_of(uint32_t type)
{
	const struct type_row *row = find_type(type);

	return row ? row->npy : NULL;
}

const char *safetensors_dtype_of(uint32_t type)
{
	const struct type_row *row = find_type(type);

	return row ? row->safetensors : NULL;
}

const struct tensor_dtype *safetensors_dtype(const char *name)
{
	for (size_t i = 0; i < ROWS(dtypes); i++) {
		if (!strcmp(dtypes[i].dtype, name))
			return &dtypes[i];
	}
	return NULL;
}

/*
 * Dimensions beside a zero are multiplied all the same: strides are made of them later, and those
 * must not overflow either.
 */
bool tensor_shape_product(const uint64_t *shape, unsigned int ndim, uint64_t *product)
{
	uint64_t all = 1;
	bool empty = false;

	for (unsigned int i = 0; i < ndim; i++) {
		if (!shape[i])
			empty = true;
		else if (__builtin_mul_overflow(all, shape[i], &all) || all > INT64_MAX)
			return false;
	}
	*product = empty ? 0 : all;
	return true;
}
