// SPDX-License-Identifier: MIT
/* npu info: what is there. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmd.h"

static const char help[] =
	"usage: npu info [options]\n"
	"\n"
	"Devices, driver, engines, limits, and the SIMD level of emulation.\n"
	"\n"
	"  --device D             only this one: emu, /dev/accel/accelN\n"
	"  --cpu L, --threads N   of emulation\n"
	"  --json, -h, --version\n";

#define MAX_DEVICES	64

static json_t *limits_json(const struct npu_device_info *i)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "clock_hz",
			 (json_int_t)i->clock_hz, "address_start", (json_int_t)i->address_start,
			 "address_end", (json_int_t)i->address_end, "page_size",
			 (json_int_t)i->page_size, "max_stream", (json_int_t)i->max_stream,
			 "max_bo_size", (json_int_t)i->max_bo_size, "max_jobs",
			 (json_int_t)i->max_jobs, "max_bos", (json_int_t)i->max_bos, "max_syncs",
			 (json_int_t)i->max_syncs, "max_queues", (json_int_t)i->max_queues,
			 "max_in_flight", (json_int_t)i->max_in_flight, "timeout_ms",
			 (json_int_t)i->timeout_ms);
}

static json_t *device_json(const struct npu_device_info *i)
{
	json_t *engines = json_array();
	char id[16];

	for (uint32_t ring = 0; ring < NPU_RING_COUNT; ring++) {
		if (i->rings >> ring & 1)
			json_array_append_new(engines, json_string(npu_ring_name(ring)));
	}
	snprintf(id, sizeof(id), "%04x:%04x", i->device_id >> 16, i->device_id & 0xffff);
	return json_pack("{s:s,s:s,s:s,s:[I,I],s:[I,I],s:s?,s:I,s:I,s:I,s:o,s:o}", "name", i->name,
			 "path", i->path, "driver", i->driver, "uapi",
			 (json_int_t)i->driver_major, (json_int_t)i->driver_minor, "isa",
			 (json_int_t)i->isa_major, (json_int_t)i->isa_minor, "pci",
			 i->emulated ? NULL : id, "revision", (json_int_t)i->device_revision,
			 "capabilities", (json_int_t)i->capabilities, "threads",
			 (json_int_t)i->threads, "engines", engines, "limits", limits_json(i));
}

static void print_device(const struct npu_device_info *i)
{
	printf("%s", i->name);
	if (i->emulated)
		printf(": emulation, %s, %u thread%s\n", npu_cpu_level(), i->threads,
		       i->threads == 1 ? "" : "s");
	else
		printf(": %s, driver %s, uAPI %u.%u, PCI %04x:%04x revision %u\n", i->path,
		       i->driver, i->driver_major, i->driver_minor, i->device_id >> 16,
		       i->device_id & 0xffff, i->device_revision);
	printf("  engines    ");
	for (uint32_t ring = 0; ring < NPU_RING_COUNT; ring++) {
		if (i->rings >> ring & 1)
			printf(" %s", npu_ring_name(ring));
	}
	printf("\n  streams     version %u.%u, up to %" PRIu64 " bytes\n", i->isa_major,
	       i->isa_minor, i->max_stream);
	printf("  clock       %.3f GHz\n", (double)i->clock_hz / 1e9);
	printf("  addresses   0x%" PRIx64 " to 0x%" PRIx64 ", pages of %u bytes\n",
	       i->address_start, i->address_end - 1, i->page_size);
	printf("  limits      %u queues, %u jobs in flight each, %u a submit, buffers of %.1f GiB, %u ms a job\n",
	       i->max_queues, i->max_in_flight, i->max_jobs, (double)i->max_bo_size / (1u << 30),
	       i->timeout_ms);
}

/* A device that may not be opened is listed all the same, with the reason. */
static int show(const char *name, const struct options *opts, json_t *list)
{
	struct npu_device_info info = NPU_DEVICE_INFO_INIT;
	struct npu_open_options open = NPU_OPEN_OPTIONS_INIT;
	struct npu_device *dev;
	int ret;

	open.threads = opts->threads;
	ret = npu_open_with(name, &open, &dev);
	if (!ret) {
		ret = npu_get_info(dev, &info);
		npu_close(dev);
	}
	if (ret && opts->device)
		return fail_npu(ret);
	if (ret && list) {
		const char *base = strrchr(name, '/');

		json_array_append_new(list, json_pack("{s:s,s:s,s:s}", "name",
						      base ? base + 1 : name, "path", name,
						      "error", npu_last_error()));
	} else if (ret) {
		printf("%s: %s\n", name, npu_last_error());
	} else if (list) {
		json_array_append_new(list, device_json(&info));
	} else {
		print_device(&info);
	}
	return 0;
}

static int show_all(const struct options *opts, json_t *list)
{
	char paths[MAX_DEVICES][NPU_DEVICE_PATH_MAX];
	int count, ret = 0;

	if (opts->device)
		return show(opts->device, opts, list);
	count = npu_enumerate(paths, MAX_DEVICES);
	for (int i = 0; !ret && i < count && i < MAX_DEVICES; i++)
		ret = show(paths[i], opts, list);
	return ret ? ret : show("emu", opts, list);
}

static json_t *levels_json(void)
{
	json_t *list = json_array();
	const char *name;

	for (unsigned int i = 0; (name = npu_cpu_level_name(i)); i++)
		json_array_append_new(list, json_string(name));
	return list;
}

static void print_head(void)
{
	uint32_t v = npu_version();
	const char *name;

	printf("libnpu %u.%u.%u, SIMD level %s of", v >> 16, v >> 8 & 0xff, v & 0xff,
	       npu_cpu_level());
	for (unsigned int i = 0; (name = npu_cpu_level_name(i)); i++)
		printf(" %s", name);
	putchar('\n');
}

static int print_json(const struct options *opts)
{
	json_t *list = json_array(), *o;
	uint32_t v = npu_version();
	char version[32], *text;
	int ret;

	ret = show_all(opts, list);
	if (ret) {
		json_decref(list);
		return ret;
	}
	snprintf(version, sizeof(version), "%u.%u.%u", v >> 16, v >> 8 & 0xff, v & 0xff);
	o = json_pack("{s:s,s:s,s:o,s:o}", "version", version, "level", npu_cpu_level(), "levels",
		      levels_json(), "devices", list);
	text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	puts(text ? text : "{}");
	free(text);
	json_decref(o);
	return 0;
}

int npu_cmd_info(int argc, char **argv)
{
	struct options opts;
	struct command_line line = { .help = help, .groups = OPTIONS_DEVICE };
	bool done;
	int ret;

	ret = options_parse(&line, argc, argv, &opts, &done);
	if (ret || done)
		return ret;
	if (opts.cpu && npu_set_cpu_level(opts.cpu))
		return fail(NPU_EXIT_USAGE, "--cpu: %s", npu_last_error());
	if (opts.json)
		return print_json(&opts);
	print_head();
	return show_all(&opts, NULL);
}
