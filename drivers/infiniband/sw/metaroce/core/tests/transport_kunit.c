// SPDX-License-Identifier: GPL-2.0
/*
 * The transport between two endpoints over a bad network in virtual time.
 */
#include "pair.h"
#include "../internal.h"

#define MS_NS	1000000ULL
#define S_NS	1000000000ULL

#ifndef TRANSPORT_SEEDS
#define TRANSPORT_SEEDS	60	/* more with make CPPFLAGS=-DTRANSPORT_SEEDS=... */
#endif

static const u8 all_ops[] = {
	MROCE_OP_WRITE, MROCE_OP_WRITE_IMM, MROCE_OP_SEND, MROCE_OP_SEND_IMM,
	MROCE_OP_READ_REQ, MROCE_OP_FETCH_ADD,
};

static bool consuming(u8 op)
{
	return op == MROCE_OP_SEND || op == MROCE_OP_SEND_IMM ||
	       op == MROCE_OP_SEND_INV || op == MROCE_OP_WRITE_IMM;
}

/* Do the receives of @ts hold what its peer sent, in order? */
static void check_recvs(struct pair *p, struct tstream *ts)
{
	struct tstream *from = ts->peer;
	u32 i, n = 0;

	for (i = 0; i < from->n_done; i++) {
		struct pair_msg *pm = &from->msg[i];

		if (!consuming(pm->m.opcode) || pm->st != MROCE_ST_OK)
			continue;
		KUNIT_EXPECT_EQ(p->test, ts->recv_len[n], pm->m.len);
		if (pm->m.opcode != MROCE_OP_SEND)
			KUNIT_EXPECT_EQ(p->test, ts->recv_imm[n], pm->m.imm);
		if (pm->m.opcode != MROCE_OP_WRITE_IMM)
			KUNIT_EXPECT_EQ(p->test, 0,
					memcmp(ts->rbuf + n * ts->rsize,
					       from->buf + pm->buf_off,
					       pm->m.len));
		n++;
	}
	KUNIT_EXPECT_EQ(p->test, ts->n_recv_done, n);
}

static void expect_open(struct pair *p)
{
	KUNIT_EXPECT_EQ(p->test, p->side[0].c.state, MROCE_CONN_OPEN);
	KUNIT_EXPECT_EQ(p->test, p->side[1].c.state, MROCE_CONN_OPEN);
	KUNIT_EXPECT_EQ(p->test, p->side[0].c.tag, p->side[1].c.tag);
	KUNIT_EXPECT_EQ(p->test, p->side[0].c.psn0, p->side[1].c.psn0);
}

static bool both_open(struct pair *p)
{
	return p->side[0].c.state == MROCE_CONN_OPEN &&
	       p->side[1].c.state == MROCE_CONN_OPEN;
}

/* ---- lossless ----------------------------------------------------------------- */

static void test_handshake(struct kunit *test)
{
	struct pair *p = pair_new(test, 1, 1500);

	pair_up(p, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, MS_NS, both_open));
	expect_open(p);
	pair_free(p);
}

/* One side's QP comes late: its silence is not an answer. */
static void test_handshake_late(struct kunit *test)
{
	struct pair *p = pair_new(test, 2, 1500);

	pair_attach(p, 0, 0);
	pair_start(p, 0, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	pair_run(p, 50 * MS_NS, NULL);
	KUNIT_EXPECT_NE(test, p->side[0].c.state, MROCE_CONN_OPEN);
	pair_attach(p, 1, 0);
	pair_start(p, 1, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, pair_all_done));
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->msg[0].st, MROCE_ST_OK);
	pair_free(p);
}

static void test_write(struct kunit *test)
{
	struct pair *p = pair_new(test, 3, 1500);
	struct tstream *a, *b;
	u32 i;

	pair_up(p, 0);
	a = pair_ts(p, 0, 0);
	b = pair_ts(p, 1, 0);
	i = pair_post(p, 0, 0, MROCE_OP_WRITE, 40000, 1000, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 100 * MS_NS, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->msg[i].st, MROCE_ST_OK);
	KUNIT_EXPECT_EQ(test, 0, memcmp(b->mem + 1000, a->buf +
					a->msg[i].buf_off, 40000));
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TX_RETX), 0ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RX_DUP), 0ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TLP), 0ULL);
	KUNIT_EXPECT_TRUE(test, b->established);
	pair_run(p, 50 * MS_NS, NULL);
	pair_check_quiet(p);
	pair_free(p);
}

