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

# bw PORT FAMILY LOG N: writes from a to b, N times 524 kbit
bw() {
	local port=$1 log=$3 b=$IPB a=$IPA srv
	local opt=(-F -p "$port" -s 65536 -t 16 -n "$4" --report_gbits)
	[ "$2" = 4 ] || b=$IP6B a=$IP6A
	in_b timeout -k 2 $((T_LIMIT * T_SLOW)) ib_write_bw -d $DEVB \
		-x "$(gid_index $DEVB $b)" "${opt[@]}" >"$log.server" 2>&1 &
	srv=$!
	t_wait 10 srv_ready $srv tcp "$port"
	in_a timeout -k 2 $((T_LIMIT * T_SLOW)) ib_write_bw -d $DEVA \
		-x "$(gid_index $DEVA $a)" "${opt[@]}" $IPB >"$log" 2>&1
	wait $srv
}
# Mb/s
value() {
	awk '/BW average/ { h = 1; next }
	     h && NF >= 4 && $1 + 0 > 0 { print int($4 * 1000); exit }' "$1"
}

snap $DEVA $DEVB
bw 18700 4 "$t_tmp/free" 300
counter "nobody is held back" $DEVA paced_waits -eq 0

offer $DEVB 300000
snap $DEVA $DEVB
bw 18701 4 "$t_tmp/one" 300
v=$(value "$t_tmp/one")
[ "${v:-999}" -le 310 ]
result $? "one sender keeps to 300 Mb/s (${v:-none}, before $(value "$t_tmp/free"))" "$t_tmp/one"
[ "${v:-0}" -ge 100 ]
result $? "and is not held back much more" "$t_tmp/one"
counter "one sender" $DEVA paced_waits -ge 100
counter "its receiver" $DEVB paced_waits -eq 0

# Two connections, of one address family each, long enough to be together
bw 18702 4 "$t_tmp/v4" 1500 &
p4=$!
bw 18703 6 "$t_tmp/v6" 1500
wait $p4
v=$(value "$t_tmp/v4") w=$(value "$t_tmp/v6")
[ $((${v:-999} + ${w:-999})) -le 350 ]
result $? "two keep to it together ($v + $w)" "$t_tmp/v6"
[ "${v:-0}" -gt 0 ] && [ "${w:-0}" -gt 0 ] &&
	[ "$v" -le $((w * 2)) ] && [ "$w" -le $((v * 2)) ]
result $? "and share it" "$t_tmp/v4"

offer $DEVB 0
bw 18704 4 "$t_tmp/again" 300
v=$(value "$t_tmp/again")
[ "${v:-0}" -gt 310 ] || [ "$(value "$t_tmp/free")" -le 320 ]
result $? "without an offer it is as fast as before ($v)" "$t_tmp/again"
t_done
