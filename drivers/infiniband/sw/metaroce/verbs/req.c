// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requester: from post_send to completions.
 *
 * A request passes three marks of its queue: copied (prod), handed to the
 * transport or executed (next), reported (cons). Messages finish in order,
 * but local operations are executed in between, so what finished early waits
 * for the ones before it. An unusable request is reported in its turn, after
 * the good ones before it; nothing behind it is started.
 *
 * Nothing but mroce_sq_report() moves the consumer index that the user's
 * library compares with its own: a slot is free when its request is complete.
 */
#include <linux/mm.h>

#include "qp.h"

u32 mroce_sq_unfetched(const struct mroce_sq *sq)
{
	u32 held = sq->prod - sq->cons, avail;

	if (!sq->q)
		return 0;
	/* a producer index that moved backwards is the user's own loss */
	avail = mroce_queue_avail(sq->q);
	return avail > held ? avail - held : 0;
}

/* Copy the next request of the user's ring. False: none, or no room. */
bool mroce_sq_fetch(struct mroce_qp *qp)
{
	struct mroce_sq *sq = &qp->sq;
	u32 held = sq->prod - sq->cons;

	if (held > sq->mask || !mroce_sq_unfetched(sq))
		return false;
	mroce_swqe_fetch(qp, held, mroce_sq_slot(sq, sq->prod));
	mroce_sq_push(sq);
	return true;
}

void mroce_sq_report(struct mroce_qp *qp, struct mroce_swqe *w,
		     enum ib_wc_status status)
{
	struct mroce_sq *sq = &qp->sq;
	bool wanted = status || w->flags & MROCE_W_SIGNALED;
	struct ib_wc wc = {
		.wr_id	= w->wr_id,
		.status	= status,
		.opcode	= mroce_wc_opcode(w->opcode),
		.qp	= &qp->ibqp,
	};

	if (wc.opcode == IB_WC_RDMA_READ || wc.opcode == IB_WC_COMP_SWAP ||
	    wc.opcode == IB_WC_FETCH_ADD)
		wc.byte_len = w->length;
	mroce_swqe_put(qp, w);

	/* the slot first: who sees the completion may post at once */
	mroce_sq_free_one(sq);
	if (sq->q)
		mroce_queue_advance(sq->q, 1);
	if (wanted)
		mroce_cq_post(qp->scq, &wc, status != IB_WC_SUCCESS);
}

/* The result of an atomic, put off by mroce_req_atomic_done(). */
static bool store_result(struct mroce_qp *qp, struct mroce_swqe *w)
{
	int err;

	err = mroce_sgl_check(qp, w->sge, w->num_sge, 0, sizeof(w->result),
			      IB_ACCESS_LOCAL_WRITE, NULL);
	if (!err)
		err = mroce_sgl_scatter(qp, w->sge, w->num_sge, 0,
					sizeof(w->result), mroce_copy_buf,
					&w->result, 0);
	if (err == -EAGAIN) {
		mroce_odp_wait(qp);
		return false;
	}
	w->flags &= ~MROCE_W_STORE;
	if (err)
		w->status = IB_WC_LOC_PROT_ERR;
	return true;
}

/* True if anything was reported and the queue goes on. */
static bool complete_some(struct mroce_qp *qp)
{
	struct mroce_sq *sq = &qp->sq;
	bool any = false;

	while (sq->cons != sq->next) {
		struct mroce_swqe *w = mroce_sq_slot(sq, sq->cons);

		if (!(w->flags & MROCE_W_DONE))
			break;
		if (w->flags & MROCE_W_STORE && !w->status &&
		    !store_result(qp, w))
			break;
		if (w->status) {
			/*
			 * Reported by the flush, which waits for responses
			 * that are on their way into this request's memory.
			 */
			sq->stop = true;
			sq->failed = true;
			mroce_qp_fail(qp);
			return false;
		}
		mroce_sq_report(qp, w, IB_WC_SUCCESS);
		any = true;
	}
	return any;
}

/* SQD: nothing new is started; tell when the last message has come back. */
static void check_drained(struct mroce_qp *qp)
{
	const struct mroce_stream *s = &qp->x->s;
	struct mroce_sq *sq = &qp->sq;

	if (!qp->draining || qp->state != IB_QPS_SQD)
		return;
	if (s->cur || s->msn_snd != s->msn_una)
		return;
	/* one came back, and its result waits for a page */
	if (sq->cons != sq->next &&
	    mroce_sq_slot(sq, sq->cons)->flags & MROCE_W_DONE)
		return;
	qp->draining = false;
	if (qp->attr.en_sqd_async_notify)
		mroce_qp_event(qp, IB_EVENT_SQ_DRAINED);
}

void mroce_sq_complete(struct mroce_qp *qp)
{
	complete_some(qp);
	check_drained(qp);
}

