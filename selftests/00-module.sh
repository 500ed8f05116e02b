#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loading and unloading, autoload, what a device says of itself.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"

t_begin "module and device attributes"
T_LOG_LINES=2

loops() { # N CMD...: load, CMD, unload
	local i n=$1; shift
	for ((i = 0; i < n; i++)); do
		modprobe "$MODULE" || { echo "modprobe failed, round $i"; return 1; }
		"$@" || { echo "$* failed, round $i"; return 1; }
		rmmod "$MODULE" || { echo "rmmod failed, round $i"; return 1; }
	done
}
with_link() {
	rdma link add mroce_x type "$LINK_TYPE" netdev mrd0 &&
	rdma link del mroce_x
}
leave_link() { rdma link add mroce_x type "$LINK_TYPE" netdev mrd0; }
quietly() { "$@" >"$t_tmp/out" 2>&1; }

rmmod "$MODULE"
ip link add mrd0 type dummy
ip addr add 10.9.0.1/24 dev mrd0
ip link set mrd0 up
quietly loops "$(scale 20 3)" true
result $? "load and unload, $(scale 20 3) times" "$t_tmp/out"
quietly loops "$(scale 5 2)" with_link
result $? "load, add a link, delete it, unload" "$t_tmp/out"
if only metaroce "unload with a link"; then
	quietly loops 3 leave_link
	result $? "load, add a link, unload with it" "$t_tmp/out"
fi

run "rdma link add loads the module" \
	rdma link add mroce_x type "$LINK_TYPE" netdev mrd0
[ -d "/sys/module/$MODULE" ]
result $? "it is loaded"
rdma link del mroce_x
ip link del mrd0

topo 1 1500
# ---- what the tools see
ibv_devinfo -v -d $DEVA >"$t_tmp/info" 2>"$t_tmp/err"
rc=$?
[ $rc = 0 ] && [ ! -s "$t_tmp/err" ]
result $? "ibv_devinfo finds the device without a word of warning" "$t_tmp/err"
val() { sed -n "s/^[[:space:]]*$1:[[:space:]]*\([^ ]*\).*/\1/p" "$t_tmp/info" | head -n 1; }
at_least() { # NAME N
	local v
	v=$(val "$1")
	[ "${v:-0}" -ge "$2" ]
	result $? "$1 is at least $2 (${v:-nothing})"
}
[ "$(val state)" = PORT_ACTIVE ]
result $? "the port is ACTIVE at once"
[ "$(val link_layer)" = Ethernet ]
result $? "the link layer is Ethernet"
[ "$(val active_mtu)" = 1024 ]
result $? "active_mtu is 1024 at an MTU of 1500"
[ -n "$(val vendor_id)" ] && [ "$(val vendor_id)" != 0x0000 ]
result $? "there is a vendor id"
at_least max_qp 1024
at_least max_qp_wr 16384
at_least max_sge 16
at_least max_sge_rd 16
at_least max_cq 1024
at_least max_cqe 32767
at_least max_mr 4096
at_least max_pd 1024
at_least max_qp_rd_atom 16
at_least max_ah 100
at_least max_srq 100
at_least max_srq_wr 4096
guid() { cat "/sys/class/infiniband/$1/node_guid"; }
[ "$(guid $DEVA)" != 0000:0000:0000:0000 ] && [ "$(guid $DEVA)" != "$(guid $DEVB)" ]
result $? "node GUIDs are set and differ"
[ "$(cat /sys/class/infiniband/$DEVA/sys_image_guid)" != 0000:0000:0000:0000 ]
result $? "so is the system image GUID"
case $(readlink -f /sys/class/infiniband/$DEVA) in
/sys/devices/virtual/*) ok "the device is a virtual one" ;;
*) not_ok "the device is a virtual one" ;;
esac
u=$(ls "/sys/class/infiniband/$DEVA/device/infiniband_verbs" 2>/dev/null ||
	grep -l "^$DEVA\$" /sys/class/infiniband_verbs/*/ibdev | head -n 1 |
	xargs -r dirname)
[ "$(cat "/sys/class/infiniband_verbs/$(basename "$u")/abi_version")" = 2 ]
result $? "uverbs ABI 2, as librxe wants it"
read -r rate _ </sys/class/infiniband/$DEVA/ports/1/rate
[ "${rate%%.*}" -ge 1 ]
result $? "a rate that is not nothing ($rate Gb/s)"
grep -q LinkUp /sys/class/infiniband/$DEVA/ports/1/phys_state
result $? "phys_state LinkUp"
run "rdma -j link is JSON" python3 -c '
import json, subprocess, sys
l = json.loads(subprocess.check_output(["rdma", "-j", "-d", "link"]))
sys.exit(0 if any(x["ifname"] == "'$DEVA'" for x in l) else 1)'
run "rdma statistic shows the counters" rdma statistic show link $DEVA/1

# ---- every counter of the sources is there
if only metaroce "counters"; then
	D=$TOP/drivers/infiniband/sw/metaroce
	sed -n '/^#define MROCE_COUNTERS/,/[^\\]$/p' "$D/core/core.h" >"$t_tmp/names"
	sed -n '/^#define MROCE_DEV_COUNTERS/,/[^\\]$/p' "$D/metaroce.h" >>"$t_tmp/names"
	sed -n 's/.*X([A-Z0-9_]*,[[:space:]]*"\([^"]*\)".*/\1/p' "$t_tmp/names" >"$t_tmp/c"
	: >"$t_tmp/missing"
	while read -r c; do
		has_counter $DEVA "$c" || echo "no counter $c" >>"$t_tmp/missing"
	done <"$t_tmp/c"
	[ -s "$t_tmp/c" ] && [ ! -s "$t_tmp/missing" ]
	result $? "all $(wc -l <"$t_tmp/c") counters are under hw_counters" "$t_tmp/missing"
fi

# Nothing is said at each query
for _ in 1 2 3 4 5; do ibv_devinfo -v -d $DEVB >/dev/null; done
t_done
