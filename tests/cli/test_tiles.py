# SPDX-License-Identifier: MIT
"""Large tensors go in tiles: the same result as in one piece, memory bounded, nothing half-written."""
import os
import random
import signal
import subprocess
import time

from harness import (DEVICE, NPU, levels, npu, npy, ok, pack, read, run_on, same, stats, write)


def noise(n, seed=1):
    return random.Random(seed).randbytes(n)


def finite_bf16(n, seed=1):
    raw = bytearray(noise(2 * n, seed))
    for i in range(1, 2 * n, 2):
        raw[i] &= 0xbf        # exponents below 128: no infinity, no NaN
    return bytes(raw)


def test_preprocess_tiles():
    """Rows that end in partial blocks, tiles of rows and of parts of rows, with all side files."""
    for rows, cols in ((50, 129), (3, 5000), (1, 40000), (700, 7), (1, 1), (5, 32)):
        npy("in.npy", "<u2", (rows, cols), noise(rows * cols * 2))
        for mode in (["--scale", "symmetric", "--scales", "S"], ["--to", "fixed27"],
                     ["--to", "fixed27-packed"], []):
            results = []
            for tile in ("1", "3000", "4000000000"):
                side = ["--emax", "E.bin", "--exponents", "X.bin"]
                m = [x if x != "S" else "S.bin" for x in mode]
                s = stats("preprocess", "--type", "bf16", "--tile", tile, *m, *side, "in.npy", "-o",
                          "out.bin")
                sides = [read(f) for f in ("E.bin", "X.bin") + (("S.bin",) if "S" in mode else ())]
                results.append((read("out.bin"), sides, s.get("nonfinite_blocks"),
                                s.get("first_nonfinite_block"), s.get("saturated"),
                                s.get("elements_in"), s.get("elements_out")))
            ok(results[0] == results[1] == results[2], f"[{rows}, {cols}] {mode}: tiles change nothing")


def test_fetch_tiles():
    data = noise(30001)
    write("in.bin", data)
    for options in (["--type", "i4", "--cast", "i32"], ["--type", "i8", "--cast", "i32"],
                    ["--type", "f4e2m1", "--lookup", "f8e4m3", "--cast", "f32"],
                    ["--type", "f8e5m2", "--lookup", "bf16"], ["--type", "i8"]):
        run_on("fetch", *options, "in.bin", "-o", "whole.bin")
        for tile in ("1", "5000", "77777"):
            run_on("fetch", "--tile", tile, *options, "in.bin", "-o", "out.bin")
            same(read("out.bin"), read("whole.bin"), f"{options} in tiles of {tile}")


def test_contract_tiles():
    npy("a.npy", "|i1", (301, 33), noise(301 * 33))
    npy("w.npy", "|i1", (17, 33), noise(17 * 33, 2))
    for options in ([], ["--zero-point", "7"], ["--k-group", "8"],
                    ["--type", "i4", "--unpacked", "--weight-type", "i4"]):
        if "i4" in options:         # rows of odd length, in half bytes
            npy("a.npy", "|i1", (301, 33), bytes((b & 15) - 8 & 255 for b in noise(301 * 33)))
            npy("w.npy", "|u1", (17, 33), bytes((b & 15) - 8 & 255 for b in noise(17 * 33, 2)))
        run_on("fetch", *options, "--contract", "w.npy", "a.npy", "-o", "whole.bin")
        for tile in ("1", "4000"):
            run_on("fetch", "--tile", tile, *options, "--contract", "w.npy", "a.npy", "-o", "out.bin")
            same(read("out.bin"), read("whole.bin"), f"contract {options} in tiles of {tile}")


