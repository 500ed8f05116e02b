// SPDX-License-Identifier: GPL-2.0
/*
 * Planes: separate networks between the same two devices, and which of them the
 * paths of a connection use.
 *
 * A device owns up to 16 planes, and a plane pairs with the peer's of the same
 * id. INIT and INIT_ACK say what addresses a device has on its planes; on a
 * connection that is open, another INIT of the same incarnation says that they have
 * changed. An address that came so is used, and accepted, only after a PROBE to it
 * was answered: nobody can name a stranger's (rule 44). Plane 0 is the one of the
 * handshake, which proves it.
 *
 *         both ends name it          PROBE answered
 *   NONE --------------------> UNPROVEN ----------> UP <-.
 *    ^                             |   silence,     |    | PROBE
 *    |  own address gone,          |   no carrier   v    | answered
 *    |  peer's is another          +------------- DOWN --'
 *    '-----------------------------'
 *
 * What the peer takes off its list, or this end drains, stays as it is, but is not
 * used for anything new.
 *
 * A plane falls silent if two of its paths do so within a round trip, or one
 * twice in a row, while no other of its paths is heard; but not the last that is
 * up, since nothing is gained by leaving it. Then all its paths re-home at once to
 * the others: same ids, same PSNs, so nothing is lost or placed twice, and no
 * stream notices (rules 33, 34). When it is back they go home one by one, each
 * when nothing of it is outstanding: so nothing is sent twice for that.
 */
#include "internal.h"

const char * const mroce_plane_state_names[MROCE_N_PLANE_STATES] = {
	[MROCE_PLANE_NONE] = "none",
	[MROCE_PLANE_UNPROVEN] = "unproven",
	[MROCE_PLANE_UP] = "up",
	[MROCE_PLANE_DOWN] = "down",
};

static const u8 plane_next_states[MROCE_N_PLANE_STATES] = {
	[MROCE_PLANE_NONE] = BIT(MROCE_PLANE_UNPROVEN),
	[MROCE_PLANE_UNPROVEN] = BIT(MROCE_PLANE_UP) | BIT(MROCE_PLANE_NONE),
	[MROCE_PLANE_UP] = BIT(MROCE_PLANE_DOWN) | BIT(MROCE_PLANE_NONE),
	[MROCE_PLANE_DOWN] = BIT(MROCE_PLANE_UP) | BIT(MROCE_PLANE_NONE),
};

static void plane_set_state(struct mroce_plane *pl, enum mroce_plane_state to)
{
	WARN_ON_ONCE(!(plane_next_states[pl->state] & BIT(to)));
	pl->state = to;
}

static bool plane_proven(const struct mroce_plane *pl)
{
	return pl->state == MROCE_PLANE_UP || pl->state == MROCE_PLANE_DOWN;
}

static bool addr_none(const u8 addr[16])
{
	return !memchr_inv(addr, 0, 16);
}

/* Paths that a plane shall have; the last of many has room for its own, too. */
static u32 plane_want_paths(const struct mroce_conn *c)
{
	u32 n = c->cfg.n_paths ? c->cfg.n_paths : MROCE_DEF_PATHS;

	return min_t(u32, n, c->mp ? MROCE_MAX_PATHS / MROCE_MAX_PLANES :
				     MROCE_MAX_PATHS);
}

/* And all planes that can be used. */
u32 conn_want_paths(const struct mroce_conn *c)
{
	u32 n = c->mp ? max_t(u32, hweight16(c->mp->usable), 1) : 1;

	return n * plane_want_paths(c);
}

/* ---- where paths are ------------------------------------------------------- */

/* The usable plane with the fewest paths; there is one. */
static u8 plane_least(const struct mroce_conn *c)
{
	u8 n[MROCE_MAX_PLANES] = {};
	int i, k, best = -1;

	for (i = 0; i < c->n_tx; i++)
		n[c->tx[i]->plane]++;
	for (k = 0; k < MROCE_MAX_PLANES; k++)
		if (c->mp->usable & BIT(k) && (best < 0 || n[k] < n[best]))
			best = k;
	return best < 0 ? 0 : best;
}

