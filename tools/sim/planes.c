// SPDX-License-Identifier: GPL-2.0
/*
 * A plane dies and comes back: when do all ends know it, and what can be sent
 * then? Rates are measured over round trips, which are those that the senders
 * know when the plane dies.
 */
#include <stdlib.h>

#include "metaroce.h"
#include "scenario.h"

#define LOOK_NS		(10 * SIM_US)
#define AFTER_DEATH	3		/* round trips until it is absorbed */
#define AFTER_RETURN	10
#define OVER		10		/* a rate is measured over so many */

struct plane_watch {
	struct run *r;
	u8 plane;
	enum mroce_plane_state awaited;
	u64 start_ns;			/* the plane died, or came back */
	u64 rtt_ns;
	u64 base_bytes;
	double before_gbps;
};

static u64 arrived(struct sim *sm)
{
	struct transport_stats st;

	sm->t->stats(sm, &st);
	return st.rx_bytes;
}

/* Mean round trip of all paths that have one, as their senders know it. */
static u64 mean_rtt(struct sim *sm)
{
	u64 sum = 0, n = 0;
	u32 i, j, k;

	for (i = 0; i < sm->n_hosts; i++) {
		for (j = 0; j < sm->hosts[i].n_ends; j++) {
			struct mroce_conn *c = &to_mend(sm->hosts[i].ends[j])->c;

			for (k = 0; k < c->n_tx; k++) {
				sum += c->tx[k]->srtt_ns;
				n += !!c->tx[k]->srtt_ns;
			}
		}
	}
	return n ? sum / n : sm->base_rtt_ns;
}

static bool all_know(struct sim *sm, u8 plane, enum mroce_plane_state state)
{
	u32 i, j;

	for (i = 0; i < sm->n_hosts; i++)
		for (j = 0; j < sm->hosts[i].n_ends; j++)
			if (mroce_plane_of(&to_mend(sm->hosts[i].ends[j])->c,
					   plane)->state != state)
				return false;
	return true;
}

static void rate_end(struct sim *sm, void *arg)
{
	struct plane_watch *w = arg;
	double gbps = (double)(arrived(sm) - w->base_bytes) * 8 /
		      (OVER * w->rtt_ns);
	double part = w->before_gbps ? gbps / w->before_gbps : 0;

	if (w->awaited == MROCE_PLANE_DOWN)
		w->r->plane_left = part;
	else
		w->r->plane_back = part;
}

static void rate_begin(struct sim *sm, void *arg)
{
	struct plane_watch *w = arg;

	w->base_bytes = arrived(sm);
	sim_call(sm, sm->now + OVER * w->rtt_ns, rate_end, w);
}

static void look(struct sim *sm, void *arg)
{
	struct plane_watch *w = arg;
	bool dead = w->awaited == MROCE_PLANE_DOWN;

	/* It is back, or dead again, before all knew: there is no figure. */
	if (w->r->plane_watch != w)
		return;
	if (!all_know(sm, w->plane, w->awaited)) {
		sim_call(sm, sm->now + LOOK_NS, look, w);
		return;
	}
	if (dead)
		w->r->plane_known_ns = sm->now - w->start_ns;
	else
		w->r->plane_known_back_ns = sm->now - w->start_ns;
	sim_call(sm, sm->now + (dead ? AFTER_DEATH : AFTER_RETURN) * w->rtt_ns,
		 rate_begin, w);
}

/**
 * planes_changed - look how it is taken that a plane has died or is back
 * @r: run
 * @plane: id
 * @down: dead now
 *
 * MetaRoCE alone has planes.
 */
void planes_changed(struct run *r, u8 plane, bool down)
{
	const struct plane_watch *old = r->plane_watch;
	struct sim *sm = r->sim;
	struct plane_watch *w;

	if (sm->t != &transport_metaroce || sm->n_planes < 2)
		return;
	w = run_keep(r, sizeof(*w));
	w->r = r;
	w->plane = plane;
	w->awaited = down ? MROCE_PLANE_DOWN : MROCE_PLANE_UP;
	w->start_ns = sm->now;
	if (old) {
		w->rtt_ns = old->rtt_ns;
		w->before_gbps = old->before_gbps;
	} else {
		w->rtt_ns = mean_rtt(sm);
		w->before_gbps = (double)(arrived(sm) - r->base_bytes) * 8 /
				 (sm->now - r->sc->warm_ns);
	}
	r->plane_watch = w;
	sim_call(sm, sm->now, look, w);
}
