// SPDX-License-Identifier: GPL-2.0
/*
 * Links: "rdma link add NAME type metaroce netdev DEV", and how they end.
 *
 * A device can be unregistered by rdma link delete, by its netdev or its
 * namespace going, by rmmod of rdma_rxe (which unregisters everything with
 * its driver id, and that is ours too), and by our own module exit; several of
 * these may be at it at the same time. The RDMA core makes one of them do it,
 * and each of its unregister calls returns only when that is over. Out of
 * that the unload fence is made, in place of ib_unregister_driver(), which
 * would take rdma_rxe's links along:
 *
 * 1. Each device is on a list with a reference of its own, so its memory, and
 *    the mutex inside that serialises unregistration, outlive dealloc_driver().
 * 2. dealloc_driver(), which may run in any of the threads above, queues a reaper
 *    on our workqueue. The reaper calls ib_unregister_device() once more: it
 *    returns only when that thread has left ib_dealloc_device() and with it our
 *    code. Then the device leaves the list and the reference is dropped.
 * 3. Module exit first takes the link ops away (which waits for newlink calls
 *    in progress), unregisters what is on the list, and destroys the workqueue,
 *    which waits for the reapers. Then no thread is in our code, or comes back.
 */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>

#include "../verbs/verbs.h"
#include "ctl.h"

/* The list, what is on it of ctl/, and planes. Inside RTNL. */
DEFINE_MUTEX(mroce_links_lock);
LIST_HEAD(mroce_links);
static struct workqueue_struct *mroce_reap_wq;

/* See step 2 above. */
static void mroce_link_reap(struct work_struct *work)
{
	struct mroce_dev *dev = container_of(work, struct mroce_dev, reap);

	ib_unregister_device(&dev->ib_dev);
	mutex_lock(&mroce_links_lock);
	list_del(&dev->list);
	mutex_unlock(&mroce_links_lock);
	put_device(&dev->ib_dev.dev);
}

/*
 * The last the core asks of a device: after unregistration, when no verbs
 * object and no user context is left, or after a failed newlink.
 *
 * 1. No debugfs file is made any more, and no netdev joined; the files there are
 *    go with their readers, the netdevs are let go of. Connections that still are
 *    there hear of that; no uverbs method is running, or will.
 * 2. verbs/ needs the NAPI until here: it is taken down first.
 * 3. net/ waits until no receive pass and no connection knows the device.
 * 4. Counters were used by those.
 */
static void mroce_dealloc_driver(struct ib_device *ibdev)
{
	struct mroce_dev *dev = to_mdev(ibdev);

	mutex_lock(&mroce_links_lock);
	dev->dying = true;
	mutex_unlock(&mroce_links_lock);
	mroce_plane_drop_all(dev);
	mroce_debugfs_del(dev);
	if (dev->mnet)
		mroce_net_dev_detach(dev);
	if (dev->verbs_up)
		mroce_verbs_cleanup(dev);
	if (dev->mnet)
		mroce_net_dev_del(dev);
	free_percpu(dev->stats);
	dev->stats = NULL;

	/* Who sees it dead does not wait for it: queued before that. */
	mutex_lock(&mroce_links_lock);
	if (dev->listed)
		queue_work(mroce_reap_wq, &dev->reap);
	dev->dead = true;
	mutex_unlock(&mroce_links_lock);
}

static const struct ib_device_ops mroce_ctl_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_RXE,
	.uverbs_abi_ver = MROCE_UVERBS_ABI,
	.dealloc_driver = mroce_dealloc_driver,
};

/*
 * Ethernet and what looks like it, and netdevs that carry bare IP. A VLAN
 * netdev would never get a GID, the core gives them to the parent's link.
 */
static int mroce_link_check(const struct net_device *ndev)
{
	if (is_vlan_dev(ndev))
		return -EINVAL;
	switch (ndev->type) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
	case ARPHRD_NONE:
		return 0;
	}
	return -EOPNOTSUPP;
}

