#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# intree.sh KSRC  -- put the driver into a kernel tree: copy it and its uapi
# header, and hook it up in drivers/infiniband. May be repeated.
set -eu
. "$(dirname "$0")/lib.sh"

ksrc=${1:-}
[ -f "$ksrc/drivers/infiniband/Kconfig" ] || die "KSRC= must name a kernel tree"
dst=drivers/infiniband/sw/metaroce
rm -rf "${ksrc:?}/$dst"
mkdir -p "$ksrc/$dst"
(cd "$TOP/$dst" && find . \( -name '*.[ch]' ! -name '*.mod.c' -o -name Kbuild \
	-o -name Kconfig \) -print | cpio -pdm --quiet "$ksrc/$dst")
for h in "$TOP"/include/uapi/rdma/*.h; do
	[ ! -e "$h" ] || cp "$h" "$ksrc/include/uapi/rdma/"
done
grep -q sw/metaroce "$ksrc/drivers/infiniband/Kconfig" ||
	sed -i 's|^source "drivers/infiniband/sw/siw/Kconfig"|&\nsource "drivers/infiniband/sw/metaroce/Kconfig"|' \
		"$ksrc/drivers/infiniband/Kconfig"
grep -q METAROCE "$ksrc/drivers/infiniband/sw/Makefile" ||
	echo 'obj-$(CONFIG_RDMA_METAROCE)	+= metaroce/' >>"$ksrc/drivers/infiniband/sw/Makefile"
echo "metaroce is in $ksrc/$dst; set CONFIG_RDMA_METAROCE"