static u8 exec_local(struct mroce_qp *qp, struct mroce_swqe *w)
{
	int err;

	switch (w->opcode) {
	case IB_WR_LOCAL_INV:
		err = mroce_mr_invalidate(qp->dev, qp->ibqp.pd, w->inv_key, 0);
		break;
	case IB_WR_BIND_MW:
		return mroce_mw_bind(qp->dev, qp->ibqp.pd, qp->id, &w->bind) ?
		       IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
	default:
		err = mroce_mr_reg(to_mmr(w->reg.mr), w->reg.key,
				   w->reg.access);
	}
	return err ? IB_WC_LOC_QP_OP_ERR : IB_WC_SUCCESS;
}

/*
 * What ends the life of a key waits for all earlier requests, which may use
 * it; what begins one only when asked to by a fence.
 */
static bool local_waits(struct mroce_qp *qp, const struct mroce_swqe *w)
{
	return w->flags & MROCE_W_FENCE || w->opcode == IB_WR_LOCAL_INV ||
	       (w->opcode == IB_WR_BIND_MW &&
		mroce_mw_bound(qp->dev, w->bind.mw_rkey));
}

static u8 check_keys(struct mroce_qp *qp, struct mroce_swqe *w)
{
	int access = 0;

	switch (w->opcode) {
	case IB_WR_RDMA_READ:
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		access = IB_ACCESS_LOCAL_WRITE;
	}
	if (w->flags & MROCE_W_INLINE || !w->length)
		return IB_WC_SUCCESS;
	return mroce_sgl_check(qp, w->sge, w->num_sge, 0, w->length, access,
			       NULL) ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS;
}

/* False: not now. */
static bool start_one(struct mroce_qp *qp, struct mroce_swqe *w)
{
	struct mroce_sq *sq = &qp->sq;

	if (!w->status && w->flags & MROCE_W_LOCAL) {
		if (sq->cons != sq->next && local_waits(qp, w))
			return false;
		w->status = exec_local(qp, w);
		w->flags |= MROCE_W_DONE;
	} else if (!w->status) {
		w->status = check_keys(qp, w);
		if (!w->status &&
		    mroce_stream_post(&qp->x->s, &w->msg, mroce_net_ops.now()))
			return false;
	}
	if (w->status) {
		w->flags |= MROCE_W_DONE;
		sq->stop = true;
	}
	return true;
}

void mroce_sq_pump(struct mroce_qp *qp)
{
	struct mroce_sq *sq = &qp->sq;
	u32 budget = 2 * MROCE_MSN_WINDOW;

	do {
		while (qp->state == IB_QPS_RTS && !sq->stop) {
			if (sq->next == mroce_sq_prod(sq) &&
			    !mroce_sq_fetch(qp))
				break;
			/* a user may add local operations for ever */
			if (!budget--) {
				mroce_qp_defer(qp);
				return;
			}
			if (!start_one(qp, mroce_sq_slot(sq, sq->next)))
				break;
			sq->next++;
		}
	} while (complete_some(qp));
}

u32 mroce_sq_flush(struct mroce_qp *qp, u32 budget)
{
	struct mroce_sq *sq = &qp->sq;

	while (budget) {
		struct mroce_swqe *w = mroce_sq_slot(sq, sq->cons);

		if (sq->cons == mroce_sq_prod(sq) && !mroce_sq_fetch(qp))
			break;
		mroce_sq_report(qp, w, sq->failed ? w->status :
						    IB_WC_WR_FLUSH_ERR);
		sq->failed = false;
		if (mroce_seq_before(sq->next, sq->cons))
			sq->next = sq->cons;
		budget--;
	}
	return budget;
}

void mroce_sq_reset(struct mroce_qp *qp)
{
	struct mroce_sq *sq = &qp->sq;

	while (sq->cons != sq->prod)
		mroce_swqe_put(qp, mroce_sq_slot(sq, sq->cons++));
	sq->next = sq->cons;
	sq->stop = false;
	sq->failed = false;
	/* the library's indices stay as they are: skip what is in the ring */
	if (sq->q)
		mroce_queue_advance(sq->q, mroce_queue_avail(sq->q));
}

/* ---- posting ------------------------------------------------------------ */

/*
 * A doorbell of a user below RTS: the call fails, so what it announces was
 * not posted; the library has moved its index all the same.
 */
static void discard_posts(struct mroce_qp *qp)
{
	if (!mroce_qp_enter(qp, IB_QPS_INIT))
		return;		/* RESET: dropped on the way to INIT */
	mroce_qp_lock(qp);
	if (qp->state < IB_QPS_RTS)
		mroce_sq_reset(qp);
	mroce_qp_unlock(qp);
	mroce_qp_exit(qp);
}

