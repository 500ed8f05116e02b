#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A receiver says what it can take; senders keep to it and share it.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "rate hints"
if ! only metaroce "rate hints"; then t_done; fi
need ib_write_bw
topo 1 9000
grep -q debugfs /proc/mounts || mount -t debugfs none /sys/kernel/debug
offer() { echo "$2" >"/sys/kernel/debug/metaroce/$1/offer_kbps"; } 2>"$t_tmp/out"
if ! offer $DEVB 0; then
	skip "what is offered" "no debugfs"
	t_done
fi
[ "$(cat /sys/kernel/debug/metaroce/$DEVA/offer_kbps)" = 0 ]
result $? "veth: nothing is offered"

# bw PORT FAMILY LOG N: writes from a to b, N times 524 kbit; how long, in LOG.ms.
# A guest's clocks are not good enough for what perftest itself says
bw() {
	local port=$1 log=$3 b=$IPB a=$IPA srv rc t0
	local opt=(-F -p "$port" -s 65536 -t 16 -n "$4")
	[ "$2" = 4 ] || b=$IP6B a=$IP6A
	in_b timeout -k 2 $((T_LIMIT * T_SLOW)) ib_write_bw -d $DEVB \
		-x "$(gid_index $DEVB $b)" "${opt[@]}" >"$log.server" 2>&1 &
	srv=$!
	t_wait 10 srv_ready $srv tcp "$port"
	t0=${EPOCHREALTIME/./}
	in_a timeout -k 2 $((T_LIMIT * T_SLOW)) ib_write_bw -d $DEVA \
		-x "$(gid_index $DEVA $a)" "${opt[@]}" $IPB >"$log" 2>&1
	rc=$?
	echo $(((${EPOCHREALTIME/./} - t0) / 1000)) >"$log.ms"
	wait $srv && return $rc
}
# mean: Mb/s that a sends, over a second and a half
rate() {
	local b t
	t_cnt $DEVA sent_bytes; b=$REPLY t=${EPOCHREALTIME/./}
	nap 1.5
	t_cnt $DEVA sent_bytes
	mean=$(((REPLY - b) * 8 / (${EPOCHREALTIME/./} - t)))
}

snap $DEVA $DEVB
bw 18700 4 "$t_tmp/free" 300
result $? "writes" "$t_tmp/free"
counter "nobody is held back" $DEVA paced_waits -eq 0

offer $DEVB 300000
snap $DEVA $DEVB
bw 18701 4 "$t_tmp/one" 1500 &
p=$!
t_wait 10 grown $DEVA sent_bytes 5000000
rate
[ $mean -le 310 ] && [ $mean -gt 10 ]
result $? "one sender keeps to 300 Mb/s ($mean)"
wait $p
result $? "and comes to its end ($(cat "$t_tmp/one.ms") ms; free: $(cat "$t_tmp/free.ms") for a fifth)" "$t_tmp/one"
counter "one sender" $DEVA paced_waits -ge 100
counter "its receiver" $DEVB paced_waits -eq 0

# Two connections, of one address family each, long enough to be together
snap $DEVA $DEVB
bw 18702 4 "$t_tmp/v4" 1000 &
p4=$!
bw 18703 6 "$t_tmp/v6" 1000 &
p6=$!
t_wait 10 grown $DEVA sent_bytes 10000000
rate
[ $mean -le 330 ] && [ $mean -gt 10 ]
result $? "two keep to it together ($mean)"
wait $p4 && wait $p6
result $? "and come to their ends" "$t_tmp/v6"
v=$(cat "$t_tmp/v4.ms") w=$(cat "$t_tmp/v6.ms")
[ "$v" -le $((w * 2)) ] && [ "$w" -le $((v * 2)) ]
result $? "after about as long ($v and $w ms)"

offer $DEVB 0
bw 18704 4 "$t_tmp/again" 300
[ "$(cat "$t_tmp/again.ms")" -lt $((v / 2)) ]
result $? "without an offer nobody waits ($(cat "$t_tmp/again.ms") ms for a third)"
t_done
