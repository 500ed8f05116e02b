#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Several netdevs in one link: all carry traffic, any may fail or go.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "planes"
if ! only metaroce "planes"; then t_done; fi
need_bin
topo 4 1500

t_fails() { ! "$@"; }
plane_a() { in_a "$BIN/mroce" plane "$@"; }
plane_b() { in_b "$BIN/mroce" plane "$@"; }
# shown SIDE PLANE PATTERN: what "mroce plane show" says of that plane
shown() {
	local dev=$DEVA; [ "$1" = a ] || dev=$DEVB
	"plane_$1" show "$dev" | grep -q "plane $2 .*$3"
}
# data NETDEV: packets that it has sent
data() { ip netns exec "$NSA" cat "/sys/class/net/$1/statistics/tx_packets"; }
since() { echo $(($(data "$1") - ${sent[$1]})); }
declare -A sent
mark() { local d; for d; do sent[$d]=$(data "$d"); done; }
all_busy() { local d; for d in va1 va2 va3 va4; do busy "$d" 300 || return; done; }
busy() { [ "$(since "$1")" -ge "$2" ]; }
storm() { # SECONDS, more on a slow machine: what follows takes longer there
	bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q 4 \
		-t $(($1 * T_SLOW / 2)) -T 18
	pid=$t_bg
	snap $DEVA $DEVB
	t_wait 10 grown $DEVA sent_pkts 200
}

# ---- what may be joined, and by whom
run "the link's own netdev is plane 0" shown a 0 'netdev va1 '
run_fail "no such netdev" "No such device" plane_a add $DEVA 1 nothing
run_fail "no such device" "No such device" plane_a add mroce_x 1 va2
ip -n "$NSA" link add mralone type dummy
run_fail "a netdev of another namespace" "No such device" \
	in_b "$BIN/mroce" plane add $DEVA 1 mralone
run_fail "its own netdev" "File exists" plane_a add $DEVA 1 va1
run_fail "plane 0" "Invalid argument" plane_a add $DEVA 0 va2
run_fail "plane 16" "Invalid argument" plane_a add $DEVA 16 va2
run_fail "not Ethernet" "not supported" plane_a add $DEVA 1 lo
for op in "add $DEVA 1 va2" "del $DEVA 1" "drain $DEVA 1"; do
	# shellcheck disable=SC2086
	run_fail "${op%% *} without CAP_NET_ADMIN" "not permitted" in_a \
		setpriv --bounding-set=-net_admin --inh-caps=-net_admin \
		"$BIN/mroce" plane $op
done
run_fail "take out what is not there" "No such file" plane_a del $DEVA 1
run_fail "drain what is not there" "No such file" plane_a drain $DEVA 1
run "join a netdev" plane_a add $DEVA 1 va2
run_fail "join it twice" "File exists" plane_a add $DEVA 2 va2
run_fail "an id that is taken" "busy" plane_a add $DEVA 1 va3
run_fail "a link of its own" "exists" in_a rdma link add mroce_y type metaroce netdev va2
run "it is seen" shown a 1 'netdev va2 '

# ---- one end only: nothing happens; both: both netdevs carry traffic
mark va1 va2
run_tap "planes at one end only" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 200
[ "$(since va1)" -ge 100 ] && [ "$(since va2)" -lt 20 ]
result $? "plane 0 alone carries it ($(since va1), $(since va2))"
storm 6
mark va1 va2
run "join at the other end, under traffic" plane_b add $DEVB 1 vb2
t_wait 3 shown a 1 'up [1-9]'
result $? "the plane comes up"
t_wait 5 busy va2 500
result $? "and is used"
reap "$pid" 40
result $? "nobody notices" "$t_tmp/storm"
counter "nothing came from an unproven address" $DEVB rcvd_unproven_plane -eq 0

for i in 2 3; do
	plane_a add $DEVA $i va$((i + 1)) && plane_b add $DEVB $i vb$((i + 1))
done >"$t_tmp/add" 2>&1
result $? "four planes" "$t_tmp/add"
storm 6
t_wait 3 shown a 3 'up [1-9]'
mark va1 va2 va3 va4
t_wait 4 all_busy
result $? "all four carry traffic ($(since va1) $(since va2) $(since va3) $(since va4))"
reap "$pid" 40
result $? "traffic on four planes" "$t_tmp/storm"

# ---- a plane goes down, and comes back
storm 8
ip -n "$NSB" link set vb2 down
t_wait 3 grown $DEVA planes_down 1
result $? "no carrier: the plane is down"
shown a 1 'no-carrier'
result $? "and shown so"
mark va2 va3
t_wait 2 busy va3 50
[ "$(since va2)" -lt 20 ] && [ "$(since va3)" -ge 50 ]
result $? "its paths are elsewhere ($(since va2), $(since va3))"
ip -n "$NSB" link set vb2 up
t_wait 6 grown $DEVA planes_up 1
result $? "it is back"
mark va2
t_wait 3 busy va2 100
result $? "and used again"
reap "$pid" 40
result $? "nobody notices" "$t_tmp/storm"
counter "nothing was tried again by streams" $DEVA stream_retries -eq 0

