// SPDX-License-Identifier: GPL-2.0
/*
 * What to send next, and on which path.
 *
 * Order: control, NAKs, ACKs, then NOPs and retransmissions, responses,
 * requests. Streams take turns by deficit round robin, so one long Write does
 * not delay the others. Packets are sprayed: a run of packets that fills one
 * segmentation-offload burst goes to one path, the next to the path with the
 * most room (rules 30, 36, 50).
 */
#include "internal.h"

/* Packets in a row on one path. */
static u8 burst_max(const struct mroce_conn *c)
{
	return (u8)clamp_t(u32, MROCE_GSO_BYTES / max_t(u16, c->mtu, 576), 1,
			   64);
}

/* The emptiest path relative to its window; in turn among equals. */
static struct mroce_path_tx *emptiest(const struct mroce_conn *c, bool awake)
{
	struct mroce_path_tx *p, *best = NULL;
	int i;

	for (i = 1; i <= c->n_tx; i++) {
		p = c->tx[(c->cur_tx + i) % c->n_tx];
		if (!path_room(p) || (awake && !p->slot))
			continue;
		if (!best || (u64)p->inflight * best->cc.cwnd_x256 <
			     (u64)best->inflight * p->cc.cwnd_x256)
			best = p;
	}
	return best;
}

static struct mroce_path_tx *next_path(struct mroce_conn *c, bool awake,
				       u64 now)
{
	return c->mp ? plane_pick(c, awake, now) : emptiest(c, awake);
}

/*
 * The path for the next new packet: stay for a burst, then the emptiest. Paths
 * are opened as long as there is something to put on them. One at rest for whose
 * slots there is no memory now is passed over.
 */
static struct mroce_path_tx *pick_path(struct mroce_conn *c, u64 now)
{
	struct mroce_path_tx *p;

	if (c->n_tx && c->burst < burst_max(c)) {
		p = c->tx[c->cur_tx];
		if (path_room(p) && plane_may(c, p) && path_awake(c, p, now))
			return p;
	}
	p = path_tx_open(c, now);
	if (!p)
		p = next_path(c, false, now);
	if (p && !path_awake(c, p, now))
		p = next_path(c, true, now);
	if (p) {
		c->cur_tx = p->id;
		c->burst = 0;
	} else if (!c->n_tx) {
		/* No memory for the first, or all planes are paced: no
		 * acknowledgment will wake us.
		 */
		conn_again(c, now + MROCE_NOMEM_NS);
	}
	return p;
}

/* The next message of a small-message stream takes another path: each ack
 * then reports on several routes.
 */
static struct mroce_slot *slot_open(struct mroce_conn *c,
				    struct mroce_path_tx *p, u32 *psn, u64 now)
{
	struct mroce_slot *sl;

	if (p->una == p->nxt)
		path_tx_begin(c, p, now);
	*psn = p->nxt++;
	sl = &p->slot[psn_idx(*psn)];
	memset(sl, 0, sizeof(*sl));
	__set_bit(psn_idx(*psn), p->out);
	__clear_bit(psn_idx(*psn), p->lost);
	path_tx_in_flight(p, *psn);
	p->tx_pkts++;
	return sl;
}

static void txd_start(struct mroce_txd *txd, const struct mroce_path_tx *p)
{
	txd->type = MROCE_T_DATA;
	txd->path = p->id;
	txd->plane = p->plane;
	txd->sport = p->sport;
	txd->ect = true;
	txd->nfrags = 0;
	txd->frag_bytes = 0;
	txd->pad_bytes = 0;
}

static void fill_common(struct mroce_conn *c, struct mroce_path_tx *p,
			const struct mroce_slot *sl, u32 psn,
			struct mroce_pkt *pkt)
{
	pkt->type = MROCE_T_DATA;
	pkt->opcode = sl->opcode;
	pkt->flags = sl->hdr_flags;
	pkt->conn = c->peer_id;
	pkt->path = p->id;
	pkt->epoch = sl->epoch;
	pkt->tag = c->tag;
	pkt->psn = psn;
	pkt->ts = sl->ts;
}

static bool txd_header(struct mroce_txd *txd, const struct mroce_pkt *pkt)
{
	txd->hdr_len = mroce_wire_build(pkt, txd->lin, sizeof(txd->lin));
	txd->lin_len = txd->hdr_len;
	return !WARN_ON_ONCE(!txd->hdr_len);
}

