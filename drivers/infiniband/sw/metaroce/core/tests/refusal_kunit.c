// SPDX-License-Identifier: GPL-2.0
/*
 * What a requester makes of a refusal: whose it is, what it takes back, how long it
 * waits, what that costs, and when it begins again (rules 14 to 16, 18 to 20, 26).
 */
#include "forge.h"
#include "../internal.h"

/* @n messages of stream 0 are on their way, and stay there; on one path. */
static struct mroce_path_tx *out(struct pair *p, u8 opcode, u32 len, int n)
{
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx = c->tx[c->cur_tx];

	path_set_window(c, tx, 64 << 8);
	p->net.cut = true;
	while (n--)
		pair_post(p, 0, 0, opcode, len, 0, false);
	pair_pump(p, 0);
	KUNIT_ASSERT_PTR_EQ(p->test, tx, c->tx[c->cur_tx]);
	KUNIT_ASSERT_EQ(p->test, pair_ts(p, 0, 0)->s.msn_snd,
			pair_ts(p, 0, 0)->s.msn_nxt);
	return tx;
}

/* The @i-th of them, one packet each, is refused. */
static void refuse(struct pair *p, struct mroce_path_tx *tx, u32 i, u8 code,
		   u8 timer)
{
	struct mroce_pkt nak = forge_nak(p, 0, tx->id, code);
	const struct mroce_slot *sl = &tx->slot[psn_idx(tx->una + i)];

	nak.psn += i;
	nak.nak.msn = sl->msn;
	nak.nak.attempt = sl->attempt;
	nak.nak.timer = timer;
	forge_rx(p, 0, &nak, NULL);
}

/* A NAK names what it refuses, in all it has to say (rule 14). */
static void test_nak_fits(struct kunit *test)
{
	struct pair *p = pair_connected(test, 120);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_pkt good, nak;
	struct mroce_path_tx *tx;
	u64 stale;
	int kind;

	tx = out(p, MROCE_OP_SEND, 4000, 1);
	good = forge_nak(p, 0, tx->id, MROCE_NAK_RNR);
	for (kind = 0; kind < 6; kind++) {
		nak = good;
		switch (kind) {
		case 0:
			nak.psn = tx->nxt;
			break;
		case 1:
			nak.psn = tx->una - 1;
			break;
		case 2:
			nak.nak.qpn++;
			break;
		case 3:
			nak.nak.msn++;
			break;
		case 4:
			nak.nak.attempt++;
			break;
		case 5:
			nak.path = p->side[0].c.n_tx;
			break;
		}
		stale = p->side[0].c.cnt[MROCE_CNT_NAK_STALE];
		forge_rx(p, 0, &nak, NULL);
		KUNIT_EXPECT_EQ(test, p->side[0].c.cnt[MROCE_CNT_NAK_STALE],
				stale + 1);
		KUNIT_EXPECT_EQ(test, a->s.n_refused, 0);
		KUNIT_EXPECT_EQ(test, tx->n_lost, 0U);
	}
	/* the whole message, and once */
	forge_rx(p, 0, &good, NULL);
	KUNIT_EXPECT_EQ(test, a->s.n_refused, 1);
	KUNIT_EXPECT_EQ(test, a->msg[1].m.voided, 3);
	KUNIT_EXPECT_EQ(test, a->msg[1].m.unacked, 0);
	stale = p->side[0].c.cnt[MROCE_CNT_NAK_STALE];
	forge_rx(p, 0, &good, NULL);
	KUNIT_EXPECT_EQ(test, p->side[0].c.cnt[MROCE_CNT_NAK_STALE], stale + 1);
	pair_free(p);
}

/* What is void is sent as NOP, all of it in one, and is no loss (rules 5, 14). */
static void test_void_is_nop(struct kunit *test)
{
	struct pair *p = pair_connected(test, 121);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx;
	struct mroce_pkt pkt;
	u32 window;

	tx = out(p, MROCE_OP_SEND, 4000, 1);
	window = tx->cc.cwnd_x256;
	refuse(p, tx, 0, MROCE_NAK_RNR, 1);
	pkt = *pair_sent(p, 0);
	KUNIT_EXPECT_EQ(test, pkt.opcode, MROCE_OP_NOP);
	KUNIT_EXPECT_EQ(test, pkt.psn, tx->una);
	KUNIT_EXPECT_EQ(test, pkt.data.vec[0], 3ULL);
	KUNIT_EXPECT_EQ(test, pair_sent(p, 0)->type, 0);
	KUNIT_EXPECT_EQ(test, tx->slot[psn_idx(tx->una + 2)].ts, pkt.ts);
	KUNIT_EXPECT_EQ(test, tx->cc.cwnd_x256, window);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_LOST], 0ULL);
	pair_free(p);
}