/**
 * plane_for_path - on which plane to open another path
 * @c: connection
 *
 * Paths belong to where they were opened, wherever they are now: what is back gets
 * its own again, no new ones. Return: plane, or -1: all have theirs.
 */
int plane_for_path(const struct mroce_conn *c)
{
	u8 n[MROCE_MAX_PLANES] = {};
	int i, k, best = -1;

	if (!c->mp)
		return c->n_tx < plane_want_paths(c) ? 0 : -1;
	if (c->n_tx == MROCE_MAX_PATHS)
		return -1;
	for (i = 0; i < c->n_tx; i++)
		n[c->tx[i]->home]++;
	for (k = 0; k < MROCE_MAX_PLANES; k++) {
		if (!(c->mp->usable & c->mp->may & BIT(k)) ||
		    n[k] >= plane_want_paths(c))
			continue;
		if (best < 0 || n[k] < n[best])
			best = k;
	}
	if (best < 0 && !c->n_tx && !c->mp->usable)
		return 0;
	return best;
}

/*
 * What a path that comes to its plane may expect: as the slowest that is there.
 * Another plane's RTT would make silence of what only takes longer here.
 */
void plane_rtt(const struct mroce_conn *c, struct mroce_path_tx *p)
{
	const struct mroce_path_tx *q, *like = NULL;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		q = c->tx[i];
		if (q != p && q->plane == p->plane && q->srtt_ns &&
		    (!like || q->srtt_ns > like->srtt_ns))
			like = q;
	}
	if (!like)
		return;
	p->srtt_ns = like->srtt_ns;
	p->rttvar_ns = like->rttvar_ns;
}

/* Another plane: its window is what the paths have that are there. */
static void path_to(struct mroce_conn *c, struct mroce_path_tx *p, u8 plane,
		    u64 now)
{
	bool other = p->plane != plane;
	u32 n = 0, i;
	u64 sum = 0;

	for (i = 0; i < c->n_tx; i++) {
		if (c->tx[i]->plane != plane || c->tx[i] == p)
			continue;
		sum += c->tx[i]->cc.cwnd_x256;
		n++;
	}
	mroce_plane_of(c, p->plane)->window_x256 -= p->cc.cwnd_x256;
	p->plane = plane;
	mroce_plane_of(c, plane)->window_x256 += p->cc.cwnd_x256;
	if (n)
		path_set_window(c, p, max_t(u32, div_u64(sum, n), 256));
	if (other)
		plane_rtt(c, p);
	p->leaving = false;
	p->rehomes = 0;
	path_rehome(c, p, now);
	cnt_inc(c, MROCE_CNT_MOVED);
	/* A new life: no burst beyond the window, no old suspicion. */
	p->rtx_budget = 0;
	p->rehomes = 0;
	p->backoff = 0;
	p->tlp_out = false;
	p->late = false;
	/* What is idle stays so: its window and its stamps are as old. */
	if (p->una != p->nxt)
		p->last_tx_ns = now;
	path_arm(c, p);
}

/* Home if that can be used, else where there is most place. */
static u8 plane_of_path(const struct mroce_conn *c,
			const struct mroce_path_tx *p)
{
	return c->mp->usable & BIT(p->home) ? p->home : plane_least(c);
}

/* A path that is leaving has nothing outstanding any more? Then it goes. */
static bool path_settle(struct mroce_conn *c, struct mroce_path_tx *p, u64 now)
{
	if (!p->leaving)
		return true;
	if (!c->mp->usable)
		p->leaving = false;	/* where to? */
	else if (p->una == p->nxt)
		path_to(c, p, plane_of_path(c, p), now);
	return !p->leaving;
}

