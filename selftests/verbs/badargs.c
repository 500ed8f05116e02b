// SPDX-License-Identifier: GPL-2.0
/*
 * Wrong keys, bounds, access, states and limits: each must give the error that
 * ibverbs documents, leave all other memory alone, and flush what follows.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vt.h"

#define REGION	8192
#define AREA	(4 * REGION)		/* the region is the second quarter */

static struct vt_dev dev;
static struct ibv_pd *pd2;
static uint8_t *area, *lbuf;
static bool want_events;		/* -E: the device reports QP errors */
static bool forged_inv;		/* the way changes packets: 41-forge.sh */

/* Kinds of memory regions, on both ends */
enum mr_kind {
	M_RW, M_RO, M_WO, M_LOCAL, M_PD2, M_GONE, M_HIGH, M_NOLW,
	N_MR,
	M_KEY_BYTE, M_KEY_INDEX, M_ZERO, M_ONES,	/* keys of none */
};

#define RW (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |	\
	    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
/* As high as it goes without its end at 2^64 */
#define HIGH_IOVA	0xffffffffffffd000ULL

static struct ibv_mr *mrs[N_MR];
static struct { uint64_t base; uint32_t key[N_MR]; } me, peer;

struct rcase {
	const char *name;
	enum ibv_wr_opcode op;
	enum mr_kind mr;
	int64_t off;			/* from the region's base */
	uint32_t len;
	uint32_t want;			/* bits of enum ibv_wc_status */
};

#define OK	(1u << IBV_WC_SUCCESS)
#define ACC	(1u << IBV_WC_REM_ACCESS_ERR)
#define INV	(1u << IBV_WC_REM_INV_REQ_ERR)
#define PROT	(1u << IBV_WC_LOC_PROT_ERR)
#define LEN	(1u << IBV_WC_LOC_LEN_ERR)
#define QPOP	(1u << IBV_WC_LOC_QP_OP_ERR)
#define REMOP	(1u << IBV_WC_REM_OP_ERR)

#define WRITE	IBV_WR_RDMA_WRITE
#define WIMM	IBV_WR_RDMA_WRITE_WITH_IMM
#define READ	IBV_WR_RDMA_READ
#define CAS	IBV_WR_ATOMIC_CMP_AND_SWP
#define ADD	IBV_WR_ATOMIC_FETCH_AND_ADD
#define SEND	IBV_WR_SEND

/* Remote side wrong: @mr and @off are the target's */
static const struct rcase remote_cases[] = {
	/* What is right at the edges, so that the rest means something */
	{ "write to the first byte", WRITE, M_RW, 0, 1, OK },
	{ "write to the last byte", WRITE, M_RW, REGION - 1, 1, OK },
	{ "write to all", WRITE, M_RW, 0, REGION, OK },
	{ "write to all of a region just below 2^64", WRITE, M_HIGH, 0, REGION, OK },
	{ "read of all", READ, M_RW, 0, REGION, OK },
	{ "read of all of a region just below 2^64", READ, M_HIGH, 0, REGION, OK },
	{ "fetch_add on the last word", ADD, M_RW, REGION - 8, 8, OK },
	{ "write, no bytes, key of nothing", WRITE, M_ZERO, 0, 0, OK },
	{ "read, no bytes, key of nothing", READ, M_ONES, 0, 0, OK },
	{ "read of a read-only region", READ, M_RO, 0, 64, OK },
	{ "write to a write-only region", WRITE, M_WO, 0, 64, OK },

	{ "write, wrong byte in the key", WRITE, M_KEY_BYTE, 0, 64, ACC },
	{ "write, wrong index in the key", WRITE, M_KEY_INDEX, 0, 64, ACC },
	{ "write, key 0", WRITE, M_ZERO, 0, 64, ACC },
	{ "write, key ~0", WRITE, M_ONES, 0, 64, ACC },
	{ "write, one byte in front", WRITE, M_RW, -1, 1, ACC },
	{ "write across the start", WRITE, M_RW, -1, 2, ACC },
	{ "write, one byte behind", WRITE, M_RW, REGION, 1, ACC },
	{ "write across the end", WRITE, M_RW, REGION - 1, 2, ACC },
	{ "long write across the end", WRITE, M_RW, 4096, 2 * REGION, ACC },
	{ "write, 2^32 above", WRITE, M_RW, 1LL << 32, 8, ACC },
	{ "write, 2^32 below", WRITE, M_RW, -(1LL << 32), 8, ACC },
	{ "write, 2^63 away", WRITE, M_RW, INT64_MIN, 8, ACC },
	{ "write, wraps at 2^64", WRITE, M_HIGH, 0x2fff, 2, ACC },
	{ "long write, wraps at 2^64", WRITE, M_HIGH, 0, 2 * REGION, ACC },
	{ "write behind a region just below 2^64", WRITE, M_HIGH, REGION, 1, ACC },
	{ "write to a read-only region", WRITE, M_RO, 0, 64, ACC },
	{ "write to a local region", WRITE, M_LOCAL, 0, 64, ACC },
	{ "write to a region of another PD", WRITE, M_PD2, 0, 64, ACC },
	{ "write to a region that is gone", WRITE, M_GONE, 0, 64, ACC },
	{ "write_imm, wrong byte in the key", WIMM, M_KEY_BYTE, 0, 64, ACC },
	{ "write_imm across the end", WIMM, M_RW, REGION - 1, 2, ACC },

	{ "read, wrong byte in the key", READ, M_KEY_BYTE, 0, 64, ACC },
	{ "read, wrong index in the key", READ, M_KEY_INDEX, 0, 64, ACC },
	{ "read, one byte in front", READ, M_RW, -1, 1, ACC },
	{ "read across the end", READ, M_RW, REGION - 1, 2, ACC },
	{ "long read across the end", READ, M_RW, 0, 2 * REGION, ACC },
	{ "read, wraps at 2^64", READ, M_HIGH, 0x2fff, 2, ACC },
	{ "read of a write-only region", READ, M_WO, 0, 64, ACC },
	{ "read of a local region", READ, M_LOCAL, 0, 64, ACC },
	{ "read of a region of another PD", READ, M_PD2, 0, 64, ACC },
	{ "read of a region that is gone", READ, M_GONE, 0, 64, ACC },

	{ "fetch_add, wrong byte in the key", ADD, M_KEY_BYTE, 0, 8, ACC },
	{ "cmp_swap, wrong index in the key", CAS, M_KEY_INDEX, 0, 8, ACC },
	{ "fetch_add behind the end", ADD, M_RW, REGION, 8, ACC },
	{ "cmp_swap in front", CAS, M_RW, -8, 8, ACC },
	{ "fetch_add, not aligned", ADD, M_RW, 4, 8, INV | QPOP },
	{ "cmp_swap, not aligned", CAS, M_RW, 1, 8, INV | QPOP },
	{ "fetch_add on a write-only region", ADD, M_WO, 0, 8, ACC },
	{ "cmp_swap on a read-only region", CAS, M_RO, 0, 8, ACC },
	{ "fetch_add on a region of another PD", ADD, M_PD2, 0, 8, ACC },
	{ "cmp_swap on a region that is gone", CAS, M_GONE, 0, 8, ACC },
};