/* Answered already, but earlier ones are not done: its PSN becomes void, and that
 * is all (rule 14).
 */
static void test_answered_is_not_refused(struct kunit *test)
{
	struct pair *p = pair_connected(test, 122);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_path_tx *tx;
	struct mroce_pkt pkt;

	out(p, MROCE_OP_WRITE, 8, 1);
	tx = out(p, MROCE_OP_READ_REQ, 100, 1);
	pkt = forge_data(p, 0, 0, MROCE_OP_READ_RESP, a->s.msn_una + 1);
	pkt.data.cookie = a->msg[2].m.cookie;
	pkt.payload_len = 100;
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 0, &pkt, a->buf));
	KUNIT_ASSERT_EQ(test, a->msg[2].m.state, MROCE_M_DONE);
	refuse(p, tx, 1, MROCE_NAK_CLOSED, 0);
	KUNIT_EXPECT_EQ(test, a->s.n_refused, 0);
	KUNIT_EXPECT_FALSE(test, a->s.held);
	KUNIT_EXPECT_EQ(test, a->msg[2].m.state, MROCE_M_DONE);
	KUNIT_EXPECT_EQ(test, a->msg[2].m.voided, 1);
	pair_free(p);
}

/* The LAST packet of a WRITE_IMM alone, and under the same attempt (rule 15). */
static void test_write_imm(struct kunit *test)
{
	struct pair *p = pair_connected(test, 123);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_path_tx *tx;

	tx = out(p, MROCE_OP_WRITE_IMM, 4000, 1);
	KUNIT_ASSERT_EQ(test, tx->nxt - tx->una, 3U);
	refuse(p, tx, 2, MROCE_NAK_RNR, 1);
	KUNIT_EXPECT_EQ(test, a->msg[1].m.voided, 1);
	KUNIT_EXPECT_EQ(test, a->msg[1].m.unacked, 2);
	pair_post_recv(p, 1, 0, 1);
	p->net.cut = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->msg[1].m.attempt, 0);
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_free(p);
}

static u64 rnr_hold_ns(struct kunit *test, u8 timer, u64 srtt_ns)
{
	struct pair *p = pair_connected(test, 124);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_path_tx *tx;
	u64 ns;

	tx = out(p, MROCE_OP_SEND, 8, 1);
	tx->srtt_ns = srtt_ns;
	refuse(p, tx, 0, MROCE_NAK_RNR, timer);
	KUNIT_EXPECT_TRUE(test, a->s.held);
	ns = a->s.hold_until - p->now;
	pair_free(p);
	return ns;
}

/* The receiver's time, but not less than two round trips (rule 16). */
static void test_rnr_hold(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rnr_hold_ns(test, 20, 20 * US), 10240 * US);
	KUNIT_EXPECT_EQ(test, rnr_hold_ns(test, 20, 20 * MS), 40 * MS);
	KUNIT_EXPECT_EQ(test, rnr_hold_ns(test, 1, 20 * US), 40 * US);
	KUNIT_EXPECT_EQ(test, rnr_hold_ns(test, 31, 20 * US), 491520 * US);
	KUNIT_EXPECT_EQ(test, rnr_hold_ns(test, 0, 20 * US), 655360 * US);
}

/* One round of refusals costs one retry and half of what was in flight; each that
 * is accepted gives one back, and the retries (rule 16).
 */
static void test_rnr_round(struct kunit *test)
{
	struct pair *p = pair_connected(test, 125);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_path_tx *tx;
	int i;

	a->s.a.rnr_retry = 3;
	a->s.rnr_left = 3;
	tx = out(p, MROCE_OP_SEND, 8, 8);
	for (i = 0; i < 3; i++) {
		refuse(p, tx, i, MROCE_NAK_RNR, 1);
		KUNIT_EXPECT_EQ(test, a->s.rnr_left, 2);
		KUNIT_EXPECT_EQ(test, a->s.rnr_limit, 4);
		KUNIT_EXPECT_EQ(test, a->s.n_refused, i + 1);
	}
	pair_post_recv(p, 1, 0, 20);
	p->net.cut = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	KUNIT_EXPECT_EQ(test, a->s.rnr_left, 3);
	KUNIT_EXPECT_EQ(test, a->s.rnr_limit, 4 + 8);

	/* no more in flight than that; what consumes nothing passes */
	a->s.rnr_limit = 2;
	p->net.cut = true;
	for (i = 0; i < 5; i++)
		pair_post(p, 0, 0, i % 2 ? MROCE_OP_WRITE : MROCE_OP_SEND, 8,
			  0, false);
	pair_pump(p, 0);
	KUNIT_EXPECT_EQ(test, a->s.n_consuming, 2);
	KUNIT_EXPECT_EQ(test, a->s.msn_snd - a->s.msn_una, 4U);
	pair_free(p);
}

