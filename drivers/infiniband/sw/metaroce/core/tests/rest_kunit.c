// SPDX-License-Identifier: GPL-2.0
/*
 * What an idle connection costs, and that nothing is forgotten when it gives its
 * memory back.
 */
#include "forge.h"
#include "../internal.h"

/* Bytes of a connection that is open, was used both ways, and is idle. */
#define IDLE_BYTES	2600
/* And as kmalloc() rounds them, but for the connection: part of another object. */
#define PATH_TX_BYTES	256
#define PATH_RX_BYTES	128

static u64 held_bytes(const struct mroce_conn *c)
{
	const struct mroce_stream *s;
	u64 n = sizeof(*c);
	int i;

	n += (c->tx_room + c->rx_room) * sizeof(void *);
	for (i = 0; i < c->n_tx; i++) {
		n += sizeof(*c->tx[i]);
		if (c->tx[i]->slot)
			n += MROCE_PATH_WINDOW * sizeof(*c->tx[i]->slot);
	}
	for (i = 0; i < c->rx_room; i++)
		n += c->rx[i] ? sizeof(*c->rx[i]) : 0;
	if (c->nak)
		n += MROCE_NAK_RING * sizeof(*c->nak);
	if (c->spare)
		n += MROCE_RMSG_CHUNK * sizeof(*c->spare);
	list_for_each_entry(s, &c->streams, node)
		for (i = 0; i < MROCE_RMSG_CHUNKS; i++)
			if (s->chunk[i])
				n += MROCE_RMSG_CHUNK * sizeof(*s->chunk[i]);
	return n;
}

/* Traffic on all paths of both directions; refusals as well. */
static void use(struct pair *p)
{
	int i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; i < 40; i++)
			pair_post(p, k, 0, i & 1 ? MROCE_OP_WRITE :
				  MROCE_OP_SEND, 4000, 0, false);
	pair_run(p, MS, NULL);
	for (k = 0; k < 2; k++)
		pair_post_recv(p, k, 0, 20);
	KUNIT_EXPECT_TRUE(p->test, pair_run(p, 2 * SEC, pair_all_done));
}

static struct pair *used_pair(struct kunit *test, u64 seed)
{
	struct pair *p = pair_connected(test, seed);

	pair_ts(p, 0, 0)->s.a.rnr_retry = 7;
	pair_ts(p, 1, 0)->s.a.rnr_retry = 7;
	use(p);
	return p;
}

/* The numbers that the documentation states. */
static void test_idle_bytes(struct kunit *test)
{
	struct pair *p = used_pair(test, 60);
	int i;

	KUNIT_EXPECT_LE(test, sizeof(struct mroce_path_tx), PATH_TX_BYTES);
	KUNIT_EXPECT_LE(test, sizeof(struct mroce_path_rx), PATH_RX_BYTES);
	for (i = 0; i < 2; i++) {
		struct mroce_conn *c = &p->side[i].c;

		KUNIT_EXPECT_EQ(test, c->n_tx, MROCE_DEF_PATHS);
		KUNIT_EXPECT_NOT_NULL(test, mroce_path_rx_of(c, 3));
		KUNIT_EXPECT_NOT_NULL(test, c->nak);
		KUNIT_EXPECT_NOT_NULL(test, c->spare);
		KUNIT_EXPECT_GT(test, held_bytes(c), 4ULL * 256 * 40);
	}
	pair_run(p, 3 * SEC, NULL);
	for (i = 0; i < 2; i++) {
		struct mroce_conn *c = &p->side[i].c;

		KUNIT_EXPECT_EQ(test, c->n_tx, MROCE_DEF_PATHS);
		KUNIT_EXPECT_LE(test, held_bytes(c), (u64)IDLE_BYTES);
		/* nor does it cost time: no timer but the collector's */
		KUNIT_EXPECT_EQ(test, c->rest_at, MROCE_NEVER);
		KUNIT_EXPECT_EQ(test, mroce_conn_deadline(c), MROCE_NEVER);
	}
	pair_free(p);
}

/* A copy of a packet of path 0 that is @back behind its newest. */
static struct mroce_pkt old_packet(struct pair *p, u32 back)
{
	struct mroce_path_rx *r = p->side[1].c.rx[0];
	struct mroce_pkt pkt;

