// SPDX-License-Identifier: GPL-2.0
/*
 * The transport against peers that break the rules and events that come in an
 * unlucky order. Each case is a fault that was there once.
 */
#include "forge.h"
#include "../internal.h"

/* An error answer to what was not sent yet, answers with a foreign cookie. */
static void test_error_of_unsent(struct kunit *test)
{
	struct pair *p = pair_connected(test, 1);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_pkt pkt;
	int i;

	p->net.cut = true;
	for (i = 0; i < 7; i++)
		pair_post(p, 0, 0, MROCE_OP_READ_REQ, 100, 0, false);
	pair_pump(p, 0);
	/* max_rd_atomic of them are out */
	KUNIT_ASSERT_EQ(test, a->s.msn_snd, a->s.msn_una + 4);

	pkt = forge_data(p, 0, 0, MROCE_OP_RESP_ERR, a->s.msn_nxt - 1);
	pkt.data.code = MROCE_NAK_ACCESS;
	pkt.data.cookie = a->msg[7].m.cookie;
	forge_rx(p, 0, &pkt, NULL);
	pkt = forge_data(p, 0, 0, MROCE_OP_RESP_ERR, a->s.msn_una);
	pkt.data.code = MROCE_NAK_ACCESS;
	pkt.data.cookie = a->msg[1].m.cookie + 1;
	forge_rx(p, 0, &pkt, NULL);

	pkt = forge_data(p, 0, 0, MROCE_OP_READ_RESP, a->s.msn_una);
	pkt.data.cookie = a->msg[1].m.cookie + 1;
	pkt.payload_len = 100;
	KUNIT_EXPECT_FALSE(test, forge_accept(p, 0, &pkt, NULL));

	KUNIT_EXPECT_EQ(test, a->s.tx_state, MROCE_TX_READY);
	p->net.cut = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_free(p);
}

/* The message window begins in the middle of a chunk of records and ends in the
 * same chunk one turn later: the records at its end must survive that the
 * beginning is done.
 */
static void test_whole_window(struct kunit *test)
{
	struct pair *p = pair_connected(test, 2);
	struct tstream *b = pair_ts(p, 1, 0);
	u32 first = b->s.msn_rcv, k;
	struct mroce_pkt pkt;
	u64 v;

	KUNIT_ASSERT_NE(test, first & (MROCE_RMSG_CHUNK - 1), 0U);
	memset(b->mem, 0, PAIR_MEM);
	for (k = 1; k < MROCE_MSN_WINDOW; k++) {
		v = k;
		pkt = forge_write(p, 1, 0, first + k, 8 * k, 8);
		KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, &v));
	}
	/* one more would be too many */
	pkt = forge_write(p, 1, 0, first + k, 0, 8);
	KUNIT_EXPECT_FALSE(test, forge_accept(p, 1, &pkt, &v));
	KUNIT_EXPECT_EQ(test, b->s.msn_rcv, first);

	v = 4711;
	pkt = forge_write(p, 1, 0, first, 0, 8);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, &v));
	KUNIT_EXPECT_EQ(test, b->s.msn_rcv, first + MROCE_MSN_WINDOW);
	for (k = 1; k < MROCE_MSN_WINDOW; k++) {
		memcpy(&v, b->mem + 8 * k, 8);
		KUNIT_EXPECT_EQ(test, v, (u64)k);
	}
	pair_free(p);
}

/* A QP in ERR takes nothing any more, whatever error it had recorded. */
static void test_nothing_after_error(struct kunit *test)
{
	struct pair *p = pair_connected(test, 3);
	struct tstream *b = pair_ts(p, 1, 0);
	u32 msn = b->s.msn_rcv;
	struct mroce_pkt pkt;
	u64 v = ~0ULL, was;

	pkt = forge_write(p, 1, 0, msn + 1, PAIR_MEM, 8);
	KUNIT_EXPECT_FALSE(test, forge_accept(p, 1, &pkt, &v));
	KUNIT_EXPECT_EQ(test, b->s.rx_state, MROCE_RX_ERR_PENDING);
	mroce_stream_error(&b->s, p->now);

	memcpy(&was, b->mem, 8);
	pkt = forge_write(p, 1, 0, msn, 0, 8);
	KUNIT_EXPECT_FALSE(test, forge_accept(p, 1, &pkt, &v));
	KUNIT_EXPECT_TRUE(test, forge_nak_waits(p, 1, MROCE_NAK_CLOSED));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&was, b->mem, 8));
	pair_free(p);
}

