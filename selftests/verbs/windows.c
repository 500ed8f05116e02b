// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows: who gets through one, to which bytes, with which rights, and
 * when it is over. End B has the memory and the windows, end A writes, reads
 * and adds; what a window does not allow must leave no trace in the memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vt.h"

#define AREA	65536
#define REGION	(16384 + 4096)		/* the MR: in the middle of the area */
#define MR_AT	16384
#define WIN_AT	1000			/* the window: off the grid, in the MR */
#define WIN_LEN	8200
/* The MR's end, and so that of a window at it, is the last page of 2^64 */
#define HIGH	(0xfffffffffffff000ULL - REGION)

/* From the first byte of a window there to 2^64 */
#define TO_TOP	(REGION + 4096 - WIN_AT)

#define ALL	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		 IBV_ACCESS_REMOTE_ATOMIC)
#define MR_ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)
#define RW	IBV_ACCESS_REMOTE_WRITE
#define RR	IBV_ACCESS_REMOTE_READ
#define RA	IBV_ACCESS_REMOTE_ATOMIC
#define ZB	IBV_ACCESS_ZERO_BASED

#define WRITE	IBV_WR_RDMA_WRITE
#define READ	IBV_WR_RDMA_READ
#define ADD	IBV_WR_ATOMIC_FETCH_AND_ADD

#define OK	IBV_WC_SUCCESS
#define ACC	IBV_WC_REM_ACCESS_ERR
#define BIND	IBV_WC_MW_BIND_ERR

static struct vt_dev dev;
static struct ibv_pd *pd2;
static uint8_t *area, *want, *lbuf;
static struct ibv_mr *mr, *high_mr, *lmr;

/* ---- windows ---- */

static int post_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mr *m,
		     uint64_t addr, uint64_t len, int access, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.wr_id = 7, .opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info.mr = m;
	wr.bind_mw.bind_info.addr = addr;
	wr.bind_mw.bind_info.length = len;
	wr.bind_mw.bind_info.mw_access_flags = access;
	return ibv_post_send(qp, &wr, &bad);
}

/* Binds with the next key; true if it worked */
static bool bind(struct vt_qp *q, struct ibv_mw *mw, struct ibv_mr *m,
		 uint64_t addr, uint64_t len, int access)
{
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_wc wc;
	int rc;

	rc = post_bind(q->qp, mw, m, addr, len, access, rkey);
	if (rc) {
		vt_fail("post of a bind: %s", strerror(rc));
		return false;
	}
	if (!vt_expect(q, q->scq, &wc, OK, "bind"))
		return false;
	if (wc.opcode != IBV_WC_BIND_MW)
		vt_fail("bind: wc.opcode %d", wc.opcode);
	mw->rkey = rkey;
	return true;
}

static void local_inv(struct vt_qp *q, uint32_t rkey, enum ibv_wc_status st)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	}, *bad;
	struct ibv_wc wc;
	int rc;

	rc = ibv_post_send(q->qp, &wr, &bad);
	if (rc)
		vt_fail("post of local_inv: %s", strerror(rc));
	else
		vt_expect(q, q->scq, &wc, st, "local_inv");
}

/* A queue pair that talks to itself */
static void self_qp(struct vt_qp *q)
{
	int rc;

	vt_qp_create(q, &dev, NULL);
	q->peer_qpn = q->qp->qp_num;
	q->peer_psn = q->psn;
	q->peer_gid = dev.gid;
	rc = vt_qp_init(q);
	if (!rc)
		rc = vt_qp_rtr(q);
	if (!rc)
		rc = vt_qp_rts(q);
	if (rc)
		vt_die("a QP with itself: %s", strerror(rc));
}

static struct ibv_mw *new_mw(int type)
{
	struct ibv_mw *mw = ibv_alloc_mw(dev.pd, type);

	if (!mw)
		vt_die("alloc_mw: %m");
	return mw;
}