/* On the list, unless the netdev has a link or is joined to one. Takes the list's reference. */
static int mroce_link_enlist(struct mroce_dev *dev,
			     const struct net_device *ndev)
{
	struct mroce_dev *other;
	int err = 0;

	mutex_lock(&mroce_links_lock);
	list_for_each_entry(other, &mroce_links, list) {
		if (mroce_link_uses(other, ndev)) {
			err = -EEXIST;
			break;
		}
	}
	if (!err) {
		get_device(&dev->ib_dev.dev);
		list_add_tail(&dev->list, &mroce_links);
		dev->listed = true;
	}
	mutex_unlock(&mroce_links_lock);
	return err;
}

/* Did the netdev go or move while the link could not be told? */
static bool mroce_link_lost(const struct mroce_dev *dev,
			    const struct net_device *ndev)
{
	return !rcu_access_pointer(dev->ndev) ||
	       READ_ONCE(ndev->reg_state) != NETREG_REGISTERED ||
	       !net_eq(dev_net(ndev), dev->net);
}

static int mroce_link_make(const char *name, struct net_device *ndev,
			   struct net *net)
{
	struct mroce_dev *dev;
	int err;

	dev = mroce_ib_alloc_device(mroce_dev, ib_dev, net);
	if (!dev)
		return -ENOMEM;
	/* From here on ib_dealloc_device() undoes what was done. */
	ib_set_device_ops(&dev->ib_dev, &mroce_ctl_ops);
	INIT_WORK(&dev->reap, mroce_link_reap);
	dev->net = net;
	dev->raw_ip = ndev->type != ARPHRD_ETHER;

	err = -ENOMEM;
	dev->stats = alloc_percpu(struct mroce_dev_stats);
	if (!dev->stats)
		goto err_dealloc;
	err = mroce_net_dev_add(dev, ndev);
	if (err)
		goto err_dealloc;
	err = mroce_link_enlist(dev, ndev);
	if (err)
		goto err_dealloc;
	err = mroce_verbs_setup(dev);
	if (err)
		goto err_dealloc;
	dev->verbs_up = true;
	dev->ib_dev.link_ops = &mroce_link_ops;
	dev->ib_dev.driver_def = mroce_uapi_defs;
	ib_mark_name_assigned_by_user(&dev->ib_dev);

	/* The reaper may come as soon as it is registered. */
	get_device(&dev->ib_dev.dev);
	err = ib_register_device(&dev->ib_dev, name, NULL);
	if (err) {
		put_device(&dev->ib_dev.dev);
		goto err_dealloc;
	}
	mutex_lock(&mroce_links_lock);
	dev->registered = true;
	if (!dev->dying)
		mroce_debugfs_add(dev);
	mutex_unlock(&mroce_links_lock);
	/*
	 * Notifications before registration could not unregister it, and a
	 * move to another namespace is told only once.
	 */
	if (mroce_link_lost(dev, ndev)) {
		ib_unregister_device(&dev->ib_dev);
		err = -ENODEV;
	} else {
		mroce_link_each(ndev, mroce_port_event);
	}
	put_device(&dev->ib_dev.dev);
	return err;

err_dealloc:
	ib_dealloc_device(&dev->ib_dev);
	return err;
}

static int mroce_newlink(const char *name, struct net_device *ndev)
{
	struct net *net;
	int err;

	err = mroce_link_check(ndev);
	if (err)
		return err;
	/* It may be on its way to another namespace. */
	rcu_read_lock();
	net = maybe_get_net(dev_net(ndev));
	rcu_read_unlock();
	if (!net)
		return -ENODEV;
	if (READ_ONCE(ndev->reg_state) != NETREG_REGISTERED)
		err = -ENODEV;
	else
		err = mroce_link_make(name, ndev, net);
	put_net(net);
	/* The core's answer to a name that is taken. */
	return err == -ENFILE ? -EEXIST : err;
}

struct rdma_link_ops mroce_link_ops = {
	.type = "metaroce",
	.newlink = mroce_newlink,
};

