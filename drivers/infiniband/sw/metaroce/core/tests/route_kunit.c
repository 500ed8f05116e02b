// SPDX-License-Identifier: GPL-2.0
/*
 * Paths and their routes, step by step: what an acknowledgment proves, when silence is
 * asked about, when a path takes another route, and which path a packet takes, and how
 * large it is (rules 28 to 38).
 */
#include "forge.h"
#include "../internal.h"

/* All paths of side 0 are open, and nothing is outstanding. */
static struct pair *four_paths(struct kunit *test, u64 seed)
{
	struct pair *p = pair_connected(test, seed);
	int i;

	for (i = 0; i < 40; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_ASSERT_EQ(test, p->side[0].c.n_tx, MROCE_DEF_PATHS);
	pair_ts(p, 0, 0)->s.a.timeout = 0;
	return p;
}

/* @n packets, each 10 us after the one before, are under way on one path. */
static struct mroce_path_tx *out(struct pair *p, int n)
{
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx = c->tx[c->cur_tx];

	path_set_window(c, tx, 64 << 8);
	c->burst = 0;
	p->net.cut = true;
	while (n--) {
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
		pair_pump(p, 0);
		p->now += 10 * US;
	}
	KUNIT_ASSERT_PTR_EQ(p->test, tx, c->tx[c->cur_tx]);
	return tx;
}

static u32 stamp(const struct mroce_path_tx *tx, u32 i)
{
	return tx->slot[psn_idx(tx->una + i)].ts;
}

/* What is in the ACK of a peer that has got the i-th packet, and none before it. */
static struct mroce_pkt ack_of(struct pair *p, const struct mroce_path_tx *tx,
			       u32 i)
{
	struct mroce_pkt ack = forge_ack(p, 0, tx->id);

	ack.opcode = i ? MROCE_ACK_FULL : MROCE_ACK_SHORT;
	ack.psn = i ? tx->una - 1 : tx->una;
	ack.ack.vec[0] = i ? BIT(i) : 0;
	ack.ack.echo_ts = stamp(tx, i);
	ack.ack.n_recv++;
	return ack;
}

/* The next packet that side 0 sends, or type 0: none. */
static const struct mroce_pkt *sent(struct pair *p)
{
	return pair_sent(p, 0);
}

/* The path has waited for long enough. */
static void time_out(struct pair *p, const struct mroce_path_tx *tx)
{
	p->now = max(p->now, tx->deadline);
	mroce_conn_timer(&p->side[0].c, p->now);
}

/* Lost is what left before, on the same route, and no other (rule 28). */
static void test_order_proves(struct kunit *test)
{
	struct pair *p = pair_connected(test, 140);
	struct mroce_path_tx *tx = out(p, 4);
	struct mroce_pkt ack, pkt;

	ack = ack_of(p, tx, 2);
	ack.epoch++;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, tx->n_lost, 0U);
	ack = ack_of(p, tx, 2);
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, tx->n_lost, 2U);
	KUNIT_EXPECT_EQ(test, tx->inflight, 1U);

	/* at once, under the same PSNs, before what is new (rule 30) */
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pkt = *sent(p);
	KUNIT_EXPECT_EQ(test, pkt.psn, tx->una);
	KUNIT_EXPECT_TRUE(test, pkt.flags & MROCE_F_RETX);
	KUNIT_EXPECT_TRUE(test, mroce_seq_after(pkt.ts, ack.ack.echo_ts));
	KUNIT_EXPECT_EQ(test, sent(p)->psn, tx->una + 1);
	KUNIT_EXPECT_EQ(test, sent(p)->psn, tx->una + 4);
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
	pair_free(p);
}

/* Three are under way, the last is reported, the first was late; @return: by how
 * much later ones may be since then.
 */
static u32 guard_after(struct pair *p, u64 srtt_ns)
{
	struct mroce_path_tx *tx = out(p, 3);
	struct mroce_pkt ack;
	u32 first = stamp(tx, 0);

	tx->srtt_ns = srtt_ns;
	tx->rttvar_ns = 0;
	ack = ack_of(p, tx, 2);
	ack.ack.hold = U32_MAX;		/* no sample */
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(p->test, tx->n_lost, 2U);
	pair_pump(p, 0);
	ack.opcode = MROCE_ACK_SHORT;
	ack.psn = tx->nxt - 1;
	ack.ack.echo_ts = first;
	ack.ack.vec[0] = 0;
	ack.ack.n_recv++;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(p->test, tx->una, tx->nxt);
	KUNIT_EXPECT_EQ(p->test, p->side[0].c.cnt[MROCE_CNT_SPURIOUS], 2ULL);
	return tx->guard_ts;
}