static void free_mw(struct ibv_mw *mw)
{
	int rc = ibv_dealloc_mw(mw);

	if (rc)
		vt_fail("dealloc_mw: %s", strerror(rc));
}

/* ---- access through a window ---- */

/* What became of the window before it is used */
enum when {
	LIVE,
	NEVER,		/* allocated only */
	OTHER_QP,	/* bound by another QP of the same PD */
	UNBOUND,	/* bound again, no bytes */
	OLD_KEY,	/* bound again, the key of before is used */
	MOVED,		/* bound again elsewhere, then back: the new key */
	LOCAL_INV,
	SEND_INV,
	DEALLOC,
	AGAIN,		/* invalidated and bound once more */
	LOCAL_KEY,	/* used as the key of a receive */
};

static const struct acase {
	const char *name;
	int type;
	enum when when;
	int access;
	enum ibv_wr_opcode op;
	int64_t off;			/* from the window's first byte */
	uint32_t len;
	enum ibv_wc_status want;
	bool high;			/* in the MR just below 2^64 */
} acases[] = {
	/* what is right at the edges, so that the rest means something */
	{ "write to all", 2, LIVE, ALL, WRITE, 0, WIN_LEN, OK },
	{ "write to the first byte", 2, LIVE, RW, WRITE, 0, 1, OK },
	{ "write to the last byte", 2, LIVE, RW, WRITE, WIN_LEN - 1, 1, OK },
	{ "read of all", 2, LIVE, RR, READ, 0, WIN_LEN, OK },
	{ "read of the last byte", 2, LIVE, RR, READ, WIN_LEN - 1, 1, OK },
	{ "fetch_add on the first word", 2, LIVE, RA, ADD, 0, 8, OK },
	{ "fetch_add on the last word", 2, LIVE, RA, ADD, WIN_LEN - 8, 8, OK },
	{ "type 1, write to all", 1, LIVE, RW, WRITE, 0, WIN_LEN, OK },
	{ "type 1, read of all", 1, LIVE, RR, READ, 0, WIN_LEN, OK },
	{ "write of nothing, nowhere", 2, LIVE, RW, WRITE, -5, 0, OK },
	{ "zero based, write to all", 2, LIVE, RW | ZB, WRITE, 0, WIN_LEN, OK },
	{ "zero based, read of a part", 2, LIVE, RR | ZB, READ, 4097, 3000, OK },
	{ "zero based, fetch_add", 2, LIVE, RA | ZB, ADD, 8, 8, OK },
	{ "just below 2^64, write to all", 2, LIVE, RW, WRITE, 0, WIN_LEN, OK, true },

	{ "write, one byte in front", 2, LIVE, RW, WRITE, -1, 1, ACC },
	{ "write across the start", 2, LIVE, RW, WRITE, -1, 2, ACC },
	{ "write, one byte behind", 2, LIVE, RW, WRITE, WIN_LEN, 1, ACC },
	{ "write across the end", 2, LIVE, RW, WRITE, WIN_LEN - 1, 2, ACC },
	{ "long write across the end", 2, LIVE, RW, WRITE, 1, WIN_LEN, ACC },
	{ "write, 2^32 above", 2, LIVE, RW, WRITE, 1LL << 32, 8, ACC },
	{ "write, 2^63 away", 2, LIVE, RW, WRITE, INT64_MIN, 8, ACC },
	{ "write, wraps at 2^64", 2, LIVE, RW, WRITE, TO_TOP - 1, 2, ACC, true },
	{ "long write, wraps at 2^64", 2, LIVE, RW, WRITE, 0, 2 * REGION, ACC, true },
	{ "read, one byte in front", 2, LIVE, RR, READ, -1, 1, ACC },
	{ "read across the end", 2, LIVE, RR, READ, WIN_LEN - 1, 2, ACC },
	{ "fetch_add in front", 2, LIVE, RA, ADD, -8, 8, ACC },
	{ "fetch_add behind", 2, LIVE, RA, ADD, WIN_LEN, 8, ACC },
	{ "type 1, write across the end", 1, LIVE, RW, WRITE, WIN_LEN - 1, 2, ACC },
	{ "type 1, write in front", 1, LIVE, RW, WRITE, -8, 8, ACC },
	{ "zero based, write in front", 2, LIVE, RW | ZB, WRITE, -1, 1, ACC },
	{ "zero based, write across 0", 2, LIVE, RW | ZB, WRITE, -1, 2, ACC },
	{ "zero based, write behind", 2, LIVE, RW | ZB, WRITE, WIN_LEN, 1, ACC },

	{ "write, may only read", 2, LIVE, RR, WRITE, 0, 64, ACC },
	{ "write, may only add", 2, LIVE, RA, WRITE, 0, 64, ACC },
	{ "read, may only write", 2, LIVE, RW, READ, 0, 64, ACC },
	{ "fetch_add, may read and write", 2, LIVE, RR | RW, ADD, 0, 8, ACC },
	{ "write, no remote right", 2, LIVE, IBV_ACCESS_LOCAL_WRITE, WRITE, 0, 64, ACC },
	{ "type 1, write, may only read", 1, LIVE, RR, WRITE, 0, 64, ACC },

	{ "never bound, write", 2, NEVER, RW, WRITE, 0, 64, ACC },
	{ "type 1, never bound, read", 1, NEVER, RR, READ, 0, 64, ACC },
	{ "of another QP, write", 2, OTHER_QP, RW, WRITE, 0, 64, ACC },
	{ "of another QP, read", 2, OTHER_QP, RR, READ, 0, 64, ACC },
	{ "type 1, bound by another QP, write", 1, OTHER_QP, RW, WRITE, 0, 64, OK },
	{ "type 1, unbound, write", 1, UNBOUND, RW, WRITE, 0, 64, ACC },
	{ "type 1, bound again, old key", 1, OLD_KEY, RW, WRITE, 0, 64, ACC },
	{ "type 1, bound again, new key", 1, MOVED, RW, WRITE, 0, WIN_LEN, OK },
	{ "invalidated, write", 2, LOCAL_INV, RW, WRITE, 0, 64, ACC },
	{ "invalidated, read", 2, LOCAL_INV, RR, READ, 0, 4096, ACC },
	{ "invalidated, fetch_add", 2, LOCAL_INV, RA, ADD, 0, 8, ACC },
	{ "invalidated by the peer, write", 2, SEND_INV, RW, WRITE, 0, 64, ACC },
	{ "deallocated, write", 2, DEALLOC, RW, WRITE, 0, 64, ACC },
	{ "deallocated, read", 2, DEALLOC, RR, READ, 0, 64, ACC },
	{ "type 1, deallocated, write", 1, DEALLOC, RW, WRITE, 0, 64, ACC },
	{ "invalidated and bound again", 2, AGAIN, RW, WRITE, 0, WIN_LEN, OK },
	{ "as the key of a receive", 2, LOCAL_KEY, RW, IBV_WR_SEND, 0, 64,
	  IBV_WC_REM_OP_ERR },
};

