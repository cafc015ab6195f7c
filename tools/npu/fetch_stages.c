// SPDX-License-Identifier: MIT
/*
 * npu fetch: stages chosen at run time.
 *
 * libnpu's stages are types, so that a program with an illegal order does not compile. Here the
 * order is fixed and each stage is there or not: a value that is one of those types.
 */
#include "fetch.h"

struct stage {
	enum { FETCHED, MASKED, LOOKED_UP, CASTED, RESIDUAL } kind;
	union {
		struct npu_fetched fetched;
		struct npu_masked masked;
		struct npu_looked_up looked_up;
		struct npu_casted casted;
		struct npu_residual residual;
	};
};

static void add_lookup(struct stage *s, const struct fetch_args *args)
{
	bool user = args->table || args->table_function != NO_FUNCTION;

	if (!user && !args->lookup)
		return;
	if (s->kind == MASKED)
		s->looked_up = user ? npu_table(s->masked, 0) :
				      npu_lookup(s->masked, args->lookup);
	else
		s->looked_up = user ? npu_table(s->fetched, 0) :
				      npu_lookup(s->fetched, args->lookup);
	s->kind = LOOKED_UP;
}

static void add_cast(struct stage *s, uint32_t type)
{
	if (!type)
		return;
	if (s->kind == LOOKED_UP)
		s->casted = npu_cast(s->looked_up, type);
	else if (s->kind == MASKED)
		s->casted = npu_cast(s->masked, type);
	else
		s->casted = npu_cast(s->fetched, type);
	s->kind = CASTED;
}

static void add_zero_point(struct stage *s, int32_t zero_point)
{
	switch (s->kind) {
	case CASTED:
		s->residual = npu_zero_point_sub(s->casted, zero_point);
		break;
	case LOOKED_UP:
		s->residual = npu_zero_point_sub(s->looked_up, zero_point);
		break;
	case MASKED:
		s->residual = npu_zero_point_sub(s->masked, zero_point);
		break;
	default:
		s->residual = npu_zero_point_sub(s->fetched, zero_point);
		break;
	}
	s->kind = RESIDUAL;
}

static void add_contract(const struct stage *s, const struct npu_weights *weights,
			 struct npu_ref dst)
{
	switch (s->kind) {
	case RESIDUAL:
		npu_contract(s->residual, weights, dst);
		break;
	case CASTED:
		npu_contract(s->casted, weights, dst);
		break;
	case LOOKED_UP:
		npu_contract(s->looked_up, weights, dst);
		break;
	case MASKED:
		npu_contract(s->masked, weights, dst);
		break;
	default:
		npu_contract(s->fetched, weights, dst);
		break;
	}
}

static void add_memory(const struct stage *s, bool flits, struct npu_ref dst)
{
	switch (s->kind) {
	case CASTED:
		flits ? npu_commit_flits(s->casted, dst) : npu_commit(s->casted, dst);
		break;
	case LOOKED_UP:
		flits ? npu_commit_flits(s->looked_up, dst) : npu_commit(s->looked_up, dst);
		break;
	case MASKED:
		flits ? npu_commit_flits(s->masked, dst) : npu_commit(s->masked, dst);
		break;
	default:
		flits ? npu_commit_flits(s->fetched, dst) : npu_commit(s->fetched, dst);
		break;
	}
}

static void add_sub(const struct fetch_args *args, struct npu_stream *stream,
		    const struct npu_view *view, struct npu_ref dst)
{
	struct npu_sub_fetched fetched = npu_sub_fetch(stream, view);
	struct npu_sub_casted casted;

	if (!args->cast) {
		args->flits ? npu_commit_flits(fetched, dst) : npu_commit(fetched, dst);
		return;
	}
	casted = npu_cast(fetched, args->cast);
	args->flits ? npu_commit_flits(casted, dst) : npu_commit(casted, dst);
}

/* The builder's errors are sticky: whoever submits asks for them. */
void fetch_add(const struct fetch_args *args, struct npu_stream *stream,
	       const struct npu_view *view, const struct npu_weights *weights, struct npu_ref dst)
{
	struct stage s = { .kind = FETCHED };

	if (args->sub) {
		add_sub(args, stream, view, dst);
		return;
	}
	s.fetched = npu_fetch(stream, view);
	if (args->has_mask) {
		s.masked = npu_mask(s.fetched, &args->mask);
		s.kind = MASKED;
	}
	add_lookup(&s, args);
	add_cast(&s, args->cast);
	if (args->has_zero_point)
		add_zero_point(&s, args->zero_point);
	if (weights)
		add_contract(&s, weights, dst);
	else
		add_memory(&s, args->flits, dst);
}

uint32_t fetch_stream_type(const struct fetch_args *args, uint32_t type,
			   const struct fetch_table *table)
{
	if (args->cast)
		return args->cast;
	if (table->data)
		return table->entry_type;
	return args->lookup ? args->lookup : type;
}
