// SPDX-License-Identifier: MIT
/* Threads that share the work of one command; the ring's own thread works with them. */
#include <errno.h>
#include <stdlib.h>

#include "emu.h"

struct emu_task {
	struct npu_list link;		/* in the pool while indices are left */
	void (*fn)(void *arg, unsigned int i);
	void *arg;
	unsigned int n, next, running;
};

int emu_pool_init(struct emu_pool *pool, struct emu_space *space)
{
	npu_list_init(&pool->tasks);
	pool->space = space;
	if (pthread_mutex_init(&pool->lock, NULL) || emu_cond_init(&pool->work) ||
	    emu_cond_init(&pool->done))
		return -ENOMEM;
	return 0;
}

/* With the lock held: takes an index of @task, runs it without the lock. */
static void run_one(struct emu_pool *pool, struct emu_task *task)
{
	unsigned int i = task->next++;

	if (task->next == task->n)
		npu_list_del(&task->link);
	task->running++;
	pthread_mutex_unlock(&pool->lock);
	task->fn(task->arg, i);
	pthread_mutex_lock(&pool->lock);
	if (!--task->running && task->next == task->n)
		pthread_cond_broadcast(&pool->done);
}

static void *pool_thread(void *arg)
{
	struct emu_pool *pool = arg;

	/* Without a reader of its own a thread cannot translate; the others do its work. */
	if (emu_space_join(pool->space))
		return NULL;
	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		if (npu_list_empty(&pool->tasks))
			pthread_cond_wait(&pool->work, &pool->lock);
		else
			run_one(pool, npu_container(pool->tasks.next, struct emu_task, link));
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

int emu_pool_start(struct emu_pool *pool, unsigned int threads)
{
	/* A start that failed half-way is taken up where it stopped. */
	if (!pool->threads)
		pool->threads = calloc(threads ? threads : 1, sizeof(*pool->threads));
	if (!pool->threads)
		return -ENOMEM;
	while (pool->count < threads) {
		if (emu_thread_start(&pool->threads[pool->count], pool_thread, pool))
			return -EAGAIN;
		pool->count++;
	}
	return 0;
}

void emu_pool_free(struct emu_pool *pool, bool forked)
{
	if (!forked) {
		pthread_mutex_lock(&pool->lock);
		pool->stop = true;
		pthread_cond_broadcast(&pool->work);
		pthread_mutex_unlock(&pool->lock);
		while (pool->count)
			pthread_join(pool->threads[--pool->count], NULL);
		pthread_cond_destroy(&pool->done);
		pthread_cond_destroy(&pool->work);
		pthread_mutex_destroy(&pool->lock);
	}
	free(pool->threads);
}

void emu_parallel(void *ctx, unsigned int n, void (*fn)(void *arg, unsigned int i), void *arg)
{
	struct emu_task task = { .fn = fn, .arg = arg, .n = n };
	struct emu_pool *pool = ctx;

	if (!n)
		return;
	pthread_mutex_lock(&pool->lock);
	npu_list_add_tail(&pool->tasks, &task.link);
	if (n > 1)
		pthread_cond_broadcast(&pool->work);
	while (task.next < n)
		run_one(pool, &task);
	while (task.running)
		pthread_cond_wait(&pool->done, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}
