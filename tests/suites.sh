# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The suites in order; sourced by tests/run. Each is a function or a command line.

# all PROGRAM...: runs each, fails if one fails
all()
{
	local rc=0 t
	for t; do
		echo "# $t"
		"$t" || { echo "# $t: exit status $?"; rc=1; }
	done
	return $rc
}

# Every public header compiles alone, in both languages and both word sizes.
headers()
{
	local h rc=0
	for h in lib/include/npu.h lib/include/npu/*.h uapi/drm/*.h; do
		for c in "gcc -std=c11" "clang -std=c11" "g++ -std=c++17" "clang++ -std=c++17"; do
			if $c -x "$([[ $c == *++* ]] && echo c++ || echo c)" -fsyntax-only \
				-pedantic -Wall -Wextra -Werror -Wno-gnu-include-next -Iuapi \
				-Ilib/include -include "$h" /dev/null; then
				echo "ok 1 $h: $c"
			else
				echo "not ok 1 $h: $c"
				rc=1
			fi
		done
	done
	return $rc
}

unit()
{
	# shellcheck disable=SC2046,SC2086
	$MAKE O="$O" unit >&2 && all $(find "$O"/tests/unit "$O"/tests/golden -type f -perm -u+x)
}

sanitized()
{
	# shellcheck disable=SC2046,SC2086
	$MAKE O="$O/asan" CC=clang CFLAGS="-O1 -g" SAN=address,undefined unit >&2 &&
		all $(find "$O"/asan/tests/unit "$O"/asan/tests/golden -type f -perm -u+x)
}

suite build $MAKE O="$O" all
suite headers headers
suite unit unit
suite sanitized sanitized