/*
 * What is usable has changed: see to the paths. A plane that one of the ends wants
 * left is left gently, one that has no addresses any more in any case.
 */
static void plane_update(struct mroce_conn *c, u64 now)
{
	struct mroce_planes *mp = c->mp;
	struct mroce_plane *pl;
	u16 gone = 0, usable = 0;
	int i, k;

	for_each_plane(c, pl, k) {
		if (pl->state == MROCE_PLANE_NONE)
			gone |= BIT(k);
		else if (pl->state == MROCE_PLANE_UP)
			usable |= BIT(k) & mp->carrier & ~mp->drain &
				  (mp->peer | BIT(0));
	}
	mp->usable = usable;
	for (i = 0; i < c->n_tx; i++) {
		struct mroce_path_tx *p = c->tx[i];

		if (usable & BIT(p->plane))
			continue;
		pl = mroce_plane_of(c, p->plane);
		if (!usable) {
			p->leaving = false;
			if (gone & BIT(p->plane))
				path_to(c, p, 0, now);
		} else if (pl->state == MROCE_PLANE_UP &&
			   mp->carrier & BIT(p->plane)) {
			p->leaving = true;
		} else {
			path_to(c, p, plane_least(c), now);
		}
	}
	/* Answers go where the question came from, if it is there. */
	for (i = 0; i < c->rx_room; i++)
		if (c->rx[i] && gone & BIT(c->rx[i]->plane))
			c->rx[i]->plane = usable ? __ffs(usable) : 0;
	mp->home_at = usable ? now : MROCE_NEVER;
	c->burst = U8_MAX;	/* choose anew */
}

/* A series of probes begins. */
static void plane_ask(struct mroce_plane *pl, u64 at)
{
	pl->probe_cookie = conn_random_u64();
	pl->probe_out = false;
	pl->probe_at = at;
}

/* Not because the peer wanted it: the intervals are short again. */
static void plane_ask_anew(struct mroce_plane *pl)
{
	pl->n_probes = 0;
	pl->probe_ns = 0;
	pl->probe_at = 0;
}

/* False: there is no other to go to. */
static bool plane_down(struct mroce_conn *c, u8 k, u64 now)
{
	struct mroce_plane *pl = mroce_plane_of(c, k);

	if (!(c->mp->usable & ~BIT(k)))
		return false;
	cnt_inc(c, MROCE_CNT_PLANE_DOWN);
	plane_set_state(pl, MROCE_PLANE_DOWN);
	pl->suspect_ns = 0;
	plane_ask_anew(pl);
	pl->n_probes = 1;	/* the wait for the first is one */
	plane_ask(pl, now + conn_jitter(MROCE_PLANE_PROBE_NS));
	plane_update(c, now);
	return true;
}

/* Another path of the plane was heard: it is alive, whatever ails this one. */
static bool plane_speaks(const struct mroce_conn *c,
			 const struct mroce_path_tx *p)
{
	int i;

	for (i = 0; i < c->n_tx; i++)
		if (c->tx[i] != p && c->tx[i]->plane == p->plane &&
		    c->tx[i]->last_rx_ns > p->tlp_sent_ns)
			return true;
	return false;
}

/**
 * plane_silent - a path has not been answered for long
 * @c: connection
 * @p: the path
 * @now: ns
 *
 * Return: true if that was the end of its plane, and the path is elsewhere.
 */
bool plane_silent(struct mroce_conn *c, struct mroce_path_tx *p, u64 now)
{
	struct mroce_plane *pl;
	u64 rtt;
	bool bad;

	if (!c->mp)
		return false;
	if (c->mp->usable && !(c->mp->usable & BIT(p->plane))) {
		path_to(c, p, plane_least(c), now);
		return true;
	}
	pl = mroce_plane_of(c, p->plane);
	if (pl->state != MROCE_PLANE_UP || plane_speaks(c, p))
		return false;
	rtt = max_t(u64, p->srtt_ns, MROCE_SILENCE_NS);
	bad = p->rehomes ||
	      (pl->suspect_ns && pl->suspect_path != p->id &&
	       elapsed(now, pl->suspect_ns) <= rtt);
	pl->suspect_ns = now;
	pl->suspect_path = p->id;
	return bad && plane_down(c, p->plane, now);
}

