#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Namespaces are worlds of their own, even with equal addresses in them.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "network namespaces"
need_bin
topo 1 1500
# A second world with the same addresses, and one in the first namespace
for n in mrc mrd; do ip netns add $n; ip -n $n link set lo up; done
ip link add va1 netns mrc type veth peer name vb1 netns mrd
for i in 1 2; do
	n=mrc d=va1
	[ $i = 1 ] || { n=mrd d=vb1; }
	printf '%s\n' "addr add 10.1.0.$i/24 dev $d" \
		"addr add fd01::$i/64 dev $d nodad" "link set $d up" | ip -n $n -b -
done
link_add mroce_c va1 mrc && link_add mroce_d vb1 mrd &&
	wait_gid mroce_c mrc 10.1.0.1 && wait_gid mroce_d mrd 10.1.0.2
result $? "links with the same addresses in other namespaces"
snap $DEVA $DEVB mroce_c mroce_d
run_tap "first pair" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 100
counter "the second pair heard nothing" mroce_c rcvd_pkts -eq 0
counter "the second pair heard nothing" mroce_d rcvd_pkts -eq 0
bg "$t_tmp/second" "$BIN/storm" -d mroce_c@mrc -d mroce_d@mrd -n 400
pid=$t_bg
run_tap "first pair, with the second at work" "$BIN/storm" -d "$DEVA@$NSA" \
	-d "$DEVB@$NSB" -n 400
reap "$pid" 40
result $? "second pair, with the first at work" "$t_tmp/second"
counter "nothing went astray" $DEVB rcvd_unknown_connection -eq 0

# ---- the first namespace
ip link add mri0 type veth peer name mri1
ip link set mri1 netns "$NSB"
printf '%s\n' "addr add 10.3.0.1/24 dev mri0" "link set mri0 up" | ip -b -
printf '%s\n' "addr add 10.3.0.2/24 dev mri1" "link set mri1 up" | ip -n "$NSB" -b -
link_add mroce_i mri0 && link_add mroce_j mri1 "$NSB" &&
	wait_gid mroce_i '' 10.3.0.1 && wait_gid mroce_j "$NSB" 10.3.0.2
result $? "from the first namespace to another" && {
	run_tap "across" "$BIN/storm" -d mroce_i -d "mroce_j@$NSB" -g 10.3.0.1 \
		-g 10.3.0.2 -n 100
}

# ---- a device without an address here
in_a ibv_devinfo -d mroce_c >"$t_tmp/out" 2>&1
result $? "a device of another namespace can be looked at" "$t_tmp/out"
next_port
! in_a timeout 10 rping -s -a 10.3.0.1 -p $T_PORT >"$t_tmp/out" 2>&1
result $? "its addresses cannot be listened on" "$t_tmp/out"

# ---- one namespace ends in full flight
if [ "$LINK_TYPE" = metaroce ]; then
	ip netns del mrd
	gone() { [ ! -e /sys/class/infiniband/"$1" ]; }
	t_wait 10 gone mroce_d
	result $? "a namespace ends, its link is gone"
	run_tap "the others go on" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 100
fi
rdma link del mroce_i
rdma link del mroce_j

# ---- rdma devices that belong to one namespace
t_clean_links
t_kill
for n in mra mrb mrc mrd; do ip netns del $n 2>/dev/null; done
exclusive() { rdma system set netns exclusive; }
if t_wait 5 exclusive; then
	ip netns add mra
	ip link add mrx0 type dummy
	ip link set mrx0 up
	rdma link add mroce_e type "$LINK_TYPE" netdev mrx0
	timeout $((10 * T_SLOW)) rdma dev set mroce_e netns mra >"$t_tmp/out" 2>&1
	rc=$?
	if [ $rc = 0 ]; then
		ip netns exec mra rdma dev | grep -q mroce_e
		result $? "a device moves to another namespace"
	elif [ $rc = 124 ]; then
		result 1 "moving a device returns"
	else
		skip "a device moves to another namespace" "$(head -n 1 "$t_tmp/out")"
	fi
	ip netns exec mra rdma link del mroce_e 2>/dev/null || rdma link del mroce_e 2>/dev/null
	ip netns del mra
	ip link del mrx0
	t_wait 10 rdma system set netns shared
	result $? "and back to shared devices"
else
	skip "a device moves to another namespace" "namespaces are in use"
fi
t_done
