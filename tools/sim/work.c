// SPDX-License-Identifier: GPL-2.0
/*
 * Workloads. The first of a scenario is measured, the others run beside it.
 */
#include <stdlib.h>

#include "scenario.h"

#define WARM_NS		(100 * SIM_MS)	/* handshakes are over by then */

/**
 * scenario_hosts - how many hosts a scenario has
 * @sc: scenario
 *
 * Return: number.
 */
u32 scenario_hosts(const struct scenario *sc)
{
	const u32 *a = sc->topo_arg;

	switch (sc->topo) {
	case TOPO_STAR:
		return a[0];
	case TOPO_PLANES:
		return a[1];
	case TOPO_CLOS:
		return a[0] * a[1];
	case TOPO_FAT_TREE:
		return a[0] * a[0] * a[0] / 4;
	default:
		return 2;
	}
}

/* A flow of workload @class, not started. */
static struct flow *add(struct run *r, u8 class, u16 src, u16 dst, u32 bytes,
			u32 depth, u64 total, u8 opcode)
{
	struct flow_cfg cfg = {
		.src = src, .dst = dst, .opcode = opcode, .class = class,
		.msg_bytes = bytes, .depth = depth, .bytes = total,
	};
	struct flow *f;

	if (src >= r->sim->n_hosts || dst >= r->sim->n_hosts) {
		fprintf(stderr, "%s: more hosts needed\n", r->sc->name);
		exit(2);
	}
	f = flow_new(r->sim, &cfg);
	r->flow = grow(r->flow, &r->max_flows, r->n_flows, sizeof(*r->flow));
	r->flow[r->n_flows++] = f;
	return f;
}

/* Of a host, on all its planes. */
static double wire_ns(const struct run *r, double bytes)
{
	return bytes * 8 / (r->sc->gbps * r->sim->n_planes);
}

/* ---- long flows ------------------------------------------------------------------- */

static void work_stream(struct run *r, const struct work *w, u8 class)
{
	u8 op = w->kind == WORK_READ ? MROCE_OP_READ_REQ : MROCE_OP_WRITE;

	flow_start(add(r, class, 0, r->sim->n_hosts - 1, w->arg[0], w->arg[1],
		       U64_MAX, op));
}

static void work_permutation(struct run *r, const struct work *w, u8 class)
{
	u32 n = r->sim->n_hosts, i;

	for (i = 0; i < n; i++)
		flow_start(add(r, class, i, (i + n / 2) % n, w->arg[0],
			       w->arg[1], U64_MAX, MROCE_OP_WRITE));
}

/* Each to each, without an end: as many flows as there are ends. */
static void work_all_pairs(struct run *r, const struct work *w, u8 class)
{
	u32 n = r->sim->n_hosts, i, k;

	for (k = 1; k < n; k++)
		for (i = 0; i < n; i++)
			flow_start(add(r, class, i, (i + k) % n, w->arg[0],
				       w->arg[1], U64_MAX, MROCE_OP_WRITE));
}

/* So many pairs that send a small Write, wait for it, and pause. */
static void work_ping(struct run *r, const struct work *w, u8 class)
{
	u32 n = r->sim->n_hosts, i;

	for (i = 0; i < w->arg[0]; i++) {
		u32 src = i * 7 % n;
		u32 dst = (src + 1 + sim_rand(r->sim) % (n - 1)) % n;
		struct flow *f = add(r, class, src, dst, w->arg[1], 1, U64_MAX,
				     MROCE_OP_WRITE);

		f->cfg.gap_ns = w->arg[2];
		flow_start(f);
	}
}

/* ---- incast ----------------------------------------------------------------------- */

/* How far from its fair share is what each may send? */
static void incast_look(struct sim *sm, void *arg)
{
	struct run *r = arg;
	double far = 0;
	u32 i;

	for (i = 0; i < r->n_measured; i++) {
		struct flow *f = r->flow[i];
		double off = sm->t->allowed_gbps(f) / r->share_gbps - 1;

		if (!f->bytes_left && f->done == f->posted)
			return;		/* one is ready: the others may more */
		far = off > far ? off : -off > far ? -off : far;
	}
	if (sm->now <= r->two_rtt_ns)
		r->off_share = far;
	sim_call(sm, sm->now + r->look_ns, incast_look, r);
}

