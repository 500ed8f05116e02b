// SPDX-License-Identifier: GPL-2.0
/*
 * What a receiver makes of a single packet of DATA: whether it belongs here, agrees with
 * what is known of its message, and is of the right attempt. Each case breaks one
 * rule of sections 8.1 to 8.3 in one packet.
 */
#include "forge.h"
#include "../internal.h"

/* Sequences and messages of side 1 as the peer of side 0 sees them. */
static u32 next_msn(struct pair *p)
{
	return pair_ts(p, 1, 0)->s.msn_rcv;
}

/* The last thing that was refused, and why; 0: nothing waits. */
static u8 last_nak(struct pair *p)
{
	struct mroce_conn *c = &p->side[1].c;

	if (!c->nak_n)
		return 0;
	return c->nak[(c->nak_head + c->nak_n - 1) % MROCE_NAK_RING].code;
}

/* What side 1 sends next, or type 0: nothing. */
static const struct mroce_pkt *answer(struct pair *p)
{
	return pair_sent(p, 1);
}

/* Piece @k of two, 1,000 bytes each, of message @msn. */
static struct mroce_pkt half(struct pair *p, u8 opcode, u32 msn, int k)
{
	struct mroce_pkt pkt = forge_data(p, 1, 0, opcode, msn);

	pkt.flags = k ? MROCE_F_LAST : 0;
	pkt.data.offset = 1000 * k;
	pkt.data.va = 1000 * k;
	pkt.data.len = 2000;
	pkt.payload_len = 1000;
	return pkt;
}

static bool accept(struct pair *p, const struct mroce_pkt *pkt)
{
	return forge_accept(p, 1, pkt, pair_ts(p, 0, 0)->buf);
}

/* Accepted, to no effect. */
static void expect_void(struct pair *p, const struct mroce_pkt *pkt)
{
	u32 msn = next_msn(p);

	KUNIT_EXPECT_EQ(p->test, forge_rx(p, 1, pkt, NULL), MROCE_RX_DONE);
	KUNIT_EXPECT_EQ(p->test, p->side[1].c.rx[FORGED_PATH]->cum, pkt->psn);
	KUNIT_EXPECT_EQ(p->test, next_msn(p), msn);
}

/* Tag and first PSN are of both nonces; another tag is no packet (rule 2). */
static void test_tag(struct kunit *test)
{
	struct pair *p = pair_connected(test, 80);
	struct mroce_conn *a = &p->side[0].c, *b = &p->side[1].c;
	u64 both = a->nonce ^ b->nonce;
	struct mroce_path_tx *tx;
	struct mroce_pkt pkt;

	KUNIT_EXPECT_EQ(test, a->tag, (u16)both);
	KUNIT_EXPECT_EQ(test, b->tag, (u16)both);
	KUNIT_EXPECT_EQ(test, a->psn0, (u32)(both >> 16));
	KUNIT_EXPECT_EQ(test, b->psn0, (u32)(both >> 16));

	pkt = forge_write(p, 1, 0, next_msn(p), 0, 8);
	pkt.tag ^= 1;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_RESET);
	KUNIT_EXPECT_NULL(test, mroce_path_rx_of(b, FORGED_PATH));
	pkt = forge_ctrl(p, 1, MROCE_CTRL_PROBE);
	pkt.tag ^= 1;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_RESET);
	KUNIT_EXPECT_FALSE(test, b->want_probe_ack);
	pkt = forge_ctrl(p, 1, MROCE_CTRL_CLOSE);
	pkt.ctrl.cookie = a->nonce;
	pkt.tag ^= 1;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, b->state, MROCE_CONN_OPEN);
	KUNIT_EXPECT_EQ(test, b->cnt[MROCE_CNT_RX_TAG], 3ULL);

	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_pump(p, 0);
	tx = a->tx[a->cur_tx];
	KUNIT_ASSERT_EQ(test, tx->nxt - tx->una, 1U);
	pkt = forge_nak(p, 0, tx->id, MROCE_NAK_RNR);
	pkt.tag ^= 1;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 0, &pkt, NULL), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->s.n_refused, 0);
	pkt = forge_ack(p, 0, tx->id);
	pkt.psn = tx->nxt - 1;
	pkt.ack.echo_ts = tx->last_ts;
	pkt.tag ^= 1;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 0, &pkt, NULL), MROCE_RX_DROP);
	KUNIT_EXPECT_NE(test, tx->una, tx->nxt);
	pkt.tag ^= 1;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 0, &pkt, NULL), MROCE_RX_DONE);
	KUNIT_EXPECT_EQ(test, tx->una, tx->nxt);
	p->liar = true;
	pair_free(p);
}

