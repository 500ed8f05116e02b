// SPDX-License-Identifier: GPL-2.0
/* Common to the verbs tests, see vt.h. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vt.h"

struct vt_opts vt = {
	.family = 4,
	.scale = 100,
	.slow = 1,
	.wait_ms = 10000,
};

enum vt_side vt_side;

static int oob = -1;
static int tap_n, tap_bad, tap_skip;
static char fail_buf[2048];
static size_t fail_len;

/* ---- TAP ---- */

bool vt_ok(bool cond, const char *fmt, ...)
{
	va_list ap;

	printf("%s %d ", cond ? "ok" : "not ok", ++tap_n);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	if (!cond)
		tap_bad++;
	return cond;
}

void vt_skip(const char *why, const char *fmt, ...)
{
	va_list ap;

	printf("ok %d ", ++tap_n);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(" # SKIP %s\n", why);
	fflush(stdout);
	tap_skip++;
}

void vt_note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

void vt_fail(const char *fmt, ...)
{
	va_list ap;
	int n;

	if (fail_len > sizeof(fail_buf) - 200)
		return;
	n = snprintf(fail_buf + fail_len, sizeof(fail_buf) - fail_len,
		     "# %c: ", vt_side == VT_A ? 'A' : 'B');
	fail_len += n;
	va_start(ap, fmt);
	n = vsnprintf(fail_buf + fail_len, 180, fmt, ap);
	va_end(ap);
	fail_len += n > 179 ? 179 : n;
	fail_buf[fail_len++] = '\n';
	fail_buf[fail_len] = 0;
}

bool vt_failed(void)
{
	return fail_len;
}

bool vt_verdict(const char *fmt, ...)
{
	char peer[sizeof(fail_buf)] = "";
	uint64_t len = vt_swap(fail_len);
	char name[256];
	va_list ap;
	bool good = !fail_len && !len;

	if (vt_side == VT_B) {
		vt_send(fail_buf, fail_len);
	} else {
		vt_recv(peer, len);
		if (fail_len || len) {
			printf("%s%.*s", fail_len ? fail_buf : "",
			       (int)len, peer);
		}
		va_start(ap, fmt);
		vsnprintf(name, sizeof(name), fmt, ap);
		va_end(ap);
		vt_ok(good, "%s", name);
	}
	fail_len = 0;
	return good;
}

bool vt_result(const char *fmt, ...)
{
	bool good = !fail_len;
	char name[256];
	va_list ap;

	fputs(fail_len ? fail_buf : "", stdout);
	fail_len = 0;
	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	return vt_ok(good, "%s", name);
}

void vt_die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "%c: ", vt_side == VT_A ? 'A' : 'B');
	if (fail_len)
		fputs(fail_buf, stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	fflush(stderr);
	_exit(2);
}

/* ---- the other end ---- */