/* The guard learns how late packets are, at most a quarter of the RTT, and forgets it
 * (rule 29).
 */
static void test_guard(struct kunit *test)
{
	struct pair *p = pair_connected(test, 141);
	struct mroce_path_tx *tx;
	struct mroce_pkt ack;
	u32 i, guard;

	/* 20 us late; 64 ns are a unit */
	guard = guard_after(p, MS);
	KUNIT_EXPECT_GE(test, guard, 311U);
	KUNIT_EXPECT_LE(test, guard, 313U);

	/* that late is not lost any more, later is */
	tx = out(p, 4);
	ack = ack_of(p, tx, 2);
	ack.ack.hold = U32_MAX;
	tx->slot[psn_idx(tx->una)].ts = ack.ack.echo_ts - guard;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, tx->n_lost, 0U);
	tx->slot[psn_idx(tx->una)].ts--;
	ack.ack.n_recv++;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, tx->n_lost, 1U);

	/* 16 windows without that */
	for (i = 0; i < 16; i++) {
		KUNIT_EXPECT_EQ(test, tx->guard_ts, guard);
		ack = forge_ack(p, 0, tx->id);
		ack.psn = tx->nxt - 1;
		ack.ack.echo_ts = tx->last_ts;
		ack.ack.n_recv = tx->n_recv + 1;
		forge_rx(p, 0, &ack, NULL);
		out(p, 1);
	}
	KUNIT_EXPECT_EQ(test, tx->guard_ts, guard / 2);
	pair_free(p);

	p = pair_connected(test, 142);
	KUNIT_EXPECT_EQ(test, guard_after(p, 40 * US), 10000U / 64);
	pair_free(p);
}

static void expect_bad(struct pair *p, const struct mroce_pkt *ack)
{
	struct mroce_conn *c = &p->side[0].c;
	u64 bad = c->cnt[MROCE_CNT_RX_BADACK];
	struct mroce_path_tx *tx = c->tx[c->cur_tx];
	u32 una = tx->una;

	forge_rx(p, 0, ack, NULL);
	KUNIT_EXPECT_EQ(p->test, c->cnt[MROCE_CNT_RX_BADACK], bad + 1);
	KUNIT_EXPECT_EQ(p->test, tx->una, una);
	KUNIT_EXPECT_TRUE(p->test, test_bit(psn_idx(una + 1), tx->out));
}

/* What nobody can have received, or said (rule 31). */
static void test_bad_acks(struct kunit *test)
{
	struct pair *p = pair_connected(test, 143);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx = out(p, 3);
	struct mroce_pkt ack;

	ack = ack_of(p, tx, 1);
	ack.path = c->n_tx;
	expect_bad(p, &ack);
	ack = ack_of(p, tx, 1);
	ack.psn = tx->nxt;
	ack.ack.vec[0] = 0;
	expect_bad(p, &ack);
	ack = ack_of(p, tx, 1);
	ack.ack.vec[0] |= BIT(3);
	expect_bad(p, &ack);
	ack.ack.vec[0] = BIT(1);
	ack.ack.vec[3] = 1;
	expect_bad(p, &ack);
	ack = ack_of(p, tx, 1);
	ack.ack.echo_ts = tx->last_ts + 1;
	expect_bad(p, &ack);
	ack.ack.echo_ts = tx->last_ts - MROCE_TS_VALID;
	expect_bad(p, &ack);
	/* late, not bad */
	ack = ack_of(p, tx, 1);
	ack.psn -= 1;
	ack.ack.vec[0] <<= 1;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_ACK_STALE], 1ULL);
	KUNIT_EXPECT_EQ(test, tx->inflight, 3U);
	ack = ack_of(p, tx, 1);
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_ACK_STALE], 1ULL);
	KUNIT_EXPECT_EQ(test, tx->inflight, 1U);
	pair_free(p);
}

/* An older ACK has its say on what arrived, on nothing else; an RTT is one of a
 * newer echo (rule 31).
 */
