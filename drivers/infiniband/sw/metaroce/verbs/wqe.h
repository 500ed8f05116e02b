/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Send work requests in the kernel's own form.
 *
 * A request is copied once, out of a ring that its process can still write
 * to or out of a kernel consumer's list, and only the copy is looked at
 * afterwards. What the copy says was checked against the queue's limits; a
 * request that failed a check keeps its place in the queue and fails, with
 * the status noted in it, when its turn comes.
 */
#ifndef MROCE_WQE_H
#define MROCE_WQE_H

#include "verbs.h"

struct mroce_qp;

/* Of the uverbs ABI; kernel headers have the names from 6.3 on. */
#define MROCE_WR_ATOMIC_WRITE	15
#define MROCE_WC_ATOMIC_WRITE	9

#define MROCE_W_SIGNALED	0x01	/* success is reported, too */
#define MROCE_W_INLINE		0x02	/* the data is in the copy */
#define MROCE_W_LOCAL		0x04	/* no message: LOCAL_INV, REG_MR, BIND_MW */
#define MROCE_W_FENCE		0x08
#define MROCE_W_SOLICITED	0x10
#define MROCE_W_DONE		0x20	/* finished; earlier ones may not be */
#define MROCE_W_STORE		0x40	/* atomic: ->result is not stored yet */

/**
 * struct mroce_swqe - one send work request
 *
 * RC uses @msg or, for windows, @bind; UD and GSI @ud. The tail holds SGEs or inline data.
 */
struct mroce_swqe {
	union {
		struct mroce_msg msg;
		struct mroce_bind bind;
		struct {
			struct mroce_addr addr;
			struct net *net;	/* referenced, or NULL */
			u32 dqpn, qkey;
			u32 imm;
		} ud;
	};
	u64 wr_id;
	union {
		struct {
			struct ib_mr *mr;	/* REG_MR */
			u32 key;
			int access;
		} reg;
		u32 inv_key;			/* LOCAL_INV */
		u64 result;			/* atomics */
	};
	u32 length;
	u8 opcode;		/* enum ib_wr_opcode */
	u8 status;		/* enum ib_wc_status; not 0: fails in its turn */
	u8 flags;		/* MROCE_W_* */
	u8 num_sge;
	struct rxe_sge sge[];
};

static inline void *mroce_swqe_inline(struct mroce_swqe *w)
{
	return w->sge;
}

/**
 * struct mroce_sq - send queue
 *
 * The private ring's indices run freely. One producer (a kernel consumer
 * under qp->sq_lock, or the pump that copies out of the user's ring) and one
 * consumer, the holder of the queue pair's lock (see mroce_qp_lock(); UD: the
 * owner of the pump).
 *
 * cons <= next <= prod: completed, handed to the transport, copied.
 */
struct mroce_sq {
	struct mroce_queue *q;	/* the user's ring; NULL: kernel consumer */
	void *ring;
	u32 stride, mask;
	u32 max_wr, max_sge, max_inline;
	u32 prod, next, cons;
	bool stop;		/* a failure is queued: start nothing more */
	bool failed;		/* the oldest request is it: ->status */
};

static inline struct mroce_swqe *mroce_sq_slot(const struct mroce_sq *sq, u32 i)
{
	return sq->ring + (size_t)(i & sq->mask) * sq->stride;
}

/* The producer's index: what lies before it was written by then. */
static inline u32 mroce_sq_prod(const struct mroce_sq *sq)
{
	/* pairs with mroce_sq_push() */
	return smp_load_acquire(&sq->prod);
}

/* One more copied request. */
static inline void mroce_sq_push(struct mroce_sq *sq)
{
	/* pairs with mroce_sq_prod() */
	smp_store_release(&sq->prod, sq->prod + 1);
}

/* The oldest request's slot is free. */
static inline void mroce_sq_free_one(struct mroce_sq *sq)
{
	/* pairs with mroce_sq_held(): the slot was read before */
	smp_store_release(&sq->cons, sq->cons + 1);
}

/* Requests copied and not complete, as the producer sees them. */
static inline u32 mroce_sq_held(const struct mroce_sq *sq)
{
	/* pairs with mroce_sq_free_one() */
	return sq->prod - smp_load_acquire(&sq->cons);
}

/* Index of the slot that holds @w. */
static inline u32 mroce_sq_index(const struct mroce_sq *sq,
				 const struct mroce_swqe *w)
{
	return ((const u8 *)w - (const u8 *)sq->ring) / sq->stride;
}

int mroce_sq_alloc(struct mroce_qp *qp, struct ib_qp_cap *cap, bool user);
void mroce_sq_free(struct mroce_qp *qp);

/* Copy element @i of the user's ring into @w. Never fails: see ->status. */
void mroce_swqe_fetch(struct mroce_qp *qp, u32 i, struct mroce_swqe *w);
/* Copy a kernel consumer's request. 0 or -EINVAL: not accepted at all. */
int mroce_swqe_from_wr(struct mroce_qp *qp, const struct ib_send_wr *wr,
		       struct mroce_swqe *w);
/* Drop what the copy references. */
void mroce_swqe_put(struct mroce_qp *qp, struct mroce_swqe *w);

enum ib_wc_opcode mroce_wc_opcode(u8 wr_opcode);

/* ---- walking SGEs ------------------------------------------------------- */

struct mroce_sgl_iter {
	const struct rxe_sge *sge;
	u32 n;			/* entries from @sge on */
	u32 skip;		/* bytes of the first one already used */
	u32 left;		/* bytes still wanted */
};

static inline void mroce_sgl_start(struct mroce_sgl_iter *it,
				   const struct rxe_sge *sge, u32 n, u32 off,
				   u32 len)
{
	it->sge = sge;
	it->n = n;
	it->skip = off;
	it->left = len;
}

bool mroce_sgl_next(struct mroce_sgl_iter *it, u64 *addr, u32 *len, u32 *lkey);

/*
 * All of the range accessible? Returns 0, or -EACCES; @first gets a reference
 * to the first MR of the range if it is not NULL. BH off, as in the other
 * functions here.
 */
int mroce_sgl_check(struct mroce_qp *qp, const struct rxe_sge *sge, u32 n,
		    u32 off, u32 len, int access, struct mroce_mr **first);
/* mroce_copy_fn out of a buffer. */
int mroce_copy_buf(void *src, u32 off, void *dst, u32 len);
/* Gather the range into @dst. */
int mroce_sgl_to_buf(struct mroce_qp *qp, const struct rxe_sge *sge, u32 n,
		     u32 off, u32 len, void *dst);
/*
 * Scatter out of a packet; @soff: where in the packet. Ascending. Checked before,
 * which is where memory that cannot be had is an error.
 */
int mroce_sgl_scatter(struct mroce_qp *qp, const struct rxe_sge *sge, u32 n,
		      u32 off, u32 len, mroce_copy_fn copy, void *src,
		      u32 soff);
/* MR of a local key, begun: its memory stays until mroce_mr_close(). */
struct mroce_mr *mroce_mr_open(struct mroce_qp *qp, u32 lkey, u64 addr,
			       u32 len);
void mroce_mr_close(struct mroce_mr *mr);
/* A piece of one MR, begun, out of a packet; 8 aligned bytes at once. */
int mroce_mr_scatter(struct mroce_mr *mr, u64 addr, u32 len,
		     mroce_copy_fn copy, void *src, u32 soff);

#endif /* MROCE_WQE_H */
