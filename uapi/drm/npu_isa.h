/* SPDX-License-Identifier: MIT */
/*
 * The NPU front end's command stream, result record and fault codes.
 *
 * Shared by applications, the kernel driver and the device. All fields are
 * little-endian and naturally aligned; the layout is the same for 32-bit and
 * 64-bit programs. Addresses are device virtual addresses in bytes (39 bits,
 * page 0 is never mapped). Lengths and strides are in elements unless a field
 * says bytes.
 *
 * A stream is one struct npu_stream_header followed by @count commands, each of
 * the fixed size of its opcode. A job is one stream on one ring; table slots,
 * constant cache, fmap cache and e_max cache are empty when it starts and gone
 * when it ends.
 *
 * A command that breaks a rule (NPU_RULE_*) stops the job: earlier commands'
 * results stand, its own output is undefined, nothing outside its output is
 * written, and the result record names command, rule and address.
 */
#ifndef _UAPI_DRM_NPU_ISA_H_
#define _UAPI_DRM_NPU_ISA_H_

#include <linux/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* "NPU1" in memory. */
#define NPU_STREAM_MAGIC	0x3155504eu
/* A device runs streams of its own major version and of any minor up to its own. */
#define NPU_ISA_MAJOR		1
#define NPU_ISA_MINOR		0
/* Bytes of the longest stream, header included. */
#define NPU_STREAM_MAX		65536
/* Width of a device virtual address; 0..4095 is never mapped. */
#define NPU_ADDRESS_BITS	39
#define NPU_PAGE_SIZE		4096

/* Hardware queues. */
#define NPU_RING_FETCH_MAIN	0	/* every command but PREPROCESS, CONST_SET, FMAP_READ */
#define NPU_RING_FETCH_SUB	1	/* FETCH without mask and lookup into MEMORY */
#define NPU_RING_PREPROCESS	2	/* PREPROCESS, CONST_SET, FMAP_READ */
#define NPU_RING_COUNT		3

/* Element types. U8..U32 are table entries only; I5 and I9 are never in memory. */
#define NPU_TYPE_NONE		0
#define NPU_TYPE_I4		1	/* two per byte, element 0 in the low nibble */
#define NPU_TYPE_I8		2
#define NPU_TYPE_I16		3
#define NPU_TYPE_I32		4
#define NPU_TYPE_F4E2M1		5	/* OCP MX element, two per byte, low nibble first */
#define NPU_TYPE_F8E4M3		6	/* OCP "fn": no infinity, S.1111.111 is NaN */
#define NPU_TYPE_F8E5M2		7
#define NPU_TYPE_BF16		8
#define NPU_TYPE_F32		9
#define NPU_TYPE_U8		10
#define NPU_TYPE_U16		11
#define NPU_TYPE_U32		12
#define NPU_TYPE_I5		13	/* i4 minus a zero point */
#define NPU_TYPE_I9		14	/* i8 minus a zero point */
#define NPU_TYPE_COUNT		15

/* Opcodes. 0 is none, so that zeroed memory is not a command. */
#define NPU_OP_NOP		1
#define NPU_OP_BARRIER		2
#define NPU_OP_FETCH		3
#define NPU_OP_PREPROCESS	4
#define NPU_OP_LUT_LOAD		5
#define NPU_OP_CONST_SET	6
#define NPU_OP_FMAP_READ	7

/**
 * struct npu_stream_header - starts every stream
 * @magic: NPU_STREAM_MAGIC
 * @major: NPU_ISA_MAJOR
 * @minor: at most the device's NPU_ISA_MINOR
 * @size: bytes of the stream, this header included; a multiple of 8, at most
 *	NPU_STREAM_MAX, and exactly what was submitted
 * @count: commands that follow
 */
struct npu_stream_header {
	__u32 magic;
	__u16 major;
	__u16 minor;
	__u32 size;
	__u32 count;
};

/**
 * struct npu_cmd - starts every command; alone it is NOP and BARRIER
 * @opcode: NPU_OP_*
 * @size: bytes of the command, this header included: fixed for each opcode
 * @flags: flags of the opcode; unknown ones are refused
 *
 * BARRIER: the commands before it in its own stream are complete, their
 * writes visible, before one after it starts.
 */
