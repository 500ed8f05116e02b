// SPDX-License-Identifier: GPL-2.0
/*
 * A path, receiver's side: which PSNs are placed, and what is owed to the
 * sender.
 *
 *   absent --claim--> placing --finish--> placed
 *      ^                 |
 *      '---copy failed---'
 *
 * A duplicate of a placed PSN is acknowledged and goes no further, so it can
 * never cause a NAK; a duplicate of one that is being placed is dropped
 * without an answer (rules 7, 8). The order of the checks below is the order
 * of the specification; much safety hangs on it.
 */
#include "internal.h"

static struct mroce_path_rx *path_rx_get(struct mroce_conn *c, u8 id)
{
	struct mroce_path_rx *r = mroce_path_rx_of(c, id);

	if (r)
		return r;
	r = rest_rx_room(c, id) ? mroce_zalloc(sizeof(*r)) : NULL;
	if (!r) {
		cnt_inc(c, MROCE_CNT_NOMEM);
		return NULL;
	}
	r->id = id;
	r->cum = c->psn0 - 1;
	c->rx[id] = r;
	return r;
}

static void path_rx_touch(struct mroce_conn *c, struct mroce_path_rx *r)
{
	if (!__test_and_set_bit(r->id, c->touched))
		c->n_touched++;
}

static bool path_rx_placed(const struct mroce_path_rx *r, u32 psn)
{
	s32 d = mroce_seq_diff(psn, r->cum);

	return d <= 0 || (d <= MROCE_PATH_WINDOW &&
			  test_bit(psn_idx(psn), r->placed));
}

/* The PSN is dealt with for good: as data or as void. */
static void path_rx_place(struct mroce_conn *c, struct mroce_path_rx *r,
			  u32 psn)
{
	if (psn != r->cum + 1)
		cnt_inc(c, MROCE_CNT_RX_OOO);
	__set_bit(psn_idx(psn), r->placed);
	while (__test_and_clear_bit(psn_idx(r->cum + 1), r->placed))
		r->cum++;
	path_rx_touch(c, r);
}

/* NOP: voids its PSN and those of its vector (rule 5). */
static void path_rx_nop(struct mroce_conn *c, struct mroce_path_rx *r,
			const struct mroce_pkt *pkt)
{
	u32 psn = pkt->psn, cum = r->cum, i;

	cnt_inc(c, MROCE_CNT_RX_NOP);
	path_rx_place(c, r, psn);
	if (!pkt->data.has_vec)
		return;
	for (i = 0; i < MROCE_VEC_BITS; i++) {
		u32 v = psn + 1 + i;

		if (!(pkt->data.vec[i / 64] >> (i % 64) & 1))
			continue;
		/* Out of the window that stood when the NOP came: ignore. */
		if (mroce_seq_diff(v, cum) > MROCE_PATH_WINDOW)
			break;
		if (path_rx_placed(r, v) || test_bit(psn_idx(v), r->placing))
			continue;
		path_rx_place(c, r, v);
	}
}

/* Steps 3 and 4 of the receive order; the stream does 5 to 7. */
enum mroce_rx path_rx_data(struct mroce_conn *c, const struct mroce_pkt *pkt,
			   const struct mroce_rx_meta *m,
			   struct mroce_claim *cl, u64 now)
{
	struct mroce_path_rx *r;
	bool dup;
	s32 d;

	if (pkt->path >= MROCE_MAX_PATHS) {
		cnt_inc(c, MROCE_CNT_RX_WINDOW);
		return MROCE_RX_DROP;
	}
	r = path_rx_get(c, pkt->path);
	if (!r)
		return MROCE_RX_DROP;

