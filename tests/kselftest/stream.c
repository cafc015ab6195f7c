// SPDX-License-Identifier: GPL-2.0-only
/* Streams that are wrong, and streams that change: the device trusts none. */
#include "npu_vdev.h"

NPU_FIXTURE(device)

/*
 * Runs a stream on a queue of its own. The rule that it broke, 0 if none did,
 * a negative errno if the fence says something else than a fault.
 */
static int run_rule(int fd, uint32_t ring, const struct npu_stream *s,
		    struct drm_npu_queue_get_state *state)
{
	struct drm_npu_queue_get_state dummy;
	int queue = npu_queue(fd, ring), ret;

	if (queue < 0)
		return queue;
	state = state ?: &dummy;
	ret = npu_run(fd, queue, s, 0);
	if (ret == -EFAULT) {
		ret = npu_queue_state(fd, queue, state);
		if (!ret)
			ret = state->state == DRM_NPU_QUEUE_FAULTED ? (int)state->rule : -EPROTO;
	} else if (ret == 1) {
		ret = 0;
	}
	npu_queue_destroy(fd, queue);
	return ret;
}

static const struct opcode_case {
	uint16_t opcode, size;
	uint32_t ring;
} opcodes[] = {
	{ NPU_OP_NOP, sizeof(struct npu_cmd), NPU_RING_FETCH_MAIN },
	{ NPU_OP_BARRIER, sizeof(struct npu_cmd), NPU_RING_FETCH_SUB },
	{ NPU_OP_FETCH, sizeof(struct npu_cmd_fetch), NPU_RING_FETCH_MAIN },
	{ NPU_OP_PREPROCESS, sizeof(struct npu_cmd_preprocess), NPU_RING_PREPROCESS },
	{ NPU_OP_LUT_LOAD, sizeof(struct npu_cmd_lut_load), NPU_RING_FETCH_MAIN },
	{ NPU_OP_CONST_SET, sizeof(struct npu_cmd_const_set), NPU_RING_PREPROCESS },
	{ NPU_OP_FMAP_READ, sizeof(struct npu_cmd_fmap_read), NPU_RING_PREPROCESS },
};

/* A command whose end lies behind the end of the stream, at every word. */
TEST_F(device, stream_truncated)
{
	unsigned int i, cut;
	struct npu_stream s;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		const struct opcode_case *c = &opcodes[i];

		for (cut = 8; cut < c->size; cut += 8) {
			npu_stream_init(&s);
			npu_stream_nop(&s);
			npu_stream_add(&s, c->opcode, c->size);
			s.size -= cut;
			s.header.size = s.size;
			EXPECT_EQ(NPU_RULE_COMMAND_TRUNCATED, run_rule(self->fd, c->ring, &s, NULL))
				TH_LOG("opcode %u without its last %u bytes", c->opcode, cut);
		}
		/* its size says that it fits, or is odd */
		for (cut = 0; cut < 3; cut++) {
			npu_stream_init(&s);
			((struct npu_cmd *)npu_stream_add(&s, c->opcode, c->size))->size =
				cut == 0 ? 0 : cut == 1 ? c->size + 8 : c->size - 1;
			EXPECT_EQ(NPU_RULE_COMMAND_SIZE, run_rule(self->fd, c->ring, &s, NULL))
				TH_LOG("opcode %u, size %u", c->opcode, cut);
		}
	}
}

TEST_F(device, stream_header)
{
	struct npu_stream good, s;
	int rule;

	npu_stream_empty(&good);
	s = good;
	s.header.magic ^= 1;
	EXPECT_EQ(NPU_RULE_STREAM_MAGIC, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));
	s = good;
	s.header.major++;
	EXPECT_EQ(NPU_RULE_STREAM_VERSION, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));
	s = good;
	s.header.minor = 0xffff;
	EXPECT_EQ(NPU_RULE_STREAM_VERSION, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));
	s = good;
	s.header.size += 8;
	EXPECT_EQ(NPU_RULE_STREAM_SIZE, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));
	s = good;
	s.header.size = 0xfffffff8;
	EXPECT_EQ(NPU_RULE_STREAM_SIZE, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));
	s = good;
	s.header.count = 0;
	EXPECT_EQ(NPU_RULE_STREAM_COUNT, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));
	s = good;
	s.header.count = 0xffffffff;
	rule = run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL);
	EXPECT_TRUE(rule == NPU_RULE_STREAM_COUNT || rule == NPU_RULE_COMMAND_TRUNCATED);
	/* without commands there is nothing wrong */
	npu_stream_init(&s);
	EXPECT_EQ(0, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));
}