/* ---- choosing ---------------------------------------------------------------- */

/* May new packets go to this path? */
bool plane_may(struct mroce_conn *c, const struct mroce_path_tx *p)
{
	return !c->mp || (!p->leaving && pace_may(c, p));
}

/**
 * plane_pick - the path for the next new packet
 * @c: connection with planes
 * @awake: none that would need memory for it
 * @now: ns
 *
 * First the plane that is emptiest relative to the windows of its paths, then the
 * path. Return: path, or NULL: none has room.
 */
struct mroce_path_tx *plane_pick(struct mroce_conn *c, bool awake, u64 now)
{
	u32 out[MROCE_MAX_PLANES] = {}, win[MROCE_MAX_PLANES] = {};
	struct mroce_path_tx *p, *best = NULL;
	u16 room = 0;
	int i, k, plane = -1;

	for (i = 0; i < c->n_tx; i++) {
		p = c->tx[i];
		if (!path_settle(c, p, now) || !pace_may(c, p))
			continue;
		out[p->plane] += p->inflight;
		win[p->plane] += p->cc.cwnd_x256;
		if (path_room(p) && !(awake && !p->slot))
			room |= BIT(p->plane);
	}
	/* In turn among equals. */
	for (i = 1; i <= MROCE_MAX_PLANES; i++) {
		k = c->n_tx ? c->tx[c->cur_tx]->plane + i : i;
		k %= MROCE_MAX_PLANES;
		if (room & BIT(k) &&
		    (plane < 0 || (u64)out[k] * win[plane] <
				  (u64)out[plane] * win[k]))
			plane = k;
	}
	for (i = 1; i <= c->n_tx; i++) {
		p = c->tx[(c->cur_tx + i) % c->n_tx];
		if (p->plane != plane || p->leaving || !path_room(p) ||
		    (awake && !p->slot))
			continue;
		if (!best || (u64)p->inflight * best->cc.cwnd_x256 <
			     (u64)best->inflight * p->cc.cwnd_x256)
			best = p;
	}
	return best;
}

/* ---- who has what --------------------------------------------------------------- */

/* An address of the plane is gone, or is another one now. */
static void plane_gone(struct mroce_conn *c, u8 k)
{
	struct mroce_plane *pl = mroce_plane_of(c, k);

	c->mp->seq++;
	c->mp->want_probe &= ~BIT(k);
	c->mp->want_ack &= ~BIT(k);
	if (pl->state == MROCE_PLANE_NONE)
		return;
	share_plane_off(pl);
	plane_set_state(pl, MROCE_PLANE_NONE);
	pl->probe_out = false;
	pl->suspect_ns = 0;
	pl->pace_kbps = 0;
	pl->pace_gap_ns = 0;
}

/*
 * Both ends may have it now: begin to ask. What the peer names may be anybody's: it
 * does not make this end ask sooner, or more often, by naming another one.
 */
static void plane_pair(struct mroce_conn *c, u8 k, u64 now)
{
	struct mroce_plane *pl = mroce_plane_of(c, k);

	if (pl->state != MROCE_PLANE_NONE ||
	    !(c->mp->own & c->mp->peer & BIT(k)))
		return;
	plane_set_state(pl, MROCE_PLANE_UNPROVEN);
	plane_ask(pl, max(now, pl->probe_at));
	c->mp->seq++;
}

