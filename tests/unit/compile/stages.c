// SPDX-License-Identifier: MIT
/*
 * Stages in orders that the hardware allows, and, one at a time where BAD is its number,
 * in orders that it does not: those must not compile, and the compiler must name the
 * function of the stage. Compiled as C11 and as C++17 by run.sh, which reads the cases'
 * comments for the name.
 */
#include <npu.h>
#include <npu/convert.h>

int stages(struct npu_stream *s, const struct npu_view *view, const struct npu_mask *mask,
	   const struct npu_weights *w, struct npu_ref dst);

static int good(struct npu_stream *s, const struct npu_view *view, const struct npu_mask *mask,
		const struct npu_weights *w, struct npu_ref dst)
{
	int ret = 0;

	ret |= npu_commit(npu_fetch(s, view), dst);
	ret |= npu_commit(npu_mask(npu_fetch(s, view), mask), dst);
	ret |= npu_commit(npu_lookup(npu_fetch(s, view), NPU_TYPE_BF16), dst);
	ret |= npu_commit(npu_lookup(npu_mask(npu_fetch(s, view), mask), NPU_TYPE_BF16), dst);
	ret |= npu_commit(npu_table(npu_fetch(s, view), 0), dst);
	ret |= npu_commit(npu_table(npu_mask(npu_fetch(s, view), mask), 0), dst);
	ret |= npu_commit(npu_cast(npu_fetch(s, view), NPU_TYPE_F32), dst);
	ret |= npu_commit(npu_cast(npu_mask(npu_fetch(s, view), mask), NPU_TYPE_F32), dst);
	ret |= npu_commit_flits(npu_cast(npu_lookup(npu_mask(npu_fetch(s, view), mask),
						    NPU_TYPE_BF16), NPU_TYPE_F32), dst);
	ret |= npu_commit(npu_sub_fetch(s, view), dst);
	ret |= npu_commit_flits(npu_cast(npu_sub_fetch(s, view), NPU_TYPE_F32), dst);
	ret |= npu_contract(npu_fetch(s, view), w, dst);
	ret |= npu_contract(npu_mask(npu_fetch(s, view), mask), w, dst);
	ret |= npu_contract(npu_table(npu_fetch(s, view), 1), w, dst);
	ret |= npu_contract(npu_cast(npu_fetch(s, view), NPU_TYPE_BF16), w, dst);
	ret |= npu_contract(npu_zero_point_sub(npu_fetch(s, view), 3), w, dst);
	ret |= npu_contract(npu_zero_point_sub(npu_mask(npu_fetch(s, view), mask), 3), w, dst);
	ret |= npu_contract(npu_zero_point_sub(npu_table(npu_fetch(s, view), 1), 3), w, dst);
	ret |= npu_contract(npu_zero_point_sub(npu_cast(npu_fetch(s, view), NPU_TYPE_I8), 3), w,
			    dst);
	return ret;
}

static int bad(struct npu_stream *s, const struct npu_view *view, const struct npu_mask *mask,
	       const struct npu_weights *w, struct npu_ref dst)
{
	(void)s;
	(void)view;
	(void)mask;
	(void)w;
	(void)dst;
#if BAD == 1	/* npu_commit */
	return npu_commit(npu_zero_point_sub(npu_fetch(s, view), 3), dst);
#elif BAD == 2	/* npu_commit_flits */
	return npu_commit_flits(npu_zero_point_sub(npu_fetch(s, view), 3), dst);
#elif BAD == 3	/* npu_cast */
	return npu_contract(npu_cast(npu_zero_point_sub(npu_fetch(s, view), 3), NPU_TYPE_I32), w,
			    dst);
#elif BAD == 4	/* npu_lookup */
	return npu_contract(npu_lookup(npu_zero_point_sub(npu_fetch(s, view), 3), NPU_TYPE_BF16),
			    w, dst);
#elif BAD == 5	/* npu_mask */
	return npu_contract(npu_mask(npu_zero_point_sub(npu_fetch(s, view), 3), mask), w, dst);
#elif BAD == 6	/* npu_zero_point_sub */
	return npu_contract(npu_zero_point_sub(npu_zero_point_sub(npu_fetch(s, view), 3), 3), w,
			    dst);
#elif BAD == 7	/* npu_table */
	return npu_contract(npu_table(npu_zero_point_sub(npu_fetch(s, view), 3), 0), w, dst);
#elif BAD == 8	/* npu_lookup */
	return npu_commit(npu_lookup(npu_cast(npu_fetch(s, view), NPU_TYPE_F32), NPU_TYPE_BF16),
			  dst);
#elif BAD == 9	/* npu_mask */
	return npu_commit(npu_mask(npu_cast(npu_fetch(s, view), NPU_TYPE_F32), mask), dst);
#elif BAD == 10	/* npu_mask */
	return npu_commit(npu_mask(npu_lookup(npu_fetch(s, view), NPU_TYPE_BF16), mask), dst);
#elif BAD == 11	/* npu_table */
	return npu_commit(npu_table(npu_lookup(npu_fetch(s, view), NPU_TYPE_BF16), 0), dst);
#elif BAD == 12	/* npu_mask */
	return npu_commit(npu_mask(npu_sub_fetch(s, view), mask), dst);
#elif BAD == 13	/* npu_lookup */
	return npu_commit(npu_lookup(npu_sub_fetch(s, view), NPU_TYPE_BF16), dst);
#elif BAD == 14	/* npu_contract */
	return npu_contract(npu_sub_fetch(s, view), w, dst);
#elif BAD == 15	/* npu_zero_point_sub */
	return npu_contract(npu_zero_point_sub(npu_sub_fetch(s, view), 3), w, dst);
#elif BAD == 16	/* npu_contract */
	return npu_contract(npu_cast(npu_sub_fetch(s, view), NPU_TYPE_F32), w, dst);
#elif BAD == 17	/* npu_cast */
	return npu_commit(npu_cast(npu_cast(npu_fetch(s, view), NPU_TYPE_F32), NPU_TYPE_BF16),
			  dst);
#elif BAD == 18	/* npu_commit_fetched */
	return npu_commit_fetched(npu_zero_point_sub_fetched(npu_fetch(s, view), 3), dst);
#else
	return 0;
#endif
}

int stages(struct npu_stream *s, const struct npu_view *view, const struct npu_mask *mask,
	   const struct npu_weights *w, struct npu_ref dst)
{
	return good(s, view, mask, w, dst) | bad(s, view, mask, w, dst);
}
