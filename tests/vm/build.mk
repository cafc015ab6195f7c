# SPDX-License-Identifier: MIT
# The driver, and kernels to run it on.  All variables of tests/vm/run.sh may
# be given: KERNEL, TESTS, VIOMMU, MSI, MEM, SMP, ...

#: make modules              npu.ko for Debian's 6.12; KERNEL=7.3, or KDIR= another kernel
#: make check-vm             boot a kernel with the device and run the tests in it
#:                           KERNEL=7.3 TESTS="NAME..." VIOMMU=1 MSI=1
#: make check-vm-debug       the same on a kernel with KASAN, lockdep, ... (built once)
#: make check-vm-all         all kernels and variants; a test that none could run fails
#: make vm                   a shell in the guest, with the device
#: make vm-fetch             fill the cache that the four above use

VM_VARS = O='$(abspath $(O))' $(foreach v,KERNEL TESTS VIOMMU MSI MEM SMP APPEND MODULE_PARAMS, \
	$(if $($v),$v='$($v)'))

modules:
	$(Q)$(VM_VARS) KDIR='$(KDIR)' tests/vm/modules.sh $(if $(W),W=$(W)) $(if $(C),C=$(C)) \
		$(if $(filter 1,$(V)),V=1)

check-vm check-vm-debug check-vm-all vm: all kselftest unit
check-vm:
	$(Q)$(VM_VARS) tests/vm/run.sh
check-vm-debug:
	$(Q)$(VM_VARS) KERNEL=debug tests/vm/run.sh
check-vm-all:
	$(Q)$(VM_VARS) tests/vm/all.sh
vm:
	$(Q)$(VM_VARS) tests/vm/run.sh shell
vm-fetch:
	$(Q)$(VM_VARS) tests/vm/fetch.sh all

# Its recipe is in tests/kselftest/build.mk.
kselftest:

.PHONY: modules check-vm check-vm-debug check-vm-all vm vm-fetch kselftest
