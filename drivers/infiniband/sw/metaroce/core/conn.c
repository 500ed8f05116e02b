// SPDX-License-Identifier: GPL-2.0
/*
 * A connection's life: handshake, restart of the peer, close.
 *
 *            attach            INIT_ACK to own INIT
 *   (new) ----------> INIT --------------------------> OPEN
 *                      ^  \                            /  |
 *                      |   \  GC without streams      /   | GC: CLOSE sent
 *   RESET, CLOSE:      |    `-----> DEAD <-----------'----'
 *   new incarnation    '------------------------------'
 *
 * The object outlives its incarnations: when the peer has restarted, bound
 * streams fail, the others stay attached, and the same object shakes hands
 * again with a new id, nonce and gen. Both sides send INIT; a side is open by
 * the answer to its own and by nothing else, so crossing needs no rule
 * (protocol rules 39-45).
 */
#include "internal.h"

const char * const mroce_counter_names[MROCE_N_COUNTERS] = {
#define X(n, s) [MROCE_CNT_##n] = s,
	MROCE_COUNTERS(X)
#undef X
};

const char * const mroce_conn_state_names[MROCE_N_CONN_STATES] = {
	[MROCE_CONN_INIT] = "init",
	[MROCE_CONN_OPEN] = "open",
	[MROCE_CONN_DEAD] = "dead",
};

static const u8 conn_next_states[MROCE_N_CONN_STATES] = {
	[MROCE_CONN_INIT] = BIT(MROCE_CONN_OPEN) | BIT(MROCE_CONN_DEAD) |
			    BIT(MROCE_CONN_INIT),
	[MROCE_CONN_OPEN] = BIT(MROCE_CONN_INIT) | BIT(MROCE_CONN_DEAD),
	[MROCE_CONN_DEAD] = 0,
};

/* What detached streams wait for is not going to come. */
static void conn_let_go(struct mroce_conn *c)
{
	struct mroce_stream *s, *tmp;

	list_for_each_entry_safe(s, tmp, &c->leaving, node)
		stream_let_go(s);
}

static void conn_set_state(struct mroce_conn *c, enum mroce_conn_state to)
{
	enum mroce_conn_state from = c->state;

	WARN_ON_ONCE(!(conn_next_states[from] & BIT(to)));
	c->state = to;
	MROCE_TRACE(conn_state, c, from, to);
	if (to == MROCE_CONN_DEAD)
		conn_let_go(c);
}

u64 conn_random_u64(void)
{
	return (u64)mroce_random_u32() << 32 | mroce_random_u32();
}

/* +-25 %, so that two hosts do not stay in step. */
u64 conn_jitter(u64 ns)
{
	return ns - ns / 4 + mroce_random_u32() % (u32)(ns / 2 + 1);
}

static void conn_free_paths(struct mroce_conn *c)
{
	conn_let_go(c);
	rest_free_all(c);
	c->cur_tx = 0;
	c->burst = 0;
	c->n_lost = 0;
	bitmap_zero(c->touched, MROCE_MAX_PATHS);
	c->n_touched = 0;
}

/*
 * Both ends derive the tag and the first PSN from both nonces, so a packet
 * of a half-matched pair of incarnations never counts (rule 2).
 */
static void conn_open(struct mroce_conn *c)
{
	u64 pair = c->cfg.self ? c->nonce : c->nonce ^ c->peer_nonce;
	struct mroce_stream *s;

	c->tag = pair & 0xffff;
	c->psn0 = (pair >> 16) & U32_MAX;
	c->init_at = MROCE_NEVER;
	c->want_init = false;
	cnt_inc(c, MROCE_CNT_CONN_OPEN);
	list_for_each_entry(s, &c->streams, node)
		stream_ready(s);
}

