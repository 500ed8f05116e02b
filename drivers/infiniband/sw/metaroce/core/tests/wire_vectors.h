/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One or more packets of each kind, as bytes and as the structure they mean.
 * The bytes were written from the tables of the specification, not with the
 * builder: they are what another implementation can be compared with. The
 * fuzzers start from them too.
 */
#ifndef MROCE_WIRE_VECTORS_H
#define MROCE_WIRE_VECTORS_H

#include "../../wire/wire.h"

struct mroce_vector {
	const char *name;
	const char *raw;
	u16 len;
	bool alias;	/* legal, but not what the builder makes of it */
	struct mroce_pkt pkt;
};

/* The common header behind version, type, opcode and flags. */
#define V_COMMON							\
	"\xa1\xa2\xa3\xa4"	/* connection */			\
	"\x05\x06\xb1\xb2"	/* path, epoch, tag */			\
	"\xf1\xf2\xf3\xf4"	/* PSN */				\
	"\x0a\x0b\x0c\x0d"	/* timestamp */
#define P_COMMON(t, o, f)						\
	.type = t, .opcode = o, .flags = f,				\
	.conn = 0xa1a2a3a4, .path = 5, .epoch = 6, .tag = 0xb1b2,	\
	.psn = 0xf1f2f3f4, .ts = 0x0a0b0c0d

/* The DATA header up to the offset. */
#define V_DATA								\
	"\x11\x12\x13\x07"	/* destination QPN, attempt */		\
	"\x21\x22\x23\x00"	/* source QPN, reserved */		\
	"\x31\x32\x33\x34"	/* MSN */
#define P_DATA								\
	.dqpn = 0x111213, .attempt = 7, .sqpn = 0x212223, .msn = 0x31323334

#define V_VEC								\
	"\x80\x00\x00\x00\x00\x00\x00\x02"	/* bits 63 and 1 */	\
	"\x00\x00\x00\x00\x00\x00\x00\x01"	/* bit 64 */		\
	"\x00\x00\x00\x00\x00\x00\x00\x00"				\
	"\xff\x00\x00\x00\x00\x00\x00\x00"	/* bits 248 to 255 */
#define P_VEC	{ 0x8000000000000002ULL, 1, 0, 0xff00000000000000ULL }

#define V_ADDR0	"\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\x00\x02\x01"
#define V_ADDR1	"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02"
#define P_ADDR0	{ [10] = 0xff, 0xff, 192, 0, 2, 1 }
#define P_ADDR1	{ 0x20, 0x01, 0x0d, 0xb8, [15] = 2 }
#define V_ADDR_PAD "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define V_ADDR_PAD14							\
	V_ADDR_PAD V_ADDR_PAD V_ADDR_PAD V_ADDR_PAD V_ADDR_PAD		\
	V_ADDR_PAD V_ADDR_PAD V_ADDR_PAD V_ADDR_PAD V_ADDR_PAD		\
	V_ADDR_PAD V_ADDR_PAD V_ADDR_PAD V_ADDR_PAD

#define V_RAW(s)	.raw = (s), .len = sizeof(s) - 1

