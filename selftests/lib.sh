# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Common to the selftests: TAP output, topology, counters, impairments, waiting
# for events, cleaning up. A test sources this, calls t_begin, makes its
# topology, reports with ok/not_ok/skip or run, and ends with t_done.
#
# LINK_TYPE       metaroce (default) or rxe, against which tests are developed
# SELFTEST_SCALE  percent of the usual amount of work (100)
# SELFTEST_BIN    where the programs of verbs/ are (built if they are missing)
# SELFTEST_VERBOSE=1  output of programs that succeeded, too

set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$HERE/.." && pwd)
LINK_TYPE=${LINK_TYPE:-metaroce}
SCALE=${SELFTEST_SCALE:-100}
BIN=${SELFTEST_BIN:-$TOP/out/selftests}
case $LINK_TYPE in
rxe) MODULE=rdma_rxe UDP_PORT=4791 ;;
*) MODULE=$LINK_TYPE UDP_PORT=61791 ;;
esac
PATH=$PATH:/usr/sbin:/sbin

# Two ends: namespaces, links on their first netdev, addresses of that
NSA=mra NSB=mrb
DEVA=mroce_a DEVB=mroce_b
IPA=10.1.0.1 IPB=10.1.0.2
IP6A=fd01::1 IP6B=fd01::2
T_PORT=18600		# next TCP port for programs that exchange data first
T_LIMIT=${SELFTEST_LIMIT:-30}	# seconds for one program
T_SLOW=1			# factor on all limits, see t_calibrate

# ---- TAP -------------------------------------------------------------------

t_n=0 t_bad=0 t_skipped=0 t_name='' t_pids=() t_tmp='' t_final=''
t_anchor_a='' t_anchor_b=''	# a process in each namespace
declare -A t_gid		# DEV/ADDRESS -> index
# Starting a program is slow in a guest: sleep by waiting for what never comes
exec {t_never}<> <(:)
nap() { read -rt "$1" -u "$t_never" || :; }

diag() { sed 's/^/# /'; }
note() { echo "# $*"; }

ok() { t_n=$((t_n + 1)); echo "ok $t_n $*"; }
not_ok() { t_n=$((t_n + 1)); t_bad=$((t_bad + 1)); echo "not ok $t_n $*"; }
skip() { # DESCRIPTION WHY
	t_n=$((t_n + 1)); t_skipped=$((t_skipped + 1))
	echo "ok $t_n $1 # SKIP $2"
}

# result RC DESCRIPTION [LOG]: of something that was run already
result() {
	if [ "$1" = 0 ]; then
		[ -z "${SELFTEST_VERBOSE:-}" ] || [ ! -s "${3:-}" ] || diag <"$3"
		ok "$2"
		return 0
	fi
	[ -z "${3:-}" ] || [ ! -s "$3" ] || tail -n 40 "$3" | diag
	case $1 in 124 | 137) note "(timed out)" ;; esac
	not_ok "$2"
	return 1
}

# How slow is this machine now? Limits are for a machine of its own; one that is
# shared or has checkers in its kernel gets more. 1 to 10.
t_calibrate() {
	local t0 i
	t0=${EPOCHREALTIME/./}
	for i in 1 2 3 4 5; do /bin/true; done
	T_SLOW=$(((${EPOCHREALTIME/./} - t0) / 5 / 20000 + 2))
	[ $T_SLOW -le 10 ] || T_SLOW=10
	export VT_SLOW=$T_SLOW
}

