# SPDX-License-Identifier: GPL-2.0
#
# A kernel's log without the first complaint of each netdev that waits for its
# references. It comes after 10 s, which a debug kernel on a busy machine may need;
# for a reference that is never given back it comes again every 10 s.
/unregister_netdevice: waiting for/ {
	dev = $0
	sub(/.*waiting for /, "", dev)
	sub(/ .*/, "", dev)
	if (!seen[dev]++)
		next
}
{ print }
