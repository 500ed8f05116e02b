// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the wire format with packets that nobody wrote down: round trips
 * of every opcode, all openings, noise; and what the builder refuses.
 */
#include "wire_test.h"

#define N_RANDOM	20000
#define GARBAGE_MAX	400

/* All 65,536 first pairs of bytes, over a body of zeroes. */
static void wire_all_openings(struct kunit *test)
{
	struct wire_ctx *ctx = test->priv;
	unsigned int b0, b1;

	memset(ctx->out, 0, sizeof(ctx->out));
	for (b0 = 0; b0 < 256; b0++) {
		for (b1 = 0; b1 < 256; b1++) {
			enum mroce_wire_reason r;

			ctx->out[0] = b0;
			ctx->out[1] = b1;
			r = mroce_wire_parse(ctx->out, MROCE_MAX_HDR,
					     MROCE_MAX_HDR, &ctx->a);
			if (b0 >> 4 != MROCE_WIRE_VERSION) {
				KUNIT_ASSERT_EQ(test, r,
						MROCE_WIRE_BAD_VERSION);
				break;
			}
			if ((b0 & 15) < MROCE_T_DATA ||
			    (b0 & 15) > MROCE_T_DATAGRAM) {
				KUNIT_ASSERT_EQ(test, r, MROCE_WIRE_TYPE);
				continue;
			}
			if (b1 > MROCE_OP_NOP)
				KUNIT_ASSERT_EQ(test, r, MROCE_WIRE_OPCODE);
			if (r == MROCE_WIRE_OK)
				wire_check_accepted(test, MROCE_MAX_HDR);
		}
	}
}

/* -- round trips ---------------------------------------------------------- */

/* Random but legal contents; returns the payload length. */
static unsigned int wire_fill_data(struct wire_ctx *ctx, struct mroce_pkt *p)
{
	bool last = wire_rnd(ctx) & 1;
	unsigned int payload = 0;
	int i;

	if (p->opcode == MROCE_OP_NOP) {
		p->data.has_vec = last;
		for (i = 0; last && i < MROCE_VEC_WORDS; i++)
			p->data.vec[i] = wire_rnd64(ctx);
		return 0;
	}
	p->data.dqpn = wire_rnd(ctx) & MROCE_QPN_MAX;
	p->data.sqpn = wire_rnd(ctx) & MROCE_QPN_MAX;
	p->data.attempt = wire_rnd(ctx);
	p->data.msn = wire_rnd(ctx);

	switch (p->opcode) {
	case MROCE_OP_WRITE:
	case MROCE_OP_WRITE_IMM:
		p->data.va = wire_rnd64(ctx);
		p->data.rkey = wire_rnd(ctx);
		fallthrough;
	case MROCE_OP_SEND:
	case MROCE_OP_SEND_IMM:
	case MROCE_OP_SEND_INV:
		payload = 1 + wire_rnd(ctx) % 1000;
		p->data.offset = wire_rnd(ctx) % (MROCE_MAX_MSG - 4096);
		p->data.len = p->data.offset + payload;
		if (!last)
			p->data.len += 1 + wire_rnd(ctx) % 1000;
		if (p->opcode >= MROCE_OP_SEND ||
		    (p->opcode == MROCE_OP_WRITE_IMM && last))
			p->data.rsn = wire_rnd(ctx);
		if (last) {
			p->flags |= MROCE_F_LAST;
			if (p->opcode != MROCE_OP_WRITE &&
			    p->opcode != MROCE_OP_SEND)
				p->data.imm = wire_rnd(ctx);
		}
		return payload;
	case MROCE_OP_READ_REQ:
		p->data.va = wire_rnd64(ctx);
		p->data.rkey = wire_rnd(ctx);
		p->data.len = wire_rnd(ctx) % MROCE_MAX_MSG;
		break;
	case MROCE_OP_READ_RESP:
		payload = 1 + wire_rnd(ctx) % 1000;
		p->data.offset = wire_rnd(ctx) % (MROCE_MAX_MSG - 4096);
		p->flags |= last ? MROCE_F_LAST : 0;
		break;
	case MROCE_OP_RESP_ERR:
		p->data.offset = wire_rnd(ctx);
		p->data.code = MROCE_NAK_INV_REQ + wire_rnd(ctx) % 3;
		break;
	case MROCE_OP_CMP_SWAP:
		p->data.compare = wire_rnd64(ctx);
		fallthrough;
	case MROCE_OP_FETCH_ADD:
		p->data.va = wire_rnd64(ctx);
		p->data.rkey = wire_rnd(ctx);
		fallthrough;
	case MROCE_OP_ATOMIC_RESP:
		p->data.swap_add = wire_rnd64(ctx);
		break;
	}
	p->data.cookie = wire_rnd(ctx);
	return payload;
}

