// SPDX-License-Identifier: GPL-2.0
/*
 * Reads and atomics: the responder's answers, and their arrival.
 *
 * Answers are reliable DATA packets of their own, so an atomic needs no replay
 * cache: it is executed once, its result is sent until it is acknowledged. A
 * request's rd_atomic slot is in use until the *first transmission* of its
 * last answer, its context until the last answer is acknowledged (rule 22).
 * There are therefore twice as many contexts as slots, and one for an error.
 */
#include "internal.h"

/* The last context is kept for the one error that a stream may have. */
static struct mroce_rctx *rctx_alloc(struct mroce_stream *s, bool error)
{
	int i;

	for (i = 0; i < s->n_rctx - !error; i++) {
		struct mroce_rctx *r = &s->rctx[i];

		if (r->used)
			continue;
		memset(r, 0, sizeof(*r));
		r->used = true;
		return r;
	}
	return NULL;
}

static void rctx_free(struct mroce_stream *s, struct mroce_rctx *r)
{
	if (r->opcode == MROCE_OP_READ_REQ)
		s->ops->read_end(s, r);
	r->used = false;
}

static void rctx_queue(struct mroce_stream *s, struct mroce_rctx *r)
{
	s->resp_fifo[(s->resp_head + s->resp_n) % s->n_rctx] = r - s->rctx;
	s->resp_n++;
	stream_ready(s);
}

/*
 * Execute the request of record @e; false: no slot or context is free, or its
 * memory is not there now.
 */
bool resp_start(struct mroce_stream *s, struct mroce_rmsg *e, u32 msn)
{
	struct mroce_rctx *r;
	int err;

	if (s->rd_in >= s->a.max_dest_rd_atomic && s->rd_in)
		return false;
	r = rctx_alloc(s, false);
	if (!r)
		return false;
	r->opcode = e->opcode;
	r->msn = msn;
	r->cookie = e->cookie;
	r->va = e->va;
	r->rkey = e->rkey;
	r->len = e->len;
	if (!s->a.max_dest_rd_atomic)
		err = MROCE_NAK_INV_REQ;
	else if (e->opcode == MROCE_OP_READ_REQ)
		err = s->ops->read_start(s, r);
	else
		err = s->ops->atomic(s, r, e->swap_add, e->compare);
	if (err == -EAGAIN) {
		r->used = false;
		return false;
	}
	if (err) {
		/* Answered by RESP_ERR; the stream dies after this message. */
		r->opcode = MROCE_OP_RESP_ERR;
		r->err = err;
		s->err_code = err;
		s->err_msn = msn + 1;
		s->rx_state = MROCE_RX_ERR_PENDING;
	}
	s->rd_in++;
	rctx_queue(s, r);
	return true;
}

/* A failure of something acknowledged that is no request. */
void resp_error(struct mroce_stream *s, u32 msn, u32 cookie, u8 code)
{
	struct mroce_rctx *r = rctx_alloc(s, true);

	if (WARN_ON_ONCE(!r))
		return;
	r->opcode = MROCE_OP_RESP_ERR;
	r->err = code;
	r->msn = msn;
	r->cookie = cookie;
	s->rd_in++;
	rctx_queue(s, r);
}

struct mroce_rctx *resp_of_slot(struct mroce_stream *s,
				const struct mroce_slot *sl)
{
	struct mroce_rctx *r;

	/* Answers have no attempt: the member holds the context's index. */
	if (sl->attempt >= s->n_rctx)
		return NULL;
	r = &s->rctx[sl->attempt];
	return r->used && r->msn == sl->msn ? r : NULL;
}

/* Is the request @msn still being answered? */
bool resp_pending(const struct mroce_stream *s, u32 msn)
{
	int i;

	for (i = 0; i < s->n_rctx; i++)
		if (s->rctx[i].used && s->rctx[i].msn == msn)
			return true;
	return false;
}

/* @len bytes of the head answer are on their way. */
void resp_sent(struct mroce_stream *s, struct mroce_rctx *r, u32 len, u64 now)
{
	r->unacked++;
	r->off += len;
	if (r->opcode == MROCE_OP_READ_REQ && r->off != r->len)
		return;
	r->all_sent = true;
	r->slot_free = true;
	s->rd_in--;
	s->resp_head = (s->resp_head + 1) % s->n_rctx;
	s->resp_n--;
	if (s->exec_stalled)
		stream_run_order(s, now);
}

