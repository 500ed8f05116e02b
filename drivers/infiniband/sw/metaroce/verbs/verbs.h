/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Objects of the verbs: queues, completion queues, memory regions, shared
 * receive queues, address handles. Queue pairs are in qp.h.
 *
 * Locks (order: connection -> {SRQ, RQ, CQ}; all but the connection's are
 * irqsave leaf locks, nothing else nests):
 *   cq->lock	producer side of the ring, arming
 *   srq->lock	consumer side of the ring, limit
 *   qp->sq_lock, qp->rq_lock	see qp.h
 */
#ifndef MROCE_VERBS_H
#define MROCE_VERBS_H

#include <linux/refcount.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>
#include <uapi/rdma/rdma_user_rxe.h>

#include "../metaroce.h"

/* ---- limits (at least rxe's) ---- */
#define MROCE_MAX_CTX		1048576
#define MROCE_MAX_QP		1048576
#define MROCE_MAX_QP_WR		1048576
#define MROCE_MAX_SGE		32
#define MROCE_MAX_INLINE	512
#define MROCE_MAX_CQ		1048576
#define MROCE_MAX_CQE		1048575
#define MROCE_MAX_SRQ		1048576
#define MROCE_MAX_SRQ_WR	1048576
#define MROCE_MAX_SRQ_SGE	32
#define MROCE_MAX_PD		1048576
#define MROCE_MAX_MR		1048576
#define MROCE_MAX_MW		MROCE_MAX_MR
#define MROCE_MAX_FAST_REG	512	/* pages of a fast-reg MR */
#define MROCE_MAX_AH		1048576
#define MROCE_MAX_RD_ATOMIC	128
#define MROCE_MAX_MCAST_QP	56	/* of one group */

/* ---- queue.c: the rings of rdma_user_rxe.h ------------------------------- */

/**
 * struct mroce_queue - a ring shared with userspace, or the kernel's own
 *
 * User memory is hostile: masks, sizes and the side that the kernel moves
 * live here; of the mapped header only the index of the user's side is read,
 * once, masked.
 */
struct mroce_queue {
	struct rxe_queue_buf *buf;	/* all pages; the published header */
	size_t buf_bytes;
	struct page **pages;
	u32 n_pages;
	u32 elem_size;			/* power of two */
	u32 log2_elem;
	u32 mask;			/* elements - 1 */
	u32 kidx;			/* the kernel's index, masked */
	u32 oidx;			/* CQ: newest sane consumer index */
	bool producer;			/* the kernel is the producer (CQ) */
	bool user;			/* mapped by a process */
	struct kref ref;		/* its object, and a running mmap() */
	struct list_head node;		/* dev->mmaps, until mapped */
	struct ib_ucontext *ctx;	/* who may map it; compared only */
	u64 offset;			/* mmap()'s */
};

/*
 * mroce_queue_alloc(): a ring for @n elements of @elem bytes; it gets a power
 * of two of slots, one of which stays empty, so q->mask >= @n is the number
 * of elements that fit. @producer: the kernel is the producer (CQ). NULL: no
 * memory.
 * mroce_queue_publish(): for a user (@udata not NULL) enters the ring in
 * dev->mmaps for mmap() and writes offset and size to @out, which may be part
 * of a udata response. Does nothing for a kernel consumer.
 * mroce_queue_free(): also of a ring that was not published. NULL is fine.
 */
struct mroce_queue *mroce_queue_alloc(struct mroce_dev *dev, u32 n, u32 elem,
				      bool producer);
int mroce_queue_publish(struct mroce_dev *dev, struct mroce_queue *q,
			struct ib_udata *udata, struct mminfo __user *out);
void mroce_queue_free(struct mroce_dev *dev, struct mroce_queue *q);
int mroce_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma);

/* The other side's index, read once (acquire) and masked. */
u32 mroce_queue_other(const struct mroce_queue *q);
/* Elements that the kernel as consumer may take; 0..mask. */
u32 mroce_queue_avail(const struct mroce_queue *q);
/* Address of the element at the kernel's index + @i. Hostile memory. */
void *mroce_queue_elem(const struct mroce_queue *q, u32 i);
/* Move the kernel's index by @n and publish it (release). */
void mroce_queue_advance(struct mroce_queue *q, u32 n);

