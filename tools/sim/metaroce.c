// SPDX-License-Identifier: GPL-2.0
/*
 * MetaRoCE in the simulator: what net/ and verbs/ do in the kernel, without
 * payload, around the objects of wire/ and core/.
 */
#include <stdlib.h>
#include <string.h>

#include "metaroce.h"

#define FIRST_QPN	16
#define UPTIME_NS	(60 * SIM_S)	/* of the hosts, when all begins */
#define MEM		(1ULL << 40)	/* everything below is valid memory */

/* A host's clock: it has been up for a while. */
static u64 clock_ns(const struct sim *sm)
{
	return UPTIME_NS + sm->now;
}

static struct mflow *to_mflow(struct mroce_stream *s)
{
	return container_of(s, struct mflow, s);
}

/* The flow that a stream belongs to, from either end. */
static struct flow *flow_of(struct mroce_stream *s)
{
	struct mflow *mf = to_mflow(s);

	return mf->responder ? &mf->mirror->f : &mf->f;
}

/* ---- verbs ----------------------------------------------------------------------- */

static int s_gather(struct mroce_stream *s, struct mroce_msg *m, u32 off,
		    u32 len, struct mroce_txd *txd)
{
	txd->frag_bytes = len;
	return 0;
}

static int s_gather_resp(struct mroce_stream *s, struct mroce_rctx *r, u32 off,
			 u32 len, struct mroce_txd *txd)
{
	txd->frag_bytes = len;
	return 0;
}

static int s_check_write(struct mroce_stream *s, struct mroce_claim *cl)
{
	return cl->va < MEM ? 0 : MROCE_NAK_ACCESS;
}

static int s_bind(struct mroce_stream *s, u32 rsn)
{
	struct flow *f = flow_of(s);

	if (f->cfg.no_receives)
		return -EAGAIN;
	return f->sm->watch ? f->sm->watch->bind(f, rsn) : 0;
}

static int s_check_recv(struct mroce_stream *s, struct mroce_claim *cl)
{
	return 0;
}

static int s_check_resp(struct mroce_stream *s, struct mroce_msg *m,
			struct mroce_claim *cl)
{
	return 0;
}

static int s_place(struct mroce_claim *cl, mroce_copy_fn copy, void *src)
{
	return 0;
}

static void s_unclaim(struct mroce_stream *s, struct mroce_claim *cl)
{
}

static int s_store(struct mroce_stream *s, u64 va, u32 rkey, const u8 *data,
		   u32 len)
{
	return 0;
}

static int s_recv_done(struct mroce_stream *s, const struct mroce_recv *r)
{
	struct flow *f = flow_of(s);

	if (f->sm->watch)
		f->sm->watch->received(f, r);
	if (f->received)
		f->received(f);
	return 0;
}

static int s_read_start(struct mroce_stream *s, struct mroce_rctx *r)
{
	return 0;
}

static void s_read_end(struct mroce_stream *s, struct mroce_rctx *r)
{
}

static int s_atomic(struct mroce_stream *s, struct mroce_rctx *r, u64 swap_add,
		    u64 compare)
{
	struct mflow *mf = to_mflow(s);

	r->orig = mf->word;
	if (r->opcode == MROCE_OP_FETCH_ADD)
		mf->word += swap_add;
	else if (mf->word == compare)
		mf->word = swap_add;
	if (mf->f.sm->watch)
		mf->f.sm->watch->executed(flow_of(s), r);
	return 0;
}

static int s_atomic_done(struct mroce_stream *s, struct mroce_msg *m, u64 orig)
{
	struct flow *f = flow_of(s);

	if (f->sm->watch)
		f->sm->watch->fetched(f, m, orig);
	return 0;
}

static void s_msg_done(struct mroce_stream *s, struct mroce_msg *m,
		       enum mroce_status st)
{
	struct flow *f = &to_mflow(s)->f;

	if (f->sm->watch)
		f->sm->watch->completed(f, m, st == MROCE_ST_OK);
	flow_done(f, m->len, st == MROCE_ST_OK);
}