/**
 * mroce_link_each - call a function for registered links
 * @ndev: of this netdev; NULL: all
 * @fn: must not sleep for long, nor take RTNL, nor come back here
 *
 * RTNL may be held.
 */
void mroce_link_each(struct net_device *ndev, void (*fn)(struct mroce_dev *))
{
	struct mroce_dev *dev;

	mutex_lock(&mroce_links_lock);
	list_for_each_entry(dev, &mroce_links, list) {
		if ((ndev && rcu_access_pointer(dev->ndev) != ndev) ||
		    !ib_device_try_get(&dev->ib_dev))
			continue;
		fn(dev);
		ib_device_put(&dev->ib_dev);
	}
	mutex_unlock(&mroce_links_lock);
}

/**
 * mroce_link_kill_ndev - a netdev goes, or moves to another namespace
 * @ndev: the netdev
 *
 * From the notifier, RTNL held: unregistration is queued, as it takes RTNL. A
 * device that is not registered yet gives no reference; newlink looks again
 * afterwards.
 */
void mroce_link_kill_ndev(struct net_device *ndev)
{
	struct mroce_dev *dev;

	mutex_lock(&mroce_links_lock);
	list_for_each_entry(dev, &mroce_links, list) {
		if (rcu_access_pointer(dev->ndev) != ndev)
			continue;
		mroce_net_dev_detach(dev);
		if (ib_device_try_get(&dev->ib_dev)) {
			mroce_qp_fail_all(dev);
			ib_unregister_device_queued(&dev->ib_dev);
			ib_device_put(&dev->ib_dev);
		}
	}
	mutex_unlock(&mroce_links_lock);
}

/**
 * mroce_link_kill_net - end all links of a namespace
 * @net: the namespace; NULL: any
 *
 * Synchronous: when it returns the devices are unregistered and deallocated,
 * whoever began it. Takes RTNL. Nobody can add a link to @net meanwhile: its
 * netlink sockets are gone (or, at module exit, the link ops).
 */
void mroce_link_kill_net(struct net *net)
{
	struct mroce_dev *dev, *found;

	do {
		found = NULL;
		mutex_lock(&mroce_links_lock);
		list_for_each_entry(dev, &mroce_links, list) {
			if (dev->registered && !dev->dead &&
			    (!net || dev->net == net)) {
				get_device(&dev->ib_dev.dev);
				found = dev;
				break;
			}
		}
		mutex_unlock(&mroce_links_lock);
		if (found) {
			ib_unregister_device(&found->ib_dev);
			put_device(&found->ib_dev.dev);
		}
	} while (found);
}

/**
 * mroce_link_rescan - read addresses of lo and tun links again
 *
 * The core follows those of Ethernet netdevs only. Takes RTNL inside, so not
 * under the mutex.
 */
void mroce_link_rescan(void)
{
	struct mroce_dev *dev, *found;
	u32 i, skip = 0;

	do {
		found = NULL;
		i = 0;
		mutex_lock(&mroce_links_lock);
		list_for_each_entry(dev, &mroce_links, list) {
			if (i++ < skip || !dev->raw_ip ||
			    !ib_device_try_get(&dev->ib_dev))
				continue;
			found = dev;
			break;
		}
		mutex_unlock(&mroce_links_lock);
		skip = i;
		if (found) {
			rdma_roce_rescan_device(&found->ib_dev);
			ib_device_put(&found->ib_dev);
		}
	} while (found);
}

int mroce_link_init(void)
{
	mroce_reap_wq = alloc_workqueue("metaroce_reap", WQ_UNBOUND, 0);
	if (!mroce_reap_wq)
		return -ENOMEM;
	mroce_debugfs_init();
	rdma_link_register(&mroce_link_ops);
	return 0;
}

/* See step 3 above. */
void mroce_link_exit(void)
{
	rdma_link_unregister(&mroce_link_ops);
	mroce_link_kill_net(NULL);
	destroy_workqueue(mroce_reap_wq);
	mroce_debugfs_exit();
}
