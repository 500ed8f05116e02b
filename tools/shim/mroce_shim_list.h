/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Circular doubly linked lists and hash chains with the kernel's names. A
 * removed entry is poisoned, so that a second removal faults.
 */
#ifndef MROCE_SHIM_LIST_H
#define MROCE_SHIM_LIST_H

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

#define MROCE_SHIM_POISON	((void *)0x6d726f6300ULL)

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *h)
{
	h->prev = h;
	h->next = h;
}

/* Make @a and @b neighbours. */
static inline void mroce_shim_link(struct list_head *a, struct list_head *b)
{
	a->next = b;
	b->prev = a;
}

static inline void list_add(struct list_head *e, struct list_head *h)
{
	mroce_shim_link(e, h->next);
	mroce_shim_link(h, e);
}

static inline void list_add_tail(struct list_head *e, struct list_head *h)
{
	mroce_shim_link(h->prev, e);
	mroce_shim_link(e, h);
}

static inline void list_del(struct list_head *e)
{
	mroce_shim_link(e->prev, e->next);
	e->next = MROCE_SHIM_POISON;
	e->prev = MROCE_SHIM_POISON;
}

static inline void list_del_init(struct list_head *e)
{
	mroce_shim_link(e->prev, e->next);
	INIT_LIST_HEAD(e);
}

static inline bool list_empty(const struct list_head *h)
{
	return h->next == h;
}

static inline bool list_is_singular(const struct list_head *h)
{
	return h->next != h && h->next == h->prev;
}

static inline bool list_is_first(const struct list_head *e,
				 const struct list_head *h)
{
	return h->next == e;
}

static inline bool list_is_last(const struct list_head *e,
				const struct list_head *h)
{
	return h->prev == e;
}

static inline bool list_is_head(const struct list_head *e,
				const struct list_head *h)
{
	return e == h;
}

static inline void list_move(struct list_head *e, struct list_head *h)
{
	mroce_shim_link(e->prev, e->next);
	list_add(e, h);
}

static inline void list_move_tail(struct list_head *e, struct list_head *h)
{
	mroce_shim_link(e->prev, e->next);
	list_add_tail(e, h);
}

static inline void list_replace(struct list_head *old, struct list_head *e)
{
	mroce_shim_link(e, old->next);
	mroce_shim_link(old->prev, e);
}

static inline void list_rotate_left(struct list_head *h)
{
	if (!list_empty(h))
		list_move_tail(h->next, h);
}

static inline void list_splice_init(struct list_head *from,
				    struct list_head *h)
{
	if (list_empty(from))
		return;
	mroce_shim_link(from->prev, h->next);
	mroce_shim_link(h, from->next);
	INIT_LIST_HEAD(from);
}

static inline void list_splice_tail_init(struct list_head *from,
					 struct list_head *h)
{
	if (list_empty(from))
		return;
	mroce_shim_link(h->prev, from->next);
	mroce_shim_link(from->prev, h);
	INIT_LIST_HEAD(from);
}

#define list_splice(from, h)		list_splice_init(from, h)
#define list_splice_tail(from, h)	list_splice_tail_init(from, h)

static inline size_t list_count_nodes(struct list_head *h)
{
	struct list_head *e;
	size_t n = 0;

	for (e = h->next; e != h; e = e->next)
		n++;
	return n;
}

#define list_entry(p, type, member)		container_of(p, type, member)
#define list_first_entry(h, type, member)	list_entry((h)->next, type, member)
#define list_last_entry(h, type, member)	list_entry((h)->prev, type, member)
#define list_first_entry_or_null(h, type, member)			\
	(list_empty(h) ? NULL : list_first_entry(h, type, member))
#define list_last_entry_or_null(h, type, member)			\
	(list_empty(h) ? NULL : list_last_entry(h, type, member))
#define list_next_entry(p, member)					\
	list_entry((p)->member.next, typeof(*(p)), member)
#define list_prev_entry(p, member)					\
	list_entry((p)->member.prev, typeof(*(p)), member)
#define list_entry_is_head(p, h, member)	(&(p)->member == (h))

#define list_for_each(e, h)						\
	for ((e) = (h)->next; (e) != (h); (e) = (e)->next)