struct told {
	uint64_t addr;
	uint32_t rkey;
};

static void a_send_inv(struct vt_qp *q, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV, .send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	}, *bad;
	struct ibv_wc wc;

	if (ibv_post_send(q->qp, &wr, &bad))
		vt_fail("post of send_inv");
	else
		vt_expect(q, q->scq, &wc, OK, "send_inv");
}

static void a_access(struct vt_qp *q, const struct acase *c)
{
	struct ibv_sge sge = { (uintptr_t)lbuf, c->len, lmr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = c->op, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct told t;
	struct ibv_wc wc;
	size_t at;
	int rc;

	vt_recv(&t, sizeof(t));
	if (c->when == SEND_INV)
		a_send_inv(q, t.rkey);
	vt_fill(lbuf, AREA, 99, 0);
	if (c->op == ADD) {
		wr.wr.atomic.remote_addr = t.addr + c->off;
		wr.wr.atomic.rkey = t.rkey;
		wr.wr.atomic.compare_add = 0x0101010101010101;
	} else {
		wr.wr.rdma.remote_addr = t.addr + c->off;
		wr.wr.rdma.rkey = t.rkey;
	}
	rc = ibv_post_send(q->qp, &wr, &bad);
	if (rc)
		vt_fail("post: %s", strerror(rc));
	else
		vt_expect(q, q->scq, &wc, c->want, "access");
	if (c->op == READ && c->want == OK &&
	    !vt_same(lbuf, c->len, 5, MR_AT + WIN_AT + c->off, &at))
		vt_fail("read: byte %zu is wrong", at);
	if (c->op == READ && c->want != OK && !vt_same(lbuf, AREA, 99, 0, &at))
		vt_fail("refused, and yet byte %zu was read", at);
}

/* Bind, and whatever is to become of it; the key to use */
static uint32_t b_prepare(struct vt_qp *q, struct vt_qp *other,
			  const struct acase *c, struct ibv_mw **mw,
			  uint64_t base)
{
	struct ibv_mr *m = c->high ? high_mr : mr;
	struct vt_qp *binder = c->when == OTHER_QP ? other : q;
	uint32_t old;

	if (c->when == NEVER)
		return (*mw)->rkey;
	bind(binder, *mw, m, base + WIN_AT, WIN_LEN, c->access);
	old = (*mw)->rkey;
	switch (c->when) {
	case UNBOUND:
		bind(q, *mw, m, base + WIN_AT, 0, 0);
		break;
	case OLD_KEY:
		bind(q, *mw, m, base + WIN_AT, WIN_LEN, c->access);
		return old;
	case MOVED:
		bind(q, *mw, m, base, 8, c->access);
		bind(q, *mw, m, base + WIN_AT, WIN_LEN, c->access);
		break;
	case LOCAL_INV:
		local_inv(q, old, OK);
		break;
	case AGAIN:
		local_inv(q, old, OK);
		bind(q, *mw, m, base + WIN_AT, WIN_LEN, c->access);
		break;
	case DEALLOC:
		free_mw(*mw);
		*mw = NULL;
		return old;
	default:
		break;
	}
	return (*mw)->rkey;
}

static void post_recv(struct vt_qp *q, uint32_t len, uint32_t key)
{
	struct ibv_sge sge = { (uintptr_t)area + MR_AT + WIN_AT, len, key };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = !!len }, *bad;

	if (ibv_post_recv(q->qp, &wr, &bad))
		vt_fail("post_recv");
}

