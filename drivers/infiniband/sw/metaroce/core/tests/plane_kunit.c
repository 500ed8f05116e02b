// SPDX-License-Identifier: GPL-2.0
/*
 * Planes: proof before use, death and return under traffic, removal, draining.
 * Whatever happens to a plane, streams lose nothing and hear of nothing.
 */
#include "forge.h"
#include "../internal.h"

static struct pair *planes_pair(struct kunit *test, u64 seed, int n0, int n1)
{
	struct pair *p = pair_with_planes(test, seed, n0, n1, 0);

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	return p;
}

static bool all_up(struct pair *p)
{
	int i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < MROCE_MAX_PLANES; k++)
			if (pair_own(p, i, k)->joined &&
			    pair_plane_state(p, i, k) != MROCE_PLANE_UP)
				return false;
	return true;
}

static int paths_on(const struct mroce_conn *c, int plane)
{
	int i, n = 0;

	for (i = 0; i < c->n_tx; i++)
		n += c->tx[i]->plane == plane;
	return n;
}

static bool all_home(struct pair *p)
{
	int i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < p->side[i].c.n_tx; k++)
			if (p->side[i].c.tx[k]->plane !=
			    p->side[i].c.tx[k]->home)
				return false;
	return true;
}

/* Sends, whose contents the receiver checks, Writes and Reads, both ways. */
static void load(struct pair *p, int n)
{
	u32 place;
	int i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < 2; k++) {
			/* where those before have been: not before they end */
			place = pair_ts(p, k, 1)->n_posted % 8;
			pair_post_recv(p, !k, 0, 1);
			pair_post(p, k, 0, MROCE_OP_SEND,
				  1 + pair_rand(p, 8000), 0, false);
			pair_post(p, k, 1, MROCE_OP_WRITE, 8000,
				  8192 * place, !place);
			pair_post(p, k, 0, MROCE_OP_READ_REQ, 4000, 0, false);
		}
	}
}

/* What the last Writes brought, and the Reads of what nobody writes. */
static void check_memory(struct pair *p)
{
	struct tstream *ts, *peer;
	int i, k;

	for (i = 0; i < 2; i++) {
		ts = pair_ts(p, i, 1);
		peer = pair_peer(p, i, 1);
		for (k = max_t(int, ts->n_posted - 8, 0);
		     k < (int)ts->n_posted; k++)
			KUNIT_EXPECT_EQ(p->test, 0,
					memcmp(peer->mem + ts->msg[k].m.va,
					       ts->buf + ts->msg[k].buf_off,
					       ts->msg[k].m.len));
		ts = pair_ts(p, i, 0);
		peer = pair_peer(p, i, 0);
		for (k = 0; k < (int)ts->n_posted; k++)
			if (ts->msg[k].m.opcode == MROCE_OP_READ_REQ)
				KUNIT_EXPECT_EQ(p->test, 0,
						memcmp(ts->land +
						       ts->msg[k].buf_off,
						       peer->mem, 4000));
	}
}

static void check_end(struct pair *p)
{
	int i, k;

	KUNIT_EXPECT_TRUE(p->test, pair_run(p, 10 * SEC, pair_open_and_done));
	for (i = 0; i < 2; i++)
		for (k = 0; k < 2; k++)
			KUNIT_EXPECT_EQ(p->test, pair_ts(p, i, k)->n_err_done,
					0U);
	check_memory(p);
	pair_run(p, SEC, NULL);
	pair_check_quiet(p);
}