static int post_kernel(struct mroce_qp *qp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad)
{
	struct mroce_sq *sq = &qp->sq;
	const struct ib_send_wr *next;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->sq_lock, flags);
	for (; wr; wr = next) {
		/* once it is in the ring it may complete and be freed */
		next = wr->next;
		if (mroce_sq_held(sq) >= sq->max_wr) {
			err = -ENOMEM;
			break;
		}
		err = mroce_swqe_from_wr(qp, wr, mroce_sq_slot(sq, sq->prod));
		if (err)
			break;
		mroce_sq_push(sq);
	}
	spin_unlock_irqrestore(&qp->sq_lock, flags);
	if (err)
		*bad = wr;
	return err;
}

/*
 * For a user's queue this is only the doorbell: its requests are in the ring.
 * Interrupts may be off (MADs are sent so); then the NAPI takes over.
 */
int mroce_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	int err = 0;

	if (qp->user && wr) {
		*bad = wr;
		return -EINVAL;
	}
	if (!mroce_qp_enter(qp, IB_QPS_RTS)) {
		*bad = wr;
		if (qp->user)
			discard_posts(qp);
		return -EINVAL;
	}
	if (!qp->user)
		err = post_kernel(qp, wr, bad);
	/* those in front of a bad one are posted */
	if (irqs_disabled())
		mroce_qp_defer(qp);
	else
		mroce_qp_work(qp);
	mroce_qp_exit(qp);
	return err;
}

/* ---- the transport's questions ------------------------------------------ */

static struct mroce_swqe *msg_swqe(struct mroce_msg *m)
{
	return container_of(m, struct mroce_swqe, msg);
}

void mroce_txd_drop(struct mroce_txd *txd)
{
	while (txd->nfrags)
		put_page(txd->frag[--txd->nfrags].page);
	txd->frag_bytes = 0;
}

/**
 * mroce_txd_ref - add bytes of an MR to a packet, by reference
 * @txd: packet
 * @mr: begun, bounds checked
 * @addr: first byte
 * @len: bytes
 *
 * Return: 0, or -E2BIG if they have to be copied: memory that a packet must
 * not refer to, or too many pieces. As mroce_mr_piece() else.
 */
int mroce_txd_ref(struct mroce_txd *txd, struct mroce_mr *mr, u64 addr, u32 len)
{
	struct mroce_frag *f;
	struct page *page;
	void *kaddr;
	u32 n, off;

	while (len) {
		kaddr = mroce_mr_piece(mr, addr, len, &n, &page, false);
		if (IS_ERR(kaddr))
			return PTR_ERR(kaddr);
		if (!page)
			return -E2BIG;
		off = kaddr - page_address(page);
		f = txd->nfrags ? &txd->frag[txd->nfrags - 1] : NULL;
		if (f && f->page == page && f->off + f->len == off) {
			f->len += n;
		} else {
			if (txd->nfrags == MROCE_TXD_FRAGS)
				return -E2BIG;
			get_page(page);
			f = &txd->frag[txd->nfrags++];
			f->page = page;
			f->off = off;
			f->len = n;
		}
		txd->frag_bytes += n;
		addr += n;
		len -= n;
	}
	return 0;
}

/**
 * mroce_txd_page - add an own page to a packet
 * @txd: packet
 * @total: payload bytes of the packet
 * @left: bytes still to come
 * @n: how many of them go here
 *
 * Return: where to copy them, or NULL: no memory.
 */
void *mroce_txd_page(struct mroce_txd *txd, u32 total, u32 left, u32 *n)
{
	unsigned int order = get_order(DIV_ROUND_UP(total, MROCE_TXD_FRAGS));
	struct mroce_frag *f;
	struct page *page;

	if (txd->nfrags == MROCE_TXD_FRAGS)
		return NULL;
	page = alloc_pages(GFP_ATOMIC | __GFP_NOWARN | __GFP_COMP, order);
	if (!page)
		return NULL;
	f = &txd->frag[txd->nfrags++];
	f->page = page;
	f->off = 0;
	f->len = min_t(u32, left, PAGE_SIZE << order);
	txd->frag_bytes += f->len;
	*n = f->len;
	return page_address(page);
}

static int gather_ref(struct mroce_qp *qp, struct mroce_swqe *w, u32 off,
		      u32 len, struct mroce_txd *txd)
{
	struct mroce_sgl_iter it;
	struct mroce_mr *mr;
	u32 part, lkey;
	u64 addr;
	int err;

	mroce_sgl_start(&it, w->sge, w->num_sge, off, len);
	while (mroce_sgl_next(&it, &addr, &part, &lkey)) {
		mr = mroce_mr_open(qp, lkey, addr, part);
		if (!mr)
			return -EACCES;
		err = mroce_txd_ref(txd, mr, addr, part);
		mroce_mr_close(mr);
		if (err)
			return err;
	}
	return it.left ? -EACCES : 0;
}