def test_threads_and_levels():
    """Neither threads nor levels change a bit."""
    n = 3 << 20
    write("in.bin", finite_bf16(n))
    run_on("preprocess", "--cpu", "scalar", "--threads", "1", "--type", "bf16", "in.bin", "-o", "a.bin")
    want = read("a.bin")
    for level in levels():
        for threads in ("1", "2", "7"):
            run_on("preprocess", "--cpu", level, "--threads", threads, "--type", "bf16", "in.bin", "-o",
                   "b.bin")
            same(read("b.bin"), want, f"{level}, {threads} threads")
    for level in levels():
        r = npu("fetch", "--type", "i8", "--cast", "i32", *DEVICE, "in.bin", "-o", "c.bin",
                env={"NPU_CPU": level, "NPU_THREADS": "3"})
        ok(r.rc == 0, f"NPU_CPU={level} NPU_THREADS=3: {r}")


def peak_rss(args):
    """Peak resident bytes of the process and its exit status."""
    p = subprocess.Popen([NPU] + args, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = status
    return usage.ru_maxrss * 1024, status


def test_memory():
    """A 256 MiB tensor with a small multiple of the tile size."""
    with open("big.bin", "wb") as f:
        block = finite_bf16(1 << 19)
        for _ in range(256):
            f.write(block)
    rss, status = peak_rss(["preprocess", *DEVICE, "--type", "bf16", "big.bin", "-o", "out.bin"])
    ok(status == 0 and rss < 64 << 20, f"256 MiB with {rss >> 20} MiB of memory")
    ok(os.path.getsize("out.bin") == 1 << 27, "all of it")
    with open("out.bin", "rb") as f:
        first = f.read(1 << 19)
        same_blocks = all(f.read(1 << 19) == first for _ in range(255))
    ok(same_blocks, "each part alike")


def test_signals():
    """A run that is ended leaves nothing."""
    with open("big.bin", "wb") as f:
        f.truncate(1 << 30)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        p = subprocess.Popen([NPU, "preprocess", *DEVICE, "--cpu", "scalar", "--threads", "1", "--type",
                              "bf16", "big.bin", "-o", "out.bin", "--emax", "e.bin"],
                             stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(0.3)
        os.killpg(p.pid, sig)
        p.wait()
        ok(p.returncode == -sig and os.listdir(".") == ["big.bin"],
           f"{sig.name}: {p.returncode}, {os.listdir('.')}")


def test_pipes():
    data = noise(100000)
    r = npu("fetch", *DEVICE, "--type", "i8", "--cast", "i32", "-", "-o", "-", stdin=data)
    write("in.bin", data)
    run_on("fetch", "--type", "i8", "--cast", "i32", "in.bin", "-o", "out.bin")
    ok(r.rc == 0, f"from standard input to standard output: {r}")
    same(r.out, read("out.bin"), "- is standard input and output, raw")


def test_large_offsets():
    """Beyond 4 GiB of elements in one row (sparse file)."""
    with open("big.bin", "wb") as f:
        f.truncate((1 << 29) + 32)
        f.seek((1 << 29) + 16)
        f.write(pack("H", [0x3f80]))
    run_on("preprocess", "--type", "bf16", "big.bin", "-o", "out.bin")
    with open("out.bin", "rb") as f:
        f.seek((1 << 28) + 8)
        ok(f.read(1) == b"\x40" and os.path.getsize("out.bin") == (1 << 28) + 16, "the last block is right")


def on_terminal(args):
    """What a terminal on standard error sees, and the exit status."""
    master, slave = os.openpty()
    p = subprocess.Popen([NPU] + args, stderr=slave, stdin=subprocess.DEVNULL)
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:      # the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(master)
    return seen, p.wait()


def test_progress_bar():
    """A bar on a terminal, wiped when the work is done; none with -q."""
    with open("big.bin", "wb") as f:
        f.truncate(3 << 29)
    args = ["preprocess", *DEVICE, "--cpu", "scalar", "--threads", "1", "--type", "bf16", "big.bin", "-o",
            "/dev/null", "--out-format", "raw"]
    seen, status = on_terminal(args)
    ok(status == 0 and b"\r[#" in seen and b"MB/s" in seen, f"a bar: {seen[:60]!r}")
    ok(seen.endswith(b"\r\x1b[K"), f"which is wiped: {seen[-20:]!r}")
    seen, status = on_terminal(args + ["-q"])
    ok(status == 0 and seen == b"", f"none with -q: {seen[:60]!r}")
