// SPDX-License-Identifier: GPL-2.0
/*
 * Time. Hosts and routes that stand still for a while, as virtual ones do, while
 * nothing is lost and no route overtakes itself: the transport may then send
 * again what it waits for, but must not see a lossy or reordering network. Two
 * clocks. And what changes with the years of a connection.
 */
#include "forge.h"
#include "../internal.h"

/* Neither endpoint does anything for up to 20 ms, at any time. Afterwards
 * timers may be served before what came in meanwhile.
 */
static void host_stalls(struct pair *p)
{
	struct side *sd = &p->side[pair_rand(p, 2)];

	sd->timers_first = pair_rand(p, 2);
	sd->stalled = max(sd->stalled, p->now + pair_rand(p, 20 * MS));
}

/* The same for what leaves from one source port. */
static void route_stalls(struct pair *p)
{
	struct mroce_conn *c = &p->side[pair_rand(p, 2)].c;

	if (!c->n_tx || p->now < p->net.slow_until)
		return;
	p->net.slow_sport = c->tx[pair_rand(p, c->n_tx)]->sport;
	p->net.slow_until = p->now + pair_rand(p, 20 * MS);
}

static void stall_often(struct kunit *test, void (*stall)(struct pair *p))
{
	u64 seed, moved = 0;

	for (seed = 1; seed <= 20; seed++) {
		struct pair *p = pair_new(test, seed, 1500);
		int i, k;

		pair_up(p, 0);
		pair_up(p, 1);
		pair_ts(p, 0, 0)->s.a.timeout = 0;
		pair_ts(p, 1, 1)->s.a.timeout = 0;
		for (i = 0; i < 40; i++) {
			for (k = 0; k < 2; k++) {
				pair_post(p, 0, 0, MROCE_OP_WRITE,
					  1 + pair_rand(p, 60000), 0, false);
				pair_post(p, 1, 1, MROCE_OP_READ_REQ,
					  1 + pair_rand(p, 60000), 0, false);
			}
			pair_run(p, pair_rand(p, 2 * MS), NULL);
			stall(p);
			KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * SEC,
							 pair_open_and_done));
		}
		moved += pair_cnt(p, MROCE_CNT_REHOME);
		KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RX_REORDER), 0ULL);
		KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_LOST), 0ULL);
		KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_SPURIOUS), 0ULL);
		KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RX_BADACK), 0ULL);
		pair_free(p);
	}
	KUNIT_EXPECT_GT(test, moved, 0ULL);
}

static void test_host_stalls(struct kunit *test)
{
	stall_often(test, host_stalls);
}

static void test_route_stalls(struct kunit *test)
{
	stall_often(test, route_stalls);
}

/* Acknowledgments that overtake each other and come twice are late, not bad. */
static void test_late_acks(struct kunit *test)
{
	struct pair *p = pair_new(test, 3, 1500);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_pkt ack;
	int i;

	pair_up(p, 0);
	p->net.jitter_ns = 2 * MS;
	p->net.dup = 20000;
	for (i = 0; i < 200; i++) {
		pair_post(p, 0, 0, MROCE_OP_WRITE, 3000, 0, false);
		pair_run(p, 100 * US, NULL);
	}
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	pair_run(p, SEC, NULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RX_BADACK), 0ULL);
	KUNIT_EXPECT_GT(test, pair_cnt(p, MROCE_CNT_ACK_STALE), 0ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_LOST), 0ULL);

	/* of what was never sent, or of another age */
	ack = forge_ack(p, 0, 0);
	ack.psn = c->tx[0]->nxt;
	ack.ack.echo_ts = c->tx[0]->last_ts;
	mroce_conn_rx(c, &ack, NULL, NULL, p->now);
	ack.psn = c->tx[0]->una - 2;
	ack.ack.echo_ts = c->tx[0]->last_ts + 1;
	mroce_conn_rx(c, &ack, NULL, NULL, p->now);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RX_BADACK], 2ULL);
	pair_free(p);
}

/* What a route overtakes is counted at the receiver, and is evidence at the
 * sender.
 */
