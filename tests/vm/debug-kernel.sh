#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Build the debug kernel into DIR.  "fetch.sh debug" calls this once for each
# kernel source version and configuration.  DIR then holds boot/vmlinuz-ABI,
# lib/modules/ABI and build/, a source tree cut down to what modules need.
#
# "clang DIR" only prepares such a tree, for clang: Debian's headers are for
# the compiler of its kernels, and clang refuses that one's options.

set -e
# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

configure() {
	local lost=0 line

	KCONFIG_ALLCONFIG=$VM_DIR/debug.config make -s "$@" allnoconfig
	# Kconfig drops what has an unmet dependency without a word.
	while read -r line; do
		grep -qxF -- "$line" .config || { say "lost: $line"; lost=1; }
	done < <(grep '^CONFIG_' "$VM_DIR/debug.config")
	[ "$lost" = 0 ] || die "debug.config does not fit this kernel"
}

build() {
	local jobs=${NPU_VM_JOBS:-$(nproc)}

	say "building the debug kernel with $jobs jobs: a quarter of an hour or more"
	# The same kernel on every machine: no host names, no user names.
	export KBUILD_BUILD_USER=npu KBUILD_BUILD_HOST=npu
	nice -n 19 make -s -j"$jobs" bzImage modules
}

# keep_build DIR: of the current folder, what Kbuild reads when it makes a
# module elsewhere.
keep_build() {
	local dir=$1

	find include arch/x86 scripts -name '*.o' -delete
	find arch/x86 -name '*.[cS]' -delete
	mkdir -p "$dir/arch" "$dir/tools/objtool"
	cp -a Makefile Kbuild .config include scripts "$dir/"
	[ ! -e Module.symvers ] || cp -a Module.symvers System.map "$dir/"
	cp -a arch/x86 "$dir/arch/"
	rm -rf "$dir/arch/x86"/{boot,purgatory}
	cp -a tools/objtool/objtool "$dir/tools/objtool/"
}

# install_to DIR: out of the current folder, a built kernel source tree.
install_to() {
	local dir=$1 abi

	abi=$(make -s kernelrelease)
	mkdir -p "$dir/boot"
	cp arch/x86/boot/bzImage "$dir/boot/vmlinuz-$abi"
	cp .config "$dir/boot/config-$abi"
	make -s modules_install INSTALL_MOD_PATH="$dir" DEPMOD=true
	rm -f "$dir/lib/modules/$abi"/{build,source}
	keep_build "$dir/build"
}

unpack_source() {
	local source

	need make gcc bc bison flex perl
	source=$("$VM_DIR/fetch.sh" source)
	mkdir "$1"
	say "unpacking the kernel source"
	tar -x -C "$1" --strip-components=1 -f "$source/linux-source-6.12.tar.xz"
}

fill() {
	local dir=$1

	unpack_source "$dir/source"
	cd "$dir/source"
	configure
	build
	install_to "$dir"
	rm -rf "$dir/source"
}

clang() {
	local dir=$1

	need clang
	unpack_source "$dir/source"
	cd "$dir/source"
	configure CC=clang
	nice make -s -j"${NPU_VM_JOBS:-$(nproc)}" CC=clang modules_prepare
	keep_build "$dir/build"
	rm -rf "$dir/source"
}

case ${1:-} in
fill) fill "$2" ;;
clang) clang "$2" ;;
*) die "use tests/vm/fetch.sh debug" ;;
esac
