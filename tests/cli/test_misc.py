# SPDX-License-Identifier: MIT
"""info, doctor, inspect, top, help, versions, file formats."""
import json
import os
import re

from harness import (DEVICE, NO_DEVICE, PERMISSION, USAGE, npu, npy, npy_parts, ok, pack, read, real, run_on,
                     safetensors, safetensors_parts, stats, works, write)

COMMANDS = "info doctor inspect preprocess fetch decode encode replay bench top".split()


def test_help():
    out = npu("-h").out.decode()
    ok(all(c in out for c in COMMANDS), "npu -h lists the commands")
    for c in COMMANDS:
        r = npu(c, "-h")
        ok(r.rc == 0 and c in r.out.decode() and not r.err, f"npu {c} -h")
        ok(all(len(line) <= 100 for line in r.out.decode().splitlines()), f"npu {c} -h fits the terminal")
    ok("never" in npu("fetch", "-h").out.decode() or "not applied" in npu("fetch", "-h").out.decode(),
       "help says that block scales are not applied")


def test_version():
    for args in (["--version"], ["info", "--version"], ["fetch", "--version"]):
        r = npu(*args)
        ok(r.rc == 0 and re.fullmatch(r"npu \d+\.\d+\.\d+\n", r.out.decode()), f"{args}: {r.out}")


def test_info():
    j = json.loads(works("info", "--json").out)
    ok(re.fullmatch(r"\d+\.\d+\.\d+", j["version"]) and j["level"] in j["levels"] and
       j["levels"][0] == "scalar", "version and levels")
    emu = [d for d in j["devices"] if d["name"] == "emu"]
    ok(len(emu) == 1 and set(emu[0]["engines"]) == {"fetch-main", "fetch-sub", "preprocess"} and
       emu[0]["limits"]["page_size"] == 4096 and emu[0]["driver"] and emu[0]["path"] == "",
       "the emulation is listed")
    for level in j["levels"]:
        ok(json.loads(works("info", "--json", "--cpu", level).out)["level"] == level, f"--cpu {level}")
        r = npu("info", "--json", env={"NPU_CPU": level})
        ok(json.loads(r.out)["level"] == level, f"NPU_CPU={level}")
    ok("emu" in works("info").out.decode(), "for people")
    ok(npu("info", "--device", "/dev/accel/accel77").rc == NO_DEVICE, "no such device")
    ok(npu("info", "--cpu", "neon" if "sse4" in j["levels"] else "sse4").rc == USAGE,
       "a level that this CPU lacks")


def test_doctor():
    r = npu("doctor", "--json")
    j = json.loads(r.out)
    ok(isinstance(j["ok"], bool) and all({"name", "ok", "detail", "remedy"} <= set(c) for c in j["checks"]),
       "the checks")
    ok(all(c["ok"] or c["remedy"] for c in j["checks"]), "a remedy for each that fails")
    ok(r.rc == (0 if j["ok"] else r.rc) and r.rc in (0, NO_DEVICE, PERMISSION), f"exit status {r.rc}")
    text = npu("doctor").out.decode().splitlines()
    ok(len(text) == len(j["checks"]), "one line each")


def test_top_without_device():
    if os.path.exists("/sys/class/accel") and os.listdir("/sys/class/accel"):
        return
    r = npu("top", "--count", "1")
    ok(r.rc == NO_DEVICE and len(r.err.splitlines()) == 1, f"{r}")


def test_inspect():
    j = json.loads(works("inspect", "--json", real("silero_vad_v5.safetensors")).out)
    t = {x["name"]: x for x in j["tensors"]}
    ok(j["format"] == "safetensors" and len(t) == 10 and t["act.stft_magnitude"]["type"] == "bf16" and
       t["act.stft_magnitude"]["shape"] == [177, 129] and t["act.stft_magnitude"]["bytes"] == 45666,
       "safetensors")
    raw = read(real("silero_vad_v5.safetensors"))
    a = t["lstm.weight_hh.f8e5m2"]
    npy("x.npy", "<f4", (2, 3), bytes(24))
    j = json.loads(works("inspect", "--json", "x.npy").out)
    ok(j["format"] == "npy" and j["tensors"][0]["type"] == "f32" and j["tensors"][0]["shape"] == [2, 3] and
       j["tensors"][0]["offset"] == os.path.getsize("x.npy") - 24, "npy")
    ok(a["offset"] + a["bytes"] <= len(raw), "offsets are of the file")
    ok("177 x 129" in works("inspect", real("silero_vad_v5.safetensors")).out.decode(), "for people")


