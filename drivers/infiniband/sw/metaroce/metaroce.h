/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What verbs/, net/ and ctl/ share: the device, addresses, and the two ops
 * tables through which verbs/ and net/ meet. wire/ and core/ never include
 * this file.
 */
#ifndef METAROCE_H
#define METAROCE_H

#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/mempool.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "core/core.h"

#define MROCE_UVERBS_ABI	2	/* of rdma_user_rxe.h */

struct mroce_net;		/* net/: per-namespace sockets and tables */

/* Drops before a connection is found; per CPU, summed by ctl/. */
#define MROCE_DEV_COUNTERS(X)						\
	X(RX_CSUM,	"rcvd_bad_checksum")				\
	X(RX_SHORT,	"rcvd_short")					\
	X(RX_VERSION,	"rcvd_bad_version")				\
	X(RX_TYPE,	"rcvd_bad_type")				\
	X(RX_OPCODE,	"rcvd_bad_opcode")				\
	X(RX_FLAGS,	"rcvd_bad_flags")				\
	X(RX_LENGTH,	"rcvd_bad_length")				\
	X(RX_FIELD,	"rcvd_bad_field")				\
	X(RX_NOCONN,	"rcvd_unknown_connection")			\
	X(RX_SADDR,	"rcvd_bad_source")				\
	X(RX_SPORT,	"rcvd_bad_source_port")				\
	X(RX_INIT_IGN,	"rcvd_init_ignored")	/* no QP wants the peer */ \
	X(CONN_LIMIT,	"connections_refused")	/* too many; see net.h */ \
	X(RESET_SENT,	"resets_sent")					\
	X(RX_RESET_BAD,	"rcvd_bad_reset")				\
	X(UD_SENT,	"ud_sent_pkts")					\
	X(UD_RCVD,	"ud_rcvd_pkts")					\
	X(UD_NOQP,	"ud_no_qp")					\
	X(UD_QKEY,	"ud_bad_qkey")					\
	X(UD_PKEY,	"ud_bad_pkey")					\
	X(UD_NORECV,	"ud_no_receive")				\
	X(UD_LENGTH,	"ud_bad_length")				\
	X(UC_DROP,	"uc_dropped_pkts")	/* no receive, no right */ \
	X(ODP_PAGES,	"odp_pages_mapped")	/* brought in */	\
	X(ODP_INVAL,	"odp_invalidations")				\
	X(ODP_DROP,	"odp_dropped_pkts")	/* for a missing page */ \
	X(TX_NOMEM,	"send_no_memory")				\
	X(TX_NOROUTE,	"send_no_route")				\
	X(TX_DROP,	"send_dropped")		/* NET_XMIT_DROP */	\
	X(TX_CN,	"send_congested")	/* NET_XMIT_CN */

enum mroce_dev_counter {
#define X(n, s) MROCE_DCNT_##n,
	MROCE_DEV_COUNTERS(X)
#undef X
	MROCE_N_DEV_COUNTERS
};

struct mroce_dev_stats {
	u64 cnt[MROCE_N_DEV_COUNTERS];
};

/* A netdev that was joined to a link: one of its planes, not 0. */
struct mroce_plane_dev {
	struct rcu_head rcu;
	struct net_device *ndev;	/* held as long as it is joined */
	netdevice_tracker tracker;
	struct dentry *debugfs;		/* ctl/ */
};

/**
 * struct mroce_dev - one link: an ib_device on a netdev
 *
 * Lifetime: allocated by ib_alloc_device(), freed by the core's last
 * put_device(). On ctl's list until the reaper took it off.
 */
struct mroce_dev {
	struct ib_device ib_dev;
	/* NULL from NETDEV_UNREGISTER on; RCU; holds a reference until then */
	struct net_device __rcu *ndev;
	netdevice_tracker ndev_tracker;
	struct net *net;		/* at creation; compared, never followed */
	struct mroce_net *mnet;		/* net/'s object, referenced */
	struct mroce_dev_stats __percpu *stats;
	spinlock_t conn_lock;		/* net/: conns, retired, gids */
	struct list_head conns;		/* net/: connections */
	atomic_t n_conns;		/* net/: not freed yet */
	u64 retired[MROCE_N_COUNTERS];	/* of freed connections */
	struct list_head gids;		/* net/: entries of its address table */
	struct mutex group_lock;	/* net/: groups */
	struct list_head groups;	/* net/: multicast memberships */
	u32 n_groups;
	enum ib_port_state port_state;	/* last dispatched */
	bool raw_ip;			/* not ARPHRD_ETHER: lo, tun */

