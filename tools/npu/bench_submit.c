// SPDX-License-Identifier: MIT
/* npu bench: what a job costs beside its work. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "bench.h"

#define DEPTH		64
#define SMALL_BYTES	4096
#define LARGE_BYTES	(64u << 20)
#define WAIT_MS		120000

struct lane {
	struct npu_queue *queue;
	struct npu_stream *stream;
};

/* One queue, its stream empty or one command on @bytes of bf16. */
static int lane_new(struct npu_device *dev, uint32_t ring, uint32_t bytes, struct lane *lane)
{
	struct npu_view view = NPU_VIEW_INIT;
	struct npu_preprocess cmd = NPU_PREPROCESS_INIT;
	struct npu_bo *src, *dst;
	int ret;

	ret = npu_queue_create(dev, ring, NPU_PRIORITY_NORMAL, &lane->queue);
	if (!ret)
		ret = npu_stream_create(dev, ring, &lane->stream);
	if (ret || !bytes)
		return ret;
	ret = npu_bo_create(dev, bytes, 0, &src);
	if (!ret)
		ret = npu_bo_create(dev, 2 * (uint64_t)bytes, 0, &dst);
	if (ret)
		return ret;
	if (ring == NPU_RING_PREPROCESS) {
		cmd.src = npu_at(src, 0);
		cmd.dst = npu_at(dst, 0);
		cmd.rows = 1;
		cmd.cols = bytes / 2;
		cmd.mode = NPU_PP_MODE_INT8_EMAX;
		return npu_preprocess(lane->stream, &cmd);
	}
	view.base = npu_at(src, 0);
	view.type = NPU_TYPE_BF16;
	view.count = bytes / 2;
	if (ring == NPU_RING_FETCH_SUB)
		return npu_commit(npu_cast(npu_sub_fetch(lane->stream, &view), NPU_TYPE_F32),
				  npu_at(dst, 0));
	return npu_commit(npu_cast(npu_fetch(lane->stream, &view), NPU_TYPE_F32), npu_at(dst, 0));
}

static void lane_free(struct lane *lane)
{
	npu_stream_destroy(lane->stream);
	npu_queue_destroy(lane->queue);
}

/* @jobs jobs on each of @lanes, at most @depth unfinished on each; seconds, or < 0. */
static double run_lanes(struct lane *lanes, unsigned int count, unsigned int jobs,
			unsigned int depth)
{
	struct npu_fence *fences = calloc((size_t)count * depth, sizeof(*fences));
	double start = bench_now();
	int ret = fences ? 0 : -ENOMEM;

	for (unsigned int j = 0; !ret && j < jobs + depth; j++) {
		for (unsigned int i = 0; !ret && i < count; i++) {
			struct npu_fence *fence = &fences[i * depth + j % depth];

			if (j >= depth)
				ret = npu_fence_wait(*fence, npu_deadline(WAIT_MS), NULL);
			if (!ret && j < jobs)
				ret = npu_submit(lanes[i].queue, lanes[i].stream, NULL, fence);
		}
	}
	free(fences);
	return ret ? -1 : bench_now() - start;
}

/*
 * The best of some repetitions of @target seconds, as jobs per second; < 0 on an error. A device
 * in an emulated guest is a thousand times slower than emulation: the number of jobs adapts.
 */
static double jobs_per_second(struct npu_device *dev, const uint32_t *rings, unsigned int count,
			      uint32_t bytes, unsigned int depth, double target)
{
	struct lane lanes[NPU_RING_COUNT] = { 0 };
	unsigned int jobs = 2 * depth;
	double best = -1;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < count; i++)
		ret = lane_new(dev, rings[i], bytes, &lanes[i]);
	for (unsigned int r = 0; !ret && r < 5;) {
		double seconds = run_lanes(lanes, count, jobs, depth);

		if (seconds < 0) {
			ret = -EIO;
			break;
		}
		if (seconds < target)
			jobs *= 2;
		else
			r++;
		if (best < 0 || jobs * count / seconds > best)
			best = jobs * count / seconds;
	}
	for (unsigned int i = 0; i < count; i++)
		lane_free(&lanes[i]);
	return ret ? -1 : best;
}

/* Seconds of an ioctl that the DRM core answers by itself (GET_CAP of no capability). */
static double ioctl_seconds(int fd)
{
	uint64_t args[2] = { 0, 0 };
	double best = 1;

	for (int r = 0; r < 5; r++) {
		double start = bench_now();

		for (int i = 0; i < 10000; i++)
			(void)ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', 0x0c, sizeof(args)),
				    args);
		if (bench_now() - start < best)
			best = bench_now() - start;
	}
	return best / 10000;
}

/* Seconds of one job that converts 64 MiB to int8. */
static double large_seconds(struct npu_device *dev)
{
	struct lane lane = { 0 };
	double best = -1;
	int ret = lane_new(dev, NPU_RING_PREPROCESS, LARGE_BYTES, &lane);

	for (int r = 0; !ret && r < 5; r++) {
		double seconds = run_lanes(&lane, 1, 1, 1);

		if (seconds < 0)
			ret = -EIO;
		else if (best < 0 || seconds < best)
			best = seconds;
	}
	lane_free(&lane);
	return ret ? -1 : best;
}