/* Both ends name four: each is proven, has its paths and carries data. */
static void test_handshake(struct kunit *test)
{
	struct pair *p = planes_pair(test, 1, 4, 4);
	int i, k;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	load(p, 20);
	check_end(p);
	for (i = 0; i < 2; i++) {
		struct mroce_conn *c = &p->side[i].c;

		KUNIT_EXPECT_EQ(test, c->mp->usable, 0xf);
		KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_PLANE_UP], 3ULL);
		KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RX_PLANE], 0ULL);
		KUNIT_EXPECT_FALSE(test, c->mp->announce);
		for (k = 0; k < 4; k++)
			KUNIT_EXPECT_EQ(test, paths_on(c, k), MROCE_DEF_PATHS);
	}
	for (k = 0; k < 4; k++)
		KUNIT_EXPECT_GT(test, p->plane_data[k], 30ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_REHOME), 0ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TX_RETX), 0ULL);
	pair_free(p);
}

/* A plane needs both ends, and the same number there. */
static void test_equal_ids(struct kunit *test)
{
	struct pair *p = planes_pair(test, 2, 3, 3);

	pair_own(p, 1, 1)->joined = false;
	pair_set_planes(p, 1);
	pair_run(p, SEC, NULL);
	load(p, 10);
	check_end(p);
	KUNIT_EXPECT_EQ(test, p->side[0].c.mp->usable, 5);
	KUNIT_EXPECT_EQ(test, p->side[1].c.mp->usable, 5);
	KUNIT_EXPECT_GT(test, p->plane_data[2], 0ULL);
	pair_free(p);

	/* nobody there: as if there were none */
	p = planes_pair(test, 3, 4, 1);
	load(p, 10);
	check_end(p);
	KUNIT_EXPECT_NULL(test, p->side[1].c.mp);
	KUNIT_EXPECT_EQ(test, p->side[0].c.mp->usable, 1);
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_NONE);
	KUNIT_EXPECT_EQ(test, p->side[0].c.n_tx, MROCE_DEF_PATHS);
	pair_free(p);
}

/* No answer: not a packet of DATA goes there, and none is taken from there. */
static void test_proof(struct kunit *test)
{
	struct pair *p = pair_with_planes(test, 4, 2, 2, BIT(1));
	struct mroce_pkt pkt;
	u64 dropped;

	load(p, 20);
	check_end(p);
	KUNIT_EXPECT_EQ(test, p->plane_data[1], 0ULL);
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_UNPROVEN);

	dropped = p->side[1].c.cnt[MROCE_CNT_RX_PLANE];
	pkt = forge_write(p, 1, 0, pair_ts(p, 1, 0)->s.msn_rcv, 0, 0);
	forge_rx_on(p, 1, 1, &pkt);
	KUNIT_EXPECT_EQ(test, p->side[1].c.cnt[MROCE_CNT_RX_PLANE],
			dropped + 1);
	KUNIT_EXPECT_NULL(test, mroce_path_rx_of(&p->side[1].c, FORGED_PATH));

	p->net.dead_planes = 0;
	KUNIT_EXPECT_TRUE(test, pair_run(p, 7 * SEC, all_up));
	load(p, 20);
	check_end(p);
	KUNIT_EXPECT_GT(test, p->plane_data[1], 0ULL);
	pair_free(p);
}

/* What answers a question has to know it, and to come from where it was asked. */
static void test_forged_answer(struct kunit *test)
{
	struct pair *p = pair_with_planes(test, 5, 3, 3, BIT(1) | BIT(2));
	struct mroce_plane *pl;
	struct mroce_pkt ack;

	pair_run(p, 100 * MS, NULL);
	pl = mroce_plane_of(&p->side[0].c, 1);
	KUNIT_ASSERT_TRUE(test, pl->probe_out);
	ack = forge_ctrl(p, 0, MROCE_CTRL_PROBE_ACK);
	ack.ctrl.cookie = pl->probe_cookie ^ 1;
	forge_rx_on(p, 0, 1, &ack);
	KUNIT_EXPECT_EQ(test, pl->state, MROCE_PLANE_UNPROVEN);
	ack.ctrl.cookie = pl->probe_cookie;
	ack.tag ^= 1;
	forge_rx_on(p, 0, 1, &ack);
	KUNIT_EXPECT_EQ(test, pl->state, MROCE_PLANE_UNPROVEN);
	ack.tag ^= 1;
	forge_rx_on(p, 0, 2, &ack);
	KUNIT_EXPECT_EQ(test, pl->state, MROCE_PLANE_UNPROVEN);
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 2), MROCE_PLANE_UNPROVEN);
	forge_rx_on(p, 0, 0, &ack);
	KUNIT_EXPECT_EQ(test, pl->state, MROCE_PLANE_UNPROVEN);
	forge_rx_on(p, 0, 1, &ack);
	KUNIT_EXPECT_EQ(test, pl->state, MROCE_PLANE_UP);
	pair_free(p);
}

