// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: regions whose pages come when they are used, and go when
 * the kernel, or the process, takes them. Whatever happens to the mapping, a
 * peer sees and changes what the process sees, or gets an error.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "vt.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret	447
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif

#define AREA	(2 << 20)
#define PAGE	4096
#define ODP	(IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE |	\
		 IBV_ACCESS_MW_BIND |					\
		 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |	\
		 IBV_ACCESS_REMOTE_ATOMIC)

#define WRITE	IBV_WR_RDMA_WRITE
#define READ	IBV_WR_RDMA_READ
#define SEND	IBV_WR_SEND
#define ADD	IBV_WR_ATOMIC_FETCH_AND_ADD
#define OK	IBV_WC_SUCCESS

static struct vt_dev dev;
static struct vt_qp_attr qp_attr;
static int fd;
static uint8_t *area;		/* shared with a file: evicted, it keeps its bytes */
static uint8_t *plain;		/* pinned */
static struct ibv_mr *odp_mr, *plain_mr;

/* Where the pages of an on-demand region are when they are needed */
enum state {
	PLAIN,			/* not on demand at all */
	FRESH,			/* never touched */
	EVICTED,		/* were, and were taken away */
	READ_ONLY,		/* mapped, not to be written yet */
};

static const char * const state_name[] = {
	"pinned", "fresh", "evicted", "read only",
};

static const struct op {
	const char *name;
	enum ibv_wr_opcode op;
	uint32_t len;
	uint32_t off;
} ops[] = {
	{ "write, 8 bytes", WRITE, 8, 64 },
	{ "write, 61 bytes across a page", WRITE, 61, PAGE - 7 },
	{ "write, 1 MB", WRITE, 1000000, 333 },
	{ "send, 100 bytes", SEND, 100, 2 * PAGE - 50 },
	{ "send, 70 kB", SEND, 70000, 12 },
	{ "read, 200 bytes across a page", READ, 200, PAGE - 100 },
	{ "read, 500 bytes", READ, 500, 4 },
	{ "read, 1 MB", READ, 1000000, 777 },
	{ "fetch_add", ADD, 8, 3 * PAGE - 8 },
};

static void to_state(enum state st, uint64_t seed)
{
	volatile uint8_t sum = 0;
	size_t i;

	if (ftruncate(fd, 0) || ftruncate(fd, AREA))
		vt_die("ftruncate: %m");
	if (st == FRESH)
		return;
	vt_fill(area, AREA, seed, 0);
	if (madvise(area, AREA, MADV_DONTNEED))
		vt_die("madvise: %m");
	for (i = 0; st == READ_ONLY && i < AREA; i += PAGE)
		sum += area[i];
}

struct told {
	uint64_t addr;
	uint32_t key;
};

