// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rings in the layout of rdma_user_rxe.h, and their mapping into processes.
 *
 * The first page starts with a header of two indices; each side moves one of
 * them. What the kernel relies on (size, mask, its own index) is in struct
 * mroce_queue, out of reach of the process; the copies in the header are for
 * the library to read.
 *
 * User mappings carry no operations of this module: open files of a device
 * with disassociate_ucontext() do not hold it, so they may outlive its text.
 * remap_vmalloc_range() inserts the pages with a reference each, hence the ring
 * may be freed while it is mapped; the process then keeps plain memory.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "verbs.h"

static_assert(sizeof(struct rxe_queue_buf) == 384);

/* Any part of what queue_map() made. */
static void queue_unmap(struct mroce_queue *q)
{
	vunmap(q->buf);
	while (q->n_pages) {
		__free_page(q->pages[--q->n_pages]);
		cond_resched();
	}
	kvfree(q->pages);
}

/*
 * What vmalloc_user() does, but with memory that is charged to the caller's
 * cgroup: a ring may have gigabytes. Where there are none they are refused,
 * and nobody is killed for them.
 */
static bool queue_map(struct mroce_queue *q)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL |
			  __GFP_NOWARN;
	u32 n = q->buf_bytes >> PAGE_SHIFT;

	q->pages = kvcalloc(n, sizeof(*q->pages), gfp);
	if (!q->pages)
		return false;
	for (; q->n_pages < n; q->n_pages++) {
		if (fatal_signal_pending(current))
			return false;
		q->pages[q->n_pages] = alloc_page(gfp | __GFP_ZERO);
		if (!q->pages[q->n_pages])
			return false;
		cond_resched();
	}
	q->buf = vmap(q->pages, n, VM_MAP | VM_USERMAP, PAGE_KERNEL);
	return q->buf;
}

struct mroce_queue *mroce_queue_alloc(struct mroce_dev *dev, u32 n, u32 elem,
				      bool producer)
{
	struct mroce_queue *q;
	size_t bytes;
	u32 slots;

	if (n >= U32_MAX / 4 || elem > SZ_64K)
		return NULL;
	slots = roundup_pow_of_two(n + 1);
	elem = roundup_pow_of_two(max_t(u32, elem, SMP_CACHE_BYTES));
	if (check_mul_overflow((size_t)slots, (size_t)elem, &bytes) ||
	    check_add_overflow(bytes, sizeof(*q->buf), &bytes))
		return NULL;
	bytes = PAGE_ALIGN(bytes);
	/*
	 * The ABI has 32 bits for the size; and hopeless ones are not worth the
	 * allocator's complaint in the log.
	 */
	if (bytes > U32_MAX || bytes >> PAGE_SHIFT > totalram_pages() / 4)
		return NULL;

	q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	if (!q)
		return NULL;
	q->buf_bytes = bytes;
	if (!queue_map(q)) {
		queue_unmap(q);
		kfree(q);
		return NULL;
	}
	q->elem_size = elem;
	q->log2_elem = ilog2(elem);
	q->mask = slots - 1;
	q->producer = producer;
	kref_init(&q->ref);
	INIT_LIST_HEAD(&q->node);
	q->buf->log2_elem_size = q->log2_elem;
	q->buf->index_mask = q->mask;
	return q;
}

int mroce_queue_publish(struct mroce_dev *dev, struct mroce_queue *q,
			struct ib_udata *udata, struct mminfo __user *out)
{
	struct mroce_ucontext *uc;
	struct mminfo mi = {};

	if (!udata)
		return 0;
	uc = rdma_udata_to_drv_context(udata, struct mroce_ucontext, ibuc);
	if (!uc)
		return -EINVAL;
	q->user = true;
	q->ctx = &uc->ibuc;

	spin_lock_bh(&dev->mmap_lock);
	q->offset = dev->mmap_next;
	dev->mmap_next += q->buf_bytes;
	mi.offset = q->offset;
	mi.size = q->buf_bytes;
	list_add(&q->node, &dev->mmaps);
	spin_unlock_bh(&dev->mmap_lock);

	/* A failure is undone by mroce_queue_free(). */
	return copy_to_user(out, &mi, sizeof(mi)) ? -EFAULT : 0;
}

static void queue_release(struct kref *ref)
{
	struct mroce_queue *q = container_of(ref, struct mroce_queue, ref);

	queue_unmap(q);
	kfree(q);
}

/**
 * mroce_queue_free - the owner is done with a ring
 * @dev: device
 * @q: ring or NULL
 *
 * 1. Off the list: no mmap() finds it any more.
 * 2. One that found it before has a reference and frees it when it is done.
 * 3. Pages that are mapped stay until the process lets go of them.
 */
void mroce_queue_free(struct mroce_dev *dev, struct mroce_queue *q)
{
	if (!q)
		return;
	spin_lock_bh(&dev->mmap_lock);
	list_del_init(&q->node);
	spin_unlock_bh(&dev->mmap_lock);
	kref_put(&q->ref, queue_release);
}

/**
 * mroce_mmap - map a ring that was published to this context
 * @ctx: context of the file
 * @vma: offset and size as published
 *
 * A ring is mapped once. The mapping needs nothing of the driver afterwards.
 *
 * Return: 0 or -errno.
 */
int mroce_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma)
{
	struct mroce_dev *dev = to_mdev(ctx->device);
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	size_t size = vma->vm_end - vma->vm_start;
	struct mroce_queue *q, *found = NULL;
	int err;

	/* A private copy would never see a completion. */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;

	spin_lock_bh(&dev->mmap_lock);
	list_for_each_entry(q, &dev->mmaps, node) {
		if (q->ctx != ctx || q->offset != offset)
			continue;
		if (size <= q->buf_bytes) {
			found = q;
			kref_get(&q->ref);
			list_del_init(&q->node);
		}
		break;
	}
	spin_unlock_bh(&dev->mmap_lock);
	if (!found)
		return -EINVAL;

	err = remap_vmalloc_range(vma, found->buf, 0);
	kref_put(&found->ref, queue_release);
	return err;
}

static u32 *own_index(const struct mroce_queue *q)
{
	return q->producer ? &q->buf->producer_index : &q->buf->consumer_index;
}

static u32 *other_index(const struct mroce_queue *q)
{
	return q->producer ? &q->buf->consumer_index : &q->buf->producer_index;
}

u32 mroce_queue_other(const struct mroce_queue *q)
{
	/* What was written before the index moved is seen after this. */
	return smp_load_acquire(other_index(q)) & q->mask;
}

u32 mroce_queue_avail(const struct mroce_queue *q)
{
	return (mroce_queue_other(q) - q->kidx) & q->mask;
}

void *mroce_queue_elem(const struct mroce_queue *q, u32 i)
{
	return q->buf->data +
	       ((size_t)((q->kidx + i) & q->mask) << q->log2_elem);
}

void mroce_queue_advance(struct mroce_queue *q, u32 n)
{
	q->kidx = (q->kidx + n) & q->mask;
	/* Elements are written, or read, before the other side hears of it. */
	smp_store_release(own_index(q), q->kidx);
}
