/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the files of core/. The connection's lock is held everywhere.
 */
#ifndef MROCE_CORE_INTERNAL_H
#define MROCE_CORE_INTERNAL_H

#include "core.h"

#define US			1000ULL
#define MS			1000000ULL
#define SEC			1000000000ULL

#define MROCE_INIT_MIN_NS	(20 * MS)
#define MROCE_INIT_STEADY	4		/* before it backs off */
#define MROCE_INIT_CAP_NS	(1 * SEC)
#define MROCE_INIT_GAP_NS	(1 * MS)	/* INIT in answer to stray DATA */
#define MROCE_INIT_SOON_NS	(50 * US)	/* the first such */
#define MROCE_INIT_ACK_RATE	10		/* per second and peer */
#define MROCE_PROBE_GAP_NS	(100 * MS)
#define MROCE_PROBE_ACK_GAP_NS	(1 * MS)
#define MROCE_GC_NS		(60 * SEC)
#define MROCE_GC_INIT_NS	(1 * SEC)	/* nothing to remember */
#define MROCE_RTO_INITIAL_NS	(10 * MS)	/* no RTT sample yet */
#define MROCE_RTO_MIN_NS	(1 * MS)
#define MROCE_RTO_CAP_NS	(1 * SEC)
#define MROCE_SILENT_RTOS	4		/* in a row: nobody is there */
#define MROCE_SILENCE_NS	(200 * US)	/* shorter: maybe the peer's host */
#define MROCE_TLP_MIN_NS	(20 * US)
#define MROCE_BORROW_NS		(10 * SEC)	/* another path's port */
#define MROCE_FREE_REHOMES	4	/* in a row, without backing off */
#define MROCE_MIN_RTT_NS	(10 * SEC)	/* a minimum is believed so long */
#define MROCE_NOMEM_NS		(1 * MS)	/* try again after so long */
#define MROCE_REST_NS		(1 * SEC)	/* unused: memory is given back */
#define MROCE_ABSENT_NS		SEC		/* memory that is waited for */
#define MROCE_UNPLACED_NS	(10 * MS)	/* so long without refusing */
#define MROCE_UNPLACED_TIMER	16		/* RNR code for 2.56 ms */
#define MROCE_RTX_FAILS		8		/* of a path, in vain, at a time */
#define MROCE_RETRY_MIN_NS	(4 * MS)
#define MROCE_NOT_READY_NS	(100 * MS)	/* hold if the QP never times out */
#define MROCE_NAK_PER_MS	10		/* stateless NAKs */
#define MROCE_DRR_QUANTUM	65536
#define MROCE_GSO_BYTES		65000		/* burst on one path */
#define MROCE_TS_SHIFT		6		/* 64 ns */
#define MROCE_TS_OLD		(60U * 15625000U)	/* 60 s */
#define MROCE_TS_VALID		(130U * 15625000U)	/* 130 s */
#define MROCE_MAX_RETRY_SHIFT	31
#define MROCE_PLANE_PROBE_NS	(10 * MS)
#define MROCE_PLANE_PROBE_CAP_NS (5 * SEC)
#define MROCE_LIST_OLD_NS	(60 * SEC)	/* stamps may have come around */

static inline void cnt_inc(struct mroce_conn *c, enum mroce_counter i)
{
	c->cnt[i]++;
}

static inline void cnt_add(struct mroce_conn *c, enum mroce_counter i, u64 n)
{
	c->cnt[i] += n;
}

/*
 * Time that has passed. Whoever holds the lock may have read the clock before
 * somebody who held it earlier: that is no time, not 500 years.
 */
static inline u64 elapsed(u64 now, u64 then)
{
	return now > then ? now - then : 0;
}

/* Own clock as it appears on the wire. */
static inline u32 conn_ts(const struct mroce_conn *c, u64 now)
{
	return (u32)(now >> MROCE_TS_SHIFT) + c->ts_off;
}

/*
 * Memory was not there at @ts: has it been so for more than @ns? If nobody has
 * looked for long, who knows: the count begins anew.
 */
static inline bool absent_for(struct mroce_absent *a, u32 ts, u64 ns)
{
	if (!a->since_ts ||
	    ts - a->last_ts > 2 * MROCE_RTO_CAP_NS >> MROCE_TS_SHIFT)
		a->since_ts = ts | 1;
	a->last_ts = ts;
	return (s32)(ts - a->since_ts) > (s32)(ns >> MROCE_TS_SHIFT);
}

