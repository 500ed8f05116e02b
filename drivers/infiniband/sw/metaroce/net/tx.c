// SPDX-License-Identifier: GPL-2.0
/*
 * Transmission. One CPU at a time is the transmit owner of a connection: it
 * builds a batch of packets under the connection's lock, drops the lock and sends
 * them, until core has nothing more to send; everybody else only leaves work
 * behind. So no lock is held in the stack, and packets of a path leave in the
 * order of their sequence numbers (protocol rule 27).
 *
 * Headers are written here and handed to ip_local_out(), not to the UDP tunnel
 * helpers: those hide the result.
 *
 * DATA packets are charged to a socket of the connection, with the ordinary
 * sock_wfree(). A destructor of our own would do the counting as well, but the
 * stack knows only sock_wfree(): segments of a GSO packet inherit it, and netem
 * releases the charge of packets that it delays. It also leaves no pointer into
 * this module in a qdisc.
 */
#include <linux/jhash.h>
#include <net/dst_metadata.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/route.h>
#include <net/udp_tunnel.h>

#include "net.h"

/* Per CPU, used with BH off from building to sending. */
struct mroce_tx_batch {
	struct mroce_txd *txd;		/* MROCE_TX_BATCH */
	struct page_frag frag;		/* headers of packets after the first */
};

static DEFINE_PER_CPU(struct mroce_tx_batch, mroce_tx_batch);

/* Limits of GSO towards one route. */
struct mroce_gso {
	u32 max_size;			/* UDP payload; 0: no GSO */
	u32 max_segs;
	u32 max_seg;			/* UDP payload of a packet that fits */
};

/* ---- routes ------------------------------------------------------------------- */