static void s_tx_fatal(struct mroce_stream *s, enum mroce_status st)
{
	flow_of(s)->errors++;
}

static void s_rx_fatal(struct mroce_stream *s, u8 code)
{
	flow_of(s)->errors++;
}

static void s_conn_lost(struct mroce_stream *s)
{
	flow_of(s)->errors++;
}

static void s_nothing(struct mroce_stream *s)
{
}

static const struct mroce_stream_ops flow_ops = {
	.gather = s_gather,
	.gather_resp = s_gather_resp,
	.check_write = s_check_write,
	.bind = s_bind,
	.check_recv = s_check_recv,
	.check_resp = s_check_resp,
	.place = s_place,
	.unclaim = s_unclaim,
	.store = s_store,
	.recv_done = s_recv_done,
	.read_start = s_read_start,
	.read_end = s_read_end,
	.atomic = s_atomic,
	.atomic_done = s_atomic_done,
	.msg_done = s_msg_done,
	.tx_fatal = s_tx_fatal,
	.rx_fatal = s_rx_fatal,
	.conn_lost = s_conn_lost,
	.established = s_nothing,
	.idle = s_nothing,
};

/* ---- net -------------------------------------------------------------------------- */

static struct mend *mend_of(struct mroce_conn *c)
{
	return container_of(c, struct mend, c);
}

static struct mroce_stream *e_find(struct mroce_conn *c, u32 qpn)
{
	struct host *h = mend_of(c)->e.h;

	if (qpn < FIRST_QPN || qpn - FIRST_QPN >= h->n_flows)
		return NULL;
	return &((struct mflow *)h->flows[qpn - FIRST_QPN])->s;
}

static u32 e_new_id(struct mroce_conn *c)
{
	struct end *e = &mend_of(c)->e;

	return (sim_rand(e->h->sm) & 0xffff0000) | (e->idx + 1);
}

static u16 e_new_sport(struct mroce_conn *c, u8 plane)
{
	struct mend *e = mend_of(c);
	struct sim *sm = e->e.h->sm;

	(void)plane;
	e->sport_next += sm->port_step ? sm->port_step : 1 + sim_rand(sm) % 61;
	return MROCE_SPORT_MIN + e->sport_next % 16384;
}

static const struct mroce_conn_ops end_ops = {
	.find = e_find,
	.new_id = e_new_id,
	.new_sport = e_new_sport,
};

static void emit(struct end *e, const struct mroce_txd *txd)
{
	struct packet *p = host_packet(e);
	struct watch *w = e->h->sm->watch;

	p->sport = txd->sport;
	p->plane = txd->plane;
	p->ect = txd->ect;
	p->data = txd->type == MROCE_T_DATA;
	p->hdr_len = txd->lin_len;
	p->len = txd->lin_len + txd->frag_bytes + txd->pad_bytes;
	memcpy(p->hdr, txd->lin, p->hdr_len);
	if (w)
		w->packet(e->h->sm, p, "sent");
	link_send(e->h->sm, e->h->nic[txd->plane], p);
}

static void m_tx_now(struct end *e)
{
	struct mroce_conn *c = &to_mend(e)->c;
	struct sim *sm = e->h->sm;

	c->tx_blocked = true;
	while (mroce_conn_tx(c, &sm->txd, clock_ns(sm)))
		emit(e, &sm->txd);
	c->tx_blocked = false;
}

static bool m_tx(struct end *e)
{
	struct sim *sm = e->h->sm;

	if (!mroce_conn_tx(&to_mend(e)->c, &sm->txd, clock_ns(sm)))
		return false;
	emit(e, &sm->txd);
	return true;
}

static u64 m_deadline(struct end *e)
{
	u64 at = mroce_conn_deadline(&to_mend(e)->c);

	if (at == MROCE_NEVER)
		return at;
	return at > UPTIME_NS ? at - UPTIME_NS : 0;
}

static void m_timer(struct end *e)
{
	mroce_conn_timer(&to_mend(e)->c, clock_ns(e->h->sm));
}