/* Local side wrong: @mr and @off are the source's or the result's */
static const struct rcase local_cases[] = {
	{ "send of all", SEND, M_RW, 0, REGION, OK },
	{ "send from a local region", SEND, M_LOCAL, 0, 64, OK },
	{ "send from a region that may not be written", SEND, M_NOLW, 0, 64, OK },
	{ "send, no bytes, key of nothing", SEND, M_ZERO, 0, 0, OK },
	{ "send, wrong byte in the key", SEND, M_KEY_BYTE, 0, 64, PROT },
	{ "send, wrong index in the key", SEND, M_KEY_INDEX, 0, 64, PROT },
	{ "send, one byte in front", SEND, M_RW, -1, 1, PROT },
	{ "send across the end", SEND, M_RW, REGION - 1, 2, PROT },
	{ "send, wraps at 2^64", SEND, M_HIGH, 0x2fff, 2, PROT },
	{ "send, 2^32 above", SEND, M_RW, 1LL << 32, 8, PROT },
	{ "send from another PD", SEND, M_PD2, 0, 64, PROT },
	{ "send from a region that is gone", SEND, M_GONE, 0, 64, PROT },
	{ "write, wrong byte in the key", WRITE, M_KEY_BYTE, 0, 64, PROT },
	{ "write across the end", WRITE, M_RW, REGION - 1, 2, PROT },
	{ "write from another PD", WRITE, M_PD2, 0, 64, PROT },
	{ "read, wrong byte in the key", READ, M_KEY_BYTE, 0, 64, PROT },
	{ "read across the end", READ, M_RW, REGION - 1, 2, PROT },
	{ "long read across the end", READ, M_RW, 4096, REGION, PROT },
	{ "read into another PD", READ, M_PD2, 0, 64, PROT },
	{ "read into a region that may not be written", READ, M_NOLW, 0, 64, PROT },
	{ "read into a region that is gone", READ, M_GONE, 0, 64, PROT },
	{ "fetch_add, wrong key of the result", ADD, M_KEY_BYTE, 0, 8, PROT },
	{ "cmp_swap, result in another PD", CAS, M_PD2, 0, 8, PROT },
	{ "fetch_add, result not writable", ADD, M_NOLW, 0, 8, PROT },
	{ "fetch_add, room for 4 bytes", ADD, M_RW, 0, 4, PROT | LEN | QPOP },
};

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == CAS || op == ADD;
}

static uint32_t key_of(const uint32_t *key, enum mr_kind k)
{
	switch (k) {
	case M_KEY_BYTE: return key[M_RW] ^ 1;
	case M_KEY_INDEX: return key[M_RW] ^ 0x7f00;
	case M_ZERO: return 0;
	case M_ONES: return ~0u;
	default: return key[k];
	}
}

static uint64_t addr_of(uint64_t base, const struct rcase *c)
{
	return (c->mr == M_HIGH ? HIGH_IOVA : base + REGION) + c->off;
}

static void make_regions(bool remote)
{
	static const int access[N_MR] = {
		[M_RW] = RW,
		[M_RO] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
		[M_WO] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		[M_LOCAL] = IBV_ACCESS_LOCAL_WRITE,
		[M_PD2] = RW,
		[M_GONE] = RW,
		[M_NOLW] = 0,
	};
	int i;

	pd2 = ibv_alloc_pd(dev.ctx);
	if (!pd2)
		vt_die("alloc_pd: %m");
	area = vt_alloc(AREA);
	lbuf = vt_alloc(4 * AREA);
	for (i = 0; i < N_MR; i++) {
		if (i == M_HIGH)
			mrs[i] = ibv_reg_mr_iova(dev.pd, area + REGION, REGION,
						 HIGH_IOVA, RW);
		else
			mrs[i] = ibv_reg_mr(i == M_PD2 ? pd2 : dev.pd,
					    area + REGION, REGION, access[i]);
		if (!mrs[i])
			vt_die("reg_mr %d: %m", i);
		me.key[i] = remote ? mrs[i]->rkey : mrs[i]->lkey;
	}
	if (ibv_dereg_mr(mrs[M_GONE]))
		vt_die("dereg_mr: %m");
	mrs[M_GONE] = NULL;
	me.base = (uintptr_t)area;
}

static void free_regions(void)
{
	int i, rc;

	for (i = 0; i < N_MR; i++) {
		rc = mrs[i] ? ibv_dereg_mr(mrs[i]) : 0;
		if (rc)
			vt_fail("dereg_mr %d: %s", i, strerror(rc));
	}
	rc = ibv_dealloc_pd(pd2);
	if (rc)
		vt_fail("dealloc_pd: %s", strerror(rc));
	munmap(area, AREA);
	munmap(lbuf, 4 * AREA);
}

static int post_one(struct vt_qp *q, enum ibv_wr_opcode op, uint64_t wr_id,
		    uint64_t laddr, uint32_t lkey, uint32_t len,
		    uint64_t raddr, uint32_t rkey)
{
	struct ibv_sge sge = { .addr = laddr, .length = len, .lkey = lkey };
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;

	if (is_atomic(op)) {
		wr.wr.atomic.remote_addr = raddr;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.swap = 2;
	} else {
		wr.wr.rdma.remote_addr = raddr;
		wr.wr.rdma.rkey = rkey;
	}
	return ibv_post_send(q->qp, &wr, &bad);
}

static int recv_one(struct vt_qp *q, uint64_t wr_id, void *buf, uint32_t len,
		    uint32_t lkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = len, .lkey = lkey };
	struct ibv_recv_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = len ? 1 : 0,
	}, *bad;

	return ibv_post_recv(q->qp, &wr, &bad);
}

static void flushed(struct vt_qp *q, struct ibv_cq *cq, uint64_t first, int n,
		    const char *what)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < n; i++) {
		if (!vt_expect(q, cq, &wc, IBV_WC_WR_FLUSH_ERR, what))
			return;
		if (wc.wr_id != first + i)
			vt_fail("%s: wr_id %llu, not %llu", what,
				(unsigned long long)wc.wr_id,
				(unsigned long long)first + i);
	}
}

/* The case on A: one bad request, two more behind it, one after the error */
static bool a_case(struct vt_qp *q, const struct rcase *c, bool local,
		   struct ibv_mr *lmr)
{
	uint64_t laddr, raddr;
	uint32_t lkey, rkey, len = c->len;
	struct ibv_wc wc;
	int rc;

