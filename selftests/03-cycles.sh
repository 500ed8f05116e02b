#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Add, traffic, delete, over and over, while others open and close the devices.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "cycles of add, traffic, delete"
need_bin
n=${SELFTEST_CYCLES:-$(scale 100 10)}
net_up 1 1500 || { result 1 topology; t_done; }
bg "$t_tmp/open" "$BIN/hold" -d none -L 10000
opener=$t_bg
[ "$LINK_TYPE" = metaroce ] || { t_kill_tree "$opener"; reap "$opener" 5; }
t0=$SECONDS
for ((i = 0; i < n; i++)); do
	{ link_add $DEVA va1 "$NSA" && link_add $DEVB vb1 "$NSB"; } >"$t_tmp/out" 2>&1 ||
		{ echo "add failed" >>"$t_tmp/out"; break; }
	timeout $((30 * T_SLOW)) "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 40 -s 20000 \
		-q $((1 + i % 3)) >"$t_tmp/out" 2>&1 || break
	# Either end first; now and then the netdev instead
	case $((i % 4)) in
	0) link_del $DEVA && link_del $DEVB ;;
	1) link_del $DEVB && link_del $DEVA ;;
	2) link_del $DEVA & link_del $DEVB && wait $! ;;
	3) if [ "$LINK_TYPE" = metaroce ]; then
		ip -n "$NSA" link del va1 && veth_pair 1 1500
	   else
		link_del $DEVA && link_del $DEVB
	   fi ;;
	esac >"$t_tmp/out" 2>&1 || { echo "delete failed" >>"$t_tmp/out"; break; }
	t_wait 5 t_no_links ||
		{ { echo "links are left"; rdma link; } >>"$t_tmp/out"; break; }
	t_gid=()
done
[ "$i" = "$n" ]
result $? "$n cycles ($((SECONDS - t0)) s)" "$t_tmp/out"
[ "$i" = "$n" ] || note "in cycle $i"
if [ "$LINK_TYPE" = metaroce ]; then
	! t_gone "$opener"
	result $? "the process that opens and closes is still alive" "$t_tmp/open"
	kill -KILL "$opener"
	reap "$opener" 5
fi
t_done
