#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Completion events, resizing, overflow, shared receive queues, order.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "events and queues"
need_bin
T_LONG=120
topo 1 1500
E=-E
[ "$LINK_TYPE" = metaroce ] || E=
# shellcheck disable=SC2086
run_tap "two ends" "$BIN/events" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -S "$SCALE" $E
# shellcheck disable=SC2086
run_tap "one device" "$BIN/events" -d "$DEVA@$NSA" -S $((SCALE / 4)) $E
t_done
