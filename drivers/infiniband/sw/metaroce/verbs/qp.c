// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pairs: creation, state machine, teardown.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "qp.h"

#define ACCESS_FLAGS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | MROCE_ACCESS_ODP)

/* Other than a QPN or an address it never comes back: windows keep it. */
static atomic64_t qp_ids = ATOMIC64_INIT(0);

/* ---- references and turns ----------------------------------------------- */

struct mroce_qp *mroce_qp_get(struct mroce_dev *dev, u32 qpn)
{
	struct mroce_qpx *x = xa_load(&dev->qps, qpn);

	return x && refcount_inc_not_zero(&x->ref) ? x->qp : NULL;
}

void mroce_qp_put(struct mroce_qp *qp)
{
	if (refcount_dec_and_test(&qp->x->ref))
		complete(&qp->gone);
}

bool mroce_qp_enter(struct mroce_qp *qp, enum ib_qp_state min)
{
	if (READ_ONCE(qp->state) < min)
		return false;
	atomic_inc(&qp->users);
	/* pairs with qp_wait_users(): it sees us or we see RESET */
	smp_mb__after_atomic();
	if (READ_ONCE(qp->state) >= min)
		return true;
	mroce_qp_exit(qp);
	return false;
}

void mroce_qp_exit(struct mroce_qp *qp)
{
	if (atomic_dec_and_test(&qp->users) &&
	    READ_ONCE(qp->state) == IB_QPS_RESET)
		wake_up_var(&qp->users);
}

static void qp_wait_users(struct mroce_qp *qp)
{
	/* the state was set before the count is read; see mroce_qp_enter() */
	smp_mb();
	wait_var_event(&qp->users, !atomic_read(&qp->users));
}

/* For sparse: whichever lock it is counts as qp->lock. */
void mroce_qp_lock(struct mroce_qp *qp)
	__acquires(&qp->lock)
{
	struct mroce_conn *c = READ_ONCE(qp->conn);

	if (!c) {
		spin_lock_bh(&qp->lock);
		/* it is set under that lock, and cleared with nobody around */
		c = READ_ONCE(qp->conn);
		if (!c)
			return;
		spin_unlock_bh(&qp->lock);
	}
	mroce_net_ops.lock(c);
	__acquire(&qp->lock);
}

void mroce_qp_unlock(struct mroce_qp *qp)
	__releases(&qp->lock)
{
	if (!qp->conn) {
		spin_unlock_bh(&qp->lock);
		return;
	}
	mroce_net_ops.unlock(qp->conn);
	__release(&qp->lock);
}

void mroce_qp_event(struct mroce_qp *qp, enum ib_event_type e)
{
	set_bit(MROCE_QP_EVENTS, &qp->bits);
	mroce_event_qp(qp->dev, &qp->ibqp, e);
}

void mroce_qp_defer(struct mroce_qp *qp)
{
	if (test_and_set_bit(MROCE_QP_LATER, &qp->bits))
		return;
	if (!refcount_inc_not_zero(&qp->x->ref))
		return;		/* being destroyed: nothing matters */
	llist_add(&qp->later, &mroce_net_later(qp->dev->mnet)->qps);
	mroce_net_ops.schedule(qp->dev);
}

void mroce_qp_fail(struct mroce_qp *qp)
{
	if (qp->state == IB_QPS_ERR || qp->state == IB_QPS_RESET)
		return;
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	mroce_qp_defer(qp);
}

/*
 * Reports everything that is queued, in order. Waits (returns, to be called
 * again by unclaim()) while packets are being copied into memory that the
 * requests name: their owner may reuse it after the flush.
 */
bool mroce_qp_flush(struct mroce_qp *qp, u32 budget)
{
	if (mroce_qp_connected(qp)) {
		if (qp->conn && !qp->err_done) {
			qp->err_done = true;
			mroce_stream_error(&qp->x->s, mroce_net_ops.now());
		}
		if (qp->n_obj)
			return false;
		budget = mroce_sq_flush(qp, budget);
	}
	if (budget)
		budget = mroce_rq_flush(qp, budget);
	return !budget;
}

