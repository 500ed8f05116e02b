/* SPDX-License-Identifier: GPL-2.0 */
/*
 * MetaRoCE draft 1 wire format: one bounds-checked parser, one builder.
 *
 * Nothing outside wire/ knows where a field sits in a packet. All fields are
 * big-endian on the wire and in host order in the structures below. The
 * format is specified in Documentation/metaroce-protocol.rst, section 3.
 */
#ifndef MROCE_WIRE_H
#define MROCE_WIRE_H

#include "../core/platform.h"

#define MROCE_UDP_PORT		61791	/* outside Linux' ephemeral range */
#define MROCE_SPORT_MIN		49152	/* source ports of paths */
#define MROCE_SPORT_MAX		65535
#define MROCE_WIRE_VERSION	1

#define MROCE_VEC_BITS		256	/* selective-acknowledgment vector */
#define MROCE_VEC_WORDS		(MROCE_VEC_BITS / 64)
#define MROCE_VEC_BYTES		(MROCE_VEC_BITS / 8)
#define MROCE_MAX_PLANES	16
#define MROCE_QPN_MAX		0xffffffu
#define MROCE_MAX_MSG		0x80000000u	/* bytes of one message */
#define MROCE_MSN_WINDOW_MIN	64
#define MROCE_MSN_WINDOW_MAX	16384
#define MROCE_MTU_MIN		576

/* Header sizes in bytes, without payload. */
#define MROCE_COMMON_LEN	20
#define MROCE_DATA_LEN		(MROCE_COMMON_LEN + 16)
#define MROCE_WRITE_LEN		(MROCE_DATA_LEN + 16)
#define MROCE_WRITE_IMM_LEN	(MROCE_WRITE_LEN + 8)	/* LAST packet only */
#define MROCE_SEND_LEN		(MROCE_DATA_LEN + 8)
#define MROCE_SEND_X_LEN	(MROCE_SEND_LEN + 4)	/* LAST of _IMM, _INV */
#define MROCE_READ_REQ_LEN	(MROCE_DATA_LEN + 20)
#define MROCE_READ_RESP_LEN	(MROCE_DATA_LEN + 4)
#define MROCE_RESP_DONE_LEN	(MROCE_DATA_LEN + 4)
#define MROCE_RESP_ERR_LEN	(MROCE_DATA_LEN + 8)
#define MROCE_ATOMIC_REQ_LEN	(MROCE_DATA_LEN + 32)
#define MROCE_ATOMIC_RESP_LEN	(MROCE_DATA_LEN + 12)
#define MROCE_NOP_LEN		MROCE_COMMON_LEN
#define MROCE_NOP_VEC_LEN	(MROCE_COMMON_LEN + MROCE_VEC_BYTES)
#define MROCE_ACK_SHORT_LEN	(MROCE_COMMON_LEN + 24)
#define MROCE_ACK_LEN		(MROCE_ACK_SHORT_LEN + MROCE_VEC_BYTES)
#define MROCE_NAK_LEN		(MROCE_COMMON_LEN + 12)
#define MROCE_INIT_FIXED_LEN	(MROCE_COMMON_LEN + 48)	/* + 16 per plane */
#define MROCE_RESET_LEN		(MROCE_COMMON_LEN + MROCE_COMMON_LEN)
#define MROCE_PROBE_LEN		(MROCE_COMMON_LEN + 8)	/* + padding */
#define MROCE_CLOSE_LEN		(MROCE_COMMON_LEN + 8)
#define MROCE_DGRAM_LEN		(MROCE_COMMON_LEN + 20)

/* The longest header of a DATA packet. */
#define MROCE_MAX_DATA_HDR	MROCE_ATOMIC_REQ_LEN
/* The longest packet without payload (INIT with all planes). */
#define MROCE_MAX_HDR		(MROCE_INIT_FIXED_LEN + 16 * MROCE_MAX_PLANES)
/* INIT is always that long: its answer is never longer than itself. */
#define MROCE_INIT_LEN		MROCE_MAX_HDR

enum mroce_type {
	MROCE_T_DATA	 = 1,
	MROCE_T_ACK	 = 2,
	MROCE_T_NAK	 = 3,
	MROCE_T_CONTROL	 = 4,
	MROCE_T_DATAGRAM = 5,
};

