// SPDX-License-Identifier: GPL-2.0
/*
 * Fair shares: what a receiver offers to whom, and the sender that keeps to it.
 */
#include "forge.h"
#include "../internal.h"

#define PORT_KBPS	1000000

/* DATA of a new message for side 1; does its sender have more? */
static void data_comes(struct pair *p, bool more)
{
	u32 msn = pair_ts(p, 1, 0)->s.msn_rcv;
	struct mroce_pkt pkt = forge_write(p, 1, 0, msn, 0, 8);
	u64 v = 0;

	if (more)
		pkt.flags |= MROCE_F_BACKLOG;
	KUNIT_EXPECT_TRUE(p->test, forge_accept(p, 1, &pkt, &v));
}

static u32 offered(struct pair *p)
{
	return share_hint_kbps(&p->side[1].c, 0, p->now);
}

/* All of @kbps but for the little that single packets take. */
static void expect_offer(struct pair *p, u32 kbps)
{
	KUNIT_EXPECT_LE(p->test, offered(p), kbps);
	KUNIT_EXPECT_GT(p->test, offered(p), kbps - kbps / 1000);
}

/* The rate is divided among those who have more to send than they may. */
static void test_offer(struct kunit *test)
{
	struct pair *p = pair_connected(test, 1), *q = pair_connected(test, 2);
	struct mroce_share *sh = &p->side[1].share;

	pair_run(p, 50 * MS, NULL);
	pair_run(q, p->now - q->now, NULL);
	q->side[1].c.plane0.share = sh;
	KUNIT_EXPECT_EQ(test, offered(p), 0U);	/* unknown */
	sh->kbps = PORT_KBPS;
	expect_offer(p, PORT_KBPS);
	data_comes(p, true);
	data_comes(p, true);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 1);
	expect_offer(p, PORT_KBPS);
	/* who comes new is told what it will be */
	expect_offer(q, PORT_KBPS / 20 * 19 / 2);
	data_comes(q, true);
	expect_offer(q, PORT_KBPS / 20 * 19 / 2);
	expect_offer(p, PORT_KBPS / 20 * 19 / 2);
	data_comes(q, false);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 1);
	/* silence ends it as well */
	pair_run(p, 50 * MS, NULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 0);
	/* and the end of the connection */
	data_comes(p, true);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 1);
	conn_lost(&p->side[1].c, p->now);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 0);
	p->liar = true;
	q->liar = true;
	pair_free(p);
	pair_free(q);
}

/* What the others bring is left out, but not more than half. */
static void test_light(struct kunit *test)
{
	struct pair *p = pair_connected(test, 3), *q = pair_connected(test, 8);
	struct mroce_share *sh = &p->side[1].share;
	u32 i, k, bytes;

	pair_run(p, 50 * MS, NULL);
	pair_run(q, p->now - q->now, NULL);
	q->side[1].c.plane0.share = sh;
	sh->kbps = PORT_KBPS;
	data_comes(q, true);
	/* nothing is taken from who has only that */
	expect_offer(p, PORT_KBPS / 20 * 19 / 2);
	for (k = 0; k < 2; k++) {
		/* 8 bytes and what is around them, each microsecond or two */
		bytes = 0;
		for (i = 0; i < 2000; i++) {
			data_comes(p, false);
			bytes += 8 + 38 + p->side[1].c.cfg.l3_len;
			p->now += k ? 200 : 2000;
			q->now = p->now;
			offered(q);
		}
		if (k) {
			KUNIT_EXPECT_EQ(test, offered(q), PORT_KBPS / 2);
			continue;
		}
		KUNIT_EXPECT_LT(test, offered(q), PORT_KBPS / 100 * 75);
		KUNIT_EXPECT_GT(test, offered(q), PORT_KBPS / 100 * 65);
	}
	p->now += SEC;
	q->now = p->now;
	KUNIT_EXPECT_GT(test, offered(q), PORT_KBPS / 100 * 99);
	p->liar = true;
	q->liar = true;
	pair_free(q);
	pair_free(p);
}

