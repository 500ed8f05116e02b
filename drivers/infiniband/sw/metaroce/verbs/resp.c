// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Responder: receives, remote access, and the table of answers that the
 * transport asks for.
 *
 * A receive is taken off its queue when the first packet of its message
 * comes (bind), in the order of the messages, and completes in that order.
 * What is wrong with it, or with the message that met it, is noted in its
 * entry: when the queue pair goes to ERR the entry is reported with that
 * status instead of being flushed.
 */
#include <linux/slab.h>

#include "qp.h"

/* The last bytes of a packet, written after all others (polled flags). */
#define MROCE_TAIL_BYTES	64
#define WRITE_AHEAD		(256U << 10)	/* brought in before it comes */

/* ---- receive queue ------------------------------------------------------ */

int mroce_rq_alloc(struct mroce_qp *qp, struct ib_qp_cap *cap)
{
	struct mroce_rq *rq = &qp->rq;

	if (qp->srq) {
		rq->max_sge = qp->srq->max_sge;
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	} else {
		rq->max_sge = max(cap->max_recv_sge, 1U);
		rq->q = mroce_queue_alloc(qp->dev, max(cap->max_recv_wr, 1U),
					  sizeof(struct rxe_recv_wqe) +
					  rq->max_sge * sizeof(struct rxe_sge),
					  false);
		if (IS_ERR_OR_NULL(rq->q)) {
			int err = rq->q ? PTR_ERR(rq->q) : -ENOMEM;

			rq->q = NULL;
			return err;
		}
		rq->max_wr = rq->q->mask;
		cap->max_recv_wr = rq->max_wr;
		cap->max_recv_sge = rq->max_sge;
	}

	if (!mroce_qp_connected(qp))
		return 0;
	rq->stride = ALIGN(sizeof(struct mroce_bound) +
			   rq->max_sge * sizeof(struct rxe_sge), 8);
	rq->bound = kvcalloc(MROCE_RSN_WINDOW, rq->stride, GFP_KERNEL_ACCOUNT);
	return rq->bound ? 0 : -ENOMEM;
}

void mroce_rq_free(struct mroce_qp *qp)
{
	struct mroce_rq *rq = &qp->rq;

	if (rq->q)
		mroce_queue_free(qp->dev, rq->q);
	rq->q = NULL;
	kvfree(rq->bound);
	rq->bound = NULL;
}

void mroce_rq_reset(struct mroce_qp *qp)
{
	struct mroce_rq *rq = &qp->rq;
	unsigned long flags;

	rq->head = 0;
	rq->tail = 0;
	if (!rq->q)
		return;
	spin_lock_irqsave(&qp->rq_lock, flags);
	mroce_queue_advance(rq->q, mroce_queue_avail(rq->q));
	spin_unlock_irqrestore(&qp->rq_lock, flags);
}

int mroce_recv_pop(struct mroce_qp *qp, struct mroce_rwqe *w)
{
	unsigned long flags;
	int err;

	if (qp->srq)
		return mroce_srq_pop(qp->srq, w);
	spin_lock_irqsave(&qp->rq_lock, flags);
	err = mroce_rq_pop(qp->rq.q, qp->rq.max_sge, w);
	spin_unlock_irqrestore(&qp->rq_lock, flags);
	return err;
}

static void report(struct mroce_qp *qp, u64 wr_id, enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id	= wr_id,
		.status	= status,
		.opcode	= IB_WC_RECV,
		.qp	= &qp->ibqp,
	};

	mroce_cq_post(qp->rcq, &wc, true);
}

u32 mroce_rq_flush(struct mroce_qp *qp, u32 budget)
{
	DEFINE_RAW_FLEX(struct mroce_rwqe, w, sge, MROCE_MAX_SGE);
	struct mroce_rq *rq = &qp->rq;

	while (budget && rq->head != rq->tail) {
		struct mroce_bound *b = mroce_qp_bound(qp, rq->head++);

		if (b->drop)
			continue;
		report(qp, b->w.wr_id, b->status ?: IB_WC_WR_FLUSH_ERR);
		budget--;
	}
	if (qp->srq) {
		if (budget && !qp->last_wqe) {
			qp->last_wqe = true;
			mroce_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
		}
		return budget;
	}
	while (budget && mroce_recv_pop(qp, w) != -EAGAIN) {
		report(qp, w->wr_id, IB_WC_WR_FLUSH_ERR);
		budget--;
	}
	return budget;
}

