// SPDX-License-Identifier: GPL-2.0
/*
 * Completion events, resizing and overflow of completion queues, shared
 * receive queues and their events.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vt.h"

#define BUF	(1 << 20)

static struct vt_dev dev;
static uint8_t *buf;
static struct ibv_mr *mr;
static uint64_t peer_buf;
static uint32_t peer_key;
static bool strict;

static void post_send(struct vt_qp *q, enum ibv_wr_opcode op, uint64_t id,
		      uint32_t len, int flags)
{
	struct ibv_sge sge = { (uintptr_t)buf, len, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = id, .opcode = op, .sg_list = &sge, .num_sge = 1,
		.send_flags = flags,
	}, *bad;
	int rc;

	wr.wr.rdma.remote_addr = peer_buf;
	wr.wr.rdma.rkey = peer_key;
	rc = ibv_post_send(q->qp, &wr, &bad);
	if (rc)
		vt_fail("post_send %llu: %s", (unsigned long long)id, strerror(rc));
}

static void post_recv(struct vt_qp *q, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)buf + id % 64 * 4096, 4096, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;
	int rc;

	if (q->srq)
		rc = ibv_post_srq_recv(q->srq, &wr, &bad);
	else
		rc = ibv_post_recv(q->qp, &wr, &bad);
	if (rc)
		vt_fail("post_recv: %s", strerror(rc));
}

static bool channel(struct vt_qp *q, int ms)
{
	struct pollfd pfd = { q->ch->fd, POLLIN, 0 };
	struct ibv_cq *cq;
	void *arg;

	if (poll(&pfd, 1, ms) <= 0)
		return false;
	if (ibv_get_cq_event(q->ch, &cq, &arg))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void drain(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
}

/* ---- events ---- */