struct npu_cmd {
	__u16 opcode;
	__u16 size;
	__u32 flags;
};

#define NPU_MAX_LOOPS		8

/* struct npu_cmd_fetch flags */
#define NPU_FETCH_INTERLEAVE		(1u << 0)	/* time steps alternate: src, src2 */
#define NPU_FETCH_FLITS			(1u << 1)	/* each packet padded to 32 bytes */
#define NPU_FETCH_UNPADDED		(1u << 2)	/* any packet size, not only 8n bytes */
#define NPU_FETCH_ZERO_POINT		(1u << 3)	/* minus zero_point: i4 -> i5, i8 -> i9 */
#define NPU_FETCH_WEIGHT_ZERO_POINT	(1u << 4)	/* subtract weight_zero_point */
#define NPU_FETCH_FLAGS			0x1fu

/* struct npu_cmd_fetch.sink */
#define NPU_SINK_MEMORY		1
#define NPU_SINK_CONTRACT	2
/* struct npu_cmd_preprocess.sink: NPU_SINK_MEMORY or */
#define NPU_SINK_FMAP_CACHE	3

/* struct npu_cmd_fetch.lookup */
#define NPU_LOOKUP_NONE		0
#define NPU_LOOKUP_BUILTIN	1	/* decode table chosen by src_type and lookup_type */
#define NPU_LOOKUP_SLOT		2	/* table loaded by LUT_LOAD into lut_slot */

/* struct npu_cmd_fetch.mask */
#define NPU_MASK_NONE			0
#define NPU_MASK_RIGHTMOST		1	/* valid_count[0] in the last of mask_axis */
#define NPU_MASK_RIGHTMOST_AND_SECOND	2	/* also valid_count[1] in the one before it */
#define NPU_MASK_ITERATOR		3	/* valid_count[index of mask_iterator] */

/**
 * struct npu_cmd_fetch - read a tensor, pass it through the adapter, hand it to a sink
 * @cmd: opcode NPU_OP_FETCH, NPU_FETCH_* flags
 * @src: address of the tensor's first byte
 * @src2: address of the second tensor (INTERLEAVE: same nest, type and stages), else 0
 * @offset: signed, in elements, added to @src and @src2; a 4-bit nest may so
 *	start in a high nibble
 * @dst: address of the output's first byte
 * @weight: CONTRACT: address of W, dense [n][k] (4-bit rows are not padded), else 0
 * @packet_size: elements of a packet; divides the element count (the product of the sizes)
 * @read_size: elements read in one cycle: a divisor of max_access_size of 1, 2, 4, 8, 16 or
 *	32 bytes (8 on FETCH_SUB); read_size * sizeof(cast type) <= 32 where there is a cast;
 *	1 where no divisor of a 4-bit nest is of whole bytes
 * @k: CONTRACT: elements of a row of A and of W
 * @n: CONTRACT: rows of W
 * @m: CONTRACT: rows of A: element count = m * k. With k = 0, @loop_count is 0,
 *	nothing is read and the output is zeros
 * @k_group: CONTRACT: sums per group of k_group elements along k, output [m][ceil(k/k_group)][n];
 *	0 means k
 * @src_type: NPU_TYPE_* of the tensor
 * @loop_count: loops in use, 0..NPU_MAX_LOOPS, outermost first; 0 is one element
 * @sink: NPU_SINK_MEMORY or NPU_SINK_CONTRACT
 * @lookup: NPU_LOOKUP_*
 * @lookup_type: type of the table's entries; NONE without a lookup
 * @lut_slot: slot of NPU_LOOKUP_SLOT, 0..7
 * @cast_type: target of the cast (the type before it for an identity cast); NONE without
 * @weight_type: CONTRACT: type of W
 * @zero_point: with NPU_FETCH_ZERO_POINT: i4 -8..7, i8 -128..127
 * @weight_zero_point: with NPU_FETCH_WEIGHT_ZERO_POINT: as @zero_point, of W's type
 * @mask: NPU_MASK_*
 * @mask_axis: loop outside the packet on which the mask works
 * @mask_iterator: NPU_MASK_ITERATOR: another loop outside the packet, of size <= 8
 * @pad: 0
 * @left_pad: slots zeroed at the packet's start where index of mask_axis is 0
 * @pad2: 0
 * @valid_count: valid slots of a packet, left pad included, <= packet_size; unused ones 0
 * @size: iterations of each loop, >= 1; 0 in loops not in use
 * @stride: elements between iterations, may be negative or 0; 0 in loops not in use
 *
 * Slot p of time step t is element t * packet_size + p of the nest in row-major order.
 */