TEST_F(device, stream_unknown)
{
	static const uint16_t unknown[] = { 0, 8, 9, 15, 16, 127, 255, 256, 259, 0x7fff, 0xffff };
	struct drm_npu_queue_get_state state;
	unsigned int i, ring;
	struct npu_stream s;

	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		npu_stream_init(&s);
		npu_stream_nop(&s);
		npu_stream_nop(&s);
		npu_stream_add(&s, unknown[i], 8);
		ring = i % NPU_RING_COUNT;
		EXPECT_EQ(NPU_RULE_COMMAND_OPCODE, run_rule(self->fd, ring, &s, &state));
		EXPECT_EQ(2, state.command);
		EXPECT_EQ(0, state.fault_address);
		EXPECT_EQ(0, state.job);
	}
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct npu_cmd *cmd;

		npu_stream_init(&s);
		cmd = npu_stream_add(&s, opcodes[i].opcode, opcodes[i].size);
		cmd->flags = 1u << 31;
		EXPECT_EQ(NPU_RULE_COMMAND_FLAGS, run_rule(self->fd, opcodes[i].ring, &s, NULL));
	}
	/* on a ring that does not run it */
	npu_stream_init(&s);
	npu_stream_add(&s, NPU_OP_LUT_LOAD, sizeof(struct npu_cmd_lut_load));
	EXPECT_EQ(NPU_RULE_COMMAND_RING, run_rule(self->fd, NPU_RING_FETCH_SUB, &s, NULL));
	npu_stream_init(&s);
	npu_stream_quantise(&s, NPU_BASE, 2 * NPU_BASE, 32);
	EXPECT_EQ(NPU_RULE_COMMAND_RING, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));
}

/* An index out of its table, whatever its value. */
TEST_F(device, stream_index)
{
	static const uint8_t values[] = { 8, 9, 64, 65, 127, 128, 255 };
	struct npu_buf buf;
	struct npu_stream s;
	unsigned int i;

	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		struct npu_cmd_const_set *set;
		struct npu_cmd_lut_load *load;
		struct npu_cmd_fetch *fetch;

		npu_stream_init(&s);
		load = npu_stream_add(&s, NPU_OP_LUT_LOAD, sizeof(*load));
		load->address = NPU_BASE;
		load->slot = values[i];
		load->key_type = NPU_TYPE_I8;
		load->entry_type = NPU_TYPE_U8;
		EXPECT_EQ(NPU_RULE_LUT_SLOT, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));

		npu_stream_init(&s);
		fetch = npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 32);
		fetch->lookup = NPU_LOOKUP_SLOT;
		fetch->lookup_type = NPU_TYPE_U8;
		fetch->lut_slot = values[i];
		EXPECT_EQ(NPU_RULE_LUT_SLOT, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));

		npu_stream_init(&s);
		fetch = npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 32);
		fetch->mask = NPU_MASK_RIGHTMOST;
		fetch->mask_axis = values[i];
		EXPECT_EQ(NPU_RULE_MASK_AXIS, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));

		npu_stream_init(&s);
		fetch = npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 32);
		fetch->loop_count = values[i] | 8 | 1;
		EXPECT_EQ(NPU_RULE_LOOP_COUNT, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL));

		if (values[i] < NPU_CONST_SLOTS)
			continue;
		npu_stream_init(&s);
		set = npu_stream_add(&s, NPU_OP_CONST_SET, sizeof(*set));
		set->value = 0x3f800000;
		set->slot = values[i];
		EXPECT_EQ(NPU_RULE_CONST_SLOT, run_rule(self->fd, NPU_RING_PREPROCESS, &s, NULL));
	}
}