/* The QP fails while a packet is being copied: what takes no effect is not
 * acknowledged, or its sender would report it as done.
 */
static void test_error_while_placing(struct kunit *test)
{
	struct pair *p = pair_connected(test, 4);
	struct tstream *b = pair_ts(p, 1, 0);
	struct mroce_conn *c = &p->side[1].c;
	struct mroce_claim cl;
	struct mroce_pkt pkt;

	pair_post_recv(p, 1, 0, 1);
	pkt = forge_data(p, 1, 0, MROCE_OP_SEND, b->s.msn_rcv);
	KUNIT_ASSERT_EQ(test, forge_rx(p, 1, &pkt, &cl), MROCE_RX_CLAIM);
	mroce_stream_error(&b->s, p->now);
	mroce_conn_finish(c, &cl, true, p->now);
	KUNIT_EXPECT_EQ(test, c->rx[FORGED_PATH]->cum, c->psn0 - 1);
	KUNIT_EXPECT_EQ(test, b->n_recv_done, 0U);

	KUNIT_EXPECT_FALSE(test, forge_accept(p, 1, &pkt, NULL));
	KUNIT_EXPECT_TRUE(test, forge_nak_waits(p, 1, MROCE_NAK_CLOSED));
	pair_free(p);
}

/* SQD: what was started is finished, what was not is not started. */
static void test_pause_midway(struct kunit *test)
{
	struct pair *p = pair_connected(test, 5);
	struct tstream *a = pair_ts(p, 0, 0);

	pair_post(p, 0, 0, MROCE_OP_WRITE, 60000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	pair_pump(p, 0);
	KUNIT_ASSERT_PTR_EQ(test, a->s.cur, &a->msg[1].m);
	mroce_stream_pause(&a->s, true, p->now);
	p->net.loss = 5000;
	pair_run(p, SEC, NULL);
	KUNIT_EXPECT_TRUE(test, a->msg[1].done);
	KUNIT_EXPECT_FALSE(test, a->msg[2].done);
	KUNIT_EXPECT_EQ(test, a->s.msn_snd, a->s.msn_una);
	mroce_stream_pause(&a->s, false, p->now);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_free(p);
}

/* A started message whose peer has gone fails in SQD, too. */
static void test_pause_and_loss(struct kunit *test)
{
	struct pair *p = pair_connected(test, 6);
	struct tstream *a = pair_ts(p, 0, 0);

	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	pair_pump(p, 0);
	mroce_stream_pause(&a->s, true, p->now);
	pair_run(p, 10 * SEC, NULL);
	KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_RETRY_EXC);
	pair_free(p);
}

/* The echo of an acknowledgment does not pass a packet that is being placed: its
 * sender would take it for lost (rule 9).
 */
static void test_ack_while_placing(struct kunit *test)
{
	struct pair *p = pair_connected(test, 7);
	struct mroce_conn *c = &p->side[1].c;
	u32 msn = pair_ts(p, 1, 0)->s.msn_rcv;
	struct mroce_claim cl, cl2;
	struct mroce_pkt pkt, ack;
	u64 v = 1;

	pkt = forge_write(p, 1, 0, msn, 0, 8);
	KUNIT_ASSERT_EQ(test, forge_rx(p, 1, &pkt, &cl), MROCE_RX_CLAIM);
	KUNIT_EXPECT_FALSE(test, mroce_conn_tx(c, &p->txd, p->now));
	pkt = forge_write(p, 1, 0, msn + 1, 8, 8);
	pkt.psn++;
	KUNIT_ASSERT_EQ(test, forge_rx(p, 1, &pkt, &cl2), MROCE_RX_CLAIM);
	KUNIT_EXPECT_EQ(test, 0, mroce_claim_place(&cl2, forge_copy, &v));
	mroce_conn_finish(c, &cl2, true, p->now);
	KUNIT_EXPECT_FALSE(test, mroce_conn_tx(c, &p->txd, p->now));

	/* the copy failed: now it may be told */
	mroce_conn_finish(c, &cl, false, p->now);
	KUNIT_ASSERT_TRUE(test, mroce_conn_tx(c, &p->txd, p->now));
	KUNIT_ASSERT_EQ(test, MROCE_WIRE_OK,
			mroce_wire_parse(p->txd.lin, p->txd.lin_len,
					 p->txd.lin_len, &ack));
	KUNIT_EXPECT_EQ(test, ack.type, MROCE_T_ACK);
	KUNIT_EXPECT_EQ(test, ack.psn, c->psn0 - 1);
	KUNIT_EXPECT_EQ(test, ack.ack.vec[0], 2ULL);
	pair_free(p);
}

