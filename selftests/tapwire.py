#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""tapwire.py tap|tun NETNS1 NAME1 NETNS2 NAME2: two such netdevs, joined."""
import ctypes
import fcntl
import os
import select
import struct
import sys

TUNSETIFF = 0x400454ca
IFF_TUN, IFF_TAP, IFF_NO_PI = 1, 2, 0x1000
CLONE_NEWNET = 0x40000000


def make(kind, netns, name):
    libc = ctypes.CDLL(None, use_errno=True)
    with open('/run/netns/' + netns) as f:
        if libc.setns(f.fileno(), CLONE_NEWNET):
            sys.exit('setns %s: %s' % (netns, os.strerror(ctypes.get_errno())))
    try:
        fd = os.open('/dev/net/tun', os.O_RDWR)
        flags = (IFF_TAP if kind == 'tap' else IFF_TUN) | IFF_NO_PI
        fcntl.ioctl(fd, TUNSETIFF, struct.pack('16sH22x', name.encode(), flags))
    except OSError as e:
        sys.exit('/dev/net/tun: %s' % e.strerror)
    return fd


kind, ns1, n1, ns2, n2 = sys.argv[1:]
a = make(kind, ns1, n1)
b = make(kind, ns2, n2)
print('ready', flush=True)
while True:
    for fd in select.select([a, b], [], [])[0]:
        try:
            p = os.read(fd, 65536)
            os.write(b if fd == a else a, p)
        except OSError:
            pass        # the other one is down