	if (r->has_newest && elapsed(now, r->newest_ns) > 60 * SEC)
		r->has_newest = false;
	if (r->has_newest &&
	    mroce_seq_diff(r->newest_ts, pkt->ts) > (s32)MROCE_TS_OLD) {
		cnt_inc(c, MROCE_CNT_RX_OLD);
		return MROCE_RX_DROP;
	}
	d = mroce_seq_diff(pkt->psn, r->cum);
	dup = path_rx_placed(r, pkt->psn);
	if (d > MROCE_PATH_WINDOW) {
		cnt_inc(c, MROCE_CNT_RX_WINDOW);
		return MROCE_RX_DROP;
	}
	/* Too far back to be outstanding at its sender: no duplicate that wants
	 * an answer. It shall not say where the path is.
	 */
	if (d <= -MROCE_PATH_WINDOW) {
		cnt_inc(c, MROCE_CNT_RX_OLD);
		return MROCE_RX_DROP;
	}
	if (!dup && test_bit(psn_idx(pkt->psn), r->placing)) {
		cnt_inc(c, MROCE_CNT_RX_PLACING);
		return MROCE_RX_DROP;
	}

	r->n_recv++;
	if (m->ce) {
		r->n_ce++;
		cnt_inc(c, MROCE_CNT_RX_CE);
	}
	c->last_heard_ns = now;
	if (!r->has_newest || mroce_seq_after(pkt->ts, r->newest_ts)) {
		r->has_newest = true;
		r->newest_ts = pkt->ts;
		r->newest_ns = now;
		r->epoch = pkt->epoch;
		r->sport = m->sport;
		r->plane = m->plane;
	} else if (pkt->epoch == r->epoch &&
		   mroce_seq_before(pkt->ts, r->newest_ts)) {
		cnt_inc(c, MROCE_CNT_RX_REORDER);
	}
	if (dup) {
		path_rx_touch(c, r);
		r->n_dup++;
		cnt_inc(c, MROCE_CNT_RX_DUP);
		return MROCE_RX_DONE;
	}
	cnt_inc(c, MROCE_CNT_RX_DATA);
	if (pkt->opcode == MROCE_OP_NOP) {
		path_rx_touch(c, r);
		path_rx_nop(c, r, pkt);
		return MROCE_RX_DONE;
	}
	share_rx(c, pkt, now);

	memset(cl, 0, sizeof(*cl));
	switch (stream_rx(c, pkt, cl, now)) {
	case VERDICT_CLAIM:
		break;
	case VERDICT_VOID:
		path_rx_touch(c, r);
		path_rx_place(c, r, pkt->psn);
		return MROCE_RX_DONE;
	case VERDICT_DROP:
		/* As if it had not come: an ACK would only say that it is
		 * missing, and bring it back before things are any better.
		 */
		return MROCE_RX_DROP;
	case VERDICT_NAK:
		path_rx_touch(c, r);
		return MROCE_RX_DONE;
	}

	__set_bit(psn_idx(pkt->psn), r->placing);
	r->n_placing++;
	cl->gen = c->gen;
	cl->life = cl->s->life;
	cl->path = pkt->path;
	cl->opcode = pkt->opcode;
	cl->attempt = pkt->data.attempt;
	cl->flags = pkt->flags;
	cl->psn = pkt->psn;
	cl->msn = pkt->data.msn;
	cl->s->claims++;
	return MROCE_RX_CLAIM;
}

int mroce_claim_place(struct mroce_claim *cl, mroce_copy_fn copy, void *src)
{
	switch (cl->kind) {
	case MROCE_CLAIM_KEEP:
		return copy(src, 0, cl->kept, cl->len);
	case MROCE_CLAIM_WRITE:
	case MROCE_CLAIM_RECV:
	case MROCE_CLAIM_RESP:
		return cl->len ? cl->s->ops->place(cl, copy, src) : 0;
	}
	return 0;
}

/* ---- answers ---------------------------------------------------------------- */

/* Stateless NAKs are limited; the others are bounded by what was sent. */
bool conn_nak_allowed(struct mroce_conn *c, u64 now)
{
	if (elapsed(now, c->nak_ns) >= MS) {
		c->nak_ns = now;
		c->nak_tokens = MROCE_NAK_PER_MS;
	}
	if (!c->nak_tokens)
		return false;
	c->nak_tokens--;
	return true;
}

/* Queue a NAK: one per message and batch; a lost one comes again when the
 * refused packet does.
 */
