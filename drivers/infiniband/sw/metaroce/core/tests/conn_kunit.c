// SPDX-License-Identifier: GPL-2.0
/*
 * Handshake, suspicion, loss and end of a connection, message by message (rules 39 to
 * 43).
 */
#include "forge.h"
#include "../internal.h"

static void expect_ctrl(struct pair *p, int side, u8 opcode)
{
	const struct mroce_pkt *pkt = pair_sent(p, side);

	KUNIT_EXPECT_EQ(p->test, pkt->type, MROCE_T_CONTROL);
	KUNIT_EXPECT_EQ(p->test, pkt->opcode, opcode);
}

static void expect_silence(struct pair *p, int side)
{
	KUNIT_EXPECT_EQ(p->test, pair_sent(p, side)->type, 0);
}

/* One that is not answered: 20 ms, five times, then twice as long each time, up to a
 * second; a quarter more or less (rule 39).
 */
static void test_init_again(struct kunit *test)
{
	struct pair *p = pair_new(test, 160, 1500);
	u64 last, want = 20 * MS;
	int i;

	pair_attach(p, 0, 0);
	expect_ctrl(p, 0, MROCE_CTRL_INIT);
	for (i = 1; i < 16; i++) {
		last = p->now;
		p->now = mroce_conn_deadline(&p->side[0].c);
		mroce_conn_timer(&p->side[0].c, p->now);
		expect_ctrl(p, 0, MROCE_CTRL_INIT);
		expect_silence(p, 0);
		if (i > 5)
			want = min(2 * want, SEC);
		KUNIT_EXPECT_GE(test, p->now - last, want - want / 4);
		KUNIT_EXPECT_LE(test, p->now - last, want + want / 4);
	}
	pair_free(p);
}

static struct mroce_pkt init_of(const struct mroce_conn *from)
{
	struct mroce_pkt init = {
		.type = MROCE_T_CONTROL,
		.opcode = MROCE_CTRL_INIT,
		.init = {
			.conn_id = from->id,
			.nonce = from->nonce,
			.msn_window = 64,
			.rsn_window = 16,
			.mtu = 1500,
		},
	};

	return init;
}

/* Who has a QP answers, and asks; who has none is silent. Only the answer to its own
 * question opens a side, and says what the peer can take (rules 39, 12).
 */
static void test_who_opens(struct kunit *test)
{
	struct pair *p = pair_new(test, 161, 1500);
	struct mroce_conn *a = &p->side[0].c, *b = &p->side[1].c;
	struct mroce_pkt pkt = init_of(a);

	forge_rx(p, 1, &pkt, NULL);
	expect_silence(p, 1);
	/* an answer to what was not asked */
	pair_attach(p, 1, 0);
	b->want_init = false;
	pkt.opcode = MROCE_CTRL_INIT_ACK;
	pkt.conn = b->id;
	pkt.init.peer_nonce = b->nonce;
	forge_rx(p, 1, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, b->state, MROCE_CONN_INIT);

	pkt.opcode = MROCE_CTRL_INIT;
	forge_rx(p, 1, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, b->state, MROCE_CONN_INIT);
	expect_ctrl(p, 1, MROCE_CTRL_INIT);
	expect_ctrl(p, 1, MROCE_CTRL_INIT_ACK);
	expect_silence(p, 1);

	pkt.opcode = MROCE_CTRL_INIT_ACK;
	pkt.init.peer_nonce ^= 1;
	forge_rx(p, 1, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, b->state, MROCE_CONN_INIT);
	pkt.init.peer_nonce ^= 1;
	pkt.conn++;
	forge_rx(p, 1, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, b->state, MROCE_CONN_INIT);
	pkt.conn--;
	forge_rx(p, 1, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, b->state, MROCE_CONN_OPEN);
	KUNIT_EXPECT_EQ(test, b->msn_window, 64);
	KUNIT_EXPECT_EQ(test, b->rsn_window, 16);
	pair_free(p);
}

/* DATA of a peer that is open already: asked again, the first time soon (rule 39). */
static void test_early_data(struct kunit *test)
{
	struct pair *p = pair_new(test, 162, 1500);
	struct mroce_conn *c = &p->side[1].c;
	struct mroce_pkt pkt;

	pair_attach(p, 1, 0);
	pkt = forge_data(p, 1, 0, MROCE_OP_NOP, 0);
	expect_ctrl(p, 1, MROCE_CTRL_INIT);
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	expect_silence(p, 1);
	KUNIT_EXPECT_EQ(test, mroce_conn_deadline(c), p->now + 50 * US);
	p->now += 50 * US;
	mroce_conn_timer(c, p->now);
	expect_ctrl(p, 1, MROCE_CTRL_INIT);
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	expect_silence(p, 1);
	KUNIT_EXPECT_EQ(test, mroce_conn_deadline(c), p->now + MS);
	p->now += MS;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	expect_ctrl(p, 1, MROCE_CTRL_INIT);
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	expect_silence(p, 1);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RX_STATE], 4ULL);
	KUNIT_EXPECT_NULL(test, mroce_path_rx_of(c, FORGED_PATH));
	pair_free(p);
}

