// SPDX-License-Identifier: GPL-2.0
/*
 * One run of a scenario with one transport: faults, measurements, metrics.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scenario.h"

#define OUTAGE_PART	.87	/* of the rate before the fault: it is over */

/**
 * run_keep - memory that ends with the run
 * @r: run
 * @size: bytes
 *
 * Return: zeroed memory.
 */
void *run_keep(struct run *r, size_t size)
{
	r->kept = grow(r->kept, &r->max_kept, r->n_kept, sizeof(*r->kept));
	r->kept[r->n_kept] = xcalloc(1, size);
	return r->kept[r->n_kept++];
}

/* ---- faults ------------------------------------------------------------------------ */

/* The other direction of a cable between switches. */
static struct link *reverse(struct node *from, struct link *l)
{
	struct node *to = l->to;
	u32 i;

	for (i = 0; i < to->n_down; i++)
		if (to->down[i]->to == from)
			return to->down[i];
	for (i = 0; i < to->n_up; i++)
		if (to->up[i]->to == from)
			return to->up[i];
	return NULL;
}

static void fault_link(struct fault *f, struct link *l)
{
	f->link = grow(f->link, &f->max_links, f->n_links, sizeof(*f->link));
	f->link[f->n_links++] = l;
}

/* All cables of a plane, those of the hosts first. */
static void fault_plane(struct sim *sm, struct fault *f)
{
	u32 i, k = f->where[0];

	for (i = 0; i < sm->n_hosts; i++)
		fault_link(f, sm->hosts[i].nic[k]);
	for (i = 0; i < sm->n_hosts && !f->one_way; i++)
		fault_link(f, sm->switches[k].down[i]);
}

static void fault_find(struct sim *sm, struct fault *f)
{
	struct link *out = NULL, *in = NULL;
	struct node *n = NULL;
	u32 k = f->where[1], i;

	switch (f->place) {
	case AT_NIC:
		if (f->where[0] >= sm->n_hosts)
			break;
		out = sm->hosts[f->where[0]].nic[0];
		n = out->to;
		in = n->host >= 0 ? sm->hosts[n->host].nic[0] :
				    n->down[f->where[0] % n->n_down];
		break;
	case AT_BUSIEST:
		n = topo_edge(sm, f->where[0]);
		for (k = 0, i = 1; n && i < n->n_up; i++)
			if (n->up[i]->bytes > n->up[k]->bytes)
				k = i;
		break;
	case AT_LANE:
		n = &sm->switches[0];
		k = f->where[0];
		/* both ends number the cables alike */
		if (sm->n_switches == 2 && k < n->n_up)
			in = sm->switches[1].up[k];
		break;
	case AT_UPLINK:
		if (f->where[0] < sm->n_switches)
			n = &sm->switches[f->where[0]];
		break;
	case AT_PLANE:
		if (sm->n_planes < 2 || f->where[0] >= sm->n_planes)
			break;
		fault_plane(sm, f);
		return;
	}
	if (!out && n && k < n->n_up)
		out = n->up[k];
	if (!out) {
		fprintf(stderr, "a fault where no link is\n");
		exit(2);
	}
	fault_link(f, out);
	if (!in)
		in = reverse(n, out);
	if (in && !f->one_way)
		fault_link(f, in);
}

static void fault_end(struct sim *sm, void *arg)
{
	struct fault *f = arg;
	u32 i;

	(void)sm;
	for (i = 0; i < f->n_links; i++) {
		f->link[i]->down = false;
		f->link[i]->ps_per_byte = f->had_ps;
		f->link[i]->im.loss = f->had_loss;
	}
	if (f->place == AT_PLANE && f->kind == FAULT_DOWN)
		planes_changed(f->r, f->where[0], false);
}

static void fault_begin(struct sim *sm, void *arg)
{
	struct fault *f = arg;
	u32 i;

	fault_find(sm, f);
	f->had_ps = f->link[0]->ps_per_byte;
	f->had_loss = f->link[0]->im.loss;
	for (i = 0; i < f->n_links; i++) {
		switch (f->kind) {
		case FAULT_DOWN:
			f->link[i]->down = true;
			break;
		case FAULT_SLOW:
			f->link[i]->ps_per_byte *= f->by;
			break;
		case FAULT_LOSS:
			f->link[i]->im.loss = f->by;
			break;
		}
	}
	if (f->place == AT_PLANE && f->kind == FAULT_DOWN)
		planes_changed(f->r, f->where[0], true);
	if (f->until_ns)
		sim_call(sm, f->until_ns, fault_end, f);
}

