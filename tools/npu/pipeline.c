// SPDX-License-Identifier: MIT
/* Tiles through a queue: reading, converting and writing overlap, memory is bounded. */
#include <pthread.h>
#include <string.h>

#include "run.h"

struct run {
	struct pipeline *pipe;
	struct npu_queue *queue;
	struct save *save;
	struct slot slots[PIPELINE_SLOTS];
	unsigned int slot_count;
	pthread_mutex_t lock;		/* protects what follows */
	pthread_cond_t moved;
	uint64_t submitted;
	uint64_t drained;
	int status;			/* of whichever side failed first: both stop */
};

int slot_bo_create(struct npu_device *dev, struct slot *slot, unsigned int i, uint64_t bytes,
		   bool output)
{
	struct slot_bo *b = &slot->bos[i];
	int ret;

	if (!bytes)
		return 0;
	ret = npu_bo_create(dev, bytes, output ? 0 : NPU_BO_DEVICE_RDONLY, &b->bo);
	if (!ret)
		ret = npu_bo_map(b->bo, &b->map);
	b->output = output;
	return ret ? fail_npu(ret) : 0;
}

void slot_bo_share(struct slot *slot, unsigned int i, const struct slot_bo *from)
{
	slot->bos[i] = *from;
	slot->bos[i].shared = true;
}

int job_wait(struct npu_fence fence, struct npu_result *result)
{
	int ret;

	memset(result, 0, sizeof(*result));
	ret = npu_fence_wait(fence, npu_deadline(-1), result);
	return ret ? fail_npu(ret) : 0;
}

static void report_warnings(struct npu_stream *stream)
{
	const char *text;

	for (uint32_t i = 0; (text = npu_stream_warning(stream, i)); i++)
		warn("%s", text);
}

/* What the builder thinks of a tile. */
static int build(struct run *run, struct slot *slot, uint64_t tile)
{
	struct pipeline *pipe = run->pipe;
	int ret;

	npu_stream_reset(slot->stream);
	slot->tile = tile;
	ret = pipe->build(pipe->ctx, slot, tile);
	if (ret)
		return ret;
	ret = npu_stream_error(slot->stream);
	return ret ? fail_npu(ret) : 0;
}

static int submit(struct run *run, struct slot *slot, uint64_t tile)
{
	struct pipeline *pipe = run->pipe;
	int ret;

	ret = build(run, slot, tile);
	if (!ret)
		ret = pipe->fill(pipe->ctx, slot, tile);
	if (ret)
		return ret;
	if (!tile)
		report_warnings(slot->stream);
	if (pipe->stats)
		stats_add_fetch(pipe->stats, slot->stream);
	ret = npu_submit(run->queue, slot->stream, NULL, &slot->fence);
	return ret ? fail_npu(ret) : 0;
}

static int drain(struct run *run, struct slot *slot, uint64_t tile)
{
	struct pipeline *pipe = run->pipe;
	struct npu_result result;
	int ret, saved = 0;

	ret = job_wait(slot->fence, &result);
	/* A job that faults is the one that somebody wants to keep. */
	if (run->save)
		saved = save_job(run->save, pipe->ring, slot, &result);
	if (!ret)
		ret = saved;
	return ret ? ret : pipe->drain(pipe->ctx, slot, tile, &result);
}

static void set_status(struct run *run, int status)
{
	pthread_mutex_lock(&run->lock);
	if (!run->status)
		run->status = status;
	pthread_cond_broadcast(&run->moved);
	pthread_mutex_unlock(&run->lock);
}

static void *writer_main(void *arg)
{
	struct run *run = arg;
	uint64_t tiles = run->pipe->tiles;

	for (uint64_t tile = 0; tile < tiles; tile++) {
		int ret;

		pthread_mutex_lock(&run->lock);
		while (!run->status && run->submitted <= tile)
			pthread_cond_wait(&run->moved, &run->lock);
		ret = run->status;
		pthread_mutex_unlock(&run->lock);
		if (ret)
			break;
		ret = drain(run, &run->slots[tile % run->slot_count], tile);
		if (ret) {
			set_status(run, ret);
			break;
		}
		pthread_mutex_lock(&run->lock);
		run->drained++;
		pthread_cond_broadcast(&run->moved);
		pthread_mutex_unlock(&run->lock);
		progress_update((tile + 1) * run->pipe->bytes_per_tile);
	}
	return NULL;
}

