#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Boot a kernel with our device attached, run tests in it, judge the run.

set -e
# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
	cat <<-'END'
	usage: tests/vm/run.sh [run|shell|list|variant]

	  run      boot, run the tests, print what failed, what was skipped, a total
	  shell    boot with the device and give a shell on this terminal
	  list     the tests that would run
	  variant  the name of what would run: its folder in O/vm

	Environment:
	  KERNEL=6.12|7.3|debug   which kernel (fetch.sh)
	  TESTS="NAME PATTERN..."  only these tests (shell patterns)
	  VIOMMU=1                an Intel IOMMU between device and memory
	  MSI=1                   the device offers one MSI instead of MSI-X
	  O=DIR                   build output (default build); logs go to O/vm/...
	  NPU_VDEV=PROGRAM        the device model; "none": no device
	  NPU_VDEV_ARGS=...       more options for it
	  NPU_KSELFTEST=DIR       folder with the kselftest programs
	  NPU_COMMAND, NPU_LIBRARY  the npu command, libnpu.so.0
	  NPU_MODULES=DIR         modules, instead of building them
	  MODULE_PARAMS=...       parameters of npu.ko
	  MEM=512M SMP=2 APPEND=... QEMU_ARGS=...
	  NPU_VM_BOOT_TIMEOUT=120 NPU_VM_TIMEOUT=900 NPU_VM_TIMEOUT_SCALE=1
	END
}

mode=${1:-run}
case $mode in
run | shell | list | variant) ;;
-h | --help | help) usage; exit ;;
*) usage >&2; exit 2 ;;
esac

kernel=${KERNEL:-6.12}
build=${O:-$VM_TOP/build}
vdev=${NPU_VDEV:-$build/npu-vdev}
kselftest=${NPU_KSELFTEST:-$build/tests/kselftest}
command=${NPU_COMMAND:-$build/npu}
library=${NPU_LIBRARY:-$build/libnpu.so.0}
memory=512M scale=1
# KASAN takes an eighth of the memory and most of the speed.
[ "$kernel" != debug ] || memory=1G scale=4
memory=${MEM:-$memory} scale=${NPU_VM_TIMEOUT_SCALE:-$scale}
[ "${VIOMMU:-0}" = 0 ] || scale=$((scale * 2))
total_timeout=${NPU_VM_TIMEOUT:-$((900 * scale))}
boot_timeout=${NPU_VM_BOOT_TIMEOUT:-$((120 * scale))}

variant=$kernel
[ "${VIOMMU:-0}" = 0 ] || variant+=-viommu
[ "${MSI:-0}" = 0 ] || variant+=-msi
[ "$mode" != shell ] || variant+=-shell

# --- which tests --------------------------------------------------------------------

# A line a test: name, seconds, command in the guest, file here.
all_tests() {
	local file name limit

	if [ -d "$kselftest" ]; then
		limit=$(sed -n 's/^timeout=//p' "$kselftest/settings" 2>/dev/null || :)
		for file in "$kselftest"/*; do
			if [ ! -f "$file" ] || [ ! -x "$file" ]; then
				continue
			fi
			name=${file##*/}
			case $name in
			*.so | *.so.* | *.o) continue ;;
			esac
			echo "${name%.sh} ${limit:-45} /tests/kselftest/$name"
		done
	fi
	for file in "$VM_DIR"/guest/*.sh; do
		[ -f "$file" ] || continue
		name=${file##*/}
		limit=$(sed -n 's/^# timeout=//p' "$file" | head -n 1)
		echo "${name%.sh} ${limit:-60} /tests/guest/$name"
	done
}

wanted() {
	local pattern

	[ -n "${TESTS:-}" ] || return 0
	for pattern in ${TESTS//,/ }; do
		# shellcheck disable=SC2254
		case $1 in
		$pattern) return 0 ;;
		esac
	done
	return 1
}

# alone NAME: the device options of a test that needs a boot of its own.
alone() {
	local pattern options

	while read -r pattern options; do
		# shellcheck disable=SC2254
		case $1 in
		$pattern) printf '%s\n' "$options"; return 0 ;;
		esac
	done < <(grep -v '^#' "$VM_DIR/alone")
	return 1
}

