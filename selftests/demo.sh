#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The demo, inside a guest (see tools/vm/demo.sh): two network namespaces joined
# by a veth pair, a link in each, and programs of the distribution between them,
# unmodified; then the same on a network that loses, reorders and duplicates.
# Shows what it does, then a table. Exit code 0: everything passed.
#
# DEMO_SCALE  percent of the usual number of iterations (100)
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"
T_LIMIT=60
DEMO_SCALE=${DEMO_SCALE:-100}
DELAY=(delay 500us reorder 5% 50%)
LOSS=(loss 1% duplicate 1%)
t_name=demo t_final=1
t_tmp=$(mktemp -d "${TMPDIR:-/tmp}/mroce-demo.XXXXXX") || exit 1
t_calibrate
trap t_cleanup EXIT
trap 'exit 130' INT TERM HUP
rows=() failed=0 part=''

die() { echo "demo: $*" >&2; exit 1; }
it() { local n=$(($1 * DEMO_SCALE / 100)); echo $((n < 5 ? 5 : n)); }
paths() { cat "/sys/kernel/debug/$LINK_TYPE/$1/conns" 2>/dev/null; }

# used BEFORE AFTER: sending paths whose packet count grew
used() {
	awk -v old="$1" '/^conn/ { c = $2 }
	     $1 == "tx" {
		for (i = 3; i < NF; i += 2) if ($i == "sent") n = $(i + 1)
		k = c "/" $2
		if (FILENAME == old) was[k] = n; else if (n > was[k] + 0) u++
	     }
	     END { print u + 0 }' "$1" "$2"
}