/* Begin a new incarnation; streams on the list are unbound already. */
static int conn_incarnate(struct mroce_conn *c, u64 now)
{
	u32 id = c->ops->new_id(c);

	if (!id)
		return -ENOSPC;
	conn_free_paths(c);
	/* mroce_conn_init() was told. */
	if (c->gen && c->ops->link)
		c->ops->link(c, &c->cfg);
	/* Below that IP fragments (rule 35). */
	c->cfg.link_mtu = max_t(u16, c->cfg.link_mtu, MROCE_MTU_MIN);
	c->gen++;
	c->id = id;
	c->peer_id = 0;
	c->nonce = conn_random_u64() | 1;
	c->peer_nonce = 0;
	c->tag = 0;
	c->ts_off = mroce_random_u32();
	c->peer_mtu = U16_MAX;
	c->mtu = c->cfg.link_mtu;
	c->msn_window = MROCE_MSN_WINDOW;
	c->rsn_window = MROCE_RSN_WINDOW;
	plane_reset(c, now);
	c->probe_rtt_ns = 0;
	c->want_init_ack = false;
	c->want_probe = false;
	c->want_probe_ack = false;
	c->want_close = false;
	c->probe_out = false;
	c->init_tries = 0;
	c->init_at = MROCE_NEVER;
	c->again_at = MROCE_NEVER;
	c->nak_n = 0;
	c->nak_head = 0;
	c->gc_at = c->n_streams ? MROCE_NEVER : now + MROCE_GC_NS;
	conn_set_state(c, MROCE_CONN_INIT);

	if (c->cfg.self) {
		c->peer_id = id;
		c->peer_nonce = c->nonce;
		conn_set_state(c, MROCE_CONN_OPEN);
		conn_open(c);
	} else if (c->n_streams) {
		conn_want_init(c, now);
	}
	return 0;
}

int mroce_conn_init(struct mroce_conn *c, const struct mroce_conn_ops *ops,
		    const struct mroce_conn_cfg *cfg, u64 now)
{
	c->ops = ops;
	c->cc = &mroce_cc_aimd;
	c->cfg = *cfg;
	c->state = MROCE_CONN_INIT;
	c->stream_deadline = MROCE_NEVER;
	INIT_LIST_HEAD(&c->streams);
	INIT_LIST_HEAD(&c->leaving);
	INIT_LIST_HEAD(&c->ready);
	INIT_LIST_HEAD(&c->resp_ready);
	INIT_LIST_HEAD(&c->timed);
	return conn_incarnate(c, now);
}

void mroce_conn_fini(struct mroce_conn *c)
{
	WARN_ON_ONCE(!list_empty(&c->streams));
	share_off(c);
	conn_free_paths(c);
	mroce_free(c->mp);
	c->mp = NULL;
	c->state = MROCE_CONN_DEAD;
}

void mroce_conn_set_mtu(struct mroce_conn *c, u16 link_mtu)
{
	c->cfg.link_mtu = max_t(u16, link_mtu, MROCE_MTU_MIN);
	c->mtu = min(c->cfg.link_mtu, c->peer_mtu);
}

/* Ask for an INIT, at most one per millisecond beyond the schedule. */
void conn_want_init(struct mroce_conn *c, u64 now)
{
	if (c->state != MROCE_CONN_INIT || !c->n_streams)
		return;
	if (c->init_tries && elapsed(now, c->init_sent_ns) < MROCE_INIT_GAP_NS)
		return;
	c->want_init = true;
}

/*
 * The peer is open by its own INIT; ours or its answer was lost, or overtaken:
 * soon, if that is the second one.
 */
static void conn_init_lost(struct mroce_conn *c, u64 now)
{
	conn_want_init(c, now);
	if (c->want_init || c->state != MROCE_CONN_INIT || !c->n_streams)
		return;
	c->init_at = min(c->init_at, c->init_tries == 1 ?
			 now + MROCE_INIT_SOON_NS :
			 c->init_sent_ns + MROCE_INIT_GAP_NS);
}

static bool conn_idle(const struct mroce_conn *c)
{
	const struct mroce_stream *s;
	int i;

	for (i = 0; i < c->n_tx; i++)
		if (c->tx[i]->una != c->tx[i]->nxt)
			return false;
	list_for_each_entry(s, &c->streams, node)
		if (s->msn_una != s->msn_nxt || s->resp_n || s->claims)
			return false;
	return true;
}

/*
 * The peer lost this incarnation. Streams that had something accepted cannot
 * know what of it survived: they fail. The others move on (rule 41).
 */