static void test_old_ack(struct kunit *test)
{
	struct pair *p = pair_connected(test, 144);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx = out(p, 4);
	struct mroce_pkt ack;
	u64 srtt;

	ack = ack_of(p, tx, 3);
	ack.ack.n_recv -= 2;
	ack.ack.n_ce = tx->n_ce + 5;
	ack.ack.hint_kbps = 1000;
	srtt = tx->srtt_ns;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, tx->inflight, 3U);
	KUNIT_EXPECT_EQ(test, tx->n_lost, 0U);
	KUNIT_EXPECT_EQ(test, tx->srtt_ns, srtt);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_TX_CE_ECHO], 0ULL);
	KUNIT_EXPECT_EQ(test, c->plane0.pace_kbps, 0U);

	/* the echo of 1: 30 us ago, of which it was held for 10 */
	ack = ack_of(p, tx, 1);
	ack.ack.hold = 10000 / 64;
	tx->srtt_ns = 0;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_GE(test, tx->srtt_ns, 20 * US - 128);
	KUNIT_EXPECT_LE(test, tx->srtt_ns, 20 * US + 128);
	srtt = tx->srtt_ns;
	p->now += MS;
	ack.ack.n_recv++;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, tx->srtt_ns, srtt);
	/* less than nothing is a microsecond */
	tx->srtt_ns = 0;
	ack.ack.n_recv++;
	ack.ack.echo_ts = tx->last_ts;
	ack.ack.hold = conn_ts(c, p->now) - tx->last_ts - 1;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, tx->srtt_ns, US);
	pair_free(p);
}

static u64 probe_after(struct mroce_conn *c, struct mroce_path_tx *tx,
		       u64 srtt_ns, u64 rttvar_ns)
{
	tx->srtt_ns = srtt_ns;
	tx->rttvar_ns = rttvar_ns;
	path_arm(c, tx);
	return tx->deadline - tx->last_tx_ns;
}

/* When a lost tail is asked for (rule 30). */
static void test_probe_time(struct kunit *test)
{
	struct pair *p = pair_connected(test, 145);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx = out(p, 2);

	KUNIT_EXPECT_EQ(test, probe_after(c, tx, 100 * US, 5 * US), 200 * US);
	KUNIT_EXPECT_EQ(test, probe_after(c, tx, 20 * US, 50 * US), 220 * US);
	KUNIT_EXPECT_EQ(test, probe_after(c, tx, US, US), 20 * US);
	KUNIT_EXPECT_EQ(test, probe_after(c, tx, 0, 0), 10 * MS);
	/* not many of them after a pause */
	tx->stale = true;
	KUNIT_EXPECT_EQ(test, probe_after(c, tx, 100 * US, 5 * US), 10 * MS);
	tx->una++;
	KUNIT_EXPECT_EQ(test, probe_after(c, tx, 100 * US, 5 * US), 200 * US);
	tx->una--;
	tx->stale = false;
	c->plane0.pace_gap_ns = 7 * US;
	KUNIT_EXPECT_EQ(test, probe_after(c, tx, 100 * US, 5 * US), 214 * US);
	c->plane0.pace_gap_ns = 0;

	KUNIT_EXPECT_EQ(test, path_rto_ns(tx), MS);
	tx->rttvar_ns = MS;
	KUNIT_EXPECT_EQ(test, path_rto_ns(tx), 4100 * US);
	tx->srtt_ns = 0;
	KUNIT_EXPECT_EQ(test, path_rto_ns(tx), 10 * MS);
	pair_free(p);
}

/* The newest transmission, whatever its PSN, and nothing else (rule 30). */
static void test_probe_newest(struct kunit *test)
{
	struct pair *p = pair_connected(test, 146);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx = out(p, 4);

	time_out(p, tx);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_TLP], 1ULL);
	KUNIT_EXPECT_EQ(test, sent(p)->psn, tx->nxt - 1);
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
	path_tx_mark_lost(c, tx, tx->una + 1);
	p->now += US;
	KUNIT_EXPECT_EQ(test, sent(p)->psn, tx->una + 1);
	time_out(p, tx);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RTO], 1ULL);
	KUNIT_EXPECT_EQ(test, tx->cc.cwnd_x256, 256U);
	KUNIT_EXPECT_EQ(test, sent(p)->psn, tx->una + 1);
	KUNIT_EXPECT_EQ(test, sent(p)->type, 0);
	pair_free(p);
}

/* Time until the path takes another route. @heard: another one is, all the time. */
static u64 rehome_after(struct pair *p, struct mroce_path_tx *tx,
			struct mroce_path_tx *heard)
{
	u64 start = p->now;
	u8 epoch = tx->epoch;

