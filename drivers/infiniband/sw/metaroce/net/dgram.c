// SPDX-License-Identifier: GPL-2.0
/*
 * Packets without a connection: datagrams (UD and GSI) in both directions, and
 * RESET. They leave from the protocol's port, are never fragmented and always
 * copied: a datagram completes at once, so its buffer belongs to the
 * application again while the packet may still be in a qdisc.
 */
#include <linux/etherdevice.h>

#include "net.h"

static int mroce_dgram_out(struct mroce_net *mn, struct sk_buff *skb,
			   struct dst_entry *dst, const struct mroce_addr *a)
{
	skb_dst_set(skb, dst);
	__skb_set_sw_hash(skb, get_random_u32() ?: 1, true);
	return mroce_xmit(mn, skb, dst, a, MROCE_UDP_PORT, false);
}

/**
 * mroce_ctrl_send - send a control packet that belongs to no connection
 * @mn: namespace
 * @pkt: the packet
 * @a: addresses
 *
 * RCU, BH off. Return: 0 or -errno.
 */
int mroce_ctrl_send(struct mroce_net *mn, const struct mroce_pkt *pkt,
		    const struct mroce_addr *a)
{
	struct dst_entry *dst;
	struct sk_buff *skb;
	unsigned int len;
	u32 cookie;

	if (READ_ONCE(mn->dead))
		return -ENODEV;
	dst = mroce_route(mn, a, &cookie);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	skb = alloc_skb(MROCE_L3_ROOM + MROCE_MAX_HDR,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb) {
		dst_release(dst);
		return -ENOMEM;
	}
	skb_reserve(skb, MROCE_L3_ROOM);
	len = mroce_wire_build(pkt, skb->data, MROCE_MAX_HDR);
	if (WARN_ON_ONCE(!len)) {
		kfree_skb(skb);
		dst_release(dst);
		return -EINVAL;
	}
	skb_put(skb, len);
	mroce_dgram_out(mn, skb, dst, a);
	return 0;
}

/**
 * mroce_dgram_send - send a datagram
 * @dev: the device, for its counters
 * @net: namespace of the source GID's netdev
 * @d: header, addresses and who fills in the payload
 *
 * Process or BH context, interrupts on. Return: 0 or -errno. What the local
 * queues drop is counted, and no error.
 */
int mroce_dgram_send(struct mroce_dev *dev, struct net *net,
		     const struct mroce_dgram_tx *d)
{
	unsigned int hdr = MROCE_DGRAM_LEN;
	struct dst_entry *dst = NULL;
	struct sk_buff *skb = NULL;
	struct mroce_net *mn;
	u32 cookie, l3;
	int err;

	l3 = sizeof(struct udphdr) + (d->addr.v4 ? sizeof(struct iphdr) :
						   sizeof(struct ipv6hdr));
	local_bh_disable();
	rcu_read_lock();
	mn = mroce_net_peek(net);
	err = -ENODEV;
	if (!mn || READ_ONCE(mn->dead))
		goto drop;
	dst = mroce_route(mn, &d->addr, &cookie);
	if (IS_ERR(dst)) {
		err = PTR_ERR(dst);
		dst = NULL;
		mroce_dev_count(dev, MROCE_DCNT_TX_NOROUTE);
		goto drop;
	}
	err = -EMSGSIZE;
	if (l3 + hdr + d->len > dst_mtu(dst))
		goto drop;
	err = -ENOMEM;
	skb = alloc_skb(MROCE_L3_ROOM + hdr + d->len,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb) {
		mroce_dev_count(dev, MROCE_DCNT_TX_NOMEM);
		goto drop;
	}
	skb_reserve(skb, MROCE_L3_ROOM);
	err = -EINVAL;
	if (WARN_ON_ONCE(mroce_wire_build(&d->pkt, skb->data, hdr) != hdr))
		goto drop;
	skb_put(skb, hdr);
	err = d->fill(d->arg, skb_put(skb, d->len), d->len);
	if (err)
		goto drop;
	/* Consumes skb and dst. */
	switch (mroce_dgram_out(mn, skb, dst, &d->addr)) {
	case NET_XMIT_SUCCESS:
		break;
	case NET_XMIT_CN:
		mroce_dev_count(dev, MROCE_DCNT_TX_CN);
		break;
	default:
		mroce_dev_count(dev, MROCE_DCNT_TX_DROP);
		break;
	}
	rcu_read_unlock();
	local_bh_enable();
	return 0;

drop:
	kfree_skb(skb);
	dst_release(dst);
	rcu_read_unlock();
	local_bh_enable();
	return err;
}

/* The 40 bytes in front of a UD payload: an IPv4 header is at their end. */
static void mroce_dgram_grh(struct mroce_dgram_rx *d, const struct sk_buff *skb)
{
	if (d->addr.v4) {
		memset(d->grh, 0, 20);
		memcpy(d->grh + 20, ip_hdr(skb), sizeof(struct iphdr));
	} else {
		memcpy(d->grh, ipv6_hdr(skb), sizeof(struct ipv6hdr));
	}
}

static void mroce_dgram_mac(struct mroce_dgram_rx *d, const struct sk_buff *skb)
{
	if (skb_mac_header_was_set(skb) &&
	    skb_network_header(skb) - skb_mac_header(skb) >= ETH_HLEN)
		ether_addr_copy(d->smac, eth_hdr(skb)->h_source);
	else
		eth_zero_addr(d->smac);
}

/**
 * mroce_dgram_rx - a datagram came in
 * @mn: namespace
 * @skb: packet
 * @off: of the UDP payload
 * @len: of the UDP payload
 * @pkt: parsed
 * @a: addresses; saddr is ours
 *
 * Softirq, RCU, no lock held.
 */
void mroce_dgram_rx(struct mroce_net *mn, struct sk_buff *skb, u32 off,
		    u32 len, const struct mroce_pkt *pkt,
		    const struct mroce_addr *a)
{
	struct mroce_skb_src src = {
		.skb = skb,
		.off = off + pkt->payload_off,
	};
	struct mroce_dgram_rx d = {
		.pkt = pkt,
		.addr = *a,
		.len = pkt->payload_len,
		.vlan = 0xffff,
		.copy = mroce_skb_copy,
		.src = &src,
	};
	struct mroce_group *g;
	struct mroce_gid *gid;

	d.addr.saddr = a->daddr;
	d.addr.daddr = a->saddr;
	d.multicast = ipv6_addr_is_multicast(&a->saddr) ||
		      (a->v4 && ipv4_is_multicast(a->saddr.s6_addr32[3]));
	mroce_dgram_grh(&d, skb);
	mroce_dgram_mac(&d, skb);
	if (!d.multicast) {
		gid = mroce_gid_lookup(mn, &a->saddr, a->ifindex);
		if (gid) {
			/* rdma_cm finds no GID of a VLAN without its id. */
			d.vlan = gid->vlan;
			mroce_verbs_ops.dgram_rx(gid->dev, &d);
		}
		return;
	}
	list_for_each_entry_rcu(g, &mn->groups, node) {
		if (!ipv6_addr_equal(&g->addr, &a->saddr))
			continue;
		if (g->ifindex != a->ifindex) {
			/*
			 * A VLAN's, if it has a GID. Other uppers see copies of
			 * what comes in on the netdev itself.
			 */
			gid = mroce_gid_on(mn, g->dev, a->ifindex);
			if (!gid || gid->vlan >= VLAN_N_VID)
				continue;
			d.vlan = gid->vlan;
		} else {
			d.vlan = 0xffff;
		}
		mroce_verbs_ops.dgram_rx(g->dev, &d);
	}
}
