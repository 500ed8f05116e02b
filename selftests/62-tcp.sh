#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One bottleneck, this transport and TCP in it, half a minute: neither starves the
# other. With a queue that drops and with one that marks.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "TCP in the same queue"
need iperf3 tc python3
need_bin
NSR=mrr
mbit=20 secs=30

# A - bridge - B: TCP hears of what its own host drops at once, and keeps its part
# of that host's queues small (TSQ), so the bottleneck has to be another's. Slow enough
# for any guest; single packets, as on a wire; a round trip of 20 ms: 50 KB under way.
between() {
	ip netns add $NSR && ip -n $NSR link add br0 type bridge && ip -n $NSR link set br0 up &&
	ip link add va1 netns "$NSA" mtu 1500 type veth peer name ra netns $NSR &&
	ip link add vb1 netns "$NSB" mtu 1500 type veth peer name rb netns $NSR || return
	local d
	for d in ra rb; do
		ip -n $NSR link set $d master br0 up || return
	done
	for d in "$NSA va1 1" "$NSB vb1 2"; do
		# shellcheck disable=SC2086
		set -- $d
		ip -n "$1" link set "$2" gso_max_segs 1 up &&
		ip -n "$1" addr add 10.1.0."$3"/24 dev "$2" &&
		ip -n "$1" addr add "fd01::$3/64" dev "$2" nodad &&
		ip netns exec "$1" sysctl -qw net.ipv4.tcp_ecn=1 || return
	done
	tc -n $NSR qdisc add dev ra root netem delay 20ms limit 10000
}
bottleneck() { # drop|mark
	tc -n $NSR qdisc replace dev rb root handle 1: tbf rate ${mbit}mbit \
		burst 64k limit 100k || return
	[ "$1" = drop ] || tc -n $NSR qdisc replace dev rb parent 1: handle 2: red \
		limit 200k min 15k max 45k avpkt 1500 burst 15 probability 0.1 \
		bandwidth ${mbit}mbit ecn
}
for x in bridge sch_netem sch_tbf sch_red; do modprobe -q $x; done
net_up 0
if ! between >"$t_tmp/out" 2>&1; then
	skip "TCP in the same queue" "$(head -n 1 "$t_tmp/out")"
	t_done
fi
run "links" links_up

# Payload rates of both, kb/s, in $m and $t
both() {
	local pid
	next_port
	bg "$t_tmp/iperf-s" in_b iperf3 -s -1 -p $T_PORT
	t_wait 10 srv_ready "$t_bg" tcp $T_PORT
	bg "$t_tmp/iperf" in_a iperf3 -c $IPB -p $T_PORT -t $secs -J
	pid=$t_bg
	t_limit $((secs + 60)) "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q 4 -o w \
		-s 65536 -t $secs >"$t_tmp/storm" 2>&1
	result $? "$kind: traffic" "$t_tmp/storm"
	t_delta $DEVB rcvd_bytes
	m=$((REPLY * 8 / 1000 / secs))
	reap "$pid" 40
	read -r t resent <<<"$(python3 -c 'import json, sys
e = json.load(open(sys.argv[1]))["end"]
print(int(e["sum_received"]["bits_per_second"] / 1e3), e["sum_sent"]["retransmits"])' \
		"$t_tmp/iperf" 2>/dev/null)"
}

for kind in drop mark; do
	bottleneck $kind >"$t_tmp/out" 2>&1 ||
		{ skip "a queue that ${kind}s" "$(head -n 1 "$t_tmp/out")"; continue; }
	snap $DEVA $DEVB
	both
	tc -n $NSR -s qdisc show dev rb >"$t_tmp/qdisc"
	note "$kind: $LINK_TYPE $m, TCP ${t:-nothing} kb/s"
	t_delta $DEVA packets_lost; lost=$REPLY
	t_delta $DEVA rp_ecn_echoed_packets; echoed=$REPLY
	t_delta $DEVA sent_pkts
	note "$kind: of $REPLY packets $lost lost, $echoed marked; TCP sent ${resent:-?} again"
	# Jain's index of two: 0.8 is one against three. A queue that only drops, and drops
	# whole bursts of a path at once, is a known limit (metaroce-protocol.rst, 7)
	[ "$m" -gt 0 ] && [ "${t:-0}" -gt 0 ] &&
		{ [ "$kind" = drop ] || { [ $((m * 3)) -ge "$t" ] && [ $((t * 3)) -ge "$m" ]; }; }
	result $? "a queue that ${kind}s: both live ($m and ${t:-0} kb/s)" "$t_tmp/qdisc"
	[ $((m + ${t:-0})) -ge $((mbit * 700)) ]
	result $? "a queue that ${kind}s: it is used" "$t_tmp/qdisc"
	if [ "$kind" = mark ]; then
		[ "$echoed" -gt 0 ]
		result $? "marks came back" "$t_tmp/qdisc"
	fi
done
t_done