/*
 * All begin at once: on connections that are opened for it, or, warm, that
 * were open and idle. A round trip is the empty one and a packet of each
 * sender in the queue; that of the handshake is not counted.
 */
static void work_incast(struct run *r, const struct work *w, u8 class)
{
	u32 n = w->arg[0], first = r->n_flows, i;
	struct sim *sm = r->sim;
	u64 rtt;

	if (w->warm) {
		for (i = 0; i < n; i++)
			flow_start(add(r, class, i + 1, 0, 8, 1, 8,
				       MROCE_OP_WRITE));
		sim_run(sm, WARM_NS);
		r->n_flows = first;
	}
	r->start_ns = sm->now;
	for (i = 0; i < n; i++)
		flow_start(add(r, class, i + 1, 0, w->arg[1], 1, w->arg[1],
			       MROCE_OP_WRITE));
	r->ideal_ns = wire_ns(r, (double)n * w->arg[1]);
	r->finite = true;
	rtt = 4 * r->sc->delay_ns + (u64)wire_ns(r, (n + 2) * (sm->mtu + 38.));
	r->share_gbps = .95 * r->sc->gbps * sm->n_planes / n;
	r->off_share = 1;
	r->look_ns = rtt / 20;
	r->two_rtt_ns = sm->now + 4 * r->sc->delay_ns + 2 * rtt;
	r->n_measured = r->n_flows;
	sim_call(sm, sm->now + r->look_ns, incast_look, r);
}

/* ---- collectives ------------------------------------------------------------------ */

static void work_all_to_all(struct run *r, const struct work *w, u8 class)
{
	u32 n = r->sim->n_hosts, first = r->n_flows, i, k;

	/* Each begins with its neighbour: not all with the same. */
	for (k = 1; k < n; k++)
		for (i = 0; i < n; i++)
			add(r, class, i, (i + k) % n, w->arg[0], 1, w->arg[0],
			    MROCE_OP_WRITE);
	for (i = first; i < r->n_flows; i++)
		flow_start(r->flow[i]);
	r->ideal_ns = wire_ns(r, (n - 1.) * w->arg[0]);
	r->finite = true;
}

/* A node of the ring, on the flow to its successor. */
struct ring_node {
	struct flow *f, *next;
	u32 steps;			/* still to send */
	u32 bytes;
};

static void ring_send(struct sim *sm, void *arg)
{
	struct ring_node *node = arg;

	(void)sm;
	if (!node->steps)
		return;
	node->steps--;
	flow_add(node->f, node->bytes);
}

/* What came from the predecessor goes on to the successor. */
static void ring_received(struct flow *f)
{
	struct ring_node *node = f->arg;

	sim_call(f->sm, f->sm->now, ring_send, node->next->arg);
}

/*
 * Ring all-reduce of a vector: n - 1 steps of reduce-scatter and n - 1 of
 * all-gather, an n-th of it each; a node sends a step when it has received the
 * one before.
 */
static void work_all_reduce(struct run *r, const struct work *w, u8 class)
{
	u32 n = r->sim->n_hosts, first = r->n_flows, i;
	u32 chunk = w->arg[0] / n;

	for (i = 0; i < n; i++) {
		struct ring_node *node = run_keep(r, sizeof(*node));
		struct flow *f = add(r, class, i, (i + 1) % n, chunk, 2, chunk,
				     MROCE_OP_SEND);

		node->f = f;
		node->steps = 2 * (n - 1) - 1;
		node->bytes = chunk;
		f->arg = node;
		f->received = ring_received;
	}
	for (i = 0; i < n; i++) {
		struct ring_node *node = r->flow[first + i]->arg;

		node->next = r->flow[first + (i + 1) % n];
	}
	for (i = 0; i < n; i++)
		flow_start(r->flow[first + i]);
	r->ideal_ns = wire_ns(r, 2. * (n - 1) * chunk);
	r->finite = true;
}

