#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A local queue that drops, and one that is slow.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "local queues"
need_bin
topo 1 1500
q() { ip -n "$NSA" link set va1 gso_max_segs 1
	tc -n "$NSA" qdisc replace dev va1 root "$@"; }
try() { # DESCRIPTION COUNT
	snap $DEVA $DEVB
	run_tap "$1" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n "$2" -T 18 -q 4 -e
	counter "$1: nobody gave up" $DEVA retry_exceeded_err -eq 0
}
q tbf rate 50mbit burst 4k limit 8k
try "50 Mbit/s, queue of five packets" "$(scale 300 60)"
dropped=$(tc -n "$NSA" -s qdisc show dev va1 | sed -n 's/.*dropped \([0-9]*\).*/\1/p')
[ "${dropped:-0}" -gt 0 ]
result $? "the queue did drop ($dropped)"
if [ "$LINK_TYPE" = metaroce ]; then
	counter "drops of the queue are seen" $DEVA send_dropped -gt 0
	counter "and sent again" $DEVA retransmitted_pkts -gt 0
fi
q tbf rate 20mbit burst 10k limit 1m
try "20 Mbit/s, deep queue" "$(scale 100 30)"
tc -n "$NSA" qdisc del dev va1 root
# ECN marks instead of drops
if tc -n "$NSA" qdisc replace dev va1 root handle 1: tbf rate 100mbit burst 10k limit 400k 2>/dev/null &&
   tc -n "$NSA" qdisc add dev va1 parent 1:1 fq_codel limit 1000 target 500us interval 2ms ecn 2>/dev/null; then
	try "100 Mbit/s with ECN" "$(scale 500 60)"
	if [ "$LINK_TYPE" = metaroce ]; then
		counter "marks seen by the receiver" $DEVB np_ecn_marked_roce_packets -gt 0
		counter "and told to the sender" $DEVA rp_ecn_echoed_packets -gt 0
	fi
fi
tc -n "$NSA" qdisc del dev va1 root

# Packets that sit in a queue while their QP and link go
if [ "$LINK_TYPE" = metaroce ]; then
	q netem delay 3s limit 100000
	bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q 8 -x -t 30
	pid=$t_bg
	snap $DEVA
	t_wait 10 grown $DEVA control_sent 1
	nap 0.5
	t_kill_tree "$pid"
	reap "$pid" 5
	run "a link whose packets are still in a queue can be deleted" rdma link del $DEVA
	link_add $DEVA va1 "$NSA"
	result $? "and added again"
	run "and its netdev deleted" ip -n "$NSA" link del va1
fi
t_done