t_begin() { # TITLE
	t_name=${0##*/}
	t_name=${t_name%.sh}
	t_calibrate
	echo "TAP version 13"
	note "$t_name: $1 ($LINK_TYPE)"
	[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 4; }
	t_tmp=$(mktemp -d "${TMPDIR:-/tmp}/mroce-test.XXXXXX") || exit 1
	trap t_cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	echo "selftest: $t_name begins" >/dev/kmsg
	modprobe "$MODULE" 2>"$t_tmp/modprobe" || {
		diag <"$t_tmp/modprobe"
		t_final=1
		not_ok "modprobe $MODULE"
		echo "1..$t_n"
		exit 1
	}
	# What a test that was killed left behind
	t_clean_links
	t_clean_net
	# What programs and rdma_cm need; in some kernels they are built in
	modprobe -q ib_uverbs
	modprobe -q rdma_ucm
	t_wait 5 test -e /dev/infiniband/rdma_cm
}

# End of a test: whatever it made must go again without a trace
t_done() {
	t_final=1
	t_kill
	t_clean_links
	result $? "links are gone" "$t_tmp/clean"
	if [ "${T_UNLOAD:-1}" = 1 ]; then
		t_try 10 rmmod "$MODULE"
		result $? "the module is not in use and can be unloaded" "$t_tmp/try"
	fi
	t_sockets >"$t_tmp/sockets"
	[ ! -s "$t_tmp/sockets" ]
	result $? "no socket is left" "$t_tmp/sockets"
	t_clean_net
	t_check_log
	echo "1..$t_n"
	[ "$t_bad" = 0 ] || exit 1
	[ "$t_n" != "$t_skipped" ] || exit 4
	exit 0
}

# The kernel's log since the test began: splats, and a quiet module
t_log() {
	dmesg | awk -v m="selftest: $t_name begins" '
		index($0, m) { n = 0; delete l; next }
		{ l[n++] = $0 }
		END { for (i = 0; i < n; i++) print l[i] }'
}

t_check_log() {
	t_log >"$t_tmp/log"
	tr -d '\r' <"$t_tmp/log" | awk -f "$TOP/tools/vm/patience.awk" |
		grep -aE -f "$TOP/tools/vm/splats" |
		grep -avE -f "$TOP/tools/vm/splats.known" >"$t_tmp/splats"
	if [ -s "$t_tmp/splats" ]; then
		grep -a -m 1 -A 40 -F -f "$t_tmp/splats" "$t_tmp/log" | diag
		not_ok "the kernel's log has no splat"
	else
		ok "the kernel's log has no splat"
	fi
	[ "$LINK_TYPE" = metaroce ] || return 0
	grep -aiE 'metaroce|mroce' "$t_tmp/log" |
		grep -avE 'out-of-tree|module verification|tainting|selftest:|Port: [0-9]+ Link ' \
			>"$t_tmp/said"
	[ "$(wc -l <"$t_tmp/said")" -le "${T_LOG_LINES:-0}" ]
	result $? "the module said nothing" "$t_tmp/said"
}

# ---- processes and time ------------------------------------------------------

# scale N [MIN]: N at the chosen amount of work
scale() {
	local n=$(($1 * SCALE / 100))
	[ "$n" -ge "${2:-1}" ] || n=${2:-1}
	echo "$n"
}

# t_wait SECONDS CMD...: until CMD succeeds
t_wait() {
	local end=$((${EPOCHREALTIME/./} + $1 * T_SLOW * 1000000)); shift
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME/./}" -lt "$end" ] || return 1
		nap 0.05
	done
}

# t_try SECONDS CMD...: quietly, output in $t_tmp/try
t_try() {
	t_limit "$@" >"$t_tmp/try" 2>&1
}

# t_limit SECONDS CMD...: a program or a function, no longer than that
t_limit() {
	local s=$1 pid; shift
	if ! declare -F "$1" >/dev/null; then
		timeout -k 2 $((s * T_SLOW)) "$@"
		return
	fi
	"$@" & pid=$!
	reap "$pid" "$s"
}

# run DESCRIPTION CMD...: must succeed
run() {
	local d=$1; shift
	t_limit "$T_LIMIT" "$@" >"$t_tmp/run" 2>&1
	result $? "$d" "$t_tmp/run"
}

# run_fail DESCRIPTION PATTERN CMD...: must fail, saying PATTERN
run_fail() {
	local d=$1 p=$2 rc; shift 2
	t_limit "$T_LIMIT" "$@" >"$t_tmp/run" 2>&1
	rc=$?
	if [ $rc != 0 ] && [ $rc != 124 ] && [ $rc != 137 ] &&
	   grep -qE "$p" "$t_tmp/run"; then
		ok "$d"
		return 0
	fi
	[ ! -s "$t_tmp/run" ] || diag <"$t_tmp/run"
	note "exit code $rc, wanted a failure that says '$p'"
	not_ok "$d"
	return 1
}

