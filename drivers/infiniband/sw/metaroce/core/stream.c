// SPDX-License-Identifier: GPL-2.0
/*
 * A stream's life: attach to a connection, start, pause, fail, detach.
 */
#include "internal.h"

int mroce_stream_init(struct mroce_stream *s, const struct mroce_stream_ops *ops,
		      u32 ring_size)
{
	if (!is_power_of_2(ring_size))
		return -EINVAL;
	s->ops = ops;
	s->ring_mask = ring_size - 1;
	s->ring = mroce_zalloc_big(ring_size * sizeof(*s->ring));
	s->chunk = mroce_zalloc(MROCE_RMSG_CHUNKS * sizeof(*s->chunk));
	if (!s->ring || !s->chunk) {
		mroce_stream_fini(s);
		return -ENOMEM;
	}
	s->retry_at = MROCE_NEVER;
	INIT_LIST_HEAD(&s->node);
	INIT_LIST_HEAD(&s->ready);
	INIT_LIST_HEAD(&s->resp_ready);
	INIT_LIST_HEAD(&s->timed);
	return 0;
}

void mroce_stream_fini(struct mroce_stream *s)
{
	WARN_ON_ONCE(s->conn || s->left || s->claims);
	if (s->chunk)
		stream_rx_reset(s);
	mroce_free(s->chunk);
	mroce_free(s->rctx);
	mroce_free(s->resp_fifo);
	mroce_free_big(s->ring);
	s->chunk = NULL;
	s->rctx = NULL;
	s->resp_fifo = NULL;
	s->ring = NULL;
}

/*
 * PSNs of this QPN's former life that are not acknowledged (rule 25).
 * @silent: they are on paths that have not been answered for long.
 */
static u32 quarantine(const struct mroce_conn *c, u32 qpn, bool *silent)
{
	u32 n = 0, psn;
	int i;

	*silent = true;

	for (i = 0; i < c->n_tx; i++) {
		const struct mroce_path_tx *p = c->tx[i];

		for_each_out(p, psn) {
			const struct mroce_slot *sl = &p->slot[psn_idx(psn)];

			if (sl->s || sl->qpn != qpn)
				continue;
			n++;
			if (p->backoff < MROCE_SILENT_RTOS)
				*silent = false;
		}
	}
	return n;
}

int mroce_stream_attach(struct mroce_stream *s, struct mroce_conn *c,
			const struct mroce_stream_attr *a, u64 now)
{
	u16 n = max_t(u16, 2 * a->max_dest_rd_atomic, 1);
	bool silent;

	if (c->state == MROCE_CONN_DEAD)
		return -EAGAIN;
	/* A slot names a context by eight bits; 128 is what verbs promises. */
	if (n > U8_MAX + 1)
		return -EINVAL;
	n = min_t(u16, n + 1, U8_MAX + 1);
	if (s->n_rctx < n) {
		struct mroce_rctx *rctx = mroce_zalloc(n * sizeof(*rctx));
		u8 *fifo = mroce_zalloc(n);

		if (!rctx || !fifo) {
			mroce_free(rctx);
			mroce_free(fifo);
			return -ENOMEM;
		}
		mroce_free(s->rctx);
		mroce_free(s->resp_fifo);
		s->rctx = rctx;
		s->resp_fifo = fifo;
		s->n_rctx = n;
	}
	stream_rx_reset(s);
	s->life++;
	s->a = *a;
	s->retry_at = MROCE_NEVER;
	s->bound = false;
	s->established = false;
	s->paused = false;
	s->deficit = 0;
	s->tx_state = MROCE_TX_IDLE;
	s->held = false;
	s->rd_out = 0;
	s->n_refused = 0;
	s->rnr_limit = 0;
	s->n_consuming = 0;
	s->cur = NULL;
	s->probe = NULL;
	s->rsn_nxt = 0;
	s->rsn_una = 0;
	s->msn_una = a->sq_psn;
	s->msn_snd = a->sq_psn;
	s->msn_nxt = a->sq_psn;
	s->err_code = 0;
	s->msn_rcv = a->rq_psn;
	s->rsn_rcv = 0;
	s->rsn_bound = 0;
	s->rd_in = 0;
	s->exec_stalled = false;
	s->resp_head = 0;
	s->resp_n = 0;
	mroce_stream_left(s);
	s->quarantine = quarantine(c, a->qpn, &silent);
	s->conn = c;
	s->rx_state = MROCE_RX_OPEN;
	list_add_tail(&s->node, &c->streams);
	c->n_streams++;
	c->gc_at = MROCE_NEVER;
	c->want_close = false;
	if (c->state == MROCE_CONN_INIT)
		conn_want_init(c, now);
	return 0;
}

