// SPDX-License-Identifier: GPL-2.0
/*
 * A path, sender's side: what is outstanding, what is lost, when to ask.
 *
 * A packet is (path, PSN) for ever. A path is FIFO, so the newest delivered
 * transmission, told by its echoed time stamp, proves every older undelivered
 * one of the same epoch lost: first losses and lost retransmissions alike (RACK
 * with a zero window, rules 27-31). Where nothing comes back, one tail probe
 * is sent, then the path takes another source port (rules 30, 33).
 *
 *   out bit  lost bit
 *      0        0      acknowledged, or never sent
 *      1        0      in flight
 *      1        1      lost: to be sent again under the same PSN
 */
#include "internal.h"

static const u64 ns_per_ts = 1ULL << MROCE_TS_SHIFT;

u64 path_rto_ns(const struct mroce_path_tx *p)
{
	if (!p->srtt_ns)
		return MROCE_RTO_INITIAL_NS;
	return max_t(u64, p->srtt_ns + 4 * p->rttvar_ns, MROCE_RTO_MIN_NS);
}

static u64 path_rto_backed_ns(const struct mroce_path_tx *p)
{
	return min_t(u64, path_rto_ns(p) << min_t(u8, p->backoff, 10),
		     MROCE_RTO_CAP_NS);
}

/*
 * Silence that makes a tail probe worth its packet. Where many send to one, an
 * answer comes no sooner than this sender's turn. What the RTT was before a pause
 * says nothing of a burst after it: others may have begun at the same moment, and
 * if it is lost as a whole, the route is. Of a burst that is lost in part
 * the rest is answered, and then the RTT is known. A packet alone is not much to
 * send twice.
 */
static u64 path_pto_ns(struct mroce_conn *c, const struct mroce_path_tx *p)
{
	if (!p->srtt_ns || (p->stale && p->nxt - p->una > 1))
		return MROCE_RTO_INITIAL_NS;
	return max3(2 * p->srtt_ns, p->srtt_ns + 4 * p->rttvar_ns,
		    MROCE_TLP_MIN_NS) +
	       min(p->hold_ts * ns_per_ts, path_rto_ns(p)) +
	       2 * mroce_plane_of(c, p->plane)->pace_gap_ns;
}

/* Silence after a tail probe that makes the route suspect. */
static u64 path_suspect_ns(const struct mroce_path_tx *p)
{
	return max_t(u64, p->srtt_ns + 4 * p->rttvar_ns, MROCE_SILENCE_NS);
}

/* Open the next path; NULL if all are open or memory is short. */
struct mroce_path_tx *path_tx_open(struct mroce_conn *c, u64 now)
{
	struct mroce_path_tx *p;
	int plane;

	plane = plane_for_path(c);
	if (plane < 0)
		return NULL;
	p = rest_tx_room(c) ? mroce_zalloc(sizeof(*p)) : NULL;
	if (!p) {
		cnt_inc(c, MROCE_CNT_NOMEM);
		return NULL;
	}
	p->id = c->n_tx;
	p->plane = plane;
	p->home = plane;
	p->sport = c->ops->new_sport(c, plane);
	p->una = c->psn0;
	p->nxt = c->psn0;
	p->guard_psn = c->psn0;
	p->deadline = MROCE_NEVER;
	p->last_ts = conn_ts(c, now) - 1;
	if (c->probe_rtt_ns) {
		p->srtt_ns = c->probe_rtt_ns;
		p->rttvar_ns = c->probe_rtt_ns / 2;
		p->min_rtt_ns = c->probe_rtt_ns;
		p->min_rtt_at = now;
		p->last_tx_ns = c->init_sent_ns;	/* it is as old */
	}
	if (plane)
		plane_rtt(c, p);
	c->cc->path_init(c, p);
	c->tx[c->n_tx++] = p;
	cnt_inc(c, MROCE_CNT_PATHS);
	MROCE_TRACE(path_open, c, p, 0);
	return p;
}

