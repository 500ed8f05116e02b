#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Receivers that are not ready, peers that are not there.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "retries and their bounds"
need_bin
T_LONG=120
topo 1 1500
snap $DEVA $DEVB
run_tap "two ends" "$BIN/retry" -d "$DEVA@$NSA" -d "$DEVB@$NSB"
if only metaroce "counters of retries"; then
	counter "no receive: refused" $DEVB naks_sent -ge 5
	counter "no receive: heard" $DEVA naks_received -ge 5
	counter "gave up on receives" $DEVA retry_rnr_exceeded_err -ge 5
	counter "gave up on peers" $DEVA retry_exceeded_err -ge 5
	counter "no packet was lost" $DEVA packets_lost -eq 0
fi
run_tap "one device" "$BIN/retry" -d "$DEVA@$NSA"

# A peer that is on no network at all: an error in bounded time
ip -n "$NSB" link set vb1 down
t0=$SECONDS
bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -g "$IPA" -n 10
reap "$t_bg" 20
result $? "the port is down: the device still talks to itself or says so" /dev/null ||
	diag <"$t_tmp/storm"
[ $((SECONDS - t0)) -lt $((8 * T_SLOW)) ]
result $? "in time"
ip -n "$NSB" link set vb1 up
t_done
