#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
#
# The library's tests through the driver: the programs that test the emulation,
# told to use the device.

# shellcheck source=/dev/null
. "${0%/*}/lib"
need_device
export CMOCKA_MESSAGE_OUTPUT=TAP NPU_TEST_DATA=/tests/data NPU_DEVICE=/dev/accel/accel0
status=0
for test in bo stream command submit submit_threads fence device; do
	[ -x "/tests/unit/test_$test" ] || skip_all "no library tests in the guest"
	echo "# test_$test"
	timeout 240 "/tests/unit/test_$test" > /tmp/library.tap 2>&1 || status=1
	# Each has a plan of its own, which is not that of all.
	sed '/^1\.\.[0-9]*$/d' /tmp/library.tap
done
exit $status