# run_tap DESCRIPTION CMD...: a program that prints TAP; its tests become ours
run_tap() {
	local d=$1 rc line n; shift
	# Less than the whole file has, or nobody would see what it said
	rc=$((${T_LONG:-$((T_LIMIT * 2))} * T_SLOW))
	n=$((${SELFTEST_FILE_LIMIT:-300} * 2 / 3))
	timeout -k 2 $((rc < n ? rc : n)) "$@" >"$t_tmp/tap" 2>"$t_tmp/tap.err"
	rc=$? n=0
	while IFS= read -r line; do
		case $line in
		'ok '*) n=$((n + 1)); line=${line#ok }; line=${line#* }
			case $line in
			*'# SKIP'*) skip "$d: ${line%% # SKIP*}" "${line#*# SKIP }" ;;
			*) ok "$d: $line" ;;
			esac ;;
		'not ok '*) n=$((n + 1)); line=${line#not ok }
			not_ok "$d: ${line#* }" ;;
		'# '*) echo "$line" ;;
		'TAP '*|1..*) ;;
		*) [ -z "$line" ] || note "$line" ;;
		esac
	done <"$t_tmp/tap"
	case $rc in
	0 | 1) [ "$n" -gt 0 ] || result 1 "$d: ran" "$t_tmp/tap.err" ;;
	4) [ "$n" -gt 0 ] || skip "$d" "not supported" ;;
	*) note "exit code $rc"; result "$rc" "$d: ran to its end" "$t_tmp/tap.err" ;;
	esac
	return "$rc"
}

# bg LOG CMD...: in the background, ended with the test; pid in $t_bg
bg() {
	local log=$1; shift
	"$@" >"$log" 2>&1 </dev/null &
	t_bg=$!
	t_pids+=("$t_bg")
}

# reap PID SECONDS: its exit code, 124 if it had to be killed
reap() {
	local rc
	if t_wait "$2" t_gone "$1"; then
		wait "$1"; rc=$?
	else
		t_kill_tree "$1"
		wait "$1" 2>/dev/null
		rc=124
	fi
	local p keep=()
	for p in "${t_pids[@]}"; do [ "$p" = "$1" ] || keep+=("$p"); done
	t_pids=("${keep[@]}")
	return $rc
}

# Ended, or a zombie
t_gone() {
	local s
	kill -0 "$1" 2>/dev/null || return 0
	read -r s 2>/dev/null <"/proc/$1/stat" || return 0
	s=${s##*) }
	[ "${s%% *}" = Z ]
}

t_kill_tree() {
	local c
	while read -r c; do
		[ -z "$c" ] || t_kill_tree "$c"
	done <<<"$(pgrep -P "$1")"
	kill -KILL "$1" 2>/dev/null
}

t_kill() {
	local p
	for p in "${t_pids[@]}"; do
		t_kill_tree "$p"
		wait "$p" 2>/dev/null
	done
	t_pids=()
}

# ---- cleaning up -----------------------------------------------------------

t_links() { rdma link 2>/dev/null | sed -n 's/^link \([^/ ]*\).*/\1/p' | sort -u; }

t_clean_links() {
	local l rc=0
	: >"$t_tmp/clean"
	for l in $(t_links); do
		timeout $((10 * T_SLOW)) rdma link del "$l" >>"$t_tmp/clean" 2>&1 &&
			continue
		# It may have gone with its netdev meanwhile
		[[ $'\n'$(t_links)$'\n' == *$'\n'$l$'\n'* ]] || continue
		rc=1
		echo "rdma link del $l failed" >>"$t_tmp/clean"
	done
	t_wait 5 t_no_links || { rc=1; rdma link >>"$t_tmp/clean" 2>&1; }
	return $rc
}
t_no_links() { [ -z "$(t_links)" ]; }

t_clean_net() {
	local n
	for n in $(ip netns list | awk '{ print $1 }'); do
		case $n in mr*) ip netns del "$n" ;; esac
	done
	for n in $(ip -o link show 2>/dev/null | sed -n 's/^[0-9]*: \(mr[^:@]*\).*/\1/p')
	do
		ip link del "$n" 2>/dev/null
	done
}

