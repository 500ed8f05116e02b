// SPDX-License-Identifier: GPL-2.0
/*
 * Scenario files: lines of a key and values. What stands before the first
 * "scenario" holds for all of the file. What is not known is refused, with the
 * file's name and the line's number. Documentation/simulator.rst has the keys.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

#define MAX_WORDS	12

const char * const metric_names[N_METRICS] = {
#define X(n, s) [METRIC_##n] = s,
	METRICS(X)
#undef X
};

struct parser {
	const char *path;
	int line;
	struct scenario *sc;
	int n;				/* words after the key */
	char *word[MAX_WORDS];
	const char *error;
};

/* Split off comments and words. Number of words, or -1: too many. */
static int split(char *line, char **word)
{
	char *save = NULL, *w;
	int n = 0;

	line[strcspn(line, "#\n")] = 0;
	for (w = strtok_r(line, " \t", &save); w;
	     w = strtok_r(NULL, " \t", &save)) {
		if (n > MAX_WORDS)
			return -1;
		word[n++] = w;
	}
	return n;
}

/* ---- values -------------------------------------------------------------------- */

struct unit {
	const char *name;
	double factor;
};

static const struct unit times[] = {
	{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { }
};

static const struct unit sizes[] = {
	{ "", 1 }, { "k", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 }, { }
};

static const struct unit parts[] = { { "%", .01 }, { }  };
static const struct unit plain[] = { { "", 1 }, { } };

static bool value(const char *s, const struct unit *unit, double *v)
{
	char *end;

	*v = strtod(s, &end);
	if (end == s || *v < 0)
		return false;
	for (; unit->name; unit++) {
		if (!strcmp(end, unit->name)) {
			*v *= unit->factor;
			return true;
		}
	}
	return false;
}

/* Word @i as a value; an error is remembered. */
static double arg(struct parser *p, int i, const struct unit *unit)
{
	double v = 0;

	if (i >= p->n)
		p->error = "a value is missing";
	else if (!value(p->word[i], unit, &v))
		p->error = unit == times ? "not a time (ns, us, ms, s)" :
			   unit == parts ? "not a part (%)" :
			   "not a number";
	return v;
}

static u32 prob(struct parser *p, int i)
{
	double v = arg(p, i, parts);

	if (v > 1) {
		p->error = "more than 100 %";
		return 0;
	}
	return (u32)(v * 4294967295.0);
}

static bool is(const struct parser *p, int i, const char *word)
{
	return i < p->n && !strcmp(p->word[i], word);
}

static void no_more(struct parser *p, int n)
{
	if (p->n > n && !p->error)
		p->error = "a word too many";
}

/* ---- keys ----------------------------------------------------------------------- */

static void key_topology(struct parser *p)
{
	static const struct { const char *name; int args; } kind[] = {
		[TOPO_PAIR] = { "pair", 0 }, [TOPO_STAR] = { "star", 1 },
		[TOPO_LANES] = { "lanes", 1 }, [TOPO_CLOS] = { "clos", 3 },
		[TOPO_FAT_TREE] = { "fat-tree", 1 },
		[TOPO_PLANES] = { "planes", 2 },
	};
	u32 i;
	int k;

	for (i = 0; i < ARRAY_SIZE(kind); i++)
		if (is(p, 0, kind[i].name))
			break;
	if (i == ARRAY_SIZE(kind)) {
		p->error = "unknown topology";
		return;
	}
	p->sc->topo = i;
	for (k = 0; k < kind[i].args; k++)
		p->sc->topo_arg[k] = arg(p, 1 + k, plain);
	if (i == TOPO_PLANES && !p->error &&
	    (!p->sc->topo_arg[0] || p->sc->topo_arg[0] > MROCE_MAX_PLANES))
		p->error = "1 to 16 planes";
	no_more(p, 1 + kind[i].args);
}

static void key_rate(struct parser *p)
{
	p->sc->gbps = arg(p, 0, plain);
	no_more(p, 1);
}

static void key_delay(struct parser *p)
{
	p->sc->delay_ns = arg(p, 0, times);
	no_more(p, 1);
}

static void key_queue(struct parser *p)
{
	p->sc->q.limit = arg(p, 0, sizes);
	no_more(p, 1);
}

static void key_mark(struct parser *p)
{
	struct queue_cfg *q = &p->sc->q;

	if (is(p, 0, "none")) {
		q->mark_max = 0;
		no_more(p, 1);
	} else if (is(p, 0, "step")) {
		q->mark_min = arg(p, 1, sizes);
		q->mark_max = q->mark_min;
		no_more(p, 2);
	} else if (is(p, 0, "red")) {
		q->mark_min = arg(p, 1, sizes);
		q->mark_max = arg(p, 2, sizes);
		q->mark_prob = prob(p, 3);
		no_more(p, 4);
	} else {
		p->error = "none, step BYTES, or red MIN MAX PART";
	}
}

static void key_loss(struct parser *p)
{
	p->sc->im.loss = prob(p, 0);
	no_more(p, 1);
}

static void key_burst(struct parser *p)
{
	p->sc->im.burst_enter = prob(p, 0);
	p->sc->im.burst_leave = prob(p, 1);
	p->sc->im.burst_loss = prob(p, 2);
	no_more(p, 3);
}

static void key_reorder(struct parser *p)
{
	p->sc->im.reorder = prob(p, 0);
	p->sc->im.reorder_ns = arg(p, 1, times);
	no_more(p, 2);
}

static void key_duplicate(struct parser *p)
{
	p->sc->im.duplicate = prob(p, 0);
	no_more(p, 1);
}

static void key_corrupt(struct parser *p)
{
	p->sc->im.corrupt = prob(p, 0);
	no_more(p, 1);
}

static bool on_off(struct parser *p)
{
	if (!is(p, 0, "on") && !is(p, 0, "off"))
		p->error = "on or off";
	no_more(p, 1);
	return is(p, 0, "on");
}

static void key_bleach(struct parser *p)
{
	p->sc->im.bleach = on_off(p);
}

static void key_hints(struct parser *p)
{
	p->sc->no_hints = !on_off(p);
}

static void key_mtu(struct parser *p)
{
	p->sc->mtu = arg(p, 0, plain);
	no_more(p, 1);
}

static void key_paths(struct parser *p)
{
	double v = arg(p, 0, plain);

	if (v < 1 || v > MROCE_MAX_PATHS)
		p->error = "1 to 128 paths";
	p->sc->paths = v;
	no_more(p, 1);
}

/*
 * fault down|slow N|loss P  busiest H|lane K|uplink LEAF K|nic H|plane K
 * at T [until T] [one-way]
 */
static void key_fault(struct parser *p)
{
	static const char * const places[] = { "busiest", "lane", "uplink",
					       "nic", "plane" };
	struct scenario *sc = p->sc;
	struct fault *f = &sc->fault[sc->n_faults];
	int i = 1;
	u32 k;

	if (is(p, 0, "none")) {
		sc->n_faults = 0;
		no_more(p, 1);
		return;
	}
	if (sc->n_faults == SC_MAX) {
		p->error = "too many faults";
		return;
	}
	memset(f, 0, sizeof(*f));
	if (is(p, 0, "down")) {
		f->kind = FAULT_DOWN;
	} else if (is(p, 0, "slow")) {
		f->kind = FAULT_SLOW;
		f->by = arg(p, i++, plain);
	} else if (is(p, 0, "loss")) {
		f->kind = FAULT_LOSS;
		f->by = prob(p, i++);
	} else {
		p->error = "none, down, slow FACTOR, or loss PART";
		return;
	}
	for (k = 0; k < ARRAY_SIZE(places); k++)
		if (is(p, i, places[k]))
			break;
	if (k == ARRAY_SIZE(places)) {
		p->error = "busiest HOST, lane N, uplink LEAF N, nic HOST, or plane N";
		return;
	}
	f->place = k;
	f->where[0] = arg(p, ++i, plain);
	if (k == AT_UPLINK)
		f->where[1] = arg(p, ++i, plain);
	if (!is(p, ++i, "at")) {
		p->error = "at TIME is missing";
		return;
	}
	f->at_ns = arg(p, ++i, times);
	if (is(p, ++i, "until")) {
		f->until_ns = arg(p, ++i, times);
		i++;
	}
	f->one_way = is(p, i, "one-way");
	i += f->one_way;
	no_more(p, i);
	sc->n_faults++;
}

static void key_workload(struct parser *p)
{
	static const struct {
		const char *name;
		int args;
		const struct unit *unit[4];
	} kind[] = {
		[WORK_STREAM] = { "stream", 2, { sizes, plain } },
		[WORK_READ] = { "read", 2, { sizes, plain } },
		[WORK_PERMUTATION] = { "permutation", 2, { sizes, plain } },
		[WORK_INCAST] = { "incast", 2, { plain, sizes } },
		[WORK_ALL_TO_ALL] = { "all-to-all", 1, { sizes } },
		[WORK_ALL_REDUCE] = { "all-reduce", 1, { sizes } },
		[WORK_FAN_OUT] = { "fan-out", 3, { plain, sizes, plain } },
		[WORK_PING] = { "ping", 3, { plain, sizes, times } },
		[WORK_STALL_RNR] = { "stall-rnr", 3,
				     { plain, sizes, plain } },
		[WORK_STALL_ERROR] = { "stall-error", 3,
				       { plain, sizes, plain } },
		[WORK_ALL_PAIRS] = { "all-pairs", 2, { sizes, plain } },
	};
	struct scenario *sc = p->sc;
	struct work *w = &sc->work[sc->n_works];
	u32 i;
	int k;

	if (is(p, 0, "only")) {
		/* of "versus": without what runs beside the first */
		sc->n_works = min(sc->n_works, 1U);
		no_more(p, 1);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(kind); i++)
		if (is(p, 0, kind[i].name))
			break;
	if (i == ARRAY_SIZE(kind) || sc->n_works == SIM_CLASSES) {
		p->error = i == ARRAY_SIZE(kind) ? "unknown workload" :
						   "too many workloads";
		return;
	}
	memset(w, 0, sizeof(*w));
	w->kind = i;
	for (k = 0; k < kind[i].args; k++)
		w->arg[k] = arg(p, 1 + k, kind[i].unit[k]);
	if (is(p, 1 + k, "warm") && i == WORK_INCAST) {
		w->warm = true;
		k++;
	}
	no_more(p, 1 + k);
	sc->n_works++;
}

static void key_transport(struct parser *p)
{
	struct scenario *sc = p->sc;
	int i;

	sc->n_transports = 0;
	if (!p->n || p->n > SC_TRANSPORTS)
		p->error = "one to three transports";
	for (i = 0; i < p->n && !p->error; i++) {
		const struct transport *t = transport_find(p->word[i]);

		if (t)
			sc->transport[sc->n_transports++] = t;
		else
			p->error = "unknown transport";
	}
}

static void key_measure(struct parser *p)
{
	p->sc->run_ns = arg(p, 0, times);
	if (!is(p, 1, "after"))
		p->error = "measure TIME after TIME";
	p->sc->warm_ns = arg(p, 2, times);
	no_more(p, 3);
}

static void key_limit(struct parser *p)
{
	p->sc->limit_ns = arg(p, 0, times);
	no_more(p, 1);
}

static void key_repeat(struct parser *p)
{
	p->sc->repeat = arg(p, 0, plain);
	no_more(p, 1);
}

static void key_sample(struct parser *p)
{
	p->sc->sample_ns = arg(p, 0, times);
	no_more(p, 1);
}

/* The metric of word *i on; that of a default is taken over. */
static struct want *want_add(struct parser *p, int *i)
{
	struct scenario *sc = p->sc;
	bool relative = is(p, *i, "relative");
	struct want *w = sc->want;
	u32 k;

	*i += relative;
	for (k = 0; k < N_METRICS; k++)
		if (is(p, *i, metric_names[k]))
			break;
	if (k == N_METRICS) {
		p->error = "unknown metric";
		return NULL;
	}
	(*i)++;
	while (w < sc->want + sc->n_wants &&
	       (w->metric != k || w->relative != relative))
		w++;
	if (w == sc->want + SC_MAX) {
		p->error = "too many metrics";
		return NULL;
	}
	if (w == sc->want + sc->n_wants) {
		memset(w, 0, sizeof(*w));
		w->metric = k;
		w->relative = relative;
		sc->n_wants++;
	}
	return w;
}

static void key_goal(struct parser *p)
{
	int i = 0;
	struct want *w = want_add(p, &i);

	if (!w)
		return;
	w->is_goal = true;
	w->at_most = is(p, i, "<=");
	if (!w->at_most && !is(p, i, ">="))
		p->error = "<= or >= is missing";
	else
		w->goal = arg(p, i + 1, plain);
	no_more(p, i + 2);
}

static void key_report(struct parser *p)
{
	int i = 0;

	if (!p->n)
		p->error = "a metric is missing";
	while (i < p->n && !p->error)
		want_add(p, &i);
}

static void parse_words(struct parser *p, const char *key);

/*
 * versus KEY VALUES: the run to compare with has that line in addition. It is
 * kept as text, since the rest of the scenario may follow; and tried now, for
 * what is wrong with it.
 */
static void key_versus(struct parser *p)
{
	struct scenario *sc = p->sc, *trial;
	char *line;
	int i;

	if (!p->n || sc->n_versus == SC_VERSUS) {
		p->error = p->n ? "too many lines of versus" :
				  "a line is missing";
		return;
	}
	line = sc->versus[sc->n_versus++];
	line[0] = 0;
	for (i = 0; i < p->n; i++)
		snprintf(line + strlen(line), SC_NAME - strlen(line), "%s ",
			 p->word[i]);
	trial = xcalloc(1, sizeof(*trial));
	p->sc = trial;
	p->n--;
	memmove(p->word, p->word + 1, p->n * sizeof(*p->word));
	parse_words(p, strtok(line, " "));
	p->sc = sc;
	free(trial);
	/* strtok() has cut it */
	line[strlen(line)] = ' ';
}

static const struct {
	const char *name;
	void (*fn)(struct parser *p);
} keys[] = {
	{ "topology", key_topology }, { "rate", key_rate },
	{ "delay", key_delay }, { "queue", key_queue }, { "mark", key_mark },
	{ "loss", key_loss }, { "burst", key_burst },
	{ "reorder", key_reorder }, { "duplicate", key_duplicate },
	{ "corrupt", key_corrupt }, { "bleach", key_bleach },
	{ "hints", key_hints }, { "mtu", key_mtu }, { "paths", key_paths },
	{ "fault", key_fault }, { "workload", key_workload },
	{ "transport", key_transport }, { "measure", key_measure },
	{ "limit", key_limit }, { "sample", key_sample },
	{ "repeat", key_repeat }, { "goal", key_goal }, { "report", key_report },
	{ "versus", key_versus },
};

static void parse_words(struct parser *p, const char *key)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(key, keys[i].name)) {
			keys[i].fn(p);
			return;
		}
	}
	p->error = "unknown key";
}

