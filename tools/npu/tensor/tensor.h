/* SPDX-License-Identifier: MIT */
/*
 * Tensor files: .npy, .safetensors and raw, read and written in pieces.
 *
 * A file is opened once (tensor_open), one of its tensors is found by name (tensor_find), and a
 * typed view of that tensor is made (tensor_bind), which is where --type, --cols and their kin are
 * applied.  tensor_read() then delivers any range of the view's elements in C order, little-endian
 * and packed, the way libnpu wants them in memory, whatever the file's own order is.  Everything
 * is read with pread(): nothing is mapped, so a file that shrinks meanwhile is an error and never
 * a SIGBUS, and memory use does not depend on the tensor's size.
 *
 *	struct tensor_error err;
 *	struct tensor_path path;
 *	struct tensor_file *file;
 *	const struct tensor_info *info;
 *	struct tensor t;
 *
 *	tensor_path_parse(&path, "m.safetensors:w", TENSOR_FORMAT_AUTO, TENSOR_IN, &err);
 *	tensor_open(&file, path.file, path.format, &err);
 *	tensor_find(file, path.tensor, &info, &err);
 *	tensor_bind(&t, file, info, &(struct tensor_opts){ .type = NPU_TYPE_BF16 }, &err);
 *	tensor_read(&t, first, n, bo_map, &err);
 *
 * Errors: every function that may fail returns 0 or a negative errno and fills the caller's
 * struct tensor_error with one sentence: what, where, why.  The errno tells whose fault it is:
 *
 *	-EINVAL		an option or a combination that cannot be (exit status 2)
 *	-EBADMSG	the file is malformed (5)
 *	-ENOTSUP	the file is fine, but holds something this program does not convert (5)
 *	-ENOENT		no such file, or no such tensor in it (5)
 *	-EIO		the file changed or ended while it was read (5)
 *	others		as the system call gave them: -EACCES, -ENOSPC, -ENOMEM, ...
 */
#ifndef NPU_TOOLS_TENSOR_H
#define NPU_TOOLS_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <npu.h>

#define TENSOR_MAX_DIMS		32

struct tensor_error {
	char text[512];
};

enum tensor_format {
	TENSOR_FORMAT_AUTO,
	TENSOR_FORMAT_NPY,
	TENSOR_FORMAT_SAFETENSORS,
	TENSOR_FORMAT_RAW,
};

/*
 * Element types are the NPU_TYPE_* codes that lie in memory, by npu.h's names.  NPU_TYPE_NONE: the
 * file does not say, or says one that the NPU does not have.
 */

/* "npy", "safetensors" or "raw", as --in-format takes them; -EINVAL if it is none of them. */
int tensor_format_parse(const char *name, enum tensor_format *format, struct tensor_error *err);
const char *tensor_format_name(enum tensor_format format);

/* Names on the command line. */

enum tensor_direction {
	TENSOR_IN,
	TENSOR_OUT,
};

struct tensor_path {
	char *file;			/* "-" for standard input or output */
	char *tensor;			/* NULL where none was named */
	enum tensor_format format;	/* never AUTO */
};

/*
 * Take "FILE", "FILE.safetensors:TENSOR" or "-" apart.  @forced (--in-format, --out-format)
 * overrides the ending.  A colon belongs to the file's name if such a file exists.
 */
int tensor_path_parse(struct tensor_path *path, const char *arg, enum tensor_format forced,
		      enum tensor_direction direction, struct tensor_error *err);
void tensor_path_release(struct tensor_path *path);

/* What a file says of a tensor. */
struct tensor_info {
	const char *name;		/* "" in .npy and raw */
	const char *dtype;		/* as the file spells it: "<f4", "BF16"; "" in raw */
	const char *type_name;		/* for people: "bf16", "i64", "bool"; "raw" in raw */
	uint32_t type;			/* what the dtype means, or NPU_TYPE_NONE */
	bool width_only;		/* the dtype gives no more than a width: --type may refine it */
	bool fortran;
	bool big_endian;
	unsigned int item_bits;		/* bits of an element in the file; 0: an unknown dtype */
	unsigned int ndim;
	const uint64_t *shape;		/* @ndim of them, as the file says */
	uint64_t elements;		/* product of @shape */
	uint64_t bytes;			/* in the file */
	uint64_t offset;		/* of the first byte, from the start of the file */
};

struct tensor_file;

/*
 * Open @path.  AUTO goes by the ending.  "-", and whatever cannot be read at an offset (a pipe),
 * is first copied to an unlinked file in $TMPDIR.  The whole header is checked here: what this
 * function accepts has every tensor within the file, sizes without overflow.
 */
