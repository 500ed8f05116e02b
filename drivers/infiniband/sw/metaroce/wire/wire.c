// SPDX-License-Identifier: GPL-2.0
/*
 * MetaRoCE draft 1: bytes to structures and back.
 *
 * One table says how long the header of a DATA opcode is and which rules its
 * length and flags follow; the checks below are driven by it, so parser and
 * builder cannot come to differ. Everything is read and written through the
 * get_unaligned_be and put_unaligned_be families, after the length that the table
 * gives has been compared with what is there.
 *
 * Bits that this version does not define are sent as zero and ignored on
 * receipt.
 */
#include "wire.h"

/* How the payload of a DATA opcode relates to its length fields. */
enum mroce_body {
	MROCE_BODY_NONE,	/* one packet, no payload */
	MROCE_BODY_MSG,		/* a piece of a message whose length it names */
	MROCE_BODY_RESP,	/* a piece of a response; the requester knows */
};

struct mroce_data_desc {
	const char *name;
	u8 hdr;			/* header length; 0: no encoding */
	u8 tail;		/* what LAST adds to it */
	u16 tail_flag;		/* and the flag that says so */
	enum mroce_body body;
};

static const struct mroce_data_desc mroce_data_descs[] = {
	[MROCE_OP_WRITE] = {
		"WRITE", MROCE_WRITE_LEN, 0, 0, MROCE_BODY_MSG
	},
	[MROCE_OP_WRITE_IMM] = {
		"WRITE_IMM", MROCE_WRITE_LEN,
		MROCE_WRITE_IMM_LEN - MROCE_WRITE_LEN, MROCE_F_IMM,
		MROCE_BODY_MSG
	},
	[MROCE_OP_SEND] = {
		"SEND", MROCE_SEND_LEN, 0, 0, MROCE_BODY_MSG
	},
	[MROCE_OP_SEND_IMM] = {
		"SEND_IMM", MROCE_SEND_LEN,
		MROCE_SEND_X_LEN - MROCE_SEND_LEN, MROCE_F_IMM,
		MROCE_BODY_MSG
	},
	[MROCE_OP_SEND_INV] = {
		"SEND_INV", MROCE_SEND_LEN,
		MROCE_SEND_X_LEN - MROCE_SEND_LEN, MROCE_F_INV,
		MROCE_BODY_MSG
	},
	[MROCE_OP_READ_REQ] = {
		"READ_REQ", MROCE_READ_REQ_LEN, 0, 0, MROCE_BODY_NONE
	},
	[MROCE_OP_READ_RESP] = {
		"READ_RESP", MROCE_READ_RESP_LEN, 0, 0, MROCE_BODY_RESP
	},
	[MROCE_OP_RESP_DONE] = {
		"RESP_DONE", MROCE_RESP_DONE_LEN, 0, 0, MROCE_BODY_NONE
	},
	[MROCE_OP_RESP_ERR] = {
		"RESP_ERR", MROCE_RESP_ERR_LEN, 0, 0, MROCE_BODY_NONE
	},
	[MROCE_OP_CMP_SWAP] = {
		"CMP_SWAP", MROCE_ATOMIC_REQ_LEN, 0, 0, MROCE_BODY_NONE
	},
	[MROCE_OP_FETCH_ADD] = {
		"FETCH_ADD", MROCE_ATOMIC_REQ_LEN, 0, 0, MROCE_BODY_NONE
	},
	[MROCE_OP_ATOMIC_RESP] = {
		"ATOMIC_RESP", MROCE_ATOMIC_RESP_LEN, 0, 0, MROCE_BODY_NONE
	},
	[MROCE_OP_FLUSH] = { .name = "FLUSH" },
	[MROCE_OP_ATOMIC_WRITE] = { .name = "ATOMIC_WRITE" },
	/* A NOP has no DATA header: it belongs to a path, not to a stream. */
	[MROCE_OP_NOP] = { "NOP", MROCE_NOP_LEN, 0, 0, MROCE_BODY_NONE },
};

/* The flags that say what a header holds; the rest are hints. */
#define MROCE_F_SHAPE	(MROCE_F_LAST | MROCE_F_IMM | MROCE_F_INV)
#define MROCE_F_KNOWN	(MROCE_F_SHAPE | MROCE_F_SOLICITED | MROCE_F_ACKNOW | \
			 MROCE_F_BACKLOG | MROCE_F_RETX)