	if (local) {
		laddr = addr_of(me.base, c);
		lkey = key_of(me.key, c->mr);
		raddr = peer.base + REGION;
		rkey = peer.key[M_RW];
	} else {
		laddr = (uintptr_t)lbuf;
		lkey = lmr->lkey;
		raddr = addr_of(peer.base, c);
		rkey = key_of(peer.key, c->mr);
	}
	rc = post_one(q, c->op, 10, laddr, lkey, len, raddr, rkey);
	if (rc) {
		/* The library may look first */
		if (!(c->want & QPOP) || rc != EINVAL)
			vt_fail("post_send: %s", strerror(rc));
		return false;
	}
	if (!(c->want & OK)) {
		rc = post_one(q, WRITE, 11, 0, 0, 0, 0, 0);
		if (!rc)
			rc = post_one(q, WRITE, 12, 0, 0, 0, 0, 0);
		if (rc)
			vt_fail("post_send behind it: %s", strerror(rc));
	}
	if (!vt_poll(q, q->scq, &wc, -1)) {
		vt_fail("no completion");
		return true;
	}
	if (!(c->want & 1u << wc.status))
		vt_fail("completed with '%s'", ibv_wc_status_str(wc.status));
	if (wc.wr_id != 10)
		vt_fail("wr_id %llu, not 10", (unsigned long long)wc.wr_id);
	if (wc.qp_num != q->qp->qp_num)
		vt_fail("wrong qp_num");
	if (c->want & OK) {
		vt_expect_none(q->scq, 0, "after it");
		return true;
	}
	flushed(q, q->scq, 11, 2, "behind it");
	if (vt_qp_wait_state(q->qp, IBV_QPS_ERR, 2000) != IBV_QPS_ERR)
		vt_fail("QP is not in ERR but %d", vt_qp_state(q->qp));
	rc = post_one(q, WRITE, 13, 0, 0, 0, 0, 0);
	if (rc)
		vt_fail("post_send in ERR: %s", strerror(rc));
	else
		flushed(q, q->scq, 13, 1, "posted in ERR");
	flushed(q, q->rcq, 100, 2, "receives");
	vt_expect_none(q->scq, 1, "after the flush");
	return true;
}

static void check_area(const struct rcase *c, bool local)
{
	size_t lo = REGION, hi = REGION, w;

	/* What may have changed */
	if (c->want & OK && (c->op == WRITE || c->op == WIMM || is_atomic(c->op))) {
		lo = REGION + (local ? 0 : c->off);
		hi = lo + c->len;
	}
	/* It was done, but its result has no place: once at most */
	if (local && is_atomic(c->op)) {
		uint64_t was, now;

		memset(&was, CANARY, 8);
		memcpy(&now, area + REGION, 8);
		if (now == was + 1)
			hi = lo + 8;
	}
	if (!vt_all(area, lo, CANARY, &w) ||
	    !vt_all(area + hi, AREA - hi, CANARY, &w))
		vt_fail("memory was written (at %zu) that must not be", w);
	if (c->op != WRITE || !(c->want & OK))
		return;
	if (!vt_same(area + lo, hi - lo, 3, 0, &w))
		vt_fail("the data is not there (at %zu)", w);
}

static void b_case(struct vt_qp *q, const struct rcase *c, bool local,
		   bool posted)
{
	bool remote_error = !local && posted && !(c->want & OK);
	enum ibv_qp_state st;
	struct ibv_wc wc;

	if (remote_error) {
		st = vt_qp_wait_state(q->qp, IBV_QPS_ERR, 2000);
		if (st != IBV_QPS_ERR)
			vt_fail("QP is not in ERR but %d", st);
		flushed(q, q->rcq, 100, 2, "receives");
		if (want_events &&
		    !vt_event(&dev, c->want & INV ? IBV_EVENT_QP_REQ_ERR :
			      IBV_EVENT_QP_ACCESS_ERR, 2000))
			vt_fail("no async event");
	} else {
		st = vt_qp_state(q->qp);
		if (st != IBV_QPS_RTS)
			vt_fail("QP is not in RTS any more but %d", st);
		if (c->want & OK && (c->op == SEND || c->op == WIMM))
			vt_expect(q, q->rcq, &wc, IBV_WC_SUCCESS, "receive");
	}
	vt_expect_none(q->rcq, 0, "receives");
	check_area(c, local);
}

/* Both ends, each with two receives of a region */
static void connect_with_receives(struct vt_qp *q, const struct vt_qp_attr *at,
				  struct ibv_mr *lmr)
{
	int i, rc;

	vt_qp_create(q, &dev, at);
	vt_qp_connect(q);
	for (i = 0; i < 2; i++) {
		rc = recv_one(q, 100 + i, lbuf + AREA, REGION, lmr->lkey);
		if (rc)
			vt_fail("post_recv: %s", strerror(rc));
	}
	vt_sync("ready");
}

static void run_case(const struct rcase *c, bool local, struct ibv_mr *lmr)
{
	struct vt_qp_attr at = vt_qp_default;
	struct vt_qp q;

	if (!vt_want(c->name))
		return;
	at.rnr_retry = 1;
	memset(area, CANARY, AREA);
	vt_fill(lbuf, 4 * AREA, 3, 0);
	if (local && vt_side == VT_A)
		vt_fill(area, AREA, 3, -(size_t)0);
	connect_with_receives(&q, &at, lmr);
	if (vt_side == VT_A)
		vt_swap(a_case(&q, c, local, lmr));
	else
		b_case(&q, c, local, vt_swap(0));
	vt_sync("checked");
	vt_qp_destroy(&q);
	vt_verdict("%s%s", local ? "local: " : "", c->name);
}

/* ---- receives ---- */

struct recv_case {
	const char *name;
	uint32_t send_len, recv_len;
	enum mr_kind mr;
	int64_t off;
	uint32_t a_want, b_want;
};

static const struct recv_case recv_cases[] = {
	{ "receive of the exact length", 100, 100, M_RW, 0, OK, OK },
	{ "receive at the end of its region", 100, 100, M_RW, REGION - 100, OK, OK },
	{ "receive of no bytes without SGE", 0, 0, M_RW, 0, OK, OK },
	{ "receive one byte short", 100, 99, M_RW, 0, INV, LEN },
	{ "receive without SGE of one byte", 1, 0, M_RW, 0, INV, LEN },
	{ "long message into a short receive", 7000, 5000, M_RW, 0, INV, LEN },
	{ "receive, wrong key", 100, 100, M_KEY_BYTE, 0, REMOP, PROT },
	{ "receive, other PD", 100, 100, M_PD2, 0, REMOP, PROT },
	{ "receive, region may not be written", 100, 100, M_NOLW, 0, REMOP, PROT },
	{ "receive, region is gone", 100, 100, M_GONE, 0, REMOP, PROT },
	{ "receive across the end", 100, 100, M_RW, REGION - 99, REMOP, PROT },
};

