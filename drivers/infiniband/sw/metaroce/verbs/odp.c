// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * On-demand paging: user MRs whose pages are not pinned.
 *
 * The data path runs in softirq and cannot fault. It reads o->page[], an array
 * of ours, and uses what is there; for what is missing it leaves a mark, queues
 * the MR's work, and the access is tried again later:
 *
 *   packet to be placed	dropped, as if it had not come: its sender's
 *				probes and time-outs bring it back
 *   payload to be sent		the transport asks again soon, as without memory
 *   what takes effect in order	stays at the head of the order
 *   result of an atomic	kept in the request until it can be stored
 *   datagram to be sent	stays at the head of the queue
 *
 * The last three have a queue pair that waits: mroce_odp_wait().
 *
 * A page that cannot be had is an error of the access, which somebody must be
 * told: who asks mroce_odp_ahead() before the next try. Only what an access has
 * stood before is remembered as bad, apart for reading and writing, for a short
 * while, and until it has been told: something may be mapped there later, and a
 * mapping that comes where nothing was is not announced by the mm.
 *
 * The pages have no reference. They are ours until the mm says that they go
 * (odp_invalidate()), and who touches one does so between mroce_mr_begin() and
 * mroce_mr_end(), which count in mr->users. An invalidation
 * 1. raises o->blocked: who begins after that finds no page at all,
 * 2. waits until those who began before have ended: each of them copies less
 *    than a packet, with BH and preemption off; who comes through a window
 *    counts in the window and in the MR,
 * 3. forgets the pages, and lowers o->blocked.
 * Pages enter the array under the umem's mutex, after the check that no
 * invalidation came in between; they need no waiting.
 */
#include <linux/bitmap.h>
#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "qp.h"

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING

#define ODP_WRITABLE	1UL		/* beside the page's address */
#define ODP_MAX_PAGES	BIT(27)		/* of a region */
#define ODP_AHEAD	1024		/* pages looked at for one message */
#define ODP_BATCH	256		/* pages faulted in at a time */
/* Longer than the time from one try of an access to the next, mostly. */
#define ODP_BAD_TIME	(2 * HZ)

/* A bit for each page. */
struct odp_bits {
	unsigned long *want;		/* to be brought in */
	unsigned long *need;		/* an access stands before it */
	unsigned long *bad;		/* it could not be had; see ->bad_at */
};

struct mroce_odp {
	struct mroce_mr *mr;
	struct ib_umem_odp *umem;
	unsigned long *page;		/* struct page, flag; 0: missing */
	size_t n;
	struct odp_bits bits[2];	/* to read, to write */
	unsigned long *all_bits;	/* memory of those */
	unsigned long bad_at;		/* jiffies, when the last became bad */
	unsigned int told;		/* how often somebody heard of a bad one */
	raw_spinlock_t lock;		/* leaf: sets bad; told, and clears bad */
	atomic_t blocked;		/* invalidations under way */
	struct work_struct work;
};

static struct page *page_of(unsigned long v)
{
	return (struct page *)(v & ~ODP_WRITABLE);
}

/* ---- queue pairs that wait ---------------------------------------------- */

/**
 * mroce_odp_wake - let those who wait try again
 * @dev: device
 */
void mroce_odp_wake(struct mroce_dev *dev)
{
	struct mroce_qp *qp, *tmp;

	llist_for_each_entry_safe(qp, tmp, llist_del_all(&dev->odp_waiters),
				  odp_wait) {
		clear_bit(MROCE_QP_ODP, &qp->bits);
		/* who waits from now on goes on the list again */
		smp_mb__after_atomic();
		mroce_qp_defer(qp);
		mroce_qp_put(qp);
	}
}

/**
 * mroce_odp_wait - do the queue pair's work again when pages have come
 * @qp: an access for it gave -EAGAIN
 *
 * Any context, any lock held. The work that was queued for the access may have
 * ended before we are on the list. So the first call only puts it there and has
 * it tried once more: what is missing then has a mark that is still to be served,
 * and who serves it looks at the list afterwards.
 */
void mroce_odp_wait(struct mroce_qp *qp)
{
	if (test_and_set_bit(MROCE_QP_ODP, &qp->bits))
		return;
	if (!refcount_inc_not_zero(&qp->x->ref))
		return;		/* being destroyed: nothing matters */
	llist_add(&qp->odp_wait, &qp->dev->odp_waiters);
	mroce_qp_defer(qp);
}

