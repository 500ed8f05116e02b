// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion control: ECN AIMD per path, coupled over the connection.
 *
 * DCTCP's estimate of the marked fraction with g = 1/16; at most one cut per
 * RTT; the additive increase is one packet per RTT, *connection* and plane, a
 * path's share being its share of the window, so 32 paths are no more aggressive
 * than one (rule 48). Planes have no bottleneck in common, so none holds back
 * another. A lone loss without marks costs only the lost packet: random loss is
 * not congestion. Heavy loss in a round is.
 *
 *   alpha <- alpha + (F - alpha) / 16		F: marked fraction of a round
 *   w     <- w (1 - alpha / 2)			once per marked round
 *   w     <- w + acked / W			W: sum over the plane's paths
 *
 * That is for queues of this protocol's own making, of some packets; then the
 * marked fraction tells how deep to cut, and TCP, which halves its window for a
 * single mark or loss, would starve next to it. Where a deep queue stands (the
 * *least* RTT of a round is well above the path's) and marks or drops, a window is
 * what fills it, so this is not random loss; and somebody who knows nothing else
 * may be keeping it full. There, like TCP, halve for any mark or loss of a round;
 * increase as TCP would, also while the queue stands, but by 1/n on a plane's n paths,
 * since a signal is heard by one path only (the coupling of RFC 6356). So
 * W = sqrt(2 / p) for a probability p of a mark or loss, as one Reno flow (rule 48a).
 * Without such a signal for some rounds nobody else fills the queue: then
 * it is not made deeper.
 *
 * Windows are packets << 8, alpha is scaled by 1024.
 */
#include "internal.h"

#define CWND_ONE	256U
#define CWND_MIN	CWND_ONE
#define CWND_MAX	(MROCE_PATH_WINDOW * CWND_ONE)
#define INITIAL_PACKETS	16U		/* per connection */
#define ALPHA_ONE	1024U
#define HEAVY_LOSS	4		/* one in so many packets of a round */
#define QUEUE_MIN_NS	(100 * US)
#define DEEP_MIN_NS	MS		/* more than a fabric's switch queues */
#define DEEP_PART	16		/* of the RTT, which may have been measured in it */
#define PART_BITS	8		/* of struct mroce_cc_path's part */
#define RTT_NONE	U32_MAX
#define SHARED_ROUNDS	64		/* remember that a deep queue is shared */

static u32 aimd_initial_x256(const struct mroce_conn *c)
{
	u32 n = conn_want_paths(c);

	return max(INITIAL_PACKETS * CWND_ONE / n, CWND_MIN);
}

static void aimd_path_init(struct mroce_conn *c, struct mroce_path_tx *p)
{
	path_set_window(c, p, aimd_initial_x256(c));
	p->cc.alpha_x1024 = ALPHA_ONE;
	p->cc.round_psn = p->nxt;
	p->cc.slow_start = true;
	p->cc.rtt_us = RTT_NONE;
	p->cc.prior_rtt_us = RTT_NONE;
}

/*
 * The round goes on until something is acknowledged that was sent after the cut: what
 * was under way speaks of the same queue, and must not cut again.
 */
static void aimd_cut(struct mroce_conn *c, struct mroce_path_tx *p,
		     u32 by_x1024)
{
	struct mroce_cc_path *cc = &p->cc;
	u32 less = (u32)((u64)cc->cwnd_x256 * by_x1024 / (2 * ALPHA_ONE));

	path_set_window(c, p, max(cc->cwnd_x256 - less, CWND_MIN));
	cc->slow_start = false;
	cc->cut = true;
	cc->round_psn = p->nxt;
}

/* No packet of the last round, or of this one so far, has met a short queue. */
static bool aimd_deep_queue(const struct mroce_path_tx *p)
{
	const struct mroce_cc_path *cc = &p->cc;
	u64 room = max_t(u64, p->min_rtt_ns / DEEP_PART, DEEP_MIN_NS);

	return cc->rtt_us != RTT_NONE && p->min_rtt_ns &&
	       min(cc->rtt_us, cc->prior_rtt_us) * US > p->min_rtt_ns + room;
}

/* Those with the same bottleneck. */
static u32 aimd_paths(const struct mroce_conn *c, u8 plane)
{
	u32 n = 0;
	int i;

	for (i = 0; i < c->n_tx; i++)
		n += c->tx[i]->plane == plane;
	return n;
}

static void aimd_count(u16 *n, u32 more)
{
	*n = min_t(u32, *n + more, U16_MAX);
}

static void aimd_round(struct mroce_cc_path *cc, u32 nxt)
{
	u32 f = 0;

	cc->prior_rtt_us = cc->rtt_us;
	cc->rtt_us = RTT_NONE;
	if (cc->shared)
		cc->shared--;

	if (cc->acked)
		f = min(cc->marked, cc->acked) * ALPHA_ONE / cc->acked;
	cc->alpha_x1024 += f / 16;
	cc->alpha_x1024 -= cc->alpha_x1024 / 16;
	cc->acked = 0;
	cc->marked = 0;
	cc->lost = 0;
	cc->cut = false;
	cc->round_psn = nxt;
}

/*
 * What @acked packets add to a path's window if the sum of them is @w. An ACK may
 * be for one packet and the window be of thousands: what is less than a unit of
 * the window is kept for the next.
 */
static u32 aimd_share(struct mroce_cc_path *cc, u32 acked, u32 w)
{
	u64 more = ((u64)acked * CWND_ONE * CWND_ONE) << PART_BITS;

	more = div_u64(more, w) + cc->part;
	cc->part = more & (BIT(PART_BITS) - 1);
	return (u32)(more >> PART_BITS);
}

static void aimd_on_ack(struct mroce_conn *c, struct mroce_path_tx *p,
			const struct mroce_cc_sample *sa)
{
	struct mroce_cc_path *cc = &p->cc;
	u32 more, w;
	u64 room;

	aimd_count(&cc->acked, sa->acked);
	aimd_count(&cc->marked, sa->marked);
	aimd_count(&cc->lost, sa->lost);
	if (sa->rtt_ns)
		cc->rtt_us = min_t(u64, cc->rtt_us, div_u64(sa->rtt_ns, US));

	if ((sa->marked || sa->lost) && aimd_deep_queue(p)) {
		cc->shared = SHARED_ROUNDS;
		if (!cc->cut)
			aimd_cut(c, p, ALPHA_ONE);
	} else if (!cc->cut && sa->marked) {
		aimd_cut(c, p, cc->alpha_x1024);
	} else if (!cc->cut && cc->lost > 8 &&
		   cc->lost > (cc->acked + cc->lost) / HEAVY_LOSS) {
		aimd_cut(c, p, ALPHA_ONE);
	}

	if (mroce_seq_after(sa->una, cc->round_psn))
		aimd_round(cc, sa->nxt);

	if (cc->cut || sa->app_limited)
		return;
	room = max_t(u64, p->min_rtt_ns, QUEUE_MIN_NS);
	if (sa->rtt_ns > p->min_rtt_ns + room) {
		cc->slow_start = false;
		if (!cc->shared)
			return;
	}
	w = mroce_plane_of(c, p->plane)->window_x256;
	if (cc->shared)
		w *= aimd_paths(c, p->plane);
	if (cc->slow_start)
		more = sa->acked * CWND_ONE;
	else
		more = aimd_share(cc, sa->acked, w);
	path_set_window(c, p, min(cc->cwnd_x256 + more, CWND_MAX));
}

static void aimd_on_rto(struct mroce_conn *c, struct mroce_path_tx *p)
{
	path_set_window(c, p, CWND_MIN);
	p->cc.slow_start = true;
}

/* What was room once is taken by others now (rule 47). */
static void aimd_on_idle(struct mroce_conn *c, struct mroce_path_tx *p)
{
	u32 initial = aimd_initial_x256(c);

	if (p->cc.cwnd_x256 <= initial)
		return;
	path_set_window(c, p, initial);
	p->cc.slow_start = true;
}

const struct mroce_cc_ops mroce_cc_aimd = {
	.name		= "aimd",
	.path_init	= aimd_path_init,
	.on_ack		= aimd_on_ack,
	.on_rto		= aimd_on_rto,
	.on_idle	= aimd_on_idle,
};
