// SPDX-License-Identifier: GPL-2.0
/*
 * Everything at once, and after each step a look at whether the transport's
 * books agree with each other: what is counted is there, what points at
 * something points at the living, and who could go on will be woken.
 */
#include "pair.h"
#include "../internal.h"

#ifndef CHAOS_SEEDS
#define CHAOS_SEEDS	40	/* more with make CPPFLAGS=-DCHAOS_SEEDS=... */
#endif

#define UNIQUE		128	/* bytes; a message's own place in memory */
#define UNIQUE_MSGS	256	/* so many have one: the lower half of it */
#define CONSTANT	(PAIR_MEM - 16384)	/* nobody writes there */
#define WORD		(PAIR_MEM - 8)		/* but here, with atomics */

static const u8 chaos_ops[] = {
	MROCE_OP_WRITE, MROCE_OP_WRITE, MROCE_OP_WRITE_IMM, MROCE_OP_SEND,
	MROCE_OP_SEND_IMM, MROCE_OP_SEND_INV, MROCE_OP_READ_REQ,
	MROCE_OP_CMP_SWAP, MROCE_OP_FETCH_ADD,
};

struct chaos {
	struct pair *p;
	u64 seed;
	int n_streams, n_sides;
	u32 pool[2];		/* receives shared by the streams of a side */
	u64 sum[2][PAIR_STREAMS];	/* atomics that may have been done */
	bool failed;
};

/* ---- the books ------------------------------------------------------------- */

static void book(struct chaos *ch, bool ok, const char *what)
{
	if (ok || ch->failed)
		return;
	ch->failed = true;
	KUNIT_FAIL(ch->p->test, "seed %llu: %s", (unsigned long long)ch->seed,
		   what);
}

#define BOOK(ch, cond)	book(ch, cond, #cond)

static bool attached(struct mroce_conn *c, const struct mroce_stream *s)
{
	struct mroce_stream *it;

	list_for_each_entry(it, &c->streams, node)
		if (it == s)
			return true;
	return false;
}

static u32 check_path(struct chaos *ch, struct mroce_conn *c,
		      struct mroce_path_tx *p)
{
	u32 psn, n_out = 0, n_lost = 0, i;
	u8 at = p->sent_first;

	BOOK(ch, p->nxt - p->una <= MROCE_PATH_WINDOW);
	for_each_out(p, psn) {
		struct mroce_slot *sl = &p->slot[psn_idx(psn)];
		bool lost = test_bit(psn_idx(psn), p->lost);

		n_out++;
		n_lost += lost;
		BOOK(ch, lost == !!(sl->flags & MROCE_SLOT_LOST));
		BOOK(ch, sl->s || sl->flags & MROCE_SLOT_VOID);
		BOOK(ch, !sl->s || attached(c, sl->s));
		BOOK(ch, !mroce_seq_after(sl->ts, p->last_ts));
		if (sl->s && sl->flags & MROCE_SLOT_RESP &&
		    !(sl->flags & MROCE_SLOT_VOID))
			BOOK(ch, resp_of_slot(sl->s, sl));
	}
	for (i = 0; i < MROCE_PATH_WINDOW; i++)
		BOOK(ch, test_bit(i, p->out) || !test_bit(i, p->lost));
	BOOK(ch, bitmap_weight(p->out, MROCE_PATH_WINDOW) == n_out);
	BOOK(ch, p->n_lost == n_lost);
	for (i = 0; i < p->inflight; i++) {
		const struct mroce_slot *sl = &p->slot[at], *next;

		BOOK(ch, test_bit(at, p->out) && !test_bit(at, p->lost));
		BOOK(ch, sl->epoch == p->epoch);
		if (i + 1 == p->inflight) {
			BOOK(ch, at == p->sent_last);
			break;
		}
		next = &p->slot[sl->sent_next];
		BOOK(ch, !mroce_seq_before(next->ts, sl->ts));
		BOOK(ch, next->sent_prev == at);
		at = sl->sent_next;
	}
	BOOK(ch, !p->slot || c->rest_at != MROCE_NEVER);
	BOOK(ch, p->inflight == n_out - n_lost);
	BOOK(ch, p->una == p->nxt || test_bit(psn_idx(p->una), p->out));
	BOOK(ch, (p->una == p->nxt) == (p->deadline == MROCE_NEVER));
	BOOK(ch, p->cc.cwnd_x256 >= 256 && p->cc.cwnd_x256 <= 65536);
	return n_lost;
}