/* Opcodes of DATA. All packets of one message carry the same opcode. */
enum mroce_data_op {
	MROCE_OP_WRITE		= 1,
	MROCE_OP_WRITE_IMM	= 2,
	MROCE_OP_SEND		= 3,
	MROCE_OP_SEND_IMM	= 4,
	MROCE_OP_SEND_INV	= 5,
	MROCE_OP_READ_REQ	= 6,
	MROCE_OP_READ_RESP	= 7,
	MROCE_OP_RESP_DONE	= 8,
	MROCE_OP_RESP_ERR	= 9,
	MROCE_OP_CMP_SWAP	= 10,
	MROCE_OP_FETCH_ADD	= 11,
	MROCE_OP_ATOMIC_RESP	= 12,
	MROCE_OP_FLUSH		= 13,	/* reserved, rejected in this version */
	MROCE_OP_ATOMIC_WRITE	= 14,	/* reserved, rejected in this version */
	MROCE_OP_NOP		= 15,
};

enum mroce_ack_op {
	MROCE_ACK_SHORT	= 0,	/* no gap: no vector */
	MROCE_ACK_FULL	= 1,
};

enum mroce_ctrl_op {
	MROCE_CTRL_INIT		= 1,
	MROCE_CTRL_INIT_ACK	= 2,
	MROCE_CTRL_RESET	= 3,
	MROCE_CTRL_PROBE	= 4,
	MROCE_CTRL_PROBE_ACK	= 5,
	MROCE_CTRL_CLOSE	= 6,
};

/*
 * Flags of the common header. The parser removes unknown ones. IMM and INV
 * stand for their field and so only in the LAST packet of the opcode that has
 * it (IMM also in DATAGRAM); a one-packet DATA message has LAST, a NOP and
 * what is not DATA have none of the three. The builder sees to all that.
 */
#define MROCE_F_LAST		0x0001	/* last packet of its message */
#define MROCE_F_SOLICITED	0x0002	/* solicited event */
#define MROCE_F_ACKNOW		0x0004	/* acknowledge now */
#define MROCE_F_IMM		0x0008	/* immediate present */
#define MROCE_F_INV		0x0010	/* key to invalidate present */
#define MROCE_F_BACKLOG		0x0020	/* more data queued behind this packet */
#define MROCE_F_RETX		0x0040	/* a retransmission (statistics only) */
#define MROCE_F_COMPACT_ACK	0x0080	/* kept for a later version */

/* NAK codes, and codes of RESP_ERR (the three fatal ones). */
enum mroce_nak_code {
	MROCE_NAK_RNR		= 1,	/* + timer code of the verbs */
	MROCE_NAK_NOT_READY	= 2,
	MROCE_NAK_PENDING	= 3,
	MROCE_NAK_CLOSED	= 4,
	MROCE_NAK_INV_REQ	= 5,
	MROCE_NAK_ACCESS	= 6,
	MROCE_NAK_OP_ERR	= 7,
};

/* Why the parser refused a packet; each has its counter. */
#define MROCE_WIRE_REASONS(X)						\
	X(OK,		"ok")						\
	X(SHORT,	"shorter than its header")			\
	X(BAD_VERSION,	"unknown version")				\
	X(TYPE,		"unknown type")					\
	X(OPCODE,	"unknown opcode")				\
	X(FLAGS,	"flags contradict the opcode")			\
	X(LENGTH,	"length contradicts the header")		\
	X(FIELD,	"field out of range")
enum mroce_wire_reason {
#define X(n, s) MROCE_WIRE_##n,
	MROCE_WIRE_REASONS(X)
#undef X
	MROCE_WIRE_N_REASONS
};

/* What INIT and INIT_ACK say of their sender. */
struct mroce_init {
	u32 conn_id;		/* the sender's connection id */
	u64 nonce;
	u64 peer_nonce;		/* INIT_ACK: of the INIT it answers; INIT: 0 */
	u16 msn_window;		/* messages, power of two, 64..16384 */
	u16 rsn_window;		/* receive-consuming messages, 1..16384 */
	u16 mtu;		/* of the link, IP header included */
	u8 tclass;
	u8 n_planes;		/* addresses that follow; 0: the packet's own */
	u32 features;		/* MROCE_FEAT_* */
	u32 speed_mbps;		/* of the link; 0: unknown */
	u32 hint_kbps;		/* INIT_ACK: first rate hint; 0: no opinion */
	u8 plane_addr[MROCE_MAX_PLANES][16];	/* v4 as v4-mapped */
};

#define MROCE_FEAT_CRC32C	0x00000001	/* kept; not offered by draft 1 */

/**
 * struct mroce_pkt - a packet's header in host order
 *
 * The parser fills all members that the type and opcode define and zeroes
 * the rest of that member of the union (other members are not touched: most
 * packets need a hundred bytes of it, INIT three hundred); the builder takes
 * the same structure. @payload_off and @payload_len are outputs of the parser
 * only; the padding of a PROBE counts as payload.
 */
