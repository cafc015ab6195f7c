#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests of the npu command by what it writes, its exit statuses and its messages.
# NPU= names the program (default build/npu), arguments name single files: run.sh test_real
here=$(dirname "$0")
top=$(cd "$here/../.." && pwd)
NPU=${NPU:-$top/${O:-build}/npu}
NPU=$(cd "$(dirname "$NPU")" && pwd)/$(basename "$NPU")
if ! [ -x "$NPU" ]; then
	echo "not ok 1 $NPU is not there: make builds it"
	exit 1
fi
export NPU PYTHONDONTWRITEBYTECODE=1
exec python3 "$here/main.py" "$@"
