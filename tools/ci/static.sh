#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# static.sh [CHECK...]  -- what can be said about the sources without running
# them; TAP. Checks: sparse w1-6.1 w1-newest w1-next checkpatch shell spdx
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
	for a in "$@"; do variant=$variant-$a; done
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
	build stock-6.12 "sparse and W=1 on 6.12" bind W=1 C=2
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

# Types of no meaning for a tree that is not the kernel's:
#   FILE_PATH_CHANGES    there is no MAINTAINERS file to update
ignore=FILE_PATH_CHANGES
# tools/ is userspace: it has no kernel types, printk or kmalloc, shims of
# kernel interfaces look as those do, and volatile is its only READ_ONCE()
ignore_user=$ignore,PREFER_KERNEL_TYPES,NEW_TYPEDEFS,VOLATILE,AVOID_EXTERNS
ignore_user=$ignore_user,MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE,AVOID_BUG
ignore_user=$ignore_user,COMPLEX_MACRO,MULTISTATEMENT_MACRO_USE_DO_WHILE
ignore_user=$ignore_user,PREFER_DEFINED_ATTRIBUTE_MACRO,CAMELCASE,SSCANF_TO_KSTRTO
ignore_user=$ignore_user,CONSIDER_KSTRTO,WEAK_DECLARATION,STORAGE_CLASS,STRCPY

checkpatch() { # name ignored files...
	name=$1 ign=$2; shift 2
	[ $# -gt 0 ] || return 0
	# Two at a time; --terse is a line for a problem
	out=$(printf '%s\n' "$@" | xargs -n 8 -P "$(nproc)" perl \
		"$src/scripts/checkpatch.pl" --no-tree --strict --terse \
		--show-types --no-summary --ignore "$ign" -f)
	if [ -z "$out" ]; then
		result ok "checkpatch --strict, $name: $# files"
	else
		result "not ok" "checkpatch --strict, $name"
		echo "$out" | sort | sed 's/^/# /'
	fi
}

check_checkpatch() {
	src=$("$TOP/tools/ci/kernels.sh" get src) || {
		result "not ok" "checkpatch: no source tree"
		return
	}
	cd "$TOP" || exit 1
	# shellcheck disable=SC2046
	{
	checkpatch driver "$ignore" $(find drivers include -name '*.[ch]' ! -name '*.mod.c' 2>/dev/null | sort)
	checkpatch tools "$ignore_user" $(find tools selftests -name '*.[ch]' 2>/dev/null | sort)
	}
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

[ $# -gt 0 ] || set -- sparse w1-6.1 w1-newest w1-next checkpatch shell spdx
for c in "$@"; do
	"check_$(echo "$c" | tr -- '-.' '__')"
done
echo "1..$n"
[ "$failed" = 0 ]
