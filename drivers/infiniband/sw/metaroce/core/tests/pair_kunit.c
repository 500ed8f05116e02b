// SPDX-License-Identifier: GPL-2.0
/*
 * Two endpoints, and what verbs/ would do; see pair.h. The network between them is in
 * pair_net_kunit.c.
 */
#include "pair.h"

#define SPORT_BASE	50000

static struct tstream *to_ts(struct mroce_stream *s)
{
	return container_of(s, struct tstream, s);
}

static struct pair_msg *to_pm(struct mroce_msg *m)
{
	return container_of(m, struct pair_msg, m);
}

u64 pair_cnt(struct pair *p, enum mroce_counter i)
{
	return p->side[0].c.cnt[i] + p->side[1].c.cnt[i];
}

/* ---- what verbs would do ------------------------------------------------------ */

static void gather_bytes(const u8 *src, u32 len, struct mroce_txd *txd)
{
	if (len <= MROCE_COPY_BYTES) {
		memcpy(txd->lin + txd->lin_len, src, len);
		txd->lin_len += len;
		return;
	}
	txd->frag[0].page = (void *)src;
	txd->frag[0].off = 0;
	txd->frag[0].len = len;
	txd->nfrags = 1;
	txd->frag_bytes = len;
}

/* Short of it, or of the page with the payload, by turns. */
static int short_of_memory(struct tstream *ts)
{
	if (!ts->no_memory)
		return 0;
	return ts->no_memory-- & 1 ? -EAGAIN : -ENOMEM;
}

static int t_gather(struct mroce_stream *s, struct mroce_msg *m, u32 off,
		    u32 len, struct mroce_txd *txd)
{
	int err = short_of_memory(to_ts(s));

	if (!err)
		gather_bytes(to_ts(s)->buf + to_pm(m)->buf_off + off, len, txd);
	return err;
}

static int t_gather_resp(struct mroce_stream *s, struct mroce_rctx *r, u32 off,
			 u32 len, struct mroce_txd *txd)
{
	int err = to_ts(s)->short_resp ? -EAGAIN : short_of_memory(to_ts(s));

	if (to_ts(s)->gone)
		return -EFAULT;
	if (!err)
		gather_bytes(to_ts(s)->mem + r->va + off, len, txd);
	return err;
}

static bool in_mem(u64 va, u32 len)
{
	return va <= PAIR_MEM && len <= PAIR_MEM - va;
}

static int t_check_write(struct mroce_stream *s, struct mroce_claim *cl)
{
	struct tstream *ts = to_ts(s);

	if (cl->rkey != 1 || ts->dead_key || !in_mem(cl->va, cl->len))
		return ts->silent ? -EACCES : MROCE_NAK_ACCESS;
	cl->obj = ts;
	return 0;
}

static int t_bind(struct mroce_stream *s, u32 rsn)
{
	struct tstream *ts = to_ts(s);

	KUNIT_EXPECT_EQ(ts->side->pair->test, rsn, ts->n_bound);
	if (ts->pool) {
		if (!*ts->pool)
			return -EAGAIN;
		--*ts->pool;
	} else if (ts->n_bound == ts->n_recv_posted) {
		return -EAGAIN;
	}
	ts->n_bound++;
	return 0;
}

static int t_check_recv(struct mroce_stream *s, struct mroce_claim *cl)
{
	struct tstream *ts = to_ts(s);

	if (cl->off + cl->len > ts->rsize)
		return ts->silent ? -EACCES : MROCE_NAK_INV_REQ;
	KUNIT_EXPECT_TRUE(ts->side->pair->test,
			  cl->rsn >= ts->n_recv_done && cl->rsn < ts->n_bound);
	cl->obj = ts;
	return 0;
}

static int t_check_resp(struct mroce_stream *s, struct mroce_msg *m,
			struct mroce_claim *cl)
{
	cl->obj = to_pm(m);
	return 0;
}

