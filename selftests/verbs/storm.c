// SPDX-License-Identifier: GPL-2.0
/*
 * Both ends send, write, read and add at once, at random, on many queue pairs,
 * and check every byte. For networks that lose, reorder, duplicate, corrupt.
 *
 * A Write is announced by a Send behind it: its data must be there when that
 * Send is. The peer gives the slot back with a credit. Each queue pair has its
 * own counter at the peer: the n-th fetch_add must return n, so an atomic that
 * ran twice or never is seen at once.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vt.h"

#define SLOTS		8
#define MAX_QP		1024
#define N_RECV		(2 * SLOTS + 4)
#define N_SEND		(6 * SLOTS + 16)
#define HDR		32
#define RO_BYTES	(1 << 20)	/* what the peer may read */

static int n_qp = 1;
static int n_msgs = 1000;		/* of each end on all QPs together */
static int seconds;
static uint32_t max_len = 65536;
static const char *op_set = "wisra";	/* write, write_imm, send, read, atomic */
static int expect_error;
static int tmo = 14, retry = 7;

enum kind { K_NOTE = 1, K_DATA, K_CREDIT, K_FIN };

struct hdr {
	uint32_t kind, slot, len, seq;
	uint64_t seed;
	uint64_t pad;
};

/* What a work request was for; wr_id = QP << 32 | op << 16 | slot */
enum { W_NONE = 1, W_READ, W_ADD };

struct sqp {
	struct ibv_qp *qp;
	uint32_t peer_qpn, peer_psn, psn;
	union ibv_gid peer_gid;
	uint32_t busy;			/* slots not given back */
	int out;			/* work requests in the send queue */
	int recvs;			/* posted receives */
	uint32_t seq, seq_rx;
	uint64_t adds, adds_done;
	bool read_busy;
	uint32_t read_len, read_off;
	bool fin_rx;
	struct hdr ctl[N_SEND];		/* inline; only for the SGE */
	uint32_t owed;			/* credits that did not fit yet */
	uint8_t *tx, *rx, *win, *rd;
	uint64_t *add_res;
};

static struct vt_dev dev;
static struct vt_qp cqs;		/* only its CQs and channel are used */
static struct sqp *q;
static uint8_t *mem;
static struct ibv_mr *mr;
static struct { uint64_t base; uint32_t rkey; } peer;
static size_t per_qp, slot_sz, off_win, off_rx, off_tx, off_rd, off_res, off_cnt;
static uint64_t total_tx, total_rx, bytes;
static int outstanding;

/* Layout of an end's memory: read-only pattern, then per QP its areas */
static void layout(void)
{
	slot_sz = (max_len + HDR + 63) & ~63UL;
	off_cnt = 0;
	off_res = 64;
	off_win = 128;
	off_tx = off_win + SLOTS * slot_sz;
	off_rx = off_tx + SLOTS * slot_sz;
	off_rd = off_rx + N_RECV * slot_sz;
	per_qp = off_rd + slot_sz;
}

static size_t qp_base(int i)
{
	return RO_BYTES + i * per_qp;
}

static void post_recv(int i, int slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)q[i].rx + slot * slot_sz,
		.length = slot_sz,
		.lkey = mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = (uint64_t)i << 32 | slot,
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;
	int rc = ibv_post_recv(q[i].qp, &wr, &bad);

	if (rc && !expect_error)
		vt_die("post_recv: %s", strerror(rc));
	if (!rc)
		q[i].recvs++;
}

static int post(int i, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int rc, n = 1 + !!wr->next;

	rc = ibv_post_send(q[i].qp, wr, &bad);
	if (rc) {
		if (expect_error)
			return rc;
		vt_die("post_send: %s", strerror(rc));
	}
	q[i].out += n;
	outstanding += n;
	return 0;
}

