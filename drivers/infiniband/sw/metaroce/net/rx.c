// SPDX-License-Identifier: GPL-2.0
/*
 * Reception: a socket's NAPI drains its queue in order, so one CPU at a time
 * works on a path (protocol rule 9).
 *
 * Segments of one connection in a row form a batch: its lock is taken once,
 * core checks each packet and claims what is to be placed; then the lock is
 * dropped, payload is copied from the skbs to its final place, and the claims
 * are finished under the lock again. A pass is bounded by the NAPI's budget;
 * at its end acknowledgments leave and completion handlers run.
 *
 * A super-packet (GSO of a local sender, or GRO) is handled as it is: segments
 * lie at every gso_size bytes, wherever the skb keeps them.
 */
#include <linux/percpu.h>

#include "net.h"

#define MROCE_RX_TOUCHED	16
#define MROCE_RX_RESETS		4
/*
 * Longer packets carry payload or padding, so their header is no longer than
 * that of DATA; shorter ones are looked at as a whole.
 */
#define MROCE_RX_PEEK		MROCE_MAX_DATA_HDR
#define MROCE_RX_SMALL		(MROCE_MAX_HDR + 64)

struct mroce_rx_claim {
	struct mroce_claim cl;
	struct mroce_skb_src src;
	bool ok;
};

struct mroce_rx_reset {
	struct mroce_addr addr;
	u8 hdr[MROCE_COMMON_LEN];
};

/* Work in progress of a pass. Per CPU, used in softirq only. */
struct mroce_rx_batch {
	struct mroce_net *mn;
	u64 now;
	struct mroce_nconn *nc;		/* current connection: locked, referenced */
	u32 n_claims;
	u32 n_skbs;
	u32 n_touched;
	u32 n_resets;
	struct mroce_addr addr;		/* of the current skb; saddr: ours */
	struct mroce_rx_meta meta;	/* same */
	struct mroce_pkt pkt;
	u8 hdr[MROCE_RX_SMALL];
	struct sk_buff *skbs[MROCE_RX_BATCH];	/* read, but claims need them */
	struct mroce_nconn *touched[MROCE_RX_TOUCHED];
	struct mroce_rx_reset resets[MROCE_RX_RESETS];
	struct mroce_rx_claim claims[MROCE_RX_BATCH];
};

static struct mroce_rx_batch __percpu *mroce_rx_batches;

/**
 * mroce_skb_copy - mroce_copy_fn out of an skb
 * @src: struct mroce_skb_src
 * @off: offset in the payload
 * @dst: destination
 * @len: bytes
 *
 * Return: 0 or -EFAULT.
 */
int mroce_skb_copy(void *src, u32 off, void *dst, u32 len)
{
	struct mroce_skb_src *s = src;

	return skb_copy_bits(s->skb, s->off + off, dst, len);
}

/* Count a drop on the device that owns the destination, if any does. */
static void mroce_rx_count(struct mroce_rx_batch *b, enum mroce_dev_counter c)
{
	struct mroce_dev *dev = mroce_gid_find(b->mn, &b->addr.saddr,
					       b->addr.ifindex);

	if (dev)
		__this_cpu_inc(dev->stats->cnt[c]);
}

/* ---- batches -------------------------------------------------------------------- */

static void mroce_rx_free_skbs(struct mroce_rx_batch *b)
{
	u32 i;

	for (i = 0; i < b->n_skbs; i++)
		consume_skb(b->skbs[i]);
	b->n_skbs = 0;
}

