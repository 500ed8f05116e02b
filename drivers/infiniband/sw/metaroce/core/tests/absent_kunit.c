// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is not there now: no room to build a packet, no page to take its
 * payload from, none to place it in. For a while, or for good; and the other
 * streams of the connection go on.
 */
#include "forge.h"
#include "../internal.h"

#define MANY	1500	/* more packets than all windows of a pair together */

/* Memory is short when a packet is built: later is not never. */
static void test_no_memory_to_gather(struct kunit *test)
{
	struct pair *p = pair_connected(test, 13);
	struct tstream *a = pair_ts(p, 0, 0), *b = pair_ts(p, 1, 0);
	int i;

	a->s.a.timeout = 0;
	p->net.loss = 10000;
	for (i = 0; i < 20; i++) {
		a->no_memory = 3;
		b->no_memory = 3;
		pair_post(p, 0, 0, MROCE_OP_WRITE, 5000, 0, false);
		pair_post(p, 0, 0, MROCE_OP_READ_REQ, 5000, 0, false);
		KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * SEC, pair_all_done));
	}
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	p->net.loss = 0;
	pair_run(p, SEC, NULL);
	pair_check_quiet(p);
	pair_free(p);
}

/* A receiver that cannot place for a while is not stormed with copies. */
static void test_cannot_place(struct kunit *test)
{
	struct pair *p = pair_connected(test, 44);
	struct tstream *b = pair_ts(p, 1, 0);
	u64 sent;

	b->fail_place = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 20000, 0, false);
	sent = p->sent;
	pair_run(p, 20 * MS, NULL);
	KUNIT_EXPECT_GE(test, p->sent - sent, 14ULL);
	KUNIT_EXPECT_LT(test, p->sent - sent, 150ULL);
	b->fail_place = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, pair_ts(p, 0, 0)->n_err_done, 0U);
	pair_free(p);
}

/* Streams 0 and 1. */
static struct pair *two_streams(struct kunit *test, u64 seed)
{
	struct pair *p = pair_new(test, seed, 1500);

	pair_ts(p, 0, 0)->tune.timeout = 14;
	pair_ts(p, 0, 0)->tune.retry_cnt = 7;
	pair_ts(p, 0, 0)->tune.rnr_retry = 7;
	pair_up(p, 0);
	pair_up(p, 1);
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	return p;
}

static bool stream_1_done(struct pair *p)
{
	struct tstream *a = pair_ts(p, 0, 1);

	return a->n_done == a->n_posted;
}

/* @n messages on stream 1, in turns: each has to be done in its time. */
static void other_goes_on(struct pair *p, u8 opcode, u32 n)
{
	u32 i;

	for (i = 0; i < n; i += 10) {
		int k;

		for (k = 0; k < 10; k++)
			pair_post(p, 0, 1, opcode, 10000, 0, false);
		if (!pair_run(p, 50 * MS, stream_1_done))
			break;
	}
	KUNIT_EXPECT_GE(p->test, i, n);
}

/* The memory that a Write goes to does not come. Its packets must not stay
 * outstanding: every path would wait for one of them.
 */
static void test_unplaced_write_alone(struct kunit *test)
{
	struct pair *p = two_streams(test, 50);
	struct tstream *a = pair_ts(p, 0, 0);

	pair_ts(p, 1, 0)->fail_place = true;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 20000, 0, false);
	other_goes_on(p, MROCE_OP_WRITE, MANY / 7);
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_ts(p, 1, 0)->fail_place = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_check_quiet(p);
	pair_free(p);
}

/* Whoever does not want to wait for ever says so with rnr_retry. */
static void test_unplaced_is_rnr(struct kunit *test)
{
	static const u8 op[] = {
		MROCE_OP_WRITE, MROCE_OP_WRITE_IMM, MROCE_OP_SEND
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(op); i++) {
		struct pair *p = two_streams(test, 51 + i);
		struct tstream *a = pair_ts(p, 0, 0);

		a->s.a.rnr_retry = 3;
		a->s.rnr_left = 3;
		pair_post_recv(p, 1, 0, 1);
		pair_ts(p, 1, 0)->fail_place = true;
		pair_post(p, 0, 0, op[i], 3000, 0, false);
		pair_run(p, SEC, NULL);
		KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_RNR_EXC);
		pair_free(p);
	}
}

static bool refused(struct pair *p)
{
	return pair_ts(p, 0, 0)->s.held;
}

/* The QP's time, but not less than a page takes (rule 57). */
static void test_unplaced_hold(struct kunit *test)
{
	static const u8 timer[] = { 1, 20 };
	static const u64 hold_us[] = { 2560, 10240 };
	int i;

	for (i = 0; i < 2; i++) {
		struct pair *p = two_streams(test, 55 + i);
		struct tstream *a = pair_ts(p, 0, 0);

		pair_ts(p, 1, 0)->s.a.min_rnr_timer = timer[i];
		pair_ts(p, 1, 0)->fail_place = true;
		pair_post(p, 0, 0, MROCE_OP_WRITE, 3000, 0, false);
		pair_run(p, 9 * MS, NULL);
		KUNIT_EXPECT_FALSE(test, a->s.held);
		KUNIT_EXPECT_TRUE(test, pair_run(p, 20 * MS, refused));
		KUNIT_EXPECT_EQ(test, a->s.hold_until - p->now,
				hold_us[i] * US);
		pair_free(p);
	}
}