/* ---- storage ----------------------------------------------------------------------- */

/* A client that reads a stripe: a piece of each server, then the next one. */
struct stripe {
	struct run *r;
	u32 n, open, rounds;
	u32 first, bytes;
};

static void stripe_next(struct sim *sm, void *arg)
{
	struct stripe *st = arg;
	u32 i;

	(void)sm;
	st->open = st->n;
	for (i = 0; i < st->n; i++)
		flow_add(st->r->flow[st->first + i], st->bytes);
}

static void stripe_piece(struct flow *f)
{
	struct stripe *st = f->arg;

	if (--st->open || !--st->rounds)
		return;
	sim_call(f->sm, f->sm->now, stripe_next, st);
}

static void work_fan_out(struct run *r, const struct work *w, u8 class)
{
	struct stripe *st = run_keep(r, sizeof(*st));
	u32 i;

	st->r = r;
	st->n = w->arg[0];
	st->open = st->n;
	st->bytes = w->arg[1];
	st->rounds = w->arg[2];
	st->first = r->n_flows;
	for (i = 0; i < st->n; i++) {
		struct flow *f = add(r, class, 0, i + 1, st->bytes, 1,
				     st->bytes, MROCE_OP_READ_REQ);

		f->arg = st;
		f->finished = stripe_piece;
	}
	for (i = 0; i < st->n; i++)
		flow_start(r->flow[st->first + i]);
	r->ideal_ns = st->rounds * wire_ns(r, (double)st->n * st->bytes);
	r->finite = true;
}

/* ---- neighbours on the same connection that stand still ------------------------ */

static void start_late(struct sim *sm, void *arg)
{
	(void)sm;
	flow_start(arg);
}

/* Streams whose SENDs find no receive: refused, held, tried again. */
static void work_stall_rnr(struct run *r, const struct work *w, u8 class)
{
	u32 i;

	for (i = 0; i < w->arg[0]; i++) {
		struct flow *f = add(r, class, 0, r->sim->n_hosts - 1, w->arg[1],
				     w->arg[2], U64_MAX, MROCE_OP_SEND);

		f->cfg.no_receives = true;
		flow_start(f);
	}
}

/* One after the other fails: its Writes have a key that is not valid. */
static void work_stall_error(struct run *r, const struct work *w, u8 class)
{
	u32 i;

	for (i = 0; i < w->arg[0]; i++) {
		struct flow *f = add(r, class, 0, r->sim->n_hosts - 1, w->arg[1],
				     w->arg[2], U64_MAX, MROCE_OP_WRITE);

		f->cfg.bad_key = true;
		sim_call(r->sim, r->sc->warm_ns + i * r->sc->run_ns / w->arg[0],
			 start_late, f);
	}
}

static void (* const start[])(struct run *r, const struct work *w, u8 class) = {
	[WORK_STREAM] = work_stream,
	[WORK_READ] = work_stream,
	[WORK_PERMUTATION] = work_permutation,
	[WORK_INCAST] = work_incast,
	[WORK_ALL_TO_ALL] = work_all_to_all,
	[WORK_ALL_REDUCE] = work_all_reduce,
	[WORK_FAN_OUT] = work_fan_out,
	[WORK_PING] = work_ping,
	[WORK_STALL_RNR] = work_stall_rnr,
	[WORK_STALL_ERROR] = work_stall_error,
	[WORK_ALL_PAIRS] = work_all_pairs,
};

/**
 * work_start - begin all workloads of a scenario
 * @r: run, with its simulation
 */
void work_start(struct run *r)
{
	u32 i;

	for (i = 0; i < r->sc->n_works; i++) {
		start[r->sc->work[i].kind](r, &r->sc->work[i], i);
		if (!i)
			r->n_measured = r->n_flows;
	}
}