/* A request is refused, but its answer was on the way: nothing is left of the
 * refusal.
 */
static void test_refused_then_answered(struct kunit *test)
{
	struct pair *p = pair_connected(test, 8);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_pkt pkt;
	u8 data[100] = { 1 };
	int i;

	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 100, 0, false);
	pair_pump(p, 0);
	for (i = 0; i < p->side[0].c.n_tx; i++)
		if (p->side[0].c.tx[i]->una != p->side[0].c.tx[i]->nxt)
			break;
	pkt = forge_nak(p, 0, i, MROCE_NAK_CLOSED);
	mroce_conn_rx(&p->side[0].c, &pkt, NULL, NULL, p->now);
	KUNIT_ASSERT_EQ(test, a->s.n_refused, 1);

	pkt = forge_data(p, 0, 0, MROCE_OP_READ_RESP, a->s.msn_una);
	pkt.data.cookie = a->msg[1].m.cookie;
	pkt.payload_len = 100;
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 0, &pkt, data));
	KUNIT_EXPECT_TRUE(test, a->msg[1].done);
	KUNIT_EXPECT_EQ(test, a->s.n_refused, 0);

	p->net.cut = false;
	/* side 1 has not seen the request: let it have one */
	pair_ts(p, 1, 0)->s.msn_rcv++;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_free(p);
}

/* Acknowledgments of long ago do not pay for retransmissions of today. */
static void test_budget(struct kunit *test)
{
	struct pair *p = pair_connected(test, 11);
	int i;

	for (i = 0; i < 50; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	for (i = 0; i < p->side[0].c.n_tx; i++)
		KUNIT_EXPECT_LE(test, p->side[0].c.tx[i]->rtx_budget, 64U);
	pair_free(p);
}

#ifndef __KERNEL__
/* No memory for the first path, and nobody who would ask again. */
static void test_no_memory_for_path(struct kunit *test)
{
	struct pair *p = pair_new(test, 12, 1500);

	pair_up(p, 0);
	pair_ts(p, 0, 0)->s.a.timeout = 0;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open));
	pair_run(p, 50 * MS, NULL);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	mroce_shim_fail_alloc(1, 0);
	pair_pump(p, 0);
	mroce_shim_fail_alloc(0, 0);
	KUNIT_ASSERT_EQ(test, p->side[0].c.n_tx, 0);
	KUNIT_EXPECT_LE(test, mroce_conn_deadline(&p->side[0].c),
			p->now + 10 * MS);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	pair_free(p);
}
#endif

/* All answer contexts wait for acknowledgments: an error finds one all the same,
 * it has no other way to the requester (rule 20).
 */
static void test_error_has_context(struct kunit *test)
{
	struct pair *p = pair_connected(test, 15);
	struct tstream *b = pair_ts(p, 1, 0);
	u32 msn = b->s.msn_rcv, i;
	struct mroce_pkt pkt;
	u64 v = 1;

	p->net.cut = true;
	for (i = 0; i < 8; i++) {
		pkt = forge_data(p, 1, 0, MROCE_OP_READ_REQ, msn + i);
		pkt.data.len = 8;
		KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
		pair_pump(p, 1);
	}
	KUNIT_EXPECT_EQ(test, b->s.msn_rcv, msn + 8);
	KUNIT_EXPECT_EQ(test, b->s.resp_n, 0);
	pkt = forge_write(p, 1, 0, msn + 9, 0, 8);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, &v));
	b->dead_key = true;
	pkt = forge_write(p, 1, 0, msn + 8, 0, 0);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, b->rx_code, MROCE_NAK_ACCESS);
	KUNIT_EXPECT_EQ(test, b->s.resp_n, 1);
	pair_free(p);
}

