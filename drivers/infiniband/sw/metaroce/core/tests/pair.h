/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two endpoints and a bad network between them, in virtual time.
 *
 * The transport's objects as they are, with memory, receives and completions
 * of a test above and a network below that loses, duplicates, delays and
 * reorders by a seeded generator. Everything that the verbs would check is
 * checked here: bytes, order, exactly once.
 */
#ifndef MROCE_TEST_PAIR_H
#define MROCE_TEST_PAIR_H

#include <kunit/test.h>

#include "../core.h"

#define PAIR_STREAMS	8	/* per side */
#define PAIR_MSGS	512	/* posted per stream, at most */
#define PAIR_MEM	(64 * 1024)
#define PAIR_RING	128
#define PAIR_CLAIMS	16
#define PAIR_NETQ	4096
#define PAIR_SLOW	32	/* claims held at a time */

struct pair;
struct side;

struct pair_msg {
	struct mroce_msg m;
	u32 buf_off;		/* in tstream.buf or .land */
	bool done;
	enum mroce_status st;
};

struct tstream {
	struct mroce_stream s;	/* first */
	struct side *side;
	struct tstream *peer;
	u8 *buf;		/* requester's sources */
	u8 *land;		/* where Reads and atomics land */
	u8 *mem;		/* what the peer may read and write, rkey 1 */
	struct pair_msg *msg;
	u32 n_posted, n_done;
	/* receives: fixed size slots in rbuf */
	u8 *rbuf;
	u32 rsize;
	u32 n_recv_posted, n_bound, n_recv_done;
	u32 recv_len[PAIR_MSGS];
	u32 recv_imm[PAIR_MSGS];
	u32 n_recv_refused;	/* of the receives done */
	u32 last_reads;
	bool dead_key;		/* check_write, read_start: access error */
	bool silent;		/* what is refused is refused in silence */
	bool fail_place;	/* copies of received payload fail */
	bool fail_resp;		/* of answers only */
	u32 no_page;		/* so often store, read_start: -EAGAIN */
	u32 no_memory;		/* so many packets cannot be built */
	bool short_resp;	/* those of answers cannot */
	bool gone;		/* what answers are made of is gone for good */
	u32 *pool;		/* receives shared with others, like an SRQ */
	u32 n_checked;		/* messages of the peer looked at */
	u32 psn_shift;		/* moves the first MSNs, on both sides alike */
	struct mroce_stream_attr tune;	/* timeout, retries; if .timeout */
	bool established, lost;
	enum mroce_status fatal;
	u8 rx_code;
	u32 n_idle;
	u32 n_err_done;
};

struct side {
	struct mroce_conn c;
	struct pair *pair;
	int idx;
	struct tstream ts[PAIR_STREAMS];
	u16 next_sport;
	/* Its host does nothing until then; then timers or packets first. */
	u64 stalled;
	bool timers_first;
	u16 link_mtu;		/* of the next incarnation; 0: as before */
	struct mroce_share share;
	struct mroce_plane_own own[MROCE_MAX_PLANES];
};

struct netpkt {
	u64 at;
	u64 seq;		/* ties: in the order of sending */
	u8 to;
	u8 plane;
	u16 sport;
	bool ce;
	u32 len;
	u8 *data;
};

/* The network. Probabilities in 1/65536. */
struct pair_net {
	u64 delay_ns, jitter_ns;
	u32 loss, dup, ce, reorder;
	u32 loss_ack;		/* additional, for packets that are not DATA */
	u16 dead_sport;		/* packets from this port vanish; 0: none */
	int dead_dir;		/* -1: both */
	bool cut;		/* nothing passes */
	bool mute[2];		/* of this end nothing but DATA passes */
	u16 dead_planes;	/* nothing passes on these */
	u16 slow_sport;		/* packets from this port wait, in order, */
	u64 slow_until;
	u64 drop_next;		/* so many of the next DATA packets vanish */
	u32 slow_copy;		/* a claim is held for up to jitter_ns */
};

