// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile process: writes what it likes into the queues that it shares with
 * the kernel, and rings the doorbell. The kernel must answer with an error
 * completion or with nothing, and never with a fault.
 *
 * Modes (-m): wqe: one bad field at a time; index: bad ring indices; ud: bad
 * address handles; scribble: processes that write at random while others post;
 * mmap: bad mappings; resp: bad response pointers. Default: all.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>

#include "vt.h"

#define SQ_WR	16
#define BUF	(1 << 16)

static const char *mode = "";
static int secs = 5;
static bool strict;			/* -E: the error must come, too */
static int n_procs = 3;

static struct vt_dev dev;
static uint8_t *buf;
static struct ibv_mr *mr;

/* ---- the mapped rings ---- */

struct ring {
	struct rxe_queue_buf *b;
	size_t bytes;
	off_t off;
	uint32_t mask, elem;		/* as they were when it was mapped */
};

static int find_rings(struct ring *r, int max)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long lo, hi, off;
	char line[512], perm[8];
	int n = 0;

	while (f && n < max && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "uverbs"))
			continue;
		if (sscanf(line, "%lx-%lx %7s %lx", &lo, &hi, perm, &off) != 4)
			continue;
		r[n].b = (void *)lo;
		r[n].bytes = hi - lo;
		r[n].off = off;
		r[n].mask = r[n].b->index_mask;
		r[n].elem = 1u << r[n].b->log2_elem_size;
		n++;
	}
	if (f)
		fclose(f);
	return n;
}

static void *elem(const struct ring *r, uint32_t i)
{
	return r->b->data + (size_t)(i & r->mask) * r->elem;
}

static bool known(const struct ring *list, int n, const struct ring *r)
{
	while (n--)
		if (list[n].b == r->b)
			return true;
	return false;
}

/* A loopback pair of QPs and the rings of the first */
struct victim {
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp, *qp2;
	struct ibv_srq *srq;
	struct ring sq, rq, cq;
	bool ud;
};

static struct ibv_qp *one_qp(struct victim *v, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = v->ud ? IBV_QPT_UD : IBV_QPT_RC,
		.send_cq = v->scq, .recv_cq = v->rcq, .srq = srq,
		.cap = { SQ_WR, srq ? 0 : SQ_WR, 4, srq ? 0 : 4, 64 },
	};

	return ibv_create_qp(dev.pd, &ia);
}

static int to_rts(struct ibv_qp *qp, uint32_t dqpn, bool ud)
{
	struct ibv_qp_attr at = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = dqpn,
		.max_rd_atomic = 4, .max_dest_rd_atomic = 4,
		.min_rnr_timer = 1, .timeout = 10, .retry_cnt = 2, .rnr_retry = 1,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { dev.gid, 0, dev.gid_index, 64, 0 },
		},
	};
	int rc;

	rc = ibv_modify_qp(qp, &at, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			   IBV_QP_PORT |
			   (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	at.qp_state = IBV_QPS_RTR;
	if (!rc)
		rc = ibv_modify_qp(qp, &at, ud ? IBV_QP_STATE : IBV_QP_STATE |
			IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_MIN_RNR_TIMER);
	at.qp_state = IBV_QPS_RTS;
	if (!rc)
		rc = ibv_modify_qp(qp, &at, ud ? IBV_QP_STATE | IBV_QP_SQ_PSN :
			IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC);
	return rc;
}

static void victim_make(struct victim *v, bool ud, bool srq)
{
	struct ibv_srq_init_attr sa = { .attr = { SQ_WR, 4, 0 } };
	struct ring was[64], now[64];
	int n, m, i, k = 0;

	memset(v, 0, sizeof(*v));
	v->ud = ud;
	n = find_rings(was, 64);
	v->scq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	if (!v->scq)
		vt_die("create_cq: %m");
	m = find_rings(now, 64);
	for (i = 0; i < m; i++)
		if (!known(was, n, &now[i]))
			v->cq = now[i];
	v->rcq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	if (srq)
		v->srq = ibv_create_srq(dev.pd, &sa);
	if (!v->rcq || (srq && !v->srq))
		vt_die("create: %m");
	v->qp2 = one_qp(v, NULL);
	n = find_rings(was, 64);
	v->qp = one_qp(v, v->srq);
	if (!v->qp || !v->qp2)
		vt_die("create_qp: %m");
	m = find_rings(now, 64);
	for (i = 0; i < m; i++) {
		if (known(was, n, &now[i]))
			continue;
		/* A send WQE is longer than a receive WQE */
		if (!k++) {
			v->sq = now[i];
		} else if (now[i].elem > v->sq.elem) {
			v->rq = v->sq;
			v->sq = now[i];
		} else {
			v->rq = now[i];
		}
	}
	if (!v->cq.b || !v->sq.b || (!srq && !v->rq.b))
		vt_die("rings are not mapped");
	if (to_rts(v->qp, v->qp2->qp_num, ud) ||
	    to_rts(v->qp2, v->qp->qp_num, ud))
		vt_die("QP to RTS: %m");
}

static void victim_free(struct victim *v)
{
	int rc = 0;

	rc |= ibv_destroy_qp(v->qp);
	rc |= ibv_destroy_qp(v->qp2);
	if (v->srq)
		rc |= ibv_destroy_srq(v->srq);
	rc |= ibv_destroy_cq(v->scq);
	rc |= ibv_destroy_cq(v->rcq);
	if (rc)
		vt_fail("destroy: %d", rc);
}

static int doorbell(struct ibv_qp *qp)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} c = {};
	struct ib_uverbs_post_send_resp resp;

	c.hdr.command = IB_USER_VERBS_CMD_POST_SEND;
	c.hdr.in_words = sizeof(c) / 4;
	c.hdr.out_words = sizeof(resp) / 4;
	c.cmd.response = (uintptr_t)&resp;
	c.cmd.qp_handle = qp->handle;
	c.cmd.wqe_size = sizeof(struct ibv_send_wr);
	return write(qp->context->cmd_fd, &c, sizeof(c)) == sizeof(c) ? 0 : errno;
}

