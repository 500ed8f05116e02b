// SPDX-License-Identifier: GPL-2.0
/*
 * Makes each memory allocation and each copy from user space fail in its turn,
 * call by call, with the kernel's fault injection (fail-nth). A call that fails
 * must say so and leave nothing behind; the next one must work.
 *
 * faults -d DEV -N NETDEV [-S STEP]: links are added on NETDEV, too; that has many
 * places and takes long: one in STEP is tried.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "vt.h"

#define MAX_NTH		2000

static struct vt_dev dev;
static uint8_t *buf;
static struct ibv_mr *mr;
static const char *netdev, *link_type = "metaroce";
static int link_step = 1;

/* ---- the n-th one fails ---- */

static int nth_fd = -1;

static bool set_nth(int n)
{
	char s[16];
	int len = snprintf(s, sizeof(s), "%d", n);

	return pwrite(nth_fd, s, len, 0) == len;
}

/* Was the n-th reached, that is: did something fail? */
static bool fired(void)
{
	char s[16] = "";

	if (pread(nth_fd, s, sizeof(s) - 1, 0) < 0) {
		/* It hit the copy of this very read: the call was over. */
		if (errno == EFAULT)
			return false;
		vt_die("fail-nth: %m");
	}
	return atoi(s) == 0;
}

/* A call: 0, or its errno. What it made it takes away again, undisturbed. */
struct call {
	const char *name;
	int (*fn)(void);
	void (*undo)(void);
};

/* Every @step-th place; which ones is left to chance. */
static void try_all(const struct call *c, int step)
{
	int n, rc = 0, failed = 0;
	bool hit = true;

	for (n = 1 + getpid() % step; n < MAX_NTH && hit; n += step) {
		if (!set_nth(n))
			vt_die("fail-nth: %m");
		rc = c->fn();
		hit = fired();
		set_nth(0);
		if (!rc) {
			c->undo();
		} else {
			failed++;
			if (rc < 0 || rc > 4095)
				vt_fail("number %d: returned %d", n, rc);
		}
	}
	if (hit)
		vt_fail("there is no end to its allocations");
	if (rc)
		vt_fail("undisturbed: %s", strerror(rc));
	vt_result("%s: %d places, one in %d tried, %d of these make it fail",
		  c->name, n - step - 1, step, failed);
}

/* ---- verbs ---- */

static struct ibv_pd *pd;
static struct ibv_mr *mr1;
static struct ibv_cq *cq, *cq1;
static struct ibv_srq *srq;
static struct ibv_qp *qp, *qp1, *ud;
static struct ibv_ah *ah;
static struct ibv_context *ctx1;
static struct ibv_mw *mw;

static int c_open(void)
{
	ctx1 = ibv_open_device(dev.ctx->device);
	return ctx1 ? 0 : errno ? errno : ENOMEM;
}

static void u_open(void) { ibv_close_device(ctx1); }
static int c_pd(void) { pd = ibv_alloc_pd(dev.ctx); return pd ? 0 : errno; }
static void u_pd(void) { ibv_dealloc_pd(pd); }

static int c_mr(void)
{
	mr1 = ibv_reg_mr(dev.pd, buf, 65536, vt_qp_default.access);
	return mr1 ? 0 : errno;
}

static void u_mr(void) { ibv_dereg_mr(mr1); }

static int c_cq(void)
{
	cq1 = ibv_create_cq(dev.ctx, 100, NULL, NULL, 0);
	return cq1 ? 0 : errno;
}

static void u_cq(void) { ibv_destroy_cq(cq1); }

static int c_resize(void)
{
	static int n;
	int rc = ibv_resize_cq(cq, 50 + n++ % 7 * 100);

	return rc < 0 ? errno : rc;
}

static void u_none(void) { }

static int c_srq(void)
{
	struct ibv_srq_init_attr a = { .attr = { 64, 2, 0 } };

	srq = ibv_create_srq(dev.pd, &a);
	return srq ? 0 : errno;
}

static void u_srq(void) { ibv_destroy_srq(srq); }

static int c_qp(void)
{
	struct ibv_qp_init_attr a = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { 32, 32, 2, 2, 64 },
	};

	qp1 = ibv_create_qp(dev.pd, &a);
	return qp1 ? 0 : errno;
}

static void u_qp(void) { ibv_destroy_qp(qp1); }

