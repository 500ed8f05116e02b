// SPDX-License-Identifier: GPL-2.0
/*
 * A stream, requester's side: messages in order, attempts, refusals, time.
 *
 * message:  QUEUED -> SENDING -> SENT -> DONE
 *              ^         |        |
 *              |         v        v
 *              '----- REFUSED <---'	NAK: RNR, NOT_READY, CLOSED
 *
 * stream:   IDLE -> READY -> DRAIN(k) -> ERR
 *
 * A refused message is tried again as a new, numbered attempt, and only when
 * every PSN of the old one is acknowledged: then no copy of it can be in the
 * network or in a CPU (rules 13-16). A fatal refusal of message k lets the
 * earlier ones finish first (rule 19).
 */
#include "internal.h"

/* RNR timer codes of the verbs in 10 us units. */
static const u16 rnr_10us[32] = {
	65535, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
	16384, 24576, 32768, 49152,
};

u64 mroce_rnr_ns(u8 code)
{
	code &= 31;
	return code ? rnr_10us[code] * 10 * US : 655360 * US;
}

static u64 conn_rto_ns(const struct mroce_conn *c)
{
	u64 rto = 0;
	int i;

	for (i = 0; i < c->n_tx; i++)
		rto = max(rto, path_rto_ns(c->tx[i]));
	return rto ? rto : MROCE_RTO_INITIAL_NS;
}

u64 conn_srtt_ns(const struct mroce_conn *c)
{
	u64 srtt = 0;
	int i;

	for (i = 0; i < c->n_tx; i++)
		srtt = max(srtt, c->tx[i]->srtt_ns);
	return srtt;
}

/* T_retry of rule 37; 0: the QP never times out. */
static u64 stream_retry_ns(const struct mroce_stream *s)
{
	u64 t;

	if (!s->a.timeout)
		return 0;
	t = 4096ULL << min_t(u8, s->a.timeout, MROCE_MAX_RETRY_SHIFT);
	t = max(t, 3 * conn_rto_ns(s->conn));
	return max_t(u64, t, MROCE_RETRY_MIN_NS);
}

/* When the stream's timer has something to do. */
u64 stream_due(const struct mroce_stream *s)
{
	return min(s->retry_at, s->held ? s->hold_until : MROCE_NEVER);
}

static void stream_schedule(struct mroce_stream *s)
{
	struct mroce_conn *c = s->conn;
	u64 due = stream_due(s);

	if (due == MROCE_NEVER)
		return;
	if (list_empty(&s->timed))
		list_add_tail(&s->timed, &c->timed);
	c->stream_deadline = min(c->stream_deadline, due);
}

/* Run T_retry while there is work, from now on if it does not run yet. */
void stream_arm(struct mroce_stream *s, u64 now)
{
	if (!s->a.timeout || s->msn_una == s->msn_nxt || !stream_may_send(s))
		s->retry_at = MROCE_NEVER;
	else if (s->retry_at == MROCE_NEVER)
		s->retry_at = now + stream_retry_ns(s);
	stream_schedule(s);
}

/* Something of the stream was acknowledged or answered. */
void stream_progress(struct mroce_stream *s, u64 now)
{
	s->bound = true;
	s->retries_left = s->a.retry_cnt;
	/* Once for all packets that one ACK, or one batch, acknowledges. */
	if (s->progress_ns == now && s->retry_at != MROCE_NEVER)
		return;
	s->progress_ns = now;
	s->retry_at = MROCE_NEVER;
	stream_arm(s, now);
}

void stream_ready(struct mroce_stream *s)
{
	struct mroce_conn *c = s->conn;

	if (stream_may_send(s) && s->msn_una != s->msn_nxt &&
	    list_empty(&s->ready))
		list_add_tail(&s->ready, &c->ready);
	if (s->resp_n && list_empty(&s->resp_ready))
		list_add_tail(&s->resp_ready, &c->resp_ready);
}