	struct list_head list;		/* ctl/: all devices */
	struct work_struct reap;	/* ctl/: unload fence */
	bool listed, registered, dying, dead;	/* ctl/: under its mutex */
	bool verbs_up;			/* ctl/: mroce_verbs_setup() done */
	struct dentry *debugfs;		/* ctl/ */

	/* Planes: changed under ctl's mutex, read under RCU */
	struct mroce_plane_dev __rcu *plane[MROCE_MAX_PLANES];
	u16 plane_drain;		/* bit: id */
	u8 n_planes;			/* joined */
	struct mutex plane_lock;	/* net/: a connection hears of them */

	/* verbs/ */
	struct xarray qps;		/* QPN -> struct mroce_qp, irq-safe */
	u32 next_qpn;
	struct xarray mrs;		/* rkey >> 8 -> struct mroce_mr */
	u32 next_mr;
	struct xarray ahs;		/* ah_num -> struct mroce_ah */
	u32 next_ah;
	struct mroce_qp __rcu *gsi;	/* QP1 */
	spinlock_t mcast_lock;		/* mcasts */
	struct list_head mcasts;
	atomic_t n_pd, n_qp, n_cq, n_srq, n_mr, n_ah, n_mw, n_ctx;
	spinlock_t mmap_lock;		/* mmaps */
	struct list_head mmaps;		/* queues waiting for mmap() */
	u64 mmap_next;
	mempool_t *events;		/* async events on their way */
	struct workqueue_struct *odp_wq;
	struct llist_head odp_waiters;	/* queue pairs that want pages */
	struct mroce_share share[MROCE_MAX_PLANES]; /* offered to peers, by plane */
	u32 link_mbps;			/* of the netdev, as last read */
	bool link_stale;		/* read it again */
	struct list_head guid_node;	/* device.c: all devices */
};

static inline struct mroce_dev *to_mdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct mroce_dev, ib_dev);
}

static inline void mroce_dev_count(struct mroce_dev *dev,
				   enum mroce_dev_counter c)
{
	this_cpu_inc(dev->stats->cnt[c]);
}

/*
 * Multicast groups of a device. All are members of one socket per family, and
 * the kernel's default for IPv4 is no more (net.ipv4.igmp_max_memberships).
 */
#define MROCE_MAX_MCAST_GRP	20

/* An address pair; IPv4 is v4-mapped. */
struct mroce_addr {
	struct in6_addr saddr, daddr;
	int ifindex;		/* of the source GID's netdev */
	u8 tclass;
	u8 hop_limit;
	u32 flow_label;
	bool v4;		/* both are IPv4 */
};

/*
 * A user context as one that asks for connections. It may have gone when the
 * last of them ends, so this is apart from it.
 */
struct mroce_asker {
	refcount_t ref;
	atomic_t n_half;	/* its connections that are not open */
};

static inline void mroce_asker_put(struct mroce_asker *asker)
{
	if (asker && refcount_dec_and_test(&asker->ref))
		kfree(asker);
}

/* A datagram that came in (UD, GSI). */
struct mroce_dgram_rx {
	const struct mroce_pkt *pkt;
	struct mroce_addr addr;	/* saddr: the peer; daddr: ours */
	u8 grh[40];		/* as verbs wants it in front of the payload */
	u16 vlan;		/* VLAN id, or 0xffff */
	u8 smac[ETH_ALEN];
	bool multicast;
	u32 len;		/* payload bytes */
	mroce_copy_fn copy;	/* copies payload out of @src */
	void *src;
};

/* A datagram to send. @fill writes exactly @len bytes. */
struct mroce_dgram_tx {
	struct mroce_pkt pkt;	/* type DATAGRAM, opcode 0, flags, dgram */
	struct mroce_addr addr;
	u32 len;
	int (*fill)(void *arg, void *dst, u32 len);
	void *arg;
};

