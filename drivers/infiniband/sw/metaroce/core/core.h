/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The MetaRoCE transport, pure: connections, streams, paths.
 *
 * One connection joins a pair of devices. Above it are streams (one per RC
 * QP), below it paths (one UDP source port each). The caller owns the lock of
 * a connection and holds it around every function of this file unless a
 * comment says otherwise. Time comes in as @now (nanoseconds, any monotonic
 * origin); deadlines go out through mroce_conn_deadline(). Packets to send
 * are pulled one by one with mroce_conn_tx(), received ones pushed with
 * mroce_conn_rx(); payload never passes through here, only references to it.
 *
 * Receiving is claim -> copy -> finish: mroce_conn_rx() checks a DATA packet
 * and claims its PSN, the caller drops the lock and copies the payload with
 * mroce_claim_place(), takes the lock and calls mroce_conn_finish(). Only then
 * may an acknowledgment report the packet (protocol rules 7-10).
 */
#ifndef MROCE_CORE_H
#define MROCE_CORE_H

#include "platform.h"
#include "events.h"
#include "../wire/wire.h"

#define MROCE_PATH_WINDOW	256	/* PSNs past the cumulative ack */
#define MROCE_MAX_PATHS		128	/* per connection and direction */
#define MROCE_DEF_PATHS		4
#define MROCE_MSN_WINDOW	1024	/* messages per stream and direction */
#define MROCE_RSN_WINDOW	64	/* bound, unfinished receives per stream */
#define MROCE_MAX_MSG_BYTES	0x80000000U
#define MROCE_ORDERED_WRITE	64	/* bytes; such Writes are ordered */
#define MROCE_COPY_BYTES	512	/* payloads up to this travel in lin[] */
#define MROCE_READ_COPY_BYTES	256	/* Reads copied when executed */

#define MROCE_NEVER		U64_MAX

struct mroce_conn;
struct mroce_stream;

/* ---- counters ---------------------------------------------------------- */

/*
 * Kept per connection under its lock, summed per device by ctl/. The first
 * argument is the enum suffix, the second the name under hw_counters.
 */
#define MROCE_COUNTERS(X)						\
	X(TX_DATA,	"sent_pkts")		/* DATA, first transmissions */ \
	X(RX_DATA,	"rcvd_pkts")		/* DATA that passed steps 1-3 */ \
	X(TX_BYTES,	"sent_bytes")		/* payload, first transmissions */ \
	X(RX_BYTES,	"rcvd_bytes")		/* payload placed */	\
	X(TX_RETX,	"retransmitted_pkts")				\
	X(SPURIOUS,	"spurious_retx")	/* the original had arrived */ \
	X(TX_NOP,	"sent_nops")					\
	X(RX_NOP,	"rcvd_nops")					\
	X(TX_ACK,	"acks_sent")					\
	X(RX_ACK,	"acks_received")				\
	X(ACK_STALE,	"acks_stale")		/* overtaken: ignored */ \
	X(TX_NAK,	"naks_sent")					\
	X(RX_NAK,	"naks_received")				\
	X(NAK_STALE,	"naks_stale")		/* not outstanding: ignored */ \
	X(RX_DUP,	"duplicate_request")	/* PSN already placed */ \
	X(RX_PLACING,	"rcvd_while_placing")				\
	X(RX_OOO,	"out_of_seq_request")	/* placed past a gap */	\
	X(RX_REORDER,	"rcvd_reordered")	/* by the route itself */ \
	X(RX_WINDOW,	"rcvd_beyond_window")				\
	X(RX_OLD,	"rcvd_too_old")					\
	X(RX_TAG,	"rcvd_bad_tag")					\
	X(RX_STATE,	"rcvd_not_open")				\
	X(RX_BADACK,	"rcvd_bad_ack")					\
	X(RX_MSN,	"rcvd_bad_msn")		/* above the message window */ \
	X(RX_STALE,	"rcvd_stale_attempt")	/* acknowledged as void */ \
	X(RX_CE,	"np_ecn_marked_roce_packets")			\
	X(TX_CE_ECHO,	"rp_ecn_echoed_packets")			\
	X(LOST,		"packets_lost")		/* found by delivery order */ \
	X(TLP,		"tail_probes")					\
	X(PACED,	"paced_waits")		/* DATA held back by a hint */ \
	X(RTO,		"path_timeouts")				\
	X(PATHS,	"paths_opened")		/* sending side */	\
	X(REHOME,	"path_rehomed")					\
	X(MOVED,	"path_moved")		/* to another plane */	\
	X(PLANE_UP,	"planes_up")		/* proven, or back */	\
	X(PLANE_DOWN,	"planes_down")					\
	X(RX_PLANE,	"rcvd_unproven_plane")				\
	X(RNR_SENT,	"send_rnr_err")		/* we refused */	\
	X(RNR_RECV,	"rcvd_rnr_err")		/* we were refused */	\
	X(RETRY,	"stream_retries")				\
	X(RETRY_EXC,	"retry_exceeded_err")				\
	X(RNR_EXC,	"retry_rnr_exceeded_err")			\
	X(CONN_OPEN,	"connections_opened")				\
	X(CONN_LOST,	"connections_lost")	/* RESET by the peer */	\
	X(CONN_CLOSED,	"connections_closed")	/* CLOSE, GC */		\
	X(TX_CTRL,	"control_sent")					\
	X(RX_CTRL,	"control_received")				\
	X(NOMEM,	"out_of_memory")

