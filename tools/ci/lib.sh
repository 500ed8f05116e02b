# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Common to the scripts in tools/: paths, messages, the cache of kernels.
# Source it as  . "$(dirname "$0")/../ci/lib.sh"  with TOP set before, or unset.

if [ -z "${TOP:-}" ]; then
	TOP=$(cd "$(dirname "$0")/../.." && pwd)
fi
# Shared by all clones of one user; holds kernels, nothing of this tree
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/metaroce
# Of this tree: what is built from its sources
OUT=${OUT:-$TOP/out}
# The newest series that is known to build and pass
LAST_TESTED=7.2

say() { echo "$*" >&2; }
die() { echo "${0##*/}: $*" >&2; exit 1; }

# ver_ge A B: is version A at least B?
ver_ge() { dpkg --compare-versions "$1" ge "$2"; }

# A script that leaves temporary things behind has its own
cleanup() { :; }

# locked NAME CMD...: run CMD as the only one with that lock in this cache
locked() {
	_lock=$1; shift
	mkdir -p "$CACHE/locks"
	(
		flock -n 9 || {
			say "waiting for another build of $_lock"
			flock 9
		}
		trap 'cleanup' EXIT
		"$@"
	) 9>"$CACHE/locks/$_lock"
}
