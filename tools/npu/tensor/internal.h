/* SPDX-License-Identifier: MIT */
/* What the files of this folder share; nobody else includes it. */
#ifndef NPU_TOOLS_TENSOR_INTERNAL_H
#define NPU_TOOLS_TENSOR_INTERNAL_H

#include "tensor.h"

/* Enough of a path to recognise it; the rest of a message must fit behind it. */
#define LABEL_SIZE	164

struct slab;

struct tensor_file {
	int fd;
	enum tensor_format format;
	uint64_t size;			/* when it was opened */
	char *name;
	char label[LABEL_SIZE];		/* for messages: the end of a long name */
	size_t count;
	struct tensor_info *infos;
	uint64_t *dims;			/* the shapes of all tensors */
	char *strings;			/* their names and dtypes */
	struct slab *slab;		/* of a tensor in Fortran order, else NULL */
};

/* error.c */
int tensor_fail(struct tensor_error *err, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void tensor_label(char label[LABEL_SIZE], const char *name);

/* "FILE" or "FILE: tensor 'NAME'": how a message about a tensor begins. */
#define WHERE_SIZE	(LABEL_SIZE + 120)
void tensor_where(char where[WHERE_SIZE], const struct tensor_file *file,
		  const struct tensor_info *info);

/* file.c */
int tensor_file_pread(const struct tensor_file *file, void *dst, uint64_t bytes, uint64_t offset,
		      struct tensor_error *err);
int tensor_file_alloc(struct tensor_file *file, size_t count, size_t dims, size_t string_bytes,
		      struct tensor_error *err);

/* One per format: check the header and fill the list of tensors. */
int npy_load(struct tensor_file *file, struct tensor_error *err);
int safetensors_load(struct tensor_file *file, struct tensor_error *err);
int raw_load(struct tensor_file *file, struct tensor_error *err);

/* path.c: AUTO for an ending that names no format */
enum tensor_format tensor_format_of(const char *path);

/* npy_header.c */
#define NPY_DESCR_SIZE	64

struct npy_header {
	char descr[NPY_DESCR_SIZE];
	bool fortran;
	unsigned int ndim;
	uint64_t shape[TENSOR_MAX_DIMS];
};

int npy_parse_header(struct npy_header *header, const char *text, size_t bytes, const char *label,
		     struct tensor_error *err);

/* type.c */
struct tensor_dtype {
	const char *dtype;
	const char *type_name;
	unsigned int bits;
	uint32_t type;
	bool width_only;
};

/* Not i5 and i9, which have a code but are never stored, nor any number that is no code. */
bool type_in_memory(uint32_t type);
const struct tensor_dtype *safetensors_dtype(const char *name);
const char *npy_dtype_of(uint32_t type);
const char *safetensors_dtype_of(uint32_t type);

/* Product of the dimensions; false if that of the non-zero ones does not fit in 63 bits. */
bool tensor_shape_product(const uint64_t *shape, unsigned int ndim, uint64_t *product);

/* fortran.c: items (not elements) in C order, still in the file's byte order */
int fortran_read(const struct tensor_file *file, const struct tensor_info *info, uint64_t first,
		 uint64_t n, uint8_t *dst, struct tensor_error *err);

int fortran_prepare(struct tensor_file *file, struct tensor_error *err);
void fortran_release(struct tensor_file *file);

/* output.c: a file that appears when it is complete */
struct output {
	int fd;
	bool direct;		/* a pipe or a device: written in place */
	bool owned;		/* close it */
	char *path;		/* absolute; NULL if direct */
	char *temp;		/* the hidden name, or NULL while the file has none */
	int slot;		/* of @temp among the pending files */
	char label[LABEL_SIZE];
};

int output_open(struct output *out, const char *path, uint64_t bytes, struct tensor_error *err);
int output_append(struct output *out, const void *data, size_t bytes, struct tensor_error *err);
int output_commit(struct output *out, struct tensor_error *err);
void output_discard(struct output *out);

/* pending.c: hidden files to remove if the program ends early; -1 if there are too many */
int pending_add(const char *path);
void pending_remove(int slot);

#endif
