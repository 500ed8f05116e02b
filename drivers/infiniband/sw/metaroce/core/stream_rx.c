// SPDX-License-Identifier: GPL-2.0
/*
 * A stream, responder's side: placing out of order, completing in order.
 *
 * Every packet is judged on its own and placed where it belongs; a record per
 * unfinished message counts the bytes. When the message at the head of the
 * order is full it takes effect: a receive completes, a Read starts, an atomic
 * executes, a kept small Write is stored (rules 12, 13, 17, 19, 22, 23).
 *
 * state:  NOT_READY -> OPEN -> ERR_PENDING(k, code) -> ERR
 *
 * ERR_PENDING: message k is bad; earlier ones still go on, k and later ones are
 * refused with k's code. ERR without a recorded code answers CLOSED.
 */
#include "internal.h"

static struct mroce_rmsg **chunk_of(struct mroce_stream *s, u32 msn)
{
	return &s->chunk[msn / MROCE_RMSG_CHUNK % MROCE_RMSG_CHUNKS];
}

/* The record of a message, or NULL if it has none. */
static struct mroce_rmsg *rmsg_find(struct mroce_stream *s, u32 msn)
{
	struct mroce_rmsg *e = *chunk_of(s, msn);

	if (!e)
		return NULL;
	e += msn % MROCE_RMSG_CHUNK;
	return e->state == MROCE_R_NONE ? NULL : e;
}

/* Its memory, allocated if need be; NULL: out of memory. */
static struct mroce_rmsg *rmsg_get(struct mroce_stream *s, u32 msn)
{
	struct mroce_rmsg **e = chunk_of(s, msn);
	struct mroce_conn *c = s->conn;

	if (!*e) {
		*e = c->spare;
		c->spare = NULL;
		if (!*e)
			*e = mroce_zalloc(MROCE_RMSG_CHUNK * sizeof(**e));
		if (!*e) {
			cnt_inc(c, MROCE_CNT_NOMEM);
			return NULL;
		}
		rest_arm(c, c->last_heard_ns);
	}
	return *e + msn % MROCE_RMSG_CHUNK;
}

/* The head moved past @msn: recycle its chunk after the last entry. */
static void rmsg_put(struct mroce_stream *s, u32 msn)
{
	struct mroce_rmsg **chunk = chunk_of(s, msn);
	struct mroce_rmsg *e = *chunk + msn % MROCE_RMSG_CHUNK;

	mroce_free(e->kept);
	memset(e, 0, sizeof(*e));
	if ((msn + 1) % MROCE_RMSG_CHUNK)
		return;
	if (s->conn && !s->conn->spare) {
		s->conn->spare = *chunk;
		rest_arm(s->conn, s->conn->last_heard_ns);
	} else {
		mroce_free(*chunk);
	}
	*chunk = NULL;
}

void stream_rx_reset(struct mroce_stream *s)
{
	int i, j;

	for (i = 0; i < MROCE_RMSG_CHUNKS; i++) {
		if (!s->chunk[i])
			continue;
		for (j = 0; j < MROCE_RMSG_CHUNK; j++)
			mroce_free(s->chunk[i][j].kept);
		mroce_free(s->chunk[i]);
		s->chunk[i] = NULL;
	}
}

/*
 * Nothing has come for a while: the chunk that the next messages would use is given
 * back, if none is on its way. False: one is.
 */
bool stream_rx_rest(struct mroce_stream *s)
{
	struct mroce_rmsg **chunk = chunk_of(s, s->msn_rcv);
	int i;

	if (s->rx_state == MROCE_RX_ERR) {
		stream_rx_reset(s);	/* none is looked at any more */
		return true;
	}
	for (i = 0; *chunk && i < MROCE_RMSG_CHUNK; i++)
		if ((*chunk)[i].state != MROCE_R_NONE)
			return false;
	mroce_free(*chunk);
	*chunk = NULL;
	return true;
}

static enum stream_verdict refuse(struct mroce_conn *c,
				  const struct mroce_pkt *pkt, u8 code)
{
	conn_nak(c, pkt, code, 0);
	return VERDICT_NAK;
}

