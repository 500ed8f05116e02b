#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh all|full|debug|quick|PART...  -- run parts of the tests
#
# Every part prints TAP into out/check/PART.log. The last line of all is
# "N passed, N failed", counted from the "ok" and "not ok" lines at the start of
# a line (or, for a part without any, from its own such closing line). A part
# that crashes, times out, finds a splat in a guest's log or runs no test at all
# is a failure of its own. Skipped tests say why and are counted apart.
set -u
. "$(dirname "$0")/lib.sh"

VM=$TOP/tools/vm
LOG=$OUT/check
mkdir -p "$LOG"

# Two lanes at once, for two CPUs: kernels compile and guests wait in the one
# while the other works. Order matters only for the time it takes.
LANE1='layers kernel-uml vm kunit selftests rdma-core smoke-6.12 smoke-6.1'
LANE2='unit kernel-debug static selftests-debug fuzz checkpatch sim-smoke'
# And what is shown to people
FULL1="$LANE1 demo-uml"
FULL2="$LANE2 demo"
DEBUG1='kernel-debug selftests-debug-all'
DEBUG2='cycles-debug'
QUICK1='sparse'
QUICK2='layers unit'

# ---- parts: how to run, and for how many seconds at most -----------------------

need() {
	for f; do
		[ -e "$TOP/$f" ] || { echo "# there is no $f"; return 1; }
	done
}

# guest FLAVOUR SECONDS OUT ARGS...: with the module and the programs built.
# BUILD: more for build.sh; the module is then in out/$RESULT
guest() {
	local flavour=$1 limit=$2 name=$3
	shift 3
	if [ -e selftests/Makefile ]; then
		flock "$LOG/programs.lock" make -s -C selftests \
			>"$LOG/build-selftests-$name.log" 2>&1 || {
			echo "# the programs of selftests/ do not build:"
			sed 's/^/# /' "$LOG/build-selftests-$name.log"
			return 1
		}
	fi
	"$TOP/tools/ci/build.sh" "$flavour" ${BUILD:+"$BUILD"} \
		>"$LOG/build-${RESULT:-$flavour}.log" 2>&1 || {
		echo "# the module does not build for $flavour:"
		grep -E -A 3 'error:|Error ' "$LOG/build-${RESULT:-$flavour}.log" |
			head -n 30 | sed 's/^/# /'
		return 1
	}
	"$VM/run" --kernel "$flavour" --timeout "$limit" --out "$LOG/$name" \
		${RESULT:+--module "$OUT/$RESULT/metaroce.ko"} "$@"
}

kernel() {
	local dir
	if dir=$("$TOP/tools/ci/kernels.sh" get "$1"); then
		echo "ok - $1 kernel: $(cat "$dir/release"), ${dir##*/}"
	else
		echo "not ok - $1 kernel"
		return 1
	fi
}
part_kernel-uml() { kernel uml; }
part_kernel-debug() { kernel uml-debug; }

