#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=240
#
# npu bench on the device: what a submit costs, beside emulation in the same
# guest. It must work; how fast it is stands in the log and is no test.

# shellcheck source=/dev/null
. "${0%/*}/lib"
need_device
npu bench --submit-only --quick --json --device /dev/accel/accel0 > /tmp/bench.json 2> /tmp/bench.err
status=$?
sed 's/^/# /' /tmp/bench.json /tmp/bench.err
if [ $status = 0 ] && grep -q mib64_emulation_ratio /tmp/bench.json; then
	echo "ok 1 npu bench --device"
else
	echo "not ok 1 npu bench --device: status $status"
fi
echo "1..1"
