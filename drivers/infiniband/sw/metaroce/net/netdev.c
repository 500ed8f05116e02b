// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to netdevs and their addresses.
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>

#include "net.h"

static void mroce_rescan_fn(struct work_struct *work)
{
	mroce_link_rescan();
}

static DECLARE_WORK(mroce_rescan_work, mroce_rescan_fn);

static bool mroce_is_raw_ip(const struct net_device *ndev)
{
	return ndev->type == ARPHRD_LOOPBACK || ndev->type == ARPHRD_NONE;
}

static void mroce_planes_fn(struct work_struct *work)
{
	mroce_plane_event(NULL);
}

static DECLARE_WORK(mroce_planes_work, mroce_planes_fn);

/*
 * The core follows addresses of Ethernet netdevs only. The scan takes RTNL,
 * which notifiers may hold.
 */
static void mroce_addr_changed(const struct net_device *ndev)
{
	/* Perhaps that of a plane; this may be an atomic notifier. */
	queue_work(mroce_misc_wq, &mroce_planes_work);
	if (mroce_is_raw_ip(ndev))
		queue_work(mroce_misc_wq, &mroce_rescan_work);
}

static int mroce_netdev_event(struct notifier_block *nb, unsigned long event,
			      void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);

	switch (event) {
	case NETDEV_UP:
		mroce_addr_changed(ndev);
		fallthrough;
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		mroce_link_each(ndev, mroce_port_event);
		mroce_plane_event(ndev);
		break;
	case NETDEV_UNREGISTER:
		/* Also sent when it moves to another namespace. */
		mroce_link_kill_ndev(ndev);
		mroce_plane_drop_ndev(ndev);
		break;
	}
	return NOTIFY_DONE;
}

static int mroce_inetaddr_event(struct notifier_block *nb,
				unsigned long event, void *ptr)
{
	const struct in_ifaddr *ifa = ptr;

	mroce_addr_changed(ifa->ifa_dev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block mroce_netdev_nb = {
	.notifier_call = mroce_netdev_event,
};

static struct notifier_block mroce_inetaddr_nb = {
	.notifier_call = mroce_inetaddr_event,
};

#if IS_ENABLED(CONFIG_IPV6)
static int mroce_inet6addr_event(struct notifier_block *nb,
				 unsigned long event, void *ptr)
{
	const struct inet6_ifaddr *ifa = ptr;

	mroce_addr_changed(ifa->idev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block mroce_inet6addr_nb = {
	.notifier_call = mroce_inet6addr_event,
};
#endif

int mroce_netdev_init(void)
{
	int err;

	err = register_netdevice_notifier(&mroce_netdev_nb);
	if (err)
		return err;
	err = register_inetaddr_notifier(&mroce_inetaddr_nb);
	if (err)
		goto err_netdev;
#if IS_ENABLED(CONFIG_IPV6)
	err = register_inet6addr_notifier(&mroce_inet6addr_nb);
	if (err)
		goto err_inet;
#endif
	return 0;

#if IS_ENABLED(CONFIG_IPV6)
err_inet:
	unregister_inetaddr_notifier(&mroce_inetaddr_nb);
#endif
err_netdev:
	unregister_netdevice_notifier(&mroce_netdev_nb);
	return err;
}

void mroce_netdev_exit(void)
{
#if IS_ENABLED(CONFIG_IPV6)
	unregister_inet6addr_notifier(&mroce_inet6addr_nb);
#endif
	unregister_inetaddr_notifier(&mroce_inetaddr_nb);
	unregister_netdevice_notifier(&mroce_netdev_nb);
	cancel_work_sync(&mroce_rescan_work);
	cancel_work_sync(&mroce_planes_work);
}