struct npu_cmd_fetch {
	struct npu_cmd cmd;
	__u64 src;
	__u64 src2;
	__s64 offset;
	__u64 dst;
	__u64 weight;
	__u32 packet_size;
	__u32 read_size;
	__u32 k;
	__u32 n;
	__u32 m;
	__u32 k_group;
	__u8 src_type;
	__u8 loop_count;
	__u8 sink;
	__u8 lookup;
	__u8 lookup_type;
	__u8 lut_slot;
	__u8 cast_type;
	__u8 weight_type;
	__s16 zero_point;
	__s16 weight_zero_point;
	__u8 mask;
	__u8 mask_axis;
	__u8 mask_iterator;
	__u8 pad;
	__u16 left_pad;
	__u16 pad2[3];
	__u16 valid_count[NPU_MAX_LOOPS];
	__u32 size[NPU_MAX_LOOPS];
	__s64 stride[NPU_MAX_LOOPS];
};

/* struct npu_cmd_preprocess.mode: the element that is written */
#define NPU_PP_MODE_FIXED27		1	/* int32, the 27-bit value sign-extended */
#define NPU_PP_MODE_FIXED27_PACKED	2	/* 54 bytes per 16 lanes, whole blocks */
#define NPU_PP_MODE_LOW8		3	/* bits 7..0 of fixed27 */
#define NPU_PP_MODE_INT8_EMAX		4	/* int8 at scale 2^(e_max - 127 - 6) */
#define NPU_PP_MODE_INT8_SYMMETRIC	5	/* int8 at scale max|x| / 127 of the block */
#define NPU_PP_MODE_INT8_CONST		6	/* int8 at the scale of a constant slot */

/* struct npu_cmd_preprocess.rounding: INT8_EMAX only, else 0 */
#define NPU_ROUND_NEAREST_EVEN		0
#define NPU_ROUND_TRUNCATE		1

/* struct npu_cmd_preprocess flags */
#define NPU_PREPROCESS_EMAX		(1u << 0)	/* write e_max, one byte a block */
#define NPU_PREPROCESS_EXPONENTS	(1u << 1)	/* write 32 exponent fields a block */
#define NPU_PREPROCESS_SCALES		(1u << 2)	/* INT8_SYMMETRIC: one f32 a block */
#define NPU_PREPROCESS_KEEP_EMAX	(1u << 3)	/* MEMORY sink: append to the e_max cache */
#define NPU_PREPROCESS_FLAGS		0xfu

#define NPU_BLOCK_SIZE		32	/* elements of a PREPROCESS block */
#define NPU_FMAP_BLOCKS		64	/* blocks of the fmap cache */
#define NPU_EMAX_BLOCKS		1024	/* blocks of the e_max cache */
#define NPU_CONST_SLOTS		64
#define NPU_LUT_SLOTS		8
#define NPU_FMAP_LANES		32	/* most readers of FMAP_READ */