part_unit() { need tools/unit/Makefile && make -s -C "$TOP/tools/unit" check; }
part_fuzz() { need tools/fuzz/Makefile && make -s -C "$TOP/tools/fuzz" smoke; }
part_sim-smoke() {
	need tools/sim/Makefile && make -s -C "$TOP/tools/sim" smoke
}
part_layers() {
	local check

	for check in layers test_layers rules test_rules; do
		"$TOP/tools/ci/$check.py" || return
	done
}
part_static() {
	"$TOP/tools/ci/static.sh" sparse w1-6.1 w1-newest w1-next shell spdx docs
}
part_checkpatch() { "$TOP/tools/ci/static.sh" checkpatch; }
part_sparse() { "$TOP/tools/ci/static.sh" sparse; }
part_vm() { "$TOP/tools/ci/test-vm.sh"; }
part_kunit() { guest uml 900 kunit -- tools/ci/kunit.sh; }
part_selftests() {
	need selftests/run.sh &&
	guest uml 2700 selftests --env TESTS="${TESTS:-}" --env SELFTEST_AGAIN=1 \
		-- selftests/run.sh
}
# On the debug kernel, ten times as slow: what has to do with lifetimes, locks and
# hostile input. All of them, failing allocations and 1,000 cycles of links (with
# a short GID table, or the files of sysfs would take five hours) are in check-debug
DEBUG_TESTS='02- 03- 04- 22- 28- 41- 50-'
part_selftests-debug() {
	need selftests/run.sh &&
	guest uml-debug 2400 selftests-debug --mem 3072 \
		--env TESTS="${TESTS:-$DEBUG_TESTS}" --env SELFTEST_CYCLES=5 \
		--env SELFTEST_AGAIN=1 -- selftests/run.sh
}
part_selftests-debug-all() {
	need selftests/run.sh &&
	guest uml-debug 14000 selftests-debug-all --mem 3072 --env SELFTEST_CYCLES=5 \
		--env SELFTEST_FAULT_STEP=1 --env SELFTEST_FILE_LIMIT=3600 \
		--env TESTS="${TESTS:-}" -- selftests/run.sh
}
part_cycles-debug() {
	need selftests/run.sh &&
	BUILD=METAROCE_FEW_GIDS=y RESULT=uml-debug-few \
		guest uml-debug 14000 cycles-debug --mem 3072 \
		--env SELFTEST_CYCLES="${CYCLES:-1000}" --env SELFTEST_FILE_LIMIT=13000 \
		--env TESTS=03- -- selftests/run.sh
}
part_rdma-core() {
	need selftests/rdma-core.sh &&
	guest uml 600 rdma-core -- selftests/rdma-core.sh
}
part_smoke-6.12() {
	need selftests/smoke.sh &&
	guest stock-6.12 900 smoke-6.12 -- selftests/smoke.sh
}
part_smoke-6.1() {
	need selftests/smoke.sh &&
	guest stock-6.1 900 smoke-6.1 -- selftests/smoke.sh
}
part_smoke-uml() {
	need selftests/smoke.sh && guest uml 600 smoke-uml -- selftests/smoke.sh
}
# The demo prints a table, for people
demo() {
	local rc=0
	need selftests/demo.sh || return
	"$VM/demo.sh" "$1" || rc=$?
	if [ "$rc" = 0 ]; then
		echo "ok - demo in $1"
	else
		echo "not ok - demo in $1: exit code $rc"
	fi
	return "$rc"
}
part_demo-uml() { demo uml; }
part_demo() { demo stock-6.12; }

# Above what a part takes on a bare machine, kernels to build included
limit_of() {
	case $1 in
	kernel-*) echo 3600 ;;
	selftests-debug) echo 4200 ;;
	selftests-debug-all | cycles-debug) echo 18000 ;;
	selftests) echo 3300 ;;
	*) echo 1800 ;;
	esac
}

# ---- running and counting ------------------------------------------------------

count() { # FILE -> passed failed skipped
	awk '
	/^ok .*# *[Ss][Kk][Ii][Pp]/ { skip++; next }
	/^ok( |$)/ { pass++; next }
	/^not ok .*# *[Tt][Oo][Dd][Oo]/ { skip++; next }
	/^not ok( |$)/ { fail++; next }
	/^([A-Za-z]+: )?[0-9]+ passed, [0-9]+ failed/ {
		sub(/^[A-Za-z]+: /, ""); p = $1 + 0; f = $3 + 0
		s = $5 ~ /^[0-9]+$/ ? $5 + 0 : 0; own = 1
	}
	END {
		if (!(pass + fail + skip) && own) { pass = p; fail = f; skip = s }
		print pass + 0, fail + 0, skip + 0
	}' "$1"
}

# On a slow machine that has to build its kernels first, the long parts would not
# end within the hour and a half that "make check" is given
LATE=3300 late=
too_late() {
	case $1 in selftests | selftests-debug | rdma-core) ;; *) return 1 ;; esac
	[ -n "$late" ] && [ "$SECONDS" -gt $LATE ]
}

run_part() {
	local part=$1 rc pass fail skip t0=$SECONDS why='' log=$LOG/$1.log
	rm -rf "${LOG:?}/$part"
	echo "--- $part"
	if too_late "$part"; then
		echo "ok 1 $part # SKIP $((SECONDS / 60)) minutes have gone, there are kernels to build only once" >"$log"
		printf '%s 0 0 1 0\n' "$part" >"$LOG/$part.res"
		return
	fi
	timeout -k 10 "$(limit_of "$part")" "$BASH" "$0" --part "$part" \
		>"$log" 2>&1 </dev/null
	rc=$?
	read -r pass fail skip <<<"$(count "$log")"
	case $rc in
	0) ;;
	4) [ "$skip" != 0 ] || why="exit code 4" ;; # kselftest: all skipped
	124 | 137) why="timed out" ;;
	97) why="a splat in the kernel's log" ;;
	98) why="the guest died" ;;
	99) why="the guest did not boot" ;;
	*) [ "$fail" != 0 ] || why="exit code $rc" ;;
	esac
	[ -n "$why" ] || [ $((pass + fail + skip)) != 0 ] || why="no test ran"
	if [ -n "$why" ]; then
		echo "not ok - $part: $why" >>"$log"
		fail=$((fail + 1))
	fi
	printf '%s %s %s %s %s\n' "$part" "$pass" "$fail" "$skip" \
		$((SECONDS - t0)) >"$LOG/$part.res"
	if [ "$fail" = 0 ]; then
		echo "+++ $part: $pass passed, $((SECONDS - t0)) s"
	else
		echo "+++ $part: $pass passed, $fail FAILED, $((SECONDS - t0)) s; out/check/$part.log:"
		grep -nE -A 8 '^not ok' "$log" | head -n 60 | sed 's/^/    /'
		[ -z "$why" ] || tail -n 30 "$log" | sed 's/^/    | /'
	fi
}