/* A received packet whose payload is being copied. */
struct pair_claim {
	bool used;
	int to;
	u64 until;
	struct mroce_claim cl;
	struct netpkt *pkt;
};

struct pair {
	struct kunit *test;
	struct side side[2];
	struct pair_net net;
	u64 now, rnd, seq;
	struct netpkt *q[PAIR_NETQ];	/* heap by (at, seq) */
	u32 nq;
	u64 sent, dropped;
	u64 plane_data[MROCE_MAX_PLANES];	/* DATA sent on each */
	/* one batch of received packets */
	struct mroce_claim cl[PAIR_CLAIMS];
	struct netpkt *held[PAIR_CLAIMS];
	bool no_verify;
	struct mroce_txd txd;
	u32 idle_limit;
	/* last DATA packets, to replay */
	u8 *replay;
	u32 replay_len;
	u16 replay_sport;
	u8 replay_to;
	bool liar;		/* packets are forged: do not compare contents */
	bool self;		/* side 0 alone, connected to itself */
	struct pair_claim slow[PAIR_SLOW];
	struct mroce_pkt seen;	/* by pair_sent() */
};

struct pair *pair_new(struct kunit *test, u64 seed, u16 mtu);
/* One object that is both ends; stream i's peer is stream i ^ 1 of side 0. */
struct pair *pair_new_self(struct kunit *test, u64 seed, u16 mtu);
void pair_free(struct pair *p);
/* Bring up stream @i on both sides (RTR and RTS). */
void pair_up(struct pair *p, int i);
void pair_attach(struct pair *p, int side, int i);
void pair_start(struct pair *p, int side, int i);
/* Post one message; returns its index. */
u32 pair_post(struct pair *p, int side, int i, u8 opcode, u32 len, u32 va,
	      bool fence);
void pair_post_recv(struct pair *p, int side, int i, u32 n);
/* Run until @until_done says so or @max_ns passed; true: it did. */
bool pair_run(struct pair *p, u64 max_ns, bool (*until)(struct pair *p));
void pair_pump(struct pair *p, int side);
/* The next packet of a side, off the network; type 0: none. Until the next call. */
const struct mroce_pkt *pair_sent(struct pair *p, int side);
bool pair_all_done(struct pair *p);
/* Everything returned to zero. */
void pair_check_quiet(struct pair *p);
u32 pair_rand(struct pair *p, u32 below);
/* RESET and what a test keeps of a stream: as new, to be attached again. */
void pair_reset(struct pair *p, int side, int i);
/* A peer with a stream @i, whatever the form of the pair. */
struct tstream *pair_peer(struct pair *p, int side, int i);
u64 pair_cnt(struct pair *p, enum mroce_counter i);
/* Planes 0 to @n - 1 at one end, and no others; and one of them. */
void pair_planes(struct pair *p, int side, int n);
struct mroce_plane_own *pair_own(struct pair *p, int side, int k);
/* After a change of what pair_own() gave. */
void pair_set_planes(struct pair *p, int side);
u8 pair_plane_state(struct pair *p, int side, int k);
/* Inject raw bytes into side @to now. */
void pair_inject(struct pair *p, int to, const u8 *data, u32 len, u16 sport);
void pair_inject_on(struct pair *p, int to, u8 plane, const u8 *data, u32 len);

static inline struct tstream *pair_ts(struct pair *p, int side, int i)
{
	return &p->side[side].ts[i];
}

static inline u32 pair_qpn(int side, int i)
{
	return 16 + 100 * side + i;
}

/* Between the two files that make a pair. */
extern const struct mroce_conn_ops pair_conn_ops;
u32 pair_rnd32(struct pair *p);
int pair_other(const struct pair *p, int side);
/* Nothing is under way any more, or being copied. */
void pair_net_clear(struct pair *p);

#endif /* MROCE_TEST_PAIR_H */
