#!/bin/sh
# SPDX-License-Identifier: MIT
# No object of lib/kern holds an instruction of a higher level than its own, or it would run on
# CPUs that lack it. Looks at mnemonics and registers in objdump's listing:
#
#	isa-check.sh DIR	DIR: the objects of lib/kern

set -u

dir=${1:?"usage: isa-check.sh DIR"}
passed=0 failed=0 skipped=0

# Instructions of AVX (a VEX or EVEX mnemonic), AVX2, AVX-512 and its parts.
avx='^v[a-z0-9]+$'
avx2='^(vpermd|vpermq|vpermps|vpermpd|vperm2i128|vinserti128|vextracti128|vbroadcasti128|vpblendd'
avx2=$avx2'|vpbroadcast[bwdq]|vps[lr][lr]v[dq]|vpsravd|vp?gather[a-z0-9]+|vpmaskmov[dq]'
avx2=$avx2'|vf[n]?m(add|sub)[a-z0-9]+|vcvtph2ps|vcvtps2ph'
avx2=$avx2'|andn|bextr|bls(i|r|msk)|tzcnt|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx)$'
vbmi='^(vpermb|vperm[it]2b|vpmultishiftqb)$'
vbmi2='^(vpcompress[bw]|vpexpand[bw]|vpsh[lr]d(v)?[wdq])$'
ifma='^vpmadd52'
vnni='^vpdp[bw]'
bf16='^(vcvtne2?ps2bf16|vdpbf16ps)'
others='^(vgf2p8|gf2p8|vpopcnt|vpconflict|vplzcnt|vpopcntdq|vexp2|vrcp28|vrsqrt28|vpclmul|vaes|aes|sha)'
sse4='^(p(blendw|blendvb|max(sb|sd|ud|uw)|min(sb|sd|ud|uw)|mulld|muldq|insr[bdq]|extr[bdq]'
sse4=$sse4'|cmpeqq|cmpgtq|test)|pmov[sz]x[a-z]+|blendv?p[sd]|round[ps][sd]|dpp[sd]|insertps'
sse4=$sse4'|extractps|packusdw|movntdqa|mpsadbw|phminposuw|crc32|popcnt'
sse4=$sse4'|pshufb|palignr|pabs[bwd]|psign[bwd]|pmaddubsw|pmulhrsw|phadd[a-z]+|phsub[a-z]+)$'

# mnemonic, operands
listing()
{
	objdump -d --no-show-raw-insn "$1" |
		sed -n 's/^ *[0-9a-f]*:\t\([a-z{][^ ]*\) *\([^#<]*\).*/\1 \2/p' |
		sed 's/^\(lock\|rep[a-z]*\|bnd\|notrack\|data16\|cs\) *//'
}

# $1 object, $2 what, $3 pattern of mnemonics ("-": none), $4 pattern of operands ("-": none)
lacks()
{
	hits=$(listing "$1" | awk -v m="$3" -v o="$4" \
		'(m != "-" && $1 ~ m) || (o != "-" && $0 ~ o)' | sort | uniq -c | head -5)
	if [ -z "$hits" ]; then
		passed=$((passed + 1))
		return
	fi
	failed=$((failed + 1))
	printf 'FAIL %s holds %s:\n%s\n' "$(basename "$1")" "$2" "$hits"
}

check()
{
	level=$(basename "$1" .o)
	level=${level%%_*}
	zmm='%zmm|%k[0-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])'

	case $level in
	scalar | dispatch)
		lacks "$1" "an SSE4 instruction" "$sse4" -
		lacks "$1" "an AVX instruction" "$avx" '%ymm'
		;;
	sse4)
		lacks "$1" "an AVX instruction" "$avx" '%ymm'
		lacks "$1" "a BMI or F16C instruction" "$avx2" -
		;;
	avx2)
		lacks "$1" "an AVX-512 register" - "$zmm"
		;;
	avx512)
		lacks "$1" "a VBMI instruction" "$vbmi" -
		;;
	esac
	case $level in
	avx512vbmi | avx512bf16) ;;
	avx512*) lacks "$1" "a VBMI instruction" "$vbmi" - ;;
	esac
	[ "$level" = avx512vnni ] || lacks "$1" "a VNNI instruction" "$vnni" -
	[ "$level" = avx512bf16 ] || lacks "$1" "a BF16 instruction" "$bf16" -
	for pattern in "$vbmi2" "$ifma" "$others"; do
		lacks "$1" "an instruction of no level" "$pattern" -
	done
}

for object in "$dir"/*.o; do
	[ -e "$object" ] || continue
	case $(objdump -f "$object" | sed -n 's/^architecture: \([^,]*\).*/\1/p') in
	i386*) check "$object" ;;
	*)
		echo "SKIP $(basename "$object"): no x86 object"
		skipped=$((skipped + 1))
		;;
	esac
done

# The patterns themselves: each must find what it looks for in the level that has it.
present()
{
	[ -e "$dir/$1.o" ] || return 0
	if listing "$dir/$1.o" | awk -v m="$2" '$1 ~ m { found = 1 } END { exit !found }'; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $1.o: the pattern $2 finds nothing where it should"
	fi
}

present sse4 "$sse4"
present avx2 "$avx2"
present avx2 "$avx"
present avx512vbmi "$vbmi"
present avx512vnni "$vnni"
present avx512bf16 "$bf16"

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
