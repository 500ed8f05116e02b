#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Strange, stray and forged MetaRoCE packets, and a look at real ones.

Run inside the sender's (or for "replay" and "ports" the observed) network
namespace, as root:

  wire.py bad    SRC DST      each kind of malformed packet, N of each; prints
                              "COUNTER N" for what the receiver must have counted
  wire.py fuzz   SRC DST N    N random and mutated packets
  wire.py stray  SRC DST      well-formed packets for connections of nobody
  wire.py forge  IFACE DEST   watch packets to DEST on IFACE, then send changed
                              copies of them; prints "COUNTER N" as well
  wire.py ports  IFACE SECS   source ports of the DATA that comes in here:
                              "PORT PACKETS" lines
  wire.py tags   IFACE DEST SECS  "ready", then a line "vlan ID" for each packet to
                              DEST (0: it has no tag)
  wire.py speed  IFACE SECS   "ready", then the speed in each INIT and INIT_ACK
"""
import os
import random
import select
import socket
import struct
import sys
import time

PORT = 61791
VERSION = 1
DATA, ACK, NAK, CONTROL, DATAGRAM = 1, 2, 3, 4, 5
(WRITE, WRITE_IMM, SEND, SEND_IMM, SEND_INV, READ_REQ, READ_RESP, RESP_DONE,
 RESP_ERR, CMP_SWAP, FETCH_ADD, ATOMIC_RESP, FLUSH, ATOMIC_WRITE, NOP) = range(1, 16)
INIT, INIT_ACK, RESET, PROBE, PROBE_ACK, CLOSE = range(1, 7)
F_LAST, F_SOL, F_ACKNOW, F_IMM, F_INV = 1, 2, 4, 8, 16
INIT_LEN = 20 + 48 + 16 * 16
SOL_PACKET, PACKET_AUXDATA = 263, 8
TP_STATUS_VLAN_VALID = 0x10


def common(ptype, op, flags=0, conn=0x12345678, path=0, epoch=0, tag=0x4242,
           psn=1, ts=1, version=VERSION):
    return struct.pack('>BBHIBBHII', version << 4 | ptype, op, flags, conn,
                       path, epoch, tag, psn, ts)


def data(op, flags=F_LAST, dqpn=0x11, sqpn=0x12, attempt=0, msn=0, off=0,
         rest=b'', **kw):
    return common(DATA, op, flags, **kw) + \
        struct.pack('>IIII', dqpn << 8 | attempt, sqpn << 8, msn, off) + rest


def write(payload, length=None, va=0x1000, rkey=0x100, **kw):
    n = len(payload) if length is None else length
    return data(WRITE, rest=struct.pack('>QII', va, rkey, n) + payload, **kw)


def send(payload, length=None, rsn=0, **kw):
    n = len(payload) if length is None else length
    return data(SEND, rest=struct.pack('>II', rsn, n) + payload, **kw)


def init(op=INIT, conn_id=0x77770001, nonce=0x1122334455667788, peer_nonce=0,
         msn_window=1024, rsn_window=64, mtu=1500, tclass=0, planes=(),
         pad=None, **kw):
    body = struct.pack('>IQQHHHBBIIIQ', conn_id, nonce, peer_nonce, msn_window,
                       rsn_window, mtu, tclass, len(planes), 0, 0, 0, 0)
    body = body[:48].ljust(48, b'\0') + b''.join(planes)
    pkt = common(CONTROL, op, **kw) + body
    if pad is None and op == INIT:
        pad = INIT_LEN
    return pkt.ljust(pad or 0, b'\0')


def dgram(dqpn, qkey=0x11111111, sqpn=0x12, pkey=0xffff, imm=0, flags=0,
          payload=b'x' * 32):
    return common(DATAGRAM, 0, flags, conn=0) + \
        struct.pack('>IIIHHI', dqpn << 8, sqpn << 8, qkey, pkey, 0, imm) + payload


def csum16(b):
    if len(b) & 1:
        b += b'\0'
    s = sum(struct.unpack('>%dH' % (len(b) // 2), b))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff


class Sender:
    """Packets with any source address, port and checksum."""

    def __init__(self, src, dst):
        self.v6 = ':' in dst
        fam = socket.AF_INET6 if self.v6 else socket.AF_INET
        self.src = socket.inet_pton(fam, src)
        self.dst = socket.inet_pton(fam, dst)
        self.dst_name = dst
        self.sock = socket.socket(fam, socket.SOCK_RAW, socket.IPPROTO_RAW)

    def udp(self, payload, sport, dport, bad_csum=False, zero_csum=False,
            ulen=None):
        n = 8 + len(payload)
        hdr = struct.pack('>HHHH', sport, dport, n if ulen is None else ulen, 0)
        if self.v6:
            pseudo = self.src + self.dst + struct.pack('>II', n, 17)
        else:
            pseudo = self.src + self.dst + struct.pack('>HH', 17, n)
        c = csum16(pseudo + hdr + payload) or 0xffff
        if bad_csum:
            c = c ^ 0x5555 or 1
        if zero_csum:
            c = 0
        return hdr[:6] + struct.pack('>H', c) + payload

    def ip(self, l4, proto=17, frag=0):
        if self.v6:
            return struct.pack('>IHBB', 6 << 28, len(l4), proto, 64) + \
                self.src + self.dst + l4
        h = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(l4),
                        random.randrange(65536), frag, 64, proto, 0)
        return h + self.src + self.dst + l4

    def raw(self, packet):
        try:
            self.sock.sendto(packet, (self.dst_name, 0))
        except OSError as e:
            if e.errno not in (22, 90, 105):    # EINVAL, EMSGSIZE, ENOBUFS
                raise

    def send(self, payload, sport=50000, dport=PORT, proto=17, **kw):
        self.raw(self.ip(self.udp(payload, sport, dport, **kw), proto))


def bad_packets():
    """(counter, payload, sender's arguments)"""
    P = dict(sport=PORT)
    full = write(b'a' * 100)
    # Shorter than their headers
    for n in (0, 1, 4, 19):
        yield 'rcvd_short', full[:n], {}
    for n in (20, 35, 36, 51):
        yield 'rcvd_short', full[:n], {}
    for op, need in ((SEND, 44), (READ_REQ, 56), (READ_RESP, 40), (RESP_DONE, 40),
                     (RESP_ERR, 44), (CMP_SWAP, 68), (FETCH_ADD, 68),
                     (ATOMIC_RESP, 48)):
        yield 'rcvd_short', data(op, rest=b'\0' * 64)[:need - 1], {}
    yield 'rcvd_short', common(ACK, 0) + b'\0' * 23, {}
    yield 'rcvd_short', common(ACK, 1) + b'\0' * 55, {}
    yield 'rcvd_short', common(NAK, 0) + b'\0' * 11, {}
    yield 'rcvd_short', common(CONTROL, INIT) + b'\0' * 47, P
    yield 'rcvd_short', common(CONTROL, RESET) + b'\0' * 19, P
    yield 'rcvd_short', common(CONTROL, PROBE) + b'\0' * 7, {}
    yield 'rcvd_short', common(CONTROL, CLOSE) + b'\0' * 7, P
    yield 'rcvd_short', common(DATAGRAM, 0) + b'\0' * 19, P
    # Versions, types and opcodes of nobody
    for v in (0, 2, 3, 7, 15):
        yield 'rcvd_bad_version', common(DATA, WRITE, version=v) + full[20:], {}
    for t in (0, 6, 7, 9, 15):
        yield 'rcvd_bad_type', common(t, 1) + full[20:], {}
    for op in (0, FLUSH, ATOMIC_WRITE, 16, 17, 63, 64, 127, 128, 255):
        yield 'rcvd_bad_opcode', data(op, rest=b'\0' * 64), {}
    for op in (2, 3, 255):
        yield 'rcvd_bad_opcode', common(ACK, op) + b'\0' * 60, {}
    for op in (1, 255):
        yield 'rcvd_bad_opcode', common(NAK, op) + b'\0' * 12, {}
        yield 'rcvd_bad_opcode', common(DATAGRAM, op) + b'\0' * 60, P
    for op in (0, 7, 8, 255):
        yield 'rcvd_bad_opcode', common(CONTROL, op) + b'\0' * 60, P
    # Flags that contradict the opcode
    yield 'rcvd_bad_flags', write(b'a' * 10, flags=F_LAST | F_IMM), {}
    yield 'rcvd_bad_flags', write(b'a' * 10, flags=F_LAST | F_INV), {}
    yield 'rcvd_bad_flags', data(SEND_IMM, flags=F_LAST, rest=b'\0' * 8), {}
    yield 'rcvd_bad_flags', data(SEND_INV, flags=F_LAST | F_IMM, rest=b'\0' * 12), {}
    yield 'rcvd_bad_flags', data(READ_REQ, flags=0, rest=b'\0' * 20), {}
    yield 'rcvd_bad_flags', common(DATA, NOP, F_LAST), {}
    yield 'rcvd_bad_flags', common(ACK, 0, F_LAST) + b'\0' * 24, {}
    yield 'rcvd_bad_flags', common(NAK, 0, F_IMM) + b'\0' * 12, {}
    yield 'rcvd_bad_flags', common(CONTROL, PROBE, F_INV) + b'\0' * 8, {}
    yield 'rcvd_bad_flags', common(DATAGRAM, 0, F_LAST) + b'\0' * 40, P
    # Lengths that contradict the header
    yield 'rcvd_bad_length', write(b'a' * 10, 9), {}
    yield 'rcvd_bad_length', write(b'a' * 10, 11), {}
    yield 'rcvd_bad_length', write(b'a' * 10, 10, flags=0), {}
    yield 'rcvd_bad_length', write(b'', 10, flags=0), {}
    yield 'rcvd_bad_length', write(b'a' * 10, 10, off=1), {}
    yield 'rcvd_bad_length', write(b'a' * 10, 10, off=0xfffffff6), {}
    yield 'rcvd_bad_length', write(b'a' * 10, 5, off=0xffffffff), {}
    yield 'rcvd_bad_length', send(b'a' * 10, 0x7fffffff), {}
    yield 'rcvd_bad_length', data(READ_REQ, rest=b'\0' * 21), {}
    yield 'rcvd_bad_length', data(FETCH_ADD, rest=b'\0' * 33), {}
    yield 'rcvd_bad_length', data(ATOMIC_RESP, rest=b'\0' * 13), {}
    yield 'rcvd_bad_length', data(RESP_DONE, rest=b'\0' * 5), {}
    yield 'rcvd_bad_length', data(READ_RESP, flags=0, rest=b'\0' * 4), {}
    yield 'rcvd_bad_length', data(READ_RESP, off=0xffffffff, rest=b'\0' * 10), {}
    yield 'rcvd_bad_length', common(DATA, NOP) + b'\0' * 31, {}
    yield 'rcvd_bad_length', common(ACK, 0) + b'\0' * 25, {}
    yield 'rcvd_bad_length', common(ACK, 1) + b'\0' * 57, {}
    yield 'rcvd_bad_length', common(NAK, 0) + b'\0' * 13, {}
    yield 'rcvd_bad_length', common(CONTROL, CLOSE) + b'\0' * 9, P
    yield 'rcvd_bad_length', common(CONTROL, RESET) + b'\0' * 21, P
    # Fields out of their ranges
    yield 'rcvd_bad_field', write(b'a' * 10, 0x80000001, flags=0), {}
    yield 'rcvd_bad_field', write(b'a' * 10, 0xffffffff, flags=0), {}
    yield 'rcvd_bad_field', data(READ_REQ, rest=struct.pack('>QIII', 0, 0, 0x80000001, 0)), {}
    yield 'rcvd_bad_field', data(READ_REQ, off=1, rest=b'\0' * 20), {}
    yield 'rcvd_bad_field', data(RESP_ERR, rest=struct.pack('>IB3x', 0, 1)), {}
    yield 'rcvd_bad_field', data(RESP_ERR, rest=struct.pack('>IB3x', 0, 255)), {}
    yield 'rcvd_bad_field', common(NAK, 0) + struct.pack('>IIBBH', 0, 0, 0, 0, 0), {}
    yield 'rcvd_bad_field', common(NAK, 0) + struct.pack('>IIBBH', 0, 0, 8, 0, 0), {}
    yield 'rcvd_bad_field', common(NAK, 0) + struct.pack('>IIBBH', 0, 0, 1, 32, 0), {}
    for kw in (dict(msn_window=0), dict(msn_window=1000), dict(msn_window=32),
               dict(msn_window=32768), dict(rsn_window=0),
               dict(rsn_window=65535), dict(mtu=0)):
        yield 'rcvd_bad_field', init(**kw), P
    # 17 planes of 16
    yield 'rcvd_bad_field', init(planes=[b'\0' * 16] * 17, pad=INIT_LEN + 16), P
    # A checksum that is wrong
    yield 'rcvd_bad_checksum', full, dict(bad_csum=True)
    yield 'rcvd_bad_checksum', init(), dict(bad_csum=True, sport=PORT)
    # What may only come from the protocol's port
    for pkt in (init(), init(INIT_ACK), common(CONTROL, RESET) + b'\0' * 20,
                common(CONTROL, CLOSE) + b'\0' * 8, dgram(0x11)):
        yield 'rcvd_bad_source_port', pkt, dict(sport=50001)


def cmd_bad(src, dst):
    s = Sender(src, dst)
    total = {}
    for counter, pkt, kw in bad_packets():
        for _ in range(3):
            s.send(pkt, **kw)
        total[counter] = total.get(counter, 0) + 3
    for c in sorted(total):
        print(c, total[c])


def cmd_stray(src, dst):
    """Nothing wrong with them, but nobody asked."""
    s = Sender(src, dst)
    n = 20
    for i in range(n):
        conn = random.randrange(1, 1 << 32)
        s.send(write(b'a' * 64, conn=conn, psn=i, ts=i))
        s.send(common(ACK, 0, conn=conn, psn=i) + b'\0' * 24)
        s.send(common(NAK, 0, conn=conn) + struct.pack('>IIBBH', 0x1100, 0, 1, 1, 0))
        s.send(common(CONTROL, PROBE, conn=conn) + struct.pack('>Q', i))
        s.send(common(CONTROL, PROBE_ACK, conn=conn) + struct.pack('>Q', i))
        s.send(common(CONTROL, CLOSE, conn=conn) + struct.pack('>Q', i), sport=PORT)
        s.send(common(DATA, NOP, conn=conn))
    print('rcvd_unknown_connection', 7 * n)
    for i in range(n):
        s.send(common(CONTROL, RESET, conn=random.randrange(1 << 32)) +
               common(DATA, WRITE, conn=random.randrange(1 << 32)), sport=PORT)
    print('rcvd_bad_reset', n)
    for i in range(n):
        s.send(init(nonce=random.randrange(1 << 64)), sport=PORT)
    print('rcvd_init_ignored', n)
    for i in range(n):
        s.send(dgram(0x300000 + i), sport=PORT)
    print('ud_no_qp', n)


def cmd_fuzz(src, dst, count):
    s = Sender(src, dst)
    seed = int(os.environ.get('SEED', '0')) or random.randrange(1 << 30)
    random.seed(seed)
    print('seed', seed, file=sys.stderr)
    base = [p for _, p, _ in bad_packets()]
    base += [write(b'a' * 100), send(b'b' * 100), init(), init(INIT_ACK),
             common(ACK, 1) + b'\xff' * 56, dgram(1), dgram(0xffffff),
             common(CONTROL, RESET) + common(DATA, WRITE),
             common(DATA, NOP) + b'\xff' * 32]
    for i in range(count):
        r = random.random()
        if r < 0.2:
            p = os.urandom(random.randrange(200))
        elif r < 0.3:
            # Every type and opcode with any length
            p = bytes([VERSION << 4 | random.randrange(16), random.randrange(256)]) + \
                os.urandom(random.randrange(200))
        else:
            p = bytearray(random.choice(base))
            for _ in range(random.randrange(4)):
                if p:
                    p[random.randrange(len(p))] = random.choice(
                        (0, 1, 0x7f, 0x80, 0xff, random.randrange(256)))
            p = bytes(p[:random.randrange(len(p) + 1)] if random.random() < 0.3 else p)
            if random.random() < 0.1:
                p += os.urandom(random.randrange(1300))
        if random.random() < 0.05:
            # Fragments and lies about the length
            l4 = s.udp(p, PORT, PORT, ulen=random.randrange(65536))
            s.raw(s.ip(l4, frag=0 if s.v6 else random.choice((0, 0x2000, 1, 0x2001))))
        else:
            s.send(p, sport=random.choice((PORT, PORT, 50000, 1, 65535)),
                   bad_csum=random.random() < 0.05,
                   zero_csum=random.random() < 0.05)


class Sniffer:
    def __init__(self, iface):
        self.s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM,
                               socket.htons(0x0003))
        self.s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.s.bind((iface, 0))
        self.vlan = 0           # of the last packet
        self.ours = False       # sent from here

    def recv(self):
        b, aux, _, addr = self.s.recvmsg(65535, 256)
        self.ours = addr[2] == socket.PACKET_OUTGOING
        self.vlan = 0
        for level, kind, data in aux:
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                status, tci = struct.unpack('I12xH', data[:18])
                if status & TP_STATUS_VLAN_VALID:
                    self.vlan = tci & 0xfff
        # A tag that no offload takes care of
        if not self.vlan and len(b) > 4 and b[2:4] in (b'\x08\0', b'\x86\xdd'):
            self.vlan, b = struct.unpack('>H', b[:2])[0] & 0xfff, b[4:]
        return b

    def packets(self, seconds):
        """(source, destination, sport, UDP payload)"""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.s], [], [], left)[0]:
                return
            b = self.recv()
            if len(b) < 28:
                continue
            if b[0] >> 4 == 4 and b[9] == 17:
                h = (b[0] & 15) * 4
                a = socket.inet_ntop(socket.AF_INET, b[12:16])
                d = socket.inet_ntop(socket.AF_INET, b[16:20])
            elif b[0] >> 4 == 6 and b[6] == 17:
                h = 40
                a = socket.inet_ntop(socket.AF_INET6, b[8:24])
                d = socket.inet_ntop(socket.AF_INET6, b[24:40])
            else:
                continue
            if len(b) < h + 28:
                continue
            sport, dport = struct.unpack('>HH', b[h:h + 4])
            if dport == PORT and b[h + 8] >> 4 == VERSION:
                yield a, d, sport, b[h + 8:]


