// SPDX-License-Identifier: GPL-2.0
/*
 * What connections know of a device's planes: addresses, carrier, and whether
 * they are wanted. Which netdevs are joined is ctl/'s business; what a connection
 * does with them is core/'s.
 *
 * Whoever changes something tells each connection. One that is being made is on
 * the device's list before it looks, so it is either told or sees for itself.
 * Facts are gathered and handed over under dev->plane_lock: older ones never
 * overwrite newer ones.
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/route.h>

#include "net.h"

static bool mroce_carrier(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev);
}

/* The address that a netdev would send from. RCU; false: it has none. */
static bool mroce_plane_addr4(const struct net_device *ndev,
			      struct in6_addr *addr)
{
	const struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (ifa->ifa_flags & IFA_F_SECONDARY)
			continue;
		ipv6_addr_set_v4mapped(ifa->ifa_local, addr);
		return true;
	}
	return false;
}

#if IS_ENABLED(CONFIG_IPV6)
/*
 * Of the same scope as that of the connection. A tentative one will do: the peer
 * is asked until it answers.
 */
static bool mroce_plane_addr6(const struct net_device *ndev, bool link_local,
			      struct in6_addr *addr)
{
	struct inet6_dev *idev = __in6_dev_get(ndev);
	const struct inet6_ifaddr *ifa;
	bool found = false;

	if (!idev)
		return false;
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifa, &idev->addr_list, if_list) {
		bool ll = ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL;

		if (ll != link_local || ifa->flags & IFA_F_DADFAILED)
			continue;
		*addr = ifa->addr;
		found = true;
		break;
	}
	read_unlock_bh(&idev->lock);
	return found;
}
#else
static bool mroce_plane_addr6(const struct net_device *ndev, bool link_local,
			      struct in6_addr *addr)
{
	return false;
}
#endif

/* False: the namespace has gone, and may not be looked at any more. */
static bool mroce_plane_facts(struct mroce_nconn *nc,
			      struct mroce_plane_own own[MROCE_MAX_PLANES])
{
	struct mroce_dev *dev = nc->dev;
	struct mroce_plane_dev *pl;
	struct net_device *ndev;
	struct in6_addr addr;
	bool ll;
	int k;

	ll = ipv6_addr_type(&nc->addr.saddr) & IPV6_ADDR_LINKLOCAL;
	rcu_read_lock();
	/* Who sees it alive in an RCU section has it until that ends. */
	if (READ_ONCE(nc->mn->dead)) {
		rcu_read_unlock();
		return false;
	}
	ndev = dev_get_by_index_rcu(nc->mn->net, nc->addr.ifindex);
	own[0].joined = true;
	own[0].carrier = !ndev || mroce_carrier(ndev);
	own[0].share = &dev->share[0];
	memcpy(own[0].addr, &nc->addr.saddr, sizeof(own[0].addr));
	for (k = 1; k < MROCE_MAX_PLANES; k++) {
		pl = rcu_dereference(dev->plane[k]);
		/* A GID of the link's can be in another namespace. */
		if (!pl || nc->mn != dev->mnet)
			continue;
		own[k].joined = true;
		own[k].carrier = mroce_carrier(pl->ndev);
		own[k].share = &dev->share[k];
		if (nc->addr.v4 ? mroce_plane_addr4(pl->ndev, &addr) :
				  mroce_plane_addr6(pl->ndev, ll, &addr))
			memcpy(own[k].addr, &addr, sizeof(own[k].addr));
	}
	rcu_read_unlock();
	for (k = 0; k < MROCE_MAX_PLANES; k++)
		own[k].drain = READ_ONCE(dev->plane_drain) & BIT(k);
	return true;
}

/**
 * mroce_nconn_planes - tell a connection what planes its device has
 * @nc: referenced, not locked
 *
 * May sleep; RTNL may be held. Without memory it is told the next time.
 */