/* Dead under traffic: nobody notices. Back: used again, by its own paths. */
static void plane_dies(struct kunit *test, u64 seed, int n, int dead)
{
	struct pair *p = planes_pair(test, seed, n, n);
	u64 before;
	int i;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	load(p, 20);
	pair_run(p, 100 * US, NULL);
	p->net.dead_planes = BIT(dead);
	load(p, 20);
	check_end(p);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, pair_plane_state(p, i, dead),
				MROCE_PLANE_DOWN);
		KUNIT_EXPECT_EQ(test, paths_on(&p->side[i].c, dead), 0);
		KUNIT_EXPECT_EQ(test, p->side[i].c.cnt[MROCE_CNT_PLANE_DOWN],
				1ULL);
	}
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RETRY), 0ULL);

	p->net.dead_planes = 0;
	KUNIT_EXPECT_TRUE(test, pair_run(p, 7 * SEC, all_up));
	before = p->plane_data[dead];
	load(p, 20);
	check_end(p);
	KUNIT_EXPECT_TRUE(test, all_home(p));
	KUNIT_EXPECT_GT(test, p->plane_data[dead], before + 20);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, p->side[i].c.n_tx, n * MROCE_DEF_PATHS);
	pair_free(p);
}

static void test_plane_dies(struct kunit *test)
{
	u64 seed;

	for (seed = 1; seed <= 5; seed++) {
		plane_dies(test, seed, 2, 1);
		plane_dies(test, seed, 4, 2);
	}
}

/* A host that stood still is no dead plane, however many paths wait for it. */
static void test_host_stood_still(struct kunit *test)
{
	struct pair *p = planes_pair(test, 16, 2, 2);
	int i, k;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	load(p, 20);
	check_end(p);
	for (k = 0; k < 5; k++) {
		for (i = 0; i < 40; i++)
			pair_post(p, 0, 0, MROCE_OP_WRITE, 30000, 0, false);
		pair_run(p, 60 * US, NULL);
		p->side[1].stalled = p->now + 900 * US;
		KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	}
	KUNIT_EXPECT_GT(test, p->side[0].c.cnt[MROCE_CNT_RTO], 0ULL);
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 0), MROCE_PLANE_UP);
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_UP);
	KUNIT_EXPECT_EQ(test, p->side[0].c.cnt[MROCE_CNT_MOVED], 0ULL);
	pair_free(p);
}

/* One path is silent, again and again; but another one of the plane is heard. */
static void test_dead_route(struct kunit *test)
{
	struct pair *p = planes_pair(test, 6, 2, 2);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *dead = NULL, *other = NULL;
	int i;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	load(p, 20);
	check_end(p);
	for (i = 0; i < c->n_tx; i++) {
		if (c->tx[i]->plane != 1)
			continue;
		other = dead;
		dead = c->tx[i];
	}
	KUNIT_ASSERT_NOT_NULL(test, other);
	dead->tlp_sent_ns = p->now;
	other->last_rx_ns = p->now + 10 * US;
	p->now += 400 * US;
	for (i = 0; i < 4; i++) {
		u16 sport = dead->sport;

		mroce_conn_rehome(c, dead, p->now);
		KUNIT_EXPECT_NE(test, dead->sport, sport);
		KUNIT_EXPECT_EQ(test, dead->plane, 1);
	}
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_UP);
	/* and now it is not */
	dead->tlp_sent_ns = p->now;
	p->now += 400 * US;
	mroce_conn_rehome(c, dead, p->now);
	KUNIT_EXPECT_EQ(test, dead->plane, 0);
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_DOWN);
	KUNIT_EXPECT_EQ(test, paths_on(c, 1), 0);
	load(p, 5);
	check_end(p);
	pair_free(p);
}