int tensor_open(struct tensor_file **file, const char *path, enum tensor_format format,
		struct tensor_error *err);

/*
 * The same of an open regular file; the descriptor is duplicated.  @name is for messages.  @format
 * must not be AUTO.
 */
int tensor_open_fd(struct tensor_file **file, int fd, const char *name, enum tensor_format format,
		   struct tensor_error *err);
void tensor_close(struct tensor_file *file);

enum tensor_format tensor_file_format(const struct tensor_file *file);
const char *tensor_file_name(const struct tensor_file *file);
size_t tensor_file_count(const struct tensor_file *file);
/* In the order of the header. @i < tensor_file_count(); the pointer lives as long as @file. */
const struct tensor_info *tensor_file_info(const struct tensor_file *file, size_t i);

/* @name may be NULL if the file holds a single tensor; the message lists the candidates. */
int tensor_find(const struct tensor_file *file, const char *name, const struct tensor_info **info,
		struct tensor_error *err);

/* What the command line adds to what the file says. Zero means "not given". */
struct tensor_opts {
	uint32_t type;		/* --type, or NPU_TYPE_NONE */
	bool unpacked;		/* --unpacked: one 4-bit element per byte */
	bool nibble_high;	/* --nibble-order high: element 0 is the high nibble */
	bool has_count;
	uint64_t count;		/* --count: elements of raw data */
	uint64_t cols;		/* --cols: last axis of raw data */
};

/* A typed view of one tensor. Plain data: copy it, share it, forget it. */
struct tensor {
	const struct tensor_file *file;
	const struct tensor_info *info;
	uint32_t type;			/* a type that libnpu knows, always */
	unsigned int ndim;
	uint64_t shape[TENSOR_MAX_DIMS];	/* in elements of @type */
	uint64_t elements;
	uint64_t bytes;			/* npu_type_bytes(type, elements) */
	bool unpacked;
	bool nibble_high;
};

/*
 * Refuses: a type that contradicts the file, no type at all, a dtype that libnpu has no type for,
 * a raw file that is not a whole number of elements or rows.  A 4-bit type over bytes doubles the
 * last axis.  @opts may be NULL.
 */
int tensor_bind(struct tensor *t, const struct tensor_file *file, const struct tensor_info *info,
		const struct tensor_opts *opts, struct tensor_error *err);

/*
 * Read elements [@first, @first + @n) in C order into @dst, packed, little-endian;
 * npu_type_bytes(t->type, n) bytes are written, an unused last nibble as 0.  Any @first is
 * right, an even one is faster for 4-bit types.  A plain layout is one pread() straight to @dst;
 * Fortran order goes through buffers, of at most 64 MiB when it is read piece by piece from the
 * first element on, which is the way it should be read.  Thread-safe, also on one file.
 */
int tensor_read(const struct tensor *t, uint64_t first, uint64_t n, void *dst,
		struct tensor_error *err);

/* Writing. */

struct tensor_spec {
	uint32_t type;
	unsigned int ndim;
	const uint64_t *shape;		/* in elements of @type */
	const char *name;		/* in .safetensors; NULL: "tensor" */
};

struct tensor_writer;

/*
 * Start writing one tensor.  Nothing is visible under @path before tensor_commit(): the data goes
 * to a nameless file in the same directory (or, where the file system has none, to a hidden one),
 * so that a program that dies, be it by SIGKILL, leaves nothing, and @path may be the very file
 * that is being read.  A device or a pipe is written to directly.  "-" is standard output, raw.
 * Types without a .npy dtype become <u2 or |u1; packed 4-bit data has half the last axis, or, if
 * that is odd, is one vector of bytes.
 */
int tensor_create(struct tensor_writer **writer, const char *path, enum tensor_format format,
		  const struct tensor_spec *spec, struct tensor_error *err);

/* Append packed, little-endian bytes, in C order. More than the shape holds is -EINVAL. */
int tensor_write(struct tensor_writer *writer, const void *data, size_t bytes,
		 struct tensor_error *err);

/*
 * Both free the writer, also on failure.  tensor_commit() refuses (-EINVAL) a tensor that is not
 * complete; after an error nothing is left behind and a file of that name is as it was.
 */
int tensor_commit(struct tensor_writer *writer, struct tensor_error *err);
void tensor_abort(struct tensor_writer *writer);

/*
 * Remove the hidden files of all unfinished writers: for the handler of a fatal signal
 * (async-signal-safe). exit() does it by itself.
 */
void tensor_unlink_pending(void);

#endif
