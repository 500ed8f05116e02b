// SPDX-License-Identifier: GPL-2.0
/*
 * Copies that are under way, and a peer that says things twice. What a request or a
 * receive names is its owner's again with the completion: no copy may go on then, and
 * nothing may be kept that nobody frees.
 */
#include "forge.h"
#include "../internal.h"

static void finish(struct pair *p, int side, struct mroce_claim *cl)
{
	static u8 data[PAIR_MEM];

	KUNIT_EXPECT_EQ(p->test, 0, mroce_claim_place(cl, forge_copy, data));
	mroce_conn_finish(&p->side[side].c, cl, true, p->now);
}

/* A small Write that waits for its turn, claimed in part and as a whole at once. */
static void test_kept_twice(struct kunit *test)
{
	struct pair *p = pair_connected(test, 61);
	struct tstream *b = pair_ts(p, 1, 0);
	struct mroce_claim part, whole;
	struct mroce_pkt pkt;
	int i;

	p->liar = true;
	for (i = 0; i < 3; i++) {
		pkt = forge_write(p, 1, 0, b->s.msn_rcv + 1, 0, 64);
		pkt.data.attempt = i;
		pkt.payload_len = 32;
		pkt.flags = 0;
		if (forge_rx(p, 1, &pkt, &part) != MROCE_RX_CLAIM)
			break;
		pkt.payload_len = 64;
		pkt.flags = MROCE_F_LAST;
		pkt.psn++;
		pkt.ts++;
		KUNIT_ASSERT_EQ(test, forge_rx(p, 1, &pkt, &whole),
				MROCE_RX_CLAIM);
		KUNIT_EXPECT_EQ(test, whole.kind, MROCE_CLAIM_KEEP);
		finish(p, 1, &part);
		finish(p, 1, &whole);
	}
	/* in its turn; AddressSanitizer and kmemleak see what was kept */
	KUNIT_EXPECT_EQ(test, i, 1);
	KUNIT_EXPECT_EQ(test, b->s.rx_state, MROCE_RX_ERR_PENDING);
	KUNIT_EXPECT_EQ(test, b->s.err_code, MROCE_NAK_INV_REQ);
	pair_free(p);

	/* another attempt takes the place of what was kept */
	p = pair_connected(test, 62);
	b = pair_ts(p, 1, 0);
	p->liar = true;
	for (i = 0; i < 3; i++) {
		pkt = forge_write(p, 1, 0, b->s.msn_rcv + 1, 0, 32);
		pkt.data.attempt = i;
		pkt.flags = 0;
		KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, b->mem));
	}
	pair_free(p);
}

static void test_receive_waits(struct kunit *test)
{
	struct pair *p = pair_connected(test, 63);
	struct tstream *b = pair_ts(p, 1, 0);
	struct mroce_claim one, two;
	struct mroce_pkt pkt;

	p->liar = true;
	pair_post_recv(p, 1, 0, 4);
	pkt = forge_write(p, 1, 0, b->s.msn_rcv, 0, 100);
	pkt.opcode = MROCE_OP_SEND;
	KUNIT_ASSERT_EQ(test, forge_rx(p, 1, &pkt, &one), MROCE_RX_CLAIM);
	pkt.psn++;
	pkt.ts++;
	KUNIT_ASSERT_EQ(test, forge_rx(p, 1, &pkt, &two), MROCE_RX_CLAIM);
	finish(p, 1, &one);
	KUNIT_EXPECT_EQ(test, b->n_recv_done, 0U);
	finish(p, 1, &two);
	KUNIT_EXPECT_EQ(test, b->n_recv_done, 1U);
	KUNIT_EXPECT_EQ(test, b->s.rx_state, MROCE_RX_OPEN);

	/* nor does the last one have to be placed */
	pkt = forge_write(p, 1, 0, b->s.msn_rcv, 0, 100);
	pkt.opcode = MROCE_OP_SEND;
	pkt.data.rsn = 1;
	KUNIT_ASSERT_EQ(test, forge_rx(p, 1, &pkt, &one), MROCE_RX_CLAIM);
	pkt.psn++;
	pkt.ts++;
	KUNIT_ASSERT_EQ(test, forge_rx(p, 1, &pkt, &two), MROCE_RX_CLAIM);
	finish(p, 1, &one);
	KUNIT_EXPECT_EQ(test, b->n_recv_done, 1U);
	mroce_conn_finish(&p->side[1].c, &two, false, p->now);
	KUNIT_EXPECT_EQ(test, b->n_recv_done, 2U);
	pair_free(p);
}

/* An answer of @len bytes to the oldest request of side 0. */
static struct mroce_pkt answer(struct pair *p, u32 len, bool last)
{
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_msg *m = stream_msg(&a->s, a->s.msn_una);
	struct mroce_pkt pkt;

	pkt = forge_data(p, 0, 0, MROCE_OP_READ_RESP, m->msn);
	pkt.data.cookie = m->cookie;
	pkt.payload_len = len;
	pkt.flags = last ? MROCE_F_LAST : 0;
	return pkt;
}

static void test_read_waits(struct kunit *test)
{
	struct pair *p = pair_connected(test, 64);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_claim one, two;
	struct mroce_pkt pkt;
	u32 done = a->n_done;

	p->liar = true;
	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 100, 0, false);
	pair_pump(p, 0);
	pkt = answer(p, 100, true);
	KUNIT_ASSERT_EQ(test, forge_rx(p, 0, &pkt, &one), MROCE_RX_CLAIM);
	pkt.psn++;
	pkt.ts++;
	KUNIT_ASSERT_EQ(test, forge_rx(p, 0, &pkt, &two), MROCE_RX_CLAIM);
	finish(p, 0, &one);
	KUNIT_EXPECT_EQ(test, a->n_done, done);
	finish(p, 0, &two);
	KUNIT_EXPECT_EQ(test, a->n_done, done + 1);
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);

	/* more than was asked for, in one batch */
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 100, 0, false);
	pair_pump(p, 0);
	pkt = answer(p, 60, false);
	KUNIT_ASSERT_EQ(test, forge_rx(p, 0, &pkt, &one), MROCE_RX_CLAIM);
	pkt.psn++;
	pkt.ts++;
	KUNIT_ASSERT_EQ(test, forge_rx(p, 0, &pkt, &two), MROCE_RX_CLAIM);
	finish(p, 0, &one);
	finish(p, 0, &two);
	KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_REM_OP);
	pair_free(p);
}

static struct kunit_case claim_cases[] = {
	KUNIT_CASE(test_kept_twice),
	KUNIT_CASE(test_receive_waits),
	KUNIT_CASE(test_read_waits),
	{}
};

static struct kunit_suite claim_suite = {
	.name = "metaroce-claim",
	.test_cases = claim_cases,
};

kunit_test_suite(claim_suite);
