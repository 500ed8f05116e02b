#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A network that loses nothing: nothing is sent twice.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "lossless"
need_bin
topo 1 9000
in_order

# A host that lets the guest wait is indistinguishable from a network that does.
# A short wait is met by a probe, which says again what was said; a longer one by a
# timeout, which may say more. Take a run without those, if there is one in five:
# no timeout, and a probe for one in 50 packets, and three.
calm() {
	local d
	for d in $DEVA $DEVB; do
		unchanged "$d" path_timeouts path_rehomed || return
		t_delta "$d" sent_pkts
		set -- $((REPLY / 50 + 3))
		t_delta "$d" tail_probes
		[ "$REPLY" -le "$1" ] || return
	done
}

# few_of DESCRIPTION DEV NAME N: one in N packets, and three
few_of() {
	t_delta "$2" sent_pkts
	counter "$1" "$2" "$3" -le $((REPLY / $4 + 3))
}

# lossless DESCRIPTION CMD...: nothing may be sent twice, or look so
lossless() {
	local d=$1 dev c i calm=''; shift
	for i in 1 2 3 4 5; do
		snap $DEVA $DEVB
		t_limit $((T_LIMIT * 2)) "$@" >"$t_tmp/out" 2>&1 ||
			{ result 1 "$d" "$t_tmp/out"; return; }
		[ "$LINK_TYPE" = metaroce ] || break
		! calm || { calm=1; break; }
	done
	ok "$d"
	if ! only metaroce "$d: nothing looks lost"; then return; fi
	# Whatever the host does: nothing is lost, nothing is overtaken
	for dev in $DEVA $DEVB; do
		for c in packets_lost spurious_retx rcvd_reordered rcvd_bad_ack \
			rcvd_bad_checksum rcvd_bad_tag rcvd_beyond_window \
			retry_exceeded_err send_dropped; do
			counter "$d, ${dev##*_}" "$dev" $c -eq 0
		done
	done
	# Above that an idle host is never; a transport that probes or times out for
	# no reason is above it at once
	for dev in $DEVA $DEVB; do
		few_of "$d, ${dev##*_}" "$dev" tail_probes 4
		few_of "$d, ${dev##*_}" "$dev" path_timeouts 10
		if [ -n "$calm" ]; then
			t_delta "$dev" tail_probes
			counter "$d, ${dev##*_}" "$dev" retransmitted_pkts -le $REPLY
		else
			skip "$d, ${dev##*_}: nothing but a few probes sent twice" \
				"the host was busy in each of five runs"
		fi
	done
}

storm() { "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" "$@"; }
writes() {
	next_port
	pair_run "tcp $T_PORT" -- ib_write_bw -d "$DEVB" -x "$(gid_index $DEVB $IPB)" \
		-F -p $T_PORT "$@" -- ib_write_bw -d $DEVA \
		-x "$(gid_index $DEVA $IPA)" -F -p $T_PORT "$@" $IPB && return
	cat "$t_tmp/client" "$t_tmp/server"
	return 1
}

lossless "4 QPs" storm -q 4 -n "$(scale 1000 200)" -e
lossless "1 QP, polling" storm -n "$(scale 500 100)"
lossless "writes" writes -n "$(scale 1000 100)" -s 65536
counter "packets left" $DEVA sent_pkts -ge 100
counter "packets arrived" $DEVB rcvd_pkts -ge 100

# A long way without loss
netem_both delay 5ms
lossless "10 ms there and back" storm -q 4 -n "$(scale 500 100)" -e
netem_off
t_done
