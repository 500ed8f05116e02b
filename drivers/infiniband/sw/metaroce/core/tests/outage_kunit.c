// SPDX-License-Identifier: GPL-2.0
/*
 * When a plane is given up, how it is asked, how its paths leave and come home; and who
 * may say what of planes. plane_kunit.c has the same under traffic (rules 32, 34, 44).
 */
#include "forge.h"
#include "../internal.h"

static bool planes_up(struct pair *p)
{
	int i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < MROCE_MAX_PLANES; k++)
			if (pair_own(p, i, k)->joined &&
			    pair_plane_state(p, i, k) != MROCE_PLANE_UP)
				return false;
	return pair_open_and_done(p);
}

/* @n planes, each with its paths; nothing is outstanding, all is known. */
static struct pair *planes_used(struct kunit *test, u64 seed, int n)
{
	struct pair *p = pair_with_planes(test, seed, n, n, 0);
	struct mroce_conn *c = &p->side[0].c;
	int i;

	pair_ts(p, 0, 0)->s.a.timeout = 0;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, planes_up));
	for (i = 0; i < 40; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	pair_run(p, 5 * MS, NULL);
	KUNIT_ASSERT_EQ(test, c->n_tx, n * MROCE_DEF_PATHS);
	for (i = 0; i < c->n_tx; i++) {
		c->tx[i]->srtt_ns = 20 * US;
		c->tx[i]->rttvar_ns = 5 * US;
	}
	return p;
}

/* The @i-th path of side 0 that was opened on @plane. */
static struct mroce_path_tx *path_of(struct pair *p, int plane, int i)
{
	struct mroce_conn *c = &p->side[0].c;
	int k;

	for (k = 0; k < c->n_tx; k++)
		if (c->tx[k]->home == plane && !i--)
			return c->tx[k];
	return NULL;
}

static int paths_on(struct pair *p, int plane)
{
	const struct mroce_conn *c = &p->side[0].c;
	int i, n = 0;

	for (i = 0; i < c->n_tx; i++)
		n += c->tx[i]->plane == plane;
	return n;
}

/* The path was asked 400 us ago, and nobody has been heard since. */
static void silent(struct pair *p, struct mroce_path_tx *tx)
{
	tx->tlp_sent_ns = p->now - 400 * US;
	mroce_conn_rehome(&p->side[0].c, tx, p->now);
}

/* A packet is under way on that path. */
static void out(struct pair *p, struct mroce_path_tx *tx)
{
	p->net.cut = true;
	p->side[0].c.cur_tx = tx->id;
	p->side[0].c.burst = 0;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_pump(p, 0);
	KUNIT_ASSERT_EQ(p->test, tx->nxt - tx->una, 1U);
}

/* The next packet of side 0, or type 0: none. */
static const struct mroce_pkt *sent(struct pair *p)
{
	return pair_sent(p, 0);
}

/* Two paths within a round trip, or 200 us; not one, not later, not while a third is
 * heard, and not the last plane (rule 34).
 */
static void test_two_silent(struct kunit *test)
{
	struct pair *p = planes_used(test, 190, 2);
	struct mroce_path_tx *other = path_of(p, 1, 3);
	u8 epoch = path_of(p, 1, 0)->epoch;

	silent(p, path_of(p, 1, 0));
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_UP);
	KUNIT_EXPECT_EQ(test, path_of(p, 1, 0)->epoch, (u8)(epoch + 1));
	KUNIT_EXPECT_EQ(test, paths_on(p, 1), 4);
	p->now += 200 * US + 1;
	silent(p, path_of(p, 1, 1));
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_UP);
	other->last_rx_ns = p->now;
	silent(p, path_of(p, 1, 2));
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_UP);
	other->last_rx_ns = 0;
	p->now += 200 * US;
	path_of(p, 1, 2)->rehomes = 0;
	silent(p, path_of(p, 1, 2));
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_DOWN);
	KUNIT_EXPECT_EQ(test, paths_on(p, 1), 0);

	silent(p, path_of(p, 0, 0));
	silent(p, path_of(p, 0, 1));
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 0), MROCE_PLANE_UP);
	KUNIT_EXPECT_EQ(test, paths_on(p, 0), 8);
	pair_free(p);

	/* one, twice in a row */
	p = planes_used(test, 191, 2);
	silent(p, path_of(p, 1, 0));
	p->now += SEC;
	silent(p, path_of(p, 1, 0));
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_DOWN);
	pair_free(p);
}

