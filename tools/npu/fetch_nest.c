// SPDX-License-Identifier: MIT
/* npu fetch: a loop nest over a tensor that lies in one BO as a whole. */
#include <string.h>

#include "fetch.h"

bool fetch_has_nest(const struct fetch_args *args)
{
	return args->loop_count || args->offset || args->packet || args->read_size ||
	       args->unpadded || args->flits || args->interleave || args->has_mask;
}

/* Loops as given, or one over the whole tensor. */
static int set_loops(const struct fetch_args *args, const struct tensor *t, struct nest *nest)
{
	memcpy(nest->loops, args->loops, sizeof(nest->loops));
	nest->loop_count = args->loop_count;
	if (args->loop_count)
		return 0;
	if (t->elements > UINT32_MAX)
		return fail(NPU_EXIT_USAGE,
			    "--loop: missing; one loop over all %llu elements would be longer than 2^32",
			    (unsigned long long)t->elements);
	nest->loops[0] = (struct npu_loop){ .size = (uint32_t)t->elements, .stride = 1 };
	nest->loop_count = 1;
	return 0;
}

static int count_elements(struct nest *nest)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < nest->loop_count; i++) {
		if (__builtin_mul_overflow(n, (uint64_t)nest->loops[i].size, &n))
			return fail_rule(NPU_RULE_NEST_OVERFLOW, "--loop: the sizes' product");
	}
	nest->elements = n;
	return 0;
}

static int set_packets(const struct fetch_args *args, struct nest *nest)
{
	uint32_t packet = args->packet ? args->packet : nest->loops[nest->loop_count - 1].size;

	nest->packet = packet;
	if (nest->elements % packet)
		return fail_rule(NPU_RULE_PACKET_SIZE, "--packet: %u of %llu elements", packet,
				 (unsigned long long)nest->elements);
	nest->time_steps = nest->elements / packet;
	if (args->interleave &&
	    __builtin_mul_overflow(nest->time_steps, (uint64_t)2, &nest->time_steps))
		return fail_rule(NPU_RULE_NEST_OVERFLOW, "--interleave: the time steps");
	return 0;
}

/* Lowest and highest element that the nest touches; 8 loops of 96 bits fit easily. */
static void extent(const struct fetch_args *args, const struct nest *nest, __int128 *low,
		   __int128 *high)
{
	*low = args->offset;
	if (args->has_mask)
		*low -= args->mask.left_pad;
	*high = *low;
	for (uint32_t i = 0; i < nest->loop_count; i++) {
		const struct npu_loop *l = &nest->loops[i];
		__int128 reach = (__int128)l->stride * ((int64_t)l->size - 1);

		if (reach < 0)
			*low += reach;
		else
			*high += reach;
	}
}

/* Towards minus infinity. */
static __int128 byte_of(__int128 element, unsigned int bits)
{
	__int128 bit = element * bits;

	return bit >= 0 ? bit / 8 : -((7 - bit) / 8);
}

static long long clamp_s64(__int128 n)
{
	return n > INT64_MAX ? INT64_MAX : n < INT64_MIN ? INT64_MIN : (long long)n;
}

static int check_extent(const struct fetch_args *args, const struct tensor *t,
			const struct nest *nest)
{
	unsigned int bits = npu_type_bits(t->type);
	__int128 low, high, pad;

	extent(args, nest, &low, &high);
	low = byte_of(low, bits);
	high = byte_of(high + 1, bits) + (byte_of((high + 1) * bits, 1) * 8 != (high + 1) * bits);
	pad = -low > high - (__int128)t->bytes ? -low : high - (__int128)t->bytes;
	if (pad <= (__int128)args->pad)
		return 0;
	return fail_rule(NPU_RULE_ADDRESS_UNMAPPED,
			 "--loop: the nest touches bytes %lld to %lld of a tensor of %llu; --pad %lld lets it read zeros there",
			 clamp_s64(low), clamp_s64(high - 1), (unsigned long long)t->bytes,
			 clamp_s64(pad));
}

int fetch_nest_plan(const struct fetch_args *args, const struct tensor *t, struct nest *nest)
{
	int ret;

	memset(nest, 0, sizeof(*nest));
	/* Alignment in front costs nothing and keeps the emulation's loads aligned. */
	nest->front = (args->pad + 63) / 64 * 64;
	if (t->bytes > WHOLE_MAX)
		return fail(NPU_EXIT_USAGE,
			    "%s: %llu bytes; a tensor that loops walk over lies in one buffer of at most %llu",
			    tensor_file_name(t->file), (unsigned long long)t->bytes, WHOLE_MAX);
	nest->room = nest->front + t->bytes + args->pad;
	ret = set_loops(args, t, nest);
	/* No loops over no elements: nothing to do. */
	if (ret || !nest->loops[0].size)
		return ret;
	ret = count_elements(nest);
	if (!ret)
		ret = set_packets(args, nest);
	return ret ? ret : check_extent(args, t, nest);
}