	pkt = forge_write(p, 1, 0, pair_ts(p, 1, 0)->s.msn_rcv - 1, 0, 8);
	pkt.path = 0;
	pkt.psn = r->cum - back;
	pkt.ts = r->newest_ts - 1 - back;
	pkt.epoch = r->epoch;
	return pkt;
}

/* PSNs go on where they were, and who comes late is known as late (rule 7). */
static void test_rest_and_wake(struct kunit *test)
{
	struct pair *p = used_pair(test, 61);
	struct mroce_conn *a = &p->side[0].c, *b = &p->side[1].c;
	struct tstream *to = pair_ts(p, 1, 0);
	u64 acks, dups, olds;
	u32 nxt[MROCE_DEF_PATHS], cum = b->rx[0]->cum;
	struct mroce_pkt pkt;
	u8 before[64];
	int i;

	pair_run(p, 3 * SEC, NULL);
	for (i = 0; i < MROCE_DEF_PATHS; i++) {
		KUNIT_EXPECT_NULL(test, a->tx[i]->slot);
		nxt[i] = a->tx[i]->nxt;
		KUNIT_EXPECT_NE(test, nxt[i], a->psn0);
	}

	/* placed long ago, acknowledged again; the sender stays at rest */
	memset(to->mem, 0x5a, sizeof(before));
	memset(before, 0x5a, sizeof(before));
	acks = a->cnt[MROCE_CNT_RX_ACK];
	dups = b->cnt[MROCE_CNT_RX_DUP];
	pkt = old_packet(p, 0);
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DONE);
	pkt = old_packet(p, 3);
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DONE);
	KUNIT_EXPECT_EQ(test, b->cnt[MROCE_CNT_RX_DUP], dups + 2);
	pair_run(p, MS, NULL);
	KUNIT_EXPECT_EQ(test, a->cnt[MROCE_CNT_RX_ACK], acks + 1);
	KUNIT_EXPECT_EQ(test, a->cnt[MROCE_CNT_RX_BADACK], 0ULL);
	/* too old to be waited for */
	olds = b->cnt[MROCE_CNT_RX_OLD];
	pkt = old_packet(p, 300);
	KUNIT_EXPECT_EQ(test, forge_rx(p, 1, &pkt, NULL), MROCE_RX_DROP);
	KUNIT_EXPECT_EQ(test, b->cnt[MROCE_CNT_RX_OLD], olds + 1);
	KUNIT_EXPECT_EQ(test, 0, memcmp(to->mem, before, sizeof(before)));
	KUNIT_EXPECT_EQ(test, b->rx[0]->cum, cum);
	for (i = 0; i < MROCE_DEF_PATHS; i++)
		KUNIT_EXPECT_NULL(test, a->tx[i]->slot);

	/* and on, with losses to be found in slots that are new */
	p->net.loss = 6000;
	use(p);
	p->net.loss = 0;
	pair_run(p, 10 * MS, NULL);
	for (i = 0; i < MROCE_DEF_PATHS; i++) {
		KUNIT_EXPECT_NOT_NULL(test, a->tx[i]->slot);
		KUNIT_EXPECT_TRUE(test, mroce_seq_after(a->tx[i]->nxt, nxt[i]));
	}
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->n_err_done, 0U);
	pair_check_quiet(p);
	pair_free(p);
}

/* A forged ACK or NAK finds a path without slots. */
static void test_answer_at_rest(struct kunit *test)
{
	struct pair *p = used_pair(test, 62);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx = c->tx[0];
	struct mroce_pkt pkt;

	pair_run(p, 3 * SEC, NULL);
	pkt = forge_ack(p, 0, 0);
	pkt.opcode = MROCE_ACK_FULL;
	pkt.ack.echo_ts = tx->last_ts;
	pkt.ack.vec[0] = 2;
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RX_BADACK], 1ULL);
	pkt.ack.vec[0] = 0;
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RX_BADACK], 1ULL);
	pkt.type = MROCE_T_NAK;
	pkt.nak.code = MROCE_NAK_RNR;
	forge_rx(p, 0, &pkt, NULL);
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_NAK_STALE], 1ULL);
	mroce_conn_rehome(c, tx, p->now);
	KUNIT_EXPECT_EQ(test, tx->n_lost, 0U);
	pair_free(p);
}

