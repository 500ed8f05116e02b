// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion control: ECN AIMD per path, coupled over the connection.
 *
 * DCTCP's estimate of the marked fraction with g = 1/16; at most one cut per
 * round; the additive increase is one packet per RTT, *connection* and plane, a
 * path's share being its share of the window, so 32 paths are no more aggressive
 * than one (rule 48). Planes have no bottleneck in common, so none holds back
 * another. A lone loss without marks costs only the lost packet: random
 * loss is not congestion. Heavy loss in a round, or a standing queue (RTT well
 * above its minimum), is.
 *
 *   alpha <- alpha + (F - alpha) / 16		F: marked fraction of a round
 *   w     <- w (1 - alpha / 2)			once per marked round
 *   w     <- w + acked / W			W: sum over the plane's paths
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

static u32 plane_window_x256(const struct mroce_conn *c, u8 plane)
{
	u32 w = 0;
	int i;

	for (i = 0; i < c->n_tx; i++)
		if (c->tx[i]->plane == plane)
			w += c->tx[i]->cc.cwnd_x256;
	return max(w, CWND_ONE);
}

static void aimd_path_init(struct mroce_conn *c, struct mroce_path_tx *p)
{
	u32 n = conn_want_paths(c);

	p->cc.cwnd_x256 = max(INITIAL_PACKETS * CWND_ONE / n, CWND_MIN);
	p->cc.alpha_x1024 = ALPHA_ONE;
	p->cc.round_psn = p->nxt;
	p->cc.slow_start = true;
}

static void aimd_cut(struct mroce_cc_path *cc, u32 by_x1024)
{
	u32 less = (u32)((u64)cc->cwnd_x256 * by_x1024 / (2 * ALPHA_ONE));

	cc->cwnd_x256 = max(cc->cwnd_x256 - less, CWND_MIN);
	cc->slow_start = false;
	cc->cut = true;
}

static void aimd_round(struct mroce_cc_path *cc, u32 nxt)
{
	u32 f = 0;

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

static void aimd_on_ack(struct mroce_conn *c, struct mroce_path_tx *p,
			const struct mroce_cc_sample *sa)
{
	struct mroce_cc_path *cc = &p->cc;
	u64 room;

	cc->acked += sa->acked;
	cc->marked += sa->marked;
	cc->lost += sa->lost;

	if (!cc->cut && sa->marked)
		aimd_cut(cc, cc->alpha_x1024);
	else if (!cc->cut && cc->lost > 8 &&
		 cc->lost > (cc->acked + cc->lost) / HEAVY_LOSS)
		aimd_cut(cc, ALPHA_ONE);

	if (mroce_seq_after(sa->una, cc->round_psn))
		aimd_round(cc, sa->nxt);

	if (cc->cut || sa->app_limited)
		return;
	room = max_t(u64, p->min_rtt_ns, QUEUE_MIN_NS);
	if (sa->rtt_ns > p->min_rtt_ns + room) {
		cc->slow_start = false;
		return;
	}
	if (cc->slow_start)
		cc->cwnd_x256 += sa->acked * CWND_ONE;
	else
		cc->cwnd_x256 += (u32)((u64)sa->acked * CWND_ONE * CWND_ONE /
				       plane_window_x256(c, p->plane));
	cc->cwnd_x256 = min(cc->cwnd_x256, CWND_MAX);
}

static void aimd_on_rto(struct mroce_conn *c, struct mroce_path_tx *p)
{
	p->cc.cwnd_x256 = CWND_MIN;
	p->cc.slow_start = true;
}

const struct mroce_cc_ops mroce_cc_aimd = {
	.name		= "aimd",
	.path_init	= aimd_path_init,
	.on_ack		= aimd_on_ack,
	.on_rto		= aimd_on_rto,
};
