# SPDX-License-Identifier: MIT
"""Small files on which other software stumbled (tests/data/cases)."""
import struct

from harness import (INPUT, USAGE, case, ints, levels, npu, ok, pack, read, refused, run_on, same,
                     stats, write)


def fetch(source, *options, level="auto"):
    run_on("fetch", "--cpu", level, *options, source, "-o", "out.bin")
    return read("out.bin")


def pre(source, *options, level="auto"):
    run_on("preprocess", "--cpu", level, "-q", *options, source, "-o", "out.bin")
    return ints(read("out.bin"), 4 if "fixed27" in options else 1)


def test_casts():
    for level in levels():
        for name, want, options in (
                ("c01_f32_special.npy", "c01_expected_bf16.bin", ["--cast", "bf16"]),
                ("c03_f32_subnormal_35.npy", "c03_expected_bf16_flush.bin", ["--cast", "bf16"]),
                ("c05_f8e4m3_all256.safetensors", "c05_expected_f32.bin", ["--cast", "f32"]),
                ("c05_f8e4m3_all256.safetensors", "c05_expected_bf16.bin", ["--lookup", "bf16"]),
                ("c07_f4e2m1_all_bytes.safetensors", "c07_expected_f8e4m3.bin",
                 ["--lookup", "f8e4m3"]),
                ("c07_f4e2m1_all_bytes.safetensors", "c07_expected_f8e5m2.bin",
                 ["--lookup", "f8e5m2"]),
                ("c25_i8_37.bin", "c25_expected_i32.bin", ["--type", "i8", "--cast", "i32"])):
            same(fetch(case(name), *options, level=level), read(case(want)), f"{want} {level}")


