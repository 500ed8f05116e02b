#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
rules.py [TOP]  -- has every rule of the protocol a test that exists?

Documentation/metaroce-protocol.rst states the rules, MR-001 and so on; a table of
Documentation/testing.rst says for each what fails without it. A row's last cell is
one or more of these, separated by semicolons:

    SUITE test_a, test_b    core/tests/SUITE_kunit.c has these cases, registered
    selftest 25-retry       selftests/25-retry.sh
    sim loss                tools/sim/scenarios/loss.scn
    fuzz conn_fuzz          tools/fuzz/conn_fuzz.c
    none: why

Output is TAP, one line for a rule, and one for what is in no rule's row.
"""

import os
import re
import sys

import tap

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SPEC = "Documentation/metaroce-protocol.rst"
TABLE = "Documentation/testing.rst"
HEADING = "Which rule is proven where"
SUITES = "drivers/infiniband/sw/metaroce/core/tests"
FILES = {
    "selftest": "selftests/{}.sh",
    "sim": "tools/sim/scenarios/{}.scn",
    "fuzz": "tools/fuzz/{}.c",
}

RULE = re.compile(r"^\*\*(MR-\d+)\.\*\*", re.M)
CASE = re.compile(r"\bKUNIT_CASE(?:_PARAM)?\((\w+)")


def read(top, path):
    try:
        with open(os.path.join(top, path), encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


def rows(text):
    """[(rule, cells)] of the table; a list-table: "* - " begins a row, "- " a cell."""
    part = text.split("\n" + HEADING + "\n", 1)
    if len(part) < 2:
        return []
    found = []
    for line in part[1].splitlines()[1:]:
        if re.match(r"^[=~^-]{3,}$", line):
            break               # the next section's heading
        m = re.match(r"^   (\*| ) - (.*)$", line)
        if m and m.group(1) == "*":
            found.append([m.group(2).strip()])
        elif m and found:
            found[-1].append(m.group(2).strip())
        elif found and line.startswith("     "):
            found[-1][-1] += " " + line.strip()
    return [(r[0], r) for r in found if r[0].startswith("MR-")]


def check_tests(top, cell):
    """What is wrong with a row's last cell, in words."""
    problems = []
    for entry in filter(None, (e.strip() for e in cell.split(";"))):
        if entry.startswith("none:"):
            if not entry[5:].strip():
                problems.append("none, and not why")
            continue
        kind, _, names = entry.partition(" ")
        names = [n.strip() for n in names.split(",") if n.strip()]
        if not names:
            problems.append(f"'{entry}' names no test")
        if kind in FILES:
            for n in names:
                if read(top, FILES[kind].format(n)) is None:
                    problems.append(f"no {FILES[kind].format(n)}")
            continue
        path = f"{SUITES}/{kind}_kunit.c"
        code = read(top, path)
        if code is None:
            problems.append(f"no {path}")
            continue
        cases = set(CASE.findall(code))
        problems += [f"{path} has no case {n}" for n in names
                     if n not in cases]
    return problems


def check(top):
    """{rule: [problem, ...]}, and under "" what belongs to none."""
    spec = RULE.findall(read(top, SPEC) or "")
    results = {rule: [] for rule in spec}
    results[""] = []
    if not spec:
        results[""].append(f"{SPEC} has no rules")
    for rule in sorted({r for r in spec if spec.count(r) > 1}):
        results[rule].append("stated twice")
    seen = set()
    for rule, cells in rows(read(top, TABLE) or ""):
        if rule not in results:
            results[""].append(f"a row for {rule}, which is no rule")
            continue
        if rule in seen:
            results[rule].append("two rows")
        seen.add(rule)
        if len(cells) != 3 or not cells[2]:
            results[rule].append("its row does not say what tests it")
            continue
        results[rule] += check_tests(top, cells[2])
    for rule in spec:
        if rule not in seen:
            results[rule].append(f"no row in {TABLE}")
    return results


def main():
    results = check(sys.argv[1] if len(sys.argv) > 1 else TOP)
    return tap.report([
        (f"rules: {rule} has a test" if rule else "rules: every row has a rule",
         problems) for rule, problems in sorted(results.items())])


if __name__ == "__main__":
    sys.exit(main())