/*
 * Copies of an old ACK, now and then for minutes: they acknowledge nothing, so the
 * path is as idle as without them. It rests, its window is an old one, and after
 * the stamps have come around the RTT is measured as ever.
 */
static void test_old_acks_at_rest(struct kunit *test)
{
	struct pair *p = used_pair(test, 65);
	struct mroce_conn *c = &p->side[0].c;
	struct mroce_path_tx *tx = c->tx[0];
	struct mroce_pkt pkt = forge_ack(p, 0, 0);
	u32 i;

	KUNIT_ASSERT_EQ(test, tx->una, tx->nxt);
	for (i = 0; i < 300; i++) {
		pair_run(p, SEC / 2, NULL);
		forge_rx(p, 0, &pkt, NULL);
		KUNIT_EXPECT_TRUE(test, i < 6 || !tx->slot);
	}
	KUNIT_EXPECT_EQ(test, c->cnt[MROCE_CNT_RX_BADACK], 0ULL);
	/* before the round trip can be over: it was seen to be idle */
	for (i = 0; i < 10; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 4000, 0, false);
	pair_pump(p, 0);
	KUNIT_EXPECT_NE(test, tx->una, tx->nxt);
	for (i = 0; i < c->n_tx; i++) {
		tx = c->tx[i];
		if (tx->una == tx->nxt)
			continue;
		KUNIT_EXPECT_TRUE(test, tx->stale);
		KUNIT_EXPECT_LE(test, tx->cc.cwnd_x256, 4U << 8);
	}
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	for (i = 0; i < c->n_tx; i++)
		KUNIT_EXPECT_FALSE(test, c->tx[i]->stale);
	pair_check_quiet(p);
	pair_free(p);
}

/* What is outstanding keeps its slots, however long. */
static void test_no_rest_before_ack(struct kunit *test)
{
	struct pair *p = used_pair(test, 63);
	struct mroce_conn *c = &p->side[0].c;
	struct tstream *a = pair_ts(p, 0, 0);
	u32 awake = 0;
	int i;

	a->s.a.timeout = 0;
	pair_run(p, 3 * SEC, NULL);
	p->net.cut = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 100, 0, false);
	pair_run(p, 30 * SEC, NULL);
	for (i = 0; i < c->n_tx; i++)
		awake += !!c->tx[i]->slot;
	KUNIT_EXPECT_EQ(test, awake, 1U);
	p->net.cut = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_run(p, 3 * SEC, NULL);
	for (i = 0; i < c->n_tx; i++)
		KUNIT_EXPECT_NULL(test, c->tx[i]->slot);
	pair_free(p);
}

/* Nor does a rest forget a message that waits for an earlier one. */
static void test_no_rest_of_messages(struct kunit *test)
{
	struct pair *p = used_pair(test, 66);
	struct mroce_conn *c = &p->side[1].c;
	struct tstream *to = pair_ts(p, 1, 0);
	u8 late[] = "too late", old[sizeof(late)];
	struct mroce_pkt pkt;
	u32 i, n = 0;

	pair_run(p, 3 * SEC, NULL);
	for (i = 0; i < MROCE_RMSG_CHUNKS; i++)
		KUNIT_EXPECT_NULL(test, to->s.chunk[i]);

	memcpy(old, to->mem + 4096, sizeof(old));
	pkt = forge_write(p, 1, 0, to->s.msn_rcv + 1, 4096, sizeof(late));
	KUNIT_ASSERT_TRUE(test, forge_accept(p, 1, &pkt, late));
	pair_run(p, 5 * SEC, NULL);
	for (i = 0; i < MROCE_RMSG_CHUNKS; i++)
		n += !!to->s.chunk[i];
	KUNIT_EXPECT_EQ(test, n, 1U);
	KUNIT_EXPECT_EQ(test, 0, memcmp(to->mem + 4096, old, sizeof(old)));
	KUNIT_EXPECT_LE(test, mroce_conn_deadline(c), p->now + 2 * SEC);

	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, 0, memcmp(to->mem + 4096, late, sizeof(late)));
	pair_run(p, 3 * SEC, NULL);
	for (i = 0; i < MROCE_RMSG_CHUNKS; i++)
		KUNIT_EXPECT_NULL(test, to->s.chunk[i]);

	/* a stream that has failed has nothing to wait for */
	pkt = forge_write(p, 1, 0, to->s.msn_rcv + 1, 4096, sizeof(late));
	KUNIT_ASSERT_TRUE(test, forge_accept(p, 1, &pkt, late));
	mroce_stream_error(&to->s, p->now);
	pair_run(p, 3 * SEC, NULL);
	for (i = 0; i < MROCE_RMSG_CHUNKS; i++)
		KUNIT_EXPECT_NULL(test, to->s.chunk[i]);
	KUNIT_EXPECT_EQ(test, c->rest_at, MROCE_NEVER);
	pair_free(p);
}