/* One alone is not held back by what it brings itself: the ends of Writes, and
 * answers that are a packet each.
 */
static void test_alone(struct kunit *test)
{
	struct pair *p = pair_connected(test, 9);
	u64 t0;
	int i;

	p->side[0].share.kbps = 100000;
	p->side[1].share.kbps = 100000;
	t0 = p->now;
	for (i = 0; i < 400; i++) {
		pair_post(p, 0, 0, MROCE_OP_READ_REQ, 1000, 0, false);
		if (i % 100 == 99)
			KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * SEC,
							 pair_all_done));
	}
	/* 35 ms with what is around them */
	KUNIT_EXPECT_LT(test, p->now - t0, 42 * MS);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->side[1].share.n_backlogged), 0);
	pair_free(p);
}

/* The probe for a lost tail waits for its turn: that is no reason to leave the
 * route.
 */
static void test_probe_waits(struct kunit *test)
{
	struct pair *p = pair_new(test, 10, 9000);
	int i;

	pair_up(p, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open));
	p->side[1].share.kbps = 20000;
	p->net.loss = 3000;
	for (i = 0; i < 100; i++) {
		pair_post(p, 0, 0, MROCE_OP_WRITE, 60000, 0, false);
		KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * SEC, pair_all_done));
	}
	KUNIT_EXPECT_GT(test, pair_cnt(p, MROCE_CNT_TLP), 3ULL);
	KUNIT_EXPECT_LE(test, pair_cnt(p, MROCE_CNT_RTO), 2ULL);
	KUNIT_EXPECT_LE(test, pair_cnt(p, MROCE_CNT_REHOME), 5ULL);
	pair_free(p);
}

/* The first hint comes with INIT_ACK, and counts who has asked. */
static void test_first(struct kunit *test)
{
	struct pair *p = pair_new(test, 4, 1500);

	p->side[1].share.kbps = PORT_KBPS;
	pair_up(p, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open));
	KUNIT_EXPECT_EQ(test, p->side[0].c.plane0.pace_kbps, PORT_KBPS);
	KUNIT_EXPECT_EQ(test, p->side[1].c.plane0.pace_kbps, 0U);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->side[1].share.n_backlogged), 1);
	pair_run(p, 30 * MS, NULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->side[1].share.n_backlogged), 0);
	pair_free(p);
}

static u64 time_of(struct pair *p, u8 opcode)
{
	u64 t0;
	int i;

	/* to hear what is offered now */
	pair_post(p, 0, 0, opcode, 100, 0, false);
	KUNIT_EXPECT_TRUE(p->test, pair_run(p, 5 * SEC, pair_all_done));
	t0 = p->now;
	for (i = 0; i < 10; i++)
		pair_post(p, 0, 0, opcode, 60000, 0, false);
	KUNIT_EXPECT_TRUE(p->test, pair_run(p, 5 * SEC, pair_all_done));
	return p->now - t0;
}

/* 600,000 bytes at what is offered: Writes, and answers the other way. */
static void test_paced(struct kunit *test)
{
	struct pair *p = pair_connected(test, 5);
	u64 ns;

	KUNIT_EXPECT_LT(test, time_of(p, MROCE_OP_WRITE), 20 * MS);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_PACED), 0ULL);
	p->side[1].share.kbps = 100000;
	ns = time_of(p, MROCE_OP_WRITE);
	KUNIT_EXPECT_GT(test, ns, 45 * MS);
	KUNIT_EXPECT_LT(test, ns, 60 * MS);
	KUNIT_EXPECT_GT(test, pair_cnt(p, MROCE_CNT_PACED), 100ULL);
	ns = time_of(p, MROCE_OP_READ_REQ);
	KUNIT_EXPECT_LT(test, ns, 20 * MS);
	p->side[0].share.kbps = 100000;
	ns = time_of(p, MROCE_OP_READ_REQ);
	KUNIT_EXPECT_GT(test, ns, 45 * MS);
	KUNIT_EXPECT_LT(test, ns, 60 * MS);
	/* no opinion any more */
	p->side[0].share.kbps = 0;
	p->side[1].share.kbps = 0;
	pair_run(p, SEC, NULL);
	KUNIT_EXPECT_LT(test, time_of(p, MROCE_OP_WRITE), 20 * MS);
	pair_check_quiet(p);
	pair_free(p);
}

