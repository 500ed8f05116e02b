/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net/'s own: namespaces, sockets, connections with their lock, timer and
 * addresses. No other room includes this file.
 *
 * Locks, outermost first:
 *   mroce_pernet_lock	mutex: namespaces' objects come and go; inside RTNL
 *   mn->close_lock	mutex: a connection is made, or all is closed
 *   dev->plane_lock	mutex: a connection is told the device's planes
 *   mn->lock		_bh: tables of connections, GIDs and groups
 *   nc->lock		_bh: the connection (core's lock). Taken with none of
 *			the above held; no lock of net/ is taken inside, but
 *			hrtimers are started. Never two at a time.
 *   dev->conn_lock	_bh leaf: a device's connections and GIDs
 *   dev->group_lock	mutex, RTNL inside: a device's multicast groups
 * None is held in ip_local_out().
 */
#ifndef MROCE_NET_H
#define MROCE_NET_H

#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/dst.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/udp.h>

#include "../metaroce.h"

#define MROCE_RCVBUF		(32 << 20)	/* bytes per socket */
#define MROCE_TX_BATCH		32	/* packets built under one lock */
#define MROCE_TX_ROUNDS		8	/* batches before others get the CPU */
#define MROCE_TX_INFLIGHT	(512 << 10)	/* bytes in qdiscs, see tx.c */
#define MROCE_RX_BATCH		64	/* packets per pass */
/*
 * Larger packets (lo has an MTU of 64 KiB) would need more page fragments than
 * a packet descriptor has: eight pages, wherever they begin.
 */
#define MROCE_MAX_MTU		(8 * 4096 + 256)
#define MROCE_CONN_BITS		10
#define MROCE_GID_BITS		6
#define MROCE_MAX_CONNS		65535	/* per namespace: 16-bit index */
#define MROCE_MAX_HALF		4096	/* of those, not open (rule 45), */
#define MROCE_MAX_HALF_ASKER	256	/* and of one user context */

struct mroce_net;

/* One socket, drained by its NAPI. */
struct mroce_sock {
	struct mroce_net *mn;
	struct socket *sock;		/* NULL: family not available */
	struct napi_struct napi;
	void (*saved_data_ready)(struct sock *sk);
	bool waited;			/* handlers were put off once */
};

/* Sockets per namespace: [0] IPv4, [1] IPv6. */
#define MROCE_N_SOCKS		2
#define MROCE_SOCK_V4		0
#define MROCE_SOCK_V6		1

/* RESETs per second, in all and to one (hash of) address. */
#define MROCE_RESET_RATE	100
#define MROCE_RESET_RATE_ADDR	10
#define MROCE_RESET_BUCKETS	64

struct mroce_ratelimit {
	spinlock_t lock;		/* leaf, softirq only */
	unsigned long start;		/* jiffies */
	u16 total;
	u8 per_addr[MROCE_RESET_BUCKETS];
};

/**
 * struct mroce_net - what a namespace has: sockets and tables
 *
 * Made with the first link or GID in the namespace, references are held by
 * devices, GID entries and connections. The last put closes it from a work
 * item; namespace exit closes it earlier, and the empty object stays until the
 * last put.
 */
struct mroce_net {
	struct mroce_later later;	/* first: verbs/ casts */
	struct kref ref;
	struct net *net;		/* valid until dead, see below */
	bool dead;			/* sockets are gone, nothing is sent */
	struct mutex close_lock;	/* closed */
	bool closed;
	struct net_device *napi_dev;
	struct mroce_sock socks[MROCE_N_SOCKS];
	struct llist_head kicks;	/* nconns to kick from the NAPI */
	struct work_struct napi_work;	/* see mroce_net_schedule() */
	struct work_struct free_work;
	u32 seed;

	spinlock_t lock;		/* tables below */
	struct xarray ids;		/* index of the id -> nconn */
	u32 next_id;
	atomic_t n_half;		/* connections that are not open */
	DECLARE_HASHTABLE(conns, MROCE_CONN_BITS); /* by address pair */
	DECLARE_HASHTABLE(gids, MROCE_GID_BITS);   /* by local address */
	struct list_head groups;	/* multicast memberships, RCU */
	struct mroce_ratelimit rl;	/* of RESETs */
};

/* A local address and the device that owns it. */
struct mroce_gid {
	struct hlist_node node;
	struct list_head dev_node;	/* dev->gids */
	struct in6_addr addr;
	int ifindex;
	u32 index;			/* in the device's GID table */
	u16 vlan;			/* as the core has it; 0xffff: none */
	struct mroce_dev *dev;
	struct mroce_net *mn;		/* referenced */
	struct rcu_head rcu;
};

/* Multicast membership of a link. */
struct mroce_group {
	struct list_head node;		/* mn->groups */
	struct list_head dev_node;	/* dev->groups */
	struct in6_addr addr;
	int ifindex;
	u32 users;
	struct mroce_dev *dev;
	struct rcu_head rcu;
};

/* Where packets of a plane other than 0 go. Of the transmit owner. */
struct mroce_nplane {
	struct mroce_addr addr;
	bool there;
	struct dst_entry *dst;
	u32 dst_cookie;
	u16 mtu;			/* of the last packet's route; 0: none */
};

/**
 * struct mroce_nconn - a connection and its owner
 *
 * References: one of the tables until unlinked, one per conn_get(), one per
 * receive batch, one while on mn->kicks. The timer and the socket of its
 * packets hold none: mroce_nconn_free_work() ends both first.
 */
struct mroce_nconn {
	struct rcu_head rcu;		/* kfree_rcu() wants it near the start */
	struct mroce_conn core;
	spinlock_t lock;		/* core's */
	bool tx_owner;			/* somebody is in the transmit loop */
	bool half;			/* counted in the n_half of both */
	bool unlinked;			/* mn->lock */
	u64 armed;			/* timer, ns; MROCE_NEVER: not armed */
	struct hrtimer timer;

	struct mroce_dev *dev;
	struct mroce_net *mn;		/* referenced */
	struct mroce_asker *asker;	/* referenced; NULL: the kernel */
	struct mroce_addr addr;		/* saddr ours, daddr the peer's */
	u16 index;			/* low half of core.id */
	u32 hash;			/* of the address pair */

	/* of the transmit owner */
	struct dst_entry *dst;
	u32 dst_cookie;
	u16 route_mtu;			/* of the last packet's route, plane 0 */
	u32 np_seq;			/* core's, that np is made of */
	struct mroce_nplane *np;	/* planes 1 and up, or NULL */
	int tx_cpu;			/* + 1; XPS */
	int tx_inflight_max;		/* bytes in local queues */
	struct socket *sock;		/* charges packets, see tx.c */
	void (*saved_write_space)(struct sock *sk);

	struct kref ref;
	struct hlist_node node;		/* mn->conns */
	struct list_head dev_node;	/* dev->conns */
	struct llist_node kick_node;	/* mn->kicks */
	unsigned long flags;		/* MROCE_NC_* */
	struct work_struct free_work;
};

#define MROCE_NC_KICK		0	/* on mn->kicks */

static inline struct mroce_nconn *to_nconn(struct mroce_conn *c)
{
	return container_of(c, struct mroce_nconn, core);
}

extern struct workqueue_struct *mroce_net_wq;	/* freeing; never takes RTNL */
extern struct workqueue_struct *mroce_misc_wq;	/* the rest */

/* netns.c */
int mroce_netns_init(void);
void mroce_netns_exit(void);
struct mroce_net *mroce_net_get(struct net *net);
struct mroce_net *mroce_net_peek(struct net *net);
void mroce_net_put(struct mroce_net *mn);
void mroce_net_schedule(struct mroce_net *mn);

/* gid.c */
int mroce_gid_add(struct mroce_dev *dev, const struct ib_gid_attr *attr);
void mroce_gid_del(struct mroce_dev *dev, const struct ib_gid_attr *attr);
void mroce_gid_del_all(struct mroce_dev *dev);
struct mroce_gid *mroce_gid_lookup(struct mroce_net *mn,
				   const struct in6_addr *addr, int ifindex);
struct mroce_dev *mroce_gid_find(struct mroce_net *mn,
				 const struct in6_addr *addr, int ifindex);
struct mroce_gid *mroce_gid_on(struct mroce_net *mn, struct mroce_dev *dev,
			       int ifindex);
bool mroce_gid_is(struct mroce_net *mn, const struct in6_addr *addr,
		  struct mroce_dev *dev);
int mroce_mcast_join(struct mroce_dev *dev, const struct in6_addr *group);
void mroce_mcast_leave(struct mroce_dev *dev, const struct in6_addr *group);
void mroce_mcast_leave_all(struct mroce_dev *dev);

/* rx.c */
int mroce_rx_init(void);
void mroce_rx_exit(void);
int mroce_rx_poll(struct napi_struct *napi, int budget);

/* tx.c */
int mroce_tx_init(void);
void mroce_tx_exit(void);
void mroce_tx_kick(struct mroce_nconn *nc);
int mroce_tx_sock(struct mroce_nconn *nc);
void mroce_tx_sock_close(struct mroce_nconn *nc);
/* Headers of one UDP datagram and off it goes; see tx.c. */
int mroce_xmit(struct mroce_net *mn, struct sk_buff *skb,
	       struct dst_entry *dst, const struct mroce_addr *a, u16 sport,
	       bool ect);
struct dst_entry *mroce_route(struct mroce_net *mn, const struct mroce_addr *a,
			      u32 *cookie);
#define MROCE_L3_ROOM	(LL_MAX_HEADER + sizeof(struct ipv6hdr) + \
			 sizeof(struct udphdr))

