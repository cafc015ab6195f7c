# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2016,SC2046,SC2086,SC2100
# The suites in order; sourced by tests/run. Each is a function or a command line.

ok()
{
	local what=$1
	shift
	if "$@"; then
		echo "ok 1 $what"
	else
		echo "not ok 1 $what: exit status $?"
	fi
}

# each PROGRAM...: runs every one
each()
{
	local t

	[ $# != 0 ] || echo "not ok 0 no program to run"
	for t; do
		echo "# $t"
		"$t" || echo "not ok 0 $t: exit status $?"
	done
}

programs()
{
	find "$@" -type f -perm -u+x | sort
}

# Every public header compiles alone, in both languages.
headers()
{
	local h c x

	for h in lib/include/npu.h lib/include/npu/*.h uapi/drm/*.h; do
		for c in "gcc -std=c11" "clang -std=c11" "g++ -std=c++17" "clang++ -std=c++17"; do
			[[ $c == *++* ]] && x=c++ || x=c
			ok "$h: $c" $c -x $x -fsyntax-only -pedantic -Wall -Wextra -Werror -Iuapi \
				-Ilib/include $DRM_CFLAGS -include "$h" /dev/null
		done
	done
}

# The README's example compiles in every dialect that it promises and does what it says.
readme()
{
	sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d' > "$O/readme.c"
	ok "README: C11" gcc -std=c11 -Wall -Wextra -Werror -Wno-missing-field-initializers -Iuapi \
		-Ilib/include -o "$O/readme" "$O/readme.c" -L"$O" -lnpu -Wl,-rpath,"$(realpath "$O")"
	ok "README: result" test "$("$O/readme")" = "f8e4m3 0x38 is 1"
}

unit()
{
	$MAKE O="$O" unit >&2 || return 1
	each $(programs "$O/tests/unit")
}

# The golden vectors through the API, at each SIMD level, on contiguous and scattered memory.
golden()
{
	local level levels

	$MAKE O="$O" unit >&2 || return 1
	levels=$("$O/npu" info --json | sed -n 's/.*"levels": *\[\([^]]*\)\].*/\1/p' | tr '",' '  ')
	[ -n "$levels" ] || return 1
	for level in $levels; do
		echo "# $level"
		NPU_CPU=$level "$O/tests/golden/golden" || echo "not ok 0 $level"
		NPU_CPU=$level NPU_SCATTER=1 "$O/tests/golden/golden" || echo "not ok 0 $level"
	done
}

# Every kernel at every level, here, in a 32-bit program and as NEON under an emulator.
kern()
{
	$MAKE O="$O" kern-test >&2 &&
		"$O/tests/kern/kern_test" --data tests/data/golden &&
		tests/kern/isa-check.sh "$O/lib/kern"
}

kern32()
{
	$MAKE O="$O/m32" CFLAGS="-O2 -m32 -idirafter /usr/include/x86_64-linux-gnu" kern-test >&2 &&
		"$O/m32/tests/kern/kern_test" --data tests/data/golden
}

neon()
{
	$MAKE O="$O/neon" CROSS_COMPILE=aarch64-linux-gnu- KERN_LDFLAGS=-static kern-test >&2 &&
		qemu-aarch64-static "$O/neon/tests/kern/kern_test" --runner qemu-aarch64-static \
			--data tests/data/golden
}

sanitized()
{
	$MAKE O="$O/asan" CC=clang CFLAGS="-O1 -g" SAN=address,undefined unit >&2 || return 1
	each $(programs "$O/asan/tests/unit" "$O/asan/tests/golden")
}

threads()
{
	$MAKE O="$O/tsan" CC=clang CFLAGS="-O1 -g" SAN=thread unit >&2 || return 1
	each $(programs "$O/tsan/tests/unit" | grep -E '/test_(submit|fence|device|bo|vdev)[^/]*$')
}

# fuzz NAME: FUZZ_SECONDS (60) of one target
fuzz_one()
{
	local work corpus=tests/fuzz/corpus/$1

	work=$(mktemp -d) || return 1
	[ -d "$corpus" ] || corpus=
	"$O/fuzz/tests/fuzz/fuzz_$1" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=25 -rss_limit_mb=2048 \
		-print_final_stats=1 -artifact_prefix="$O/log/$1-" "$work" $corpus \
		> "$O/log/fuzz-$1.log" 2>&1
	local rc=$?
	rm -rf "$work"
	[ $rc = 0 ] || tail -n 30 "$O/log/fuzz-$1.log"
	return $rc
}

fuzz()
{
	local f n

	$MAKE O="$O/fuzz" CC=clang CFLAGS="-O1 -g" SAN=address,undefined,fuzzer-no-link fuzzers >&2 ||
		return 1
	for f in tests/fuzz/fuzz_*.c; do
		n=$(basename "$f" .c)
		while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do
			wait -n
		done
		ok "fuzz ${n#fuzz_}" fuzz_one "${n#fuzz_}" &
	done
	wait
}

# The demonstration under valgrind, which knows no AVX-512.
valgrind_demo()
{
	$MAKE O="$O" "$O/npu-demo" >&2 || return 1
	NPU_CPU=avx2 ok "demo under valgrind" valgrind -q --error-exitcode=9 --leak-check=full \
		--errors-for-leak-kinds=definite,indirect "$O/npu-demo" tests/data/real
}

lint()
{
	local scripts files f

	scripts=$(git grep -lIE '^#!/bin/(ba)?sh'; echo tests/suites.sh)
	files=$(git ls-files | grep -vE '^(tests/data|tests/fuzz/corpus|LICENSES|tests/spelling)')
	ok "licences (reuse lint)" reuse lint
	ok spelling codespell -q 3 -I tests/spelling $files
	ok shellcheck shellcheck -S warning $scripts
	for f in Documentation/*.rst; do
		ok "$f" rst2html --halt=warning "$f" /dev/null
	done
	ok cppcheck cppcheck -q --error-exitcode=1 --inline-suppr --std=c11 -j "$JOBS" \
		--enable=warning,portability --suppressions-list=tests/cppcheck -D__x86_64__ \
		-Iuapi -Ilib/include -Ilib lib tools
}

DRM_CFLAGS=$(pkg-config --cflags libdrm)
suite build $MAKE O="$O" all
suite headers headers
suite readme readme
suite unit unit
suite golden golden
suite kern kern
suite kern32 kern32
suite neon neon
suite staging tests/unit/compile/run.sh
suite cli env NPU="$O/npu" tests/cli/run.sh
suite sanitized sanitized
suite threads threads
suite fuzz fuzz
suite valgrind valgrind_demo
suite lint lint
suite driver tests/vm/driver-lint.sh
suite vm-judge tests/vm/test_verdict.sh
suite vm $MAKE O="$O" check-vm
