# SPDX-License-Identifier: MIT
"""A real network's tensors, with results of an independent model."""
import json
import struct

from harness import (levels, npy, ok, pack, read, real, run_on, safetensors_parts, same, stats, write)

MODEL = real("silero_vad_v5.safetensors")


def tensor(name):
    return f"{MODEL}:{name}"


def metadata():
    raw = read(MODEL)
    n = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8:8 + n])["__metadata__"]


def test_preprocess():
    for level in levels():
        for act in ("act.stft_magnitude", "act.encoder0_relu"):
            run_on("preprocess", "--cpu", level, tensor(act), "-o", "out.bin", "--emax", "emax.bin")
            same(read("out.bin"), read(real(act + ".int8_emax.i8")), f"{act} int8 emax {level}")
            same(read("emax.bin"), read(real(act + ".emax.u8")), f"{act} e_max {level}")
            run_on("preprocess", "--cpu", level, "--scale", "symmetric", tensor(act), "-o", "out.bin",
                   "--scales", "scales.bin")
            same(read("out.bin"), read(real(act + ".int8_symmetric.i8")),
                 f"{act} int8 symmetric {level}")
            same(read("scales.bin"), read(real(act + ".scales.f32")), f"{act} scales {level}")
            run_on("preprocess", "--cpu", level, "--to", "fixed27", tensor(act), "-o", "out.bin")
            same(read("out.bin"), read(real(act + ".fixed27.i32")), f"{act} fixed27 {level}")


CONVERSIONS = [
    ("lstm.weight_ih.nvfp4", ["--lookup", "f8e4m3"], "nvfp4.f8e4m3.u8"),
    ("lstm.weight_ih.nvfp4", ["--lookup", "f8e4m3", "--cast", "f32"], "nvfp4.f32"),
    ("lstm.weight_hh.f8e4m3", ["--cast", "f32"], "lstm.weight_hh.f8e4m3.f32"),
    ("lstm.weight_hh.f8e4m3", ["--lookup", "bf16"], "lstm.weight_hh.f8e4m3.bf16"),
    ("lstm.weight_hh.f8e5m2", ["--cast", "f32"], "lstm.weight_hh.f8e5m2.f32"),
    ("lstm.weight_hh.f8e5m2", ["--lookup", "bf16"], "lstm.weight_hh.f8e5m2.bf16"),
    ("lstm.weight_ih.i4_packed", ["--type", "i4", "--cast", "i32"], "i4.i32"),
]


def test_fetch():
    for level in levels():
        for name, options, want in CONVERSIONS:
            run_on("fetch", "--cpu", level, *options, tensor(name), "-o", "out.bin")
            same(read("out.bin"), read(real(want)), f"{want} {level}")


def test_contractions():
    meta = metadata()
    i4 = tensor("lstm.weight_ih.i4_packed")
    run_on("fetch", "--type", "i4", i4, "-o", "i4.bin")
    write("rows16.bin", read("i4.bin")[:16 * 64])
    for level in levels():
        run_on("fetch", "--cpu", level, tensor("lstm.weight_ih.i8"), "--zero-point",
               meta["i8_zero_point"], "--contract", real("act_int8.npy"), "-o", "out.bin")
        same(read("out.bin"), read(real("i9_contract.i32")), f"i9_contract {level}")
        run_on("fetch", "--cpu", level, real("act_int8.npy"), "--contract", i4, "--weight-type", "i4",
               "-o", "out.bin")
        same(read("out.bin"), read(real("w4a8.i32")), f"w4a8 {level}")
        run_on("fetch", "--cpu", level, "--type", "i4", i4, "--zero-point", meta["i4_zero_point"],
               "--contract", "rows16.bin", "-o", "out.bin")
        same(read("out.bin"), read(real("i5_contract_i4.i32")), f"i5_contract_i4 {level}")


