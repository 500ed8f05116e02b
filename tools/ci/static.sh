#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# static.sh [CHECK...]  -- what can be said about the sources without running
# them; TAP. Checks: sparse w1-6.1 w1-newest w1-next checkpatch shell spdx docs
# (default: all of them).
set -u
. "$(dirname "$0")/lib.sh"

log=$OUT/check
mkdir -p "$log"
n=0 failed=0

result() { # ok|not ok, name
	n=$((n + 1))
	[ "$1" = ok ] || failed=$((failed + 1))
	echo "$1 $n - static: $2"
}

# build FLAVOUR NAME [warn] ARGS...: from scratch, since make shows a warning
# only when it compiles. One on a line of ours is a failure; what the kernel's
# own headers give is not.
build() {
	flavour=$1 name=$2 bind=$3; shift 3
	out=$log/build-$flavour.log
	variant=
	for a; do
		case $a in [WC]=*) variant=$variant-${a%=*}${a#*=} ;; esac
	done
	rm -rf "$OUT/build/$flavour$variant"
	if ! "$TOP/tools/ci/build.sh" "$flavour" "$@" >"$out" 2>&1; then
		problems=$(grep -E -A 3 'error:|Error |undefined!' "$out" | head -n 30)
		[ -n "$problems" ] || problems=$(tail -n 10 "$out")
	else
		problems=$(grep -E '(warning|error):' "$out" |
			grep -E '(^|/)(drivers/infiniband/sw/metaroce/|include/uapi/rdma/metaroce)|^WARNING: modpost|metaroce\.o')
	fi
	if [ -z "$problems" ]; then
		result ok "$name"
	elif [ "$bind" = warn ]; then
		result ok "$name # SKIP newer than the last tested kernel ($LAST_TESTED) and does not build clean"
		say "WARNING: $name does not build clean, see $out"
	else
		result "not ok" "$name"
	fi
	[ -z "$problems" ] || echo "$problems" | sed "s|$OUT/build/[^/]*/src/||; s/^/# /"
}

has() { "$TOP/tools/ci/kernels.sh" get "$1" >/dev/null 2>"$log/get-$1.log"; }

check_sparse() {
	"$TOP/tools/ci/deps.sh" check
	# Debian 12's sparse does not know __has_include; 6.12 has all that is
	# asked for so
	build stock-6.12 "sparse and W=1 on 6.12" bind W=1 C=2 \
		"CF='-D__has_include(x)=1'"
}
check_w1_6_1() { build stock-6.1 "W=1 on 6.1" bind W=1; }
check_w1_newest() {
	if has newest; then
		build newest "W=1 on $LAST_TESTED" bind W=1
	else
		# The archive goes on; UML's build is of that series at least
		result ok "W=1 on $LAST_TESTED # SKIP $(tail -n 1 "$log/get-newest.log")"
	fi
}
check_w1_next() {
	if has next; then
		build next "W=1 on a kernel newer than $LAST_TESTED" warn W=1
	else
		result ok "W=1 on newer than $LAST_TESTED # SKIP $(tail -n 1 "$log/get-next.log")"
	fi
}

check_checkpatch() {
	if ! src=$("$TOP/tools/ci/kernels.sh" get src); then
		result "not ok" "checkpatch: no source tree"
		return
	fi
	"$TOP/tools/ci/checkpatch.py" "$src" drivers include tools selftests \
		>"$log/checkpatch.out"
	while read -r line; do
		case $line in
		'ok '*) result ok "${line#*- }" ;;
		'not ok '*) result "not ok" "${line#*- }" ;;
		*) echo "$line" ;;
		esac
	done <"$log/checkpatch.out"
}

our_files() {
	cd "$TOP" && git ls-files -co --exclude-standard 2>/dev/null
}

check_shell() {
	scripts=$(our_files | while read -r f; do
		[ -f "$TOP/$f" ] || continue
		case $(head -c 40 "$TOP/$f" | head -n 1 | tr -d '\0') in
		'#!'*sh) echo "$f" ;;
		*) case $f in *.sh) echo "$f" ;; esac ;;
		esac
	done)
	cd "$TOP" || exit 1
	# shellcheck disable=SC2086
	if out=$(shellcheck -x -S warning -e SC1090,SC1091,SC2034 -f gcc $scripts); then
		result ok "shellcheck: $(echo "$scripts" | wc -l) scripts"
	else
		result "not ok" shellcheck
		echo "$out" | sed 's/^/# /'
	fi
}

