// SPDX-License-Identifier: GPL-2.0
/*
 * What holds in a connection whenever core/ is not running. Counted anew from
 * the slots each time: counters that core/ keeps must agree.
 */
#include "side.h"

static bool seq_in(u32 psn, u32 from, u32 to)
{
	return psn - from < to - from;
}

static struct side_stream *known_stream(struct side *sd,
					const struct mroce_stream *s)
{
	unsigned int i;

	for (i = 0; i < SIDE_STREAMS; i++)
		if (&sd->st[i].s == s)
			return &sd->st[i];
	fuzz_broken(__FILE__, __LINE__, "known stream", "stray pointer");
}

/* Packets of each message that are out, by what they are; one pass. */
static struct {
	u16 out[SIDE_RING], voided[SIDE_RING];
} tally[SIDE_STREAMS];

static void tally_slot(struct side_stream *st, const struct mroce_slot *sl)
{
	u32 i = sl->msn - st->s.msn_una;

	if (sl->flags & MROCE_SLOT_RESP || i >= SIDE_RING)
		return;
	if (sl->flags & MROCE_SLOT_VOID)
		tally[st->idx].voided[i]++;
	else
		tally[st->idx].out[i]++;
}

/* A list that can be walked both ways and holds @e or not, as it should. */
static bool on_list(struct list_head *head, const struct list_head *e)
{
	struct list_head *at;
	bool found = false;
	unsigned int n = 0;

	list_for_each(at, head) {
		fuzz_require(at->next->prev == at && at->prev->next == at,
			     "list is torn");
		fuzz_require(++n <= SIDE_STREAMS, "list is too long");
		if (at == e)
			found = true;
	}
	return found;
}

static void check_path_tx(struct side *sd, struct mroce_path_tx *p, u8 id)
{
	u32 n_out = 0, n_lost = 0, psn, i;
	u8 at = p->sent_first;

	fuzz_require(p->id == id, "path id %u at %u", p->id, id);
	fuzz_require(p->nxt - p->una <= MROCE_PATH_WINDOW,
		     "path %u: %u outstanding", id, p->nxt - p->una);
	for (psn = p->una; psn != p->nxt; psn++) {
		bool lost = test_bit(psn & 255, p->lost);
		struct mroce_slot *sl;

		if (!test_bit(psn & 255, p->out)) {
			fuzz_require(!lost, "path %u: %u lost, not out", id,
				     psn);
			continue;
		}
		sl = &p->slot[psn & 255];
		n_out++;
		n_lost += lost;
		fuzz_require(lost == !!(sl->flags & MROCE_SLOT_LOST),
			     "path %u: %u lost flag", id, psn);
		fuzz_require(sl->s || sl->flags & MROCE_SLOT_VOID,
			     "path %u: %u of nobody", id, psn);
		if (sl->s) {
			struct side_stream *st = known_stream(sd, sl->s);

			fuzz_require(st->attached && sl->s->conn == &sd->c,
				     "path %u: %u of a detached stream", id,
				     psn);
			tally_slot(st, sl);
		}
	}
	/* Nothing is marked outside of the window. */
	fuzz_require(bitmap_weight(p->out, MROCE_PATH_WINDOW) == n_out &&
		     bitmap_weight(p->lost, MROCE_PATH_WINDOW) == n_lost,
		     "path %u: bits out of [%u, %u)", id, p->una, p->nxt);
	fuzz_require(p->una == p->nxt || test_bit(p->una & 255, p->out),
		     "path %u: window did not slide", id);
	fuzz_require(p->n_lost == n_lost, "path %u: %u lost, counted %u", id,
		     n_lost, p->n_lost);
	fuzz_require(p->inflight == n_out - n_lost,
		     "path %u: %u in flight, counted %u", id, n_out - n_lost,
		     p->inflight);
	for (i = 0; i < p->inflight; i++) {
		const struct mroce_slot *sl = &p->slot[at];

		fuzz_require(test_bit(at, p->out) && !test_bit(at, p->lost),
			     "path %u: %u listed, not in flight", id, at);
		if (i + 1 == p->inflight) {
			fuzz_require(at == p->sent_last, "path %u: last", id);
			break;
		}
		fuzz_require(!mroce_seq_before(p->slot[sl->sent_next].ts,
					       sl->ts),
			     "path %u: list out of order", id);
		at = sl->sent_next;
	}
	fuzz_require(p->cc.cwnd_x256 >= 256 &&
		     p->cc.cwnd_x256 <= 256 * MROCE_PATH_WINDOW,
		     "path %u: window %u/256", id, p->cc.cwnd_x256);
	fuzz_require(p->una == p->nxt || p->deadline != MROCE_NEVER,
		     "path %u: outstanding without a deadline", id);
}