void mroce_stream_update(struct mroce_stream *s,
			 const struct mroce_stream_attr *a)
{
	s->a.timeout = a->timeout;
	s->a.retry_cnt = a->retry_cnt;
	s->a.rnr_retry = a->rnr_retry;
	s->a.min_rnr_timer = a->min_rnr_timer;
	s->a.max_rd_atomic = a->max_rd_atomic;
	/* max_dest_rd_atomic sized the contexts: fixed by attach. */
}

void mroce_stream_start(struct mroce_stream *s,
			const struct mroce_stream_attr *a, u64 now)
{
	mroce_stream_update(s, a);
	s->retries_left = a->retry_cnt;
	s->rnr_left = a->rnr_retry;
	if (s->tx_state != MROCE_TX_IDLE)
		return;
	s->a.sq_psn = a->sq_psn;
	s->msn_una = a->sq_psn;
	s->msn_snd = a->sq_psn;
	s->msn_nxt = a->sq_psn;
	s->tx_state = MROCE_TX_READY;
}

void mroce_stream_pause(struct mroce_stream *s, bool pause, u64 now)
{
	s->paused = pause;
	if (!pause && s->conn) {
		stream_arm(s, now);
		stream_ready(s);
	}
}

/* Take the stream's transmissions out of its hands: they become void, and
 * nothing that is outstanding points at it.
 */
static void slots_detach(struct mroce_conn *c, struct mroce_stream *s,
			 bool keep_resp)
{
	struct mroce_slot *sl;
	u32 psn;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		struct mroce_path_tx *p = c->tx[i];

		for_each_out(p, psn) {
			sl = &p->slot[psn_idx(psn)];
			if (sl->s != s)
				continue;
			if (keep_resp && sl->flags & MROCE_SLOT_RESP)
				continue;
			sl->flags |= MROCE_SLOT_VOID;
			sl->s = NULL;
		}
	}
}

void mroce_stream_error(struct mroce_stream *s, u64 now)
{
	struct mroce_conn *c = s->conn;
	bool all = !s->err_code;

	if (!c)
		return;
	s->tx_state = MROCE_TX_ERR;
	s->msn_una = s->msn_nxt;
	s->msn_snd = s->msn_nxt;
	s->cur = NULL;
	s->probe = NULL;
	s->held = false;
	s->n_refused = 0;
	s->rd_out = 0;
	s->retry_at = MROCE_NEVER;
	list_del_init(&s->ready);
	list_del_init(&s->timed);
	stream_rx_close(s, all);
	if (all)
		list_del_init(&s->resp_ready);
	slots_detach(c, s, !all);
}

void mroce_stream_detach(struct mroce_stream *s, u64 now)
{
	struct mroce_conn *c = s->conn;
	bool silent;

	if (!c)
		return;
	mroce_stream_error(s, now);
	resp_close(s, true);
	slots_detach(c, s, false);
	list_del_init(&s->resp_ready);
	list_del_init(&s->node);
	s->rx_state = MROCE_RX_NOT_READY;
	s->tx_state = MROCE_TX_IDLE;
	s->conn = NULL;
	s->quarantine = quarantine(c, s->a.qpn, &silent);
	if (s->quarantine && !silent) {
		s->left = c;
		list_add_tail(&s->node, &c->leaving);
	}
	stream_rx_reset(s);
	if (!--c->n_streams)
		c->gc_at = now + (c->state == MROCE_CONN_INIT ?
				  MROCE_GC_INIT_NS : MROCE_GC_NS);
}

void mroce_stream_left(struct mroce_stream *s)
{
	if (s->left)
		list_del_init(&s->node);
	s->left = NULL;
	s->quarantine = 0;
}

/* Nothing that it waits for after it was detached is under way any more. */
void stream_let_go(struct mroce_stream *s)
{
	mroce_stream_left(s);
	if (!s->claims)
		s->ops->idle(s);
}

/* The connection died before anything of the stream was accepted: all of it
 * starts anew on the next incarnation (rule 41).
 */
void stream_unbind(struct mroce_stream *s)
{
	u32 msn;

	for (msn = s->msn_una; msn != s->msn_snd; msn++) {
		struct mroce_msg *m = stream_msg(s, msn);

		m->state = MROCE_M_QUEUED;
		m->attempt = 0;
		m->off = 0;
		m->resume_off = 0;
		m->resp_bytes = 0;
		m->unacked = 0;
		m->voided = 0;
		m->open = 0;
		m->probing = false;
		m->retry_request = false;
	}
	s->msn_snd = s->msn_una;
	s->cur = NULL;
	s->probe = NULL;
	s->held = false;
	s->n_refused = 0;
	s->n_consuming = 0;
	s->rnr_limit = 0;
	s->rd_out = 0;
	/* The peer's attempts start from zero again: to the records of higher
	 * ones they would be stale, and be acknowledged as void.
	 */
	stream_rx_reset(s);
}
