// SPDX-License-Identifier: GPL-2.0
/*
 * Many objects, keys that come back, and what a killed process leaves behind.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vt.h"

#define N	2000
#define HALF	4096	/* connections that nobody answers, */
#define PER_CTX	256	/* and of them those of one open device */
#define N_CTX	(HALF / PER_CTX)
#define RINGS	64	/* of these each has four megabytes */
#define CQES	65535

static struct vt_dev dev;
static uint8_t *buf;
static void *obj[N];

static void *mk_pd(void) { return ibv_alloc_pd(dev.ctx); }
static int rm_pd(void *p) { return ibv_dealloc_pd(p); }
static void *mk_mr(void) { return ibv_reg_mr(dev.pd, buf, 4096, 0); }
static int rm_mr(void *p) { return ibv_dereg_mr(p); }
static void *mk_cq(void) { return ibv_create_cq(dev.ctx, 4, NULL, NULL, 0); }
static int rm_cq(void *p) { return ibv_destroy_cq(p); }
static void *mk_mw(void) { return ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2); }
static int rm_mw(void *p) { return ibv_dealloc_mw(p); }

static void *mk_ah(void)
{
	struct ibv_ah_attr at = {
		.is_global = 1, .port_num = 1,
		.grh = { dev.gid, 0, dev.gid_index, 64, 0 },
	};

	return ibv_create_ah(dev.pd, &at);
}

static int rm_ah(void *p) { return ibv_destroy_ah(p); }

static void *mk_srq(void)
{
	struct ibv_srq_init_attr at = { .attr = { 4, 1, 0 } };

	return ibv_create_srq(dev.pd, &at);
}

static int rm_srq(void *p) { return ibv_destroy_srq(p); }

static struct ibv_cq *qp_cq;

static void *mk_qp(void)
{
	struct ibv_qp_init_attr at = {
		.qp_type = IBV_QPT_RC, .send_cq = qp_cq, .recv_cq = qp_cq,
		.cap = { 4, 4, 1, 1, 0 },
	};

	return ibv_create_qp(dev.pd, &at);
}

static int rm_qp(void *p) { return ibv_destroy_qp(p); }

static const struct kind {
	const char *name;
	void *(*mk)(void);
	int (*rm)(void *p);
	int n;
	bool optional;
} kinds[] = {
	{ "PDs", mk_pd, rm_pd, 1000 },
	{ "MRs", mk_mr, rm_mr, 2000 },
	{ "CQs", mk_cq, rm_cq, 300 },
	{ "AHs", mk_ah, rm_ah, 500 },
	{ "SRQs", mk_srq, rm_srq, 200 },
	{ "QPs", mk_qp, rm_qp, 300 },
	{ "MWs", mk_mw, rm_mw, 1000, true },
};

static void many(const struct kind *k)
{
	int i, n = vt_scaled(k->n, 50), rc;

	for (i = 0; i < n; i++) {
		obj[i] = k->mk();
		if (!obj[i]) {
			if (k->optional && !i) {
				vt_skip("not supported", "%s", k->name);
				return;
			}
			vt_fail("number %d: %m", i);
			break;
		}
	}
	n = i;
	/* Out of order */
	for (i = 0; i < n; i++) {
		int at = (i * 7 + 3) % n;

		while (!obj[at])
			at = (at + 1) % n;
		rc = k->rm(obj[at]);
		if (rc)
			vt_fail("destroy: %s", strerror(rc));
		obj[at] = NULL;
	}
	vt_result("%d %s at a time", n, k->name);
}

/* A key must not come back while somebody may still know it */
static void keys(void)
{
	int i, n = vt_scaled(20000, 1000), same = 0;
	uint32_t last[16] = {};
	struct ibv_mr *mr;

	for (i = 0; i < n; i++) {
		int k;

		mr = ibv_reg_mr(dev.pd, buf, 4096, vt_qp_default.access);
		if (!mr) {
			vt_fail("reg_mr number %d: %m", i);
			break;
		}
		for (k = 0; k < 16; k++)
			same += mr->rkey == last[k];
		last[i % 16] = mr->rkey;
		if (ibv_dereg_mr(mr)) {
			vt_fail("dereg_mr number %d", i);
			break;
		}
	}
	if (same)
		vt_fail("%d times a key came back within 16", same);
	vt_result("%d times reg_mr and dereg_mr: keys differ from the last 16", n);
}

static void qpns(void)
{
	int i, n = vt_scaled(500, 50), same = 0;
	uint32_t last[16] = {};
	struct ibv_qp *qp;

	for (i = 0; i < n; i++) {
		int k;

		qp = mk_qp();
		if (!qp) {
			vt_fail("create_qp number %d: %m", i);
			break;
		}
		for (k = 0; k < 16; k++)
			same += qp->qp_num == last[k];
		last[i % 16] = qp->qp_num;
		ibv_destroy_qp(qp);
	}
	if (same)
		vt_fail("%d times a QPN came back within 16", same);
	vt_result("%d QPs one after the other: QPNs differ from the last 16", n);
}

