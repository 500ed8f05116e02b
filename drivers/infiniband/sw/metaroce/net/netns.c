// SPDX-License-Identifier: GPL-2.0
/*
 * What metaroce has in a network namespace: UDP sockets with their NAPIs, and
 * the tables that received packets are looked up in.
 *
 * The sockets are plain ones, without encap_rcv: only those are given whole
 * GSO and GRO packets. sk_data_ready does nothing but schedule the socket's
 * NAPI, because it may be called with a global spinlock held and on several
 * CPUs at a time; the NAPI drains the queue from one CPU in order, has a
 * budget, and is where completions and acknowledgments of a batch leave.
 */
#include <linux/module.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "net.h"

struct mroce_pernet {
	struct mroce_net *mn;
	bool gone;		/* exit has begun */
};

static unsigned int mroce_pernet_id __read_mostly;
static DEFINE_MUTEX(mroce_pernet_lock);	/* every struct mroce_pernet */

struct workqueue_struct *mroce_net_wq;
struct workqueue_struct *mroce_misc_wq;

static void mroce_data_ready(struct sock *sk)
{
	struct mroce_sock *ms;

	rcu_read_lock();
	ms = rcu_dereference_sk_user_data(sk);
	if (ms)
		napi_schedule(&ms->napi);
	rcu_read_unlock();
}

/*
 * An ICMP error quotes the random source port of a path, which no socket has.
 * This lets the stack take ours, by the destination port, so that it learns the
 * path MTU. Only IPv6 on 6.1 needs it: elsewhere the route is updated before a
 * socket is looked for.
 */
static int mroce_err_lookup(struct sock *sk, struct sk_buff *skb)
{
	return 0;
}

static int mroce_sock_bind(struct net *net, struct socket *sock, int family)
{
	struct sockaddr_in6 sin6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(MROCE_UDP_PORT),
	};
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(MROCE_UDP_PORT),
	};

	if (family == AF_INET)
		return mroce_kernel_bind(sock, &sin, sizeof(sin));
#if IS_ENABLED(CONFIG_IPV6)
	ip6_sock_set_v6only(sock->sk);
#endif
	return mroce_kernel_bind(sock, &sin6, sizeof(sin6));
}