/* ---- cq.c ----------------------------------------------------------------- */

struct mroce_cq {
	struct ib_cq ibcq;
	spinlock_t lock;		/* irqsave leaf */
	struct mroce_queue *q;
	u8 notify;			/* IB_CQ_SOLICITED | NEXT_COMP, or 0 */
	bool user;
	bool dying;
	bool overrun;			/* IB_EVENT_CQ_ERR was raised */
	unsigned long bits;		/* PENDING, RUNNING: see later.c */
	struct llist_node later;	/* mroce_later.cqs */
	refcount_t ref;			/* queued handlers */
	struct completion gone;
};

/*
 * Append a completion. @wc->qp, ->wr_id, ->opcode, ->status ... as for a
 * kernel consumer; user CQs get the uverbs form (qp_num, ex). Any context; no
 * handler is called here: an armed CQ goes to mroce_later and the device's
 * NAPI is scheduled. Overflow raises IB_EVENT_CQ_ERR once; -ENOSPC.
 */
int mroce_cq_post(struct mroce_cq *cq, const struct ib_wc *wc, bool solicited);

/* ---- later.c: handlers outside of all locks --------------------------------- */

/* Queue an async event of a QP, SRQ, CQ or port; any context. The object must
 * stay until mroce_later_flush() ran (called by its destroy function).
 */
void mroce_event_qp(struct mroce_dev *dev, struct ib_qp *qp,
		    enum ib_event_type e);
void mroce_event_srq(struct mroce_dev *dev, struct ib_srq *srq,
		     enum ib_event_type e);
void mroce_event_cq(struct mroce_dev *dev, struct ib_cq *cq,
		    enum ib_event_type e);
/* Process context: wait until every event queued before this has run. */
void mroce_later_flush(struct mroce_dev *dev);
/* Drains mroce_later.cqs and .events (.qps is qp.c's). True: call again. */
bool mroce_run_later(struct mroce_net *mnet, bool wait);
/* cq.c: queue the handler of a CQ. */
void mroce_cq_later(struct mroce_cq *cq);
void mroce_cq_put(struct mroce_cq *cq);
int mroce_later_setup(struct mroce_dev *dev);
void mroce_later_cleanup(struct mroce_dev *dev);

/* ---- mr.c ------------------------------------------------------------------- */

#define MROCE_REMOTE	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_ATOMIC)
/* Next to the values of enum ib_mr_type: a memory window, see mw.c. */
#define MROCE_MR_WINDOW	0x80

enum mroce_mr_state { MROCE_MR_INVALID, MROCE_MR_FREE, MROCE_MR_VALID };

/**
 * struct mroce_mr - memory region, or window
 *
 * Found by key through dev->mrs under RCU; users take @ref with
 * mroce_mr_get(). A reference must not outlive the packet or the copy that it
 * was taken for: dereg_mr() waits for it, and must not wait for a peer. What
 * lasts longer (a Read that is being answered, a posted request) keeps the
 * key and looks it up again.
 *
 * A reference does not stop LOCAL_INV, SEND_INV or the rebinding of a window,
 * after which the owner may free the memory. Whoever touches memory through an address of
 * mroce_mr_piece() does so between mroce_mr_begin() and mroce_mr_end().
 */