static int t_place(struct mroce_claim *cl, mroce_copy_fn copy, void *src)
{
	struct tstream *ts = to_ts(cl->s);
	struct pair_msg *pm;
	u8 *dst;

	if (ts->fail_place)
		return -EFAULT;
	switch (cl->kind) {
	case MROCE_CLAIM_WRITE:
		dst = ts->mem + cl->va;
		break;
	case MROCE_CLAIM_RECV:
		/* a completed receive is its owner's: hands off */
		if (!ts->side->pair->liar)
			KUNIT_EXPECT_GE(ts->side->pair->test, cl->rsn,
					ts->n_recv_done);
		dst = ts->rbuf + cl->rsn * ts->rsize + cl->off;
		break;
	default:
		if (ts->fail_resp)
			return -EAGAIN;
		pm = cl->obj;
		dst = ts->land + pm->buf_off + cl->off;
		break;
	}
	return copy(src, 0, dst, cl->len);
}

static void t_unclaim(struct mroce_stream *s, struct mroce_claim *cl)
{
	cl->obj = NULL;
}

static int t_store(struct mroce_stream *s, u64 va, u32 rkey, const u8 *data,
		   u32 len)
{
	struct tstream *ts = to_ts(s);

	if (rkey != 1 || ts->dead_key || !in_mem(va, len))
		return ts->silent ? -EACCES : MROCE_NAK_ACCESS;
	if (ts->no_page) {
		ts->no_page--;
		return -EAGAIN;
	}
	memcpy(ts->mem + va, data, len);
	return 0;
}

static bool has_rsn(u8 op)
{
	return op == MROCE_OP_SEND || op == MROCE_OP_SEND_IMM ||
	       op == MROCE_OP_SEND_INV || op == MROCE_OP_WRITE_IMM;
}

/* What has just been received against what the peer posted, in order. */
static void check_recv_now(struct tstream *ts, const struct mroce_recv *r)
{
	struct kunit *test = ts->side->pair->test;
	struct tstream *from = ts->peer;
	struct pair_msg *pm;

	if (ts->side->pair->liar)
		return;
	while (ts->n_checked < from->n_posted &&
	       !has_rsn(from->msg[ts->n_checked].m.opcode))
		ts->n_checked++;
	if (ts->n_checked >= from->n_posted)
		return;		/* forged, or the sender was reset */
	pm = &from->msg[ts->n_checked++];
	KUNIT_EXPECT_EQ(test, r->opcode, pm->m.opcode);
	KUNIT_EXPECT_EQ(test, r->len, pm->m.len);
	if (r->opcode != MROCE_OP_SEND)
		KUNIT_EXPECT_EQ(test, r->imm, pm->m.imm);
	if (r->opcode != MROCE_OP_WRITE_IMM)
		KUNIT_EXPECT_EQ(test, 0,
				memcmp(ts->rbuf + r->rsn * ts->rsize,
				       from->buf + pm->buf_off, r->len));
}

static int t_recv_done(struct mroce_stream *s, const struct mroce_recv *r)
{
	struct tstream *ts = to_ts(s);
	struct kunit *test = ts->side->pair->test;

	KUNIT_EXPECT_EQ(test, r->rsn, ts->n_recv_done);
	KUNIT_EXPECT_LT(test, ts->n_recv_done, PAIR_MSGS);
	ts->recv_len[r->rsn] = r->len;
	ts->recv_imm[r->rsn] = r->imm;
	ts->n_recv_refused += r->refused;
	check_recv_now(ts, r);
	ts->n_recv_done++;
	if (ts->pool)
		++*ts->pool;
	return 0;
}

static int t_read_start(struct mroce_stream *s, struct mroce_rctx *r)
{
	struct tstream *ts = to_ts(s);

	if (r->len && (r->rkey != 1 || ts->dead_key ||
		       !in_mem(r->va, r->len)))
		return MROCE_NAK_ACCESS;
	if (ts->no_page) {
		ts->no_page--;
		return -EAGAIN;
	}
	ts->last_reads++;
	return 0;
}

static void t_read_end(struct mroce_stream *s, struct mroce_rctx *r)
{
	to_ts(s)->last_reads--;
}

