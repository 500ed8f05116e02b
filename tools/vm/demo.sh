#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# demo.sh [KERNEL]  -- from a bare Debian 12 to two metaroce links at work: get
# the packages and the kernel, build the module, boot a guest, run the demo.
set -eu
. "$(dirname "$0")/../ci/lib.sh"

kernel=${1:-stock-6.12}
t0=$(date +%s)
"$TOP/tools/ci/deps.sh" demo
mkdir -p "$OUT"
echo "building the module for $kernel"
"$TOP/tools/ci/build.sh" "$kernel" >"$OUT/demo-build.log" 2>&1 || {
	grep -E -A 3 'error:|Error ' "$OUT/demo-build.log" | head -n 40
	die "the module does not build, see $OUT/demo-build.log"
}
echo "booting $kernel ($(cat "$("$TOP/tools/ci/kernels.sh" get "$kernel")/release"))"
rc=0
"$TOP/tools/vm/run" --kernel "$kernel" --timeout "${DEMO_TIMEOUT:-600}" --quiet \
	--out "$OUT/demo" -- selftests/demo.sh || rc=$?
echo "$(($(date +%s) - t0)) s, exit code $rc; the guest's log is in out/demo/dmesg"
exit "$rc"
