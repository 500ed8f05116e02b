// SPDX-License-Identifier: GPL-2.0
/*
 * Planes of a link: further netdevs that are joined to it, and the methods on
 * the uverbs file that do so.
 *
 * A netdev belongs to one link, as its netdev or as a plane. The entry in
 * dev->plane[] holds a reference on it. It is made under RTNL, when the netdev is
 * registered, so NETDEV_UNREGISTER comes after it and takes it away:
 *
 * 1. The pointer is taken out; who reads it after that finds none.
 * 2. Connections are told (mroce_net_planes_changed()): none names the netdev's
 *    addresses any more or sends through it.
 * 3. Who read the pointer before is in an RCU section. The entry is freed after
 *    those; the netdev's memory outlives them too, since its unregistration waits
 *    for them after the last notifier.
 * 4. So the reference can go at once. Routes through the netdev that connections
 *    have in their caches are the stack's to invalidate; it moves them off the
 *    netdev, and they are dropped when they are looked at.
 *
 * The same order serves a netdev that is taken out by an administrator, and the
 * end of the link.
 */
#include <linux/capability.h>
#include <linux/debugfs.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/metaroce-abi.h>

#include "ctl.h"

#define UVERBS_MODULE_NAME metaroce
#include <rdma/uverbs_named_ioctl.h>

/* Who asks for less than one gets nothing. */
#define PLANE_INFO_MIN sizeof(struct metaroce_plane_info)

static_assert(METAROCE_MAX_PLANES == MROCE_MAX_PLANES);

/* Under mroce_links_lock. */
static struct mroce_plane_dev *mroce_plane_get(const struct mroce_dev *dev,
					       int id)
{
	return rcu_dereference_protected(dev->plane[id],
					 lockdep_is_held(&mroce_links_lock));
}

/* Is it the link's netdev, or one that was joined? Under mroce_links_lock. */
bool mroce_link_uses(const struct mroce_dev *dev, const struct net_device *ndev)
{
	const struct mroce_plane_dev *pl;
	int k;

	if (rcu_access_pointer(dev->ndev) == ndev)
		return true;
	for (k = 1; dev->n_planes && k < MROCE_MAX_PLANES; k++) {
		pl = mroce_plane_get(dev, k);
		if (pl && pl->ndev == ndev)
			return true;
	}
	return false;
}

/* Steps 1 to 4 above. Under mroce_links_lock. */
static void mroce_plane_drop(struct mroce_dev *dev, int id)
{
	struct mroce_plane_dev *pl = mroce_plane_get(dev, id);

	RCU_INIT_POINTER(dev->plane[id], NULL);
	WRITE_ONCE(dev->n_planes, dev->n_planes - 1);
	WRITE_ONCE(dev->plane_drain, dev->plane_drain & ~BIT(id));
	mroce_net_planes_changed(dev);
	debugfs_remove(pl->debugfs);
	WRITE_ONCE(dev->share[id].kbps, 0);
	netdev_put(pl->ndev, &pl->tracker);
	kfree_rcu(pl, rcu);
}

/**
 * mroce_plane_drop_ndev - a netdev goes, or moves to another namespace
 * @ndev: the netdev
 *
 * From the notifier, RTNL held.
 */
void mroce_plane_drop_ndev(struct net_device *ndev)
{
	struct mroce_plane_dev *pl;
	struct mroce_dev *dev;
	int k;

	mutex_lock(&mroce_links_lock);
	list_for_each_entry(dev, &mroce_links, list) {
		for (k = 1; dev->n_planes && k < MROCE_MAX_PLANES; k++) {
			pl = mroce_plane_get(dev, k);
			if (pl && pl->ndev == ndev)
				mroce_plane_drop(dev, k);
		}
	}
	mutex_unlock(&mroce_links_lock);
}

/* The link ends: it is dying, so nothing is joined any more. */
void mroce_plane_drop_all(struct mroce_dev *dev)
{
	int k;

	mutex_lock(&mroce_links_lock);
	for (k = 1; dev->n_planes && k < MROCE_MAX_PLANES; k++)
		if (mroce_plane_get(dev, k))
			mroce_plane_drop(dev, k);
	mutex_unlock(&mroce_links_lock);
}

/**
 * mroce_plane_event - the state of a netdev, or an address, has changed
 * @ndev: the netdev; NULL: any
 *
 * May sleep; RTNL may be held.
 */
void mroce_plane_event(struct net_device *ndev)
{
	struct mroce_dev *dev;

	mutex_lock(&mroce_links_lock);
	list_for_each_entry(dev, &mroce_links, list)
		if (dev->n_planes && (!ndev || mroce_link_uses(dev, ndev)))
			mroce_net_planes_changed(dev);
	mutex_unlock(&mroce_links_lock);
}

