// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues.
 *
 * A ring of struct ib_uverbs_wc for a process, of struct ib_wc for the kernel;
 * we are the producer. cq->lock covers the producer's side and arming. The
 * handler of an armed queue is not called from here but from later.c.
 */
#include <rdma/ib_user_verbs.h>

#include "verbs.h"

/* ibverbs' IBV_WC_WITH_INV; the kernel's own flag has another value. */
#define USER_WC_WITH_INV	BIT(3)

/* A user's element is one, and whole. */
static_assert(sizeof(struct ib_uverbs_wc) == 48);

/*
 * Entries that nobody has polled. A consumer index beyond the producer (the
 * extended poll of old libraries leaves one) counts as an empty ring, which is
 * told from a full one by the last index that made sense. Lock held.
 */
static u32 cq_count(struct mroce_queue *q)
{
	u32 cons = mroce_queue_other(q);

	if (((cons - q->oidx) & q->mask) > ((q->kidx - q->oidx) & q->mask))
		cons = q->kidx;
	q->oidx = cons;
	return (q->kidx - cons) & q->mask;
}

/* Bytes of an element; cq->q may go away in a resize beside this one. */
static u32 cq_elem(const struct mroce_cq *cq)
{
	return cq->user ? sizeof(struct ib_uverbs_wc) : sizeof(struct ib_wc);
}

static void wc_to_user(struct ib_uverbs_wc *u, const struct ib_wc *wc)
{
	memset(u, 0, sizeof(*u));
	u->wr_id = wc->wr_id;
	u->status = wc->status;
	u->opcode = wc->opcode;
	u->vendor_err = wc->vendor_err;
	u->byte_len = wc->byte_len;
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		u->ex.invalidate_rkey = wc->ex.invalidate_rkey;
	else
		u->ex.imm_data = wc->ex.imm_data;
	u->qp_num = wc->qp ? wc->qp->qp_num : 0;
	u->src_qp = wc->src_qp;
	u->wc_flags = wc->wc_flags & (IB_WC_GRH | IB_WC_WITH_IMM);
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		u->wc_flags |= USER_WC_WITH_INV;
	u->pkey_index = wc->pkey_index;
	u->slid = wc->slid;
	u->sl = wc->sl;
	u->dlid_path_bits = wc->dlid_path_bits;
	u->port_num = wc->port_num;
}

/**
 * mroce_cq_post - append a completion
 * @cq: completion queue
 * @wc: as for a kernel consumer
 * @solicited: asks for a solicited event
 *
 * Any context. Return: 0, or -ENOSPC: the ring is full, the completion lost.
 */
int mroce_cq_post(struct mroce_cq *cq, const struct ib_wc *wc, bool solicited)
{
	struct mroce_dev *dev = to_mdev(cq->ibcq.device);
	bool call = false, first = false;
	struct ib_uverbs_wc uwc;
	struct mroce_queue *q;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&cq->lock, flags);
	q = cq->q;
	if (unlikely(cq_count(q) == q->mask)) {
		first = !cq->overrun;
		cq->overrun = true;
		err = -ENOSPC;
	} else {
		if (cq->user) {
			wc_to_user(&uwc, wc);
			memcpy(mroce_queue_elem(q, 0), &uwc, sizeof(uwc));
		} else {
			memcpy(mroce_queue_elem(q, 0), wc, sizeof(*wc));
		}
		mroce_queue_advance(q, 1);
		/* A failure wakes those that wait for solicited ones, too. */
		if (cq->notify & IB_CQ_NEXT_COMP ||
		    (cq->notify & IB_CQ_SOLICITED &&
		     (solicited || wc->status != IB_WC_SUCCESS))) {
			cq->notify = 0;
			call = true;
		}
	}
	spin_unlock_irqrestore(&cq->lock, flags);

	if (call)
		mroce_cq_later(cq);
	if (first)
		mroce_event_cq(dev, &cq->ibcq, IB_EVENT_CQ_ERR);
	return err;
}

static int mroce_create_cq(struct ib_cq *ibcq,
			   const struct ib_cq_init_attr *attr,
			   mroce_cq_attrs *attrs)
{
	struct mroce_cq *cq = container_of(ibcq, struct mroce_cq, ibcq);
	struct ib_udata *udata = mroce_cq_udata(attrs);
	struct mroce_dev *dev = to_mdev(ibcq->device);
	struct rxe_create_cq_resp __user *resp = NULL;
	int err;

	if (udata) {
		if (udata->outlen < sizeof(*resp))
			return -EINVAL;
		resp = udata->outbuf;
	}
	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > MROCE_MAX_CQE)
		return -EINVAL;
	if (!mroce_count(&dev->n_cq, MROCE_MAX_CQ))
		return -ENOMEM;

	spin_lock_init(&cq->lock);
	refcount_set(&cq->ref, 1);
	init_completion(&cq->gone);
	cq->user = udata;
	cq->q = mroce_queue_alloc(dev, attr->cqe, cq_elem(cq), true);
	if (!cq->q) {
		err = -ENOMEM;
		goto err_count;
	}
	err = mroce_queue_publish(dev, cq->q, udata, resp ? &resp->mi : NULL);
	if (err)
		goto err_queue;
	ibcq->cqe = cq->q->mask;
	return 0;