enum mroce_counter {
#define X(n, s) MROCE_CNT_##n,
	MROCE_COUNTERS(X)
#undef X
	MROCE_N_COUNTERS
};

extern const char * const mroce_counter_names[MROCE_N_COUNTERS];

/* ---- messages of the requester ------------------------------------------ */

enum mroce_status {
	MROCE_ST_OK,
	MROCE_ST_RETRY_EXC,	/* no answer, or the connection died */
	MROCE_ST_RNR_EXC,
	MROCE_ST_REM_INV_REQ,
	MROCE_ST_REM_ACCESS,
	MROCE_ST_REM_OP,
	MROCE_ST_LOC_PROT,	/* gather() or placing a response failed */
	MROCE_ST_FLUSH,
};

enum mroce_msg_state {
	MROCE_M_QUEUED,		/* not started */
	MROCE_M_SENDING,	/* some packets of this attempt are out */
	MROCE_M_SENT,		/* all are out */
	MROCE_M_REFUSED,	/* NAKed: waits for hold and quarantine */
	MROCE_M_DONE,		/* complete; earlier ones may not be */
};

/* Memory of a message that is not there now: since when. See absent_for(). */
struct mroce_absent {
	u32 since_ts, last_ts;	/* own clock; since 0: it is there */
};

/**
 * struct mroce_msg - one message of a stream, requester's side
 *
 * Embedded in verbs' private copy of a work request. The poster fills the
 * first group; the memory stays until msg_done() or until
 * mroce_stream_flush() returned.
 */
struct mroce_msg {
	u8 opcode;		/* enum mroce_data_op: a request */
	bool fence;		/* wait for all earlier messages */
	bool solicited;
	u32 len;		/* bytes; Read: bytes wanted; atomics: 8 */
	u32 rkey;
	u64 va;
	u32 imm;		/* immediate or key to invalidate, host order */
	u64 swap_add, compare;

	/* core's own */
	u8 state;		/* enum mroce_msg_state */
	u8 attempt;
	bool probing;		/* after a refusal: one packet, then its ack */
	bool retry_request;	/* request to be repeated (rule 21) */
	u32 msn, rsn;
	u32 cookie;
	u32 off;		/* next byte to send in this attempt */
	u32 resume_off;		/* where a refused attempt goes on */
	u32 resp_bytes;		/* Read: placed so far */
	u16 unacked;		/* PSNs of this attempt outstanding */
	u16 voided;		/* PSNs voided, not yet acknowledged */
	u16 open;		/* claims of its answer under way */
	struct mroce_absent absent;	/* source, or where an answer goes */
};

/* ---- packets to send ---------------------------------------------------- */

#define MROCE_TXD_FRAGS		10
#define MROCE_TXD_LIN		(MROCE_MAX_HDR + MROCE_COPY_BYTES)

/* A piece of payload by reference. @page holds a reference for the packet. */
struct mroce_frag {
	void *page;
	u32 off;
	u32 len;
};

/**
 * struct mroce_txd - one packet, ready for the network layer
 *
 * @lin holds the header and, for small payloads, the payload; larger ones
 * are in @frag. All packets of one path leave in the order in which
 * mroce_conn_tx() returned them (rule 27).
 */
struct mroce_txd {
	u8 type;		/* enum mroce_type */
	u8 path;		/* of DATA and ACK */
	u8 plane;
	bool ect;		/* DATA: mark as ECN-capable */
	u16 sport;		/* UDP source port; 0: the protocol's port */
	u16 hdr_len;
	u16 lin_len;		/* header and copied payload */
	u16 nfrags;
	u32 frag_bytes;
	u16 pad_bytes;		/* of a PROBE: zeroes behind @lin, not in it */
	struct mroce_frag frag[MROCE_TXD_FRAGS];
	u8 lin[MROCE_TXD_LIN];
};

/* ---- claims: received DATA on its way to memory -------------------------- */

enum mroce_claim_kind {
	MROCE_CLAIM_VOID,	/* refused in silence: only the PSN */
	MROCE_CLAIM_WRITE,	/* to (rkey, va) */
	MROCE_CLAIM_KEEP,	/* ordered small Write: into @kept */
	MROCE_CLAIM_RECV,	/* into the receive bound to @rsn */
	MROCE_CLAIM_RESP,	/* Read response, into the requester's SGEs */
	MROCE_CLAIM_REQ,	/* request without payload */
};

struct mroce_claim {
	struct mroce_stream *s;	/* held by s->claims until finish */
	u32 gen;		/* connection incarnation */
	u32 life;		/* of the stream */
	u8 kind;		/* enum mroce_claim_kind */
	u8 path;
	u8 opcode;
	u8 attempt;
	u16 flags;		/* MROCE_F_* */
	u32 psn, msn, off;
	u32 len;		/* payload bytes of the packet */
	u32 mlen;		/* of the message */
	u32 rsn, imm, rkey, cookie;
	u64 va, swap_add, compare;
	u8 *kept;		/* MROCE_CLAIM_KEEP */
	void *obj;		/* verbs': a referenced MR, or NULL */
	u32 obj_off;		/* verbs': free to use */
};

/* Copies @len bytes at @off of the packet's payload to @dst; 0 or -errno. */
typedef int (*mroce_copy_fn)(void *src, u32 off, void *dst, u32 len);