static void run_recv_case(const struct recv_case *c, struct ibv_mr *lmr)
{
	struct vt_qp_attr at = vt_qp_default;
	struct vt_qp q;
	struct ibv_wc wc;
	uint32_t want = vt_side == VT_A ? c->a_want : c->b_want;
	uint32_t keys[N_MR];
	size_t w;
	int i, rc;

	if (!vt_want(c->name))
		return;
	memset(area, CANARY, AREA);
	vt_fill(lbuf, AREA, 5, 0);
	vt_qp_create(&q, &dev, &at);
	vt_qp_connect(&q);
	if (vt_side == VT_B) {
		for (i = 0; i < N_MR; i++)
			keys[i] = mrs[i] ? mrs[i]->lkey : me.key[i];
		rc = recv_one(&q, 1, area + REGION + c->off, c->recv_len,
			      key_of(keys, c->mr));
		if (!rc)
			rc = recv_one(&q, 2, area, 64, mrs[M_RW]->lkey);
		if (rc)
			vt_fail("post_recv: %s", strerror(rc));
	}
	vt_sync("ready");
	if (vt_side == VT_A) {
		rc = post_one(&q, SEND, 1, (uintptr_t)lbuf, lmr->lkey,
			      c->send_len, 0, 0);
		if (rc)
			vt_fail("post_send: %s", strerror(rc));
	}
	if (!vt_poll(&q, vt_side == VT_A ? q.scq : q.rcq, &wc, -1))
		vt_fail("no completion");
	else if (!(want & 1u << wc.status))
		vt_fail("completed with '%s'", ibv_wc_status_str(wc.status));
	else if (wc.wr_id != 1)
		vt_fail("wr_id %llu", (unsigned long long)wc.wr_id);
	if (!(want & OK)) {
		if (vt_qp_wait_state(q.qp, IBV_QPS_ERR, 2000) != IBV_QPS_ERR)
			vt_fail("QP is not in ERR");
		if (vt_side == VT_B)
			flushed(&q, q.rcq, 2, 1, "next receive");
	}
	if (vt_side == VT_B) {
		uint8_t *p = area + REGION + c->off;
		uint32_t n = c->b_want & OK ? c->send_len :
			     c->b_want & LEN ? c->recv_len : 0;

		if (c->b_want & OK && !vt_same(p, n, 5, 0, &w))
			vt_fail("byte %zu is wrong", w);
		if (!vt_all(area, p - area, CANARY, &w) ||
		    !vt_all(p + n, area + AREA - p - n, CANARY, &w))
			vt_fail("wrote outside of the receive");
	}
	vt_sync("done");
	vt_qp_destroy(&q);
	vt_verdict("%s", c->name);
}

/* ---- UC: nobody is told, but nobody is told a lie ---- */

static const struct rcase uc_cases[] = {
	{ "write_imm to all", WIMM, M_RW, 0, REGION, OK },
	{ "write_imm, no bytes, key of nothing", WIMM, M_ZERO, 0, 0, OK },
	{ "write_imm, wrong byte in the key", WIMM, M_KEY_BYTE, 0, 64 },
	{ "long write_imm, wrong byte in the key", WIMM, M_KEY_BYTE, 0, REGION },
	{ "write_imm across the end", WIMM, M_RW, REGION - 1, 2 },
	{ "long write_imm across the end", WIMM, M_RW, 0, REGION + 1 },
	{ "long write_imm across the start", WIMM, M_RW, -1, REGION },
	{ "write_imm to a read-only region", WIMM, M_RO, 0, 4096 },
	{ "write, wrong byte in the key", WRITE, M_KEY_BYTE, 0, 64 },
	{ "long write across the end", WRITE, M_RW, 0, REGION + 1 },
};

/* Up to the Send that comes last. A Write that was dropped may use a receive. */
static void uc_receives(struct vt_qp *q, const struct rcase *c)
{
	bool imm = false;
	struct ibv_wc wc;

	while (vt_poll(q, q->rcq, &wc, -1)) {
		if (!wc.status && wc.opcode == IBV_WC_RECV) {
			if (imm != (c->op == WIMM && c->want & OK))
				vt_fail("the write_imm %s", imm ?
					"succeeded" : "did not come");
			return;
		}
		if (!wc.status && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
			imm = true;
		else if (wc.status != IBV_WC_LOC_ACCESS_ERR || c->want & OK)
			vt_fail("receive: '%s'", ibv_wc_status_str(wc.status));
	}
	vt_fail("what follows does not come");
}

static void run_uc_case(const struct rcase *c, struct ibv_mr *lmr)
{
	struct vt_qp_attr at = vt_qp_default;
	struct ibv_wc wc;
	struct vt_qp q;
	int i, rc;

	if (!vt_want(c->name))
		return;
	at.uc = true;
	memset(area, CANARY, AREA);
	vt_fill(lbuf, 4 * AREA, 3, 0);
	connect_with_receives(&q, &at, lmr);
	if (vt_side == VT_A) {
		rc = post_one(&q, c->op, 10, (uintptr_t)lbuf, lmr->lkey, c->len,
			      addr_of(peer.base, c), key_of(peer.key, c->mr));
		if (!rc)
			rc = post_one(&q, SEND, 11, (uintptr_t)lbuf, lmr->lkey,
				      64, 0, 0);
		if (rc)
			vt_fail("post_send: %s", strerror(rc));
		for (i = 0; i < 2; i++)
			vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "send");
	} else {
		uc_receives(&q, c);
		check_area(c, false);
	}
	vt_sync("checked");
	if (vt_qp_state(q.qp) != IBV_QPS_RTS)
		vt_fail("QP is not in RTS any more but %d", vt_qp_state(q.qp));
	vt_qp_destroy(&q);
	vt_verdict("UC: %s", c->name);
}

/* One of two SGEs has a wrong key: a message with a hole */
static void uc_hole(struct ibv_mr *lmr)
{
	struct vt_qp_attr at = vt_qp_default;
	struct ibv_recv_wr wr = { .wr_id = 1, .num_sge = 2 }, *bad;
	struct ibv_sge sge[2];
	struct ibv_wc wc;
	struct vt_qp q;
	int i, rc;

	for (i = 0; i < 2; i++) {
		at.uc = true;
		at.recv_sge = 2;
		vt_qp_create(&q, &dev, &at);
		vt_qp_connect(&q);
		sge[0] = (struct ibv_sge){ (uintptr_t)lbuf, 4096, lmr->lkey };
		sge[1] = (struct ibv_sge){ (uintptr_t)lbuf + 4096, 4096, lmr->lkey };
		sge[i].lkey ^= 1;
		wr.sg_list = sge;
		rc = vt_side == VT_B ? ibv_post_recv(q.qp, &wr, &bad) : 0;
		if (rc)
			vt_fail("post_recv: %s", strerror(rc));
		vt_sync("ready");
		if (vt_side == VT_A) {
			rc = post_one(&q, SEND, 1, (uintptr_t)lbuf, lmr->lkey,
				      8000, 0, 0);
			if (rc)
				vt_fail("post_send: %s", strerror(rc));
		} else {
			vt_expect(&q, q.rcq, &wc, IBV_WC_LOC_PROT_ERR, "receive");
		}
		vt_sync("done");
		vt_qp_destroy(&q);
		vt_verdict("UC: receive, wrong key of SGE %d", i);
	}
}