static void control(int i, struct hdr *h)
{
	struct ibv_sge sge = { .addr = (uintptr_t)h, .length = sizeof(*h) };
	struct ibv_send_wr wr = {
		.wr_id = (uint64_t)i << 32 | W_NONE << 16,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};

	post(i, &wr);
}

static uint64_t seed_of(enum vt_side from, int i, uint32_t seq)
{
	return (uint64_t)from << 60 | (uint64_t)i << 40 | seq;
}

static uint32_t pick_len(void)
{
	switch (vt_rnd(8)) {
	case 0: return vt_rnd(2);
	case 1: return vt_rnd(65);
	case 2: return vt_rnd(2000);
	case 3: return max_len;
	default: return vt_rnd(max_len + 1);
	}
}

/* Posts one operation; false if there is no room for one now */
static bool one(int i)
{
	struct sqp *s = &q[i];
	char op = op_set[vt_rnd(strlen(op_set))];
	uint32_t len = pick_len(), slot, seq;
	struct ibv_send_wr wr[2];
	struct ibv_sge sge[2];
	struct hdr h = {};
	uint8_t *buf;

	if (s->out > N_SEND - SLOTS - 3)
		return false;
	memset(wr, 0, sizeof(wr));
	memset(sge, 0, sizeof(sge));
	wr[0].sg_list = sge;
	wr[0].num_sge = 1;
	wr[0].send_flags = IBV_SEND_SIGNALED;
	sge[0].lkey = mr->lkey;

	if (op == 'a') {
		if (s->adds != s->adds_done)
			return false;
		sge[0].addr = (uintptr_t)s->add_res;
		sge[0].length = 8;
		wr[0].wr_id = (uint64_t)i << 32 | W_ADD << 16;
		wr[0].opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr[0].wr.atomic.remote_addr = peer.base + qp_base(i) + off_cnt;
		wr[0].wr.atomic.rkey = peer.rkey;
		wr[0].wr.atomic.compare_add = 1;
		s->adds++;
		return !post(i, wr);
	}
	if (op == 'r') {
		if (s->read_busy)
			return false;
		s->read_busy = true;
		s->read_len = len;
		s->read_off = vt_rnd(RO_BYTES - len + 1);
		memset(s->rd, CANARY, slot_sz);
		sge[0].addr = (uintptr_t)s->rd;
		sge[0].length = len;
		wr[0].wr_id = (uint64_t)i << 32 | W_READ << 16;
		wr[0].opcode = IBV_WR_RDMA_READ;
		wr[0].wr.rdma.remote_addr = peer.base + s->read_off;
		wr[0].wr.rdma.rkey = peer.rkey;
		return !post(i, wr);
	}

	for (slot = 0; slot < SLOTS && s->busy & 1 << slot; slot++)
		;
	if (slot == SLOTS)
		return false;
	s->busy |= 1 << slot;
	seq = s->seq++;
	buf = s->tx + slot * slot_sz;
	h.slot = slot;
	h.len = len;
	h.seq = seq;
	h.seed = seed_of(vt_side, i, seq);
	wr[0].wr_id = (uint64_t)i << 32 | W_NONE << 16 | slot;

	switch (op) {
	case 's':
		h.kind = K_DATA;
		memcpy(buf, &h, HDR);
		vt_fill(buf + HDR, len, h.seed, 0);
		sge[0].addr = (uintptr_t)buf;
		sge[0].length = HDR + len;
		wr[0].opcode = IBV_WR_SEND;
		break;
	case 'w':
	case 'i':
		vt_fill(buf, len, h.seed, 0);
		sge[0].addr = (uintptr_t)buf;
		sge[0].length = len;
		wr[0].wr.rdma.remote_addr = peer.base + qp_base(i) + off_win +
					    slot * slot_sz;
		wr[0].wr.rdma.rkey = peer.rkey;
		wr[0].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr[0].imm_data = slot;
		if (op == 'i')
			break;
		wr[0].opcode = IBV_WR_RDMA_WRITE;
		h.kind = K_NOTE;
		sge[1].addr = (uintptr_t)&h;
		sge[1].length = sizeof(h);
		wr[1].wr_id = wr[0].wr_id;
		wr[1].sg_list = &sge[1];
		wr[1].num_sge = 1;
		wr[1].opcode = IBV_WR_SEND;
		wr[1].send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
		wr[0].next = &wr[1];
		break;
	}
	bytes += len;
	return !post(i, wr);
}