static void check_path_rx(struct side *sd, struct mroce_path_rx *r, u8 id)
{
	u32 placing, claims = 0, i;

	fuzz_require(r->id == id, "receiving path id %u at %u", r->id, id);
	fuzz_require(!test_bit((r->cum + 1) & 255, r->placed),
		     "receiving path %u: cumulative PSN stands still", id);
	fuzz_require(!bitmap_intersects(r->placing, r->placed,
					MROCE_PATH_WINDOW),
		     "receiving path %u: placed and placing", id);
	placing = bitmap_weight(r->placing, MROCE_PATH_WINDOW);
	for (i = 0; i < SIDE_CLAIMS; i++)
		claims += sd->claim[i].used && sd->claim[i].cl.path == id &&
			  sd->claim[i].cl.gen == sd->c.gen;
	fuzz_require(placing == claims, "receiving path %u: %u placing, %u claims",
		     id, placing, claims);
}

static void check_msgs(struct side_stream *st)
{
	u32 refused = 0, consuming = 0, fetching = 0, msn;
	struct mroce_stream *s = &st->s;

	fuzz_require(s->msn_snd - s->msn_una <= s->msn_nxt - s->msn_una &&
		     s->msn_nxt - s->msn_una <= SIDE_RING, "MSNs %u %u %u",
		     s->msn_una, s->msn_snd, s->msn_nxt);
	fuzz_require(s->msn_nxt - s->msn_una == st->n_posted,
		     "%u messages, %u posted", s->msn_nxt - s->msn_una,
		     st->n_posted);
	for (msn = s->msn_una; msn != s->msn_nxt; msn++) {
		struct mroce_msg *m = s->ring[msn & s->ring_mask];
		u32 out, voided;

		fuzz_require(m->msn == msn, "message %u at %u", m->msn, msn);
		if (!seq_in(msn, s->msn_una, s->msn_snd)) {
			fuzz_require(m->state == MROCE_M_QUEUED && !m->unacked,
				     "message %u state %u not started", msn,
				     m->state);
			continue;
		}
		out = tally[st->idx].out[msn - s->msn_una];
		voided = tally[st->idx].voided[msn - s->msn_una];
		fuzz_require(m->unacked == out,
			     "message %u: %u packets out, counted %u", msn,
			     out, m->unacked);
		fuzz_require(m->voided == voided,
			     "message %u: %u packets void, counted %u", msn,
			     voided, m->voided);
		refused += m->state == MROCE_M_REFUSED;
		if (m->state == MROCE_M_DONE)
			continue;
		switch (m->opcode) {
		case MROCE_OP_READ_REQ:
		case MROCE_OP_CMP_SWAP:
		case MROCE_OP_FETCH_ADD:
			fetching++;
			break;
		case MROCE_OP_WRITE:
			break;
		default:
			consuming++;
			break;
		}
	}
	fuzz_require(s->n_refused == refused, "%u refused, counted %u", refused,
		     s->n_refused);
	fuzz_require(s->rd_out == fetching, "%u Reads out, counted %u",
		     fetching, s->rd_out);
	fuzz_require(s->tx_state == MROCE_TX_ERR || s->n_consuming <= consuming,
		     "%u consuming, counted %u", consuming, s->n_consuming);
	fuzz_require(!s->cur || (seq_in(s->cur->msn, s->msn_una, s->msn_snd) &&
				 s->ring[s->cur->msn & s->ring_mask] == s->cur),
		     "current message is gone");
	fuzz_require(!s->probe ||
		     (seq_in(s->probe->msn, s->msn_una, s->msn_snd) &&
		      s->ring[s->probe->msn & s->ring_mask] == s->probe),
		     "message on trial is gone");
}

