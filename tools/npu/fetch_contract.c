// SPDX-License-Identifier: MIT
/* npu fetch --contract: the weights and the shapes. */
#include <string.h>

#include "fetch.h"

/* The weights' own type, or what --weight-type or, failing that, --type makes of it. */
static int open_weights(const struct fetch_args *args, const struct options *opts,
			struct contraction *c)
{
	struct tensor_opts t = { .type = args->weight_type };
	bool open;
	int ret;

	if (!t.type && opts->tensor.type) {
		ret = input_type_is_open(args->contract, &open);
		if (ret)
			return ret;
		t.type = open ? opts->tensor.type : NPU_TYPE_NONE;
	}
	/* How 4-bit elements lie is the same for both, where both say no more than a width. */
	if (npu_type_bits(t.type) == 4) {
		t.nibble_high = opts->tensor.nibble_high;
		t.unpacked = opts->tensor.unpacked;
	}
	return input_open(&c->w, args->contract, TENSOR_FORMAT_AUTO, &t);
}

static int set_shape(const struct input *in, struct contraction *c)
{
	const struct tensor *w = &c->w.t;
	uint64_t cols = in->t.ndim ? in->t.shape[in->t.ndim - 1] : 1;
	uint64_t k = w->ndim ? w->shape[w->ndim - 1] : 1;
	uint64_t n = k ? w->elements / k : w->ndim > 1 ? w->shape[0] : 0;

	/* Raw weights are rows of IN's length. */
	if (w->ndim == 1 && tensor_file_format(w->file) == TENSOR_FORMAT_RAW && cols &&
	    k % cols == 0) {
		n = k / cols;
		k = cols;
	}
	if (k > UINT32_MAX || n > UINT32_MAX)
		return fail(NPU_EXIT_USAGE, "--contract: %llu rows of %llu weights are too many",
			    (unsigned long long)n, (unsigned long long)k);
	c->weights.k = (uint32_t)k;
	c->weights.n = (uint32_t)n;
	return 0;
}

int fetch_contract_open(const struct fetch_args *args, const struct options *opts,
			const struct input *in, struct contraction *c)
{
	int ret;

	memset(c, 0, sizeof(*c));
	c->weights = (struct npu_weights)NPU_WEIGHTS_INIT;
	ret = open_weights(args, opts, c);
	if (ret)
		return ret;
	ret = set_shape(in, c);
	if (ret)
		return ret;
	c->weights.type = c->w.t.type;
	c->weights.has_zero_point = args->has_weight_zero_point;
	c->weights.zero_point = args->weight_zero_point;
	c->weights.k_group = args->k_group;
	c->groups = 1;
	if (args->k_group)
		c->groups = c->weights.k ? (c->weights.k - 1) / args->k_group + 1 : 0;
	if (c->w.t.bytes > WHOLE_MAX)
		return fail(NPU_EXIT_USAGE, "%s: weights of more than %llu bytes", args->contract,
			    WHOLE_MAX);
	return 0;
}

int fetch_contract_rows(struct contraction *c, uint64_t elements)
{
	uint64_t k = c->weights.k;

	if (!k || elements % k)
		return fail_rule(NPU_RULE_CONTRACT_SHAPE,
				 "--contract: %llu elements are no rows of the weights' K, %llu",
				 (unsigned long long)elements, (unsigned long long)k);
	c->m = elements / k;
	if (c->m <= UINT32_MAX)
		return 0;
	return fail(NPU_EXIT_USAGE, "--contract: %llu rows are more than 2^32",
		    (unsigned long long)c->m);
}

uint64_t fetch_contract_bytes(const struct contraction *c, uint64_t rows)
{
	uint64_t n;

	if (__builtin_mul_overflow(rows, c->groups, &n) ||
	    __builtin_mul_overflow(n, (uint64_t)c->weights.n, &n) ||
	    __builtin_mul_overflow(n, (uint64_t)4, &n))
		return UINT64_MAX;
	return n;
}
