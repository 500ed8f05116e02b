// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Datagrams: UD queue pairs and the GSI (QP1), both directions, multicast.
 *
 * A datagram is complete when it has been handed to the stack. Its data is
 * always copied, so a completed buffer is never looked at again. Nothing is
 * acknowledged and nothing received is answered.
 *
 * Sending: whoever raises qp->kicks from zero owns the sending half until it
 * has brought it back to zero; others only leave a mark. So no lock is held
 * in the stack, and requests leave in order. Receiving is under qp->lock, so
 * receives complete in the order in which they were posted.
 */
#include <linux/if_vlan.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "qp.h"

#define GRH_BYTES		40	/* in front of every received payload */
#define DEFAULT_PKEY		0xffff

/* One queue pair's membership; dev->mcasts, read under RCU. */
struct mroce_mcast {
	struct list_head list;
	struct in6_addr group;
	struct mroce_qpx *x;
	struct rcu_head rcu;
};

/* ---- sending ------------------------------------------------------------ */

/* The largest payload: what query_port() calls the active MTU. */
static u32 ud_mtu(struct mroce_dev *dev)
{
	struct net_device *ndev;
	u32 mtu = 0;

	rcu_read_lock();
	ndev = rcu_dereference(dev->ndev);
	if (ndev)
		mtu = ib_mtu_enum_to_int(iboe_get_mtu(READ_ONCE(ndev->mtu)));
	rcu_read_unlock();
	return mtu;
}

static int addr_from_av(struct mroce_qp *qp, const struct rxe_av *av,
			struct mroce_swqe *w)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	const struct ib_gid_attr *sgid;
	int err;

	sgid = rdma_get_gid_attr(&qp->dev->ib_dev, 1, av->grh.sgid_index);
	if (IS_ERR(sgid))
		return PTR_ERR(sgid);
	attr.ah_flags = IB_AH_GRH;
	attr.port_num = 1;
	memcpy(attr.grh.dgid.raw, av->grh.dgid.raw, sizeof(attr.grh.dgid.raw));
	attr.grh.sgid_attr = sgid;
	attr.grh.sgid_index = av->grh.sgid_index;
	attr.grh.flow_label = av->grh.flow_label;
	attr.grh.hop_limit = av->grh.hop_limit;
	attr.grh.traffic_class = av->grh.traffic_class;
	err = mroce_av_to_addr(qp->dev, &attr, &w->ud.addr, &w->ud.net);
	rdma_put_gid_attr(sgid);
	return err;
}

int mroce_ud_addr(struct mroce_qp *qp, const struct rxe_send_wr *wr,
		  struct mroce_swqe *w)
{
	struct mroce_ah *ah;

	/* libraries that were not given a number put the whole vector here */
	if (!wr->wr.ud.ah_num)
		return addr_from_av(qp, &wr->wr.ud.av, w);

	ah = mroce_ah_get(qp->dev, qp->ibqp.pd, wr->wr.ud.ah_num);
	if (!ah)
		return -EINVAL;
	w->ud.addr = ah->addr;
	w->ud.net = mroce_ah_net(ah);
	mroce_ah_put(ah);
	return w->ud.net ? 0 : -ENETUNREACH;
}

struct ud_fill {
	struct mroce_qp *qp;
	struct mroce_swqe *w;
	int err;
};

static int ud_fill(void *arg, void *dst, u32 len)
{
	struct ud_fill *f = arg;

	if (f->w->flags & MROCE_W_INLINE) {
		memcpy(dst, mroce_swqe_inline(f->w), len);
		return 0;
	}
	local_bh_disable();
	f->err = mroce_sgl_to_buf(f->qp, f->w->sge, f->w->num_sge, 0, len, dst);
	local_bh_enable();
	return f->err;
}