static int t_atomic(struct mroce_stream *s, struct mroce_rctx *r, u64 swap_add,
		    u64 compare)
{
	struct tstream *ts = to_ts(s);
	u64 old;

	if (r->rkey != 1 || ts->dead_key || !in_mem(r->va, 8) || r->va % 8)
		return MROCE_NAK_ACCESS;
	memcpy(&old, ts->mem + r->va, 8);
	r->orig = old;
	if (r->opcode == MROCE_OP_FETCH_ADD)
		old += swap_add;
	else if (old == compare)
		old = swap_add;
	memcpy(ts->mem + r->va, &old, 8);
	return 0;
}

static int t_atomic_done(struct mroce_stream *s, struct mroce_msg *m, u64 orig)
{
	memcpy(to_ts(s)->land + to_pm(m)->buf_off, &orig, 8);
	return 0;
}

static void t_msg_done(struct mroce_stream *s, struct mroce_msg *m,
		       enum mroce_status st)
{
	struct tstream *ts = to_ts(s);
	struct pair_msg *pm = to_pm(m);

	/* in order, once */
	KUNIT_EXPECT_PTR_EQ(ts->side->pair->test, pm, &ts->msg[ts->n_done]);
	KUNIT_EXPECT_FALSE(ts->side->pair->test, pm->done);
	/* What is reported as sent has been received; except behind a small
	 * Write that was kept and failed in its turn (rule 20).
	 */
	if (st == MROCE_ST_OK && has_rsn(m->opcode) && !ts->peer->rx_code &&
	    !ts->side->pair->liar)
		KUNIT_EXPECT_GT(ts->side->pair->test, ts->peer->n_recv_done,
				m->rsn);
	pm->done = true;
	pm->st = st;
	ts->n_done++;
	if (st != MROCE_ST_OK)
		ts->n_err_done++;
}

static void t_tx_fatal(struct mroce_stream *s, enum mroce_status st)
{
	to_ts(s)->fatal = st;
}

static void t_rx_fatal(struct mroce_stream *s, u8 code)
{
	to_ts(s)->rx_code = code;
	mroce_stream_error(s, to_ts(s)->side->pair->now);
}

static void t_conn_lost(struct mroce_stream *s)
{
	to_ts(s)->lost = true;
}

static void t_established(struct mroce_stream *s)
{
	KUNIT_EXPECT_FALSE(to_ts(s)->side->pair->test, to_ts(s)->established);
	to_ts(s)->established = true;
}

static void t_idle(struct mroce_stream *s)
{
	to_ts(s)->n_idle++;
}

static const struct mroce_stream_ops pair_stream_ops = {
	.gather = t_gather,
	.gather_resp = t_gather_resp,
	.check_write = t_check_write,
	.bind = t_bind,
	.check_recv = t_check_recv,
	.check_resp = t_check_resp,
	.place = t_place,
	.unclaim = t_unclaim,
	.store = t_store,
	.recv_done = t_recv_done,
	.read_start = t_read_start,
	.read_end = t_read_end,
	.atomic = t_atomic,
	.atomic_done = t_atomic_done,
	.msg_done = t_msg_done,
	.tx_fatal = t_tx_fatal,
	.rx_fatal = t_rx_fatal,
	.conn_lost = t_conn_lost,
	.established = t_established,
	.idle = t_idle,
};

/* ---- set-up -------------------------------------------------------------------------- */

static struct pair *new_pair(struct kunit *test, u64 seed, u16 mtu, bool self)
{
	struct mroce_conn_cfg cfg = {
		.self = self, .link_mtu = mtu, .l3_len = 28
	};
	struct pair *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	int i, k;

	if (!p)
		return NULL;
	p->test = test;
	p->rnd = seed;
	p->now = 1000000;
	p->net.delay_ns = 10000;
	p->net.jitter_ns = 50000;
	p->net.dead_dir = -1;
	p->self = self;
	for (i = 0; i < 2; i++) {
		struct side *sd = &p->side[i];

		sd->pair = p;
		sd->idx = i;
		sd->next_sport = SPORT_BASE + 1000 * i;
		if (mroce_conn_init(&sd->c, &pair_conn_ops, &cfg, p->now))
			return NULL;
		sd->c.plane0.share = &sd->share;
		for (k = 0; k < PAIR_STREAMS; k++) {
			struct tstream *ts = &sd->ts[k];

			ts->side = sd;
			ts->peer = pair_peer(p, i, k);
		}
	}
	return p;
}