static void fill_request(const struct mroce_stream *s,
			 const struct mroce_msg *m, const struct mroce_slot *sl,
			 struct mroce_pkt *pkt)
{
	pkt->data.dqpn = s->a.dqpn;
	pkt->data.sqpn = s->a.qpn;
	pkt->data.attempt = sl->attempt;
	pkt->data.msn = m->msn;
	pkt->data.offset = sl->off;
	pkt->data.va = m->va;
	if (m->opcode == MROCE_OP_WRITE || m->opcode == MROCE_OP_WRITE_IMM)
		pkt->data.va += sl->off;
	pkt->data.rkey = m->rkey;
	pkt->data.len = m->len;
	pkt->data.rsn = m->rsn;
	pkt->data.imm = m->imm;
	pkt->data.cookie = m->cookie;
	pkt->data.swap_add = m->swap_add;
	pkt->data.compare = m->compare;
	pkt->payload_len = sl->len;
}

static void fill_response(const struct mroce_stream *s,
			  const struct mroce_rctx *r,
			  const struct mroce_slot *sl, struct mroce_pkt *pkt)
{
	pkt->data.dqpn = s->a.dqpn;
	pkt->data.sqpn = s->a.qpn;
	pkt->data.msn = r->msn;
	pkt->data.offset = sl->off;
	pkt->data.cookie = r->cookie;
	pkt->data.code = r->err;
	pkt->data.swap_add = r->orig;
	pkt->payload_len = sl->len;
}

/* ---- retransmissions ------------------------------------------------------------ */

/* The next lost one from @psn on, or p->nxt. */
static u32 next_lost(const struct mroce_path_tx *p, u32 psn)
{
	u32 from = psn_idx(psn), bit;

	/* only what is outstanding is marked, so any bit will do */
	bit = find_next_bit(p->lost, MROCE_PATH_WINDOW, from);
	if (bit == MROCE_PATH_WINDOW)
		bit = find_next_bit(p->lost, MROCE_PATH_WINDOW, 0);
	if (bit == MROCE_PATH_WINDOW)
		return p->nxt;
	psn += psn_idx(bit - from);
	return psn - p->una < p->nxt - p->una ? psn : p->nxt;
}

/* Void @psn and, in the vector, the path's further void PSNs that are due. */
static void tx_nop(struct mroce_conn *c, struct mroce_path_tx *p, u32 psn,
		   struct mroce_txd *txd, u64 now)
{
	struct mroce_slot *sl = &p->slot[psn_idx(psn)];
	struct mroce_pkt pkt = {};
	u32 i, v;

	sl->opcode = MROCE_OP_NOP;
	sl->hdr_flags = 0;
	fill_common(c, p, sl, psn, &pkt);
	for (i = 0; i < MROCE_VEC_BITS; i++) {
		struct mroce_slot *vs;

		v = psn + 1 + i;
		if (v - p->una >= p->nxt - p->una)
			break;
		vs = &p->slot[psn_idx(v)];
		if (!test_bit(psn_idx(v), p->lost) ||
		    !(vs->flags & MROCE_SLOT_VOID))
			continue;
		pkt.data.vec[i / 64] |= 1ULL << (i % 64);
		pkt.data.has_vec = true;
		path_tx_unmark_lost(c, p, v);
		vs->ts = sl->ts;
		vs->epoch = sl->epoch;
		vs->flags |= MROCE_SLOT_RESENT;
	}
	txd_header(txd, &pkt);
	cnt_inc(c, MROCE_CNT_TX_NOP);
}

/* Payload that cannot be gathered now, but may be soon. */
static bool not_now(int err)
{
	return err == -ENOMEM || err == -EAGAIN;
}

/*
 * Send the packet of a lost slot again: same path, same PSN, same bytes. What
 * cannot be built any more becomes void (a request) or an error (a response).
 */
static bool tx_again(struct mroce_conn *c, struct mroce_path_tx *p, u32 psn,
		     struct mroce_txd *txd, u64 now)
{
	struct mroce_slot *sl = &p->slot[psn_idx(psn)];
	const struct mroce_slot old = *sl;
	struct mroce_stream *s = sl->s;
	struct mroce_pkt pkt = {};
	struct mroce_rctx *r = NULL;
	struct mroce_msg *m = NULL;
	struct mroce_absent *absent;
	int err = 0;