static struct dst_entry *mroce_route4(struct net *net,
				      const struct mroce_addr *a, int oif)
{
	struct flowi4 fl4 = {
		.daddr = a->daddr.s6_addr32[3],
		.saddr = a->saddr.s6_addr32[3],
		.flowi4_oif = oif,
		.flowi4_proto = IPPROTO_UDP,
		.fl4_sport = htons(MROCE_UDP_PORT),
		.fl4_dport = htons(MROCE_UDP_PORT),
	};
	struct rtable *rt;

	mroce_fl4_set_tos(&fl4, a->tclass);
	rt = ip_route_output_flow(net, &fl4, NULL);
	return IS_ERR(rt) ? ERR_CAST(rt) : &rt->dst;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *mroce_route6(struct net *net,
				      const struct mroce_addr *a, int oif)
{
	struct flowi6 fl6 = {
		.daddr = a->daddr,
		.saddr = a->saddr,
		.flowi6_oif = oif,
		.flowi6_proto = IPPROTO_UDP,
		.flowlabel = ip6_make_flowinfo(a->tclass, 0),
		.fl6_sport = htons(MROCE_UDP_PORT),
		.fl6_dport = htons(MROCE_UDP_PORT),
	};

	return ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
}

static u32 mroce_route6_cookie(struct dst_entry *dst)
{
	return rt6_get_cookie(container_of(dst, struct rt6_info, dst));
}
#else
static struct dst_entry *mroce_route6(struct net *net,
				      const struct mroce_addr *a, int oif)
{
	return ERR_PTR(-EAFNOSUPPORT);
}

static u32 mroce_route6_cookie(struct dst_entry *dst)
{
	return 0;
}
#endif

static struct dst_entry *mroce_route_oif(struct net *net,
					 const struct mroce_addr *a, int oif)
{
	return a->v4 ? mroce_route4(net, a, oif) : mroce_route6(net, a, oif);
}

/**
 * mroce_route - route of an address pair
 * @mn: not dead; RCU
 * @a: addresses
 * @cookie: for dst_check()
 *
 * As with hardware, packets leave through the netdev of the source GID, also
 * where the routing table prefers another one. Except if they stay on this
 * host, and if there is no route that way (an address on lo or a dummy).
 *
 * Return: referenced route or ERR_PTR.
 */
struct dst_entry *mroce_route(struct mroce_net *mn, const struct mroce_addr *a,
			      u32 *cookie)
{
	struct dst_entry *dst, *bound;
	struct net *net = mn->net;
	bool need_oif;

	need_oif = a->v4 ? ipv4_is_multicast(a->daddr.s6_addr32[3]) :
			   (ipv6_addr_type(&a->daddr) &
			    (IPV6_ADDR_LINKLOCAL | IPV6_ADDR_MULTICAST));
	dst = mroce_route_oif(net, a, need_oif ? a->ifindex : 0);
	if (!need_oif && a->ifindex &&
	    (IS_ERR(dst) || (!(dst_dev_rcu(dst)->flags & IFF_LOOPBACK) &&
			     dst_dev_rcu(dst)->ifindex != a->ifindex))) {
		bound = mroce_route_oif(net, a, a->ifindex);
		if (!IS_ERR(bound)) {
			if (!IS_ERR(dst))
				dst_release(dst);
			dst = bound;
		}
	}
	if (!IS_ERR(dst))
		*cookie = a->v4 ? 0 : mroce_route6_cookie(dst);
	return dst;
}

/* Transmit owner, RCU. @cache; NULL if there is no route. */
static struct dst_entry *mroce_cached_route(struct mroce_net *mn,
					    const struct mroce_addr *a,
					    struct dst_entry **cache,
					    u32 *cookie)
{
	struct dst_entry *dst = *cache;

	if (dst) {
		if (dst_check(dst, *cookie))
			return dst;
		dst_release(dst);
		*cache = NULL;
	}
	dst = mroce_route(mn, a, cookie);
	if (IS_ERR(dst))
		return NULL;
	*cache = dst;
	return dst;
}

/* ---- one datagram ---------------------------------------------------------------- */

static void mroce_push_udp(struct sk_buff *skb, const struct mroce_addr *a,
			   u16 sport)
{
	struct udphdr *uh = skb_push(skb, sizeof(*uh));
	u32 len = skb->len;

	skb_reset_transport_header(skb);
	uh->source = htons(sport);
	uh->dest = htons(MROCE_UDP_PORT);
	uh->len = htons(len);
	if (a->v4)
		uh->check = ~udp_v4_check(len, a->saddr.s6_addr32[3],
					  a->daddr.s6_addr32[3], 0);
	else
		uh->check = ~udp_v6_check(len, &a->saddr, &a->daddr, 0);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
}

static int mroce_xmit4(struct net *net, struct sk_buff *skb,
		       struct dst_entry *dst, const struct mroce_addr *a,
		       u8 tos)
{
	struct iphdr *iph = skb_push(skb, sizeof(*iph));
	bool fits = skb_is_gso(skb) || skb->len <= dst_mtu(dst);

	skb_reset_network_header(skb);
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	iph->version = 4;
	iph->ihl = sizeof(*iph) >> 2;
	iph->tos = tos;
	iph->frag_off = fits ? htons(IP_DF) : 0;
	iph->ttl = a->hop_limit ?: ip4_dst_hoplimit(dst);
	iph->protocol = IPPROTO_UDP;
	iph->saddr = a->saddr.s6_addr32[3];
	iph->daddr = a->daddr.s6_addr32[3];
	iph->id = 0;
	if (!fits) {
		/* A packet older than the route's MTU (rule 35). */
		skb->ignore_df = 1;
		__ip_select_ident(net, iph, 1);
	}
	skb->priority = rt_tos2priority(tos);
	return ip_local_out(net, skb->sk, skb);
}

#if IS_ENABLED(CONFIG_IPV6)
static int mroce_xmit6(struct net *net, struct sk_buff *skb,
		       struct dst_entry *dst, const struct mroce_addr *a,
		       u8 tos)
{
	struct ipv6hdr *ip6h = skb_push(skb, sizeof(*ip6h));

	skb_reset_network_header(skb);
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
	ip6_flow_hdr(ip6h, tos, htonl(a->flow_label) & IPV6_FLOWLABEL_MASK);
	ip6h->nexthdr = IPPROTO_UDP;
	ip6h->hop_limit = a->hop_limit ?: ip6_dst_hoplimit(dst);
	ip6h->saddr = a->saddr;
	ip6h->daddr = a->daddr;
	skb->ignore_df = 1;
	skb->priority = rt_tos2priority(tos);
	return ip6_local_out(net, skb->sk, skb);
}
#else
static int mroce_xmit6(struct net *net, struct sk_buff *skb,
		       struct dst_entry *dst, const struct mroce_addr *a,
		       u8 tos)
{
	kfree_skb(skb);
	return -EAFNOSUPPORT;
}
#endif

/**
 * mroce_xmit - send one datagram (or a GSO run of them)
 * @mn: namespace, not dead; RCU
 * @skb: UDP payload, with MROCE_L3_ROOM in front; its route is set
 * @dst: the route
 * @a: addresses, traffic class
 * @sport: UDP source port
 * @ect: mark as ECN-capable
 *
 * Consumes @skb. Return: NET_XMIT_* or -errno.
 */
int mroce_xmit(struct mroce_net *mn, struct sk_buff *skb,
	       struct dst_entry *dst, const struct mroce_addr *a, u16 sport,
	       bool ect)
{
	u8 tos = (a->tclass & ~INET_ECN_MASK) |
		 (ect ? INET_ECN_ECT_0 : INET_ECN_NOT_ECT);

	mroce_push_udp(skb, a, sport);
	return a->v4 ? mroce_xmit4(mn->net, skb, dst, a, tos) :
		       mroce_xmit6(mn->net, skb, dst, a, tos);
}

/* ---- packets of a connection -------------------------------------------------------- */

static u32 mroce_txd_len(const struct mroce_txd *txd)
{
	return txd->lin_len + txd->frag_bytes;
}

static void mroce_txd_put(const struct mroce_txd *txd, u32 n)
{
	u32 i;

	for (; n; n--, txd++)
		for (i = 0; i < txd->nfrags; i++)
			put_page(txd->frag[i].page);
}

/* What the route's device allows. */
static void mroce_gso_limits(const struct mroce_nconn *nc,
			     const struct dst_entry *dst, struct mroce_gso *g)
{
	const struct net_device *dev = dst_dev_rcu(dst);
	u32 l3 = nc->core.cfg.l3_len;
	u32 size;

	g->max_seg = dst_mtu(dst) - l3;
	g->max_segs = min_t(u32, READ_ONCE(dev->gso_max_segs),
			    UDP_MAX_SEGMENTS);
	/* Headers of lower layers count too; 65535 is IP's own limit. */
	size = min_t(u32, READ_ONCE(dev->gso_max_size), U16_MAX);
	/* IPsec and tunnels by route add headers: leave it to the stack. */
	if (dst->header_len || g->max_segs < 2 || size <= MAX_HEADER + l3)
		g->max_size = 0;
	else
		g->max_size = size - MAX_HEADER - l3;
}

/* Where packets of one plane go, and as what. */
struct mroce_tx_to {
	int plane;			/* -1: nothing was looked up yet */
	const struct mroce_addr *addr;
	struct dst_entry *dst;		/* NULL: nowhere */
	struct mroce_gso gso;
};

/* Transmit owner, RCU. */
static void mroce_tx_find(struct mroce_nconn *nc, u8 plane,
			  struct mroce_tx_to *to)
{
	struct mroce_nplane *np = NULL;
	u16 mtu;

	to->plane = plane;
	to->dst = NULL;
	if (READ_ONCE(nc->mn->dead))
		return;
	if (!plane) {
		to->addr = &nc->addr;
		to->dst = mroce_cached_route(nc->mn, to->addr, &nc->dst,
					     &nc->dst_cookie);
	} else if (nc->np && nc->np[plane - 1].there) {
		np = &nc->np[plane - 1];
		to->addr = &np->addr;
		to->dst = mroce_cached_route(nc->mn, to->addr, &np->dst,
					     &np->dst_cookie);
	}
	if (!to->dst)
		return;
	mroce_gso_limits(nc, to->dst, &to->gso);
	mtu = min_t(u32, dst_mtu(to->dst), MROCE_MAX_MTU);
	if (np)
		np->mtu = mtu;
	else
		nc->route_mtu = mtu;
}

/* How many packets from @txd on fit one skb? They share path and length. */
static u32 mroce_tx_run(const struct mroce_txd *txd, u32 n,
			const struct mroce_gso *g)
{
	u32 len = mroce_txd_len(txd), total = len;
	u32 frags = txd->nfrags;
	u32 i;

	if (txd->type != MROCE_T_DATA || len > g->max_seg)
		return 1;
	n = min(n, g->max_segs);
	for (i = 1; i < n; i++) {
		const struct mroce_txd *t = txd + i;
		u32 l = mroce_txd_len(t);

		if (t->type != MROCE_T_DATA || t->path != txd->path ||
		    t->sport != txd->sport || t->plane != txd->plane ||
		    t->ect != txd->ect || l > len ||
		    total + l > g->max_size ||
		    frags + t->nfrags + 1 > MAX_SKB_FRAGS)
			break;
		total += l;
		frags += t->nfrags + 1;
		if (l < len)	/* a shorter one ends the run */
			return i + 1;
	}
	return i;
}

/* Append the header and copied payload of a later packet. */
static bool mroce_skb_add_lin(struct sk_buff *skb, struct page_frag *pf,
			      const struct mroce_txd *txd)
{
	struct skb_shared_info *si = skb_shinfo(skb);
	u32 len = txd->lin_len;

	if (!skb_page_frag_refill(len, pf, GFP_ATOMIC | __GFP_NOWARN))
		return false;
	memcpy(page_address(pf->page) + pf->offset, txd->lin, len);
	if (skb_can_coalesce(skb, si->nr_frags, pf->page, pf->offset)) {
		skb_frag_size_add(&si->frags[si->nr_frags - 1], len);
	} else {
		get_page(pf->page);
		skb_fill_page_desc(skb, si->nr_frags, pf->page, pf->offset,
				   len);
	}
	pf->offset += len;
	skb->len += len;
	skb->data_len += len;
	skb->truesize += len;
	return true;
}

/* Payload by reference: the skb takes over the references of @txd. */
static void mroce_skb_add_frags(struct sk_buff *skb,
				const struct mroce_txd *txd)
{
	struct skb_shared_info *si = skb_shinfo(skb);
	u32 i;

	for (i = 0; i < txd->nfrags; i++)
		skb_fill_page_desc(skb, si->nr_frags, txd->frag[i].page,
				   txd->frag[i].off, txd->frag[i].len);
	if (i)
		/* The application may write to it while it is on its way. */
		si->flags |= SKBFL_SHARED_FRAG;
	skb->len += txd->frag_bytes;
	skb->data_len += txd->frag_bytes;
	skb->truesize += txd->frag_bytes;
}

/* The padding of a PROBE, at most as long as the largest packet. */
static void mroce_skb_pad(struct sk_buff *skb, u32 len)
{
	struct page *page = ZERO_PAGE(0);
	int i = 0;

	for (; len; i++) {
		u32 n = min_t(u32, len, PAGE_SIZE);

		get_page(page);
		skb_fill_page_desc(skb, i, page, 0, n);
		skb->len += n;
		skb->data_len += n;
		skb->truesize += n;
		len -= n;
	}
}

/* Consumes the page references of all @n in any case. */
static struct sk_buff *mroce_tx_skb(struct mroce_tx_batch *b,
				    const struct mroce_txd *txd, u32 n)
{
	struct sk_buff *skb;
	u32 i;

	skb = alloc_skb(MROCE_L3_ROOM + txd->lin_len,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb) {
		mroce_txd_put(txd, n);
		return NULL;
	}
	skb_reserve(skb, MROCE_L3_ROOM);
	skb_put_data(skb, txd->lin, txd->lin_len);
	mroce_skb_add_frags(skb, txd);
	if (unlikely(txd->pad_bytes))
		mroce_skb_pad(skb, txd->pad_bytes);
	for (i = 1; i < n; i++) {
		if (!mroce_skb_add_lin(skb, &b->frag, txd + i)) {
			mroce_txd_put(txd + i, n - i);
			kfree_skb(skb);
			return NULL;
		}
		mroce_skb_add_frags(skb, txd + i);
	}
	if (n > 1) {
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
		skb_shinfo(skb)->gso_size = mroce_txd_len(txd);
		skb_shinfo(skb)->gso_segs = n;
	}
	return skb;
}

static void mroce_tx_result(struct mroce_nconn *nc, int rc, u32 n)
{
	if (likely(rc == NET_XMIT_SUCCESS))
		return;
	if (rc == NET_XMIT_CN)
		this_cpu_add(nc->dev->stats->cnt[MROCE_DCNT_TX_CN], n);
	else
		this_cpu_add(nc->dev->stats->cnt[MROCE_DCNT_TX_DROP], n);
}

/* Packets of one path go to one queue and one CPU, other paths elsewhere. */
static void mroce_tx_steer(struct mroce_nconn *nc, struct sk_buff *skb,
			   u16 sport)
{
	__skb_set_sw_hash(skb, jhash_1word(sport, nc->hash) ?: 1, true);
#if defined(CONFIG_NET_RX_BUSY_POLL) || defined(CONFIG_XPS)
	skb->sender_cpu = nc->tx_cpu;
#endif
}

/* Transmit owner, BH off, no lock. */
static void mroce_tx_send(struct mroce_nconn *nc, struct mroce_tx_batch *b,
			  u32 n)
{
	struct mroce_tx_to to = { .plane = -1 };
	struct mroce_net *mn = nc->mn;
	struct sk_buff *skb;
	u32 i, run;
	u16 sport;

	rcu_read_lock();
	/* Another CPU may mean another queue: only with nothing in one. */
	if (!sk_wmem_alloc_get(nc->sock->sk))
		nc->tx_cpu = smp_processor_id() + 1;

	for (i = 0; i < n; i += run) {
		const struct mroce_txd *txd = b->txd + i;

		if (txd->plane != to.plane)
			mroce_tx_find(nc, txd->plane, &to);
		if (unlikely(!to.dst)) {
			run = 1;
			mroce_txd_put(txd, run);
			this_cpu_inc(nc->dev->stats->cnt[MROCE_DCNT_TX_NOROUTE]);
			continue;
		}
		run = mroce_tx_run(txd, n - i, &to.gso);
		skb = mroce_tx_skb(b, txd, run);
		if (unlikely(!skb)) {
			this_cpu_add(nc->dev->stats->cnt[MROCE_DCNT_TX_NOMEM],
				     run);
			continue;
		}
		sport = txd->sport ?: MROCE_UDP_PORT;
		if (txd->type == MROCE_T_DATA)
			skb_set_owner_w(skb, nc->sock->sk);
		mroce_tx_steer(nc, skb, sport);
		skb_dst_set_noref(skb, to.dst);
		mroce_tx_result(nc, mroce_xmit(mn, skb, to.dst, to.addr, sport,
					       txd->ect), run);
	}
	rcu_read_unlock();
}

/*
 * Too much in local queues? ACKs and control packets pass anyway, they are not
 * charged. Connection locked.
 */
static void mroce_tx_check_room(struct mroce_nconn *nc)
{
	const struct mroce_planes *mp = nc->core.mp;
	bool full;
	int max;

	if (unlikely(READ_ONCE(nc->mn->dead)))
		return;
	max = MROCE_TX_INFLIGHT;
	if (mp)		/* planes do not share a queue */
		max *= hweight16(mp->usable) ?: 1;
	WRITE_ONCE(nc->tx_inflight_max, max);
	full = sk_wmem_alloc_get(nc->sock->sk) >= max;
	WRITE_ONCE(nc->core.tx_blocked, full);
	if (!full)
		return;
	/* Pairs with mroce_write_space(): one of the two sees the other. */
	smp_mb();
	if (sk_wmem_alloc_get(nc->sock->sk) < max)
		WRITE_ONCE(nc->core.tx_blocked, false);
}

/* Called by sock_wfree() after each skb, in whatever context that is. */
static void mroce_write_space(struct sock *sk)
{
	struct mroce_nconn *nc;

	rcu_read_lock();
	nc = rcu_dereference_sk_user_data(sk);
	smp_mb();	/* see mroce_tx_check_room() */
	if (nc && READ_ONCE(nc->core.tx_blocked) &&
	    sk_wmem_alloc_get(sk) <= READ_ONCE(nc->tx_inflight_max) / 2)
		mroce_nconn_kick_later(nc);
	rcu_read_unlock();
}

/**
 * mroce_tx_kick - send what a connection has to send
 * @nc: referenced (or its own timer); not locked, interrupts on
 *
 * Cheap if there is nothing, or if somebody else is at it. Sets the timer.
 */
void mroce_tx_kick(struct mroce_nconn *nc)
{
	struct mroce_tx_batch *b;
	bool dead, more = false;
	u32 n, rounds = 0;
	u64 now;
	u16 mtu;

	local_bh_disable();
	spin_lock(&nc->lock);
	if (nc->tx_owner) {
		spin_unlock(&nc->lock);
		goto out;
	}
	now = mroce_now();
	mroce_tx_check_room(nc);
	if (!mroce_conn_tx_pending(&nc->core, now))
		goto idle;

	nc->tx_owner = true;
	b = this_cpu_ptr(&mroce_tx_batch);
	for (;;) {
		n = 0;
		if (unlikely(nc->core.mp))
			mroce_nconn_sync_planes(nc);
		while (n < MROCE_TX_BATCH &&
		       mroce_conn_tx(&nc->core, &b->txd[n], now))
			n++;
		if (!n)
			break;
		spin_unlock(&nc->lock);
		mroce_tx_send(nc, b, n);
		now = mroce_now();
		spin_lock(&nc->lock);
		mtu = mroce_nconn_mtu(nc);
		if (unlikely(mtu != nc->core.cfg.link_mtu))
			mroce_conn_set_mtu(&nc->core, mtu);
		if (++rounds == MROCE_TX_ROUNDS) {
			more = true;
			break;
		}
		mroce_tx_check_room(nc);
	}
	nc->tx_owner = false;
idle:
	mroce_nconn_count_half(nc);
	dead = nc->core.state == MROCE_CONN_DEAD;
	if (!dead)
		mroce_nconn_rearm(nc, now);
	spin_unlock(&nc->lock);
	/* Let others run, and go on from the NAPI. */
	if (more)
		mroce_nconn_kick_later(nc);
	if (unlikely(dead))
		mroce_nconn_unlink(nc);
out:
	local_bh_enable();
}

/* ---- the socket that packets are charged to --------------------------------------------- */

/* mn->close_lock held. Not bound: it neither sends nor receives by itself. */
int mroce_tx_sock(struct mroce_nconn *nc)
{
	struct sock *sk;
	int err;

	err = sock_create_kern(nc->mn->net, nc->addr.v4 ? AF_INET : AF_INET6,
			       SOCK_DGRAM, IPPROTO_UDP, &nc->sock);
	if (err)
		return err;
	sk = nc->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	nc->saved_write_space = sk->sk_write_space;
	rcu_assign_sk_user_data(sk, nc);
	WRITE_ONCE(sk->sk_write_space, mroce_write_space);
	write_unlock_bh(&sk->sk_callback_lock);
	return 0;
}

/*
 * No transmit owner is left or will be. Skbs that are still in qdiscs keep
 * the struct sock; they no longer call into this module.
 */
void mroce_tx_sock_close(struct mroce_nconn *nc)
{
	struct socket *sock = nc->sock;
	struct sock *sk;

	if (!sock)
		return;
	sk = sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_write_space, nc->saved_write_space);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	nc->sock = NULL;
	sock_release(sock);
}

/* ---- module -------------------------------------------------------------------------------- */

void mroce_tx_exit(void)
{
	struct mroce_tx_batch *b;
	int cpu;

	for_each_possible_cpu(cpu) {
		b = per_cpu_ptr(&mroce_tx_batch, cpu);
		kvfree(b->txd);
		b->txd = NULL;
		if (b->frag.page)
			put_page(b->frag.page);
		b->frag.page = NULL;
	}
}

int mroce_tx_init(void)
{
	struct mroce_tx_batch *b;
	int cpu;

	for_each_possible_cpu(cpu) {
		b = per_cpu_ptr(&mroce_tx_batch, cpu);
		b->txd = kvmalloc_node(array_size(MROCE_TX_BATCH,
						  sizeof(*b->txd)),
				       GFP_KERNEL | __GFP_ZERO,
				       cpu_to_node(cpu));
		if (!b->txd) {
			mroce_tx_exit();
			return -ENOMEM;
		}
	}
	return 0;
}
