#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The peer goes away and comes back: an error for who was bound to it, and a new
# connection for the next.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "restart of the peer"
need_bin
topo 1 1500

start() {
	bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q 4 -t 60 \
		-T 14 -R 7 -x
	pid=$t_bg
	snap $DEVA $DEVB
	t_wait 10 grown $DEVA sent_pkts 200
	result $? "$1: traffic" "$t_tmp/storm"
}
again() {
	link_add $DEVB vb1 "$NSB" && wait_gid $DEVB "$NSB" $IPB $IP6B
	result $? "$1: the link is back"
}
ended() {
	local t0=$SECONDS
	reap "$pid" 30
	result $? "$1: both ends get an error, every request completes" "$t_tmp/storm"
	[ $((SECONDS - t0)) -lt $((8 * T_SLOW)) ]
	result $? "$1: in time"
	run_tap "$1: a new connection" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 200
}
if only metaroce "restart of a link in use"; then
	start "orderly"
	run "orderly: delete the link" rdma link del $DEVB
	again "orderly"
	ended "orderly"

	# A crash: not a word leaves the peer before it is back
	start "crash"
	netem B loss 100%
	run "crash: delete the link, silently" rdma link del $DEVB
	netem_off keep
	again "crash"
	ended "crash"
	counter "crash: the old connection was noticed as dead" $DEVA connections_lost -ge 1

	for ((i = 0; i < $(scale 5 2); i++)); do
		rdma link del $DEVB
		link_add $DEVB vb1 "$NSB" || break
		wait_gid $DEVB "$NSB" $IPB || break
		timeout $((30 * T_SLOW)) "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 50 \
			>"$t_tmp/out" 2>&1 || break
	done
	[ "$i" = "$(scale 5 2)" ]
	result $? "the peer restarts $i times, each time there is a new connection" "$t_tmp/out"
fi

# Processes that are killed, on one end, on both
for who in one both; do
	start "$who killed"
	mapfile -t kids < <(pgrep -P "$pid")
	case $who in
	one) kill -KILL "${kids[1]}" ;;
	both) kill -KILL "${kids[@]}" ;;
	esac
	reap "$pid" 30
	run_tap "$who killed: the next" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 100
done
t_done
