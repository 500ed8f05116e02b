#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets with flipped bits: counted, dropped, never in memory.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "corruption"
need_bin
topo 1 1500
try() { # DESCRIPTION COUNT
	snap $DEVA $DEVB
	run_tap "$1" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n "$2" -T 18 -q 4 -e
	counter "$1: bad checksums" $DEVB rcvd_bad_checksum -gt 0
	counter "$1: bad checksums" $DEVA rcvd_bad_checksum -gt 0
	[ "$LINK_TYPE" != metaroce ] ||
		counter "$1: sent again" $DEVA retransmitted_pkts -gt 0
}
netem_both corrupt 2%
try "2 %" "$(scale 1000 200)"
netem_both corrupt 10%
try "10 %" "$(scale 300 100)"
netem_off
t_done
