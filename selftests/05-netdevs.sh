#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Links on all kinds of netdevs, and addresses on what is stacked on them.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "kinds of netdevs"
need_bin
net_up 2 1500 || { result 1 topology; t_done; }
a() { ip -n "$NSA" "$@"; }
b() { ip -n "$NSB" "$@"; }

# on DESCRIPTION NETDEV_A ADDR_A NETDEV_B ADDR_B: links, data, away again
on() {
	local d=$1 na=$2 aa=$3 nb=$4 ab=$5
	{ link_add $DEVA "$na" "$NSA" && link_add $DEVB "$nb" "$NSB" &&
	  wait_gid $DEVA "$NSA" "$aa" && wait_gid $DEVB "$NSB" "$ab"; } \
		>"$t_tmp/out" 2>&1
	result $? "$d: links and addresses" "$t_tmp/out" && {
		run_tap "$d" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" \
			-g "$aa" -g "$ab" -n 200 -s 20000
		PP_SRC=$aa PP_DST=$ab rping_pair "$d: rping" -C 3
	}
	link_del $DEVA 2>/dev/null
	link_del $DEVB 2>/dev/null
	t_wait 5 t_no_links
	t_gid=()
}
# have KIND ARGS...: or skip
have() {
	local d=$1; shift
	"$@" 2>"$t_tmp/have" && return 0
	skip "$d" "$(head -n 1 "$t_tmp/have")"
	return 1
}

# What INIT says of the link: veth calls itself 10 Gbit/s
bg "$t_tmp/speed" in_a "$HERE/wire.py" speed va1 $((10 * T_SLOW))
pid=$t_bg
t_wait 5 grep -q ready "$t_tmp/speed"
on "veth" va1 $IPA vb1 $IPB
if only metaroce "veth: INIT tells the speed"; then
	n=$(grep -c '^10000$' "$t_tmp/speed")
	# 0: somebody else had the lock that it is read under
	[ "$n" -ge 1 ] && ! grep -qv 'ready\|^10000$\|^0$' "$t_tmp/speed"
	result $? "veth: INIT tells the speed ($n)" "$t_tmp/speed"
fi
t_kill_tree "$pid"
reap "$pid" 5

if have "bridge" ip -n "$NSA" link add mrbr type bridge; then
	a addr flush dev va1
	a link set va1 master mrbr
	a link set mrbr up
	a addr add $IPA/24 dev mrbr
	on "bridge" mrbr $IPA vb1 $IPB
	if [ "$LINK_TYPE" = metaroce ]; then
		# Through a bridge that filters VLANs
		a link set mrbr type bridge vlan_filtering 1 2>/dev/null
		on "VLAN-filtering bridge" mrbr $IPA vb1 $IPB
	fi
	a link del mrbr
	printf '%s\n' "addr add $IPA/24 dev va1" "link set va1 up" | a -b -
fi

if have "bond" ip -n "$NSA" link add mrbond type bond mode active-backup miimon 50; then
	ip -n "$NSB" link add mrbond type bond mode active-backup miimon 50
	for i in 1 2; do
		a link set va$i down
		b link set vb$i down
		a addr flush dev va$i
		b addr flush dev vb$i
		a link set va$i master mrbond
		b link set vb$i master mrbond
	done
	a link set mrbond up
	b link set mrbond up
	a addr add 10.5.0.1/24 dev mrbond
	b addr add 10.5.0.2/24 dev mrbond
	on "bond" mrbond 10.5.0.1 mrbond 10.5.0.2
	if [ "$LINK_TYPE" = metaroce ]; then
		# Fail-over under traffic
		{ link_add $DEVA mrbond "$NSA" && link_add $DEVB mrbond "$NSB" &&
		  wait_gid $DEVA "$NSA" 10.5.0.1 && wait_gid $DEVB "$NSB" 10.5.0.2; } \
			>"$t_tmp/out" 2>&1
		bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" \
			-g 10.5.0.1 -g 10.5.0.2 -t 3 -T 16
		pid=$t_bg
		snap $DEVA
		t_wait 10 grown $DEVA sent_pkts 200
		a link set va1 down
		reap "$pid" 40
		result $? "bond: fail-over under traffic" "$t_tmp/storm"
		link_del $DEVA
		link_del $DEVB
		t_gid=()
	fi
	a link del mrbond
	b link del mrbond
	for i in 1 2; do
		a link set va$i up
		b link set vb$i up
	done
	a addr add $IPA/24 dev va1
	b addr add $IPB/24 dev vb1
fi

if have "macvlan" ip -n "$NSA" link add link va1 name mrmac type macvlan mode bridge; then
	a link set mrmac up
	a addr add 10.4.0.1/24 dev mrmac
	b addr add 10.4.0.2/24 dev vb1
	on "macvlan" mrmac 10.4.0.1 vb1 10.4.0.2
	a link del mrmac
	b addr del 10.4.0.2/24 dev vb1
