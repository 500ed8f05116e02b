#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# smoke.sh OUT SECONDS TARGET... -- run each fuzzer for a bounded time and
# print TAP. Inputs that broke a target stay in OUT/found/TARGET.
set -u
out=$1; secs=$2
shift 2
here=$(dirname "$0")
passed=0; failed=0; n=0

# TAP of one result: verdict name
result() {
	n=$((n + 1))
	case $1 in
	ok) passed=$((passed + 1)); echo "ok $n $2" ;;
	*) failed=$((failed + 1)); echo "not ok $n $2" ;;
	esac
}

echo "TAP version 13"
for target in "$@"; do
	log=$out/$target.log
	mkdir -p "$out/corpus/$target" "$out/found/$target"

	# Inputs that broke something once.
	if [ -d "$here/regressions/$target" ]; then
		if "$out/$target" "$here/regressions/$target"/* \
				>"$log" 2>&1; then
			result ok "$target regressions"
		else
			tail -n 40 "$log" | sed 's/^/# /'
			result no "$target regressions"
		fi
	fi

	# A fixed seed: a failure can be had again.
	if "$out/$target" -seed="${FUZZ_SEED:-1}" -max_total_time="$secs" \
			-max_len=2048 -rss_limit_mb=1024 -timeout=10 \
			-print_final_stats=1 \
			-artifact_prefix="$out/found/$target/" \
			"$out/corpus/$target" "$out/seeds/$target" \
			>"$log" 2>&1; then
		grep -a number_of_executed_units "$log" |
			sed "s/^stat::number_of_executed_units: */# $target: inputs /"
		grep -a ' cov: ' "$log" | tail -n 1 | sed 's/^/# /'
		result ok "$target"
	else
		tail -n 60 "$log" | sed 's/^/# /'
		result no "$target"
	fi
done
echo "1..$n"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
