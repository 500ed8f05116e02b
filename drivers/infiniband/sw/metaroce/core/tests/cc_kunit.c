// SPDX-License-Identifier: GPL-2.0
/*
 * The window's answer to marks and losses, with and without a deep queue.
 */
#include <kunit/test.h>

#include "../internal.h"

#define BASE_NS		(20 * MS)	/* a route without a queue */
#define DEEP_NS		(45 * MS)
#define WINDOW		40U

struct cc_test {
	struct mroce_conn c;
	struct mroce_path_tx p[2], *tx[2];
};

static struct cc_test *cc_setup(struct kunit *test, int n)
{
	struct cc_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->c.cfg.n_paths = n;
	t->c.n_tx = n;
	t->c.tx = t->tx;
	for (i = 0; i < n; i++) {
		t->c.tx[i] = &t->p[i];
		t->p[i].min_rtt_ns = BASE_NS;
		mroce_cc_aimd.path_init(&t->c, &t->p[i]);
		t->p[i].cc.slow_start = false;
		t->p[i].cc.alpha_x1024 = 0;
		path_set_window(&t->c, &t->p[i], WINDOW << 8);
	}
	return t;
}

/* A whole round of the first path, packet by packet; the first ones are bad. */
static void cc_round(struct cc_test *t, u64 rtt_ns, u32 marked, u32 lost)
{
	struct mroce_path_tx *p = &t->p[0];
	u32 i, w = p->cc.cwnd_x256 >> 8;

	for (i = 0; i < w; i++) {
		struct mroce_cc_sample sa = {
			.acked = 1,
			.marked = i < marked,
			.lost = i < lost,
			.rtt_ns = rtt_ns,
			.prior_inflight = w,
		};

		p->una++;
		p->nxt = p->una + w;
		sa.una = p->una;
		sa.nxt = p->nxt;
		mroce_cc_aimd.on_ack(&t->c, p, &sa);
	}
}

static void cc_rounds(struct cc_test *t, u32 n, u64 rtt_ns)
{
	while (n--)
		cc_round(t, rtt_ns, 0, 0);
}

/* Packets per round trip by which it grew, times 256. */
static u32 cc_growth(struct cc_test *t, u64 rtt_ns)
{
	u32 had = t->p[0].cc.cwnd_x256;

	cc_round(t, rtt_ns, 0, 0);
	return t->p[0].cc.cwnd_x256 - had;
}

static void test_cc_random_loss(struct kunit *test)
{
	struct cc_test *t = cc_setup(test, 1);
	u32 had;

	cc_rounds(t, 3, BASE_NS + MS / 2);
	had = t->p[0].cc.cwnd_x256;
	cc_round(t, BASE_NS + MS / 2, 0, 3);
	KUNIT_EXPECT_GE(test, t->p[0].cc.cwnd_x256, had);
	KUNIT_EXPECT_EQ(test, t->p[0].cc.shared, 0);
}

static void test_cc_few_marks(struct kunit *test)
{
	struct cc_test *t = cc_setup(test, 1);
	u32 had;

	/* Short queue: by the fraction, which was 0 and is small still */
	cc_rounds(t, 3, BASE_NS + MS / 2);
	had = t->p[0].cc.cwnd_x256;
	cc_round(t, BASE_NS + MS / 2, 1, 0);
	KUNIT_EXPECT_GT(test, t->p[0].cc.cwnd_x256, had * 9 / 10);
	KUNIT_EXPECT_EQ(test, t->p[0].cc.shared, 0);
}

/* One bad packet of a round in a deep queue halves, once. */
static void test_cc_deep(struct kunit *test)
{
	u32 kind;

	for (kind = 0; kind < 2; kind++) {
		struct cc_test *t = cc_setup(test, 1);
		u32 had, now;

		cc_rounds(t, 3, DEEP_NS);
		had = t->p[0].cc.cwnd_x256;
		cc_round(t, DEEP_NS, kind ? 0 : 3, kind ? 3 : 0);
		now = t->p[0].cc.cwnd_x256;
		KUNIT_EXPECT_LE(test, now, had / 2 + 512);
		KUNIT_EXPECT_GE(test, now, had / 2);
	}
}

