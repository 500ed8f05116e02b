// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory regions: registration, keys, and access through them.
 *
 * A key is an index into dev->mrs and a byte that differs from one owner of
 * the index to the next. Look-ups are under RCU and take a reference.
 *
 *   user MR	 pages pinned by the core, kept in an array; on demand: odp.c
 *   fast-reg MR kernel addresses. map_mr_sg() fills a second array, REG_MR
 *		 makes it the live one: consumers map for the next use while
 *		 the old registration is still alive, and also register the
 *		 same mapping again.
 *   DMA MR	 all kernel addresses; ib_dma_map_*() of a device without DMA
 *		 gives those
 *   window	 of a part of a user MR; see mw.c
 *
 * mr->users counts who is touching memory through a fast-reg MR or a window
 * right now; or through an on-demand MR or a window of one, see odp.c.
 * Invalidation first kills the key, then waits for those; each of them is a copy
 * of less than a packet with BH and preemption off. Nothing in between may take
 * a lock that sleeps on PREEMPT_RT: no memory is allocated or freed there.
 */
#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/overflow.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "verbs.h"

#define MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | MROCE_REMOTE |	\
			 IB_ACCESS_MW_BIND | IB_ZERO_BASED |	\
			 IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL |	\
			 MROCE_ACCESS_ODP)

#define MR_WRITE	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_ATOMIC)

/* The low byte of keys, so that a stale one does not fit the next owner. */
static atomic_t mr_key_byte = ATOMIC_INIT(0);

/* ---- life --------------------------------------------------------------- */

static atomic_t *mr_counter(struct mroce_dev *dev, u8 type)
{
	return type == MROCE_MR_WINDOW ? &dev->n_mw : &dev->n_mr;
}

/**
 * mroce_mr_alloc - memory of a region or window, with a key
 * @ibpd: its protection domain
 * @type: enum ib_mr_type or MROCE_MR_WINDOW
 *
 * The key leads nowhere before mroce_mr_publish(). May sleep.
 *
 * Return: zeroed but for the key and what holds it, or NULL.
 */
struct mroce_mr *mroce_mr_alloc(struct ib_pd *ibpd, u8 type)
{
	struct mroce_dev *dev = to_mdev(ibpd->device);
	struct mroce_mr *mr;
	u32 index;

	BUILD_BUG_ON(MROCE_MAX_MW != MROCE_MAX_MR);
	if (!mroce_count(mr_counter(dev, type), MROCE_MAX_MR))
		return NULL;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		goto err_count;
	if (xa_alloc_cyclic(&dev->mrs, &index, NULL, XA_LIMIT(1, 0xffffff),
			    &dev->next_mr, GFP_KERNEL) < 0)
		goto err_free;
	mr->dev = dev;
	mr->pd = container_of(ibpd, struct mroce_pd, ibpd);
	mr->type = type;
	mr->key = index << 8 | (u8)atomic_inc_return(&mr_key_byte);
	mr->ibmr.device = &dev->ib_dev;
	mr->ibmr.pd = ibpd;
	mr->ibmr.lkey = mr->key;
	mr->ibmr.rkey = mr->key;
	refcount_set(&mr->ref, 1);
	atomic_set(&mr->users, 0);
	spin_lock_init(&mr->lock);
	init_completion(&mr->gone);
	return mr;

err_free:
	kfree(mr);
err_count:
	atomic_dec(mr_counter(dev, type));
	return NULL;
}

/* mroce_mr_publish - let look-ups find it */
void mroce_mr_publish(struct mroce_mr *mr)
{
	/* The entry is reserved: storing needs no memory. */
	xa_store(&mr->dev->mrs, mr->key >> 8, mr, GFP_KERNEL);
}

/**
 * mroce_mr_free - free a region or window
 * @mr: off the table; nobody has a reference, or ever had one
 */
void mroce_mr_free(struct mroce_mr *mr)
{
	struct mroce_dev *dev = mr->dev;

	kvfree(mr->pages);
	kvfree(mr->kaddr);
	kvfree(mr->next);
	mroce_odp_free(mr);
	if (mr->umem)
		ib_umem_release(mr->umem);
	atomic_dec(mr_counter(dev, mr->type));
	/* Look-ups may still be reading the reference count. */
	kfree_rcu(mr, rcu);
}