static void check(int i, const char *what, const uint8_t *p, uint32_t len,
		  uint64_t seed, size_t at)
{
	size_t w = 0;

	if (!vt_same(p, len, seed, at, &w))
		vt_fail("QP %d: %s of %u bytes: byte %zu wrong (seed %llx)", i,
			what, len, w, (unsigned long long)seed);
}

static void credit(int i, uint32_t slot)
{
	struct hdr h = { .kind = K_CREDIT, .slot = slot };

	control(i, &h);
}

static void received(const struct ibv_wc *wc)
{
	int i = wc->wr_id >> 32;
	struct sqp *s = &q[i];
	uint8_t *buf = s->rx + (wc->wr_id & 0xffff) * slot_sz;
	struct hdr h = {};

	s->recvs--;
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		h.kind = K_NOTE;
		h.slot = wc->imm_data;
		h.len = wc->byte_len;
		h.seq = s->seq_rx;
		h.seed = seed_of(!vt_side, i, h.seq);
	} else {
		memcpy(&h, buf, HDR);
	}
	if (h.slot >= SLOTS || h.len > max_len || h.kind > K_FIN || !h.kind) {
		vt_fail("QP %d: message with a broken header", i);
		return;
	}
	switch (h.kind) {
	case K_DATA:
		if (wc->byte_len != HDR + h.len)
			vt_fail("QP %d: byte_len %u, not %u", i, wc->byte_len,
				HDR + h.len);
		check(i, "send", buf + HDR, h.len, h.seed, 0);
		break;
	case K_NOTE:
		check(i, "write", s->win + h.slot * slot_sz, h.len, h.seed, 0);
		break;
	case K_CREDIT:
		if (!(s->busy & 1 << h.slot))
			vt_fail("QP %d: a credit twice", i);
		s->busy &= ~(1 << h.slot);
		break;
	case K_FIN:
		s->fin_rx = true;
		break;
	}
	if (h.kind == K_DATA || h.kind == K_NOTE) {
		if (h.seq != s->seq_rx)
			vt_fail("QP %d: message %u came, expected %u", i, h.seq,
				s->seq_rx);
		s->seq_rx++;
		total_rx++;
	}
	post_recv(i, wc->wr_id & 0xffff);
	if (h.kind == K_DATA || h.kind == K_NOTE)
		credit(i, h.slot);
}

static void sent(const struct ibv_wc *wc)
{
	int i = wc->wr_id >> 32;
	struct sqp *s = &q[i];

	s->out--;
	outstanding--;
	switch (wc->wr_id >> 16 & 0xffff) {
	case W_READ:
		check(i, "read", s->rd, s->read_len, 7, s->read_off);
		if (!vt_all(s->rd + s->read_len, slot_sz - s->read_len, CANARY,
			    NULL))
			vt_fail("QP %d: read wrote past its end", i);
		s->read_busy = false;
		break;
	case W_ADD:
		if (*s->add_res != s->adds_done)
			vt_fail("QP %d: fetch_add number %llu returned %llu", i,
				(unsigned long long)s->adds_done,
				(unsigned long long)*s->add_res);
		s->adds_done++;
		break;
	}
}

/* ---- failures that are wanted ---- */