void vt_send(const void *buf, size_t len)
{
	const char *p = buf;
	ssize_t n;

	while (len) {
		n = send(oob, p, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			vt_die("the other end is gone");
		p += n;
		len -= n;
	}
}

void vt_recv(void *buf, size_t len)
{
	char *p = buf;
	ssize_t n;

	while (len) {
		n = recv(oob, p, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			vt_die("the other end %s",
			       n ? "does not answer" : "is gone");
		p += n;
		len -= n;
	}
}

uint64_t vt_swap(uint64_t mine)
{
	uint64_t theirs;

	vt_send(&mine, sizeof(mine));
	vt_recv(&theirs, sizeof(theirs));
	return theirs;
}

void vt_sync(const char *where)
{
	uint64_t h = 5381, theirs;
	const char *p;

	for (p = where; *p; p++)
		h = h * 33 + *p;
	theirs = vt_swap(h);
	if (theirs != h)
		vt_die("ends are out of step at %s", where);
}

static void oob_limits(int fd)
{
	struct timeval tv = { .tv_sec = 60 * vt.slow };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static int oob_tcp(void)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *ai;
	char host[128] = "";
	const char *port;
	int fd, s, on = 1;

	if (vt.listen) {
		port = vt.listen;
		hints.ai_flags = AI_PASSIVE;
		hints.ai_family = AF_INET;
	} else {
		port = strrchr(vt.connect, ':');
		if (!port)
			vt_die("-c HOST:PORT");
		snprintf(host, sizeof(host), "%.*s",
			 (int)(port - vt.connect), vt.connect);
		port++;
	}
	if (getaddrinfo(*host ? host : NULL, port, &hints, &ai))
		vt_die("no address %s", vt.listen ? vt.listen : vt.connect);
	fd = socket(ai->ai_family, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (vt.listen) {
		if (bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, 1))
			vt_die("port %s: %m", port);
		s = accept(fd, NULL, NULL);
		close(fd);
		fd = s;
	} else if (connect(fd, ai->ai_addr, ai->ai_addrlen)) {
		vt_die("%s: %m", vt.connect);
	}
	freeaddrinfo(ai);
	return fd;
}

static void enter_netns(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		vt_die("network namespace %s: %m", name);
	close(fd);
}

/* sysfs shows what belongs to the namespace that it was mounted in */
static void own_sysfs(void)
{
	if (unshare(CLONE_NEWNS) ||
	    mount("", "/", NULL, MS_SLAVE | MS_REC, NULL) ||
	    umount2("/sys", MNT_DETACH) ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL))
		vt_die("no /sys of the namespace: %m");
}

static int run_end(enum vt_side side, void (*fn)(void))
{
	static char name[2][64];
	const char *at = strchr(vt.dev[side], '@');

	vt_side = side;
	vt_srand(vt_now_us() ^ getpid());
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	oob_limits(oob);
	if (at) {
		snprintf(name[side], sizeof(name[side]), "%.*s",
			 (int)(at - vt.dev[side]), vt.dev[side]);
		enter_netns(at + 1);
		own_sysfs();
		vt.dev[side] = name[side];
	}
	fn();
	if (side == VT_B)
		return 0;
	printf("1..%d\n", tap_n);
	fflush(stdout);
	if (tap_bad)
		return 1;
	return tap_n && tap_n == tap_skip ? 4 : 0;
}

static void usage(const char *prog)
{
	fprintf(stderr,
		"usage: %s -d DEV[@NETNS] [-d DEV[@NETNS]] [-4|-6|-g ADDR [-g ADDR]]\n"
		"       [-e] [-S PERCENT] [-k CASE] [-w MS] [-v] [-l PORT | -c HOST:PORT] [...]\n",
		prog);
	exit(2);
}

int vt_main(int argc, char **argv, const char *more,
	    void (*opt)(int c, const char *arg), void (*a)(void),
	    void (*b)(void))
{
	char optstr[64];
	int c, n = 0, n_addr = 0, sv[2], st, rc = 0;
	pid_t pid[2], p;

	snprintf(optstr, sizeof(optstr), "d:46g:eS:k:w:vl:c:%s", more);
	while ((c = getopt(argc, argv, optstr)) != -1) {
		switch (c) {
		case 'd':
			if (n < 2)
				vt.dev[n++] = optarg;
			break;
		case '4':
		case '6':
			vt.family = c - '0';
			break;
		case 'g':
			if (n_addr < 2)
				vt.addr[n_addr++] = optarg;
			break;
		case 'e':
			vt.events = true;
			break;
		case 'S':
			vt.scale = atoi(optarg);
			break;
		case 'k':
			vt.only = optarg;
			break;
		case 'w':
			vt.wait_ms = atoi(optarg);
			break;
		case 'v':
			vt.verbose = true;
			break;
		case 'l':
			vt.listen = optarg;
			break;
		case 'c':
			vt.connect = optarg;
			break;
		case '?':
			usage(argv[0]);
			break;
		default:
			opt(c, optarg);
		}
	}
	if (!n)
		usage(argv[0]);
	if (n == 1)
		vt.dev[1] = vt.dev[0];
	if (n_addr == 1)
		vt.addr[1] = vt.addr[0];
	/* How much slower than a machine of its own, see lib.sh */
	if (getenv("VT_SLOW"))
		vt.slow = atoi(getenv("VT_SLOW"));
	if (vt.slow < 1)
		vt.slow = 1;
	vt.wait_ms *= vt.slow;
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);

	if (vt.listen || vt.connect) {
		vt_side = vt.listen ? VT_B : VT_A;
		oob = oob_tcp();
		return run_end(vt_side, vt.listen ? b : a);
	}

	printf("TAP version 13\n");
	fflush(stdout);
	if (!b) {
		oob = -1;
		return run_end(VT_A, a);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
		vt_die("socketpair: %m");
	for (n = 0; n < 2; n++) {
		pid[n] = fork();
		if (pid[n] < 0)
			vt_die("fork: %m");
		if (!pid[n]) {
			oob = sv[n];
			close(sv[!n]);
			exit(run_end(n ? VT_B : VT_A, n ? b : a));
		}
	}
	close(sv[0]);
	close(sv[1]);
	while ((p = wait(&st)) > 0) {
		c = WIFEXITED(st) ? WEXITSTATUS(st) : 2;
		if (WIFSIGNALED(st))
			fprintf(stderr, "%c: killed by signal %d (%s)\n",
				p == pid[0] ? 'A' : 'B', WTERMSIG(st),
				strsignal(WTERMSIG(st)));
		if (c == 2 || (p == pid[0] && rc != 2))
			rc = c;
	}
	return rc;
}

/* ---- device ---- */

static bool gid_wanted(const union ibv_gid *g)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t none[16];
	uint8_t want[16] = {};

	if (!memcmp(g->raw, none, 16))
		return false;
	if (vt.addr[vt_side]) {
		const char *a = vt.addr[vt_side];

		if (inet_pton(AF_INET6, a, want) != 1) {
			memcpy(want, v4, 12);
			if (inet_pton(AF_INET, a, want + 12) != 1)
				vt_die("-g %s: no address", a);
		}
		return !memcmp(g->raw, want, 16);
	}
	if (vt.family == 4)
		return !memcmp(g->raw, v4, 12);
	return memcmp(g->raw, v4, 12) && g->raw[0] != 0xfe;
}

