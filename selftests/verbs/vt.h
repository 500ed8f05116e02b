/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common to the verbs tests: two ends, each a process with its own device (in
 * its own network namespace if need be), that exchange addresses and verdicts
 * over a socket, and print TAP.
 *
 * End A drives and prints. What end B finds wrong travels to A with
 * vt_verdict(). Every wait has a limit; nothing hangs.
 */
#ifndef VT_H
#define VT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define CANARY		0xa5

enum vt_side { VT_A, VT_B };

struct vt_opts {
	const char *dev[2];	/* NAME or NAME@NETNS */
	const char *listen;	/* PORT: this process is B */
	const char *connect;	/* HOST:PORT: this process is A */
	int family;		/* 4 or 6: which GID to take */
	const char *addr[2];	/* or the one of this address */
	int scale;		/* percent of the usual work */
	int wait_ms;		/* limit of one wait */
	int slow;		/* factor on limits: a busy machine */
	bool events;		/* sleep for completions instead of polling */
	bool verbose;
	const char *only;	/* run cases whose name contains this */
};

extern struct vt_opts vt;
extern enum vt_side vt_side;

/*
 * Parses the common options (-d, -4, -6, -g, -l, -c, -S, -e, -v, -k, -w) and those
 * in @more (getopt string) through @opt; then runs @a and @b, each in its own
 * process. Returns the exit code: 0 ok, 1 failed tests, 2 broke, 4 skipped.
 */
int vt_main(int argc, char **argv, const char *more,
	    void (*opt)(int c, const char *arg), void (*a)(void),
	    void (*b)(void));

/* ---- TAP ---- */

/* One-sided result (end A only). Returns @cond. */
bool vt_ok(bool cond, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void vt_skip(const char *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void vt_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Remember a failure of this end for the next vt_verdict(). */
void vt_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool vt_failed(void);
/* Both ends call it: A prints "ok" unless either end failed. */
bool vt_verdict(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* One end's remembered failures (end A only): "ok" if there are none. */
bool vt_result(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Cannot go on. */
void vt_die(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/* ---- the other end ---- */

void vt_send(const void *buf, size_t len);
void vt_recv(void *buf, size_t len);
void vt_sync(const char *where);	/* both get here */
/* A value of the other end, for ours. */
uint64_t vt_swap(uint64_t mine);

/* ---- device ---- */

struct vt_dev {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
};

/* Opens this end's device; dies if it is not there. */
void vt_open(struct vt_dev *d);
void vt_close(struct vt_dev *d);
int vt_mtu_bytes(enum ibv_mtu m);

/* ---- queue pairs ---- */

struct vt_qp_attr {
	uint32_t send_wr, recv_wr, send_sge, recv_sge, inline_bytes;
	bool srq;
	bool sig_all;
	bool one_cq;
	bool uc;
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr, rd_atomic;
	int access;
	enum ibv_mtu mtu;	/* 0: the port's */
};

extern const struct vt_qp_attr vt_qp_default;

struct vt_qp {
	struct vt_dev *dev;
	struct vt_qp_attr a;
	struct ibv_qp *qp;
	struct ibv_cq *scq, *rcq;
	struct ibv_srq *srq;
	struct ibv_comp_channel *ch;
	uint32_t psn;
	uint32_t peer_qpn, peer_psn;
	union ibv_gid peer_gid;
};

/* Creates an RC (or UC) QP; NULL attributes: default. Dies on failure. */
void vt_qp_create(struct vt_qp *q, struct vt_dev *d, const struct vt_qp_attr *a);
/* Exchanges addresses, goes to RTS; both ends call it. */
void vt_qp_connect(struct vt_qp *q);
/* Steps of it, for tests of states: 0 or errno. */
void vt_qp_exchange(struct vt_qp *q);
int vt_qp_init(struct vt_qp *q);
int vt_qp_rtr(struct vt_qp *q);
int vt_qp_rts(struct vt_qp *q);
int vt_qp_to(struct ibv_qp *qp, enum ibv_qp_state st);
enum ibv_qp_state vt_qp_state(struct ibv_qp *qp);
/* Waits for a state; what it was in the end. */
enum ibv_qp_state vt_qp_wait_state(struct ibv_qp *qp, enum ibv_qp_state st,
				   int ms);
void vt_qp_destroy(struct vt_qp *q);

/* ---- completions ---- */

/* One completion within @ms (-1: vt.wait_ms); false: none came. */
bool vt_poll(struct vt_qp *q, struct ibv_cq *cq, struct ibv_wc *wc, int ms);
/* The same, counts as failure if none came or the status is another. */
bool vt_expect(struct vt_qp *q, struct ibv_cq *cq, struct ibv_wc *wc,
	       enum ibv_wc_status st, const char *what);
/* Nothing more must come for a moment. */
void vt_expect_none(struct ibv_cq *cq, int ms, const char *what);
/* An async event of that type within @ms. */
bool vt_event(struct vt_dev *d, enum ibv_event_type type, int ms);
const char *vt_op_name(enum ibv_wr_opcode op);

/* ---- memory ---- */

void *vt_alloc(size_t len);		/* page aligned, zeroed */
struct ibv_mr *vt_reg(struct vt_dev *d, void *buf, size_t len, int access);
/* Bytes [at, at + len) of the stream number @seed. */
void vt_fill(void *buf, size_t len, uint64_t seed, size_t at);
/* True if equal; else *@where is the first wrong byte. */
bool vt_same(const void *buf, size_t len, uint64_t seed, size_t at,
	     size_t *where);
bool vt_all(const void *buf, size_t len, uint8_t c, size_t *where);

/* ---- time, random ---- */

uint64_t vt_now_us(void);
void vt_srand(uint64_t seed);
uint64_t vt_rand(void);
static inline uint32_t vt_rnd(uint32_t n)
{
	return n ? vt_rand() % n : 0;
}

int vt_scaled(int n, int min);
bool vt_want(const char *name);		/* of option -k */

#endif /* VT_H */
