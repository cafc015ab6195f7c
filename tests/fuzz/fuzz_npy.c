// SPDX-License-Identifier: MIT
/* Any bytes as a .npy file: opened, bound in every way, read in pieces. */
#include "fuzz_tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_tensor_file(data, size, TENSOR_FORMAT_NPY);
	return 0;
}
