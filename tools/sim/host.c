// SPDX-License-Identifier: GPL-2.0
/*
 * Hosts: what net/ and verbs/ do in the kernel, without payload.
 *
 * The transmitter is pulled: while the NIC's own queue is short, the host's
 * connections take turns. ACKs and control packets pass that bound, as they
 * pass the bound on local queues in the kernel.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define NIC_QUEUE	2		/* packets of DATA waiting */
#define PLANE_QUEUE	16		/* for each plane, in all their queues */
#define MEM		(1ULL << 40)	/* everything below is valid memory */

static struct flow *to_flow(struct mroce_stream *s)
{
	return container_of(s, struct flow, s);
}

/* ---- verbs ----------------------------------------------------------------------- */

static void virtual_bytes(struct mroce_txd *txd, u32 len)
{
	txd->frag_bytes = len;
}

static int s_gather(struct mroce_stream *s, struct mroce_msg *m, u32 off,
		    u32 len, struct mroce_txd *txd)
{
	virtual_bytes(txd, len);
	return 0;
}

static int s_gather_resp(struct mroce_stream *s, struct mroce_rctx *r, u32 off,
			 u32 len, struct mroce_txd *txd)
{
	virtual_bytes(txd, len);
	return 0;
}

static int s_check_write(struct mroce_stream *s, struct mroce_claim *cl)
{
	return cl->va < MEM ? 0 : MROCE_NAK_ACCESS;
}

static int s_bind(struct mroce_stream *s, u32 rsn)
{
	return 0;
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
	return 0;
}

static int s_atomic_done(struct mroce_stream *s, struct mroce_msg *m, u64 orig)
{
	return 0;
}

static void flow_post(struct flow *f)
{
	while (f->bytes_left && f->posted - f->done < f->depth) {
		struct fmsg *fm = &f->ring[f->posted % f->depth];
		u8 opcode = fm->m.opcode;
		u32 len = f->msg_bytes;

		if (f->bytes_left < len)
			len = f->bytes_left;
		memset(fm, 0, sizeof(*fm));
		fm->f = f;
		fm->m.opcode = opcode;
		fm->m.len = len;
		if (mroce_stream_post(&f->s, &fm->m, f->sm->now))
			return;
		f->posted++;
		if (f->bytes_left != U64_MAX)
			f->bytes_left -= len;
	}
}

static void s_msg_done(struct mroce_stream *s, struct mroce_msg *m,
		       enum mroce_status st)
{
	struct flow *f = to_flow(s);

	f->done++;
	if (st != MROCE_ST_OK) {
		f->errors++;
		return;
	}
	f->done_bytes += m->len;
	f->end_ns = f->sm->now;
	flow_post(f);
	if (!f->bytes_left && f->done == f->posted && f->finished)
		f->finished(f);
}

static void s_tx_fatal(struct mroce_stream *s, enum mroce_status st)
{
	to_flow(s)->errors++;
}

static void s_rx_fatal(struct mroce_stream *s, u8 code)
{
	to_flow(s)->errors++;
}

