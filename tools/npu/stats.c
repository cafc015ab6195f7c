// SPDX-License-Identifier: MIT
/* --stats: what a run did, for people and as the JSON record of the manual. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <jansson.h>

#include "run.h"

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

void stats_begin(struct stats *stats, const struct npu_device_info *info)
{
	*stats = (struct stats){ .info = info, .first_nonfinite_block = NPU_NO_BLOCK };
	stats->begun = now_ns();
}

void stats_add(struct stats *stats, const struct npu_result *result, uint64_t first_block)
{
	stats->elements_in += result->elements_in;
	stats->elements_out += result->elements_out;
	stats->cycles += result->cycles;
	stats->saturated += result->saturated;
	stats->nonfinite_blocks += result->nonfinite_blocks;
	/* Jobs end in order: the first that has one has the first one. */
	if (stats->first_nonfinite_block == NPU_NO_BLOCK &&
	    result->first_nonfinite_block != NPU_NO_BLOCK && result->nonfinite_blocks)
		stats->first_nonfinite_block = first_block + result->first_nonfinite_block;
}

void stats_add_fetch(struct stats *stats, struct npu_stream *stream)
{
	struct npu_fetch_info info = { .size = sizeof(info) };
	uint32_t count = npu_stream_count(stream);

	for (uint32_t i = 0; i < count; i++) {
		if (npu_stream_fetch_info(stream, i, &info))
			continue;
		info.time_steps += stats->fetch.time_steps;
		info.cycles += stats->fetch.cycles;
		if (!stats->fetches++) {
			stats->fetch = info;
			continue;
		}
		stats->fetch.time_steps = info.time_steps;
		stats->fetch.cycles = info.cycles;
	}
}

static json_t *fetch_json(const struct npu_fetch_info *f)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "time_steps", (json_int_t)f->time_steps,
			 "packet_size", (json_int_t)f->packet_size, "max_access_size",
			 (json_int_t)f->max_access_size, "read_size", (json_int_t)f->read_size,
			 "reads_per_packet", (json_int_t)f->reads_per_packet, "cycles",
			 (json_int_t)f->cycles);
}

static json_t *warnings_json(void)
{
	json_t *list = json_array();
	const char *text;

	for (unsigned int i = 0; (text = warning_text(i)); i++)
		json_array_append_new(list, json_string(text));
	return list;
}

static void print_json(const struct stats *s, double seconds)
{
	json_t *o;
	char *text;

	/* No non-finite block is -1: JSON libraries have no ~0. */
	o = json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:o}", "device", s->info->name, "level",
		      npu_cpu_level(), "elements_in", (json_int_t)s->elements_in, "elements_out",
		      (json_int_t)s->elements_out, "cycles", (json_int_t)s->cycles, "saturated",
		      (json_int_t)s->saturated, "nonfinite_blocks",
		      (json_int_t)s->nonfinite_blocks, "first_nonfinite_block",
		      (json_int_t)s->first_nonfinite_block, "seconds", seconds, "warnings",
		      warnings_json());
	if (o && s->has_scale)
		json_object_set_new(o, "scale", json_real(s->scale));
	if (o && s->has_fetch)
		json_object_set_new(o, "fetch", fetch_json(&s->fetch));
	text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	if (text)
		fprintf(stderr, "%s\n", text);
	free(text);
	json_decref(o);
}

static void print_fetch(const struct npu_fetch_info *f)
{
	fprintf(stderr,
		"  sequencer   %" PRIu64 " time steps, packets of %" PRIu32 ", max access %" PRIu32
		", read %" PRIu32 ", %" PRIu32 " reads per packet, %" PRIu64 " cycles\n",
		f->time_steps, f->packet_size, f->max_access_size, f->read_size,
		f->reads_per_packet, f->cycles);
}

static void print_text(const struct stats *s, double seconds)
{
	fprintf(stderr, "  device      %s (%s)\n", s->info->name,
		s->info->emulated ? npu_cpu_level() : s->info->driver);
	fprintf(stderr, "  elements    %" PRIu64 " in, %" PRIu64 " out\n", s->elements_in,
		s->elements_out);
	fprintf(stderr, "  cycles      %" PRIu64, s->cycles);
	if (s->info->clock_hz)
		fprintf(stderr, " (%.1f us at %.2f GHz)",
			(double)s->cycles * 1e6 / (double)s->info->clock_hz,
			(double)s->info->clock_hz / 1e9);
	fprintf(stderr, "\n  saturated   %" PRIu64 " lanes\n", s->saturated);
	fprintf(stderr, "  non-finite  %" PRIu64 " blocks", s->nonfinite_blocks);
	if (s->first_nonfinite_block != NPU_NO_BLOCK)
		fprintf(stderr, ", the first is %" PRIu64, s->first_nonfinite_block);
	fputc('\n', stderr);
	if (s->has_fetch)
		print_fetch(&s->fetch);
	if (s->has_scale)
		fprintf(stderr, "  scale       %.9g\n", (double)s->scale);
	fprintf(stderr, "  time        %.3f ms, %.1f million elements/s\n", seconds * 1e3,
		seconds > 0 ? (double)s->elements_in / seconds / 1e6 : 0);
}

void stats_print(const struct stats *stats, const struct options *opts)
{
	double seconds = (double)(now_ns() - stats->begun) * 1e-9;

	device_tell(opts, stats->info);
	if (!opts->stats)
		return;
	if (opts->json)
		print_json(stats, seconds);
	else
		print_text(stats, seconds);
}