static enum stream_verdict not_ready(struct mroce_conn *c,
				     const struct mroce_pkt *pkt, u8 code,
				     u64 now)
{
	if (!conn_nak_allowed(c, now))
		return VERDICT_DROP;
	return refuse(c, pkt, code);
}

/* All messages before the bad one are complete: the error takes effect. */
static void stream_rx_fail(struct mroce_stream *s)
{
	s->rx_state = MROCE_RX_ERR;
	s->ops->rx_fatal(s, s->err_code);
}

/* Message @msn is bad: remember the lowest such and its code (rule 19). */
static void stream_rx_bad(struct mroce_stream *s, u32 msn, u8 code)
{
	if (s->rx_state == MROCE_RX_OPEN ||
	    (s->rx_state == MROCE_RX_ERR_PENDING &&
	     mroce_seq_before(msn, s->err_msn))) {
		s->rx_state = MROCE_RX_ERR_PENDING;
		s->err_msn = msn;
		s->err_code = code;
	}
}

static enum stream_verdict stream_bad(struct mroce_conn *c,
				      struct mroce_stream *s,
				      const struct mroce_pkt *pkt, u8 code)
{
	stream_rx_bad(s, pkt->data.msn, code);
	conn_nak(c, pkt, s->err_code, 0);
	if (s->msn_rcv == s->err_msn && s->rx_state == MROCE_RX_ERR_PENDING)
		stream_rx_fail(s);
	return VERDICT_NAK;
}

/*
 * Bind receives in RSN order up to @rsn: every holder is then a prefix of its
 * stream and can always finish (rule 17). 0, -EAGAIN or a nak code.
 */
static int stream_bind(struct mroce_stream *s, u32 rsn)
{
	int err;

	while (!mroce_seq_after(s->rsn_bound, rsn)) {
		err = s->ops->bind(s, s->rsn_bound);
		if (err)
			return err;
		s->rsn_bound++;
	}
	return 0;
}

/* RSN against the window: rule 12. */
static bool rsn_valid(const struct mroce_conn *c, const struct mroce_stream *s,
		      const struct mroce_pkt *pkt)
{
	u32 ahead = pkt->data.rsn - s->rsn_rcv;

	return ahead < c->rsn_window && ahead <= pkt->data.msn - s->msn_rcv;
}

static bool pkt_has_rsn(const struct mroce_pkt *pkt)
{
	return (op_is_consuming(pkt->opcode) &&
		pkt->opcode != MROCE_OP_WRITE_IMM) ||
	       (pkt->opcode == MROCE_OP_WRITE_IMM &&
		pkt->flags & MROCE_F_LAST);
}

/* Nothing of this attempt is placed yet. */
static void rmsg_begin(struct mroce_rmsg *e, u8 attempt)
{
	e->attempt = attempt;
	e->count = 0;
	e->last_placed = false;
	e->refused = false;
	mroce_free(e->kept);
	e->kept = NULL;
	absent_end(&e->absent);
}

/* Does the packet agree with the others of its message (rule 4)? */
static bool rmsg_agrees(const struct mroce_rmsg *e, const struct mroce_pkt *pkt)
{
	if (e->opcode != pkt->opcode)
		return false;
	if (op_has_data(pkt->opcode) && e->len != pkt->data.len)
		return false;
	if (pkt_has_rsn(pkt) && pkt->opcode != MROCE_OP_WRITE_IMM &&
	    e->rsn != pkt->data.rsn)
		return false;
	return pkt->payload_len <= e->len - e->count;
}

/* The verdict of check_write() or check_recv(). */
static enum stream_verdict checked(struct mroce_conn *c, struct mroce_stream *s,
				   const struct mroce_pkt *pkt,
				   struct mroce_claim *cl, int err)
{
	if (err == -EACCES)
		cl->kind = MROCE_CLAIM_VOID;
	else if (err)
		return stream_bad(c, s, pkt, err);
	return VERDICT_CLAIM;
}

