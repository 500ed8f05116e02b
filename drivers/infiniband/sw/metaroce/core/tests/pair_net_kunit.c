// SPDX-License-Identifier: GPL-2.0
/*
 * The network between two endpoints, and what net/ would do: deliver in batches, copy
 * payload, answer strangers, serve the timers. See pair.h.
 */
#include "pair.h"

u32 pair_rnd32(struct pair *p)
{
	/* splitmix64 */
	u64 z = p->rnd += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (u32)(z >> 32);
}

u32 pair_rand(struct pair *p, u32 below)
{
	return below ? pair_rnd32(p) % below : 0;
}

static bool chance(struct pair *p, u32 in_65536)
{
	return in_65536 && (pair_rnd32(p) & 0xffff) < in_65536;
}

static struct mroce_stream *p_find(struct mroce_conn *c, u32 qpn)
{
	struct side *sd = container_of(c, struct side, c);
	int i = (int)qpn - (int)pair_qpn(sd->idx, 0);

	if (i < 0 || i >= PAIR_STREAMS || !sd->ts[i].s.ops)
		return NULL;
	return &sd->ts[i].s;
}

int pair_other(const struct pair *p, int side)
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

	return (sd->idx + 1) << 16 | (pair_rnd32(sd->pair) & 0xffff) | 1;
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

const struct mroce_conn_ops pair_conn_ops = {
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
	net_put(p, pair_other(p, sd->idx), txd->plane, wire, len, txd->sport, at,
		data && chance(p, p->net.ce));
	if (chance(p, p->net.dup))
		net_put(p, pair_other(p, sd->idx), txd->plane, wire, len, txd->sport,
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

const struct mroce_pkt *pair_sent(struct pair *p, int side)
{
	u32 len;

	memset(&p->seen, 0, sizeof(p->seen));
	if (!mroce_conn_tx(&p->side[side].c, &p->txd, p->now))
		return &p->seen;
	len = p->txd.lin_len + p->txd.frag_bytes;
	KUNIT_EXPECT_EQ(p->test, MROCE_WIRE_OK,
			mroce_wire_parse(p->txd.lin, p->txd.lin_len, len,
					 &p->seen));
	return &p->seen;
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
	plane_addr(pair_other(p, np->to), np->plane, peer);
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

void pair_net_clear(struct pair *p)
{
	claims_end(p, true);
	while (p->nq) {
		struct netpkt *n = heap_pop(p);

		kfree(n->data);
		kfree(n);
	}
}