# ---- silence: carrier is there, but nothing arrives
storm 10
tc -n "$NSB" qdisc add dev vb3 clsact 2>"$t_tmp/out" &&
	tc -n "$NSB" filter add dev vb3 ingress matchall action drop 2>>"$t_tmp/out"
if [ -s "$t_tmp/out" ]; then
	skip "a plane without a sound" "$(head -n 1 "$t_tmp/out")"
	reap "$pid" 40
else
	t_wait 5 grown $DEVA planes_down 1
	result $? "silence: the plane is down"
	t_wait 3 shown a 2 'down [1-9]'
	result $? "and shown so"
	tc -n "$NSB" filter del dev vb3 ingress
	t_wait 8 grown $DEVA planes_up 1
	result $? "an answered probe: it is up"
	mark va3
	t_wait 3 busy va3 100
	result $? "and used again"
	reap "$pid" 40
	result $? "nobody notices" "$t_tmp/storm"
fi
tc -n "$NSB" qdisc del dev vb3 clsact 2>/dev/null

# ---- plane 0 is one like the others, once there is a connection
storm 8
ip -n "$NSA" link set va1 down
t_wait 3 grown $DEVA planes_down 1
result $? "plane 0 is down"
mark va2
t_wait 3 busy va2 200
result $? "the others go on"
ip -n "$NSA" link set va1 up
addr6_back
reap "$pid" 40
result $? "nobody notices" "$t_tmp/storm"
t_wait 5 port_active $DEVA

# ---- drained
storm 8
plane_a drain $DEVA 3
t_wait 3 shown a 3 drained
mark va3
t_wait 2 busy va3 100	# what was under way is over
mark va4 va3
t_wait 2 busy va3 200
[ "$(since va4)" -lt 20 ] && [ "$(since va3)" -ge 50 ]
result $? "a plane that is drained is not used ($(since va4), $(since va3))"
plane_a drain $DEVA 3 off
mark va4
t_wait 3 busy va4 100
result $? "and used when it is not any more"
reap "$pid" 40
result $? "nobody notices" "$t_tmp/storm"

# ---- taken out, and going, under traffic
storm 10
run "take out a plane" plane_a del $DEVA 3
run "its netdev is free" in_a rdma link add mroce_y type metaroce netdev va4
t_try 10 rdma link del mroce_y
mark va3
run "delete a netdev that is joined" ip -n "$NSA" link del va3
t_wait 3 t_fails shown a 2 netdev
result $? "it is no plane any more"
mark va1 va2
t_wait 3 busy va2 50
result $? "two planes go on"
run "flush the addresses of a plane" ip -n "$NSA" addr flush dev va2
mark va1
t_wait 3 busy va1 50
result $? "and plane 0 alone"
ip -n "$NSA" addr add 10.2.0.1/24 dev va2
mark va2
t_wait 5 busy va2 50
result $? "an address is back: used again"
reap "$pid" 40
result $? "nobody notices" "$t_tmp/storm"

# ---- netdevs are joined and taken out all the time
storm 6
n=$(scale 40 5)
for ((i = 0; i < n; i++)); do
	if ! { plane_b del $DEVB 1 && plane_b add $DEVB 1 vb2; }; then break; fi
	[ $((i % 4)) != 0 ] || ip -n "$NSB" link set vb2 down
	nap 0.0$((RANDOM % 9 + 1))
	ip -n "$NSB" link set vb2 up
done >"$t_tmp/churn" 2>&1
[ "$i" = "$n" ]
result $? "$n times out and in" "$t_tmp/churn"
reap "$pid" 40
result $? "nobody notices" "$t_tmp/storm"

# ---- the end: with planes joined, in all ways
run "delete a link that has planes" link_del $DEVA
run "its netdevs are free" in_a rdma link add $DEVA type metaroce netdev va2
run "delete it" link_del $DEVA
run "a link again" link_add $DEVA va1 "$NSA"
run "with a plane" plane_a add $DEVA 1 va2
ip -n "$NSA" link del va1
t_wait 5 t_fails test -e /sys/class/infiniband/$DEVA
result $? "the link's netdev goes, and the link with it"
run "the plane's netdev can go" t_limit 10 ip -n "$NSA" link del va2
# (that was the end of va1's other end, too)
t_wait 5 t_fails test -e /sys/class/infiniband/$DEVB
run "a link" link_add $DEVB vb4 "$NSB"
ip -n "$NSB" link add mrd type dummy
run "with a plane" plane_b add $DEVB 2 mrd
t_kill_tree "$t_anchor_b"
ip netns del "$NSB"
t_wait 5 t_fails test -e /sys/class/infiniband/$DEVB
result $? "the namespace goes, and the link with it"
# the module goes while a link has a plane
ip -n "$NSA" link add mrx1 type veth peer name mrx2
ip -n "$NSA" link set mrx1 up
ip -n "$NSA" link set mrx2 up
run "a link" in_a rdma link add mroce_z type metaroce netdev mrx1
run "with a plane" plane_a add mroce_z 15 mrx2
t_try 10 rmmod metaroce
result $? "the module goes with planes joined" "$t_tmp/try"
run "the netdevs can go" t_limit 10 ip -n "$NSA" link del mrx1
T_UNLOAD=0 t_done
