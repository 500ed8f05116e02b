// SPDX-License-Identifier: GPL-2.0
/*
 * Two transports with one path, to compare with.
 *
 * "roce-gbn": RoCEv2 as NICs do it on a network that drops. A reliable
 * connection, one 5-tuple, 24-bit PSNs; the receiver takes packets in order
 * only, answers the first one past a gap with a NAK, and the sender goes back
 * to it. Cumulative ACKs for every 8th packet and the last of a message.
 *
 * "sr1": the same path and rates, but selective repeat: the receiver places
 * what comes, each packet is acknowledged, and what was sent before a packet
 * that arrived, and did not, is sent again at once. In flight is no more than
 * the rate times the round trip of an empty network. After Mittal et al.,
 * "Revisiting Network Support for RDMA", SIGCOMM 2018 (IRN), but kinder: lost
 * retransmissions are found as first losses are, and what is known to have
 * arrived, or not to, is not counted as in flight.
 *
 * Both: DCQCN; payloads of 4,096 bytes (1,024 if the MTU is smaller, as the
 * verbs' MTUs are); a time-out of 1 ms, doubled each time, seven of them in a
 * row are an error. A Read is a request, and a message in the other direction.
 */
#include <stdlib.h>
#include <string.h>

#include "dcqcn.h"
#include "transport.h"

#define RTO_NS		SIM_MS
#define RETRIES		7
#define ACK_EVERY	8
#define ROCE_HDR	32		/* BTH, RETH, ICRC */
#define ROCE_ACK_LEN	20		/* BTH, AETH, ICRC */
#define PSN_MASK	0xffffffU
#define GBN_WINDOW	(1U << 23)	/* half of the numbers */
#define SR_WINDOW	1024U		/* power of two */

enum roce_type { ROCE_DATA, ROCE_ACK, ROCE_NAK, ROCE_CNP };

/* A message as the sender's half knows it. */
struct rmsg {
	u64 first;			/* PSN, without end */
	u32 n_pkts;
	u32 bytes;			/* on the wire */
	u32 read_bytes;			/* it asks for them */
};

/* What the receiver of "sr1" keeps of a packet that came early. */
struct early {
	bool got, last;
	u32 read_bytes;
};

struct rqp {
	struct end e;
	struct flow *f;			/* requester's, or NULL */
	struct rqp *peer;
	bool sr, dead;
	u16 sport;

	/* sending: [una, nxt) outstanding, [nxt, end) posted */
	u64 una, nxt, end;
	struct rmsg *msg;		/* not complete: n_msg from head */
	u32 head, n_msg, max_msg;
	u64 rto_at;
	u32 retries;
	struct dcqcn cc;
	u64 last_ns;			/* a packet left, */
	u32 last_bytes;			/* of so many */
	/* of "sr1", by PSN modulo SR_WINDOW */
	u64 *order;			/* of its last transmission */
	u64 n_sent;
	u8 *state;			/* enum: below */
	u32 n_lost, n_sacked;		/* of those outstanding */
	u32 window;			/* packets in flight */

	/* receiving */
	u64 epsn;
	bool nak_sent;
	u32 unacked;
	u64 cnp_ns;
	struct early *early;

	/* statistics */
	u64 rx_bytes, tx_pkts, retx_pkts, timeouts, n_cnp;
};

enum { SR_OUT, SR_SACKED, SR_LOST };

struct rflow {
	struct flow f;
	struct rqp *qp;			/* requester's, or responder's */
	bool responder;
};

static struct rqp *to_rqp(struct end *e)
{
	return container_of(e, struct rqp, e);
}

static u32 payload_max(const struct sim *sm)
{
	return sm->mtu >= 4096 + L3_LEN + ROCE_HDR ? 4096 : 1024;
}

/* A 24-bit PSN near @ref. */
static u64 psn_near(u64 ref, u32 psn)
{
	return ref + ((s32)((psn - (u32)ref) << 8) >> 8);
}