static void test_route_reorders(struct kunit *test)
{
	struct pair *p = pair_new(test, 4, 1500);
	int i;

	pair_up(p, 0);
	for (i = 0; i < 50; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 30000, 0, false);
	p->net.reorder = 2000;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	KUNIT_EXPECT_GT(test, pair_cnt(p, MROCE_CNT_RX_REORDER), 0ULL);
	KUNIT_EXPECT_GT(test, pair_cnt(p, MROCE_CNT_SPURIOUS), 0ULL);
	pair_free(p);
}

/* The host comes back after T_retry has passed, and looks at the clock before it
 * reads the answer that has been there for long (rule 38).
 */
static void test_late_retry(struct kunit *test)
{
	struct pair *p = pair_new(test, 8, 1500);
	struct tstream *a = pair_ts(p, 0, 0);
	int i;

	a->tune.timeout = 1;
	a->tune.retry_cnt = 0;
	pair_up(p, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	for (i = 0; i < 20; i++) {
		pair_post(p, 0, 0, MROCE_OP_WRITE, 3000, 0, false);
		pair_pump(p, 0);
		p->side[0].timers_first = true;
		p->side[0].stalled = p->now + 50 * MS;
		KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	}
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RETRY), 0ULL);
	pair_free(p);
}

/* While a stream waits for memory a refusal comes: that is another reason to
 * wait, and has its price.
 */
static void test_refused_without_memory(struct kunit *test)
{
	struct pair *p = pair_new(test, 9, 1500);
	struct tstream *a = pair_ts(p, 0, 0);

	a->tune.timeout = 12;
	a->tune.retry_cnt = 7;
	a->tune.rnr_retry = 3;
	pair_up(p, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	pair_ts(p, 1, 0)->s.a.min_rnr_timer = 20;	/* 10.24 ms */
	pair_post(p, 0, 0, MROCE_OP_SEND, 100, 0, false);
	pair_pump(p, 0);
	a->no_memory = 1;
	pair_post(p, 0, 0, MROCE_OP_SEND, 100, 0, false);
	pair_pump(p, 0);
	KUNIT_EXPECT_TRUE(test, a->s.held_nomem);
	pair_run(p, 500 * US, NULL);
	KUNIT_EXPECT_EQ(test, a->s.rnr_left, 2);
	KUNIT_EXPECT_GT(test, a->s.hold_until, p->now + 5 * MS);
	pair_post_recv(p, 1, 0, 2);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	pair_free(p);
}

/* The route's MTU is another one when the peer has restarted: INIT says so. */
static void test_link_anew(struct kunit *test)
{
	struct pair *p = pair_new(test, 5, 4000);
	int i;

	pair_up(p, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	p->side[0].link_mtu = 2000;
	p->side[1].link_mtu = 500;	/* IP fragments below that */
	for (i = 0; i < 2; i++)
		conn_lost(&p->side[i].c, p->now);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 60000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	KUNIT_EXPECT_EQ(test, p->side[0].c.peer_mtu, MROCE_MTU_MIN);
	KUNIT_EXPECT_EQ(test, p->side[1].c.peer_mtu, 2000);
	KUNIT_EXPECT_EQ(test, p->side[0].c.mtu, MROCE_MTU_MIN);
	pair_free(p);
}

/* A host is busy for a third of a millisecond now and then: worth a probe, no more. */
static void test_busy_host(struct kunit *test)
{
	struct pair *p = pair_connected(test, 13);
	int i;

	p->net.delay_ns = 10 * US;
	for (i = 0; i < 100; i++) {
		pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
		if (i % 10 == 9)
			p->side[1].stalled = p->now + 330 * US;
		KUNIT_EXPECT_TRUE(test, pair_run(p, MS, pair_all_done));
	}
	KUNIT_EXPECT_GT(test, pair_cnt(p, MROCE_CNT_TLP), 0ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RTO), 0ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_REHOME), 0ULL);
	pair_check_quiet(p);
	pair_free(p);
}

