// SPDX-License-Identifier: GPL-2.0
/*
 * Which device owns a local address: for INIT, UD and GSI packets, which come
 * before there is a connection. Filled by the core's add_gid() and del_gid(),
 * in the namespace of the GID's netdev, which need not be the link's (macvlan
 * and VLAN children can live elsewhere). And multicast memberships.
 */
#include <rdma/ib_cache.h>

#include "net.h"

static u32 mroce_gid_hash(const struct in6_addr *addr)
{
	return __ipv6_addr_jhash(addr, 0);
}

static bool mroce_gid_wanted(const struct ib_gid_attr *attr)
{
	return attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP;
}

/**
 * mroce_gid_add - a GID of a device came into being
 * @dev: the device
 * @attr: as the core's add_gid() got it
 *
 * Called under RTNL and the GID table's mutex. Return: 0 or -errno.
 */
int mroce_gid_add(struct mroce_dev *dev, const struct ib_gid_attr *attr)
{
	struct net_device *ndev;
	struct mroce_gid *g;
	struct net *net;

	if (!mroce_gid_wanted(attr))
		return 0;
	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return -ENOMEM;

	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	net = ndev ? maybe_get_net(dev_net(ndev)) : NULL;
	g->ifindex = ndev ? ndev->ifindex : 0;
	rcu_read_unlock();
	if (!net) {
		kfree(g);
		return -ENODEV;
	}
	g->mn = mroce_net_get(net);
	put_net(net);
	if (IS_ERR(g->mn)) {
		int err = PTR_ERR(g->mn);

		kfree(g);
		return err;
	}
	memcpy(&g->addr, attr->gid.raw, sizeof(g->addr));
	/*
	 * The same function that the core compares with when it looks for the
	 * GID that a datagram came in on.
	 */
	if (rdma_read_gid_l2_fields(attr, &g->vlan, NULL))
		g->vlan = 0xffff;
	g->index = attr->index;
	g->dev = dev;

	spin_lock_bh(&g->mn->lock);
	hash_add_rcu(g->mn->gids, &g->node, mroce_gid_hash(&g->addr));
	spin_unlock_bh(&g->mn->lock);
	spin_lock_bh(&dev->conn_lock);
	list_add(&g->dev_node, &dev->gids);
	spin_unlock_bh(&dev->conn_lock);
	return 0;
}

static void mroce_gid_free(struct mroce_gid *g)
{
	struct mroce_net *mn = g->mn;

	spin_lock_bh(&mn->lock);
	hash_del_rcu(&g->node);
	spin_unlock_bh(&mn->lock);
	kfree_rcu(g, rcu);
	mroce_net_put(mn);
}

/**
 * mroce_gid_del - a GID of a device goes
 * @dev: the device
 * @attr: as the core's del_gid() got it; its ndev may be NULL by now
 */
void mroce_gid_del(struct mroce_dev *dev, const struct ib_gid_attr *attr)
{
	struct mroce_gid *g, *found = NULL;

	if (!mroce_gid_wanted(attr))
		return;
	spin_lock_bh(&dev->conn_lock);
	list_for_each_entry(g, &dev->gids, dev_node) {
		if (g->index == attr->index) {
			list_del(&g->dev_node);
			found = g;
			break;
		}
	}
	spin_unlock_bh(&dev->conn_lock);
	if (found)
		mroce_gid_free(found);
}

/* The core deleted all GIDs before; this is for the case that it did not. */
void mroce_gid_del_all(struct mroce_dev *dev)
{
	struct mroce_gid *g, *tmp;
	LIST_HEAD(list);

	spin_lock_bh(&dev->conn_lock);
	list_splice_init(&dev->gids, &list);
	spin_unlock_bh(&dev->conn_lock);
	list_for_each_entry_safe(g, tmp, &list, dev_node)
		mroce_gid_free(g);
}

/**
 * mroce_gid_lookup - the GID of a local address
 * @mn: namespace
 * @addr: IPv4 is v4-mapped
 * @ifindex: where the packet came in; decides between equal (link-local) ones
 *
 * RCU. Return: GID or NULL.
 */
struct mroce_gid *mroce_gid_lookup(struct mroce_net *mn,
				   const struct in6_addr *addr, int ifindex)
{
	struct mroce_gid *g, *first = NULL;

	hash_for_each_possible_rcu(mn->gids, g, node, mroce_gid_hash(addr)) {
		if (!ipv6_addr_equal(&g->addr, addr))
			continue;
		if (g->ifindex == ifindex)
			return g;
		if (!first)
			first = g;
	}
	return first;
}

/* The device that owns a local address. RCU. */
struct mroce_dev *mroce_gid_find(struct mroce_net *mn,
				 const struct in6_addr *addr, int ifindex)
{
	struct mroce_gid *g = mroce_gid_lookup(mn, addr, ifindex);

	return g ? g->dev : NULL;
}

/**
 * mroce_gid_on - a GID of a device on one netdev
 * @mn: namespace
 * @dev: the device
 * @ifindex: the netdev
 *
 * For what a packet of a group, which is no GID, came in on. RCU. Return: GID
 * or NULL.
 */
struct mroce_gid *mroce_gid_on(struct mroce_net *mn, struct mroce_dev *dev,
			       int ifindex)
{
	struct mroce_gid *g;
	int i;

	hash_for_each_rcu(mn->gids, i, g, node)
		if (g->dev == dev && g->ifindex == ifindex)
			return g;
	return NULL;
}