/* Under RTNL and mroce_links_lock. */
static int mroce_plane_check(struct mroce_dev *dev,
			     const struct net_device *ndev, u8 id)
{
	struct mroce_dev *other;

	if (ndev->type != ARPHRD_ETHER)
		return -EOPNOTSUPP;
	if (ndev->reg_state != NETREG_REGISTERED || dev->dying)
		return -ENODEV;
	list_for_each_entry(other, &mroce_links, list)
		if (mroce_link_uses(other, ndev))
			return -EEXIST;
	return mroce_plane_get(dev, id) ? -EBUSY : 0;
}

static int mroce_plane_add(struct mroce_dev *dev, u32 ifindex, u8 id)
{
	struct mroce_plane_dev *pl;
	struct net_device *ndev;
	int err = -ENODEV;

	pl = kzalloc(sizeof(*pl), GFP_KERNEL);
	if (!pl)
		return -ENOMEM;
	rtnl_lock();
	mutex_lock(&mroce_links_lock);
	/* The link's namespace outlives its methods: its exit waits for them. */
	ndev = ifindex <= INT_MAX ? __dev_get_by_index(dev->net, ifindex) : NULL;
	if (ndev)
		err = mroce_plane_check(dev, ndev, id);
	if (!err) {
		pl->ndev = ndev;
		netdev_hold(ndev, &pl->tracker, GFP_KERNEL);
		mroce_debugfs_plane(dev, pl, id);
		rcu_assign_pointer(dev->plane[id], pl);
		WRITE_ONCE(dev->n_planes, dev->n_planes + 1);
		mroce_net_planes_changed(dev);
		pl = NULL;
	}
	mutex_unlock(&mroce_links_lock);
	rtnl_unlock();
	kfree(pl);
	return err;
}

static int mroce_plane_del(struct mroce_dev *dev, u8 id)
{
	int err = 0;

	mutex_lock(&mroce_links_lock);
	if (mroce_plane_get(dev, id))
		mroce_plane_drop(dev, id);
	else
		err = -ENOENT;
	mutex_unlock(&mroce_links_lock);
	return err;
}

static int mroce_plane_drain(struct mroce_dev *dev, u8 id, bool on)
{
	u16 drain;
	int err = 0;

	mutex_lock(&mroce_links_lock);
	if (!mroce_plane_get(dev, id)) {
		err = -ENOENT;
	} else {
		drain = dev->plane_drain & ~BIT(id);
		if (on)
			drain |= BIT(id);
		WRITE_ONCE(dev->plane_drain, drain);
		mroce_net_planes_changed(dev);
	}
	mutex_unlock(&mroce_links_lock);
	return err;
}

/* ---- methods ---------------------------------------------------------------- */

static struct mroce_dev *mroce_method_dev(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);

	return IS_ERR(uctx) ? ERR_CAST(uctx) : to_mdev(uctx->device);
}

/*
 * For methods that change something: the device, and the plane that is named.
 * Plane 0 is the link's own netdev.
 */
static struct mroce_dev *mroce_method_admin(struct uverbs_attr_bundle *attrs,
					    u16 attr, u8 *id)
{
	struct mroce_dev *dev = mroce_method_dev(attrs);
	int err;

	if (IS_ERR(dev))
		return dev;
	if (!ns_capable(dev->net->user_ns, CAP_NET_ADMIN))
		return ERR_PTR(-EPERM);
	err = uverbs_copy_from(id, attrs, attr);
	if (err)
		return ERR_PTR(err);
	if (!*id || *id >= MROCE_MAX_PLANES)
		return ERR_PTR(-EINVAL);
	return dev;
}

static int UVERBS_HANDLER(METAROCE_METHOD_PLANE_ADD)
	(struct uverbs_attr_bundle *attrs)
{
	struct mroce_dev *dev;
	u32 ifindex;
	int err;
	u8 id;

	dev = mroce_method_admin(attrs, METAROCE_ATTR_PLANE_ADD_ID, &id);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	err = uverbs_copy_from(&ifindex, attrs, METAROCE_ATTR_PLANE_ADD_IFINDEX);
	return err ?: mroce_plane_add(dev, ifindex, id);
}

static int UVERBS_HANDLER(METAROCE_METHOD_PLANE_DEL)
	(struct uverbs_attr_bundle *attrs)
{
	struct mroce_dev *dev;
	u8 id;

	dev = mroce_method_admin(attrs, METAROCE_ATTR_PLANE_DEL_ID, &id);
	return IS_ERR(dev) ? PTR_ERR(dev) : mroce_plane_del(dev, id);
}