check_spdx() {
	bad=$(our_files | grep -vE '^(LICENSES/|README|.*\.(md|rst|txt|json|csv|svg)$|.*/README$)' |
		while read -r f; do
		[ -s "$TOP/$f" ] || continue
		head -n 4 "$TOP/$f" | grep -aq SPDX-License-Identifier || echo "$f"
	done)
	if [ -z "$bad" ]; then
		result ok "every source names its licence"
	else
		result "not ok" "every source names its licence"
		echo "$bad" | sed 's/^/# /'
	fi
}

# agree NAME SOURCES TEXT: two lists of lines are the same, and not empty
agree() {
	echo "$2" | sort >"$log/docs-sources"
	echo "$3" | sort >"$log/docs-text"
	if differ=$(diff "$log/docs-sources" "$log/docs-text") && [ -n "$2" ]; then
		result ok "$1: $(wc -l <"$log/docs-text")"
	else
		result "not ok" "$1"
		[ -n "$2" ] || echo "# the sources have none, or look different now"
		echo "$differ" | sed -n 's/^< /# no row: /p; s/^> /# not in the sources, or twice: /p'
	fi
}

# counters FILE MACRO: names in a list of X(SUFFIX, "name")
counters() {
	sed -n "/^#define $2(X)/,/[^\\\\]\$/p" "$1" |
		grep -oE 'X\([A-Z0-9_]+,[[:space:]]*"[^"]+"' | cut -d '"' -f 2
}

# rows FILE HEADING NEXT-HEADING: first column of the tables in between
rows() {
	sed -n "/^$2\$/,/^$3\$/s/^   \* - \(.*\)/\1/p" "$TOP/Documentation/$1" |
		grep -vxE 'name|event|file'
}

# What is listed in the documents is what there is, no more and no less
check_docs() {
	src=$TOP/drivers/infiniband/sw/metaroce
	page=$TOP/man/metaroce.4
	all=$(counters "$src/core/core.h" MROCE_COUNTERS
		counters "$src/metaroce.h" MROCE_DEV_COUNTERS)
	agree "counters in metaroce.rst" "$all" "$(rows metaroce.rst Counters Events)"
	agree "counters in metaroce(4)" "$all" \
		"$(sed -n '/^\.Sh COUNTERS/,/^\.Sh EVENTS/s/^\.It Va //p' "$page")"
	all=$(sed -n 's/^[[:space:]]X(\([a-z_]*\)).*/mroce_\1/p' "$src/core/events.h")
	agree "events in metaroce.rst" "$all" \
		"$(rows metaroce.rst Events 'Faults of .*' | grep '^mroce_')"
	agree "events in metaroce(4)" "$all" \
		"$(sed -n '/^\.Sh EVENTS/,/^\.Sh FILES/s/^\.It Va //p' "$page")"
	all=$(cd "$TOP/selftests" && ls [0-9]*.sh | sed 's/\.sh$//')
	agree "selftests in testing.rst" "$all" \
		"$(rows testing.rst Selftests 'Which rule .*' | sed 's/, /\n/g')"

	src=$TOP/tools/mroce/mroce.c page=$TOP/man/mroce.8
	all=$(sed -n 's/.*strcmp(argv\[2\], "\([a-z]*\)").*/\1/p' "$src" | sort -u)
	agree "sub-commands in mroce(8)" "$all" \
		"$(sed -n 's/^\.It Cm plane \([a-z]*\).*/\1/p' "$page")"
	all=$(sed -n 's/.*"[a-z: ]*\(mroce plane .*\)\\n".*/\1/p' "$src")
	agree "command lines in mroce(8)" "$all" \
		"$(mandoc -T ascii -O width=200 "$page" | sed -n \
			's/.\x08//g; s/ | /|/g; /^SYNOPSIS/,/^DESCRIPTION/s/^ *mroce /mroce /p')"

	if out=$(mandoc -T lint -W warning "$TOP"/man/*.[1-9] 2>&1); then
		result ok "manual pages without a warning of mandoc"
	else
		result "not ok" "manual pages without a warning of mandoc"
		echo "$out" | sed "s|$TOP/||; s/^/# /"
	fi
}

[ $# -gt 0 ] || set -- sparse w1-6.1 w1-newest w1-next checkpatch shell spdx docs
for c in "$@"; do
	"check_$(echo "$c" | tr -- '-.' '__')"
done
echo "1..$n"
[ "$failed" = 0 ]