	while (tx->epoch == epoch && p->now < start + 20 * SEC) {
		if (heard)
			heard->last_rx_ns = tx->deadline;
		time_out(p, tx);
		pair_pump(p, 0);
	}
	return p->now - start;
}

/* Suspicion: so long after the probe, if another path was heard since (rule 33). */
static void test_suspicion(struct kunit *test)
{
	static const u64 rttvar[] = { 5 * US, 100 * US };
	static const u64 wait[] = { 360 * US, 420 * US };
	int i;

	for (i = 0; i < 2; i++) {
		struct pair *p = four_paths(test, 147);
		struct mroce_conn *c = &p->side[0].c;
		struct mroce_path_tx *tx = out(p, 3);
		u16 port = tx->sport;
		u8 epoch = tx->epoch;

		tx->srtt_ns = 20 * US;
		tx->rttvar_ns = rttvar[i];
		time_out(p, tx);
		pair_pump(p, 0);
		KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_TLP], 1ULL);
		KUNIT_EXPECT_EQ(test, rehome_after(p, tx, c->tx[!tx->id]),
				wait[i]);
		KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RTO], 0ULL);
		KUNIT_EXPECT_EQ(test, (u8)(tx->epoch - epoch), 1);
		KUNIT_EXPECT_NE(test, tx->sport, port);
		/* all of it is sent again there, under the same PSNs */
		KUNIT_EXPECT_EQ(test, tx->inflight, 3U);
		KUNIT_EXPECT_EQ(test, tx->nxt - tx->una, 3U);
		pair_free(p);
	}
}

/* Not twice within an RTO, though it was heard in between; and all that is out goes by
 * the new route, whatever the window (rule 33).
 */
static void test_not_so_soon(struct kunit *test)
{
	struct pair *p = four_paths(test, 155);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx = out(p, 3);
	u8 epoch = tx->epoch;

	tx->srtt_ns = 20 * US;
	tx->rttvar_ns = 5 * US;
	path_set_window(c, tx, 256);
	tx->rtx_budget = 0;
	mroce_conn_rehome(c, tx, p->now);
	KUNIT_EXPECT_EQ(test, (u8)(tx->epoch - epoch), 1);
	pair_pump(p, 0);
	KUNIT_EXPECT_EQ(test, tx->inflight, 3U);
	tx->rehomes = 0;
	time_out(p, tx);
	pair_pump(p, 0);
	c->tx[!tx->id]->last_rx_ns = tx->deadline;
	time_out(p, tx);
	KUNIT_EXPECT_LT(test, p->now - tx->rehome_ns, MS);
	KUNIT_EXPECT_EQ(test, (u8)(tx->epoch - epoch), 1);
	pair_free(p);
}

/* Several routes may be bad, one after the other: the first four do not make the
 * next one wait longer, more of them do (rule 33).
 */
static void test_free_rehomes(struct kunit *test)
{
	struct pair *p = four_paths(test, 148);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx = out(p, 1);
	struct mroce_pkt ack;
	int i;

	tx->srtt_ns = 20 * US;
	tx->rttvar_ns = 5 * US;
	rehome_after(p, tx, c->tx[!tx->id]);
	for (i = 2; i <= 5; i++)
		KUNIT_EXPECT_EQ(test, rehome_after(p, tx, c->tx[!tx->id]), MS);
	for (i = 1; i <= 9; i++)
		KUNIT_EXPECT_EQ(test, rehome_after(p, tx, c->tx[!tx->id]),
				MS << i);
	for (i = 0; i < 300; i++)
		rehome_after(p, tx, c->tx[!tx->id]);
	KUNIT_EXPECT_EQ(test, rehome_after(p, tx, c->tx[!tx->id]), SEC);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RTO], 0ULL);
	/* heard: all is as it was */
	ack = forge_ack(p, 0, tx->id);
	ack.ack.echo_ts = tx->last_ts;
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, tx->backoff, 0);
	KUNIT_EXPECT_EQ(test, tx->rehomes, 0);
	pair_free(p);
}

