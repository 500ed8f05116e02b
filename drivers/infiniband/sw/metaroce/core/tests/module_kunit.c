// SPDX-License-Identifier: GPL-2.0
/*
 * The test module's own words. Each *_kunit.c registers its suites by
 * kunit_test_suites(), which needs no init function on any supported kernel.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit tests of MetaRoCE's wire format and transport");
MODULE_LICENSE("GPL");