/* Step 7 for the opcodes that place bytes. */
static enum stream_verdict rx_data(struct mroce_conn *c, struct mroce_stream *s,
				   struct mroce_rmsg *e,
				   const struct mroce_pkt *pkt,
				   struct mroce_claim *cl)
{
	bool write = pkt->opcode == MROCE_OP_WRITE ||
		     pkt->opcode == MROCE_OP_WRITE_IMM;
	int err;

	cl->msn = pkt->data.msn;
	cl->len = pkt->payload_len;
	cl->mlen = pkt->data.len;
	cl->off = pkt->data.offset;
	cl->va = pkt->data.va;
	cl->rkey = pkt->data.rkey;
	cl->rsn = pkt->data.rsn;
	cl->imm = pkt->data.imm;

	if (pkt_has_rsn(pkt)) {
		if (!rsn_valid(c, s, pkt)) {
			cnt_inc(c, MROCE_CNT_RX_MSN);
			return VERDICT_DROP;
		}
		err = stream_bind(s, pkt->data.rsn);
		if (err == -EAGAIN) {
			cnt_inc(c, MROCE_CNT_RNR_SENT);
			conn_nak(c, pkt, MROCE_NAK_RNR, s->a.min_rnr_timer);
			return VERDICT_NAK;
		}
		if (err)
			return stream_bad(c, s, pkt, err > 0 ? err :
							 MROCE_NAK_OP_ERR);
	}

	if (!write) {
		cl->kind = MROCE_CLAIM_RECV;
		return checked(c, s, pkt, cl, s->ops->check_recv(s, cl));
	}
	if (!cl->len) {
		cl->kind = MROCE_CLAIM_REQ;
		return VERDICT_CLAIM;
	}
	cl->kind = MROCE_CLAIM_WRITE;
	err = s->ops->check_write(s, cl);
	if (err)
		return checked(c, s, pkt, cl, err);
	/* Small Writes are ordered (rule 23): programs poll flags. */
	if (cl->mlen <= MROCE_ORDERED_WRITE && cl->len == cl->mlen &&
	    pkt->data.msn != s->msn_rcv) {
		cl->kept = mroce_zalloc(MROCE_ORDERED_WRITE);
		if (!cl->kept) {
			s->ops->unclaim(s, cl);
			cnt_inc(c, MROCE_CNT_NOMEM);
			return VERDICT_DROP;
		}
		cl->kind = MROCE_CLAIM_KEEP;
	}
	return VERDICT_CLAIM;
}

/* Steps 5 to 7 of the receive order, up to the claim. */
enum stream_verdict stream_rx(struct mroce_conn *c, const struct mroce_pkt *pkt,
			      struct mroce_claim *cl, u64 now)
{
	struct mroce_stream *s = c->ops->find(c, pkt->data.dqpn);
	enum stream_verdict v;
	struct mroce_rmsg *e;
	bool fresh = false;
	u32 ahead;

	if (!s || s->conn != c || s->a.dqpn != pkt->data.sqpn ||
	    s->rx_state == MROCE_RX_NOT_READY)
		return op_is_response(pkt->opcode) ?
		       not_ready(c, pkt, MROCE_NAK_CLOSED, now) :
		       not_ready(c, pkt, MROCE_NAK_NOT_READY, now);
	cl->s = s;
	if (op_is_response(pkt->opcode))
		return resp_rx(c, s, pkt, cl, now);

	if (s->rx_state == MROCE_RX_ERR && !s->err_code)
		return not_ready(c, pkt, MROCE_NAK_CLOSED, now);
	if (s->rx_state != MROCE_RX_OPEN &&
	    !mroce_seq_before(pkt->data.msn, s->err_msn))
		return refuse(c, pkt, s->err_code);

	ahead = pkt->data.msn - s->msn_rcv;
	if ((s32)ahead < 0) {
		/* Complete already; a repeated request may still be in work. */
		cnt_inc(c, MROCE_CNT_RX_STALE);
		if (op_is_fetch(pkt->opcode) &&
		    resp_pending(s, pkt->data.msn))
			return refuse(c, pkt, MROCE_NAK_PENDING);
		return VERDICT_VOID;
	}
	/* The QP was moved to ERR before the recorded error took effect. */
	if (s->rx_state == MROCE_RX_ERR)
		return not_ready(c, pkt, MROCE_NAK_CLOSED, now);
	if (ahead >= c->msn_window) {
		cnt_inc(c, MROCE_CNT_RX_MSN);
		return VERDICT_DROP;
	}
	e = rmsg_get(s, pkt->data.msn);
	if (!e)
		return not_ready(c, pkt, MROCE_NAK_NOT_READY, now);