void resp_acked(struct mroce_stream *s, const struct mroce_slot *sl, u64 now)
{
	struct mroce_rctx *r = resp_of_slot(s, sl);

	s->bound = true;
	if (!r || !r->unacked)
		return;
	if (--r->unacked || !r->all_sent)
		return;
	rctx_free(s, r);
	if (s->exec_stalled)
		stream_run_order(s, now);
}

/* Nobody wants the answer: void what is out, forget the rest. */
void resp_discard(struct mroce_stream *s, struct mroce_rctx *r)
{
	struct mroce_conn *c = s->conn;
	struct mroce_slot *sl;
	u32 psn;
	u16 n;
	int i;

	for (i = 0; c && i < c->n_tx; i++) {
		struct mroce_path_tx *p = c->tx[i];

		for_each_out(p, psn) {
			sl = &p->slot[psn_idx(psn)];
			if (sl->s != s || !(sl->flags & MROCE_SLOT_RESP) ||
			    resp_of_slot(s, sl) != r)
				continue;
			sl->flags |= MROCE_SLOT_VOID;
			path_tx_mark_lost(c, p, psn);
		}
	}
	if (!r->slot_free) {
		/* Take it out of the queue of answers, order kept. */
		for (i = 0, n = 0; i < s->resp_n; i++) {
			u8 idx = s->resp_fifo[(s->resp_head + i) % s->n_rctx];

			if (idx == r - s->rctx)
				continue;
			s->resp_fifo[(s->resp_head + n) % s->n_rctx] = idx;
			n++;
		}
		s->resp_n = n;
		s->rd_in--;
	}
	rctx_free(s, r);
}

/* End all contexts; without @all those of a recorded error go on. */
void resp_close(struct mroce_stream *s, bool all)
{
	int i;

	if (!all && s->err_code)
		return;
	for (i = 0; i < s->n_rctx; i++)
		if (s->rctx[i].used)
			resp_discard(s, &s->rctx[i]);
}

/* ---- arrival at the requester ------------------------------------------------ */

static struct mroce_msg *resp_msg(struct mroce_stream *s, u32 msn, u32 cookie)
{
	struct mroce_msg *m = stream_msg(s, msn);

	if (!m || !op_is_fetch(m->opcode) || m->cookie != cookie ||
	    m->state == MROCE_M_QUEUED || m->state == MROCE_M_DONE)
		return NULL;
	return m;
}

static enum mroce_status status_of(u8 code)
{
	switch (code) {
	case MROCE_NAK_INV_REQ:
		return MROCE_ST_REM_INV_REQ;
	case MROCE_NAK_ACCESS:
		return MROCE_ST_REM_ACCESS;
	}
	return MROCE_ST_REM_OP;
}

static void resp_failed(struct mroce_stream *s, const struct mroce_pkt *pkt,
			u64 now)
{
	enum mroce_status st = status_of(pkt->data.code);
	u32 msn = pkt->data.msn;
	struct mroce_msg *m;

	/* A request is named by its cookie too, what carried data by 0. */
	m = stream_msg(s, msn);
	if (m && (m->state == MROCE_M_QUEUED || m->cookie != pkt->data.cookie))
		return;
	if (m) {
		stream_drain(s, msn, st);
		stream_complete(s, now);
	} else if (s->msn_una - msn <= s->conn->msn_window &&
		   !pkt->data.cookie && msn != s->msn_una) {
		/* A small Write that was acknowledged, reported as done, and
		 * failed in its turn: the stream can only die.
		 */
		stream_fail_oldest(s, st, now);
	}
}