int mroce_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	const struct ib_recv_wr *next;
	unsigned long flags;
	int err = 0;

	if (qp->user || qp->srq || !mroce_qp_enter(qp, IB_QPS_INIT)) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->rq_lock, flags);
	for (; wr; wr = next) {
		/* once it is in the ring it may complete and be freed */
		next = wr->next;
		err = mroce_rq_push(qp->rq.q, qp->rq.max_sge, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&qp->rq_lock, flags);

	if (READ_ONCE(qp->state) == IB_QPS_ERR) {
		if (irqs_disabled())
			mroce_qp_defer(qp);
		else
			mroce_qp_work(qp);
	}
	mroce_qp_exit(qp);
	return err;
}

static int bind(struct mroce_stream *s, u32 rsn)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	struct mroce_rq *rq = &qp->rq;
	struct mroce_bound *b = mroce_qp_bound(qp, rsn);
	int err;

	if (qp->state == IB_QPS_ERR || rsn != rq->tail ||
	    rq->tail - rq->head >= MROCE_RSN_WINDOW)
		return -EAGAIN;
	err = mroce_recv_pop(qp, &b->w);
	b->named = false;
	b->drop = err == -EAGAIN && mroce_qp_is_uc(qp);
	if (b->drop)
		err = 0;
	if (err == -EAGAIN)
		return err;
	/* garbage takes its place in the order, too */
	b->status = err ? IB_WC_LOC_QP_OP_ERR : IB_WC_SUCCESS;
	rq->tail++;
	return 0;
}

/*
 * A peer's request is refused with @code. On UC nobody is told: the packet
 * takes no effect, and the queue pair goes on (see mroce_qp_is_uc()).
 */
static int refuse(struct mroce_qp *qp, int code)
{
	if (!mroce_qp_is_uc(qp))
		return code;
	mroce_dev_count(qp->dev, MROCE_DCNT_UC_DROP);
	return -EACCES;
}

static struct mroce_bound *find_bound(struct mroce_qp *qp, u32 rsn)
{
	if (rsn - qp->rq.head >= qp->rq.tail - qp->rq.head)
		return NULL;
	return mroce_qp_bound(qp, rsn);
}

static int recv_fits(struct mroce_qp *qp, struct mroce_bound *b,
		     struct mroce_claim *cl)
{
	struct mroce_mr *mr = NULL;

	if (b->status == IB_WC_LOC_QP_OP_ERR)
		return MROCE_NAK_OP_ERR;
	if (cl->mlen > b->w.length) {
		b->status = IB_WC_LOC_LEN_ERR;
		return MROCE_NAK_INV_REQ;
	}
	if (cl->off > cl->mlen || cl->len > cl->mlen - cl->off)
		return MROCE_NAK_INV_REQ;
	if (mroce_sgl_check(qp, b->w.sge, b->w.num_sge, cl->off, cl->len,
			    IB_ACCESS_LOCAL_WRITE, &mr)) {
		b->status = IB_WC_LOC_PROT_ERR;
		return MROCE_NAK_OP_ERR;
	}
	/* what was wrong with an earlier packet stays wrong (UC) */
	if (mr) {
		cl->obj = mr;
		qp->n_obj++;
	}
	return 0;
}

static int check_recv(struct mroce_stream *s, struct mroce_claim *cl)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	struct mroce_bound *b = find_bound(qp, cl->rsn);
	int code;

	cl->obj = NULL;
	if (!b)
		return MROCE_NAK_INV_REQ;
	/* A second message for the same receive could be copied into it after
	 * the first one has completed it.
	 */
	if (b->named && b->msn != cl->msn)
		return MROCE_NAK_INV_REQ;
	b->named = true;
	b->msn = cl->msn;
	if (b->drop)
		return refuse(qp, MROCE_NAK_INV_REQ);
	code = recv_fits(qp, b, cl);
	/* what is wrong is reported in its turn */
	return code ? refuse(qp, code) : 0;
}

static bool uc_drops(struct mroce_qp *qp, const struct mroce_bound *b,
		     const struct mroce_recv *r)
{
	/* the packets of a Write were good, only it has no receive */
	if (b->drop && r->opcode == MROCE_OP_WRITE_IMM)
		return refuse(qp, MROCE_NAK_INV_REQ);
	if (b->drop || b->status || r->refused)
		return true;
	/* UC has no such request, and no sender of ours sends it */
	return r->opcode == MROCE_OP_SEND_INV && refuse(qp, MROCE_NAK_INV_REQ);
}