static int add_rate(json_t *o, const char *name, double rate)
{
	if (rate < 0)
		return -1;
	return json_object_set_new(o, name, json_real(rate));
}

static int measure_jobs(struct npu_device *dev, bool quick, json_t *o)
{
	static const uint32_t rings[NPU_RING_COUNT] = { NPU_RING_FETCH_MAIN, NPU_RING_FETCH_SUB,
							NPU_RING_PREPROCESS };
	double target = quick ? 0.05 : 0.3;
	json_t *empty = json_object(), *small = json_object();
	int ret;

	json_object_set_new(o, "empty", empty);
	json_object_set_new(o, "bytes_4096", small);
	ret = add_rate(empty, "depth1_jobs_per_second",
		       jobs_per_second(dev, rings, 1, 0, 1, target)) ||
	      add_rate(empty, "depth64_jobs_per_second",
		       jobs_per_second(dev, rings, 1, 0, DEPTH, target)) ||
	      add_rate(empty, "three_queues_jobs_per_second",
		       jobs_per_second(dev, rings, NPU_RING_COUNT, 0, DEPTH, target)) ||
	      add_rate(small, "depth1_jobs_per_second",
		       jobs_per_second(dev, rings, 1, SMALL_BYTES, 1, target)) ||
	      add_rate(small, "depth64_jobs_per_second",
		       jobs_per_second(dev, rings, 1, SMALL_BYTES, DEPTH, target)) ||
	      add_rate(small, "three_queues_jobs_per_second",
		       jobs_per_second(dev, rings, NPU_RING_COUNT, SMALL_BYTES, DEPTH, target));
	return ret;
}

static int measure_device(struct npu_device *dev, const struct npu_device_info *info, json_t *o)
{
	struct npu_open_options slow = NPU_OPEN_OPTIONS_INIT;
	struct npu_device *emu;
	double device, emulation;
	int ret;

	device = large_seconds(dev);
	if (device < 0)
		return -1;
	json_object_set_new(o, "mib64_seconds", json_real(device));
	if (info->emulated)
		return 0;
	json_object_set_new(o, "ioctl_seconds", json_real(ioctl_seconds(npu_device_fd(dev))));
	/* In an emulated guest 64 MiB may take emulation longer than a job normally has. */
	slow.timeout_ms = 120000;
	ret = npu_open_with("emu", &slow, &emu);
	if (ret)
		return -1;
	emulation = large_seconds(emu);
	npu_close(emu);
	if (emulation < 0)
		return -1;
	json_object_set_new(o, "mib64_emulation_seconds", json_real(emulation));
	return json_object_set_new(o, "mib64_emulation_ratio", json_real(device / emulation));
}

json_t *bench_submit(const struct options *opts, bool quick, int *status)
{
	struct npu_device_info info = NPU_DEVICE_INFO_INIT;
	struct npu_device *dev;
	json_t *o;

	*status = device_open(opts, &dev, &info);
	if (*status)
		return NULL;
	o = json_pack("{s:s}", "device", info.name);
	if (measure_jobs(dev, quick, o) || measure_device(dev, &info, o)) {
		*status = fail(NPU_EXIT_FAILED, "submit cost on %s: %s", info.name,
			       npu_last_error());
		json_decref(o);
		o = NULL;
	}
	npu_close(dev);
	return o;
}

static void print_rates(const json_t *o, const char *name, const char *what)
{
	const json_t *r = json_object_get(o, name);

	printf("%-20s %12.0f %12.0f %12.0f\n", what,
	       json_real_value(json_object_get(r, "depth1_jobs_per_second")),
	       json_real_value(json_object_get(r, "depth64_jobs_per_second")),
	       json_real_value(json_object_get(r, "three_queues_jobs_per_second")));
}

void bench_submit_print(const json_t *o)
{
	double depth1 = json_real_value(json_object_get(json_object_get(o, "empty"),
							"depth1_jobs_per_second"));
	double ioctl_cost = json_real_value(json_object_get(o, "ioctl_seconds"));
	double ratio = json_real_value(json_object_get(o, "mib64_emulation_ratio"));

	printf("\njobs per second on %s   depth 1     depth %d     3 queues\n",
	       json_string_value(json_object_get(o, "device")), DEPTH);
	print_rates(o, "empty", "empty");
	print_rates(o, "bytes_4096", "4 KiB");
	printf("64 MiB bf16 to int8: %.1f ms",
	       json_real_value(json_object_get(o, "mib64_seconds")) * 1e3);
	if (ratio > 0)
		printf(", %.2f times the emulation's", ratio);
	printf("\n");
	if (ioctl_cost > 0)
		printf("submit and wait of an empty job: %.2f us, %.1f empty ioctls\n",
		       1e6 / depth1, 1 / depth1 / ioctl_cost);
}
