# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Shared by the scripts of tests/vm: the cache, and packages of a Debian suite
# that are unpacked into it.  Nothing here installs anything on the host.
#
# The cache has one folder per thing and version.  A folder is filled under
# another name and renamed when it is complete, so that what can be seen can
# be used; a lock per thing makes a second run wait instead of working twice.

set -euo pipefail
shopt -s inherit_errexit
# Under "make O=... CC=...": those are ours, not the kernel's.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034
VM_TOP=$(cd "$VM_DIR/../.." && pwd)
VM_CACHE=${NPU_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/npu}
# A name is looked up again after this many minutes.
VM_RESOLVE_MINUTES=${NPU_VM_RESOLVE_MINUTES:-1440}

say() { printf 'vm: %s\n' "$*" >&2; }
die() { printf 'vm: error: %s\n' "$*" >&2; exit 1; }

need() {
	local tool missing=()

	for tool; do
		command -v "$tool" >/dev/null || missing+=("$tool")
	done
	[ ${#missing[@]} -eq 0 ] ||
		die "missing ${missing[*]}: run scripts/deps check"
}

# --- cache -------------------------------------------------------------------

# cache_get NAME FILL [ARG...]: the path of cache folder NAME; when it does
# not exist, "FILL ARG... DIR" is called once to fill it.
cache_get() {
	local name=$1 fill=$2 dest=$VM_CACHE/$1 tmp lock status
	shift 2

	if [ ! -d "$dest" ]; then
		mkdir -p "$VM_CACHE"
		exec {lock}>"$VM_CACHE/.lock-$name"
		if ! flock -n "$lock"; then
			say "waiting for another run that makes $name"
			flock "$lock"
		fi
		if [ ! -d "$dest" ]; then
			# Left by a run that was killed; nobody else holds the lock.
			rm -rf "$VM_CACHE/.part-$name"
			tmp=$VM_CACHE/.part-$name
			mkdir "$tmp"
			# Not "fill || die": that would switch "set -e" off within.
			set +e
			( set -e; "$fill" "$@" "$tmp" ) >&2
			status=$?
			set -e
			[ "$status" = 0 ] || die "could not make $name (left in $tmp)"
			mv -T "$tmp" "$dest"
		fi
		exec {lock}>&-
	fi
	printf '%s\n' "$dest"
}

# --- packages ----------------------------------------------------------------

# mirrors: the Debian archive and its security archive, from the host's own
# apt configuration, whatever its format and without any network.
mirrors() {
	local uris codename main security

	need apt-get dpkg-deb
	# shellcheck source=/dev/null
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	uris=$(apt-get --print-uris update 2>/dev/null |
		sed -n "s|^'\(.*\)/dists/\([^']*\)/InRelease'.*|\2 \1|p")
	main=$(awk -v c="$codename" '$1 == c { print $2; exit }' <<<"$uris")
	security=$(awk -v c="$codename-security" '$1 == c { print $2; exit }' <<<"$uris")
	[ -n "$main" ] ||
		die "no Debian mirror in the apt configuration of this machine"
	printf '%s %s\n' "$main" "${security:-${main%/}-security}"
}

# apt_state SUITE: a private apt state for a Debian release; prints its folder.
# The host's proxies stay in force, its hooks and preferences do not.
apt_state() {
	local suite=$1 state=$VM_CACHE/apt-$1 key main security

	[ "$(dpkg --print-architecture)" = amd64 ] ||
		die "the virtual machine is x86-64 only, this machine is not"
	mkdir -p "$state"/{lists/partial,archives/partial,etc}
	: >>"$state/status"
	read -r main security < <(mirrors)
	[ -n "$main" ] || exit 1
	key=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -r "$key" ] || die "missing $key: install debian-archive-keyring"
	cat >"$state/sources.$$" <<-END
		Types: deb
		URIs: $main
		Suites: $suite $suite-backports
		Components: main
		Architectures: amd64
		Signed-By: $key

		Types: deb
		URIs: $security
		Suites: $suite-security
		Components: main
		Architectures: amd64
		Signed-By: $key
	END
	mv "$state/sources.$$" "$state/etc/debian.sources"
	cat >"$state/apt.conf.$$" <<-END
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
		#clear DPkg::Post-Invoke;
		#clear APT::Architectures;
		APT::Architectures "amd64";
		Dir::State "$state";
		Dir::State::lists "$state/lists";
		Dir::State::status "$state/status";
		Dir::Cache "$state";
		Dir::Etc::sourcelist "$state/etc/debian.sources";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		Acquire::Languages "none";
		Acquire::Retries "3";
		APT::Sandbox::User "root";
		APT::Get::Assume-Yes "1";
		APT::Install-Recommends "0";
		Dpkg::Use-Pty "0";
	END
	mv "$state/apt.conf.$$" "$state/apt.conf"
	printf '%s\n' "$state"
}

# apt_update STATE: fetch the package lists unless they are fresh.  A mirror
# that is being updated may fail for a moment.
apt_update() {
	local state=$1 lock try status=1

	exec {lock}>"$state/.lock"
	flock "$lock"
	if [ -z "$(find "$state/updated" -mmin "-$VM_RESOLVE_MINUTES" 2>/dev/null)" ]; then
		say "reading the package lists of ${state##*/apt-}"
		for try in 1 2 3; do
			[ "$try" = 1 ] || sleep 5
			if apt-get -qq -c "$state/apt.conf" update >&2; then
				touch "$state/updated"
				status=0
				break
			fi
		done
	else
		status=0
	fi
	exec {lock}>&-
	return $status
}

# resolve KEY SUITE FUNCTION [ARG...]: what FUNCTION prints, remembered for a
# day, and for longer when the mirror cannot be reached.
resolve() {
	local key=$1 suite=$2 file=$VM_CACHE/resolved/$1 state value=
	shift 2

	if [ -n "$(find "$file" -mmin "-$VM_RESOLVE_MINUTES" 2>/dev/null)" ]; then
		cat "$file"
		return
	fi
	state=$(apt_state "$suite")
	# What lists there are may do.
	apt_update "$state" || say "could not read all package lists"
	value=$("$1" "$state" "${@:2}") || value=''
	if [ -n "$value" ]; then
		mkdir -p "${file%/*}"
		printf '%s\n' "$value" >"$file.$$"
		mv "$file.$$" "$file"
	elif [ -s "$file" ]; then
		say "cannot look up $key now, taking the last known"
		value=$(cat "$file")
	else
		die "cannot look up $key in Debian $suite"
	fi
	printf '%s\n' "$value"
}

# newest_of STATE PATTERN: the name with the highest version among the packages
# that match an extended regular expression.
newest_of() {
	apt-cache -c "$1/apt.conf" pkgnames | { grep -Ex -- "$2" || :; } | sort -V | tail -n 1
}

# version_of STATE PACKAGE: its highest version.
version_of() {
	apt-cache -c "$1/apt.conf" madison "$2" | awk '{ print $3 }' | sort -V | tail -n 1
}

# download STATE DIR PACKAGE[=VERSION]...: these packages alone.
download() {
	local state=$1 dir=$2
	shift 2

	say "downloading $*"
	mkdir -p "$dir"
	( cd "$dir" && apt-get -qq -c "$state/apt.conf" download "$@" >&2 )
}

# download_closure STATE DIR PACKAGE...: with all they depend on, newest first.
download_closure() {
	local state=$1 dir=$2
	shift 2

	say "downloading $* with dependencies"
	mkdir -p "$dir/partial"
	apt-get -qq -c "$state/apt.conf" -o "Dir::Cache::archives=$dir" \
		-t "${state##*/apt-}-backports" --download-only install "$@" >&2
}

# unpack DEB DIR [TAR ARGUMENT...]
unpack() {
	local deb=$1 dir=$2
	shift 2

	dpkg-deb --fsys-tarfile "$deb" |
		tar -x -C "$dir" --no-same-owner --keep-directory-symlink "$@"
}

# unpack_all DEBS DIR: base-files first, whose links the others need.
unpack_all() {
	local deb

	for deb in "$1"/base-files_*.deb "$1"/*.deb; do
		[ ! -e "$deb" ] || unpack "$deb" "$2"
	done
}