/* One packet of the first path is acknowledged. */
static void cc_ack(struct cc_test *t, u64 rtt_ns, u32 marked)
{
	struct mroce_path_tx *p = &t->p[0];
	struct mroce_cc_sample sa = {
		.acked = 1,
		.marked = marked,
		.rtt_ns = rtt_ns,
		.prior_inflight = WINDOW,
	};

	p->una++;
	sa.una = p->una;
	sa.nxt = p->nxt;
	mroce_cc_aimd.on_ack(&t->c, p, &sa);
}

/*
 * A queue overflows for a moment when a round of ours is about to end: what was
 * under way then says so for one round trip, and that is one signal.
 */
static void test_cc_once_per_rtt(struct kunit *test)
{
	u32 early;

	for (early = 0; early < WINDOW; early++) {
		struct cc_test *t = cc_setup(test, 1);
		struct mroce_path_tx *p = &t->p[0];
		u32 i, had;

		cc_rounds(t, 2, DEEP_NS);
		for (i = 0; i < early; i++) {
			p->nxt++;
			cc_ack(t, DEEP_NS, 0);
		}
		had = p->cc.cwnd_x256;
		for (i = p->nxt - p->una; i; i--)
			cc_ack(t, DEEP_NS, 1);
		KUNIT_EXPECT_EQ(test, p->cc.cwnd_x256, had / 2);
	}
}

/* One packet that met no queue: it does not stand. */
static void test_cc_burst(struct kunit *test)
{
	struct cc_test *t = cc_setup(test, 1);
	struct mroce_cc_sample sa = { .acked = 1, .rtt_ns = BASE_NS };
	u32 had;

	cc_rounds(t, 3, DEEP_NS);
	t->p[0].una++;
	sa.una = t->p[0].una;
	sa.nxt = t->p[0].nxt;
	mroce_cc_aimd.on_ack(&t->c, &t->p[0], &sa);
	had = t->p[0].cc.cwnd_x256;
	cc_round(t, DEEP_NS, 0, 3);
	KUNIT_EXPECT_GE(test, t->p[0].cc.cwnd_x256, had);
}

/*
 * A deep queue is not made deeper, except where somebody else fills it; and that is
 * forgotten. The increase is TCP's, divided by the paths.
 */
static void test_cc_shared(struct kunit *test)
{
	struct cc_test *t = cc_setup(test, 2);
	u32 grown;

	KUNIT_EXPECT_GT(test, cc_growth(t, BASE_NS), 100);
	cc_rounds(t, 3, DEEP_NS);
	KUNIT_EXPECT_EQ(test, cc_growth(t, DEEP_NS), 0);

	cc_round(t, DEEP_NS, 1, 0);
	KUNIT_EXPECT_GT(test, t->p[0].cc.shared, 62);
	KUNIT_EXPECT_LE(test, t->p[0].cc.shared, 64);
	/* To the connection's one packet the path adds its part: w / W of it */
	grown = cc_growth(t, DEEP_NS);
	KUNIT_EXPECT_GT(test, grown, 0);
	KUNIT_EXPECT_LE(test, grown, 256 * (WINDOW / 2 + 2) /
			(WINDOW / 2 + WINDOW) / 2);

	cc_rounds(t, 70, DEEP_NS);
	KUNIT_EXPECT_EQ(test, t->p[0].cc.shared, 0);
	KUNIT_EXPECT_EQ(test, cc_growth(t, DEEP_NS), 0);
}

/*
 * An ACK for each packet, and a window of hundreds: each adds less than a 256th of
 * a packet, and all of them together what one ACK of them would.
 */
static void test_cc_large(struct kunit *test)
{
	struct cc_test *t = cc_setup(test, 2);
	u32 i;

	for (i = 0; i < 2; i++)
		path_set_window(&t->c, &t->p[i], 200 << 8);
	/* half of the connection's one packet in a round trip */
	for (i = 0; i < 4; i++) {
		u32 grown = cc_growth(t, BASE_NS);

		KUNIT_EXPECT_GE(test, grown, 120);
		KUNIT_EXPECT_LE(test, grown, 136);
	}
	/* and half of that where a deep queue is shared */
	t->p[0].cc.shared = 64;
	for (i = 0; i < 4; i++) {
		u32 grown = cc_growth(t, DEEP_NS);

		KUNIT_EXPECT_GE(test, grown, 60);
		KUNIT_EXPECT_LE(test, grown, 68);
	}
}