/* Copy what is claimed, and finish. Enters and leaves with the lock held. */
static void mroce_rx_place(struct mroce_rx_batch *b)
	__must_hold(&b->nc->lock)
{
	struct mroce_nconn *nc = b->nc;
	struct mroce_rx_claim *c;
	u32 i;

	if (!b->n_claims)
		return;
	spin_unlock(&nc->lock);
	for (i = 0; i < b->n_claims; i++) {
		c = &b->claims[i];
		c->ok = !mroce_claim_place(&c->cl, mroce_skb_copy, &c->src);
	}
	spin_lock(&nc->lock);
	for (i = 0; i < b->n_claims; i++) {
		c = &b->claims[i];
		mroce_conn_finish(&nc->core, &c->cl, c->ok, b->now);
	}
	b->n_claims = 0;
}

/* Answers of a connection leave at the end of the pass. Takes the reference. */
static void mroce_rx_touch(struct mroce_rx_batch *b, struct mroce_nconn *nc)
{
	u32 i;

	for (i = 0; i < b->n_touched; i++) {
		if (b->touched[i] == nc) {
			mroce_nconn_put(nc);
			return;
		}
	}
	if (b->n_touched == MROCE_RX_TOUCHED) {
		mroce_tx_kick(nc);
		mroce_nconn_put(nc);
		return;
	}
	b->touched[b->n_touched++] = nc;
}

/* End the current connection's batch. */
static void mroce_rx_flush(struct mroce_rx_batch *b)
{
	struct mroce_nconn *nc = b->nc;

	if (!nc)
		return;
	/* Held if there is one: beyond what sparse can follow. */
	__acquire(&nc->lock);
	mroce_rx_place(b);
	b->nc = NULL;
	spin_unlock(&nc->lock);
	mroce_rx_touch(b, nc);
}

/* Make @nc the current connection; takes the reference. */
static void mroce_rx_begin(struct mroce_rx_batch *b, struct mroce_nconn *nc)
{
	if (b->nc == nc) {
		mroce_nconn_put(nc);
		return;
	}
	mroce_rx_flush(b);
	spin_lock(&nc->lock);
	__release(&nc->lock);
	b->nc = nc;
}

/* ---- RESET ------------------------------------------------------------------------ */

/* Bounded in all and per address; softirq, of several sockets. */
static bool mroce_reset_allowed(struct mroce_net *mn,
				const struct in6_addr *peer)
{
	struct mroce_ratelimit *rl = &mn->rl;
	u8 *addr = &rl->per_addr[__ipv6_addr_jhash(peer, mn->seed) %
				 MROCE_RESET_BUCKETS];
	bool ok;

	spin_lock(&rl->lock);
	if (!rl->total || time_after(jiffies, rl->start + HZ)) {
		memset(rl->per_addr, 0, sizeof(rl->per_addr));
		rl->total = 0;
		rl->start = jiffies;
	}
	ok = rl->total < MROCE_RESET_RATE && *addr < MROCE_RESET_RATE_ADDR;
	if (ok) {
		rl->total++;
		(*addr)++;
	}
	spin_unlock(&rl->lock);
	return ok;
}

/* Remember to answer the packet whose header is @hdr with a RESET. */
static void mroce_rx_want_reset(struct mroce_rx_batch *b, const void *hdr)
{
	struct mroce_rx_reset *r;

	if (b->n_resets == MROCE_RX_RESETS ||
	    !mroce_reset_allowed(b->mn, &b->addr.daddr))
		return;
	r = &b->resets[b->n_resets++];
	r->addr = b->addr;
	memcpy(r->hdr, hdr, sizeof(r->hdr));
}

static void mroce_rx_send_resets(struct mroce_rx_batch *b)
{
	struct mroce_pkt *pkt = &b->pkt;
	struct mroce_dev *dev;
	u32 i;

	for (i = 0; i < b->n_resets; i++) {
		struct mroce_rx_reset *r = &b->resets[i];

		memset(pkt, 0, sizeof(*pkt));
		pkt->type = MROCE_T_CONTROL;
		pkt->opcode = MROCE_CTRL_RESET;
		memcpy(pkt->reset, r->hdr, sizeof(pkt->reset));
		if (mroce_ctrl_send(b->mn, pkt, &r->addr))
			continue;
		dev = mroce_gid_find(b->mn, &r->addr.saddr, r->addr.ifindex);
		if (dev)
			__this_cpu_inc(dev->stats->cnt[MROCE_DCNT_RESET_SENT]);
	}
	b->n_resets = 0;
}

