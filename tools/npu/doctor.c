// SPDX-License-Identifier: MIT
/* npu doctor: why there is no device, and what to do about it. */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "cmd.h"

static const char help[] =
	"usage: npu doctor [options]\n"
	"\n"
	"Looks for what keeps a device from working: hardware, module, node, permission,\n"
	"versions; one line and one remedy each. Exit status 0: a device works; 3: there is none;\n"
	"4: it may not be opened.\n"
	"\n"
	"  --json, -q, -h, --version\n";

#define PCI_DEVICES	"/sys/bus/pci/devices"
#define MODULE		"/sys/module/npu"
#define MAX_CHECKS	16

struct check {
	const char *name;
	bool ok;
	char detail[256];
	char remedy[256];
};

struct patient {
	struct check checks[MAX_CHECKS];
	unsigned int count;
	bool ok;			/* all of the device's checks so far */
	int status;
	char pci[64];			/* "0000:00:04.0", "" if there is none */
	char node[NPU_DEVICE_PATH_MAX];
};

static struct check *add(struct patient *p, const char *name, bool ok)
{
	struct check *c = &p->checks[p->count++];

	c->name = name;
	c->ok = ok;
	return c;
}

#define SAY(c, member, ...)	snprintf((c)->member, sizeof((c)->member), __VA_ARGS__)

/* The only check that does not matter to the device. */
static void check_emulation(struct patient *p)
{
	struct npu_device *dev;
	int ret = npu_open("emu", &dev);
	struct check *c = add(p, "emulation", !ret);

	if (ret) {
		SAY(c, detail, "does not start: %s", npu_last_error());
		SAY(c, remedy, "free some memory, or raise the limits of this process (ulimit -a)");
		return;
	}
	npu_close(dev);
	SAY(c, detail, "works, SIMD level %s", npu_cpu_level());
}

static unsigned int read_hex(const char *dir, const char *name)
{
	char path[512], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return (unsigned int)strtoul(text, NULL, 16);
}

static void check_hardware(struct patient *p)
{
	DIR *dir = opendir(PCI_DEVICES);
	struct dirent *e;
	struct check *c;

	while (dir && !p->pci[0] && (e = readdir(dir))) {
		if (read_hex(e->d_name, "vendor") == 0x1234 &&
		    read_hex(e->d_name, "device") == 0xa11e)
			snprintf(p->pci, sizeof(p->pci), "%.60s", e->d_name);
	}
	if (dir)
		closedir(dir);
	c = add(p, "hardware", p->pci[0]);
	if (c->ok) {
		SAY(c, detail, "PCI device %s", p->pci);
		return;
	}
	SAY(c, detail, "no PCI device 1234:a11e in this machine");
	SAY(c, remedy, "nothing to repair: without a device npu runs in emulation (--device emu)");
	p->ok = false;
}

static void check_module(struct patient *p)
{
	bool loaded = !access(MODULE, F_OK);
	struct check *c = add(p, "module", loaded);

	if (loaded) {
		SAY(c, detail, "npu.ko is loaded");
		return;
	}
	SAY(c, detail, "npu.ko is not loaded");
	SAY(c, remedy, "modprobe npu (as root); if it is unknown, build it with make modules modules_install");
	p->ok = false;
}

static void check_bound(struct patient *p)
{
	char path[512], target[512] = "";
	struct check *c;
	const char *driver;
	ssize_t n;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/driver", p->pci);
	n = p->pci[0] ? readlink(path, target, sizeof(target) - 1) : -1;
	driver = n > 0 ? strrchr(target, '/') : NULL;
	driver = driver ? driver + 1 : NULL;
	c = add(p, "driver", driver && !strcmp(driver, "npu"));
	if (c->ok) {
		SAY(c, detail, "npu drives %s", p->pci);
		return;
	}
	p->ok = false;
	if (!p->pci[0]) {
		SAY(c, detail, "has nothing to drive");
		SAY(c, remedy, "see hardware");
	} else if (driver) {
		SAY(c, detail, "%s is driven by %.60s", p->pci, driver);
		SAY(c, remedy, "echo %s > /sys/bus/pci/devices/%s/driver/unbind, then modprobe npu",
		    p->pci, p->pci);
	} else {
		SAY(c, detail, "no driver took %s", p->pci);
		SAY(c, remedy, "modprobe npu; if it is loaded, dmesg says why it refused");
	}
}

