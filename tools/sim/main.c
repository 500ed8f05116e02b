// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios. Each prints a line and appends a record to a JSON file:
 * {scenario, transport, metric, value, goal, met}.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define REC	"%s{\"scenario\": \"%s\", \"transport\": \"metaroce\", " \
		"\"metric\": \"%s\", \"value\": %.6g, \"goal\": "

static FILE *json;
static u32 n_records, n_met, n_short;
static u64 seed = 1;
static bool no_hints;

void record(const char *scenario, const char *metric, double value,
	    double goal, bool at_most)
{
	bool met = at_most ? value <= goal : value >= goal;

	printf("%-28s %-24s %10.4f  goal %s %.4f  %s\n", scenario, metric,
	       value, at_most ? "<=" : ">=", goal, met ? "met" : "short");
	fflush(stdout);
	if (met)
		n_met++;
	else
		n_short++;
	if (json)
		fprintf(json, REC "%.6g, \"met\": %s}",
			n_records++ ? ",\n" : "", scenario, metric, value, goal,
			met ? "true" : "false");
}

void note(const char *scenario, const char *metric, double value)
{
	printf("%-28s %-24s %10.4f\n", scenario, metric, value);
	if (json)
		fprintf(json, REC "null, \"met\": null}",
			n_records++ ? ",\n" : "", scenario, metric, value);
}

struct sim *new_sim(u32 n_hosts, u16 mtu, u8 paths)
{
	struct sim *sm = sim_new(seed, n_hosts, mtu, paths);

	sm->no_hints = no_hints;
	return sm;
}

static u32 prob(double p)
{
	return (u32)(p * 4294967295.0);
}

/* Payload rate of one long flow, in Gb/s, after a warm-up. */
static double pair_goodput(double gbps, u64 rtt_ns, double loss, u16 mtu,
			   u8 paths, u64 *retx)
{
	struct sim *sm = new_sim(2, mtu, paths);
	u64 warm = 5 * SIM_MS, run = 20 * SIM_MS, base;
	struct flow *f;
	double rate;

	topo_pair(sm, gbps, rtt_ns / 2);
	topo_queues(sm, 0, 0, prob(loss));
	f = flow_new(sm, 0, 1, 1 << 20, 16, U64_MAX, MROCE_OP_WRITE);
	flow_start(f);
	sim_run(sm, warm);
	base = sim_cnt(sm, MROCE_CNT_RX_BYTES);
	sim_run(sm, warm + run);
	rate = (double)(sim_cnt(sm, MROCE_CNT_RX_BYTES) - base) * 8 / run;
	if (retx)
		*retx = sim_cnt(sm, MROCE_CNT_TX_RETX);
	if (getenv("SIM_VERBOSE")) {
		struct mroce_conn *c = &f->e->c;
		int i;

		for (i = 0; i < c->n_tx; i++) {
			const struct mroce_path_tx *p = c->tx[i];

			printf("  path %d cwnd %u inflight %u srtt %llu", i,
			       p->cc.cwnd_x256 >> 8, p->inflight,
			       (unsigned long long)p->srtt_ns);
			printf(" min %llu alpha %u guard %u\n",
			       (unsigned long long)p->min_rtt_ns,
			       p->cc.alpha_x1024, p->guard_ts);
		}
		for (i = 0; i < MROCE_N_COUNTERS; i++)
			if (sim_cnt(sm, i))
				printf("  %s %llu\n", mroce_counter_names[i],
				       (unsigned long long)sim_cnt(sm, i));
	}
	sim_free(sm);
	return rate;
}

/* Random loss: goodput relative to the same run without loss. */
static void sc_loss(void)
{
	static const struct {
		double p, goal;
	} row[] = { { .001, .99 }, { .01, .97 }, { .02, .96 }, { .05, .91 },
		    { .10, .85 } };
	double base = pair_goodput(100, 10 * SIM_US, 0, 9000, 4, NULL);
	char name[64];
	u32 i;

	note("loss", "lossless Gb/s", base);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		snprintf(name, sizeof(name), "relative at %g %%",
			 100 * row[i].p);
		record("loss", name,
		       pair_goodput(100, 10 * SIM_US, row[i].p, 9000, 4,
				    NULL) / base, row[i].goal, false);
	}
}