/* Keep windows from being bound. False: some are. */
static bool mr_freeze(struct mroce_mr *mr)
{
	return !atomic_cmpxchg(&mr->windows, 0, -1);
}

static void mr_thaw(struct mroce_mr *mr)
{
	atomic_set_release(&mr->windows, 0);
}

void mroce_mr_put(struct mroce_mr *mr)
{
	if (refcount_dec_and_test(&mr->ref))
		complete(&mr->gone);
}

/*
 * 0. No window is bound to it, and none can be bound any more: what windows
 *    lead to needs no reference.
 * 1. Off the table: no look-up finds it any more.
 * 2. References are held for a packet or a copy, in softirq or with BH off,
 *    never until a peer answers: the wait ends by itself.
 * 3. The memory is released. Packets in a queue hold pages of their own.
 * 4. The object goes after a grace period, for look-ups under way.
 */
static int mroce_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct mroce_mr *mr = to_mmr(ibmr);

	if (!mr_freeze(mr))
		return -EBUSY;
	xa_erase(&mr->dev->mrs, mr->key >> 8);
	mroce_mr_put(mr);
	wait_for_completion(&mr->gone);
	mroce_mr_free(mr);
	return 0;
}

static struct ib_mr *mroce_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct mroce_mr *mr = mroce_mr_alloc(ibpd, IB_MR_TYPE_DMA);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->access = access;
	mr->length = U64_MAX;
	mr->state = MROCE_MR_VALID;
	mroce_mr_publish(mr);
	return &mr->ibmr;
}

/* Pages of a umem in an array; the core has merged neighbours. */
static int mr_fill_pages(struct mroce_mr *mr)
{
	struct sg_page_iter it;
	struct sg_table *sgt = &mr->umem->sgt_append.sgt;
	u32 n = 0;

	mr->n_pages = ib_umem_num_pages(mr->umem);
	mr->pages = kvmalloc_array(mr->n_pages, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT);
	if (!mr->pages)
		return -ENOMEM;
	for_each_sgtable_page(sgt, &it, 0) {
		if (n == mr->n_pages)
			break;
		mr->pages[n++] = sg_page_iter_page(&it);
	}
	return n == mr->n_pages ? 0 : -EINVAL;
}

static int mr_pin(struct mroce_mr *mr, u64 start, int access)
{
	mr->umem = mroce_umem_get(&mr->dev->ib_dev, start, mr->length, access);
	if (IS_ERR(mr->umem)) {
		int err = PTR_ERR(mr->umem);

		mr->umem = NULL;
		return err;
	}
	return mr_fill_pages(mr);
}