void mroce_qp_work(struct mroce_qp *qp)
{
	/* all that fits into the queues; who posts on meanwhile has to wait */
	u32 rounds = (qp->sq.max_wr + qp->rq.max_wr) / MROCE_FLUSH_BUDGET + 2;
	bool conn = mroce_qp_connected(qp), more;

	if (!conn) {
		mroce_ud_kick(qp);
		if (READ_ONCE(qp->state) != IB_QPS_ERR)
			return;
	}
	do {
		more = false;
		mroce_qp_lock(qp);
		/* woken for pages of an on-demand MR, maybe */
		if (qp->conn)
			mroce_stream_resume(&qp->x->s, mroce_net_ops.now());
		if (conn && qp->state == IB_QPS_RTS)
			mroce_sq_pump(qp);
		if (conn && qp->state == IB_QPS_SQD)
			mroce_sq_complete(qp);
		if (qp->state == IB_QPS_ERR)
			more = mroce_qp_flush(qp, MROCE_FLUSH_BUDGET);
		mroce_qp_unlock(qp);
	} while (more && !in_softirq() && --rounds);
	if (more)
		mroce_qp_defer(qp);
	if (qp->conn)
		mroce_net_ops.kick(qp->conn);
}

/**
 * mroce_qp_fail_all - a device can never send again: all its requests end
 * @dev: registered, its netdev is detached
 *
 * The core destroys the queue pairs when it unregisters the device, and what was
 * still queued would end without a completion. The GSI queue pair is left to the
 * core's MAD layer, which does that itself. Process context.
 */
void mroce_qp_fail_all(struct mroce_dev *dev)
{
	struct mroce_qpx *x;
	struct mroce_qp *qp;
	unsigned long qpn;

	rcu_read_lock();
	xa_for_each(&dev->qps, qpn, x) {
		if (!refcount_inc_not_zero(&x->ref))
			continue;
		rcu_read_unlock();
		qp = x->qp;
		if (qp->type != IB_QPT_GSI &&
		    mroce_qp_enter(qp, IB_QPS_INIT)) {
			mroce_qp_lock(qp);
			mroce_qp_fail(qp);
			mroce_qp_unlock(qp);
			mroce_qp_work(qp);
			mroce_qp_exit(qp);
		}
		mroce_qp_put(qp);
		cond_resched();
		rcu_read_lock();
	}
	rcu_read_unlock();
}

/* End of a NAPI poll: queue pairs that could not do their work on the spot. */
static bool qp_run_later(struct mroce_net *mnet, bool wait)
{
	struct mroce_later *l = mroce_net_later(mnet);
	struct llist_node *list;
	struct mroce_qp *qp, *tmp;
	bool again;

	if (!llist_empty(&l->qps)) {
		list = llist_reverse_order(llist_del_all(&l->qps));
		llist_for_each_entry_safe(qp, tmp, list, later) {
			clear_bit(MROCE_QP_LATER, &qp->bits);
			/* what is added from now on queues it again */
			smp_mb__after_atomic();
			if (mroce_qp_enter(qp, IB_QPS_INIT)) {
				mroce_qp_work(qp);
				mroce_qp_exit(qp);
			}
			mroce_qp_put(qp);
		}
	}
	again = mroce_run_later(mnet, wait);
	return again || !llist_empty(&l->qps);
}

/* conn_ops->find(): RCU, some connection's lock; the caller compares ->conn */
static struct mroce_stream *qp_find(struct mroce_dev *dev, u32 qpn)
{
	struct mroce_qpx *x = xa_load(&dev->qps, qpn);

	return x ? &x->s : NULL;
}

const struct mroce_verbs_ops mroce_verbs_ops = {
	.dgram_rx	= mroce_ud_rx,
	.find		= qp_find,
	.run_later	= qp_run_later,
};

/* ---- create ------------------------------------------------------------- */

static int check_init(const struct ib_qp_init_attr *init, bool user)
{
	const struct ib_qp_cap *cap = &init->cap;

	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		break;
	case IB_QPT_GSI:
		if (user || init->port_num != 1)
			return -EINVAL;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > MROCE_MAX_QP_WR ||
	    cap->max_send_sge > MROCE_MAX_SGE ||
	    cap->max_inline_data > MROCE_MAX_INLINE)
		return -EINVAL;
	if (!init->srq && (cap->max_recv_wr > MROCE_MAX_QP_WR ||
			   cap->max_recv_sge > MROCE_MAX_SGE))
		return -EINVAL;
	return 0;
}