/* A response packet: steps 5 to 7 on the requester. */
enum stream_verdict resp_rx(struct mroce_conn *c, struct mroce_stream *s,
			    const struct mroce_pkt *pkt, struct mroce_claim *cl,
			    u64 now)
{
	struct mroce_msg *m;

	if (!stream_may_send(s)) {
		/* Discard the context, if a NAK may still be sent (M13). */
		if (!conn_nak_allowed(c, now))
			return VERDICT_DROP;
		conn_nak(c, pkt, MROCE_NAK_CLOSED, 0);
		return VERDICT_NAK;
	}
	if (pkt->opcode == MROCE_OP_RESP_ERR) {
		resp_failed(s, pkt, now);
		return VERDICT_VOID;
	}
	/* Of a request that has failed already: do not keep its path waiting. */
	if (s->tx_state == MROCE_TX_DRAIN &&
	    !mroce_seq_before(pkt->data.msn, s->drain_msn)) {
		cnt_inc(c, MROCE_CNT_RX_STALE);
		return VERDICT_VOID;
	}
	m = resp_msg(s, pkt->data.msn, pkt->data.cookie);
	if (!m) {
		cnt_inc(c, MROCE_CNT_RX_STALE);
		return VERDICT_VOID;
	}
	cl->kind = MROCE_CLAIM_RESP;
	cl->cookie = pkt->data.cookie;
	cl->swap_add = pkt->data.swap_add;

	if (pkt->opcode == MROCE_OP_ATOMIC_RESP) {
		if (m->opcode == MROCE_OP_READ_REQ)
			return VERDICT_VOID;
		m->open++;
		return VERDICT_CLAIM;
	}
	if (pkt->opcode != MROCE_OP_READ_RESP || m->opcode != MROCE_OP_READ_REQ)
		return VERDICT_VOID;
	cl->off = pkt->data.offset;
	cl->len = pkt->payload_len;
	cl->mlen = m->len;
	if (cl->off > m->len || cl->len > m->len - cl->off ||
	    cl->len > m->len - m->resp_bytes ||
	    (cl->off + cl->len == m->len) != !!(pkt->flags & MROCE_F_LAST)) {
		stream_drain(s, m->msn, MROCE_ST_REM_OP);
		stream_complete(s, now);
		return VERDICT_VOID;
	}
	if (cl->len && s->ops->check_resp(s, m, cl)) {
		stream_drain(s, m->msn, MROCE_ST_LOC_PROT);
		stream_complete(s, now);
		return VERDICT_VOID;
	}
	m->open++;
	return VERDICT_CLAIM;
}

/* A claim of an answer ends, however. The stream's life and incarnation are those that
 * it began in.
 */
void resp_rx_end(struct mroce_stream *s, const struct mroce_claim *cl)
{
	struct mroce_msg *m = stream_msg(s, cl->msn);

	if (m && m->open)
		m->open--;
}

/* The requests before may have been waiting for the last copy of this answer. */
void resp_rx_settled(struct mroce_stream *s, const struct mroce_claim *cl,
		     u64 now)
{
	struct mroce_msg *m = stream_msg(s, cl->msn);

	if (m && m->state == MROCE_M_DONE && !m->open)
		stream_complete(s, now);
}

/* An answer could not be placed. True: its memory does not come any more, the
 * request has failed.
 */
bool resp_unplaced(struct mroce_stream *s, const struct mroce_claim *cl,
		   u64 now)
{
	struct mroce_msg *m = resp_msg(s, cl->msn, cl->cookie);

	if (!m || !absent_for(&m->absent, conn_ts(s->conn, now),
			      MROCE_ABSENT_NS))
		return false;
	stream_drain(s, m->msn, MROCE_ST_LOC_PROT);
	stream_complete(s, now);
	return true;
}

void resp_rx_finish(struct mroce_stream *s, struct mroce_claim *cl, u64 now)
{
	struct mroce_msg *m = resp_msg(s, cl->msn, cl->cookie);

	if (!m || !stream_may_send(s))
		return;
	absent_end(&m->absent);
	stream_progress(s, now);
	if (cl->opcode == MROCE_OP_ATOMIC_RESP) {
		if (s->ops->atomic_done(s, m, cl->swap_add)) {
			stream_drain(s, m->msn, MROCE_ST_LOC_PROT);
			stream_complete(s, now);
			return;
		}
		m->resp_bytes = m->len;
	} else if (cl->len <= m->len - m->resp_bytes) {
		m->resp_bytes += cl->len;
	} else {
		/* Two of one batch claimed the same bytes. */
		stream_drain(s, m->msn, MROCE_ST_REM_OP);
		stream_complete(s, now);
		return;
	}
	if (m->resp_bytes != m->len)
		return;
	if (m->state == MROCE_M_REFUSED)
		s->n_refused--;		/* the answer was on its way */
	m->state = MROCE_M_DONE;
	if (s->probe == m)
		s->probe = NULL;
	if (s->rd_out)
		s->rd_out--;
}