/* Down at once, up by twice in a round trip; an old hint says nothing. */
static void test_hint_obeyed(struct kunit *test)
{
	struct pair *p = pair_connected(test, 6);
	struct mroce_conn *c = &p->side[0].c;
	u64 srtt = conn_srtt_ns(c), now = p->now;

	KUNIT_ASSERT_GT(test, srtt, 0ULL);
	pace_hint(c, 8000, now);
	KUNIT_EXPECT_EQ(test, c->plane0.pace_kbps, 8000U);
	pace_hint(c, 1000, now);
	KUNIT_EXPECT_EQ(test, c->plane0.pace_kbps, 1000U);
	pace_hint(c, PORT_KBPS, now + srtt / 2);
	KUNIT_EXPECT_EQ(test, c->plane0.pace_kbps, 1000U);
	pace_hint(c, PORT_KBPS, now + srtt);
	KUNIT_EXPECT_EQ(test, c->plane0.pace_kbps, 2000U);
	pace_hint(c, 0, now + 2 * srtt);
	KUNIT_EXPECT_EQ(test, c->plane0.pace_kbps, 2000U);
	pace_hint(c, 3000, now + 2 * srtt);
	KUNIT_EXPECT_EQ(test, c->plane0.pace_kbps, 3000U);
	now += 2 * srtt;
	pace_sent(c, 0, 1000000, now);
	KUNIT_EXPECT_FALSE(test, pace_ok(c, now));
	KUNIT_EXPECT_FALSE(test, pace_ok(c, now + 9 * MS));
	KUNIT_EXPECT_TRUE(test, pace_ok(c, now + 10 * MS));
	KUNIT_EXPECT_EQ(test, c->plane0.pace_kbps, 3000U);
	pace_sent(c, 0, 1000000, now + 10 * MS);
	KUNIT_EXPECT_TRUE(test, pace_ok(c, now + 10 * MS + 8 * srtt));
	KUNIT_EXPECT_EQ(test, c->plane0.pace_kbps, 0U);
	pair_free(p);
}

/* However little is offered: a packet each 10 ms. */
static void test_floor(struct kunit *test)
{
	struct pair *p = pair_connected(test, 7);

	p->side[1].share.kbps = 1;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 10000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 10000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 300 * MS, pair_all_done));
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->n_err_done, 0U);
	pair_free(p);
}

/* The next packet of side 0, or type 0: none. */
static const struct mroce_pkt *sent(struct pair *p)
{
	return pair_sent(p, 0);
}

static bool more(struct pair *p, u8 opcode)
{
	const struct mroce_pkt *pkt = sent(p);

	KUNIT_EXPECT_EQ(p->test, pkt->opcode, opcode);
	return pkt->flags & MROCE_F_BACKLOG;
}

/* Who says that more is coming: the same message, stream or connection has it (rule
 * 46).
 */