struct pair *pair_new(struct kunit *test, u64 seed, u16 mtu)
{
	return new_pair(test, seed, mtu, false);
}

struct pair *pair_new_self(struct kunit *test, u64 seed, u16 mtu)
{
	return new_pair(test, seed, mtu, true);
}

static bool ts_alloc(struct pair *p, struct tstream *ts)
{
	u32 j;

	if (ts->buf)
		return true;
	ts->rsize = 8192;
	ts->buf = kunit_kzalloc(p->test, PAIR_MEM, GFP_KERNEL);
	ts->mem = kunit_kzalloc(p->test, PAIR_MEM, GFP_KERNEL);
	ts->land = kunit_kzalloc(p->test, PAIR_MEM, GFP_KERNEL);
	ts->rbuf = kunit_kzalloc(p->test, PAIR_MSGS * ts->rsize, GFP_KERNEL);
	ts->msg = kunit_kzalloc(p->test, PAIR_MSGS * sizeof(*ts->msg),
				GFP_KERNEL);
	if (!ts->buf || !ts->mem || !ts->land || !ts->rbuf || !ts->msg)
		return false;
	for (j = 0; j < PAIR_MEM; j += 4)
		put_unaligned_be32(pair_rnd32(p), ts->buf + j);
	return !mroce_stream_init(&ts->s, &pair_stream_ops, PAIR_RING);
}

static u32 first_msn(const struct tstream *ts)
{
	const struct side *sd = ts->side;

	return (0xfffff0 + 7 * (ts - sd->ts) + sd->idx + ts->psn_shift) &
	       0xffffff;
}

static struct mroce_stream_attr pair_attr(struct pair *p, int side, int i)
{
	struct tstream *ts = pair_ts(p, side, i), *peer = pair_peer(p, side, i);
	int other = pair_other(p, side);
	struct mroce_stream_attr a = {
		.qpn = pair_qpn(side, i),
		.dqpn = pair_qpn(other, peer - p->side[other].ts),
		.sq_psn = first_msn(ts),
		.rq_psn = first_msn(peer),
		.timeout = 12,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
	};

	if (ts->tune.timeout) {
		a.timeout = ts->tune.timeout;
		a.retry_cnt = ts->tune.retry_cnt;
		a.rnr_retry = ts->tune.rnr_retry;
	}
	return a;
}

void pair_attach(struct pair *p, int side, int i)
{
	struct mroce_stream_attr a = pair_attr(p, side, i);
	struct tstream *ts = pair_ts(p, side, i);

	KUNIT_ASSERT_TRUE(p->test, ts_alloc(p, ts));
	KUNIT_ASSERT_EQ(p->test, 0,
			mroce_stream_attach(&ts->s, &p->side[side].c, &a,
					    p->now));
}

void pair_start(struct pair *p, int side, int i)
{
	struct mroce_stream_attr a = pair_attr(p, side, i);

	mroce_stream_start(&pair_ts(p, side, i)->s, &a, p->now);
}

void pair_reset(struct pair *p, int side, int i)
{
	struct tstream *ts = pair_ts(p, side, i);

	mroce_stream_detach(&ts->s, p->now);
	ts->n_posted = 0;
	ts->n_done = 0;
	ts->n_err_done = 0;
	ts->n_recv_posted = 0;
	ts->n_bound = 0;
	ts->n_recv_done = 0;
	ts->n_checked = 0;
	ts->dead_key = false;
	ts->established = false;
	ts->lost = false;
	ts->fatal = MROCE_ST_OK;
	ts->rx_code = 0;
	memset(ts->msg, 0, PAIR_MSGS * sizeof(*ts->msg));
}