static void s_conn_lost(struct mroce_stream *s)
{
	to_flow(s)->errors++;
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

static struct end *to_end(struct mroce_conn *c)
{
	return container_of(c, struct end, c);
}

static struct mroce_stream *e_find(struct mroce_conn *c, u32 qpn)
{
	struct host *h = to_end(c)->h;

	if (qpn < 16 || qpn - 16 >= h->n_flows)
		return NULL;
	return &h->flows[qpn - 16]->s;
}

static u32 e_new_id(struct mroce_conn *c)
{
	struct end *e = to_end(c);

	return (sim_rand(e->h->sm) & 0xffff0000) | (e->idx + 1);
}

static u16 e_new_sport(struct mroce_conn *c, u8 plane)
{
	struct end *e = to_end(c);

	(void)plane;
	e->sport_next += 1 + sim_rand(e->h->sm) % 61;
	return MROCE_SPORT_MIN + e->sport_next % 16384;
}

static const struct mroce_conn_ops end_ops = {
	.find = e_find,
	.new_id = e_new_id,
	.new_sport = e_new_sport,
};

/* As in the kernel, where planes share the bound on what is in local queues. */
static bool nic_room(const struct host *h)
{
	u32 k, planes = h->sm->n_planes, n = 0;
	const struct packet *p;

	if (planes > 1) {
		for (k = 0; k < planes; k++)
			n += h->plane_nic[k]->queued;
		return n < planes * PLANE_QUEUE * h->sm->mtu;
	}
	for (p = h->nic->head; p; p = p->next)
		if (p->data && ++n >= NIC_QUEUE)
			return false;
	return true;
}

static void emit(struct host *h, struct end *e, const struct mroce_txd *txd)
{
	struct packet *p = malloc(sizeof(*p));

	if (!p)
		abort();
	p->src = h->idx;
	p->dst = e->peer;
	p->sport = txd->sport;
	p->ect = txd->ect;
	p->ce = false;
	p->data = txd->type == MROCE_T_DATA;
	p->hdr_len = txd->lin_len;
	p->plane = txd->plane;
	p->len = txd->lin_len + txd->frag_bytes + txd->pad_bytes;
	memcpy(p->hdr, txd->lin, p->hdr_len);
	link_send(h->sm, txd->plane ? h->plane_nic[txd->plane] : h->nic, p);
}

static void end_rearm(struct end *e)
{
	struct sim *sm = e->h->sm;
	u64 at = mroce_conn_deadline(&e->c);

	if (at == MROCE_NEVER || at >= e->armed)
		return;
	e->armed = max(at, sm->now + 1);
	host_timer_at(sm, e, e->armed);
}

static void sender_add(struct host *h, struct end *e)
{
	if (e->queued)
		return;
	e->queued = true;
	e->next_tx = NULL;
	*h->tx_tail = e;
	h->tx_tail = &e->next_tx;
}

/* What must not wait, then the host's turn-taking. */
static void end_kick(struct end *e)
{
	struct host *h = e->h;
	struct sim *sm = h->sm;

	e->c.tx_blocked = true;
	while (mroce_conn_tx(&e->c, &sm->txd, sm->now))
		emit(h, e, &sm->txd);
	e->c.tx_blocked = false;
	sender_add(h, e);
	host_nic_free(h);
	end_rearm(e);
}

void host_nic_free(struct host *h)
{
	struct sim *sm = h->sm;

	while (h->tx_head && nic_room(h)) {
		struct end *e = h->tx_head;

		h->tx_head = e->next_tx;
		if (!h->tx_head)
			h->tx_tail = &h->tx_head;
		e->queued = false;
		if (!mroce_conn_tx(&e->c, &sm->txd, sm->now)) {
			end_rearm(e);
			continue;
		}
		emit(h, e, &sm->txd);
		sender_add(h, e);
		end_rearm(e);
	}
}

void host_timer(struct end *e)
{
	struct sim *sm = e->h->sm;

	if (sm->now < e->armed)
		return;
	e->armed = MROCE_NEVER;
	if (mroce_conn_deadline(&e->c) <= sm->now)
		mroce_conn_timer(&e->c, sm->now);
	end_kick(e);
}

static struct end *end_by_peer(struct host *h, u16 peer)
{
	u32 i;

	for (i = 0; i < h->n_ends; i++)
		if (h->ends[i]->peer == peer)
			return h->ends[i];
	return NULL;
}

void host_rx(struct host *h, struct packet *p)
{
	struct mroce_rx_meta meta = {
		.sport = p->sport, .ce = p->ce, .plane = p->plane,
	};
	struct sim *sm = h->sm;
	struct mroce_claim cl;
	struct mroce_pkt pkt;
	struct end *e = NULL;

	if (mroce_wire_parse(p->hdr, p->hdr_len, p->len, &pkt) !=
	    MROCE_WIRE_OK)
		abort();
	if (pkt.type == MROCE_T_CONTROL &&
	    (pkt.opcode == MROCE_CTRL_INIT ||
	     pkt.opcode == MROCE_CTRL_RESET))
		e = end_by_peer(h, p->src);
	else if ((pkt.conn & 0xffff) && (pkt.conn & 0xffff) <= h->n_ends)
		e = h->ends[(pkt.conn & 0xffff) - 1];
	free(p);
	if (!e)
		return;
	if (mroce_conn_rx(&e->c, &pkt, &meta, &cl, sm->now) == MROCE_RX_CLAIM)
		mroce_conn_finish(&e->c, &cl, true, sm->now);
	end_kick(e);
}

/* ---- flows -------------------------------------------------------------------------- */

/* All hosts have the same planes: an address is a plane and a host. */
static void end_planes(struct end *e)
{
	struct mroce_plane_own own[MROCE_MAX_PLANES] = {};
	struct host *h = e->h;
	u32 k;

	for (k = 0; k < h->sm->n_planes; k++) {
		own[k].joined = true;
		own[k].carrier = true;
		own[k].addr[0] = 0xfd;
		own[k].addr[1] = k;
		put_unaligned_be16(h->idx, own[k].addr + 14);
		if (h->sm->no_hints)
			continue;
		own[k].share = k ? &h->plane_share[k] : &h->share;
		own[k].share->kbps = h->share.kbps;
	}
	mroce_conn_set_planes(&e->c, own, h->sm->now);
}

static struct end *end_get(struct sim *sm, u16 host, u16 peer)
{
	struct mroce_conn_cfg cfg = {
		.link_mtu = sm->mtu,
		.l3_len = L3_LEN,
		.n_paths = sm->n_paths,
	};
	struct host *h = &sm->hosts[host];
	struct end *e = end_by_peer(h, peer);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		abort();
	e->h = h;
	e->peer = peer;
	e->idx = h->n_ends;
	e->armed = MROCE_NEVER;
	e->sport_next = sim_rand(sm);
	if (h->n_ends == h->max_ends) {
		h->max_ends = h->max_ends ? 2 * h->max_ends : 8;
		h->ends = realloc(h->ends, h->max_ends * sizeof(*h->ends));
		if (!h->ends)
			abort();
	}
	h->ends[h->n_ends++] = e;
	if (mroce_conn_init(&e->c, &end_ops, &cfg, sm->now))
		abort();
	if (!sm->no_hints) {
		h->share.kbps = 8000000000ULL / h->nic->ps_per_byte;
		e->c.plane0.share = &h->share;
	}
	if (sm->n_planes > 1)
		end_planes(e);
	return e;
}

static void host_add_flow(struct host *h, struct flow *f)
{
	if (h->n_flows == h->max_flows) {
		h->max_flows = h->max_flows ? 2 * h->max_flows : 8;
		h->flows = realloc(h->flows,
				   h->max_flows * sizeof(*h->flows));
		if (!h->flows)
			abort();
	}
	h->flows[h->n_flows++] = f;
}

struct flow *flow_new(struct sim *sm, u16 src, u16 dst, u32 msg_bytes,
		      u32 depth, u64 bytes, u8 opcode)
{
	struct flow *f = calloc(1, sizeof(*f)), *r = calloc(1, sizeof(*r));
	u32 i;

	if (!f || !r)
		abort();
	f->sm = sm;
	r->sm = sm;
	f->e = end_get(sm, src, dst);
	r->e = end_get(sm, dst, src);
	f->mirror = r;
	f->msg_bytes = msg_bytes;
	f->depth = depth;
	f->bytes_left = bytes;
	f->ring = calloc(depth, sizeof(*f->ring));
	if (!f->ring)
		abort();
	for (i = 0; i < depth; i++)
		f->ring[i].m.opcode = opcode;
	if (mroce_stream_init(&f->s, &flow_ops,
			      roundup_pow_of_two(max_t(u32, depth, 2))) ||
	    mroce_stream_init(&r->s, &flow_ops, 2))
		abort();
	host_add_flow(&sm->hosts[src], f);
	host_add_flow(&sm->hosts[dst], r);
	return f;
}

void flow_start(struct flow *f)
{
	struct sim *sm = f->sm;
	struct mroce_stream_attr a = {
		.timeout = 18, .retry_cnt = 7, .rnr_retry = 7,
		.min_rnr_timer = 12, .max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
	}, b = a;
	u32 q1 = 0, q2 = 0, i;

	for (i = 0; i < f->e->h->n_flows; i++)
		if (f->e->h->flows[i] == f)
			q1 = 16 + i;
	for (i = 0; i < f->mirror->e->h->n_flows; i++)
		if (f->mirror->e->h->flows[i] == f->mirror)
			q2 = 16 + i;
	a.qpn = q1;
	a.dqpn = q2;
	b.qpn = q2;
	b.dqpn = q1;
	if (mroce_stream_attach(&f->mirror->s, &f->mirror->e->c, &b, sm->now) ||
	    mroce_stream_attach(&f->s, &f->e->c, &a, sm->now))
		abort();
	mroce_stream_start(&f->mirror->s, &b, sm->now);
	mroce_stream_start(&f->s, &a, sm->now);
	f->start_ns = sm->now;
	flow_post(f);
	end_kick(f->mirror->e);
	end_kick(f->e);
}