/* PSNs outstanding for message @msn, void ones or not. */
static u32 count_slots(struct mroce_conn *c, struct mroce_stream *s, u32 msn,
		       bool voided)
{
	u32 psn, n = 0;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		for_each_out(c->tx[i], psn) {
			struct mroce_slot *sl = &c->tx[i]->slot[psn_idx(psn)];

			n += sl->s == s && sl->msn == msn &&
			     !(sl->flags & MROCE_SLOT_RESP) &&
			     !!(sl->flags & MROCE_SLOT_VOID) == voided;
		}
	}
	return n;
}

static u32 count_resp(struct mroce_conn *c, struct mroce_stream *s,
		      struct mroce_rctx *r)
{
	u32 psn, n = 0;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		for_each_out(c->tx[i], psn) {
			struct mroce_slot *sl = &c->tx[i]->slot[psn_idx(psn)];

			n += sl->s == s && (sl->flags & MROCE_SLOT_RESP) &&
			     !(sl->flags & MROCE_SLOT_VOID) &&
			     resp_of_slot(s, sl) == r;
		}
	}
	return n;
}

static u32 count_quarantine(struct mroce_conn *c, u32 qpn)
{
	u32 psn, n = 0;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		for_each_out(c->tx[i], psn) {
			struct mroce_slot *sl = &c->tx[i]->slot[psn_idx(psn)];

			n += !sl->s && sl->qpn == qpn;
		}
	}
	return n;
}

static void check_requester(struct chaos *ch, struct mroce_conn *c,
			    struct mroce_stream *s)
{
	u32 msn, refused = 0, fetch = 0, consuming = 0;

	for (msn = s->msn_una; msn != s->msn_snd; msn++) {
		struct mroce_msg *m = stream_msg(s, msn);

		refused += m->state == MROCE_M_REFUSED;
		BOOK(ch, m->state != MROCE_M_QUEUED);
		BOOK(ch, m->unacked == count_slots(c, s, msn, false));
		BOOK(ch, m->voided == count_slots(c, s, msn, true));
		if (op_is_fetch(m->opcode))
			fetch += m->state != MROCE_M_DONE;
		else if (op_is_consuming(m->opcode))
			consuming += m->state != MROCE_M_SENT || m->unacked;
	}
	BOOK(ch, s->n_refused == refused);
	if (s->tx_state == MROCE_TX_READY) {
		BOOK(ch, s->rd_out == fetch);
		BOOK(ch, s->n_consuming == consuming);
	}
	BOOK(ch, !s->cur || s->cur->state == MROCE_M_SENDING);
	BOOK(ch, !s->probe || stream_msg(s, s->probe->msn) == s->probe);
	if (s->tx_state != MROCE_TX_ERR)
		BOOK(ch, s->quarantine <= count_quarantine(c, s->a.qpn));

	/* Nobody who could send is forgotten. Only after transmission. */
	if (c->state == MROCE_CONN_OPEN && list_empty(&s->ready))
		BOOK(ch, !stream_pick(s, ch->p->now));
	if (stream_due(s) != MROCE_NEVER) {
		BOOK(ch, !list_empty(&s->timed));
		BOOK(ch, c->stream_deadline <= stream_due(s));
	}
	if (s->msn_una != s->msn_nxt && s->a.timeout && !s->paused)
		BOOK(ch, stream_due(s) != MROCE_NEVER);
}