static int gather_copy(struct mroce_qp *qp, struct mroce_swqe *w, u32 off,
		       u32 len, struct mroce_txd *txd)
{
	u32 left = len, n;
	void *dst;
	int err;

	while (left) {
		dst = mroce_txd_page(txd, len, left, &n);
		if (!dst)
			return -ENOMEM;
		err = mroce_sgl_to_buf(qp, w->sge, w->num_sge, off, n, dst);
		if (err)
			return err;
		off += n;
		left -= n;
	}
	return 0;
}

int mroce_req_gather(struct mroce_stream *s, struct mroce_msg *m, u32 off,
		     u32 len, struct mroce_txd *txd)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	struct mroce_swqe *w = msg_swqe(m);
	int err;

	if (off > w->length || len > w->length - off)
		return -EINVAL;

	/* inline data is never longer than what is copied anyway */
	BUILD_BUG_ON(MROCE_MAX_INLINE > MROCE_COPY_BYTES);
	if (len <= MROCE_COPY_BYTES) {
		if (len > sizeof(txd->lin) - txd->lin_len)
			return -EINVAL;
		if (w->flags & MROCE_W_INLINE) {
			memcpy(txd->lin + txd->lin_len,
			       mroce_swqe_inline(w) + off, len);
		} else {
			err = mroce_sgl_to_buf(qp, w->sge, w->num_sge, off, len,
					       txd->lin + txd->lin_len);
			if (err)
				return err;
		}
		txd->lin_len += len;
		return 0;
	}

	err = gather_ref(qp, w, off, len, txd);
	if (err == -E2BIG) {
		mroce_txd_drop(txd);
		err = gather_copy(qp, w, off, len, txd);
	}
	if (err)
		mroce_txd_drop(txd);
	return err;
}

int mroce_req_check_resp(struct mroce_stream *s, struct mroce_msg *m,
			 struct mroce_claim *cl)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	struct mroce_swqe *w = msg_swqe(m);
	struct mroce_mr *mr = NULL;

	cl->obj = NULL;
	if (w->opcode != IB_WR_RDMA_READ || cl->off > w->length ||
	    cl->len > w->length - cl->off)
		return -EINVAL;
	if (mroce_sgl_check(qp, w->sge, w->num_sge, cl->off, cl->len,
			    IB_ACCESS_LOCAL_WRITE, &mr))
		return -EACCES;
	cl->obj_off = mroce_sq_index(&qp->sq, w);
	if (mr) {
		cl->obj = mr;
		qp->n_obj++;
	}
	return 0;
}

int mroce_req_atomic_done(struct mroce_stream *s, struct mroce_msg *m, u64 orig)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	struct mroce_swqe *w = msg_swqe(m);

	w->result = orig;
	w->flags |= MROCE_W_STORE;
	store_result(qp, w);
	return w->status ? -EACCES : 0;
}

static enum ib_wc_status wc_status(enum mroce_status st)
{
	switch (st) {
	case MROCE_ST_OK:
		return IB_WC_SUCCESS;
	case MROCE_ST_RETRY_EXC:
		return IB_WC_RETRY_EXC_ERR;
	case MROCE_ST_RNR_EXC:
		return IB_WC_RNR_RETRY_EXC_ERR;
	case MROCE_ST_REM_INV_REQ:
		return IB_WC_REM_INV_REQ_ERR;
	case MROCE_ST_REM_ACCESS:
		return IB_WC_REM_ACCESS_ERR;
	case MROCE_ST_REM_OP:
		return IB_WC_REM_OP_ERR;
	case MROCE_ST_LOC_PROT:
		return IB_WC_LOC_PROT_ERR;
	case MROCE_ST_FLUSH:
		return IB_WC_WR_FLUSH_ERR;
	}
	return IB_WC_GENERAL_ERR;
}

void mroce_req_msg_done(struct mroce_stream *s, struct mroce_msg *m,
			enum mroce_status st)
{
	struct mroce_qp *qp = mroce_stream_qp(s);
	struct mroce_swqe *w = msg_swqe(m);

	w->status = wc_status(st);
	w->flags |= MROCE_W_DONE;
	mroce_sq_complete(qp);
	mroce_sq_pump(qp);
}

void mroce_req_tx_fatal(struct mroce_stream *s, enum mroce_status st)
{
	mroce_qp_fail(mroce_stream_qp(s));
}

void mroce_req_conn_lost(struct mroce_stream *s)
{
	struct mroce_qp *qp = mroce_stream_qp(s);

	mroce_qp_event(qp, IB_EVENT_QP_FATAL);
	mroce_qp_fail(qp);
}