static void killed(void)
{
	int i, st, k;
	pid_t p;

	for (i = 0; i < 5; i++) {
		p = fork();
		if (!p) {
			vt_open(&dev);
			qp_cq = mk_cq();
			for (k = 0; k < (int)ARRAY_SIZE(kinds); k++)
				for (st = 0; st < 20; st++)
					kinds[k].mk();
			raise(SIGKILL);
		}
		waitpid(p, &st, 0);
		if (!WIFSIGNALED(st) || WTERMSIG(st) != SIGKILL)
			vt_fail("the child ended before its time");
	}
	vt_result("5 processes killed with all kinds of objects");
}

/* To the @i-th address behind the other end: 0 or errno */
static int to_nowhere(struct ibv_qp *qp, int i)
{
	struct ibv_qp_attr at = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
	};

	if (ibv_modify_qp(qp, &at, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return errno;
	at = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = 17,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .sgid_index = dev.gid_index, .hop_limit = 64 },
		},
	};
	memset(at.ah_attr.grh.dgid.raw + 10, 0xff, 2);
	at.ah_attr.grh.dgid.raw[12] = 10;
	at.ah_attr.grh.dgid.raw[13] = 200;
	at.ah_attr.grh.dgid.raw[14] = i / 200;
	at.ah_attr.grh.dgid.raw[15] = 1 + i % 200;
	return ibv_modify_qp(qp, &at, IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER) ? errno : 0;
}

/* The device, opened several times */
static struct ctx {
	struct vt_dev dev;
	struct ibv_cq *cq;
	struct ibv_qp *qp[PER_CTX + 1];
	int n;
} ctx[N_CTX + 1];

/* The @c-th asks for @n connections: 0, or errno of the one behind its ->n */
static int ask(int c, int n)
{
	struct ctx *x = &ctx[c];
	int rc;

	vt_open(&dev);
	qp_cq = mk_cq();
	x->dev = dev;
	x->cq = qp_cq;
	for (x->n = 0; x->n < n; x->n++) {
		x->qp[x->n] = mk_qp();
		if (!x->qp[x->n])
			vt_die("create_qp number %d: %m", x->n);
		rc = to_nowhere(x->qp[x->n], c * (PER_CTX + 1) + x->n);
		if (rc) {
			ibv_destroy_qp(x->qp[x->n]);
			return rc;
		}
	}
	return 0;
}

static void leave(int c)
{
	struct ctx *x = &ctx[c];

	while (x->n)
		ibv_destroy_qp(x->qp[--x->n]);
	ibv_destroy_cq(x->cq);
	vt_close(&x->dev);
}

/* The other end routes 10.200.0.0/16 and answers for none of it. */
static void half_open(void)
{
	int c, i, n, rc;

	rc = ask(0, PER_CTX + 1);
	n = ctx[0].n;
	vt_ok(n == PER_CTX && rc == EBUSY,
	      "%d connections that nobody answers, then: %s", n, strerror(rc));
	for (c = 1; c < N_CTX; c++) {
		ask(c, PER_CTX);
		n += ctx[c].n;
	}
	rc = ask(N_CTX, 1);
	vt_ok(n == HALF && rc == EBUSY, "%d of %d open devices, then: %s",
	      n, N_CTX, strerror(rc));
	for (c = 0; c <= N_CTX; c++)
		leave(c);
	for (i = 0; i < 100; i++) {
		rc = ask(0, 1);
		leave(0);
		if (rc != EBUSY)
			break;
		usleep(100000);
	}
	vt_ok(!rc, "the next one soon after they are given up");
}

/* In a memory cgroup that has far less than all of them want */
static void rings(void)
{
	int i;

	vt_open(&dev);
	for (i = 0; i < RINGS; i++) {
		obj[i] = ibv_create_cq(dev.ctx, CQES, NULL, NULL, 0);
		if (!obj[i])
			break;
	}
	vt_ok(i && i < RINGS && errno == ENOMEM, "rings are charged: %d, then: %s",
	      i, i < RINGS ? strerror(errno) : "no end");
	while (i--)
		rm_cq(obj[i]);
	obj[0] = mk_cq();
	vt_ok(obj[0], "a small one afterwards");
	rm_cq(obj[0]);
	vt_close(&dev);
}

static int mode;

static void opt(int c, const char *arg)
{
	(void)arg;
	mode = c;
}

static void run(void)
{
	size_t i;

	if (mode == 'H') {
		half_open();
		return;
	}
	if (mode == 'M') {
		rings();
		return;
	}

	vt_open(&dev);
	buf = vt_alloc(65536);
	qp_cq = mk_cq();
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		many(&kinds[i]);
	keys();
	qpns();
	killed();
	ibv_destroy_cq(qp_cq);
	vt_close(&dev);
	vt_result("objects are gone again");
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "HM", opt, run, NULL);
}