static const struct mroce_data_desc *mroce_data_desc(u8 opcode)
{
	const struct mroce_data_desc *desc;

	if (opcode >= ARRAY_SIZE(mroce_data_descs))
		return NULL;
	desc = &mroce_data_descs[opcode];
	return desc->hdr ? desc : NULL;
}

/**
 * mroce_wire_hdr_len - header length of a DATA packet
 * @opcode: enum mroce_data_op
 * @last: the packet ends its message
 *
 * Return: bytes before the payload; 0 for an opcode without encoding.
 */
unsigned int mroce_wire_hdr_len(u8 opcode, bool last)
{
	const struct mroce_data_desc *desc = mroce_data_desc(opcode);

	if (!desc)
		return 0;
	return desc->hdr + (last ? desc->tail : 0);
}

static void mroce_get_vec(u64 *vec, const u8 *p)
{
	int i;

	for (i = 0; i < MROCE_VEC_WORDS; i++)
		vec[i] = get_unaligned_be64(p + 8 * i);
}

static void mroce_put_vec(const u64 *vec, u8 *p)
{
	int i;

	for (i = 0; i < MROCE_VEC_WORDS; i++)
		put_unaligned_be64(vec[i], p + 8 * i);
}

/*
 * Offset, payload and length of a piece of a message. The offset is compared
 * by subtraction: a sum of wire fields could wrap.
 */
static enum mroce_wire_reason mroce_check_msg(const struct mroce_pkt *pkt)
{
	bool last = pkt->flags & MROCE_F_LAST;
	u32 len = pkt->data.len;

	if (len > MROCE_MAX_MSG)
		return MROCE_WIRE_FIELD;
	if (pkt->data.offset > len ||
	    pkt->payload_len > len - pkt->data.offset)
		return MROCE_WIRE_LENGTH;
	/* An empty piece only as the whole of an empty message. */
	if (!pkt->payload_len && len)
		return MROCE_WIRE_LENGTH;
	if (last != (pkt->payload_len == len - pkt->data.offset))
		return MROCE_WIRE_LENGTH;
	return MROCE_WIRE_OK;
}

/* The same without a length: the requester compares with its request. */
static enum mroce_wire_reason mroce_check_resp(const struct mroce_pkt *pkt)
{
	if (pkt->data.offset > MROCE_MAX_MSG ||
	    pkt->payload_len > MROCE_MAX_MSG - pkt->data.offset)
		return MROCE_WIRE_LENGTH;
	if (!pkt->payload_len &&
	    (pkt->data.offset || !(pkt->flags & MROCE_F_LAST)))
		return MROCE_WIRE_LENGTH;
	return MROCE_WIRE_OK;
}

static bool mroce_code_is_fatal(u8 code)
{
	return code == MROCE_NAK_INV_REQ || code == MROCE_NAK_ACCESS ||
	       code == MROCE_NAK_OP_ERR;
}

static enum mroce_wire_reason mroce_parse_nop(const u8 *b, unsigned int avail,
					      unsigned int len,
					      struct mroce_pkt *pkt)
{
	if (pkt->flags & MROCE_F_SHAPE)
		return MROCE_WIRE_FLAGS;
	if (len == MROCE_NOP_LEN)
		return MROCE_WIRE_OK;
	if (len != MROCE_NOP_VEC_LEN)
		return MROCE_WIRE_LENGTH;
	if (avail < MROCE_NOP_VEC_LEN)
		return MROCE_WIRE_SHORT;
	pkt->data.has_vec = true;
	mroce_get_vec(pkt->data.vec, b + MROCE_COMMON_LEN);
	pkt->payload_off = MROCE_NOP_VEC_LEN;
	return MROCE_WIRE_OK;
}

static enum mroce_wire_reason mroce_parse_data(const u8 *b, unsigned int avail,
					       unsigned int len,
					       struct mroce_pkt *pkt)
{
	const struct mroce_data_desc *desc = mroce_data_desc(pkt->opcode);
	const u8 *x = b + MROCE_DATA_LEN;
	unsigned int hdr;
	bool last;

	memset(&pkt->data, 0, sizeof(pkt->data));
	if (!desc)
		return MROCE_WIRE_OPCODE;
	pkt->payload_off = MROCE_NOP_LEN;
	if (pkt->opcode == MROCE_OP_NOP)
		return mroce_parse_nop(b, avail, len, pkt);