static inline void absent_end(struct mroce_absent *a)
{
	if (a->since_ts)
		a->since_ts = 0;
}

/* The owner shall look again at @at, though nothing comes in. */
static inline void conn_again(struct mroce_conn *c, u64 at)
{
	c->again_at = min(c->again_at, at);
}

static inline u32 psn_idx(u32 psn)
{
	return psn & (MROCE_PATH_WINDOW - 1);
}

static inline bool op_is_response(u8 op)
{
	return op == MROCE_OP_READ_RESP || op == MROCE_OP_RESP_DONE ||
	       op == MROCE_OP_RESP_ERR || op == MROCE_OP_ATOMIC_RESP;
}

/* Requests that are answered: complete by a response, not by an ack. */
static inline bool op_is_fetch(u8 op)
{
	return op == MROCE_OP_READ_REQ || op == MROCE_OP_CMP_SWAP ||
	       op == MROCE_OP_FETCH_ADD;
}

/* Consumes a receive: has an RSN. */
static inline bool op_is_consuming(u8 op)
{
	return op == MROCE_OP_SEND || op == MROCE_OP_SEND_IMM ||
	       op == MROCE_OP_SEND_INV || op == MROCE_OP_WRITE_IMM;
}

/* Carries the message's bytes from the requester. */
static inline bool op_has_data(u8 op)
{
	return op == MROCE_OP_WRITE || op_is_consuming(op);
}

/* conn.c */
void conn_want_init(struct mroce_conn *c, u64 now);
void conn_lost(struct mroce_conn *c, u64 now);
bool conn_tx_ctrl(struct mroce_conn *c, struct mroce_txd *txd, u64 now);
u64 conn_random_u64(void);
u64 conn_jitter(u64 ns);
void conn_ctrl_build(struct mroce_conn *c, struct mroce_pkt *pkt, u8 plane,
		     struct mroce_txd *txd);

static inline bool conn_wants_ctrl(const struct mroce_conn *c)
{
	return c->want_init || c->want_init_ack || c->want_probe ||
	       c->want_probe_ack || c->want_close ||
	       (c->mp && (c->mp->want_probe | c->mp->want_ack));
}

/* rest.c */
bool rest_tx_room(struct mroce_conn *c);
bool rest_rx_room(struct mroce_conn *c, u8 id);
bool rest_path_slots(struct mroce_conn *c, struct mroce_path_tx *p, u64 now);
bool rest_nak_ring(struct mroce_conn *c);
void rest_arm(struct mroce_conn *c, u64 now);
void rest_timer(struct mroce_conn *c, u64 now);
void rest_free_all(struct mroce_conn *c);

/* path_tx.c */
struct mroce_path_tx *path_tx_open(struct mroce_conn *c, u64 now);
void path_tx_in_flight(struct mroce_path_tx *p, u32 psn);
void path_tx_not_in_flight(struct mroce_path_tx *p, u32 psn);
void path_tx_begin(struct mroce_conn *c, struct mroce_path_tx *p, u64 now);
void path_tx_stamp(struct mroce_conn *c, struct mroce_path_tx *p,
		   struct mroce_slot *sl, u64 now);
void path_tx_sent(struct mroce_conn *c, struct mroce_path_tx *p, u64 now);
void path_tx_mark_lost(struct mroce_conn *c, struct mroce_path_tx *p, u32 psn);
void path_tx_unmark_lost(struct mroce_conn *c, struct mroce_path_tx *p, u32 psn);
void path_tx_ack(struct mroce_conn *c, const struct mroce_pkt *pkt, u64 now);
void path_tx_nak(struct mroce_conn *c, const struct mroce_pkt *pkt, u64 now);
void path_tx_timers(struct mroce_conn *c, u64 now);
u64 path_rto_ns(const struct mroce_path_tx *p);
void path_rehome(struct mroce_conn *c, struct mroce_path_tx *p, u64 now);
void path_tx_unheard(struct mroce_conn *c);
void path_arm(struct mroce_conn *c, struct mroce_path_tx *p);