/* Every opcode at awkward lengths; all paths are used. */
static void test_all_ops(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, 63, 64, 65, 511, 512, 513, 1391,
				    1392, 1393, 1424, 4096, 8192 };
	struct pair *p = pair_new(test, 4, 1500);
	struct tstream *a, *b;
	u32 i, k, n;

	pair_up(p, 0);
	a = pair_ts(p, 0, 0);
	b = pair_ts(p, 1, 0);
	pair_post_recv(p, 1, 0, PAIR_MSGS);
	memset(b->mem, 0, PAIR_MEM);
	for (i = 0; i < ARRAY_SIZE(all_ops); i++) {
		for (k = 0; k < ARRAY_SIZE(lens); k++) {
			n = pair_post(p, 0, 0, all_ops[i], lens[k], 8 * k,
				      true);
			KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS,
							 pair_all_done));
			KUNIT_EXPECT_EQ(test, a->msg[n].st, MROCE_ST_OK);
			if (all_ops[i] == MROCE_OP_WRITE ||
			    all_ops[i] == MROCE_OP_WRITE_IMM)
				KUNIT_EXPECT_EQ(test, 0,
						memcmp(b->mem + 8 * k, a->buf +
						       a->msg[n].buf_off,
						       lens[k]));
			if (all_ops[i] == MROCE_OP_READ_REQ)
				KUNIT_EXPECT_EQ(test, 0,
						memcmp(b->mem + 8 * k, a->land +
						       a->msg[n].buf_off,
						       lens[k]));
		}
	}
	check_recvs(p, b);
	KUNIT_EXPECT_GE(test, p->side[0].c.n_tx, 2);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TX_RETX), 0ULL);
	pair_run(p, 50 * MS_NS, NULL);
	pair_check_quiet(p);
	pair_free(p);
}

/* Fenced atomics and Reads take effect one after the other. */
static void test_fence(struct kunit *test)
{
	struct pair *p = pair_new(test, 5, 1500);
	struct tstream *a;
	u32 i;

	pair_up(p, 0);
	a = pair_ts(p, 0, 0);
	memset(pair_ts(p, 1, 0)->mem, 0, PAIR_MEM);
	for (i = 0; i < 20; i++)
		pair_post(p, 0, 0, MROCE_OP_FETCH_ADD, 8, 64, i & 1);
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 8, 64, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, pair_all_done));
	for (i = 0; i < 20; i++) {
		u64 v;

		memcpy(&v, a->land + a->msg[i].buf_off, 8);
		KUNIT_EXPECT_EQ(test, v, (u64)i);
	}
	pair_free(p);
}

/* ---- loss ------------------------------------------------------------------------ */

static bool open_and_idle(struct pair *p)
{
	return both_open(p) && pair_all_done(p);
}

/* One packet in the middle is lost: exactly it is sent again, at once. */
static void test_one_lost(struct kunit *test)
{
	struct pair *p = pair_new(test, 6, 1500);
	u64 t0;

	pair_up(p, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, open_and_idle));
	t0 = p->now;
	p->net.drop_next = 1;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 20000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, pair_all_done));
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TX_RETX), 1ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_LOST), 1ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RX_DUP), 0ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TLP), 0ULL);
	/* three one-way trips and change, no timer */
	KUNIT_EXPECT_LT(test, p->now - t0, 100000ULL);
	pair_run(p, 50 * MS_NS, NULL);
	pair_check_quiet(p);
	pair_free(p);
}

/* The last packet is lost: a tail probe finds it, no RTO. */
static void test_tail_lost(struct kunit *test)
{
	struct pair *p = pair_new(test, 7, 1500);

	pair_up(p, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, open_and_idle));
	p->net.drop_next = 1;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, pair_all_done));
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TLP), 1ULL);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RTO), 0ULL);
	pair_run(p, 50 * MS_NS, NULL);
	pair_check_quiet(p);
	pair_free(p);
}