static int c_ud(void)
{
	struct ibv_qp_init_attr a = {
		.qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq,
		.cap = { 32, 32, 2, 2, 64 },
	};

	qp1 = ibv_create_qp(dev.pd, &a);
	return qp1 ? 0 : errno;
}

static int c_ah(void)
{
	struct ibv_ah_attr a = {
		.is_global = 1, .port_num = 1,
		.grh = { dev.gid, 0, dev.gid_index, 64, 0 },
	};

	ah = ibv_create_ah(dev.pd, &a);
	return ah ? 0 : errno;
}

static void u_ah(void) { ibv_destroy_ah(ah); }

static int c_mw(void)
{
	mw = ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2);
	return mw ? 0 : errno == EOPNOTSUPP ? 0 : errno;
}

static void u_mw(void)
{
	if (mw)
		ibv_dealloc_mw(mw);
}

static int c_connect(void)
{
	struct vt_qp t = {
		.dev = &dev, .a = vt_qp_default, .qp = qp, .peer_qpn = qp->qp_num,
		.peer_gid = dev.gid,
	};
	int rc;

	rc = vt_qp_init(&t);
	if (!rc)
		rc = vt_qp_rtr(&t);
	if (!rc)
		rc = vt_qp_rts(&t);
	if (rc) {
		set_nth(0);
		vt_qp_to(qp, IBV_QPS_RESET);
		/* What was not reached is not reached by resetting it */
		set_nth(0);
	}
	return rc;
}

static void u_connect(void) { vt_qp_to(qp, IBV_QPS_RESET); }

static int c_mcast(void)
{
	union ibv_gid g4 = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, 9, 9, 9 } };

	return ibv_attach_mcast(ud, &g4, 0);
}

static void u_mcast(void)
{
	union ibv_gid g4 = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, 9, 9, 9 } };

	ibv_detach_mcast(ud, &g4, 0);
}

/* A write to itself: whatever fails, it completes, once */
static int c_write(void)
{
	struct ibv_sge sge = { (uintptr_t)buf, 20000, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 5, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge,
		.num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;
	int rc;

	wr.wr.rdma.remote_addr = (uintptr_t)buf + 32768;
	wr.wr.rdma.rkey = mr->rkey;
	rc = ibv_post_send(qp, &wr, &bad);
	if (rc)
		return rc;
	if (!vt_poll(NULL, cq, &wc, -1)) {
		set_nth(0);
		vt_fail("a write does not complete");
		return 0;
	}
	if (wc.status) {
		bool hit = fired();

		set_nth(0);
		vt_qp_to(qp, IBV_QPS_RESET);
		if (c_connect())
			vt_fail("cannot connect again");
		set_nth(hit ? 0 : 1);
		rc = EIO;
	}
	return rc;
}

/* ---- rdma link add, without the program: its own allocations do not count ---- */

static int nl = -1;

/* Appends an attribute; returns the end */
static uint8_t *put(uint8_t *p, uint16_t type, const void *data, size_t len)
{
	struct nlattr a = { .nla_type = type, .nla_len = NLA_HDRLEN + len };

	memcpy(p, &a, NLA_HDRLEN);
	memcpy(p + NLA_HDRLEN, data, len);
	return p + NLA_ALIGN(a.nla_len);
}

static uint8_t *put_str(uint8_t *p, uint16_t type, const char *s)
{
	return put(p, type, s, strlen(s) + 1);
}

static int nldev(int cmd, const char *name, uint32_t index)
{
	struct {
		struct nlmsghdr h;
		uint8_t b[256];
	} m = {};
	uint8_t *p = m.b;
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		uint8_t b[512];
	} r;
	ssize_t n;

	m.h.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd);
	m.h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	if (cmd == RDMA_NLDEV_CMD_NEWLINK) {
		p = put_str(p, RDMA_NLDEV_ATTR_DEV_NAME, name);
		p = put_str(p, RDMA_NLDEV_ATTR_LINK_TYPE, link_type);
		p = put_str(p, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	} else {
		p = put(p, RDMA_NLDEV_ATTR_DEV_INDEX, &index, 4);
	}
	m.h.nlmsg_len = p - (uint8_t *)&m;
	if (send(nl, &m, m.h.nlmsg_len, 0) < 0)
		return errno;
	n = recv(nl, &r, sizeof(r), 0);
	if (n < (ssize_t)sizeof(r.h) || r.h.nlmsg_type != NLMSG_ERROR)
		return n < 0 ? errno : EPROTO;
	return -r.e.error;
}