/* ---- packets ------------------------------------------------------------------------ */

/*
 * Only the address that the connection was made with may speak to it, and to
 * ours of that connection; or the pair of another plane. The connection is
 * locked. Return: plane, or -1.
 */
static int mroce_rx_plane(const struct mroce_rx_batch *b,
			  const struct mroce_nconn *nc)
{
	const struct mroce_addr *a = &b->addr;

	/* One object with both ends: it sends from saddr to daddr. */
	if (nc->core.cfg.self)
		return ipv6_addr_equal(&a->daddr, &nc->addr.saddr) &&
		       ipv6_addr_equal(&a->saddr, &nc->addr.daddr) ? 0 : -1;
	if (likely(ipv6_addr_equal(&a->saddr, &nc->addr.saddr) &&
		   ipv6_addr_equal(&a->daddr, &nc->addr.daddr)))
		return 0;
	return mroce_conn_plane(&nc->core, a->saddr.s6_addr, a->daddr.s6_addr);
}

/* Find the connection of b->pkt; referenced. NULL: counted, perhaps answered. */
static struct mroce_nconn *mroce_rx_lookup(struct mroce_rx_batch *b,
					   const void *hdr)
{
	const struct mroce_pkt *pkt = &b->pkt;
	struct mroce_nconn *nc;
	struct mroce_pkt echo;

	if (pkt->type == MROCE_T_CONTROL && pkt->opcode == MROCE_CTRL_INIT) {
		nc = mroce_nconn_by_init(b->mn, &b->addr, pkt->init.tclass);
		if (!nc)
			mroce_rx_count(b, MROCE_DCNT_RX_INIT_IGN);
		return nc;
	}
	if (pkt->type == MROCE_T_CONTROL && pkt->opcode == MROCE_CTRL_RESET) {
		nc = NULL;
		if (mroce_reset_echo(pkt, &echo) && echo.conn)
			nc = mroce_nconn_by_peer_id(b->mn, &b->addr, echo.conn);
		if (!nc)
			mroce_rx_count(b, MROCE_DCNT_RX_RESET_BAD);
		return nc;
	}
	nc = mroce_nconn_by_id(b->mn, pkt->conn);
	if (!nc) {
		mroce_rx_count(b, MROCE_DCNT_RX_NOCONN);
		if (pkt->type == MROCE_T_DATA ||
		    (pkt->type == MROCE_T_CONTROL &&
		     pkt->opcode == MROCE_CTRL_PROBE))
			mroce_rx_want_reset(b, hdr);
		return NULL;
	}
	return nc;
}

/* These come from the protocol's port, or not at all (rule 45). */
static bool mroce_rx_port_ok(const struct mroce_rx_batch *b)
{
	const struct mroce_pkt *pkt = &b->pkt;

	if (pkt->type == MROCE_T_CONTROL &&
	    (pkt->opcode == MROCE_CTRL_PROBE ||
	     pkt->opcode == MROCE_CTRL_PROBE_ACK))
		return true;
	if (pkt->type != MROCE_T_CONTROL && pkt->type != MROCE_T_DATAGRAM)
		return true;
	return b->meta.sport == MROCE_UDP_PORT;
}

static enum mroce_dev_counter mroce_rx_reason(enum mroce_wire_reason r)
{
	switch (r) {
	case MROCE_WIRE_BAD_VERSION:
		return MROCE_DCNT_RX_VERSION;
	case MROCE_WIRE_TYPE:
		return MROCE_DCNT_RX_TYPE;
	case MROCE_WIRE_OPCODE:
		return MROCE_DCNT_RX_OPCODE;
	case MROCE_WIRE_FLAGS:
		return MROCE_DCNT_RX_FLAGS;
	case MROCE_WIRE_LENGTH:
		return MROCE_DCNT_RX_LENGTH;
	case MROCE_WIRE_FIELD:
		return MROCE_DCNT_RX_FIELD;
	default:
		return MROCE_DCNT_RX_SHORT;
	}
}