/* UC has none: its sender is told */
static void uc_send_inv(struct ibv_mr *lmr)
{
	struct vt_qp_attr at = vt_qp_default;
	struct ibv_wc wc;
	struct vt_qp q;
	int rc;

	at.uc = true;
	connect_with_receives(&q, &at, lmr);
	if (vt_side == VT_A) {
		rc = post_one(&q, IBV_WR_SEND_WITH_INV, 1, (uintptr_t)lbuf,
			      lmr->lkey, 64, 0, 0);
		if (rc && rc != EINVAL)
			vt_fail("post_send: %s", strerror(rc));
		else if (!rc)
			vt_expect(&q, q.scq, &wc, IBV_WC_LOC_QP_OP_ERR, "send");
	}
	vt_sync("sent");
	if (vt_side == VT_B) {
		vt_expect_none(q.rcq, 5, "a receive");
		if (vt_qp_state(q.qp) != IBV_QPS_RTS)
			vt_fail("QP is not in RTS any more but %d",
				vt_qp_state(q.qp));
	}
	vt_sync("checked");
	vt_qp_destroy(&q);
	vt_verdict("UC: send_inv is refused where it is posted");
}

/* Somebody on the way makes Sends with invalidation of those with immediate */
static void uc_forged_inv(struct ibv_mr *lmr)
{
	struct vt_qp_attr at = vt_qp_default;
	struct ibv_wc wc;
	struct vt_qp q;
	int i, rc;

	at.uc = true;
	connect_with_receives(&q, &at, lmr);
	if (vt_side == VT_A) {
		rc = post_one(&q, IBV_WR_SEND_WITH_IMM, 1, (uintptr_t)lbuf,
			      lmr->lkey, 64, 0, 0);
		if (!rc)
			rc = post_one(&q, SEND, 2, (uintptr_t)lbuf, lmr->lkey,
				      64, 0, 0);
		if (rc)
			vt_fail("post_send: %s", strerror(rc));
		for (i = 0; i < 2; i++)
			vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "send");
	} else {
		vt_expect(&q, q.rcq, &wc, IBV_WC_LOC_ACCESS_ERR, "send_inv");
		vt_expect(&q, q.rcq, &wc, IBV_WC_SUCCESS, "what follows");
	}
	vt_sync("checked");
	if (vt_qp_state(q.qp) != IBV_QPS_RTS)
		vt_fail("QP is not in RTS any more but %d", vt_qp_state(q.qp));
	vt_qp_destroy(&q);
	vt_verdict("UC: send_inv of a strange peer is dropped");
}

/* The responder's QP does not allow it, whatever the key says */
static void qp_access(struct ibv_mr *lmr)
{
	static const struct { const char *name; enum ibv_wr_opcode op; int off; } t[] = {
		{ "write, QP without remote write", WRITE, IBV_ACCESS_REMOTE_WRITE },
		{ "read, QP without remote read", READ, IBV_ACCESS_REMOTE_READ },
		{ "fetch_add, QP without remote atomic", ADD, IBV_ACCESS_REMOTE_ATOMIC },
	};
	struct vt_qp_attr at;
	struct ibv_wc wc;
	struct vt_qp q;
	size_t i, w;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		at = vt_qp_default;
		at.access &= ~t[i].off;
		memset(area, CANARY, AREA);
		vt_qp_create(&q, &dev, &at);
		vt_qp_connect(&q);
		if (vt_side == VT_A) {
			if (post_one(&q, t[i].op, 1, (uintptr_t)lbuf, lmr->lkey,
				     8, peer.base + REGION, peer.key[M_RW]))
				vt_fail("post_send");
			else if (!vt_poll(&q, q.scq, &wc, -1))
				vt_fail("no completion");
			else if (!((INV | ACC) & 1u << wc.status))
				vt_fail("completed with '%s'",
					ibv_wc_status_str(wc.status));
		}
		vt_sync("done");
		if (!vt_all(area, AREA, CANARY, &w))
			vt_fail("memory was written");
		vt_qp_destroy(&q);
		vt_verdict("%s", t[i].name);
	}
}

/* After an error everything flushes, for ever (100 more requests) */
static void flush_for_ever(struct ibv_mr *lmr)
{
	struct ibv_wc wc;
	struct vt_qp q;
	int i, k;

	vt_qp_create(&q, &dev, NULL);
	vt_qp_connect(&q);
	if (vt_side == VT_A) {
		for (i = 0; i < 30; i++)
			if (recv_one(&q, i, lbuf, 64, lmr->lkey))
				vt_fail("post_recv");
		if (post_one(&q, WRITE, 0, (uintptr_t)lbuf, lmr->lkey, 8,
			     peer.base, 0x1234))
			vt_fail("post_send");
		vt_expect(&q, q.scq, &wc, IBV_WC_REM_ACCESS_ERR, "first");
		for (i = 1; i <= 100 && !vt_failed(); i++) {
			k = post_one(&q, WRITE, i, (uintptr_t)lbuf, lmr->lkey, 8,
				     peer.base + REGION, peer.key[M_RW]);
			if (k)
				vt_fail("post_send %d: %s", i, strerror(k));
			flushed(&q, q.scq, i, 1, "send");
		}
		flushed(&q, q.rcq, 0, 30, "receive");
		for (i = 0; i < 10; i++)
			if (recv_one(&q, 50 + i, lbuf, 64, lmr->lkey))
				vt_fail("post_recv in ERR");
		/* Receives ring no doorbell of their own */
		if (post_one(&q, WRITE, 101, (uintptr_t)lbuf, lmr->lkey, 8,
			     peer.base + REGION, peer.key[M_RW]))
			vt_fail("post_send in ERR");
		flushed(&q, q.scq, 101, 1, "send");
		flushed(&q, q.rcq, 50, 10, "receive posted in ERR");
		vt_expect_none(q.rcq, 1, "receives");
		vt_expect_none(q.scq, 0, "sends");
	}
	vt_sync("done");
	vt_qp_destroy(&q);
	vt_verdict("after an error 101 sends and 40 receives flush, once each, in order");
}

/* Reset makes it usable again */
static void reuse(struct ibv_mr *lmr)
{
	struct ibv_wc wc;
	struct vt_qp q;
	int round;

	vt_qp_create(&q, &dev, NULL);
	for (round = 0; round < 3; round++) {
		vt_qp_connect(&q);
		if (vt_side == VT_A) {
			if (post_one(&q, WRITE, 0, (uintptr_t)lbuf, lmr->lkey, 8,
				     peer.base + REGION, peer.key[M_RW]))
				vt_fail("post_send");
			vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "write");
			if (post_one(&q, WRITE, 0, (uintptr_t)lbuf, lmr->lkey, 8,
				     peer.base, 0x1234))
				vt_fail("post_send");
			vt_expect(&q, q.scq, &wc, IBV_WC_REM_ACCESS_ERR, "bad write");
		}
		vt_sync("error");
		if (vt_qp_to(q.qp, IBV_QPS_RESET))
			vt_fail("to RESET: %m");
		if (vt_qp_state(q.qp) != IBV_QPS_RESET)
			vt_fail("not in RESET");
		q.psn = vt_rand() & 0xffffff;
		vt_sync("reset");
	}
	vt_qp_destroy(&q);
	vt_verdict("a QP in error works again after RESET");
}

/* ---- calls that must fail: end A alone ---- */