/* Seven is without end (rule 16). */
static void test_rnr_unlimited(struct kunit *test)
{
	struct pair *p = pair_connected(test, 126);
	struct tstream *a = pair_ts(p, 0, 0);

	pair_post(p, 0, 0, MROCE_OP_SEND, 8, 0, false);
	pair_run(p, SEC, NULL);
	KUNIT_EXPECT_GT(test, p->side[0].c.cnt[MROCE_CNT_RNR_RECV], 100ULL);
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	KUNIT_EXPECT_EQ(test, a->s.rnr_left, 7);
	pair_post_recv(p, 1, 0, 1);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	pair_free(p);
}

static bool second_try(struct pair *p)
{
	const struct mroce_msg *m = &pair_ts(p, 0, 0)->msg[1].m;

	return m->attempt == 1 && m->unacked;
}

/* The first packet of the next attempt goes alone, and nothing else is started
 * before it is accepted (rule 16).
 */
static void test_first_goes_alone(struct kunit *test)
{
	struct pair *p = pair_connected(test, 127);
	struct tstream *a = pair_ts(p, 0, 0);

	pair_post(p, 0, 0, MROCE_OP_SEND, 4000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_run(p, 15 * US, NULL);
	pair_post_recv(p, 1, 0, 1);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, second_try));
	KUNIT_EXPECT_EQ(test, a->msg[1].m.unacked, 1);
	KUNIT_EXPECT_LT(test, a->msg[1].m.off, 4000U);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_pump(p, 0);
	KUNIT_EXPECT_EQ(test, a->msg[1].m.unacked, 1);
	KUNIT_EXPECT_EQ(test, a->msg[3].m.state, MROCE_M_QUEUED);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->msg[1].m.attempt, 1);
	pair_free(p);
}

/* NOT_READY costs a retry, and T_retry; a QP that never times out has patience
 * without end (rule 18).
 */
static void test_not_ready(struct kunit *test)
{
	struct pair *p = pair_connected(test, 128);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_path_tx *tx;

	tx = out(p, MROCE_OP_WRITE, 8, 1);
	refuse(p, tx, 0, MROCE_NAK_NOT_READY, 0);
	KUNIT_EXPECT_EQ(test, a->s.retries_left, 6);
	KUNIT_EXPECT_EQ(test, a->s.hold_until - p->now, 4096ULL << 12);
	pair_free(p);

	p = pair_connected(test, 129);
	a = pair_ts(p, 0, 0);
	a->s.a.timeout = 0;
	tx = out(p, MROCE_OP_WRITE, 8, 1);
	refuse(p, tx, 0, MROCE_NAK_NOT_READY, 0);
	KUNIT_EXPECT_EQ(test, a->s.retries_left, 7);
	KUNIT_EXPECT_EQ(test, a->s.hold_until - p->now, 100 * MS);
	pair_free(p);
}

/* Refused until the retries are used up. */
static void refused_for_good(struct kunit *test, bool closed, u64 naks)
{
	struct pair *p = pair_connected(test, 130);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_conn *c = &p->side[0].c;

	if (closed)
		mroce_stream_error(&pair_ts(p, 1, 0)->s, p->now);
	else
		pair_reset(p, 1, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_run(p, 2 * SEC, NULL);
	KUNIT_EXPECT_EQ(test, a->n_done, 2U);
	KUNIT_EXPECT_EQ(test, a->msg[1].st, MROCE_ST_RETRY_EXC);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RX_NAK], naks);
	pair_free(p);
}

/* CLOSED: one more try; NOT_READY: as many as there are retries (rule 18). */
static void test_closed(struct kunit *test)
{
	refused_for_good(test, true, 2);
	refused_for_good(test, false, 8);
}

/* Two are refused for good, the later first: that which comes first counts, and what
 * is before it is done (rule 19).
 */
static void test_earlier_error(struct kunit *test)
{
	struct pair *p = pair_connected(test, 131);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_path_tx *tx;
	struct mroce_pkt ack;

	tx = out(p, MROCE_OP_WRITE, 8, 4);
	refuse(p, tx, 2, MROCE_NAK_ACCESS, 0);
	refuse(p, tx, 1, MROCE_NAK_INV_REQ, 0);
	KUNIT_EXPECT_EQ(test, a->s.tx_state, MROCE_TX_DRAIN);
	KUNIT_EXPECT_EQ(test, a->n_done, 1U);
	ack = forge_ack(p, 0, tx->id);
	ack.psn = tx->una;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, a->n_done, 3U);
	KUNIT_EXPECT_EQ(test, a->msg[1].st, MROCE_ST_OK);
	KUNIT_EXPECT_EQ(test, a->msg[2].st, MROCE_ST_REM_INV_REQ);
	KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_REM_INV_REQ);
	pair_free(p);
}