static void test_backlog_flag(struct kunit *test)
{
	struct pair *p = pair_connected(test, 11);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx;
	struct mroce_pkt pkt;
	u32 psn;

	pair_up(p, 1);
	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_EXPECT_FALSE(test, more(p, MROCE_OP_WRITE));
	/* of one message */
	pair_post(p, 0, 0, MROCE_OP_WRITE, 2000, 0, false);
	pkt = *sent(p);
	psn = pkt.psn;
	KUNIT_EXPECT_TRUE(test, pkt.flags & MROCE_F_BACKLOG);
	KUNIT_EXPECT_FALSE(test, more(p, MROCE_OP_WRITE));
	/* sent again it says the same */
	tx = c->tx[c->cur_tx];
	path_tx_mark_lost(c, tx, psn);
	tx->rtx_budget = 1;
	pkt = *sent(p);
	KUNIT_EXPECT_EQ(test, pkt.psn, psn);
	KUNIT_EXPECT_TRUE(test, pkt.flags & MROCE_F_BACKLOG);
	/* of one stream, of two; what asks for data brings none */
	path_set_window(c, tx, 64 << 8);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 8, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_EXPECT_TRUE(test, more(p, MROCE_OP_WRITE));
	KUNIT_EXPECT_FALSE(test, more(p, MROCE_OP_READ_REQ));
	KUNIT_EXPECT_FALSE(test, more(p, MROCE_OP_WRITE));
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_post(p, 0, 1, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_EXPECT_TRUE(test, more(p, MROCE_OP_WRITE));
	KUNIT_EXPECT_FALSE(test, more(p, MROCE_OP_WRITE));
	/* an answer speaks of itself only */
	pkt = forge_data(p, 0, 0, MROCE_OP_READ_REQ,
			 pair_ts(p, 0, 0)->s.msn_rcv);
	pkt.data.len = 2000;
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 0, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, sent(p)->type, MROCE_T_ACK);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_EXPECT_TRUE(test, more(p, MROCE_OP_READ_RESP));
	KUNIT_EXPECT_FALSE(test, more(p, MROCE_OP_READ_RESP));
	pair_free(p);
}

/* So long a connection is counted that is silent, or has asked only (rule 46); a
 * request without payload is neither.
 */
static void test_backlog_time(struct kunit *test)
{
	struct pair *p = pair_connected(test, 12);
	struct mroce_share *sh = &p->side[1].share;
	struct mroce_conn *c = &p->side[1].c;
	struct mroce_pkt pkt;

	sh->kbps = PORT_KBPS;
	data_comes(p, true);
	p->now += 10 * MS;
	mroce_conn_timer(c, p->now);
	data_comes(p, true);
	p->now += 20 * MS - 1;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 1);
	p->now++;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 0);

	pkt = forge_data(p, 1, 0, MROCE_OP_READ_REQ,
			 pair_ts(p, 1, 0)->s.msn_rcv);
	pkt.flags |= MROCE_F_BACKLOG;
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&sh->light_bytes), 0);

	share_first_kbps(c, p->now);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 1);
	p->now += MS - 1;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 1);
	p->now++;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 0);
	p->liar = true;
	pair_free(p);
}

/* A packet without BACKLOG says that nothing follows, on no plane (rule 46). */
static void test_backlog_planes(struct kunit *test)
{
	struct pair *p = pair_with_planes(test, 16, 2, 2, 0);
	struct mroce_share other = { .kbps = PORT_KBPS };
	struct mroce_share *sh = &p->side[1].share;
	struct mroce_conn *c = &p->side[1].c;
	struct mroce_pkt pkt = { .payload_len = 8, .flags = MROCE_F_BACKLOG };

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	pair_run(p, 50 * MS, NULL);
	sh->kbps = PORT_KBPS;
	pair_own(p, 1, 1)->share = &other;
	pair_set_planes(p, 1);
	for (c->rx_plane = 0; c->rx_plane < 2; c->rx_plane++)
		share_rx(c, &pkt, p->now);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&other.n_backlogged), 1);
	c->rx_plane = 0;
	pkt.flags = 0;
	share_rx(c, &pkt, p->now);
	KUNIT_EXPECT_EQ(test, atomic_read(&sh->n_backlogged), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&other.n_backlogged), 0);
	pair_own(p, 1, 1)->share = NULL;
	pair_set_planes(p, 1);
	pair_free(p);
}