struct mroce_mr {
	struct ib_mr ibmr;		/* ibmr.lkey, .rkey; windows: none */
	struct mroce_dev *dev;
	struct mroce_pd *pd;
	refcount_t ref;
	u8 state;			/* enum mroce_mr_state */
	u8 type;			/* enum ib_mr_type; MROCE_MR_WINDOW */
	bool type2;			/* windows: of type 2 */
	int access;			/* IB_ACCESS_* */
	u64 iova;
	u64 length;
	u32 key;			/* the live one; lkey == rkey */
	u32 page_shift;
	u32 first_off;			/* of iova in page 0 */
	u32 n_pages, max_pages;
	struct page **pages;		/* user MRs; vmalloc'ed */
	u64 *kaddr;			/* fast-reg MRs: virtual addresses */
	u64 *next;			/* the same, mapped for the next REG_MR */
	u32 n_next;
	atomic_t users;			/* between begin and end */
	spinlock_t lock;		/* leaf, irqsave: state, mapping */
	atomic_t windows;		/* bound to it; -1: none may be */
	struct mroce_mr *target;	/* windows: counted in its windows */
	u64 target_addr;		/* windows: where iova is in @target */
	u64 qp_id;			/* windows: that bound it */
	struct ib_umem *umem;
	struct mroce_odp *odp;		/* on-demand MRs: see odp.c */
	struct completion gone;
	struct rcu_head rcu;
};

/* What mw.c makes its windows of. */
struct mroce_mr *mroce_mr_alloc(struct ib_pd *ibpd, u8 type);
void mroce_mr_publish(struct mroce_mr *mr);
void mroce_mr_free(struct mroce_mr *mr);
struct mroce_mr *mroce_mr_find(struct mroce_dev *dev, struct ib_pd *pd,
			       u32 key);
bool mroce_mr_in_range(const struct mroce_mr *mr, u64 addr, u64 len);
void mroce_mr_kill(struct mroce_mr *mr);

/*
 * MR of a key, referenced, or NULL: index and key byte match, state valid, PD
 * equal, all of @access allowed, [addr, addr + len) inside (subtract form).
 * @from: 0 for an lkey, or the id of the queue pair whose peer sent the key.
 */
struct mroce_mr *mroce_mr_lookup(struct mroce_dev *dev, struct ib_pd *pd,
				 u32 key, u64 addr, u64 len, int access,
				 u64 from);
/* The memory can be had, and is on its way? False: an error that must be told. */
bool mroce_mr_ahead(struct mroce_mr *mr, u32 key, u64 addr, u64 len,
		    bool write);
/* Both. */
struct mroce_mr *mroce_mr_get(struct mroce_dev *dev, struct ib_pd *pd, u32 key,
			      u64 addr, u64 len, int access, u64 from);
void mroce_mr_put(struct mroce_mr *mr);
/*
 * BH off. Makes the memory of a referenced MR stay what @key stands for until
 * mroce_mr_end(). False: @key was invalidated. Short: invalidation spins.
 */
bool mroce_mr_begin(struct mroce_mr *mr, u32 key);
bool mroce_mr_begin_remote(struct mroce_mr *mr, u32 key, int access, u64 from);
void mroce_mr_end(struct mroce_mr *mr);
/*
 * Copy between a referenced MR, begun, and the kernel. 0, -EFAULT, or -EAGAIN:
 * memory of an on-demand MR is not there now. So all that touch memory.
 */
int mroce_mr_to_buf(struct mroce_mr *mr, u64 addr, void *dst, u32 len);
int mroce_mr_from_buf(struct mroce_mr *mr, u64 addr, const void *src, u32 len);
/*
 * Piece of the MR at @addr: kernel address and bytes up to the next
 * discontinuity (<= @len); ERR_PTR: -EFAULT outside of the MR, or no memory
 * behind the address; -EAGAIN. *@page (@page may be NULL): the page of the address if an skb may
 * reference it, for which the caller calls get_page(); else NULL: copy it.
 */
void *mroce_mr_piece(struct mroce_mr *mr, u64 addr, u32 len, u32 *n,
		     struct page **page, bool write);
/*
 * 8-byte atomic on MR memory: MROCE_OP_CMP_SWAP or _FETCH_ADD; old value. 0,
 * -EINVAL (not aligned, not inside) or -EAGAIN.
 */
int mroce_mr_atomic(struct mroce_mr *mr, u64 addr, u8 opcode, u64 swap_add,
		    u64 compare, u64 *old);
/*
 * LOCAL_INV (@from 0), SEND_INV: kill the key; nobody touches the memory through
 * it afterwards. BH off. 0 or -EINVAL: not a live key of a fast-reg MR or a
 * window of type 2 of @pd, or not the peer's to kill.
 */