/* Congestion control has spoken. */
static inline void path_set_window(struct mroce_conn *c,
				   struct mroce_path_tx *p, u32 x256)
{
	u32 from = p->cc.cwnd_x256;

	if (x256 == from)
		return;
	p->cc.cwnd_x256 = x256;
	mroce_plane_of(c, p->plane)->window_x256 += x256 - from;
	MROCE_TRACE(window, c, p, from);
}

/* Memory for what is going to be outstanding; false: not now. */
static inline bool path_awake(struct mroce_conn *c, struct mroce_path_tx *p,
			      u64 now)
{
	return p->slot || rest_path_slots(c, p, now);
}

/* Room for new packets: the PSN window and the congestion window. */
static inline u32 path_room(const struct mroce_path_tx *p)
{
	u32 cwnd = p->cc.cwnd_x256 >> 8;

	if (p->nxt - p->una >= MROCE_PATH_WINDOW || p->inflight >= cwnd)
		return 0;
	return min_t(u32, MROCE_PATH_WINDOW - (p->nxt - p->una),
		     cwnd - p->inflight);
}

/* Every outstanding PSN of a path, in order. */
#define for_each_out(p, psn)						\
	for ((psn) = (p)->una; (psn) != (p)->nxt; (psn)++)		\
		if (test_bit(psn_idx(psn), (p)->out))

/* path_rx.c */
enum mroce_rx path_rx_data(struct mroce_conn *c, const struct mroce_pkt *pkt,
			   const struct mroce_rx_meta *m,
			   struct mroce_claim *cl, u64 now);
bool path_rx_tx_ack(struct mroce_conn *c, struct mroce_txd *txd, u64 now);
void conn_nak(struct mroce_conn *c, const struct mroce_pkt *pkt, u8 code,
	      u8 timer);
bool conn_nak_allowed(struct mroce_conn *c, u64 now);

/* stream_tx.c */
void stream_ready(struct mroce_stream *s);
void stream_acked(struct mroce_conn *c, struct mroce_slot *sl, u64 now);
void stream_voided(struct mroce_conn *c, struct mroce_slot *sl);
void stream_nak(struct mroce_conn *c, struct mroce_path_tx *p, u32 psn,
		const struct mroce_pkt *pkt, u64 now);
void stream_drain(struct mroce_stream *s, u32 msn, enum mroce_status st);
void stream_complete(struct mroce_stream *s, u64 now);
void stream_fail_oldest(struct mroce_stream *s, enum mroce_status st, u64 now);
void stream_progress(struct mroce_stream *s, u64 now);
void stream_arm(struct mroce_stream *s, u64 now);
void stream_timer(struct mroce_stream *s, u64 now);
u64 stream_due(const struct mroce_stream *s);
void stream_unbind(struct mroce_stream *s);
void stream_let_go(struct mroce_stream *s);
void stream_no_memory(struct mroce_stream *s, u64 now);
struct mroce_msg *stream_pick(struct mroce_stream *s, u64 now);
void stream_sent(struct mroce_stream *s, struct mroce_msg *m, u32 len,
		 u64 now);

static inline struct mroce_msg *stream_msg(struct mroce_stream *s, u32 msn)
{
	if (msn - s->msn_una >= s->msn_nxt - s->msn_una)
		return NULL;
	return s->ring[msn & s->ring_mask];
}

static inline bool stream_may_send(const struct mroce_stream *s)
{
	return s->tx_state == MROCE_TX_READY || s->tx_state == MROCE_TX_DRAIN;
}

/* stream_rx.c */
enum stream_verdict {
	VERDICT_CLAIM,		/* place, then finish */
	VERDICT_VOID,		/* acknowledge without effect */
	VERDICT_DROP,		/* no acknowledgment: it will come again */
	VERDICT_NAK,		/* a NAK was queued */
};

enum stream_verdict stream_rx(struct mroce_conn *c, const struct mroce_pkt *pkt,
			      struct mroce_claim *cl, u64 now);
bool stream_rx_wanted(const struct mroce_stream *s,
		      const struct mroce_claim *cl);
bool stream_rx_unplaced(struct mroce_stream *s, const struct mroce_claim *cl,
			u64 now);
void stream_rx_finish(struct mroce_stream *s, struct mroce_claim *cl);
void stream_rx_end(struct mroce_stream *s, const struct mroce_claim *cl);
bool stream_rx_rest(struct mroce_stream *s);
void stream_rx_reset(struct mroce_stream *s);
void stream_rx_close(struct mroce_stream *s, bool all);