selected_tests() {
	local name limit path

	all_tests | while read -r name limit path; do
		! wanted "$name" || echo "$name $((limit * scale)) $path"
	done
}

# --- what is booted -------------------------------------------------------------------

# Those that guest/library.sh runs.
library_tests() {
	sed -n 's/^for test in \(.*\); do$/\1/p' "$VM_DIR/guest/library.sh" |
		tr ' ' '\n' | sed 's|^|unit/test_|'
}

prepare() {
	local pairs=() modules part

	image=$("$VM_DIR/fetch.sh" image "$kernel")
	qemu=$("$VM_DIR/fetch.sh" qemu)
	vmlinuz=$(echo "$image"/boot/vmlinuz-*)
	modules=${NPU_MODULES-}
	if [ -z "$modules" ] && [ -e "$VM_TOP/kernel/Kbuild" ]; then
		modules=$(O=$build "$VM_DIR/modules.sh" -k "$kernel")
	fi
	[ "$vdev" = none ] || [ -x "$vdev" ] || die "no device model $vdev (NPU_VDEV)"

	[ ! -d "$kselftest" ] || pairs+=("$kselftest=tests/kselftest")
	[ ! -d "$VM_DIR/guest" ] || pairs+=("$VM_DIR/guest=tests/guest")
	for part in golden/golden $(library_tests); do
		[ ! -x "$build/tests/$part" ] || pairs+=("$build/tests/$part=tests/$part")
	done
	[ ! -d "$VM_TOP/tests/data" ] || pairs+=("$VM_TOP/tests/data=tests/data")
	[ ! -e "$command" ] || pairs+=("$command=usr/bin/npu")
	[ ! -e "$library" ] || pairs+=("$library=usr/lib/libnpu.so.0")
	[ ! -e "$build/libnpu.so" ] || export LD_LIBRARY_PATH=$build
	"$VM_DIR/initramfs.sh" -i "$image" -m "$modules" -e vgem -o "$work/initramfs" "${pairs[@]}"
	unset LD_LIBRARY_PATH
}

# The second archive of a boot: what to do.
settings() {
	local dir=$1 list=$2

	mkdir -p "$dir/add"
	cp "$list" "$dir/add/vm.list"
	{
		echo "VM_MODE=$mode"
		echo "VM_MODULE_PARAMS='${MODULE_PARAMS:-}'"
		echo "VM_DEVICE=${vdev#none}"
		echo "export NPU_VM_KERNEL=$kernel NPU_VM_MSI=${MSI:-0} NPU_VM_VIOMMU=${VIOMMU:-0}"
		echo "export NPU_VM_SOCKET=$sockets/device"
		[ -z "${NPU_VM_MODULE:-}" ] || echo "VM_MODULE=$NPU_VM_MODULE"
	} >"$dir/add/vm.conf"
	( cd "$dir/add" && printf '%s\n' vm.conf vm.list | cpio -o -H newc --quiet -R 0:0 ) >"$dir/add.cpio"
	# The kernel wants an archive to begin at a multiple of four.
	truncate -s %4 "$dir/add.cpio"
	cat "$work/initramfs" "$dir/add.cpio" >"$dir/initrd"
	rm -r "$dir/add" "$dir/add.cpio"
}

start_device() {
	local help args=(--socket "$sockets/device")

	# shellcheck disable=SC2206
	args+=($1 ${NPU_VDEV_ARGS:-})
	[ "${MSI:-0}" = 0 ] || args+=(--msi)
	help=$("$vdev" --help 2>&1 || :)
	if [[ $help = *--control* ]]; then
		args+=(--control "$sockets/control")
		control=1
	fi
	[[ $help != *--log* ]] || args+=(--log "$dir/vdev.log")
	"$vdev" "${args[@]}" >"$dir/vdev.err" 2>&1 &
	vdev_pid=$!
	for _ in $(seq 200); do
		if [ -S "$sockets/device" ] && { [ "$control" = 0 ] || [ -S "$sockets/control" ]; }; then
			return
		fi
		kill -0 "$vdev_pid" 2>/dev/null || break
		sleep 0.05
	done
	cat "$dir/vdev.err" >&2
	die "the device model did not start"
}