static void check_responder(struct chaos *ch, struct mroce_conn *c,
			    struct mroce_stream *s)
{
	u32 waiting = 0;
	int i;

	for (i = 0; i < s->n_rctx; i++) {
		struct mroce_rctx *r = &s->rctx[i];

		if (!r->used)
			continue;
		waiting += !r->slot_free;
		BOOK(ch, r->unacked == count_resp(c, s, r));
		BOOK(ch, r->unacked || !r->slot_free);
	}
	BOOK(ch, s->resp_n == waiting);
	BOOK(ch, s->rd_in == waiting);
	BOOK(ch, !s->resp_n || s->quarantine || !list_empty(&s->resp_ready));
	if (s->exec_stalled && s->rx_state != MROCE_RX_ERR)
		BOOK(ch, waiting >= s->a.max_dest_rd_atomic ||
		     waiting + 1 < s->n_rctx);
}

static void check_books(struct chaos *ch)
{
	struct pair *p = ch->p;
	int i, k;

	for (i = 0; i < ch->n_sides && !ch->failed; i++) {
		struct mroce_conn *c = &p->side[i].c;
		struct mroce_stream *s;
		u32 window[MROCE_MAX_PLANES] = {};
		struct mroce_plane *pl;
		u32 n_lost = 0, n = 0;

		for (k = 0; k < c->n_tx; k++) {
			n_lost += check_path(ch, c, c->tx[k]);
			window[c->tx[k]->plane] += c->tx[k]->cc.cwnd_x256;
			BOOK(ch, c->path_deadline <= c->tx[k]->deadline);
		}
		BOOK(ch, c->n_lost == n_lost);
		for_each_plane(c, pl, k)
			BOOK(ch, pl->window_x256 == window[k]);
		for (k = 0; k < c->rx_room; k++)
			if (c->rx[k])
				BOOK(ch, c->rx[k]->n_placing ==
				     bitmap_weight(c->rx[k]->placing,
						   MROCE_PATH_WINDOW));
		list_for_each_entry(s, &c->streams, node) {
			n++;
			check_requester(ch, c, s);
			check_responder(ch, c, s);
		}
		BOOK(ch, c->n_streams == n);
	}
}

/* ---- what happens ------------------------------------------------------------ */

static struct tstream *any_stream(struct chaos *ch, int *side, int *i)
{
	*side = pair_rand(ch->p, ch->n_sides);
	*i = pair_rand(ch->p, ch->n_streams);
	return pair_ts(ch->p, *side, *i);
}

static void post_one(struct chaos *ch)
{
	struct pair *p = ch->p;
	u8 op = chaos_ops[pair_rand(p, ARRAY_SIZE(chaos_ops))];
	u32 len = pair_rand(p, 3) ? pair_rand(p, UNIQUE + 1) :
				    pair_rand(p, 8192);
	struct tstream *ts, *peer;
	struct pair_msg *pm;
	int side, i;
	u32 n, va;

	ts = any_stream(ch, &side, &i);
	peer = ts->peer;
	if (!ts->s.conn || ts->s.tx_state != MROCE_TX_READY ||
	    ts->n_posted >= PAIR_MSGS - 4 ||
	    mroce_stream_pending(&ts->s) >= PAIR_RING)
		return;
	n = ts->n_posted;
	va = len <= UNIQUE && n < UNIQUE_MSGS ? UNIQUE * n :
	     UNIQUE * UNIQUE_MSGS + pair_rand(p, CONSTANT - 8192 -
					      UNIQUE * UNIQUE_MSGS);
	if (op == MROCE_OP_READ_REQ)
		va = CONSTANT + pair_rand(p, WORD - CONSTANT - 8192);
	if (op == MROCE_OP_CMP_SWAP || op == MROCE_OP_FETCH_ADD) {
		va = WORD;
		len = 8;
	}
	if (op_has_data(op) && !pair_rand(p, 400))
		va = PAIR_MEM;		/* fatal, if it is a Write of something */
	pair_post(p, side, i, op, len, va, !pair_rand(p, 8));
	pm = &ts->msg[n];
	if (op == MROCE_OP_FETCH_ADD)
		ch->sum[peer->side->idx][peer - peer->side->ts]++;
	if (op == MROCE_OP_CMP_SWAP)
		pm->m.compare = U64_MAX;	/* never there */
}

