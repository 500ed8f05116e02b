/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue pairs.
 *
 * Locks
 *   qp->mutex	 modify, query and destroy, one at a time
 *   the queue pair's lock: that of its connection from RTR on, qp->lock
 *		 without one (mroce_qp_lock()). BH off. State, both queues.
 *   qp->sq_lock irqsave leaf: producer of a kernel consumer's send queue
 *   qp->rq_lock irqsave leaf: both sides of the receive ring
 *
 * UD and GSI have no connection. Their receiving half and their state are
 * under qp->lock; their sending half belongs to whoever raised qp->kicks from
 * zero, because no lock may be held while a packet goes down the stack.
 *
 * What runs without the mutex brackets itself with mroce_qp_enter() and
 * mroce_qp_exit(); a reset first sets the state, then waits for the last to
 * leave. That keeps qp->conn and the rings stable in between.
 */
#ifndef MROCE_QP_H
#define MROCE_QP_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/wait_bit.h>

#include "verbs.h"
#include "wqe.h"

#define MROCE_FLUSH_BUDGET	256	/* completions per turn of a flush */
#define MROCE_QUIET_MS		500	/* RESET waits for its packets */
#define MROCE_UD_BUDGET		64	/* datagrams per turn in softirq */
#define MROCE_FIRST_QPN		17
#define MROCE_LAST_QPN		0xfffffe
#define MROCE_MCAST_QPN		0xffffff

struct mroce_qp;

/**
 * struct mroce_qpx - what a QPN leads to
 *
 * Apart from the queue pair because the core frees that one at once, while
 * look-ups run under RCU. @qp is valid for holders of @ref; @s for those who
 * find it attached to the connection whose lock they hold.
 */
struct mroce_qpx {
	refcount_t ref;
	struct mroce_qp *qp;
	struct mroce_stream s;
	struct rcu_head rcu;
};

/* A receive taken off its queue for a message that is not complete. */
struct mroce_bound {
	u8 status;		/* enum ib_wc_status; not 0: what is wrong */
	bool drop;		/* UC: there was no receive */
	bool named;		/* a message has come that is for it: @msn */
	u32 msn;
	struct mroce_rwqe w;	/* ends with SGEs: use mroce_qp_bound() */
};

struct mroce_rq {
	struct mroce_queue *q;	/* NULL with an SRQ */
	u32 max_wr, max_sge;
	void *bound;		/* MROCE_RSN_WINDOW entries, by RSN */
	u32 stride;
	u32 head, tail;		/* RSNs bound and not complete: [head, tail) */
};

#define MROCE_QP_LATER		0	/* qp->bits: on mroce_later.qps */
#define MROCE_QP_EVENTS		1	/* an event was queued: flush at destroy */
#define MROCE_QP_ODP		2	/* on dev->odp_waiters */

struct mroce_qp {
	struct ib_qp ibqp;
	struct mroce_dev *dev;
	struct mroce_qpx *x;
	u64 id;				/* from 1; not given out again */
	struct mutex mutex;		/* see above, as the locks below */
	struct ib_qp_attr attr;		/* as modified; ->cap, not ->qp_state */
	struct mroce_addr addr;		/* connected: of the address vector */
	enum ib_qp_type type;
	enum ib_sig_type sig;
	bool user;

	spinlock_t lock;		/* the queue pair's, unconnected */
	spinlock_t sq_lock;		/* irqsave leaf */
	spinlock_t rq_lock;		/* irqsave leaf */
	u8 state;			/* enum ib_qp_state; the lock */
	bool err_done;			/* the transport knows of ERR */
	bool last_wqe;			/* LAST_WQE_REACHED was raised */
	bool draining;			/* SQD: messages are still out */
	u32 n_obj;			/* claims that copy into user memory */
	u32 pkey;
	u32 src_qkey;			/* UD: the queue pair's Q_Key */
	struct mroce_conn *conn;	/* from RTR to reset; referenced */
	atomic_t users;
	atomic_t kicks;
	struct completion idle;		/* last claim ended */
	struct completion gone;		/* last reference to x */

	struct mroce_sq sq;
	struct mroce_rq rq;
	struct mroce_srq *srq;
	struct mroce_cq *scq, *rcq;

	unsigned long bits;
	struct llist_node later;
	struct llist_node odp_wait;
};

static inline struct mroce_qp *to_mqp(struct ib_qp *qp)
{
	return container_of(qp, struct mroce_qp, ibqp);
}

static inline struct mroce_qp *mroce_stream_qp(struct mroce_stream *s)
{
	return container_of(s, struct mroce_qpx, s)->qp;
}

/* RC or UC: has a stream. */
static inline bool mroce_qp_connected(const struct mroce_qp *qp)
{
	return qp->type == IB_QPT_RC || qp->type == IB_QPT_UC;
}

/*
 * UC goes the same way as RC, so what is sent arrives once and in order while
 * the peer lives. The difference is at the responder, which refuses nothing:
 * what has no receive or no right is dropped there, as if it had been lost.
 */
