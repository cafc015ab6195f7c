// SPDX-License-Identifier: GPL-2.0-only
/*
 * NPU front end: an accel device on PCI.
 */
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/pagemap.h>
#include <linux/pci.h>
#include <linux/swiotlb.h>
#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

#include "npu_coredump.h"
#include "npu_debugfs.h"
#include "npu_drv.h"
#include "npu_gem.h"
#include "npu_hw.h"
#include "npu_pm.h"
#include "npu_queue.h"
#include "npu_reset.h"
#include "npu_submit.h"
#include "npu_sysfs.h"

#define NPU_TIMEOUT_MS		2000u
#define NPU_TIMEOUT_MS_MAX	10000u
#define NPU_BO_SIZE_MAX		SZ_64G

static unsigned int npu_timeout_ms = NPU_TIMEOUT_MS;
module_param_named(timeout_ms, npu_timeout_ms, uint, 0600);
MODULE_PARM_DESC(timeout_ms,
		 "Time limit of a job in ms for devices bound from now on, 1 to 10000 (default: 2000)");

struct workqueue_struct *npu_release_wq;

static void npu_client_release(struct kref *ref)
{
	struct npu_client *client = container_of(ref, struct npu_client, ref);
	struct npu_device *npu = client->npu;

	npu_vm_fini(&client->vm);
	npu_pm_put(npu);
	xa_destroy(&client->queues);
	kfree(client);
	drm_dev_put(&npu->drm);
}

void npu_client_put(struct npu_client *client)
{
	kref_put(&client->ref, npu_client_release);
}

static int npu_open(struct drm_device *drm, struct drm_file *file)
{
	struct npu_device *npu = to_npu_device(drm);
	struct npu_client *client;
	int ret;

	client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);
	if (!client)
		return -ENOMEM;
	ret = npu_pm_get(npu);
	if (ret) {
		kfree(client);
		return ret;
	}
	kref_init(&client->ref);
	drm_dev_get(drm);
	client->npu = npu;
	xa_init_flags(&client->queues, XA_FLAGS_ALLOC1);
	npu_vm_init(&client->vm, npu);
	file->driver_priv = client;

	return 0;
}

/* Handles, and so mappings, have gone before. */
static void npu_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct npu_client *client = to_npu_client(file);

	npu_queue_close_all(client);
	npu_client_put(client);
}

static int npu_get_param(struct npu_device *npu, u32 param, u64 *value)
{
	struct pci_dev *pdev = to_pci_dev(npu->drm.dev);
	const u64 values[] = {
		[DRM_NPU_PARAM_UAPI_MAJOR] = 1,
		[DRM_NPU_PARAM_UAPI_MINOR] = 0,
		[DRM_NPU_PARAM_ISA_MAJOR] = npu->caps.isa >> 16,
		[DRM_NPU_PARAM_ISA_MINOR] = npu->caps.isa & 0xffff,
		[DRM_NPU_PARAM_DEVICE_ID] = pdev->vendor << 16 | pdev->device,
		[DRM_NPU_PARAM_DEVICE_REVISION] = pdev->revision,
		[DRM_NPU_PARAM_RINGS] = npu->caps.rings & GENMASK(NPU_RING_COUNT - 1, 0),
		[DRM_NPU_PARAM_CAPABILITIES] = npu->caps.features,
		[DRM_NPU_PARAM_CLOCK_HZ] = npu->caps.clock_hz,
		[DRM_NPU_PARAM_ADDRESS_START] = NPU_ADDRESS_START,
		[DRM_NPU_PARAM_ADDRESS_END] = NPU_ADDRESS_END,
		[DRM_NPU_PARAM_PAGE_SIZE] = NPU_PAGE_SIZE,
		[DRM_NPU_PARAM_MAX_STREAM] = npu->caps.stream_max,
		[DRM_NPU_PARAM_MAX_JOBS] = NPU_MAX_JOBS,
		[DRM_NPU_PARAM_MAX_BOS] = NPU_MAX_BOS,
		[DRM_NPU_PARAM_MAX_SYNCS] = NPU_MAX_SYNCS,
		[DRM_NPU_PARAM_MAX_QUEUES] = NPU_MAX_QUEUES,
		[DRM_NPU_PARAM_MAX_IN_FLIGHT] = NPU_MAX_IN_FLIGHT,
		[DRM_NPU_PARAM_MAX_BO_SIZE] = npu->max_bo_size,
		[DRM_NPU_PARAM_TIMEOUT_MS] = npu->timeout_ms,
	};

	if (param >= ARRAY_SIZE(values))
		return -EINVAL;
	*value = values[array_index_nospec(param, ARRAY_SIZE(values))];

	return 0;
}