/* This end's planes changed: tell the peer until it says that it knows. */
static void plane_announce(struct mroce_conn *c, u64 now)
{
	c->mp->change_ts = conn_ts(c, now);
	c->mp->change_ns = now;
	if (c->state != MROCE_CONN_OPEN)
		return;
	c->mp->announce = true;
	c->init_tries = 0;
	/* No faster because a peer repeats what it has said before. */
	c->init_at = max(now, c->init_sent_ns + MROCE_INIT_GAP_NS);
	c->want_init = c->init_at == now;
}

/* The first that is not plane 0: from now on there is more to keep. */
static bool plane_alloc(struct mroce_conn *c)
{
	struct mroce_planes *mp;
	int k;

	if (c->mp)
		return true;
	mp = mroce_zalloc(sizeof(*mp));
	if (!mp) {
		cnt_inc(c, MROCE_CNT_NOMEM);
		return false;
	}
	mp->usable = BIT(0);
	mp->carrier = BIT(0);
	mp->may = U16_MAX;
	mp->home_at = MROCE_NEVER;
	for (k = 0; k < MROCE_MAX_PLANES - 1; k++)
		mp->p[k].share_at = MROCE_NEVER;
	c->plane0.state = MROCE_PLANE_UP;
	c->mp = mp;
	return true;
}

static u16 set_bit_to(u16 map, int k, bool on)
{
	return on ? map | BIT(k) : map & ~BIT(k);
}

/* One plane of this end. Return: the peer must hear of it. */
static bool plane_set_own(struct mroce_conn *c, int k,
			  const struct mroce_plane_own *own, u64 now)
{
	struct mroce_planes *mp = c->mp;
	struct mroce_plane *pl = mroce_plane_of(c, k);
	bool there = own->joined && !addr_none(own->addr);
	bool changed = mp->drain & BIT(k) ? !own->drain : own->drain;
	bool had = mp->own & BIT(k);
	bool carrier = mp->carrier & BIT(k);

	changed = changed && k;
	if (memcmp(mp->own_addr[k], own->addr, 16) || had != there) {
		if (k && had)
			plane_gone(c, k);
		if (k)
			plane_ask_anew(pl);
		memcpy(mp->own_addr[k], own->addr, 16);
		changed = true;
	}
	mp->own = set_bit_to(mp->own, k, there);
	mp->carrier = set_bit_to(mp->carrier, k, own->carrier);
	mp->drain = set_bit_to(mp->drain, k, own->drain);
	if (k) {
		if (pl->share != own->share)
			share_plane_off(pl);
		pl->share = own->share;
		plane_pair(c, k, now);
	}
	/* Back: ask at once. */
	if (own->carrier && !carrier)
		pl->probe_at = min(pl->probe_at, now);
	return changed;
}

void mroce_conn_set_planes(struct mroce_conn *c,
			   const struct mroce_plane_own own[MROCE_MAX_PLANES],
			   u64 now)
{
	struct mroce_plane *pl;
	bool more = false, changed = false;
	int k;

	if (c->cfg.self || c->state == MROCE_CONN_DEAD)
		return;
	for (k = 1; k < MROCE_MAX_PLANES; k++)
		more = more || own[k].joined;
	if ((!more && !c->mp) || !plane_alloc(c))
		return;
	for (k = 0; k < MROCE_MAX_PLANES; k++)
		changed = plane_set_own(c, k, &own[k], now) || changed;
	plane_update(c, now);
	/* No carrier: not the last, which is where paths stay then. */
	for_each_plane(c, pl, k)
		if (pl->state == MROCE_PLANE_UP && !(c->mp->carrier & BIT(k)))
			plane_down(c, k, now);
	if (changed)
		plane_announce(c, now);
}