static inline bool mroce_qp_is_uc(const struct mroce_qp *qp)
{
	return qp->type == IB_QPT_UC;
}

static inline struct mroce_bound *mroce_qp_bound(const struct mroce_qp *qp,
						 u32 rsn)
{
	return qp->rq.bound +
	       (size_t)(rsn & (MROCE_RSN_WINDOW - 1)) * qp->rq.stride;
}

/* ---- qp.c ---------------------------------------------------------------- */

/* Referenced queue pair of a QPN, or NULL. RCU held. */
struct mroce_qp *mroce_qp_get(struct mroce_dev *dev, u32 qpn);
void mroce_qp_put(struct mroce_qp *qp);

/* False if the state is below @min: stay away from the queues. */
bool mroce_qp_enter(struct mroce_qp *qp, enum ib_qp_state min);
void mroce_qp_exit(struct mroce_qp *qp);
/* Inside of enter/exit or with the mutex; interrupts on. */
void mroce_qp_lock(struct mroce_qp *qp);
void mroce_qp_unlock(struct mroce_qp *qp);

/*
 * Queue the queue pair for mroce_qp_work(), which does all that its state
 * asks for. Any context, any lock held.
 */
void mroce_qp_defer(struct mroce_qp *qp);
/* Inside of enter/exit; no lock held, interrupts on. */
void mroce_qp_work(struct mroce_qp *qp);
/* Lock held, also from the transport's call-backs: to ERR, flush later. */
void mroce_qp_fail(struct mroce_qp *qp);
/* Lock held: completions of a turn of the flush. True: more is left. */
bool mroce_qp_flush(struct mroce_qp *qp, u32 budget);
void mroce_qp_event(struct mroce_qp *qp, enum ib_event_type e);

/* ---- req.c --------------------------------------------------------------- */

int mroce_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad);
/* Lock held: hand over what the transport takes. */
void mroce_sq_pump(struct mroce_qp *qp);
/* Lock held: report what finished, in order. */
void mroce_sq_complete(struct mroce_qp *qp);
/* Report the oldest request as @status and free its slot. */
void mroce_sq_report(struct mroce_qp *qp, struct mroce_swqe *w,
		     enum ib_wc_status status);
/* Flush; returns what is left of the budget. */
u32 mroce_sq_flush(struct mroce_qp *qp, u32 budget);
/* Elements of the user's ring that were not copied yet. */
u32 mroce_sq_unfetched(const struct mroce_sq *sq);
/* Copy the next request of the user's ring. False: none, or no room. */
bool mroce_sq_fetch(struct mroce_qp *qp);
/* RESET: forget everything that is queued. */
void mroce_sq_reset(struct mroce_qp *qp);

int mroce_req_gather(struct mroce_stream *s, struct mroce_msg *m, u32 off,
		     u32 len, struct mroce_txd *txd);
int mroce_req_check_resp(struct mroce_stream *s, struct mroce_msg *m,
			 struct mroce_claim *cl);
int mroce_req_atomic_done(struct mroce_stream *s, struct mroce_msg *m,
			  u64 orig);
void mroce_req_msg_done(struct mroce_stream *s, struct mroce_msg *m,
			enum mroce_status st);
void mroce_req_tx_fatal(struct mroce_stream *s, enum mroce_status st);
void mroce_req_conn_lost(struct mroce_stream *s);
int mroce_txd_ref(struct mroce_txd *txd, struct mroce_mr *mr, u64 addr,
		  u32 len);
void *mroce_txd_page(struct mroce_txd *txd, u32 total, u32 left, u32 *n);
void mroce_txd_drop(struct mroce_txd *txd);

/* ---- resp.c -------------------------------------------------------------- */

extern const struct mroce_stream_ops mroce_stream_verbs_ops;

int mroce_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad);
int mroce_rq_alloc(struct mroce_qp *qp, struct ib_qp_cap *cap);
void mroce_rq_free(struct mroce_qp *qp);
/* Takes the next receive; as mroce_rq_pop(). */
int mroce_recv_pop(struct mroce_qp *qp, struct mroce_rwqe *w);
u32 mroce_rq_flush(struct mroce_qp *qp, u32 budget);
void mroce_rq_reset(struct mroce_qp *qp);

/* ---- ud.c ---------------------------------------------------------------- */

/* Send what is queued, or flush it; no lock held, interrupts on. */
void mroce_ud_kick(struct mroce_qp *qp);
void mroce_ud_rx(struct mroce_dev *dev, const struct mroce_dgram_rx *d);
/* Address of a request: ah_num, or the address vector in @wr itself. */
int mroce_ud_addr(struct mroce_qp *qp, const struct rxe_send_wr *wr,
		  struct mroce_swqe *w);
int mroce_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int mroce_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
void mroce_mcast_drop(struct mroce_qp *qp);

#endif /* MROCE_QP_H */
