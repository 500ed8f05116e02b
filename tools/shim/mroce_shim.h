/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The userspace side of core/platform.h: the names that wire/ and core/ use
 * of the kernel, with the same meaning, written anew for test programs, the
 * fuzzers and the simulator. It covers what is used, not what exists.
 *
 * Where the kernel is strict (min() of two types, __must_check) so is this,
 * and where it is lenient at run time (WARN_ON() goes on) this is not: a
 * warning ends the program, because in a test it is a failure.
 */
#ifndef MROCE_SHIM_H
#define MROCE_SHIM_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* -- types ---------------------------------------------------------------- */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;

typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;
typedef u16 __le16;
typedef u32 __le32;
typedef u64 __le64;

typedef unsigned int gfp_t;

#define U8_MAX		((u8)~0U)
#define U16_MAX		((u16)~0U)
#define U32_MAX		((u32)~0U)
#define U64_MAX		((u64)~0ULL)
#define S8_MAX		((s8)(U8_MAX >> 1))
#define S16_MAX		((s16)(U16_MAX >> 1))
#define S32_MAX		((s32)(U32_MAX >> 1))
#define S64_MAX		((s64)(U64_MAX >> 1))
#define S32_MIN		((s32)(-S32_MAX - 1))
#define S64_MIN		((s64)(-S64_MAX - 1))

#define NSEC_PER_USEC	1000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_SEC	1000000000L
#define USEC_PER_MSEC	1000L
#define USEC_PER_SEC	1000000L
#define MSEC_PER_SEC	1000L

/* -- compiler ------------------------------------------------------------- */

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#ifndef __always_inline
#define __always_inline		inline __attribute__((always_inline))
#endif
#ifndef __must_check
#define __must_check		__attribute__((warn_unused_result))
#endif
#define noinline		__attribute__((noinline))
#define __maybe_unused		__attribute__((unused))
#define __always_unused		__attribute__((unused))
#define __used			__attribute__((used))
#define __packed		__attribute__((packed))
#define __aligned(x)		__attribute__((aligned(x)))
#define __printf(a, b)		__attribute__((format(printf, a, b)))
#define __pure			__attribute__((pure))
#define __cold			__attribute__((cold))
#define __counted_by(x)
#define __force
#define __user
#define __rcu
#define __init
#define __exit
#define __acquires(x)
#define __releases(x)
#define __must_hold(x)
#define fallthrough		__attribute__((fallthrough))
#define barrier()		__asm__ __volatile__("" ::: "memory")

#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile typeof(x) *)&(x) = (v))

/* One thread. */
typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;

static inline int atomic_read(const atomic_t *v) { return v->counter; }
static inline void atomic_inc(atomic_t *v) { v->counter++; }
static inline void atomic_dec(atomic_t *v) { v->counter--; }
static inline s64 atomic64_read(const atomic64_t *v) { return v->counter; }
static inline void atomic64_add(s64 i, atomic64_t *v) { v->counter += i; }

static inline s64 atomic64_xchg(atomic64_t *v, s64 to)
{
	s64 old = v->counter;

	v->counter = to;
	return old;
}

static inline s64 atomic64_cmpxchg(atomic64_t *v, s64 from, s64 to)
{
	s64 old = v->counter;

	if (old == from)
		v->counter = to;
	return old;
}

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define sizeof_field(t, m)	sizeof(((t *)0)->m)
#define offsetofend(t, m)	(offsetof(t, m) + sizeof_field(t, m))
#define container_of(ptr, type, member)					\
	((type *)((char *)(ptr) - offsetof(type, member)))
#define struct_size(p, member, n)					\
	(sizeof(*(p)) + sizeof((p)->member[0]) * (size_t)(n))
#define struct_group(name, ...)						\
	union { struct { __VA_ARGS__ }; struct { __VA_ARGS__ } name; }

#define MROCE_SHIM_CAT_(a, b)	a##b
#define MROCE_SHIM_CAT(a, b)	MROCE_SHIM_CAT_(a, b)
#define __UNIQUE_ID(prefix)	MROCE_SHIM_CAT(mroce_uid_##prefix, __COUNTER__)
#define __stringify_1(x...)	#x
#define __stringify(x...)	__stringify_1(x)

