// SPDX-License-Identifier: GPL-2.0
/*
 * Streams and connections that end while something of theirs is under way, and
 * begin again.
 */
#include "forge.h"
#include "../internal.h"

/* Nothing of a stream was accepted when the connection died: it starts anew,
 * and what its peer may have tried before is forgotten.
 */
static void test_unbound_starts_anew(struct kunit *test)
{
	struct pair *p = pair_new(test, 14, 1500);
	struct tstream *a, *b;
	struct mroce_claim cl;
	struct mroce_pkt pkt;

	pair_up(p, 0);
	a = pair_ts(p, 0, 0);
	b = pair_ts(p, 1, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open));
	pkt = forge_write(p, 1, 0, b->s.msn_rcv, 0, 8);
	pkt.data.attempt = 3;
	KUNIT_ASSERT_EQ(test, forge_rx(p, 1, &pkt, &cl), MROCE_RX_CLAIM);
	mroce_conn_finish(&p->side[1].c, &cl, false, p->now);
	KUNIT_EXPECT_FALSE(test, b->s.bound);
	conn_lost(&p->side[0].c, p->now);
	conn_lost(&p->side[1].c, p->now);

	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->msg[0].st, MROCE_ST_OK);
	KUNIT_EXPECT_EQ(test, 0, memcmp(b->mem, a->buf + a->msg[0].buf_off,
					100));
	pair_free(p);
}

/* A stream on side 0 that has left, with a Write under way. */
static struct tstream *leave(struct pair *p)
{
	struct tstream *a = pair_ts(p, 0, 0);

	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_pump(p, 0);
	mroce_stream_detach(&a->s, p->now);
	return a;
}

static u32 no_id(struct mroce_conn *c)
{
	return 0;
}

/*
 * A stream that has left waits for what it sent (rule 25): until it is
 * acknowledged, or can not be any more.
 */
static void test_quiet_ends(struct kunit *test)
{
	struct pair *p = pair_connected(test, 28);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_conn_ops ops = *c->ops;
	struct tstream *a;

	/* after a long rest nobody is under suspicion */
	pair_run(p, 30 * SEC, NULL);
	a = leave(p);
	KUNIT_EXPECT_PTR_EQ(test, a->s.left, c);
	KUNIT_EXPECT_EQ(test, a->n_idle, 0U);
	pair_run(p, 10 * MS, NULL);
	KUNIT_EXPECT_NULL(test, a->s.left);
	KUNIT_EXPECT_EQ(test, a->n_idle, 1U);
	KUNIT_EXPECT_TRUE(test, list_empty(&c->leaving));

	/* the peer has restarted: another incarnation */
	p->net.cut = true;
	pair_reset(p, 0, 0);
	pair_attach(p, 0, 0);
	pair_start(p, 0, 0);
	leave(p);
	KUNIT_EXPECT_PTR_EQ(test, a->s.left, c);
	conn_lost(c, p->now);
	KUNIT_EXPECT_NULL(test, a->s.left);
	KUNIT_EXPECT_EQ(test, a->s.quarantine, 0U);
	KUNIT_EXPECT_EQ(test, a->n_idle, 2U);
	pair_free(p);

	/* there is no other incarnation */
	p = pair_connected(test, 29);
	c = &p->side[0].c;
	p->net.cut = true;
	a = leave(p);
	ops.new_id = no_id;
	c->ops = &ops;
	conn_lost(c, p->now);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_DEAD);
	KUNIT_EXPECT_NULL(test, a->s.left);
	KUNIT_EXPECT_EQ(test, a->n_idle, 1U);
	pair_free(p);

	/* who gives up first is forgotten, not told */
	p = pair_connected(test, 30);
	c = &p->side[0].c;
	p->net.cut = true;
	a = leave(p);
	mroce_stream_left(&a->s);
	KUNIT_EXPECT_TRUE(test, list_empty(&c->leaving));
	conn_lost(c, p->now);
	KUNIT_EXPECT_EQ(test, a->n_idle, 0U);
	pair_free(p);
}

