// SPDX-License-Identifier: MIT
/* The device as a whole: life, time, function reset. */
#include "vdev.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t vdev_host_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

uint64_t vdev_clock(void *arg)
{
	struct vdev *v = arg;
	uint64_t host = vdev_host_ns() - atomic_load(&v->clock_base);

	return atomic_load(&v->clock_offset) + host / 100 * atomic_load(&v->clock_percent);
}

void vdev_clock_rate(struct vdev *v, uint32_t percent)
{
	/* time goes on from where it is; a reader in between may see it jump a little */
	uint64_t now = vdev_clock(v);

	atomic_store(&v->clock_percent, percent);
	atomic_store(&v->clock_base, vdev_host_ns());
	atomic_store(&v->clock_offset, now);
}

void vdev_log(struct vdev *v, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	if (!v->opt.log)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(v->opt.log, "%llu.%06llu %s\n",
		(unsigned long long)(vdev_host_ns() / 1000000000),
		(unsigned long long)(vdev_host_ns() / 1000 % 1000000), line);
	fflush(v->opt.log);
}

/* Under lock: until the time has come or anything changed. */
void vdev_wait_until(struct vdev *v, uint64_t host_ns)
{
	struct timespec ts = { host_ns / 1000000000, host_ns % 1000000000 };

	if (host_ns == UINT64_MAX)
		pthread_cond_wait(&v->cond, &v->lock);
	else
		pthread_cond_timedwait(&v->cond, &v->lock, &ts);
}

/* Memory is reachable with bus mastering on, in D0, and as long as there is a device. */
void vdev_update_dma(struct vdev *v)
{
	bool on;

	pthread_mutex_lock(&v->lock);
	on = v->bus_master && !v->in_d3 && !v->gone;
	pthread_mutex_unlock(&v->lock);
	if (on == atomic_load(&v->dma.enabled))
		return;
	dma_enable(&v->dma, on);
	vdev_log(v, "bus mastering %s", on ? "on" : "off");
}

/* FLR, bus reset, leaving D3hot, a new client: nothing of before is left, refused or not. */
void vdev_function_reset(struct vdev *v)
{
	unsigned int n;

	pthread_mutex_lock(&v->lock);
	v->stopping = true;
	for (n = 0; n < NPU_RING_COUNT; n++)
		ring_cancel(&v->ring[n], CANCEL_RESET);
	for (n = 0; n < NPU_RING_COUNT; n++) {
		while (v->ring[n].busy)
			pthread_cond_wait(&v->cond, &v->lock);
	}
	v->later_count = 0;
	while (v->late_busy)
		pthread_cond_wait(&v->cond, &v->lock);
	maintenance_reset_regs(v);
	v->reset_ack = 0;
	v->stats.function_resets++;
	v->stopping = false;
	pthread_cond_broadcast(&v->cond);
	pthread_mutex_unlock(&v->lock);

	dma_close(&v->dma);
	mmu_forget(v, NPU_MMU_ASID_ALL);
	dma_open(&v->dma);
	vdev_log(v, "function reset");
}

static void cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

static void vdev_stop(struct vdev *v, unsigned int rings, bool maintenance)
{
	unsigned int n;

	pthread_mutex_lock(&v->lock);
	v->quit = true;
	for (n = 0; n < NPU_RING_COUNT; n++)
		ring_cancel(&v->ring[n], CANCEL_QUIT);
	pthread_cond_broadcast(&v->cond);
	pthread_mutex_unlock(&v->lock);
	for (n = 0; n < rings; n++)
		ring_stop(&v->ring[n]);
	if (maintenance)
		pthread_join(v->maintenance, NULL);
	pthread_mutex_lock(&v->lock);
	for (n = 0; n < IRQ_INDICES; n++)
		irq_clear_index(v, n);
	pthread_mutex_unlock(&v->lock);
	dma_fini(&v->dma);
	pthread_cond_destroy(&v->cond);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

struct vdev *vdev_new(const struct vdev_options *opt)
{
	struct vdev *v = calloc(1, sizeof(*v));
	unsigned int n;

	if (!v)
		return NULL;
	v->opt = *opt;
	if (!v->opt.threads)
		v->opt.threads = 1;
	if (!v->opt.asids)
		v->opt.asids = VDEV_ASIDS_DEFAULT;
	v->faults.random = v->opt.seed;
	atomic_init(&v->clock_percent, 100);
	atomic_init(&v->clock_base, vdev_host_ns());
	v->client = -1;
	pthread_mutex_init(&v->lock, NULL);
	cond_init(&v->cond);
	dma_init(&v->dma);
	irq_init(v);
	config_init(v);
	maintenance_reset_regs(v);
	for (n = 0; n < NPU_RING_COUNT; n++) {
		if (ring_start(v, n))
			goto fail;
	}
	if (pthread_create(&v->maintenance, NULL, maintenance_thread, v))
		goto fail;
	return v;
fail:
	vdev_stop(v, n, false);
	return NULL;
}

void vdev_free(struct vdev *v)
{
	if (v)
		vdev_stop(v, NPU_RING_COUNT, true);
}
