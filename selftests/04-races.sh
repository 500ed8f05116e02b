#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Everything at once: links, netdevs and addresses come and go under programs and
# under those who only look.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "races of link, netdev, address and users"
need_bin
secs=$(scale 12 4)
net_up 2 1500 || { result 1 topology; t_done; }
loop() { # CMDS: in the background for $secs seconds
	bg /dev/null timeout -k 2 $((secs + 20 * T_SLOW)) bash -c '
		end=$((SECONDS + $2))
		while [ $SECONDS -lt $end ]; do eval "$1"; done' - "$1" "$secs"
	loops+=("$t_bg")
}
loops=()
A="ip netns exec $NSA" nA="ip -n $NSA" nB="ip -n $NSB"
loop "$A rdma link add mroce_1 type $LINK_TYPE netdev va1; rdma link del mroce_1"
loop "$A rdma link add mroce_2 type $LINK_TYPE netdev va2; $nA link del va2
	ip link add va2 netns $NSA type veth peer name vb2 netns $NSB
	$nA link set va2 up; $nB link set vb2 up"
loop "$A rdma link add mroce_3 type $LINK_TYPE netdev va1; $A rdma link add mroce_4 type $LINK_TYPE netdev va2"
loop "$nA addr flush dev va1; $nA addr add 10.1.0.1/24 dev va1
	$nA addr add fd01::1/64 dev va1 nodad; $nB link set vb1 down; $nB link set vb1 up"
loop "rdma link; rdma dev; rdma res; cat /sys/class/infiniband/*/ports/1/{state,rate,phys_state,hw_counters/*,gids/*}"
if [ "$LINK_TYPE" = metaroce ]; then
	loop "unshare -n sh -c 'ip link add d0 type dummy; ip link set d0 up
		rdma link add mroce_n\$\$ type $LINK_TYPE netdev d0'"
	bg "$t_tmp/open" "$BIN/hold" -d none -L "$secs"
	loops+=("$t_bg")
fi
bad=0
for p in "${loops[@]}"; do
	reap "$p" $((secs + 30))
	rc=$?
	[ $rc = 0 ] || [ $rc = 1 ] || bad=$rc
done
result "$bad" "$secs s of it, nobody hung"
t_clean_links
result $? "all links can be deleted" "$t_tmp/clean"
# And it still works
ip -n "$NSB" link set vb1 up
addr6_back
ip -n "$NSA" addr flush dev va1
printf '%s\n' "addr add $IPA/24 dev va1" "addr add $IP6A/64 dev va1 nodad" |
	ip -n "$NSA" -b -
links_up >"$t_tmp/out" 2>&1
result $? "links can be added" "$t_tmp/out"
run_tap "afterwards" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 100
t_done