void conn_lost(struct mroce_conn *c, u64 now)
{
	struct mroce_stream *s, *tmp;

	cnt_inc(c, MROCE_CNT_CONN_LOST);
	list_for_each_entry_safe(s, tmp, &c->streams, node) {
		/* nor is anything being copied that would bind it */
		if (!s->bound && !s->claims) {
			stream_unbind(s);
			continue;
		}
		if (s->tx_state == MROCE_TX_ERR)
			continue;
		if (s->msn_una != s->msn_nxt) {
			stream_fail_oldest(s, MROCE_ST_RETRY_EXC, now);
		} else {
			mroce_stream_error(s, now);
			s->ops->conn_lost(s);
		}
	}
	list_for_each_entry(s, &c->streams, node) {
		resp_close(s, true);
		s->bound = false;
		s->quarantine = 0;
	}
	if (conn_incarnate(c, now))
		conn_set_state(c, MROCE_CONN_DEAD);
}

static void conn_closed(struct mroce_conn *c, u64 now)
{
	struct mroce_stream *s;

	cnt_inc(c, MROCE_CNT_CONN_CLOSED);
	if (!c->n_streams) {
		conn_set_state(c, MROCE_CONN_DEAD);
		return;
	}
	list_for_each_entry(s, &c->streams, node) {
		s->bound = false;
		s->quarantine = 0;
		stream_rx_reset(s);	/* of no incarnation to come */
	}
	if (conn_incarnate(c, now)) {
		conn_set_state(c, MROCE_CONN_DEAD);
		return;
	}
	/* No haste: nobody has anything to send. */
	c->want_init = false;
	c->init_at = now + conn_jitter(MROCE_INIT_CAP_NS);
}

static void rx_init(struct mroce_conn *c, const struct mroce_pkt *pkt, u64 now)
{
	const struct mroce_init *in = &pkt->init;

	if (c->state == MROCE_CONN_OPEN && in->nonce != c->peer_nonce) {
		/* Perhaps the peer restarted, perhaps this is forged or old:
		 * ask the peer that we know. Its RESET ends the connection.
		 */
		if (!c->probe_ns ||
		    elapsed(now, c->probe_ns) >= MROCE_PROBE_GAP_NS) {
			c->probe_ns = now;
			c->probe_cookie = conn_random_u64();
			c->want_probe = true;
		}
		return;
	}
	if (c->state == MROCE_CONN_INIT && !c->n_streams)
		return;
	if (!c->n_init_ack || elapsed(now, c->init_ack_ns) >= SEC) {
		c->init_ack_ns = now;
		c->n_init_ack = 0;
	}
	if (c->n_init_ack >= MROCE_INIT_ACK_RATE)
		return;
	c->n_init_ack++;
	/* The peer that we know: its planes have changed (rule 44), or it has
	 * not had the answer to its first one.
	 */
	if (c->state == MROCE_CONN_OPEN && in->conn_id == c->peer_id) {
		plane_list(c, pkt, now);
		/* or the two of them have crossed */
		if (elapsed(now, c->told_ns) > c->probe_rtt_ns)
			path_tx_unheard(c);
	}
	c->told_ns = now;
	c->ack_nonce = in->nonce;
	c->ack_ts = pkt->ts;
	c->ack_id = in->conn_id;
	c->want_init_ack = true;
	conn_want_init(c, now);
}

static void rx_init_ack(struct mroce_conn *c, const struct mroce_pkt *pkt,
			u64 now)
{
	const struct mroce_init *in = &pkt->init;
	u32 rtt_ts;

	if (c->state == MROCE_CONN_OPEN && pkt->conn == c->id &&
	    in->peer_nonce == c->nonce && in->nonce == c->peer_nonce) {
		plane_list(c, pkt, now);
		plane_heard(c, pkt, now);
		return;
	}
	if (c->state != MROCE_CONN_INIT || pkt->conn != c->id ||
	    in->peer_nonce != c->nonce || !c->init_tries) {
		if (c->state != MROCE_CONN_OPEN || in->nonce != c->peer_nonce)
			cnt_inc(c, MROCE_CNT_RX_STATE);
		return;
	}
	c->peer_id = in->conn_id;
	c->peer_nonce = in->nonce;
	c->peer_mtu = in->mtu;
	c->mtu = min(c->cfg.link_mtu, c->peer_mtu);
	c->msn_window = min_t(u16, MROCE_MSN_WINDOW, in->msn_window);
	c->rsn_window = min_t(u16, MROCE_RSN_WINDOW, in->rsn_window);
	pace_hint(c, in->hint_kbps, now);
	c->last_heard_ns = now;
	rtt_ts = conn_ts(c, now) - pkt->psn;
	/* Longer: it waited for its neighbour's address, or a host stood still. */
	if (rtt_ts < MROCE_INIT_MIN_NS >> MROCE_TS_SHIFT)
		c->probe_rtt_ns = max(((u64)rtt_ts) << MROCE_TS_SHIFT, US);
	conn_set_state(c, MROCE_CONN_OPEN);
	conn_open(c);
	plane_list(c, pkt, now);
	plane_heard(c, pkt, now);
}

