// SPDX-License-Identifier: MIT
/* Any bytes as a .safetensors file: opened, bound in every way, read in pieces. */
#include "fuzz_tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_tensor_file(data, size, TENSOR_FORMAT_SAFETENSORS);
	return 0;
}