start_qemu() {
	local machine=q35,memory-backend=mem append accel=(-accel "tcg,thread=multi") args=()

	append="console=ttyS0 panic=-1 oops=panic quiet nokaslr mitigations=off random.trust_cpu=on"
	append+=" cryptomgr.notests no_timer_check tsc=reliable printk.devkmsg=on"
	append+=" log_buf_len=4M ${APPEND:-}"
	# A /dev/kvm may be there and yet not run a guest: only on demand.
	[ "${NPU_VM_KVM:-0}" = 0 ] || accel=(-accel kvm)
	if [ "${VIOMMU:-0}" != 0 ]; then
		machine+=,kernel-irqchip=split
		args+=(-device "intel-iommu,caching-mode=on,intremap=off")
		append+=" intel_iommu=on iommu.strict=1"
	fi
	args+=(-device "pcie-root-port,id=npu-port,slot=1,chassis=1")
	[ "$vdev" = none ] || args+=(-device "{\"driver\":\"vfio-user-pci\",\"id\":\"npu\",
		\"bus\":\"npu-port\",\"socket\":{\"type\":\"unix\",\"path\":\"$sockets/device\"},\"rombar\":0}")
	if [ "$mode" = shell ]; then
		args+=(-chardev "stdio,id=console,signal=off,mux=on")
	else
		args+=(-chardev "file,id=console,path=$dir/console.log")
	fi
	if [ "${control:-0}" = 1 ]; then
		args+=(-chardev "socket,id=control,path=$sockets/control,server=off")
	else
		args+=(-chardev "null,id=control")
	fi
	# The monitor's socket has QEMU itself at both ends: the guest's ttyS3.
	args+=(-chardev "socket,id=monitor,path=$sockets/monitor,server=on,wait=off"
		-mon "chardev=monitor,mode=control"
		-chardev "socket,id=guest-monitor,path=$sockets/monitor,server=off"
		-chardev "file,id=tests,path=$dir/tests.log"
		-device "isa-serial,index=0,chardev=console"
		-device "isa-serial,index=1,chardev=control"
		-device "isa-serial,index=2,iobase=0x3e8,irq=5,chardev=tests"
		-device "isa-serial,index=3,iobase=0x2e8,irq=7,chardev=guest-monitor")
	# shellcheck disable=SC2206
	args+=(${QEMU_ARGS:-})
	set -- "$qemu" -nodefaults -no-user-config -display none -no-reboot \
		-m "$memory" -object "memory-backend-memfd,id=mem,size=$memory,share=on" \
		-M "$machine" -cpu max "${accel[@]}" -smp "${SMP:-2}" \
		-kernel "$vmlinuz" -initrd "$dir/initrd" -append "$append" "${args[@]}"
	if [ "$mode" = shell ]; then
		"$@"
	else
		"$@" >"$dir/qemu.log" 2>&1 </dev/null &
		qemu_pid=$!
	fi
}

# --- watching it ----------------------------------------------------------------------

# Ends when QEMU does, or its time is over.
watch() {
	local start=$SECONDS shown=0 total name status from to

	while kill -0 "$qemu_pid" 2>/dev/null; do
		sleep 0.3
		total=$(grep -ac '^#vm end' "$dir/tests.log" 2>/dev/null || :)
		while [ "$shown" -lt "${total:-0}" ]; do
			shown=$((shown + 1))
			read -r name status from to < <(grep -a '^#vm end' "$dir/tests.log" |
				sed -n "${shown}s/^#vm end //p" | tr -d '\r')
			case $status in
			0) status=ok ;;
			4) status=skip ;;
			*) status="FAILED ($status)" ;;
			esac
			printf '  %-28s %-12s %6.1f s\n' "$name" "$status" \
				"$(awk -v a="$from" -v b="$to" 'BEGIN { print b - a }')"
		done
		if [ ! -s "$dir/tests.log" ] && [ $((SECONDS - start)) -gt "$boot_timeout" ]; then
			say "no sign of life in $boot_timeout s"
			kill "$qemu_pid"
			break
		elif [ $((SECONDS - start)) -gt "$total_timeout" ]; then
			say "not done after $total_timeout s"
			kill "$qemu_pid"
			break
		fi
	done
	wait "$qemu_pid" || say "QEMU: exit status $?: $(tail -n 3 "$dir/qemu.log")"
	qemu_pid=''
}