#define list_for_each_safe(e, n, h)					\
	for ((e) = (h)->next, (n) = (e)->next; (e) != (h);		\
	     (e) = (n), (n) = (e)->next)
#define list_for_each_entry(p, h, member)				\
	for ((p) = list_first_entry(h, typeof(*(p)), member);		\
	     !list_entry_is_head(p, h, member);				\
	     (p) = list_next_entry(p, member))
#define list_for_each_entry_reverse(p, h, member)			\
	for ((p) = list_last_entry(h, typeof(*(p)), member);		\
	     !list_entry_is_head(p, h, member);				\
	     (p) = list_prev_entry(p, member))
#define list_for_each_entry_continue(p, h, member)			\
	for ((p) = list_next_entry(p, member);				\
	     !list_entry_is_head(p, h, member);				\
	     (p) = list_next_entry(p, member))
#define list_for_each_entry_from(p, h, member)				\
	for (; !list_entry_is_head(p, h, member);			\
	     (p) = list_next_entry(p, member))
#define list_for_each_entry_safe(p, n, h, member)			\
	for ((p) = list_first_entry(h, typeof(*(p)), member),		\
	     (n) = list_next_entry(p, member);				\
	     !list_entry_is_head(p, h, member);				\
	     (p) = (n), (n) = list_next_entry(n, member))
#define list_for_each_entry_safe_reverse(p, n, h, member)		\
	for ((p) = list_last_entry(h, typeof(*(p)), member),		\
	     (n) = list_prev_entry(p, member);				\
	     !list_entry_is_head(p, h, member);				\
	     (p) = (n), (n) = list_prev_entry(n, member))

#define HLIST_HEAD_INIT		{ .first = NULL }
#define HLIST_HEAD(name)	struct hlist_head name = HLIST_HEAD_INIT
#define INIT_HLIST_HEAD(h)	((h)->first = NULL)

static inline void INIT_HLIST_NODE(struct hlist_node *n)
{
	n->next = NULL;
	n->pprev = NULL;
}

static inline bool hlist_unhashed(const struct hlist_node *n)
{
	return !n->pprev;
}

static inline bool hlist_empty(const struct hlist_head *h)
{
	return !h->first;
}

/* Put @n where *@at points now. */
static inline void mroce_shim_hlink(struct hlist_node *n,
				    struct hlist_node **at)
{
	n->next = *at;
	if (n->next)
		n->next->pprev = &n->next;
	n->pprev = at;
	*at = n;
}

static inline void hlist_add_head(struct hlist_node *n, struct hlist_head *h)
{
	mroce_shim_hlink(n, &h->first);
}

static inline void hlist_add_behind(struct hlist_node *n,
				    struct hlist_node *prev)
{
	mroce_shim_hlink(n, &prev->next);
}

static inline void hlist_add_before(struct hlist_node *n,
				    struct hlist_node *next)
{
	mroce_shim_hlink(n, next->pprev);
}

static inline void hlist_del_init(struct hlist_node *n)
{
	if (hlist_unhashed(n))
		return;
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
	INIT_HLIST_NODE(n);
}

static inline void hlist_del(struct hlist_node *n)
{
	hlist_del_init(n);
	n->next = MROCE_SHIM_POISON;
	n->pprev = MROCE_SHIM_POISON;
}

#define hlist_entry(p, type, member)	container_of(p, type, member)
#define hlist_entry_safe(p, type, member) ({				\
	typeof(p) hlist_p_ = (p);					\
	hlist_p_ ? hlist_entry(hlist_p_, type, member) : NULL;		\
})
#define hlist_for_each_entry(p, h, member)				\
	for ((p) = hlist_entry_safe((h)->first, typeof(*(p)), member);	\
	     (p);							\
	     (p) = hlist_entry_safe((p)->member.next, typeof(*(p)), member))
#define hlist_for_each_entry_safe(p, n, h, member)			\
	for ((p) = hlist_entry_safe((h)->first, typeof(*(p)), member);	\
	     (p) && ({ (n) = (p)->member.next; true; });		\
	     (p) = hlist_entry_safe(n, typeof(*(p)), member))

#endif /* MROCE_SHIM_LIST_H */
