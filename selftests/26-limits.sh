#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Many objects, keys that come back, processes that are killed.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "many objects"
need_bin
T_LONG=120
topo 1 1500
res() { rdma res show "$1" 2>/dev/null | grep -cv 'comm \[ib_core\]\|\[.*\]'; }
run_tap "objects" "$BIN/limits" -d "$DEVA@$NSA" -S "$SCALE"
n=$(rdma res show qp link $DEVA 2>/dev/null | grep -c "pid [0-9]")
[ "$n" = 0 ]
result $? "no QP of a process is left ($n)"

# What a process has in rings is its own memory: 64 rings of 4 MiB in 64 MiB. The
# hierarchy is mounted where nobody else looks for it.
cg=$t_tmp/cgroup
# shellcheck disable=SC2317
cgroup() {
	mkdir "$cg" && mount -t cgroup2 none "$cg" || return 1
	grep -qw memory "$cg/cgroup.controllers" || { echo "no memory cgroups"; return 1; }
	echo +memory >"$cg/cgroup.subtree_control" && mkdir "$cg/mr" &&
	echo 64M >"$cg/mr/memory.max"
}
if only metaroce "rings are charged"; then
	if cgroup >"$t_tmp/out" 2>&1; then
		# shellcheck disable=SC2016
		run_tap "rings" bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - \
			"$cg/mr" "$BIN/limits" -d "$DEVA@$NSA" -M
		rmdir "$cg/mr"
	else
		skip "rings are charged" "$(head -n 1 "$t_tmp/out")"
	fi
	umount "$cg" 2>/dev/null
fi

# A storm on many QPs at once: they share one connection
snap $DEVA $DEVB
q=$(scale 200 32)
run_tap "$q QPs" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -q "$q" -n $((q * 10)) \
	-s 2000 -o wisra
if only metaroce "connections"; then
	counter "all QPs share a connection" $DEVA connections_opened -le 1
	# Whoever may open the device can ask for connections to anywhere
	ip -n "$NSA" route add 10.200.0.0/16 via $IPB
	snap $DEVA
	run_tap "half-open connections" "$BIN/limits" -d "$DEVA@$NSA" -4 -H
	counter "half-open connections" $DEVA connections_refused -ge 2
fi
t_done