# stop_device MAY-DIE
stop_device() {
	local status=0 why=''

	[ -n "$vdev_pid" ] || return 0
	if kill "$vdev_pid" 2>/dev/null; then
		wait "$vdev_pid" 2>/dev/null || status=$?
		[ "$status" = 0 ] || [ "$status" = 143 ] || why="the device model ended with status $status"
	else
		wait "$vdev_pid" 2>/dev/null || status=$?
		# It may end by itself when QEMU disconnects.
		[ -n "$1" ] || [ "$status" = 0 ] || why="the device model died with status $status"
	fi
	vdev_pid=''
	! grep -qE 'Sanitizer: |runtime error:' "$dir/vdev.err" || why="sanitizer report of the device model"
	[ -z "$why" ] || printf 'FAIL\tvm_device\t-\t%s, see %s\n' "$why" \
		"$dir/vdev.err" >>"$dir/results"
}

# boot NAME LIST DEVICE-OPTIONS
boot() {
	dir=$work/$1
	rm -rf "$dir"
	mkdir -p "$dir"
	sockets=$(mktemp -d /tmp/npu-vm.XXXXXX)
	control=0 vdev_pid='' qemu_pid=''
	settings "$dir" "$2"
	[ "$vdev" = none ] || start_device "$3"
	start_qemu
	if [ "$mode" = shell ]; then
		stop_device ''
		return
	fi
	watch
	touch "$dir/console.log" "$dir/tests.log"
	awk -f "$VM_DIR/verdict.awk" -v splats="$VM_DIR/splats" -v allow="$VM_DIR/expected" \
		"$dir/tests.log" "$dir/console.log" >"$dir/results"
	# A test that has the device to itself may kill it.
	stop_device "$3"
	rm -rf "$sockets" "$dir/initrd"
	cat "$dir/results" >>"$work/results"
}

# shellcheck disable=SC2317
cleanup() {
	[ -z "${qemu_pid:-}" ] || kill "$qemu_pid" 2>/dev/null || :
	[ -z "${vdev_pid:-}" ] || kill "$vdev_pid" 2>/dev/null || :
	[ -z "${sockets:-}" ] || rm -rf "$sockets"
}

report() {
	local passed failed skipped

	passed=$(grep -c ^PASS "$work/results" || :)
	failed=$(grep -c ^FAIL "$work/results" || :)
	skipped=$(grep -c ^SKIP "$work/results" || :)
	awk -F '\t' '$1 == "SKIP" { printf "SKIP  %s: %s: %s\n", $2, $3, $4 }
		$1 == "FAIL" { printf "FAIL  %s: %s: %s\n", $2, $3, $4 }' "$work/results" | sort
	echo "$passed passed, $failed failed, $skipped skipped (vm, $variant; logs in $work)"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

# --- main -----------------------------------------------------------------------------

# A function, so that editing this file does not disturb a run.
main() {
	case $mode in
	list)
		selected_tests | awk '{ print $1 }'
		exit
		;;
	variant)
		echo "$variant"
		exit
		;;
	esac

	need flock cpio awk timeout
	work=$build/vm/$variant
	mkdir -p "$work"
	work=$(cd "$work" && pwd)
	exec {lock}>"$work/.lock"
	flock "$lock"
	trap cleanup EXIT
	trap 'exit 130' INT TERM
	prepare
	: >"$work/results"

	if [ "$mode" = shell ]; then
		: >"$work/list"
		boot shell "$work/list" ''
		exit
	fi

	selected_tests >"$work/selected"
	: >"$work/list"
	while read -r name limit path; do
		alone "$name" >/dev/null || echo "$name $limit $path" >>"$work/list"
	done <"$work/selected"
	say "kernel ${vmlinuz##*/vmlinuz-}, $(wc -l <"$work/selected") tests"
	if [ -z "${TESTS:-}" ] || [ -s "$work/list" ]; then
		boot main "$work/list" ''
	fi
	while read -r name limit path; do
		options=$(alone "$name") || continue
		echo "$name $limit $path" >"$work/list-$name"
		say "a boot of its own for $name${options:+ (device: $options)}"
		boot "$name" "$work/list-$name" "${options:- }"
	done <"$work/selected"
	report
}

main
exit