static struct ib_mr *mroce_reg_user_mr(struct ib_pd *ibpd, u64 start,
				       u64 length, u64 virt, int access,
				       MROCE_DMAH_PARAM struct ib_udata *udata)
{
	struct mroce_mr *mr;
	u64 end;
	int err;

	if (MROCE_DMAH_GIVEN || access & ~MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	err = ib_check_mr_access(ibpd->device, access);
	if (err)
		return ERR_PTR(err);
	if (access & IB_ZERO_BASED)
		virt = 0;
	if (check_add_overflow(virt, length, &end))
		return ERR_PTR(-EINVAL);

	mr = mroce_mr_alloc(ibpd, IB_MR_TYPE_USER);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->page_shift = PAGE_SHIFT;
	mr->first_off = offset_in_page(start);
	mr->iova = virt;
	mr->length = length;
	mr->access = access;
	if (access & IB_ACCESS_ON_DEMAND)
		err = mroce_odp_init(mr, start, length, access);
	else
		err = mr_pin(mr, start, access);
	if (err)
		goto err_free;
	mr->state = MROCE_MR_VALID;
	mroce_mr_publish(mr);
	return &mr->ibmr;

err_free:
	xa_erase(&mr->dev->mrs, mr->key >> 8);
	mroce_mr_free(mr);
	return ERR_PTR(err);
}

static int mr_change(struct mroce_mr *mr, int flags, int access,
		     struct ib_pd *ibpd)
{
	if (flags & IB_MR_REREG_ACCESS) {
		if (access & ~MR_ACCESS ||
		    (access ^ mr->access) & (IB_ZERO_BASED | IB_ACCESS_ON_DEMAND))
			return -EOPNOTSUPP;
		/* The pages were pinned for what was asked then. */
		if (ib_access_writable(access) && !mr->umem->writable)
			return -EOPNOTSUPP;
		WRITE_ONCE(mr->access, access);
	}
	if (flags & IB_MR_REREG_PD)
		WRITE_ONCE(mr->pd, container_of(ibpd, struct mroce_pd, ibpd));
	return 0;
}

/*
 * Another PD, other rights; not another place, which is a new MR. Windows got
 * theirs out of what the MR had when they were bound.
 */
static struct ib_mr *mroce_rereg_user_mr(struct ib_mr *ibmr, int flags,
					 u64 start, u64 length, u64 virt,
					 int access, struct ib_pd *ibpd,
					 struct ib_udata *udata)
{
	struct mroce_mr *mr = to_mmr(ibmr);
	int err;

	if (flags & ~(IB_MR_REREG_PD | IB_MR_REREG_ACCESS))
		return ERR_PTR(-EOPNOTSUPP);
	if (!mr_freeze(mr))
		return ERR_PTR(-EBUSY);
	err = mr_change(mr, flags, access, ibpd);
	mr_thaw(mr);
	return err ? ERR_PTR(err) : NULL;
}

static struct ib_mr *mroce_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
				    u32 max)
{
	struct mroce_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max || max > MROCE_MAX_FAST_REG)
		return ERR_PTR(-EINVAL);
	mr = mroce_mr_alloc(ibpd, type);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max;
	mr->kaddr = kvcalloc(max, sizeof(*mr->kaddr), GFP_KERNEL);
	mr->next = kvcalloc(max, sizeof(*mr->next), GFP_KERNEL);
	if (!mr->kaddr || !mr->next) {
		xa_erase(&mr->dev->mrs, mr->key >> 8);
		mroce_mr_free(mr);
		return ERR_PTR(-ENOMEM);
	}
	mr->state = MROCE_MR_FREE;
	mroce_mr_publish(mr);
	return &mr->ibmr;
}

static int mr_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct mroce_mr *mr = to_mmr(ibmr);

	if (mr->n_next == mr->max_pages)
		return -ENOMEM;
	mr->next[mr->n_next++] = addr;
	return 0;
}

/* The owner's alone until it posts REG_MR. */
static int mroce_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int n,
			   unsigned int *off)
{
	struct mroce_mr *mr = to_mmr(ibmr);

	if (mr->type != IB_MR_TYPE_MEM_REG || !is_power_of_2(ibmr->page_size))
		return -EINVAL;
	mr->n_next = 0;
	return ib_sg_to_pages(ibmr, sg, n, off, mr_set_page);
}

/* ---- keys --------------------------------------------------------------- */

/**
 * mroce_mr_in_range - does an MR have these bytes?
 * @mr: referenced
 * @addr: first of them
 * @len: how many; 0 is inside if @addr is not beyond the end
 */
bool mroce_mr_in_range(const struct mroce_mr *mr, u64 addr, u64 len)
{
	u64 off = addr - mr->iova;

	return addr >= mr->iova && off <= mr->length &&
	       len <= mr->length - off;
}

/**
 * mroce_mr_find - region or window of a key, in whatever state
 * @dev: device
 * @pd: protection domain that it must have
 * @key: lkey or rkey
 *
 * Return: referenced, or NULL.
 */
struct mroce_mr *mroce_mr_find(struct mroce_dev *dev, struct ib_pd *pd,
			       u32 key)
{
	struct mroce_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, key >> 8);
	if (mr && (READ_ONCE(mr->key) != key ||
		   !refcount_inc_not_zero(&mr->ref)))
		mr = NULL;
	rcu_read_unlock();
	if (!mr || &READ_ONCE(mr->pd)->ibpd == pd)
		return mr;
	mroce_mr_put(mr);
	return NULL;
}

