#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A network that loses nothing: nothing is sent twice.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "lossless"
need_bin
topo 1 9000

quiet() { # DESCRIPTION
	if ! only metaroce "$1: nothing sent twice"; then return; fi
	local d c
	for d in $DEVA $DEVB; do
		for c in spurious_retx packets_lost path_timeouts path_rehomed \
			rcvd_bad_checksum rcvd_bad_tag rcvd_beyond_window \
			rcvd_bad_ack retry_exceeded_err send_dropped; do
			counter "$1, ${d##*_}" "$d" $c -eq 0
		done
	done
}
snap $DEVA $DEVB
run_tap "4 QPs" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q 4 -n "$(scale 2000 200)" -e
quiet "4 QPs"
snap $DEVA $DEVB
perf "writes" ib_write_bw -n "$(scale 2000 100)" -s 65536
quiet "writes"
counter "packets left" $DEVA sent_pkts -ge 100
counter "packets arrived" $DEVB rcvd_pkts -ge 100
if has_counter $DEVA retransmitted_pkts; then
	t_delta $DEVA retransmitted_pkts
	note "tail probes and other retransmissions: $REPLY"
fi

# A long way without loss, and the same with single packets
netem_both delay 5ms
snap $DEVA $DEVB
run_tap "10 ms there and back" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q 4 \
	-n "$(scale 800 100)" -e
quiet "10 ms there and back"
netem_off
t_done