/* What the sender of a flow may send now, in Gb/s: by its windows and by hint. */
static double allowed(const struct flow *f)
{
	const struct mroce_conn *c = &f->e->c;
	double rate = 0;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		const struct mroce_path_tx *p = c->tx[i];

		if (p->srtt_ns)
			rate += (p->cc.cwnd_x256 >> 8) * 9000. * 8 / p->srtt_ns;
	}
	if (c->plane0.pace_kbps && rate > c->plane0.pace_kbps / 1e6)
		rate = c->plane0.pace_kbps / 1e6;
	return rate;
}

struct incast {
	struct flow **f;
	u32 n;
	double share;		/* fair, Gb/s */
	u64 step_ns;		/* looked at so often */
	double worst;		/* farthest from it, at two round trips */
	u64 two_rtt;
};

static void incast_look(struct sim *sm, void *arg)
{
	struct incast *in = arg;
	double far = 0;
	u32 i;

	for (i = 0; i < in->n; i++) {
		double r = allowed(in->f[i]) / in->share - 1;

		if (in->f[i]->bytes_left || in->f[i]->done != in->f[i]->posted)
			far = r > far ? r : -r > far ? -r : far;
		else
			return;		/* one is ready: the others may more */
	}
	if (sm->now <= in->two_rtt)
		in->worst = far;
	sim_call(sm, sm->now + in->step_ns, incast_look, in);
}

/*
 * N senders to one receiver that begin at once: what each may send, fairness,
 * completion. On connections that are opened for it, or, warm, that were open and
 * idle. 9,000-byte packets, 100 Gb/s, a buffer of 32 MiB at the switch; a
 * round trip is the base one and a packet of each sender in the queue.
 */
static void incast(u32 n, bool warm)
{
	const u32 pkts = 60;
	struct sim *sm = new_sim(n + 1, 9000, 4);
	struct flow **f = calloc(n, sizeof(*f));
	double *x = calloc(n, sizeof(*x));
	u64 bytes = (u64)pkts * 8900, first = UINT64_MAX, last = 0, rtt;
	struct incast in = { .f = f, .n = n, .share = 95. / n, .worst = 1 };
	double ideal;
	char name[64];
	u32 i;

	topo_star(sm, 100, SIM_US);
	topo_queues(sm, 32 << 20, 150 * 1000, 0);
	for (i = 0; warm && i < n; i++)
		flow_start(flow_new(sm, i + 1, 0, 8, 1, 8, MROCE_OP_WRITE));
	sim_run(sm, warm ? 100 * SIM_MS : 0);
	for (i = 0; i < n; i++) {
		f[i] = flow_new(sm, i + 1, 0, bytes, 1, bytes, MROCE_OP_WRITE);
		flow_start(f[i]);
	}
	rtt = 4 * SIM_US + (u64)(n + 2) * 9038 * 8 / 100;
	in.step_ns = rtt / 20;
	/* the handshake's round trip is not counted */
	in.two_rtt = sm->now + 4 * SIM_US + 2 * rtt;
	sim_call(sm, sm->now + in.step_ns, incast_look, &in);
	sim_run(sm, sm->now + SIM_S);
	for (i = 0; i < n; i++) {
		x[i] = (double)f[i]->done_bytes /
		       (f[i]->end_ns - f[i]->start_ns);
		first = min(first, f[i]->start_ns);
		last = max(last, f[i]->end_ns);
	}
	ideal = (double)n * bytes * 8 / 100;
	snprintf(name, sizeof(name), "incast %u:1%s", n, warm ? " warm" : "");
	record(name, "off the share at 2 RTT", in.worst, .1, true);
	record(name, "jain", jain(x, n), .99, false);
	record(name, "last / ideal", (last - first) / ideal, 1.1, true);
	note(name, "retransmitted", sim_cnt(sm, MROCE_CNT_TX_RETX));
	free(f);
	free(x);
	sim_free(sm);
}

static void sc_incast(void)
{
	static const u32 ns[] = { 16, 64, 256, 1000 };
	u32 k;

	for (k = 0; k < ARRAY_SIZE(ns); k++) {
		incast(ns[k], false);
		incast(ns[k], true);
	}
}

