// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory windows: a key of its own, with its own range and rights, for a part
 * of a user MR. A window has the same table, keys and references as an MR
 * (struct mroce_mr, type MROCE_MR_WINDOW), so that the fast path knows nothing
 * of it: mroce_mr_piece() goes on in the MR.
 *
 *		 unbound	   bound
 *   type 1	 FREE		   VALID    bind always; of no bytes: to FREE
 *   type 2	 FREE		   VALID    bind if FREE; invalidation: to FREE
 *
 * A window of type 2 serves the peer of the queue pair that bound it only (2B:
 * and is of its PD), by the queue pair's id, which is not given out again.
 *
 * Who may follow w->target? A bound window is counted in target->windows, and
 * an MR with windows is neither deregistered nor changed. Who touches memory
 * does so between mroce_mr_begin() and mroce_mr_end(), and a window stops being
 * bound only after mroce_mr_kill() has waited for those. So the MR is there
 * for all that got past mroce_mr_begin(); who comes later is refused there. They
 * count in an on-demand MR, too, whose pages may go while it is there.
 */
#include "qp.h"

#define MW_ACCESS	(MROCE_REMOTE | IB_ACCESS_LOCAL_WRITE | IB_ZERO_BASED | \
			 IB_ACCESS_MW_BIND)
#define MW_WRITES	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

struct mroce_mw {
	struct ib_mw ibmw;
	struct mroce_mr *w;	/* apart: the core frees the rest at once */
};

static struct mroce_mw *to_mmw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct mroce_mw, ibmw);
}

static int mroce_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct mroce_mr *w;

	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EINVAL;
	w = mroce_mr_alloc(ibmw->pd, MROCE_MR_WINDOW);
	if (!w)
		return -ENOMEM;
	w->type2 = ibmw->type == IB_MW_TYPE_2;
	w->state = MROCE_MR_FREE;
	to_mmw(ibmw)->w = w;
	ibmw->rkey = w->key;
	mroce_mr_publish(w);
	return 0;
}

/* w->lock held. The key is dead and nobody uses it; then the MR is let go. */
static void unbind(struct mroce_mr *w)
{
	struct mroce_mr *mr = w->target;

	mroce_mr_kill(w);
	w->target = NULL;
	if (mr)
		atomic_dec(&mr->windows);	/* ordered by the kill */
}

/*
 * 1. Off the table: no look-up finds it any more.
 * 2. Unbound, and in a state that no bind leaves: who found it before does not
 *    bind it again. No copy is under way through it.
 * 3. References are held for a packet, as those of an MR: the wait ends by
 *    itself. They lead to an object that refuses everything.
 * 4. The object goes after a grace period, for look-ups under way.
 */
static int mroce_dealloc_mw(struct ib_mw *ibmw)
{
	struct mroce_mr *w = to_mmw(ibmw)->w;
	unsigned long flags;

	xa_erase(&w->dev->mrs, w->key >> 8);
	spin_lock_irqsave(&w->lock, flags);
	unbind(w);
	WRITE_ONCE(w->state, MROCE_MR_INVALID);
	spin_unlock_irqrestore(&w->lock, flags);
	mroce_mr_put(w);
	wait_for_completion(&w->gone);
	mroce_mr_free(w);
	return 0;
}

/* May this be bound to the MR? Its windows are counted: it does not change. */
static bool target_ok(const struct mroce_mr *mr, struct ib_pd *pd,
		      const struct mroce_bind *b)
{
	int have = mr->access;

	return mr->state == MROCE_MR_VALID && &mr->pd->ibpd == pd &&
	       have & IB_ACCESS_MW_BIND && !(have & IB_ZERO_BASED) &&
	       (!(b->access & MW_WRITES) || have & IB_ACCESS_LOCAL_WRITE) &&
	       mroce_mr_in_range(mr, b->addr, b->length);
}

/* The MR for a bind, counted in its windows; NULL: not this one. */
static struct mroce_mr *target_get(struct mroce_dev *dev, struct ib_pd *pd,
				   const struct mroce_bind *b)
{
	struct mroce_mr *mr = mroce_mr_find(dev, pd, b->mr_lkey);
	bool ok = false;

	if (!mr)
		return NULL;
	if (mr->type == IB_MR_TYPE_USER &&
	    atomic_inc_unless_negative(&mr->windows)) {
		ok = target_ok(mr, pd, b);
		if (!ok)
			atomic_dec(&mr->windows);
	}
	/* the count takes over from the reference */
	mroce_mr_put(mr);
	return ok ? mr : NULL;
}