def test_stats():
    s = stats("fetch", real("act_int8.npy"), "--cast", "i32", "-o", "o.bin")
    keys = {"device", "level", "elements_in", "elements_out", "cycles", "saturated", "nonfinite_blocks",
            "first_nonfinite_block", "seconds", "warnings", "fetch"}
    ok(keys <= set(s) and s["elements_in"] == s["elements_out"] == 177 * 128, f"the record: {sorted(s)}")
    ok({"time_steps", "packet_size", "max_access_size", "read_size", "reads_per_packet", "cycles"} <=
       set(s["fetch"]), "and the sequencer's part")
    r = npu("fetch", *DEVICE, real("act_int8.npy"), "--cast", "i32", "-o", "o.bin", "--stats")
    ok("cycles" in r.err and "time" in r.err and not r.out, "for people, on standard error")
    r = npu("fetch", "--cast", "i32", real("act_int8.npy"), "-o", "o.bin")
    ok("emulation" in r.err or "accel" in r.err, f"auto says which device: {r.err}")
    ok(npu("fetch", "-q", "--cast", "i32", real("act_int8.npy"), "-o", "o.bin").err == "", "-q says nothing")
    ok("\r" not in r.err and "\033" not in r.err, "no progress bar in a pipe")


def test_mask_warning():
    npy("a.npy", "|i1", (2, 8), bytes(range(16)))
    npy("w.npy", "|i1", (1, 8), bytes([1] * 8))
    s = stats("fetch", "a.npy", "--loop", "2:8", "--loop", "8:1", "--mask", "0:rightmost:4", "--zero-point",
              "3", "--contract", "w.npy", "-o", "o.bin")
    ok(len(s.get("warnings", [])) == 1, "a mask before a non-zero zero point is warned of")


def test_formats():
    """What every ending means, both ways."""
    npy("a.npy", "<f4", (4, 8), pack("f", range(32)))
    run_on("fetch", "--cast", "bf16", "a.npy", "-o", "b.npy")
    ok(npy_parts("b.npy")[:2] == ("<u2", (4, 8)), "bf16 in npy is <u2")
    run_on("fetch", "--cast", "bf16", "a.npy", "-o", "b.safetensors:x")
    ok(safetensors_parts("b.safetensors")["x"][:2] == ("BF16", [4, 8]), "BF16 in safetensors")
    run_on("fetch", "--type", "bf16", "--cast", "f32", "b.npy", "-o", "c.npy")
    run_on("fetch", "--cast", "f32", "b.safetensors", "-o", "d.dat", "--out-format", "raw")
    ok(npy_parts("c.npy")[2] == read("d.dat") == pack("f", range(32)), "and back")
    run_on("fetch", "--in-format", "raw", "--type", "f32", "--cast", "bf16", "d.dat", "-o", "e.bin")
    ok(read("e.bin") == npy_parts("b.npy")[2], "--in-format raw")
    write("n.bin", bytes([0x21, 0x43]))
    run_on("fetch", "--type", "i4", "--nibble-order", "high", "--cast", "i32", "n.bin", "-o", "o.bin")
    ok(read("o.bin") == pack("i", [2, 1, 4, 3]), "--nibble-order high")
    npy("u.npy", "|i1", (4,), pack("b", [-8, 7, -1, 0]))
    run_on("fetch", "--type", "i4", "--unpacked", "--cast", "i32", "u.npy", "-o", "o.bin")
    ok(read("o.bin") == pack("i", [-8, 7, -1, 0]), "--unpacked")
    safetensors("u8.safetensors", {"x": ("U8", [2, 2], bytes([0x21, 0x43, 0x65, 0x87]))})
    run_on("fetch", "--type", "f4e2m1", "--lookup", "f8e4m3", "u8.safetensors", "-o", "o.npy")
    ok(npy_parts("o.npy")[1] == (2, 4), "a 4-bit type over bytes doubles the last axis")