/* The deadline of a path that has something outstanding. */
void path_arm(struct mroce_conn *c, struct mroce_path_tx *p)
{
	u64 since;

	if (p->una == p->nxt) {
		p->deadline = MROCE_NEVER;
		p->tlp_out = false;
		p->late = false;
		return;
	}
	if (!p->tlp_out) {
		p->deadline = p->last_tx_ns + path_pto_ns(c, p);
	} else {
		/* All in all no sooner than a host may be busy. */
		since = 2 * MROCE_SILENCE_NS;
		since -= min(since, path_pto_ns(c, p));
		since = min(max(since, path_suspect_ns(p)),
			    path_rto_backed_ns(p));
		if (p->rehomes || p->backoff)
			since = path_rto_backed_ns(p);
		/* The probe waits for its turn, too. */
		p->deadline = p->tlp_sent_ns + since +
			      2 * mroce_plane_of(c, p->plane)->pace_gap_ns;
	}
	c->path_deadline = min(c->path_deadline, p->deadline);
}

/* The first of what is going to be outstanding. */
void path_tx_begin(struct mroce_conn *c, struct mroce_path_tx *p, u64 now)
{
	if (elapsed(now, p->last_tx_ns) <= path_rto_ns(p))
		return;
	p->stale = true;
	c->cc->on_idle(c, p);
}

/* Not by a later one's arrival: because nothing is known of them any more. */
static void path_all_lost(struct mroce_conn *c, struct mroce_path_tx *p,
			  const struct mroce_slot *but)
{
	struct mroce_slot *sl;

	while (p->inflight) {
		sl = &p->slot[p->sent_first];
		if (sl == but)		/* the last one: it has just begun */
			break;
		sl->flags |= MROCE_SLOT_SILENCE;
		path_tx_mark_lost(c, p, p->una + psn_idx(p->sent_first -
							 p->una));
	}
}

/*
 * The peer asks to be told who we are: it was not open, and what came before that
 * was of no effect (rule 39). That is no sign of congestion. Where something was
 * acknowledged the question is an old one.
 */
void path_tx_unheard(struct mroce_conn *c)
{
	int i;

	for (i = 0; i < c->n_tx; i++)
		if (!c->tx[i]->has_echo)
			path_all_lost(c, c->tx[i], NULL);
}

/* Strictly increasing per transmission of the path (rule 27). */
void path_tx_stamp(struct mroce_conn *c, struct mroce_path_tx *p,
		   struct mroce_slot *sl, u64 now)
{
	u32 ts = conn_ts(c, now);

	/* After a long rest the stamps have come around: the old ones say
	 * nothing any more. The receiver forgets them, too. What the host
	 * slept over in flight is not there any more.
	 */
	if (elapsed(now, p->last_tx_ns) > 60 * SEC) {
		p->last_ts = ts - 1;
		p->has_echo = false;
		path_all_lost(c, p, sl);
	}
	if (!mroce_seq_after(ts, p->last_ts))
		ts = p->last_ts + 1;
	p->last_ts = ts;
	sl->ts = ts;
	sl->epoch = p->epoch;
}

void path_tx_sent(struct mroce_conn *c, struct mroce_path_tx *p, u64 now)
{
	p->last_tx_ns = now;
	if (!p->tlp_out)
		path_arm(c, p);
}

/*
 * What is in flight is a list in the order of transmission, so that an ACK looks
 * at what it proves lost and not at the whole window, and the newest is at hand.
 * A transmission that begins goes to its end.
 */
void path_tx_in_flight(struct mroce_path_tx *p, u32 psn)
{
	u8 i = psn_idx(psn);

	if (p->inflight++) {
		p->slot[p->sent_last].sent_next = i;
		p->slot[i].sent_prev = p->sent_last;
	} else {
		p->sent_first = i;
	}
	p->sent_last = i;
}

void path_tx_not_in_flight(struct mroce_path_tx *p, u32 psn)
{
	u8 i = psn_idx(psn), next, prev;

	if (!--p->inflight)
		return;
	next = p->slot[i].sent_next;
	prev = p->slot[i].sent_prev;
	if (i == p->sent_first)
		p->sent_first = next;
	else
		p->slot[prev].sent_next = next;
	if (i == p->sent_last)
		p->sent_last = prev;
	else
		p->slot[next].sent_prev = prev;
}

void path_tx_mark_lost(struct mroce_conn *c, struct mroce_path_tx *p, u32 psn)
{
	if (__test_and_set_bit(psn_idx(psn), p->lost))
		return;
	p->slot[psn_idx(psn)].flags |= MROCE_SLOT_LOST;
	path_tx_not_in_flight(p, psn);
	p->n_lost++;
	c->n_lost++;
}