static void b_access(struct vt_qp *q, const struct acase *c)
{
	uint64_t base = c->high ? HIGH : (uintptr_t)area + MR_AT;
	size_t at = MR_AT + WIN_AT + c->off, where;
	struct ibv_mw *mw = new_mw(c->type);
	struct vt_qp other;
	struct ibv_wc wc;
	struct told t;
	uint64_t v;

	vt_fill(area, AREA, 5, 0);
	vt_fill(want, AREA, 5, 0);
	if (c->when == OTHER_QP)
		self_qp(&other);
	t.rkey = b_prepare(q, &other, c, &mw, base);
	t.addr = c->access & ZB ? 0 : base + WIN_AT;
	if (c->when == SEND_INV)
		post_recv(q, 0, 0);
	if (c->when == LOCAL_KEY)
		post_recv(q, c->len, t.rkey);
	vt_send(&t, sizeof(t));
	if (c->when == SEND_INV &&
	    vt_expect(q, q->rcq, &wc, OK, "receive of send_inv") &&
	    (!(wc.wc_flags & IBV_WC_WITH_INV) || wc.invalidated_rkey != t.rkey))
		vt_fail("nothing or something else was invalidated");

	vt_sync("accessed");
	if (c->want == OK && c->op == WRITE && c->len)
		vt_fill(want + at, c->len, 99, 0);
	if (c->want == OK && c->op == ADD) {
		memcpy(&v, want + at, 8);
		v += 0x0101010101010101;
		memcpy(want + at, &v, 8);
	}
	if (memcmp(area, want, AREA)) {
		for (where = 0; area[where] == want[where]; where++)
			;
		vt_fail("byte %zd of the window is wrong",
			(ssize_t)(where - MR_AT - WIN_AT));
	}
	if (c->when == OTHER_QP)
		vt_qp_destroy(&other);
	if (mw)
		free_mw(mw);
}