/* A number of our own, not visible before publish(). */
static int reserve_qpn(struct mroce_qp *qp)
{
	struct mroce_dev *dev = qp->dev;
	u32 qpn = 1;
	int err;

	if (qp->type == IB_QPT_GSI) {
		err = xa_reserve_irq(&dev->qps, qpn, GFP_KERNEL);
		if (!err && xa_load(&dev->qps, qpn))
			err = -EBUSY;
	} else {
		err = xa_alloc_cyclic_irq(&dev->qps, &qpn, NULL,
					  XA_LIMIT(MROCE_FIRST_QPN,
						   MROCE_LAST_QPN),
					  &dev->next_qpn, GFP_KERNEL);
		if (err > 0)
			err = 0;
	}
	if (!err)
		qp->ibqp.qp_num = qpn;
	return err;
}

static int qp_publish_queues(struct mroce_qp *qp, struct ib_udata *udata)
{
	struct rxe_create_qp_resp __user *resp = udata->outbuf;
	int err;

	if (qp->rq.q) {
		err = mroce_queue_publish(qp->dev, qp->rq.q, udata,
					  &resp->rq_mi);
		if (err)
			return err;
	}
	return mroce_queue_publish(qp->dev, qp->sq.q, udata, &resp->sq_mi);
}

static int qp_alloc_stream(struct mroce_qp *qp)
{
	struct mroce_qpx *x;

	x = kzalloc(sizeof(*x), GFP_KERNEL_ACCOUNT);
	if (!x)
		return -ENOMEM;
	refcount_set(&x->ref, 1);
	x->qp = qp;
	qp->x = x;
	if (!mroce_qp_connected(qp))
		return 0;
	return mroce_stream_init(&x->s, &mroce_stream_verbs_ops,
				 min_t(u32, qp->sq.mask + 1, MROCE_MSN_WINDOW));
}

static void qp_free(struct mroce_qp *qp)
{
	mroce_rq_free(qp);
	mroce_sq_free(qp);
	if (qp->x) {
		if (mroce_qp_connected(qp))
			mroce_stream_fini(&qp->x->s);
		kfree_rcu(qp->x, rcu);
	}
	atomic_dec(&qp->dev->n_qp);
}

static int mroce_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
			   struct ib_udata *udata)
{
	struct mroce_dev *dev = to_mdev(ibqp->device);
	struct mroce_qp *qp = to_mqp(ibqp);
	int err;

	err = check_init(init, udata);
	if (err)
		return err;
	if (udata && udata->outlen < sizeof(struct rxe_create_qp_resp))
		return -EINVAL;

	qp->dev = dev;
	qp->id = atomic64_inc_return(&qp_ids);
	qp->type = init->qp_type;
	qp->sig = init->sq_sig_type;
	qp->user = !!udata;
	qp->scq = to_mcq(init->send_cq);
	qp->rcq = to_mcq(init->recv_cq);
	qp->srq = to_msrq(init->srq);
	qp->state = IB_QPS_RESET;
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->lock);
	spin_lock_init(&qp->sq_lock);
	spin_lock_init(&qp->rq_lock);
	init_completion(&qp->idle);
	init_completion(&qp->gone);

	if (atomic_inc_return(&dev->n_qp) > MROCE_MAX_QP) {
		atomic_dec(&dev->n_qp);
		return -ENOMEM;
	}
	err = mroce_sq_alloc(qp, &init->cap, udata);
	if (!err)
		err = mroce_rq_alloc(qp, &init->cap);
	if (!err)
		err = qp_alloc_stream(qp);
	if (!err && udata)
		err = qp_publish_queues(qp, udata);
	if (!err)
		err = reserve_qpn(qp);
	if (err) {
		qp_free(qp);
		return err;
	}

	qp->attr.cap = init->cap;
	qp->attr.port_num = 1;
	qp->attr.path_mtu = IB_MTU_1024;
	/* visible from here on; the place is reserved, so this cannot fail */
	xa_store_irq(&dev->qps, ibqp->qp_num, qp->x, GFP_KERNEL);
	return 0;
}

