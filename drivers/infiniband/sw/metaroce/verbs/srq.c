// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shared receive queues, and the ring of receives that they and queue pairs
 * have in common.
 *
 * A process posts without a system call: the ring is looked at when a message
 * needs a buffer.
 */
#include <linux/idr.h>

#include "verbs.h"

static DEFINE_IDA(srq_nums);

/**
 * mroce_rq_pop - take the next receive off a ring
 * @q: ring
 * @max_sge: SGEs an element has room for
 * @out: filled; room for @max_sge SGEs
 *
 * Queue's lock held. The element can change while it is read: each field is
 * copied once and only the copy is looked at.
 *
 * Return: 0, -EAGAIN, or -EINVAL: garbage, consumed.
 */
int mroce_rq_pop(struct mroce_queue *q, u32 max_sge, struct mroce_rwqe *out)
{
	const struct rxe_recv_wqe *w;
	u64 sum = 0;
	u32 n, i;

	if (!mroce_queue_avail(q))
		return -EAGAIN;
	w = mroce_queue_elem(q, 0);
	out->wr_id = READ_ONCE(w->wr_id);
	n = READ_ONCE(w->dma.num_sge);
	out->num_sge = 0;
	out->length = 0;
	if (n > max_sge) {
		mroce_queue_advance(q, 1);
		return -EINVAL;
	}
	memcpy(out->sge, w->dma.sge, n * sizeof(*out->sge));
	mroce_queue_advance(q, 1);
	for (i = 0; i < n; i++)
		sum += out->sge[i].length;
	if (sum > MROCE_MAX_MSG)
		return -EINVAL;
	out->num_sge = n;
	out->length = sum;
	return 0;
}

int mroce_rq_push(struct mroce_queue *q, u32 max_sge,
		  const struct ib_recv_wr *wr)
{
	u32 prod = q->buf->producer_index, i;
	struct rxe_recv_wqe *w;

	if (wr->num_sge < 0 || wr->num_sge > max_sge)
		return -EINVAL;
	if (mroce_queue_avail(q) == q->mask)
		return -ENOMEM;
	w = mroce_queue_elem(q, prod - q->kidx);
	memset(w, 0, sizeof(*w));
	w->wr_id = wr->wr_id;
	w->dma.num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		w->dma.sge[i].addr = wr->sg_list[i].addr;
		w->dma.sge[i].length = wr->sg_list[i].length;
		w->dma.sge[i].lkey = wr->sg_list[i].lkey;
	}
	/* The element first. */
	smp_store_release(&q->buf->producer_index, (prod + 1) & q->mask);
	return 0;
}

/**
 * mroce_srq_pop - take the next receive of an SRQ
 * @srq: shared receive queue
 * @out: filled; room for srq->max_sge SGEs
 *
 * Any context, under a connection's lock too. Raises the limit event.
 *
 * Return: as mroce_rq_pop().
 */
int mroce_srq_pop(struct mroce_srq *srq, struct mroce_rwqe *out)
{
	bool event = false;
	unsigned long flags;
	int err;

	spin_lock_irqsave(&srq->lock, flags);
	err = mroce_rq_pop(srq->q, srq->max_sge, out);
	if (srq->limit && mroce_queue_avail(srq->q) < srq->limit) {
		/* Once; the consumer arms it again. */
		srq->limit = 0;
		event = true;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	if (event)
		mroce_event_srq(to_mdev(srq->ibsrq.device), &srq->ibsrq,
				IB_EVENT_SRQ_LIMIT_REACHED);
	return err;
}

static int mroce_post_srq_recv(struct ib_srq *ibsrq,
			       const struct ib_recv_wr *wr,
			       const struct ib_recv_wr **bad)
{
	struct mroce_srq *srq = to_msrq(ibsrq);
	const struct ib_recv_wr *next;
	unsigned long flags;
	int err = 0;

	if (srq->user) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&srq->lock, flags);
	for (; wr; wr = next) {
		/* once it is in the ring it may complete and be freed */
		next = wr->next;
		err = mroce_rq_push(srq->q, srq->max_sge, wr);
		if (err)
			break;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	if (err)
		*bad = wr;
	return err;
}

static int mroce_create_srq(struct ib_srq *ibsrq,
			    struct ib_srq_init_attr *init,
			    struct ib_udata *udata)
{
	struct mroce_dev *dev = to_mdev(ibsrq->device);
	struct rxe_create_srq_resp __user *resp = NULL;
	struct mroce_srq *srq = to_msrq(ibsrq);
	struct ib_srq_attr *attr = &init->attr;
	int err;

	if (udata) {
		if (udata->outlen < sizeof(*resp))
			return -EINVAL;
		resp = udata->outbuf;
	}
	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > MROCE_MAX_SRQ_WR ||
	    attr->max_sge > MROCE_MAX_SRQ_SGE || attr->srq_limit > attr->max_wr)
		return -EINVAL;
	if (!mroce_count(&dev->n_srq, MROCE_MAX_SRQ))
		return -ENOMEM;

	spin_lock_init(&srq->lock);
	srq->pd = container_of(ibsrq->pd, struct mroce_pd, ibpd);
	srq->user = udata;
	srq->limit = attr->srq_limit;
	srq->max_sge = max(attr->max_sge, 1U);
	srq->q = mroce_queue_alloc(dev, attr->max_wr,
				   mroce_rq_elem(srq->max_sge), false);
	if (!srq->q) {
		err = -ENOMEM;
		goto err_count;
	}
	srq->max_wr = srq->q->mask;
	err = ida_alloc_min(&srq_nums, 1, GFP_KERNEL);
	if (err < 0)
		goto err_queue;
	srq->num = err;
	err = mroce_queue_publish(dev, srq->q, udata, resp ? &resp->mi : NULL);
	if (err)
		goto err_num;
	if (resp && put_user(srq->num, &resp->srq_num)) {
		err = -EFAULT;
		goto err_num;
	}
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	return 0;

err_num:
	ida_free(&srq_nums, srq->num);
err_queue:
	mroce_queue_free(dev, srq->q);
err_count:
	atomic_dec(&dev->n_srq);
	return err;
}