/* conn.c */
struct mroce_conn *mroce_nconn_get(struct mroce_dev *dev, struct net *net,
				   const struct mroce_addr *a,
				   struct mroce_asker *asker);
bool mroce_nconn_hold(struct mroce_nconn *nc);
void mroce_nconn_put(struct mroce_nconn *nc);
void mroce_nconn_unlink(struct mroce_nconn *nc);
void mroce_nconn_kick_later(struct mroce_nconn *nc);
void mroce_nconn_run_kicks(struct mroce_net *mn);
void mroce_nconn_drop_kicks(struct mroce_net *mn);
void mroce_nconn_rearm(struct mroce_nconn *nc, u64 now);
void mroce_nconn_count_half(struct mroce_nconn *nc);
void mroce_nconn_quiesce_net(struct mroce_net *mn);
void mroce_nconn_kill_dev(struct mroce_dev *dev);
struct mroce_nconn *mroce_nconn_by_id(struct mroce_net *mn, u32 id);
struct mroce_nconn *mroce_nconn_by_init(struct mroce_net *mn,
					const struct mroce_addr *a, u8 tclass);
struct mroce_nconn *mroce_nconn_by_peer_id(struct mroce_net *mn,
					   const struct mroce_addr *a, u32 id);
struct mroce_nconn *mroce_nconn_next(struct mroce_dev *dev,
				     struct mroce_nconn *prev);
