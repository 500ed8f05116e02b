#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rdma-core.sh [PATTERN...]  -- rdma-core's own test suite (the copy that comes
# with python3-pyverbs) on a rxe device and on ours, one after the other in the
# same guest, and a comparison. Passes if nothing fails on ours and all that
# passes on rxe passes on ours.
# shellcheck source=selftests/lib.sh
. "${0%/*}/lib.sh"
T_UNLOAD=1
SUITE=${RDMA_CORE_TESTS:-/usr/share/doc/rdma-core/tests}
LIMIT=${RDMA_CORE_LIMIT:-280}
MIN_PASS=94		# what rdma_rxe passes of version 44
PY=/usr/bin/python3	# the distribution's: pyverbs is its

t_begin "rdma-core's test suite"
if [ ! -e "$SUITE/run_tests.py" ] || ! $PY -c 'import pyverbs' 2>/dev/null; then
	skip "rdma-core's test suite" "python3-pyverbs is not installed"
	t_done
fi
cp -r "$SUITE" "$t_tmp/tests" && gunzip -f "$t_tmp"/tests/*.gz
result $? "unpack the suite"

# suite TYPE DEV NETDEV NET PATTERN...: results to $t_tmp/TYPE
suite() {
	local type=$1 dev=$2 nd=$3 net=$4 t0=$SECONDS rc; shift 4
	if ! { printf '%s\n' "link add $nd type veth peer name ${nd}p" \
			"link set $nd up" "link set ${nd}p up" \
			"addr add $net.1/24 dev $nd" | ip -b - &&
	       LINK_TYPE=$type link_add "$dev" "$nd" &&
	       wait_gid "$dev" '' "$net.1"; } >"$t_tmp/out" 2>&1; then
		result 1 "$type: a device" "$t_tmp/out"
		return
	fi
	timeout -k 5 $((LIMIT * T_SLOW / 2)) $PY "$HERE/rdma_core_tests.py" "$t_tmp/tests" \
		"$t_tmp/$type" --dev "$dev" --gid "$(gid_index "$dev" "$net.1")" "$@" \
		>"$t_tmp/$type.log" 2>&1
	rc=$?
	grep -q '^end' "$t_tmp/$type"
	if ! result $? "$type: the suite runs to its end" && [ -s "$t_tmp/$type" ]; then
		note "exit code $rc; the last test that ended: $(tail -n 1 "$t_tmp/$type")"
		tail -n 30 "$t_tmp/$type.log" | diag
	fi
	note "$type: $(grep -c ^pass "$t_tmp/$type") pass, $(grep -c ^fail "$t_tmp/$type") fail, $(grep -c ^skip "$t_tmp/$type") skipped, $((SECONDS - t0)) s"
	link_del "$dev"
	ip link del "$nd"
	t_gid=()
}

: >"$t_tmp/rxe"
if [ "$LINK_TYPE" != rxe ] && modprobe -q rdma_rxe; then
	suite rxe rxe_t mrx0 10.11.0 "$@"
	rmmod rdma_rxe
else
	note "no rdma_rxe to compare with"
fi
: >"$t_tmp/$LINK_TYPE"
suite "$LINK_TYPE" mroce_t mrt0 10.12.0 "$@"
if grep -q ^fail "$t_tmp/$LINK_TYPE"; then diag <"$t_tmp/$LINK_TYPE.log"; fi

# ---- each test: ours, and rxe's beside it
declare -A on_rxe
while IFS=$'\t' read -r status id _; do on_rxe[$id]=$status; done <"$t_tmp/rxe"
while IFS=$'\t' read -r status id _ why; do
	rxe=${on_rxe[$id]:-}
	case $status in
	pass) ok "$id${rxe:+ (rxe: $rxe)}" ;;
	skip) if [ "$rxe" = pass ]; then
			not_ok "$id: skipped ($why), passes on rxe"
		else
			skip "$id" "$why${rxe:+ (rxe: $rxe)}"
		fi ;;
	fail) not_ok "$id: $why${rxe:+ (rxe: $rxe)}" ;;
	esac
done <"$t_tmp/$LINK_TYPE"

note "why tests are skipped:"
awk -F '\t' '$1 == "skip" { n[$4]++ } END { for (w in n) print n[w], w }' \
	"$t_tmp/$LINK_TYPE" | sort -rn | head -n 40 | diag
better=$(awk -F '\t' 'NR == FNR { r[$2] = $1; next }
	$1 == "pass" && r[$2] != "pass" { print $2 }' "$t_tmp/rxe" "$t_tmp/$LINK_TYPE")
if [ -s "$t_tmp/rxe" ] && [ -n "$better" ]; then
	note "pass here, not on rxe:"
	printf '%s\n' "$better" | diag
fi
n=$(grep -c ^pass "$t_tmp/$LINK_TYPE")
if [ $# = 0 ]; then
	[ "$n" -ge $MIN_PASS ]
	result $? "at least $MIN_PASS tests pass ($n)"
fi
if [ -s "$t_tmp/rxe" ]; then
	[ "$n" -ge "$(grep -c ^pass "$t_tmp/rxe")" ]
	result $? "no fewer than on rxe"
fi
t_done
