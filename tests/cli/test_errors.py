# SPDX-License-Identifier: MIT
"""What cannot be: one line that says what, where and why, the exit status, no file left."""
import os
import stat

from harness import (DEVICE, FAILED, INPUT, NO_DEVICE, PERMISSION, USAGE, npu, npy, ok, pack, read,
                     refused, run_on, safetensors, skip, write)


def inputs():
    npy("bf16.npy", "<u2", (4, 8), bytes(64))
    npy("i8.npy", "|i1", (4, 8), bytes(32))
    npy("f32.npy", "<f4", (4, 8), bytes(128))
    npy("f64.npy", "<f8", (4, 8), bytes(256))
    write("raw.bin", bytes(64))


PRE = [
    (USAGE, "missing", []),
    (USAGE, "-o OUT", ["bf16.npy"]),
    (USAGE, "one operand too many", ["bf16.npy", "i8.npy", "-o", "o.npy"]),
    (USAGE, "--no-such", ["--no-such", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "-x", ["-x", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "--to", ["--to", "int4", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "argument is missing", ["bf16.npy", "-o"]),
    (USAGE, "argument is missing", ["bf16.npy", "--to"]),
    (USAGE, "takes no argument", ["--strict=yes", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "--scale", ["--to", "fixed27", "--scale", "emax", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "--scale-value", ["--scale-value", "1", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "const-value", ["--scale", "const", "--scale-value", "0", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "const-value", ["--scale", "const", "--scale-value", "-1", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "const-value", ["--scale", "const", "--scale-value", "1e39", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "finite", ["--scale", "const", "--scale-value", "nan", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "preprocess-rounding", ["--scale", "symmetric", "--rounding", "truncate", "bf16.npy",
                                    "-o", "o.npy"]),
    (USAGE, "preprocess-scales", ["--scales", "s.bin", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "two outputs", ["--emax", "o.npy", "--type", "bf16", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "--type", ["bf16.npy", "-o", "o.npy"]),
    (USAGE, "--type", ["raw.bin", "-o", "o.npy"]),
    (USAGE, "PREPROCESS takes bf16", ["f32.npy", "-o", "o.npy"]),
    (USAGE, "contradicts", ["--type", "bf16", "f32.npy", "-o", "o.npy"]),
    (INPUT, "<f8", ["f64.npy", "-o", "o.npy"]),
    (INPUT, "nosuch.npy", ["nosuch.npy", "-o", "o.npy"]),
    (USAGE, "--out-format", ["--type", "bf16", "bf16.npy", "-o", "o.dat"]),
    (USAGE, "--in-format", ["--in-format", "gguf", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "--cols", ["--type", "bf16", "--cols", "7", "raw.bin", "-o", "o.npy"]),
    (USAGE, "--cols", ["--type", "bf16", "--cols", "8", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "--cols", ["--type", "bf16", "--cols", "0", "raw.bin", "-o", "o.npy"]),
    (USAGE, "--threads", ["--threads", "0", "--type", "bf16", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "--threads", ["--threads", "two", "--type", "bf16", "bf16.npy", "-o", "o.npy"]),
    (USAGE, "--cpu", ["--cpu", "mmx", "--type", "bf16", "bf16.npy", "-o", "o.npy"]),
    (NO_DEVICE, "/dev/accel/accel99", ["--device", "/dev/accel/accel99", "--type", "bf16", "bf16.npy",
                                       "-o", "o.npy"]),
    (FAILED, "nosuchdir", ["--type", "bf16", "--device", "emu", "bf16.npy", "-o", "nosuchdir/o.npy"]),
]


def test_preprocess():
    inputs()
    for status, part, args in PRE:
        refused(status, part, "preprocess", *args)


FETCH = [
    (USAGE, "cast-pair", ["--cast", "f32", "i8.npy"]),
    (USAGE, "cast-pair", ["--cast", "i8", "f32.npy"]),
    (USAGE, "cast-pair", ["--type", "f8e4m3", "--cast", "bf16", "u8.npy"]),
    (USAGE, "cast-pair", ["--cast", "f8e4m3", "f32.npy"]),
    (USAGE, "lookup-pair", ["--lookup", "bf16", "i8.npy"]),
    (USAGE, "lookup-pair", ["--type", "f4e2m1", "--lookup", "bf16", "u8.npy"]),
    (USAGE, "--cast", ["--cast", "f16", "i8.npy"]),
    (USAGE, "--cast", ["--cast", "i9", "i8.npy"]),
    (USAGE, "--type", ["u8.npy"]),
    (USAGE, "one lookup", ["--lookup", "bf16", "--table", "t.npy", "i8.npy"]),
    (USAGE, "--table-type", ["--table-fn", "gelu", "i8.npy"]),
    (USAGE, "--table-fn", ["--table-fn", "relu", "--table-type", "f32", "i8.npy"]),
    (USAGE, "--table-scale", ["--table-scale", "2", "i8.npy"]),
    (USAGE, "--table-type", ["--table-type", "f32", "i8.npy"]),
    (USAGE, "lut-key-type", ["--table", "t.npy", "f32.npy"]),
    (INPUT, "256", ["--table", "i8.npy", "i8.npy"]),
    (USAGE, "zero-point-sink", ["--zero-point", "1", "i8.npy"]),
    (USAGE, "zero-point-range", ["--zero-point", "128", "--contract", "i8.npy", "i8.npy"]),
    (USAGE, "zero-point-type", ["--zero-point", "1", "--contract", "f32.npy", "f32.npy"]),
    (USAGE, "weight-zero-point", ["--weight-zero-point", "200", "--contract", "i8.npy", "i8.npy"]),
    (USAGE, "--contract", ["--weight-zero-point", "1", "i8.npy"]),
    (USAGE, "--contract", ["--k-group", "4", "i8.npy"]),
    (USAGE, "--k-group", ["--k-group", "0", "--contract", "i8.npy", "i8.npy"]),
    (USAGE, "contract-pair", ["--contract", "f32.npy", "i8.npy"]),
    (USAGE, "--loop", ["--loop", "8", "i8.npy"]),
    (USAGE, "loop-size", ["--loop", "0:1", "i8.npy"]),
    (USAGE, "--loop", ["--loop", "4294967296:1", "i8.npy"]),
    (USAGE, "loop-count", ["--loop", "1:1"] * 9 + ["i8.npy"]),
    (USAGE, "nest-overflow", ["--loop", "4294967295:0"] * 3 + ["i8.npy"]),
    (USAGE, "touches bytes", ["--loop", "33:1", "i8.npy"]),
    (USAGE, "touches bytes", ["--loop", "8:-1", "i8.npy"]),
    (USAGE, "touches bytes", ["--loop", "8:1", "--offset", "-1", "i8.npy"]),
    (USAGE, "touches bytes", ["--loop", "8:9223372036854775807", "i8.npy"]),
    (USAGE, "packet-size", ["--loop", "32:1", "--packet", "5", "i8.npy"]),
    (USAGE, "packet-align", ["--loop", "4:8", "--loop", "3:1", "i8.npy"]),
    (USAGE, "read-size-divisor", ["--loop", "32:1", "--read-size", "5", "i8.npy"]),
    (USAGE, "read-size-flit", ["--loop", "32:1", "--read-size", "16", "--cast", "i32", "i8.npy"]),
    (USAGE, "unpadded-sink", ["--loop", "32:1", "--unpadded", "--flits", "i8.npy"]),
    (USAGE, "--mask", ["--loop", "4:8", "--loop", "8:1", "--mask", "0:left:3", "i8.npy"]),
    (USAGE, "mask-axis", ["--loop", "4:8", "--loop", "8:1", "--mask", "1:rightmost:3", "i8.npy"]),
    (USAGE, "mask-count", ["--loop", "4:8", "--loop", "8:1", "--mask", "0:rightmost:9", "i8.npy"]),
    (USAGE, "mask-iterator", ["--loop", "4:8", "--loop", "8:1", "--mask", "0:iterator=0:3", "i8.npy"]),
    (USAGE, "one mask", ["--mask", "0:rightmost:1", "--mask", "0:rightmost:1", "i8.npy"]),
    (USAGE, "alike", ["--loop", "32:1", "--interleave", "f32.npy", "i8.npy"]),
    (USAGE, "--context", ["--context", "third", "i8.npy"]),
    (INPUT, "nosuch.npy", ["--contract", "nosuch.npy", "i8.npy"]),
    (INPUT, "nosuch.npy", ["--table", "nosuch.npy", "i8.npy"]),
    (USAGE, "4-bit", ["--unpacked", "i8.npy"]),
    (USAGE, "--count", ["--type", "i4", "--count", "9", "raw.bin"]),
    (USAGE, "--offset", ["--offset", "1x", "i8.npy"]),
    (USAGE, "--pad", ["--pad", "-1", "i8.npy"]),
]


def test_fetch():
    inputs()
    npy("u8.npy", "|u1", (4, 8), bytes(32))
    npy("t.npy", "|u1", (256,), bytes(256))
    for status, part, args in FETCH:
        refused(status, part, "fetch", "--device", "emu", *args, "-o", "o.npy")


def test_empty_tensors_obey_rules():
    npy("e.npy", "|i1", (0,), b"")
    refused(USAGE, "cast-pair", "fetch", "--device", "emu", "--cast", "f32", "e.npy", "-o", "o.npy")


def test_tensor_names():
    safetensors("two.safetensors", {"a": ("BF16", [2], bytes(4)), "b": ("BF16", [2], bytes(4))})
    refused(USAGE if npu("fetch", "two.safetensors", "-o", "o.bin").rc == USAGE else INPUT, "a",
            "fetch", "two.safetensors", "-o", "o.bin")
    refused(INPUT, "nosuch", "fetch", "two.safetensors:nosuch", "-o", "o.bin")
    run_on("fetch", "two.safetensors:b", "-o", "o.bin")
    ok(read("o.bin") == bytes(4), "a tensor by its name")


def test_other_commands():
    refused(USAGE, "not a command", "convert")
    ok(npu().rc == USAGE, "no command is a usage error")
    write("junk.bin", b"\x93NUMPX" + bytes(20))
    refused(INPUT, "junk.npy", "inspect", write("junk.npy", b"\x93NUMPX" + bytes(20)))
    refused(USAGE, "FILE", "inspect")
    refused(INPUT, "nosuch", "decode", "nosuch")
    refused(INPUT, "nosuch", "encode", "nosuch", "-o", "o.bin")
    refused(INPUT, "nosuch", "replay", "nosuch")
    refused(USAGE, "operand", "info", "extra")
    refused(USAGE, "--interval", "top", "--interval", "0")


def test_permission():
    if os.geteuid() == 0:
        skip("an input that may not be read", "root may read everything")
        return
    npy("secret.npy", "|i1", (4,), bytes(4))
    os.chmod("secret.npy", 0)
    refused(PERMISSION, "secret.npy", "fetch", "secret.npy", "-o", "o.npy")


def test_existing_output_survives():
    npy("in.npy", "|i1", (4, 8), bytes(32))
    write("o.npy", b"precious")
    r = npu("fetch", *DEVICE, "--cast", "f32", "in.npy", "-o", "o.npy")
    ok(r.rc == USAGE and read("o.npy") == b"precious", f"what was there stays: {r}")
    r = npu("preprocess", *DEVICE, "--type", "bf16", "--emax", "nosuchdir/e.bin", "in16.npy", "-o", "o.npy")
    ok(r.rc == INPUT and read("o.npy") == b"precious", f"what was there stays: {r}")


def test_disk_full():
    if not os.path.exists("/dev/full"):
        skip("a full disk", "no /dev/full")
        return
    npy("in.npy", "<u2", (4, 8), bytes(64))
    r = npu("preprocess", *DEVICE, "--type", "bf16", "in.npy", "--out-format", "raw", "-o", "/dev/full")
    ok(r.rc == FAILED and len(r.err.splitlines()) == 1, f"no room: {r}")
    ok(stat.S_ISCHR(os.stat("/dev/full").st_mode), "/dev/full is still a device")


def test_huge_sizes():
    """Headers that promise more than there is cost nothing."""
    import struct
    text = b"{'descr': '<u2', 'fortran_order': False, 'shape': (4611686018427387904, 4), }\n"
    write("huge.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
    refused(INPUT, "huge.npy", "preprocess", "--type", "bf16", "huge.npy", "-o", "o.npy")
    npy("small.npy", "<u2", (4, 8), bytes(64))
    refused(USAGE, "--loop", "fetch", "--device", "emu", "--type", "bf16", "--loop", "4294967295:0", "--loop",
            "8:0", "small.npy", "-o", "o.npy")
