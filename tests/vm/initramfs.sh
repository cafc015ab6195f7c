#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Make the guest's only file system, a cpio archive that the kernel unpacks
# into memory: busybox, modules, test programs with the libraries they need.

set -e
# shellcheck source=/dev/null
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
	cat <<-'END'
	usage: tests/vm/initramfs.sh -i IMAGE -m MODULES -o OUT [-e MODULE]... [PATH=DEST]...

	  -i IMAGE    folder of fetch.sh image
	  -m MODULES  folder with our modules (*.ko), "" for none
	  -e MODULE   put this module of the kernel into /mod as well
	  -o OUT      the archive
	  PATH=DEST   copy a file or the contents of a folder to DEST in the guest
	END
}

# --- modules ---------------------------------------------------------------------

modinfo_field() { tr '\0' '\n' <"$1" | sed -n "s/^$2=//p" | head -n 1; }

# add_module FILE [LIST]: with what it depends on before it.  busybox insmod
# neither resolves nor decompresses.
add_module() {
	local file=$1 list=${2:-} name depends found

	name=$(basename "$file")
	name=${name%%.ko*}
	name=${name//-/_}
	if [ -z "${modules[$name]:-}" ]; then
		modules[$name]=1
		case $file in
		*.xz) xz -dc "$file" >"$root/mod/$name.ko" ;;
		*.zst) zstd -qdc "$file" >"$root/mod/$name.ko" ;;
		*) cp "$file" "$root/mod/$name.ko" ;;
		esac
		strip -g "$root/mod/$name.ko"
		for depends in $(modinfo_field "$root/mod/$name.ko" depends | tr , ' '); do
			found=$(find_module "$depends")
			[ -z "$found" ] || add_module "$found" "$root/mod/order"
		done
		[ -z "$list" ] || echo "$name" >>"$list"
	fi
}

# Built-in ones have no file and need none.
find_module() { grep -E "/${1//_/[-_]}\.ko(\.[a-z]+)?$" "$index" | head -n 1 || :; }

# --- programs --------------------------------------------------------------------

is_elf() { [ "$(head -c 4 "$1" | tr '\177' x)" = xELF ]; }

# Libraries lie where the loader looked for them here.
add_libraries() {
	local file library

	while read -r file; do
		is_elf "$file" || continue
		# All of this is the guest's memory.
		strip "$file" 2>/dev/null || :
		while read -r library; do
			[ ! -e "$root/usr/lib/${library##*/}" ] || continue
			mkdir -p "$root${library%/*}"
			[ -e "$root$library" ] || cp -L "$library" "$root$library"
		done < <(ldd "$file" 2>/dev/null | grep -oE '/[^ ]+' || :)
	done < <(find "$root" -type f -perm -u+x -not -name '*.ko')
}

add_busybox() {
	local busybox applet

	busybox=$(command -v busybox) || die "missing busybox: run scripts/deps check"
	cp -L "$busybox" "$root/bin/busybox"
	for applet in $("$busybox" --list); do
		[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
	done
}

# --- main ------------------------------------------------------------------------

image='' ours='' out='' extra=()
while getopts i:m:o:e:h option; do
	case $option in
	i) image=$OPTARG ;;
	m) ours=$OPTARG ;;
	o) out=$OPTARG ;;
	e) extra+=("$OPTARG") ;;
	h) usage; exit ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
if [ -z "$image" ] || [ -z "$out" ]; then
	usage >&2
	exit 2
fi
need cpio xz zstd strip ldd

root=$(mktemp -d)
index=$(mktemp)
trap 'rm -rf "$root" "$index"' EXIT
mkdir -p "$root"/{bin,dev,proc,sys,tmp,mod,tests,usr/bin,usr/lib,lib64}
mkdir -p "$root/usr/lib"
find "$image/lib/modules" -name '*.ko*' >"$index"

declare -A modules=()
: >"$root/mod/order"
if [ -n "$ours" ]; then
	for file in "$ours"/*.ko; do
		[ -e "$file" ] || die "no modules in $ours"
		case $(basename "$file") in
		*kunit*.ko | *_test.ko) kunit=1 ;;
		*) add_module "$file" ;;
		esac
	done
	# Suites exist only where the kernel has KUnit, and so their modules.
	if [ -n "${kunit:-}" ]; then
		touch "$root/mod/kunit.list"
		for file in "$ours"/*kunit*.ko "$ours"/*_test.ko; do
			[ ! -e "$file" ] || add_module "$file" "$root/mod/kunit.list"
		done
	fi
fi
for name in "${extra[@]}"; do
	found=$(find_module "$name")
	[ -z "$found" ] || add_module "$found" "$root/mod/extra"
done

add_busybox
cp "$VM_DIR/init" "$root/init"
cp "$VM_DIR/guest-vdev" "$root/usr/bin/vdev"
cp "$VM_DIR/guest-qmp" "$root/usr/bin/qmp"
chmod +x "$root/init" "$root/usr/bin"/*
for pair; do
	from=${pair%%=*} to=$root/${pair#*=}
	if [ -d "$from" ]; then
		mkdir -p "$to"
		cp -RL "$from/." "$to/"
	else
		mkdir -p "${to%/*}"
		cp -L "$from" "$to"
	fi
done
add_libraries

( cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0 ) >"$out.$$"
mv "$out.$$" "$out"
