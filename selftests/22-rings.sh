#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process that lies in the queues that it shares with the kernel.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "hostile queues"
# rdma_rxe panics of it
if ! only metaroce "hostile queues"; then t_done; fi
need_bin
T_LONG=120
topo 1 1500
for m in wqe index ud mmap resp; do
	run_tap "$m" "$BIN/ring" -d "$DEVA@$NSA" -m $m -E
done
# The same at random, and others on the same devices that must not notice
bg "$t_tmp/scribble" "$BIN/ring" -d "$DEVA@$NSA" -m scribble -t "$(scale 10 3)"
pid=$t_bg
run_tap "next to it" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n "$(scale 1500 200)" -T 18
reap "$pid" 60
result $? "random writes into queues at work" "$t_tmp/scribble"
run_tap "afterwards" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 100
t_done