/* ---- modify ------------------------------------------------------------- */

static void stream_attr(struct mroce_qp *qp, const struct ib_qp_attr *a,
			struct mroce_stream_attr *s)
{
	*s = (struct mroce_stream_attr) {
		.qpn		= qp->ibqp.qp_num,
		.dqpn		= a->dest_qp_num,
		.sq_psn		= a->sq_psn,
		.rq_psn		= a->rq_psn,
		.timeout	= a->timeout,
		.retry_cnt	= a->retry_cnt,
		.rnr_retry	= a->rnr_retry,
		.min_rnr_timer	= a->min_rnr_timer,
		.max_rd_atomic	= a->max_rd_atomic,
		.max_dest_rd_atomic = a->max_dest_rd_atomic,
	};
	if (!mroce_qp_is_uc(qp))
		return;
	/* has no such attributes: about a second for a peer that is not there */
	s->timeout = 14;
	s->retry_cnt = 7;
	s->rnr_retry = 7;
	s->min_rnr_timer = 12;
}

static int check_attr(struct mroce_qp *qp, const struct ib_qp_attr *a, int mask)
{
	if ((mask & IB_QP_PORT && a->port_num != 1) ||
	    (mask & IB_QP_PKEY_INDEX && a->pkey_index) ||
	    (mask & IB_QP_ALT_PATH) ||
	    (mask & IB_QP_PATH_MIG_STATE &&
	     a->path_mig_state != IB_MIG_MIGRATED) ||
	    (mask & IB_QP_ACCESS_FLAGS && a->qp_access_flags & ~ACCESS_FLAGS &&
	     qp->user) ||
	    (mask & IB_QP_MAX_QP_RD_ATOMIC &&
	     a->max_rd_atomic > MROCE_MAX_RD_ATOMIC) ||
	    (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	     a->max_dest_rd_atomic > MROCE_MAX_RD_ATOMIC) ||
	    (mask & IB_QP_PATH_MTU && (a->path_mtu < IB_MTU_256 ||
				       a->path_mtu > IB_MTU_4096)) ||
	    (mask & IB_QP_DEST_QPN && a->dest_qp_num > 0xffffff) ||
	    (mask & IB_QP_TIMEOUT && a->timeout > 31) ||
	    (mask & IB_QP_RETRY_CNT && a->retry_cnt > 7) ||
	    (mask & IB_QP_RNR_RETRY && a->rnr_retry > 7) ||
	    (mask & IB_QP_MIN_RNR_TIMER && a->min_rnr_timer > 31))
		return -EINVAL;
	if (mask & IB_QP_AV && (a->ah_attr.type != RDMA_AH_ATTR_TYPE_ROCE ||
				!(a->ah_attr.ah_flags & IB_AH_GRH)))
		return -EINVAL;
	return 0;
}

/* The attributes after the change; the state is not among them. */
static void merge_attr(struct ib_qp_attr *to, const struct ib_qp_attr *a,
		       int mask)
{
	if (mask & IB_QP_PORT)
		to->port_num = a->port_num;
	if (mask & IB_QP_PKEY_INDEX)
		to->pkey_index = a->pkey_index;
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = a->qp_access_flags;
	if (mask & IB_QP_QKEY)
		to->qkey = a->qkey;
	if (mask & IB_QP_AV) {
		to->ah_attr = a->ah_attr;
		/* the core's reference is not ours to keep */
		to->ah_attr.grh.sgid_attr = NULL;
	}
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = a->path_mtu;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = a->dest_qp_num;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = a->rq_psn & 0xffffff;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = a->sq_psn & 0xffffff;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = a->max_dest_rd_atomic;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = a->max_rd_atomic;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = a->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = a->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = a->rnr_retry;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = a->min_rnr_timer;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = a->en_sqd_async_notify;
}

/* Off the connection: until nothing it sent is under way, or @ms are over. */
static void qp_quiet(struct mroce_qp *qp, unsigned int ms)
{
	mroce_qp_lock(qp);
	if (ms && qp->x->s.left) {
		reinit_completion(&qp->idle);
		mroce_qp_unlock(qp);
		wait_for_completion_timeout(&qp->idle, msecs_to_jiffies(ms));
		mroce_qp_lock(qp);
	}
	mroce_stream_left(&qp->x->s);
	mroce_qp_unlock(qp);
}

