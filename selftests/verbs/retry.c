// SPDX-License-Identifier: GPL-2.0
/*
 * Receivers that are not ready and peers that are not there: the verbs' retry
 * counts and timers keep their meaning, errors come in bounded time, and one
 * stream's trouble is not another's.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vt.h"

#define BUF	(1 << 20)

static struct vt_dev dev;
static uint8_t *buf;
static struct ibv_mr *mr;
static uint64_t peer_buf;
static uint32_t peer_key;

static void post_send(struct vt_qp *q, enum ibv_wr_opcode op, uint64_t id,
		      uint32_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)buf + off, len, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = id, .opcode = op, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = id,
	}, *bad;
	int rc;

	wr.wr.rdma.remote_addr = peer_buf + off;
	wr.wr.rdma.rkey = peer_key;
	rc = ibv_post_send(q->qp, &wr, &bad);
	if (rc)
		vt_fail("post_send %llu: %s", (unsigned long long)id, strerror(rc));
}

static void post_recv(struct vt_qp *q, uint64_t id, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)buf + off, len, mr->lkey };
	struct ibv_recv_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
	}, *bad;
	int rc = ibv_post_recv(q->qp, &wr, &bad);

	if (rc)
		vt_fail("post_recv: %s", strerror(rc));
}

/* Milliseconds until the completion, which must have that status */
static int timed(struct vt_qp *q, enum ibv_wc_status st, uint64_t t0)
{
	struct ibv_wc wc;

	if (!vt_expect(q, q->scq, &wc, st, "send"))
		return -1;
	return (vt_now_us() - t0) / 1000;
}

static void within(int ms, int lo, int hi)
{
	if (ms >= 0 && ms < lo)
		vt_fail("the error came after %d ms, not before %d are due", ms, lo);
	if (ms > hi * vt.slow)
		vt_fail("the error took %d ms, more than %d", ms, hi * vt.slow);
}

static void need_state(struct vt_qp *q, enum ibv_qp_state st)
{
	enum ibv_qp_state is = vt_qp_wait_state(q->qp, st, 2000);

	if (is != st)
		vt_fail("QP in state %d, not %d", is, st);
}

/* ---- no receive posted ---- */

static void rnr_bound(int rnr_retry, int timer, int lo_ms, int hi_ms,
		      enum ibv_wr_opcode op)
{
	struct vt_qp_attr at = vt_qp_default;
	struct vt_qp q;

	at.rnr_retry = rnr_retry;
	at.min_rnr = timer;
	vt_qp_create(&q, &dev, &at);
	vt_qp_connect(&q);
	if (vt_side == VT_A) {
		uint64_t t0 = vt_now_us();

		post_send(&q, op, 1, 0, 3000);
		within(timed(&q, IBV_WC_RNR_RETRY_EXC_ERR, t0), lo_ms, hi_ms);
		need_state(&q, IBV_QPS_ERR);
	}
	vt_sync("done");
	if (vt_side == VT_B && vt_qp_state(q.qp) != IBV_QPS_RTS)
		vt_fail("the receiver's QP left RTS");
	vt_qp_destroy(&q);
	vt_verdict("%s without a receive, rnr_retry %d, timer %d: fails after %d to %d ms",
		   vt_op_name(op), rnr_retry, timer, lo_ms, hi_ms);
}