/* A finished receive-consuming message. */
struct mroce_recv {
	u32 rsn;
	u8 opcode;		/* SEND*, WRITE_IMM */
	bool solicited;
	bool refused;		/* in part or as a whole; nobody was told */
	u32 len;
	u32 imm;		/* immediate or key to invalidate */
};

/* A Read or atomic that the responder is answering. */
struct mroce_rctx {
	bool used;
	bool slot_free;		/* last response sent once: rd_atomic slot back */
	u8 opcode;		/* READ_REQ, CMP_SWAP, FETCH_ADD */
	u8 err;			/* nak code: answer with RESP_ERR */
	u32 msn, cookie;
	u64 va;
	u32 rkey, len;
	u32 off;		/* next byte to send */
	bool all_sent;
	u16 unacked;
	struct mroce_absent absent;
	u64 orig;		/* atomic result */
	void *obj;		/* verbs': referenced MR */
	u8 *copy;		/* Read <= MROCE_READ_COPY_BYTES: verbs' copy */
};

/**
 * struct mroce_stream_ops - what core asks of verbs/ (or of a simulator)
 *
 * All are called with the connection's lock held, in BH context or with BH
 * off, except @place. None may sleep or call back into core, except where
 * noted.
 */
struct mroce_stream_ops {
	/*
	 * Bytes [off, off + len) of a message: append to txd->lin (at
	 * lin_len, if len <= MROCE_COPY_BYTES) or set frag[] with references.
	 * 0; -ENOMEM, or -EAGAIN of memory that is not there now: tried again
	 * soon; or -errno: local protection error.
	 */
	int (*gather)(struct mroce_stream *s, struct mroce_msg *m, u32 off,
		      u32 len, struct mroce_txd *txd);
	/* The same for a Read response. -errno: MR gone, RESP_ERR follows. */
	int (*gather_resp)(struct mroce_stream *s, struct mroce_rctx *r,
			   u32 off, u32 len, struct mroce_txd *txd);
	/*
	 * Key, access and bounds of one WRITE packet; takes cl->obj. Returns
	 * 0, a nak code (MROCE_NAK_ACCESS, ...), or -EACCES: refused in
	 * silence. Nothing of the packet is placed, it is acknowledged, and
	 * the message takes no effect; its receive, if it has one, hears of
	 * it. check_recv() and store() may answer so, too.
	 */
	int (*check_write)(struct mroce_stream *s, struct mroce_claim *cl);
	/* Take the next posted receive for @rsn; always called with rsn
	 * one past the last. 0, or -EAGAIN: none posted, or a nak code > 0.
	 */
	int (*bind)(struct mroce_stream *s, u32 rsn);
	/* SEND packet against its bound receive (cl->rsn). 0 or nak code. */
	int (*check_recv)(struct mroce_stream *s, struct mroce_claim *cl);
	/* Read response against the requester's SGEs. 0 or -errno. */
	int (*check_resp)(struct mroce_stream *s, struct mroce_msg *m,
			  struct mroce_claim *cl);
	/* NO LOCK HELD. Copy the payload to its place, ascending. 0/-errno. */
	int (*place)(struct mroce_claim *cl, mroce_copy_fn copy, void *src);
	/* The claim is over: drop cl->obj. */
	void (*unclaim)(struct mroce_stream *s, struct mroce_claim *cl);
	/*
	 * A kept small Write, in its turn. 0, a nak code, or -EAGAIN: not now;
	 * it stays where it is until mroce_stream_resume(). read_start() and
	 * atomic() may answer so, too.
	 */
	int (*store)(struct mroce_stream *s, u64 va, u32 rkey,
		     const u8 *data, u32 len);
	/* In-order completion of a receive. 0 or nak code. */
	int (*recv_done)(struct mroce_stream *s, const struct mroce_recv *r);
	/* Execute: check key, reference the MR; copy if small. 0/nak code. */
	int (*read_start)(struct mroce_stream *s, struct mroce_rctx *r);
	void (*read_end)(struct mroce_stream *s, struct mroce_rctx *r);
	/* Execute an atomic once; old value to r->orig. 0 or nak code. */
	int (*atomic)(struct mroce_stream *s, struct mroce_rctx *r,
		      u64 swap_add, u64 compare);
	/* Store an atomic's result at the requester. 0 or -errno. */
	int (*atomic_done)(struct mroce_stream *s, struct mroce_msg *m,
			   u64 orig);
	/* Message complete, in MSN order; @m is verbs' again. May post. */
	void (*msg_done)(struct mroce_stream *s, struct mroce_msg *m,
			 enum mroce_status st);
	/* The requester failed (msg_done told which): QP to ERR, flush. */
	void (*tx_fatal)(struct mroce_stream *s, enum mroce_status st);
	/* The responder found a fatal error (nak code): QP to ERR, event. */
	void (*rx_fatal)(struct mroce_stream *s, u8 code);
	/* Bound with nothing outstanding when the connection died. */
	void (*conn_lost)(struct mroce_stream *s);
	/* First packet accepted: IB_EVENT_COMM_EST in RTR. */
	void (*established)(struct mroce_stream *s);
	/* After mroce_stream_detach(): s->claims fell to zero, or s->left
	 * became NULL with no claims left.
	 */
	void (*idle)(struct mroce_stream *s);
};

/* ---- streams ------------------------------------------------------------ */

