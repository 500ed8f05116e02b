/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The single include of wire/ and core/: what these two rooms may use of
 * the world. In the kernel that is a handful of headers without any
 * subsystem in them; in userspace (unit tests, fuzzers, simulator) the same
 * names come from tools/shim/. Nothing here knows of packets buffers,
 * sockets, devices, timers or locks: time is an argument, deadlines are
 * returned, payload is an opaque handle, and the caller holds the
 * connection's lock.
 */
#ifndef MROCE_PLATFORM_H
#define MROCE_PLATFORM_H

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint-defs.h>
#include <linux/types.h>
#if __has_include("linux/unaligned.h")
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* Core objects are allocated under the connection lock: never sleep. */
static inline void *mroce_zalloc(size_t size)
{
	return kzalloc(size, GFP_ATOMIC | __GFP_NOWARN);
}

static inline void mroce_free(const void *p)
{
	kfree(p);
}

/* A stream's message ring: once, in process context, may be large. */
static inline void *mroce_zalloc_big(size_t size)
{
	return kvzalloc(size, GFP_KERNEL);
}

static inline void mroce_free_big(const void *p)
{
	kvfree(p);
}

static inline u32 mroce_random_u32(void)
{
	return get_random_u32();
}

/*
 * An event of events.h: a tracepoint, off but for a branch. The copies of core/ in
 * the test module have none; in userspace they are told to mroce_shim_event_hook.
 */
#ifndef MROCE_KUNIT
#define MROCE_TRACE_DECLARE(event)	DECLARE_TRACEPOINT(mroce_##event)
#define MROCE_TRACE(event, args...) do {				\
	if (tracepoint_enabled(mroce_##event))				\
		mroce_trace_##event(args);				\
} while (0)
#else
#define MROCE_TRACE_DECLARE(event)	struct mroce_no_##event
#define MROCE_TRACE(event, args...) do {				\
	if (0)								\
		mroce_trace_##event(args);				\
} while (0)
#endif

#else /* userspace */

#include "mroce_shim.h"		/* tools/shim/, same names */

#endif

/* Serial number arithmetic (RFC 1982) on 32-bit sequences. */
static inline s32 mroce_seq_diff(u32 a, u32 b)
{
	return (s32)(a - b);
}

static inline bool mroce_seq_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static inline bool mroce_seq_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

#endif /* MROCE_PLATFORM_H */
