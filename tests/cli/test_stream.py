# SPDX-License-Identifier: MIT
"""decode, encode, replay: a stream can be mailed, edited, and run again."""
import json
import os
import random
import struct

from harness import (DEVICE, FAILED, FAULT, INPUT, USAGE, levels, npu, npy, ok, pack, read, real,
                     refused, run_on, same, works, write)

MODEL = real("silero_vad_v5.safetensors")


def saved(name, command, *args):
    run_on(command, *args, "-o", "out.bin", "--save-stream", name)
    return name


def samples():
    """Saved runs of every command that the tool can make."""
    npy("w.npy", "|i1", (16, 128), bytes(i % 251 for i in range(16 * 128)))
    npy("t.npy", "<u4", (256,), pack("I", range(256)))
    yield saved("pre", "preprocess", f"{MODEL}:act.encoder0_relu", "--emax", "e.bin")
    yield saved("const", "preprocess", f"{MODEL}:act.encoder0_relu", "--scale", "const")
    yield saved("sym", "preprocess", f"{MODEL}:act.stft_magnitude", "--scale", "symmetric", "--scales",
                "s.bin", "--exponents", "x.bin")
    yield saved("tiles", "preprocess", f"{MODEL}:act.stft_magnitude", "--tile", "20000")
    yield saved("cast", "fetch", f"{MODEL}:lstm.weight_ih.nvfp4", "--lookup", "f8e4m3", "--cast", "f32")
    yield saved("table", "fetch", "--table", "t.npy", real("act_int8.npy"))
    yield saved("contract", "fetch", real("act_int8.npy"), "--zero-point", "-3", "--contract", "w.npy",
                "--weight-zero-point", "5", "--k-group", "32")
    yield saved("nest", "fetch", real("act_int8.npy"), "--loop", "177:128", "--loop", "4:32", "--loop",
                "32:1", "--mask", "1:rightmost:28", "--flits", "--cast", "i32")
    yield saved("sub", "fetch", "--context", "sub", real("act_int8.npy"), "--cast", "i32")
    yield saved("two", "fetch", real("act_int8.npy"), "--loop", "177:128", "--loop", "128:1",
                "--interleave", real("act_int8.npy"))


def test_round_trips():
    for name in samples():
        works("decode", "--data", name, "-o", name + ".txt")
        works("encode", name + ".txt", "-o", name + ".2")
        same(read(name + ".2"), read(name), f"{name}: decode --data, encode")
        works("decode", "--brief", name, "-o", name + ".txt")
        works("encode", "--into", name, name + ".txt", "-o", name + ".2")
        same(read(name + ".2"), read(name), f"{name}: decode, encode --into")


def test_replay():
    for name in samples():
        for level in levels():
            r = run_on("replay", "--cpu", level, "--json", name)
            j = json.loads(r.out)
            ok(j["different"] == 0 and j["jobs"] >= 1, f"{name}: the same again {level}")
        run_on("replay", name, "-o", "again.bin")
        ok(len(read("again.bin")) > 0, f"{name}: outputs")


def test_difference_is_found():
    name = saved("pre", "preprocess", f"{MODEL}:act.encoder0_relu")
    data = bytearray(read(name))
    data[-9] ^= 0x40
    write("bad", bytes(data))
    r = npu("replay", *DEVICE, "bad")
    ok(r.rc == FAILED and "differ" in r.err and "address 0x" in r.err, f"a difference: {r}")