/* An answer that nobody wants gives its slot to the next request. */
static void test_discard_frees_slot(struct kunit *test)
{
	struct pair *p = pair_connected(test, 16);
	struct tstream *b = pair_ts(p, 1, 0);
	u32 msn = b->s.msn_rcv, i;
	struct mroce_pkt pkt;

	p->net.cut = true;
	for (i = 0; i < 5; i++) {
		pkt = forge_data(p, 1, 0, MROCE_OP_READ_REQ, msn + i);
		pkt.data.len = 60000;
		KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
	}
	pair_pump(p, 1);
	KUNIT_ASSERT_TRUE(test, b->s.exec_stalled);
	pkt = forge_nak(p, 1, 0, MROCE_NAK_CLOSED);
	mroce_conn_rx(&p->side[1].c, &pkt, NULL, NULL, p->now);
	KUNIT_EXPECT_FALSE(test, b->s.exec_stalled);
	KUNIT_EXPECT_EQ(test, b->s.msn_rcv, msn + 5);
	pair_free(p);
}

/* What takes effect in order waits for its memory, and is done once. */
static void test_no_page(struct kunit *test)
{
	struct pair *p = pair_connected(test, 25);
	struct tstream *b = pair_ts(p, 1, 0);
	u32 msn = b->s.msn_rcv;
	struct mroce_pkt pkt;
	u64 v = 4711;

	p->net.cut = true;
	memset(b->mem, 0, PAIR_MEM);
	b->no_page = 2;
	pkt = forge_write(p, 1, 0, msn + 1, 64, 8);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, &v));
	pkt = forge_data(p, 1, 0, MROCE_OP_READ_REQ, msn + 2);
	pkt.data.len = 8;
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
	pkt = forge_write(p, 1, 0, msn, 0, 0);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
	KUNIT_EXPECT_TRUE(test, b->s.exec_stalled);
	KUNIT_EXPECT_EQ(test, b->s.msn_rcv, msn + 1);

	mroce_stream_resume(&b->s, p->now);
	KUNIT_EXPECT_TRUE(test, b->s.exec_stalled);
	KUNIT_EXPECT_EQ(test, b->s.msn_rcv, msn + 1);

	b->no_page = 0;
	mroce_stream_resume(&b->s, p->now);
	KUNIT_EXPECT_FALSE(test, b->s.exec_stalled);
	KUNIT_EXPECT_EQ(test, b->s.msn_rcv, msn + 3);
	memcpy(&v, b->mem + 64, 8);
	KUNIT_EXPECT_EQ(test, v, 4711ULL);
	KUNIT_EXPECT_EQ(test, b->s.resp_n, 1);
	KUNIT_EXPECT_EQ(test, b->s.rd_in, 1);
	pair_free(p);
}

/*
 * A message that was refused in silence, all of it or one packet: it goes by,
 * its receive hears of it, and what follows is none the worse (UC).
 */
static void test_refused_in_silence(struct kunit *test)
{
	struct pair *p = pair_connected(test, 26);
	struct tstream *b = pair_ts(p, 1, 0);
	u32 msn = b->s.msn_rcv, part;
	struct mroce_pkt pkt;
	u8 ones[64];
	int i;

	p->net.cut = true;
	b->silent = true;
	memset(ones, 1, sizeof(ones));
	memset(b->mem, 0, PAIR_MEM);
	pair_post_recv(p, 1, 0, 8);
	/* part: one packet of four has no right; 4: each has */
	for (part = 0; part < 5; part++) {
		for (i = 0; i < 4; i++) {
			pkt = forge_write(p, 1, 0, msn + part, 64 * i, 64);
			pkt.opcode = MROCE_OP_WRITE_IMM;
			pkt.flags = i == 3 ? MROCE_F_LAST : 0;
			pkt.data.len = 256;
			pkt.data.offset = 64 * i;
			pkt.data.rsn = part;
			b->dead_key = i == part;
			KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, ones));
		}
		KUNIT_EXPECT_EQ(test, b->n_recv_done, part + 1);
		KUNIT_EXPECT_EQ(test, b->n_recv_refused, min(part + 1, 4U));
		for (i = 0; i < 4; i++)
			KUNIT_EXPECT_EQ(test, b->mem[64 * i], i != part);
		memset(b->mem, 0, PAIR_MEM);
	}
	msn += part;

	/* a small one loses its right while it waits for its turn */
	pkt = forge_write(p, 1, 0, msn + 1, 0, 8);
	pkt.opcode = MROCE_OP_WRITE_IMM;
	pkt.data.rsn = part;
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, ones));
	b->dead_key = true;
	pkt = forge_write(p, 1, 0, msn, 0, 0);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
	KUNIT_EXPECT_EQ(test, b->n_recv_done, part + 1);
	KUNIT_EXPECT_EQ(test, b->n_recv_refused, 5U);
	KUNIT_EXPECT_EQ(test, b->mem[0], 0);

	/* refused in one attempt, accepted in the next */
	pkt = forge_write(p, 1, 0, msn + 2, 0, 64);
	pkt.opcode = MROCE_OP_WRITE_IMM;
	pkt.flags = 0;
	pkt.data.len = 128;
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, ones));
	b->dead_key = false;
	for (i = 0; i < 2; i++) {
		pkt = forge_write(p, 1, 0, msn + 2, 64 * i, 64);
		pkt.opcode = MROCE_OP_WRITE_IMM;
		pkt.flags = i ? MROCE_F_LAST : 0;
		pkt.data.attempt = 1;
		pkt.data.len = 128;
		pkt.data.offset = 64 * i;
		pkt.data.rsn = part + 1;
		KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, ones));
	}
	KUNIT_EXPECT_EQ(test, b->n_recv_done, part + 2);
	KUNIT_EXPECT_EQ(test, b->n_recv_refused, 5U);
	KUNIT_EXPECT_EQ(test, b->s.rx_state, MROCE_RX_OPEN);
	KUNIT_EXPECT_EQ(test, p->side[1].c.nak_n, 0);
	p->liar = true;
	pair_free(p);
}