static void run_access(const struct acase *c)
{
	struct vt_qp q;

	if (!vt_want(c->name))
		return;
	vt_qp_create(&q, &dev, NULL);
	vt_qp_connect(&q);
	if (vt_side == VT_A) {
		a_access(&q, c);
		vt_sync("accessed");
	} else {
		b_access(&q, c);
	}
	vt_qp_destroy(&q);
	vt_verdict("%s", c->name);
}

/* ---- binding ---- */

enum bkind {
	B_OK,
	B_NO_BIND,	/* the MR does not allow windows */
	B_NO_LW,	/* nor the owner's own writes */
	B_ZERO_MR,	/* the MR is zero based */
	B_MR_PD,	/* the MR is of another PD */
	B_MW_PD,	/* the window is */
	B_BAD_LKEY,
	B_BAD_RKEY,	/* of the window */
	B_NEW_INDEX,	/* new key with another index */
	B_MR_RKEY,	/* an MR as the window */
	B_MW_LKEY,	/* a window as the MR */
	B_BOUND,	/* it is */
	B_GONE,		/* the window is */
};

static const struct bcase {
	const char *name;
	int type;
	enum bkind kind;
	int64_t off;
	uint64_t len;
	int access;
	enum ibv_wc_status want;
} bcases[] = {
	{ "all of the MR", 2, B_OK, 0, REGION, ALL, OK },
	{ "its last byte", 2, B_OK, REGION - 1, 1, ALL, OK },
	{ "zero based", 2, B_OK, 0, REGION, ALL | ZB, OK },
	{ "type 1, bound", 1, B_BOUND, 0, REGION, ALL, OK },
	{ "type 1, no bytes", 1, B_OK, 0, 0, 0, OK },
	{ "to read, an MR that is not written", 2, B_NO_LW, 0, REGION, RR, OK },
	{ "one byte too long", 2, B_OK, 0, REGION + 1, ALL, BIND },
	{ "one byte in front", 2, B_OK, -1, 2, ALL, BIND },
	{ "one byte behind", 2, B_OK, REGION, 1, ALL, BIND },
	{ "wraps at 2^64", 2, B_OK, 8, ~0ULL - 4, ALL, BIND },
	{ "2^64 - 1 bytes", 2, B_OK, 0, ~0ULL, ALL, BIND },
	{ "2^63 bytes, zero based", 2, B_OK, 0, 1ULL << 63, ALL | ZB, BIND },
	{ "2^32 bytes too long", 2, B_OK, 0, REGION + (1ULL << 32), ALL, BIND },
	{ "no bytes", 2, B_OK, 0, 0, ALL, BIND },
	{ "type 1, zero based", 1, B_OK, 0, REGION, ALL | ZB, BIND },
	{ "no such right", 2, B_OK, 0, REGION, 1 << 30, BIND },
	{ "an MR without MW_BIND", 2, B_NO_BIND, 0, REGION, ALL, BIND },
	{ "to write, an MR that is not written", 2, B_NO_LW, 0, REGION, RW, BIND },
	{ "to add, an MR that is not written", 2, B_NO_LW, 0, REGION, RA, BIND },
	{ "a zero based MR", 2, B_ZERO_MR, 0, REGION, RR, BIND },
	{ "an MR of another PD", 2, B_MR_PD, 0, REGION, ALL, BIND },
	{ "a window of another PD", 2, B_MW_PD, 0, REGION, ALL, BIND },
	{ "type 1, of another PD", 1, B_MW_PD, 0, REGION, ALL, BIND },
	{ "wrong lkey", 2, B_BAD_LKEY, 0, REGION, ALL, BIND },
	{ "wrong rkey", 2, B_BAD_RKEY, 0, REGION, ALL, BIND },
	{ "new key of another index", 2, B_NEW_INDEX, 0, REGION, ALL, BIND },
	{ "an MR's key as the window's", 2, B_MR_RKEY, 0, REGION, ALL, BIND },
	{ "a window's key as the MR's", 2, B_MW_LKEY, 0, 64, ALL, BIND },
	{ "bound", 2, B_BOUND, 0, REGION, ALL, BIND },
	{ "deallocated", 2, B_GONE, 0, REGION, ALL, BIND },
};