static void nak_add(struct mroce_conn *c, const struct mroce_nak *nak)
{
	struct mroce_nak *n;
	int i;

	if (!rest_nak_ring(c))
		return;
	for (i = 0; i < c->nak_n; i++) {
		n = &c->nak[(c->nak_head + i) % MROCE_NAK_RING];
		if (n->qpn == nak->qpn && n->msn == nak->msn &&
		    n->code == nak->code)
			return;
	}
	if (c->nak_n == MROCE_NAK_RING)
		return;
	c->nak[(c->nak_head + c->nak_n++) % MROCE_NAK_RING] = *nak;
}

void conn_nak(struct mroce_conn *c, const struct mroce_pkt *pkt, u8 code,
	      u8 timer)
{
	const struct mroce_nak nak = {
		.path = pkt->path,
		.psn = pkt->psn,
		.qpn = pkt->data.sqpn,
		.msn = pkt->data.msn,
		.attempt = pkt->data.attempt,
		.code = code,
		.timer = timer,
	};

	nak_add(c, &nak);
}

/* ---- the end of a claim -------------------------------------------------------- */

/*
 * A packet could not be placed: its memory is not there now. That is as if it had
 * not come, and it comes again. It must not go on so: a PSN that stays outstanding
 * holds up its path, and with it the other streams. So a message of which nothing
 * is placed for long is refused, like a Send without a receive. An answer cannot
 * be refused: if it cannot be placed for very long, its request fails, and the
 * PSN is void.
 */
static void not_placed(struct mroce_conn *c, struct mroce_path_rx *r,
		       const struct mroce_claim *cl, u64 now)
{
	struct mroce_stream *s = cl->s;
	u8 timer = s->a.min_rnr_timer;
	struct mroce_nak nak = {
		.path = cl->path,
		.psn = cl->psn,
		.qpn = s->a.dqpn,
		.msn = cl->msn,
		.attempt = cl->attempt,
		.code = MROCE_NAK_RNR,
		.timer = MROCE_UNPLACED_TIMER,
	};

	if (cl->kind == MROCE_CLAIM_RESP) {
		if (resp_unplaced(s, cl, now)) {
			path_rx_touch(c, r);
			path_rx_place(c, r, cl->psn);
		}
		return;
	}
	if (!stream_rx_unplaced(s, cl, now))
		return;
	/* a page takes longer than a receive */
	if (mroce_rnr_ns(timer) > mroce_rnr_ns(nak.timer))
		nak.timer = timer;
	cnt_inc(c, MROCE_CNT_RNR_SENT);
	nak_add(c, &nak);
}

/* One copy less goes on into the memory of the claim's message. */
static void claim_ended(struct mroce_stream *s, const struct mroce_claim *cl)
{
	if (cl->kind == MROCE_CLAIM_RESP)
		resp_rx_end(s, cl);
	else
		stream_rx_end(s, cl);
}

static void claim_placed(struct mroce_stream *s, struct mroce_claim *cl, u64 now)
{
	s->bound = true;
	if (cl->kind == MROCE_CLAIM_RESP)
		resp_rx_finish(s, cl, now);
	else
		stream_rx_finish(s, cl);
}

/* Its message may have waited for nothing else. */
static void claim_settled(struct mroce_stream *s, const struct mroce_claim *cl,
			  u64 now)
{
	if (cl->kind == MROCE_CLAIM_RESP)
		resp_rx_settled(s, cl, now);
	else if (cl->msn == s->msn_rcv)
		stream_run_order(s, now);
}

void mroce_conn_finish(struct mroce_conn *c, struct mroce_claim *cl, bool ok,
		       u64 now)
{
	struct mroce_stream *s = cl->s;
	bool alive = s->conn == c && s->life == cl->life;
	struct mroce_path_rx *r = NULL;

	if (cl->gen == c->gen)
		r = mroce_path_rx_of(c, cl->path);
	if (r) {
		__clear_bit(psn_idx(cl->psn), r->placing);
		r->n_placing--;
		/* If not, as if it had not come: see path_rx_data(). */
		if (ok)
			path_rx_touch(c, r);
		/* Acknowledged is placed: not so if its stream has ended or
		 * failed meanwhile. The next copy will be refused.
		 */
		if (alive)
			claim_ended(s, cl);
		alive = alive && stream_rx_wanted(s, cl);
		if (alive && ok) {
			cnt_add(c, MROCE_CNT_RX_BYTES, cl->len);
			path_rx_place(c, r, cl->psn);
			claim_placed(s, cl, now);
		} else if (alive) {
			not_placed(c, r, cl, now);
		}
		if (alive)
			claim_settled(s, cl, now);
	}
	mroce_free(cl->kept);
	cl->kept = NULL;
	s->ops->unclaim(s, cl);
	if (!--s->claims && !s->conn)
		s->ops->idle(s);
}

