// SPDX-License-Identifier: GPL-2.0
/*
 * Memory, chance and warnings for the userspace builds of wire/ and core/.
 */
#include "mroce_shim.h"

bool (*mroce_shim_alloc_hook)(size_t size);
void (*mroce_shim_event_hook)(const char *event);

static unsigned long n_allocs;
static long n_live;
static unsigned long fail_from;
static unsigned long fail_until;
static u64 prng_state = 0x6d65746120726f63ULL;

void mroce_shim_fail_alloc(unsigned long nth, unsigned long count)
{
	fail_from = nth ? n_allocs + nth : 0;
	fail_until = count ? fail_from + count : ULONG_MAX;
}

unsigned long mroce_shim_allocs(void)
{
	return n_allocs;
}

long mroce_shim_live_allocs(void)
{
	return n_live;
}

void *mroce_zalloc(size_t size)
{
	void *p;

	n_allocs++;
	if (fail_from && n_allocs >= fail_from && n_allocs < fail_until)
		return NULL;
	if (mroce_shim_alloc_hook && mroce_shim_alloc_hook(size))
		return NULL;
	p = calloc(1, size);
	if (!p)
		abort();	/* not injected: the test would mean nothing */
	n_live++;
	return p;
}

void mroce_free(const void *p)
{
	if (!p)
		return;
	n_live--;
	free((void *)p);
}

void mroce_shim_seed(u64 seed)
{
	prng_state = seed;
}

/* splitmix64: any seed will do, zero included. */
u32 mroce_random_u32(void)
{
	u64 z;

	prng_state += 0x9e3779b97f4a7c15ULL;
	z = prng_state;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (u32)((z ^ (z >> 31)) >> 32);
}

void mroce_shim_warn(const char *file, int line, const char *what)
{
	fflush(stdout);
	fprintf(stderr, "%s:%d: WARN_ON(%s)\n", file, line, what);
	abort();
}