static void check_done(struct chaos *ch, struct tstream *ts)
{
	struct tstream *peer = ts->peer;
	u32 n;

	/* A small Write may have been kept, acknowledged and then found bad
	 * in its turn (rule 20).
	 */
	if (peer->rx_code)
		return;
	/* Messages with a place of their own are there to stay. */
	for (n = 0; n < ts->n_done && n < UNIQUE_MSGS; n++) {
		struct pair_msg *pm = &ts->msg[n];

		if (pm->st != MROCE_ST_OK || pm->m.va != UNIQUE * n ||
		    (pm->m.opcode != MROCE_OP_WRITE &&
		     pm->m.opcode != MROCE_OP_WRITE_IMM))
			continue;
		BOOK(ch, !memcmp(peer->mem + pm->m.va, ts->buf + pm->buf_off,
				 pm->m.len));
	}
}

static bool all_over(struct pair *p)
{
	int i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < PAIR_STREAMS; k++) {
			struct tstream *ts = pair_ts(p, i, k);

			if (ts->s.conn && ts->fatal == MROCE_ST_OK &&
			    !ts->rx_code && !ts->lost &&
			    ts->n_done != ts->n_posted)
				return false;
		}
	}
	return true;
}

/* Of streams that were reset nothing is under way or being copied. */
static bool all_quiet(struct pair *p)
{
	int side, i;

	for (side = 0; side < 2; side++) {
		for (i = 0; i < PAIR_STREAMS; i++) {
			struct mroce_stream *s = &pair_ts(p, side, i)->s;

			if (!s->conn && (s->left || s->claims))
				return false;
		}
	}
	return true;
}

/* RESET of both ends. They come back with the first MSNs of before; with others,
 * as a CM chooses, if the network does not let go of what they sent.
 */
static void recycle(struct chaos *ch, int side, int i, bool late)
{
	struct pair *p = ch->p;
	struct tstream *ts = pair_ts(p, side, i), *peer = ts->peer;
	int pside = peer->side->idx, pi = peer - peer->side->ts;

	check_done(ch, ts);
	check_done(ch, peer);
	pair_reset(p, side, i);
	pair_reset(p, pside, pi);
	pair_pump(p, side);
	pair_pump(p, pside);
	check_books(ch);
	if (!pair_run(p, 20 * MS, all_quiet)) {
		mroce_stream_left(&ts->s);
		mroce_stream_left(&peer->s);
		ts->psn_shift = pair_rand(p, 1 << 24);
		peer->psn_shift = pair_rand(p, 1 << 24);
	}
	BOOK(ch, !ts->s.claims && !peer->s.claims);
	pair_attach(p, side, i);
	if (late)
		pair_run(p, pair_rand(p, 300000), NULL);
	pair_start(p, side, i);
	pair_attach(p, pside, pi);
	pair_start(p, pside, pi);
}