#define BADCALL(name, expr, ...)					\
	do {								\
		static const int want[] = { __VA_ARGS__ };		\
		const char *name_ = (name);				\
		int rc_, i_, hit_ = 0;					\
									\
		errno = 0;						\
		rc_ = (expr);						\
		for (i_ = 0; i_ < (int)ARRAY_SIZE(want); i_++)		\
			hit_ |= rc_ == want[i_];			\
		if (!hit_)						\
			vt_note("%s: %s", name_, rc_ ? strerror(rc_) :	\
				"success");				\
		vt_ok(hit_, "%s", name_);				\
	} while (0)

static int reg(void *a, size_t len, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(dev.pd, a, len, access);

	if (!mr)
		return errno;
	ibv_dereg_mr(mr);
	return 0;
}

static int cq(int n, int vec)
{
	struct ibv_cq *c = ibv_create_cq(dev.ctx, n, NULL, NULL, vec);

	if (!c)
		return errno;
	ibv_destroy_cq(c);
	return 0;
}

static struct ibv_cq *some_cq;

static int qp(enum ibv_qp_type type, uint32_t swr, uint32_t rwr, uint32_t ssge,
	      uint32_t rsge, uint32_t inl)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = type, .send_cq = some_cq, .recv_cq = some_cq,
		.cap = { swr, rwr, ssge, rsge, inl },
	};
	struct ibv_qp *p = ibv_create_qp(dev.pd, &ia);

	if (!p)
		return errno;
	ibv_destroy_qp(p);
	return 0;
}

static int srq(uint32_t wr, uint32_t sge)
{
	struct ibv_srq_init_attr ia = { .attr = { wr, sge, 0 } };
	struct ibv_srq *s = ibv_create_srq(dev.pd, &ia);

	if (!s)
		return errno;
	ibv_destroy_srq(s);
	return 0;
}

/* A modification of one attribute out of a good RESET->INIT->RTR->RTS */
static int modify(int step, void (*spoil)(struct ibv_qp_attr *, int *))
{
	static const int mask[] = {
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			IBV_QP_ACCESS_FLAGS,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_MIN_RNR_TIMER,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC,
	};
	static const enum ibv_qp_state to[] = {
		IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
	};
	struct ibv_qp_attr at;
	struct vt_qp q;
	int i, m, rc = 0;

	vt_qp_create(&q, &dev, NULL);
	for (i = 0; i <= step && !rc; i++) {
		memset(&at, 0, sizeof(at));
		at.qp_state = to[i];
		at.port_num = 1;
		at.path_mtu = IBV_MTU_1024;
		at.dest_qp_num = q.qp->qp_num;
		at.max_rd_atomic = 4;
		at.max_dest_rd_atomic = 4;
		at.min_rnr_timer = 12;
		at.timeout = 14;
		at.retry_cnt = 7;
		at.rnr_retry = 7;
		at.ah_attr.is_global = 1;
		at.ah_attr.port_num = 1;
		at.ah_attr.grh.dgid = dev.gid;
		at.ah_attr.grh.sgid_index = dev.gid_index;
		at.ah_attr.grh.hop_limit = 64;
		m = mask[i];
		if (i == step && spoil)
			spoil(&at, &m);
		rc = ibv_modify_qp(q.qp, &at, m);
	}
	vt_qp_destroy(&q);
	return rc;
}

#define SPOIL(fn, stmt)							\
	static void fn(struct ibv_qp_attr *a, int *m)			\
	{								\
		(void)a; (void)m;					\
		stmt;							\
	}
SPOIL(no_spoil, (void)a)
SPOIL(to_rtr, a->qp_state = IBV_QPS_RTR)
SPOIL(to_rts, a->qp_state = IBV_QPS_RTS)
SPOIL(to_sqd, a->qp_state = IBV_QPS_SQD)
SPOIL(port2, a->port_num = 2)
SPOIL(port0, a->port_num = 0)
SPOIL(pkey99, a->pkey_index = 99)
SPOIL(no_access, *m &= ~IBV_QP_ACCESS_FLAGS)
SPOIL(no_av, *m &= ~IBV_QP_AV)
SPOIL(no_dqpn, *m &= ~IBV_QP_DEST_QPN)
SPOIL(sgid250, a->ah_attr.grh.sgid_index = 250)
SPOIL(sgid_none, a->ah_attr.grh.sgid_index = dev.port.gid_tbl_len - 1)
SPOIL(not_global, a->ah_attr.is_global = 0)
SPOIL(ah_port2, a->ah_attr.port_num = 2)
SPOIL(mtu0, a->path_mtu = 0)
SPOIL(mtu9, a->path_mtu = 9)
SPOIL(dest_rd_big, a->max_dest_rd_atomic = 255)
SPOIL(rd_big, a->max_rd_atomic = 255)
SPOIL(no_timeout, *m &= ~IBV_QP_TIMEOUT)
SPOIL(rd_zero, a->max_rd_atomic = 0)
SPOIL(dest_rd_zero, a->max_dest_rd_atomic = 0)
SPOIL(tmo31, a->timeout = 31)
SPOIL(wrong_mask, *m |= IBV_QP_QKEY)