/* ---- bringing pages in -------------------------------------------------- */

/* Marks were made. The work wakes those who wait when it has served them. */
static void queue_fault(struct mroce_odp *o)
{
	queue_work(o->mr->dev->odp_wq, &o->work);
}

/*
 * Can the kernel touch it? Not secret memory, which has no place in the kernel's
 * mapping; and memory of devices must not be, it cannot be pinned either.
 */
static bool reachable(struct page *page)
{
	u8 byte;

	return !is_zone_device_page(page) &&
	       !copy_from_kernel_nofault(&byte, page_address(page), 1);
}

/* The umem's mutex held. */
static void map_page(struct mroce_odp *o, size_t i, unsigned long v)
{
	if (READ_ONCE(o->page[i]) != v)
		mroce_dev_count(o->mr->dev, MROCE_DCNT_ODP_PAGES);
	/* pairs with look() */
	smp_store_release(&o->page[i], v);
	clear_bit(i, o->bits[0].bad);
	if (v & ODP_WRITABLE)
		clear_bit(i, o->bits[1].bad);
}

static int map_pages(struct mroce_odp *o, size_t first, size_t n, bool write,
		     bool fault)
{
	struct ib_umem_odp *u = o->umem;
	u64 va = ib_umem_start(u) + ((u64)first << PAGE_SHIFT);
	unsigned long pfn, v;
	struct page *page;
	int ret, err = 0;
	size_t i;

	/* takes the umem's mutex if it succeeds */
	ret = ib_umem_odp_map_dma_and_lock(u, va, (u64)n << PAGE_SHIFT,
					   write ? MROCE_ODP_WRITE :
						   MROCE_ODP_READ, fault);
	if (ret < 0)
		return ret;
	for (i = first; i < first + n; i++) {
		pfn = mroce_odp_pfn(u, i);
		if (!(pfn & HMM_PFN_VALID))
			continue;
		page = hmm_pfn_to_page(pfn);
		if (!reachable(page)) {
			err = -EFAULT;
			continue;
		}
		v = (unsigned long)page;
		if (pfn & HMM_PFN_WRITE)
			v |= ODP_WRITABLE;
		map_page(o, i, v);
	}
	mutex_unlock(&u->umem_mutex);
	return err;
}

/* Beyond this time nobody is told any more. */
static bool bad_is_old(const struct mroce_odp *o)
{
	return time_after(jiffies, READ_ONCE(o->bad_at) + ODP_BAD_TIME);
}

/*
 * The work's alone. @told: as it was when the access stood before the page. If
 * somebody has heard of a bad page since, it may have been for this access, which
 * is over then; if it was for another, this one comes again.
 */
static void set_bad(struct mroce_odp *o, size_t i, bool write,
		    unsigned int told)
{
	unsigned long flags;

	/* what is old must not look new with it */
	if (bad_is_old(o)) {
		bitmap_zero(o->bits[0].bad, o->n);
		bitmap_zero(o->bits[1].bad, o->n);
		WRITE_ONCE(o->bad_at, jiffies);
	}
	raw_spin_lock_irqsave(&o->lock, flags);
	if (o->told == told) {
		WRITE_ONCE(o->bad_at, jiffies);
		set_bit(i, o->bits[write].bad);
	}
	raw_spin_unlock_irqrestore(&o->lock, flags);
}

/*
 * It is an error now, which ends the access: forget it for these pages, and what
 * still waits for its turn. If that was another's, it comes again.
 */
static void tell(struct mroce_odp *o, size_t i, size_t end, bool write)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&o->lock, flags);
	WRITE_ONCE(o->told, o->told + 1);
	for (; i < end; i++) {
		clear_bit(i, o->bits[write].need);
		clear_bit(i, o->bits[write].bad);
	}
	raw_spin_unlock_irqrestore(&o->lock, flags);
}

/* Bring pages in; if not all can be had, those that can. */
static void fault_pages(struct mroce_odp *o, size_t first, size_t n, bool write,
			const unsigned long *need, unsigned int told)
{
	size_t i;
	int err;

	if (!map_pages(o, first, n, write, true))
		return;
	for (i = 0; i < n; i++) {
		err = map_pages(o, first + i, 1, write, true);
		/*
		 * Busy is who met one invalidation after the other: that ends.
		 * Who did not stand before it hears nothing: it was a hint.
		 */
		if (err && err != -EBUSY && test_bit(i, need))
			set_bad(o, first + i, write, told);
		cond_resched();
	}
}

