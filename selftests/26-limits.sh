#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Many objects, keys that come back, processes that are killed.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "many objects"
need_bin
T_LONG=120
topo 1 1500
res() { rdma res show "$1" 2>/dev/null | grep -cv 'comm \[ib_core\]\|\[.*\]'; }
run_tap "objects" "$BIN/limits" -d "$DEVA@$NSA" -S "$SCALE"
n=$(rdma res show qp link $DEVA 2>/dev/null | grep -c "pid [0-9]")
[ "$n" = 0 ]
result $? "no QP of a process is left ($n)"
# A storm on many QPs at once: they share one connection
snap $DEVA $DEVB
q=$(scale 200 32)
run_tap "$q QPs" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q "$q" -n $((q * 10)) \
	-s 2000 -o wisra
if only metaroce "connections"; then
	counter "all QPs share a connection" $DEVA connections_opened -le 1
	# Whoever may open the device can ask for connections to anywhere
	ip -n "$NSA" route add 10.200.0.0/16 via $IPB
	snap $DEVA
	run_tap "half-open connections" "$BIN/limits" -d "$DEVA@$NSA" -4 -H
	counter "half-open connections" $DEVA connections_refused -ge 2
fi
t_done
