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
t_done