/* The peer is heard, but this packet never gets through: one retry is free, not
 * all of them (rule 37).
 */
static void test_heard_but_never_through(struct kunit *test)
{
	struct pair *p = pair_connected(test, 17);
	struct tstream *a = pair_ts(p, 0, 0);
	int i;

	p->net.drop_next = U64_MAX;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	for (i = 0; i < 2000; i++) {
		p->side[0].c.last_heard_ns = p->now;
		pair_run(p, MS, NULL);
	}
	KUNIT_EXPECT_EQ(test, a->n_done, 2U);
	KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_RETRY_EXC);
	pair_free(p);
}

/* A PSN that cannot be outstanding does not say where the path is: for that one
 * would have to know 24 bits more (rules 7, 32).
 */
static void test_ancient_psn(struct kunit *test)
{
	struct pair *p = pair_connected(test, 18);
	struct mroce_conn *c = &p->side[1].c;
	struct mroce_path_rx *r = c->rx[0];
	struct mroce_pkt pkt = forge_write(p, 1, 0, 0, 0, 8);
	u32 n_recv = r->n_recv;

	pkt.path = 0;
	pkt.psn = r->cum - MROCE_PATH_WINDOW;
	pkt.ts = r->newest_ts + 1000;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	KUNIT_EXPECT_NE(test, r->sport, 60000);
	KUNIT_EXPECT_EQ(test, r->n_recv, n_recv);
	pkt.psn++;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DONE);
	KUNIT_EXPECT_EQ(test, r->sport, 60000);
	pair_free(p);
}

/* A link below the smallest MTU of the format: IP cuts, we do not. */
static void test_tiny_mtu(struct kunit *test)
{
	struct pair *p = pair_new(test, 20, 100);

	p->no_verify = true;
	pair_up(p, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 5000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	pair_free(p);
}

/* A fenced message waits for all earlier ones, whatever they are. */
static void test_fence_waits(struct kunit *test)
{
	struct pair *p = pair_connected(test, 24);
	struct mroce_stream *s = &pair_ts(p, 0, 0)->s;
	u32 una = s->msn_una;

	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, true);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, false);
	pair_pump(p, 0);
	KUNIT_EXPECT_EQ(test, s->msn_snd, una + 2);
	p->net.cut = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	pair_free(p);
}

/* A fatal refusal stops the message and what follows, not what precedes it. */
static void test_fatal_voids_later(struct kunit *test)
{
	struct pair *p = pair_connected(test, 25);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_path_tx *tx;
	struct mroce_pkt pkt;
	int i;

	p->net.cut = true;
	for (i = 0; i < 3; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 1000, 0, false);
	pair_pump(p, 0);
	tx = p->side[0].c.tx[p->side[0].c.cur_tx];
	KUNIT_ASSERT_EQ(test, tx->nxt - tx->una, 3U);
	pkt = forge_nak(p, 0, tx->id, MROCE_NAK_ACCESS);
	pkt.psn++;
	pkt.nak.msn++;
	mroce_conn_rx(&p->side[0].c, &pkt, NULL, NULL, p->now);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, !!(tx->slot[psn_idx(tx->una + i)].flags &
					 MROCE_SLOT_VOID), i > 0);
	p->net.cut = false;
	pair_run(p, SEC, NULL);
	KUNIT_EXPECT_EQ(test, a->n_done, 3U);
	KUNIT_EXPECT_EQ(test, a->msg[1].st, MROCE_ST_OK);
	KUNIT_EXPECT_EQ(test, a->msg[2].st, MROCE_ST_REM_ACCESS);
	pair_free(p);
}