/* ---- posting ------------------------------------------------------------------ */

int mroce_stream_post(struct mroce_stream *s, struct mroce_msg *m, u64 now)
{
	if (!s->conn || s->tx_state != MROCE_TX_READY)
		return -EINVAL;
	if (s->msn_nxt - s->msn_una > s->ring_mask)
		return -ENOSPC;
	m->state = MROCE_M_QUEUED;
	m->attempt = 0;
	m->probing = false;
	m->retry_request = false;
	m->msn = s->msn_nxt;
	m->rsn = s->rsn_nxt;
	m->off = 0;
	m->resume_off = 0;
	m->resp_bytes = 0;
	m->unacked = 0;
	m->voided = 0;
	m->open = 0;
	m->absent.since_ts = 0;
	m->cookie = op_is_fetch(m->opcode) ? mroce_random_u32() : 0;
	if (op_is_consuming(m->opcode))
		s->rsn_nxt++;
	s->ring[s->msn_nxt & s->ring_mask] = m;
	s->msn_nxt++;
	stream_arm(s, now);
	stream_ready(s);
	if (s->conn->state == MROCE_CONN_INIT && !s->conn->init_tries)
		conn_want_init(s->conn, now);
	return 0;
}

/* ---- choosing what to send ------------------------------------------------------ */

/* The lowest refused message, if its quarantine is over. */
static struct mroce_msg *stream_resume(struct mroce_stream *s)
{
	struct mroce_msg *m;
	u32 msn;

	for (msn = s->msn_una; msn != s->msn_snd; msn++) {
		m = stream_msg(s, msn);
		if (m->state != MROCE_M_REFUSED)
			continue;
		if (m->voided || m->unacked)
			return NULL;
		s->n_refused--;
		m->state = MROCE_M_SENDING;
		m->off = m->resume_off;
		if (!m->resume_off)
			m->attempt++;
		m->probing = true;
		s->probe = m;
		s->cur = m;
		return m;
	}
	return NULL;
}

/*
 * The message to send a packet of, or NULL. The caller has a path with room;
 * after sending it calls stream_sent().
 */
struct mroce_msg *stream_pick(struct mroce_stream *s, u64 now)
{
	struct mroce_conn *c = s->conn;
	struct mroce_msg *m;

	if (!stream_may_send(s) || s->quarantine)
		return NULL;
	if (s->held) {
		if (now < s->hold_until)
			return NULL;
		s->held = false;
	}
	m = s->cur;
	if (m)
		return m->probing && m->unacked ? NULL : m;

	/* A repeated request: only ever the oldest message (rule 21). */
	m = stream_msg(s, s->msn_una);
	if (m && m->retry_request)
		return m;
	if (s->probe)
		return NULL;
	if (s->n_refused)
		return stream_resume(s);

	/* SQD: what was started is finished, nothing else is started. */
	if (s->paused || s->msn_snd == s->msn_nxt)
		return NULL;
	if (s->tx_state == MROCE_TX_DRAIN &&
	    !mroce_seq_before(s->msn_snd, s->drain_msn))
		return NULL;
	if (s->msn_snd - s->msn_una >= c->msn_window)
		return NULL;
	m = stream_msg(s, s->msn_snd);
	if (m->fence && s->msn_snd != s->msn_una)
		return NULL;
	if (op_is_fetch(m->opcode) && s->rd_out >= s->a.max_rd_atomic)
		return NULL;
	if (op_is_consuming(m->opcode)) {
		if (m->rsn - s->rsn_una >= c->rsn_window)
			return NULL;
		if (s->rnr_limit && s->n_consuming >= s->rnr_limit)
			return NULL;
		s->n_consuming++;
	}
	if (op_is_fetch(m->opcode))
		s->rd_out++;
	s->msn_snd++;
	m->state = MROCE_M_SENDING;
	s->cur = m;
	return m;
}