static void odp_work(struct work_struct *work)
{
	struct mroce_odp *o = container_of(work, struct mroce_odp, work);
	DECLARE_BITMAP(need, ODP_BATCH);
	unsigned int told;
	size_t i, j, k;
	int write;

	for (write = 1; write >= 0; write--) {
		struct odp_bits *b = &o->bits[write];

		for (i = 0; (i = find_next_bit(b->want, o->n, i)) < o->n;
		     i = j) {
			j = find_next_zero_bit(b->want,
					       min(o->n, i + ODP_BATCH), i);
			bitmap_zero(need, ODP_BATCH);
			told = READ_ONCE(o->told);
			for (k = i; k < j; k++) {
				clear_bit(k, b->want);
				/* orders the two; see stand_before() */
				if (test_and_clear_bit(k, b->need))
					__set_bit(k - i, need);
			}
			fault_pages(o, i, j - i, write, need, told);
			cond_resched();
		}
	}
	mroce_odp_wake(o->mr->dev);
}

/* ---- the mm takes pages back -------------------------------------------- */

static bool any_page(const struct mroce_odp *o, size_t i, size_t end)
{
	for (; i < end; i++)
		if (READ_ONCE(o->page[i]))
			return true;
	return false;
}

/* The umem's mutex held. Nobody touches the pages when this returns. */
static void drop_pages(struct mroce_odp *o, size_t i, size_t end)
{
	unsigned long v;

	if (!any_page(o, i, end))
		return;
	atomic_inc(&o->blocked);
	smp_mb__after_atomic();		/* pairs with mroce_mr_begin() */
	while (atomic_read(&o->mr->users))
		cpu_relax();
	smp_mb();			/* pairs with mroce_mr_end() */
	for (; i < end; i++) {
		v = READ_ONCE(o->page[i]);
		WRITE_ONCE(o->page[i], 0);
		/* written through the kernel's mapping, if at all */
		if (v & ODP_WRITABLE)
			set_page_dirty(compound_head(page_of(v)));
	}
	smp_mb__before_atomic();	/* pairs with look() */
	atomic_dec(&o->blocked);
	mroce_dev_count(o->mr->dev, MROCE_DCNT_ODP_INVAL);
}

static bool odp_invalidate(struct mmu_interval_notifier *mni,
			   const struct mmu_notifier_range *range,
			   unsigned long seq)
{
	struct ib_umem_odp *u = container_of(mni, struct ib_umem_odp, notifier);
	unsigned long start, end;
	struct mroce_odp *o;

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&u->umem_mutex);
	mmu_interval_set_seq(mni, seq);
	start = max(ib_umem_start(u), range->start);
	end = min(ib_umem_end(u), range->end);
	o = u->private;
	if (o)
		drop_pages(o, (start - ib_umem_start(u)) >> PAGE_SHIFT,
			   (end - ib_umem_start(u) + PAGE_SIZE - 1) >>
			   PAGE_SHIFT);
	ib_umem_odp_unmap_dma_pages(u, start, end);
	mutex_unlock(&u->umem_mutex);
	return true;
}

static const struct mmu_interval_notifier_ops odp_mn_ops = {
	.invalidate = odp_invalidate,
};

/* ---- access ------------------------------------------------------------- */

/* What there is of page @i. Acquire, for pages and for what they hold. */
static unsigned long look(const struct mroce_odp *o, size_t i)
{
	/* an invalidation that is past this has waited for our begin */
	if (atomic_read_acquire(&o->blocked))
		return 0;
	/* pairs with map_pages() */
	return smp_load_acquire(&o->page[i]);
}

static bool usable(unsigned long v, bool write)
{
	return page_of(v) && (!write || v & ODP_WRITABLE);
}

/* The pages [return value, @end) of bytes of an MR that are inside of it. */
static size_t pages_of(const struct mroce_mr *mr, u64 addr, u64 len,
		       size_t *end)
{
	u64 off = addr - mr->iova + mr->first_off;

	*end = len ? min_t(u64, mr->odp->n,
			   ((off + len - 1) >> PAGE_SHIFT) + 1) : 0;
	return off >> PAGE_SHIFT;
}

/* True if the mark is new: the work has to be queued. */
static bool mark(struct mroce_odp *o, size_t i, bool write)
{
	unsigned long *want = o->bits[write].want;

	return !test_bit(i, want) && !test_and_set_bit(i, want);
}

