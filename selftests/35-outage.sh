#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Short outages: links flap, addresses and neighbours come and go. The device stays,
# work goes on.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "outages"
need_bin
topo 1 1500

try() { # DESCRIPTION CMD...: while a storm goes on that tolerates some seconds
	local d=$1 pid; shift
	bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q 4 -t 3 -T 18 -e
	pid=$t_bg
	snap $DEVA $DEVB
	t_wait 10 grown $DEVA sent_pkts 200
	"$@"
	reap "$pid" 40
	result $? "$d: work goes on" "$t_tmp/storm" ||
		changes $DEVA $DEVB | diag
}
flap() {
	ip -n "$NSB" link set vb1 down
	nap 0.5
	ip -n "$NSB" link set vb1 up
}
flap_local() {
	ip -n "$NSA" link set va1 down
	nap 0.3
	ip -n "$NSA" link set va1 up
	addr6_back
}
black_hole() {
	netem A loss 100%
	nap 0.5
	netem_off
}
neigh() {
	ip -n "$NSA" neigh flush dev va1
	ip -n "$NSB" link set vb1 address 02:00:00:00:0b:01
	ip -n "$NSA" neigh flush dev va1
}
try "half a second of silence" black_hole
try "the peer's netdev goes down and up" flap
try "our netdev goes down and up" flap_local
try "the peer's MAC address changes" neigh
[ -e /sys/class/infiniband/$DEVA ]
result $? "the device was there all the time"

# ---- addresses
run "flush the addresses" ip -n "$NSA" addr flush dev va1
[ -e /sys/class/infiniband/$DEVA ]
result $? "the device survives it"
printf '%s\n' "addr add $IPA/24 dev va1" "addr add $IP6A/64 dev va1 nodad" |
	ip -n "$NSA" -b -
t_gid=()
wait_gid $DEVA "$NSA" $IPA $IP6A
result $? "the GIDs come back with the addresses"
run_tap "new connections" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 100
n=$(scale 20 5)
for ((i = 0; i < n; i++)); do
	ip -n "$NSA" addr del $IPA/24 dev va1
	ip -n "$NSA" addr add $IPA/24 dev va1
done
t_gid=()
wait_gid $DEVA "$NSA" $IPA
result $? "$n times deleted and added: the GID is there"
run_tap "new connections" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 100

# ---- longer than anybody waits: an error, not a hang
bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q 2 -t 60 -T 10 -R 2 -x
pid=$t_bg
snap $DEVA
t_wait 10 grown $DEVA sent_pkts 200
ip -n "$NSB" link set vb1 down
reap "$pid" 40
result $? "the peer stays away: both ends get an error" "$t_tmp/storm"
ip -n "$NSB" link set vb1 up
t_wait 5 port_active $DEVB
addr6_back
run_tap "and can talk again" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 100
t_done
