// SPDX-License-Identifier: GPL-2.0-only
/* Questions, and calls that are wrong in themselves. */
#include "npu_stream.h"

NPU_FIXTURE(device)

TEST_F(device, query)
{
	uint64_t rings = npu_param(self->fd, DRM_NPU_PARAM_RINGS);

	EXPECT_EQ(1, npu_param(self->fd, DRM_NPU_PARAM_UAPI_MAJOR));
	EXPECT_EQ(NPU_ISA_MAJOR, npu_param(self->fd, DRM_NPU_PARAM_ISA_MAJOR));
	EXPECT_GE(0xffff, npu_param(self->fd, DRM_NPU_PARAM_ISA_MINOR));
	EXPECT_GE(0xffffffffull, npu_param(self->fd, DRM_NPU_PARAM_DEVICE_ID));
	EXPECT_NE(0, rings);
	EXPECT_EQ(0, rings >> NPU_RING_COUNT);
	EXPECT_LT(0, npu_param(self->fd, DRM_NPU_PARAM_CLOCK_HZ));
	EXPECT_EQ(4096, npu_param(self->fd, DRM_NPU_PARAM_PAGE_SIZE));
	EXPECT_EQ(4096, npu_param(self->fd, DRM_NPU_PARAM_ADDRESS_START));
	EXPECT_EQ(1ull << 39, npu_param(self->fd, DRM_NPU_PARAM_ADDRESS_END));
	EXPECT_LE(16, npu_param(self->fd, DRM_NPU_PARAM_MAX_STREAM));
	EXPECT_GE(NPU_STREAM_MAX, npu_param(self->fd, DRM_NPU_PARAM_MAX_STREAM));
	EXPECT_LE(1, npu_param(self->fd, DRM_NPU_PARAM_MAX_JOBS));
	EXPECT_LE(1, npu_param(self->fd, DRM_NPU_PARAM_MAX_BOS));
	EXPECT_LE(1, npu_param(self->fd, DRM_NPU_PARAM_MAX_SYNCS));
	EXPECT_LE(3, npu_param(self->fd, DRM_NPU_PARAM_MAX_QUEUES));
	EXPECT_LE(npu_param(self->fd, DRM_NPU_PARAM_MAX_JOBS),
		  npu_param(self->fd, DRM_NPU_PARAM_MAX_IN_FLIGHT));
	EXPECT_LE(1 << 20, npu_param(self->fd, DRM_NPU_PARAM_MAX_BO_SIZE));
	EXPECT_LE(1, npu_param(self->fd, DRM_NPU_PARAM_TIMEOUT_MS));
	EXPECT_GE(10000, npu_param(self->fd, DRM_NPU_PARAM_TIMEOUT_MS));
}

TEST_F(device, query_version)
{
	char name[16] = "", desc[64] = "";
	struct drm_version version = {
		.name = name,
		.name_len = sizeof(name) - 1,
		.desc = desc,
		.desc_len = sizeof(desc) - 1,
	};

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_VERSION, &version));
	EXPECT_STREQ("npu", name);
	EXPECT_EQ(1, version.version_major);
}

TEST_F(device, query_unknown)
{
	static const uint32_t unknown[] = {
		DRM_NPU_PARAM_TIMEOUT_MS + 1, 31, 32, 64, 255, 256, 65535, 65536, 0x7fffffff,
		0x80000000, 0xfffffffe, 0xffffffff,
	};
	struct drm_npu_get_param arg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		arg.param = unknown[i];
		arg.pad = 0;
		arg.value = NPU_POISON64;
		EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPU_GET_PARAM, &arg));
		EXPECT_EQ(unknown[i], arg.param);
		EXPECT_EQ(NPU_POISON64, arg.value);
	}
}

/* Where calls of each kind have flags and pads: none may be set. */
static const struct flags_case {
	unsigned long request;
	uint32_t size;
	uint32_t offset;	/* of a 32-bit word that must be 0 but for @known */
	uint32_t known;
} flags_cases[] = {
	{ DRM_IOCTL_NPU_GET_PARAM, 16, 4, 0 },
	{ DRM_IOCTL_NPU_BO_CREATE, 16, 8, 0 },
	{ DRM_IOCTL_NPU_BO_BIND, 16, 4, DRM_NPU_BIND_RDONLY },
	{ DRM_IOCTL_NPU_BO_UNBIND, 8, 4, 0 },
	{ DRM_IOCTL_NPU_BO_INFO, 32, 4, 0 },
	{ DRM_IOCTL_NPU_BO_WAIT, 16, 4, DRM_NPU_BO_WAIT_WRITE },
	{ DRM_IOCTL_NPU_QUEUE_CREATE, 16, 8, 0 },
	{ DRM_IOCTL_NPU_QUEUE_DESTROY, 8, 4, 0 },
	{ DRM_IOCTL_NPU_SUBMIT, 72, 4, 0 },
	{ DRM_IOCTL_NPU_SUBMIT, 72, 68, 0 },
};