/* As an ordinary user: the device can be used, the memory limit holds */
static int as_user(void)
{
	struct rlimit rl = { 65536, 65536 };
	char line[128];
	int st, pin = -1;
	pid_t p;
	FILE *f;

	p = fork();
	if (!p) {
		struct ibv_mr *mr;
		void *buf = vt_alloc(1 << 20);

		if (setrlimit(RLIMIT_MEMLOCK, &rl) || setgid(65534) ||
		    setuid(65534))
			_exit(10);
		vt_open(&dev);
		mr = ibv_reg_mr(dev.pd, buf, 1 << 20, IBV_ACCESS_LOCAL_WRITE);
		if (mr || errno != ENOMEM)
			_exit(11);
		mr = ibv_reg_mr(dev.pd, buf, 32768, IBV_ACCESS_LOCAL_WRITE);
		if (!mr)
			_exit(12);
		if (ibv_dereg_mr(mr))
			_exit(13);
		f = fopen("/proc/self/status", "r");
		while (f && fgets(line, sizeof(line), f))
			sscanf(line, "VmPin: %d", &pin);
		_exit(pin ? 14 : 0);
	}
	waitpid(p, &st, 0);
	return WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

static int busy_pd(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(dev.ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, lbuf, 4096, 0);
	int rc = ibv_dealloc_pd(pd);

	ibv_dereg_mr(mr);
	if (rc)
		ibv_dealloc_pd(pd);
	return rc;
}

static int busy_cq(void)
{
	struct vt_qp q;
	int rc;

	vt_qp_create(&q, &dev, NULL);
	rc = ibv_destroy_cq(q.scq);
	if (rc)
		vt_qp_destroy(&q);
	return rc;
}

static int busy_srq(void)
{
	struct vt_qp_attr at = vt_qp_default;
	struct vt_qp q;
	int rc;

	at.srq = true;
	vt_qp_create(&q, &dev, &at);
	rc = ibv_destroy_srq(q.srq);
	if (rc)
		vt_qp_destroy(&q);
	return rc;
}

static int resize(int from, int to)
{
	struct ibv_cq *c = ibv_create_cq(dev.ctx, from, NULL, NULL, 0);
	int rc;

	if (!c)
		return -1;
	rc = ibv_resize_cq(c, to);
	if (rc < 0)
		rc = errno;
	if (!rc && c->cqe < to)
		rc = -2;
	ibv_destroy_cq(c);
	return rc;
}

/* Two processes resize one CQ: threads of one are kept apart by the library */
static int resize_race(void)
{
	struct ibv_cq *c = ibv_create_cq(dev.ctx, 10, NULL, NULL, 0);
	int i, st, rc = 0;
	pid_t p;

	if (!c)
		return -1;
	p = fork();
	for (i = 0; i < 300 && !rc; i++) {
		rc = ibv_resize_cq(c, 10 + 40 * (i % 7));
		/* Replaced by the other before the library could map it */
		if (rc == EINVAL)
			rc = 0;
	}
	if (!p)
		_exit(!!rc);
	if (waitpid(p, &st, 0) != p || st)
		rc = -2;
	if (!rc)
		rc = ibv_resize_cq(c, 100);
	ibv_destroy_cq(c);
	return rc;
}

static int srq_limit(uint32_t limit, uint32_t max_wr, int mask)
{
	struct ibv_srq_init_attr ia = { .attr = { 64, 1, 0 } };
	struct ibv_srq_attr at = { .max_wr = max_wr, .srq_limit = limit };
	struct ibv_srq *s = ibv_create_srq(dev.pd, &ia);
	int rc;

	if (!s)
		return -1;
	rc = ibv_modify_srq(s, &at, mask);
	ibv_destroy_srq(s);
	return rc;
}

static int mcast_rc(void)
{
	union ibv_gid g = { .raw = { 0xff, 0x0e, [15] = 1 } };
	struct vt_qp q;
	int rc;

	vt_qp_create(&q, &dev, NULL);
	rc = ibv_attach_mcast(q.qp, &g, 0);
	vt_qp_destroy(&q);
	return rc;
}

static int ah(int port, int sgid, bool global)
{
	struct ibv_ah_attr at = {
		.port_num = port, .is_global = global,
		.grh = { .dgid = dev.gid, .sgid_index = sgid, .hop_limit = 1 },
	};
	struct ibv_ah *h = ibv_create_ah(dev.pd, &at);

	if (!h)
		return errno;
	ibv_destroy_ah(h);
	return 0;
}

static int full_sq(void)
{
	struct vt_qp q;
	int i, rc = 0;

	vt_qp_create(&q, &dev, NULL);
	if (vt_qp_init(&q))
		return -1;
	/* Nothing leaves the queue in INIT: either refused now or when full */
	for (i = 0; i < 70000 && !rc; i++)
		rc = post_one(&q, WRITE, i, 0, 0, 0, 0, 0);
	vt_qp_destroy(&q);
	return rc;
}

static int full_rq(void)
{
	struct vt_qp q;
	int i, rc = 0;

	vt_qp_create(&q, &dev, NULL);
	if (vt_qp_init(&q))
		return -1;
	for (i = 0; i < 70000 && !rc; i++)
		rc = recv_one(&q, i, lbuf, 0, 0);
	vt_qp_destroy(&q);
	return rc && i < 64 ? -i : rc;
}

static int unreachable(void)
{
	uint64_t t0 = vt_now_us();
	struct vt_qp q;
	int rc;

	vt_qp_create(&q, &dev, NULL);
	q.peer_gid = dev.gid;
	q.peer_gid.raw[15] ^= 0x55;	/* nobody has this address */
	q.peer_qpn = 17;
	rc = vt_qp_init(&q);
	if (!rc)
		rc = vt_qp_rtr(&q);
	vt_qp_destroy(&q);
	return vt_now_us() - t0 > 5000000ULL * vt.slow ? -1 : rc;
}

static void calls(void)
{
	struct ibv_device_attr *d = &dev.attr;
	void *ro;

	some_cq = ibv_create_cq(dev.ctx, 10, NULL, NULL, 0);
	ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	BADCALL("reg_mr of nothing mapped", reg((void *)0x10000, 4096, 0), EFAULT);
	BADCALL("reg_mr of the kernel's memory",
		reg((void *)0xffff888000000000, 4096, 0), EFAULT, EINVAL);
	BADCALL("reg_mr, wraps", reg((void *)-4096UL, 8192, 0), EINVAL, EFAULT);
	BADCALL("reg_mr, length 2^64-1", reg(lbuf, -1UL, 0), EINVAL, EFAULT, ENOMEM);
	BADCALL("reg_mr, remote write without local write",
		reg(lbuf, 4096, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	BADCALL("reg_mr, remote atomic without local write",
		reg(lbuf, 4096, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	BADCALL("reg_mr, unknown access", reg(lbuf, 4096, 1 << 18), EINVAL,
		EOPNOTSUPP);
	BADCALL("reg_mr, writable, of a read-only mapping",
		reg(ro, 4096, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	BADCALL("reg_mr, odd address and length", reg(lbuf + 1, 77, RW), 0);
	BADCALL("reg_mr over the limit of an ordinary user", as_user(), 0);

	BADCALL("create_cq, 0 entries", cq(0, 0), EINVAL);
	BADCALL("create_cq, -1 entries", cq(-1, 0), EINVAL, ENOMEM);
	BADCALL("create_cq, one too many", cq(d->max_cqe + 1, 0), EINVAL, ENOMEM);
	BADCALL("create_cq, the maximum", cq(d->max_cqe, 0), 0);
	BADCALL("create_cq, no such vector", cq(10, 9999), EINVAL);
	BADCALL("resize_cq, larger", resize(10, 1000), 0);
	BADCALL("resize_cq, smaller", resize(1000, 10), 0);
	BADCALL("resize_cq, too large", resize(10, d->max_cqe + 1), EINVAL, ENOMEM);
	BADCALL("resize_cq, by two at once", resize_race(), 0);
	BADCALL("resize_cq, 0", resize(10, 0), EINVAL);

	BADCALL("create_qp, usual", qp(IBV_QPT_RC, 10, 10, 1, 1, 0), 0);
	BADCALL("create_qp, UD", qp(IBV_QPT_UD, 10, 10, 1, 1, 0), 0);
	BADCALL("create_qp, nothing to post", qp(IBV_QPT_RC, 0, 0, 0, 0, 0), 0);
	BADCALL("create_qp, all maxima",
		qp(IBV_QPT_RC, d->max_qp_wr, d->max_qp_wr, d->max_sge,
		   d->max_sge, 0), 0, ENOMEM);
	BADCALL("create_qp, max_send_wr + 1",
		qp(IBV_QPT_RC, d->max_qp_wr + 1, 1, 1, 1, 0), EINVAL, ENOMEM);
	BADCALL("create_qp, max_recv_wr + 1",
		qp(IBV_QPT_RC, 1, d->max_qp_wr + 1, 1, 1, 0), EINVAL, ENOMEM);
	BADCALL("create_qp, max_recv_wr ~0",
		qp(IBV_QPT_RC, 1, ~0u, 1, 1, 0), EINVAL, ENOMEM);
	BADCALL("create_qp, max_send_sge + 1",
		qp(IBV_QPT_RC, 1, 1, d->max_sge + 1, 1, 0), EINVAL);
	BADCALL("create_qp, max_recv_sge + 1",
		qp(IBV_QPT_RC, 1, 1, 1, d->max_sge + 1, 0), EINVAL);
	BADCALL("create_qp, 1 MiB inline",
		qp(IBV_QPT_RC, 1, 1, 1, 1, 1 << 20), EINVAL, ENOMEM);
	BADCALL("create_qp, XRC", qp(IBV_QPT_XRC_SEND, 1, 1, 1, 1, 0), EINVAL,
		EOPNOTSUPP);
	BADCALL("create_qp, raw packet", qp(IBV_QPT_RAW_PACKET, 1, 1, 1, 1, 0),
		EINVAL, EOPNOTSUPP, EPERM);
	BADCALL("create_qp, driver type", qp(IBV_QPT_DRIVER, 1, 1, 1, 1, 0),
		EINVAL, EOPNOTSUPP);
	BADCALL("create_qp, type 77", qp(77, 1, 1, 1, 1, 0), EINVAL, EOPNOTSUPP);

	BADCALL("create_srq, the maximum", srq(d->max_srq_wr, 1), 0, ENOMEM);
	BADCALL("create_srq, max_srq_wr + 1", srq(d->max_srq_wr + 1, 1), EINVAL,
		ENOMEM);
	BADCALL("create_srq, max_srq_sge", srq(10, d->max_srq_sge), 0);
	BADCALL("create_srq, max_srq_sge + 1", srq(10, d->max_srq_sge + 1),
		EINVAL);
	BADCALL("modify_srq, limit", srq_limit(10, 0, IBV_SRQ_LIMIT), 0);
	BADCALL("modify_srq, limit above the size",
		srq_limit(100000, 0, IBV_SRQ_LIMIT), EINVAL);
	BADCALL("modify_srq, larger than the device's limit",
		srq_limit(0, d->max_srq_wr + 1, IBV_SRQ_MAX_WR), EINVAL, ENOMEM);

	BADCALL("modify_qp to RTS, all steps", modify(2, no_spoil), 0);
	BADCALL("modify_qp RESET to RTR", modify(0, to_rtr), EINVAL);
	BADCALL("modify_qp RESET to RTS", modify(0, to_rts), EINVAL);
	BADCALL("modify_qp RESET to SQD", modify(0, to_sqd), EINVAL);
	BADCALL("modify_qp, port 2", modify(0, port2), EINVAL);
	BADCALL("modify_qp, port 0", modify(0, port0), EINVAL);
	BADCALL("modify_qp, pkey_index 99", modify(0, pkey99), EINVAL);
	BADCALL("modify_qp, access flags missing", modify(0, no_access), EINVAL);
	BADCALL("modify_qp, an attribute too many", modify(0, wrong_mask), EINVAL);
	BADCALL("modify_qp INIT to RTS", modify(1, to_rts), EINVAL);
	BADCALL("modify_qp to RTR without address", modify(1, no_av), EINVAL);
	BADCALL("modify_qp to RTR without QPN", modify(1, no_dqpn), EINVAL);
	BADCALL("modify_qp, sgid_index 250", modify(1, sgid250), EINVAL, ENOENT,
		ENODATA);
	BADCALL("modify_qp, empty GID", modify(1, sgid_none), EINVAL, ENOENT,
		ENODATA);
	BADCALL("modify_qp, address without GRH", modify(1, not_global), EINVAL);
	BADCALL("modify_qp, address with port 2", modify(1, ah_port2), EINVAL);
	BADCALL("modify_qp, path_mtu 0", modify(1, mtu0), EINVAL);
	BADCALL("modify_qp, path_mtu 9", modify(1, mtu9), EINVAL);
	BADCALL("modify_qp, max_dest_rd_atomic 255", modify(1, dest_rd_big), EINVAL);
	BADCALL("modify_qp, max_dest_rd_atomic 0", modify(1, dest_rd_zero), 0);
	BADCALL("modify_qp to RTS without timeout", modify(2, no_timeout), EINVAL);
	BADCALL("modify_qp, max_rd_atomic 255", modify(2, rd_big), EINVAL);
	BADCALL("modify_qp, max_rd_atomic 0", modify(2, rd_zero), 0);
	BADCALL("modify_qp, timeout 31", modify(2, tmo31), 0);
	BADCALL("modify_qp to RTR, nobody there: does not wait for it",
		unreachable(), 0, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, EINVAL);

	BADCALL("dealloc_pd in use", busy_pd(), EBUSY);
	BADCALL("destroy_cq in use", busy_cq(), EBUSY);
	BADCALL("destroy_srq in use", busy_srq(), EBUSY);
	BADCALL("attach_mcast of an RC QP", mcast_rc(), EINVAL, EOPNOTSUPP);
	BADCALL("create_ah", ah(1, dev.gid_index, true), 0);
	BADCALL("create_ah, port 2", ah(2, dev.gid_index, true), EINVAL);
	BADCALL("create_ah, no such GID", ah(1, 250, true), EINVAL, ENOENT, ENODATA);
	BADCALL("create_ah without GRH", ah(1, dev.gid_index, false), EINVAL);
	BADCALL("post_send until the queue is full", full_sq(), ENOMEM, EINVAL);
	BADCALL("post_recv until the queue is full", full_rq(), ENOMEM);
	ibv_destroy_cq(some_cq);
}

static void both(void)
{
	struct ibv_mr *lmr;
	size_t i;
	int rc;

	vt_open(&dev);
	make_regions(vt_side == VT_B);
	vt_send(&me, sizeof(me));
	vt_recv(&peer, sizeof(peer));
	lmr = vt_reg(&dev, lbuf, 4 * AREA, RW);
	if (forged_inv) {
		uc_forged_inv(lmr);
		goto out;
	}
	for (i = 0; i < ARRAY_SIZE(remote_cases); i++)
		run_case(&remote_cases[i], false, lmr);
	for (i = 0; i < ARRAY_SIZE(local_cases); i++)
		run_case(&local_cases[i], true, lmr);
	for (i = 0; i < ARRAY_SIZE(recv_cases); i++)
		run_recv_case(&recv_cases[i], lmr);
	for (i = 0; i < ARRAY_SIZE(uc_cases); i++)
		run_uc_case(&uc_cases[i], lmr);
	if (!vt.only) {
		uc_hole(lmr);
		uc_send_inv(lmr);
		qp_access(lmr);
		flush_for_ever(lmr);
		reuse(lmr);
		if (vt_side == VT_A)
			calls();
	}
	vt_sync("calls");
out:
	rc = ibv_dereg_mr(lmr);
	if (rc)
		vt_fail("dereg_mr: %s", strerror(rc));
	free_regions();
	vt_close(&dev);
	vt_verdict("objects are gone again");
}

static void opt(int c, const char *arg)
{
	(void)arg;
	if (c == 'E')
		want_events = true;
	if (c == 'I')
		forged_inv = true;
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "EI", opt, both, both);
}
