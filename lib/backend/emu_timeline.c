// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "emu.h"
#include "error.h"

static void fire(int fd)
{
	const uint64_t one = 1;

	/* A counter that starts at 0 takes 1 without blocking. */
	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	close(fd);
}

void emu_timeline_signal(struct emu *emu, struct emu_timeline *timeline, uint64_t point)
{
	struct emu_watch **at = &timeline->watches;

	timeline->signalled = point;
	while (*at) {
		struct emu_watch *watch = *at;

		if (watch->point > point) {
			at = &watch->next;
			continue;
		}
		*at = watch->next;
		fire(watch->fd);
		free(watch);
	}
	pthread_cond_broadcast(&timeline->cond);
	if (emu->waiting)
		emu_wake_rings(emu);
}

/* Points of an own timeline come from several queues and end in any order. */
void emu_point_done(struct emu *emu, struct emu_timeline *timeline, struct emu_point *point)
{
	uint64_t signalled = timeline->signalled;

	point->done = true;
	while (!npu_list_empty(&timeline->points)) {
		struct emu_point *first =
			npu_container(timeline->points.next, struct emu_point, link);

		if (!first->done)
			break;
		signalled = first->point;
		npu_list_del(&first->link);
		free(first);
	}
	if (signalled != timeline->signalled)
		emu_timeline_signal(emu, timeline, signalled);
}

bool emu_job_ready(const struct emu_job *job)
{
	uint32_t i;

	for (i = 0; i < job->wait_count; i++) {
		const struct emu_timeline *timeline = job->waits[i].timeline->priv;

		if (timeline->signalled < job->waits[i].point)
			return false;
	}
	return true;
}

int emu_timeline_create(struct npu_timeline *timeline)
{
	struct emu_timeline *et = calloc(1, sizeof(*et));

	if (!et || emu_cond_init(&et->cond)) {
		free(et);
		return npu_fail(ENOMEM, "no memory for a timeline");
	}
	npu_list_init(&et->points);
	timeline->priv = et;
	return 0;
}

void emu_timeline_free(struct npu_timeline *timeline)
{
	struct emu_timeline *et = timeline->priv;
	struct npu_list *pos, *tmp;

	while (et->watches) {
		struct emu_watch *watch = et->watches;

		et->watches = watch->next;
		close(watch->fd);
		free(watch);
	}
	npu_list_for_safe(pos, tmp, &et->points)
		free(npu_container(pos, struct emu_point, link));
	if (!timeline->dev->forked)
		pthread_cond_destroy(&et->cond);
	free(et);
}

int emu_timeline_query(struct npu_timeline *timeline, uint64_t *point)
{
	struct emu *emu = emu_of(timeline->dev);
	struct emu_timeline *et = timeline->priv;

	pthread_mutex_lock(&emu->lock);
	*point = et->signalled;
	pthread_mutex_unlock(&emu->lock);
	return 0;
}

int emu_timeline_wait(struct npu_timeline *timeline, uint64_t point, int64_t deadline)
{
	struct emu *emu = emu_of(timeline->dev);
	struct emu_timeline *et = timeline->priv;
	struct timespec until = {
		.tv_sec = (time_t)(deadline / 1000000000),
		.tv_nsec = (long)(deadline % 1000000000),
	};
	int ret = 0;

	pthread_mutex_lock(&emu->lock);
	while (!ret && et->signalled < point) {
		if (deadline <= 0)
			ret = ETIMEDOUT;
		else if (deadline / 1000000000 >= INT32_MAX)
			pthread_cond_wait(&et->cond, &emu->lock);
		else
			ret = pthread_cond_timedwait(&et->cond, &emu->lock, &until);
	}
	if (et->signalled >= point)
		ret = 0;
	pthread_mutex_unlock(&emu->lock);
	return -ret;
}

int emu_timeline_fd(struct npu_timeline *timeline, uint64_t point, int *out)
{
	struct emu *emu = emu_of(timeline->dev);
	struct emu_timeline *et = timeline->priv;
	struct emu_watch *watch = malloc(sizeof(*watch));
	int fd;

	if (!watch)
		return npu_fail(ENOMEM, "no memory for a fence's file descriptor");
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (watch->fd < 0) {
		int ret = npu_fail(errno, "no file descriptor for a fence: %m");

		if (fd >= 0)
			close(fd);
		free(watch);
		return ret;
	}
	watch->point = point;
	pthread_mutex_lock(&emu->lock);
	if (et->signalled >= point) {
		fire(watch->fd);
		free(watch);
	} else {
		watch->next = et->watches;
		et->watches = watch;
	}
	pthread_mutex_unlock(&emu->lock);
	*out = fd;
	return 0;
}
