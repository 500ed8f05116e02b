/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of KUnit that exists on every supported kernel, in userspace, so
 * that the *_kunit.c files compile unchanged here and there. What 6.1 does
 * not have (MEMEQ, actions, static stubs) is left out on purpose: a test that
 * builds here builds on all of them.
 */
#ifndef MROCE_SHIM_KUNIT_H
#define MROCE_SHIM_KUNIT_H

#include "../mroce_shim.h"
#include "../linux/module.h"

#define KUNIT_PARAM_DESC_SIZE	128

struct kunit_res;

struct kunit {
	void *priv;
	const char *name;
	const void *param_value;
	int param_index;
	/* the runner's own */
	bool failed;
	bool skipped;
	struct kunit_res *res;
	void *abort_to;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char name[256];
	int (*suite_init)(struct kunit_suite *suite);
	void (*suite_exit)(struct kunit_suite *suite);
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(fn)		{ .run_case = fn, .name = #fn }
#define KUNIT_CASE_PARAM(fn, gen)					\
	{ .run_case = fn, .name = #fn, .generate_params = gen }

#define KUNIT_ARRAY_PARAM(nm, array, get_desc)				\
	static const void *nm##_gen_params(const void *prev, char *desc)\
	{								\
		void (*fn_)(typeof(&(array)[0]), char *) = get_desc;	\
		typeof(&(array)[0]) p_ = prev;				\
									\
		p_ = p_ ? p_ + 1 : &(array)[0];				\
		if (p_ >= &(array)[0] + ARRAY_SIZE(array))		\
			return NULL;					\
		if (fn_)						\
			fn_(p_, desc);					\
		return p_;						\
	}

void mroce_kunit_register(struct kunit_suite **suites, unsigned int n);

#define MROCE_KUNIT_SUITES_(id, ...)					\
	static struct kunit_suite *id##_suites[] = { __VA_ARGS__ };	\
	__attribute__((constructor)) static void id##_register(void)	\
	{								\
		mroce_kunit_register(id##_suites, ARRAY_SIZE(id##_suites));\
	}
#define MROCE_KUNIT_SUITES(id, ...)	MROCE_KUNIT_SUITES_(id, __VA_ARGS__)
#define kunit_test_suites(...)						\
	MROCE_KUNIT_SUITES(__UNIQUE_ID(kunit), __VA_ARGS__)		\
	struct kunit
#define kunit_test_suite(s)	kunit_test_suites(&s)

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp);
void kunit_kfree(struct kunit *test, const void *p);
#define kunit_kmalloc(test, size, gfp)	kunit_kzalloc(test, size, gfp)
#define kunit_kcalloc(test, n, size, gfp)				\
	kunit_kzalloc(test, (size_t)(n) * (size), gfp)

void kunit_log_line(struct kunit *test, const char *level,
		    const char *fmt, ...) __printf(3, 4);
#define kunit_info(test, fmt, ...)	kunit_log_line(test, "", fmt, ##__VA_ARGS__)
#define kunit_warn(test, fmt, ...)	kunit_log_line(test, "warning: ", fmt, ##__VA_ARGS__)
#define kunit_err(test, fmt, ...)	kunit_log_line(test, "error: ", fmt, ##__VA_ARGS__)

void mroce_kunit_skip(struct kunit *test, const char *why)
	__attribute__((noreturn));
#define kunit_skip(test, fmt, ...) do {					\
	char skip_why_[256];						\
	snprintf(skip_why_, sizeof(skip_why_), fmt, ##__VA_ARGS__);	\
	mroce_kunit_skip(test, skip_why_);				\
} while (0)

/* Report a failed check; does not come back if @fatal. */
void mroce_kunit_fail(struct kunit *test, bool fatal, const char *file,
		      int line, const char *fmt, ...) __printf(5, 6);

#define MROCE_KUNIT_CHECK(test, fatal, ok, what, fmt, ...) do {		\
	if (!(ok))							\
		mroce_kunit_fail(test, fatal, __FILE__, __LINE__,	\
				 what fmt, ##__VA_ARGS__);		\
} while (0)

#define MROCE_KUNIT_BIN(test, fatal, l, op, r, fmt, ...) do {		\
	typeof(l) l_ = (l);						\
	typeof(r) r_ = (r);						\
	if (!(l_ op r_))						\
		mroce_kunit_fail(test, fatal, __FILE__, __LINE__,	\
				 #l " " #op " " #r ": %lld (0x%llx), %lld (0x%llx) " \
				 fmt, (long long)l_, (long long)l_,	\
				 (long long)r_, (long long)r_,		\
				 ##__VA_ARGS__);			\
} while (0)

#define MROCE_KUNIT_PTR(test, fatal, l, op, r, fmt, ...) do {		\
	const void *l_ = (l);						\
	const void *r_ = (r);						\
	if (!(l_ op r_))						\
		mroce_kunit_fail(test, fatal, __FILE__, __LINE__,	\
				 #l " " #op " " #r ": %p, %p " fmt,	\
				 l_, r_, ##__VA_ARGS__);		\
} while (0)

#define MROCE_KUNIT_STR(test, fatal, l, op, r, fmt, ...) do {		\
	const char *l_ = (l);						\
	const char *r_ = (r);						\
	if (!(strcmp(l_, r_) op 0))					\
		mroce_kunit_fail(test, fatal, __FILE__, __LINE__,	\
				 #l " " #op " " #r ": \"%s\", \"%s\" " fmt, \
				 l_, r_, ##__VA_ARGS__);		\
} while (0)

#define KUNIT_SUCCEED(test)	do { (void)(test); } while (0)
#define KUNIT_FAIL(test, fmt, ...)					\
	MROCE_KUNIT_CHECK(test, false, false, "", fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_FAILURE(test, fmt, ...)				\
	MROCE_KUNIT_CHECK(test, true, false, "", fmt, ##__VA_ARGS__)

#define KUNIT_EXPECT_TRUE(t, c)	KUNIT_EXPECT_TRUE_MSG(t, c, " ")
#define KUNIT_EXPECT_TRUE_MSG(t, c, fmt, ...)				\
	MROCE_KUNIT_CHECK(t, false, c, #c " is false ", fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_FALSE(t, c) KUNIT_EXPECT_FALSE_MSG(t, c, " ")
#define KUNIT_EXPECT_FALSE_MSG(t, c, fmt, ...)				\
	MROCE_KUNIT_CHECK(t, false, !(c), #c " is true ", fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_TRUE(t, c)	KUNIT_ASSERT_TRUE_MSG(t, c, " ")
#define KUNIT_ASSERT_TRUE_MSG(t, c, fmt, ...)				\
	MROCE_KUNIT_CHECK(t, true, c, #c " is false ", fmt, ##__VA_ARGS__)
#define KUNIT_ASSERT_FALSE(t, c) KUNIT_ASSERT_FALSE_MSG(t, c, " ")
#define KUNIT_ASSERT_FALSE_MSG(t, c, fmt, ...)				\
	MROCE_KUNIT_CHECK(t, true, !(c), #c " is true ", fmt, ##__VA_ARGS__)

#define KUNIT_EXPECT_EQ(t, l, r)	MROCE_KUNIT_BIN(t, false, l, ==, r, " ")
#define KUNIT_EXPECT_NE(t, l, r)	MROCE_KUNIT_BIN(t, false, l, !=, r, " ")
#define KUNIT_EXPECT_LT(t, l, r)	MROCE_KUNIT_BIN(t, false, l, <, r, " ")
#define KUNIT_EXPECT_LE(t, l, r)	MROCE_KUNIT_BIN(t, false, l, <=, r, " ")
#define KUNIT_EXPECT_GT(t, l, r)	MROCE_KUNIT_BIN(t, false, l, >, r, " ")
#define KUNIT_EXPECT_GE(t, l, r)	MROCE_KUNIT_BIN(t, false, l, >=, r, " ")
#define KUNIT_ASSERT_EQ(t, l, r)	MROCE_KUNIT_BIN(t, true, l, ==, r, " ")
#define KUNIT_ASSERT_NE(t, l, r)	MROCE_KUNIT_BIN(t, true, l, !=, r, " ")
#define KUNIT_ASSERT_LT(t, l, r)	MROCE_KUNIT_BIN(t, true, l, <, r, " ")
#define KUNIT_ASSERT_LE(t, l, r)	MROCE_KUNIT_BIN(t, true, l, <=, r, " ")
#define KUNIT_ASSERT_GT(t, l, r)	MROCE_KUNIT_BIN(t, true, l, >, r, " ")
#define KUNIT_ASSERT_GE(t, l, r)	MROCE_KUNIT_BIN(t, true, l, >=, r, " ")

#define KUNIT_EXPECT_EQ_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, false, l, ==, r, __VA_ARGS__)
#define KUNIT_EXPECT_NE_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, false, l, !=, r, __VA_ARGS__)
#define KUNIT_EXPECT_LT_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, false, l, <, r, __VA_ARGS__)
#define KUNIT_EXPECT_LE_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, false, l, <=, r, __VA_ARGS__)
#define KUNIT_EXPECT_GT_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, false, l, >, r, __VA_ARGS__)
#define KUNIT_EXPECT_GE_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, false, l, >=, r, __VA_ARGS__)
#define KUNIT_ASSERT_EQ_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, true, l, ==, r, __VA_ARGS__)
#define KUNIT_ASSERT_NE_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, true, l, !=, r, __VA_ARGS__)
#define KUNIT_ASSERT_LT_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, true, l, <, r, __VA_ARGS__)
#define KUNIT_ASSERT_LE_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, true, l, <=, r, __VA_ARGS__)
#define KUNIT_ASSERT_GT_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, true, l, >, r, __VA_ARGS__)
#define KUNIT_ASSERT_GE_MSG(t, l, r, ...) MROCE_KUNIT_BIN(t, true, l, >=, r, __VA_ARGS__)

#define KUNIT_EXPECT_PTR_EQ(t, l, r)	MROCE_KUNIT_PTR(t, false, l, ==, r, " ")
#define KUNIT_EXPECT_PTR_NE(t, l, r)	MROCE_KUNIT_PTR(t, false, l, !=, r, " ")
#define KUNIT_ASSERT_PTR_EQ(t, l, r)	MROCE_KUNIT_PTR(t, true, l, ==, r, " ")
#define KUNIT_ASSERT_PTR_NE(t, l, r)	MROCE_KUNIT_PTR(t, true, l, !=, r, " ")
#define KUNIT_EXPECT_PTR_EQ_MSG(t, l, r, ...) MROCE_KUNIT_PTR(t, false, l, ==, r, __VA_ARGS__)
#define KUNIT_EXPECT_PTR_NE_MSG(t, l, r, ...) MROCE_KUNIT_PTR(t, false, l, !=, r, __VA_ARGS__)
#define KUNIT_ASSERT_PTR_EQ_MSG(t, l, r, ...) MROCE_KUNIT_PTR(t, true, l, ==, r, __VA_ARGS__)
#define KUNIT_ASSERT_PTR_NE_MSG(t, l, r, ...) MROCE_KUNIT_PTR(t, true, l, !=, r, __VA_ARGS__)

#define KUNIT_EXPECT_NULL(t, p)		MROCE_KUNIT_PTR(t, false, p, ==, NULL, " ")
#define KUNIT_EXPECT_NOT_NULL(t, p)	MROCE_KUNIT_PTR(t, false, p, !=, NULL, " ")
#define KUNIT_ASSERT_NULL(t, p)		MROCE_KUNIT_PTR(t, true, p, ==, NULL, " ")
#define KUNIT_ASSERT_NOT_NULL(t, p)	MROCE_KUNIT_PTR(t, true, p, !=, NULL, " ")
#define KUNIT_EXPECT_NULL_MSG(t, p, ...) MROCE_KUNIT_PTR(t, false, p, ==, NULL, __VA_ARGS__)
#define KUNIT_EXPECT_NOT_NULL_MSG(t, p, ...) MROCE_KUNIT_PTR(t, false, p, !=, NULL, __VA_ARGS__)
#define KUNIT_ASSERT_NULL_MSG(t, p, ...) MROCE_KUNIT_PTR(t, true, p, ==, NULL, __VA_ARGS__)
#define KUNIT_ASSERT_NOT_NULL_MSG(t, p, ...) MROCE_KUNIT_PTR(t, true, p, !=, NULL, __VA_ARGS__)
#define KUNIT_EXPECT_NOT_ERR_OR_NULL(t, p) KUNIT_EXPECT_NOT_NULL(t, p)
#define KUNIT_ASSERT_NOT_ERR_OR_NULL(t, p) KUNIT_ASSERT_NOT_NULL(t, p)

#define KUNIT_EXPECT_STREQ(t, l, r)	MROCE_KUNIT_STR(t, false, l, ==, r, " ")
#define KUNIT_EXPECT_STRNEQ(t, l, r)	MROCE_KUNIT_STR(t, false, l, !=, r, " ")
#define KUNIT_ASSERT_STREQ(t, l, r)	MROCE_KUNIT_STR(t, true, l, ==, r, " ")
#define KUNIT_ASSERT_STRNEQ(t, l, r)	MROCE_KUNIT_STR(t, true, l, !=, r, " ")
#define KUNIT_EXPECT_STREQ_MSG(t, l, r, ...) MROCE_KUNIT_STR(t, false, l, ==, r, __VA_ARGS__)
#define KUNIT_ASSERT_STREQ_MSG(t, l, r, ...) MROCE_KUNIT_STR(t, true, l, ==, r, __VA_ARGS__)

#endif /* MROCE_SHIM_KUNIT_H */