static const struct mroce_vector mroce_vectors[] = {
	{
		.name = "WRITE first",
		V_RAW("\x11\x01\x00\x20" V_COMMON V_DATA
		      "\x00\x00\x00\x00"
		      "\x41\x42\x43\x44\x45\x46\x47\x48"	/* address */
		      "\x51\x52\x53\x54"			/* rkey */
		      "\x00\x00\x00\x05"			/* length */
		      "abcd"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_WRITE, MROCE_F_BACKLOG),
			.payload_off = 52, .payload_len = 4,
			.data = { P_DATA, .va = 0x4142434445464748ULL,
				  .rkey = 0x51525354, .len = 5 },
		},
	}, {
		.name = "WRITE last",
		V_RAW("\x11\x01\x00\x05" V_COMMON V_DATA
		      "\x00\x00\x00\x04"
		      "\x41\x42\x43\x44\x45\x46\x47\x4c"
		      "\x51\x52\x53\x54"
		      "\x00\x00\x00\x05"
		      "e"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_WRITE,
				 MROCE_F_LAST | MROCE_F_ACKNOW),
			.payload_off = 52, .payload_len = 1,
			.data = { P_DATA, .offset = 4,
				  .va = 0x414243444546474cULL,
				  .rkey = 0x51525354, .len = 5 },
		},
	}, {
		.name = "WRITE of nothing",
		V_RAW("\x11\x01\x00\x01" V_COMMON V_DATA
		      "\x00\x00\x00\x00"
		      "\x00\x00\x00\x00\x00\x00\x00\x00"
		      "\x00\x00\x00\x00"
		      "\x00\x00\x00\x00"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_WRITE, MROCE_F_LAST),
			.payload_off = 52,
			.data = { P_DATA },
		},
	}, {
		.name = "WRITE_IMM first",
		V_RAW("\x11\x02\x00\x00" V_COMMON V_DATA
		      "\x7f\xff\xff\xf0"
		      "\x41\x42\x43\x44\x45\x46\x47\x48"
		      "\x51\x52\x53\x54"
		      "\x80\x00\x00\x00"
		      "abcd"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_WRITE_IMM, 0),
			.payload_off = 52, .payload_len = 4,
			.data = { P_DATA, .offset = 0x7ffffff0,
				  .va = 0x4142434445464748ULL,
				  .rkey = 0x51525354, .len = 0x80000000 },
		},
	}, {
		.name = "WRITE_IMM last",
		V_RAW("\x11\x02\x00\x0b" V_COMMON V_DATA
		      "\x00\x00\x00\x00"
		      "\x41\x42\x43\x44\x45\x46\x47\x48"
		      "\x51\x52\x53\x54"
		      "\x00\x00\x00\x04"
		      "\x61\x62\x63\x64"			/* RSN */
		      "\x71\x72\x73\x74"			/* immediate */
		      "abcd"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_WRITE_IMM,
				 MROCE_F_LAST | MROCE_F_SOLICITED |
				 MROCE_F_IMM),
			.payload_off = 60, .payload_len = 4,
			.data = { P_DATA, .va = 0x4142434445464748ULL,
				  .rkey = 0x51525354, .len = 4,
				  .rsn = 0x61626364, .imm = 0x71727374 },
		},
	}, {
		.name = "SEND only",
		V_RAW("\x11\x03\x00\x41" V_COMMON V_DATA
		      "\x00\x00\x00\x00"
		      "\x61\x62\x63\x64"			/* RSN */
		      "\x00\x00\x00\x03"			/* length */
		      "abc"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_SEND,
				 MROCE_F_LAST | MROCE_F_RETX),
			.payload_off = 44, .payload_len = 3,
			.data = { P_DATA, .rsn = 0x61626364, .len = 3 },
		},
	}, {
		.name = "SEND_IMM middle",
		V_RAW("\x11\x04\x00\x00" V_COMMON V_DATA
		      "\x00\x00\x00\x01"
		      "\x61\x62\x63\x64"
		      "\x00\x00\x00\x03"
		      "b"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_SEND_IMM, 0),
			.payload_off = 44, .payload_len = 1,
			.data = { P_DATA, .offset = 1, .rsn = 0x61626364,
				  .len = 3 },
		},
	}, {
		.name = "SEND_IMM last",
		V_RAW("\x11\x04\x00\x09" V_COMMON V_DATA
		      "\x00\x00\x00\x02"
		      "\x61\x62\x63\x64"
		      "\x00\x00\x00\x03"
		      "\x71\x72\x73\x74"			/* immediate */
		      "c"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_SEND_IMM,
				 MROCE_F_LAST | MROCE_F_IMM),
			.payload_off = 48, .payload_len = 1,
			.data = { P_DATA, .offset = 2, .rsn = 0x61626364,
				  .len = 3, .imm = 0x71727374 },
		},
	}, {
		.name = "SEND_INV of nothing",
		V_RAW("\x11\x05\x00\x11" V_COMMON V_DATA
		      "\x00\x00\x00\x00"
		      "\x61\x62\x63\x64"
		      "\x00\x00\x00\x00"
		      "\x71\x72\x73\x74"),			/* key */
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_SEND_INV,
				 MROCE_F_LAST | MROCE_F_INV),
			.payload_off = 48,
			.data = { P_DATA, .rsn = 0x61626364,
				  .imm = 0x71727374 },
		},
	}, {
		.name = "READ_REQ",
		V_RAW("\x11\x06\x00\x01" V_COMMON V_DATA
		      "\x00\x00\x00\x00"
		      "\x41\x42\x43\x44\x45\x46\x47\x48"	/* address */
		      "\x51\x52\x53\x54"			/* rkey */
		      "\x00\x01\x00\x00"			/* length */
		      "\x81\x82\x83\x84"),			/* cookie */
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_READ_REQ,
				 MROCE_F_LAST),
			.payload_off = 56,
			.data = { P_DATA, .va = 0x4142434445464748ULL,
				  .rkey = 0x51525354, .len = 65536,
				  .cookie = 0x81828384 },
		},
	}, {
		.name = "READ_RESP middle",
		V_RAW("\x11\x07\x00\x00" V_COMMON V_DATA
		      "\x00\x00\x10\x00"
		      "\x81\x82\x83\x84"			/* cookie */
		      "abcd"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_READ_RESP, 0),
			.payload_off = 40, .payload_len = 4,
			.data = { P_DATA, .offset = 0x1000,
				  .cookie = 0x81828384 },
		},
	}, {
		.name = "READ_RESP of nothing",
		V_RAW("\x11\x07\x00\x01" V_COMMON V_DATA
		      "\x00\x00\x00\x00"
		      "\x81\x82\x83\x84"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_READ_RESP,
				 MROCE_F_LAST),
			.payload_off = 40,
			.data = { P_DATA, .cookie = 0x81828384 },
		},
	}, {
		.name = "RESP_DONE",
		V_RAW("\x11\x08\x00\x01" V_COMMON V_DATA
		      "\x00\x00\x00\x00"
		      "\x81\x82\x83\x84"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_RESP_DONE,
				 MROCE_F_LAST),
			.payload_off = 40,
			.data = { P_DATA, .cookie = 0x81828384 },
		},
	}, {
		.name = "RESP_ERR",
		V_RAW("\x11\x09\x00\x01" V_COMMON V_DATA
		      "\x00\x00\x20\x00"
		      "\x81\x82\x83\x84"
		      "\x06\x00\x00\x00"),			/* code */
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_RESP_ERR,
				 MROCE_F_LAST),
			.payload_off = 44,
			.data = { P_DATA, .offset = 0x2000,
				  .cookie = 0x81828384,
				  .code = MROCE_NAK_ACCESS },
		},
	}, {
		.name = "CMP_SWAP",
		V_RAW("\x11\x0a\x00\x01" V_COMMON V_DATA
		      "\x00\x00\x00\x00"
		      "\x41\x42\x43\x44\x45\x46\x47\x48"	/* address */
		      "\x51\x52\x53\x54"			/* rkey */
		      "\x81\x82\x83\x84"			/* cookie */
		      "\x91\x92\x93\x94\x95\x96\x97\x98"	/* swap */
		      "\xc1\xc2\xc3\xc4\xc5\xc6\xc7\xc8"),	/* compare */
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_CMP_SWAP,
				 MROCE_F_LAST),
			.payload_off = 68,
			.data = { P_DATA, .va = 0x4142434445464748ULL,
				  .rkey = 0x51525354, .cookie = 0x81828384,
				  .swap_add = 0x9192939495969798ULL,
				  .compare = 0xc1c2c3c4c5c6c7c8ULL },
		},
	}, {
		.name = "FETCH_ADD",
		V_RAW("\x11\x0b\x00\x01" V_COMMON V_DATA
		      "\x00\x00\x00\x00"
		      "\x41\x42\x43\x44\x45\x46\x47\x48"
		      "\x51\x52\x53\x54"
		      "\x81\x82\x83\x84"
		      "\xff\xff\xff\xff\xff\xff\xff\xff"	/* add */
		      "\x00\x00\x00\x00\x00\x00\x00\x00"),	/* reserved */
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_FETCH_ADD,
				 MROCE_F_LAST),
			.payload_off = 68,
			.data = { P_DATA, .va = 0x4142434445464748ULL,
				  .rkey = 0x51525354, .cookie = 0x81828384,
				  .swap_add = U64_MAX },
		},
	}, {
		.name = "ATOMIC_RESP",
		V_RAW("\x11\x0c\x00\x01" V_COMMON V_DATA
		      "\x00\x00\x00\x00"
		      "\x81\x82\x83\x84"
		      "\x91\x92\x93\x94\x95\x96\x97\x98"),	/* original */
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_ATOMIC_RESP,
				 MROCE_F_LAST),
			.payload_off = 48,
			.data = { P_DATA, .cookie = 0x81828384,
				  .swap_add = 0x9192939495969798ULL },
		},
	}, {
		.name = "NOP",
		V_RAW("\x11\x0f\x00\x40" V_COMMON),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_NOP, MROCE_F_RETX),
			.payload_off = 20,
		},
	}, {
		.name = "NOP with vector",
		V_RAW("\x11\x0f\x00\x00" V_COMMON V_VEC),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_NOP, 0),
			.payload_off = 52,
			.data = { .has_vec = true, .vec = P_VEC },
		},
	}, {
		.name = "ACK short",
		V_RAW("\x12\x00\x00\x00" V_COMMON
		      "\x01\x02\x03\x04"		/* echoed timestamp */
		      "\x00\x00\x00\x09"		/* hold */
		      "\x00\x01\x00\x02"		/* received */
		      "\x00\x00\x00\x03"		/* marked */
		      "\x00\x00\x00\x04"		/* duplicates */
		      "\x05\xf5\xe1\x00"),		/* hint */
		.pkt = {
			P_COMMON(MROCE_T_ACK, MROCE_ACK_SHORT, 0),
			.payload_off = 44,
			.ack = { .echo_ts = 0x01020304, .hold = 9,
				 .n_recv = 0x10002, .n_ce = 3, .n_dup = 4,
				 .hint_kbps = 100000000 },
		},
	}, {
		.name = "ACK with vector",
		V_RAW("\x12\x01\x00\x00" V_COMMON
		      "\x01\x02\x03\x04"
		      "\xff\xff\xff\xff"
		      "\x00\x01\x00\x02"
		      "\x00\x00\x00\x03"
		      "\x00\x00\x00\x04"
		      "\x00\x00\x00\x00"
		      V_VEC),
		.pkt = {
			P_COMMON(MROCE_T_ACK, MROCE_ACK_FULL, 0),
			.payload_off = 76,
			.ack = { .echo_ts = 0x01020304, .hold = U32_MAX,
				 .n_recv = 0x10002, .n_ce = 3, .n_dup = 4,
				 .vec = P_VEC },
		},
	}, {
		.name = "NAK RNR",
		V_RAW("\x13\x00\x00\x00" V_COMMON
		      "\x11\x12\x13\x07"		/* QPN, attempt */
		      "\x31\x32\x33\x34"		/* MSN */
		      "\x01\x1f\x00\x00"),		/* code, timer */
		.pkt = {
			P_COMMON(MROCE_T_NAK, 0, 0),
			.payload_off = 32,
			.nak = { .qpn = 0x111213, .attempt = 7,
				 .msn = 0x31323334, .code = MROCE_NAK_RNR,
				 .timer = 31 },
		},
	}, {
		.name = "NAK OP_ERR",
		V_RAW("\x13\x00\x00\x00" V_COMMON
		      "\xff\xff\xff\x00"
		      "\xff\xff\xff\xff"
		      "\x07\x00\x00\x00"),
		.pkt = {
			P_COMMON(MROCE_T_NAK, 0, 0),
			.payload_off = 32,
			.nak = { .qpn = 0xffffff, .msn = U32_MAX,
				 .code = MROCE_NAK_OP_ERR },
		},
	}, {
		.name = "INIT",
		V_RAW("\x14\x01\x00\x00" V_COMMON
		      "\xd1\xd2\xd3\xd4"			/* own id */
		      "\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8"	/* own nonce */
		      "\x00\x00\x00\x00\x00\x00\x00\x00"	/* peer's */
		      "\x04\x00\x02\x01"	/* MSN window, RSN window */
		      "\x23\x28\x68\x02"	/* MTU, class, planes */
		      "\x00\x00\x00\x01"	/* features */
		      "\x00\x06\x1a\x80"	/* speed */
		      "\x00\x00\x00\x00"	/* hint */
		      "\x00\x00\x00\x00\x00\x00\x00\x00"	/* reserved */
		      V_ADDR0 V_ADDR1 V_ADDR_PAD14),
		.pkt = {
			P_COMMON(MROCE_T_CONTROL, MROCE_CTRL_INIT, 0),
			.payload_off = 324,
			.init = {
				.conn_id = 0xd1d2d3d4,
				.nonce = 0xe1e2e3e4e5e6e7e8ULL,
				.msn_window = 1024, .rsn_window = 513,
				.mtu = 9000, .tclass = 0x68, .n_planes = 2,
				.features = MROCE_FEAT_CRC32C,
				.speed_mbps = 400000,
				.plane_addr = { P_ADDR0, P_ADDR1 },
			},
		},
	}, {
		.name = "INIT_ACK",
		V_RAW("\x14\x02\x00\x00" V_COMMON
		      "\xd1\xd2\xd3\xd4"
		      "\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8"
		      "\x91\x92\x93\x94\x95\x96\x97\x98"
		      "\x40\x00\x40\x00"
		      "\x02\x40\x00\x01"
		      "\x00\x00\x00\x00"
		      "\x00\x00\x00\x00"
		      "\x00\x0f\x42\x40"	/* hint */
		      "\x00\x00\x00\x00\x00\x00\x00\x00"
		      V_ADDR1),
		.pkt = {
			P_COMMON(MROCE_T_CONTROL, MROCE_CTRL_INIT_ACK, 0),
			.payload_off = 84,
			.init = {
				.conn_id = 0xd1d2d3d4,
				.nonce = 0xe1e2e3e4e5e6e7e8ULL,
				.peer_nonce = 0x9192939495969798ULL,
				.msn_window = 16384, .rsn_window = 16384,
				.mtu = 576, .n_planes = 1,
				.hint_kbps = 1000000,
				.plane_addr = { P_ADDR1 },
			},
		},
	}, {
		.name = "INIT_ACK without planes",
		V_RAW("\x14\x02\x00\x00" V_COMMON
		      "\xd1\xd2\xd3\xd4"
		      "\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8"
		      "\x91\x92\x93\x94\x95\x96\x97\x98"
		      "\x00\x40\x00\x01"
		      "\xff\xff\x00\x00"
		      "\x00\x00\x00\x00"
		      "\x00\x00\x00\x00"
		      "\x00\x00\x00\x00"
		      "\x00\x00\x00\x00\x00\x00\x00\x00"),
		.pkt = {
			P_COMMON(MROCE_T_CONTROL, MROCE_CTRL_INIT_ACK, 0),
			.payload_off = 68,
			.init = {
				.conn_id = 0xd1d2d3d4,
				.nonce = 0xe1e2e3e4e5e6e7e8ULL,
				.peer_nonce = 0x9192939495969798ULL,
				.msn_window = 64, .rsn_window = 1,
				.mtu = 65535,
			},
		},
	}, {
		.name = "RESET",
		V_RAW("\x14\x03\x00\x00" V_COMMON
		      "\x11\x01\x00\x20" V_COMMON),
		.pkt = {
			P_COMMON(MROCE_T_CONTROL, MROCE_CTRL_RESET, 0),
			.payload_off = 40,
			.reset = {
				0x11, 0x01, 0x00, 0x20, 0xa1, 0xa2, 0xa3, 0xa4,
				0x05, 0x06, 0xb1, 0xb2, 0xf1, 0xf2, 0xf3, 0xf4,
				0x0a, 0x0b, 0x0c, 0x0d,
			},
		},
	}, {
		.name = "PROBE",
		V_RAW("\x14\x04\x00\x00" V_COMMON
		      "\x91\x92\x93\x94\x95\x96\x97\x98"),
		.pkt = {
			P_COMMON(MROCE_T_CONTROL, MROCE_CTRL_PROBE, 0),
			.payload_off = 28,
			.ctrl = { .cookie = 0x9192939495969798ULL },
		},
	}, {
		.name = "PROBE padded",
		V_RAW("\x14\x04\x00\x00" V_COMMON
		      "\x91\x92\x93\x94\x95\x96\x97\x98"
		      "\0\0\0\0\0"),
		.pkt = {
			P_COMMON(MROCE_T_CONTROL, MROCE_CTRL_PROBE, 0),
			.payload_off = 28, .payload_len = 5,
			.ctrl = { .cookie = 0x9192939495969798ULL, .pad = 5 },
		},
	}, {
		.name = "PROBE_ACK",
		V_RAW("\x14\x05\x00\x00" V_COMMON
		      "\x91\x92\x93\x94\x95\x96\x97\x98"),
		.pkt = {
			P_COMMON(MROCE_T_CONTROL, MROCE_CTRL_PROBE_ACK, 0),
			.payload_off = 28,
			.ctrl = { .cookie = 0x9192939495969798ULL },
		},
	}, {
		.name = "CLOSE",
		V_RAW("\x14\x06\x00\x00" V_COMMON
		      "\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8"),
		.pkt = {
			P_COMMON(MROCE_T_CONTROL, MROCE_CTRL_CLOSE, 0),
			.payload_off = 28,
			.ctrl = { .cookie = 0xe1e2e3e4e5e6e7e8ULL },
		},
	}, {
		.name = "DATAGRAM",
		V_RAW("\x15\x00\x00\x02" V_COMMON
		      "\x00\x00\x01\x00"	/* destination QPN, reserved */
		      "\x21\x22\x23\x00"	/* source QPN, reserved */
		      "\x80\x01\x00\x00"	/* Q_Key */
		      "\xff\xff\x00\x00"	/* P_Key, reserved */
		      "\x00\x00\x00\x00"	/* no immediate */
		      "abc"),
		.pkt = {
			P_COMMON(MROCE_T_DATAGRAM, 0, MROCE_F_SOLICITED),
			.payload_off = 40, .payload_len = 3,
			.dgram = { .dqpn = 1, .sqpn = 0x212223,
				   .qkey = 0x80010000, .pkey = 0xffff },
		},
	}, {
		.name = "DATAGRAM with immediate",
		V_RAW("\x15\x00\x00\x08" V_COMMON
		      "\x11\x12\x13\x00"
		      "\x21\x22\x23\x00"
		      "\x01\x02\x03\x04"
		      "\x7f\xff\x00\x00"
		      "\x71\x72\x73\x74"),
		.pkt = {
			P_COMMON(MROCE_T_DATAGRAM, 0, MROCE_F_IMM),
			.payload_off = 40,
			.dgram = { .dqpn = 0x111213, .sqpn = 0x212223,
				   .qkey = 0x01020304, .pkey = 0x7fff,
				   .imm = 0x71727374 },
		},
	}, {
		.name = "unknown flags, reserved bytes",
		.alias = true,
		V_RAW("\x11\x09\xff\x81" V_COMMON
		      "\x11\x12\x13\x07"
		      "\x21\x22\x23\xff"
		      "\x31\x32\x33\x34"
		      "\x00\x00\x20\x00"
		      "\x81\x82\x83\x84"
		      "\x05\xff\xff\xff"),
		.pkt = {
			P_COMMON(MROCE_T_DATA, MROCE_OP_RESP_ERR,
				 MROCE_F_LAST),
			.payload_off = 44,
			.data = { P_DATA, .offset = 0x2000,
				  .cookie = 0x81828384,
				  .code = MROCE_NAK_INV_REQ },
		},
	}, {
		.name = "timer of a NAK that is not RNR",
		.alias = true,
		V_RAW("\x13\x00\x00\x00" V_COMMON
		      "\x11\x12\x13\x07"
		      "\x31\x32\x33\x34"
		      "\x02\xff\xff\xff"),
		.pkt = {
			P_COMMON(MROCE_T_NAK, 0, 0),
			.payload_off = 32,
			.nak = { .qpn = 0x111213, .attempt = 7,
				 .msn = 0x31323334,
				 .code = MROCE_NAK_NOT_READY },
		},
	},
};

#endif /* MROCE_WIRE_VECTORS_H */