	if (!s)
		sl->flags |= MROCE_SLOT_VOID;
	if (!(sl->flags & MROCE_SLOT_VOID)) {
		if (sl->flags & MROCE_SLOT_RESP)
			r = resp_of_slot(s, sl);
		else
			m = stream_msg(s, sl->msn);
		if (!r && !m)
			sl->flags |= MROCE_SLOT_VOID;
	}

	path_tx_stamp(c, p, sl, now);
	txd_start(txd, p);
	if (m || r) {
		sl->hdr_flags |= MROCE_F_RETX;
		fill_common(c, p, sl, psn, &pkt);
		if (m)
			fill_request(s, m, sl, &pkt);
		else
			fill_response(s, r, sl, &pkt);
		if (txd_header(txd, &pkt) && sl->len)
			err = m ? s->ops->gather(s, m, sl->off, sl->len, txd) :
				  s->ops->gather_resp(s, r, sl->off, sl->len,
						      txd);
		absent = m ? &m->absent : &r->absent;
		if (!not_now(err)) {
			if (sl->len)
				absent_end(absent);
		} else if (!absent_for(absent, conn_ts(c, now),
				       MROCE_ABSENT_NS)) {
			/* Still lost: tried again later. */
			cnt_inc(c, MROCE_CNT_NOMEM);
			*sl = old;
			return false;
		}
	}

	path_tx_unmark_lost(c, p, psn);
	sl->flags |= MROCE_SLOT_RESENT;
	p->retx_pkts++;
	cnt_inc(c, MROCE_CNT_TX_RETX);
	path_tx_sent(c, p, now);

	if (sl->flags & MROCE_SLOT_VOID) {
		tx_nop(c, p, psn, txd, now);
		return true;
	}
	if (!err)
		return true;

	txd_start(txd, p);
	if (r) {
		/* The source is gone: this PSN says so (rule 22). */
		r->err = MROCE_NAK_ACCESS;
		sl->opcode = MROCE_OP_RESP_ERR;
		sl->hdr_flags = MROCE_F_LAST;
		sl->off = 0;
		sl->len = 0;
		memset(&pkt, 0, sizeof(pkt));
		fill_common(c, p, sl, psn, &pkt);
		fill_response(s, r, sl, &pkt);
		txd_header(txd, &pkt);
		return true;
	}
	stream_drain(s, m->msn, MROCE_ST_LOC_PROT);
	path_tx_unmark_lost(c, p, psn);
	tx_nop(c, p, psn, txd, now);
	stream_complete(s, now);
	return true;
}

/*
 * One lost packet of a path. What has no payload now holds up no other, and does
 * not cost a look at each packet that is sent meanwhile.
 */
static bool path_retx(struct mroce_conn *c, struct mroce_path_tx *p,
		      struct mroce_txd *txd, u64 now)
{
	u32 n = p->n_lost, failed = 0;

	if (now < p->rtx_wait_ns)
		return false;
	if (p->rtx_psn - p->una >= p->nxt - p->una)
		p->rtx_psn = p->una;
	for (; n; n--) {
		u32 psn = next_lost(p, p->rtx_psn);

		if (psn == p->nxt)
			psn = next_lost(p, p->una);
		if (tx_again(c, p, psn, txd, now)) {
			/* in order: from the oldest one on, if all can */
			p->rtx_psn = failed ? psn + 1 : p->una;
			return true;
		}
		p->rtx_psn = psn + 1;
		if (++failed == MROCE_RTX_FAILS)
			break;
	}
	p->rtx_wait_ns = now + MROCE_NOMEM_NS;
	conn_again(c, p->rtx_wait_ns);
	return false;
}

static bool tx_retx(struct mroce_conn *c, struct mroce_txd *txd, u64 now)
{
	int i;

	for (i = 0; i < c->n_tx; i++) {
		struct mroce_path_tx *p = c->tx[i];

		if (!p->n_lost || !pace_may(c, p))
			continue;
		if (p->inflight >= p->cc.cwnd_x256 >> 8 && !p->rtx_budget)
			continue;
		if (!path_retx(c, p, txd, now))
			continue;
		if (p->rtx_budget)
			p->rtx_budget--;
		return true;
	}
	return false;
}

/* ---- new packets ------------------------------------------------------------------ */