/* Nobody is heard: from the second time-out on, and the same count (rule 33). */
static void test_rtos(struct kunit *test)
{
	struct pair *p = pair_connected(test, 149);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx;
	int i;

	pair_ts(p, 0, 0)->s.a.timeout = 0;
	tx = out(p, 1);
	tx->srtt_ns = 20 * US;
	tx->rttvar_ns = 5 * US;
	rehome_after(p, tx, NULL);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_TLP], 1ULL);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RTO], 2ULL);
	for (i = 2; i <= 5; i++)
		KUNIT_EXPECT_EQ(test, rehome_after(p, tx, NULL), 4 * MS);
	for (i = 3; i <= 9; i++)
		KUNIT_EXPECT_EQ(test, rehome_after(p, tx, NULL), MS << i);
	KUNIT_EXPECT_EQ(test, rehome_after(p, tx, NULL), SEC);
	KUNIT_EXPECT_EQ(test, rehome_after(p, tx, NULL), SEC);
	pair_free(p);
}

/* 65,000 bytes to one path, 64 packets at most; then the emptiest (rule 36). */
static void test_bursts(struct kunit *test)
{
	static const u8 window[] = { 50, 200, 100, 60 };
	struct pair *p = four_paths(test, 150);
	struct mroce_conn *c = &p->side[0].c;
	int i, k;

	p->net.cut = true;
	for (i = 0; i < 4; i++)
		path_set_window(c, c->tx[i], 256 << 8);
	for (i = 0; i < 20; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 60000, 0, false);
	c->burst = U8_MAX;
	for (i = 0; i < 4 * (65000 / 1500); i++)
		KUNIT_ASSERT_EQ(test, sent(p)->type, MROCE_T_DATA);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, c->tx[i]->inflight, 65000U / 1500);
	for (i = 0; i < 4; i++)
		path_set_window(c, c->tx[i], window[i] << 8);
	KUNIT_EXPECT_EQ(test, sent(p)->path, 1);

	/* of small ones no more than 64 */
	mroce_conn_set_mtu(c, 600);
	c->burst = U8_MAX;
	for (k = 0; k < 64; k++)
		KUNIT_EXPECT_EQ(test, sent(p)->path, 1);
	KUNIT_EXPECT_EQ(test, c->tx[1]->inflight, 65000U / 1500 + 65);
	KUNIT_EXPECT_NE(test, sent(p)->path, 1);
	pair_free(p);
}

/* In turn among equals: what is alone does not go by the same path always (rule
 * 36).
 */
static void test_turns(struct kunit *test)
{
	struct pair *p = four_paths(test, 151);
	struct mroce_conn *c = &p->side[0].c;
	u64 had[MROCE_DEF_PATHS];
	int i;

	for (i = 0; i < 4; i++)
		had[i] = c->tx[i]->tx_pkts;
	for (i = 0; i < 4 * (65000 / 1500); i++) {
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
		KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	}
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_GE(test, c->tx[i]->tx_pkts, had[i] + 30);
	pair_free(p);
}

/* The smaller of both ends', and what is out keeps its cut (rule 35). */
static void test_mtu(struct kunit *test)
{
	struct pair *p = pair_connected(test, 156);
	struct mroce_conn *c = &p->side[0].c;
	u32 psn;

	mroce_conn_set_mtu(c, 9000);
	KUNIT_EXPECT_EQ(test, c->mtu, 1500);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1420, 0, false);
	psn = sent(p)->psn;
	KUNIT_EXPECT_TRUE(test, p->seen.flags & MROCE_F_LAST);
	mroce_conn_set_mtu(c, 400);
	KUNIT_EXPECT_EQ(test, c->mtu, 576);
	p->no_verify = true;
	path_tx_mark_lost(c, c->tx[c->cur_tx], psn);
	c->tx[c->cur_tx]->rtx_budget = 1;
	KUNIT_EXPECT_EQ(test, sent(p)->psn, psn);
	KUNIT_EXPECT_EQ(test, p->seen.payload_len, 1420U);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1420, 0, false);
	KUNIT_EXPECT_EQ(test, sent(p)->payload_len, 576U - 28 - 52);
	pair_free(p);
}

static u64 retry_after(struct pair *p, u8 timeout, u64 srtt_ns)
{
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_stream *s = &pair_ts(p, 0, 0)->s;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		c->tx[i]->srtt_ns = srtt_ns;
		c->tx[i]->rttvar_ns = 0;
	}
	s->a.timeout = timeout;
	s->retry_at = MROCE_NEVER;
	stream_arm(s, p->now);
	return s->retry_at == MROCE_NEVER ? 0 : s->retry_at - p->now;
}

/* T_retry: how long, from when, and which route it takes for the culprit (rule
 * 37).
 */
