# SPDX-License-Identifier: MIT
"""The golden vectors through the command, bit for bit, at every SIMD level."""
import os

from harness import (DEVICE, GOLDEN, USAGE, golden, ints, levels, npu, npy, ok, pack, read, run_on,
                     same, stats, works, write)

BYTES = bytes(range(256))
WORDS = pack("H", range(65536))

# file of the result, input, type, options
FETCHES = [
    ("fetch_cast_i4_i32", BYTES, "i4", ["--cast", "i32"]),
    ("fetch_cast_i8_i32", BYTES, "i8", ["--cast", "i32"]),
    ("fetch_cast_i16_i32", WORDS, "i16", ["--cast", "i32"]),
    ("fetch_cast_f8e4m3_f32", BYTES, "f8e4m3", ["--cast", "f32"]),
    ("fetch_cast_f8e5m2_f32", BYTES, "f8e5m2", ["--cast", "f32"]),
    ("fetch_cast_bf16_f32", WORDS, "bf16", ["--cast", "f32"]),
    ("fetch_lut_f4e2m1_f8e4m3", BYTES, "f4e2m1", ["--lookup", "f8e4m3"]),
    ("fetch_lut_f4e2m1_f8e5m2", BYTES, "f4e2m1", ["--lookup", "f8e5m2"]),
    ("fetch_lut_f8e4m3_bf16", BYTES, "f8e4m3", ["--lookup", "bf16"]),
    ("fetch_lut_f8e5m2_bf16", BYTES, "f8e5m2", ["--lookup", "bf16"]),
    ("fetch_chain_f4e2m1_f8e4m3_f32", BYTES, "f4e2m1", ["--lookup", "f8e4m3", "--cast", "f32"]),
    ("fetch_chain_f4e2m1_f8e5m2_f32", BYTES, "f4e2m1", ["--lookup", "f8e5m2", "--cast", "f32"]),
    ("fetch_chain_f8e4m3_bf16_f32", BYTES, "f8e4m3", ["--lookup", "bf16", "--cast", "f32"]),
    ("fetch_chain_f8e5m2_bf16_f32", BYTES, "f8e5m2", ["--lookup", "bf16", "--cast", "f32"]),
]


def streams():
    for name in sorted(os.listdir(GOLDEN)):
        if name.startswith("fetch_stream_cast_") or name.startswith("fetch_stream_lut_"):
            _, _, kind, source, target = name[:-4].split("_")
            yield name, source, ["--cast" if kind == "cast" else "--lookup", target]


def test_fetch():
    for level in levels():
        for name, data, kind, options in FETCHES:
            write("in.bin", data)
            run_on("fetch", "--cpu", level, "--type", kind, *options, "in.bin", "-o", "out.bin")
            same(read("out.bin"), golden(name + ".bin"), f"{name} {level}")
        run_on("fetch", "--cpu", level, "--type", "f32", "--cast", "bf16",
               os.path.join(GOLDEN, "fetch_cast_f32_bf16_in.bin"), "-o", "out.bin")
        same(read("out.bin"), golden("fetch_cast_f32_bf16_out.bin"), f"fetch_cast_f32_bf16 {level}")


def test_fetch_stream():
    source = os.path.join(GOLDEN, "fetch_stream_in.bin")
    for level in levels():
        for name, kind, options in streams():
            run_on("fetch", "--cpu", level, "--type", kind, *options, source, "-o", "out.bin")
            same(read("out.bin"), golden(name), f"{name} {level}")


def contract_i8(zp, data, level="auto"):
    """value - zero point: a contraction with the weight 1."""
    write("in.bin", data)
    write("one.bin", b"\x01")
    run_on("fetch", "--cpu", level, "--type", "i8", "--cols", "1", "--zero-point", str(zp),
           "--contract", "one.bin", "in.bin", "-o", "out.bin")
    return ints(read("out.bin"), 4)


def contract_i4(zp, values, level="auto"):
    npy("in.npy", "|i1", (len(values), 1), pack("b", values))
    npy("one.npy", "|i1", (1, 1), b"\x01")
    run_on("fetch", "--cpu", level, "--type", "i4", "--unpacked", "--zero-point", str(zp),
           "--contract", "one.npy", "--weight-type", "i4", "in.npy", "-o", "out.bin")
    return ints(read("out.bin"), 4)


def test_zero_point():
    for zp in range(-8, 8):
        want = ints(golden("fetch_zps_i4_i5.bin"), 1)[(zp + 8) * 16:(zp + 9) * 16]
        ok(contract_i4(zp, range(-8, 8)) == want, f"fetch_zps_i4_i5 {zp}")
    for zp in range(-128, 128):
        want = ints(golden("fetch_zps_i8_i9.bin"), 2)[(zp + 128) * 256:(zp + 129) * 256]
        ok(contract_i8(zp, pack("b", range(-128, 128))) == want, f"fetch_zps_i8_i9 {zp}")


def test_zero_point_stream():
    data = golden("fetch_stream_in.bin")
    nibbles = [n - 16 if n > 7 else n for b in data for n in (b & 15, b >> 4)]
    i4, i8 = golden("fetch_stream_zps_i4_i5.bin"), golden("fetch_stream_zps_i8_i9.bin")
    for level in levels():
        for i, zp in enumerate([-8, -3, 0, 5, 7]):
            ok(contract_i4(zp, nibbles, level) == ints(i4[i * 8192:(i + 1) * 8192], 1),
               f"fetch_stream_zps_i4_i5 {zp} {level}")
        for i, zp in enumerate([-128, -77, 0, 1, 127]):
            ok(contract_i8(zp, data, level) == ints(i8[i * 8192:(i + 1) * 8192], 2),
               f"fetch_stream_zps_i8_i9 {zp} {level}")


