#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# On-demand paging: regions that are not pinned.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "on-demand paging"
need_bin
T_LONG=180
topo 1 1500
run_tap "two ends" "$BIN/odp" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -S "$SCALE"
run_tap "one device" "$BIN/odp" -d "$DEVA@$NSA" -S "$SCALE" -k "churn"
if netem_both delay 100ms 2>"$t_tmp/out"; then
	run_tap "slow network" "$BIN/odp" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -S "$SCALE" \
		-k "drained"
	netem_off
else
	skip "slow network" "$(head -n 1 "$t_tmp/out")"
fi
t_done