/* A route dies in one direction: the path takes another port, same PSNs. */
static void test_rehome(struct kunit *test)
{
	struct pair *p = pair_new(test, 8, 1500);
	u16 dead;
	int i;

	pair_up(p, 0);
	for (i = 0; i < 40; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, open_and_idle));
	KUNIT_EXPECT_EQ(test, p->side[0].c.n_tx, MROCE_DEF_PATHS);
	dead = p->side[0].c.tx[1]->sport;
	p->net.dead_sport = dead;
	for (i = 0; i < 60; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, pair_all_done));
	KUNIT_EXPECT_GE(test, pair_cnt(p, MROCE_CNT_REHOME), 1ULL);
	KUNIT_EXPECT_NE(test, p->side[0].c.tx[1]->sport, dead);
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->n_err_done, 0U);
	pair_run(p, 50 * MS_NS, NULL);
	pair_check_quiet(p);
	pair_free(p);
}

#define BAD_PORT	40000

static u16 bad_port(struct mroce_conn *c, u8 plane)
{
	return BAD_PORT;
}

static void write_all(struct pair *p, u64 ns)
{
	int i;

	for (i = 0; i < 30; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 30000, 0, false);
	KUNIT_EXPECT_TRUE(p->test, pair_run(p, ns, pair_all_done));
}

/* No new port leads anywhere, both ways: paths go where one is heard, and back to
 * ports of their own when there are such.
 */
static void test_rehome_to_known(struct kunit *test)
{
	struct pair *p = pair_new(test, 21, 1500);
	struct mroce_conn *c = &p->side[0].c;
	const struct mroce_conn_ops *usual = c->ops;
	struct mroce_conn_ops ops = *usual;
	int i, k;

	pair_up(p, 0);
	pair_ts(p, 0, 0)->s.a.timeout = 0;
	write_all(p, 20 * MS_NS);
	KUNIT_EXPECT_EQ(test, c->n_tx, MROCE_DEF_PATHS);
	ops.new_sport = bad_port;
	c->ops = &ops;
	for (i = 1; i < c->n_tx; i++)
		c->tx[i]->sport = BAD_PORT;
	p->net.dead_sport = BAD_PORT;
	p->net.dead_dir = -1;
	write_all(p, 20 * MS_NS);
	for (i = 1; i < c->n_tx; i++)
		KUNIT_EXPECT_EQ(test, c->tx[i]->sport, c->tx[0]->sport);
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->n_err_done, 0U);

	p->net.dead_sport = 0;
	c->ops = usual;
	for (k = 0; k < 12; k++) {
		pair_run(p, S_NS, NULL);
		write_all(p, 20 * MS_NS);
	}
	for (i = 1; i < c->n_tx; i++)
		for (k = 0; k < i; k++)
			KUNIT_EXPECT_NE(test, c->tx[i]->sport, c->tx[k]->sport);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_SPURIOUS), 0ULL);
	pair_check_quiet(p);
	pair_free(p);
}

/* All routes die at once, other ports are good: known by the first RTO, of 1 ms. */
static void test_all_routes(struct kunit *test)
{
	struct pair *p = pair_new(test, 22, 1500);
	struct mroce_conn *c = &p->side[0].c;
	int i;

	pair_up(p, 0);
	write_all(p, S_NS);
	KUNIT_EXPECT_EQ(test, c->n_tx, MROCE_DEF_PATHS);
	for (i = 0; i < c->n_tx; i++)
		c->tx[i]->sport = BAD_PORT;
	p->net.dead_sport = BAD_PORT;
	p->net.dead_dir = -1;
	write_all(p, 2 * MS_NS);
	KUNIT_EXPECT_GT(test, pair_cnt(p, MROCE_CNT_RTO), 0ULL);
	pair_check_quiet(p);
	pair_free(p);
}

static bool heard_again(struct pair *p)
{
	return !p->side[0].c.tx[0]->backoff;
}