/*
 * Back to the beginning, with the mutex held. After it nothing looks at the
 * queue pair but what the user may still do to its rings.
 *
 * 1. RESET is set and the stream leaves the connection in one step, under the
 *    lock: no packet finds the stream any more, no post gets past
 *    mroce_qp_enter().
 * 2. Packets that were being copied end: idle() is called for the last. Their
 *    copies take a bounded time and depend on nobody.
 * 3. If the QP is to be used again (@quiet), the packets it sent are waited for:
 *    both ends may come back with the PSNs of before, and then nobody could tell
 *    what belongs to which life (rule 25). A network that does not deliver them
 *    in MROCE_QUIET_MS is not waited for, nor is a peer that has been silent
 *    for several time-outs.
 * 4. Those who had entered before leave; none of them sleeps.
 * 5. Now nobody uses the rings or qp->conn: forget both.
 */
static void qp_reset(struct mroce_qp *qp, bool quiet)
{
	struct mroce_conn *c = qp->conn;
	bool busy = false;

	mroce_qp_lock(qp);
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	if (c) {
		reinit_completion(&qp->idle);
		mroce_stream_detach(&qp->x->s, mroce_net_ops.now());
		busy = qp->x->s.claims;
	}
	mroce_qp_unlock(qp);
	if (c)
		mroce_net_ops.kick(c);
	if (busy)
		wait_for_completion(&qp->idle);
	if (c)
		qp_quiet(qp, quiet ? MROCE_QUIET_MS : 0);
	qp_wait_users(qp);

	if (c) {
		qp->conn = NULL;
		mroce_net_ops.conn_put(c);
	}
	mroce_sq_reset(qp);
	mroce_rq_reset(qp);
	qp->err_done = false;
	qp->last_wqe = false;
	qp->draining = false;
	qp->n_obj = 0;
	qp->attr = (struct ib_qp_attr) {
		.cap		= qp->attr.cap,
		.port_num	= 1,
		.path_mtu	= IB_MTU_1024,
	};
}

/*
 * Lock held. A device whose netdev has gone has failed its queue pairs, see
 * mroce_qp_fail_all(): not the ones that come after that.
 */
static void qp_set_state(struct mroce_qp *qp, enum ib_qp_state state)
{
	WRITE_ONCE(qp->state, state);
	/* it sees the state, or we that the netdev is gone */
	smp_mb();
	if (!rcu_access_pointer(qp->dev->ndev) && qp->type != IB_QPT_GSI)
		mroce_qp_fail(qp);
}

/* Attach to @c, whose reference is the queue pair's if that succeeds. */
static int qp_join(struct mroce_qp *qp, struct mroce_conn *c,
		   const struct mroce_addr *addr, const struct ib_qp_attr *new)
{
	enum ib_qp_state back = IB_QPS_INIT;
	struct mroce_stream_attr sa;
	int err;

	stream_attr(qp, new, &sa);
	spin_lock_bh(&qp->lock);
	WRITE_ONCE(qp->conn, c);
	spin_unlock_bh(&qp->lock);

	mroce_qp_lock(qp);
	if (qp->state != IB_QPS_INIT) {	/* failed in the meantime */
		back = qp->state;
		err = -EINVAL;
	} else {
		err = mroce_stream_attach(&qp->x->s, c, &sa,
					  mroce_net_ops.now());
	}
	if (!err) {
		qp->attr = *new;
		qp->addr = *addr;
		qp_set_state(qp, IB_QPS_RTR);
	} else {
		/* with everybody kept out for the moment */
		WRITE_ONCE(qp->state, IB_QPS_RESET);
	}
	mroce_qp_unlock(qp);
	if (!err) {
		mroce_net_ops.kick(c);
		return 0;
	}

	qp_wait_users(qp);
	qp->conn = NULL;
	qp->err_done = false;	/* by a stream that was not attached */
	mroce_qp_lock(qp);
	qp_set_state(qp, back);
	mroce_qp_unlock(qp);
	mroce_net_ops.conn_put(c);
	if (qp->state == IB_QPS_ERR)
		mroce_qp_work(qp);
	return err;
}

