#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The driver as compilers and checkers see it: W=1 with gcc for each kernel and
# with clang, sparse, checkpatch.  Anything that is said is a failure.  TAP.

# shellcheck disable=SC2317
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${O:-build}/lint
log=$(mktemp)
trap 'rm -f "$log"' EXIT
count=0 bad=0

# clean NAME COMMAND...: succeeds and says nothing but where the modules are.
clean() {
	local name=$1 status
	shift

	count=$((count + 1))
	"$@" >"$log.out" 2>"$log"
	status=$?
	grep -vE '^vm: ' "$log" >"$log.said"
	if [ $status = 0 ] && [ ! -s "$log.said" ]; then
		echo "ok $count $name"
	elif grep -q 'needs mount namespaces' "$log"; then
		echo "ok $count $name # SKIP $(sed -n 's/^vm: error: //p' "$log")"
	else
		cat "$log.said" <(grep '^vm: error' "$log") | head -n 60 | sed 's/^/# /'
		echo "not ok $count $name"
		bad=1
	fi
	rm -f "$log.out" "$log.said"
}

# Afresh, for a warning comes only when a file is compiled.
modules() {
	local out=$build/$1-$2
	shift

	rm -rf "$out"
	tests/vm/modules.sh -k "$1" -o "$out" W=1 "${@:2}"
}

# checkpatch IGNORED FILE...
checkpatch() {
	local file said ignore=LINUX_VERSION_CODE,FILE_PATH_CHANGES,CONST_STRUCT,$1
	shift

	# Whole files are judged, no patch; the line's limit is .clang-format's.
	for file; do
		said=$(perl "$files/scripts/checkpatch.pl" --no-tree --no-summary --terse --strict \
			--max-line-length=100 --show-types --ignore "$ignore" -f "$file" 2>&1)
		[ -z "$said" ] || printf '%s\n' "$said" >&2
	done
	# It keeps a list of names where it runs.
	rm -f .checkpatch-camelcase.*
}

files=$(tests/vm/fetch.sh source-files) || exit 1
clean 'gcc, 6.12, W=1' modules gcc 6.12
clean 'gcc, 7.3, W=1' modules gcc 7.3
clean 'clang, 6.12, W=1' modules clang clang
clean 'sparse, 6.12, C=2' modules sparse 6.12 C=2
# Outside of the tree the driver is for several kernels: LINUX_VERSION_CODE.
clean 'checkpatch, driver' checkpatch '' kernel/*.[ch]
# Users of the uAPI have no BIT(), and programs no u32.
clean 'checkpatch, uapi' checkpatch BIT_MACRO uapi/drm/*.h
# Programs: they have no BIT() or __printf(), and the harness's ASSERT_*() are macros with flow
# control, which want braces.
programs=PREFER_KERNEL_TYPES,MACRO_ARG_REUSE,CAMELCASE,BIT_MACRO,PREFER_DEFINED_ATTRIBUTE_MACRO
programs+=,BRACES,MACRO_WITH_FLOW_CONTROL,MULTISTATEMENT_MACRO_USE_DO_WHILE,VOLATILE
programs+=,MULTIPLE_ASSIGNMENTS
clean 'checkpatch, selftests' checkpatch "$programs" \
	tests/kselftest/*.[ch]
echo "1..$count"
exit $bad