static struct ibv_mr *reg(struct ibv_pd *pd, int access)
{
	struct ibv_mr *m = ibv_reg_mr(pd, area + MR_AT, REGION, access);

	if (!m)
		vt_die("reg_mr: %m");
	return m;
}

static void run_bind(const struct bcase *c)
{
	struct ibv_pd *mw_pd = c->kind == B_MW_PD ? pd2 : dev.pd;
	struct ibv_mr *m = NULL, fake;
	struct ibv_mw *mw, as_used;
	struct vt_qp q;
	struct ibv_wc wc;
	uint64_t base;
	uint32_t rkey;
	int rc;

	if (!vt_want(c->name))
		return;
	self_qp(&q);
	mw = ibv_alloc_mw(mw_pd, c->type);
	if (!mw)
		vt_die("alloc_mw: %m");
	switch (c->kind) {
	case B_NO_BIND:
		m = reg(dev.pd, IBV_ACCESS_LOCAL_WRITE | ALL);
		break;
	case B_NO_LW:
		m = reg(dev.pd, IBV_ACCESS_MW_BIND);
		break;
	case B_ZERO_MR:
		m = reg(dev.pd, MR_ALL | ZB);
		break;
	case B_MR_PD:
		m = reg(pd2, MR_ALL);
		break;
	case B_BOUND:
		bind(&q, mw, mr, (uintptr_t)area + MR_AT, 64, ALL);
		break;
	default:
		break;
	}
	base = c->kind == B_ZERO_MR ? 0 : (uintptr_t)area + MR_AT;
	fake = m ? *m : *mr;
	as_used = *mw;
	if (c->kind == B_BAD_LKEY)
		fake.lkey ^= 1;
	if (c->kind == B_MW_LKEY)
		fake.lkey = mw->rkey;
	if (c->kind == B_BAD_RKEY)
		as_used.rkey ^= 1;
	if (c->kind == B_MR_RKEY)
		as_used.rkey = mr->rkey;
	rkey = ibv_inc_rkey(as_used.rkey);
	if (c->kind == B_NEW_INDEX)
		rkey ^= 0x100;
	if (c->kind == B_GONE) {
		free_mw(mw);
		mw = NULL;
	}
	rc = post_bind(q.qp, &as_used, &fake, base + c->off, c->len, c->access,
		       rkey);
	if (!rc)
		vt_expect(&q, q.scq, &wc, c->want, "bind");
	else if (c->want == OK)
		vt_fail("post: %s", strerror(rc));
	if (mw)
		free_mw(mw);
	if (m && ibv_dereg_mr(m))
		vt_fail("dereg_mr: %m");
	vt_qp_destroy(&q);
	vt_result("bind: %s", c->name);
}

/* ---- the rest ---- */