static void event(struct chaos *ch)
{
	struct pair *p = ch->p;
	struct mroce_conn *c;
	struct tstream *ts;
	int side, i;

	ts = any_stream(ch, &side, &i);
	c = &p->side[side].c;
	switch (pair_rand(p, 24)) {
	case 0:
		recycle(ch, side, i, pair_rand(p, 2));
		break;
	case 1:
		mroce_stream_error(&ts->s, p->now);
		ts->fatal = MROCE_ST_FLUSH;
		break;
	case 2:
		ts->dead_key = true;
		break;
	case 3:
		p->net.dead_sport = c->n_tx ?
			c->tx[pair_rand(p, c->n_tx)]->sport : 0;
		break;
	case 4:
		p->net.dead_sport = 0;
		break;
	case 5:
		ts->no_memory = pair_rand(p, 4);
		break;
#ifndef __KERNEL__
	case 6:
		mroce_shim_fail_alloc(1 + pair_rand(p, 4), pair_rand(p, 4) + 1);
		break;
#endif
	case 7:
		p->net.cut = true;
		pair_run(p, pair_rand(p, 3 * MS), NULL);
		p->net.cut = false;
		break;
	case 8:
		mroce_stream_pause(&ts->s, true, p->now);
		pair_run(p, pair_rand(p, 500000), NULL);
		if (ts->s.conn)
			mroce_stream_pause(&ts->s, false, p->now);
		break;
	case 9:
		ts->fail_place = true;
		pair_run(p, pair_rand(p, 300000), NULL);
		ts->fail_place = false;
		break;
	case 10:
		c->tx_blocked = true;
		pair_run(p, pair_rand(p, 300000), NULL);
		c->tx_blocked = false;
		break;
	case 11:
		if (c->n_tx)
			mroce_conn_rehome(c, c->tx[pair_rand(p, c->n_tx)],
					  p->now);
		break;
	case 12:
		/* lost at one end: the other hears it by RESET */
		if (!c->cfg.self && c->state == MROCE_CONN_OPEN &&
		    !pair_rand(p, 8)) {
			conn_lost(c, p->now);
			pair_pump(p, side);
		}
		break;
	}
}

static void start_wrapped(struct chaos *ch)
{
	struct pair *p = ch->p;
	int i, k;

	/* All sequences of this run pass zero soon. */
	for (i = 0; i < ch->n_sides; i++) {
		struct mroce_conn *c = &p->side[i].c;

		if (c->state == MROCE_CONN_OPEN && !c->n_tx) {
			c->psn0 = (u32)-20;
			c->ts_off = -(u32)(p->now >> MROCE_TS_SHIFT) - 10000;
		}
		for (k = 0; k < ch->n_streams; k++) {
			struct mroce_stream *s = &p->side[i].ts[k].s;

			s->msn_una = (u32)-10;
			s->msn_snd = s->msn_una;
			s->msn_nxt = s->msn_una;
			s->msn_rcv = s->msn_una;
		}
	}
}

static bool opened(struct pair *p)
{
	return p->side[0].c.state == MROCE_CONN_OPEN &&
	       (p->self || p->side[1].c.state == MROCE_CONN_OPEN);
}

static void check_end(struct chaos *ch)
{
	struct pair *p = ch->p;
	int i, k;
	u64 v;

	for (i = 0; i < ch->n_sides; i++) {
		for (k = 0; k < ch->n_streams; k++) {
			struct tstream *ts = pair_ts(p, i, k);

			check_done(ch, ts);
			memcpy(&v, ts->mem + WORD, 8);
			BOOK(ch, v <= ch->sum[i][k]);
			BOOK(ch, !ts->s.claims);
		}
	}
}