static bool gid_is_v2(const char *dev, int i)
{
	char path[256], buf[32] = "";
	int fd;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%d", dev, i);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	if (read(fd, buf, sizeof(buf) - 1) < 0)
		buf[0] = 0;
	close(fd);
	return !strncmp(buf, "RoCE v2", 7);
}

static bool find_gid(struct vt_dev *d, const char *name)
{
	int i;

	for (i = 0; i < d->port.gid_tbl_len; i++) {
		if (ibv_query_gid(d->ctx, 1, i, &d->gid))
			continue;
		if (gid_wanted(&d->gid) && gid_is_v2(name, i)) {
			d->gid_index = i;
			return true;
		}
	}
	return false;
}

void vt_open(struct vt_dev *d)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	const char *name = vt.dev[vt_side];
	uint64_t end;
	int i;

	memset(d, 0, sizeof(*d));
	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			d->ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!d->ctx)
		vt_die("no device %s", name);
	if (ibv_query_device(d->ctx, &d->attr) ||
	    ibv_query_port(d->ctx, 1, &d->port))
		vt_die("%s: no attributes: %m", name);
	d->pd = ibv_alloc_pd(d->ctx);
	if (!d->pd)
		vt_die("%s: no PD: %m", name);
	/* After a link or an address was added it takes a moment */
	end = vt_now_us() + vt.wait_ms * 1000ULL / 2;
	while (!find_gid(d, name)) {
		if (vt_now_us() > end)
			vt_die("%s: no GID for %s", name, vt.addr[vt_side] ?
			       vt.addr[vt_side] :
			       vt.family == 4 ? "IPv4" : "IPv6");
		usleep(5000);
	}
}

void vt_close(struct vt_dev *d)
{
	int rc;

	rc = ibv_dealloc_pd(d->pd);
	if (rc)
		vt_fail("dealloc_pd: %s", strerror(rc));
	rc = ibv_close_device(d->ctx);
	if (rc)
		vt_fail("close_device: %s", strerror(rc));
}

int vt_mtu_bytes(enum ibv_mtu m)
{
	return 128 << m;
}

/* ---- queue pairs ---- */