	last = pkt->flags & MROCE_F_LAST;
	if ((pkt->flags & (MROCE_F_IMM | MROCE_F_INV)) !=
	    (last ? desc->tail_flag : 0))
		return MROCE_WIRE_FLAGS;
	if (desc->body == MROCE_BODY_NONE && !last)
		return MROCE_WIRE_FLAGS;

	hdr = desc->hdr + (last ? desc->tail : 0);
	if (avail < hdr)
		return MROCE_WIRE_SHORT;
	pkt->payload_off = hdr;
	pkt->payload_len = len - hdr;

	pkt->data.dqpn = get_unaligned_be32(b + 20) >> 8;
	pkt->data.attempt = b[23];
	pkt->data.sqpn = get_unaligned_be32(b + 24) >> 8;
	pkt->data.msn = get_unaligned_be32(b + 28);
	pkt->data.offset = get_unaligned_be32(b + 32);

	switch (pkt->opcode) {
	case MROCE_OP_WRITE_IMM:
		if (last) {
			pkt->data.rsn = get_unaligned_be32(x + 16);
			pkt->data.imm = get_unaligned_be32(x + 20);
		}
		fallthrough;
	case MROCE_OP_WRITE:
		pkt->data.va = get_unaligned_be64(x);
		pkt->data.rkey = get_unaligned_be32(x + 8);
		pkt->data.len = get_unaligned_be32(x + 12);
		break;
	case MROCE_OP_SEND_IMM:
	case MROCE_OP_SEND_INV:
		if (last)
			pkt->data.imm = get_unaligned_be32(x + 8);
		fallthrough;
	case MROCE_OP_SEND:
		pkt->data.rsn = get_unaligned_be32(x);
		pkt->data.len = get_unaligned_be32(x + 4);
		break;
	case MROCE_OP_READ_REQ:
		pkt->data.va = get_unaligned_be64(x);
		pkt->data.rkey = get_unaligned_be32(x + 8);
		pkt->data.len = get_unaligned_be32(x + 12);
		pkt->data.cookie = get_unaligned_be32(x + 16);
		if (pkt->data.len > MROCE_MAX_MSG)
			return MROCE_WIRE_FIELD;
		break;
	case MROCE_OP_RESP_ERR:
		pkt->data.code = x[4];
		if (!mroce_code_is_fatal(pkt->data.code))
			return MROCE_WIRE_FIELD;
		fallthrough;
	case MROCE_OP_READ_RESP:
	case MROCE_OP_RESP_DONE:
		pkt->data.cookie = get_unaligned_be32(x);
		break;
	case MROCE_OP_CMP_SWAP:
		pkt->data.compare = get_unaligned_be64(x + 24);
		fallthrough;
	case MROCE_OP_FETCH_ADD:
		pkt->data.va = get_unaligned_be64(x);
		pkt->data.rkey = get_unaligned_be32(x + 8);
		pkt->data.cookie = get_unaligned_be32(x + 12);
		pkt->data.swap_add = get_unaligned_be64(x + 16);
		break;
	case MROCE_OP_ATOMIC_RESP:
		pkt->data.cookie = get_unaligned_be32(x);
		pkt->data.swap_add = get_unaligned_be64(x + 4);
		break;
	default:
		return MROCE_WIRE_OPCODE;
	}

	switch (desc->body) {
	case MROCE_BODY_NONE:
		if (pkt->payload_len)
			return MROCE_WIRE_LENGTH;
		/* An error may stand in for any piece of a response. */
		if (pkt->data.offset && pkt->opcode != MROCE_OP_RESP_ERR)
			return MROCE_WIRE_FIELD;
		return MROCE_WIRE_OK;
	case MROCE_BODY_MSG:
		return mroce_check_msg(pkt);
	case MROCE_BODY_RESP:
		return mroce_check_resp(pkt);
	}
	return MROCE_WIRE_OPCODE;
}

static enum mroce_wire_reason mroce_parse_ack(const u8 *b, unsigned int avail,
					      unsigned int len,
					      struct mroce_pkt *pkt)
{
	const u8 *x = b + MROCE_COMMON_LEN;
	unsigned int hdr;

	memset(&pkt->ack, 0, sizeof(pkt->ack));
	if (pkt->opcode == MROCE_ACK_SHORT)
		hdr = MROCE_ACK_SHORT_LEN;
	else if (pkt->opcode == MROCE_ACK_FULL)
		hdr = MROCE_ACK_LEN;
	else
		return MROCE_WIRE_OPCODE;
	if (avail < hdr)
		return MROCE_WIRE_SHORT;
	if (len != hdr)
		return MROCE_WIRE_LENGTH;
	pkt->payload_off = hdr;