static bool chaos_run(struct kunit *test, u64 seed)
{
	struct chaos *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	bool self = seed % 5 == 0;
	struct pair *p;
	int side, i, k;

	p = self ? pair_new_self(test, seed, seed & 1 ? 1500 : 9000) :
		   pair_new(test, seed, seed & 1 ? 1500 : 9000);
	ch->p = p;
	ch->seed = seed;
	ch->n_sides = self ? 1 : 2;
	ch->n_streams = self ? 2 + 2 * pair_rand(p, 2) : 1 + pair_rand(p, 4);
	p->net.loss = pair_rand(p, 3) ? pair_rand(p, 9000) : 0;
	p->net.loss_ack = pair_rand(p, 3) ? 0 : pair_rand(p, 15000);
	p->net.dup = pair_rand(p, 2) ? pair_rand(p, 6000) : 0;
	p->net.reorder = pair_rand(p, 2) ? pair_rand(p, 20000) : 0;
	p->net.ce = pair_rand(p, 2) ? pair_rand(p, 20000) : 0;
	p->net.slow_copy = pair_rand(p, 2) ? pair_rand(p, 30000) : 0;
	p->net.delay_ns = 2000 + pair_rand(p, 100000);
	p->net.jitter_ns = 1 + pair_rand(p, 200000);
	for (side = 0; side < ch->n_sides; side++) {
		if (pair_rand(p, 2))
			p->side[side].share.kbps = 50000U << pair_rand(p, 8);
		ch->pool[side] = 1 + pair_rand(p, 8);
		for (i = 0; i < ch->n_streams; i++) {
			struct tstream *ts = pair_ts(p, side, i);

			ts->tune.timeout = pair_rand(p, 4) ? 12 : 14;
			ts->tune.retry_cnt = 7;
			ts->tune.rnr_retry = pair_rand(p, 4) ? 7 :
							       pair_rand(p, 7);
			if (seed % 3 == 0)
				ts->pool = &ch->pool[side];
		}
	}
	for (i = 0; i < ch->n_streams; i += self ? 2 : 1)
		pair_up(p, i);
	for (side = 0; side < ch->n_sides; side++)
		for (i = 0; i < ch->n_streams; i++)
			memset(pair_ts(p, side, i)->mem + WORD, 0, 8);
	if (seed % 4 == 0 && pair_run(p, 2 * SEC, opened))
		start_wrapped(ch);

	for (k = 0; k < 500 && !ch->failed; k++) {
		post_one(ch);
		if (!pair_rand(p, 3)) {
			struct tstream *ts = any_stream(ch, &side, &i);

			if (!ts->pool)
				pair_post_recv(p, side, i, 1 + pair_rand(p, 2));
		}
		if (!pair_rand(p, 3)) {
			pair_run(p, pair_rand(p, 100000), NULL);
			check_books(ch);
		}
		if (!pair_rand(p, 10))
			event(ch);
	}
	/* Peace: whatever is left comes to an end, good or bad. */
#ifndef __KERNEL__
	mroce_shim_fail_alloc(0, 0);
#endif
	p->net.dead_sport = 0;
	p->net.loss = 0;
	p->net.loss_ack = 0;
	for (side = 0; side < ch->n_sides; side++) {
		ch->pool[side] += 64;
		for (i = 0; i < ch->n_streams; i++)
			pair_post_recv(p, side, i, PAIR_MSGS);
	}
	if (!ch->failed && !pair_run(p, 60 * SEC, all_over)) {
		ch->failed = true;
		KUNIT_FAIL(test, "seed %llu: stalled",
			   (unsigned long long)seed);
	}
	if (!ch->failed)
		pair_run(p, 5 * SEC, NULL);
	check_books(ch);
	check_end(ch);
	pair_free(p);
	return !ch->failed;
}

static void test_chaos(struct kunit *test)
{
	u64 seed;

	for (seed = 1; seed <= CHAOS_SEEDS; seed++)
		if (!chaos_run(test, seed))
			return;
}

/* ---- a peer that lies --------------------------------------------------------- */

static u32 near(struct pair *p, u32 x, u32 spread)
{
	return x + pair_rand(p, 2 * spread) - spread;
}

static void lie_of_data(struct pair *p, struct mroce_conn *c,
			struct tstream *ts, struct mroce_pkt *pkt)
{
	static const u8 ops[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15 };
	struct mroce_stream *s = &ts->s;
	struct mroce_path_rx *r;
	struct mroce_msg *m;