/* w->lock held. */
static int bind(struct mroce_mr *w, struct mroce_mr *mr, u64 qp_id,
		const struct mroce_bind *b)
{
	if (w->key != b->mw_rkey || w->state == MROCE_MR_INVALID)
		return -EINVAL;
	if (w->type2 && (w->state != MROCE_MR_FREE || !mr))
		return -EINVAL;
	if (!w->type2 && b->access & IB_ZERO_BASED)
		return -EINVAL;

	unbind(w);
	w->target = mr;
	w->target_addr = b->addr;
	w->iova = b->access & IB_ZERO_BASED ? 0 : b->addr;
	w->length = b->length;
	w->access = b->access;
	w->qp_id = qp_id;
	WRITE_ONCE(w->key, b->rkey);
	if (!mr)
		return 0;
	/* Complete before anybody may use it; unbind() waited for the rest. */
	smp_store_release(&w->state, MROCE_MR_VALID);
	return 0;
}

/**
 * mroce_mw_bind - BIND_MW
 * @dev: device
 * @pd: of the queue pair
 * @qp_id: its id
 * @b: what the user asks for, copied
 *
 * BH off. A window of type 1 that is bound is let go first; see
 * mroce_mw_bound().
 *
 * Return: 0 or -EINVAL: nothing has changed.
 */
int mroce_mw_bind(struct mroce_dev *dev, struct ib_pd *pd, u64 qp_id,
		  const struct mroce_bind *b)
{
	struct mroce_mr *w, *mr = NULL;
	unsigned long flags;
	int err = -EINVAL;

	if (b->access & ~MW_ACCESS || (b->rkey ^ b->mw_rkey) >> 8)
		return -EINVAL;
	w = mroce_mr_find(dev, pd, b->mw_rkey);
	if (!w)
		return -EINVAL;
	if (w->type != MROCE_MR_WINDOW)
		goto out;
	if (b->length) {
		mr = target_get(dev, pd, b);
		if (!mr)
			goto out;
	}
	spin_lock_irqsave(&w->lock, flags);
	err = bind(w, mr, qp_id, b);
	spin_unlock_irqrestore(&w->lock, flags);
	if (err && mr)
		atomic_dec(&mr->windows);
out:
	mroce_mr_put(w);
	return err;
}

/**
 * mroce_mw_bound - would binding this window end a binding?
 * @dev: device
 * @key: of the window
 */
bool mroce_mw_bound(struct mroce_dev *dev, u32 key)
{
	struct mroce_mr *w;
	bool bound;

	rcu_read_lock();
	w = xa_load(&dev->mrs, key >> 8);
	bound = w && w->type == MROCE_MR_WINDOW &&
		READ_ONCE(w->state) == MROCE_MR_VALID;
	rcu_read_unlock();
	return bound;
}

/**
 * mroce_mw_invalidate - LOCAL_INV, SEND_INV of a window
 * @w: referenced
 * @key: the one to kill
 * @from: as in mroce_mr_get(): who asks
 *
 * BH off. A peer may only invalidate what its own queue pair has bound.
 *
 * Return: 0 or -EINVAL: type 1, or not that key, or not the peer's.
 */
int mroce_mw_invalidate(struct mroce_mr *w, u32 key, u64 from)
{
	unsigned long flags;
	int err = -EINVAL;

	spin_lock_irqsave(&w->lock, flags);
	if (w->type2 && w->key == key && w->state != MROCE_MR_INVALID &&
	    (!from || (w->state == MROCE_MR_VALID && w->qp_id == from))) {
		unbind(w);
		err = 0;
	}
	spin_unlock_irqrestore(&w->lock, flags);
	return err;
}

const struct ib_device_ops mroce_mw_ops = {
	.alloc_mw = mroce_alloc_mw,
	.dealloc_mw = mroce_dealloc_mw,

	INIT_RDMA_OBJ_SIZE(ib_mw, mroce_mw, ibmw),
};
