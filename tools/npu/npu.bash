# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of npu for bash: commands, and each command's options out of its own help.

_npu_words()
{
	local option=$1

	case $option in
	--device) echo "auto emu"; compgen -G '/dev/accel/accel*' ;;
	--cpu) echo "auto scalar sse4 avx2 avx512 avx512vbmi neon" ;;
	--type | --weight-type | --table-type | --cast | --lookup)
		echo "i4 i8 i16 i32 f4e2m1 f8e4m3 f8e5m2 bf16 f32" ;;
	--in-format | --out-format) echo "npy safetensors raw" ;;
	--to) echo "int8 fixed27 fixed27-packed low8" ;;
	--scale) echo "emax symmetric const" ;;
	--rounding) echo "nearest-even truncate" ;;
	--table-fn) echo "sigmoid gelu gelu-tanh silu tanh exp" ;;
	--context) echo "main sub" ;;
	--nibble-order) echo "low high" ;;
	--ring) echo "fetch-main fetch-sub preprocess" ;;
	*) return 1 ;;
	esac
}

_npu()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words

	if [ "$COMP_CWORD" = 1 ]; then
		words=$(npu -h 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
	elif words=$(_npu_words "$before"); then
		:
	elif [[ $word == -* ]]; then
		words=$(npu "${COMP_WORDS[1]}" -h 2>/dev/null | grep -oE -- '--[a-z-]+[a-z]')
	else
		words=
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	if [ ${#COMPREPLY[@]} = 0 ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}

complete -o filenames -F _npu npu
