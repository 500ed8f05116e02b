// SPDX-License-Identifier: GPL-2.0
/*
 * Topologies and their routing. ECMP is a hash of the 5-tuple, salted per
 * switch: what a real switch does, nothing more.
 */
#include <stdlib.h>
#include <string.h>

#include "transport.h"

/**
 * sim_new - a simulation
 * @seed: of all that is random
 * @t: what its hosts speak
 * @n_hosts: number of hosts
 * @mtu: bytes, IP header included
 * @n_paths: of a MetaRoCE connection
 *
 * Return: the simulation, without links.
 */
struct sim *sim_new(u64 seed, const struct transport *t, u32 n_hosts, u16 mtu,
		    u8 n_paths)
{
	struct sim *sm = xcalloc(1, sizeof(*sm));
	u32 i;

	sm->rnd = seed;
	sm->t = t;
	sm->mtu = mtu;
	sm->n_paths = n_paths;
	sm->n_planes = 1;
	sm->n_hosts = n_hosts;
	sm->hosts = xcalloc(n_hosts, sizeof(*sm->hosts));
	for (i = 0; i < n_hosts; i++) {
		struct host *h = &sm->hosts[i];

		h->sm = sm;
		h->idx = i;
		h->node.host = i;
		h->tx_tail = &h->tx_head;
	}
	mroce_shim_seed(seed);
	return sm;
}

static void host_free(struct host *h)
{
	u32 i;

	for (i = 0; i < h->n_ends; i++)
		h->sm->t->end_free(h->ends[i]);
	free(h->ends);
}

static void link_free(struct link *l)
{
	struct packet *p = l->head, *next;

	for (; p; p = next) {
		next = p->next;
		free(p);
	}
	free(l);
}

/**
 * sim_free - the end of a simulation
 * @sm: with all that is in it
 */
void sim_free(struct sim *sm)
{
	u32 i, j;

	for (i = 0; i < sm->n_hosts; i++) {
		struct host *h = &sm->hosts[i];

		for (j = 0; j < h->n_flows; j++)
			sm->t->flow_free(h->flows[j]);
		free(h->flows);
	}
	for (i = 0; i < sm->n_hosts; i++)
		host_free(&sm->hosts[i]);
	for (i = 0; i < sm->n_ev; i++)
		if (sm->heap[i].type == EV_ARRIVE)
			free(sm->heap[i].b);
		else if (sm->heap[i].type == EV_CALL)
			free(sm->heap[i].a);
	for (i = 0; i < sm->n_links; i++)
		link_free(sm->links[i]);
	for (i = 0; i < sm->n_switches; i++) {
		free(sm->switches[i].up);
		free(sm->switches[i].down);
	}
	for (i = 0; i < SIM_CLASSES; i++)
		free(sm->latency[i].ns);
	free(sm->switches);
	free(sm->links);
	free(sm->heap);
	free(sm->hosts);
	free(sm);
}

static u32 ecmp(const struct node *n, const struct packet *p, u32 of)
{
	u32 h = p->src * 0x9e3779b1u ^ p->dst * 0x85ebca6bu ^
		p->sport * 0xc2b2ae35u ^ n->salt;

	h ^= h >> 16;
	h *= 0x7feb352du;
	h ^= h >> 15;
	h *= 0x846ca68bu;
	h ^= h >> 16;
	return h % of;
}

static void nic(struct sim *sm, u32 host, u8 plane, struct node *to,
		double gbps, u64 delay_ns)
{
	struct host *h = &sm->hosts[host];

	h->nic[plane] = sim_link(sm, to, gbps, delay_ns);
	h->nic[plane]->owner = h;
}

static void switches(struct sim *sm, u32 n)
{
	u32 i;

	sm->n_switches = n;
	sm->switches = xcalloc(n, sizeof(*sm->switches));
	for (i = 0; i < n; i++) {
		sm->switches[i].host = -1;
		sm->switches[i].idx = i;
		sm->switches[i].salt = sim_rand(sm);
	}
}

static struct link **link_array(u32 n)
{
	return xcalloc(n ? n : 1, sizeof(struct link *));
}

/* An empty route there and back, with a packet of data and an ACK. */
static void base_rtt(struct sim *sm, u32 links, double gbps, u64 delay_ns)
{
	sm->base_rtt_ns = links * (2 * delay_ns +
				   (u64)((sm->mtu + 100) * 8 / gbps));
}

/**
 * topo_pair - two hosts and a cable
 * @sm: simulation
 * @gbps: rate
 * @delay_ns: of the cable
 */
