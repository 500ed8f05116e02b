#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Forged packets for connections at work: wrong source, tag, id, sequence.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "forged packets"
if ! only metaroce "our wire format"; then t_done; fi
need python3
need_bin
topo 1 1500
# The forger takes what it sees for one packet
ip -n "$NSA" link set va1 gso_max_segs 1
# Forger in the middle: on the sender's netdev, with the sender's address
for fam in 4 6; do
	case $fam in 4) dst=$IPB ;; *) dst=$IP6B ;; esac
	snap $DEVA $DEVB
	bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -$fam -q 4 \
		-t $((3 + 4 * T_SLOW)) -T 18
	pid=$t_bg
	t_wait 10 grown $DEVA sent_pkts 100
	in_a "$HERE/wire.py" forge va1 $dst >"$t_tmp/sent" 2>"$t_tmp/err"
	result $? "IPv$fam: forged copies of live packets" "$t_tmp/err"
	while read -r c n; do
		t_wait 3 grown $DEVB "$c" "$n"
		counter "IPv$fam" $DEVB "$c" -ge "$n"
	done <"$t_tmp/sent"
	counter "IPv$fam: copies" $DEVB duplicate_request -ge 1
	reap "$pid" 60
	result $? "IPv$fam: the connection does not mind" "$t_tmp/storm"
	counter "IPv$fam: it is the same connection" $DEVA connections_lost -eq 0
done

# DATA, SEND_IMM, LAST | IMM: from now on it is SEND_INV, LAST | INV
inv() {
	tc -n "$NSA" qdisc add dev va1 clsact &&
	tc -n "$NSA" filter add dev va1 egress protocol ip u32 \
		match ip protocol 17 0xff match u8 0x11 0xff at 28 \
		match u8 4 0xff at 29 match u8 9 9 at 31 \
		action pedit munge offset 29 u8 set 5 \
		munge offset 31 u8 set 0x10 retain 0x18
}
if inv 2>"$t_tmp/out"; then
	snap $DEVB
	run_tap "changed on the way" "$BIN/badargs" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -I
	counter "UC: send_inv" $DEVB uc_dropped_pkts -eq 1
else
	skip "changed on the way" "$(head -n 1 "$t_tmp/out")"
fi
t_done