static void wire_fill_init(struct wire_ctx *ctx, struct mroce_pkt *p)
{
	struct mroce_init *in = &p->init;
	unsigned int i, k;

	in->conn_id = wire_rnd(ctx);
	in->nonce = wire_rnd64(ctx);
	in->msn_window = MROCE_MSN_WINDOW_MIN << wire_rnd(ctx) % 9;
	in->rsn_window = 1 + wire_rnd(ctx) % MROCE_MSN_WINDOW_MAX;
	in->mtu = MROCE_MTU_MIN + wire_rnd(ctx) % (65536 - MROCE_MTU_MIN);
	in->tclass = wire_rnd(ctx);
	in->n_planes = wire_rnd(ctx) % (MROCE_MAX_PLANES + 1);
	in->features = wire_rnd(ctx);
	in->speed_mbps = wire_rnd(ctx);
	if (p->opcode == MROCE_CTRL_INIT_ACK) {
		in->peer_nonce = wire_rnd64(ctx);
		in->hint_kbps = wire_rnd(ctx);
	}
	for (i = 0; i < in->n_planes; i++)
		for (k = 0; k < 16; k++)
			in->plane_addr[i][k] = wire_rnd(ctx);
}

static unsigned int wire_fill(struct wire_ctx *ctx, struct mroce_pkt *p)
{
	unsigned int i;

	switch (p->type) {
	case MROCE_T_DATA:
		return wire_fill_data(ctx, p);
	case MROCE_T_ACK:
		p->ack.echo_ts = wire_rnd(ctx);
		p->ack.hold = wire_rnd(ctx);
		p->ack.n_recv = wire_rnd(ctx);
		p->ack.n_ce = wire_rnd(ctx);
		p->ack.n_dup = wire_rnd(ctx);
		p->ack.hint_kbps = wire_rnd(ctx);
		if (p->opcode == MROCE_ACK_FULL)
			for (i = 0; i < MROCE_VEC_WORDS; i++)
				p->ack.vec[i] = wire_rnd64(ctx);
		return 0;
	case MROCE_T_NAK:
		p->nak.qpn = wire_rnd(ctx) & MROCE_QPN_MAX;
		p->nak.attempt = wire_rnd(ctx);
		p->nak.msn = wire_rnd(ctx);
		p->nak.code = MROCE_NAK_RNR + wire_rnd(ctx) % 7;
		if (p->nak.code == MROCE_NAK_RNR)
			p->nak.timer = wire_rnd(ctx) % 32;
		return 0;
	case MROCE_T_DATAGRAM:
		p->dgram.dqpn = wire_rnd(ctx) & MROCE_QPN_MAX;
		p->dgram.sqpn = wire_rnd(ctx) & MROCE_QPN_MAX;
		p->dgram.qkey = wire_rnd(ctx);
		p->dgram.pkey = wire_rnd(ctx);
		if (wire_rnd(ctx) & 1) {
			p->flags |= MROCE_F_IMM;
			p->dgram.imm = wire_rnd(ctx);
		}
		return wire_rnd(ctx) % 1000;
	}
	switch (p->opcode) {
	case MROCE_CTRL_INIT:
	case MROCE_CTRL_INIT_ACK:
		wire_fill_init(ctx, p);
		break;
	case MROCE_CTRL_RESET:
		for (i = 0; i < MROCE_COMMON_LEN; i++)
			p->reset[i] = wire_rnd(ctx);
		break;
	default:
		p->ctrl.cookie = wire_rnd64(ctx);
		if (p->opcode == MROCE_CTRL_PROBE)
			p->ctrl.pad = wire_rnd(ctx) % 64;
		break;
	}
	return 0;
}

/* Opcodes of a type that have an encoding. */
static bool wire_opcode_ok(u8 type, u8 opcode)
{
	switch (type) {
	case MROCE_T_DATA:
		return mroce_wire_hdr_len(opcode, false);
	case MROCE_T_ACK:
		return opcode <= MROCE_ACK_FULL;
	case MROCE_T_CONTROL:
		return opcode >= MROCE_CTRL_INIT && opcode <= MROCE_CTRL_CLOSE;
	}
	return !opcode;
}