err_queue:
	mroce_queue_free(dev, cq->q);
err_count:
	atomic_dec(&dev->n_cq);
	return err;
}

/* Move what nobody has polled; the ring's user holds still meanwhile. */
static int cq_swap(struct mroce_cq *cq, struct mroce_queue **new)
{
	struct mroce_queue *q, *n = *new;
	unsigned long flags;
	int err = -EINVAL;
	u32 count, i;

	spin_lock_irqsave(&cq->lock, flags);
	q = cq->q;
	count = cq_count(q);
	if (count <= n->mask) {
		for (i = 0; i < count; i++) {
			memcpy(mroce_queue_elem(n, 0),
			       mroce_queue_elem(q, i - count), q->elem_size);
			mroce_queue_advance(n, 1);
		}
		cq->q = n;
		cq->ibcq.cqe = n->mask;
		*new = q;
		err = 0;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return err;
}

static int mroce_resize_cq(struct ib_cq *ibcq, mroce_resize_cqe_t cqe,
			   struct ib_udata *udata)
{
	struct mroce_cq *cq = container_of(ibcq, struct mroce_cq, ibcq);
	struct mroce_dev *dev = to_mdev(ibcq->device);
	struct rxe_resize_cq_resp __user *resp = NULL;
	struct mroce_queue *q;
	int err;

	if (udata) {
		if (udata->outlen < sizeof(*resp))
			return -EINVAL;
		resp = udata->outbuf;
	}
	if (!cqe || (u32)cqe > MROCE_MAX_CQE)
		return -EINVAL;
	q = mroce_queue_alloc(dev, cqe, cq_elem(cq), true);
	if (!q)
		return -ENOMEM;
	/* Told before it is done: a fault leaves the old ring in place. */
	err = mroce_queue_publish(dev, q, udata, resp ? &resp->mi : NULL);
	if (!err)
		err = cq_swap(cq, &q);
	/* The new ring on failure, else the old one. */
	mroce_queue_free(dev, q);
	return err;
}

static int mroce_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc)
{
	struct mroce_cq *cq = container_of(ibcq, struct mroce_cq, ibcq);
	struct mroce_queue *q;
	unsigned long flags;
	u32 count;
	int i;

	if (cq->user)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, flags);
	q = cq->q;
	count = cq_count(q);
	for (i = 0; i < n && count; i++, count--)
		memcpy(wc++, mroce_queue_elem(q, -count), sizeof(*wc));
	WRITE_ONCE(q->buf->consumer_index, (q->kidx - count) & q->mask);
	spin_unlock_irqrestore(&cq->lock, flags);
	return i;
}

static int mroce_peek_cq(struct ib_cq *ibcq, int n)
{
	struct mroce_cq *cq = container_of(ibcq, struct mroce_cq, ibcq);
	unsigned long flags;
	int count;

	spin_lock_irqsave(&cq->lock, flags);
	count = cq_count(cq->q);
	spin_unlock_irqrestore(&cq->lock, flags);
	return min(count, n);
}

static int mroce_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags what)
{
	struct mroce_cq *cq = container_of(ibcq, struct mroce_cq, ibcq);
	unsigned long flags;
	int missed;

	spin_lock_irqsave(&cq->lock, flags);
	/* Arming for any completion stays when armed for solicited ones. */
	cq->notify |= what & IB_CQ_SOLICITED_MASK;
	missed = (what & IB_CQ_REPORT_MISSED_EVENTS) && cq_count(cq->q);
	spin_unlock_irqrestore(&cq->lock, flags);
	return missed;
}

void mroce_cq_put(struct mroce_cq *cq)
{
	if (refcount_dec_and_test(&cq->ref))
		complete(&cq->gone);
}

/*
 * 1. No queue pair uses it (the core has counted), and destroy_qp() returns
 *    only when nobody posts for the queue pair: no further mroce_cq_post().
 * 2. Dying: a handler that is queued is not called, one that runs ends.
 * 3. Both hold a reference and run in softirq: the wait ends by itself.
 * 4. An overrun event that is queued names the core's object: flush.
 * 5. Nobody is left; the process keeps the pages that it has mapped.
 */
static int mroce_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct mroce_cq *cq = container_of(ibcq, struct mroce_cq, ibcq);
	struct mroce_dev *dev = to_mdev(ibcq->device);

	WRITE_ONCE(cq->dying, true);
	mroce_cq_put(cq);
	wait_for_completion(&cq->gone);
	if (cq->overrun)
		mroce_later_flush(dev);
	mroce_queue_free(dev, cq->q);
	atomic_dec(&dev->n_cq);
	return 0;
}

const struct ib_device_ops mroce_cq_ops = {
	.create_cq = mroce_create_cq,
	.destroy_cq = mroce_destroy_cq,
	.MROCE_OP_RESIZE_CQ = mroce_resize_cq,
	.poll_cq = mroce_poll_cq,
	.peek_cq = mroce_peek_cq,
	.req_notify_cq = mroce_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, mroce_cq, ibcq),
};
