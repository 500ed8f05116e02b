// SPDX-License-Identifier: GPL-2.0
/*
 * Connections as objects: made, found, timed, freed. What happens inside one is
 * core/'s business.
 *
 * Life of a connection. mroce_nconn_get() makes one when the first QP wants
 * the pair of addresses; the tables of the namespace hold one reference. It
 * stays while QPs come and go, until core declares it dead (garbage
 * collection, CLOSE) or its device goes: then it is unlinked from the tables,
 * and the last reference queues mroce_nconn_free_work().
 */
#include <linux/wait_bit.h>

#include "net.h"

/* Timers do not fire closer together than this, whatever core says. */
#define MROCE_TIMER_MIN_NS	(20 * NSEC_PER_USEC)

/*
 * Ten thousand idle ones are cheap: one slab object of 2 KiB, and what core holds
 * for their paths (core/tests/rest_kunit.c). Locks that are checked are larger.
 */
static_assert(IS_ENABLED(CONFIG_DEBUG_SPINLOCK) ||
	      IS_ENABLED(CONFIG_DEBUG_OBJECTS) ||
	      sizeof(struct mroce_nconn) <= 2048);

static u32 mroce_nconn_hash(const struct mroce_net *mn,
			    const struct in6_addr *ours,
			    const struct in6_addr *peer)
{
	return __ipv6_addr_jhash(ours, __ipv6_addr_jhash(peer, mn->seed));
}

/* ---- what core asks of us --------------------------------------------------- */

static struct mroce_stream *mroce_nconn_find_stream(struct mroce_conn *c,
						    u32 qpn)
{
	return mroce_verbs_ops.find(to_nconn(c)->dev, qpn);
}

/* The index stays for the object's life, the random half changes. */
static u32 mroce_nconn_new_id(struct mroce_conn *c)
{
	struct mroce_nconn *nc = to_nconn(c);
	u16 old = c->id >> 16;
	u16 r;

	do {
		r = get_random_u32();
	} while (r == old);
	return (u32)r << 16 | nc->index;
}

static u16 mroce_nconn_new_sport(struct mroce_conn *c, u8 plane)
{
	u16 sport;
	int i;

again:
	sport = MROCE_SPORT_MIN +
		get_random_u32_below(MROCE_SPORT_MAX - MROCE_SPORT_MIN + 1);
	if (sport == MROCE_UDP_PORT)
		goto again;
	/* At most 128 of 16384 are taken. */
	for (i = 0; i < c->n_tx; i++)
		if (c->tx[i]->sport == sport)
			goto again;
	return sport;
}