/* Its paths spread over what is left, without a burst and without a past (rule 34). */
static void test_leave(struct kunit *test)
{
	struct pair *p = planes_used(test, 192, 3);
	struct mroce_path_tx *tx = path_of(p, 1, 0);
	u32 psn = tx->nxt;

	out(p, tx);
	tx->backoff = 3;
	tx->rehomes = 1;
	silent(p, tx);
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_DOWN);
	KUNIT_EXPECT_EQ(test, paths_on(p, 0), 6);
	KUNIT_EXPECT_EQ(test, paths_on(p, 2), 6);
	KUNIT_EXPECT_EQ(test, tx->una, psn);
	KUNIT_EXPECT_EQ(test, tx->n_lost, 1U);
	KUNIT_EXPECT_EQ(test, tx->rtx_budget, 0);
	KUNIT_EXPECT_EQ(test, tx->backoff, 0);
	KUNIT_EXPECT_EQ(test, tx->rehomes, 0);
	KUNIT_EXPECT_EQ(test, sent(p)->psn, psn);
	pair_free(p);
}

/* Asked after 10 ms, then after twice the time, up to 5 s, by packets as large as they
 * can be, and while somebody wants to know (rule 34).
 */
static void test_asked(struct kunit *test)
{
	struct pair *p = planes_used(test, 193, 2);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_plane *pl = mroce_plane_of(c, 1);
	u64 last = p->now, want = 10 * MS;
	int i;

	p->net.dead_planes = BIT(1);
	silent(p, path_of(p, 1, 0));
	silent(p, path_of(p, 1, 1));
	KUNIT_ASSERT_EQ(test, pl->state, MROCE_PLANE_DOWN);
	for (i = 0; i < 14; i++) {
		KUNIT_EXPECT_LE(test, mroce_conn_deadline(c), pl->probe_at);
		p->now = pl->probe_at;
		mroce_conn_timer(c, p->now);
		KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_CTRL_PROBE);
		KUNIT_EXPECT_EQ(test, p->txd.plane, 1);
		KUNIT_EXPECT_EQ(test, p->txd.lin_len + p->txd.pad_bytes + 28,
				1500);
		KUNIT_EXPECT_GE(test, p->now - last, want - want / 4);
		KUNIT_EXPECT_LE(test, p->now - last, want + want / 4);
		last = p->now;
		want = min(2 * want, 5 * SEC);
	}
	pair_reset(p, 0, 0);
	pair_reset(p, 0, 1);
	p->now += 20 * SEC;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
	pair_free(p);
}

/* Answered: one path per round trip goes home, when nothing of it is under way, or at
 * once if it is silent; until then it takes nothing new (rule 34).
 */
static void test_go_home(struct kunit *test)
{
	struct pair *p = planes_used(test, 194, 2);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_plane *pl = mroce_plane_of(c, 1);
	struct mroce_path_tx *busy = path_of(p, 1, 1);
	struct mroce_path_tx *mute = path_of(p, 1, 2);
	struct mroce_pkt ack;
	u32 cwnd;

	p->net.cut = true;
	silent(p, path_of(p, 1, 0));
	silent(p, path_of(p, 1, 3));
	KUNIT_ASSERT_EQ(test, paths_on(p, 0), 8);
	out(p, busy);
	out(p, mute);
	mute->backoff = 1;
	p->now = pl->probe_at;
	c->path_deadline = MROCE_NEVER;		/* nothing else happens */
	busy->deadline = MROCE_NEVER;
	mute->deadline = MROCE_NEVER;
	mroce_conn_timer(c, p->now);
	ack = *sent(p);
	KUNIT_EXPECT_EQ(test, ack.opcode, MROCE_CTRL_PROBE);
	ack.opcode = MROCE_CTRL_PROBE_ACK;
	ack.conn = c->id;
	forge_rx_on(p, 0, 1, &ack);
	KUNIT_EXPECT_EQ(test, pl->state, MROCE_PLANE_UP);

	/* the first one is idle */
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, path_of(p, 1, 0)->plane, 1);
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, paths_on(p, 1), 1);
	KUNIT_EXPECT_FALSE(test, busy->leaving);
	p->now += 20 * US - 1;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_FALSE(test, busy->leaving);
	p->now++;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_TRUE(test, busy->leaving);
	KUNIT_EXPECT_EQ(test, busy->plane, 0);
	/* it is next, and has room, but goes */
	cwnd = busy->cc.cwnd_x256 >> 8;
	KUNIT_EXPECT_GT(test, cwnd, busy->inflight);
	c->cur_tx = busy->id;
	c->burst = 0;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_EXPECT_NE(test, sent(p)->path, busy->id);

	/* acknowledged: now; the silent one in its turn, with what it has */
	p->now += 20 * US;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, busy->plane, 0);
	KUNIT_EXPECT_EQ(test, busy->n_lost, 0U);
	ack = forge_ack(p, 0, busy->id);
	ack.psn = busy->una;
	ack.ack.echo_ts = busy->last_ts;
	forge_rx(p, 0, &ack, NULL);
	p->now += 20 * US;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, busy->plane, 1);
	p->now += 20 * US;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, mute->plane, 1);
	KUNIT_EXPECT_EQ(test, mute->nxt - mute->una, 1U);
	KUNIT_EXPECT_EQ(test, mute->n_lost, 1U);
	pair_free(p);
}