def test_edited():
    """A stream is changed by hand and run with the same buffers."""
    write("in.bin", bytes(range(64)))
    name = saved("run", "fetch", "--type", "i8", "--cast", "i32", "in.bin")
    text = works("decode", "--brief", name).out.decode()
    ok("cast_type=i32" in text and "src_type=i8" in text and "sink=memory" in text,
       "fields have symbolic names")
    ok("fetch i8" in text and "cast to i32" in text, "and words")
    write("edited", text.replace("sink=memory", "sink=memory offset=-0").encode())
    works("encode", "--into", name, "edited", "-o", "edited.npus")
    run_on("replay", "edited.npus", "-o", "o.bin")
    ok(read("o.bin")[:256] == pack("i", range(64)), "an edited stream runs")
    write("broken", text.replace("cast_type=i32", "cast_type=f32").encode())
    works("encode", "--into", name, "broken", "-o", "broken.npus")
    refused(FAULT, "cast-pair", "replay", *DEVICE, "broken.npus")
    j = json.loads(npu("replay", *DEVICE, "--json", "broken.npus").out)
    ok(j["results"][0]["rule"] == "cast-pair" and j["results"][0]["status"] == 2, "the fault's record")
    write("away", text.replace("dst=0x", "dst=0x70").encode())
    works("encode", "--into", name, "away", "-o", "away.npus")
    refused(FAULT, "address-unmapped", "replay", *DEVICE, "away.npus")


def header(size, count, magic=0x3155504e, major=1, minor=0):
    return struct.pack("<IHHII", magic, major, minor, size, count)


def test_bare_streams():
    write("in.bin", bytes(range(64)))
    write("t", b"""# by hand
fetch src=0x10000 src_type=i8 loops=8:8,8:1 packet_size=8 read_size=8 cast_type=i32 sink=memory dst=0x20000
nop
barrier
""")
    works("encode", "t", "-o", "s")
    ok(len(read("s")) == 16 + read_size("s"), "a header and three commands")
    run_on("replay", "--ring", "fetch-main", "--buffer", "0x10000:64:in.bin", "--buffer",
           "0x20000:256", "s", "-o", "o.bin")
    ok(read("o.bin") == pack("i", range(64)), "a bare stream runs with buffers named")
    refused(USAGE, "--ring", "replay", *DEVICE, "s")
    refused(USAGE, "--buffer", "replay", *DEVICE, "--ring", "fetch-main", "--buffer", "0x10001:64", "s")
    refused(FAULT, "address-unmapped", "replay", *DEVICE, "--ring", "fetch-main", "s")
    refused(FAULT, "command-ring", "replay", *DEVICE, "--ring", "preprocess", "--buffer",
            "0x10000:64", "--buffer", "0x20000:256", "s")


def read_size(name):
    return struct.unpack("<IHHII", read(name)[:16])[3] - 16


def round_trip(data, what):
    write("s", data)
    works("decode", "s", "-o", "t")
    works("encode", "t", "-o", "s2")
    if read("s2") != data:
        ok(False, f"{what}: {data.hex()[:200]} became {read('s2').hex()[:200]}\n{read('t').decode()[:600]}")
        return False
    return True


SIZES = {1: 8, 2: 8, 3: 232, 4: 72, 5: 24, 6: 16, 7: 48}


def test_any_bytes():
    """Whatever the bytes are, the text gives them back."""
    rng = random.Random(7)
    good = True
    for n in list(range(0, 40)) + [200, 1000]:
        good &= round_trip(bytes(rng.randrange(256) for _ in range(n)), f"{n} random bytes")
    for number in range(60):
        body = b""
        count = rng.randrange(4)
        for _ in range(count):
            op = rng.choice(list(SIZES))
            sparse = rng.random() < .5
            rest = bytes(rng.randrange(256) if not sparse or rng.random() < .1 else 0
                         for _ in range(SIZES[op] - 4))
            body += struct.pack("<HH", op, SIZES[op]) + rest
        if rng.random() < .3:
            body = body[:rng.randrange(len(body) + 1)]
        head = header(16 + len(body), count) if rng.random() < .7 else \
            header(rng.randrange(100), rng.randrange(9), rng.randrange(1 << 32), 3, 77)
        good &= round_trip(head + body, f"stream {number}")
    ok(good, "streams of any kind come back bit for bit")