/* One packet with @len bytes of @m is on its way. */
void stream_sent(struct mroce_stream *s, struct mroce_msg *m, u32 len, u64 now)
{
	m->unacked++;
	if (m->retry_request) {
		m->retry_request = false;
		stream_arm(s, now);
		return;
	}
	m->off += len;
	if (!op_has_data(m->opcode) || m->off == m->len) {
		m->state = MROCE_M_SENT;
		s->cur = NULL;
	}
	stream_arm(s, now);
}

/* ---- completion -------------------------------------------------------------------- */

static bool msg_complete(const struct mroce_msg *m)
{
	/* A copy into its memory must not outlive the completion. */
	if (m->state == MROCE_M_DONE)
		return !m->open;
	return op_has_data(m->opcode) && m->state == MROCE_M_SENT &&
	       !m->unacked;
}

/* The oldest message fails, and with it the stream. */
void stream_fail_oldest(struct mroce_stream *s, enum mroce_status st, u64 now)
{
	struct mroce_msg *m = stream_msg(s, s->msn_una);

	if (st == MROCE_ST_RETRY_EXC)
		cnt_inc(s->conn, MROCE_CNT_RETRY_EXC);
	else if (st == MROCE_ST_RNR_EXC)
		cnt_inc(s->conn, MROCE_CNT_RNR_EXC);
	if (m) {
		s->msn_una++;
		s->ops->msg_done(s, m, st);
	}
	mroce_stream_error(s, now);
	s->ops->tx_fatal(s, st);
}

/* Report what is complete, in order; then a pending failure. */
void stream_complete(struct mroce_stream *s, u64 now)
{
	struct mroce_msg *m;

	while (stream_may_send(s)) {
		if (s->tx_state == MROCE_TX_DRAIN &&
		    s->msn_una == s->drain_msn) {
			stream_fail_oldest(s, s->drain_status, now);
			return;
		}
		m = stream_msg(s, s->msn_una);
		if (!m || !msg_complete(m))
			break;
		s->msn_una++;
		if (op_is_consuming(m->opcode))
			s->rsn_una = m->rsn + 1;
		s->ops->msg_done(s, m, MROCE_ST_OK);
	}
	stream_arm(s, now);
	stream_ready(s);
}

/* All of the message has arrived, and was not refused. */
static void msg_accepted(struct mroce_stream *s, const struct mroce_msg *m)
{
	bool consuming = op_is_consuming(m->opcode);

	if (consuming || m->attempt)
		s->rnr_left = s->a.rnr_retry;
	if (!consuming)
		return;
	if (s->n_consuming)
		s->n_consuming--;
	if (s->rnr_limit && s->rnr_limit < MROCE_RSN_WINDOW)
		s->rnr_limit++;
}

void stream_acked(struct mroce_conn *c, struct mroce_slot *sl, u64 now)
{
	struct mroce_stream *s = sl->s;
	struct mroce_msg *m;

	if (!s)
		return;
	if (sl->flags & MROCE_SLOT_RESP) {
		resp_acked(s, sl, now);
		return;
	}
	stream_progress(s, now);
	m = stream_msg(s, sl->msn);
	if (!m || m->attempt != sl->attempt || !m->unacked)
		return;
	m->unacked--;
	m->probing = false;
	if (s->probe == m)
		s->probe = NULL;
	if (m->state == MROCE_M_SENT && !m->unacked)
		msg_accepted(s, m);
	stream_complete(s, now);
}

/* A voided PSN is acknowledged: it never counts as placed (rule 5). */
void stream_voided(struct mroce_conn *c, struct mroce_slot *sl)
{
	struct mroce_stream *s = sl->s;
	struct mroce_msg *m;

	if (!s) {
		s = c->ops->find(c, sl->qpn);
		if (!s || !s->quarantine || (s->conn != c && s->left != c) ||
		    --s->quarantine)
			return;
		if (s->conn)
			stream_ready(s);
		else
			stream_let_go(s);
		return;
	}
	if (sl->flags & MROCE_SLOT_RESP)
		return;
	m = stream_msg(s, sl->msn);
	if (!m || !m->voided)
		return;
	if (!--m->voided && m->state == MROCE_M_REFUSED)
		stream_ready(s);
}