/* A good work request at the producer's index, to be spoilt */
static struct rxe_send_wqe *good_wqe(struct victim *v, uint32_t opcode)
{
	struct rxe_send_wqe *w = elem(&v->sq, v->sq.b->producer_index);

	memset(w, 0, sizeof(*w));
	w->wr.wr_id = 77;
	w->wr.opcode = opcode;
	w->wr.send_flags = IBV_SEND_SIGNALED;
	w->wr.wr.rdma.remote_addr = (uintptr_t)buf + BUF / 2;
	w->wr.wr.rdma.rkey = mr->rkey;
	w->iova = w->wr.wr.rdma.remote_addr;
	w->dma.length = 256;
	w->dma.resid = 256;
	w->dma.num_sge = 1;
	w->dma.sge[0].addr = (uintptr_t)buf;
	w->dma.sge[0].length = 256;
	w->dma.sge[0].lkey = mr->lkey;
	return w;
}

static void push(struct victim *v)
{
	__sync_synchronize();
	v->sq.b->producer_index = (v->sq.b->producer_index + 1) & v->sq.mask;
	__sync_synchronize();
}

/* ---- a bad field at a time ---- */

struct wcase {
	const char *name;
	uint32_t opcode;
	void (*spoil)(struct rxe_send_wqe *w);
	bool error;			/* an error completion is due */
};

#define S(fn, stmt) static void fn(struct rxe_send_wqe *w) { stmt; }
S(s_none, (void)w)
S(s_op_3f, w->wr.opcode = 0x3f)
S(s_op_7f, w->wr.opcode = 0x7f)
S(s_op_100, w->wr.opcode = 0x100)
S(s_op_max, w->wr.opcode = 0xffffffff)
S(s_op_high, w->wr.opcode |= 0x80000000)
S(s_op_reg, w->wr.opcode = 0x20)
S(s_op_regmr, w->wr.opcode = 0x0b)
S(s_op_flush, w->wr.opcode = 14)
S(s_op_awrite, w->wr.opcode = 15)
S(s_op_lsoptso, w->wr.opcode = 10)
S(s_sge_5, w->dma.num_sge = 5)
S(s_sge_33, w->dma.num_sge = 33)
S(s_sge_ffff, w->dma.num_sge = 0xffff)
S(s_sge_neg, w->dma.num_sge = 0x80000001)
S(s_sge_max, w->dma.num_sge = 0xffffffff)
S(s_sge_0, w->dma.num_sge = 0)
S(s_cur_ffff, w->dma.cur_sge = 0xffff)
S(s_cur_1, w->dma.cur_sge = 1)
S(s_off_big, w->dma.sge_offset = 0x80000000)
S(s_off_max, w->dma.sge_offset = 0xffffffff)
S(s_resid_big, w->dma.resid = 0xffffffff)
S(s_resid_0, w->dma.resid = 0)
S(s_len_big, w->dma.length = 0xffffffff; w->dma.resid = 0xffffffff)
S(s_len_more, w->dma.length = 512; w->dma.resid = 512)
S(s_len_less, w->dma.length = 8; w->dma.resid = 8)
S(s_sgelen_max, w->dma.sge[0].length = 0xffffffff)
S(s_sgelen_31, w->dma.sge[0].length = 0x80000001)
S(s_sgelen_sum, w->dma.num_sge = 4;
	w->dma.sge[1] = w->dma.sge[0]; w->dma.sge[1].length = 0x80000000;
	w->dma.sge[2] = w->dma.sge[1]; w->dma.sge[3] = w->dma.sge[0])
S(s_addr_max, w->dma.sge[0].addr = ~0ULL)
S(s_addr_kernel, w->dma.sge[0].addr = 0xffff888000000000ULL)
S(s_lkey_max, w->dma.sge[0].lkey = 0xffffffff)
S(s_inl_big, w->wr.send_flags |= IBV_SEND_INLINE; w->dma.length = 60000)
S(s_inl_max, w->wr.send_flags |= IBV_SEND_INLINE; w->dma.length = 0xffffffff;
	w->dma.resid = 0xffffffff)
S(s_inl_edge, w->wr.send_flags |= IBV_SEND_INLINE; w->dma.length = 4 * 16 + 1)
S(s_flags_all, w->wr.send_flags = 0xffffffff)
S(s_state, w->state = 0xffffffff; w->status = 0xffffffff; w->mask = 0xffffffff)
S(s_done, w->state = 3; w->status = 0)
S(s_psn, w->first_psn = 0xffffffff; w->last_psn = 0xffffffff; w->ssn = 0xffffffff)
S(s_rdatomic, w->has_rd_atomic = 0xffffffff; w->ack_length = 0xffffffff)
S(s_iova, w->iova = ~0ULL)
S(s_inv, w->wr.ex.invalidate_rkey = 0xffffffff)
S(s_mw, w->wr.wr.mw.mw_rkey = 0xffffffff; w->wr.wr.mw.mr_lkey = 0xffffffff;
	w->wr.wr.mw.length = ~0ULL)
S(s_mw_mr, w->wr.wr.mw.mw_rkey = mr->rkey; w->wr.wr.mw.mr_lkey = mr->lkey;
	w->wr.wr.mw.addr = (uintptr_t)buf; w->wr.wr.mw.length = 1;
	w->wr.wr.mw.access = 0xffffffff)