/* Downwards: implemented by net/, called by verbs/ and ctl/. */
struct mroce_net_ops {
	/*
	 * The connection of an address pair, made if there is none. Takes a
	 * reference. @net: namespace of the source GID's netdev. @asker: NULL
	 * for the kernel. May sleep. ERR_PTR on failure.
	 */
	struct mroce_conn *(*conn_get)(struct mroce_dev *dev, struct net *net,
				       const struct mroce_addr *a,
				       struct mroce_asker *asker);
	void (*conn_put)(struct mroce_conn *c);
	/* BH off, not with interrupts off. Never two at a time. */
	void (*lock)(struct mroce_conn *c);
	void (*unlock)(struct mroce_conn *c);
	/* Send what is pending and set the timer; no lock held. BH or process
	 * context, interrupts on. Cheap when nothing is pending.
	 */
	void (*kick)(struct mroce_conn *c);
	/* Any context, also with interrupts off: kick later, from the NAPI. */
	void (*kick_later)(struct mroce_conn *c);
	/* Build and send one datagram. Interrupts on. 0 or -errno; a local
	 * drop is not an error of an unreliable datagram.
	 */
	int (*dgram_send)(struct mroce_dev *dev, struct net *net,
			  const struct mroce_dgram_tx *d);
	/* Make the device's NAPI run soon: verbs' run_later() is called. Any
	 * context.
	 */
	void (*schedule)(struct mroce_dev *dev);
	/* GID table: local address -> device, per namespace. @attr of the
	 * core's add_gid/del_gid; no RTNL inside.
	 */
	int (*gid_add)(struct mroce_dev *dev, const struct ib_gid_attr *attr);
	void (*gid_del)(struct mroce_dev *dev, const struct ib_gid_attr *attr);
	/* Multicast membership of the link for UD. May sleep. */
	int (*mcast_join)(struct mroce_dev *dev, const struct in6_addr *group);
	void (*mcast_leave)(struct mroce_dev *dev, const struct in6_addr *group);
	/* Sum of the counters of the device's live and freed connections. */
	void (*counters)(struct mroce_dev *dev, u64 sum[MROCE_N_COUNTERS]);
	/* now, the clock of core: ns */
	u64 (*now)(void);
};

/* Upwards: implemented by verbs/, called by net/. */
struct mroce_verbs_ops {
	/* Softirq. The packet belongs to the caller. */
	void (*dgram_rx)(struct mroce_dev *dev, const struct mroce_dgram_rx *d);
	/* conn_ops->find(): QP's stream by QPN; connection lock held, RCU. */
	struct mroce_stream *(*find)(struct mroce_dev *dev, u32 qpn);
	/* End of every NAPI poll, no lock held, BH off: completion and async
	 * event handlers that were collected, sends that came with interrupts
	 * off. @wait: not yet the completion handlers. Returns true if it wants
	 * to be called again.
	 */
	bool (*run_later)(struct mroce_net *mnet, bool wait);
};

extern const struct mroce_net_ops mroce_net_ops;
extern const struct mroce_verbs_ops mroce_verbs_ops;

/* What net/ keeps for verbs/ per namespace: filled by verbs, drained by
 * run_later(). Embedded first in struct mroce_net.
 */
struct mroce_later {
	struct llist_head cqs;		/* struct mroce_cq */
	struct llist_head qps;		/* sends posted with interrupts off */
	struct llist_head events;	/* async events */
	unsigned long running;		/* bit 0: somebody drains events */
};

/* verbs/device.c */
int mroce_verbs_setup(struct mroce_dev *dev);	/* before registration */
void mroce_verbs_cleanup(struct mroce_dev *dev);	/* dealloc_driver */
void mroce_port_event(struct mroce_dev *dev);	/* state may have changed */
void mroce_qp_fail_all(struct mroce_dev *dev);
struct net_device *mroce_get_netdev(struct ib_device *ibdev, u32 port);

/* net/ */
int mroce_net_init(void);
void mroce_net_exit(void);
int mroce_net_dev_add(struct mroce_dev *dev, struct net_device *ndev);
void mroce_net_dev_del(struct mroce_dev *dev);	/* all QPs are gone */
void mroce_net_dev_detach(struct mroce_dev *dev);	/* netdev goes */
/* Each connection, with its lock held; for dumps. */
void mroce_net_dev_conns(struct mroce_dev *dev,
			 void (*fn)(const struct mroce_conn *c,
				    const struct mroce_addr *a, void *arg),
			 void *arg);
void mroce_net_planes_changed(struct mroce_dev *dev);	/* may sleep */
struct mroce_later *mroce_net_later(struct mroce_net *mnet);

/* ctl/ */
int mroce_link_init(void);
void mroce_link_exit(void);
/* Unregister the links of a netdev or namespace (NULL: any). */
void mroce_link_kill_ndev(struct net_device *ndev);	/* queued; RTNL ok */
void mroce_link_kill_net(struct net *net);		/* synchronous */
/* Call @fn for the links of a netdev (NULL: all), under ctl's mutex. */
void mroce_link_each(struct net_device *ndev, void (*fn)(struct mroce_dev *));
void mroce_link_rescan(void);	/* GIDs of lo and tun links; takes RTNL */
void mroce_plane_event(struct net_device *ndev);	/* NULL: an address */
void mroce_plane_drop_ndev(struct net_device *ndev);	/* RTNL */
struct rdma_hw_stats *mroce_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port);
int mroce_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index);

#endif /* METAROCE_H */
