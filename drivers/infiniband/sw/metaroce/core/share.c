// SPDX-License-Identifier: GPL-2.0
/*
 * Fair shares: what a receiver offers, and the sender that keeps to it.
 *
 * All connections that arrive at one port share one struct mroce_share. A
 * connection is *backlogged* from a packet with the flag BACKLOG until one
 * without it, or until nothing has come for a while. The port's rate, less a
 * margin and less what the others are measured to bring, is divided among the
 * backlogged ones; every acknowledgment carries the result (rule 46). So a
 * hundred senders that begin at once are told a hundredth each after one round
 * trip, instead of finding it by losses.
 *
 * The sender obeys a lower hint at once and doubles towards a higher one each
 * round trip. A hint that is old says nothing (rule 47).
 *
 * All that is by plane: each has its own port, its own hint and its own clock.
 *
 * The share is used under the locks of different connections: its members are
 * atomic, and figures that are a little old do no harm.
 */
#include "internal.h"

#define SHARE_INTERVAL_NS	(100 * US)	/* of measuring */
#define SHARE_SILENT_NS		(20 * MS)	/* no longer backlogged */
#define SHARE_ASKED_NS		(1 * MS)	/* nor if nothing came at all */
#define PACE_WAIT_NS		(20 * US)	/* more than asked: some at once */
#define PACE_BURST_NS		(100 * US)	/* made up for when late */
#define PACE_MAX_NS		(10 * MS)	/* between packets, at most */
#define HINT_MIN_NS		(10 * MS)	/* believed so long, at least */
#define FRAME_OVERHEAD		38		/* Ethernet's, gap included */

/* ---- receiver ----------------------------------------------------------- */

static void share_on(struct mroce_plane *pl)
{
	if (pl->backlogged)
		return;
	pl->backlogged = true;
	atomic_inc(&pl->share->n_backlogged);
}

/* The connection asks for nothing of that port. */
void share_plane_off(struct mroce_plane *pl)
{
	if (!pl->backlogged)
		return;
	pl->backlogged = false;
	pl->share_at = MROCE_NEVER;
	atomic_dec(&pl->share->n_backlogged);
}

/* It ends. */
void share_off(struct mroce_conn *c)
{
	struct mroce_plane *pl;
	int k;

	for_each_plane(c, pl, k)
		share_plane_off(pl);
}

/* A new DATA packet has come. */
void share_rx(struct mroce_conn *c, const struct mroce_pkt *pkt, u64 now)
{
	struct mroce_plane *pl = mroce_plane_of(c, c->rx_plane);

	/* what asks for data brings none */
	if (!pl->share || !READ_ONCE(pl->share->kbps) || !pkt->payload_len)
		return;
	if (pkt->flags & MROCE_F_BACKLOG) {
		pl->backlog_ns = now;
		if (pl->share_at == MROCE_NEVER)
			pl->share_at = now + SHARE_SILENT_NS;
		share_on(pl);
		return;
	}
	/* the last of what was backlogged is no light traffic yet */
	if (pl->backlogged) {
		share_off(c);	/* nothing follows, on no plane */
		return;
	}
	atomic64_add(pkt->payload_len + FRAME_OVERHEAD + c->cfg.l3_len,
		     &pl->share->light_bytes);
}

/* The time is up that was given to a silent connection. */
void share_timer(struct mroce_conn *c, u64 now)
{
	struct mroce_plane *pl;
	int k;

	for_each_plane(c, pl, k) {
		if (now < pl->share_at)
			continue;
		if (elapsed(now, pl->backlog_ns) >= SHARE_SILENT_NS)
			share_plane_off(pl);
		else
			pl->share_at = pl->backlog_ns + SHARE_SILENT_NS;
	}
}

/* What the connections bring that are not backlogged. */
static u32 share_light_kbps(struct mroce_share *sh, u64 now)
{
	s64 since = atomic64_read(&sh->since_ns);
	u64 ns = elapsed(now, since), kbps;

	if (ns < SHARE_INTERVAL_NS ||
	    atomic64_cmpxchg(&sh->since_ns, since, now) != since)
		return READ_ONCE(sh->light_kbps);
	kbps = atomic64_xchg(&sh->light_bytes, 0) * 8;
	kbps = div64_u64(kbps * 1000000, ns);
	/* four intervals, however long they were */
	if (ns < 4 * SHARE_INTERVAL_NS)
		kbps = (3 * (u64)READ_ONCE(sh->light_kbps) + kbps) / 4;
	kbps = min_t(u64, kbps, U32_MAX);
	WRITE_ONCE(sh->light_kbps, (u32)kbps);
	return (u32)kbps;
}