void mroce_nconn_planes(struct mroce_nconn *nc)
{
	struct mroce_plane_own own[MROCE_MAX_PLANES] = {};
	struct mroce_nplane *np = NULL;

	if (nc->core.cfg.self)
		return;
	mutex_lock(&nc->dev->plane_lock);
	if (!nc->np)
		np = kcalloc(MROCE_MAX_PLANES - 1, sizeof(*np), GFP_KERNEL);
	if ((nc->np || np) && mroce_plane_facts(nc, own)) {
		spin_lock_bh(&nc->lock);
		if (np)
			nc->np = np;
		np = NULL;
		mroce_conn_set_planes(&nc->core, own, mroce_now());
		spin_unlock_bh(&nc->lock);
	}
	mutex_unlock(&nc->dev->plane_lock);
	kfree(np);
	mroce_tx_kick(nc);
}

/**
 * mroce_net_planes_changed - planes of a device, or their state, changed
 * @dev: the device
 *
 * May sleep; RTNL and ctl's mutex may be held. When it returns no connection uses
 * what has gone, except for packets that are on their way to the stack.
 */
void mroce_net_planes_changed(struct mroce_dev *dev)
{
	struct mroce_nconn *nc = NULL;

	while ((nc = mroce_nconn_next(dev, nc)))
		mroce_nconn_planes(nc);
}

/* ---- for the transmit owner ------------------------------------------------ */

/*
 * The peer may name what it likes; to one host and of the family, it must be. A
 * socket would have to be allowed to broadcast: here nobody asks. Nor is "no
 * address" one: the stack takes it for this host. RCU, the namespace is alive.
 */
static bool mroce_plane_peer_ok(const struct mroce_nconn *nc,
				const struct mroce_addr *a)
{
	__be32 daddr = a->daddr.s6_addr32[3];
	unsigned int type;

	if (ipv6_addr_v4mapped(&a->daddr) != a->v4)
		return false;
	if (a->v4) {
		type = inet_addr_type(nc->mn->net, daddr);
		return (type == RTN_UNICAST || type == RTN_LOCAL) &&
		       !ipv4_is_loopback(daddr);
	}
	return !(ipv6_addr_type(&a->daddr) &
		 (IPV6_ADDR_MULTICAST | IPV6_ADDR_LOOPBACK));
}

/**
 * mroce_nconn_sync_planes - take over core's addresses of planes
 * @nc: locked, by its transmit owner
 *
 * What core gives to send from now on goes there.
 */
void mroce_nconn_sync_planes(struct mroce_nconn *nc)
{
	const struct mroce_planes *mp = nc->core.mp;
	struct mroce_plane_dev *pl;
	struct mroce_nplane *np;
	int k;

	if (nc->np_seq == mp->seq)
		return;
	nc->np_seq = mp->seq;
	for (k = 1; k < MROCE_MAX_PLANES; k++) {
		np = &nc->np[k - 1];
		dst_release(np->dst);
		memset(np, 0, sizeof(*np));
		if (mp->p[k - 1].state == MROCE_PLANE_NONE)
			continue;
		np->addr = nc->addr;
		memcpy(&np->addr.saddr, mp->own_addr[k], 16);
		memcpy(&np->addr.daddr, mp->peer_addr[k], 16);
		rcu_read_lock();
		pl = rcu_dereference(nc->dev->plane[k]);
		np->addr.ifindex = pl ? pl->ndev->ifindex : 0;
		np->there = pl && !READ_ONCE(nc->mn->dead) &&
			    mroce_plane_peer_ok(nc, &np->addr);
		rcu_read_unlock();
	}
}

/* The smallest of all planes in use: a packet may go on any of them. */
u16 mroce_nconn_mtu(const struct mroce_nconn *nc)
{
	u16 mtu = nc->route_mtu;
	int k;

	if (likely(!nc->np))
		return mtu;
	for (k = 0; k < MROCE_MAX_PLANES - 1; k++)
		if (nc->np[k].mtu)
			mtu = min(mtu, nc->np[k].mtu);
	return mtu;
}

/* Routes of planes. There is no transmit owner, and none that sends will be. */
void mroce_nconn_free_planes(struct mroce_nconn *nc)
{
	int k;

	if (!nc->np)
		return;
	for (k = 0; k < MROCE_MAX_PLANES - 1; k++) {
		dst_release(nc->np[k].dst);
		nc->np[k].dst = NULL;
		nc->np[k].there = false;
	}
}
