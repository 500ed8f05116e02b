#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# All operations of RC and UC, in all sizes and layouts, each byte checked.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "verbs matrix"
need_bin
T_LONG=240
S=$SCALE
[ "$LINK_TYPE" = metaroce ] || S=20
topo 1 1500
run_tap "two ends" "$BIN/matrix" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -S "$S"
run_tap "one device" "$BIN/matrix" -d "$DEVA@$NSA" -S "$S" -k "RQ: "
run_tap "events, IPv6" "$BIN/matrix" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -S "$S" \
	-e -6 -k "1 SGE"
ip -n "$NSA" link set va1 mtu 9000
ip -n "$NSB" link set vb1 mtu 9000
t_clean_links
t_gid=()
links_up
result $? "links at MTU 9000"
run_tap "MTU 9000" "$BIN/matrix" -d "$DEVA@$NSA" -d "$DEVB@$NSB" -S "$S" -k "RQ: "
t_done