static void test_retry_time(struct kunit *test)
{
	struct pair *p = four_paths(test, 152);
	struct mroce_stream *s = &pair_ts(p, 0, 0)->s;
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *old, *young;
	struct mroce_pkt ack;
	u8 epoch;

	old = out(p, 2);
	KUNIT_EXPECT_EQ(test, retry_after(p, 14, 20 * US), 4096ULL << 14);
	KUNIT_EXPECT_EQ(test, retry_after(p, 1, 20 * US), 4 * MS);
	KUNIT_EXPECT_EQ(test, retry_after(p, 1, 5 * MS), 15 * MS);
	KUNIT_EXPECT_EQ(test, retry_after(p, 0, 20 * US), 0ULL);

	/* progress begins it anew, and gives the retries back */
	KUNIT_EXPECT_EQ(test, retry_after(p, 14, 20 * US), 4096ULL << 14);
	s->retries_left = 2;
	p->now += MS;
	ack = ack_of(p, old, 0);
	forge_rx(p, 0, &ack, NULL);
	KUNIT_EXPECT_EQ(test, s->retries_left, 7);
	KUNIT_EXPECT_EQ(test, s->retry_at - p->now, 4096ULL << 14);

	/* another packet on another path, later: that is not the oldest */
	c->burst = U8_MAX;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	pair_pump(p, 0);
	young = c->tx[c->cur_tx];
	KUNIT_ASSERT_PTR_NE(test, old, young);
	epoch = young->epoch;
	c->last_heard_ns = 0;
	p->now = s->retry_at;
	old->rehome_ns = p->now - path_rto_ns(old) + 1;
	stream_timer(s, p->now);
	KUNIT_EXPECT_EQ(test, old->epoch, 0);	/* it has just moved */
	KUNIT_EXPECT_EQ(test, s->retries_left, 6);
	p->now = s->retry_at;
	stream_timer(s, p->now);
	KUNIT_EXPECT_EQ(test, old->epoch, 1);
	KUNIT_EXPECT_EQ(test, young->epoch, epoch);
	KUNIT_EXPECT_EQ(test, s->retries_left, 5);
	pair_free(p);

	/* the peer was heard, and the packet has seen one route: once, for free */
	p = four_paths(test, 153);
	s = &pair_ts(p, 0, 0)->s;
	out(p, 1);
	retry_after(p, 14, 20 * US);
	p->now = s->retry_at;
	p->side[0].c.last_heard_ns = p->now;
	stream_timer(s, p->now);
	KUNIT_EXPECT_EQ(test, s->retries_left, 7);
	p->now = s->retry_at;
	p->side[0].c.last_heard_ns = p->now;
	stream_timer(s, p->now);
	KUNIT_EXPECT_EQ(test, s->retries_left, 6);
	pair_free(p);
}

/* A deadline that was served late: not the path's fault, but once (rule 38). */
static void test_served_late(struct kunit *test)
{
	struct pair *p = pair_connected(test, 154);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx;

	pair_ts(p, 0, 0)->s.a.timeout = 0;
	tx = out(p, 2);
	p->now = tx->deadline + MS + 1;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_TLP], 0ULL);
	KUNIT_EXPECT_EQ(test, tx->deadline, p->now + 200 * US);
	p->now = tx->deadline + 5 * MS;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_TLP], 1ULL);
	pair_pump(p, 0);
	p->now = tx->deadline + MS - 1;
	mroce_conn_timer(c, p->now);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RTO], 1ULL);
	pair_free(p);
}

static struct kunit_case route_cases[] = {
	KUNIT_CASE(test_order_proves),
	KUNIT_CASE(test_guard),
	KUNIT_CASE(test_bad_acks),
	KUNIT_CASE(test_old_ack),
	KUNIT_CASE(test_probe_time),
	KUNIT_CASE(test_probe_newest),
	KUNIT_CASE(test_suspicion),
	KUNIT_CASE(test_not_so_soon),
	KUNIT_CASE(test_free_rehomes),
	KUNIT_CASE(test_rtos),
	KUNIT_CASE(test_bursts),
	KUNIT_CASE(test_turns),
	KUNIT_CASE(test_mtu),
	KUNIT_CASE(test_retry_time),
	KUNIT_CASE(test_served_late),
	{}
};

static struct kunit_suite route_suite = {
	.name = "metaroce-route",
	.test_cases = route_cases,
};

kunit_test_suite(route_suite);