void path_tx_unmark_lost(struct mroce_conn *c, struct mroce_path_tx *p, u32 psn)
{
	if (!__test_and_clear_bit(psn_idx(psn), p->lost))
		return;
	p->slot[psn_idx(psn)].flags &= ~MROCE_SLOT_LOST;
	path_tx_in_flight(p, psn);
	p->n_lost--;
	c->n_lost--;
}

static void path_rtt(struct mroce_path_tx *p, u64 rtt_ns, u64 now)
{
	u64 delta;

	/* Without an end the minimum of a route that was shorter would pass
	 * for a standing queue on the one of today, and the window stay shut.
	 */
	if (!p->min_rtt_ns || rtt_ns <= p->min_rtt_ns ||
	    elapsed(now, p->min_rtt_at) > MROCE_MIN_RTT_NS) {
		p->min_rtt_ns = rtt_ns;
		p->min_rtt_at = now;
	}
	if (!p->srtt_ns || p->stale) {
		p->stale = false;
		p->srtt_ns = rtt_ns;
		p->rttvar_ns = rtt_ns / 2;
		return;
	}
	delta = rtt_ns > p->srtt_ns ? rtt_ns - p->srtt_ns : p->srtt_ns - rtt_ns;
	p->rttvar_ns = (3 * p->rttvar_ns + delta) / 4;
	p->srtt_ns = (7 * p->srtt_ns + rtt_ns) / 8;
}

/*
 * The original of a resent packet had arrived after all: it was late, not
 * lost. The guard learns by how much (rule 29). What was resent because of
 * silence was not taken for lost, and is no evidence: the original may have
 * arrived in time, or by another route.
 */
static void path_spurious(struct mroce_conn *c, struct mroce_path_tx *p,
			  const struct mroce_slot *sl, u32 echo_ts)
{
	u32 late, cap;

	if (sl->flags & MROCE_SLOT_SILENCE)
		return;
	cnt_inc(c, MROCE_CNT_SPURIOUS);
	late = p->has_echo ? p->echo_ts - sl->first_ts : 0;
	if ((s32)late <= 0)
		return;
	cap = (u32)min_t(u64, p->srtt_ns / 4 / ns_per_ts, U32_MAX);
	p->guard_ts = min(max(p->guard_ts, late), cap);
	p->guard_rounds = 0;
	p->guard_psn = p->nxt;
}

/* How many this acknowledges anew: one or none. */
static u32 path_acked(struct mroce_conn *c, struct mroce_path_tx *p, u32 psn,
		      const struct mroce_pkt *pkt, u64 now)
{
	struct mroce_slot *sl;

	if (!__test_and_clear_bit(psn_idx(psn), p->out))
		return 0;
	sl = &p->slot[psn_idx(psn)];
	if ((sl->flags & MROCE_SLOT_RESENT) && sl->epoch == pkt->epoch &&
	    mroce_seq_before(pkt->ack.echo_ts, sl->ts))
		path_spurious(c, p, sl, pkt->ack.echo_ts);
	if (__test_and_clear_bit(psn_idx(psn), p->lost)) {
		p->n_lost--;
		c->n_lost--;
	} else {
		path_tx_not_in_flight(p, psn);
	}
	p->rtx_budget++;
	if (sl->flags & MROCE_SLOT_VOID)
		stream_voided(c, sl);
	else
		stream_acked(c, sl, now);
	sl->s = NULL;
	return 1;
}

/* Transmissions proven lost by a newer one's arrival. */
static u32 path_find_lost(struct mroce_conn *c, struct mroce_path_tx *p,
			  u32 echo_ts, u8 epoch)
{
	struct mroce_slot *sl;
	u32 n = 0, psn;

	/* Re-homing takes all for lost: what is in flight left since then. */
	if (epoch != p->epoch)
		return 0;
	while (p->inflight) {
		sl = &p->slot[p->sent_first];
		if (!mroce_seq_before(sl->ts + p->guard_ts, echo_ts))
			break;
		psn = p->una + psn_idx(p->sent_first - p->una);
		path_tx_mark_lost(c, p, psn);
		sl->flags &= ~MROCE_SLOT_SILENCE;
		if (!(sl->flags & MROCE_SLOT_VOID)) {
			cnt_inc(c, MROCE_CNT_LOST);
			MROCE_TRACE(lost, c, p, psn);
			n++;
		}
	}
	return n;
}