static void drain(int bad)
{
	uint64_t end = vt_now_us() + vt.wait_ms * 1000ULL;
	struct ibv_wc wc;
	int left = 0, i, n_flush = 0, n_other = 0;
	bool gone = false;

	/* A QP whose peer is idle may not have noticed: that is allowed */
	for (i = 0; i < n_qp; i++)
		if (vt_qp_to(q[i].qp, IBV_QPS_ERR))
			gone = true;
	do {
		while (ibv_poll_cq(cqs.scq, 1, &wc) > 0) {
			q[wc.wr_id >> 32].out--;
			if (wc.status == IBV_WC_WR_FLUSH_ERR)
				n_flush++;
			else if (wc.status != IBV_WC_SUCCESS)
				n_other++;
		}
		while (ibv_poll_cq(cqs.rcq, 1, &wc) > 0) {
			q[wc.wr_id >> 32].recvs--;
			if (wc.status == IBV_WC_WR_FLUSH_ERR)
				n_flush++;
		}
		for (left = 0, i = 0; i < n_qp; i++) {
			/* No doorbell tells who posts receives for a device
			 * that is gone: nobody reads them any more
			 */
			left += q[i].out + (gone ? 0 : q[i].recvs);
			if (q[i].out < 0 || q[i].recvs < 0)
				vt_fail("QP %d: more completions than requests", i);
		}
	} while (left > 0 && vt_now_us() < end);
	if (left) {
		vt_fail("%d work requests never completed", left);
		for (i = 0; i < n_qp; i++)
			printf("# QP %d: %d sends, %d receives left%s\n", i,
			       q[i].out, q[i].recvs, gone ? ", device gone" : "");
	}
	printf("# %c: %d flushed, %d failed, first on QP %d\n",
	       vt_side == VT_A ? 'A' : 'B', n_flush, n_other, bad);
}

static void saw_error(const char *what, int bad)
{
	printf("# %c: error: %s after %llu sent, %llu received\n",
	       vt_side == VT_A ? 'A' : 'B', what,
	       (unsigned long long)total_tx, (unsigned long long)total_rx);
	fflush(stdout);
	if (bad >= 0)
		drain(bad);
	if (vt_failed())
		vt_die("after the error");
	fflush(stdout);
	_exit(0);
}

