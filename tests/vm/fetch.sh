#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Get what the virtual machine is made of: kernels, their headers, a QEMU that
# knows vfio-user, files of the kernel source.  All of it comes from Debian's
# own suites and lands in a cache outside of the source tree; only the first
# run does any work.  The resulting folder (or file) is printed.

set -e
# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
	cat <<-'END'
	usage: tests/vm/fetch.sh WHAT [KERNEL]

	  abi [KERNEL]      print the name of the kernel, as uname -r would
	  image [KERNEL]    folder with boot/vmlinuz-ABI and lib/modules/ABI
	  headers [KERNEL]  folder to build modules in; see modules.sh
	  source-files      folder with kselftest_harness.h, lib.mk, checkpatch.pl, ...
	  source            the kernel source, packed, of 6.12
	  debug             the debug kernel; built here, takes a quarter of an hour
	  qemu              a qemu-system-x86_64 with vfio-user-pci
	  all               the lot, without the debug kernel

	KERNEL: 6.12 (default), 7.3 or any other version of Debian's backports,
	newest, debug; "headers clang" is a tree to compile modules in with clang.
	Cache: NPU_VM_CACHE, else XDG_CACHE_HOME/npu, else ~/.cache/npu.
	END
}

# --- which kernel ------------------------------------------------------------

suite_of() {
	case $1 in
	6.12) echo bookworm ;;
	*) echo trixie ;;
	esac
}

# Since 7.2 Debian's kernels come in three packages, before that in one.
find_abi() {
	local state=$1 kernel=${2//./\\.} name

	[ "$2" != newest ] || kernel='[0-9]+\.[0-9]+'
	for name in linux-modules linux-image; do
		name=$(newest_of "$state" "$name-$kernel\\.[0-9]+[^-]*-amd64")
		[ -z "$name" ] || break
	done
	[ -n "$name" ] || return
	printf '%s %s\n' "${name#linux-*-}" "$(version_of "$state" "$name")"
}

# abi_of KERNEL: sets ABI and VERSION (of the package).
abi_of() {
	local found

	found=$(resolve "kernel-$1" "$(suite_of "$1")" find_abi "$1")
	read -r ABI VERSION <<<"$found"
}

split_packages() {
	[ -n "$(newest_of "$1" "linux-modules-${2//[+.]/\\&}")" ]
}

# --- 6.12, 7.3 -----------------------------------------------------------------

fill_image() {
	local suite=$1 abi=$2 version=$3 dir=$4 state packages

	state=$(apt_state "$suite")
	apt_update "$state" || :
	packages=("linux-image-$abi=$version")
	! split_packages "$state" "$abi" ||
		packages=("linux-binary-$abi=$version" "linux-modules-$abi=$version")
	download "$state" "$dir/debs" "${packages[@]}"
	unpack_all "$dir/debs" "$dir"
	rm -r "$dir/debs"
	mkdir -p "$dir/boot" "$dir/lib"
	if [ ! -d "$dir/lib/modules" ]; then
		mv "$dir/usr/lib/modules" "$dir/lib/"
	fi
	[ -e "$dir/boot/vmlinuz-$abi" ] ||
		mv "$dir/lib/modules/$abi/vmlinuz" "$dir/boot/vmlinuz-$abi"
	rm -rf "${dir:?}/usr/share"
}

# Headers of the release that our compiler belongs to: used where they lie.
fill_headers() {
	local suite=$1 abi=$2 version=$3 dir=$4 state flavour base=${2%-amd64}

	state=$(apt_state "$suite")
	apt_update "$state" || :
	download "$state" "$dir/debs" "linux-headers-$abi=$version" \
		"linux-headers-$base-common=$version" "linux-kbuild-$base=$version"
	unpack_all "$dir/debs" "$dir"
	rm -rf "${dir:?}/debs" "${dir:?}/usr/share"
	flavour=$dir/usr/src/linux-headers-$abi
	# They name each other by where they would be installed.
	echo "include ../linux-headers-$base-common/Makefile" >"$flavour/Makefile"
	# BTF would need pahole, and nobody reads it here.
	rm -f "$flavour/vmlinux"
}

# Headers of a newer release: with the compiler and the C library they need.
fill_headers_root() {
	local suite=$1 abi=$2 dir=$4 state

	state=$(apt_state "$suite")
	apt_update "$state" || :
	download_closure "$state" "$dir/debs" base-files dash bash coreutils sed grep \
		mawk findutils diffutils make gcc-14 libc6-dev xz-utils \
		"linux-headers-$abi"
	unpack_all "$dir/debs" "$dir"
	rm -r "$dir/debs"
	rm -rf "$dir"/usr/share/{doc,locale,man,info} "$dir/usr/src/linux-headers-$abi/vmlinux"
	# What maintainer scripts would have done.
	ln -sf mawk "$dir/usr/bin/awk"
	[ -e "$dir/usr/bin/sh" ] || ln -s dash "$dir/usr/bin/sh"
	mkdir -p "$dir"/{proc,tmp,build}
}

get_image() {
	[ "$1" != debug ] || { get_debug; return; }
	abi_of "$1"
	cache_get "image-$ABI-$VERSION" fill_image "$(suite_of "$1")" "$ABI" "$VERSION"
}

get_headers() {
	local dir suite

	case $1 in
	debug | clang)
		dir=$("get_$1")
		echo "$dir/build"
		return
		;;
	esac
	abi_of "$1"
	suite=$(suite_of "$1")
	if [ "$suite" = bookworm ]; then
		dir=$(cache_get "headers-$ABI-$VERSION" fill_headers "$suite" "$ABI" "$VERSION")
		echo "$dir/usr/src/linux-headers-$ABI"
	else
		cache_get "headers-$ABI-$VERSION" fill_headers_root "$suite" "$ABI" "$VERSION"
	fi
}

get_abi() {
	local dir

	case $1 in
	clang)
		echo clang
		;;
	debug)
		dir=$(get_debug)
		basename "$dir"/lib/modules/*
		;;
	*)
		abi_of "$1"
		echo "$ABI"
		;;
	esac
}

# --- kernel source -------------------------------------------------------------

find_source() { version_of "$1" linux-source-6.12; }

fill_source() {
	local version=$1 dir=$2 state

	state=$(apt_state bookworm)
	apt_update "$state" || :
	download "$state" "$dir/debs" "linux-source-6.12=$version"
	unpack "$dir"/debs/*.deb "$dir" --strip-components=3 --wildcards '*.tar.xz'
	rm -r "$dir/debs"
}

get_source() {
	local version

	version=$(resolve source-6.12 bookworm find_source)
	cache_get "source-$version" fill_source "$version"
}

# The self-test library and checkpatch, each in its place of the source tree.
fill_source_files() {
	local source

	source=$(get_source)
	say "unpacking the self-test library and checkpatch"
	xz -dc -T0 "$source/linux-source-6.12.tar.xz" |
		tar -x -C "$1" --no-same-owner --strip-components=1 --wildcards \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
		'*/scripts/const_structs.checkpatch' '*/scripts/checksyscalls.sh' \
		'*/scripts/Makefile.compiler' '*/scripts/subarch.include' \
		'*/tools/testing/selftests/*.h' '*/tools/testing/selftests/*.mk' \
		'*/tools/testing/selftests/kselftest/*' \
		'*/tools/testing/selftests/run_kselftest.sh' \
		'*/tools/testing/kunit/*' '*/Documentation/dev-tools/checkpatch.rst' \
		'*/include/uapi/*' '*/COPYING'
	test -s "$1/scripts/checkpatch.pl"
	test -s "$1/tools/testing/selftests/kselftest_harness.h"
}

