#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Malformed and stray packets: counted by reason, dropped, without effect.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "malformed and stray packets"
if ! only metaroce "our wire format"; then t_done; fi
need python3
need_bin
topo 1 1500
sendto() { in_a "$HERE/wire.py" "$@" >"$t_tmp/sent" 2>"$t_tmp/err"; }

# all_counted DESCRIPTION: what wire.py says was sent must be counted
all_counted() {
	local c n
	[ -s "$t_tmp/sent" ] || { result 1 "$1: sent" "$t_tmp/err"; return; }
	while read -r c n; do
		t_wait 3 grown $DEVB "$c" "$n"
		counter "$1" $DEVB "$c" -ge "$n"
	done <"$t_tmp/sent"
}
one_family() { # SRC DST NAME
	snap $DEVA $DEVB
	sendto bad "$1" "$2"
	result $? "$3: malformed packets" "$t_tmp/err"
	all_counted "$3"
	counter "$3: nobody was answered" $DEVB resets_sent -eq 0
	snap $DEVB
	sendto stray "$1" "$2"
	result $? "$3: stray packets" "$t_tmp/err"
	all_counted "$3"
	t_delta $DEVB control_sent
	[ "$REPLY" -le 40 ]
	result $? "$3: few answers ($REPLY)"
}
one_family $IPA $IPB IPv4
one_family $IP6A $IP6B IPv6

# While there is traffic, at random, to both ends
bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q 4 -t "$(scale 8 4)" -T 18
pid=$t_bg
n=$(scale 5000 1000)
sendto fuzz $IPA $IPB "$n"
result $? "$n random packets" "$t_tmp/err"
diag <"$t_tmp/err"
sendto fuzz $IP6A $IP6B $((n / 4))
result $? "$((n / 4)) random packets, IPv6" "$t_tmp/err"
in_b "$HERE/wire.py" fuzz $IPB $IPA $((n / 4)) >/dev/null 2>"$t_tmp/err"
result $? "$((n / 4)) random packets, other end" "$t_tmp/err"
reap "$pid" 60
result $? "traffic goes on" "$t_tmp/storm"
run_tap "afterwards" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -n 100
t_done