/* response.c: the responder's answers */
bool resp_start(struct mroce_stream *s, struct mroce_rmsg *e, u32 msn);
void resp_error(struct mroce_stream *s, u32 msn, u32 cookie, u8 code);
struct mroce_rctx *resp_of_slot(struct mroce_stream *s,
				const struct mroce_slot *sl);
bool resp_pending(const struct mroce_stream *s, u32 msn);
void resp_acked(struct mroce_stream *s, const struct mroce_slot *sl, u64 now);
void resp_discard(struct mroce_stream *s, struct mroce_rctx *r);
void resp_sent(struct mroce_stream *s, struct mroce_rctx *r, u32 len, u64 now);
void resp_close(struct mroce_stream *s, bool all);
enum stream_verdict resp_rx(struct mroce_conn *c, struct mroce_stream *s,
			    const struct mroce_pkt *pkt, struct mroce_claim *cl,
			    u64 now);
bool resp_unplaced(struct mroce_stream *s, const struct mroce_claim *cl,
		   u64 now);
void resp_rx_finish(struct mroce_stream *s, struct mroce_claim *cl, u64 now);
void resp_rx_end(struct mroce_stream *s, const struct mroce_claim *cl);
void resp_rx_settled(struct mroce_stream *s, const struct mroce_claim *cl,
		     u64 now);
void stream_run_order(struct mroce_stream *s, u64 now);

u64 conn_srtt_ns(const struct mroce_conn *c);

/* share.c */
void share_plane_off(struct mroce_plane *pl);
void share_off(struct mroce_conn *c);
void share_rx(struct mroce_conn *c, const struct mroce_pkt *pkt, u64 now);
u32 share_first_kbps(struct mroce_conn *c, u64 now);
void share_timer(struct mroce_conn *c, u64 now);
u32 share_hint_kbps(struct mroce_conn *c, u8 plane, u64 now);
void pace_hint(struct mroce_conn *c, u32 kbps, u64 now);
bool pace_ok(struct mroce_conn *c, u64 now);
void pace_sent(struct mroce_conn *c, u8 plane, u32 len, u64 now);

/* Not for a path whose plane is paced; pace_ok() has looked. */
static inline bool pace_may(const struct mroce_conn *c,
			    const struct mroce_path_tx *p)
{
	return !c->mp || c->mp->may & BIT(p->plane);
}

/* plane.c */
void plane_reset(struct mroce_conn *c, u64 now);
void plane_list(struct mroce_conn *c, const struct mroce_pkt *pkt, u64 now);
bool plane_rx_ok(struct mroce_conn *c, const struct mroce_pkt *pkt, u8 plane);
void plane_rx_probe(struct mroce_conn *c, u64 cookie, u64 now);
bool plane_rx_probe_ack(struct mroce_conn *c, u64 cookie, u64 now);
bool plane_reset_valid(const struct mroce_conn *c, const struct mroce_pkt *e);
bool plane_tx_ctrl(struct mroce_conn *c, struct mroce_txd *txd, u64 now);
void plane_fill_init(const struct mroce_conn *c, struct mroce_init *in);
void plane_heard(struct mroce_conn *c, const struct mroce_pkt *init_ack,
		 u64 now);
u64 plane_deadline(const struct mroce_conn *c);
void plane_timer(struct mroce_conn *c, u64 now);
bool plane_silent(struct mroce_conn *c, struct mroce_path_tx *p, u64 now);
int plane_for_path(const struct mroce_conn *c);
void plane_rtt(const struct mroce_conn *c, struct mroce_path_tx *p);
u32 conn_want_paths(const struct mroce_conn *c);
bool plane_may(struct mroce_conn *c, const struct mroce_path_tx *p);
struct mroce_path_tx *plane_pick(struct mroce_conn *c, bool awake, u64 now);

/* All planes of a connection that may have state: 0, and those of mp. */
#define for_each_plane(c, pl, k)					\
	for ((k) = 0; (k) < ((c)->mp ? MROCE_MAX_PLANES : 1) &&		\
	     ((pl) = mroce_plane_of(c, k)); (k)++)

#endif /* MROCE_CORE_INTERNAL_H */
