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
 * The pages have no reference. They are ours until the mm says that they go
 * (odp_invalidate()), and who touches one does so between mroce_mr_begin() and
 * mroce_mr_end(), which count in mr->users. An invalidation
 * 1. raises o->blocked: who begins after that finds no page at all,
 * 2. waits until those who began before have ended: each of them copies less
 *    than a packet, with BH and preemption off,
 * 3. forgets the pages, and lowers o->blocked.
 * Pages enter the array under the umem's mutex, after the check that no
 * invalidation came in between; they need no waiting.
 */
#include <linux/bitmap.h>
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "qp.h"

#if defined(CONFIG_INFINIBAND_ON_DEMAND_PAGING) && defined(MROCE_ODP)

#define ODP_WRITABLE	1UL		/* beside the page's address */
#define ODP_BAD		2UL		/* no page: it cannot be had */
#define ODP_MAX_PAGES	BIT(27)		/* of a region */
#define ODP_AHEAD	1024		/* pages looked at for one message */
#define ODP_BATCH	256		/* pages faulted in at a time */

struct mroce_odp {
	struct mroce_mr *mr;
	struct ib_umem_odp *umem;
	unsigned long *page;		/* struct page, flags; 0: missing */
	size_t n;
	unsigned long *want[2];		/* bits: to be brought in; [1] to write */
	atomic_t blocked;		/* invalidations under way */
	struct work_struct work;
};

static struct page *page_of(unsigned long v)
{
	return (struct page *)(v & ~(ODP_WRITABLE | ODP_BAD));
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

static int map_pages(struct mroce_odp *o, size_t first, size_t n, bool write,
		     bool fault)
{
	struct ib_umem_odp *u = o->umem;
	u64 va = ib_umem_start(u) + ((u64)first << PAGE_SHIFT);
	unsigned long pfn, v, come = 0;
	size_t i;
	int ret;

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
		v = (unsigned long)hmm_pfn_to_page(pfn);
		if (pfn & HMM_PFN_WRITE)
			v |= ODP_WRITABLE;
		come += v != READ_ONCE(o->page[i]);
		/* pairs with look() */
		smp_store_release(&o->page[i], v);
	}
	mutex_unlock(&u->umem_mutex);
	this_cpu_add(o->mr->dev->stats->cnt[MROCE_DCNT_ODP_PAGES], come);
	return 0;
}

/* The same; if not all can be had, those that can. */
static int fault_pages(struct mroce_odp *o, size_t first, size_t n, bool write)
{
	int err = map_pages(o, first, n, write, true), ret = err;

	if (!err)
		return 0;
	if (n == 1) {
		/*
		 * Seen, and forgotten, by the next who wants it. Busy is who
		 * met one invalidation after the other: that ends.
		 */
		if (err != -EBUSY)
			cmpxchg(&o->page[first], 0, ODP_BAD);
		return err;
	}
	while (n--) {
		err = fault_pages(o, first++, 1, write);
		ret = err ?: ret;
	}
	return ret;
}

static void odp_work(struct work_struct *work)
{
	struct mroce_odp *o = container_of(work, struct mroce_odp, work);
	size_t i, j, k;
	int write;

	for (write = 1; write >= 0; write--) {
		unsigned long *want = o->want[write];

		for (i = 0; (i = find_next_bit(want, o->n, i)) < o->n; i = j) {
			j = find_next_zero_bit(want, min(o->n, i + ODP_BATCH),
					       i);
			for (k = i; k < j; k++)
				clear_bit(k, want);
			fault_pages(o, i, j - i, write);
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

/* True if the mark is new. */
static bool mark(struct mroce_odp *o, size_t i, bool write)
{
	return !test_bit(i, o->want[write]) &&
	       !test_and_set_bit(i, o->want[write]);
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

/**
 * mroce_odp_ahead - these bytes are going to be used
 * @mr: on-demand MR, referenced
 * @addr: address in the MR
 * @len: bytes, inside of it
 * @write: they will be written
 *
 * Starts to bring in what is missing of them. Any context.
 *
 * Return: 0, or -EFAULT if the last try has shown that they cannot be had;
 * the next one begins anew.
 */
int mroce_odp_ahead(struct mroce_mr *mr, u64 addr, u64 len, bool write)
{
	struct mroce_odp *o = mr->odp;
	bool queue = false;
	size_t i, end;
	int err = 0;

	i = pages_of(mr, addr, len, &end);
	end = min(end, i + ODP_AHEAD);
	for (; i < end; i++) {
		unsigned long v = look(o, i);

		if (likely(usable(v, write)))
			continue;
		if (v == ODP_BAD) {
			cmpxchg(&o->page[i], ODP_BAD, 0);
			err = -EFAULT;
			break;
		}
		queue |= mark(o, i, write);
	}
	if (queue)
		queue_fault(o);
	return err;
}

/**
 * mroce_odp_piece - mroce_mr_piece() of an on-demand MR
 * @mr: referenced and begun
 * @off: from the start of its first page
 * @n: bytes wanted; gets the bytes there
 * @write: they will be written
 *
 * Return: kernel address, or ERR_PTR: -EAGAIN if it is not there now.
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
	if (v == ODP_BAD)
		return ERR_PTR(-EFAULT);
	if (mark(o, i, write))
		queue_fault(o);
	return ERR_PTR(-EAGAIN);
}

/* ---- life --------------------------------------------------------------- */

/**
 * mroce_odp_free - let the memory go
 * @mr: without references
 *
 * Without references nobody begins, and nobody queues the work.
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
	kvfree(o->want[0]);
	kvfree(o->want[1]);
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

	/* all of the address space ("implicit") is too much as well */
	if (!length || length >> PAGE_SHIFT >= ODP_MAX_PAGES)
		return -EINVAL;
	o = kzalloc(sizeof(*o), GFP_KERNEL_ACCOUNT);
	if (!o)
		return -ENOMEM;
	o->mr = mr;
	INIT_WORK(&o->work, odp_work);
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
	o->want[0] = kvcalloc(BITS_TO_LONGS(o->n), sizeof(long), gfp);
	o->want[1] = kvcalloc(BITS_TO_LONGS(o->n), sizeof(long), gfp);
	if (!o->page || !o->want[0] || !o->want[1])
		return -ENOMEM;
	mutex_lock(&u->umem_mutex);
	u->private = o;
	mutex_unlock(&u->umem_mutex);
	return 0;
}

static bool mark_pages(struct mroce_odp *o, size_t i, size_t n, bool write)
{
	bool any = false;

	while (n--)
		any |= mark(o, i++, write);
	return any;
}

static int advise(struct mroce_mr *mr, u64 addr, u64 len,
		  enum ib_uverbs_advise_mr_advice advice, bool wait)
{
	bool fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
	bool write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	struct mroce_odp *o = mr->odp;
	bool queue = false;
	size_t i, end, n;
	int err = 0;

	i = pages_of(mr, addr, len, &end);
	for (; i < end && !err; i += n) {
		n = min_t(size_t, end - i, ODP_BATCH);
		/* what is there already takes no time */
		if (wait || !fault)
			err = map_pages(o, i, n, write, fault);
		else
			queue |= mark_pages(o, i, n, write);
		cond_resched();
	}
	if (queue)
		queue_fault(o);
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

#endif /* MROCE_ODP */