S(s_all_ones, memset(w, 0xff, sizeof(*w)))
S(s_atomic_odd, w->wr.wr.atomic.remote_addr = (uintptr_t)buf + BUF / 2 + 4;
	w->wr.wr.atomic.rkey = mr->rkey; w->dma.length = 8; w->dma.resid = 8;
	w->dma.sge[0].length = 8; w->iova = w->wr.wr.atomic.remote_addr)
S(s_atomic_sge, w->dma.sge[0].length = 1; w->dma.length = 1; w->dma.resid = 1)

static const struct wcase wcases[] = {
	{ "nothing wrong", IBV_WR_RDMA_WRITE, s_none, false },
	{ "opcode 0x3f", IBV_WR_SEND, s_op_3f, true },
	{ "opcode 0x7f", IBV_WR_SEND, s_op_7f, true },
	{ "opcode 0x100", IBV_WR_SEND, s_op_100, true },
	{ "opcode ~0", IBV_WR_SEND, s_op_max, true },
	{ "opcode with the top bit", IBV_WR_SEND, s_op_high, true },
	{ "opcode REG_MR", IBV_WR_SEND, s_op_reg, true },
	{ "opcode 11", IBV_WR_SEND, s_op_regmr, true },
	{ "opcode FLUSH", IBV_WR_SEND, s_op_flush, true },
	{ "opcode ATOMIC_WRITE", IBV_WR_SEND, s_op_awrite, true },
	{ "opcode TSO", IBV_WR_SEND, s_op_lsoptso, true },
	{ "5 SGEs of 4", IBV_WR_RDMA_WRITE, s_sge_5, true },
	{ "33 SGEs", IBV_WR_RDMA_WRITE, s_sge_33, true },
	{ "65535 SGEs", IBV_WR_RDMA_WRITE, s_sge_ffff, true },
	{ "2^31+1 SGEs", IBV_WR_RDMA_WRITE, s_sge_neg, true },
	{ "~0 SGEs", IBV_WR_RDMA_WRITE, s_sge_max, true },
	{ "~0 SGEs, read", IBV_WR_RDMA_READ, s_sge_max, true },
	{ "no SGE for 256 bytes", IBV_WR_RDMA_WRITE, s_sge_0, false },
	{ "cur_sge 65535", IBV_WR_RDMA_WRITE, s_cur_ffff, false },
	{ "cur_sge 1 of 1", IBV_WR_RDMA_WRITE, s_cur_1, false },
	{ "sge_offset 2^31", IBV_WR_RDMA_WRITE, s_off_big, false },
	{ "sge_offset ~0", IBV_WR_RDMA_READ, s_off_max, false },
	{ "resid ~0", IBV_WR_RDMA_WRITE, s_resid_big, false },
	{ "resid 0", IBV_WR_RDMA_WRITE, s_resid_0, false },
	{ "length ~0", IBV_WR_RDMA_WRITE, s_len_big, false },
	{ "length ~0, read", IBV_WR_RDMA_READ, s_len_big, false },
	{ "length above the sum of the SGEs", IBV_WR_SEND, s_len_more, false },
	{ "length below the sum of the SGEs", IBV_WR_SEND, s_len_less, false },
	{ "SGE of ~0 bytes", IBV_WR_RDMA_WRITE, s_sgelen_max, true },
	{ "SGE of 2^31+1 bytes", IBV_WR_RDMA_WRITE, s_sgelen_31, true },
	{ "SGEs whose sum is 2^32 and some", IBV_WR_RDMA_WRITE, s_sgelen_sum, true },
	{ "SGEs whose sum is 2^32 and some, read", IBV_WR_RDMA_READ, s_sgelen_sum, true },
	{ "SGE at ~0", IBV_WR_RDMA_WRITE, s_addr_max, true },
	{ "SGE at an address of the kernel", IBV_WR_RDMA_WRITE, s_addr_kernel, true },
	{ "lkey ~0", IBV_WR_RDMA_WRITE, s_lkey_max, true },
	{ "inline, 60000 bytes", IBV_WR_RDMA_WRITE, s_inl_big, true },
	{ "inline, ~0 bytes", IBV_WR_RDMA_WRITE, s_inl_max, true },
	{ "inline, one byte too many", IBV_WR_RDMA_WRITE, s_inl_edge, true },
	{ "inline read", IBV_WR_RDMA_READ, s_inl_big, true },
	{ "all flags", IBV_WR_RDMA_WRITE, s_flags_all, false },
	{ "state, status and mask ~0", IBV_WR_RDMA_WRITE, s_state, false },
	{ "state: done already", IBV_WR_RDMA_WRITE, s_done, false },
	{ "PSNs ~0", IBV_WR_RDMA_WRITE, s_psn, false },
	{ "has_rd_atomic ~0", IBV_WR_RDMA_READ, s_rdatomic, false },
	{ "iova ~0", IBV_WR_RDMA_WRITE, s_iova, false },
	{ "LOCAL_INV of ~0", IBV_WR_LOCAL_INV, s_inv, true },
	{ "SEND_INV of ~0", IBV_WR_SEND_WITH_INV, s_inv, false },
	{ "BIND_MW of ~0", IBV_WR_BIND_MW, s_mw, true },
	{ "BIND_MW of a region", IBV_WR_BIND_MW, s_mw_mr, true },
	{ "atomic with 1 byte of room", IBV_WR_ATOMIC_FETCH_AND_ADD, s_atomic_sge, true },
	{ "atomic with ~0 SGEs", IBV_WR_ATOMIC_CMP_AND_SWP, s_sge_max, true },
	{ "atomic without SGE", IBV_WR_ATOMIC_CMP_AND_SWP, s_sge_0, true },
	{ "atomic, not aligned", IBV_WR_ATOMIC_FETCH_AND_ADD, s_atomic_odd, true },
	{ "all ones", IBV_WR_SEND, s_all_ones, true },
};

