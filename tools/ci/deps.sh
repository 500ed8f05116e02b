#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# deps.sh GROUP...  -- install the Debian packages that a group of targets needs
#
# Nothing is done when everything is there. As root the missing packages are
# installed; anyone else gets the line to run, and exit code 1.
set -eu

# shellcheck disable=SC2034
build='gcc make libc6-dev flex bison bc libelf-dev libssl-dev xz-utils cpio
	kmod rsync python3 perl'
guest='busybox-static util-linux procps iproute2 ethtool iputils-ping'
rdma='rdma-core ibverbs-utils ibverbs-providers rdmacm-utils perftest
	librdmacm1 libibverbs1'
qemu='qemu-system-x86'
demo="$build $guest $rdma $qemu iperf3 python3-pyverbs"
unit='gcc make libc6-dev clang libclang-rt-14-dev llvm'
# shellcheck disable=SC2034
tool='gcc make libc6-dev libibverbs-dev'
# shellcheck disable=SC2034
check="$demo $unit sparse shellcheck librdmacm-dev libibverbs-dev
	libmnl-dev pkg-config nftables tcpdump socat strace gzip mandoc
	linux-headers-amd64"
# shellcheck disable=SC2034
apps='qperf ucx-utils openmpi-bin libopenmpi-dev libfabric-bin libfabric-dev
	nvme-cli targetcli-fb tshark nfs-common nfs-kernel-server fio'

pkgs=
for group in "$@"; do
	case $group in
	build | guest | rdma | qemu | demo | unit | tool | check | apps)
		eval "pkgs=\"\$pkgs \$$group\"" ;;
	*)
		echo "deps.sh: no group '$group'" >&2
		exit 2 ;;
	esac
done

# shellcheck disable=SC2086
have=$(dpkg-query -W -f '${db:Status-Abbrev}|${Package}\n' $pkgs 2>/dev/null |
	sed -n 's/^ii *|//p' | tr '\n' ' ') || :
missing=
for p in $pkgs; do
	case " $have $missing " in *" $p "*) ;; *) missing="$missing $p" ;; esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "Packages are missing. Run as root:" >&2
	echo "apt-get update && apt-get install -y --no-install-recommends$missing" >&2
	exit 1
fi

echo "installing:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
# Another apt may hold the lock for a while (unattended upgrades)
apt-get -q -o DPkg::Lock::Timeout=300 update >&2
# shellcheck disable=SC2086
apt-get -qy -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
	install --no-install-recommends $missing >&2