/* That of the handshake is one like others. */
static void test_plane0_dies(struct kunit *test)
{
	u64 seed;

	for (seed = 1; seed <= 5; seed++)
		plane_dies(test, seed, 3, 0);
}

/* Told of it, the sender does not wait for silence. */
static void test_carrier(struct kunit *test)
{
	struct pair *p = planes_pair(test, 7, 2, 2);
	struct mroce_conn *c = &p->side[0].c;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	load(p, 20);
	pair_run(p, 50 * US, NULL);
	KUNIT_EXPECT_GT(test, paths_on(c, 1), 0);
	pair_own(p, 0, 1)->carrier = false;
	pair_set_planes(p, 0);
	KUNIT_EXPECT_EQ(test, paths_on(c, 1), 0);
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_DOWN);
	load(p, 10);
	check_end(p);
	KUNIT_EXPECT_FALSE(test, mroce_plane_of(c, 1)->probe_out);

	/* the last one is not left, it has no other */
	pair_own(p, 0, 0)->carrier = false;
	pair_set_planes(p, 0);
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 0), MROCE_PLANE_UP);
	KUNIT_EXPECT_EQ(test, c->mp->usable, 0);
	load(p, 5);
	pair_run(p, 2 * MS, NULL);
	KUNIT_EXPECT_FALSE(test, pair_all_done(p));
	pair_own(p, 0, 1)->carrier = true;
	pair_set_planes(p, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 2 * SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_UP);
	pair_own(p, 0, 0)->carrier = true;
	pair_set_planes(p, 0);
	check_end(p);
	pair_free(p);
}

/* Taken away at one end, under traffic; and given back. */
static void test_remove(struct kunit *test)
{
	struct pair *p = planes_pair(test, 8, 3, 3);
	int round;
	u64 before;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	for (round = 0; round < 4; round++) {
		load(p, 10);
		pair_run(p, 100 * US, NULL);
		pair_own(p, round & 1, 2)->joined = false;
		pair_set_planes(p, round & 1);
		KUNIT_EXPECT_EQ(test, pair_plane_state(p, round & 1, 2),
				MROCE_PLANE_NONE);
		KUNIT_EXPECT_EQ(test, paths_on(&p->side[round & 1].c, 2), 0);
		load(p, 10);
		check_end(p);
		KUNIT_EXPECT_EQ(test, p->side[0].c.mp->usable, 3);
		KUNIT_EXPECT_EQ(test, p->side[1].c.mp->usable, 3);
		before = p->plane_data[2];
		load(p, 5);
		check_end(p);
		KUNIT_EXPECT_EQ(test, p->plane_data[2], before);

		pair_own(p, round & 1, 2)->joined = true;
		pair_set_planes(p, round & 1);
		KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
		load(p, 10);
		check_end(p);
		KUNIT_EXPECT_GT(test, p->plane_data[2], before);
		KUNIT_EXPECT_EQ(test, p->side[0].c.n_tx, 3 * MROCE_DEF_PATHS);
	}
	pair_free(p);
}

