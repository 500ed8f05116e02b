#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets are sprayed over several paths; a path that dies moves to another port.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "paths"
if ! only metaroce "paths"; then t_done; fi
need python3 tc
need_bin
topo 1 1500
bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q 4 -t 6 -T 18
pid=$t_bg
snap $DEVA $DEVB
t_wait 10 grown $DEVA sent_pkts 200
in_b "$HERE/wire.py" ports vb1 2 >"$t_tmp/ports" 2>&1
n=$(grep -c '^[0-9]* [0-9]*$' "$t_tmp/ports")
[ "$n" -ge 2 ]
result $? "more than one source port ($n)" "$t_tmp/ports"
awk '$1 < 49152 { bad = 1 } END { exit bad }' "$t_tmp/ports"
result $? "all of them from 49152 on"
# The busiest gets no more than three quarters
awk '{ s += $2; if ($2 > m) m = $2 } END { exit m * 4 > s * 3 }' "$t_tmp/ports"
result $? "none of them has most of it" "$t_tmp/ports"
reap "$pid" 40
result $? "traffic" "$t_tmp/storm"

# Who watches sees it (Documentation/metaroce.rst, "Events")
trace=/sys/kernel/tracing
[ -d $trace/events ] || mount -t tracefs tracefs $trace 2>/dev/null
watch=
if [ -d $trace/events/metaroce ]; then
	watch=$trace/events/metaroce/mroce_rehome/enable
	echo >$trace/trace
	echo 1 >$watch
fi

# A route that swallows a part of all ports: as a dead link behind ECMP does
tc -n "$NSB" qdisc add dev vb1 clsact 2>"$t_tmp/out"
block() {
	tc -n "$NSB" filter add dev vb1 ingress protocol ip flower ip_proto udp \
		src_port "$1" action drop
}
bg "$t_tmp/storm" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q 4 -t 10 -T 18
pid=$t_bg
snap $DEVA $DEVB
t_wait 10 grown $DEVA sent_pkts 200
drops() {
	tc -n "$NSB" -s filter show dev vb1 ingress >"$t_tmp/filter" 2>&1
	grep -q 'dropped [1-9]' "$t_tmp/filter"
}
# A path may leave its port in between, where a host stalls: then another one.
# (DATA that comes in: those that B itself sends are never filtered here)
: >"$t_tmp/out"
for i in 1 2 3 4 5; do
	in_b "$HERE/wire.py" ports vb1 1 >"$t_tmp/ports" 2>&1
	port=$(sort -k 2 -n "$t_tmp/ports" | awk 'END { print $1 }')
	[ -n "$port" ] || continue
	tc -n "$NSB" filter del dev vb1 ingress 2>/dev/null
	snap $DEVA $DEVB
	# (not 61791, from which the handshake comes)
	for range in 49152-57343 57344-61790 61792-65535; do
		lo=${range%-*} hi=${range#*-}
		[ "$port" -gt "$hi" ] || break
	done
	block "$range" 2>"$t_tmp/out"
	[ ! -s "$t_tmp/out" ] || break
	! t_wait 1 drops || break
done
if [ -s "$t_tmp/out" ]; then
	skip "dead ports" "$(head -n 1 "$t_tmp/out")"
	reap "$pid" 40
else
	t_wait 3 grown $DEVA path_rehomed 1
	counter "a path on a dead port moves" $DEVA path_rehomed -ge 1
	if [ -n "$watch" ]; then
		# From a dead port to another one, which may be dead as well
		moved() {
			grep mroce_rehome: $trace/trace >"$t_tmp/events"
			awk -v lo="$lo" -v hi="$hi" '{
				from = to = 0
				for (i = 1; i <= NF; i++) {
					if ($i ~ /^from_sport=/) from = substr($i, 12)
					if ($i ~ /^sport=/) to = substr($i, 7)
				}
				if (from >= lo && from <= hi && to && to != from)
					n++
			} END { exit !n }' "$t_tmp/events"
		}
		t_wait 3 moved
		result $? "the move is an event, with both ports" "$t_tmp/events"
	else
		skip "the move is an event" "kernel without event tracing"
	fi
	reap "$pid" 40
	result $? "nobody notices but the transport" "$t_tmp/storm"
	drops
	result $? "the filter had packets to drop" "$t_tmp/filter"
	counter "nobody gave up" $DEVA retry_exceeded_err -eq 0
fi
[ -z "$watch" ] || echo 0 >"$watch"
t_done