/* The first INIT waited for its neighbour's address: that is no RTT. */
static void test_late_init(struct kunit *test)
{
	struct pair *p = pair_new(test, 15, 1500);

	pair_up(p, 0);
	p->net.delay_ns = 15 * MS;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open));
	KUNIT_EXPECT_EQ(test, p->side[0].c.probe_rtt_ns, 0ULL);
	pair_free(p);

	/* whichever of several it answers */
	p = pair_new(test, 16, 1500);
	p->net.cut = true;
	pair_up(p, 0);
	pair_run(p, 50 * MS, NULL);
	p->net.cut = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open));
	/* in units of 64 ns */
	KUNIT_EXPECT_GT(test, p->side[0].c.probe_rtt_ns,
			2 * p->net.delay_ns - 64);
	KUNIT_EXPECT_LE(test, p->side[0].c.probe_rtt_ns, 2 * p->net.delay_ns);
	pair_free(p);
}

static bool side0_open(struct pair *p)
{
	return p->side[0].c.state == MROCE_CONN_OPEN;
}

/* The answer to the peer's INIT is lost: what was sent before it asks again is of no
 * effect, and does not wait for the path's timeout.
 */
static void test_peer_not_open(struct kunit *test)
{
	struct pair *p = pair_new(test, 12, 1500);
	int i;

	pair_up(p, 0);
	for (i = 0; i < 40; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 1000 * i, false);
	/* both INITs are under way */
	pair_run(p, p->net.delay_ns / 2, NULL);
	p->net.mute[0] = true;
	KUNIT_EXPECT_TRUE(test, pair_run(p, MS, side0_open));
	p->net.mute[0] = false;
	KUNIT_EXPECT_EQ(test, p->side[1].c.state, MROCE_CONN_INIT);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 2 * MS, pair_all_done));
	KUNIT_EXPECT_GT(test, p->side[1].c.cnt[MROCE_CNT_RX_STATE], 0ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_SPURIOUS), 0ULL);
	pair_check_quiet(p);
	pair_free(p);
}

/* Nobody answers and nobody asks any more: such connections do not pile up. */
static void test_never_opened(struct kunit *test)
{
	struct pair *p = pair_new(test, 6, 1500);

	p->net.cut = true;
	pair_up(p, 0);
	pair_run(p, 3 * SEC, NULL);
	KUNIT_EXPECT_EQ(test, p->side[0].c.state, MROCE_CONN_INIT);
	mroce_stream_detach(&pair_ts(p, 0, 0)->s, p->now);
	pair_run(p, 2 * SEC, NULL);
	KUNIT_EXPECT_EQ(test, p->side[0].c.state, MROCE_CONN_DEAD);
	pair_free(p);
}

/* A CPU that read the clock early comes late: no year has passed. */
static void test_two_clocks(struct kunit *test)
{
	struct pair *p = pair_new(test, 7, 1500);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_init in = { .nonce = 1 };
	struct mroce_pkt init = {
		.type = MROCE_T_CONTROL,
		.opcode = MROCE_CTRL_INIT,
		.init = in,
	};
	int i;

	for (i = 0; i < MROCE_NAK_PER_MS; i++)
		KUNIT_EXPECT_TRUE(test, conn_nak_allowed(c, p->now));
	KUNIT_EXPECT_FALSE(test, conn_nak_allowed(c, p->now - 1));

	pair_up(p, 0);
	for (i = 0; i < MROCE_INIT_ACK_RATE; i++)
		mroce_conn_rx(c, &init, NULL, NULL, p->now);
	KUNIT_EXPECT_TRUE(test, c->want_init_ack);
	c->want_init_ack = false;
	mroce_conn_rx(c, &init, NULL, NULL, p->now - 1);
	KUNIT_EXPECT_FALSE(test, c->want_init_ack);
	pair_free(p);
}

/* The new route is longer than the old one: that is no standing queue. */
static void test_longer_route(struct kunit *test)
{
	struct pair *p = pair_connected(test, 9);
	int i;

	pair_ts(p, 0, 0)->s.a.timeout = 0;
	for (i = 0; i < 20; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));

	/* out for a while, until all paths have timed out and moved */
	p->net.cut = true;
	for (i = 0; i < 20; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	pair_run(p, 100 * MS, NULL);
	p->net.cut = false;
	p->net.delay_ns = MS;
	KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * SEC, pair_all_done));

	for (i = 0; i < 100; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	/* 600 packets: a dozen round trips of 2 ms, not hundreds */
	KUNIT_EXPECT_TRUE(test, pair_run(p, 60 * MS, pair_all_done));
	pair_free(p);
}