static void wire_round_trip(struct kunit *test)
{
	const u16 hints = MROCE_F_SOLICITED | MROCE_F_ACKNOW |
			  MROCE_F_BACKLOG | MROCE_F_RETX;
	struct wire_ctx *ctx = test->priv;
	struct mroce_pkt *p = &ctx->b;
	unsigned int i;

	for (i = 0; i < N_RANDOM; i++) {
		unsigned int n, payload;

		memset(p, 0, sizeof(*p));
		do {
			p->type = 1 + wire_rnd(ctx) % 5;
			p->opcode = wire_rnd(ctx) % 16;
		} while (!wire_opcode_ok(p->type, p->opcode));
		p->flags = wire_rnd(ctx) & hints;
		p->conn = wire_rnd(ctx);
		p->path = wire_rnd(ctx);
		p->epoch = wire_rnd(ctx);
		p->tag = wire_rnd(ctx);
		p->psn = wire_rnd(ctx);
		p->ts = wire_rnd(ctx);
		payload = wire_fill(ctx, p);

		memset(ctx->out, wire_rnd(ctx), sizeof(ctx->out));
		n = mroce_wire_build(p, ctx->out, sizeof(ctx->out));
		KUNIT_ASSERT_GE(test, n, MROCE_COMMON_LEN);
		KUNIT_ASSERT_EQ(test, wire_parse(test, ctx->out, n,
						 n + payload, &ctx->a),
				MROCE_WIRE_OK);
		/* what the builder decides or does not know */
		p->flags |= ctx->a.flags & (MROCE_F_LAST | MROCE_F_IMM |
					    MROCE_F_INV);
		p->payload_len = payload;
		p->payload_off = n;
		if (wire_is_ctrl(p, MROCE_CTRL_PROBE)) {
			p->payload_off = MROCE_PROBE_LEN;
			p->payload_len = p->ctrl.pad;
		}
		KUNIT_ASSERT_TRUE_MSG(test, wire_same(&ctx->a, p),
				      "type %u opcode %u", p->type, p->opcode);
	}
}

/* Noise behind a plausible opening. */
static void wire_garbage(struct kunit *test)
{
	struct wire_ctx *ctx = test->priv;
	unsigned int i, k, len;
	u8 *raw;

	raw = kunit_kzalloc(test, GARBAGE_MAX, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, raw);
	for (i = 0; i < N_RANDOM; i++) {
		len = wire_rnd(ctx) % GARBAGE_MAX;
		for (k = 0; k < len; k++)
			raw[k] = wire_rnd(ctx);
		raw[0] = 0x10 | wire_rnd(ctx) % 7;
		raw[1] = wire_rnd(ctx) % 17;
		raw[3] &= wire_rnd(ctx);
		if (wire_parse(test, raw, len, len, &ctx->a) == MROCE_WIRE_OK)
			wire_check_accepted(test, len);
	}
}

/* -- the builder's own rules ---------------------------------------------- */

static unsigned int wire_build_of(struct kunit *test, u8 type, u8 opcode,
				  u16 flags)
{
	struct wire_ctx *ctx = test->priv;

	memset(&ctx->a, 0, sizeof(ctx->a));
	ctx->a.type = type;
	ctx->a.opcode = opcode;
	ctx->a.flags = flags;
	return mroce_wire_build(&ctx->a, ctx->out, sizeof(ctx->out));
}

static void wire_build_refuses(struct kunit *test)
{
	struct wire_ctx *ctx = test->priv;
	struct mroce_pkt *p = &ctx->a;

	KUNIT_EXPECT_EQ(test, wire_build_of(test, 0, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, wire_build_of(test, 6, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_DATA, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_DATA,
					    MROCE_OP_FLUSH, 0), 0);
	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_DATA,
					    MROCE_OP_ATOMIC_WRITE, 0), 0);
	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_DATA, 255, 0), 0);
	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_DATA,
					    MROCE_OP_RESP_ERR, 0), 0);
	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_ACK, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_NAK, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_CONTROL, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_CONTROL,
					    MROCE_CTRL_INIT, 0), 0);
	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_DATAGRAM, 1, 0), 0);

	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_DATA, MROCE_OP_SEND,
					    0), MROCE_SEND_LEN);
	p->data.dqpn = MROCE_QPN_MAX + 1;
	KUNIT_EXPECT_EQ(test, mroce_wire_build(p, ctx->out, 100), 0);
	p->data.dqpn = MROCE_QPN_MAX;
	p->data.sqpn = MROCE_QPN_MAX + 1;
	KUNIT_EXPECT_EQ(test, mroce_wire_build(p, ctx->out, 100), 0);

	/* A timer that does not belong there is not sent. */
	KUNIT_EXPECT_EQ(test, wire_build_of(test, MROCE_T_NAK, 0, 0), 0);
	p->nak.code = MROCE_NAK_CLOSED;
	p->nak.timer = 7;
	KUNIT_EXPECT_EQ(test, mroce_wire_build(p, ctx->out, 100),
			MROCE_NAK_LEN);
	KUNIT_EXPECT_EQ(test, ctx->out[29], 0);
}