	pkt->ack.echo_ts = get_unaligned_be32(x);
	pkt->ack.hold = get_unaligned_be32(x + 4);
	pkt->ack.n_recv = get_unaligned_be32(x + 8);
	pkt->ack.n_ce = get_unaligned_be32(x + 12);
	pkt->ack.n_dup = get_unaligned_be32(x + 16);
	pkt->ack.hint_kbps = get_unaligned_be32(x + 20);
	if (pkt->opcode == MROCE_ACK_FULL)
		mroce_get_vec(pkt->ack.vec, x + 24);
	return MROCE_WIRE_OK;
}

static bool mroce_nak_ok(const struct mroce_pkt *pkt)
{
	return pkt->nak.code >= MROCE_NAK_RNR &&
	       pkt->nak.code <= MROCE_NAK_OP_ERR && pkt->nak.timer <= 31;
}

static enum mroce_wire_reason mroce_parse_nak(const u8 *b, unsigned int avail,
					      unsigned int len,
					      struct mroce_pkt *pkt)
{
	const u8 *x = b + MROCE_COMMON_LEN;

	memset(&pkt->nak, 0, sizeof(pkt->nak));
	if (pkt->opcode)
		return MROCE_WIRE_OPCODE;
	if (avail < MROCE_NAK_LEN)
		return MROCE_WIRE_SHORT;
	if (len != MROCE_NAK_LEN)
		return MROCE_WIRE_LENGTH;
	pkt->payload_off = MROCE_NAK_LEN;

	pkt->nak.qpn = get_unaligned_be32(x) >> 8;
	pkt->nak.attempt = x[3];
	pkt->nak.msn = get_unaligned_be32(x + 4);
	pkt->nak.code = x[8];
	/* The timer belongs to RNR; elsewhere the byte is not defined. */
	if (pkt->nak.code == MROCE_NAK_RNR)
		pkt->nak.timer = x[9];
	return mroce_nak_ok(pkt) ? MROCE_WIRE_OK : MROCE_WIRE_FIELD;
}

/*
 * INIT is as long as the longest INIT_ACK, so that an answer is never longer
 * than the question; the addresses past @n_planes are padding there.
 */
static unsigned int mroce_init_len(u8 opcode, unsigned int n_planes)
{
	if (opcode == MROCE_CTRL_INIT)
		return MROCE_INIT_LEN;
	return MROCE_INIT_FIXED_LEN + 16 * n_planes;
}

static bool mroce_init_ok(const struct mroce_init *in)
{
	return in->msn_window >= MROCE_MSN_WINDOW_MIN &&
	       in->msn_window <= MROCE_MSN_WINDOW_MAX &&
	       is_power_of_2(in->msn_window) &&
	       in->rsn_window && in->rsn_window <= MROCE_MSN_WINDOW_MAX &&
	       in->mtu >= MROCE_MTU_MIN && in->n_planes <= MROCE_MAX_PLANES;
}

static enum mroce_wire_reason mroce_parse_init(const u8 *b, unsigned int avail,
					       unsigned int len,
					       struct mroce_pkt *pkt)
{
	const u8 *x = b + MROCE_COMMON_LEN;
	struct mroce_init *in = &pkt->init;
	unsigned int hdr;

	memset(in, 0, sizeof(*in));
	if (avail < MROCE_INIT_FIXED_LEN)
		return MROCE_WIRE_SHORT;

	in->conn_id = get_unaligned_be32(x);
	in->nonce = get_unaligned_be64(x + 4);
	in->msn_window = get_unaligned_be16(x + 20);
	in->rsn_window = get_unaligned_be16(x + 22);
	in->mtu = get_unaligned_be16(x + 24);
	in->tclass = x[26];
	in->n_planes = x[27];
	in->features = get_unaligned_be32(x + 28);
	in->speed_mbps = get_unaligned_be32(x + 32);
	if (pkt->opcode == MROCE_CTRL_INIT_ACK) {
		in->peer_nonce = get_unaligned_be64(x + 12);
		in->hint_kbps = get_unaligned_be32(x + 36);
	}

	if (!mroce_init_ok(in))
		return MROCE_WIRE_FIELD;

	hdr = mroce_init_len(pkt->opcode, in->n_planes);
	if (avail < hdr)
		return MROCE_WIRE_SHORT;
	if (len != hdr)
		return MROCE_WIRE_LENGTH;
	pkt->payload_off = hdr;
	memcpy(in->plane_addr, b + MROCE_INIT_FIXED_LEN, 16 * in->n_planes);
	return MROCE_WIRE_OK;
}