def test_bad_texts():
    for text, part in (("frobnicate a=1", "frobnicate"), ("fetch nosuch=1", "nosuch"),
                       ("fetch src", "key=value"), ("fetch src=zzz", "zzz"),
                       ("fetch src_type=i99", "i99"), ("fetch packet_size=4294967296", "does not fit"),
                       ("fetch zero_point=40000", "does not fit"), ("fetch src=1 src=2", "twice"),
                       ("fetch size=1,2,3,4,5,6,7,8,9", "more than 8"), ("fetch loops=1", "SIZE:STRIDE"),
                       ("stream version=1", "MAJOR.MINOR"), ("stream\nstream", "second"),
                       ("raw 0", "hex"), ("raw zz", "hex"), ("job ring=gpu", "ring="),
                       ("data 00", "buffer"), ("buffer address=0x1000 size=1", "between"),
                       ("job ring=fetch-main\nbuffer address=0x1000 size=1\ndata 0000", "more than 1"),
                       ("job ring=fetch-main\nbuffer address=0x1001 size=1", "whole page")):
        write("t", text.encode())
        refused(INPUT, part, "encode", "t", "-o", "o")
    write("t", b"nop\n\0")
    refused(INPUT, "zero byte", "encode", "t", "-o", "o")
    write("t", b"nop\nnop\nfetch x=1\n")
    refused(INPUT, "t:3:", "encode", "t", "-o", "o")


def test_damaged_files():
    name = saved("run", "fetch", "--cast", "i32", real("act_int8.npy"))
    data = read(name)
    for n in (9, 40, 200, 400, len(data) - 8):
        write("cut", data[:n])
        refused(INPUT, "damaged", "decode", "cut")
        refused(INPUT, "damaged", "replay", *DEVICE, "cut")
    rng = random.Random(11)
    for _ in range(60):
        bad = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            bad[rng.randrange(8, 700)] = rng.randrange(256)
        write("bad", bytes(bad))
        r = npu("replay", *DEVICE, "--threads", "1", "bad")
        if r.rc not in (0, FAILED, USAGE, INPUT, FAULT):
            ok(False, f"damaged file: {r}")
    ok(True, "damaged files end in a message")


def test_no_jobs():
    npy("empty.npy", "<f4", (0, 3), b"")
    name = saved("none", "fetch", "--cast", "bf16", "empty.npy")
    ok(read(name) == b"NPUSAVE1", "a run without a job saves none")
    ok(json.loads(run_on("replay", "--json", name).out)["jobs"] == 0, "and replays none")


def test_large_buffer():
    """A buffer may be larger than the memory: it costs what is used of it."""
    write("t", b"job ring=fetch-main\nbuffer address=0x100000 size=17179869184 flags=rdonly\ndata 0102"
               b"\nbuffer address=0x500000000 size=4096 flags=output\nstream version=1.0\n"
               b"fetch src=0x100000 src_type=i8 loops=8:1 packet_size=8 read_size=8 sink=memory "
               b"dst=0x500000000\n")
    works("encode", "t", "-o", "t.npus")
    r = npu("replay", *DEVICE, "t.npus", "-o", "o.bin")
    ok(r.rc in (0, INPUT) and (r.rc or read("o.bin")[:8] == b"\1\2" + bytes(6)), f"16 GiB: {r}")


def test_json():
    name = saved("run", "fetch", "--cast", "i32", real("act_int8.npy"))
    j = json.loads(works("decode", "--json", name).out)
    ok(j[0]["ring"] == "fetch-main" and j[0]["commands"][0]["command"] == "fetch" and
       j[0]["commands"][0]["src_type"] == "i8" and j[0]["commands"][0]["cast_type"] == "i32",
       "a stream as JSON")


def test_pipes():
    write("t", b"nop\nbarrier\n")
    r = npu("encode", "-", stdin=b"nop\nbarrier\n")
    works("encode", "t", "-o", "s")
    ok(r.rc == 0 and r.out == read("s"), "encode from and to a pipe")
    r = npu("decode", "-", stdin=r.out)
    ok(r.rc == 0 and b"barrier" in r.out, "decode from a pipe")
    ok(not os.path.exists("-"), "- is no file")
