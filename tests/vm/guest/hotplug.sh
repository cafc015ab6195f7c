#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154
# timeout=120
#
# The device is pulled out of its slot and put back, once with a file open.
# QEMU aborts when this is done to an MSI-X device behind vfio-user, so it
# needs a run with MSI=1.

# shellcheck source=/dev/null
. "${0%/*}/lib"
need_device
[ "$NPU_VM_MSI" != 0 ] || skip_all "QEMU cannot unplug a vfio-user device with MSI-X: MSI=1"

unplug() { qmp device_del '{"id":"npu"}'; }

plug() {
	# QEMU lets go of the old connection a moment after the guest has.
	sleep 1
	qmp device_add "{\"driver\":\"vfio-user-pci\",\"id\":\"npu\",\"bus\":\"npu-port\",\"rombar\":0,
		\"socket\":{\"type\":\"unix\",\"path\":\"$NPU_VM_SOCKET\"}}"
}

nodes() { find /dev/accel -name 'accel[0-9]*' 2>/dev/null; }
gone() { [ -z "$(nodes)" ]; }
back() { [ -n "$(nodes)" ]; }
at_first_node() { [ "$(nodes)" = "$node" ]; }

# The open file keeps its minor number, so that the device comes back as another.
exec 7<"$node"
check 'unplug with an open file' unplug
check 'node is gone' wait_for 15 gone
check 'plug again' plug
check 'node is back' wait_for 15 back
exec 7<&-
check 'no old users' wait_for 5 grep -qx 0 /sys/module/npu/refcnt

check 'unplug idle' unplug
check 'node is gone again' wait_for 15 gone
check 'plug a third time' plug
check 'first node is back' wait_for 15 at_first_node
if command -v npu >/dev/null; then
	check 'device works' npu info --device "$node"
fi
finish
