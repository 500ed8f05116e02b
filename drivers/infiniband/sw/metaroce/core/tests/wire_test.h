/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the wire format share.
 */
#ifndef MROCE_WIRE_TEST_H
#define MROCE_WIRE_TEST_H

#include <kunit/test.h>

#include "../../wire/wire.h"

/* What a test needs at once; too large for a kernel stack. */
struct wire_ctx {
	struct mroce_pkt a, b;
	u8 out[MROCE_MAX_HDR + 64];
	u64 rnd;
};

static inline int wire_init(struct kunit *test)
{
	struct wire_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);

	if (!ctx)
		return -ENOMEM;
	ctx->rnd = 0x9e3779b97f4a7c15ULL;
	test->priv = ctx;
	return 0;
}

/* The same sequence in every run and on every kernel (xorshift64). */
static inline u32 wire_rnd(struct wire_ctx *ctx)
{
	ctx->rnd ^= ctx->rnd << 13;
	ctx->rnd ^= ctx->rnd >> 7;
	ctx->rnd ^= ctx->rnd << 17;
	return ctx->rnd >> 16;
}

static inline u64 wire_rnd64(struct wire_ctx *ctx)
{
	u64 hi = wire_rnd(ctx);

	return hi << 32 | wire_rnd(ctx);
}

/* Parse a copy of exactly @avail bytes. */
static inline enum mroce_wire_reason wire_parse(struct kunit *test,
						const void *raw,
						unsigned int avail,
						unsigned int len,
						struct mroce_pkt *pkt)
{
	u8 *exact = mroce_zalloc(max_t(unsigned int, avail, 1));
	enum mroce_wire_reason r;

	KUNIT_ASSERT_NOT_NULL(test, exact);
	memcpy(exact, raw, avail);
	/* Neither side may depend on what was there before. */
	memset(pkt, 0xa5, sizeof(*pkt));
	r = mroce_wire_parse(exact, avail, len, pkt);
	mroce_free(exact);
	return r;
}

/* Bytes of the union that the packet's kind uses. */
static inline const void *wire_body(const struct mroce_pkt *pkt, size_t *size)
{
	switch (pkt->type) {
	case MROCE_T_DATA:
		*size = sizeof(pkt->data);
		return &pkt->data;
	case MROCE_T_ACK:
		*size = sizeof(pkt->ack);
		return &pkt->ack;
	case MROCE_T_NAK:
		*size = sizeof(pkt->nak);
		return &pkt->nak;
	case MROCE_T_DATAGRAM:
		*size = sizeof(pkt->dgram);
		return &pkt->dgram;
	}
	switch (pkt->opcode) {
	case MROCE_CTRL_INIT:
	case MROCE_CTRL_INIT_ACK:
		*size = sizeof(pkt->init);
		return &pkt->init;
	case MROCE_CTRL_RESET:
		*size = sizeof(pkt->reset);
		return &pkt->reset;
	}
	*size = sizeof(pkt->ctrl);
	return &pkt->ctrl;
}

static inline bool wire_same(const struct mroce_pkt *a, const struct mroce_pkt *b)
{
	size_t size_a, size_b;
	const void *body_a = wire_body(a, &size_a);
	const void *body_b = wire_body(b, &size_b);

	return a->type == b->type && a->opcode == b->opcode &&
	       a->flags == b->flags && a->conn == b->conn &&
	       a->path == b->path && a->epoch == b->epoch &&
	       a->tag == b->tag && a->psn == b->psn && a->ts == b->ts &&
	       a->payload_off == b->payload_off &&
	       a->payload_len == b->payload_len &&
	       size_a == size_b && !memcmp(body_a, body_b, size_a);
}

/* Bytes that mroce_wire_build() makes of a packet that was parsed. */
static inline unsigned int wire_built_len(const struct mroce_pkt *pkt)
{
	if (pkt->type == MROCE_T_CONTROL && pkt->opcode == MROCE_CTRL_PROBE)
		return pkt->payload_off + pkt->payload_len;
	return pkt->payload_off;
}

/*
 * ctx->a was accepted: whatever was received, built again and parsed again it
 * has to be the same.
 */
static inline void wire_check_accepted(struct kunit *test, unsigned int len)
{
	struct wire_ctx *ctx = test->priv;
	enum mroce_wire_reason r;
	unsigned int n;
	u8 *again;

	KUNIT_ASSERT_EQ(test, ctx->a.payload_off + ctx->a.payload_len, len);
	n = wire_built_len(&ctx->a);
	again = mroce_zalloc(len);
	KUNIT_ASSERT_NOT_NULL(test, again);
	KUNIT_EXPECT_EQ(test, mroce_wire_build(&ctx->a, again, n), n);
	r = wire_parse(test, again, len, len, &ctx->b);
	mroce_free(again);
	KUNIT_EXPECT_EQ(test, r, MROCE_WIRE_OK);
	KUNIT_EXPECT_TRUE(test, wire_same(&ctx->a, &ctx->b));
}

static inline bool wire_is_ctrl(const struct mroce_pkt *pkt, u8 opcode)
{
	return pkt->type == MROCE_T_CONTROL && pkt->opcode == opcode;
}

static inline bool wire_is_data(const struct mroce_pkt *pkt, u8 opcode)
{
	return pkt->type == MROCE_T_DATA && pkt->opcode == opcode;
}

/* Kinds whose payload can have any length as far as the parser knows. */
static inline bool wire_any_payload(const struct mroce_pkt *pkt)
{
	return pkt->type == MROCE_T_DATAGRAM ||
	       wire_is_ctrl(pkt, MROCE_CTRL_PROBE) ||
	       wire_is_data(pkt, MROCE_OP_READ_RESP);
}

/* Does the specification give no meaning to this bit of the header? */
static inline bool wire_reserved(const struct mroce_pkt *pkt,
				 unsigned int byte, unsigned int bit)
{
	if (byte == 2)
		return true;		/* flags 8 to 15 */
	if (byte == 3 && bit == 7)
		return true;		/* kept for a compact ACK */
	switch (pkt->type) {
	case MROCE_T_DATA:
		if (pkt->opcode == MROCE_OP_NOP)
			return false;
		if (byte == 27)
			return true;
		if (pkt->opcode == MROCE_OP_RESP_ERR)
			return byte >= 41;
		return pkt->opcode == MROCE_OP_FETCH_ADD && byte >= 60;
	case MROCE_T_NAK:
		return byte >= 30 ||
		       (byte == 29 && pkt->nak.code != MROCE_NAK_RNR);
	case MROCE_T_CONTROL:
		if (pkt->opcode == MROCE_CTRL_INIT)
			return (byte >= 32 && byte < 40) ||
			       (byte >= 56 && byte < 68) ||
			       byte >= 68 + 16 * pkt->init.n_planes;
		if (pkt->opcode == MROCE_CTRL_INIT_ACK)
			return byte >= 60 && byte < 68;
		if (pkt->opcode == MROCE_CTRL_PROBE)
			return byte >= 28;	/* padding */
		return false;
	case MROCE_T_DATAGRAM:
		if (byte >= 36 && !(pkt->flags & MROCE_F_IMM))
			return true;
		return byte == 23 || byte == 27 || byte == 34 || byte == 35;
	}
	return false;
}

/* Not the last of its message: a shorter or longer one would be legal too. */
static inline bool wire_is_piece(const struct mroce_pkt *pkt)
{
	return pkt->type == MROCE_T_DATA && pkt->data.len &&
	       pkt->opcode != MROCE_OP_READ_REQ &&
	       !(pkt->flags & MROCE_F_LAST);
}

#endif /* MROCE_WIRE_TEST_H */