static void arm(void)
{
	struct ibv_wc wc;
	struct vt_qp q;
	int i;

	vt.events = true;
	vt_qp_create(&q, &dev, NULL);
	vt.events = false;
	vt_qp_connect(&q);
	for (i = 0; i < 40; i++)
		post_recv(&q, i);

	/* One event an arm */
	if (vt_side == VT_B) {
		if (ibv_req_notify_cq(q.rcq, 0))
			vt_fail("req_notify_cq");
	}
	vt_sync("armed");
	if (vt_side == VT_A) {
		post_send(&q, IBV_WR_SEND, 1, 10, IBV_SEND_SIGNALED);
		vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "send");
		post_send(&q, IBV_WR_SEND, 2, 10, IBV_SEND_SIGNALED);
		vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "send");
	}
	vt_sync("sent");
	if (vt_side == VT_B) {
		if (!channel(&q, 5000))
			vt_fail("armed, a message came, no event");
		if (channel(&q, 30))
			vt_fail("two events for one arm");
		vt_poll(NULL, q.rcq, &wc, -1);
		vt_poll(NULL, q.rcq, &wc, -1);
	}
	vt_verdict("one event for one arm");

	/* Not armed: none */
	vt_sync("not armed");
	if (vt_side == VT_A) {
		post_send(&q, IBV_WR_SEND, 3, 10, IBV_SEND_SIGNALED);
		vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "send");
	}
	vt_sync("sent");
	if (vt_side == VT_B) {
		if (channel(&q, 30))
			vt_fail("an event without an arm");
		drain(q.rcq);
	}
	vt_verdict("no event without an arm");

	/* Solicited only */
	if (vt_side == VT_B && ibv_req_notify_cq(q.rcq, 1))
		vt_fail("req_notify_cq");
	vt_sync("armed");
	if (vt_side == VT_A) {
		post_send(&q, IBV_WR_SEND, 4, 10, IBV_SEND_SIGNALED);
		vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "send");
	}
	vt_sync("sent");
	if (vt_side == VT_B && channel(&q, 50))
		vt_fail("armed for solicited, an event for another");
	vt_sync("next");
	if (vt_side == VT_A) {
		post_send(&q, IBV_WR_SEND, 5, 10,
			  IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
		post_send(&q, IBV_WR_RDMA_WRITE_WITH_IMM, 5, 10,
			  IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	}
	if (vt_side == VT_B) {
		if (!channel(&q, 5000))
			vt_fail("a solicited message, no event");
		drain(q.rcq);
	}
	vt_verdict("armed for solicited: an event for these only");

	/* An error counts as solicited */
	vt_sync("flush");
	if (vt_side == VT_B) {
		drain(q.rcq);
		channel(&q, 0);
		if (ibv_req_notify_cq(q.rcq, 1))
			vt_fail("req_notify_cq");
		if (vt_qp_to(q.qp, IBV_QPS_ERR))
			vt_fail("to ERR: %m");
		if (!channel(&q, 5000))
			vt_fail("flushed receives, no event");
	}
	vt_sync("done");
	vt_qp_destroy(&q);
	vt_verdict("armed for solicited: an event for a flush");
}

/* Arm, poll until empty, wait: never a completion without an event */
static void arm_race(void)
{
	int n = vt_scaled(2000, 100), i, late = 0;
	struct ibv_wc wc;
	struct vt_qp q;

	vt.events = true;
	vt_qp_create(&q, &dev, NULL);
	vt.events = false;
	vt_qp_connect(&q);
	for (i = 0; i < 32; i++)
		post_recv(&q, i);
	vt_sync("ready");
	for (i = 0; i < n && !vt_failed(); i++) {
		if (vt_side == VT_A)
			post_send(&q, IBV_WR_SEND, 1000, 8, i % 16 ? 0 : IBV_SEND_SIGNALED);
		for (;;) {
			int k = ibv_poll_cq(q.rcq, 1, &wc);

			if (k)
				break;
			if (ibv_req_notify_cq(q.rcq, 0))
				vt_fail("req_notify_cq");
			k = ibv_poll_cq(q.rcq, 1, &wc);
			if (k)
				break;
			if (!channel(&q, 5000)) {
				late++;
				vt_fail("round %d: no event in 5 s%s", i,
					ibv_poll_cq(q.rcq, 1, &wc) > 0 ?
					", but there is a completion" : "");
				break;
			}
		}
		if (vt_failed())
			break;
		if (wc.status)
			vt_fail("receive: %s", ibv_wc_status_str(wc.status));
		post_recv(&q, wc.wr_id);
		if (vt_side == VT_B)
			post_send(&q, IBV_WR_SEND, 1000, 8, i % 16 ? 0 : IBV_SEND_SIGNALED);
		drain(q.scq);
	}
	vt_qp_destroy(&q);
	vt_verdict("%d messages to and fro by events: none missed", n);
}

/* ---- resize, overflow ---- */

static void resize(void)
{
	int i, n = 50, rc, round, rounds = vt_scaled(100, 5);
	struct ibv_wc wc;
	struct vt_qp q;

	vt_qp_create(&q, &dev, NULL);
	vt_qp_connect(&q);
	if (vt_side == VT_A) {
		for (i = 0; i < n; i++)
			post_send(&q, IBV_WR_RDMA_WRITE, i, 8, IBV_SEND_SIGNALED);
		/* All complete before the first is taken */
		for (i = 0; i < 2000; i++) {
			if (vt_qp_state(q.qp) != IBV_QPS_RTS)
				break;
		}
		post_send(&q, IBV_WR_RDMA_READ, n, 8, IBV_SEND_SIGNALED);
		for (i = 0; i < n / 2; i++) {
			vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "write");
			if (wc.wr_id != (uint64_t)i)
				vt_fail("completion %d is %llu", i,
					(unsigned long long)wc.wr_id);
		}
		rc = ibv_resize_cq(q.scq, 4);
		if (!rc && strict) {
			struct ibv_wc w;
			int left = 0;

			while (vt_poll(NULL, q.scq, &w, 100))
				left++;
			if (left)
				vt_fail("resize_cq to less than is in it: success");
		}
		rc = ibv_resize_cq(q.scq, 1000);
		if (rc)
			vt_fail("resize_cq: %d", rc);
		for (; i <= n; i++) {
			if (!vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "write"))
				break;
			if (wc.wr_id != (uint64_t)i)
				vt_fail("after resize: completion %d is %llu", i,
					(unsigned long long)wc.wr_id);
		}
	}
	vt_verdict("resize_cq with completions in it: none lost");

	for (round = 0; vt_side == VT_A && round < rounds && !vt_failed(); round++) {
		for (i = 0; i < n; i++)
			post_send(&q, IBV_WR_RDMA_WRITE, i, 1500, IBV_SEND_SIGNALED);
		rc = ibv_resize_cq(q.scq, 128 + vt_rnd(900));
		if (rc)
			vt_fail("resize_cq: %d", rc);
		for (i = 0; i < n; i++) {
			if (!vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "write"))
				break;
			if (wc.wr_id != (uint64_t)i)
				vt_fail("round %d: completion %d is %llu", round, i,
					(unsigned long long)wc.wr_id);
		}
	}
	vt_sync("done");
	vt_qp_destroy(&q);
	vt_verdict("resize_cq while completions arrive, %d times: none lost", rounds);
}

