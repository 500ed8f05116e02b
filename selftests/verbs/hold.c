// SPDX-License-Identifier: GPL-2.0
/*
 * Holds a device open, with all kinds of objects and traffic to itself, until
 * the device goes away; then checks what is left of it. Says "ready" first.
 *
 * -n: no traffic   -t S: give up after S seconds
 * -L S: instead, open and close every device there is, for S seconds
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vt.h"

static bool idle;
static int secs = 30, loop_secs;

static struct ibv_qp *make_qp(struct vt_dev *d, struct ibv_cq *cq,
			      struct ibv_srq *srq)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .srq = srq,
		.cap = { 32, srq ? 0 : 32, 2, srq ? 0 : 2, 0 },
	};
	struct ibv_qp *qp = ibv_create_qp(d->pd, &ia);

	if (!qp)
		vt_die("create_qp: %m");
	return qp;
}

static void connect_self(struct vt_dev *d, struct ibv_qp *qp, uint32_t dqpn)
{
	struct vt_qp t = {
		.dev = d, .a = vt_qp_default, .qp = qp, .peer_qpn = dqpn,
		.peer_gid = d->gid,
	};

	if (vt_qp_init(&t) || vt_qp_rtr(&t) || vt_qp_rts(&t))
		vt_die("QP to RTS: %m");
}

/* Devices come and go meanwhile: any call may fail, none may hang */
static void open_loop(void)
{
	uint64_t end = vt_now_us() + loop_secs * 1000000ULL;
	struct ibv_device **list;
	struct ibv_port_attr port;
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	static uint8_t buf[8192];
	int i, n, opened = 0;

	while (vt_now_us() < end) {
		list = ibv_get_device_list(&n);
		for (i = 0; list && i < n; i++) {
			ctx = ibv_open_device(list[i]);
			if (!ctx)
				continue;
			opened++;
			ibv_query_port(ctx, 1, &port);
			pd = ibv_alloc_pd(ctx);
			cq = ibv_create_cq(ctx, 10, NULL, NULL, 0);
			mr = pd ? ibv_reg_mr(pd, buf, sizeof(buf), 0) : NULL;
			usleep(vt_rnd(20000));
			if (mr)
				ibv_dereg_mr(mr);
			if (cq)
				ibv_destroy_cq(cq);
			if (pd)
				ibv_dealloc_pd(pd);
			ibv_close_device(ctx);
		}
		if (list)
			ibv_free_device_list(list);
		usleep(1000);
	}
	vt_ok(true, "opened devices %d times", opened);
}

