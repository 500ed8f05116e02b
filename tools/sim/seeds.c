// SPDX-License-Identifier: GPL-2.0
/*
 * Property runs: topology, network, faults and messages all by a seed. What
 * must hold whatever they are:
 *
 *  - every message completes, without an error, and in the order of posting;
 *  - its bytes were placed, each once; its receive completed once, in order;
 *  - nothing of a fenced message was placed before all earlier ones were done;
 *  - an atomic ran once, in its turn, and its answer is the right one;
 *  - nobody stands still for longer than outages, and a path's time-out that
 *    doubles with each loss in a row, explain;
 *  - when all is done, nothing is outstanding, held, or counted as busy, and
 *    no memory of the transport's is left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metaroce.h"
#include "seeds.h"

#define MAX_FLOWS	12
#define MAX_MSGS	300
#define RECORDS		512		/* messages remembered: power of two */
#define MAX_FAULTS	3
#define LOOK_NS		(5 * SIM_MS)
#define STALL_NS	(60 * SIM_MS)	/* a time-out, that of INIT too; */
#define STALL_DOUBLE	6U		/* doubled so often at most */
#define RUN_NS		(120 * SIM_S)
#define MAX_EVENTS	10000000ULL	/* ten times what any seed takes */
#define QUIET_NS	(300 * SIM_MS)	/* until nobody counts as backlogged */
#define QUIET_TIMES	20		/* the last ACKs may be lost, too */
#define MAX_HOSTS	16
#define MAX_PATHS	16

struct record {
	u32 msn, len;
	u8 opcode, attempt;
	bool fence;
	u32 rsn;			/* if it consumes a receive */
	u64 nth_add;			/* fetch-and-adds before it */
	u64 placed;			/* see cover() */
};

struct checked {
	struct flow *f;
	u32 id;
	struct record rec[RECORDS];	/* by MSN */
	u32 rsn_len[RECORDS];		/* by RSN */
	u64 done, received, adds, executed;
	u32 rnr;			/* of 2^32: no receive at the moment */
	u64 last_ns;			/* of progress */
};

struct cut {
	struct link *link;
	u64 at, until;
};

struct seed_run {
	struct sim *sm;
	struct checked *c;
	u32 n_flows;
	struct cut cut[MAX_FAULTS];
	u32 n_cuts;
	u64 worst_cut_ns, last_cut_ns;
};

static u32 below(struct sim *sm, u32 n)
{
	return sim_rand(sm) % n;
}

static bool one_in(struct sim *sm, u32 n)
{
	return !below(sm, n);
}

static struct checked *checked(struct flow *f)
{
	return f->arg;
}

static struct record *record_of(struct checked *c, u32 msn)
{
	return &c->rec[msn % RECORDS];
}

/*
 * A sum over the pieces of a message that is what it should be only if they
 * cover it without a gap or an overlap: at both ends of each stands a random
 * number of that place.
 */