static void path_guard_decay(struct mroce_path_tx *p)
{
	if (!p->guard_ts || !mroce_seq_after(p->una, p->guard_psn))
		return;
	p->guard_psn = p->nxt;
	if (++p->guard_rounds < 16)
		return;
	p->guard_rounds = 0;
	p->guard_ts /= 2;
}

/* An echo is not newer than the last stamp, nor very old. */
static bool echo_valid(const struct mroce_path_tx *p, u32 echo_ts)
{
	return !mroce_seq_after(echo_ts, p->last_ts) &&
	       p->last_ts - echo_ts < MROCE_TS_VALID;
}

/* Rule 31: what an acknowledgment may say. */
static bool ack_valid(const struct mroce_path_tx *p,
		      const struct mroce_pkt *pkt)
{
	u32 cum = pkt->psn, n = p->nxt - 1 - cum, i;

	/* cum in [una - 1, nxt - 1] */
	if (cum - (p->una - 1) > p->nxt - p->una)
		return false;
	/* no bit at or beyond nxt */
	for (i = 0; i < MROCE_VEC_WORDS; i++) {
		u64 word = pkt->ack.vec[i];

		if (n >= 64 * (i + 1))
			continue;
		if (n > 64 * i)
			word &= ~((1ULL << (n - 64 * i)) - 1);
		if (word)
			return false;
	}
	return echo_valid(p, pkt->ack.echo_ts);
}

/* Overtaken by one that said more, or a copy: of no use, but honest. */
static bool ack_late(const struct mroce_path_tx *p, const struct mroce_pkt *pkt)
{
	return mroce_seq_before(pkt->psn, p->una - 1) &&
	       echo_valid(p, pkt->ack.echo_ts);
}

/*
 * Paths that share a port share a route: more of them is no gain. What was dead may be
 * back: another port is tried, when nothing is outstanding or in the end as it is.
 */
static void path_own_port(struct mroce_conn *c, struct mroce_path_tx *p, u64 now)
{
	if (!p->borrowed || elapsed(now, p->rehome_ns) <
	    (p->una == p->nxt ? MROCE_BORROW_NS : 2 * MROCE_BORROW_NS))
		return;
	path_rehome(c, p, now);
	p->rtx_budget = 0;
}

/*
 * A path is heard again after timeouts. Nobody was there, or there was no way:
 * now there is one, and the others of its plane need not wait out what they have
 * doubled in the meantime.
 */
static void path_way_found(struct mroce_conn *c, const struct mroce_path_tx *p)
{
	struct mroce_path_tx *q;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		q = c->tx[i];
		if (q == p || q->plane != p->plane || !q->backoff)
			continue;
		q->backoff = 0;
		path_arm(c, q);
	}
}