/* Does it give these rights to a local key, or to a peer of QP @from? */
static bool mr_allows(const struct mroce_mr *mr, int access, u64 from)
{
	int have = READ_ONCE(mr->access);

	if (access & ~have || (from && !(have & MROCE_REMOTE)))
		return false;
	if (mr->type != MROCE_MR_WINDOW)
		return true;
	return from && (!mr->type2 || READ_ONCE(mr->qp_id) == from);
}

/**
 * mroce_mr_ahead - these bytes are going to be used
 * @mr: referenced
 * @key: under which it was looked up
 * @addr: address in the MR
 * @len: bytes
 * @write: they will be written
 *
 * Starts to bring in what is missing of on-demand memory. BH off, for a window.
 *
 * Return: false if they cannot be had; the caller must make that known, see
 * mroce_odp_ahead().
 */
bool mroce_mr_ahead(struct mroce_mr *mr, u32 key, u64 addr, u64 len, bool write)
{
	struct mroce_mr *at;
	bool ok;

	if (mr->odp)
		return !mroce_odp_ahead(mr, addr, len, write);
	if (mr->type != MROCE_MR_WINDOW)
		return true;
	/* only begun it leads somewhere, and stays what it is */
	if (!mroce_mr_begin(mr, key))
		return false;
	at = mr->target;
	ok = mroce_mr_in_range(mr, addr, len) &&
	     (!at->odp || !mroce_odp_ahead(at, mr->target_addr + addr - mr->iova,
					   len, write));
	mroce_mr_end(mr);
	return ok;
}

/**
 * mroce_mr_lookup - look up a key
 * @dev: device
 * @pd: of the queue pair
 * @key: lkey or rkey
 * @addr: first byte wanted
 * @len: bytes wanted
 * @access: rights wanted (IB_ACCESS_*)
 * @from: 0 for a local key; the id of the queue pair if a peer sent it
 *
 * Checks all that can be checked without waiting.
 *
 * Return: the MR with a reference, or NULL.
 */
struct mroce_mr *mroce_mr_lookup(struct mroce_dev *dev, struct ib_pd *pd,
				 u32 key, u64 addr, u64 len, int access,
				 u64 from)
{
	struct mroce_mr *mr;

	mr = mroce_mr_find(dev, pd, key);
	if (!mr)
		return NULL;
	/*
	 * Pairs with the release in mroce_mr_reg() and mroce_mw_bind(). The
	 * rest is a hint where a key can change hands: mroce_mr_begin_remote()
	 * and mroce_mr_piece() decide.
	 */
	if (smp_load_acquire(&mr->state) == MROCE_MR_VALID &&
	    mr_allows(mr, access, from) && mroce_mr_in_range(mr, addr, len))
		return mr;
	mroce_mr_put(mr);
	return NULL;
}

/**
 * mroce_mr_get - look up a key, to use these bytes
 * @dev: device
 * @pd: of the queue pair
 * @key: lkey or rkey
 * @addr: first byte wanted
 * @len: bytes wanted
 * @access: rights wanted (IB_ACCESS_*)
 * @from: as for mroce_mr_lookup()
 *
 * mroce_mr_lookup() and mroce_mr_ahead(). That there is none must be made known.
 *
 * Return: the MR with a reference, or NULL.
 */
struct mroce_mr *mroce_mr_get(struct mroce_dev *dev, struct ib_pd *pd, u32 key,
			      u64 addr, u64 len, int access, u64 from)
{
	struct mroce_mr *mr;

	mr = mroce_mr_lookup(dev, pd, key, addr, len, access, from);
	if (!mr || mroce_mr_ahead(mr, key, addr, len, access & MR_WRITE))
		return mr;
	mroce_mr_put(mr);
	return NULL;
}

/* Can its memory go, or its key die, while it is referenced? */
static bool mr_counts(const struct mroce_mr *mr)
{
	return mr->type == IB_MR_TYPE_MEM_REG ||
	       mr->type == MROCE_MR_WINDOW || mr->odp;
}

