// SPDX-License-Identifier: MIT
/* The address allocator: places depend on calls alone. */
#include "device.h"
#include "space.h"

#define PAGE 4096ull

static struct npu_space space;
static struct npu_window window;

static int setup(void **state)
{
	npu_space_free(&space);
	window = (struct npu_window){ 0x100000, 0x100000 + 64 * PAGE, 0x100000 };
	return 0;
}

static int teardown(void **state)
{
	npu_space_free(&space);
	return 0;
}

static uint64_t take(struct npu_range *range, uint64_t pages)
{
	memset(range, 0, sizeof(*range));
	assert_int_equal(npu_space_alloc(&space, &window, pages * PAGE, range), 0);
	return (range->start - window.start) / PAGE;
}

static void test_guards(void **state)
{
	struct npu_range a, b, c;

	assert_int_equal(take(&a, 1), 0);
	assert_int_equal(take(&b, 2), 2);
	assert_int_equal(take(&c, 1), 5);
	assert_ptr_equal(npu_space_find(&space, a.start), &a);
	assert_ptr_equal(npu_space_find(&space, a.end - 1), &a);
	assert_null(npu_space_find(&space, a.end));
	assert_ptr_equal(npu_space_find(&space, b.start + PAGE), &b);
	assert_null(npu_space_find(&space, 0));
	assert_null(npu_space_find(&space, UINT64_MAX));
}

static void test_no_reuse_before_wrap(void **state)
{
	struct npu_range a, b, c, d;

	take(&a, 1);
	npu_space_give_back(&space, &a);
	assert_int_equal(take(&b, 1), 2);
	/* 60 pages do not fit behind it, so the window wraps and finds nothing either. */
	assert_int_equal(npu_space_alloc(&space, &window, 62 * PAGE, &c), -ENOSPC);
	assert_int_equal(take(&c, 60), 4);
	/* Wrapped: the first page is free again, its guard included. */
	assert_int_equal(take(&d, 1), 0);
	assert_int_equal(npu_space_alloc(&space, &window, PAGE, &a), -ENOSPC);
}

static void test_dying(void **state)
{
	struct npu_range a, b, c;

	take(&a, 10);
	take(&b, 50);
	a.dying = true;
	/* It counts as free, but the caller has to wait for it. */
	assert_int_equal(npu_space_alloc(&space, &window, 5 * PAGE, &c), -EBUSY);
	npu_space_give_back(&space, &a);
	assert_int_equal(take(&c, 5), 0);
}

static void test_take(void **state)
{
	struct npu_range a = { 0x500000, 0x502000, false }, b = { 0x501000, 0x503000, false };
	struct npu_range c = { 0x502000, 0x503000, false };

	assert_int_equal(npu_space_take(&space, &a), 0);
	assert_int_equal(npu_space_take(&space, &b), -EEXIST);
	assert_int_equal(npu_space_take(&space, &c), 0);
	a.dying = true;
	b.end = 0x502000;
	assert_int_equal(npu_space_take(&space, &b), -EBUSY);
	/* A range that was never taken is left alone. */
	npu_space_give_back(&space, &b);
	assert_ptr_equal(npu_space_find(&space, 0x500000), &a);
}

/* The same calls in another order of giving back end at the same places. */
static void test_deterministic(void **state)
{
	struct npu_range ranges[2][200];
	unsigned int round, i, seed;

	for (round = 0; round < 2; round++) {
		setup(NULL);
		for (i = 0, seed = 7; i < 200; i++) {
			seed = seed * 1103515245 + 12345;
			take(&ranges[round][i], seed >> 16 & 3 ? 1 : 5);
			if (i >= 4)
				npu_space_give_back(&space, &ranges[round][i - 4]);
		}
	}
	for (i = 0; i < 200; i++)
		assert_int_equal(ranges[0][i].start, ranges[1][i].start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_guards, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_reuse_before_wrap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dying, setup, teardown),
		cmocka_unit_test_setup_teardown(test_take, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deterministic, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