static enum mroce_wire_reason mroce_parse_ctrl(const u8 *b, unsigned int avail,
					       unsigned int len,
					       struct mroce_pkt *pkt)
{
	switch (pkt->opcode) {
	case MROCE_CTRL_INIT:
	case MROCE_CTRL_INIT_ACK:
		return mroce_parse_init(b, avail, len, pkt);
	case MROCE_CTRL_RESET:
		if (avail < MROCE_RESET_LEN)
			return MROCE_WIRE_SHORT;
		if (len != MROCE_RESET_LEN)
			return MROCE_WIRE_LENGTH;
		pkt->payload_off = MROCE_RESET_LEN;
		memcpy(pkt->reset, b + MROCE_COMMON_LEN, MROCE_COMMON_LEN);
		return MROCE_WIRE_OK;
	case MROCE_CTRL_PROBE:
	case MROCE_CTRL_PROBE_ACK:
	case MROCE_CTRL_CLOSE:
		memset(&pkt->ctrl, 0, sizeof(pkt->ctrl));
		if (avail < MROCE_PROBE_LEN)
			return MROCE_WIRE_SHORT;
		/* Only a PROBE may be padded; what the padding is, is free. */
		if (pkt->opcode != MROCE_CTRL_PROBE && len != MROCE_PROBE_LEN)
			return MROCE_WIRE_LENGTH;
		pkt->payload_off = MROCE_PROBE_LEN;
		pkt->payload_len = len - MROCE_PROBE_LEN;
		pkt->ctrl.cookie = get_unaligned_be64(b + MROCE_COMMON_LEN);
		pkt->ctrl.pad = pkt->payload_len;
		return MROCE_WIRE_OK;
	default:
		return MROCE_WIRE_OPCODE;
	}
}

static enum mroce_wire_reason mroce_parse_dgram(const u8 *b,
						unsigned int avail,
						unsigned int len,
						struct mroce_pkt *pkt)
{
	const u8 *x = b + MROCE_COMMON_LEN;

	memset(&pkt->dgram, 0, sizeof(pkt->dgram));
	if (pkt->opcode)
		return MROCE_WIRE_OPCODE;
	if (avail < MROCE_DGRAM_LEN)
		return MROCE_WIRE_SHORT;
	pkt->payload_off = MROCE_DGRAM_LEN;
	pkt->payload_len = len - MROCE_DGRAM_LEN;

	pkt->dgram.dqpn = get_unaligned_be32(x) >> 8;
	pkt->dgram.sqpn = get_unaligned_be32(x + 4) >> 8;
	pkt->dgram.qkey = get_unaligned_be32(x + 8);
	pkt->dgram.pkey = get_unaligned_be16(x + 12);
	if (pkt->flags & MROCE_F_IMM)
		pkt->dgram.imm = get_unaligned_be32(x + 16);
	return MROCE_WIRE_OK;
}

/**
 * mroce_wire_parse_common - read a bare common header
 * @buf: MROCE_COMMON_LEN bytes, such as a RESET echoes
 * @pkt: members up to @ts are filled, whatever their values
 *
 * Return: true if the version is known.
 */
bool mroce_wire_parse_common(const void *buf, struct mroce_pkt *pkt)
{
	const u8 *b = buf;

	pkt->type = b[0] & 0xf;
	pkt->opcode = b[1];
	pkt->flags = get_unaligned_be16(b + 2) & MROCE_F_KNOWN;
	pkt->conn = get_unaligned_be32(b + 4);
	pkt->path = b[8];
	pkt->epoch = b[9];
	pkt->tag = get_unaligned_be16(b + 10);
	pkt->psn = get_unaligned_be32(b + 12);
	pkt->ts = get_unaligned_be32(b + 16);
	return b[0] >> 4 == MROCE_WIRE_VERSION;
}

/**
 * mroce_wire_parse - read one UDP payload
 * @buf: at least min(@len, MROCE_MAX_HDR) readable bytes
 * @avail: readable bytes at @buf
 * @len: length of the whole UDP payload
 * @pkt: filled on success, undefined otherwise
 *
 * Return: MROCE_WIRE_OK or the reason for the reject.
 */
enum mroce_wire_reason mroce_wire_parse(const void *buf, unsigned int avail,
					unsigned int len,
					struct mroce_pkt *pkt)
{
	const u8 *b = buf;