/*
 * A queue of 60 packets behind 40 under way, two windows in it; the one is Reno's,
 * in the simplest words. Drops the last packet when full; each round
 * trip is one step. Neither gets less than a third of the other.
 */
static void test_cc_next_to_reno(struct kunit *test)
{
	const u32 room = 100, rounds = 4000;
	struct cc_test *t = cc_setup(test, 1);
	u64 ours = 0, theirs = 0;
	u32 i, reno = 2 << 8;
	u64 seed = 1;

	for (i = 0; i < rounds; i++) {
		u32 w = t->p[0].cc.cwnd_x256 >> 8, r = reno >> 8;
		u32 sum = w + r, over = sum > room ? sum - room : 0;
		u64 rtt = BASE_NS * max(min(sum, room), 40U) / 40;
		u32 x, mine, his = 0, lost = 0;

		/* Who loses: by chance, as often as its packets are there */
		for (x = 0; x < over; x++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			mine = (u32)(seed >> 40) % sum < w;
			lost += mine;
			his += !mine;
		}
		cc_round(t, rtt, 0, lost);
		reno = his ? max(reno / 2, 256U) : reno + 256;
		if (i > 100) {
			ours += w;
			theirs += r;
		}
	}
	KUNIT_EXPECT_GT(test, ours * 3, theirs);
	KUNIT_EXPECT_GT(test, theirs * 3, ours);
}

/* The start, and what ends it: a cut, or an RTT that has grown (rule 48). */
static void test_cc_start(struct kunit *test)
{
	static const u64 min_rtt[] = { 20 * US, BASE_NS };
	static const u64 limit[] = { 120 * US, 2 * BASE_NS };
	u32 n, i;

	for (n = 1; n <= 32; n *= 2) {
		struct cc_test *t = cc_setup(test, 1);

		t->c.cfg.n_paths = n;
		mroce_cc_aimd.path_init(&t->c, &t->p[0]);
		KUNIT_EXPECT_EQ(test, t->p[0].cc.cwnd_x256,
				max(16U / n, 1U) << 8);
	}
	for (i = 0; i < 2; i++) {
		struct cc_test *t = cc_setup(test, 1);
		struct mroce_path_tx *p = &t->p[0];

		mroce_cc_aimd.path_init(&t->c, p);
		p->min_rtt_ns = min_rtt[i];
		cc_round(t, limit[i], 0, 0);
		KUNIT_EXPECT_EQ(test, p->cc.cwnd_x256, 32U << 8);
		cc_round(t, limit[i] + US, 0, 0);
		KUNIT_EXPECT_EQ(test, p->cc.cwnd_x256, 32U << 8);
		KUNIT_EXPECT_FALSE(test, p->cc.slow_start);
		KUNIT_EXPECT_LE(test, cc_growth(t, min_rtt[i]), 256);

		/* the first mark is of a queue of unknown depth: half */
		mroce_cc_aimd.path_init(&t->c, p);
		cc_round(t, min_rtt[i], 1, 0);
		KUNIT_EXPECT_EQ(test, p->cc.cwnd_x256, 8U << 8);
		KUNIT_EXPECT_FALSE(test, p->cc.slow_start);
	}
}

/* One cut in a round, no increase in it, by a fraction that is learnt slowly (rule
 * 48).
 */
static void test_cc_marks(struct kunit *test)
{
	struct cc_test *t = cc_setup(test, 1);
	struct mroce_path_tx *p = &t->p[0];

	p->cc.alpha_x1024 = 1024;
	cc_round(t, BASE_NS, WINDOW, 0);
	KUNIT_EXPECT_EQ(test, p->cc.cwnd_x256, WINDOW / 2 << 8);

	t = cc_setup(test, 1);
	p = &t->p[0];
	cc_round(t, BASE_NS, WINDOW, 0);
	KUNIT_EXPECT_EQ(test, p->cc.alpha_x1024, 0);
	cc_round(t, BASE_NS, WINDOW, 0);
	KUNIT_EXPECT_GE(test, p->cc.alpha_x1024, 1024 / 16 - 6);
	KUNIT_EXPECT_LE(test, p->cc.alpha_x1024, 1024 / 16);
}