struct mroce_pkt {
	u8 type;		/* enum mroce_type */
	u8 opcode;		/* per type */
	u16 flags;		/* MROCE_F_* */
	u32 conn;		/* receiver's connection id */
	u8 path;
	u8 epoch;		/* ACK: the echoed epoch */
	u16 tag;
	u32 psn;		/* DATA: sequence; ACK: cumulative; NAK: refused */
	u32 ts;			/* sender's clock, 64 ns */
	u16 payload_off;	/* = header length */
	u16 payload_len;
	union {
		struct {
			u32 dqpn, sqpn;		/* 24 bits */
			u8 attempt;
			u32 msn, offset;
			/* WRITE*, READ_REQ, atomics: */
			u64 va;
			u32 rkey;
			/* WRITE*, SEND*, READ_REQ: length of the message */
			u32 len;
			/* SEND*, LAST packet of WRITE_IMM: */
			u32 rsn;
			/* LAST of *_IMM: immediate; LAST of SEND_INV: rkey */
			u32 imm;
			/* READ_REQ, atomics and all responses: */
			u32 cookie;
			u8 code;		/* RESP_ERR: nak code */
			u64 swap_add;		/* atomics; ATOMIC_RESP: original */
			u64 compare;		/* CMP_SWAP */
			/* NOP: further PSNs voided, bit i = psn + 1 + i */
			bool has_vec;
			u64 vec[MROCE_VEC_WORDS];
		} data;
		struct {
			u32 echo_ts;		/* of the path's newest packet */
			u32 hold;		/* since it came, 64 ns units, saturates */
			u32 n_recv, n_ce, n_dup; /* packets of the path, cumulative */
			u32 hint_kbps;
			/* bit i = psn + 1 + i placed; zero in the short form */
			u64 vec[MROCE_VEC_WORDS];
		} ack;
		struct {
			u32 qpn;		/* requester's (destination) QPN */
			u8 attempt;
			u32 msn;
			u8 code;		/* enum mroce_nak_code */
			u8 timer;		/* RNR: verbs timer code, 5 bits */
		} nak;
		struct mroce_init init;		/* INIT, INIT_ACK */
		struct {
			u64 cookie;		/* PROBE, PROBE_ACK: random; CLOSE: nonce */
			u16 pad;		/* PROBE: padding bytes */
		} ctrl;
		u8 reset[MROCE_COMMON_LEN];	/* RESET: the header it answers */
		struct {
			u32 dqpn, sqpn, qkey;
			u16 pkey;
			u32 imm;		/* valid with MROCE_F_IMM */
		} dgram;
	};
};

/**
 * mroce_wire_parse - read one UDP payload
 * @buf: at least min(@len, MROCE_MAX_HDR) readable bytes
 * @avail: readable bytes at @buf
 * @len: length of the whole UDP payload
 * @pkt: filled on success, undefined otherwise
 *
 * The only place that reads received bytes as fields. Never reads past
 * @avail. Checks everything that can be checked without state: sizes, flags
 * against opcode, offset + payload <= length and LAST iff equal (rule 4 of
 * the protocol's section 8), ranges of windows.
 *
 * Return: MROCE_WIRE_OK or the reason for the reject.
 */
enum mroce_wire_reason mroce_wire_parse(const void *buf, unsigned int avail,
					unsigned int len,
					struct mroce_pkt *pkt);

/**
 * mroce_wire_parse_common - read a bare common header
 * @buf: MROCE_COMMON_LEN bytes, such as a RESET echoes
 * @pkt: members up to @ts are filled, whatever their values
 *
 * Return: true if the version is known.
 */
bool mroce_wire_parse_common(const void *buf, struct mroce_pkt *pkt);

/**
 * mroce_wire_build - write a header
 * @pkt: type, opcode and members to send
 * @buf: room for the header; for PROBE also for ctrl.pad
 * @size: bytes at @buf
 *
 * The flags that follow from the opcode and from LAST (immediate and
 * invalidate present, LAST of one-packet messages) are set here, whatever
 * @pkt says of them.
 *
 * Return: bytes written, or 0 if they do not fit, the opcode has no encoding
 * or a field cannot be sent (a bug of the caller; nothing remote reaches it).
 */
unsigned int mroce_wire_build(const struct mroce_pkt *pkt, void *buf,
			      unsigned int size);

/**
 * mroce_wire_hdr_len - header length of a DATA packet
 * @opcode: enum mroce_data_op
 * @last: the packet ends its message
 *
 * Return: bytes before the payload; 0 for an opcode without encoding.
 */
unsigned int mroce_wire_hdr_len(u8 opcode, bool last);

/* Names for traces and tests; never NULL. */
const char *mroce_wire_reason_str(enum mroce_wire_reason r);
const char *mroce_data_op_str(u8 opcode);

#endif /* MROCE_WIRE_H */
