#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets overtake each other or arrive twice.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "reordering and duplication"
need_bin
topo 1 1500
try() { # DESCRIPTION COUNT
	snap $DEVA $DEVB
	run_tap "$1" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n "$2" -T 18 -q 4 -e
	counter "$1: nobody gave up" $DEVA retry_exceeded_err -eq 0
}
netem_both delay 2ms reorder 25% 50%
try "reorder" "$(scale 800 100)"
counter "reorder: seen out of order" $DEVB out_of_seq_request -gt 0
netem_both delay 2ms 1ms
try "jitter" "$(scale 500 100)"
# Now only the network's doing: the guest's own CPUs do not overtake each other
in_order
netem_both duplicate 10%
try "duplicates" "$(scale 1000 100)"
counter "duplicates: seen" $DEVB duplicate_request -gt 0
if [ "$LINK_TYPE" = metaroce ]; then
	t_delta $DEVA path_timeouts
	if [ "$REPLY" = 0 ]; then
		counter "duplicates: nothing sent again for them" $DEVA packets_lost -eq 0
	else
		skip "duplicates: nothing sent again for them" "the host stalled the guest"
	fi
fi
netem_both delay 1ms reorder 10% 50% duplicate 5% loss 2%
try "all of it" "$(scale 500 100)"
rping_pair "all of it: rping" -C 10 -S 10000
netem_off
t_done