/* Each Write comes to a page that is brought in for it: that is not the end of
 * patience after some.
 */
static void test_unplaced_each_once(struct kunit *test)
{
	struct pair *p = two_streams(test, 59);
	struct tstream *a = pair_ts(p, 0, 0);
	int i;

	a->s.a.rnr_retry = 3;
	a->s.rnr_left = 3;
	for (i = 0; i < 20; i++) {
		pair_ts(p, 1, 0)->fail_place = true;
		pair_post(p, 0, 0, MROCE_OP_WRITE, 3000, 0, false);
		pair_run(p, 40 * MS, NULL);
		pair_ts(p, 1, 0)->fail_place = false;
		KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	}
	KUNIT_EXPECT_GE(test, pair_cnt(p, MROCE_CNT_RNR_RECV), 20ULL);
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_free(p);
}

/* Some packets of a message fail, others do not, again and again: bytes are
 * counted once.
 */
static void test_unplaced_in_part(struct kunit *test)
{
	u64 seed;

	for (seed = 1; seed <= 30; seed++) {
		struct pair *p = two_streams(test, seed);
		struct tstream *a = pair_ts(p, 0, 0), *b = pair_ts(p, 1, 0);
		u32 i;

		p->net.loss = 2000;
		pair_post_recv(p, 1, 0, 20);
		for (i = 0; i < 10; i++) {
			pair_post(p, 0, 0, MROCE_OP_WRITE_IMM,
				  1 + pair_rand(p, 20000), 0, false);
			pair_post(p, 0, 0, MROCE_OP_SEND,
				  1 + pair_rand(p, b->rsize), 0, false);
			pair_post(p, 0, 0, MROCE_OP_READ_REQ,
				  1 + pair_rand(p, 20000), 0, false);
		}
		for (i = 0; i < 100; i++) {
			b->fail_place = pair_rand(p, 2);
			a->fail_place = pair_rand(p, 2);
			pair_run(p, pair_rand(p, MS), NULL);
		}
		b->fail_place = false;
		a->fail_place = false;
		KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * SEC, pair_all_done));
		KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
		p->net.loss = 0;
		pair_run(p, SEC, NULL);
		pair_check_quiet(p);
		pair_free(p);
	}
}

/* The memory for the answer to a Read does not come. That cannot be refused, so
 * it ends, and the other stream has not failed meanwhile.
 */
static void test_unplaced_answer(struct kunit *test)
{
	struct pair *p = two_streams(test, 60);
	struct tstream *a = pair_ts(p, 0, 0);

	a->fail_place = true;
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 20000, 0, false);
	pair_run(p, 500 * MS, NULL);
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_run(p, 2 * SEC, NULL);
	KUNIT_EXPECT_EQ(test, a->n_err_done, 1U);
	KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_LOC_PROT);
	other_goes_on(p, MROCE_OP_WRITE, MANY / 7);
	pair_free(p);
}

/* No payload for the answers of one stream: those of the other leave. */
static void test_answers_pass(struct kunit *test)
{
	struct pair *p = two_streams(test, 61);

	pair_ts(p, 1, 0)->no_memory = U32_MAX;
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 20000, 0, false);
	other_goes_on(p, MROCE_OP_READ_REQ, 30);
	pair_ts(p, 1, 0)->no_memory = 0;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	pair_free(p);
}

/* Nor do requests, nor what is to be sent again, wait behind it. */
static void test_requests_pass(struct kunit *test)
{
	struct pair *p = two_streams(test, 62);
	struct tstream *a = pair_ts(p, 0, 0);

	/* its first packets are lost and cannot be built again */
	p->net.drop_next = 14;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 20000, 0, false);
	pair_pump(p, 0);
	KUNIT_EXPECT_EQ(test, p->net.drop_next, 0ULL);
	a->no_memory = U32_MAX;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 20000, 0, false);
	p->net.loss = 6000;
	other_goes_on(p, MROCE_OP_WRITE, 30);
	p->net.loss = 0;
	other_goes_on(p, MROCE_OP_WRITE, 20);
	a->no_memory = 0;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_check_quiet(p);
	pair_free(p);
}

static bool all_dropped(struct pair *p)
{
	return !p->net.drop_next;
}