static int UVERBS_HANDLER(METAROCE_METHOD_PLANE_DRAIN)
	(struct uverbs_attr_bundle *attrs)
{
	struct mroce_dev *dev;
	u8 id, on;
	int err;

	dev = mroce_method_admin(attrs, METAROCE_ATTR_PLANE_DRAIN_ID, &id);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	err = uverbs_copy_from(&on, attrs, METAROCE_ATTR_PLANE_DRAIN_ON);
	if (err)
		return err;
	if (on > 1)
		return -EINVAL;
	return mroce_plane_drain(dev, id, on);
}

/* Connection locked. */
static void mroce_plane_count(const struct mroce_conn *c,
			      const struct mroce_addr *a, void *arg)
{
	struct metaroce_plane_info *info = arg;
	int k;

	for (k = 0; k < MROCE_MAX_PLANES; k++) {
		u8 state = k ? MROCE_PLANE_NONE : MROCE_PLANE_UP;

		if (c->mp)
			state = k ? c->mp->p[k - 1].state : c->plane0.state;
		if (c->state != MROCE_CONN_OPEN)
			continue;
		info[k].n_unproven += state == MROCE_PLANE_UNPROVEN;
		info[k].n_up += state == MROCE_PLANE_UP;
		info[k].n_down += state == MROCE_PLANE_DOWN;
	}
}

static void mroce_plane_info(const struct net_device *ndev, bool drained,
			     struct metaroce_plane_info *info)
{
	info->ifindex = ndev->ifindex;
	if (netif_running(ndev) && netif_carrier_ok(ndev))
		info->flags |= METAROCE_PLANE_CARRIER;
	if (drained)
		info->flags |= METAROCE_PLANE_DRAINED;
}

static int UVERBS_HANDLER(METAROCE_METHOD_PLANE_QUERY)
	(struct uverbs_attr_bundle *attrs)
{
	struct mroce_dev *dev = mroce_method_dev(attrs);
	struct metaroce_plane_info *info;
	struct mroce_plane_dev *pl;
	struct net_device *ndev;
	int err, k;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	info = kcalloc(MROCE_MAX_PLANES, sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	mutex_lock(&mroce_links_lock);
	rcu_read_lock();
	ndev = rcu_dereference(dev->ndev);
	if (ndev)
		mroce_plane_info(ndev, false, &info[0]);
	rcu_read_unlock();
	for (k = 1; k < MROCE_MAX_PLANES; k++) {
		pl = mroce_plane_get(dev, k);
		if (pl)
			mroce_plane_info(pl->ndev, dev->plane_drain & BIT(k),
					 &info[k]);
	}
	mutex_unlock(&mroce_links_lock);
	mroce_net_dev_conns(dev, mroce_plane_count, info);
	err = uverbs_copy_to(attrs, METAROCE_ATTR_PLANE_QUERY_LIST, info,
			     MROCE_MAX_PLANES * sizeof(*info));
	kfree(info);
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(METAROCE_METHOD_PLANE_ADD,
			    UVERBS_ATTR_PTR_IN(METAROCE_ATTR_PLANE_ADD_ID,
					       UVERBS_ATTR_TYPE(__u8),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(METAROCE_ATTR_PLANE_ADD_IFINDEX,
					       UVERBS_ATTR_TYPE(__u32),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(METAROCE_METHOD_PLANE_DEL,
			    UVERBS_ATTR_PTR_IN(METAROCE_ATTR_PLANE_DEL_ID,
					       UVERBS_ATTR_TYPE(__u8),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(METAROCE_METHOD_PLANE_DRAIN,
			    UVERBS_ATTR_PTR_IN(METAROCE_ATTR_PLANE_DRAIN_ID,
					       UVERBS_ATTR_TYPE(__u8),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(METAROCE_ATTR_PLANE_DRAIN_ON,
					       UVERBS_ATTR_TYPE(__u8),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(METAROCE_METHOD_PLANE_QUERY,
			    UVERBS_ATTR_PTR_OUT(METAROCE_ATTR_PLANE_QUERY_LIST,
						UVERBS_ATTR_MIN_SIZE(PLANE_INFO_MIN),
						UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(METAROCE_OBJECT_PLANE,
			      &UVERBS_METHOD(METAROCE_METHOD_PLANE_ADD),
			      &UVERBS_METHOD(METAROCE_METHOD_PLANE_DEL),
			      &UVERBS_METHOD(METAROCE_METHOD_PLANE_DRAIN),
			      &UVERBS_METHOD(METAROCE_METHOD_PLANE_QUERY));

const struct uapi_definition mroce_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(METAROCE_OBJECT_PLANE),
	{}
};