/**
 * scenario_versus - the run to compare with
 * @sc: scenario
 * @vs: filled
 */
void scenario_versus(const struct scenario *sc, struct scenario *vs)
{
	char line[SC_NAME], *word[MAX_WORDS + 1];
	struct parser p = { .sc = vs };
	u32 i;

	*vs = *sc;
	vs->n_versus = 0;
	for (i = 0; i < sc->n_versus; i++) {
		memcpy(line, sc->versus[i], sizeof(line));
		p.n = split(line, word) - 1;
		memcpy(p.word, word + 1, p.n * sizeof(*word));
		parse_words(&p, word[0]);
	}
}

/* ---- files ----------------------------------------------------------------------- */

static void complain(const struct parser *p, const char *what)
{
	fprintf(stderr, "%s:%d: %s\n", p->path, p->line, what);
}

static const char *incomplete(const struct scenario *sc)
{
	if (!sc->n_works)
		return "a scenario without a workload";
	if (!sc->n_transports)
		return "a scenario without a transport";
	if (!sc->n_wants)
		return "a scenario without a metric";
	if (!sc->run_ns && !sc->limit_ns)
		return "neither measure nor limit";
	return NULL;
}

/**
 * scenario_file - read a file of scenarios
 * @path: its name
 * @fn: called with each; the scenario is gone afterwards
 * @arg: for @fn
 *
 * Return: 0, or -1 if the file is bad: then @fn was called with none of it.
 */