/* The peer has crashed, and 1,000 QPs are reset: not 1,000 times half a second. */
static void test_quiet_of_silent_peer(struct kunit *test)
{
	struct pair *p = pair_connected(test, 31);
	struct tstream *a = pair_ts(p, 0, 0), *other = pair_ts(p, 0, 1);

	pair_up(p, 1);
	p->net.cut = true;
	pair_post(p, 0, 1, MROCE_OP_WRITE, 100, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	pair_pump(p, 0);
	mroce_stream_detach(&other->s, p->now);
	KUNIT_EXPECT_NOT_NULL(test, other->s.left);
	pair_run(p, 200 * MS, NULL);
	mroce_stream_detach(&a->s, p->now);
	KUNIT_EXPECT_NULL(test, a->s.left);
	KUNIT_EXPECT_NOT_NULL(test, other->s.left);

	/* still in quarantine: it comes back with the PSNs of before */
	pair_reset(p, 0, 0);
	pair_attach(p, 0, 0);
	KUNIT_EXPECT_EQ(test, a->s.quarantine, 1U);
	p->net.cut = false;
	pair_run(p, SEC, NULL);
	KUNIT_EXPECT_EQ(test, a->s.quarantine, 0U);
	KUNIT_EXPECT_NULL(test, other->s.left);
	pair_free(p);
}

/* The dead do not answer: their id leads nowhere. */
static void test_dead_is_silent(struct kunit *test)
{
	struct pair *p = pair_new(test, 21, 1500);
	struct mroce_pkt pkt = {
		.type = MROCE_T_CONTROL,
		.opcode = MROCE_CTRL_INIT,
		.init = { .nonce = 1, .conn_id = 1, .mtu = 1500 },
	};
	struct mroce_conn *c = &p->side[0].c;

	pair_attach(p, 0, 0);
	pair_pump(p, 0);
	mroce_conn_rx(c, &pkt, NULL, NULL, p->now);
	mroce_stream_detach(&pair_ts(p, 0, 0)->s, p->now);
	p->now += 61 * SEC;
	mroce_conn_timer(c, p->now);
	KUNIT_ASSERT_EQ(test, c->state, MROCE_CONN_DEAD);
	KUNIT_EXPECT_FALSE(test, mroce_conn_tx_pending(c, p->now));
	KUNIT_EXPECT_FALSE(test, mroce_conn_tx(c, &p->txd, p->now));
	pair_free(p);
}

/* A QPN does not speak before its former life is silent (rule 25). */
static void test_quarantine(struct kunit *test)
{
	struct pair *p = pair_connected(test, 22);
	struct mroce_stream *s = &pair_ts(p, 0, 0)->s;

	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 5000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 100, 0, false);
	pair_pump(p, 0);
	pair_reset(p, 0, 0);
	pair_reset(p, 1, 0);
	pair_up(p, 0);
	KUNIT_EXPECT_EQ(test, s->quarantine, 5U);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	pair_run(p, 10 * MS, NULL);
	KUNIT_EXPECT_EQ(test, s->msn_snd, s->msn_una);
	p->net.cut = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, s->quarantine, 0U);
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->n_err_done, 0U);
	pair_free(p);
}

/* Nor does it answer; and what its former life sent is not sent again for that (rule
 * 25).
 */
static void test_quarantine_of_answers(struct kunit *test)
{
	struct pair *p = pair_connected(test, 23);
	struct mroce_conn *c = &p->side[1].c;
	struct mroce_stream *s = &pair_ts(p, 1, 0)->s;
	struct mroce_pkt pkt;

	p->net.cut = true;
	p->liar = true;
	pair_post(p, 1, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_pump(p, 1);
	pair_reset(p, 0, 0);
	pair_reset(p, 1, 0);
	KUNIT_EXPECT_FALSE(test, mroce_conn_tx(c, &p->txd, p->now));
	pair_up(p, 0);
	KUNIT_ASSERT_EQ(test, s->quarantine, 1U);
	pkt = forge_data(p, 1, 0, MROCE_OP_READ_REQ, s->msn_rcv);
	pkt.data.len = 8;
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
	pair_pump(p, 1);
	KUNIT_EXPECT_EQ(test, s->resp_n, 1);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_TX_NOP], 0ULL);
	p->net.cut = false;
	pair_run(p, 100 * MS, NULL);
	KUNIT_EXPECT_EQ(test, s->quarantine, 0U);
	KUNIT_EXPECT_EQ(test, s->resp_n, 0);
	KUNIT_EXPECT_GE(test, c->cnt[MROCE_CNT_TX_NOP], 1ULL);
	pair_free(p);
}

static struct kunit_case life_cases[] = {
	KUNIT_CASE(test_unbound_starts_anew),
	KUNIT_CASE(test_quiet_ends),
	KUNIT_CASE(test_quiet_of_silent_peer),
	KUNIT_CASE(test_dead_is_silent),
	KUNIT_CASE(test_quarantine),
	KUNIT_CASE(test_quarantine_of_answers),
	{}
};

static struct kunit_suite life_suite = {
	.name = "metaroce-life",
	.test_cases = life_cases,
};

kunit_test_suite(life_suite);