# figure LOG: what the program says of itself, short
figure() {
	awk '
	/usec\/iter/ { f = sprintf("%.0f us/iter", $(NF - 1)) }
	/BW average\[Gb/ { bw = 1; next }
	/t_typical/ { lat = 1; next }
	bw && /^ *[0-9]+ +[0-9]+ / { f = sprintf("%.2f Gb/s", $4); bw = 0 }
	lat && /^ *[0-9]+ +[0-9]+ / { f = $5 " us"; lat = 0 }
	/^name .*Gb\/sec/ { rs = 1; next }
	rs && NF >= 6 { f = $(NF - 1) " Gb/s"; rs = 0 }
	END { print f }' "$1"
}

# one LABEL OPTIONS READY -- SERVER... -- CLIENT...
one() {
	local label=$1 opts=$2 rc p r dup pa fig t0=${EPOCHREALTIME/./}; shift 2
	printf '%-18s %-32s ' "$label" "$opts"
	snap_few
	paths $DEVA >"$t_tmp/paths0"
	pair_run "$@"
	rc=$?
	paths $DEVA >"$t_tmp/paths1"
	sum sent_pkts; p=$REPLY
	sum ud_sent_pkts; p=$((p + REPLY))
	sum retransmitted_pkts; r=$REPLY
	sum duplicate_request; dup=$REPLY
	if [ -s "$t_tmp/paths1" ]; then
		pa=$(used "$t_tmp/paths0" "$t_tmp/paths1")
	else
		t_cnt $DEVA paths_opened; pa=$REPLY
	fi
	fig=$(figure "$t_tmp/client")
	if [ $rc = 0 ]; then
		echo "ok    $(((${EPOCHREALTIME/./} - t0) / 100000))" | sed 's/\(.\)$/.\1 s/'
		fig=ok${fig:+, $fig}
	else
		echo "FAILED (exit code $rc)"
		failed=$((failed + 1)) fig=FAILED
		{ echo "client:"; tail -n 15 "$t_tmp/client"; echo "server:"
		  tail -n 15 "$t_tmp/server"; echo "counters:"; changes_few; } |
			sed 's/^/    | /'
	fi
	rows+=("$part|$label|$opts|$fig|$p|$r|$dup|$pa")
}

few=(sent_pkts ud_sent_pkts retransmitted_pkts duplicate_request packets_lost path_timeouts
	path_rehomed retry_exceeded_err acks_sent naks_sent)
snap_few() {
	local d c
	for d in $DEVA $DEVB; do
		for c in "${few[@]}"; do
			t_cnt "$d" "$c"
			t_snap[$d/$c]=$REPLY
		done
	done
}
changes_few() {
	local d c
	for d in $DEVA $DEVB; do
		for c in "${few[@]}"; do
			t_delta "$d" "$c"
			[ "$REPLY" = 0 ] || echo "$d $c +$REPLY"
		done
	done
}
sum() { # NAME: change on both ends together
	local a
	t_delta $DEVA "$1"; a=$REPLY
	t_delta $DEVB "$1"
	REPLY=$((a + REPLY))
}

pp() { # PROGRAM OPTIONS
	local p=$1; shift
	next_port
	one "$p" "$*" "tcp $T_PORT" -- \
		"$p" -d $DEVB -g "$gb" -p $T_PORT "$@" -- \
		"$p" -d $DEVA -g "$ga" -p $T_PORT "$@" $IPB
}
bw() { # PROGRAM OPTIONS
	local p=$1; shift
	next_port
	one "$p" "$*" "tcp $T_PORT" -- \
		"$p" -d $DEVB -x "$gb" -F -p $T_PORT --report_gbits "$@" -- \
		"$p" -d $DEVA -x "$ga" -F -p $T_PORT --report_gbits "$@" $IPB
}
lat() { # PROGRAM OPTIONS
	local p=$1; shift
	next_port
	one "$p" "$*" "tcp $T_PORT" -- \
		"$p" -d $DEVB -x "$gb" -F -p $T_PORT "$@" -- \
		"$p" -d $DEVA -x "$ga" -F -p $T_PORT "$@" $IPB
}

programs() {
	local n
	pp ibv_rc_pingpong -n "$(it 200)" -c
	pp ibv_srq_pingpong -n "$(it 200)" -q 4 -c
	if [ "$part" = clean ]; then
		pp ibv_ud_pingpong -n "$(it 200)" -s 1024
	else
		# It waits for ever for a datagram that is lost
		netem_both "${DELAY[@]}"
		pp ibv_ud_pingpong -n "$(it 200)" -s 1024
		netem_both "${DELAY[@]}" "${LOSS[@]}"
	fi
	next_port
	n=$(it 20)
	one rping "-V -C $n -S 16384" "cm $T_PORT" -- \
		rping -s -a $IPB -p $T_PORT -V -C "$n" -S 16384 -- \
		rping -c -a $IPB -p $T_PORT -V -C "$n" -S 16384
	next_port
	n=$(it 50)
	one rstream "-S 65536 -C $n -T v" "cm $T_PORT" -- \
		rstream -p $T_PORT -S 65536 -C "$n" -T v -- \
		rstream -p $T_PORT -s $IPB -S 65536 -C "$n" -T v
	bw ib_write_bw -n "$(it 200)" -s 65536
	bw ib_read_bw -n "$(it 200)" -s 65536
	bw ib_send_bw -n "$(it 200)" -s 65536
	bw ib_atomic_bw -n "$(it 100)"
	lat ib_write_lat -n "$(it 100)" -s 8
}

# ---- set up -----------------------------------------------------------------

echo "Linux $(uname -r), $(nproc) CPUs, $(dpkg-query -W -f '${Package} ${Version}, ' \
	rdma-core perftest iproute2 2>/dev/null | sed 's/, $//')"
modprobe "$MODULE" || die "modprobe $MODULE failed"
for m in ib_uverbs rdma_ucm sch_netem; do modprobe -q $m; done
net_up 1 1500 || die "no namespaces"
echo "\$ rdma link add $DEVA type $LINK_TYPE netdev va1     (namespace $NSA, $IPA)"
echo "\$ rdma link add $DEVB type $LINK_TYPE netdev vb1     (namespace $NSB, $IPB)"
links_up || { rdma link; dmesg | tail -n 20; die "no links"; }
ga=$(gid_index $DEVA $IPA "$NSA")
gb=$(gid_index $DEVB $IPB "$NSB")
rdma link

printf '\n$ ibv_devinfo -d %s\n' $DEVA
part=clean
if in_a ibv_devinfo -d $DEVA >"$t_tmp/info" 2>&1; then
	cat "$t_tmp/info"
	rows+=("clean|ibv_devinfo|-d $DEVA|ok|0|0|0|0")
else
	cat "$t_tmp/info"
	rows+=("clean|ibv_devinfo|-d $DEVA|FAILED|0|0|0|0")
	failed=1
fi
echo "Nothing in the way:"
programs
printf '\nnetem on both sides: %s\n' "${DELAY[*]} ${LOSS[*]}"
part=netem
netem_both "${DELAY[@]}" "${LOSS[@]}" || die "no netem"
programs
netem_off

# ---- what came of it -----------------------------------------------------------

line='+--------------------+--------------------------+-------------------+---------+---------+---------+-------+'
echo
part=''
for r in "${rows[@]}"; do
	IFS='|' read -r p label opts fig n re dup pa <<<"$r"
	if [ "$p" != "$part" ]; then
		part=$p
		case $p in
		clean) echo "$line"
			printf '| %-18s | %-24s | %-17s | %7s | %7s | %7s | %5s |\n' \
				program options result packets resent dupl. paths
			echo "$line" ;;
		*) echo "$line"
			printf '| %-103s |\n' "with ${DELAY[*]} ${LOSS[*]}"
			echo "$line" ;;
		esac
	fi
	printf '| %-18s | %-24.24s | %-17s | %7s | %7s | %7s | %5s |\n' \
		"$label" "$opts" "$fig" "$n" "$re" "$dup" "$pa"
done
echo "$line"
echo "packets: DATA sent for the first time, both ends; resent: sent again;"
echo "dupl.: came twice; paths: UDP source ports in use at the client's end"
echo "(ibv_ud_pingpong waits for ever for a lost datagram: delay and reordering only)"

resent=0
for r in "${rows[@]}"; do
	IFS='|' read -r p _ _ _ _ re _ _ <<<"$r"
	[ "$p" != netem ] || resent=$((resent + re))
done
if [ "$LINK_TYPE" = metaroce ] && [ "$resent" = 0 ]; then
	echo "demo: nothing was sent again under loss: the counters cannot be right"
	failed=$((failed + 1))
fi
t_kill
t_clean_links || { echo "demo: links cannot be deleted"; failed=$((failed + 1)); }
rmmod "$MODULE" || { echo "demo: the module cannot be unloaded"; failed=$((failed + 1)); }
if [ "$failed" = 0 ]; then
	echo "All ${#rows[@]} runs passed."
else
	echo "$failed FAILED."
fi
[ "$failed" = 0 ]