const struct vt_qp_attr vt_qp_default = {
	.send_wr = 64,
	.recv_wr = 64,
	.send_sge = 1,
	.recv_sge = 1,
	.timeout = 14,
	.retry_cnt = 7,
	.rnr_retry = 7,
	.min_rnr = 12,
	.rd_atomic = 8,
	.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

void vt_qp_create(struct vt_qp *q, struct vt_dev *d, const struct vt_qp_attr *a)
{
	struct ibv_qp_init_attr ia = { .qp_type = IBV_QPT_RC };
	struct ibv_srq_init_attr sa = {};

	memset(q, 0, sizeof(*q));
	q->dev = d;
	q->a = a ? *a : vt_qp_default;
	a = &q->a;
	if (vt.events) {
		q->ch = ibv_create_comp_channel(d->ctx);
		if (!q->ch)
			vt_die("no completion channel: %m");
	}
	q->scq = ibv_create_cq(d->ctx, a->send_wr + a->recv_wr, NULL, q->ch, 0);
	if (!q->scq)
		vt_die("no CQ: %m");
	if (a->one_cq)
		q->rcq = q->scq;
	else
		q->rcq = ibv_create_cq(d->ctx, a->recv_wr + 1, NULL, q->ch, 0);
	if (!q->rcq)
		vt_die("no CQ: %m");
	if (a->srq) {
		sa.attr.max_wr = a->recv_wr;
		sa.attr.max_sge = a->recv_sge;
		q->srq = ibv_create_srq(d->pd, &sa);
		if (!q->srq)
			vt_die("no SRQ: %m");
	}
	ia.send_cq = q->scq;
	ia.recv_cq = q->rcq;
	ia.srq = q->srq;
	if (a->uc)
		ia.qp_type = IBV_QPT_UC;
	ia.sq_sig_all = a->sig_all;
	ia.cap.max_send_wr = a->send_wr;
	ia.cap.max_recv_wr = a->srq ? 0 : a->recv_wr;
	ia.cap.max_send_sge = a->send_sge;
	ia.cap.max_recv_sge = a->srq ? 0 : a->recv_sge;
	ia.cap.max_inline_data = a->inline_bytes;
	q->qp = ibv_create_qp(d->pd, &ia);
	if (!q->qp)
		vt_die("no QP: %m");
	if (ia.cap.max_send_wr < a->send_wr ||
	    ia.cap.max_send_sge < a->send_sge ||
	    ia.cap.max_inline_data < a->inline_bytes)
		vt_fail("QP is smaller than asked for");
	q->psn = vt_rand() & 0xffffff;
}

void vt_qp_exchange(struct vt_qp *q)
{
	struct {
		uint32_t qpn, psn;
		union ibv_gid gid;
	} me = { q->qp->qp_num, q->psn, q->dev->gid }, peer;

	vt_send(&me, sizeof(me));
	vt_recv(&peer, sizeof(peer));
	q->peer_qpn = peer.qpn;
	q->peer_psn = peer.psn;
	q->peer_gid = peer.gid;
}

int vt_qp_init(struct vt_qp *q)
{
	struct ibv_qp_attr at = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = q->a.access & ~IBV_ACCESS_LOCAL_WRITE,
	};

	return ibv_modify_qp(q->qp, &at, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int vt_qp_rtr(struct vt_qp *q)
{
	struct ibv_qp_attr at = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = q->a.mtu ? q->a.mtu : q->dev->port.active_mtu,
		.dest_qp_num = q->peer_qpn,
		.rq_psn = q->peer_psn,
		.max_dest_rd_atomic = q->a.rd_atomic,
		.min_rnr_timer = q->a.min_rnr,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = q->peer_gid,
				.sgid_index = q->dev->gid_index,
				.hop_limit = 64,
			},
		},
	};

	return ibv_modify_qp(q->qp, &at, IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     (q->a.uc ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC |
					    IBV_QP_MIN_RNR_TIMER));
}

int vt_qp_rts(struct vt_qp *q)
{
	struct ibv_qp_attr at = {
		.qp_state = IBV_QPS_RTS,
		.timeout = q->a.timeout,
		.retry_cnt = q->a.retry_cnt,
		.rnr_retry = q->a.rnr_retry,
		.sq_psn = q->psn,
		.max_rd_atomic = q->a.rd_atomic,
	};

	return ibv_modify_qp(q->qp, &at, IBV_QP_STATE | IBV_QP_SQ_PSN |
			     (q->a.uc ? 0 : IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					    IBV_QP_RNR_RETRY |
					    IBV_QP_MAX_QP_RD_ATOMIC));
}