	if (e->state == MROCE_R_FULL) {
		cnt_inc(c, MROCE_CNT_RX_STALE);
		if (op_is_fetch(pkt->opcode))
			return refuse(c, pkt, MROCE_NAK_PENDING);
		return VERDICT_VOID;
	}
	if (e->state == MROCE_R_NONE) {
		fresh = true;
		e->opcode = pkt->opcode;
		e->len = pkt->data.len;
		e->rsn = pkt->data.rsn;
		rmsg_begin(e, pkt->data.attempt);
	} else if (e->attempt != pkt->data.attempt) {
		if ((s8)(pkt->data.attempt - e->attempt) < 0) {
			cnt_inc(c, MROCE_CNT_RX_STALE);
			return VERDICT_VOID;
		}
		rmsg_begin(e, pkt->data.attempt);
	}
	if (!fresh && !rmsg_agrees(e, pkt))
		return stream_bad(c, s, pkt, MROCE_NAK_INV_REQ);
	if (pkt->flags & MROCE_F_LAST && e->last_placed) {
		cnt_inc(c, MROCE_CNT_RX_STALE);
		return VERDICT_VOID;
	}

	if (op_has_data(pkt->opcode)) {
		v = rx_data(c, s, e, pkt, cl);
	} else if (op_is_fetch(pkt->opcode)) {
		cl->kind = MROCE_CLAIM_REQ;
		cl->mlen = pkt->data.len;
		cl->va = pkt->data.va;
		cl->rkey = pkt->data.rkey;
		cl->cookie = pkt->data.cookie;
		cl->swap_add = pkt->data.swap_add;
		cl->compare = pkt->data.compare;
		v = VERDICT_CLAIM;
	} else {
		v = stream_bad(c, s, pkt, MROCE_NAK_INV_REQ);
	}
	if (v == VERDICT_CLAIM) {
		e->open++;
		if (fresh)
			e->state = MROCE_R_PARTIAL;
	}
	if (v == VERDICT_CLAIM && !s->established) {
		s->established = true;
		s->ops->established(s);
	}
	return v;
}

/* Would the claim's packet still be accepted? */
bool stream_rx_wanted(const struct mroce_stream *s,
		      const struct mroce_claim *cl)
{
	if (cl->kind == MROCE_CLAIM_RESP)
		return stream_may_send(s);
	return s->rx_state == MROCE_RX_OPEN ||
	       s->rx_state == MROCE_RX_ERR_PENDING;
}

/* A claim of a message ends, however. The stream's life and incarnation are those
 * that it began in.
 */
void stream_rx_end(struct mroce_stream *s, const struct mroce_claim *cl)
{
	struct mroce_rmsg *e = rmsg_find(s, cl->msn);

	if (e && e->open)
		e->open--;
}

/* A packet of a message could not be placed. True: refuse the message. */
bool stream_rx_unplaced(struct mroce_stream *s, const struct mroce_claim *cl,
			u64 now)
{
	struct mroce_rmsg *e = rmsg_find(s, cl->msn);

	return e && e->attempt == cl->attempt &&
	       absent_for(&e->absent, conn_ts(s->conn, now),
			  MROCE_UNPLACED_NS);
}