static void rnr_late(enum ibv_wr_opcode op, int n, int first, int wait_ms)
{
	bool imm_write = op == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_wc wc;
	struct vt_qp q;
	int i;

	memset(buf, CANARY, BUF);
	vt_qp_create(&q, &dev, NULL);
	vt_qp_connect(&q);
	if (vt_side == VT_A) {
		vt_fill(buf, BUF, 11, 0);
		for (i = 0; i < n; i++)
			post_send(&q, op, i, i * 8192, 3000 + i * 100);
		for (i = 0; i < n && !vt_failed(); i++) {
			vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "send");
			if (wc.wr_id != (uint64_t)i)
				vt_fail("completion %d has wr_id %llu", i,
					(unsigned long long)wc.wr_id);
		}
	} else {
		for (i = 0; i < first; i++)
			post_recv(&q, i, i * 8192, 8192);
		usleep(wait_ms * 1000);
		for (; i < n; i++)
			post_recv(&q, i, i * 8192, 8192);
		for (i = 0; i < n && !vt_failed(); i++) {
			size_t w;

			vt_expect(&q, q.rcq, &wc, IBV_WC_SUCCESS, "receive");
			if (wc.wr_id != (uint64_t)i)
				vt_fail("receive %d has wr_id %llu", i,
					(unsigned long long)wc.wr_id);
			if (wc.byte_len != 3000u + i * 100)
				vt_fail("receive %d: %u bytes", i, wc.byte_len);
			if (imm_write && wc.imm_data != (uint32_t)i)
				vt_fail("receive %d: immediate %u", i, wc.imm_data);
			if (!vt_same(buf + i * 8192, wc.byte_len, 11, i * 8192, &w))
				vt_fail("receive %d: byte %zu wrong", i, w);
		}
		vt_expect_none(q.rcq, 5, "receives");
	}
	vt_sync("done");
	vt_qp_destroy(&q);
	vt_verdict("%d x %s, %d receives posted, the others %d ms later: all arrive, in order",
		   n, vt_op_name(op), first, wait_ms);
}

static void rnr_destroy(void)
{
	struct vt_qp q;
	uint64_t t0;
	int i;

	vt_qp_create(&q, &dev, NULL);
	vt_qp_connect(&q);
	if (vt_side == VT_A) {
		for (i = 0; i < 20; i++)
			post_send(&q, IBV_WR_SEND, i, 0, 3000);
		usleep(50000);
	}
	vt_sync("stuck");
	t0 = vt_now_us();
	vt_qp_destroy(&q);
	if (vt_now_us() - t0 > 2000000ULL * vt.slow)
		vt_fail("destroy took %llu ms",
			(unsigned long long)(vt_now_us() - t0) / 1000);
	vt_verdict("a QP that waits for a receive can be destroyed at once");
}

/* A stream that waits does not hold up another one to the same peer */
static void rnr_neighbour(void)
{
	struct vt_qp_attr at = vt_qp_default;
	struct vt_qp stuck, q;
	struct ibv_wc wc;
	uint64_t t0;
	int i, k;

	at.min_rnr = 0;		/* 655 ms */
	vt_qp_create(&stuck, &dev, &at);
	vt_qp_connect(&stuck);
	vt_qp_create(&q, &dev, NULL);
	vt_qp_connect(&q);
	if (vt_side == VT_A) {
		for (i = 0; i < 32; i++)
			post_send(&stuck, IBV_WR_SEND, i, 0, 4000);
		usleep(20000);
		t0 = vt_now_us();
		for (i = 0; i < 20 && !vt_failed(); i++) {
			for (k = 0; k < 10; k++)
				post_send(&q, IBV_WR_RDMA_WRITE, k, 0, 4000);
			for (k = 0; k < 10; k++)
				vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "write");
		}
		if (vt_now_us() - t0 > 5000000ULL * vt.slow)
			vt_fail("200 writes took %llu ms",
				(unsigned long long)(vt_now_us() - t0) / 1000);
		if (ibv_poll_cq(stuck.scq, 1, &wc) > 0)
			vt_fail("a send without receive completed: %s",
				ibv_wc_status_str(wc.status));
	}
	vt_sync("written");
	if (vt_side == VT_B) {
		for (i = 0; i < 32; i++)
			post_recv(&stuck, i, 0, 4096);
		for (i = 0; i < 32; i++)
			vt_expect(&stuck, stuck.rcq, &wc, IBV_WC_SUCCESS, "receive");
	} else {
		for (i = 0; i < 32; i++)
			vt_expect(&stuck, stuck.scq, &wc, IBV_WC_SUCCESS, "send");
	}
	vt_sync("done");
	vt_qp_destroy(&stuck);
	vt_qp_destroy(&q);
	vt_verdict("a stream without receives does not hold up its neighbour");
}

