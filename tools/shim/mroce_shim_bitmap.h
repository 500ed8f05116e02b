/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bitmaps over unsigned long, as far as the transport uses them. Written for
 * plainness, not for speed.
 */
#ifndef MROCE_SHIM_BITMAP_H
#define MROCE_SHIM_BITMAP_H

#define BITS_PER_BYTE		8
#define BITS_PER_LONG		((int)(8 * sizeof(long)))
#define BITS_PER_LONG_LONG	64
#define BITS_TO_LONGS(n)	(((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define BIT_WORD(n)		((n) / BITS_PER_LONG)
#define BIT_MASK(n)		(1UL << ((n) % BITS_PER_LONG))
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]

static inline bool test_bit(unsigned long n, const unsigned long *map)
{
	return map[BIT_WORD(n)] & BIT_MASK(n);
}

static inline void __set_bit(unsigned long n, unsigned long *map)
{
	map[BIT_WORD(n)] |= BIT_MASK(n);
}

static inline void __clear_bit(unsigned long n, unsigned long *map)
{
	map[BIT_WORD(n)] &= ~BIT_MASK(n);
}

static inline void __change_bit(unsigned long n, unsigned long *map)
{
	map[BIT_WORD(n)] ^= BIT_MASK(n);
}

static inline bool __test_and_set_bit(unsigned long n, unsigned long *map)
{
	bool old = test_bit(n, map);

	__set_bit(n, map);
	return old;
}

static inline bool __test_and_clear_bit(unsigned long n, unsigned long *map)
{
	bool old = test_bit(n, map);

	__clear_bit(n, map);
	return old;
}

static inline void __assign_bit(unsigned long n, unsigned long *map, bool v)
{
	if (v)
		__set_bit(n, map);
	else
		__clear_bit(n, map);
}

/* One thread per object here, so the atomic ones need not be. */
#define set_bit(n, map)			__set_bit(n, map)
#define clear_bit(n, map)		__clear_bit(n, map)
#define assign_bit(n, map, v)		__assign_bit(n, map, v)
#define test_and_set_bit(n, map)	__test_and_set_bit(n, map)
#define test_and_clear_bit(n, map)	__test_and_clear_bit(n, map)

/* The first bit >= @from that is @want, or @size. */
static inline unsigned long mroce_shim_find(const unsigned long *map,
					    unsigned long size,
					    unsigned long from, bool want)
{
	unsigned long n = from;

	while (n < size) {
		unsigned long w = map[BIT_WORD(n)];

		if (!want)
			w = ~w;
		w >>= n % BITS_PER_LONG;
		if (w) {
			n += __builtin_ctzl(w);
			return n < size ? n : size;
		}
		n += BITS_PER_LONG - n % BITS_PER_LONG;
	}
	return size;
}

#define find_first_bit(map, size)		mroce_shim_find(map, size, 0, true)
#define find_next_bit(map, size, from)		mroce_shim_find(map, size, from, true)
#define find_first_zero_bit(map, size)		mroce_shim_find(map, size, 0, false)
#define find_next_zero_bit(map, size, from)	mroce_shim_find(map, size, from, false)

static inline unsigned long find_last_bit(const unsigned long *map,
					  unsigned long size)
{
	unsigned long n = size;

	while (n--)
		if (test_bit(n, map))
			return n;
	return size;
}

#define for_each_set_bit(bit, map, size)				\
	for ((bit) = find_first_bit(map, size); (bit) < (size);		\
	     (bit) = find_next_bit(map, size, (bit) + 1))
#define for_each_set_bit_from(bit, map, size)				\
	for ((bit) = find_next_bit(map, size, bit); (bit) < (size);	\
	     (bit) = find_next_bit(map, size, (bit) + 1))
#define for_each_clear_bit(bit, map, size)				\
	for ((bit) = find_first_zero_bit(map, size); (bit) < (size);	\
	     (bit) = find_next_zero_bit(map, size, (bit) + 1))

static inline void bitmap_zero(unsigned long *map, unsigned int bits)
{
	memset(map, 0, BITS_TO_LONGS(bits) * sizeof(long));
}

static inline void bitmap_fill(unsigned long *map, unsigned int bits)
{
	memset(map, 0xff, BITS_TO_LONGS(bits) * sizeof(long));
}