fi

# ---- addresses of uppers are the parent link's
upper() { # DESCRIPTION NAME_A NAME_B NET
	a link set "$2" up
	b link set "$3" up
	a addr add "10.$4.0.1/24" dev "$2"
	b addr add "10.$4.0.2/24" dev "$3"
	on "$1" va1 "10.$4.0.1" vb1 "10.$4.0.2"
	a link del "$2"
	b link del "$3"
}
if have "VLAN on top" ip -n "$NSA" link add link va1 name mrv.100 type vlan id 100; then
	b link add link vb1 name mrv.100 type vlan id 100
	upper "VLAN on top" mrv.100 mrv.100 100
	a link add link va1 name mrv.200 type vlan id 200 reorder_hdr off
	b link add link vb1 name mrv.200 type vlan id 200
	upper "VLAN on top, reorder_hdr off" mrv.200 mrv.200 200
fi
if [ "$LINK_TYPE" = metaroce ] &&
   have "macvlan on top" ip -n "$NSA" link add link va1 name mrmac type macvlan mode bridge; then
	b link add link vb1 name mrmac type macvlan mode bridge
	upper "macvlan on top" mrmac mrmac 101
fi

# ---- netdevs without a peer: to itself
self() { # DESCRIPTION NETDEV ADDR
	{ link_add $DEVA "$2" "$NSA" && wait_gid $DEVA "$NSA" "$3"; } >"$t_tmp/out" 2>&1
	result $? "$1: link and address" "$t_tmp/out" &&
		run_tap "$1, to itself" "$BIN/storm" -d "$DEVA@$NSA" -g "$3" -n 200 -s 20000
	link_del $DEVA 2>/dev/null
	t_wait 5 t_no_links
	t_gid=()
}
if have "dummy" ip -n "$NSA" link add mrd0 type dummy; then
	a link set mrd0 up
	a addr add 10.6.0.1/24 dev mrd0
	self "dummy" mrd0 10.6.0.1
	a link del mrd0
fi
if [ "$LINK_TYPE" = metaroce ]; then
	in_a rdma link add $DEVA type "$LINK_TYPE" netdev lo 2>"$t_tmp/out"
	result $? "lo: link" "$t_tmp/out"
	run "lo: devinfo" ibv_devinfo -d $DEVA
	g=$(cat /sys/class/infiniband/$DEVA/node_guid 2>/dev/null)
	[ -n "$g" ] && [ "$g" != 0000:0000:0000:0000 ]
	result $? "lo: it has a node GUID"
	if wait_gid $DEVA "$NSA" 127.0.0.1 >/dev/null; then
		run_tap "lo, to itself" "$BIN/storm" -d "$DEVA@$NSA" -g 127.0.0.1 -n 200
	else
		skip "lo, to itself" "the core has no GID for 127.0.0.1"
	fi
	link_del $DEVA 2>/dev/null
	t_wait 5 t_no_links
	t_gid=()
fi

# ---- tap and tun, joined by a program
for kind in tap tun; do
	[ "$LINK_TYPE$kind" != rxetun ] || continue
	bg "$t_tmp/wire" "$HERE/tapwire.py" $kind "$NSA" mrt0 "$NSB" mrt0
	pid=$t_bg
	joined() { [ -s "$t_tmp/wire" ]; }
	if ! t_wait 10 joined || ! grep -q ready "$t_tmp/wire"; then
		skip "$kind" "$(head -n 1 "$t_tmp/wire")"
		reap "$pid" 1
		continue
	fi
	printf '%s\n' "addr add 10.7.0.1/24 dev mrt0" "link set mrt0 up" | a -b -
	printf '%s\n' "addr add 10.7.0.2/24 dev mrt0" "link set mrt0 up" | b -b -
	{ link_add $DEVA mrt0 "$NSA" && link_add $DEVB mrt0 "$NSB"; } >"$t_tmp/out" 2>&1
	result $? "$kind: links" "$t_tmp/out"
	if { wait_gid $DEVA "$NSA" 10.7.0.1 && wait_gid $DEVB "$NSB" 10.7.0.2; } >/dev/null; then
		run_tap "$kind" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" \
			-g 10.7.0.1 -g 10.7.0.2 -n 100 -s 8000 -T 18
	else
		skip "$kind" "the core has no GIDs for it"
	fi
	link_del $DEVA 2>/dev/null
	link_del $DEVB 2>/dev/null
	t_wait 5 t_no_links
	t_kill_tree "$pid"
	reap "$pid" 5
	t_gid=()
done
t_done