/* The same without any event: the minimum is forgotten after a while. */
static void test_route_grows(struct kunit *test)
{
	struct pair *p = pair_connected(test, 10);
	int i, k;

	for (k = 0; k < 12; k++) {
		for (i = 0; i < 5; i++)
			pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
		KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
		pair_run(p, SEC, NULL);
		p->net.delay_ns = MS;
	}
	for (i = 0; i < p->side[0].c.n_tx; i++)
		KUNIT_EXPECT_GE(test, p->side[0].c.tx[i]->min_rtt_ns, 2 * MS - US);
	pair_free(p);
}

/* All paths have been used, some of them well beyond their first window. */
static struct pair *pair_grown(struct kunit *test, u64 seed)
{
	struct pair *p = pair_connected(test, seed);
	u32 most = 0;
	int i, k;

	pair_ts(p, 0, 0)->s.a.timeout = 0;
	for (k = 0; k < 5; k++) {
		for (i = 0; i < 40; i++)
			pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
		KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	}
	KUNIT_ASSERT_EQ(test, p->side[0].c.n_tx, 4);
	for (i = 0; i < 4; i++)
		most = max(most, p->side[0].c.tx[i]->cc.cwnd_x256);
	KUNIT_ASSERT_GT(test, most, 8U << 8);
	return p;
}

/* The window of a path is one of the network of then (rule 47). */
static void test_window_after_idle(struct kunit *test)
{
	struct pair *p = pair_grown(test, 40);
	struct mroce_conn *c = &p->side[0].c;
	u32 w[4], out = 0;
	int i;

	/* shorter than an RTO: a pause, no rest */
	for (i = 0; i < 4; i++)
		w[i] = c->tx[i]->cc.cwnd_x256;
	pair_run(p, MS / 2, NULL);
	for (i = 0; i < 4; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 64000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_GE(test, c->tx[i]->cc.cwnd_x256, w[i]);

	pair_run(p, 5 * MS, NULL);
	for (i = 0; i < 4; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 64000, 0, false);
	pair_pump(p, 0);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_LE(test, c->tx[i]->cc.cwnd_x256, 4U << 8);
		out += c->tx[i]->nxt - c->tx[i]->una;
	}
	KUNIT_EXPECT_LE(test, out, 16U);
	KUNIT_EXPECT_GE(test, out, 4U);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	pair_free(p);
}

/*
 * A hundred begin at the same moment, each on a connection that was idle: the
 * answers come late, and that is no reason to send again what waits in the queue.
 * The RTT of before has no weight any more.
 */
static void test_burst_after_idle(struct kunit *test)
{
	struct pair *p = pair_grown(test, 41);
	struct mroce_conn *c = &p->side[0].c;
	u64 tlp = c->cnt[MROCE_CNT_TLP], retx = c->cnt[MROCE_CNT_TX_RETX];
	int i;

	pair_run(p, 5 * MS, NULL);
	p->net.delay_ns = 2 * MS;
	for (i = 0; i < 40; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_TLP], tlp);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_TX_RETX], retx);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_GE(test, c->tx[i]->srtt_ns, 4 * MS - US);
	pair_free(p);
}

/* A packet alone is asked for soon, a burst of which nothing arrived in the end. */
static void test_loss_after_idle(struct kunit *test)
{
	struct pair *p = pair_grown(test, 42);

	pair_run(p, 5 * MS, NULL);
	p->net.drop_next = 1;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, MS / 2, pair_all_done));

	pair_run(p, 5 * MS, NULL);
	p->net.drop_next = 6;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 15 * MS, pair_all_done));
	KUNIT_EXPECT_EQ(test, p->net.drop_next, 0ULL);
	pair_check_quiet(p);
	pair_free(p);
}