	avail = min(avail, len);
	if (avail < MROCE_COMMON_LEN)
		return MROCE_WIRE_SHORT;
	if (!mroce_wire_parse_common(b, pkt))
		return MROCE_WIRE_BAD_VERSION;
	/* More than UDP can carry; keeps all the sums below in 16 bits. */
	if (len > U16_MAX)
		return MROCE_WIRE_LENGTH;
	pkt->payload_len = 0;

	switch (pkt->type) {
	case MROCE_T_DATA:
		return mroce_parse_data(b, avail, len, pkt);
	case MROCE_T_DATAGRAM:
		if (pkt->flags & (MROCE_F_LAST | MROCE_F_INV))
			return MROCE_WIRE_FLAGS;
		return mroce_parse_dgram(b, avail, len, pkt);
	case MROCE_T_ACK:
	case MROCE_T_NAK:
	case MROCE_T_CONTROL:
		if (pkt->flags & MROCE_F_SHAPE)
			return MROCE_WIRE_FLAGS;
		break;
	default:
		return MROCE_WIRE_TYPE;
	}
	if (pkt->type == MROCE_T_ACK)
		return mroce_parse_ack(b, avail, len, pkt);
	if (pkt->type == MROCE_T_NAK)
		return mroce_parse_nak(b, avail, len, pkt);
	return mroce_parse_ctrl(b, avail, len, pkt);
}

/* Flags that the header's shape decides are not the caller's to choose. */
static u16 mroce_shape_flags(const struct mroce_pkt *pkt)
{
	const struct mroce_data_desc *desc;
	u16 shape = 0;

	switch (pkt->type) {
	case MROCE_T_DATA:
		desc = mroce_data_desc(pkt->opcode);
		if (!desc || pkt->opcode == MROCE_OP_NOP)
			break;
		if (desc->body == MROCE_BODY_NONE)
			shape = MROCE_F_LAST;
		else
			shape = pkt->flags & MROCE_F_LAST;
		if (shape)
			shape |= desc->tail_flag;
		break;
	case MROCE_T_DATAGRAM:
		shape = pkt->flags & MROCE_F_IMM;
		break;
	}
	return (pkt->flags & MROCE_F_KNOWN & ~MROCE_F_SHAPE) | shape;
}

static bool mroce_qpn_ok(u32 qpn)
{
	return qpn <= MROCE_QPN_MAX;
}

static unsigned int mroce_build_data(const struct mroce_pkt *pkt, u16 flags,
				     u8 *b, unsigned int size)
{
	unsigned int hdr = mroce_wire_hdr_len(pkt->opcode,
					      flags & MROCE_F_LAST);
	bool last = flags & MROCE_F_LAST;
	u8 *x = b + MROCE_DATA_LEN;

	if (pkt->opcode == MROCE_OP_NOP && pkt->data.has_vec)
		hdr = MROCE_NOP_VEC_LEN;
	if (!hdr || size < hdr)
		return 0;
	memset(b + MROCE_COMMON_LEN, 0, hdr - MROCE_COMMON_LEN);
	if (pkt->opcode == MROCE_OP_NOP) {
		if (pkt->data.has_vec)
			mroce_put_vec(pkt->data.vec, b + MROCE_COMMON_LEN);
		return hdr;
	}

	if (!mroce_qpn_ok(pkt->data.dqpn) || !mroce_qpn_ok(pkt->data.sqpn))
		return 0;
	put_unaligned_be32(pkt->data.dqpn << 8 | pkt->data.attempt, b + 20);
	put_unaligned_be32(pkt->data.sqpn << 8, b + 24);
	put_unaligned_be32(pkt->data.msn, b + 28);
	put_unaligned_be32(pkt->data.offset, b + 32);

	switch (pkt->opcode) {
	case MROCE_OP_WRITE_IMM:
		if (last) {
			put_unaligned_be32(pkt->data.rsn, x + 16);
			put_unaligned_be32(pkt->data.imm, x + 20);
		}
		fallthrough;
	case MROCE_OP_WRITE:
		put_unaligned_be64(pkt->data.va, x);
		put_unaligned_be32(pkt->data.rkey, x + 8);
		put_unaligned_be32(pkt->data.len, x + 12);
		break;
	case MROCE_OP_SEND_IMM:
	case MROCE_OP_SEND_INV:
		if (last)
			put_unaligned_be32(pkt->data.imm, x + 8);
		fallthrough;
	case MROCE_OP_SEND:
		put_unaligned_be32(pkt->data.rsn, x);
		put_unaligned_be32(pkt->data.len, x + 4);
		break;
	case MROCE_OP_READ_REQ:
		put_unaligned_be64(pkt->data.va, x);
		put_unaligned_be32(pkt->data.rkey, x + 8);
		put_unaligned_be32(pkt->data.len, x + 12);
		put_unaligned_be32(pkt->data.cookie, x + 16);
		break;
	case MROCE_OP_RESP_ERR:
		if (!mroce_code_is_fatal(pkt->data.code))
			return 0;
		x[4] = pkt->data.code;
		fallthrough;
	case MROCE_OP_READ_RESP:
	case MROCE_OP_RESP_DONE:
		put_unaligned_be32(pkt->data.cookie, x);
		break;
	case MROCE_OP_CMP_SWAP:
		put_unaligned_be64(pkt->data.compare, x + 24);
		fallthrough;
	case MROCE_OP_FETCH_ADD:
		put_unaligned_be64(pkt->data.va, x);
		put_unaligned_be32(pkt->data.rkey, x + 8);
		put_unaligned_be32(pkt->data.cookie, x + 12);
		put_unaligned_be64(pkt->data.swap_add, x + 16);
		break;
	case MROCE_OP_ATOMIC_RESP:
		put_unaligned_be32(pkt->data.cookie, x);
		put_unaligned_be64(pkt->data.swap_add, x + 4);
		break;
	default:
		return 0;
	}
	return hdr;
}

