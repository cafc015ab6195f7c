// SPDX-License-Identifier: MIT
/* Each initialiser, in each language, without a warning. */
#include <npu.h>

size_t sizes(void);

size_t sizes(void)
{
	struct npu_device_info info = NPU_DEVICE_INFO_INIT;
	struct npu_open_options open = NPU_OPEN_OPTIONS_INIT;
	struct npu_view view = NPU_VIEW_INIT;
	struct npu_mask mask = NPU_MASK_INIT;
	struct npu_weights weights = NPU_WEIGHTS_INIT;
	struct npu_preprocess preprocess = NPU_PREPROCESS_INIT;
	struct npu_fetch_info fetch = NPU_FETCH_INFO_INIT;
	struct npu_queue_state state = NPU_QUEUE_STATE_INIT;
	struct npu_submit_options submit = NPU_SUBMIT_OPTIONS_INIT;

	return info.size + open.size + view.size + mask.size + weights.size + preprocess.size +
	       fetch.size + state.size + submit.size;
}
