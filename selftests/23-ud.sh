#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unreliable datagrams and multicast.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "datagrams"
need_bin
topo 1 1500
# For multicast; the netdev of the GID should do, rxe asks for a route
in_a ip route add 239.0.0.0/8 dev va1
in_b ip route add 239.0.0.0/8 dev vb1
snap $DEVA $DEVB
run_tap "two ends" "$BIN/ud" -d "$DEVA@$NSA" -d "$DEVB@$NSB"
counter "wrong Q_Key" $DEVB ud_bad_qkey -ge 1
counter "QPN of nobody" $DEVB ud_no_qp -ge 1
counter "no receive" $DEVB ud_no_receive -ge 5
counter "receive too short" $DEVB ud_bad_length -ge 1
counter "received" $DEVB ud_rcvd_pkts -ge 100
counter "sent" $DEVA ud_sent_pkts -ge 100
run_tap "IPv6" "$BIN/ud" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -6
run_tap "one device" "$BIN/ud" -d "$DEVA@$NSA"

if command -v mckey >/dev/null; then
	# shellcheck disable=SC2317
	joined() { in_b ip maddr show dev vb1 | grep -q 239.1.2.3; }
	bg "$t_tmp/mckey" in_b timeout $((20 * T_SLOW)) mckey -m 239.1.2.3 -b $IPB -C 5
	pid=$t_bg
	if [ "$LINK_TYPE" = metaroce ]; then
		t_wait 5 joined
		result $? "mckey: the group is joined on the netdev" "$t_tmp/mckey"
	else
		t_wait 2 joined
	fi
	in_a timeout $((20 * T_SLOW)) mckey -m 239.1.2.3 -b $IPA -s -C 5 >"$t_tmp/out" 2>&1
	result $? "mckey: sender" "$t_tmp/out"
	reap "$pid" 20
	result $? "mckey: receiver" "$t_tmp/mckey"
	left() { ! joined; }
	t_wait 5 left
	result $? "mckey: the group is left"
fi
t_done
