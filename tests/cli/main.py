# SPDX-License-Identifier: MIT
"""Runs the test files of this folder; the last line is "N passed, N failed, N skipped"."""
import importlib
import os
import sys
import traceback

import harness as h


def names(wanted):
    here = os.path.dirname(os.path.abspath(__file__))
    found = sorted(f[:-3] for f in os.listdir(here)
                   if f.startswith("test_") and f.endswith(".py"))
    return [n for n in found if not wanted or n in wanted]


def main():
    for name in names(sys.argv[1:]):
        print("#", name, flush=True)
        module = importlib.import_module(name)
        for key in [k for k in vars(module) if k.startswith("test_")]:
            with h.Folder():
                try:
                    getattr(module, key)()
                except Exception:  # a broken test is a failed one, not the end of all
                    h.ok(False, f"{name}.{key}: {traceback.format_exc(limit=-2)!r}")
    print(f"{h.count.passed} passed, {h.count.failed} failed, {h.count.skipped} skipped")
    return 1 if h.count.failed else 0


sys.exit(main())