static struct ibv_recv_wr *simple_recv(struct ibv_sge *sge, struct ibv_recv_wr *wr)
{
	sge->addr = (uintptr_t)buf + BUF / 4;
	sge->length = 512;
	sge->lkey = mr->lkey;
	memset(wr, 0, sizeof(*wr));
	wr->sg_list = sge;
	wr->num_sge = 1;
	return wr;
}

static void mode_wqe(void)
{
	struct ibv_recv_wr rwr, *rbad;
	struct ibv_sge sge;
	struct victim v;
	struct ibv_wc wc;
	bool got;
	size_t i;
	int k;

	for (i = 0; i < ARRAY_SIZE(wcases); i++) {
		const struct wcase *c = &wcases[i];

		if (!vt_want(c->name))
			continue;
		victim_make(&v, false, false);
		for (k = 0; k < 2; k++)
			ibv_post_recv(v.qp2, simple_recv(&sge, &rwr), &rbad);
		c->spoil(good_wqe(&v, c->opcode));
		push(&v);
		doorbell(v.qp);
		got = vt_poll(NULL, v.scq, &wc, c->error ? 2000 : 50);
		if (got && c->error && wc.status == IBV_WC_SUCCESS && strict)
			vt_fail("completed with success");
		if (!got && c->error && strict)
			vt_fail("no error completion");
		/* It must not complete twice */
		if (got && wc.wr_id == 77)
			while (ibv_poll_cq(v.scq, 1, &wc) > 0)
				if (wc.wr_id == 77)
					vt_fail("completed twice");
		victim_free(&v);
		vt_result("wqe: %s", c->name);
	}
}

/* ---- receive queue and indices ---- */

struct icase {
	const char *name;
	void (*spoil)(struct victim *v);
};

#define I(fn, stmt) static void fn(struct victim *v) { stmt; }
I(i_sq_prod_max, v->sq.b->producer_index = 0xffffffff)
I(i_sq_prod_over, v->sq.b->producer_index = v->sq.mask + 1)
I(i_sq_prod_neg, v->sq.b->producer_index = 0x80000000)
I(i_sq_prod_all, v->sq.b->producer_index = (v->sq.b->consumer_index - 1) & v->sq.mask)
I(i_sq_cons, v->sq.b->consumer_index = 0xffffffff)
I(i_sq_cons_ahead, v->sq.b->consumer_index = (v->sq.b->producer_index + 3) & v->sq.mask)
I(i_sq_mask, v->sq.b->index_mask = 0xffffffff; v->sq.b->log2_elem_size = 31)
I(i_sq_mask0, v->sq.b->index_mask = 0; v->sq.b->log2_elem_size = 0)
I(i_sq_pads, memset(v->sq.b->pad_1, 0xff, sizeof(v->sq.b->pad_1)))
I(i_sq_hdr, memset(v->sq.b, 0xff, sizeof(*v->sq.b)))
I(i_rq_prod_max, v->rq.b->producer_index = 0xffffffff)
I(i_rq_prod_over, v->rq.b->producer_index = v->rq.mask + 1)
I(i_rq_prod_all, v->rq.b->producer_index = (v->rq.b->consumer_index - 1) & v->rq.mask)
I(i_rq_cons, v->rq.b->consumer_index = 0xffffffff)
I(i_rq_mask, v->rq.b->index_mask = 0xffffffff; v->rq.b->log2_elem_size = 31)
I(i_rq_hdr, memset(v->rq.b, 0xff, sizeof(*v->rq.b)))
I(i_cq_cons_max, v->cq.b->consumer_index = 0xffffffff)
I(i_cq_cons_ahead, v->cq.b->consumer_index = (v->cq.b->producer_index + 5) & v->cq.mask)
I(i_cq_prod_max, v->cq.b->producer_index = 0xffffffff)
I(i_cq_mask, v->cq.b->index_mask = 0xffffffff; v->cq.b->log2_elem_size = 31)
I(i_cq_hdr, memset(v->cq.b, 0xff, sizeof(*v->cq.b)))

static const struct icase icases[] = {
	{ "SQ producer ~0", i_sq_prod_max },
	{ "SQ producer one past the ring", i_sq_prod_over },
	{ "SQ producer 2^31", i_sq_prod_neg },
	{ "SQ producer: all, never written", i_sq_prod_all },
	{ "SQ consumer ~0", i_sq_cons },
	{ "SQ consumer ahead of the producer", i_sq_cons_ahead },
	{ "SQ mask and element size too large", i_sq_mask },
	{ "SQ mask and element size 0", i_sq_mask0 },
	{ "SQ padding", i_sq_pads },
	{ "SQ header all ones", i_sq_hdr },
	{ "RQ producer ~0", i_rq_prod_max },
	{ "RQ producer one past the ring", i_rq_prod_over },
	{ "RQ producer: all, never written", i_rq_prod_all },
	{ "RQ consumer ~0", i_rq_cons },
	{ "RQ mask and element size too large", i_rq_mask },
	{ "RQ header all ones", i_rq_hdr },
	{ "CQ consumer ~0", i_cq_cons_max },
	{ "CQ consumer ahead of the producer", i_cq_cons_ahead },
	{ "CQ producer ~0", i_cq_prod_max },
	{ "CQ mask and element size too large", i_cq_mask },
	{ "CQ header all ones", i_cq_hdr },
};