/* The network was away for long: the first path that is heard tells the others. */
static void test_way_found(struct kunit *test)
{
	struct pair *p = pair_new(test, 23, 1500);
	struct mroce_conn *c = &p->side[0].c;
	int i;

	pair_up(p, 0);
	pair_ts(p, 0, 0)->s.a.timeout = 0;
	write_all(p, S_NS);
	p->net.cut = true;
	for (i = 0; i < 30; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 30000, 0, false);
	pair_run(p, 20 * MS_NS, NULL);
	for (i = 0; i < c->n_tx; i++) {
		KUNIT_EXPECT_GT(test, c->tx[i]->backoff, 1);
		if (!i)
			continue;
		c->tx[i]->backoff = 8;
		path_arm(c, c->tx[i]);
	}
	p->net.cut = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS / 10, heard_again));
	KUNIT_EXPECT_TRUE(test, pair_run(p, 3 * MS_NS, pair_all_done));
	pair_check_quiet(p);
	pair_free(p);
}

/* Nothing passes: the stream fails within retry_cnt, once, and flushes. */
static void test_retry_exceeded(struct kunit *test)
{
	struct pair *p = pair_new(test, 9, 1500);
	struct tstream *a;

	pair_up(p, 0);
	a = pair_ts(p, 0, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, open_and_idle));
	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, false);
	/* 4.096 us << 12 = 16.8 ms, eight times, plus what RTO adds */
	pair_run(p, 10 * S_NS, NULL);
	KUNIT_EXPECT_EQ(test, a->n_err_done, 1U);
	KUNIT_EXPECT_EQ(test, a->msg[1].st, MROCE_ST_RETRY_EXC);
	KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_RETRY_EXC);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RETRY_EXC), 1ULL);
	pair_free(p);
}

/* The link's MTU falls and rises: new packets fit, old ones keep their cut. */
static void test_mtu_change(struct kunit *test)
{
	struct pair *p = pair_new(test, 18, 9000);
	int i;

	pair_up(p, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, open_and_idle));
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TX_DATA), 1ULL);
	for (i = 0; i < 2; i++)
		mroce_conn_set_mtu(&p->side[i].c, 1500);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, pair_all_done));
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TX_DATA), 7ULL);
	/* only one side's rises: the peer's announced MTU still allows it */
	mroce_conn_set_mtu(&p->side[0].c, 9000);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, pair_all_done));
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_TX_DATA), 8ULL);
	pair_free(p);
}

/* A path rests longer than its stamps last: it is measured again at once. */
static void test_long_rest(struct kunit *test)
{
	struct pair *p = pair_new(test, 19, 1500);
	struct mroce_path_tx *tx;

	pair_up(p, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, open_and_idle));
	pair_run(p, 200 * S_NS, NULL);
	tx = p->side[0].c.tx[p->side[0].c.cur_tx];
	tx->srtt_ns = 0;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, pair_all_done));
	KUNIT_EXPECT_GE(test, tx->srtt_ns, p->net.delay_ns);
	pair_free(p);
}

/* ---- refusals ---------------------------------------------------------------------- */

static void test_rnr(struct kunit *test)
{
	struct pair *p = pair_new(test, 10, 1500);
	int i;

	pair_up(p, 0);
	for (i = 0; i < 10; i++)
		pair_post(p, 0, 0, i & 1 ? MROCE_OP_WRITE_IMM : MROCE_OP_SEND,
			  5000, 0, false);
	pair_run(p, 5 * MS_NS, NULL);
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->n_done, 0U);
	KUNIT_EXPECT_GE(test, pair_cnt(p, MROCE_CNT_RNR_RECV), 1ULL);
	for (i = 0; i < 10; i++) {
		pair_post_recv(p, 1, 0, 1);
		pair_run(p, 3 * MS_NS, NULL);
	}
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, pair_all_done));
	check_recvs(p, pair_ts(p, 1, 0));
	pair_run(p, 50 * MS_NS, NULL);
	pair_check_quiet(p);
	pair_free(p);
}

static void test_rnr_exceeded(struct kunit *test)
{
	struct pair *p = pair_new(test, 11, 1500);
	struct tstream *a;

	pair_up(p, 0);
	a = pair_ts(p, 0, 0);
	a->s.a.rnr_retry = 2;
	a->s.rnr_left = 2;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 2000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_SEND, 2000, 0, false);
	pair_run(p, S_NS, NULL);
	KUNIT_EXPECT_EQ(test, a->msg[0].st, MROCE_ST_OK);
	KUNIT_EXPECT_TRUE(test, a->msg[1].done);
	KUNIT_EXPECT_EQ(test, a->msg[1].st, MROCE_ST_RNR_EXC);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RNR_RECV), 3ULL);
	pair_free(p);
}

