// SPDX-License-Identifier: GPL-2.0
/*
 * Topologies and their routing. ECMP is a hash of the 5-tuple, salted per
 * switch: what a real switch does, nothing more.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

struct sim *sim_new(u64 seed, u32 n_hosts, u16 mtu, u8 n_paths)
{
	struct sim *sm = calloc(1, sizeof(*sm));
	u32 i;

	if (!sm)
		abort();
	sm->rnd = seed;
	sm->mtu = mtu;
	sm->n_paths = n_paths;
	sm->n_hosts = n_hosts;
	sm->hosts = calloc(n_hosts, sizeof(*sm->hosts));
	if (!sm->hosts)
		abort();
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

static void flow_free(struct flow *f, u64 now)
{
	mroce_stream_detach(&f->s, now);
	mroce_stream_left(&f->s);
	mroce_stream_fini(&f->s);
	free(f->ring);
	free(f);
}

void sim_free(struct sim *sm)
{
	u32 i, j;

	for (i = 0; i < sm->n_hosts; i++) {
		struct host *h = &sm->hosts[i];

		for (j = 0; j < h->n_flows; j++)
			flow_free(h->flows[j], sm->now);
		free(h->flows);
	}
	for (i = 0; i < sm->n_hosts; i++) {
		struct host *h = &sm->hosts[i];

		for (j = 0; j < h->n_ends; j++) {
			mroce_conn_fini(&h->ends[j]->c);
			free(h->ends[j]);
		}
		free(h->ends);
	}
	for (i = 0; i < sm->n_ev; i++)
		if (sm->heap[i].type == EV_ARRIVE)
			free(sm->heap[i].b);
		else if (sm->heap[i].type == EV_CALL)
			free(sm->heap[i].a);
	for (i = 0; i < sm->n_links; i++) {
		struct packet *p = sm->links[i]->head, *next;

		for (; p; p = next) {
			next = p->next;
			free(p);
		}
		free(sm->links[i]);
	}
	for (i = 0; i < sm->n_switches; i++) {
		free(sm->switches[i].up);
		free(sm->switches[i].down);
	}
	free(sm->switches);
	free(sm->links);
	free(sm->heap);
	free(sm->hosts);
	free(sm);
}

u64 sim_cnt(struct sim *sm, enum mroce_counter c)
{
	u64 n = 0;
	u32 i, j;

	for (i = 0; i < sm->n_hosts; i++)
		for (j = 0; j < sm->hosts[i].n_ends; j++)
			n += sm->hosts[i].ends[j]->c.cnt[c];
	return n;
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

static void nic(struct sim *sm, u32 host, struct node *to, double gbps,
		u64 delay_ns)
{
	struct host *h = &sm->hosts[host];

	h->nic = sim_link(sm, &h->node, to, gbps, delay_ns);
	h->nic->owner = h;
}

/* Two hosts and a wire. */
void topo_pair(struct sim *sm, double gbps, u64 delay_ns)
{
	nic(sm, 0, &sm->hosts[1].node, gbps, delay_ns);
	nic(sm, 1, &sm->hosts[0].node, gbps, delay_ns);
}

static void switches(struct sim *sm, u32 n)
{
	u32 i;

	sm->n_switches = n;
	sm->switches = calloc(n, sizeof(*sm->switches));
	if (!sm->switches)
		abort();
	for (i = 0; i < n; i++) {
		sm->switches[i].host = -1;
		sm->switches[i].idx = i;
		sm->switches[i].salt = sim_rand(sm);
	}
}

static struct link **link_array(u32 n)
{
	struct link **l = calloc(n, sizeof(*l));

	if (!l)
		abort();
	return l;
}

static int route_star(struct sim *sm, struct node *n, const struct packet *p,
		      struct link **out)
{
	(void)sm;
	*out = n->down[p->dst];
	return 0;
}

/* One switch, everybody on it. */
void topo_star(struct sim *sm, double gbps, u64 delay_ns)
{
	struct node *sw;
	u32 i;

	switches(sm, 1);
	sw = &sm->switches[0];
	sw->route = route_star;
	sw->down = link_array(sm->n_hosts);
	for (i = 0; i < sm->n_hosts; i++) {
		nic(sm, i, sw, gbps, delay_ns);
		sw->down[i] = sim_link(sm, sw, &sm->hosts[i].node, gbps,
				       delay_ns);
	}
}

/* As many separate stars as there are planes. */
void topo_planes(struct sim *sm, u8 n, double gbps, u64 delay_ns)
{
	struct node *sw;
	u32 i, k;

	sm->n_planes = n;
	switches(sm, n);
	for (k = 0; k < n; k++) {
		sw = &sm->switches[k];
		sw->route = route_star;
		sw->n_down = sm->n_hosts;
		sw->down = link_array(sm->n_hosts);
		for (i = 0; i < sm->n_hosts; i++) {
			struct host *h = &sm->hosts[i];

			h->plane_nic[k] = sim_link(sm, &h->node, sw, gbps,
						   delay_ns);
			h->plane_nic[k]->owner = h;
			sw->down[i] = sim_link(sm, sw, &h->node, gbps,
					       delay_ns);
		}
	}
	for (i = 0; i < sm->n_hosts; i++)
		sm->hosts[i].nic = sm->hosts[i].plane_nic[0];
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
		n->up = link_array(n->n_up ? n->n_up : 1);
	}
	for (i = 0; i < sm->n_hosts; i++) {
		struct node *e = &sm->switches[i / k2];

		nic(sm, i, e, gbps, delay_ns);
		e->down[i % k2] = sim_link(sm, e, &sm->hosts[i].node, gbps,
					   delay_ns);
	}
	for (pod = 0; pod < k; pod++) {
		for (i = 0; i < k2; i++) {
			struct node *e = &sm->switches[pod * k2 + i];

			for (j = 0; j < k2; j++) {
				struct node *a = &sm->switches[n_edge +
							       pod * k2 + j];

				e->up[j] = sim_link(sm, e, a, gbps, delay_ns);
				a->down[i] = sim_link(sm, a, e, gbps,
						      delay_ns);
			}
		}
		for (j = 0; j < k2; j++) {
			struct node *a = &sm->switches[n_edge + pod * k2 + j];

			for (i = 0; i < k2; i++) {
				struct node *c = &sm->switches[n_edge + n_agg +
							       j * k2 + i];

				a->up[i] = sim_link(sm, a, c, gbps, delay_ns);
				c->down[pod] = sim_link(sm, c, a, gbps,
							delay_ns);
			}
		}
	}
}

/* Queues of all links but the hosts' own; loss on all. */
void topo_queues(struct sim *sm, u32 limit, u32 mark, u32 loss)
{
	u32 i;

	for (i = 0; i < sm->n_links; i++) {
		struct link *l = sm->links[i];

		l->loss = loss;
		if (l->owner)
			continue;
		l->limit = limit;
		l->mark = mark;
	}
}

double jain(const double *x, u32 n)
{
	double s = 0, q = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		s += x[i];
		q += x[i] * x[i];
	}
	return q ? s * s / (n * q) : 0;
}