/* A new incarnation: what was learnt of the peer is void. */
void plane_reset(struct mroce_conn *c, u64 now)
{
	struct mroce_planes *mp = c->mp;
	struct mroce_plane *pl;
	int k;

	share_off(c);
	for_each_plane(c, pl, k) {
		pl->pace_kbps = 0;
		pl->pace_gap_ns = 0;
		pl->pace_ns = 0;
		pl->share_at = MROCE_NEVER;
		pl->state = k ? MROCE_PLANE_NONE : MROCE_PLANE_UP;
		pl->probe_out = false;
		pl->suspect_ns = 0;
		plane_ask_anew(pl);
	}
	if (!mp)
		return;
	mp->seq++;
	mp->peer = 0;
	mp->has_list = false;
	mp->announce = false;
	mp->change_ts = conn_ts(c, now);
	mp->change_ns = now;
	mp->want_probe = 0;
	mp->want_ack = 0;
	mp->home_at = MROCE_NEVER;
	mp->usable = BIT(0) & mp->carrier & ~mp->drain;
}

/* INIT and INIT_ACK: the list of this end. Plane 0 stands for itself. */
void plane_fill_init(const struct mroce_conn *c, struct mroce_init *in)
{
	u16 own;
	int k;

	if (!c->mp)
		return;
	own = c->mp->own & ~(c->mp->drain & ~BIT(0));
	for (k = 0; k < MROCE_MAX_PLANES; k++) {
		if (!(own & BIT(k)))
			continue;
		memcpy(in->plane_addr[k], c->mp->own_addr[k], 16);
		in->n_planes = k + 1;
	}
}

/**
 * plane_list - the peer says what planes it has
 * @c: connection
 * @pkt: INIT or INIT_ACK of the peer's present incarnation
 * @now: ns
 *
 * One that was overtaken by a newer says nothing.
 */
void plane_list(struct mroce_conn *c, const struct mroce_pkt *pkt, u64 now)
{
	const struct mroce_init *in = &pkt->init;
	struct mroce_planes *mp = c->mp;
	int k;

	if (!mp)
		return;
	if (mp->has_list && !mroce_seq_after(pkt->ts, mp->list_ts) &&
	    elapsed(now, mp->list_ns) < MROCE_LIST_OLD_NS)
		return;
	mp->has_list = true;
	mp->list_ts = pkt->ts;
	mp->list_ns = now;
	for (k = 1; k < MROCE_MAX_PLANES; k++) {
		struct mroce_plane *pl = mroce_plane_of(c, k);
		const u8 *addr = in->plane_addr[k];
		bool there = k < in->n_planes && !addr_none(addr);

		mp->peer = set_bit_to(mp->peer, k, there);
		/* Taken off the list, but proven: what is under way may come. */
		if (!there && plane_proven(pl))
			continue;
		if (!there || memcmp(mp->peer_addr[k], addr, 16))
			plane_gone(c, k);
		if (!there)
			continue;
		memcpy(mp->peer_addr[k], addr, 16);
		plane_pair(c, k, now);
	}
	plane_update(c, now);
}

/* The peer has seen an INIT with the list as it is now? */
void plane_heard(struct mroce_conn *c, const struct mroce_pkt *init_ack,
		 u64 now)
{
	struct mroce_planes *mp = c->mp;

	if (!mp)
		return;
	if (!mroce_seq_before(init_ack->psn, mp->change_ts) ||
	    elapsed(now, mp->change_ns) > MROCE_LIST_OLD_NS) {
		mp->announce = false;
		c->want_init = false;
		c->init_at = MROCE_NEVER;
	} else if (!mp->announce) {
		plane_announce(c, now);
	}
}

/* ---- probes ------------------------------------------------------------------ */

int mroce_conn_plane(const struct mroce_conn *c, const u8 own[16],
		     const u8 peer[16])
{
	const struct mroce_planes *mp = c->mp;
	int k;

	if (!mp)
		return -1;
	for (k = 1; k < MROCE_MAX_PLANES; k++)
		if (mp->p[k - 1].state != MROCE_PLANE_NONE &&
		    !memcmp(mp->own_addr[k], own, 16) &&
		    !memcmp(mp->peer_addr[k], peer, 16))
			return k;
	return -1;
}