/**
 * struct npu_cmd_preprocess - bf16 [rows][cols] into block-aligned fixed point or int8
 * @cmd: opcode NPU_OP_PREPROCESS, NPU_PREPROCESS_* flags
 * @src: address of the bf16 elements, dense
 * @dst: address of the output: [rows][cols], or whole blocks in FIXED27_PACKED; 0 with
 *	NPU_SINK_FMAP_CACHE
 * @emax: with EMAX: address of [rows][ceil(cols/32)] bytes, else 0
 * @exponents: with EXPONENTS: address of [rows][ceil(cols/32)][32] bytes, else 0
 * @scales: with SCALES: address of [rows][ceil(cols/32)] f32, else 0
 * @rows: rows; blocks never cross a row
 * @cols: elements of a row; its last partial block is completed with +0
 * @mode: NPU_PP_MODE_*; FIXED27 with NPU_SINK_FMAP_CACHE
 * @rounding: NPU_ROUND_*
 * @sink: NPU_SINK_MEMORY, or NPU_SINK_FMAP_CACHE: append whole blocks to the
 *	fmap cache and their e_max and exponents to the e_max cache
 * @const_slot: INT8_CONST: slot of the scale, loaded by CONST_SET, else 0
 * @pad: 0
 */
struct npu_cmd_preprocess {
	struct npu_cmd cmd;
	__u64 src;
	__u64 dst;
	__u64 emax;
	__u64 exponents;
	__u64 scales;
	__u64 rows;
	__u64 cols;
	__u8 mode;
	__u8 rounding;
	__u8 sink;
	__u8 const_slot;
	__u8 pad[4];
};

/**
 * struct npu_cmd_lut_load - load a table into a slot
 * @cmd: opcode NPU_OP_LUT_LOAD, no flags
 * @address: address of the entries, dense: 16 for 4-bit keys (the device expands
 *	them to 256 pairs), 256 for 8-bit keys, 65536 for 16-bit keys
 * @slot: 0..NPU_LUT_SLOTS-1; loading a loaded slot replaces it
 * @key_type: type whose raw bits, unsigned, are the key: I4, I8, I16, F4E2M1, F8*, BF16
 * @entry_type: a type of 1, 2 or 4 bytes that may lie in memory
 * @pad: 0
 */
struct npu_cmd_lut_load {
	struct npu_cmd cmd;
	__u64 address;
	__u8 slot;
	__u8 key_type;
	__u8 entry_type;
	__u8 pad[5];
};

/**
 * struct npu_cmd_const_set - set a slot of the constant cache
 * @cmd: opcode NPU_OP_CONST_SET, no flags
 * @value: bits of an f32, finite and > 0
 * @slot: 0..NPU_CONST_SLOTS-1
 * @pad: 0
 */
struct npu_cmd_const_set {
	struct npu_cmd cmd;
	__u32 value;
	__u8 slot;
	__u8 pad[3];
};

/* struct npu_cmd_fmap_read flags */
#define NPU_FMAP_EMAX		(1u << 0)	/* write e_max of each element's block */
#define NPU_FMAP_EXPONENTS	(1u << 1)	/* write the 32 exponents of each element's block */
#define NPU_FMAP_NO_VALUES	(1u << 2)	/* side band only: any block of the e_max cache */
#define NPU_FMAP_FLAGS		0x7u

/**
 * struct npu_cmd_fmap_read - read the fmap cache, one element a clock, to all lanes
 * @cmd: opcode NPU_OP_FMAP_READ, NPU_FMAP_* flags
 * @dst: address of [count][lanes] int32, the value repeated for each lane; 0 with NO_VALUES
 * @emax: with EMAX: address of [count] bytes, else 0
 * @exponents: with EXPONENTS: address of [count][32] bytes, else 0
 * @start: first element
 * @count: elements; start + count lies in what this job has filled
 * @lanes: readers, 1..NPU_FMAP_LANES; 0 with NO_VALUES
 * @pad: 0
 */
struct npu_cmd_fmap_read {
	struct npu_cmd cmd;
	__u64 dst;
	__u64 emax;
	__u64 exponents;
	__u32 start;
	__u32 count;
	__u32 lanes;
	__u32 pad;
};

/* struct npu_result.status */
#define NPU_STATUS_PENDING	0	/* not finished; stays so after a hang */
#define NPU_STATUS_OK		1
#define NPU_STATUS_FAULT	2	/* rule, command and fault_address say what */
#define NPU_STATUS_CANCELLED	3	/* stopped by a reset or a close */