/**
 * share_hint_kbps - what the peer of a connection may send
 * @c: connection
 * @plane: on this one
 * @now: ns
 *
 * Return: kbit/s, or 0: no opinion.
 */
u32 share_hint_kbps(struct mroce_conn *c, u8 plane, u64 now)
{
	const struct mroce_plane *pl = mroce_plane_of(c, plane);
	struct mroce_share *sh = pl->share;
	u32 all, light, n;

	if (!sh)
		return 0;
	all = READ_ONCE(sh->kbps);
	if (!all)
		return 0;
	n = atomic_read(&sh->n_backlogged) + !pl->backlogged;
	if (n > 1)
		all -= all / 20;	/* alone it needs no margin */
	/*
	 * The light ones may be many, but do not crowd out the heavy; and what
	 * this one brings is not taken from its own share.
	 */
	light = pl->backlogged ? min(share_light_kbps(sh, now), all / 2) : 0;
	return max_t(u32, (all - light) / max_t(u32, n, 1), 1);
}

/* The same in INIT_ACK: who asks for a connection is about to send. */
u32 share_first_kbps(struct mroce_conn *c, u64 now)
{
	struct mroce_plane *pl = &c->plane0;

	if (pl->share && pl->share_at == MROCE_NEVER) {
		share_on(pl);
		pl->backlog_ns = now - min_t(u64, now, SHARE_SILENT_NS);
		pl->share_at = now + SHARE_ASKED_NS;
	}
	return share_hint_kbps(c, 0, now);
}

/* ---- sender ------------------------------------------------------------- */

/* Of a packet of @len bytes on the wire, at the rate that is allowed. */
static u64 pace_time_ns(const struct mroce_plane *pl, u32 len)
{
	return min_t(u64, PACE_MAX_NS,
		     div_u64(8000000ULL * len, pl->pace_kbps));
}

static void pace_set(struct mroce_conn *c, struct mroce_plane *pl, u32 kbps)
{
	MROCE_TRACE(hint, c, pl->pace_kbps, kbps);
	pl->pace_kbps = kbps;
	pl->pace_gap_ns = kbps ? pace_time_ns(pl, c->mtu) : 0;
}

/* A hint that is old says nothing. */
static void pace_expire(struct mroce_conn *c, struct mroce_plane *pl, u64 now)
{
	u64 age = elapsed(now, pl->hint_ns);

	/* the paths are asked if it matters: this is done for each packet */
	if (pl->pace_kbps && age > HINT_MIN_NS && age > 8 * conn_srtt_ns(c))
		pace_set(c, pl, 0);
}

/* The peer says what it can take where this came; 0: nothing is said. */
void pace_hint(struct mroce_conn *c, u32 kbps, u64 now)
{
	struct mroce_plane *pl = mroce_plane_of(c, c->rx_plane);

	if (!kbps)
		return;
	pace_expire(c, pl, now);
	pl->hint_ns = now;
	if (pl->pace_kbps && kbps > pl->pace_kbps) {
		if (elapsed(now, pl->pace_raise_ns) < conn_srtt_ns(c))
			return;
		kbps = min_t(u64, kbps, 2 * (u64)pl->pace_kbps);
	}
	pl->pace_raise_ns = now;
	if (kbps != pl->pace_kbps)
		pace_set(c, pl, kbps);
}

static bool pace_plane_ok(struct mroce_conn *c, struct mroce_plane *pl, u64 now)
{
	if (!pl->pace_kbps || now >= pl->pace_ns)
		return true;
	pace_expire(c, pl, now);
	if (!pl->pace_kbps)
		return true;
	/* Not a timer for each packet: the next ones leave with it. */
	cnt_inc(c, MROCE_CNT_PACED);
	conn_again(c, pl->pace_ns + PACE_WAIT_NS);
	return false;
}

/* May a packet of DATA leave, on any plane? If not, the connection's deadline
 * says when. On which: pace_may().
 */
bool pace_ok(struct mroce_conn *c, u64 now)
{
	struct mroce_plane *pl;
	u16 may = 0;
	int k;

	for_each_plane(c, pl, k)
		if (pace_plane_ok(c, pl, now))
			may |= BIT(k);
	if (c->mp)
		c->mp->may = may;
	return may;
}

/* One has left. */
void pace_sent(struct mroce_conn *c, u8 plane, u32 len, u64 now)
{
	struct mroce_plane *pl = mroce_plane_of(c, plane);
	u64 start;

	pace_expire(c, pl, now);
	if (!pl->pace_kbps)
		return;
	start = max(pl->pace_ns, now - min_t(u64, now, PACE_BURST_NS));
	pl->pace_ns = start + pace_time_ns(pl, len + c->cfg.l3_len +
					       FRAME_OVERHEAD);
}