/* Message 2 is bad; message 1, partly lost, still completes first. */
static void test_ordered_error(struct kunit *test)
{
	struct pair *p = pair_new(test, 12, 1500);
	struct tstream *a, *b;

	pair_up(p, 0);
	a = pair_ts(p, 0, 0);
	b = pair_ts(p, 1, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, open_and_idle));
	pair_post_recv(p, 1, 0, 5);
	p->net.drop_next = 1;
	pair_post(p, 0, 0, MROCE_OP_SEND, 4000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, PAIR_MEM - 10, false);
	pair_post(p, 0, 0, MROCE_OP_SEND, 4000, 0, false);
	pair_run(p, S_NS, NULL);
	KUNIT_EXPECT_EQ(test, a->msg[1].st, MROCE_ST_OK);
	KUNIT_EXPECT_EQ(test, a->msg[2].st, MROCE_ST_REM_ACCESS);
	KUNIT_EXPECT_EQ(test, a->n_done, 3U);
	KUNIT_EXPECT_EQ(test, b->n_recv_done, 1U);
	KUNIT_EXPECT_EQ(test, b->rx_code, MROCE_NAK_ACCESS);
	pair_free(p);
}

/* A Read whose key is dead when it executes: a reliable answer says so. */
static void test_read_error(struct kunit *test)
{
	struct pair *p = pair_new(test, 13, 1500);
	struct tstream *a;

	pair_up(p, 0);
	a = pair_ts(p, 0, 0);
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 100, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, open_and_idle));
	pair_ts(p, 1, 0)->dead_key = true;
	p->net.loss = 20000;
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 100, 0, false);
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 100, 0, false);
	pair_run(p, 5 * S_NS, NULL);
	KUNIT_EXPECT_TRUE(test, a->msg[1].done);
	KUNIT_EXPECT_EQ(test, a->msg[1].st, MROCE_ST_REM_ACCESS);
	KUNIT_EXPECT_EQ(test, a->n_done, 2U);
	pair_free(p);
}

/* Sends at a QP that is not there yet are tried again until it is. */
static void test_not_ready(struct kunit *test)
{
	struct pair *p = pair_new(test, 14, 1500);
	struct tstream *b;

	pair_up(p, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, open_and_idle));
	pair_attach(p, 0, 1);
	pair_start(p, 0, 1);
	pair_post(p, 0, 1, MROCE_OP_WRITE, 5000, 0, false);
	pair_run(p, 30 * MS_NS, NULL);
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 1)->n_done, 0U);
	pair_attach(p, 1, 1);
	b = pair_ts(p, 1, 1);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, pair_all_done));
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 1)->n_err_done, 0U);
	KUNIT_EXPECT_EQ(test, 0, memcmp(b->mem, pair_ts(p, 0, 1)->buf +
					pair_ts(p, 0, 1)->msg[0].buf_off,
					5000));
	pair_run(p, 50 * MS_NS, NULL);
	pair_check_quiet(p);
	pair_free(p);
}

/* ---- life of connections ------------------------------------------------------------- */

/* The peer restarts: bound streams fail, new ones connect. */
static void test_peer_restart(struct kunit *test)
{
	struct mroce_conn_cfg cfg = { .link_mtu = 1500, .l3_len = 28 };
	struct pair *p = pair_new(test, 15, 1500);
	const struct mroce_conn_ops *ops;
	struct tstream *a, *b;

	pair_up(p, 0);
	a = pair_ts(p, 0, 0);
	b = pair_ts(p, 1, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, open_and_idle));

	/* crash of side 1 */
	mroce_stream_detach(&b->s, p->now);
	ops = p->side[1].c.ops;
	mroce_conn_fini(&p->side[1].c);
	memset(&p->side[1].c, 0, sizeof(p->side[1].c));
	KUNIT_ASSERT_EQ(test, 0, mroce_conn_init(&p->side[1].c, ops, &cfg,
						 p->now));
	pair_attach(p, 1, 1);
	pair_start(p, 1, 1);
	pair_attach(p, 0, 1);
	pair_start(p, 0, 1);
	pair_post(p, 0, 1, MROCE_OP_WRITE, 3000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 3000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 2 * S_NS, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->msg[1].st, MROCE_ST_RETRY_EXC);
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 1)->msg[0].st, MROCE_ST_OK);
	KUNIT_EXPECT_EQ(test, p->side[0].c.cnt[MROCE_CNT_CONN_LOST], 1ULL);
	pair_free(p);
}

