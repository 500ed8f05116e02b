// SPDX-License-Identifier: GPL-2.0
/*
 * Two endpoints and a bad network between them; see pair.h.
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

static u32 rnd32(struct pair *p)
{
	/* splitmix64 */
	u64 z = p->rnd += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (u32)(z >> 32);
}

u32 pair_rand(struct pair *p, u32 below)
{
	return below ? rnd32(p) % below : 0;
}

static bool chance(struct pair *p, u32 in_65536)
{
	return in_65536 && (rnd32(p) & 0xffff) < in_65536;
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

/* ---- what net would do --------------------------------------------------------- */

static struct mroce_stream *p_find(struct mroce_conn *c, u32 qpn)
{
	struct side *sd = container_of(c, struct side, c);
	int i = (int)qpn - (int)pair_qpn(sd->idx, 0);

	if (i < 0 || i >= PAIR_STREAMS || !sd->ts[i].s.ops)
		return NULL;
	return &sd->ts[i].s;
}

static int other(const struct pair *p, int side)
{
	return p->self ? side : !side;
}

struct tstream *pair_peer(struct pair *p, int side, int i)
{
	return p->self ? pair_ts(p, side, i ^ 1) : pair_ts(p, !side, i);
}

static u32 p_new_id(struct mroce_conn *c)
{
	struct side *sd = container_of(c, struct side, c);

	return (sd->idx + 1) << 16 | (rnd32(sd->pair) & 0xffff) | 1;
}

static u16 p_new_sport(struct mroce_conn *c, u8 plane)
{
	return container_of(c, struct side, c)->next_sport++;
}

static void p_link(struct mroce_conn *c, struct mroce_conn_cfg *cfg)
{
	struct side *sd = container_of(c, struct side, c);

	if (sd->link_mtu)
		cfg->link_mtu = sd->link_mtu;
}

static const struct mroce_conn_ops pair_conn_ops = {
	.find = p_find,
	.new_id = p_new_id,
	.new_sport = p_new_sport,
	.link = p_link,
};

static bool sooner(const struct netpkt *a, const struct netpkt *b)
{
	return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

static void heap_push(struct pair *p, struct netpkt *n)
{
	u32 i = p->nq++;

	while (i && sooner(n, p->q[(i - 1) / 2])) {
		p->q[i] = p->q[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	p->q[i] = n;
}

static struct netpkt *heap_pop(struct pair *p)
{
	struct netpkt *top = p->q[0], *last = p->q[--p->nq];
	u32 i = 0, k;

	for (;;) {
		k = 2 * i + 1;
		if (k >= p->nq)
			break;
		if (k + 1 < p->nq && sooner(p->q[k + 1], p->q[k]))
			k++;
		if (!sooner(p->q[k], last))
			break;
		p->q[i] = p->q[k];
		i = k;
	}
	if (p->nq)
		p->q[i] = last;
	return top;
}

static void net_put(struct pair *p, int to, u8 plane, const u8 *data, u32 len,
		    u16 sport, u64 at, bool ce)
{
	struct netpkt *n;

	if (p->nq == PAIR_NETQ) {
		p->dropped++;
		return;
	}
	n = kzalloc(sizeof(*n), GFP_KERNEL);
	if (!n)
		return;
	n->data = kmalloc(len, GFP_KERNEL);
	if (!n->data) {
		kfree(n);
		return;
	}
	memcpy(n->data, data, len);
	n->len = len;
	n->to = to;
	n->plane = plane;
	n->sport = sport;
	n->at = at;
	n->seq = p->seq++;
	n->ce = ce;
	heap_push(p, n);
}

void pair_inject(struct pair *p, int to, const u8 *data, u32 len, u16 sport)
{
	net_put(p, to, 0, data, len, sport, p->now, false);
}

void pair_inject_on(struct pair *p, int to, u8 plane, const u8 *data, u32 len)
{
	net_put(p, to, plane, data, len, 0, p->now, false);
}

/* ---- planes ---- */

static void plane_addr(int side, int k, u8 addr[16])
{
	memset(addr, 0, 16);
	addr[0] = 0xfd;
	addr[1] = k;
	addr[15] = side + 1;
}

struct mroce_plane_own *pair_own(struct pair *p, int side, int k)
{
	return &p->side[side].own[k];
}

void pair_set_planes(struct pair *p, int side)
{
	struct side *sd = &p->side[side];

	mroce_conn_set_planes(&sd->c, sd->own, p->now);
}

void pair_planes(struct pair *p, int side, int n)
{
	struct mroce_plane_own *own;
	int k;

	for (k = 0; k < MROCE_MAX_PLANES; k++) {
		own = pair_own(p, side, k);
		memset(own, 0, sizeof(*own));
		own->joined = k < n;
		own->carrier = k < n;
		if (k < n)
			plane_addr(side, k, own->addr);
	}
	pair_set_planes(p, side);
}

u8 pair_plane_state(struct pair *p, int side, int k)
{
	return mroce_plane_of(&p->side[side].c, k)->state;
}

/* The plane's netdev is there, with a carrier, at both ends. */
static bool plane_passes(struct pair *p, int from, u8 plane)
{
	if (p->net.dead_planes & BIT(plane))
		return false;
	if (!p->side[from].c.mp)
		return true;
	return pair_own(p, from, plane)->joined &&
	       pair_own(p, from, plane)->carrier;
}

static bool net_drops(struct pair *p, int from, u8 plane, u16 sport, bool data)
{
	struct pair_net *n = &p->net;

	if (n->cut || !plane_passes(p, from, plane))
		return true;
	if (n->dead_sport && sport == n->dead_sport &&
	    (n->dead_dir < 0 || n->dead_dir == from))
		return true;
	if (data && n->drop_next) {
		n->drop_next--;
		return true;
	}
	if (!data && (n->mute[from] || chance(p, n->loss_ack)))
		return true;
	return chance(p, n->loss);
}

static void net_send(struct side *sd, const struct mroce_txd *txd)
{
	struct pair *p = sd->pair;
	bool data = txd->type == MROCE_T_DATA;
	static u8 wire[16384];
	u32 len = txd->lin_len;
	u64 at;
	int i;

	memcpy(wire, txd->lin, len);
	for (i = 0; i < txd->nfrags; i++) {
		memcpy(wire + len, (u8 *)txd->frag[i].page + txd->frag[i].off,
		       txd->frag[i].len);
		len += txd->frag[i].len;
	}
	memset(wire + len, 0, txd->pad_bytes);
	len += txd->pad_bytes;
	KUNIT_EXPECT_LE(p->test, len + 28,
			max_t(u32, sd->c.cfg.link_mtu, MROCE_MTU_MIN));
	p->sent++;
	if (data)
		p->plane_data[txd->plane]++;
	if (net_drops(p, sd->idx, txd->plane, txd->sport, data)) {
		p->dropped++;
		return;
	}
	at = p->now + p->net.delay_ns;
	if (txd->sport == p->net.slow_sport)
		at = max(at, p->net.slow_until);
	if (chance(p, p->net.reorder))
		at += pair_rand(p, (u32)p->net.jitter_ns);
	net_put(p, other(p, sd->idx), txd->plane, wire, len, txd->sport, at,
		data && chance(p, p->net.ce));
	if (chance(p, p->net.dup))
		net_put(p, other(p, sd->idx), txd->plane, wire, len, txd->sport,
			at + pair_rand(p, (u32)p->net.jitter_ns + 1), false);
}

void pair_pump(struct pair *p, int side)
{
	struct side *sd = &p->side[side];
	int guard = 0;

	while (mroce_conn_tx(&sd->c, &p->txd, p->now)) {
		net_send(sd, &p->txd);
		if (++guard > 100000) {
			KUNIT_FAIL(p->test, "endless transmission");
			return;
		}
	}
}

struct copy_src {
	const u8 *data;
};

static int copy_out(void *src, u32 off, void *dst, u32 len)
{
	const struct copy_src *cs = src;

	memcpy(dst, cs->data + off, len);
	return 0;
}

/* As net/ does for DATA and PROBE that belong to no incarnation it knows. */
static void answer_reset(struct pair *p, int from, const struct netpkt *np)
{
	struct mroce_pkt pkt = {
		.type = MROCE_T_CONTROL,
		.opcode = MROCE_CTRL_RESET,
	};
	u8 wire[MROCE_RESET_LEN];

	if (np->len < MROCE_COMMON_LEN)
		return;
	memcpy(pkt.reset, np->data, MROCE_COMMON_LEN);
	KUNIT_EXPECT_EQ(p->test, (u32)MROCE_RESET_LEN,
			mroce_wire_build(&pkt, wire, sizeof(wire)));
	if (!net_drops(p, from, 0, 0, false))
		net_put(p, !from, 0, wire, sizeof(wire), 0,
			p->now + p->net.delay_ns, false);
}

static bool wants_reset(const struct mroce_pkt *pkt)
{
	return pkt->type == MROCE_T_DATA ||
	       (pkt->type == MROCE_T_CONTROL &&
		pkt->opcode == MROCE_CTRL_PROBE);
}

/* As net/ does: by the addresses, of which those of plane 0 are the pair's. */
static int arrives_on(struct pair *p, const struct netpkt *np)
{
	u8 own[16], peer[16];

	if (!np->plane)
		return 0;
	plane_addr(np->to, np->plane, own);
	plane_addr(other(p, np->to), np->plane, peer);
	return mroce_conn_plane(&p->side[np->to].c, own, peer);
}

static bool by_id(const struct mroce_pkt *pkt)
{
	return pkt->type != MROCE_T_CONTROL ||
	       pkt->opcode == MROCE_CTRL_PROBE ||
	       pkt->opcode == MROCE_CTRL_PROBE_ACK ||
	       pkt->opcode == MROCE_CTRL_CLOSE;
}

static void end_claim(struct pair *p, int to, struct mroce_claim *cl,
		      struct netpkt *np)
{
	struct copy_src cs = { .data = np->data + cl->obj_off };
	int err = mroce_claim_place(cl, copy_out, &cs);

	mroce_conn_finish(&p->side[to].c, cl, !err, p->now);
	kfree(np->data);
	kfree(np);
}

/* Another CPU copies this one, and takes its time. */
static bool claim_slow(struct pair *p, int to, const struct mroce_claim *cl,
		       struct netpkt *np)
{
	struct pair_claim *pc;
	int i;

	if (!chance(p, p->net.slow_copy))
		return false;
	for (i = 0; i < PAIR_SLOW; i++) {
		pc = &p->slow[i];
		if (pc->used)
			continue;
		pc->used = true;
		pc->to = to;
		pc->until = p->now + pair_rand(p, (u32)p->net.jitter_ns + 1);
		pc->cl = *cl;
		pc->pkt = np;
		return true;
	}
	return false;
}

/* End the slow claims that are due, or all; returns when the next one is. */
static u64 claims_end(struct pair *p, bool all)
{
	u64 next = MROCE_NEVER;
	int i;

	for (i = 0; i < PAIR_SLOW; i++) {
		struct pair_claim *pc = &p->slow[i];

		if (!pc->used)
			continue;
		if (!all && pc->until > p->now) {
			next = min(next, pc->until);
			continue;
		}
		pc->used = false;
		end_claim(p, pc->to, &pc->cl, pc->pkt);
		if (!all)
			pair_pump(p, pc->to);
	}
	return next;
}

/* Deliver packets due now, in batches of claims as net/ does. */
static void deliver(struct pair *p)
{
	struct netpkt **held = p->held;
	struct mroce_claim *cl = p->cl;
	int n = 0, i, to;

	to = p->q[0]->to;
	while (p->nq && p->q[0]->at <= p->now && p->q[0]->to == to &&
	       n < PAIR_CLAIMS) {
		struct netpkt *np = heap_pop(p);
		struct mroce_rx_meta meta = { .sport = np->sport, .ce = np->ce };
		struct mroce_pkt pkt;
		enum mroce_rx rx = MROCE_RX_DROP;
		enum mroce_wire_reason wr;
		int plane = arrives_on(p, np);

		meta.plane = max(plane, 0);
		wr = mroce_wire_parse(np->data, np->len, np->len, &pkt);
		KUNIT_EXPECT_TRUE(p->test,
				  wr == MROCE_WIRE_OK || p->no_verify ||
				  p->liar);
		if (wr == MROCE_WIRE_OK && by_id(&pkt) &&
		    pkt.conn != p->side[to].c.id)
			rx = wants_reset(&pkt) ? MROCE_RX_RESET : MROCE_RX_DROP;
		else if (plane >= 0 && wr == MROCE_WIRE_OK)
			rx = mroce_conn_rx(&p->side[to].c, &pkt, &meta, &cl[n],
					   p->now);
		if (rx == MROCE_RX_RESET)
			answer_reset(p, to, np);
		if (rx == MROCE_RX_CLAIM) {
			/* The payload follows the header. */
			cl[n].obj_off = pkt.payload_off;
			if (!claim_slow(p, to, &cl[n], np))
				held[n++] = np;
			continue;
		}
		kfree(np->data);
		kfree(np);
	}
	for (i = 0; i < n; i++)
		end_claim(p, to, &cl[i], held[i]);
	pair_pump(p, to);
}

/* Packets for a host that stands still wait, in their order. */
static void pass(struct pair *p)
{
	while (p->nq && p->q[0]->at <= p->now) {
		u64 stalled = p->side[p->q[0]->to].stalled;

		if (stalled > p->now) {
			struct netpkt *np = heap_pop(p);

			np->at = stalled;
			heap_push(p, np);
			continue;
		}
		deliver(p);
	}
}

static u64 timer_due(const struct side *sd)
{
	u64 due = mroce_conn_deadline(&sd->c);

	return due == MROCE_NEVER ? due : max(due, sd->stalled);
}

static void timers(struct pair *p, bool first)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct side *sd = &p->side[i];

		if ((first && !sd->timers_first) || timer_due(sd) > p->now)
			continue;
		mroce_conn_timer(&sd->c, p->now);
		pair_pump(p, i);
	}
}

bool pair_run(struct pair *p, u64 max_ns, bool (*until)(struct pair *p))
{
	u64 end = p->now + max_ns, next;
	int i;

	pair_pump(p, 0);
	pair_pump(p, 1);
	for (;;) {
		if (until && until(p))
			return true;
		next = claims_end(p, false);
		if (p->nq)
			next = min(next, p->q[0]->at);
		for (i = 0; i < 2; i++)
			next = min(next, timer_due(&p->side[i]));
		if (next == MROCE_NEVER || next > end) {
			p->now = end;
			return !until;
		}
		p->now = max(p->now, next);
		timers(p, true);
		pass(p);
		timers(p, false);
	}
}

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
		put_unaligned_be32(rnd32(p), ts->buf + j);
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
	struct mroce_stream_attr a = {
		.qpn = pair_qpn(side, i),
		.dqpn = pair_qpn(other(p, side), peer - p->side[other(p, side)].ts),
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

	claims_end(p, true);
	while (p->nq) {
		struct netpkt *n = heap_pop(p);

		kfree(n->data);
		kfree(n);
	}
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