static int npu_ioctl_get_param(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_npu_get_param *args = data;

	if (args->pad)
		return -EINVAL;

	return npu_get_param(to_npu_device(drm), args->param, &args->value);
}

static const struct drm_ioctl_desc npu_ioctls[] = {
	DRM_IOCTL_DEF_DRV(NPU_GET_PARAM, npu_ioctl_get_param, 0),
	DRM_IOCTL_DEF_DRV(NPU_BO_CREATE, npu_ioctl_bo_create, 0),
	DRM_IOCTL_DEF_DRV(NPU_BO_BIND, npu_ioctl_bo_bind, 0),
	DRM_IOCTL_DEF_DRV(NPU_BO_UNBIND, npu_ioctl_bo_unbind, 0),
	DRM_IOCTL_DEF_DRV(NPU_BO_INFO, npu_ioctl_bo_info, 0),
	DRM_IOCTL_DEF_DRV(NPU_BO_WAIT, npu_ioctl_bo_wait, 0),
	DRM_IOCTL_DEF_DRV(NPU_QUEUE_CREATE, npu_ioctl_queue_create, 0),
	DRM_IOCTL_DEF_DRV(NPU_QUEUE_DESTROY, npu_ioctl_queue_destroy, 0),
	DRM_IOCTL_DEF_DRV(NPU_QUEUE_GET_STATE, npu_ioctl_queue_get_state, 0),
	DRM_IOCTL_DEF_DRV(NPU_SUBMIT, npu_ioctl_submit, 0),
};

/* Calls that make an object which the user gets to know by their results. */
static bool npu_ioctl_creates(unsigned int nr)
{
	return nr == DRM_COMMAND_BASE + DRM_NPU_BO_CREATE ||
	       nr == DRM_COMMAND_BASE + DRM_NPU_QUEUE_CREATE;
}

/*
 * The DRM core answers EINVAL to an unknown driver ioctl, and copies results
 * out after an object was made: what can't be written is better found before.
 */
static int npu_ioctl_check(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct drm_file *file = filp->private_data;
	unsigned int nr = _IOC_NR(cmd);

	if (_IOC_TYPE(cmd) != DRM_IOCTL_BASE || nr < DRM_COMMAND_BASE || nr >= DRM_COMMAND_END)
		return 0;
	if (nr - DRM_COMMAND_BASE >= ARRAY_SIZE(npu_ioctls))
		return -ENOTTY;
	if (npu_wedged(to_npu_device(file->minor->dev)))
		return -ENODEV;
	if (npu_ioctl_creates(nr) &&
	    fault_in_safe_writeable((const char __user *)arg, _IOC_SIZE(cmd)))
		return -EFAULT;

	return 0;
}

static long npu_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return npu_ioctl_check(filp, cmd, arg) ?: drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
/* The layout of our structures is the same. */
static long npu_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return npu_ioctl_check(filp, cmd, arg) ?: drm_compat_ioctl(filp, cmd, arg);
}
#else
#define npu_compat_ioctl NULL
#endif

static const struct file_operations npu_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = npu_ioctl,
	.compat_ioctl = npu_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.show_fdinfo = drm_show_fdinfo,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

static const struct drm_driver npu_drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_COMPUTE_ACCEL | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = npu_open,
	.postclose = npu_postclose,
	.gem_create_object = npu_gem_create_object,
	.gem_prime_import = npu_gem_prime_import,
	.gem_prime_import_sg_table = npu_gem_prime_import_sg_table,
	.show_fdinfo = npu_show_fdinfo,
	.ioctls = npu_ioctls,
	.num_ioctls = ARRAY_SIZE(npu_ioctls),
	.fops = &npu_fops,
	.name = NPU_NAME,
	.desc = "NPU front end",
#ifdef NPU_HAVE_DRM_DRIVER_DATE
	.date = "20261130",
#endif
	.major = 1,
	.minor = 0,
};

/* Page tables and rings are written by the CPU and never synchronised. */
static int npu_init_dma(struct device *dev)
{
	int ret;

	if (!dev_is_dma_coherent(dev) || is_swiotlb_force_bounce(dev))
		return dev_err_probe(dev, -EOPNOTSUPP, "DMA is not coherent\n");
	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	dma_set_max_seg_size(dev, UINT_MAX);

	return 0;
}

