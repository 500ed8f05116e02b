// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the wire format: fixed vectors both ways, truncation at every
 * length, each bit of each header, and each reason for which the parser
 * refuses.
 *
 * Packets under test live in memory of exactly their size, so that KASAN or
 * ASan sees a read behind the end.
 */
#include <kunit/test.h>

#include "wire_test.h"
#include "wire_vectors.h"

static void wire_vector_desc(const struct mroce_vector *v, char *desc)
{
	strscpy(desc, v->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(wire_vector, mroce_vectors, wire_vector_desc);

static void wire_vector_parse(struct kunit *test)
{
	const struct mroce_vector *v = test->param_value;
	struct wire_ctx *ctx = test->priv;

	KUNIT_ASSERT_EQ(test, wire_parse(test, v->raw, v->len, v->len, &ctx->a),
			MROCE_WIRE_OK);
	KUNIT_EXPECT_TRUE(test, wire_same(&ctx->a, &v->pkt));
	wire_check_accepted(test, v->len);
}

/* What a RESET echoes is read as the header of a packet would be. */
static void wire_vector_common(struct kunit *test)
{
	const struct mroce_vector *v = test->param_value;
	struct wire_ctx *ctx = test->priv;
	struct mroce_pkt *p = &ctx->a;

	KUNIT_EXPECT_TRUE(test, mroce_wire_parse_common(v->raw, p));
	KUNIT_EXPECT_EQ(test, p->type, v->pkt.type);
	KUNIT_EXPECT_EQ(test, p->opcode, v->pkt.opcode);
	KUNIT_EXPECT_EQ(test, p->flags, v->pkt.flags);
	KUNIT_EXPECT_EQ(test, p->conn, v->pkt.conn);
	KUNIT_EXPECT_EQ(test, p->path, v->pkt.path);
	KUNIT_EXPECT_EQ(test, p->epoch, v->pkt.epoch);
	KUNIT_EXPECT_EQ(test, p->tag, v->pkt.tag);
	KUNIT_EXPECT_EQ(test, p->psn, v->pkt.psn);
	KUNIT_EXPECT_EQ(test, p->ts, v->pkt.ts);

	memset(ctx->out, 0xff, MROCE_COMMON_LEN);
	KUNIT_EXPECT_FALSE(test, mroce_wire_parse_common(ctx->out, p));
}

static void wire_vector_build(struct kunit *test)
{
	const struct mroce_vector *v = test->param_value;
	unsigned int n = wire_built_len(&v->pkt);
	struct wire_ctx *ctx = test->priv;
	unsigned int size;
	u8 *exact;

	if (v->alias)
		return;
	memset(ctx->out, 0xa5, sizeof(ctx->out));
	KUNIT_ASSERT_EQ(test, mroce_wire_build(&v->pkt, ctx->out,
					       sizeof(ctx->out)), n);
	KUNIT_EXPECT_EQ(test, memcmp(ctx->out, v->raw, n), 0);
	/* Not a byte more than it said. */
	KUNIT_EXPECT_EQ(test, ctx->out[n], 0xa5);

	for (size = 0; size <= n; size++) {
		exact = mroce_zalloc(max_t(unsigned int, size, 1));
		KUNIT_ASSERT_NOT_NULL(test, exact);
		KUNIT_EXPECT_EQ(test, mroce_wire_build(&v->pkt, exact, size),
				size < n ? 0 : n);
		mroce_free(exact);
	}
}

/* A packet cut anywhere is refused, or is another valid packet. */
static void wire_truncate(struct kunit *test)
{
	const struct mroce_vector *v = test->param_value;
	struct wire_ctx *ctx = test->priv;
	enum mroce_wire_reason r;
	unsigned int len;

	for (len = 0; len < v->len; len++) {
		bool may_pass;

		r = wire_parse(test, v->raw, len, len, &ctx->a);
		if (len < MROCE_COMMON_LEN)
			KUNIT_EXPECT_EQ(test, r, MROCE_WIRE_SHORT);
		may_pass = wire_any_payload(&v->pkt) &&
			   len >= v->pkt.payload_off;
		if (wire_is_data(&v->pkt, MROCE_OP_NOP))
			may_pass = len == MROCE_NOP_LEN;
		if (wire_is_piece(&v->pkt))
			may_pass = len > v->pkt.payload_off;
		/* A Read response without payload is one at offset 0 only. */
		if (wire_is_data(&v->pkt, MROCE_OP_READ_RESP) &&
		    len == v->pkt.payload_off)
			may_pass = false;
		KUNIT_EXPECT_EQ_MSG(test, r == MROCE_WIRE_OK, may_pass,
				    "length %u", len);
		if (r == MROCE_WIRE_OK)
			wire_check_accepted(test, len);
	}
}

/* The same when only the beginning of the packet is at hand. */
static void wire_partly_readable(struct kunit *test)
{
	const struct mroce_vector *v = test->param_value;
	struct wire_ctx *ctx = test->priv;
	enum mroce_wire_reason r;
	unsigned int avail;

	for (avail = 0; avail <= v->len; avail++) {
		r = wire_parse(test, v->raw, avail, v->len, &ctx->a);
		KUNIT_EXPECT_EQ_MSG(test, r,
				    avail < v->pkt.payload_off ?
				    MROCE_WIRE_SHORT : MROCE_WIRE_OK,
				    "avail %u", avail);
		if (r == MROCE_WIRE_OK)
			KUNIT_EXPECT_TRUE(test, wire_same(&ctx->a, &v->pkt));
	}
	/* Readable bytes behind the datagram are not part of it. */
	for (avail = 0; avail < v->len; avail++) {
		enum mroce_wire_reason cut;

		cut = wire_parse(test, v->raw, avail, avail, &ctx->b);
		r = wire_parse(test, v->raw, v->len, avail, &ctx->a);
		KUNIT_EXPECT_EQ(test, r, cut);
	}
}

static void wire_too_long(struct kunit *test)
{
	static const u16 extra[] = { 1, 4, 12, 16, 32, 300 };
	const struct mroce_vector *v = test->param_value;
	struct wire_ctx *ctx = test->priv;
	unsigned int i;
	u8 *raw;

	raw = kunit_kzalloc(test, v->len + 300, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, raw);
	memcpy(raw, v->raw, v->len);
	for (i = 0; i < ARRAY_SIZE(extra); i++) {
		unsigned int len = v->len + extra[i];
		enum mroce_wire_reason r;

		r = wire_parse(test, raw, len, len, &ctx->a);
		if (wire_any_payload(&v->pkt) ||
		    (wire_is_piece(&v->pkt) && len - v->pkt.payload_off <
		     v->pkt.data.len - v->pkt.data.offset)) {
			KUNIT_EXPECT_EQ(test, r, MROCE_WIRE_OK);
			wire_check_accepted(test, len);
		} else if (len == MROCE_NOP_VEC_LEN &&
			   wire_is_data(&v->pkt, MROCE_OP_NOP)) {
			KUNIT_EXPECT_EQ(test, r, MROCE_WIRE_OK);
			KUNIT_EXPECT_TRUE(test, ctx->a.data.has_vec);
		} else {
			KUNIT_EXPECT_EQ_MSG(test, r, MROCE_WIRE_LENGTH,
					    "%u more", extra[i]);
		}
	}
	/* Longer than UDP allows: lengths are 16 bits from there on. */
	KUNIT_EXPECT_EQ(test, wire_parse(test, raw, v->len, 65536, &ctx->a),
			MROCE_WIRE_LENGTH);
	KUNIT_EXPECT_EQ(test, wire_parse(test, raw, v->len, U32_MAX, &ctx->a),
			MROCE_WIRE_LENGTH);
}

/* Every combination of the flags that shape a header. */
static void wire_shape_flags(struct kunit *test)
{
	static const u16 shape[] = { MROCE_F_LAST, MROCE_F_IMM, MROCE_F_INV };
	const struct mroce_vector *v = test->param_value;
	struct wire_ctx *ctx = test->priv;
	unsigned int i, combo;
	u8 *raw;

	raw = kunit_kzalloc(test, v->len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, raw);
	memcpy(raw, v->raw, v->len);
	for (combo = 0; combo < 8; combo++) {
		u16 flags = v->pkt.flags;
		enum mroce_wire_reason r;
		bool may_pass;

		for (i = 0; i < 3; i++) {
			flags &= ~shape[i];
			if (combo & BIT(i))
				flags |= shape[i];
		}
		put_unaligned_be16(flags, raw + 2);
		r = wire_parse(test, raw, v->len, v->len, &ctx->a);
		may_pass = flags == v->pkt.flags;
		if (v->pkt.type == MROCE_T_DATAGRAM)
			may_pass = !(flags & (MROCE_F_LAST | MROCE_F_INV));
		if (wire_is_data(&v->pkt, MROCE_OP_READ_RESP) &&
		    v->pkt.payload_len)
			may_pass = !(flags & (MROCE_F_IMM | MROCE_F_INV));
		KUNIT_EXPECT_EQ_MSG(test, r == MROCE_WIRE_OK, may_pass,
				    "flags %#x", flags);
		if (r == MROCE_WIRE_OK)
			wire_check_accepted(test, v->len);
		else
			KUNIT_EXPECT_TRUE(test, r == MROCE_WIRE_FLAGS ||
					  r == MROCE_WIRE_LENGTH ||
					  r == MROCE_WIRE_SHORT);
	}
}

/* Each single bit matters, or is reserved and ignored. */
static void wire_flip_bits(struct kunit *test)
{
	const struct mroce_vector *v = test->param_value;
	unsigned int n = wire_built_len(&v->pkt);
	struct wire_ctx *ctx = test->priv;
	unsigned int byte, bit;
	u8 *raw;

	raw = kunit_kzalloc(test, v->len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, raw);
	memcpy(raw, v->raw, v->len);
	for (byte = 0; byte < n; byte++) {
		for (bit = 0; bit < 8; bit++) {
			bool reserved = wire_reserved(&v->pkt, byte, bit);
			enum mroce_wire_reason r;

			raw[byte] ^= BIT(bit);
			r = wire_parse(test, raw, v->len, v->len, &ctx->a);
			raw[byte] ^= BIT(bit);
			if (reserved) {
				KUNIT_EXPECT_EQ_MSG(test, r, MROCE_WIRE_OK,
						    "byte %u bit %u", byte,
						    bit);
				KUNIT_EXPECT_TRUE_MSG(test,
						      wire_same(&ctx->a,
								&v->pkt),
						      "byte %u bit %u", byte,
						      bit);
			} else if (r == MROCE_WIRE_OK) {
				wire_check_accepted(test, v->len);
				KUNIT_EXPECT_FALSE_MSG(test,
						       wire_same(&ctx->a,
								 &v->pkt),
						       "byte %u bit %u", byte,
						       bit);
			}
		}
	}
}

/* -- offsets and lengths -------------------------------------------------- */

struct wire_span {
	u32 len, offset;
	u16 payload;
	bool last;
	enum mroce_wire_reason want;
};

static const struct wire_span wire_spans[] = {
	{ 0,		0,		0, true,  MROCE_WIRE_OK },
	{ 0,		0,		0, false, MROCE_WIRE_LENGTH },
	{ 0,		0,		1, true,  MROCE_WIRE_LENGTH },
	{ 0,		1,		0, true,  MROCE_WIRE_LENGTH },
	{ 1,		0,		1, true,  MROCE_WIRE_OK },
	{ 1,		0,		1, false, MROCE_WIRE_LENGTH },
	{ 1,		0,		0, false, MROCE_WIRE_LENGTH },
	{ 1,		0,		0, true,  MROCE_WIRE_LENGTH },
	{ 1,		1,		0, true,  MROCE_WIRE_LENGTH },
	{ 1,		1,		1, true,  MROCE_WIRE_LENGTH },
	{ 2,		0,		1, false, MROCE_WIRE_OK },
	{ 2,		0,		1, true,  MROCE_WIRE_LENGTH },
	{ 2,		1,		1, true,  MROCE_WIRE_OK },
	{ 2,		1,		2, true,  MROCE_WIRE_LENGTH },
	{ 0x80000000,	0,		8, false, MROCE_WIRE_OK },
	{ 0x80000000,	0x7ffffff8,	8, true,  MROCE_WIRE_OK },
	{ 0x80000000,	0x7ffffff8,	9, true,  MROCE_WIRE_LENGTH },
	{ 0x80000000,	0x80000000,	8, true,  MROCE_WIRE_LENGTH },
	{ 0x80000001,	0,		8, false, MROCE_WIRE_FIELD },
	{ U32_MAX,	0,		8, false, MROCE_WIRE_FIELD },
	{ U32_MAX,	0xfffffff7,	8, true,  MROCE_WIRE_FIELD },
	/* sums that wrap to something small */
	{ 8,		0xfffffff8,	16, true,  MROCE_WIRE_LENGTH },
	{ 8,		U32_MAX,	9, true,  MROCE_WIRE_LENGTH },
	{ 0,		U32_MAX,	1, true,  MROCE_WIRE_LENGTH },
	{ 100,		0xffffff00,	256, false, MROCE_WIRE_LENGTH },
};

static void wire_span_desc(const struct wire_span *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u of %u at %u%s", s->payload,
		 s->len, s->offset, s->last ? ", last" : "");
}

KUNIT_ARRAY_PARAM(wire_span, wire_spans, wire_span_desc);

static void wire_spans_of_messages(struct kunit *test)
{
	static const u8 ops[] = {
		MROCE_OP_WRITE, MROCE_OP_WRITE_IMM, MROCE_OP_SEND,
		MROCE_OP_SEND_IMM, MROCE_OP_SEND_INV,
	};
	const struct wire_span *s = test->param_value;
	struct wire_ctx *ctx = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		unsigned int n;

		memset(&ctx->b, 0, sizeof(ctx->b));
		ctx->b.type = MROCE_T_DATA;
		ctx->b.opcode = ops[i];
		ctx->b.flags = s->last ? MROCE_F_LAST : 0;
		ctx->b.data.len = s->len;
		ctx->b.data.offset = s->offset;
		n = mroce_wire_build(&ctx->b, ctx->out, sizeof(ctx->out));
		KUNIT_ASSERT_EQ(test, n, mroce_wire_hdr_len(ops[i], s->last));
		n += s->payload;
		KUNIT_ASSERT_LE(test, n, sizeof(ctx->out) + 256);
		KUNIT_EXPECT_EQ_MSG(test,
				    wire_parse(test, ctx->out,
					       n - s->payload, n, &ctx->a),
				    s->want, "%s", mroce_data_op_str(ops[i]));
	}
}