def test_every_length():
    """Every length from 0 up gives the front of the whole result."""
    for name, kind, width, out, options in (
            ("c25_i8_37.bin", "i8", 1, 4, ["--cast", "i32"]),
            ("c03.bin", "f32", 4, 2, ["--cast", "bf16"])):
        source = case(name)
        if name == "c03.bin":
            source = write(name, read(case("c03_f32_subnormal_35.npy"))[-140:])
        data, want = read(source), fetch(source, "--type", kind, *options)
        for level in levels():
            for n in range(len(data) // width + 1):
                write("in.bin", data[:n * width])
                got = fetch("in.bin", "--type", kind, *options, level=level)
                if got != want[:n * out]:
                    ok(False, f"{name}: {n} elements {level}")
            ok(True, f"{name}: every length {level}")


def test_c09_zero_points():
    values = ints(read(case("c09_i8_37.npy"))[-37:], 1)
    write("in.bin", pack("b", values))
    write("one.bin", b"\x01")
    options = ["--type", "i8", "--cols", "1", "--contract", "one.bin"]
    for zp, name in ((127, "p127"), (-128, "m128")):
        got = ints(fetch("in.bin", *options, "--zero-point", str(zp)), 4)
        ok(got == ints(read(case(f"c09_expected_i16_zp_{name}.bin")), 2), f"C09 zero point {zp}")
    for zp in ("128", "-129"):
        refused(USAGE, "zero-point-range", "fetch", *options, "--zero-point", zp, "in.bin", "-o", "o.bin")
    refused(USAGE, "zero-point-sink", "fetch", "--zero-point", "127", case("c09_i8_37.npy"), "-o", "o.bin")


def test_c11_zero_blocks():
    block = [0x80000, -0x40000, 0x20000, 0, -0x80000, 0x60000, 0, 0x10000] * 4
    a, b = [64, -32, 16, 0, -64, 48, 0, 8] * 4, [127, -64, 32, 0, -127, 95, 0, 16] * 4
    name = case("c11_zero_blocks_96.safetensors")
    zero = [0] * 32
    for level in levels():
        ok(pre(name, "--to", "fixed27", level=level) == zero + block + zero, f"C11 fixed27 {level}")
        ok(pre(name, level=level) == zero + a + zero, f"C11 int8 emax {level}")
        got = pre(name, "--scale", "symmetric", "--scales", "s.bin", level=level)
        s = struct.unpack("<3f", read("s.bin"))
        ok(got == zero + b + zero and s[0] == s[2] == 0 and s[1] > 0, f"C11 int8 symmetric {level}")


def test_c13_nonfinite():
    name = case("c13_nonfinite_128.safetensors")
    for level in levels():
        got = pre(name, "--to", "fixed27", "--emax", "e.bin", level=level)[64:96]
        ok(got == [0x40000, -0x80000, 0x20000, 0x60000] * 8 and read("e.bin")[2] == 128,
           f"C13 fixed27 {level}")
        ok(pre(name, level=level)[64:96] == [32, -64, 16, 48] * 8, f"C13 int8 emax {level}")
        got = pre(name, "--scale", "symmetric", "--scales", "s.bin", level=level)
        ok(got == [0] * 64 + [64, -127, 32, 95] * 8 + [0] * 32 and
           [ints(read("s.bin"), 4, False)[i] == 0x7fc00000 for i in range(4)] ==
           [True, True, False, True], f"C13 int8 symmetric {level}")
        for mode in ([], ["--to", "fixed27"], ["--scale", "symmetric"],
                     ["--scale", "const", "--scale-value", "0.5"]):
            s = stats("preprocess", "--cpu", level, *mode, name, "-o", "o.bin")
            ok(s.get("nonfinite_blocks") == 3 and s.get("first_nonfinite_block") == 0 and
               len(s.get("warnings", [])) == 1 and "3 blocks" in s["warnings"][0],
               f"C13 blocks counted and named {mode} {level}")
    r = npu("preprocess", "--device", "emu", name, "-o", "o.bin")
    ok(r.rc == 0 and "warning" in r.err and "3 blocks" in r.err, f"C13 warns: {r}")
    refused(1, "3 blocks", "preprocess", "--device", "emu", "--strict", name, "-o", "strict.bin")


def test_c15_edge():
    name = case("c15_edge_of_int8_32.safetensors")
    want_a = [-127 if v == -128 else v for v in ints(read(case("c15_expected_i8_A_f6.bin")), 1)]
    for level in levels():
        ok(pre(name, level=level) == want_a, f"C15 int8 emax {level}")
        ok(pre(name, "--scale", "symmetric", level=level) ==
           ints(read(case("c15_expected_i8_B.bin")), 1), f"C15 int8 symmetric {level}")
        s = stats("preprocess", "--cpu", level, name, "-o", "o.bin")
        ok(s.get("saturated") == 8, f"C15 saturated lanes: {s.get('saturated')} {level}")


def test_c17_subnormal():
    name = case("c17_fix27_subnormal_64.safetensors")
    want = [524288, 131072, -131072, 2048, 260096, 0, 0, -524288] * 4
    second = [262144, -262144, 4096, 520192, 0, 0, 131072, -4096] * 4
    for level in levels():
        ok(pre(name, "--to", "fixed27", "--emax", "e.bin", level=level) == want + second and
           read("e.bin") == b"\x01\x00", f"C17 {level}")


def test_c19_odd_4bit():
    got = npu("fetch", "--device", "emu", "--lookup", "f8e4m3",
              case("c19a_f4_shape3_2bytes.safetensors"), "-o", "out.bin")
    if got.rc:
        ok(got.rc == INPUT, f"C19a refused by name: {got}")
    else:
        same(read("out.bin"), bytes.fromhex("30383c"), "C19a")
    refused(INPUT, "c19b", "fetch", "--lookup", "f8e4m3", case("c19b_f4_shape3_1byte.safetensors"),
            "-o", "o.bin")
    same(fetch(case("c19c_f4_shape2x3.safetensors"), "--lookup", "f8e4m3"),
         bytes.fromhex("30383c404448"), "C19c")
    for level in levels():
        got = fetch(case("c19d_i4_5elements.bin"), "--type", "i4", "--count", "5", "--cast", "i32",
                    level=level)
        ok(ints(got, 4) == [1, 2, -8, -1, 7], f"C19d {level}")


def test_c21_layouts():
    ok(ints(fetch(case("c21a_fortran_i2_2x3.npy"), "--cast", "i32"), 4) == [1, 2, 3, 4, 5, 6], "C21a")
    ok(ints(fetch(case("c21b_bigendian_f4.npy"), "--cast", "bf16"), 2, False) ==
       [0x3f80, 0xc020, 0x3c00], "C21b")
    ok(ints(fetch(case("c21f_bigendian_i2.npy"), "--cast", "i32"), 4) == [1, -2, 256], "C21f")
    ok(ints(fetch(case("c21c_scalar_f4.npy"), "--cast", "bf16"), 2) == [0x3fc0], "C21c")
    for name, shape in (("c21d_empty_f4.npy", (0,)), ("c21e_empty3d_f4.npy", (3, 0, 2))):
        s = stats("fetch", case(name), "--cast", "bf16", "-o", "out.npy")
        from harness import npy_parts
        ok(npy_parts("out.npy") == ("<u2", shape, b"") and s.get("cycles") == 0, name)


def test_c23_headers():
    for name in ("c23a_len_all_ones", "c23b_len_past_end", "c23c_len_zero", "c23d_seven_bytes",
                 "c23e_trailing_unindexed", "c23h_len_132095296", "c23i_truncated_data",
                 "c23k_len_max_minus7"):
        path = case(name + ".safetensors")
        refused(INPUT, name, "inspect", path)
        refused(INPUT, name, "fetch", "--type", "bf16", "--cast", "f32", path, "-o", "o.bin")
    for name, dtype in (("c23g_dtype_unknown", "F8_E4M3FN"), ("c23j_dtype_f8_e8m0", "F8_E8M0")):
        refused(INPUT, dtype, "fetch", "--cast", "f32", case(name + ".safetensors:x"), "-o", "o.bin")


def test_c23_valid():
    import json
    path = case("c23f_valid_meta_scalar_empty.safetensors")
    listed = {t["name"]: t for t in json.loads(npu("inspect", "--json", path).out)["tensors"]}
    ok(listed["s"]["shape"] == [] and sorted(t["bytes"] for t in listed.values()) == [0, 0, 2],
       "C23f listed")
    same(fetch(path + ":s", "--cast", "f32"), bytes.fromhex("0000c03f"), "C23f scalar")
    for name, t in listed.items():
        if t["bytes"] == 0:
            cast = ["--cast", "bf16"] if t["type"] == "f32" else ["--cast", "i32"]
            same(fetch(f"{path}:{name}", *cast), b"", f"C23f {name}")


def test_c25_in_place():
    """The output may be the very file that is read: nobody sees it half-written."""
    for kind, target, name, want in (("i8", "i32", "c25_i8_37.bin", "c25_expected_i32.bin"),):
        write("x.bin", read(case(name)))
        run_on("fetch", "--type", kind, "--cast", target, "x.bin", "-o", "x.bin")
        same(read("x.bin"), read(case(want)), f"C25 {kind} -> {target}, the same file")