static void overflow(void)
{
	struct vt_qp_attr at = vt_qp_default;
	struct ibv_cq *small;
	struct ibv_qp_init_attr ia = { .qp_type = IBV_QPT_RC };
	struct ibv_wc wc;
	struct vt_qp q, good;
	int i, n;

	at.send_wr = 200;
	vt_qp_create(&q, &dev, &at);
	/* With a CQ that is too small for what will be signalled */
	small = ibv_create_cq(dev.ctx, 4, NULL, NULL, 0);
	if (!small)
		vt_die("create_cq: %m");
	ibv_destroy_qp(q.qp);
	ia.send_cq = small;
	ia.recv_cq = q.rcq;
	ia.cap.max_send_wr = 200;
	ia.cap.max_recv_wr = 1;
	ia.cap.max_send_sge = 1;
	ia.cap.max_recv_sge = 1;
	q.qp = ibv_create_qp(dev.pd, &ia);
	if (!q.qp)
		vt_die("create_qp: %m");
	vt_qp_connect(&q);
	if (vt_side == VT_A) {
		for (i = 0; i < 150; i++)
			post_send(&q, IBV_WR_RDMA_WRITE, i, 8, IBV_SEND_SIGNALED);
		if (!vt_event(&dev, IBV_EVENT_CQ_ERR, strict ? 5000 : 500) && strict)
			vt_fail("no CQ_ERR event");
		/* Those that are there are the first ones, whole */
		for (n = 0; ibv_poll_cq(small, 1, &wc) > 0 && n < 200; n++)
			if (!wc.status && wc.wr_id != (uint64_t)n && n < 4)
				vt_fail("completion %d is %llu", n,
					(unsigned long long)wc.wr_id);
	}
	vt_sync("over");
	vt_qp_destroy(&q);
	ibv_destroy_cq(small);
	vt_verdict("a CQ that is too small: an event, and nothing breaks");

	vt_qp_create(&good, &dev, NULL);
	vt_qp_connect(&good);
	if (vt_side == VT_A) {
		post_send(&good, IBV_WR_RDMA_WRITE, 1, 8, IBV_SEND_SIGNALED);
		vt_expect(&good, good.scq, &wc, IBV_WC_SUCCESS, "write");
	}
	vt_sync("done");
	vt_qp_destroy(&good);
	vt_verdict("other QPs still work");
}

/* ---- shared receive queues ---- */