/* An MR with windows stays; what is not bound any more does not hold it */
static void holds_mr(void)
{
	struct ibv_mw *mw[2] = { new_mw(1), new_mw(2) };
	struct ibv_mr *m = reg(dev.pd, MR_ALL);
	struct vt_qp q;
	int rc;

	self_qp(&q);
	bind(&q, mw[0], m, (uintptr_t)area + MR_AT, 64, ALL);
	bind(&q, mw[1], m, (uintptr_t)area + MR_AT, 64, ALL);
	rc = ibv_dereg_mr(m);
	if (rc != EBUSY)
		vt_fail("dereg_mr with two windows: %s", strerror(rc));
	/* unbind one; bind it to another MR */
	bind(&q, mw[0], mr, (uintptr_t)area + MR_AT, 64, ALL);
	rc = ibv_dereg_mr(m);
	if (rc != EBUSY)
		vt_fail("dereg_mr with a window: %s", strerror(rc));
	local_inv(&q, mw[1]->rkey, OK);
	/* once more: it is free already */
	local_inv(&q, mw[1]->rkey, OK);
	rc = ibv_dereg_mr(m);
	if (rc)
		vt_fail("dereg_mr: %s", strerror(rc));
	free_mw(mw[0]);
	free_mw(mw[1]);
	vt_qp_destroy(&q);
	vt_result("an MR with windows cannot be deregistered");
}

static void inv_type1(void)
{
	struct ibv_mw *mw = new_mw(1);
	struct vt_qp q;

	self_qp(&q);
	bind(&q, mw, mr, (uintptr_t)area + MR_AT, 64, ALL);
	local_inv(&q, mw->rkey, IBV_WC_LOC_QP_OP_ERR);
	free_mw(mw);
	vt_qp_destroy(&q);
	vt_result("type 1 cannot be invalidated");
}

/*
 * Posted at once: a long write through the window, then its invalidation, then
 * a new key, then a write with that. Each finds the window as it should.
 */
static void in_order(void)
{
	struct ibv_sge sge = { (uintptr_t)lbuf, REGION, 0 };
	struct ibv_send_wr wr[4], *bad;
	struct ibv_mw *mw = new_mw(2);
	uint32_t next;
	struct vt_qp q;
	struct ibv_wc wc;
	size_t at;
	int i, rc;

	self_qp(&q);
	sge.lkey = lmr->lkey;
	vt_fill(lbuf, AREA, 11, 0);
	memset(area, CANARY, AREA);
	bind(&q, mw, mr, (uintptr_t)area + MR_AT, REGION, RW);
	next = ibv_inc_rkey(mw->rkey);
	memset(wr, 0, sizeof(wr));
	for (i = 0; i < 4; i++) {
		wr[i].wr_id = i;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
	}
	wr[0].opcode = WRITE;
	wr[0].sg_list = &sge;
	wr[0].num_sge = 1;
	wr[0].wr.rdma.remote_addr = (uintptr_t)area + MR_AT;
	wr[0].wr.rdma.rkey = mw->rkey;
	wr[1].opcode = IBV_WR_LOCAL_INV;
	wr[1].invalidate_rkey = mw->rkey;
	wr[2].opcode = IBV_WR_BIND_MW;
	wr[2].bind_mw.mw = mw;
	wr[2].bind_mw.rkey = next;
	wr[2].bind_mw.bind_info.mr = mr;
	wr[2].bind_mw.bind_info.addr = (uintptr_t)area + MR_AT;
	wr[2].bind_mw.bind_info.length = REGION;
	wr[2].bind_mw.bind_info.mw_access_flags = RW;
	wr[3] = wr[0];
	wr[3].wr_id = 3;
	wr[3].next = NULL;
	wr[3].wr.rdma.rkey = next;
	rc = ibv_post_send(q.qp, wr, &bad);
	if (rc)
		vt_fail("post: %s", strerror(rc));
	for (i = 0; i < 4 && !vt_failed(); i++)
		if (vt_expect(&q, q.scq, &wc, OK, "chain") &&
		    wc.wr_id != (uint64_t)i)
			vt_fail("completion %d is of request %d", i,
				(int)wc.wr_id);
	if (!vt_same(area + MR_AT, REGION, 11, 0, &at))
		vt_fail("byte %zu is wrong", at);
	free_mw(mw);
	vt_qp_destroy(&q);
	vt_result("write, invalidate, bind, write in one post");
}