/*
 * In turn of a message of UC that was dropped: the receive that it used up
 * says why; without a reason of its own, the peer had no right to it. Only
 * our own faults stop the queue pair, no peer's.
 */
static int recv_dropped(struct mroce_qp *qp, struct mroce_bound *b)
{
	qp->rq.head++;
	if (!b->drop)
		report(qp, b->w.wr_id, b->status ?: IB_WC_LOC_ACCESS_ERR);
	if (b->status && b->status != IB_WC_LOC_LEN_ERR)
		mroce_qp_fail(qp);
	return 0;
}

static int recv_done(struct mroce_stream *s, const struct mroce_recv *r)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	struct mroce_bound *b = find_bound(qp, r->rsn);
	struct ib_wc wc = {};

	if (!b || r->rsn != qp->rq.head)
		return MROCE_NAK_OP_ERR;
	/* another message named it, and is being copied into it, maybe */
	if (b->named && b->msn != s->msn_rcv)
		return MROCE_NAK_INV_REQ;
	if (mroce_qp_is_uc(qp) && uc_drops(qp, b, r))
		return recv_dropped(qp, b);
	if (b->status)
		return MROCE_NAK_OP_ERR;

	wc.wr_id = b->w.wr_id;
	wc.opcode = IB_WC_RECV;
	wc.qp = &qp->ibqp;
	wc.byte_len = r->len;
	wc.src_qp = s->a.dqpn;
	wc.port_num = 1;
	switch (r->opcode) {
	case MROCE_OP_WRITE_IMM:
		wc.opcode = IB_WC_RECV_RDMA_WITH_IMM;
		fallthrough;
	case MROCE_OP_SEND_IMM:
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = cpu_to_be32(r->imm);
		break;
	case MROCE_OP_SEND_INV:
		if (mroce_mr_invalidate(qp->dev, qp->ibqp.pd, r->imm,
					qp->id)) {
			b->status = IB_WC_LOC_PROT_ERR;
			return MROCE_NAK_ACCESS;
		}
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = r->imm;
		break;
	}
	qp->rq.head++;
	mroce_cq_post(qp->rcq, &wc, r->solicited);
	return 0;
}

/* ---- remote access ------------------------------------------------------ */

/* MR of a remote key, or NULL: the queue pair's own rights come first. */
static struct mroce_mr *remote_mr(struct mroce_qp *qp, u32 rkey, u64 va,
				  u32 len, int access)
{
	if (!(qp->attr.qp_access_flags & access))
		return NULL;
	return mroce_mr_get(qp->dev, qp->ibqp.pd, rkey, va, len, access,
			    qp->id);
}

/* The same, begun. */
static struct mroce_mr *remote_open(struct mroce_qp *qp, u32 rkey, u64 va,
				    u32 len, int access)
{
	struct mroce_mr *mr = remote_mr(qp, rkey, va, len, access);

	if (mr && !mroce_mr_begin_remote(mr, rkey, access, qp->id)) {
		mroce_mr_put(mr);
		return NULL;
	}
	return mr;
}

static int check_write(struct mroce_stream *s, struct mroce_claim *cl)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	struct mroce_mr *mr;

	cl->obj = NULL;
	if (!cl->mlen)
		return 0;	/* the key of a Write of nothing is not read */
	/*
	 * Each packet answers for the whole message: of one that does not fit
	 * nothing is written. The packet lies inside the message (parser).
	 */
	mr = remote_mr(qp, cl->rkey, cl->va - cl->off, cl->mlen,
		       IB_ACCESS_REMOTE_WRITE);
	/* the look-up has not seen all of a long message */
	if (mr && !mroce_mr_ahead(mr, cl->rkey, cl->va,
				  min_t(u32, cl->mlen - cl->off, WRITE_AHEAD),
				  true)) {
		mroce_mr_put(mr);
		mr = NULL;
	}
	if (!mr)
		return refuse(qp, MROCE_NAK_ACCESS);
	cl->obj = mr;
	qp->n_obj++;
	return 0;
}

/*
 * The answer of what takes effect in order: 0, @nak, or -EAGAIN, and the queue
 * pair's work runs when the memory may be there.
 */
static int in_turn(struct mroce_qp *qp, int err, int nak)
{
	if (err == -EAGAIN)
		mroce_odp_wait(qp);
	else if (err)
		err = nak;
	return err;
}