static void async_events(void)
{
	struct pollfd pfd = { .fd = dev.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	while (poll(&pfd, 1, 0) > 0 && !ibv_get_async_event(dev.ctx, &ev)) {
		enum ibv_event_type t = ev.event_type;

		ibv_ack_async_event(&ev);
		if (t == IBV_EVENT_DEVICE_FATAL) {
			if (!expect_error)
				vt_die("the device went away");
			saw_error("device fatal", -1);
		}
	}
}

static bool poll_all(void)
{
	struct ibv_wc wc[16];
	bool any = false;
	int n, k;

	n = ibv_poll_cq(cqs.scq, 16, wc);
	for (k = 0; k < n; k++) {
		if (wc[k].status) {
			enum ibv_wc_status st = wc[k].status;
			int bad = wc[k].wr_id >> 32;

			/* The rest of this batch was taken off as well */
			for (; k < n; k++)
				q[wc[k].wr_id >> 32].out--;
			if (expect_error)
				saw_error(ibv_wc_status_str(st), bad);
			vt_die("send failed: %s", ibv_wc_status_str(st));
		}
		sent(&wc[k]);
	}
	any = n > 0;
	n = ibv_poll_cq(cqs.rcq, 16, wc);
	for (k = 0; k < n; k++) {
		if (wc[k].status) {
			enum ibv_wc_status st = wc[k].status;
			int bad = wc[k].wr_id >> 32;

			for (; k < n; k++)
				q[wc[k].wr_id >> 32].recvs--;
			/* The send queue knows why */
			n = ibv_poll_cq(cqs.scq, 1, wc);
			if (n > 0) {
				q[wc[0].wr_id >> 32].out--;
				st = wc[0].status;
			}
			if (expect_error)
				saw_error(ibv_wc_status_str(st), bad);
			vt_die("receive failed: %s", ibv_wc_status_str(st));
		}
		received(&wc[k]);
	}
	return any || n > 0;
}

static void modify(struct sqp *s)
{
	struct vt_qp t = {
		.dev = &dev, .a = vt_qp_default, .qp = s->qp, .psn = s->psn,
		.peer_qpn = s->peer_qpn, .peer_psn = s->peer_psn,
		.peer_gid = s->peer_gid,
	};

	t.a.timeout = tmo;
	t.a.retry_cnt = retry;
	if (vt_qp_init(&t) || vt_qp_rtr(&t) || vt_qp_rts(&t))
		vt_die("QP to RTS: %m");
}

static void setup(void)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 0,
		.cap = {
			.max_send_wr = N_SEND, .max_recv_wr = N_RECV,
			.max_send_sge = 1, .max_recv_sge = 1,
			.max_inline_data = sizeof(struct hdr),
		},
	};
	struct { uint32_t qpn, psn; } mine, theirs;
	union ibv_gid gid;
	size_t len;
	int i, k;

	layout();
	len = qp_base(n_qp);
	mem = vt_alloc(len);
	mr = vt_reg(&dev, mem, len, vt_qp_default.access);
	vt_fill(mem, RO_BYTES, 7, 0);
	q = calloc(n_qp, sizeof(*q));
	if (!q)
		vt_die("no memory");
	if (vt.events) {
		cqs.ch = ibv_create_comp_channel(dev.ctx);
		if (!cqs.ch)
			vt_die("no channel");
	}
	cqs.scq = ibv_create_cq(dev.ctx, n_qp * N_SEND, NULL, cqs.ch, 0);
	cqs.rcq = ibv_create_cq(dev.ctx, n_qp * N_RECV, NULL, cqs.ch, 0);
	if (!cqs.scq || !cqs.rcq)
		vt_die("create_cq: %m");
	ia.send_cq = cqs.scq;
	ia.recv_cq = cqs.rcq;

	peer.base = vt_swap((uintptr_t)mem);
	peer.rkey = vt_swap(mr->rkey);
	vt_send(&dev.gid, 16);
	vt_recv(&gid, 16);
	for (i = 0; i < n_qp; i++) {
		struct sqp *s = &q[i];
		uint8_t *b = mem + qp_base(i);

		s->add_res = (uint64_t *)(b + off_res);
		s->win = b + off_win;
		s->tx = b + off_tx;
		s->rx = b + off_rx;
		s->rd = b + off_rd;
		s->psn = vt_rand() & 0xffffff;
		s->peer_gid = gid;
		s->qp = ibv_create_qp(dev.pd, &ia);
		if (!s->qp)
			vt_die("create_qp %d: %m", i);
		mine.qpn = s->qp->qp_num;
		mine.psn = s->psn;
		vt_send(&mine, sizeof(mine));
		vt_recv(&theirs, sizeof(theirs));
		s->peer_qpn = theirs.qpn;
		s->peer_psn = theirs.psn;
		modify(s);
		for (k = 0; k < N_RECV; k++)
			post_recv(i, k);
	}
	vt_sync("set up");
}

static bool all_in(void)
{
	int i;

	for (i = 0; i < n_qp; i++)
		if (!q[i].fin_rx)
			return false;
	return true;
}

static bool quiet(void)
{
	int i;

	if (outstanding)
		return false;
	for (i = 0; i < n_qp; i++)
		if (q[i].busy)
			return false;
	return true;
}