# UDP sockets of the driver, in any namespace
t_sockets() {
	local n
	ss -Hnaul "sport = :$UDP_PORT"
	for n in $(ip netns list | awk '{ print $1 }'); do
		ip netns exec "$n" ss -Hnaul "sport = :$UDP_PORT"
	done
}

t_cleanup() {
	local rc=$?
	t_kill
	if [ -z "$t_final" ]; then
		note "ended early, line ${BASH_LINENO[0]}"
		t_clean_links
		t_clean_net
		echo "1..$((t_n + 1))"
		echo "not ok $((t_n + 1)) $t_name ran to its end"
		rc=1
	fi
	rm -rf "$t_tmp"
	exit $rc
}

# ---- topology ---------------------------------------------------------------

# in_a CMD..., in_b CMD...: in the namespace of that end
in_a() { ip netns exec "$NSA" "$@"; }
in_b() { ip netns exec "$NSB" "$@"; }

# veth_pair I MTU: va$I and vb$I with 10.I.0.{1,2} and fd0I::{1,2}
veth_pair() {
	ip link add "va$1" netns "$NSA" mtu "$2" type veth \
		peer name "vb$1" netns "$NSB" mtu "$2" &&
	printf '%s\n' "addr add 10.$1.0.1/24 dev va$1" \
		"addr add fd0$1::1/64 dev va$1 nodad" "link set va$1 up" |
		ip -n "$NSA" -b - &&
	printf '%s\n' "addr add 10.$1.0.2/24 dev vb$1" \
		"addr add fd0$1::2/64 dev vb$1 nodad" "link set vb$1 up" |
		ip -n "$NSB" -b -
}

# net_up [PAIRS [MTU]]: both namespaces and the veth pairs between them
net_up() {
	local i n=${1:-1} mtu=${2:-1500}
	printf 'netns add %s\n' "$NSA" "$NSB" | ip -b - || return 1
	ip netns exec "$NSA" sleep 100000 & t_anchor_a=$!
	ip netns exec "$NSB" sleep 100000 & t_anchor_b=$!
	t_pids+=("$t_anchor_a" "$t_anchor_b")
	disown "$t_anchor_a" "$t_anchor_b"
	ip -n "$NSA" link set lo up && ip -n "$NSB" link set lo up || return 1
	for ((i = 1; i <= n; i++)); do
		veth_pair "$i" "$mtu" || return 1
	done
}

# IPv6 addresses go when a netdev goes down or its MTU is small: have them back
addr6_back() {
	ip -n "$NSA" addr replace $IP6A/64 dev va1 nodad
	ip -n "$NSB" addr replace $IP6B/64 dev vb1 nodad
}

# in_order: packets of a flow stay in their order though several CPUs send them. On a
# veth they wait in the backlog of the CPU that sent them; RPS has one for a flow.
in_order() {
	local m q
	m=$(printf %x $(((1 << $(nproc)) - 1)))
	q=queues/rx-0/rps_cpus
	ip netns exec "$NSA" sh -c "for f in /sys/class/net/va*/$q; do echo $m >\$f; done"
	ip netns exec "$NSB" sh -c "for f in /sys/class/net/vb*/$q; do echo $m >\$f; done"
} 2>/dev/null

# link_add NAME NETDEV [NETNS]: add a link, wait until it is active
link_add() {
	${3:+ip netns exec "$3"} rdma link add "$1" type "$LINK_TYPE" netdev "$2" ||
		return 1
	# Fresh counters at every read
	echo 0 2>/dev/null >"/sys/class/infiniband/$1/ports/1/hw_counters/lifespan"
	t_wait 5 port_active "$1"
}
port_active() {
	local s
	read -r s 2>/dev/null <"/sys/class/infiniband/$1/ports/1/state" &&
		[ "$s" = "4: ACTIVE" ]
}

# links_up: one on each end, with GIDs for IPv4 and IPv6
links_up() {
	link_add $DEVA va1 "$NSA" && link_add $DEVB vb1 "$NSB" &&
	wait_gid $DEVA "$NSA" $IPA $IP6A && wait_gid $DEVB "$NSB" $IPB $IP6B
}

