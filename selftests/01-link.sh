#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Adding, deleting, and all the ways to do it wrong.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "life cycle of a link"
state() { sed 's/.*: //' "/sys/class/infiniband/$1/ports/1/state"; }
is() { [ "$(state "$1")" = "$2" ]; }

net_up 1 1500 || { result 1 topology; t_done; }
a() { in_a rdma link add "$1" type "$LINK_TYPE" netdev "$2"; }

run_fail "no such netdev" "No such device|Invalid|not exist|Cannot find" \
	in_a rdma link add mroce_x type "$LINK_TYPE" netdev nope
run_fail "no such type" "not supported|Invalid|unknown|No such" \
	in_a rdma link add mroce_x type nonesuch netdev va1
run_fail "a name that is too long" "" \
	in_a rdma link add "$(printf 'x%.0s' {1..80})" type "$LINK_TYPE" netdev va1
run_fail "an ordinary user" "not permitted|denied" \
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all -- \
	rdma link add mroce_x type "$LINK_TYPE" netdev lo
run "add" a mroce_x va1
t_wait 5 port_active mroce_x
result $? "the port is active"
run_fail "the same name again" "File exists|exists" a mroce_x va1
if only metaroce "a second link on the same netdev"; then
	run_fail "a second link on the same netdev" "File exists|exists" a mroce_y va1
fi
run_fail "the same name on another netdev" "File exists|exists" \
	in_b rdma link add mroce_x type "$LINK_TYPE" netdev vb1
run "delete" rdma link del mroce_x
[ ! -e /sys/class/infiniband/mroce_x ]
result $? "it is gone"
run_fail "delete again" "No such|Invalid|Wrong" rdma link del mroce_x
run "the name can be used again" a mroce_x va1
rdma link del mroce_x

# ---- netdevs that cannot carry one
if in_a ip link add link va1 name mrv.100 type vlan id 100 2>/dev/null; then
	in_a ip link set mrv.100 up
	run_fail "a VLAN netdev is refused" "" a mroce_v mrv.100
	in_a ip link del mrv.100
else
	skip "a VLAN netdev is refused" "no VLANs"
fi
if [ "$LINK_TYPE" = metaroce ] &&
   in_a ip link add mrt0 type ipip local $IPA remote $IPB 2>/dev/null; then
	in_a ip link set mrt0 up
	run_fail "a tunnel is refused" "" a mroce_t mrt0
	in_a ip link del mrt0
else
	skip "a tunnel is refused" "no tunnels"
fi
t_no_links
result $? "nothing is left of failed additions"

# ---- state follows the netdev
in_a ip link set va1 down
run "add on a netdev that is down" a mroce_x va1
is mroce_x DOWN
result $? "its port is DOWN"
in_a ip link set va1 up
t_wait 5 port_active mroce_x
result $? "it becomes ACTIVE with the netdev"
bg "$t_tmp/events" stdbuf -oL ibv_asyncwatch -d mroce_x
watch=$t_bg
asyncwatch_on() { [ -s "$t_tmp/events" ]; }
t_wait 5 asyncwatch_on
in_b ip link set vb1 down
t_wait 5 is mroce_x DOWN
result $? "DOWN when the carrier is lost"
# The kernel tells of carriers once a second at most: a flap in between is none
n_events() { [ "$(grep -c "$1" "$t_tmp/events")" = "$2" ]; }
[ "$LINK_TYPE" != metaroce ] || t_wait 10 n_events PORT_ERR 1
in_b ip link set vb1 up
t_wait 5 port_active mroce_x
result $? "ACTIVE when it is back"
if only metaroce "port events"; then
	t_wait 10 n_events PORT_ACTIVE 1
	result $? "one event for port active" "$t_tmp/events"
	t_wait 3 n_events PORT_ERR 1
	result $? "one event for port error" "$t_tmp/events"
fi
kill "$watch" 2>/dev/null
reap "$watch" 5

# ---- other things that happen to netdevs
in_a ip link set va1 down
in_a ip link set va1 name mrren
in_a ip link set mrren up
t_wait 5 port_active mroce_x
result $? "the link survives a new name of its netdev"
in_a ip link set mrren down
in_a ip link set mrren name va1
in_a ip link set va1 address 02:00:00:00:0a:01
in_a ip link set va1 up
t_wait 5 port_active mroce_x
result $? "and a new MAC address"
g1=$(cat /sys/class/infiniband/mroce_x/node_guid)
in_a ip link set va1 address 02:00:00:00:0a:02
[ "$g1" = "$(cat /sys/class/infiniband/mroce_x/node_guid)" ]
result $? "its GUID stays"

gone() { [ ! -e "/sys/class/infiniband/$1" ]; }
run "delete the netdev under the link" ip -n "$NSA" link del va1
t_wait 5 gone mroce_x
result $? "the link goes with it"

# ---- and the namespace
ip netns add mrc
ip -n mrc link add mrd0 type dummy
ip -n mrc addr add 10.8.0.1/24 dev mrd0
ip -n mrc link set mrd0 up
run "add in a third namespace" \
	ip netns exec mrc rdma link add mroce_c type "$LINK_TYPE" netdev mrd0
ip netns del mrc
t_wait 10 gone mroce_c
result $? "the link goes with its namespace"
n=$(scale 10 3)
for ((i = 0; i < n; i++)); do
	unshare -n sh -c "ip link add d0 type dummy; ip addr add 10.9.9.1/24 dev d0
		ip link set d0 up; rdma link add mroce_n$i type $LINK_TYPE netdev d0" \
		>"$t_tmp/out" 2>&1 || break
done
[ "$i" = "$n" ]
result $? "$n namespaces that end with a link in them" "$t_tmp/out"
none() { ! rdma link | grep -q mroce_n; }
t_wait 10 none
result $? "none of these links is left"

# ---- a netdev that moves away
net_c() { ip netns add mrc && ip -n "$NSA" link add mrm0 type dummy &&
	ip -n "$NSA" link set mrm0 up; }
net_c
a mroce_m mrm0
run "move the netdev of a link to another namespace" \
	ip -n "$NSA" link set mrm0 netns mrc
if ! gone mroce_m; then
	t_wait 3 gone mroce_m || is mroce_m DOWN
fi
gone mroce_m || [ "$(state mroce_m)" = DOWN ]
result $? "the link is gone or down"
link_del mroce_m 2>/dev/null
run "a link in the new namespace" \
	ip netns exec mrc rdma link add mroce_m type "$LINK_TYPE" netdev mrm0
rdma link del mroce_m
t_done