static void both(void)
{
	struct hdr fin = { .kind = K_FIN };
	uint64_t t0, last, now, end = 0;
	bool fin_sent = false;
	int i, idle = 0;

	vt_open(&dev);
	setup();
	vt_srand(vt_now_us() + vt_side);
	n_msgs = vt_scaled(n_msgs, 8);
	t0 = vt_now_us();
	last = t0;
	if (seconds)
		end = t0 + seconds * 1000000ULL;
	for (;;) {
		bool did = poll_all(), more;

		if (vt_failed())
			vt_die("wrong data");
		now = vt_now_us();
		more = seconds ? now < end : total_tx < (uint64_t)n_msgs;
		for (i = 0; more && i < 4; i++)
			if (one(vt_rnd(n_qp))) {
				total_tx++;
				did = true;
			}
		if (did) {
			last = now;
			idle = 0;
			continue;
		}
		if (!more && !fin_sent && quiet()) {
			for (i = 0; i < n_qp; i++)
				control(i, &fin);
			fin_sent = true;
			last = now;
			continue;
		}
		if (fin_sent && !outstanding && all_in())
			break;
		if (now - last > vt.wait_ms * 1000ULL) {
			for (i = 0; i < n_qp; i++)
				if (q[i].out || q[i].busy)
					fprintf(stderr, "QP %d: %d out, slots %x, state %d\n",
						i, q[i].out, q[i].busy,
						vt_qp_state(q[i].qp));
			vt_die("stalled: %d of ours outstanding, %llu sent, %llu received",
			       outstanding, (unsigned long long)total_tx,
			       (unsigned long long)total_rx);
		}
		if (++idle % 64 == 0)
			async_events();
		if (cqs.ch && idle > 8) {
			struct pollfd pfd[2] = {
				{ .fd = cqs.ch->fd, .events = POLLIN },
				{ .fd = dev.ctx->async_fd, .events = POLLIN },
			};
			struct ibv_cq *cq;
			void *arg;

			if (ibv_req_notify_cq(cqs.scq, 0) ||
			    ibv_req_notify_cq(cqs.rcq, 0))
				vt_die("req_notify_cq");
			if (poll_all())
				continue;
			if (poll(pfd, 2, vt.wait_ms) > 0) {
				if (pfd[1].revents)
					async_events();
				if (pfd[0].revents &&
				    !ibv_get_cq_event(cqs.ch, &cq, &arg))
					ibv_ack_cq_events(cq, 1);
			}
		} else if (idle > 4) {
			usleep(idle < 100 ? 1 : 50);
		}
	}
	if (expect_error)
		vt_die("no error came");
	vt_sync("finished");
	for (i = 0; i < n_qp; i++) {
		uint64_t v = *(uint64_t *)(mem + qp_base(i) + off_cnt);
		uint64_t theirs = vt_swap(q[i].adds_done);

		if (v != theirs)
			vt_fail("QP %d: counter is %llu after %llu additions", i,
				(unsigned long long)v,
				(unsigned long long)theirs);
	}
	now = vt_now_us();
	if (vt_side == VT_A)
		printf("# %llu operations and %llu KiB out, %llu messages in, %.2f s\n",
		       (unsigned long long)total_tx,
		       (unsigned long long)bytes >> 10,
		       (unsigned long long)total_rx, (now - t0) / 1e6);
	vt_verdict("%d QP%s, ops %s, up to %u bytes: every byte is right", n_qp,
		   n_qp > 1 ? "s" : "", op_set, max_len);
	for (i = 0; i < n_qp; i++)
		if (ibv_destroy_qp(q[i].qp))
			vt_fail("destroy_qp: %m");
	if (ibv_destroy_cq(cqs.scq) || ibv_destroy_cq(cqs.rcq) ||
	    ibv_dereg_mr(mr))
		vt_fail("destroy: %m");
	if (cqs.ch)
		ibv_destroy_comp_channel(cqs.ch);
	vt_close(&dev);
	vt_verdict("objects are gone again");
}

static void opt(int c, const char *arg)
{
	switch (c) {
	case 'q':
		n_qp = atoi(arg);
		break;
	case 'n':
		n_msgs = atoi(arg);
		break;
	case 't':
		seconds = atoi(arg);
		break;
	case 's':
		max_len = atoi(arg);
		break;
	case 'o':
		op_set = arg;
		break;
	case 'x':
		expect_error = 1;
		break;
	case 'T':
		tmo = atoi(arg);
		break;
	case 'R':
		retry = atoi(arg);
		break;
	}
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "q:n:t:s:o:xT:R:", opt, both, both);
}