/* The peer that is known asks: what it has acknowledged it has heard (rule 39). */
static void test_known_peer_asks(struct kunit *test)
{
	struct pair *p = pair_connected(test, 163);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx = c->tx[c->cur_tx];
	struct mroce_pkt pkt = init_of(&p->side[1].c);

	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_pump(p, 0);
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, tx->inflight, 1U);
	expect_ctrl(p, 0, MROCE_CTRL_INIT_ACK);
	expect_silence(p, 0);
	/* within an RTT it may have crossed the answer */
	tx->has_echo = false;
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, tx->inflight, 1U);
	expect_ctrl(p, 0, MROCE_CTRL_INIT_ACK);
	p->now += c->probe_rtt_ns + 1;
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, tx->inflight, 0U);
	expect_ctrl(p, 0, MROCE_CTRL_INIT_ACK);
	KUNIT_EXPECT_EQ(test, pair_sent(p, 0)->psn, tx->una);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_OPEN);
	pair_free(p);
}

/* Another nonce: whom we know is asked, no more (rule 40). */
static void test_other_nonce(struct kunit *test)
{
	struct pair *p = pair_connected(test, 164);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_pkt pkt = init_of(&p->side[1].c), probe;

	pkt.init.nonce ^= 1;
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_OPEN);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_CONN_LOST], 0ULL);
	probe = *pair_sent(p, 0);
	KUNIT_EXPECT_EQ(test, probe.opcode, MROCE_CTRL_PROBE);
	KUNIT_EXPECT_EQ(test, probe.psn, (u32)probe.ctrl.cookie);
	p->now += 99 * MS;
	forge_rx(p, 0, &pkt, NULL);
	expect_silence(p, 0);

	/* who does not know the value has not been asked */
	pkt = forge_ctrl(p, 0, MROCE_CTRL_PROBE_ACK);
	pkt.ctrl.cookie = probe.ctrl.cookie ^ 1;
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_TRUE(test, c->probe_out);
	pkt.ctrl.cookie ^= 1;
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_FALSE(test, c->probe_out);

	p->now += MS;
	pkt = init_of(&p->side[1].c);
	pkt.init.nonce ^= 1;
	forge_rx(p, 0, &pkt, NULL);
	expect_ctrl(p, 0, MROCE_CTRL_PROBE);

	/* and so does the peer answer, once per ms */
	pkt = forge_ctrl(p, 0, MROCE_CTRL_PROBE);
	pkt.ctrl.cookie = 4711;
	forge_rx(p, 0, &pkt, NULL);
	probe = *pair_sent(p, 0);
	KUNIT_EXPECT_EQ(test, probe.opcode, MROCE_CTRL_PROBE_ACK);
	KUNIT_EXPECT_EQ(test, probe.ctrl.cookie, 4711ULL);
	p->now += MS - 1;
	forge_rx(p, 0, &pkt, NULL);
	expect_silence(p, 0);
	p->now++;
	forge_rx(p, 0, &pkt, NULL);
	expect_ctrl(p, 0, MROCE_CTRL_PROBE_ACK);
	pair_free(p);
}

/* A RESET that quotes what was just sent, but for the byte @at of it. */
static enum mroce_rx reset(struct pair *p, const u8 *quote, int at)
{
	struct mroce_pkt pkt = {
		.type = MROCE_T_CONTROL,
		.opcode = MROCE_CTRL_RESET,
	};

	memcpy(pkt.reset, quote, MROCE_COMMON_LEN);
	if (at < MROCE_COMMON_LEN)
		pkt.reset[at] ^= 1;
	return forge_rx(p, 0, &pkt, NULL);
}

/* A RESET knows the latest transmission of what is outstanding, in all of id, path,
 * tag, PSN and time stamp (rule 40).
 */