static int store(struct mroce_stream *s, u64 va, u32 rkey, const u8 *data,
		 u32 len)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	struct mroce_mr *mr;
	int err;

	if (!len)
		return 0;
	mr = remote_open(qp, rkey, va, len, IB_ACCESS_REMOTE_WRITE);
	if (!mr)
		return refuse(qp, MROCE_NAK_ACCESS);
	err = mroce_mr_scatter(mr, va, len, mroce_copy_buf, (void *)data, 0);
	mroce_mr_close(mr);
	return in_turn(qp, err, MROCE_NAK_OP_ERR);
}

static void read_end(struct mroce_stream *s, struct mroce_rctx *r)
{
	kfree(r->copy);
	r->copy = NULL;
}

static int read_start(struct mroce_stream *s, struct mroce_rctx *r)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	struct mroce_mr *mr;
	int err = 0;

	r->obj = NULL;
	r->copy = NULL;
	if (!r->len)
		return 0;
	/* without memory for it the data is read when it is sent */
	if (r->len <= MROCE_READ_COPY_BYTES)
		r->copy = kmalloc(r->len, GFP_ATOMIC | __GFP_NOWARN);
	mr = remote_open(qp, r->rkey, r->va, r->len, IB_ACCESS_REMOTE_READ);
	if (!mr) {
		read_end(s, r);
		return MROCE_NAK_ACCESS;
	}
	if (r->copy)
		err = mroce_mr_to_buf(mr, r->va, r->copy, r->len);
	/*
	 * No reference is kept: how long the peer takes must not decide when
	 * an MR can be deregistered. The key is looked up for each packet.
	 */
	mroce_mr_close(mr);
	if (err)
		read_end(s, r);
	return in_turn(qp, err, MROCE_NAK_OP_ERR);
}

/* Bytes of a Read's source, as they are now. */
static int source_copy(struct mroce_qp *qp, struct mroce_rctx *r, u64 addr,
		       u32 len, void *dst)
{
	struct mroce_mr *mr;
	int err;

	mr = remote_open(qp, r->rkey, addr, len, IB_ACCESS_REMOTE_READ);
	if (!mr)
		return -EACCES;
	err = mroce_mr_to_buf(mr, addr, dst, len);
	mroce_mr_close(mr);
	return err;
}

static int gather_resp(struct mroce_stream *s, struct mroce_rctx *r, u32 off,
		       u32 len, struct mroce_txd *txd)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	u32 left = len, n;
	struct mroce_mr *mr;
	void *dst;
	u64 addr;
	int err;

	if (!len)
		return 0;
	if (off > r->len || len > r->len - off)
		return -EINVAL;
	if (len <= MROCE_COPY_BYTES && len > sizeof(txd->lin) - txd->lin_len)
		return -EINVAL;
	if (r->copy) {
		memcpy(txd->lin + txd->lin_len, r->copy + off, len);
		txd->lin_len += len;
		return 0;
	}

	addr = r->va + off;
	if (len <= MROCE_COPY_BYTES) {
		err = source_copy(qp, r, addr, len, txd->lin + txd->lin_len);
		if (!err)
			txd->lin_len += len;
		return err;
	}

	mr = remote_open(qp, r->rkey, addr, len, IB_ACCESS_REMOTE_READ);
	if (!mr)
		return -EACCES;
	err = mroce_txd_ref(txd, mr, addr, len);
	mroce_mr_close(mr);
	if (err == -E2BIG) {
		mroce_txd_drop(txd);
		for (err = 0; left && !err; left -= n, addr += n) {
			dst = mroce_txd_page(txd, len, left, &n);
			if (!dst) {
				err = -ENOMEM;
				break;
			}
			err = source_copy(qp, r, addr, n, dst);
		}
	}
	if (err)
		mroce_txd_drop(txd);
	return err;
}

static int atomic(struct mroce_stream *s, struct mroce_rctx *r, u64 swap_add,
		  u64 compare)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	struct mroce_mr *mr;
	int err;

	if (r->va & 7)
		return MROCE_NAK_INV_REQ;
	mr = remote_open(qp, r->rkey, r->va, sizeof(u64),
			 IB_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		return MROCE_NAK_ACCESS;
	err = mroce_mr_atomic(mr, r->va, r->opcode, swap_add, compare,
			      &r->orig);
	mroce_mr_close(mr);
	return in_turn(qp, err, MROCE_NAK_INV_REQ);
}

/* ---- placing ------------------------------------------------------------ */