/* The on-demand MR that a window, begun, leads to. */
static struct mroce_mr *odp_target(const struct mroce_mr *mr)
{
	return mr->type == MROCE_MR_WINDOW && mr->target->odp ? mr->target :
								NULL;
}

static void user_begin(struct mroce_mr *mr)
{
	/* Who invalidates spins: be quick, also where BH off is preemptible. */
	preempt_disable();
	atomic_inc(&mr->users);
	/* Either invalidation sees the user, or the user sees it. */
	smp_mb__after_atomic();
}

static void user_end(struct mroce_mr *mr)
{
	/* All accesses are done before the count falls. */
	smp_mb__before_atomic();
	atomic_dec(&mr->users);
	preempt_enable();
}

/**
 * mroce_mr_begin - touch the memory of an MR
 * @mr: referenced
 * @key: under which it was looked up
 *
 * BH off until mroce_mr_end(). Return: false if the key is dead.
 */
bool mroce_mr_begin(struct mroce_mr *mr, u32 key)
{
	struct mroce_mr *target;

	if (!mr_counts(mr))
		return true;
	user_begin(mr);
	/* A new mapping is complete if the state says so. */
	if (smp_load_acquire(&mr->state) != MROCE_MR_VALID ||
	    READ_ONCE(mr->key) != key) {
		user_end(mr);
		return false;
	}
	/* Its pages go without asking the window. */
	target = odp_target(mr);
	if (target)
		user_begin(target);
	return true;
}

void mroce_mr_end(struct mroce_mr *mr)
{
	struct mroce_mr *target;

	if (!mr_counts(mr))
		return;
	/* The window keeps the target: it goes last. */
	target = odp_target(mr);
	if (target)
		user_end(target);
	user_end(mr);
}

/**
 * mroce_mr_begin_remote - touch the memory of an MR for a peer
 * @mr: referenced
 * @key: under which it was looked up
 * @access: rights wanted
 * @from: as in mroce_mr_get()
 *
 * As mroce_mr_begin(), and the rights are checked once more: between look-up
 * and now the owner may have given the same key to somebody else.
 */
bool mroce_mr_begin_remote(struct mroce_mr *mr, u32 key, int access, u64 from)
{
	if (!mroce_mr_begin(mr, key))
		return false;
	if (mr_allows(mr, access, from))
		return true;
	mroce_mr_end(mr);
	return false;
}

/**
 * mroce_mr_kill - end what the key stands for
 * @mr: fast-reg MR or window, its lock held
 *
 * Nobody touches the memory through it when this returns.
 */
void mroce_mr_kill(struct mroce_mr *mr)
{
	WRITE_ONCE(mr->state, MROCE_MR_FREE);
	smp_mb();	/* pairs with mroce_mr_begin() */
	while (atomic_read(&mr->users))
		cpu_relax();
	smp_mb();	/* pairs with mroce_mr_end() */
}

/* A peer may only invalidate what it can reach. */
static int fast_invalidate(struct mroce_mr *mr, u32 key, u64 from)
{
	unsigned long flags;
	int err = -EINVAL;

	spin_lock_irqsave(&mr->lock, flags);
	/* One that is FREE already may be invalidated once more. */
	if (mr->key == key && (!from || (mr->state == MROCE_MR_VALID &&
					 mr->access & MROCE_REMOTE))) {
		mroce_mr_kill(mr);
		err = 0;
	}
	spin_unlock_irqrestore(&mr->lock, flags);
	return err;
}

/**
 * mroce_mr_invalidate - LOCAL_INV, SEND_INV: kill a key
 * @dev: device
 * @pd: of the queue pair
 * @key: of a fast-reg MR or a window of type 2
 * @from: as in mroce_mr_get(): who asks
 *
 * BH off. Nobody touches the memory through the key afterwards.
 *
 * Return: 0, or -EINVAL: not such a key, or not the peer's to kill.
 */
