# SPDX-License-Identifier: MIT
"""The sequencer through the command: worked figures, masks, and a plain model of the nest."""
import itertools
import math
import random

from harness import (levels, npu, npy, npy_parts, ok, pack, read, refused, run_on, stats, write, USAGE,
                     ints, golden)


def test_worked_figures():
    # i4, N=4 C=3 H=4 W=16
    write("t.bin", bytes(4 * 3 * 4 * 16 // 2))
    nest = ["--type", "i4", "--loop", "4:192", "--loop", "3:64", "--loop", "4:16", "--loop", "16:1"]
    for packet, read_size, reads, cycles in ((16, 16, 1, 48), (32, 32, 1, 24), (64, 64, 1, 12),
                                             (192, 64, 3, 12)):
        f = stats("fetch", *nest, "--packet", packet, "t.bin", "-o", "o.bin").get("fetch", {})
        ok((f.get("read_size"), f.get("reads_per_packet"), f.get("cycles"), f.get("packet_size"),
            f.get("time_steps")) == (read_size, reads, cycles, packet, 768 // packet),
           f"i4 4x3x4x16, packets of {packet}: {f}")
    # f8e4m3 of 30 bytes, A=3 B=5 C=2; packets padded to 8, 16, 32
    write("t.bin", bytes(range(30)))
    for loops, packet, pad, cycles in (
            (["3:10", "5:2", "8:1"], 8, 6, 15), (["3:10", "16:1"], 16, 6, 3), (["32:1"], 32, 2, 1)):
        nest = [x for loop in loops for x in ("--loop", loop)]
        f = stats("fetch", "--type", "f8e4m3", "--pad", pad, *nest, "t.bin", "-o", "o.npy")
        ok(f.get("fetch", {}).get("cycles") == cycles, f"f8e4m3 3x5x2, packets of {packet}: {f}")
        refused(USAGE, "--pad", "fetch", "--device", "emu", "--type", "f8e4m3", *nest, "t.bin",
                "-o", "no.bin")


MASKS = [
    ("i8", 92, 96, 1, ["32:96", "3:32", "32:1"], "1:rightmost:28"),
    ("i8", 92, 96, 1, ["3:32", "32:96", "32:1"], "0:rightmost:28"),
    ("f32", 97, 128, 4, ["32:128", "8:16", "1:0", "16:1"], "2:iterator=1:16,16,16,16,16,16,1,0"),
]


def test_worked_masks():
    for kind, valid, row, width, loops, mask in MASKS:
        # rows of `row` elements of which `valid` are real; the others hold 0x55
        data = b"".join(b"".join(pack("b" if width == 1 else "i", [(r * 7 + c) % 100 + 1 if c < valid
                                                                   else 85]) for c in range(row))
                        for r in range(32))
        write("t.bin", data)
        nest = [x for loop in loops for x in ("--loop", loop)]
        run_on("fetch", "--type", kind, *nest, "--mask", mask, "t.bin", "-o", "o.bin")
        got, sizes = ints(read("o.bin"), width), [int(x.split(":")[0]) for x in loops]
        strides = [int(x.split(":")[1]) for x in loops]
        want = []
        for index in itertools.product(*[range(s) for s in sizes]):
            e = sum(i * s for i, s in zip(index, strides))
            r, c = divmod(e, row)
            want.append((r * 7 + c) % 100 + 1 if c < valid else 0)
        ok(got == want, f"mask {mask} over {loops}")


def test_left_pad():
    """Cases 1 and 2 with two slots of padding on the left: the base moves back by two."""
    data = pack("b", [(i % 96) % 90 + 1 for i in range(32 * 96)])
    write("t.bin", data)
    for loops, mask in ((["32:96", "3:32", "32:1"], "1:rightmost:28:left=2"),
                        (["3:32", "32:96", "32:1"], "0:rightmost:28:left=2")):
        nest = [x for loop in loops for x in ("--loop", loop)]
        refused(USAGE, "--pad 2", "fetch", "--device", "emu", "--type", "i8", *nest, "--mask", mask,
                "t.bin", "-o", "no.bin")
        run_on("fetch", "--type", "i8", "--pad", "2", *nest, "--mask", mask, "t.bin", "-o", "o.bin")
        sizes = [int(x.split(":")[0]) for x in loops]
        strides = [int(x.split(":")[1]) for x in loops]
        axis, want = int(mask[0]), []
        for index in itertools.product(*[range(s) for s in sizes]):
            e = sum(i * s for i, s in zip(index, strides)) - 2
            zero = (index[axis] == 0 and index[2] < 2) or (index[axis] == 2 and index[2] >= 28)
            want.append(0 if zero else (e % 96) % 90 + 1)
        ok(ints(read("o.bin"), 1) == want, f"left pad {mask}")


def model(values, loops, offset, pad_of):
    out = []
    for index in itertools.product(*[range(s) for s, _ in loops]):
        e = offset + sum(i * st for i, (_, st) in zip(index, loops))
        out.append(values[e] if 0 <= e < len(values) else pad_of)
    return out


def test_random_nests():
    """400 nests against plain loops: strides of any sign, offsets, broadcast, 4-bit positions."""
    rng = random.Random(20261130)
    every = levels()
    for number in range(400):
        kind = rng.choice(["i4", "i8", "i16", "f32"])
        bits = {"i4": 4, "i8": 8, "i16": 16, "f32": 32}[kind]
        n = rng.choice([24, 60, 64, 96, 130])
        values = [rng.randrange(1 << bits) for _ in range(n)]
        loops = [(rng.randrange(1, 5), rng.choice([0, 1, 2, -1, -3, 5, 16])) for _ in
                 range(rng.randrange(1, 4))] + [(rng.choice([4, 8, 16]), rng.choice([1, 1, 1, 0, 2, -1]))]
        low = sum(min(0, (s - 1) * st) for s, st in loops)
        offset = rng.randrange(max(0, -low), n) if -low < n else -low
        high = offset + sum(max(0, (s - 1) * st) for s, st in loops)
        pad = max(0, -(low + offset), high + 1 - n) * max(1, bits // 8)
        packed = bytes(sum(v << 4 * i for i, v in enumerate(values[k:k + 2])) for k in range(0, n, 2)) \
            if bits == 4 else pack({8: "B", 16: "H", 32: "I"}[bits], values)
        write("t.bin", packed)
        cast = ["--cast", "i32"] if kind in ("i4", "i8", "i16") and rng.random() < .5 else []
        args = [x for s, st in loops for x in ("--loop", f"{s}:{st}")]
        run_on("fetch", "--cpu", rng.choice(every), "--type", kind, "--unpadded", "--pad", pad,
               "--offset", offset, *cast, *args, "t.bin", "-o", "o.bin")
        want = model(values, loops, offset, 0)
        if cast:
            want = [v - (1 << bits) if v >> (bits - 1) else v for v in want]
            got = ints(read("o.bin"), 4)
        elif bits == 4:
            got = [x for b in read("o.bin") for x in (b & 15, b >> 4)][:len(want)]
        else:
            got = ints(read("o.bin"), bits // 8, False)
        if got != want:
            ok(False, f"nest {number}: {kind} {loops} offset {offset} of {n} {cast}")
    ok(True, "400 random nests")


def test_shapes():
    npy("t.npy", "|i1", (6, 10), bytes(60))
    run_on("fetch", "--cast", "i32", "t.npy", "-o", "o.npy")
    ok(npy_parts("o.npy")[:2] == ("<i4", (6, 10)), "without loops the shape stays")
    run_on("fetch", "--loop", "6:10", "--loop", "8:1", "t.npy", "-o", "o.npy")
    ok(npy_parts("o.npy")[1] == (6, 8), "[time steps, packet]")
    run_on("fetch", "--loop", "6:10", "--loop", "8:1", "--packet", "16", "t.npy", "-o", "o.npy")
    ok(npy_parts("o.npy")[1] == (3, 16), "[time steps, packet] of --packet")
    run_on("fetch", "--loop", "6:10", "--loop", "8:1", "--flits", "t.npy", "-o", "o.npy")
    ok(npy_parts("o.npy")[1] == (6, 32), "flits of 32 bytes")


def test_flits():
    write("t.bin", bytes(range(1, 49)))
    run_on("fetch", "--type", "i8", "--loop", "6:8", "--loop", "8:1", "--flits", "t.bin", "-o", "o.bin")
    want = b"".join(bytes(range(i * 8 + 1, i * 8 + 9)) + bytes(24) for i in range(6))
    ok(read("o.bin") == want, "each packet padded to 32 bytes with zeros")


def test_interleave():
    write("a.bin", bytes(range(32)))
    write("b.bin", bytes(range(100, 132)))
    s = stats("fetch", "--type", "i8", "--loop", "4:8", "--loop", "8:1", "--interleave", "b.bin",
              "a.bin", "-o", "o.bin")
    want = b"".join(bytes(range(i * 8, i * 8 + 8)) + bytes(range(100 + i * 8, 108 + i * 8))
                    for i in range(4))
    ok(read("o.bin") == want and s["fetch"]["time_steps"] == 8 and s["fetch"]["cycles"] == 8,
       "time steps alternate and double")


def test_sub_context():
    data = golden("fetch_stream_in.bin")
    write("t.bin", data)
    for options in (["--type", "i8", "--cast", "i32"], ["--type", "bf16", "--cast", "f32"],
                    ["--type", "i16"]):
        run_on("fetch", *options, "t.bin", "-o", "main.bin")
        s = stats("fetch", "--context", "sub", *options, "t.bin", "-o", "sub.bin")
        ok(read("main.bin") == read("sub.bin"), f"sub context {options}")
        ok(s["fetch"]["read_size"] * (1 if "i8" in options else 2) == 8, "sub reads 8 bytes")
    for option, rule in ((["--lookup", "bf16"], "lookup-context"),
                         (["--mask", "0:rightmost:1"], "mask-context"),
                         (["--contract", "t.bin"], "contract-context")):
        refused(USAGE, rule, "fetch", "--context", "sub", "--type", "f8e4m3", *option, "t.bin",
                "-o", "no.bin")
    refused(USAGE, "read-size", "fetch", "--device", "emu", "--context", "sub", "--type", "i4", "--cast",
            "i32", "t.bin", "-o", "no.bin")


def test_tables():
    rng = random.Random(3)
    for kind, keys in (("i8", 256), ("bf16", 65536), ("f4e2m1", 16)):
        for descr, code, width in (("|u1", "B", 1), ("<u2", "H", 2), ("<u4", "I", 4)):
            entries = [rng.randrange(1 << 8 * width) for _ in range(keys)]
            npy("table.npy", descr, (keys,), pack(code, entries))
            picks = [rng.randrange(keys) for _ in range(1000)]
            data = bytes(picks[i] | picks[i + 1] << 4 for i in range(0, 1000, 2)) if keys == 16 else \
                pack("B" if keys == 256 else "H", picks)
            write("t.bin", data)
            for level in levels():
                run_on("fetch", "--cpu", level, "--type", kind, "--table", "table.npy", "t.bin", "-o",
                       "o.bin")
                ok(ints(read("o.bin"), width, False) == [entries[p] for p in picks],
                   f"table of {keys} x {width} bytes {level}")


def f32_of_bf16(word):
    import struct
    return struct.unpack("<f", struct.pack("<I", word << 16))[0]


def test_table_functions():
    """Within half a unit in the last place of bf16 of the true value."""
    functions = {
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0,
        "tanh": math.tanh,
        "silu": lambda x: x / (1 + math.exp(-x)) if x > -700 else -0.0,
        "gelu": lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2))),
        "exp": lambda x: math.exp(x) if x < 88 else math.inf,
    }
    write("t.bin", pack("b", range(-128, 128)))
    for name, f in functions.items():
        run_on("fetch", "--type", "i8", "--table-fn", name, "--table-type", "f32", "--table-scale",
               "0.0625", "t.bin", "-o", "o.bin")
        import struct
        got = struct.unpack("<256f", read("o.bin"))
        bad = [k for k, v in zip(range(-128, 128), got)
               if abs(v - f(k / 16)) > abs(f(k / 16)) * 2 ** -20 + 1e-12]
        ok(not bad, f"{name} of i8 keys: {bad[:5]}")


def test_contract_floats():
    import struct
    rng = random.Random(5)
    m, k, n = 5, 70, 3
    a = [rng.randrange(-8, 9) for _ in range(m * k)]
    w = [rng.randrange(-8, 9) for _ in range(n * k)]
    bf16 = lambda v: struct.unpack("<I", struct.pack("<f", v))[0] >> 16
    npy("a.npy", "<u2", (m, k), pack("H", [bf16(v) for v in a]))
    npy("w.npy", "<u2", (n, k), pack("H", [bf16(v) for v in w]))
    want = [float(sum(a[i * k + j] * w[c * k + j] for j in range(k))) for i in range(m)
            for c in range(n)]
    for level in levels():
        run_on("fetch", "--cpu", level, "--type", "bf16", "--contract", "w.npy", "a.npy", "-o", "o.npy")
        descr, shape, data = npy_parts("o.npy")
        ok((descr, shape, list(struct.unpack("<15f", data))) == ("<f4", (5, 3), want),
           f"bf16 x bf16 {level}")


def test_contract_edges():
    npy("a.npy", "|i1", (3, 0), b"")
    npy("w.npy", "|i1", (2, 0), b"")
    run_on("fetch", "--contract", "w.npy", "a.npy", "-o", "o.npy")
    ok(npy_parts("o.npy") == ("<i4", (3, 2), bytes(24)), "K = 0 gives zeros")
    npy("a.npy", "|i1", (0, 4), b"")
    npy("w.npy", "|i1", (2, 4), bytes(8))
    run_on("fetch", "--contract", "w.npy", "a.npy", "-o", "o.npy")
    ok(npy_parts("o.npy") == ("<i4", (0, 2), b""), "M = 0 gives nothing")
    npy("a.npy", "|i1", (2, 4), bytes(8))
    npy("w.npy", "|i1", (0, 4), b"")
    run_on("fetch", "--contract", "w.npy", "a.npy", "-o", "o.npy")
    ok(npy_parts("o.npy") == ("<i4", (2, 0), b""), "N = 0 gives nothing")
    npy("w.npy", "|i1", (2, 5), bytes(10))
    refused(USAGE, "contract-shape", "fetch", "--device", "emu", "--contract", "w.npy", "a.npy", "-o",
            "no.bin")
    npy("w.npy", "<i2", (2, 4), bytes(16))
    refused(USAGE, "contract-pair", "fetch", "--device", "emu", "--contract", "w.npy", "a.npy", "-o",
            "no.bin")