void vt_qp_connect(struct vt_qp *q)
{
	int rc;

	vt_qp_exchange(q);
	rc = vt_qp_init(q);
	if (rc)
		vt_die("QP to INIT: %s", strerror(rc));
	rc = vt_qp_rtr(q);
	if (rc)
		vt_die("QP to RTR: %s", strerror(rc));
	rc = vt_qp_rts(q);
	if (rc)
		vt_die("QP to RTS: %s", strerror(rc));
	vt_sync("connected");
}

int vt_qp_to(struct ibv_qp *qp, enum ibv_qp_state st)
{
	struct ibv_qp_attr at = { .qp_state = st };

	return ibv_modify_qp(qp, &at, IBV_QP_STATE);
}

enum ibv_qp_state vt_qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_attr at;
	struct ibv_qp_init_attr ia;

	if (ibv_query_qp(qp, &at, IBV_QP_STATE, &ia))
		return IBV_QPS_UNKNOWN;
	return at.qp_state;
}

enum ibv_qp_state vt_qp_wait_state(struct ibv_qp *qp, enum ibv_qp_state st,
				   int ms)
{
	uint64_t end = vt_now_us() + ms * 1000ULL;
	enum ibv_qp_state now;

	do {
		now = vt_qp_state(qp);
		if (now == st)
			break;
		usleep(1000);
	} while (vt_now_us() < end);
	return now;
}

void vt_qp_destroy(struct vt_qp *q)
{
	int rc;

	rc = ibv_destroy_qp(q->qp);
	if (rc)
		vt_fail("destroy_qp: %s", strerror(rc));
	if (q->srq) {
		rc = ibv_destroy_srq(q->srq);
		if (rc)
			vt_fail("destroy_srq: %s", strerror(rc));
	}
	rc = ibv_destroy_cq(q->scq);
	if (!rc && q->rcq != q->scq)
		rc = ibv_destroy_cq(q->rcq);
	if (rc)
		vt_fail("destroy_cq: %s", strerror(rc));
	if (q->ch && ibv_destroy_comp_channel(q->ch))
		vt_fail("destroy_comp_channel");
	memset(q, 0, sizeof(*q));
}

/* ---- completions ---- */

/* Sleep until the channel has an event. It may be of the QP's other CQ. */
static void wait_channel(struct vt_qp *q, int ms)
{
	struct pollfd pfd = { .fd = q->ch->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *arg;

	if (poll(&pfd, 1, ms) <= 0)
		return;
	if (ibv_get_cq_event(q->ch, &cq, &arg))
		return;
	ibv_ack_cq_events(cq, 1);
}

bool vt_poll(struct vt_qp *q, struct ibv_cq *cq, struct ibv_wc *wc, int ms)
{
	uint64_t end;
	int n, spin = 0;

	n = ibv_poll_cq(cq, 1, wc);
	if (n > 0)
		return true;
	end = vt_now_us() + (ms < 0 ? vt.wait_ms : ms) * 1000ULL;
	for (;;) {
		if (q && q->ch) {
			uint64_t now = vt_now_us();

			if (ibv_req_notify_cq(cq, 0))
				vt_die("req_notify_cq");
			n = ibv_poll_cq(cq, 1, wc);
			if (n > 0)
				return true;
			if (now >= end)
				return false;
			wait_channel(q, (end - now + 999) / 1000);
		} else if (++spin % 64 == 0) {
			if (vt_now_us() >= end)
				return false;
			sched_yield();
		}
		n = ibv_poll_cq(cq, 1, wc);
		if (n < 0)
			vt_die("poll_cq");
		if (n)
			return true;
	}
}

bool vt_expect(struct vt_qp *q, struct ibv_cq *cq, struct ibv_wc *wc,
	       enum ibv_wc_status st, const char *what)
{
	if (!vt_poll(q, cq, wc, -1)) {
		vt_fail("%s: no completion", what);
		return false;
	}
	if (wc->status != st) {
		vt_fail("%s: completed with '%s', not '%s'", what,
			ibv_wc_status_str(wc->status), ibv_wc_status_str(st));
		return false;
	}
	return true;
}

void vt_expect_none(struct ibv_cq *cq, int ms, const char *what)
{
	struct ibv_wc wc;

	if (vt_poll(NULL, cq, &wc, ms))
		vt_fail("%s: a completion too many (wr_id %llu, %s)", what,
			(unsigned long long)wc.wr_id,
			ibv_wc_status_str(wc.status));
}

bool vt_event(struct vt_dev *d, enum ibv_event_type type, int ms)
{
	struct pollfd pfd = { .fd = d->ctx->async_fd, .events = POLLIN };
	uint64_t end = vt_now_us() + ms * 1000ULL, now;
	struct ibv_async_event ev;
	bool hit;

	for (;;) {
		now = vt_now_us();
		if (now >= end || poll(&pfd, 1, (end - now + 999) / 1000) <= 0)
			return false;
		if (ibv_get_async_event(d->ctx, &ev))
			return false;
		hit = ev.event_type == type;
		ibv_ack_async_event(&ev);
		if (hit)
			return true;
	}
}

const char *vt_op_name(enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_RDMA_WRITE: return "write";
	case IBV_WR_RDMA_WRITE_WITH_IMM: return "write_imm";
	case IBV_WR_SEND: return "send";
	case IBV_WR_SEND_WITH_IMM: return "send_imm";
	case IBV_WR_SEND_WITH_INV: return "send_inv";
	case IBV_WR_RDMA_READ: return "read";
	case IBV_WR_ATOMIC_CMP_AND_SWP: return "cmp_swap";
	case IBV_WR_ATOMIC_FETCH_AND_ADD: return "fetch_add";
	case IBV_WR_LOCAL_INV: return "local_inv";
	case IBV_WR_BIND_MW: return "bind_mw";
	default: return "?";
	}
}