static u8 *state_of(struct rqp *q, u64 psn)
{
	return &q->state[psn & (SR_WINDOW - 1)];
}

/* ---- sending ------------------------------------------------------------------- */

static void qp_post(struct rqp *q, u32 bytes, u32 read_bytes)
{
	u32 mtu = payload_max(q->e.h->sm), i;
	struct rmsg *m;

	if (q->n_msg == q->max_msg) {
		u32 had = q->max_msg;
		struct rmsg *all = xcalloc(had ? 2 * had : 8, sizeof(*all));

		for (i = 0; i < had; i++)
			all[i] = q->msg[(q->head + i) % had];
		free(q->msg);
		q->msg = all;
		q->max_msg = had ? 2 * had : 8;
		q->head = 0;
	}
	m = &q->msg[(q->head + q->n_msg++) % q->max_msg];
	m->first = q->end;
	m->bytes = bytes;
	m->read_bytes = read_bytes;
	m->n_pkts = max_t(u32, DIV_ROUND_UP(bytes, mtu), 1);
	q->end += m->n_pkts;
}

static const struct rmsg *msg_of(const struct rqp *q, u64 psn)
{
	u32 i;

	for (i = 0; i < q->n_msg; i++) {
		const struct rmsg *m = &q->msg[(q->head + i) % q->max_msg];

		if (psn < m->first + m->n_pkts)
			return m;
	}
	abort();
}

/* When the rate of today lets the next packet leave. */
static u64 qp_due_ns(const struct rqp *q)
{
	return q->last_ns + (u64)(q->last_bytes * 8e9 / q->cc.rc_bps);
}

static u64 first_lost(struct rqp *q)
{
	u64 psn = q->una;

	while (*state_of(q, psn) != SR_LOST)
		psn++;
	return psn;
}

static bool qp_wants(const struct rqp *q)
{
	if (q->dead)
		return false;
	if (q->n_lost)
		return true;
	if (q->sr && q->nxt - q->una >= SR_WINDOW - 1)
		return false;
	return q->nxt < q->end &&
	       q->nxt - q->una - q->n_sacked < q->window;
}

static void qp_emit(struct rqp *q, u64 psn)
{
	const struct rmsg *m = msg_of(q, psn);
	struct sim *sm = q->e.h->sm;
	struct packet *p = host_packet(&q->e);
	u32 mtu = payload_max(sm), off = (psn - m->first) * mtu;

	p->sport = q->sport;
	p->ect = true;
	p->data = true;
	p->roce.type = ROCE_DATA;
	p->roce.dqp = q->peer->e.idx;
	p->roce.psn = psn & PSN_MASK;
	p->roce.last = psn + 1 == m->first + m->n_pkts;
	p->roce.read_bytes = m->read_bytes;
	p->roce.payload_bytes = min(m->bytes - off, mtu);
	p->len = ROCE_HDR + p->roce.payload_bytes;
	q->last_ns = sm->now;
	q->last_bytes = p->len + L3_LEN + ETH_OVERHEAD;
	dcqcn_sent(&q->cc, q->last_bytes, sm->now);
	link_send(sm, q->e.h->nic[0], p);
}

static void qp_arm(struct rqp *q)
{
	q->rto_at = q->una == q->nxt ? MROCE_NEVER :
		    q->e.h->sm->now + (RTO_NS << q->retries);
}