	pkt->type = MROCE_T_DATA;
	pkt->opcode = ops[pair_rand(p, ARRAY_SIZE(ops))];
	pkt->path = pair_rand(p, 3);
	r = mroce_path_rx_of(c, pkt->path);
	pkt->psn = near(p, r ? r->cum + 1 : c->psn0, pair_rand(p, 2) ? 2 : 300);
	pkt->ts = r ? near(p, r->newest_ts + 2, 4) : 1;
	pkt->epoch = pair_rand(p, 2);
	pkt->flags = pair_rand(p, 2) ? MROCE_F_LAST : 0;
	pkt->data.dqpn = ts->s.a.qpn;
	pkt->data.sqpn = ts->s.a.dqpn;
	pkt->data.attempt = pair_rand(p, 3);
	pkt->data.msn = near(p, s->msn_rcv + 1, pair_rand(p, 4) ? 3 : 1030);
	pkt->data.va = pair_rand(p, 20) ? pair_rand(p, PAIR_MEM / 2) & ~7 :
					  U64_MAX - 3;
	pkt->data.rkey = !!pair_rand(p, 40);
	pkt->data.len = pair_rand(p, 2) ? pair_rand(p, 70) :
					  pair_rand(p, 9000);
	pkt->data.offset = pkt->flags || !pair_rand(p, 2) ?
			   0 : pair_rand(p, pkt->data.len + 1);
	pkt->data.rsn = near(p, s->rsn_rcv + 1, 3);
	pkt->data.cookie = 0;
	pkt->data.code = MROCE_NAK_INV_REQ + pair_rand(p, 3);
	pkt->data.has_vec = pair_rand(p, 2);
	pkt->data.vec[pair_rand(p, 4)] = (u64)mroce_random_u32() << 16;
	pkt->payload_len = pair_rand(p, 2) ? pkt->data.len - pkt->data.offset :
					     pair_rand(p, 1400);
	if (!op_is_response(pkt->opcode))
		return;
	pkt->data.msn = near(p, s->msn_una + 1, 3);
	m = stream_msg(s, pkt->data.msn);
	if (!m)
		return;
	pkt->data.cookie = m->cookie;
	pkt->data.offset = m->resp_bytes;
	pkt->payload_len = pair_rand(p, 3) ? m->len - m->resp_bytes :
					     pair_rand(p, 1400);
	pkt->flags = m->resp_bytes + pkt->payload_len == m->len ?
		     MROCE_F_LAST : 0;
}

static void lie_of_answer(struct pair *p, struct mroce_conn *c,
			  struct mroce_pkt *pkt)
{
	struct mroce_path_tx *tx = c->tx[pair_rand(p, c->n_tx)];
	static const struct mroce_slot none;
	u32 psn = near(p, tx->una + 2, pair_rand(p, 3) ? 3 : 270);
	const struct mroce_slot *sl = &none;

	if (tx->slot)
		sl = &tx->slot[psn_idx(psn)];
	pkt->path = tx->id;
	pkt->psn = psn;
	if (pair_rand(p, 2)) {
		pkt->type = MROCE_T_NAK;
		pkt->nak.qpn = sl->qpn;
		pkt->nak.msn = sl->msn;
		pkt->nak.attempt = sl->attempt + !pair_rand(p, 20);
		pkt->nak.code = 1 + pair_rand(p, pair_rand(p, 4) ? 3 : 7);
		pkt->nak.timer = pkt->nak.code == MROCE_NAK_RNR ?
				 1 + pair_rand(p, 3) : 0;
		return;
	}
	pkt->type = MROCE_T_ACK;
	pkt->opcode = MROCE_ACK_FULL;
	pkt->epoch = tx->epoch - !pair_rand(p, 4);
	pkt->ack.echo_ts = near(p, tx->last_ts, 10);
	pkt->ack.hold = pair_rand(p, 3);
	pkt->ack.n_recv = near(p, tx->n_recv, 20);
	pkt->ack.n_ce = near(p, tx->n_ce, 20);
	pkt->ack.vec[0] = pair_rand(p, 16);
	if (!pair_rand(p, 8))
		pkt->ack.vec[pair_rand(p, 4)] = mroce_random_u32();
}

/*
 * Side 1's honest answers are lost; a liar who knows everything speaks in its
 * place. Side 0's own books must hold whatever he says; its messages may fail.
 */