if [ "${1:-}" = --part ]; then
	cd "$TOP" || exit 1
	"part_$2"
	exit
fi

case ${1:-} in
all) lanes=("$LANE1" "$LANE2") group=check late=1 ;;
full) lanes=("$FULL1" "$FULL2") group=check ;;
debug) lanes=("$DEBUG1" "$DEBUG2") group=check ;;
quick) lanes=("$QUICK1" "$QUICK2") group=check ;;
'' | -*) sed -n '3,10s/^# \{0,1\}//p' "$0"; exit 2 ;;
*)
	lanes=("$*") group=check
	for p; do
		declare -F "part_$p" >/dev/null || die "no part '$p'"
	done
	;;
esac

cd "$TOP" || exit 1
start=$SECONDS
"$TOP/tools/ci/deps.sh" $group >"$LOG/deps.log" 2>&1 || {
	tail -n 5 "$LOG/deps.log"
	echo "0 passed, 1 failed"
	exit 1
}

pids=()
trap 'kill "${pids[@]}" 2>/dev/null; exit 130' INT TERM
for lane in "${lanes[@]}"; do
	(
		trap 'kill $(jobs -p) 2>/dev/null; exit 130' TERM INT
		for p in $lane; do
			rm -f "$LOG/$p.res"
		done
		for p in $lane; do
			run_part "$p" &
			wait $!
		done
	) &
	pids+=($!)
done
wait "${pids[@]}"

# ---- summary ---------------------------------------------------------------------

passed=0 failed=0
echo
printf '%-18s %7s %7s %8s %8s\n' part passed failed skipped minutes
# shellcheck disable=SC2048 # words of words
for p in ${lanes[*]}; do
	if ! read -r _ pass fail skip secs <"$LOG/$p.res"; then
		pass=0 fail=1 skip=0 secs=0
	fi 2>/dev/null
	passed=$((passed + pass)) failed=$((failed + fail))
	printf '%-18s %7d %7d %8d %6d.%d\n' "$p" "$pass" "$fail" "$skip" \
		$((secs / 60)) $((secs % 60 / 6))
done
secs=$((SECONDS - start))
printf '%-18s %7d %7d %8s %6d.%d\n\n' total "$passed" "$failed" '' \
	$((secs / 60)) $((secs % 60 / 6))
# shellcheck disable=SC2048
skips=$(for p in ${lanes[*]}; do
	grep -hE '^ok .*# *[Ss][Kk][Ii][Pp]' "$LOG/$p.log" 2>/dev/null |
		sed "s/^ok [0-9]* *-* */$p: /" | awk -v p="$p" '
		NR <= 5 { print }
		END { if (NR > 5) print p ": ... and " NR - 5 " more, in out/check/" p ".log" }'
done)
if [ -n "$skips" ]; then
	echo "skipped:"
	echo "$skips"
	echo
fi
# shellcheck disable=SC2048
again=$(for p in ${lanes[*]}; do
	grep -hE '^# passed or failed at the second try' "$LOG/$p.log" 2>/dev/null |
		sed "s/^# /$p: /"
done)
[ -z "$again" ] || { echo "$again"; echo; }
# Last, where somebody who sees but the end of this finds it
# shellcheck disable=SC2048
fails=$(for p in ${lanes[*]}; do
	grep -hE '^not ok' "$LOG/$p.log" 2>/dev/null | grep -viE '# *todo' |
		sed "s/^not ok [0-9]* *-* */$p: /" | head -n 20
done)
[ -z "$fails" ] || { echo "failed:"; echo "$fails"; echo; }
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
