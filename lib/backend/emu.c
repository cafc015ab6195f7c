// SPDX-License-Identifier: MIT
/* The emulation as a device: opening, limits, closing. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <drm/npu_isa.h>

#include "emu.h"
#include "error.h"

#define MOST_THREADS	256
#define TIMEOUT_MS	2000

uint64_t emu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int emu_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int ret;

	if (pthread_condattr_init(&attr))
		return -ENOMEM;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	ret = pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return ret ? -ENOMEM : 0;
}

int emu_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -ret;
}

static int choose_threads(const struct npu_open_options *options, uint32_t *threads)
{
	const char *env = getenv("NPU_THREADS");
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	char *end;
	long n;

	if (options->threads > MOST_THREADS)
		return npu_fail(EINVAL, "npu_open_options.threads is %u, at most %u",
				options->threads, MOST_THREADS);
	*threads = options->threads;
	if (*threads)
		return 0;
	if (env && *env) {
		n = strtol(env, &end, 10);
		if (*end || n < 1 || n > MOST_THREADS)
			return npu_fail(EINVAL, "NPU_THREADS is \"%s\", not a number from 1 to %u",
					env, MOST_THREADS);
		*threads = (uint32_t)n;
		return 0;
	}
	if (online < 1)
		online = 1;
	*threads = online > MOST_THREADS ? MOST_THREADS : (uint32_t)online;
	return 0;
}

/* The limits are the driver's, so that what runs here runs there. */
static void fill_info(struct npu_device *dev, uint32_t threads, uint32_t timeout_ms)
{
	dev->info = (struct npu_device_info){
		.size = sizeof(dev->info),
		.emulated = 1,
		.name = "emu",
		.driver = "emulation",
		.driver_major = 1,
		.isa_major = NPU_ISA_MAJOR,
		.isa_minor = NPU_ISA_MINOR,
		.rings = (1u << NPU_RING_COUNT) - 1,
		.clock_hz = 1000000000,
		.address_start = NPU_PAGE_SIZE,
		.address_end = (uint64_t)1 << NPU_ADDRESS_BITS,
		.max_stream = NPU_STREAM_MAX,
		.max_bo_size = sizeof(void *) < 8 ? (uint64_t)1 << 30 : (uint64_t)1 << 36,
		.page_size = NPU_PAGE_SIZE,
		.max_jobs = 64,
		.max_bos = 1024,
		.max_syncs = 64,
		.max_queues = 32,
		.max_in_flight = 256,
		.timeout_ms = timeout_ms,
		.threads = threads,
	};
}

static int emu_init(struct emu *emu)
{
	unsigned int i;

	if (emu_space_init(&emu->space) || emu_pool_init(&emu->pool, &emu->space) ||
	    pthread_mutex_init(&emu->start, NULL) || pthread_mutex_init(&emu->lock, NULL) ||
	    emu_cond_init(&emu->watchdog_wake))
		return -ENOMEM;
	for (i = 0; i < NPU_RING_COUNT; i++) {
		struct emu_ring *ring = &emu->rings[i];

		ring->emu = emu;
		ring->number = i;
		npu_list_init(&ring->queues);
		atomic_init(&ring->stop, EMU_RUN);
		if (emu_cond_init(&ring->wake))
			return -ENOMEM;
	}
	return 0;
}

static int emu_open(struct npu_device *dev, const char *path,
		    const struct npu_open_options *options)
{
	uint32_t timeout_ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS;
	uint32_t threads;
	struct emu *emu;
	int ret;

	ret = choose_threads(options, &threads);
	if (ret)
		return ret;
	emu = calloc(1, sizeof(*emu));
	if (!emu || emu_init(emu)) {
		free(emu);
		return npu_fail(ENOMEM, "no memory for the emulation");
	}
	emu->dev = dev;
	emu->timeout_ns = (uint64_t)timeout_ms * 1000000;
	dev->priv = emu;
	fill_info(dev, threads, timeout_ms);
	return 0;
}

/* Nothing starts any more, and what runs is told to stop. */
static void emu_cancel(struct npu_device *dev)
{
	struct emu *emu = emu_of(dev);
	unsigned int i, run;

	pthread_mutex_lock(&emu->lock);
	emu->closing = true;
	for (i = 0; i < NPU_RING_COUNT; i++) {
		run = EMU_RUN;
		atomic_compare_exchange_strong(&emu->rings[i].stop, &run, EMU_STOP_CLOSE);
	}
	pthread_mutex_unlock(&emu->lock);
}

static void emu_close(struct npu_device *dev)
{
	struct emu *emu = emu_of(dev);
	unsigned int i;

	if (!dev->forked)
		emu_rings_stop(emu);
	emu_pool_free(&emu->pool, dev->forked);
	if (!dev->forked) {
		for (i = 0; i < NPU_RING_COUNT; i++)
			pthread_cond_destroy(&emu->rings[i].wake);
		pthread_cond_destroy(&emu->watchdog_wake);
		pthread_mutex_destroy(&emu->lock);
		pthread_mutex_destroy(&emu->start);
		pthread_mutex_destroy(&emu->space.lock);
	}
	emu_space_free(&emu->space);
	free(emu);
}

const struct npu_backend npu_backend_emu = {
	.open = emu_open,
	.cancel = emu_cancel,
	.close = emu_close,
	.bo_create = emu_bo_create,
	.bo_import = emu_bo_import,
	.bo_same = emu_bo_same,
	.bo_bind = emu_bo_bind,
	.bo_free = emu_bo_free,
	.bo_map = emu_bo_map,
	.bo_export = emu_bo_export,
	.queue_create = emu_queue_create,
	.queue_end = emu_queue_end,
	.queue_free = emu_queue_free,
	.queue_state = emu_queue_state,
	.job_status = emu_job_status,
	.submit = emu_submit,
	.timeline_create = emu_timeline_create,
	.timeline_free = emu_timeline_free,
	.timeline_query = emu_timeline_query,
	.timeline_wait = emu_timeline_wait,
	.timeline_fd = emu_timeline_fd,
};