static bool r_tx(struct end *e)
{
	struct rqp *q = to_rqp(e);
	u64 now = e->h->sm->now, psn;

	dcqcn_time(&q->cc, now);
	if (!qp_wants(q) || now < qp_due_ns(q))
		return false;
	if (q->n_lost) {
		psn = first_lost(q);
		q->n_lost--;
		q->retx_pkts++;
	} else {
		psn = q->nxt++;
		if (psn < q->n_sent && !q->sr)
			q->retx_pkts++;	/* gone back to */
		else
			q->tx_pkts++;
	}
	if (q->sr) {
		*state_of(q, psn) = SR_OUT;
		q->order[psn & (SR_WINDOW - 1)] = ++q->n_sent;
	} else {
		q->n_sent = max(q->n_sent, q->nxt);
	}
	qp_emit(q, psn);
	if (q->rto_at == MROCE_NEVER)
		qp_arm(q);
	return true;
}

/* All before @psn has arrived. */
static void qp_advance(struct rqp *q, u64 psn)
{
	if (psn <= q->una || psn > q->end)
		return;
	for (; q->sr && q->una < min(psn, q->nxt); q->una++) {
		q->n_lost -= *state_of(q, q->una) == SR_LOST;
		q->n_sacked -= *state_of(q, q->una) == SR_SACKED;
	}
	q->una = psn;
	q->nxt = max(q->nxt, psn);
	q->retries = 0;
	qp_arm(q);
	while (q->n_msg) {
		struct rmsg m = q->msg[q->head];

		if (m.first + m.n_pkts > psn)
			break;
		q->head = (q->head + 1) % q->max_msg;
		q->n_msg--;
		if (q->f && !m.read_bytes)
			flow_done(q->f, m.bytes, true);
	}
}

/* What left before @psn did, and has not arrived, is lost: the path is FIFO. */
static void sr_sacked(struct rqp *q, u64 psn)
{
	u64 before = q->order[psn & (SR_WINDOW - 1)], i;

	if (psn < q->una || psn >= q->nxt)
		return;
	q->n_lost -= *state_of(q, psn) == SR_LOST;
	q->n_sacked += *state_of(q, psn) != SR_SACKED;
	*state_of(q, psn) = SR_SACKED;
	for (i = q->una; i < q->nxt; i++) {
		if (*state_of(q, i) != SR_OUT ||
		    q->order[i & (SR_WINDOW - 1)] > before)
			continue;
		*state_of(q, i) = SR_LOST;
		q->n_lost++;
	}
}

static void r_timer(struct end *e)
{
	struct rqp *q = to_rqp(e);
	u64 psn;

	dcqcn_time(&q->cc, e->h->sm->now);
	if (e->h->sm->now < q->rto_at || q->dead)
		return;
	q->timeouts++;
	if (++q->retries > RETRIES) {
		q->dead = true;
		q->rto_at = MROCE_NEVER;
		(q->f ? q->f : q->peer->f)->errors++;
		return;
	}
	if (q->sr) {
		for (psn = q->una; psn < q->nxt; psn++) {
			if (*state_of(q, psn) != SR_OUT)
				continue;
			*state_of(q, psn) = SR_LOST;
			q->n_lost++;
		}
	} else {
		q->nxt = q->una;
	}
	q->rto_at = e->h->sm->now + (RTO_NS << q->retries);
}

static u64 r_deadline(struct end *e)
{
	struct rqp *q = to_rqp(e);
	u64 at = q->rto_at, due;

	if (!qp_wants(q))
		return at;
	/* A rate that rises lets it leave sooner. What is due waits its turn. */
	due = qp_due_ns(q);
	if (due > e->h->sm->now)
		at = min(at, min(due, dcqcn_next_ns(&q->cc)));
	return at;
}

static void r_tx_now(struct end *e)
{
	(void)e;	/* answers leave from r_rx() */
}

/* ---- receiving ------------------------------------------------------------------- */

static void qp_answer(struct rqp *q, u8 type, u64 psn, u32 sack)
{
	struct packet *p = host_packet(&q->e);

	p->sport = q->sport;
	p->len = ROCE_ACK_LEN;
	p->roce.type = type;
	p->roce.dqp = q->peer->e.idx;
	p->roce.psn = psn & PSN_MASK;
	p->roce.sack = sack;
	q->unacked = 0;
	link_send(q->e.h->sm, q->e.h->nic[0], p);
}