/* INIT -> RTR of a connected queue pair: find the connection and join it. */
static int qp_connect(struct mroce_qp *qp, const struct ib_qp_attr *attr,
		      const struct ib_qp_attr *new, struct mroce_asker *asker)
{
	struct net_device *ndev;
	struct mroce_addr addr;
	struct mroce_conn *c;
	struct net *net;
	int tries = 3;
	int err;

	err = mroce_av_to_addr(qp->dev, &attr->ah_attr, &addr, &net);
	if (err)
		return err;
	/* What a new connection tells of the link shall be true. */
	ndev = mroce_get_netdev(&qp->dev->ib_dev, 1);
	mroce_link_mbps(qp->dev, ndev);
	dev_put(ndev);
	/* The peer may close the connection between the two; then another. */
	do {
		c = mroce_net_ops.conn_get(qp->dev, net, &addr, asker);
		if (IS_ERR_OR_NULL(c)) {
			err = c ? PTR_ERR(c) : -ENOMEM;
			break;
		}
		err = qp_join(qp, c, &addr, new);
	} while (err == -EAGAIN && --tries);
	put_net(net);
	return err;
}

/* A change of address would be another connection. */
static int check_av(struct mroce_qp *qp, const struct ib_qp_attr *attr)
{
	struct mroce_addr addr;
	int err;

	err = mroce_av_to_addr(qp->dev, &attr->ah_attr, &addr, NULL);
	if (err)
		return err;
	if (!ipv6_addr_equal(&addr.saddr, &qp->addr.saddr) ||
	    !ipv6_addr_equal(&addr.daddr, &qp->addr.daddr) ||
	    addr.tclass != qp->addr.tclass)
		return -EOPNOTSUPP;
	return 0;
}

/* All changes but RESET and a connected queue pair's way to RTR. */
static int qp_change(struct mroce_qp *qp, enum ib_qp_state cur,
		     enum ib_qp_state next, const struct ib_qp_attr *new)
{
	struct mroce_stream *s = &qp->x->s;
	u64 now = mroce_net_ops.now();
	struct mroce_stream_attr sa;
	int err = 0;

	stream_attr(qp, new, &sa);
	mroce_qp_lock(qp);
	/* Failed in the meantime? Who wants that does not mind: ib_drain_qp() */
	if (qp->state != cur &&
	    !(next == IB_QPS_ERR && qp->state == IB_QPS_ERR)) {
		err = -EINVAL;
		goto out;
	}
	if (next == IB_QPS_RTS && qp->draining) {
		err = -EINVAL;
		goto out;
	}

	qp->attr = *new;
	if (qp->conn && next != IB_QPS_ERR) {
		if (cur == IB_QPS_RTR && next == IB_QPS_RTS)
			mroce_stream_start(s, &sa, now);
		else
			mroce_stream_update(s, &sa);
		if (cur == IB_QPS_RTS && next == IB_QPS_SQD)
			mroce_stream_pause(s, true, now);
		if (cur == IB_QPS_SQD && next == IB_QPS_RTS)
			mroce_stream_pause(s, false, now);
	}
	qp_set_state(qp, next);
	if (cur == IB_QPS_RTS && next == IB_QPS_SQD) {
		qp->draining = true;
		/* nothing under way: drained on the spot */
		mroce_sq_complete(qp);
	}
out:
	mroce_qp_unlock(qp);
	if (err)
		return err;

	/* start what waited in the ring, or flush */
	if (next == IB_QPS_RTS || next == IB_QPS_ERR)
		mroce_qp_work(qp);
	else if (qp->conn)
		mroce_net_ops.kick(qp->conn);
	return 0;
}