enum mroce_rx_state {
	MROCE_RX_NOT_READY,	/* below RTR */
	MROCE_RX_OPEN,
	MROCE_RX_ERR_PENDING,	/* lowest bad MSN known, earlier ones go on */
	MROCE_RX_ERR,
};

enum mroce_tx_state {
	MROCE_TX_IDLE,		/* below RTS, or SQD */
	MROCE_TX_READY,
	MROCE_TX_DRAIN,		/* finish MSN < drain_msn, then fail */
	MROCE_TX_ERR,
};

/* Attributes of a QP that the transport obeys. */
struct mroce_stream_attr {
	u32 qpn, dqpn;
	u32 sq_psn, rq_psn;	/* first MSN of each direction, 24 bits */
	u8 timeout;		/* verbs: 4.096 us << timeout; 0 = never */
	u8 retry_cnt, rnr_retry;
	u8 min_rnr_timer;	/* verbs code sent in RNR */
	u8 max_rd_atomic, max_dest_rd_atomic;
};

enum mroce_rmsg_state { MROCE_R_NONE, MROCE_R_PARTIAL, MROCE_R_FULL };

/* Responder's record of an incomplete or out-of-order message. */
struct mroce_rmsg {
	u8 state;		/* enum mroce_rmsg_state */
	u8 opcode;
	u8 attempt;
	bool last_placed;
	bool solicited;
	bool refused;		/* a packet of this attempt, in silence */
	u16 open;		/* claims under way, of any attempt */
	u32 count;		/* bytes placed in this attempt */
	u32 len;
	u32 rsn, imm, rkey, cookie;
	struct mroce_absent absent;
	u64 va, swap_add, compare;
	u8 *kept;
};

#define MROCE_RMSG_CHUNK	32	/* entries allocated together */
/*
 * Twice what the window holds: it may begin and end in the middle of a chunk,
 * and then covers one more. The number divides 2^32.
 */
#define MROCE_RMSG_CHUNKS	(2 * MROCE_MSN_WINDOW / MROCE_RMSG_CHUNK)

struct mroce_stream {
	struct mroce_conn *conn;	/* NULL: detached */
	const struct mroce_stream_ops *ops;
	struct mroce_stream_attr a;
	struct list_head node;		/* conn->streams, or ->leaving */
	struct list_head ready;		/* conn->ready: requests to send */
	struct list_head resp_ready;	/* conn->resp_ready: responses */
	struct list_head timed;		/* conn->timed: has a deadline */
	u64 retry_at;			/* T_retry; MROCE_NEVER */
	u64 progress_ns;		/* it was last started anew */
	u32 life;			/* raised by every attach */
	bool bound;			/* to this incarnation (rule 41) */
	bool established;		/* ops->established() was called */
	bool paused;			/* SQD */
	bool late;			/* retry_at was served late once */
	bool running_order;		/* ordered queue: no recursion */
	u32 claims;			/* claims in flight */
	u32 quarantine;			/* PSNs of the QPN's former life, */
	struct mroce_conn *left;	/* detached: on this one's ->leaving */
	s32 deficit;			/* DRR, bytes */

	/* requester */
	u8 tx_state;			/* enum mroce_tx_state */
	u8 retries_left, rnr_left;
	u8 rd_out;			/* Reads and atomics outstanding */
	u8 drain_status;		/* enum mroce_status */
	bool held;			/* until hold_until: refused, */
	bool held_nomem;		/* or no memory for a payload */
	u32 drain_msn;
	u64 hold_until;
	u32 msn_una;			/* oldest incomplete */
	u32 msn_snd;			/* next to start */
	u32 msn_nxt;			/* next to post */
	u32 rsn_nxt;			/* RSN of the next consuming message */
	u32 rsn_una;			/* RSN of the oldest incomplete one */
	u16 n_refused;
	u16 rnr_limit;			/* consuming messages in flight; 0: none */
	u16 n_consuming;		/* in flight */
	struct mroce_msg *cur;		/* partially sent */
	struct mroce_msg *probe;	/* retried message on trial */
	struct mroce_msg **ring;	/* by MSN, ring_mask + 1 pointers */
	u32 ring_mask;

	/* responder */
	u8 rx_state;			/* enum mroce_rx_state */
	u8 err_code;			/* ERR_PENDING */
	u32 err_msn;
	u32 msn_rcv;			/* next to complete in order */
	u32 rsn_rcv;			/* RSN of the next in-order one */
	u32 rsn_bound;			/* next RSN to bind */
	u8 rd_in;			/* slots in use */
	bool exec_stalled;		/* head of order waits: slot, -EAGAIN */
	struct mroce_rmsg **chunk;	/* MSN window, MROCE_RMSG_CHUNK each */
	u16 n_rctx;
	struct mroce_rctx *rctx;	/* 2 x max_dest_rd_atomic + 1 */
	u16 resp_head, resp_n;		/* FIFO of rctx indices to send */
	u8 *resp_fifo;
};

/* ---- paths -------------------------------------------------------------- */

#define MROCE_SLOT_VOID		0x01	/* NOP when sent again */
#define MROCE_SLOT_LOST		0x02	/* to be sent again */
#define MROCE_SLOT_RESENT	0x04
#define MROCE_SLOT_RESP		0x08	/* msn names an rctx */
#define MROCE_SLOT_SILENCE	0x10	/* resent by probe, RTO, re-homing */
#define MROCE_SLOT_MOVED	0x20	/* has seen more than one route */

