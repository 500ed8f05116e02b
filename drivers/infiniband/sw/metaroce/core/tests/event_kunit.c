// SPDX-License-Identifier: GPL-2.0
/*
 * What is told to those who watch is what happened: events against counters. In the
 * kernel they are tracepoints (selftests/60-paths.sh reads them).
 */
#ifndef __KERNEL__

#include "forge.h"
#include "../internal.h"

static const char * const names[] = {
#define X(event) #event,
	MROCE_PATH_EVENTS(X)
	MROCE_CONN_EVENTS(X)
#undef X
};

static u64 seen[ARRAY_SIZE(names)];
static u64 strange;

static void count(const char *event)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(event, names[i]))
			continue;
		seen[i]++;
		return;
	}
	strange++;
}

static u64 n_seen(const char *event)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(event, names[i]))
			return seen[i];
	return 0;
}

static struct pair *watched(struct kunit *test, u64 seed)
{
	memset(seen, 0, sizeof(seen));
	strange = 0;
	mroce_shim_event_hook = count;
	return pair_connected(test, seed);
}

static void test_events_of_paths(struct kunit *test)
{
	struct pair *p = watched(test, 70);
	int i;

	pair_ts(p, 0, 0)->s.a.timeout = 0;
	p->net.loss = 4000;
	for (i = 0; i < 60; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * SEC, pair_all_done));
	KUNIT_EXPECT_GT(test, n_seen("lost"), 0ULL);
	/* the route dies, and comes back */
	p->net.cut = true;
	for (i = 0; i < 10; i++)
		pair_post(p, 0, 0, MROCE_OP_WRITE, 8000, 0, false);
	pair_run(p, 200 * MS, NULL);
	p->net.cut = false;
	p->net.loss = 0;
	KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * SEC, pair_all_done));

	KUNIT_EXPECT_EQ(test, n_seen("path_open"),
			pair_cnt(p, MROCE_CNT_PATHS));
	KUNIT_EXPECT_EQ(test, n_seen("lost"), pair_cnt(p, MROCE_CNT_LOST));
	KUNIT_EXPECT_GE(test, n_seen("rto"), 1ULL);
	KUNIT_EXPECT_EQ(test, n_seen("rto"), pair_cnt(p, MROCE_CNT_RTO));
	KUNIT_EXPECT_GE(test, n_seen("rehome"), 1ULL);
	KUNIT_EXPECT_EQ(test, n_seen("rehome"),
			pair_cnt(p, MROCE_CNT_REHOME));
	/* a time-out sends its packet by the same way */
	KUNIT_EXPECT_EQ(test, n_seen("tail_probe"),
			pair_cnt(p, MROCE_CNT_TLP) +
			pair_cnt(p, MROCE_CNT_RTO));
	KUNIT_EXPECT_GE(test, n_seen("window"), 1ULL);
	KUNIT_EXPECT_EQ(test, strange, 0ULL);
	pair_free(p);
}

static void test_events_of_connections(struct kunit *test)
{
	struct pair *p = watched(test, 71);
	struct mroce_conn *c = &p->side[0].c;

	/* on each side the new object, and the answer to its INIT */
	KUNIT_EXPECT_EQ(test, n_seen("conn_state"), 4ULL);
	conn_lost(c, p->now);
	KUNIT_EXPECT_EQ(test, n_seen("conn_state"), 5ULL);

	KUNIT_EXPECT_EQ(test, n_seen("hint"), 0ULL);
	pace_hint(c, 1000000, p->now);
	KUNIT_EXPECT_EQ(test, n_seen("hint"), 1ULL);
	pace_hint(c, 1000000, p->now);
	KUNIT_EXPECT_EQ(test, n_seen("hint"), 1ULL);
	pace_hint(c, 500000, p->now);
	KUNIT_EXPECT_EQ(test, n_seen("hint"), 2ULL);
	KUNIT_EXPECT_EQ(test, strange, 0ULL);
	pair_free(p);
}

static struct kunit_case event_cases[] = {
	KUNIT_CASE(test_events_of_paths),
	KUNIT_CASE(test_events_of_connections),
	{}
};

static struct kunit_suite event_suite = {
	.name = "metaroce-event",
	.test_cases = event_cases,
};

kunit_test_suite(event_suite);

#endif
