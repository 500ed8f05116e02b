#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs as distributions ship them, over IPv4 and IPv6, MTU 1500 and 9000.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "unmodified programs"
need ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_srq_pingpong ibv_ud_pingpong \
	rping rstream \
	ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw ib_write_lat
T_LIMIT=40

programs() { # MTU
	local m="MTU $1"
	in_a ibv_devinfo -d $DEVA >"$t_tmp/out" 2>&1
	result $? "$m: ibv_devinfo" "$t_tmp/out"
	pingpong "$m: ibv_rc_pingpong" ibv_rc_pingpong -n 100 -c
	pingpong "$m: ibv_rc_pingpong, events" ibv_rc_pingpong -n 100 -e -c
	pingpong "$m: ibv_uc_pingpong" ibv_uc_pingpong -n 100 -c
	pingpong "$m: ibv_srq_pingpong" ibv_srq_pingpong -n 100 -q 4 -c
	pingpong "$m: ibv_ud_pingpong" ibv_ud_pingpong -n 100 -s 1000
	rping_pair "$m: rping" -C 20 -S 5000
	next_port
	pair "$m: rstream, data checked" "cm $T_PORT" -- \
		rstream -p $T_PORT -S 65536 -C 20 -T v -- \
		rstream -p $T_PORT -s $IPB -S 65536 -C 20 -T v
	perf "$m: ib_write_bw" ib_write_bw -n 200 -s 65536
	perf "$m: ib_read_bw" ib_read_bw -n 200 -s 65536
	perf "$m: ib_send_bw" ib_send_bw -n 200 -s 65536
	perf "$m: ib_atomic_bw" ib_atomic_bw -n 200
	perf "$m: ib_write_lat" ib_write_lat -n 100 -s 8
}

topo 1 1500
snap $DEVA $DEVB
programs 1500
perf "ib_send_bw, 8 QPs, events" ib_send_bw -n 100 -s 4096 -q 8 -e
perf "ib_send_bw, SRQ" ib_send_bw -n 100 -s 4096 -q 4 --use-srq
perf "ib_send_bw, UC" ib_send_bw -n 200 -s 65536 -c UC
perf "ib_write_bw, UC" ib_write_bw -n 200 -s 65536 -c UC
perf "ib_send_bw, UD" ib_send_bw -n 200 -s 1024 -c UD
perf "ib_write_bw, all sizes" ib_write_bw -n 20 -a
perf "ib_atomic_bw, CMP_AND_SWAP" ib_atomic_bw -n 100 -A CMP_AND_SWAP
perf "ib_send_lat, events" ib_send_lat -n 100 -e
perf "ib_read_lat" ib_read_lat -n 50 -s 4096
perf "ib_write_bw, both ways" ib_write_bw -n 100 -b
next_port
perf "ib_send_bw, rdma_cm" ib_send_bw -n 100 -R
next_port
pair "ucmatose" "cm $T_PORT" -- ucmatose -b $IPB -p $T_PORT -c 5 -C 10 -- \
	ucmatose -s $IPB -p $T_PORT -c 5 -C 10
pair "udaddy" "cm 7174" -- udaddy -b $IPB -C 10 -- udaddy -s $IPB -C 10
next_port
pair "riostream, data checked" "cm $T_PORT" -- \
	riostream -p $T_PORT -S 65536 -C 20 -T v -- \
	riostream -p $T_PORT -s $IPB -S 65536 -C 20 -T v
next_port
head -c 3000000 /dev/urandom >"$t_tmp/in"
# Its server never ends; with an option first it is one
PAIR_KILL=1 pair "rcopy" "cm $T_PORT" -- rcopy -p $T_PORT -- \
	rcopy "$t_tmp/in" "$IPB:$t_tmp/copied" -p $T_PORT
cmp "$t_tmp/in" "$t_tmp/copied" >"$t_tmp/out" 2>&1
result $? "rcopy: the copy is the same" "$t_tmp/out"

export PP_SRC=$IP6A PP_DST=$IP6B
pingpong "IPv6: ibv_rc_pingpong" ibv_rc_pingpong -n 100 -c
pingpong "IPv6: ibv_ud_pingpong" ibv_ud_pingpong -n 100 -s 1000
rping_pair "IPv6: rping" -C 20 -S 5000
unset PP_SRC PP_DST
counter "nothing was lost" $DEVA retry_exceeded_err -eq 0

# Larger packets: links that know of it from the start
t_clean_links
ip -n "$NSA" link set va1 mtu 9000
ip -n "$NSB" link set vb1 mtu 9000
t_gid=()
links_up
result $? "links at MTU 9000" && programs 9000
t_done