/* One outstanding transmission. Points at a stream, never into a QP's ring. */
struct mroce_slot {
	struct mroce_stream *s;	/* NULL: detached, then VOID is set */
	u32 qpn;		/* survives the stream: quarantine */
	u32 msn;
	u32 off;
	u32 ts;			/* of the last transmission */
	u32 first_ts;
	u16 len;
	u16 hdr_flags;		/* MROCE_F_* of the packet */
	u8 opcode;
	u8 attempt;
	u8 epoch;
	u8 flags;		/* MROCE_SLOT_* */
	u8 sent_next, sent_prev;	/* in flight, in order of ts */
};

/* What congestion control keeps per path. Windows: packets << 8. */
struct mroce_cc_path {
	u32 cwnd_x256;
	u16 alpha_x1024;	/* DCTCP fraction of marked packets */
	u16 acked, marked, lost;	/* in the current round; saturate */
	u32 round_psn;		/* the round ends when this is acked */
	bool cut;		/* window was cut in this round */
	bool slow_start;
	u8 shared;		/* rounds: a deep queue that others fill, too */
	u8 part;		/* of a unit of cwnd_x256, x 256 */
	u32 rtt_us, prior_rtt_us;	/* least of this round and the last */
};

/*
 * Stays as long as its connection; slots come and go (rest.c). A kilobyte for the
 * usual four paths: see core/tests/rest_kunit.c before it grows.
 */
struct mroce_path_tx {
	u8 id, plane, epoch;
	u8 home;		/* plane that it was opened on */
	bool leaving;		/* changes planes when nothing is outstanding */
	bool tlp_out;		/* tail probe sent, unanswered */
	bool late;		/* deadline was late and re-armed once */
	bool has_echo;		/* echo_ts, n_recv are valid */
	bool stale;		/* idle since the last RTT sample */
	bool borrowed;		/* its port is another path's, too */
	u8 backoff;		/* RTO exponent */
	u8 rehomes;		/* in a row, without an answer */
	u8 guard_rounds;
	u16 sport;
	u8 sent_first, sent_last;	/* slots; valid if inflight */
	u16 rtx_budget;		/* retransmissions beyond the window */
	u32 una, nxt;		/* [una, nxt) outstanding */
	u16 inflight;		/* outstanding and not LOST */
	u16 n_lost;
	u32 last_ts;
	u32 echo_ts;		/* newest echo */
	u32 rtx_psn;		/* where to look for the next one */
	u32 guard_ts;		/* reorder guard, 64 ns units */
	u32 guard_psn;		/* halving clock */
	u32 n_recv, n_ce;	/* newest counts of the peer */
	u32 hold_ts;		/* how long answers wait there, 64 ns units */
	u64 rtx_wait_ns;	/* not before: payload was not there */
	u64 srtt_ns, rttvar_ns, min_rtt_ns;	/* srtt 0: none yet */
	u64 min_rtt_at;		/* when the minimum was measured */
	u64 last_tx_ns;
	u64 last_rx_ns;		/* newest valid ACK */
	u64 rehome_ns;		/* last re-homing */
	u64 deadline;		/* tail probe, RTO or re-homing */
	u64 tlp_sent_ns;
	struct mroce_cc_path cc;
	u32 retx_pkts;		/* statistics */
	u64 tx_pkts;
	DECLARE_BITMAP(out, MROCE_PATH_WINDOW);	   /* by PSN & 255 */
	DECLARE_BITMAP(lost, MROCE_PATH_WINDOW);
	struct mroce_slot *slot;	/* by PSN & 255; NULL: at rest */
};

struct mroce_path_rx {
	u8 id, plane, epoch;	/* plane, epoch, sport: newest packet's */
	bool has_newest;
	u16 sport;
	u32 cum;		/* all PSNs <= cum are placed */
	u32 newest_ts;
	u64 newest_ns;
	u32 n_recv, n_ce, n_dup;
	u32 n_placing;
	DECLARE_BITMAP(placed, MROCE_PATH_WINDOW);  /* by PSN & 255 */
	DECLARE_BITMAP(placing, MROCE_PATH_WINDOW);
};

/* ---- congestion control -------------------------------------------------- */

/* One digested acknowledgment (anchors: struct rate_sample). */
struct mroce_cc_sample {
	u32 acked;		/* packets newly acknowledged */
	u32 marked;		/* of those, ECN-CE at the receiver */
	u32 lost;		/* packets found lost */
	u32 prior_inflight;
	u64 rtt_ns;		/* 0: no sample */
	u32 una, nxt;		/* of the path after the ACK */
	bool app_limited;	/* window was not the limit */
};

struct mroce_cc_ops {
	const char *name;
	void (*path_init)(struct mroce_conn *c, struct mroce_path_tx *p);
	void (*on_ack)(struct mroce_conn *c, struct mroce_path_tx *p,
		       const struct mroce_cc_sample *sa);
	void (*on_rto)(struct mroce_conn *c, struct mroce_path_tx *p);
	/* Nothing was outstanding for longer than the RTO. */
	void (*on_idle)(struct mroce_conn *c, struct mroce_path_tx *p);
};

extern const struct mroce_cc_ops mroce_cc_aimd;

/* ---- fair shares ----------------------------------------------------------- */

/* A port as a receiver; of all connections that arrive there. See share.c. */
struct mroce_share {
	u32 kbps;		/* its rate; 0: unknown, nothing is offered */
	u32 light_kbps;		/* measured, of those not backlogged */
	atomic_t n_backlogged;
	atomic64_t light_bytes;	/* since */
	atomic64_t since_ns;
};