int scenario_file(const char *path, scenario_fn fn, void *arg)
{
	static const struct scenario none = {
		.gbps = 100, .delay_ns = SIM_US, .mtu = 9000, .paths = 4,
		.repeat = 1,
	};
	struct scenario all = none, sc[SC_MAX * 4];
	struct parser p = { .path = path, .sc = &all };
	char line[512], *word[MAX_WORDS + 1];
	FILE *f = fopen(path, "r");
	u32 n = 0, i;
	int words;

	if (!f) {
		perror(path);
		return -1;
	}
	while (!p.error && fgets(line, sizeof(line), f)) {
		p.line++;
		words = split(line, word);
		if (!words)
			continue;
		if (words < 0) {
			p.error = "too many words";
			break;
		}
		if (!strcmp(word[0], "scenario")) {
			p.error = n ? incomplete(p.sc) : NULL;
			if (n == ARRAY_SIZE(sc))
				p.error = "too many scenarios";
			if (p.error)
				break;
			p.sc = &sc[n++];
			*p.sc = all;
			for (i = 1; (int)i < words; i++)
				snprintf(p.sc->name + strlen(p.sc->name),
					 SC_NAME - strlen(p.sc->name), "%s%s",
					 i > 1 ? " " : "", word[i]);
			continue;
		}
		p.n = words - 1;
		memcpy(p.word, word + 1, p.n * sizeof(*word));
		parse_words(&p, word[0]);
	}
	fclose(f);
	if (!p.error && n)
		p.error = incomplete(p.sc);
	if (!n && !p.error)
		p.error = "no scenario";
	if (p.error)
		complain(&p, p.error);
	for (i = 0; i < n && !p.error; i++)
		fn(&sc[i], arg);
	return p.error ? -1 : 0;
}