/* Drained: both ends leave it, and nothing is lost or sent twice for that. */
static void test_drain(struct kunit *test)
{
	struct pair *p = planes_pair(test, 9, 2, 2);
	u64 before;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	load(p, 20);
	pair_run(p, 100 * US, NULL);
	pair_own(p, 0, 1)->drain = true;
	pair_set_planes(p, 0);
	pair_run(p, 200 * US, NULL);
	load(p, 20);
	check_end(p);
	before = p->plane_data[1];
	load(p, 20);
	check_end(p);
	KUNIT_EXPECT_EQ(test, p->plane_data[1], before);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TX_RETX), 0ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_PLANE_DOWN), 0ULL);
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_UP);
	KUNIT_EXPECT_EQ(test, p->side[0].c.mp->usable, 1);
	KUNIT_EXPECT_EQ(test, p->side[1].c.mp->usable, 1);

	pair_own(p, 0, 1)->drain = false;
	pair_set_planes(p, 0);
	pair_run(p, MS, NULL);
	load(p, 20);
	check_end(p);
	KUNIT_EXPECT_GT(test, p->plane_data[1], before + 20);
	KUNIT_EXPECT_TRUE(test, all_home(p));
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TX_RETX), 0ULL);
	pair_free(p);
}

/* When a message fails that nobody can receive any more. */
static u64 time_to_fail(struct kunit *test, int n)
{
	struct pair *p = pair_new(test, 10, 1500);
	u64 start, end;

	pair_ts(p, 0, 0)->tune.timeout = 12;
	pair_ts(p, 0, 0)->tune.retry_cnt = 3;
	if (n > 1) {
		pair_planes(p, 0, n);
		pair_planes(p, 1, n);
	}
	pair_up(p, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	pair_run(p, SEC, NULL);
	start = p->now;
	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 10 * SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->n_err_done, 1U);
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->fatal, MROCE_ST_RETRY_EXC);
	end = p->now;
	pair_free(p);
	return end - start;
}

/* All planes down: the verbs' own bound, whatever the number of planes. */
static void test_all_down(struct kunit *test)
{
	u64 one = time_to_fail(test, 1), four = time_to_fail(test, 4);

	KUNIT_EXPECT_GE(test, one, 4 * (4096ULL << 12));
	KUNIT_EXPECT_LE(test, four, one + one / 4);
	KUNIT_EXPECT_GE(test, four, one - one / 4);
}

/* All dead, and one comes back: it carries everything. */
static void test_one_comes_back(struct kunit *test)
{
	struct pair *p = planes_pair(test, 11, 3, 3);
	int i, k;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	for (i = 0; i < 2; i++)
		for (k = 0; k < 2; k++)
			pair_ts(p, i, k)->s.a.timeout = 0;
	load(p, 10);
	pair_run(p, 50 * US, NULL);
	p->net.dead_planes = BIT(0) | BIT(1) | BIT(2);
	load(p, 10);
	pair_run(p, 500 * MS, NULL);
	KUNIT_EXPECT_FALSE(test, pair_all_done(p));
	for (k = 0; k < 3; k++) {
		p->net.dead_planes = 7 & ~BIT(k);
		KUNIT_EXPECT_TRUE(test, pair_run(p, 20 * SEC, pair_all_done));
		load(p, 10);
	}
	check_end(p);
	pair_free(p);
}

/* The peer restarted: its planes are proven anew. */
static void test_restart(struct kunit *test)
{
	struct pair *p = planes_pair(test, 12, 2, 2);
	int i;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	for (i = 0; i < 2; i++) {
		conn_lost(&p->side[i].c, p->now);
		KUNIT_EXPECT_EQ(test, pair_plane_state(p, i, 1),
				MROCE_PLANE_NONE);
	}
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	load(p, 10);
	check_end(p);
	KUNIT_EXPECT_FALSE(test, p->side[0].c.mp->announce);
	KUNIT_EXPECT_FALSE(test, p->side[1].c.mp->announce);
	pair_free(p);
}

