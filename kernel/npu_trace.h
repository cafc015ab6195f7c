/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM npu

#if !defined(_NPU_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define _NPU_TRACE_H_

#include <linux/tracepoint.h>

#include "npu_job.h"
#include "npu_queue.h"
#include "npu_ring.h"

/* In a form that tools understand as well. */
#define npu_trace_ring(id)					\
	__print_symbolic(id,					\
			 { NPU_RING_FETCH_MAIN, "fetch-main" },	\
			 { NPU_RING_FETCH_SUB, "fetch-sub" },	\
			 { NPU_RING_PREPROCESS, "preprocess" })

/*
 * A queue is called by its fence context, as in the scheduler's events. A job's
 * number counts from 0 in its queue.
 */
DECLARE_EVENT_CLASS(npu_job,
		    TP_PROTO(struct npu_job *job),
		    TP_ARGS(job),
		    TP_STRUCT__entry(__field(u64, queue)
				     __field(u64, job)
				     __field(u64, record)
				     __field(u32, ring)
				     __field(u32, size)
				     ),
		    TP_fast_assign(__entry->queue = job->queue->entity.fence_context;
				   __entry->job = job->number;
				   __entry->record = job->record;
				   __entry->ring = job->queue->ring->id;
				   __entry->size = job->size;
				   ),
		    TP_printk("ring=%s queue=%llu job=%llu size=%u record=%#llx",
			      npu_trace_ring(__entry->ring), __entry->queue, __entry->job,
			      __entry->size, __entry->record));

DEFINE_EVENT(npu_job, npu_job_queue,
	     TP_PROTO(struct npu_job *job),
	     TP_ARGS(job));

DEFINE_EVENT(npu_job, npu_job_run,
	     TP_PROTO(struct npu_job *job),
	     TP_ARGS(job));

TRACE_EVENT(npu_job_done,
	    TP_PROTO(struct npu_job *job, const struct npu_completion *c, u64 busy_ns),
	    TP_ARGS(job, c, busy_ns),
	    TP_STRUCT__entry(__field(u64, queue)
			     __field(u64, job)
			     __field(u64, cycles)
			     __field(u64, device_ns)
			     __field(u64, busy_ns)
			     __field(u32, ring)
			     __field(u32, rule)
			     ),
	    TP_fast_assign(__entry->queue = job->queue->entity.fence_context;
			   __entry->job = job->number;
			   __entry->cycles = le64_to_cpu(c->cycles);
			   __entry->device_ns = le64_to_cpu(c->clock_end) -
						le64_to_cpu(c->clock_start);
			   __entry->busy_ns = busy_ns;
			   __entry->ring = job->queue->ring->id;
			   __entry->rule = le32_to_cpu(c->rule);
			   ),
	    TP_printk("ring=%s queue=%llu job=%llu rule=%u cycles=%llu device_ns=%llu busy_ns=%llu",
		      npu_trace_ring(__entry->ring), __entry->queue, __entry->job, __entry->rule,
		      __entry->cycles, __entry->device_ns, __entry->busy_ns));

TRACE_EVENT(npu_queue_fault,
	    TP_PROTO(struct npu_queue *queue, const struct npu_fault *fault),
	    TP_ARGS(queue, fault),
	    TP_STRUCT__entry(__field(u64, queue)
			     __field(u64, job)
			     __field(u64, address)
			     __field(u32, ring)
			     __field(u32, rule)
			     __field(u32, command)
			     ),
	    TP_fast_assign(__entry->queue = queue->entity.fence_context;
			   __entry->job = fault->job;
			   __entry->address = fault->address;
			   __entry->ring = queue->ring->id;
			   __entry->rule = fault->rule;
			   __entry->command = fault->command;
			   ),
	    TP_printk("ring=%s queue=%llu job=%llu rule=%u command=%u address=%#llx",
		      npu_trace_ring(__entry->ring), __entry->queue, __entry->job, __entry->rule,
		      __entry->command, __entry->address));

TRACE_EVENT(npu_reset,
	    TP_PROTO(const char *what, int result),
	    TP_ARGS(what, result),
	    TP_STRUCT__entry(__string(what, what)
			     __field(int, result)
			     ),
	    TP_fast_assign(__assign_str(what);
			   __entry->result = result;
			   ),
	    TP_printk("what=%s result=%d", __get_str(what), __entry->result));

TRACE_EVENT(npu_invalidate,
	    TP_PROTO(u32 asid, s64 us),
	    TP_ARGS(asid, us),
	    TP_STRUCT__entry(__field(u32, asid)
			     __field(s64, us)
			     ),
	    TP_fast_assign(__entry->asid = asid;
			   __entry->us = us;
			   ),
	    TP_printk("asid=%u us=%lld", __entry->asid, __entry->us));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE npu_trace
#include <trace/define_trace.h>
