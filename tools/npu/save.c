// SPDX-License-Identifier: MIT
/* --save-stream: the jobs of a run, for npu replay. */
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "save.h"

struct save {
	const char *path;
	struct save_file *file;
	uint64_t jobs;
	struct saved_view view;
};

int save_open(struct save **save, const char *path)
{
	struct save *s = calloc(1, sizeof(*s));

	if (s)
		s->file = save_file_open();
	if (!s || !s->file) {
		free(s);
		return fail_memory();
	}
	s->path = path;
	*save = s;
	return 0;
}

static void describe_bo(const struct save *save, const struct slot_bo *b, bool failed,
			struct saved_bo *saved)
{
	*saved = (struct saved_bo){
		.address = npu_bo_address(b->bo),
		.size = npu_bo_size(b->bo),
		.data_bytes = b->used,
		.flags = b->output ? SAVED_BO_OUTPUT : SAVED_BO_RDONLY,
	};
	if (b->shared && save->jobs) {
		saved->flags |= SAVED_BO_KEEP;
		saved->data_bytes = 0;
	}
	/* What a job that failed has left is nothing to compare with. */
	if (b->output && failed)
		saved->data_bytes = 0;
}

int save_job(struct save *save, uint32_t ring, struct slot *slot,
	     const struct npu_result *result)
{
	bool failed = result->status != NPU_STATUS_OK;
	struct saved_view *v = &save->view;
	const void *stream;
	int ret;

	v->job = (struct saved_job){ .bytes = sizeof(v->job), .ring = ring, .result = *result };
	ret = npu_stream_data(slot->stream, &stream, &v->job.stream_bytes);
	if (ret)
		return fail_npu(ret);
	v->stream = stream;
	for (unsigned int i = 0; i < SLOT_BOS; i++) {
		const struct slot_bo *b = &slot->bos[i];

		if (!b->bo)
			continue;
		v->data[v->job.bo_count] = b->map;
		describe_bo(save, b, failed, &v->bos[v->job.bo_count++]);
	}
	save_put_job(save->file, v);
	save->jobs++;
	if (save_file_bytes(save->file) > SAVE_MAX)
		return fail(NPU_EXIT_FAILED,
			    "--save-stream: %s: more than %llu bytes or out of memory; save a part of the tensor",
			    save->path, SAVE_MAX);
	return 0;
}

int save_commit(struct save *save)
{
	int ret = 0;

	if (save)
		ret = save_file_close(save->file, save->path);
	free(save);
	return ret;
}

void save_abort(struct save *save)
{
	if (save)
		save_file_close(save->file, NULL);
	free(save);
}