/* An address that is not proven may ask and answer, and no more. */
bool plane_rx_ok(struct mroce_conn *c, const struct mroce_pkt *pkt, u8 plane)
{
	if (!c->mp || plane >= MROCE_MAX_PLANES)
		return false;
	if (pkt->type == MROCE_T_CONTROL)
		return pkt->opcode == MROCE_CTRL_PROBE ||
		       pkt->opcode == MROCE_CTRL_PROBE_ACK;
	return plane_proven(mroce_plane_of(c, plane));
}

/*
 * The least time between a PROBE and one that the peer's causes. Whoever can forge
 * where his comes from must not have this end send large ones to a stranger for
 * his small ones.
 */
static u64 plane_ask_gap_ns(const struct mroce_plane *pl)
{
	if (pl->state != MROCE_PLANE_UNPROVEN)
		return MROCE_PROBE_ACK_GAP_NS;
	return MROCE_PROBE_ACK_GAP_NS << min_t(u8, pl->n_probes, 4);
}

/*
 * The peer asks. It will send as soon as it is answered, so this end had better
 * have asked before it answers, if it has to.
 */
void plane_rx_probe(struct mroce_conn *c, u64 cookie, u64 now)
{
	struct mroce_plane *pl = mroce_plane_of(c, c->rx_plane);
	u16 bit = BIT(c->rx_plane);

	if (pl->ack_ns && elapsed(now, pl->ack_ns) < MROCE_PROBE_ACK_GAP_NS)
		return;
	pl->ack_ns = now;
	pl->ack_cookie = cookie;
	c->mp->want_ack |= bit;
	if ((pl->state == MROCE_PLANE_UNPROVEN ||
	     pl->state == MROCE_PLANE_DOWN) &&
	    c->mp->carrier & bit &&
	    elapsed(now, pl->probe_ns) >= plane_ask_gap_ns(pl))
		c->mp->want_probe |= bit;
}

/* True: it was this plane's own question. */
bool plane_rx_probe_ack(struct mroce_conn *c, u64 cookie, u64 now)
{
	struct mroce_plane *pl;

	if (!c->mp)
		return false;
	pl = mroce_plane_of(c, c->rx_plane);
	if (!pl->probe_out || cookie != pl->probe_cookie)
		return false;
	pl->probe_out = false;
	c->last_heard_ns = now;
	if (pl->state != MROCE_PLANE_UNPROVEN && pl->state != MROCE_PLANE_DOWN)
		return true;
	cnt_inc(c, MROCE_CNT_PLANE_UP);
	plane_set_state(pl, MROCE_PLANE_UP);
	plane_update(c, now);
	return true;
}

/* Does a RESET quote a PROBE that is out? It came to where the plane is. */
bool plane_reset_valid(const struct mroce_conn *c, const struct mroce_pkt *e)
{
	const struct mroce_plane *pl;

	if (!c->mp)
		return false;
	pl = c->rx_plane ? &c->mp->p[c->rx_plane - 1] : &c->plane0;
	return pl->probe_out && e->ts == pl->probe_ts &&
	       e->psn == (u32)pl->probe_cookie;
}

static u64 probe_wait_ns(const struct mroce_plane *pl)
{
	return min_t(u64, MROCE_PLANE_PROBE_NS << min_t(u8, pl->n_probes, 16),
		     MROCE_PLANE_PROBE_CAP_NS);
}

/*
 * One waiting PROBE, or PROBE_ACK. A PROBE is as large as DATA may be: what lets
 * only small packets through is no route.
 */
