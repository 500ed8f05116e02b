#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Does layers.py see each kind of violation, and nothing else? TAP."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import layers  # noqa: E402
import tap  # noqa: E402

CLEAN = {
    "main.c": '#include <linux/module.h>\n#include "net/net.h"\n'
              '#include "verbs/verbs.h"\n',
    "metaroce.h": '#include <rdma/ib_verbs.h>\n#include "core/core.h"\n',
    "compat.h": "#include <linux/mm.h>\n",
    "core/platform.h": "#include <linux/types.h>\nspinlock_t x;\n",
    "core/core.h": '#include "platform.h"\n#include "../wire/wire.h"\n',
    "core/internal.h": '#include "core.h"\n',
    "core/conn.c": '#include "internal.h"\n'
                   "/* not of ib_device, jiffies\n * or an skb */\n"
                   'static const char *s = "ktime_get"; // hrtimer\n'
                   "int mroce_current_sched;\n",
    "core/tests/conn_kunit.c": "#include <kunit/test.h>\n"
                               '#include "../internal.h"\n',
    "wire/wire.h": '#include "../core/platform.h"\n',
    "wire/wire.c": '#include "wire.h"\n',
    "verbs/verbs.h": '#include "../metaroce.h"\n',
    "verbs/qp.c": '#include "verbs.h"\n#include "../core/core.h"\n',
    "net/net.h": '#include "../metaroce.h"\n',
    "net/rx.c": '#include <linux/skbuff.h>\n#include "net.h"\n',
    "ctl/link.c": '#include "../verbs/verbs.h"\n#include "../net/net.h"\n',
}

# (name, file, text to append, rule and room that must fail)
BAD = [
    ("verbs includes net", "verbs/qp.c", '#include "../net/net.h"',
     ("door", "verbs")),
    ("net includes verbs", "net/rx.c", '#include "../verbs/verbs.h"',
     ("door", "net")),
    ("the same, named from the driver's top", "net/rx.c",
     '#  include "verbs/verbs.h"', ("door", "net")),
    ("net includes ctl", "net/rx.c", '#include "../ctl/ctl.h"',
     ("door", "net")),
    ("core includes verbs", "core/conn.c", '#include "../verbs/verbs.h"',
     ("door", "core")),
    ("core includes metaroce.h", "core/conn.c", '#include "../metaroce.h"',
     ("door", "core")),
    ("wire includes core.h", "wire/wire.c", '#include "../core/core.h"',
     ("door", "wire")),
    ("metaroce.h includes net", "metaroce.h", '#include "net/net.h"',
     ("door", "top")),
    ("verbs looks into core's own header", "verbs/qp.c",
     '#include "../core/internal.h"', ("door", "verbs")),
    ("tests reach up", "core/tests/conn_kunit.c",
     '#include "../../net/net.h"', ("door", "tests")),
    ("a header that is not there", "net/rx.c", '#include "nowhere.h"',
     ("door", "net")),
    ("core includes a kernel header", "core/conn.c",
     "#include <linux/skbuff.h>", ("pure", "core")),
    ("wire includes a kernel header", "wire/wire.h",
     "#include <linux/types.h>", ("pure", "wire")),
] + [
    (f"core names {ident}", "core/conn.c", f"int y({ident});", ("pure", "core"))
    for ident in ("struct sk_buff *s", "struct net_device *d", "ib_wc", "jiffies",
                  "ktime_get()", "spin_lock_bh(l)", "struct hrtimer t",
                  "rcu_read_lock()", "kfree_skb(s)", "current", "IB_QPS_RTS")
] + [
    ("wire names skb", "wire/wire.c", "void z(void *skb);", ("pure", "wire")),
    ("an unknown room", "extra/x.c", "int x;", ("door", "unknown")),
]


def main():
    got = tap.on_tree(CLEAN, layers.check)
    tests = [("layers: a clean tree passes", [got] if got else [])]
    for name, path, text, want in BAD:
        files = dict(CLEAN)
        files["ctl/ctl.h"] = ""
        files[path] = files.get(path, "") + text + "\n"
        got = tap.on_tree(files, layers.check)
        tests.append((f"layers: fails when {name}",
                      [] if set(got) == {want} else [got]))
    return tap.report(tests)


if __name__ == "__main__":
    sys.exit(main())
