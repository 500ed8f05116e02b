#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A link is taken away while programs hold it open and use it: at once, and without harm.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "a link is taken away under its users"
if ! only metaroce "open devices"; then t_done; fi
need_bin
gone() { [ ! -e "/sys/class/infiniband/$1" ]; }
ready() { grep -q ready "$1"; }
ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# take DESCRIPTION HOLD-OPTIONS CMD...: hold the device open, then CMD
take() {
	local d=$1 o=$2 t0 t1 pid; shift 2
	# shellcheck disable=SC2086
	bg "$t_tmp/hold" "$BIN/hold" -d "$DEVA@$NSA" $o
	pid=$t_bg
	if ! t_wait 10 ready "$t_tmp/hold"; then
		result 1 "$d: holder is ready" "$t_tmp/hold"
		return
	fi
	t0=$(ms)
	timeout $((20 * T_SLOW)) "$@" >"$t_tmp/out" 2>&1
	result $? "$d: the command succeeds" "$t_tmp/out"
	t1=$(ms)
	[ $((t1 - t0)) -lt $((3000 * T_SLOW)) ]
	result $? "$d: at once ($((t1 - t0)) ms)"
	t_wait 5 gone $DEVA
	result $? "$d: the device is gone"
	reap "$pid" 15
	result $? "$d: the holder sees it go and can clean up" "$t_tmp/hold"
}

topo 1 1500
take "rdma link del, idle" "-n" rdma link del $DEVA
links_up_a() { link_add $DEVA va1 "$NSA" && wait_gid $DEVA "$NSA" $IPA $IP6A; }
links_up_a
take "rdma link del, traffic" "" rdma link del $DEVA
links_up_a
take "rmmod, traffic" "" rmmod "$MODULE"
modprobe "$MODULE"
link_add $DEVB vb1 "$NSB"
links_up_a
take "ip link del, traffic" "" ip -n "$NSA" link del va1
veth_pair 1 1500
link_del $DEVB 2>/dev/null
links_up || { rdma link | diag; result 1 "links are up again"; t_done; }

# ---- two ends under load
storm_then() { # DESCRIPTION TIMEOUT CMD...
	local d=$1 t=$2 pid; shift 2
	bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -x -t 60 \
		-q 4 -T "$t" -R 3
	pid=$t_bg
	snap $DEVA
	t_wait 10 grown $DEVA sent_pkts 500
	result $? "$d: there is traffic" "$t_tmp/storm"
	timeout $((20 * T_SLOW)) "$@" >"$t_tmp/out" 2>&1
	result $? "$d: the command succeeds" "$t_tmp/out"
	reap "$pid" 30
	result $? "$d: both ends get an error, all requests complete" "$t_tmp/storm"
}
storm_then "delete one end" 12 rdma link del $DEVB
link_add $DEVB vb1 "$NSB" && wait_gid $DEVB "$NSB" $IPB $IP6B
result $? "the link can be added again"
run_tap "afterwards" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 200
# Retries would take longer than the device has: what ends the requests is that
# it can never send again
storm_then "delete its netdev" 21 ip -n "$NSB" link del vb1
veth_pair 1 1500
rdma link del $DEVA 2>/dev/null
rdma link del $DEVB 2>/dev/null
links_up
result $? "new netdevs and links"
run_tap "afterwards" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 200

# ---- a whole namespace, the device opened from outside it
bg "$t_tmp/watch" stdbuf -oL ibv_asyncwatch -d $DEVB
pid=$t_bg
t_wait 5 grep -q . "$t_tmp/watch"
t_kill_tree "$t_anchor_b"
run "delete a namespace whose device is open" ip netns del "$NSB"
t_wait 10 gone $DEVB
result $? "its device is gone"
kill "$pid" 2>/dev/null
reap "$pid" 5
ip netns add "$NSB"

# ---- programs of others: they end, and with an error
ip -n "$NSA" link del va1 2>/dev/null
ip netns exec "$NSB" sleep 100000 & t_anchor_b=$!
t_pids+=("$t_anchor_b")
disown "$t_anchor_b"
ip -n "$NSB" link set lo up
veth_pair 1 1500
rdma link del $DEVA 2>/dev/null
links_up
result $? "both again"
next_port
bg "$t_tmp/rping" in_b rping -s -a $IPB -p $T_PORT -P
pid=$t_bg
t_wait 10 srv_cm $T_PORT
run "rdma link del under an idle rping server" rdma link del $DEVB
kill "$pid" 2>/dev/null
t_wait 5 t_gone "$pid"
result $? "rping can be ended"
reap "$pid" 1
link_add $DEVB vb1 "$NSB" && wait_gid $DEVB "$NSB" $IPB $IP6B
next_port
bg "$t_tmp/bw" in_b ib_send_bw -d $DEVB -x "$(gid_index $DEVB $IPB)" -F -p $T_PORT -D 30
t_wait 10 srv_tcp $T_PORT
server=$t_bg
bg "$t_tmp/bwc" in_a ib_send_bw -d $DEVA -x "$(gid_index $DEVA $IPA)" -F -p $T_PORT -D 30 $IPB
snap $DEVA
t_wait 10 grown $DEVA sent_pkts 500
run "rdma link del under ib_send_bw" rdma link del $DEVA
# perftest may wait for its peer for ever; what counts is that it can be ended
for pid in "$t_bg" "$server"; do
	t_kill_tree "$pid"
	t_wait 5 t_gone "$pid"
	result $? "it can be killed"
	reap "$pid" 1
done

# ---- a user that is killed while the link goes
link_add $DEVA va1 "$NSA" && wait_gid $DEVA "$NSA" $IPA
n=$(scale 10 3)
for ((i = 0; i < n; i++)); do
	bg "$t_tmp/hold" "$BIN/hold" -d "$DEVA@$NSA"
	t_wait 10 ready "$t_tmp/hold" || break
	kill -KILL "$t_bg"
	link_del $DEVA || break
	reap "$t_bg" 5
	{ link_add $DEVA va1 "$NSA" && wait_gid $DEVA "$NSA" $IPA; } || break
done
[ "$i" = "$n" ]
result $? "$n users killed while the link is deleted" "$t_tmp/hold"
t_done