/* An access cannot go on without page @i. */
static void stand_before(struct mroce_odp *o, size_t i, bool write)
{
	set_bit(i, o->bits[write].need);
	/* pairs with odp_work(): who takes the mark finds the need */
	smp_mb__after_atomic();
	if (mark(o, i, write))
		queue_fault(o);
}

static bool is_bad(const struct mroce_odp *o, size_t i, bool write)
{
	return test_bit(i, o->bits[write].bad) && !bad_is_old(o);
}

/**
 * mroce_odp_ahead - these bytes are going to be used
 * @mr: on-demand MR that cannot go away
 * @addr: address in the MR
 * @len: bytes, inside of it
 * @write: they will be written
 *
 * Starts to bring in what is missing of them. Any context.
 *
 * Return: 0, or -EFAULT if an access has shown that they cannot be had. The
 * caller must make that known: the next who asks begins anew.
 */
int mroce_odp_ahead(struct mroce_mr *mr, u64 addr, u64 len, bool write)
{
	struct mroce_odp *o = mr->odp;
	size_t first, i, end;
	bool queue = false;

	first = pages_of(mr, addr, len, &end);
	end = min(end, first + ODP_AHEAD);
	for (i = first; i < end; i++) {
		if (likely(usable(look(o, i), write)))
			continue;
		if (is_bad(o, i, write))
			break;
		queue |= mark(o, i, write);
	}
	if (queue)
		queue_fault(o);
	if (i >= end)
		return 0;
	tell(o, first, end, write);
	return -EFAULT;
}

/**
 * mroce_odp_piece - mroce_mr_piece() of an on-demand MR
 * @mr: begun
 * @off: from the start of its first page
 * @n: bytes wanted; gets the bytes there
 * @write: they will be written
 *
 * Return: kernel address, or ERR_PTR: -EAGAIN if it is not there now; whether
 * it can ever be, mroce_odp_ahead() says before the next try.
 */
void *mroce_odp_piece(struct mroce_mr *mr, u64 off, u32 *n, bool write)
{
	struct mroce_odp *o = mr->odp;
	size_t i = off >> PAGE_SHIFT;
	u32 po = offset_in_page(off);
	unsigned long v;

	if (i >= o->n)
		return ERR_PTR(-EFAULT);
	v = look(o, i);
	if (likely(usable(v, write))) {
		*n = min_t(u32, *n, PAGE_SIZE - po);
		return page_address(page_of(v)) + po;
	}
	if (!is_bad(o, i, write))
		stand_before(o, i, write);
	return ERR_PTR(-EAGAIN);
}

/* ---- life --------------------------------------------------------------- */

/**
 * mroce_odp_free - let the memory go
 * @mr: without references
 *
 * Without references, and windows, nobody begins, and nobody queues the work.
 */
void mroce_odp_free(struct mroce_mr *mr)
{
	struct mroce_odp *o = mr->odp;

	if (!o)
		return;
	/* who waits for its pages learns that there is no such region */
	if (cancel_work_sync(&o->work))
		mroce_odp_wake(mr->dev);
	if (o->umem) {
		mutex_lock(&o->umem->umem_mutex);
		if (o->page)
			drop_pages(o, 0, o->n);
		o->umem->private = NULL;
		mutex_unlock(&o->umem->umem_mutex);
		ib_umem_odp_release(o->umem);
	}
	kvfree(o->page);
	kvfree(o->all_bits);
	kfree(o);
	mr->odp = NULL;
	mr->umem = NULL;
}

/**
 * mroce_odp_init - the memory of an on-demand MR
 * @mr: not published
 * @start: of the memory, in the process
 * @length: bytes
 * @access: IB_ACCESS_*
 *
 * Return: 0 or -errno; mroce_odp_free() in any case.
 */