static void wire_build_flags(struct kunit *test)
{
	const u16 all = MROCE_F_LAST | MROCE_F_IMM | MROCE_F_INV |
			MROCE_F_BACKLOG | MROCE_F_COMPACT_ACK | 0xff00;
	struct wire_ctx *ctx = test->priv;
	static const struct {
		u8 type, opcode;
		u16 flags, want;
	} tab[] = {
		{ MROCE_T_DATA, MROCE_OP_WRITE, 0, 0x20 },
		{ MROCE_T_DATA, MROCE_OP_WRITE, MROCE_F_LAST, 0x21 },
		{ MROCE_T_DATA, MROCE_OP_WRITE_IMM, 0, 0x20 },
		{ MROCE_T_DATA, MROCE_OP_WRITE_IMM, MROCE_F_LAST, 0x29 },
		{ MROCE_T_DATA, MROCE_OP_SEND_INV, MROCE_F_LAST, 0x31 },
		{ MROCE_T_DATA, MROCE_OP_READ_REQ, 0, 0x21 },
		{ MROCE_T_DATA, MROCE_OP_CMP_SWAP, 0, 0x21 },
		{ MROCE_T_DATA, MROCE_OP_NOP, MROCE_F_LAST, 0x20 },
		{ MROCE_T_ACK, MROCE_ACK_SHORT, MROCE_F_LAST, 0x20 },
		{ MROCE_T_DATAGRAM, 0, MROCE_F_LAST, 0x20 },
		{ MROCE_T_DATAGRAM, 0, MROCE_F_IMM, 0x28 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tab); i++) {
		u16 keep = MROCE_F_LAST;

		if (tab[i].type == MROCE_T_DATAGRAM)
			keep |= MROCE_F_IMM;
		KUNIT_EXPECT_GT(test, wire_build_of(test, tab[i].type,
						    tab[i].opcode,
						    tab[i].flags |
						    (all & ~keep)), 0);
		KUNIT_EXPECT_EQ_MSG(test, get_unaligned_be16(ctx->out + 2),
				    tab[i].want, "row %u", i);
	}
}

static void wire_header_lengths(struct kunit *test)
{
	unsigned int op;

	KUNIT_EXPECT_EQ(test, mroce_wire_hdr_len(MROCE_OP_WRITE, true), 52);
	KUNIT_EXPECT_EQ(test, mroce_wire_hdr_len(MROCE_OP_WRITE_IMM, false),
			52);
	KUNIT_EXPECT_EQ(test, mroce_wire_hdr_len(MROCE_OP_WRITE_IMM, true), 60);
	KUNIT_EXPECT_EQ(test, mroce_wire_hdr_len(MROCE_OP_SEND_INV, true), 48);
	KUNIT_EXPECT_EQ(test, mroce_wire_hdr_len(MROCE_OP_FLUSH, true), 0);
	for (op = 0; op < 256; op++) {
		KUNIT_EXPECT_LE(test, mroce_wire_hdr_len(op, true),
				MROCE_MAX_DATA_HDR);
		KUNIT_EXPECT_NOT_NULL(test, mroce_data_op_str(op));
		KUNIT_EXPECT_NOT_NULL(test, mroce_wire_reason_str(op));
	}
	KUNIT_EXPECT_STREQ(test, mroce_wire_reason_str(MROCE_WIRE_OK), "ok");
	KUNIT_EXPECT_STREQ(test, mroce_data_op_str(MROCE_OP_FLUSH), "FLUSH");
	KUNIT_EXPECT_STREQ(test, mroce_data_op_str(0), "?");
}

static struct kunit_case wire_random_cases[] = {
	KUNIT_CASE(wire_all_openings),
	KUNIT_CASE(wire_round_trip),
	KUNIT_CASE(wire_garbage),
	KUNIT_CASE(wire_build_refuses),
	KUNIT_CASE(wire_build_flags),
	KUNIT_CASE(wire_header_lengths),
	{}
};

static struct kunit_suite wire_random_suite = {
	.name = "metaroce_wire_random",
	.init = wire_init,
	.test_cases = wire_random_cases,
};

kunit_test_suite(wire_random_suite);