bool mroce_reset_echo(const struct mroce_pkt *reset, struct mroce_pkt *echo)
{
	memset(echo, 0, sizeof(*echo));
	return mroce_wire_parse_common(reset->reset, echo);
}

/*
 * A RESET is believed only if it quotes a packet that is outstanding:
 * nobody off the path can guess its PSN and time stamp (rule 40).
 */
static bool reset_valid(const struct mroce_conn *c, const struct mroce_pkt *e)
{
	const struct mroce_path_tx *p;

	if (c->state != MROCE_CONN_OPEN || c->cfg.self ||
	    e->conn != c->peer_id || e->tag != c->tag)
		return false;
	if (e->type == MROCE_T_CONTROL)
		return e->opcode == MROCE_CTRL_PROBE &&
		       ((c->probe_out && e->ts == c->probe_ts &&
			 e->psn == (u32)c->probe_cookie) ||
			plane_reset_valid(c, e));
	if (e->type != MROCE_T_DATA || e->path >= c->n_tx)
		return false;
	p = c->tx[e->path];
	if (e->psn - p->una >= p->nxt - p->una ||
	    !test_bit(psn_idx(e->psn), p->out))
		return false;
	return p->slot[psn_idx(e->psn)].ts == e->ts;
}

static enum mroce_rx rx_ctrl(struct mroce_conn *c, const struct mroce_pkt *pkt,
			     u64 now)
{
	struct mroce_pkt echo;

	cnt_inc(c, MROCE_CNT_RX_CTRL);
	switch (pkt->opcode) {
	case MROCE_CTRL_INIT:
		rx_init(c, pkt, now);
		return MROCE_RX_DONE;
	case MROCE_CTRL_INIT_ACK:
		rx_init_ack(c, pkt, now);
		return MROCE_RX_DONE;
	case MROCE_CTRL_RESET:
		if (!mroce_reset_echo(pkt, &echo) || !reset_valid(c, &echo)) {
			cnt_inc(c, MROCE_CNT_RX_STATE);
			return MROCE_RX_DROP;
		}
		conn_lost(c, now);
		return MROCE_RX_DONE;
	}

	/* The rest belongs to one pair of incarnations. */
	if (c->state != MROCE_CONN_OPEN) {
		cnt_inc(c, MROCE_CNT_RX_STATE);
		return MROCE_RX_DROP;
	}
	if (pkt->tag != c->tag) {
		cnt_inc(c, MROCE_CNT_RX_TAG);
		return pkt->opcode == MROCE_CTRL_PROBE ? MROCE_RX_RESET :
							 MROCE_RX_DROP;
	}
	switch (pkt->opcode) {
	case MROCE_CTRL_PROBE:
		if (c->mp) {
			plane_rx_probe(c, pkt->ctrl.cookie, now);
			return MROCE_RX_DONE;
		}
		if (c->probe_ack_ns &&
		    elapsed(now, c->probe_ack_ns) < MROCE_PROBE_ACK_GAP_NS)
			return MROCE_RX_DROP;
		c->probe_ack_ns = now;
		c->probe_ack_cookie = pkt->ctrl.cookie;
		c->want_probe_ack = true;
		return MROCE_RX_DONE;
	case MROCE_CTRL_PROBE_ACK:
		if (plane_rx_probe_ack(c, pkt->ctrl.cookie, now))
			return MROCE_RX_DONE;
		if (!c->probe_out || pkt->ctrl.cookie != c->probe_cookie)
			return MROCE_RX_DROP;
		c->probe_out = false;
		c->last_heard_ns = now;
		return MROCE_RX_DONE;
	case MROCE_CTRL_CLOSE:
		if (c->cfg.self || pkt->ctrl.cookie != c->peer_nonce ||
		    !conn_idle(c))
			return MROCE_RX_DROP;
		conn_closed(c, now);
		return MROCE_RX_DONE;
	}
	return MROCE_RX_DROP;
}

