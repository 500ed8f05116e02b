#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets get lost: everything arrives, once, and in time.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "loss"
need_bin
topo 1 1500

try() { # DESCRIPTION COUNT OPTIONS...
	local d=$1 n=$2; shift 2
	snap $DEVA $DEVB
	run_tap "$d" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n "$n" -T 18 -e "$@"
	if [ "$LINK_TYPE" = metaroce ]; then
		counter "$d: sent again" $DEVA retransmitted_pkts -gt 0
		counter "$d: sent again" $DEVB retransmitted_pkts -gt 0
		counter "$d: nobody gave up" $DEVA retry_exceeded_err -eq 0
	fi
}
netem_both loss 1%
try "1 %" "$(scale 1500 200)" -q 4
netem_both loss 10%
try "10 %" "$(scale 500 100)" -q 4
netem_both loss gemodel 2% 20% 80% 0.1%
try "bursts" "$(scale 500 100)" -q 2

# One direction, atomics: once each, whatever gets lost
netem_off keep
netem B loss 20%
snap $DEVA $DEVB
run_tap "answers lost, atomics" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" \
	-n "$(scale 400 60)" -o a -T 18 -q 4 -e
run_tap "answers lost, reads" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" \
	-n "$(scale 200 40)" -o r -T 18 -q 4 -e
netem_both loss 1%
T_LIMIT=60
rping_pair "1 %: rping" -C 20 -S 20000
perf "1 %: ib_write_bw" ib_write_bw -n "$(scale 500 100)" -s 65536
if [ "$LINK_TYPE" = metaroce ]; then
	run_tap "1 %: retries" "$BIN/matrix" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -S 50 \
		-k "RQ: "
fi
netem_off
t_done