/* Without streams a connection closes itself and its peer's half. */
static void test_gc(struct kunit *test)
{
	struct pair *p = pair_new(test, 16, 1500);

	pair_up(p, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, S_NS, both_open));
	mroce_stream_detach(&pair_ts(p, 0, 0)->s, p->now);
	mroce_stream_detach(&pair_ts(p, 1, 0)->s, p->now);
	pair_run(p, 61 * S_NS, NULL);
	KUNIT_EXPECT_EQ(test, p->side[0].c.state, MROCE_CONN_DEAD);
	KUNIT_EXPECT_EQ(test, p->side[1].c.state, MROCE_CONN_DEAD);
	KUNIT_EXPECT_EQ(test, mroce_conn_deadline(&p->side[0].c), MROCE_NEVER);
	pair_free(p);
}

static bool both_left(struct pair *p)
{
	return !pair_ts(p, 0, 0)->s.left && !pair_ts(p, 1, 0)->s.left;
}

/* The same QPNs come back with the same PSNs; what the former lives sent may be in
 * the network still, more than once.
 */
static void test_qpn_reuse(struct kunit *test)
{
	struct pair *p = pair_new(test, 17, 1500);
	struct tstream *b;
	int round, i;

	pair_up(p, 0);
	b = pair_ts(p, 1, 0);
	p->net.loss = 6000;
	p->net.dup = 6000;
	p->net.reorder = 20000;
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 8; i++)
			pair_post(p, 0, 0, MROCE_OP_SEND, 3000, 0, false);
		pair_post_recv(p, 1, 0, 8);
		pair_run(p, pair_rand(p, 200000), NULL);
		pair_reset(p, 0, 0);
		pair_reset(p, 1, 0);
		KUNIT_ASSERT_TRUE(test, pair_run(p, S_NS, both_left));
		pair_attach(p, 0, 0);
		pair_start(p, 0, 0);
		pair_attach(p, 1, 0);
		pair_start(p, 1, 0);
	}
	for (i = 0; i < 8; i++)
		pair_post(p, 0, 0, MROCE_OP_SEND, 3000, 0, false);
	pair_post_recv(p, 1, 0, 8);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * S_NS, pair_all_done));
	check_recvs(p, b);
	pair_free(p);
}

/* ---- everything at once ---------------------------------------------------------------- */

/* Atomics exactly once: the sum of all adds is what was added. */
static void check_sums(struct pair *p, int side, u32 *adds)
{
	u64 v;
	int i;

	for (i = 0; i < PAIR_STREAMS; i++) {
		struct tstream *ts = pair_ts(p, side, i);

		if (!ts->mem)
			continue;
		memcpy(&v, ts->mem + PAIR_MEM - 8, 8);
		KUNIT_EXPECT_EQ(p->test, v, (u64)adds[i]);
	}
}