/* A message that was accepted whole is accepted once, whatever comes again. */
static void test_accepted_once(struct kunit *test)
{
	struct pair *p = pair_connected(test, 26);
	struct tstream *b = pair_ts(p, 1, 0);
	u32 msn = b->s.msn_rcv, cum;
	u8 *data = b->buf;
	struct mroce_pkt pkt;
	u64 v = 1;

	/* waits for its turn: a request is still in work, a Write is kept */
	pkt = forge_data(p, 1, 0, MROCE_OP_READ_REQ, msn + 2);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, NULL));
	pkt = forge_data(p, 1, 0, MROCE_OP_READ_REQ, msn + 2);
	KUNIT_EXPECT_FALSE(test, forge_accept(p, 1, &pkt, NULL));
	KUNIT_EXPECT_TRUE(test, forge_nak_waits(p, 1, MROCE_NAK_PENDING));
	pkt = forge_write(p, 1, 0, msn + 3, 64, 8);
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, &v));
	pkt = forge_write(p, 1, 0, msn + 3, 64, 8);
	pkt.data.attempt = 1;
	cum = p->side[1].c.rx[FORGED_PATH]->cum;
	KUNIT_EXPECT_FALSE(test, forge_accept(p, 1, &pkt, &v));
	KUNIT_EXPECT_EQ(test, p->side[1].c.rx[FORGED_PATH]->cum, cum + 1);

	/* the LAST packet of a WRITE_IMM came twice, the first not yet */
	pair_post_recv(p, 1, 0, 1);
	pkt = forge_data(p, 1, 0, MROCE_OP_WRITE_IMM, msn);
	pkt.data.len = 2000;
	pkt.data.offset = 1000;
	pkt.payload_len = 1000;
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, data));
	pkt.psn++;
	pkt.ts++;
	KUNIT_EXPECT_FALSE(test, forge_accept(p, 1, &pkt, data));
	KUNIT_EXPECT_EQ(test, b->s.msn_rcv, msn);
	KUNIT_EXPECT_EQ(test, b->n_recv_done, 0U);
	pkt = forge_data(p, 1, 0, MROCE_OP_WRITE_IMM, msn);
	pkt.flags = 0;
	pkt.data.len = 2000;
	pkt.payload_len = 1000;
	p->liar = true;
	KUNIT_EXPECT_TRUE(test, forge_accept(p, 1, &pkt, data));
	KUNIT_EXPECT_EQ(test, b->n_recv_done, 1U);
	pair_free(p);
}

/* Another route: all that is outstanding goes that way, at once. */
static void test_rehome_resends(struct kunit *test)
{
	struct pair *p = pair_connected(test, 27);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx;
	u16 port;

	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 3000, 0, false);
	pair_pump(p, 0);
	tx = c->tx[c->cur_tx];
	port = tx->sport;
	KUNIT_ASSERT_EQ(test, tx->nxt - tx->una, 3U);
	mroce_conn_rehome(c, tx, p->now);
	KUNIT_EXPECT_EQ(test, tx->n_lost, 3U);
	KUNIT_EXPECT_NE(test, tx->sport, port);
	p->net.cut = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, 100 * US, pair_all_done));
	pair_free(p);
}

/* A request was accepted, then its stream went: asking again finds out. While it
 * is only slow, asking does not cost the requester its patience (rule 21).
 */