static void m_rx(struct host *h, struct packet *p)
{
	struct mroce_rx_meta meta = {
		.sport = p->sport, .ce = p->ce, .plane = p->plane,
	};
	struct sim *sm = h->sm;
	struct mroce_claim cl;
	struct mroce_pkt pkt;
	struct end *e = NULL;
	struct mroce_conn *c;

	if (mroce_wire_parse(p->hdr, p->hdr_len, p->len, &pkt) !=
	    MROCE_WIRE_OK)
		abort();
	if (pkt.type == MROCE_T_CONTROL &&
	    (pkt.opcode == MROCE_CTRL_INIT ||
	     pkt.opcode == MROCE_CTRL_RESET))
		e = host_end(h, p->src);
	else if ((pkt.conn & 0xffff) && (pkt.conn & 0xffff) <= h->n_ends)
		e = h->ends[(pkt.conn & 0xffff) - 1];
	if (!e)
		return;
	c = &to_mend(e)->c;
	if (mroce_conn_rx(c, &pkt, &meta, &cl, clock_ns(sm)) == MROCE_RX_CLAIM) {
		if (sm->watch && cl.kind != MROCE_CLAIM_VOID)
			sm->watch->placed(flow_of(cl.s), &cl);
		mroce_conn_finish(c, &cl, true, clock_ns(sm));
	}
	end_kick(e);
}

/* ---- flows -------------------------------------------------------------------------- */

/* All hosts have the same planes: an address is a plane and a host. */
static void end_planes(struct mend *me)
{
	struct mroce_plane_own own[MROCE_MAX_PLANES] = {};
	struct host *h = me->e.h;
	u32 k;

	for (k = 0; k < h->sm->n_planes; k++) {
		own[k].joined = true;
		own[k].carrier = true;
		own[k].addr[0] = 0xfd;
		own[k].addr[1] = k;
		put_unaligned_be16(h->idx, own[k].addr + 14);
		if (!h->sm->no_hints)
			own[k].share = &h->share[k];
	}
	mroce_conn_set_planes(&me->c, own, clock_ns(h->sm));
}

static struct mend *mend_get(struct sim *sm, u16 host, u16 peer)
{
	struct mroce_conn_cfg cfg = {
		.link_mtu = sm->mtu,
		.l3_len = L3_LEN,
		.n_paths = sm->n_paths,
	};
	struct host *h = &sm->hosts[host];
	struct end *e = host_end(h, peer);
	struct mend *me;
	u32 k;

	if (e)
		return to_mend(e);
	me = xcalloc(1, sizeof(*me));
	host_add_end(h, &me->e, peer);
	me->sport_next = sim_rand(sm);
	if (mroce_conn_init(&me->c, &end_ops, &cfg, clock_ns(sm)))
		abort();
	if (!sm->no_hints) {
		for (k = 0; k < sm->n_planes; k++)
			h->share[k].kbps = 8000000000ULL /
					   h->nic[k]->ps_per_byte;
		me->c.plane0.share = &h->share[0];
	}
	if (sm->n_planes > 1)
		end_planes(me);
	return me;
}

static struct flow *m_flow_new(struct sim *sm, const struct flow_cfg *cfg)
{
	struct mflow *f = xcalloc(1, sizeof(*f)), *r = xcalloc(1, sizeof(*r));

	f->e = mend_get(sm, cfg->src, cfg->dst);
	r->e = mend_get(sm, cfg->dst, cfg->src);
	f->mirror = r;
	r->mirror = f;
	r->responder = true;
	r->f.sm = sm;
	f->ring = xcalloc(cfg->depth, sizeof(*f->ring));
	if (mroce_stream_init(&f->s, &flow_ops,
			      roundup_pow_of_two(max_t(u32, cfg->depth, 2))) ||
	    mroce_stream_init(&r->s, &flow_ops, 2))
		abort();
	f->s.a.qpn = FIRST_QPN + host_add_flow(&sm->hosts[cfg->src], &f->f);
	r->s.a.qpn = FIRST_QPN + host_add_flow(&sm->hosts[cfg->dst], &r->f);
	return &f->f;
}