/* False: stalled; the seed is in the message. */
static bool random_run(struct kunit *test, u64 seed)
{
	struct pair *p = pair_new(test, seed, seed & 1 ? 1500 : 9000);
	u32 adds[2][PAIR_STREAMS] = {};
	int n_streams, side, i, k;
	bool done;

	n_streams = 1 + pair_rand(p, 4);
	p->net.loss = pair_rand(p, 3) ? pair_rand(p, 13000) : 0;
	p->net.loss_ack = pair_rand(p, 3) ? 0 : pair_rand(p, 20000);
	p->net.dup = pair_rand(p, 2) ? pair_rand(p, 6000) : 0;
	p->net.reorder = pair_rand(p, 2) ? pair_rand(p, 20000) : 0;
	p->net.ce = pair_rand(p, 2) ? pair_rand(p, 20000) : 0;
	p->net.delay_ns = 2000 + pair_rand(p, 200000);
	p->net.jitter_ns = 1 + pair_rand(p, 300000);
	for (side = 0; side < 2; side++)
		if (pair_rand(p, 2))
			p->side[side].share.kbps = 50000U << pair_rand(p, 8);
	for (i = 0; i < n_streams; i++) {
		pair_up(p, i);
		for (side = 0; side < 2; side++) {
			/* no timeouts: this run is about what arrives */
			pair_ts(p, side, i)->s.a.timeout = 18;
			memset(pair_ts(p, side, i)->mem + PAIR_MEM - 8, 0, 8);
		}
	}
	for (k = 0; k < 60; k++) {
		for (i = 0; i < n_streams; i++) {
			u8 op = all_ops[pair_rand(p, ARRAY_SIZE(all_ops))];
			u32 len = pair_rand(p, 3) ? pair_rand(p, 128) :
						    pair_rand(p, 8192);
			u32 va = pair_rand(p, PAIR_MEM / 2);

			side = pair_rand(p, 2);
			if (op == MROCE_OP_FETCH_ADD) {
				va = PAIR_MEM - 8;
				adds[!side][i]++;
			}
			pair_post(p, side, i, op, len, va,
				  !pair_rand(p, 8));
			if (pair_rand(p, 3))
				pair_post_recv(p, !side, i, 1);
		}
		if (!pair_rand(p, 3))
			pair_run(p, pair_rand(p, 500000), NULL);
	}
	pair_run(p, 3 * MS_NS, NULL);
	for (i = 0; i < n_streams; i++)
		for (side = 0; side < 2; side++)
			pair_post_recv(p, side, i, 64);
	done = pair_run(p, 60 * S_NS, pair_all_done);
	KUNIT_EXPECT_TRUE_MSG(test, done, "seed %llu: stalled",
			      (unsigned long long)seed);
	for (i = 0; i < n_streams; i++) {
		for (side = 0; side < 2; side++) {
			check_recvs(p, pair_ts(p, side, i));
			KUNIT_EXPECT_EQ(test, pair_ts(p, side, i)->n_err_done,
					0U);
		}
	}
	check_sums(p, 0, adds[0]);
	check_sums(p, 1, adds[1]);
	/* let stray duplicates and last acknowledgments pass */
	p->net.loss = 0;
	p->net.loss_ack = 0;
	pair_run(p, 5 * S_NS, NULL);
	if (done)
		pair_check_quiet(p);
	pair_free(p);
	return done;
}

static void test_random(struct kunit *test)
{
	u64 seed;

	for (seed = 1; seed <= TRANSPORT_SEEDS; seed++) {
		if (!random_run(test, seed))
			return;
	}
}

static struct kunit_case transport_cases[] = {
	KUNIT_CASE(test_handshake),
	KUNIT_CASE(test_handshake_late),
	KUNIT_CASE(test_write),
	KUNIT_CASE(test_all_ops),
	KUNIT_CASE(test_fence),
	KUNIT_CASE(test_one_lost),
	KUNIT_CASE(test_tail_lost),
	KUNIT_CASE(test_rehome),
	KUNIT_CASE(test_rehome_to_known),
	KUNIT_CASE(test_all_routes),
	KUNIT_CASE(test_way_found),
	KUNIT_CASE(test_mtu_change),
	KUNIT_CASE(test_long_rest),
	KUNIT_CASE(test_retry_exceeded),
	KUNIT_CASE(test_rnr),
	KUNIT_CASE(test_rnr_exceeded),
	KUNIT_CASE(test_ordered_error),
	KUNIT_CASE(test_read_error),
	KUNIT_CASE(test_not_ready),
	KUNIT_CASE(test_peer_restart),
	KUNIT_CASE(test_gc),
	KUNIT_CASE(test_qpn_reuse),
	KUNIT_CASE(test_random),
	{}
};

static struct kunit_suite transport_suite = {
	.name = "metaroce-transport",
	.test_cases = transport_cases,
};

kunit_test_suite(transport_suite);