static inline void bitmap_copy(unsigned long *dst, const unsigned long *src,
			       unsigned int bits)
{
	memcpy(dst, src, BITS_TO_LONGS(bits) * sizeof(long));
}

static inline void bitmap_set(unsigned long *map, unsigned int start,
			      unsigned int n)
{
	while (n--)
		__set_bit(start++, map);
}

static inline void bitmap_clear(unsigned long *map, unsigned int start,
				unsigned int n)
{
	while (n--)
		__clear_bit(start++, map);
}

static inline bool bitmap_empty(const unsigned long *map, unsigned int bits)
{
	return find_first_bit(map, bits) == bits;
}

static inline bool bitmap_full(const unsigned long *map, unsigned int bits)
{
	return find_first_zero_bit(map, bits) == bits;
}

static inline unsigned int bitmap_weight(const unsigned long *map,
					 unsigned int bits)
{
	unsigned int sum = 0;
	unsigned int n = 0;

	for (; n + BITS_PER_LONG <= bits; n += BITS_PER_LONG)
		sum += __builtin_popcountl(map[BIT_WORD(n)]);
	for (; n < bits; n++)
		sum += test_bit(n, map);
	return sum;
}

static inline bool bitmap_equal(const unsigned long *a, const unsigned long *b,
				unsigned int bits)
{
	unsigned int n;

	for (n = 0; n < bits; n++)
		if (test_bit(n, a) != test_bit(n, b))
			return false;
	return true;
}

static inline bool bitmap_intersects(const unsigned long *a,
				     const unsigned long *b, unsigned int bits)
{
	unsigned int n = 0;

	for (; n + BITS_PER_LONG <= bits; n += BITS_PER_LONG)
		if (a[BIT_WORD(n)] & b[BIT_WORD(n)])
			return true;
	for (; n < bits; n++)
		if (test_bit(n, a) && test_bit(n, b))
			return true;
	return false;
}

static inline bool bitmap_subset(const unsigned long *a, const unsigned long *b,
				 unsigned int bits)
{
	unsigned int n;

	for (n = 0; n < bits; n++)
		if (test_bit(n, a) && !test_bit(n, b))
			return false;
	return true;
}

static inline void bitmap_or(unsigned long *dst, const unsigned long *a,
			     const unsigned long *b, unsigned int bits)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(bits); i++)
		dst[i] = a[i] | b[i];
}

/* Like the kernel's: true if anything is left within @bits. */
static inline bool bitmap_and(unsigned long *dst, const unsigned long *a,
			      const unsigned long *b, unsigned int bits)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(bits); i++)
		dst[i] = a[i] & b[i];
	return !bitmap_empty(dst, bits);
}

static inline bool bitmap_andnot(unsigned long *dst, const unsigned long *a,
				 const unsigned long *b, unsigned int bits)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(bits); i++)
		dst[i] = a[i] & ~b[i];
	return !bitmap_empty(dst, bits);
}

/* Towards bit 0; ascending order makes it safe in place. */
static inline void bitmap_shift_right(unsigned long *dst,
				      const unsigned long *src,
				      unsigned int shift, unsigned int bits)
{
	unsigned int n;

	for (n = 0; n < bits; n++)
		__assign_bit(n, dst, shift < bits - n &&
			     test_bit(n + shift, src));
}

static inline void bitmap_shift_left(unsigned long *dst,
				     const unsigned long *src,
				     unsigned int shift, unsigned int bits)
{
	unsigned int n = bits;

	while (n--)
		__assign_bit(n, dst, n >= shift && test_bit(n - shift, src));
}

static inline void bitmap_from_arr64(unsigned long *map, const u64 *buf,
				     unsigned int bits)
{
	unsigned int n;

	bitmap_zero(map, bits);
	for (n = 0; n < bits; n++)
		if (buf[n / 64] >> (n % 64) & 1)
			__set_bit(n, map);
}

static inline void bitmap_to_arr64(u64 *buf, const unsigned long *map,
				   unsigned int bits)
{
	unsigned int n;

	memset(buf, 0, (bits + 63) / 64 * sizeof(u64));
	for (n = 0; n < bits; n++)
		if (test_bit(n, map))
			buf[n / 64] |= 1ULL << (n % 64);
}

#endif /* MROCE_SHIM_BITMAP_H */