/* A packet in its turn. */
static void qp_deliver(struct rqp *q, bool last, u32 read_bytes)
{
	struct flow *f = q->f;

	q->epsn++;
	if (!last)
		return;
	if (read_bytes) {
		qp_post(q, read_bytes, 0);
	} else if (f) {
		flow_done(f, f->cfg.msg_bytes, true);
	} else {
		f = q->peer->f;
		if (f->received)
			f->received(f);
	}
}

static void gbn_data(struct rqp *q, const struct roce_hdr *r)
{
	u64 psn = psn_near(q->epsn, r->psn);

	if (psn > q->epsn) {
		if (!q->nak_sent)
			qp_answer(q, ROCE_NAK, q->epsn, 0);
		q->nak_sent = true;
		return;
	}
	if (psn == q->epsn) {
		q->nak_sent = false;
		q->rx_bytes += r->payload_bytes;
		qp_deliver(q, r->last, r->read_bytes);
		if (++q->unacked < ACK_EVERY && !r->last)
			return;
	}
	qp_answer(q, ROCE_ACK, q->epsn, 0);
}

static void sr_data(struct rqp *q, const struct roce_hdr *r)
{
	u64 psn = psn_near(q->epsn, r->psn);
	struct early *slot = &q->early[psn & (SR_WINDOW - 1)];

	if (psn >= q->epsn && psn < q->epsn + SR_WINDOW && !slot->got) {
		q->rx_bytes += r->payload_bytes;
		slot->got = true;
		slot->last = r->last;
		slot->read_bytes = r->read_bytes;
	}
	for (;;) {
		slot = &q->early[q->epsn & (SR_WINDOW - 1)];
		if (!slot->got)
			break;
		slot->got = false;
		qp_deliver(q, slot->last, slot->read_bytes);
	}
	qp_answer(q, ROCE_ACK, q->epsn, r->psn);
}

static void r_rx(struct host *h, struct packet *p)
{
	struct rqp *q = to_rqp(h->ends[p->roce.dqp]);
	u64 now = h->sm->now, psn;

	switch (p->roce.type) {
	case ROCE_DATA:
		if (p->ce && now >= q->cnp_ns) {
			q->cnp_ns = now + DCQCN_CNP_NS;
			qp_answer(q, ROCE_CNP, 0, 0);
		}
		if (q->sr)
			sr_data(q, &p->roce);
		else
			gbn_data(q, &p->roce);
		break;
	case ROCE_ACK:
		psn = psn_near(q->una, p->roce.psn);
		qp_advance(q, psn);
		if (q->sr)
			sr_sacked(q, psn_near(q->una, p->roce.sack));
		break;
	case ROCE_NAK:
		psn = psn_near(q->una, p->roce.psn);
		qp_advance(q, psn);
		if (psn == q->una)
			q->nxt = psn;
		break;
	case ROCE_CNP:
		q->n_cnp++;
		dcqcn_cnp(&q->cc, now);
		break;
	}
	end_kick(&q->e);
}

/* ---- flows ----------------------------------------------------------------------- */

static struct rqp *qp_new(struct sim *sm, u16 host, u16 peer, bool sr)
{
	struct host *h = &sm->hosts[host];
	struct rqp *q = xcalloc(1, sizeof(*q));
	double bps = 8e12 / h->nic[0]->ps_per_byte;

	host_add_end(h, &q->e, peer);
	q->sr = sr;
	q->sport = MROCE_SPORT_MIN + sim_rand(sm) % 16384;
	q->rto_at = MROCE_NEVER;
	q->window = GBN_WINDOW;
	if (sr) {
		q->order = xcalloc(SR_WINDOW, sizeof(*q->order));
		q->state = xcalloc(SR_WINDOW, sizeof(*q->state));
		q->early = xcalloc(SR_WINDOW, sizeof(*q->early));
		q->window = min_t(u32, SR_WINDOW - 1,
				  2 + bps / 8e9 * sm->base_rtt_ns /
				  payload_max(sm));
	}
	dcqcn_init(&q->cc, bps, sm->now);
	return q;
}