int mroce_odp_init(struct mroce_mr *mr, u64 start, u64 length, int access)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;
	struct ib_umem_odp *u;
	struct mroce_odp *o;
	size_t words;
	int w;

	/* all of the address space ("implicit") is too much as well */
	if (!length || length >> PAGE_SHIFT >= ODP_MAX_PAGES)
		return -EINVAL;
	o = kzalloc(sizeof(*o), GFP_KERNEL_ACCOUNT);
	if (!o)
		return -ENOMEM;
	o->mr = mr;
	INIT_WORK(&o->work, odp_work);
	raw_spin_lock_init(&o->lock);
	mr->odp = o;
	/* huge pages are taken in pieces */
	u = ib_umem_odp_get(&mr->dev->ib_dev, start, length,
			    access & ~IB_ACCESS_HUGETLB, &odp_mn_ops);
	if (IS_ERR(u))
		return PTR_ERR(u);
	o->umem = u;
	mr->umem = &u->umem;
	o->n = ib_umem_odp_num_pages(u);
	o->page = kvcalloc(o->n, sizeof(*o->page), gfp);
	words = BITS_TO_LONGS(o->n);
	o->all_bits = kvcalloc(words, 6 * sizeof(long), gfp);
	if (!o->page || !o->all_bits)
		return -ENOMEM;
	for (w = 0; w < 2; w++) {
		o->bits[w].want = o->all_bits + 3 * w * words;
		o->bits[w].need = o->bits[w].want + words;
		o->bits[w].bad = o->bits[w].need + words;
	}
	mutex_lock(&u->umem_mutex);
	u->private = o;
	mutex_unlock(&u->umem_mutex);
	return 0;
}

static void mark_pages(struct mroce_odp *o, size_t i, size_t n, bool write)
{
	bool queue = false;

	while (n--)
		queue |= mark(o, i++, write);
	if (queue)
		queue_fault(o);
}

static int advise(struct mroce_mr *mr, u64 addr, u64 len,
		  enum ib_uverbs_advise_mr_advice advice, bool wait)
{
	bool fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
	bool write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	struct mroce_odp *o = mr->odp;
	size_t i, end, n;
	int err = 0;

	i = pages_of(mr, addr, len, &end);
	for (; i < end && !err; i += n) {
		n = min_t(size_t, end - i, ODP_BATCH);
		/* what is there already takes no time */
		if (wait || !fault)
			err = map_pages(o, i, n, write, fault);
		else
			mark_pages(o, i, n, write);
		cond_resched();
	}
	return err;
}

static int mroce_advise_mr(struct ib_pd *ibpd,
			   enum ib_uverbs_advise_mr_advice advice, u32 flags,
			   struct ib_sge *sge, u32 n,
			   struct uverbs_attr_bundle *attrs)
{
	bool write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	bool wait = flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH;
	struct mroce_mr *mr;
	int err = 0;
	u32 i;

	if (!write && advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	for (i = 0; i < n && !err; i++) {
		mr = mroce_mr_find(to_mdev(ibpd->device), ibpd, sge[i].lkey);
		if (!mr)
			return -ENOENT;
		/* held while it sleeps: deregistration waits for it */
		if (!mr->odp || (write && !(mr->access & IB_ACCESS_LOCAL_WRITE)))
			err = -EPERM;
		else if (!mroce_mr_in_range(mr, sge[i].addr, sge[i].length))
			err = -EFAULT;
		else
			err = advise(mr, sge[i].addr, sge[i].length, advice,
				     wait);
		mroce_mr_put(mr);
	}
	return err;
}

/* What of it a device says it has. Not: implicit, receives of datagrams. */
void mroce_odp_attr(struct ib_device_attr *attr)
{
	const u32 ud = IB_ODP_SUPPORT_SEND;
	const u32 uc = ud | IB_ODP_SUPPORT_RECV | IB_ODP_SUPPORT_SRQ_RECV |
		       IB_ODP_SUPPORT_WRITE;
	const u32 rc = uc | IB_ODP_SUPPORT_READ | IB_ODP_SUPPORT_ATOMIC;

	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	attr->odp_caps.general_caps = IB_ODP_SUPPORT;
	attr->odp_caps.per_transport_caps.rc_odp_caps = rc;
	attr->odp_caps.per_transport_caps.uc_odp_caps = uc;
	attr->odp_caps.per_transport_caps.ud_odp_caps = ud;
}

int mroce_odp_setup(struct mroce_dev *dev)
{
	init_llist_head(&dev->odp_waiters);
	/* peers keep sending what is dropped meanwhile: pages come first */
	dev->odp_wq = alloc_workqueue("metaroce_odp", WQ_UNBOUND | WQ_HIGHPRI,
				      0);
	return dev->odp_wq ? 0 : -ENOMEM;
}

void mroce_odp_cleanup(struct mroce_dev *dev)
{
	destroy_workqueue(dev->odp_wq);
}

const struct ib_device_ops mroce_odp_ops = {
	.advise_mr = mroce_advise_mr,
};

#endif /* CONFIG_INFINIBAND_ON_DEMAND_PAGING */