/* Status of the request, or -EAGAIN: its memory is not there now. */
static int ud_send(struct mroce_qp *qp, struct mroce_swqe *w)
{
	struct ud_fill f = { .qp = qp, .w = w };
	struct mroce_dgram_tx d = {
		.pkt.type = MROCE_T_DATAGRAM,
		.addr	= w->ud.addr,
		.len	= w->length,
		.fill	= ud_fill,
		.arg	= &f,
	};

	if (w->status)
		return w->status;
	if (w->length > ud_mtu(qp->dev))
		return IB_WC_LOC_LEN_ERR;

	d.pkt.dgram.dqpn = w->ud.dqpn;
	d.pkt.dgram.sqpn = qp->ibqp.qp_num;
	/* the high bit asks for the queue pair's own key; QP1 has only one */
	if (qp->type == IB_QPT_GSI)
		d.pkt.dgram.qkey = IB_QP1_QKEY;
	else
		d.pkt.dgram.qkey = w->ud.qkey & 0x80000000 ? qp->attr.qkey :
							     w->ud.qkey;
	d.pkt.dgram.pkey = DEFAULT_PKEY;
	if (w->flags & MROCE_W_SOLICITED)
		d.pkt.flags |= MROCE_F_SOLICITED;
	if (w->opcode == IB_WR_SEND_WITH_IMM) {
		d.pkt.flags |= MROCE_F_IMM;
		d.pkt.dgram.imm = w->ud.imm;
	}
	/* no route, no memory: a datagram may be lost anywhere */
	if (!mroce_net_ops.dgram_send(qp->dev, w->ud.net, &d))
		mroce_dev_count(qp->dev, MROCE_DCNT_UD_SENT);
	if (f.err == -EAGAIN)
		return f.err;
	return f.err ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS;
}

static void ud_fail(struct mroce_qp *qp)
{
	/* QP1 is everybody's: it survives one bad request */
	if (qp->type == IB_QPT_GSI)
		return;
	spin_lock_bh(&qp->lock);
	mroce_qp_fail(qp);
	spin_unlock_bh(&qp->lock);
}

/* Owner of the sending half. True: the budget ended first. */
static bool ud_run(struct mroce_qp *qp, u32 budget)
{
	struct mroce_sq *sq = &qp->sq;
	struct mroce_swqe *w;
	int status;
	u8 state;

	for (; budget; budget--) {
		state = READ_ONCE(qp->state);
		if (state == IB_QPS_ERR)
			return !mroce_sq_flush(qp, budget);
		if (state != IB_QPS_RTS)
			return false;

		w = mroce_sq_slot(sq, sq->cons);
		if (sq->cons == mroce_sq_prod(sq) &&
		    !mroce_sq_fetch(qp))
			return false;
		status = ud_send(qp, w);
		if (status < 0) {
			/* stays where it is until pages have come */
			mroce_odp_wait(qp);
			return false;
		}
		sq->next = sq->cons + 1;
		mroce_sq_report(qp, w, status);
		if (status)
			ud_fail(qp);
	}
	return true;
}

void mroce_ud_kick(struct mroce_qp *qp)
{
	u32 rounds = qp->sq.max_wr / MROCE_UD_BUDGET + 2;
	int n;

	if (atomic_fetch_inc(&qp->kicks))
		return;		/* the owner sees the mark */
	for (;;) {
		n = atomic_read(&qp->kicks);
		if (ud_run(qp, MROCE_UD_BUDGET)) {
			if (!in_softirq() && --rounds)
				continue;
			atomic_xchg(&qp->kicks, 0);
			mroce_qp_defer(qp);
			return;
		}
		if (!atomic_sub_return(n, &qp->kicks))
			return;
	}
}

/* ---- receiving ---------------------------------------------------------- */