/* A minute behind the newest is another age (rule 2), as long as that is remembered
 * (rule 28).
 */
static void test_old_stamp(struct kunit *test)
{
	struct pair *p = pair_connected(test, 81);
	struct mroce_path_rx *r;
	struct mroce_pkt pkt;
	u32 newest;

	pkt = forge_write(p, 1, 0, next_msn(p), 0, 8);
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	r = p->side[1].c.rx[FORGED_PATH];
	newest = r->newest_ts;
	pkt = forge_write(p, 1, 0, next_msn(p), 0, 8);
	pkt.ts = newest - MROCE_TS_OLD - 1;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, p->side[1].c.cnt[MROCE_CNT_RX_OLD], 1ULL);
	pkt.ts++;
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, r->newest_ts, newest);

	p->now += 61 * SEC;
	pkt = forge_write(p, 1, 0, next_msn(p), 0, 8);
	pkt.ts = newest - MROCE_TS_OLD - 1;
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, r->newest_ts, pkt.ts);
	pair_free(p);
}

/* Two packets of one message that contradict each other (rule 4). */
static void test_agreement(struct kunit *test)
{
	int kind;

	for (kind = 0; kind < 5; kind++) {
		struct pair *p = pair_connected(test, 82 + kind);
		u8 op = kind < 2 ? MROCE_OP_WRITE : MROCE_OP_SEND;
		u32 msn = next_msn(p) + 1;
		struct mroce_pkt pkt;

		pair_post_recv(p, 1, 0, 4);
		pkt = half(p, op, msn, 0);
		KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
		pkt = half(p, op, msn, 1);
		if (kind == 0)
			pkt.opcode = MROCE_OP_SEND;
		if (kind == 1)
			pkt.data.len++;
		if (kind == 2)
			pkt.data.rsn++;
		if (kind == 3)
			pkt.payload_len++;
		KUNIT_EXPECT_EQ(test, accept(p, &pkt), kind == 4);
		KUNIT_EXPECT_EQ(test, last_nak(p),
				kind == 4 ? 0 : MROCE_NAK_INV_REQ);
		KUNIT_EXPECT_EQ(test, pair_ts(p, 1, 0)->s.rx_state,
				kind == 4 ? MROCE_RX_OPEN :
					    MROCE_RX_ERR_PENDING);
		p->liar = true;
		pair_free(p);
	}
}

/* An answer outside of what was asked for is the responder's fault (rule 4). */
static void test_answer_outside(struct kunit *test)
{
	int kind;

	for (kind = 0; kind < 4; kind++) {
		struct pair *p = pair_connected(test, 90 + kind);
		struct tstream *a = pair_ts(p, 0, 0);
		struct mroce_pkt pkt;

		p->net.cut = true;
		pair_post(p, 0, 0, MROCE_OP_READ_REQ, 100, 0, false);
		pair_pump(p, 0);
		pkt = forge_data(p, 0, 0, MROCE_OP_READ_RESP, a->s.msn_una);
		pkt.data.cookie = a->msg[1].m.cookie;
		pkt.payload_len = 50;
		pkt.flags = 0;
		KUNIT_EXPECT_TRUE(test, forge_accept(p, 0, &pkt, a->buf));
		pkt.psn++;
		pkt.ts++;
		pkt.data.offset = 50;
		pkt.flags = MROCE_F_LAST;
		if (kind == 1)
			pkt.payload_len++;	/* beyond its end */
		if (kind == 2)
			pkt.flags = 0;		/* which this is */
		if (kind == 3) {
			pkt.data.offset = 0;	/* more than all of it */
			pkt.payload_len = 51;
			pkt.flags = 0;
		}
		KUNIT_EXPECT_EQ(test, forge_accept(p, 0, &pkt, a->buf), !kind);
		KUNIT_EXPECT_EQ(test, a->n_done, 2U);
		KUNIT_EXPECT_EQ(test, a->msg[1].st,
				kind ? MROCE_ST_REM_OP : MROCE_ST_OK);
		pair_free(p);
	}
}