get_source_files() {
	local version

	version=$(resolve source-6.12 bookworm find_source)
	cache_get "source-files-$version" fill_source_files
}

# --- debug kernel ----------------------------------------------------------------

# Comments do not make another kernel.
debug_hash() {
	grep -E '^(# )?CONFIG_' "$VM_DIR/debug.config" | sort | sha256sum | cut -c 1-12
}

get_debug() {
	local version

	version=$(resolve source-6.12 bookworm find_source)
	cache_get "debug-$version-$(debug_hash)" "$VM_DIR/debug-kernel.sh" fill
}

# Not a kernel: a tree in which modules can be compiled, but not linked to one.
get_clang() {
	local version

	version=$(resolve source-6.12 bookworm find_source)
	cache_get "clang-$version-$(debug_hash)" "$VM_DIR/debug-kernel.sh" clang
}

# --- QEMU ------------------------------------------------------------------------

has_vfio_user() { "$1" -device help 2>/dev/null | grep -q '"vfio-user-pci"'; }

find_qemu() { version_of "$1" qemu-system-x86; }

fill_qemu() {
	local dir=$1 state libs=usr/lib/x86_64-linux-gnu

	state=$(apt_state trixie)
	apt_update "$state" || :
	download_closure "$state" "$dir/debs" base-files qemu-system-x86
	mkdir "$dir/root"
	unpack_all "$dir/debs" "$dir/root"
	rm -r "$dir/debs"
	rm -rf "$dir/root"/usr/share/{doc,locale,man,info}
	# It brings its own C library and loader: the host's stay as they are.
	cat >"$dir/qemu-system-x86_64" <<-END
		#!/bin/sh
		r=\$(dirname "\$0")/root
		QEMU_MODULE_DIR=\$r/$libs/qemu exec "\$r/lib64/ld-linux-x86-64.so.2" \\
			--library-path "\$r/$libs" "\$r/usr/bin/qemu-system-x86_64" \\
			-L "\$r/usr/share/qemu" -L "\$r/usr/share/seabios" "\$@"
	END
	chmod +x "$dir/qemu-system-x86_64"
	has_vfio_user "$dir/qemu-system-x86_64" ||
		die "the unpacked QEMU does not run or has no vfio-user-pci"
}

get_qemu() {
	local host version dir

	if host=$(command -v qemu-system-x86_64) && has_vfio_user "$host"; then
		echo "$host"
		return
	fi
	version=$(resolve qemu trixie find_qemu)
	dir=$(cache_get "qemu-${version#*:}" fill_qemu)
	echo "$dir/qemu-system-x86_64"
}

# --- main ------------------------------------------------------------------------

need flock tar xz
kernel=${2:-${KERNEL:-6.12}}
case ${1:-} in
abi) get_abi "$kernel" ;;
image) get_image "$kernel" ;;
headers) get_headers "$kernel" ;;
source) get_source ;;
source-files) get_source_files ;;
debug) get_debug ;;
qemu) get_qemu ;;
all)
	get_image "$kernel"
	get_headers "$kernel"
	get_source_files
	get_qemu
	;;
-h | --help | help) usage ;;
*) usage >&2; exit 2 ;;
esac