/* Receive WQEs: what a message meets */
#define R(fn, stmt) static void fn(struct rxe_recv_wqe *w) { stmt; }
R(r_none, (void)w)
R(r_sge_5, w->dma.num_sge = 5)
R(r_sge_ffff, w->dma.num_sge = 0xffff)
R(r_sge_max, w->dma.num_sge = 0xffffffff)
R(r_sge_0, w->dma.num_sge = 0)
R(r_cur, w->dma.cur_sge = 0xffff)
R(r_off, w->dma.sge_offset = 0xffffffff)
R(r_len, w->dma.length = 0xffffffff; w->dma.resid = 0xffffffff)
R(r_len0, w->dma.length = 0; w->dma.resid = 0)
R(r_sgelen, w->dma.sge[0].length = 0xffffffff)
R(r_sum, w->dma.num_sge = 4;
	w->dma.sge[1] = w->dma.sge[0]; w->dma.sge[1].length = 0x80000000;
	w->dma.sge[2] = w->dma.sge[1]; w->dma.sge[3] = w->dma.sge[0])
R(r_addr, w->dma.sge[0].addr = ~0ULL)
R(r_lkey, w->dma.sge[0].lkey = 0xffffffff)
R(r_ones, memset(w, 0xff, sizeof(*w)))

static const struct { const char *name; void (*spoil)(struct rxe_recv_wqe *); } rcases[] = {
	{ "nothing wrong", r_none }, { "5 SGEs of 4", r_sge_5 },
	{ "65535 SGEs", r_sge_ffff }, { "~0 SGEs", r_sge_max },
	{ "no SGE", r_sge_0 }, { "cur_sge 65535", r_cur },
	{ "sge_offset ~0", r_off }, { "length ~0", r_len },
	{ "length 0", r_len0 }, { "SGE of ~0 bytes", r_sgelen },
	{ "SGEs whose sum is 2^32 and some", r_sum }, { "SGE at ~0", r_addr },
	{ "lkey ~0", r_lkey }, { "all ones", r_ones },
};

static void send_to(struct ibv_qp *qp, int n)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buf, .length = 256, .lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	}, *bad;

	while (n--)
		ibv_post_send(qp, &wr, &bad);
}

static void mode_index(void)
{
	struct ibv_recv_wr rwr, *rbad;
	struct ibv_sge sge;
	struct victim v;
	struct ibv_wc wc;
	size_t i;
	int k, s;

	for (i = 0; i < ARRAY_SIZE(icases); i++) {
		if (!vt_want(icases[i].name))
			continue;
		victim_make(&v, false, false);
		for (k = 0; k < 3; k++) {
			ibv_post_recv(v.qp, simple_recv(&sge, &rwr), &rbad);
			ibv_post_recv(v.qp2, simple_recv(&sge, &rwr), &rbad);
		}
		/* In the middle of work that is good */
		good_wqe(&v, IBV_WR_RDMA_WRITE);
		push(&v);
		doorbell(v.qp);
		send_to(v.qp2, 1);
		icases[i].spoil(&v);
		doorbell(v.qp);
		send_to(v.qp2, 3);
		usleep(3000);
		doorbell(v.qp);
		victim_free(&v);
		vt_result("index: %s", icases[i].name);
	}

	for (s = 0; s < 2; s++) {
		for (i = 0; i < ARRAY_SIZE(rcases); i++) {
			struct ring was[64], now[64];
			struct ring *rq = &v.rq;
			int n, m;

			victim_make(&v, false, s);
			if (s) {
				/* The SRQ's ring: the one that is none of the others */
				struct ibv_srq_init_attr sa = { .attr = { SQ_WR, 4, 0 } };

				ibv_destroy_qp(v.qp);
				ibv_destroy_srq(v.srq);
				n = find_rings(was, 64);
				v.srq = ibv_create_srq(dev.pd, &sa);
				m = find_rings(now, 64);
				for (k = 0; k < m; k++)
					if (!known(was, n, &now[k]))
						v.rq = now[k];
				v.qp = one_qp(&v, v.srq);
				if (!v.srq || !v.qp)
					vt_die("SRQ: %m");
				ibv_destroy_qp(v.qp2);
				v.qp2 = one_qp(&v, NULL);
				if (to_rts(v.qp, v.qp2->qp_num, false) ||
				    to_rts(v.qp2, v.qp->qp_num, false))
					vt_die("RTS: %m");
				ibv_post_srq_recv(v.srq, simple_recv(&sge, &rwr),
						  &rbad);
			} else {
				ibv_post_recv(v.qp, simple_recv(&sge, &rwr), &rbad);
			}
			rcases[i].spoil(elem(rq, rq->b->producer_index - 1));
			send_to(v.qp2, 1);
			/* Whatever it is, the sender must hear of it */
			if (!vt_poll(NULL, v.scq, &wc, 5000) && strict)
				vt_fail("the sender got no completion");
			victim_free(&v);
			vt_result("%s: %s", s ? "SRQ" : "RQ", rcases[i].name);
		}
	}
}

/* ---- UD: address handles out of thin air ---- */

