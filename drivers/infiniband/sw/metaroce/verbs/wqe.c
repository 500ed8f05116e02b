// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copies of send work requests, and walking scatter/gather lists.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "qp.h"

/* What a request of this opcode is to the transport; 0: not a message. */
static u8 wire_op(u8 wr_opcode)
{
	switch (wr_opcode) {
	case IB_WR_RDMA_WRITE:
		return MROCE_OP_WRITE;
	case MROCE_WR_ATOMIC_WRITE:
		/*
		 * Small Writes are ordered, and 8 aligned bytes are stored at
		 * once: all that an atomic Write is.
		 */
		return MROCE_OP_WRITE;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return MROCE_OP_WRITE_IMM;
	case IB_WR_SEND:
		return MROCE_OP_SEND;
	case IB_WR_SEND_WITH_IMM:
		return MROCE_OP_SEND_IMM;
	case IB_WR_SEND_WITH_INV:
		return MROCE_OP_SEND_INV;
	case IB_WR_RDMA_READ:
		return MROCE_OP_READ_REQ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return MROCE_OP_CMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return MROCE_OP_FETCH_ADD;
	default:
		return 0;
	}
}

enum ib_wc_opcode mroce_wc_opcode(u8 wr_opcode)
{
	switch (wr_opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return IB_WC_COMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return IB_WC_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	case IB_WR_BIND_MW:
		return IB_WC_BIND_MW;
	case MROCE_WR_ATOMIC_WRITE:
		return MROCE_WC_ATOMIC_WRITE;
	default:
		return IB_WC_SEND;
	}
}

/* Does the opcode read local memory that may be given inline? */
static bool may_inline(u8 wr_opcode)
{
	switch (wr_opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
	case MROCE_WR_ATOMIC_WRITE:
		return true;
	default:
		return false;
	}
}

int mroce_sq_alloc(struct mroce_qp *qp, struct ib_qp_cap *cap, bool user)
{
	struct mroce_sq *sq = &qp->sq;
	u32 room, depth;

	/* SGEs and inline data share the tail of a request */
	room = max(max(cap->max_send_sge, 1U) * (u32)sizeof(struct rxe_sge),
		   ALIGN(cap->max_inline_data, (u32)sizeof(struct rxe_sge)));
	BUILD_BUG_ON(MROCE_MAX_SGE * sizeof(struct rxe_sge) > MROCE_MAX_INLINE);
	sq->max_sge = min_t(u32, room / sizeof(struct rxe_sge), MROCE_MAX_SGE);
	sq->max_inline = room;
	sq->max_wr = max(cap->max_send_wr, 1U);

	if (user) {
		sq->q = mroce_queue_alloc(qp->dev, sq->max_wr,
					  sizeof(struct rxe_send_wqe) + room,
					  false);
		if (IS_ERR_OR_NULL(sq->q)) {
			int err = sq->q ? PTR_ERR(sq->q) : -ENOMEM;

			sq->q = NULL;
			return err;
		}
		sq->max_wr = sq->q->mask;
	}

	/*
	 * A user's requests wait in the mapped ring: no more are copied than
	 * the transport can have under way. Datagrams go out one by one.
	 */
	depth = roundup_pow_of_two(sq->max_wr);
	if (user)
		depth = mroce_qp_connected(qp) ?
			min_t(u32, depth, MROCE_MSN_WINDOW) : 1;
	sq->mask = depth - 1;
	sq->stride = ALIGN(sizeof(struct mroce_swqe) + room, 16);
	sq->ring = kvcalloc(depth, sq->stride, GFP_KERNEL_ACCOUNT);
	if (!sq->ring)
		return -ENOMEM;

	cap->max_send_wr = sq->max_wr;
	cap->max_send_sge = sq->max_sge;
	cap->max_inline_data = sq->max_inline;
	return 0;
}

void mroce_sq_free(struct mroce_qp *qp)
{
	struct mroce_sq *sq = &qp->sq;

	if (sq->q)
		mroce_queue_free(qp->dev, sq->q);
	sq->q = NULL;
	kvfree(sq->ring);
	sq->ring = NULL;
}

