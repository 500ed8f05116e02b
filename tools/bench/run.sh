#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [--quick] [--kernel F]  -- how fast, next to rdma_rxe and to TCP: boots a
# pinned guest, measures in it, leaves out/bench.md and out/bench.json.
#
# Figures of different runs do not compare: machines are noisy, guests more so.
# Within one run the three take turns, and the medians are shown.
set -eu
# shellcheck source=tools/ci/lib.sh
. "$(dirname "$0")/../ci/lib.sh"

kernel=uml rounds=3 secs=3
while [ $# -gt 0 ]; do
	case $1 in
	--quick) rounds=1 secs=2 ;;
	--kernel) kernel=$2; shift ;;
	*) sed -n '4,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
	esac
	shift
done
"$TOP/tools/ci/deps.sh" guest rdma demo
"$TOP/tools/ci/build.sh" "$kernel" >"$OUT/bench-build.log" 2>&1 || {
	tail -n 20 "$OUT/bench-build.log" >&2
	die "the module does not build for $kernel"
}
rm -rf "$OUT/bench"
mkdir -p "$OUT/bench"
rc=0
"$TOP/tools/vm/run" --kernel "$kernel" --pin --timeout 1200 --out "$OUT/bench" \
	--env BENCH_ROUNDS="$rounds" --env BENCH_SECS="$secs" \
	-- tools/bench/guest.sh || rc=$?
for f in bench.md bench.json; do
	[ ! -s "$OUT/bench/$f" ] || cp "$OUT/bench/$f" "$OUT/$f"
done
exit "$rc"
