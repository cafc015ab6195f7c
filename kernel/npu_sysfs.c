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
			   (u64)atomic64_read(&client->busy_ns[i]));
	drm_show_memory_stats(p, file);
}

static u64 npu_ring_busy_ns(struct npu_ring *ring)
{
	u64 busy;

	scoped_guard(spinlock_irq, &ring->lock) {
		busy = ring->busy_ns;
		if (ring->job)
			busy += ktime_to_ns(ktime_sub(ktime_get(), ring->start));
	}

	return busy;
}

static ssize_t npu_busy_show(struct device *dev, char *buf, unsigned int id)
{
	struct npu_device *npu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%llu\n", div_u64(npu_ring_busy_ns(&npu->rings[id]), 1000));
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

static struct attribute *npu_attrs[] = {
	&dev_attr_fetch_main_busy_us.attr,
	&dev_attr_fetch_sub_busy_us.attr,
	&dev_attr_preprocess_busy_us.attr,
	NULL
};

static const struct attribute_group npu_group = {
	.attrs = npu_attrs,
};

const struct attribute_group *npu_groups[] = {
	&npu_group,
	NULL
};
