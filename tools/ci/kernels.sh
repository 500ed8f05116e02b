#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kernels.sh get FLAVOUR   -- print the cache directory of that kernel; fetch
#                             or build it first if it is not there
# kernels.sh list          -- what is cached
# kernels.sh gc            -- remove all but the newest of each flavour
# kernels.sh refresh       -- look for newer versions at the next get
#
# FLAVOUR:
#   uml uml-debug uml-up   User Mode Linux, built from the newest Debian source
#                          of the series last tested (or newer, if that is gone)
#   stock-6.1 stock-6.12   Debian 12's kernels: image, modules, headers
#   newest                 headers of the series last tested
#   next                   headers of a series newer than that, if there is one
#   src                    the source tree the UML kernels are built from
#
# A directory has: release, buildargs (make arguments), build/ (KDIR for M=),
# and with an image: image, modules/lib/modules/RELEASE/.
#
# Nothing is installed system-wide. Packages come from the mirror that the
# system's own apt configuration names, through a private copy of it.
set -eu
. "$(dirname "$0")/lib.sh"

APT=$CACHE/apt
CONFIGS=$TOP/tools/vm/config
JOBS=$(($(nproc) + 1))
TTL_DAYS=${METAROCE_KERNEL_TTL:-7}

tmpdir=
cleanup() { [ -z "$tmpdir" ] || rm -rf "$tmpdir"; }
trap cleanup EXIT
trap 'exit 130' INT TERM

# ---- apt -------------------------------------------------------------------

# apt_next, apt_stock CMD...: CMD with the lists of newer suites, or with the
# system's sources; both leave the system's own state alone
apt_opts="-o APT::Sandbox::User=root -o Acquire::Languages=none
	-o Acquire::Retries=3 -o APT::Update::Post-Invoke-Success::="
apt_stock() {
	_c=$1; shift
	# shellcheck disable=SC2086
	"$_c" $apt_opts -o Dir::State::Lists="$APT/stock/lists" \
		-o Dir::Cache="$APT/stock/cache" "$@"
}
apt_next() {
	_c=$1; shift
	# shellcheck disable=SC2086
	"$_c" $apt_opts -o Dir::Etc::SourceList="$APT/next/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$APT/next/lists" \
		-o Dir::Cache="$APT/next/cache" "$@"
}

# The system's main archive, as "options uri", for a line in sources.list
main_archive() {
	apt_stock apt-get indextargets \
		--format "\$(LABEL)|\$(COMPONENT)|\$(REPO_URI)|\$(SOURCESENTRY)" \
		'Identifier: Packages' |
	while IFS='|' read -r label comp uri entry; do
		[ "$label|$comp" = "Debian|main" ] || continue
		file=${entry%:*}
		key=$(sed -n -e 's/^Signed-By: *\(\/[^ ]*\).*/\1/Ip' \
			-e 's/^deb .*signed-by=\([^] ]*\).*/\1/p' "$file" |
			head -n 1)
		echo "[arch=amd64${key:+ signed-by=$key}] $uri"
		break
	done
}

# apt_fresh stock|next: are its lists recent enough? The newer suites' are only
# read when a flavour comes from there
apt_fresh() {
	[ -n "$(find "$APT/$1/stamp" -mtime "-$TTL_DAYS" 2>/dev/null)" ]
}

apt_refresh() {
	mkdir -p "$APT/$1/lists/partial" "$APT/$1/cache"
	if [ "$1" = next ]; then
		apt_ready stock
		archive=$(main_archive)
		[ -n "$archive" ] || die "no Debian main archive among apt's sources"
		for suite in trixie-backports forky sid; do
			echo "deb $archive $suite main"
		done >"$APT/next/sources.list"
	fi
	"apt_$1" apt-get -qq update >&2 || return 1
	touch "$APT/$1/stamp"
}

apt_ready() {
	apt_fresh "$1" || locked "apt-$1" apt_ready_locked "$1"
}
apt_ready_locked() {
	! apt_fresh "$1" || return 0
	say "reading the package lists ($1)"
	! apt_refresh "$1" || return 0
	[ -e "$APT/$1/stamp" ] || die "cannot read the package lists"
	say "cannot read the package lists: using the old ones"
}

