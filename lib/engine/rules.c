// SPDX-License-Identifier: MIT
/*
 * The names and sentences of all rules. A name is NPU_RULE_* in lower case
 * with dashes; Documentation/isa.rst lists the same ones (a test compares).
 */
#include "engine.h"

static const struct {
	const char *name;
	const char *text;
} rules[NPU_RULE_COUNT] = {
	[NPU_RULE_STREAM_MAGIC] = { "stream-magic",
		"a stream starts with the magic number \"NPU1\"" },
	[NPU_RULE_STREAM_VERSION] = { "stream-version",
		"the stream's major version equals the device's and its minor version is not "
		"above it" },
	[NPU_RULE_STREAM_SIZE] = { "stream-size",
		"the size in the header is the submitted size, 16 to 65536 bytes, a multiple "
		"of 8" },
	[NPU_RULE_STREAM_COUNT] = { "stream-count",
		"as many commands as the header counts fill the stream exactly" },
	[NPU_RULE_COMMAND_TRUNCATED] = { "command-truncated",
		"a command ends inside the stream" },
	[NPU_RULE_COMMAND_OPCODE] = { "command-opcode",
		"the opcode is one that the device knows" },
	[NPU_RULE_COMMAND_SIZE] = { "command-size",
		"the size of a command is the one of its opcode" },
	[NPU_RULE_COMMAND_FLAGS] = { "command-flags",
		"only flags that the command knows and that mean something for its sink are set" },
	[NPU_RULE_COMMAND_RESERVED] = { "command-reserved",
		"padding and fields that the command does not use are 0" },
	[NPU_RULE_COMMAND_RING] = { "command-ring",
		"PREPROCESS, CONST_SET and FMAP_READ run on the preprocess queue, FETCH on "
		"the fetch queues, LUT_LOAD on fetch-main" },
	[NPU_RULE_SOURCE_TYPE] = { "source-type",
		"the source type is i4, i8, i16, i32, f4e2m1, f8e4m3, f8e5m2, bf16 or f32" },
	[NPU_RULE_LOOP_COUNT] = { "loop-count",
		"a nest has at most 8 loops" },
	[NPU_RULE_LOOP_SIZE] = { "loop-size",
		"every loop runs at least once" },
	[NPU_RULE_NEST_OVERFLOW] = { "nest-overflow",
		"the element count fits 64 bits (63 when two tensors are interleaved)" },
	[NPU_RULE_PACKET_SIZE] = { "packet-size",
		"the packet size divides the element count" },
	[NPU_RULE_PACKET_ALIGN] = { "packet-align",
		"a packet leaves the adapter as a multiple of 8 bytes (i5 and i9 count as i4 "
		"and i8) unless it is sent unpadded" },
	[NPU_RULE_UNPADDED_SINK] = { "unpadded-sink",
		"unpadded packets go to dense memory or to the contraction, not to flits" },
	[NPU_RULE_READ_SIZE_DIVISOR] = { "read-size-divisor",
		"read_size divides max_access_size, the greatest common divisor of packet "
		"size and contiguous run" },
	[NPU_RULE_READ_SIZE_BYTES] = { "read-size-bytes",
		"read_size is 1, 2, 4, 8, 16 or 32 bytes, or one element where no divisor of "
		"a 4-bit nest is of whole bytes" },
	[NPU_RULE_READ_SIZE_SUB] = { "read-size-sub",
		"the sub context reads 8 bytes at a time, so max_access_size is a multiple of "
		"8 bytes" },
	[NPU_RULE_READ_SIZE_FLIT] = { "read-size-flit",
		"what a cast makes of one read fits a flit of 32 bytes" },
	[NPU_RULE_MASK_CONTEXT] = { "mask-context",
		"the sub context has no mask" },
	[NPU_RULE_MASK_KIND] = { "mask-kind",
		"the mask is none, rightmost, rightmost-and-second or iterator" },
	[NPU_RULE_MASK_AXIS] = { "mask-axis",
		"the mask's axis is a loop outside the packet" },
	[NPU_RULE_MASK_SECOND] = { "mask-second",
		"rightmost-and-second needs an axis of at least two iterations" },
	[NPU_RULE_MASK_ITERATOR] = { "mask-iterator",
		"the mask's iterator is another loop outside the packet, of at most 8 iterations" },
	[NPU_RULE_MASK_COUNT] = { "mask-count",
		"valid counts and left pad are at most the packet size, and unused counts are 0" },
	[NPU_RULE_LOOKUP_CONTEXT] = { "lookup-context",
		"the sub context has no table lookup" },
	[NPU_RULE_LOOKUP_KIND] = { "lookup-kind",
		"the lookup is none, built-in or a slot" },
	[NPU_RULE_LOOKUP_PAIR] = { "lookup-pair",
		"built-in tables are f4e2m1 to f8e4m3, f4e2m1 to f8e5m2, f8e4m3 to bf16 and "
		"f8e5m2 to bf16; block scales are not folded in" },
	[NPU_RULE_LUT_SLOT] = { "lut-slot",
		"a table slot is 0 to 7" },
	[NPU_RULE_LUT_EMPTY] = { "lut-empty",
		"the table slot was loaded earlier in the same job" },
	[NPU_RULE_LUT_TYPES] = { "lut-types",
		"the table in the slot has the source type as key and the lookup type as entry" },
	[NPU_RULE_LUT_KEY_TYPE] = { "lut-key-type",
		"a table's key is i4, i8, i16, f4e2m1, f8e4m3, f8e5m2 or bf16" },
	[NPU_RULE_LUT_ENTRY_TYPE] = { "lut-entry-type",
		"a table's entry is a type of 1, 2 or 4 bytes that may lie in memory" },
	[NPU_RULE_CAST_PAIR] = { "cast-pair",
		"casts are i4, i8, i16 to i32, f8e4m3, f8e5m2, bf16 to f32, f32 to bf16, and "
		"identity" },
	[NPU_RULE_ZERO_POINT_TYPE] = { "zero-point-type",
		"a zero point is subtracted from i4 or i8" },
	[NPU_RULE_ZERO_POINT_RANGE] = { "zero-point-range",
		"the zero point lies in the range of its type: i4 -8 to 7, i8 -128 to 127" },
	[NPU_RULE_ZERO_POINT_SINK] = { "zero-point-sink",
		"i5 and i9 go to the contraction only, never to memory" },
	[NPU_RULE_SINK] = { "sink",
		"the sink is one that the command has" },
	[NPU_RULE_CONTRACT_CONTEXT] = { "contract-context",
		"the sub context has no contraction" },
	[NPU_RULE_CONTRACT_PAIR] = { "contract-pair",
		"operand pairs are i4/i5 with i4/i5, i8/i9 with i8/i9, i8 with i4 without "
		"zero points, and bf16, f8e4m3 or f8e5m2 with itself" },
	[NPU_RULE_CONTRACT_SHAPE] = { "contract-shape",
		"the stream is m rows of k elements; with k = 0 it has no loops" },
	[NPU_RULE_WEIGHT_ZERO_POINT] = { "weight-zero-point",
		"a weight zero point needs i4 or i8 weights and lies in the range of their type" },
	[NPU_RULE_PREPROCESS_MODE] = { "preprocess-mode",
		"the mode is one of fixed27, fixed27-packed, low8, int8-emax, int8-symmetric "
		"and int8-const" },
	[NPU_RULE_PREPROCESS_ROUNDING] = { "preprocess-rounding",
		"rounding is to nearest even, or by truncation with int8-emax only" },
	[NPU_RULE_PREPROCESS_SCALES] = { "preprocess-scales",
		"scales are written with int8-symmetric only" },
	[NPU_RULE_PREPROCESS_SHAPE] = { "preprocess-shape",
		"the input and each output fit the address space of 2^39 bytes" },
	[NPU_RULE_CONST_SLOT] = { "const-slot",
		"a constant slot is 0 to 63" },
	[NPU_RULE_CONST_EMPTY] = { "const-empty",
		"the constant slot was set earlier in the same job" },
	[NPU_RULE_CONST_VALUE] = { "const-value",
		"a constant is finite and greater than 0" },
	[NPU_RULE_FMAP_MODE] = { "fmap-mode",
		"the fmap cache takes fixed27 only" },
	[NPU_RULE_FMAP_FULL] = { "fmap-full",
		"the fmap cache takes at most 64 blocks a job" },
	[NPU_RULE_EMAX_FULL] = { "emax-full",
		"the e_max cache takes at most 1024 blocks a job" },
	[NPU_RULE_EMAX_MIXED] = { "emax-mixed",
		"within a job either the fmap sink or the memory sink fills the e_max cache" },
	[NPU_RULE_FMAP_RANGE] = { "fmap-range",
		"only what the job has filled can be read from the caches" },
	[NPU_RULE_FMAP_LANES] = { "fmap-lanes",
		"the fmap cache has 1 to 32 readers" },
	[NPU_RULE_ADDRESS_RANGE] = { "address-range",
		"the whole interval of each operand lies in addresses 4096 to 2^39 - 1" },
	[NPU_RULE_ADDRESS_UNMAPPED] = { "address-unmapped",
		"every page of each operand's interval is mapped" },
	[NPU_RULE_ADDRESS_READONLY] = { "address-readonly",
		"every page of an output is writable" },
	[NPU_RULE_OVERLAP] = { "overlap",
		"an output overlaps no other operand of its command" },
	[NPU_RULE_HANG] = { "hang",
		"a job completes within the time limit" },
	[NPU_RULE_DEVICE] = { "device",
		"the device works and has the memory it needs" },
};

const char *npu_rule_name(uint32_t rule)
{
	return rule < NPU_RULE_COUNT ? rules[rule].name : NULL;
}

const char *npu_rule_text(uint32_t rule)
{
	return rule < NPU_RULE_COUNT ? rules[rule].text : NULL;
}
