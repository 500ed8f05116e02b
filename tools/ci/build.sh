#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# build.sh FLAVOUR|KDIR [W=1] [C=2] [METAROCE_FEW_GIDS=y] [NAME=VALUE...]
#                                          -- build the module
#
# For a kernel of kernels.sh, or any prepared kernel tree. The result is
# out/FLAVOUR/metaroce.ko. Each kernel has its own copy of the sources in
# out/build/FLAVOUR/, so that builds for several kernels do not meet; it is
# kept, and the next build compiles what has changed. With W= or C= the copy
# is another one, since make does not see those as a reason to compile again.
# With METAROCE_FEW_GIDS (see Kbuild) it is out/FLAVOUR-few/metaroce.ko.
set -eu
. "$(dirname "$0")/lib.sh"

flavour=${1:?flavour}
shift
"$TOP/tools/ci/deps.sh" build
case $flavour in
*/*)
	kdir=$flavour
	flavour=$(make -s -C "$kdir" kernelrelease)
	buildargs=
	;;
*)
	dir=$("$TOP/tools/ci/kernels.sh" get "$flavour")
	kdir=$dir/build
	buildargs=$(cat "$dir/buildargs")
	;;
esac

variant='' res=$flavour
for a in "$@"; do
	case $a in
	[WC]=*) variant=$variant-${a%=*}${a#*=} res= ;;
	METAROCE_FEW_GIDS=*) variant=$variant-few res=${res:+$res-few} ;;
	esac
done
case $flavour in
uml*) buildargs="$buildargs METAROCE_KUNIT=m" ;;
esac

build=$OUT/build/$flavour$variant
mkdir -p "$build" ${res:+"$OUT/$res"}
(
	flock 9
	cd "$TOP"
	# rsync keeps times: what did not change is not compiled.
	# What is excluded is not deleted either.
	rsync -a --delete --exclude='*.o' --exclude='*.ko' --exclude='*.mod' \
		--exclude='*.mod.c' --exclude='copy-*.c' --exclude='.*' --exclude=modules.order \
		--exclude=Module.symvers \
		Kbuild drivers include "$build/src/"
	# shellcheck disable=SC2086
	nice -n "${NICE:-0}" make -C "$kdir" M="$build/src" -j "$(nproc)" \
		$buildargs "$@" modules
	[ -n "$res" ] || exit 0
	find "$build/src" -name '*.ko' | while read -r ko; do
		cmp -s "$ko" "$OUT/$res/${ko##*/}" || {
			cp "$ko" "$OUT/$res/.new"
			mv "$OUT/$res/.new" "$OUT/$res/${ko##*/}"
		}
	done
) 9>"$build.lock"