static int post(struct vt_qp *q, const struct op *o, uint8_t *buf,
		struct ibv_mr *m, const struct told *t)
{
	struct ibv_sge sge = { (uintptr_t)buf + o->off, o->len, m->lkey };
	struct ibv_send_wr wr = {
		.opcode = o->op, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (o->op == ADD) {
		wr.wr.atomic.remote_addr = t->addr + o->off;
		wr.wr.atomic.rkey = t->key;
		wr.wr.atomic.compare_add = 0x1111;
	} else if (o->op != SEND) {
		wr.wr.rdma.remote_addr = t->addr + o->off;
		wr.wr.rdma.rkey = t->key;
	}
	return ibv_post_send(q->qp, &wr, &bad);
}

static void once(struct vt_qp *q, const struct op *o, enum ibv_wc_status st,
		 uint8_t *buf, struct ibv_mr *m, const struct told *t)
{
	struct ibv_wc wc;
	int rc = post(q, o, buf, m, t);

	if (rc)
		vt_fail("post: %s", strerror(rc));
	else
		vt_expect(q, q->scq, &wc, st, o->name);
}

static void post_recv(struct vt_qp *q, const struct op *o, uint8_t *buf,
		      struct ibv_mr *m)
{
	struct ibv_sge sge = { (uintptr_t)buf + o->off, o->len, m->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(q->qp, &wr, &bad))
		vt_fail("post_recv");
}

static void check(const char *what, const uint8_t *p, const struct op *o,
		  uint64_t seed, uint64_t add)
{
	size_t at;
	uint64_t v, w;

	if (o->op == ADD) {
		uint8_t b[8];

		vt_fill(b, 8, seed, o->off);
		memcpy(&v, b, 8);
		memcpy(&w, p + o->off, 8);
		if (w != (seed ? v + add : add))
			vt_fail("%s: 0x%llx, not 0x%llx", what,
				(unsigned long long)w,
				(unsigned long long)(seed ? v + add : add));
	} else if (seed ? !vt_same(p + o->off, o->len, seed, o->off, &at) :
			  !vt_all(p + o->off, o->len, 0, &at)) {
		vt_fail("%s: byte %zu is wrong", what, at);
	}
}

/* One operation; A's memory in state @l, B's in @r */
static void run_op(const struct op *o, enum state l, enum state r)
{
	enum state st = vt_side == VT_A ? l : r;
	uint8_t *buf = st == PLAIN ? plain : area;
	struct ibv_mr *m = st == PLAIN ? plain_mr : odp_mr;
	bool from_b = o->op == READ || o->op == ADD;
	uint64_t seed_a = l == FRESH ? 0 : 21, seed_b = r == FRESH ? 0 : 22;
	struct told t = { (uintptr_t)buf, m->rkey };
	struct ibv_wc wc;
	struct vt_qp q;
	char name[96];

	snprintf(name, sizeof(name), "%s, %s to %s", o->name, state_name[l],
		 state_name[r]);
	if (!vt_want(name))
		return;
	vt_qp_create(&q, &dev, &qp_attr);
	vt_qp_connect(&q);
	if (st == PLAIN)
		vt_fill(plain, AREA, vt_side == VT_A ? 21 : 22, 0);
	else
		to_state(st, vt_side == VT_A ? 21 : 22);
	if (vt_side == VT_B) {
		if (o->op == SEND)
			post_recv(&q, o, buf, m);
		vt_send(&t, sizeof(t));
		if (o->op == SEND)
			vt_expect(&q, q.rcq, &wc, OK, "receive");
		vt_sync("done");
		if (from_b)
			check("at B", buf, o, seed_b, o->op == ADD ? 0x1111 : 0);
		else
			check("at B", buf, o, seed_a, 0);
	} else {
		vt_recv(&t, sizeof(t));
		once(&q, o, OK, buf, m, &t);
		vt_sync("done");
		check("at A", buf, o, from_b ? seed_b : seed_a, 0);
	}
	vt_qp_destroy(&q);
	vt_verdict("%s", name);
}

static int advise(uint32_t advice, uint32_t flags, uint32_t lkey, uint64_t addr,
		  uint32_t len)
{
	struct ib_uverbs_sge sge = { addr, len, lkey };
	struct {
		struct ib_uverbs_ioctl_hdr h;
		struct ib_uverbs_attr a[4];
	} c = {
		.h = {
			.length = sizeof(c), .object_id = UVERBS_OBJECT_MR,
			.method_id = UVERBS_METHOD_ADVISE_MR, .num_attrs = 4,
			.driver_id = RDMA_DRIVER_RXE,
		},
		.a = {
			{ UVERBS_ATTR_ADVISE_MR_PD_HANDLE, 0,
			  UVERBS_ATTR_F_MANDATORY, .data = dev.pd->handle },
			{ UVERBS_ATTR_ADVISE_MR_ADVICE, sizeof(uint64_t),
			  UVERBS_ATTR_F_MANDATORY, .data = advice },
			{ UVERBS_ATTR_ADVISE_MR_FLAGS, 4,
			  UVERBS_ATTR_F_MANDATORY, .data = flags },
			{ UVERBS_ATTR_ADVISE_MR_SGE_LIST, sizeof(sge),
			  UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)&sge },
		},
	};

	return ioctl(dev.ctx->cmd_fd, RDMA_VERBS_IOCTL, &c) ? errno : 0;
}

#define PREFETCH	IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH
#define PREFETCH_W	IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE
#define PREFETCH_NF	IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT
#define FLUSH		IB_UVERBS_ADVISE_MR_FLAG_FLUSH