void topo_pair(struct sim *sm, double gbps, u64 delay_ns)
{
	nic(sm, 0, 0, &sm->hosts[1].node, gbps, delay_ns);
	nic(sm, 1, 0, &sm->hosts[0].node, gbps, delay_ns);
	base_rtt(sm, 1, gbps, delay_ns);
}

static int route_star(struct sim *sm, struct node *n, const struct packet *p,
		      struct link **out)
{
	(void)sm;
	*out = n->down[p->dst];
	return 0;
}

/**
 * topo_planes - planes that have nothing in common but the hosts
 * @sm: simulation
 * @planes: a star for each: its switch has its number
 * @gbps: rate of the links: a host has so much in each plane
 * @delay_ns: of each link
 */
void topo_planes(struct sim *sm, u8 planes, double gbps, u64 delay_ns)
{
	u32 i, k;

	sm->n_planes = planes;
	switches(sm, planes);
	for (k = 0; k < planes; k++) {
		struct node *sw = &sm->switches[k];

		sw->route = route_star;
		sw->n_down = sm->n_hosts;
		sw->down = link_array(sm->n_hosts);
		for (i = 0; i < sm->n_hosts; i++) {
			nic(sm, i, k, sw, gbps, delay_ns);
			sw->down[i] = sim_link(sm, &sm->hosts[i].node, gbps,
					       delay_ns);
		}
	}
	base_rtt(sm, 2, gbps, delay_ns);
}

/**
 * topo_star - one switch, all on it
 * @sm: simulation
 * @gbps: rate of the links
 * @delay_ns: of each link
 */
void topo_star(struct sim *sm, double gbps, u64 delay_ns)
{
	topo_planes(sm, 1, gbps, delay_ns);
}

/* The hash of a switch that is told to look at the source port alone. */
static int route_lanes(struct sim *sm, struct node *n, const struct packet *p,
		       struct link **out)
{
	(void)sm;
	if (p->dst % 2 == n->idx)
		*out = n->down[0];
	else
		*out = n->up[p->sport % n->n_up];
	return 0;
}

/**
 * topo_lanes - two hosts, two switches, cables between them
 * @sm: simulation of two hosts
 * @lanes: number of cables
 * @gbps: rate of the hosts; that of a cable is its share of it
 * @delay_ns: of each link
 *
 * Source ports that follow each other take different cables: each path has
 * one of its own, with no room for more than its share.
 */
void topo_lanes(struct sim *sm, u32 lanes, double gbps, u64 delay_ns)
{
	u32 i, k;

	switches(sm, 2);
	sm->port_step = 1;
	for (i = 0; i < 2; i++) {
		struct node *n = &sm->switches[i];

		n->route = route_lanes;
		n->n_up = lanes;
		n->n_down = 1;
		n->up = link_array(lanes);
		n->down = link_array(1);
		nic(sm, i, 0, n, gbps, delay_ns);
		n->down[0] = sim_link(sm, &sm->hosts[i].node, gbps, delay_ns);
		for (k = 0; k < lanes; k++)
			n->up[k] = sim_link(sm, &sm->switches[!i], gbps / lanes,
					    delay_ns);
	}
	base_rtt(sm, 3, gbps, delay_ns);
}

static int route_clos(struct sim *sm, struct node *n, const struct packet *p,
		      struct link **out)
{
	u32 hosts = sm->switches[0].n_down, leaf = p->dst / hosts;

	if (n->level)
		*out = n->down[leaf];
	else if ((u32)n->idx == leaf)
		*out = n->down[p->dst % hosts];
	else
		*out = n->up[ecmp(n, p, n->n_up)];
	return 0;
}

/**
 * topo_clos - leaves and spines
 * @sm: simulation of @leaves * @hosts hosts
 * @leaves: switches with hosts
 * @hosts: of each
 * @spines: switches, each with a link to every leaf
 * @gbps: rate of all links
 * @delay_ns: of each
 */
void topo_clos(struct sim *sm, u32 leaves, u32 hosts, u32 spines, double gbps,
	       u64 delay_ns)
{
	u32 i, k;

	switches(sm, leaves + spines);
	for (i = 0; i < sm->n_switches; i++) {
		struct node *n = &sm->switches[i];

		n->route = route_clos;
		n->level = i >= leaves;
		n->n_down = n->level ? leaves : hosts;
		n->n_up = n->level ? 0 : spines;
		n->down = link_array(n->n_down);
		n->up = link_array(n->n_up);
	}
	for (i = 0; i < sm->n_hosts; i++) {
		struct node *n = &sm->switches[i / hosts];

		nic(sm, i, 0, n, gbps, delay_ns);
		n->down[i % hosts] = sim_link(sm, &sm->hosts[i].node, gbps,
					      delay_ns);
	}
	for (i = 0; i < leaves; i++) {
		for (k = 0; k < spines; k++) {
			struct node *leaf = &sm->switches[i];
			struct node *spine = &sm->switches[leaves + k];

			leaf->up[k] = sim_link(sm, spine, gbps, delay_ns);
			spine->down[i] = sim_link(sm, leaf, gbps, delay_ns);
		}
	}
	base_rtt(sm, 4, gbps, delay_ns);
}