#undef static_assert
#define static_assert(e, ...)	_Static_assert(e, #e)
#define BUILD_BUG_ON(e)		_Static_assert(!(e), #e)
#define BUILD_BUG_ON_MSG(e, m)	_Static_assert(!(e), m)

/* -- things that must not happen ------------------------------------------ */

void mroce_shim_warn(const char *file, int line, const char *what)
	__attribute__((noreturn, cold));

#define WARN_ON(c) ({							\
	bool warn_cond_ = !!(c);					\
	if (unlikely(warn_cond_))					\
		mroce_shim_warn(__FILE__, __LINE__, #c);		\
	warn_cond_;							\
})
#define WARN_ON_ONCE(c)		WARN_ON(c)
#define WARN(c, fmt...)		WARN_ON(c)
#define WARN_ONCE(c, fmt...)	WARN_ON(c)
#define BUG_ON(c)		((void)WARN_ON(c))
#define BUG()			BUG_ON(true)

/* -- numbers -------------------------------------------------------------- */

/* As in 6.1: both sides of the same type, or the compiler complains. */
#define MROCE_SHIM_PICK(a, b, op) ({					\
	typeof(a) pick_a_ = (a);					\
	typeof(b) pick_b_ = (b);					\
	(void)(&pick_a_ == &pick_b_);					\
	pick_a_ op pick_b_ ? pick_a_ : pick_b_;				\
})
#define MROCE_SHIM_PICK_T(t, a, b, op) ({				\
	t pick_ta_ = (a);						\
	t pick_tb_ = (b);						\
	pick_ta_ op pick_tb_ ? pick_ta_ : pick_tb_;			\
})
#undef min
#undef max
#define min(a, b)		MROCE_SHIM_PICK(a, b, <)
#define max(a, b)		MROCE_SHIM_PICK(a, b, >)
#define min_t(t, a, b)		MROCE_SHIM_PICK_T(t, a, b, <)
#define max_t(t, a, b)		MROCE_SHIM_PICK_T(t, a, b, >)
#define min3(a, b, c) ({						\
	typeof(a) min3_ab_ = min(a, b);					\
	min(min3_ab_, c);						\
})
#define max3(a, b, c) ({						\
	typeof(a) max3_ab_ = max(a, b);					\
	max(max3_ab_, c);						\
})
#define clamp(v, lo, hi) ({						\
	typeof(v) clamp_v_ = max(v, lo);				\
	min(clamp_v_, hi);						\
})
#define clamp_t(t, v, lo, hi) ({					\
	t clamp_tv_ = max_t(t, v, lo);					\
	min_t(t, clamp_tv_, hi);					\
})
#define swap(a, b) do {							\
	typeof(a) swap_tmp_ = (a);					\
	(a) = (b);							\
	(b) = swap_tmp_;						\
} while (0)
#define abs(x) ({							\
	typeof(x) abs_x_ = (x);						\
	abs_x_ < 0 ? -abs_x_ : abs_x_;					\
})

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK(h, l)							\
	((~0UL >> (BITS_PER_LONG - 1 - (h))) & (~0UL << (l)))
#define GENMASK_ULL(h, l)						\
	((~0ULL >> (63 - (h))) & (~0ULL << (l)))
#define lower_32_bits(n)	((u32)(n))
#define upper_32_bits(n)	((u32)(((u64)(n)) >> 32))

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d)	(((u64)(n) + (d) - 1) / (d))
#define DIV_ROUND_CLOSEST(n, d)	(((n) + (d) / 2) / (d))
#define DIV_ROUND_CLOSEST_ULL(n, d)	(((u64)(n) + (d) / 2) / (d))
#define roundup(x, y)		((((x) + (y) - 1) / (y)) * (y))
#define rounddown(x, y)		((x) - (x) % (y))
#define round_up(x, y)		((((x) - 1) | ((typeof(x))(y) - 1)) + 1)
#define round_down(x, y)	((x) & ~((typeof(x))(y) - 1))
#define ALIGN(x, a)		round_up(x, a)
#define IS_ALIGNED(x, a)	(((x) & ((typeof(x))(a) - 1)) == 0)

