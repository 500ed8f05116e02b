// SPDX-License-Identifier: GPL-2.0
/*
 * Planes: do they add up, and what does it cost when one dies and comes back?
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"

#define GBPS		25
#define HOP_NS		(2 * SIM_US)
#define N_HOSTS		64

/* Every host writes to every other: as many connections, and twice that, ends. */
static struct sim *all_to_all(u32 n_hosts, u8 planes, struct flow ***flows,
			      u32 *n)
{
	struct sim *sm = new_sim(n_hosts, 9000, 4);
	u32 i, j;

	topo_planes(sm, planes, GBPS, HOP_NS);
	topo_queues(sm, 2 << 20, 150 * 1000, 0);
	*flows = calloc(n_hosts * n_hosts, sizeof(**flows));
	if (!*flows)
		abort();
	*n = 0;
	for (i = 0; i < n_hosts; i++) {
		for (j = 1; j < n_hosts; j++) {
			struct flow *f = flow_new(sm, i, (i + j) % n_hosts,
						  1 << 18, 4, U64_MAX,
						  MROCE_OP_WRITE);

			(*flows)[(*n)++] = f;
			flow_start(f);
		}
	}
	return sm;
}

/* Payload that arrives per second, all hosts together, in Gb/s. */
static double goodput(struct sim *sm, u64 ns)
{
	u64 base = sim_cnt(sm, MROCE_CNT_RX_BYTES);

	sim_run(sm, sm->now + ns);
	return (double)(sim_cnt(sm, MROCE_CNT_RX_BYTES) - base) * 8 / ns;
}

static u32 errors(struct flow **f, u32 n)
{
	u32 i, sum = 0;

	for (i = 0; i < n; i++)
		sum += f[i]->errors;
	return sum;
}

static void linear(void)
{
	static const u8 ns[] = { 1, 2, 4, 8 };
	double one = 0, rate;
	struct flow **f;
	struct sim *sm;
	char name[40];
	u32 k, n;

	for (k = 0; k < ARRAY_SIZE(ns); k++) {
		sm = all_to_all(N_HOSTS, ns[k], &f, &n);
		snprintf(name, sizeof(name), "planes %u, %u connections", ns[k],
			 n);
		sim_run(sm, 3 * SIM_MS);
		rate = goodput(sm, 2 * SIM_MS);
		if (!k)
			one = rate;
		note(name, "Gb/s per host", rate / N_HOSTS);
		record(name, "of linear", rate / (ns[k] * one), .98, false);
		record(name, "errors", errors(f, n), 0, true);
		free(f);
		sim_free(sm);
	}
}

static void plane_cut(struct sim *sm, u8 plane, bool down)
{
	u32 i;

	for (i = 0; i < sm->n_hosts; i++) {
		sm->hosts[i].plane_nic[plane]->down = down;
		sm->switches[plane].down[i]->down = down;
	}
}

/* Connections on which the plane is (not) in a state. */
static u32 plane_count(struct sim *sm, u8 plane, u8 state)
{
	u32 i, j, n = 0;

	for (i = 0; i < sm->n_hosts; i++)
		for (j = 0; j < sm->hosts[i].n_ends; j++)
			n += mroce_plane_of(&sm->hosts[i].ends[j]->c,
					    plane)->state == state;
	return n;
}

/* Mean round trip of all paths, as their senders know it. */
static u64 mean_rtt(struct sim *sm)
{
	u64 sum = 0, n = 0;
	u32 i, j, k;

	for (i = 0; i < sm->n_hosts; i++) {
		for (j = 0; j < sm->hosts[i].n_ends; j++) {
			struct mroce_conn *c = &sm->hosts[i].ends[j]->c;

			for (k = 0; k < c->n_tx; k++) {
				sum += c->tx[k]->srtt_ns;
				n++;
			}
		}
	}
	return n ? sum / n : SIM_US;
}

/* Until all ends see the plane so; how long, in ns. */
static u64 wait_state(struct sim *sm, u8 plane, u8 state, u32 n, u64 limit)
{
	u64 start = sm->now;

	while (plane_count(sm, plane, state) < n && sm->now - start < limit)
		sim_run(sm, sm->now + 10 * SIM_US);
	return sm->now - start;
}

static void one_dies(u8 planes)
{
	const u8 dead = planes / 2;
	double before, after;
	u64 down, up, rtt;
	struct flow **f;
	struct sim *sm;
	char name[40];
	u32 n, ends;

	sm = all_to_all(16, planes, &f, &n);
	ends = n;
	snprintf(name, sizeof(name), "1 of %u planes dies", planes);
	sim_run(sm, 5 * SIM_MS);
	before = goodput(sm, 2 * SIM_MS);
	rtt = mean_rtt(sm);
	note(name, "RTT, us", (double)rtt / SIM_US);
	plane_cut(sm, dead, true);
	down = wait_state(sm, dead, MROCE_PLANE_DOWN, ends, 20 * SIM_MS);
	sim_run(sm, sm->now + 3 * rtt);
	after = goodput(sm, 10 * rtt);
	note(name, "all know it, us", (double)down / SIM_US);
	record(name, "left after 3 RTT", after / before,
	       planes == 8 ? .87 : .74, false);
	sim_run(sm, sm->now + SIM_MS);
	note(name, "left in the end", goodput(sm, SIM_MS) / before);
	plane_cut(sm, dead, false);
	up = wait_state(sm, dead, MROCE_PLANE_UP, ends, 200 * SIM_MS);
	note(name, "all know it is back, us", (double)up / SIM_US);
	sim_run(sm, sm->now + 10 * rtt);
	after = goodput(sm, 10 * rtt);
	record(name, "10 RTT after return", after / before, .98, false);
	record(name, "errors", errors(f, n), 0, true);
	note(name, "retransmitted", sim_cnt(sm, MROCE_CNT_TX_RETX));
	free(f);
	sim_free(sm);
}

void sc_planes(void)
{
	linear();
	one_dies(8);
	one_dies(4);
}