/* ---- sending answers ---------------------------------------------------------- */

static void txd_bare(struct mroce_txd *txd, const struct mroce_pkt *pkt,
		     const struct mroce_path_rx *r)
{
	txd->type = pkt->type;
	txd->path = pkt->path;
	txd->plane = r->plane;
	txd->sport = r->sport;
	txd->ect = false;
	txd->nfrags = 0;
	txd->frag_bytes = 0;
	txd->pad_bytes = 0;
	txd->hdr_len = mroce_wire_build(pkt, txd->lin, sizeof(txd->lin));
	txd->lin_len = txd->hdr_len;
	WARN_ON_ONCE(!txd->hdr_len);
}

static void tx_nak(struct mroce_conn *c, struct mroce_txd *txd, u64 now)
{
	struct mroce_nak *n = &c->nak[c->nak_head];
	struct mroce_pkt pkt = {
		.type = MROCE_T_NAK,
		.conn = c->peer_id,
		.path = n->path,
		.tag = c->tag,
		.psn = n->psn,
		.ts = conn_ts(c, now),
		.nak = {
			.qpn = n->qpn,
			.attempt = n->attempt,
			.msn = n->msn,
			.code = n->code,
			.timer = n->timer,
		},
	};

	c->nak_head = (c->nak_head + 1) % MROCE_NAK_RING;
	c->nak_n--;
	txd_bare(txd, &pkt, c->rx[n->path]);
	cnt_inc(c, MROCE_CNT_TX_NAK);
}

static void tx_ack(struct mroce_conn *c, struct mroce_path_rx *r,
		   struct mroce_txd *txd, u64 now)
{
	u64 hold = elapsed(now, r->newest_ns) >> MROCE_TS_SHIFT;
	struct mroce_pkt pkt = {
		.type = MROCE_T_ACK,
		.opcode = MROCE_ACK_SHORT,
		.conn = c->peer_id,
		.path = r->id,
		.epoch = r->epoch,
		.tag = c->tag,
		.psn = r->cum,
		.ts = conn_ts(c, now),
		.ack = {
			.echo_ts = r->newest_ts,
			.hold = (u32)min_t(u64, hold, U32_MAX),
			.n_recv = r->n_recv,
			.n_ce = r->n_ce,
			.n_dup = r->n_dup,
			.hint_kbps = share_hint_kbps(c, r->plane, now),
		},
	};
	u32 bit, off;

	for_each_set_bit(bit, r->placed, MROCE_PATH_WINDOW) {
		off = psn_idx(bit - (r->cum + 1));
		pkt.ack.vec[off / 64] |= 1ULL << (off % 64);
		pkt.opcode = MROCE_ACK_FULL;
	}
	txd_bare(txd, &pkt, r);
	cnt_inc(c, MROCE_CNT_TX_ACK);
}

/* NAKs leave before ACKs, so that what was refused is not first taken for
 * lost (rule 6).
 */
bool path_rx_tx_ack(struct mroce_conn *c, struct mroce_txd *txd, u64 now)
{
	unsigned long id;

	if (c->nak_n) {
		tx_nak(c, txd, now);
		return true;
	}
	if (!c->n_touched)
		return false;
	/* Not while packets are being placed: the echo would pass them, and
	 * the sender take them for lost (rule 9). mroce_conn_finish() comes.
	 */
	for_each_set_bit(id, c->touched, MROCE_MAX_PATHS) {
		if (c->rx[id]->n_placing)
			continue;
		__clear_bit(id, c->touched);
		c->n_touched--;
		tx_ack(c, c->rx[id], txd, now);
		return true;
	}
	return false;
}