/* A NOP voids what is in the window and not there; what is being placed may become
 * data (rule 5).
 */
static void test_nop(struct kunit *test)
{
	struct pair *p = pair_connected(test, 100);
	struct mroce_claim cl;
	struct mroce_path_rx *r;
	struct mroce_pkt pkt;
	u64 v = 4711;
	u32 first;

	first = forge_data(p, 1, 0, MROCE_OP_NOP, 0).psn;
	pkt = forge_write(p, 1, 0, next_msn(p), 0, 8);
	pkt.psn = first + 1;
	KUNIT_ASSERT_EQ(test, forge_rx(p, 1, &pkt, &cl), MROCE_RX_CLAIM);
	r = p->side[1].c.rx[FORGED_PATH];
	pkt = forge_data(p, 1, 0, MROCE_OP_NOP, 0);
	pkt.flags = 0;
	pkt.data.has_vec = true;
	/* first + 1, first + 2, and the first that is beyond the window */
	pkt.data.vec[0] = 3;
	pkt.data.vec[3] = 1ULL << 63;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DONE);
	KUNIT_EXPECT_EQ(test, r->cum, first);
	KUNIT_EXPECT_EQ(test, bitmap_weight(r->placed, MROCE_PATH_WINDOW), 1);
	KUNIT_EXPECT_TRUE(test, test_bit(psn_idx(first + 2), r->placed));

	KUNIT_EXPECT_EQ(test, 0, mroce_claim_place(&cl, forge_copy, &v));
	mroce_conn_finish(&p->side[1].c, &cl, true, p->now);
	KUNIT_EXPECT_EQ(test, r->cum, first + 2);
	KUNIT_EXPECT_EQ(test, 0, memcmp(pair_ts(p, 1, 0)->mem, &v, 8));
	pair_free(p);
}

/* One ACK for what a batch brought on a path, after the NAKs (rule 6); a copy is
 * acknowledged as well (rule 7).
 */
static void test_answers_of_batch(struct kunit *test)
{
	struct pair *p = pair_connected(test, 101);
	u32 msn = next_msn(p), first;
	struct mroce_pkt pkt, ack;

	pkt = forge_write(p, 1, 0, msn, 0, 8);
	first = pkt.psn;
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	pkt = forge_data(p, 1, 0, MROCE_OP_SEND, msn + 2);
	KUNIT_EXPECT_FALSE(test, accept(p, &pkt));
	pkt = forge_write(p, 1, 0, msn + 1, 8, 8);
	pkt.psn++;
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, answer(p)->type, MROCE_T_NAK);
	ack = *answer(p);
	KUNIT_EXPECT_EQ(test, ack.type, MROCE_T_ACK);
	KUNIT_EXPECT_EQ(test, ack.psn, first);
	KUNIT_EXPECT_EQ(test, ack.ack.vec[0], 2ULL);
	KUNIT_EXPECT_EQ(test, ack.ack.n_recv, 3U);
	KUNIT_EXPECT_EQ(test, answer(p)->type, 0);

	pkt = forge_write(p, 1, 0, msn, 0, 8);
	pkt.psn = first;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DONE);
	KUNIT_EXPECT_EQ(test, last_nak(p), 0);
	ack = *answer(p);
	KUNIT_EXPECT_EQ(test, ack.type, MROCE_T_ACK);
	KUNIT_EXPECT_EQ(test, ack.ack.n_dup, 1U);
	KUNIT_EXPECT_EQ(test, answer(p)->type, 0);
	pair_free(p);
}