/* ---- memory ---- */

void *vt_alloc(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		vt_die("no memory");
	return p;
}

struct ibv_mr *vt_reg(struct vt_dev *d, void *buf, size_t len, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(d->pd, buf, len, access);

	if (!mr)
		vt_die("reg_mr(%zu bytes, access 0x%x): %m", len, access);
	return mr;
}

/* Eight bytes of the stream at index @i: cheap, and no two alike */
static uint64_t word(uint64_t seed, uint64_t i)
{
	uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ULL + i * 0xd1342543de82ef95ULL;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ULL;
	return x ^ x >> 32;
}

void vt_fill(void *buf, size_t len, uint64_t seed, size_t at)
{
	uint8_t *p = buf;
	size_t k = 0;

	while (k < len) {
		uint64_t w = word(seed, (at + k) / 8);
		size_t off = (at + k) % 8;
		size_t n = 8 - off < len - k ? 8 - off : len - k;

		memcpy(p + k, (uint8_t *)&w + off, n);
		k += n;
	}
}

bool vt_same(const void *buf, size_t len, uint64_t seed, size_t at,
	     size_t *where)
{
	const uint8_t *p = buf;
	size_t k = 0, i;

	while (k < len) {
		uint64_t w = word(seed, (at + k) / 8);
		size_t off = (at + k) % 8;
		size_t n = 8 - off < len - k ? 8 - off : len - k;

		if (memcmp(p + k, (uint8_t *)&w + off, n)) {
			for (i = 0; i < n; i++)
				if (p[k + i] != ((uint8_t *)&w)[off + i])
					break;
			if (where)
				*where = k + i;
			return false;
		}
		k += n;
	}
	return true;
}

bool vt_all(const void *buf, size_t len, uint8_t c, size_t *where)
{
	const uint8_t *p = buf;
	size_t i;

	if (!len || (p[0] == c && !memcmp(p, p + 1, len - 1)))
		return true;
	for (i = 0; p[i] == c; i++)
		;
	if (where)
		*where = i;
	return false;
}

/* ---- time, random ---- */

uint64_t vt_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

static uint64_t rnd_state = 88172645463325252ULL;

void vt_srand(uint64_t seed)
{
	rnd_state = seed * 0x9e3779b97f4a7c15ULL + 88172645463325252ULL;
	if (!rnd_state)
		rnd_state = 1;
}

uint64_t vt_rand(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return rnd_state * 0x2545f4914f6cdd1dULL >> 8;
}

int vt_scaled(int n, int min)
{
	n = n * vt.scale / 100;
	return n < min ? min : n;
}

bool vt_want(const char *name)
{
	return !vt.only || strstr(name, vt.only);
}
