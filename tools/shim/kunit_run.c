// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the suites linked into the program and prints TAP.
 *
 *	kunit_run [-l] [-s seed] [suite-prefix ...]
 *
 * One line per case (a parameterised case is one line, its failing
 * parameters are named), then "N passed, N failed". Exit code 0 if nothing
 * failed and at least one case ran.
 */
#include <setjmp.h>

#include "kunit/test.h"

#define MAX_SUITES	256

struct kunit_res {
	struct kunit_res *next;
	max_align_t mem[];
};

static struct kunit_suite *all_suites[MAX_SUITES];
static unsigned int n_suites;
static unsigned int n_passed, n_failed, n_skipped, n_line;

void mroce_kunit_register(struct kunit_suite **suites, unsigned int n)
{
	while (n--) {
		if (n_suites == MAX_SUITES)
			abort();
		all_suites[n_suites++] = *suites++;
	}
}

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	struct kunit_res *res = calloc(1, sizeof(*res) + size);

	(void)gfp;
	if (!res)
		abort();
	res->next = test->res;
	test->res = res;
	return res->mem;
}

void kunit_kfree(struct kunit *test, const void *p)
{
	struct kunit_res **at, *res;

	for (at = &test->res; (res = *at); at = &res->next) {
		if ((const void *)res->mem != p)
			continue;
		*at = res->next;
		free(res);
		return;
	}
	if (p)
		abort();
}

void kunit_log_line(struct kunit *test, const char *level,
		    const char *fmt, ...)
{
	va_list ap;

	(void)test;
	printf("# %s", level);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	if (fmt[0] && fmt[strlen(fmt) - 1] != '\n')
		putchar('\n');
}

void mroce_kunit_fail(struct kunit *test, bool fatal, const char *file,
		      int line, const char *fmt, ...)
{
	va_list ap;

	test->failed = true;
	printf("#   %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	if (fatal)
		longjmp(*(jmp_buf *)test->abort_to, 1);
}

void mroce_kunit_skip(struct kunit *test, const char *why)
{
	test->skipped = true;
	printf("#   skipped: %s\n", why);
	longjmp(*(jmp_buf *)test->abort_to, 1);
}

/* A case starts from the same random sequence whatever ran before it. */
static void run_one(struct kunit_suite *suite, const struct kunit_case *c,
		    struct kunit *test, u64 seed)
{
	jmp_buf env;

	mroce_shim_seed(seed);
	mroce_shim_fail_alloc(0, 0);
	test->name = c->name;
	test->abort_to = &env;
	if (!setjmp(env)) {
		if (suite->init && suite->init(test))
			mroce_kunit_fail(test, true, suite->name, 0,
					 "init failed");
		c->run_case(test);
	}
	mroce_shim_fail_alloc(0, 0);
	mroce_shim_alloc_hook = NULL;
	mroce_shim_event_hook = NULL;
	/* exit() may assert as well, and must not run twice */
	if (!setjmp(env) && suite->exit)
		suite->exit(test);
	while (test->res) {
		struct kunit_res *res = test->res;

		test->res = res->next;
		free(res);
	}
}

static void run_case(struct kunit_suite *suite, const struct kunit_case *c,
		     u64 seed)
{
	char desc[KUNIT_PARAM_DESC_SIZE] = "";
	const void *param = NULL;
	long live = mroce_shim_live_allocs();
	bool skipped = false;
	bool failed = false;
	int n = 0;

	do {
		struct kunit test = { .param_index = n };

		if (c->generate_params) {
			desc[0] = 0;
			param = c->generate_params(param, desc);
			if (!param)
				break;
			test.param_value = param;
		}
		run_one(suite, c, &test, seed);
		if (test.failed)
			printf("#   in %s.%s %s (parameter %d)\n", suite->name,
			       c->name, desc, n);
		failed |= test.failed;
		skipped |= test.skipped;
		n++;
	} while (c->generate_params);

	if (!failed && mroce_shim_live_allocs() != live) {
		printf("#   %ld allocations not given back\n",
		       mroce_shim_live_allocs() - live);
		failed = true;
	}
	n_line++;
	if (failed)
		n_failed++;
	else if (skipped)
		n_skipped++;
	else
		n_passed++;
	printf("%s %u %s.%s%s\n", failed ? "not ok" : "ok", n_line,
	       suite->name, c->name, skipped && !failed ? " # SKIP" : "");
	fflush(stdout);
}

static bool wanted(const char *name, char **args, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (!strncmp(name, args[i], strlen(args[i])))
			return true;
	return !n;
}

int main(int argc, char **argv)
{
	unsigned int plan = 0;
	bool list = false;
	u64 seed = 1;
	int arg = 1;
	int pass;

	for (; arg < argc && argv[arg][0] == '-'; arg++) {
		if (!strcmp(argv[arg], "-l")) {
			list = true;
		} else if (!strcmp(argv[arg], "-s") && arg + 1 < argc) {
			seed = strtoull(argv[++arg], NULL, 0);
		} else {
			fprintf(stderr, "usage: %s [-l] [-s seed] [suite-prefix ...]\n",
				argv[0]);
			return 2;
		}
	}

	for (pass = 0; pass < 2; pass++) {
		unsigned int i;

		if (pass && !list)
			printf("TAP version 13\n1..%u\n", plan);
		for (i = 0; i < n_suites; i++) {
			struct kunit_suite *s = all_suites[i];
			struct kunit_case *c;

			if (!wanted(s->name, argv + arg, argc - arg))
				continue;
			if (pass && !list && s->suite_init && s->suite_init(s)) {
				printf("not ok %u %s # suite_init\n", ++n_line,
				       s->name);
				n_failed++;
				continue;
			}
			for (c = s->test_cases; c->run_case; c++) {
				if (!pass)
					plan++;
				else if (list)
					printf("%s.%s\n", s->name, c->name);
				else
					run_case(s, c, seed);
			}
			if (pass && !list && s->suite_exit)
				s->suite_exit(s);
		}
	}
	if (list)
		return 0;
	if (n_skipped)
		printf("# %u skipped\n", n_skipped);
	printf("%u passed, %u failed\n", n_passed, n_failed);
	return n_failed || !n_passed;
}
