// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The device and its port, as verbs see them.
 */
#include <linux/ethtool.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>

#include "verbs.h"

#ifndef MROCE_GID_TABLE_LEN
#define MROCE_GID_TABLE_LEN	1024
#endif
#define MROCE_FW_MAJOR		1U
#define MROCE_VENDOR_ID		0xffffff
/* IB_DEVICE_ATOMIC_WRITE; the oldest kernels have no name for the bit. */
#define MROCE_CAP_ATOMIC_WRITE	BIT_ULL(40)
#define MROCE_DEF_MBPS		SPEED_10000	/* netdevs without a speed */

/* All devices, for GUIDs of which no two are equal. */
static DEFINE_MUTEX(guid_mutex);
static LIST_HEAD(guid_devs);

/* ---- netdev ------------------------------------------------------------- */

/**
 * mroce_get_netdev - netdev of the port
 * @ibdev: device
 * @port: 1
 *
 * The core calls this from mutexes, netlink dumps and workers: it neither
 * sleeps nor takes the RTNL, and gives a plain reference, since the core drops
 * it with dev_put(). From NETDEV_UNREGISTER on there is none: only one of the
 * supported kernels would see by itself that the netdev is going.
 *
 * This op is also why the core knows the netdev at all. Never use
 * ib_device_set_netdev(): it enters the device into the hash in which rdma_rxe
 * looks for devices with its driver id, which is ours too, and it takes what
 * it finds for a struct rxe_dev.
 *
 * Return: the netdev, or NULL.
 */
struct net_device *mroce_get_netdev(struct ib_device *ibdev, u32 port)
{
	struct mroce_dev *dev = to_mdev(ibdev);
	struct net_device *ndev;

	if (port != 1)
		return NULL;
	rcu_read_lock();
	ndev = rcu_dereference(dev->ndev);
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

static enum ib_port_state ndev_state(const struct net_device *ndev)
{
	return ndev && netif_running(ndev) && netif_carrier_ok(ndev) ?
	       IB_PORT_ACTIVE : IB_PORT_DOWN;
}

/**
 * mroce_port_event - the netdev may have changed its state
 * @dev: device
 *
 * From the netdev notifier, under the RTNL, and after registration. Tells
 * consumers of a change; the core does not, on any kernel, for devices that
 * are not in its netdev hash.
 */
void mroce_port_event(struct mroce_dev *dev)
{
	struct net_device *ndev = mroce_get_netdev(&dev->ib_dev, 1);
	enum ib_port_state state = ndev_state(ndev);

	dev_put(ndev);
	WRITE_ONCE(dev->link_stale, true);
	if (xchg(&dev->port_state, state) != state)
		mroce_dispatch_port_state(&dev->ib_dev, 1, state);
}

/**
 * mroce_link_mbps - speed of the netdev
 * @dev: device
 * @ndev: its netdev, or NULL
 *
 * Kept in dev->link_mbps for those who cannot read it. It takes the RTNL to
 * read it, so that is done after a change only, and not at all while somebody
 * else has it: queries must not wait for the RTNL, and may come from its holder.
 *
 * May sleep. Return: Mbit/s as last read; 0: unknown.
 */
u32 mroce_link_mbps(struct mroce_dev *dev, struct net_device *ndev)
{
	struct ethtool_link_ksettings ks = {};

	if (ndev && READ_ONCE(dev->link_stale) && rtnl_trylock()) {
		u32 mbps = 0;

		WRITE_ONCE(dev->link_stale, false);
		if (ndev->reg_state == NETREG_REGISTERED &&
		    !__ethtool_get_link_ksettings(ndev, &ks) &&
		    ks.base.speed != (u32)SPEED_UNKNOWN)
			mbps = ks.base.speed;
		WRITE_ONCE(dev->link_mbps, mbps);
		rtnl_unlock();
	}
	return READ_ONCE(dev->link_mbps);
}

static void mbps_to_ib(u32 mbps, u16 *speed, u8 *width)
{
	static const struct {
		u32 mbps;
		u16 speed;
		u8 width;
	} tab[] = {
		{ SPEED_1000, IB_SPEED_SDR, IB_WIDTH_1X },
		{ SPEED_10000, IB_SPEED_FDR10, IB_WIDTH_1X },
		{ SPEED_20000, IB_SPEED_DDR, IB_WIDTH_4X },
		{ SPEED_25000, IB_SPEED_EDR, IB_WIDTH_1X },
		{ SPEED_40000, IB_SPEED_FDR10, IB_WIDTH_4X },
		{ SPEED_50000, IB_SPEED_EDR, IB_WIDTH_2X },
		{ SPEED_100000, IB_SPEED_EDR, IB_WIDTH_4X },
		{ SPEED_200000, IB_SPEED_HDR, IB_WIDTH_4X },
		{ SPEED_400000, IB_SPEED_NDR, IB_WIDTH_4X },
		{ U32_MAX, IB_SPEED_NDR, IB_WIDTH_8X },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(tab) - 1 && mbps > tab[i].mbps; i++)
		;
	*speed = tab[i].speed;
	*width = tab[i].width;
}

/* ---- queries ------------------------------------------------------------ */

static int mroce_query_device(struct ib_device *ibdev,
			      struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	/* The newest kernels pass no udata while they register the device. */
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;

	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = (u64)MROCE_FW_MAJOR << 32;
	attr->sys_image_guid = ibdev->node_guid;
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = 0xfffff000;
	attr->vendor_id = MROCE_VENDOR_ID;
	attr->vendor_part_id = 1;
	attr->hw_ver = 1;
	attr->max_qp = MROCE_MAX_QP;
	attr->max_qp_wr = MROCE_MAX_QP_WR;
	attr->device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR |
				 IB_DEVICE_BAD_QKEY_CNTR |
				 IB_DEVICE_UD_AV_PORT_ENFORCE |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_SRQ_RESIZE |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 MROCE_CAP_ATOMIC_WRITE;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG;
	attr->max_send_sge = MROCE_MAX_SGE;
	attr->max_recv_sge = MROCE_MAX_SGE;
	attr->max_sge_rd = MROCE_MAX_SGE;
	attr->max_cq = MROCE_MAX_CQ;
	attr->max_cqe = MROCE_MAX_CQE;
	attr->max_mr = MROCE_MAX_MR;
	attr->max_mw = MROCE_MAX_MW;
	attr->max_pd = MROCE_MAX_PD;
	attr->max_qp_rd_atom = MROCE_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom = MROCE_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = MROCE_MAX_RD_ATOMIC * 8192;
	attr->atomic_cap = IS_ENABLED(CONFIG_64BIT) ? IB_ATOMIC_GLOB :
						      IB_ATOMIC_HCA;
	attr->max_mcast_grp = MROCE_MAX_MCAST_GRP;
	attr->max_mcast_qp_attach = MROCE_MAX_MCAST_QP;
	attr->max_total_mcast_qp_attach = MROCE_MAX_MCAST_GRP *
					  MROCE_MAX_MCAST_QP;
	attr->max_ah = MROCE_MAX_AH;
	attr->max_srq = MROCE_MAX_SRQ;
	attr->max_srq_wr = MROCE_MAX_SRQ_WR;
	attr->max_srq_sge = MROCE_MAX_SRQ_SGE;
	attr->max_fast_reg_page_list_len = MROCE_MAX_FAST_REG;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = 15;
	mroce_odp_attr(attr);
	return 0;
}

u64 mroce_dev_sum(struct mroce_dev *dev, enum mroce_dev_counter c)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->stats, cpu)->cnt[c]);
	return sum;
}