/* Planes that join later are told of until the peer says that it knows. */
static void test_join_late(struct kunit *test)
{
	u64 seed;

	for (seed = 1; seed <= 10; seed++) {
		struct pair *p = pair_connected(test, seed);

		p->net.loss = 32768;
		pair_planes(p, 0, 2);
		pair_run(p, 3 * MS, NULL);
		pair_planes(p, 1, 3);
		pair_planes(p, 0, 3);
		pair_run(p, 20 * SEC, NULL);
		p->net.loss = 0;
		KUNIT_EXPECT_TRUE(test, pair_run(p, 7 * SEC, all_up));
		pair_run(p, 2 * SEC, NULL);
		KUNIT_EXPECT_FALSE(test, p->side[0].c.mp->announce);
		KUNIT_EXPECT_FALSE(test, p->side[1].c.mp->announce);
		KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_CONN_LOST), 0ULL);
		pair_free(p);
	}
}

/* A list that was overtaken by a newer one; and one of another incarnation. */
static void test_old_list(struct kunit *test)
{
	struct pair *p = planes_pair(test, 13, 2, 2);
	struct mroce_conn *c = &p->side[1].c;
	struct mroce_pkt init;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	init = forge_ctrl(p, 1, MROCE_CTRL_INIT);
	init.init.n_planes = 1;
	init.init.conn_id = c->peer_id;
	init.init.nonce = c->peer_nonce;
	init.ts = c->mp->list_ts;
	forge_rx_on(p, 1, 0, &init);
	KUNIT_EXPECT_EQ(test, c->mp->usable, 3);
	init.ts++;
	init.init.nonce ^= 1;
	forge_rx_on(p, 1, 0, &init);
	KUNIT_EXPECT_EQ(test, c->mp->usable, 3);
	init.init.nonce ^= 1;
	forge_rx_on(p, 1, 0, &init);
	KUNIT_EXPECT_EQ(test, c->mp->usable, 1);
	pair_free(p);
}

/* Each plane has its own port at the receiver, and its own pace at the sender. */
static void test_hint_by_plane(struct kunit *test)
{
	struct pair *p = pair_new(test, 14, 1500);
	struct mroce_share slow = { .kbps = 100000 };
	struct mroce_conn *c = &p->side[0].c;
	u64 start, on[2];
	int k;

	pair_planes(p, 0, 2);
	pair_planes(p, 1, 2);
	p->side[1].share.kbps = 400000;
	pair_own(p, 1, 1)->share = &slow;
	pair_set_planes(p, 1);
	pair_up(p, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	for (k = 0; k < 100; k++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 20000, 0, false);
	pair_run(p, 5 * MS, NULL);
	KUNIT_EXPECT_EQ(test, mroce_plane_of(c, 0)->pace_kbps, 400000U);
	KUNIT_EXPECT_EQ(test, mroce_plane_of(c, 1)->pace_kbps, 100000U);
	start = p->now;
	for (k = 0; k < 2; k++)
		on[k] = p->plane_data[k];
	pair_run(p, 15 * MS, NULL);
	KUNIT_EXPECT_FALSE(test, pair_all_done(p));
	/* packets of 1420 bytes and their headers, in bits per ms */
	for (k = 0; k < 2; k++) {
		u64 bits = (p->plane_data[k] - on[k]) * 1538 * 8;
		u64 kbps = div64_u64(bits * 1000000, p->now - start);
		u32 want = mroce_plane_of(c, k)->pace_kbps;

		KUNIT_EXPECT_GE(test, kbps, want - want / 10);
		KUNIT_EXPECT_LE(test, kbps, want + want / 10);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&slow.n_backlogged), 1);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	pair_run(p, 25 * MS, NULL);	/* one may overtake the last */
	KUNIT_EXPECT_EQ(test, atomic_read(&slow.n_backlogged), 0);
	pair_own(p, 1, 1)->share = NULL;
	pair_set_planes(p, 1);
	pair_free(p);
}