static inline unsigned int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static inline unsigned int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline unsigned long __ffs(unsigned long x)
{
	return __builtin_ctzl(x);
}

static inline unsigned long __fls(unsigned long x)
{
	return 8 * sizeof(long) - 1 - __builtin_clzl(x);
}

static inline unsigned int __ffs64(u64 x)
{
	return __builtin_ctzll(x);
}

#define ffz(x)			__ffs(~(x))
#define hweight8(x)		((unsigned int)__builtin_popcount((u8)(x)))
#define hweight16(x)		((unsigned int)__builtin_popcount((u16)(x)))
#define hweight32(x)		((unsigned int)__builtin_popcount(x))
#define hweight64(x)		((unsigned long)__builtin_popcountll(x))
#define hweight_long(x)		((unsigned long)__builtin_popcountl(x))

/* Macros, so that constants stay constant expressions. */
#define ilog2(x)		((int)(63 - __builtin_clzll((u64)(x))))
#define is_power_of_2(x)	((x) != 0 && ((x) & ((x) - 1)) == 0)
#define roundup_pow_of_two(x)						\
	((x) <= 1 ? 1UL : 1UL << (64 - __builtin_clzll((u64)(x) - 1)))
#define rounddown_pow_of_two(x)	(1UL << ilog2(x))

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline s64 div_s64(s64 a, s32 b)
{
	return a / b;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline s64 div64_s64(s64 a, s64 b)
{
	return a / b;
}

#define div64_ul(a, b)		div64_u64(a, b)

static inline u64 div_u64_rem(u64 a, u32 b, u32 *rem)
{
	*rem = a % b;
	return a / b;
}

static inline u64 div64_u64_rem(u64 a, u64 b, u64 *rem)
{
	*rem = a % b;
	return a / b;
}

static inline u64 mul_u32_u32(u32 a, u32 b)
{
	return (u64)a * b;
}

static inline u64 mul_u64_u32_shr(u64 a, u32 mul, unsigned int shift)
{
	return (u64)(((__uint128_t)a * mul) >> shift);
}

static inline u64 mul_u64_u64_shr(u64 a, u64 mul, unsigned int shift)
{
	return (u64)(((__uint128_t)a * mul) >> shift);
}

static inline u64 mul_u64_u32_div(u64 a, u32 mul, u32 div)
{
	return (u64)((__uint128_t)a * mul / div);
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 mul, u64 div)
{
	return (u64)((__uint128_t)a * mul / div);
}

/* An lvalue variant only: the division happens in place. */
#define do_div(n, base) ({						\
	u32 do_div_base_ = (base);					\
	u32 do_div_rem_ = (n) % do_div_base_;				\
	(n) /= do_div_base_;						\
	do_div_rem_;							\
})

#define check_add_overflow(a, b, d)	__builtin_add_overflow(a, b, d)
#define check_sub_overflow(a, b, d)	__builtin_sub_overflow(a, b, d)
#define check_mul_overflow(a, b, d)	__builtin_mul_overflow(a, b, d)

/* -- byte order ----------------------------------------------------------- */

static inline u16 get_unaligned_be16(const void *p)
{
	const u8 *b = p;

	return (u16)(b[0] << 8 | b[1]);
}

static inline u32 get_unaligned_be32(const void *p)
{
	const u8 *b = p;

	return (u32)b[0] << 24 | (u32)b[1] << 16 | (u32)b[2] << 8 | b[3];
}

static inline u64 get_unaligned_be64(const void *p)
{
	return (u64)get_unaligned_be32(p) << 32 |
	       get_unaligned_be32((const u8 *)p + 4);
}

static inline void put_unaligned_be16(u16 v, void *p)
{
	u8 *b = p;

	b[0] = v >> 8;
	b[1] = v;
}

static inline void put_unaligned_be32(u32 v, void *p)
{
	put_unaligned_be16(v >> 16, p);
	put_unaligned_be16(v, (u8 *)p + 2);
}