static void check_node(struct patient *p)
{
	char paths[1][NPU_DEVICE_PATH_MAX] = { "" };
	int count = npu_enumerate(paths, 1);
	struct check *c;
	struct stat st;

	c = add(p, "node", count > 0 && !stat(paths[0], &st));
	if (c->ok) {
		snprintf(p->node, sizeof(p->node), "%s", paths[0]);
		SAY(c, detail, "%s", p->node);
		return;
	}
	p->ok = false;
	if (count > 0) {
		SAY(c, detail, "the driver has %s, but the file is not there", paths[0]);
		SAY(c, remedy, "start udev, or give the container --device %s", paths[0]);
	} else {
		SAY(c, detail, "the driver npu has no node in /sys/class/accel");
		SAY(c, remedy, "see driver");
	}
}

static void check_permission(struct patient *p)
{
	struct group *group;
	struct check *c;
	struct stat st;

	c = add(p, "permission", p->node[0] && !access(p->node, R_OK | W_OK));
	if (c->ok) {
		SAY(c, detail, "%s may be opened", p->node);
		return;
	}
	p->ok = false;
	if (!p->node[0] || stat(p->node, &st)) {
		SAY(c, detail, "there is nothing to open");
		SAY(c, remedy, "see node");
		return;
	}
	p->status = NPU_EXIT_PERMISSION;
	group = getgrgid(st.st_gid);
	SAY(c, detail, "%s belongs to group %s, mode %03o", p->node,
	    group ? group->gr_name : "unknown", st.st_mode & 0777);
	SAY(c, remedy, "usermod -aG %s %s (as root), then log in again",
	    group ? group->gr_name : "render", getpwuid(getuid()) ? getpwuid(getuid())->pw_name :
	    "USER");
}

static void check_versions(struct patient *p)
{
	struct npu_device_info info = NPU_DEVICE_INFO_INIT;
	struct npu_device *dev;
	struct check *c;
	int ret;

	if (!p->ok) {
		c = add(p, "versions", false);
		SAY(c, detail, "no device to ask");
		SAY(c, remedy, "see above");
		return;
	}
	ret = npu_open(p->node, &dev);
	if (!ret) {
		ret = npu_get_info(dev, &info);
		npu_close(dev);
	}
	c = add(p, "versions", !ret);
	if (!ret) {
		SAY(c, detail, "driver uAPI %u.%u, streams %u.%u, as the library has them",
		    info.driver_major, info.driver_minor, info.isa_major, info.isa_minor);
		return;
	}
	p->ok = false;
	SAY(c, detail, "%s", npu_last_error());
	SAY(c, remedy, "install the npu package and npu.ko of the same release");
}

static void print_text(const struct patient *p)
{
	for (unsigned int i = 0; i < p->count; i++) {
		const struct check *c = &p->checks[i];

		printf("%-4s %-11s %s%s%s\n", c->ok ? "ok" : "FAIL", c->name, c->detail,
		       c->ok ? "" : "; ", c->remedy);
	}
}

static void print_json(const struct patient *p)
{
	json_t *list = json_array(), *o;
	char *text;

	for (unsigned int i = 0; i < p->count; i++) {
		const struct check *c = &p->checks[i];

		json_array_append_new(list, json_pack("{s:s,s:b,s:s,s:s}", "name", c->name, "ok",
						      c->ok, "detail", c->detail, "remedy",
						      c->remedy));
	}
	o = json_pack("{s:b,s:o}", "ok", p->ok, "checks", list);
	text = json_dumps(o, JSON_COMPACT);
	puts(text ? text : "{}");
	free(text);
	json_decref(o);
}

int npu_cmd_doctor(int argc, char **argv)
{
	struct patient p = { .ok = true, .status = NPU_EXIT_NO_DEVICE };
	struct options opts;
	struct command_line line = { .help = help };
	bool done;
	int ret;

	ret = options_parse(&line, argc, argv, &opts, &done);
	if (ret || done)
		return ret;
	check_emulation(&p);
	check_hardware(&p);
	check_module(&p);
	check_bound(&p);
	check_node(&p);
	check_permission(&p);
	check_versions(&p);
	if (opts.json)
		print_json(&p);
	else if (!opts.quiet)
		print_text(&p);
	return p.ok ? NPU_EXIT_OK : p.status;
}