void pair_up(struct pair *p, int i)
{
	if (p->self) {
		pair_attach(p, 0, i);
		pair_attach(p, 0, i ^ 1);
		pair_start(p, 0, i);
		pair_start(p, 0, i ^ 1);
		return;
	}
	pair_attach(p, 0, i);
	pair_attach(p, 1, i);
	pair_start(p, 0, i);
	pair_start(p, 1, i);
}

void pair_free(struct pair *p)
{
	int i, k;

	pair_net_clear(p);
	for (i = 0; i < 2; i++) {
		for (k = 0; k < PAIR_STREAMS; k++) {
			struct tstream *ts = &p->side[i].ts[k];

			if (!ts->s.ring)
				continue;
			mroce_stream_detach(&ts->s, p->now);
			mroce_stream_left(&ts->s);
			KUNIT_EXPECT_EQ(p->test, ts->last_reads, 0U);
			mroce_stream_fini(&ts->s);
		}
		mroce_conn_fini(&p->side[i].c);
		KUNIT_EXPECT_EQ(p->test,
				atomic_read(&p->side[i].share.n_backlogged), 0);
	}
}

u32 pair_post(struct pair *p, int side, int i, u8 opcode, u32 len, u32 va,
	      bool fence)
{
	struct tstream *ts = pair_ts(p, side, i);
	struct pair_msg *pm = &ts->msg[ts->n_posted];

	KUNIT_ASSERT_LT(p->test, ts->n_posted, PAIR_MSGS);
	pm->m.opcode = opcode;
	pm->m.len = len;
	pm->m.va = va;
	pm->m.rkey = 1;
	pm->m.fence = fence;
	pm->m.imm = ts->n_posted * 3 + 1;
	pm->buf_off = pair_rand(p, PAIR_MEM - len);
	if (opcode == MROCE_OP_CMP_SWAP || opcode == MROCE_OP_FETCH_ADD) {
		pm->m.len = 8;
		pm->m.swap_add = 1;
	}
	KUNIT_ASSERT_EQ(p->test, 0, mroce_stream_post(&ts->s, &pm->m, p->now));
	return ts->n_posted++;
}

void pair_post_recv(struct pair *p, int side, int i, u32 n)
{
	pair_ts(p, side, i)->n_recv_posted += n;
}

bool pair_all_done(struct pair *p)
{
	int i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < PAIR_STREAMS; k++)
			if (p->side[i].ts[k].n_done !=
			    p->side[i].ts[k].n_posted)
				return false;
	return true;
}

void pair_check_quiet(struct pair *p)
{
	int i, k, j;

	for (i = 0; i < 2; i++) {
		struct mroce_conn *c = &p->side[i].c;

		KUNIT_EXPECT_EQ(p->test, c->n_lost, 0U);
		for (j = 0; j < c->n_tx; j++) {
			KUNIT_EXPECT_EQ(p->test, c->tx[j]->una, c->tx[j]->nxt);
			KUNIT_EXPECT_EQ(p->test, c->tx[j]->inflight, 0U);
			KUNIT_EXPECT_EQ(p->test, c->tx[j]->n_lost, 0U);
			KUNIT_EXPECT_EQ(p->test, c->tx[j]->deadline,
					MROCE_NEVER);
		}
		for (k = 0; k < PAIR_STREAMS; k++) {
			struct mroce_stream *s = &p->side[i].ts[k].s;

			if (!s->conn)
				continue;
			KUNIT_EXPECT_EQ(p->test, s->claims, 0U);
			KUNIT_EXPECT_EQ(p->test, s->n_refused, 0);
			KUNIT_EXPECT_EQ(p->test, s->rd_out, 0);
			KUNIT_EXPECT_EQ(p->test, s->rd_in, 0);
			KUNIT_EXPECT_EQ(p->test, s->resp_n, 0);
			KUNIT_EXPECT_EQ(p->test, s->n_consuming, 0);
			KUNIT_EXPECT_EQ(p->test, p->side[i].ts[k].last_reads,
					0U);
		}
	}
}
