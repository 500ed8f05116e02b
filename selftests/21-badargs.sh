#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Wrong keys, bounds, access, states and limits.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "wrong arguments"
need_bin
T_LONG=240
topo 1 1500
E=-E
[ "$LINK_TYPE" = metaroce ] || E=
# shellcheck disable=SC2086
run_tap "two ends" "$BIN/badargs" -d "$DEVA@$NSA" -d "$DEVB@$NSB" $E
# shellcheck disable=SC2086
run_tap "one device" "$BIN/badargs" -d "$DEVA@$NSA" $E -k "write"
t_done
