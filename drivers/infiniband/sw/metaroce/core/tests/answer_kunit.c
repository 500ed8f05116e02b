// SPDX-License-Identifier: GPL-2.0
/*
 * A responder's turns: what takes effect in order, what it answers, and what of that
 * it has to keep (rules 20, 22, 23); and what leaves first (rule 50).
 */
#include "forge.h"
#include "../internal.h"

/* The next packet of side 1, or type 0: none. */
static const struct mroce_pkt *sent(struct pair *p)
{
	return pair_sent(p, 1);
}

static void ask(struct pair *p, int stream, u32 msn, u32 len)
{
	struct mroce_pkt pkt = forge_data(p, 1, stream, MROCE_OP_READ_REQ, msn);

	pkt.data.len = len;
	pkt.data.cookie = msn;
	KUNIT_EXPECT_TRUE(p->test, forge_accept(p, 1, &pkt, NULL));
	KUNIT_EXPECT_EQ(p->test, sent(p)->type, MROCE_T_ACK);
}

/* A small Write waits for its turn, a larger one does not (rule 23). */
static void test_small_write(struct kunit *test)
{
	struct pair *p = pair_connected(test, 180);
	struct tstream *b = pair_ts(p, 1, 0);
	u32 msn = b->s.msn_rcv, len;
	u8 ones[65], none[65] = {};
	struct mroce_pkt pkt;

	memset(ones, 1, sizeof(ones));
	for (len = 64; len <= 65; len++) {
		memset(b->mem, 0, 128);
		pkt = forge_write(p, 1, 0, msn + 1, 0, len);
		KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, ones));
		KUNIT_EXPECT_EQ(test, 0, memcmp(b->mem, len == 64 ? none : ones,
						len));
		pkt = forge_write(p, 1, 0, msn, 128, 8);
		KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, ones));
		KUNIT_EXPECT_EQ(test, 0, memcmp(b->mem, ones, len));
		KUNIT_EXPECT_EQ(test, b->s.msn_rcv, msn + 2);
		msn += 2;
	}
	pair_free(p);
}

/* A Read that fails when it executes: what is before it is done, the stream ends behind
 * it, and the answer says so (rules 20, 22).
 */
static void failed_read(struct kunit *test, bool no_slots)
{
	struct pair *p = pair_connected(test, 181);
	struct tstream *b = pair_ts(p, 1, 0);
	u32 msn = b->s.msn_rcv;
	struct mroce_pkt pkt;
	u64 v = 1;

	p->net.cut = true;
	if (no_slots)
		b->s.a.max_dest_rd_atomic = 0;
	else
		b->dead_key = true;
	ask(p, 0, msn + 1, 8);
	KUNIT_EXPECT_EQ(test, b->s.rx_state, MROCE_RX_OPEN);
	pkt = forge_write(p, 1, 0, msn, 0, 0);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, &v));
	KUNIT_EXPECT_EQ(test, b->rx_code, no_slots ? MROCE_NAK_INV_REQ :
						     MROCE_NAK_ACCESS);
	KUNIT_EXPECT_EQ(test, b->s.err_msn, msn + 2);
	KUNIT_EXPECT_EQ(test, sent(p)->type, MROCE_T_ACK);
	pkt = *sent(p);
	KUNIT_EXPECT_EQ(test, pkt.opcode, MROCE_OP_RESP_ERR);
	KUNIT_EXPECT_EQ(test, pkt.data.msn, msn + 1);
	KUNIT_EXPECT_EQ(test, pkt.data.cookie, msn + 1);
	KUNIT_EXPECT_EQ(test, pkt.data.code, b->rx_code);
	pair_free(p);
}

static void test_failed_read(struct kunit *test)
{
	failed_read(test, false);
	failed_read(test, true);
}

/* A slot is in use until the last packet of the answer has left for the first time, a
 * context until all are acknowledged (rule 22).
 */
