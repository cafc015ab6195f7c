// SPDX-License-Identifier: MIT
/* npu-demo: the tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "demo.h"

#define BINS	24

static struct {
	bool colour;
	unsigned int rows, wrong;
	uint64_t elements;
	double seconds;
} show;

static const char *paint(const char *code)
{
	return show.colour ? code : "";
}

#define BOLD	paint("\033[1m")
#define DIM	paint("\033[2m")
#define GREEN	paint("\033[32m")
#define RED	paint("\033[1;31m")
#define CYAN	paint("\033[36m")
#define PLAIN	paint("\033[0m")

void show_begin(const struct npu_device_info *info)
{
	show.colour = isatty(STDOUT_FILENO);
	printf("\n  %sA speech detector's tensors through the NPU's front end%s\n", BOLD, PLAIN);
	printf("  Silero VAD v5, activations on a spoken \"front center\" and LSTM weights\n\n");
	if (info->emulated)
		printf("  device: emulation, SIMD level %s, %u threads, engine clock %.2f GHz\n",
		       npu_cpu_level(), info->threads, (double)info->clock_hz / 1e9);
	else
		printf("  device: %s, driver %s, engine clock %.2f GHz\n", info->path, info->driver,
		       (double)info->clock_hz / 1e9);
}

void show_head(const char *title)
{
	printf("\n  %s%s%s\n", BOLD, title, PLAIN);
	printf("  %s%-28s %-15s %-9s %8s %8s %5s %9s  %-*s%s\n", DIM, "tensor", "becomes", "shape",
	       "time", "cycles", "sat.", "SNR", BINS, "distribution", PLAIN);
}

/* Heights go by the logarithm: tails are what quantisers live by. */
static void histogram(const double *v, uint64_t n)
{
	static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	uint64_t bins[BINS] = { 0 }, most = 1;
	double low = INFINITY, high = -INFINITY;

	for (uint64_t i = 0; i < n; i++) {
		low = v[i] < low ? v[i] : low;
		high = v[i] > high ? v[i] : high;
	}
	for (uint64_t i = 0; i < n; i++) {
		double at = high > low ? (v[i] - low) / (high - low) * BINS : 0;
		unsigned int bin = at >= BINS ? BINS - 1 : at > 0 ? (unsigned int)at : 0;

		bins[bin]++;
		most = bins[bin] > most ? bins[bin] : most;
	}
	fputs(CYAN, stdout);
	for (int i = 0; i < BINS; i++) {
		double height = bins[i] ? log((double)bins[i] + 1) / log((double)most + 1) * 8 : 0;

		fputs(bars[bins[i] && height < 1 ? 1 : (int)(height + 0.5)], stdout);
	}
	fputs(PLAIN, stdout);
}

static void print_snr(double snr)
{
	if (isnan(snr))
		printf(" %9s", "");
	else if (isinf(snr))
		printf(" %9s", "no loss");
	else
		printf(" %6.1f dB", snr);
}

void show_row(const struct row *r)
{
	char shape[32];

	snprintf(shape, sizeof(shape), "%llux%llu", (unsigned long long)r->rows,
		 (unsigned long long)r->cols);
	printf("  %-28s %-15s %-9s %5.0f us %8llu %5llu", r->what, r->becomes, shape,
	       r->outcome->seconds * 1e6, (unsigned long long)r->outcome->result.cycles,
	       (unsigned long long)r->outcome->result.saturated);
	print_snr(r->snr);
	printf("  ");
	histogram(r->values, r->count);
	printf("  %s%s%s\n", r->exact ? GREEN : RED, r->exact ? "✓" : "✗ differs", PLAIN);
	show.rows++;
	show.wrong += !r->exact;
	show.elements += r->outcome->result.elements_in;
	show.seconds += r->outcome->seconds;
}

int show_end(const char *folder)
{
	if (show.wrong)
		printf("\n  %s%u of %u results differ from the expected ones%s\n\n", RED, show.wrong,
		       show.rows, PLAIN);
	else
		printf("\n  %sAll %u results equal those of an independent model, bit for bit%s: %.0f million elements/s\n\n",
		       GREEN, show.rows, PLAIN,
		       (double)show.elements / show.seconds / 1e6);
	printf("  %sThe same from the command line:%s\n", DIM, PLAIN);
	printf("    build/npu preprocess %s/" MODEL ":act.stft_magnitude -o q.npy --stats\n", folder);
	printf("    build/npu fetch %s/" MODEL ":lstm.weight_ih.nvfp4 --lookup f8e4m3 --cast f32 -o w.npy\n\n",
	       folder);
	return show.wrong != 0;
}