# topo [PAIRS [MTU]]: namespaces and links, or the test ends here
topo() {
	if ! { net_up "$@" && links_up; } >"$t_tmp/topo" 2>&1; then
		result 1 "topology" "$t_tmp/topo"
		rdma link 2>&1 | diag
		t_done
	fi
}

# link_del DEVICE. The tool looks for its name in a dump of all devices, of which the
# kernel sends one at a time and goes on by counting (ib_enum_all_devs()): if one in front
# goes meanwhile, the next is not in it, and the tool says that there is none.
link_del() {
	local said tries=5
	while ! said=$(timeout $((10 * T_SLOW)) rdma link del "$1" 2>&1); do
		case $said in *'Wrong device name'*) ;; *) tries=0 ;; esac
		tries=$((tries - 1))
		if [ $tries -lt 0 ] || [ ! -e "/sys/class/infiniband/$1" ]; then
			[ -z "$said" ] || echo "$said" >&2
			return 1
		fi
	done
}

# full_addr ADDRESS: as sysfs prints a GID
full_addr() {
	# shellcheck disable=SC2086
	case $1 in
	*:*) printf '%s\n' "$1" | awk '{
		n = split($0, h, "::"); l = split(h[1], a, ":")
		r = n > 1 ? split(h[2], b, ":") : 0
		for (i = 1; i <= l; i++) o[i] = a[i]
		for (i = l + 1; i <= 8 - r; i++) o[i] = "0"
		for (i = 1; i <= r; i++) o[8 - r + i] = b[i]
		for (i = 1; i <= 8; i++) printf "%s%s", \
			substr("0000" o[i], length(o[i]) + 1), i < 8 ? ":" : "\n" }' ;;
	*) printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' ${1//./ } ;;
	esac
}

# wait_gid DEV NETNS ADDRESS...: until there are RoCE v2 entries for all; their
# indices are kept for gid_index. NETNS may be empty.
wait_gid() {
	local dev=$1 ns=$2 a i list=(); shift 2
	for a; do list+=("$(full_addr "$a")"); done
	${ns:+ip netns exec "$ns"} bash -c '
		cd "/sys/class/infiniband/$1/ports/1/gids" || exit 1
		shift
		find() {
			local i g t
			for i in *; do
				read -r g <"$i" && [ "$g" = "$1" ] &&
				read -r t <"../gid_attrs/types/$i" &&
				[ "$t" = "RoCE v2" ] || continue
				echo "$i"
				return 0
			done
			return 1
		}
		end=$((SECONDS + 5 * VT_SLOW))
		for a; do
			until find "$a"; do
				[ $SECONDS -lt $end ] || exit 1
				sleep 0.05
			done
		done' - "$dev" "${list[@]}" >"$t_tmp/gids" 2>/dev/null || {
			echo "no GID for all of $* on $dev"
			return 1
		}
	for a; do
		read -r i
		t_gid[$dev/$a]=$i
	done <"$t_tmp/gids"
}

# gid_index DEV ADDRESS [NETNS]: what wait_gid saw, or looked up now
gid_index() {
	[ -n "${t_gid[$1/$2]:-}" ] || wait_gid "$1" "${3:-}" "$2" >&2 || return 1
	echo "${t_gid[$1/$2]}"
}

# ---- peers -----------------------------------------------------------------

# How to see that a server is ready: tcp PORT, udp PORT or cm PORT, in $NSB
srv_socket() { # PORT STATE FILE...
	local f l s st=$2 hex
	printf -v hex %04X "$1"
	shift 2
	for f; do
		[ -r "$f" ] || continue
		while read -r _ l _ s _; do
			[[ $l = *:$hex && $s = "$st" ]] && return 0
		done <"$f"
	done
	return 1
}
srv_tcp() { srv_socket "$1" 0A "/proc/$t_anchor_b/net/tcp" "/proc/$t_anchor_b/net/tcp6"; }
srv_udp() { srv_socket "$1" 07 "/proc/$t_anchor_b/net/udp" "/proc/$t_anchor_b/net/udp6"; }
srv_cm() { rdma res show cm_id 2>/dev/null | grep -q "LISTEN.*:$1 "; }