static inline void put_unaligned_be64(u64 v, void *p)
{
	put_unaligned_be32(v >> 32, p);
	put_unaligned_be32((u32)v, (u8 *)p + 4);
}

#define cpu_to_be16(x)		__builtin_bswap16(x)
#define cpu_to_be32(x)		__builtin_bswap32(x)
#define cpu_to_be64(x)		__builtin_bswap64(x)
#define be16_to_cpu(x)		__builtin_bswap16(x)
#define be32_to_cpu(x)		__builtin_bswap32(x)
#define be64_to_cpu(x)		__builtin_bswap64(x)
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the shim is for little-endian hosts"
#endif

/* -- memory, chance, messages: mroce_shim.c ------------------------------- */

/**
 * mroce_zalloc - zeroed memory, or NULL when the test says so
 * @size: bytes
 *
 * Return: memory for mroce_free(), or NULL.
 */
void *mroce_zalloc(size_t size) __must_check;

/**
 * mroce_free - give memory of mroce_zalloc() back
 * @p: the memory, or NULL
 */
void mroce_free(const void *p);

static inline void *mroce_zalloc_big(size_t size)
{
	return mroce_zalloc(size);
}

static inline void mroce_free_big(const void *p)
{
	mroce_free(p);
}

/**
 * mroce_shim_fail_alloc - let allocations fail
 * @nth: 1 is the next one; 0 ends the injection
 * @count: how many fail from there on; 0 means all
 */
void mroce_shim_fail_alloc(unsigned long nth, unsigned long count);

/* If set, asked for each allocation first; true lets it fail. */
extern bool (*mroce_shim_alloc_hook)(size_t size);

/* If set, told of each event of core/events.h by its name. */
extern void (*mroce_shim_event_hook)(const char *event);

#define MROCE_TRACE_DECLARE(event)	struct mroce_no_##event
#define MROCE_TRACE(event, args...) do {				\
	if (mroce_shim_event_hook)					\
		mroce_shim_event_hook(#event);				\
	if (0)								\
		mroce_trace_##event(args);				\
} while (0)

/* Allocations asked for so far, and those not given back. */
unsigned long mroce_shim_allocs(void);
long mroce_shim_live_allocs(void);

/**
 * mroce_shim_seed - start the pseudo-random sequence anew
 * @seed: equal seeds give equal runs
 */
void mroce_shim_seed(u64 seed);
u32 mroce_random_u32(void);

#define GFP_ATOMIC		0
#define GFP_KERNEL		0
#define __GFP_NOWARN		0
#define kzalloc(size, gfp)	mroce_zalloc(size)
#define kmalloc(size, gfp)	mroce_zalloc(size)
#define kcalloc(n, size, gfp)	mroce_zalloc((size_t)(n) * (size))
#define kfree(p)		mroce_free(p)
#define get_random_u32()	mroce_random_u32()

#define pr_debug(fmt, ...) do {						\
	if (0)								\
		printf(fmt, ##__VA_ARGS__);				\
} while (0)
#define pr_info(fmt, ...)	fprintf(stderr, fmt, ##__VA_ARGS__)
#define scnprintf(buf, size, fmt, ...) ({				\
	int scn_n_ = snprintf(buf, size, fmt, ##__VA_ARGS__);		\
	scn_n_ < (int)(size) ? scn_n_ : (int)(size) - 1;		\
})

static inline ssize_t strscpy(char *dst, const char *src, size_t size)
{
	size_t len = strnlen(src, size);

	if (!size)
		return -E2BIG;
	if (len == size) {
		memcpy(dst, src, size - 1);
		dst[size - 1] = 0;
		return -E2BIG;
	}
	memcpy(dst, src, len + 1);
	return len;
}

static inline void *memchr_inv(const void *p, int c, size_t n)
{
	const u8 *b = p;

	for (; n; b++, n--)
		if (*b != (u8)c)
			return (void *)b;
	return NULL;
}

#define EXPORT_SYMBOL(s)
#define EXPORT_SYMBOL_GPL(s)

#include "mroce_shim_bitmap.h"
#include "mroce_shim_list.h"

#endif /* MROCE_SHIM_H */