static u32 payload_max(const struct mroce_conn *c, u8 opcode)
{
	u32 hdr = c->cfg.l3_len + mroce_wire_hdr_len(opcode, true);

	return c->mtu > hdr ? c->mtu - hdr : 0;
}

/* Account for a packet that was built on @p. */
static void sent_on(struct mroce_conn *c, struct mroce_path_tx *p, u32 len,
		    u64 now)
{
	c->burst++;
	cnt_inc(c, MROCE_CNT_TX_DATA);
	cnt_add(c, MROCE_CNT_TX_BYTES, len);
	path_tx_sent(c, p, now);
}

/* Undo slot_open(): nothing was sent under this PSN. */
static void slot_undo(struct mroce_path_tx *p)
{
	p->nxt--;
	__clear_bit(psn_idx(p->nxt), p->out);
	path_tx_not_in_flight(p, p->nxt);
	p->tx_pkts--;
}

static void response_packet(struct mroce_stream *s, struct mroce_rctx *r,
			    struct mroce_slot *sl)
{
	u32 max = payload_max(s->conn, MROCE_OP_READ_RESP);

	sl->s = s;
	sl->qpn = s->a.qpn;
	sl->msn = r->msn;
	sl->attempt = r - s->rctx;
	sl->flags = MROCE_SLOT_RESP;
	sl->hdr_flags = MROCE_F_LAST;
	if (r->err) {
		sl->opcode = MROCE_OP_RESP_ERR;
	} else if (r->opcode == MROCE_OP_READ_REQ) {
		sl->opcode = MROCE_OP_READ_RESP;
		sl->off = r->off;
		sl->len = min(r->len - r->off, max);
		/* as more_behind(), of what this answer has itself */
		if (r->off + sl->len != r->len)
			sl->hdr_flags = MROCE_F_BACKLOG;
	} else {
		sl->opcode = MROCE_OP_ATOMIC_RESP;
	}
}

static bool tx_resp(struct mroce_conn *c, struct mroce_txd *txd, u64 now)
{
	struct mroce_stream *s, *stuck = NULL;
	struct mroce_path_tx *p;
	struct mroce_slot *sl;
	struct mroce_rctx *r;
	u32 psn;
	int err;

	while (!list_empty(&c->resp_ready)) {
		struct mroce_pkt pkt = {};

		s = list_first_entry(&c->resp_ready, struct mroce_stream,
				     resp_ready);
		if (!s->resp_n || s->quarantine) {
			list_del_init(&s->resp_ready);
			continue;
		}
		if (s == stuck)
			return false;	/* all that are left */
		p = pick_path(c, now);
		if (!p)
			return false;
		r = &s->rctx[s->resp_fifo[s->resp_head]];
		sl = slot_open(c, p, &psn, now);
		response_packet(s, r, sl);
		path_tx_stamp(c, p, sl, now);
		sl->first_ts = sl->ts;
		txd_start(txd, p);
		fill_common(c, p, sl, psn, &pkt);
		fill_response(s, r, sl, &pkt);
		txd_header(txd, &pkt);
		err = sl->len ? s->ops->gather_resp(s, r, sl->off, sl->len,
						    txd) : 0;
		if (err) {
			slot_undo(p);
			if (not_now(err)) {
				/* the stream's requests need not wait */
				cnt_inc(c, MROCE_CNT_NOMEM);
				conn_again(c, now + MROCE_NOMEM_NS);
				list_move_tail(&s->resp_ready, &c->resp_ready);
				stuck = stuck ?: s;
				continue;
			}
			/* The source is gone: say so instead. */
			r->err = MROCE_NAK_ACCESS;
			r->off = r->len;
			continue;
		}
		sent_on(c, p, sl->len, now);
		if (r->err)
			r->off = r->len;
		resp_sent(s, r, r->err ? 0 : sl->len, now);
		/* Turns among streams, packet by packet of a burst. */
		if (c->burst >= burst_max(c) && !list_empty(&s->resp_ready))
			list_move_tail(&s->resp_ready, &c->resp_ready);
		return true;
	}
	return false;
}

static void request_packet(struct mroce_stream *s, struct mroce_msg *m,
			   struct mroce_slot *sl)
{
	u32 max = payload_max(s->conn, m->opcode);

