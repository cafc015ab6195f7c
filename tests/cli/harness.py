# SPDX-License-Identifier: MIT
"""What the tests share: running the command, files, verdicts."""
import json
import os
import shutil
import struct
import subprocess
import tempfile

NPU = os.environ["NPU"]
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
GOLDEN = os.path.abspath(os.path.join(DATA, "golden"))
CASES = os.path.abspath(os.path.join(DATA, "cases"))
REAL = os.path.abspath(os.path.join(DATA, "real"))
# NPU_TEST_DEVICE runs the suite on a device.
DEVICE = ["--device", os.environ.get("NPU_TEST_DEVICE", "emu")]

DONE, FAILED, USAGE, NO_DEVICE, PERMISSION, INPUT, FAULT = range(7)


class count:
    passed = failed = skipped = number = 0


class Folder:
    """An empty current folder for a test; what it leaves is removed."""

    def __enter__(self):
        self.back = os.getcwd()
        self.path = tempfile.mkdtemp(prefix="npu-cli-")
        os.chdir(self.path)

    def __exit__(self, *args):
        os.chdir(self.back)
        shutil.rmtree(self.path, ignore_errors=True)


def ok(good, what):
    count.number += 1
    if good:
        count.passed += 1
        print(f"ok {count.number} {what}")
    else:
        count.failed += 1
        print(f"not ok {count.number} {what}", flush=True)
    return good


def skip(what, why):
    count.number += 1
    count.skipped += 1
    print(f"ok {count.number} {what} # SKIP {why}")


class Run:
    def __init__(self, args, stdin=None, env=None, timeout=120):
        self.args = [str(a) for a in args]
        full = dict(os.environ, **(env or {}))
        p = subprocess.run([NPU] + self.args, input=stdin if stdin is not None else b"",
                           capture_output=True, env=full, timeout=timeout)
        self.rc, self.out, self.err = p.returncode, p.stdout, p.stderr.decode("utf-8", "replace")

    def __str__(self):
        return f"npu {' '.join(self.args)}: exit {self.rc}: {self.err.strip()[:400]!r}"


def npu(*args, **kw):
    return Run(args, **kw)


def works(*args, **kw):
    """Runs what must succeed; returns the run."""
    r = Run(args, **kw)
    if r.rc:
        ok(False, f"{r}")
    return r


def run_on(command, *args, **kw):
    """A command that takes --device."""
    return works(command, *DEVICE, *args, **kw)


def stats(command, *args):
    r = run_on(command, *args, "--stats", "--json")
    return json.loads(r.err.strip().splitlines()[-1]) if r.rc == 0 else {}


def levels():
    return json.loads(npu("info", "--json").out)["levels"]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def golden(name):
    return read(os.path.join(GOLDEN, name))


def case(name):
    return os.path.join(CASES, name)


def real(name):
    return os.path.join(REAL, name)


def same(got, want, what):
    """Bit for bit; the message says where they part."""
    if got == want:
        return ok(True, what)
    if len(got) != len(want):
        return ok(False, f"{what}: {len(got)} bytes, not {len(want)}")
    at = next(i for i in range(len(got)) if got[i] != want[i])
    return ok(False, f"{what}: byte {at} is {got[at]:02x}, not {want[at]:02x}")


def npy(path, descr, shape, data, fortran=False):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (
        descr, fortran, repr(tuple(shape)))
    pad = -(len(text) + 11) % 64
    head = (text + " " * pad + "\n").encode()
    return write(path, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)


def npy_parts(path):
    """(descr, shape, data) of a file that npu wrote."""
    raw = read(path)
    n = struct.unpack("<H", raw[8:10])[0]
    head = eval(raw[10:10 + n].decode(), {"__builtins__": {}})  # a literal, from the program under test
    return head["descr"], head["shape"], raw[10 + n:]


def safetensors(path, tensors, metadata=None):
    """tensors: {name: (dtype, shape, data)}"""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return write(path, struct.pack("<Q", len(text)) + text + data)


def safetensors_parts(path):
    raw = read(path)
    n = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + n])
    return {k: (v["dtype"], v["shape"], raw[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]])
            for k, v in header.items() if k != "__metadata__"}


def refused(status, part, *args, out="out.bin", **kw):
    """One line that names the problem, the exit status, and nothing left behind."""
    before = sorted(os.listdir("."))
    r = Run(args, **kw)
    lines = r.err.splitlines()
    good = r.rc == status and len(lines) == 1 and lines[0].startswith("npu: ") and part in r.err \
        and sorted(os.listdir(".")) == before
    why = ""
    if sorted(os.listdir(".")) != before:
        why = f" (left {sorted(set(os.listdir('.')) - set(before))})"
    return ok(good, f"refused, {status}, '{part}': {r}{why}")


def ints(data, width, signed=True):
    code = {1: "b", 2: "h", 4: "i", 8: "q"}[width]
    return list(struct.unpack(f"<{len(data) // width}{code if signed else code.upper()}", data))


def pack(code, values):
    values = list(values)
    return struct.pack(f"<{len(values)}{code}", *values)
