#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
layers.py [DRIVER_DIR]  -- do the driver's rooms keep to their doors?

    ctl -> verbs -> core -> wire -> core/platform.h      ctl -> net -> core

verbs/ and net/ do not know each other. wire/ and core/ are also built in
userspace, so they name nothing of the kernel's but through platform.h. Output
is TAP, one line for a rule and room.
"""

import os
import re
import sys

import tap

DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                      "drivers", "infiniband", "sw", "metaroce")

# From which rooms a room may include. "top" is metaroce.h, compat.h and what
# else lies beside main.c; main.c itself may include anything.
DOORS = {
    "wire": {"wire"},
    "core": {"core", "wire"},
    "tests": {"tests", "core", "wire"},
    "verbs": {"verbs", "core", "wire", "top"},
    "net": {"net", "core", "wire", "top"},
    "ctl": {"ctl", "verbs", "net", "core", "wire", "top"},
    "top": {"top", "core", "wire"},
    "main": {"top", "ctl", "verbs", "net", "core", "wire"},
}

# Files that a room keeps to itself
PRIVATE = re.compile(r"(^|/)internal\.h$")

# In the rooms that are built in userspace too
PURE = ("wire", "core")
PLATFORM = "core/platform.h"
FORBIDDEN = re.compile(r"""\b(
    \w*skb\w* | sk_buff\w* | net_device | netdev_\w+ | dev_net | sockaddr\w* |
    struct\s+(socket|sock|net) | ib_\w+ | IB_\w+ | rdma_\w+ | uverbs_\w+ |
    hrtimer\w* | timer_list | mod_timer | del_timer\w* | timer_setup |
    jiffies\w* | HZ | ktime_\w+ | local_clock | get_cycles |
    spin_\w+ | spinlock_t | raw_spin\w+ | mutex\w* | rwlock_t |
    read_lock\w* | write_lock\w* | seqlock_t | rcu_\w+ | __rcu | call_rcu |
    local_bh_\w+ | local_irq_\w+ | preempt_\w+ |
    work_struct | delayed_work | queue_work\w* | schedule_work | schedule(?=\s*\() |
    tasklet_\w+ | napi_\w+ | kthread_\w+ | wait_event\w* | wake_up\w* |
    struct\s+completion | msleep | usleep_range | fsleep | cond_resched | might_sleep |
    current | copy_to_user | copy_from_user | vmalloc\w*
)\b""", re.VERBOSE)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def strip(text, strings=True):
    """Without comments and, if so asked, strings; lines keep their numbers."""
    def repl(match):
        tok = match.group(0)
        if tok[0] in "\"'" and not strings:
            return tok
        return " " + "\n" * tok.count("\n")
    return TOKEN.sub(repl, text)


def room_of(path):
    """The room of a file, given relative to the driver's directory."""
    parts = path.split("/")
    if parts[0] == "core" and "tests" in parts[1:-1]:
        return "tests"
    if len(parts) > 1:
        return parts[0] if parts[0] in DOORS else None
    return "main" if path == "main.c" else "top"


def sources(root):
    for base, dirs, files in os.walk(root):
        dirs.sort()
        for name in sorted(files):
            if name.endswith((".c", ".h")) and not name.endswith(".mod.c"):
                path = os.path.relpath(os.path.join(base, name), root)
                yield path.replace(os.sep, "/")


def check_file(root, path):
    """Problems of one file, as (rule, line, text)."""
    room = room_of(path)
    if room is None:
        return [("door", 1, f"a room that layers.py does not know: {path}")]
    with open(os.path.join(root, path), encoding="utf-8") as f:
        text = f.read()
    found = []
    code = strip(text, strings=False)
    for m in INCLUDE.finditer(code):
        line = code.count("\n", 0, m.start(2)) + 1
        kind, name = m.groups()
        if kind == "<":
            if room in PURE and path != PLATFORM:
                found.append(("pure", line, f"includes <{name}>; {room}/ takes "
                              "everything from core/platform.h"))
            continue
        if path == PLATFORM and name.startswith("mroce_shim"):
            continue        # userspace's half of the platform
        target = resolve(root, path, name)
        if target is None:
            found.append(("door", line, f'includes "{name}", which is no file '
                          "of the driver"))
            continue
        to = room_of(target)
        if target == PLATFORM and room == "wire":
            continue
        if to not in DOORS[room]:
            found.append(("door", line, f'includes "{name}": no door from '
                          f"{room} to {to}"))
        elif PRIVATE.search(target) and to != room and room != "tests":
            found.append(("door", line, f'includes "{name}", private to {to}/'))
    if room in PURE and path != PLATFORM:
        code = strip(text)
        for m in FORBIDDEN.finditer(code):
            line = code.count("\n", 0, m.start()) + 1
            found.append(("pure", line, f"'{m.group(0)}' is the kernel's; it "
                          f"has no place in {room}/"))
    return found


def resolve(root, path, name):
    """An include's file: beside the includer, or from the driver's top."""
    for base in (os.path.dirname(path), ""):
        rel = os.path.normpath(os.path.join(base, name)).replace(os.sep, "/")
        if os.path.isfile(os.path.join(root, rel)):
            return rel
    return None


def check(root):
    """Results as {(rule, room): [problem, ...]} of all rooms with files."""
    results = {}
    for path in sources(root):
        room = room_of(path) or "unknown"
        results.setdefault(("door", room), [])
        if room in PURE:
            results.setdefault(("pure", room), [])
        for rule, line, text in check_file(root, path):
            results.setdefault((rule, room), []).append(
                f"{path}:{line}: {text}")
    return results


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else DRIVER
    results = check(root)
    if not results:
        print("not ok 1 - layers: no sources found")
        return 1
    what = {"door": "includes of", "pure": "identifiers of"}
    return tap.report([(f"layers: {what[rule]} {room}", problems)
                       for (rule, room), problems in sorted(results.items())])


if __name__ == "__main__":
    sys.exit(main())