static int mroce_sock_open(struct mroce_net *mn, struct mroce_sock *ms,
			   int family)
{
	struct socket *sock;
	struct sock *sk;
	int one = 1;
	int err;

	err = sock_create_kern(mn->net, family, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (err)
		return err;
	sk = sock->sk;
	sk->sk_allocation = GFP_ATOMIC;
	/* net.core.busy_read must not make the NAPI poll other NAPIs. */
#ifdef CONFIG_NET_RX_BUSY_POLL
	WRITE_ONCE(sk->sk_ll_usec, 0);
#endif
	sock_set_rcvbuf(sk, MROCE_RCVBUF);
	err = mroce_sock_bind(mn->net, sock, family);
	if (err)
		goto err_release;
	err = READ_ONCE(sock->ops)->setsockopt(sock, SOL_UDP, UDP_GRO,
					       KERNEL_SOCKPTR(&one),
					       sizeof(one));
	if (err)
		goto err_release;

	ms->mn = mn;
	ms->sock = sock;
	netif_napi_add(mn->napi_dev, &ms->napi, mroce_rx_poll);
	napi_enable(&ms->napi);

	write_lock_bh(&sk->sk_callback_lock);
	ms->saved_data_ready = sk->sk_data_ready;
	rcu_assign_sk_user_data(sk, ms);
	sk->sk_data_ready = mroce_data_ready;
	if (family == AF_INET6)
		WRITE_ONCE(udp_sk(sk)->encap_err_lookup, mroce_err_lookup);
	write_unlock_bh(&sk->sk_callback_lock);

	/* Packets that came in between waited for this. */
	local_bh_disable();
	napi_schedule(&ms->napi);
	local_bh_enable();
	return 0;

err_release:
	sock_release(sock);
	return err;
}

static void mroce_sock_quiet(struct mroce_sock *ms)
{
	struct sock *sk;

	if (!ms->sock)
		return;
	sk = ms->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = ms->saved_data_ready;
	WRITE_ONCE(udp_sk(sk)->encap_err_lookup, NULL);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	napi_disable(&ms->napi);
}

static void mroce_sock_close(struct mroce_sock *ms)
{
	if (!ms->sock)
		return;
	netif_napi_del(&ms->napi);
	sock_release(ms->sock);
	ms->sock = NULL;
}

static void mroce_net_napi_work(struct work_struct *work)
{
	struct mroce_net *mn = container_of(work, struct mroce_net, napi_work);

	local_bh_disable();
	napi_schedule(&mn->socks[MROCE_SOCK_V4].napi);
	local_bh_enable();
}

/**
 * mroce_net_schedule - make the namespace's NAPI run soon
 * @mn: referenced
 *
 * Any context. A process with interrupts off must not simply schedule a NAPI:
 * nothing would run the softirq before the next interrupt.
 */
void mroce_net_schedule(struct mroce_net *mn)
{
	if (in_interrupt()) {
		napi_schedule(&mn->socks[MROCE_SOCK_V4].napi);
	} else if (irqs_disabled()) {
		queue_work(mroce_net_wq, &mn->napi_work);
	} else {
		local_bh_disable();
		napi_schedule(&mn->socks[MROCE_SOCK_V4].napi);
		local_bh_enable();
	}
}

/*
 * Take a namespace's sockets away: at its exit, or after the last reference.
 *
 * 1. @dead keeps transmitters from using mn->net; those that did not see it
 *    are over after synchronize_net(), because they check and send inside one
 *    RCU section.
 * 2. No socket schedules its NAPI any more, and a NAPI once disabled cannot be
 *    scheduled again: no receive pass runs, and none will.
 * 3. napi_work only schedules a NAPI, so it may be cancelled after that.
 * 4. Connections that wait for a kick are let go; from @dead on nobody adds one
 *    without taking it off again (mroce_nconn_kick_later()).
 * 5. Connections give up their route and the socket that charges packets: an
 *    IPv6 route must not outlive the namespace.
 * 6. So the sockets have no user and can be released.
 */
static void mroce_net_close(struct mroce_net *mn)
{
	int i;

	mutex_lock(&mn->close_lock);
	if (mn->closed)
		goto out;
	WRITE_ONCE(mn->dead, true);
	synchronize_net();
	for (i = 0; i < MROCE_N_SOCKS; i++)
		mroce_sock_quiet(&mn->socks[i]);
	cancel_work_sync(&mn->napi_work);
	mroce_nconn_drop_kicks(mn);
	mroce_nconn_quiesce_net(mn);
	for (i = 0; i < MROCE_N_SOCKS; i++)
		mroce_sock_close(&mn->socks[i]);
	mroce_free_napi_dev(mn->napi_dev);
	mn->napi_dev = NULL;
	mn->closed = true;
out:
	mutex_unlock(&mn->close_lock);
}

/* No reference is left: no device, GID, connection or caller knows it. */
static void mroce_net_free_work(struct work_struct *work)
{
	struct mroce_net *mn = container_of(work, struct mroce_net, free_work);

	mroce_net_close(mn);
	WARN_ON_ONCE(!xa_empty(&mn->ids));
	xa_destroy(&mn->ids);
	/* sk_data_ready may still look at a struct mroce_sock. */
	synchronize_net();
	kfree(mn);
}

static struct mroce_net *mroce_net_create(struct net *net)
{
	struct mroce_net *mn;
	int err;

	mn = kzalloc(sizeof(*mn), GFP_KERNEL);
	if (!mn)
		return ERR_PTR(-ENOMEM);
	kref_init(&mn->ref);
	mn->net = net;
	mutex_init(&mn->close_lock);
	init_llist_head(&mn->later.cqs);
	init_llist_head(&mn->later.qps);
	init_llist_head(&mn->later.events);
	init_llist_head(&mn->kicks);
	INIT_WORK(&mn->napi_work, mroce_net_napi_work);
	INIT_WORK(&mn->free_work, mroce_net_free_work);
	spin_lock_init(&mn->lock);
	xa_init_flags(&mn->ids, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	mn->next_id = get_random_u32_below(MROCE_MAX_CONNS) + 1;
	hash_init(mn->conns);
	hash_init(mn->gids);
	INIT_LIST_HEAD(&mn->groups);
	spin_lock_init(&mn->rl.lock);
	mn->seed = get_random_u32();

	mn->napi_dev = mroce_alloc_napi_dev();
	if (!mn->napi_dev) {
		err = -ENOMEM;
		goto err_free;
	}
	err = mroce_sock_open(mn, &mn->socks[MROCE_SOCK_V4], AF_INET);
	if (err)
		goto err_dev;
	err = mroce_sock_open(mn, &mn->socks[MROCE_SOCK_V6], AF_INET6);
	if (err && err != -EAFNOSUPPORT)
		goto err_sock;
	return mn;

err_sock:
	mroce_sock_quiet(&mn->socks[MROCE_SOCK_V4]);
	cancel_work_sync(&mn->napi_work);
	mroce_sock_close(&mn->socks[MROCE_SOCK_V4]);
	synchronize_net();
err_dev:
	mroce_free_napi_dev(mn->napi_dev);
err_free:
	kfree(mn);
	return ERR_PTR(err);
}

struct mroce_net_create_work {
	struct work_struct work;
	struct net *net;
	struct mroce_net *mn;
};

static void mroce_net_create_fn(struct work_struct *work)
{
	struct mroce_net_create_work *cw =
		container_of(work, struct mroce_net_create_work, work);

	cw->mn = mroce_net_create(cw->net);
}

/**
 * mroce_net_get - the object of a namespace, made if there is none
 * @net: alive
 *
 * May sleep, also called under RTNL. Return: referenced object or ERR_PTR.
 */
struct mroce_net *mroce_net_get(struct net *net)
{
	struct mroce_pernet *pn = net_generic(net, mroce_pernet_id);
	struct mroce_net_create_work cw = { .net = net };
	struct mroce_net *mn;
	bool again = true;

retry:
	mutex_lock(&mroce_pernet_lock);
	if (pn->gone) {
		mn = ERR_PTR(-ENODEV);
		goto out;
	}
	mn = pn->mn;
	if (mn) {
		kref_get(&mn->ref);
		goto out;
	}
	/*
	 * A socket is charged to the memory cgroup of the task that makes it:
	 * that must not be the one that happens to add a link.
	 */
	INIT_WORK_ONSTACK(&cw.work, mroce_net_create_fn);
	queue_work(mroce_misc_wq, &cw.work);
	flush_work(&cw.work);
	destroy_work_on_stack(&cw.work);
	mn = cw.mn;
	if (!IS_ERR(mn))
		WRITE_ONCE(pn->mn, mn);
out:
	mutex_unlock(&mroce_pernet_lock);
	if (mn == ERR_PTR(-EADDRINUSE) && again) {
		/* By the object before this one, on its way out? */
		again = false;
		flush_workqueue(mroce_net_wq);
		goto retry;
	}
	return mn;
}

/**
 * mroce_net_peek - the object of a namespace, if there is one
 * @net: alive
 *
 * RCU, which keeps the object. It may be dead.
 */
struct mroce_net *mroce_net_peek(struct net *net)
{
	struct mroce_pernet *pn = net_generic(net, mroce_pernet_id);

	return READ_ONCE(pn->mn);
}

/* Called with mroce_pernet_lock held, drops it. */
static void mroce_net_release(struct kref *ref)
{
	struct mroce_net *mn = container_of(ref, struct mroce_net, ref);

	if (!mn->closed) {
		struct mroce_pernet *pn = net_generic(mn->net, mroce_pernet_id);

		if (pn->mn == mn)
			WRITE_ONCE(pn->mn, NULL);
	}
	/* Under the lock: namespace exit flushes what it finds queued. */
	queue_work(mroce_net_wq, &mn->free_work);
	mutex_unlock(&mroce_pernet_lock);
}

/* May sleep. */
void mroce_net_put(struct mroce_net *mn)
{
	kref_put_mutex(&mn->ref, mroce_net_release, &mroce_pernet_lock);
}

struct mroce_later *mroce_net_later(struct mroce_net *mn)
{
	return &mn->later;
}

/*
 * A namespace goes, its netdevs are still there (pernet *device* operations run
 * before the ones that end netdevs). Sockets made by the kernel hold no
 * reference on the namespace, so everything that has one must be gone when
 * this returns: links first, they use the NAPI while they end, then sockets.
 * A GID that a link of another namespace has here (of a macvlan, say) keeps
 * the closed object until the netdev goes.
 */
static void __net_exit mroce_net_exit_net(struct net *net)
{
	struct mroce_pernet *pn = net_generic(net, mroce_pernet_id);
	struct mroce_net *mn;

	mroce_link_kill_net(net);
	mutex_lock(&mroce_pernet_lock);
	pn->gone = true;
	mn = pn->mn;
	WRITE_ONCE(pn->mn, NULL);
	if (mn)
		kref_get(&mn->ref);
	mutex_unlock(&mroce_pernet_lock);
	if (mn) {
		mroce_net_close(mn);
		mroce_net_put(mn);
	}
	/* An object whose last reference went before. */
	flush_workqueue(mroce_net_wq);
}

static struct pernet_operations mroce_net_pernet_ops = {
	.exit = mroce_net_exit_net,
	.id = &mroce_pernet_id,
	.size = sizeof(struct mroce_pernet),
};

int mroce_netns_init(void)
{
	int err = -ENOMEM;

	mroce_net_wq = alloc_workqueue("metaroce_net",
				       WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!mroce_net_wq)
		return err;
	mroce_misc_wq = alloc_workqueue("metaroce_misc", WQ_UNBOUND, 0);
	if (!mroce_misc_wq)
		goto err_net;
	err = register_pernet_device(&mroce_net_pernet_ops);
	if (err)
		goto err_misc;
	return 0;

err_misc:
	destroy_workqueue(mroce_misc_wq);
err_net:
	destroy_workqueue(mroce_net_wq);
	return err;
}

void mroce_netns_exit(void)
{
	unregister_pernet_device(&mroce_net_pernet_ops);
	destroy_workqueue(mroce_misc_wq);
	destroy_workqueue(mroce_net_wq);
}
