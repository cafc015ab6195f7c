// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sleep. The device forgets everything in D3, so it sleeps with nothing to do
 * and is set up anew. At run time it is awake as long as there is a client: the
 * way from a job to the device has no place where to wait for it.
 */
#include <linux/pm_runtime.h>

#include "npu_drv.h"
#include "npu_pm.h"
#include "npu_reset.h"

#define NPU_AUTOSUSPEND_MS	1000

void npu_pm_init(struct npu_device *npu)
{
	struct device *dev = npu->drm.dev;

	pm_runtime_set_autosuspend_delay(dev, NPU_AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_mark_last_busy(dev);
	/* The PCI core's reference; it keeps the device awake if user space says so. */
	pm_runtime_put_noidle(dev);
}

/* The PCI core has resumed the device. */
void npu_pm_fini(struct npu_device *npu)
{
	pm_runtime_get_noresume(npu->drm.dev);
	pm_runtime_dont_use_autosuspend(npu->drm.dev);
}

int npu_pm_get(struct npu_device *npu)
{
	return pm_runtime_resume_and_get(npu->drm.dev);
}

void npu_pm_put(struct npu_device *npu)
{
	pm_runtime_mark_last_busy(npu->drm.dev);
	pm_runtime_put_autosuspend(npu->drm.dev);
}

static int npu_suspend(struct device *dev)
{
	struct npu_device *npu = dev_get_drvdata(dev);

	npu_reset_pause(npu);
	flush_delayed_work(&npu->fault_work);
	/* What would have been invalidated until the device is back it forgets. */
	scoped_guard(mutex, &npu->mmu_lock)
		npu->asleep = true;

	return 0;
}

static int npu_resume(struct device *dev)
{
	npu_reset_resume(dev_get_drvdata(dev));

	return 0;
}

const struct dev_pm_ops npu_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(npu_suspend, npu_resume)
	RUNTIME_PM_OPS(npu_suspend, npu_resume, NULL)
};