static const struct wire_span wire_resp_spans[] = {
	{ 0, 0,			0, true,  MROCE_WIRE_OK },
	{ 0, 0,			0, false, MROCE_WIRE_LENGTH },
	{ 0, 8,			0, true,  MROCE_WIRE_LENGTH },
	{ 0, 8,			8, false, MROCE_WIRE_OK },
	{ 0, 8,			8, true,  MROCE_WIRE_OK },
	{ 0, 0x7ffffff8,	8, true,  MROCE_WIRE_OK },
	{ 0, 0x7ffffff8,	9, true,  MROCE_WIRE_LENGTH },
	{ 0, 0x80000000,	1, true,  MROCE_WIRE_LENGTH },
	{ 0, 0x80000001,	1, true,  MROCE_WIRE_LENGTH },
	{ 0, U32_MAX,		1, true,  MROCE_WIRE_LENGTH },
	{ 0, 0xfffffff8,	16, false, MROCE_WIRE_LENGTH },
};

KUNIT_ARRAY_PARAM(wire_resp_span, wire_resp_spans, wire_span_desc);

static void wire_spans_of_responses(struct kunit *test)
{
	const struct wire_span *s = test->param_value;
	struct wire_ctx *ctx = test->priv;
	unsigned int n;

	memset(&ctx->b, 0, sizeof(ctx->b));
	ctx->b.type = MROCE_T_DATA;
	ctx->b.opcode = MROCE_OP_READ_RESP;
	ctx->b.flags = s->last ? MROCE_F_LAST : 0;
	ctx->b.data.offset = s->offset;
	n = mroce_wire_build(&ctx->b, ctx->out, sizeof(ctx->out));
	KUNIT_ASSERT_EQ(test, n, MROCE_READ_RESP_LEN);
	KUNIT_EXPECT_EQ(test, wire_parse(test, ctx->out, n, n + s->payload,
					 &ctx->a), s->want);
}