int mroce_mr_invalidate(struct mroce_dev *dev, struct ib_pd *pd, u32 key,
			u64 from)
{
	struct mroce_mr *mr = mroce_mr_find(dev, pd, key);
	int err = -EINVAL;

	if (!mr)
		return -EINVAL;
	if (mr->type == IB_MR_TYPE_MEM_REG)
		err = fast_invalidate(mr, key, from);
	else if (mr->type == MROCE_MR_WINDOW)
		err = mroce_mw_invalidate(mr, key, from);
	mroce_mr_put(mr);
	return err;
}

/**
 * mroce_mr_reg - REG_MR: make the mapping live under a new key
 * @mr: the request's
 * @key: index as the MR's, any key byte
 * @access: IB_ACCESS_*
 *
 * BH off. Return: 0, or -EINVAL: still alive, or not such an MR or key.
 */
int mroce_mr_reg(struct mroce_mr *mr, u32 key, int access)
{
	unsigned long flags;
	int err = -EINVAL;
	u32 shift;
	u64 end;

	if (mr->type != IB_MR_TYPE_MEM_REG || access & ~MR_ACCESS)
		return -EINVAL;
	spin_lock_irqsave(&mr->lock, flags);
	if (mr->state != MROCE_MR_FREE || (key ^ mr->key) >> 8 || !mr->n_next ||
	    check_add_overflow(mr->ibmr.iova, mr->ibmr.length, &end))
		goto out;
	shift = ilog2(mr->ibmr.page_size);
	mr->page_shift = shift;
	mr->iova = mr->ibmr.iova;
	mr->length = mr->ibmr.length;
	mr->first_off = mr->iova & (mr->ibmr.page_size - 1);
	mr->n_pages = mr->n_next;
	memcpy(mr->kaddr, mr->next, mr->n_next * sizeof(*mr->kaddr));
	mr->access = access;
	WRITE_ONCE(mr->key, key);
	/* Complete before anybody may use it; mroce_mr_kill() waited for the rest. */
	smp_store_release(&mr->state, MROCE_MR_VALID);
	err = 0;
out:
	spin_unlock_irqrestore(&mr->lock, flags);
	return err;
}

/* ---- access ------------------------------------------------------------- */

/*
 * Kernel memory at @p up to a page boundary. The address is that of the page,
 * also for vmalloc'ed memory: callers derive offsets from it.
 */
static void *kernel_piece(void *p, u32 *n, struct page **page)
{
	struct page *pg;

	*n = min_t(u32, *n, PAGE_SIZE - offset_in_page(p));
	if (is_vmalloc_addr(p))
		pg = vmalloc_to_page(p);
	else if (virt_addr_valid(p))
		pg = virt_to_page(p);
	else
		return NULL;
	if (!pg)
		return NULL;
	/* The slab's pages have no reference count. */
	if (page)
		*page = sendpage_ok(pg) ? pg : NULL;
	return page_address(pg) + offset_in_page(p);
}

static void *pinned_piece(struct mroce_mr *mr, u64 off, u32 *n,
			  struct page **page)
{
	u32 i = off >> PAGE_SHIFT, po = off & ~PAGE_MASK;
	u32 bytes = PAGE_SIZE - po;
	struct page *pg;

	if (i >= mr->n_pages)
		return NULL;
	pg = mr->pages[i];
	/* A huge page is one piece; one reference covers it. */
	while (bytes < *n && i + 1 < mr->n_pages &&
	       mr->pages[i + 1] == mr->pages[i] + 1 &&
	       compound_head(mr->pages[i + 1]) == compound_head(pg)) {
		bytes += PAGE_SIZE;
		i++;
	}
	*n = min(*n, bytes);
	if (page)
		*page = pg;
	return page_address(pg) + po;
}

/**
 * mroce_mr_piece - where is this byte of an MR?
 * @mr: referenced and begun
 * @addr: address in the MR
 * @len: bytes wanted
 * @n: bytes there, 1..@len
 * @page: the page, if an skb may reference it; may be NULL
 * @write: it is going to be written
 *
 * Return: kernel address, or ERR_PTR: -EFAULT, or for on-demand MRs -EAGAIN.
 */
void *mroce_mr_piece(struct mroce_mr *mr, u64 addr, u32 len, u32 *n,
		     struct page **page, bool write)
{
	void *p = NULL;
	u64 off, i, po;