/* An answer to what is beyond the window would need a bit more (rule 7). */
static void test_path_window(struct kunit *test)
{
	struct pair *p = pair_connected(test, 102);
	struct mroce_pkt pkt = forge_write(p, 1, 0, next_msn(p), 0, 8);
	u32 first = pkt.psn;

	pkt.psn = first + MROCE_PATH_WINDOW;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, p->side[1].c.cnt[MROCE_CNT_RX_WINDOW], 1ULL);
	KUNIT_EXPECT_EQ(test, answer(p)->type, 0);
	pkt.psn--;
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	pkt = *answer(p);
	KUNIT_EXPECT_EQ(test, pkt.psn, first - 1);
	KUNIT_EXPECT_EQ(test, pkt.ack.vec[3], 1ULL << 63);

	pkt = forge_write(p, 1, 0, next_msn(p), 0, 8);
	pkt.path = MROCE_MAX_PATHS;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, p->side[1].c.cnt[MROCE_CNT_RX_WINDOW], 2ULL);
	pair_free(p);
}

/* An answer leaves from the port of the newest packet of the path (rule 32), whose
 * stamp and epoch it repeats (rule 28).
 */
static void test_answer_route(struct kunit *test)
{
	struct pair *p = pair_connected(test, 103);
	struct mroce_rx_meta meta = { .sport = 50001 };
	struct mroce_conn *c = &p->side[1].c;
	struct mroce_claim cl;
	struct mroce_pkt pkt, ack;
	int i;

	/* the newest comes first, the older one by its old port */
	for (i = 0; i < 2; i++) {
		pkt = forge_write(p, 1, 0, next_msn(p), 0, 0);
		pkt.ts = 1000 - i;
		pkt.epoch = 7 - i;
		meta.sport = 50001 + i;
		KUNIT_ASSERT_EQ(test, MROCE_RX_CLAIM,
				mroce_conn_rx(c, &pkt, &meta, &cl, p->now));
		mroce_conn_finish(c, &cl, true, p->now);
	}
	p->now += 64000;
	ack = *answer(p);
	KUNIT_EXPECT_EQ(test, ack.type, MROCE_T_ACK);
	KUNIT_EXPECT_EQ(test, p->txd.sport, 50001);
	KUNIT_EXPECT_EQ(test, ack.epoch, 7);
	KUNIT_EXPECT_EQ(test, ack.ack.echo_ts, 1000U);
	KUNIT_EXPECT_EQ(test, ack.ack.hold, 1000U);
	pkt = forge_data(p, 1, 0, MROCE_OP_SEND, next_msn(p));
	KUNIT_EXPECT_FALSE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, answer(p)->type, MROCE_T_NAK);
	KUNIT_EXPECT_EQ(test, p->txd.sport, 60000);
	pair_free(p);
}

/* What is below the window has no effect, what is beyond it no place (rule 12). */
static void test_message_windows(struct kunit *test)
{
	struct pair *p = pair_connected(test, 104);
	u32 msn = next_msn(p), n;
	struct mroce_pkt pkt;

	pair_post_recv(p, 1, 0, 100);
	pkt = forge_write(p, 1, 0, msn - 1, 0, 8);
	expect_void(p, &pkt);

	/* more consuming messages than messages */
	pkt = forge_data(p, 1, 0, MROCE_OP_SEND, msn + 2);
	pkt.data.rsn = 3;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	pkt.data.rsn = 2;
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	n = p->side[1].c.rsn_window;
	KUNIT_EXPECT_EQ(test, n, MROCE_RSN_WINDOW);
	pkt = forge_data(p, 1, 0, MROCE_OP_SEND, msn + 200);
	pkt.data.rsn = n;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, pair_ts(p, 1, 0)->n_bound, 3U);
	pkt.data.rsn = n - 1;
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, p->side[1].c.cnt[MROCE_CNT_RX_MSN], 2ULL);
	p->liar = true;
	pair_free(p);
}