enum mroce_rx mroce_conn_rx(struct mroce_conn *c, const struct mroce_pkt *pkt,
			    const struct mroce_rx_meta *m,
			    struct mroce_claim *cl, u64 now)
{
	if (c->state == MROCE_CONN_DEAD)
		return MROCE_RX_DROP;
	c->rx_plane = m ? m->plane : 0;
	if (c->rx_plane && !plane_rx_ok(c, pkt, c->rx_plane)) {
		cnt_inc(c, MROCE_CNT_RX_PLANE);
		return MROCE_RX_DROP;
	}
	if (pkt->type == MROCE_T_CONTROL)
		return rx_ctrl(c, pkt, now);

	if (c->state != MROCE_CONN_OPEN) {
		cnt_inc(c, MROCE_CNT_RX_STATE);
		if (pkt->type == MROCE_T_DATA)
			conn_init_lost(c, now);
		return MROCE_RX_DROP;
	}
	if (pkt->tag != c->tag) {
		cnt_inc(c, MROCE_CNT_RX_TAG);
		return pkt->type == MROCE_T_DATA ? MROCE_RX_RESET :
						   MROCE_RX_DROP;
	}
	switch (pkt->type) {
	case MROCE_T_DATA:
		return path_rx_data(c, pkt, m, cl, now);
	case MROCE_T_ACK:
		path_tx_ack(c, pkt, now);
		return MROCE_RX_DONE;
	case MROCE_T_NAK:
		path_tx_nak(c, pkt, now);
		return MROCE_RX_DONE;
	}
	return MROCE_RX_DROP;
}

/* PROBE: the padding is left to the owner. */
void conn_ctrl_build(struct mroce_conn *c, struct mroce_pkt *pkt, u8 plane,
		     struct mroce_txd *txd)
{
	unsigned int len;

	pkt->type = MROCE_T_CONTROL;
	txd->type = MROCE_T_CONTROL;
	txd->plane = plane;
	txd->sport = 0;
	txd->ect = false;
	txd->nfrags = 0;
	txd->frag_bytes = 0;
	txd->pad_bytes = 0;
	len = mroce_wire_build(pkt, txd->lin, sizeof(txd->lin));
	WARN_ON_ONCE(!len);
	txd->hdr_len = len;
	txd->lin_len = len;
	cnt_inc(c, MROCE_CNT_TX_CTRL);
}

static void fill_init(struct mroce_conn *c, struct mroce_init *in)
{
	in->conn_id = c->id;
	in->nonce = c->nonce;
	in->msn_window = MROCE_MSN_WINDOW;
	in->rsn_window = MROCE_RSN_WINDOW;
	in->mtu = c->cfg.link_mtu;
	in->tclass = c->cfg.tclass;
	in->speed_mbps = c->cfg.speed_mbps;
	plane_fill_init(c, in);
}

