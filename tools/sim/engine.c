// SPDX-License-Identifier: GPL-2.0
/*
 * Events, links, switches.
 */
#include <stdlib.h>
#include <string.h>

#include "transport.h"

/**
 * sim_rand - the next 32 random bits
 * @sm: simulation
 *
 * Return: anything, the same for the same seed.
 */
u32 sim_rand(struct sim *sm)
{
	/* splitmix64 */
	u64 z = sm->rnd += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (u32)(z >> 32);
}

/**
 * sim_chance - throw a coin
 * @sm: simulation
 * @prob: in 2^32
 *
 * Return: true with that probability.
 */
bool sim_chance(struct sim *sm, u32 prob)
{
	return prob && sim_rand(sm) < prob;
}

static bool sooner(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

static void push(struct sim *sm, u64 at, enum ev_type type, void *a, void *b)
{
	struct event e = { .at = at, .seq = sm->seq++, .type = type, .a = a,
			   .b = b };
	u32 i;

	sm->heap = grow(sm->heap, &sm->max_ev, sm->n_ev, sizeof(*sm->heap));
	i = sm->n_ev++;
	while (i && sooner(&e, &sm->heap[(i - 1) / 2])) {
		sm->heap[i] = sm->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	sm->heap[i] = e;
}

static struct event pop(struct sim *sm)
{
	struct event top = sm->heap[0], last = sm->heap[--sm->n_ev];
	u32 i = 0, k;

	for (;;) {
		k = 2 * i + 1;
		if (k >= sm->n_ev)
			break;
		if (k + 1 < sm->n_ev && sooner(&sm->heap[k + 1], &sm->heap[k]))
			k++;
		if (!sooner(&sm->heap[k], &last))
			break;
		sm->heap[i] = sm->heap[k];
		i = k;
	}
	sm->heap[i] = last;
	return top;
}

struct call {
	void (*fn)(struct sim *sm, void *arg);
	void *arg;
};

/**
 * sim_call - have a function called
 * @sm: simulation
 * @at: ns
 * @fn: function
 * @arg: for it
 */
void sim_call(struct sim *sm, u64 at, void (*fn)(struct sim *sm, void *arg),
	      void *arg)
{
	struct call *c = xcalloc(1, sizeof(*c));

	c->fn = fn;
	c->arg = arg;
	push(sm, at, EV_CALL, c, NULL);
}

/**
 * sim_timer_at - have host_timer() called
 * @sm: simulation
 * @e: for it
 * @at: ns
 */
void sim_timer_at(struct sim *sm, struct end *e, u64 at)
{
	push(sm, at, EV_TIMER, e, NULL);
}

/* ---- links ------------------------------------------------------------------- */

/**
 * link_rate - change a link's rate
 * @l: link
 * @gbps: from its next packet on
 */
void link_rate(struct link *l, double gbps)
{
	l->ps_per_byte = (u64)(8000.0 / gbps + 0.5);
}

/**
 * sim_link - one direction of a cable
 * @sm: simulation, which owns it
 * @to: where it ends
 * @gbps: rate
 * @delay_ns: of propagation
 *
 * Return: the link, with no bound on its queue and no impairment.
 */
struct link *sim_link(struct sim *sm, struct node *to, double gbps,
		      u64 delay_ns)
{
	struct link *l = xcalloc(1, sizeof(*l));

	l->to = to;
	link_rate(l, gbps);
	l->delay_ns = delay_ns;
	l->tail = &l->head;
	sm->links = grow(sm->links, &sm->max_links, sm->n_links,
			 sizeof(*sm->links));
	sm->links[sm->n_links++] = l;
	return l;
}

static u32 wire_bytes(const struct packet *p)
{
	return p->len + L3_LEN + ETH_OVERHEAD;
}

/* Lost at random, or in a burst. */
static bool link_loses(struct sim *sm, struct link *l)
{
	if (l->im.burst_enter) {
		if (sim_chance(sm, l->in_burst ? l->im.burst_leave :
						 l->im.burst_enter))
			l->in_burst = !l->in_burst;
		if (l->in_burst && sim_chance(sm, l->im.burst_loss))
			return true;
	}
	return sim_chance(sm, l->im.loss);
}

static void link_drop(struct sim *sm, struct packet *p, const char *why)
{
	if (sm->watch)
		sm->watch->packet(sm, p, why);
	free(p);
}

/* A packet is on the cable, and would be at its end @at. */
static void link_carry(struct sim *sm, struct link *l, struct packet *p, u64 at)
{
	const struct impair *im = &l->im;
	struct packet *copy;

	if (l->down || link_loses(sm, l)) {
		l->lost++;
		link_drop(sm, p, l->down ? "down" : "lost");
		return;
	}
	if (im->bleach)
		p->ce = false;
	if (sim_chance(sm, im->corrupt))
		p->bad = true;
	if (sim_chance(sm, im->duplicate)) {
		copy = xcalloc(1, sizeof(*copy));
		*copy = *p;
		push(sm, at, EV_ARRIVE, l->to, copy);
	}
	if (sim_chance(sm, im->reorder))
		at += sim_rand(sm) % (im->reorder_ns + 1);
	push(sm, at, EV_ARRIVE, l->to, p);
}

static void link_next(struct sim *sm, struct link *l)
{
	struct packet *p = l->head;
	u64 ns;

	if (!p) {
		l->busy = false;
		return;
	}
	l->head = p->next;
	if (!l->head)
		l->tail = &l->head;
	l->queued -= wire_bytes(p);
	l->busy = true;
	l->bytes += wire_bytes(p);
	l->pkts++;
	ns = wire_bytes(p) * l->ps_per_byte / 1000;
	push(sm, sm->now + ns, EV_LINK_FREE, l, NULL);
	link_carry(sm, l, p, sm->now + ns + l->delay_ns);
}

/* RED on the momentary queue; or, with equal bounds, a step. */
static bool link_marks(struct sim *sm, const struct link *l)
{
	const struct queue_cfg *q = &l->q;

	if (!q->mark_max || l->queued <= q->mark_min)
		return false;
	if (l->queued >= q->mark_max)
		return true;
	return sim_chance(sm, (u64)q->mark_prob * (l->queued - q->mark_min) /
			      (q->mark_max - q->mark_min));
}

/**
 * link_send - a packet for a link's queue
 * @sm: simulation
 * @l: link
 * @p: packet; marked or dropped here
 */
void link_send(struct sim *sm, struct link *l, struct packet *p)
{
	u32 n = wire_bytes(p);

	if (l->q.limit && l->queued + n > l->q.limit) {
		l->drops++;
		link_drop(sm, p, "full");
		return;
	}
	if (p->ect && link_marks(sm, l)) {
		p->ce = true;
		l->marks++;
	}
	p->next = NULL;
	*l->tail = p;
	l->tail = &p->next;
	l->queued += n;
	l->max_queued = max(l->max_queued, l->queued);
	if (!l->busy)
		link_next(sm, l);
}

/* ---- the loop ------------------------------------------------------------------ */

static void dispatch(struct sim *sm, struct event *e)
{
	struct node *n;
	struct link *out = NULL;
	struct call *c;

	switch (e->type) {
	case EV_ARRIVE:
		n = e->a;
		if (n->host >= 0) {
			host_rx(&sm->hosts[n->host], e->b);
			break;
		}
		if (n->route(sm, n, e->b, &out) || !out) {
			free(e->b);
			break;
		}
		link_send(sm, out, e->b);
		break;
	case EV_LINK_FREE:
		link_next(sm, e->a);
		/* A host's queue has room again: its senders go on. */
		if (((struct link *)e->a)->owner)
			host_nic_free(((struct link *)e->a)->owner);
		break;
	case EV_TIMER:
		host_timer(e->a);
		break;
	case EV_CALL:
		c = e->a;
		c->fn(sm, c->arg);
		free(c);
		break;
	}
}

/**
 * sim_run - let time pass
 * @sm: simulation
 * @until: ns
 *
 * Ends sooner, and for good, after max_events events.
 */
void sim_run(struct sim *sm, u64 until)
{
	while (sm->n_ev && sm->heap[0].at <= until) {
		struct event e;

		if (sm->max_events && sm->n_events >= sm->max_events)
			break;
		e = pop(sm);
		sm->now = e.at;
		sm->n_events++;
		dispatch(sm, &e);
	}
	sm->now = until;
}
