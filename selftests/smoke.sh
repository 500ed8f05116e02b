#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The short version, for kernels in slow guests: load, two namespaces, a few
# programs, some loss, unload.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"
T_LIMIT=60
t_begin "smoke test"
topo 1 1500
in_order
ok "links in two namespaces"
in_a ibv_devinfo -d $DEVA >"$t_tmp/out" 2>&1
result $? "ibv_devinfo" "$t_tmp/out"
snap $DEVA $DEVB
pingpong "ibv_rc_pingpong" ibv_rc_pingpong -n 100 -c
pingpong "ibv_ud_pingpong" ibv_ud_pingpong -n 50 -s 1000
rping_pair "rping, data checked" -C 10 -S 10000
perf "ib_write_bw" ib_write_bw -n 100 -s 65536
counter "packets left" $DEVA sent_pkts -gt 100
# A guest that was stopped for long is no different from a network that stood still
if unchanged $DEVA path_timeouts path_rehomed; then
	counter "nothing lost" $DEVA packets_lost -eq 0
else
	skip "nothing lost" "this machine stalled its guest"
	changes $DEVA | diag
fi
PP_SRC=$IP6A PP_DST=$IP6B pingpong "IPv6: ibv_rc_pingpong" ibv_rc_pingpong -n 50 -c
# Where the programs were built on the host, and fit the guest
if [ -x "$BIN/storm" ]; then
	run_tap "all operations" "$BIN/storm" -d "$DEVA@$NSA" -d "$DEVB@$NSB" \
		-n 100 -s 20000 -q 2 -e
fi
if netem_both loss 1% 2>"$t_tmp/out"; then
	snap $DEVA $DEVB
	rping_pair "1 % loss: rping" -C 10 -S 10000
	perf "1 % loss: ib_write_bw" ib_write_bw -n 100 -s 65536
	counter "1 % loss: sent again" $DEVA retransmitted_pkts -gt 0
	netem_off
else
	skip "1 % loss" "$(head -n 1 "$t_tmp/out")"
fi
if [ "$LINK_TYPE" = metaroce ]; then
	run "unload with links" rmmod "$MODULE"
	t_wait 5 t_no_links
	result $? "they are gone"
	run "load again" modprobe "$MODULE"
	t_gid=()
	links_up
	result $? "links again"
	pingpong "ibv_rc_pingpong" ibv_rc_pingpong -n 20 -c
fi
t_done
