#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# MTUs from small to large, changed while the link is in use; packets are as large
# as the MTU allows.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "MTU"
need_bin
topo 1 1500
amtu() { ibv_devinfo -d "$DEVA" | sed -n 's/.*active_mtu:[[:space:]]*\([0-9]*\).*/\1/p'; }
set_mtu() {
	ip -n "$NSA" link set va1 mtu "$1"
	ip -n "$NSB" link set vb1 mtu "$1"
	[ "$1" -lt 1280 ] || addr6_back
}

for pair in 1500:1024 9000:4096 4200:4096 2200:2048 1280:1024 700:512 600:512; do
	m=${pair%:*}
	set_mtu "$m"
	[ "$m" -ge 1280 ] && fam='-4 -6' || fam=-4
	is_amtu() { [ "$(amtu)" = "${pair#*:}" ]; }
	if [ "$m" != 600 ]; then
		t_wait 3 is_amtu
		result $? "active_mtu at MTU $m is ${pair#*:}"
	fi
	for f in $fam; do
		run_tap "MTU $m, IPv${f#-}" "$BIN/storm" -d "$DEVA@$NSA" \
			-d "$DEVB@$NSB" "$f" -n "$(scale 150)"
	done
done

# ---- full packets: bytes a packet
full() { # MTU
	local p b
	set_mtu "$1"
	# A connection keeps what it was made with; start a new one
	t_clean_links
	t_gid=()
	links_up >"$t_tmp/out" 2>&1
	result $? "MTU $1: links" "$t_tmp/out" || return 1
	snap $DEVA $DEVB
	perf "MTU $1: 1 MiB writes" ib_write_bw -n 20 -s 1048576
	t_delta $DEVA sent_pkts
	p=$REPLY
	t_delta $DEVA sent_bytes
	b=$((REPLY / (p ? p : 1)))
	note "$b bytes a packet"
	[ "$b" -gt $(($1 - 400)) ]
	result $? "MTU $1: packets are full"
}
if only metaroce "full packets"; then
	full 1500
	full 9000
fi

# ---- changed under traffic
set_mtu 9000
t_clean_links
t_gid=()
links_up >"$t_tmp/out" 2>&1
result $? "links at MTU 9000" "$t_tmp/out"
for m in "9000 1500" "1500 9000"; do
	# shellcheck disable=SC2086
	set -- $m
	set_mtu "$1"
	bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -t 3
	pid=$t_bg
	snap $DEVA
	t_wait 10 grown $DEVA sent_pkts 200
	set_mtu "$2"
	reap "$pid" 40
	result $? "MTU from $1 to $2 under traffic" "$t_tmp/storm"
done
t_done