/*
 * Three tiers of k-port switches, k^3/4 hosts. Numbering: edge switches
 * first, then aggregation, then core.
 */
static int route_fat(struct sim *sm, struct node *n, const struct packet *p,
		     struct link **out)
{
	u32 k2 = n->level == 2 ? n->n_down / 2 : n->n_down, pod, edge, i;

	(void)sm;
	edge = p->dst / k2;		/* k/2 hosts per edge switch */
	pod = edge / k2;
	switch (n->level) {
	case 0:
		if ((u32)n->idx == edge)
			*out = n->down[p->dst % k2];
		else
			*out = n->up[ecmp(n, p, n->n_up)];
		return 0;
	case 1:
		i = (n->idx - 2 * k2 * k2) / k2;	/* my pod */
		if (i == pod)
			*out = n->down[edge % k2];
		else
			*out = n->up[ecmp(n, p, n->n_up)];
		return 0;
	}
	*out = n->down[pod];
	return 0;
}

/**
 * topo_fat_tree - three tiers
 * @sm: simulation of @k^3 / 4 hosts
 * @k: ports of a switch
 * @gbps: rate of all links
 * @delay_ns: of each
 */
void topo_fat_tree(struct sim *sm, u32 k, double gbps, u64 delay_ns)
{
	u32 k2 = k / 2, n_edge = k * k2, n_agg = k * k2, n_core = k2 * k2;
	u32 i, j, pod;

	switches(sm, n_edge + n_agg + n_core);
	for (i = 0; i < sm->n_switches; i++) {
		struct node *n = &sm->switches[i];

		n->route = route_fat;
		n->level = i < n_edge ? 0 : i < n_edge + n_agg ? 1 : 2;
		n->n_down = n->level == 2 ? k : k2;
		n->n_up = n->level == 2 ? 0 : k2;
		n->down = link_array(n->n_down);
		n->up = link_array(n->n_up);
	}
	for (i = 0; i < sm->n_hosts; i++) {
		struct node *e = &sm->switches[i / k2];

		nic(sm, i, 0, e, gbps, delay_ns);
		e->down[i % k2] = sim_link(sm, &sm->hosts[i].node, gbps,
					   delay_ns);
	}
	for (pod = 0; pod < k; pod++) {
		for (i = 0; i < k2; i++) {
			struct node *e = &sm->switches[pod * k2 + i];

			for (j = 0; j < k2; j++) {
				struct node *a = &sm->switches[n_edge +
							       pod * k2 + j];

				e->up[j] = sim_link(sm, a, gbps, delay_ns);
				a->down[i] = sim_link(sm, e, gbps,
						      delay_ns);
			}
		}
		for (j = 0; j < k2; j++) {
			struct node *a = &sm->switches[n_edge + pod * k2 + j];

			for (i = 0; i < k2; i++) {
				struct node *c = &sm->switches[n_edge + n_agg +
							       j * k2 + i];

				a->up[i] = sim_link(sm, c, gbps, delay_ns);
				c->down[pod] = sim_link(sm, a, gbps,
							delay_ns);
			}
		}
	}
	base_rtt(sm, 6, gbps, delay_ns);
}

/**
 * topo_queues - bound and mark the queues of the switches
 * @sm: simulation, with its links
 * @q: bounds
 *
 * A host's own queue is short by itself: see host.c.
 */
void topo_queues(struct sim *sm, const struct queue_cfg *q)
{
	u32 i;

	for (i = 0; i < sm->n_links; i++)
		if (!sm->links[i]->owner)
			sm->links[i]->q = *q;
}

/**
 * topo_impair - damage what hosts send
 * @sm: simulation, with its links
 * @im: how
 *
 * On the first link of each route, so that every packet, of data or not, is
 * exposed to it once.
 */
void topo_impair(struct sim *sm, const struct impair *im)
{
	u32 i;

	for (i = 0; i < sm->n_links; i++)
		if (sm->links[i]->owner)
			sm->links[i]->im = *im;
}

/**
 * topo_edge - the switch of a host
 * @sm: simulation
 * @host: index
 *
 * Return: the switch, or NULL in a topology without one.
 */
struct node *topo_edge(struct sim *sm, u32 host)
{
	struct node *n = sm->hosts[host].nic[0]->to;

	return n->host < 0 ? n : NULL;
}
