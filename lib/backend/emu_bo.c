// SPDX-License-Identifier: MIT
#define _FILE_OFFSET_BITS 64
/* Memory of BOs: memfds, so that they can be exported, and dma-bufs that come in. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu.h"
#include "error.h"

/* What the engine sees of a scattered BO. */
struct emu_scatter {
	uint8_t *view;
	size_t bytes;
	uint32_t slots[];
};

static int map_fd(struct npu_bo *bo)
{
	int flags = MAP_SHARED | (bo->fd < 0 ? MAP_ANONYMOUS : 0);
	void *map;

	if (bo->size > SIZE_MAX / 2)
		return npu_fail(ENOMEM, "a BO of %llu bytes does not fit this process",
				(unsigned long long)bo->size);
	map = mmap(NULL, (size_t)bo->size, PROT_READ | PROT_WRITE, flags, bo->fd, 0);
	if (map == MAP_FAILED)
		return npu_fail(errno == ENOMEM ? ENOMEM : EIO, "a BO of %llu bytes: mmap: %m",
				(unsigned long long)bo->size);
	bo->map = map;
	return 0;
}

int emu_bo_create(struct npu_bo *bo)
{
	int ret;

	bo->fd = memfd_create("npu-bo", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Out of descriptors a BO still works; it only cannot be exported. */
	if (bo->fd < 0 && errno != EMFILE && errno != ENFILE)
		return npu_fail(ENOMEM, "no memory for a BO: memfd_create: %m");
	if (bo->fd >= 0 &&
	    (ftruncate(bo->fd, (off_t)bo->size) ||
	     fcntl(bo->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))) {
		ret = npu_fail(ENOMEM, "no memory for a BO of %llu bytes: %m",
			       (unsigned long long)bo->size);
		goto err_close;
	}
	ret = map_fd(bo);
	if (ret)
		goto err_close;
	return 0;

err_close:
	if (bo->fd >= 0)
		close(bo->fd);
	return ret;
}

/* A file that cannot shrink under the engine's feet: a dma-buf, or a memfd with a seal. */
static bool is_steady(int fd)
{
	struct dma_buf_sync none = { 0 };
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals >= 0)
		return seals & F_SEAL_SHRINK || !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	/* No flags are no request: a dma-buf says EINVAL, everything else ENOTTY. */
	return ioctl(fd, DMA_BUF_IOCTL_SYNC, &none) < 0 && errno == EINVAL;
}

int emu_bo_import(struct npu_bo *bo, int fd)
{
	off_t size;
	int ret;

	if (fcntl(fd, F_GETFD) < 0)
		return npu_fail(EBADF, "npu_bo_import: %d is no open file descriptor", fd);
	if (!is_steady(fd))
		return npu_fail(EINVAL,
				"npu_bo_import: descriptor %d is neither a dma-buf nor a memfd that can be sealed against shrinking",
				fd);
	size = lseek(fd, 0, SEEK_END);
	if (size <= 0 || size % NPU_PAGE_SIZE)
		return npu_fail(EINVAL,
				"npu_bo_import: descriptor %d has %lld bytes, not a multiple of %u above 0",
				fd, (long long)size, NPU_PAGE_SIZE);
	bo->size = (uint64_t)size;
	bo->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (bo->fd < 0)
		return npu_fail(errno, "npu_bo_import: no file descriptor is left: %m");
	ret = map_fd(bo);
	if (ret)
		close(bo->fd);
	return ret;
}

bool emu_bo_same(const struct npu_bo *known, const struct npu_bo *import)
{
	struct stat a, b;

	if (known->fd < 0 || fstat(known->fd, &a) || fstat(import->fd, &b) ||
	    a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return false;
	munmap(import->map, (size_t)import->size);
	close(import->fd);
	return true;
}

/* A shuffle that depends on nothing but the BO's address. */
static void shuffle(uint32_t *slots, uint32_t count, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;
	uint32_t i, j, t;

	for (i = 0; i < count; i++)
		slots[i] = i;
	for (i = count; i-- > 1;) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		j = (uint32_t)(x % (i + 1));
		t = slots[i];
		slots[i] = slots[j];
		slots[j] = t;
	}
}

static int scatter(struct npu_bo *bo)
{
	uint32_t i, pages = (uint32_t)(bo->size / NPU_PAGE_SIZE);
	struct emu_scatter *s;
	void *at;

	if (bo->fd < 0 || sysconf(_SC_PAGESIZE) != NPU_PAGE_SIZE || bo->size > SIZE_MAX / 4)
		return npu_fail(ENOTSUP, "NPU_OPEN_SCATTER: a BO of %llu bytes cannot be scattered",
				(unsigned long long)bo->size);
	s = malloc(sizeof(*s) + pages * sizeof(s->slots[0]));
	if (!s)
		return npu_fail(ENOMEM, "no memory for a BO");
	s->bytes = pages * EMU_SLOT;
	s->view = mmap(NULL, s->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		       0);
	if (s->view == MAP_FAILED) {
		free(s);
		return npu_fail(ENOMEM, "a scattered BO of %llu bytes: mmap: %m",
				(unsigned long long)bo->size);
	}
	shuffle(s->slots, pages, bo->range.start);
	for (i = 0; i < pages; i++) {
		at = mmap(s->view + s->slots[i] * EMU_SLOT, NPU_PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_FIXED, bo->fd, (off_t)i * NPU_PAGE_SIZE);
		if (at == MAP_FAILED) {
			munmap(s->view, s->bytes);
			free(s);
			return npu_fail(ENOMEM, "a scattered BO of %llu bytes: mmap: %m",
					(unsigned long long)bo->size);
		}
	}
	bo->priv = s;
	return 0;
}

int emu_bo_bind(struct npu_bo *bo)
{
	struct emu_mapping mapping = {
		.start = bo->range.start,
		.end = bo->range.end,
		.base = bo->map,
		.rdonly = bo->flags & NPU_BO_DEVICE_RDONLY,
	};
	int ret;

	if (bo->dev->flags & NPU_OPEN_SCATTER) {
		struct emu_scatter *s;

		ret = scatter(bo);
		if (ret)
			return ret;
		s = bo->priv;
		mapping.base = s->view;
		mapping.slots = s->slots;
	}
	ret = emu_space_bind(&emu_of(bo->dev)->space, &mapping);
	return ret ? npu_fail(ENOMEM, "no memory for a BO") : 0;
}

void emu_bo_free(struct npu_bo *bo, bool bound)
{
	struct emu_scatter *s = bo->priv;

	if (bound && !bo->dev->forked)
		emu_space_unbind(&emu_of(bo->dev)->space, bo->range.start);
	if (s) {
		munmap(s->view, s->bytes);
		free(s);
	}
	munmap(bo->map, (size_t)bo->size);
	if (bo->fd >= 0)
		close(bo->fd);
}

int emu_bo_map(struct npu_bo *bo, void **map)
{
	*map = bo->map;
	return 0;
}

int emu_bo_export(struct npu_bo *bo, int *out)
{
	int fd;

	if (bo->fd < 0)
		return npu_fail(EMFILE,
				"npu_bo_export: no file descriptor was left for this BO when it was created");
	fd = fcntl(bo->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return npu_fail(errno, "npu_bo_export: no file descriptor is left: %m");
	*out = fd;
	return 0;
}
