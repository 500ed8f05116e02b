#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Memory windows: ranges, rights, keys, and their end.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "memory windows"
need_bin
T_LONG=120
topo 1 1500
run_tap "two ends" "$BIN/windows" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -S "$SCALE"
run_tap "one device" "$BIN/windows" -d "$DEVA@$NSA" -S "$SCALE"
t_done
