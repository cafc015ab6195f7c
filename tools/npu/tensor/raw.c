// SPDX-License-Identifier: MIT
/* Raw files: bytes, of which only the command line knows what they are. */
#include "internal.h"

int raw_load(struct tensor_file *file, struct tensor_error *err)
{
	struct tensor_info *info;
	int ret = tensor_file_alloc(file, 1, 1, 0, err);

	if (ret)
		return ret;
	file->dims[0] = file->size;
	info = &file->infos[0];
	info->name = "";
	info->dtype = "";
	info->type_name = "raw";
	info->type = NPU_TYPE_NONE;
	info->width_only = true;
	info->item_bits = 8;
	info->ndim = 1;
	info->shape = file->dims;
	info->elements = file->size;
	info->bytes = file->size;
	return 0;
}