#define NPU_NO_BLOCK		(~0ull)	/* npu_result.first_nonfinite_block: none */

/**
 * struct npu_result - result record of a job, 128 bytes, 8-byte aligned
 * @status: NPU_STATUS_*; written last
 * @rule: NPU_RULE_* that was broken, 0 without a fault
 * @command: index of the failing command
 * @pad: 0
 * @fault_address: address that failed (address rules), else 0
 * @cycles: cycles of the job by the documented model
 * @elements_in: elements read by FETCH (weights apart) and PREPROCESS
 * @elements_out: elements written by all sinks (caches included, padding apart)
 * @saturated: lanes where the int8 clamp changed a rounded value
 * @nonfinite_blocks: PREPROCESS blocks that hold an infinity or NaN
 * @first_nonfinite_block: row-major index in its command of the first such
 *	block of the first command that had one, NPU_NO_BLOCK if none
 * @clock_start: device clock, nanoseconds, when the job began
 * @clock_end: the same when it ended
 * @reserved: 0
 */
struct npu_result {
	__u32 status;
	__u32 rule;
	__u32 command;
	__u32 pad;
	__u64 fault_address;
	__u64 cycles;
	__u64 elements_in;
	__u64 elements_out;
	__u64 saturated;
	__u64 nonfinite_blocks;
	__u64 first_nonfinite_block;
	__u64 clock_start;
	__u64 clock_end;
	__u64 reserved[5];
};

/*
 * Rules. Each has one name, the same in the library's messages (the part after
 * NPU_RULE_, in lower case with dashes), in this list and in the documentation.
 */