/* ---- nobody there ---- */

enum gone { RESET, ERR, DESTROYED, NEVER, OTHER_QP };

static void retry_bound(enum gone how, const char *what, int tmo, int cnt,
			int lo_ms, int hi_ms)
{
	struct vt_qp_attr at = vt_qp_default;
	struct vt_qp q, other;
	bool alive = true;
	int rc = 0;

	at.timeout = tmo;
	at.retry_cnt = cnt;
	vt_qp_create(&q, &dev, &at);
	vt_qp_create(&other, &dev, &at);
	vt_qp_exchange(&other);
	vt_qp_exchange(&q);
	if (how == OTHER_QP && vt_side == VT_B) {
		/* q is B's, but connected to A's other QP */
		q.peer_qpn = other.peer_qpn;
	}
	rc = vt_qp_init(&q);
	if (!(how == NEVER && vt_side == VT_B)) {
		if (!rc)
			rc = vt_qp_rtr(&q);
		if (!rc)
			rc = vt_qp_rts(&q);
	}
	if (rc)
		vt_die("modify_qp: %s", strerror(rc));
	vt_sync("up");
	if (vt_side == VT_B) {
		switch (how) {
		case RESET:
			vt_qp_to(q.qp, IBV_QPS_RESET);
			break;
		case ERR:
			vt_qp_to(q.qp, IBV_QPS_ERR);
			break;
		case DESTROYED:
			vt_qp_destroy(&q);
			alive = false;
			break;
		default:
			break;
		}
	}
	vt_sync("gone");
	if (vt_side == VT_A) {
		uint64_t t0 = vt_now_us();
		struct ibv_wc wc;

		post_send(&q, IBV_WR_RDMA_WRITE, 1, 0, 100);
		post_send(&q, IBV_WR_RDMA_WRITE, 2, 0, 100);
		within(timed(&q, IBV_WC_RETRY_EXC_ERR, t0), lo_ms, hi_ms);
		vt_expect(&q, q.scq, &wc, IBV_WC_WR_FLUSH_ERR, "second");
		need_state(&q, IBV_QPS_ERR);
	}
	vt_sync("done");
	if (vt_side == VT_B && how == OTHER_QP && vt_qp_state(q.qp) != IBV_QPS_RTS)
		vt_fail("a stranger moved the QP to %d", vt_qp_state(q.qp));
	if (alive)
		vt_qp_destroy(&q);
	vt_qp_destroy(&other);
	vt_verdict("peer's QP %s, timeout %d, retry_cnt %d: fails after %d to %d ms",
		   what, tmo, cnt, lo_ms, hi_ms);
}

static void late_rtr(void)
{
	struct ibv_wc wc;
	struct vt_qp q;

	vt_qp_create(&q, &dev, NULL);
	vt_qp_exchange(&q);
	if (vt_qp_init(&q))
		vt_die("INIT: %m");
	if (vt_side == VT_B) {
		vt_sync("A is on");
		usleep(100000);
	}
	if (vt_qp_rtr(&q) || vt_qp_rts(&q))
		vt_die("RTS: %m");
	if (vt_side == VT_A) {
		post_send(&q, IBV_WR_RDMA_WRITE, 1, 0, 100);
		vt_sync("A is on");
		vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "write");
	}
	vt_sync("done");
	vt_qp_destroy(&q);
	vt_verdict("a QP that is ready 100 ms after its peer sends: nothing lost");
}

