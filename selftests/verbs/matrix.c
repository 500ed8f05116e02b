// SPDX-License-Identifier: GPL-2.0
/*
 * Every RC and UC operation x size x layout of the work request, between two ends.
 *
 * Each byte is checked, also those around the target; each work request must
 * complete exactly once and in order. Many are outstanding at a time.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vt.h"

#define ARENA		(6 << 20)
#define MAX_N		48
#define MAX_SGE		32
#define GAP		16
#define SLACK		13	/* a receive may be longer than the message */

enum {
	F_INLINE = 1,
	F_UNSIG	 = 2,
	F_FENCE	 = 4,
	F_SOL	 = 8,
};

struct layout {
	const char *name;
	int sge_s, sge_r;
	unsigned int flags;
};

static const struct layout layouts[] = {
	{ "1 SGE", 1, 1, 0 },
	{ "3 SGEs, unsignalled", 3, 2, F_UNSIG },
	{ "32 SGEs, fence", 32, 32, F_FENCE },
	{ "1 SGE to 5, solicited", 1, 5, F_SOL },
	{ "inline", 1, 1, F_INLINE },
	{ "inline, 4 SGEs, unsignalled", 4, 3, F_INLINE | F_UNSIG },
};

static const enum ibv_wr_opcode ops[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_INV,
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
};

/* One run: @n messages of @size bytes, or of @size, @size + 1, ... (@sweep) */
struct run {
	enum ibv_wr_opcode op;
	const struct layout *l;
	uint32_t size;
	int n;
	bool sweep;
	uint64_t seed;
};

static struct vt_dev dev;
static struct vt_qp qp;
static uint8_t *src, *dst;
static struct ibv_mr *src_mr, *dst_mr;
static struct { uint64_t src, dst; uint32_t src_key, dst_key; } me, peer;
static struct ibv_mw *mw[MAX_N];