/* The peer writes all the time while the window ends: nothing comes after it */
static void ends_busy(int type, bool dealloc)
{
	struct ibv_send_wr wr = {
		.opcode = WRITE, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	int i, j, n = vt_scaled(20, 5);
	struct ibv_sge sge = { (uintptr_t)lbuf, WIN_LEN, lmr->lkey };
	struct ibv_mw *mw = NULL;
	struct vt_qp q;
	struct ibv_wc wc;
	struct told t;
	size_t at;

	wr.sg_list = &sge;
	for (i = 0; i < n; i++) {
		vt_qp_create(&q, &dev, NULL);
		vt_qp_connect(&q);
		if (vt_side == VT_A) {
			vt_recv(&t, sizeof(t));
			wr.wr.rdma.remote_addr = t.addr;
			wr.wr.rdma.rkey = t.rkey;
			memset(&wc, 0, sizeof(wc));
			for (j = 0; j < 8; j++)
				ibv_post_send(q.qp, &wr, &bad);
			while (vt_poll(&q, q.scq, &wc, -1) && !wc.status)
				ibv_post_send(q.qp, &wr, &bad);
			if (wc.status != ACC)
				vt_fail("ends with status %d", wc.status);
		} else {
			mw = new_mw(type);
			t.addr = (uintptr_t)area + MR_AT + WIN_AT;
			bind(&q, mw, mr, t.addr, WIN_LEN, RW);
			t.rkey = mw->rkey;
			vt_send(&t, sizeof(t));
			usleep(1000 + vt_rnd(3000));
			if (dealloc)
				free_mw(mw);
			else if (type == 2)
				local_inv(&q, mw->rkey, OK);
			else
				bind(&q, mw, mr, t.addr, 0, 0);
			memset(area, CANARY, AREA);
			vt_poll(NULL, q.rcq, &wc, 20);
			if (!vt_all(area, AREA, CANARY, &at))
				vt_fail("byte %zu was written after the end", at);
			if (!dealloc)
				free_mw(mw);
		}
		vt_sync("ended");
		vt_qp_destroy(&q);
	}
	vt_verdict("type %d, %s while the peer writes", type, dealloc ?
		   "deallocated" : type == 2 ? "invalidated" : "unbound");
}

static void both(void)
{
	struct ibv_mw *mw;
	size_t i;

	vt_open(&dev);
	mw = ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2);
	if (!mw) {
		if (errno != EOPNOTSUPP)
			vt_die("alloc_mw: %m");
		if (vt_side == VT_A)
			vt_skip("not supported", "memory windows");
		vt_close(&dev);
		return;
	}
	free_mw(mw);
	if (!(dev.attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW) ||
	    !(dev.attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) ||
	    dev.attr.max_mw <= 0)
		vt_fail("windows, but no capability says so");
	pd2 = ibv_alloc_pd(dev.ctx);
	area = vt_alloc(AREA);
	want = vt_alloc(AREA);
	lbuf = vt_alloc(AREA);
	mr = reg(dev.pd, MR_ALL);
	lmr = vt_reg(&dev, lbuf, AREA, IBV_ACCESS_LOCAL_WRITE);
	high_mr = ibv_reg_mr_iova(dev.pd, area + MR_AT, REGION, HIGH, MR_ALL);
	if (!pd2 || !high_mr)
		vt_die("PD or MR: %m");

	for (i = 0; i < ARRAY_SIZE(acases); i++)
		run_access(&acases[i]);
	if (vt_side == VT_A) {
		for (i = 0; i < ARRAY_SIZE(bcases); i++)
			run_bind(&bcases[i]);
		if (!vt.only) {
			holds_mr();
			inv_type1();
			in_order();
		}
	}
	vt_sync("alone");
	if (!vt.only) {
		ends_busy(1, false);
		ends_busy(1, true);
		ends_busy(2, false);
		ends_busy(2, true);
	}
	if (ibv_dereg_mr(mr) || ibv_dereg_mr(high_mr) || ibv_dereg_mr(lmr) ||
	    ibv_dealloc_pd(pd2))
		vt_fail("objects stay: %m");
	vt_close(&dev);
	vt_verdict("objects are gone again");
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "", NULL, both, both);
}
