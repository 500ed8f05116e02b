#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
checkpatch.py KERNEL_SOURCE DIR...  -- checkpatch --strict on all .c and .h files
below DIRs, less what checkpatch.exempt lists. TAP: one line for a DIR.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
REPORT = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): "
                    r"(?:ERROR|WARNING|CHECK):(?P<type>[A-Z0-9_]+): ")


def read_exempt(path):
    rules = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            types, files, source = line.split(None, 2)
            rules.append((set(types.split(",")), re.compile(files),
                          re.compile(source)))
    return rules


def exempt(rules, report):
    m = REPORT.match(report)
    if not m:
        return False
    with open(m["file"], encoding="utf-8", errors="replace") as f:
        lines = f.readlines()
    number = int(m["line"])
    source = lines[number - 1] if 0 < number <= len(lines) else ""
    return any(m["type"] in types and files.search(m["file"]) and
               src.search(source.rstrip("\n"))
               for types, files, src in rules)


def run(ksrc, files):
    out = subprocess.run(
        ["perl", os.path.join(ksrc, "scripts", "checkpatch.pl"), "--no-tree",
         "--strict", "--terse", "--show-types", "--no-summary", "-f", *files],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return [line for line in out.stdout.splitlines() if line.strip()]


def sources(top):
    for base, dirs, names in os.walk(top):
        dirs.sort()
        for name in sorted(names):
            if name.endswith((".c", ".h")) and not name.endswith(".mod.c"):
                yield os.path.join(base, name)


def main():
    ksrc, dirs = sys.argv[1], sys.argv[2:]
    os.chdir(TOP)
    rules = read_exempt(os.path.join(HERE, "checkpatch.exempt"))
    n = failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for top in dirs:
            files = list(sources(top))
            if not files:
                continue
            chunks = [files[i:i + 6] for i in range(0, len(files), 6)]
            reports = [r for rs in pool.map(lambda c: run(ksrc, c), chunks)
                       for r in rs]
            bad = [r for r in reports if not exempt(rules, r)]
            n += 1
            failed += bool(bad)
            print(f"{'not ok' if bad else 'ok'} {n} - checkpatch --strict: "
                  f"{top}, {len(files)} files")
            for r in bad:
                print("#", r)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
