#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash disable=SC2154
# timeout=300
#
# The npu command on the device: it finds it by itself, and what it makes,
# results and streams, is byte for byte what the emulation makes.

# shellcheck source=/dev/null
. "${0%/*}/lib"
need_device
need_command npu

data=$NPU_VM_DATA/real
file=$data/silero_vad_v5.safetensors
out=/tmp/command
mkdir -p $out
cd $out || exit 1

# same NAME SUBCOMMAND [ARGUMENT...]: on both; output "NAME.bin", all side files.
same() {
	local name=$1 before
	shift

	mkdir -p "emu/$name" "dev/$name"
	before=$(job_count)
	check "$name in emulation" run_in "emu/$name" emu "$@"
	check "$name on the device" run_in "dev/$name" "$node" "$@"
	check "$name: same bytes" diff -r "emu/$name" "dev/$name"
	if vdev ping >/dev/null 2>&1; then
		check "$name: the device ran it" [ "$(job_count)" -gt "$before" ]
	fi
}

run_in() {
	local dir=$1 device=$2
	shift 2

	(
		cd "$dir" || exit
		npu "$@" --device "$device" --save-stream stream -q || exit
		# Of a stream and its result only the time of day may differ.
		npu decode stream | sed 's/ clock_start=[0-9]* clock_end=[0-9]*//' >stream.text
		[ -s stream.text ] && rm stream
	)
}

found() { npu info --json | grep -q '"path": *"/dev/accel/accel0"'; }
chosen() { [ "$(npu info --json | grep -c '"driver": *"npu"')" = 1 ]; }

tensor=$(npu inspect --json "$file" | tr ',' '\n' |
	sed -n 's/.*"name": *"\(act[^"]*relu[^"]*\)".*/\1/p' | head -n 1)
codes=$(npu inspect --json "$file" | tr '{' '\n' | grep F8_E4M3 |
	sed -n 's/.*"name": *"\([^"]*\)".*/\1/p' | head -n 1)

check 'info lists the device' found
check 'doctor is content' npu doctor
if [ -n "$tensor" ]; then
	same int8 preprocess "$file:$tensor" -o out.npy --emax emax.bin --exponents exponents.bin
	same symmetric preprocess --scale symmetric "$file:$tensor" -o out.npy --scales scales.bin
	same fixed27 preprocess --to fixed27 "$file:$tensor" -o out.npy
	same packed preprocess --to fixed27-packed "$file:$tensor" -o out.bin
fi
if [ -n "$codes" ]; then
	same fetch fetch --cast f32 "$file:$codes" -o out.npy
	same fetch-sub fetch --context sub --cast f32 "$file:$codes" -o out.npy
fi

# A program killed in the middle of a job must leave the device to others.
if [ -n "$tensor" ] && vdev ping >/dev/null 2>&1; then
	vdev slow ring=2 ms=3000 >/dev/null
	npu preprocess "$file:$tensor" -o killed.npy --device "$node" -q &
	victim=$!
	sleep 0.7
	kill -KILL $victim
	wait $victim 2>/dev/null
	check 'no output of a killed command' [ ! -e killed.npy ]
	check 'device works after a kill' npu preprocess "$file:$tensor" -o after.npy \
		--device "$node" -q
	check 'with the right result' cmp after.npy dev/int8/out.npy
	vdev reset-faults >/dev/null
fi
finish
