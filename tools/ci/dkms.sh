#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# dkms.sh NAME VERSION  -- give the sources to DKMS, and build and install them
# for the running kernel. As root.
set -eu
. "$(dirname "$0")/lib.sh"

name=$1 version=$2
[ "$(id -u)" = 0 ] || die "must be root"
command -v dkms >/dev/null ||
	DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends dkms
src=/usr/src/$name-$version
rm -rf "$src"
mkdir -p "$src"
cp -r "$TOP/Kbuild" "$TOP/drivers" "$src/"
[ ! -d "$TOP/include" ] || cp -r "$TOP/include" "$src/"
cat >"$src/dkms.conf" <<EOF
PACKAGE_NAME="$name"
PACKAGE_VERSION="$version"
BUILT_MODULE_NAME[0]="$name"
BUILT_MODULE_LOCATION[0]="drivers/infiniband/sw/$name"
DEST_MODULE_LOCATION[0]="/updates/dkms"
MAKE[0]="make -C \$kernel_source_dir M=\$dkms_tree/\$PACKAGE_NAME/\$PACKAGE_VERSION/build modules"
CLEAN="make -C \$kernel_source_dir M=\$dkms_tree/\$PACKAGE_NAME/\$PACKAGE_VERSION/build clean"
AUTOINSTALL="yes"
EOF
dkms remove "$name/$version" --all >/dev/null 2>&1 || :
dkms add "$name/$version"
dkms build "$name/$version"
dkms install "$name/$version"