static struct flow *flow_of_qps(struct sim *sm, const struct flow_cfg *cfg,
				bool sr)
{
	struct rflow *f = xcalloc(1, sizeof(*f)), *r = xcalloc(1, sizeof(*r));

	f->qp = qp_new(sm, cfg->src, cfg->dst, sr);
	r->qp = qp_new(sm, cfg->dst, cfg->src, sr);
	r->responder = true;
	f->qp->peer = r->qp;
	r->qp->peer = f->qp;
	r->qp->sport = f->qp->sport;
	f->qp->f = &f->f;
	host_add_flow(&sm->hosts[cfg->src], &f->f);
	host_add_flow(&sm->hosts[cfg->dst], &r->f);
	return &f->f;
}

static struct flow *gbn_flow_new(struct sim *sm, const struct flow_cfg *cfg)
{
	return flow_of_qps(sm, cfg, false);
}

static struct flow *sr_flow_new(struct sim *sm, const struct flow_cfg *cfg)
{
	return flow_of_qps(sm, cfg, true);
}

static void r_flow_start(struct flow *f)
{
	struct rflow *rf = (struct rflow *)f;
	double bps = rf->qp->cc.line_bps;

	dcqcn_init(&rf->qp->cc, bps, f->sm->now);
	dcqcn_init(&rf->qp->peer->cc, bps, f->sm->now);
}

static int r_post(struct flow *f, u32 slot, u32 bytes)
{
	struct rqp *q = ((struct rflow *)f)->qp;

	(void)slot;
	if (f->cfg.opcode == MROCE_OP_READ_REQ)
		qp_post(q, 0, bytes);
	else
		qp_post(q, bytes, 0);
	return 0;
}

static void r_kick(struct flow *f)
{
	end_kick(&((struct rflow *)f)->qp->e);
}

static void r_flow_free(struct flow *f)
{
	free(f->post_ns);
	free(f);
}

static void r_end_free(struct end *e)
{
	struct rqp *q = to_rqp(e);

	free(q->msg);
	free(q->order);
	free(q->state);
	free(q->early);
	free(q);
}

static double r_allowed_gbps(struct flow *f)
{
	return ((struct rflow *)f)->qp->cc.rc_bps / 1e9;
}

static void r_stats(struct sim *sm, struct transport_stats *st)
{
	u32 i, j;

	memset(st, 0, sizeof(*st));
	for (i = 0; i < sm->n_hosts; i++) {
		for (j = 0; j < sm->hosts[i].n_ends; j++) {
			const struct rqp *q = to_rqp(sm->hosts[i].ends[j]);

			st->rx_bytes += q->rx_bytes;
			st->tx_pkts += q->tx_pkts;
			st->retx_pkts += q->retx_pkts;
			st->timeouts += q->timeouts;
			st->congestion += q->n_cnp;
		}
	}
}

#define ROCE_OPS							\
	.flow_start = r_flow_start,					\
	.post = r_post,							\
	.kick = r_kick,							\
	.flow_free = r_flow_free,					\
	.end_free = r_end_free,						\
	.rx = r_rx,							\
	.tx_now = r_tx_now,						\
	.tx = r_tx,							\
	.deadline = r_deadline,						\
	.timer = r_timer,						\
	.allowed_gbps = r_allowed_gbps,					\
	.stats = r_stats

const struct transport transport_gbn = {
	.name = "roce-gbn",
	.flow_new = gbn_flow_new,
	ROCE_OPS,
};

const struct transport transport_sr1 = {
	.name = "sr1",
	.flow_new = sr_flow_new,
	ROCE_OPS,
};