static void reader_loop(struct run *run)
{
	for (uint64_t tile = 0; tile < run->pipe->tiles; tile++) {
		int ret;

		pthread_mutex_lock(&run->lock);
		while (!run->status && tile - run->drained >= run->slot_count)
			pthread_cond_wait(&run->moved, &run->lock);
		ret = run->status;
		pthread_mutex_unlock(&run->lock);
		if (ret)
			return;
		ret = submit(run, &run->slots[tile % run->slot_count], tile);
		if (ret) {
			set_status(run, ret);
			return;
		}
		pthread_mutex_lock(&run->lock);
		run->submitted++;
		pthread_cond_broadcast(&run->moved);
		pthread_mutex_unlock(&run->lock);
	}
}

static int run_tiles(struct run *run)
{
	struct pipeline *pipe = run->pipe;
	pthread_t writer;

	if (pipe->tiles == 1) {
		int ret = submit(run, &run->slots[0], 0);

		return ret ? ret : drain(run, &run->slots[0], 0);
	}
	if (pthread_create(&writer, NULL, writer_main, run))
		return fail(NPU_EXIT_FAILED, "cannot start a thread");
	progress_begin(pipe->tiles * pipe->bytes_per_tile);
	reader_loop(run);
	pthread_join(writer, NULL);
	progress_end();
	return run->status;
}

static int setup(struct run *run)
{
	struct pipeline *pipe = run->pipe;
	int ret;

	ret = npu_queue_create(pipe->dev, pipe->ring, NPU_PRIORITY_NORMAL, &run->queue);
	if (ret)
		return fail_npu(ret);
	for (unsigned int i = 0; i < run->slot_count; i++) {
		struct slot *slot = &run->slots[i];

		ret = npu_stream_create(pipe->dev, pipe->ring, &slot->stream);
		if (ret)
			return fail_npu(ret);
		ret = pipe->setup(pipe->ctx, slot);
		if (ret)
			return ret;
	}
	return pipe->save_stream ? save_open(&run->save, pipe->save_stream) : 0;
}

static void teardown(struct run *run)
{
	/* Jobs of a run that failed may still be in flight; they keep what they use. */
	npu_queue_destroy(run->queue);
	for (unsigned int i = 0; i < run->slot_count; i++) {
		struct slot *slot = &run->slots[i];

		npu_stream_destroy(slot->stream);
		for (unsigned int j = 0; j < SLOT_BOS; j++) {
			if (!slot->bos[j].shared)
				npu_bo_destroy(slot->bos[j].bo);
		}
	}
	pthread_cond_destroy(&run->moved);
	pthread_mutex_destroy(&run->lock);
}

static int finish_save(struct run *run, int status)
{
	int ret;

	if (status && status != NPU_EXIT_FAULT) {
		save_abort(run->save);
		return status;
	}
	ret = save_commit(run->save);
	return status ? status : ret;
}

int pipeline_run(struct pipeline *pipe)
{
	struct run run = { .pipe = pipe };
	int ret;

	if (!pipe->tiles) {
		/* No job, but a file all the same. */
		ret = pipe->save_stream ? save_open(&run.save, pipe->save_stream) : 0;
		return ret ? ret : save_commit(run.save);
	}
	run.slot_count = pipe->tiles < PIPELINE_SLOTS ? (unsigned int)pipe->tiles : PIPELINE_SLOTS;
	pthread_mutex_init(&run.lock, NULL);
	pthread_cond_init(&run.moved, NULL);
	ret = setup(&run);
	/* The last tile is the odd one: what the rules refuse is refused before anything runs. */
	if (!ret)
		ret = build(&run, &run.slots[0], pipe->tiles - 1);
	if (!ret && !pipe->check_only)
		ret = run_tiles(&run);
	ret = finish_save(&run, ret);
	teardown(&run);
	return ret;
}