/* A sender keeps to what the receiver said (rule 12). */
static void test_windows_kept(struct kunit *test)
{
	struct pair *p = pair_connected(test, 105);
	struct mroce_stream *s = &pair_ts(p, 0, 0)->s;
	int i;

	p->net.cut = true;
	p->side[0].c.msn_window = 6;
	p->side[0].c.rsn_window = 2;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	for (i = 0; i < 3; i++)
		pair_post(p, 0, 0, MROCE_OP_SEND, 8, 0, false);
	pair_pump(p, 0);
	KUNIT_EXPECT_EQ(test, s->msn_snd - s->msn_una, 3U);
	p->side[0].c.rsn_window = 10;
	for (i = 0; i < 10; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_pump(p, 0);
	KUNIT_EXPECT_EQ(test, s->msn_snd - s->msn_una, 6U);
	pair_free(p);
}

/* Bytes of another attempt do not count, and attempts come around (rule 13). */
static void test_attempts(struct kunit *test)
{
	struct pair *p = pair_connected(test, 106);
	u32 msn = next_msn(p);
	struct mroce_pkt pkt;

	/* the first half of one, the second of the next: not a message */
	pkt = half(p, MROCE_OP_WRITE, msn, 0);
	pkt.data.attempt = 255;
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	pkt = half(p, MROCE_OP_WRITE, msn, 1);
	pkt.data.attempt = 0;
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, next_msn(p), msn);
	/* the attempt of before */
	pkt = half(p, MROCE_OP_WRITE, msn, 0);
	pkt.data.attempt = 255;
	expect_void(p, &pkt);
	/* a LAST packet was placed: not of this attempt */
	pkt = half(p, MROCE_OP_WRITE, msn, 1);
	pkt.data.attempt = 1;
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	pkt = half(p, MROCE_OP_WRITE, msn, 1);
	pkt.data.attempt = 1;
	expect_void(p, &pkt);
	pkt = half(p, MROCE_OP_WRITE, msn, 0);
	pkt.data.attempt = 1;
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, next_msn(p), msn + 1);
	pair_free(p);
}

/* Receives are bound in their order; if they do not suffice, those before keep
 * theirs (rule 17).
 */
static void test_binding(struct kunit *test)
{
	struct pair *p = pair_connected(test, 107);
	struct tstream *b = pair_ts(p, 1, 0);
	u32 msn = next_msn(p), k;
	struct mroce_pkt pkt;

	pair_post_recv(p, 1, 0, 2);
	for (k = 0; k < 2; k++) {
		pkt = forge_data(p, 1, 0, MROCE_OP_SEND, msn + 2);
		pkt.data.rsn = 2;
		KUNIT_EXPECT_FALSE(test, accept(p, &pkt));
		KUNIT_EXPECT_EQ(test, last_nak(p), MROCE_NAK_RNR);
		KUNIT_EXPECT_EQ(test, b->n_bound, 2U);
	}
	pair_post_recv(p, 1, 0, 1);
	for (k = 3; k--;) {
		pkt = forge_data(p, 1, 0, MROCE_OP_SEND, msn + k);
		pkt.data.rsn = k;
		KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
		KUNIT_EXPECT_EQ(test, b->n_recv_done, k ? 0U : 3U);
	}
	p->liar = true;
	pair_free(p);
}