static unsigned int mroce_build_ack(const struct mroce_pkt *pkt, u8 *b,
				    unsigned int size)
{
	u8 *x = b + MROCE_COMMON_LEN;
	unsigned int hdr;

	if (pkt->opcode > MROCE_ACK_FULL)
		return 0;
	hdr = pkt->opcode == MROCE_ACK_FULL ? MROCE_ACK_LEN :
					      MROCE_ACK_SHORT_LEN;
	if (size < hdr)
		return 0;
	put_unaligned_be32(pkt->ack.echo_ts, x);
	put_unaligned_be32(pkt->ack.hold, x + 4);
	put_unaligned_be32(pkt->ack.n_recv, x + 8);
	put_unaligned_be32(pkt->ack.n_ce, x + 12);
	put_unaligned_be32(pkt->ack.n_dup, x + 16);
	put_unaligned_be32(pkt->ack.hint_kbps, x + 20);
	if (pkt->opcode == MROCE_ACK_FULL)
		mroce_put_vec(pkt->ack.vec, x + 24);
	return hdr;
}

static unsigned int mroce_build_nak(const struct mroce_pkt *pkt, u8 *b,
				    unsigned int size)
{
	u8 *x = b + MROCE_COMMON_LEN;

	if (pkt->opcode || size < MROCE_NAK_LEN ||
	    !mroce_qpn_ok(pkt->nak.qpn) || !mroce_nak_ok(pkt))
		return 0;
	put_unaligned_be32(pkt->nak.qpn << 8 | pkt->nak.attempt, x);
	put_unaligned_be32(pkt->nak.msn, x + 4);
	x[8] = pkt->nak.code;
	x[9] = pkt->nak.code == MROCE_NAK_RNR ? pkt->nak.timer : 0;
	put_unaligned_be16(0, x + 10);
	return MROCE_NAK_LEN;
}

static unsigned int mroce_build_init(const struct mroce_pkt *pkt, u8 *b,
				     unsigned int size)
{
	const struct mroce_init *in = &pkt->init;
	u8 *x = b + MROCE_COMMON_LEN;
	unsigned int hdr;

	if (!mroce_init_ok(in))
		return 0;
	hdr = mroce_init_len(pkt->opcode, in->n_planes);
	if (size < hdr)
		return 0;
	memset(x, 0, hdr - MROCE_COMMON_LEN);
	put_unaligned_be32(in->conn_id, x);
	put_unaligned_be64(in->nonce, x + 4);
	put_unaligned_be16(in->msn_window, x + 20);
	put_unaligned_be16(in->rsn_window, x + 22);
	put_unaligned_be16(in->mtu, x + 24);
	x[26] = in->tclass;
	x[27] = in->n_planes;
	put_unaligned_be32(in->features, x + 28);
	put_unaligned_be32(in->speed_mbps, x + 32);
	if (pkt->opcode == MROCE_CTRL_INIT_ACK) {
		put_unaligned_be64(in->peer_nonce, x + 12);
		put_unaligned_be32(in->hint_kbps, x + 36);
	}
	memcpy(b + MROCE_INIT_FIXED_LEN, in->plane_addr, 16 * in->n_planes);
	return hdr;
}