static void test_slot_and_context(struct kunit *test)
{
	struct pair *p = pair_connected(test, 182);
	struct mroce_conn *c = &p->side[1].c;
	struct tstream *b = pair_ts(p, 1, 0);
	u32 msn = b->s.msn_rcv;
	struct mroce_path_tx *tx;
	struct mroce_pkt ack;

	p->net.cut = true;
	b->s.a.max_dest_rd_atomic = 1;
	c->tx_blocked = true;
	ask(p, 0, msn, 2 * 1432);
	ask(p, 0, msn + 1, 8);
	c->tx_blocked = false;
	KUNIT_EXPECT_EQ(test, b->s.msn_rcv, msn + 1);
	KUNIT_EXPECT_TRUE(test, b->s.exec_stalled);
	KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_OP_READ_RESP);
	KUNIT_EXPECT_EQ(test, b->s.msn_rcv, msn + 1);
	KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_OP_READ_RESP);
	KUNIT_EXPECT_EQ(test, b->s.msn_rcv, msn + 2);
	tx = c->tx[c->cur_tx];
	KUNIT_ASSERT_EQ(test, tx->nxt - tx->una, 2U);
	ack = forge_ack(p, 1, tx->id);
	ack.psn = tx->una;
	ack.ack.echo_ts = tx->slot[psn_idx(tx->una)].ts;
	forge_rx(p, 1, &ack, NULL);
	KUNIT_EXPECT_TRUE(test, resp_pending(&b->s, msn));
	ack = forge_ack(p, 1, tx->id);
	ack.psn = tx->una;
	ack.ack.echo_ts = tx->last_ts;
	forge_rx(p, 1, &ack, NULL);
	KUNIT_EXPECT_FALSE(test, resp_pending(&b->s, msn));
	KUNIT_EXPECT_TRUE(test, resp_pending(&b->s, msn + 1));
	pair_free(p);
}

/* What an answer is made of is gone: before it leaves, and when it was lost (rule
 * 22).
 */
static void test_source_gone(struct kunit *test)
{
	int lost;

	for (lost = 0; lost < 2; lost++) {
		struct pair *p = pair_connected(test, 183 + lost);
		struct tstream *b = pair_ts(p, 1, 0);
		struct mroce_conn *c = &p->side[1].c;
		struct mroce_path_tx *tx;
		struct mroce_pkt pkt;
		u32 psn = 0;

		p->net.cut = true;
		ask(p, 0, b->s.msn_rcv, 1000);
		if (lost) {
			pkt = *sent(p);
			KUNIT_EXPECT_EQ(test, pkt.opcode, MROCE_OP_READ_RESP);
			psn = pkt.psn;
			tx = c->tx[c->cur_tx];
			path_tx_mark_lost(c, tx, psn);
			tx->rtx_budget = 1;
		}
		b->gone = true;
		pkt = *sent(p);
		KUNIT_EXPECT_EQ(test, pkt.opcode, MROCE_OP_RESP_ERR);
		KUNIT_EXPECT_EQ(test, pkt.data.code, MROCE_NAK_ACCESS);
		if (lost)
			KUNIT_EXPECT_EQ(test, pkt.psn, psn);
		KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
		pair_free(p);
	}
}

/* Control, NAK, ACK, what was lost, answers, requests; and only DATA waits for local
 * queues (rule 50).
 */