void mroce_swqe_put(struct mroce_qp *qp, struct mroce_swqe *w)
{
	if (!mroce_qp_connected(qp) && w->ud.net) {
		put_net(w->ud.net);
		w->ud.net = NULL;
	}
}

static void set_flags(struct mroce_qp *qp, struct mroce_swqe *w, u32 send_flags)
{
	if (qp->sig == IB_SIGNAL_ALL_WR || send_flags & IB_SEND_SIGNALED)
		w->flags |= MROCE_W_SIGNALED;
	if (send_flags & IB_SEND_FENCE)
		w->flags |= MROCE_W_FENCE;
	if (send_flags & IB_SEND_SOLICITED)
		w->flags |= MROCE_W_SOLICITED;
	if (send_flags & IB_SEND_INLINE)
		w->flags |= MROCE_W_INLINE;
}

/* Opcodes of the queue pair's type. */
static bool op_allowed(struct mroce_qp *qp, u8 wr_opcode)
{
	switch (wr_opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
		return true;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_LOCAL_INV:
	case IB_WR_BIND_MW:
		return mroce_qp_connected(qp);
	default:
		return qp->type == IB_QPT_RC;
	}
}

/* Checks that need the copy alone; returns the status the request ends with. */
static u8 check_swqe(struct mroce_qp *qp, struct mroce_swqe *w, u64 length)
{
	if (!op_allowed(qp, w->opcode))
		return IB_WC_LOC_QP_OP_ERR;
	if (w->flags & MROCE_W_LOCAL)
		return IB_WC_SUCCESS;
	if (!wire_op(w->opcode))
		return IB_WC_LOC_QP_OP_ERR;
	if (w->flags & MROCE_W_INLINE && !may_inline(w->opcode))
		return IB_WC_LOC_QP_OP_ERR;
	if (length > MROCE_MAX_MSG)
		return IB_WC_LOC_LEN_ERR;

	switch (w->opcode) {
	case MROCE_WR_ATOMIC_WRITE:
		if (length != 8)
			return IB_WC_LOC_LEN_ERR;
		if (w->msg.va & 7)
			return IB_WC_LOC_QP_OP_ERR;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		if (length != 8)
			return IB_WC_LOC_LEN_ERR;
		if (w->msg.va & 7)
			return IB_WC_LOC_QP_OP_ERR;
		fallthrough;
	case IB_WR_RDMA_READ:
		if (!qp->attr.max_rd_atomic && qp->state != IB_QPS_ERR)
			return IB_WC_LOC_QP_OP_ERR;
	}
	return IB_WC_SUCCESS;
}

static void finish_swqe(struct mroce_qp *qp, struct mroce_swqe *w, u64 length)
{
	u8 st = check_swqe(qp, w, length);

	if (!w->status)
		w->status = st;
	w->length = w->status ? 0 : length;
	if (!mroce_qp_connected(qp) || w->flags & MROCE_W_LOCAL)
		return;
	w->msg.opcode = wire_op(w->opcode);
	w->msg.len = w->length;
	w->msg.fence = w->flags & MROCE_W_FENCE;
	w->msg.solicited = w->flags & MROCE_W_SOLICITED;
}

static void fetch_rc(struct mroce_swqe *w, const struct rxe_send_wr *wr)
{
	switch (w->opcode) {
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_SEND_WITH_IMM:
		w->msg.imm = be32_to_cpu((__force __be32)wr->ex.imm_data);
		break;
	case IB_WR_SEND_WITH_INV:
		w->msg.imm = wr->ex.invalidate_rkey;
		break;
	case IB_WR_LOCAL_INV:
		w->flags |= MROCE_W_LOCAL;
		w->inv_key = wr->ex.invalidate_rkey;
		break;
	case IB_WR_BIND_MW:
		w->flags |= MROCE_W_LOCAL;
		w->bind = (struct mroce_bind) {
			.addr		= wr->wr.mw.addr,
			.length		= wr->wr.mw.length,
			.mr_lkey	= wr->wr.mw.mr_lkey,
			.mw_rkey	= wr->wr.mw.mw_rkey,
			.rkey		= wr->wr.mw.rkey,
			.access		= wr->wr.mw.access,
		};
		break;
	}

	switch (w->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case MROCE_WR_ATOMIC_WRITE:
		w->msg.va = wr->wr.rdma.remote_addr;
		w->msg.rkey = wr->wr.rdma.rkey;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		w->msg.va = wr->wr.atomic.remote_addr;
		w->msg.rkey = wr->wr.atomic.rkey;
		w->msg.compare = wr->wr.atomic.compare_add;
		w->msg.swap_add = wr->wr.atomic.swap;
		break;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		w->msg.va = wr->wr.atomic.remote_addr;
		w->msg.rkey = wr->wr.atomic.rkey;
		w->msg.swap_add = wr->wr.atomic.compare_add;
		break;
	}
}