/* The failure of a small Write that is done may be heard of within the window of
 * messages, and from nobody who guesses (rule 20).
 */
static void test_late_error(struct kunit *test)
{
	struct pair *p = pair_connected(test, 132);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_pkt pkt;
	int kind;

	out(p, MROCE_OP_READ_REQ, 8, 1);
	for (kind = 0; kind < 5; kind++) {
		pkt = forge_data(p, 0, 0, MROCE_OP_RESP_ERR, a->s.msn_una - 1);
		pkt.data.code = MROCE_NAK_ACCESS;
		if (kind == 0)
			pkt.data.msn -= MROCE_MSN_WINDOW;
		if (kind == 1)
			pkt.data.cookie = 1;
		if (kind == 2)
			pkt.data.msn = a->s.msn_nxt;
		if (kind == 3)		/* a Read is not named by 0 */
			pkt.data.msn++;
		forge_rx(p, 0, &pkt, NULL);
		/* void, whatever it says */
		KUNIT_EXPECT_EQ(test, p->side[0].c.rx[FORGED_PATH]->cum,
				pkt.psn);
		KUNIT_EXPECT_EQ(test, a->fatal, kind < 4 ? MROCE_ST_OK :
							   MROCE_ST_REM_ACCESS);
	}
	KUNIT_EXPECT_EQ(test, a->msg[1].st, MROCE_ST_REM_ACCESS);
	pair_free(p);
}

/* Waiting for the peer, or for the silence of a former life, ends with the retries;
 * waiting for local room or for the receiver's time costs none (rule 26).
 */
static void test_waits(struct kunit *test)
{
	struct pair *p = pair_new(test, 133, 1500);
	struct tstream *a = pair_ts(p, 0, 0);

	/* no connection: 3 RTOs of 10 ms, eight times */
	p->net.cut = true;
	pair_up(p, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_run(p, 239 * MS, NULL);
	KUNIT_EXPECT_EQ(test, a->n_done, 0U);
	pair_run(p, 2 * MS, NULL);
	KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_RETRY_EXC);
	pair_free(p);

	p = pair_connected(test, 134);
	a = pair_ts(p, 0, 0);
	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_pump(p, 0);
	pair_reset(p, 0, 0);
	pair_reset(p, 1, 0);
	pair_up(p, 0);
	KUNIT_ASSERT_EQ(test, a->s.quarantine, 1U);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_run(p, SEC, NULL);
	KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_RETRY_EXC);
	pair_free(p);

	/* the receiver's time, though its NOPs are not answered */
	p = pair_connected(test, 136);
	a = pair_ts(p, 0, 0);
	refuse(p, out(p, MROCE_OP_SEND, 8, 1), 0, MROCE_NAK_RNR, 0);
	pair_run(p, 600 * MS, NULL);
	KUNIT_EXPECT_TRUE(test, a->s.held);
	KUNIT_EXPECT_EQ(test, a->s.retries_left, 7);
	pair_free(p);

	p = pair_connected(test, 135);
	a = pair_ts(p, 0, 0);
	p->side[0].c.tx_blocked = true;
	pair_post(p, 0, 0, MROCE_OP_SEND, 8, 0, false);
	pair_run(p, SEC, NULL);
	KUNIT_EXPECT_EQ(test, a->s.retries_left, 7);
	p->side[0].c.tx_blocked = false;
	pair_ts(p, 1, 0)->s.a.min_rnr_timer = 0;	/* 655 ms */
	pair_run(p, 500 * MS, NULL);
	KUNIT_EXPECT_TRUE(test, a->s.held);
	KUNIT_EXPECT_EQ(test, a->s.retries_left, 7);
	KUNIT_EXPECT_EQ(test, pair_cnt(p, MROCE_CNT_RETRY), 0ULL);
	pair_post_recv(p, 1, 0, 1);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_free(p);
}

static struct kunit_case refusal_cases[] = {
	KUNIT_CASE(test_nak_fits),
	KUNIT_CASE(test_void_is_nop),
	KUNIT_CASE(test_answered_is_not_refused),
	KUNIT_CASE(test_write_imm),
	KUNIT_CASE(test_rnr_hold),
	KUNIT_CASE(test_rnr_round),
	KUNIT_CASE(test_rnr_unlimited),
	KUNIT_CASE(test_first_goes_alone),
	KUNIT_CASE(test_not_ready),
	KUNIT_CASE(test_closed),
	KUNIT_CASE(test_earlier_error),
	KUNIT_CASE(test_late_error),
	KUNIT_CASE(test_waits),
	{}
};

static struct kunit_suite refusal_suite = {
	.name = "metaroce-refusal",
	.test_cases = refusal_cases,
};

kunit_test_suite(refusal_suite);