static void run(void)
{
	struct ibv_srq_init_attr sa = { .attr = { 16, 1, 0 } };
	struct ibv_ah_attr aa = { .is_global = 1, .port_num = 1 };
	struct ibv_sge sge, rsge;
	struct ibv_send_wr wr, *bad;
	struct ibv_recv_wr rwr = {}, *rbad;
	struct ibv_comp_channel *ch;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	struct ibv_srq *srq;
	struct ibv_cq *cq, *cq2;
	struct ibv_qp *qp, *qp2, *qp3;
	struct ibv_wc wc[16];
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_pd *pd;
	struct vt_dev d;
	uint64_t end, done = 0;
	uint8_t *buf = vt_alloc(1 << 20);
	int i, n, rc, out = 0;

	if (loop_secs) {
		open_loop();
		return;
	}
	vt_open(&d);
	mr = vt_reg(&d, buf, 1 << 20, vt_qp_default.access);
	ch = ibv_create_comp_channel(d.ctx);
	cq = ibv_create_cq(d.ctx, 128, NULL, ch, 0);
	cq2 = ibv_create_cq(d.ctx, 16, NULL, NULL, 0);
	srq = ibv_create_srq(d.pd, &sa);
	aa.grh.dgid = d.gid;
	aa.grh.sgid_index = d.gid_index;
	ah = ibv_create_ah(d.pd, &aa);
	if (!ch || !cq || !cq2 || !srq || !ah)
		vt_die("create: %m");
	qp = make_qp(&d, cq, NULL);
	qp2 = make_qp(&d, cq, NULL);
	qp3 = make_qp(&d, cq2, srq);
	connect_self(&d, qp, qp2->qp_num);
	connect_self(&d, qp2, qp->qp_num);
	rsge = (struct ibv_sge){ (uintptr_t)buf, 4096, mr->lkey };
	rwr.sg_list = &rsge;
	rwr.num_sge = 1;
	for (i = 0; i < 16; i++) {
		ibv_post_recv(qp2, &rwr, &rbad);
		ibv_post_srq_recv(srq, &rwr, &rbad);
	}
	sge = (struct ibv_sge){ (uintptr_t)buf + 65536, 65536, mr->lkey };
	memset(&wr, 0, sizeof(wr));
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = (uintptr_t)buf + (1 << 19);
	wr.wr.rdma.rkey = mr->rkey;

	printf("ready\n");
	fflush(stdout);
	end = vt_now_us() + secs * 1000000ULL;
	for (;;) {
		struct pollfd pfd = { d.ctx->async_fd, POLLIN, 0 };
		struct ibv_async_event ev;
		enum ibv_event_type type;

		if (vt_now_us() > end)
			vt_die("the device did not go away");
		while (!idle && out < 16) {
			if (ibv_post_send(qp, &wr, &bad))
				break;
			out++;
		}
		n = ibv_poll_cq(cq, 16, wc);
		for (i = 0; i < n; i++) {
			/* Errors are what comes when it goes away */
			if (wc[i].qp_num == qp->qp_num)
				out--;
			done += !wc[i].status;
		}
		if (poll(&pfd, 1, n > 0 ? 0 : 1) <= 0)
			continue;
		if (ibv_get_async_event(d.ctx, &ev))
			vt_die("get_async_event: %m");
		type = ev.event_type;
		ibv_ack_async_event(&ev);
		if (type == IBV_EVENT_DEVICE_FATAL)
			break;
	}
	vt_ok(true, "the device went away with an event");
	if (!idle)
		vt_ok(done > 0, "there was traffic before");

	/* Calls say so, queues can still be looked at, nothing crashes */
	rc = ibv_query_port(d.ctx, 1, &port);
	vt_ok(rc == EIO || rc == ENODEV, "query_port fails with EIO (%d)", rc);
	rc = ibv_query_device(d.ctx, &attr);
	vt_ok(rc == EIO || rc == ENODEV || !rc, "query_device returns");
	errno = 0;
	pd = ibv_alloc_pd(d.ctx);
	vt_ok(!pd && (errno == EIO || errno == ENODEV), "alloc_pd fails with EIO");
	for (i = 0; i < 100; i++) {
		n = ibv_poll_cq(cq, 16, wc);
		if (n <= 0)
			break;
	}
	n = ibv_poll_cq(cq2, 16, wc);
	vt_ok(true, "queues can be polled");
	ibv_post_send(qp, &wr, &bad);
	ibv_post_recv(qp, &rwr, &rbad);
	ibv_post_srq_recv(srq, &rwr, &rbad);
	ibv_req_notify_cq(cq, 0);
	vt_ok(true, "posting returns");
	ibv_destroy_qp(qp);
	ibv_destroy_qp(qp2);
	ibv_destroy_qp(qp3);
	ibv_destroy_srq(srq);
	ibv_destroy_ah(ah);
	ibv_destroy_cq(cq);
	ibv_destroy_cq(cq2);
	ibv_destroy_comp_channel(ch);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(d.pd);
	ibv_close_device(d.ctx);
	vt_ok(true, "everything can be destroyed and closed");
}

static void opt(int c, const char *arg)
{
	switch (c) {
	case 'n':
		idle = true;
		break;
	case 'L':
		loop_secs = atoi(arg);
		break;
	case 't':
		secs = atoi(arg);
		break;
	}
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "nt:L:", opt, run, NULL);
}