/* SGEs or inline data of a user's request. Returns the length. */
static u64 fetch_data(struct mroce_qp *qp, struct mroce_swqe *w,
		      const struct rxe_dma_info *dma,
		      const struct rxe_send_wqe *u)
{
	u64 length = 0;
	u32 i;

	/*
	 * The provider's wr_set_inline_data() leaves the flag to its caller,
	 * and no SGEs. There is no other way to get a length without SGEs.
	 */
	if (!dma->num_sge && dma->length && may_inline(w->opcode))
		w->flags |= MROCE_W_INLINE;

	if (w->flags & MROCE_W_INLINE) {
		if (dma->length > qp->sq.max_inline) {
			w->status = IB_WC_LOC_LEN_ERR;
			return 0;
		}
		memcpy(mroce_swqe_inline(w), u->dma.inline_data, dma->length);
		return dma->length;
	}

	if (dma->num_sge > qp->sq.max_sge) {
		w->status = IB_WC_LOC_QP_OP_ERR;
		return 0;
	}
	/* dma.length is wrong in some providers: the SGEs count */
	memcpy(w->sge, u->dma.sge, dma->num_sge * sizeof(w->sge[0]));
	/* the copy must not be read from the user's memory again */
	barrier();
	w->num_sge = dma->num_sge;
	for (i = 0; i < w->num_sge; i++)
		length += w->sge[i].length;
	return length;
}

void mroce_swqe_fetch(struct mroce_qp *qp, u32 i, struct mroce_swqe *w)
{
	const struct rxe_send_wqe *u = mroce_queue_elem(qp->sq.q, i);
	struct rxe_dma_info dma;
	struct rxe_send_wr wr;
	u64 length = 0;

	/* hostile memory: copied once, then looked at */
	memcpy(&wr, &u->wr, sizeof(wr));
	memcpy(&dma, &u->dma, sizeof(dma));
	barrier();

	memset(w, 0, sizeof(*w));
	w->wr_id = wr.wr_id;
	set_flags(qp, w, wr.send_flags);
	/* REG_MR names a kernel pointer: never from here */
	if (wr.opcode > MROCE_WR_ATOMIC_WRITE) {
		w->opcode = IB_WR_SEND;
		w->status = IB_WC_LOC_QP_OP_ERR;
		return;
	}
	w->opcode = wr.opcode;

	if (mroce_qp_connected(qp)) {
		fetch_rc(w, &wr);
	} else {
		w->ud.dqpn = wr.wr.ud.remote_qpn & 0xffffff;
		w->ud.qkey = wr.wr.ud.remote_qkey;
		w->ud.imm = be32_to_cpu((__force __be32)wr.ex.imm_data);
		if (mroce_ud_addr(qp, &wr, w))
			w->status = IB_WC_LOC_QP_OP_ERR;
	}
	if (!(w->flags & MROCE_W_LOCAL))
		length = fetch_data(qp, w, &dma, u);
	finish_swqe(qp, w, length);
}