/* The peer's process is killed while both send */
static void killed(void)
{
	struct vt_qp_attr at = vt_qp_default;
	struct ibv_wc wc;
	struct vt_qp q;
	pid_t p = 0;
	int i, st;

	at.timeout = 12;
	at.retry_cnt = 3;
	vt_sync("before");
	if (vt_side == VT_B) {
		/* Opens its own device; the parent only kills it */
		p = fork();
		if (!p) {
			vt_open(&dev);
			buf = vt_alloc(BUF);
			mr = vt_reg(&dev, buf, BUF, vt_qp_default.access);
			vt_swap((uintptr_t)buf);
			vt_swap(mr->rkey);
			vt_qp_create(&q, &dev, &at);
			vt_qp_connect(&q);
			for (i = 0; i < 64; i++)
				post_recv(&q, i, 0, 65536);
			vt_sync("running");
			for (;;)
				pause();
		}
		/* A talks to the child now, and tells us when it is time */
		sleep(1);
		kill(p, SIGKILL);
		waitpid(p, &st, 0);
		vt_sync("killed");
	} else {
		peer_buf = vt_swap((uintptr_t)buf);
		peer_key = vt_swap(mr->rkey);
		vt_qp_create(&q, &dev, &at);
		vt_qp_connect(&q);
		vt_sync("running");
		for (i = 0; i < 1000000; i++) {
			post_send(&q, IBV_WR_RDMA_WRITE, i, 0, 65536);
			if (!vt_poll(&q, q.scq, &wc, -1)) {
				vt_fail("no completion");
				break;
			}
			if (wc.status)
				break;
		}
		if (wc.status != IBV_WC_RETRY_EXC_ERR &&
		    wc.status != IBV_WC_REM_ACCESS_ERR)
			vt_fail("'%s' after the peer was killed",
				ibv_wc_status_str(wc.status));
		vt_qp_destroy(&q);
		vt_sync("killed");
	}
	peer_buf = vt_swap((uintptr_t)buf);
	peer_key = vt_swap(mr->rkey);
	/* And the next one works */
	vt_qp_create(&q, &dev, NULL);
	vt_qp_connect(&q);
	if (vt_side == VT_A) {
		post_send(&q, IBV_WR_RDMA_WRITE, 1, 0, 65536);
		vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "write afterwards");
	}
	vt_sync("done");
	vt_qp_destroy(&q);
	vt_verdict("peer killed under traffic: an error in time, and the next QP works");
}

static void both(void)
{
	vt_open(&dev);
	buf = vt_alloc(BUF);
	mr = vt_reg(&dev, buf, BUF, vt_qp_default.access);
	peer_buf = vt_swap((uintptr_t)buf);
	peer_key = vt_swap(mr->rkey);

	rnr_bound(0, 12, 0, 2000, IBV_WR_SEND);
	rnr_bound(0, 12, 0, 2000, IBV_WR_RDMA_WRITE_WITH_IMM);
	rnr_bound(1, 0, 600, 5000, IBV_WR_SEND);	/* 655.36 ms */
	rnr_bound(3, 20, 25, 3000, IBV_WR_SEND);	/* 10.24 ms */
	rnr_bound(6, 1, 0, 3000, IBV_WR_SEND);		/* 10 us */
	rnr_late(IBV_WR_SEND, 1, 0, 200);
	rnr_late(IBV_WR_SEND, 40, 10, 100);
	rnr_late(IBV_WR_SEND_WITH_IMM, 40, 0, 50);
	rnr_late(IBV_WR_RDMA_WRITE_WITH_IMM, 40, 10, 100);
	rnr_destroy();
	rnr_neighbour();

	retry_bound(RESET, "in RESET", 12, 2, 20, 8000);
	retry_bound(NEVER, "never ready", 10, 3, 8, 8000);
	retry_bound(ERR, "in ERR", 12, 2, 0, 8000);
	retry_bound(DESTROYED, "destroyed", 12, 2, 20, 8000);
	retry_bound(OTHER_QP, "connected to another", 12, 2, 20, 8000);
	retry_bound(DESTROYED, "destroyed", 14, 1, 50, 8000);
	late_rtr();
	killed();

	if (ibv_dereg_mr(mr))
		vt_fail("dereg_mr: %m");
	vt_close(&dev);
	vt_verdict("objects are gone again");
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "", NULL, both, both);
}