static void test_order(struct kunit *test)
{
	struct pair *p = pair_connected(test, 185);
	struct mroce_conn *c = &p->side[1].c;
	u32 msn = pair_ts(p, 1, 0)->s.msn_rcv;
	struct mroce_path_tx *tx;
	struct mroce_pkt pkt;

	pair_post(p, 1, 0, MROCE_OP_WRITE, 8, 0, false);
	pkt = *sent(p);
	tx = c->tx[c->cur_tx];
	path_tx_mark_lost(c, tx, pkt.psn);
	tx->rtx_budget = 1;
	pair_post(p, 1, 0, MROCE_OP_WRITE, 8, 0, false);
	pkt = forge_data(p, 1, 0, MROCE_OP_READ_REQ, msn);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
	pkt = forge_data(p, 1, 0, MROCE_OP_SEND, msn + 1);
	KUNIT_EXPECT_FALSE(test, forge_accept(p, 1, &pkt, NULL));
	pkt = forge_ctrl(p, 1, MROCE_CTRL_PROBE);
	forge_rx(p, 1, &pkt, NULL);

	c->tx_blocked = true;
	KUNIT_EXPECT_EQ(test, sent(p)->type, MROCE_T_CONTROL);
	KUNIT_EXPECT_EQ(test, sent(p)->type, MROCE_T_NAK);
	KUNIT_EXPECT_EQ(test, sent(p)->type, MROCE_T_ACK);
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
	c->tx_blocked = false;
	KUNIT_EXPECT_TRUE(test, sent(p)->flags & MROCE_F_RETX);
	KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_OP_READ_RESP);
	KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_OP_WRITE);
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
	p->liar = true;
	pair_free(p);
}

/* All paths, with room for whatever is sent now. */
static void wide(struct pair *p)
{
	struct mroce_conn *c = &p->side[1].c;
	int i;

	while (path_tx_open(c, p->now))
		;
	for (i = 0; i < c->n_tx; i++) {
		path_set_window(c, c->tx[i], 256 << 8);
		c->tx[i]->last_tx_ns = p->now;
	}
}

/* Bytes in turn, small packets with what they cost besides (rule 50). */
static void test_turns(struct kunit *test)
{
	struct pair *p = pair_connected(test, 186);
	u32 n[2] = {}, i;

	pair_up(p, 1);
	p->net.cut = true;
	wide(p);
	for (i = 0; i < 6; i++)
		pair_post(p, 1, 0, MROCE_OP_WRITE, 60000, 0, false);
	for (i = 0; i < 120; i++)
		pair_post(p, 1, 1, MROCE_OP_WRITE, 600, 0, false);
	/* 45 packets of 1,484 bytes, 99 of 664: a turn for each */
	for (i = 0; i < 45 + 99; i++)
		n[sent(p)->data.sqpn == pair_qpn(1, 1)]++;
	KUNIT_EXPECT_GE(test, n[0], 44U);
	KUNIT_EXPECT_LE(test, n[0], 46U);
	for (i = 0; i < 46; i++)
		n[sent(p)->data.sqpn == pair_qpn(1, 1)]++;
	KUNIT_EXPECT_GE(test, n[0], 44U + 44);
	p->liar = true;
	pair_free(p);
}

/* Answers of two streams, burst by burst (rule 50). */
static void test_turns_of_answers(struct kunit *test)
{
	struct pair *p = pair_connected(test, 187);
	struct mroce_conn *c = &p->side[1].c;
	u32 n[2] = {}, i;

	pair_up(p, 1);
	p->net.cut = true;
	wide(p);
	c->tx_blocked = true;
	for (i = 0; i < 2; i++) {
		ask(p, 0, pair_ts(p, 1, 0)->s.msn_rcv, 60000);
		ask(p, 1, pair_ts(p, 1, 1)->s.msn_rcv, 60000);
	}
	c->tx_blocked = false;
	c->burst = 0;
	for (i = 0; i < 2 * (65000 / 1500); i++)
		n[sent(p)->data.sqpn == pair_qpn(1, 1)]++;
	KUNIT_EXPECT_GE(test, n[0], 65000U / 1500 - 1);
	KUNIT_EXPECT_GE(test, n[1], 65000U / 1500 - 1);
	pair_free(p);
}

static struct kunit_case answer_cases[] = {
	KUNIT_CASE(test_small_write),
	KUNIT_CASE(test_failed_read),
	KUNIT_CASE(test_slot_and_context),
	KUNIT_CASE(test_source_gone),
	KUNIT_CASE(test_order),
	KUNIT_CASE(test_turns),
	KUNIT_CASE(test_turns_of_answers),
	{}
};

static struct kunit_suite answer_suite = {
	.name = "metaroce-answer",
	.test_cases = answer_cases,
};

kunit_test_suite(answer_suite);