static u64 at_place(u32 off)
{
	u64 z = off + 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static u64 cover(u32 from, u32 to)
{
	return at_place(to) - at_place(from);
}

/* ---- what happens above the transport ------------------------------------------ */

static bool consumes(u8 opcode)
{
	return opcode == MROCE_OP_SEND || opcode == MROCE_OP_SEND_IMM ||
	       opcode == MROCE_OP_WRITE_IMM;
}

static void w_choose(struct flow *f, struct mroce_msg *m)
{
	static const u8 ops[] = {
		MROCE_OP_WRITE, MROCE_OP_WRITE, MROCE_OP_SEND, MROCE_OP_SEND,
		MROCE_OP_SEND_IMM, MROCE_OP_WRITE_IMM, MROCE_OP_READ_REQ,
		MROCE_OP_FETCH_ADD, MROCE_OP_CMP_SWAP,
	};
	struct checked *c = checked(f);
	struct record *r = record_of(c, f->posted), *prev;
	struct sim *sm = f->sm;

	m->opcode = ops[below(sm, ARRAY_SIZE(ops))];
	m->len = one_in(sm, 3) ? below(sm, 65) :
		 one_in(sm, 4) ? below(sm, 1 << 18) : below(sm, 16384);
	m->fence = one_in(sm, 10);
	if (m->opcode == MROCE_OP_FETCH_ADD ||
	    m->opcode == MROCE_OP_CMP_SWAP) {
		m->len = 8;
		m->swap_add = 1;
		m->compare = U64_MAX;	/* never there */
	}
	memset(r, 0, sizeof(*r));
	if (f->posted) {
		prev = record_of(c, f->posted - 1);
		r->rsn = prev->rsn + consumes(prev->opcode);
		r->nth_add = prev->nth_add +
			     (prev->opcode == MROCE_OP_FETCH_ADD);
	}
	r->msn = f->posted;
	r->opcode = m->opcode;
	r->len = m->len;
	r->fence = m->fence;
	if (consumes(m->opcode))
		c->rsn_len[r->rsn % RECORDS] = m->len;
	seedlog_note(sm, "flow %u: post %llu, op %u, %u bytes", checked(f)->id,
		     f->posted, m->opcode, m->len);
}

static void progress(struct checked *c)
{
	c->last_ns = c->f->sm->now;
}

static void w_placed(struct flow *f, const struct mroce_claim *cl)
{
	struct checked *c = checked(f);
	struct record *r = record_of(c, cl->msn);

	progress(c);
	if (cl->msn != r->msn) {
		seedlog_fail(f->sm, "flow %u: msn %u placed, not posted",
			     checked(f)->id, cl->msn);
		return;
	}
	if (r->fence && c->done != r->msn)
		seedlog_fail(f->sm, "flow %u: msn %u passed its fence", c->id,
			     cl->msn);
	if (!cl->len)
		return;
	if (cl->kind != MROCE_CLAIM_RESP && cl->attempt != r->attempt) {
		r->attempt = cl->attempt;
		r->placed = 0;
	}
	r->placed += cover(cl->off, cl->off + cl->len);
}

static int w_bind(struct flow *f, u32 rsn)
{
	return sim_chance(f->sm, checked(f)->rnr) ? -EAGAIN : 0;
}

static void w_received(struct flow *f, const struct mroce_recv *rv)
{
	struct checked *c = checked(f);

	if (rv->rsn != c->received || rv->refused ||
	    rv->len != c->rsn_len[rv->rsn % RECORDS])
		seedlog_fail(f->sm, "flow %u: receive %u of %u bytes for %llu",
			     checked(f)->id, rv->rsn, rv->len, c->received);
	c->received++;
}

static void w_executed(struct flow *f, const struct mroce_rctx *x)
{
	struct checked *c = checked(f);
	struct record *r = record_of(c, x->msn);

	if (r->msn != x->msn || r->opcode != x->opcode ||
	    x->orig != c->executed || r->nth_add != c->executed)
		seedlog_fail(f->sm, "flow %u: msn %u executed out of turn",
			     checked(f)->id, x->msn);
	c->executed += x->opcode == MROCE_OP_FETCH_ADD;
}

static void w_fetched(struct flow *f, const struct mroce_msg *m, u64 orig)
{
	struct record *r = record_of(checked(f), m->msn);

	progress(checked(f));
	if (r->msn != m->msn || orig != r->nth_add)
		seedlog_fail(f->sm, "flow %u: msn %u fetched %llu, not %llu",
			     checked(f)->id, m->msn, orig, r->nth_add);
}

static void w_completed(struct flow *f, const struct mroce_msg *m, bool ok)
{
	struct checked *c = checked(f);
	struct record *r = record_of(c, m->msn);
	bool atomic = m->opcode == MROCE_OP_FETCH_ADD ||
		      m->opcode == MROCE_OP_CMP_SWAP;

	progress(c);
	seedlog_note(f->sm, "flow %u: msn %u done", checked(f)->id, m->msn);
	if (!ok)
		seedlog_fail(f->sm, "flow %u: msn %u failed", checked(f)->id,
			     m->msn);
	else if (m->msn != (u32)c->done || r->msn != m->msn)
		seedlog_fail(f->sm, "flow %u: msn %u done, %llu is next",
			     checked(f)->id, m->msn, c->done);
	else if (!atomic && r->placed != cover(0, r->len))
		seedlog_fail(f->sm, "flow %u: msn %u done, not placed once",
			     checked(f)->id, m->msn);
	c->adds += m->opcode == MROCE_OP_FETCH_ADD;
	c->done++;
}

/*
 * Packets lost in a row of each path, or their ACKs: what excuses waiting, since
 * each time-out of a path is twice the one before. Control packets count for
 * all of a pair's.
 */
static u32 lost[MAX_HOSTS][MAX_HOSTS][MAX_PATHS];
/* When such a row ended last, for a pair: from then on there is no excuse. */
static u64 excused_ns[MAX_HOSTS][MAX_HOSTS];

static void path_heard(struct sim *sm, u16 src, u16 dst, u8 path)
{
	if (lost[src][dst][path])
		excused_ns[src][dst] = sm->now;
	lost[src][dst][path] = 0;
}

static void w_packet(struct sim *sm, const struct packet *p, const char *what)
{
	bool came = !strcmp(what, "came");
	struct mroce_pkt pkt;
	u32 i;

	seedlog_packet(sm, p, what);
	if (!strcmp(what, "sent") ||
	    mroce_wire_parse(p->hdr, p->hdr_len, p->len, &pkt) != MROCE_WIRE_OK)
		return;
	if (pkt.type == MROCE_T_DATA) {
		if (!came)
			lost[p->src][p->dst][pkt.path]++;
	} else if (pkt.type == MROCE_T_ACK || pkt.type == MROCE_T_NAK) {
		if (!came)
			lost[p->dst][p->src][pkt.path]++;
		else if (pkt.type == MROCE_T_ACK)
			path_heard(sm, p->dst, p->src, pkt.path);
	} else if (!came) {
		for (i = 0; i < MAX_PATHS; i++)
			lost[p->src][p->dst][i]++;
	}
}

/* The most losses in a row that a flow may be waiting for. */
static u32 worst_lost(const struct flow *f)
{
	u32 i, worst = 0;

	for (i = 0; i < MAX_PATHS; i++) {
		worst = max(worst, lost[f->cfg.src][f->cfg.dst][i]);
		worst = max(worst, lost[f->cfg.dst][f->cfg.src][i]);
	}
	return worst;
}

static struct watch watch = {
	.choose = w_choose,
	.placed = w_placed,
	.bind = w_bind,
	.received = w_received,
	.executed = w_executed,
	.fetched = w_fetched,
	.completed = w_completed,
	.packet = w_packet,
};

/* ---- the network --------------------------------------------------------------------- */

static struct sim *random_network(u64 seed)
{
	static const double rates[] = { 1, 10, 25, 100 };
	static const u16 mtus[] = { 576, 1500, 4200, 9000 };
	struct sim *dice = sim_new(seed, &transport_metaroce, 1, 0, 0), *sm;
	u32 kind = below(dice, 4), a = 2 + below(dice, 4), b = 1 +
		below(dice, 3), hosts = 2;
	double gbps = rates[below(dice, ARRAY_SIZE(rates))];
	u64 delay_ns = 300 + below(dice, 20000);
	u16 mtu = mtus[below(dice, ARRAY_SIZE(mtus))];
	u8 paths = 1 + below(dice, 16);

	if (kind == TOPO_STAR)
		hosts = a;
	else if (kind == TOPO_CLOS)
		hosts = a * b;
	sm = sim_new(sim_rand(dice), &transport_metaroce, hosts, mtu, paths);
	sim_free(dice);
	sm->no_hints = one_in(sm, 4);
	switch (kind) {
	case TOPO_PAIR:
		topo_pair(sm, gbps, delay_ns);
		break;
	case TOPO_STAR:
		topo_star(sm, gbps, delay_ns);
		break;
	case TOPO_LANES:
		topo_lanes(sm, 1 + below(sm, 8), gbps, delay_ns);
		break;
	case TOPO_CLOS:
		topo_clos(sm, a, b, 1 + below(sm, 4), gbps, delay_ns);
		break;
	}
	return sm;
}

/* In 2^32: up to so many per cent. */
static u32 up_to(struct sim *sm, u32 percent)
{
	return below(sm, percent * 42949672U);
}

static void random_damage(struct sim *sm)
{
	struct queue_cfg q = { };
	struct impair im = { };

	if (one_in(sm, 2)) {
		q.limit = (32 + below(sm, 1000)) << 10;
		q.mark_min = below(sm, q.limit);
		q.mark_max = q.mark_min + below(sm, q.limit);
		q.mark_prob = up_to(sm, 20);
	}
	if (one_in(sm, 2))
		im.loss = up_to(sm, one_in(sm, 3) ? 10 : 2);
	if (one_in(sm, 4)) {
		im.burst_enter = up_to(sm, 1);
		im.burst_leave = (5 << 24) + up_to(sm, 30);
		im.burst_loss = up_to(sm, 60);
	}
	if (one_in(sm, 3)) {
		im.reorder = up_to(sm, 10);
		im.reorder_ns = below(sm, 50000);
	}
	if (one_in(sm, 3))
		im.duplicate = up_to(sm, 5);
	if (one_in(sm, 3))
		im.corrupt = up_to(sm, 2);
	im.bleach = one_in(sm, 4);
	topo_queues(sm, &q);
	topo_impair(sm, &im);
}

static void cut_end(struct sim *sm, void *arg)
{
	struct cut *cut = arg;

	seedlog_note(sm, "a link is up again");
	cut->link->down = false;
}

static void cut_begin(struct sim *sm, void *arg)
{
	struct cut *cut = arg;

	seedlog_note(sm, "a link is down");
	cut->link->down = true;
	sim_call(sm, cut->until, cut_end, cut);
}

static void random_cuts(struct seed_run *r)
{
	struct sim *sm = r->sm;
	u32 i;

	r->n_cuts = below(sm, MAX_FAULTS + 1);
	for (i = 0; i < r->n_cuts; i++) {
		struct cut *cut = &r->cut[i];

		cut->link = sm->links[below(sm, sm->n_links)];
		cut->at = below(sm, 20 * SIM_MS);
		cut->until = cut->at + below(sm, 30 * SIM_MS);
		r->worst_cut_ns = max(r->worst_cut_ns, cut->until - cut->at);
		r->last_cut_ns = max(r->last_cut_ns, cut->until);
		sim_call(sm, cut->at, cut_begin, cut);
	}
}

/* ---- a run --------------------------------------------------------------------------- */

static void random_flows(struct seed_run *r)
{
	struct sim *sm = r->sm;
	u32 i;

	r->n_flows = 1 + below(sm, MAX_FLOWS);
	r->c = xcalloc(r->n_flows, sizeof(*r->c));
	for (i = 0; i < r->n_flows; i++) {
		struct flow_cfg cfg = {
			.src = below(sm, sm->n_hosts),
			.class = i % SIM_CLASSES,
			.msg_bytes = 1,	/* each counts as one: see w_choose() */
			.depth = 1 + below(sm, 48),
			.bytes = 1 + below(sm, MAX_MSGS),
		};
		struct checked *c = &r->c[i];

		cfg.dst = (cfg.src + 1 + below(sm, sm->n_hosts - 1)) %
			  sm->n_hosts;
		c->id = i;
		c->f = flow_new(sm, &cfg);
		c->f->arg = c;
		c->rnr = one_in(sm, 3) ? up_to(sm, 30) : 0;
	}
	for (i = 0; i < r->n_flows; i++)
		flow_start(r->c[i].f);
}

static bool flow_over(const struct flow *f)
{
	return !f->bytes_left && f->done == f->posted;
}

/* Who has not got on for longer than can be explained? */
static bool look(struct seed_run *r)
{
	struct sim *sm = r->sm;
	bool over = true;
	u32 i;

	for (i = 0; i < r->n_flows; i++) {
		struct checked *c = &r->c[i];
		u64 since = max(c->last_ns, r->last_cut_ns);
		u64 allowed = r->worst_cut_ns +
			(STALL_NS << min(worst_lost(c->f), STALL_DOUBLE));

		since = max(since, excused_ns[c->f->cfg.src][c->f->cfg.dst]);
		since = max(since, excused_ns[c->f->cfg.dst][c->f->cfg.src]);
		if (flow_over(c->f))
			continue;
		over = false;
		if (sm->now > since + allowed)
			seedlog_fail(sm, "flow %u: still since %llu us",
				     c->id, c->last_ns / 1000);
	}
	return over;
}

static void none(struct sim *sm, const char *what, u64 n)
{
	if (n)
		seedlog_fail(sm, "left over: %s is %llu", what, n);
}

#define NONE(sm, n)	none(sm, #n, n)

static void check_stream(struct sim *sm, const struct mroce_stream *s)
{
	NONE(sm, s->msn_nxt - s->msn_una);
	NONE(sm, s->claims);
	NONE(sm, s->quarantine);
	NONE(sm, s->rd_out);
	NONE(sm, s->n_refused);
	NONE(sm, s->n_consuming);
	NONE(sm, s->rd_in);
	NONE(sm, s->resp_n);
	NONE(sm, s->held);
	NONE(sm, s->exec_stalled);
}

static void check_conn(struct sim *sm, const struct mroce_conn *c)
{
	int i;

	NONE(sm, c->n_lost);
	NONE(sm, c->nak_n);
	NONE(sm, c->n_touched);
	NONE(sm, c->plane0.backlogged);
	for (i = 0; i < c->n_tx; i++) {
		NONE(sm, c->tx[i]->nxt - c->tx[i]->una);
		NONE(sm, c->tx[i]->inflight);
		NONE(sm, c->tx[i]->n_lost);
		NONE(sm, bitmap_weight(c->tx[i]->out, MROCE_PATH_WINDOW));
	}
	for (i = 0; i < c->rx_room; i++)
		if (c->rx[i])
			NONE(sm, c->rx[i]->n_placing);
}

/* Is everything acknowledged? Of what is complete, the last ACK may be lost. */
static bool all_acked(struct sim *sm)
{
	u32 i, k;
	int n;

	for (i = 0; i < sm->n_hosts; i++) {
		for (k = 0; k < sm->hosts[i].n_ends; k++) {
			struct mroce_conn *c = &to_mend(sm->hosts[i].ends[k])->c;

			for (n = 0; n < c->n_tx; n++)
				if (c->tx[n]->una != c->tx[n]->nxt)
					return false;
		}
	}
	return true;
}

static void check_end(struct seed_run *r)
{
	struct sim *sm = r->sm;
	u32 i, k;

	for (i = 0; i < r->n_flows; i++) {
		struct checked *c = &r->c[i];
		struct record *last = record_of(c, c->f->posted - 1);

		NONE(sm, c->f->errors);
		NONE(sm, c->executed - c->adds);
		NONE(sm, last->rsn + consumes(last->opcode) - c->received);
	}
	for (i = 0; i < sm->n_hosts; i++) {
		struct host *h = &sm->hosts[i];

		NONE(sm, atomic_read(&h->share[0].n_backlogged));
		for (k = 0; k < h->n_ends; k++)
			check_conn(sm, &to_mend(h->ends[k])->c);
		for (k = 0; k < h->n_flows; k++)
			check_stream(sm, &((struct mflow *)h->flows[k])->s);
	}
}

static bool seed_run(u64 seed, bool verbose)
{
	long allocs = mroce_shim_live_allocs();
	struct seed_run r = { };
	struct sim *sm;
	u32 i;

	memset(lost, 0, sizeof(lost));
	memset(excused_ns, 0, sizeof(excused_ns));
	seedlog_start(seed, verbose);
	sm = random_network(seed);
	r.sm = sm;
	sm->watch = &watch;
	sm->max_events = MAX_EVENTS;
	random_damage(sm);
	random_cuts(&r);
	random_flows(&r);
	while (!look(&r) && !seedlog_failed()) {
		sim_run(sm, sm->now + LOOK_NS);
		if (sm->now > RUN_NS)
			seedlog_fail(sm, "no end");
	}
	if (!seedlog_failed()) {
		/* the share of a silent connection, and what is not acked */
		for (i = 0; !i || (i < QUIET_TIMES && !all_acked(sm)); i++)
			sim_run(sm, sm->now + QUIET_NS);
		check_end(&r);
	}
	if (sm->n_events == MAX_EVENTS)
		seedlog_fail(sm, "it runs in circles");
	sim_free(sm);
	free(r.c);
	allocs = mroce_shim_live_allocs() - allocs;
	if (!seedlog_failed() && allocs) {
		struct sim gone = { };

		seedlog_fail(&gone, "%ld allocations left", allocs);
	}
	return !seedlog_failed();
}

/**
 * seeds_run - property runs
 * @first: seed of the first
 * @n: so many, one after the other
 * @verbose: print every event
 *
 * Return: 0 if all of them pass, 1 otherwise.
 */
int seeds_run(u64 first, u64 n, bool verbose)
{
	u64 i, bad = 0;

	for (i = 0; i < n; i++)
		bad += !seed_run(first + i, verbose);
	printf("%llu passed, %llu failed\n", n - bad, bad);
	return bad ? 1 : 0;
}
