// SPDX-License-Identifier: GPL-2.0
/*
 * sim [-s SEED] [-o DIRECTORY] [-n] [-c] [-f] FILE...
 * sim -p COUNT [-s SEED] [-v]
 *
 * Runs the scenarios of files, each with the transports that it names. Every
 * metric is printed and becomes a record
 * {scenario, transport, metric, value, goal, met} of DIRECTORY/sim.json and
 * sim.csv; what is sampled over time goes to sim-series.csv, and how many goals
 * are met to sim-goals, or to the terminal if there is no DIRECTORY. -n: without
 * hints. -c: files are read, nothing is run. -p: property runs instead, of
 * seeds from SEED on; see seeds.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"
#include "seeds.h"

struct output {
	u64 seed;
	bool no_hints, read_only;
	FILE *json, *csv, *series;
	u32 n_records, n_met, n_short;
};

static void put_csv(struct output *o, const char *sc, const char *t,
		    const char *metric, double value, const struct want *w,
		    bool goal, bool met)
{
	fprintf(o->csv, "\"%s\",%s,%s,%.6g,", sc, t, metric, value);
	if (goal)
		fprintf(o->csv, "%.6g,%s\n", w->goal, met ? "true" : "false");
	else
		fprintf(o->csv, ",\n");
}

static void put_json(struct output *o, const char *sc, const char *t,
		     const char *metric, double value, const struct want *w,
		     bool goal, bool met)
{
	fprintf(o->json, "%s{\"scenario\": \"%s\", \"transport\": \"%s\", ",
		o->n_records++ ? ",\n" : "", sc, t);
	fprintf(o->json, "\"metric\": \"%s\", \"value\": %.6g, \"goal\": ",
		metric, value);
	if (goal)
		fprintf(o->json, "%.6g, \"met\": %s}", w->goal,
			met ? "true" : "false");
	else
		fprintf(o->json, "null, \"met\": null}");
}

/* A goal is MetaRoCE's; what the others reach is there to compare. */
static void record(struct output *o, const struct scenario *sc,
		   const struct transport *t, const struct want *w,
		   double value)
{
	bool goal = w->is_goal && t == &transport_metaroce, met;
	char metric[SC_NAME];

	met = w->at_most ? value <= w->goal : value >= w->goal;
	snprintf(metric, sizeof(metric), "%s%s", w->relative ? "relative " : "",
		 metric_names[w->metric]);
	printf("%-26s %-9s %-20s %11.4f", sc->name, t->name, metric, value);
	if (goal) {
		printf("  goal %s %.4g  %s", w->at_most ? "<=" : ">=", w->goal,
		       met ? "met" : "short");
		if (met)
			o->n_met++;
		else
			o->n_short++;
	}
	putchar('\n');
	fflush(stdout);
	if (o->csv)
		put_csv(o, sc->name, t->name, metric, value, w, goal, met);
	if (o->json)
		put_json(o, sc->name, t->name, metric, value, w, goal, met);
}

/* The mean of all repetitions. */
static void run_all(const struct scenario *sc, const struct transport *t,
		    u64 seed, FILE *series, struct result *mean)
{
	struct result res;
	u32 i, k;

	memset(mean, 0, sizeof(*mean));
	for (i = 0; i < sc->repeat; i++) {
		scenario_run(sc, t, seed + i, i ? NULL : series, &res);
		for (k = 0; k < N_METRICS; k++)
			mean->value[k] += res.value[k] / sc->repeat;
	}
}

static void run(struct scenario *sc, void *arg)
{
	struct scenario *vs = xcalloc(1, sizeof(*vs));
	struct output *o = arg;
	struct result res, rel;
	u32 i, k;

	if (o->read_only) {
		free(vs);
		return;
	}
	sc->no_hints |= o->no_hints;
	scenario_versus(sc, vs);
	for (i = 0; i < sc->n_transports; i++) {
		const struct transport *t = sc->transport[i];

		run_all(sc, t, o->seed, o->series, &res);
		if (sc->n_versus)
			run_all(vs, t, o->seed, NULL, &rel);
		for (k = 0; k < sc->n_wants; k++) {
			const struct want *w = &sc->want[k];
			double v = res.value[w->metric];

			if (w->relative)
				v = rel.value[w->metric] ?
				    v / rel.value[w->metric] : 0;
			record(o, sc, t, w, v);
		}
	}
	free(vs);
}

static FILE *create(const char *dir, const char *name)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		exit(2);
	}
	return f;
}

/* Into a file as well: plots are drawn before it is shown. */
static void goals(const struct output *o, const char *dir)
{
	FILE *f = dir ? create(dir, "sim-goals") : stdout;

	fprintf(f, "goals: %u met, %u short\n", o->n_met, o->n_short);
	if (f != stdout)
		fclose(f);
}

static int usage(void)
{
	fputs("sim [-s SEED] [-o DIRECTORY] [-n] [-c] [-f] FILE...\n", stderr);
	fputs("sim -p COUNT [-s SEED] [-v]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct output o = { .seed = 1 };
	const char *dir = NULL;
	bool verbose = false;
	u64 n_seeds = 0;
	int a, err = 0;

	for (a = 1; a < argc && argv[a][0] == '-'; a++) {
		if (!strcmp(argv[a], "-s") && a + 1 < argc)
			o.seed = strtoull(argv[++a], NULL, 0);
		else if (!strcmp(argv[a], "-o") && a + 1 < argc)
			dir = argv[++a];
		else if (!strcmp(argv[a], "-n"))
			o.no_hints = true;
		else if (!strcmp(argv[a], "-c"))
			o.read_only = true;
		else if (!strcmp(argv[a], "-p") && a + 1 < argc)
			n_seeds = strtoull(argv[++a], NULL, 0);
		else if (!strcmp(argv[a], "-v"))
			verbose = true;
		else if (strcmp(argv[a], "-f"))
			return usage();
	}
	if (n_seeds && a == argc)
		return seeds_run(o.seed, n_seeds, verbose);
	if (a == argc)
		return usage();
	if (dir) {
		o.json = create(dir, "sim.json");
		o.csv = create(dir, "sim.csv");
		o.series = create(dir, "sim-series.csv");
		fputs("[\n", o.json);
		fputs("scenario,transport,metric,value,goal,met\n", o.csv);
		fputs("scenario,transport,us,gbps,low,mean,high\n", o.series);
	}
	for (; a < argc; a++)
		err |= scenario_file(argv[a], run, &o);
	if (dir) {
		fputs("\n]\n", o.json);
		fclose(o.json);
		fclose(o.csv);
		fclose(o.series);
	}
	goals(&o, dir);
	return err ? 2 : 0;
}
