#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rdma_rxe and this driver at work on the same netdev; either may be unloaded.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "next to rdma_rxe"
if ! only metaroce "coexistence"; then t_done; fi
need_bin
if ! modprobe rdma_rxe 2>"$t_tmp/out"; then
	skip "rdma_rxe" "this kernel has none"
	t_done
fi
topo 1 1500
in_a rdma link add rxe_a type rxe netdev va1 2>"$t_tmp/out" &&
in_b rdma link add rxe_b type rxe netdev vb1 2>>"$t_tmp/out"
result $? "rxe links on the same netdevs" "$t_tmp/out"
wait_gid rxe_a "$NSA" $IPA && wait_gid rxe_b "$NSB" $IPB
result $? "their addresses"
# The other way round: rxe first
link_del $DEVA
link_del $DEVB
links_up
result $? "our links on netdevs that have a rxe link"
link_del rxe_a
[ -e /sys/class/infiniband/$DEVA ] && [ ! -e /sys/class/infiniband/rxe_a ]
result $? "deleting the rxe link leaves ours"
in_a rdma link add rxe_a type rxe netdev va1
wait_gid rxe_a "$NSA" $IPA

bg "$t_tmp/ours" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 600 -e
ours=$t_bg
# On kernels up to 6.12 rxe has traffic in the first namespace only
if [ "$(uname -r | cut -d. -f1)" -ge 7 ]; then
	run_tap "rxe, at the same time" "$BIN/storm" -d "rxe_a@$NSA" -d "rxe_b@$NSB" -n 100 -e
else
	skip "rxe, at the same time" "rxe of this kernel knows no namespaces"
fi
reap "$ours" 40
result $? "ours, at the same time" "$t_tmp/ours"

# Same driver id: unloading rdma_rxe takes our links, too; they can come again
run "unload rdma_rxe" rmmod rdma_rxe
t_wait 5 t_no_links
result $? "all links are gone"
t_gid=()
links_up
result $? "ours can be added again"
run_tap "afterwards" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 200

# With traffic while it happens
modprobe rdma_rxe
bg "$t_tmp/ours" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -x -t 60
ours=$t_bg
snap $DEVA
t_wait 10 grown $DEVA sent_pkts 200
run "unload rdma_rxe under our traffic" rmmod rdma_rxe
reap "$ours" 20
result $? "both ends see the device go" "$t_tmp/ours"
t_gid=()

# And ours under rxe's
modprobe rdma_rxe
in_a rdma link add rxe_a type rxe netdev va1
links_up >/dev/null 2>&1
run "unload ours" rmmod "$MODULE"
t_wait 5 test ! -e /sys/class/infiniband/$DEVA
[ -e /sys/class/infiniband/rxe_a ]
result $? "the rxe link stays"
rdma link del rxe_a
modprobe "$MODULE"
rmmod rdma_rxe
t_done