/* All DATA waits for its turn, what was lost as well; nothing else does (rule 47). */
static void test_what_is_paced(struct kunit *test)
{
	struct pair *p = pair_connected(test, 13);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx;
	struct mroce_pkt pkt;
	u32 msn = pair_ts(p, 0, 0)->s.msn_rcv;

	p->net.cut = true;
	pace_hint(c, 1000, p->now);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, false);
	pkt = *sent(p);
	KUNIT_EXPECT_EQ(test, pkt.type, MROCE_T_DATA);
	tx = c->tx[c->cur_tx];
	path_tx_mark_lost(c, tx, pkt.psn);
	tx->rtx_budget = 1;
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
	pkt = forge_write(p, 0, 0, msn, 0, 0);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 0, &pkt, NULL));
	pkt = forge_data(p, 0, 0, MROCE_OP_SEND, msn + 1);
	KUNIT_EXPECT_FALSE(test, forge_accept(p, 0, &pkt, NULL));
	pkt = forge_ctrl(p, 0, MROCE_CTRL_PROBE);
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, sent(p)->type, MROCE_T_CONTROL);
	KUNIT_EXPECT_EQ(test, sent(p)->type, MROCE_T_NAK);
	KUNIT_EXPECT_EQ(test, sent(p)->type, MROCE_T_ACK);
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
	p->now = c->plane0.pace_ns;
	KUNIT_EXPECT_TRUE(test, sent(p)->flags & MROCE_F_RETX);
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
	pair_free(p);
}

/* Who is late makes up for 100 us, not for all that he missed (rule 47). */
static void test_made_up_for(struct kunit *test)
{
	struct pair *p = pair_connected(test, 14);
	struct mroce_conn *c = &p->side[0].c;
	u32 n = 0, bytes;

	pace_hint(c, PORT_KBPS, p->now);
	c->plane0.pace_ns = 0;
	/* 10 us each */
	bytes = 1250 - 38 - c->cfg.l3_len;
	for (; pace_ok(c, p->now); n++)
		pace_sent(c, 0, bytes, p->now);
	KUNIT_EXPECT_EQ(test, n, 11U);
	pair_free(p);
}

/* How old a hint may be: 10 ms, on a long route 8 round trips (rule 47). */
static void test_old_hint(struct kunit *test)
{
	static const u64 srtt[] = { 20 * US, 5 * MS };
	static const u64 age[] = { 10 * MS, 40 * MS };
	int i, k;

	for (i = 0; i < 2; i++) {
		struct pair *p = pair_connected(test, 15);
		struct mroce_conn *c = &p->side[0].c;

		for (k = 0; k < c->n_tx; k++)
			c->tx[k]->srtt_ns = srtt[i];
		pace_hint(c, 1000, p->now);
		pace_sent(c, 0, 8, p->now + age[i]);
		KUNIT_EXPECT_EQ(test, c->plane0.pace_kbps, 1000U);
		pace_sent(c, 0, 8, p->now + age[i] + 1);
		KUNIT_EXPECT_EQ(test, c->plane0.pace_kbps, 0U);
		pair_free(p);
	}
}

static struct kunit_case share_cases[] = {
	KUNIT_CASE(test_backlog_flag),
	KUNIT_CASE(test_backlog_time),
	KUNIT_CASE(test_backlog_planes),
	KUNIT_CASE(test_what_is_paced),
	KUNIT_CASE(test_made_up_for),
	KUNIT_CASE(test_old_hint),
	KUNIT_CASE(test_offer),
	KUNIT_CASE(test_light),
	KUNIT_CASE(test_alone),
	KUNIT_CASE(test_first),
	KUNIT_CASE(test_paced),
	KUNIT_CASE(test_hint_obeyed),
	KUNIT_CASE(test_floor),
	KUNIT_CASE(test_probe_waits),
	{}
};

static struct kunit_suite share_suite = {
	.name = "metaroce-share",
	.test_cases = share_cases,
};

kunit_test_suite(share_suite);