/* Step 10: the payload is in its place. */
void stream_rx_finish(struct mroce_stream *s, struct mroce_claim *cl)
{
	struct mroce_rmsg *e = rmsg_find(s, cl->msn);

	if (!e || e->state == MROCE_R_FULL || e->attempt != cl->attempt)
		return;

	/* Two of one batch may claim the same bytes: the sender is broken. */
	if (cl->len > e->len - e->count) {
		stream_rx_bad(s, cl->msn, MROCE_NAK_INV_REQ);
		return;
	}
	absent_end(&e->absent);
	e->count += cl->len;
	if (cl->kind == MROCE_CLAIM_VOID)
		e->refused = true;
	if (cl->kind == MROCE_CLAIM_KEEP) {
		e->kept = cl->kept;
		cl->kept = NULL;
		e->va = cl->va;
		e->rkey = cl->rkey;
	}
	if (op_is_fetch(cl->opcode)) {
		e->len = cl->mlen;
		e->va = cl->va;
		e->rkey = cl->rkey;
		e->cookie = cl->cookie;
		e->swap_add = cl->swap_add;
		e->compare = cl->compare;
		e->last_placed = true;
		e->state = MROCE_R_FULL;
	} else if (cl->flags & MROCE_F_LAST) {
		e->last_placed = true;
		e->solicited = cl->flags & MROCE_F_SOLICITED;
		e->imm = cl->imm;
		e->rsn = cl->rsn;
	}
	if (e->last_placed && e->count == e->len)
		e->state = MROCE_R_FULL;
}

/* The effect of a full message in its turn. 0, -EAGAIN: wait for a response
 * slot or for memory, or a nak code that kills the stream.
 */
static int rmsg_execute(struct mroce_stream *s, struct mroce_rmsg *e)
{
	struct mroce_recv r;
	int err;

	switch (e->opcode) {
	case MROCE_OP_WRITE:
		err = e->kept ? s->ops->store(s, e->va, e->rkey, e->kept,
					      e->len) : 0;
		return err == -EACCES ? 0 : err;
	case MROCE_OP_READ_REQ:
	case MROCE_OP_CMP_SWAP:
	case MROCE_OP_FETCH_ADD:
		return resp_start(s, e, s->msn_rcv) ? 0 : -EAGAIN;
	}
	if (e->rsn != s->rsn_rcv)
		return MROCE_NAK_INV_REQ;
	if (e->kept) {
		err = s->ops->store(s, e->va, e->rkey, e->kept, e->len);
		if (err == -EACCES)
			e->refused = true;
		else if (err)
			return err;
	}
	r.rsn = e->rsn;
	r.opcode = e->opcode;
	r.solicited = e->solicited;
	r.refused = e->refused;
	r.len = e->len;
	r.imm = e->imm;
	s->rsn_rcv++;
	return s->ops->recv_done(s, &r);
}

/* Let full messages at the head of the order take effect. */
void stream_run_order(struct mroce_stream *s, u64 now)
{
	struct mroce_rmsg *e;
	int err;

	if (s->running_order)
		return;		/* an upcall led back here */
	s->running_order = true;
	s->exec_stalled = false;
	while (s->conn && (s->rx_state == MROCE_RX_OPEN ||
			   s->rx_state == MROCE_RX_ERR_PENDING)) {
		if (s->rx_state == MROCE_RX_ERR_PENDING &&
		    s->msn_rcv == s->err_msn) {
			stream_rx_fail(s);
			break;
		}
		e = rmsg_find(s, s->msn_rcv);
		/* A copy that is under way must not outlive the completion:
		 * the memory is its owner's again then.
		 */
		if (!e || e->state != MROCE_R_FULL || e->open)
			break;
		err = rmsg_execute(s, e);
		if (err == -EAGAIN) {
			s->exec_stalled = true;
			break;
		}
		if (err) {
			/* Acknowledged already: only a reliable RESP_ERR can
			 * tell the requester (rule 20).
			 */
			s->err_msn = s->msn_rcv;
			s->err_code = err;
			resp_error(s, s->msn_rcv, e->cookie, err);
			stream_rx_fail(s);
			break;
		}
		rmsg_put(s, s->msn_rcv);
		s->msn_rcv++;
	}
	s->running_order = false;
}

void mroce_stream_resume(struct mroce_stream *s, u64 now)
{
	if (s->conn && s->exec_stalled)
		stream_run_order(s, now);
}

/* No more receiving; @all: forget read contexts as well. */
void stream_rx_close(struct mroce_stream *s, bool all)
{
	s->rx_state = MROCE_RX_ERR;
	resp_close(s, all);
}
