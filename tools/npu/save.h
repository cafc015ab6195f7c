/* SPDX-License-Identifier: MIT */
/*
 * Saved streams: jobs with the memory that they work on.
 *
 * A file is SAVE_MAGIC and then jobs until it ends, all little-endian. A job is a struct
 * saved_job, @bo_count struct saved_bo, the stream padded to 8 bytes, and the data of each BO
 * padded to 8 bytes. Documentation/npu.rst describes it for others.
 */
#ifndef NPU_TOOLS_SAVE_H
#define NPU_TOOLS_SAVE_H

#include <stddef.h>
#include <stdint.h>

#include <npu.h>

#define SAVE_MAGIC	"NPUSAVE1"
#define SAVE_MAGIC_SIZE	8
#define SAVE_MAX	(1ull << 34)
#define SAVE_MAX_BOS	64

struct saved_job {
	uint32_t bytes;			/* of this structure */
	uint32_t ring;			/* NPU_RING_* */
	uint32_t stream_bytes;
	uint32_t bo_count;
	struct npu_result result;	/* as the job ended when it was saved */
};

#define SAVED_BO_OUTPUT	(1u << 0)	/* data: what the job left; else: what it found */
#define SAVED_BO_KEEP	(1u << 1)	/* as the job before left it; no data */
#define SAVED_BO_RDONLY	(1u << 2)	/* the device may not write it */

struct saved_bo {
	uint64_t address;
	uint64_t size;			/* of the BO; what has no data is zeros */
	uint64_t data_bytes;
	uint32_t flags;
	uint32_t pad;
};

/* A job in a file that has been read: the pointers are into the file's bytes. */
struct saved_view {
	struct saved_job job;
	const uint8_t *stream;
	struct saved_bo bos[SAVE_MAX_BOS];
	const uint8_t *data[SAVE_MAX_BOS];
};

/* ---- saved.c ---- */

/* Whether this is a saved file at all. */
int save_is_saved(const void *data, size_t bytes);
/*
 * The job at *@offset (0 at first), which moves on to the next one. 1: there was one, 0: the end,
 * -1: the file is damaged there.
 */
int save_next(const void *data, size_t bytes, size_t *offset, struct saved_view *view);
/* Says so; an exit status. */
int save_damaged(const char *path, size_t offset);
int save_bo_is_sound(const struct saved_bo *bo);

/* A file that is being made; NULL: there is no memory or no room for temporary files. */
struct save_file;

struct save_file *save_file_open(void);
void save_put_job(struct save_file *file, const struct saved_view *view);
uint64_t save_file_bytes(const struct save_file *file);
/* Writes it to @path, where that is not NULL; frees it. An exit status. */
int save_file_close(struct save_file *file, const char *path);

#endif