def test_zero_point_accepted():
    npy("i8.npy", "|i1", (2, 1), b"\x01\x02")
    bad = 0
    for line in golden("fetch_zps_accept.csv").decode().split()[1:]:
        pair, zp, accepted = line.split(",")
        kind = ["--type", "i4", "--unpacked", "--weight-type", "i4"] if pair == "i4_i5" else []
        r = npu("fetch", *DEVICE, *kind, "--zero-point", zp, "--contract", "i8.npy", "i8.npy",
                "-o", "out.bin")
        good = r.rc == 0 if accepted == "1" else \
            r.rc == USAGE and not os.path.exists("out.bin") and len(r.err.splitlines()) == 1
        if not good:
            bad += 1
            ok(False, f"fetch_zps_accept {line}: {r}")
        if os.path.exists("out.bin"):
            os.unlink("out.bin")
    ok(bad == 0, "fetch_zps_accept")


PREPROCESS = [
    ("pp_fixed", ["--to", "fixed27"]),
    ("pp_fixed_packed", ["--to", "fixed27-packed"]),
    ("pp_low8", ["--to", "low8"]),
    ("pp_int8a_trunc", ["--rounding", "truncate"]),
    ("pp_int8a_round_fixed", ["--to", "int8", "--scale", "emax", "--rounding", "nearest-even"]),
]


def pp(level, *options):
    return run_on("preprocess", "--cpu", level, "--type", "bf16", "--cols", "32", *options, "-q",
                  os.path.join(GOLDEN, "pp_x.bin"), "-o", "out.bin")


def test_preprocess():
    for level in levels():
        for name, options in PREPROCESS:
            pp(level, *options, "--emax", "emax.bin", "--exponents", "exponents.bin")
            same(read("out.bin"), golden(name + ".bin"), f"{name} {level}")
            same(read("emax.bin"), golden("pp_emax.bin"), f"pp_emax with {name} {level}")
            words = ints(golden("pp_x.bin"), 2, False)
            same(read("exponents.bin"), bytes(w >> 7 & 255 for w in words),
                 f"exponents with {name} {level}")


def test_preprocess_symmetric():
    """Non-finite blocks: zeros, and the scale is NaN."""
    nonfinite = golden("pp_nonfinite.bin")
    q, scale = golden("pp_int8b_q.bin"), golden("pp_int8b_scale.bin")
    want_q = b"".join(bytes(32) if bad else q[i * 32:i * 32 + 32] for i, bad in enumerate(nonfinite))
    want_s = b"".join(pack("I", [0x7fc00000]) if bad else scale[i * 4:i * 4 + 4]
                      for i, bad in enumerate(nonfinite))
    for level in levels():
        pp(level, "--scale", "symmetric", "--scales", "scales.bin")
        same(read("out.bin"), want_q, f"pp_int8b_q {level}")
        same(read("scales.bin"), want_s, f"pp_int8b_scale {level}")


def test_preprocess_record():
    nonfinite = golden("pp_nonfinite.bin")
    for option in (["--tile", "4000"], []):
        s = stats("preprocess", "--type", "bf16", "--cols", "32", *option,
                  os.path.join(GOLDEN, "pp_x.bin"), "-o", "out.bin")
        ok(s.get("nonfinite_blocks") == sum(nonfinite), f"pp_nonfinite {option}")
        ok(s.get("first_nonfinite_block") == nonfinite.index(1), f"pp_nonfinite, the first {option}")
        ok(s.get("elements_in") == len(nonfinite) * 32, f"elements {option}")
    ok(s.get("cycles") == 2 * len(nonfinite) + 3, "cycles: 2n + 3, as the traces have it")


def test_fmap_cache():
    """The cache sweep, as a stream written by hand: fill 64 blocks, read 2048 elements."""
    blocks = ints(golden("pp_cache_blocks.bin"), 2, False)
    x = golden("pp_x.bin")
    data = b"".join(x[b * 64:b * 64 + 64] for b in blocks)
    want = ints(golden("pp_cache_rd.bin"), 4)
    emax = golden("pp_emax.bin")
    for lanes in (1, 3, 32):
        size = 2048 * lanes * 4
        write("text", f"""job ring=preprocess
buffer address=0x100000 size={len(data)} flags=rdonly
data {data.hex()}
buffer address=0x200000 size={size + 4096} flags=output
stream version=1.0
preprocess src=0x100000 rows=64 cols=32 mode=fixed27 sink=fmap-cache
barrier
fmap-read start=0 count=2048 lanes={lanes} dst=0x200000 flags=emax emax={0x200000 + size:#x}
""".encode())
        run_on("replay", encoded("text"), "-o", "out.bin")
        got = read("out.bin")
        same(got[:size], pack("i", [v for v in want for _ in range(lanes)]),
             f"pp_cache_rd, {lanes} lanes")
        same(got[size:size + 2048], bytes(emax[b] for b in blocks for _ in range(32)),
             f"e_max cache, {lanes} lanes")


def encoded(text):
    works("encode", text, "-o", text + ".npus")
    return text + ".npus"
