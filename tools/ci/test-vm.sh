#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-vm.sh [KERNEL]  -- does tools/vm/run tell the truth? TAP. A runner that
# loses an exit code or a splat makes all other tests worthless.
set -u
. "$(dirname "$0")/lib.sh"

kernel=${1:-uml}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

run() { "$TOP/tools/vm/run" --kernel "$kernel" "$@"; }

check() { # NAME WANTED GOT
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n - vm: $1"
	else
		failed=$((failed + 1))
		echo "not ok $n - vm: $1"
		echo "# wanted '$2', got '$3'"
		sed 's/^/# | /' "$tmp/log" | tail -n 20
	fi
}

out=$(run --quiet -- sh -c 'echo "one  two"; echo three >&2; exit 0' 2>"$tmp/log")
check "exit code 0" 0 $?
check "the output is the command's, and nothing else" "one  two
three" "$out"

run -- sh -c 'exit 7' >"$tmp/log" 2>&1
check "exit code 7" 7 $?

run -- sh -c 'kill -SEGV $$' >"$tmp/log" 2>&1
check "death by a signal" 139 $?

t0=$SECONDS
run --timeout 10 -- sleep 1000 >"$tmp/log" 2>&1
check "a time-out is 124" 124 $?
check "and is in time" 1 $((SECONDS - t0 < 25))

run -- sh -c 'echo c >/proc/sysrq-trigger; sleep 100' >"$tmp/log" 2>&1
check "a panic is 98" 98 $?

run -- sh -c 'sleep 1; busybox poweroff -f' >"$tmp/log" 2>&1
check "a guest that powers off is 98" 98 $?

run -- sh -c 'echo "WARNING: CPU: 0 PID: 1 at x.c:1" >/dev/kmsg' >"$tmp/log" 2>&1
check "a splat is 97" 97 $?

run -- sh -c 'echo "BUG: KASAN: x" >/dev/kmsg; exit 5' >"$tmp/log" 2>&1
check "a splat does not hide the command's failure" 5 $?
check "and is shown" 1 "$(grep -c 'vm:   .*KASAN: x' "$tmp/log")"

run --no-scan -- sh -c 'echo "BUG: x" >/dev/kmsg' >"$tmp/log" 2>&1
check "--no-scan" 0 $?

run --out "$tmp/out" --env 'X=a  "b' -- sh -c \
	'echo "$X" >"$VM_OUT/x"; echo "$VM_KERNEL" >"$VM_OUT/k"' >"$tmp/log" 2>&1
check "--out, --env" 'a  "b' "$(cat "$tmp/out/x" 2>&1)"
check "\$VM_KERNEL" "$kernel" "$(cat "$tmp/out/k" 2>&1)"
check "dmesg is left in --out" 1 "$(grep -c 'Linux version' "$tmp/out/dmesg")"

run -- sh -c "echo x >/usr/vm-test-x; echo y >'$tmp/y'; rm -f '$tmp/out/x'" \
	>"$tmp/log" 2>&1
check "the guest may write anywhere" 0 $?
check "and the host does not see it" "no no yes" "$(
	for f in /usr/vm-test-x "$tmp/y" "$tmp/out/x"; do
		[ -e "$f" ] && echo yes || echo no
	done | tr '\n' ' ' | sed 's/ $//')"

run --quiet -- sh -c 'sleep 3; exit 3' >"$tmp/log" 2>&1 &
run --quiet -- sh -c 'sleep 3; exit 4' >"$tmp/log2" 2>&1
b=$?
wait $!
check "two guests at once" "3 4" "$? $b"

run -- sh -c 'modprobe rdma_rxe && modprobe veth && ip link add v0 type veth peer name v1 &&
	ip addr add 10.9.0.1/24 dev v0 && ip link set v0 up && ip link set v1 up &&
	rdma link add rxe0 type rxe netdev v0 && rdma link show rxe0/1 && sleep 1 &&
	{ ibv_rc_pingpong -d rxe0 -g 1 -n 10 & sleep 1; ibv_rc_pingpong -d rxe0 -g 1 -n 10 127.0.0.1; }' \
	>"$tmp/log" 2>&1
check "an RDMA device at work" 0 $?

echo "1..$n"
[ "$failed" = 0 ]
