#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Does rules.py see each kind of gap, and nothing else? TAP."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rules  # noqa: E402
import tap  # noqa: E402

SPEC = "**MR-001.** One.\n\n**MR-002.** Two, as MR-001 says.\n"
TABLE = """
Which rule is proven where
==========================

.. list-table::

   * - rule
     - about
     - tests
   * - MR-001
     - identity
     - judge test_tag,
       test_old; selftest 10-one; sim loss
   * - MR-002
     - what only verbs do
     - none: by reading; fuzz conn_fuzz

Writing tests
=============
   * - MR-009
"""
CLEAN = {
    rules.SPEC: SPEC,
    rules.TABLE: TABLE,
    rules.SUITES + "/judge_kunit.c":
        "static void test_lost(void)\n"
        "\tKUNIT_CASE(test_tag),\n\tKUNIT_CASE_PARAM(test_old, gen),\n",
    "selftests/10-one.sh": "\n",
    "tools/sim/scenarios/loss.scn": "\n",
    "tools/fuzz/conn_fuzz.c": "\n",
}

# (name, file, what, by what, the rule that must fail)
BAD = [
    ("a rule has no row", rules.SPEC, "Two", "Two.\n\n**MR-003.** Three",
     "MR-003"),
    ("a row has no rule", rules.SPEC, "**MR-002.**", "MR-002:", ""),
    ("there are no rules", rules.SPEC, SPEC, "", ""),
    ("a rule is stated twice", rules.SPEC, "Two", "\n**MR-001.** Three",
     "MR-001"),
    ("a rule has two rows", rules.TABLE, "- MR-002", "- MR-001\n     - x\n"
     "     - none: x\n   * - MR-002", "MR-001"),
    ("there is no table", rules.TABLE, "proven where", "proved", "MR-001"),
    ("a case is not there", rules.TABLE, "test_old", "test_new", "MR-001"),
    ("a case is not registered", rules.TABLE, "test_old", "test_lost",
     "MR-001"),
    ("a suite is not there", rules.TABLE, "judge", "jury", "MR-001"),
    ("a selftest is not there", rules.TABLE, "10-one", "10-two", "MR-001"),
    ("a scenario is not there", rules.TABLE, "sim loss", "sim los", "MR-001"),
    ("a fuzzer is not there", rules.TABLE, "conn_fuzz", "con_fuzz", "MR-002"),
    ("a suite is named alone", rules.TABLE, "sim loss", "judge", "MR-001"),
    ("none has no reason", rules.TABLE, "none: by reading", "none:", "MR-002"),
    ("a row says nothing", rules.TABLE, "     - none: by reading; fuzz "
     "conn_fuzz\n", "", "MR-002"),
]


def main():
    got = tap.on_tree(CLEAN, rules.check)
    tests = [("rules: a clean table passes", [got] if got else [])]
    for name, path, what, by, want in BAD:
        files = dict(CLEAN)
        assert what in files[path], name
        files[path] = files[path].replace(what, by)
        got = tap.on_tree(files, rules.check)
        tests.append((f"rules: fails when {name}",
                      [] if want in got else [got]))
    return tap.report(tests)


if __name__ == "__main__":
    sys.exit(main())