void path_tx_ack(struct mroce_conn *c, const struct mroce_pkt *pkt, u64 now)
{
	struct mroce_cc_sample sa = {};
	struct mroce_path_tx *p;
	u32 cum = pkt->psn, ts = conn_ts(c, now);
	u32 i, lost_before;
	bool fresh, newer;

	cnt_inc(c, MROCE_CNT_RX_ACK);
	p = pkt->path < c->n_tx ? c->tx[pkt->path] : NULL;
	if (!p || !ack_valid(p, pkt)) {
		cnt_inc(c, p && ack_late(p, pkt) ? MROCE_CNT_ACK_STALE :
						   MROCE_CNT_RX_BADACK);
		return;
	}
	p->last_rx_ns = now;
	c->last_heard_ns = now;
	p->tlp_out = false;
	p->late = false;
	if (p->backoff)
		path_way_found(c, p);
	p->backoff = 0;
	p->rehomes = 0;

	sa.prior_inflight = p->inflight;
	lost_before = p->n_lost;
	p->rtx_budget = 0;

	while (!mroce_seq_after(p->una, cum)) {
		sa.acked += path_acked(c, p, p->una, pkt, now);
		p->una++;
	}
	for (i = 0; i < MROCE_VEC_WORDS; i++) {
		u64 word = pkt->ack.vec[i];

		while (word) {
			u32 bit = __ffs64(word);

			word &= word - 1;
			sa.acked += path_acked(c, p, cum + 1 + 64 * i + bit,
					       pkt, now);
		}
	}
	/* PSNs acknowledged by an earlier vector: let the window slide. */
	while (p->una != p->nxt && !test_bit(psn_idx(p->una), p->out))
		p->una++;

	fresh = !p->has_echo ||
		!mroce_seq_before(pkt->ack.n_recv, p->n_recv);
	newer = !p->has_echo || mroce_seq_after(pkt->ack.echo_ts, p->echo_ts);
	if (fresh) {
		if (newer) {
			u32 away = ts - pkt->ack.echo_ts;

			if (away > pkt->ack.hold && away < MROCE_TS_VALID) {
				sa.rtt_ns = max_t(u64, (away - pkt->ack.hold) *
						  ns_per_ts, US);
				path_rtt(p, sa.rtt_ns, now);
				p->hold_ts = max(pkt->ack.hold,
						 p->hold_ts - p->hold_ts / 8);
			}
		}
		sa.marked = pkt->ack.n_ce - p->n_ce;
		if (sa.marked > MROCE_PATH_WINDOW)
			sa.marked = sa.acked;
		cnt_add(c, MROCE_CNT_TX_CE_ECHO, sa.marked);
		p->n_recv = pkt->ack.n_recv;
		p->n_ce = pkt->ack.n_ce;
		pace_hint(c, pkt->ack.hint_kbps, now);
		sa.lost = path_find_lost(c, p, pkt->ack.echo_ts, pkt->epoch);
		if (newer)
			p->echo_ts = pkt->ack.echo_ts;
		p->has_echo = true;
	}
	path_guard_decay(p);

	sa.una = p->una;
	sa.nxt = p->nxt;
	sa.app_limited = sa.prior_inflight + 1 < p->cc.cwnd_x256 >> 8 &&
			 !lost_before;
	c->cc->on_ack(c, p, &sa);

	/* The path was heard: the clock of silence starts anew. A copy of an old
	 * ACK makes a path that is idle no less so.
	 */
	if (sa.acked || p->una != p->nxt)
		p->last_tx_ns = now;
	path_own_port(c, p, now);
	path_arm(c, p);
}

void path_tx_nak(struct mroce_conn *c, const struct mroce_pkt *pkt, u64 now)
{
	struct mroce_path_tx *p;

	cnt_inc(c, MROCE_CNT_RX_NAK);
	p = pkt->path < c->n_tx ? c->tx[pkt->path] : NULL;
	if (!p || pkt->psn - p->una >= p->nxt - p->una ||
	    !test_bit(psn_idx(pkt->psn), p->out)) {
		cnt_inc(c, MROCE_CNT_NAK_STALE);
		return;
	}
	c->last_heard_ns = now;
	p->last_rx_ns = now;
	stream_nak(c, p, pkt->psn, pkt, now);
}

/*
 * A port for a path that has to leave its own: one that it has not tried, at first.
 * If that is bad as well, that of a path of the same plane that was heard later and
 * owes no answer: its route is good, both ways, as far as is known.
 */
static void path_take_port(struct mroce_conn *c, struct mroce_path_tx *p)
{
	const struct mroce_path_tx *q;
	int i;

	for (i = 1; p->rehomes && i < c->n_tx; i++) {
		q = c->tx[(p->id + i) % c->n_tx];
		if (q->plane == p->plane && q->sport != p->sport &&
		    !q->tlp_out && q->last_rx_ns > p->last_rx_ns) {
			p->sport = q->sport;
			p->borrowed = true;
			return;
		}
	}
	p->sport = c->ops->new_sport(c, p->plane);
	p->borrowed = false;
}

/*
 * Another source port, the same id and PSNs: everything that may still be on
 * the old route is sent again on the new one (rule 33).
 */
void path_rehome(struct mroce_conn *c, struct mroce_path_tx *p, u64 now)
{
	u16 from = p->sport;
	u32 psn;

	path_take_port(c, p);
	p->epoch++;
	if (p->rehomes < U8_MAX)
		p->rehomes++;
	p->rehome_ns = now;
	p->min_rtt_ns = 0;	/* of the old route */
	cnt_inc(c, MROCE_CNT_REHOME);
	for_each_out(p, psn) {
		p->slot[psn_idx(psn)].flags |= MROCE_SLOT_MOVED |
					       MROCE_SLOT_SILENCE;
		path_tx_mark_lost(c, p, psn);
	}
	p->rtx_budget = p->n_lost;
	MROCE_TRACE(rehome, c, p, from);
}