/* One byte before the first and behind the last mapped one, for each operand. */
TEST_F(device, stream_bounds)
{
	static const struct {
		int64_t src, dst;
		int rule;
	} cases[] = {
		{ 0, 8192 - 32, 0 },
		{ 8192 - 32, 0, 0 },
		{ 8192 - 31, 0, NPU_RULE_ADDRESS_UNMAPPED },
		{ -1, 4096, NPU_RULE_ADDRESS_UNMAPPED },
		{ 0, 8192 - 31, NPU_RULE_ADDRESS_UNMAPPED },
		{ 0, -32, NPU_RULE_ADDRESS_UNMAPPED },
		{ 0, 16, NPU_RULE_OVERLAP },
		{ 16, 0, NPU_RULE_OVERLAP },
		{ -(int64_t)NPU_BASE, 0, NPU_RULE_ADDRESS_RANGE },
		{ -(int64_t)NPU_BASE + 4095, 0, NPU_RULE_ADDRESS_RANGE },
		{ 0, -(int64_t)NPU_BASE + 4064, NPU_RULE_ADDRESS_RANGE },
		{ (1ll << 39) - NPU_BASE - 16, 0, NPU_RULE_ADDRESS_RANGE },
		{ 0, (1ll << 39) - NPU_BASE, NPU_RULE_ADDRESS_RANGE },
		{ -(int64_t)NPU_BASE - 16, 0, NPU_RULE_ADDRESS_RANGE },
		{ INT64_MAX - NPU_BASE - 15, 0, NPU_RULE_ADDRESS_RANGE },
	};
	struct drm_npu_queue_get_state state;
	struct npu_stream s;
	struct npu_buf buf;
	unsigned int i;

	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t before[8192];

		memset(buf.map, 0x5c, 8192);
		memcpy(before, buf.map, 8192);
		npu_stream_init(&s);
		npu_stream_copy(&s, NPU_BASE + cases[i].src, NPU_BASE + cases[i].dst, 32);
		EXPECT_EQ(cases[i].rule, run_rule(self->fd, i % 2, &s, &state))
			TH_LOG("case %u", i);
		EXPECT_EQ(0, memcmp(before, buf.map, 8192));
	}
	/* where the first byte is that is not there */
	npu_stream_init(&s);
	npu_stream_copy(&s, NPU_BASE + 8192 - 32, NPU_BASE, 64);
	EXPECT_EQ(NPU_RULE_ADDRESS_UNMAPPED, run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, &state));
	EXPECT_EQ(NPU_BASE + 8192, state.fault_address);
}

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % n;
}

/* A nest whose extent may wrap; its real one, in bytes from src, is in 128 bits. */
static void random_nest(struct npu_cmd_fetch *cmd, __int128 *low, __int128 *high)
{
	static const int64_t strides[] = {
		INT64_MIN, INT64_MIN + 1, -(1ll << 62), -(1ll << 32), -100, -1, 0, 0, 1, 1, 2, 100,
		1ll << 31, 1ll << 32, 1ll << 61, 1ll << 62, INT64_MAX - 1, INT64_MAX,
	};
	uint32_t count = 1;
	unsigned int i;

	cmd->loop_count = 1 + random_below(NPU_MAX_LOOPS);
	*low = *high = cmd->offset = (int64_t)random_below(4096) - 512;
	if (!random_below(6))
		*low = *high = cmd->offset = strides[random_below(ARRAY_SIZE(strides))];
	for (i = 0; i < cmd->loop_count; i++) {
		bool wild = !random_below(6);
		__int128 span;

		cmd->size[i] = 1 + random_below(3);
		cmd->stride[i] = wild ? strides[random_below(ARRAY_SIZE(strides))] :
				 (int64_t)random_below(200) - 60;
		span = (__int128)(cmd->size[i] - 1) * cmd->stride[i];
		if (span < 0)
			*low += span;
		else
			*high += span;
		count *= cmd->size[i];
	}
	cmd->packet_size = count;
	cmd->read_size = 1;
	cmd->cmd.flags = NPU_FETCH_UNPADDED;
}