/* Who is not the partner is told to try again, not too often (rule 18). */
static void test_not_the_partner(struct kunit *test)
{
	struct pair *p = pair_connected(test, 108), *q = pair_connected(test, 109);
	struct mroce_stream *s = &pair_ts(p, 1, 1)->s;
	struct mroce_stream_attr a;
	u32 msn = next_msn(p), i;
	struct mroce_pkt pkt;

	pkt = forge_write(p, 1, 0, msn, 0, 8);
	pkt.data.sqpn++;
	KUNIT_EXPECT_FALSE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, last_nak(p), MROCE_NAK_NOT_READY);
	/* nobody has that QPN, for a response */
	pkt = forge_data(p, 1, 7, MROCE_OP_READ_RESP, msn);
	KUNIT_EXPECT_FALSE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, last_nak(p), MROCE_NAK_CLOSED);
	/* a QP of this device that is connected with another one */
	pair_attach(p, 1, 1);
	a = s->a;
	mroce_stream_detach(s, p->now);
	KUNIT_ASSERT_EQ(test, 0,
			mroce_stream_attach(s, &q->side[1].c, &a, p->now));
	pkt = forge_write(p, 1, 1, s->msn_rcv, 0, 8);
	KUNIT_EXPECT_FALSE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, last_nak(p), MROCE_NAK_NOT_READY);
	mroce_stream_detach(s, p->now);

	pkt = forge_write(p, 1, 2, msn, 0, 8);
	for (i = 3; i < MROCE_NAK_PER_MS; i++) {
		pkt.data.msn++;
		KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL),
				MROCE_RX_DONE);
	}
	pkt.data.msn++;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, p->side[1].c.nak_n, MROCE_NAK_PER_MS);
	p->now += MS;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DONE);
	pair_free(p);
	pair_free(q);
}

/* The lowest bad message counts; those before it go on, then the QP fails (rule
 * 19).
 */
static void test_lowest_error(struct kunit *test)
{
	struct pair *p = pair_connected(test, 110);
	struct tstream *b = pair_ts(p, 1, 0);
	u32 msn = next_msn(p);
	struct mroce_pkt pkt;

	pair_post_recv(p, 1, 0, 1);
	pkt = forge_write(p, 1, 0, msn + 3, PAIR_MEM, 8);
	KUNIT_EXPECT_FALSE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, last_nak(p), MROCE_NAK_ACCESS);
	/* too long for its receive */
	pkt = forge_data(p, 1, 0, MROCE_OP_SEND, msn + 1);
	pkt.data.len = b->rsize + 1;
	pkt.payload_len = b->rsize + 1;
	KUNIT_EXPECT_FALSE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, last_nak(p), MROCE_NAK_INV_REQ);
	/* a higher one does not change that, nor is it taken */
	pkt = forge_write(p, 1, 0, msn + 2, PAIR_MEM, 8);
	KUNIT_EXPECT_FALSE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, last_nak(p), MROCE_NAK_INV_REQ);
	pkt = forge_write(p, 1, 0, msn + 4, 0, 8);
	KUNIT_EXPECT_FALSE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, last_nak(p), MROCE_NAK_INV_REQ);
	KUNIT_EXPECT_EQ(test, b->rx_code, 0);

	pkt = forge_write(p, 1, 0, msn, 0, 8);
	KUNIT_EXPECT_TRUE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, b->rx_code, MROCE_NAK_INV_REQ);
	KUNIT_EXPECT_EQ(test, b->s.rx_state, MROCE_RX_ERR);
	/* and says so each time */
	pkt = forge_write(p, 1, 0, msn + 4, 0, 8);
	KUNIT_EXPECT_FALSE(test, accept(p, &pkt));
	KUNIT_EXPECT_EQ(test, last_nak(p), MROCE_NAK_INV_REQ);
	pair_free(p);
}

static struct kunit_case judge_cases[] = {
	KUNIT_CASE(test_tag),
	KUNIT_CASE(test_old_stamp),
	KUNIT_CASE(test_agreement),
	KUNIT_CASE(test_answer_outside),
	KUNIT_CASE(test_nop),
	KUNIT_CASE(test_answers_of_batch),
	KUNIT_CASE(test_path_window),
	KUNIT_CASE(test_answer_route),
	KUNIT_CASE(test_message_windows),
	KUNIT_CASE(test_windows_kept),
	KUNIT_CASE(test_attempts),
	KUNIT_CASE(test_binding),
	KUNIT_CASE(test_not_the_partner),
	KUNIT_CASE(test_lowest_error),
	{}
};

static struct kunit_suite judge_suite = {
	.name = "metaroce-judge",
	.test_cases = judge_cases,
};

kunit_test_suite(judge_suite);
