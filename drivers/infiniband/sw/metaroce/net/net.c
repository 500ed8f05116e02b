// SPDX-License-Identifier: GPL-2.0
/*
 * The doors of net/: what verbs/ and ctl/ call.
 */
#include "net.h"

static void mroce_op_conn_put(struct mroce_conn *c)
{
	mroce_nconn_put(to_nconn(c));
}

static void mroce_op_lock(struct mroce_conn *c)
	__acquires(&to_nconn(c)->lock)
{
	spin_lock_bh(&to_nconn(c)->lock);
}

static void mroce_op_unlock(struct mroce_conn *c)
	__releases(&to_nconn(c)->lock)
{
	spin_unlock_bh(&to_nconn(c)->lock);
}

static void mroce_op_kick(struct mroce_conn *c)
{
	mroce_tx_kick(to_nconn(c));
}

static void mroce_op_kick_later(struct mroce_conn *c)
{
	mroce_nconn_kick_later(to_nconn(c));
}

static void mroce_op_schedule(struct mroce_dev *dev)
{
	mroce_net_schedule(dev->mnet);
}

static u64 mroce_op_now(void)
{
	return mroce_now();
}

const struct mroce_net_ops mroce_net_ops = {
	.conn_get = mroce_nconn_get,
	.conn_put = mroce_op_conn_put,
	.lock = mroce_op_lock,
	.unlock = mroce_op_unlock,
	.kick = mroce_op_kick,
	.kick_later = mroce_op_kick_later,
	.dgram_send = mroce_dgram_send,
	.schedule = mroce_op_schedule,
	.gid_add = mroce_gid_add,
	.gid_del = mroce_gid_del,
	.mcast_join = mroce_mcast_join,
	.mcast_leave = mroce_mcast_leave,
	.counters = mroce_nconn_counters,
	.now = mroce_op_now,
};

/* See mroce_nconn_each(). */
void mroce_net_dev_conns(struct mroce_dev *dev,
			 void (*fn)(const struct mroce_conn *c,
				    const struct mroce_addr *a, void *arg),
			 void *arg)
{
	mroce_nconn_each(dev, fn, arg);
}

/**
 * mroce_net_dev_add - set up net/'s part of a device
 * @dev: new, with its counters
 * @ndev: its netdev, held by the caller
 *
 * May sleep. Opens the sockets of the namespace if this is its first user.
 * Return: 0 or -errno; then nothing is to be undone.
 */
int mroce_net_dev_add(struct mroce_dev *dev, struct net_device *ndev)
{
	struct mroce_net *mn;

	spin_lock_init(&dev->conn_lock);
	INIT_LIST_HEAD(&dev->conns);
	INIT_LIST_HEAD(&dev->gids);
	mutex_init(&dev->group_lock);
	mutex_init(&dev->plane_lock);
	INIT_LIST_HEAD(&dev->groups);

	mn = mroce_net_get(dev->net);
	if (IS_ERR(mn))
		return PTR_ERR(mn);
	dev->mnet = mn;
	netdev_hold(ndev, &dev->ndev_tracker, GFP_KERNEL);
	rcu_assign_pointer(dev->ndev, ndev);
	return 0;
}

/**
 * mroce_net_dev_detach - let go of the netdev
 * @dev: the device
 *
 * Once the pointer is NULL nobody takes a new reference; who read it before
 * is inside an RCU section, which netdev unregistration waits for.
 */
void mroce_net_dev_detach(struct mroce_dev *dev)
{
	struct net_device *ndev;

	ndev = unrcu_pointer(xchg(&dev->ndev, NULL));
	if (ndev)
		netdev_put(ndev, &dev->ndev_tracker);
}

/**
 * mroce_net_dev_del - take net/'s part of a device down
 * @dev: unregistered, or never registered
 *
 * 1. All QPs are gone, so no stream is attached and nobody asks for a
 *    connection; GIDs were deleted by the core.
 * 2. After the grace period no receive pass finds the device by address.
 * 3. Connections are freed: none is left that points to the device.
 * 4. Nobody schedules the NAPI for this device any more; the namespace's
 *    object may go.
 */
void mroce_net_dev_del(struct mroce_dev *dev)
{
	mroce_net_dev_detach(dev);
	mroce_mcast_leave_all(dev);
	mroce_gid_del_all(dev);
	synchronize_net();
	mroce_nconn_kill_dev(dev);
	mroce_net_put(dev->mnet);
	dev->mnet = NULL;
}

int mroce_net_init(void)
{
	int err;

	err = mroce_rx_init();
	if (err)
		return err;
	err = mroce_tx_init();
	if (err)
		goto err_rx;
	err = mroce_netns_init();
	if (err)
		goto err_tx;
	err = mroce_netdev_init();
	if (err)
		goto err_netns;
	return 0;

err_netns:
	mroce_netns_exit();
err_tx:
	mroce_tx_exit();
err_rx:
	mroce_rx_exit();
	return err;
}

/* No link is left. */
void mroce_net_exit(void)
{
	mroce_netdev_exit();
	mroce_netns_exit();
	/* Callbacks of call_rcu() are none of ours, but kfree_rcu() batches. */
	rcu_barrier();
	mroce_tx_exit();
	mroce_rx_exit();
}