	if (page)
		*page = NULL;
	*n = len;
	/* Again, since a fast-reg MR may have been registered anew. */
	if (!len || !mroce_mr_in_range(mr, addr, len))
		return ERR_PTR(-EFAULT);
	off = addr - mr->iova + mr->first_off;

	switch (mr->type) {
	case IB_MR_TYPE_USER:
		if (mr->odp)
			return mroce_odp_piece(mr, off, n, write);
		p = pinned_piece(mr, off, n, page);
		break;
	case IB_MR_TYPE_DMA:
		/* 32 bits */
		if ((uintptr_t)addr == addr)
			p = kernel_piece((void *)(uintptr_t)addr, n, page);
		break;
	case IB_MR_TYPE_MEM_REG:
		i = off >> mr->page_shift;
		po = off & ((1ULL << mr->page_shift) - 1);
		if (i >= mr->n_pages)
			break;
		*n = min_t(u64, *n, (1ULL << mr->page_shift) - po);
		p = kernel_piece((void *)(uintptr_t)(mr->kaddr[i] + po), n,
				 page);
		break;
	case MROCE_MR_WINDOW:
		return mroce_mr_piece(mr->target,
				      mr->target_addr + (addr - mr->iova), len,
				      n, page, write);
	}
	return p ?: ERR_PTR(-EFAULT);
}

static int mr_copy(struct mroce_mr *mr, u64 addr, void *buf, u32 len,
		   bool to_buf)
{
	u32 n;
	void *p;

	for (; len; len -= n, addr += n, buf += n) {
		p = mroce_mr_piece(mr, addr, len, &n, NULL, !to_buf);
		if (IS_ERR(p))
			return PTR_ERR(p);
		if (to_buf)
			memcpy(buf, p, n);
		else
			memcpy(p, buf, n);
	}
	return 0;
}

int mroce_mr_to_buf(struct mroce_mr *mr, u64 addr, void *dst, u32 len)
{
	return mr_copy(mr, addr, dst, len, true);
}

int mroce_mr_from_buf(struct mroce_mr *mr, u64 addr, const void *src, u32 len)
{
	return mr_copy(mr, addr, (void *)src, len, false);
}

/**
 * mroce_mr_atomic - atomic operation on 8 bytes of an MR
 * @mr: referenced; begun, as for mroce_mr_piece()
 * @addr: aligned address
 * @opcode: MROCE_OP_CMP_SWAP or MROCE_OP_FETCH_ADD
 * @swap_add: new value or summand
 * @compare: value compared with
 * @old: gets the value before
 *
 * Atomic also towards the CPUs of this machine.
 *
 * Return: 0, -EINVAL or -EAGAIN.
 */
int mroce_mr_atomic(struct mroce_mr *mr, u64 addr, u8 opcode, u64 swap_add,
		    u64 compare, u64 *old)
{
	atomic64_t *v;
	u32 n;

	if (!IS_ALIGNED(addr, sizeof(u64)))
		return -EINVAL;
	v = mroce_mr_piece(mr, addr, sizeof(u64), &n, NULL, true);
	if (v == ERR_PTR(-EAGAIN))
		return -EAGAIN;
	/* iova and memory may be out of step in a fast-reg MR. */
	if (IS_ERR(v) || n != sizeof(u64) || !IS_ALIGNED((uintptr_t)v, sizeof(u64)))
		return -EINVAL;
	switch (opcode) {
	case MROCE_OP_CMP_SWAP:
		*old = atomic64_cmpxchg(v, compare, swap_add);
		return 0;
	case MROCE_OP_FETCH_ADD:
		*old = atomic64_fetch_add(swap_add, v);
		return 0;
	default:
		return -EINVAL;
	}
}

const struct ib_device_ops mroce_mr_ops = {
	.get_dma_mr = mroce_get_dma_mr,
	.reg_user_mr = mroce_reg_user_mr,
	.rereg_user_mr = mroce_rereg_user_mr,
	.dereg_mr = mroce_dereg_mr,
	.alloc_mr = mroce_alloc_mr,
	.map_mr_sg = mroce_map_mr_sg,
};