static int link_index(const char *name)
{
	char path[128];
	int i;

	/* Few devices in a guest: look for the name */
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", name);
	if (access(path, F_OK))
		return -1;
	for (i = 0; i < 100000; i++) {
		struct {
			struct nlmsghdr h;
			uint8_t b[64];
		} m = {};
		uint8_t r[4096];
		uint32_t idx = i;
		struct nlattr a = { NLA_HDRLEN + 4, RDMA_NLDEV_ATTR_DEV_INDEX };
		ssize_t n;

		m.h.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
		m.h.nlmsg_flags = NLM_F_REQUEST;
		memcpy(m.b, &a, NLA_HDRLEN);
		memcpy(m.b + NLA_HDRLEN, &idx, 4);
		m.h.nlmsg_len = sizeof(m.h) + NLA_ALIGN(a.nla_len);
		if (send(nl, &m, m.h.nlmsg_len, 0) < 0)
			return -1;
		n = recv(nl, r, sizeof(r), 0);
		if (n > (ssize_t)sizeof(m.h) &&
		    ((struct nlmsghdr *)r)->nlmsg_type != NLMSG_ERROR &&
		    memmem(r, n, name, strlen(name) + 1))
			return i;
	}
	return -1;
}

static const char *fault_link = "mroce_f";

static int c_link(void)
{
	return nldev(RDMA_NLDEV_CMD_NEWLINK, fault_link, 0);
}

static void u_link(void)
{
	int i = link_index(fault_link), rc;

	if (i < 0) {
		vt_fail("a link that was added is not there");
		return;
	}
	rc = nldev(RDMA_NLDEV_CMD_DELLINK, NULL, i);
	if (rc)
		vt_fail("dellink: %s", strerror(rc));
}

static void run(void)
{
	static const struct call calls[] = {
		{ "open_device", c_open, u_open },
		{ "alloc_pd", c_pd, u_pd },
		{ "reg_mr", c_mr, u_mr },
		{ "create_cq", c_cq, u_cq },
		{ "resize_cq", c_resize, u_none },
		{ "create_srq", c_srq, u_srq },
		{ "create_qp", c_qp, u_qp },
		{ "create_qp, UD", c_ud, u_qp },
		{ "create_ah", c_ah, u_ah },
		{ "alloc_mw", c_mw, u_mw },
		{ "modify_qp to RTS", c_connect, u_connect },
		{ "attach_mcast", c_mcast, u_mcast },
	};
	static const struct call writes = { "a write", c_write, u_none };
	static const struct call links = { "rdma link add", c_link, u_link };
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK };
	struct ibv_qp_attr at = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11,
	};
	size_t i;

	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (nth_fd < 0) {
		vt_skip("this kernel has no fault injection", "faults");
		return;
	}
	vt_open(&dev);
	buf = vt_alloc(65536);
	mr = vt_reg(&dev, buf, 65536, vt_qp_default.access);
	cq = ibv_create_cq(dev.ctx, 100, NULL, NULL, 0);
	if (!cq || c_qp())
		vt_die("create: %m");
	qp = qp1;
	if (c_ud())
		vt_die("create: %m");
	ud = qp1;
	if (ibv_modify_qp(ud, &at, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_QKEY))
		vt_die("UD: %m");
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (vt_want(calls[i].name))
			try_all(&calls[i], 1);
	if (vt_want(writes.name)) {
		if (c_connect())
			vt_die("connect");
		try_all(&writes, 1);
	}
	if (netdev && vt_want(links.name)) {
		nl = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
		if (nl < 0 || bind(nl, (void *)&sa, sizeof(sa)))
			vt_die("netlink: %m");
		try_all(&links, link_step);
		close(nl);
	}
	ibv_destroy_qp(qp);
	ibv_destroy_qp(ud);
	ibv_destroy_cq(cq);
	ibv_dereg_mr(mr);
	vt_close(&dev);
	vt_result("objects are gone again");
}

static void opt(int c, const char *arg)
{
	if (c == 'N')
		netdev = arg;
	else if (c == 't')
		link_type = arg;
	else if (c == 'S')
		link_step = atoi(arg) > 0 ? atoi(arg) : 1;
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "N:t:S:", opt, run, NULL);
}