/* ---- planes ---------------------------------------------------------------- */

enum mroce_plane_state {
	MROCE_PLANE_NONE,	/* not at both ends */
	MROCE_PLANE_UNPROVEN,	/* no PROBE to the peer's address answered */
	MROCE_PLANE_UP,
	MROCE_PLANE_DOWN,	/* silent, or without carrier */
	MROCE_N_PLANE_STATES
};

extern const char * const mroce_plane_state_names[MROCE_N_PLANE_STATES];

/* What a connection keeps for each plane. */
struct mroce_plane {
	u32 window_x256;	/* sum of its paths' congestion windows */
	/* sender: see share.c */
	u32 pace_kbps;		/* what the peer lets us send; 0: says nothing */
	u64 pace_gap_ns;	/* between packets, then */
	u64 pace_ns;		/* the next packet of DATA may leave */
	u64 pace_raise_ns;	/* pace_kbps was last raised */
	u64 hint_ns;		/* newest hint of the peer */
	/* receiver: see share.c */
	struct mroce_share *share;	/* NULL: nothing is offered */
	bool backlogged;	/* the peer has more to send */
	u64 backlog_ns;		/* its last packet that said so */
	u64 share_at;		/* look whether it still comes */

	/* where there is more than one: see plane.c */
	u8 state;		/* enum mroce_plane_state */
	u8 n_probes;		/* sent in vain */
	u8 suspect_path;	/* fell silent */
	bool probe_out;		/* probe_cookie is on its way */
	u64 suspect_ns;		/* then; 0: none */
	u64 probe_cookie, ack_cookie;
	u64 probe_at;		/* the next PROBE */
	u64 probe_ns;		/* the last one */
	u64 ack_ns;		/* the last PROBE_ACK; rate limit */
	u32 probe_ts;
};

/* What the owner says of one of its planes. */
struct mroce_plane_own {
	bool joined;
	bool carrier;		/* packets can leave */
	bool drain;		/* no more than what is under way */
	u8 addr[16];		/* v4-mapped; zeroes: none now */
	struct mroce_share *share;
};

/* Of a connection whose device has, or had, more than one plane. Bit: id. */
struct mroce_planes {
	u32 seq;		/* raised when an address changes */
	u16 own, peer;		/* with an address here, there */
	u16 carrier, drain;	/* here */
	u16 usable;		/* paths may go there */
	u16 may;		/* not paced, this very moment */
	u16 want_probe, want_ack;
	bool announce;		/* until an INIT_ACK says that it was heard */
	bool has_list;		/* of the peer, */
	u32 list_ts;		/* made at that time of its clock */
	u64 list_ns;
	u32 change_ts;		/* own list is new since; own clock */
	u64 change_ns;
	u64 home_at;		/* let a path go home */
	u8 own_addr[MROCE_MAX_PLANES][16];
	u8 peer_addr[MROCE_MAX_PLANES][16];
	struct mroce_plane p[MROCE_MAX_PLANES - 1];	/* 1 and up */
};

/* ---- connections --------------------------------------------------------- */

enum mroce_conn_state {
	MROCE_CONN_INIT,	/* "S": INIT sent or about to be */
	MROCE_CONN_OPEN,	/* INIT_ACK to our own INIT came */
	MROCE_CONN_DEAD,	/* to be freed by its owner */
	MROCE_N_CONN_STATES
};

extern const char * const mroce_conn_state_names[MROCE_N_CONN_STATES];

/* What the owner knows of the link; read at every incarnation. */
struct mroce_conn_cfg {
	bool self;		/* the peer is this device */
	u8 tclass;
	u8 n_paths;		/* to open; 0: MROCE_DEF_PATHS */
	u16 link_mtu;		/* IP header included */
	u16 l3_len;		/* IP + UDP header bytes: 28 or 48 */
	u32 speed_mbps;
};

/* Owner of a connection: net/, a simulator, a test. Lock held in all. */
struct mroce_conn_ops {
	/* Stream of a local QPN on this device, or NULL. */
	struct mroce_stream *(*find)(struct mroce_conn *c, u32 qpn);
	/* A new incarnation: new id for the owner's table; 0: none free. */
	u32 (*new_id)(struct mroce_conn *c);
	/* A source port not used by @c's other paths. */
	u16 (*new_sport)(struct mroce_conn *c, u8 plane);
	/* Before the next incarnation: bring @cfg up to date. NULL: it is. */
	void (*link)(struct mroce_conn *c, struct mroce_conn_cfg *cfg);
};

/* A NAK that waits to be sent. */
struct mroce_nak {
	u8 path, attempt, code, timer;
	u32 psn, qpn, msn;
};

#define MROCE_NAK_RING		64

struct mroce_conn {
	const struct mroce_conn_ops *ops;
	const struct mroce_cc_ops *cc;
	struct mroce_conn_cfg cfg;
	u8 state;		/* enum mroce_conn_state */
	bool tx_blocked;	/* owner: local queue full; ACKs still go */
	u32 gen;		/* incarnation, never wire-visible */
	u32 id, peer_id;
	u64 nonce, peer_nonce;
	u16 tag;
	u32 psn0;		/* first PSN of every path */
	u32 ts_off;
	u16 mtu;		/* of new packets: the smaller of both links' */
	u16 peer_mtu;
	u16 msn_window, rsn_window;
	struct mroce_plane plane0;
	struct mroce_planes *mp;	/* NULL: there is no other */
	u8 rx_plane;		/* of the packet that is being looked at */
	u64 last_heard_ns;	/* newest valid packet of the peer */