int mroce_mr_invalidate(struct mroce_dev *dev, struct ib_pd *pd, u32 key,
			u64 from);
/* REG_MR work request of a kernel user. BH off. 0 or -EINVAL. */
int mroce_mr_reg(struct mroce_mr *mr, u32 key, int access);

/* ---- mw.c ------------------------------------------------------------------- */

/* A BIND_MW request: the window's present key and its next, and what for. */
struct mroce_bind {
	u64 addr, length;		/* in the MR; 0 bytes: unbind */
	u32 mr_lkey, mw_rkey, rkey;
	u32 access;			/* IB_ACCESS_* */
};

int mroce_mw_bind(struct mroce_dev *dev, struct ib_pd *pd, u64 qp_id,
		  const struct mroce_bind *b);
bool mroce_mw_bound(struct mroce_dev *dev, u32 key);
int mroce_mw_invalidate(struct mroce_mr *w, u32 key, u64 from);

/* ---- odp.c ------------------------------------------------------------------ */

struct mroce_qp;

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
#define MROCE_ACCESS_ODP	IB_ACCESS_ON_DEMAND

int mroce_odp_setup(struct mroce_dev *dev);
void mroce_odp_cleanup(struct mroce_dev *dev);
void mroce_odp_attr(struct ib_device_attr *attr);
int mroce_odp_init(struct mroce_mr *mr, u64 start, u64 length, int access);
void mroce_odp_free(struct mroce_mr *mr);
int mroce_odp_ahead(struct mroce_mr *mr, u64 addr, u64 len, bool write);
void *mroce_odp_piece(struct mroce_mr *mr, u64 off, u32 *n, bool write);
void mroce_odp_wait(struct mroce_qp *qp);
void mroce_odp_wake(struct mroce_dev *dev);
#else
#define MROCE_ACCESS_ODP	0

static inline int mroce_odp_setup(struct mroce_dev *dev) { return 0; }
static inline void mroce_odp_cleanup(struct mroce_dev *dev) { }
static inline void mroce_odp_attr(struct ib_device_attr *attr) { }
static inline int mroce_odp_init(struct mroce_mr *mr, u64 start, u64 length,
				 int access)
{
	return -EOPNOTSUPP;
}

static inline void mroce_odp_free(struct mroce_mr *mr) { }
static inline int mroce_odp_ahead(struct mroce_mr *mr, u64 addr, u64 len,
				  bool write)
{
	return 0;
}

static inline void *mroce_odp_piece(struct mroce_mr *mr, u64 off, u32 *n,
				    bool write)
{
	return ERR_PTR(-EFAULT);
}

static inline void mroce_odp_wait(struct mroce_qp *qp) { }
static inline void mroce_odp_wake(struct mroce_dev *dev) { }
#endif

/* ---- pd, ucontext, ah: pd.c, ah.c ----------------------------------------------- */

struct mroce_ucontext {
	struct ib_ucontext ibuc;
	struct mroce_asker *asker;
};

struct mroce_pd { struct ib_pd ibpd; };

/**
 * struct mroce_ah - address handle
 *
 * Apart from the core's object because the core frees that one at once, in
 * whatever context, while a sender may still read this one.
 */
struct mroce_ah {
	struct ib_pd *pd;		/* compared only */
	u32 num;			/* index in dev->ahs, user's ah_num */
	struct rdma_ah_attr attr;	/* holds its sgid_attr */
	struct mroce_addr addr;		/* does not change */
	refcount_t ref;
	struct rcu_head rcu;
};

struct mroce_ibah {
	struct ib_ah ibah;
	struct mroce_ah *ah;
};

/*
 * Address handle of a user's ah_num, referenced; NULL if not of @pd. RCU held
 * or BH off.
 */
struct mroce_ah *mroce_ah_get(struct mroce_dev *dev, struct ib_pd *pd, u32 num);
void mroce_ah_put(struct mroce_ah *ah);
/*
 * Namespace of the source GID's netdev, referenced (put_net()); NULL once that
 * netdev has gone. Not kept in the handle: it would keep the namespace alive,
 * or dangle.
 */