bool plane_tx_ctrl(struct mroce_conn *c, struct mroce_txd *txd, u64 now)
{
	struct mroce_pkt pkt = {
		.conn = c->peer_id,
		.tag = c->tag,
		.ts = conn_ts(c, now),
	};
	struct mroce_planes *mp = c->mp;
	struct mroce_plane *pl;
	u32 hdr;
	int k;

	if (!mp || !(mp->want_probe | mp->want_ack))
		return false;
	k = __ffs(mp->want_probe | mp->want_ack);
	pl = mroce_plane_of(c, k);
	if (mp->want_probe & BIT(k)) {
		mp->want_probe &= ~BIT(k);
		pl->probe_out = true;
		pl->probe_ns = now;
		pl->probe_ts = pkt.ts;
		pl->probe_at = now + conn_jitter(probe_wait_ns(pl));
		if (pl->n_probes < U8_MAX)
			pl->n_probes++;
		pkt.opcode = MROCE_CTRL_PROBE;
		pkt.psn = (u32)pl->probe_cookie;
		pkt.ctrl.cookie = pl->probe_cookie;
		conn_ctrl_build(c, &pkt, k, txd);
		hdr = c->cfg.l3_len + txd->lin_len;
		txd->pad_bytes = c->mtu > hdr ? c->mtu - hdr : 0;
		return true;
	}
	mp->want_ack &= ~BIT(k);
	pkt.opcode = MROCE_CTRL_PROBE_ACK;
	pkt.ctrl.cookie = pl->ack_cookie;
	conn_ctrl_build(c, &pkt, k, txd);
	return true;
}

/* ---- time ---------------------------------------------------------------------- */

/* Is the plane asked, as time passes? Only while somebody wants the peer. */
static bool plane_asked(const struct mroce_conn *c,
			const struct mroce_plane *pl, int k)
{
	return (pl->state == MROCE_PLANE_UNPROVEN ||
		pl->state == MROCE_PLANE_DOWN) &&
	       c->n_streams && c->mp->carrier & BIT(k) &&
	       (!k || c->mp->peer & BIT(k)) &&
	       !(c->mp->want_probe & BIT(k));
}

u64 plane_deadline(const struct mroce_conn *c)
{
	const struct mroce_planes *mp = c->mp;
	u64 t = MROCE_NEVER;
	int k;

	if (c->state != MROCE_CONN_OPEN)
		return t;
	if (mp->announce)
		t = c->init_at;
	t = min(t, mp->home_at);
	for (k = 0; k < MROCE_MAX_PLANES; k++) {
		const struct mroce_plane *pl = k ? &mp->p[k - 1] : &c->plane0;

		t = min(t, pl->share_at);
		if (plane_asked(c, pl, k))
			t = min(t, pl->probe_at);
	}
	return t;
}

/* One path per round trip goes where it belongs, if that is there again. */
static void plane_go_home(struct mroce_conn *c, u64 now)
{
	struct mroce_planes *mp = c->mp;
	bool more = false;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		struct mroce_path_tx *p = c->tx[i];

		if (p->leaving) {
			if (!path_settle(c, p, now))
				more = true;
			continue;
		}
		if (p->plane == p->home || !(mp->usable & BIT(p->home)))
			continue;
		if (more || now < mp->home_at) {
			more = true;
			continue;
		}
		/* What is silent has nothing to wait for. */
		if (p->backoff || p->rehomes)
			path_to(c, p, p->home, now);
		p->leaving = p->plane != p->home;
		path_settle(c, p, now);
		mp->home_at = now + max_t(u64, p->srtt_ns, US);
		more = true;
	}
	if (!more)
		mp->home_at = MROCE_NEVER;
	else if (now >= mp->home_at)
		mp->home_at = now + max_t(u64, conn_srtt_ns(c), US);
}

void plane_timer(struct mroce_conn *c, u64 now)
{
	struct mroce_planes *mp = c->mp;
	struct mroce_plane *pl;
	int k;

	if (c->state != MROCE_CONN_OPEN)
		return;
	if (mp->announce && now >= c->init_at) {
		c->init_at = MROCE_NEVER;
		c->want_init = true;
	}
	for_each_plane(c, pl, k)
		if (plane_asked(c, pl, k) && now >= pl->probe_at)
			mp->want_probe |= BIT(k);
	if (now >= mp->home_at)
		plane_go_home(c, now);
}