static unsigned int mroce_build_ctrl(const struct mroce_pkt *pkt, u8 *b,
				     unsigned int size)
{
	unsigned int hdr = MROCE_PROBE_LEN;

	switch (pkt->opcode) {
	case MROCE_CTRL_INIT:
	case MROCE_CTRL_INIT_ACK:
		return mroce_build_init(pkt, b, size);
	case MROCE_CTRL_RESET:
		if (size < MROCE_RESET_LEN)
			return 0;
		memcpy(b + MROCE_COMMON_LEN, pkt->reset, MROCE_COMMON_LEN);
		return MROCE_RESET_LEN;
	case MROCE_CTRL_PROBE:
		hdr += pkt->ctrl.pad;
		fallthrough;
	case MROCE_CTRL_PROBE_ACK:
	case MROCE_CTRL_CLOSE:
		if (size < hdr)
			return 0;
		put_unaligned_be64(pkt->ctrl.cookie, b + MROCE_COMMON_LEN);
		memset(b + MROCE_PROBE_LEN, 0, hdr - MROCE_PROBE_LEN);
		return hdr;
	default:
		return 0;
	}
}

static unsigned int mroce_build_dgram(const struct mroce_pkt *pkt, u16 flags,
				      u8 *b, unsigned int size)
{
	u8 *x = b + MROCE_COMMON_LEN;

	if (pkt->opcode || size < MROCE_DGRAM_LEN ||
	    !mroce_qpn_ok(pkt->dgram.dqpn) || !mroce_qpn_ok(pkt->dgram.sqpn))
		return 0;
	put_unaligned_be32(pkt->dgram.dqpn << 8, x);
	put_unaligned_be32(pkt->dgram.sqpn << 8, x + 4);
	put_unaligned_be32(pkt->dgram.qkey, x + 8);
	put_unaligned_be16(pkt->dgram.pkey, x + 12);
	put_unaligned_be16(0, x + 14);
	put_unaligned_be32(flags & MROCE_F_IMM ? pkt->dgram.imm : 0, x + 16);
	return MROCE_DGRAM_LEN;
}

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
 * or a field cannot be sent.
 */
unsigned int mroce_wire_build(const struct mroce_pkt *pkt, void *buf,
			      unsigned int size)
{
	u16 flags = mroce_shape_flags(pkt);
	u8 *b = buf;

	if (size < MROCE_COMMON_LEN)
		return 0;
	b[0] = MROCE_WIRE_VERSION << 4 | pkt->type;
	b[1] = pkt->opcode;
	put_unaligned_be16(flags, b + 2);
	put_unaligned_be32(pkt->conn, b + 4);
	b[8] = pkt->path;
	b[9] = pkt->epoch;
	put_unaligned_be16(pkt->tag, b + 10);
	put_unaligned_be32(pkt->psn, b + 12);
	put_unaligned_be32(pkt->ts, b + 16);

	switch (pkt->type) {
	case MROCE_T_DATA:
		return mroce_build_data(pkt, flags, b, size);
	case MROCE_T_ACK:
		return mroce_build_ack(pkt, b, size);
	case MROCE_T_NAK:
		return mroce_build_nak(pkt, b, size);
	case MROCE_T_CONTROL:
		return mroce_build_ctrl(pkt, b, size);
	case MROCE_T_DATAGRAM:
		return mroce_build_dgram(pkt, flags, b, size);
	default:
		return 0;
	}
}

/**
 * mroce_wire_reason_str - name of a reject reason
 * @r: the reason
 *
 * Return: a name for traces and tests, never NULL.
 */
const char *mroce_wire_reason_str(enum mroce_wire_reason r)
{
	static const char * const names[] = {
#define X(n, s) s,
		MROCE_WIRE_REASONS(X)
#undef X
	};

	return (unsigned int)r < ARRAY_SIZE(names) ? names[r] : "?";
}

/**
 * mroce_data_op_str - name of a DATA opcode
 * @opcode: enum mroce_data_op
 *
 * Return: a name for traces and tests, never NULL.
 */
const char *mroce_data_op_str(u8 opcode)
{
	const char *name = NULL;

	if (opcode < ARRAY_SIZE(mroce_data_descs))
		name = mroce_data_descs[opcode].name;
	return name ?: "?";
}