struct net *mroce_ah_net(const struct mroce_ah *ah);
/*
 * Addresses out of verbs attributes: RoCE AV -> struct mroce_addr. Checks port,
 * GRH and address families. @attr has its sgid_attr. *@net (@net may be NULL)
 * is referenced: put_net(). 0, -EINVAL or -ENODEV (netdev is gone).
 */
int mroce_av_to_addr(struct mroce_dev *dev, const struct rdma_ah_attr *attr,
		     struct mroce_addr *addr, struct net **net);

/* ---- receives: srq.c ------------------------------------------------------- */

/* A receive work request, copied once out of hostile memory and checked. */
struct mroce_rwqe {
	u64 wr_id;
	u32 length;			/* sum of the SGEs */
	u32 num_sge;
	struct rxe_sge sge[];		/* max_sge of the queue */
};

struct mroce_srq {
	struct ib_srq ibsrq;
	struct mroce_pd *pd;
	spinlock_t lock;		/* irqsave leaf; consumer, limit */
	struct mroce_queue *q;
	u32 num;
	u32 max_wr, max_sge, limit;
	bool user;
	bool error;
};

/* Bytes of a ring's element for receives of @max_sge SGEs. */
static inline u32 mroce_rq_elem(u32 max_sge)
{
	return sizeof(struct rxe_recv_wqe) + max_sge * sizeof(struct rxe_sge);
}

/*
 * Take the next receive of a ring: copies at most @max_sge SGEs. 0, -EAGAIN
 * (empty) or -EINVAL (garbage: the entry is consumed, wr_id is valid, num_sge
 * is 0). Caller holds the queue's lock.
 */
int mroce_rq_pop(struct mroce_queue *q, u32 max_sge, struct mroce_rwqe *out);
/* The same for an SRQ; takes srq->lock, raises the limit event. */
int mroce_srq_pop(struct mroce_srq *srq, struct mroce_rwqe *out);
/*
 * Kernel users: put a receive into a ring; caller holds the lock. 0, -ENOMEM
 * (full) or -EINVAL.
 */
int mroce_rq_push(struct mroce_queue *q, u32 max_sge,
		  const struct ib_recv_wr *wr);

/* Count an object against its limit; a device keeps these in its n_*. */
static inline bool mroce_count(atomic_t *n, u32 max)
{
	return atomic_add_unless(n, 1, max);
}

static inline struct mroce_cq *to_mcq(struct ib_cq *cq)
{
	return cq ? container_of(cq, struct mroce_cq, ibcq) : NULL;
}

static inline struct mroce_srq *to_msrq(struct ib_srq *srq)
{
	return srq ? container_of(srq, struct mroce_srq, ibsrq) : NULL;
}

static inline struct mroce_mr *to_mmr(struct ib_mr *mr)
{
	return mr ? container_of(mr, struct mroce_mr, ibmr) : NULL;
}

static inline struct mroce_ah *to_mah(struct ib_ah *ah)
{
	return ah ? container_of(ah, struct mroce_ibah, ibah)->ah : NULL;
}

/* One table a file; mroce_verbs_setup() merges them. */
extern const struct ib_device_ops mroce_dev_ops;
extern const struct ib_device_ops mroce_pd_ops;
extern const struct ib_device_ops mroce_ah_ops;
extern const struct ib_device_ops mroce_cq_ops;
extern const struct ib_device_ops mroce_mr_ops;
extern const struct ib_device_ops mroce_mw_ops;
extern const struct ib_device_ops mroce_odp_ops;
extern const struct ib_device_ops mroce_srq_ops;
extern const struct ib_device_ops mroce_qp_ops;
extern const struct ib_device_ops mroce_mad_ops;

/* device.c: speed of the netdev (0: unknown), one of the per-CPU counters */
u32 mroce_link_mbps(struct mroce_dev *dev, struct net_device *ndev);
u64 mroce_dev_sum(struct mroce_dev *dev, enum mroce_dev_counter c);

#endif /* MROCE_VERBS_H */