static int from_rc(struct mroce_swqe *w, const struct ib_send_wr *wr)
{
	switch ((int)wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case MROCE_WR_ATOMIC_WRITE:
		w->msg.va = rdma_wr(wr)->remote_addr;
		w->msg.rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		w->msg.compare = atomic_wr(wr)->compare_add;
		w->msg.swap_add = atomic_wr(wr)->swap;
		w->msg.va = atomic_wr(wr)->remote_addr;
		w->msg.rkey = atomic_wr(wr)->rkey;
		break;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		w->msg.swap_add = atomic_wr(wr)->compare_add;
		w->msg.va = atomic_wr(wr)->remote_addr;
		w->msg.rkey = atomic_wr(wr)->rkey;
		break;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
		break;
	case IB_WR_SEND_WITH_INV:
		w->msg.imm = wr->ex.invalidate_rkey;
		break;
	case IB_WR_LOCAL_INV:
		w->flags |= MROCE_W_LOCAL;
		w->inv_key = wr->ex.invalidate_rkey;
		break;
	case IB_WR_REG_MR:
		w->flags |= MROCE_W_LOCAL;
		w->reg.mr = reg_wr(wr)->mr;
		w->reg.key = reg_wr(wr)->key;
		w->reg.access = reg_wr(wr)->access;
		break;
	default:
		return -EINVAL;
	}
	if (wr->opcode == IB_WR_SEND_WITH_IMM ||
	    wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM)
		w->msg.imm = be32_to_cpu(wr->ex.imm_data);
	return 0;
}

static int from_ud(struct mroce_swqe *w, const struct ib_send_wr *wr)
{
	struct mroce_ah *ah = to_mah(ud_wr(wr)->ah);

	if (!ah)
		return -EINVAL;
	w->ud.addr = ah->addr;
	w->ud.net = mroce_ah_net(ah);
	if (!w->ud.net)
		return -EINVAL;
	w->ud.dqpn = ud_wr(wr)->remote_qpn & 0xffffff;
	w->ud.qkey = ud_wr(wr)->remote_qkey;
	if (wr->opcode == IB_WR_SEND_WITH_IMM)
		w->ud.imm = be32_to_cpu(wr->ex.imm_data);
	return 0;
}

/* Data of a kernel consumer's request. */
static int from_data(struct mroce_qp *qp, struct mroce_swqe *w,
		     const struct ib_send_wr *wr, u64 *length)
{
	u8 *dst = mroce_swqe_inline(w);
	int i;

	if (wr->num_sge < 0)
		return -EINVAL;
	for (i = 0; i < wr->num_sge; i++)
		*length += wr->sg_list[i].length;

	if (w->flags & MROCE_W_INLINE) {
		if (*length > qp->sq.max_inline)
			return -EINVAL;
		for (i = 0; i < wr->num_sge; i++) {
			const struct ib_sge *sge = &wr->sg_list[i];

			memcpy(dst, ib_virt_dma_to_ptr(sge->addr), sge->length);
			dst += sge->length;
		}
		return 0;
	}

	if (wr->num_sge > qp->sq.max_sge)
		return -EINVAL;
	w->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		w->sge[i].addr = wr->sg_list[i].addr;
		w->sge[i].length = wr->sg_list[i].length;
		w->sge[i].lkey = wr->sg_list[i].lkey;
	}
	return 0;
}

int mroce_swqe_from_wr(struct mroce_qp *qp, const struct ib_send_wr *wr,
		       struct mroce_swqe *w)
{
	u64 length = 0;
	int err;

	memset(w, 0, sizeof(*w));
	if ((unsigned int)wr->opcode > U8_MAX)
		return -EINVAL;
	w->wr_id = wr->wr_id;
	w->opcode = wr->opcode;
	set_flags(qp, w, wr->send_flags);
	if (mroce_qp_connected(qp))
		err = from_rc(w, wr);
	else
		err = from_ud(w, wr);
	if (!err && !(w->flags & MROCE_W_LOCAL))
		err = from_data(qp, w, wr, &length);
	if (!err && check_swqe(qp, w, length))
		err = -EINVAL;
	if (err) {
		mroce_swqe_put(qp, w);
		return err;
	}
	finish_swqe(qp, w, length);
	return 0;
}

/* ---- walking SGEs ------------------------------------------------------- */

/*
 * The next contiguous piece of the range. False at its end, or when the list
 * is shorter than the range (it->left is not 0 then).
 */
bool mroce_sgl_next(struct mroce_sgl_iter *it, u64 *addr, u32 *len, u32 *lkey)
{
	while (it->left && it->n) {
		u32 room = it->sge->length;

		if (it->skip >= room) {
			it->skip -= room;
			it->sge++;
			it->n--;
			continue;
		}
		*addr = it->sge->addr + it->skip;
		*len = min(it->left, room - it->skip);
		*lkey = it->sge->lkey;
		it->skip += *len;
		it->left -= *len;
		return true;
	}
	return false;
}