void mroce_conn_rehome(struct mroce_conn *c, struct mroce_path_tx *p, u64 now)
{
	if (!plane_silent(c, p, now))
		path_rehome(c, p, now);
}

/* The newest transmission that is unacknowledged: any answer to it proves
 * all older ones lost.
 */
static bool path_newest(const struct mroce_path_tx *p, u32 *newest)
{
	bool found = false;
	u32 psn, ts = 0;

	for_each_out(p, psn) {
		const struct mroce_slot *sl = &p->slot[psn_idx(psn)];

		if (found && !mroce_seq_after(sl->ts, ts))
			continue;
		found = true;
		ts = sl->ts;
		*newest = psn;
	}
	return found;
}

static void path_probe(struct mroce_conn *c, struct mroce_path_tx *p, u64 now)
{
	u32 psn = p->una;

	p->tlp_sent_ns = now;
	p->tlp_out = true;
	if (!path_newest(p, &psn))
		return;
	p->slot[psn_idx(psn)].flags |= MROCE_SLOT_SILENCE;
	path_tx_mark_lost(c, p, psn);
	if (!p->rtx_budget)
		p->rtx_budget = 1;
	MROCE_TRACE(tail_probe, c, p, psn);
}

static bool heard_elsewhere(const struct mroce_conn *c,
			    const struct mroce_path_tx *p, u64 since)
{
	int i;

	for (i = 0; i < c->n_tx; i++)
		if (c->tx[i] != p && c->tx[i]->last_rx_ns > since)
			return true;
	return false;
}

/*
 * Each port is another route, tried for the first time: several of them may be bad,
 * one after the other, before that says anything of the peer. So the first
 * ones do not make the next one wait longer (rule 33).
 */
static void path_back_off(struct mroce_path_tx *p, u8 free)
{
	if (p->backoff < free || p->rehomes >= MROCE_FREE_REHOMES)
		p->backoff += p->backoff < U8_MAX;
}

/*
 * Normal -> (silence) -> tail probe -> (silence) -> another port if the peer
 * is heard elsewhere, else RTO; from the second RTO on another port too.
 */
static void path_timer(struct mroce_conn *c, struct mroce_path_tx *p, u64 now)
{
	if (p->una == p->nxt) {
		path_arm(c, p);
		return;
	}
	/* A deadline served late says more of this host than of the path:
	 * let the receive queue drain first (rule 38).
	 */
	if (!p->late && elapsed(now, p->deadline) >
			max_t(u64, MS, path_rto_ns(p) / 4)) {
		p->late = true;
		p->deadline = now + max_t(u64, p->srtt_ns, MROCE_SILENCE_NS);
		return;
	}
	p->late = false;

	if (!p->tlp_out) {
		cnt_inc(c, MROCE_CNT_TLP);
		path_probe(c, p, now);
	} else if (heard_elsewhere(c, p, p->tlp_sent_ns) &&
		   elapsed(now, p->rehome_ns) >= path_rto_backed_ns(p)) {
		path_back_off(p, 0);
		mroce_conn_rehome(c, p, now);
		p->tlp_sent_ns = now;
	} else {
		cnt_inc(c, MROCE_CNT_RTO);
		c->cc->on_rto(c, p);
		MROCE_TRACE(rto, c, p,
			    (u32)div_u64(path_rto_backed_ns(p), US));
		path_back_off(p, 2);
		/* With several planes that would tell of a dead one. */
		if (p->backoff >= 2 ||
		    (p->id & 1 && !c->mp &&
		     elapsed(now, p->rehome_ns) >= path_rto_ns(p)))
			mroce_conn_rehome(c, p, now);
		path_probe(c, p, now);
	}
	path_arm(c, p);
}

/*
 * The bound is asked for with each packet, the paths only when a timer fires: their
 * deadlines move outwards in between. Whatever it fired for, the bound is
 * exact then, or one that is old would let it fire again for nothing.
 */
void path_tx_timers(struct mroce_conn *c, u64 now)
{
	int i;

	c->path_deadline = MROCE_NEVER;
	for (i = 0; i < c->n_tx; i++) {
		if (now >= c->tx[i]->deadline)
			path_timer(c, c->tx[i], now);
		c->path_deadline = min(c->path_deadline, c->tx[i]->deadline);
	}
}