/* Everybody sends to one other across a fat tree; mean and slowest, Gb/s. */
static double permutation(u32 k, u8 paths, double *slowest)
{
	u32 n = k * k * k / 4, i;
	struct sim *sm = new_sim(n, 9000, paths);
	u64 warm = 2 * SIM_MS, run = 4 * SIM_MS, base, *had;
	struct flow **f = calloc(n, sizeof(*f));
	double rate;

	had = calloc(n, sizeof(*had));
	topo_fat_tree(sm, k, 100, SIM_US / 2);
	topo_queues(sm, 2 << 20, 150 * 1000, 0);
	for (i = 0; i < n; i++) {
		f[i] = flow_new(sm, i, (i + n / 2) % n, 1 << 18, 32, U64_MAX,
				MROCE_OP_WRITE);
		flow_start(f[i]);
	}
	sim_run(sm, warm);
	base = sim_cnt(sm, MROCE_CNT_RX_BYTES);
	for (i = 0; i < n; i++)
		had[i] = f[i]->done_bytes;
	sim_run(sm, warm + run);
	rate = (double)(sim_cnt(sm, MROCE_CNT_RX_BYTES) - base) * 8 / run / n;
	*slowest = rate;
	for (i = 0; i < n; i++)
		*slowest = min(*slowest, (double)(f[i]->done_bytes - had[i]) *
			       8 / run);
	free(had);
	free(f);
	sim_free(sm);
	return rate;
}

static void sc_permutation(void)
{
	double slow1, slow16;
	double one = permutation(8, 1, &slow1);
	double many = permutation(8, 16, &slow16);

	note("permutation", "1 path, Gb/s per host", one);
	note("permutation", "1 path, slowest host", slow1);
	note("permutation", "16 paths, slowest host", slow16);
	record("permutation", "16 paths / bisection", many / 100, .95, false);
	record("permutation", "16 paths / 1 path", many / one, 2, false);
}

/* One of the paths' routes dies for good: nothing fails. */
static void kill_link(struct sim *sm, void *arg)
{
	(void)sm;
	((struct link *)arg)->down = true;
}

static void sc_dead_link(void)
{
	struct sim *sm = new_sim(16, 9000, 16);
	u64 base, before, after;
	struct flow *f;

	topo_fat_tree(sm, 4, 100, SIM_US / 2);
	topo_queues(sm, 2 << 20, 150 * 1000, 0);
	f = flow_new(sm, 0, 15, 1 << 20, 8, U64_MAX, MROCE_OP_WRITE);
	flow_start(f);
	sim_run(sm, 5 * SIM_MS);
	base = sim_cnt(sm, MROCE_CNT_RX_BYTES);
	sim_run(sm, 10 * SIM_MS);
	before = sim_cnt(sm, MROCE_CNT_RX_BYTES) - base;
	sim_call(sm, sm->now, kill_link, sm->switches[0].up[0]);
	sim_run(sm, 25 * SIM_MS);
	base = sim_cnt(sm, MROCE_CNT_RX_BYTES);
	sim_run(sm, 30 * SIM_MS);
	after = sim_cnt(sm, MROCE_CNT_RX_BYTES) - base;
	record("dead link", "after / before", (double)after / before, .9,
	       false);
	record("dead link", "errors", f->errors, 0, true);
	note("dead link", "re-homed", sim_cnt(sm, MROCE_CNT_REHOME));
	sim_free(sm);
}

static const struct {
	const char *name;
	void (*fn)(void);
} scenarios[] = {
	{ "loss", sc_loss },
	{ "incast", sc_incast },
	{ "permutation", sc_permutation },
	{ "dead-link", sc_dead_link },
	{ "planes", sc_planes },
};

int main(int argc, char **argv)
{
	const char *out = NULL;
	u32 i;
	int a;

	for (a = 1; a < argc; a++) {
		if (!strcmp(argv[a], "-s") && a + 1 < argc)
			seed = strtoull(argv[++a], NULL, 0);
		else if (!strcmp(argv[a], "-o") && a + 1 < argc)
			out = argv[++a];
		else if (!strcmp(argv[a], "-n"))
			no_hints = true;
		else
			break;
	}
	if (out) {
		json = fopen(out, "w");
		if (!json) {
			perror(out);
			return 2;
		}
		fputs("[\n", json);
	}
	for (i = 0; i < ARRAY_SIZE(scenarios); i++) {
		int k = a;

		while (k < argc && strcmp(argv[k], scenarios[i].name))
			k++;
		if (a == argc || k < argc)
			scenarios[i].fn();
	}
	if (json) {
		fputs("\n]\n", json);
		fclose(json);
	}
	printf("goals: %u met, %u short\n", n_met, n_short);
	return 0;
}
