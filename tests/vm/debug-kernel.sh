#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Build the debug kernel into DIR.  "fetch.sh debug" calls this once for each
# kernel source version and configuration.  DIR then holds boot/vmlinuz-ABI,
# lib/modules/ABI and build/, a source tree cut down to what modules need.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

configure() {
	local lost=0 line

	KCONFIG_ALLCONFIG=$VM_DIR/debug.config make -s allnoconfig
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

# install_to DIR: out of the current folder, a built kernel source tree.
install_to() {
	local dir=$1 abi

	abi=$(make -s kernelrelease)
	mkdir -p "$dir/boot"
	cp arch/x86/boot/bzImage "$dir/boot/vmlinuz-$abi"
	cp .config "$dir/boot/config-$abi"
	make -s modules_install INSTALL_MOD_PATH="$dir" DEPMOD=true
	rm -f "$dir/lib/modules/$abi"/{build,source}

	# What Kbuild reads when it makes a module elsewhere.
	find include arch/x86 scripts -name '*.o' -delete
	find arch/x86 -name '*.[cS]' -delete
	mkdir -p "$dir/build/arch" "$dir/build/tools/objtool"
	cp -a Makefile Kbuild .config Module.symvers System.map include scripts "$dir/build/"
	cp -a arch/x86 "$dir/build/arch/"
	rm -rf "$dir/build/arch/x86"/{boot,purgatory}
	cp -a tools/objtool/objtool "$dir/build/tools/objtool/"
}

fill() {
	local dir=$1 source

	need make gcc bc bison flex perl
	source=$("$VM_DIR/fetch.sh" source)
	mkdir "$dir/source"
	say "unpacking the kernel source"
	tar -x -C "$dir/source" --strip-components=1 -f "$source/linux-source-6.12.tar.xz"
	cd "$dir/source"
	configure
	build
	install_to "$dir"
	cd "$dir"
	rm -rf source
}

case ${1:-} in
fill) fill "$2" ;;
install) ( cd "$2" && install_to "$3" ) ;;
*) die "use tests/vm/fetch.sh debug" ;;
esac
