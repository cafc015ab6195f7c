#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every kernel and variant, one after the other.  A test may be skipped where
# a kernel or the device lacks something; one that no run at all has run is a
# failure, for then nobody knows whether it works.

set -u
cd "$(dirname "$0")/../.." || exit 1
build=${O:-build}

# variant ENVIRONMENT...
variant() {
	local name

	env "$@" tests/vm/run.sh || bad=1
	name=$(env "$@" tests/vm/run.sh variant)
	ran+=("$build/vm/$name/results")
}

bad=0 ran=()
variant KERNEL=6.12
variant KERNEL=debug
variant KERNEL=7.3
variant KERNEL=6.12 VIOMMU=1
variant KERNEL=6.12 MSI=1

never=$(awk -F '\t' '
	{ name = $2 ": " $3 }
	$1 == "SKIP" { skip[name] = $4; next }
	{ run[name]; whole[$2] }
	END {
		for (name in skip) {
			split(name, part, ": ")
			# Skipped whole here, run case by case there.
			if (name in run || part[2] == "-" && part[1] in whole)
				continue
			printf "NEVER RUN  %s: %s\n", name, skip[name]
		}
	}' "${ran[@]}" | sort)
if [ -n "$never" ]; then
	printf '%s\n' "$never"
	bad=1
fi
cat "${ran[@]}" | awk -F '\t' '{ n[$1]++ } END {
	printf "vm, all variants: %d passed, %d failed, %d skipped\n", n["PASS"], n["FAIL"], n["SKIP"] }'
exit $bad