static bool tx_ctrl(struct mroce_conn *c, struct mroce_txd *txd, u64 now)
{
	struct mroce_pkt pkt = {};

	pkt.ts = conn_ts(c, now);
	if (c->want_init) {
		u8 n = max_t(u8, c->init_tries, MROCE_INIT_STEADY) -
		       MROCE_INIT_STEADY;
		u64 wait = MROCE_INIT_MIN_NS << min_t(u8, n, 6);

		c->want_init = false;
		if (c->state == MROCE_CONN_INIT ||
		    (c->mp && c->mp->announce)) {
			if (c->init_tries < U8_MAX)
				c->init_tries++;
			c->init_sent_ns = now;
			c->init_at = now + conn_jitter(min_t(u64, wait,
							MROCE_INIT_CAP_NS));
			pkt.opcode = MROCE_CTRL_INIT;
			fill_init(c, &pkt.init);
			conn_ctrl_build(c, &pkt, 0, txd);
			return true;
		}
	}
	if (c->want_init_ack) {
		c->want_init_ack = false;
		pkt.opcode = MROCE_CTRL_INIT_ACK;
		pkt.conn = c->ack_id;
		pkt.psn = c->ack_ts;
		fill_init(c, &pkt.init);
		pkt.init.peer_nonce = c->ack_nonce;
		pkt.init.hint_kbps = share_first_kbps(c, now);
		conn_ctrl_build(c, &pkt, 0, txd);
		return true;
	}
	pkt.conn = c->peer_id;
	pkt.tag = c->tag;
	if (c->want_probe) {
		c->want_probe = false;
		c->probe_out = true;
		c->probe_ts = pkt.ts;
		pkt.psn = (u32)c->probe_cookie;
		pkt.opcode = MROCE_CTRL_PROBE;
		pkt.ctrl.cookie = c->probe_cookie;
		conn_ctrl_build(c, &pkt, 0, txd);
		return true;
	}
	if (c->want_probe_ack) {
		c->want_probe_ack = false;
		pkt.opcode = MROCE_CTRL_PROBE_ACK;
		pkt.ctrl.cookie = c->probe_ack_cookie;
		conn_ctrl_build(c, &pkt, 0, txd);
		return true;
	}
	if (c->want_close) {
		c->want_close = false;
		pkt.opcode = MROCE_CTRL_CLOSE;
		pkt.ctrl.cookie = c->nonce;
		conn_ctrl_build(c, &pkt, 0, txd);
		cnt_inc(c, MROCE_CNT_CONN_CLOSED);
		conn_set_state(c, MROCE_CONN_DEAD);
		return true;
	}
	return plane_tx_ctrl(c, txd, now);
}

/* One waiting control packet, or false. Asked for each packet that is sent. */
bool conn_tx_ctrl(struct mroce_conn *c, struct mroce_txd *txd, u64 now)
{
	return conn_wants_ctrl(c) && tx_ctrl(c, txd, now);
}

u64 mroce_conn_deadline(const struct mroce_conn *c)
{
	u64 t = min3(min(c->gc_at, c->rest_at),
		     min(c->stream_deadline, c->path_deadline),
		     min(c->again_at, c->plane0.share_at));

	if (c->state == MROCE_CONN_DEAD)
		return MROCE_NEVER;
	if (c->state == MROCE_CONN_INIT && c->n_streams)
		t = min(t, c->init_at);
	if (c->mp)
		t = min(t, plane_deadline(c));
	return t;
}

void mroce_conn_timer(struct mroce_conn *c, u64 now)
{
	struct mroce_stream *s, *tmp;

	if (c->state == MROCE_CONN_DEAD)
		return;
	if (now >= c->gc_at && !c->n_streams) {
		c->gc_at = MROCE_NEVER;
		if (c->state == MROCE_CONN_OPEN && !c->cfg.self) {
			c->want_close = true;
		} else {
			cnt_inc(c, MROCE_CNT_CONN_CLOSED);
			conn_set_state(c, MROCE_CONN_DEAD);
			return;
		}
	}
	if (c->state == MROCE_CONN_INIT && c->n_streams && now >= c->init_at) {
		c->init_at = MROCE_NEVER;
		c->want_init = true;
	}
	if (now >= c->again_at)
		c->again_at = MROCE_NEVER;	/* the owner sends now */
	share_timer(c, now);
	if (c->mp)
		plane_timer(c, now);
	rest_timer(c, now);
	path_tx_timers(c, now);
	if (now < c->stream_deadline)
		return;
	/* A plain list: most deadlines only move outwards, so it is walked a
	 * few times per T_retry at most. See internals.rst.
	 */
	c->stream_deadline = MROCE_NEVER;
	list_for_each_entry_safe(s, tmp, &c->timed, timed) {
		if (now >= stream_due(s))
			stream_timer(s, now);
		if (stream_due(s) == MROCE_NEVER)
			list_del_init(&s->timed);
		else
			c->stream_deadline = min(c->stream_deadline,
						 stream_due(s));
	}
}