/* One packet: @len bytes at @off of @skb. */
static void mroce_rx_seg(struct mroce_rx_batch *b, struct sk_buff *skb,
			 u32 off, u32 len)
{
	struct mroce_pkt *pkt = &b->pkt;
	struct mroce_rx_claim *c;
	enum mroce_wire_reason r;
	struct mroce_nconn *nc;
	const void *hdr;
	u32 avail;
	int plane;

	avail = len > MROCE_RX_SMALL ? MROCE_RX_PEEK : len;
	hdr = skb_header_pointer(skb, off, avail, b->hdr);
	r = hdr ? mroce_wire_parse(hdr, avail, len, pkt) : MROCE_WIRE_SHORT;
	if (unlikely(r != MROCE_WIRE_OK)) {
		mroce_rx_count(b, mroce_rx_reason(r));
		return;
	}
	if (unlikely(!mroce_rx_port_ok(b))) {
		mroce_rx_count(b, MROCE_DCNT_RX_SPORT);
		return;
	}
	if (pkt->type == MROCE_T_DATAGRAM) {
		mroce_rx_flush(b);
		mroce_dgram_rx(b->mn, skb, off, len, pkt, &b->addr);
		return;
	}

	nc = b->nc;
	if (!nc || pkt->conn != nc->core.id || pkt->type == MROCE_T_CONTROL) {
		nc = mroce_rx_lookup(b, hdr);
		if (!nc)
			return;
		mroce_rx_begin(b, nc);
		nc = b->nc;
	}
	plane = mroce_rx_plane(b, nc);
	if (unlikely(plane < 0)) {
		__this_cpu_inc(nc->dev->stats->cnt[MROCE_DCNT_RX_SADDR]);
		return;
	}
	b->meta.plane = plane;
	if (b->n_claims == MROCE_RX_BATCH)
		mroce_rx_place(b);
	c = &b->claims[b->n_claims];
	switch (mroce_conn_rx(&nc->core, pkt, &b->meta, &c->cl, b->now)) {
	case MROCE_RX_CLAIM:
		c->src.skb = skb;
		c->src.off = off + pkt->payload_off;
		b->n_claims++;
		break;
	case MROCE_RX_RESET:
		mroce_rx_want_reset(b, hdr);
		break;
	default:
		break;
	}
}

/* Addresses, ports, ECN of an skb; the same for all its segments. */
static void mroce_rx_meta(struct mroce_rx_batch *b, struct sk_buff *skb,
			  const struct sock *sk)
{
	struct mroce_addr *a = &b->addr;
	u8 tos;

	a->v4 = skb->protocol == htons(ETH_P_IP);
	a->ifindex = skb->skb_iif;
	if (a->v4) {
		const struct iphdr *iph = ip_hdr(skb);

		ipv6_addr_set_v4mapped(iph->daddr, &a->saddr);
		ipv6_addr_set_v4mapped(iph->saddr, &a->daddr);
		a->hop_limit = 0;
		tos = iph->tos;
		a->flow_label = 0;
	} else {
		const struct ipv6hdr *ip6h = ipv6_hdr(skb);

		a->saddr = ip6h->daddr;
		a->daddr = ip6h->saddr;
		a->hop_limit = 0;
		tos = ipv6_get_dsfield(ip6h);
		a->flow_label = 0;
	}
	a->tclass = tos & ~INET_ECN_MASK;
	b->meta.sport = ntohs(udp_hdr(skb)->source);
	/* Own overload counts as congestion too (rule 49). */
	b->meta.ce = INET_ECN_is_ce(tos) ||
		     atomic_read(&sk->sk_rmem_alloc) > sk->sk_rcvbuf / 2;
}