/*
 * The new ring starts with what is posted. The library holds its lock and maps
 * the new ring before it posts again. Elements are copied as they are; they
 * are checked when they are taken.
 */
static int srq_swap(struct mroce_srq *srq, struct mroce_queue **new)
{
	struct mroce_queue *q, *n = *new;
	unsigned long flags;
	int err = -EINVAL;
	u32 count, i;

	spin_lock_irqsave(&srq->lock, flags);
	q = srq->q;
	count = mroce_queue_avail(q);
	if (count <= n->mask && srq->limit <= n->mask) {
		for (i = 0; i < count; i++)
			memcpy(mroce_queue_elem(n, i), mroce_queue_elem(q, i),
			       q->elem_size);
		n->buf->producer_index = count;
		srq->q = n;
		srq->max_wr = n->mask;
		*new = q;
		err = 0;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	return err;
}

static int srq_resize(struct mroce_srq *srq, struct ib_srq_attr *attr,
		      struct ib_udata *udata)
{
	struct mroce_dev *dev = to_mdev(srq->ibsrq.device);
	struct mminfo __user *out = NULL;
	struct rxe_modify_srq_cmd cmd;
	struct mroce_queue *q;
	int err;

	if (udata) {
		/* This ABI gives a pointer in place of an answer. */
		if (udata->inlen < sizeof(cmd))
			return -EINVAL;
		err = ib_copy_from_udata(&cmd, udata, sizeof(cmd));
		if (err)
			return err;
		out = u64_to_user_ptr(cmd.mmap_info_addr);
	}
	q = mroce_queue_alloc(dev, attr->max_wr, mroce_rq_elem(srq->max_sge),
			      false);
	if (!q)
		return -ENOMEM;
	err = mroce_queue_publish(dev, q, udata, out);
	if (!err)
		err = srq_swap(srq, &q);
	if (!err)
		attr->max_wr = srq->max_wr;
	/* The new ring on failure, else the old one. */
	mroce_queue_free(dev, q);
	return err;
}

static int mroce_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct mroce_srq *srq = to_msrq(ibsrq);
	unsigned long flags;
	int err = 0;

	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	if (mask & IB_SRQ_MAX_WR &&
	    (!attr->max_wr || attr->max_wr > MROCE_MAX_SRQ_WR))
		return -EINVAL;
	/* All or nothing: the limit must fit the ring that there will be. */
	if (mask & IB_SRQ_LIMIT &&
	    attr->srq_limit > (mask & IB_SRQ_MAX_WR ? attr->max_wr :
						      READ_ONCE(srq->max_wr)))
		return -EINVAL;
	if (mask & IB_SRQ_MAX_WR)
		err = srq_resize(srq, attr, udata);
	if (!err && mask & IB_SRQ_LIMIT) {
		spin_lock_irqsave(&srq->lock, flags);
		srq->limit = attr->srq_limit;
		spin_unlock_irqrestore(&srq->lock, flags);
	}
	return err;
}

static int mroce_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct mroce_srq *srq = to_msrq(ibsrq);
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = srq->limit;
	spin_unlock_irqrestore(&srq->lock, flags);
	return 0;
}

/*
 * 1. No queue pair uses it (the core has counted), and destroy_qp() returns
 *    only when nobody takes receives for the queue pair any more.
 * 2. A limit event that is queued names the core's object: flush.
 */
static int mroce_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct mroce_dev *dev = to_mdev(ibsrq->device);
	struct mroce_srq *srq = to_msrq(ibsrq);

	mroce_later_flush(dev);
	mroce_queue_free(dev, srq->q);
	ida_free(&srq_nums, srq->num);
	atomic_dec(&dev->n_srq);
	return 0;
}

const struct ib_device_ops mroce_srq_ops = {
	.create_srq = mroce_create_srq,
	.modify_srq = mroce_modify_srq,
	.query_srq = mroce_query_srq,
	.destroy_srq = mroce_destroy_srq,
	.post_srq_recv = mroce_post_srq_recv,

	INIT_RDMA_OBJ_SIZE(ib_srq, mroce_srq, ibsrq),
};
