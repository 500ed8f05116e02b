#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kunit.sh  -- in a guest: run the KUnit suites of metaroce; TAP. A test that
# runs no case is not a pass.
set -u

modprobe kunit || { echo "not ok - kunit: no kunit module"; exit 1; }
dmesg -C
modprobe metaroce_kunit || { echo "not ok - kunit: no metaroce_kunit module"; exit 1; }
dmesg | sed 's/^\[[^]]*\] //' >/tmp/ktap

# Cases are indented by four, in a suite named by "# Subtest:"; what a failed
# case says comes before it
awk '
/^    # Subtest: / { suite = $3; next }
/^    (not )?ok / {
	bad = /^    not ok/
	sub(/^    (not )?ok [0-9]+ */, "")
	n++
	print (bad ? "not ok " : "ok ") n " - kunit: " suite ": " $0
	if (bad) { printf "%s", said; failed++ }
	said = ""
	next
}
/^(not )?ok / {
	suites++
	if (/^not ok/) badsuites++
	said = ""
	next
}
/^    / { said = said "# " $0 "\n" }
END {
	print "1.." n + 0
	if (!n || !suites || badsuites > 0 && !failed) {
		print "not ok - kunit: " n + 0 " cases, " suites + 0 " suites, " \
			badsuites + 0 " of them failed"
		exit 1
	}
	exit failed > 0
}' /tmp/ktap