	struct list_head streams;
	struct list_head leaving;	/* detached, with ->left */
	u32 n_streams;
	u32 n_lost;		/* over all paths */
	u32 nak_tokens;		/* stateless NAKs that may be sent */
	u64 nak_ns;		/* tokens were filled */
	struct mroce_rmsg *spare;	/* one free chunk */
	struct list_head ready;
	struct list_head resp_ready;
	struct list_head timed;
	u64 stream_deadline;	/* lower bound over timed */

	u8 n_tx, cur_tx;	/* paths open; path of the last packet */
	u8 burst;		/* packets sent on it in a row */
	u8 tx_room, rx_room;	/* of the tables, which grow; see rest.c */
	u64 path_deadline;	/* lower bound over tx */
	struct mroce_path_tx **tx;
	struct mroce_path_rx **rx;	/* by id: mroce_path_rx_of() */
	DECLARE_BITMAP(touched, MROCE_MAX_PATHS);	/* paths that owe an ACK */
	u8 n_touched;
	u64 probe_rtt_ns;	/* from INIT/INIT_ACK */

	/* control packets that wait to be sent */
	bool want_init, want_init_ack, want_probe, want_probe_ack, want_close;
	u64 ack_nonce;		/* nonce to echo in INIT_ACK */
	u32 ack_ts;		/* and time stamp */
	u32 ack_id;
	u64 probe_cookie, probe_ack_cookie;
	u64 init_at;		/* INIT resend */
	u64 told_ns;		/* the last INIT_ACK */
	u64 init_sent_ns;
	u64 init_first_ns;
	u64 probe_ns;		/* last PROBE; rate limit */
	u64 probe_ack_ns;
	u32 probe_ts;
	bool probe_out;
	u8 init_tries;
	u8 n_init_ack;		/* in the second that began at */
	u64 init_ack_ns;
	u64 gc_at;		/* close without streams */
	u64 again_at;		/* paced, or no memory for a path */
	u64 rest_at;		/* look what is not used any more */

	struct mroce_nak *nak;	/* ring; NULL: none was needed lately */
	u16 nak_head, nak_n;

	u64 cnt[MROCE_N_COUNTERS];
};

/* The receiving side of a path, or NULL: nothing has come on it yet. */
static inline struct mroce_path_rx *
mroce_path_rx_of(const struct mroce_conn *c, u8 id)
{
	return id < c->rx_room ? c->rx[id] : NULL;
}

/* What became of a received packet. */
enum mroce_rx {
	MROCE_RX_DONE,		/* handled; nothing to copy */
	MROCE_RX_CLAIM,		/* claim filled: place, then finish */
	MROCE_RX_DROP,		/* dropped, counted */
	MROCE_RX_RESET,		/* wrong tag: owner may answer with RESET */
};

/* Facts about a received packet that are not in its header. */
struct mroce_rx_meta {
	u16 sport;		/* UDP source port */
	u8 plane;
	bool ce;		/* ECN-CE in the IP header */
};

/**
 * mroce_conn_init - set up a connection object
 * @c: zeroed memory
 * @ops: owner's functions
 * @cfg: link facts, copied
 * @now: ns
 *
 * State INIT (OPEN for cfg.self). Nothing is sent before a stream is attached.
 * Return: 0 or -ENOSPC (no id).
 */
int mroce_conn_init(struct mroce_conn *c, const struct mroce_conn_ops *ops,
		    const struct mroce_conn_cfg *cfg, u64 now);
/* Free all that @c owns; no streams may be attached. */
void mroce_conn_fini(struct mroce_conn *c);

/**
 * mroce_conn_rx - one parsed packet for this connection
 * @c: found by pkt->conn (DATA, ACK, NAK, PROBE*, CLOSE), by addresses (INIT),
 *     or by the id in the echoed header (RESET; see mroce_reset_target())
 * @pkt: parsed; sender's address already checked by the caller
 * @m: facts outside the header
 * @cl: filled if MROCE_RX_CLAIM is returned
 * @now: ns
 *
 * After a batch call mroce_conn_tx() until it returns false: answers wait.
 */
enum mroce_rx mroce_conn_rx(struct mroce_conn *c, const struct mroce_pkt *pkt,
			    const struct mroce_rx_meta *m,
			    struct mroce_claim *cl, u64 now);

/**
 * mroce_conn_set_mtu - the MTU of the route has changed
 * @c: connection
 * @link_mtu: IP header included
 *
 * New packets are cut to it. What was cut for a larger one keeps its size and
 * leaves IP-fragmented: the identity of a packet is for ever (rule 35).
 */
void mroce_conn_set_mtu(struct mroce_conn *c, u16 link_mtu);

/**
 * mroce_conn_set_planes - what planes this end has
 * @c: connection
 * @own: by plane id; [0] is the one of the connection's own addresses
 * @now: ns
 *
 * At any time, and for each change of @own. The peer is told; packets leave a
 * plane that has gone at once. Afterwards call mroce_conn_tx(). An owner
 * without further planes never needs it.
 */
void mroce_conn_set_planes(struct mroce_conn *c,
			   const struct mroce_plane_own own[MROCE_MAX_PLANES],
			   u64 now);