def test_k_groups():
    """Sums per group add up to the whole."""
    i4 = tensor("lstm.weight_ih.i4_packed")
    s = stats("fetch", real("act_int8.npy"), "--contract", i4, "--weight-type", "i4", "--k-group",
              "48", "-o", "out.npy")
    ok(s.get("elements_out") == 177 * 3 * 512, "three groups of 48, 48, 32")
    from harness import npy_parts
    _, shape, data = npy_parts("out.npy")
    ok(shape == (177, 3, 512), "[M, ceil(K/G), N]")
    v = struct.unpack(f"<{177 * 3 * 512}i", data)
    want = struct.unpack(f"<{177 * 512}i", read(real("w4a8.i32")))
    got = [sum(v[(m * 3 + g) * 512 + n] for g in range(3)) for m in range(177) for n in range(512)]
    ok(got == list(want), "groups add up")


def test_shapes_and_types():
    run_on("preprocess", tensor("act.stft_magnitude"), "-o", "out.safetensors")
    parts = safetensors_parts("out.safetensors")
    ok(list(parts) == ["act.stft_magnitude"] and parts["act.stft_magnitude"][:2] == ("I8", [177, 129]),
       "the tensor keeps its name and shape")
    run_on("fetch", tensor("lstm.weight_ih.nvfp4"), "-o", "out.safetensors:copy")
    ok(safetensors_parts("out.safetensors")["copy"][:2] == ("F4", [512, 128]), "F4 stays F4")
    run_on("fetch", tensor("lstm.weight_ih.nvfp4"), "--lookup", "f8e5m2", "-o", "out.safetensors")
    ok(list(safetensors_parts("out.safetensors").values())[0][0] == "F8_E5M2", "F8_E5M2")
    run_on("preprocess", tensor("act.stft_magnitude"), "--to", "fixed27-packed", "-o",
           "out.npy", "--emax", "emax.npy", "--exponents", "exponents.npy")
    from harness import npy_parts
    ok(npy_parts("out.npy")[:2] == ("|u1", (177, 5 * 108)), "packed: whole blocks")
    ok(npy_parts("emax.npy")[:2] == ("|u1", (177, 5)), "e_max: a byte a block")
    ok(npy_parts("exponents.npy")[:2] == ("|u1", (177, 5, 32)), "exponents: 32 bytes a block")
    run_on("preprocess", tensor("act.stft_magnitude"), "--flat", "-o", "out.npy", "--emax", "e.bin")
    ok(npy_parts("out.npy")[1] == (177, 129) and len(read("e.bin")) == (177 * 129 + 31) // 32,
       "--flat: one vector, the shape stays")


def test_const_scale():
    """Without --scale-value it is max|x| / 127 over the tensor."""
    run_on("fetch", tensor("act.stft_magnitude"), "--cast", "f32", "-o", "x.bin")
    x = struct.unpack(f"<{177 * 129}f", read("x.bin"))
    scale = struct.unpack("<f", pack("f", [max(abs(v) for v in x) / 127]))[0]
    s = stats("preprocess", tensor("act.stft_magnitude"), "--scale", "const", "-o", "a.bin")
    ok(s.get("scale") == scale, f"the scale is told: {s.get('scale')}, want {scale}")
    run_on("preprocess", tensor("act.stft_magnitude"), "--scale", "const", "--scale-value",
           repr(scale), "-o", "b.bin")
    same(read("a.bin"), read("b.bin"), "the same as with that scale given")
    f32 = [struct.unpack("<f", struct.pack("<f", v / scale))[0] for v in x]
    same(read("a.bin"), pack("b", [max(-127, min(127, round(v))) for v in f32]), "rint(x / S)")
    npy("zero.npy", "<u2", (64,), bytes(128))
    s = stats("preprocess", "--type", "bf16", "--scale", "const", "zero.npy", "-o", "z.bin")
    ok(read("z.bin") == bytes(64) and s.get("scale") == 1, "zeros: scale 1")