static int place_part(struct mroce_qp *qp, struct mroce_claim *cl, u32 off,
		      u32 len, mroce_copy_fn copy, void *src)
{
	struct mroce_swqe *w;
	struct mroce_bound *b;
	int err;

	switch (cl->kind) {
	case MROCE_CLAIM_WRITE:
		if (!mroce_mr_begin_remote(cl->obj, cl->rkey,
					   IB_ACCESS_REMOTE_WRITE, qp->id))
			return -EACCES;
		err = mroce_mr_scatter(cl->obj, cl->va + off, len, copy, src,
				       off);
		mroce_mr_end(cl->obj);
		return err;
	case MROCE_CLAIM_RECV:
		b = mroce_qp_bound(qp, cl->rsn);
		return mroce_sgl_scatter(qp, b->w.sge, b->w.num_sge,
					 cl->off + off, len, copy, src, off);
	case MROCE_CLAIM_RESP:
		w = mroce_sq_slot(&qp->sq, cl->obj_off);
		return mroce_sgl_scatter(qp, w->sge, w->num_sge, cl->off + off,
					 len, copy, src, off);
	}
	return 0;
}

/*
 * No lock held; kept Writes are copied by core. The claim keeps what is read
 * here: the queue pair is not reset, and the slots of both rings are not
 * reused, before it ends (see mroce_qp_flush()).
 */
static int place(struct mroce_claim *cl, mroce_copy_fn copy, void *src)
{
	struct mroce_qp *qp = mroce_stream_qp(cl->s);
	u32 tail = min_t(u32, cl->len, MROCE_TAIL_BYTES);
	int err = 0;

	/* without memory: nothing in it */
	if (!cl->len || !cl->obj)
		return 0;
	local_bh_disable();
	if (cl->len > tail) {
		err = place_part(qp, cl, 0, cl->len - tail, copy, src);
		/* programs poll the last bytes of what they receive */
		smp_wmb();
	}
	if (!err)
		err = place_part(qp, cl, cl->len - tail, tail, copy, src);
	local_bh_enable();
	/* not placed, not acknowledged: it will come again */
	if (err == -EAGAIN)
		mroce_dev_count(qp->dev, MROCE_DCNT_ODP_DROP);
	return err;
}

static void unclaim(struct mroce_stream *s, struct mroce_claim *cl)
{
	struct mroce_qp *qp = mroce_stream_qp(s);

	if (!cl->obj)
		return;
	mroce_mr_put(cl->obj);
	cl->obj = NULL;
	/* a flush may have been waiting for this */
	if (!--qp->n_obj && qp->state == IB_QPS_ERR)
		mroce_qp_defer(qp);
}

/* ---- events ------------------------------------------------------------- */

static void rx_fatal(struct mroce_stream *s, u8 code)
{
	struct mroce_qp *qp = mroce_stream_qp(s);

	if (qp->state == IB_QPS_ERR)
		return;
	switch (code) {
	case MROCE_NAK_INV_REQ:
		mroce_qp_event(qp, IB_EVENT_QP_REQ_ERR);
		break;
	case MROCE_NAK_ACCESS:
		mroce_qp_event(qp, IB_EVENT_QP_ACCESS_ERR);
		break;
	default:
		mroce_qp_event(qp, IB_EVENT_QP_FATAL);
	}
	mroce_qp_fail(qp);
}

static void established(struct mroce_stream *s)
{
	struct mroce_qp *qp = mroce_stream_qp(s);

	if (qp->state == IB_QPS_RTR)
		mroce_qp_event(qp, IB_EVENT_COMM_EST);
}

static void idle(struct mroce_stream *s)
{
	complete(&mroce_stream_qp(s)->idle);
}

const struct mroce_stream_ops mroce_stream_verbs_ops = {
	.gather		= mroce_req_gather,
	.gather_resp	= gather_resp,
	.check_write	= check_write,
	.bind		= bind,
	.check_recv	= check_recv,
	.check_resp	= mroce_req_check_resp,
	.place		= place,
	.unclaim	= unclaim,
	.store		= store,
	.recv_done	= recv_done,
	.read_start	= read_start,
	.read_end	= read_end,
	.atomic		= atomic,
	.atomic_done	= mroce_req_atomic_done,
	.msg_done	= mroce_req_msg_done,
	.tx_fatal	= mroce_req_tx_fatal,
	.rx_fatal	= rx_fatal,
	.conn_lost	= mroce_req_conn_lost,
	.established	= established,
	.idle		= idle,
};