/* Whoever leaves a plane takes over what the paths have that are elsewhere. */
static void test_mean_window(struct kunit *test)
{
	struct pair *p = planes_pair(test, 15, 2, 2);
	struct mroce_conn *c = &p->side[0].c;
	u64 rtt = 0;
	int i, n = 0;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	load(p, 20);
	check_end(p);
	for (i = 0; i < c->n_tx; i++) {
		c->tx[i]->srtt_ns = c->tx[i]->plane ? 50 * US : ++rtt * MS;
		c->tx[i]->rttvar_ns = c->tx[i]->srtt_ns / 4;
		c->tx[i]->cc.cwnd_x256 = (c->tx[i]->plane ? 200 : 10 + 4 * n++)
					 << 8;
	}
	pair_own(p, 0, 1)->carrier = false;
	pair_set_planes(p, 0);
	KUNIT_EXPECT_EQ(test, paths_on(c, 0), c->n_tx);
	for (i = 0; i < c->n_tx; i++) {
		if (!c->tx[i]->home)
			continue;
		KUNIT_EXPECT_EQ(test, c->tx[i]->cc.cwnd_x256 >> 8, 16U);
		KUNIT_EXPECT_EQ(test, c->tx[i]->srtt_ns, 4 * MS);
		KUNIT_EXPECT_EQ(test, c->tx[i]->rttvar_ns, MS);
	}
	pair_free(p);
}

/* A peer that names one stranger after the other: they hear little of this end. */
static void test_strangers(struct kunit *test)
{
	struct pair *p = pair_with_planes(test, 16, 2, 2, BIT(1));
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_pkt list;
	u64 sent;
	u32 i;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	pair_run(p, 100 * MS, NULL);
	list = forge_ctrl(p, 0, MROCE_CTRL_INIT_ACK);
	list.init.n_planes = 2;
	list.psn = c->mp->change_ts;
	list.init.conn_id = c->peer_id;
	list.init.nonce = c->peer_nonce;
	list.init.peer_nonce = c->nonce;
	sent = c->cnt[MROCE_CNT_TX_CTRL];
	for (i = 1; i <= 1000; i++) {
		list.ts = c->mp->list_ts + 1;
		list.init.plane_addr[1][14] = i >> 8;
		list.init.plane_addr[1][15] = i;
		forge_rx_on(p, 0, 0, &list);
		pair_run(p, MS, NULL);
	}
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_UNPROVEN);
	KUNIT_EXPECT_EQ(test, 0, memcmp(c->mp->peer_addr[1],
					list.init.plane_addr[1], 16));
	KUNIT_EXPECT_GE(test, c->cnt[MROCE_CNT_TX_CTRL], sent + 1);
	KUNIT_EXPECT_LE(test, c->cnt[MROCE_CNT_TX_CTRL], sent + 10);
	pair_free(p);
}

/* And who asks in a stranger's name: a large PROBE is not the price of each. */
static void test_asked_by_stranger(struct kunit *test)
{
	struct pair *p = pair_with_planes(test, 17, 2, 2, BIT(1));
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_pkt probe;
	u32 i, before;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	pair_run(p, 300 * MS, NULL);
	probe = forge_ctrl(p, 0, MROCE_CTRL_PROBE);
	before = mroce_plane_of(c, 1)->n_probes;
	for (i = 0; i < 1000; i++) {
		forge_rx_on(p, 0, 1, &probe);
		pair_pump(p, 0);
		pair_run(p, MS, NULL);
	}
	/* it is asked at once, then not before 16 ms are over */
	KUNIT_EXPECT_GE(test, mroce_plane_of(c, 1)->n_probes, before + 10);
	KUNIT_EXPECT_LE(test, mroce_plane_of(c, 1)->n_probes, before + 70);
	KUNIT_EXPECT_EQ(test, pair_plane_state(p, 0, 1), MROCE_PLANE_UNPROVEN);
	pair_free(p);
}

