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
# SELFTEST_AGAIN=1     a file that failed is run once more, and that counts: for
#                      guests on machines that others use as well. The first try
#                      is shown and named at the end. What a kernel's log says
#                      against the driver, what is left over and wrong data count
#                      at once
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

# one FILE: run it; its lines in out, results in results, its failures in failed
one() {
	local f=$1 name=${1%.sh} line plan='' rc=0 sid=0 w rest
	out=() results=0 failed=()
	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			w=${line%%ok *}ok
			rest=${line#*ok }
			rest=${rest#* }
			results=$((results + 1))
			out+=("$w - $name: $rest")
			[ "$w" = ok ] || failed+=("$rest") ;;
		'TAP version'* | *': line '*' Killed '* | *': line '*' Terminated '*) ;;
		1..*) plan=${line#1..}; plan=${plan%% *} ;;
		'# rc '*) rc=${line#\# rc } ;;
		'# sid '*) sid=${line#\# sid } ;;
		*) out+=("$line") ;;
		esac
	done < <(setsid timeout -k 10 "$limit" "./$f" 2>&1 </dev/null &
		echo "# sid $!"; wait $!; echo "# rc $?")
	# What it may have left running
	pkill -KILL -s "$sid"
	[ "$plan" != "$results" ] || return
	case $rc in 124 | 137) rest="timed out after $limit s" ;; *) rest="exit code $rc" ;; esac
	rest="ran to its end ($rest, $results of ${plan:-unknown} results)"
	out+=("not ok - $name: $rest")
	failed+=("$rest")
}

# Was it something that another try must not cover? The log of the kernel, what is
# left over, wrong data, completions that are missing or too many
serious() {
	local x
	for x in "${failed[@]}"; do
		case $x in *splat* | *'module said'* | *'links are gone'* | \
			*'not in use'* | *'no socket'*) return 0 ;; esac
	done
	printf '%s\n' "${out[@]}" | grep -qE \
		'never completed|more completions|byte [0-9]+ .*is|differ|wrong|instead of'
}

n=0 bad=0 skipped=0 passed=0 again=()
echo "TAP version 13"
for f in [0-9][0-9]-*.sh; do
	wanted "$f" "$@" || continue
	t0=$SECONDS
	one "$f"
	if [ ${#failed[@]} != 0 ] && [ -n "${SELFTEST_AGAIN:-}" ] && ! serious; then
		printf '# first try: %s\n' "${out[@]}"
		again+=("${f%.sh} (${failed[0]})")
		one "$f"
	fi
	for line in "${out[@]}"; do
		case $line in
		'not ok - '*) n=$((n + 1)) bad=$((bad + 1)) ;;
		'ok - '*'# SKIP'*) n=$((n + 1)) skipped=$((skipped + 1)) ;;
		'ok - '*) n=$((n + 1)) passed=$((passed + 1)) ;;
		*) echo "$line"; continue ;;
		esac
		echo "${line%% - *} $n ${line#* - }"
	done
	echo "# ${f%.sh}: $((SECONDS - t0)) s"
done
[ ${#again[@]} = 0 ] || printf '# passed or failed at the second try: %s\n' "${again[@]}"
echo "1..$n"
echo "# $SECONDS s; $passed passed, $bad failed, $skipped skipped"
[ "$bad" = 0 ] || exit 1
[ "$passed" -gt 0 ] || exit 4
