#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Build the driver for one of the kernels of fetch.sh, or for KDIR.  Kbuild
# leaves its objects beside the sources, so it gets a copy of them; only what
# changed is copied, and a second run has little to do.  Prints the folder
# with the modules.

set -e
# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
	cat <<-'END'
	usage: tests/vm/modules.sh [-k KERNEL] [-o OUT] [-s SOURCE] [MAKE ARGUMENT...]

	  -k KERNEL  6.12 (default), 7.3, debug, clang, ...: see fetch.sh; not with KDIR
	  -o OUT     where to build (default $O, else build/): in OUT/modules-ABI
	  -s SOURCE  the tree that holds kernel/ and uapi/ (default: this one)
	MAKE ARGUMENT: W=1, C=2, V=1, CC=clang, clean, ... go to Kbuild.
	KDIR: a kernel build folder, such as /lib/modules/$(uname -r)/build.
	END
}

# copy_sources FROM TO: by content, so that unchanged files are not rebuilt.
copy_sources() {
	local from=$1 to=$2 file

	mkdir -p "$to"
	while read -r file; do
		cmp -s "$from/$file" "$to/$file" && continue
		mkdir -p "$(dirname "$to/$file")"
		cp "$from/$file" "$to/$file"
	done < <(cd "$from" && sources)
	while read -r file; do
		[ -e "$from/$file" ] || rm "$to/$file"
	done < <(cd "$to" && sources)
}

sources() {
	find . -type f \( -name '*.[ch]' -o -name '*.S' -o -name Kbuild -o -name Makefile \
		-o -name Kconfig \) ! -name '*.mod.c'
}

# In a chroot that vanishes with the process, whatever ends it.
build_in_root() {
	local root=$1 dir=$2 user=()
	shift 2

	[ "$(id -u)" = 0 ] || user=(--user --map-root-user)
	unshare "${user[@]}" --mount --pid --fork true 2>/dev/null ||
		die "building for this kernel needs mount namespaces, which are not allowed here"
	# shellcheck disable=SC2016
	unshare "${user[@]}" --mount --pid --fork sh -ec '
		root=$1 dir=$2 kdir=$3
		shift 3
		mount -t proc proc "$root/proc"
		mount --bind "$dir" "$root/build"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp chroot "$root" \
			make -C "$kdir" M=/build/kernel "$@"
	' sh "$root" "$dir" "/usr/src/linux-headers-$abi" "$@"
}

build_here() {
	local kdir=$1 dir=$2 cc=()
	shift 2

	# Debian names the compiler that it built the kernel with.
	if [ -e "$kdir/.kernelvariables" ] && ! command -v x86_64-linux-gnu-gcc-12 >/dev/null; then
		cc=(CC=gcc)
	fi
	make -C "$kdir" M="$dir/kernel" "${cc[@]}" "$@"
}

kernel=${KERNEL:-6.12} out=${O:-$VM_TOP/build} source=$VM_TOP
while getopts k:o:s:h option; do
	case $option in
	k) kernel=$OPTARG ;;
	o) out=$OPTARG ;;
	s) source=$OPTARG ;;
	h) usage; exit ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))

need make gcc flock cmp
if [ -n "${KDIR:-}" ]; then
	kdir=$KDIR
	abi=$(make -s -C "$kdir" kernelrelease)
else
	abi=$("$VM_DIR/fetch.sh" abi "$kernel")
	kdir=$("$VM_DIR/fetch.sh" headers "$kernel")
fi

mkdir -p "$out/modules-$abi"
dir=$(cd "$out/modules-$abi" && pwd)
exec {lock}>"$dir/.lock"
flock "$lock"
for part in kernel uapi; do
	[ ! -d "$source/$part" ] || copy_sources "$source/$part" "$dir/$part"
done

# BTF needs pahole and the kernel's own; Makefile output is not our output.
args=(-s CONFIG_DEBUG_INFO_BTF_MODULES= -j"${NPU_VM_JOBS:-$(nproc)}" "$@")
case " $* " in
*" clean "*) ;;
*) args+=(modules) ;;
esac
if [ -z "${KDIR:-}" ] && [ "$kernel" = clang ]; then
	# Only compiled: there is no kernel whose symbols could be looked up.
	build_here "$kdir" "$dir" CC=clang KBUILD_MODPOST_WARN=1 "${args[@]}" 2>&1 |
		{ grep -vE 'modpost: |symbol errors|KBUILD_MODPOST_WARN|at your own risk|Module.symvers|dependencies or modversions' || :; } >&2
elif [ -e "$kdir/Makefile" ]; then
	build_here "$kdir" "$dir" "${args[@]}" >&2
else
	build_in_root "$kdir" "$dir" "${args[@]}" >&2
fi
# A module that is made no longer must not be loaded any more.
for file in "$dir"/kernel/*.ko; do
	[ ! -e "$file" ] || grep -q "${file##*/}" <(sed 's/\.o$/.ko/' "$dir/kernel/modules.order") ||
		rm "$file"
done
printf '%s\n' "$dir/kernel"
