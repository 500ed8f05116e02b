// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Address handles.
 *
 * All verbs of this file may be called in any context; no route or neighbour
 * is looked up here.
 */
#include <linux/in6.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "verbs.h"

/* Of a GID entry: its netdev, which goes away under it. */
static struct net *gid_net(const struct ib_gid_attr *ga, int *ifindex)
{
	struct net_device *ndev;
	struct net *net = NULL;

	rcu_read_lock();
	ndev = rcu_dereference(ga->ndev);
	if (ndev) {
		net = maybe_get_net(dev_net(ndev));
		if (ifindex)
			*ifindex = ndev->ifindex;
	}
	rcu_read_unlock();
	return net;
}

/**
 * mroce_av_to_addr - addresses of an address vector
 * @dev: device
 * @attr: address vector with its sgid_attr
 * @addr: filled
 * @net: namespace of the source address, referenced; may be NULL
 *
 * Any context. Return: 0, -EINVAL, or -ENODEV: the source's netdev is gone.
 */
int mroce_av_to_addr(struct mroce_dev *dev, const struct rdma_ah_attr *attr,
		     struct mroce_addr *addr, struct net **net)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct ib_gid_attr *ga = grh->sgid_attr;
	struct net *n;
	bool v4;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    rdma_ah_get_port_num(attr) != 1 ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) ||
	    !ga || ga->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return -EINVAL;
	memset(addr, 0, sizeof(*addr));
	memcpy(&addr->saddr, &ga->gid, sizeof(addr->saddr));
	memcpy(&addr->daddr, &grh->dgid, sizeof(addr->daddr));
	v4 = ipv6_addr_v4mapped(&addr->saddr);
	/* Both ends of one family; nothing can be sent to nobody. */
	if (v4 != ipv6_addr_v4mapped(&addr->daddr) ||
	    ipv6_addr_any(&addr->daddr) ||
	    (v4 && !addr->daddr.s6_addr32[3]))
		return -EINVAL;
	addr->v4 = v4;
	addr->tclass = grh->traffic_class;
	addr->hop_limit = grh->hop_limit;
	addr->flow_label = grh->flow_label & 0xfffff;

	n = gid_net(ga, &addr->ifindex);
	if (!n)
		return -ENODEV;
	if (net)
		*net = n;
	else
		put_net(n);
	return 0;
}

struct net *mroce_ah_net(const struct mroce_ah *ah)
{
	return gid_net(ah->attr.grh.sgid_attr, NULL);
}

void mroce_ah_put(struct mroce_ah *ah)
{
	if (!refcount_dec_and_test(&ah->ref))
		return;
	rdma_destroy_ah_attr(&ah->attr);
	kfree_rcu(ah, rcu);
}

/**
 * mroce_ah_get - look up a user's ah_num
 * @dev: device
 * @pd: of the queue pair
 * @num: out of a work request, so anything
 *
 * RCU held or BH off. Return: address handle with a reference, or NULL.
 */
struct mroce_ah *mroce_ah_get(struct mroce_dev *dev, struct ib_pd *pd, u32 num)
{
	struct mroce_ah *ah;

	rcu_read_lock();
	ah = xa_load(&dev->ahs, num);
	if (ah && (ah->pd != pd || !refcount_inc_not_zero(&ah->ref)))
		ah = NULL;
	rcu_read_unlock();
	return ah;
}

static int mroce_create_ah(struct ib_ah *ibah,
			   struct rdma_ah_init_attr *init,
			   struct ib_udata *udata)
{
	struct mroce_ibah *iah = container_of(ibah, struct mroce_ibah, ibah);
	struct mroce_dev *dev = to_mdev(ibah->device);
	struct rxe_create_ah_resp resp = {};
	unsigned long flags;
	struct mroce_ah *ah;
	gfp_t gfp;
	int err;

	gfp = init->flags & RDMA_CREATE_AH_SLEEPABLE ? GFP_KERNEL : GFP_ATOMIC;
	if (!mroce_count(&dev->n_ah, MROCE_MAX_AH))
		return -ENOMEM;
	ah = kzalloc(sizeof(*ah), gfp | __GFP_NOWARN);
	if (!ah) {
		err = -ENOMEM;
		goto err_count;
	}
	refcount_set(&ah->ref, 1);
	ah->pd = ibah->pd;
	rdma_copy_ah_attr(&ah->attr, init->ah_attr);
	err = mroce_av_to_addr(dev, &ah->attr, &ah->addr, NULL);
	if (err)
		goto err_put;

	xa_lock_irqsave(&dev->ahs, flags);
	err = __xa_alloc_cyclic(&dev->ahs, &ah->num, ah,
				XA_LIMIT(1, S32_MAX), &dev->next_ah, gfp);
	xa_unlock_irqrestore(&dev->ahs, flags);
	if (err < 0)
		goto err_put;

	/* Old libraries take no number and send the addresses themselves. */
	if (udata && udata->outlen >= sizeof(resp)) {
		resp.ah_num = ah->num;
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (err)
			goto err_erase;
	}
	iah->ah = ah;
	return 0;

err_erase:
	xa_lock_irqsave(&dev->ahs, flags);
	__xa_erase(&dev->ahs, ah->num);
	xa_unlock_irqrestore(&dev->ahs, flags);
err_put:
	mroce_ah_put(ah);
err_count:
	atomic_dec(&dev->n_ah);
	return err;
}

/* The core's sgid_attr is the core's; callers get addresses only. */
static int mroce_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_mah(ibah)->attr;
	attr->grh.sgid_attr = NULL;
	return 0;
}

/*
 * 1. Off the table: no work request finds it any more.
 * 2. Senders that have it keep their reference; nobody waits, since this may
 *    be called in any context.
 * 3. The last one gives back the GID entry; memory goes a grace period later.
 */
static int mroce_destroy_ah(struct ib_ah *ibah, u32 how)
{
	struct mroce_dev *dev = to_mdev(ibah->device);
	struct mroce_ah *ah = to_mah(ibah);
	unsigned long flags;

	xa_lock_irqsave(&dev->ahs, flags);
	__xa_erase(&dev->ahs, ah->num);
	xa_unlock_irqrestore(&dev->ahs, flags);
	mroce_ah_put(ah);
	atomic_dec(&dev->n_ah);
	return 0;
}

const struct ib_device_ops mroce_ah_ops = {
	.create_ah = mroce_create_ah,
	.create_user_ah = mroce_create_ah,
	.query_ah = mroce_query_ah,
	.destroy_ah = mroce_destroy_ah,

	INIT_RDMA_OBJ_SIZE(ib_ah, mroce_ibah, ibah),
};