/* Arguments with which a call would succeed. */
static void flags_good(int fd, unsigned long request, uint32_t bo, uint32_t queue,
		       struct npu_request *r, const struct npu_stream *s, void *arg)
{
	struct drm_npu_bo_create *create = arg;
	struct drm_npu_bo_bind *bind = arg;
	struct drm_npu_queue_create *new_queue = arg;

	memset(arg, 0, 72);
	switch (request) {
	case DRM_IOCTL_NPU_BO_CREATE:
		create->size = 4096;
		create->handle = NPU_POISON32;
		break;
	case DRM_IOCTL_NPU_BO_BIND:
		bind->handle = bo;
		bind->address = NPU_BASE;
		break;
	case DRM_IOCTL_NPU_BO_UNBIND:
	case DRM_IOCTL_NPU_BO_INFO:
	case DRM_IOCTL_NPU_BO_WAIT:
		*(uint32_t *)arg = bo;
		break;
	case DRM_IOCTL_NPU_QUEUE_CREATE:
		new_queue->queue = NPU_POISON32;
		break;
	case DRM_IOCTL_NPU_QUEUE_DESTROY:
		*(uint32_t *)arg = queue;
		break;
	case DRM_IOCTL_NPU_SUBMIT:
		npu_request_init(r, queue, s, 0);
		memcpy(arg, &r->arg, sizeof(r->arg));
		break;
	}
}

TEST_F(device, flags_pad)
{
	int queue = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	unsigned int i, bit;
	struct npu_request r;
	struct npu_stream s;
	uint32_t bo;

	ASSERT_LT(0, queue);
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &bo));
	npu_stream_empty(&s);
	for (i = 0; i < ARRAY_SIZE(flags_cases); i++) {
		const struct flags_case *c = &flags_cases[i];

		for (bit = 0; bit < 32; bit++) {
			uint32_t arg[18], before[18];

			if (c->known & 1u << bit)
				continue;
			flags_good(self->fd, c->request, bo, queue, &r, &s, arg);
			arg[c->offset / 4] |= 1u << bit;
			memcpy(before, arg, sizeof(arg));
			EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, c->request, arg))
				TH_LOG("ioctl %#lx, word at %u, bit %u", c->request, c->offset,
				       bit);
			EXPECT_EQ(0, memcmp(before, arg, sizeof(arg)))
				TH_LOG("ioctl %#lx has changed its arguments", c->request);
		}
	}
	/* Nothing of that has had an effect. */
	EXPECT_EQ(-EINVAL, npu_bo_unbind(self->fd, bo));
	EXPECT_EQ(1, npu_run(self->fd, queue, &s, 0));
	EXPECT_EQ(0, npu_queue_destroy(self->fd, queue));
}

TEST_F(device, flags_enum)
{
	static const uint32_t bad[] = { 3, 4, 31, 32, 33, 0x80000000, 0xffffffff };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct drm_npu_queue_create arg = { .ring = bad[i], .queue = NPU_POISON32 };

		EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &arg));
		EXPECT_EQ(NPU_POISON32, arg.queue);
		arg.ring = 0;
		arg.priority = bad[i];
		EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &arg));
		EXPECT_EQ(NPU_POISON32, arg.queue);
	}
}

/* Driver calls are 0x40 to 0x9f; ours are the first ten. */
TEST_F(device, ioctl_unknown)
{
	unsigned int nr;
	char arg[256] = "";

	for (nr = DRM_COMMAND_BASE + DRM_NPU_SUBMIT + 1; nr < DRM_COMMAND_END; nr++) {
		EXPECT_EQ(-ENOTTY, npu_ioctl(self->fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', nr, 16),
					     arg))
			TH_LOG("ioctl %#x", nr);
		EXPECT_EQ(-ENOTTY, npu_ioctl(self->fd, _IOC(_IOC_NONE, 'd', nr, 0), NULL));
	}
	EXPECT_EQ(-ENOTTY, npu_ioctl(self->fd, _IOC(_IOC_WRITE, 'x', 0x40, 16), arg));
}

/* What the kernel cannot read or write. */
TEST_F(device, ioctl_badptr)
{
	static const unsigned long requests[] = {
		DRM_IOCTL_NPU_GET_PARAM, DRM_IOCTL_NPU_BO_CREATE, DRM_IOCTL_NPU_BO_BIND,
		DRM_IOCTL_NPU_BO_UNBIND, DRM_IOCTL_NPU_BO_INFO, DRM_IOCTL_NPU_BO_WAIT,
		DRM_IOCTL_NPU_QUEUE_CREATE, DRM_IOCTL_NPU_QUEUE_DESTROY,
		DRM_IOCTL_NPU_QUEUE_GET_STATE, DRM_IOCTL_NPU_SUBMIT,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, requests[i], NULL));
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, requests[i], (void *)(uintptr_t)-4096));
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, requests[i], (void *)1));
	}
}