static bool ud_allowed(struct mroce_qp *qp, const struct mroce_pkt *pkt)
{
	u32 qkey = qp->type == IB_QPT_GSI ? IB_QP1_QKEY : qp->attr.qkey;

	/* the table holds the default key, full member: any member matches */
	if ((pkt->dgram.pkey & 0x7fff) != (DEFAULT_PKEY & 0x7fff)) {
		mroce_dev_count(qp->dev, MROCE_DCNT_UD_PKEY);
		return false;
	}
	if (pkt->dgram.qkey != qkey) {
		mroce_dev_count(qp->dev, MROCE_DCNT_UD_QKEY);
		return false;
	}
	return true;
}

/* Lock held; payload and GRH to their place. Returns the status. */
static enum ib_wc_status ud_place(struct mroce_qp *qp,
				  const struct mroce_dgram_rx *d,
				  const struct mroce_rwqe *w)
{
	/* too small a receive is used up; it says so */
	if (w->length < GRH_BYTES + d->len) {
		mroce_dev_count(qp->dev, MROCE_DCNT_UD_LENGTH);
		return IB_WC_LOC_LEN_ERR;
	}
	if (mroce_sgl_scatter(qp, w->sge, w->num_sge, 0, GRH_BYTES,
			      mroce_copy_buf, (void *)d->grh, 0))
		return IB_WC_LOC_PROT_ERR;
	if (mroce_sgl_scatter(qp, w->sge, w->num_sge, GRH_BYTES, d->len,
			      d->copy, d->src, 0))
		return IB_WC_LOC_PROT_ERR;
	return IB_WC_SUCCESS;
}

static void ud_report(struct mroce_qp *qp, const struct mroce_dgram_rx *d,
		      u64 wr_id, enum ib_wc_status status)
{
	const struct mroce_pkt *pkt = d->pkt;
	struct ib_wc wc = {
		.wr_id	= wr_id,
		.status	= status,
		.opcode	= IB_WC_RECV,
		.qp	= &qp->ibqp,
	};

	if (!status) {
		wc.byte_len = GRH_BYTES + d->len;
		wc.src_qp = pkt->dgram.sqpn;
		wc.port_num = 1;
		wc.wc_flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
		wc.network_hdr_type = d->addr.v4 ? RDMA_NETWORK_IPV4 :
						   RDMA_NETWORK_IPV6;
		if (pkt->flags & MROCE_F_IMM) {
			wc.wc_flags |= IB_WC_WITH_IMM;
			wc.ex.imm_data = cpu_to_be32(pkt->dgram.imm);
		}
		if (d->vlan < VLAN_N_VID) {
			wc.wc_flags |= IB_WC_WITH_VLAN;
			wc.vlan_id = d->vlan;
		}
		if (!is_zero_ether_addr(d->smac)) {
			wc.wc_flags |= IB_WC_WITH_SMAC;
			ether_addr_copy(wc.smac, d->smac);
		}
	}
	mroce_cq_post(qp->rcq, &wc, status || pkt->flags & MROCE_F_SOLICITED);
}

/* Referenced queue pair, RCU held, BH off. */
static void ud_deliver(struct mroce_qp *qp, const struct mroce_dgram_rx *d)
{
	DEFINE_RAW_FLEX(struct mroce_rwqe, w, sge, MROCE_MAX_SGE);
	enum ib_wc_status status;
	int err;

	if (mroce_qp_connected(qp) || !mroce_qp_enter(qp, IB_QPS_RTR)) {
		mroce_dev_count(qp->dev, MROCE_DCNT_UD_NOQP);
		return;
	}
	spin_lock_bh(&qp->lock);
	if (qp->state == IB_QPS_ERR || !ud_allowed(qp, d->pkt))
		goto out;
	err = mroce_recv_pop(qp, w);
	if (err == -EAGAIN) {
		mroce_dev_count(qp->dev, MROCE_DCNT_UD_NORECV);
		goto out;
	}
	if (err)
		status = IB_WC_LOC_QP_OP_ERR;
	else
		status = ud_place(qp, d, w);
	if (!status)
		mroce_dev_count(qp->dev, MROCE_DCNT_UD_RCVD);
	ud_report(qp, d, w->wr_id, status);
	/* what a peer sends must not stop the queue: too long is no reason */
	if (status && status != IB_WC_LOC_LEN_ERR && qp->type != IB_QPT_GSI)
		mroce_qp_fail(qp);
out:
	spin_unlock_bh(&qp->lock);
	mroce_qp_exit(qp);
}

