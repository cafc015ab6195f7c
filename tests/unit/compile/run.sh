#!/bin/bash
# SPDX-License-Identifier: MIT
# Which programs compile, in C11 and C++17, with gcc and clang: legal orders of stages must,
# illegal ones must not, and the compiler must name the function. TAP on standard output.
cd "$(dirname "$0")/../../.." || exit 1
dir=tests/unit/compile
log=$(mktemp)
trap 'rm -f "$log"' EXIT
n=0 failed=0

report()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		failed=1
		echo "not ok $n $2"
		sed 's/^/# /' "$log"
	fi
}

# compile COMPILER LANGUAGE FILE [FLAGS...]
compile()
{
	local compiler=$1 std=c11 language=$2 file=$3
	shift 3
	[ "$language" = c ] || std=c++17
	$compiler -x "$language" -std=$std -Wall -Wextra -Werror -pedantic -Iuapi -Ilib/include \
		-fsyntax-only "$@" "$file" > "$log" 2>&1
}

cases=$(sed -n 's/^#e*l*if BAD == \([0-9]*\)\t.* \(npu_[a-z_]*\) .*/\1:\2/p' $dir/stages.c)
for pair in gcc:c g++:c++ clang:c clang++:c++; do
	compiler=${pair%:*} language=${pair#*:}
	if ! command -v "$compiler" > /dev/null; then
		n=$((n + 1))
		echo "ok $n $compiler # SKIP not installed"
		continue
	fi
	for file in $dir/stages.c $dir/inits.c; do
		compile "$compiler" "$language" $file -DBAD=0
		report $? "$compiler: $(basename $file) compiles"
	done
	for header in npu.h npu/convert.h drm/npu_isa.h; do
		echo "#include <$header>" | compile "$compiler" "$language" -
		report $? "$compiler: $header compiles alone"
	done
	for case in $cases; do
		name=${case#*:}
		if compile "$compiler" "$language" $dir/stages.c -DBAD="${case%:*}"; then
			report 1 "$compiler: bad order ${case%:*} is refused"
		else
			LC_ALL=C grep -q "\<$name\>" "$log"
			report $? "$compiler: bad order ${case%:*} is refused by $name"
		fi
	done
done
echo "1..$n"
exit $failed