# fetch stock|next DIR PKG[=VERSION]...: unpack packages into DIR
fetch() {
	_suite=$1; _apt=apt_$1; _dir=$2; shift 2
	mkdir -p "$_dir" "$tmpdir/debs"
	(
		cd "$tmpdir/debs" && rm -f ./*.deb
		if ! $_apt apt-get -qq download "$@" >&2; then
			# The mirror moved on since the lists were read
			apt_refresh "$_suite" && $_apt apt-get -qq download "$@" >&2
		fi
		for d in ./*.deb; do
			dpkg -x "$d" "$_dir"
			rm -f "$d"
		done
	)
	rm -rf "$tmpdir/debs"
}

# depends stock|next PKG[=VERSION] PATTERN: first dependency that matches
depends() {
	"apt_$1" apt-cache --no-all-versions show "$2" |
	sed -n 's/^Depends: //p' | tr "," "\n" |
	sed 's/^ *//; s/ .*//' | grep -m 1 -E "^$3\$"
}

version_of() {
	"apt_$1" apt-cache --no-all-versions show "$2" |
	sed -n 's/^Version: //p' | head -n 1
}

# ---- which version ---------------------------------------------------------

# newest_of PKG MIN BELOW: newest version v of PKG with MIN <= v < BELOW
newest_of() {
	best=
	for v in $(apt_next apt-cache madison "$1" | tr -d ' ' | cut -d '|' -f 2); do
		ver_ge "$v" "$2" || continue
		[ -z "$3" ] || ! ver_ge "$v" "$3" || continue
		[ -n "$best" ] && ver_ge "$best" "$v" || best=$v
	done
	echo "$best"
}

after_tested=${LAST_TESTED%.*}.$((${LAST_TESTED#*.} + 1))~

# Prefer the series last tested; anything from 6.13 on does for UML
uml_version() {
	v=$(newest_of linux-source "$LAST_TESTED" "$after_tested")
	[ -n "$v" ] || v=$(newest_of linux-source "6.13" "")
	[ -n "$v" ] || die "no linux-source of 6.13 or newer in the archive"
	echo "$v"
}

# ---- source and UML --------------------------------------------------------

get_src() {
	apt_ready next
	"$TOP/tools/ci/deps.sh" build
	ver=$(uml_version)
	dir=$CACHE/src/linux-$ver
	[ -d "$dir" ] || locked "src-$ver" make_src "$ver" "$dir"
	echo "$dir"
}

make_src() {
	[ ! -d "$2" ] || return 0
	say "fetching the source of Linux $1"
	mkdir -p "$CACHE/src"
	tmpdir=$(mktemp -d "$CACHE/src/.tmp.XXXXXX")
	pkg=$(depends next "linux-source=$1" 'linux-source-[0-9.]+')
	fetch next "$tmpdir/x" "$pkg=$1"
	mkdir "$tmpdir/t"
	tar -xJf "$tmpdir/x/usr/src/$pkg.tar.xz" -C "$tmpdir/t"
	mv "$tmpdir/t/$pkg" "$2"
	cleanup
	tmpdir=
}

uml_fragments() {
	case $1 in
	uml) echo "$CONFIGS/uml.config" ;;
	*) echo "$CONFIGS/uml.config $CONFIGS/$1.config" ;;
	esac
}

uml_hash() {
	# shellcheck disable=SC2046
	(cat $(uml_fragments "$1"); gcc -dumpfullversion) |
		sha256sum | cut -c 1-12
}

get_uml() {
	src=$(get_src)
	ver=${src##*/linux-}
	dir=$CACHE/kernels/$1-$ver-$(uml_hash "$1")
	[ -d "$dir" ] || locked "$1" make_uml "$1" "$src" "$dir"
	echo "$dir"
}

# Which lines of fragments, the later ones over the earlier, did not make it into
# a .config? What depends on something that is off is off, too.
config_missing() {
	awk 'FNR == 1 { f++ }
	/^# CONFIG_.* is not set$/ { key = $2; val = "n" }
	/^CONFIG_[A-Z0-9_]*=/ {
		key = $0; sub(/=.*/, "", key)
		val = substr($0, length(key) + 2)
	}
	key == "" { next }
	f == 1 { have[key] = val }
	f > 1 { want[key] = val }
	{ key = "" }
	END {
		for (key in want)
			if (want[key] != ((key in have) ? have[key] : "n"))
				print key "=" want[key]
	}' "$@"
}

make_uml() {
	[ ! -d "$3" ] || return 0
	src=$2
	"$TOP/tools/ci/deps.sh" build
	say "building the $1 kernel ${src##*/linux-} (once; minutes)"
	mkdir -p "$CACHE/kernels"
	# Not a temporary: a build that was interrupted goes on there
	work=$CACHE/kernels/.build-${3##*/}
	o=$work/build
	log=$work/log
	mkdir -p "$o"
	(
		cd "$src"
		make -s ARCH=um O="$o" defconfig
		# shellcheck disable=SC2046
		ARCH=um scripts/kconfig/merge_config.sh -m -O "$o" \
			"$o/.config" $(uml_fragments "$1")
		make -s ARCH=um O="$o" olddefconfig
	) >"$log" 2>&1 || { tail -n 30 "$log" >&2; die "$1: no .config"; }
	# shellcheck disable=SC2046
	lost=$(config_missing "$o/.config" $(uml_fragments "$1"))
	[ -z "$lost" ] || say "warning: $1: not in the configuration: $lost"

	make -C "$src" ARCH=um O="$o" -j "$JOBS" >"$log" 2>&1 ||
		{ grep -A 5 -E 'error:|Error |undefined' "$log" >&2; die "$1: build failed"; }
	rm -rf "$work/modules"
	make -C "$src" ARCH=um O="$o" INSTALL_MOD_PATH="$work/modules" \
		INSTALL_MOD_STRIP=1 modules_install >>"$log" 2>&1 ||
		{ tail -n 30 "$log" >&2; die "$1: modules_install failed"; }
	cp "$o/include/config/kernel.release" "$work/release"
	rm -f "$work/modules/lib/modules"/*/build
	cp "$o/linux" "$work/image"
	echo "ARCH=um" >"$work/buildargs"

	# From here on it cannot go on, only be moved into place. Objects are of
	# no use to an external module, and the rest is a tenth of it.
	rm -f "$o"/vmlinux* "$o/linux"
	find "$o" \( -name '*.o' -o -name '*.a' -o -name '*.ko' -o -name '.*.cmd' \) \
		-type f ! -path "$o/scripts/*" ! -path "$o/tools/*" -exec rm -f {} +
	# The build tree names itself in its top Makefile
	sed -i "s|$work|$3|g" "$o/Makefile"
	mv "$work" "$3"
}

# ---- Debian's binary kernels -----------------------------------------------

# Headers and kbuild tools of one version, usable where they are:
# headers stock|next DIR PKG=VERSION
headers() {
	suite=$1; root=$2/root
	hdr=${3%%=*}; ver=${3#*=}
	common=$(depends "$suite" "$3" 'linux-headers-.*-common')
	kbuild=$(depends "$suite" "$3" 'linux-kbuild-.*')
	kver=$ver
	[ "$suite" = next ] || kver=$(version_of stock "$kbuild")
	fetch "$suite" "$root" "$3" "$common=$ver" "$kbuild=$kver"
	final=$4
	# Absolute paths in Makefiles, and links
	grep -rlF /usr/src "$root/usr/src/$hdr" --include=Makefile |
		xargs -r sed -i "s|/usr/src/|$final/root/usr/src/|g"
	find "$root/usr/src" "$root/usr/lib" -type l | while read -r l; do
		t=$(readlink "$l")
		case $t in /usr/*) ln -sfn "$final/root$t" "$l" ;; esac
	done
	ln -s "root/usr/src/$hdr" "$2/build"
	echo "${hdr#linux-headers-}" >"$2/release"
	args="CONFIG_DEBUG_INFO_BTF_MODULES="
	if [ "$suite" = next ]; then
		foreign_tools "$2" "$root/usr/lib/$kbuild" "$kver" "$final"
		args="$args CC=$final/cc"
	fi
	echo "$args" >"$2/buildargs"
}

# Newer distributions' kbuild programs need their libc, and their kernels'
# flags need their compiler: run the first under its own ld.so, drop the latter
foreign_tools() {
	dir=$1; tools=$2; kver=$3; final=$4
	mkdir -p "$dir/libc"
	libs="libc6 libelf1t64 libssl3t64 zlib1g libzstd1"
	# shellcheck disable=SC2086
	fetch next "$dir/libc" $libs
	(cd "$dir/libc" && mkdir lib.d && find . -name '*.so*' -path '*x86_64*' \
		! -path './lib.d/*' -exec cp -d {} lib.d/ \;)
	rm -rf "$dir/libc/usr/share"
	find "$tools" -type f -perm -100 ! -name '*.real-*' | while read -r f; do
		[ "$(head -c 4 "$f" | tail -c 3)" = ELF ] || continue
		# Some are Debian's wrappers, which run one of several
		real=
		for r in "$f.real-x86" "$f.real-lsb-64"; do
			[ ! -e "$r" ] || real=$r
		done
		if [ -z "$real" ]; then
			mv "$f" "$f.real"
			real=$f.real
		fi
		printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' \
			"$final/libc/lib.d/ld-linux-x86-64.so.2" \
			"$final/libc/lib.d" "$final${real#"$dir"}" >"$f.new"
		chmod +x "$f.new"
		mv "$f.new" "$f"
	done
	# Attributes that gcc knows since 15; before, a warning in every file
	[ "$(gcc -dumpversion)" -ge 15 ] || sed -i \
		-e '/ CONFIG_CC_HAS_COUNTED_BY\(_PTR\)\{0,1\} /d' \
		-e '/ CONFIG_CC_HAS_MULTIDIMENSIONAL_NONSTRING /d' \
		"$dir/build/include/generated/autoconf.h"
	cat >"$dir/cc" <<-'EOF'
	#!/bin/bash
	# The system's gcc, without the flags that it is too old for
	args=()
	for a in "$@"; do
		case $a in
		-fmin-function-alignment=*) a=-falign-functions=${a#*=} ;;
		esac
		args+=("$a")
	done
	exec gcc "${args[@]}"
	EOF
	chmod +x "$dir/cc"
}

get_stock() {
	apt_ready stock
	case $1 in
	stock-6.1) meta=linux-headers-amd64 ;;
	*) meta=linux-headers-${1#stock-}-amd64 ;;
	esac
	hdr=$(depends stock "$meta" 'linux-headers-[0-9].*') ||
		die "$meta is not in the archive"
	ver=$(version_of stock "$hdr")
	dir=$CACHE/kernels/$1-$ver
	[ -d "$dir" ] || locked "$1" make_stock "$1" "$hdr" "$ver" "$dir"
	echo "$dir"
}

make_stock() {
	[ ! -d "$4" ] || return 0
	say "fetching $1 ($2 $3)"
	"$TOP/tools/ci/deps.sh" build
	mkdir -p "$CACHE/kernels"
	tmpdir=$(mktemp -d "$CACHE/kernels/.tmp.XXXXXX")
	headers stock "$tmpdir" "$2=$3" "$4"
	rel=${2#linux-headers-}
	img=linux-image-$rel
	! apt_stock apt-cache show "$img-unsigned=$3" >/dev/null 2>&1 ||
		img=$img-unsigned
	fetch stock "$tmpdir/i" "$img=$3"
	mv "$tmpdir/i/boot/vmlinuz-$rel" "$tmpdir/image"
	cp "$tmpdir/i/boot/config-$rel" "$tmpdir/config"
	m=$tmpdir/modules/lib/modules
	mkdir -p "$m"
	if [ -d "$tmpdir/i/usr/lib/modules/$rel" ]; then
		mv "$tmpdir/i/usr/lib/modules/$rel" "$m/"
	else
		mv "$tmpdir/i/lib/modules/$rel" "$m/"
	fi
	rm -rf "$tmpdir/i"
	k=$m/$rel/kernel
	rm -rf "$k/sound" "$k/drivers/gpu" "$k/drivers/media" \
		"$k/drivers/net/wireless" "$k/drivers/usb" "$k/drivers/iio" \
		"$k/drivers/hwmon" "$k/drivers/staging" "$k/drivers/input" \
		"$k/drivers/gpio" "$k/drivers/comedi" "$k/drivers/isdn" \
		"$k/drivers/hid" "$k/drivers/net/ethernet"
	# Not compressed, guests have them faster
	find "$k" -name '*.ko.xz' -exec xz -d {} +
	depmod -b "$tmpdir/modules" "$rel"
	mv "$tmpdir" "$4"
	tmpdir=
}

get_newest() {
	apt_ready next
	case $1 in
	newest)
		ver=$(newest_of linux-headers-amd64 "$LAST_TESTED" "$after_tested")
		[ -n "$ver" ] ||
			die "no headers of Linux $LAST_TESTED in the archive any more"
		;;
	next)
		ver=$(newest_of linux-headers-amd64 "$after_tested" "")
		[ -n "$ver" ] || die "no kernel newer than $LAST_TESTED in the archive"
		;;
	esac
	hdr=$(depends next "linux-headers-amd64=$ver" 'linux-headers-[0-9].*')
	dir=$CACHE/kernels/$1-$ver
	[ -d "$dir" ] || locked "$1" make_newest "$1" "$hdr" "$ver" "$dir"
	echo "$dir"
}

make_newest() {
	[ ! -d "$4" ] || return 0
	say "fetching headers of the $1 kernel ($2)"
	"$TOP/tools/ci/deps.sh" build
	mkdir -p "$CACHE/kernels"
	tmpdir=$(mktemp -d "$CACHE/kernels/.tmp.XXXXXX")
	headers next "$tmpdir" "$2=$3" "$4"
	mv "$tmpdir" "$4"
	tmpdir=
}

# ----------------------------------------------------------------------------

# What a flavour resolved to, until the lists are read again: "get" must be quick
get() {
	case $1 in uml*) cfg=$(uml_hash "$1") ;; *) cfg= ;; esac
	case $1 in stock-*) suite=stock ;; *) suite=next ;; esac
	res=$APT/resolved/$1${cfg:+-$cfg}
	if apt_fresh "$suite" &&
	   [ -n "$(find "$res" -newer "$APT/$suite/stamp" 2>/dev/null)" ]; then
		dir=$(cat "$res")
		[ ! -d "$dir" ] || { echo "$dir"; return; }
	fi
	dir=$(resolve "$1")
	mkdir -p "$APT/resolved"
	echo "$dir" >"$res.$$"
	mv "$res.$$" "$res"
	echo "$dir"
}

resolve() {
	case $1 in
	src) get_src ;;
	uml | uml-debug | uml-up) get_uml "$1" ;;
	stock-*) get_stock "$1" ;;
	newest | next) get_newest "$1" ;;
	*) die "no flavour '$1'" ;;
	esac
}

gc() {
	for f in uml uml-debug uml-up stock-6.1 stock-6.12 newest next; do
		# shellcheck disable=SC2012
		ls -dt "$CACHE/kernels/$f"-[0-9]* 2>/dev/null | tail -n +2
	done | xargs -rt rm -rf
	rm -rf "$CACHE/kernels"/.tmp.* "$CACHE/kernels"/.build-* "$CACHE/src"/.tmp.*
}

case ${1:-} in
get) get "${2:?flavour}" ;;
list) ls "$CACHE/kernels" ;;
gc) gc ;;
refresh) rm -f "$APT"/*/stamp ;;
*) sed -n '3,23s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
