#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# guest.sh  -- the measurements of run.sh, inside the guest: 64 KiB writes of one
# queue pair over a veth pair with MTU 9000, at 0, 0.1 and 1 % loss, by turns on
# this driver, on rdma_rxe, and with one stream of TCP; and the latency of 8-byte
# writes. Markdown on standard output, and files in $VM_OUT.
# shellcheck source=selftests/lib.sh
. "${0%/*}/../../selftests/lib.sh"
ROUNDS=${BENCH_ROUNDS:-3}
SECS=${BENCH_SECS:-3}
LOSSES=${BENCH_LOSSES:-0 0.1 1}
OUT_DIR=${VM_OUT:-$TOP/out}
T_LIMIT=$((SECS + 30))
t_name=bench t_final=1
t_tmp=$(mktemp -d "${TMPDIR:-/tmp}/mroce-bench.XXXXXX") || exit 1
t_calibrate
trap t_cleanup EXIT
trap 'exit 130' INT TERM HUP
raw=$t_tmp/raw
: >"$raw"

say() { echo "bench: $*" >&2; }
die() { say "$*"; exit 1; }
# The guest's programs each on a CPU of its own: server on the last
last=$(($(nproc) - 1))
pin_s() { taskset -c $last "$@"; }
pin_c() { taskset -c 0 "$@"; }

use() { # TYPE: links of that kind, on the same netdevs by turns
	t_clean_links
	t_gid=()
	LINK_TYPE=$1
	links_up >"$t_tmp/out" 2>&1 || { cat "$t_tmp/out" >&2; return 1; }
}

# bw TYPE: Gb/s of 64 KiB writes, or nothing
bw() {
	next_port
	pair_run "tcp $T_PORT" -- taskset -c $last ib_write_bw -d $DEVB \
		-x "$(gid_index $DEVB $IPB)" -F -p $T_PORT -s 65536 -D "$SECS" \
		--report_gbits -- \
		taskset -c 0 ib_write_bw -d $DEVA -x "$(gid_index $DEVA $IPA)" -F \
		-p $T_PORT -s 65536 -D "$SECS" --report_gbits $IPB
	awk '/BW average/ { h = 1; next }
	     h && NF >= 4 && $1 + 0 > 0 { print $4; exit }' "$t_tmp/client"
}
lat() {
	next_port
	pair_run "tcp $T_PORT" -- taskset -c $last ib_write_lat -d $DEVB \
		-x "$(gid_index $DEVB $IPB)" -F -p $T_PORT -s 8 -n 2000 -- \
		taskset -c 0 ib_write_lat -d $DEVA -x "$(gid_index $DEVA $IPA)" -F \
		-p $T_PORT -s 8 -n 2000 $IPB
	awk '/t_typical/ { h = 1; next }
	     h && NF >= 5 && $1 + 0 > 0 { print $5; exit }' "$t_tmp/client"
}
tcp() {
	next_port
	pair_run "tcp $T_PORT" -- taskset -c $last iperf3 -s -1 -p $T_PORT -- \
		taskset -c 0 iperf3 -c $IPB -p $T_PORT -t "$SECS" -l 64K -J
	python3 - "$t_tmp/client" <<-'PY' 2>/dev/null
	import json, sys
	print("%.2f" % (json.load(open(sys.argv[1]))["end"]["sum_received"]["bits_per_second"] / 1e9))
	PY
}
note_it() { # WHAT LOSS METRIC VALUE [RESENT SENT]
	say "$1, loss $2 %: $3 ${4:-failed}"
	echo "$1 $2 $3 ${4:-nan} ${5:-0} ${6:-0}" >>"$raw"
	if [ -z "${4:-}" ]; then
		tail -n 5 "$t_tmp/client" "$t_tmp/server" >&2
	fi
}

modprobe metaroce || die "no metaroce"
kinds=(metaroce)
modprobe -q rdma_rxe && kinds+=(rxe)
command -v iperf3 >/dev/null || say "no iperf3: TCP is left out"
modprobe -q ib_uverbs
modprobe -q rdma_ucm
modprobe -q sch_netem
net_up 1 9000 || die "no namespaces"