static bool hostile_run(struct kunit *test, u64 seed)
{
	struct chaos *ch = kunit_kzalloc(test, sizeof(*ch), GFP_KERNEL);
	struct pair *p = pair_new(test, seed, 1500);
	struct mroce_conn *c = &p->side[0].c;
	u8 *wire = kunit_kzalloc(test, 16384, GFP_KERNEL);
	struct mroce_pkt pkt;
	struct tstream *ts;
	u32 len, va;
	int i, k;

	ch->p = p;
	ch->seed = seed;
	ch->n_sides = 1;
	ch->n_streams = 2;
	for (i = 0; i < 2; i++) {
		pair_ts(p, 0, i)->tune.timeout = 14;
		pair_ts(p, 0, i)->tune.retry_cnt = 7;
		pair_ts(p, 0, i)->tune.rnr_retry = 7;
		pair_up(p, i);
	}
	KUNIT_ASSERT_TRUE(test, pair_run(p, SEC, opened));
	p->net.cut = true;
	p->net.jitter_ns = 20000;
	p->net.slow_copy = pair_rand(p, 2) ? 20000 : 0;
	p->liar = true;
	for (k = 0; k < 3000 && !ch->failed; k++) {
		ts = pair_ts(p, 0, pair_rand(p, 2));
		if (ts->s.tx_state == MROCE_TX_READY &&
		    mroce_stream_pending(&ts->s) < 8 &&
		    ts->n_posted < PAIR_MSGS) {
			u8 op = chaos_ops[pair_rand(p, ARRAY_SIZE(chaos_ops))];

			len = pair_rand(p, 5000);
			va = pair_rand(p, 1000);
			if (op == MROCE_OP_CMP_SWAP || op == MROCE_OP_FETCH_ADD)
				len = 8;
			pair_post(p, 0, ts - p->side[0].ts, op, len, va,
				  !pair_rand(p, 8));
		}
		if (ts->n_recv_posted < PAIR_MSGS && !pair_rand(p, 4))
			pair_post_recv(p, 0, ts - p->side[0].ts, 1);
		if (ts->s.tx_state == MROCE_TX_ERR ||
		    ts->s.rx_state == MROCE_RX_ERR || !pair_rand(p, 300) ||
		    ts->n_posted >= PAIR_MSGS || ts->n_recv_done > 400) {
			pair_reset(p, 0, ts - p->side[0].ts);
			check_books(ch);
			pair_run(p, p->net.jitter_ns + 1, NULL);
			ts->psn_shift = pair_rand(p, 1 << 24);
			pair_attach(p, 0, ts - p->side[0].ts);
			pair_start(p, 0, ts - p->side[0].ts);
		}
		memset(&pkt, 0, sizeof(pkt));
		pkt.conn = c->id;
		pkt.tag = c->tag;
		if (pair_rand(p, 2) && c->n_tx)
			lie_of_answer(p, c, &pkt);
		else
			lie_of_data(p, c, ts, &pkt);
		len = mroce_wire_build(&pkt, wire, 16384);
		if (!len)
			continue;
		if (pkt.type == MROCE_T_DATA && pkt.payload_len < 9000)
			len += pkt.payload_len;
		pair_inject(p, 0, wire, len, 50000 + pair_rand(p, 9));
		pair_run(p, pair_rand(p, 4) ? 0 : pair_rand(p, 3 * MS), NULL);
		check_books(ch);
	}
	pair_free(p);
	return !ch->failed;
}

static void test_hostile(struct kunit *test)
{
	u64 seed;

	for (seed = 1; seed <= CHAOS_SEEDS; seed++)
		if (!hostile_run(test, seed))
			return;
}

static struct kunit_case chaos_cases[] = {
	KUNIT_CASE(test_hostile),
	KUNIT_CASE(test_chaos),
	{}
};

static struct kunit_suite chaos_suite = {
	.name = "metaroce-chaos",
	.test_cases = chaos_cases,
};

kunit_test_suite(chaos_suite);
