#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154
# timeout=300
#
# The golden vectors through the driver: the same program that checks the
# emulation, told to use the device.

# shellcheck source=/dev/null
. "${0%/*}/lib"
need_device
[ -x /tests/golden/golden ] || skip_all "no golden program in the guest"
export CMOCKA_MESSAGE_OUTPUT=TAP NPU_TEST_DATA=/tests/data NPU_DEVICE=/dev/accel/accel0
before=$(job_count)
# Not exec: the device must have done it.
/tests/golden/golden 2>&1
status=$?
echo "# jobs on the device: $(($(job_count) - before))"
[ "$(job_count)" -gt "$before" ] || {
	echo "not ok 999 the device ran no job"
	status=1
}
exit $status