static bool is_send(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM ||
	       op == IBV_WR_SEND_WITH_INV;
}

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool takes_recv(enum ibv_wr_opcode op)
{
	return is_send(op) || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool has_imm(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static uint32_t msg_len(const struct run *r, int i)
{
	return r->sweep ? r->size + i : r->size;
}

static uint32_t imm_of(const struct run *r, int i)
{
	return htonl((uint32_t)r->seed * 2654435761u + i);
}

static size_t stride(const struct run *r)
{
	size_t max = r->size + (r->sweep ? r->n : 0);

	return (max + SLACK + (MAX_SGE + 1) * GAP + 128 + 63) & ~63UL;
}

/* Where message @i begins; off the grid, but for atomics */
static size_t place(const struct run *r, int i)
{
	return i * stride(r) + 64 + (is_atomic(r->op) ? 0 : i * 7 % 61);
}

struct piece {
	size_t off;		/* in the arena */
	uint32_t len;
};

/* Message @i in @k pieces with gaps; both ends compute the same */
static void split(const struct run *r, int i, int k, uint32_t total,
		  struct piece *p)
{
	size_t at = place(r, i);
	uint32_t left = total;
	int j;

	vt_srand(r->seed * 131 + i * 7 + k);
	for (j = 0; j < k; j++) {
		uint32_t fair = left / (k - j);
		uint32_t len = j == k - 1 ? left :
			       vt_rnd(2 * fair + 2) % (left + 1);

		p[j].off = at;
		p[j].len = len;
		at += len + GAP;
		left -= len;
	}
}

static void fill_pieces(const struct piece *p, int k, uint64_t seed)
{
	size_t at = 0;
	int j;

	for (j = 0; j < k; j++) {
		vt_fill(src + p[j].off, p[j].len, seed, at);
		at += p[j].len;
	}
}

/* @have bytes of the message in these pieces, canaries everywhere else */
static void check_pieces(const struct run *r, int i, const struct piece *p,
			 int k, uint32_t have, uint64_t seed)
{
	size_t lo = i * stride(r), hi = lo + stride(r), at = 0, w;
	int j;

	for (j = 0; j < k; j++) {
		uint32_t n = p[j].len < have - at ? p[j].len : have - at;

		if (!vt_all(dst + lo, p[j].off - lo, CANARY, &w))
			vt_fail("size %u message %d: byte %td in front of piece %d written",
				msg_len(r, i), i, (ptrdiff_t)(lo + w - p[j].off), j);
		if (!vt_same(dst + p[j].off, n, seed, at, &w))
			vt_fail("size %u message %d: byte %zu wrong",
				msg_len(r, i), i, at + w);
		at += n;
		lo = p[j].off + n;
	}
	if (!vt_all(dst + lo, hi - lo, CANARY, &w))
		vt_fail("size %u message %d: byte %zu past its end written",
			msg_len(r, i), i, w);
}

static uint64_t msg_seed(const struct run *r, int i)
{
	return r->seed * 1000 + i;
}

static uint64_t atomic_start(const struct run *r, int i)
{
	return msg_seed(r, i) * 0x100000001b3ULL;
}

/* cmp_swap: every third one compares with a wrong value */
static bool cas_hits(int i)
{
	return i % 3;
}

static uint64_t swap_of(const struct run *r, int i)
{
	return msg_seed(r, i) ^ 0x1122334455667788ULL;
}

/* ---- A: posts ---- */

static void a_run(const struct run *r)
{
	static struct ibv_send_wr wr[MAX_N];
	static struct ibv_sge sge[MAX_N][MAX_SGE];
	struct piece p[MAX_SGE];
	struct ibv_send_wr *bad;
	uint32_t rkey[MAX_N];
	struct ibv_wc wc;
	int i, j, k = r->l->sge_s, rc, n_sig = 0, sig[MAX_N], base = 0;
	bool chain = r->seed & 1;

	if (r->op == IBV_WR_RDMA_READ || is_atomic(r->op)) {
		memset(dst, CANARY, r->n * stride(r));
		if (is_atomic(r->op))
			k = 1;
	}
	vt_sync("ready");
	if (r->op == IBV_WR_SEND_WITH_INV)
		vt_recv(rkey, sizeof(rkey[0]) * r->n);

	for (i = 0; i < r->n; i++) {
		bool to_dst = r->op == IBV_WR_RDMA_READ || is_atomic(r->op);

		memset(&wr[i], 0, sizeof(wr[i]));
		split(r, i, k, msg_len(r, i), p);
		if (!to_dst)
			fill_pieces(p, k, msg_seed(r, i));
		for (j = 0; j < k; j++) {
			sge[i][j].addr = (uintptr_t)(to_dst ? dst : src) +
					 p[j].off;
			sge[i][j].length = p[j].len;
			sge[i][j].lkey = r->l->flags & F_INLINE ? 0xdead :
					 to_dst ? dst_mr->lkey : src_mr->lkey;
		}
		wr[i].wr_id = r->seed << 16 | i;
		wr[i].opcode = r->op;
		wr[i].sg_list = sge[i];
		wr[i].num_sge = msg_len(r, i) || i & 1 ? k : 0;
		if (!(r->l->flags & F_UNSIG) || i % 4 == 3 || i == r->n - 1) {
			wr[i].send_flags |= IBV_SEND_SIGNALED;
			sig[n_sig++] = i;
		}
		if (r->l->flags & F_INLINE)
			wr[i].send_flags |= IBV_SEND_INLINE;
		if (r->l->flags & F_FENCE)
			wr[i].send_flags |= IBV_SEND_FENCE;
		if (r->l->flags & F_SOL)
			wr[i].send_flags |= IBV_SEND_SOLICITED;
		if (has_imm(r->op))
			wr[i].imm_data = imm_of(r, i);
		if (r->op == IBV_WR_SEND_WITH_INV)
			wr[i].invalidate_rkey = rkey[i];
		if (is_atomic(r->op)) {
			wr[i].wr.atomic.remote_addr = peer.src + place(r, i);
			wr[i].wr.atomic.rkey = peer.src_key;
			wr[i].wr.atomic.compare_add = atomic_start(r, i);
			if (r->op == IBV_WR_ATOMIC_CMP_AND_SWP) {
				wr[i].wr.atomic.swap = swap_of(r, i);
				if (!cas_hits(i))
					wr[i].wr.atomic.compare_add ^= 1ULL << 63;
			}
		} else if (r->op == IBV_WR_RDMA_READ) {
			wr[i].wr.rdma.remote_addr = peer.src + place(r, i);
			wr[i].wr.rdma.rkey = peer.src_key;
		} else if (!is_send(r->op)) {
			wr[i].wr.rdma.remote_addr = peer.dst + place(r, i);
			wr[i].wr.rdma.rkey = peer.dst_key;
		}
		if (chain && i)
			wr[i - 1].next = &wr[i];
	}
	for (i = 0; i < r->n; i += chain ? r->n : 1) {
		rc = ibv_post_send(qp.qp, &wr[i], &bad);
		if (rc) {
			vt_fail("size %u: post_send %d: %s", r->size, i,
				strerror(rc));
			break;
		}
	}
	/* Inline data was copied when it was posted */
	if (r->l->flags & F_INLINE)
		memset(src, 0, r->n * stride(r));

	for (base = 0; base < n_sig && !vt_failed(); base++) {
		i = sig[base];
		if (!vt_expect(&qp, qp.scq, &wc, IBV_WC_SUCCESS, "send"))
			break;
		if (wc.wr_id != wr[i].wr_id)
			vt_fail("size %u: completion of wr %llu, expected %d",
				r->size, (unsigned long long)wc.wr_id & 0xffff, i);
		if (wc.qp_num != qp.qp->qp_num)
			vt_fail("size %u: wrong qp_num", r->size);
		if ((r->op == IBV_WR_RDMA_READ || is_atomic(r->op)) &&
		    wc.byte_len != msg_len(r, i))
			vt_fail("size %u: byte_len %u", msg_len(r, i), wc.byte_len);
		switch (r->op) {
		case IBV_WR_RDMA_WRITE:
		case IBV_WR_RDMA_WRITE_WITH_IMM:
			j = IBV_WC_RDMA_WRITE;
			break;
		case IBV_WR_RDMA_READ:
			j = IBV_WC_RDMA_READ;
			break;
		case IBV_WR_ATOMIC_CMP_AND_SWP:
			j = IBV_WC_COMP_SWAP;
			break;
		case IBV_WR_ATOMIC_FETCH_AND_ADD:
			j = IBV_WC_FETCH_ADD;
			break;
		default:
			j = IBV_WC_SEND;
		}
		if ((int)wc.opcode != j)
			vt_fail("size %u: wc.opcode %d, not %d", r->size,
				wc.opcode, j);
	}

	for (i = 0; i < r->n && !vt_failed(); i++) {
		split(r, i, k, msg_len(r, i), p);
		if (r->op == IBV_WR_RDMA_READ) {
			check_pieces(r, i, p, k, msg_len(r, i), msg_seed(r, i));
		} else if (is_atomic(r->op)) {
			uint64_t got;

			memcpy(&got, dst + p[0].off, 8);
			if (got != atomic_start(r, i))
				vt_fail("message %d returned 0x%llx, not 0x%llx",
					i, (unsigned long long)got,
					(unsigned long long)atomic_start(r, i));
			memset(dst + p[0].off, CANARY, 8);
			check_pieces(r, i, p, 0, 0, 0);
		}
	}
	vt_sync("done");
	if (vt_poll(NULL, qp.scq, &wc, 0))
		vt_fail("size %u: a completion too many", r->size);
}

/* ---- B: receives, is read and written ---- */

static void post_recvs(const struct run *r)
{
	struct ibv_sge sge[MAX_SGE];
	struct piece p[MAX_SGE];
	struct ibv_recv_wr wr, *bad;
	int i, j, rc, k = r->l->sge_r;

	for (i = 0; i < r->n; i++) {
		memset(&wr, 0, sizeof(wr));
		wr.wr_id = r->seed << 16 | i;
		if (is_send(r->op)) {
			split(r, i, k, msg_len(r, i) + SLACK, p);
			for (j = 0; j < k; j++) {
				sge[j].addr = (uintptr_t)dst + p[j].off;
				sge[j].length = p[j].len;
				sge[j].lkey = dst_mr->lkey;
			}
			wr.sg_list = sge;
			wr.num_sge = k;
		}
		if (qp.srq)
			rc = ibv_post_srq_recv(qp.srq, &wr, &bad);
		else
			rc = ibv_post_recv(qp.qp, &wr, &bad);
		if (rc) {
			vt_fail("post_recv %d: %s", i, strerror(rc));
			return;
		}
	}
}

static void bind_windows(const struct run *r)
{
	struct ibv_send_wr wr, *bad;
	uint32_t rkey[MAX_N];
	struct ibv_wc wc;
	int i, rc;

	for (i = 0; i < r->n; i++) {
		memset(&wr, 0, sizeof(wr));
		mw[i] = ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2);
		if (!mw[i])
			vt_die("alloc_mw: %m");
		rkey[i] = ibv_inc_rkey(mw[i]->rkey);
		wr.wr_id = i;
		wr.opcode = IBV_WR_BIND_MW;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.bind_mw.mw = mw[i];
		wr.bind_mw.rkey = rkey[i];
		wr.bind_mw.bind_info.mr = dst_mr;
		wr.bind_mw.bind_info.addr = (uintptr_t)dst;
		wr.bind_mw.bind_info.length = 4096;
		wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
		rc = ibv_post_send(qp.qp, &wr, &bad);
		if (rc)
			vt_die("bind_mw: %s", strerror(rc));
		if (!vt_expect(&qp, qp.scq, &wc, IBV_WC_SUCCESS, "bind_mw"))
			vt_die("bind_mw");
		mw[i]->rkey = rkey[i];
	}
	vt_send(rkey, sizeof(rkey[0]) * r->n);
}

static void b_run(const struct run *r)
{
	struct piece p[MAX_SGE];
	struct ibv_wc wc;
	int i, rc, k = r->l->sge_r;

	if (r->op == IBV_WR_RDMA_READ) {
		for (i = 0; i < r->n; i++)
			vt_fill(src + place(r, i), msg_len(r, i),
				msg_seed(r, i), 0);
	} else if (is_atomic(r->op)) {
		for (i = 0; i < r->n; i++) {
			uint64_t v = atomic_start(r, i);

			memcpy(src + place(r, i), &v, 8);
		}
	} else {
		memset(dst, CANARY, r->n * stride(r));
	}
	if (takes_recv(r->op))
		post_recvs(r);
	vt_sync("ready");
	if (r->op == IBV_WR_SEND_WITH_INV)
		bind_windows(r);

	for (i = 0; takes_recv(r->op) && i < r->n && !vt_failed(); i++) {
		if (!vt_expect(&qp, qp.rcq, &wc, IBV_WC_SUCCESS, "receive"))
			break;
		if (wc.wr_id != (r->seed << 16 | i))
			vt_fail("size %u: receive %llu, expected %d", r->size,
				(unsigned long long)wc.wr_id & 0xffff, i);
		if (wc.byte_len != msg_len(r, i))
			vt_fail("size %u: byte_len %u", msg_len(r, i), wc.byte_len);
		if (wc.qp_num != qp.qp->qp_num)
			vt_fail("size %u: wrong qp_num", r->size);
		if (has_imm(r->op) && (!(wc.wc_flags & IBV_WC_WITH_IMM) ||
				       wc.imm_data != imm_of(r, i)))
			vt_fail("size %u: no or wrong immediate", r->size);
		if (!has_imm(r->op) && wc.wc_flags & IBV_WC_WITH_IMM)
			vt_fail("size %u: an immediate from nowhere", r->size);
		if (r->op == IBV_WR_SEND_WITH_INV &&
		    (!(wc.wc_flags & IBV_WC_WITH_INV) ||
		     wc.invalidated_rkey != mw[i]->rkey))
			vt_fail("size %u: nothing or something else invalidated",
				r->size);
		if (wc.opcode != (is_send(r->op) ? IBV_WC_RECV :
				  IBV_WC_RECV_RDMA_WITH_IMM))
			vt_fail("size %u: wc.opcode %d", r->size, wc.opcode);
		/* The message must be there when its completion is */
		if (is_send(r->op)) {
			split(r, i, k, msg_len(r, i) + SLACK, p);
			check_pieces(r, i, p, k, msg_len(r, i), msg_seed(r, i));
		} else {
			split(r, i, 1, msg_len(r, i), p);
			check_pieces(r, i, p, 1, msg_len(r, i), msg_seed(r, i));
		}
	}
	vt_sync("done");
	for (i = 0; i < r->n && !vt_failed(); i++) {
		if (r->op == IBV_WR_RDMA_WRITE) {
			split(r, i, 1, msg_len(r, i), p);
			check_pieces(r, i, p, 1, msg_len(r, i), msg_seed(r, i));
		} else if (is_atomic(r->op)) {
			uint64_t v, want = atomic_start(r, i);

			memcpy(&v, src + place(r, i), 8);
			if (r->op == IBV_WR_ATOMIC_FETCH_AND_ADD)
				want += want;
			else if (cas_hits(i))
				want = swap_of(r, i);
			if (v != want)
				vt_fail("message %d left 0x%llx, not 0x%llx", i,
					(unsigned long long)v,
					(unsigned long long)want);
		}
	}
	if (vt_poll(NULL, qp.rcq, &wc, 0))
		vt_fail("size %u: a receive too many", r->size);
	for (i = 0; r->op == IBV_WR_SEND_WITH_INV && i < r->n; i++) {
		rc = ibv_dealloc_mw(mw[i]);
		if (rc)
			vt_fail("dealloc_mw: %s", strerror(rc));
	}
}

/* ---- the table, on both ends ---- */

static void do_run(struct run *r, enum ibv_wr_opcode op, const struct layout *l,
		   uint32_t size, int n, bool sweep)
{
	static uint64_t seed = 1;

	r->op = op;
	r->l = l;
	r->size = size;
	r->n = n < MAX_N ? n : MAX_N;
	if (op == IBV_WR_SEND_WITH_INV && r->n > 4)
		r->n = 4;
	r->sweep = sweep;
	r->seed = seed++;
	if (vt_side == VT_A)
		a_run(r);
	else
		b_run(r);
}

static bool run_layout(const char *variant, enum ibv_wr_opcode op,
		       const struct layout *l)
{
	/* 0 stands for the port's MTU */
	static const struct { uint32_t size; int mtu, n; bool sweep; } sizes[] = {
		{ 0, 0, 16 }, { 1, 0, 40 }, { 7, 0, 40 }, { 8, 0, 40 },
		{ 63, 0, 40 }, { 64, 0, 40 }, { 65, 0, 40 }, { 255, 0, 40 },
		{ 512, 0, 40 }, { 4096, 0, 40 },
		{ -1, 1, 40 }, { 0, 1, 40 }, { 1, 1, 40 },
		{ 0, 2, 16, true },		/* two packets and a bit */
		{ 1380, 0, 48, true },		/* full packets at MTU 1500 */
		{ 8880, 0, 48, true },		/* and at 9000 */
		{ 65536, 0, 8 }, { (1 << 20) + 3, 0, 3 },
	};
	int mtu = vt_mtu_bytes(dev.port.active_mtu);
	char name[128];
	struct run r;
	size_t i;

	snprintf(name, sizeof(name), "%s %s, %s", variant, vt_op_name(op),
		 l->name);
	if (!vt_want(name))
		return true;
	if (l->flags & F_INLINE && (op == IBV_WR_RDMA_READ || is_atomic(op)))
		return true;
	if (is_atomic(op)) {
		if (l->sge_s > 3 || l->sge_r > 3)
			return true;
		do_run(&r, op, l, 8, 40, false);
		return vt_verdict("%s", name);
	}
	for (i = 0; i < ARRAY_SIZE(sizes) && !vt_failed(); i++) {
		uint32_t size = sizes[i].size + sizes[i].mtu * mtu;
		int n = sizes[i].n;

		if (l->flags & F_INLINE && size > 256)
			continue;
		if (op == IBV_WR_SEND_WITH_INV && size > 65536)
			continue;
		if (size > 60000)
			n = vt_scaled(n, 2);
		do_run(&r, op, l, size, n, sizes[i].sweep);
		/* In step with the other end's failure, or not at all */
		if (vt_swap(vt_failed()))
			break;
	}
	return vt_verdict("%s", name);
}

static bool uc_has(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM ||
	       op == IBV_WR_RDMA_WRITE || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool windows(void)
{
	struct ibv_mw *w = ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2);

	if (w)
		ibv_dealloc_mw(w);
	return vt_swap(!!w) && w;
}

static void both(void)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct vt_qp_attr at = vt_qp_default;
	bool mws;
	size_t i, j;
	int v;

	vt_open(&dev);
	mws = windows();
	if (mws)
		access |= IBV_ACCESS_MW_BIND;
	src = vt_alloc(ARENA);
	dst = vt_alloc(ARENA);
	src_mr = vt_reg(&dev, src, ARENA, access);
	dst_mr = vt_reg(&dev, dst, ARENA, access);
	me.src = (uintptr_t)src;
	me.dst = (uintptr_t)dst;
	me.src_key = src_mr->rkey;
	me.dst_key = dst_mr->rkey;
	vt_send(&me, sizeof(me));
	vt_recv(&peer, sizeof(peer));
	at.send_sge = MAX_SGE;
	at.recv_sge = dev.attr.max_srq_sge > MAX_SGE ? MAX_SGE : dev.attr.max_srq_sge;
	at.inline_bytes = 256;

	for (v = 0; v < 3; v++) {
		static const char * const variants[] = { "RQ:", "SRQ:", "UC:" };
		const char *variant = variants[v];

		at.srq = v == 1;
		at.one_cq = v == 1;
		at.uc = v == 2;
		vt_qp_create(&qp, &dev, &at);
		vt_qp_connect(&qp);
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			/* What takes no receive is the same with an SRQ */
			if (at.srq && !takes_recv(ops[i]))
				continue;
			if (at.uc && !uc_has(ops[i]))
				continue;
			if (ops[i] == IBV_WR_SEND_WITH_INV && !mws) {
				if (vt_side == VT_A && !v)
					vt_skip("no memory windows", "send_inv");
				continue;
			}
			for (j = 0; j < ARRAY_SIZE(layouts); j++) {
				if (run_layout(variant, ops[i], &layouts[j]))
					continue;
				/* The QP is of no use any more */
				vt_qp_destroy(&qp);
				vt_qp_create(&qp, &dev, &at);
				vt_qp_connect(&qp);
			}
		}
		vt_sync("variant");
		vt_qp_destroy(&qp);
	}
	if (ibv_dereg_mr(src_mr) || ibv_dereg_mr(dst_mr))
		vt_fail("dereg_mr");
	vt_close(&dev);
	vt_verdict("objects are gone again");
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "", NULL, both, both);
}