static void m_flow_start(struct flow *flow)
{
	struct mflow *f = (struct mflow *)flow, *r = f->mirror;
	struct mroce_stream_attr a = {
		.qpn = f->s.a.qpn, .dqpn = r->s.a.qpn,
		.timeout = 18, .retry_cnt = 7, .rnr_retry = 7,
		.min_rnr_timer = 12, .max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
	}, b = a;
	u64 now = clock_ns(flow->sm);

	b.qpn = a.dqpn;
	b.dqpn = a.qpn;
	if (mroce_stream_attach(&r->s, &r->e->c, &b, now) ||
	    mroce_stream_attach(&f->s, &f->e->c, &a, now))
		abort();
	mroce_stream_start(&r->s, &b, now);
	mroce_stream_start(&f->s, &a, now);
	end_kick(&r->e->e);
}

static int m_post(struct flow *flow, u32 slot, u32 bytes)
{
	struct mflow *f = (struct mflow *)flow;
	struct mroce_msg *m = &f->ring[slot];

	memset(m, 0, sizeof(*m));
	m->opcode = flow->cfg.opcode;
	m->len = bytes;
	m->va = flow->cfg.bad_key ? MEM : 0;
	if (flow->sm->watch)
		flow->sm->watch->choose(flow, m);
	return mroce_stream_post(&f->s, m, clock_ns(flow->sm));
}

static void m_kick(struct flow *flow)
{
	end_kick(&((struct mflow *)flow)->e->e);
}

static void m_flow_free(struct flow *flow)
{
	struct mflow *f = (struct mflow *)flow;

	mroce_stream_detach(&f->s, clock_ns(flow->sm));
	mroce_stream_left(&f->s);
	mroce_stream_fini(&f->s);
	free(f->ring);
	free(flow->post_ns);
	free(f);
}

static void m_end_free(struct end *e)
{
	mroce_conn_fini(&to_mend(e)->c);
	free(to_mend(e));
}

static double m_allowed_gbps(struct flow *flow)
{
	struct mroce_conn *c = &((struct mflow *)flow)->e->c;
	double gbps[MROCE_MAX_PLANES] = {}, sum = 0, pace;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		const struct mroce_path_tx *p = c->tx[i];

		if (p->srtt_ns)
			gbps[p->plane] += (p->cc.cwnd_x256 >> 8) *
				(double)flow->sm->mtu * 8 / p->srtt_ns;
	}
	for (i = 0; i < flow->sm->n_planes; i++) {
		pace = mroce_plane_of(c, i)->pace_kbps / 1e6;
		sum += pace && gbps[i] > pace ? pace : gbps[i];
	}
	return sum;
}

static void m_stats(struct sim *sm, struct transport_stats *st)
{
	u32 i, j;

	memset(st, 0, sizeof(*st));
	for (i = 0; i < sm->n_hosts; i++) {
		for (j = 0; j < sm->hosts[i].n_ends; j++) {
			const u64 *n = to_mend(sm->hosts[i].ends[j])->c.cnt;

			st->rx_bytes += n[MROCE_CNT_RX_BYTES];
			st->tx_pkts += n[MROCE_CNT_TX_DATA];
			st->retx_pkts += n[MROCE_CNT_TX_RETX];
			st->timeouts += n[MROCE_CNT_RTO];
			st->rehomed += n[MROCE_CNT_REHOME];
			st->congestion += n[MROCE_CNT_TX_CE_ECHO];
		}
	}
}

const struct transport transport_metaroce = {
	.name = "metaroce",
	.flow_new = m_flow_new,
	.flow_start = m_flow_start,
	.post = m_post,
	.kick = m_kick,
	.flow_free = m_flow_free,
	.end_free = m_end_free,
	.rx = m_rx,
	.tx_now = m_tx_now,
	.tx = m_tx,
	.deadline = m_deadline,
	.timer = m_timer,
	.allowed_gbps = m_allowed_gbps,
	.stats = m_stats,
};