#ifndef __KERNEL__
static int slots_left;

/* The slots of so many paths are still to be had. */
static bool no_more_slots(size_t size)
{
	return size == MROCE_PATH_WINDOW * sizeof(struct mroce_slot) &&
	       --slots_left < 0;
}

/* Memory is short when a connection wakes: no slots for any path, then for some;
 * no ring for a NAK. Nothing is lost, and somebody asks again.
 */
static void test_no_memory_to_wake(struct kunit *test)
{
	struct pair *p = used_pair(test, 64);
	struct mroce_conn *c = &p->side[0].c, *b = &p->side[1].c;
	struct tstream *a = pair_ts(p, 0, 0);
	u32 awake = 0, i;
	u64 naks;

	a->s.a.timeout = 0;
	pair_run(p, 3 * SEC, NULL);
	mroce_shim_fail_alloc(1, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 4000, 0, false);
	pair_pump(p, 0);
	for (i = 0; i < c->n_tx; i++)
		KUNIT_EXPECT_EQ(test, c->tx[i]->una, c->tx[i]->nxt);
	KUNIT_EXPECT_GE(test, c->cnt[MROCE_CNT_NOMEM], 1ULL);
	KUNIT_EXPECT_LE(test, mroce_conn_deadline(c), p->now + 2 * MS);
	mroce_shim_fail_alloc(0, 0);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));

	/* one path has slots: it does for the others */
	pair_run(p, 3 * SEC, NULL);
	slots_left = 1;
	mroce_shim_alloc_hook = no_more_slots;
	for (i = 0; i < 10; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 4000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 100 * MS, pair_all_done));
	mroce_shim_alloc_hook = NULL;
	for (i = 0; i < c->n_tx; i++)
		awake += !!c->tx[i]->slot;
	KUNIT_EXPECT_EQ(test, awake, 1U);

	/* a refusal cannot be said now */
	pair_run(p, 3 * SEC, NULL);
	KUNIT_EXPECT_NULL(test, b->nak);
	naks = b->cnt[MROCE_CNT_TX_NAK];
	pair_post(p, 0, 0, MROCE_OP_SEND, 100, 0, false);
	pair_pump(p, 0);
	mroce_shim_fail_alloc(1, 0);
	pair_run(p, 10 * MS, NULL);
	mroce_shim_fail_alloc(0, 0);
	KUNIT_EXPECT_EQ(test, b->cnt[MROCE_CNT_TX_NAK], naks);
	pair_run(p, 100 * MS, NULL);
	KUNIT_EXPECT_GT(test, b->cnt[MROCE_CNT_TX_NAK], naks);
	pair_post_recv(p, 1, 0, 1);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 2 * SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_free(p);
}
#endif

static struct kunit_case rest_cases[] = {
	KUNIT_CASE(test_idle_bytes),
	KUNIT_CASE(test_rest_and_wake),
	KUNIT_CASE(test_answer_at_rest),
	KUNIT_CASE(test_old_acks_at_rest),
	KUNIT_CASE(test_no_rest_before_ack),
	KUNIT_CASE(test_no_rest_of_messages),
#ifndef __KERNEL__
	KUNIT_CASE(test_no_memory_to_wake),
#endif
	{}
};

static struct kunit_suite rest_suite = {
	.name = "metaroce-rest",
	.test_cases = rest_cases,
};

kunit_test_suite(rest_suite);