static int mroce_query_port(struct ib_device *ibdev, u32 port,
			    struct ib_port_attr *attr)
{
	struct mroce_dev *dev = to_mdev(ibdev);
	struct net_device *ndev;

	if (port != 1)
		return -EINVAL;
	attr->max_mtu = IB_MTU_4096;
	attr->gid_tbl_len = MROCE_GID_TABLE_LEN;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = MROCE_MAX_MSG;
	attr->bad_pkey_cntr = mroce_dev_sum(dev, MROCE_DCNT_UD_PKEY);
	attr->qkey_viol_cntr = mroce_dev_sum(dev, MROCE_DCNT_UD_QKEY);
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;

	/* Without a netdev any more the port is there, and down. */
	ndev = mroce_get_netdev(ibdev, 1);
	attr->state = ndev_state(ndev);
	attr->active_mtu = ndev ? iboe_get_mtu(READ_ONCE(ndev->mtu)) : 0;
	if (!attr->active_mtu)
		attr->active_mtu = IB_MTU_256;
	if (attr->state == IB_PORT_ACTIVE)
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	else if (ndev && netif_running(ndev))
		attr->phys_state = IB_PORT_PHYS_STATE_POLLING;
	else
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	mbps_to_ib(mroce_link_mbps(dev, ndev) ?: MROCE_DEF_MBPS,
		   &attr->active_speed, &attr->active_width);
	dev_put(ndev);
	return 0;
}

