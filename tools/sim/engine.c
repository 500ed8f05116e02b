// SPDX-License-Identifier: GPL-2.0
/*
 * Events, links, switches.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

u32 sim_rand(struct sim *sm)
{
	/* splitmix64 */
	u64 z = sm->rnd += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (u32)(z >> 32);
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

	if (sm->n_ev == sm->max_ev) {
		sm->max_ev = sm->max_ev ? 2 * sm->max_ev : 4096;
		sm->heap = realloc(sm->heap, sm->max_ev * sizeof(*sm->heap));
		if (!sm->heap)
			abort();
	}
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

void sim_call(struct sim *sm, u64 at, void (*fn)(struct sim *sm, void *arg),
	      void *arg)
{
	struct call *c = malloc(sizeof(*c));

	if (!c)
		abort();
	c->fn = fn;
	c->arg = arg;
	push(sm, at, EV_CALL, c, NULL);
}

void host_timer_at(struct sim *sm, struct end *e, u64 at)
{
	push(sm, at, EV_TIMER, e, NULL);
}

/* ---- links ------------------------------------------------------------------- */

struct link *sim_link(struct sim *sm, struct node *from, struct node *to,
		      double gbps, u64 delay_ns)
{
	struct link *l = calloc(1, sizeof(*l));

	if (!l)
		abort();
	l->to = to;
	l->ps_per_byte = (u64)(8000.0 / gbps + 0.5);
	l->delay_ns = delay_ns;
	l->tail = &l->head;
	if (sm->n_links == sm->max_links) {
		sm->max_links = sm->max_links ? 2 * sm->max_links : 64;
		sm->links = realloc(sm->links,
				    sm->max_links * sizeof(*sm->links));
		if (!sm->links)
			abort();
	}
	sm->links[sm->n_links++] = l;
	return l;
}

static u32 wire_bytes(const struct packet *p)
{
	return p->len + L3_LEN + ETH_OVERHEAD;
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
	if (l->down || (l->loss && sim_rand(sm) < l->loss)) {
		l->lost++;
		free(p);
		return;
	}
	push(sm, sm->now + ns + l->delay_ns, EV_ARRIVE, l->to, p);
}

void link_send(struct sim *sm, struct link *l, struct packet *p)
{
	u32 n = wire_bytes(p);

	if (l->limit && l->queued + n > l->limit) {
		l->drops++;
		free(p);
		return;
	}
	if (l->mark && l->queued > l->mark && p->ect) {
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

void sim_run(struct sim *sm, u64 until)
{
	while (sm->n_ev && sm->heap[0].at <= until) {
		struct event e = pop(sm);

		sm->now = e.at;
		sm->n_events++;
		dispatch(sm, &e);
	}
	sm->now = until;
}