static void srq(void)
{
	struct vt_qp_attr at = vt_qp_default;
	struct ibv_srq_attr sa = {};
	struct ibv_wc wc;
	struct vt_qp q, q2;
	int i, from[2] = {}, rc;

	at.srq = true;
	at.recv_wr = 32;
	vt_qp_create(&q, &dev, &at);
	/* A second QP on the same SRQ and CQs */
	memset(&q2, 0, sizeof(q2));
	q2 = q;
	{
		struct ibv_qp_init_attr ia = {
			.qp_type = IBV_QPT_RC, .send_cq = q.scq,
			.recv_cq = q.rcq, .srq = q.srq,
			.cap = { 64, 0, 1, 0, 0 },
		};

		q2.qp = ibv_create_qp(dev.pd, &ia);
		if (!q2.qp)
			vt_die("create_qp: %m");
	}
	vt_qp_connect(&q);
	vt_qp_connect(&q2);

	if (vt_side == VT_B) {
		for (i = 0; i < 16; i++)
			post_recv(&q, i);
		sa.srq_limit = 5;
		rc = ibv_modify_srq(q.srq, &sa, IBV_SRQ_LIMIT);
		if (rc)
			vt_fail("modify_srq: %s", strerror(rc));
		rc = ibv_query_srq(q.srq, &sa);
		if (rc || sa.srq_limit != 5 || sa.max_wr < 32)
			vt_fail("query_srq: limit %u, max_wr %u", sa.srq_limit,
				sa.max_wr);
	}
	vt_sync("ready");
	for (i = 0; i < 14; i++) {
		if (vt_side == VT_A) {
			post_send(i & 1 ? &q2 : &q, IBV_WR_SEND, i, 100 + i,
				  IBV_SEND_SIGNALED);
			vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "send");
			continue;
		}
		vt_expect(&q, q.rcq, &wc, IBV_WC_SUCCESS, "receive");
		if (wc.qp_num == q.qp->qp_num)
			from[0]++;
		else if (wc.qp_num == q2.qp->qp_num)
			from[1]++;
		if (wc.wr_id != (uint64_t)i)
			vt_fail("receive %d took entry %llu", i,
				(unsigned long long)wc.wr_id);
		if (wc.byte_len != 100u + i)
			vt_fail("receive %d: %u bytes", i, wc.byte_len);
	}
	if (vt_side == VT_B && (from[0] != 7 || from[1] != 7))
		vt_fail("%d and %d receives, not 7 each", from[0], from[1]);
	vt_verdict("two QPs on one SRQ");

	if (vt_side == VT_B) {
		if (!vt_event(&dev, IBV_EVENT_SRQ_LIMIT_REACHED, 3000))
			vt_fail("no SRQ_LIMIT_REACHED event");
		if (vt_event(&dev, IBV_EVENT_SRQ_LIMIT_REACHED, 30))
			vt_fail("a second one without arming");
		rc = ibv_query_srq(q.srq, &sa);
		if (rc || sa.srq_limit)
			vt_fail("the limit is still armed (%u)", sa.srq_limit);
		for (i = 0; i < 10; i++)
			post_recv(&q, i);
		sa.srq_limit = 12;
		if (ibv_modify_srq(q.srq, &sa, IBV_SRQ_LIMIT))
			vt_fail("modify_srq: %m");
	}
	vt_sync("armed again");
	if (vt_side == VT_A) {
		post_send(&q, IBV_WR_SEND, 1, 10, IBV_SEND_SIGNALED);
		vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "send");
	} else {
		vt_expect(&q, q.rcq, &wc, IBV_WC_SUCCESS, "receive");
		if (!vt_event(&dev, IBV_EVENT_SRQ_LIMIT_REACHED, 3000))
			vt_fail("no event after arming again");
	}
	vt_verdict("SRQ limit: one event each time it is armed");

	vt_sync("error");
	if (vt_side == VT_B) {
		if (vt_qp_to(q2.qp, IBV_QPS_ERR))
			vt_fail("to ERR: %m");
		if (!vt_event(&dev, IBV_EVENT_QP_LAST_WQE_REACHED, 3000))
			vt_fail("no LAST_WQE_REACHED event");
		/* The SRQ is not flushed, the other QP goes on */
		vt_expect_none(q.rcq, 20, "SRQ");
	}
	vt_sync("go on");
	if (vt_side == VT_A) {
		post_send(&q, IBV_WR_SEND, 1, 10, IBV_SEND_SIGNALED);
		vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "send");
	} else {
		vt_expect(&q, q.rcq, &wc, IBV_WC_SUCCESS, "receive");
	}
	vt_verdict("a QP of an SRQ in error: LAST_WQE_REACHED, the SRQ stays");

	/* Larger, with entries in it */
	if (vt_side == VT_B) {
		sa.max_wr = 200;
		rc = ibv_modify_srq(q.srq, &sa, IBV_SRQ_MAX_WR);
		if (rc) {
			vt_fail("modify_srq to 200: %s", strerror(rc));
		} else {
			rc = ibv_query_srq(q.srq, &sa);
			if (rc || sa.max_wr < 200)
				vt_fail("query_srq: %u after resize to 200",
					sa.max_wr);
			for (i = 0; i < 150; i++)
				post_recv(&q, 100 + i);
		}
	}
	vt_sync("resized");
	for (i = 0; i < 100; i++) {
		if (vt_side == VT_A) {
			post_send(&q, IBV_WR_SEND, 1, 10, IBV_SEND_SIGNALED);
			vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "send");
		} else {
			vt_expect(&q, q.rcq, &wc, IBV_WC_SUCCESS, "receive");
		}
		if (vt_failed())
			break;
	}
	vt_sync("done");
	if (ibv_destroy_qp(q2.qp))
		vt_fail("destroy_qp: %m");
	vt_qp_destroy(&q);
	vt_verdict("an SRQ can be made larger with receives in it");
}

/* ---- fence, and drain ---- */

