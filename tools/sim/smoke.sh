#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# smoke.sh PROGRAM DIRECTORY [COUNT]  -- what "make check" runs of the simulator:
# the parser of scenarios, that a seed is a seed, COUNT property runs. TAP.
set -u
sim=$1 tmp=$2/sim-smoke count=${3:-600}
top=$(dirname "$0")
n=0 failed=0
mkdir -p "$tmp"

result() { # ok|not ok, name
	n=$((n + 1))
	[ "$1" = ok ] || failed=$((failed + 1))
	echo "$1 $n - $2"
}

# All runs of $tmp/NAME.scn end without an error, and each had to send something again
ended() { # name, runs, what it shows
	"$sim" "$tmp/$1.scn" >"$tmp/$1.out" || :
	ends=$(awk '$3 ~ /unfinished|errors/ && $4 == 0' "$tmp/$1.out" | wc -l)
	again=$(awk '$3 == "retransmitted" && $4 > 0' "$tmp/$1.out" | wc -l)
	if [ "$ends" = $((2 * $2)) ] && [ "$again" = "$2" ]; then
		result ok "$3"
	else
		result "not ok" "$3"
		sed 's/^/# /' "$tmp/$1.out"
	fi
}

# A scenario of four lines that is right, with a fifth that is not
refused() { # line, message
	printf '%s\n' 'scenario x' 'workload stream 64k 4' \
		'transport metaroce' 'measure 1ms after 1ms' 'report goodput' \
		"$1" >"$tmp/bad.scn"
	if "$sim" "$tmp/bad.scn" >"$tmp/bad.out" 2>&1; then
		result "not ok" "refused: $1"
	elif grep -q "^$tmp/bad.scn:6: .*$2" "$tmp/bad.out"; then
		result ok "refused: $1"
	else
		result "not ok" "refused: $1"
		sed 's/^/# /' "$tmp/bad.out"
	fi
}

refused 'colour blue' 'unknown key'
refused 'topology ring' 'unknown topology'
refused 'topology planes 17 4' '1 to 16 planes'
refused 'rate fast' 'not a number'
refused 'delay 5' 'not a time'
refused 'loss 0.1' 'not a part'
refused 'loss 200%' 'more than 100'
refused 'rate 100 200' 'a word too many'
refused 'workload nothing' 'unknown workload'
refused 'workload stream 64k' 'a value is missing'
refused 'transport tcp' 'unknown transport'
refused 'goal speed >= 1' 'unknown metric'
refused 'goal goodput = 1' 'is missing'
refused 'fault down lane 1 10ms' 'at TIME'
refused 'versus colour blue' 'unknown key'

# All that are there are read; one is run, twice, and says the same
for f in "$top"/scenarios/*.scn; do
	if "$sim" -c "$f" >"$tmp/read.out" 2>&1; then
		result ok "read: ${f##*/}"
	else
		result "not ok" "read: ${f##*/}"
		sed 's/^/# /' "$tmp/read.out"
	fi
done
for i in 1 2; do
	mkdir -p "$tmp/$i"
	"$sim" -s 5 -o "$tmp/$i" "$top/scenarios/paths.scn" >"$tmp/$i/out" || :
done
if cmp "$tmp/1/sim.json" "$tmp/2/sim.json" &&
   cmp "$tmp/1/sim-series.csv" "$tmp/2/sim-series.csv" &&
   grep -q goodput "$tmp/1/sim.csv"; then
	result ok "the same seed gives the same figures"
else
	result "not ok" "the same seed gives the same figures"
fi

# Whatever the transport: what ends, ends on a bad network, too
cat >"$tmp/ends.scn" <<'END'
topology star 9
queue 1M
mark step 100000
loss 1%
duplicate 1%
reorder 1% 5us
corrupt 0.5%
transport metaroce roce-gbn sr1
limit 2s
report unfinished errors retransmitted
scenario incast
workload incast 8 1M
scenario reads
workload fan-out 8 256k 10
scenario ring
workload all-reduce 4M
scenario all-to-all
workload all-to-all 128k
END
ended ends 12 "all transports end what they begin"

# A plane and a NIC die, and come back: all arrives
cat >"$tmp/cuts.scn" <<'END'
transport metaroce
workload all-to-all 1M
limit 2s
report unfinished errors retransmitted
scenario planes
topology planes 4 4
fault down plane 1 at 20us until 5ms
fault down nic 0 at 40us until 1ms
scenario star
topology star 4
fault down nic 0 at 40us until 1ms
END
ended cuts 2 "what is cut off for a while arrives"

if "$sim" -p "$count" >"$tmp/seeds.out"; then
	result ok "$(tail -n 1 "$tmp/seeds.out") of property runs"
else
	result "not ok" "property runs"
	head -n 400 "$tmp/seeds.out"
fi
echo "1..$n"
[ "$failed" = 0 ]