/*
 * The host sleeps for longer than time stamps reach, with packets in flight. What
 * they say when it wakes is nonsense; it must not keep later ones from being found
 * lost.
 */
static void test_host_sleeps(struct kunit *test)
{
	struct pair *p = pair_grown(test, 43);
	struct mroce_conn *c = &p->side[0].c;
	u32 i, out = 0, lost = 0;

	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 5000, 0, false);
	pair_pump(p, 0);
	for (i = 0; i < c->n_tx; i++)
		out += c->tx[i]->inflight;
	KUNIT_ASSERT_GE(test, out, 4U);
	p->now += 200 * SEC;
	p->net.cut = false;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_ASSERT_TRUE(test, mroce_conn_tx(c, &p->txd, p->now));
	for (i = 0; i < c->n_tx; i++)
		lost += c->tx[i]->n_lost;
	KUNIT_EXPECT_EQ(test, lost, out);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 20 * MS, pair_all_done));
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->n_err_done, 0U);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_SPURIOUS], 0ULL);
	pair_check_quiet(p);
	pair_free(p);
}

/* Two CPUs read the clock before they wait for the lock. */
static void test_time_goes_back(struct kunit *test)
{
	struct pair *p = pair_connected(test, 19);
	struct mroce_conn *c = &p->side[1].c;
	struct mroce_pkt pkt, ack;
	u32 ts;

	pair_run(p, SEC, NULL);
	pkt = forge_write(p, 1, 0, pair_ts(p, 1, 0)->s.msn_rcv, 0, 0);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
	ts = c->rx[FORGED_PATH]->newest_ts;
	p->now--;
	pkt = forge_write(p, 1, 0, pair_ts(p, 1, 0)->s.msn_rcv, 0, 0);
	pkt.ts = ts - 1;
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, c->rx[FORGED_PATH]->newest_ts, ts);
	KUNIT_ASSERT_TRUE(test, mroce_conn_tx(c, &p->txd, p->now));
	KUNIT_ASSERT_EQ(test, MROCE_WIRE_OK,
			mroce_wire_parse(p->txd.lin, p->txd.lin_len,
					 p->txd.lin_len, &ack));
	KUNIT_EXPECT_EQ(test, ack.ack.hold, 0U);
	pair_free(p);
}

/* An acknowledgment was handled later by the clock, but earlier: the stamps of a
 * path rise all the same (rule 27).
 */
static void test_stamps_rise(struct kunit *test)
{
	struct pair *p = pair_connected(test, 23);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_slot sl = {};
	u32 last;

	last = conn_ts(c, p->now) + 5;
	c->tx[0]->last_ts = last;
	c->tx[0]->last_tx_ns = p->now + 1;
	path_tx_stamp(c, c->tx[0], &sl, p->now);
	KUNIT_EXPECT_EQ(test, sl.ts, last + 1);
	pair_free(p);
}

static struct kunit_case time_cases[] = {
	KUNIT_CASE(test_host_stalls),
	KUNIT_CASE(test_route_stalls),
	KUNIT_CASE(test_late_acks),
	KUNIT_CASE(test_route_reorders),
	KUNIT_CASE(test_late_retry),
	KUNIT_CASE(test_refused_without_memory),
	KUNIT_CASE(test_link_anew),
	KUNIT_CASE(test_busy_host),
	KUNIT_CASE(test_late_init),
	KUNIT_CASE(test_peer_not_open),
	KUNIT_CASE(test_never_opened),
	KUNIT_CASE(test_two_clocks),
	KUNIT_CASE(test_window_after_idle),
	KUNIT_CASE(test_burst_after_idle),
	KUNIT_CASE(test_loss_after_idle),
	KUNIT_CASE(test_host_sleeps),
	KUNIT_CASE(test_longer_route),
	KUNIT_CASE(test_route_grows),
	KUNIT_CASE(test_time_goes_back),
	KUNIT_CASE(test_stamps_rise),
	{}
};

static struct kunit_suite time_suite = {
	.name = "metaroce-time",
	.test_cases = time_cases,
};

kunit_test_suite(time_suite);