static void fence(void)
{
	int rounds = vt_scaled(30, 3), i;
	struct ibv_sge sge, sge2;
	struct ibv_send_wr wr[2], *bad;
	struct vt_qp_attr at = vt_qp_default;
	struct ibv_wc wc;
	struct vt_qp q;
	size_t w;

	/* Read into a buffer, then send that buffer, fenced */
	at.access = vt_qp_default.access;
	vt_qp_create(&q, &dev, &at);
	vt_qp_connect(&q);
	for (i = 0; i < rounds && !vt_failed(); i++) {
		uint8_t *mine = buf + BUF / 2;

		if (vt_side == VT_B) {
			struct ibv_recv_wr rwr = {}, *rbad;

			vt_fill(buf, 200000, i, 0);
			memset(mine, 0, 200000);
			sge = (struct ibv_sge){ (uintptr_t)mine, 200000, mr->lkey };
			rwr.sg_list = &sge;
			rwr.num_sge = 1;
			if (ibv_post_recv(q.qp, &rwr, &rbad))
				vt_fail("post_recv");
		} else {
			memset(mine, 0, 200000);
		}
		vt_sync("ready");
		if (vt_side == VT_A) {
			memset(wr, 0, sizeof(wr));
			sge = (struct ibv_sge){ (uintptr_t)mine, 200000, mr->lkey };
			sge2 = sge;
			wr[0].opcode = IBV_WR_RDMA_READ;
			wr[0].sg_list = &sge;
			wr[0].num_sge = 1;
			wr[0].wr.rdma.remote_addr = peer_buf;
			wr[0].wr.rdma.rkey = peer_key;
			wr[0].next = &wr[1];
			wr[1].opcode = IBV_WR_SEND;
			wr[1].sg_list = &sge2;
			wr[1].num_sge = 1;
			wr[1].send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
			if (ibv_post_send(q.qp, wr, &bad))
				vt_fail("post_send");
			vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "read, send");
		} else {
			vt_expect(&q, q.rcq, &wc, IBV_WC_SUCCESS, "receive");
			if (!vt_same(mine, 200000, i, 0, &w))
				vt_fail("round %d: byte %zu was sent before it was read",
					i, w);
		}
		vt_sync("round");
	}
	vt_qp_destroy(&q);
	vt_verdict("a fenced send carries what the read in front of it brought, %d times",
		   rounds);
}

static void small_writes_in_order(void)
{
	int n = vt_scaled(3000, 200), i;
	volatile uint64_t *flag = (uint64_t *)buf;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	uint64_t last = 0, now, end;
	struct ibv_wc wc;
	struct vt_qp q;

	/* Programs poll memory: 8-byte writes to one place arrive in order */
	*flag = 0;
	vt_qp_create(&q, &dev, NULL);
	vt_qp_connect(&q);
	if (vt_side == VT_A) {
		for (i = 1; i <= n && !vt_failed(); i++) {
			uint64_t v = i;

			memset(&wr, 0, sizeof(wr));
			/* Inline needs no buffer that stays */
			((uint64_t *)buf)[8 + i % 32] = v;
			sge = (struct ibv_sge){ (uintptr_t)buf + 64 + i % 32 * 8,
						8, mr->lkey };
			wr.opcode = IBV_WR_RDMA_WRITE;
			wr.sg_list = &sge;
			wr.num_sge = 1;
			wr.wr.rdma.remote_addr = peer_buf;
			wr.wr.rdma.rkey = peer_key;
			wr.send_flags = i % 16 == 0 || i == n ? IBV_SEND_SIGNALED : 0;
			if (ibv_post_send(q.qp, &wr, &bad))
				vt_fail("post_send");
			if (wr.send_flags)
				vt_expect(&q, q.scq, &wc, IBV_WC_SUCCESS, "write");
		}
	} else {
		end = vt_now_us() + 20000000;
		while (last < (uint64_t)n && vt_now_us() < end) {
			now = *flag;
			if (now < last) {
				vt_fail("%llu came after %llu",
					(unsigned long long)now,
					(unsigned long long)last);
				break;
			}
			last = now;
		}
		if (last < (uint64_t)n)
			vt_fail("the last value is %llu", (unsigned long long)last);
	}
	vt_sync("done");
	vt_qp_destroy(&q);
	vt_verdict("%d small writes to one word are seen in order", n);
}

static void both(void)
{
	vt_open(&dev);
	buf = vt_alloc(BUF);
	mr = vt_reg(&dev, buf, BUF, vt_qp_default.access);
	peer_buf = vt_swap((uintptr_t)buf);
	peer_key = vt_swap(mr->rkey);
	arm();
	arm_race();
	resize();
	overflow();
	srq();
	fence();
	small_writes_in_order();
	if (ibv_dereg_mr(mr))
		vt_fail("dereg_mr: %m");
	vt_close(&dev);
	vt_verdict("objects are gone again");
}

static void opt(int c, const char *arg)
{
	(void)arg;
	if (c == 'E')
		strict = true;
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "E", opt, both, both);
}