# pair DESCRIPTION READY -- SERVER... -- CLIENT...
# The server in $NSB, then the client in $NSA; both must succeed. READY is
# "tcp PORT", "cm PORT", ... or "-". Logs: $t_tmp/server, $t_tmp/client
pair() {
	local d=$1
	pair_run "${@:2}"
	local rc=$?
	cat "$t_tmp/client" >"$t_tmp/both"
	if [ $rc != 0 ]; then
		{ echo "--- server:"; cat "$t_tmp/server"; } >>"$t_tmp/both"
	fi
	result $rc "$d" "$t_tmp/both"
}

pair_run() {
	local ready=$1 srv=() pid rc src; shift 2
	while [ "$1" != -- ]; do srv+=("$1"); shift; done
	shift
	: >"$t_tmp/client"
	bg "$t_tmp/server" in_b timeout -k 2 $((T_LIMIT * T_SLOW)) "${srv[@]}"
	pid=$t_bg
	if [ "$ready" != - ]; then
		# shellcheck disable=SC2086
		t_wait 10 srv_ready "$pid" $ready || echo "server is not ready" >>"$t_tmp/server"
	fi
	in_a timeout -k 2 $((T_LIMIT * T_SLOW)) "$@" >"$t_tmp/client" 2>&1
	rc=$?
	[ $rc = 0 ] || echo "client: exit code $rc" >>"$t_tmp/client"
	if [ "${PAIR_KILL:-}" = 1 ]; then
		t_kill_tree "$pid"
		reap "$pid" 5
		return $rc
	fi
	reap "$pid" $((rc ? 3 : T_LIMIT))
	src=$?
	[ $src = 0 ] || echo "server: exit code $src" >>"$t_tmp/server"
	[ $rc != 0 ] || rc=$src
	return $rc
}
srv_ready() { local p=$1; shift; t_gone "$p" || "srv_$1" "$2"; }

next_port() { T_PORT=$((T_PORT + 1)); }

# pingpong DESCRIPTION PROGRAM ARGS...: ibv_*_pingpong between the two ends. What
# they tell each other over TCP goes over IPv4: their servers listen to nothing else.
pingpong() {
	local d=$1 p=$2 ga gb dst=$IPB; shift 2
	ga=$(gid_index $DEVA "${PP_SRC:-$IPA}" "$NSA")
	gb=$(gid_index $DEVB "${PP_DST:-$IPB}" "$NSB")
	next_port
	pair "$d" "tcp $T_PORT" -- \
		"$p" -d $DEVB -g "$gb" -p $T_PORT "$@" -- \
		"$p" -d $DEVA -g "$ga" -p $T_PORT "$@" "$dst"
}

# perf DESCRIPTION PROGRAM ARGS...: a perftest program between the two ends
perf() {
	local d=$1 p=$2 ga gb dst; shift 2
	dst=${PP_DST:-$IPB}
	ga=$(gid_index $DEVA "${PP_SRC:-$IPA}" "$NSA")
	gb=$(gid_index $DEVB "$dst" "$NSB")
	next_port
	pair "$d" "tcp $T_PORT" -- \
		"$p" -d $DEVB -x "$gb" -F -p $T_PORT "$@" -- \
		"$p" -d $DEVA -x "$ga" -F -p $T_PORT "$@" "$dst"
}

# rping_pair DESCRIPTION ARGS...: rping over rdma_cm, data checked
rping_pair() {
	local d=$1 dst=${PP_DST:-$IPB}; shift
	next_port
	pair "$d" "cm $T_PORT" -- \
		rping -s -a "$dst" -p $T_PORT -V "$@" -- \
		rping -c -a "$dst" -p $T_PORT -V "$@"
}

# need PROGRAM...: or the test is skipped
need() {
	local p
	for p in "$@"; do
		command -v "$p" >/dev/null && continue
		skip "$t_name" "$p is not installed"
		t_done
	done
}