/* Handshake, RESET and CLOSE are plane 0's, proven or not the others (rule 44). */
static void test_plane0_only(struct kunit *test)
{
	struct pair *p = planes_used(test, 195, 2);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_pkt pkt = forge_ctrl(p, 0, MROCE_CTRL_CLOSE);
	u64 dropped = c->cnt[MROCE_CNT_RX_PLANE];

	pkt.ctrl.cookie = c->peer_nonce;
	forge_rx_on(p, 0, 1, &pkt);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_OPEN);
	pkt.opcode = MROCE_CTRL_INIT;
	forge_rx_on(p, 0, 1, &pkt);
	KUNIT_EXPECT_FALSE(test, c->want_probe);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RX_PLANE], dropped + 2);
	pkt.opcode = MROCE_CTRL_CLOSE;
	forge_rx_on(p, 0, 0, &pkt);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_INIT);
	pair_free(p);
}

/* A change is announced until an answer is to what was said after it; a list is newer,
 * or the last one is a minute old (rule 44).
 */
static void test_announcement(struct kunit *test)
{
	struct pair *p = planes_used(test, 196, 2);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_pkt ack, init;
	u64 last, want = 20 * MS;
	int i;

	p->net.cut = true;
	pair_own(p, 0, 1)->drain = true;
	p->now += MS;
	pair_set_planes(p, 0);
	init = *sent(p);
	KUNIT_EXPECT_EQ(test, init.opcode, MROCE_CTRL_INIT);
	KUNIT_EXPECT_EQ(test, init.init.nonce, c->nonce);
	KUNIT_EXPECT_LT(test, init.init.n_planes, 2);
	for (i = 1; i < 12; i++) {
		last = p->now;
		p->now = c->init_at;
		mroce_conn_timer(c, p->now);
		KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_CTRL_INIT);
		if (i > 5)
			want = min(2 * want, SEC);
		KUNIT_EXPECT_GE(test, p->now - last, want - want / 4);
		KUNIT_EXPECT_LE(test, p->now - last, want + want / 4);
	}
	ack = forge_ctrl(p, 0, MROCE_CTRL_INIT_ACK);
	ack.init.nonce = c->peer_nonce;
	ack.init.peer_nonce = c->nonce;
	ack.ts = c->mp->list_ts;
	ack.psn = c->mp->change_ts - 1;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_TRUE(test, c->mp->announce);
	ack.psn++;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_FALSE(test, c->mp->announce);
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);

	/* that was no newer list; a minute later it is one */
	KUNIT_EXPECT_TRUE(test, c->mp->peer & BIT(1));
	p->now = c->mp->list_ns + 60 * SEC - 1;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_TRUE(test, c->mp->peer & BIT(1));
	p->now++;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_FALSE(test, c->mp->peer & BIT(1));
	pair_free(p);
}

/* Who is asked on a plane that it has not proven asks before it answers, and answers
 * once per ms (rule 44).
 */