for ((round = 1; round <= ROUNDS; round++)); do
	for loss in $LOSSES; do
		if [ "$loss" = 0 ]; then netem_off; else netem_both loss "$loss%"; fi
		for k in "${kinds[@]}"; do
			use "$k" || { note_it "$k" "$loss" Gb/s ""; continue; }
			snap $DEVA $DEVB
			v=$(bw)
			t_delta $DEVA retransmitted_pkts; r=$REPLY
			t_delta $DEVA sent_pkts
			note_it "$k" "$loss" Gb/s "$v" "$r" "$REPLY"
			[ "$loss" != 0 ] || note_it "$k" 0 us "$(lat)"
		done
		! command -v iperf3 >/dev/null || note_it tcp "$loss" Gb/s "$(tcp)"
	done
	# Per-packet loss needs single packets; without loss under the same rule
	netem_both loss 0%
	use metaroce && note_it metaroce 0-single Gb/s "$(bw)"
	netem_off
done
t_clean_links

python3 - "$raw" "$OUT_DIR" "$(uname -r)" "$(nproc)" "$ROUNDS" "$SECS" <<'PY'
import json, math, statistics, sys

raw, out, kernel, cpus, rounds, secs = sys.argv[1:]
vals, resent = {}, {}
for line in open(raw):
    what, loss, unit, v, r, s = line.split()
    v = float(v)
    # perftest's clock is calibrated in the guest, which may go wrong
    if math.isfinite(v):
        vals.setdefault((what, loss, unit), []).append(v)
        resent.setdefault((what, loss), []).append((int(r), int(s)))
med = {k: statistics.median(v) for k, v in vals.items()}
whats = [w for w in ('metaroce', 'rxe', 'tcp') if any(k[0] == w for k in med)]
losses = ['0', '0.1', '1']


def cell(w, l, u='Gb/s'):
    v = vals.get((w, l, u))
    if not v:
        return '-'
    m = statistics.median(v)
    return '%.2f (%.2f-%.2f)' % (m, min(v), max(v)) if len(v) > 1 else '%.2f' % m


md = ['# 64 KiB writes, one queue pair, veth with MTU 9000', '',
      'Linux %s, %s CPUs; Gb/s, median (least-most) of %s rounds of %s s, taken in turns.'
      % (kernel, cpus, rounds, secs), '',
      '| loss | ' + ' | '.join(whats) + ' | metaroce / rxe | metaroce / TCP | sent again |',
      '|---|' + '---|' * (len(whats) + 3)]
for l in losses:
    m, x, t = (med.get((w, l, 'Gb/s')) for w in ('metaroce', 'rxe', 'tcp'))
    rs = [(r, s) for r, s in resent.get(('metaroce', l), []) if s]
    again = '%.2f %%' % (100 * sum(r for r, _ in rs) / sum(s for _, s in rs)) if rs else '-'
    md.append('| %s %% | %s | %s | %s | %s |' % (
        l, ' | '.join(cell(w, l) for w in whats),
        '%.2f' % (m / x) if m and x else '-', '%.2f' % (m / t) if m and t else '-', again))
md += ['', '| 8-byte write, typical | ' + ' | '.join(w for w in whats if w != 'tcp') + ' |',
       '|---|' + '---|' * len([w for w in whats if w != 'tcp']),
       '| us | ' + ' | '.join(cell(w, '0', 'us') for w in whats if w != 'tcp') + ' |']
base = med.get(('metaroce', '0-single', 'Gb/s'))
if base:
    md += ['', 'Without loss but in single packets (what loss is compared with): %.2f Gb/s; '
           % base + ', '.join('%s %% loss leaves %.0f %%' % (l, 100 * med['metaroce', l, 'Gb/s'] / base)
                              for l in losses[1:] if ('metaroce', l, 'Gb/s') in med)]
md = '\n'.join(md) + '\n'
print(md)
open(out + '/bench.md', 'w').write(md)
json.dump({'kernel': kernel, 'cpus': int(cpus), 'seconds': int(secs),
           'results': [{'transport': w, 'loss_percent': l, 'unit': u, 'values': v,
                        'median': statistics.median(v)}
                       for (w, l, u), v in sorted(vals.items())]},
          open(out + '/bench.json', 'w'), indent=1)
m, x = med.get(('metaroce', '0', 'Gb/s')), med.get(('rxe', '0', 'Gb/s'))
if m is None:
    sys.exit('bench: metaroce has no figure')
if x and m < x:
    sys.exit('bench: metaroce is slower than rxe (%.2f < %.2f Gb/s)' % (m, x))
PY