/* Address of the n-th element of the nest, from src. */
static int64_t nest_element(const struct npu_cmd_fetch *cmd, uint32_t n)
{
	int64_t at = cmd->offset;
	int i;

	for (i = cmd->loop_count - 1; i >= 0; i--) {
		at += n % cmd->size[i] * cmd->stride[i];
		n /= cmd->size[i];
	}
	return at;
}

TEST_F(device, stream_overflow)
{
	int64_t deadline = npu_in_ms(4000);
	unsigned int round, good = 0, i;
	struct npu_buf src, dst;

	ASSERT_EQ(0, npu_buf_init(self->fd, &src, 4096, 16 * NPU_BASE));
	ASSERT_EQ(0, npu_buf_init(self->fd, &dst, 8192, 2 * NPU_BASE));
	for (i = 0; i < 4096; i++)
		((uint8_t *)src.map)[i] = i * 13 + i / 256;
	for (round = 0; round < 400 && npu_now() < deadline; round++) {
		struct npu_cmd_fetch *cmd;
		struct npu_stream s;
		__int128 low, high;
		int rule;

		npu_stream_init(&s);
		cmd = npu_stream_copy(&s, src.address, dst.address, 0);
		random_nest(cmd, &low, &high);
		rule = run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL);
		if (low < 0 || high > 4095) {
			EXPECT_TRUE(rule == NPU_RULE_ADDRESS_UNMAPPED ||
				    rule == NPU_RULE_ADDRESS_RANGE)
				TH_LOG("round %u: rule %d", round, rule);
			continue;
		}
		good++;
		EXPECT_EQ(0, rule) TH_LOG("round %u", round);
		for (i = 0; i < cmd->packet_size; i++) {
			if (((uint8_t *)dst.map)[i] != ((uint8_t *)src.map)[nest_element(cmd, i)])
				break;
		}
		EXPECT_EQ(cmd->packet_size, i) TH_LOG("round %u", round);
	}
	TH_LOG("%u nests, %u of them legal", round, good);
	EXPECT_LT(5, good);
}

/* Counts that wrap 32 and 64 bits when they are multiplied. */
TEST_F(device, stream_huge)
{
	struct npu_cmd_preprocess *pp;
	struct npu_cmd_fetch *cmd;
	struct npu_stream s;
	struct npu_buf buf;
	unsigned int i;
	int rule;

	ASSERT_EQ(0, npu_buf_init(self->fd, &buf, 8192, NPU_BASE));
	for (i = 2; i <= NPU_MAX_LOOPS; i++) {
		unsigned int j;

		npu_stream_init(&s);
		cmd = npu_stream_copy(&s, NPU_BASE, NPU_BASE + 4096, 32);
		cmd->loop_count = i;
		for (j = 0; j < i; j++) {
			cmd->size[j] = j == i - 1 ? 0x80000000 : 0xffffffe0;
			cmd->stride[j] = 0;
		}
		rule = run_rule(self->fd, NPU_RING_FETCH_MAIN, &s, NULL);
		EXPECT_TRUE(rule == NPU_RULE_NEST_OVERFLOW || rule == NPU_RULE_ADDRESS_RANGE)
			TH_LOG("%u loops: rule %d", i, rule);
	}
	for (i = 0; i < 4; i++) {
		npu_stream_init(&s);
		pp = npu_stream_quantise(&s, NPU_BASE, NPU_BASE + 4096, 32);
		pp->rows = i & 1 ? 1ull << 33 : ~0ull;
		pp->cols = i & 2 ? 1ull << 31 : 1ull << 63;
		rule = run_rule(self->fd, NPU_RING_PREPROCESS, &s, NULL);
		EXPECT_TRUE(rule == NPU_RULE_PREPROCESS_SHAPE || rule == NPU_RULE_ADDRESS_RANGE)
			TH_LOG("case %u: rule %d", i, rule);
	}
	EXPECT_EQ(1, npu_alive(self->fd));
}

TEST_HARNESS_MAIN