/* ---- refusals ---------------------------------------------------------------------- */

static void slot_void(struct mroce_conn *c, struct mroce_path_tx *p, u32 psn)
{
	p->slot[psn_idx(psn)].flags |= MROCE_SLOT_VOID;
	path_tx_mark_lost(c, p, psn);
}

/* Void the unacknowledged PSNs of message @msn, or all from it on. */
static void stream_void(struct mroce_stream *s, u32 msn, bool and_later)
{
	struct mroce_conn *c = s->conn;
	struct mroce_slot *sl;
	struct mroce_msg *m;
	u32 psn;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		struct mroce_path_tx *p = c->tx[i];

		for_each_out(p, psn) {
			sl = &p->slot[psn_idx(psn)];
			if (sl->s != s ||
			    sl->flags & (MROCE_SLOT_VOID | MROCE_SLOT_RESP))
				continue;
			if (and_later ? mroce_seq_before(sl->msn, msn) :
					sl->msn != msn)
				continue;
			slot_void(c, p, psn);
			m = stream_msg(s, sl->msn);
			if (m && m->unacked) {
				m->unacked--;
				m->voided++;
			}
		}
	}
}

static void stream_hold(struct mroce_stream *s, u64 until)
{
	s->held = true;
	s->held_nomem = false;
	s->hold_until = until;
	stream_schedule(s);
}

/* No memory for a packet's payload: nothing is lost by waiting a little. The
 * stream stays on its ready list; its timer makes the owner look again.
 */
void stream_no_memory(struct mroce_stream *s, u64 now)
{
	cnt_inc(s->conn, MROCE_CNT_NOMEM);
	if (s->held && s->hold_until > now)
		return;
	stream_hold(s, now + MROCE_NOMEM_NS);
	s->held_nomem = true;
}

/* Message @m waits for another attempt, from @off on. */
static void stream_refused(struct mroce_stream *s, struct mroce_msg *m, u32 off)
{
	if (m->state != MROCE_M_REFUSED) {
		m->state = MROCE_M_REFUSED;
		s->n_refused++;
		m->resume_off = off;
	} else {
		m->resume_off = min(m->resume_off, off);
	}
	m->probing = false;
	if (s->cur == m)
		s->cur = NULL;
	if (s->probe == m)
		s->probe = NULL;
}

static void stream_rnr(struct mroce_stream *s, struct mroce_msg *m,
		       const struct mroce_pkt *pkt, u64 now)
{
	cnt_inc(s->conn, MROCE_CNT_RNR_RECV);
	if (s->held && !s->held_nomem)
		return;		/* the same round of refusals */
	if (s->a.rnr_retry < 7) {
		if (!s->rnr_left) {
			stream_drain(s, m->msn, MROCE_ST_RNR_EXC);
			return;
		}
		s->rnr_left--;
	}
	s->rnr_limit = max_t(u16, (s->rnr_limit ? s->rnr_limit :
				   s->n_consuming) / 2, 1);
	stream_hold(s, now + max(mroce_rnr_ns(pkt->nak.timer),
				 2 * conn_srtt_ns(s->conn)));
}

static void stream_not_ready(struct mroce_stream *s, struct mroce_msg *m,
			     bool closed, u64 now)
{
	u64 t = stream_retry_ns(s);

	if (s->held && !s->held_nomem)
		return;
	if (t) {
		if (!s->retries_left) {
			stream_drain(s, m->msn, MROCE_ST_RETRY_EXC);
			return;
		}
		/* CLOSED: one more try, no more. */
		s->retries_left = closed ? 0 : s->retries_left - 1;
		cnt_inc(s->conn, MROCE_CNT_RETRY);
	}
	/* The hold is T_retry itself: not counted twice. */
	s->retry_at = MROCE_NEVER;
	stream_hold(s, now + (t ? t : MROCE_NOT_READY_NS));
	if (t)
		s->retry_at = s->hold_until + t;
}