/* What was lost cannot be built again, and never will: nobody waits for ever. */
static void test_never_again(struct kunit *test)
{
	static const u8 op[] = { MROCE_OP_WRITE, MROCE_OP_READ_REQ };
	int i;

	for (i = 0; i < ARRAY_SIZE(op); i++) {
		struct pair *p = two_streams(test, 63 + i);
		struct tstream *a = pair_ts(p, 0, 0);
		int k;

		a->s.a.timeout = 0;
		if (op[i] == MROCE_OP_WRITE) {
			p->net.drop_next = 14;
			pair_post(p, 0, 0, op[i], 20000, 0, false);
			pair_pump(p, 0);
			a->no_memory = U32_MAX;
		} else {
			/* the answers, not the requests */
			for (k = 0; k < 4; k++)
				pair_post(p, 0, 0, op[i], 5000, 0, false);
			pair_pump(p, 0);
			p->net.drop_next = 16;
			pair_run(p, MS, all_dropped);
			pair_ts(p, 1, 0)->no_memory = U32_MAX;
		}
		KUNIT_EXPECT_EQ(test, p->net.drop_next, 0ULL);
		pair_run(p, 3 * SEC, NULL);
		KUNIT_EXPECT_GT(test, a->n_err_done, 0U);
		other_goes_on(p, MROCE_OP_WRITE, MANY / 7);
		pair_free(p);
	}
}

/* Only what is not there for long fails, whatever else the stream does. */
static void test_unplaced_beside_others(struct kunit *test)
{
	struct pair *p = two_streams(test, 66);
	struct tstream *a = pair_ts(p, 0, 0);
	int i;

	a->fail_resp = true;
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 3000, 0, false);
	for (i = 0; i < 30 && !a->fatal; i++) {
		pair_post(p, 1, 0, MROCE_OP_WRITE, 100, 0, false);
		pair_run(p, 100 * MS, NULL);
	}
	KUNIT_EXPECT_GT(test, pair_ts(p, 1, 0)->n_done, 5U);
	KUNIT_EXPECT_EQ(test, a->fatal, MROCE_ST_LOC_PROT);
	pair_free(p);
}

/* One miss, an outage, another miss: that is not a second without memory. */
static void test_two_misses(struct kunit *test)
{
	struct pair *p = two_streams(test, 67);
	struct tstream *a = pair_ts(p, 0, 0);

	a->s.a.timeout = 0;
	a->fail_place = true;
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 3000, 0, false);
	pair_run(p, 5 * MS, NULL);
	p->net.cut = true;
	pair_run(p, 3 * SEC, NULL);
	p->net.cut = false;
	pair_run(p, 300 * MS, NULL);
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	a->fail_place = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * SEC, pair_all_done));
	KUNIT_EXPECT_EQ(test, a->n_err_done, 0U);
	pair_free(p);
}

/* A responder whose answers wait for their payload still has a requester's life. */
static void test_own_requests_pass(struct kunit *test)
{
	struct pair *p = two_streams(test, 68);
	struct tstream *b = pair_ts(p, 1, 0);

	b->short_resp = true;
	pair_post(p, 0, 0, MROCE_OP_READ_REQ, 20000, 0, false);
	pair_run(p, 5 * MS, NULL);
	pair_post(p, 1, 0, MROCE_OP_WRITE, 100, 0, false);
	pair_run(p, 50 * MS, NULL);
	KUNIT_EXPECT_EQ(test, b->n_done, b->n_posted);
	b->short_resp = false;
	KUNIT_EXPECT_TRUE(test, pair_run(p, SEC, pair_all_done));
	pair_free(p);
}

/* Many packets that cannot be built do not cost a look each time. */
static void test_few_looks(struct kunit *test)
{
	struct pair *p = two_streams(test, 69);
	struct tstream *a = pair_ts(p, 0, 0);
	u32 looks;

	other_goes_on(p, MROCE_OP_WRITE, 50);	/* its windows open */
	p->net.drop_next = 56;
	pair_post(p, 0, 0, MROCE_OP_WRITE, 60000, 0, false);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 20000, 0, false);
	pair_pump(p, 0);
	KUNIT_EXPECT_LT(test, p->net.drop_next, 20ULL);
	p->net.drop_next = 0;
	a->no_memory = U32_MAX;
	other_goes_on(p, MROCE_OP_WRITE, 20);
	looks = U32_MAX - a->no_memory;
	KUNIT_EXPECT_GT(test, looks, 0U);
	KUNIT_EXPECT_LT(test, looks, 1000U);
	a->no_memory = 0;
	KUNIT_EXPECT_TRUE(test, pair_run(p, 5 * SEC, pair_all_done));
	pair_free(p);
}

static struct kunit_case absent_cases[] = {
	KUNIT_CASE(test_no_memory_to_gather),
	KUNIT_CASE(test_cannot_place),
	KUNIT_CASE(test_unplaced_write_alone),
	KUNIT_CASE(test_unplaced_is_rnr),
	KUNIT_CASE(test_unplaced_hold),
	KUNIT_CASE(test_unplaced_each_once),
	KUNIT_CASE(test_unplaced_in_part),
	KUNIT_CASE(test_unplaced_answer),
	KUNIT_CASE(test_answers_pass),
	KUNIT_CASE(test_requests_pass),
	KUNIT_CASE(test_never_again),
	KUNIT_CASE(test_unplaced_beside_others),
	KUNIT_CASE(test_two_misses),
	KUNIT_CASE(test_own_requests_pass),
	KUNIT_CASE(test_few_looks),
	{}
};

static struct kunit_suite absent_suite = {
	.name = "metaroce-absent",
	.test_cases = absent_cases,
};

kunit_test_suite(absent_suite);