/* ---- series ------------------------------------------------------------------------ */

static void sample(struct sim *sm, void *arg)
{
	struct run *r = arg;
	const struct scenario *sc = r->sc;
	double low = 1e9, high = 0, sum = 0, gbps;
	struct transport_stats st;
	u32 i;

	sm->t->stats(sm, &st);
	gbps = (double)(st.rx_bytes - r->sampled_bytes) * 8 / sc->sample_ns;
	r->sampled_bytes = st.rx_bytes;
	for (i = 0; i < r->n_measured; i++) {
		double a = sm->t->allowed_gbps(r->flow[i]);

		low = a < low ? a : low;
		high = a > high ? a : high;
		sum += a;
	}
	if (r->series)
		fprintf(r->series, "\"%s\",%s,%.1f,%.4f,%.5f,%.5f,%.5f\n",
			sc->name, sm->t->name, (sm->now - r->start_ns) / 1e3,
			gbps, low, sum / r->n_measured, high);
	/* The mean of what was before the first fault; then what is missing. */
	if (sc->n_faults && sm->now > sc->warm_ns) {
		if (sm->now <= sc->fault[0].at_ns)
			r->before_gbps += (gbps - r->before_gbps) *
				sc->sample_ns / (sm->now - sc->warm_ns);
		else if (gbps < OUTAGE_PART * r->before_gbps)
			r->low_ns = sm->now - sc->fault[0].at_ns;
	}
	sim_call(sm, sm->now + sc->sample_ns, sample, r);
}

/* ---- a run --------------------------------------------------------------------------- */

static struct sim *build(const struct scenario *sc, const struct transport *t,
			 u64 seed)
{
	struct sim *sm = sim_new(seed, t, scenario_hosts(sc), sc->mtu,
				 sc->paths);
	const u32 *a = sc->topo_arg;

	sm->no_hints = sc->no_hints;
	switch (sc->topo) {
	case TOPO_PAIR:
		topo_pair(sm, sc->gbps, sc->delay_ns);
		break;
	case TOPO_STAR:
		topo_star(sm, sc->gbps, sc->delay_ns);
		break;
	case TOPO_LANES:
		topo_lanes(sm, a[0], sc->gbps, sc->delay_ns);
		break;
	case TOPO_CLOS:
		topo_clos(sm, a[0], a[1], a[2], sc->gbps, sc->delay_ns);
		break;
	case TOPO_FAT_TREE:
		topo_fat_tree(sm, a[0], sc->gbps, sc->delay_ns);
		break;
	case TOPO_PLANES:
		topo_planes(sm, a[0], sc->gbps, sc->delay_ns);
		break;
	}
	topo_queues(sm, &sc->q);
	topo_impair(sm, &sc->im);
	return sm;
}

static bool all_finished(const struct run *r)
{
	u32 i;

	for (i = 0; i < r->n_measured; i++) {
		const struct flow *f = r->flow[i];

		if (f->cfg.bytes != U64_MAX &&
		    (f->bytes_left || f->done != f->posted))
			return false;
	}
	return true;
}

static double jain(const double *x, u32 n)
{
	double s = 0, q = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		s += x[i];
		q += x[i] * x[i];
	}
	return q ? s * s / (n * q) : 0;
}

static u64 measured_bytes(const struct run *r)
{
	struct transport_stats st;
	u64 n = 0;
	u32 i;

	/* What arrived, if it can only be of the first workload. */
	if (r->sc->n_works == 1) {
		r->sim->t->stats(r->sim, &st);
		return st.rx_bytes;
	}
	for (i = 0; i < r->n_measured; i++)
		n += r->flow[i]->done_bytes;
	return n;
}

/* Rates of flows: over the time that was measured, or that each took. */
static void flow_metrics(const struct run *r, struct result *res)
{
	double *x = xcalloc(r->n_measured, sizeof(*x));
	u32 i, unfinished = 0, errors = 0;
	u64 last = 0;

	for (i = 0; i < r->n_measured; i++) {
		const struct flow *f = r->flow[i];
		u64 ns = r->finite ? f->end_ns - f->start_ns : r->sc->run_ns;

		x[i] = ns ? (double)(f->done_bytes - f->base_bytes) * 8 / ns : 0;
		if (!i || x[i] < res->value[METRIC_SLOWEST])
			res->value[METRIC_SLOWEST] = x[i];
		last = max(last, f->end_ns);
		errors += f->errors;
		if (r->finite && (f->bytes_left || f->done != f->posted ||
				  f->errors))
			unfinished++;
	}
	res->value[METRIC_JAIN] = jain(x, r->n_measured);
	free(x);
	res->value[METRIC_ERRORS] = errors;
	res->value[METRIC_UNFINISHED] = unfinished;
	if (!r->finite)
		return;
	/* What never ends took all of the time there was, at least. */
	if (unfinished)
		last = r->sim->now;
	res->value[METRIC_COMPLETION] = (last - r->start_ns) / 1e3;
	res->value[METRIC_STRETCH] = (last - r->start_ns) / r->ideal_ns;
}