/* A window that is not the limit does not grow (rule 48). */
static void test_cc_app_limited(struct kunit *test)
{
	struct cc_test *t = cc_setup(test, 1);
	struct mroce_cc_sample sa = {
		.acked = 10,
		.rtt_ns = BASE_NS,
		.app_limited = true,
	};

	mroce_cc_aimd.on_ack(&t->c, &t->p[0], &sa);
	KUNIT_EXPECT_EQ(test, t->p[0].cc.cwnd_x256, WINDOW << 8);
	sa.app_limited = false;
	mroce_cc_aimd.on_ack(&t->c, &t->p[0], &sa);
	KUNIT_EXPECT_GT(test, t->p[0].cc.cwnd_x256, WINDOW << 8);
}

/* Eight lost packets may be chance, nine in a row are not; and after silence the window
 * is one packet (rule 48).
 */
static void test_cc_heavy_loss(struct kunit *test)
{
	struct cc_test *t = cc_setup(test, 1);
	struct mroce_path_tx *p = &t->p[0];

	p->cc.round_psn = 2 * WINDOW;
	cc_round(t, BASE_NS, 0, 8);
	KUNIT_EXPECT_GT(test, p->cc.cwnd_x256, WINDOW << 8);
	t = cc_setup(test, 1);
	p = &t->p[0];
	p->cc.round_psn = 2 * WINDOW;
	cc_round(t, BASE_NS, 0, 9);
	KUNIT_EXPECT_GE(test, p->cc.cwnd_x256, WINDOW / 2 << 8);
	KUNIT_EXPECT_LE(test, p->cc.cwnd_x256, (WINDOW / 2 + 1) << 8);

	t = cc_setup(test, 1);
	p = &t->p[0];
	mroce_cc_aimd.on_rto(&t->c, p);
	KUNIT_EXPECT_EQ(test, p->cc.cwnd_x256, 256U);
	KUNIT_EXPECT_TRUE(test, p->cc.slow_start);
	cc_round(t, BASE_NS, 0, 0);
	KUNIT_EXPECT_EQ(test, p->cc.cwnd_x256, 512U);
}

/* Paths share the increase with those of their own plane, and of no other (rule 48). */
static void test_cc_planes(struct kunit *test)
{
	struct cc_test *t = cc_setup(test, 2);
	u32 grown;

	grown = cc_growth(t, BASE_NS);
	KUNIT_EXPECT_GE(test, grown, 120);
	KUNIT_EXPECT_LE(test, grown, 136);
	t->c.mp = kunit_kzalloc(test, sizeof(*t->c.mp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->c.mp);
	t->p[1].plane = 1;
	t->c.plane0.window_x256 = t->p[0].cc.cwnd_x256;
	t->c.mp->p[0].window_x256 = t->p[1].cc.cwnd_x256;
	grown = cc_growth(t, BASE_NS);
	KUNIT_EXPECT_GE(test, grown, 240);
	KUNIT_EXPECT_LE(test, grown, 256);
}

static struct kunit_case cc_cases[] = {
	KUNIT_CASE(test_cc_start),
	KUNIT_CASE(test_cc_marks),
	KUNIT_CASE(test_cc_app_limited),
	KUNIT_CASE(test_cc_heavy_loss),
	KUNIT_CASE(test_cc_planes),
	KUNIT_CASE(test_cc_random_loss),
	KUNIT_CASE(test_cc_few_marks),
	KUNIT_CASE(test_cc_deep),
	KUNIT_CASE(test_cc_once_per_rtt),
	KUNIT_CASE(test_cc_burst),
	KUNIT_CASE(test_cc_shared),
	KUNIT_CASE(test_cc_large),
	KUNIT_CASE(test_cc_next_to_reno),
	{}
};

static struct kunit_suite cc_suite = {
	.name = "mroce_cc",
	.test_cases = cc_cases,
};

kunit_test_suite(cc_suite);