static void mode_ud(void)
{
	struct ibv_ah_attr aa = {
		.is_global = 1, .port_num = 1,
		.grh = { dev.gid, 0, dev.gid_index, 64, 0 },
	};
	static const uint32_t bogus[] = {
		0, 1, 2, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff,
	};
	struct ibv_pd *pd2 = ibv_alloc_pd(dev.ctx);
	struct rxe_send_wqe *w;
	struct ibv_ah *ah;
	struct victim v;
	size_t i;
	int k;

	victim_make(&v, true, false);
	for (i = 0; i < ARRAY_SIZE(bogus) + 40; i++) {
		w = good_wqe(&v, IBV_WR_SEND);
		w->dma.length = 64;
		w->dma.resid = 64;
		w->dma.sge[0].length = 64;
		w->wr.wr.ud.remote_qpn = v.qp2->qp_num;
		w->wr.wr.ud.remote_qkey = 0x11;
		w->wr.wr.ud.pkey_index = i & 1 ? 0xffff : 0;
		memset(&w->wr.wr.ud.av, i & 2 ? 0xff : 0, sizeof(w->wr.wr.ud.av));
		w->wr.wr.ud.av.network_type = i % 5;
		if (i < ARRAY_SIZE(bogus)) {
			w->wr.wr.ud.ah_num = bogus[i];
		} else {
			/* Of another PD, and gone */
			ah = ibv_create_ah(pd2, &aa);
			if (!ah)
				vt_die("create_ah: %m");
			w->wr.wr.ud.ah_num = i;
			if (i & 1)
				ibv_destroy_ah(ah);
			push(&v);
			doorbell(v.qp);
			if (!(i & 1))
				ibv_destroy_ah(ah);
			goto again;
		}
		push(&v);
		doorbell(v.qp);
again:
		for (k = 0; k < 20; k++) {
			struct ibv_wc wc;

			if (ibv_poll_cq(v.scq, 1, &wc) > 0)
				break;
			usleep(500);
		}
		if (vt_qp_state(v.qp) != IBV_QPS_RTS) {
			victim_free(&v);
			victim_make(&v, true, false);
		}
	}
	victim_free(&v);
	if (ibv_dealloc_pd(pd2))
		vt_fail("dealloc_pd: %m");
	vt_result("ud: %zu sends with address handles of no one", i);
}

/* ---- at random ---- */

static const uint32_t nasty[] = {
	0, 1, 2, 3, 4, 5, 15, 16, 31, 32, 33, 0xff, 0x100, 0xffff, 0x10000,
	0x7fffffff, 0x80000000, 0x80000001, 0xfffffff0, 0xffffffff,
};

static void scribble(struct victim *v, uint64_t end)
{
	struct ring *r[3] = { &v->sq, &v->rq, &v->cq };

	while (vt_now_us() < end) {
		int k;

		for (k = 0; k < 256; k++) {
			struct ring *g = r[vt_rnd(8) % 3];
			volatile uint32_t *w;
			size_t off;

			if (!g->b)
				continue;
			switch (vt_rnd(6)) {
			case 0:		/* indices */
				off = vt_rnd(2) ?
					offsetof(struct rxe_queue_buf, producer_index) :
					offsetof(struct rxe_queue_buf, consumer_index);
				break;
			case 1:		/* anywhere */
				off = vt_rnd(g->bytes / 4) * 4;
				break;
			default:	/* the part that says how much */
				off = sizeof(*g->b) +
				      (size_t)vt_rnd(g->mask + 1) * g->elem;
				if (g == &v->sq)
					off += vt_rnd(sizeof(struct rxe_send_wqe) / 4 + 16) * 4;
				else if (g == &v->rq)
					off += vt_rnd(sizeof(struct rxe_recv_wqe) / 4 + 16) * 4;
			}
			if (off + 4 > g->bytes)
				continue;
			w = (uint32_t *)((uint8_t *)g->b + off);
			switch (vt_rnd(4)) {
			case 0:
				*w = vt_rand();
				break;
			case 1:
				*w ^= 1u << vt_rnd(32);
				break;
			default:
				*w = nasty[vt_rnd(ARRAY_SIZE(nasty))];
			}
		}
		if (vt_rnd(16) == 0)
			usleep(100);
	}
}

static void post_wildly(struct victim *v, uint64_t end)
{
	static const uint32_t ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE_WITH_IMM,
	};

	while (vt_now_us() < end) {
		struct rxe_recv_wqe *rw;

		good_wqe(v, ops[vt_rnd(ARRAY_SIZE(ops))]);
		push(v);
		if (v->rq.b) {
			rw = elem(&v->rq, v->rq.b->producer_index);
			rw->dma.num_sge = 1;
			rw->dma.sge[0].addr = (uintptr_t)buf + 8192;
			rw->dma.sge[0].length = 4096;
			rw->dma.sge[0].lkey = mr->lkey;
			v->rq.b->producer_index = (v->rq.b->producer_index + 1) &
						  v->rq.mask;
		}
		doorbell(v->qp);
		if (vt_rnd(4) == 0)
			send_to(v->qp2, 1);
		v->cq.b->consumer_index = v->cq.b->producer_index;
	}
}

/* The process that owns the objects; may die of its own lies */
static void own(int id)
{
	uint64_t end = vt_now_us() + secs * 1000000ULL, slice;
	pid_t child[8];
	struct victim v;
	int i, rounds = 0;

	vt_srand(vt_now_us() + id);
	while (vt_now_us() < end) {
		victim_make(&v, false, vt_rnd(2));
		slice = vt_now_us() + 20000 + vt_rnd(80000);
		for (i = 0; i < n_procs; i++) {
			child[i] = fork();
			if (!child[i]) {
				vt_srand(vt_now_us() + getpid());
				if (i)
					scribble(&v, slice);
				else
					post_wildly(&v, slice);
				_exit(0);
			}
		}
		/* Modify and arm while that goes on, without touching rings */
		while (vt_now_us() < slice) {
			switch (vt_rnd(4)) {
			case 0:
				if (vt_qp_state(v.qp) == IBV_QPS_ERR) {
					vt_qp_to(v.qp, IBV_QPS_RESET);
					vt_qp_to(v.qp2, IBV_QPS_RESET);
					to_rts(v.qp, v.qp2->qp_num, false);
					to_rts(v.qp2, v.qp->qp_num, false);
				}
				break;
			case 1:
				ibv_req_notify_cq(v.scq, vt_rnd(2));
				break;
			case 2:
				doorbell(v.qp);
				break;
			default:
				usleep(1000);
			}
		}
		/* Half of the time destroyed under their hands */
		if (vt_rnd(2))
			for (i = 0; i < n_procs; i++)
				waitpid(child[i], NULL, 0);
		ibv_destroy_qp(v.qp);
		ibv_destroy_qp(v.qp2);
		if (v.srq)
			ibv_destroy_srq(v.srq);
		ibv_destroy_cq(v.scq);
		ibv_destroy_cq(v.rcq);
		while (waitpid(-1, NULL, 0) > 0)
			;
		rounds++;
	}
	_exit(rounds ? 0 : 1);
}