static void all_metrics(const struct run *r, struct result *res)
{
	struct sim *sm = r->sim;
	struct transport_stats st;
	u64 drops = 0, ends = 0;
	u32 i;

	flow_metrics(r, res);
	sm->t->stats(sm, &st);
	for (i = 0; i < sm->n_links; i++)
		drops += sm->links[i]->drops;
	for (i = 0; i < sm->n_hosts; i++)
		ends += sm->hosts[i].n_ends;
	res->value[METRIC_PER_HOST] = res->value[METRIC_GOODPUT] /
				      r->n_measured;
	res->value[METRIC_OFF_SHARE] = r->off_share;
	res->value[METRIC_P50] = flow_percentile(sm, 0, .5) / 1e3;
	res->value[METRIC_P99] = flow_percentile(sm, 0, .99) / 1e3;
	res->value[METRIC_WORST] = flow_percentile(sm, 0, 1) / 1e3;
	res->value[METRIC_OUTAGE] = r->low_ns / 1e3;
	res->value[METRIC_LEFT] = r->plane_left;
	res->value[METRIC_BACK] = r->plane_back;
	res->value[METRIC_KNOWN] = r->plane_known_ns / 1e3;
	res->value[METRIC_KNOWN_BACK] = r->plane_known_back_ns / 1e3;
	res->value[METRIC_SENT] = st.tx_pkts;
	res->value[METRIC_RETRANSMITTED] = st.retx_pkts;
	res->value[METRIC_TIMEOUTS] = st.timeouts;
	res->value[METRIC_REHOMED] = st.rehomed;
	res->value[METRIC_DROPS] = drops;
	res->value[METRIC_CONNECTIONS] = ends / 2;
	res->value[METRIC_EVENTS] = sm->n_events / 1e6;
}

/**
 * scenario_run - run a scenario once
 * @sc: scenario
 * @t: with this transport
 * @seed: of all that is random
 * @series: where samples go, or NULL
 * @res: filled
 */
void scenario_run(const struct scenario *sc, const struct transport *t,
		  u64 seed, FILE *series, struct result *res)
{
	struct run r = { .sc = sc, .series = series };
	clock_t cpu = clock();
	struct sim *sm;
	u32 i;

	memset(res, 0, sizeof(*res));
	sm = build(sc, t, seed);
	r.sim = sm;
	for (i = 0; i < sc->n_faults; i++) {
		r.fault[i] = sc->fault[i];
		r.fault[i].r = &r;
		sim_call(sm, sc->fault[i].at_ns, fault_begin, &r.fault[i]);
	}
	sm->latency_on = !sc->warm_ns;
	work_start(&r);
	if (sc->sample_ns)
		sim_call(sm, sm->now + sc->sample_ns, sample, &r);
	if (r.finite) {
		while (!all_finished(&r) && sm->now < sc->limit_ns)
			sim_run(sm, min(sm->now + 10 * SIM_US, sc->limit_ns));
	} else {
		sim_run(sm, sc->warm_ns);
		sm->latency_on = true;
		r.base_bytes = measured_bytes(&r);
		for (i = 0; i < r.n_measured; i++)
			r.flow[i]->base_bytes = r.flow[i]->done_bytes;
		sim_run(sm, sc->warm_ns + sc->run_ns);
		res->value[METRIC_GOODPUT] =
			(double)(measured_bytes(&r) - r.base_bytes) * 8 / sc->run_ns;
	}
	all_metrics(&r, res);
	res->value[METRIC_SECONDS] = (double)(clock() - cpu) / CLOCKS_PER_SEC;
	for (i = 0; i < r.n_kept; i++)
		free(r.kept[i]);
	free(r.kept);
	for (i = 0; i < sc->n_faults; i++)
		free(r.fault[i].link);
	free(r.flow);
	sim_free(sm);
}