static int qp_modify(struct mroce_qp *qp, const struct ib_qp_attr *attr,
		     int mask, struct mroce_asker *asker)
{
	enum ib_qp_state cur = READ_ONCE(qp->state), next;
	struct ib_qp_attr new;
	int err;

	next = mask & IB_QP_STATE ? attr->qp_state : cur;
	if (next > IB_QPS_ERR || (mask & IB_QP_CUR_STATE &&
				  attr->cur_qp_state != cur))
		return -EINVAL;
	if (!ib_modify_qp_is_ok(cur, next, qp->type, mask))
		return -EINVAL;
	err = check_attr(qp, attr, mask);
	if (err)
		return err;

	if (next == IB_QPS_RESET) {
		qp_reset(qp, true);
		return 0;
	}
	/* rings may have been filled in RESET, when nobody looked at them */
	if (cur == IB_QPS_RESET && next == IB_QPS_INIT)
		mroce_sq_reset(qp);

	new = qp->attr;
	merge_attr(&new, attr, mask);
	if (mroce_qp_connected(qp) && cur == IB_QPS_INIT && next == IB_QPS_RTR)
		return qp_connect(qp, attr, &new, asker);
	if (mroce_qp_connected(qp) && mask & IB_QP_AV) {
		err = check_av(qp, attr);
		if (err)
			return err;
	}
	return qp_change(qp, cur, next, &new);
}

static int mroce_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			   int mask, struct ib_udata *udata)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct mroce_ucontext *uc;
	int err;

	/* the core of 7.2 lets a rate through for all types */
	if (mask & ~(IB_QP_ATTR_STANDARD_BITS & ~IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	uc = rdma_udata_to_drv_context(udata, struct mroce_ucontext, ibuc);
	mutex_lock(&qp->mutex);
	err = qp_modify(qp, attr, mask, uc ? uc->asker : NULL);
	mutex_unlock(&qp->mutex);
	return err;
}

/* ---- query -------------------------------------------------------------- */

static int mroce_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			  struct ib_qp_init_attr *init)
{
	struct mroce_qp *qp = to_mqp(ibqp);

	mutex_lock(&qp->mutex);
	*attr = qp->attr;
	attr->qp_state = READ_ONCE(qp->state);
	attr->cur_qp_state = attr->qp_state;
	attr->sq_draining = attr->qp_state == IB_QPS_SQD &&
			    READ_ONCE(qp->draining);
	attr->path_mig_state = IB_MIG_MIGRATED;
	mutex_unlock(&qp->mutex);

	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = attr->cap;
	init->qp_type = ibqp->qp_type;
	init->sq_sig_type = qp->sig;
	init->port_num = attr->port_num;
	return 0;
}

/* ---- destroy ------------------------------------------------------------ */

/*
 * 1. Unpublished: no look-up finds it. Posting ended before this call.
 * 2. Reset: off its connection, claims and those inside are gone, and
 *    what is deferred finds RESET and does nothing. No new reference comes
 *    from a connection.
 * 3. Off the multicast lists. A datagram that found it there or by number
 *    before holds a reference.
 * 4. The last reference: those datagrams, and the list of deferred work, both
 *    ended by softirqs that wait for nothing. It does not wait for pages.
 * 5. Events queued for it have been delivered.
 * 6. Only RCU readers know the number's object: freed after them. The core
 *    drops its references to PD, CQs and SRQ after this function.
 */
static int mroce_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct mroce_qp *qp = to_mqp(ibqp);

	xa_erase_irq(&qp->dev->qps, ibqp->qp_num);
	mutex_lock(&qp->mutex);
	qp_reset(qp, false);
	mutex_unlock(&qp->mutex);
	mroce_mcast_drop(qp);
	if (test_bit(MROCE_QP_ODP, &qp->bits))
		mroce_odp_wake(qp->dev);
	mroce_qp_put(qp);
	wait_for_completion(&qp->gone);
	if (test_bit(MROCE_QP_EVENTS, &qp->bits))
		mroce_later_flush(qp->dev);
	qp_free(qp);
	return 0;
}

const struct ib_device_ops mroce_qp_ops = {
	.create_qp	= mroce_create_qp,
	.modify_qp	= mroce_modify_qp,
	.query_qp	= mroce_query_qp,
	.destroy_qp	= mroce_destroy_qp,
	.post_send	= mroce_post_send,
	.post_recv	= mroce_post_recv,
	.attach_mcast	= mroce_attach_mcast,
	.detach_mcast	= mroce_detach_mcast,

	INIT_RDMA_OBJ_SIZE(ib_qp, mroce_qp, ibqp),
};
