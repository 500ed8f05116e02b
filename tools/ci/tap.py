# SPDX-License-Identifier: GPL-2.0
"""What the checkers of the tree have in common: results as TAP, and trees to try them on."""

import os
import tempfile


def report(tests):
    """[(name, [problem, ...])] as TAP; the exit code."""
    failed = 0
    for n, (name, problems) in enumerate(tests, 1):
        print(f"{'not ok' if problems else 'ok'} {n} - {name}")
        for p in problems:
            print(f"# {p}")
        failed += bool(problems)
    print(f"1..{len(tests)}")
    return 1 if failed else 0


def on_tree(files, check):
    """What check(root) says of a tree of these files ({path: text}) that is wrong."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        return {k: v for k, v in check(root).items() if v}