static void mcast_deliver(struct mroce_dev *dev, const struct mroce_dgram_rx *d)
{
	struct mroce_mcast *m;

	list_for_each_entry_rcu(m, &dev->mcasts, list) {
		if (!ipv6_addr_equal(&m->group, &d->addr.daddr))
			continue;
		if (!refcount_inc_not_zero(&m->x->ref))
			continue;
		ud_deliver(m->x->qp, d);
		mroce_qp_put(m->x->qp);
	}
}

void mroce_ud_rx(struct mroce_dev *dev, const struct mroce_dgram_rx *d)
{
	struct mroce_qp *qp;

	rcu_read_lock();
	if (d->multicast || d->pkt->dgram.dqpn == MROCE_MCAST_QPN) {
		if (d->multicast && d->pkt->dgram.dqpn == MROCE_MCAST_QPN)
			mcast_deliver(dev, d);
		else
			mroce_dev_count(dev, MROCE_DCNT_UD_NOQP);
	} else {
		qp = mroce_qp_get(dev, d->pkt->dgram.dqpn);
		if (qp) {
			ud_deliver(qp, d);
			mroce_qp_put(qp);
		} else {
			mroce_dev_count(dev, MROCE_DCNT_UD_NOQP);
		}
	}
	rcu_read_unlock();
}

/* ---- multicast ---------------------------------------------------------- */

int mroce_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct mroce_dev *dev = qp->dev;
	struct mroce_mcast *m, *old;
	u32 n = 0;
	int err;

	if (mroce_qp_connected(qp))
		return -EINVAL;
	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return -ENOMEM;
	memcpy(&m->group, gid->raw, sizeof(m->group));
	m->x = qp->x;

	err = mroce_net_ops.mcast_join(dev, &m->group);
	if (err)
		goto err_free;

	spin_lock_bh(&dev->mcast_lock);
	list_for_each_entry(old, &dev->mcasts, list) {
		if (!ipv6_addr_equal(&old->group, &m->group))
			continue;
		n++;
		/* attached already: nothing to do */
		if (old->x == qp->x)
			err = -EEXIST;
	}
	if (!err && n >= MROCE_MAX_MCAST_QP)
		err = -ENOMEM;
	if (!err)
		list_add_tail_rcu(&m->list, &dev->mcasts);
	spin_unlock_bh(&dev->mcast_lock);
	if (!err)
		return 0;

	mroce_net_ops.mcast_leave(dev, &m->group);
err_free:
	kfree(m);
	return err == -EEXIST ? 0 : err;
}

static bool mcast_del(struct mroce_qp *qp, const struct in6_addr *group)
{
	struct mroce_dev *dev = qp->dev;
	struct mroce_mcast *m, *found = NULL;

	spin_lock_bh(&dev->mcast_lock);
	list_for_each_entry(m, &dev->mcasts, list) {
		if (m->x != qp->x ||
		    (group && !ipv6_addr_equal(&m->group, group)))
			continue;
		list_del_rcu(&m->list);
		found = m;
		break;
	}
	spin_unlock_bh(&dev->mcast_lock);
	if (!found)
		return false;
	mroce_net_ops.mcast_leave(dev, &found->group);
	kfree_rcu(found, rcu);
	return true;
}

int mroce_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct in6_addr group;

	memcpy(&group, gid->raw, sizeof(group));
	return mcast_del(to_mqp(ibqp), &group) ? 0 : -EINVAL;
}

void mroce_mcast_drop(struct mroce_qp *qp)
{
	while (mcast_del(qp, NULL))
		;
}