/* ---- the mapping changes under use ---- */

static const struct op w1 = { "write", WRITE, 9000, 100 };
static const struct op r1 = { "read", READ, 9000, 100 };

/* One operation of A on what B gives */
static void remote(struct vt_qp *q, const struct op *o, uint8_t *p,
		   uint32_t rkey, enum ibv_wc_status st)
{
	struct told t = { (uintptr_t)p, rkey };

	if (vt_side == VT_B) {
		vt_send(&t, sizeof(t));
	} else {
		vt_recv(&t, sizeof(t));
		once(q, o, st, plain, plain_mr, &t);
	}
	vt_sync("remote");
}

static void new_qp(struct vt_qp *q)
{
	vt_qp_create(q, &dev, &qp_attr);
	vt_qp_connect(q);
}

/* A window of type 2 on memory of @m, for the queue pair's peer */
static struct ibv_mw *bind_window(struct vt_qp *q, struct ibv_mr *m, uint8_t *p,
				  size_t len)
{
	struct ibv_mw *mw = ibv_alloc_mw(dev.pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;

	if (!mw)
		vt_die("alloc_mw: %m");
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info.mr = m;
	wr.bind_mw.bind_info.addr = (uintptr_t)p;
	wr.bind_mw.bind_info.length = len;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE |
					       IBV_ACCESS_REMOTE_READ;
	if (ibv_post_send(q->qp, &wr, &bad))
		vt_fail("post of a bind");
	else
		vt_expect(q, q->scq, &wc, OK, "bind");
	mw->rkey = wr.bind_mw.rkey;
	return mw;
}

/* B gives @p, A writes and reads it */
static void write_read(struct vt_qp *q, uint8_t *p, uint32_t rkey,
		       enum ibv_wc_status st)
{
	struct told t = { (uintptr_t)p, rkey };

	if (vt_side == VT_B) {
		vt_send(&t, sizeof(t));
		vt_sync("written");
		return;
	}
	vt_recv(&t, sizeof(t));
	vt_fill(plain, AREA, 31, 0);
	once(q, &w1, st, plain, plain_mr, &t);
	if (st == OK) {
		memset(plain, 0, AREA);
		once(q, &r1, st, plain, plain_mr, &t);
		check("read back", plain, &r1, 31, 0);
	}
	vt_sync("written");
}

static struct ibv_mr *reg(void *p, size_t len)
{
	struct ibv_mr *m = ibv_reg_mr(dev.pd, p, len, ODP);

	if (!m)
		vt_die("reg_mr: %m");
	return m;
}

static uint8_t *map_anon(void *at)
{
	uint8_t *p = mmap(at, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			  MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	if (p == MAP_FAILED)
		vt_die("mmap: %m");
	return p;
}

/*
 * The peer writes and reads; between two such rounds, and for the last time with
 * -1, @change does something to the memory.
 */
static void five_rounds(const char *verdict, void (*change)(uint8_t *p, int i))
{
	struct ibv_mr *m = NULL;
	uint8_t *p = NULL;
	struct vt_qp q;
	int i;

	vt_qp_create(&q, &dev, &qp_attr);
	vt_qp_connect(&q);
	if (vt_side == VT_B) {
		p = map_anon(NULL);
		m = reg(p, AREA);
	}
	for (i = 0; i < 5; i++) {
		write_read(&q, p, m ? m->rkey : 0, OK);
		if (vt_side == VT_A)
			continue;
		check("at B", p, &w1, 31, 0);
		change(p, i);
	}
	if (vt_side == VT_B)
		change(p, -1);
	vt_qp_destroy(&q);
	if (m) {
		ibv_dereg_mr(m);
		munmap(p, AREA);
	}
	vt_verdict("%s", verdict);
}

/* Another mapping at the same place is what the region means from then on */
static void remap(uint8_t *p, int i)
{
	if (i < 0)
		return;
	munmap(p, AREA);
	map_anon(p);
}

static const struct op s1 = { "send", SEND, 64, PAGE };
static const struct told nowhere;

/* What cannot be had gives an error, to the peer and to the owner; then it can */
static void hole(bool by_window)
{
	struct ibv_mw *mw = NULL;
	struct ibv_mr *m = NULL;
	uint32_t rkey = 0;
	uint8_t *p = NULL;
	struct vt_qp q;
	int i;

	if (vt_side == VT_B) {
		p = map_anon(NULL);
		m = reg(p, AREA);
		memset(p, 1, AREA);
		/* not unmapped: something else could be mapped there */
		mprotect(p, AREA, PROT_NONE);
	}
	for (i = 0; i < 3; i++) {
		new_qp(&q);
		if (m && by_window)
			mw = bind_window(&q, m, p, AREA);
		if (m)
			rkey = mw ? mw->rkey : m->rkey;
		if (i < 2) {
			if (i == 0)
				write_read(&q, p, rkey, IBV_WC_REM_ACCESS_ERR);
			else if (vt_side == VT_B)
				once(&q, &s1, IBV_WC_LOC_PROT_ERR, p, m,
				     &nowhere);
		} else {
			if (p)
				map_anon(p);
			write_read(&q, p, rkey, OK);
			if (p)
				check("at B", p, &w1, 31, 0);
		}
		vt_sync("hole");
		if (mw && ibv_dealloc_mw(mw))
			vt_fail("dealloc_mw");
		vt_qp_destroy(&q);
	}
	if (m) {
		ibv_dereg_mr(m);
		munmap(p, AREA);
	}
	vt_verdict("%sno access: an error; mapped again: none",
		   by_window ? "window, " : "");
}

/*
 * What is there, but not to be written: those who write get an error, and those
 * who read do not hear of it
 */
static void read_only(void)
{
	static const struct op r = { "read", READ, 9000, 100 };
	static const struct op w[] = {
		{ "write what is there", WRITE, 9000, 100 },
		{ "write what is not there yet", WRITE, 9000, AREA / 2 },
		{ "add to what is there", ADD, 8, 128 },
	};
	struct ibv_mr *m = NULL;
	uint8_t *p = NULL;
	uint32_t rkey = 0;
	struct vt_qp q;
	size_t i;

	to_state(EVICTED, 61);
	if (vt_side == VT_B) {
		p = mmap(NULL, AREA, PROT_READ, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			vt_die("mmap: %m");
		m = reg(p, AREA);
		rkey = m->rkey;
	}
	for (i = 0; i < ARRAY_SIZE(w); i++) {
		new_qp(&q);
		remote(&q, &r, p, rkey, OK);
		if (vt_side == VT_A)
			check("at A", plain, &r, 61, 0);
		remote(&q, &w[i], p, rkey, IBV_WC_REM_ACCESS_ERR);
		vt_qp_destroy(&q);
		new_qp(&q);
		remote(&q, &r, p, rkey, OK);
		vt_qp_destroy(&q);
	}
	if (p && mprotect(p, AREA, PROT_READ | PROT_WRITE))
		vt_die("mprotect: %m");
	new_qp(&q);
	write_read(&q, p, rkey, OK);
	vt_qp_destroy(&q);
	if (m) {
		ibv_dereg_mr(m);
		munmap(p, AREA);
	}
	vt_verdict("read only: writers get an error, readers do not");
}

/* After fork() the first who writes gets another page; the device follows */
static void forks(uint8_t *p, int i)
{
	static pid_t pid;

	if (pid) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	if (i < 0)
		return;
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	/* odd: we copy; even: the device's access has to */
	memset(p, 7, i & 1 ? AREA : 0);
}

/* A window on an on-demand region */
static void window(void)
{
	struct ibv_mw *mw = NULL;
	struct vt_qp q;
	int i;

	new_qp(&q);
	if (vt_side == VT_B)
		mw = bind_window(&q, odp_mr, area, AREA / 2);
	for (i = 0; i < 3; i++) {
		if (vt_side == VT_B)
			to_state(i ? EVICTED : FRESH, 51);
		write_read(&q, area, mw ? mw->rkey : 0, OK);
		if (vt_side == VT_B)
			check("at B", area, &w1, 31, 0);
	}
	if (mw && ibv_dealloc_mw(mw))
		vt_fail("dealloc_mw");
	vt_qp_destroy(&q);
	vt_verdict("a window on it");
}

/* Memory that even the kernel cannot touch */
static void secret(void)
{
	static const struct op ops[] = {
		{ "write", WRITE, 5000, 100 }, { "read", READ, 5000, 100 },
		{ "read 8 bytes", READ, 8, 8 }, { "add", ADD, 8, 8 },
	};
	const size_t len = 16 * PAGE;
	struct ibv_mr *m = NULL;
	uint8_t *p = NULL;
	struct vt_qp q;
	int sfd = -1, rc = 0;
	size_t i;

	if (vt_side == VT_B) {
		sfd = syscall(SYS_memfd_secret, 0);
		rc = sfd < 0 ? errno : 0;
	}
	rc += vt_swap(rc);
	if (rc) {
		if (vt_side == VT_A)
			vt_skip(strerror(rc), "secret memory is refused");
		return;
	}
	if (vt_side == VT_B) {
		if (ftruncate(sfd, len))
			vt_die("ftruncate: %m");
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, sfd, 0);
		if (p == MAP_FAILED)
			vt_die("mmap: %m");
		memset(p, 9, len);
		m = reg(p, len);
		rc = advise(PREFETCH_W, FLUSH, m->lkey, (uintptr_t)p, len);
		if (rc != EFAULT)
			vt_fail("prefetch: %s", strerror(rc));
	}
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		new_qp(&q);
		remote(&q, &ops[i], p, m ? m->rkey : 0, IBV_WC_REM_ACCESS_ERR);
		vt_qp_destroy(&q);
	}
	new_qp(&q);
	if (m)
		once(&q, &s1, IBV_WC_LOC_PROT_ERR, p, m, &nowhere);
	vt_sync("secret");
	vt_qp_destroy(&q);
	if (m) {
		if (!vt_all(p, len, 9, &i))
			vt_fail("byte %zu has changed", i);
		ibv_dereg_mr(m);
		munmap(p, len);
		close(sfd);
	}
	vt_verdict("secret memory is refused");
}

/* An error of before is none of those who come when there is something again */
static void comes_back(void)
{
	static const struct op big = { "write, 64 kB", WRITE, 65536, 0 };
	struct ibv_mr *m = NULL;
	uint8_t *p = NULL;
	uint32_t rkey = 0;
	struct vt_qp q;
	int i;

	for (i = 0; i < 4; i++) {
		if (vt_side == VT_B) {
			p = map_anon(NULL);
			m = reg(p, AREA);
			rkey = m->rkey;
			mprotect(p, AREA, PROT_NONE);
		}
		new_qp(&q);
		if (i & 1) {
			remote(&q, &big, p, rkey, IBV_WC_REM_ACCESS_ERR);
		} else if (vt_side == VT_B) {
			if (advise(PREFETCH_W, 0, m->lkey, (uintptr_t)p, AREA))
				vt_fail("prefetch");
			usleep(100000);
		}
		if (vt_side == VT_B)
			mprotect(p, AREA, PROT_READ | PROT_WRITE);
		vt_qp_destroy(&q);
		new_qp(&q);
		remote(&q, &big, p, rkey, OK);
		vt_qp_destroy(&q);
		if (m) {
			ibv_dereg_mr(m);
			munmap(p, AREA);
		}
	}
	vt_verdict("no error of before when it is there again");
}

/*
 * The page for an atomic's result goes while the atomic is under way, in a slow
 * network, and nothing new may be started: it comes, and only then the queue is
 * drained
 */
static void drained(void)
{
	static const struct op add = { "add", ADD, 8, 5 * PAGE };
	struct ibv_qp_attr at = {
		.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1,
	};
	struct told t = { (uintptr_t)plain, plain_mr->rkey };
	struct ibv_wc wc;
	struct vt_qp q;

	new_qp(&q);
	if (vt_side == VT_B) {
		vt_send(&t, sizeof(t));
	} else {
		vt_recv(&t, sizeof(t));
		to_state(EVICTED, 71);
		if (post(&q, &add, area, odp_mr, &t))
			vt_fail("post");
		/* started, and its page has come */
		usleep(50000);
		if (ibv_modify_qp(q.qp, &at, IBV_QP_STATE |
				  IBV_QP_EN_SQD_ASYNC_NOTIFY))
			vt_fail("to SQD: %m");
		to_state(EVICTED, 71);
		if (!vt_event(&dev, IBV_EVENT_SQ_DRAINED, vt.wait_ms))
			vt_fail("not drained");
		else if (!vt_poll(&q, q.scq, &wc, 0) || wc.status)
			vt_fail("drained, and something is open");
	}
	vt_sync("drained");
	vt_qp_destroy(&q);
	vt_verdict("SQD: drained when an atomic's result is stored");
}

/* ---- pages come and go all the time ---- */

static volatile bool stop;
static unsigned long rounds;

static void *evict(void *arg)
{
	(void)arg;
	while (!stop) {
		size_t at = vt_rand() % (AREA / PAGE) * PAGE;
		size_t len = (1 + vt_rand() % 16) * PAGE;

		if (len > AREA - at)
			len = AREA - at;
		madvise(area + at, len, MADV_DONTNEED);
		rounds++;
		/* what a packet was dropped for must be there when it is back */
		usleep(2000);
	}
	return NULL;
}

/* Writes, reads, adds at random places; what was read is what was written */
static void churn(void)
{
	struct op o = { "churn" };
	int i, n = vt_scaled(400, 40);
	struct told t = { (uintptr_t)area, odp_mr->rkey };
	uint64_t v, sum = 0;
	struct vt_qp q;
	pthread_t th;

	vt_qp_create(&q, &dev, &qp_attr);
	vt_qp_connect(&q);
	to_state(FRESH, 0);
	stop = false;
	if (pthread_create(&th, NULL, evict, NULL))
		vt_die("thread");
	if (vt_side == VT_B) {
		vt_send(&t, sizeof(t));
		vt_sync("churned");
		memcpy(&v, area, 8);
		vt_send(&v, 8);
	} else {
		vt_recv(&t, sizeof(t));
		for (i = 0; i < n && !vt_failed(); i++) {
			o.op = WRITE;
			o.len = 1 + vt_rnd(60000);
			o.off = 8 + vt_rnd(AREA - 60000 - 8);
			vt_fill(area + o.off, o.len, i + 100, o.off);
			once(&q, &o, OK, area, odp_mr, &t);
			memset(area + o.off, 0, o.len);
			o.op = READ;
			once(&q, &o, OK, area, odp_mr, &t);
			check("read", area, &o, i + 100, 0);
			o.op = ADD;
			o.len = 8;
			o.off = 0;
			once(&q, &o, OK, area, odp_mr, &t);
			memcpy(&v, area, 8);
			if (v != sum)
				vt_fail("the sum was 0x%llx, not 0x%llx",
					(unsigned long long)v,
					(unsigned long long)sum);
			sum += 0x1111;
		}
		vt_sync("churned");
		vt_recv(&v, 8);
		if (v != sum)
			vt_fail("the sum is 0x%llx, not 0x%llx",
				(unsigned long long)v, (unsigned long long)sum);
	}
	stop = true;
	pthread_join(th, NULL);
	vt_qp_destroy(&q);
	if (vt_side == VT_A)
		vt_note("evicted %lu times", rounds);
	vt_verdict("pages come and go under use");
}

#define MOVED	(16 * PAGE)

static uint8_t *here, *aside;
static struct ibv_mr *moving;

/* Pages that went elsewhere are the process's alone */
static void *move_away(void *arg)
{
	static uint8_t copy[MOVED];

	(void)arg;
	while (!stop && !vt_failed()) {
		if (mremap(here, MOVED, MOVED, MREMAP_MAYMOVE | MREMAP_FIXED |
			   MREMAP_DONTUNMAP, aside) == MAP_FAILED) {
			vt_fail("mremap: %m");
			break;
		}
		memcpy(copy, aside, MOVED);
		usleep(vt_rnd(200));
		if (memcmp(copy, aside, MOVED))
			vt_fail("written to after it was moved");
		if (rounds & 1 && madvise(aside, MOVED, MADV_DONTNEED))
			vt_fail("madvise: %m");
		/* what a packet was dropped for must be there when it is back */
		if (advise(PREFETCH_W, FLUSH, moving->lkey, (uintptr_t)here,
			   MOVED))
			vt_fail("prefetch");
		usleep(1000 + vt_rnd(2000));
		rounds++;
	}
	return NULL;
}

/* The peer writes all the time, through a window, to what moves and is dropped */
static void window_moves(void)
{
	struct op o = { "write through a window", WRITE, 4000, 0 };
	int i, n = vt_scaled(1500, 100), open = 0;
	struct ibv_mw *mw = NULL;
	struct told t = {};
	struct ibv_wc wc;
	struct vt_qp q;
	pthread_t th;

	new_qp(&q);
	if (vt_side == VT_B) {
		here = map_anon(NULL);
		aside = map_anon(NULL);
		moving = reg(here, MOVED);
		mw = bind_window(&q, moving, here, MOVED);
		t.addr = (uintptr_t)here;
		t.key = mw->rkey;
		vt_send(&t, sizeof(t));
		stop = false;
		rounds = 0;
		if (pthread_create(&th, NULL, move_away, NULL))
			vt_die("thread");
		vt_sync("moved");
		stop = true;
		pthread_join(th, NULL);
		if (ibv_dealloc_mw(mw) || ibv_dereg_mr(moving))
			vt_fail("the window or its region stays");
		munmap(here, AREA);
		munmap(aside, AREA);
	} else {
		vt_recv(&t, sizeof(t));
		for (i = 0; i < n && !vt_failed(); i++) {
			o.off = vt_rnd(MOVED - o.len);
			/* what is written differs each time */
			memset(plain + o.off, i, o.len);
			if (post(&q, &o, plain, plain_mr, &t))
				vt_fail("post");
			else if (++open == 8 || i == n - 1)
				for (; open && !vt_failed(); open--)
					vt_expect(&q, q.scq, &wc, OK, o.name);
		}
		vt_sync("moved");
	}
	vt_qp_destroy(&q);
	rounds = vt_swap(rounds);
	if (vt_side == VT_A)
		vt_note("moved %lu times", rounds);
	if (vt_side == VT_A && !rounds)
		vt_fail("it was never moved");
	vt_verdict("a window's memory moves under use");
}

/* A region that goes while the peer writes to what is not there */
static void dereg_busy(void)
{
	struct told t;
	int i, n = vt_scaled(20, 5);
	struct vt_qp q;
	struct ibv_wc wc;

	for (i = 0; i < n; i++) {
		vt_qp_create(&q, &dev, &qp_attr);
		vt_qp_connect(&q);
		if (vt_side == VT_B) {
			uint8_t *p = map_anon(NULL);
			struct ibv_mr *m = reg(p, AREA);
			int rc;

			t.addr = (uintptr_t)p;
			t.key = m->rkey;
			vt_send(&t, sizeof(t));
			usleep(vt_rnd(3000));
			rc = ibv_dereg_mr(m);
			if (rc)
				vt_fail("dereg_mr: %s", strerror(rc));
			munmap(p, AREA);
		} else {
			vt_recv(&t, sizeof(t));
			memset(&wc, 0, sizeof(wc));
			post(&q, &ops[2], plain, plain_mr, &t);
			if (vt_poll(&q, q.scq, &wc, -1) && wc.status &&
			    wc.status != IBV_WC_REM_ACCESS_ERR)
				vt_fail("status %d", wc.status);
		}
		vt_sync("gone");
		vt_qp_destroy(&q);
	}
	vt_verdict("deregistered while pages are wanted");
}

/* ---- registration, advice ---- */

static void advice(void)
{
	uint64_t a = (uintptr_t)area;
	const struct {
		const char *name;
		uint32_t advice, flags, lkey;
		uint64_t addr;
		uint32_t len;
		int want;
	} cases[] = {
		{ "prefetch", PREFETCH, FLUSH, odp_mr->lkey, a, AREA, 0 },
		{ "prefetch to write", PREFETCH_W, FLUSH, odp_mr->lkey, a, AREA, 0 },
		{ "prefetch, do not wait", PREFETCH_W, 0, odp_mr->lkey, a, AREA, 0 },
		{ "prefetch what is there", PREFETCH_NF, 0, odp_mr->lkey, a, AREA, 0 },
		{ "prefetch a pinned region", PREFETCH, FLUSH, plain_mr->lkey,
		  (uintptr_t)plain, AREA, EPERM },
		{ "prefetch, wrong key", PREFETCH, 0, odp_mr->lkey ^ 1, a, 8, ENOENT },
		{ "prefetch too much", PREFETCH, 0, odp_mr->lkey, a + 1, AREA, EFAULT },
		{ "prefetch at 2^64", PREFETCH, 0, odp_mr->lkey, ~0ULL, 8, EFAULT },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		int rc;

		to_state(EVICTED, 41);
		rc = advise(cases[i].advice, cases[i].flags, cases[i].lkey,
			    cases[i].addr, cases[i].len);
		vt_ok(rc == cases[i].want, "%s: %s", cases[i].name,
		      strerror(rc));
	}
}

static void registration(void)
{
	struct ibv_mr *m;

	m = ibv_reg_mr(dev.pd, NULL, SIZE_MAX, ODP);
	vt_ok(!m, "all of the address space is refused");
	m = ibv_reg_mr(dev.pd, area, 1ULL << 45, ODP);
	vt_ok(!m, "2^45 bytes are refused");
	m = ibv_reg_mr(dev.pd, area, 1ULL << 36, ODP);
	if (m)
		ibv_dereg_mr(m);
	vt_ok(true, "2^36 bytes: %s", m ? "accepted" : strerror(errno));
	m = ibv_reg_mr(dev.pd, (void *)~4095ULL, 8192, ODP);
	vt_ok(!m, "the end of the address space is refused");
	m = ibv_reg_mr(dev.pd, (void *)4096, 8192, ODP);
	vt_ok(m && !ibv_dereg_mr(m), "what is not mapped can be registered");
}

static void both(void)
{
	static const enum state side[][2] = {
		{ PLAIN, FRESH }, { PLAIN, EVICTED }, { PLAIN, READ_ONLY },
		{ FRESH, PLAIN }, { EVICTED, PLAIN }, { READ_ONLY, PLAIN },
		{ EVICTED, EVICTED },
	};
	struct ibv_device_attr_ex at;
	size_t i, j;

	/* pages may take long on a busy machine: seconds, not half of one */
	qp_attr = vt_qp_default;
	qp_attr.timeout = 18;
	vt_open(&dev);
	if (ibv_query_device_ex(dev.ctx, NULL, &at) ||
	    !(at.odp_caps.general_caps & IBV_ODP_SUPPORT)) {
		if (vt_side == VT_A)
			vt_skip("not supported", "on-demand paging");
		vt_close(&dev);
		return;
	}
	fd = memfd_create("odp", 0);
	if (fd < 0 || ftruncate(fd, AREA))
		vt_die("memfd: %m");
	area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED)
		vt_die("mmap: %m");
	plain = vt_alloc(AREA);
	plain_mr = vt_reg(&dev, plain, AREA, ODP & ~IBV_ACCESS_ON_DEMAND);
	odp_mr = reg(area, AREA);

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		for (j = 0; j < ARRAY_SIZE(side); j++)
			run_op(&ops[i], side[j][0], side[j][1]);
	if (!vt.only) {
		five_rounds("mapped anew", remap);
		hole(false);
		hole(true);
		read_only();
		secret();
		comes_back();
		five_rounds("fork", forks);
		window();
		window_moves();
		dereg_busy();
		if (vt_side == VT_A) {
			advice();
			registration();
		}
		vt_sync("alone");
	}
	if (vt_want("churn"))
		churn();
	if (vt_want("drained"))
		drained();
	if (ibv_dereg_mr(odp_mr) || ibv_dereg_mr(plain_mr))
		vt_fail("dereg_mr: %m");
	vt_close(&dev);
	vt_verdict("objects are gone again");
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "", NULL, both, both);
}