void stream_nak(struct mroce_conn *c, struct mroce_path_tx *p, u32 psn,
		const struct mroce_pkt *pkt, u64 now)
{
	struct mroce_slot *sl = &p->slot[psn_idx(psn)];
	struct mroce_stream *s = sl->s;
	struct mroce_msg *m;
	bool whole;

	if (!s || sl->flags & MROCE_SLOT_VOID || s->a.qpn != pkt->nak.qpn ||
	    sl->msn != pkt->nak.msn) {
		cnt_inc(c, MROCE_CNT_NAK_STALE);
		return;
	}
	if (sl->flags & MROCE_SLOT_RESP) {
		/* The requester is gone (M13): nobody wants the answer. */
		struct mroce_rctx *r = resp_of_slot(s, sl);

		if (r)
			resp_discard(s, r);
		if (s->exec_stalled)
			stream_run_order(s, now);
		return;
	}
	m = stream_msg(s, sl->msn);
	if (!m || sl->attempt != pkt->nak.attempt ||
	    m->attempt != sl->attempt || !stream_may_send(s)) {
		cnt_inc(c, MROCE_CNT_NAK_STALE);
		return;
	}
	if (m->state == MROCE_M_DONE) {
		/* Answered, only earlier ones are not: nothing to refuse. */
		slot_void(c, p, psn);
		m->unacked--;
		m->voided++;
		return;
	}
	switch (pkt->nak.code) {
	case MROCE_NAK_PENDING:
		if (!op_is_fetch(m->opcode))
			return;
		stream_progress(s, now);
		slot_void(c, p, psn);
		m->unacked--;
		m->voided++;
		return;
	case MROCE_NAK_RNR:
	case MROCE_NAK_NOT_READY:
	case MROCE_NAK_CLOSED:
		/* A WRITE_IMM without a receive: only the LAST packet. */
		whole = !(m->opcode == MROCE_OP_WRITE_IMM &&
			  pkt->nak.code == MROCE_NAK_RNR && sl->off &&
			  sl->hdr_flags & MROCE_F_LAST);
		if (op_is_fetch(m->opcode) && m->state == MROCE_M_SENT &&
		    m->unacked > 1)
			whole = false;
		if (whole) {
			stream_void(s, m->msn, false);
			stream_refused(s, m, 0);
		} else {
			slot_void(c, p, psn);
			m->unacked--;
			m->voided++;
			if (op_has_data(m->opcode))
				stream_refused(s, m, sl->off);
		}
		if (pkt->nak.code == MROCE_NAK_RNR)
			stream_rnr(s, m, pkt, now);
		else
			stream_not_ready(s, m,
					 pkt->nak.code == MROCE_NAK_CLOSED, now);
		break;
	case MROCE_NAK_INV_REQ:
		stream_drain(s, m->msn, MROCE_ST_REM_INV_REQ);
		break;
	case MROCE_NAK_ACCESS:
		stream_drain(s, m->msn, MROCE_ST_REM_ACCESS);
		break;
	case MROCE_NAK_OP_ERR:
		stream_drain(s, m->msn, MROCE_ST_REM_OP);
		break;
	}
	stream_complete(s, now);
}

/* Message @msn failed with @st: stop there, finish what is before it. The
 * caller runs stream_complete().
 */