static void test_reset(struct kunit *test)
{
	static const u8 at[] = { 5, 7, 8, 11, 15, 19 };
	struct pair *p = pair_connected(test, 165);
	struct mroce_conn *c = &p->side[0].c;
	u8 first[MROCE_COMMON_LEN], again[MROCE_COMMON_LEN];
	struct mroce_path_tx *tx;
	struct mroce_pkt ack;
	u32 i;

	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_ASSERT_EQ(test, pair_sent(p, 0)->type, MROCE_T_DATA);
	memcpy(first, p->txd.lin, sizeof(first));
	tx = c->tx[c->cur_tx];
	/* a path that exists, and has nothing outstanding, has no PSN */
	for (i = 0; i < ARRAY_SIZE(at); i++)
		KUNIT_EXPECT_EQ(test, reset(p, first, at[i]), MROCE_RX_DROP);
	/* that it was sent before is known to who kept it */
	path_tx_mark_lost(c, tx, tx->una);
	tx->rtx_budget = 1;
	p->now += US;
	KUNIT_ASSERT_EQ(test, pair_sent(p, 0)->psn, tx->una);
	memcpy(again, p->txd.lin, sizeof(again));
	KUNIT_EXPECT_EQ(test, reset(p, first, MROCE_COMMON_LEN), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_CONN_LOST], 0ULL);
	/* and what is acknowledged is over */
	ack = forge_ack(p, 0, tx->id);
	ack.psn = tx->una;
	ack.ack.echo_ts = tx->last_ts;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_ASSERT_EQ(test, pair_sent(p, 0)->type, MROCE_T_DATA);
	memcpy(first, p->txd.lin, sizeof(first));
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, reset(p, again, MROCE_COMMON_LEN), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_CONN_LOST], 0ULL);

	KUNIT_EXPECT_EQ(test, reset(p, first, MROCE_COMMON_LEN), MROCE_RX_DONE);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_CONN_LOST], 1ULL);
	p->liar = true;
	pair_free(p);
}

/* Or the PROBE that is out (rule 40). */
static void test_reset_of_probe(struct kunit *test)
{
	struct pair *p = pair_connected(test, 166);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_pkt pkt = init_of(&p->side[1].c);
	u8 probe[MROCE_COMMON_LEN];

	pkt.init.nonce ^= 1;
	forge_rx(p, 0, &pkt, NULL);
	expect_ctrl(p, 0, MROCE_CTRL_PROBE);
	memcpy(probe, p->txd.lin, sizeof(probe));
	KUNIT_EXPECT_EQ(test, reset(p, probe, 7), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, reset(p, probe, 11), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, reset(p, probe, 15), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, reset(p, probe, 19), MROCE_RX_DROP);
	c->probe_out = false;
	KUNIT_EXPECT_EQ(test, reset(p, probe, MROCE_COMMON_LEN), MROCE_RX_DROP);
	c->probe_out = true;
	KUNIT_EXPECT_EQ(test, reset(p, probe, MROCE_COMMON_LEN), MROCE_RX_DONE);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_CONN_LOST], 1ULL);
	pair_free(p);
}

/* Who had something accepted fails, who had not goes on (rule 41). */
static void test_bound(struct kunit *test)
{
	struct pair *p = pair_connected(test, 167);
	struct mroce_conn *c = &p->side[0].c;
	struct tstream *ts[4];
	int i;

	for (i = 1; i < 4; i++)
		pair_up(p, i);
	for (i = 0; i < 4; i++)
		ts[i] = pair_ts(p, 0, i);
	/* 0: acknowledged, idle. 1: acknowledged, and more. 2: only received, idle.
	 * 3: nothing came through.
	 */
	pair_post(p, 0, 1, MROCE_OP_WRITE, 8, 0, false);
	pair_post(p, 1, 2, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	p->net.cut = true;
	pair_post(p, 0, 1, MROCE_OP_WRITE, 8, 0, false);
	pair_post(p, 0, 1, MROCE_OP_WRITE, 8, 0, false);
	pair_post(p, 0, 3, MROCE_OP_WRITE, 8, 0, false);
	pair_pump(p, 0);
	ts[3]->msg[0].m.attempt = 3;
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, ts[i]->s.bound, i < 3);
	conn_lost(c, p->now);
	KUNIT_EXPECT_TRUE(test, ts[0]->lost);
	KUNIT_EXPECT_EQ(test, ts[0]->fatal, MROCE_ST_OK);
	KUNIT_EXPECT_FALSE(test, ts[1]->lost);
	KUNIT_EXPECT_EQ(test, ts[1]->fatal, MROCE_ST_RETRY_EXC);
	KUNIT_EXPECT_EQ(test, ts[1]->n_err_done, 1U);
	KUNIT_EXPECT_EQ(test, ts[1]->msg[1].st, MROCE_ST_RETRY_EXC);
	KUNIT_EXPECT_TRUE(test, ts[2]->lost);
	KUNIT_EXPECT_FALSE(test, ts[3]->lost);
	KUNIT_EXPECT_EQ(test, ts[3]->s.tx_state, MROCE_TX_READY);
	KUNIT_EXPECT_EQ(test, ts[3]->n_done, 0U);
	KUNIT_EXPECT_EQ(test, ts[3]->msg[0].m.state, MROCE_M_QUEUED);
	KUNIT_EXPECT_EQ(test, ts[3]->msg[0].m.attempt, 0);
	KUNIT_EXPECT_EQ(test, ts[3]->msg[0].m.unacked, 0);
	p->liar = true;
	pair_free(p);
}

