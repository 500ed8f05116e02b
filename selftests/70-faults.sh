#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each allocation fails in its turn: calls say so, and leave nothing behind.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "fault injection"
need_bin
if [ ! -e /proc/self/fail-nth ]; then
	skip "fault injection" "this kernel has none"
	t_done
fi
topo 1 1500
ip -n "$NSA" link add mrf0 type dummy
ip -n "$NSA" link set mrf0 up
for f in failslab fail_page_alloc fail_usercopy; do
	d=/sys/kernel/debug/$f
	[ -d $d ] || continue
	echo 0 >$d/verbose
	echo N >$d/ignore-gfp-wait 2>/dev/null
	echo N >$d/ignore-gfp-highmem 2>/dev/null
	echo 0 >$d/min-order 2>/dev/null
done
# A link has hundreds of places, each a second or more of such a kernel
T_LONG=200
# A netdev without a link is what remains; what the core says of failures is its own
T_LOG_LINES=200
run_tap "one by one" "$BIN/faults" -d "$DEVA@$NSA" -N mrf0 -t "$LINK_TYPE" \
	-S ${SELFTEST_FAULT_STEP:-9}
run_tap "afterwards" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 100
t_done