	sl->s = s;
	sl->qpn = s->a.qpn;
	sl->msn = m->msn;
	sl->opcode = m->opcode;
	sl->attempt = m->attempt;
	sl->hdr_flags = MROCE_F_LAST;
	if (op_has_data(m->opcode)) {
		sl->off = m->off;
		sl->len = min(m->len - m->off, max);
		if (sl->off + sl->len != m->len)
			sl->hdr_flags = 0;
	}
	if (!(sl->hdr_flags & MROCE_F_LAST))
		return;
	if (m->solicited)
		sl->hdr_flags |= MROCE_F_SOLICITED;
	if (m->opcode == MROCE_OP_SEND_IMM || m->opcode == MROCE_OP_WRITE_IMM)
		sl->hdr_flags |= MROCE_F_IMM;
	if (m->opcode == MROCE_OP_SEND_INV)
		sl->hdr_flags |= MROCE_F_INV;
}

static bool more_behind(const struct mroce_conn *c,
			const struct mroce_stream *s, const struct mroce_msg *m,
			const struct mroce_slot *sl)
{
	/* what asks for data says nothing of this direction */
	if (!op_has_data(m->opcode))
		return false;
	return sl->off + sl->len != m->len || s->msn_snd != s->msn_nxt ||
	       !list_is_singular(&c->ready);
}

static bool tx_request(struct mroce_conn *c, struct mroce_txd *txd, u64 now)
{
	struct mroce_path_tx *p;
	struct mroce_stream *s;
	struct mroce_slot *sl;
	struct mroce_msg *m;
	u32 psn;
	int err;

	while (!list_empty(&c->ready)) {
		struct mroce_pkt pkt = {};

		p = pick_path(c, now);
		if (!p)
			return false;
		s = list_first_entry(&c->ready, struct mroce_stream, ready);
		if (s->deficit <= 0) {
			s->deficit += MROCE_DRR_QUANTUM;
			list_move_tail(&s->ready, &c->ready);
			continue;
		}
		m = stream_pick(s, now);
		if (!m) {
			s->deficit = 0;
			list_del_init(&s->ready);
			continue;
		}
		sl = slot_open(c, p, &psn, now);
		request_packet(s, m, sl);
		path_tx_stamp(c, p, sl, now);
		sl->first_ts = sl->ts;
		if (more_behind(c, s, m, sl))
			sl->hdr_flags |= MROCE_F_BACKLOG;
		txd_start(txd, p);
		fill_common(c, p, sl, psn, &pkt);
		fill_request(s, m, sl, &pkt);
		txd_header(txd, &pkt);
		err = sl->len ? s->ops->gather(s, m, sl->off, sl->len, txd) : 0;
		if (err) {
			slot_undo(p);
			if (not_now(err)) {
				/* held: the next turn takes it off the list */
				stream_no_memory(s, now);
				continue;
			}
			stream_drain(s, m->msn, MROCE_ST_LOC_PROT);
			stream_complete(s, now);
			continue;
		}
		s->deficit -= sl->len + 64;
		sent_on(c, p, sl->len, now);
		stream_sent(s, m, sl->len, now);
		return true;
	}
	return false;
}

/* Perhaps: streams stay on their lists until somebody looks. */
static bool has_data(const struct mroce_conn *c)
{
	return c->n_lost || !list_empty(&c->resp_ready) ||
	       !list_empty(&c->ready);
}

bool mroce_conn_tx(struct mroce_conn *c, struct mroce_txd *txd, u64 now)
{
	if (c->state == MROCE_CONN_DEAD)
		return false;
	if (conn_tx_ctrl(c, txd, now))
		return true;
	if (c->state != MROCE_CONN_OPEN)
		return false;
	if (path_rx_tx_ack(c, txd, now))
		return true;
	if (c->tx_blocked)
		return false;
	if (!has_data(c) || !pace_ok(c, now))
		return false;
	if (!(c->n_lost && tx_retx(c, txd, now)) && !tx_resp(c, txd, now) &&
	    !tx_request(c, txd, now))
		return false;
	pace_sent(c, txd->plane, txd->lin_len + txd->frag_bytes, now);
	return true;
}

bool mroce_conn_tx_pending(const struct mroce_conn *c, u64 now)
{
	if (c->state == MROCE_CONN_DEAD)
		return false;
	if (conn_wants_ctrl(c))
		return true;
	if (c->state != MROCE_CONN_OPEN)
		return false;
	if (c->nak_n || c->n_touched)
		return true;
	if (c->tx_blocked)
		return false;
	return has_data(c);
}