static void test_ask_first(struct kunit *test)
{
	struct pair *p = pair_with_planes(test, 197, 2, 2, BIT(1));
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_pkt probe;
	int i;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	pair_run(p, 500 * MS, NULL);
	p->net.cut = true;
	p->now = mroce_plane_of(c, 1)->probe_ns + 16 * MS;
	probe = forge_ctrl(p, 0, MROCE_CTRL_PROBE);
	for (i = 0; i < 2; i++) {
		forge_rx_on(p, 0, 1, &probe);
		KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_CTRL_PROBE);
		KUNIT_EXPECT_EQ(test, p->txd.plane, 1);
		KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_CTRL_PROBE_ACK);
		KUNIT_EXPECT_EQ(test, p->txd.plane, 1);
		p->now += MS - 1;
		forge_rx_on(p, 0, 1, &probe);
		KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
		p->now++;
		/* answered again, but not asked so soon */
		forge_rx_on(p, 0, 1, &probe);
		KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_CTRL_PROBE_ACK);
		KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
		p->now += 16 * MS;
	}
	pair_free(p);
}

/* Nor does it ask within a ms of having asked by itself (rule 44). */
static void test_asked_just_now(struct kunit *test)
{
	struct pair *p = planes_used(test, 200, 2);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_plane *pl = mroce_plane_of(c, 1);
	struct mroce_pkt probe = forge_ctrl(p, 0, MROCE_CTRL_PROBE);

	p->net.cut = true;
	silent(p, path_of(p, 1, 0));
	silent(p, path_of(p, 1, 1));
	KUNIT_ASSERT_EQ(test, pl->state, MROCE_PLANE_DOWN);
	p->now = pl->probe_at;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_CTRL_PROBE);
	p->now += MS - 1;
	forge_rx_on(p, 0, 1, &probe);
	KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_CTRL_PROBE_ACK);
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
	p->now += MS;
	forge_rx_on(p, 0, 1, &probe);
	KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_CTRL_PROBE);
	KUNIT_EXPECT_EQ(test, sent(p)->opcode, MROCE_CTRL_PROBE_ACK);
	pair_free(p);
}

/* Where an answer would go is gone: it goes by another plane (rule 32). */
static void test_answer_elsewhere(struct kunit *test)
{
	struct pair *p = planes_used(test, 198, 2);
	struct mroce_conn *c = &p->side[1].c;
	int i, n = 0;

	for (i = 0; i < c->rx_room; i++)
		n += c->rx[i] && c->rx[i]->plane == 1;
	KUNIT_EXPECT_EQ(test, n, 4);
	pair_own(p, 1, 1)->joined = false;
	pair_set_planes(p, 1);
	for (i = 0; i < c->rx_room; i++)
		if (c->rx[i])
			KUNIT_EXPECT_EQ(test, c->rx[i]->plane, 0);
	pair_free(p);
}

/* A burst goes to the emptiest plane, whose turn it may not be (rule 36). */
static void test_emptiest_plane(struct kunit *test)
{
	struct pair *p = planes_used(test, 199, 2);
	struct mroce_conn *c = &p->side[0].c;
	int k;

	for (k = 0; k < 2; k++) {
		out(p, path_of(p, k, 0));
		c->cur_tx = path_of(p, !k, 0)->id;
		c->burst = U8_MAX;
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
		KUNIT_EXPECT_EQ(test, sent(p)->type, MROCE_T_DATA);
		KUNIT_EXPECT_EQ(test, p->txd.plane, !k);
		p->net.cut = false;
		KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	}
	pair_free(p);
}

static struct kunit_case outage_cases[] = {
	KUNIT_CASE(test_two_silent),
	KUNIT_CASE(test_leave),
	KUNIT_CASE(test_emptiest_plane),
	KUNIT_CASE(test_asked),
	KUNIT_CASE(test_go_home),
	KUNIT_CASE(test_plane0_only),
	KUNIT_CASE(test_announcement),
	KUNIT_CASE(test_ask_first),
	KUNIT_CASE(test_asked_just_now),
	KUNIT_CASE(test_answer_elsewhere),
	{}
};

static struct kunit_suite outage_suite = {
	.name = "metaroce-outage",
	.test_cases = outage_cases,
};

kunit_test_suite(outage_suite);