/* Is @addr one of @dev's own? RCU. */
bool mroce_gid_is(struct mroce_net *mn, const struct in6_addr *addr,
		  struct mroce_dev *dev)
{
	struct mroce_gid *g;

	hash_for_each_possible_rcu(mn->gids, g, node, mroce_gid_hash(addr))
		if (g->dev == dev && ipv6_addr_equal(&g->addr, addr))
			return true;
	return false;
}

/* ---- multicast ------------------------------------------------------------ */

/*
 * On the sockets of the link's own namespace: they are open as long as there
 * is a link. Takes RTNL.
 */
static int mroce_mcast_sockopt(struct mroce_net *mn,
			       const struct in6_addr *addr, int ifindex,
			       bool join)
{
	struct socket *sock;

	if (ipv6_addr_v4mapped(addr)) {
		struct ip_mreqn mreq = {
			.imr_multiaddr.s_addr = addr->s6_addr32[3],
			.imr_ifindex = ifindex,
		};

		sock = mn->socks[MROCE_SOCK_V4].sock;
		return READ_ONCE(sock->ops)->setsockopt(sock, SOL_IP,
				join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP,
				KERNEL_SOCKPTR(&mreq), sizeof(mreq));
	} else {
		struct ipv6_mreq mreq = {
			.ipv6mr_multiaddr = *addr,
			.ipv6mr_ifindex = ifindex,
		};

		sock = mn->socks[MROCE_SOCK_V6].sock;
		if (!sock)
			return -EAFNOSUPPORT;
		return READ_ONCE(sock->ops)->setsockopt(sock, SOL_IPV6,
				join ? IPV6_ADD_MEMBERSHIP : IPV6_DROP_MEMBERSHIP,
				KERNEL_SOCKPTR(&mreq), sizeof(mreq));
	}
}

/*
 * Where a multicast address sits in a GID: v4-mapped (::ffff:a.b.c.d), as
 * RoCE v2 has it, or an IPv6 group.
 */
static bool mroce_mcast_ok(const struct in6_addr *a)
{
	return ipv6_addr_is_multicast(a) ||
	       (ipv6_addr_v4mapped(a) && ipv4_is_multicast(a->s6_addr32[3]));
}

/**
 * mroce_mcast_join - the link wants a group's datagrams
 * @dev: the device
 * @group: IPv4 is v4-mapped
 *
 * May sleep, takes RTNL. Joins nest. Return: 0 or -errno; -ENOBUFS: no more.
 */
int mroce_mcast_join(struct mroce_dev *dev, const struct in6_addr *group)
{
	struct mroce_net *mn = dev->mnet;
	struct net_device *ndev;
	struct mroce_group *g;
	int ifindex = 0;
	int err = 0;

	if (!mroce_mcast_ok(group))
		return -EINVAL;
	mutex_lock(&dev->group_lock);
	list_for_each_entry(g, &dev->groups, dev_node) {
		if (ipv6_addr_equal(&g->addr, group)) {
			g->users++;
			goto out;
		}
	}
	err = -ENOBUFS;
	if (dev->n_groups >= MROCE_MAX_MCAST_GRP)
		goto out;
	rcu_read_lock();
	ndev = rcu_dereference(dev->ndev);
	if (ndev)
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	err = -ENODEV;
	if (!ifindex)
		goto out;
	err = -ENOMEM;
	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		goto out;
	g->addr = *group;
	g->ifindex = ifindex;
	g->users = 1;
	g->dev = dev;
	err = mroce_mcast_sockopt(mn, group, ifindex, true);
	if (err) {
		kfree(g);
		goto out;
	}
	list_add(&g->dev_node, &dev->groups);
	dev->n_groups++;
	spin_lock_bh(&mn->lock);
	list_add_rcu(&g->node, &mn->groups);
	spin_unlock_bh(&mn->lock);
out:
	mutex_unlock(&dev->group_lock);
	return err;
}

static void mroce_group_free(struct mroce_group *g)
{
	struct mroce_net *mn = g->dev->mnet;

	mroce_mcast_sockopt(mn, &g->addr, g->ifindex, false);
	spin_lock_bh(&mn->lock);
	list_del_rcu(&g->node);
	spin_unlock_bh(&mn->lock);
	list_del(&g->dev_node);
	g->dev->n_groups--;
	kfree_rcu(g, rcu);
}

/* Undoes one mroce_mcast_join(). May sleep, takes RTNL. */
void mroce_mcast_leave(struct mroce_dev *dev, const struct in6_addr *group)
{
	struct mroce_group *g;

	mutex_lock(&dev->group_lock);
	list_for_each_entry(g, &dev->groups, dev_node) {
		if (!ipv6_addr_equal(&g->addr, group))
			continue;
		if (!--g->users)
			mroce_group_free(g);
		break;
	}
	mutex_unlock(&dev->group_lock);
}

void mroce_mcast_leave_all(struct mroce_dev *dev)
{
	struct mroce_group *g, *tmp;

	mutex_lock(&dev->group_lock);
	list_for_each_entry_safe(g, tmp, &dev->groups, dev_node)
		mroce_group_free(g);
	mutex_unlock(&dev->group_lock);
}