def cmd_ports(iface, seconds):
    seen = {}
    s = Sniffer(iface)
    for _, _, sport, p in s.packets(float(seconds)):
        if p[0] & 15 == DATA and not s.ours:
            seen[sport] = seen.get(sport, 0) + 1
    for port in sorted(seen):
        print(port, seen[port])


def cmd_tags(iface, dest, seconds):
    s = Sniffer(iface)
    print('ready', flush=True)
    for _, d, _, _ in s.packets(float(seconds)):
        if d == dest:
            print('vlan', s.vlan, flush=True)


def cmd_speed(iface, seconds):
    s = Sniffer(iface)
    print('ready', flush=True)
    for _, _, _, p in s.packets(float(seconds)):
        if p[0] & 15 == CONTROL and p[1] in (INIT, INIT_ACK):
            print(struct.unpack('>I', p[52:56])[0], flush=True)


def cmd_forge(iface, dest):
    """Copies of live DATA to DEST, changed so that none may have an effect."""
    got = []
    for a, d, sport, p in Sniffer(iface).packets(10):
        # Room for the changed copy; the caller sees to it that there is no GSO
        if d == dest and p[0] & 15 == DATA and p[1] != NOP and len(p) <= 1472 - 20:
            got.append((a, sport, p))
            if len(got) == 64:
                break
    if not got:
        print('no packets to %s on %s' % (dest, iface), file=sys.stderr)
        sys.exit(1)
    fam_other = 'fd01::99' if ':' in dest else '10.1.0.99'
    n = 0
    total = {}

    def count(c):
        total[c] = total.get(c, 0) + 1

    for a, sport, p in got:
        stranger, same = Sender(fam_other, dest), Sender(a, dest)
        b = bytearray(p)
        # The right packet from the wrong address
        stranger.send(p, sport=sport)
        count('rcvd_bad_source')
        # The right address, a tag of another incarnation
        b[10] ^= 0xff
        same.send(bytes(b), sport=sport)
        count('rcvd_bad_tag')
        # The right id, random half wrong
        b = bytearray(p)
        b[7] ^= 0xff
        same.send(bytes(b), sport=sport)
        count('rcvd_unknown_connection')
        # Seen already: a duplicate, answered, without effect
        b = bytearray(p)
        same.send(p, sport=sport)
        # Far ahead of the window
        psn = struct.unpack('>I', p[12:16])[0]
        b[12:16] = struct.pack('>I', (psn + 100000) & 0xffffffff)
        same.send(bytes(b), sport=sport)
        # A NAK that kills, for a PSN that is not outstanding: guessed id
        same.send(common(NAK, 0, conn=random.randrange(1 << 32), psn=psn) +
                  struct.pack('>IIBBH', 0x1100, 0, 6, 0, 0), sport=sport)
        count('rcvd_unknown_connection')
        n += 1
    for c in sorted(total):
        print(c, total[c])


def main():
    cmds = {'bad': cmd_bad, 'stray': cmd_stray, 'forge': cmd_forge,
            'ports': cmd_ports, 'tags': cmd_tags, 'speed': cmd_speed,
            'fuzz': lambda s, d, n: cmd_fuzz(s, d, int(n))}
    if len(sys.argv) < 2 or sys.argv[1] not in cmds:
        sys.exit(__doc__)
    cmds[sys.argv[1]](*sys.argv[2:])


main()