static void mode_scribble(void)
{
	struct victim v;
	struct ibv_wc wc;
	int i, st, died = 0, bad = 0;
	pid_t p;

	for (i = 0; i < 2; i++) {
		p = fork();
		if (!p) {
			/* An open file of its own: what it breaks is its own */
			vt_open(&dev);
			mr = vt_reg(&dev, buf, BUF, vt_qp_default.access);
			own(i);
		}
	}
	while ((p = wait(&st)) > 0) {
		if (WIFSIGNALED(st))
			died++;
		else if (WEXITSTATUS(st))
			bad++;
	}
	if (died)
		vt_note("%d processes died of what they wrote", died);
	vt_ok(!bad, "scribble: %d s of random writes into queues at work", secs);

	/* And the device still works for others */
	victim_make(&v, false, false);
	good_wqe(&v, IBV_WR_RDMA_WRITE);
	vt_fill(buf, 256, 9, 0);
	memset(buf + BUF / 2, 0, 256);
	push(&v);
	doorbell(v.qp);
	if (!vt_poll(NULL, v.scq, &wc, -1) || wc.status ||
	    !vt_same(buf + BUF / 2, 256, 9, 0, NULL))
		vt_fail("a good write fails");
	victim_free(&v);
	vt_result("scribble: the device works afterwards");
}

/* ---- mappings ---- */

static int try_map(int fd, size_t len, int prot, int flags, off_t off)
{
	void *p = mmap(NULL, len, prot, flags, fd, off);

	if (p == MAP_FAILED)
		return errno;
	munmap(p, len);
	return 0;
}

static void mode_mmap(void)
{
	int fd = dev.ctx->cmd_fd, i, rc, st, hits = 0;
	struct ring r[64];
	struct ibv_cq *cq;
	volatile uint32_t sum = 0;
	uint8_t *copy;
	pid_t p;
	int n;

	for (i = 0; i < 4096; i++)
		hits += !try_map(fd, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
				 (off_t)(vt_rand() & 0xfffffff) << 12);
	vt_ok(!hits, "mmap: random offsets are refused");
	rc = try_map(fd, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	vt_ok(rc, "mmap: offset 0 is refused");

	cq = ibv_create_cq(dev.ctx, 100, NULL, NULL, 0);
	n = find_rings(r, 64);
	if (!cq || n < 1)
		vt_die("create_cq: %m");
	rc = try_map(fd, r[n - 1].bytes + 4096, PROT_READ, MAP_SHARED, r[n - 1].off);
	vt_ok(rc, "mmap: longer than the queue is refused");
	rc = try_map(fd, r[n - 1].bytes, PROT_READ, MAP_SHARED,
		     r[n - 1].off + 4096);
	vt_ok(rc, "mmap: from its second page on is refused");

	/* Another file, another process: none of its business */
	p = fork();
	if (!p) {
		struct vt_dev d2;

		vt_open(&d2);
		_exit(try_map(d2.ctx->cmd_fd, r[n - 1].bytes, PROT_READ,
			      MAP_SHARED, r[n - 1].off) ? 0 : 1);
	}
	waitpid(p, &st, 0);
	vt_ok(WIFEXITED(st) && !WEXITSTATUS(st),
	      "mmap: a queue of another open file is refused");

	/* Pages outlive the object for whoever has them mapped still */
	p = fork();
	if (!p) {
		usleep(100000);
		for (i = 0; i < (int)r[n - 1].bytes; i += 64)
			sum += *((volatile uint8_t *)r[n - 1].b + i);
		_exit(0);
	}
	copy = mremap(r[n - 1].b, r[n - 1].bytes, r[n - 1].bytes * 2,
		      MREMAP_MAYMOVE);
	vt_ok(copy == MAP_FAILED, "mmap: a mapping cannot be made longer");
	if (ibv_destroy_cq(cq))
		vt_fail("destroy_cq");
	waitpid(p, &st, 0);
	vt_ok(WIFEXITED(st) && !WEXITSTATUS(st),
	      "mmap: a queue can be read after it was destroyed");
	rc = try_map(fd, r[n - 1].bytes, PROT_READ, MAP_SHARED, r[n - 1].off);
	vt_ok(rc, "mmap: a destroyed queue is refused");

	/* One creates and destroys, the other maps whatever there might be */
	p = fork();
	if (!p) {
		uint64_t end = vt_now_us() + 1000000;

		while (vt_now_us() < end) {
			off_t o = r[n - 1].off + (off_t)vt_rnd(4096) * 4096;
			void *m = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, o);

			if (m != MAP_FAILED) {
				sum += *(volatile uint32_t *)m;
				munmap(m, 4096);
			}
		}
		_exit(0);
	}
	for (i = 0; waitpid(p, &st, WNOHANG) == 0; i++) {
		cq = ibv_create_cq(dev.ctx, 10, NULL, NULL, 0);
		if (cq)
			ibv_destroy_cq(cq);
	}
	vt_ok(WIFEXITED(st) && !WEXITSTATUS(st), "mmap: raced with %d creations", i);
}