/* the stream */
#define NPU_RULE_NONE			0
#define NPU_RULE_STREAM_MAGIC		1	/* header.magic is NPU_STREAM_MAGIC */
#define NPU_RULE_STREAM_VERSION		2	/* major equal, minor not above the device's */
#define NPU_RULE_STREAM_SIZE		3	/* size: as submitted, 16..65536, 8n */
#define NPU_RULE_STREAM_COUNT		4	/* the commands fill the stream exactly */
#define NPU_RULE_COMMAND_TRUNCATED	5	/* a command ends inside the stream */
#define NPU_RULE_COMMAND_OPCODE		6	/* the opcode is known */
#define NPU_RULE_COMMAND_SIZE		7	/* the size is the opcode's */
#define NPU_RULE_COMMAND_FLAGS		8	/* no unknown flag */
#define NPU_RULE_COMMAND_RESERVED	9	/* padding and unused fields are 0 */
#define NPU_RULE_COMMAND_RING		10	/* the ring runs such commands */
/* FETCH: source and sequencer */
#define NPU_RULE_SOURCE_TYPE		16	/* src_type lies in memory, is no table type */
#define NPU_RULE_LOOP_COUNT		17	/* at most 8 loops */
#define NPU_RULE_LOOP_SIZE		18	/* every loop runs at least once */
#define NPU_RULE_NEST_OVERFLOW		19	/* element count fits 64 bits */
#define NPU_RULE_PACKET_SIZE		20	/* packet_size divides the element count */
#define NPU_RULE_PACKET_ALIGN		21	/* the packet leaves as a multiple of 8 bytes */
#define NPU_RULE_UNPADDED_SINK		22	/* unpadded: dense MEMORY or CONTRACT only */
#define NPU_RULE_READ_SIZE_DIVISOR	23	/* read_size divides max_access_size */
#define NPU_RULE_READ_SIZE_BYTES	24	/* read_size is 1, 2, 4, 8, 16 or 32 bytes */
#define NPU_RULE_READ_SIZE_SUB		25	/* the sub context reads 8 bytes */
#define NPU_RULE_READ_SIZE_FLIT		26	/* a cast adds at most one 32-byte flit a read */
/* FETCH: stages */
#define NPU_RULE_MASK_CONTEXT		32	/* no mask in the sub context */
#define NPU_RULE_MASK_KIND		33	/* mask is known */
#define NPU_RULE_MASK_AXIS		34	/* mask_axis is a loop outside the packet */
#define NPU_RULE_MASK_SECOND		35	/* ..._AND_SECOND: the axis runs twice or more */
#define NPU_RULE_MASK_ITERATOR		36	/* another loop outside the packet, of size <= 8 */
#define NPU_RULE_MASK_COUNT		37	/* counts, left_pad <= packet_size; unused: 0 */
#define NPU_RULE_LOOKUP_CONTEXT		38	/* no lookup in the sub context */
#define NPU_RULE_LOOKUP_KIND		39	/* lookup is known */
#define NPU_RULE_LOOKUP_PAIR		40	/* the pair has a built-in table */
#define NPU_RULE_LUT_SLOT		41	/* slot 0..7 */
#define NPU_RULE_LUT_EMPTY		42	/* the slot was loaded in this job */
#define NPU_RULE_LUT_TYPES		43	/* the slot's types are src_type and lookup_type */
#define NPU_RULE_LUT_KEY_TYPE		44	/* LUT_LOAD: a key of 4, 8 or 16 bits */
#define NPU_RULE_LUT_ENTRY_TYPE		45	/* LUT_LOAD: an entry of 1, 2 or 4 bytes */
#define NPU_RULE_CAST_PAIR		46	/* the cast exists */
#define NPU_RULE_ZERO_POINT_TYPE	47	/* i4 or i8 */
#define NPU_RULE_ZERO_POINT_RANGE	48	/* in the source type's range */
#define NPU_RULE_ZERO_POINT_SINK	49	/* i5 and i9 go to CONTRACT only */
/* FETCH: sinks */
#define NPU_RULE_SINK			56	/* a sink of this command */
#define NPU_RULE_CONTRACT_CONTEXT	57	/* no CONTRACT in the sub context */
#define NPU_RULE_CONTRACT_PAIR		58	/* the operand pair exists */
#define NPU_RULE_CONTRACT_SHAPE		59	/* the stream is m rows of k elements */
#define NPU_RULE_WEIGHT_ZERO_POINT	60	/* i4 or i8 weights, in the type's range */
/* PREPROCESS and caches */
#define NPU_RULE_PREPROCESS_MODE	64	/* mode is known */
#define NPU_RULE_PREPROCESS_ROUNDING	65	/* TRUNCATE with INT8_EMAX only */
#define NPU_RULE_PREPROCESS_SCALES	66	/* SCALES with INT8_SYMMETRIC only */
#define NPU_RULE_PREPROCESS_SHAPE	67	/* rows * cols, outputs fit the address space */
#define NPU_RULE_CONST_SLOT		68	/* slot 0..63 */
#define NPU_RULE_CONST_EMPTY		69	/* the slot was set in this job */
#define NPU_RULE_CONST_VALUE		70	/* finite and > 0 */
#define NPU_RULE_FMAP_MODE		71	/* the fmap cache takes FIXED27 */
#define NPU_RULE_FMAP_FULL		72	/* at most 64 blocks a job */
#define NPU_RULE_EMAX_FULL		73	/* at most 1024 blocks a job */
#define NPU_RULE_EMAX_MIXED		74	/* one sink fills the e_max cache in a job */
#define NPU_RULE_FMAP_RANGE		75	/* reads only what the job filled */
#define NPU_RULE_FMAP_LANES		76	/* 1..32 */
/* memory */
#define NPU_RULE_ADDRESS_RANGE		80	/* the interval lies in 4096..2^39-1 */
#define NPU_RULE_ADDRESS_UNMAPPED	81	/* every page of it is mapped */
#define NPU_RULE_ADDRESS_READONLY	82	/* outputs are writable */
#define NPU_RULE_OVERLAP		83	/* an output overlaps no other operand */
/* not broken by streams: what ended a job otherwise */
#define NPU_RULE_HANG			96	/* no completion within the time limit */
#define NPU_RULE_DEVICE			97	/* device: nonsense or an internal error */
#define NPU_RULE_COUNT			98

#if defined(__cplusplus)
}
#endif

#endif