int mroce_sgl_check(struct mroce_qp *qp, const struct rxe_sge *sge, u32 n,
		    u32 off, u32 len, int access, struct mroce_mr **first)
{
	struct mroce_mr *mr, *keep = NULL;
	struct mroce_sgl_iter it;
	u32 part, lkey;
	u64 addr;

	mroce_sgl_start(&it, sge, n, off, len);
	while (mroce_sgl_next(&it, &addr, &part, &lkey)) {
		mr = mroce_mr_get(qp->dev, qp->ibqp.pd, lkey, addr, part,
				  access, 0);
		if (!mr)
			goto bad;
		if (first && !keep)
			keep = mr;
		else
			mroce_mr_put(mr);
	}
	if (it.left)
		goto bad;
	if (first)
		*first = keep;
	return 0;
bad:
	if (keep)
		mroce_mr_put(keep);
	return -EACCES;
}

static struct mroce_mr *begun(struct mroce_mr *mr, u32 lkey)
{
	if (!mr || mroce_mr_begin(mr, lkey))
		return mr;
	mroce_mr_put(mr);
	return NULL;
}

struct mroce_mr *mroce_mr_open(struct mroce_qp *qp, u32 lkey, u64 addr,
			       u32 len)
{
	return begun(mroce_mr_get(qp->dev, qp->ibqp.pd, lkey, addr, len, 0, 0),
		     lkey);
}

void mroce_mr_close(struct mroce_mr *mr)
{
	mroce_mr_end(mr);
	mroce_mr_put(mr);
}

int mroce_sgl_to_buf(struct mroce_qp *qp, const struct rxe_sge *sge, u32 n,
		     u32 off, u32 len, void *dst)
{
	struct mroce_sgl_iter it;
	struct mroce_mr *mr;
	u32 part, lkey;
	u64 addr;
	int err;

	mroce_sgl_start(&it, sge, n, off, len);
	while (mroce_sgl_next(&it, &addr, &part, &lkey)) {
		mr = mroce_mr_open(qp, lkey, addr, part);
		if (!mr)
			return -EACCES;
		err = mroce_mr_to_buf(mr, addr, dst, part);
		mroce_mr_close(mr);
		if (err)
			return err;
		dst += part;
	}
	return it.left ? -EACCES : 0;
}

int mroce_copy_buf(void *src, u32 off, void *dst, u32 len)
{
	memcpy(dst, src + off, len);
	return 0;
}

int mroce_mr_scatter(struct mroce_mr *mr, u64 addr, u32 len,
		     mroce_copy_fn copy, void *src, u32 soff)
{
	void *dst;
	u64 word;
	u32 part;
	int err;

	while (len) {
		dst = mroce_mr_piece(mr, addr, len, &part, NULL, true);
		if (IS_ERR(dst))
			return PTR_ERR(dst);
		if (part == sizeof(word) && IS_ALIGNED((uintptr_t)dst, part)) {
			err = copy(src, soff, &word, part);
			if (!err)
				WRITE_ONCE(*(u64 *)dst, word);
		} else {
			err = copy(src, soff, dst, part);
		}
		if (err)
			return err;
		addr += part;
		soff += part;
		len -= part;
	}
	return 0;
}

int mroce_sgl_scatter(struct mroce_qp *qp, const struct rxe_sge *sge, u32 n,
		      u32 off, u32 len, mroce_copy_fn copy, void *src, u32 soff)
{
	struct mroce_sgl_iter it;
	struct mroce_mr *mr;
	u32 part, lkey;
	u64 addr;
	int err;

	mroce_sgl_start(&it, sge, n, off, len);
	while (mroce_sgl_next(&it, &addr, &part, &lkey)) {
		/* not mroce_mr_get(): nobody hears what is wrong here */
		mr = begun(mroce_mr_lookup(qp->dev, qp->ibqp.pd, lkey, addr,
					   part, IB_ACCESS_LOCAL_WRITE, 0),
			   lkey);
		if (!mr)
			return -EACCES;
		err = mroce_mr_scatter(mr, addr, part, copy, src, soff);
		mroce_mr_close(mr);
		if (err)
			return err;
		soff += part;
	}
	return it.left ? -EACCES : 0;
}