/*
 * An object whose name cannot be told must not stay: neither a handle nor a
 * queue may be left behind by a result that could not be written.
 */
TEST_F(device, ioctl_readonly_result)
{
	struct drm_npu_queue_create *queue;
	struct drm_npu_bo_create *bo;
	uint32_t before, after;
	void *page;
	int first;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	bo = page;
	queue = page + 256;
	bo->size = 4096;
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &before));
	ASSERT_EQ(0, npu_gem_close(self->fd, before));
	first = npu_queue(self->fd, NPU_RING_FETCH_MAIN);
	ASSERT_LT(0, first);
	ASSERT_EQ(0, npu_queue_destroy(self->fd, first));

	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, DRM_IOCTL_NPU_BO_CREATE, bo));
	EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, DRM_IOCTL_NPU_QUEUE_CREATE, queue));

	/* The lowest free handle is the same as before. */
	ASSERT_EQ(0, npu_bo_create(self->fd, 4096, &after));
	EXPECT_EQ(before, after);
	EXPECT_EQ(first, npu_queue(self->fd, NPU_RING_FETCH_MAIN));
	munmap(page, 4096);
}

static uint64_t fuzz_state;

static uint64_t fuzz_random(void)
{
	uint64_t z = fuzz_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Values that are wrong in interesting ways, and now and then right. */
static uint64_t fuzz_value(void)
{
	static const uint64_t interesting[] = {
		0, 1, 2, 3, 8, 16, 24, 4096, 65536, 0x7fffffff, 0x80000000, 0xffffffff,
		0x100000000, NPU_BASE, (1ull << 39) - 4096, 1ull << 39, INT64_MAX, 1ull << 63,
		~0ull - 4095, ~0ull,
	};
	uint64_t r = fuzz_random();

	if (r % 4)
		return interesting[(r >> 8) % ARRAY_SIZE(interesting)];
	return r >> 8 >> (r >> 2 & 31);
}

static void fuzz_pointers(struct drm_npu_submit *arg, const struct npu_request *good, void *junk)
{
	__u64 *pointer[] = { &arg->jobs, &arg->bos, &arg->in_syncs, &arg->out_syncs };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pointer); i++)
		if (fuzz_random() % 4)
			*pointer[i] = npu_ptr(fuzz_random() % 2 ? junk : (void *)&good->job);
	if (fuzz_random() % 2) {
		arg->flags = 0;
		arg->pad = 0;
		arg->job_stride = sizeof(struct drm_npu_job);
		arg->sync_stride = sizeof(struct drm_npu_sync);
		arg->queue = 1;
	}
}

/* Any call with any arguments: the kernel answers, and the device goes on. */
TEST_F(device, ioctl_fuzz)
{
	const char *seed = getenv("NPU_TEST_SEED");
	int64_t deadline = npu_in_ms(3000);
	int fd = npu_open();
	struct npu_request good;
	uint64_t arg[16], junk[512];
	struct npu_stream s;
	unsigned int calls;

	ASSERT_LE(0, fd);
	fuzz_state = seed ? strtoull(seed, NULL, 0) : 1;
	npu_stream_empty(&s);
	npu_queue(fd, NPU_RING_FETCH_MAIN);
	for (calls = 0; calls < 20000 && npu_now() < deadline; calls++) {
		unsigned int nr = DRM_COMMAND_BASE + fuzz_random() % 12, i;
		unsigned int size = fuzz_random() % 4 ? 72 : fuzz_random() % 128;

		for (i = 0; i < ARRAY_SIZE(arg); i++)
			arg[i] = fuzz_value() << (fuzz_random() % 2 * 32) | fuzz_value();
		for (i = 0; i < 64; i++)
			junk[fuzz_random() % ARRAY_SIZE(junk)] = fuzz_value();
		npu_request_init(&good, 1, &s, 0);
		if (nr == DRM_COMMAND_BASE + DRM_NPU_SUBMIT)
			fuzz_pointers((void *)arg, &good, junk);
		/* A wait may take as long as it was asked to. */
		if (nr == DRM_COMMAND_BASE + DRM_NPU_BO_WAIT)
			arg[1] = npu_now();
		/* What is bound takes memory. */
		if (nr == DRM_COMMAND_BASE + DRM_NPU_BO_CREATE && fuzz_random() % 8)
			arg[0] &= 0xfffff;
		else if (nr == DRM_COMMAND_BASE + DRM_NPU_BO_CREATE)
			arg[0] |= 1ull << 40;
		npu_ioctl(fd, _IOC(fuzz_random() % 4, 'd', nr, size), arg);
	}
	TH_LOG("%u calls, seed %s", calls, seed ? seed : "1");
	EXPECT_LT(100, calls);
	close(fd);
	EXPECT_EQ(1, npu_alive(self->fd));
}

TEST_HARNESS_MAIN