/* Sixty seconds without streams, a second if nobody ever answered (rule 42). */
static void test_when_it_ends(struct kunit *test)
{
	struct pair *p = pair_connected(test, 168);
	struct mroce_conn *c = &p->side[0].c;

	p->net.cut = true;
	mroce_stream_detach(&pair_ts(p, 0, 0)->s, p->now);
	pair_run(p, 60 * SEC - 1, NULL);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_OPEN);
	p->now++;
	mroce_conn_timer(c, p->now);
	expect_ctrl(p, 0, MROCE_CTRL_CLOSE);
	expect_silence(p, 0);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_DEAD);
	pair_free(p);

	p = pair_new(test, 169, 1500);
	c = &p->side[0].c;
	p->net.cut = true;
	pair_up(p, 0);
	pair_run(p, MS, NULL);
	mroce_stream_detach(&pair_ts(p, 0, 0)->s, p->now);
	pair_run(p, SEC - 1, NULL);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_INIT);
	p->now++;
	mroce_conn_timer(c, p->now);
	expect_silence(p, 0);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_DEAD);
	pair_free(p);
}

/* A CLOSE counts with the peer's nonce and nothing outstanding; streams that are left
 * get another incarnation, in their own time (rule 42).
 */
static void test_close(struct kunit *test)
{
	struct pair *p = pair_connected(test, 170);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_pkt pkt = forge_ctrl(p, 0, MROCE_CTRL_CLOSE);
	struct mroce_pkt ack;
	struct mroce_path_tx *tx;
	u32 gen = c->gen;

	pkt.ctrl.cookie = c->peer_nonce ^ 1;
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_OPEN);
	pkt.ctrl.cookie = c->peer_nonce;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_EXPECT_EQ(test, pair_sent(p, 0)->type, MROCE_T_DATA);
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_OPEN);
	tx = c->tx[c->cur_tx];
	ack = forge_ack(p, 0, tx->id);
	ack.psn = tx->una;
	ack.ack.echo_ts = tx->last_ts;
	p->liar = true;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_TRUE(test, pair_all_done(p));
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_INIT);
	KUNIT_EXPECT_EQ(test, c->gen, gen + 1);
	KUNIT_EXPECT_FALSE(test, pair_ts(p, 0, 0)->s.bound);
	KUNIT_EXPECT_FALSE(test, pair_ts(p, 0, 0)->lost);
	expect_silence(p, 0);
	KUNIT_EXPECT_GE(test, c->init_at - p->now, 750 * MS);
	KUNIT_EXPECT_LE(test, c->init_at - p->now, 1250 * MS);
	pair_free(p);

	p = pair_connected(test, 171);
	c = &p->side[0].c;
	mroce_stream_detach(&pair_ts(p, 0, 0)->s, p->now);
	pkt = forge_ctrl(p, 0, MROCE_CTRL_CLOSE);
	pkt.ctrl.cookie = c->peer_nonce;
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_DEAD);
	expect_silence(p, 0);
	pair_free(p);
}

/* Open when made, by the own nonce, and nobody ends it (rule 43). */
static void test_self(struct kunit *test)
{
	struct pair *p = pair_new_self(test, 172, 1500);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_pkt pkt;

	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_OPEN);
	KUNIT_EXPECT_EQ(test, c->tag, (u16)c->nonce);
	KUNIT_EXPECT_EQ(test, c->psn0, (u32)(c->nonce >> 16));
	pair_up(p, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_ASSERT_EQ(test, pair_sent(p, 0)->type, MROCE_T_DATA);
	KUNIT_EXPECT_EQ(test, reset(p, p->txd.lin, MROCE_COMMON_LEN),
			MROCE_RX_DROP);
	pair_reset(p, 0, 0);
	pair_reset(p, 0, 1);
	c->tx[0]->una = c->tx[0]->nxt;
	pkt = forge_ctrl(p, 0, MROCE_CTRL_CLOSE);
	pkt.ctrl.cookie = c->nonce;
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, c->state, MROCE_CONN_OPEN);
	pair_free(p);
}

static struct kunit_case conn_cases[] = {
	KUNIT_CASE(test_init_again),
	KUNIT_CASE(test_who_opens),
	KUNIT_CASE(test_early_data),
	KUNIT_CASE(test_known_peer_asks),
	KUNIT_CASE(test_other_nonce),
	KUNIT_CASE(test_reset),
	KUNIT_CASE(test_reset_of_probe),
	KUNIT_CASE(test_bound),
	KUNIT_CASE(test_when_it_ends),
	KUNIT_CASE(test_close),
	KUNIT_CASE(test_self),
	{}
};

static struct kunit_suite conn_suite = {
	.name = "metaroce-conn",
	.test_cases = conn_cases,
};

kunit_test_suite(conn_suite);