/* -- reasons -------------------------------------------------------------- */

/* A vector with some bytes replaced; each reason appears. */
struct wire_bad {
	const char *vector;
	u16 at;
	u8 n;
	u8 bytes[4];
	enum mroce_wire_reason want;
};

static const struct wire_bad wire_bads[] = {
	{ "WRITE last",	0, 1, { 0x01 }, MROCE_WIRE_BAD_VERSION },
	{ "WRITE last",	0, 1, { 0x21 }, MROCE_WIRE_BAD_VERSION },
	{ "WRITE last",	0, 1, { 0xf1 }, MROCE_WIRE_BAD_VERSION },
	{ "WRITE last",	0, 1, { 0x10 }, MROCE_WIRE_TYPE },
	{ "WRITE last",	0, 1, { 0x16 }, MROCE_WIRE_TYPE },
	{ "WRITE last",	0, 1, { 0x1f }, MROCE_WIRE_TYPE },
	{ "WRITE last",	1, 1, { 0x00 }, MROCE_WIRE_OPCODE },
	{ "WRITE last",	1, 1, { 13 }, MROCE_WIRE_OPCODE },	/* FLUSH */
	{ "WRITE last",	1, 1, { 14 }, MROCE_WIRE_OPCODE },	/* ATOMIC_WRITE */
	{ "WRITE last",	1, 1, { 16 }, MROCE_WIRE_OPCODE },
	{ "WRITE last",	1, 1, { 0xff }, MROCE_WIRE_OPCODE },
	{ "WRITE last",	3, 1, { MROCE_F_LAST | MROCE_F_IMM }, MROCE_WIRE_FLAGS },
	{ "WRITE last",	3, 1, { MROCE_F_LAST | MROCE_F_INV }, MROCE_WIRE_FLAGS },
	{ "WRITE_IMM last", 3, 1, { MROCE_F_LAST }, MROCE_WIRE_FLAGS },
	{ "WRITE_IMM first", 3, 1, { MROCE_F_IMM }, MROCE_WIRE_FLAGS },
	{ "SEND_INV of nothing", 3, 1, { MROCE_F_LAST | MROCE_F_IMM }, MROCE_WIRE_FLAGS },
	{ "SEND only",	3, 1, { 0 }, MROCE_WIRE_LENGTH },
	{ "SEND only",	32, 4, { 0xff, 0xff, 0xff, 0xff }, MROCE_WIRE_LENGTH },
	{ "SEND only",	40, 4, { 0x80, 0, 0, 1 }, MROCE_WIRE_FIELD },
	{ "READ_REQ",	3, 1, { 0 }, MROCE_WIRE_FLAGS },
	{ "READ_REQ",	48, 4, { 0x80, 0, 0, 1 }, MROCE_WIRE_FIELD },
	{ "READ_REQ",	48, 4, { 0x80, 0, 0, 0 }, MROCE_WIRE_OK },
	{ "READ_REQ",	35, 1, { 1 }, MROCE_WIRE_FIELD },	/* offset */
	{ "CMP_SWAP",	35, 1, { 8 }, MROCE_WIRE_FIELD },
	{ "ATOMIC_RESP", 32, 1, { 1 }, MROCE_WIRE_FIELD },
	{ "RESP_ERR",	40, 1, { 0 }, MROCE_WIRE_FIELD },
	{ "RESP_ERR",	40, 1, { MROCE_NAK_RNR }, MROCE_WIRE_FIELD },
	{ "RESP_ERR",	40, 1, { MROCE_NAK_CLOSED }, MROCE_WIRE_FIELD },
	{ "RESP_ERR",	40, 1, { MROCE_NAK_INV_REQ }, MROCE_WIRE_OK },
	{ "RESP_ERR",	40, 1, { MROCE_NAK_OP_ERR }, MROCE_WIRE_OK },
	{ "RESP_ERR",	40, 1, { 8 }, MROCE_WIRE_FIELD },
	{ "NOP",	3, 1, { MROCE_F_LAST }, MROCE_WIRE_FLAGS },
	{ "NOP with vector", 3, 1, { MROCE_F_IMM }, MROCE_WIRE_FLAGS },
	{ "ACK short",	1, 1, { MROCE_ACK_FULL }, MROCE_WIRE_SHORT },
	{ "ACK short",	1, 1, { 2 }, MROCE_WIRE_OPCODE },
	{ "ACK short",	3, 1, { MROCE_F_LAST }, MROCE_WIRE_FLAGS },
	{ "ACK short",	3, 1, { MROCE_F_BACKLOG }, MROCE_WIRE_OK },
	{ "ACK with vector", 1, 1, { MROCE_ACK_SHORT }, MROCE_WIRE_LENGTH },
	{ "NAK RNR",	1, 1, { 1 }, MROCE_WIRE_OPCODE },
	{ "NAK RNR",	28, 1, { 0 }, MROCE_WIRE_FIELD },
	{ "NAK RNR",	28, 1, { 8 }, MROCE_WIRE_FIELD },
	{ "NAK RNR",	29, 1, { 32 }, MROCE_WIRE_FIELD },
	{ "NAK RNR",	29, 1, { 0 }, MROCE_WIRE_OK },
	{ "INIT",	1, 1, { 0 }, MROCE_WIRE_OPCODE },
	{ "INIT",	1, 1, { 7 }, MROCE_WIRE_OPCODE },
	{ "INIT",	3, 1, { MROCE_F_LAST }, MROCE_WIRE_FLAGS },
	{ "INIT",	1, 1, { MROCE_CTRL_INIT_ACK }, MROCE_WIRE_LENGTH },
	{ "INIT",	40, 2, { 0, 0 }, MROCE_WIRE_FIELD },	/* MSN window */
	{ "INIT",	40, 2, { 0, 32 }, MROCE_WIRE_FIELD },
	{ "INIT",	40, 2, { 0, 65 }, MROCE_WIRE_FIELD },
	{ "INIT",	40, 2, { 0x80, 0 }, MROCE_WIRE_FIELD },
	{ "INIT",	42, 2, { 0, 0 }, MROCE_WIRE_FIELD },	/* RSN window */
	{ "INIT",	42, 2, { 0x40, 1 }, MROCE_WIRE_FIELD },
	{ "INIT",	44, 2, { 0x02, 0x3f }, MROCE_WIRE_FIELD },	/* MTU */
	{ "INIT",	47, 1, { 16 }, MROCE_WIRE_OK },		/* planes */
	{ "INIT",	47, 1, { 17 }, MROCE_WIRE_FIELD },
	{ "INIT",	47, 1, { 255 }, MROCE_WIRE_FIELD },
	{ "INIT_ACK",	47, 1, { 0 }, MROCE_WIRE_LENGTH },
	{ "INIT_ACK",	47, 1, { 2 }, MROCE_WIRE_SHORT },
	{ "INIT_ACK",	47, 1, { 17 }, MROCE_WIRE_FIELD },
	{ "PROBE padded", 1, 1, { MROCE_CTRL_PROBE_ACK }, MROCE_WIRE_LENGTH },
	{ "PROBE padded", 30, 1, { 0xff }, MROCE_WIRE_OK },
	{ "DATAGRAM",	1, 1, { 1 }, MROCE_WIRE_OPCODE },
	{ "DATAGRAM",	3, 1, { MROCE_F_LAST }, MROCE_WIRE_FLAGS },
	{ "DATAGRAM",	3, 1, { MROCE_F_INV }, MROCE_WIRE_FLAGS },
};

