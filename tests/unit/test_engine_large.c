// SPDX-License-Identifier: MIT
/* Tensors of more than a tile: long runs, columns, and what is at the ends of pages. */
#include "test_engine.h"

static uint32_t element(const uint8_t *mem, uint64_t at, unsigned int bits)
{
	uint32_t v = 0;

	if (bits == 4)
		return mem[at / 2] >> (at % 2 * 4) & 15;
	memcpy(&v, mem + at * (bits / 8), bits / 8);
	return v;
}

/* More than a tile, so that the long path, its page ends and the threads are all used. */
static void test_large(void **state)
{
	static const uint8_t types[] = { NPU_TYPE_I4, NPU_TYPE_I8, NPU_TYPE_F32 };
	uint32_t n = 300000;
	uint8_t *want = malloc(n * 4 + 64), *host = malloc(n * 4 + 64);
	unsigned int i, shape;

	for (shape = 0; shape < 16; shape++) {
		for (i = 0; i < 3; i++) {
			unsigned int bits = npu_type_bits(types[i]);
			struct npu_cmd_fetch cmd = fetch_run(types[i], 0, 0, n);
			uint32_t odd = shape & 4 ? 3 : 0, j;
			uint64_t size = (uint64_t)n * bits / 8 + 16;
			struct space s;

			space_init(&s, 2048, shape & 1);
			cmd.src = space_alloc(&s, size + 16) + (shape & 2 ? 3 : 0);
			cmd.dst = space_alloc(&s, n * 4 + 16) + (shape & 8 ? 1 : 0);
			space_random(&s, cmd.src, size);
			space_get(&s, cmd.src, host, size);
			cmd.offset = odd;
			if (i < 2)
				cmd.cast_type = NPU_TYPE_I32;
			fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
			run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1 + shape % 4, "large");
			for (j = 0; j < n; j++) {
				uint32_t v = element(host, odd + j, bits);

				if (i == 0)
					v = (uint32_t)((int32_t)(v << 28) >> 28);
				if (i == 1)
					v = (uint32_t)(int8_t)v;
				memcpy(want + j * 4, &v, 4);
			}
			space_expect(&s, cmd.dst, want, n * 4, "large");
			space_free(&s);
		}
	}
	free(want);
	free(host);
}

/* [rows][cols] read column by column, forwards or backwards, some columns or all. */
static void columns(uint8_t type, uint32_t rows, uint32_t cols, uint32_t used, bool backwards,
		    unsigned int how)
{
	unsigned int bytes = npu_type_bits(type) / 8;
	uint64_t size = (uint64_t)rows * cols * bytes, i, j, b;
	struct npu_cmd_fetch cmd = fetch_run(type, 0, 0, rows * used);
	uint8_t *host = malloc(size), *want = malloc(size);
	struct space s;

	space_init(&s, (uint32_t)(2 * size / PAGE + 16), how & 1);
	cmd.src = space_alloc(&s, size + 8) + (how & 2 ? 3 : 0);
	cmd.dst = space_alloc(&s, size + 8) + (how & 4 ? 1 : 0);
	space_random(&s, cmd.src, size);
	space_get(&s, cmd.src, host, size);
	cmd.loop_count = 3;
	cmd.size[0] = 2;
	cmd.size[1] = used / 2;
	cmd.size[2] = rows;
	cmd.stride[0] = used / 2;
	cmd.stride[1] = 1;
	cmd.stride[2] = backwards ? -(int64_t)cols : (int64_t)cols;
	cmd.offset = backwards ? (int64_t)(rows - 1) * cols : 0;
	cmd.packet_size = rows;
	fetch_plan(&cmd, NPU_RING_FETCH_MAIN);
	run_one(&s, NPU_RING_FETCH_MAIN, &cmd, 1 + how % 3, "columns");
	for (j = 0; j < used; j++) {
		for (i = 0; i < rows; i++) {
			uint64_t row = backwards ? rows - 1 - i : i;

			for (b = 0; b < bytes; b++)
				want[(j * rows + i) * bytes + b] = host[(row * cols + j) * bytes + b];
		}
	}
	space_expect(&s, cmd.dst, want, (uint64_t)rows * used * bytes, "columns");
	space_free(&s);
	free(host);
	free(want);
}

static void test_columns(void **state)
{
	static const uint8_t types[] = { NPU_TYPE_I8, NPU_TYPE_BF16, NPU_TYPE_F32 };
	unsigned int i, how;

	for (i = 0; i < 3; i++) {
		for (how = 0; how < 8; how++) {
			columns(types[i], 1000, 70, 70, how & 1, how);
			columns(types[i], 130, 4096, 200, how & 2, how);
			columns(types[i], 7, 9, 8, how & 4, how);
		}
		columns(types[i], 70000, 4, 4, false, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