static void test_ask_again(struct kunit *test)
{
	struct pair *p = pair_connected(test, 28);
	struct tstream *a = pair_ts(p, 0, 0);

	p->side[1].c.tx_blocked = true;		/* only acknowledgments leave */
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 100, 0, false);
	pair_run(p, SEC, NULL);
	KUNIT_EXPECT_EQ(test, a->msg[1].m.unacked, 0);
	KUNIT_EXPECT_EQ(test, a->n_done, 1U);
	KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_OK);
	KUNIT_EXPECT_GE(test, pair_cnt(p, MROCE_CNT_RX_NAK), 10ULL);

	pair_reset(p, 1, 0);
	p->side[1].c.tx_blocked = false;
	pair_run(p, SEC, NULL);
	KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_RETRY_EXC);
	KUNIT_EXPECT_EQ(test, a->n_done, 2U);
	pair_free(p);
}

/* A refused message is tried again when every PSN of the old attempt has come
 * back: before that a copy of it may still be on its way to memory (rule 14).
 */
static void test_attempt_waits(struct kunit *test)
{
	struct pair *p = pair_connected(test, 29);
	struct tstream *a = pair_ts(p, 0, 0);
	struct mroce_path_tx *tx;
	struct mroce_pkt pkt;
	u32 nxt;

	a->s.a.timeout = 0;
	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_SEND, 4000, 0, false);
	pair_pump(p, 0);
	tx = p->side[0].c.tx[p->side[0].c.cur_tx];
	nxt = tx->nxt;
	KUNIT_ASSERT_EQ(test, nxt - tx->una, 3U);
	pkt = forge_nak(p, 0, tx->id, MROCE_NAK_RNR);
	pkt.nak.timer = 1;
	mroce_conn_rx(&p->side[0].c, &pkt, NULL, NULL, p->now);
	KUNIT_EXPECT_EQ(test, a->msg[1].m.voided, 3);
	pair_run(p, 50 * MS, NULL);
	KUNIT_EXPECT_FALSE(test, a->s.held);
	KUNIT_EXPECT_EQ(test, tx->nxt, nxt);
	KUNIT_EXPECT_EQ(test, a->msg[1].m.attempt, 0);
	pair_post_recv(p, 1, 0, 1);
	p->net.cut = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->msg[1].m.attempt, 1);
	pair_free(p);
}

/* A copy of a packet that is being placed: no bit, no answer (rule 8). */
static void test_copy_while_placing(struct kunit *test)
{
	struct pair *p = pair_connected(test, 30);
	struct mroce_conn *c = &p->side[1].c;
	struct mroce_claim cl;
	struct mroce_pkt pkt;

	pkt = forge_write(p, 1, 0, pair_ts(p, 1, 0)->s.msn_rcv, 0, 8);
	KUNIT_ASSERT_EQ(test, forge_rx(p, 1, &pkt, &cl), MROCE_RX_CLAIM);
	pkt.ts++;
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, c->rx[FORGED_PATH]->cum, c->psn0 - 1);
	KUNIT_EXPECT_EQ(test, c->nak_n, 0);
	mroce_conn_finish(c, &cl, false, p->now);
	KUNIT_EXPECT_EQ(test, c->rx[FORGED_PATH]->cum, c->psn0 - 1);
	pair_free(p);
}

static struct kunit_case break_cases[] = {
	KUNIT_CASE(test_error_of_unsent),
	KUNIT_CASE(test_whole_window),
	KUNIT_CASE(test_nothing_after_error),
	KUNIT_CASE(test_error_while_placing),
	KUNIT_CASE(test_pause_midway),
	KUNIT_CASE(test_pause_and_loss),
	KUNIT_CASE(test_ack_while_placing),
	KUNIT_CASE(test_refused_then_answered),
	KUNIT_CASE(test_budget),
#ifndef __KERNEL__
	KUNIT_CASE(test_no_memory_for_path),
#endif
	KUNIT_CASE(test_error_has_context),
	KUNIT_CASE(test_discard_frees_slot),
	KUNIT_CASE(test_no_page),
	KUNIT_CASE(test_refused_in_silence),
	KUNIT_CASE(test_heard_but_never_through),
	KUNIT_CASE(test_ancient_psn),
	KUNIT_CASE(test_tiny_mtu),
	KUNIT_CASE(test_fence_waits),
	KUNIT_CASE(test_fatal_voids_later),
	KUNIT_CASE(test_accepted_once),
	KUNIT_CASE(test_rehome_resends),
	KUNIT_CASE(test_ask_again),
	KUNIT_CASE(test_attempt_waits),
	KUNIT_CASE(test_copy_while_placing),
	{}
};

static struct kunit_suite break_suite = {
	.name = "metaroce-break",
	.test_cases = break_cases,
};

kunit_test_suite(break_suite);