# need_bin: the programs of verbs/, built into a temporary place if need be
need_bin() {
	[ ! -x "$BIN/matrix" ] || return 0
	BIN=${TMPDIR:-/tmp}/mroce-selftests
	make -s -C "$HERE" OUT="$BIN" >"$t_tmp/make" 2>&1 ||
		{ result 1 "programs of verbs/ can be built" "$t_tmp/make"; t_done; }
}

# only LINK_TYPE DESCRIPTION: true if that is under test, else skip
only() {
	[ "$LINK_TYPE" != "$1" ] || return 0
	skip "$2" "not for $LINK_TYPE"
	return 1
}

# ---- counters ---------------------------------------------------------------

declare -A t_snap
t_told=''

# Forks are slow in a guest: these leave their result in REPLY
t_cnt() { # DEV NAME
	read -r REPLY 2>/dev/null <"/sys/class/infiniband/$1/ports/1/hw_counters/$2" ||
		REPLY=0
}
t_delta() { t_cnt "$1" "$2"; REPLY=$((REPLY - ${t_snap[$1/$2]:-0})); }

has_counter() { [ -r "/sys/class/infiniband/$1/ports/1/hw_counters/$2" ]; }
cnt() { t_cnt "$@"; echo "$REPLY"; }

# snap DEV...: remember all counters
snap() {
	local d f
	t_told=''
	for d; do
		for f in "/sys/class/infiniband/$d/ports/1/hw_counters"/*; do
			f=${f##*/}
			[ "$f" != lifespan ] || continue
			t_cnt "$d" "$f"
			t_snap[$d/$f]=$REPLY
		done
	done
}

# delta DEV NAME: change since snap
delta() { t_delta "$@"; echo "$REPLY"; }

# grown DEV NAME N: has it changed by at least N?
grown() { t_delta "$1" "$2"; [ "$REPLY" -ge "$3" ]; }

# unchanged DEV NAME...
unchanged() {
	local d=$1 c; shift
	for c; do
		t_delta "$d" "$c"
		[ "$REPLY" = 0 ] || return 1
	done
}

# changes DEV...: all counters that changed, for diagnostics
changes() {
	local d f
	for d; do
		for f in "/sys/class/infiniband/$d/ports/1/hw_counters"/*; do
			f=${f##*/}
			[ "$f" != lifespan ] || continue
			t_delta "$d" "$f"
			[ "$REPLY" = 0 ] || echo "$d $f +$REPLY"
		done
	done
}

# counter DESCRIPTION DEV NAME OP VALUE: assert a change since snap
counter() {
	local n
	if ! has_counter "$2" "$3"; then
		if [ "$LINK_TYPE" = metaroce ]; then
			note "no counter $3"
			not_ok "$1: $3 $4 $5"
		else
			skip "$1: $3 $4 $5" "$LINK_TYPE has no such counter"
		fi
		return 1
	fi
	t_delta "$2" "$3"
	n=$REPLY
	if test "$n" "$4" "$5"; then
		ok "$1: $3 $4 $5"
	else
		note "$3 changed by $n"
		# All of them once
		[ -n "$t_told" ] || changes "$DEVA" "$DEVB" | diag
		t_told=1
		not_ok "$1: $3 $4 $5"
	fi
}

# ---- impairments ------------------------------------------------------------

# netem A|B ARGS...: on what that end sends. netem handles a whole super-packet
# as one: let the device take single ones only, so that loss is per packet.
netem() {
	local ns dev
	case $1 in
	A) ns=$NSA dev=va1 ;;
	*) ns=$NSB dev=vb1 ;;
	esac
	shift
	ip -n "$ns" link set $dev gso_max_segs 1
	tc -n "$ns" qdisc replace dev $dev root netem limit 10000 "$@"
}
netem_both() { netem A "$@" && netem B "$@"; }

# netem_off [keep]: keep = stay with single packets
# shellcheck disable=SC2120
netem_off() {
	tc -n "$NSA" qdisc del dev va1 root 2>/dev/null
	tc -n "$NSB" qdisc del dev vb1 root 2>/dev/null
	[ "${1:-}" = keep ] || {
		ip -n "$NSA" link set va1 gso_max_segs 65535
		ip -n "$NSB" link set vb1 gso_max_segs 65535
	}
	return 0
}
