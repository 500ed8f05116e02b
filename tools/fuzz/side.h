/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One end of a connection for the fuzzers: a mroce_conn with a few streams, an
 * owner that plays verbs/ and net/ by their contracts, and checks wherever
 * core/ calls up. Decisions come from the fuzzer's bytes.
 */
#ifndef MROCE_FUZZ_SIDE_H
#define MROCE_FUZZ_SIDE_H

#include "core/core.h"

#define SIDE_STREAMS	2
#define SIDE_MEM	(288 << 10)	/* bytes that the peer may write */
#define SIDE_VA		0x10000ULL
#define SIDE_RKEY	0x5a5a0001U
#define SIDE_RECV_SIZE	4096
#define SIDE_RECVS	128		/* remembered receives, by RSN */
#define SIDE_MAX_MSG	20000
#define SIDE_CLAIMS	32
#define SIDE_RING	32

#define fuzz_require(cond, fmt, ...) do {				\
	if (!(cond))							\
		fuzz_broken(__FILE__, __LINE__, #cond, fmt,		\
			    ##__VA_ARGS__);				\
} while (0)

void fuzz_broken(const char *file, int line, const char *cond,
		 const char *fmt, ...) __printf(4, 5)
	__attribute__((__noreturn__));

/* The fuzzer's bytes; zeroes when they have run out. */
struct fuzz_in {
	const u8 *p;
	size_t left;
};

u8 in_u8(struct fuzz_in *in);
u32 in_u32(struct fuzz_in *in);
/* 0 to @n - 1 */
u32 in_below(struct fuzz_in *in, u32 n);

extern u64 fuzz_now;
extern bool fuzz_verbose;

/* Memory that claims and read contexts hold references to. */
struct side_buf {
	int refs;
	u32 len;
	u8 data[];
};

/* A posted work request. */
struct side_msg {
	struct mroce_msg m;
	struct list_head node;
	u64 seq;		/* of the stream, over all lives */
	struct side_buf *buf;	/* where a Read's data goes */
	u64 orig;		/* what an atomic returned */
};

struct side_stream {
	struct mroce_stream s;
	struct side *side;
	u8 idx;
	bool attached;
	bool want_error;	/* rx_fatal(): to ERR when core has returned */
	bool dead;		/* QP in ERR */
	bool detaching;		/* idle() is to come */
	u32 idled;
	struct list_head posted;
	u32 n_posted;
	u64 post_seq;
	u32 recvs;		/* posted and not bound */
	u32 bind_nxt, recv_nxt;	/* RSNs */
	struct side_buf *recv[SIDE_RECVS];
	u32 exec_msn;		/* newest atomic's */
	bool exec_any;
	u32 established;
	u32 read_ctx;		/* read_start() minus read_end() */
	u64 n_ok, n_failed, n_recv;
};

/* A packet as it left. */
struct side_pkt {
	struct list_head node;
	u64 at;			/* arrival, for a network that keeps time */
	u32 gen;
	u16 sport;
	u16 len;
	bool ce;
	struct mroce_pkt hdr;
	u8 bytes[];
};

struct side_claim {
	bool used;
	struct mroce_claim cl;
	struct side_pkt *pkt;
	int err;		/* of placing */
};

/* What a fuzzer wants to hear; each may be NULL. */
struct side_hooks {
	void (*fill)(struct side_stream *st, struct side_msg *sm, u32 off,
		     u8 *dst, u32 len);
	void (*done)(struct side_stream *st, struct side_msg *sm,
		     enum mroce_status status);
	void (*received)(struct side_stream *st, const struct mroce_recv *r,
			 const u8 *data);
	void (*failed)(struct side_stream *st);
};

struct side {
	const char *name;
	struct mroce_conn c;
	struct mroce_conn_cfg cfg;
	struct fuzz_in *in;	/* where injected faults come from */
	const struct side_hooks *hooks;
	struct side_stream st[SIDE_STREAMS];
	struct side_buf *mem;
	struct side_claim claim[SIDE_CLAIMS];
	u32 qpn0;		/* stream i: qpn0 + i */
	u32 next_id;
	u16 next_sport;
	/* one in so many upcalls fails; 0: none */
	u8 fail_gather, fail_resp, fail_key, fail_store, fail_copy;
	u8 fail_resp_check, fail_atomic, fail_id;
	u8 no_memory;		/* the same, but to be tried again */
	long bufs;		/* side_bufs alive */
	long msgs;
	u32 last_ts[MROCE_MAX_PATHS];
	u64 last_ns[MROCE_MAX_PATHS];
	u32 ts_gen;		/* incarnation that last_ts[] is of */
	bool ts_valid[MROCE_MAX_PATHS];
	u32 n_tx;
};

void side_init(struct side *sd, const char *name, u32 qpn0,
	       const struct mroce_conn_cfg *cfg, struct fuzz_in *in,
	       const struct side_hooks *hooks);
/* Detaches what is attached and checks that nothing is left behind. */
void side_fini(struct side *sd);

bool side_attach(struct side *sd, unsigned int i, u32 dqpn,
		 const struct mroce_stream_attr *tmpl);
void side_detach(struct side *sd, unsigned int i);
void side_error(struct side *sd, unsigned int i);
struct side_msg *side_post(struct side *sd, unsigned int i, u8 opcode,
			   u32 len, u64 va);
/* A fresh connection object, as after a crash; streams are lost. */
void side_restart(struct side *sd);

/* The next packet, or NULL; checked against what may be sent. */
struct side_pkt *side_tx(struct side *sd);
/*
 * Give @pkt to the connection. Takes @pkt over. @hold: leave a claim pending,
 * to be ended by side_finish(). Returns what core said.
 */
enum mroce_rx side_rx(struct side *sd, struct side_pkt *pkt, bool hold);
/* End the @n-th pending claim; false if there is none. */
bool side_finish(struct side *sd, unsigned int n);
unsigned int side_pending(const struct side *sd);
void side_timer(struct side *sd);
/* Do what upcalls asked for, then check all invariants. */
void side_settle(struct side *sd);

struct side_pkt *side_pkt_new(const void *bytes, u32 len);
void side_pkt_free(struct side_pkt *pkt);

/* invariants.c */
void side_check(struct side *sd);

#endif /* MROCE_FUZZ_SIDE_H */