static int mroce_query_pkey(struct ib_device *ibdev, u32 port, u16 index,
			    u16 *pkey)
{
	if (port != 1 || index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

static enum rdma_link_layer mroce_get_link_layer(struct ib_device *ibdev,
						 u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int mroce_get_port_immutable(struct ib_device *ibdev, u32 port,
				    struct ib_port_immutable *im)
{
	if (port != 1)
		return -EINVAL;
	im->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	im->pkey_tbl_len = 1;
	im->gid_tbl_len = MROCE_GID_TABLE_LEN;
	im->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static void mroce_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.0.0", MROCE_FW_MAJOR);
}

static int mroce_modify_device(struct ib_device *ibdev, int mask,
			       struct ib_device_modify *attr)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, attr->node_desc,
		       sizeof(ibdev->node_desc));
	return 0;
}

/* ---- GIDs --------------------------------------------------------------- */

static int mroce_add_gid(const struct ib_gid_attr *attr, void **context)
{
	return mroce_net_ops.gid_add(to_mdev(attr->device), attr);
}

static int mroce_del_gid(const struct ib_gid_attr *attr, void **context)
{
	mroce_net_ops.gid_del(to_mdev(attr->device), attr);
	return 0;
}

/* ---- set-up ------------------------------------------------------------- */

static bool guid_taken(__be64 guid)
{
	struct mroce_dev *dev;

	list_for_each_entry(dev, &guid_devs, guid_node)
		if (dev->ib_dev.node_guid == guid)
			return true;
	return false;
}

/*
 * From the MAC, as others do it. Not all netdevs have one, and several may have
 * the same, while a GUID tells devices apart: make one up then, marked as
 * locally administered.
 */
static void guid_set(struct mroce_dev *dev, const struct net_device *ndev)
{
	__be64 guid = 0;

	mutex_lock(&guid_mutex);
	if (ndev->addr_len == ETH_ALEN && is_valid_ether_addr(ndev->dev_addr))
		addrconf_addr_eui48((u8 *)&guid, ndev->dev_addr);
	while (!guid || guid_taken(guid)) {
		get_random_bytes(&guid, sizeof(guid));
		/* EUI-64: universal/local bit inverted, not a group */
		*(u8 *)&guid &= ~3;
	}
	dev->ib_dev.node_guid = guid;
	list_add(&dev->guid_node, &guid_devs);
	mutex_unlock(&guid_mutex);
}

/**
 * mroce_verbs_setup - before registration
 * @dev: zeroed, with its netdev
 *
 * Return: 0 or -errno; then nothing is to be cleaned up.
 */
int mroce_verbs_setup(struct mroce_dev *dev)
{
	struct ib_device *ibdev = &dev->ib_dev;
	struct net_device *ndev;
	int err;

	ndev = mroce_get_netdev(ibdev, 1);
	if (!ndev)
		return -ENODEV;
	err = mroce_later_setup(dev);
	if (err)
		goto out;
	err = mroce_odp_setup(dev);
	if (err) {
		mroce_later_cleanup(dev);
		goto out;
	}

	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	/* Not where the last device of that name began. */
	dev->next_qpn = get_random_u32() & 0xffffff;
	dev->next_mr = get_random_u32() & 0xffffff;
	spin_lock_init(&dev->mcast_lock);
	INIT_LIST_HEAD(&dev->mcasts);
	spin_lock_init(&dev->mmap_lock);
	INIT_LIST_HEAD(&dev->mmaps);
	dev->mmap_next = PAGE_SIZE;
	dev->link_stale = true;
	dev->port_state = ndev_state(ndev);

	strscpy(ibdev->node_desc, "metaroce", sizeof(ibdev->node_desc));
	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	/* The doorbells of the rxe provider are these two write() commands. */
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				  BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	guid_set(dev, ndev);

	ib_set_device_ops(ibdev, &mroce_dev_ops);
	ib_set_device_ops(ibdev, &mroce_pd_ops);
	ib_set_device_ops(ibdev, &mroce_ah_ops);
	ib_set_device_ops(ibdev, &mroce_cq_ops);
	ib_set_device_ops(ibdev, &mroce_mr_ops);
	ib_set_device_ops(ibdev, &mroce_mw_ops);
	if (MROCE_ACCESS_ODP)
		ib_set_device_ops(ibdev, &mroce_odp_ops);
	ib_set_device_ops(ibdev, &mroce_srq_ops);
	ib_set_device_ops(ibdev, &mroce_qp_ops);
	ib_set_device_ops(ibdev, &mroce_mad_ops);
out:
	dev_put(ndev);
	return err;
}

/**
 * mroce_verbs_cleanup - after the last object is gone
 * @dev: device that was set up
 *
 * 1. Unregistered, or never registered: all objects are destroyed, and each
 *    destroy function has waited for its users.
 * 2. No event is on its way: destroying an object flushes them.
 * 3. Tables are empty.
 */
void mroce_verbs_cleanup(struct mroce_dev *dev)
{
	WARN_ON(!xa_empty(&dev->qps) || !xa_empty(&dev->mrs) ||
		!xa_empty(&dev->ahs));
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->ahs);
	mroce_odp_cleanup(dev);
	mroce_later_cleanup(dev);

	mutex_lock(&guid_mutex);
	list_del(&dev->guid_node);
	mutex_unlock(&guid_mutex);
}

/*
 * No XRC or flow steering: the core answers
 * -EOPNOTSUPP for them.
 */
const struct ib_device_ops mroce_dev_ops = {
	.owner = THIS_MODULE,
	/* The one place that says which provider drives the device. */
	.driver_id = RDMA_DRIVER_RXE,
	.uverbs_abi_ver = MROCE_UVERBS_ABI,

	.query_device = mroce_query_device,
	.modify_device = mroce_modify_device,
	.query_port = mroce_query_port,
	.query_pkey = mroce_query_pkey,
	.get_port_immutable = mroce_get_port_immutable,
	.get_link_layer = mroce_get_link_layer,
	.get_netdev = mroce_get_netdev,
	.get_dev_fw_str = mroce_get_dev_fw_str,
	.add_gid = mroce_add_gid,
	.del_gid = mroce_del_gid,
	.alloc_hw_port_stats = mroce_alloc_hw_port_stats,
	.get_hw_stats = mroce_get_hw_stats,
};