void stream_drain(struct mroce_stream *s, u32 msn, enum mroce_status st)
{
	if (!stream_may_send(s))
		return;
	if (s->tx_state == MROCE_TX_DRAIN &&
	    !mroce_seq_before(msn, s->drain_msn))
		return;
	s->tx_state = MROCE_TX_DRAIN;
	s->drain_msn = msn;
	s->drain_status = st;
	stream_void(s, msn, true);
	if (s->cur && !mroce_seq_before(s->cur->msn, msn))
		s->cur = NULL;
	if (s->probe && !mroce_seq_before(s->probe->msn, msn))
		s->probe = NULL;
	/* Refused messages at or after k are not tried again. */
	for (; mroce_seq_before(msn, s->msn_snd); msn++) {
		struct mroce_msg *m = stream_msg(s, msn);

		if (m && m->state == MROCE_M_REFUSED) {
			m->state = MROCE_M_SENT;
			s->n_refused--;
		}
	}
}

/* ---- time ---------------------------------------------------------------------------- */

/* The route of the stream's oldest unacknowledged packet is suspect. */
static bool stream_rehome_oldest(struct mroce_stream *s, u64 now)
{
	struct mroce_path_tx *best = NULL;
	struct mroce_conn *c = s->conn;
	u32 psn, best_age = 0, age;
	bool free_try, moved = false;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		struct mroce_path_tx *p = c->tx[i];

		for_each_out(p, psn) {
			struct mroce_slot *sl = &p->slot[psn_idx(psn)];

			if (sl->s != s)
				continue;
			age = conn_ts(c, now) - sl->first_ts;
			if (!best || (s32)(age - best_age) > 0) {
				best = p;
				best_age = age;
				moved = sl->flags & MROCE_SLOT_MOVED;
			}
		}
	}
	if (!best)
		return false;
	/* Of that packet, not of the path: others may get through. */
	free_try = !moved && elapsed(now, c->last_heard_ns) < path_rto_ns(best);
	if (elapsed(now, best->rehome_ns) >= path_rto_ns(best))
		mroce_conn_rehome(c, best, now);
	return free_try;
}

static bool stream_has_outstanding(const struct mroce_stream *s)
{
	u32 msn;

	for (msn = s->msn_una; msn != s->msn_snd; msn++) {
		const struct mroce_msg *m = s->ring[msn & s->ring_mask];

		if (m->unacked || m->voided)
			return true;
	}
	return false;
}

void stream_timer(struct mroce_stream *s, u64 now)
{
	struct mroce_conn *c = s->conn;
	struct mroce_msg *m;
	u64 t;

	if (s->held && now >= s->hold_until) {
		s->held = false;
		stream_ready(s);
	}
	if (now < s->retry_at)
		return;
	/* As for paths: drain the receive queue first (rule 38). */
	if (!s->late &&
	    elapsed(now, s->retry_at) > max_t(u64, MS, conn_rto_ns(c) / 4)) {
		s->late = true;
		s->retry_at = now + max_t(u64, conn_srtt_ns(c), MS);
		return;
	}
	s->late = false;
	s->retry_at = MROCE_NEVER;
	t = stream_retry_ns(s);
	m = stream_msg(s, s->msn_una);
	if (!t || !m || !stream_may_send(s) ||
	    (s->paused && s->msn_snd == s->msn_una))
		return;
	s->retry_at = now + t;
	if (s->held)
		return;
	if (c->state == MROCE_CONN_OPEN && !s->quarantine) {
		bool answered = op_is_fetch(m->opcode) &&
				m->state == MROCE_M_SENT && !m->unacked;

		if (answered) {
			/* Accepted, but no answer: ask (rule 21). */
			m->retry_request = true;
			stream_ready(s);
		} else if (!stream_has_outstanding(s)) {
			stream_ready(s);
			return;		/* waits for local room only */
		} else if (stream_rehome_oldest(s, now)) {
			return;		/* free of charge */
		}
	}
	cnt_inc(c, MROCE_CNT_RETRY);
	if (!s->retries_left) {
		stream_fail_oldest(s, MROCE_ST_RETRY_EXC, now);
		return;
	}
	s->retries_left--;
}