static void npu_init_limits(struct npu_device *npu)
{
	/* Pages of a bound BO are pinned: half of the memory is more than enough. */
	npu->max_bo_size = min(NPU_BO_SIZE_MAX, (u64)(totalram_pages() / 2) << PAGE_SHIFT);
	npu->timeout_ms = clamp(npu_timeout_ms, 1u, NPU_TIMEOUT_MS_MAX);
}

static int npu_init_device(struct npu_device *npu)
{
	struct pci_dev *pdev = to_pci_dev(npu->drm.dev);
	int ret;

	mutex_init(&npu->mmu_lock);
	mutex_init(&npu->bos_lock);
	mutex_init(&npu->vms_lock);
	INIT_LIST_HEAD(&npu->bos);
	INIT_LIST_HEAD(&npu->vms);
	ida_init(&npu->asids);
	npu_init_limits(npu);

	npu->regs = pcim_iomap_region(pdev, NPU_BAR_REGS, NPU_NAME);
	if (IS_ERR(npu->regs))
		return PTR_ERR(npu->regs);
	ret = npu_hw_probe(npu);
	if (ret)
		return ret;
	ret = npu_coredump_init(npu);
	if (ret)
		return ret;
	ret = npu_reset_init(npu);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < NPU_RING_COUNT; i++) {
		ret = npu_ring_init(npu, i);
		if (ret)
			return ret;
	}

	/* Whatever a former driver has left in the device ends before it may write. */
	ret = npu_reset_device(npu);
	if (ret)
		return dev_err_probe(npu->drm.dev, ret, "no answer to a reset\n");
	pci_set_master(pdev);
	ret = npu_hw_init_irq(npu);
	if (ret)
		return ret;
	npu_hw_start(npu);

	return 0;
}

static int npu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct npu_device *npu;
	int ret;

	npu = devm_drm_dev_alloc(&pdev->dev, &npu_drm_driver, struct npu_device, drm);
	if (IS_ERR(npu))
		return PTR_ERR(npu);
	pci_set_drvdata(pdev, npu);

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = npu_init_dma(&pdev->dev);
	if (ret)
		return ret;
	ret = npu_init_device(npu);
	if (ret)
		return ret;

	npu_debugfs_init(npu);
	ret = drm_dev_register(&npu->drm, 0);
	if (ret)
		return ret;
	npu_pm_init(npu);

	return 0;
}

/* What still holds the device afterwards finds it unplugged. */
static void npu_remove(struct pci_dev *pdev)
{
	struct npu_device *npu = pci_get_drvdata(pdev);

	npu_pm_fini(npu);
	drm_dev_unplug(&npu->drm);
	npu_reset_stop(npu);
	npu_hw_fini_irq(npu);
	npu_vm_unmap_all_dma(npu);
	npu_gem_unmap_all_dma(npu);
}

/* Memory must be quiet before another kernel takes it. */
static void npu_shutdown(struct pci_dev *pdev)
{
	npu_remove(pdev);
}

static const struct pci_device_id npu_pci_ids[] = {
	{ PCI_DEVICE(NPU_PCI_VENDOR, NPU_PCI_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, npu_pci_ids);

static struct pci_driver npu_pci_driver = {
	.name = NPU_NAME,
	.id_table = npu_pci_ids,
	.probe = npu_probe,
	.remove = npu_remove,
	.shutdown = npu_shutdown,
	.dev_groups = npu_groups,
	.driver.pm = pm_ptr(&npu_pm_ops),
};

static int __init npu_init(void)
{
	int ret;

	npu_release_wq = alloc_workqueue("npu-release", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!npu_release_wq)
		return -ENOMEM;

	ret = pci_register_driver(&npu_pci_driver);
	if (ret)
		destroy_workqueue(npu_release_wq);

	return ret;
}
module_init(npu_init);

static void __exit npu_exit(void)
{
	pci_unregister_driver(&npu_pci_driver);
	/* Fences, queues and clients drop their last references there. */
	destroy_workqueue(npu_release_wq);
	rcu_barrier();
}
module_exit(npu_exit);

MODULE_DESCRIPTION("NPU front end accel driver");
MODULE_AUTHOR("The NPU front end authors");
MODULE_LICENSE("GPL");
