// SPDX-License-Identifier: GPL-2.0
/*
 * Hosts: a NIC, whose turn it is to send, timers.
 *
 * Transmitters are pulled: while the NIC's own queue is short, the host's ends
 * take turns. ACKs and control packets pass that bound, as they pass the bound
 * on local queues in the kernel.
 */
#include <stdlib.h>
#include <string.h>

#include "transport.h"

#define NIC_QUEUE	2		/* packets of data waiting */
#define PLANE_QUEUE	16		/* packets for each plane, in all their queues */

/**
 * xcalloc - memory, or the end
 * @n: number
 * @size: of each, bytes
 *
 * Return: zeroed memory, to be freed.
 */
void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

/**
 * grow - make room for one more
 * @p: array or NULL
 * @max: elements that it has room for
 * @n: elements in it
 * @size: of an element, bytes
 *
 * Return: the array, moved perhaps.
 */
void *grow(void *p, u32 *max, u32 n, size_t size)
{
	if (n < *max)
		return p;
	*max = *max ? 2 * *max : 8;
	p = realloc(p, *max * size);
	if (!p)
		abort();
	return p;
}

/* Planes share the bound on what is in local queues, as in the kernel. */
static bool nic_room(const struct host *h)
{
	u32 planes = h->sm->n_planes, k, bytes = 0;
	const struct packet *p;
	int n = 0;

	if (planes > 1) {
		for (k = 0; k < planes; k++)
			bytes += h->nic[k]->queued;
		return bytes < planes * PLANE_QUEUE * h->sm->mtu;
	}
	for (p = h->nic[0]->head; p; p = p->next)
		if (p->data && ++n >= NIC_QUEUE)
			return false;
	return true;
}

static void end_rearm(struct end *e)
{
	struct sim *sm = e->h->sm;
	u64 at = sm->t->deadline(e);

	if (at == MROCE_NEVER || at >= e->armed)
		return;
	e->armed = max(at, sm->now + 1);
	sim_timer_at(sm, e, e->armed);
}

static void sender_add(struct host *h, struct end *e)
{
	if (e->queued)
		return;
	e->queued = true;
	e->next_tx = NULL;
	*h->tx_tail = e;
	h->tx_tail = &e->next_tx;
}

/**
 * end_kick - an end may have something to send
 * @e: end
 *
 * What must not wait leaves; then the host's turn-taking.
 */
void end_kick(struct end *e)
{
	e->h->sm->t->tx_now(e);
	sender_add(e->h, e);
	host_nic_free(e->h);
	end_rearm(e);
}

/**
 * host_nic_free - a host's own queue may have room again
 * @h: host, whose senders go on
 */
void host_nic_free(struct host *h)
{
	while (h->tx_head && nic_room(h)) {
		struct end *e = h->tx_head;

		h->tx_head = e->next_tx;
		if (!h->tx_head)
			h->tx_tail = &h->tx_head;
		e->queued = false;
		if (h->sm->t->tx(e))
			sender_add(h, e);
		end_rearm(e);
	}
}

/**
 * host_timer - an end's deadline has come, or an older one has
 * @e: end
 */
void host_timer(struct end *e)
{
	struct sim *sm = e->h->sm;

	if (sm->now < e->armed)
		return;
	e->armed = MROCE_NEVER;
	if (sm->t->deadline(e) <= sm->now)
		sm->t->timer(e);
	end_kick(e);
}

/**
 * host_rx - a packet has come
 * @h: its destination
 * @p: packet, freed here
 */
void host_rx(struct host *h, struct packet *p)
{
	struct watch *w = h->sm->watch;

	if (w)
		w->packet(h->sm, p, p->bad ? "corrupt" : "came");
	if (p->bad)
		h->corrupt++;
	else
		h->sm->t->rx(h, p);
	free(p);
}

/**
 * host_packet - an empty packet to the other end
 * @e: end that sends it
 *
 * Return: the packet; addresses are filled in.
 */
struct packet *host_packet(struct end *e)
{
	struct packet *p = malloc(sizeof(*p));

	if (!p)
		abort();
	memset(p, 0, offsetof(struct packet, hdr));
	p->src = e->h->idx;
	p->dst = e->peer;
	return p;
}

/**
 * host_add_end - an end of a connection
 * @h: its host
 * @e: end, zeroed
 * @peer: the other end's host
 */
void host_add_end(struct host *h, struct end *e, u16 peer)
{
	e->h = h;
	e->peer = peer;
	e->idx = h->n_ends;
	e->armed = MROCE_NEVER;
	h->ends = grow(h->ends, &h->max_ends, h->n_ends, sizeof(*h->ends));
	h->ends[h->n_ends++] = e;
}

/**
 * host_end - the end of the connection to another host
 * @h: host
 * @peer: the other
 *
 * Return: the first one, or NULL.
 */
struct end *host_end(struct host *h, u16 peer)
{
	u32 i;

	for (i = 0; i < h->n_ends; i++)
		if (h->ends[i]->peer == peer)
			return h->ends[i];
	return NULL;
}

/**
 * host_add_flow - give a flow, or its responder's half, a number
 * @h: host
 * @f: flow
 *
 * Return: the number.
 */
u32 host_add_flow(struct host *h, struct flow *f)
{
	h->flows = grow(h->flows, &h->max_flows, h->n_flows,
			sizeof(*h->flows));
	h->flows[h->n_flows] = f;
	return h->n_flows++;
}