/* ---- response pointers ---- */

static int raw(void *cmd, size_t len, uint32_t command, size_t out)
{
	struct ib_uverbs_cmd_hdr *h = cmd;

	h->command = command;
	h->in_words = len / 4;
	h->out_words = out / 4;
	return write(dev.ctx->cmd_fd, cmd, len) == (ssize_t)len ? 0 : errno;
}

static void mode_resp(void)
{
	static const uint64_t bad[] = {
		0x10, 0xdead0000, 0xffff888000000000ULL, ~0ULL - 7,
	};
	struct ibv_srq_init_attr sa = { .attr = { 16, 1, 0 } };
	struct { struct ib_uverbs_cmd_hdr h; struct ib_uverbs_create_cq c; } cq;
	struct { struct ib_uverbs_cmd_hdr h; struct ib_uverbs_resize_cq c; } rs;
	struct { struct ib_uverbs_cmd_hdr h; struct ib_uverbs_create_qp c; } qp;
	struct {
		struct ib_uverbs_cmd_hdr h;
		struct ib_uverbs_modify_srq c;
		struct rxe_modify_srq_cmd d;
	} ms;
	struct { struct ib_uverbs_create_cq_resp r; struct rxe_create_cq_resp d; } out;
	struct ibv_cq *c1 = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	struct ibv_srq *srq = ibv_create_srq(dev.pd, &sa);
	size_t i;
	int rc, k;

	if (!c1 || !srq)
		vt_die("create: %m");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (k = 0; k < 8; k++) {
			memset(&cq, 0, sizeof(cq));
			cq.c.response = bad[i];
			cq.c.cqe = 16;
			cq.c.comp_channel = -1;
			rc = raw(&cq, sizeof(cq), IB_USER_VERBS_CMD_CREATE_CQ,
				 sizeof(out));
			if (!rc)
				vt_fail("create_cq with response %llx: success",
					(unsigned long long)bad[i]);

			memset(&rs, 0, sizeof(rs));
			rs.c.response = bad[i];
			rs.c.cq_handle = c1->handle;
			rs.c.cqe = 64 << k % 3;
			rc = raw(&rs, sizeof(rs), IB_USER_VERBS_CMD_RESIZE_CQ,
				 sizeof(struct ib_uverbs_resize_cq_resp) +
				 sizeof(struct rxe_resize_cq_resp));
			if (!rc)
				vt_fail("resize_cq with response %llx: success",
					(unsigned long long)bad[i]);

			memset(&qp, 0, sizeof(qp));
			qp.c.response = bad[i];
			qp.c.pd_handle = dev.pd->handle;
			qp.c.send_cq_handle = c1->handle;
			qp.c.recv_cq_handle = c1->handle;
			qp.c.max_send_wr = 8;
			qp.c.max_recv_wr = 8;
			qp.c.max_send_sge = 1;
			qp.c.max_recv_sge = 1;
			qp.c.qp_type = IBV_QPT_RC;
			rc = raw(&qp, sizeof(qp), IB_USER_VERBS_CMD_CREATE_QP,
				 sizeof(struct ib_uverbs_create_qp_resp) +
				 sizeof(struct rxe_create_qp_resp));
			if (!rc)
				vt_fail("create_qp with response %llx: success",
					(unsigned long long)bad[i]);

			memset(&ms, 0, sizeof(ms));
			ms.c.srq_handle = srq->handle;
			ms.c.attr_mask = IBV_SRQ_MAX_WR;
			ms.c.max_wr = 64 << k % 3;
			ms.d.mmap_info_addr = bad[i];
			rc = raw(&ms, sizeof(ms), IB_USER_VERBS_CMD_MODIFY_SRQ, 0);
			if (!rc)
				vt_fail("modify_srq with address %llx: success",
					(unsigned long long)bad[i]);
		}
	}
	/* Too short for what the driver wants to tell */
	for (i = 0; i < sizeof(out); i += 4) {
		memset(&cq, 0, sizeof(cq));
		cq.c.response = (uintptr_t)&out;
		cq.c.cqe = 16;
		cq.c.comp_channel = -1;
		rc = raw(&cq, sizeof(cq), IB_USER_VERBS_CMD_CREATE_CQ, i);
		if (!rc && i < sizeof(out.r))
			vt_fail("create_cq with room for %zu bytes: success", i);
	}
	vt_result("resp: bad response pointers and lengths are refused");
	rc = ibv_destroy_cq(c1);
	if (!rc)
		rc = ibv_destroy_srq(srq);
	vt_ok(!rc, "resp: the objects can be destroyed");
}

static void run(void)
{
	static const struct { const char *name; void (*fn)(void); } modes[] = {
		{ "wqe", mode_wqe }, { "index", mode_index }, { "ud", mode_ud },
		{ "mmap", mode_mmap }, { "resp", mode_resp },
		{ "scribble", mode_scribble },
	};
	size_t i;

	vt_open(&dev);
	buf = mmap(NULL, BUF, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	mr = vt_reg(&dev, buf, BUF, vt_qp_default.access);
	if (vt.scale < 100)
		secs = vt_scaled(secs, 2);
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		if (strstr(modes[i].name, mode))
			modes[i].fn();
	if (ibv_dereg_mr(mr))
		vt_fail("dereg_mr: %m");
	vt_close(&dev);
	vt_result("objects are gone again");
}

static void opt(int c, const char *arg)
{
	switch (c) {
	case 'm':
		mode = arg;
		break;
	case 't':
		secs = atoi(arg);
		break;
	case 'p':
		n_procs = atoi(arg);
		break;
	case 'E':
		strict = true;
		break;
	}
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "m:t:p:E", opt, run, NULL);
}