/* Takes @skb. Return: packets in it. */
static u32 mroce_rx_skb(struct mroce_rx_batch *b, struct sk_buff *skb,
			const struct sock *sk)
{
	u32 off = 0;	/* the UDP header was pulled */
	u32 len, seg, n, pkts = 0;

	/* The UDP layer kept a scratch word there. */
	skb->dev = NULL;
	mroce_rx_meta(b, skb, sk);
	/*
	 * A plain socket leaves verifying to its reader. IPv4 allows to leave
	 * the checksum out; this protocol does not.
	 */
	if (unlikely(udp_lib_checksum_complete(skb) ||
		     (b->addr.v4 && !udp_hdr(skb)->check))) {
		mroce_rx_count(b, MROCE_DCNT_RX_CSUM);
		kfree_skb(skb);
		return 1;
	}
	len = skb->len - off;
	seg = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : 0;
	if (!seg)
		seg = len;
	do {
		n = min(seg, len);
		mroce_rx_seg(b, skb, off, n);
		off += n;
		len -= n;
		pkts++;
	} while (len);

	/* Claims refer to it: it is freed when they are finished. */
	if (!b->n_claims) {
		consume_skb(skb);
	} else {
		if (b->n_skbs == MROCE_RX_BATCH) {
			mroce_rx_place(b);
			mroce_rx_free_skbs(b);
		}
		b->skbs[b->n_skbs++] = skb;
	}
	return pkts;
}

/**
 * mroce_rx_poll - NAPI of a socket
 * @napi: in struct mroce_sock
 * @budget: packets
 *
 * Return: packets handled, @budget to be called again.
 */
int mroce_rx_poll(struct napi_struct *napi, int budget)
{
	struct mroce_sock *ms = container_of(napi, struct mroce_sock, napi);
	struct mroce_rx_batch *b = this_cpu_ptr(mroce_rx_batches);
	struct sock *sk = ms->sock->sk;
	struct mroce_net *mn = ms->mn;
	struct sk_buff *skb;
	bool again, wait;
	u32 i, work = 0;
	int err;

	rcu_read_lock();
	b->mn = mn;
	b->now = mroce_now();
	while (work < budget) {
		skb = skb_recv_udp(sk, MSG_DONTWAIT, &err);
		if (!skb) {
			if (err == -EAGAIN)
				break;
			work++;		/* an ICMP error */
			continue;
		}
		work += mroce_rx_skb(b, skb, sk);
	}
	mroce_rx_flush(b);
	mroce_rx_free_skbs(b);
	mroce_rx_send_resets(b);
	wait = b->n_touched && !ms->waited;
	for (i = 0; i < b->n_touched; i++) {
		mroce_tx_kick(b->touched[i]);
		mroce_nconn_put(b->touched[i]);
	}
	b->n_touched = 0;
	mroce_nconn_run_kicks(mn);
	/*
	 * An acknowledgment to a peer on this host waits in this CPU's backlog
	 * now. A handler may wake somebody whose answer goes through another
	 * CPU's and arrives first: a peer that waits for its Send's completion
	 * meets the answer instead, and programs that deal with one event at a
	 * time get lost. So let the backlog run before, which is next in line.
	 */
	again = mroce_verbs_ops.run_later(mn, wait);
	ms->waited = wait && again;
	rcu_read_unlock();

	if (again || work >= budget)
		return budget;
	napi_complete_done(napi, work);
	return work;
}

int mroce_rx_init(void)
{
	mroce_rx_batches = alloc_percpu(struct mroce_rx_batch);
	return mroce_rx_batches ? 0 : -ENOMEM;
}

void mroce_rx_exit(void)
{
	free_percpu(mroce_rx_batches);
}
