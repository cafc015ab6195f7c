// SPDX-License-Identifier: MIT
/* Helper threads of one ring's engine. The caller works, too. */
#include "vdev.h"

#include <stdlib.h>

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_cond_t done;
	void (*fn)(void *arg, unsigned int i);
	void *arg;
	unsigned int n;		/* calls of the current run */
	unsigned int next;	/* not yet begun */
	unsigned int running;
	bool quit;
	unsigned int threads;
	pthread_t thread[];
};

/* Takes calls until none is left; under lock. */
static void pool_work(struct pool *p)
{
	while (p->next < p->n) {
		unsigned int i = p->next++;

		p->running++;
		pthread_mutex_unlock(&p->lock);
		p->fn(p->arg, i);
		pthread_mutex_lock(&p->lock);
		if (!--p->running && p->next >= p->n)
			pthread_cond_broadcast(&p->done);
	}
}

static void *pool_thread(void *arg)
{
	struct pool *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->quit) {
		pool_work(p);
		if (!p->quit)
			pthread_cond_wait(&p->work, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void pool_run(void *pool, unsigned int n, void (*fn)(void *arg, unsigned int i), void *arg)
{
	struct pool *p = pool;

	pthread_mutex_lock(&p->lock);
	p->fn = fn;
	p->arg = arg;
	p->next = 0;
	p->n = n;
	pthread_cond_broadcast(&p->work);
	pool_work(p);
	while (p->running)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

struct pool *pool_new(unsigned int threads)
{
	struct pool *p = calloc(1, sizeof(*p) + threads * sizeof(p->thread[0]));

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->done, NULL);
	/* fewer helpers than wanted is no error: the caller does their part */
	while (p->threads + 1 < threads &&
	       !pthread_create(&p->thread[p->threads], NULL, pool_thread, p))
		p->threads++;
	return p;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->quit = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	while (p->threads)
		pthread_join(p->thread[--p->threads], NULL);
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
