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

# shellcheck disable=SC2317
joined() { in_b ip maddr show dev "$1" | grep -q 239.1.2.3; }
left() { ! joined "$1"; }
mckey_pair() { # DESCRIPTION ADDR_A ADDR_B NETDEV_B
	local pid
	bg "$t_tmp/mckey" in_b timeout $((20 * T_SLOW)) mckey -m 239.1.2.3 -b "$3" -C 5
	pid=$t_bg
	if [ "$LINK_TYPE" = metaroce ]; then
		t_wait 5 joined "$4"
		result $? "$1: the group is joined on the netdev" "$t_tmp/mckey"
	else
		t_wait 2 joined "$4"
	fi
	in_a timeout $((20 * T_SLOW)) mckey -m 239.1.2.3 -b "$2" -s -C 5 >"$t_tmp/out" 2>&1
	result $? "$1: sender" "$t_tmp/out"
	reap "$pid" 20
	result $? "$1: receiver" "$t_tmp/mckey"
	t_wait 5 left "$4"
	result $? "$1: the group is left"
}
! command -v mckey >/dev/null || mckey_pair "mckey" $IPA $IPB vb1

# An address on a VLAN: what is sent from it leaves with that tag, to a group as well
vlan() {
	ip -n "$NSA" link add link va1 name mrv.100 type vlan id 100 &&
	ip -n "$NSB" link add link vb1 name mrv.100 type vlan id 100 &&
	ip -n "$NSA" link set mrv.100 up && ip -n "$NSB" link set mrv.100 up &&
	ip -n "$NSA" addr add 10.100.0.1/24 dev mrv.100 &&
	ip -n "$NSB" addr add 10.100.0.2/24 dev mrv.100 &&
	ip -n "$NSB" addr add 239.1.2.3/32 dev mrv.100 autojoin &&
	ip -n "$NSA" addr add fd64::1/64 dev mrv.100 nodad &&
	ip -n "$NSB" addr add fd64::2/64 dev mrv.100 nodad &&
	ip -n "$NSB" addr add ff0e::1234/128 dev mrv.100 autojoin &&
	wait_gid $DEVA "$NSA" 10.100.0.1 fd64::1 && wait_gid $DEVB "$NSB" 10.100.0.2 fd64::2
}
if only metaroce "VLAN"; then
	if vlan >"$t_tmp/out" 2>&1; then
		bg "$t_tmp/tags" in_a "$HERE/wire.py" tags va1 239.1.2.3 100
		t_wait 5 grep -q ready "$t_tmp/tags"
		run_tap "VLAN" "$BIN/ud" -d "$DEVA@$NSA" -d "$DEVB@$NSB" \
			-g 10.100.0.1 -g 10.100.0.2
		run_tap "VLAN, IPv6" "$BIN/ud" -d "$DEVA@$NSA" -d "$DEVB@$NSB" \
			-6 -g fd64::1 -g fd64::2
		ip -n "$NSB" addr del 239.1.2.3/32 dev mrv.100
		! command -v mckey >/dev/null ||
			mckey_pair "VLAN: mckey" 10.100.0.1 10.100.0.2 mrv.100
		n=$(grep -c "vlan 100" "$t_tmp/tags")
		[ "$n" -ge 4 ] && ! grep -q "vlan 0" "$t_tmp/tags"
		result $? "VLAN: datagrams to a group leave with its tag ($n)" "$t_tmp/tags"
	else
		skip "VLAN" "$(head -n 1 "$t_tmp/out")"
	fi
fi
t_done
