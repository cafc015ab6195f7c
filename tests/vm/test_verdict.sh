#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The judge is judged: made-up logs, one for each thing that verdict.awk must
# see.  TAP on standard output.

set -u
cd "$(dirname "$0")" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0 bad=0

# expect NAME RESULTS: of the two logs in $work, as "FAIL test case" lines.
expect() {
	local name=$1 want=$2 got

	got=$(awk -f verdict.awk -v splats=splats -v allow="$work/expected" \
		"$work/tests" "$work/console" | cut -f 1-3 | tr '\t' ' ' | grep -v '^PASS' || :)
	count=$((count + 1))
	if [ "$got" = "$want" ]; then
		echo "ok $count $name"
	else
		printf '# wanted: %s\n# got: %s\n' "$want" "$got"
		echo "not ok $count $name"
		bad=1
	fi
}

# tests LINE...: a log of a whole run around these lines.
tests() { printf '%s\n' '#vm ready 6.12 1 2' "$@" '#vm done 9' >"$work/tests"; }
console() { printf '[    1.000000] %s\n' "$@" >"$work/console"; }

: >"$work/expected"
console 'vm: begin a' 'vm: end a 0 1 2'

tests '#vm begin a' 'TAP version 13' '1..2' 'ok 1 x' 'ok 2 y' '#vm end a 0 1 2'
expect 'a good run' ''

tests '#vm begin a' '1..2' 'ok 1 x' 'not ok 2 y' '#vm end a 1 1 2'
expect 'a failure' 'FAIL a y'

tests '#vm begin a' '1..2' 'ok 1 x' '#vm end a 0 1 2'
expect 'fewer results than planned' 'FAIL a -'

tests '#vm begin a' '1..1' 'ok 1 x' '#vm end a 139 1 2'
expect 'good results, bad end' 'FAIL a -'

tests '#vm begin a' 'hello' '#vm end a 0 1 2'
expect 'no TAP, good status' ''

tests '#vm begin a' 'hello' '#vm end a 3 1 2'
expect 'no TAP, bad status' 'FAIL a -'

tests '#vm begin a' '1..0 # SKIP no device' '#vm end a 4 1 2'
expect 'skipped whole' 'SKIP a -'

tests '#vm begin a' 'sorry' '#vm end a 4 1 2'
expect 'skipped by status alone' 'SKIP a -'

tests '#vm begin a' '1..2' 'ok 1 x # SKIP why' 'ok 2 y' '#vm end a 0 1 2'
expect 'one case skipped' 'SKIP a x'

tests '#vm begin a' '1..1' 'not ok 1 x # XFAIL known' '#vm end a 0 1 2'
expect 'an expected failure' ''

printf '%s\n' '#vm ready 6.12 1 2' '#vm begin a' '1..1' >"$work/tests"
expect 'the guest hung' 'FAIL a -'

: >"$work/tests"
expect 'the guest did not start' 'FAIL vm_boot boot'

printf '%s\n' '#vm ready 6.12 1 2' '#vm begin a' 'ok 1 x' '#vm end a 0 1 2' >"$work/tests"
expect 'the guest died between tests' 'FAIL vm_boot end'

tests '#vm begin a' '1..1' 'ok 1 x' '#vm end a 0 1 2' '#vm begin b' '1..1' 'ok 1 x' '#vm end b 0 1 2'
for line in 'WARNING: CPU: 1 PID: 192 at npu.c:7 f+0x1/0x2 [npu]' \
	'BUG: KASAN: slab-use-after-free in f+0x1' 'BUG: sleeping function called from' \
	'WARNING: possible circular locking dependency detected' \
	'UBSAN: array-index-out-of-bounds in x.c:1' 'refcount_t: underflow; use-after-free.' \
	'DMA-API: npu 0000:01:00.0: device driver tries to free DMA memory' \
	'kmemleak: 2 new suspected memory leaks (see /sys/kernel/debug/kmemleak)' \
	'INFO: task npu:12 blocked for more than 60 seconds.' \
	'Oops: general protection fault, probably for non-canonical address' \
	'irq 25: nobody cared (try booting with the "irqpoll" option)' \
	'DMAR: [DMA Write NO_PASID] Request device [01:00.0] fault addr 0x0'; do
	console 'vm: begin a' 'vm: end a 0 1 2' 'vm: begin b' "$line" 'vm: end b 0 1 2'
	expect "splat: ${line%% at *}" 'FAIL b kernel log'
done

printf 'b\tWARNING: CPU.*npu.c:7\n' >"$work/expected"
console 'vm: begin b' 'WARNING: CPU: 1 PID: 1 at npu.c:7 f+0x1/0x2 [npu]' 'vm: end b 0 1 2'
expect 'a splat that is meant' ''
console 'vm: begin a' 'WARNING: CPU: 1 PID: 1 at npu.c:7 f+0x1/0x2 [npu]' 'vm: end a 0 1 2'
expect 'the same in another test' 'FAIL a kernel log'

console 'vm: begin a' 'npu 0000:01:00.0: [drm] ring fetch-main: reset' \
	'npu: loading out-of-tree module taints kernel.' 'FAULT_INJECTION: forcing a failure.' \
	'Call Trace:' 'vm: end a 0 1 2'
expect 'what is no splat' ''

echo "1..$count"
exit $bad