void mroce_nconn_each(struct mroce_dev *dev,
		      void (*fn)(const struct mroce_conn *c,
				 const struct mroce_addr *a, void *arg),
		      void *arg);
void mroce_nconn_counters(struct mroce_dev *dev, u64 sum[MROCE_N_COUNTERS]);

/* plane.c */
void mroce_nconn_planes(struct mroce_nconn *nc);
void mroce_nconn_sync_planes(struct mroce_nconn *nc);
void mroce_nconn_free_planes(struct mroce_nconn *nc);
u16 mroce_nconn_mtu(const struct mroce_nconn *nc);

/* dgram.c */
int mroce_dgram_send(struct mroce_dev *dev, struct net *net,
		     const struct mroce_dgram_tx *d);
void mroce_dgram_rx(struct mroce_net *mn, struct sk_buff *skb, u32 off,
		    u32 len, const struct mroce_pkt *pkt,
		    const struct mroce_addr *a);
int mroce_ctrl_send(struct mroce_net *mn, const struct mroce_pkt *pkt,
		    const struct mroce_addr *a);

/* netdev.c */
int mroce_netdev_init(void);
void mroce_netdev_exit(void);

/* Copies out of an skb; for mroce_copy_fn. */
struct mroce_skb_src {
	const struct sk_buff *skb;
	u32 off;		/* of the payload */
};

int mroce_skb_copy(void *src, u32 off, void *dst, u32 len);

static inline u64 mroce_now(void)
{
	return ktime_get_ns();
}

#endif /* MROCE_NET_H */