/* The namespace's object is not dead. */
static void mroce_nconn_cfg(struct mroce_nconn *nc, struct mroce_conn_cfg *cfg)
{
	const struct mroce_addr *a = &nc->addr;
	struct net_device *ndev;
	struct dst_entry *dst;
	u32 cookie, mtu = 0;

	rcu_read_lock();
	dst = mroce_route(nc->mn, a, &cookie);
	if (!IS_ERR(dst)) {
		mtu = dst_mtu(dst);
		dst_release(dst);
	} else {
		ndev = dev_get_by_index_rcu(nc->mn->net, a->ifindex);
		mtu = ndev ? READ_ONCE(ndev->mtu) : 0;
	}
	rcu_read_unlock();
	if (!mtu)
		mtu = ETH_DATA_LEN;

	cfg->tclass = a->tclass;
	cfg->speed_mbps = READ_ONCE(nc->dev->link_mbps);
	cfg->link_mtu = min_t(u32, mtu, MROCE_MAX_MTU);
	cfg->l3_len = sizeof(struct udphdr) +
		      (a->v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
}

/*
 * A RESET came in, or a CLOSE: under the lock, in the NAPI, which ends before
 * the namespace does.
 */
static void mroce_nconn_link(struct mroce_conn *c, struct mroce_conn_cfg *cfg)
{
	struct mroce_nconn *nc = to_nconn(c);

	lockdep_assert_held(&nc->lock);
	if (!READ_ONCE(nc->mn->dead))
		mroce_nconn_cfg(nc, cfg);
}

static const struct mroce_conn_ops mroce_nconn_ops = {
	.find = mroce_nconn_find_stream,
	.new_id = mroce_nconn_new_id,
	.new_sport = mroce_nconn_new_sport,
	.link = mroce_nconn_link,
};

/* ---- timer -------------------------------------------------------------------- */

/**
 * mroce_nconn_rearm - let the timer fire at core's next deadline
 * @nc: locked
 * @now: ns
 *
 * Only ever moves the timer forward in time; if it then fires too early it
 * finds nothing to do and is set again. So an acknowledgment costs no timer
 * operation.
 */
void mroce_nconn_rearm(struct mroce_nconn *nc, u64 now)
{
	u64 deadline = mroce_conn_deadline(&nc->core);

	if (deadline == MROCE_NEVER)
		return;
	deadline = max(deadline, now + MROCE_TIMER_MIN_NS);
	if (deadline >= nc->armed)
		return;
	nc->armed = deadline;
	hrtimer_start(&nc->timer, ns_to_ktime(deadline),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
}

static enum hrtimer_restart mroce_nconn_timer(struct hrtimer *timer)
{
	struct mroce_nconn *nc = container_of(timer, struct mroce_nconn, timer);
	u64 now = mroce_now();

	spin_lock(&nc->lock);
	nc->armed = MROCE_NEVER;
	if (mroce_conn_deadline(&nc->core) <= now)
		mroce_conn_timer(&nc->core, now);
	spin_unlock(&nc->lock);
	/* Sends what became due, and sets the timer again. */
	mroce_tx_kick(nc);
	return HRTIMER_NORESTART;
}

/*
 * Half-open connections cost their peers INITs for ever, and whoever may open
 * the device can ask for one with any address. Core changes states in many
 * places; all of them lead to a kick, which comes here. Locked.
 */
void mroce_nconn_count_half(struct mroce_nconn *nc)
{
	bool half = nc->core.state == MROCE_CONN_INIT;

	lockdep_assert_held(&nc->lock);
	if (half == nc->half)
		return;
	nc->half = half;
	atomic_add(half ? 1 : -1, &nc->mn->n_half);
	if (nc->asker)
		atomic_add(half ? 1 : -1, &nc->asker->n_half);
}

/* No more half-open ones? Later incarnations are not refused. */
static bool mroce_nconn_too_many(const struct mroce_net *mn,
				 const struct mroce_asker *asker)
{
	return atomic_read(&mn->n_half) >= MROCE_MAX_HALF ||
	       (asker && atomic_read(&asker->n_half) >= MROCE_MAX_HALF_ASKER);
}

/* ---- references ---------------------------------------------------------------- */

/*
 * The last reference is gone, so is the one of the tables: nobody finds the
 * connection any more, no QP is attached, no receive batch works on it and
 * it is on no kick list.
 *
 * 1. The timer: its callback may be running, and may set the timer again;
 *    hrtimer_cancel() returns when neither is true. Only the callback can
 *    set it, as it is the only one left who knows @nc.
 * 2. The socket that charges packets: after its user data is NULL and a
 *    grace period (kfree_rcu()) no write_space callback looks at @nc.
 * 3. Routes belong to the transmit owner, of which there is none.
 * 4. Counters are folded and the connection leaves the device's list in one
 *    critical section, so a sum never misses or doubles it.
 * 5. From the decrement of n_conns on the device may go; @nc does not touch
 *    it afterwards.
 * 6. RCU readers of the tables may still look at @nc until kfree_rcu() frees
 *    it; they get no reference.
 */
static void mroce_nconn_free_work(struct work_struct *work)
{
	struct mroce_nconn *nc = container_of(work, struct mroce_nconn,
					      free_work);
	struct mroce_dev *dev = nc->dev;
	int i;

	hrtimer_cancel(&nc->timer);
	mroce_tx_sock_close(nc);
	dst_release(nc->dst);
	mroce_nconn_free_planes(nc);
	kfree(nc->np);

	spin_lock_bh(&dev->conn_lock);
	for (i = 0; i < MROCE_N_COUNTERS; i++)
		dev->retired[i] += nc->core.cnt[i];
	list_del(&nc->dev_node);
	spin_unlock_bh(&dev->conn_lock);

	/* Deletes what core allocated; nobody else may be inside. */
	spin_lock_bh(&nc->lock);
	mroce_conn_fini(&nc->core);
	mroce_nconn_count_half(nc);
	spin_unlock_bh(&nc->lock);
	mroce_asker_put(nc->asker);

	if (atomic_dec_and_test(&dev->n_conns))
		wake_up_var(&dev->n_conns);
	mroce_net_put(nc->mn);
	kfree_rcu(nc, rcu);
}

static void mroce_nconn_release(struct kref *ref)
{
	struct mroce_nconn *nc = container_of(ref, struct mroce_nconn, ref);

	queue_work(mroce_net_wq, &nc->free_work);
}

/* False: it is being freed. RCU or a lock keeps the memory. */
bool mroce_nconn_hold(struct mroce_nconn *nc)
{
	return kref_get_unless_zero(&nc->ref);
}

/*
 * Any context. A namespace that exits flushes the free work of its connections,
 * and cannot hold one whose count is zero. Who has taken it to zero may be
 * preempted before the work is queued; but not for longer than a grace period,
 * and closing the sockets waits for one before the flush.
 */
void mroce_nconn_put(struct mroce_nconn *nc)
{
	rcu_read_lock();
	kref_put(&nc->ref, mroce_nconn_release);
	rcu_read_unlock();
}

/**
 * mroce_nconn_unlink - take a connection out of the tables
 * @nc: referenced by the caller, not locked
 *
 * Once; drops the tables' reference.
 */
void mroce_nconn_unlink(struct mroce_nconn *nc)
{
	struct mroce_net *mn = nc->mn;
	bool first;

	spin_lock_bh(&mn->lock);
	first = !nc->unlinked;
	if (first) {
		WRITE_ONCE(nc->unlinked, true);
		hash_del_rcu(&nc->node);
	}
	spin_unlock_bh(&mn->lock);
	if (!first)
		return;
	xa_erase_bh(&mn->ids, nc->index);
	mroce_nconn_put(nc);
}

/* ---- making one ------------------------------------------------------------------ */

/* mn->close_lock held: the namespace's object is open and stays so. */
static struct mroce_nconn *mroce_nconn_create(struct mroce_dev *dev,
					      struct mroce_net *mn,
					      const struct mroce_addr *a,
					      bool self,
					      struct mroce_asker *asker)
{
	struct mroce_conn_cfg cfg = { .self = self };
	struct mroce_nconn *nc;
	u32 index;
	int err;

	if (!self && mroce_nconn_too_many(mn, asker)) {
		mroce_dev_count(dev, MROCE_DCNT_CONN_LIMIT);
		return ERR_PTR(-EBUSY);
	}
	nc = kzalloc(sizeof(*nc), GFP_KERNEL);
	if (!nc)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&nc->lock);
	kref_init(&nc->ref);		/* of the tables */
	INIT_WORK(&nc->free_work, mroce_nconn_free_work);
	nc->armed = MROCE_NEVER;
	hrtimer_setup(&nc->timer, mroce_nconn_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_SOFT);
	nc->dev = dev;
	nc->mn = mn;
	nc->addr = *a;
	nc->hash = mroce_nconn_hash(mn, &a->saddr, &a->daddr);

	/* Reserved, and visible when it is complete. */
	err = xa_alloc_cyclic_bh(&mn->ids, &index, NULL,
				 XA_LIMIT(1, MROCE_MAX_CONNS), &mn->next_id,
				 GFP_KERNEL);
	if (err < 0) {
		if (err == -EBUSY)
			mroce_dev_count(dev, MROCE_DCNT_CONN_LIMIT);
		goto err_free;
	}
	nc->index = index;
	err = mroce_tx_sock(nc);
	if (err)
		goto err_id;
	mroce_nconn_cfg(nc, &cfg);
	nc->route_mtu = cfg.link_mtu;
	err = mroce_conn_init(&nc->core, &mroce_nconn_ops, &cfg, mroce_now());
	if (err)
		goto err_sock;
	/* traffic with oneself does not pass the port */
	nc->core.plane0.share = self ? NULL : &dev->share[0];
	err = xa_err(xa_store_bh(&mn->ids, index, nc, GFP_KERNEL));
	if (err)
		goto err_fini;
	kref_get(&mn->ref);
	if (asker)
		refcount_inc(&asker->ref);
	nc->asker = asker;

	atomic_inc(&dev->n_conns);
	spin_lock_bh(&dev->conn_lock);
	list_add_tail(&nc->dev_node, &dev->conns);
	spin_unlock_bh(&dev->conn_lock);
	/* On the list before: whoever changes them now finds it there. */
	if (READ_ONCE(dev->n_planes))
		mroce_nconn_planes(nc);

	spin_lock_bh(&nc->lock);
	mroce_nconn_count_half(nc);
	spin_unlock_bh(&nc->lock);

	/* Last: from here on others find and use it. */
	spin_lock_bh(&mn->lock);
	hash_add_rcu(mn->conns, &nc->node, nc->hash);
	spin_unlock_bh(&mn->lock);
	return nc;

err_fini:
	spin_lock_bh(&nc->lock);
	mroce_conn_fini(&nc->core);
	spin_unlock_bh(&nc->lock);
err_sock:
	mroce_tx_sock_close(nc);
err_id:
	xa_erase_bh(&mn->ids, index);
err_free:
	kfree_rcu(nc, rcu);
	return ERR_PTR(err);
}

static bool mroce_nconn_match(const struct mroce_nconn *nc,
			      const struct mroce_addr *a)
{
	if (!ipv6_addr_equal(&nc->addr.saddr, &a->saddr) ||
	    !ipv6_addr_equal(&nc->addr.daddr, &a->daddr))
		return false;
	/* Link-local addresses are only unique on a link. */
	return !(ipv6_addr_type(&a->saddr) & IPV6_ADDR_LINKLOCAL) ||
	       nc->addr.ifindex == a->ifindex;
}

/* Referenced, or NULL. A dead one is not found. */
static struct mroce_nconn *mroce_nconn_lookup(struct mroce_dev *dev,
					      struct mroce_net *mn,
					      const struct mroce_addr *a)
{
	u32 hash = mroce_nconn_hash(mn, &a->saddr, &a->daddr);
	struct mroce_nconn *nc;
	bool dead;

	rcu_read_lock();
	hash_for_each_possible_rcu(mn->conns, nc, node, hash) {
		if (nc->dev != dev || !mroce_nconn_match(nc, a) ||
		    (nc->addr.tclass ^ a->tclass) & ~INET_ECN_MASK ||
		    !mroce_nconn_hold(nc))
			continue;
		spin_lock_bh(&nc->lock);
		dead = nc->core.state == MROCE_CONN_DEAD;
		/* Not collected before the caller attaches a stream. */
		if (!dead && !nc->core.n_streams) {
			nc->core.want_close = false;
			nc->core.gc_at = mroce_now() + 60 * NSEC_PER_SEC;
		}
		spin_unlock_bh(&nc->lock);
		if (!dead) {
			rcu_read_unlock();
			return nc;
		}
		mroce_nconn_unlink(nc);
		mroce_nconn_put(nc);
	}
	rcu_read_unlock();
	return NULL;
}

/**
 * mroce_nconn_get - the connection of an address pair
 * @dev: the device
 * @net: namespace of the source GID's netdev, alive
 * @a: addresses
 * @asker: the user context that wants it; NULL: the kernel
 *
 * May sleep. Return: referenced connection, or ERR_PTR; -EBUSY: too many.
 */
struct mroce_conn *mroce_nconn_get(struct mroce_dev *dev, struct net *net,
				   const struct mroce_addr *a,
				   struct mroce_asker *asker)
{
	struct mroce_addr addr = *a;
	struct mroce_nconn *nc;
	struct mroce_net *mn;
	bool self;

	mn = mroce_net_get(net);
	if (IS_ERR(mn))
		return ERR_CAST(mn);
	rcu_read_lock();
	self = mroce_gid_is(mn, &a->daddr, dev);
	rcu_read_unlock();
	/*
	 * Both ends of a connection to oneself are the same object, also when
	 * the two QPs name different GIDs of the device.
	 */
	if (self && ipv6_addr_cmp(&addr.saddr, &addr.daddr) > 0)
		swap(addr.saddr, addr.daddr);

	nc = mroce_nconn_lookup(dev, mn, &addr);
	if (nc)
		goto out;
	mutex_lock(&mn->close_lock);
	if (mn->closed) {
		nc = ERR_PTR(-ENODEV);
	} else {
		nc = mroce_nconn_lookup(dev, mn, &addr);
		if (!nc) {
			nc = mroce_nconn_create(dev, mn, &addr, self, asker);
			if (!IS_ERR(nc))
				kref_get(&nc->ref);
		}
	}
	mutex_unlock(&mn->close_lock);
out:
	/* The connection has its own reference. */
	mroce_net_put(mn);
	return IS_ERR(nc) ? ERR_CAST(nc) : &nc->core;
}

/* ---- finding one: receive side --------------------------------------------------- */

/* RCU. Referenced, or NULL. */
struct mroce_nconn *mroce_nconn_by_id(struct mroce_net *mn, u32 id)
{
	struct mroce_nconn *nc = xa_load(&mn->ids, id & U16_MAX);

	if (nc && READ_ONCE(nc->core.id) == id && mroce_nconn_hold(nc))
		return nc;
	return NULL;
}

/* RCU. The connection that an INIT is for: only what a QP asked for exists. */
struct mroce_nconn *mroce_nconn_by_init(struct mroce_net *mn,
					const struct mroce_addr *a, u8 tclass)
{
	u32 hash = mroce_nconn_hash(mn, &a->saddr, &a->daddr);
	struct mroce_nconn *nc;

	hash_for_each_possible_rcu(mn->conns, nc, node, hash)
		if (mroce_nconn_match(nc, a) && !nc->core.cfg.self &&
		    !((nc->addr.tclass ^ tclass) & ~INET_ECN_MASK) &&
		    mroce_nconn_hold(nc))
			return nc;
	return NULL;
}

/* RCU. The connection to a peer that calls itself @id: for RESET. */
struct mroce_nconn *mroce_nconn_by_peer_id(struct mroce_net *mn,
					   const struct mroce_addr *a, u32 id)
{
	u32 hash = mroce_nconn_hash(mn, &a->saddr, &a->daddr);
	struct mroce_nconn *nc;

	hash_for_each_possible_rcu(mn->conns, nc, node, hash)
		if (mroce_nconn_match(nc, a) &&
		    READ_ONCE(nc->core.peer_id) == id && mroce_nconn_hold(nc))
			return nc;
	return NULL;
}

/* ---- kicks ------------------------------------------------------------------------ */

/**
 * mroce_nconn_kick_later - let the NAPI kick a connection
 * @nc: referenced, or under RCU
 *
 * Any context, also with interrupts off and from skb destructors.
 */
void mroce_nconn_kick_later(struct mroce_nconn *nc)
{
	struct mroce_net *mn = nc->mn;

	if (test_and_set_bit(MROCE_NC_KICK, &nc->flags))
		return;
	if (!mroce_nconn_hold(nc))
		return;
	llist_add(&nc->kick_node, &mn->kicks);
	/*
	 * mroce_net_close() sets dead, then empties the list. Either it sees
	 * the entry, or this sees dead (llist_add() is a full barrier).
	 */
	if (unlikely(READ_ONCE(mn->dead)))
		mroce_nconn_drop_kicks(mn);
	else
		mroce_net_schedule(mn);
}

/* NAPI. */
void mroce_nconn_run_kicks(struct mroce_net *mn)
{
	struct llist_node *list = llist_del_all(&mn->kicks);
	struct mroce_nconn *nc, *tmp;

	llist_for_each_entry_safe(nc, tmp, llist_reverse_order(list),
				  kick_node) {
		clear_bit(MROCE_NC_KICK, &nc->flags);
		/* A kick that comes from now on queues it again. */
		smp_mb__after_atomic();
		mroce_tx_kick(nc);
		mroce_nconn_put(nc);
	}
}

/* Dead namespace: let them go. */
void mroce_nconn_drop_kicks(struct mroce_net *mn)
{
	struct llist_node *list = llist_del_all(&mn->kicks);
	struct mroce_nconn *nc, *tmp;

	llist_for_each_entry_safe(nc, tmp, list, kick_node) {
		clear_bit(MROCE_NC_KICK, &nc->flags);
		mroce_nconn_put(nc);
	}
}

/* ---- taking away ------------------------------------------------------------------- */

/*
 * mn is dead and its close_lock held. Transmit owners that come now see that
 * and send nothing; those from before end soon, they have a bounded loop.
 */
static void mroce_nconn_quiesce(struct mroce_nconn *nc)
{
	struct dst_entry *dst;

	for (;;) {
		spin_lock_bh(&nc->lock);
		if (!nc->tx_owner)
			break;
		spin_unlock_bh(&nc->lock);
		usleep_range(50, 200);
	}
	dst = nc->dst;
	nc->dst = NULL;
	mroce_nconn_free_planes(nc);
	spin_unlock_bh(&nc->lock);
	dst_release(dst);
	mroce_tx_sock_close(nc);
}

void mroce_nconn_quiesce_net(struct mroce_net *mn)
{
	unsigned long index = 0;
	struct mroce_nconn *nc;

	for (;;) {
		rcu_read_lock();
		nc = xa_find(&mn->ids, &index, MROCE_MAX_CONNS, XA_PRESENT);
		if (nc && !mroce_nconn_hold(nc)) {
			/* Its free work does the same; it is flushed. */
			rcu_read_unlock();
			index++;
			continue;
		}
		rcu_read_unlock();
		if (!nc)
			return;
		mroce_nconn_quiesce(nc);
		mroce_nconn_put(nc);
		index++;
	}
}

/**
 * mroce_nconn_kill_dev - end all connections of a device
 * @dev: unregistered; its QPs are gone, so nobody makes new ones
 *
 * Waits until the last is freed. References that are left are those of
 * receive batches and kick lists, which end with the NAPI pass, and of
 * works queued for freeing.
 */
void mroce_nconn_kill_dev(struct mroce_dev *dev)
{
	struct mroce_nconn *nc;
	bool found;

	do {
		found = false;
		spin_lock_bh(&dev->conn_lock);
		list_for_each_entry(nc, &dev->conns, dev_node) {
			if (!READ_ONCE(nc->unlinked) && mroce_nconn_hold(nc)) {
				found = true;
				break;
			}
		}
		spin_unlock_bh(&dev->conn_lock);
		if (found) {
			mroce_nconn_unlink(nc);
			mroce_nconn_put(nc);
		}
	} while (found);
	wait_var_event(&dev->n_conns, !atomic_read(&dev->n_conns));
}

/**
 * mroce_nconn_next - the next connection of a device
 * @dev: the device
 * @prev: the one before, whose reference is dropped; NULL: none, the first
 *
 * One that is referenced stays on the list, so each step is short, however many
 * there are. New ones are at its end. Return: referenced, or NULL: that was all.
 */
struct mroce_nconn *mroce_nconn_next(struct mroce_dev *dev,
				     struct mroce_nconn *prev)
{
	struct mroce_nconn *nc, *next = NULL;

	spin_lock_bh(&dev->conn_lock);
	nc = list_prepare_entry(prev, &dev->conns, dev_node);
	list_for_each_entry_continue(nc, &dev->conns, dev_node) {
		if (mroce_nconn_hold(nc)) {
			next = nc;
			break;
		}
	}
	spin_unlock_bh(&dev->conn_lock);
	if (prev)
		mroce_nconn_put(prev);
	return next;
}

/**
 * mroce_nconn_each - call a function for each connection, locked
 * @dev: the device
 * @fn: called with the connection's lock held
 * @arg: for @fn
 *
 * Connections that come or go meanwhile may be missed.
 */
void mroce_nconn_each(struct mroce_dev *dev,
		      void (*fn)(const struct mroce_conn *c,
				 const struct mroce_addr *a, void *arg),
		      void *arg)
{
	struct mroce_nconn *nc = NULL;

	while ((nc = mroce_nconn_next(dev, nc))) {
		spin_lock_bh(&nc->lock);
		fn(&nc->core, &nc->addr, arg);
		spin_unlock_bh(&nc->lock);
	}
}

/* Live and freed connections of a device, summed. */
void mroce_nconn_counters(struct mroce_dev *dev, u64 sum[MROCE_N_COUNTERS])
{
	struct mroce_nconn *nc;
	int i;

	spin_lock_bh(&dev->conn_lock);
	for (i = 0; i < MROCE_N_COUNTERS; i++)
		sum[i] = dev->retired[i];
	list_for_each_entry(nc, &dev->conns, dev_node)
		for (i = 0; i < MROCE_N_COUNTERS; i++)
			sum[i] += READ_ONCE(nc->core.cnt[i]);
	spin_unlock_bh(&dev->conn_lock);
}
