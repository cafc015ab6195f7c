// SPDX-License-Identifier: GPL-2.0-only
/*
 * Figures for people: fdinfo of a file, sysfs attributes of the device.
 */
#include <linux/device.h>
#include <linux/pci.h>
#include <linux/sysfs.h>

#include "npu_drv.h"
#include "npu_sysfs.h"

/* Documentation/gpu/drm-usage-stats.rst has the names. */
void npu_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct npu_client *client = to_npu_client(file);

	for (unsigned int i = 0; i < NPU_RING_COUNT; i++)
		drm_printf(p, "drm-engine-%s:\t%llu ns\n", npu_ring_engine(i),
			   npu_ring_busy_ns(&client->npu->rings[i], client));
	drm_show_memory_stats(p, file);
}

static ssize_t npu_busy_show(struct device *dev, char *buf, unsigned int id)
{
	struct npu_device *npu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%llu\n", div_u64(npu_ring_busy_ns(&npu->rings[id], NULL), 1000));
}

static ssize_t fetch_main_busy_us_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return npu_busy_show(dev, buf, NPU_RING_FETCH_MAIN);
}
static DEVICE_ATTR_RO(fetch_main_busy_us);

static ssize_t fetch_sub_busy_us_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return npu_busy_show(dev, buf, NPU_RING_FETCH_SUB);
}
static DEVICE_ATTR_RO(fetch_sub_busy_us);

static ssize_t preprocess_busy_us_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return npu_busy_show(dev, buf, NPU_RING_PREPROCESS);
}
static DEVICE_ATTR_RO(preprocess_busy_us);

/* Bytes of buffer objects that are pinned and mapped for the device. */
static ssize_t memory_bytes_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct npu_device *npu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%lld\n", atomic64_read(&npu->mapped_bytes));
}
static DEVICE_ATTR_RO(memory_bytes);

static ssize_t resets_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct npu_device *npu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", READ_ONCE(npu->resets));
}
static DEVICE_ATTR_RO(resets);

static ssize_t wedged_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", npu_wedged(dev_get_drvdata(dev)));
}
static DEVICE_ATTR_RO(wedged);

static struct attribute *npu_attrs[] = {
	&dev_attr_fetch_main_busy_us.attr,
	&dev_attr_fetch_sub_busy_us.attr,
	&dev_attr_preprocess_busy_us.attr,
	&dev_attr_memory_bytes.attr,
	&dev_attr_resets.attr,
	&dev_attr_wedged.attr,
	NULL
};

static const struct attribute_group npu_group = {
	.attrs = npu_attrs,
};

const struct attribute_group *npu_groups[] = {
	&npu_group,
	NULL
};