/* A path that rests changes planes: that is not its first packet for long. */
static void test_move_at_rest(struct kunit *test)
{
	struct pair *p = planes_pair(test, 18, 2, 2);
	struct mroce_conn *c = &p->side[0].c;
	u64 start;
	u32 n = 0;
	int i;

	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, all_up));
	load(p, 20);
	check_end(p);
	/* more than half of what a stamp can tell */
	pair_run(p, 200 * SEC, NULL);
	pair_own(p, 0, 1)->carrier = false;
	pair_set_planes(p, 0);
	for (i = 0; i < c->n_tx; i++)
		KUNIT_EXPECT_GT(test, elapsed(p->now, c->tx[i]->last_tx_ns),
				200 * SEC);
	start = p->now;
	load(p, 20);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	for (i = 0; i < c->n_tx; i++) {
		struct mroce_path_tx *tx = c->tx[i];

		if (tx->last_rx_ns < start)
			continue;
		KUNIT_EXPECT_LT(test, conn_ts(c, p->now) - tx->last_ts,
				(u32)(SEC >> MROCE_TS_SHIFT));
		n += tx->home == 1;
	}
	KUNIT_EXPECT_GT(test, n, 0U);
	check_end(p);
	pair_free(p);
}

/* Everything at any time, with loss and copies: exactly once all the same. */
static void test_chaos(struct kunit *test)
{
	u64 seed, down = 0;

	for (seed = 1; seed <= 30; seed++) {
		struct pair *p = planes_pair(test, seed, 4, 4);
		int i, k, n;

		for (i = 0; i < 2; i++)
			for (k = 0; k < 2; k++)
				pair_ts(p, i, k)->s.a.timeout = 0;
		p->net.loss = pair_rand(p, 2000);
		p->net.dup = pair_rand(p, 2000);
		p->net.reorder = pair_rand(p, 2000);
		p->net.slow_copy = pair_rand(p, 5000);
		for (n = 0; n < 30; n++) {
			struct mroce_plane_own *own;

			load(p, 2);
			i = pair_rand(p, 2);
			k = pair_rand(p, 4);
			own = pair_own(p, i, k);
			switch (pair_rand(p, 4)) {
			case 0:
				p->net.dead_planes ^= BIT(k);
				break;
			case 1:
				own->carrier = !own->carrier;
				break;
			case 2:
				own->joined = !own->joined || !k;
				break;
			case 3:
				own->drain = !own->drain;
				break;
			}
			pair_set_planes(p, i);
			pair_run(p, pair_rand(p, 3 * MS), NULL);
		}
		p->net.dead_planes = 0;
		for (i = 0; i < 2; i++)
			pair_planes(p, i, 4);
		p->net.reorder = 0;
		check_end(p);
		p->net.loss = 0;
		KUNIT_EXPECT_TRUE(test, pair_run(p, 20 * SEC, all_up));
		KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_CONN_LOST), 0ULL);
		down += pair_cnt(p, MROCE_CNT_PLANE_DOWN);
		pair_free(p);
	}
	KUNIT_EXPECT_GT(test, down, 50ULL);
}

static struct kunit_case plane_cases[] = {
	KUNIT_CASE(test_handshake),
	KUNIT_CASE(test_equal_ids),
	KUNIT_CASE(test_proof),
	KUNIT_CASE(test_forged_answer),
	KUNIT_CASE(test_plane_dies),
	KUNIT_CASE(test_host_stood_still),
	KUNIT_CASE(test_dead_route),
	KUNIT_CASE(test_plane0_dies),
	KUNIT_CASE(test_carrier),
	KUNIT_CASE(test_remove),
	KUNIT_CASE(test_drain),
	KUNIT_CASE(test_all_down),
	KUNIT_CASE(test_one_comes_back),
	KUNIT_CASE(test_restart),
	KUNIT_CASE(test_join_late),
	KUNIT_CASE(test_old_list),
	KUNIT_CASE(test_hint_by_plane),
	KUNIT_CASE(test_mean_window),
	KUNIT_CASE(test_strangers),
	KUNIT_CASE(test_asked_by_stranger),
	KUNIT_CASE(test_move_at_rest),
	KUNIT_CASE(test_chaos),
	{}
};

static struct kunit_suite plane_suite = {
	.name = "metaroce-plane",
	.test_cases = plane_cases,
};

kunit_test_suite(plane_suite);