/**
 * mroce_conn_plane - on which plane did a packet come?
 * @c: connection
 * @own: the address it went to
 * @peer: the address it came from
 *
 * For addresses that are not the connection's own pair. Return: plane id, or
 * -1: the addresses do not belong to the connection.
 */
int mroce_conn_plane(const struct mroce_conn *c, const u8 own[16],
		     const u8 peer[16]);

/* A plane of @c, which has it. */
static inline struct mroce_plane *mroce_plane_of(struct mroce_conn *c, u8 id)
{
	return id ? &c->mp->p[id - 1] : &c->plane0;
}

/* Copy a claimed packet's payload. NO LOCK HELD. 0 or -errno. */
int mroce_claim_place(struct mroce_claim *cl, mroce_copy_fn copy, void *src);

/**
 * mroce_conn_finish - end a claim
 * @ok: false if mroce_claim_place() failed: the PSN is absent again
 *
 * Runs the stream's ordered queue; completions are written by the ops.
 */
void mroce_conn_finish(struct mroce_conn *c, struct mroce_claim *cl, bool ok,
		       u64 now);

/**
 * mroce_conn_tx - build the next packet
 * @txd: filled when true is returned; its frags hold page references
 *
 * Order: control, NAKs, ACKs, NOPs and retransmissions, responses, requests.
 * Return: false if nothing may be sent now.
 */
bool mroce_conn_tx(struct mroce_conn *c, struct mroce_txd *txd, u64 now);

/* True if mroce_conn_tx() might have something to send. Cheap. */
bool mroce_conn_tx_pending(const struct mroce_conn *c, u64 now);

/* When mroce_conn_timer() wants to be called; MROCE_NEVER. */
u64 mroce_conn_deadline(const struct mroce_conn *c);
void mroce_conn_timer(struct mroce_conn *c, u64 now);

/* The path is silent: another source port, or another plane (rules 33, 34). */
void mroce_conn_rehome(struct mroce_conn *c, struct mroce_path_tx *p, u64 now);

/* Connection id to look up for a RESET: out of the echoed header, which
 * names the *peer's* id; the owner compares with c->peer_id. 0: malformed.
 */
bool mroce_reset_echo(const struct mroce_pkt *reset, struct mroce_pkt *echo);

/* ---- streams: called by verbs/ -------------------------------------------- */

/**
 * mroce_stream_init - prepare a stream, detached
 * @s: zeroed memory
 * @ring_size: messages that may be posted and incomplete, power of two
 *
 * May sleep. Return: 0 or -ENOMEM.
 */
int mroce_stream_init(struct mroce_stream *s, const struct mroce_stream_ops *ops,
		      u32 ring_size);
/* Free what mroce_stream_init() and the stream's life allocated. Detached. */
void mroce_stream_fini(struct mroce_stream *s);

/* RESET/INIT -> RTR: attach to @c, open the receiving half. 0 or -ENOMEM. */
int mroce_stream_attach(struct mroce_stream *s, struct mroce_conn *c,
			const struct mroce_stream_attr *a, u64 now);
/* -> RTS: open the sending half (a's tx members are taken over). */
void mroce_stream_start(struct mroce_stream *s,
			const struct mroce_stream_attr *a, u64 now);
/* SQD and back. */
void mroce_stream_pause(struct mroce_stream *s, bool pause, u64 now);
/* min_rnr_timer, timeout, ... changed by modify_qp. */
void mroce_stream_update(struct mroce_stream *s,
			 const struct mroce_stream_attr *a);
/**
 * mroce_stream_error - QP goes to ERR
 *
 * Closes both halves: peers hear CLOSED. All posted messages are forgotten
 * (their slots become void); no msg_done() is called for them: the caller
 * flushes its own queues. Read contexts end.
 */
void mroce_stream_error(struct mroce_stream *s, u64 now);
/**
 * mroce_stream_detach - leave the connection (RESET, destroy)
 *
 * As mroce_stream_error(), then unlink. If claims are in flight (s->claims
 * not zero) ops->idle() is called when the last ends; until then the memory
 * must stay.
 *
 * While s->left is set the peer may still receive what the stream sent: packets
 * that a new life of the peer's end, should it begin with the same PSN, cannot
 * tell from its own (rule 25). ops->idle() is called when all of it has been
 * acknowledged, if ops->find() still knows the QPN, or when the connection's
 * incarnation ends. It is not set if several time-outs in a row say that
 * nobody is there to acknowledge. Who does not wait any longer calls
 * mroce_stream_left(), and does so before the stream goes.
 */
void mroce_stream_detach(struct mroce_stream *s, u64 now);
void mroce_stream_left(struct mroce_stream *s);

/* What store(), read_start() or atomic() waited for may be there. */
void mroce_stream_resume(struct mroce_stream *s, u64 now);

/**
 * mroce_stream_post - append a message
 * Return: 0, -ENOSPC (ring full) or -EINVAL (state does not allow sending).
 */
int mroce_stream_post(struct mroce_stream *s, struct mroce_msg *m, u64 now);
/* Posted messages that are not complete. */
static inline u32 mroce_stream_pending(const struct mroce_stream *s)
{
	return s->msn_nxt - s->msn_una;
}

/* ns for a verbs RNR timer code (0 = 655.36 ms). */
u64 mroce_rnr_ns(u8 code);

#endif /* MROCE_CORE_H */