static void check_stream(struct side *sd, struct side_stream *st)
{
	struct mroce_stream *s = &st->s;
	u32 claims = 0, i;

	for (i = 0; i < SIDE_CLAIMS; i++)
		claims += sd->claim[i].used && sd->claim[i].cl.s == s;
	fuzz_require(s->claims == claims, "stream %u: %u claims, counted %u",
		     st->idx, claims, s->claims);
	fuzz_require(st->attached == (s->conn == &sd->c), "stream %u: attached",
		     st->idx);
	fuzz_require(on_list(&sd->c.streams, &s->node) == st->attached,
		     "stream %u: list of streams", st->idx);
	fuzz_require(on_list(&sd->c.ready, &s->ready) == !list_empty(&s->ready),
		     "stream %u: ready list", st->idx);
	fuzz_require(on_list(&sd->c.resp_ready, &s->resp_ready) ==
		     !list_empty(&s->resp_ready), "stream %u: response list",
		     st->idx);
	fuzz_require(on_list(&sd->c.timed, &s->timed) == !list_empty(&s->timed),
		     "stream %u: list of deadlines", st->idx);
	if (!st->attached) {
		fuzz_require(list_empty(&s->ready) &&
			     list_empty(&s->resp_ready) &&
			     list_empty(&s->timed), "stream %u: detached but queued",
			     st->idx);
		return;
	}
	fuzz_require(s->resp_n <= s->n_rctx, "stream %u: %u answers of %u",
		     st->idx, s->resp_n, s->n_rctx);
	fuzz_require(s->rsn_bound == st->bind_nxt, "stream %u: bound RSN %u, %u",
		     st->idx, s->rsn_bound, st->bind_nxt);
	fuzz_require(s->rsn_bound - s->rsn_rcv <= MROCE_RSN_WINDOW,
		     "stream %u: %u receives bound", st->idx,
		     s->rsn_bound - s->rsn_rcv);
	for (i = 0; i < s->resp_n; i++) {
		u8 idx = s->resp_fifo[(s->resp_head + i) % s->n_rctx];

		fuzz_require(idx < s->n_rctx && s->rctx[idx].used,
			     "stream %u: queued answer %u", st->idx, idx);
	}
	check_msgs(st);
}

void side_check(struct side *sd)
{
	bool rests = !sd->c.nak && !sd->c.spare;
	u32 lost = 0, window = 0, n = 0, i;

	memset(tally, 0, sizeof(tally));
	fuzz_require(sd->c.n_tx <= sd->c.tx_room &&
		     sd->c.tx_room <= MROCE_MAX_PATHS &&
		     sd->c.rx_room <= MROCE_MAX_PATHS, "tables of paths");
	for (i = 0; i < sd->c.n_tx; i++) {
		check_path_tx(sd, sd->c.tx[i], i);
		lost += sd->c.tx[i]->n_lost;
		window += sd->c.tx[i]->cc.cwnd_x256;
		fuzz_require(sd->c.path_deadline <= sd->c.tx[i]->deadline,
			     "path %u: deadline not bounded", i);
		rests = rests && !sd->c.tx[i]->slot;
	}
	for (; i < sd->c.tx_room; i++)
		fuzz_require(!sd->c.tx[i], "path %u is not open", i);
	for (i = 0; i < sd->c.rx_room; i++)
		if (sd->c.rx[i])
			check_path_rx(sd, sd->c.rx[i], i);
	fuzz_require(rests || sd->c.rest_at != MROCE_NEVER,
		     "nobody looks whether memory is used");
	fuzz_require(sd->c.plane0.window_x256 == window, "windows %u, counted %u",
		     window, sd->c.plane0.window_x256);
	fuzz_require(sd->c.n_lost == lost, "%u lost, counted %u", lost,
		     sd->c.n_lost);
	for (i = 0; i < SIDE_STREAMS; i++) {
		check_stream(sd, &sd->st[i]);
		n += sd->st[i].attached;
	}
	fuzz_require(sd->c.n_streams == n, "%u streams, counted %u", n,
		     sd->c.n_streams);
	fuzz_require(sd->c.nak_n <= MROCE_NAK_RING, "%u NAKs", sd->c.nak_n);
}
