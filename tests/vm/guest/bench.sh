#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=240
#
# npu bench on the device: what a submit costs, beside emulation in the same
# guest. It must work; how fast it is stands in the log and is no test.

# shellcheck source=/dev/null
. "${0%/*}/lib"
need_device
if npu bench --submit-only --device /dev/accel/accel0 2>&1 | sed 's/^/# /' &&
	npu bench --submit-only --device /dev/accel/accel0 --json | grep -q '"submit"'; then
	echo "ok 1 npu bench --device"
else
	echo "not ok 1 npu bench --device"
fi
echo "1..1"