static void wire_reasons(struct kunit *test)
{
	bool seen[MROCE_WIRE_N_REASONS] = {};
	struct wire_ctx *ctx = test->priv;
	const struct mroce_vector *v;
	enum mroce_wire_reason r;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(wire_bads); i++) {
		const struct wire_bad *bad = &wire_bads[i];

		for (k = 0; k < ARRAY_SIZE(mroce_vectors); k++)
			if (!strcmp(mroce_vectors[k].name, bad->vector))
				break;
		KUNIT_ASSERT_LT(test, k, ARRAY_SIZE(mroce_vectors));
		v = &mroce_vectors[k];
		memcpy(ctx->out, v->raw, v->len);
		memcpy(ctx->out + bad->at, bad->bytes, bad->n);
		r = wire_parse(test, ctx->out, v->len, v->len, &ctx->a);
		KUNIT_EXPECT_EQ_MSG(test, r, bad->want, "%s, byte %u = %#x",
				    bad->vector, bad->at, bad->bytes[0]);
		KUNIT_ASSERT_LT(test, r, MROCE_WIRE_N_REASONS);
		seen[r] = true;
	}
	for (i = 0; i < MROCE_WIRE_N_REASONS; i++)
		KUNIT_EXPECT_TRUE_MSG(test, seen[i], "%s",
				      mroce_wire_reason_str(i));
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE_PARAM(wire_vector_parse, wire_vector_gen_params),
	KUNIT_CASE_PARAM(wire_vector_common, wire_vector_gen_params),
	KUNIT_CASE_PARAM(wire_vector_build, wire_vector_gen_params),
	KUNIT_CASE_PARAM(wire_truncate, wire_vector_gen_params),
	KUNIT_CASE_PARAM(wire_partly_readable, wire_vector_gen_params),
	KUNIT_CASE_PARAM(wire_too_long, wire_vector_gen_params),
	KUNIT_CASE_PARAM(wire_shape_flags, wire_vector_gen_params),
	KUNIT_CASE_PARAM(wire_flip_bits, wire_vector_gen_params),
	KUNIT_CASE_PARAM(wire_spans_of_messages, wire_span_gen_params),
	KUNIT_CASE_PARAM(wire_spans_of_responses, wire_resp_span_gen_params),
	KUNIT_CASE(wire_reasons),
	{}
};

static struct kunit_suite wire_suite = {
	.name = "metaroce_wire",
	.init = wire_init,
	.test_cases = wire_cases,
};

kunit_test_suite(wire_suite);
