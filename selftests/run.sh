#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [TEST...]  -- all selftests, or those whose name contains a TEST
#
# As root, in a guest or on a machine that may lose its RDMA links. Prints one
# stream of TAP; every test of every file is one line of it. Exit code 0: all
# passed, 1: some failed, 4: all were skipped.
#
# TESTS           names as well
# LINK_TYPE, SELFTEST_SCALE, SELFTEST_BIN, SELFTEST_VERBOSE: see lib.sh.
# SELFTEST_FILE_LIMIT  seconds for one file (600, more on a debug kernel)
set -u
cd "$(dirname "$0")" || exit 1

# Checkers make a kernel slow
if [ -n "${VM_DEBUG:-}" ]; then
	: "${SELFTEST_SCALE:=40}" "${SELFTEST_FILE_LIMIT:=1200}" "${SELFTEST_LIMIT:=60}"
	export SELFTEST_LIMIT
fi
export SELFTEST_SCALE=${SELFTEST_SCALE:-100}
export SELFTEST_FILE_LIMIT=${SELFTEST_FILE_LIMIT:-600}
limit=$SELFTEST_FILE_LIMIT
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- ${TESTS:-}

wanted() {
	local f=$1 p; shift
	[ $# -gt 0 ] || return 0
	for p; do case $f in *"$p"*) return 0 ;; esac; done
	return 1
}

n=0 bad=0 skipped=0 passed=0
echo "TAP version 13"
for f in [0-9][0-9]-*.sh; do
	wanted "$f" "$@" || continue
	name=${f%.sh} plan='' seen=0 rc=0 sid=0 t0=$SECONDS
	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			w=${line%%ok *}ok
			rest=${line#*ok }
			rest=${rest#* }
			n=$((n + 1)) seen=$((seen + 1))
			echo "$w $n $name: $rest"
			case $w$rest in
			not*) bad=$((bad + 1)) ;;
			*'# SKIP'*) skipped=$((skipped + 1)) ;;
			*) passed=$((passed + 1)) ;;
			esac ;;
		'TAP version'* | *': line '*' Killed '* | *': line '*' Terminated '*) ;;
		1..*) plan=${line#1..}; plan=${plan%% *} ;;
		'# rc '*) rc=${line#\# rc } ;;
		'# sid '*) sid=${line#\# sid } ;;
		*) echo "$line" ;;
		esac
	done < <(setsid timeout -k 10 "$limit" "./$f" 2>&1 </dev/null &
		echo "# sid $!"; wait $!; echo "# rc $?")
	# What it may have left running
	pkill -KILL -s "$sid"
	if [ "$plan" != "$seen" ]; then
		case $rc in 124 | 137) why="timed out after $limit s" ;; *) why="exit code $rc" ;; esac
		n=$((n + 1)) bad=$((bad + 1))
		echo "not ok $n $name: ran to its end ($why, $seen of ${plan:-unknown} results)"
	fi
	echo "# $name: $((SECONDS - t0)) s"
done
echo "1..$n"
echo "# $SECONDS s; $passed passed, $bad failed, $skipped skipped"
[ "$bad" = 0 ] || exit 1
[ "$passed" -gt 0 ] || exit 4
